/* Who may not run: kernels that the cache holds under their right keys, but that are not what was promised of them. Planner,
 * bundle and tuner refuse each for the same reason, in the same words. */
#include "bundle/make.h"
#include "cli/cli_fixture.h"
#include "cmocka_all.h"
#include "compile/cache.h"
#include "need.h"
#include "ops/mla_decode/index_lists.h"
#include "ops/mla_decode/launch.h"
#include "run/build.h"
#include "tune/tune.h"
#include "mlaforge/mlaforge.h"
#include "point.h"

#define PROBLEM "mla_decode:h16,r64,p32,q1,bf16,page16,b1,s64"
#define TARGET "gfx942"
enum { PICKS = 4 }; /* of the model, so that none is compiled */

/* Faults of a kernel, all 0: none. */
typedef struct fault {
  const char *says;
  uint32_t scratch, vgpr_spills, sgpr_spills, more_lds, more_registers, fewer_threads, more_bytes, map;
  bool other_name;
} fault;

static const fault faults[] = {
    {.says = "uses 4 bytes of scratch; 0 is allowed", .scratch = 4},
    {.says = "spills 3 vector and 0 scalar registers", .vgpr_spills = 3},
    {.says = "spills 0 vector and 2 scalar registers", .sgpr_spills = 2},
    {.says = "bytes of LDS where its budget says", .more_lds = 1024},
    {.says = "registers (0 of them accumulation registers), budget", .more_registers = 8},
    {.says = "was compiled for 32 threads", .fewer_threads = 32},
    {.says = "takes 136 bytes of arguments, the runtime passes 128", .more_bytes = 8},
    {.says = "wants a map of tensor 9, of which the operation has 7", .map = 9},
    {.says = "the code object has no kernel", .other_name = true},
};

typedef struct fixture {
  char dir[64];
  mlaf_problem problem;
  mlaf_gen *gen;
  mlaf_compiler *compiler;
  mlaf_variant *picks, baseline;
  size_t n;
} fixture;

static void put_declared(mlaf_text *t, const char *symbol, uint32_t map) {
  mlaf_kernel_launch l = {.magic = MLAF_LAUNCH_MAGIC, .size = sizeof l, .n_maps = map ? 1 : 0, .maps = {{map, 16, 16, 0}}};
  uint32_t words[sizeof l / 4];
  memcpy(words, &l, sizeof l);
  mlaf_text_fmt(t, ".section .data\n.globl %s_launch\n.protected %s_launch\n.type %s_launch,@object\n.p2align 3\n%s_launch:\n",
                symbol, symbol, symbol, symbol);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) mlaf_text_fmt(t, ".long %u\n", words[i]);
  mlaf_text_fmt(t, ".size %s_launch, %zu\n", symbol, sizeof l);
}

/* A kernel that does nothing, with the resources of `k` but for the fault. */
static void assemble(fixture *f, const mlaf_kernel_desc *k, size_t bytes, const fault *x, void **code, size_t *size) {
  mlaf_text t = MLAF_TEXT_INIT(8192);
  mlaf_err err = {MLAF_OK, ""};
  const char *symbol = x->other_name ? "someone" : k->symbol;
  const uint32_t lds = k->lds_bytes + x->more_lds, kernarg = (uint32_t)bytes + x->more_bytes;
  mlaf_text_fmt(&t, ".amdgcn_target \"amdgcn-amd-amdhsa--" TARGET "\"\n.text\n.globl %s\n.p2align 8\n.type %s,@function\n%s:\n"
                "  s_endpgm\n.section .rodata\n.p2align 6\n.amdhsa_kernel %s\n  .amdhsa_next_free_vgpr 40\n"
                "  .amdhsa_next_free_sgpr 16\n  .amdhsa_accum_offset 40\n  .amdhsa_group_segment_fixed_size %u\n"
                "  .amdhsa_private_segment_fixed_size %u\n  .amdhsa_kernarg_size %u\n.end_amdhsa_kernel\n",
                symbol, symbol, symbol, symbol, lds, x->scratch, kernarg);
  put_declared(&t, symbol, x->map);
  mlaf_text_fmt(&t, ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n  - .name: %s\n    .symbol: %s.kd\n"
                "    .kernarg_segment_size: %u\n    .group_segment_fixed_size: %u\n    .private_segment_fixed_size: %u\n"
                "    .kernarg_segment_align: 8\n    .wavefront_size: 64\n    .sgpr_count: 16\n    .vgpr_count: %u\n"
                "    .agpr_count: 0\n    .vgpr_spill_count: %u\n    .sgpr_spill_count: %u\n    .max_flat_workgroup_size: %u\n"
                "...\n.end_amdgpu_metadata\n", symbol, symbol, kernarg, lds, x->scratch,
                x->more_registers ? k->vgpr_budget + x->more_registers : 40, x->vgpr_spills, x->sgpr_spills,
                x->fewer_threads ? x->fewer_threads : k->threads);
  if (t.failed || mlaf_assemble(f->compiler, TARGET, t.data, code, size, &err)) fail_msg("%s\n%s", err.text, t.data);
  mlaf_text_free(&t);
}

/* Into the cache, where the real one would be. */
static void seed(fixture *f, const mlaf_kernel_desc *k, size_t bytes, const fault *x) {
  mlaf_kernel_ref ref = {.threads = k->threads};
  mlaf_compile_job job = {.source = NULL};
  mlaf_err err = {MLAF_OK, ""};
  char *source = NULL, hash[MLAF_HASH_HEX];
  void *code = NULL;
  size_t size;
  mlaf_cache cache;
  snprintf(ref.template_name, sizeof ref.template_name, "%s", k->template_name);
  snprintf(ref.params, sizeof ref.params, "%s", k->params);
  snprintf(ref.symbol, sizeof ref.symbol, "%s", k->symbol);
  assemble(f, k, bytes, x, &code, &size);
  if (mlaf_build_render(f->gen, TARGET, &ref, &source, hash, &job, &err) || mlaf_compile_key(f->compiler, &job, &err) ||
      mlaf_cache_open(&cache, f->dir, false, NULL, &err))
    fail_msg("%s", err.text);
  const mlaf_cache_label label = {MLAF_CACHE_CODE, TARGET, job.key, "assembled", k->symbol};
  mlaf_cache_store(&cache, &label, code, size);
  mlaf_cache_close(&cache);
  free(source);
  free(code);
}

/* Combine kernels and those of the arguments' further forms are in order. */
static void seed_all(fixture *f, const fault *x) {
  static const fault none;
  for (int form = 0; mlaf_decode_forms[form]; form++)
    for (int i = 0; i < mlaf_decode_forms[form]->n_kernels; i++) {
      const mlaf_kernel_ref *ref = &mlaf_decode_forms[form]->kernels[i];
      mlaf_kernel_desc k = {.template_name = (char *)(uintptr_t)ref->template_name, .params = (char *)(uintptr_t)ref->params,
                            .threads = ref->threads};
      snprintf(k.symbol, sizeof k.symbol, "%s", ref->symbol);
      seed(f, &k, 128, &none);
    }
  for (size_t i = 0; i <= f->n; i++) {
    const mlaf_variant *v = i < f->n ? &f->picks[i] : &f->baseline;
    seed(f, &v->kernels[0], sizeof(mlaf_decode_args), x);
    if (v->kernels[1].template_name) seed(f, &v->kernels[1], sizeof(mlaf_combine_args), &none);
  }
}

static int open_all(void **state) {
  fixture *f = calloc(1, sizeof *f);
  mlaf_err err = {MLAF_OK, ""};
  need_compiler(TARGET);
  snprintf(f->dir, sizeof f->dir, "/tmp/mlaf-refused-XXXXXX");
  if (!mkdtemp(f->dir)) return -1;
  const mlaf_compiler_opts opts = {.cache_dir = f->dir};
  if (mlaf_problem_parse(PROBLEM, &f->problem, err.text, sizeof err.text) || mlaf_gen_open(NULL, &f->gen, &err) ||
      mlaf_compiler_open(&opts, NULL, &f->compiler, &err) ||
      mlaf_gen_best(f->gen, mlaf_point_text(pt(&f->problem)).s, TARGET, PICKS, &f->picks, &f->n, &err) ||
      mlaf_gen_baseline(f->gen, mlaf_point_text(pt(&f->problem)).s, TARGET, &f->baseline, &err))
    fail_msg("%s", err.text);
  *state = f;
  return 0;
}

static int close_all(void **state) {
  fixture *f = *state;
  mlaf_variants_free(f->picks, f->n);
  mlaf_variant_clear(&f->baseline);
  mlaf_compiler_close(f->compiler);
  mlaf_gen_close(f->gen);
  remove_tree(f->dir);
  free(f);
  return 0;
}

static void expect(const char *who, const char *text, const char *says) {
  if (!strstr(text, says)) fail_msg("%s: '%s' does not say '%s'", who, text, says);
}

static void planner_refuses(fixture *f, const char *says) {
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  mlaf_plan_opts p = MLAF_PLAN_OPTS_INIT;
  char db[96], why[4000] = "";
  mlaf_ctx *ctx = NULL;
  mlaf_plan *plan = NULL;
  snprintf(db, sizeof db, "%s/none.db", f->dir);
  o.device = "emu:" TARGET;
  o.cache_dir = f->dir;
  o.db_path = db;
  o.bundle = "";
  p.flags = MLAF_PLAN_NO_COMPILE;
  if (mlaf_ctx_create(&o, &ctx, why, sizeof why)) fail_msg("%s", why);
  assert_int_equal(mlaf_plan_create(ctx, &f->problem, &p, &plan), MLAF_E_TEMPLATE);
  mlaf_ctx_last_message(ctx, why, sizeof why);
  expect("planner", why, says);
  mlaf_ctx_destroy(ctx);
}

static void bundle_refuses(fixture *f, const char *says) {
  char out[96];
  const mlaf_bundle_request request = {TARGET, pt(&f->problem), 1};
  const mlaf_bundle_make_opts o = {.requests = &request, .n_requests = 1, .compiler = f->compiler, .jobs = 1};
  mlaf_bundle_made made;
  mlaf_err err = {MLAF_OK, ""};
  snprintf(out, sizeof out, "%s/bundle", f->dir);
  assert_int_equal(mlaf_bundle_make(&o, out, &made, &err), MLAF_E_TEMPLATE);
  expect("bundle", err.text, says);
}

static void tuner_refuses(fixture *f, const char *says) {
  mlaf_device *dev = NULL;
  mlaf_err err = {MLAF_OK, ""};
  mlaf_tuner_result r = {.items = NULL};
  if (mlaf_device_open("emu:" TARGET, NULL, &dev, &err)) fail_msg("%s", err.text);
  const mlaf_tuner_env env = {.device = dev, .gen = f->gen, .compiler = f->compiler};
  const mlaf_tuner_opts o = {.max_candidates = 1};
  assert_int_equal(mlaf_tuner_run(&env, pt(&f->problem), &o, &r, &err), MLAF_E_NOT_TUNED);
  assert_int_equal(r.n, 1);
  assert_int_equal(r.items[0].sample.outcome, MLAF_OUT_RESOURCES);
  expect("tuner", r.items[0].sample.detail, says);
  mlaf_tuner_result_clear(&r);
  mlaf_device_close(dev);
}

TEST(all_refuse_alike) {
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    seed_all(*state, &faults[i]);
    planner_refuses(*state, faults[i].says);
    bundle_refuses(*state, faults[i].says);
    tuner_refuses(*state, faults[i].says);
  }
}

/* The same kernels without a fault are taken: what refuses above is the fault. */
TEST_OF(what_keeps_its_promises_is_taken, fixture *f) {
  static const fault none;
  seed_all(f, &none);
  mlaf_bundle_made made;
  mlaf_err err = {MLAF_OK, ""};
  char out[96];
  const mlaf_bundle_request request = {TARGET, pt(&f->problem), 1};
  const mlaf_bundle_make_opts o = {.requests = &request, .n_requests = 1, .compiler = f->compiler, .jobs = 1};
  snprintf(out, sizeof out, "%s/good", f->dir);
  if (mlaf_bundle_make(&o, out, &made, &err)) fail_msg("%s", err.text);
  assert_int_equal(made.compiled, 0);
}

TESTS(open_all, close_all)
