/* What the space promises of its kernels, read from the code objects the real compilers make: no scratch, no spills, LDS
 * and threads as stated, registers within the budget, arguments as the runtime passes them. A spread over the problems of the
 * manifest, and for NVIDIA's targets over the families; needs the compile room. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "compile/compile.h"
#include "ops/mla_decode/launch.h"
#include "gen/gen.h"
#include "ops/mla_decode/fields.h"
#include "need.h"
#include "point.h"

enum { PER_PROBLEM = 14, PER_FAMILY = 3, MAX_FAMILIES = 8, MAX_JOBS = 128 };

typedef struct batch {
  mlaf_gen *gen;
  const char *target;
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
  if (mlaf_gen_render(b->gen, k, b->target, &source, hash, &err)) fail_msg("%s", err.text);
  assert_int_equal(mlaf_gen_options(b->gen, b->target, &options, &err), MLAF_OK);
  *job = (mlaf_compile_job){.source = source, .options = options, .target = b->target, .name = copy->symbol};
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
  if (mlaf_gen_space(b->gen, mlaf_point_text(pt(&p)).s, b->target, &list, &n, &err)) fail_msg("%s: %s", text, err.text);
  for (size_t i = 0; i < n; i++) seen += !list[i].rejected && list[i].knob == 1;
  size_t stride = seen / PER_PROBLEM + 1, at = 0, combines = 0;
  for (size_t i = 0; i < n && !list[i].rejected; i++) {
    if (list[i].knob == 1 && at++ % stride == 0) {
      add_kernel(b, &list[i].kernels[0]);
      kept++;
    }
    if (list[i].knob > 1 && combines < 40 && combines++ % 13 == 0) add_kernel(b, &list[i].kernels[1]);
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
  bool decode = strncmp(k->template_name, "mla_decode/combine", 18) != 0;
  uint32_t kernarg = decode ? sizeof(mlaf_decode_args) : sizeof(mlaf_combine_args);
  assert_int_equal(n, 1);
  assert_string_equal(m.symbol, k->symbol);
  if (m.scratch_bytes || m.vgpr_spills || m.sgpr_spills)
    fail_msg("%s %s: scratch %u, spills %u v %u s", k->template_name, what, m.scratch_bytes, m.vgpr_spills, m.sgpr_spills);
  if (m.lds_bytes != k->lds_bytes) fail_msg("%s: LDS %u, the space says %u", what, m.lds_bytes, k->lds_bytes);
  if (m.vgpr_count > k->vgpr_budget) fail_msg("%s: %u registers > budget %u", what, m.vgpr_count, k->vgpr_budget);
  if (m.max_threads < k->threads) fail_msg("%s: %u threads, the space says %u", what, m.max_threads, k->threads);
  kernarg = mlaf_launch_block_size(&m.launch, kernarg);
  /* Overlapping launches came with sm_90; their kernels are all made for it. */
  assert_int_equal(m.launch.flags & MLAF_KERNEL_OVERLAPS, !strncmp(job->target, "sm_9", 4) ? MLAF_KERNEL_OVERLAPS : 0);
  if (m.kernarg_bytes < kernarg) fail_msg("%s: %u bytes of arguments, not %u", what, m.kernarg_bytes, kernarg);
}

/* Distinct decode kernels of one family in the space's order, and how many of them were seen. */
typedef struct family {
  char name[32];
  const mlaf_variant *variants[512];
  size_t n;
} family;

static void sort_into_families(const mlaf_variant *list, size_t n, family *families, size_t *count) {
  for (size_t i = 0; i < n && !list[i].rejected; i++) {
    const size_t len = strcspn(list[i].name, ":");
    family *f = families;
    while (f < families + *count && (strlen(f->name) != len || strncmp(f->name, list[i].name, len))) f++;
    if (f == families + *count) {
      assert_true(*count < MAX_FAMILIES && len < sizeof f->name);
      memcpy(f->name, list[i].name, len);
      ++*count;
    }
    bool seen = false;
    for (size_t k = 0; k < f->n; k++) seen = seen || !strcmp(f->variants[k]->kernels[0].symbol, list[i].kernels[0].symbol);
    if (!seen && f->n < sizeof f->variants / sizeof *f->variants) f->variants[f->n++] = &list[i];
  }
}

/* `each` kernels of each family, from the first to the last, with the combine kernels that come with them. */
static size_t add_some(batch *b, const char *text, size_t each) {
  mlaf_problem p;
  char why[256];
  mlaf_variant *list = NULL;
  size_t n = 0, count = 0;
  mlaf_err err = {0};
  family *families = calloc(MAX_FAMILIES, sizeof *families);
  assert_int_equal(mlaf_problem_parse(text, &p, why, sizeof why), MLAF_OK);
  if (mlaf_gen_space(b->gen, mlaf_point_text(pt(&p)).s, b->target, &list, &n, &err)) fail_msg("%s: %s", text, err.text);
  sort_into_families(list, n, families, &count);
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < each; k++) {
      const mlaf_variant *v = families[i].variants[each > 1 ? k * (families[i].n - 1) / (each - 1) : 0];
      add_kernel(b, &v->kernels[0]);
      if (v->kernels[1].template_name) add_kernel(b, &v->kernels[1]);
    }
  free(families);
  mlaf_variants_free(list, n);
  return count;
}

static size_t add_families(batch *b, const char *text) { return add_some(b, text, PER_FAMILY); }

/* One of each family at the most heads and query tokens there are (gen/limits.lua), where pages and where rows are fetched. */
static size_t add_edge(batch *b) {
  static const struct {
    const char *dims, *rest;
    int q_len;
  } shapes[] = {{"r512,p64", "bf16,page64", 1}, {"r256,p64", "causal,bf16,page64", MLA_DECODE_Q_LEN_MAX},
                {"r512,p64", "causal,bf16,page1", MLA_DECODE_Q_LEN_MAX}};
  size_t n = 0;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    char text[MLAF_PROBLEM_TEXT_MAX];
    snprintf(text, sizeof text, "mla_decode:h%d,%s,q%d,%s,b16,s4096", MLA_DECODE_HEADS_MAX, shapes[i].dims, shapes[i].q_len,
             shapes[i].rest);
    n += add_some(b, text, 1);
  }
  return n;
}

static mlaf_compiler *open_compiler(const char *target) {
  need_compiler(target);
  mlaf_err err = {0};
  mlaf_compiler *compiler = NULL;
  const char *build = getenv("MLAF_BUILD_DIR");
  char *cache = mlaf_format("%s/test-cache", build ? build : "/tmp");
  mlaf_compiler_opts opts = {.cache_dir = cache};
  assert_int_equal(mlaf_compiler_open(&opts, NULL, &compiler, &err), MLAF_OK);
  free(cache);
  return compiler;
}

static batch *make_batch(const char *target) {
  mlaf_err err = {0};
  batch *b = calloc(1, sizeof *b);
  b->target = target;
  assert_int_equal(mlaf_gen_open(NULL, &b->gen, &err), MLAF_OK);
  return b;
}

/* Compile and check all, and free the batch. */
static void check_batch(mlaf_compiler *compiler, batch *b) {
  mlaf_err err = {0};
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
  print_message("%s: %zu kernels, largest budget %u registers\n", b->target, b->n, most);
  assert_true(most <= 512);
  mlaf_gen_close(b->gen);
  free(b);
}

static void resources_are_as_stated(void **state) {
  mlaf_compiler *compiler = open_compiler("gfx942");
  batch *b = make_batch("gfx942");
  add_problem(b, "mla_decode:h16,b64,s4096");
  add_problem(b, "mla_decode:h128,p0,b8,s4096,page1");
  add_problem(b, "mla_decode:h20,r256,p32,q3,causal,f16,page16,b4,s2048");
  assert_true(add_edge(b) >= 6);
  check_batch(compiler, b);
  mlaf_compiler_close(compiler);
}

/* The other CDNA targets: the same templates with other instructions, another LDS, other waits. */
static void cdna_families_are_as_stated(void **state) {
  static const char *const targets[] = {"gfx950", "gfx90a"};
  mlaf_compiler *compiler = open_compiler("gfx942");
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    batch *b = make_batch(targets[i]);
    size_t families = add_families(b, "mla_decode:h16,b16,s4096");
    families += add_families(b, "mla_decode:h128,b16,s4096");
    families += add_families(b, "mla_decode:h64,r256,p32,q3,causal,f16,page1,b4,s2048");
    assert_true(families >= 5);
    check_batch(compiler, b);
  }
  mlaf_compiler_close(compiler);
}

/* No GPU is needed for this: NVRTC compiles for any. */
static void nvidia_families_are_as_stated(void **state) {
  static const char *const targets[] = {"sm_90a", "sm_80"};
  mlaf_compiler *compiler = open_compiler("sm_90a");
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    batch *b = make_batch(targets[i]);
    size_t families = add_families(b, "mla_decode:h16,b16,s4096");
    families += add_families(b, "mla_decode:h128,b16,s4096");
    families += add_families(b, "mla_decode:h20,r256,p32,q3,causal,f16,page1,b4,s2048");
    assert_true(families >= 3);
    if (!strcmp(targets[i], "sm_90a")) assert_true(add_edge(b) >= 3);
    check_batch(compiler, b);
  }
  mlaf_compiler_close(compiler);
}

/* "nvidia": the kernels for NVRTC, which is a test of its own since not everybody has one. */
int main(int argc, char **argv) {
  const struct CMUnitTest amd[] = {cmocka_unit_test(resources_are_as_stated), cmocka_unit_test(cdna_families_are_as_stated)};
  const struct CMUnitTest nvidia[] = {cmocka_unit_test(nvidia_families_are_as_stated)};
  return argc > 1 && !strcmp(argv[1], "nvidia") ? cmocka_run_group_tests(nvidia, NULL, NULL)
                                                : cmocka_run_group_tests(amd, NULL, NULL);
}
