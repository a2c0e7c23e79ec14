/* Random damage: bits flipped, pages torn, zeroed, swapped, tails cut, in the file and in its journal. Whatever happens to the
 * bytes: no crash, no hang, and no choice that names another kernel than was written. MLAF_MUTATIONS sets how many. */
#include <signal.h>
#include <sys/wait.h>

#include <sqlite3.h>

#include "op/numeric.h"
#include "db/db_fixture.h"
#include "limit.h"
#include "files.h"

enum { PROBLEMS = 6, VARIANTS = 5, PAGE = 4096, LIMIT_S = 20 };

static int mutations(void) {
  const char *text = getenv("MLAF_MUTATIONS");
  return text ? atoi(text) : 150;
}

static mlaf_point problem_at(int i) { return make_point(16, 1 << i, 1024); }

/* Which variant, kernel and time belong together is written into every field. */
static mlaf_sample sample_at(int problem, int variant) {
  char name[32];
  snprintf(name, sizeof name, "p%d-v%d", problem, variant);
  mlaf_sample s = make_sample(name, 1000 + 100 * problem + 10 * variant, "v1");
  memset(s.kernels[0].params, 0, sizeof s.kernels[0].params); /* kernels are compared byte by byte */
  memset(s.kernels[0].symbol, 0, sizeof s.kernels[0].symbol);
  snprintf(s.kernels[0].params, sizeof s.kernels[0].params, "name=%s", name);
  snprintf(s.kernels[0].symbol, sizeof s.kernels[0].symbol, "mlaf_%s", name);
  s.kernels[0].threads = 64 * (1 + (uint32_t)variant % 4);
  s.knob = 1 + (uint32_t)variant;
  return s;
}

/* true: the kernel is one that was written, whole, with its own launch. */
static bool kernel_is_ours(const mlaf_choice *c) {
  int p = -1, v = -1;
  if (sscanf(c->variant, "p%d-v%d", &p, &v) != 2 || p < 0 || p >= PROBLEMS || v < 0 || v > VARIANTS) return false;
  mlaf_sample s = sample_at(p, v);
  return strcmp(s.variant, c->variant) == 0 && s.knob == c->knob && s.timing.ns == c->ns &&
         memcmp(s.kernels, c->kernels, sizeof s.kernels) == 0;
}

/* Lives with a damaged file in a process of its own. 0: all well. */
static int live_with(const char *path, unsigned seed) {
  mlaf_db *db;
  mlaf_err err = {0};
  limit_cpu(LIMIT_S);
  if (mlaf_db_open(path, seed % 3 == 0, NULL, &db, &err) != MLAF_OK) return err.text[0] ? 0 : 2;
  mlaf_device_info dev = make_device("d");
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < PROBLEMS; i++) {
      mlaf_point p = problem_at(i);
      mlaf_choice c;
      mlaf_rung rung;
      mlaf_sample *list = NULL;
      size_t n = 0;
      char text[MLAF_POINT_TEXT_MAX];
      mlaf_point_print(&p, text, sizeof text);
      if (mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err) == MLAF_OK) {
        if (!kernel_is_ours(&c)) return 3;
        /* a choice made for a problem is one of its own samples */
        if (rung == MLAF_RUNG_EXACT && (strcmp(c.problem, text) != 0 || c.variant[1] != (char)('0' + i))) return 4;
      }
      mlaf_db_samples(db, &dev, &p, &list, &n, &err);
      free(list);
    }
    mlaf_text text = MLAF_TEXT_INIT(1 << 20);
    mlaf_db_export(db, NULL, &text, &err);
    mlaf_text_free(&text);
    size_t findings;
    mlaf_db_check(db, NULL, NULL, &findings, &err);
    mlaf_point p = problem_at((int)seed % PROBLEMS);
    mlaf_sample s = sample_at((int)seed % PROBLEMS, VARIANTS); /* writing onto damage */
    if (!mlaf_db_is_read_only(db)) mlaf_db_add_sample(db, &dev, TOOLCHAIN, &p, &s, &err);
  }
  mlaf_db_close(db);
  return 0;
}

static void flip(unsigned char *data, size_t n, mlaf_rng *rng, int bits) {
  for (int i = 0; i < bits; i++) data[mlaf_rng_below(rng, (uint32_t)n)] ^= (unsigned char)(1u << mlaf_rng_below(rng, 8));
}

static void *page_of(unsigned char *data, size_t n, mlaf_rng *rng) {
  return data + (size_t)mlaf_rng_below(rng, (uint32_t)(n / PAGE)) * PAGE;
}

/* Returns the new length. */
static size_t mutate(unsigned char *data, size_t n, mlaf_rng *rng) {
  unsigned char other[PAGE], *a = page_of(data, n, rng), *b = page_of(data, n, rng);
  switch (mlaf_rng_below(rng, 8)) {
    case 0: return mlaf_rng_below(rng, (uint32_t)n);                  /* cut short anywhere */
    case 1: return (size_t)mlaf_rng_below(rng, (uint32_t)(n / PAGE)) * PAGE; /* at a page */
    case 2: memset(a, 0, PAGE); return n;                             /* a page that never reached the disk */
    case 3: memset(a + PAGE / 2, 0, PAGE / 2); return n;              /* half of it */
    case 4: memcpy(other, a, PAGE); memcpy(a, b, PAGE); memcpy(b, other, PAGE); return n;
    case 5: memcpy(a, b, PAGE); return n;                             /* written to the wrong place */
    case 6: flip(data, n, rng, 16); return n;
    default: flip(data, n, rng, 1); return n;
  }
}

static void fill(const char *path) {
  mlaf_db *db = open_db(path);
  mlaf_device_info dev = make_device("d");
  for (int i = 0; i < PROBLEMS; i++)
    for (int v = 0; v < VARIANTS; v++) {
      mlaf_point p = problem_at(i);
      mlaf_sample s = sample_at(i, v);
      add_sample(db, &dev, &p, &s);
    }
  mlaf_db_close(db);
}

/* A log that was not folded in yet: copied while the writer is alive. */
static void fill_with_wal(const char *path, const char *copy) {
  mlaf_db *db = open_db(path);
  mlaf_device_info dev = make_device("d");
  for (int v = 0; v < VARIANTS; v++) {
    mlaf_point p = problem_at(0);
    mlaf_sample s = sample_at(0, v);
    add_sample(db, &dev, &p, &s);
  }
  size_t n;
  char from[160], to[160];
  const char *const ends[] = {"", "-wal"};
  for (int i = 0; i < 2; i++) {
    snprintf(from, sizeof from, "%s%s", path, ends[i]);
    snprintf(to, sizeof to, "%s%s", copy, ends[i]);
    void *data = read_file(from, &n);
    write_file(to, data, n);
    free(data);
  }
  mlaf_db_close(db);
}

static void expect_alive(const char *path, unsigned seed) {
  pid_t child = fork();
  if (child == 0) _exit(live_with(path, seed));
  int status = -1;
  waitpid(child, &status, 0);
  if (status != 0)
    fail_msg("mutation %u: %s", seed,
             WIFSIGNALED(status)           ? WTERMSIG(status) == SIGALRM ? "it hangs" : "it crashes"
             : WEXITSTATUS(status) == 3 ? "a choice names a kernel that was never written"
             : WEXITSTATUS(status) == 4 ? "a choice of another problem is called exact"
                                        : "a failure without a detail");
}

TEST_OF(damaged_files, db_dir *d) {
  size_t n;
  fill(d->path);
  unsigned char *good = read_file(d->path, &n), *bad = malloc(n);
  char side[160];
  for (int i = 0; i < mutations(); i++) {
    mlaf_rng rng = {(uint64_t)i + 1};
    memcpy(bad, good, n);
    write_file(d->path, bad, mutate(bad, n, &rng));
    const char *const ends[] = {"-wal", "-shm", "-journal"};
    for (int k = 0; k < 3; k++) {
      snprintf(side, sizeof side, "%s%s", d->path, ends[k]);
      unlink(side);
    }
    expect_alive(d->path, (unsigned)i);
  }
  free(good);
  free(bad);
}

TEST_OF(damaged_logs, db_dir *d) {
  char copy[120], wal[160], shm[160];
  size_t n, main_n;
  snprintf(copy, sizeof copy, "%s/copy.db", d->dir);
  snprintf(wal, sizeof wal, "%s-wal", copy);
  snprintf(shm, sizeof shm, "%s-shm", copy);
  fill_with_wal(d->path, copy);
  unsigned char *main_file = read_file(copy, &main_n), *good = read_file(wal, &n), *bad = malloc(n);
  assert_true(n > PAGE);
  for (int i = 0; i < mutations() / 3; i++) {
    mlaf_rng rng = {(uint64_t)i + 77};
    memcpy(bad, good, n);
    write_file(copy, main_file, main_n);
    write_file(wal, bad, mutate(bad, n, &rng));
    unlink(shm);
    expect_alive(copy, (unsigned)i);
  }
  free(main_file);
  free(good);
  free(bad);
}

static void ignore_finding(void *user, const char *line) {}

/* Saves the file by mlaf_db_recover and by a merge into a new database; returns their number of samples. */
static size_t saved(const char *path, const char *to) {
  mlaf_db *from = NULL, *db;
  mlaf_db_merged m = {0};
  mlaf_err err;
  unlink(to);
  if (mlaf_db_recover(path, NULL, &from, &err)) {
    assert_int_equal(err.status, MLAF_E_DB);
    return 0;
  }
  db = open_db(to);
  if (mlaf_db_merge(db, from, &m, &err)) fail_msg("%s", err.text);
  const size_t n = (size_t)count(db).samples;
  assert_int_equal(n, m.samples);
  mlaf_db_close(from);
  size_t findings = 0;
  assert_int_equal(mlaf_db_check(db, ignore_finding, &findings, &findings, &err), MLAF_OK);
  assert_int_equal(findings, 0); /* nothing that was never written */
  mlaf_db_close(db);
  return n;
}

TEST_OF(pages_are_saved, db_dir *d) {
  char to[160], copy[120];
  size_t n;
  snprintf(to, sizeof to, "%s/saved.db", d->dir);
  snprintf(copy, sizeof copy, "%s/copy.db", d->dir);
  fill(d->path);
  unsigned char *good = read_file(d->path, &n), *bad = malloc(n);
  static const struct {
    size_t at, n;
    int with;
  } first_page[] = {{0, PAGE, 0}, {0, PAGE, 0xff}, {100, 1, 0x77}, {16, 84, 0x55}, {100, PAGE - 100, 0x20}, {0, 16, 'x'}};
  for (size_t i = 0; i < sizeof first_page / sizeof *first_page; i++) { /* all of it comes back */
    memcpy(bad, good, n);
    memset(bad + first_page[i].at, first_page[i].with, first_page[i].n);
    write_file(d->path, bad, n);
    assert_int_equal(saved(d->path, to), PROBLEMS * VARIANTS);
  }
  size_t whole = 0;
  for (int i = 0; i < mutations() / 3; i++) { /* never more than there was, and mostly something */
    mlaf_rng rng = {(uint64_t)i + 1};
    memcpy(bad, good, n);
    write_file(d->path, bad, mutate(bad, n, &rng));
    const size_t k = saved(d->path, to);
    assert_true(k <= PROBLEMS * VARIANTS);
    whole += k == PROBLEMS * VARIANTS;
  }
  assert_true(whole > 0);
  free(good);
  free(bad);
  /* The log counts, too. */
  unlink(d->path);
  fill_with_wal(d->path, copy);
  unsigned char *main_file = read_file(copy, &n);
  memset(main_file, 0, n < PAGE ? n : PAGE);
  write_file(copy, main_file, n);
  assert_int_equal(saved(copy, to), VARIANTS);
  free(main_file);
  write_file(d->path, "nothing of ours", 15);
  mlaf_db *none = NULL;
  mlaf_err err;
  assert_int_equal(mlaf_db_recover(d->path, NULL, &none, &err), MLAF_E_DB);
  assert_non_null(strstr(err.text, "holds a sample or a choice"));
}

/* Someone with an editor: a kernel's launch size, a choice's keys, a problem's family. */
TEST_OF(edited_rows_are_not_used, db_dir *d) {
  static const char *const edits[] = {
      "UPDATE kernel SET threads = 1024",
      "UPDATE kernel SET params = replace(params, 'p0', 'p1')",
      "UPDATE choice SET knob = 9",
      "UPDATE choice SET kernel1 = (SELECT max(kernel1) FROM choice)",
      "UPDATE choice SET kernel3 = kernel1",
      "UPDATE sample SET kernel4 = kernel2",
      "UPDATE sample SET ns = 1",
      "UPDATE problem SET family = replace(family, 'h16', 'h17')",
      "UPDATE problem SET op = 'mla'",
      "UPDATE problem SET canonical = replace(canonical, 'h16', 'h17')",
      "UPDATE device SET canonical = 'e'",
  };
  size_t n;
  fill(d->path);
  void *good = read_file(d->path, &n);
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    sqlite3 *raw;
    write_file(d->path, good, n);
    assert_int_equal(sqlite3_open(d->path, &raw), SQLITE_OK);
    assert_int_equal(sqlite3_exec(raw, edits[i], NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(raw), SQLITE_OK);
    expect_alive(d->path, 1);
    write_file(d->path, good, n); /* and once more: what was written onto it just now does not count */
    assert_int_equal(sqlite3_open(d->path, &raw), SQLITE_OK);
    sqlite3_exec(raw, edits[i], NULL, NULL, NULL);
    sqlite3_close(raw);
    mlaf_db *db = open_db(d->path);
    size_t findings = 0;
    mlaf_err err;
    assert_int_equal(mlaf_db_check(db, NULL, NULL, &findings, &err), MLAF_OK);
    if (!findings) fail_msg("'%s' was not found", edits[i]);
    mlaf_db_close(db);
  }
  free(good);
}

/* A row that is no good says how the others are saved, and they are. */
TEST_OF(damaged_rows_are_left_behind, db_dir *d) {
  sqlite3 *raw;
  mlaf_sample *list = NULL;
  size_t n = 0;
  mlaf_err err;
  mlaf_db_merged merged = {0};
  fill(d->path);
  assert_int_equal(sqlite3_open(d->path, &raw), SQLITE_OK);
  assert_int_equal(sqlite3_exec(raw, "UPDATE sample SET ns = 1 WHERE id = 2", NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_close(raw), SQLITE_OK);
  mlaf_db *db = open_db(d->path);
  const mlaf_device_info dev = make_device("d");
  const mlaf_point p = problem_at(0);
  assert_int_equal(mlaf_db_samples(db, &dev, &p, &list, &n, &err), MLAF_E_DB);
  if (!strstr(err.text, "(a sample holds values no mlaforge writes): save what its pages hold with: mlaforge db merge"))
    fail_msg("%s", err.text);
  char other[160];
  snprintf(other, sizeof other, "%s.saved", d->path);
  mlaf_db *to = open_db(other);
  if (mlaf_db_merge(to, db, &merged, &err)) fail_msg("%s", err.text);
  assert_int_equal(merged.samples, PROBLEMS * VARIANTS - 1);
  assert_int_equal(merged.left_out, 1);
  mlaf_db_close(to);
  mlaf_db_close(db);
}

TESTS_EACH(db_dir_setup, db_dir_teardown)
