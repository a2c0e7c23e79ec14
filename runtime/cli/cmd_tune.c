/* `mlaforge tune`: one problem or a grid of them, one after the other, with progress and what was chosen. */
#include <unistd.h>

#include "cli/tune.h"
#include "mlaf_thresholds.h"

enum { SHOWN_WORK = 120 };

/* By the share of the work that is behind us; below 0 before anything is. */
static double seconds_left(const campaign *g, const mlaf_tuner_progress *p) {
  const double total = p->most > p->done ? (double)p->most : (double)p->done + 1;
  const double behind = (double)g->at + (double)p->done / total, elapsed = mlaf_now() - g->start;
  return behind > 0 ? elapsed / behind * ((double)g->n - behind) : -1;
}

static void print_eta(const campaign *g, double left, char *out, size_t size) {
  const double elapsed = mlaf_now() - g->start;
  if (g->limit_s > 0 && left > g->limit_s - elapsed) left = g->limit_s - elapsed;
  out[0] = 0;
  if (left >= 0) snprintf(out, size, left >= 5400 ? ", ETA %.1f h" : left >= 90 ? ", ETA %.0f min" : ", ETA %.0f s",
                          left >= 5400 ? left / 3600 : left >= 90 ? left / 60 : left);
}

static void on_progress(void *user, const mlaf_tuner_progress *p) {
  campaign *g = user;
  char best[64] = "", where[48] = "", rest[32], work[SHOWN_WORK], failed[40] = "";
  if (p->failed) snprintf(failed, sizeof failed, ", %zu failed", p->failed);
  if (p->best_ns > 0) snprintf(best, sizeof best, ", best %.2f us", p->best_ns / 1e3);
  size_t finished = 0;
  const double left = g->together ? g->together(g->user, &finished) : seconds_left(g, p);
  if (g->together) snprintf(where, sizeof where, "%zu of %zu finished, ", finished, g->n);
  else if (g->n > 1) snprintf(where, sizeof where, "problem %zu/%zu, ", g->at + 1, g->n);
  print_eta(g, left, rest, sizeof rest);
  if (*p->variant) snprintf(work, sizeof work, "%s %s", p->activity, p->variant);
  else snprintf(work, sizeof work, "%s, %zu/%zu kernels compiled", p->activity, p->kernels_done, p->kernels);
  if (g->together) /* the whole first: a line that is cut loses the least */
    mlaf_cli_progress(g->c, "%s%.0f s%s; %s: %zu of up to %zu candidates%s, %s", where, mlaf_now() - g->start, rest,
                      g->c->given[O_DEVICE], p->done, p->most, failed, work);
  else
    mlaf_cli_progress(g->c, "%s%zu of up to %zu candidates%s%s, %.0f s%s: %s", where, p->done, p->most, failed, best,
                      mlaf_now() - g->start, rest, work);
}

/* --- dry run --- */
/* CPU seconds to compile a kernel (hiprtc 0.5 to 2, NVRTC 3 to 10), and to load, verify and time a candidate on the emulator:
 * about what runs have taken. A kernel in the cache costs nothing. */
enum { COMPILE_AMD_S = 1, COMPILE_NVIDIA_S = 5 };
static const double emulate_s = 2.0;

double mlaf_cli_tune_estimate(const cli *c, const mlaf_device_info *dev, size_t tries, size_t kernels) {
  const double cpus = (double)mlaf_cli_int(c, O_JOBS, sysconf(_SC_NPROCESSORS_ONLN));
  const bool emulated = mlaf_emulated(dev->id) != NULL;
  const double compile = (double)kernels * (strncmp(dev->target, "sm_", 3) ? COMPILE_AMD_S : COMPILE_NVIDIA_S) / fmax(cpus, 1);
  const double each = emulated ? emulate_s / fmax((double)sysconf(_SC_NPROCESSORS_ONLN), 1) : MLAF_TUNE_TRY_MS / 1e3;
  return compile + (double)tries * each;
}

const char *mlaf_cli_in_words(double s, char out[32]) {
  snprintf(out, 32, s >= 5400 ? "%.1f h" : s >= 90 ? "%.0f min" : "%.0f s", s >= 5400 ? s / 3600 : s >= 90 ? s / 60 : fmax(s, 1));
  return out;
}

/* Distinct kernels of the first `tries` candidates in the model's order. */
size_t mlaf_cli_distinct(const mlaf_variant *list, size_t n, size_t tries) {
  size_t distinct = 0, taken = 0;
  for (size_t i = 0; i < n && taken < tries; i++) {
    if (list[i].rejected) continue;
    taken++;
    for (int s = 0; s < MLAF_STAGES_MAX; s++) {
      bool seen = !list[i].kernels[s].template_name;
      for (size_t k = 0; k < i && !seen; k++)
        seen = !list[k].rejected && !strcmp(list[k].kernels[s].symbol, list[i].kernels[s].symbol);
      distinct += !seen;
    }
  }
  return distinct;
}

static void space_row(const cli *c, cli_table *t, const mlaf_variant *v) {
  if (c->json) {
    cJSON *e = mlaf_cli_event("space");
    mlaf_cli_json(e, TEXT("variant", v->name), NUMBER("knob", v->knob));
    if (v->rejected) cJSON_AddStringToObject(e, "rejected", v->rejected);
    else cJSON_AddNumberToObject(e, "model_ns", v->model_ns);
    mlaf_cli_json(e, NUMBER("lds_bytes", v->kernels[0].lds_bytes), NUMBER("vgpr_budget", v->kernels[0].vgpr_budget));
    mlaf_cli_emit(e);
    return;
  }
  if (v->rejected) mlaf_cli_table_cell(t, "-");
  else mlaf_cli_table_cell(t, "%.2f", v->model_ns / 1e3);
  mlaf_cli_table_cell(t, "%u\t%u\t%u\t%s\t%s", v->kernels[0].threads, v->kernels[0].vgpr_budget, v->kernels[0].lds_bytes,
                      v->name, v->rejected ? v->rejected : "");
}

/* Needs the device for its target only: nothing is compiled, loaded or recorded. */
static int dry_run_one(campaign *whole, const mlaf_point *p) {
  cli *c = whole->c;
  static const char *const columns[] = {">model us", ">threads", ">regs", ">lds", "variant", "rejected because", NULL};
  mlaf_gen *g = NULL;
  mlaf_variant *list = NULL;
  size_t n = 0, candidates = 0;
  mlaf_device *dev = NULL;
  mlaf_status status = mlaf_gen_open(c->given[O_GEN_ROOT], &g, &c->err);
  if (status == MLAF_OK) status = mlaf_cli_open_device(c, &dev);
  if (status == MLAF_OK) status = mlaf_gen_space(g, mlaf_point_text(p).s, mlaf_info(dev)->target, &list, &n, &c->err);
  cli_table *t = c->json || status != MLAF_OK ? NULL : mlaf_cli_table_new(columns);
  for (size_t i = 0; status == MLAF_OK && i < n; i++) {
    candidates += !list[i].rejected;
    space_row(c, t, &list[i]);
  }
  mlaf_cli_table_end(t);
  if (status == MLAF_OK && !c->json) {
    char time[32];
    size_t tries = mlaf_tuner_limit(&whole->opts, candidates, mlaf_emulated(mlaf_info(dev)->id) != NULL);
    if (tries > candidates) tries = candidates;
    printf("%zu candidates, %zu rejected; nothing was compiled\n", candidates, n - candidates);
    printf("%s search: at most %zu of them, about %s\n", mlaf_strategy_name(whole->opts.strategy), tries,
           mlaf_cli_in_words(mlaf_cli_tune_estimate(c, mlaf_info(dev), tries, mlaf_cli_distinct(list, n, tries)), time));
  }
  mlaf_variants_free(list, n);
  mlaf_device_close(dev);
  mlaf_gen_close(g);
  return status == MLAF_OK ? CLI_OK : mlaf_cli_fail(c);
}

/* Prints what each problem of a grid would cost: nothing is compiled, timed or recorded. */
static mlaf_status dry_row(campaign *g, mlaf_db *db, const mlaf_device_info *info, cli_table *t, size_t *tries, double *seconds) {
  cli *c = g->c;
  mlaf_variant *space = NULL;
  mlaf_sample *samples = NULL;
  size_t n = 0, known = 0, candidates = 0;
  char problem[MLAF_POINT_TEXT_MAX];
  mlaf_status status = mlaf_gen_space(g->gen, mlaf_point_text(&g->list[g->at]).s, info->target, &space, &n, &c->err);
  if (status != MLAF_OK) return status;
  for (size_t i = 0; i < n; i++) candidates += !space[i].rejected;
  if (db && mlaf_db_samples(db, info, &g->list[g->at], &samples, &known, NULL) != MLAF_OK) known = 0;
  size_t limit = mlaf_tuner_limit(&g->opts, candidates, mlaf_emulated(info->id) != NULL);
  if (limit > candidates) limit = candidates;
  *tries += limit;
  const double here = mlaf_cli_tune_estimate(c, info, limit, mlaf_cli_distinct(space, n, limit));
  *seconds += here;
  mlaf_point_print(&g->list[g->at], problem, sizeof problem);
  if (c->json) {
    mlaf_cli_print("would_tune", TEXT("problem", problem), NUMBER("candidates", candidates),
                   NUMBER("rejected", (double)(n - candidates)), NUMBER("at_most", limit), NUMBER("samples", known),
                   NUMBER("estimate_s", here));
  } else {
    char time[32];
    mlaf_cli_table_cell(t, "%zu\t%zu\t%zu\t%zu\t%s\t%s", candidates, n - candidates, limit, known,
                        mlaf_cli_in_words(here, time), problem);
  }
  mlaf_variants_free(space, n);
  free(samples);
  return MLAF_OK;
}

static int dry_run(campaign *g) {
  static const char *const columns[] = {">candidates",    ">rejected", ">at most tried",
                                        ">known samples", ">about",    "problem", NULL};
  cli *c = g->c;
  mlaf_device *dev = NULL;
  mlaf_db *db = NULL;
  size_t tries = 0;
  double seconds = 0;
  mlaf_log quiet = {NULL, NULL, MLAF_LOG_ERROR};
  mlaf_status status = mlaf_gen_open(c->given[O_GEN_ROOT], &g->gen, &c->err);
  if (status == MLAF_OK) status = mlaf_cli_open_device(c, &dev);
  if (status == MLAF_OK && mlaf_db_open(c->given[O_DB], true, &quiet, &db, NULL) != MLAF_OK) db = NULL;
  cli_table *t = c->json || status != MLAF_OK ? NULL : mlaf_cli_table_new(columns);
  for (g->at = 0; status == MLAF_OK && g->at < g->n; g->at++) {
    status = dry_row(g, db, mlaf_info(dev), t, &tries, &seconds);
    if (status == MLAF_OK && g->at + 1 < g->n) status = mlaf_cli_go_on(c);
  }
  mlaf_cli_table_end(t);
  if (g->limit_s > 0 && seconds > g->limit_s) seconds = g->limit_s;
  char time[32];
  if (status == MLAF_OK && !c->json)
    printf("%zu problems on %s, %s search: at most %zu candidates, about %s; nothing was compiled\n", g->n, mlaf_info(dev)->id,
           mlaf_strategy_name(g->opts.strategy), tries, mlaf_cli_in_words(seconds, time));
  mlaf_db_close(db);
  mlaf_device_close(dev);
  mlaf_gen_close(g->gen);
  return status == MLAF_OK ? CLI_OK : mlaf_cli_fail(c);
}

/* The command that goes on, with the options that choose where. */
static void how_to_resume(const cli *c, const char *problem, const mlaf_tuner_result *r) {
  static const cli_opt kept[] = {O_DEVICE, O_DB, O_CACHE, O_GEN_ROOT, O_SEED, O_MAX_CANDIDATES};
  fprintf(stderr, "mlaforge: stopped (%s) with %zu candidates finished and recorded; to go on: mlaforge tune '%s'",
          r->stopped, r->n, problem);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    if (c->given[kept[i]]) fprintf(stderr, " --%s '%s'", mlaf_cli_option_name(kept[i]), c->given[kept[i]]);
  fprintf(stderr, "\n");
}

/* --- the run --- */
static void print_problem(const campaign *g, const char *problem, const mlaf_tuner_result *r) {
  const cli *c = g->c;
  mlaf_guess guess;
  char guessed[80] = "";
  if (g->n == 1) {
    mlaf_cli_tune_print(c, problem, r);
  } else if (c->json) {
    mlaf_cli_tune_json(c, problem, r);
  } else {
    if (mlaf_guess_of(r, &guess))
      snprintf(guessed, sizeof guessed, "  model's pick %.2fx, rank %zu of %zu, off by %.0f %%", guess.pick_ns / guess.best_ns,
               guess.rank, guess.of, 100 * guess.error);
    if (r->has_choice)
      printf("%-60s %10.2f us %-8s %4zu tried %3zu failed %4zu known  %s%s\n", problem, r->choice.ns / 1e3,
             mlaf_source_name(r->choice.source), r->n, r->failed, r->resumed, r->choice.variant, guessed);
    else printf("%-60s %10s    %-8s %4zu tried %3zu failed %4zu known  no candidate passed\n", problem, "-", "", r->n, r->failed,
                r->resumed);
    fflush(stdout);
  }
}

mlaf_status mlaf_cli_tune_one(campaign *g) {
  cli *c = g->c;
  mlaf_guess guess;
  mlaf_tuner_result r = {.n = 0};
  char problem[MLAF_POINT_TEXT_MAX];
  mlaf_tuner_env env = {mlaf_ctx_device(c->ctx), c->ctx->db, g->gen, c->ctx->compiler, &c->log, NULL, g->verified, g->learned};
  const mlaf_point *p = &g->list[g->at];
  mlaf_point_print(p, problem, sizeof problem);
  if (g->limit_s > 0) /* what is left, shared out evenly among what is left */
    g->opts.time_limit_s = fmax(0.001, (g->limit_s - (mlaf_now() - g->start)) * (double)g->workers / (double)(g->n - g->at));
  mlaf_status status = mlaf_tuner_run(&env, p, &g->opts, &r, &c->err);
  mlaf_cli_progress_end(c);
  if (status == MLAF_OK || r.n) print_problem(g, problem, &r);
  if (r.stopped[0] && g->n == 1) how_to_resume(c, problem, &r);
  g->tried += r.n;
  g->failed += r.failed;
  g->choices += r.has_choice;
  if (mlaf_guess_of(&r, &guess)) mlaf_guesses_add(&g->guesses, &guess);
  g->begun = r.n && status == MLAF_E_CANCELLED;
  mlaf_tuner_result_clear(&r);
  if (status == MLAF_E_NOT_TUNED && g->n > 1) {
    g->without++;
    mlaf_log_line(&c->log, MLAF_LOG_WARN, "%s: %s", problem, c->err.text);
    return MLAF_OK;
  }
  return status;
}

static void print_total(const campaign *g, mlaf_status status) {
  const cli *c = g->c;
  double seconds = mlaf_now() - g->start;
  if (g->n == 1) return;
  if (c->json) {
    mlaf_cli_print("campaign", NUMBER("problems", g->n), NUMBER("finished", g->at), NUMBER("choices", g->choices),
                   NUMBER("candidates", g->tried), NUMBER("failed", g->failed), NUMBER("seconds", seconds));
  } else {
    printf("%zu of %zu problems finished%s, %zu with a choice, %zu candidates (%zu failed), %.1f s; recorded in %s\n", g->at,
           g->n, g->begun ? " and one begun" : "", g->choices, g->tried, g->failed, seconds, mlaf_db_path(c->ctx->db));
  }
  if (status == MLAF_E_CANCELLED || g->at < g->n)
    fprintf(stderr, "mlaforge: stopped; what is finished is recorded, and the same command goes on from there\n");
}

static int run_all(campaign *g) {
  cli *c = g->c;
  mlaf_status status = mlaf_ctx_gen(c->ctx, &g->gen, &c->err);
  g->start = mlaf_now();
  g->verified = mlaf_verified_new();
  g->learned = mlaf_learned_new();
  for (g->at = 0; status == MLAF_OK && g->at < g->n; g->at++) {
    if (g->limit_s > 0 && g->at && mlaf_now() - g->start >= g->limit_s) break;
    status = mlaf_cli_tune_one(g);
    if (status != MLAF_OK) break;
  }
  mlaf_verified_free(g->verified);
  mlaf_learned_free(g->learned);
  print_total(g, status);
  if (status != MLAF_OK) return mlaf_cli_fail(c);
  return g->without ? CLI_FINDINGS : CLI_OK;
}

mlaf_status mlaf_cli_tune_options(cli *c, campaign *g) {
  const char *strategy = c->given[O_STRATEGY], *lengths = c->given[O_LENGTHS];
  int named = strategy ? mlaf_strategy_find(strategy) : MLAF_STRATEGY_PRUNED;
  if (named < 0) return mlaf_fail(&c->err, MLAF_E_ARG, "--strategy is '%s'; there are pruned, exhaustive and halving", strategy);
  g->opts = (mlaf_tuner_opts){.strategy = (mlaf_strategy)named,
                              .max_candidates = (size_t)mlaf_cli_int(c, O_MAX_CANDIDATES, 0),
                              .seed = mlaf_cli_seed(c),
                              .give_up = mlaf_cli_real(c, O_GIVE_UP, 0),
                              .no_libraries = mlaf_cli_has(c, O_NO_LIBRARY),
                              .no_resume = mlaf_cli_has(c, O_NO_RESUME),
                              .progress = on_progress,
                              .progress_user = g,
                              .cancel = c->cancel};
  g->limit_s = mlaf_cli_real(c, O_TIME_LIMIT, 0);
  g->workers = 1;
  g->c = c;
  return lengths ? mlaf_lengths_parse(lengths, &g->opts.lengths, &c->err) : MLAF_OK;
}

/* "tune layer" and options that say nothing of it. */
static int tune_layer(cli *c) {
  static const cli_opt others[] = {O_STRATEGY, O_LENGTHS, O_SET, O_SHARD, O_MISSES, O_MAX_CANDIDATES, O_GIVE_UP, O_NO_LIBRARY,
                                   O_SERVE, O_SOAK, O_OUT, O_COUNT};
  if (c->n_arguments > 1) return mlaf_cli_usage(c, "'%s' is one argument too many: a layer comes from --model", c->arguments[1]);
  const int excess = mlaf_cli_excess(c, others, "says nothing of `tune layer`");
  return excess ? excess : mlaf_cli_tune_layer(c);
}

int mlaf_cli_tune(cli *c) {
  campaign g = {.n = 0};
  cli_problems problems = {NULL, 0};
  bool misses = mlaf_cli_has(c, O_MISSES);
  if (mlaf_cli_has(c, O_RESUME) && mlaf_cli_has(c, O_NO_RESUME))
    return mlaf_cli_usage(c, "--resume and --no-resume exclude each other");
  if (c->n_arguments && !strcmp(c->arguments[0], "layer")) return tune_layer(c);
  if (c->given[O_SERVE]) return mlaf_cli_tune_serve(c);
  if (c->given[O_SOAK] || c->given[O_OUT]) return mlaf_cli_usage(c, "--%s is for --serve", c->given[O_SOAK] ? "soak" : "out");
  if (misses && mlaf_cli_names_problem(c))
    return mlaf_cli_usage(c, "--misses takes its problems from the database: give no other");
  mlaf_status status = mlaf_cli_tune_options(c, &g);
  if (status == MLAF_OK && !misses) status = mlaf_cli_problems(c, &problems);
  /* A tuner that remembers nothing is a waste of minutes: an unusable database is an error here, unlike in planning. */
  bool dry = mlaf_cli_has(c, O_DRY_RUN);
  if (status == MLAF_OK && (!dry || misses)) status = mlaf_cli_open(c, true);
  if (status == MLAF_OK && misses) status = mlaf_cli_missed(c, &problems);
  if (status == MLAF_OK) status = mlaf_cli_shard(c, &problems);
  g.list = problems.list;
  g.n = problems.n;
  int code = CLI_OK;
  if (status != MLAF_OK) code = mlaf_cli_fail(c);
  else if (!g.n) fprintf(stderr, "mlaforge: nothing to tune: %s\n", misses ? "no misses of this device are open" : "this shard "
                         "is empty");
  else if (dry) code = g.n == 1 ? dry_run_one(&g, g.list) : dry_run(&g);
  else code = run_all(&g);
  mlaf_cli_problems_free(&problems);
  return code;
}
