/* Time of a layer, as one sequence of launches and stage by stage, beside the least that each must take. */
#include "check/bench.h"
#include "rig/rig.h"
#include "tune/tune.h"

/* Weights alone; a cache of many tokens is larger still. */
static double bytes_of(const layer_setup *s) {
  const mlaf_model *m = s->model;
  const double heads = (double)m->heads / s->tp, from = m->q_lora_rank ? m->q_lora_rank : m->hidden;
  const double elements = (double)m->hidden * (m->q_lora_rank + m->rank + m->rope) + heads * (m->qk_nope + m->rope) * from +
                          heads * (m->qk_nope + m->v_head) * m->rank + heads * m->v_head * m->hidden;
  return elements * (s->encoding ? 1 : 2);
}

int layer_sets_wanted(const mlaf_device *dev, const layer_setup *s, bool by_stage) {
  const double caches = 5.0 * (double)mlaf_info(dev)->l2_bytes; /* what lies in 5 of them is surely gone */
  int sets = by_stage ? LAYER_SETS : 1; /* the first stages alone have a fraction of the weights */
  if (mlaf_ops(dev)->features & MLAF_DEVICE_MODELLED) return 1;
  while (sets < LAYER_SETS && sets * bytes_of(s) < caches) sets *= 2;
  return sets;
}

static mlaf_time_opts time_opts(const layer_rig *r) {
  mlaf_time_opts o = r->modelled ? mlaf_bench_time_opts() : mlaf_bench_rested_opts();
  o.sets = r->sets;
  o.cancel = r->env->cancel;
  return o;
}

mlaf_status layer_time_recorded(layer_rig *r, mlaf_record *record, mlaf_timing *out) {
  const mlaf_time_opts opts = time_opts(r);
  const size_t n = record->n / (size_t)r->sets;
  int lock = -1;
  mlaf_record_end(record);
  if (!n || record->n % (size_t)r->sets)
    return mlaf_fail(r->env->err, MLAF_E_INTERNAL, "%zu launches of %d sets were recorded", record->n, r->sets);
  mlaf_status st = mlaf_tuner_lock(r->dev, &r->env->log, r->env->cancel, 0, &lock, r->env->err);
  if (!st) st = mlaf_ops(r->dev)->time(r->dev, record->list, n, &opts, out, r->env->err);
  mlaf_tuner_unlock(lock);
  return st;
}

mlaf_status layer_time(layer_rig *r, size_t first, size_t n, mlaf_timing *out) {
  mlaf_record record = {.n = 0};
  mlaf_status st = MLAF_OK;
  mlaf_record_begin(r->dev, &record);
  for (int i = 0; !st && i < r->sets; i++) {
    const mlaf_layer *layer = r->layer[i];
    if (!n) st = mlaf_layer_execute(layer, &r->call[i].args, NULL);
    for (size_t k = first; !st && k < first + n; k++) st = mlaf_layer_execute_stage(layer, k, &r->call[i].args, NULL);
  }
  mlaf_record_end(&record);
  if (st) layer_failed(r->env, st);
  else st = layer_time_recorded(r, &record, out);
  mlaf_record_free(&record);
  return st;
}

mlaf_status layer_ceilings(rig_env *env, mlaf_ceilings *out) {
  mlaf_gen *gen = NULL;
  mlaf_pool *pool = NULL;
  mlaf_device *dev = mlaf_ctx_device(env->ctx);
  const bool modelled = mlaf_ops(dev)->features & MLAF_DEVICE_MODELLED;
  mlaf_time_opts time = modelled ? mlaf_bench_time_opts() : mlaf_bench_rested_opts();
  time.cancel = env->cancel;
  pthread_mutex_lock(&env->ctx->lock);
  mlaf_status st = mlaf_ctx_gen(env->ctx, &gen, env->err);
  if (!st) st = mlaf_pool_create(dev, env->seed, &pool, env->err);
  const mlaf_ceilings_env with = {.device = dev, .gen = gen, .compiler = env->ctx->compiler, .target = mlaf_ctx_target(env->ctx),
                                 .pool = pool};
  if (!st) st = mlaf_ceilings_measure(&with, &time, out, env->err);
  mlaf_pool_free(pool);
  pthread_mutex_unlock(&env->ctx->lock);
  return st;
}

/* --- stage by stage --- */

mlaf_status layer_look_at(layer_rig *r, size_t i, const mlaf_ceilings *ceilings, layer_part *p) {
  mlaf_timing alone, before = {.ns = 0}, with;
  p->stage = (mlaf_layer_stage)MLAF_LAYER_STAGE_INIT;
  mlaf_status st = layer_failed(r->env, mlaf_layer_stage_at(r->layer[0], i, &r->call[0].args, &p->stage));
  if (!st && !layer_part_launches(p)) return MLAF_OK;
  /* A stage's time in its place: the stages up to it less those before it, so that its inputs are as cold as in a layer. */
  if (!st) st = layer_time(r, i, 1, &alone);
  if (!st && i && !r->modelled) st = layer_time(r, 0, i, &before);
  if (!st && !r->modelled) st = layer_time(r, 0, i + 1, &with);
  if (st) return st;
  p->alone_ns = alone.ns;
  p->ns = r->modelled ? alone.ns : with.ns - before.ns;
  p->floor_ns = mlaf_ceilings_ns(ceilings, p->stage.bytes, p->stage.flops, &p->compute_bound);
  return MLAF_OK;
}
