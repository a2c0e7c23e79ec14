/* The choice rule, nearest buckets, HARD and SOFT matching, misses. */
#include <sqlite3.h>

#include "db/db_fixture.h"
#include "db/known_hashes.h"

static mlaf_choice choose(mlaf_db *db, const mlaf_device_info *dev, const mlaf_point *p, mlaf_rung *rung) {
  mlaf_choice c = {0};
  mlaf_err err = {0};
  if (mlaf_db_choose(db, dev, TOOLCHAIN, p, &c, rung, &err) != MLAF_OK) fail_msg("choose: %s", err.text);
  return c;
}

static void assert_chosen(mlaf_db *db, const mlaf_device_info *dev, const mlaf_point *p, const char *variant) {
  mlaf_rung rung;
  mlaf_choice c = choose(db, dev, p, &rung);
  assert_string_equal(c.variant, variant);
  assert_int_equal(rung, MLAF_RUNG_EXACT);
}

/* Open over a test's file; its device. */
static mlaf_db *db;
static mlaf_device_info dev;

static void reopen(const db_dir *d) {
  mlaf_db_close(db);
  db = open_db(d->path);
}
static int setup(void **state) {
  if (db_dir_setup(state)) return -1;
  dev = make_device("d");
  reopen(*state);
  return 0;
}
static int teardown(void **state) {
  mlaf_db_close(db);
  db = NULL;
  return db_dir_teardown(state);
}

TEST(what_goes_in_comes_out) {
  dev = make_device("gfx942:sramecc+:xnack-|cu304|xcc8|SPX|NPS1");
  mlaf_point p = make_point(16, 4, 1024);
  mlaf_sample in = make_sample("mfma_reg:waves=4/s4", 5000, "v1"), *out = NULL;
  snprintf(in.timing.detail, sizeof in.timing.detail, "20 repeats");
  add_sample(db, &dev, &p, &in);
  mlaf_sample bad = make_sample("mfma_lds:waves=8/s2", 0, "v1");
  bad.outcome = MLAF_OUT_RESOURCES;
  bad.scratch = 720;
  bad.kernels[1] = (mlaf_kernel_ref){0};
  snprintf(bad.detail, sizeof bad.detail, "263 spills\tand a tab");
  add_sample(db, &dev, &p, &bad);
  size_t n = 0;
  mlaf_err err = {0};
  assert_int_equal(mlaf_db_samples(db, &dev, &p, &out, &n, &err), MLAF_OK);
  assert_int_equal(n, 2);
  assert_string_equal(out[0].variant, in.variant);
  assert_memory_equal(&out[0].kernels[0], &in.kernels[0], sizeof in.kernels[0]);
  assert_memory_equal(&out[0].kernels[1], &in.kernels[1], sizeof in.kernels[1]);
  assert_memory_equal(&out[0].timing, &in.timing, sizeof in.timing);
  assert_true(out[0].error == in.error && out[0].vgpr == 400 && out[0].agpr == 128 && out[0].lds == 1024);
  assert_int_equal(out[1].outcome, MLAF_OUT_RESOURCES);
  assert_int_equal(out[1].scratch, 720);
  assert_string_equal(out[1].detail, bad.detail);
  assert_string_equal(out[1].kernels[1].template_name, "");
  assert_true(out[1].timing.ns == 0);
  free(out);
  assert_chosen(db, &dev, &p, "mfma_reg:waves=4/s4");
  mlaf_db_counts c = count(db);
  assert_true(c.devices == 1 && c.problems == 1 && c.samples == 2 && c.failures == 1 && c.choices == 1 &&
              c.misses == 0);
}

/* Kernels of an earlier tree with the same text: today's hash, and no source hash, which covered comments then. */
TEST(hashes_of_earlier_trees_are_known) {
  mlaf_rung rung;
  assert_true(mlaf_n_known_hashes > 0);
  for (size_t i = 0; i < mlaf_n_known_hashes; i++) {
    const mlaf_known_hash *x = &mlaf_known_hashes[i];
    assert_true(strlen(x->was) == MLAF_KNOWN_DIGITS && strlen(x->now) == MLAF_HASH_HEX - 1);
    assert_true(!i || strcmp(x[-1].was, x->was) < 0);
  }
  const mlaf_known_hash *const some[] = {&mlaf_known_hashes[0], &mlaf_known_hashes[mlaf_n_known_hashes - 1]};
  for (int i = 0; i < 2; i++) {
    const mlaf_point p = make_point(16, 4 << i, 1024);
    mlaf_sample s = make_sample("a", 5000, "v1");
    memcpy(s.kernels[0].template_hash, some[i]->was, MLAF_KNOWN_DIGITS);
    add_sample(db, &dev, &p, &s);
    const mlaf_choice c = choose(db, &dev, &p, &rung);
    assert_string_equal(c.kernels[0].template_hash, some[i]->now);
    assert_string_equal(c.kernels[0].src_hash, "");
    assert_string_equal(c.kernels[0].code_key, s.kernels[0].code_key); /* its compiled code serves on */
    assert_memory_equal(&c.kernels[1], &s.kernels[1], sizeof s.kernels[1]);
  }
}

TEST(impossible_samples_are_refused) {
  mlaf_point p = make_point(16, 4, 1024);
  mlaf_err err = {0};
  mlaf_sample s = make_sample("a", -5, "v1");
  assert_int_equal(mlaf_db_add_sample(db, &dev, TOOLCHAIN, &p, &s, &err), MLAF_E_ARG);
  s = make_sample("a", 5, "v1");
  s.kernels[0].template_name[0] = 0;
  assert_int_equal(mlaf_db_add_sample(db, &dev, TOOLCHAIN, &p, &s, &err), MLAF_E_ARG);
  s = make_sample("", 5, "v1");
  assert_int_equal(mlaf_db_add_sample(db, &dev, TOOLCHAIN, &p, &s, NULL), MLAF_E_ARG);
  assert_int_equal(count(db).samples, 0);
}

/* Within one run only the times count, in whatever order they come. */
TEST_OF(lowest_median_whatever_the_order, db_dir *d) {
  static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};
  static const double ns[] = {1000, 990, 980.5}; /* each step is below the switch margin */
  for (int o = 0; o < 3; o++) {
    reopen(d);
    mlaf_point p = make_point(16, 1, 100 + o);
    for (int i = 0; i < 3; i++) {
      char name[8];
      snprintf(name, sizeof name, "v%d", orders[o][i]);
      mlaf_sample s = make_sample(name, ns[orders[o][i]], "v1");
      add_sample(db, &dev, &p, &s);
    }
    assert_chosen(db, &dev, &p, "v2");
    mlaf_rung rung;
    double margin = choose(db, &dev, &p, &rung).margin;
    assert_true(margin > 0.0096 && margin < 0.0098);
  }
}

/* A later run: the incumbent yields only above max(2 %, 3 MAD). */
TEST(incumbent_yields_to_a_clear_win_only) {
  static const struct {
    double challenger, mad;
    bool yields;
  } cases[] = {{985, 0, false}, {980.1, 0, false}, {979.9, 0, true},  {950, 20, false},
               {939, 20, true}, {961, 12.9, true}, {961, 13.1, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mlaf_point p = make_point(16, 1, 1000 + (int)i);
    reopen(*state);
    mlaf_sample s = make_sample("incumbent", 1000, "v1");
    add_sample(db, &dev, &p, &s);
    reopen(*state);
    s = make_sample("challenger", cases[i].challenger, "v1");
    s.timing.mad_ns = cases[i].mad;
    add_sample(db, &dev, &p, &s);
    assert_chosen(db, &dev, &p, cases[i].yields ? "challenger" : "incumbent");
    /* and it is still judged against the incumbent by a third candidate of this run */
    s = make_sample("third", 984, "v1");
    add_sample(db, &dev, &p, &s);
    assert_chosen(db, &dev, &p, cases[i].yields ? "challenger" : "incumbent");
  }
}

TEST(failures_and_noise_are_never_chosen) {
  mlaf_point p = make_point(16, 1, 1024);
  mlaf_sample s = make_sample("noisy", 10, "v1");
  s.outcome = MLAF_OUT_NOISY;
  add_sample(db, &dev, &p, &s);
  mlaf_choice c;
  mlaf_rung rung;
  mlaf_err err = {0};
  assert_int_equal(mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err), MLAF_E_NOT_TUNED);
  assert_has(err.text, "mlaforge tune 'mla_decode:h16,r512,p64,q1,bf16,page64,b1,s1024'");
  s = make_sample("good", 100, "v1");
  add_sample(db, &dev, &p, &s);
  s = make_sample("better", 50, "v1");
  add_sample(db, &dev, &p, &s);
  assert_chosen(db, &dev, &p, "better");
  s.outcome = MLAF_OUT_INCORRECT; /* the newest sample of a variant counts */
  add_sample(db, &dev, &p, &s);
  assert_chosen(db, &dev, &p, "good");
  s = make_sample("good", 100, "v1");
  s.outcome = MLAF_OUT_FAULT;
  add_sample(db, &dev, &p, &s);
  assert_int_equal(mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err), MLAF_E_NOT_TUNED);
}

static void note_stale(void *user, const char *text) {
  if (strstr(text, "its samples say otherwise")) ++*(int *)user;
}

/* A sample goes, by hand, and leaves a choice behind that the others do not bear out: found by a check, mended by a clean-up. */
TEST(choices_without_their_samples_are_found) {
  const char *path = ((db_dir *)*state)->path;
  mlaf_point p = make_point(16, 1, 1024), other = make_point(16, 8, 1024);
  mlaf_sample fast = make_sample("fast", 50, "v1"), slow = make_sample("slow", 100, "v1");
  mlaf_err err = {0};
  size_t findings = 0;
  int stale = 0;
  add_sample(db, &dev, &other, &slow);
  add_sample(db, &dev, &p, &fast);
  add_sample(db, &dev, &p, &slow);
  assert_chosen(db, &dev, &p, "fast");
  mlaf_db_close(db);
  sqlite3 *raw = NULL;
  assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
  assert_int_equal(sqlite3_exec(raw, "DELETE FROM sample WHERE variant = 'fast'", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(raw);
  db = open_db(path);
  assert_int_equal(mlaf_db_check(db, note_stale, &stale, &findings, &err), MLAF_OK);
  assert_int_equal(stale, 1);
  mlaf_db_garbage gone;
  assert_int_equal(mlaf_db_gc(db, false, &gone, &err), MLAF_OK);
  assert_chosen(db, &dev, &p, "slow");
  assert_chosen(db, &dev, &other, "slow");
  assert_sound(db);
}

TEST(samples_of_an_edited_template_do_not_count) {
  mlaf_point p = make_point(16, 1, 1024);
  mlaf_sample s = make_sample("fast-but-old", 10, "v1");
  add_sample(db, &dev, &p, &s);
  mlaf_sample other = make_sample("other-template", 60, "lds-v1");
  snprintf(other.kernels[0].template_name, sizeof other.kernels[0].template_name, "mla_decode/mfma_lds");
  add_sample(db, &dev, &p, &other);
  s = make_sample("new", 100, "v2");
  add_sample(db, &dev, &p, &s);
  assert_chosen(db, &dev, &p, "other-template"); /* editing one template does not discard the other's samples */
}

static bool refuse_version_1(void *user, const mlaf_choice *c) {
  char hash[MLAF_HASH_HEX];
  fake_hash(hash, "v1");
  ++*(int *)user;
  return strcmp(c->kernels[0].template_hash, hash) != 0;
}

TEST(nearest_bucket_by_log_distance) {
  mlaf_device_info other = make_device("e");
  static const struct {
    int batch, ctx;
    const char *name, *version;
  } tuned[] = {{1, 1024, "b1", "v1"}, {4, 1024, "b4", "v1"}, {64, 8192, "b64", "v2"}};
  for (int i = 0; i < 3; i++) {
    mlaf_point p = make_point(16, tuned[i].batch, tuned[i].ctx);
    mlaf_sample s = make_sample(tuned[i].name, 100, tuned[i].version);
    add_sample(db, &dev, &p, &s);
  }
  static const struct {
    int batch, ctx;
    const char *name;
    double distance; /* doublings */
  } asked[] = {{1, 700, "b1", 0.549}, {3, 1024, "b4", 0.415}, {16, 1500, "b4", 2.551}, {16, 4096, "b64", 3},
               {65536, 16777216, "b64", 21}};
  mlaf_rung rung;
  for (int i = 0; i < 5; i++) {
    mlaf_point p = make_point(16, asked[i].batch, asked[i].ctx);
    mlaf_choice near = choose(db, &dev, &p, &rung);
    assert_string_equal(near.variant, asked[i].name);
    assert_int_equal(rung, MLAF_RUNG_NEAREST);
    assert_true(fabs(near.distance - asked[i].distance) < 0.005);
  }
  /* Equally far: the one of the same batch, then the smaller. */
  static const struct {
    int batch, ctx;
    const char *name;
  } ties[] = {{64, 1024, "b64"}, {128, 2048, "b128"}, {512, 2048, "b512"}};
  for (int i = 0; i < 3; i++) {
    mlaf_point at = make_point(20, ties[i].batch, ties[i].ctx);
    mlaf_sample s = make_sample(ties[i].name, 100, "v1");
    add_sample(db, &dev, &at, &s);
  }
  mlaf_point tied = make_point(20, 128, 1024); /* 64 x 1024 and 128 x 2048 are one doubling away */
  assert_string_equal(choose(db, &dev, &tied, &rung).variant, "b128");
  tied = make_point(20, 256, 2048); /* both neighbours are one doubling of batch away */
  assert_string_equal(choose(db, &dev, &tied, &rung).variant, "b128");
  mlaf_choice c;
  mlaf_err err;
  mlaf_point p = make_point(16, 2, 1024);
  int calls = 0;
  assert_int_equal(mlaf_db_choose_if(db, &dev, NULL, &p, refuse_version_1, &calls, &c, &rung, &err), MLAF_OK);
  assert_string_equal(c.variant, "b64"); /* the nearer two were refused */
  assert_int_equal(calls, 3);
  p = make_point(8, 1, 1024); /* heads are no bucket */
  assert_int_equal(mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err), MLAF_E_NOT_TUNED);
  p = make_point(16, 1, 1024); /* the device is HARD */
  assert_int_equal(mlaf_db_choose(db, &other, NULL, &p, &c, &rung, &err), MLAF_E_NOT_TUNED);
}

TEST(a_point_serves_what_rounds_to_the_same) {
  static const struct {
    int batch, ctx;
    const char *name;
  } tuned[] = {{7, 3000, "s3000"}, {17, 4096, "b17"}, {7, 3073, "s3073"}, {7, 2700, "s2700"}};
  for (int i = 0; i < 4; i++) {
    mlaf_point p = make_point(16, tuned[i].batch, tuned[i].ctx);
    mlaf_sample s = make_sample(tuned[i].name, 100, "v1");
    add_sample(db, &dev, &p, &s);
  }
  static const struct {
    int batch, ctx;
    const char *name;
    mlaf_rung rung;
  } asked[] = {{7, 3072, "s3000", MLAF_RUNG_EXACT}, /* 3073 is nearer, but 3584's */
               {7, 3000, "s3000", MLAF_RUNG_EXACT}, {7, 2701, "s2700", MLAF_RUNG_EXACT},
               {7, 2560, "s2700", MLAF_RUNG_NEAREST}, {18, 4096, "b17", MLAF_RUNG_EXACT},
               {16, 4096, "b17", MLAF_RUNG_NEAREST}, {19, 4096, "b17", MLAF_RUNG_NEAREST},
               {8, 3072, "s3073", MLAF_RUNG_NEAREST}};
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
    const mlaf_point p = make_point(16, asked[i].batch, asked[i].ctx);
    mlaf_rung rung;
    const mlaf_choice c = choose(db, &dev, &p, &rung);
    assert_string_equal(c.variant, asked[i].name);
    assert_int_equal(rung, asked[i].rung);
    assert_int_equal(c.distance == 0, rung == MLAF_RUNG_EXACT);
  }
  mlaf_choice c;
  mlaf_err err;
  mlaf_point p = make_point(16, 7, 3072);
  assert_int_equal(mlaf_db_choose_lengths(db, &dev, &p, "equal", NULL, NULL, &c, &err), MLAF_OK);
  assert_string_equal(c.variant, "s3000");
  assert_true(strstr(c.problem, "s3000") && mlaf_point_value(&c.at, "ctx", 0) == 3000);
  p = make_point(16, 7, 2560);
  assert_int_equal(mlaf_db_choose_lengths(db, &dev, &p, "equal", NULL, NULL, &c, &err), MLAF_E_NOT_TUNED);
}

TEST(soft_fields_flag_but_do_not_refuse) {
  mlaf_point p = make_point(16, 1, 1024);
  mlaf_sample s = make_sample("a", 100, "v1");
  add_sample(db, &dev, &p, &s);
  mlaf_rung rung;
  mlaf_choice c = choose(db, &dev, &p, &rung);
  assert_false(c.stale);
  mlaf_err err;
  assert_int_equal(mlaf_db_choose(db, &dev, "hiprtc 7", &p, &c, &rung, &err), MLAF_OK);
  assert_true(c.stale);
  assert_has(c.stale_why, "compiler");
  assert_int_equal(mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err), MLAF_OK);
  assert_false(c.stale);
  snprintf(dev.driver, sizeof dev.driver, "7.0");
  assert_has(choose(db, &dev, &p, &rung).stale_why, "driver '6.4.3', now '7.0'");
  dev = make_device("d");
  dev.clock_mhz = 1400;
  assert_has(choose(db, &dev, &p, &rung).stale_why, "clock 2100 MHz, now 1400");
  dev = make_device("d");
  dev.mem_clock_mhz = 900;
  assert_true(choose(db, &dev, &p, &rung).stale);
}

typedef struct miss_log {
  int n;
  char first[MLAF_POINT_TEXT_MAX];
  int64_t count;
} miss_log;
static bool note_miss(void *user, const char *device, const char *problem, int64_t n) {
  miss_log *log = user;
  if (log->n++ == 0) {
    snprintf(log->first, sizeof log->first, "%s", problem);
    log->count = n;
  }
  return true;
}

TEST(misses_are_remembered_until_tuned) {
  mlaf_point p = make_point(16, 1, 1024), q = make_point(16, 2, 1024);
  mlaf_choice c;
  mlaf_rung rung;
  mlaf_err err;
  for (int i = 0; i < 3; i++) assert_int_equal(mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err), MLAF_E_NOT_TUNED);
  assert_int_equal(mlaf_db_choose(db, &dev, NULL, &q, &c, &rung, &err), MLAF_E_NOT_TUNED);
  miss_log log = {0};
  assert_int_equal(mlaf_db_each_miss(db, note_miss, &log, &err), MLAF_OK);
  assert_int_equal(log.n, 2);
  assert_int_equal(log.count, 3);
  assert_string_equal(log.first, "mla_decode:h16,r512,p64,q1,bf16,page64,b1,s1024");
  mlaf_sample s = make_sample("a", 100, "v1");
  add_sample(db, &dev, &p, &s);
  assert_chosen(db, &dev, &p, "a");
  log = (miss_log){0};
  assert_int_equal(mlaf_db_each_miss(db, note_miss, &log, &err), MLAF_OK);
  assert_int_equal(log.n, 1); /* q still waits */
  mlaf_db_close(db);
  assert_int_equal(mlaf_db_open(((db_dir *)*state)->path, true, NULL, &db, &err), MLAF_OK);
  assert_int_equal(mlaf_db_choose(db, &dev, NULL, &q, &c, &rung, &err), MLAF_OK); /* nearest, and not recorded */
  assert_int_equal(rung, MLAF_RUNG_NEAREST);
  assert_int_equal(mlaf_db_add_sample(db, &dev, TOOLCHAIN, &p, &s, &err), MLAF_E_DB);
  assert_has(err.text, "read-only");
}

TESTS_EACH(setup, teardown)
