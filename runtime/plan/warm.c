/* Plans for whatever may come, before it comes. */
#include <time.h>

#include "plan/plan.h"

enum { NAMES = 512, NAME = 256 };

typedef struct warming {
  mlaf_ctx *ctx;
  const mlaf_point *to;
  const mlaf_plan_opts *opts;
  mlaf_warm_size_fn size;
  void *user;
  mlaf_plan_request *requests; /* of all points */
  size_t n_requests;
  mlaf_warm_up_result result;
  char (*names)[NAME]; /* of first kernels that were met */
} warming;

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The kernel's name is the variant's without its knob, which is an argument of the launch. */
static void count_kernel(warming *w, const char *variant) {
  char name[NAME];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(variant, "/"), variant);
  for (int i = 0; i < w->result.kernels; i++)
    if (!strcmp(w->names[i], name)) return;
  if (w->result.kernels < NAMES) memcpy(w->names[w->result.kernels++], name, sizeof name);
}

static void note(warming *w, const mlaf_plan *plan, const mlaf_point *p) {
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  mlaf_plan_query(plan, &info);
  count_kernel(w, info.variant);
  w->result.plans++;
  const size_t size = w->size ? w->size(w->user, plan, p) : mlaf_plan_workspace_size(plan, p->op->calls->rows_of(p));
  if (size != SIZE_MAX && size > w->result.workspace) w->result.workspace = size;
}

/* Memory that is short costs time: what is not among the requests is compiled when its plan is made. */
static mlaf_status add_request(warming *w, const mlaf_point *p) {
  if (mlaf_room(&w->requests, w->n_requests, sizeof *w->requests))
    w->requests[w->n_requests++] = (mlaf_plan_request){.at = *p, .opts = w->opts};
  return MLAF_OK;
}

static mlaf_status warm_one(warming *w, const mlaf_point *p) {
  mlaf_registry_how how = {.quiet = true, .compiles = &w->result.compiles};
  mlaf_plan *plan = NULL;
  mlaf_status st = mlaf_registry_get(w->ctx, p, w->opts, &how, &plan);
  if (st) return st;
  note(w, plan, p);
  mlaf_plan_release(plan);
  return MLAF_OK;
}

/* Calls `each` for all rounded values of field i and those behind it. */
typedef mlaf_status (*each_fn)(warming *w, const mlaf_point *p);
static mlaf_status for_each(warming *w, const mlaf_point *p, int i, each_fn each) {
  const mlaf_op *op = p->op;
  while (i < op->n_fields && op->fields[i].role != MLAF_SIZE) i++;
  if (i == op->n_fields) return each(w, p);
  const mlaf_field *f = &op->fields[i];
  const int32_t last = mlaf_field_round(f, w->to->v[i]);
  mlaf_status st = MLAF_OK;
  for (int32_t x = mlaf_field_round(f, p->v[i]); !st && x <= last; x = mlaf_field_round(f, x + 1)) {
    mlaf_point at = *p;
    at.v[i] = x < f->max ? x : f->max;
    st = for_each(w, &at, i + 1, each);
  }
  return st;
}

mlaf_status mlaf_warm_between(mlaf_ctx *ctx, const mlaf_point *from, const mlaf_point *to, const mlaf_plan_opts *opts,
                              mlaf_warm_size_fn size, void *user, mlaf_warm_up_result *out) {
  warming w = {.ctx = ctx, .to = to, .opts = opts, .size = size, .user = user};
  const double begun = now_s();
  if (out && out->struct_size < sizeof *out)
    return mlaf_plan_refuse(ctx, MLAF_E_ARG, "mlaf_warm_up_result: struct_size is %u: start from MLAF_WARM_UP_RESULT_INIT",
                            out->struct_size);
  for (int i = 0; i < to->op->n_fields; i++)
    if (from->op != to->op || !mlaf_point_same_shape(from, to) || from->v[i] > to->v[i])
      return mlaf_plan_refuse(ctx, MLAF_E_ARG, "warming up from %s to %s: one shape and rising sizes are wanted",
                              mlaf_point_text(from).s, mlaf_point_text(to).s);
  if (!(w.names = calloc(NAMES, sizeof *w.names))) return mlaf_plan_refuse(ctx, MLAF_E_NOMEM, "no memory to warm up");
  for_each(&w, from, 0, add_request);
  w.result.compiles = (int32_t)mlaf_plan_compile_together(ctx, w.requests, w.n_requests);
  const mlaf_status st = for_each(&w, from, 0, warm_one); /* has reported what failed */
  free(w.names);
  free(w.requests);
  if (st) return st;
  atomic_store(&ctx->warm, true);
  w.result.seconds = now_s() - begun;
  if (out) {
    w.result.struct_size = out->struct_size;
    memcpy(out, &w.result, sizeof w.result);
  }
  return MLAF_OK;
}
