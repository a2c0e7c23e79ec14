/* `mlaforge tune --serve`: what it lists, how it ends and goes on, what it writes. One head of MiniCPM3 on two emulators. */
#include <time.h>

#include "cli/cli_fixture.h"
#include "db/db.h"
#include "need.h"

#define SERVE "tune", "--model", "minicpm3-4b", "--tp", "40", "--page-size", "16", "--max-candidates", "2", "--device", \
              "emu:gfx942,emu:gfx942", "--serve"

static int64_t samples_in(const char *path) {
  mlaf_db *db = NULL;
  mlaf_db_counts n = {0};
  mlaf_err err = {MLAF_OK, ""};
  if (access(path, F_OK) || mlaf_db_open(path, true, NULL, &db, &err)) return 0;
  if (mlaf_db_count(db, &n, &err)) fail_msg("%s", err.text);
  mlaf_db_close(db);
  return n.samples;
}

/* --- what there is --- */

static double number(const cJSON *o, const char *name) {
  const cJSON *x = cJSON_GetObjectItem(o, name);
  return cJSON_IsNumber(x) ? x->valuedouble : -1;
}

static void expect_line(const cli_dir *d, const char *model, const char *tp, const char *sizes, const char *line) {
  RAN(d, 0, PRINTS(line), "tune", "--model", model, "--tp", tp, "--serve", sizes, "--device", "emu:gfx942", "--dry-run");
}

TEST_OF(lists_problems_and_layers, const cli_dir *d) {
  /* six operations with 1, 2 and 4 tokens, attention with two contexts */
  expect_line(d, "minicpm3-4b", "40", "batch=1:4,ctx=64:128", "21 problems and 6 layers on 1 x AMD Instinct MI300X (emulated): "
              "at most ");
  /* 2 requests of 2 tokens have the products of 4 of 1, and their layer's choice */
  expect_line(d, "minicpm3-4b", "40", "batch=2,4,ctx=64,q=1,2", "19 problems and 3 layers");
  /* one shape under three names; an indexer's layer is another */
  expect_line(d, "deepseek-v3,deepseek-r1,deepseek-v3.1", "8", "batch=1,ctx=1024", "6 problems and 1 layers");
  expect_line(d, "deepseek-v3,deepseek-v3.2", "8", "batch=1,ctx=4096", "11 problems and 2 layers");
  /* a prompt has three products, append, two gathers, merge, and two of prefill: over new keys and cached ones */
  expect_line(d, "minicpm3-4b", "40", "batch=1,ctx=64,prefill=4096", "15 problems and 1 layers");
  /* no layer of this form: attention alone */
  expect_line(d, "deepseek-v4-h64", "8", "batch=1:2,ctx=1024,q=1,2", "4 problems and 0 layers");
}

TEST(refuses) {
  static const struct {
    const char *sizes, *option, *value, *says;
  } list[] = {{"batch=1,batch=2", NULL, NULL, "'batch=2' is given twice; wanted is batch=LIST,ctx=LIST,q=LIST,prefill=LIST"},
              {"1:4", NULL, NULL, "'1:4' is no list of those"},
              {"rows=4", NULL, NULL, "'rows=4' is no list of those"},
              {"batch=0", NULL, NULL, "--serve batch '0'"},
              {"q=17", NULL, NULL, "--serve q '17'"},
              {"ctx=1,q=2", NULL, NULL, "ctx 1 counts the 2 new tokens, too"},
              {"batch=1", "--batch", "2", "--serve has lists for batch, ctx and q"},
              {"batch=1,ctx=", NULL, NULL, "'ctx=' is empty"},
              {"batch=1", "--tp", "3", "no --tp divides the heads"},
              {"batch=1", "--model", "gpt", "no shipped model is called 'gpt'"},
              {"batch=1", "--shard", "0/2", "--shard says nothing of --serve"},
              {"batch=1", "--lengths", "odd", "odd"}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    const bool model = list[i].option && !strcmp(list[i].option, "--model");
    const char *const args[] = {"tune", "--device", "emu:gfx942", "--dry-run", "--serve", list[i].sizes,
                                model ? "--tp" : "--model", model ? "1" : "minicpm3-4b", list[i].option, list[i].value, NULL};
    cli_result r = finish(*state, start(*state, args, NULL));
    assert_exit(r, 2);
    assert_has(r.err, list[i].says);
    release(&r);
  }
  static const struct {
    const char *args[4], *says;
  } others[] = {{{"tune", "--serve", "batch=1"}, "--serve wants --model NAME, or all"},
                {{"tune", "mla_decode:h5,b1,s64", "--serve", "batch=1"}, "--serve takes its problems from"},
                {{"tune", "--soak", "5"}, "--soak is for --serve"},
                {{"tune", "layer", "--serve", "batch=1"}, "--serve says nothing of `tune layer`"}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    const char *args[5] = {NULL};
    memcpy(args, others[i].args, sizeof others[i].args);
    cli_result r = finish(*state, start(*state, args, NULL));
    assert_exit(r, 2);
    assert_has(r.err, others[i].says);
    release(&r);
  }
  cli_result r = RUN(*state, SERVE, "batch=1,ctx=64", "--out", "/dev/null/out"); /* before anything is tuned */
  assert_exit(r, 3);
  assert_has(r.err, "cannot make the directory");
  assert_string_equal(r.out, "");
  release(&r);
}

/* Ends where nothing can be recorded, contexts that are open already included. */
TEST_OF(refuses_a_database_that_does_not_open, const cli_dir *d) {
  setenv("MLAF_DB", "/proc/no.db", 1);
  cli_result r = RUN(d, SERVE, "batch=1,ctx=64", "--out", d->dir);
  setenv("MLAF_DB", d->db, 1);
  assert_exit(r, 3);
  assert_has(r.err, "cannot be opened or created");
  release(&r);
}

/* One of a newer schema can only be read, by anybody: said before anything is tuned. A dry run records nothing. */
TEST_OF(refuses_a_database_that_only_reads, const cli_dir *d) {
  mlaf_db *db = NULL;
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_db_open(d->db, false, NULL, &db, &err), MLAF_OK);
  mlaf_db_close(db);
  FILE *f = fopen(d->db, "r+b");
  assert_non_null(f);
  assert_int_equal(fseek(f, 63, SEEK_SET) || fputc(99, f) != 99 || fclose(f), 0); /* user_version, the last of its four bytes */
  RAN(d, 0, PRINTS("6 problems and 1 layers"), SERVE, "batch=1,ctx=64", "--dry-run");
  cli_result r = RUN(d, SERVE, "batch=1,ctx=64", "--out", d->dir);
  assert_exit(r, 3);
  assert_has(r.err, "is open read-only");
  assert_has(r.err, "name another with --db");
  assert_true(!strstr(r.out, "finished"));
  release(&r);
}

/* A GPU that does not open hides none of the others; kernels are compiled once, however many GPUs wait for them. */
TEST_OF(all_gpus_that_open, const cli_dir *d) {
  char fake[PATH_MAX];
  snprintf(fake, sizeof fake, "%s/fakecuda/libfakecuda.so", getenv("MLAF_BUILD_DIR"));
  setenv("MLAF_CUDA_LIBRARY", fake, 1);
  setenv("MLAF_HIP_LIBRARY", "/nonexistent/hip", 1);
  static const struct {
    const char *devices, *fail, *out, *err;
  } list[] = {{"4", NULL, "on 4 x Fake Hopper: at most ", ""},
              {"4", "cuDevicePrimaryCtxRetain:2:46", "on 3 x Fake Hopper: at most ", "left out: cuda:1 does not open: "},
              {"4", "cuDevicePrimaryCtxRetain:1:46", "on 3 x Fake Hopper: at most ", "left out: cuda:0 does not open: "}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    setenv("FAKECUDA_DEVICES", list[i].devices, 1);
    if (list[i].fail) setenv("FAKECUDA_FAIL", list[i].fail, 1);
    cli_result r = RUN(d, "tune", "--model", "minicpm3-4b", "--tp", "40", "--serve", "batch=1,ctx=64", "--device", "auto",
                       "--no-library", "--dry-run");
    unsetenv("FAKECUDA_FAIL");
    assert_exit(r, 0);
    assert_has(r.out, list[i].out);
    assert_has(r.err, list[i].err);
    release(&r);
  }
  setenv("FAKECUDA_DEVICES", "1", 1), setenv("FAKECUDA_ANY", "1", 1);
  setenv("FAKECUDA_FAIL", "cuDevicePrimaryCtxRetain:3:46", 1); /* of its second thread, without which the run goes on */
  cli_result fewer = RUN(d, "tune", "--model", "minicpm3-4b", "--tp", "40", "--serve", "batch=1,ctx=64", "--device", "auto",
                         "--no-library", "--jobs", "12", "--time-limit", "1", "--out", d->dir);
  unsetenv("FAKECUDA_FAIL"), unsetenv("FAKECUDA_ANY");
  assert_exit(fewer, 1);
  assert_has(fewer.err, "cuda:0 gets no more threads: ");
  assert_has(fewer.out, " on 1 devices");
  release(&fewer);
  double seconds[2];
  for (int i = 0; i < 2; i++) {
    setenv("FAKECUDA_DEVICES", i ? "4" : "1", 1);
    cli_result r = RUN(d, "tune", "--model", "minicpm3-4b", "--tp", "40", "--serve", "batch=1,ctx=64", "--no-library",
                       "--dry-run", "--json", "--jobs", "1");
    assert_exit(r, 0);
    cJSON *o = cJSON_Parse(r.out);
    seconds[i] = number(o, "seconds");
    cJSON_Delete(o);
    release(&r);
  }
  assert_true(seconds[1] < seconds[0] && seconds[1] > 0.5 * seconds[0]); /* one compiler's time is most of it */
  unsetenv("FAKECUDA_DEVICES"), unsetenv("MLAF_CUDA_LIBRARY"), unsetenv("MLAF_HIP_LIBRARY");
}

TEST(several_problem_strings) {
  cli_result r = RUN(*state, "tune", "mla_v_out:h1,r256,v64,bf16,t1", "mla_decode:h5,r64,p32,q1,bf16,page16,b1,s64",
                     "mla_v_out:h1,r256,v64,bf16,t1", "--device", "emu:gfx942", "--dry-run", "--json");
  assert_exit(r, 0);
  assert_int_equal(each_json(r.out, NULL, NULL), 2);
  release(&r);
  r = RUN(*state, "tune", "mla_v_out:h1,r256,v64,bf16,t1", "mla_decode:h5", "--batch", "2", "--dry-run");
  assert_exit(r, 2);
  assert_has(r.err, "names whole problems: give no other grid");
  release(&r);
  r = RUN(*state, "tune", "mla_v_out:h1,r256,v64,bf16,t1", "mla_decode:r5", "--dry-run");
  assert_exit(r, 2);
  assert_has(r.err, "'mla_decode:r5': ");
  release(&r);
}

/* --- a run --- */

typedef struct totals {
  int problems, layers, soaked, ragged;
  double finished, items, resumed;
} totals;

static void count(void *user, const char *schema, const cJSON *o) {
  totals *t = user;
  if (!strcmp(schema, "tune")) t->problems++, t->resumed += number(o, "resumed");
  if (!strcmp(schema, "serve_layer")) t->layers++;
  if (!strcmp(schema, "serve")) t->finished = number(o, "finished"), t->items = number(o, "items");
  if (strcmp(schema, "soak")) return;
  t->soaked++;
  t->ragged += !strcmp(cJSON_GetObjectItem(o, "lengths")->valuestring, "uniform");
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(o, "correct")));
}

static char *read_in(const char *dir, const char *name) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return slurp(path);
}

TEST_OF(killed_and_taken_up_again, cli_dir *d) {
  char out[100];
  need_compiler("gfx942");
  snprintf(out, sizeof out, "%s/out", d->dir);
  const char *const args[] = {SERVE, "batch=1,2,ctx=64", "--out", out, "--json", "--soak", "5", NULL};
  const pid_t child = start(d, args, NULL);
  for (int i = 0; i < 1200 && samples_in(d->db) < 4; i++) nanosleep(&(struct timespec){0, 50000000}, NULL);
  kill(child, SIGKILL);
  cli_result r = finish(d, child);
  assert_exit(r, 1000 + SIGKILL);
  release(&r);
  const int64_t before = samples_in(d->db);
  assert_true(before >= 4);
  r = finish(d, start(d, args, NULL));
  assert_exit(r, 0);
  totals t = {0};
  each_json(r.out, count, &t);
  assert_true(t.problems == 12 && t.layers == 2 && t.finished == 14 && t.items == 14);
  assert_true(t.resumed >= 3 && t.resumed <= (double)before);
  assert_true(t.soaked == 12 && t.ragged == 1); /* attention of two requests */
  release(&r);
  char *text = read_in(out, "amd-instinct-mi300x-emulated.tsv"), *page = read_in(out, "amd-instinct-mi300x-emulated.html");
  assert_has(text, "# mlaforge tuning text 3\n");
  assert_has(text, "mla_layer:d2560,h1,l768,r256,p32,n64,v64,bf16,t2,s64\t");
  assert_has(page, "mla_q_absorb:h1,n64,p32,r256,bf16,halves,t2");
  assert_has(page, "<h3>Layers</h3>");
  assert_has(page, "mla_layer:d2560,h1,l768,r256,p32,n64,v64,bf16,t2,s64</code><td>q_b+append<td class=n>");
  assert_has(page, "<td>separate<td class=n>1."); /* the next fastest */
  assert_has(page, "guesses of the model were the fastest");
  free(text), free(page);
  const int64_t all = samples_in(d->db);
  r = RUN(d, SERVE, "batch=1,2,ctx=64", "--out", out);
  assert_exit(r, 0);
  assert_has(r.out, "12 problems and 2 layers on 2 x AMD Instinct MI300X (emulated): at most 0 candidates");
  assert_has(r.out, "14 of 14 finished: 12 problems with a choice, 2 layers, 24 candidates");
  assert_has(r.out, "2 layers: 1.000x (geometric mean), 1.00x at worst; 2 are the fastest"); /* others are as fast */
  assert_int_equal(samples_in(d->db), all);
  release(&r);
}

/* Stopped by a signal: what is finished is on the page and in the text, and the exit code says that it is not all. */
TEST_OF(stopped_by_a_signal, cli_dir *d) {
  char out[100];
  need_compiler("gfx942");
  snprintf(out, sizeof out, "%s/stopped", d->dir);
  const char *const args[] = {SERVE, "batch=1,2,ctx=64", "--out", out, NULL};
  const pid_t child = start(d, args, NULL);
  for (int i = 0; i < 1200 && samples_in(d->db) < 4; i++) nanosleep(&(struct timespec){0, 50000000}, NULL);
  kill(child, SIGINT);
  cli_result r = finish(d, child);
  assert_exit(r, 1);
  assert_has(r.err, "the same command goes on from there");
  assert_has(r.out, " finished: ");
  release(&r);
  char *text = read_in(out, "amd-instinct-mi300x-emulated.tsv"), *page = read_in(out, "amd-instinct-mi300x-emulated.html");
  assert_has(text, "# mlaforge tuning text 3\n");
  assert_has(page, "</html>");
  free(text), free(page);
}

TESTS_EACH(cli_dir_setup, cli_dir_teardown)
