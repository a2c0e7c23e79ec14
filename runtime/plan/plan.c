/* Plans: create, query, count references, execute. */
#include "plan/plan.h"

#include "op/lengths.h"
#include "plan/planner.h"
#include "plan/second_kernel.h"

struct mlaf_plan {
  atomic_int refs;
  atomic_uint forms; /* MLAF_PLAN_FORMS that it was asked for with */
  mlaf_shared *shared; /* the device, and where messages go */
  mlaf_point point;
  mlaf_planned from;
  char text[MLAF_POINT_TEXT_MAX];
};

mlaf_status mlaf_plan_refuse(mlaf_ctx *ctx, mlaf_status status, const char *fmt, ...) {
  mlaf_err err = {status, ""};
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(err.text, sizeof err.text, fmt, ap);
  va_end(ap);
  return mlaf_shared_report(ctx->shared, &err);
}

/* The first version of the struct ended before `lengths`; a caller built against it passes that much. */
mlaf_status mlaf_plan_read_opts(const mlaf_plan_opts *in, mlaf_plan_opts *out, mlaf_err *err) {
  const size_t first = offsetof(mlaf_plan_opts, lengths);
  mlaf_lengths lengths;
  *out = (mlaf_plan_opts)MLAF_PLAN_OPTS_INIT;
  if (!in) return MLAF_OK;
  if (in->struct_size < first || in->struct_size > 4096)
    return mlaf_fail(err, MLAF_E_ARG,
                     "mlaf_plan_opts: struct_size is %u, must be %zu to 4096: start from MLAF_PLAN_OPTS_INIT",
                     in->struct_size, first);
  for (const char *s = (const char *)(in + 1), *end = (const char *)in + in->struct_size; s < end; s++)
    if (*s) return mlaf_fail(err, MLAF_E_ARG, "mlaf_plan_opts: a field this library does not know is set");
  const uint32_t known = MLAF_PLAN_NO_COMPILE | MLAF_PLAN_FORMS | MLAF_PLAN_LIBRARY | MLAF_PLAN_BATCH_INVARIANT;
  if (in->flags & ~known) return mlaf_fail(err, MLAF_E_ARG, "mlaf_plan_opts: unknown flags 0x%x", in->flags & ~known);
  if ((unsigned)in->effort > MLAF_EFFORT_MEASURE || in->reserved)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_plan_opts: effort is %d (0..%d), reserved is %d (0)", in->effort,
                     MLAF_EFFORT_MEASURE, in->reserved);
  if (!(in->time_limit_s >= 0))
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_plan_opts: time_limit_s is %g, must be 0 or more", in->time_limit_s);
  if (in->effort == MLAF_EFFORT_MEASURE && in->flags & MLAF_PLAN_NO_COMPILE)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_plan_opts: MEASURE and NO_COMPILE exclude each other");
  if (in->effort == MLAF_EFFORT_MEASURE && in->flags & MLAF_PLAN_BATCH_INVARIANT)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_plan_opts: MEASURE and BATCH_INVARIANT exclude each other: what was tuned for one "
                     "batch would change the bits of others");
  memcpy(out, in, in->struct_size < sizeof *out ? in->struct_size : sizeof *out);
  out->struct_size = sizeof *out;
  return out->lengths ? mlaf_lengths_parse(out->lengths, &lengths, err) : MLAF_OK;
}

static mlaf_status plan_new(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_plan_opts *opts, const mlaf_plan_inside *inside,
                            mlaf_plan **out, mlaf_err *err) {
  mlaf_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a plan");
  pthread_mutex_lock(&ctx->lock);
  int compiles = 0;
  mlaf_status st = mlaf_second_kernels_want(ctx, p->op, opts->flags, !(opts->flags & MLAF_PLAN_NO_COMPILE), &compiles, err);
  if (!st) st = mlaf_planner_run(ctx, p, opts, inside, &plan->from, err);
  if (!st) mlaf_loaded_chain(plan->from.loaded);
  plan->from.compiles += compiles;
  pthread_mutex_unlock(&ctx->lock);
  if (st) {
    free(plan);
    return st;
  }
  atomic_init(&plan->refs, 1);
  atomic_init(&plan->forms, opts->flags & MLAF_PLAN_FORMS);
  plan->point = *p;
  plan->shared = ctx->shared;
  atomic_fetch_add_explicit(&ctx->shared->refs, 1, memory_order_relaxed);
  mlaf_point_print(p, plan->text, sizeof plan->text);
  *out = plan;
  return MLAF_OK;
}

mlaf_status mlaf_plan_create_inside(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_plan_opts *opts,
                                    const mlaf_plan_inside *inside, mlaf_plan **out) {
  mlaf_err err = {MLAF_OK, ""};
  mlaf_plan_opts o;
  mlaf_status st = mlaf_plan_read_opts(opts, &o, &err);
  if (!st) st = plan_new(ctx, p, &o, inside, out, &err);
  err.status = st;
  return st ? mlaf_shared_report(ctx->shared, &err) : MLAF_OK;
}

mlaf_status mlaf_plan_create_at(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_plan_opts *opts, mlaf_plan **out) {
  return mlaf_plan_create_inside(ctx, p, opts, NULL, out);
}

bool mlaf_plan_serves_next(const mlaf_plan *plan) {
  const mlaf_bound *b = mlaf_plan_bound(plan);
  for (int i = 0; i < MLAF_STAGES_MAX; i++)
    if (b->stage[i].fn && b->stage[i].launch.values) return true;
  return false;
}

static bool made_without(const mlaf_plan *plan, uint32_t flags) {
  return flags & MLAF_PLAN_FORMS & ~atomic_load_explicit(&plan->forms, memory_order_acquire);
}

bool mlaf_plan_lacks_second(mlaf_plan *plan, uint32_t flags) {
  if (!made_without(plan, flags)) return false;
  if (mlaf_second_kernels_miss(plan->shared, plan->point.op, flags)) return true;
  atomic_fetch_or_explicit(&plan->forms, flags & MLAF_PLAN_FORMS, memory_order_release);
  return false;
}

mlaf_status mlaf_plan_want_second(mlaf_ctx *ctx, mlaf_plan *plan, const mlaf_plan_opts *opts) {
  mlaf_err err = {MLAF_OK, ""};
  int compiles = 0;
  const mlaf_op *op = plan->point.op;
  pthread_mutex_lock(&ctx->lock);
  err.status = mlaf_second_kernels_want(ctx, op, opts->flags, !(opts->flags & MLAF_PLAN_NO_COMPILE), &compiles, &err);
  pthread_mutex_unlock(&ctx->lock);
  if (err.status) return mlaf_shared_report(ctx->shared, &err);
  atomic_fetch_or_explicit(&plan->forms, opts->flags & MLAF_PLAN_FORMS, memory_order_release);
  mlaf_log_line(&ctx->log, MLAF_LOG_INFO, "plan: kernels of further forms of %s's arguments, %d compiled", op->name,
                compiles);
  return MLAF_OK;
}

mlaf_plan *mlaf_plan_retain(mlaf_plan *plan) {
  if (plan) atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
  return plan;
}

void mlaf_plan_release(mlaf_plan *plan) {
  if (!plan || atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) != 1) return;
  mlaf_loaded_close(plan->from.loaded);
  free(plan->from.notes);
  mlaf_shared_release(plan->shared);
  free(plan);
}

mlaf_status mlaf_plan_query(const mlaf_plan *plan, mlaf_plan_info *info) {
  if (!plan || !info || info->struct_size < offsetof(mlaf_plan_info, lengths)) return MLAF_E_ARG;
  const uint32_t size = info->struct_size;
  const mlaf_plan_info all = {
      .struct_size = size,
      .knob = (int32_t)mlaf_loaded_knob(plan->from.loaded),
      .problem = plan->text,
      .rung = mlaf_rung_name(plan->from.rung),
      .source = plan->from.source,
      .variant = plan->from.variant,
      .tuned_for = plan->from.tuned_for,
      .code = plan->from.compiles ? "compiled" : plan->from.bundled ? "bundle" : "cache",
      .stale = plan->from.stale,
      .notes = plan->from.notes ? plan->from.notes : "",
      .compiles = plan->from.compiles,
      .ns = plan->from.ns,
      .error = plan->from.error,
      .lengths = plan->from.lengths,
  };
  memcpy(info, &all, size < sizeof all ? size : sizeof all);
  return MLAF_OK;
}

size_t mlaf_plan_workspace_size(const mlaf_plan *plan, int64_t total_q) {
  return plan ? mlaf_loaded_workspace_size(plan->from.loaded, mlaf_loaded_knob(plan->from.loaded), total_q) : 0;
}

const mlaf_op *mlaf_plan_op(const mlaf_plan *plan) { return plan->point.op; }

/* --- launches --- */

const mlaf_kernel_ref *mlaf_plan_kernel(const mlaf_plan *plan) { return &plan->from.first; }

const mlaf_bound *mlaf_plan_bound(const mlaf_plan *plan) { return mlaf_loaded_bound(plan->from.loaded); }

size_t mlaf_plan_run_workspace(const mlaf_plan *plan, const mlaf_op *op, const void *args) {
  mlaf_whole_args whole;
  if (!plan || !args || plan->point.op != op) return plan && args ? SIZE_MAX : 0;
  const mlaf_calls *calls = op->calls;
  const uint32_t knob = mlaf_loaded_knob(plan->from.loaded);
  const void *a = mlaf_args_take(calls, args, &whole, NULL);
  if (!a) return SIZE_MAX;
  if (!calls->rows(a)) return 0;
  const mlaf_second_form *form = mlaf_second_of(calls, a);
  if (form) return form->workspace(mlaf_loaded_bound(plan->from.loaded), knob, a);
  return mlaf_plan_workspace_size(plan, calls->rows(a));
}

/* `fns` with a form's kernels; NULL: the plan was made without its flag. */
static const mlaf_function *const *second_kernels(const mlaf_plan *plan, const mlaf_second_form *form,
                                                  const mlaf_function *fns[MLAF_SECOND_KERNELS_EACH]) {
  return made_without(plan, mlaf_second_flag(form->kind)) ? NULL : mlaf_second_kernels(plan->shared, form, fns);
}

/* Turns arguments in a further form into the first, by separate kernels. */
static mlaf_status launch_second(const mlaf_plan *plan, const mlaf_second_form *form, const void *args, mlaf_series *to,
                                 void *stream, mlaf_err *err) {
  const mlaf_loaded *l = plan->from.loaded;
  const mlaf_function *fns[MLAF_SECOND_KERNELS_EACH];
  mlaf_whole_args first;
  mlaf_second_prepared second;
  uint32_t size;
  mlaf_status st = form->prepare(mlaf_loaded_bound(l), mlaf_loaded_knob(l), second_kernels(plan, form, fns), args, &first,
                                 &second, err);
  if (st) return st;
  memcpy(&size, &first, sizeof size);
  if (!size) return MLAF_OK;
  return mlaf_loaded_launch_within(l, mlaf_loaded_knob(l), &first, &second, to, stream, err);
}

static mlaf_status launch(const mlaf_plan *plan, const void *args, mlaf_series *to, void *stream, mlaf_err *err) {
  const mlaf_loaded *l = plan->from.loaded;
  const mlaf_second_form *form = mlaf_second_of(plan->point.op->calls, args);
  if (form) return launch_second(plan, form, args, to, stream, err);
  return mlaf_loaded_launch_within(l, mlaf_loaded_knob(l), args, NULL, to, stream, err);
}

/* Neither a workspace nor a size: the stream's is meant. */
static bool leaves_workspace_out(const mlaf_calls *calls, const void *args) {
  void *workspace;
  size_t size;
  if (!calls->workspace_size_at) return false;
  memcpy(&workspace, (const char *)args + calls->workspace_at, sizeof workspace);
  memcpy(&size, (const char *)args + calls->workspace_size_at, sizeof size);
  return !workspace && !size;
}

/* The memory is given back at the end, so nothing of it is kept for later. */
static mlaf_status launch_borrowing(const mlaf_plan *plan, const void *args, void *stream, mlaf_err *err) {
  const mlaf_calls *calls = plan->point.op->calls;
  const size_t need = mlaf_plan_run_workspace(plan, plan->point.op, args);
  mlaf_whole_args whole;
  mlaf_borrowed b;
  if (!need || need == SIZE_MAX) return launch(plan, args, NULL, stream, err); /* says what is wrong */
  mlaf_status st = mlaf_workspace_borrow(plan->shared, stream, need, &b, err);
  if (st) return st;
  memcpy(&whole, args, calls->args_size);
  memcpy(whole.bytes + calls->workspace_at, &b.memory, sizeof b.memory);
  memcpy(whole.bytes + calls->workspace_size_at, &b.size, sizeof b.size);
  st = launch(plan, &whole, NULL, stream, err);
  mlaf_workspace_give_back(&b);
  return st;
}

static mlaf_status execute(const mlaf_plan *plan, const void *args, mlaf_series *to, void *stream, mlaf_err *err) {
  const mlaf_calls *calls = plan->point.op->calls;
  mlaf_whole_args whole;
  const void *a = mlaf_args_take(calls, args, &whole, err);
  if (!a) return err->status;
  if (!leaves_workspace_out(calls, a)) return launch(plan, a, to, stream, err);
  const mlaf_status st = to ? mlaf_series_stop(to, err) : MLAF_OK;
  return st ? st : launch_borrowing(plan, a, stream, err);
}

mlaf_status mlaf_plan_make(const mlaf_plan *plan, void *args, void *at, bool again, mlaf_series *to, void *stream) {
  const mlaf_calls *calls = plan->point.op->calls;
  mlaf_err err;
  mlaf_visit visit;
  mlaf_whole_args first;
  mlaf_second_prepared second;
  const mlaf_device_ops *ops = mlaf_ops(plan->shared->dev);
  mlaf_status st = ops->enter ? ops->enter(plan->shared->dev, &visit, &err) : MLAF_OK;
  if (!st) {
    const mlaf_second_form *form = mlaf_second_of(calls, args);
    const mlaf_function *fns[MLAF_SECOND_KERNELS_EACH];
    st = form->prepare_at(mlaf_loaded_bound(plan->from.loaded), second_kernels(plan, form, fns), args, at, &first, &second, &err);
    for (size_t i = 0; !st && !again && i < second.ahead; i++)
      st = to ? mlaf_series_launch(to, &second.launch[i], 1, &err)
              : ops->launch(plan->shared->dev, stream, &second.launch[i], &err);
    if (ops->leave) ops->leave(plan->shared->dev, &visit);
  }
  if (!st) memcpy(args, &first, calls->args_size);
  if (!st) return MLAF_OK;
  err.status = st;
  return mlaf_shared_report(plan->shared, &err);
}

mlaf_status mlaf_plan_run(const mlaf_plan *plan, const mlaf_op *op, const void *args, void *stream) {
  return mlaf_plan_run_into(plan, op, args, NULL, stream);
}

mlaf_status mlaf_plan_run_into(const mlaf_plan *plan, const mlaf_op *op, const void *args, mlaf_series *to, void *stream) {
  mlaf_err err; /* 4 KB that only a failure writes to */
  mlaf_visit visit;
  mlaf_device *dev = plan->shared->dev;
  const mlaf_device_ops *ops = mlaf_ops(dev);
  mlaf_status st = args ? MLAF_OK : mlaf_fail(&err, MLAF_E_ARG, "%s is NULL", plan->point.op->calls->args_name);
  if (!st && plan->point.op != op)
    st = mlaf_fail(&err, MLAF_E_ARG, "the plan is one of %s, the arguments are of %s", plan->point.op->name,
                   op ? op->name : "none");
  if (!st && ops->enter) st = ops->enter(dev, &visit, &err);
  if (!st) {
    st = execute(plan, args, to, stream, &err);
    if (ops->leave) ops->leave(dev, &visit);
  }
  if (!st) return MLAF_OK;
  err.status = st;
  return mlaf_shared_report(plan->shared, &err);
}

mlaf_status mlaf_plan_run_behind(const mlaf_plan *plan, const void *args, void *stream) {
  mlaf_err err;
  mlaf_visit visit;
  mlaf_prepared prepared;
  mlaf_device *dev = plan->shared->dev;
  const mlaf_device_ops *ops = mlaf_ops(dev);
  const mlaf_loaded *l = plan->from.loaded;
  mlaf_status st = ops->enter ? ops->enter(dev, &visit, &err) : MLAF_OK;
  if (!st) {
    st = mlaf_loaded_check(l, mlaf_loaded_knob(l), args, &err);
    if (!st) st = mlaf_loaded_prepare(l, mlaf_loaded_knob(l), args, &prepared, &err);
    if (!st && prepared.n) prepared.launches[0].flags &= ~(uint32_t)MLAF_LAUNCH_OVERLAPS;
    for (size_t i = 0; !st && i < prepared.n; i++) st = ops->launch(dev, stream, &prepared.launches[i], &err);
    if (ops->leave) ops->leave(dev, &visit);
  }
  if (!st) return MLAF_OK;
  err.status = st;
  return mlaf_shared_report(plan->shared, &err);
}
