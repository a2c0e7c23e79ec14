/* Problems that may follow mla_q_b's in one launch (op/joint.h): mla_append's beside it, mla_q_absorb's chained to it. What
 * relates their arguments, and how many blocks append. */
#include "ops/mla_q_b/q_b.h"

/* Threads of the product's blocks, of which a launch of AMD's counts at most 2^32 with the others. */
static const int64_t PRODUCT_THREADS = INT64_C(1) << 26, THREADS_MOST = UINT32_MAX;
enum { TOKENS_OF_WARP = 4 };

/* --- mla_append --- */

static uint32_t in_teams(uint32_t blocks, uint32_t team) { return (blocks + team - 1) / team * team; }

/* A token a warp, where compute units are left for so many in the product's last turn; with fewer of them a warp takes several
 * tokens, which is done before a product of that size. */
static uint32_t append_blocks(const mlaf_bound *b, uint32_t product, const void *args) {
  const mlaf_device_info *info = mlaf_info(b->dev);
  const mlaf_stage *k = &b->stage[0];
  const int64_t tokens = ((const mlaf_append_args *)args)->tokens;
  const uint32_t team = k->launch.cluster[0] > 1 ? k->launch.cluster[0] : 1, units = (uint32_t)info->compute_units;
  const uint32_t warps = k->threads / (uint32_t)info->wave_size, most = (uint32_t)((tokens + warps - 1) / warps);
  const uint32_t free = units ? (units - product % units) % units / team * team : most;
  const uint32_t least = (most + TOKENS_OF_WARP - 1) / TOKENS_OF_WARP;
  return in_teams(free < least ? least : free > most ? most : free, team);
}

static mlaf_status check_append(const mlaf_bound *b, const void *args, mlaf_err *err) {
  const int64_t tokens = ((const mlaf_append_args *)args)->tokens, most = THREADS_MOST - PRODUCT_THREADS;
  const int64_t wave = mlaf_info(b->dev)->wave_size;
  if (tokens * wave <= most) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld, and a launch takes no more than %lld: launch fewer at once",
                   (long long)tokens, (long long)(most / wave));
}

static const mlaf_joint_field append_fields[] = {MLA_Q_B_MLA_APPEND_FIELDS};

/* --- mla_q_absorb --- */

static const mlaf_joint_field absorb_fields[] = {MLA_Q_B_MLA_Q_ABSORB_FIELDS};

/* Queries are nowhere: neither product has strides for them. */
static mlaf_status check_chained(const void *args, mlaf_err *err) {
  const mlaf_q_b_args *a = args;
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

static void lend(void *args) {
  mlaf_q_b_args *a = args;
  a->projection.y = a->absorb.y;
  a->absorb.x = a->projection.x;
}

static void part(void *args) {
  mlaf_q_b_args *a = args;
  a->projection.y = NULL, a->absorb.x = NULL;
  a->projection.y_token_stride = a->projection.y_head_stride = a->absorb.x_token_stride = a->absorb.x_head_stride = 0;
}

/* --- together --- */

static mlaf_status check(const mlaf_point *p, const void *args, mlaf_err *err) {
  const mlaf_q_b_args *a = args;
  const long long tokens = (long long)a->append.tokens;
  if (tokens && !mlaf_joint_has(p, Q_B_APPEND))
    return mlaf_fail(err, MLAF_E_ARG, "append: tokens is %lld, and the problem appends nothing: 0", tokens);
  if (tokens && !a->projection.tokens)
    return mlaf_fail(err, MLAF_E_ARG, "append: tokens is %lld, and the product's are 0: nothing is launched", tokens);
  return MLAF_OK;
}

/* Cases of mla_append: rows of all sizes beside the tokens that it is tuned for, slices beside slices, and beside one token
 * rotated columns that go to a tensor of their own as well. */
static const mlaf_joint_part parts[] = {
    [Q_B_APPEND] = {.op = "mla_append:", .name = "append", .present = MLA_Q_B_APPEND, .fields = append_fields,
                    .args_at = offsetof(mlaf_q_b_args, append), .buffers = Q_B_APPEND_BUFFERS, .cases = {2, 0, 1},
                    .blocks = append_blocks, .check = check_append},
    [Q_B_ABSORB] = {.op = "mla_q_absorb:", .name = "absorb", .present = MLA_Q_B_ABSORB, .fields = absorb_fields,
                    .args_at = offsetof(mlaf_q_b_args, absorb), .buffers = Q_B_PRODUCT_BUFFERS, .cases = {0, 1, 2}, .maps = 1}};
static const mlaf_q_b_args args_init = MLAF_Q_B_ARGS_INIT;

const mlaf_joint q_b_joint = {.first = &q_b_alone,
                              .args_init = &args_init,
                              .first_buffers = Q_B_PRODUCT_BUFFERS,
                              .parts = parts,
                              .n_parts = sizeof parts / sizeof *parts,
                              .check = check,
                              .check_chained = check_chained,
                              .lend = lend,
                              .part = part,
                              .out_at = offsetof(mlaf_q_b_args, projection.y),
                              .in_at = offsetof(mlaf_q_b_args, absorb.x)};
