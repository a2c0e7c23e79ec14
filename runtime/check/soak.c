/* A soak: buffers, the first launches, and phases of launches under changing company. */
#include "check/soak.h"

#include <time.h>

#include "check/soak_internal.h"

enum { SETS_MOST = 1024, L2_TIMES = 50, LLC_TIMES = 8, READ_BLOCKS_PER_CU = 1, POISON = 0x5a, LINE = 256 };
#define FIRST_BYTES ((int64_t)4 << 30) /* of first outputs at most: fewer sets of large outputs */
#define DEPTH_BYTES ((int64_t)1 << 30) /* of a stream's outputs */
#define READ_BYTES  ((int64_t)64 << 20) /* of the pool that one launch of the reader goes through */
#define READ_LEAST  16                  /* a read's bytes: where the data has no pool there is nothing to read */
#define PHASE_S     0.1                 /* so long a phase lasts at most, and so long a stop may take */

/* The company that launches have. In a burst they stand one behind the other and only then are the outputs compared, so that
 * they overlap as a server's do; without, each is compared before the next. */
typedef struct phase {
  int lanes;
  bool burst, traffic;
  int launches;   /* at most; 0: as many as fit a phase */
  double rest_s;  /* before each launch, with the device idle */
} phase;
static const phase phases[] = {
    {.lanes = 1, .burst = true},                  /* back to back */
    {.lanes = 2, .burst = true},                  /* beside the same work on another stream */
    {.lanes = 1, .burst = false},                 /* one by one, behind the comparing kernel */
    {.lanes = 1, .burst = true, .traffic = true}, /* while another stream reads memory */
    {.lanes = 2, .burst = true, .traffic = true}, /* both */
    {.lanes = 1, .launches = 8, .rest_s = 1e-3},  /* from an idle device */
};

static bool is_cancelled(const soak *s) { return s->opts->cancel && atomic_load(s->opts->cancel); }
static bool is_modelled(const soak *s) { return mlaf_ops(s->dev)->features & MLAF_DEVICE_MODELLED; }

/* --- buffers --- */
static mlaf_status measure_outputs(soak *s, mlaf_err *err) {
  for (int i = 0; i < s->data->n_outputs; i++) {
    const mlaf_data_output *o = &s->data->outputs[i];
    const size_t bytes = o->rows * o->row_bytes;
    if (!bytes || o->row_bytes % sizeof(uint32_t) || o->rows > UINT32_MAX)
      return mlaf_fail(err, MLAF_E_INTERNAL, "output %s has %zu rows of %zu bytes", o->name, o->rows, o->row_bytes);
    s->pitch[i] = (bytes + LINE - 1) / LINE * LINE;
    s->output_bytes += s->pitch[i];
    if (o->row_bytes > s->row_bytes) s->row_bytes = o->row_bytes;
    s->out->rows += (int64_t)o->rows;
  }
  return MLAF_OK;
}

static mlaf_status open_bench(soak *s, const mlaf_loaded *l, mlaf_err *err) {
  const mlaf_device_info *info = mlaf_info(s->dev);
  const int64_t by_l2 = L2_TIMES * info->l2_bytes, by_llc = LLC_TIMES * info->llc_bytes;
  mlaf_bench_opts o = {.data = {.seed = s->opts->seed, .lengths = s->opts->lengths, .spread_sets = SETS_MOST,
                                .bound = mlaf_loaded_bound(l), .cancel = s->opts->cancel},
                       .pool = s->opts->pool};
  int64_t *bytes = &o.data.spread_bytes;
  *bytes = s->opts->pool_bytes ? s->opts->pool_bytes : is_modelled(s) ? 1 : by_l2 > by_llc ? by_l2 : by_llc;
  if (*bytes < 1) *bytes = 1; /* a device that does not tell its caches: two sets */
  mlaf_status st = mlaf_bench_create(s->dev, mlaf_loaded_problem(l), &o, &s->bench, err);
  if (st) return st;
  s->calls = s->bench->calls;
  s->data = s->bench->data;
  st = measure_outputs(s, err);
  if (st) return st;
  const int64_t fit = FIRST_BYTES / (int64_t)s->output_bytes, most = fit < 2 ? 2 : fit;
  s->sets = s->data->sets > most ? (int)most : s->data->sets;
  s->out->sets = s->sets;
  s->out->pool_bytes = s->data->pool_bytes;
  return MLAF_OK;
}

/* Fills outputs so that words which a launch does not write differ from the expected ones: another byte than the first outputs
 * are filled with. */
static mlaf_status alloc_outputs(soak *s, size_t n, int fill, soak_outputs *out, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(s->dev);
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < s->data->n_outputs; i++) {
    st = ops->mem_alloc(s->dev, n * s->pitch[i], (void **)&out->at[i], err);
    if (!st) st = ops->mem_fill(s->dev, out->at[i], fill, n * s->pitch[i], err);
  }
  return st;
}

static mlaf_status open_lane(soak *s, soak_lane *lane, const soak_side *side, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(s->dev);
  mlaf_status st = MLAF_OK;
  lane->side = side;
  lane->workspace_size = mlaf_bench_workspace(s->bench, side->l, mlaf_loaded_knob(side->l));
  if (ops->stream_create) st = ops->stream_create(s->dev, &lane->stream, err);
  if (!st && lane->workspace_size) st = ops->mem_alloc(s->dev, lane->workspace_size, &lane->workspace, err);
  return st ? st : alloc_outputs(s, (size_t)s->depth, POISON, &lane->out, err);
}

static mlaf_status open_reader(soak *s, const mlaf_tool_env *env, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(s->dev);
  if (!env->gen || is_modelled(s) || !ops->stream_create || s->data->pool_bytes < READ_LEAST) return MLAF_OK; /* no company */
  mlaf_status st = mlaf_tool_open(env, "read_ceiling", MLAF_READ_PARAMS, &s->reader, err);
  if (!st) st = ops->stream_create(s->dev, &s->read_stream, err);
  if (!st) st = ops->mem_alloc(s->dev, sizeof(uint32_t), &s->read_out, err);
  s->out->traffic = !st;
  return st;
}

static mlaf_status open_all(soak *s, const mlaf_tool_env *env, const mlaf_loaded *l, mlaf_err *err) {
  const mlaf_loaded *both[] = {l, s->opts->beside};
  mlaf_status st = open_bench(s, l, err);
  s->n_sides = both[1] ? 2 : 1;
  for (int i = 0; !st && i < s->n_sides; i++) {
    s->sides[i].l = both[i];
    st = alloc_outputs(s, (size_t)s->sets, 0xff, &s->sides[i].first, err);
  }
  if (st) return st;
  const int64_t fit = DEPTH_BYTES / (int64_t)s->output_bytes;
  s->depth = is_modelled(s) ? 2 : fit < 1 ? 1 : fit > SOAK_DEPTH ? SOAK_DEPTH : (int)fit;
  /* Launch n takes set n % sets and output n % depth: what it finds there must be of another set, lest a row that it does not
   * write looks right. */
  if (s->depth > 1 && s->depth % s->sets == 0) s->depth--;
  for (int i = 0; !st && i < 2; i++) st = open_lane(s, &s->lanes[i], &s->sides[i < s->n_sides ? i : 0], err);
  if (!st) st = soak_compare_open(s, env, err);
  return st ? st : open_reader(s, env, err);
}

static void free_all(const mlaf_device_ops *ops, mlaf_device *dev, void *const *list, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (list[i]) ops->mem_free(dev, list[i], NULL);
}

static void close_all(soak *s) {
  const mlaf_device_ops *ops = mlaf_ops(s->dev);
  for (int i = 0; i < 2; i++) {
    soak_lane *lane = &s->lanes[i];
    if (lane->stream) ops->sync(s->dev, lane->stream, NULL); /* nothing may be in flight where memory goes back */
    if (lane->stream) ops->stream_destroy(s->dev, lane->stream);
  }
  if (s->read_stream) ops->sync(s->dev, s->read_stream, NULL);
  if (s->read_stream) ops->stream_destroy(s->dev, s->read_stream);
  for (int i = 0; i < 2; i++) {
    free_all(ops, s->dev, &s->lanes[i].workspace, 1);
    for (int k = 0; k < MLAF_DATA_OUTPUTS; k++)
      free_all(ops, s->dev, (void *const[]){s->lanes[i].out.at[k], s->sides[i].first.at[k]}, 2);
  }
  free_all(ops, s->dev, &s->read_out, 1);
  if (s->reader.module) mlaf_tool_close(&s->reader);
  soak_compare_close(s);
  mlaf_bench_free(s->bench);
}

/* --- launches --- */
/* Outputs go to place k of `to`. */
static mlaf_status launch(soak *s, const soak_lane *lane, int set, const soak_outputs *to, size_t k, mlaf_err *err) {
  mlaf_any_args args;
  mlaf_bench_args(s->bench, set, lane->workspace, lane->workspace_size, &args);
  for (int i = 0; i < s->data->n_outputs; i++) {
    const char *at = soak_at(s, to, i, k);
    mlaf_args_set(&args, s->data->outputs[i].arg, &at, sizeof at);
  }
  return mlaf_loaded_launch(lane->side->l, mlaf_loaded_knob(lane->side->l), args.bytes, lane->stream, err);
}

/* Alone on the device, one after the other: what all later ones have to give. The fastest tells how long a launch takes. */
static mlaf_status first_launches(soak *s, double *launch_s, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(s->dev);
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < s->n_sides; i++)
    for (int set = 0; !st && set < s->sets; set++) {
      soak_lane *lane = &s->lanes[i];
      const double begin = mlaf_now();
      if (is_cancelled(s)) return mlaf_fail(err, MLAF_E_CANCELLED, "stopped before the first launches were made");
      st = launch(s, lane, set, &lane->side->first, (size_t)set, err);
      if (!st) st = ops->sync(s->dev, lane->stream, err);
      if (st) return mlaf_fail_prefix(err, st, "first launch over set %d of inputs", set);
      const double took = mlaf_now() - begin;
      if (*launch_s == 0 || took < *launch_s) *launch_s = took;
    }
  return st;
}

/* Another part of the pool each time. */
static mlaf_status read_memory(soak *s, mlaf_err *err) {
  const int64_t pool = s->out->pool_bytes / READ_LEAST * READ_LEAST, bytes = pool < READ_BYTES ? pool : READ_BYTES;
  if (s->read_at + bytes > pool) s->read_at = 0;
  const char *from = s->data->pool ? s->data->pool : mlaf_pool_data(s->bench->pool);
  mlaf_read_args args = {.words = from + s->read_at, .n = (uint64_t)bytes / 16, .out = s->read_out,
                         .never = MLAF_READ_NEVER, .passes = 1};
  args.blocks = (uint32_t)(READ_BLOCKS_PER_CU * mlaf_info(s->dev)->compute_units);
  s->read_at += bytes;
  const mlaf_launch l = {.fn = s->reader.fn, .grid = {args.blocks, 1, 1}, .block = {MLAF_READ_THREADS, 1, 1}, .args = &args,
                         .args_size = sizeof args};
  return mlaf_ops(s->dev)->launch(s->dev, s->read_stream, &l, err);
}

/* `n` launches of a lane one behind the other, then their comparisons. They are numbers i, i + 1, ... of the phase. */
static mlaf_status run_burst(soak *s, int which, int i, int n, bool traffic, mlaf_err *err) {
  soak_lane *lane = &s->lanes[which];
  const int64_t begin = lane->n;
  mlaf_status st = MLAF_OK;
  for (int k = 0; !st && k < n; k++, lane->n++) {
    const size_t slot = (size_t)(lane->n % s->depth);
    const int set = (int)((lane->n + (which ? s->sets / 2 : 0)) % s->sets);
    s->launches[i + k] = (soak_launch){which, set};
    if (traffic) st = read_memory(s, err);
    if (!st) st = launch(s, lane, set, &lane->out, slot, err);
  }
  for (int k = 0; !st && k < n; k++) st = soak_compare_one(s, i + k, (int)((begin + k) % s->depth), err);
  return st;
}

static mlaf_status sync_all(soak *s, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(s->dev);
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < 2; i++) st = ops->sync(s->dev, s->lanes[i].stream, err);
  if (!st && s->read_stream) st = ops->sync(s->dev, s->read_stream, err);
  return st;
}

static void rest(double seconds) { nanosleep(&(struct timespec){0, (long)(seconds * 1e9)}, NULL); }

static mlaf_status run_phase(soak *s, const phase *ph, mlaf_err *err) {
  const int64_t left = s->opts->launches - s->out->launches, base = s->out->launches;
  const bool traffic = ph->traffic && s->out->traffic;
  int n = ph->launches && ph->launches < s->per_phase ? ph->launches : s->per_phase, done = 0;
  if (n < ph->lanes) n = ph->lanes;
  if (n > left) n = (int)left;
  const int share = (n + ph->lanes - 1) / ph->lanes, most = share < s->depth ? share : s->depth; /* no lane stays without any */
  mlaf_status st = soak_compare_reset(s, err);
  while (!st && done < n && !is_cancelled(s))
    for (int lane = 0; !st && lane < ph->lanes && done < n; lane++) {
      const int burst = !ph->burst ? 1 : n - done < most ? n - done : most;
      if (ph->rest_s > 0) st = sync_all(s, err);
      if (!st && ph->rest_s > 0) rest(ph->rest_s);
      if (!st) st = run_burst(s, lane, done, burst, traffic, err);
      if (!st) done += burst;
      if (!st && lane == 1) s->out->beside += burst;
    }
  if (!st) st = sync_all(s, err);
  if (!st) st = soak_compare_read(s, done, base, err);
  if (st) return mlaf_fail_prefix(err, st, "after %lld launches, among the next %d", (long long)base, n);
  s->out->launches += done;
  return MLAF_OK;
}

static mlaf_status run_phases(soak *s, double launch_s, mlaf_err *err) {
  const size_t n = is_modelled(s) ? 1 : sizeof phases / sizeof *phases;
  const double begin = mlaf_now();
  double told = begin;
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && s->out->launches < s->opts->launches && !is_cancelled(s); i = (i + 1) % n) {
    const double fit = PHASE_S / fmax(launch_s, 1e-9);
    s->per_phase = is_modelled(s) || fit < 1 ? 1 : fit > SOAK_PHASE ? SOAK_PHASE : (int)fit;
    st = run_phase(s, &phases[i], err);
    s->out->seconds = mlaf_now() - begin;
    if (s->opts->progress && mlaf_now() - told > 0.1) {
      told = mlaf_now();
      s->opts->progress(s->opts->user, s->out->launches, s->out->wrong);
    }
  }
  s->out->stopped = s->out->launches < s->opts->launches;
  return st;
}

static mlaf_status say_wrong(soak *s, mlaf_err *err) {
  const mlaf_soak_result *r = s->out;
  const mlaf_soak_row *f = &r->first;
  const double bound = 2 * s->calls->bound(&s->bench->problem); /* of a row */
  const char *who = f->first_error > bound && f->error <= bound ? "; the first launch is the wrong one" : "";
  mlaf_snprintf(s->out->detail, sizeof s->out->detail,
    "variant %s: %lld of %lld launches differ from the first launch of the same inputs, %lld rows in all; first in launch "
    "%lld (stream %d, set %d of inputs): %s, %d of %d words, error against fp64 %.3g (first launch: %.3g)%s",
    mlaf_loaded_name(s->lanes[f->stream].side->l), (long long)r->wrong, (long long)r->launches, (long long)r->wrong_rows,
    (long long)f->launch, f->stream, f->set, f->where, f->words, f->of, f->error, f->first_error, who);
  return mlaf_fail(err, MLAF_E_INCORRECT, "%s", s->out->detail);
}

static mlaf_status check_args(const mlaf_loaded *l, const mlaf_soak_opts *o, mlaf_err *err) {
  const mlaf_point *p = mlaf_loaded_problem(l), *q = o->beside ? mlaf_loaded_problem(o->beside) : p;
  if (o->launches < 1) return mlaf_fail(err, MLAF_E_ARG, "a soak of %lld launches", (long long)o->launches);
  if (memcmp(p, q, sizeof *p) || (o->beside && mlaf_loaded_device(o->beside) != mlaf_loaded_device(l)))
    return mlaf_fail(err, MLAF_E_ARG, "the variant beside is of another problem or device");
  return MLAF_OK;
}

mlaf_status mlaf_soak_run(const mlaf_tool_env *env, const mlaf_loaded *l, const mlaf_soak_opts *opts, mlaf_soak_result *out,
                          mlaf_err *err) {
  double launch_s = 0;
  *out = (mlaf_soak_result){.launches = 0};
  mlaf_status st = check_args(l, opts, err);
  if (st) return st;
  soak *s = calloc(1, sizeof *s);
  if (!s) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a soak");
  s->opts = opts;
  s->out = out;
  s->dev = mlaf_loaded_device(l);
  st = open_all(s, env, l, err);
  if (!st) st = first_launches(s, &launch_s, err);
  if (!st && opts->progress) opts->progress(opts->user, 0, 0);
  for (int i = 0; !st && i < s->n_sides; i++) st = soak_check_first(s, &s->sides[i], err);
  if (!st && opts->progress) opts->progress(opts->user, 0, 0);
  if (!st) st = run_phases(s, launch_s, err);
  if (!st && out->wrong) st = say_wrong(s, err);
  close_all(s);
  free(s);
  return st;
}
