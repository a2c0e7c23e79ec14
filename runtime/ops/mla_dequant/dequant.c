/* mla_dequant on the host, where each result is one number, exactly, and the weights and scales of its cases. Everything else of
 * it follows from gen/ops/mla_dequant/args.lua. */
#include "op/e4m3.h"
#include "ops/mla_dequant/args.h"

enum { BLOCK = 128 /* rows and columns that share a scale */, EXPONENTS = 280, KINDS = 6 };

static bool is_fnuz(const mlaf_host *h) { return h->point.v[MLA_DEQUANT_WEIGHTS] == 1; }
static const mlaf_dequant_args *args_of(const mlaf_host *h) { return (const void *)h->args.bytes; }

static void reference(mlaf_rows *r) {
  const mlaf_dequant_args *a = args_of(r->h);
  const uint8_t *w = r->row[DEQUANT_W];
  const float *scales = mlaf_host_at(r->h, DEQUANT_W_SCALE, (a->w_scale_row + r->i) / BLOCK, 0);
  for (int64_t c = 0; c < r->h->n[DEQUANT_SIZE_C]; c++) {
    const float product = (float)mlaf_e4m3_decode(is_fnuz(r->h), w[c]) * scales[(a->w_scale_column + c) / BLOCK];
    r->want[0].value[c] = (double)mlaf_decode16(r->h->dtype, mlaf_encode16(r->h->dtype, product));
  }
}

/* --- inputs --- */

static bool is_nan_code(const mlaf_host *h, int code) { return is_fnuz(h) ? code == 0x80 : (code & 0x7f) == 0x7f; }
static uint8_t nan_code(const mlaf_host *h) { return is_fnuz(h) ? 0x80 : 0x7f; }

/* Every byte there is; NaN less often than by chance. Gaps are NaN. */
static void draw_weights(mlaf_host *h, mlaf_rng *rng) {
  memset(h->t[DEQUANT_W].data, nan_code(h), mlaf_host_bytes(h, DEQUANT_W));
  for (int64_t i = 0; i < h->n[DEQUANT_SIZE_R]; i++) {
    uint8_t *row = mlaf_host_at(h, DEQUANT_W, i, 0);
    for (int64_t c = 0; c < h->n[DEQUANT_SIZE_C]; c++) {
      const uint8_t code = (uint8_t)mlaf_rng_below(rng, 256);
      row[c] = is_nan_code(h, code) && mlaf_rng_below(rng, 4) ? 0x38 : code;
    }
  }
}

/* All kinds in turn; 2^-140 .. 2^140: products that are subnormal, none, or infinite. */
static float wild_scale(int kind, mlaf_rng *rng) {
  if (kind == 0) return NAN;
  if (kind == 1) return INFINITY;
  if (kind == 2) return 0;
  return (float)ldexp(1 + mlaf_rng_below(rng, 1u << 23) * 0x1p-23, (int)mlaf_rng_below(rng, EXPONENTS) - EXPONENTS / 2);
}

static void draw(mlaf_host *h, mlaf_rng *rng) {
  const mlaf_dequant_args *a = args_of(h);
  const bool wild = ((const dequant_options *)h->options)->wild != 0;
  int n = 0;
  draw_weights(h, rng);
  for (int64_t i = a->w_scale_row / BLOCK; i < h->n[DEQUANT_SIZE_SR]; i++) {
    float *row = mlaf_host_at(h, DEQUANT_W_SCALE, i, 0);
    for (int64_t c = a->w_scale_column / BLOCK; c < h->n[DEQUANT_SIZE_SC]; c++) {
      const float plain = (float)ldexp(1 + mlaf_rng_below(rng, 1u << 23) * 0x1p-23, -8 - (int)mlaf_rng_below(rng, 4));
      row[c] = wild ? wild_scale(n++ % KINDS, rng) : plain;
    }
  }
}

static void draw_timing(mlaf_host *h, mlaf_rng *rng) {
  float *scales = (void *)h->t[DEQUANT_W_SCALE].data;
  for (int64_t i = 0; i < h->t[DEQUANT_W_SCALE].count; i++)
    scales[i] = 0x1p-8f * (1 + (float)mlaf_rng_below(rng, 1u << 20) * 0x1p-20f);
}

/* There are no pages: a scale that is no number comes nearest. */
static mlaf_status inject(mlaf_host *h, mlaf_inject inject, mlaf_rng *rng, mlaf_err *err) {
  const mlaf_dequant_args *a = args_of(h);
  const int64_t i = mlaf_rng_below(rng, (uint32_t)a->rows), c = mlaf_rng_below(rng, (uint32_t)h->n[DEQUANT_SIZE_C]);
  float *scales = mlaf_host_at(h, DEQUANT_W_SCALE, (a->w_scale_row + i) / BLOCK, 0);
  if (inject == MLAF_INJECT_NAN_Q) ((uint8_t *)mlaf_host_at(h, DEQUANT_W, i, 0))[c] = nan_code(h);
  else scales[(a->w_scale_column + c) / BLOCK] = mlaf_bits_float(0x7f800001u);
  return MLAF_OK;
}

const mlaf_table_hooks dequant_hooks = {.reference = reference, .draw = draw, .inject = inject, .draw_timing = draw_timing};
