/* Verification data by seed: what a launch may not read is NaN. */
#include "ops/mla_q_scale/case.h"

#include <stdlib.h>
#include <string.h>

#include "op/numeric.h"

enum { GAP = 24, POISON = 0xff, STALE = 0x5a, STEPS = 40 };

/* `apart`: which gaps, 0: none. */
static void lay_out(const q_scale_case *c, q_scale_place *p, int apart) {
  const int64_t gap = apart * (c->spec.gaps ? GAP : 0);
  p->head = c->s.qdim + gap;
  p->token = c->s.heads * p->head + gap;
  p->count = (size_t)(c->spec.tokens * p->token);
}

static mlaf_status allocate(q_scale_case *c, q_scale_place *p, int fill, mlaf_err *err) {
  p->q = malloc(p->count * sizeof *p->q + 16);
  if (!p->q) return mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for %zu values", c->head.name, p->count);
  memset(p->q, fill, p->count * sizeof *p->q);
  return MLAF_OK;
}

/* On both sides of steps, and between them. */
static int64_t draw_position(const q_scale_case *c, int64_t t, mlaf_rng *rng) {
  const int64_t step = c->spec.original, at = step * (1 + mlaf_rng_below(rng, STEPS));
  switch (t % 5) {
    case 0: return at;
    case 1: return at - 1;
    case 2: return mlaf_rng_below(rng, (uint32_t)step);
    case 3: return c->spec.wild ? -1 - (int64_t)mlaf_rng_below(rng, 1u << 20) * step : at + mlaf_rng_below(rng, (uint32_t)step);
    default: return c->spec.wild ? INT32_MAX + (int64_t)mlaf_rng_below(rng, 1u << 30) * 9 : at + step - 1;
  }
}

static void fill_data(q_scale_case *c, mlaf_rng *rng) {
  for (int64_t t = 0; t < c->spec.tokens; t++) {
    c->positions[t] = draw_position(c, t, rng);
    for (int h = 0; h < c->s.heads; h++)
      for (int i = 0; i < c->s.qdim; i++)
        c->x.q[t * c->x.token + h * c->x.head + i] = mlaf_encode16(c->s.dtype, mlaf_rng_normal(rng));
  }
}

/* A NaN in one element. There are no pages: what comes nearest is a position that no table has. */
static void inject_fault(q_scale_case *c, mlaf_inject inject, mlaf_rng *rng) {
  const int64_t t = mlaf_rng_below(rng, (uint32_t)c->spec.tokens), h = mlaf_rng_below(rng, (uint32_t)c->s.heads);
  if (inject == MLAF_INJECT_OOB_PAGE) c->positions[t] = INT64_MIN, c->positions[0] = INT64_MAX;
  else if (inject) c->x.q[t * c->x.token + h * c->x.head + mlaf_rng_below(rng, (uint32_t)c->s.qdim)] = MLAF_NAN16;
}

mlaf_status q_scale_case_make(const mlaf_point *p, const q_scale_spec *spec, uint64_t seed, mlaf_inject inject,
                              q_scale_case **out, mlaf_err *err) {
  q_scale_case *c = calloc(1, sizeof *c);
  if (!c) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for case %s", spec->name);
  c->head = (mlaf_case){.name = spec->name};
  c->spec = *spec;
  c->s = q_scale_shape_of(p);
  mlaf_rng rng = {seed};
  lay_out(c, &c->x, 1);
  lay_out(c, &c->y, 2);
  mlaf_status st = allocate(c, &c->x, POISON, err);
  if (!st) st = allocate(c, &c->y, STALE, err);
  if (!st && !(c->positions = malloc((size_t)spec->tokens * sizeof *c->positions)))
    st = mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for positions", spec->name);
  if (st) {
    q_scale_case_free(c);
    return st;
  }
  fill_data(c, &rng);
  inject_fault(c, inject, &rng);
  *out = c;
  return MLAF_OK;
}

void q_scale_case_free(q_scale_case *c) {
  if (!c) return;
  free(c->x.q);
  free(c->y.q);
  free(c->positions);
  free(c);
}
