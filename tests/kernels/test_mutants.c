/* Does the emulator notice when synchronisation is missing? Correct kernels with every s_waitcnt, s_barrier and s_nop dropped
 * or weakened in turn (mutants.h), run on a small batch. A mutant must fault or change the output; one that does neither
 * must be one that the second opinion (mutants_trace.c) clears, or have its instruction outside the batch's path.
 * A sample of the mutants by default, the same every time; MLAF_MUTANTS=all runs every one and prints each survivor. */
#include "cmocka_all.h"
#include "op/numeric.h"
#include "check/verify.h"
#include "mutants.h"
#include "rig.h"
#include "ops/mla_decode/compare.h"
#include "ops/mla_decode/execute.h"

typedef struct subject {
  const char *problem;
  const char *words[4]; /* of the variant's name */
  int kernel;           /* 0 decode, 1 combine */
  uint32_t splits;
  int32_t kv_lens[2];
} subject;

static const subject subjects[] = {
    {"mla_decode:h16,r512,p64,q1,bf16,page1,b4,s1024", {"mfma_reg:", "waves=4"}, 0, 1, {300, 17}},
    {"mla_decode:h5,r256,p32,q3,causal,bf16,page1,b4,s1024", {"mfma_reg:", "waves=2", "qsrc=lds"}, 0, 2, {150, 1}},
    {"mla_decode:h128,r512,p64,q1,bf16,page64,b4,s1024", {"mfma_lds:", "load=dma", "order=ahead"}, 0, 1, {210, 0}},
    {"mla_decode:h128,r512,p64,q1,bf16,page64,b4,s1024", {"mfma_lds:", "load=vgpr", "order=plain"}, 0, 2, {210, 0}},
    {"mla_decode:h64,r512,p64,q1,bf16,page1,b4,s1024", {"mfma_lds:", "order=columns"}, 0, 1, {210, 0}},
    {"mla_decode:h16,r512,p64,q1,bf16,page1,b4,s1024", {"mfma_reg:", "waves=4"}, 1, 3, {300, 17}},
};

/* Survivors: the path of this batch does not have the instruction; whatever it waits for was already complete each time; what
 * it orders, another wait or barrier also orders before anybody looks; no rule of the ISA asks for the wait state. */
typedef enum fate { FAULTED, WRONG, NOT_EXECUTED, NO_EFFECT, COVERED, NO_RULE, MISSED, FATES } fate;
static const char *const fate_names[FATES] = {"faulted", "wrong output", "not on the path", "without effect",
                                              "covered", "no rule", "MISSED"};

/* A subject ready to run. */
typedef struct bench {
  rig r;
  const subject *s;
  mlaf_problem problem;
  rig_candidates candidates;
  rig_code code;
  mlaf_testcase *data;
  rig_output good;
  mu_trace trace;
  mutant *list;
  size_t n;
  mlaf_loaded *loaded; /* the correct kernel: the trace points into its code */
  int threads;
} bench;

static mlaf_module *module_of(bench *b, const mlaf_loaded *l) {
  mlaf_execute_args args = MLAF_EXECUTE_ARGS_INIT;
  mlaf_prepared p;
  args.batch = b->data->batch.batch;
  args.total_q = b->data->batch.total_q;
  assert_int_equal(mlaf_loaded_prepare(l, b->s->splits, &args, &p, NULL), MLAF_OK);
  assert_true(p.n > (size_t)b->s->kernel);
  return p.launches[b->s->kernel].fn->module;
}

static const mlaf_variant *choose(const rig_candidates *c, const subject *s) {
  for (size_t i = 0; i < c->n_all; i++) {
    bool fits = !c->all[i].rejected && (s->splits == 1 || c->all[i].kernels[1].template_name);
    for (int k = 0; k < 4 && s->words[k]; k++) fits = fits && strstr(c->all[i].name, s->words[k]);
    if (fits) return &c->all[i];
  }
  fail_msg("%s has no variant with '%s'", s->problem, s->words[1]);
  return NULL;
}

/* The kernel whose mutants are judged is a correct one. */
static void require_correct(const bench *b) {
  const mlaf_batch *x = &b->data->batch;
  size_t n = b->good.rows * (size_t)b->problem.rank;
  double *o = malloc(n * sizeof *o), *lse = malloc(b->good.rows * sizeof *lse), num = 0, den = 0;
  mlaf_err err;
  assert_int_equal(mlaf_reference(x, o, lse, NULL, &err), MLAF_OK);
  for (size_t i = 0; i < n; i++) {
    double d = mlaf_decode16(b->problem.dtype, b->good.o[i]) - o[i];
    num += d * d;
    den += o[i] * o[i];
  }
  if (!(sqrt(num / den) <= mlaf_error_bound(b->problem.dtype))) fail_msg("%s is wrong unmutated", b->code.variant->name);
  free(o);
  free(lse);
}

static void prepare(bench *b, const subject *s) {
  mlaf_err err = {MLAF_OK, ""};
  b->s = s;
  b->problem = rig_problem(s->problem);
  rig_candidates_make(&b->r, &b->problem, &b->candidates);
  rig_build(&b->r, choose(&b->candidates, s), &b->code);
  mlaf_case_spec spec = {.name = "mutants", .problem = b->problem, .seed = 5, .n = 2,
                         .q_lens = {b->problem.q_len, b->problem.q_len}, .kv_lens = {s->kv_lens[0], s->kv_lens[1]},
                         .unused_pages = 1, .score_std = 2};
  if (mlaf_testcase_make(&spec, MLAF_INJECT_NONE, &b->data, &err)) fail_msg("%s", err.text);
  if (rig_open_code(&b->r, &b->problem, &b->code, &b->loaded, &err)) fail_msg("%s", err.text);
  mlaf_module *m = module_of(b, b->loaded);
  if (emu_module_decode(m, &err)) fail_msg("%s", err.text);
  emu_device *dev = (emu_device *)b->r.dev;
  b->threads = dev->threads;
  dev->threads = 1;
  mu_trace_start(&b->trace, m->code);
  b->good = rig_run(&b->r, b->loaded, b->data, s->splits);
  mu_trace_stop(&b->trace);
  dev->threads = b->threads;
  require_correct(b);
  b->n = mutants_list(m->code, &b->list);
}

static void finish(bench *b) {
  rig_output_free(&b->good);
  mu_trace_free(&b->trace);
  free(b->list);
  mlaf_loaded_close(b->loaded);
  mlaf_testcase_free(b->data);
  rig_code_free(&b->code);
  rig_candidates_free(&b->candidates);
}

static bool same_output(const bench *b, const rig_output *o) {
  return memcmp(o->o, b->good.o, o->rows * (size_t)b->problem.rank * 2) == 0 && memcmp(o->lse, b->good.lse, o->rows * 4) == 0;
}

static void judge(const bench *b, const mutant *m, char *what) {
  if (m->kind >= MU_NOP_LESS) mu_states_judge(&b->trace, m, what);
  else mu_trace_judge(&b->trace, m, what);
}

/* Why was it not noticed? */
static fate survivor(const bench *b, const mutant *m, char *what) {
  if (!b->trace.executed[m->inst]) return NOT_EXECUTED;
  judge(b, m, what);
  if (*what) return MISSED;
  if (m->kind >= MU_NOP_LESS) return NO_RULE;
  return m->kind != MU_BARRIER && mu_trace_effect(&b->trace, m) == 0 ? NO_EFFECT : COVERED;
}

/* Run the mutant; `what` gets the fault, or why it would have mattered. */
static fate run_mutant(bench *b, const mutant *m, char what[1200]) {
  rig_code code = b->code;
  mlaf_code *c = &code.code[b->s->kernel];
  mlaf_loaded *l = NULL;
  rig_output out;
  mlaf_err err = {MLAF_OK, ""};
  c->bytes = mutant_code(c->bytes, c->size, m);
  *what = 0;
  if (rig_open_code(&b->r, &b->problem, &code, &l, &err)) fail_msg("%s", err.text);
  mlaf_status st = rig_try(&b->r, l, b->data, b->s->splits, &out, &err);
  fate f = st == MLAF_E_FAULT ? FAULTED : same_output(b, &out) ? COVERED : WRONG;
  if (st && st != MLAF_E_FAULT) fail_msg("pc 0x%x %s: %s", m->pc, mutation_name(m->kind), err.text);
  if (f == FAULTED) snprintf(what, 1200, "%s", err.text);
  if (f == COVERED) f = survivor(b, m, what);
  rig_output_free(&out);
  mlaf_loaded_close(l);
  free((void *)c->bytes);
  return f;
}

static bool chosen(const bench *b, size_t i) {
  const char *all = getenv("MLAF_MUTANTS");
  size_t wanted = 40; /* per kernel: every mutation has its turn, spread over the code */
  return (all && !strcmp(all, "all")) || b->n <= wanted || i * wanted / b->n != (i + 1) * wanted / b->n;
}

static void judge_subject(bench *b, const subject *s) {
  bool verbose = getenv("MLAF_MUTANTS") != NULL;
  size_t count[MU_KINDS][FATES] = {{0}}, missed = 0, ran = 0, sum[FATES] = {0}, alone = 0;
  char what[1200], opinion[256];
  prepare(b, s);
  mu_trace_judge(&b->trace, NULL, what);
  if (!*what) mu_states_judge(&b->trace, NULL, what);
  if (*what) fail_msg("%s: the second opinion refuses the correct kernel: %s", b->code.variant->name, what);
  for (size_t i = 0; i < b->n; i++) {
    const mutant *m = &b->list[i];
    if (!chosen(b, i)) continue;
    fate f = run_mutant(b, m, what);
    count[m->kind][f]++;
    sum[f]++;
    ran++;
    missed += f == MISSED;
    const emu_inst *in = &b->trace.code->insts[m->inst];
    if (f == FAULTED) judge(b, m, opinion);
    if (f == FAULTED && !*opinion && ++alone) printf("  only the emulator objects: %s: %s\n", mutation_name(m->kind), what);
    if (f >= NOT_EXECUTED && (verbose || f == MISSED))
      printf("  %s: pc 0x%x '%s', %s, executed %llu times %s\n", fate_names[f], in->pc, in->text, mutation_name(m->kind),
             (unsigned long long)b->trace.executed[m->inst], what);
  }
  printf("%s %s: %zu mutants of %zu\n", s->kernel ? "combine of" : "decode of", b->code.variant->name, ran, b->n);
  for (int k = 0; k < MU_KINDS; k++) {
    printf("  %-18s", mutation_name((mutation)k));
    for (int f = 0; f < FATES; f++) printf(" %s %zu%s", fate_names[f], count[k][f], f + 1 < FATES ? "," : "\n");
  }
  fflush(stdout);
  if (alone) fail_msg("the second opinion misses %zu faults: its word on survivors is worth nothing", alone);
  if (missed) fail_msg("%zu mutants that matter were not noticed", missed);
  assert_true(sum[FAULTED] > 0);
}

TEST(mutants_are_noticed) {
  const char *only = getenv("MLAF_MUTANTS_SUBJECT");
  bench b;
  memset(&b, 0, sizeof b);
  rig_open(&b.r);
  emu_device *dev = (emu_device *)b.r.dev;
  mlaf_err err;
  /* a disassembler without a cache: no mutant's text is wanted twice */
  assert_int_equal(mlaf_compiler_open(&(mlaf_compiler_opts){.no_cache = true, .jobs = 1}, NULL, &dev->compiler, &err), MLAF_OK);
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
    if (only && strtoul(only, NULL, 10) != i) continue;
    bench one = {.r = b.r};
    judge_subject(&one, &subjects[i]);
    finish(&one);
  }
  rig_close(&b.r);
}

/* Single waits that look as if another covered them: the case that needs each. */
static const struct needed {
  subject s;
  mutation kind;
  const char *before; /* the instruction behind it begins so; NULL: any */
  int nth;            /* of those on the path */
  const char *fault;
} needed[] = {
    /* Q in LDS and the rows of the merge share bytes where two waves' pieces are shorter than Q: the barrier behind the loop. */
    {{"mla_decode:h16,r512,p64,q1,bf16,page1,b4,s1024", {"mfma_reg:", "waves=2", "qsrc=lds"}, 0, 1, {300, 17}}, MU_BARRIER, NULL,
     2, "LDS race: "},
    /* Loads through registers: what a wave wrote to LDS is there at the loop's barrier. */
    {{"mla_decode:h128,r512,p64,q1,bf16,page64,b4,s1024", {"mfma_lds:", "load=vgpr", "order=plain"}, 0, 1, {210, 0}},
     MU_WAIT_DROP, "s_barrier", 0, "LDS race: "}};

TEST(single_waits_are_needed) {
  bench b;
  memset(&b, 0, sizeof b);
  rig_open(&b.r);
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    const struct needed *n = &needed[i];
    bench one = {.r = b.r};
    char what[1200] = "";
    int nth = 0;
    fate f = FATES;
    prepare(&one, &n->s);
    for (size_t k = 0; k < one.n && f == FATES; k++) {
      const mutant *m = &one.list[k];
      const emu_inst *in = &one.trace.code->insts[m->inst];
      if (m->kind != n->kind || !one.trace.executed[m->inst] || (n->before && strncmp(in[1].text, n->before, strlen(n->before))))
        continue;
      if (nth++ == n->nth) f = run_mutant(&one, m, what);
    }
    if (f != FAULTED || !strstr(what, n->fault))
      fail_msg("%s: %s: %s %s", one.code.variant->name, mutation_name(n->kind), f == FATES ? "no such place" : fate_names[f],
               what);
    finish(&one);
  }
  rig_close(&b.r);
}

TESTS(NULL, NULL)
