/* The tuner's logic against a scripted generator, compiler and device. */
#include <sys/file.h>
#include <sys/wait.h>

#include "db/db_fixture.h"
#include "tune/fake_steps.h"
#include "point.h"

static mlaf_problem problem(void) { return make_problem(16, 4, 1024); }

static mlaf_status tune(fake *f, mlaf_db *db, mlaf_tuner_opts opts, mlaf_tuner_result *r, mlaf_err *err) {
  mlaf_tuner_env env = {(mlaf_device *)f, db, (mlaf_gen *)f, (mlaf_compiler *)f, NULL, &fake_steps, NULL, NULL};
  mlaf_problem p = problem();
  opts.cancel = &f->cancel;
  f->log[0] = 0;
  mlaf_status status = mlaf_tuner_run(&env, pt(&p), &opts, r, err);
  assert_int_equal(f->opened, f->closed);
  return status;
}

static mlaf_tuner_result tune_ok(fake *f, mlaf_db *db, mlaf_tuner_opts opts) {
  mlaf_tuner_result r;
  mlaf_err err = {MLAF_OK, ""};
  if (tune(f, db, opts, &r, &err) != MLAF_OK) fail_msg("tune: %s", err.text);
  return r;
}

static const mlaf_tuner_item *item(const mlaf_tuner_result *r, const char *variant) {
  for (size_t i = 0; i < r->n; i++)
    if (strcmp(r->items[i].sample.variant, variant) == 0) return &r->items[i];
  fail_msg("%s was not tried", variant);
  return r->items;
}

/* Each timing in the log stands right behind the verification of the very same variant and split count. */
static void assert_verified_before_timed(const char *log) {
  int timings = 0;
  for (const char *t = strstr(log, "t:"); t; t = strstr(t + 1, "t:")) {
    char verified[64];
    size_t n = strcspn(t, " ");
    snprintf(verified, sizeof verified, "v:%.*s %.*s", (int)n - 2, t + 2, (int)n, t);
    const char *expect = t - (strlen(verified) - n);
    if (expect < log || strncmp(expect, verified, strlen(verified)) != 0)
      fail_msg("'%.20s' without verification in '%s'", t, log);
    timings++;
  }
  assert_true(timings > 0);
}

TEST(finds_the_best_and_records_all) {
  mlaf_db *db = open_db(((db_dir *)*state)->path);
  fake *f = fake_new(4, 4);
  mlaf_tuner_result r = tune_ok(f, db, (mlaf_tuner_opts){0});
  assert_verified_before_timed(f->log);
  assert_true(r.has_choice && r.recorded);
  assert_string_equal(r.choice.variant, "k0/s2"); /* the model ranks s1 first: round 2 has found it */
  assert_true(r.choice.ns == 900);
  assert_int_equal(r.choice.source, MLAF_SRC_MEASURED);
  assert_int_equal(r.space, 16);
  assert_int_equal(r.rejected, 1);
  assert_string_equal(r.stopped, "");
  assert_string_equal(r.items[0].sample.variant, "k0/s2"); /* best first */
  /* 4 decode kernels and one combine kernel, whatever the number of splits */
  assert_int_equal(atomic_load(&f->compiles), 5);
  assert_int_equal(r.compiles, 5);
  assert_int_equal(count(db).samples, (int)r.n);
  mlaf_problem p = problem();
  mlaf_choice c;
  mlaf_rung rung;
  mlaf_err err;
  assert_int_equal(mlaf_db_choose(db, &f->device.info, f->compiler, pt(&p), &c, &rung, &err), MLAF_OK);
  assert_string_equal(c.variant, "k0/s2");
  assert_false(c.stale);
  assert_int_equal(strlen(c.kernels[0].code_key), 64);
  mlaf_tuner_result_clear(&r);
  mlaf_db_close(db);
  free(f);
}

/* More splits than two are worse by the model and by what was timed of two: they are passed over. */
TEST(near_kernels_get_splits_that_may_win) {
  fake *f = fake_new(5, 4);
  f->k[1].model_ns = 1010, f->k[1].ns = 1040;
  f->k[4].ns = f->k[4].model_ns = 5000;
  mlaf_tuner_result r = tune_ok(f, NULL, (mlaf_tuner_opts){0});
  assert_false(r.recorded);
  assert_string_equal(r.choice.variant, "k0/s2");
  for (size_t i = 0; i < r.n; i++) {
    const char *name = r.items[i].sample.variant;
    assert_true(name[1] == '4' ? !strcmp(name, "k4/s1") : !strcmp(name + 2, "/s1") || !strcmp(name + 2, "/s2"));
  }
  if (r.n != 4 || !r.passed_over) /* k0 and k1 with one split and with two: the others cannot win */
    fail_msg("%zu tried, %zu passed over", r.n, r.passed_over);
  assert_true(f->give_up_ns == 3 * 900); /* the last timing was told when to give up */
  mlaf_tuner_result_clear(&r);
  free(f);
}

/* The model has the slower kernel first, and the limit leaves room for one more split count. */
TEST(the_fastest_kernel_gets_splits_first) {
  fake *f = fake_new(2, 2);
  f->k[0].ns = 1200;
  f->k[1].ns = 1000, f->k[1].model_ns = 1010;
  mlaf_tuner_result r = tune_ok(f, NULL, (mlaf_tuner_opts){.max_candidates = 3});
  assert_int_equal(r.n, 3);
  assert_string_equal(r.choice.variant, "k1/s2");
  assert_non_null(strstr(f->log, "t:k0/s1 "));
  assert_null(strstr(f->log, "t:k0/s2 "));
  mlaf_tuner_result_clear(&r);
  free(f);
}

TEST(failures_are_outcomes) {
  mlaf_db *db = open_db(((db_dir *)*state)->path);
  fake *f = fake_new(8, 2);
  f->k[0].compile = MLAF_E_COMPILE;
  f->k[1].scratch = 720;
  f->k[2].verify = MLAF_E_INCORRECT;
  f->k[3].verify = MLAF_E_FAULT;
  f->k[4].time = MLAF_E_DEVICE;
  f->k[5].noisy = true;
  f->k[6].compile = MLAF_E_TIMEOUT;
  mlaf_tuner_result r = tune_ok(f, db, (mlaf_tuner_opts){0});
  assert_string_equal(r.choice.variant, "k7/s2");
  static const mlaf_outcome expect[] = {MLAF_OUT_COMPILE, MLAF_OUT_RESOURCES, MLAF_OUT_INCORRECT, MLAF_OUT_FAULT,
                                        MLAF_OUT_LAUNCH,  MLAF_OUT_NOISY,     MLAF_OUT_TIMEOUT,   MLAF_OUT_OK};
  for (int k = 0; k < 8; k++) {
    char name[16];
    snprintf(name, sizeof name, "k%d/s1", k);
    assert_int_equal(item(&r, name)->sample.outcome, expect[k]);
  }
  assert_string_equal(item(&r, "k0/s1")->sample.detail, "x.hip:3: error: it will not do (by fake compiler 1)");
  assert_has(item(&r, "k1/s1")->sample.detail, "720 bytes of scratch");
  assert_int_equal(item(&r, "k1/s1")->sample.scratch, 720);
  assert_has(item(&r, "k2/s1")->sample.detail, "row 3 is wrong");
  assert_null(strstr(f->log, "t:k2"));                /* what is wrong is not timed */
  assert_null(strstr(f->log, "v:k1"));                /* and what spills does not even run */
  assert_non_null(strstr(f->log, "t:k5/s1 t:k5/s1")); /* noise gets one more chance */
  assert_int_equal(r.failed, 7);
  assert_int_equal(count(db).failures, 7);
  mlaf_tuner_result_clear(&r);
  int before = atomic_load(&f->compiles);
  r = tune_ok(f, db, (mlaf_tuner_opts){0}); /* failures are not retried */
  assert_int_equal(atomic_load(&f->compiles), before);
  assert_string_equal(f->log, "");
  assert_int_equal(r.failed, 7);
  mlaf_tuner_result_clear(&r);
  mlaf_db_close(db);
  free(f);
}

/* A compile that this machine kept from working is no result, whatever it is that the machine lacks. */
TEST(nothing_of_the_machine_is_recorded) {
  mlaf_db *db = open_db(((db_dir *)*state)->path);
  fake *f = fake_new(2, 2);
  static const mlaf_status machine[] = {MLAF_E_IO, MLAF_E_NOMEM, MLAF_E_KILLED, MLAF_E_NO_COMPILER};
  for (size_t i = 0; i < sizeof machine / sizeof *machine; i++) {
    mlaf_tuner_result r;
    mlaf_err err = {MLAF_OK, ""};
    f->k[0].compile = f->k[1].compile = machine[i];
    assert_int_equal(tune(f, db, (mlaf_tuner_opts){0}, &r, &err), machine[i]);
    assert_has(err.text, "mlaf_k0: x.hip:3: error: it will not do");
    assert_int_equal(count(db).samples, 0);
    mlaf_tuner_result_clear(&r);
  }
  f->k[0].compile = f->k[1].compile = MLAF_OK;
  mlaf_tuner_result r = tune_ok(f, db, (mlaf_tuner_opts){0});
  assert_int_equal(r.failed + r.resumed, 0);
  mlaf_tuner_result_clear(&r);
  mlaf_db_close(db);
  free(f);
}

/* Samples as older versions recorded them, failures of the machine among them: "failed", and no compiler named. */
TEST(failures_without_a_compiler_are_tried_again) {
  mlaf_db *db = open_db(((db_dir *)*state)->path);
  fake *f = fake_new(3, 1);
  const mlaf_problem p = problem();
  f->k[0].compile = MLAF_E_COMPILE;
  f->k[1].compile = MLAF_E_TIMEOUT;
  mlaf_tuner_result r = tune_ok(f, db, (mlaf_tuner_opts){0});
  assert_int_equal(r.failed, 2);
  for (int k = 0; k < 2; k++) {
    mlaf_sample s = item(&r, k ? "k1/s1" : "k0/s1")->sample;
    snprintf(s.detail, sizeof s.detail, "%s", k ? "the compiler (pid 7) took longer than 120 s" : "HIPRTC_ERROR_COMPILATION");
    assert_int_equal(mlaf_db_add_sample(db, &f->device.info, f->compiler, pt(&p), &s, NULL), MLAF_OK);
  }
  mlaf_tuner_result_clear(&r);
  f->k[0].compile = f->k[1].compile = MLAF_OK;
  r = tune_ok(f, db, (mlaf_tuner_opts){0});
  assert_int_equal(r.failed, 0);
  assert_int_equal(r.resumed, 1); /* what had been good */
  assert_string_equal(r.choice.variant, "k0/s1");
  mlaf_tuner_result_clear(&r);
  mlaf_db_close(db);
  free(f);
}

/* A model ends with the run's time limit: this run does without the candidate, the next one tries it again. */
TEST(a_slow_model_is_not_recorded) {
  mlaf_db *db = open_db(((db_dir *)*state)->path);
  fake *f = fake_new(2, 1);
  f->k[1].ns = f->k[1].model_ns = 1010;
  f->device.ops = &fake_emulated_ops;
  f->modelled = true;
  f->k[1].time = MLAF_E_TIMEOUT;
  mlaf_tuner_result r = tune_ok(f, db, (mlaf_tuner_opts){0});
  assert_int_equal(r.failed, 1);
  assert_int_equal(count(db).samples, 1);
  mlaf_tuner_result_clear(&r);
  f->k[1].time = MLAF_OK;
  r = tune_ok(f, db, (mlaf_tuner_opts){0});
  assert_int_equal(r.failed, 0);
  assert_int_equal(r.resumed, 1);
  assert_int_equal(count(db).samples, 2);
  mlaf_tuner_result_clear(&r);
  mlaf_db_close(db);
  free(f);
}

/* Earlier versions ended the timing model by the wall clock and kept what it had. A device's own samples may be few. */
TEST(a_time_that_a_busy_host_cut_is_taken_anew) {
  for (int modelled = 0; modelled < 2; modelled++) {
    mlaf_db *db = open_db(((db_dir *)*state)->path);
    fake *f = fake_new(2, 1);
    f->device.ops = modelled ? &fake_emulated_ops : f->device.ops;
    f->modelled = modelled;
    f->timing = "simulated 20 of 1152 workgroups by length, 1 per CU, matrix pipes 43 % busy, time limit";
    mlaf_tuner_result r = tune_ok(f, db, (mlaf_tuner_opts){.no_resume = true});
    const size_t tried = r.n;
    mlaf_tuner_result_clear(&r);
    f->timing = NULL;
    for (int again = 0; again < 2; again++) {
      r = tune_ok(f, db, (mlaf_tuner_opts){0});
      assert_int_equal(r.resumed, modelled && !again ? 0 : tried);
      mlaf_tuner_result_clear(&r);
    }
    mlaf_db_close(db);
    free(f);
  }
}

TEST(a_second_run_answers_from_the_database) {
  mlaf_db *db = open_db(((db_dir *)*state)->path);
  fake *f = fake_new(4, 4);
  mlaf_tuner_result first = tune_ok(f, db, (mlaf_tuner_opts){0});
  atomic_store(&f->compiles, 0);
  mlaf_tuner_result r = tune_ok(f, db, (mlaf_tuner_opts){0});
  assert_int_equal(atomic_load(&f->compile_calls), 2); /* rounds 1 and 2 of the first run */
  assert_int_equal(r.compiles + r.kernels, 0);
  assert_int_equal(r.n, first.n);
  assert_int_equal(r.resumed, r.n);
  assert_string_equal(r.choice.variant, first.choice.variant);
  assert_string_equal(f->log, "");
  mlaf_tuner_result_clear(&r);
  f->compiler = "fake compiler 2"; /* other code: everything again */
  r = tune_ok(f, db, (mlaf_tuner_opts){0});
  assert_int_equal(r.resumed, 0);
  assert_int_equal(atomic_load(&f->compiles), 5);
  mlaf_tuner_result_clear(&r);
  f->version = "v2"; /* another template */
  r = tune_ok(f, db, (mlaf_tuner_opts){0});
  assert_int_equal(r.resumed, 0);
  mlaf_tuner_result_clear(&r);
  r = tune_ok(f, db, (mlaf_tuner_opts){.no_resume = true});
  assert_int_equal(r.resumed, 0);
  mlaf_tuner_result_clear(&r);
  mlaf_tuner_result_clear(&first);
  mlaf_db_close(db);
  free(f);
}

TEST(a_cancelled_run_goes_on) {
  mlaf_db *db = open_db(((db_dir *)*state)->path);
  fake *whole = fake_new(6, 4);
  mlaf_tuner_result all = tune_ok(whole, NULL, (mlaf_tuner_opts){0});
  fake *f = fake_new(6, 4);
  size_t seen = 0;
  mlaf_err err;
  for (int stop = 1; seen < all.n; stop++) {
    mlaf_tuner_result r;
    f->timings = 0;
    f->cancel_after = stop;
    atomic_store(&f->cancel, false);
    mlaf_status status = tune(f, db, (mlaf_tuner_opts){0}, &r, &err);
    assert_true(r.n > seen); /* each run goes on where the last one stopped */
    assert_int_equal(r.resumed, seen);
    assert_int_equal(count(db).samples, (int)r.n);
    if (status == MLAF_E_CANCELLED) {
      assert_string_equal(r.stopped, "cancelled");
      assert_has(err.text, "finished ones are kept");
    } else {
      assert_int_equal(status, MLAF_OK);
    }
    seen = r.n;
    mlaf_tuner_result_clear(&r);
  }
  atomic_store(&f->cancel, false);
  f->cancel_after = 0;
  mlaf_tuner_result r = tune_ok(f, db, (mlaf_tuner_opts){0});
  assert_int_equal(r.n, all.n); /* the same candidates as an undisturbed run */
  assert_int_equal(r.resumed, r.n);
  assert_string_equal(r.choice.variant, all.choice.variant);
  mlaf_tuner_result_clear(&r);
  mlaf_tuner_result_clear(&all);
  mlaf_db_close(db);
  free(f);
  free(whole);
}

TEST(limits_leave_room_for_splits_and_templates) {
  fake *f = fake_new(12, 4);
  for (int k = 6; k < 12; k++) { /* a family the model dislikes, and wrongly so */
    f->k[k].template_name = "fake_other";
    f->k[k].model_ns = 9000 + k;
    f->k[k].ns = 500 + k;
  }
  mlaf_tuner_result r = tune_ok(f, NULL, (mlaf_tuner_opts){.max_candidates = 9});
  assert_int_equal(r.n, 9);
  assert_string_equal(r.choice.variant, "k6/s2");
  mlaf_tuner_result_clear(&r);
  f->device.ops = &fake_emulated_ops; /* a modelled device has a limit of its own, and fewer splits of each kernel */
  f->modelled = true;
  r = tune_ok(f, NULL, (mlaf_tuner_opts){0});
  assert_true(r.n <= MLAF_TUNER_EMU_CANDIDATES);
  assert_int_equal(r.choice.source, MLAF_SRC_MODELLED);
  mlaf_tuner_result_clear(&r);
  free(f);
}

/* The model ranks for equal lengths, and puts the kernel for any lengths last. */
TEST(unequal_lengths_try_what_serves_any) {
  for (int uneven = 0; uneven < 2; uneven++) {
    fake *f = fake_new(12, 1);
    f->k[11].any_lengths = true;
    f->k[11].ns = 100;
    mlaf_tuner_opts opts = {.max_candidates = 6};
    if (uneven) opts.lengths = (mlaf_lengths){.kind = MLAF_LENGTHS_NORMAL, .mean = 1, .std = 0.5};
    mlaf_tuner_result r = tune_ok(f, NULL, opts);
    if (r.n != (uneven ? 2 : 1)) fail_msg("uneven %d: %zu tried", uneven, r.n); /* the others cannot win */
    assert_string_equal(r.choice.variant, uneven ? "k11/s1" : "k0/s1");
    mlaf_tuner_result_clear(&r);
    free(f);
  }
}

TEST(a_dead_device_ends_the_run_with_the_culprit_named) {
  mlaf_db *db = open_db(((db_dir *)*state)->path);
  fake *f = fake_new(4, 2);
  f->k[1].ns = f->k[1].model_ns = 1010;
  f->k[1].verify = MLAF_E_DEVICE;
  f->k[1].kills_device = true;
  mlaf_tuner_result r;
  mlaf_err err;
  assert_int_equal(tune(f, db, (mlaf_tuner_opts){0}, &r, &err), MLAF_E_DEVICE);
  assert_has(err.text, "stopped working");
  assert_has(err.text, "k1/s1");
  assert_int_equal(r.n, 2);
  assert_int_equal(count(db).failures, 1);
  mlaf_tuner_result_clear(&r);
  f->dead = false; /* the next process: goes on with the others, and leaves the culprit alone */
  r = tune_ok(f, db, (mlaf_tuner_opts){0});
  assert_string_equal(r.choice.variant, "k0/s2");
  assert_null(strstr(f->log, "k1/s1"));
  mlaf_tuner_result_clear(&r);
  mlaf_db_close(db);
  free(f);
}

TEST(nothing_passes_or_nothing_compiles) {
  fake *f = fake_new(2, 1);
  mlaf_tuner_result r;
  mlaf_err err;
  f->k[0].compile = MLAF_E_COMPILE;
  f->k[1].verify = MLAF_E_INCORRECT;
  assert_int_equal(tune(f, NULL, (mlaf_tuner_opts){0}, &r, &err), MLAF_E_NOT_TUNED);
  assert_has(err.text, "none of 2 candidates passed (1 compile, 1 incorrect)");
  mlaf_tuner_result_clear(&r);
  f->no_compiler = true;
  assert_int_equal(tune(f, NULL, (mlaf_tuner_opts){0}, &r, &err), MLAF_E_NO_COMPILER);
  assert_int_equal(r.n, 0);
  mlaf_tuner_result_clear(&r);
  free(f);
}

TEST(a_time_limit_keeps_the_best_so_far) {
  fake *f = fake_new(12, 4);
  f->k[1].ns = f->k[1].model_ns = 1010;
  f->timing_ms = 200;
  mlaf_tuner_result r = tune_ok(f, NULL, (mlaf_tuner_opts){.time_limit_s = 0.3});
  assert_string_equal(r.stopped, "time limit");
  assert_in_range(r.n, 1, 4);
  assert_string_equal(r.choice.variant, "k0/s1");
  mlaf_tuner_result_clear(&r);
  free(f);
}

/* A model's limit is an amount of work, and a smaller one gives another time. */
TEST(a_time_limit_leaves_a_models_work_alone) {
  for (int modelled = 0; modelled < 2; modelled++) {
    fake *f = fake_new(2, 1);
    f->modelled = modelled;
    if (modelled) f->device.ops = &fake_emulated_ops;
    mlaf_tuner_result r = tune_ok(f, NULL, (mlaf_tuner_opts){0});
    const double unlimited = f->limit_s;
    mlaf_tuner_result_clear(&r);
    f->timing_ms = 2;
    r = tune_ok(f, NULL, (mlaf_tuner_opts){.time_limit_s = 1.5}); /* less than the 2 s of work that a model gets */
    assert_true(unlimited > 0 && f->deadline > 0);
    if (modelled) assert_true(f->limit_s == unlimited);
    else assert_true(f->limit_s <= unlimited);
    mlaf_tuner_result_clear(&r);
    free(f);
  }
}

TEST_OF(a_read_only_database_is_used_but_not_written, db_dir *d) {
  fake *f = fake_new(3, 2);
  mlaf_db_close(open_db(d->path));
  mlaf_db *db;
  mlaf_err err;
  assert_int_equal(mlaf_db_open(d->path, true, NULL, &db, &err), MLAF_OK);
  mlaf_tuner_result r = tune_ok(f, db, (mlaf_tuner_opts){0});
  assert_true(r.has_choice && !r.recorded);
  assert_int_equal(count(db).samples, 0);
  mlaf_tuner_result_clear(&r);
  mlaf_db_close(db);
  free(f);
}

/* Another process holds the device: the tuner waits for it, and gives up waiting when told to. */
TEST(two_tuners_do_not_time_together) {
  fake *f = fake_new(1, 1);
  mlaf_err err;
  int ready[2], go[2], lock = -1;
  assert_true(!pipe(ready) && !pipe(go));
  pid_t child = fork();
  if (child == 0) {
    if (mlaf_tuner_lock((mlaf_device *)f, NULL, NULL, 0, &lock, NULL) != MLAF_OK || lock < 0) _exit(1);
    if (write(ready[1], "x", 1) != 1 || read(go[0], &(char){0}, 1) != 1) _exit(2);
    nanosleep(&(struct timespec){0, 400000000L}, NULL);
    _exit(0); /* the kernel releases the lock of the dead */
  }
  char byte;
  assert_int_equal(read(ready[0], &byte, 1), 1);
  assert_int_equal(mlaf_tuner_lock((mlaf_device *)f, NULL, NULL, mlaf_now() + 0.1, &lock, &err), MLAF_E_TIMEOUT);
  atomic_bool cancel = true;
  assert_int_equal(mlaf_tuner_lock((mlaf_device *)f, NULL, &cancel, 0, &lock, &err), MLAF_E_CANCELLED);
  assert_int_equal(lock, -1);
  mlaf_device_base neighbour = f->device; /* of the same kind, in another place of this host */
  snprintf(neighbour.info.place, sizeof neighbour.info.place, "0000:c2:00.0");
  assert_int_equal(mlaf_tuner_lock((mlaf_device *)&neighbour, NULL, NULL, mlaf_now() + 60, &lock, &err), MLAF_OK);
  assert_true(lock >= 0);
  mlaf_tuner_unlock(lock);
  mlaf_device_base modelled = {.ops = &fake_emulated_ops, .info = f->device.info}; /* has nothing to wait for */
  assert_int_equal(mlaf_tuner_lock((mlaf_device *)&modelled, NULL, NULL, mlaf_now() + 60, &lock, &err), MLAF_OK);
  assert_int_equal(lock, -1);
  const double start = mlaf_now();
  assert_int_equal(write(go[1], "x", 1), 1); /* it lets go in 0.4 s */
  mlaf_tuner_result r = tune_ok(f, NULL, (mlaf_tuner_opts){0});
  assert_true(mlaf_now() - start > 0.3);
  mlaf_tuner_result_clear(&r);
  int status;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  free(f);
}

/* A verification beside another tuner's timing would spoil it: it waits for that, but not for other verifications. */
TEST(verifies_beside_verifications_alone) {
  fake *f = fake_new(2, 1);
  f->watches = true;
  mlaf_tuner_result r = tune_ok(f, NULL, (mlaf_tuner_opts){0});
  assert_true(f->verifies && f->timings);
  assert_int_equal(f->shared, f->verifies);
  assert_int_equal(f->alone, f->timings);
  mlaf_tuner_result_clear(&r);
  free(f);
}

TESTS_EACH(db_dir_setup, db_dir_teardown)
