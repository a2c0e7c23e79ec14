/* Plans for whatever may come, before it comes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan/ctx.h"
#include "ops/mla_decode/problem.h"
#include "ops/mla_decode/fields.h"

enum { NAMES = 512, NAME = 256 };

typedef struct warming {
  mlaf_ctx *ctx;
  mlaf_problem shape;
  mlaf_warm_up_opts opts;
  mlaf_warm_up_result result;
  char (*names)[NAME]; /* of decode kernels that were met */
} warming;

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static mlaf_status read_range(const char *name, int32_t *low, int32_t *high, int32_t otherwise, int32_t most, mlaf_err *err) {
  if (!*low) *low = *high && *high < otherwise ? *high : otherwise;
  if (!*high) *high = *low > otherwise ? *low : otherwise;
  if (*low >= 1 && *low <= *high && *high <= most) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "mlaf_warm_up: %s_min is %d and %s_max %d, must be 1 <= min <= max <= %d", name, *low,
                   name, *high, most);
}

static mlaf_status read_opts(warming *w, const mlaf_warm_up_opts *in, mlaf_err *err) {
  w->opts = (mlaf_warm_up_opts)MLAF_WARM_UP_INIT;
  if (in && (in->struct_size < sizeof *in || in->struct_size > 4096 || in->flags))
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_warm_up_opts: struct_size is %u, must be at least %zu, flags is %u (0): start from "
                     "MLAF_WARM_UP_INIT", in->struct_size, sizeof *in, in->flags);
  if (in) w->opts = *in;
  mlaf_status st = read_range("batch", &w->opts.batch_min, &w->opts.batch_max, w->shape.batch, MLA_DECODE_BATCH_MAX, err);
  return st ? st : read_range("ctx", &w->opts.ctx_min, &w->opts.ctx_max, w->shape.ctx, MLA_DECODE_CTX_MAX, err);
}

/* The kernel's name is the variant's without its splits, which are an argument of the launch. */
static void count_kernel(warming *w, const char *variant) {
  char name[NAME];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(variant, "/"), variant);
  for (int i = 0; i < w->result.kernels; i++)
    if (!strcmp(w->names[i], name)) return;
  if (w->result.kernels < NAMES) memcpy(w->names[w->result.kernels++], name, sizeof name);
}

static void note(warming *w, const mlaf_plan *plan, const mlaf_problem *p) {
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
  const bool tables = w->opts.plan && w->opts.plan->flags & MLAF_PLAN_TABLES;
  mlaf_plan_query(plan, &info);
  count_kernel(w, info.variant);
  w->result.plans++;
  a.batch = p->batch < w->opts.batch_max ? p->batch : w->opts.batch_max;
  a.total_q = (int64_t)a.batch * p->q_len;
  if (tables) a.block_table = (const int32_t *)(uintptr_t)sizeof(int32_t); /* only sizes are looked at */
  if (tables) a.block_table_width = (w->opts.ctx_max + p->page_size - 1) / p->page_size;
  const size_t size = mlaf_execute_workspace_size(plan, &a);
  if (size != SIZE_MAX && size > w->result.workspace) w->result.workspace = size;
}

static int32_t at_most(int32_t x, int32_t most) { return x < most ? x : most; }

static int32_t batch_of(int32_t x) { return mlaf_field_round(&mlaf_op_mla_decode.fields[MLA_DECODE_BATCH], x); }
static int32_t ctx_of(int32_t x) { return mlaf_field_round(&mlaf_op_mla_decode.fields[MLA_DECODE_CTX], x); }

static mlaf_status warm(warming *w) {
  const int32_t last_batch = batch_of(w->opts.batch_max), last_ctx = ctx_of(w->opts.ctx_max);
  mlaf_problem p = w->shape;
  for (p.batch = w->opts.batch_min; batch_of(p.batch) <= last_batch; p.batch = batch_of(p.batch) + 1)
    for (p.ctx = w->opts.ctx_min; ctx_of(p.ctx) <= last_ctx; p.ctx = ctx_of(p.ctx) + 1) {
      mlaf_plan *plan = NULL;
      mlaf_problem at = p;
      at.batch = at_most(batch_of(p.batch), MLA_DECODE_BATCH_MAX);
      at.ctx = at_most(ctx_of(p.ctx), MLA_DECODE_CTX_MAX);
      mlaf_registry_how how = {.quiet = true, .compiles = &w->result.compiles};
      mlaf_status st = mlaf_registry_get(w->ctx, &at, w->opts.plan, &how, &plan);
      if (st) return st;
      note(w, plan, &at);
      mlaf_plan_release(plan);
    }
  return MLAF_OK;
}

mlaf_status mlaf_warm_up(mlaf_ctx *ctx, const mlaf_problem *shape, const mlaf_warm_up_opts *opts, mlaf_warm_up_result *out) {
  warming w = {.ctx = ctx};
  mlaf_err err = {MLAF_OK, ""};
  char why[256] = "";
  const double begun = now_s();
  if (!ctx) return MLAF_E_ARG;
  mlaf_status st = shape ? MLAF_OK : mlaf_fail(&err, MLAF_E_ARG, "mlaf_warm_up: shape is NULL");
  if (!st && (st = mlaf_problem_take(shape, &w.shape, why, sizeof why))) mlaf_fail(&err, st, "%s", why);
  if (!st && out && out->struct_size < sizeof *out)
    st = mlaf_fail(&err, MLAF_E_ARG, "mlaf_warm_up_result: struct_size is %u: start from MLAF_WARM_UP_RESULT_INIT",
                   out->struct_size);
  if (!st) st = read_opts(&w, opts, &err);
  if (!st && !(w.names = calloc(NAMES, sizeof *w.names))) st = mlaf_fail(&err, MLAF_E_NOMEM, "no memory to warm up");
  err.status = st;
  if (st) return mlaf_shared_report(ctx->shared, &err);
  st = warm(&w); /* has reported what failed */
  free(w.names);
  if (st) return st;
  atomic_store(&ctx->warm, true);
  w.result.seconds = now_s() - begun;
  if (out) {
    w.result.struct_size = out->struct_size;
    memcpy(out, &w.result, sizeof w.result);
  }
  return MLAF_OK;
}
