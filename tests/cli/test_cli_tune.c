/* Grids, shards, and the commands that look after a database. */
#include "cli/cli.h"
#include "cli/cli_fixture.h"
#include "db/db.h"
#include "ops/mla_decode/fields.h"
#include "point.h"

static void expect_axis(const char *text, const int32_t *values, size_t n) {
  cli_axis axis;
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_cli_axis("batch", text, 1, 65536, &axis, &err) != MLAF_OK) fail_msg("'%s': %s", text, err.text);
  assert_int_equal(axis.n, n);
  for (size_t i = 0; i < n; i++) assert_int_equal(axis.values[i], values[i]);
  free(axis.values);
}

TEST(axes) {
  expect_axis("7", (int32_t[]){7}, 1);
  expect_axis("1,8,64:256", (int32_t[]){1, 8, 64, 128, 256}, 5);
  expect_axis("64:256,8,1,8", (int32_t[]){1, 8, 64, 128, 256}, 5); /* sorted, once each */
  expect_axis("1:10", (int32_t[]){1, 2, 4, 8, 10}, 5);             /* the end itself */
  expect_axis("5:5", (int32_t[]){5}, 1);
  static const char *const bad[] = {"", "x", "1,", ",1", "0", "65537", "8:1", "1:2:4", "1;2", "-1", " 1", "1:"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    cli_axis axis;
    mlaf_err err = {MLAF_OK, ""};
    if (mlaf_cli_axis("batch", bad[i], 1, 65536, &axis, &err) != MLAF_E_ARG) fail_msg("'%s' was taken", bad[i]);
    assert_has(err.text, "--batch");
  }
}

static const char *const shard_variables[] = {
    "SLURM_ARRAY_TASK_ID",  "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP", "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE", "PMI_RANK",               "PMI_SIZE",             "SLURM_PROCID",          "SLURM_STEP_NUM_TASKS"};

static void clear_shard_environment(void) {
  for (size_t i = 0; i < sizeof shard_variables / sizeof *shard_variables; i++) unsetenv(shard_variables[i]);
}

/* Which of ten problems a shard takes, as their batches. */
static mlaf_status shard(const char *text, char *out, size_t size, mlaf_err *err) {
  cli c = {.n_arguments = 0};
  cli_problems g = {calloc(10, sizeof(mlaf_point)), 10};
  for (int i = 0; i < 10; i++) mlaf_point_init(&mlaf_op_mla_decode, &g.list[i]), g.list[i].v[MLA_DECODE_BATCH] = i;
  c.given[O_SHARD] = text;
  mlaf_status status = mlaf_cli_shard(&c, &g);
  size_t n = 0;
  out[0] = 0;
  for (size_t i = 0; i < g.n && status == MLAF_OK; i++)
    n += (size_t)snprintf(out + n, size - n, "%d", g.list[i].v[MLA_DECODE_BATCH]);
  *err = c.err;
  mlaf_cli_problems_free(&g);
  return status;
}

TEST(shards) {
  static const struct {
    const char *set[4][2], *shard, *expect;
  } cases[] = {
      {{{NULL}}, NULL, "0123456789"},
      {{{NULL}}, "1/4", "159"},
      {{{"SLURM_ARRAY_TASK_ID", "3"}, {"SLURM_ARRAY_TASK_COUNT", "4"}}, "auto", "37"},
      {{{"SLURM_ARRAY_TASK_ID", "14"}, {"SLURM_ARRAY_TASK_COUNT", "3"}, {"SLURM_ARRAY_TASK_MIN", "10"},
        {"SLURM_ARRAY_TASK_STEP", "2"}}, "auto", "258"},
      {{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "5"}}, "auto", "05"},
      {{{"PMI_RANK", "4"}, {"PMI_SIZE", "5"}}, "auto", "49"},
      {{{"SLURM_ARRAY_TASK_ID", "1"}, {"SLURM_ARRAY_TASK_COUNT", "2"}, {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}},
       "auto", "37"},
  };
  char out[32];
  mlaf_err err;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    clear_shard_environment();
    for (int k = 0; k < 4 && cases[i].set[k][0]; k++) setenv(cases[i].set[k][0], cases[i].set[k][1], 1);
    if (shard(cases[i].shard, out, sizeof out, &err) != MLAF_OK) fail_msg("case %zu: %s", i, err.text);
    assert_string_equal(out, cases[i].expect);
  }
  clear_shard_environment();
  assert_int_equal(shard("auto", out, sizeof out, &err), MLAF_E_ARG);
  assert_has(err.text, "SLURM_ARRAY_TASK_ID");
  assert_int_equal(shard("4/4", out, sizeof out, &err), MLAF_E_ARG);
  assert_int_equal(shard("1/4x", out, sizeof out, &err), MLAF_E_ARG);
}

/* --- the database's commands --- */
static void add(const char *path, int batch, const char *variant, double ns) {
  mlaf_db *db = NULL;
  mlaf_err err = {MLAF_OK, ""};
  mlaf_problem p = MLAF_PROBLEM_INIT;
  mlaf_device_info dev = {.compute_units = 304, .xcc = 8};
  snprintf(dev.id, sizeof dev.id, "emu:gfx942|cu304|xcc8|SPX|NPS1");
  snprintf(dev.target, sizeof dev.target, "gfx942");
  p.batch = batch;
  mlaf_sample s = {.knob = 1, .outcome = MLAF_OUT_OK, .source = MLAF_SRC_MODELLED, .error = 1e-3};
  snprintf(s.variant, sizeof s.variant, "%s", variant);
  snprintf(s.kernels[0].template_name, sizeof s.kernels[0].template_name, "mla_decode/mfma_reg");
  snprintf(s.kernels[0].symbol, sizeof s.kernels[0].symbol, "k<&>");
  memset(s.kernels[0].template_hash, '0', 64);
  s.kernels[0].threads = 64;
  s.kernels[0].rows_per_wg = 16;
  s.timing = (mlaf_timing){.source = MLAF_TIME_MODELLED, .ns = ns, .p10_ns = ns, .p90_ns = ns, .samples = 1, .n_parts = 2,
                           .parts = {{"hbm", ns / 2}, {"issue", ns / 2}}};
  if (mlaf_db_open(path, false, NULL, &db, &err) != MLAF_OK ||
      mlaf_db_add_sample(db, &dev, "tool", pt(&p), &s, &err) != MLAF_OK)
    fail_msg("%s", err.text);
  mlaf_db_close(db);
}

TEST_OF(merge_diff_check_gc, const cli_dir *d) {
  char a[100], b[100];
  snprintf(a, sizeof a, "%s/a.db", d->dir);
  snprintf(b, sizeof b, "%s/b.db", d->dir);
  add(a, 1, "mfma_reg:x=1/s1", 1000);
  add(b, 2, "mfma_reg:x=2/s1", 2000);
  RAN(d, 0, PRINTS("\"samples\":1,\"known\":0"), "db", "merge", a, b, "--json");
  cli_result r = RUN(d, "db", "diff", a, d->db);
  assert_exit(r, 1);
  assert_has(r.out, "added");
  assert_has(r.out, "1 choices differ, 1 are the same");
  release(&r);
  RAN(d, 0, NULL, "db", "diff", a, a);
  RAN(d, 0, PRINTS("nothing wrong with 2 choices, 2 samples"), "db", "check");
  add(d->db, 1, "mfma_reg:x=1/s1", 990);
  RAN(d, 0, PRINTS("would remove 1 superseded"), "db", "gc", "--dry-run");
  r = RUN(d, "db", "gc");
  assert_has(r.out, "removed 1 superseded");
  release(&r);
  unlink(d->db); /* one of the files is not there: nothing is merged, and no empty database left behind */
  r = RUN(d, "db", "merge", a, "/nonexistent.db");
  assert_exit(r, 3);
  assert_has(r.err, "/nonexistent.db");
  assert_int_equal(access(d->db, F_OK), -1);
  release(&r);
  r = RUN(d, "db", "check"); /* nothing to check is not an empty file made to be checked */
  assert_exit(r, 3);
  assert_int_equal(access(d->db, F_OK), -1);
  release(&r);
  FILE *f = fopen(a, "r+"); /* the first page: the schema and where each table begins */
  assert_non_null(f);
  fseek(f, 100, SEEK_SET);
  for (int i = 100; i < 4096; i++) fputc(0x55, f);
  fclose(f);
  r = RUN(d, "db", "check", "--db", a);
  assert_has(r.err, "save what its pages hold with: mlaforge db merge '");
  assert_true(!strstr(r.err, "move it aside"));
  release(&r);
  RAN(d, 0, PRINTS("is damaged, so this is what its pages hold:", ": 1 samples of 1 problems new, 0 known"), "db", "merge", a);
}

TEST_OF(why_names_every_rung, const cli_dir *d) {
  add(d->db, 1, "mfma_reg:x=1/s1", 1000);
  RAN(d, 0, PRINTS("exact     no   user layer: choice of mla_decode:h16", "HARD: the generator no longer makes this variant",
      "model     yes", "a plan stands on: model"), "db", "why", "mla_decode:h16", "--device-id",
      "emu:gfx942|cu304|xcc8|SPX|NPS1");
  RAN(d, 0, PRINTS("HARD: another device"), "db", "why", "mla_decode:h16", "--device-id",
      "gfx942:sramecc+:xnack-|cu228|xcc6|SPX|NPS1");
  static const char *const strange[] = {"gfx942:sramecc+:xnack-|cu0|xcc8|SPX|NPS1", "gfx942|cu-1|xcc8", "gfx942|cu",
                                        "gfx942|cu38x", "sm_90|sm0|l2_60M"};
  for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
    RAN(d, 2, PRINTS("are no compute units, must be 1 to 99999"), "db", "why", "mla_decode:h16", "--device-id", strange[i]);
  cli_result r = RUN(d, "db", "why", "mla_decode:h16,b64,s4096", "--device-id", "gfx942:sramecc+:xnack-|cu38|xcc1|CPX|NPS1");
  assert_has(r.out, "not verified on this device; estimated for 304 compute units, and this device has 38: its time is another");
  release(&r);
  r = RUN(d, "db", "why", "mla_decode:h128", "--device-id", "sm_90|sm132|l2_60M|bus6016"); /* code for it is that of sm_90a */
  assert_exit(r, 0);
  assert_has(r.out, "model     yes");
  release(&r);
}

/* Entries without hashes name their variant alone: today's generator makes it. */
static void import_named(const cli_dir *d, const char *device, const char *const (*rows)[3], size_t n) {
  char path[300];
  snprintf(path, sizeof path, "%s/named.tsv", d->dir);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fprintf(f, "# mlaforge tuning text 2\ndevice\tproblem\tvariant\tsplits\tsource\tns\tmargin\terror\tprotocol\ttoolchain\tdriver"
             "\tclock_mhz\tmem_clock_mhz");
  static const char *const fields[] = {"template", "params", "symbol", "template_hash", "src_hash", "code_key", "threads",
                                       "rows_per_wg"};
  for (int i = 0; i < 16; i++) fprintf(f, "\t%s.%s", i < 8 ? "decode" : "combine", fields[i % 8]);
  fprintf(f, "\tlengths\n");
  for (size_t i = 0; i < n; i++)
    fprintf(f, "%s\t%s\t%s\t1\tmodelled\t%s\t0\t0.002\t" MLAF_DB_PROTOCOL_TEXT "\t*\t*\t*\t*\tt\ta=1\tx\t-\t-\t-\t256\t32"
               "\t-\t-\t-\t-\t-\t-\t0\t0\tequal\n", device, rows[i][0], rows[i][1], rows[i][2]);
  fclose(f);
  RAN(d, 0, NULL, "db", "import", path);
}

/* Times of the emulator and of one H200. */
TEST_OF(why_says_what_was_measured_near, const cli_dir *d) {
  unlink(d->db);
#define AT  "mla_decode:h16,r512,p64,q4,causal,bf16,page64,"
#define LDS "mfma_lds:blocks=1,load=dma,order=ahead,rescale=lazy,schedule=fitted,stages=3,waves=4/s1,rows=4,team=2"
  static const char *const near[][3] = {
      {AT "b128,s1024",
       "mfma_reg:blocks=2,kvload=nt,psplit=1,qsrc=lds,rescale=lazy,schedule=fitted,tile=16,waves=4/s1,rows=4,team=2", "55260"},
      {AT "b256,s2048", LDS, "160280"}};
  import_named(d, "emu:gfx942|cu304|xcc8|SPX|NPS1", near, 2);
  RAN(d, 0, PRINTS("nearest   yes  user layer: choice of " AT "b128,s1024",
      "taken: " LDS " (kernel of " AT "b256,s2048): the model and 2 times of 2 problems nearby say ",
      " us, the nearest choice's kernel ", "a plan stands on: nearest"), "db", "why", AT "b240,s1024", "--device-id",
      "emu:gfx942|cu304|xcc8|SPX|NPS1");
  import_named(d, "arch:gfx942", near, 1);
  static const char other[] = "55.26 us modelled for 304 compute units, and this device has 38: its time is another";
  cli_result r = RUN(d, "db", "why", AT "b128,s1024", "--device-id", "gfx942:sramecc+:xnack-|cu38|xcc1|CPX|NPS1");
  assert_has(r.out, other);
  release(&r);
  r = RUN(d, "db", "why", AT "b128,s1024", "--device-id", "gfx942:sramecc+:xnack-|cu304|xcc8|SPX|NPS1");
  assert_has(r.out, "55.26 us modelled\n");
  release(&r);
  char model[300];
  /* Two short requests' clusters of 8 blocks are far from four that are four times as long: one nobody measured serves better. */
  static const char *const alone[][3] = {
      {"mla_decode:h16,r512,p64,q1,bf16,page64,b2,s1024", "sm90_few:cluster=8,load=tma,rows=8,schedule=fitted,wgs=1/s1", "6580"}};
  import_named(d, "sm_90|sm1|l2_60M|bus1", alone, 1);
  r = RUN(d, "db", "why", "mla_decode:h16,b4,s4096", "--device-id", "sm_90|sm1|l2_60M|bus1");
  assert_exit(r, 0);
  assert_has(r.out, "nearest   no   user layer: choice of mla_decode:h16,r512,p64,q1,bf16,page64,b2,s1024");
  assert_has(r.out, "(measured nowhere near): the model and 1 times of 1 problems nearby say ");
  const char *taken = strstr(r.out, "taken: "), *end = taken ? strstr(taken, " (measured nowhere near)") : NULL;
  assert_non_null(end);
  assert_true(strncmp(taken + 7, alone[0][1], strlen(alone[0][1])) != 0);
  snprintf(model, sizeof model, "model     yes  the generator's own, as said above: %.*s\n", (int)(end - taken - 7), taken + 7);
  assert_has(r.out, model);
  assert_has(r.out, "a plan stands on: model");
  release(&r);
}

TEST_OF(report_is_one_self_contained_page, const cli_dir *d) {
  char path[100], db[100];
  snprintf(path, sizeof path, "%s/r.html", d->dir);
  snprintf(db, sizeof db, "%s/<b>&.db", d->dir);
  for (int i = 0; i < 4; i++) add(db, 1 << i, "mfma_reg:blocks=1/s1", 20000 + 1000 * i);
  cli_result r = RUN(d, "report", "--out", path, "--db", db);
  assert_exit(r, 0);
  assert_has(r.out, "4 tuned problems of 1 devices");
  char *page = slurp(path);
  assert_has(page, "aria-label=\"share of the roofline\"");
  assert_has(page, "aria-label=\"coverage of the grid\"");
  assert_has(page, "aria-label=\"where the time goes\"");
  assert_has(page, "prefers-color-scheme:dark");
  assert_has(page, "mfma_reg:blocks=1/s1");
  assert_has(page, "&lt;b&gt;&amp;"); /* from the database's name */
  assert_has(page, "</html>");
  static const char *const never[] = {"http:", "https:", "<script", "<link", "url(", "nan", "inf\""};
  for (size_t i = 0; i < sizeof never / sizeof *never; i++)
    if (strstr(page, never[i])) fail_msg("the page has '%s'", never[i]);
  free(page);
  release(&r);
  RAN(d, 2, NULL, "report");
}

static void write_text(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  assert_int_equal(fclose(f), 0);
}

TEST_OF(grids_on_the_command_line, const cli_dir *d) {
  cli_result r = RUN(d, "tune", "--dry-run", "--device", "emu:gfx942", "--model", "deepseek-v3,kimi-k3", "--tp", "8,64",
                     "--batch",
                     "1:4", "--ctx", "1024,2048", "--shard", "0/3", "--json");
  assert_exit(r, 0);
  /* kimi-k3 has 96 heads: 64 does not divide them. 3 pairs x 3 batches x 2 contexts, a third of them */
  assert_int_equal(each_json(r.out, NULL, NULL), 6);
  assert_has(r.err, "left out: kimi-k3 has 96 heads, which --tp 64 does not divide");
  release(&r);
  RAN(d, 2, PRINTS("--batch '1,x' at character 3"), "tune", "--heads", "16", "--batch", "1,x", "--dry-run");
  char list[300], at[310];
  snprintf(list, sizeof list, "%s/problems", d->dir);
  snprintf(at, sizeof at, "@%s", list);
  write_text(list, "# a comment\n\nmla_decode:h16,r512,p64,q1,bf16,page64,b1,s512 # small\r\n"
                   "  mla_decode:h5,r256,p32,q2,bf16,page16,b2,s64");
  r = RUN(d, "tune", at, "--dry-run", "--device", "emu:gfx942", "--json");
  assert_exit(r, 0);
  assert_int_equal(each_json(r.out, NULL, NULL), 2);
  assert_has(r.out, "mla_decode:h5,r256,p32,q2,bf16,page16,b2,s64");
  release(&r);
  RAN(d, 2, PRINTS("give no other grid"), "tune", at, "--dry-run", "--batch", "2");
  write_text(list, "mla_decode:h16,r512,p64,q1,bf16,page64,b1,s512\nmla_decode:h16,r500,p64,q1,bf16,page64,b1,s512\n");
  RAN(d, 2, PRINTS("problems:2: "), "tune", at, "--dry-run");
  RAN(d, 2, NULL, "verify", "--heads", "16", "--batch", "1,2");
  RAN(d, 2, NULL, "tune", "--misses", "--heads", "16");
  RAN(d, 2, PRINTS("pruned, exhaustive and halving"), "tune", "--heads", "16", "--strategy", "guess", "--dry-run");
}

/* --- tune layer --- */

#define LAYER "tune", "layer", "--model", "minicpm3-4b", "--tp", "40", "--ctx", "64", "--batch", "1,2", "--device", "emu:gfx942"

TEST_OF(tune_layer_says_what_it_tried, cli_dir *d) {
  RAN(d, 0, PRINTS("q_b+append+q_absorb", "choices would be stored"), LAYER, "--dry-run");
  cli_result r = RUN(d, LAYER);
  assert_exit(r, 0);
  assert_has(r.out, "us are of a whole layer, modelled. 2 numbers of tokens tuned, 0 known; choices are stored in");
  assert_null(strstr(r.out, "q_b+append+q_absorb")); /* Hopper alone has such kernels */
  assert_has(r.err, "left out: 2 choices that the device has no kernels for");
  release(&r);
  r = RUN(d, LAYER, "--json");
  assert_exit(r, 0);
  assert_has(r.out, "\"problem\":\"mla_layer:d2560,h1,l768,r256,p32,n64,v64,bf16,t2,s64\",\"choice\":\"q_b+append\",\"now\":true,"
             "\"known\":true,\"outcome\":\"ok\"");
  assert_has(r.out, "there is no kernel of 'q_b+append+q_absorb' for it on gfx942");
  release(&r);
  RAN(d, 2, PRINTS("mlaforge tune layer --dry-run says which value holds"), "db", "why",
      "mla_layer:d2560,h1,l768,r256,p32,n64,v64,bf16,t2,s64");
}

TEST(tune_layer_refuses) {
  static const struct {
    const char *option, *value, *says;
  } list[] = {{"--strategy", "pruned", "--strategy says nothing of `tune layer`"},
              {"--heads", "3", "a layer's heads, ranks and type come from --model and --tp"},
              {"--tp", "1,8", "a layer is tuned for one of each"},
              {"--tp", "3", "deepseek-v3 has 128 heads, which --tp 3 does not divide"},
              {"--model", "deepseek-v3,kimi-k2", "--model names 2 models"},
              {"--model", "deepseek-v4-h64", "has no layer of this form"}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    cli_result r = RUN(*state, "tune", "layer", list[i].option, list[i].value);
    assert_exit(r, 2);
    assert_has(r.err, list[i].says);
    release(&r);
  }
}

TESTS_EACH(cli_dir_setup, cli_dir_teardown)
