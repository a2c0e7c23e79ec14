/* Memory runs out at call sites of whole commands, once and from there on: a command that cannot go on says so and returns an
 * error, one that passes has written what it always writes; nothing crashes or leaks, the database is sound, and with memory
 * again the same command passes. As plan/test_alloc does for the API: about 25 sites of each command, MLAF_ALLOC_FAULTS=all
 * every one, MLAF_ALLOC_CASE=NAME[:FIRST] those of one command. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/base.h"
#include "cli/cli.h"
#define SITES_TRIED 25 /* each is a whole command, twice */
#define FURTHER 26
#define SITES_EVENLY 25
#define PATH_FRAMES 0 /* plan/test_alloc has tried every path below the commands */
#include "plan/faulty_malloc.h"
#include "need.h"

#define PROBLEM "mla_decode:h5,r64,p32,q1,bf16,page16,b1,s24"
#define ON_EMU "--device", "emu:gfx942", "--cache", "cache"

typedef struct command {
  const char *argv[24];
  bool says_the_same; /* its stdout depends on nothing but its input */
} command;

static char dir[64] = "/tmp/mlaf-cli-alloc-XXXXXX"; /* the working directory */
static int code;                                    /* of the last run */
static char *expected;                              /* stdout of a run with memory */

static char *contents(const char *path) {
  void *text = NULL;
  size_t size;
  if (mlaf_file_read(path, 64 << 20, &text, &size, NULL)) abort();
  return text;
}

/* Runs a command with stdout and stderr in files. */
static void run(const void *how) {
  const command *c = how;
  int argc = 0, kept[2] = {dup(1), dup(2)};
  static const char *const files[] = {"out", "err"};
  const atomic_bool cancel = false;
  while (c->argv[argc]) argc++;
  fflush(NULL);
  for (int i = 0; i < 2; i++) {
    const int fd = open(files[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    dup2(fd, 1 + i);
    close(fd);
  }
  code = mlaf_cli_main(argc, (char **)(uintptr_t)c->argv, &cancel);
  fflush(NULL);
  for (int i = 0; i < 2; i++) {
    dup2(kept[i], 1 + i);
    close(kept[i]);
  }
  require(!code || heap.failed, "failed although there was memory", code, code && heap.mode == COUNT ? contents("err") : "");
}

static void on_finding(void *user, const char *line) { fprintf(stderr, "%s\n", line); }

static void check_database(void) {
  mlaf_db *db = NULL;
  mlaf_err err = {MLAF_OK, ""};
  size_t findings = 0;
  struct stat st;
  if (stat("t.db", &st) || st.st_size == 0) return; /* not made yet */
  if (mlaf_db_open("t.db", true, NULL, &db, &err)) {
    require(strstr(err.text, "is empty") != NULL, "the database does not open", err.status, err.text);
    return;
  }
  const mlaf_status status = mlaf_db_check(db, on_finding, NULL, &findings, &err);
  require(!status && !findings, "the database is damaged", status, err.text);
  mlaf_db_close(db);
}

static void check(const void *how) {
  const command *c = how;
  char *out = contents("out"), *err = contents("err");
  require(code >= 0 && code <= 4, "an exit code of no meaning", code, err);
  require(!code || strstr(err, "mlaforge: "), "failed without a message", code, err);
  if (!code && c->says_the_same) require(!strcmp(out, expected), "passed with other results", code, out);
  check_database();
  free(out);
  free(err);
  heap.failed = 0;
  run(c);
}

static void shell(const char *line) {
  if (system(line)) {
    fprintf(stderr, "%s\n", line);
    abort();
  }
}

static void no_database(void) { shell("rm -f t.db t.db-*"); }
static void tuned_database(void) { shell("rm -f t.db-*; cp kept.db t.db"); }
static void no_bundle(void) { shell("rm -rf bundle-out kernels"); }

static const command show = {{"mlaforge", "db", "show", "--db", "t.db", NULL}, true};
static const command show_json = {{"mlaforge", "db", "show", "--samples", PROBLEM, "--db", "t.db", "--json", NULL}, true};
static const command why = {{"mlaforge", "db", "why", PROBLEM, "--device", "emu:gfx942", "--db", "t.db", NULL}, true};
static const command export_text = {{"mlaforge", "db", "export", "--db", "t.db", NULL}, true};
static const command import_text = {{"mlaforge", "db", "import", "tuned.tsv", "--db", "t.db", NULL}, true};
static const command merge = {{"mlaforge", "db", "merge", "kept.db", "--db", "t.db", "--json", NULL}, true};
static const command generate = {{"mlaforge", "generate", PROBLEM, "--targets", "gfx942", "--db", "kept.db", "--cache", "cache",
                                  "--jobs", "1", "--out", "bundle-out", NULL}, false};
static const command embed = {{"mlaforge", "embed", "--from", "bundle", "--out", "kernels", NULL}, false};
static const command report = {{"mlaforge", "report", "--db", "t.db", "--out", "r.html", NULL}, false};
static const command tune = {{"mlaforge", "tune", PROBLEM, ON_EMU, "--db", "t.db", "--max-candidates", "1", "--no-resume",
                              "--jobs", "1", NULL}, false};
static const command bench = {{"mlaforge", "bench", PROBLEM, ON_EMU, "--db", "t.db", NULL}, false};

#define SCENARIO(name, prepare, least) {#name, run, &name, prepare, NULL, least, check, 0}
static const scenario scenarios[] = {
    SCENARIO(show, tuned_database, 30),    SCENARIO(show_json, tuned_database, 30), SCENARIO(why, tuned_database, 30),
    SCENARIO(export_text, tuned_database, 30), SCENARIO(import_text, no_database, 30), SCENARIO(merge, no_database, 30),
    SCENARIO(generate, no_bundle, 100),    SCENARIO(embed, no_bundle, 20),          SCENARIO(report, tuned_database, 30),
    SCENARIO(tune, tuned_database, 500),   SCENARIO(bench, tuned_database, 500)};
enum { N_SCENARIOS = sizeof scenarios / sizeof *scenarios };

/* Runs a command with memory, then with each site refused in turn. */
static void every_site_of_a_command(void **state) {
  const scenario *s = *state;
  if (s->prepare) s->prepare();
  run_scenario(s, COUNT);
  assert_int_equal(code, 0);
  free(expected);
  expected = contents("out");
  every_site(state);
}

static int setup(void **state) {
  void *frames[2];
  backtrace(frames, 2); /* loads what it needs */
  need_compiler("gfx942");
  if (!mkdtemp(dir) || chdir(dir)) return -1;
  setenv("MLAF_EMU_THREADS", "1", 1);
  setenv("MLAF_TUNING_DIR", "/nonexistent", 1); /* what is shipped or installed does not enter */
  setenv("MLAF_SITE_DB", "", 1);
  setenv("MLAF_DB", "/nonexistent/t.db", 1);
  static const command first[] = {
      {{"mlaforge", "tune", PROBLEM, ON_EMU, "--db", "kept.db", "--max-candidates", "2", NULL}, false},
      {{"mlaforge", "db", "export", "--db", "kept.db", "--out", "tuned.tsv", NULL}, false},
      {{"mlaforge", "generate", PROBLEM, "--targets", "gfx942", "--db", "kept.db", "--cache", "cache", "--out", "bundle", NULL},
       false}};
  for (int i = 0; i < 3; i++) run(&first[i]); /* ends the program if one fails */
  return 0;
}

static int teardown(void **state) {
  char line[100];
  snprintf(line, sizeof line, "cd / && rm -rf '%s'", dir);
  shell(line);
  free(expected);
  return 0;
}

int main(void) {
  struct CMUnitTest tests[N_SCENARIOS];
  size_t n = 0;
  for (size_t i = 0; i < N_SCENARIOS; i++)
    if (is_wanted(&scenarios[i]))
      tests[n++] = (struct CMUnitTest){scenarios[i].name, every_site_of_a_command, NULL, NULL, (void *)(uintptr_t)&scenarios[i]};
  return _cmocka_run_group_tests("commands", tests, n, setup, teardown);
}
