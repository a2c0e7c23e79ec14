/* Options: one table for all commands; parsing, checks and help text come from it. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>

#include "cli/cli.h"

typedef enum kind { FLAG, TEXT, WHOLE, REAL, AXIS /* a whole number; of a command that takes a grid: a list */ } kind;

typedef struct option_row {
  const char *name, *value; /* value: what the help calls it, NULL for a flag */
  kind kind;
  double low, high;
  const char *help;
} option_row;

static const option_row table[O_COUNT] = {
    [O_OP] = {"op", "NAME", TEXT, 0, 0, "the operation that problem options are of (mla_decode)"},
    [O_MODEL] = {"model", "NAME", TEXT, 0, 0, "heads, rank and rope of a shipped model (tuning/models.tsv)"},
    [O_TP] = {"tp", "N", AXIS, 1, 1024, "tensor-parallel ranks the model's heads are divided by (1)"},
    [O_DEVICE] = {"device", "D", TEXT, 0, 0, "auto, hip, hip:1, cuda, emu:gfx942 (auto: the first GPU, else emu:gfx942)"},
    [O_TARGET] = {"target", "T", TEXT, 0, 0, "architecture to generate for; needs no device (gfx942)"},
    [O_DB] = {"db", "FILE", TEXT, 0, 0, "tuning database ($MLAF_DB, else ~/.local/share/mlaforge/tuning.db)"},
    [O_CACHE] = {"cache", "DIR", TEXT, 0, 0, "code-object cache ($MLAF_CACHE_DIR, else ~/.cache/mlaforge)"},
    [O_GEN_ROOT] = {"gen-root", "DIR", TEXT, 0, 0, "directory with gen/ and templates/ (those embedded in the binary)"},
    [O_SEED] = {"seed", "N", WHOLE, 0, 9007199254740992.0, "seed of verification and timing data (1)"},
    [O_JOBS] = {"jobs", "N", WHOLE, 1, 1024, "parallel compiles (one a CPU)"},
    [O_TIME_LIMIT] = {"time-limit", "S", REAL, 0.001, 1e9, "stop after S seconds, shared among the problems"},
    [O_MAX_CANDIDATES] = {"max-candidates", "N", WHOLE, 1, 1e9, "try at most N candidates of a problem"},
    [O_GIVE_UP] = {"give-up", "X", REAL, 1.05, 1e6, "one sample is enough of a candidate above X times the best (3)"},
    [O_RESUME] = {"resume", NULL, FLAG, 0, 0, "go on where an earlier run stopped: the default, for scripts to spell out"},
    [O_NO_LIBRARY] = {"no-library", NULL, FLAG, 0, 0, "kernels of ours alone: nothing of cuBLASLt or hipBLASLt"},
    [O_NO_RESUME] = {"no-resume", NULL, FLAG, 0, 0, "try everything again although the database knows it"},
    [O_DRY_RUN] = {"dry-run", NULL, FLAG, 0, 0, "print the space with estimates and reasons for rejection, do nothing"},
    [O_VARIANT] = {"variant", "NAME", TEXT, 0, 0, "one variant by its name"},
    [O_ALL] = {"all", NULL, FLAG, 0, 0, "every pair of kernels in the space"},
    [O_INJECT] = {"inject", "LIST", TEXT, 0, 0, "broken inputs too: nan-q, oob-page, long-q (comma separated)"},
    [O_OUT] = {"out", "PATH", TEXT, 0, 0, "where the output goes"},
    [O_EVIDENCE] = {"evidence", NULL, FLAG, 0, 0, "count what the hot loop is made of"},
    [O_MISSES] = {"misses", NULL, FLAG, 0, 0, "problems asked for and not tuned"},
    [O_SAMPLES] = {"samples", NULL, FLAG, 0, 0, "every finished candidate of one problem"},
    [O_DEVICE_ID] = {"device-id", "ID", TEXT, 0, 0, "only this device of the database"},
    [O_CODE] = {"code", "FILE", TEXT, 0, 0, "a code object to profile instead of a variant; needs --args"},
    [O_ARGS] = {"args", "FILE", TEXT, 0, 0, "JSON: kernel, grid, block and arguments of --code (docs/emulator.md)"},
    [O_TOP] = {"top", "N", WHOLE, 1, 1e6, "annotate the N instructions that take the most cycles"},
    [O_MODELS] = {"models", "LIST", TEXT, 0, 0, "shipped models, separated by commas, or @FILE with their names"},
    [O_TARGETS] = {"targets", "LIST", TEXT, 0, 0, "make a bundle for these architectures, e.g. gfx942,sm_90a"},
    [O_SIZE_BUDGET] = {"size-budget", "N", TEXT, 0, 0, "bytes of code objects at most; K, M and G are understood"},
    [O_EXTEND] = {"extend", NULL, FLAG, 0, 0, "keep the problems of the bundle that --out already holds"},
    [O_BUNDLE] = {"bundle", "DIR", TEXT, 0, 0, "plan from this bundle ($MLAF_BUNDLE)"},
    [O_NO_COMPILE] = {"no-compile", NULL, FLAG, 0, 0, "fail rather than start a compiler"},
    [O_INVARIANT] = {"batch-invariant", NULL, FLAG, 0, 0, "plans whose output for a request does not depend on its batch"},
    [O_FROM] = {"from", "DIR", TEXT, 0, 0, "a bundle, or for cache seed also another cache"},
    [O_NAME] = {"name", "NAME", TEXT, 0, 0, "prefix of the generated files and names (mlaf_kernels)"},
    [O_MAX_AGE] = {"max-age", "DAYS", REAL, 0, 1e6, "remove what was not used for so long"},
    [O_TRACE] = {"trace", "FILE", TEXT, 0, 0, "write a Chrome/Perfetto trace of the waves of one CU"},
    [O_STRATEGY] = {"strategy", "S", TEXT, 0, 0, "pruned (at most 15 % of the space), exhaustive or halving (pruned)"},
    [O_LENGTHS] = {"lengths", "L", TEXT, 0, 0, "equal, uniform, normal:MEAN,STD[,SEED], lognormal:MEAN,SIGMA (timed: equal)"},
    [O_SET] = {"set", "LIST", TEXT, 0, 0, "problems that peers were measured on: A to I (tuning/peer-sets.tsv)"},
    [O_HOT] = {"hot", NULL, FLAG, 0, 0, "no pause before a measurement: at the clock that long runs get"},
    [O_CSV] = {"csv", "FILE", TEXT, 0, 0, "write the figures there too, in the columns of the peers' file"},
    [O_SOAK] = {"soak", "N", WHOLE, 1, 1e12, "launch N times on cold memory beside other work, compare every output bit for bit"},
    [O_CHOICES] = {"choices", "L", TEXT, 0, 0, "soak every choice of this device: user (those of --db), site or shipped"},
    [O_BESIDE] = {"beside", "NAME", TEXT, 0, 0, "soak: the variant that the second stream runs (the same)"},
    [O_POOL] = {"pool", "SIZE", TEXT, 0, 0, "soak: bytes of cache pages, e.g. 3G (50 times L2; an emulator's: two sets)"},
    [O_PROFILE] = {"profile", NULL, FLAG, 0, 0, "time each of the layer's stages beside the least that it must take"},
    [O_FORMS] = {"forms", NULL, FLAG, 0, 0, "bytes, operations and times of the forms cd, cc, acc and acc_me"},
    [O_CROSSOVER] = {"crossover", NULL, FLAG, 0, 0, "time from how many new tokens on a prefill over --ctx cached ones expands"},
    [O_CASE] = {"case", "NAME", TEXT, 0, 0, "a founding document's shapes: seed-000, seed-002, seed-003 or seed-004"},
    [O_PROBLEMS] = {"problems", NULL, FLAG, 0, 0, "list the problems that a bundle of this layer needs, one a line"},
    [O_SERVE] = {"serve", "SIZES", TEXT, 0, 0, "all operations and layers of --model (or all): batch=1:128,ctx=1024:16384,q=1,2"},
    [O_SHARD] = {"shard", "I/N", TEXT, 0, 0, "this machine's share of the grid; auto: from Slurm's or MPI's environment"},
    [O_VERBOSE] = {"verbose", NULL, FLAG, 0, 0, "more log lines; twice for debugging (-v)"},
    [O_JSON] = {"json", NULL, FLAG, 0, 0, "JSON Lines on stdout instead of tables"},
    [O_HELP] = {"help", NULL, FLAG, 0, 0, "this text (-h)"},
};

/* The options of fields, made from the record. */
static option_row field_rows[CLI_FIELDS_MAX];

static void make_field_rows(void) {
  static char names[CLI_FIELDS_MAX][32], helps[CLI_FIELDS_MAX][200];
  for (int i = 0; i < mlaf_cli_field_count(); i++) {
    const mlaf_field *f = mlaf_cli_field(i);
    const bool flag = mlaf_field_is_switch(f);
    mlaf_cli_field_text(i, names[i], sizeof names[i], helps[i], sizeof helps[i]);
    field_rows[i] = (option_row){names[i], flag ? NULL : f->words ? "T" : "N", flag ? FLAG : f->words ? TEXT : AXIS,
                                 INT_MIN, INT_MAX, helps[i]};
  }
}

mlaf_status mlaf_cli_field_names(const mlaf_op *const *ops, mlaf_err *err) {
  for (; *ops; ops++)
    for (const mlaf_field *f = (*ops)->fields; f < (*ops)->fields + (*ops)->n_fields; f++) {
      char name[32], help[200];
      mlaf_cli_option_of(f, name, sizeof name, help, sizeof help);
      for (int o = 0; o < O_COUNT; o++)
        if (table[o].name && !strcmp(table[o].name, name))
          return mlaf_fail(err, MLAF_E_PROBLEM,
                           "operation %s has a field '%s', and --%s is an option of its own (%s): name the field otherwise in "
                           "gen/ops/%s/fields.lua", (*ops)->name, f->name, name, table[o].help, (*ops)->name);
    }
  return MLAF_OK;
}

static const option_row *row_of(int o) { return o <= O_FIELD_LAST ? &field_rows[o - O_FIELD] : &table[o]; }

/* Meaning of an option to one command, where it differs from the table's. */
static const struct {
  const char *command;
  cli_opt option;
  const char *help;
} meanings[] = {
    {"profile", O_ALL, "annotate the whole kernel, not only its hot path"},
    {"profile", O_DEVICE, "an emulator: emu:gfx942 (auto: that, where there is no GPU)"},
    {"db", O_ALL, "show: the choices that came with the site and with mlaforge, too"},
    {"db", O_DEVICE, "show, why: of this device only (show: of all; why: auto)"},
    {"db", O_DRY_RUN, "gc: say what would be removed, remove nothing"},
    {"db", O_OUT, "export: the file to write (stdout)"},
    {"db", O_MISSES, "show: problems that plans asked for and nobody tuned, most wanted first"},
    {"db", O_SAMPLES, "show PROBLEM: every candidate that was tried"},
    {"db", O_LENGTHS, "why: the lengths that the plan's options would name"},
    {"db", O_DEVICE_ID, "show, why, export: the device with this identity, which need not be here"},
    {"cache", O_FROM, "seed: a bundle or another cache"},
    {"cache", O_SIZE_BUDGET, "gc: bytes that may stay; K, M and G are understood"},
    {"cache", O_MAX_AGE, "gc: remove what was not used for so long"},
    {"layer", O_DRY_RUN, "crossover: say which holds and why, time nothing"},
    {"cache", O_DRY_RUN, "gc: say what would be removed, remove nothing"},
    {"embed", O_FROM, "the bundle"},
    {"embed", O_OUT, "directory for the files"},
    {"embed", O_TARGETS, "only these of the bundle's architectures, e.g. gfx942,sm_90a (all)"},
    {"embed", O_NAME, "a C name: of the two files, NAME.h and NAME.c, and of the index in them (mlaf_kernels)"},
    {"tune", O_MISSES, "tune the problems that plans asked for and nobody tuned, most wanted first"},
    {"tune", O_SOAK, "--serve: launch every choice N times in the end, compare every output bit for bit"},
    {"tune", O_OUT, "--serve: the folder for the report page and the text with the choices (.)"},
    {"tune", O_DEVICE, "auto, hip, hip:1, cuda, emu:gfx942; --serve: a list (auto: all GPUs of the host of one kind)"},
    {"generate", O_OUT, "directory for the bundle or the sources"},
    {"generate", O_DEVICE_ID, "take the tuned choices of this device of --db"},
    {"compile", O_OUT, "directory for the code objects"},
    {"report", O_OUT, "the page to write"},
    {"layer", O_MODEL, "a shipped model: all dims of its layer, positions, softmax scale (deepseek-v3)"},
    {"layer", O_OUT, "--profile: write it as an HTML page with a picture, too"},
    {"layer", O_ALL, "--case: all of the document's shapes, also on an emulator"},
};

static const char *meaning(const cli_command *command, int option) {
  for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
    if ((int)meanings[i].option == option && !strcmp(meanings[i].command, command->name)) return meanings[i].help;
  return row_of(option)->help;
}

static bool lists(const cli_command *command, cli_opt o) {
  for (const cli_opt *p = command->options; *p != O_COUNT; p++)
    if (*p == o) return true;
  return false;
}

static bool accepts(const cli_command *command, cli_opt o) {
  if (o > O_FIELD_LAST) return lists(command, o);
  const mlaf_field *field = lists(command, O_FIELD) ? mlaf_cli_field((int)(o - O_FIELD)) : NULL;
  const char *const *name = command->fields;
  while (field && name && *name && strcmp(*name, field->name)) name++;
  return field && (!name || *name);
}

bool mlaf_cli_option(const cli_command *command, cli_opt o, cli_option *out) {
  if (!field_rows[0].name) make_field_rows();
  if (!accepts(command, o)) return false;
  const option_row *row = row_of((int)o);
  *out = (cli_option){row->name, row->value, meaning(command, (int)o), NULL};
  if (o <= O_FIELD_LAST) out->field = mlaf_cli_field((int)(o - O_FIELD));
  return true;
}

const char *mlaf_cli_option_name(cli_opt o) { return row_of((int)o)->name; }

bool mlaf_cli_has(const cli *c, cli_opt o) { return c->given[o] != NULL; }

int mlaf_cli_excess(cli *c, const cli_opt *options, const char *why) {
  for (; *options != O_COUNT; options++)
    if (mlaf_cli_has(c, *options)) return mlaf_cli_usage(c, "--%s %s", mlaf_cli_option_name(*options), why);
  return CLI_OK;
}

long long mlaf_cli_int(const cli *c, cli_opt o, long long otherwise) {
  return c->given[o] ? strtoll(c->given[o], NULL, 10) : otherwise;
}

double mlaf_cli_real(const cli *c, cli_opt o, double otherwise) {
  return c->given[o] ? strtod(c->given[o], NULL) : otherwise;
}

mlaf_status mlaf_cli_size(cli *c, cli_opt o, size_t *out) {
  static const char units[] = "KMG";
  char *end;
  *out = 0;
  if (!c->given[o]) return MLAF_OK;
  errno = 0;
  unsigned long long n = strtoull(c->given[o], &end, 10);
  const char *unit = *end ? strchr(units, *end) : NULL;
  const int shift = unit ? 10 * (int)(unit - units + 1) : 0;
  if (c->given[o][0] < '0' || c->given[o][0] > '9' || errno || (*end && (!unit || end[1])) || !n || n > (SIZE_MAX >> 1) >> shift)
    return mlaf_fail(&c->err, MLAF_E_ARG, "--%s wants a size such as 500000, 64K, 20M or 1G, not '%s'", table[o].name,
                     c->given[o]);
  *out = (size_t)(n << shift);
  return MLAF_OK;
}

/* --- help --- */
static void option_help(FILE *to, const cli_command *command) {
  for (int o = 0; o < O_COUNT; o++) {
    if (!accepts(command, (cli_opt)o)) continue;
    char left[40];
    const option_row *row = row_of(o);
    snprintf(left, sizeof left, "--%s%s%s", row->name, row->value ? " " : "", row->value ? row->value : "");
    fprintf(to, "  %-22s %s\n", left, meaning(command, o));
  }
}

void mlaf_cli_help(FILE *to, const cli_command *command) {
  if (command) {
    fprintf(to, "usage: mlaforge %s %s\n\n%s\n", command->name, command->arguments, command->summary);
    if (command->takes_problem)
      fprintf(to,
              "\nThe problem is given as a string, e.g. '%s', or by shape "
              "options,\nor as --model NAME --tp N; shape options override the others.\n", mlaf_cli_op(&(cli){0})->example);
    if (command->takes_problem == CLI_PROBLEM_GRID)
      fprintf(to,
              "\nA grid of problems: --model A,B (or @FILE), --tp and the numbers among the shape options take lists, in which "
              "A:B\ndoubles from A up to B: --tp 1,8 --batch 1,8,64:256 --ctx 1024:131072. Or @FILE with problem strings, one "
              "a line.\n");
    if (command->details) fprintf(to, "\n%s\n", command->details);
    fprintf(to, "\noptions:\n");
    option_help(to, command);
  } else {
    fprintf(to,
            "usage: mlaforge COMMAND [OPTIONS]\n\nSpecialised Multi-head Latent Attention decode kernels: generated, "
            "compiled, "
            "verified, tuned.\n\ncommands:\n");
    for (const cli_command *x = mlaf_cli_commands; x->name; x++) fprintf(to, "  %-10s %s\n", x->name, x->summary);
    fprintf(to, "\n`mlaforge COMMAND --help` explains one. --version prints the version.\n");
  }
  fprintf(to, "\nexit codes: 0 ok, 1 findings, 2 usage, 3 environment, 4 internal\n");
}

/* --- parsing --- */
static int check_value(cli *c, cli_opt o) {
  const option_row *row = row_of(o);
  const char *text = c->given[o];
  char *end;
  errno = 0;
  if (row->kind == AXIS && c->command->takes_problem == CLI_PROBLEM_GRID) { /* its range is checked with the problem's */
    cli_axis axis;
    if (mlaf_cli_axis(row->name, text, 0, INT_MAX, &axis, &c->err) != MLAF_OK) return mlaf_cli_fail(c);
    free(axis.values);
    return CLI_OK;
  }
  if (row->kind == TEXT && !*text) return mlaf_cli_usage(c, "--%s wants a value, not an empty one", row->name);
  bool is_whole = row->kind == WHOLE || row->kind == AXIS;
  double value = is_whole ? (double)strtoll(text, &end, 10) : row->kind == REAL ? strtod(text, &end) : 0;
  if (!is_whole && row->kind != REAL) return CLI_OK;
  if (!*text || *end || errno || !isfinite(value))
    return mlaf_cli_usage(c, "--%s wants a %snumber, not '%s'", row->name, is_whole ? "whole " : "", text);
  if (value < row->low || value > row->high)
    return mlaf_cli_usage(c, "--%s is %s; accepted are %.10g to %.10g", row->name, text, row->low, row->high);
  return CLI_OK;
}

/* A value given twice is more likely a slip than an override. */
static int take(cli *c, int o, const char *value) {
  if (o == O_VERBOSE) c->verbose++;
  if (c->given[o] && row_of(o)->kind != FLAG) return mlaf_cli_usage(c, "--%s is given twice", row_of(o)->name);
  c->given[o] = value ? value : "";
  c->json = c->json || o == O_JSON;
  return check_value(c, (cli_opt)o);
}

static const cli_command *find_command(const char *name) {
  for (const cli_command *x = mlaf_cli_commands; x->name; x++)
    if (strcmp(x->name, name) == 0) return x;
  return NULL;
}

static int positional(cli *c, const char *text) {
  int room = c->command->max_arguments;
  if (c->n_arguments >= room) return mlaf_cli_usage(c, "'%s' is one argument too many (options start with --)", text);
  c->arguments[c->n_arguments++] = text;
  return CLI_OK;
}

/* Long options of one command, getopt's way. */
static void list_options(const cli_command *command, struct option *out) {
  int n = 0;
  for (int o = 0; o < O_COUNT; o++)
    if (accepts(command, (cli_opt)o))
      out[n++] = (struct option){row_of(o)->name, row_of(o)->value ? required_argument : no_argument, NULL, 256 + o};
  out[n] = (struct option){NULL, 0, NULL, 0};
}

static int parse_options(cli *c, int argc, char **argv) {
  struct option list[O_COUNT + 1];
  list_options(c->command, list);
  int code = CLI_OK;
  optind = 0; /* glibc: start afresh */
  opterr = 0;
  while (code == CLI_OK) {
    int at = optind ? optind : 1;
    int o = getopt_long(argc, argv, "-:hv", list, NULL);
    if (o == -1) break;
    if (o == 1) code = positional(c, optarg);
    else if (o == 'h') c->given[O_HELP] = "";
    else if (o == 'v') code = take(c, O_VERBOSE, NULL);
    else if (o == ':') code = mlaf_cli_usage(c, "%s wants a value", argv[optind - 1]);
    else if (o >= 256) code = take(c, o - 256, optarg);
    else
      code = mlaf_cli_usage(c, "'%s' is not an option of `mlaforge %s`", argv[at < argc ? at : argc - 1],
                            c->command->name);
  }
  while (code == CLI_OK && optind < argc) code = positional(c, argv[optind++]); /* behind a lone -- */
  return code;
}

int mlaf_cli_parse(cli *c, int argc, char **argv) {
  const char *word = argc > 1 ? argv[1] : NULL;
  make_field_rows();
  if (!word) {
    mlaf_cli_help(stderr, NULL);
    return CLI_USAGE;
  }
  if (strcmp(word, "--version") == 0) {
    printf("mlaforge %s\n", mlaf_version());
    return -1;
  }
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
    const cli_command *about = argc > 2 && strcmp(word, "help") == 0 ? find_command(argv[2]) : NULL;
    mlaf_cli_help(stdout, about);
    return -1;
  }
  c->command = find_command(word);
  if (!c->command) return mlaf_cli_usage(c, "there is no command '%s'; `mlaforge --help` lists them", word);
  int code = parse_options(c, argc - 1, argv + 1);
  if (code == CLI_OK && mlaf_cli_has(c, O_HELP)) {
    mlaf_cli_help(stdout, c->command);
    return -1;
  }
  return code;
}
