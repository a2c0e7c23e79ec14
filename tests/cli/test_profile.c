/* mlaforge profile: what it prints adds up, traces are JSON, descriptions of code objects have errors that name the field. */
#include "cli/cli_fixture.h"
#include "compile/compile.h"
#include "need.h"
#include "progress.h"

#define PROBLEM "mla_decode:h16,r512,p64,q1,bf16,page64,b2,s1024"
#define REG                                                                                                              \
  "mfma_reg:blocks=1,kvload=temporal,psplit=1,qsrc=reg,rescale=lazy,schedule=splits,tile=16,waves=2/s4,rows=1,team=4"
#define LDS "mfma_lds:blocks=1,load=vgpr,order=plain,rescale=lazy,schedule=splits,stages=2,waves=2/s4,rows=1,team=4"

static void write_text(const char *path, const char *text) {
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_file_publish(path, text, strlen(text), &err) != MLAF_OK) fail_msg("%s", err.text);
}

typedef struct seen {
  int launches, instructions;
  double clk, mfma_per_round;
} seen;

static double number(const cJSON *o, const char *name) {
  const cJSON *v = cJSON_GetObjectItem(o, name);
  if (!cJSON_IsNumber(v)) fail_msg("no number '%s'", name);
  return v->valuedouble;
}

static void read_profile(void *user, const char *schema, const cJSON *o) {
  seen *s = user;
  assert_string_equal(cJSON_GetObjectItem(o, "source")->valuestring, "modelled");
  if (strcmp(schema, "profile_instruction") == 0) {
    const cJSON *reason;
    double sum = 0;
    cJSON_ArrayForEach(reason, cJSON_GetObjectItem(o, "clk_by_reason")) sum += reason->valuedouble;
    assert_true(sum == number(o, "clk"));
    s->instructions++;
    return;
  }
  assert_string_equal(schema, "profile");
  const cJSON *simd, *state;
  cJSON_ArrayForEach(simd, cJSON_GetObjectItem(o, "simds")) {
    double sum = -number(simd, "valu under mfma");
    cJSON_ArrayForEach(state, simd) sum += state->valuedouble;
    double off = sum - number(o, "clk");
    assert_true(off < 1e-3 && off > -1e-3);
  }
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(o, "simds")), 4);
  if (!s->launches++) s->mfma_per_round = number(cJSON_GetObjectItem(o, "hot_path"), "mfma");
  s->clk += number(o, "clk");
}

TEST_OF(of_the_planned_variant, const cli_dir *d) {
  need_compiler("gfx942");
  char trace[128];
  snprintf(trace, sizeof trace, "%s/trace.json", d->dir);
  cli_result r = RUN(d, "profile", PROBLEM, "--json", "--trace", trace);
  assert_exit(r, 0);
  seen s = {0};
  each_json(r.out, read_profile, &s);
  assert_true(s.launches >= 1 && s.instructions > 100 && s.mfma_per_round >= 68);
  cli_result again = RUN(d, "profile", PROBLEM, "--json");
  assert_string_equal(r.out, again.out);
  release(&again);
  release(&r);
  char *text = slurp(trace);
  assert_in_range(strlen(text), 1000, 20 << 20);
  cJSON *o = cJSON_Parse(text);
  assert_non_null(o);
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(cJSON_GetObjectItem(o, "otherData"), "modelled")));
  double last = 0;
  int tid = -1;
  const cJSON *e;
  cJSON_ArrayForEach(e, cJSON_GetObjectItem(o, "traceEvents")) { /* spans of one wave follow one another */
    if (strcmp(cJSON_GetObjectItem(e, "ph")->valuestring, "X") != 0) {
      last = 0;
      continue;
    }
    assert_true(number(e, "ts") > last - 1e-3);
    last = number(e, "ts") + number(e, "dur");
    tid = (int)number(e, "tid");
  }
  assert_true(tid >= 0);
  cJSON_Delete(o);
  free(text);
}

static int lines(const char *text) {
  int n = 0;
  for (; *text; text++) n += *text == '\n';
  return n;
}

TEST_OF(as_text, const cli_dir *d) {
  need_compiler("gfx942");
  cli_result hot = RUN(d, "profile", PROBLEM), all = RUN(d, "profile", PROBLEM, "--all");
  cli_result top = RUN(d, "profile", PROBLEM, "--top", "3");
  assert_exit(hot, 0);
  assert_has(hot.out, "us modelled");
  assert_has(hot.out, "others per MFMA (executed)");
  assert_has(hot.out, "occupancy");
  assert_has(hot.out, "Infinity Cache");
  assert_has(all.out, "s_endpgm");
  assert_true(lines(all.out) > lines(hot.out) && lines(hot.out) > lines(top.out));
  release(&hot);
  release(&all);
  release(&top);
}

static void read_idle(void *user, const char *schema, const cJSON *o) {
  double *first = user; /* idle workgroups and clocks of the matrix pipe, of the first launch */
  if (strcmp(schema, "profile") != 0 || first[0] >= 0) return;
  first[0] = number(o, "workgroups_idle");
  first[1] = number(cJSON_GetArrayItem(cJSON_GetObjectItem(o, "simds"), 0), "mfma");
}

/* A fitted launch fills the device, and three requests leave eight of nine workgroups nothing: one that works is replayed. */
TEST_OF(of_a_launch_with_idle_workgroups, const cli_dir *d) {
  need_compiler("gfx942");
  double first[2] = {-1, 0};
  static const char variant[] = "mfma_reg:blocks=1,kvload=temporal,psplit=1,qsrc=reg,rescale=lazy,schedule=fitted,tile=16,"
                                "waves=2/s22,rows=1,team=4";
  cli_result r = RUN(d, "profile", "mla_decode:h16,r512,p64,q1,bf16,page64,b3,s700", "--variant", variant, "--json");
  assert_exit(r, 0);
  each_json(r.out, read_idle, first);
  assert_true(first[0] == 22 * 27 - 22 * 3);
  assert_true(first[1] > 0);
  release(&r);
}

static void read_kernel_ns(void *user, const char *schema, const cJSON *o) {
  double *ns = user; /* of the first launch */
  if (strcmp(schema, "profile") == 0 && ns[0] == 0) ns[0] = number(o, "kernel_ns");
}

/* Requests of up to twice the length take a launch that does not cut them longer. */
TEST_OF(of_different_lengths, const cli_dir *d) {
  need_compiler("gfx942");
  double equal[1] = {0}, uniform[1] = {0};
  cli_result r = RUN(d, "profile", "mla_decode:h16,r512,p64,q1,bf16,page64,b8,s512", "--variant", REG, "--json");
  assert_exit(r, 0);
  each_json(r.out, read_kernel_ns, equal);
  release(&r);
  r = RUN(d, "profile", "mla_decode:h16,r512,p64,q1,bf16,page64,b8,s512", "--variant", REG, "--lengths", "uniform", "--json");
  assert_exit(r, 0);
  each_json(r.out, read_kernel_ns, uniform);
  release(&r);
  assert_true(equal[0] > 0 && uniform[0] > 1.02 * equal[0]);
}

/* The one combine kernel of the space's first split variant, as a code object of its own. */
static char *combine_code(const cli_dir *d, char symbol[64]) {
  char dir[128];
  snprintf(dir, sizeof dir, "%s/code", d->dir);
  cli_result r = RUN(d, "compile", PROBLEM, "--variant", REG, "--out", dir, "--json");
  assert_exit(r, 0);
  symbol[0] = 0;
  for (const char *line = r.out; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    cJSON *o = cJSON_ParseWithLength(line, strcspn(line, "\n"));
    if (strcmp(cJSON_GetObjectItem(o, "template")->valuestring, "mla_decode/combine_wave") == 0)
      snprintf(symbol, 64, "%s", cJSON_GetObjectItem(o, "symbol")->valuestring);
    cJSON_Delete(o);
  }
  release(&r);
  assert_true(symbol[0] != 0);
  return mlaf_format("%s/%s.co", dir, symbol);
}

/* 32 rows of 512, 4 splits: the combine kernel's arguments, one of them placed by hand. */
static const char good[] =
    "{\"kernel\": \"%s\", \"grid\": [32], \"block\": [256, 1, 1], \"args\": [\n"
    "{\"buffer\": 262144, \"fill\": \"random_f32\", \"name\": \"part_o\"}, {\"buffer\": 512, \"fill\": \"random_f32\"},\n"
    "{\"buffer\": 32768}, {\"buffer\": 128, \"values_i32\": [1, 2]}, {\"i64\": 32}, {\"i32\": 4}, {\"u32\": 0, \"at\": 44}]}";

TEST_OF(of_a_code_object, const cli_dir *d) {
  need_compiler("gfx942");
  char symbol[64], path[128], text[2048];
  char *code = combine_code(d, symbol);
  snprintf(path, sizeof path, "%s/args.json", d->dir);
  snprintf(text, sizeof text, good, symbol);
  write_text(path, text);
  cli_result r = RUN(d, "profile", "--code", code, "--args", path, "--json", "--all");
  assert_exit(r, 0);
  seen s = {0};
  each_json(r.out, read_profile, &s);
  assert_int_equal(s.launches, 1);
  assert_true(s.instructions > 20);
  release(&r);

  static const struct {
    const char *from, *to, *expect;
  } cases[] = {
      {"\"kernel\"", "\"kernle\"", "top level: there is no field 'kernle'"},
      {"mlaf_mla", "nobody_mla", "kernel: no kernel 'nobody"},
      {"[32]", "[]", "grid: must be a list of one to three"},
      {"[256, 1, 1]", "[256, 0, 1]", "block: element 1"},
      {"262144", "-1", "args[0].buffer: must be a number of bytes"},
      {"\"random_f32\", \"name\"", "\"randm\", \"name\"", "args[0].fill: 'randm' is none of zero"},
      {"\"random_f32\"}", "\"file:/nonexistent\"}", "args[1].fill"},
      {"[1, 2]", "[1, 2.5]", "args[3].values_i32: element 1"},
      {"\"i64\": 32", "\"int\": 32", "args[4]: there is no field 'int'"},
      {"\"i64\": 32", "\"pointer\": \"qq\"", "args[4].pointer: 'qq' is the \"name\" of no earlier buffer"},
      {"\"i32\": 4", "\"i32\": 4e9", "args[5].i32: must be a whole number that fits i32"},
      {"\"at\": 44", "\"at\": 42", "args[6].at: byte 42 belongs to an earlier argument"},
      {"\"at\": 44", "\"at\": 4094", "args[6].at"},
      {"]}", "]", "no JSON: something is wrong near line 3"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *at = strstr(text, cases[i].from);
    assert_non_null(at);
    char *broken = mlaf_format("%.*s%s%s", (int)(at - text), text, cases[i].to, at + strlen(cases[i].from));
    write_text(path, broken);
    r = RUN(d, "profile", "--code", code, "--args", path);
    if (r.exit == 0 || !strstr(r.err, cases[i].expect)) fail_msg("%s: exit %d, %s", cases[i].expect, r.exit, r.err);
    release(&r);
    free(broken);
  }
  free(code);
}

/* A kernel of somebody else's: hiprtc made it, with LDS, barriers and two buffers. */
static const char tile_sum[] =
    "extern \"C\" __global__ void __launch_bounds__(256) tile_sum(const float *x, float *y, int n) {\n"
    "  __shared__ float s[256];\n  int t = threadIdx.x;\n  float a = 0;\n"
    "  for (int i = t; i < n; i += 256) a += x[blockIdx.x * n + i];\n  s[t] = a;\n  __syncthreads();\n"
    "  for (int d = 128; d; d >>= 1) {\n    if (t < d) s[t] += s[t + d];\n    __syncthreads();\n  }\n"
    "  if (t == 0) y[blockIdx.x] = s[0];\n}\n"
    "extern \"C\" __global__ void dynamic_sum(const float *x, float *y) {\n"
    "  extern __shared__ float s[];\n  s[threadIdx.x] = x[threadIdx.x];\n  __syncthreads();\n"
    "  y[threadIdx.x] = s[255 - threadIdx.x];\n}\n"
    "extern \"C\" __global__ void endless(volatile float *x) { for (;;) x[threadIdx.x] = 1; }\n";
static const char tile_sum_args[] =
    "{\"kernel\": \"tile_sum\", \"grid\": [40], \"block\": [256], \"args\": [{\"buffer\": 163840, \"fill\": \"random_f32\"},"
    " {\"buffer\": 160}, {\"i32\": 1024}]}";

static void write_tile_sum(const char *path) {
  static const char *const options[] = {"-O3", "-std=c++17", NULL};
  mlaf_compile_job job = {.source = tile_sum, .options = options, .target = "gfx942", .name = "tile_sum"};
  mlaf_compiler *compiler;
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_compiler_open(NULL, NULL, &compiler, &err) || mlaf_compile(compiler, &job, 1, NULL, NULL, &err) || job.status)
    fail_msg("%s %s", err.text, job.log ? job.log : "");
  if (mlaf_file_publish(path, job.code, job.code_size, &err)) fail_msg("%s", err.text);
  mlaf_compile_job_clear(&job);
  mlaf_compiler_close(compiler);
}

/* Every line of text that gives a time or clocks says that it is modelled. */
static void assert_modelled(const char *text) {
  assert_has(text, "modelled clk of");
  assert_has(text, "modelled use of");
  assert_has(text, "modelled clk  clk/time");
  for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    char copy[512];
    snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
    bool timed = strncmp(copy, "time ", 5) == 0 || strstr(copy, "clk of");
    if (timed && !strstr(copy, "modelled")) fail_msg("'%s' does not say that it is modelled", copy);
  }
}

/* "lds": dynamic LDS, counted in what limits occupancy, bounded by the compute unit's. */
TEST_OF(dynamic_lds, const cli_dir *d) {
  need_compiler("gfx942");
  static const char form[] = "{\"kernel\": \"dynamic_sum\", \"grid\": [8], \"block\": [256], %s\"args\": [{\"buffer\": 1024},"
                             " {\"buffer\": 1024}]}";
  static const struct { const char *lds, *expect; } cases[] = {
      {"\"lds\": 1024, ", NULL}, {"", "outside the workgroup's 0 bytes"}, {"\"lds\": 512, ", "outside the workgroup's 512 bytes"},
      {"\"lds\": 70000, ", "lds: must be a number of bytes from 0 to 65536"},
          {"\"lds\": \"all\", ", "lds: must be a number of bytes"}};
  char code[128], args[128];
  snprintf(code, sizeof code, "%s/dynamic.co", d->dir);
  snprintf(args, sizeof args, "%s/dynamic.json", d->dir);
  write_tile_sum(code);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *text = mlaf_format(form, cases[i].lds);
    write_text(args, text);
    cli_result r = RUN(d, "profile", "--code", code, "--args", args);
    if (cases[i].expect ? r.exit == 0 || !strstr(r.err, cases[i].expect) : r.exit != 0 || !strstr(r.out, "1024 bytes of LDS"))
      fail_msg("%s: exit %d, %s", cases[i].lds, r.exit, r.err);
    release(&r);
    free(text);
  }
}

/* A kernel without an end, and the first signal: it is done within its next slice, hours before any limit. */
TEST_OF(stopped_by_the_first_signal, const cli_dir *d) {
  need_compiler("gfx942");
  char code[128], args[128];
  snprintf(code, sizeof code, "%s/endless.co", d->dir);
  snprintf(args, sizeof args, "%s/endless.json", d->dir);
  write_tile_sum(code);
  write_text(args, "{\"kernel\": \"endless\", \"grid\": [2], \"block\": [64], \"args\": [{\"buffer\": 1024}]}");
  setenv("MLAF_EMU_MAX_MEMORY", "1000000", 1);
  pid_t child = start(d, (const char *const[]){"profile", "--code", code, "--args", args, NULL}, NULL);
  unsetenv("MLAF_EMU_MAX_MEMORY");
  wait_for_work(child, 0.5, false);
  kill(child, SIGTERM);
  cli_result r = finish(d, child);
  assert_true(r.exit != 0 && r.exit < 128);
  assert_has(r.err, "stopped on request");
  release(&r);
}

TEST_OF(of_a_foreign_kernel, const cli_dir *d) {
  need_compiler("gfx942");
  char code[128], args[128];
  snprintf(code, sizeof code, "%s/sum.co", d->dir);
  snprintf(args, sizeof args, "%s/sum.json", d->dir);
  write_tile_sum(code);
  write_text(args, tile_sum_args);
  cli_result r = RUN(d, "profile", "--code", code, "--args", args, "--all");
  assert_exit(r, 0);
  assert_has(r.out, "us modelled");
  assert_has(r.out, "1024 bytes of LDS");
  assert_has(r.out, "40 workgroups");
  assert_has(r.out, "s_barrier");
  assert_modelled(r.out);
  release(&r);
  static const struct {
    const char *args, *from, *to, *expect;
  } cases[] = {
      {"no_such.json", "", "", "no_such.json"},
      {NULL, "{\"kernel\"", "[{\"kernel\"", "no JSON"},
      {NULL, NULL, "[1, 2]", "top level: must be an object with kernel, grid, block and args"},
      {NULL, NULL, "{\"kernel\": \"tile_sum\", \"grid\": [40], \"block\": [256], \"args\": 7}", "args: must be a list"},
      {NULL, "[40]", "\"40\"", "grid: must be a list of one to three"},
      {NULL, "{\"i32\": 1024}", "[1024]", "args[2]"},
      {NULL, "163840", "\"much\"", "args[0].buffer: must be a number of bytes"},
      {NULL, "\"kernel\": \"tile_sum\"", "\"kernel\": \"tile_add\"",
       "kernel: no kernel 'tile_add' in the code object (3 kernels, first '"},
      {NULL, "163840", "81920", "outside every allocation"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *from = cases[i].from, *at = from ? strstr(tile_sum_args, from) : tile_sum_args;
    char *broken = mlaf_format("%.*s%s%s", (int)(at - tile_sum_args), tile_sum_args, cases[i].to, from ? at + strlen(from) : "");
    write_text(args, broken);
    r = RUN(d, "profile", "--code", code, "--args", cases[i].args ? cases[i].args : args);
    if (r.exit == 0 || !strstr(r.err, cases[i].expect)) fail_msg("%s: exit %d, %s", cases[i].expect, r.exit, r.err);
    release(&r);
    free(broken);
  }
  write_text(args, tile_sum_args);
  r = RUN(d, "profile", "--code", "/nonexistent/k.co", "--args", args);
  assert_true(r.exit == 3 && strstr(r.err, "/nonexistent/k.co"));
  release(&r);
  r = RUN(d, "profile", "--code", args, "--args", args); /* a file that is no code object */
  if (r.exit == 0 || !strstr(r.err, args)) fail_msg("exit %d, %s", r.exit, r.err);
  release(&r);
}

TEST_OF(usage, const cli_dir *d) {
  static const struct {
    const char *args[6], *expect;
  } cases[] = {{{"profile", "--code", "x.co"}, "--code and --args go together"},
               {{"profile", PROBLEM, "--code=x", "--args=y"}, "--code takes no problem"},
               {{"profile", PROBLEM, "--all", "--top=3"}, "exclude each other"},
               {{"profile"}, "which problem?"},
               {{"profile", PROBLEM, "--top", "0"}, "--top is 0"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cli_result r = finish(d, start(d, cases[i].args, NULL));
    assert_exit(r, 2);
    assert_has(r.err, cases[i].expect);
    release(&r);
  }
}

/* Executed evidence of both families: what a round needs, not what its rare paths hold. */
TEST_OF(evidence_by_execution, const cli_dir *d) {
  need_compiler("gfx942");
  static const char *const variants[] = {REG, LDS};
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
    cli_result r = RUN(d, "compile", PROBLEM, "--variant", variants[i], "--evidence", "--json");
    assert_exit(r, 0);
    cJSON *o = cJSON_ParseWithLength(r.out, strcspn(r.out, "\n"));
    const cJSON *e = cJSON_GetObjectItem(o, "hot_loop");
    assert_string_equal(cJSON_GetObjectItem(e, "source")->valuestring, "executed");
    assert_true(number(e, "mfma") >= 68 && number(e, "other_per_mfma") > 1 && number(e, "other_per_mfma") < 5);
    assert_has(r.out, "\"source\":\"static\""); /* the combine kernel has no matrix work to count by */
    cJSON_Delete(o);
    release(&r);
  }
}

TESTS(cli_dir_setup, cli_dir_teardown)
