/* Request lengths: the grammar and the draw. */
#include "op/lengths.h"

#include <ctype.h>

#include "op/numeric.h"

#define MEAN_MAX 16.0 /* multiples of ctx: above this a slip (tokens instead of multiples) is likelier */
#define SIGMA_MAX 4.0 /* of a logarithm */
#define TAIL 4.0      /* deviations: no length is farther out */

static mlaf_status refuse(const char *text, mlaf_err *err) {
  return mlaf_fail(err, MLAF_E_ARG,
                   "lengths '%.80s': accepted are equal, uniform[,SEED], normal:MEAN,STD[,SEED] and lognormal:MEAN,SIGMA[,SEED], "
                   "with MEAN and STD as multiples of ctx (0 < MEAN <= %g, 0 <= STD <= %g) and SIGMA of the logarithm "
                   "(0 <= SIGMA <= %g), e.g. normal:1,0.5 or lognormal:1,0.8",
                   text, MEAN_MAX, MEAN_MAX, SIGMA_MAX);
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

/* A number as mlaf_lengths_print writes it, so that lengths of one text are the same. */
static double read_number(const char *text, char **end) {
  char printed[32];
  const double x = mlaf_strtod(text, end);
  mlaf_snprintf(printed, sizeof printed, "%.6g", x);
  return mlaf_strtod(printed, NULL);
}

/* "MEAN,SPREAD[,SEED]". */
static bool read_spread(const char *text, double most, mlaf_lengths *l) {
  char *end;
  l->mean = read_number(text, &end);
  if (end == text || *end != ',') return false;
  text = end + 1;
  l->std = read_number(text, &end);
  return end != text && read_seed(end, &l->seed) && l->mean > 0 && l->mean <= MEAN_MAX && l->std >= 0 && l->std <= most;
}

mlaf_status mlaf_lengths_parse(const char *text, mlaf_lengths *out, mlaf_err *err) {
  static const char normal[] = "normal:", lognormal[] = "lognormal:", uniform[] = "uniform";
  mlaf_lengths l = {.kind = MLAF_LENGTHS_EQUAL};
  bool ok = strcmp(text, "equal") == 0;
  if (strncmp(text, uniform, sizeof uniform - 1) == 0) {
    l.kind = MLAF_LENGTHS_UNIFORM;
    ok = read_seed(text + sizeof uniform - 1, &l.seed);
  } else if (strncmp(text, normal, sizeof normal - 1) == 0) {
    l.kind = MLAF_LENGTHS_NORMAL;
    ok = read_spread(text + sizeof normal - 1, MEAN_MAX, &l);
  } else if (strncmp(text, lognormal, sizeof lognormal - 1) == 0) {
    l.kind = MLAF_LENGTHS_LOGNORMAL;
    ok = read_spread(text + sizeof lognormal - 1, SIGMA_MAX, &l);
  }
  if (!ok) return refuse(text, err);
  *out = l;
  return MLAF_OK;
}

void mlaf_lengths_print(const mlaf_lengths *l, char out[MLAF_LENGTHS_TEXT_MAX]) {
  char seed[24] = "";
  if (l->seed > 1) snprintf(seed, sizeof seed, ",%llu", (unsigned long long)l->seed);
  if (l->kind == MLAF_LENGTHS_UNIFORM) snprintf(out, MLAF_LENGTHS_TEXT_MAX, "uniform%s", seed);
  else if (l->kind == MLAF_LENGTHS_NORMAL) mlaf_snprintf(out, MLAF_LENGTHS_TEXT_MAX, "normal:%.6g,%.6g%s", l->mean, l->std, seed);
  else if (l->kind == MLAF_LENGTHS_LOGNORMAL)
    mlaf_snprintf(out, MLAF_LENGTHS_TEXT_MAX, "lognormal:%.6g,%.6g%s", l->mean, l->std, seed);
  else snprintf(out, MLAF_LENGTHS_TEXT_MAX, "equal");
}

/* exp(sigma z), divided by its mean. */
static double lognormal_factor(double sigma, double z) { return exp(sigma * z - sigma * sigma / 2); }

/* The longest request there may be, in multiples of ctx. */
static double most_of(const mlaf_lengths *l) {
  if (l->kind == MLAF_LENGTHS_NORMAL) return l->mean + TAIL * l->std;
  if (l->kind == MLAF_LENGTHS_LOGNORMAL) return fmin(l->mean * lognormal_factor(l->std, TAIL), (1 + TAIL) * MEAN_MAX);
  return 2.0;
}

void mlaf_lengths_draw(const mlaf_lengths *l, int32_t ctx, int32_t n, int32_t *out) {
  mlaf_rng rng = {l->seed ? l->seed : 1};
  for (int32_t i = 0; i < n; i++) {
    double tokens = ctx;
    if (l->kind == MLAF_LENGTHS_UNIFORM) tokens = 1 + mlaf_rng_below(&rng, 2u * (uint32_t)ctx - 1);
    if (l->kind == MLAF_LENGTHS_NORMAL) tokens = round(ctx * (l->mean + l->std * mlaf_rng_normal(&rng)));
    if (l->kind == MLAF_LENGTHS_LOGNORMAL) tokens = round(ctx * l->mean * lognormal_factor(l->std, mlaf_rng_normal(&rng)));
    tokens = fmin(tokens, ctx * most_of(l));
    out[i] = tokens < 1 ? 1 : (int32_t)tokens;
  }
}
