/* The command with a compiler and the emulator: tune, stop, go on, plan again, verify, bench, compile. */
#include "cli/cli_fixture.h"
#include "db/db.h"
#include "need.h"
#include "progress.h"

#define PROBLEM "mla_decode:h16,r512,p64,q1,bf16,page64,b2,s512"
#define SMALL   "mla_decode:h5,r64,p32,q1,bf16,page16,b1,s64"
#define EMU     "--device", "emu:gfx942"

typedef struct tune_seen {
  int candidates, ok, resumed, compiles, chosen;
  double worst_error;
  char variant[256];
} tune_seen;

static void read_tune(void *user, const char *schema, const cJSON *o) {
  tune_seen *t = user;
  if (strcmp(schema, "candidate") == 0) {
    bool ok = strcmp(cJSON_GetObjectItem(o, "outcome")->valuestring, "ok") == 0;
    t->candidates++;
    t->ok += ok;
    double error = ok ? cJSON_GetObjectItem(o, "error")->valuedouble : 0;
    if (error > t->worst_error) t->worst_error = error;
    assert_int_equal(cJSON_GetObjectItem(o, "scratch_bytes")->valueint, 0);
    if (ok)
      assert_string_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(o, "timing"), "source")->valuestring, "modelled");
  } else if (strcmp(schema, "tune") == 0) {
    const cJSON *choice = cJSON_GetObjectItem(o, "choice");
    t->resumed = cJSON_GetObjectItem(o, "resumed")->valueint;
    t->compiles = cJSON_GetObjectItem(o, "compiles")->valueint;
    t->chosen = cJSON_IsObject(choice);
    if (t->chosen) snprintf(t->variant, sizeof t->variant, "%s", cJSON_GetObjectItem(choice, "variant")->valuestring);
  }
}

static tune_seen tune(const cli_dir *d, const char *max, const char *extra) {
  cli_result r = extra ? RUN(d, "tune", PROBLEM, EMU, "--json", "--max-candidates", max, extra)
                       : RUN(d, "tune", PROBLEM, EMU, "--json", "--max-candidates", max);
  assert_exit(r, 0);
  tune_seen t = {0};
  each_json(r.out, read_tune, &t);
  release(&r);
  return t;
}

TEST_OF(tune_then_answer_from_the_database, const cli_dir *d) {
  need_compiler("gfx942");
  tune_seen first = tune(d, "6", NULL);
  assert_int_equal(first.candidates, 6);
  assert_true(first.ok >= 1 && first.chosen && first.compiles > 0);
  assert_true(first.worst_error > 1e-5 && first.worst_error < 2.5e-3);
  tune_seen again = tune(d, "6", NULL);
  assert_int_equal(again.compiles, 0);
  assert_int_equal(again.resumed, 6);
  assert_string_equal(again.variant, first.variant);
  tune_seen forced = tune(d, "6", "--no-resume"); /* done again, but the kernels come from the cache */
  assert_int_equal(forced.resumed, 0);
  assert_int_equal(forced.compiles, 0);
  cli_result r = RUN(d, "bench", PROBLEM, EMU, "--json");
  assert_exit(r, 0);
  cJSON *o = cJSON_Parse(r.out);
  assert_string_equal(cJSON_GetObjectItem(o, "rung")->valuestring, "exact");
  assert_string_equal(cJSON_GetObjectItem(o, "variant")->valuestring, first.variant);
  double ratio = cJSON_GetObjectItem(o, "roofline_ratio")->valuedouble;
  assert_true(ratio > 0 && ratio < 1);
  cJSON_Delete(o);
  release(&r);
  r = RUN(d, "db", "show", PROBLEM, "--samples", "--json");
  assert_exit(r, 0);
  assert_int_equal(each_json(r.out, NULL, NULL), 6);
  release(&r);
}

/* Nothing is tuned or remembered without a folder for temporary files; with one the same command works. */
TEST_OF(nothing_is_remembered_of_a_broken_machine, const cli_dir *d) {
  need_compiler("gfx942");
  char *tmp = mlaf_strdup(getenv("TMPDIR"));
  setenv("TMPDIR", "/proc/nowhere", 1);
  cli_result broken[] = {RUN(d, "tune", SMALL, EMU, "--max-candidates", "3"), RUN(d, "verify", SMALL, EMU),
                         RUN(d, "compile", SMALL, "--target", "gfx942")};
  if (tmp) setenv("TMPDIR", tmp, 1);
  else unsetenv("TMPDIR");
  free(tmp);
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    assert_exit(broken[i], 3);
    assert_has(broken[i].err, "'/proc/nowhere': No such file or directory (name another folder with TMPDIR)");
    release(&broken[i]);
  }
  cli_result r = RUN(d, "db", "show", SMALL, "--samples");
  assert_has(r.out, "nothing to show");
  release(&r);
  r = RUN(d, "tune", SMALL, EMU, "--json", "--max-candidates", "3");
  assert_exit(r, 0);
  tune_seen t = {0};
  each_json(r.out, read_tune, &t);
  release(&r);
  assert_int_equal(t.resumed, 0);
  assert_true(t.ok == t.candidates && t.chosen);
}

/* A grid of two head counts: a line each, and the CSV in the columns that compare-peers reads. */
TEST_OF(bench_of_a_grid, const cli_dir *d) {
  need_compiler("gfx942");
  char csv[512], *text = NULL;
  size_t size = 0;
  snprintf(csv, sizeof csv, "%s/bench.csv", d->dir);
  cli_result r = RUN(d, "bench", "--heads", "4,8", "--rank", "64", "--rope", "32", "--batch", "2", "--ctx", "300", "--lengths",
                     "normal:1,0.5", EMU, "--csv", csv);
  assert_exit(r, 0);
  assert_has(r.out, "table of gfx942"); /* nothing is measured here, and it says so */
  assert_has(r.out, "2     300     4  1 bf16  64/32");
  assert_has(r.out, "2     300     8  1 bf16  64/32");
  release(&r);
  assert_int_equal(mlaf_file_read(csv, 1 << 20, (void **)&text, &size, NULL), MLAF_OK);
  assert_has(text, "pass,set,B,ctx,var,H,q,dtype,rank,rope,peer,variant,us,p10,p90,n,R,kv_tokens,tflops,kv_gbs,roof_us,bound,"
                   "x_roof,relerr,note\n");
  assert_has(text, "\nidle,,2,300,1,4,1,bf16,64,32,mlaforge,\"");
  assert_has(text, "\nidle,,2,300,1,8,1,bf16,64,32,mlaforge,\"");
  assert_has(text, ",modelled\n");
  free(text);
  RAN(d, 2, NULL, "bench", "--set", "A,Q1", EMU, "--dry-run");
  RAN(d, 2, PRINTS("--set is 'Q1'"), "bench", "--set", "Q1", EMU);
}

TEST_OF(soak_of_the_planned_variant, const cli_dir *d) {
  need_compiler("gfx942");
  cli_result r = RUN(d, "verify", "--heads", "4", "--rank", "64", "--rope", "32", "--batch", "3", "--ctx", "90", EMU, "--soak",
                     "4", "--lengths", "uniform,5", "--json");
  assert_exit(r, 0);
  cJSON *o = cJSON_Parse(r.out);
  assert_string_equal(cJSON_GetObjectItem(o, "schema")->valuestring, "mlaforge.soak");
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(o, "correct")));
  assert_int_equal(cJSON_GetObjectItem(o, "launches")->valueint, 4);
  assert_int_equal(cJSON_GetObjectItem(o, "asked")->valueint, 4);
  assert_int_equal(cJSON_GetObjectItem(o, "wrong")->valueint, 0);
  assert_int_equal(cJSON_GetObjectItem(o, "checked_rows")->valueint, 12);
  assert_string_equal(cJSON_GetObjectItem(o, "lengths")->valuestring, "uniform,5");
  assert_int_equal(strlen(cJSON_GetObjectItem(cJSON_GetObjectItem(o, "decode"), "src_hash")->valuestring), 64);
  const double error = cJSON_GetObjectItem(o, "error")->valuedouble;
  assert_true(error > 1e-5 && error < 2.5e-3);
  cJSON_Delete(o);
  release(&r);
  RAN(d, 0, PRINTS("2 of 2 variants correct, 4 launches"), "verify", "--heads", "4", "--rank", "64", "--rope", "32", "--batch",
      "2", "--ctx", "90", EMU, "--soak", "2", "--pool", "1M", "--all", "--max-candidates", "2");
  static const struct {
    const char *args[6], *says;
  } wrong[] = {{{"--choices", "shipped"}, "--choices is for --soak N alone"},
               {{"--soak", "0"}, "--soak is 0"},
               {{"--soak", "5", "--choices", "shipped"}, "give none of them beside it"},
               {{"--soak", "5", "--inject", "nan-q"}, "right inputs alone"},
               {{"--soak", "5", "--pool", "huge"}, "--pool wants a size"},
               {{"--soak", "5", "--shard", "0/2"}, "--shard divides"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const char *const *a = wrong[i].args;
    RAN(d, 2, PRINTS(wrong[i].says), "verify", PROBLEM, EMU, a[0], a[1], a[2], a[3], a[4], a[5]);
  }
  RAN(d, 1, PRINTS("the layer 'shipped' has no choice"), "verify", EMU, "--soak", "5", "--choices", "shipped");
}

/* A million launches take hours here: that it ends at all is the stop. */
TEST_OF(soak_stops, const cli_dir *d) {
  need_compiler("gfx942");
  static const char *const args[] = {"verify", "--heads", "16", "--batch", "2", "--ctx", "300", EMU, "--soak", "1000000", NULL};
  pid_t child = start(d, args, NULL);
  wait_for_work(child, 1, false);
  kill(child, SIGTERM);
  cli_result r = finish(d, child);
  assert_exit(r, 1);
  assert_has(r.err, "stopped on request");
  release(&r);
}

/* A real device that is slow by nature (the emulator behind a HIP runtime): it measures no more than takes seconds, and a stop is
 * followed between two samples, not behind a grid. */
TEST_OF(slow_device, const cli_dir *d) {
  need_compiler("gfx942");
  char library[600];
  const char *build = getenv("MLAF_BUILD_DIR");
  snprintf(library, sizeof library, "%s/fakehip/libamdhip64_fakehip6.so", build ? build : ".");
  setenv("MLAF_HIP_LIBRARY", library, 1);
  RAN(d, 0, PRINTS("own kernel", "measured (p10"), "bench", "--heads", "4", "--rank", "64", "--rope", "32", "--batch", "2",
      "--ctx", "100", "--device", "hip");
  /* All phases of a soak, with both streams and the reader, as on a GPU. */
  cli_result r = RUN(d, "verify", "--heads", "4", "--rank", "64", "--rope", "32", "--batch", "3", "--ctx", "90", "--device",
                     "hip", "--soak", "120", "--pool", "1M", "--json");
  assert_exit(r, 0);
  cJSON *o = cJSON_Parse(r.out);
  assert_int_equal(cJSON_GetObjectItem(o, "launches")->valueint, 120);
  /* The number of launches of a phase depends on the clock; of 120 a tenth is beside others at least, where a phase has three. */
  assert_true(cJSON_GetObjectItem(o, "beside")->valueint >= 12);
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(o, "traffic")));
  assert_true(cJSON_GetObjectItem(o, "page_tables")->valueint > 10);
  cJSON_Delete(o);
  release(&r);
  static const char *const args[] = {"bench", "--heads", "16", "--batch", "1:64", "--ctx", "64:4096", "--device", "hip", NULL};
  pid_t child = start(d, args, NULL);
  wait_for_work(child, 1.5, false);
  kill(child, SIGTERM);
  r = finish(d, child);
  unsetenv("MLAF_HIP_LIBRARY");
  assert_exit(r, 1);
  assert_has(r.err, "stopped on request");
  release(&r);
}

static int64_t samples_in(const char *path) {
  mlaf_db *db = NULL;
  mlaf_db_counts n = {0};
  if (mlaf_db_open(path, true, NULL, &db, NULL) != MLAF_OK) return 0;
  mlaf_db_count(db, &n, NULL);
  mlaf_db_close(db);
  return n.samples;
}

TEST_OF(interrupted_tuning_goes_on, const cli_dir *d) {
  need_compiler("gfx942");
  static const char *const args[] = {"tune", PROBLEM, EMU, "--json", "--max-candidates", "9", NULL};
  pid_t child = start(d, args, NULL);
  for (double until = mlaf_now() + 1800; samples_in(d->db) < 2 && mlaf_now() < until;)
    nanosleep(&(struct timespec){0, 20000000L}, NULL);
  kill(child, SIGINT);
  cli_result r = finish(d, child);
  assert_exit(r, 1);
  assert_has(r.err, "to go on: mlaforge tune '" PROBLEM "'");
  assert_has(r.err, "--max-candidates '9'");
  tune_seen cut = {0};
  each_json(r.out, read_tune, &cut);
  release(&r);
  int64_t kept = samples_in(d->db);
  assert_in_range(kept, 2, 8);
  assert_int_equal(cut.candidates, kept); /* what was printed is what was kept */
  tune_seen rest = tune(d, "9", NULL);
  assert_in_range(rest.candidates, kept, 9); /* fewer where what was kept says that others cannot win */
  assert_int_equal(rest.resumed, kept);
  assert_true(rest.chosen);
  assert_int_equal(samples_in(d->db), rest.candidates);
}

TEST_OF(killed_tuning_goes_on_too, const cli_dir *d) {
  need_compiler("gfx942");
  static const char *const args[] = {"tune", PROBLEM, EMU, "--json", "--max-candidates", "5", NULL};
  pid_t child = start(d, args, NULL);
  for (double until = mlaf_now() + 1800; samples_in(d->db) < 1 && mlaf_now() < until;)
    nanosleep(&(struct timespec){0, 5000000L}, NULL);
  kill(child, SIGKILL);
  cli_result r = finish(d, child);
  release(&r);
  int64_t kept = samples_in(d->db);
  assert_true(kept >= 1);
  tune_seen rest = tune(d, "5", NULL);
  assert_int_equal(rest.candidates, 5);
  assert_true(rest.resumed >= 1);
}

static void count_correct(void *user, const char *schema, const cJSON *o) {
  assert_string_equal(schema, "verify");
  if (!cJSON_IsTrue(cJSON_GetObjectItem(o, "correct"))) fail_msg("%s", cJSON_GetObjectItem(o, "detail")->valuestring);
  ++*(int *)user;
}

TEST_OF(verify_planned_and_injected, const cli_dir *d) {
  need_compiler("gfx942");
  int correct = 0;
  cli_result r = RUN(d, "verify", "--heads", "20", "--q-len", "3", "--causal", "--page-size", "3", "--ctx", "200", EMU,
                     "--json", "--inject", "nan-q,oob-page");
  assert_exit(r, 0);
  each_json(r.out, count_correct, &correct);
  assert_int_equal(correct, 3);
  release(&r);
  correct = 0;
  r = RUN(d, "verify", PROBLEM, EMU, "--json", "--all", "--max-candidates", "3");
  assert_exit(r, 0);
  each_json(r.out, count_correct, &correct);
  assert_int_equal(correct, 3);
  release(&r);
}

typedef struct kernels_seen {
  int kernels, with_loop;
} kernels_seen;
static void read_kernel(void *user, const char *schema, const cJSON *o) {
  kernels_seen *k = user;
  assert_string_equal(schema, "kernel");
  assert_string_equal(cJSON_GetObjectItem(o, "status")->valuestring, "MLAF_OK");
  assert_string_equal(cJSON_GetObjectItem(o, "finding")->valuestring, "");
  assert_int_equal(cJSON_GetObjectItem(o, "scratch_bytes")->valueint, 0);
  const cJSON *loop = cJSON_GetObjectItem(o, "hot_loop");
  k->kernels++;
  if (cJSON_GetObjectItem(loop, "mfma")->valueint == 0) return;
  k->with_loop++;
  /* 16 heads: 36 MFMAs for the scores and 32 for the values of each 16 tokens */
  assert_int_equal(cJSON_GetObjectItem(loop, "mfma")->valueint % 68, 0);
  assert_true(cJSON_GetObjectItem(loop, "load_bytes_per_wave")->valueint >= 18432);
  assert_true(cJSON_GetObjectItem(loop, "waitcnt")->valueint > 0);
}

TEST_OF(compile_shows_the_evidence, cli_dir *d) {
  need_compiler("gfx942");
  char out[128];
  snprintf(out, sizeof out, "%s/code", d->dir);
  const char *variant =
    "mfma_reg:blocks=1,kvload=nt,psplit=1,qsrc=reg,rescale=lazy,schedule=splits,tile=16,waves=4/s4,rows=1,team=1";
  cli_result r = RUN(d, "compile", PROBLEM, "--variant", variant, "--evidence", "--json", "--out", out);
  assert_exit(r, 0);
  kernels_seen k = {0};
  each_json(r.out, read_kernel, &k);
  assert_int_equal(k.kernels, 2);
  assert_int_equal(k.with_loop, 1);
  release(&r);
  DIR *dir = opendir(out);
  int files = 0;
  for (struct dirent *e; (e = readdir(dir));) files += strstr(e->d_name, ".co") != NULL;
  closedir(dir);
  assert_int_equal(files, 2);
}

TESTS_EACH(cli_dir_setup, cli_dir_teardown)
