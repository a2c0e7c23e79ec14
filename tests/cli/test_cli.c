/* The command without a compiler: help, usage errors, JSON, generated files, database commands, unwritable outputs. */
#include "cli/cli_fixture.h"
#include "cli/cli.h"
#include "ops/mla_decode/fields.h"

TEST_OF(help_of_every_command, const cli_dir *d) {
  cli_result r = RUN(d, "--help");
  assert_exit(r, 0);
  for (const cli_command *x = mlaf_cli_commands; x->name; x++) assert_has(r.out, x->summary);
  release(&r);
  for (const cli_command *x = mlaf_cli_commands; x->name; x++) {
    r = RUN(d, x->name, "--help");
    assert_exit(r, 0);
    assert_has(r.out, x->summary);
    assert_has(r.out, "--json");
    assert_has(r.out, "exit codes: 0 ok");
    assert_string_equal(r.err, "");
    cli_result again = RUN(d, "help", x->name);
    assert_string_equal(r.out, again.out);
    release(&r);
    release(&again);
  }
  RAN(d, 0, PRINTS("mlaforge 0."), "--version");
}

TEST_OF(usage_errors, const cli_dir *d) {
  static const struct {
    const char *args[8], *expect;
  } cases[] = {
      {{"frobnicate"}, "there is no command 'frobnicate'"},
      {{"tune"}, "which problem?"},
      {{"tune", "--heads"}, "--heads wants a value"},
      {{"tune", "--heads", "many"}, "--heads 'many' at character 1: numbers from"},
      {{"tune", "--heads", "0"}, "heads"},
      {{"tune", "--heads", "100000"}, "heads is 100000, must be " MLA_DECODE_HEADS_RANGE},
      {{"tune", "--heads", "16", "--rank", "100"}, "rank"},
      {{"tune", "--heads", "16", "--page-size", "0"}, "page"},
      {{"tune", "--heads", "16", "--heads", "8"}, "given twice"},
      {{"tune", "--heads=16", "--rank", "64,x"}, "--rank '64,x' at character 4"},
      {{"generate", "--heads", "8,16"}, "not for the grid '8,16'"},
      {{"generate", "--heads", "16", "--rank", "128:512"}, "not for the grid '128:512'"},
      {{"tune", "--rank", "512"}, "which problem? Give --heads N"},
      {{"tune", "--heads=16", "--dtype", "fp8"}, "'fp8'; accepted are bf16 and f16"},
      {{"tune", "--heads=16", "--frob"}, "'--frob' is not an option of `mlaforge tune`"},
      {{"tune", "--heads=16", "-x"}, "'-x' is not an option"},
      {{"tune", "--heads=16", "--time-limit", "-3"}, "--time-limit is -3"},
      {{"tune", "--heads=16", "--resume", "--no-resume"}, "exclude each other"},
      {{"bench", "mla_decode:h16", "mla_decode:h8"}, "one argument too many"},
      {{"tune", "mla_decode:h16,z9"}, "z9"},
      {{"tune", "--model", "gpt-2"}, "deepseek-v3"},
      {{"tune", "--model", "deepseek-v3", "--tp", "3"}, "128 heads, which --tp 3 does not divide"},
      {{"tune", "--heads", "16", "--tp", "2"}, "--tp divides the heads of a --model"},
      {{"tune", "mla_decode:h16", "--model", "deepseek-v3"}, "give one of them"},
      {{"bench", "mla_decode:h16", "--model", "deepseek-v3"}, "give one of them"},
      {{"tune", "--heads=16", "--batch", ""}, "--batch ''"},
      {{"tune", "--heads=16", "--batch", "8:1"}, "--batch '8:1'"},
      {{"tune", "--heads=16", "--ctx", "1,,2"}, "--ctx '1,,2'"},
      {{"tune", "--heads=16", "--batch", "99999999999999999999"}, "--batch '99999999999999999999'"},
      {{"tune", "--heads=16", "--misses"}, "give no other"},
      {{"tune", "--heads=16", "--shard", "3/2"}, "0 <= I < N"},
      {{"generate", "--heads=16", "--targets", "gfx942", "--target", "gfx942"}, "--target is for sources"},
      {{"cache", "gc", "--size-budget", "-5"}, "such as 500000, 64K"},
      {{"embed", "--from", "b", "--out", "k", "--name", "a-b"}, "must be a C name"},
      {{"embed", "--from", "b", "--out", "k", "--name", "int"}, "no word of C or C++"},
      {{"embed", "--from", "b", "--out", "k", "--name", "namespace"}, "no word of C or C++"},
      {{"embed", "--from", "b", "--out", "k", "--name", "main"}, "no word of C or C++"},
      {{"embed", "--from", "b", "--out", "k", "--name", "typeof"}, "no word of C or C++"},
      {{"embed", "--from", "b", "--out", "k", "--name", "_Bool"}, "no word of C or C++"},
      {{"embed", "--from", "b", "--out", "k", "--name", "linux"}, "no word of C or C++"},
      {{"embed", "--from", "b", "--out", "k", "--name", "size_t"}, "no word of C or C++"},
      {{"embed", "--from", "b", "--out", "k", "--name", "string"}, "no header of C"},
      {{"embed", "--from", "b", "--out", "k", "--name", "unistd"}, "or POSIX"},
      {{"cache", "gc", "--size-budget", "99999999999999999999G"}, "such as 500000, 64K"},
      {{"verify", "--heads=16", "--inject", "nan-k"}, "known are nan-q, oob-page and, of mla_decode, long-q"},
      {{"verify", "--heads=16", "--all", "--variant", "x"}, "exclude each other"},
      {{"generate", "--heads=16", "--variant", "nonsense"}, "--variant 'nonsense'"},
      {{"generate", "--heads=16", "--target", "gfx000"}, "gfx000"},
      {{"db"}, "check, gc, export, import FILE"},
      {{"db", "vacuum"}, "'vacuum'"},
      {{"db", "import"}, "wants a file"},
      {{"db", "show", "--samples"}, "wants a problem"},
      {{"env", "extra"}, "one argument too many"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cli_result r = finish(d, start(d, cases[i].args, NULL));
    if (r.exit != 2) fail_msg("case %zu: exit %d\n%s", i, r.exit, r.err);
    assert_has(r.err, cases[i].expect);
    assert_string_equal(r.out, ""); /* stdout is for results */
    release(&r);
  }
}

TEST(no_arguments_at_all) {
  cli_result r = finish(*state, start(*state, (const char *const[]){NULL}, NULL));
  assert_exit(r, 2);
  assert_has(r.err, "usage: mlaforge COMMAND");
  release(&r);
}

TEST(errors_are_json_too) {
  cli_result r = RUN(*state, "tune", "--json", "--heads", "0");
  assert_exit(r, 2);
  cJSON *o = cJSON_Parse(r.out);
  assert_string_equal(cJSON_GetObjectItem(o, "schema")->valuestring, "mlaforge.error");
  assert_string_equal(cJSON_GetObjectItem(o, "status")->valuestring, "MLAF_E_PROBLEM");
  assert_int_equal(cJSON_GetObjectItem(o, "exit")->valueint, 2);
  cJSON_Delete(o);
  release(&r);
}

typedef struct tally {
  int rows, rejected, works;
} tally;
static void count_space(void *user, const char *schema, const cJSON *o) {
  tally *t = user;
  assert_string_equal(schema, "space");
  t->rows++;
  bool rejected = cJSON_GetObjectItem(o, "rejected") != NULL;
  t->rejected += rejected;
  assert_true(rejected || cJSON_GetObjectItem(o, "model_ns")->valuedouble > 0);
}

TEST(dry_run_prints_the_space) {
  tally t = {0};
  cli_result r = RUN(*state, "tune", "--heads", "16", "--batch", "4", "--dry-run", "--json", "--device", "emu:gfx942");
  assert_exit(r, 0);
  each_json(r.out, count_space, &t);
  assert_true(t.rows - t.rejected >= 24);
  assert_true(t.rejected > 0);
  release(&r);
  r = RUN(*state, "tune", "--model", "deepseek-v3", "--tp", "8", "--dry-run", "--device", "emu:gfx942");
  assert_exit(r, 0);
  assert_has(r.out, "rejected because");
  assert_has(r.out, "nothing was compiled");
  release(&r);
}

static void count_devices(void *user, const char *schema, const cJSON *o) {
  tally *t = user;
  if (strcmp(schema, "device") == 0) {
    t->rows++;
    t->works += cJSON_IsTrue(cJSON_GetObjectItem(o, "works"));
  }
}

TEST(devices_and_env_as_json) {
  tally t = {0};
  cli_result r = RUN(*state, "devices", "--json");
  assert_exit(r, 0);
  each_json(r.out, count_devices, &t);
  assert_true(t.works >= 1); /* the emulator works everywhere */
  release(&r);
  r = RUN(*state, "env", "--json");
  assert_true(r.exit == 0 || r.exit == 3); /* 3: no compiler, and it says so */
  assert_true(each_json(r.out, NULL, NULL) >= 2);
  assert_has(r.out, "\"MLAF_DB\":");
  release(&r);
  r = RUN(*state, "tune", "--heads=16", "--device", "hip:99");
  assert_exit(r, 3);
  release(&r);
}

TEST_OF(generated_files_match_their_manifest, cli_dir *d) {
  char out[128], path[256];
  snprintf(out, sizeof out, "%s/src", d->dir);
  RAN(d, 0, NULL, "generate", "--heads", "16", "--out", out);
  snprintf(path, sizeof path, "%s/manifest.tsv", out);
  char *manifest = slurp(path), *save = NULL, first[64] = "";
  int n = 0;
  for (char *line = strtok_r(manifest, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    char file[64], hash[MLAF_HASH_HEX];
    if (line[0] == '#') continue;
    snprintf(file, sizeof file, "%.*s", (int)strcspn(line, "\t"), line);
    snprintf(path, sizeof path, "%s/%s", out, file);
    char *source = slurp(path);
    mlaf_sha256_hex(source, strlen(source), hash);
    assert_has(line, hash);
    free(source);
    if (!n++) snprintf(first, sizeof first, "%s", file);
  }
  assert_true(n >= 24);
  free(manifest);
  cli_result r = RUN(d, "generate", "--heads", "16", "--json");
  assert_exit(r, 0);
  assert_int_equal(each_json(r.out, NULL, NULL), n);
  release(&r);
  /* one variant alone goes to stdout, with the same bytes */
  r = RUN(d, "tune", "--heads", "16", "--dry-run", "--json", "--device", "emu:gfx942");
  cJSON *o = cJSON_ParseWithLength(r.out, strcspn(r.out, "\n"));
  cli_result one = RUN(d, "generate", "--heads", "16", "--variant", cJSON_GetObjectItem(o, "variant")->valuestring);
  assert_exit(one, 0);
  assert_has(one.out, "__global__");
  cJSON_Delete(o);
  release(&r);
  release(&one);
}

TEST_OF(nothing_partial_is_left_behind, cli_dir *d) {
  char in_the_way[128];
  snprintf(in_the_way, sizeof in_the_way, "%s/file", d->dir);
  fclose(fopen(in_the_way, "w"));
  RAN(d, 3, PRINTS(in_the_way), "generate", "--heads", "16", "--out", in_the_way);
  cli_result r = finish(d, start(d, (const char *const[]){"tune", "--heads", "16", "--dry-run", "--device", "emu:gfx942", NULL},
                      "/dev/full"));
  assert_exit(r, 3); /* a full disk under stdout */
  assert_has(r.err, "could not be written");
  release(&r);
}

/* A text from before families were renamed: its choice serves, by the name of today. */
TEST_OF(names_of_before, cli_dir *d) {
  char path[128];
  mlaf_text text = MLAF_TEXT_INIT(65536);
  mlaf_text_str(&text, "# mlaforge tuning text 2\n"
                "device\tproblem\tvariant\tsplits\tsource\tns\tmargin\terror\tprotocol\ttoolchain\tdriver\t"
                "clock_mhz\tmem_clock_mhz\tdecode.template\tdecode.params\tdecode.symbol\tdecode.template_hash\t"
                "decode.src_hash\tdecode.code_key\tdecode.threads\tdecode.rows_per_wg\tcombine.template\t"
                "combine.params\tcombine.symbol\tcombine.template_hash\tcombine.src_hash\tcombine.code_key\t"
                "combine.threads\tcombine.rows_per_wg\tlengths\n");
  mlaf_text_str(&text, "arch:gfx942\tmla_decode:h16,r512,p64,q1,bf16,page64,b1,s1024\treg:blocks=1,kvload=nt,psplit=1,qsrc=reg,"
                "rescale=lazy,schedule=splits,tile=16,waves=4/s1\t1\tmodelled\t20000\t0.05\t0.0019\t2\t*\t*\t*\t*\tmla_decode_reg"
                "\tblocks=1\tmlaf_mla_decode_00000000\t-\t-\t-\t256\t16\t-\t-\t-\t-\t-\t-\t0\t0\tequal\n");
  snprintf(path, sizeof path, "%s/before.tsv", d->dir);
  assert_int_equal(mlaf_file_publish(path, text.data, text.len, NULL), MLAF_OK);
  mlaf_text_free(&text);
  RAN(d, 0, NULL, "db", "import", path);
  RAN(d, 0,
      PRINTS("default   yes  user layer: choice of mla_decode:h16,r512,p64,q1,bf16,page64,b1,s1024 on arch:gfx942: reg:"),
      "db", "why", "mla_decode:h16,b1,s1024", "--device", "emu:gfx942");
}

TEST_OF(database_commands, cli_dir *d) {
  char path[128];
  RAN(d, 3, PRINTS("there is no tuning database"), "db", "show");
  snprintf(path, sizeof path, "%s/bad.tsv", d->dir);
  FILE *f = fopen(path, "w");
  fputs("# mlaforge tuning text 2\nnonsense\n", f);
  fclose(f);
  RAN(d, 1, PRINTS("line 2", path), "db", "import", path);
  cli_result r = RUN(d, "db", "export"); /* the import made an empty database */
  assert_exit(r, 0);
  assert_has(r.out, "# mlaforge tuning text 3\ndevice\tproblem\t");
  char *header = mlaf_strdup(r.out);
  release(&r);
  snprintf(path, sizeof path, "%s/good.tsv", d->dir);
  mlaf_text text = MLAF_TEXT_INIT(65536);
  char hash[MLAF_HASH_HEX];
  mlaf_sha256_hex("x", 1, hash);
  mlaf_text_str(&text, header);
  mlaf_text_fmt(&text,
                "arch:gfx942\tmla_decode:h16,r512,p64,q1,bf16,page64,b4,s1024\treg:x=1/"
                "s1\t1\tdefault\t20000\t0.05\t0.0019\t1\t*\t*\t*\t*\tequal"
                "\tdecode\tmla_decode_reg\tx=1\tmlaf_mla_decode_00000000\t%s\t%s\t-\t256\t16\n",
                hash, hash);
  assert_int_equal(mlaf_file_publish(path, text.data, text.len, NULL), MLAF_OK);
  RAN(d, 0, PRINTS("\"choices\":1"), "db", "import", path, "--json");
  char out[128];
  snprintf(out, sizeof out, "%s/again.tsv", d->dir);
  r = RUN(d, "db", "export", "--out", out);
  assert_exit(r, 0);
  assert_string_equal(r.out, "");
  char *again = slurp(out);
  assert_string_equal(again, text.data);
  release(&r);
  r = RUN(d, "db", "show", "--json");
  assert_int_equal(each_json(r.out, NULL, NULL), 1);
  release(&r);
  free(again);
  free(header);
  mlaf_text_free(&text);
}

TEST_OF(a_database_of_another_program, cli_dir *d) {
  FILE *f = fopen(d->db, "w");
  fputs(
      "\x7f"
      "ELF, or so it seems",
      f);
  fclose(f);
  static const char *const commands[][4] = {
      {"db", "show"}, {"db", "export"}, {"tune", "--heads=16", "--device=emu:gfx942"}};
  for (int i = 0; i < 3; i++) {
    cli_result r = finish(d, start(d, commands[i], NULL));
    assert_exit(r, 3);
    assert_has(r.err, "an ELF object");
    assert_null(strstr(r.err, "going on without")); /* it does not go on */
    assert_has(r.err, "--db");
    release(&r);
  }
}

TESTS_EACH(cli_dir_setup, cli_dir_teardown)
