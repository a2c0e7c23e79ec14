/* Search strategies, the comparison in turns, and tuners that die or work side by side, against a scripted device. */
#include <sys/wait.h>

#include "base/killing.h"
#include "db/db_fixture.h"
#include "tune/fake_steps.h"
#include "point.h"

static mlaf_problem problem(void) { return make_problem(16, 4, 1024); }

static mlaf_status tune_with(fake *f, mlaf_db *db, const mlaf_tuner_steps *steps, mlaf_tuner_opts opts, mlaf_tuner_result *r,
                             mlaf_err *err) {
  mlaf_tuner_env env = {(mlaf_device *)f, db, (mlaf_gen *)f, (mlaf_compiler *)f, NULL, steps, NULL, NULL};
  mlaf_problem p = problem();
  f->log[0] = 0;
  return mlaf_tuner_run(&env, pt(&p), &opts, r, err);
}

static mlaf_tuner_result tune_ok(fake *f, mlaf_db *db, const mlaf_tuner_steps *steps, mlaf_tuner_opts opts) {
  mlaf_tuner_result r;
  mlaf_err err = {MLAF_OK, ""};
  if (tune_with(f, db, steps, opts, &r, &err) != MLAF_OK) fail_msg("tune: %s", err.text);
  return r;
}

static int count_in(const char *text, const char *part) {
  int n = 0;
  for (const char *p = text; (p = strstr(p, part)) != NULL; p += strlen(part)) n++;
  return n;
}

TEST(exhaustive_tries_all) {
  fake *f = fake_new(6, 4);
  mlaf_tuner_result r = tune_ok(f, NULL, &fake_steps, (mlaf_tuner_opts){.strategy = MLAF_STRATEGY_EXHAUSTIVE});
  assert_int_equal(r.n, 24);
  assert_string_equal(r.choice.variant, "k0/s2");
  assert_int_equal(f->verifies, 24);
  mlaf_tuner_result_clear(&r);
  r = tune_ok(f, NULL, &fake_steps, (mlaf_tuner_opts){.strategy = MLAF_STRATEGY_EXHAUSTIVE, .max_candidates = 7});
  assert_int_equal(r.n, 7);
  mlaf_tuner_result_clear(&r);
  free(f);
}

/* Counts the candidates that a run verifies when the campaign before it verified some. */
static int verifies_after(fake *f, mlaf_verified *verified, mlaf_problem p, uint64_t seed) {
  mlaf_tuner_env env = {(mlaf_device *)f, NULL, (mlaf_gen *)f, (mlaf_compiler *)f, NULL, &fake_steps, verified, NULL};
  mlaf_tuner_opts opts = {.strategy = MLAF_STRATEGY_EXHAUSTIVE, .seed = seed};
  mlaf_tuner_result r;
  mlaf_err err = {MLAF_OK, ""};
  const int before = f->verifies;
  if (mlaf_tuner_run(&env, pt(&p), &opts, &r, &err) != MLAF_OK) fail_msg("tune: %s", err.text);
  for (size_t i = 0; i < r.n; i++)
    if (r.items[i].sample.outcome == MLAF_OUT_OK) assert_true(r.items[i].sample.error == 1.7e-3);
  mlaf_tuner_result_clear(&r);
  return f->verifies - before;
}

/* The problems of a family verify with the same cases: the same code with the same splits is verified once. */
TEST(a_campaign_verifies_once) {
  fake *f = fake_new(6, 4);
  mlaf_verified *verified = mlaf_verified_new();
  mlaf_problem causal = make_problem(16, 4, 1024);
  causal.causal = 1;
  f->k[5].verify = MLAF_E_INCORRECT; /* what failed is not taken as verified */
  assert_int_equal(verifies_after(f, verified, make_problem(16, 4, 1024), 1), 24);
  assert_int_equal(verifies_after(f, verified, make_problem(16, 8, 2048), 1), 4);
  assert_int_equal(verifies_after(f, verified, causal, 1), 24);                    /* another family: other cases */
  assert_int_equal(verifies_after(f, verified, make_problem(16, 4, 1024), 2), 24); /* other data */
  f->compiler = "fake compiler 2";                                                 /* other code */
  assert_int_equal(verifies_after(f, verified, make_problem(16, 8, 2048), 1), 24);
  assert_int_equal(verifies_after(f, NULL, make_problem(16, 8, 2048), 1), 24);
  mlaf_verified_free(verified);
  free(f);
}

TEST(pruned_keeps_to_its_share) {
  mlaf_tuner_opts o = {.strategy = MLAF_STRATEGY_PRUNED};
  assert_int_equal(mlaf_tuner_limit(&o, 600, false), 90);
  assert_int_equal(mlaf_tuner_limit(&o, 600, true), MLAF_TUNER_EMU_CANDIDATES);
  assert_int_equal(mlaf_tuner_limit(&o, 20, false), 12);
  o.max_candidates = 5;
  assert_int_equal(mlaf_tuner_limit(&o, 600, false), 5);
  assert_int_equal(mlaf_strategy_find("halving"), MLAF_STRATEGY_HALVING);
  assert_int_equal(mlaf_strategy_find("guess"), -1);
}

/* The first rung is short; who is in its best third is timed again with more samples, and nobody is verified twice. */
static int asked_samples[64], n_asked;
static mlaf_status counting_time(mlaf_bench *b, const mlaf_loaded *l, const mlaf_time_opts *opts, mlaf_timing *out,
                                 mlaf_err *err) {
  mlaf_status status = fake_time(b, l, opts, out, err);
  out->samples = opts->min_samples;
  if (n_asked < 64) asked_samples[n_asked++] = opts->min_samples;
  return status;
}

TEST(halving_times_the_better_ones_longer) {
  mlaf_tuner_steps steps = fake_steps;
  steps.time = counting_time;
  n_asked = 0;
  fake *f = fake_new(9, 4);
  mlaf_tuner_result r = tune_ok(f, NULL, &steps, (mlaf_tuner_opts){.strategy = MLAF_STRATEGY_HALVING});
  assert_int_equal(r.n, 36);
  assert_int_equal(f->verifies, 36);
  assert_string_equal(r.choice.variant, "k0/s2");
  const int full = mlaf_bench_rested_opts().min_samples;
  assert_int_equal(asked_samples[0], full / 3);
  assert_int_equal(asked_samples[35], full / 3);
  assert_int_equal(asked_samples[36], 2 * full / 3); /* 12 of them in the second rung, 4 in the third */
  assert_int_equal(asked_samples[47], 2 * full / 3);
  assert_int_equal(asked_samples[48], full);
  assert_true(f->timings >= 36 + 12 + 4);
  mlaf_tuner_result_clear(&r);
  free(f);
  f = fake_new(9, 4); /* where times are modelled one rung says everything */
  f->device.ops = &fake_emulated_ops;
  f->modelled = true;
  r = tune_ok(f, NULL, &fake_steps, (mlaf_tuner_opts){.strategy = MLAF_STRATEGY_HALVING});
  assert_int_equal(f->timings, 36);
  mlaf_tuner_result_clear(&r);
  free(f);
}

/* The model has two splits 5 % behind one, three 10 %. */
static mlaf_status near_splits_space(mlaf_gen *g, const char *problem, const char *target, mlaf_variant **list, size_t *n,
                                     mlaf_err *err) {
  mlaf_status status = fake_space(g, problem, target, list, n, err);
  for (size_t i = 0; !status && i < *n; i++) {
    mlaf_variant *v = &(*list)[i];
    if (!v->rejected) v->model_ns *= (1 + 0.05 * (v->knob - 1)) / (1 + 0.5 * (v->knob - 1));
  }
  return status;
}

/* The first problem of a campaign teaches how far the model is off for a kernel, not how its split counts trade. So the second
 * one finds the faster split count, too. */
TEST(lessons_do_not_hide_a_split_count) {
  mlaf_learned *learned = mlaf_learned_new();
  mlaf_tuner_steps steps = fake_steps;
  steps.space = near_splits_space;
  assert_non_null(learned);
  for (int batch = 4; batch <= 8; batch *= 2) {
    fake *f = fake_new(3, 4);
    f->device.ops = &fake_emulated_ops;
    f->modelled = true;
    mlaf_tuner_env env = {(mlaf_device *)f, NULL, (mlaf_gen *)f, (mlaf_compiler *)f, NULL, &steps, NULL, learned};
    mlaf_problem p = make_problem(16, batch, 1024);
    mlaf_tuner_result r;
    mlaf_err err = {MLAF_OK, ""};
    if (mlaf_tuner_run(&env, pt(&p), &(mlaf_tuner_opts){.max_candidates = 8}, &r, &err)) fail_msg("tune: %s", err.text);
    if (strcmp(r.choice.variant, "k0/s2")) fail_msg("batch %d: %s chosen; timed: %s", batch, r.choice.variant, f->log);
    mlaf_tuner_result_clear(&r);
    free(f);
  }
  mlaf_learned_free(learned);
}

/* The clock falls by 1 % with every timing, so that whoever is timed later looks slower than he is: k0 and k1 are 1 % apart,
 * and three timings lie between them. Only a comparison in turns can tell. */
static double drift;
static mlaf_status drifting_time(mlaf_bench *b, const mlaf_loaded *l, const mlaf_time_opts *opts, mlaf_timing *out,
                                 mlaf_err *err) {
  mlaf_status status = fake_time(b, l, opts, out, err);
  out->ns *= 1 + drift;
  out->p10_ns *= 1 + drift;
  out->p90_ns *= 1 + drift;
  drift += 0.002;
  return status;
}

TEST(front_runners_are_compared_in_turns) {
  mlaf_tuner_steps steps = fake_steps;
  steps.time = drifting_time;
  drift = 0;
  fake *f = fake_new(3, 1);
  f->k[0].ns = 1005; /* timed first, by 0.5 % slower than k1 */
  f->k[1].ns = 1000;
  f->k[2].ns = 1002;
  f->k[0].model_ns = 1;
  f->k[1].model_ns = 9; /* timed last */
  f->k[2].model_ns = 5;
  mlaf_db *db = open_db(((db_dir *)*state)->path);
  mlaf_tuner_result r = tune_ok(f, db, &steps, (mlaf_tuner_opts){.strategy = MLAF_STRATEGY_EXHAUSTIVE});
  assert_string_equal(r.items[0].sample.variant, "k1/s1");
  assert_int_equal(count_in(f->log, "t:k0/s1"), 1 + 5);
  assert_int_equal(count_in(f->log, "t:k1/s1"), 1 + 5);
  assert_int_equal(count_in(f->log, "v:"), 3);
  assert_has(r.items[0].sample.timing.detail, "in 5 turns with 2 others");
  assert_int_equal(count(db).samples, 6); /* both times are kept */
  mlaf_tuner_result_clear(&r);
  /* A new run with a new kernel: the standing choice, known from the database, takes part. */
  f->n = 4;
  f->k[3].ns = 990;
  f->k[3].model_ns = 20;
  r = tune_ok(f, db, &steps, (mlaf_tuner_opts){.strategy = MLAF_STRATEGY_EXHAUSTIVE});
  assert_int_equal(count_in(f->log, "v:k3/s1"), 1);
  assert_int_equal(count_in(f->log, "t:k1/s1"), 5);
  assert_int_equal(count_in(f->log, "t:k3/s1"), 1 + 5);
  mlaf_tuner_result_clear(&r);
  mlaf_db_close(db);
  free(f);
}

/* Everything is 8 % slower from the fourth timing on: k2, 5 % behind and in no comparison, would look like the best. */
static mlaf_status warming_time(mlaf_bench *b, const mlaf_loaded *l, const mlaf_time_opts *opts, mlaf_timing *out,
                                mlaf_err *err) {
  mlaf_status status = fake_time(b, l, opts, out, err);
  const double by = l->f->timings > 3 ? 1.08 : 1;
  out->ns *= by;
  out->p10_ns *= by;
  out->p90_ns *= by;
  return status;
}

TEST(who_leads_behind_a_comparison_is_compared) {
  mlaf_tuner_steps steps = fake_steps;
  steps.time = warming_time;
  fake *f = fake_new(3, 1);
  f->k[1].ns = 1010;
  f->k[2].ns = 1050;
  mlaf_tuner_result r = tune_ok(f, NULL, &steps, (mlaf_tuner_opts){.strategy = MLAF_STRATEGY_EXHAUSTIVE});
  assert_string_equal(r.choice.variant, "k0/s1");
  assert_int_equal(count_in(f->log, "t:k2/s1"), 1 + 5);
  mlaf_tuner_result_clear(&r);
  free(f);
}

/* k1 is the fastest with the lengths of the rounds, the model's pick k0, 20 % behind there, with all others. */
static int benches;
static bool room_for_one;
static mlaf_status counted_bench(mlaf_device *dev, const mlaf_point *p, const mlaf_bench_opts *opts, mlaf_bench **out,
                                 mlaf_err *err) {
  if (!room_for_one) assert_int_equal(opts->data.lengths.seed, benches ? benches + 1 : 0); /* each draw is another */
  if (benches && room_for_one) return mlaf_fail(err, MLAF_E_NOMEM, "no device memory");
  benches++;
  return fake_bench(dev, p, opts, out, err);
}
static mlaf_status lucky_time(mlaf_bench *b, const mlaf_loaded *l, const mlaf_time_opts *opts, mlaf_timing *out, mlaf_err *err) {
  mlaf_status status = fake_time(b, l, opts, out, err);
  const double by = benches == 1 ? 1 : l->kernel == 1 ? 3 : 2; /* other draws have more tokens */
  out->ns *= by, out->p10_ns *= by, out->p90_ns *= by;
  return status;
}

TEST(a_lucky_draw_of_lengths_does_not_win) {
  mlaf_tuner_steps steps = fake_steps;
  steps.time = lucky_time;
  steps.bench = counted_bench;
  benches = 0;
  fake *f = fake_new(3, 1);
  f->k[0].ns = 1200, f->k[0].model_ns = 1;
  f->k[1].ns = 1000, f->k[1].model_ns = 2;
  f->k[2].ns = 5000, f->k[2].model_ns = 3;
  mlaf_tuner_opts opts = {.strategy = MLAF_STRATEGY_EXHAUSTIVE, .lengths = {.kind = MLAF_LENGTHS_UNIFORM}};
  mlaf_tuner_result r = tune_ok(f, NULL, &steps, opts);
  assert_string_equal(r.choice.variant, "k0/s1");
  assert_int_equal(benches, 5);
  assert_true(r.choice.ns < 1200); /* in terms of the first draw */
  mlaf_tuner_result_clear(&r);
  benches = 0;
  room_for_one = true; /* one draw has to do */
  r = tune_ok(f, NULL, &steps, opts);
  room_for_one = false;
  assert_string_equal(r.choice.variant, "k1/s1");
  mlaf_tuner_result_clear(&r);
  free(f);
}

/* A library proposes fewer products than the generator lists: the rest is no candidate, and is not asked for again. */
static mlaf_status listed_products(mlaf_gen *g, const char *problem, const char *target, mlaf_variant **list, size_t *n,
                                   mlaf_err *err) {
  *list = calloc(4, sizeof **list);
  for (*n = 0; *n < 4; ++*n) {
    mlaf_variant *v = &(*list)[*n];
    v->name = mlaf_format("lib%zu/s1", *n);
    v->knob = 1;
    v->kernels[0] = (mlaf_kernel_desc){
        mlaf_strdup("fake_library"), mlaf_format("i=%zu", *n + 4), "", "", 256, 16, 1024, 400, 64, 304};
    snprintf(v->kernels[0].symbol, sizeof v->kernels[0].symbol, "mlaf_k%zu", *n + 4);
    mlaf_sha256_hex("library", 7, v->kernels[0].template_hash);
  }
  return MLAF_OK;
}
static int asked_for;
static mlaf_status open_products(mlaf_device *dev, const mlaf_point *p, const mlaf_loaded_desc *desc, mlaf_loaded **out,
                                 mlaf_err *err) {
  const int way = !strncmp(desc->name, "lib", 3) ? desc->name[3] - '0' : 0;
  asked_for += way >= 2;
  if (way >= 2) return mlaf_fail(err, MLAF_E_TEMPLATE, "the library has 2 ways, and way %d is asked for", way);
  return fake_open(dev, p, desc, out, err);
}
static mlaf_status no_library(mlaf_device *dev, mlaf_err *err) { return MLAF_OK; }

TEST(proposals_that_there_are_not) {
  fake *f = fake_new(2, 1);
  f->k[1].model_ns = 1010;
  mlaf_device_ops ops = *f->device.ops;
  mlaf_tuner_steps steps = fake_steps;
  ops.features |= MLAF_DEVICE_LIBRARIES;
  ops.library_open = no_library;
  steps.libraries = listed_products;
  steps.open = open_products;
  mlaf_op op = *pt(&(mlaf_problem)MLAF_PROBLEM_INIT)->op;
  mlaf_calls calls = *op.calls;
  calls.libraries = true;
  op.calls = &calls;
  mlaf_db *db = open_db(((db_dir *)*state)->path);
  f->device.ops = &ops;
  for (int k = 4; k < 8; k++) f->k[k].ns = 1500 + k;
  for (int run = 0; run < 2; run++) {
    mlaf_tuner_env env = {(mlaf_device *)f, db, (mlaf_gen *)f, (mlaf_compiler *)f, NULL, &steps, NULL, NULL};
    mlaf_problem p = problem();
    mlaf_point at = *pt(&p);
    mlaf_tuner_result r;
    mlaf_err err = {MLAF_OK, ""};
    at.op = &op;
    asked_for = 0;
    assert_int_equal(mlaf_tuner_run(&env, &at, NULL, &r, &err), MLAF_OK);
    if (r.n != 4 || r.failed || r.space != 4 || r.libraries != 2)
      fail_msg("run %d: %zu tried, %zu failed, space %zu, %zu libraries; last: %s", run, r.n, r.failed, r.space, r.libraries,
               r.items[r.n - 1].sample.detail);
    assert_int_equal(asked_for, run ? 0 : 2);
    assert_int_equal(r.resumed, run ? 4 : 0);
    mlaf_tuner_result_clear(&r);
  }
  mlaf_db_close(db);
  free(f);
}

/* Noisy at first, quiet later: what could be the best gets its chance behind the rounds. */
static int noisy_until;
static mlaf_status settling_time(mlaf_bench *b, const mlaf_loaded *l, const mlaf_time_opts *opts, mlaf_timing *out,
                                 mlaf_err *err) {
  l->f->k[0].noisy = l->f->timings < noisy_until;
  return fake_time(b, l, opts, out, err);
}

TEST(noise_is_measured_again_and_classed) {
  mlaf_tuner_steps steps = fake_steps;
  steps.time = settling_time;
  noisy_until = 5;
  fake *f = fake_new(3, 1);
  mlaf_tuner_result r = tune_ok(f, NULL, &steps, (mlaf_tuner_opts){.strategy = MLAF_STRATEGY_EXHAUSTIVE});
  assert_string_equal(r.choice.variant, "k0/s1");
  assert_int_equal(r.failed, 0);
  mlaf_tuner_result_clear(&r);
  noisy_until = 1000;
  r = tune_ok(f, NULL, &steps, (mlaf_tuner_opts){.strategy = MLAF_STRATEGY_EXHAUSTIVE});
  assert_string_equal(r.choice.variant, "k1/s1");
  assert_int_equal(r.failed, 1);
  assert_has(r.items[2].sample.detail, "spikes: p90 is 2.02 times p10");
  mlaf_tuner_result_clear(&r);
  free(f);
}

/* Nothing else passed: it is measured longer, and then its median stands. */
static int most_samples;
static mlaf_status unsteady_time(mlaf_bench *b, const mlaf_loaded *l, const mlaf_time_opts *opts, mlaf_timing *out,
                                 mlaf_err *err) {
  if (opts->min_samples > most_samples) most_samples = opts->min_samples;
  return fake_time(b, l, opts, out, err);
}

TEST(noise_without_a_rival) {
  mlaf_tuner_steps steps = fake_steps;
  steps.time = unsteady_time;
  for (int rivals = 0; rivals < 2; rivals++) {
    fake *f = fake_new(2, 1);
    f->k[0].noisy = true;
    f->k[1].noisy = rivals;
    f->k[1].verify = rivals ? MLAF_OK : MLAF_E_INCORRECT;
    f->k[1].model_ns = f->k[0].model_ns;
    mlaf_tuner_env env = {(mlaf_device *)f, NULL, (mlaf_gen *)f, (mlaf_compiler *)f, NULL, &steps, NULL, NULL};
    mlaf_problem p = problem();
    mlaf_tuner_result r;
    mlaf_err err = {MLAF_OK, ""};
    most_samples = 0;
    const mlaf_status st = mlaf_tuner_run(&env, pt(&p), &(mlaf_tuner_opts){.strategy = MLAF_STRATEGY_EXHAUSTIVE}, &r, &err);
    const int usual = mlaf_bench_rested_opts().min_samples;
    assert_int_equal(most_samples, 8 * 4 * usual); /* eight times, and a third measurement takes four times as many */
    assert_int_equal(st, rivals ? MLAF_E_NOT_TUNED : MLAF_OK);
    assert_int_equal(r.has_choice, !rivals);
    assert_int_equal(r.failed, rivals ? 2 : 1);
    if (!rivals) {
      assert_string_equal(r.choice.variant, "k0/s1");
      assert_has(r.items[0].sample.timing.detail, "no rival; ");
    }
    mlaf_tuner_result_clear(&r);
    free(f);
  }
}

/* --- dying and working side by side --- */
static int from_env(const char *name, int otherwise) { return getenv(name) ? atoi(getenv(name)) : otherwise; }

static void in_child(const char *path) {
  fake *f = fake_new(8, 4);
  mlaf_db *db = open_db(path);
  snprintf(f->device.info.id, sizeof f->device.info.id, "fake:killed");
  mlaf_tuner_result r;
  mlaf_err err;
  _exit(tune_with(f, db, &fake_steps, (mlaf_tuner_opts){.strategy = MLAF_STRATEGY_EXHAUSTIVE}, &r, &err) == MLAF_OK ? 0 : 1);
}

/* A killed tuner's records stay, the run goes on, and the lock is free again. */
TEST_OF(a_killed_tuner_goes_on, db_dir *d) {
  killing k = killing_begin(12, 7, 90e3);
  int64_t before = 0;
  mlaf_db_close(open_db(d->path));
  while (killing_goes_on(&k)) {
    pid_t child = fork();
    if (child == 0) in_child(d->path);
    int status;
    const bool finished = !killing_hits(&k, child);
    waitpid(child, &status, 0);
    if (finished) assert_int_equal(status, 0);
    mlaf_db *db = open_db(d->path);
    int64_t now = count(db).samples;
    assert_true(now >= before);
    assert_sound(db);
    before = now;
    mlaf_db_close(db);
    if (finished) { /* begin again */
      before = 0;
      unlink(d->path);
      mlaf_db_close(open_db(d->path));
    }
  }
  killing_report(&k, "tuners of a fake device");
  fake *f = fake_new(8, 4);
  mlaf_db *db = open_db(d->path);
  snprintf(f->device.info.id, sizeof f->device.info.id, "fake:killed");
  mlaf_tuner_result r = tune_ok(f, db, &fake_steps, (mlaf_tuner_opts){.strategy = MLAF_STRATEGY_EXHAUSTIVE});
  assert_int_equal(r.n, 32);
  assert_true((int64_t)r.resumed >= (before < 32 ? before : 32)); /* nothing recorded was done again */
  assert_string_equal(r.choice.variant, "k0/s2");
  mlaf_tuner_result_clear(&r);
  mlaf_db_close(db);
  free(f);
}

static void one_tuner(const char *path, int who, double until) {
  mlaf_err err = {0};
  for (int round = 0; !round || mlaf_now() < until; round++) { /* once, however late it comes to it */
    fake *f = fake_new(5, 3);
    mlaf_db *db = NULL;
    char compiler[32];
    snprintf(f->device.info.id, sizeof f->device.info.id, "fake:shared");
    snprintf(compiler, sizeof compiler, "compiler %d-%d", who, round); /* nothing is known: everything is done */
    f->compiler = compiler;
    if (mlaf_db_open(path, false, NULL, &db, &err) != MLAF_OK) {
      fprintf(stderr, "tuner %d: %s\n", who, err.text);
      _exit(1);
    }
    mlaf_tuner_result r;
    if (tune_with(f, db, &fake_steps, (mlaf_tuner_opts){.max_candidates = 6}, &r, &err) != MLAF_OK) {
      fprintf(stderr, "tuner %d: %s\n", who, err.text);
      _exit(2);
    }
    mlaf_tuner_result_clear(&r);
    mlaf_db_close(db);
    free(f);
  }
  _exit(0);
}

static void one_planner(const char *path, int who, double until) {
  mlaf_err err = {0};
  mlaf_db *db = NULL;
  fake *f = fake_new(1, 1);
  snprintf(f->device.info.id, sizeof f->device.info.id, "fake:shared");
  if (mlaf_db_open(path, false, NULL, &db, &err) != MLAF_OK) {
    fprintf(stderr, "planner %d: %s\n", who, err.text);
    _exit(1);
  }
  for (int i = 0; !i || mlaf_now() < until; i++) {
    mlaf_problem p = make_problem(16, i % 3 ? 4 : 1 + who, 1024);
    mlaf_choice c;
    mlaf_rung rung;
    mlaf_status status = mlaf_db_choose(db, &f->device.info, NULL, pt(&p), &c, &rung, &err);
    if (status != MLAF_OK && status != MLAF_E_NOT_TUNED) {
      fprintf(stderr, "planner %d: %s\n", who, err.text);
      _exit(3);
    }
    nanosleep(&(struct timespec){0, 300000L}, NULL);
  }
  mlaf_db_close(db);
  _exit(0);
}

/* 8 processes on one new file for MLAF_STRESS_S seconds (300 in a full run). */
TEST_OF(eight_processes_tune_and_plan, db_dir *d) {
  double until = mlaf_now() + from_env("MLAF_STRESS_S", 4);
  pid_t children[8];
  for (int i = 0; i < 8; i++)
    if ((children[i] = fork()) == 0) (i < 4 ? one_tuner : one_planner)(d->path, i, until);
  for (int i = 0; i < 8; i++) {
    int status = -1;
    waitpid(children[i], &status, 0);
    assert_int_equal(status, 0);
  }
  mlaf_db *db = open_db(d->path);
  assert_sound(db);
  assert_true(count(db).samples >= 4 * 6 && count(db).misses >= 1);
  mlaf_db_close(db);
}

TESTS_EACH(db_dir_setup, db_dir_teardown)
