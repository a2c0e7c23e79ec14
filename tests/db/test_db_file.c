/* Files that are not what they should be: each is named, nothing is lost, and the caller can go on without one. */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "db/db_fixture.h"
#include "files.h"

static void run_sql(const char *path, const char *sql) {
  sqlite3 *raw;
  assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
  char *message = NULL;
  if (sqlite3_exec(raw, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
  assert_int_equal(sqlite3_close(raw), SQLITE_OK);
}

static void expect_refusal(const char *path, mlaf_status status, const char *text) {
  mlaf_db *db = (mlaf_db *)path; /* out-params stay untouched */
  mlaf_err err = {0};
  size_t before = 0, after = 0;
  char *old = read_file(path, &before);
  assert_int_equal(mlaf_db_open(path, false, NULL, &db, &err), status);
  assert_ptr_equal(db, path);
  assert_has(err.text, text);
  assert_has(err.text, path);
  char *new = read_file(path, &after);
  assert_int_equal(before, after);
  assert_memory_equal(old, new, before); /* and so does the file */
  free(old);
  free(new);
}

static void fill(const char *path, int samples) {
  mlaf_db *db = open_db(path);
  mlaf_device_info dev = make_device("d");
  for (int i = 0; i < samples; i++) {
    mlaf_point p = make_point(16, 1 + i % 7, 1024);
    char name[32];
    snprintf(name, sizeof name, "variant-%d", i);
    mlaf_sample s = make_sample(name, 1000 + i, "v1");
    add_sample(db, &dev, &p, &s);
  }
  mlaf_db_close(db);
}

TEST_OF(files_of_others_are_refused_and_named, db_dir *d) {
  write_file(d->path,
             "\x7f"
             "ELF\2\1\1",
             7);
  expect_refusal(d->path, MLAF_E_DB, "an ELF object");
  write_file(d->path, "device\tproblem\n", 15);
  expect_refusal(d->path, MLAF_E_DB, "mlaforge db import");
  write_file(d->path, "\1\2\3\4", 4);
  expect_refusal(d->path, MLAF_E_DB, "binary data");
  unlink(d->path);
  run_sql(d->path, "PRAGMA application_id=0x12345678; CREATE TABLE bookmarks(url)");
  expect_refusal(d->path, MLAF_E_DB, "another program (application id 0x12345678, tables: bookmarks)");
  unlink(d->path);
  run_sql(d->path, "PRAGMA journal_mode=WAL; CREATE TABLE bookmarks(url); INSERT INTO bookmarks VALUES('x')");
  expect_refusal(d->path, MLAF_E_DB, "another program");
  mlaf_db *db;
  mlaf_err err;
  assert_int_equal(mlaf_db_open(d->dir, false, NULL, &db, &err), MLAF_E_DB);
  assert_has(err.text, "not a regular file");
}

TEST_OF(missing_files, db_dir *d) {
  mlaf_db *db;
  mlaf_err err;
  assert_int_equal(mlaf_db_open(d->path, true, NULL, &db, &err), MLAF_E_IO);
  assert_has(err.text, "there is no tuning database");
  assert_int_equal(access(d->path, F_OK), -1);
  write_file(d->path, "", 0); /* an empty file is a new one, but not for a reader */
  assert_int_equal(mlaf_db_open(d->path, true, NULL, &db, &err), MLAF_E_DB);
  assert_has(err.text, "empty");
  db = open_db(d->path);
  mlaf_db_close(db);
  char deep[160];
  snprintf(deep, sizeof deep, "%s/a/b/t.db", d->dir);
  db = open_db(deep); /* directories are made */
  assert_string_equal(mlaf_db_path(db), deep);
  mlaf_db_close(db);
  unlink(deep);
  snprintf(deep, sizeof deep, "%s/a/b", d->dir);
  rmdir(deep);
  snprintf(deep, sizeof deep, "%s/a", d->dir);
  rmdir(deep);
}

static int warnings(void *user) { return *(int *)user; }
static void count_warning(void *user, mlaf_log_level level, const char *line) {
  *(int *)user += level == MLAF_LOG_WARN;
}

TEST_OF(newer_schema_opens_for_reading, db_dir *d) {
  fill(d->path, 3);
  run_sql(d->path, "PRAGMA user_version=99; ALTER TABLE choice ADD COLUMN future TEXT");
  int warned = 0;
  mlaf_log log = {count_warning, &warned, MLAF_LOG_WARN};
  mlaf_db *db;
  mlaf_err err;
  assert_int_equal(mlaf_db_open(d->path, false, &log, &db, &err), MLAF_OK);
  assert_int_equal(warnings(&warned), 1);
  mlaf_device_info dev = make_device("d");
  mlaf_point p = make_point(16, 1, 1024), unknown = make_point(5, 1, 1);
  mlaf_sample s = make_sample("new", 1, "v1");
  assert_int_equal(mlaf_db_add_sample(db, &dev, TOOLCHAIN, &p, &s, &err), MLAF_E_DB);
  assert_has(err.text, "newer mlaforge");
  assert_int_equal(mlaf_db_import(db, "# mlaforge tuning text 1\n", NULL, &err), MLAF_E_DB);
  mlaf_choice c;
  mlaf_rung rung;
  assert_int_equal(mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err), MLAF_OK);
  assert_int_equal(mlaf_db_choose(db, &dev, NULL, &unknown, &c, &rung, &err), MLAF_E_NOT_TUNED);
  assert_int_equal(count(db).misses, 0);
  mlaf_db_close(db);
  run_sql(d->path, "ALTER TABLE choice RENAME COLUMN margin TO edge"); /* a schema this build cannot read at all */
  assert_int_equal(mlaf_db_open(d->path, false, NULL, &db, &err), MLAF_OK);
  assert_int_equal(mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err), MLAF_E_NOT_TUNED);
  mlaf_text text = MLAF_TEXT_INIT(1 << 20);
  assert_int_equal(mlaf_db_export(db, NULL, &text, &err), MLAF_E_DB);
  assert_has(err.text, "needs a newer mlaforge");
  mlaf_text_free(&text);
  mlaf_db_close(db);
}

/* Whatever is cut off or overwritten: an error that names the fix, or an answer from what is left. Never a crash. */
static void use_damaged(const char *path, int *refused) {
  mlaf_db *db = NULL;
  mlaf_err err = {0};
  mlaf_device_info dev = make_device("d");
  mlaf_status status = mlaf_db_open(path, false, NULL, &db, &err);
  for (int i = 0; status == MLAF_OK && i < 7; i++) {
    mlaf_point p = make_point(16, 1 + i, 1024);
    mlaf_choice c;
    mlaf_rung rung;
    mlaf_sample s = make_sample("after", 500, "v1"), *list = NULL;
    size_t n;
    status = mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err);
    if (status == MLAF_OK) assert_true(c.ns > 0 && c.knob > 0);
    if (status == MLAF_OK || status == MLAF_E_NOT_TUNED) status = mlaf_db_samples(db, &dev, &p, &list, &n, &err);
    if (status == MLAF_OK) free(list);
    if (status == MLAF_OK) status = mlaf_db_add_sample(db, &dev, TOOLCHAIN, &p, &s, &err);
  }
  if (status != MLAF_OK) {
    ++*refused;
    assert_int_equal(status, MLAF_E_DB);
    if (strstr(err.text, "damaged")) assert_has(err.text, "mv '");
    else assert_has(err.text, "another program"); /* the bytes that say whose it is were hit */
  }
  mlaf_db_close(db);
}

static void remove_side_files(const char *path) {
  char side[128];
  snprintf(side, sizeof side, "%s-wal", path);
  unlink(side);
  snprintf(side, sizeof side, "%s-shm", path);
  unlink(side);
}

TEST_OF(truncated_and_overwritten_files, db_dir *d) {
  fill(d->path, 120);
  size_t size;
  char *good = read_file(d->path, &size);
  int refused = 0;
  uint32_t random = 12345;
  for (int i = 0; i < 60; i++) {
    random = random * 1664525u + 1013904223u;
    size_t cut = 1 + random % (size - 1);
    remove_side_files(d->path);
    write_file(d->path, good, cut);
    use_damaged(d->path, &refused);
  }
  assert_int_equal(refused, 60); /* SQLite knows its page count: no cut goes unnoticed */
  for (int i = 0; i < 60; i++) {
    char *bad = malloc(size);
    memcpy(bad, good, size);
    random = random * 1664525u + 1013904223u;
    size_t at = random % (size - 64);
    for (int k = 0; k < 64; k++) bad[at + (size_t)k] = (char)(random >> (k % 24));
    remove_side_files(d->path);
    write_file(d->path, bad, size);
    free(bad);
    use_damaged(d->path, &refused);
  }
  free(good);
}

/* Root is not stopped by permissions: the child drops to another user first. */
static int as_nobody(const char *path, int (*check)(const char *path)) {
  pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(90);
    _exit(check(path));
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static int read_in_sealed_directory(const char *path) {
  int warned = 0;
  mlaf_log log = {count_warning, &warned, MLAF_LOG_WARN};
  mlaf_db *db;
  mlaf_err err;
  if (mlaf_db_open(path, false, &log, &db, &err) != MLAF_OK) return 1;
  mlaf_device_info dev = make_device("d");
  mlaf_point p = make_point(16, 1, 1024);
  mlaf_choice c;
  mlaf_rung rung;
  if (mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err) != MLAF_OK) return 2;
  mlaf_sample s = make_sample("new", 1, "v1");
  if (mlaf_db_add_sample(db, &dev, TOOLCHAIN, &p, &s, &err) != MLAF_E_DB || !strstr(err.text, "not writable")) return 3;
  mlaf_db_close(db);
  return warned == 1 ? 0 : 4;
}

static int create_in_sealed_directory(const char *path) {
  mlaf_db *db;
  mlaf_err err;
  if (mlaf_db_open(path, false, NULL, &db, &err) != MLAF_E_IO) return 1;
  return strstr(err.text, "--db") ? 0 : 2;
}

TEST_OF(read_only_directory, db_dir *d) {
  fill(d->path, 9);
  remove_side_files(d->path);
  assert_int_equal(chmod(d->path, 0444), 0);
  assert_int_equal(chmod(d->dir, 0555), 0);
  int seen = as_nobody(d->path, read_in_sealed_directory);
  char none[128];
  snprintf(none, sizeof none, "%s/none.db", d->dir);
  int made = as_nobody(none, create_in_sealed_directory);
  chmod(d->dir, 0755);
  assert_int_equal(seen, 0);
  assert_int_equal(made, 0);
}

/* The disk fills up while samples are written: a clear error, and everything that was committed stays. */
static int fill_the_disk(const char *path, rlim_t limit) {
  signal(SIGXFSZ, SIG_IGN);
  mlaf_db *db;
  mlaf_err err = {0};
  if (mlaf_db_open(path, false, NULL, &db, &err) != MLAF_OK) return 90;
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){limit, limit});
  mlaf_device_info dev = make_device("d");
  mlaf_point p = make_point(16, 1, 1024);
  int done = 0;
  for (; done < 80; done++) {
    char name[32];
    snprintf(name, sizeof name, "full-%d", done);
    mlaf_sample s = make_sample(name, 100, "v1");
    if (mlaf_db_add_sample(db, &dev, TOOLCHAIN, &p, &s, &err) != MLAF_OK) break;
  }
  if (done == 80) return 91;
  if (err.status != MLAF_E_IO || !strstr(err.text, "nothing committed is lost") || !strstr(err.text, "free some space"))
    return 92;
  mlaf_db_counts c;
  if (mlaf_db_count(db, &c, &err) != MLAF_OK || c.samples != done) return 93; /* the handle is still good for reading */
  mlaf_db_close(db);
  return done;
}

/* `limit` bytes are all that any of its files may have: a few more each time, so that every write of a transaction is once the
 * one that fails. */
static void full_disk_at(const db_dir *d, rlim_t limit) {
  mlaf_db_close(open_db(d->path));
  pid_t child = fork();
  if (child == 0) _exit(fill_the_disk(d->path, limit));
  int status = -1;
  waitpid(child, &status, 0);
  assert_true(WIFEXITED(status));
  int done = WEXITSTATUS(status);
  assert_in_range(done, 0, 79);
  mlaf_db *db = open_db(d->path);
  assert_int_equal(count(db).samples, done);
  mlaf_device_info dev = make_device("d");
  mlaf_point p = make_point(16, 1, 1024);
  mlaf_sample s = make_sample("later", 90, "v1");
  add_sample(db, &dev, &p, &s); /* space again: it goes on */
  assert_sound(db);
  mlaf_db_close(db);
  remove_side_files(d->path);
  unlink(d->path);
}

TEST(full_disk_loses_nothing) {
  const char *all = getenv("MLAF_DISK_POINTS");
  int step = all ? 60000 / atoi(all) : 9000;
  full_disk_at(*state, 300000);
  for (rlim_t limit = 70000; limit < 130000; limit += (rlim_t)step) full_disk_at(*state, limit);
}

/* SQLite itself says no more than that it cannot open the file, where folder, permissions and space are as they should be. */
TEST_OF(long_paths_are_named, db_dir *d) {
  char part[201], folder[700];
  mlaf_err err;
  mlaf_db *db;
  memset(part, 'p', sizeof part - 1);
  part[sizeof part - 1] = 0;
  snprintf(folder, sizeof folder, "%s/%s/%s/%s", d->dir, part, part, part);
  assert_int_equal(mlaf_dir_make(folder, NULL), MLAF_OK);
  char *path = mlaf_format("%s/t.db", folder);
  assert_int_equal(mlaf_db_open(path, false, NULL, &db, &err), MLAF_E_IO);
  assert_has(err.text, "name one that is shorter");
  free(path);
  rmdir(folder);
  *strrchr(folder, '/') = 0;
  path = mlaf_format("%s/t.db", folder); /* one that SQLite takes, of a damaged file: a command that is shown is whole */
  char *shown = mlaf_format("mlaforge db merge '%s' --db '%s.saved'; then put that in its place", path, path);
  assert_int_equal(mlaf_file_write(path, "SQLite format 3", 16, NULL), MLAF_OK);
  assert_int_equal(mlaf_db_open(path, false, NULL, &db, &err), MLAF_E_DB);
  assert_has(err.text, shown);
  assert_string_equal(err.text + strlen(err.text) - 5, "place");
  unlink(path);
  for (; strlen(folder) > strlen(d->dir); *strrchr(folder, '/') = 0) assert_int_equal(rmdir(folder), 0);
  free(path);
  free(shown);
}

TEST_OF(default_path_follows_the_environment, db_dir *d) {
  setenv("MLAF_DB", d->path, 1);
  mlaf_db *db = open_db(NULL);
  assert_string_equal(mlaf_db_path(db), d->path);
  mlaf_db_close(db);
  mlaf_err err;
  setenv("MLAF_DB", "", 1); /* a mistake, which the home directory's would hide */
  assert_int_equal(mlaf_db_open(NULL, true, NULL, &db, &err), MLAF_E_ARG);
  assert_has(err.text, "MLAF_DB is set and empty");
  assert_int_equal(mlaf_db_open_copy(NULL, NULL, &db, &err), MLAF_E_ARG);
  unsetenv("MLAF_DB");
  setenv("XDG_DATA_HOME", "relative", 1); /* the standard: a relative value is ignored */
  setenv("HOME", d->dir, 1);
  char expect[160];
  snprintf(expect, sizeof expect, "%s/.local/share/mlaforge/tuning.db", d->dir);
  assert_int_equal(mlaf_db_open(NULL, true, NULL, &db, &err), MLAF_E_IO);
  assert_has(err.text, expect);
  static const char *const homes[] = {NULL, "", "relative"}; /* a folder of all users is none: theirs are not our choices */
  for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
    if (homes[i]) setenv("HOME", homes[i], 1);
    else unsetenv("HOME");
    assert_int_equal(mlaf_db_open(NULL, false, NULL, &db, &err), MLAF_E_IO);
    assert_has(err.text, "neither MLAF_DB nor HOME");
  }
}

TESTS_EACH(db_dir_setup, db_dir_teardown)
