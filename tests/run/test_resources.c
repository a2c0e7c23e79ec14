/* The rule who may run, figure by figure. */
#include "cmocka_all.h"
#include "run/fake_device.h"
#include "ops/mla_decode/calls.h"
#include "run/resources.h"

static mlaf_kernel_meta good_meta(void) {
  return (mlaf_kernel_meta){.vgpr_count = 400, .agpr_count = 128, .lds_bytes = 1024, .max_threads = 256,
                            .kernarg_bytes = sizeof(mlaf_decode_args), .launch = {.n_maps = 0}};
}

TEST(resources_are_held_to_the_budget) {
  const mlaf_asking k = {.symbol = "s", .threads = 256, .calls = &mlaf_decode_calls, .budget = {true, 1024, 400}};
  const mlaf_kernel_meta good = good_meta();
  mlaf_err err;
  assert_int_equal(mlaf_resources_check(&k, &good, &err), MLAF_OK);
  assert_int_equal(mlaf_resources_vgpr(&good), 272);
  const struct {
    size_t offset;
    uint32_t value;
    const char *expect;
  } cases[] = {{offsetof(mlaf_kernel_meta, scratch_bytes), 4, "s uses 4 bytes of scratch"},
               {offsetof(mlaf_kernel_meta, vgpr_spills), 1, "s spills 1 vector"},
               {offsetof(mlaf_kernel_meta, sgpr_spills), 2, "2 scalar"},
               {offsetof(mlaf_kernel_meta, lds_bytes), 2048, "2048 bytes of LDS where its budget says 1024"},
               {offsetof(mlaf_kernel_meta, vgpr_count), 408, "408 registers"},
               {offsetof(mlaf_kernel_meta, max_threads), 128, "compiled for 128 threads, 256 are launched"},
               {offsetof(mlaf_kernel_meta, kernarg_bytes), 72, "72 bytes of arguments, the runtime passes 128"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mlaf_kernel_meta bad = good;
    *(uint32_t *)((char *)&bad + cases[i].offset) = cases[i].value;
    assert_int_equal(mlaf_resources_check(&k, &bad, &err), MLAF_E_TEMPLATE);
    if (!strstr(err.text, cases[i].expect)) fail_msg("'%s' does not say '%s'", err.text, cases[i].expect);
  }
}

/* A stored reference has no budget: the device's limit is. A kernel of no operation takes any arguments. */
TEST(without_a_budget_the_device_counts) {
  const mlaf_problem p = MLAF_PROBLEM_INIT;
  fake_device dev = fake_make(&p, BUG_NONE);
  dev.base.info.lds_bytes = 65536;
  const mlaf_asking k = {.symbol = "s", .threads = 256, .dev = (mlaf_device *)&dev};
  mlaf_kernel_meta m = good_meta();
  mlaf_err err;
  m.lds_bytes = 65536, m.vgpr_count = 512, m.kernarg_bytes = 72;
  assert_int_equal(mlaf_resources_check(&k, &m, &err), MLAF_OK);
  m.lds_bytes++;
  assert_int_equal(mlaf_resources_check(&k, &m, &err), MLAF_E_TEMPLATE);
  assert_non_null(strstr(err.text, "65537 bytes of LDS, fake has 65536"));
}

/* However many kernels a code object has. */
static mlaf_status many(const void *code, size_t size, mlaf_kernel_meta *out, size_t max, size_t *n, mlaf_err *err) {
  *n = 40;
  for (size_t i = 0; i < max && i < *n; i++) {
    out[i] = (mlaf_kernel_meta){.vgpr_count = (uint32_t)i};
    snprintf(out[i].symbol, sizeof out[i].symbol, "k%zu", i);
  }
  return MLAF_OK;
}

TEST(the_symbol_is_found_among_many) {
  mlaf_kernel_meta m;
  mlaf_err err;
  assert_int_equal(mlaf_resources_read(many, "k39", "", 1, &m, &err), MLAF_OK);
  assert_int_equal(m.vgpr_count, 39);
  assert_int_equal(mlaf_resources_read(many, "k40", "", 1, &m, &err), MLAF_E_TEMPLATE);
  assert_string_equal(err.text, "the code object has no kernel 'k40'");
}

TESTS(NULL, NULL)
