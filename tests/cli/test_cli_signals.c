/* The first SIGINT or SIGTERM ends every command, with what is done. Each of these would go on for minutes. On an idle machine a
 * second is what they have for that (README.md): here it is a second of each CPU, as a busy machine takes longer over it. */
#include "cli/cli_fixture.h"
#include "need.h"
#include "progress.h"

/* An emulated instruction takes several times as long under a sanitizer. */
enum { LIMIT_S = SANITIZED ? 10 : 1 };
#define EMU "--device", "emu:gfx942"

/* Text in a file so far, 0 when there is none yet. */
static long size_of(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 ? (long)st.st_size : 0;
}

/* The first child of a process; 0: it has none. */
static pid_t child_of(pid_t of) {
  char path[64];
  int child = 0;
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)of, (int)of);
  FILE *f = fopen(path, "r");
  if (f && fscanf(f, "%d", &child) != 1) child = 0;
  if (f) fclose(f);
  return child;
}

/* Wait for the end; the CPU seconds it took, or failure when they are more than LIMIT_S of each CPU or nothing goes on. */
static double wait_end(pid_t child, const char *what) {
  progress p = progress_of(child, LIMIT_S * (double)sysconf(_SC_NPROCESSORS_ONLN));
  while (!has_ended(child)) {
    const char *fault = progress_fault(&p);
    if (fault) {
      kill(child, SIGKILL);
      waitpid(child, NULL, 0);
      fail_msg("%s%s after the signal", what, fault);
    }
    usleep(10000);
  }
  return p.last - p.begun;
}

typedef struct long_run {
  const char *args[20];
  int number, at_work_ms; /* the signal, and how much CPU time to let it take first */
  bool itself;            /* without its compile workers: then it is emulating */
} long_run;

#define HUGE "--heads", "128", "--q-len", "8", "--batch", "256", "--ctx", "131072"
static const long_run runs[] = {
    {{"compile", "--heads", "128", "--jobs", "1"}, SIGTERM, 500, false},
    {{"compile", "--heads", "128", "--jobs", "1", "--evidence", "--json"}, SIGINT, 1500, false},
    {{"bench", HUGE, EMU}, SIGTERM, 1500, true},
    {{"verify", "--heads", "256", "--q-len", "8", "--batch", "64", "--ctx", "16384", EMU}, SIGTERM, 1500, true},
    {{"verify", "--heads", "128", "--batch", "16", "--ctx", "4096", EMU, "--all", "--jobs", "1"}, SIGINT, 500, false},
    {{"profile", HUGE, "--dtype", "f16", "--json"}, SIGTERM, 1500, true},
    {{"generate", "--heads", "128", "--out", "OUT"}, SIGTERM, 300, false},
    {{"generate", "--heads", "128", "--batch", "1,2,4,8,16,32,64,128,256", "--ctx", "1024:65536", "--targets", "gfx942,gfx950",
      "--jobs", "1", "--out", "OUT"}, SIGINT, 500, false},
    {{"tune", HUGE, "--page-size", "16", EMU, "--jobs", "1"}, SIGTERM, 1500, false},
    {{"tune", "--heads", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", "--batch", "1:1024", "--ctx", "1024:131072", EMU, "--dry-run"},
     SIGTERM, 1000, false},
};

TEST_OF(every_command_ends, const cli_dir *d) {
  need_proc();
  need_compiler("gfx942");
  double most = 0;
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    const long_run *x = &runs[i];
    const char *args[24];
    char what[200] = "", out[128];
    snprintf(out, sizeof out, "%s/out%zu", d->dir, i);
    int n = 0;
    for (; x->args[n]; n++) {
      args[n] = strcmp(x->args[n], "OUT") ? x->args[n] : out;
      snprintf(what + strlen(what), sizeof what - strlen(what), "%s ", args[n]);
    }
    args[n] = NULL;
    const pid_t child = start(d, args, NULL);
    wait_for_work(child, 1e-3 * x->at_work_ms, !x->itself);
    if (has_ended(child)) {
      cli_result r = finish(d, child);
      fail_msg("%swas over before the signal: exit %d\n%s", what, r.exit, r.err);
    }
    kill(child, x->number);
    const double took = wait_end(child, what);
    cli_result r = finish(d, child);
    print_message("%5.2f s of CPU: %s\n", took, what);
    if (took > most) most = took;
    if (r.exit == 0) print_message("it was done just then\n"); /* all is printed: nothing to say */
    else if (r.exit != 1) fail_msg("%sexit %d, expected 1\n%s", what, r.exit, r.err);
    else assert_has(r.err, "stopped");
    release(&r);
  }
  print_message("longest: %.2f s of CPU\n", most);
}

/* True of a compile worker, by its arguments. A sanitizer at its end has a process of its own, and waits for ever without it. */
static bool is_worker(pid_t process) {
  char path[64], words[4096];
  snprintf(path, sizeof path, "/proc/%d/cmdline", (int)process);
  FILE *f = fopen(path, "r");
  const size_t n = f ? fread(words, 1, sizeof words - 1, f) : 0;
  if (f) fclose(f);
  for (size_t i = 0; i < n; i++)
    if (!words[i]) words[i] = ' ';
  words[n] = 0;
  return strstr(words, "worker ") != NULL; /* mlaforge-worker, or the tests' memo-worker */
}

/* A parent that ignores SIGCHLD hands that down, and a command would not learn how its workers ended. */
TEST_OF(an_ignored_sigchld_is_not_kept, const cli_dir *d) {
  need_proc();
  need_compiler("gfx942");
  static const char *const args[] = {"tune", "--heads", "3", "--batch", "1", "--ctx", "64", EMU, "--jobs", "1", NULL};
  signal(SIGCHLD, SIG_IGN);
  const pid_t child = start(d, args, NULL);
  signal(SIGCHLD, SIG_DFL);
  progress p = progress_of(child, LIMIT_S * (double)sysconf(_SC_NPROCESSORS_ONLN));
  while (!has_ended(child)) {
    const pid_t worker = child_of(child);
    if (worker && is_worker(worker)) kill(worker, SIGKILL);
    const char *fault = progress_fault(&p);
    if (fault) {
      kill(child, SIGKILL);
      waitpid(child, NULL, 0);
      fail_msg("%s after its workers were killed", fault);
    }
    usleep(10000);
  }
  cli_result r = finish(d, child);
  assert_exit(r, 3);
  assert_has(r.err, "signal 9");
  release(&r);
}

/* A table that is cut short has its rows, and a stream of JSON lines its last one. */
TEST_OF(what_is_done_is_printed, const cli_dir *d) {
  static const char *const table[] = {"tune", "--heads", "1,2,3,4,5,6,7,8", "--batch", "1:1024", "--ctx", "1024:65536", EMU,
                                      "--dry-run", NULL};
  pid_t child = start(d, table, NULL);
  wait_for_work(child, 1.5, false);
  kill(child, SIGINT);
  wait_end(child, "tune --dry-run");
  cli_result r = finish(d, child);
  assert_exit(r, 1);
  assert_has(r.out, "candidates  rejected");
  assert_has(r.out, "mla_decode:h1,");
  release(&r);
  static const char *const lines[] = {"tune", "--heads", "1,2,3,4,5,6,7,8", "--batch", "1:1024", "--ctx", "1024:65536", EMU,
                                      "--dry-run", "--json", NULL};
  unlink(d->out);
  child = start(d, lines, NULL);
  while (!has_ended(child) && size_of(d->out) == 0) usleep(10000);
  kill(child, SIGTERM);
  wait_end(child, "tune --dry-run --json");
  r = finish(d, child);
  assert_exit(r, 1);
  assert_true(each_json(r.out, NULL, NULL) >= 2);
  assert_has(r.out, "\"MLAF_E_CANCELLED\"");
  release(&r);
}

/* A grid says which of its problems have a choice, the one under way too, and names no more than it began. */
TEST_OF(an_interrupted_grid_counts_its_problems, const cli_dir *d) {
  static const char *const args[] = {"tune", "--heads", "16", "--batch", "1,2", "--ctx", "64", EMU, "--jobs", "1", NULL};
  const pid_t child = start(d, args, NULL);
  wait_for_work(child, 4, true);
  kill(child, SIGINT);
  wait_end(child, "tune --batch 1,2");
  cli_result r = finish(d, child);
  const char *line = strstr(r.out, " problems finished");
  while (line && line > r.out && line[-1] != '\n') line--;
  size_t finished, all, choices, begun = 0;
  assert_non_null(line);
  assert_int_equal(sscanf(line, "%zu of %zu", &finished, &all), 2);
  const char *rest = strstr(line, "finished and one begun, ");
  begun = rest && rest < strchr(line, '\n');
  rest = strstr(line, begun ? "begun, " : "finished, ");
  assert_non_null(rest);
  assert_int_equal(sscanf(strchr(rest, ' '), "%zu with a choice", &choices), 1);
  assert_int_equal(all, 2);
  assert_true(choices <= finished + begun && finished + begun <= all);
  print_message("%zu finished, %zu begun, %zu with a choice\n", finished, begun, choices);
  release(&r);
}

/* A step that cannot be interrupted: a compile worker that hangs under a command that asks nobody meanwhile. */
TEST_OF(a_step_that_does_not_look, const cli_dir *d) {
  need_proc();
  need_compiler("gfx942");
  static const char *const args[] = {"bench", "--heads", "16", EMU, "--json", NULL};
  pid_t child = start(d, args, NULL);
  while (!has_ended(child) && !child_of(child)) usleep(10000);
  char path[64];
  long worker = 0;
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)child, (int)child);
  FILE *f = fopen(path, "r");
  assert_true(f && fscanf(f, "%ld", &worker) == 1);
  fclose(f);
  kill((pid_t)worker, SIGSTOP); /* its parent now waits for two minutes */
  usleep(300000);
  kill(child, SIGTERM);
  wait_end(child, "bench with a stuck worker");
  cli_result r = finish(d, child);
  kill((pid_t)worker, SIGKILL); /* the parent's end is noticed by what runs */
  assert_exit(r, 1);
  assert_has(r.err, "stopped on request");
  assert_has(r.out, "\"MLAF_E_CANCELLED\"");
  release(&r);
}

TESTS_EACH(cli_dir_setup, cli_dir_teardown)
