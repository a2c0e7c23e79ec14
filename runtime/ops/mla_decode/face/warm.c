/* mlaf_warm_up: ranges of batch and context of one shape. */
#include "ops/mla_decode/fields.h"
#include "ops/mla_decode/problem.h"
#include "ops/mla_decode/face/face.h"

static mlaf_status read_range(mlaf_ctx *ctx, const char *name, int32_t *low, int32_t *high, int32_t otherwise, int32_t most) {
  if (!*low) *low = *high && *high < otherwise ? *high : otherwise;
  if (!*high) *high = *low > otherwise ? *low : otherwise;
  if (*low >= 1 && *low <= *high && *high <= most) return MLAF_OK;
  return mlaf_plan_refuse(ctx, MLAF_E_ARG, "mlaf_warm_up: %s_min is %d and %s_max %d, must be 1 <= min <= max <= %d", name, *low,
                          name, *high, most);
}

static mlaf_status read_opts(mlaf_ctx *ctx, const mlaf_problem *shape, const mlaf_warm_up_opts *in, mlaf_warm_up_opts *out) {
  *out = (mlaf_warm_up_opts)MLAF_WARM_UP_INIT;
  if (in && (in->struct_size < sizeof *in || in->struct_size > 4096 || in->flags))
    return mlaf_plan_refuse(ctx, MLAF_E_ARG, "mlaf_warm_up_opts: struct_size is %u, must be at least %zu, flags is %u (0): start "
                            "from MLAF_WARM_UP_INIT", in->struct_size, sizeof *in, in->flags);
  if (in) *out = *in;
  mlaf_status st = read_range(ctx, "batch", &out->batch_min, &out->batch_max, shape->batch, MLA_DECODE_BATCH_MAX);
  return st ? st : read_range(ctx, "ctx", &out->ctx_min, &out->ctx_max, shape->ctx, MLA_DECODE_CTX_MAX);
}

/* Workspace of a plan, with block tables or lists of the longest context where those are wanted. */
static size_t workspace(void *user, const mlaf_plan *plan, const mlaf_point *at) {
  const mlaf_warm_up_opts *o = user;
  const mlaf_problem p = mlaf_problem_of(at);
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
  const bool tables = o->plan && o->plan->flags & MLAF_PLAN_TABLES;
  a.batch = p.batch < o->batch_max ? p.batch : o->batch_max;
  a.total_q = (int64_t)a.batch * p.q_len;
  if (tables) a.block_table = (const int32_t *)(uintptr_t)sizeof(int32_t); /* only sizes are looked at */
  if (tables) a.block_table_width = (o->ctx_max + p.page_size - 1) / p.page_size;
  const size_t most = mlaf_execute_workspace_size(plan, &a);
  if (!o->plan || !(o->plan->flags & (MLAF_PLAN_LISTS | MLAF_PLAN_POOLS))) return most;
  a.block_table = NULL;
  a.block_table_width = 0;
  a.indices = (const int32_t *)(uintptr_t)sizeof(int32_t);
  a.topk = o->ctx_max;
  if (o->plan->flags & MLAF_PLAN_POOLS) a.extra_indices = a.indices, a.extra_topk = 1; /* of ctx_max in all, about */
  const size_t lists = mlaf_execute_workspace_size(plan, &a);
  return lists != SIZE_MAX && lists > most ? lists : most;
}

mlaf_status mlaf_warm_up(mlaf_ctx *ctx, const mlaf_problem *shape, const mlaf_warm_up_opts *opts, mlaf_warm_up_result *out) {
  mlaf_warm_up_opts o;
  mlaf_point from, to;
  if (!ctx) return MLAF_E_ARG;
  mlaf_status st = mlaf_decode_take(ctx, "mlaf_warm_up", shape, &from);
  if (st) return st;
  mlaf_problem p = mlaf_problem_of(&from);
  st = read_opts(ctx, &p, opts, &o);
  if (st) return st;
  p.batch = o.batch_min;
  p.ctx = o.ctx_min;
  mlaf_problem_point(&p, &from);
  p.batch = o.batch_max;
  p.ctx = o.ctx_max;
  mlaf_problem_point(&p, &to);
  return mlaf_warm_between(ctx, &from, &to, o.plan, workspace, &o, out);
}
