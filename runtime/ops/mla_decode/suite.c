/* The cases of mla_decode: which, their buffers, and what must come out. */
#include "ops/mla_decode/suite.h"

#include "ops/mla_decode/compare.h"
#include "op/numeric.h"
#include "ops/mla_decode/execute.h"
#include "ops/mla_decode/values.h"

enum { BIG_PAGE = 4096, MANY_ROWS = 256 };

/* Expected values for variants fused with the value projection: made when the first of them comes. */
typedef struct case_values {
  mlaf_expected want; /* its o; the rest is the case's */
  uint16_t *w;
  size_t count; /* elements of w */
} case_values;

typedef struct decode_case {
  mlaf_case head; /* first */
  mlaf_expected want;
  case_values values;
} decode_case;

static const mlaf_expected *expected(const mlaf_case *c) { return &((const decode_case *)c)->want; }

/* --- which cases --- */

/* Edges of tiles of 16, 32 and 64 tokens, empty, one token, and lengths that fill their pages. A table of cosines and sines ends
 * within the longest request. A token of an 8-bit cache holds a NaN. */
static mlaf_case_spec spec_ragged(const mlaf_problem *p, uint64_t seed) {
  static const int32_t kv[] = {37, 0, 1, 16, 129, 64, 65, 17, 31, 96};
  mlaf_case_spec s = {.name = "ragged", .problem = *p, .seed = seed, .unused_pages = 3, .short_table = true,
                      .any_scales = true, .nan_code_in = 3, .score_std = sqrt(3.0)};
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

/* Long enough that each wave of two splits goes round its loop several times; with many rows one request suffices. Scales of an
 * 8-bit cache are powers of two, or left out. */
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
 * layout with ckv and kpe apart, and with a negative scale: kernels that find maxima before they scale must mind its sign. Scales
 * that tokens hold are beyond what f16 has. */
static mlaf_case_spec spec_sharp(const mlaf_problem *p, uint64_t seed) {
  mlaf_case_spec s = {.name = "sharp", .problem = *p, .seed = seed + 2, .score_std = -14, .layout = MLAF_CACHE_SPLIT,
                      .any_scales = true};
  static const int32_t kv[] = {190, 77, 3}, shifts[] = {15, -30, 14};
  s.n = p->page_size > BIG_PAGE ? 1 : 3;
  for (int i = 0; i < s.n; i++) s.kv_lens[i] = kv[i], s.q_lens[i] = p->q_len, s.shifts[i] = shifts[i];
  return s;
}

/* `most`: splits that it is launched with. RAGGED with the variant's own: for its short requests most have no work. */
static const struct {
  mlaf_case_spec (*spec)(const mlaf_problem *p, uint64_t seed);
  uint32_t most;
  bool spare;
} cases[MLAF_DECODE_CASES] = {
    {spec_ragged, 0, false},
    {spec_deep, 2, false}, /* several tiles for each wave of each split (one, if the variant has one) */
    {spec_sharp, 0, true},
};

static void drop_values(case_values *v) {
  free(v->want.o);
  free(v->w);
  *v = (case_values){.w = NULL};
}

void mlaf_decode_free_case(mlaf_case *c) {
  if (!c) return;
  decode_case *d = (decode_case *)c;
  drop_values(&d->values);
  mlaf_testcase_free(d->want.data);
  free(d->want.o);
  free(d->want.lse);
  free(d->want.magnitude);
  free(d);
}

static size_t rows_of(const mlaf_batch *x) { return (size_t)x->total_q * (size_t)x->problem.heads; }

static mlaf_status fill(decode_case *d, const mlaf_case_spec *spec, mlaf_inject inject, mlaf_err *err) {
  mlaf_status st = mlaf_testcase_make(spec, inject, &d->want.data, err);
  if (st) return st;
  const mlaf_batch *x = &d->want.data->batch;
  const size_t rows = rows_of(x);
  d->head.name = d->want.data->name;
  d->want.o = calloc(rows * (size_t)x->problem.rank + 1, sizeof(double));
  d->want.lse = calloc(rows + 1, sizeof(double));
  d->want.magnitude = calloc(rows + 1, sizeof(double));
  if (!d->want.o || !d->want.lse || !d->want.magnitude)
    return mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for a reference of %zu rows", spec->name, rows);
  return mlaf_reference(x, d->want.o, d->want.lse, d->want.magnitude, err);
}

mlaf_status mlaf_decode_make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out,
                                  mlaf_err *err) {
  const mlaf_problem problem = mlaf_problem_of(p);
  mlaf_case_spec spec = cases[index].spec(&problem, seed);
  decode_case *d = calloc(1, sizeof *d);
  if (!d) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for case %s", spec.name);
  for (int i = 0; i < MLAF_GIVEN; i++) spec.given[i] = mlaf_decode_given[i].cases[index];
  d->head.knob_most = cases[index].most;
  d->head.spare = cases[index].spare;
  mlaf_status st = fill(d, &spec, inject, err);
  if (st) mlaf_decode_free_case(&d->head);
  else *out = &d->head;
  return st;
}

/* --- values --- */

enum { W_ROW_PAD = 8, W_HEAD_PAD = 3 }; /* elements behind a row, rows behind a head: NaN, which nobody may read */

static mlaf_w_v w_of(const decode_case *d, int columns) {
  const int64_t row = d->want.data->batch.problem.rank + W_ROW_PAD;
  return (mlaf_w_v){d->values.w, row, (columns + W_HEAD_PAD) * row, columns};
}

static mlaf_status make_values(decode_case *d, int columns, mlaf_err *err) {
  case_values *v = &d->values;
  const mlaf_problem *p = &d->want.data->batch.problem;
  mlaf_rng rng = {0x775f7576};
  mlaf_w_v w = w_of(d, columns);
  v->count = (size_t)(w.head_stride * p->heads);
  v->w = malloc(v->count * sizeof *v->w);
  if (!v->w) return mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for W_UV", d->head.name);
  memset(v->w, 0xff, v->count * sizeof *v->w);
  for (int h = 0; h < p->heads; h++)
    for (int i = 0; i < columns; i++)
      for (int c = 0; c < p->rank; c++)
        v->w[h * w.head_stride + i * w.row_stride + c] = mlaf_encode16(p->dtype, mlaf_rng_normal(&rng) / sqrt(p->rank));
  w.data = v->w;
  return mlaf_expect_values(&d->want, rows_of(&d->want.data->batch), p->heads, &w, &v->want, err);
}

/* A case is one suite's, which runs its variants one after the other. Without memory there is no W_UV, and the launch is refused
 * by its arguments' check. */
static const case_values *values_of(const mlaf_case *c, int columns) {
  decode_case *d = (decode_case *)(uintptr_t)c;
  mlaf_err ignored;
  if (d->values.want.columns == columns) return &d->values;
  drop_values(&d->values);
  if (columns && make_values(d, columns, &ignored)) drop_values(&d->values);
  return &d->values;
}

/* --- a launch over one --- */

enum { AT_O = 8, AT_LSE, AT_VALUES }; /* among the buffers */

int mlaf_decode_case_buffers(const mlaf_case *c, const mlaf_bound *b, uint32_t splits, void *args,
                             mlaf_case_buffer out[MLAF_CASE_BUFFERS]) {
  const mlaf_testcase *data = expected(c)->data;
  const mlaf_batch *x = &data->batch;
  const size_t rows = (size_t)x->total_q * (size_t)x->problem.heads, tables = (size_t)x->batch;
  mlaf_execute_args *a = args;
  *a = (mlaf_execute_args)MLAF_EXECUTE_ARGS_INIT;
  a->batch = x->batch;
  a->total_q = x->total_q;
  a->num_pages = x->num_pages;
  a->ckv_page_stride = x->page_rows * x->ckv_row_stride;
  a->ckv_row_stride = x->ckv_row_stride;
  a->kpe_row_stride = data->kpe ? x->kpe_row_stride : 0;
  a->scale = (float)x->scale;
  a->rope_rows = x->rope_rows;
  const bool parts = x->problem.q_parts;
  a->q_token_stride = data->q_token, a->q_head_stride = data->q_head;
  a->q_pe_token_stride = data->q_pe_token, a->q_pe_head_stride = data->q_pe_head;
  a->workspace_size = mlaf_decode_workspace(b, splits, x->total_q);
  const int columns = mlaf_decode_goes_on(b);
  const case_values *v = values_of(c, columns);
  a->w_v_row_stride = columns ? w_of((const decode_case *)c, columns).row_stride : 0;
  a->w_v_head_stride = columns ? w_of((const decode_case *)c, columns).head_stride : 0;
#define ARG(name) offsetof(mlaf_execute_args, name)
  const mlaf_case_buffer all[] = {
      {"q", MLAF_USE_INPUT, (parts ? data->q_pe_at : data->q_count) * 2, ARG(q), parts ? data->q_parts : data->q},
      {"q_pe", parts ? MLAF_USE_INPUT : MLAF_USE_NONE, (data->q_parts_count - data->q_pe_at) * 2, ARG(q_pe),
       parts ? data->q_parts + data->q_pe_at : NULL},
      {"ckv", MLAF_USE_INPUT, data->ckv_count * 2, ARG(ckv), data->ckv},
      {"kpe", data->kpe ? MLAF_USE_INPUT : MLAF_USE_NONE, data->kpe_count * 2, ARG(kpe), data->kpe},
      {"qo_indptr", MLAF_USE_INPUT, (tables + 1) * 4, ARG(qo_indptr), x->qo_indptr},
      {"kv_indptr", MLAF_USE_INPUT, (tables + 1) * 4, ARG(kv_indptr), x->kv_indptr},
      {"kv_indices", MLAF_USE_INPUT, (size_t)data->total_pages * 4, ARG(kv_indices), x->kv_indices},
      {"kv_last_page_lens", MLAF_USE_INPUT, tables * 4, ARG(kv_last_page_lens), x->kv_last_page_lens},
      [AT_O] = {"o", columns ? MLAF_USE_NONE : MLAF_USE_OUTPUT, rows * (size_t)x->problem.rank * 2, ARG(o), NULL},
      [AT_LSE] = {"lse", columns ? MLAF_USE_NONE : MLAF_USE_OPTIONAL_OUTPUT, rows * 4, ARG(lse), NULL},
      [AT_VALUES] = {"values", columns ? MLAF_USE_OUTPUT : MLAF_USE_NONE, rows * (size_t)columns * 2, ARG(values), NULL},
      {"w_v", v->w ? MLAF_USE_INPUT : MLAF_USE_NONE, v->count * 2, ARG(w_v), v->w},
      {"workspace", a->workspace_size ? MLAF_USE_WORKSPACE : MLAF_USE_NONE, a->workspace_size, ARG(workspace), NULL},
  };
  int n = sizeof all / sizeof *all;
  memcpy(out, all, sizeof all);
  for (const mlaf_given *g = mlaf_decode_given; g < mlaf_decode_given + MLAF_GIVEN; g++) {
    const float *const at = x->given[g - mlaf_decode_given];
    out[n++] = (mlaf_case_buffer){g->name, at ? MLAF_USE_INPUT : MLAF_USE_NONE, mlaf_given_bytes(g, &x->problem, a), g->at, at};
  }
#undef ARG
  return n;
}

bool mlaf_decode_compare_case(const mlaf_case *c, void *const *outputs, mlaf_verify_result *out) {
  const mlaf_expected *values = &((const decode_case *)c)->values.want;
  if (outputs[AT_VALUES]) return mlaf_compare(values, outputs[AT_VALUES], NULL, out);
  return mlaf_compare(expected(c), outputs[AT_O], outputs[AT_LSE], out);
}

bool mlaf_decode_same_case(const mlaf_case *c, void *const *a, void *const *b, mlaf_verify_result *out) {
  const mlaf_batch *x = &expected(c)->data->batch;
  const int at = a[AT_VALUES] ? AT_VALUES : AT_O;
  const int64_t rows = x->total_q * x->problem.heads;
  const int64_t width = a[AT_VALUES] ? ((const decode_case *)c)->values.want.columns : x->problem.rank, n = rows * width;
  const uint16_t *o = a[at], *again = b[at];
  for (int64_t i = 0; i < n; i++)
    if (o[i] != again[i]) {
      snprintf(out->detail, sizeof out->detail,
               "case %s: two runs differ: row %lld of %lld, column %lld: bits %04x and %04x", c->name,
               (long long)(i / width), (long long)rows, (long long)(i % width), o[i], again[i]);
      return false;
    }
  if (a[AT_LSE] && b[AT_LSE] && memcmp(a[AT_LSE], b[AT_LSE], (size_t)rows * sizeof(float))) {
    snprintf(out->detail, sizeof out->detail, "case %s: two runs differ in lse", c->name);
    return false;
  }
  return true;
}

double mlaf_decode_bound(const mlaf_point *p) { return mlaf_error_bound((mlaf_dtype)mlaf_problem_of(p).dtype); }
