/* The command as a user sees it: which device it took, what fits the window, what help says. */
#include <pty.h>
#include <sys/ioctl.h>

#include "cli/cli.h"
#include "cli/cli_fixture.h"
#include "run/built.h"
#include "mlaforge/mlaforge.h"

/* Without a GPU the command takes the emulator and says so, on stderr alone; asked for a GPU by name it does not. */
TEST_OF(auto_is_the_emulator_only_aloud, const cli_dir *d) {
  setenv("MLAF_HIP_LIBRARY", "/nonexistent/hip", 1);
  setenv("MLAF_CUDA_LIBRARY", "/nonexistent/cuda", 1);
  static const char *const commands[][8] = {{"tune", "--heads", "16", "--dry-run", "--json"},
                                            {"tune", "--heads", "16", "--batch", "1,2", "--dry-run", "--json"},
                                            {"db", "why", "mla_decode:h16", "--json"},
                                            {"tune", "--heads", "16", "--dry-run", "--json", "--device", "auto"},
                                            {"db", "why", "mla_decode:h16", "--json", "--device", "auto"},
                                            {"bench", "--heads", "4", "--rank", "64", "--json"}};
  for (int i = 0; i < 6; i++) {
    cli_result r = finish(d, start(d, commands[i], NULL));
    assert_exit(r, 0);
    assert_has(r.err, "auto: no GPU, using emu:gfx942\n");
    assert_true(each_json(r.out, NULL, NULL) > 0);
    release(&r);
  }
  cli_result r = RUN(d, "tune", "--heads", "16", "--dry-run", "--device", "emu:gfx942");
  assert_exit(r, 0);
  assert_string_equal(r.err, "");
  release(&r);
  r = RUN(d, "tune", "--heads", "16", "--dry-run", "-v");
  assert_has(r.err, "device auto: not hip: MLAF_HIP_LIBRARY: /nonexistent/hip");
  assert_has(r.err, "device auto: not cuda: MLAF_CUDA_LIBRARY: /nonexistent/cuda");
  release(&r);
  RAN(d, 3, NULL, "tune", "--heads", "16", "--dry-run", "--device", "cuda");
  unsetenv("MLAF_HIP_LIBRARY");
  unsetenv("MLAF_CUDA_LIBRARY");
}

/* A command on a terminal of so many columns, with a database, a cache and a file for its standard output of its own. */
typedef struct terminal {
  pid_t child;
  int master;
} terminal;

static terminal open_terminal(const cli_dir *d, const char *const *args, unsigned short columns) {
  const char *argv[32] = {d->program};
  struct winsize size = {.ws_row = 24, .ws_col = columns};
  terminal t = {.master = -1};
  for (int i = 0; i < 30 && args[i]; i++) argv[i + 1] = args[i];
  char *own = mlaf_format("%s/%u", d->dir, columns), *db = mlaf_format("%s/tuning.db", own);
  char *cache = mlaf_format("%s/cache", own), *out = mlaf_format("%s/stdout", own);
  assert_int_equal(mkdir(own, 0700), 0);
  t.child = forkpty(&t.master, NULL, NULL, columns ? &size : NULL);
  if (t.child == 0) {
    setenv("MLAF_DB", db, 1);
    setenv("MLAF_CACHE_DIR", cache, 1);
    dup2(open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    execv(d->program, (char **)argv);
    _exit(127);
  }
  assert_true(t.child > 0);
  free(own), free(db), free(cache), free(out);
  return t;
}

static char *close_terminal(terminal t) {
  mlaf_text text = MLAF_TEXT_INIT(1 << 20);
  char part[4096];
  for (ssize_t n; (n = read(t.master, part, sizeof part)) > 0;) mlaf_text_add(&text, part, (size_t)n);
  int status = -1;
  waitpid(t.child, &status, 0);
  close(t.master);
  assert_int_equal(status, 0);
  return mlaf_text_take(&text);
}

/* A progress line that wraps cannot be cleared: each second would leave one behind. */
TEST_OF(progress_fits_the_window, const cli_dir *d) {
  static const char *const args[] = {"tune", "mla_decode:h4,r64,p32,q1,bf16,page16,b2,s100", "--device", "emu:gfx942",
                                     "--max-candidates", "6", "--jobs", "1", NULL};
  static const unsigned short widths[] = {100, 40, 0};
  terminal terminals[3];
  setenv("MEMO_PAUSE_MS", "160", 1); /* however fast compiles are; all three wait at the same time */
  for (int i = 0; i < 3; i++) terminals[i] = open_terminal(d, args, widths[i]);
  for (int i = 0; i < 3; i++) {
    char *text = close_terminal(terminals[i]);
    const size_t most = (widths[i] ? widths[i] : 80) - 1u;
    int lines = 0;
    for (const char *at = text; (at = strstr(at, "\r\033[K")); lines++) {
      at += 4;
      const size_t n = strcspn(at, "\r\n");
      if (n > most) fail_msg("%zu columns in a window of %u: '%.*s'", n, widths[i], (int)n, at);
    }
    assert_true(lines > 1); /* one a second, and compiling takes some */
    free(text);
  }
  unsetenv("MEMO_PAUSE_MS");
}

/* A variant's name is never cut: it has a line of its own, of whatever width. */
static void lines_fit(const char *text) {
  for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
    const size_t n = strcspn(line, "\n");
    const bool name = strncmp(line, "  ", 2) == 0 && strcspn(line + 2, " \n") == n - 2;
    if (n > 110 && !name) fail_msg("%zu columns: %.*s", n, (int)n, line);
  }
}

/* Four problems in two runs, beside what is shipped: the last run's first, in lines that fit, the shipped ones on request. */
TEST_OF(shows_ones_own_first, const cli_dir *d) {
  static const char *const problems[] = {"mla_decode:h4,r64,p32,q1,bf16,page16,b2,s100",
                                         "mla_decode:h4,r64,p32,q1,bf16,page16,b1,s100"};
  char *shipped = mlaf_format("%s/tuning", getenv("MLAF_SOURCE_DIR"));
  setenv("MLAF_TUNING_DIR", shipped, 1);
  for (int i = 0; i < 2; i++)
    RAN(d, 0, NULL, "tune", problems[i], "--device", "emu:gfx942", "--max-candidates", "2");
  cli_result r = RUN(d, "db", "show");
  assert_exit(r, 0);
  assert_memory_equal(r.out, "user: emu:gfx942|cu304|", 23);
  assert_true(strstr(r.out, "b1,s100") && strstr(r.out, "b1,s100") < strstr(r.out, "b2,s100")); /* the last run's */
  assert_null(strstr(r.out, "arch:gfx942"));
  assert_has(r.err, "more choices came with the site or with mlaforge: --all shows them");
  lines_fit(r.out);
  char *own = r.out;
  r.out = NULL;
  release(&r);
  r = RUN(d, "db", "show", "--all");
  assert_exit(r, 0);
  assert_memory_equal(r.out, own, strlen(own));
  assert_has(r.out, "shipped: arch:gfx942");
  assert_string_equal(r.err, "");
  lines_fit(r.out);
  release(&r);
  r = RUN(d, "db", "show", "mla_decode:h128,r512,p64,q1,bf16,page64,b1,s1024"); /* a problem by name: whoever knows it */
  assert_exit(r, 0);
  assert_has(r.out, "shipped: arch:gfx942");
  release(&r);
  RAN(d, 0, NULL, "db", "show", "--device-id", "nobody");
  free(own);
  free(shipped);
  setenv("MLAF_TUNING_DIR", "/nonexistent", 1);
}

TEST(help_says_what_an_option_does_there) {
  static const struct {
    const char *command, *says, *not;
  } cases[] = {{"db", "--dry-run              gc: say what would be removed", "print the space"},
               {"db", "--out PATH             export: the file", "where the output goes"},
               {"cache", "--dry-run              gc: say what would be removed", "print the space"},
               {"profile", "--all                  annotate the whole kernel", "every pair of kernels"},
               {"verify", "--all                  every pair of kernels", "annotate"},
               {"embed", "--targets LIST         only these of the bundle's architectures", "make a bundle"},
               {"embed", "--name NAME            a C name", "prefix of the generated files"},
               {"tune", "--dry-run              print the space", "would be removed"},
               {"tune", "--misses               tune the problems", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cli_result r = RUN(*state, cases[i].command, "--help");
    assert_exit(r, 0);
    assert_has(r.out, cases[i].says);
    if (cases[i].not && strstr(r.out, cases[i].not)) fail_msg("%s --help says '%s'", cases[i].command, cases[i].not);
    release(&r);
  }
}

TEST(models_are_listed) {
  cli_result r = RUN(*state, "models");
  assert_exit(r, 0);
  assert_has(r.out, "model ");
  assert_has(r.out, "deepseek-v3 ");
  assert_has(r.out, "minicpm3-4b ");
  assert_null(strstr(r.out, "FlashMLA"));
  release(&r);
  r = RUN(*state, "models", "-v");
  assert_has(r.out, "\n  FlashMLA; reference-kernels; inference/model.py\n");
  release(&r);
  r = RUN(*state, "models", "--json");
  assert_exit(r, 0);
  int n = 0;
  while (mlaf_model_at((size_t)n)) n++;
  assert_int_equal(each_json(r.out, NULL, NULL), n);
  assert_has(r.out, "\"name\":\"deepseek-v3\",\"heads\":128,\"rank\":512,\"rope\":64,\"qk_nope\":128,\"v_head\":128,"
                    "\"hidden\":7168,\"q_lora\":1536,\"original\":4096");
  release(&r);
}

static void add_estimate(void *user, const char *schema, const cJSON *o) {
  const cJSON *s = cJSON_GetObjectItem(o, "estimate_s");
  assert_true(cJSON_IsNumber(s) && s->valuedouble > 0);
  *(double *)user += s->valuedouble;
}

/* More candidates and fewer compiles at once take longer. */
TEST(dry_runs_estimate_the_time) {
  static const char *const more[][2] = {{"--max-candidates", "4"}, {"--max-candidates", "40"}, {"--strategy", "exhaustive"}};
  double before = 0;
  for (int i = 0; i < 3; i++) {
    double sum = 0;
    cli_result r = RUN(*state, "tune", "--heads", "16", "--batch", "1,8", "--dry-run", "--json", "--device", "emu:gfx942",
                       more[i][0], more[i][1]);
    assert_exit(r, 0);
    assert_int_equal(each_json(r.out, add_estimate, &sum), 2);
    assert_true(sum > before);
    before = sum;
    release(&r);
  }
  cli_result r = RUN(*state, "tune", "--heads", "16", "--batch", "1,8", "--dry-run", "--device", "emu:gfx942",
                     "--time-limit", "7");
  assert_has(r.out, "candidates, about 7 s; nothing was compiled");
  release(&r);
  r = RUN(*state, "tune", "--heads", "16", "--dry-run", "--device", "emu:gfx942");
  assert_has(r.out, " of them, about ");
  release(&r);
}

/* Fields of problems become options: an operation whose field is called as an option of the commands' own is refused. */
TEST(fields_are_no_other_options) {
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_cli_field_names(mlaf_ops_all, &err), MLAF_OK);
  static const mlaf_field fields[] = {{.name = "rows", .about = ""}, {.name = "gen_root", .about = ""}};
  const mlaf_op fine = {.name = "toy", .fields = fields, .n_fields = 1}, wrong = {.name = "toy", .fields = fields, .n_fields = 2};
  assert_int_equal(mlaf_cli_field_names((const mlaf_op *[]){&fine, NULL}, &err), MLAF_OK);
  assert_int_equal(mlaf_cli_field_names((const mlaf_op *[]){&fine, &wrong, NULL}, &err), MLAF_E_PROBLEM);
  assert_has(err.text, "operation toy has a field 'gen_root', and --gen-root is an option of its own");
  assert_has(err.text, "gen/ops/toy/fields.lua");
}

TESTS_EACH(cli_dir_setup, cli_dir_teardown)
