/* Many processes and sudden death: every committed sample is there afterwards. */
#include <sys/wait.h>

#include <sqlite3.h>

#include "base/killing.h"
#include "db/db_fixture.h"

enum { WRITERS = 8, EACH = 25 };

static int write_samples(const char *path, int who) {
  mlaf_db *db;
  mlaf_err err = {0};
  if (mlaf_db_open(path, false, NULL, &db, &err) != MLAF_OK) {
    fprintf(stderr, "writer %d: %s\n", who, err.text);
    return 1;
  }
  mlaf_device_info dev = make_device("d");
  mlaf_point shared = make_point(16, 1, 1024), own = make_point(16, 2 + who, 1024);
  for (int i = 0; i < EACH; i++) {
    char name[32];
    snprintf(name, sizeof name, "w%d-%d", who, i);
    mlaf_sample s = make_sample(name, 1000 - who * EACH - i, "v1");
    if (mlaf_db_add_sample(db, &dev, TOOLCHAIN, i % 2 ? &shared : &own, &s, &err) != MLAF_OK) {
      fprintf(stderr, "writer %d: %s\n", who, err.text);
      return 2;
    }
  }
  mlaf_db_close(db);
  return 0;
}

TEST_OF(eight_writers_lose_nothing, db_dir *d) {
  pid_t children[WRITERS];
  for (int w = 0; w < WRITERS; w++) { /* all create the same new file, too */
    children[w] = fork();
    if (children[w] == 0) _exit(write_samples(d->path, w));
  }
  for (int w = 0; w < WRITERS; w++) {
    int status = -1;
    waitpid(children[w], &status, 0);
    assert_int_equal(status, 0);
  }
  mlaf_db *db = open_db(d->path);
  mlaf_db_counts c = count(db);
  assert_int_equal(c.samples, WRITERS * EACH);
  assert_int_equal(c.problems, WRITERS + 1);
  assert_int_equal(c.choices, WRITERS + 1);
  assert_int_equal(c.devices, 1);
  mlaf_db_close(db);
}

/* The child reports each sample after its commit and never stops by itself: each kill, some commits later and anywhere within a
 * few transactions, is one in mid-work. */
TEST_OF(kill_9_keeps_what_was_committed, db_dir *d) {
  int committed = 0;
  killing k = killing_begin(12, 17, 8e3);
  for (int round = 0; killing_goes_on(&k); round++) {
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
      mlaf_db *db;
      mlaf_err err;
      if (mlaf_db_open(d->path, false, NULL, &db, &err) != MLAF_OK) _exit(1);
      mlaf_device_info dev = make_device("d");
      mlaf_point p = make_point(16, 1, 1024);
      for (int i = 0;; i++) {
        char name[32];
        snprintf(name, sizeof name, "r%d-%d", round, i);
        mlaf_sample s = make_sample(name, 5000 - i, "v1");
        if (mlaf_db_add_sample(db, &dev, TOOLCHAIN, &p, &s, &err) != MLAF_OK || write(pipes[1], "x", 1) != 1) _exit(2);
      }
    }
    close(pipes[1]);
    char seen;
    for (int i = 0; i < 3 + 5 * round % 17; i++) {
      assert_int_equal(read(pipes[0], &seen, 1), 1);
      committed++;
    }
    k.within_us = 8e3;
    assert_true(killing_hits(&k, child));
    waitpid(child, NULL, 0);
    while (read(pipes[0], &seen, 1) == 1) committed++;
    close(pipes[0]);
    mlaf_db *db = open_db(d->path);
    int64_t there = count(db).samples;
    /* one more than reported is possible each round: committed and killed before the report */
    assert_in_range(there, committed, committed + 1);
    committed = (int)there;
    assert_sound(db);
    mlaf_db_close(db);
  }
  killing_report(&k, "writers");
}

enum { ROWS = 60 };

/* Import (a text) or merge (of a database) into a new file. */
static mlaf_status take_in(const char *path, const char *text, const char *from) {
  mlaf_db *db = NULL, *other = NULL;
  mlaf_err err;
  mlaf_db_merged merged;
  mlaf_status status = mlaf_db_open(path, false, NULL, &db, &err);
  if (!status && text) status = mlaf_db_import(db, text, NULL, &err);
  if (!status && !text) status = mlaf_db_open(from, true, NULL, &other, &err);
  if (!status && !text) status = mlaf_db_merge(db, other, &merged, &err);
  mlaf_db_close(other);
  mlaf_db_close(db);
  return status;
}

/* All of it or nothing, and the next one does it. */
TEST_OF(kill_9_leaves_imports_and_merges_whole, db_dir *d) {
  char path[128], from[128];
  mlaf_device_info dev = make_device("d");
  mlaf_text text = MLAF_TEXT_INIT(1 << 20);
  mlaf_err err;
  snprintf(from, sizeof from, "%s/from.db", d->dir);
  mlaf_db *db = open_db(from);
  for (int i = 0; i < ROWS; i++) {
    mlaf_point p = make_point(16, 1 + i, 1024);
    mlaf_sample s = make_sample("v", 1000 + i, "v1");
    add_sample(db, &dev, &p, &s);
  }
  assert_int_equal(mlaf_db_export(db, NULL, &text, &err), MLAF_OK);
  mlaf_db_close(db);
  for (int merge = 0; merge < 2; merge++) {
    killing k = killing_begin(12, 31 + merge, 20e3);
    int none = 0, all = 0;
    while (killing_goes_on(&k)) {
      snprintf(path, sizeof path, "%s/%d-%d.db", d->dir, merge, k.tried);
      const pid_t child = fork();
      if (child == 0) _exit((int)take_in(path, merge ? NULL : text.data, from));
      int status;
      const bool hit = killing_hits(&k, child);
      waitpid(child, &status, 0);
      if (!hit) assert_int_equal(status, 0);
      db = open_db(path);
      const int64_t there = merge ? count(db).samples : count(db).choices;
      assert_true(there == ROWS || (hit && there == 0));
      none += hit && !there;
      all += hit && there;
      assert_sound(db);
      mlaf_db_close(db);
      assert_int_equal(take_in(path, merge ? NULL : text.data, from), 0);
      db = open_db(path);
      assert_int_equal(count(db).choices, ROWS);
      mlaf_db_close(db);
    }
    killing_report(&k, merge ? "merges" : "imports");
    print_message("of those killed %d left nothing and %d everything\n", none, all);
  }
  mlaf_text_free(&text);
}

/* A reader plans while a writer holds the lock: it is answered at once and its miss is dropped, not waited for. */
TEST_OF(planning_does_not_wait_for_a_writer, db_dir *d) {
  mlaf_db *db = open_db(d->path);
  mlaf_device_info dev = make_device("d");
  mlaf_point p = make_point(16, 1, 1024), other = make_point(16, 9, 1024);
  mlaf_sample s = make_sample("a", 100, "v1");
  add_sample(db, &dev, &p, &s);
  int ready[2], done[2];
  assert_int_equal(pipe(ready) + pipe(done), 0);
  pid_t child = fork();
  if (child == 0) {
    sqlite3 *raw;
    char byte;
    sqlite3_open(d->path, &raw);
    if (sqlite3_exec(raw, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) _exit(1);
    if (write(ready[1], "x", 1) != 1 || read(done[0], &byte, 1) != 1) _exit(2);
    sqlite3_close(raw);
    _exit(0);
  }
  char byte;
  assert_int_equal(read(ready[0], &byte, 1), 1);
  mlaf_choice c;
  mlaf_rung rung;
  mlaf_err err;
  double best = 1e9;
  for (int i = 0; i < 5 && best >= 10; i++) { /* who waits for the writer does so each time, a busy machine not */
    const double start = mlaf_now();
    assert_int_equal(mlaf_db_choose(db, &dev, NULL, &other, &c, &rung, &err), MLAF_OK);
    best = mlaf_now() - start < best ? mlaf_now() - start : best;
    assert_int_equal(rung, MLAF_RUNG_NEAREST);
  }
  assert_true(best < 10); /* MLAF_DB_BUSY_MS is 20 s */
  assert_int_equal(write(done[1], "x", 1), 1);
  int status = -1;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  add_sample(db, &dev, &other, &s); /* the long timeout is back */
  mlaf_db_close(db);
}

TESTS_EACH(db_dir_setup, db_dir_teardown)
