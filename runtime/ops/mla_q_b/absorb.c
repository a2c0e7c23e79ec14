/* Checks and the launch of a product whose query heads go on into the latent space. */
#include <string.h>

#include "ops/mla_q_b/q_b.h"

/* mla_q_absorb's argument block as kernels have it, and where its map of W_UK is behind that. */
enum { SECOND_BYTES = offsetof(mlaf_projection_kernel_args, w_scale), ALIGN = 64 };
static uint32_t aligned(uint32_t x) { return (x + ALIGN - 1) / ALIGN * ALIGN; }
enum { OWN_MAP_AT = 192 }; /* of a launch of mla_q_absorb with one map */

/* --- the other operation --- */

static void set(mlaf_point *p, const char *field, int32_t value) {
  for (int i = 0; i < p->op->n_fields; i++)
    if (!strcmp(p->op->fields[i].name, field)) p->v[i] = value;
}

mlaf_point q_b_absorb_point(const mlaf_point *p) {
  mlaf_point out;
  mlaf_point_init(mlaf_op_of("mla_q_absorb:"), &out);
  set(&out, "heads", p->v[MLA_Q_B_HEADS]);
  set(&out, "nope", p->v[MLA_Q_B_NOPE]);
  set(&out, "rope", p->v[MLA_Q_B_ROPE]);
  set(&out, "rank", p->v[MLA_Q_B_RANK]);
  set(&out, "dtype", p->v[MLA_Q_B_DTYPE]);
  set(&out, "weights", MLAF_WEIGHTS_16);
  set(&out, "style", p->v[MLA_Q_B_ABSORB] - 1); /* both have them in the same order */
  set(&out, "tokens", p->v[MLA_Q_B_TOKENS]);
  return out;
}

mlaf_bound q_b_absorb_bound(const mlaf_bound *b) {
  const mlaf_kernel_launch *k = &b->stage[0].launch;
  mlaf_bound out = {.dev = b->dev,
                    .point = q_b_absorb_point(&b->point),
                    .stage = {{.fn = b->stage[0].fn, .threads = b->stage[0].threads,
                               .rows_per_wg = (uint32_t)b->point.v[MLA_Q_B_RANK]}},
                    .knob = 1};
  if (!(k->flags & MLAF_KERNEL_ABSORBS)) return out;
  out.stage[0].launch.n_maps = 1;
  out.stage[0].launch.maps[0] = k->maps[MLAF_PROJECTION_MAPS];
  out.stage[0].launch.maps[0].of = MLAF_PROJECTION_MAP_W;
  return out;
}

mlaf_bound q_b_product_bound(const mlaf_bound *b) {
  mlaf_bound out = *b;
  if (b->stage[0].launch.flags & MLAF_KERNEL_ABSORBS) out.stage[0].launch.n_maps = MLAF_PROJECTION_MAPS;
  return out;
}

/* --- who may run --- */

uint32_t q_b_absorb_bytes(uint32_t before, const mlaf_kernel_launch *launch) {
  if (!(launch->flags & MLAF_KERNEL_ABSORBS)) return before;
  return aligned(aligned(before) + SECOND_BYTES) + MLAF_MAP_BYTES;
}

mlaf_status q_b_check_absorb_stage(const mlaf_bound *b, mlaf_err *err) {
  const mlaf_kernel_launch *k = &b->stage[0].launch;
  if (q_b_absorbs(&b->point) != !!(k->flags & MLAF_KERNEL_ABSORBS))
    return mlaf_fail(err, MLAF_E_TEMPLATE, q_b_absorbs(&b->point) ? "its kernel writes queries, and the problem absorbs them"
                                                                  : "its kernel absorbs queries, and the problem wants them");
  if (!q_b_absorbs(&b->point)) return MLAF_OK;
  bool good = k->n_maps == Q_B_MAP_W_UK && k->flags & MLAF_KERNEL_APPENDS;
  for (uint32_t i = 0; good && i < k->n_maps; i++) good = k->maps[i].of == i + 1;
  return good ? MLAF_OK : mlaf_fail(err, MLAF_E_TEMPLATE, "its kernel wants other maps than one of W, of x and of W_UK");
}

/* --- arguments --- */

/* What is between the two products is nowhere: neither has strides for it. */
static mlaf_status check_between(const mlaf_q_b_args *a, mlaf_err *err) {
  const mlaf_projection_args *p = &a->projection, *s = &a->absorb;
  if (p->y || p->y_token_stride || p->y_head_stride)
    return mlaf_fail(err, MLAF_E_ARG, "y is %p, its strides %lld and %lld: NULL and 0 where the problem absorbs", p->y,
                     (long long)p->y_token_stride, (long long)p->y_head_stride);
  if (s->x || s->x_token_stride || s->x_head_stride)
    return mlaf_fail(err, MLAF_E_ARG, "absorb: x is %p, its strides %lld and %lld: NULL and 0, queries are never in memory", s->x,
                     (long long)s->x_token_stride, (long long)s->x_head_stride);
  if (s->tokens != p->tokens)
    return mlaf_fail(err, MLAF_E_ARG, "absorb: tokens is %lld, and the product has %lld: as many", (long long)s->tokens,
                     (long long)p->tokens);
  return MLAF_OK;
}

mlaf_status q_b_check_absorb(const mlaf_bound *b, const mlaf_q_b_args *a, mlaf_projection_args *product, mlaf_err *err) {
  const mlaf_bound second = q_b_absorb_bound(b);
  mlaf_projection_args s = a->absorb;
  mlaf_err inner;
  mlaf_status st = check_between(a, err);
  if (st) return st;
  product->y = s.y;        /* is checked as the second's */
  s.x = a->projection.x;   /* is checked as the first's */
  st = second.point.op->calls->check_args(&second, 1, &s, &inner);
  return st ? mlaf_fail(err, st, "absorb: %s", inner.text) : MLAF_OK;
}

/* --- a launch --- */

mlaf_status q_b_prepare_absorb(const mlaf_bound *b, const mlaf_q_b_args *a, uint32_t before, mlaf_prepared *out, mlaf_err *err) {
  const mlaf_bound second = q_b_absorb_bound(b);
  mlaf_prepared other;
  const mlaf_status st = second.point.op->calls->prepare(&second, 1, &a->absorb, &other, err);
  if (st) return st;
  const uint32_t at = aligned(before), map_at = aligned(at + SECOND_BYTES);
  memset(out->parameters + before, 0, q_b_absorb_bytes(before, &b->stage[0].launch) - before);
  memcpy(out->parameters + at, other.parameters, SECOND_BYTES);
  memcpy(out->parameters + map_at, other.parameters + OWN_MAP_AT, MLAF_MAP_BYTES);
  return MLAF_OK;
}
