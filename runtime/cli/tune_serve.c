/* `mlaforge tune --serve`: everything that a server of some models runs, on several devices at once. Each device has threads with
 * contexts of their own: while one times, which takes the device alone, another waits for its compiler. All take from one queue,
 * problems first and layers behind them, since a layer is timed with the kernels that its problems chose. Then choices are
 * soaked, and a page and a tuning text are written. */
#include <ctype.h>
#include <unistd.h>

#include "cli/tune.h"
#include "mlaf_thresholds.h"
#include "rig/tune.h"

enum { DEVICES_MOST = 64, THREADS = 3 /* of a device */, WORKERS_MOST = DEVICES_MOST * THREADS };
enum { DEVICE_NAME = 80, CHECKED = 4 /* outputs of a layer's trial that are compared */ };
#define SERVE_LENGTHS "uniform" /* of attention's requests, without --lengths */
static const double stop_s = 10; /* for threads that end a step, and for the page */
static const double layer_emulated_s = 10; /* CPU seconds for a layer's choices, about what runs have taken */

typedef struct serve serve;

/* One device and its thread. */
typedef struct worker {
  serve *s;
  cli me; /* of the thread; the command's own is me.of */
  char device[DEVICE_NAME];
  pthread_t thread;
  bool started;
  campaign g;
  layer_weights weights;
  layer_request *requests;
  int code; /* of its soak */
} worker;

struct serve {
  cli *c;
  serve_work work;
  mlaf_lengths lengths;
  worker *workers;
  size_t n_devices, n_workers, n; /* n: problems and layers */
  double *seconds;                /* of each, estimated */
  char id[160], name[128];
  double start, limit_s;
  pthread_mutex_t lock; /* guards what follows */
  pthread_cond_t changed;
  size_t next, done, layers, without;
  double behind, all; /* estimated seconds of what is finished, of all */
  mlaf_learned *learned;
  mlaf_guesses guesses, by_default; /* of problems by the model; of layers by what they do where nothing is stored */
  mlaf_status status;
  mlaf_err err;
};

/* --- devices --- */

static mlaf_status add_device(serve *s, const char *name) {
  if (s->n_workers == DEVICES_MOST) return mlaf_fail(&s->c->err, MLAF_E_ARG, "--device names more than %d devices", DEVICES_MOST);
  worker *w = &s->workers[s->n_workers++];
  snprintf(w->device, sizeof w->device, "%s", name);
  return MLAF_OK;
}

/* Every GPU of a back end that is like the first that opens. An ordinal that is not there ends them; a GPU that does not open (it
 * is another process' alone, it fell off the bus) does not hide those behind it. */
static mlaf_status all_alike(serve *s, const mlaf_device_ops *ops) {
  char name[DEVICE_NAME];
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < DEVICES_MOST; i++) {
    mlaf_device *dev = NULL;
    mlaf_err why = {MLAF_OK, ""};
    snprintf(name, sizeof name, "%.60s:%d", ops->name, i);
    const mlaf_status opened = ops->open(i, &s->c->log, &dev, &why);
    if (opened == MLAF_E_NO_DEVICE) break;
    if (opened) {
      mlaf_log_line(&s->c->log, MLAF_LOG_WARN, "left out: %s does not open: %s", name, why.text);
      continue;
    }
    if (!s->n_workers) snprintf(s->id, sizeof s->id, "%s", mlaf_info(dev)->id);
    if (!strcmp(mlaf_info(dev)->id, s->id)) st = add_device(s, name);
    else mlaf_log_line(&s->c->log, MLAF_LOG_WARN, "left out: %s is another kind of device (%s)", name, mlaf_info(dev)->id);
    ops->close(dev);
  }
  return st;
}

/* auto: the GPUs of the first back end that has one, else what a single device would be. */
static mlaf_status all_devices(serve *s) {
  mlaf_device *first = NULL;
  mlaf_status st = MLAF_OK;
  for (const mlaf_device_ops *const *b = mlaf_backends; !st && *b && !s->n_workers; b++)
    if (!((*b)->features & MLAF_DEVICE_MODELLED)) st = all_alike(s, *b);
  if (st || s->n_workers) return st;
  st = mlaf_cli_open_device(s->c, &first);
  if (!st) st = add_device(s, mlaf_ops(first)->name);
  mlaf_device_close(first);
  return st;
}

static mlaf_status list_devices(serve *s) {
  const char *text = s->c->given[O_DEVICE];
  mlaf_status st = MLAF_OK;
  s->workers = calloc(WORKERS_MOST, sizeof *s->workers);
  if (!s->workers) return mlaf_fail(&s->c->err, MLAF_E_NOMEM, "no memory for devices");
  if (!text || !strcmp(text, "auto")) return all_devices(s);
  for (const char *at = text; !st && *at; at += strcspn(at, ","), at += *at == ',') {
    char name[DEVICE_NAME];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
    st = add_device(s, name);
  }
  return st;
}

static double together(void *user, size_t *finished);

/* A worker's context and options. */
static mlaf_status open_worker(serve *s, worker *w) {
  cli *c = s->c;
  w->s = s, w->me = *c, w->me.of = c, w->me.ctx = NULL;
  w->me.given[O_DEVICE] = w->device;
  mlaf_status st = mlaf_cli_tune_options(c, &w->g);
  if (st) return st;
  w->g.c = &w->me, w->g.together = together, w->g.user = s;
  w->g.list = s->work.problems.list, w->g.n = s->n, w->g.workers = s->n_workers;
  s->limit_s = w->g.limit_s;
  st = mlaf_cli_open(&w->me, true);
  if (st) {
    c->err = w->me.err;
    mlaf_cli_close(&w->me); /* it may have a context, which it has locked */
    return st;
  }
  st = mlaf_ctx_gen(w->me.ctx, &w->g.gen, &c->err);
  pthread_mutex_unlock(&w->me.ctx->lock); /* until its thread takes it */
  return st;
}

/* The first worker of each device, one after the other: whatever is missing is said before anything runs. */
static mlaf_status open_all(serve *s) {
  mlaf_status st = MLAF_OK;
  s->n_devices = s->n_workers;
  for (size_t i = 0; !st && i < s->n_devices; i++) {
    st = open_worker(s, &s->workers[i]);
    if (st) break;
    const mlaf_device_info *info = mlaf_info(mlaf_ctx_device(s->workers[i].me.ctx));
    if (i && strcmp(info->id, s->id))
      st = mlaf_fail(&s->c->err, MLAF_E_ARG, "--device names %s and %s, which are of different kinds: tune them one by one",
                     s->id, info->id);
    snprintf(s->id, sizeof s->id, "%s", info->id);
    snprintf(s->name, sizeof s->name, "%s", info->name);
  }
  return st;
}

static void close_worker(worker *w) {
  if (w->me.ctx) pthread_mutex_lock(&w->me.ctx->lock);
  mlaf_cli_close(&w->me);
}

/* One more thread of a device, which does without where there is none. */
static bool add_thread(serve *s, const worker *first) {
  worker *w = &s->workers[s->n_workers];
  memcpy(w->device, first->device, sizeof w->device);
  if (!open_worker(s, w)) return ++s->n_workers;
  mlaf_log_line(&s->c->log, MLAF_LOG_WARN, "%s gets no more threads: %s", w->device, s->c->err.text);
  close_worker(w);
  *w = (worker){.s = NULL};
  return false;
}

/* A device whose times are measured waits while kernels are compiled: it gets more threads, where there are cores and memory for
 * them. */
static void add_threads(serve *s) {
  enum { CORES = 4 /* for each */ };
  static const int64_t memory = INT64_C(64) << 30;
  const mlaf_device_info *info = mlaf_info(mlaf_ctx_device(s->workers[0].me.ctx));
  const long cores = mlaf_cli_int(s->c, O_JOBS, sysconf(_SC_NPROCESSORS_ONLN));
  bool more = !mlaf_emulated(info->id) && info->mem_bytes >= memory;
  for (size_t threads = 2; threads <= THREADS && (size_t)cores >= CORES * threads * s->n_devices; threads++)
    for (size_t i = 0; more && i < s->n_devices; i++) more = add_thread(s, &s->workers[i]);
  for (size_t i = 0; i < s->n_workers; i++) s->workers[i].g.workers = s->n_workers;
}

static void close_all(serve *s) {
  for (size_t i = 0; i < s->n_workers; i++) close_worker(&s->workers[i]);
}

/* --- the estimate --- */

/* Candidates that are timed: of a pruned search's, few where times are measured. */
static size_t expected(const serve *s, size_t most) {
  const bool few = s->workers[0].g.opts.strategy == MLAF_STRATEGY_PRUNED && !mlaf_emulated(s->id);
  return few && most > MLAF_TUNE_TRIES ? MLAF_TUNE_TRIES : most;
}

/* Spaces of one shape are much alike: one of each is made. */
static mlaf_status estimate_problem(serve *s, size_t i, size_t *candidates, size_t *kernels) {
  worker *w = &s->workers[0];
  const mlaf_device_info *dev = mlaf_info(mlaf_ctx_device(w->me.ctx));
  mlaf_variant *space = NULL;
  size_t n = 0;
  *candidates = 0;
  mlaf_status st = mlaf_gen_space(w->g.gen, mlaf_point_text(&s->work.problems.list[i]).s, dev->target, &space, &n, &s->c->err);
  for (size_t k = 0; !st && k < n; k++) *candidates += !space[k].rejected;
  const size_t most = mlaf_tuner_limit(&w->g.opts, *candidates, mlaf_emulated(dev->id) != NULL);
  if (*candidates > most) *candidates = most;
  *kernels = st ? 0 : mlaf_cli_distinct(space, n, expected(s, *candidates));
  mlaf_variants_free(space, n);
  return st;
}

static size_t samples_of(serve *s, const mlaf_point *p) {
  worker *w = &s->workers[0];
  mlaf_sample *list = NULL;
  size_t n = 0;
  if (mlaf_db_samples(w->me.ctx->db, mlaf_info(mlaf_ctx_device(w->me.ctx)), p, &list, &n, NULL)) n = 0;
  free(list);
  return n;
}

static void estimate_layers(serve *s) {
  for (size_t i = 0; i < s->work.n_layers; i++)
    if (!samples_of(s, &s->work.layers[i].point))
      s->seconds[s->work.problems.n + i] = (mlaf_emulated(s->id) ? layer_emulated_s : MLAF_TUNE_LAYER_MS / 1e3) /
                                           (double)s->n_devices;
}

/* Wall-clock seconds of each problem and layer, less what the database knows. Devices share the timings, but the host's cores
 * compile, and emulate, for all of them. */
static mlaf_status estimate(serve *s, size_t *tries) {
  const cli_problems *list = &s->work.problems;
  const mlaf_device_info *dev = mlaf_info(mlaf_ctx_device(s->workers[0].me.ctx));
  const double side_by_side = mlaf_emulated(dev->id) ? 1 : (double)s->n_devices;
  size_t candidates = 0, kernels = 0;
  mlaf_status st = MLAF_OK;
  s->seconds = calloc(s->n + 1, sizeof *s->seconds);
  if (!s->seconds) return mlaf_fail(&s->c->err, MLAF_E_NOMEM, "no memory for an estimate");
  for (size_t i = 0; !st && i < list->n; i++) {
    bool seen = false;
    for (size_t k = 0; k < i && !seen; k++) seen = mlaf_point_same_shape(&list->list[k], &list->list[i]);
    if (!seen || !candidates) st = estimate_problem(s, i, &candidates, &kernels);
    const size_t known = s->workers[0].g.opts.no_resume ? 0 : samples_of(s, &list->list[i]);
    const size_t left = candidates > known ? candidates - known : 0;
    const size_t timed = expected(s, candidates) > known ? expected(s, candidates) - known : 0;
    *tries += left;
    s->seconds[i] = mlaf_cli_tune_estimate(s->c, dev, 0, seen ? 0 : kernels) +
                    mlaf_cli_tune_estimate(s->c, dev, timed, 0) / side_by_side;
  }
  estimate_layers(s);
  for (size_t i = 0; i < s->n; i++) s->all += s->seconds[i];
  return st;
}

static mlaf_status say_estimate(serve *s) {
  char time[32];
  size_t tries = 0;
  const mlaf_status st = estimate(s, &tries);
  const double seconds = s->limit_s > 0 && s->all > s->limit_s ? s->limit_s : s->all;
  if (st) return st;
  for (size_t i = 0; i < s->n; i++) /* -v */
    mlaf_log_line(&s->c->log, MLAF_LOG_INFO, "%s",
                  mlaf_point_text(i < s->work.problems.n ? &s->work.problems.list[i]
                                                         : &s->work.layers[i - s->work.problems.n].point).s);
  if (s->c->json) {
    mlaf_cli_print("serve_estimate", NUMBER("problems", s->work.problems.n), NUMBER("layers", s->work.n_layers),
                   NUMBER("devices", s->n_devices), NUMBER("candidates", tries), NUMBER("seconds", seconds));
  } else {
    printf("%zu problems and %zu layers on %zu x %s: at most %zu candidates, about %s\n", s->work.problems.n, s->work.n_layers,
           s->n_devices, s->name, tries, mlaf_cli_in_words(seconds, time));
    fflush(stdout);
  }
  return MLAF_OK;
}

/* --- the queue --- */

/* False: nothing is left for this worker, or the run is to stop. Layers wait for all problems; one at a time has a device and its
 * memory. */
static bool next(worker *w, size_t *i) {
  serve *s = w->s;
  const size_t n = w < s->workers + s->n_devices ? s->n : s->work.problems.n;
  pthread_mutex_lock(&s->lock);
  while (n == s->n && !s->status && s->next == s->work.problems.n && s->done < s->next) pthread_cond_wait(&s->changed, &s->lock);
  const bool over = s->limit_s > 0 && s->next && mlaf_now() - s->start >= s->limit_s;
  const bool more = !s->status && !over && s->next < n;
  if (more) *i = s->next++;
  pthread_mutex_unlock(&s->lock);
  return more;
}

/* Seconds left, as long as the estimate errs as it has so far. */
static double together(void *user, size_t *finished) {
  serve *s = user;
  pthread_mutex_lock(&s->lock);
  *finished = s->done;
  const double slower = s->behind > 0 ? (mlaf_now() - s->start) / s->behind : 1, left = slower * (s->all - s->behind);
  pthread_mutex_unlock(&s->lock);
  return left;
}

static void finished(worker *w, mlaf_status st) {
  serve *s = w->s;
  pthread_mutex_lock(&s->lock);
  s->done += !st;
  s->behind += st ? 0 : s->seconds[w->g.at];
  if (st && !s->status) s->status = st, s->err = w->me.err;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
}

/* --- a layer --- */

static void on_layer(void *user, const char *what, const char *choice) {
  worker *w = user;
  size_t finished;
  char rest[32], time[32];
  const double left = together(w->s, &finished);
  snprintf(rest, sizeof rest, ", ETA %s", mlaf_cli_in_words(left, time));
  mlaf_cli_progress(&w->me, "%zu of %zu finished, %.0f s%s; %s: layer of %d requests, %s %s", finished, w->g.n,
                    mlaf_now() - w->s->start, rest, w->device, w->s->work.layers[w->g.at - w->s->work.problems.n].batch, what,
                    choice);
}

static void layer_row(worker *w, const layer_tuned *t) {
  serve *s = w->s;
  const layer_trial *best = layer_tuned_best(t), *usual = NULL;
  for (size_t i = 0; i < t->n; i++)
    if (t->list[i].usual && !t->list[i].outcome) usual = &t->list[i];
  const bool slower = usual && usual->timing.ns > best->timing.ns; /* else another choice may be as fast */
  const mlaf_guess g = {slower ? usual->timing.ns : best->timing.ns, best->timing.ns, slower ? 2 : 1, t->n, 0};
  pthread_mutex_lock(&s->lock);
  s->layers++;
  mlaf_guesses_add(&s->by_default, &g);
  pthread_mutex_unlock(&s->lock);
  mlaf_cli_progress_end(&w->me);
  if (s->c->json) {
    cJSON *e = mlaf_cli_event("serve_layer");
    mlaf_cli_json(e, TEXT("problem", mlaf_point_text(&t->problem).s), TEXT("choice", t->stored), NUMBER("ns", best->timing.ns));
    if (usual) cJSON_AddNumberToObject(e, "default_ns", usual->timing.ns);
    cJSON_AddBoolToObject(e, "known", t->known);
    mlaf_cli_emit(e);
    return;
  }
  printf("%-60s %10.2f us %-8s %4zu choices%s  %s  default %.3fx\n", mlaf_point_text(&t->problem).s, best->timing.ns / 1e3,
         best->timing.source == MLAF_TIME_MODELLED ? "modelled" : "measured", t->n, t->known ? " known" : "", t->stored,
         g.pick_ns / g.best_ns);
  fflush(stdout);
}

/* A layer that cannot be tuned here (memory, no choice that passes) is a finding; the others go on. */
static mlaf_status tune_layer(worker *w, const serve_layer *l) {
  serve *s = w->s;
  cli *c = &w->me;
  rig_env env = mlaf_cli_rig_env(c);
  const layer_tune_opts opts = {.no_resume = w->g.opts.no_resume, .progress = on_layer, .user = w};
  layer_setup setup;
  layer_tuned *t = calloc(1, sizeof *t);
  mlaf_status st = t ? mlaf_cli_serve_setup(c, &s->work, l, &setup, &w->requests)
                     : mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory for a layer's choices");
  if (!st) {
    setup.weights = &w->weights, setup.checked = CHECKED;
    pthread_mutex_unlock(&c->ctx->lock); /* plans take it themselves */
    st = layer_tune(&env, &setup, &opts, t);
    pthread_mutex_lock(&c->ctx->lock);
  }
  if (!st) layer_row(w, t);
  free(t);
  if (st != MLAF_E_NOMEM && st != MLAF_E_NOT_TUNED) return st;
  w->g.without++;
  mlaf_log_line(&c->log, MLAF_LOG_WARN, "left out: layer of %s, tp %d, %d requests of %d tokens: %s", l->model->name, l->tp,
                l->batch, l->ctx, c->err.text);
  return MLAF_OK;
}

/* --- threads --- */

static mlaf_status tune_problem(worker *w, size_t i) {
  const mlaf_point *p = &w->s->work.problems.list[i];
  const bool ragged = p->op == w->s->work.problems.list[0].op && mlaf_point_value(p, "batch", 1) > 1;
  w->g.opts.lengths = ragged ? w->s->lengths : (mlaf_lengths){.kind = MLAF_LENGTHS_EQUAL};
  return mlaf_cli_tune_one(&w->g);
}

static void *work(void *user) {
  worker *w = user;
  serve *s = w->s;
  const mlaf_locale before = mlaf_locale_enter();
  pthread_mutex_lock(&w->me.ctx->lock);
  w->g.verified = mlaf_verified_new();
  w->g.learned = s->learned;
  while (next(w, &w->g.at))
    finished(w, w->g.at < s->work.problems.n ? tune_problem(w, w->g.at)
                                             : tune_layer(w, &s->work.layers[w->g.at - s->work.problems.n]));
  mlaf_verified_free(w->g.verified);
  layer_weights_free(&w->weights);
  pthread_mutex_unlock(&w->me.ctx->lock);
  mlaf_locale_leave(before);
  return NULL;
}

/* Each device soaks its share of the choices of the database. */
static void *soak(void *user) {
  worker *w = user;
  serve *s = w->s;
  const mlaf_locale before = mlaf_locale_enter();
  char share[32];
  static const cli_opt kept[] = {O_DB, O_CACHE, O_GEN_ROOT, O_SEED, O_JOBS, O_SOAK, O_VERBOSE, O_JSON};
  cli c = *s->c;
  c.of = s->c, c.ctx = NULL, c.n_arguments = 0;
  memset(c.given, 0, sizeof c.given);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) c.given[kept[i]] = s->c->given[kept[i]];
  snprintf(share, sizeof share, "%zu/%zu", (size_t)(w - s->workers), s->n_devices);
  c.given[O_DEVICE] = w->device, c.given[O_CHOICES] = "user", c.given[O_SHARD] = share;
  w->code = mlaf_cli_soak(&c);
  mlaf_cli_close(&c);
  mlaf_locale_leave(before);
  return NULL;
}

static mlaf_status on_threads(serve *s, size_t n, void *(*run)(void *)) {
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < n; i++) {
    worker *w = &s->workers[i];
    w->started = !pthread_create(&w->thread, NULL, run, w);
    if (!w->started) st = mlaf_fail(&s->c->err, MLAF_E_NOMEM, "no thread for %s", w->device);
  }
  for (size_t i = 0; i < n; i++)
    if (s->workers[i].started) pthread_join(s->workers[i].thread, NULL), s->workers[i].started = false;
  mlaf_cli_progress_end(s->c);
  return st;
}

/* --- the end --- */

static void print_guesses(const char *whose, const char *what, const mlaf_guesses *g, bool errors) {
  if (!g->n) return;
  printf("%s over the choice, %zu %s: %.3fx (geometric mean), %.2fx at worst; %zu are the fastest, %zu within %.0f %%", whose,
         g->n, what, exp(g->log_ratio / (double)g->n), g->worst, g->first, g->near, 100 * (MLAF_GUESS_NEAR - 1));
  if (errors) printf("; median error %.0f %% on average", 100 * g->errors / (double)g->n);
  printf("\n");
}

static void print_end(serve *s) {
  mlaf_guesses *g = &s->guesses;
  size_t tried = 0, choices = 0;
  for (size_t i = 0; i < s->n_workers; i++) {
    const campaign *x = &s->workers[i].g;
    tried += x->tried, choices += x->choices, s->without += x->without;
    g->n += x->guesses.n, g->first += x->guesses.first, g->near += x->guesses.near;
    g->log_ratio += x->guesses.log_ratio, g->errors += x->guesses.errors, g->worst = fmax(g->worst, x->guesses.worst);
  }
  const double seconds = mlaf_now() - s->start;
  if (s->c->json) {
    mlaf_cli_print("serve", NUMBER("items", s->n), NUMBER("finished", s->done), NUMBER("choices", choices),
                   NUMBER("layers", s->layers), NUMBER("candidates", tried),
                   NUMBER("pick_over_choice", g->n ? exp(g->log_ratio / (double)g->n) : 1),
                   NUMBER("default_layer_over_choice", s->layers ? exp(s->by_default.log_ratio / (double)s->layers) : 1),
                   NUMBER("seconds", seconds));
  } else {
    printf("%zu of %zu finished: %zu problems with a choice, %zu layers, %zu candidates, %.1f s on %zu devices\n", s->done, s->n,
           choices, s->layers, tried, seconds, s->n_devices);
    print_guesses("the model's pick", "problems", g, true);
    print_guesses("the default", "layers", &s->by_default, false);
  }
  if (s->done < s->n && !s->without)
    fprintf(stderr, "mlaforge: stopped; what is finished is recorded, and the same command goes on from there\n");
}

/* "nvidia-h200", as files in tuning/ are named. */
static void file_name(const serve *s, char *out, size_t size) {
  size_t n = 0;
  for (const char *at = s->name; *at && n + 1 < size; at++) {
    if (isalnum((unsigned char)*at)) out[n++] = (char)tolower((unsigned char)*at);
    else if (n && out[n - 1] != '-') out[n++] = '-';
  }
  while (n && out[n - 1] == '-') n--;
  out[n] = 0;
}

static const char *out_dir(const cli *c) { return c->given[O_OUT] ? c->given[O_OUT] : "."; }

static mlaf_status write_files(serve *s) {
  cli *c = s->c, page = *c;
  char name[140], html[4200], tsv[4200];
  mlaf_text text = MLAF_TEXT_INIT((size_t)64 << 20);
  mlaf_db *db = NULL;
  const char *dir = out_dir(c);
  file_name(s, name, sizeof name);
  snprintf(html, sizeof html, "%.4000s/%s.html", dir, name);
  snprintf(tsv, sizeof tsv, "%.4000s/%s.tsv", dir, name);
  mlaf_status st = mlaf_cli_open_db(c, true, &db);
  if (!st) st = mlaf_db_export(db, s->id, &text, &c->err);
  mlaf_db_close(db);
  if (!st) st = mlaf_file_write(tsv, text.data ? text.data : "", text.len, &c->err);
  mlaf_text_free(&text);
  if (st) return st;
  if (!c->json) printf("choices as text in %s\n", tsv);
  page.given[O_OUT] = html, page.given[O_DEVICE_ID] = s->id, page.of = c, page.ctx = NULL;
  page.cancel = NULL; /* a run that was stopped gets its page, too */
  if (mlaf_cli_report(&page)) return mlaf_fail(&c->err, page.err.status, "%s", page.err.text);
  return MLAF_OK;
}

static int run(serve *s) {
  cli *c = s->c;
  int code = CLI_OK;
  s->start = mlaf_now();
  mlaf_cli_stop_grace(stop_s);
  s->learned = mlaf_learned_new();
  for (size_t i = 0; i < s->n_workers; i++) s->workers[i].g.start = s->start;
  mlaf_status st = on_threads(s, s->n_workers, work);
  mlaf_learned_free(s->learned);
  print_end(s);
  close_all(s);
  if (!st && s->status) st = s->status, c->err = s->err;
  if (!st && c->given[O_SOAK]) st = on_threads(s, s->n_devices, soak);
  for (size_t i = 0; i < s->n_workers; i++) code = code ? code : s->workers[i].code;
  if (!st || st == MLAF_E_CANCELLED) { /* what was finished is worth a page, too */
    const mlaf_err stopped = c->err;
    const mlaf_status written = write_files(s);
    if (!st) st = written;
    else c->err = stopped;
  }
  if (st) return mlaf_cli_fail(c);
  return code ? code : s->without || s->done < s->n ? CLI_FINDINGS : CLI_OK;
}

/* Ahead of hours whose results nothing would keep. */
static mlaf_status may_record(const serve *s) {
  const mlaf_db *db = s->workers[0].me.ctx->db;
  return mlaf_db_is_read_only(db) ? mlaf_db_refuse_write(db, &s->c->err) : MLAF_OK;
}

static mlaf_status prepare(serve *s) {
  cli *c = s->c;
  mlaf_status st = mlaf_cli_serve_work(c, &s->work);
  if (!st) st = list_devices(s);
  s->n = s->work.problems.n + s->work.n_layers;
  if (!st) st = mlaf_lengths_parse(c->given[O_LENGTHS] ? c->given[O_LENGTHS] : SERVE_LENGTHS, &s->lengths, &c->err);
  if (!st && !mlaf_cli_has(c, O_DRY_RUN)) st = mlaf_dir_make_open(out_dir(c), &c->err); /* ahead of hours of work */
  if (!st) st = open_all(s);
  if (!st && !mlaf_cli_has(c, O_DRY_RUN)) st = may_record(s);
  if (!st) st = say_estimate(s);
  if (!st && !mlaf_cli_has(c, O_DRY_RUN)) add_threads(s);
  return st;
}

int mlaf_cli_tune_serve(cli *c) {
  static const cli_opt others[] = {O_SET, O_SHARD, O_MISSES, O_OP, O_COUNT};
  const int excess = mlaf_cli_excess(c, others, "says nothing of --serve");
  if (excess) return excess;
  if (c->n_arguments) return mlaf_cli_usage(c, "--serve takes its problems from --model: '%s' is too much", c->arguments[0]);
  serve s = {.c = c, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  const mlaf_status st = prepare(&s);
  int code = CLI_OK;
  if (st) code = mlaf_cli_fail(c);
  else if (!mlaf_cli_has(c, O_DRY_RUN)) code = run(&s);
  close_all(&s);
  for (size_t i = 0; i < s.n_workers; i++) free(s.workers[i].requests);
  free(s.workers);
  free(s.seconds);
  mlaf_cli_serve_free(&s.work);
  return code;
}
