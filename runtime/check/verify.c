/* The verification suite: which cases, and running a variant over them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/buffers.h"
#include "ops/mla_decode/compare.h"

enum { MAX_CASES = 4, BIG_PAGE = 4096, MANY_ROWS = 256 };

/* How many of the variant's splits a case is launched with. */
typedef enum split_rule {
  OWN_SPLITS, /* short requests: most splits have no work */
  TWO_SPLITS, /* long requests: several tiles for each wave of each split (one, if the variant has one) */
} split_rule;

typedef struct suite_case {
  mlaf_expected want;
  split_rule splits;
  bool second_without_lse;
} suite_case;

struct mlaf_suite {
  mlaf_problem problem;
  uint64_t seed;
  mlaf_inject inject;
  size_t n;
  suite_case cases[MAX_CASES];
};

/* --- which cases --- */

/* Edges of tiles of 16, 32 and 64 tokens, empty, one token, and lengths that fill their pages. */
static mlaf_case_spec spec_ragged(const mlaf_problem *p, uint64_t seed) {
  static const int32_t kv[] = {37, 0, 1, 16, 129, 64, 65, 17, 31, 96};
  mlaf_case_spec s = {.name = "ragged", .problem = *p, .seed = seed, .unused_pages = 3, .score_std = sqrt(3.0)};
  for (int i = 0; i < (int)(sizeof kv / sizeof *kv); i++) {
    if (p->page_size > BIG_PAGE && i > 2) break; /* every page of 65536 rows is 75 MB */
    s.kv_lens[s.n] = kv[i];
    s.q_lens[s.n++] = i == 5 ? 0 : i == 7 ? 1 : i == 8 ? p->q_len - 1 : p->q_len;
  }
  if (p->page_size > 1 && p->page_size <= 256) {
    s.kv_lens[s.n] = 2 * p->page_size; /* the last page is full */
    s.q_lens[s.n++] = 1;
  }
  return s;
}

/* Long enough that each wave of two splits goes round its loop several times; with many rows one request suffices. */
static mlaf_case_spec spec_deep(const mlaf_problem *p, uint64_t seed) {
  const bool many = p->heads * p->q_len > MANY_ROWS;
  mlaf_case_spec s = {.name = "deep", .problem = *p, .seed = seed + 1, .unused_pages = 1, .score_std = sqrt(3.0)};
  s.n = many ? 1 : 2;
  s.kv_lens[0] = many ? 613 : 1043;
  s.kv_lens[1] = 530;
  s.q_lens[0] = p->q_len;
  s.q_lens[1] = p->q_len;
  return s;
}

/* Scores so far apart that the running maximum keeps rising by more than any lazy-rescale threshold, in the cache
 * layout with ckv and kpe apart, and with a negative scale: kernels that find maxima before they scale must mind its sign. */
static mlaf_case_spec spec_sharp(const mlaf_problem *p, uint64_t seed) {
  mlaf_case_spec s = {.name = "sharp", .problem = *p, .seed = seed + 2, .score_std = -14, .layout = MLAF_CACHE_SPLIT};
  static const int32_t kv[] = {190, 77, 3};
  s.n = p->page_size > BIG_PAGE ? 1 : 3;
  for (int i = 0; i < s.n; i++) s.kv_lens[i] = kv[i], s.q_lens[i] = p->q_len;
  return s;
}

/* --- making the suite --- */

static void free_case(suite_case *c) {
  mlaf_testcase_free(c->want.data);
  free(c->want.o);
  free(c->want.lse);
  free(c->want.magnitude);
}

void mlaf_suite_free(mlaf_suite *s) {
  if (!s) return;
  for (size_t i = 0; i < s->n; i++) free_case(&s->cases[i]);
  free(s);
}


static mlaf_status add_case(mlaf_suite *s, mlaf_case_spec spec, split_rule rule, bool second_without_lse,
                            mlaf_err *err) {
  suite_case *c = &s->cases[s->n++]; /* counted first, so that a half-made case is freed with the suite */
  c->splits = rule;
  c->second_without_lse = second_without_lse;
  mlaf_status st = mlaf_testcase_make(&spec, s->inject, &c->want.data, err);
  if (st) return st;
  const mlaf_batch *x = &c->want.data->batch;
  size_t rows = (size_t)x->total_q * (size_t)x->problem.heads;
  c->want.o = calloc(rows * (size_t)x->problem.rank + 1, sizeof(double));
  c->want.lse = calloc(rows + 1, sizeof(double));
  c->want.magnitude = calloc(rows + 1, sizeof(double));
  if (!c->want.o || !c->want.lse || !c->want.magnitude)
    return mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for a reference of %zu rows", spec.name, rows);
  return mlaf_reference(x, c->want.o, c->want.lse, c->want.magnitude, err);
}

mlaf_status mlaf_suite_create(const mlaf_problem *p, uint64_t seed, mlaf_inject inject, mlaf_suite **out,
                              mlaf_err *err) {
  mlaf_suite *s = calloc(1, sizeof *s);
  if (!s) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a verification suite");
  s->problem = *p;
  s->seed = seed;
  s->inject = inject;
  mlaf_status st = add_case(s, spec_ragged(p, seed), OWN_SPLITS, false, err);
  if (!st && inject == MLAF_INJECT_NONE) {
    st = add_case(s, spec_deep(p, seed), TWO_SPLITS, false, err);
    if (!st) st = add_case(s, spec_sharp(p, seed), OWN_SPLITS, true, err);
  }
  if (st) {
    mlaf_suite_free(s);
    return st;
  }
  *out = s;
  return MLAF_OK;
}

/* --- running a variant --- */

/* One launch: its buffers, and its outputs on the host. */
typedef struct trial {
  mlaf_buffers set;
  uint16_t *o;
  float *lse;
} trial;

static mlaf_status upload(trial *t, const mlaf_loaded *l, const mlaf_testcase *data, uint32_t splits, int poison,
                          bool with_lse, mlaf_execute_args *args, mlaf_err *err) {
  const mlaf_batch *x = &data->batch;
  const size_t rows = (size_t)x->total_q * (size_t)x->problem.heads, tables = (size_t)x->batch;
  args->workspace_size = mlaf_loaded_workspace_size(l, splits, x->total_q);
  const struct {
    const char *name;
    const void *input;
    size_t size;
    bool wanted;
    void **to;
  } all[] = {
      {"q", data->q, data->q_count * 2, true, (void **)&args->q},
      {"ckv", data->ckv, data->ckv_count * 2, true, (void **)&args->ckv},
      {"kpe", data->kpe, data->kpe_count * 2, data->kpe != NULL, (void **)&args->kpe},
      {"qo_indptr", x->qo_indptr, (tables + 1) * 4, true, (void **)&args->qo_indptr},
      {"kv_indptr", x->kv_indptr, (tables + 1) * 4, true, (void **)&args->kv_indptr},
      {"kv_indices", x->kv_indices, (size_t)data->total_pages * 4, true, (void **)&args->kv_indices},
      {"kv_last_page_lens", x->kv_last_page_lens, tables * 4, true, (void **)&args->kv_last_page_lens},
      {"o", NULL, rows * (size_t)x->problem.rank * 2, true, (void **)&args->o},
      {"lse", NULL, rows * 4, with_lse, (void **)&args->lse},
      {"workspace", NULL, args->workspace_size, args->workspace_size != 0, &args->workspace},
  };
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < sizeof all / sizeof *all; i++)
    if (all[i].wanted)
      st = mlaf_buffers_add(&t->set, all[i].name, all[i].input, all[i].size, poison, all[i].to == &args->workspace,
                            all[i].to, err);
  return st;
}

static void free_trial(trial *t) {
  mlaf_buffers_free(&t->set);
  free(t->o);
  free(t->lse);
}

static mlaf_status run_trial(const mlaf_loaded *l, const mlaf_testcase *data, uint32_t splits, bool canaries,
                             bool with_lse, trial *t, mlaf_err *err) {
  const mlaf_batch *x = &data->batch;
  mlaf_device *dev = mlaf_loaded_device(l);
  const size_t rows = (size_t)x->total_q * (size_t)x->problem.heads, o_bytes = rows * (size_t)x->problem.rank * 2;
  mlaf_execute_args args = MLAF_EXECUTE_ARGS_INIT;
  args.batch = x->batch;
  args.total_q = x->total_q;
  args.num_pages = x->num_pages;
  args.ckv_row_stride = x->ckv_row_stride;
  args.kpe_row_stride = data->kpe ? x->kpe_row_stride : 0;
  args.scale = (float)x->scale;
  *t = (trial){.set = {.dev = dev, .canaries = canaries}, .o = malloc(o_bytes + 1), .lse = malloc(rows * 4 + 1)};
  if (!t->o || !t->lse) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu rows of output", rows);
  /* 0xff is NaN; 0x5a is a large ordinary number. An output nobody writes is wrong under one of the two. */
  mlaf_status st = upload(t, l, data, splits, canaries ? 0xff : 0x5a, with_lse, &args, err);
  if (!st) st = mlaf_loaded_launch(l, splits, &args, NULL, err);
  if (!st) st = mlaf_ops(dev)->sync(dev, NULL, err);
  if (!st) st = mlaf_ops(dev)->mem_read(dev, t->o, args.o, o_bytes, err);
  if (!st && with_lse) st = mlaf_ops(dev)->mem_read(dev, t->lse, args.lse, rows * 4, err);
  if (!st) st = mlaf_buffers_check(&t->set, err);
  return st;
}

static bool same_bits(const mlaf_expected *want, const trial *a, const trial *b, bool with_lse,
                      mlaf_verify_result *out) {
  const mlaf_batch *x = &want->data->batch;
  const int64_t rows = x->total_q * x->problem.heads, n = rows * x->problem.rank;
  for (int64_t i = 0; i < n; i++)
    if (a->o[i] != b->o[i]) {
      snprintf(out->detail, sizeof out->detail,
               "case %s: two runs differ: row %lld of %lld, column %lld: bits %04x and %04x", want->data->name,
               (long long)(i / x->problem.rank), (long long)rows, (long long)(i % x->problem.rank), a->o[i], b->o[i]);
      return false;
    }
  if (with_lse && memcmp(a->lse, b->lse, (size_t)rows * sizeof(float))) {
    snprintf(out->detail, sizeof out->detail, "case %s: two runs differ in lse", want->data->name);
    return false;
  }
  return true;
}

static mlaf_status run_case(const suite_case *c, const mlaf_loaded *l, mlaf_verify_result *out, mlaf_err *err) {
  const uint32_t own = mlaf_loaded_splits(l), splits = c->splits == TWO_SPLITS && own > 2 ? 2 : own;
  trial first = {.o = NULL}, second = {.o = NULL};
  /* Canaries find stray writes anywhere; exact allocations let a strict device find stray reads. */
  mlaf_status st = run_trial(l, c->want.data, splits, true, true, &first, err);
  if (!st && !mlaf_compare(&c->want, first.o, first.lse, out)) st = mlaf_fail(err, MLAF_E_INCORRECT, "%s", out->detail);
  if (!st) st = run_trial(l, c->want.data, splits, false, !c->second_without_lse, &second, err);
  if (!st && !same_bits(&c->want, &first, &second, !c->second_without_lse, out))
    st = mlaf_fail(err, MLAF_E_INCORRECT, "%s", out->detail);
  if (st && !out->detail[0] && err)
    snprintf(out->detail, sizeof out->detail, "case %s, %u splits: %.900s", c->want.data->name, splits, err->text);
  free_trial(&first);
  free_trial(&second);
  return st;
}

static const char *inject_option(mlaf_inject inject) {
  return inject == MLAF_INJECT_NAN_Q ? " --inject nan-q" : inject == MLAF_INJECT_OOB_PAGE ? " --inject oob-page" : "";
}

mlaf_status mlaf_suite_run(const mlaf_suite *s, const mlaf_loaded *l, mlaf_verify_result *out, mlaf_err *err) {
  char problem[MLAF_PROBLEM_TEXT_MAX];
  mlaf_err local = {MLAF_OK, ""};
  mlaf_problem_print(&s->problem, problem, sizeof problem);
  *out = (mlaf_verify_result){0};
  snprintf(out->command, sizeof out->command, "mlaforge verify '%s' --device %s --variant '%s' --seed %llu%s", problem,
           mlaf_ops(mlaf_loaded_device(l))->name, mlaf_loaded_name(l), (unsigned long long)s->seed,
           inject_option(s->inject));
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < s->n; i++) {
    st = run_case(&s->cases[i], l, out, &local);
    if (!st) out->cases++;
  }
  return st ? mlaf_fail(err, st, "%s (reproduce: %s)", out->detail, out->command) : MLAF_OK;
}
