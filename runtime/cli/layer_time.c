/* How long a layer takes, as one sequence of launches and stage by stage, beside the least that each must take. */
#include <math.h>
#include <stdlib.h>

#include "check/bench.h"
#include "cli/layer.h"

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
  o.cancel = r->c->cancel;
  return o;
}

mlaf_status layer_time_recorded(layer_rig *r, mlaf_record *record, mlaf_timing *out) {
  const mlaf_time_opts opts = time_opts(r);
  const size_t n = record->n / (size_t)r->sets;
  int lock = -1;
  mlaf_record_end(record);
  if (!n || record->n % (size_t)r->sets)
    return mlaf_fail(&r->c->err, MLAF_E_INTERNAL, "%zu launches of %d sets were recorded", record->n, r->sets);
  mlaf_status st = mlaf_tuner_lock(r->dev, &r->c->log, r->c->cancel, 0, &lock, &r->c->err);
  if (!st) st = mlaf_ops(r->dev)->time(r->dev, record->list, n, &opts, out, &r->c->err);
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
  if (st) layer_failed(r->c, st);
  else st = layer_time_recorded(r, &record, out);
  mlaf_record_free(&record);
  return st;
}

mlaf_status layer_ceilings(cli *c, mlaf_ceilings *out) {
  mlaf_gen *gen = NULL;
  mlaf_pool *pool = NULL;
  mlaf_device *dev = mlaf_ctx_device(c->ctx);
  const bool modelled = mlaf_ops(dev)->features & MLAF_DEVICE_MODELLED;
  mlaf_time_opts time = modelled ? mlaf_bench_time_opts() : mlaf_bench_rested_opts();
  time.cancel = c->cancel;
  pthread_mutex_lock(&c->ctx->lock);
  mlaf_status st = mlaf_ctx_gen(c->ctx, &gen, &c->err);
  if (!st) st = mlaf_pool_create(dev, mlaf_cli_seed(c), &pool, &c->err);
  const mlaf_ceilings_env env = {.device = dev, .gen = gen, .compiler = c->ctx->compiler, .target = mlaf_ctx_target(c->ctx),
                                 .pool = pool};
  if (!st) st = mlaf_ceilings_measure(&env, &time, out, &c->err);
  mlaf_pool_free(pool);
  pthread_mutex_unlock(&c->ctx->lock);
  return st;
}

/* --- the profile --- */

/* Of a stage that launches something (mlaforge/layer.h: its bytes are not 0). */
static bool has_launches(const layer_part *p) { return p->stage.bytes > 0; }

static mlaf_status look_at(layer_rig *r, size_t i, const mlaf_ceilings *ceilings, layer_part *p) {
  mlaf_timing alone, before = {.ns = 0}, with;
  p->stage = (mlaf_layer_stage)MLAF_LAYER_STAGE_INIT;
  mlaf_status st = layer_failed(r->c, mlaf_layer_stage_at(r->layer[0], i, &r->call[0].args, &p->stage));
  if (!st && !has_launches(p)) return MLAF_OK;
  /* In its place: the stages up to it less those before it, so that what it reads is as cold as in a layer. */
  if (!st) st = layer_time(r, i, 1, &alone);
  if (!st && i && !r->modelled) st = layer_time(r, 0, i, &before);
  if (!st && !r->modelled) st = layer_time(r, 0, i + 1, &with);
  if (st) return st;
  p->alone_ns = alone.ns;
  p->ns = r->modelled ? alone.ns : with.ns - before.ns;
  p->floor_ns = mlaf_ceilings_ns(ceilings, p->stage.bytes, p->stage.flops, &p->compute_bound);
  return MLAF_OK;
}

static void print_part(const layer_rig *r, cli_table *t, const layer_part *p, double sum) {
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  mlaf_plan_query(p->stage.plan, &info);
  if (!t) {
    cJSON *e = mlaf_cli_event("layer_stage");
    cJSON_AddStringToObject(e, "stage", p->stage.name);
    cJSON_AddStringToObject(e, "source", r->modelled ? "modelled" : "measured");
    cJSON_AddNumberToObject(e, "ns", p->ns);
    cJSON_AddNumberToObject(e, "alone_ns", p->alone_ns);
    cJSON_AddNumberToObject(e, "floor_ns", p->floor_ns);
    cJSON_AddNumberToObject(e, "share", p->ns / sum);
    cJSON_AddNumberToObject(e, "bytes", p->stage.bytes);
    cJSON_AddNumberToObject(e, "flops", p->stage.flops);
    cJSON_AddStringToObject(e, "problem", info.problem);
    cJSON_AddStringToObject(e, "variant", info.variant);
    cJSON_AddStringToObject(e, "rung", info.rung);
    mlaf_cli_emit(e);
    return;
  }
  mlaf_cli_table_cell(t, "%s", p->stage.name);
  mlaf_cli_table_cell(t, "%.2f", p->ns / 1000);
  mlaf_cli_table_cell(t, "%.2f", p->alone_ns / 1000);
  mlaf_cli_table_cell(t, "%.2f%s", p->floor_ns / 1000, p->compute_bound ? " C" : "");
  mlaf_cli_table_cell(t, "%.2f", p->ns / p->floor_ns);
  mlaf_cli_table_cell(t, "%.0f %%", 100 * p->ns / sum);
  mlaf_cli_table_cell(t, "%.2f", p->stage.bytes / 1e6);
  mlaf_cli_table_cell(t, "%s", info.rung);
  mlaf_cli_table_cell(t, "%s", info.variant);
}

static void print_sum(const layer_rig *r, const mlaf_timing *whole, double sum, double floors) {
  const char *source = r->modelled ? "modelled" : "measured";
  if (r->c->json) {
    cJSON *e = mlaf_cli_event("layer");
    cJSON_AddStringToObject(e, "source", source);
    cJSON_AddNumberToObject(e, "ns", whole->ns);
    cJSON_AddNumberToObject(e, "sum_ns", sum);
    cJSON_AddNumberToObject(e, "floor_ns", floors);
    mlaf_cli_emit(e);
    return;
  }
  printf("sum of stages %.2f us, of floors %.2f us; the layer as one sequence %.2f us (%.2f x the floors), %s", sum / 1000,
         floors / 1000, whole->ns / 1000, whole->ns / floors, source);
  if (!r->modelled) printf(", %d sets of weights and pages in turn, MAD %.2f us", r->sets, whole->mad_ns / 1000);
  printf("\n");
}

int layer_profile(layer_rig *r, const mlaf_ceilings *ceilings) {
  static const char *const columns[] = {"stage", ">us", ">alone", ">floor", ">x", ">share", ">MB", "rung", "variant", NULL};
  layer_part parts[16];
  mlaf_timing whole = {.ns = 0};
  const size_t all = mlaf_layer_stages(r->layer[0]);
  size_t n = 0;
  double sum = 0, floors = 0;
  mlaf_status st = all <= sizeof parts / sizeof *parts ? MLAF_OK : mlaf_fail(&r->c->err, MLAF_E_INTERNAL, "%zu stages", all);
  for (size_t i = 0; !st && i < all; i++) {
    st = look_at(r, i, ceilings, &parts[n]);
    if (st || !has_launches(&parts[n])) continue;
    sum += parts[n].ns, floors += parts[n].floor_ns;
    n++;
  }
  if (!st) st = layer_time(r, 0, 0, &whole);
  if (st) return mlaf_cli_fail(r->c);
  cli_table *t = r->c->json ? NULL : mlaf_cli_table_new(columns);
  for (size_t i = 0; i < n; i++) print_part(r, t, &parts[i], sum);
  if (t) mlaf_cli_table_end(t);
  print_sum(r, &whole, sum, floors);
  if (r->c->given[O_OUT]) st = layer_page(r, parts, n, &whole, r->c->given[O_OUT]);
  return st ? mlaf_cli_fail(r->c) : CLI_OK;
}
