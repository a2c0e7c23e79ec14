/* `mlaforge report`: gathers what the database knows and has a page made of it. */
#include <unistd.h>

#include "check/bench.h"
#include "cli/cli.h"
#include "report/report.h"

#define PAGE_MAX ((size_t)256 << 20)

typedef struct gather {
  cli *c;
  mlaf_db *db;
  mlaf_gen *gen;
  report_device *devices;
  size_t n;
  mlaf_status status;
} gather;

static bool room(gather *g, void *list, size_t n, size_t each) {
  if (mlaf_room(list, n, each)) return true;
  g->status = mlaf_fail(&g->c->err, MLAF_E_NOMEM, "no memory for the report");
  return false;
}

static report_device *device_of(gather *g, const char *id) {
  for (size_t i = 0; i < g->n; i++)
    if (strcmp(g->devices[i].id, id) == 0) return &g->devices[i];
  if (!room(g, &g->devices, g->n, sizeof *g->devices)) return NULL;
  report_device *d = &g->devices[g->n++];
  *d = (report_device){.n = 0};
  snprintf(d->id, sizeof d->id, "%s", id);
  if (mlaf_emulated(id)) id = mlaf_emulated(id);
  else if (strncmp(id, "arch:", 5) == 0) id += 5;
  snprintf(d->target, sizeof d->target, "%.*s", (int)strcspn(id, ":|"), id);
  return d;
}

static bool wanted(const gather *g, const char *device) {
  return !g->c->given[O_DEVICE_ID] || strcmp(g->c->given[O_DEVICE_ID], device) == 0;
}

static double model_of(const mlaf_variant *space, size_t n, const char *variant) {
  for (size_t i = 0; i < n; i++)
    if (!space[i].rejected && !strcmp(space[i].name, variant)) return space[i].model_ns;
  return 0;
}

/* The model's guesses beside all samples of the choice's lengths. */
static void guess_of(report_point *x, const mlaf_variant *space, size_t n_space, const mlaf_sample *samples, size_t n) {
  mlaf_guessed *list = calloc(n + 1, sizeof *list);
  for (size_t i = 0; list && i < n; i++)
    if (samples[i].outcome == MLAF_OUT_OK && !strcmp(samples[i].lengths, x->choice.lengths))
      list[i] = (mlaf_guessed){model_of(space, n_space, samples[i].variant), samples[i].timing.ns};
  if (!list || !mlaf_guess_judge(list, n, &x->guess)) x->guess.of = 0;
  free(list);
}

/* Times of the variants a plan would take without tuning, where the tuner has tried them. */
static void untuned_times(gather *g, const report_device *d, report_point *x, const mlaf_sample *samples, size_t n) {
  mlaf_variant *space = NULL, base = {.name = NULL};
  size_t n_space = 0;
  if (mlaf_gen_space(g->gen, mlaf_point_text(&x->problem).s, d->target, &space, &n_space, NULL) != MLAF_OK) return;
  bool has_base = mlaf_gen_baseline(g->gen, mlaf_point_text(&x->problem).s, d->target, &base, NULL) == MLAF_OK;
  for (size_t i = 0; i < n; i++) {
    const mlaf_sample *s = &samples[i];
    if (s->outcome != MLAF_OUT_OK || strcmp(s->lengths, x->choice.lengths) != 0) continue;
    if (n_space && !space[0].rejected && strcmp(s->variant, space[0].name) == 0) x->first_ns = s->timing.ns;
    if (has_base && strcmp(s->variant, base.name) == 0) x->baseline_ns = s->timing.ns;
  }
  guess_of(x, space, n_space, samples, n);
  mlaf_variants_free(space, n_space);
  mlaf_variant_clear(&base);
}

static void from_samples(gather *g, const report_device *d, report_point *x) {
  mlaf_device_info info = {.compute_units = 0};
  mlaf_sample *samples = NULL;
  size_t n = 0;
  snprintf(info.id, sizeof info.id, "%s", d->id);
  if (mlaf_db_samples(g->db, &info, &x->problem, &samples, &n, NULL) != MLAF_OK) return;
  for (size_t i = 0; i < n; i++) {
    const mlaf_sample *s = &samples[i];
    if (s->outcome == MLAF_OUT_CONSTRAINT) continue; /* there is no such candidate here */
    x->samples++;
    x->failures += s->outcome != MLAF_OUT_OK && s->outcome != MLAF_OUT_NOISY;
    if (s->outcome == MLAF_OUT_OK && !strcmp(s->variant, x->choice.variant) && !strcmp(s->lengths, x->choice.lengths) &&
        !x->timing.samples && !x->timing.n_parts)
      x->timing = s->timing;
  }
  if (n) untuned_times(g, d, x, samples, n);
  free(samples);
}

static bool take_layer(gather *g, const char *device, const mlaf_choice *choice) {
  report_device *d = device_of(g, device);
  if (!d || !room(g, &d->layers, d->n_layers, sizeof *d->layers)) return false;
  d->layers[d->n_layers++] = (report_layer){.choice = *choice};
  return true;
}

static bool take_choice(void *user, const char *device, const mlaf_choice *choice) {
  gather *g = user;
  mlaf_point p;
  if (!wanted(g, device)) return true;
  if (choice->at.op && !strcmp(choice->at.op->name, "mla_layer")) return take_layer(g, device, choice);
  if (mlaf_point_parse(NULL, choice->problem, &p, NULL, 0) != MLAF_OK) return true;
  report_device *d = device_of(g, device);
  if (!d || !room(g, &d->points, d->n, sizeof *d->points)) return false;
  d->points[d->n++] = (report_point){.problem = p, .across = mlaf_report_across(&p), .down = mlaf_report_down(&p),
                                     .choice = *choice};
  return true;
}

static bool take_miss(void *user, const char *device, const char *problem, int64_t count) {
  gather *g = user;
  mlaf_point p;
  if (!wanted(g, device) || mlaf_point_parse(NULL, problem, &p, NULL, 0) != MLAF_OK) return true;
  report_device *d = device_of(g, device);
  if (!d || !room(g, &d->misses, d->n_misses, sizeof *d->misses)) return false;
  d->misses[d->n_misses++] = (report_miss){p, mlaf_report_across(&p), mlaf_report_down(&p), count};
  return true;
}

/* The fastest sample of another choice. */
static void next_layer(gather *g, const report_device *d, report_layer *x) {
  mlaf_device_info info = {.compute_units = 0};
  mlaf_sample *samples = NULL;
  size_t n = 0;
  snprintf(info.id, sizeof info.id, "%s", d->id);
  if (mlaf_db_samples(g->db, &info, &x->choice.at, &samples, &n, NULL) != MLAF_OK) return;
  for (size_t i = 0; i < n; i++) {
    const mlaf_sample *s = &samples[i];
    if (s->outcome != MLAF_OUT_OK || !strcmp(s->variant, x->choice.variant)) continue;
    if (*x->next && s->timing.ns >= x->next_ns) continue;
    snprintf(x->next, sizeof x->next, "%.60s", s->variant);
    x->next_ns = s->timing.ns;
  }
  free(samples);
}

static int by_layer(const void *left, const void *right) {
  return mlaf_point_order(&((const report_layer *)left)->choice.at, &((const report_layer *)right)->choice.at);
}

static int by_shape(const void *left, const void *right) {
  return mlaf_point_order(&((const report_point *)left)->problem, &((const report_point *)right)->problem);
}

/* Listed first, looked into afterwards: one statement of the database is open at a time. */
static mlaf_status fill_in(gather *g, report_device *d) {
  if (d->n) qsort(d->points, d->n, sizeof *d->points, by_shape);
  if (d->n_layers) qsort(d->layers, d->n_layers, sizeof *d->layers, by_layer);
  for (size_t i = 0; i < d->n_layers; i++) next_layer(g, d, &d->layers[i]);
  for (size_t i = 0; i < d->n; i++) {
    report_point *x = &d->points[i];
    double memory = 0, compute = 0;
    mlaf_work work = mlaf_problem_work(&x->problem);
    if (mlaf_gen_roofline(g->gen, d->target, work.bytes, work.flops, &memory, &compute, NULL) == MLAF_OK) {
      x->memory_bound = memory >= compute;
      x->floor_ns = x->memory_bound ? memory : compute;
    }
    from_samples(g, d, x);
    mlaf_cli_progress(g->c, "%zu of %zu problems", i + 1, d->n);
    if (mlaf_cli_go_on(g->c) != MLAF_OK) return MLAF_E_CANCELLED; /* half a page is none */
  }
  return MLAF_OK;
}

int mlaf_cli_report(cli *c) {
  gather g = {.c = c};
  if (!c->given[O_OUT]) return mlaf_cli_usage(c, "report wants --out FILE.html");
  mlaf_status status = mlaf_cli_open_db(c, true, &g.db);
  if (status == MLAF_OK) status = mlaf_gen_open(c->given[O_GEN_ROOT], &g.gen, &c->err);
  if (status == MLAF_OK) status = mlaf_db_each_choice(g.db, take_choice, &g, &c->err);
  if (status == MLAF_OK && g.status == MLAF_OK) status = mlaf_db_each_miss(g.db, take_miss, &g, &c->err);
  if (status == MLAF_OK) status = g.status;
  size_t points = 0;
  for (size_t i = 0; i < g.n && status == MLAF_OK; i++) {
    status = fill_in(&g, &g.devices[i]);
    points += g.devices[i].n;
  }
  mlaf_text page = MLAF_TEXT_INIT(PAGE_MAX);
  if (status == MLAF_OK) mlaf_report_page(&page, mlaf_db_path(g.db), g.devices, g.n);
  if (status == MLAF_OK && (page.failed || !page.data)) status = mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory for the page");
  if (status == MLAF_OK) status = mlaf_file_write(c->given[O_OUT], page.data, page.len, &c->err);
  if (status == MLAF_OK && c->json) {
    mlaf_cli_print("report", TEXT("file", c->given[O_OUT]), NUMBER("problems", points), NUMBER("bytes", page.len));
  } else if (status == MLAF_OK) {
    /* not behind the page in the page's own file */
    FILE *to = mlaf_file_descriptor(c->given[O_OUT]) == STDOUT_FILENO ? stderr : stdout;
    fprintf(to, "%zu tuned problems of %zu devices in %s (%.0f KiB)\n", points, g.n, c->given[O_OUT], (double)page.len / 1024);
  }
  mlaf_text_free(&page);
  for (size_t i = 0; i < g.n; i++) {
    free(g.devices[i].points);
    free(g.devices[i].layers);
    free(g.devices[i].misses);
  }
  free(g.devices);
  mlaf_gen_close(g.gen);
  mlaf_db_close(g.db);
  return status == MLAF_OK ? CLI_OK : mlaf_cli_fail(c);
}
