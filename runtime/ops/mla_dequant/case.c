/* Verification data by seed: every byte there is, under every scale; what a launch may not read is NaN. */
#include "ops/mla_dequant/case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/numeric.h"

enum { GAP_W = 32, GAP_Y = 24, GAP_SCALES = 3, STALE = 0x5a, EXPONENTS = 280, KINDS = 6 };

static bool is_nan_code(const dequant_case *c, int code) { return c->s.fnuz ? code == 0x80 : (code & 0x7f) == 0x7f; }

/* Of weights a gap's bytes are NaN. */
static uint8_t nan_code(const dequant_case *c) { return c->s.fnuz ? 0x80 : 0x7f; }

/* Every byte there is; NaN less often than by chance. */
static void draw_codes(dequant_case *c, mlaf_rng *rng) {
  memset(c->w, nan_code(c), c->w_bytes);
  for (int64_t r = 0; r < c->spec.rows; r++)
    for (int i = 0; i < c->s.columns; i++) {
      const uint8_t code = (uint8_t)mlaf_rng_below(rng, 256);
      c->w[r * c->a.w_row_stride + i] = is_nan_code(c, code) && mlaf_rng_below(rng, 4) ? 0x38 : code;
    }
}

/* Of all kinds in turn; 2^-140 .. 2^140: products that are subnormal, none, or infinite. */
static float wild_scale(int kind, mlaf_rng *rng) {
  if (kind == 0) return NAN;
  if (kind == 1) return INFINITY;
  if (kind == 2) return 0;
  return (float)ldexp(1 + mlaf_rng_below(rng, 1u << 23) * 0x1p-23, (int)mlaf_rng_below(rng, EXPONENTS) - EXPONENTS / 2);
}

static void draw_scales(dequant_case *c, mlaf_rng *rng) {
  const int64_t first_row = c->a.w_scale_row / DEQUANT_BLOCK, first = c->a.w_scale_column / DEQUANT_BLOCK;
  const int64_t rows = dequant_blocks(c->a.w_scale_row + c->spec.rows);
  const int64_t across = dequant_blocks(c->a.w_scale_column + c->s.columns);
  int n = 0;
  memset(c->scales, 0xff, c->scale_count * sizeof *c->scales);
  for (int64_t r = first_row; r < rows; r++)
    for (int64_t i = first; i < across; i++) {
      const float plain = (float)ldexp(1 + mlaf_rng_below(rng, 1u << 23) * 0x1p-23, -8 - (int)mlaf_rng_below(rng, 4));
      c->scales[r * c->a.w_scale_row_stride + i] = c->spec.wild ? wild_scale(n++ % KINDS, rng) : plain;
    }
}

/* A NaN in one weight. There are no pages: what comes nearest is a scale that is none. */
static void inject_fault(dequant_case *c, mlaf_inject inject, mlaf_rng *rng) {
  const int64_t r = mlaf_rng_below(rng, (uint32_t)c->spec.rows), i = mlaf_rng_below(rng, (uint32_t)c->s.columns);
  const int64_t row = (c->a.w_scale_row + r) / DEQUANT_BLOCK, column = (c->a.w_scale_column + i) / DEQUANT_BLOCK;
  if (inject == MLAF_INJECT_OOB_PAGE) c->scales[row * c->a.w_scale_row_stride + column] = mlaf_bits_float(0x7f800001u);
  else if (inject) c->w[r * c->a.w_row_stride + i] = nan_code(c);
}

static void lay_out(dequant_case *c) {
  const dequant_spec *s = &c->spec;
  const mlaf_dequant_args a = {.struct_size = sizeof a, .rows = s->rows, .w_scale_row = s->row, .w_scale_column = s->column};
  c->a = dequant_dense(&c->s, &a);
  if (s->gaps) c->a.w_row_stride += GAP_W, c->a.y_row_stride += GAP_Y, c->a.w_scale_row_stride += GAP_SCALES;
  c->w_bytes = (size_t)(s->rows * c->a.w_row_stride);
  c->scale_count = (size_t)(dequant_blocks(s->row + s->rows) * c->a.w_scale_row_stride);
  c->y_count = (size_t)(s->rows * c->a.y_row_stride);
}

mlaf_status dequant_case_make(const mlaf_point *p, const dequant_spec *spec, uint64_t seed, mlaf_inject inject,
                              dequant_case **out, mlaf_err *err) {
  dequant_case *c = calloc(1, sizeof *c);
  if (!c) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for case %s", spec->name);
  c->head = (mlaf_case){.name = spec->name};
  c->spec = *spec;
  c->s = dequant_shape_of(p);
  mlaf_rng rng = {seed};
  lay_out(c);
  c->w = malloc(c->w_bytes);
  c->scales = malloc(c->scale_count * sizeof *c->scales);
  c->y = malloc(c->y_count * sizeof *c->y);
  if (!c->w || !c->scales || !c->y) {
    mlaf_status st = mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for %zu values", spec->name, c->y_count);
    dequant_case_free(c);
    return st;
  }
  memset(c->y, STALE, c->y_count * sizeof *c->y);
  draw_codes(c, &rng);
  draw_scales(c, &rng);
  inject_fault(c, inject, &rng);
  *out = c;
  return MLAF_OK;
}

void dequant_case_free(dequant_case *c) {
  if (!c) return;
  free(c->w);
  free(c->scales);
  free(c->y);
  free(c);
}
