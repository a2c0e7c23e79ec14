/* Cases of projections: their data by seed, their reference in fp64. */
#include "op/projection_case.h"

#include "op/e4m3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xff, GAP = 24, TABLE_ROWS = 19, DRAWN = 4096 };
#define MOST_WORK 1e9 /* multiplications of a case's reference, in seconds */

/* --- which cases --- */

/* The tokens that it was tuned for, dense; one more than a pass has, in slices; a single one. */
static mlaf_projection_spec spec_of(const mlaf_product *p, int index) {
  int64_t most = 1, tuned = p->tokens < 128 ? p->tokens : 128;
  while (most < tuned) most *= 2;
  switch (index) {
    case 0: return (mlaf_projection_spec){.name = "tuned", .tokens = tuned};
    case 1:
      return (mlaf_projection_spec){.name = "apart", .tokens = most + 1, .apart = true, .table_16 = true, .outside = true,
                                    .sizes = p->norm};
    default: return (mlaf_projection_spec){.name = "one", .tokens = 1, .one_table = true, .huge = true};
  }
}

/* --- memory --- */

static int64_t or_else(int64_t stride, int64_t dense) { return stride ? stride : dense; }

void mlaf_projection_dense(const mlaf_product *p, mlaf_projection_args *a) {
  const int64_t across = (a->w_scale_column + mlaf_product_w_columns(p) + MLAF_SCALE_BLOCK - 1) / MLAF_SCALE_BLOCK;
  a->x_head_stride = or_else(a->x_head_stride, p->inner + p->rope);
  a->x_token_stride = or_else(a->x_token_stride, p->heads * a->x_head_stride);
  a->w_row_stride = or_else(a->w_row_stride, mlaf_product_w_columns(p));
  a->w_head_stride = or_else(a->w_head_stride, mlaf_product_w_rows(p) * a->w_row_stride);
  a->y_head_stride = or_else(a->y_head_stride, p->outer + p->rope);
  a->y_token_stride = or_else(a->y_token_stride, p->heads * a->y_head_stride);
  a->residual_token_stride = or_else(a->residual_token_stride, p->outer);
  a->table_row_stride = or_else(mlaf_product_turns(p) ? a->table_row_stride : 0, a->sin ? p->rope / 2 : p->rope);
  if (p->weights) a->w_scale_row_stride = or_else(a->w_scale_row_stride, across);
}

static void lay_out(mlaf_projection_case *c) {
  const mlaf_product *p = &c->p;
  mlaf_projection_args *a = &c->a;
  *a = (mlaf_projection_args)MLAF_PROJECTION_ARGS_INIT;
  a->tokens = c->spec.tokens;
  a->flags = c->spec.table_16 ? MLAF_PROJECTION_TABLE_16 : 0;
  a->eps = 0.25f; /* large enough to show when it is left out */
  a->table_rows = mlaf_product_turns(p) ? TABLE_ROWS : 0;
  a->sin = c->spec.one_table ? NULL : "there"; /* as far as strides go */
  if (c->spec.apart) {
    a->x_head_stride = p->inner + p->rope + GAP;
    a->x_token_stride = p->heads * a->x_head_stride + GAP;
    a->w_row_stride = mlaf_product_w_columns(p) + (p->weights ? 2 * GAP : GAP);
    a->w_head_stride = (mlaf_product_w_rows(p) + (p->weights ? 32 : 3)) * a->w_row_stride;
    a->w_scale_row = p->weights ? 96 : 0;
    a->w_scale_column = !p->weights ? 0 : p->by_inputs ? 128 : 192;
    a->w_scale_row_stride = !p->weights ? 0 : mlaf_product_w_columns(p) / MLAF_SCALE_BLOCK + 5;
    a->y_head_stride = p->outer + p->rope + GAP;
    a->y_token_stride = p->heads * a->y_head_stride + GAP;
    a->residual_token_stride = p->outer + GAP;
    a->table_row_stride = p->rope / 2 + 8;
  }
  mlaf_projection_dense(p, a);
  a->sin = NULL;
}

static void *poisoned(size_t bytes) {
  void *p = malloc(bytes + 16);
  if (p) memset(p, POISON, bytes);
  return p;
}

static int64_t scale_rows(const mlaf_projection_case *c) {
  const int64_t rows = (c->p.heads - 1) * (c->a.w_head_stride / c->a.w_row_stride) + mlaf_product_w_rows(&c->p);
  return (c->a.w_scale_row + rows + MLAF_SCALE_BLOCK - 1) / MLAF_SCALE_BLOCK;
}

static mlaf_status allocate(mlaf_projection_case *c, mlaf_err *err) {
  const mlaf_product *p = &c->p;
  const mlaf_projection_args *a = &c->a;
  const int64_t T = a->tokens, w_rows = mlaf_product_w_rows(p);
  const size_t number = c->spec.table_16 ? 2 : 4;
  c->x_bytes = (size_t)(T * a->x_token_stride) * 2;
  c->y_bytes = (size_t)(T * a->y_token_stride) * 2;
  c->w_bytes = (size_t)((p->heads - 1) * a->w_head_stride + w_rows * a->w_row_stride) * (size_t)mlaf_product_w_bytes(p);
  c->scale_bytes = p->weights ? (size_t)(scale_rows(c) * a->w_scale_row_stride) * sizeof *c->scales : 0;
  c->gain_bytes = (size_t)p->inner * 2;
  c->residual_bytes = p->residual ? (size_t)(T * a->residual_token_stride) * 2 : 0;
  c->table_bytes = (size_t)(a->table_rows * a->table_row_stride) * number;
  c->x = poisoned(c->x_bytes);
  c->w = poisoned(c->w_bytes);
  c->scales = poisoned(c->scale_bytes);
  c->gain = poisoned(c->gain_bytes);
  c->residual = poisoned(c->residual_bytes);
  c->positions = poisoned((size_t)T * sizeof *c->positions);
  c->cos = poisoned(c->table_bytes);
  c->sin = poisoned(c->table_bytes);
  c->wide = malloc((size_t)p->inner * sizeof *c->wide);
  c->want = malloc((size_t)(p->outer + p->rope) * sizeof *c->want);
  const void *const all[] = {c->x, c->w, c->scales, c->gain, c->residual, c->positions, c->cos, c->sin, c->wide, c->want};
  size_t there = 0;
  while (there < sizeof all / sizeof *all && all[there]) there++;
  if (there == sizeof all / sizeof *all) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for %zu bytes of weights", c->spec.name, c->w_bytes);
}

void mlaf_projection_free_case(mlaf_case *head) {
  if (!head) return;
  mlaf_projection_case *c = (mlaf_projection_case *)head;
  void *all[] = {c->x, c->w, c->scales, c->gain, c->residual, c->positions, c->cos, c->sin, c->wide, c->want, c->given, c};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* --- contents --- */

/* Standard normal numbers, four a draw out of a table: weights are many. */
typedef struct numbers {
  mlaf_rng rng;
  uint16_t of[DRAWN];
  uint8_t codes[DRAWN]; /* of weights of 8 bits, a fifth of the largest code each */
} numbers;

static void open_numbers(numbers *n, int32_t dtype, uint64_t seed) {
  n->rng.state = seed;
  for (int i = 0; i < DRAWN; i++) n->of[i] = mlaf_encode16(dtype, mlaf_rng_normal(&n->rng));
}

static void fill_row(numbers *n, uint16_t *to, int64_t count) {
  uint64_t z = 0;
  for (int64_t i = 0; i < count; i++, z >>= 16) {
    if (i % 4 == 0) z = mlaf_rng_next(&n->rng);
    to[i] = n->of[z % DRAWN];
  }
}

/* The code of size x or the next smaller one. */
static uint8_t code_of(const mlaf_projection_case *c, double x) {
  int i = 0x7f;
  while (i > 0 && !(c->codes[i] <= fabs(x))) i--;
  return (uint8_t)(x < 0 && i ? i | 0x80 : i);
}

/* Normal numbers that reach to the largest code, and, one of four, any code but NaN. */
static void fill_codes(numbers *n, const mlaf_projection_case *c, uint8_t *to, int64_t count) {
  uint64_t z = 0;
  for (int64_t i = 0; i < count; i++, z >>= 16) {
    if (i % 4 == 0) z = mlaf_rng_next(&n->rng);
    to[i] = (uint8_t)(i % 4 == 1 ? z : n->codes[z % DRAWN]);
    if (isnan(c->codes[to[i]])) to[i] = 0x3c;
  }
}

/* Those that w lies in, each other than its neighbours; the others stay NaN. */
static void fill_scales(mlaf_projection_case *c, numbers *n) {
  const mlaf_projection_args *a = &c->a;
  const int64_t across = (a->w_scale_column + mlaf_product_w_columns(&c->p) + MLAF_SCALE_BLOCK - 1) / MLAF_SCALE_BLOCK;
  const float size = c->spec.huge && c->p.dtype == MLAF_BF16 ? 0x1p90f : 0x1p-9f; /* of e4m3 random codes are large */
  for (int64_t r = a->w_scale_row / MLAF_SCALE_BLOCK; r < scale_rows(c); r++)
    for (int64_t i = a->w_scale_column / MLAF_SCALE_BLOCK; i < across; i++) {
      const float x = size * (1 + (float)mlaf_rng_below(&n->rng, 1u << 20) * 0x1p-19f);
      c->scales[r * a->w_scale_row_stride + i] = c->spec.apart && (r + i) % 4 == 3 ? 0 : x;
    }
}

/* A norm's input and weights by sizes and signs: products of two may be far more than f16's largest number. */
static void resize_norm(mlaf_projection_case *c) {
  static const float sizes[] = {6000, 1, 0x1p-4f}, gains[] = {8, -8};
  const int32_t dtype = c->p.dtype;
  for (int64_t t = 0; t < c->a.tokens; t++) {
    uint16_t *const row = c->x + t * c->a.x_token_stride;
    for (int i = 0; i < c->p.inner; i++) row[i] = mlaf_encode16(dtype, sizes[t % 3] * mlaf_decode16(dtype, row[i]));
  }
  for (int i = 0; i < c->p.inner; i++) c->gain[i] = mlaf_encode16(dtype, gains[i % 2] * mlaf_decode16(dtype, c->gain[i]));
}

static void fill_tensors(mlaf_projection_case *c, numbers *n) {
  const mlaf_product *p = &c->p;
  const mlaf_projection_args *a = &c->a;
  const int64_t rows = mlaf_product_w_rows(p), columns = mlaf_product_w_columns(p);
  for (int64_t h = 0; h < p->heads; h++) {
    for (int64_t t = 0; t < a->tokens; t++) fill_row(n, c->x + t * a->x_token_stride + h * a->x_head_stride, p->inner + p->rope);
    for (int64_t r = 0; r < rows; r++) {
      const int64_t at = h * a->w_head_stride + r * a->w_row_stride;
      if (p->weights) fill_codes(n, c, (uint8_t *)c->w + at, columns);
      else fill_row(n, (uint16_t *)c->w + at, columns);
    }
  }
  if (p->weights) fill_scales(c, n);
  for (int i = 0; i < p->inner; i++) c->gain[i] = mlaf_encode16(p->dtype, 1 + mlaf_rng_normal(&n->rng) / 4);
  if (c->spec.sizes) resize_norm(c);
  for (int64_t t = 0; p->residual && t < a->tokens; t++) fill_row(n, c->residual + t * a->residual_token_stride, p->outer);
}

static void *table_of_sines(const mlaf_projection_case *c) { return c->spec.one_table ? c->cos : c->sin; }
static int64_t sine_at(const mlaf_projection_case *c, int64_t row, int i) {
  return row * c->a.table_row_stride + (c->spec.one_table ? c->p.rope / 2 : 0) + i;
}

static void set_number(const mlaf_projection_case *c, void *table, int64_t at, float x) {
  if (c->spec.table_16) ((uint16_t *)table)[at] = mlaf_encode16(c->p.dtype, x);
  else
    ((float *)table)[at] = x;
}
static double number(const mlaf_projection_case *c, const void *table, int64_t at) {
  return c->spec.table_16 ? (double)mlaf_decode16(c->p.dtype, ((const uint16_t *)table)[at]) : (double)((const float *)table)[at];
}

/* Any numbers will do for cosines and sines: those of no angle show a mistake all the better. */
static void fill_angles(mlaf_projection_case *c, numbers *n) {
  const int64_t bad[] = {-1, TABLE_ROWS, INT64_C(1) << 40}, edges[] = {0, TABLE_ROWS - 1};
  for (int64_t row = 0; row < c->a.table_rows; row++)
    for (int i = 0; i < c->p.rope / 2; i++) {
      set_number(c, c->cos, row * c->a.table_row_stride + i, mlaf_rng_normal(&n->rng) / 2);
      set_number(c, table_of_sines(c), sine_at(c, row, i), mlaf_rng_normal(&n->rng) / 2);
    }
  for (int64_t t = 0; t < c->a.tokens; t++) {
    c->positions[t] = t < 2 ? edges[1 - t] : (int64_t)mlaf_rng_below(&n->rng, TABLE_ROWS);
    if (c->spec.outside && t % 4 == 1) c->positions[t] = bad[t / 4 % 3];
  }
}

static int64_t scale_of(const mlaf_projection_case *c, int h, int64_t row, int64_t column) {
  const mlaf_projection_args *a = &c->a;
  const int64_t r = (a->w_scale_row + h * (a->w_head_stride / a->w_row_stride) + row) / MLAF_SCALE_BLOCK;
  return r * a->w_scale_row_stride + (a->w_scale_column + column) / MLAF_SCALE_BLOCK;
}

/* A NaN in one value of x; a position outside the table, or where none turns, a NaN in one weight, or in the scale of one. */
static void inject_fault(mlaf_projection_case *c, mlaf_inject inject, mlaf_rng *rng) {
  const mlaf_product *p = &c->p;
  const int64_t t = mlaf_rng_below(rng, (uint32_t)c->a.tokens), h = mlaf_rng_below(rng, (uint32_t)p->heads);
  const int64_t i = mlaf_rng_below(rng, (uint32_t)p->inner), o = mlaf_rng_below(rng, (uint32_t)p->outer);
  if (inject == MLAF_INJECT_NAN_Q) c->x[t * c->a.x_token_stride + h * c->a.x_head_stride + i] = MLAF_NAN16;
  else if (inject == MLAF_INJECT_OOB_PAGE && mlaf_product_turns(p)) c->positions[t] = c->a.table_rows + 3;
  else if (inject == MLAF_INJECT_OOB_PAGE) {
    const int64_t row = p->by_inputs ? i : o, column = p->by_inputs ? o : i;
    const int64_t at = h * c->a.w_head_stride + row * c->a.w_row_stride + column;
    if (p->weights && o % 2) c->scales[scale_of(c, (int)h, row, column)] = NAN;
    else if (p->weights) ((uint8_t *)c->w)[at] = p->weights == MLAF_WEIGHTS_E4M3FNUZ ? 0x80 : i % 2 ? 0x7f : 0xff;
    else ((uint16_t *)c->w)[at] = MLAF_NAN16;
  }
}

mlaf_status mlaf_projection_make_case(const mlaf_point *point, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out,
                                      mlaf_err *err) {
  mlaf_projection_case *c = calloc(1, sizeof *c);
  if (!c) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a case");
  c->p = mlaf_product_of(point);
  c->spec = spec_of(&c->p, index);
  c->head.name = c->spec.name;
  const double work = (double)c->spec.tokens * c->p.heads * c->p.inner * c->p.outer;
  c->step = 1 + (int)(work / MOST_WORK);
  lay_out(c);
  mlaf_projection_codes(c);
  mlaf_status st = allocate(c, err);
  numbers n;
  if (st) {
    mlaf_projection_free_case(&c->head);
    return st;
  }
  open_numbers(&n, c->p.dtype, seed + (uint64_t)index);
  for (int i = 0; c->p.weights && i < DRAWN; i++)
    n.codes[i] = code_of(c, (double)mlaf_decode16(c->p.dtype, n.of[i]) * c->codes[0x7e] / 5);
  fill_tensors(c, &n);
  fill_angles(c, &n);
  inject_fault(c, inject, &n.rng);
  *out = &c->head;
  return MLAF_OK;
}

mlaf_status mlaf_projection_chain(mlaf_case *head, const mlaf_case *before, mlaf_err *err) {
  mlaf_projection_case *c = (mlaf_projection_case *)head;
  const mlaf_projection_case *first = (const mlaf_projection_case *)before;
  const int given = c->p.inner + c->p.rope;
  c->given = malloc((size_t)given * sizeof *c->given);
  if (!c->given) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a case");
  c->before = first;
  c->p.behind = first->p.inner;
  const double head_work = (double)given * first->p.inner + (double)c->p.inner * c->p.outer;
  c->step = 1 + (int)((double)c->spec.tokens * c->p.heads * head_work / MOST_WORK);
  return MLAF_OK;
}

/* --- the reference --- */

/* A row of x, through the norm. */
static void widen(const mlaf_projection_case *c, const uint16_t *row) {
  const mlaf_product *p = &c->p;
  double square = 0;
  for (int i = 0; i < p->inner; i++) {
    c->wide[i] = (double)mlaf_decode16(p->dtype, row[i]);
    square += c->wide[i] * c->wide[i];
  }
  if (!p->norm) return;
  const double factor = 1 / sqrt(square / p->inner + (double)c->a.eps);
  for (int i = 0; i < p->inner; i++) c->wide[i] *= factor * (double)mlaf_decode16(p->dtype, c->gain[i]);
}

/* Rope columns, which are in `out`. */
static void turn(const mlaf_projection_case *c, int64_t t, double *out) {
  const mlaf_product *p = &c->p;
  const int pairs = p->rope / 2, halves = p->style == MLAF_HALVES;
  if (!mlaf_product_turns(p)) return;
  const int64_t at = c->positions[t];
  const bool there = at >= 0 && at < c->a.table_rows;
  for (int i = 0; i < pairs; i++) {
    const int a = halves ? i : 2 * i, b = halves ? i + pairs : 2 * i + 1;
    const double x = out[a], y = out[b];
    const double cos = there ? number(c, c->cos, at * c->a.table_row_stride + i) : NAN;
    const double sin = there ? number(c, table_of_sines(c), sine_at(c, at, i)) : NAN;
    out[a] = x * cos - y * sin;
    out[b] = y * cos + x * sin;
  }
}

/* Output o of a head's product. */
static double sum_of(const mlaf_projection_case *c, int h, int o) {
  const mlaf_product *p = &c->p;
  const mlaf_projection_args *a = &c->a;
  const int64_t across = p->by_inputs ? a->w_row_stride : 1, along = p->by_inputs ? 1 : a->w_row_stride;
  const uint16_t *w = (const uint16_t *)c->w + h * a->w_head_stride + o * along;
  double sum = 0;
  for (int i = 0; i < p->inner; i++) sum += c->wide[i] * (double)mlaf_decode16(p->dtype, w[i * across]);
  return sum;
}

/* The same of weights of 8 bits: a byte's value times its block's scale. */
static double sum_of_codes(const mlaf_projection_case *c, int h, int o) {
  const mlaf_product *p = &c->p;
  const mlaf_projection_args *a = &c->a;
  const int64_t across = p->by_inputs ? a->w_row_stride : 1, along = p->by_inputs ? 1 : a->w_row_stride;
  const uint8_t *w = (const uint8_t *)c->w + h * a->w_head_stride + o * along;
  double sum = 0;
  for (int i = 0; i < p->inner; i++) {
    const int64_t scale = scale_of(c, h, p->by_inputs ? i : o, p->by_inputs ? o : i);
    sum += c->wide[i] * c->codes[w[i * across]] * (double)c->scales[scale];
  }
  return sum;
}

void mlaf_projection_codes(mlaf_projection_case *c) {
  for (int i = 0; i < 256; i++) c->codes[i] = mlaf_e4m3_decode(c->p.weights == MLAF_WEIGHTS_E4M3FNUZ, (uint8_t)i);
}

/* n outputs of a head's product, from `first` on, of what is in `wide`; those that are not compared are left alone. */
static void multiply(const mlaf_projection_case *c, int64_t t, int h, int first, int n, double *out) {
  const mlaf_product *p = &c->p;
  for (int o = first; o < first + n; o++) {
    if (!mlaf_projection_compared(c, t, o)) continue;
    const double residual = p->residual ? (double)mlaf_decode16(p->dtype, c->residual[t * c->a.residual_token_stride + o]) : 0;
    out[o - first] = residual + (p->weights ? sum_of_codes(c, h, o) : sum_of(c, h, o));
  }
}

/* x as the product before leaves it: a head's share, all of it. */
static void take_given(const mlaf_projection_case *c, int64_t t, int h) {
  const int n = c->p.inner + c->p.rope;
  mlaf_projection_case before = *c->before;
  before.step = 1;
  widen(&before, before.x + t * before.a.x_token_stride);
  multiply(&before, t, 0, h * n, n, c->given);
  memcpy(c->wide, c->given, (size_t)c->p.inner * sizeof *c->wide);
}

void mlaf_projection_reference(const mlaf_projection_case *c, int64_t t, int h, double *out) {
  const mlaf_product *p = &c->p;
  const uint16_t *x = c->x + t * c->a.x_token_stride + h * c->a.x_head_stride;
  double *const pe = out + p->outer;
  if (c->before) take_given(c, t, h);
  else widen(c, x);
  multiply(c, t, h, 0, p->outer, out);
  for (int i = 0; i < p->rope; i++)
    pe[i] = c->before ? c->given[p->inner + i] : (double)mlaf_decode16(p->dtype, x[p->inner + i]);
  turn(c, t, pe);
}

/* --- a launch over one --- */

int mlaf_projection_case_buffers(const mlaf_case *head, const mlaf_bound *b, uint32_t knob, void *args,
                                 mlaf_case_buffer out[MLAF_CASE_BUFFERS]) {
  const mlaf_projection_case *c = (const mlaf_projection_case *)head;
  const mlaf_use turns = mlaf_product_turns(&c->p) ? MLAF_USE_INPUT : MLAF_USE_NONE;
  const size_t workspace = mlaf_projection_workspace(b, knob, c->a.tokens);
  *(mlaf_projection_args *)args = c->a;
  ((mlaf_projection_args *)args)->workspace_size = workspace;
#define ARG(name) offsetof(mlaf_projection_args, name)
  const mlaf_case_buffer all[] = {
      {"y", MLAF_USE_OUTPUT, c->y_bytes, ARG(y), NULL},
      {"x", MLAF_USE_INPUT, c->x_bytes, ARG(x), c->x},
      {"w", MLAF_USE_INPUT, c->w_bytes, ARG(w), c->w},
      {"w_scale", c->p.weights ? MLAF_USE_INPUT : MLAF_USE_NONE, c->scale_bytes, ARG(w_scale), c->scales},
      {"norm_weight", c->p.norm ? MLAF_USE_INPUT : MLAF_USE_NONE, c->gain_bytes, ARG(norm_weight), c->gain},
      {"residual", c->p.residual ? MLAF_USE_INPUT : MLAF_USE_NONE, c->residual_bytes, ARG(residual), c->residual},
      {"positions", turns, (size_t)c->a.tokens * sizeof(int64_t), ARG(positions), c->positions},
      {"cos", turns, c->table_bytes, ARG(cos), c->cos},
      {"sin", c->spec.one_table ? MLAF_USE_NONE : turns, c->table_bytes, ARG(sin), c->sin},
      {"workspace", workspace ? MLAF_USE_WORKSPACE : MLAF_USE_NONE, workspace, ARG(workspace), NULL},
  };
#undef ARG
  memcpy(out, all, sizeof all);
  return sizeof all / sizeof *all;
}
