/* Tuning and the tuning text, on a context. */
#include "mlaforge/tune.h"

#include "plan/plan.h"
#include "mlaforge/database.h"
#include "tune/tune.h"

_Static_assert((int)MLAF_TUNE_PRUNED == MLAF_STRATEGY_PRUNED && (int)MLAF_TUNE_EXHAUSTIVE == MLAF_STRATEGY_EXHAUSTIVE &&
                   (int)MLAF_TUNE_HALVING == MLAF_STRATEGY_HALVING,
               "the public strategies are the tuner's");

#define EXPORT_MAX ((size_t)256 << 20)

static mlaf_status finish(mlaf_ctx *ctx, mlaf_status status, mlaf_err *err) {
  if (status == MLAF_OK) return MLAF_OK;
  err->status = status;
  return mlaf_shared_report(ctx->shared, err);
}

/* The C API's progress may stop a run; the tuner asks a flag. */
typedef struct relay {
  mlaf_tune_progress_fn fn;
  void *user;
  atomic_bool cancel;
} relay;

static void on_progress(void *user, const mlaf_tuner_progress *p) {
  relay *r = user;
  mlaf_tune_progress out = {sizeof out, (int32_t)p->total, (int32_t)p->done, (int32_t)p->failed, p->activity,
                            p->variant, p->best,           p->best_ns,       p->elapsed_s};
  if (r->fn(r->user, &out) != 0) atomic_store(&r->cancel, true);
}

/* The first version of the struct ended before `lengths`; a caller built against it passes that much. */
static mlaf_status read_opts(const mlaf_tune_opts *in, mlaf_tune_opts *out, mlaf_err *err) {
  const size_t first = offsetof(mlaf_tune_opts, lengths);
  *out = (mlaf_tune_opts)MLAF_TUNE_OPTS_INIT;
  if (!in) return MLAF_OK;
  if (in->struct_size < first || in->struct_size > 4096)
    return mlaf_fail(err, MLAF_E_ARG,
                     "mlaf_tune_opts: struct_size is %u, must be at least %zu: start from MLAF_TUNE_OPTS_INIT",
                     in->struct_size, first);
  for (const char *s = (const char *)(in + 1), *end = (const char *)in + in->struct_size; s < end; s++)
    if (*s) return mlaf_fail(err, MLAF_E_ARG, "mlaf_tune_opts: a field this library does not know is set");
  if (in->flags & ~(uint32_t)MLAF_TUNE_NO_RESUME || (unsigned)in->strategy >= MLAF_STRATEGY_COUNT)
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_tune_opts: unknown flags 0x%x or unknown strategy %d", in->flags,
                     in->strategy);
  if (in->max_candidates < 0 || !(in->time_limit_s >= 0))
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_tune_opts: max_candidates is %d, time_limit_s %g; both must be 0 or more",
                     in->max_candidates, in->time_limit_s);
  memcpy(out, in, in->struct_size < sizeof *out ? in->struct_size : sizeof *out);
  return MLAF_OK;
}

static void fill_result(const mlaf_tuner_result *r, mlaf_tune_result *out) {
  uint32_t size = out->struct_size;
  mlaf_tune_result full = {sizeof full,
                           (int32_t)r->n,
                           (int32_t)r->failed,
                           (int32_t)r->resumed,
                           (int32_t)r->compiles,
                           (int32_t)r->choice.knob,
                           "",
                           "",
                           r->choice.ns,
                           r->choice.margin,
                           r->choice.error,
                           "",
                           r->seconds};
  memcpy(full.variant, r->choice.variant, sizeof full.variant);
  if (r->has_choice) snprintf(full.source, sizeof full.source, "%s", mlaf_source_name(r->choice.source));
  memcpy(full.stopped, r->stopped, sizeof full.stopped);
  memcpy(out, &full, size < sizeof full ? size : sizeof full);
  out->struct_size = size;
}

static mlaf_status run(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_tune_opts *o, mlaf_tune_result *out,
                       mlaf_err *err) {
  relay r = {.fn = o->progress, .user = o->progress_user};
  atomic_init(&r.cancel, false);
  mlaf_tuner_opts opts = {.strategy = (mlaf_strategy)o->strategy,
                          .max_candidates = (size_t)o->max_candidates,
                          .time_limit_s = o->time_limit_s,
                          .seed = o->seed,
                          .no_resume = o->flags & MLAF_TUNE_NO_RESUME,
                          .progress = o->progress ? on_progress : NULL,
                          .progress_user = &r,
                          .cancel = &r.cancel};
  mlaf_gen *gen = NULL;
  mlaf_status status = o->lengths ? mlaf_lengths_parse(o->lengths, &opts.lengths, err) : MLAF_OK;
  if (status != MLAF_OK) return status;
  pthread_mutex_lock(&ctx->lock);
  status = mlaf_ctx_gen(ctx, &gen, err);
  if (status == MLAF_OK) {
    mlaf_tuner_env env = {mlaf_ctx_device(ctx), ctx->db, gen, ctx->compiler, &ctx->log, NULL, NULL, NULL};
    mlaf_tuner_result result;
    status = mlaf_tuner_run(&env, p, &opts, &result, err);
    if (out && (status == MLAF_OK || status == MLAF_E_CANCELLED)) fill_result(&result, out);
    mlaf_tuner_result_clear(&result);
  }
  pthread_mutex_unlock(&ctx->lock);
  return status;
}

mlaf_status mlaf_tune_at(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_tune_opts *opts, mlaf_tune_result *out) {
  mlaf_err err = {MLAF_OK, ""};
  mlaf_tune_opts o;
  if (out && out->struct_size < offsetof(mlaf_tune_result, ns))
    return finish(ctx, mlaf_fail(&err, MLAF_E_ARG, "mlaf_tune_result: struct_size is %u: start from MLAF_TUNE_RESULT_INIT",
                                 out->struct_size), &err);
  mlaf_status status = read_opts(opts, &o, &err);
  if (status == MLAF_OK) status = run(ctx, p, &o, out, &err);
  mlaf_plan_forget(ctx); /* what was finished may be a better choice */
  return finish(ctx, status, &err);
}

/* --- text --- */
static mlaf_status need_db(const mlaf_ctx *ctx, mlaf_err *err) {
  return ctx->db && ctx->db_why.status == MLAF_OK
             ? MLAF_OK
             : mlaf_fail(err, MLAF_E_DB, "this context has no tuning database: %s", ctx->db_why.text);
}

mlaf_status mlaf_tuning_export(mlaf_ctx *ctx, int all_devices, char **text) {
  mlaf_err err = {MLAF_OK, ""};
  if (!ctx) return MLAF_E_ARG;
  if (!text) return finish(ctx, mlaf_fail(&err, MLAF_E_ARG, "mlaf_tuning_export: text is NULL"), &err);
  mlaf_text out = MLAF_TEXT_INIT(EXPORT_MAX);
  pthread_mutex_lock(&ctx->lock);
  mlaf_status status = need_db(ctx, &err);
  if (status == MLAF_OK)
    status = mlaf_db_export(ctx->db, all_devices ? NULL : mlaf_info(mlaf_ctx_device(ctx))->id, &out, &err);
  pthread_mutex_unlock(&ctx->lock);
  if (status == MLAF_OK) *text = mlaf_text_take(&out);
  else mlaf_text_free(&out);
  return finish(ctx, status, &err);
}

void mlaf_tuning_text_free(char *text) { free(text); }

mlaf_status mlaf_tuning_import(mlaf_ctx *ctx, const char *text, size_t *n_choices) {
  mlaf_err err = {MLAF_OK, ""};
  if (!ctx) return MLAF_E_ARG;
  if (!text) return finish(ctx, mlaf_fail(&err, MLAF_E_ARG, "mlaf_tuning_import: text is NULL"), &err);
  pthread_mutex_lock(&ctx->lock);
  mlaf_status status = need_db(ctx, &err);
  if (status == MLAF_OK) status = mlaf_db_import(ctx->db, text, n_choices, &err);
  pthread_mutex_unlock(&ctx->lock);
  if (status == MLAF_OK) mlaf_plan_forget(ctx);
  return finish(ctx, status, &err);
}
