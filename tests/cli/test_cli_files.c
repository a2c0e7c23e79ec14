/* Files that a user names to the command: devices, FIFOs, links and descriptors for output and input. */
#include <sys/prctl.h>

#include "cli/cli_fixture.h"
#include "need.h"

#define SMALL "--heads", "4", "--rank", "64", "--rope", "32", "--batch", "2", "--ctx", "64"
#define EMU   "--device", "emu:gfx942"

static const char *in_dir(const cli_dir *d, const char *name) {
  static char path[8][512];
  static unsigned turn;
  char *out = path[turn++ % 8];
  snprintf(out, sizeof path[0], "%s/%s", d->dir, name);
  return out;
}

/* A database with one choice. */
static void tuned(const cli_dir *d) {
  RAN(d, 0, NULL, "tune", SMALL, EMU, "--max-candidates", "1");
}

static pid_t copy_to(const char *from, const char *to) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that failed leaves nobody waiting */
    const int out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(out, 1);
    execlp("cat", "cat", from, (char *)NULL);
    _exit(127);
  }
  return child;
}

/* Every option that names a file to write: what stood there stays what it was, and gets the text. */
TEST_OF(outputs_go_through, const cli_dir *d) {
  need_compiler("gfx942");
  tuned(d);
  const char *fifo = in_dir(d, "fifo"), *got = in_dir(d, "got"), *real = in_dir(d, "real"), *link = in_dir(d, "link");
  assert_int_equal(mkfifo(fifo, 0600), 0);
  assert_int_equal(symlink("real", link), 0);
  const struct {
    const char *args[16], *option, *has;
  } outputs[] = {{{"db", "export"}, "--out", "# mlaforge tuning text"},
                 {{"report"}, "--out", "</html>"},
                 {{"bench", SMALL, EMU}, "--csv", "pass,set,B,ctx"},
                 {{"profile", SMALL}, "--trace", "\"traceEvents\""}};
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    const char *args[24];
    int n = 0;
    while (outputs[i].args[n]) args[n] = outputs[i].args[n], n++;
    args[n] = outputs[i].option;
    args[n + 2] = NULL;
    for (int to_link = 0; to_link < 2; to_link++) {
      args[n + 1] = to_link ? link : fifo;
      const pid_t reader = to_link ? 0 : copy_to(fifo, got);
      if (reader) usleep(100000); /* it stands in open() when the writer comes */
      cli_result r = finish(d, start(d, args, NULL));
      struct stat st;
      assert_int_equal(lstat(args[n + 1], &st), 0);
      if (to_link ? !S_ISLNK(st.st_mode) : !S_ISFIFO(st.st_mode)) fail_msg("%s replaced %s", args[0], args[n + 1]);
      assert_exit(r, 0);
      release(&r);
      if (reader) waitpid(reader, NULL, 0);
      char *text = slurp(to_link ? real : got);
      assert_has(text, outputs[i].has);
      free(text);
    }
  }
}

/* report --out /dev/stdout > page.html: the page, and nothing but the page. */
TEST_OF(a_page_on_stdout, const cli_dir *d) {
  need_compiler("gfx942");
  tuned(d);
  cli_result r = RUN(d, "report", "--out", "/dev/stdout");
  assert_exit(r, 0);
  assert_memory_equal(r.out, "<!", 2);
  assert_has(r.out, "</html>");
  assert_true(strlen(strstr(r.out, "</html>")) <= strlen("</html>\n"));
  assert_has(r.err, "1 tuned problems");
  release(&r);
  cli_result text = RUN(d, "db", "export"), out = RUN(d, "db", "export", "--out", "/dev/fd/1");
  assert_string_equal(text.out, out.out);
  release(&text);
  release(&out);
  r = RUN(d, "db", "export", "--out", "/dev/full");
  struct stat st;
  assert_int_equal(stat("/dev/full", &st), 0);
  assert_true(S_ISCHR(st.st_mode));
  assert_exit(r, 3);
  assert_has(r.err, "No space left");
  release(&r);
}

/* Nothing was tuned for such a device: not the model's choices in silence, and the ids that there are. */
TEST_OF(an_unknown_device_id_is_said, const cli_dir *d) {
  need_compiler("gfx942");
  const char *out = in_dir(d, "of-whom"), *source = getenv("MLAF_SOURCE_DIR");
  char shipped[600];
  snprintf(shipped, sizeof shipped, "%s/tuning", source ? source : ".");
  setenv("MLAF_TUNING_DIR", shipped, 1);
  cli_result r = RUN(d, "generate", SMALL, "--targets", "gfx942,sm_90a", "--device-id", "MI300X", "--out", out);
  assert_exit(r, 2);
  assert_has(r.err, "--device-id 'MI300X': nothing was tuned for it");
  assert_has(r.err, "arch:gfx942");
  assert_has(r.err, "sm_90|sm132|");
  assert_null(strstr(r.err, "gfx950"));
  assert_int_not_equal(access(out, F_OK), 0);
  release(&r);
  r = RUN(d, "generate", SMALL, "--targets", "gfx942", "--device-id", "arch:gfx942", "--out", out);
  setenv("MLAF_TUNING_DIR", "/nonexistent", 1);
  assert_exit(r, 0);
  release(&r);
}

TEST_OF(directories_honour_the_umask, const cli_dir *d) {
  need_compiler("gfx942");
  const char *dirs[] = {in_dir(d, "src"), in_dir(d, "bundle"), in_dir(d, "kernels")};
  const mode_t before = umask(027);
  RAN(d, 0, NULL, "generate", SMALL, "--out", dirs[0]);
  RAN(d, 0, NULL, "generate", SMALL, "--targets", "gfx942", "--out", dirs[1]);
  RAN(d, 0, NULL, "embed", "--from", dirs[1], "--out", dirs[2]);
  char older[600];
  snprintf(older, sizeof older, "%s/mlaf_embed_mla_append.c", dirs[2]);
  FILE *left = fopen(older, "w");
  assert_non_null(left);
  fclose(left);
  /* Files that an earlier one left are named, those that are written are not. */
  cli_result r = RUN(d, "embed", "--from", dirs[1], "--out", dirs[2]);
  assert_exit(r, 0);
  assert_has(r.err, "holds files of an earlier embedding, which this one does not have: remove mlaf_embed_mla_append.c\n");
  release(&r);
  umask(before);
  const char *files[] = {"manifest.tsv", "manifest.tsv", "mlaf_kernels.c"};
  for (int i = 0; i < 3; i++) {
    struct stat st;
    char path[600];
    snprintf(path, sizeof path, "%s/%s", dirs[i], files[i]);
    assert_int_equal(stat(dirs[i], &st), 0);
    assert_int_equal(st.st_mode & 0777, 0750);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
  }
}

/* Whatever names a file to read: a FIFO that nobody writes is an error, soon, and not a command that waits for ever. */
TEST_OF(unwritten_fifos_are_refused, const cli_dir *d) {
  const char *fifo = in_dir(d, "fifo"), *bundle = in_dir(d, "bundle"), *manifest = in_dir(d, "bundle/manifest.tsv");
  char at[600];
  assert_int_equal(mkfifo(fifo, 0600), 0);
  assert_int_equal(mkdir(bundle, 0700), 0);
  assert_int_equal(mkfifo(manifest, 0600), 0);
  snprintf(at, sizeof at, "@%s", fifo);
  const struct {
    const char *args[10], *says;
  } inputs[] = {{{"db", "show", "--db", fifo}, "not a regular file"},
                {{"tune", "--heads", "4", EMU, "--db", fifo}, "not a regular file"},
                {{"tune", at, EMU, "--dry-run"}, "nobody writes to the FIFO"},
                {{"generate", "--models", at, "--targets", "gfx942", "--out", bundle}, "nobody writes to the FIFO"},
                {{"db", "import", fifo}, "nobody writes to the FIFO"},
                {{"db", "merge", fifo}, "nobody writes to the FIFO"},
                {{"db", "diff", fifo, fifo}, "nobody writes to the FIFO"},
                {{"embed", "--from", bundle, "--out", bundle}, "not a regular file"},
                {{"verify", "--heads", "4", EMU, "--bundle", bundle, "--no-compile"}, "not a regular file"},
                {{"profile", "--code", fifo, "--args", fifo}, "not a regular file"}};
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    const pid_t child = start(d, inputs[i].args, NULL);
    siginfo_t end = {0};
    for (int k = 0; k < 6000 && !end.si_pid; k++) {
      waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT | WNOHANG);
      if (!end.si_pid) usleep(10000);
    }
    if (!end.si_pid) kill(child, SIGKILL);
    cli_result r = finish(d, child);
    if (r.exit != 3) fail_msg("%s %s: exit %d\n%s", inputs[i].args[0], inputs[i].args[1], r.exit, r.err);
    assert_has(r.err, inputs[i].says);
    release(&r);
  }
  setenv("MLAF_SITE_DB", fifo, 1);
  cli_result r = RUN(d, "db", "why", "mla_decode:h4,r64,p32,q1,bf16,page64,b2,s64", EMU);
  setenv("MLAF_SITE_DB", "", 1);
  assert_exit(r, 0);
  assert_has(r.err, "going on without the site's");
  release(&r);
}

/* A pipe that somebody writes is read: what a shell makes of <(command). */
TEST_OF(pipes_are_read, const cli_dir *d) {
  need_compiler("gfx942");
  tuned(d);
  const char *text = in_dir(d, "text"), *list = in_dir(d, "list"), *fifo = in_dir(d, "fifo"), *other = in_dir(d, "other.db");
  char at[600];
  RAN(d, 0, NULL, "db", "export", "--out", text);
  FILE *f = fopen(list, "w");
  fputs("mla_decode:h4,r64,p32,q1,bf16,page64,b2,s64\nmla_decode:h8,r64,p32,q1,bf16,page64,b2,s64\n", f);
  fclose(f);
  assert_int_equal(mkfifo(fifo, 0600), 0);
  snprintf(at, sizeof at, "@%s", fifo);
  const struct {
    const char *args[10], *from, *says;
  } inputs[] = {{{"db", "import", fifo, "--db", other}, text, "1 choices read"},
                {{"db", "merge", fifo, "--db", other}, text, "0 left out"},
                {{"db", "diff", fifo, d->db}, text, "0 choices differ, 1 are the same"},
                {{"tune", at, EMU, "--dry-run"}, list, "2 problems on emu:gfx942"}};
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    const pid_t writer = copy_to(inputs[i].from, fifo);
    cli_result r = finish(d, start(d, inputs[i].args, NULL));
    waitpid(writer, NULL, 0);
    assert_exit(r, 0);
    assert_has(r.out, inputs[i].says);
    release(&r);
  }
}

/* Neither a name of no file nor SQLite's names of none: what is tuned is kept, or the command does not begin. */
TEST_OF(databases_have_files, const cli_dir *d) {
  need_compiler("gfx942");
  RAN(d, 2, PRINTS("--db wants a value"), "tune", SMALL, EMU, "--max-candidates", "1", "--db", "");
  char before[512];
  assert_non_null(getcwd(before, sizeof before));
  assert_int_equal(chdir(d->dir), 0);
  cli_result r = RUN(d, "tune", SMALL, EMU, "--max-candidates", "1", "--db", ":memory:");
  assert_int_equal(chdir(before), 0);
  assert_exit(r, 0);
  release(&r);
  assert_int_equal(access(in_dir(d, ":memory:"), R_OK), 0);
}

TEST_OF(dry_runs_change_nothing, const cli_dir *d) {
  need_compiler("gfx942");
  tuned(d);
  const char *text = in_dir(d, "text"), *other = in_dir(d, "other.db"), *cache = in_dir(d, "seeded");
  RAN(d, 0, NULL, "db", "export", "--out", text);
  RAN(d, 0, PRINTS("1 choices would be read"), "db", "import", text, "--db", other, "--dry-run");
  RAN(d, 0, PRINTS("1 samples of 1 problems new, 0 known", "nothing was written"), "db", "merge", d->db, "--db", other,
      "--dry-run");
  assert_int_equal(access(other, F_OK), -1);
  RAN(d, 0, NULL, "db", "merge", d->db, "--db", other);
  cli_result r = RUN(d, "db", "merge", d->db, "--db", other, "--dry-run"); /* in what is there all is known */
  assert_exit(r, 0);
  assert_has(r.out, "0 samples of 0 problems new, 1 known");
  release(&r);
  r = RUN(d, "cache", "seed", "--from", d->cache, "--cache", cache, "--dry-run");
  assert_exit(r, 0);
  assert_has(r.out, "would be in");
  assert_int_equal(access(cache, F_OK), -1);
  release(&r);
  RAN(d, 0, PRINTS("0 choices differ, 1 are the same"), "db", "diff", d->db, text);
}

/* A device that the database does not know: nothing to show, and (under the sanitizers) nothing left behind. */
TEST_OF(unknown_devices, const cli_dir *d) {
  need_compiler("gfx942");
  tuned(d);
  static const char *const ways[][4] = {{NULL}, {"--misses", NULL},
                                        {"--samples", "mla_decode:h4,r64,p32,q1,bf16,page64,b2,s64", NULL}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    RAN(d, 0, PRINTS("nothing to show"), "db", "show", "--device-id", "nonsense", ways[i][0], ways[i][1]);
}

/* Slips of the command line are usage, and say no line of a generator's traceback. */
TEST_OF(wrong_names_are_usage, const cli_dir *d) {
  RAN(d, 2, PRINTS("no readable gen/loader.lua"), "generate", "--heads", "4", "--gen-root", d->dir);
  RAN(d, 2, NULL, "tune", "--heads", "4", EMU, "--dry-run", "--gen-root", d->dir);
  cli_result r = RUN(d, "db", "why", "mla_decode:h4,r64,p32,q1,bf16,page64,b2,s64", "--device-id", "nonsense");
  assert_exit(r, 2);
  assert_has(r.err, "no arch table for the target 'nonsense'");
  assert_null(strstr(r.err, "traceback"));
  assert_null(strstr(r.out, "traceback"));
  release(&r);
}

TESTS_EACH(cli_dir_setup, cli_dir_teardown)
