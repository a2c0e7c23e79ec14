/* Verification data by seed: what a launch may not read, or has no say, is NaN. */
#include "ops/mla_merge/case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/numeric.h"

enum { GAP = 24, LSE_GAP = 3, POISON = 0xff, STALE = 0x5a };

/* `apart`: which gaps, 0: none. */
static void lay_out(const merge_case *c, merge_place *p, int apart, bool by_token) {
  const int64_t heads = c->s.heads, T = c->spec.tokens, gap = apart * (c->spec.gaps ? GAP : 0);
  const int64_t lse_gap = c->spec.gaps ? apart * LSE_GAP : 0;
  p->head = c->s.vdim + gap;
  p->token = heads * p->head + gap;
  p->lse_token = by_token ? heads + lse_gap : 1;
  p->lse_head = by_token ? 1 : T + lse_gap;
  p->o_count = (size_t)(T * p->token);
  p->lse_count = (size_t)(by_token ? T * p->lse_token : heads * p->lse_head);
}

static mlaf_status allocate(merge_case *c, merge_place *p, int fill, mlaf_err *err) {
  p->o = malloc(p->o_count * sizeof *p->o + 16);
  p->lse = malloc(p->lse_count * sizeof *p->lse + 16);
  if (!p->o || !p->lse) return mlaf_fail(err, MLAF_E_NOMEM, "case %s: no memory for %zu values", c->head.name, p->o_count);
  memset(p->o, fill, p->o_count * sizeof *p->o);
  memset(p->lse, fill, p->lse_count * sizeof *p->lse);
  return MLAF_OK;
}

static void fill_row(const merge_case *c, merge_place *p, int64_t t, int h, float lse, mlaf_rng *rng) {
  uint16_t *o = p->o + t * p->token + h * p->head;
  p->lse[t * p->lse_token + h * p->lse_head] = lse;
  /* An empty part's row stays NaN, but for one in four. */
  const bool real = !isinf(lse) || mlaf_rng_below(rng, 4) == 0;
  for (int i = 0; i < c->s.vdim; i++) {
    const float x = mlaf_rng_normal(rng);
    if (real) o[i] = mlaf_encode16(c->s.dtype, x);
  }
}

/* Logs that a softmax over many keys has, some equal, some far apart; every tenth pair beyond what e^x of fp32 holds. */
static void draw_logs(const merge_case *c, int64_t row, float lse[2], mlaf_rng *rng) {
  lse[0] = 7 * mlaf_rng_normal(rng);
  lse[1] = lse[0] + (float)c->spec.far * mlaf_rng_normal(rng);
  if (row % 10 == 3) lse[1] = lse[0];
  if (row % 10 == 7) lse[mlaf_rng_below(rng, 2)] += 300;
  if (!c->spec.empty) return;
  for (int i = 0; i < 2; i++)
    if (mlaf_rng_below(rng, 3) == 0) lse[i] = mlaf_rng_below(rng, 2) ? INFINITY : -INFINITY;
}

static void fill_data(merge_case *c, mlaf_rng *rng) {
  for (int64_t t = 0; t < c->spec.tokens; t++)
    for (int h = 0; h < c->s.heads; h++) {
      float lse[2];
      draw_logs(c, t * c->s.heads + h, lse, rng);
      fill_row(c, &c->prefix, t, h, lse[0], rng);
      fill_row(c, &c->suffix, t, h, lse[1], rng);
    }
}

/* A NaN in one element of a row that has a say. There are no pages. */
static mlaf_status inject_fault(merge_case *c, mlaf_inject inject, mlaf_rng *rng, mlaf_err *err) {
  if (inject == MLAF_INJECT_NONE) return MLAF_OK;
  if (inject == MLAF_INJECT_OOB_PAGE) {
    /* What comes nearest: a sum that is no number, of bits that rounding to 16 would carry out of. */
    c->suffix.lse[0] = mlaf_bits_float(0x7fffffffu);
    return MLAF_OK;
  }
  for (int tries = 0; tries < 1000; tries++) {
    const int64_t t = mlaf_rng_below(rng, (uint32_t)c->spec.tokens), h = mlaf_rng_below(rng, (uint32_t)c->s.heads);
    if (isinf(c->prefix.lse[t * c->prefix.lse_token + h * c->prefix.lse_head])) continue;
    c->prefix.o[t * c->prefix.token + h * c->prefix.head + mlaf_rng_below(rng, (uint32_t)c->s.vdim)] = MLAF_NAN16;
    return MLAF_OK;
  }
  return mlaf_fail(err, MLAF_E_ARG, "case %s: no row can carry an injection", c->head.name);
}

mlaf_status merge_case_make(const mlaf_point *p, const merge_spec *spec, uint64_t seed, mlaf_inject inject, merge_case **out,
                            mlaf_err *err) {
  merge_case *c = calloc(1, sizeof *c);
  if (!c) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for case %s", spec->name);
  c->head = (mlaf_case){.name = spec->name, .spare = spec->spare};
  c->spec = *spec;
  c->s = merge_shape_of(p);
  mlaf_rng rng = {seed};
  lay_out(c, &c->prefix, 1, false);
  lay_out(c, &c->suffix, 2, spec->lse_by_token);
  lay_out(c, &c->result, 3, spec->lse_by_token);
  mlaf_status st = allocate(c, &c->prefix, POISON, err);
  if (!st) st = allocate(c, &c->suffix, POISON, err);
  if (!st) st = allocate(c, &c->result, STALE, err);
  if (!st) {
    fill_data(c, &rng);
    st = inject_fault(c, inject, &rng, err);
  }
  if (st) {
    merge_case_free(c);
    return st;
  }
  *out = c;
  return MLAF_OK;
}

void merge_case_free(merge_case *c) {
  if (!c) return;
  merge_place *const all[] = {&c->prefix, &c->suffix, &c->result};
  for (int i = 0; i < 3; i++) {
    free(all[i]->o);
    free(all[i]->lse);
  }
  free(c);
}
