/* Checks and the launch of a product with blocks beside it that append. */
#include <string.h>

#include "ops/mla_q_b/q_b.h"

/* Threads of the product's blocks, of which a launch of AMD's counts at most 2^32 with the others. */
static const int64_t PRODUCT_THREADS = INT64_C(1) << 26, THREADS_MOST = UINT32_MAX;
/* mla_append's argument block (templates/mla_append/lib/args.h), and the number of blocks behind it; tokens of a warp at most. */
enum { ROW_BYTES = 296, SIDE_BYTES = ROW_BYTES + 8, TOKENS_OF_WARP = 4 };

/* --- the other operation --- */

static void set(mlaf_point *p, const char *field, int32_t value) {
  for (int i = 0; i < p->op->n_fields; i++)
    if (!strcmp(p->op->fields[i].name, field)) p->v[i] = value;
}

mlaf_point q_b_append_point(const mlaf_point *p) {
  mlaf_point out;
  mlaf_point_init(mlaf_op_of("mla_append:"), &out);
  set(&out, "rank", p->v[MLA_Q_B_RANK]);
  set(&out, "rope", p->v[MLA_Q_B_ROPE]);
  set(&out, "dtype", p->v[MLA_Q_B_DTYPE]);
  set(&out, "layout", p->v[MLA_Q_B_APPEND] - 1); /* both have them in the same order */
  set(&out, "style", p->v[MLA_Q_B_ROPE] ? p->v[MLA_Q_B_APPEND_STYLE] : 0);
  set(&out, "norm", p->v[MLA_Q_B_APPEND_NORM]);
  set(&out, "tokens", p->v[MLA_Q_B_TOKENS]);
  return out;
}

mlaf_bound q_b_append_bound(const mlaf_bound *b) {
  return (mlaf_bound){.dev = b->dev,
                      .point = q_b_append_point(&b->point),
                      .stage = {{.fn = b->stage[0].fn, .threads = b->stage[0].threads, .rows_per_wg = 1}},
                      .knob = 1};
}

/* --- who may run --- */

uint32_t q_b_parameter_bytes(int stage, const mlaf_kernel_launch *launch) {
  mlaf_kernel_launch alone = *launch;
  if (launch->flags & MLAF_KERNEL_ABSORBS) alone.n_maps = MLAF_PROJECTION_MAPS;
  const uint32_t product = mlaf_projection_parameter_bytes(stage, &alone), align = launch->n_maps ? 64 : 8;
  if (!(launch->flags & MLAF_KERNEL_APPENDS)) return product;
  return q_b_absorb_bytes((product + SIDE_BYTES + align - 1) / align * align, launch);
}

mlaf_status q_b_check_stages(const mlaf_bound *b, mlaf_err *err) {
  const mlaf_stage *k = &b->stage[0];
  const mlaf_bound product = q_b_product_bound(b);
  mlaf_status st = mlaf_projection_check_stages(&product, err);
  if (!st) st = q_b_check_absorb_stage(b, err);
  if (st) return st;
  if (q_b_appends(&b->point) != !!(k->launch.flags & MLAF_KERNEL_APPENDS))
    return mlaf_fail(err, MLAF_E_TEMPLATE, q_b_appends(&b->point) ? "its kernel appends no rows, and the problem wants them"
                                                                  : "its kernel appends rows, and the problem has none");
  if (q_b_appends(&b->point) && b->dev && k->threads < (uint32_t)mlaf_info(b->dev)->wave_size)
    return mlaf_fail(err, MLAF_E_TEMPLATE, "its kernel has %u threads, and a row takes a whole warp", k->threads);
  return MLAF_OK;
}

/* --- a launch --- */

static mlaf_status check_append(const mlaf_bound *b, const mlaf_append_args *a, mlaf_err *err) {
  const mlaf_bound side = q_b_append_bound(b);
  mlaf_err inner;
  const mlaf_status st = side.point.op->calls->check_args(&side, 1, a, &inner);
  if (st) return mlaf_fail(err, st, "append: %s", inner.text);
  if (a->tokens * mlaf_info(b->dev)->wave_size > THREADS_MOST - PRODUCT_THREADS)
    return mlaf_fail(err, MLAF_E_ARG, "append: tokens is %lld, and a launch takes no more than %lld: launch fewer at once",
                     (long long)a->tokens, (long long)((THREADS_MOST - PRODUCT_THREADS) / mlaf_info(b->dev)->wave_size));
  return MLAF_OK;
}

mlaf_status q_b_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err) {
  const mlaf_q_b_args *a = args;
  mlaf_projection_args product = a->projection;
  mlaf_status st = q_b_absorbs(&b->point) ? q_b_check_absorb(b, a, &product, err) : MLAF_OK;
  if (!st) st = mlaf_projection_check_args(b, knob, &product, err);
  if (st) return st;
  if (!q_b_appends(&b->point) && a->append.tokens)
    return mlaf_fail(err, MLAF_E_ARG, "append: tokens is %lld, and the problem appends nothing: 0", (long long)a->append.tokens);
  if (!q_b_appends(&b->point)) return MLAF_OK;
  if (!a->projection.tokens && a->append.tokens)
    return mlaf_fail(err, MLAF_E_ARG, "append: tokens is %lld, and the product's are 0: nothing is launched",
                     (long long)a->append.tokens);
  return check_append(b, &a->append, err);
}

static uint32_t in_teams(uint32_t blocks, uint32_t team) { return (blocks + team - 1) / team * team; }

/* Blocks beside `product` ones: a token a warp, where compute units are left for so many in the product's last turn; with fewer
 * of them a warp takes several tokens, which is done before a product of that size. */
static uint32_t side_blocks(const mlaf_bound *b, uint32_t product, int64_t tokens) {
  const mlaf_device_info *info = mlaf_info(b->dev);
  const mlaf_stage *k = &b->stage[0];
  const uint32_t team = k->launch.cluster[0] > 1 ? k->launch.cluster[0] : 1, units = (uint32_t)info->compute_units;
  const uint32_t warps = k->threads / (uint32_t)info->wave_size, most = (uint32_t)((tokens + warps - 1) / warps);
  const uint32_t free = units ? (units - product % units) % units / team * team : most;
  const uint32_t least = (most + TOKENS_OF_WARP - 1) / TOKENS_OF_WARP;
  return in_teams(free < least ? least : free > most ? most : free, team);
}

/* The product's launch with the other's argument block behind its own, and blocks more. */
mlaf_status q_b_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err) {
  const mlaf_q_b_args *a = args;
  const mlaf_stage *k = &b->stage[0];
  const mlaf_bound product = q_b_product_bound(b);
  mlaf_status st = mlaf_projection_prepare(&product, knob, args, out, err);
  if (st || !out->n || !q_b_appends(&b->point)) return st;
  const mlaf_bound side = q_b_append_bound(b);
  mlaf_prepared rows;
  st = side.point.op->calls->prepare(&side, 1, &a->append, &rows, err);
  if (st) return st;
  mlaf_launch *l = &out->launches[0];
  const int64_t blocks = side_blocks(b, l->grid[0], a->append.tokens);
  const uint32_t at = mlaf_projection_parameter_bytes(0, &product.stage[0].launch), size = q_b_parameter_bytes(0, &k->launch);
  memset(out->parameters + at, 0, size - at);
  if (rows.n) memcpy(out->parameters + at, rows.launches[0].args, ROW_BYTES);
  memcpy(out->parameters + at + ROW_BYTES, &blocks, sizeof blocks);
  l->args_size = size;
  l->grid[0] += (uint32_t)blocks;
  return q_b_absorbs(&b->point) ? q_b_prepare_absorb(b, a, at + SIDE_BYTES, out, err) : MLAF_OK;
}
