/* Cases of projections: what is in them, and their reference in fp64. */
#include "op/projection_table.h"

#include "op/e4m3.h"
#include "op/sums.h"

enum { GAP = 24, TABLE_ROWS = 19, TIMED_ROWS = 4096 };
#define MOST_WORK 1e9 /* multiplications of a case's reference, in seconds */

/* A size of the table. */
#define N(h, size) ((h)->n[PROJECTION_SIZE_##size])

/* --- which cases --- */

typedef enum token_count { AS_TUNED, MORE, ONE } token_count;
typedef struct options {
  token_count tokens;
  bool timed;
  bool apart;   /* rows, heads and tokens lie apart, as in slices of larger tensors */
  bool outside; /* some positions are outside the table */
  bool huge;    /* scales of weights of 8 bits are as large as leaves outputs finite; else about 1, in slices some are 0 */
  bool sizes;   /* with a norm: rows of x are large, usual and small by turns, and the norm's weights large */
} options;

/* The tokens that it was tuned for, dense; one more than a pass has, in slices; a single one. */
const mlaf_table_case mlaf_projection_cases[MLAF_PROJECTION_CASES] = {
    {.name = "tuned", .options = &(const options){.tokens = AS_TUNED}},
    {.name = "apart", .gaps = true, .flags = MLAF_PROJECTION_TABLE_16,
     .options = &(const options){.tokens = MORE, .apart = true, .outside = true, .sizes = true}},
    {.name = "one", .without = 1u << PROJECTION_SIN, .options = &(const options){.tokens = ONE, .huge = true}},
};
const mlaf_table_case mlaf_projection_timing = {
    .name = "timing", .without = 1u << PROJECTION_SIN, .options = &(const options){.timed = true}};

static const options *options_of(const mlaf_host *h) { return h->options; }
static mlaf_projection_args *args_of(const mlaf_host *h) { return (void *)(uintptr_t)h->args.bytes; }
static int64_t *positions(const mlaf_host *h) { return (void *)h->t[PROJECTION_POSITIONS].data; }
static float *scales(const mlaf_host *h) { return (void *)h->t[PROJECTION_W_SCALE].data; }

static int64_t count(const mlaf_point *point, const mlaf_table_case *c) {
  const mlaf_product p = mlaf_product_of(point);
  const options *o = c->options;
  const int64_t tuned = o->timed || p.tokens < 128 ? p.tokens : 128;
  int64_t most = 1;
  while (most < tuned) most *= 2;
  return o->tokens == ONE ? 1 : o->tokens == MORE ? most + 1 : tuned;
}

static void arguments(mlaf_host *h) {
  const mlaf_product p = mlaf_product_of(&h->point);
  mlaf_projection_args *a = args_of(h);
  a->eps = 0.25f; /* large enough to show when it is left out */
  a->table_rows = !mlaf_product_turns(&p) ? 0 : options_of(h)->timed ? TIMED_ROWS : TABLE_ROWS;
  if (!p.weights || !options_of(h)->apart) return;
  a->w_scale_row = 96;
  a->w_scale_column = p.by_inputs ? 128 : 192;
}

/* Rows from a head's first weight to the next one's. */
static int64_t head_rows(const mlaf_host *h) { return h->t[PROJECTION_W].stride[0] / h->t[PROJECTION_W].stride[1]; }

static int64_t scale_rows(const mlaf_host *h) {
  return mlaf_up(args_of(h)->w_scale_row + (N(h, H) - 1) * head_rows(h) + N(h, ROWS), MLAF_SCALE_BLOCK);
}

/* Heads of weights lie apart by whole rows, since scales are found so. */
static void arrange(mlaf_host *h) {
  mlaf_host_tensor *w = &h->t[PROJECTION_W], *scale = &h->t[PROJECTION_W_SCALE], *sin = &h->t[PROJECTION_SIN];
  if (!sin->absent) sin->count = h->t[PROJECTION_COS].count;
  if (!options_of(h)->apart) return;
  w->stride[1] = N(h, COLUMNS) + (N(h, WEIGHTS) ? 2 * GAP : GAP);
  w->stride[0] = (N(h, ROWS) + (N(h, WEIGHTS) ? 32 : 3)) * w->stride[1];
  w->count = (N(h, H) - 1) * w->stride[0] + N(h, ROWS) * w->stride[1];
  if (scale->absent) return;
  scale->stride[0] = N(h, ACROSS) + 2;
  scale->count = scale_rows(h) * scale->stride[0];
}

static int suit(const mlaf_host *h, const mlaf_bound *b, void *args, int n, mlaf_case_buffer *out) {
  const size_t bytes = mlaf_projection_workspace(b, b->knob, N(h, T));
  ((mlaf_projection_args *)args)->workspace_size = bytes;
  out[n] = (mlaf_case_buffer){"workspace", bytes ? MLAF_USE_WORKSPACE : MLAF_USE_NONE, bytes,
                              offsetof(mlaf_projection_args, workspace), NULL};
  return n + 1;
}

/* --- contents --- */

static bool fnuz(const mlaf_host *h) { return N(h, WEIGHTS) == MLAF_WEIGHTS_E4M3FNUZ; }

/* Any code but NaN. */
static uint8_t code(const mlaf_host *h, mlaf_rng *rng) {
  const uint8_t some = (uint8_t)mlaf_rng_below(rng, 256);
  return isnan(mlaf_e4m3_decode(fnuz(h), some)) ? 0x3c : some;
}

/* Standard normal numbers out of a table, as weights are many; of 8 bits such that reach to the largest code, and, one of four,
 * any code. */
static void fill_weights(const mlaf_host *h, mlaf_rng *rng) {
  enum { DRAWN = 4096 };
  uint16_t drawn[DRAWN];
  for (int i = 0; i < DRAWN; i++) {
    const float x = mlaf_rng_normal(rng);
    drawn[i] = N(h, WEIGHTS) ? mlaf_e4m3_encode(fnuz(h), (double)x * mlaf_e4m3_most(fnuz(h)) / 5) : mlaf_encode16(h->dtype, x);
  }
  for (int64_t i = 0; i < N(h, H) * N(h, ROWS); i++) {
    void *row = mlaf_host_at(h, PROJECTION_W, i / N(h, ROWS), i % N(h, ROWS));
    for (int64_t c = 0; c < N(h, COLUMNS); c++) {
      const uint16_t x = drawn[mlaf_rng_below(rng, DRAWN)];
      if (!N(h, WEIGHTS)) ((uint16_t *)row)[c] = x;
      else ((uint8_t *)row)[c] = c % 4 == 1 ? code(h, rng) : (uint8_t)x;
    }
  }
}

/* Scales of the blocks that w lies in, each other than its neighbours; the others stay NaN. */
static void fill_scales(const mlaf_host *h, mlaf_rng *rng) {
  const options *o = options_of(h);
  const float size = o->timed ? 0x1p-8f : o->huge && h->dtype == MLAF_BF16 ? 0x1p90f : 0x1p-9f; /* random codes are large */
  const int64_t first = args_of(h)->w_scale_column / MLAF_SCALE_BLOCK;
  for (int64_t r = args_of(h)->w_scale_row / MLAF_SCALE_BLOCK; r < scale_rows(h); r++)
    for (int64_t c = first; c < N(h, ACROSS); c++) {
      const float x = size * (1 + (float)mlaf_rng_below(rng, 1u << 20) * 0x1p-19f);
      scales(h)[r * h->t[PROJECTION_W_SCALE].stride[0] + c] = o->apart && (r + c) % 4 == 3 ? 0 : x;
    }
}

/* A norm's input and weights by sizes and signs: products of two may be far more than f16's largest number. */
static void resize_norm(const mlaf_host *h) {
  static const float sizes[] = {6000, 1, 0x1p-4f}, gains[] = {8, -8};
  uint16_t *gain = mlaf_host_at(h, PROJECTION_NORM_WEIGHT, 0, 0);
  for (int64_t t = 0; t < N(h, T); t++) {
    uint16_t *row = mlaf_host_at(h, PROJECTION_X, t, 0);
    for (int64_t i = 0; i < N(h, INNER); i++) row[i] = mlaf_encode16(h->dtype, sizes[t % 3] * mlaf_decode16(h->dtype, row[i]));
  }
  for (int64_t i = 0; i < N(h, INNER); i++) gain[i] = mlaf_encode16(h->dtype, gains[i % 2] * mlaf_decode16(h->dtype, gain[i]));
}

static void draw_timing(mlaf_host *h, mlaf_rng *rng) {
  const int64_t rows = N(h, TABLE), bad[] = {-1, rows, INT64_C(1) << 40}, edges[] = {0, rows - 1};
  for (int64_t t = 0; N(h, ROTATED) && t < N(h, T); t++) {
    positions(h)[t] = t < 2 ? edges[1 - t] : mlaf_rng_below(rng, (uint32_t)rows);
    if (options_of(h)->outside && t % 4 == 1) positions(h)[t] = bad[t / 4 % 3];
  }
  mlaf_host_fill_angles(h, PROJECTION_COS, PROJECTION_COS, 2, rng);
  mlaf_host_fill_angles(h, PROJECTION_SIN, PROJECTION_COS, 2, rng);
  if (N(h, WEIGHTS)) fill_scales(h, rng);
}

static void draw(mlaf_host *h, mlaf_rng *rng) {
  draw_timing(h, rng);
  fill_weights(h, rng);
  for (int64_t i = 0; N(h, NORM) && i < N(h, INNER); i++) {
    uint16_t *gain = (uint16_t *)mlaf_host_at(h, PROJECTION_NORM_WEIGHT, 0, 0) + i;
    *gain = mlaf_encode16(h->dtype, 1 + mlaf_decode16(h->dtype, *gain) / 4);
  }
  if (options_of(h)->sizes && N(h, NORM)) resize_norm(h);
}

static int64_t scale_at(const mlaf_host *h, int64_t head, int64_t row, int64_t column) {
  const int64_t r = (args_of(h)->w_scale_row + head * head_rows(h) + row) / MLAF_SCALE_BLOCK;
  return r * h->t[PROJECTION_W_SCALE].stride[0] + (args_of(h)->w_scale_column + column) / MLAF_SCALE_BLOCK;
}

/* A NaN in one weight, and in a scale of other rows, where there are such: the last one, or the first. */
static void break_weights(mlaf_host *h, int64_t head, int64_t row, int64_t column) {
  const int64_t last = scale_at(h, N(h, H) - 1, N(h, ROWS) - 1, 0), own = scale_at(h, head, row, 0);
  const int64_t other = own == last ? scale_at(h, 0, 0, 0) : last;
  uint8_t *w = (uint8_t *)mlaf_host_at(h, PROJECTION_W, head, row) + N(h, UNIT) * column;
  if (!N(h, WEIGHTS)) memset(w, 0xff, 2);
  else *w = fnuz(h) ? 0x80 : column % 2 ? 0x7f : 0xff;
  if (N(h, WEIGHTS) && other != own) scales(h)[other] = NAN;
}

/* A NaN in one value of x; a position outside the table, or where none rotates, weights that are NaN. */
static mlaf_status inject(mlaf_host *h, mlaf_inject inject, mlaf_rng *rng, mlaf_err *err) {
  const int64_t t = mlaf_rng_below(rng, (uint32_t)N(h, T)), head = mlaf_rng_below(rng, (uint32_t)N(h, H));
  const int64_t row = mlaf_rng_below(rng, (uint32_t)N(h, ROWS)), column = mlaf_rng_below(rng, (uint32_t)N(h, COLUMNS));
  (void)err;
  if (inject == MLAF_INJECT_NAN_Q)
    ((uint16_t *)mlaf_host_at(h, PROJECTION_X, t, head))[mlaf_rng_below(rng, (uint32_t)N(h, INNER))] = MLAF_NAN16;
  else if (N(h, ROTATED)) positions(h)[t] = N(h, TABLE) + 3;
  else break_weights(h, head, row, column);
  return MLAF_OK;
}

/* --- the reference --- */

/* Work of a token and head; of a chained product, what it takes of the one before, too. */
static double work_of(const mlaf_host *h) {
  const double given = h->before ? (double)N(h, X) * (double)N(h->before, INNER) : 0;
  return given + (double)N(h, INNER) * (double)N(h, OUTER);
}

/* Every so many outputs of a token are compared, others for its neighbours; of a chained product all of every so many heads. */
static int64_t step_of(const mlaf_host *h) {
  return options_of(h)->timed ? 1 : 1 + (int64_t)((double)(N(h, T) * N(h, H)) * work_of(h) / MOST_WORK);
}
static bool compared(const mlaf_host *h, int64_t t, int64_t head) { return !h->before || (head + t) % step_of(h) == 0; }

/* Numbers at hand for a row: x as the product sees it, what the product before gives, a row of weights, and as it is stored. */
typedef struct product {
  const mlaf_rows *r;
  double *wide, *given, *weights, *behind, codes[256];
  uint16_t *raw;
  int64_t t, step;
} product;

static int64_t widest(const mlaf_host *h) { return N(h, INNER) > N(h, OUTER) ? N(h, INNER) : N(h, OUTER); }
static int64_t numbers(const mlaf_host *h) { return N(h, INNER) + N(h, X) + widest(h) + widest(h) / 4 + 1; }
static size_t scratch(const mlaf_host *h) {
  return (size_t)(numbers(h) + (h->before ? numbers(h->before) : 0)) * sizeof(double);
}

static product product_of(const mlaf_rows *r, double *at, int64_t step) {
  const mlaf_host *h = r->h;
  product p = {.r = r, .wide = at, .given = at + N(h, INNER), .behind = at + numbers(h), .t = r->i, .step = step};
  p.weights = p.given + N(h, X);
  p.raw = (uint16_t *)(void *)(p.weights + widest(h));
  for (int i = 0; N(h, WEIGHTS) && i < 256; i++) p.codes[i] = mlaf_e4m3_decode(fnuz(h), (uint8_t)i);
  return p;
}

/* Columns of a row of weights, with their scales. */
static void take_weights(const product *p, int64_t head, int64_t row) {
  const mlaf_host *h = p->r->h;
  const int64_t n = N(h, COLUMNS), *stride = h->t[PROJECTION_W].stride;
  const uint8_t *bytes = (const uint8_t *)p->raw;
  const int64_t first = args_of(h)->w_scale_column % MLAF_SCALE_BLOCK;
  const float *scale = N(h, WEIGHTS) ? scales(h) + scale_at(h, head, row, 0) : NULL;
  mlaf_rows_read(p->r, PROJECTION_W, head * stride[0] + row * stride[1], n, p->raw);
  if (!scale) mlaf_widen16(h->dtype, p->raw, n, p->weights);
  for (int64_t c = 0, end; scale && c < n; c = end) {
    const int64_t block = (first + c) / MLAF_SCALE_BLOCK;
    end = (block + 1) * MLAF_SCALE_BLOCK - first;
    if (end > n) end = n;
    mlaf_widen8(p->codes, bytes + c, end - c, (double)scale[block], p->weights + c);
  }
}

static bool output_compared(const product *p, int64_t o) { return (o + p->t) % p->step == 0; }

/* Adds an input times its row of weights, from column `first` on, to those of n outputs that are compared. */
static void add_row(const product *p, double input, int64_t first, int64_t n, double *out) {
  if (p->step == 1) {
    mlaf_add_scaled(out, input, p->weights + first, n);
    return;
  }
  for (int64_t o = (p->step - (first + p->t) % p->step) % p->step; o < n; o += p->step) out[o] += input * p->weights[first + o];
}

/* n outputs of a head's product, from `first` on, of what is in `wide`; those that are not compared are left alone. */
static void multiply(const product *p, int64_t head, int64_t first, int64_t n, double *out) {
  const mlaf_host *h = p->r->h;
  const bool by_inputs = N(h, BY_INPUTS);
  for (int64_t o = 0; o < n; o++) out[o] = 0;
  for (int64_t row = by_inputs ? 0 : first; row < (by_inputs ? N(h, INNER) : first + n); row++) {
    if (!by_inputs && !output_compared(p, row)) continue;
    take_weights(p, head, row);
    if (by_inputs) add_row(p, p->wide[row], first, n, out);
    else out[row - first] = mlaf_dot(p->wide, p->weights, N(h, INNER));
  }
}

/* A row of x, through the norm. */
static void widen(const product *p, const uint16_t *row) {
  const mlaf_host *h = p->r->h;
  const int64_t n = N(h, INNER);
  double square = 0;
  for (int64_t i = 0; i < n; i++) {
    p->wide[i] = (double)mlaf_decode16(h->dtype, row[i]);
    square += p->wide[i] * p->wide[i];
  }
  if (!N(h, NORM)) return;
  const double factor = 1 / sqrt(square / (double)n + (double)args_of(h)->eps);
  mlaf_rows_read(p->r, PROJECTION_NORM_WEIGHT, 0, n, p->raw);
  for (int64_t i = 0; i < n; i++) p->wide[i] *= factor * (double)mlaf_decode16(h->dtype, p->raw[i]);
}

/* x as the product before leaves it: a head's share, all of it. */
static void take_given(const product *p) {
  const mlaf_host *h = p->r->h, *b = h->before;
  mlaf_rows rows = *p->r;
  rows.h = b, rows.nth = p->r->nth_before;
  const product before = product_of(&rows, p->behind, 1);
  mlaf_rows_read(&rows, PROJECTION_X, p->t * b->t[PROJECTION_X].stride[0], N(b, INNER), before.raw);
  widen(&before, before.raw);
  multiply(&before, 0, p->r->j * N(h, X), N(h, X), p->given);
}

/* Rope columns, which are in `out`. */
static void rotate(const mlaf_host *h, int64_t t, double *out) {
  const int64_t pairs = N(h, P) / 2, at = N(h, ROTATED) ? positions(h)[t] : 0;
  const bool there = at >= 0 && at < N(h, TABLE), one = h->t[PROJECTION_SIN].absent;
  const int sines = one ? PROJECTION_COS : PROJECTION_SIN;
  for (int64_t i = 0; N(h, ROTATED) && i < pairs; i++) {
    const int64_t a = N(h, STYLE) == MLAF_HALVES ? i : 2 * i, b = N(h, STYLE) == MLAF_HALVES ? i + pairs : 2 * i + 1;
    const double x = out[a], y = out[b];
    const double cos = there ? mlaf_host_angle(h, PROJECTION_COS, PROJECTION_COS, at, i) : (double)NAN;
    const double sin = there ? mlaf_host_angle(h, sines, PROJECTION_COS, at, one ? pairs + i : i) : (double)NAN;
    out[a] = x * cos - y * sin;
    out[b] = y * cos + x * sin;
  }
}

static void reference(mlaf_rows *r) {
  const mlaf_host *h = r->h;
  const product p = product_of(r, r->scratch, h->before ? 1 : step_of(h));
  const uint16_t *x = r->row[PROJECTION_X], *residual = r->row[PROJECTION_RESIDUAL];
  double *out = mlaf_rows_want(r, PROJECTION_Y)->value, *pe = out + N(h, OUTER);
  if (h->before) take_given(&p);
  if (h->before) memcpy(p.wide, p.given, (size_t)N(h, INNER) * sizeof *p.wide);
  else widen(&p, x);
  multiply(&p, r->j, 0, N(h, OUTER), out);
  for (int64_t o = 0; residual && o < N(h, OUTER); o++) out[o] += (double)mlaf_decode16(h->dtype, residual[o]);
  for (int64_t i = 0; i < N(h, P); i++)
    pe[i] = h->before ? p.given[N(h, INNER) + i] : (double)mlaf_decode16(h->dtype, x[N(h, INNER) + i]);
  rotate(h, r->i, pe);
}

/* --- how far off a row may be --- */

/* One rounding to bf16 moves a number by ROUND of itself, root mean square over mantissas spread as logarithms are:
 * 2^-8 / sqrt(3) times the root of 3 / (8 ln 2). Outputs are rounded; where there is a norm matrix instructions get x times its
 * weights rounded, too, and squares add: 1.66e-3, 2.35e-3. f16 has 3 bits more.
 *
 * That is the mean over many numbers. Of few, a sum of n squares of normal numbers passes its mean by more than
 * 2 sqrt(n x) + 2 x parts with a chance of exp(-x) (Laurent and Massart 2000). n are the outputs; what rounding x adds has no
 * more sources than a token has columns. CHANCE is one in a million, as verify looks at so many. Never below USUAL, mla_decode's,
 * which many outputs are held to.
 *
 * x that another product wrote is rounded once more: three roundings, 2.88e-3. */
double mlaf_product_bound(const mlaf_product *p, int64_t tokens) {
  static const double ROUND = 0x1p-8 * 0.42466, USUAL = 2.5e-3, CHANCE = 13.8;
  const int64_t outputs = (int64_t)p->heads * (p->outer + p->rope);
  const int64_t sources = p->behind ? p->behind : (int64_t)p->heads * p->inner;
  const int roundings = p->behind ? 3 : p->norm ? 2 : 1;
  const double n = (double)tokens * (double)(roundings > 1 && sources < outputs ? sources : outputs);
  const double few = n > 0 ? ROUND * sqrt(roundings * (1 + 2 * sqrt(CHANCE / n) + 2 * CHANCE / n)) : 0;
  return (few > USUAL ? few : USUAL) / (p->dtype == MLAF_F16 ? 8 : 1);
}

double mlaf_projection_bound(const mlaf_point *point) {
  const mlaf_product p = mlaf_product_of(point);
  return mlaf_product_bound(&p, p.tokens);
}

static double bound(const mlaf_host *h) {
  mlaf_product p = mlaf_product_of(&h->point);
  p.behind = h->before ? (int32_t)N(h->before, INNER) : 0;
  return mlaf_product_bound(&p, N(h, T));
}

/* NaN has to be where it must and nowhere else; the error of the other columns that are compared. */
static double off(mlaf_rows *r, int k, const void *got, int *column, double *is) {
  const mlaf_host *h = r->h;
  const product p = {.t = r->i, .step = h->before ? 1 : step_of(h)};
  const uint16_t *y = got;
  double diff = 0, ref = 0, worst = -1;
  for (int64_t i = 0; i < N(h, Y); i++) {
    const double x = (double)mlaf_decode16(h->dtype, y[i]), want = r->want[k].value[i], e = (x - want) * (x - want);
    if (i < N(h, OUTER) && !output_compared(&p, i)) continue;
    if (isnan(want) != isnan(x)) {
      *column = (int)i, *is = x;
      return INFINITY;
    }
    if (isnan(x)) continue;
    r->compared++;
    diff += e, ref += want * want;
    if (e > worst) worst = e, *column = (int)i, *is = x;
  }
  r->diff2 += diff, r->ref2 += ref;
  const double e = ref > 0 ? sqrt(diff / ref) : diff > 0 ? INFINITY : 0;
  return isnan(e) ? INFINITY : e;
}

const mlaf_table_hooks mlaf_projection_hooks = {
    .reference = reference, .draw = draw, .inject = inject, .draw_timing = draw_timing, .code = code, .count = count,
    .suit = suit, .arguments = arguments, .arrange = arrange, .off = off, .bound = bound, .compared = compared,
    .scratch = scratch};
