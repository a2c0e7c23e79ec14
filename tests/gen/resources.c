/* What the space promises of its kernels, read from the code objects the real compiler makes: no scratch, no spills, LDS
 * and threads as stated, registers within the budget. A spread over the problems of the manifest; needs the compile room. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "compile/compile.h"
#include "core/launch.h"
#include "gen/gen.h"

enum { PER_PROBLEM = 14, MAX_JOBS = 64 };

typedef struct batch {
  mlaf_gen *gen;
  mlaf_compile_job jobs[MAX_JOBS];
  mlaf_kernel_desc kernels[MAX_JOBS]; /* owned */
  size_t n;
} batch;

static void add_kernel(batch *b, const mlaf_kernel_desc *k) {
  for (size_t i = 0; i < b->n; i++)
    if (!strcmp(b->kernels[i].symbol, k->symbol)) return;
  assert_true(b->n < MAX_JOBS);
  mlaf_compile_job *job = &b->jobs[b->n];
  mlaf_kernel_desc *copy = &b->kernels[b->n++];
  mlaf_err err = {0};
  char *source = NULL, hash[MLAF_HASH_HEX];
  const char *const *options = NULL;
  *copy = *k;
  copy->template_name = mlaf_strdup(k->template_name);
  copy->params = mlaf_strdup(k->params);
  if (mlaf_gen_render(b->gen, k, "gfx942", &source, hash, &err)) fail_msg("%s", err.text);
  assert_int_equal(mlaf_gen_options(b->gen, "gfx942", &options, &err), MLAF_OK);
  *job = (mlaf_compile_job){.source = source, .options = options, .target = "gfx942", .name = copy->symbol};
}

/* A spread of a problem's candidates: every n/PER_PROBLEM-th of those that need no second look (one split), and the
 * combine kernels of the best split ones. */
static void add_problem(batch *b, const char *text) {
  mlaf_problem p;
  char why[256];
  mlaf_variant *list = NULL;
  size_t n = 0, kept = 0, seen = 0;
  mlaf_err err = {0};
  assert_int_equal(mlaf_problem_parse(text, &p, why, sizeof why), MLAF_OK);
  if (mlaf_gen_space(b->gen, &p, "gfx942", &list, &n, &err)) fail_msg("%s: %s", text, err.text);
  for (size_t i = 0; i < n; i++) seen += !list[i].rejected && list[i].splits == 1;
  size_t stride = seen / PER_PROBLEM + 1, at = 0, combines = 0;
  for (size_t i = 0; i < n && !list[i].rejected; i++) {
    if (list[i].splits == 1 && at++ % stride == 0) {
      add_kernel(b, &list[i].decode);
      kept++;
    }
    if (list[i].splits > 1 && combines < 40 && combines++ % 13 == 0) add_kernel(b, &list[i].combine);
  }
  assert_true(kept >= PER_PROBLEM / 2);
  mlaf_variants_free(list, n);
}

static void check_kernel(const mlaf_kernel_desc *k, const mlaf_compile_job *job) {
  mlaf_kernel_meta m = {0};
  size_t n = 0;
  mlaf_err err = {0};
  if (job->status) fail_msg("%s %s: %s\n%s", k->template_name, k->params, mlaf_status_name(job->status), job->log);
  if (mlaf_code_meta(job->code, job->code_size, &m, 1, &n, &err)) fail_msg("%s", err.text);
  const char *what = k->params;
  bool decode = strncmp(k->template_name, "mla_decode", 10) == 0;
  uint32_t kernarg = decode ? sizeof(mlaf_decode_args) : sizeof(mlaf_combine_args);
  assert_int_equal(n, 1);
  assert_string_equal(m.symbol, k->symbol);
  if (m.scratch_bytes || m.vgpr_spills || m.sgpr_spills)
    fail_msg("%s %s: scratch %u, spills %u v %u s", k->template_name, what, m.scratch_bytes, m.vgpr_spills, m.sgpr_spills);
  if (m.lds_bytes != k->lds_bytes) fail_msg("%s: LDS %u, the space says %u", what, m.lds_bytes, k->lds_bytes);
  if (m.vgpr_count > k->vgpr_budget) fail_msg("%s: %u registers > budget %u", what, m.vgpr_count, k->vgpr_budget);
  if (m.max_threads < k->threads) fail_msg("%s: %u threads, the space says %u", what, m.max_threads, k->threads);
  if (m.kernarg_bytes < kernarg) fail_msg("%s: %u bytes of arguments, not %u", what, m.kernarg_bytes, kernarg);
}

static void resources_are_as_stated(void **state) {
  (void)state;
  mlaf_err err = {0};
  mlaf_compiler *compiler = NULL;
  const char *build = getenv("MLAF_BUILD_DIR"), *id = NULL;
  char *cache = mlaf_format("%s/test-cache", build ? build : "/tmp");
  mlaf_compiler_opts opts = {.cache_dir = cache};
  assert_int_equal(mlaf_compiler_open(&opts, NULL, &compiler, &err), MLAF_OK);
  if (mlaf_compiler_identity(compiler, &id, &err)) {
    if (getenv("MLAF_REQUIRE_ROCM")) fail_msg("%s", err.text);
    print_message("no compiler: %s\n", err.text);
    mlaf_compiler_close(compiler);
    free(cache);
    skip();
  }
  batch *b = calloc(1, sizeof *b);
  assert_int_equal(mlaf_gen_open(NULL, &b->gen, &err), MLAF_OK);
  add_problem(b, "mla_decode:h16,b64,s4096");
  add_problem(b, "mla_decode:h128,p0,b8,s4096,page1");
  add_problem(b, "mla_decode:h20,r256,p32,q3,causal,f16,page16,b4,s2048");
  if (mlaf_compile(compiler, b->jobs, b->n, NULL, NULL, &err)) fail_msg("%s", err.text);
  uint32_t most = 0;
  for (size_t i = 0; i < b->n; i++) {
    check_kernel(&b->kernels[i], &b->jobs[i]);
    most = b->kernels[i].vgpr_budget > most ? b->kernels[i].vgpr_budget : most;
    free((char *)b->jobs[i].source);
    mlaf_compile_job_clear(&b->jobs[i]);
    free(b->kernels[i].template_name);
    free(b->kernels[i].params);
  }
  print_message("%zu kernels, largest budget %u registers\n", b->n, most);
  assert_true(most <= 512);
  mlaf_gen_close(b->gen);
  free(b);
  mlaf_compiler_close(compiler);
  free(cache);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(resources_are_as_stated)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
