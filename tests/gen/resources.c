/* The space's promises of its kernels, read from the code objects the real compilers make: no scratch, no spills, LDS
 * and threads as stated, registers within the budget, arguments as the runtime passes them. Of each family as many kernels as
 * have every value of every parameter; MLAF_RESOURCES=all: all of them. Needs the compile room. */
#include "cmocka_all.h"
#include "compile/compile.h"
#include "ops/mla_decode/launch.h"
#include "gen/gen.h"
#include "ops/mla_decode/calls.h"
#include "ops/mla_decode/fields.h"
#include "need.h"
#include "point.h"

enum { MAX_JOBS = 4096, MAX_VALUES = 512, MAX_PARAMS = 24, MAX_PROBLEMS = 16, PAIRS_WORTH = 18 };

typedef struct candidate candidate;

typedef struct batch {
  mlaf_gen *gen;
  const char *target;
  mlaf_compile_job jobs[MAX_JOBS];
  mlaf_kernel_desc kernels[MAX_JOBS]; /* owned */
  size_t n;
  struct value { char *text; bool covered; } values[MAX_VALUES]; /* of parameters; owned */
  int n_values;
  bool together[MAX_VALUES][MAX_VALUES]; /* two values that a kernel has, the lower number first */
  candidate *candidates;                 /* of all problems; owned, as are the spaces that they are of */
  size_t n_candidates;
  struct space { mlaf_variant *list; size_t n; } spaces[MAX_PROBLEMS];
  int n_spaces;
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

/* Number of a parameter's value in a template, such as "mla_decode/mma tile=64". */
static int value_of(batch *b, const mlaf_kernel_desc *k, const char *at, size_t len) {
  char *value = mlaf_format("%s %.*s", k->template_name, (int)len, at);
  for (int i = 0; i < b->n_values; i++)
    if (!strcmp(b->values[i].text, value)) {
      free(value);
      return i;
    }
  assert_true(b->n_values < MAX_VALUES);
  b->values[b->n_values] = (struct value){value, false};
  return b->n_values++;
}

/* A kernel of the space, and which values it has. */
struct candidate {
  const mlaf_kernel_desc *kernel;
  int values[MAX_PARAMS], n;
};

static void read_values(batch *b, candidate *c) {
  for (const char *at = c->kernel->params; *at;) {
    const size_t len = strcspn(at, ",");
    assert_true(c->n < MAX_PARAMS);
    c->values[c->n++] = value_of(b, c->kernel, at, len);
    at += len + (at[len] == ',');
  }
}

static bool *pair(batch *b, const candidate *c, int i, int k) {
  const int x = c->values[i], y = c->values[k];
  return x < y ? &b->together[x][y] : &b->together[y][x];
}

static int fresh_pairs(batch *b, const candidate *c) {
  int n = 0;
  for (int i = 0; i < c->n; i++)
    for (int k = i + 1; k < c->n; k++) n += !*pair(b, c, i, k);
  return n;
}

static int fresh_values(const batch *b, const candidate *c) {
  int n = 0;
  for (int k = 0; k < c->n; k++) n += !b->values[c->values[k]].covered;
  return n;
}

/* The candidate with the most values that none before had and, among equals, the most pairs of values; NULL where none has a new
 * value, or, behind the last new value, PAIRS_WORTH new pairs. */
static const candidate *best_of(batch *b, const candidate *list, size_t n) {
  const candidate *best = NULL;
  int most = 0, pairs = 0;
  for (size_t i = 0; i < n; i++) {
    const int fresh = fresh_values(b, &list[i]), both = fresh >= most ? fresh_pairs(b, &list[i]) : 0;
    if (fresh > most || (fresh == most && both > pairs)) most = fresh, pairs = both, best = &list[i];
  }
  return most || pairs >= PAIRS_WORTH ? best : NULL;
}

/* Kernels until each value of each parameter of each family is there, and those that bring many pairs besides. Chosen from all
 * problems at once: one problem after another took a fifth more kernels for fewer pairs. */
static void cover(batch *b, const candidate *list, size_t n) {
  for (const candidate *best; (best = best_of(b, list, n));) {
    add_kernel(b, best->kernel);
    for (int i = 0; i < best->n; i++) {
      b->values[best->values[i]].covered = true;
      for (int k = i + 1; k < best->n; k++) *pair(b, best, i, k) = true;
    }
  }
}

/* A problem's kernels, for cover_all() to choose from. */
static void add_problem(batch *b, const char *text) {
  mlaf_point p;
  mlaf_variant *list = NULL;
  size_t n = 0;
  mlaf_err err = {0};
  if (mlaf_point_parse(NULL, text, &p, err.text, sizeof err.text) ||
      mlaf_gen_space(b->gen, mlaf_point_text(&p).s, b->target, &list, &n, &err))
    fail_msg("%s: %s", text, err.text);
  assert_true(b->n_spaces < MAX_PROBLEMS);
  b->spaces[b->n_spaces++] = (struct space){list, n};
  b->candidates = realloc(b->candidates, (b->n_candidates + 2 * n + 1) * sizeof *b->candidates);
  for (size_t i = 0; i < n && !list[i].rejected; i++)
    for (int k = 0; k < 2 && list[i].kernels[k].template_name; k++) {
      b->candidates[b->n_candidates] = (candidate){.kernel = &list[i].kernels[k]};
      read_values(b, &b->candidates[b->n_candidates++]);
    }
}

/* Kernels of all problems that cover what was not covered before. MLAF_RESOURCES=all: every kernel of their spaces. */
static void cover_all(batch *b) {
  const char *all = getenv("MLAF_RESOURCES");
  if (all && !strcmp(all, "all"))
    for (size_t i = 0; i < b->n_candidates; i++) add_kernel(b, b->candidates[i].kernel);
  else cover(b, b->candidates, b->n_candidates);
  free(b->candidates);
  b->candidates = NULL;
  while (b->n_spaces) {
    const struct space *s = &b->spaces[--b->n_spaces];
    mlaf_variants_free(s->list, s->n);
  }
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
  if (!strncmp(k->template_name, "mla_decode/", 11) && m.kernarg_bytes < kernarg)
    fail_msg("%s: %u bytes of arguments, not %u", what, m.kernarg_bytes, kernarg);
}

/* At the most heads and query tokens there are (gen/limits.lua), where pages and where rows are fetched. */
static void add_edge(batch *b) {
  static const struct {
    const char *dims, *rest;
    int q_len;
  } shapes[] = {{"r512,p64", "bf16,page64", 1}, {"r256,p64", "causal,bf16,page64", MLA_DECODE_Q_LEN_MAX},
                {"r512,p64", "causal,bf16,page1", MLA_DECODE_Q_LEN_MAX}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    char text[MLAF_POINT_TEXT_MAX];
    snprintf(text, sizeof text, "mla_decode:h%d,%s,q%d,%s,b16,s4096", MLA_DECODE_HEADS_MAX, shapes[i].dims, shapes[i].q_len,
             shapes[i].rest);
    add_problem(b, text);
  }
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

static void free_batch(batch *b) {
  for (size_t i = 0; i < b->n; i++) {
    free((char *)b->jobs[i].source);
    mlaf_compile_job_clear(&b->jobs[i]);
    free(b->kernels[i].template_name);
    free(b->kernels[i].params);
  }
  mlaf_gen_close(b->gen);
  while (b->n_values) free(b->values[--b->n_values].text);
  free(b);
}

/* Compile and check all, and free the batch. */
static void check_batch(mlaf_compiler *compiler, batch *b) {
  mlaf_err err = {0};
  if (mlaf_compile(compiler, b->jobs, b->n, NULL, NULL, &err)) fail_msg("%s", err.text);
  uint32_t most = 0;
  for (size_t i = 0; i < b->n; i++) {
    check_kernel(&b->kernels[i], &b->jobs[i]);
    most = b->kernels[i].vgpr_budget > most ? b->kernels[i].vgpr_budget : most;
  }
  print_message("%s: %zu kernels, largest budget %u registers\n", b->target, b->n, most);
  assert_true(most <= 512);
  free_batch(b);
}

/* Kernels of all problems of a list, and at the edge; `least` of them at least. */
static void check_problems(const char *target, const char *const *problems, bool edge, size_t least) {
  mlaf_compiler *compiler = open_compiler(target);
  batch *b = make_batch(target);
  for (; *problems; problems++) add_problem(b, *problems);
  if (edge) add_edge(b);
  cover_all(b);
  assert_true(b->n >= least);
  check_batch(compiler, b);
  mlaf_compiler_close(compiler);
}

/* The kernels that make page lists of further forms of arguments, and apply sinks: no scratch, nothing spilled. */
static void check_second_forms(const char *target) {
  const mlaf_second_form *const *forms = mlaf_decode_calls.second;
  mlaf_compiler *compiler = open_compiler(target);
  batch *b = make_batch(target);
  mlaf_err err = {0};
  for (; *forms; forms++)
    for (int i = 0; i < (*forms)->n_kernels; i++) {
      const mlaf_kernel_ref *ref = &(*forms)->kernels[i];
      mlaf_kernel_desc k = {.template_name = (char *)(uintptr_t)ref->template_name, .params = (char *)(uintptr_t)ref->params};
      snprintf(k.symbol, sizeof k.symbol, "%s", ref->symbol);
      add_kernel(b, &k);
    }
  assert_true(b->n >= 4);
  if (mlaf_compile(compiler, b->jobs, b->n, NULL, NULL, &err)) fail_msg("%s", err.text);
  for (size_t i = 0; i < b->n; i++) {
    mlaf_kernel_meta m = {0};
    size_t n = 0;
    const mlaf_compile_job *job = &b->jobs[i];
    if (job->status) fail_msg("%s: %s", b->kernels[i].template_name, job->log);
    if (mlaf_code_meta(job->code, job->code_size, &m, 1, &n, &err)) fail_msg("%s", err.text);
    if (n != 1 || m.scratch_bytes || m.vgpr_spills || m.sgpr_spills)
      fail_msg("%s of %s: scratch %u", b->kernels[i].template_name, target, m.scratch_bytes);
  }
  free_batch(b);
  mlaf_compiler_close(compiler);
}

static void resources_are_as_stated(void **state) {
  static const char *const problems[] = {"mla_decode:h16,b64,s4096", "mla_decode:h128,p0,b8,s4096,page1",
                                         "mla_decode:h20,r256,p32,q3,causal,f16,page16,b4,s2048",
                                         "mla_decode:h64,p0,fp8_v4,page1,b64,s2048", NULL};
  check_problems("gfx942", problems, true, 20);
  check_second_forms("gfx942");
}

/* The other CDNA targets: the same templates with other instructions, another LDS, other waits. */
static void cdna_families_are_as_stated(void **state) {
  static const char *const problems[] = {"mla_decode:h16,b16,s4096", "mla_decode:h128,b16,s4096",
                                         "mla_decode:h64,r256,p32,q3,causal,f16,page1,b4,s2048",
                                         "mla_decode:h64,p0,fp8_v4,page1,b64,s2048", NULL};
  check_problems("gfx950", problems, false, 10);
  check_problems("gfx90a", problems, false, 10);
}

/* Variants by name, which the cover above may leave out. */
typedef struct named {
  const char *problem, *variant;
} named;
static void check_named(const named *list, size_t count) {
  mlaf_compiler *compiler = open_compiler("sm_90a");
  batch *b = make_batch("sm_90a");
  mlaf_err err = {0};
  for (size_t i = 0; i < count; i++) {
    mlaf_point p;
    mlaf_variant v = {.name = NULL};
    if (mlaf_point_parse(NULL, list[i].problem, &p, err.text, sizeof err.text) ||
        mlaf_gen_variant(b->gen, mlaf_point_text(&p).s, b->target, list[i].variant, &v, &err))
      fail_msg("%s: %s", list[i].problem, err.text);
    for (int k = 0; k < 2 && v.kernels[k].template_name; k++) add_kernel(b, &v.kernels[k]);
    mlaf_variant_clear(&v);
  }
  check_batch(compiler, b);
  mlaf_compiler_close(compiler);
}

/* The merge kernel behind one split had a sink too many for its registers with pages of 1 and a power of two of heads, and plans
 * took a slower variant. */
static void merges_behind_one_split_are_as_stated(void **state) {
  static const char whole[] = "sm90_many_gather_whole:/s1,early=1,rows=8,team=1";
  static const named list[] = {{"mla_decode:h128,page1,b130,s1984", whole}, {"mla_decode:h64,page1,b195,s2816", whole},
                               {"mla_decode:h96,q2,causal,page1,b100,s1541", whole}};
  check_named(list, sizeof list / sizeof *list);
}

/* Lanes that append a row: where the product alone takes few registers, the row takes more than the product. */
static void kernels_that_append_are_as_stated(void **state) {
  static const char ring[] = "ring_append:pass=64,per_sm=1,rows=32,split=1,ways=1/s1";
#define APPENDS(rest) "mla_q_b:l1024,h16,n128,p64,bf16,t64+mla_append:r512," rest
  static const named list[] = {{APPENDS("halves,norm"), ring}, {APPENDS("split,norm"), ring},
                               {APPENDS("fp8_planar,halves"), ring}, {APPENDS("kpe16,halves,norm"), ring},
                               {APPENDS("split,halves,norm"), "ring_append:pass=64,per_sm=2,rows=32,split=1,ways=1/s1"},
                               {"mla_q_b:l256,h32,n64,p64,bf16,e4m3fn,t128+mla_append:r512,split,halves,norm",
                                "ring_fp8_append:pass=64,per_sm=2,rows=32,split=1,ways=2/s1"}};
#undef APPENDS
  check_named(list, sizeof list / sizeof *list);
}

/* Loaders of 24 registers that read ahead of their wait spilled where a request has splits, alone in its launch. */
static void kernels_that_read_ahead_are_as_stated(void **state) {
  static const named list[] = {
      {"mla_decode:h24,r256,p64,q3,causal,bf16,page24,b1,s582", "sm90_mid_ahead:rows=80,schedule=splits/s1"},
      {"mla_decode:h26,r256,p0,bf16,page128,b1,s1986", "sm90_mid_ahead:rows=32,schedule=splits/s32,rows=4,team=1"},
      {"mla_decode:h47,p32,q3,causal,f16,page24,b1,s689", "sm90_mid_ahead:rows=80,schedule=splits/s11,rows=1,team=8"},
      {"mla_decode:h64,b1,s2048", "sm90_mid_ahead:rows=64,schedule=splits/s32,rows=1,team=8"},
      {"mla_decode:h64,b4,s3897", "sm90_mid_shares_ahead:rows=32/s16,mixed=1,rows=1,team=8"}};
  check_named(list, sizeof list / sizeof *list);
}

/* Kernels whose launch bounds leave more registers than the product needs: compilers take them, and budgets must allow it. */
#define NORM "mla_q_b:l1536,h16,n128,p64,norm,bf16,"
#define BESIDE "+mla_append:r512,fp8_ds_mla,halves,norm"
static void kernels_with_launch_bounds_are_as_stated(void **state) {
  static const named list[] = {
      {NORM "t8", "stream:depth=4,land=shared,pass=8,per_sm=1,rows=32,split=1,warps=4/s1"},
      {NORM "t8", "stream:depth=4,land=shared,pass=8,per_sm=2,rows=32,split=2,warps=4/s1"},
      {NORM "t8", "stream:depth=2,land=shared,pass=8,per_sm=3,rows=32,split=1,warps=8/s1"},
      {NORM "t32" BESIDE, "stream_append:depth=4,land=shared,pass=16,per_sm=2,rows=16,split=1,warps=4/s1"},
      {NORM "t32" BESIDE, "mma_append:cols=1,pass=32,stages=6,ways=2/s1"}};
  static const char *const problems[] = {NORM "t8" BESIDE, "mla_qkv_a:d7168,l1536,r512,p64,bf16,e4m3fn,t16",
                                         "mla_q_absorb:h64,n128,p64,r512,bf16,pairs,t64", NULL};
  check_named(list, sizeof list / sizeof *list);
  check_problems("sm_90a", problems, false, 30);
}

/* Kernels that would spill are not offered: a row beside 16 warps, a norm of three blocks an SM, of many steps a warp. */
static void kernels_that_spill_are_refused(void **state) {
  static const named list[] = {
      {NORM "t8" BESIDE, "stream_append:depth=2,land=shared,pass=8,per_sm=3,rows=16,split=1,warps=16/s1"},
      {NORM "t8" BESIDE, "stream_append:depth=2,land=shared,pass=8,per_sm=3,rows=16,split=1,warps=8/s1"},
      {NORM "t8", "ring:pass=16,per_sm=3,rows=32,split=1,ways=1/s1"},
      {NORM "t32", "stream:depth=4,land=shared,pass=32,per_sm=1,rows=64,split=1,warps=4/s1"}};
  batch *b = make_batch("sm_90a");
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    mlaf_err err = {0};
    mlaf_point p;
    mlaf_variant v = {.name = NULL};
    assert_int_equal(mlaf_point_parse(NULL, list[i].problem, &p, err.text, sizeof err.text), MLAF_OK);
    if (!mlaf_gen_variant(b->gen, mlaf_point_text(&p).s, b->target, list[i].variant, &v, &err))
      fail_msg("%s is offered", list[i].variant);
    if (!strstr(err.text, "spill")) fail_msg("'%s' does not say that it spills", err.text);
  }
  free_batch(b);
}

/* No GPU is needed for this: NVRTC compiles for any. */
static void nvidia_families_are_as_stated(void **state) {
  static const char *const problems[] = {"mla_decode:h16,b16,s4096", "mla_decode:h128,b16,s4096",
                                         "mla_decode:h20,r256,p32,q3,causal,f16,page1,b4,s2048",
                                         "mla_decode:h64,p0,fp8_v4,page1,b64,s2048",
                                         "mla_decode:h64,fp8_ds_mla,q_parts,page1,b64,s2048", NULL};
  check_problems("sm_90a", problems, true, 15);
  check_problems("sm_80", problems, false, 5);
  check_second_forms("sm_90a");
  check_second_forms("sm_80");
}

/* "nvidia": the kernels for NVRTC, which is a test of its own since not everybody has one. */
int main(int argc, char **argv) {
  const struct CMUnitTest amd[] = {cmocka_unit_test(resources_are_as_stated), cmocka_unit_test(cdna_families_are_as_stated)};
  const struct CMUnitTest nvidia[] = {cmocka_unit_test(nvidia_families_are_as_stated),
                                      cmocka_unit_test(merges_behind_one_split_are_as_stated),
                                      cmocka_unit_test(kernels_that_append_are_as_stated),
                                      cmocka_unit_test(kernels_that_read_ahead_are_as_stated),
                                      cmocka_unit_test(kernels_with_launch_bounds_are_as_stated),
                                      cmocka_unit_test(kernels_that_spill_are_refused)};
  return argc > 1 && !strcmp(argv[1], "nvidia") ? cmocka_run_group_tests(nvidia, NULL, NULL)
                                                : cmocka_run_group_tests(amd, NULL, NULL);
}
