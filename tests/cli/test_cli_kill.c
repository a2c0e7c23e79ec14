/* `mlaforge tune` killed with SIGKILL at random moments, workers and all (MLAF_KILL_POINTS times; 200 in a full run): what was
 * recorded stays, the database and the cache are sound, and the same command goes on to the end. Its choice is as good as that of
 * an undisturbed run: within the 2 % that a choice which stands already, as after a stop, is not replaced for. */
#include "base/killing.h"
#include "cli/cli_fixture.h"
#include "db/db.h"
#include "need.h"
#include "files.h"

#define PROBLEM "mla_decode:h5,r64,p32,q1,bf16,page16,b1,s64"
#define TUNE "tune", PROBLEM, "--device", "emu:gfx942", "--max-candidates", "8", "--jobs", "2"

static int64_t samples_in(const char *path) {
  mlaf_db *db = NULL;
  mlaf_db_counts n = {0};
  mlaf_err err = {MLAF_OK, ""};
  if (access(path, F_OK) != 0) return 0;
  mlaf_status st = mlaf_db_open(path, true, NULL, &db, &err);
  if (st && strstr(err.text, "is empty")) return 0; /* killed before its tables were there */
  if (st || mlaf_db_count(db, &n, &err)) fail_msg("%s", err.text);
  mlaf_db_close(db);
  return n.samples;
}

static void expect_sound(const cli_dir *d) {
  cli_result r = RUN(d, "db", "check");
  if (r.exit != 0 && !strstr(r.err, "is empty") && !strstr(r.err, "there is no tuning database")) assert_exit(r, 0);
  release(&r);
  if (access(d->cache, F_OK) != 0) return;
  RAN(d, 0, NULL, "cache", "verify");
}

/* The time of the only choice, in ns. */
static double chosen_ns(const cli_dir *d) {
  cli_result r = RUN(d, "db", "export");
  assert_exit(r, 0);
  const char *row = strstr(r.out, "\nemu:gfx942");
  assert_non_null(row);
  for (int field = 0; field < 5; field++) assert_non_null(row = strchr(row + 1, '\t'));
  const double ns = strtod(row + 1, NULL);
  release(&r);
  assert_true(ns > 0);
  return ns;
}

/* The run goes on to its end; the time of its choice. */
static double finished_run(const cli_dir *d) {
  RAN(d, 0, NULL, TUNE);
  return chosen_ns(d);
}

TEST_OF(killed_tuners_lose_nothing, cli_dir *d) {
  need_compiler("gfx942");
  const double want = finished_run(d);
  char *warm = mlaf_format("%s/warm", d->dir);
  copy_tree(d->cache, warm);
  killing k = killing_begin(8, 3, 1200e3);
  int runs = 0;
  int64_t before = -1; /* a run begins */
  for (int i = 0; killing_goes_on(&k); i++) {
    if (before < 0) {
      unlink(d->db);
      remove_tree(d->cache);
      if (runs++ % 4) copy_tree(warm, d->cache); /* else the kills come among compiles */
      before = 0;
    }
    const pid_t child = start(d, (const char *const[]){TUNE, NULL}, NULL);
    const bool ended = !killing_hits(&k, child);
    cli_result r = finish(d, child);
    assert_exit(r, ended ? 0 : 1000 + SIGKILL);
    release(&r);
    expect_sound(d);
    const int64_t now = samples_in(d->db);
    assert_true(now >= before);
    before = now;
    if (!ended && i % 5 != 4) continue;
    const double got = finished_run(d);
    if (got > 1.02 * want) fail_msg("kill %d: the choice takes %.1f ns, undisturbed it is one of %.1f ns", i, got, want);
    assert_true(got >= want);
    before = -1;
  }
  killing_report(&k, "tuners");
  print_message("in %d runs\n", runs);
  free(warm);
}

/* --- layers --- */

#define TUNE_LAYER "tune", "layer", "--model", "minicpm3-4b", "--tp", "40", "--ctx", "64", "--batch", "1,2,4", "--device", \
                   "emu:gfx942"

/* The choices of a finished run: device, problem and variant of each, without times. The caller frees them. */
static char *layers_tuned(const cli_dir *d) {
  RAN(d, 0, NULL, TUNE_LAYER);
  cli_result r = RUN(d, "db", "export");
  assert_exit(r, 0);
  mlaf_text text = MLAF_TEXT_INIT(1 << 16);
  int choices = 0;
  for (const char *line = strstr(r.out, "\nemu:"); line; line = strstr(line + 1, "\nemu:")) {
    const char *at = line;
    for (int column = 0; column < 3; column++) assert_non_null(at = strchr(at + 1, '\t'));
    mlaf_text_add(&text, line, (size_t)(at - line));
    choices++;
  }
  release(&r);
  assert_int_equal(choices, 3);
  return mlaf_text_take(&text);
}

/* Whatever was killed, the choices in the end are those of an undisturbed run. */
TEST_OF(killed_layer_tuners_lose_nothing, cli_dir *d) {
  need_compiler("gfx942");
  char *want = layers_tuned(d); /* and the cache is warm */
  unlink(d->db);
  killing k = killing_begin(5, 5, 800e3);
  int64_t before = 0;
  while (killing_goes_on(&k)) {
    const pid_t child = start(d, (const char *const[]){TUNE_LAYER, NULL}, NULL);
    const bool ended = !killing_hits(&k, child);
    cli_result r = finish(d, child);
    assert_exit(r, ended ? 0 : 1000 + SIGKILL);
    release(&r);
    expect_sound(d);
    const int64_t now = samples_in(d->db);
    assert_true(now >= before);
    before = now;
    if (!ended) continue;
    unlink(d->db);
    before = 0;
  }
  char *got = layers_tuned(d);
  assert_string_equal(got, want);
  killing_report(&k, "tuners of layers");
  free(want), free(got);
}

TESTS_EACH(cli_dir_setup, cli_dir_teardown)
