/* Lengths of requests as servers have them, `ctx` tokens on average (1 at least), the same for the same seed. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "op/numeric.h"

typedef enum ragged_kind {
  RAGGED_EQUAL, RAGGED_UNIFORM, RAGGED_LOGNORMAL, RAGGED_ZIPF, RAGGED_ONE_LONG, RAGGED_KINDS
} ragged_kind;
static const char *const ragged_names[RAGGED_KINDS] = {"equal", "uniform", "lognormal", "zipf", "one long"};

static inline double ragged_unit(mlaf_rng *rng) { return (mlaf_rng_below(rng, 1 << 24) + 0.5) / (1 << 24); }

/* The length of one request, before the mean is made ctx. */
static inline double ragged_one(ragged_kind kind, int32_t i, int32_t n, mlaf_rng *rng) {
  switch (kind) {
    case RAGGED_UNIFORM: return ragged_unit(rng);
    case RAGGED_LOGNORMAL: return exp(sqrt(-2 * log(ragged_unit(rng))) * cos(6.283185307179586 * ragged_unit(rng)));
    case RAGGED_ZIPF: return 1.0 / (i + 1);
    case RAGGED_ONE_LONG: return i == 0 ? n - 1 : 1; /* as many tokens as all the others */
    default: return 1;
  }
}

static inline void ragged_draw(ragged_kind kind, int32_t ctx, int32_t n, uint64_t seed, int32_t *tokens) {
  mlaf_rng rng = {seed};
  double sum = 0, one[4096];
  for (int32_t i = 0; i < n && i < 4096; i++) sum += one[i] = ragged_one(kind, i, n, &rng);
  for (int32_t i = 0; i < n; i++) {
    const int32_t x = (int32_t)(one[i] / sum * ctx * n);
    tokens[i] = x < 1 ? 1 : x;
  }
  for (int32_t i = n - 1; i > 0; i--) { /* in no order */
    const int32_t j = (int32_t)mlaf_rng_below(&rng, (uint32_t)i + 1), x = tokens[i];
    tokens[i] = tokens[j], tokens[j] = x;
  }
}
