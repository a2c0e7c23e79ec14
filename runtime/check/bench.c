/* Timing on an operation's data. */
#include "check/bench_internal.h"

mlaf_time_opts mlaf_bench_time_opts(void) {
  return (mlaf_time_opts){
      .warmup = 3, .min_samples = 11, .max_samples = 51, .min_window_ns = 1e6, .limit_s = 2.0, .give_up_ns = 0};
}

mlaf_time_opts mlaf_bench_rested_opts(void) {
  return (mlaf_time_opts){.warmup = 1,
                          .min_samples = 7,
                          .max_samples = 40,
                          .min_window_ns = 2e4, /* a sample goes through all sets; its events resolve half a microsecond */
                          .limit_s = 0.025,
                          .idle_s = 0.1};
}

mlaf_work mlaf_problem_work(const mlaf_point *p) { return p->op->calls->work(p); }
const mlaf_data *mlaf_bench_data(const mlaf_bench *b) { return b->data; }

mlaf_status mlaf_bench_create(mlaf_device *dev, const mlaf_point *p, const mlaf_bench_opts *opts, mlaf_bench **out,
                              mlaf_err *err) {
  static const mlaf_bench_opts defaults = {.data = {.seed = 1}};
  const mlaf_bench_opts *o = opts ? opts : &defaults;
  mlaf_bench *b = calloc(1, sizeof *b);
  if (!b) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a bench");
  *b = (mlaf_bench){.dev = dev, .problem = *p, .calls = p->op->calls, .pool = o->pool};
  mlaf_status st = MLAF_OK;
  if (b->calls->args_size > MLAF_ARGS_MAX)
    st = mlaf_fail(err, MLAF_E_INTERNAL, "operation %s has %zu bytes of arguments", p->op->name, b->calls->args_size);
  if (!st && !b->pool) st = mlaf_pool_create(dev, o->data.seed, &b->own_pool, err);
  if (!b->pool) b->pool = b->own_pool;
  if (!st) st = b->calls->data_open(dev, p, &o->data, b->pool, &b->data, err);
  if (st) {
    mlaf_bench_free(b);
    return mlaf_fail_prefix(err, st, "timing buffers");
  }
  *out = b;
  return MLAF_OK;
}

static void drop_workspace(mlaf_bench *b) {
  if (b->workspace) mlaf_ops(b->dev)->mem_free(b->dev, b->workspace, NULL);
  b->workspace = NULL;
  b->workspace_size = 0;
}

void mlaf_bench_free(mlaf_bench *b) {
  if (!b) return;
  drop_workspace(b);
  if (b->data) b->calls->data_close(b->data);
  mlaf_pool_free(b->own_pool);
  free(b);
}

static mlaf_status grow_workspace(mlaf_bench *b, size_t need, mlaf_err *err) {
  if (need <= b->workspace_size) return MLAF_OK;
  drop_workspace(b);
  mlaf_status st = mlaf_ops(b->dev)->mem_alloc(b->dev, need, &b->workspace, err);
  if (!st) b->workspace_size = need;
  return st;
}

static mlaf_status prepare_set(mlaf_bench *b, const mlaf_loaded *l, uint32_t knob, int set, mlaf_prepared *out, mlaf_err *err) {
  mlaf_any_args args;
  mlaf_bench_args(b, set, b->workspace, b->workspace_size, &args);
  mlaf_status st = mlaf_loaded_check(l, knob, args.bytes, err);
  return st ? st : mlaf_loaded_prepare(l, knob, args.bytes, out, err);
}

mlaf_status mlaf_bench_prepare(mlaf_bench *b, const mlaf_loaded *l, uint32_t knob, mlaf_prepared *out, mlaf_err *err) {
  if (mlaf_loaded_device(l) != b->dev) return mlaf_fail(err, MLAF_E_ARG, "bench and variant are on different devices");
  mlaf_status st = grow_workspace(b, mlaf_bench_workspace(b, l, knob), err);
  return st ? st : prepare_set(b, l, knob, 0, out, err);
}

/* All sets' launches, one sequence behind the other. */
static mlaf_status prepare_sets(mlaf_bench *b, const mlaf_loaded *l, mlaf_prepared *prepared, mlaf_launch *launches,
                                mlaf_err *err) {
  mlaf_status st = mlaf_bench_prepare(b, l, mlaf_loaded_knob(l), prepared, err);
  for (int s = 1; !st && s < b->data->sets; s++) st = prepare_set(b, l, mlaf_loaded_knob(l), s, &prepared[s], err);
  for (int s = 0; !st && s < b->data->sets; s++)
    memcpy(launches + (size_t)s * prepared->n, prepared[s].launches, prepared->n * sizeof *launches);
  return st;
}

mlaf_status mlaf_bench_time(mlaf_bench *b, const mlaf_loaded *l, const mlaf_time_opts *time, mlaf_timing *out,
                            mlaf_err *err) {
  mlaf_time_opts opts = time ? *time : mlaf_bench_time_opts();
  mlaf_timing timing = {0};
  const size_t sets = (size_t)b->data->sets;
  mlaf_prepared *prepared = aligned_alloc(_Alignof(mlaf_prepared), sets * sizeof *prepared);
  mlaf_launch *launches = malloc(sets * sizeof prepared->launches);
  opts.sets = b->data->sets;
  opts.uneven |= b->data->uneven;
  mlaf_status st = prepared && launches ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu launches", sets);
  if (!st) st = prepare_sets(b, l, prepared, launches, err);
  if (!st) st = mlaf_ops(b->dev)->time(b->dev, launches, prepared->n, &opts, &timing, err);
  free(launches);
  free(prepared);
  if (!st) *out = timing;
  return st;
}
