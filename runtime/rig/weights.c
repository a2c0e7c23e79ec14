/* Random weights of a layer, of 16 bits or of 8 with a scale for each 128 x 128. */
#include "rig/rig.h"
#include "op/e4m3.h"

uint16_t *layer_draw(mlaf_rng *rng, int64_t n, double middle, double by) {
  uint16_t *list = malloc((size_t)(n + 1) * sizeof *list);
  for (int64_t i = 0; list && i < n; i++) list[i] = mlaf_bf16_encode((float)(middle + by * mlaf_rng_normal(rng)));
  return list;
}

void layer_weights_free(layer_weights *w) {
  for (int i = 0; i < LAYER_TENSORS; i++) free(w->tensors[i]), free(w->codes[i]), free(w->scales[i]);
  free(w->numbers);
  *w = (layer_weights){.model = NULL};
}

/* --- 8 bits --- */

/* Codes are drawn from so many normal numbers, which are so large: the largest is well within both encodings. */
enum { CODES = 4096, SIZE = 32 };

static uint8_t nearest(bool fnuz, double x) {
  uint8_t best = 0;
  for (int code = 1; code < 127; code++)
    if (fabs(mlaf_e4m3_decode(fnuz, (uint8_t)code) - fabs(x)) < fabs(mlaf_e4m3_decode(fnuz, best) - fabs(x)))
      best = (uint8_t)code;
  return x < 0 && best ? best | 0x80 : best; /* e4m3fnuz has no -0 */
}

/* Four bits, as a code has: their product has eight, so the reference's bf16 weights are what the device's mean, exactly. */
static double four_bits(double x) {
  int exponent;
  const double part = frexp(x, &exponent);
  return ldexp(rint(part * 16), exponent - 4);
}

bool layer_draw_8(layer_weights *w, int tensor, int64_t rows, int64_t cols, double by, mlaf_rng *rng) {
  const bool fnuz = w->encoding == MLAF_LAYER_E4M3FNUZ;
  const int64_t across = layer_blocks(cols), blocks = layer_blocks(rows) * across;
  uint8_t normal[CODES];
  double value[CODES];
  uint16_t *meant = w->tensors[tensor] = malloc((size_t)(rows * cols + 1) * sizeof *meant);
  uint8_t *codes = w->codes[tensor] = malloc((size_t)(rows * cols + 1));
  float *scales = w->scales[tensor] = malloc((size_t)(blocks + 1) * sizeof *scales);
  if (!meant || !codes || !scales) return false;
  for (int i = 0; i < CODES; i++) {
    normal[i] = nearest(fnuz, SIZE * (double)mlaf_rng_normal(rng));
    value[i] = mlaf_e4m3_decode(fnuz, normal[i]);
  }
  for (int64_t i = 0; i < blocks; i++) scales[i] = (float)four_bits(by / SIZE * (0.75 + 0.5 * mlaf_rng_below(rng, 1000) / 1000));
  for (int64_t i = 0; i < rows; i++)
    for (int64_t k = 0; k < cols; k++) {
      const uint32_t which = mlaf_rng_below(rng, CODES);
      codes[i * cols + k] = normal[which];
      meant[i * cols + k] =
          mlaf_bf16_encode((float)(value[which] * (double)scales[i / LAYER_BLOCK * across + k / LAYER_BLOCK]));
    }
  return true;
}

const char *layer_encoding(int32_t encoding) {
  return encoding == MLAF_LAYER_E4M3FN ? "e4m3fn" : encoding == MLAF_LAYER_E4M3FNUZ ? "e4m3fnuz" : "";
}
