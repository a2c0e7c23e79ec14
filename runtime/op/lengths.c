/* Request lengths: the grammar and the draw. */
#include "op/lengths.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/numeric.h"

#define MEAN_MAX 16.0 /* multiples of ctx: above this a slip (tokens instead of multiples) is likelier */

static mlaf_status refuse(const char *text, mlaf_err *err) {
  return mlaf_fail(err, MLAF_E_ARG,
                   "lengths '%.80s': accepted are equal, uniform[,SEED] and normal:MEAN,STD[,SEED] with MEAN and STD as "
                   "multiples of ctx (0 < MEAN <= %g, 0 <= STD <= %g), e.g. normal:1,0.5",
                   text, MEAN_MAX, MEAN_MAX);
}

/* ",SEED" or nothing. */
static bool read_seed(const char *text, uint64_t *out) {
  char *end;
  *out = 1;
  if (!*text) return true;
  if (*text != ',' || !isdigit((unsigned char)text[1])) return false;
  *out = strtoull(text + 1, &end, 10);
  return !*end && *out > 0;
}

mlaf_status mlaf_lengths_parse(const char *text, mlaf_lengths *out, mlaf_err *err) {
  mlaf_lengths l = {.kind = MLAF_LENGTHS_EQUAL};
  if (strcmp(text, "equal") == 0) {
    *out = l;
    return MLAF_OK;
  }
  if (strncmp(text, "uniform", 7) == 0) {
    l.kind = MLAF_LENGTHS_UNIFORM;
    if (!read_seed(text + 7, &l.seed)) return refuse(text, err);
  } else if (strncmp(text, "normal:", 7) == 0) {
    char *end;
    l.kind = MLAF_LENGTHS_NORMAL;
    l.mean = mlaf_strtod(text + 7, &end);
    bool ok = end != text + 7 && *end == ',';
    const char *std = ok ? end + 1 : "";
    l.std = mlaf_strtod(std, &end);
    ok = ok && end != std && read_seed(end, &l.seed);
    if (!ok || !(l.mean > 0 && l.mean <= MEAN_MAX) || !(l.std >= 0 && l.std <= MEAN_MAX)) return refuse(text, err);
  } else {
    return refuse(text, err);
  }
  *out = l;
  return MLAF_OK;
}

void mlaf_lengths_print(const mlaf_lengths *l, char out[MLAF_LENGTHS_TEXT_MAX]) {
  char seed[24] = "";
  if (l->seed > 1) snprintf(seed, sizeof seed, ",%llu", (unsigned long long)l->seed);
  if (l->kind == MLAF_LENGTHS_UNIFORM) snprintf(out, MLAF_LENGTHS_TEXT_MAX, "uniform%s", seed);
  else if (l->kind == MLAF_LENGTHS_NORMAL) mlaf_snprintf(out, MLAF_LENGTHS_TEXT_MAX, "normal:%.6g,%.6g%s", l->mean, l->std, seed);
  else snprintf(out, MLAF_LENGTHS_TEXT_MAX, "equal");
}

void mlaf_lengths_draw(const mlaf_lengths *l, int32_t ctx, int32_t n, int32_t *out) {
  mlaf_rng rng = {l->seed ? l->seed : 1};
  const double most = l->kind == MLAF_LENGTHS_NORMAL ? ctx * (l->mean + 4 * l->std) : 2.0 * ctx - 1;
  for (int32_t i = 0; i < n; i++) {
    double tokens = ctx;
    if (l->kind == MLAF_LENGTHS_UNIFORM) tokens = 1 + mlaf_rng_below(&rng, 2u * (uint32_t)ctx - 1);
    if (l->kind == MLAF_LENGTHS_NORMAL) tokens = round(ctx * (l->mean + l->std * mlaf_rng_normal(&rng)));
    if (tokens > most) tokens = most;
    out[i] = tokens < 1 ? 1 : (int32_t)tokens;
  }
}
