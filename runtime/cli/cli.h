/* The mlaforge command: one table of commands and options drives parsing and help; each command is one file.
 * stdout carries results only (tables, or JSON Lines with --json); progress, logs and errors go to stderr. */
#pragma once

#include <cjson/cJSON.h>
#include <stdatomic.h>

#include "base/base.h"
#include "plan/ctx.h"
#include "mlaforge/mlaforge.h"
#include "op/op.h"
#include "tune/tune.h"

#define MLAF_CLI_JSON_VERSION 1 /* of every JSON line; raised when a field changes its meaning */

/* Exit codes of the process. */
enum { CLI_OK = 0, CLI_FINDINGS = 1, CLI_USAGE = 2, CLI_ENVIRONMENT = 3, CLI_INTERNAL = 4 };

enum { CLI_FIELDS_MAX = 64 }; /* names of fields, of all operations */

typedef enum cli_opt {
  O_FIELD, O_FIELD_LAST = O_FIELD + CLI_FIELDS_MAX - 1, /* the fields of problems, as operations have them */
  O_OP,
  O_MODEL, O_TP, O_DEVICE, O_TARGET, O_DB,
  O_CACHE, O_GEN_ROOT, O_SEED, O_JOBS, O_TIME_LIMIT, O_MAX_CANDIDATES, O_RESUME, O_NO_RESUME, O_NO_LIBRARY,
  O_DRY_RUN, O_VARIANT, O_ALL,
  O_INJECT, O_OUT, O_EVIDENCE, O_MISSES, O_SAMPLES, O_DEVICE_ID, O_CODE, O_ARGS, O_TOP, O_TRACE,
  O_MODELS, O_TARGETS, O_SIZE_BUDGET, O_EXTEND, O_BUNDLE, O_NO_COMPILE, O_INVARIANT, O_FROM, O_NAME, O_MAX_AGE,
  O_STRATEGY, O_GIVE_UP, O_LENGTHS, O_SHARD, O_SET, O_HOT, O_CSV, O_SOAK, O_CHOICES, O_BESIDE, O_POOL,
  O_PROFILE, O_FORMS, O_CROSSOVER, O_CASE, O_PROBLEMS, O_SERVE,
  O_VERBOSE, O_JSON, O_HELP, O_COUNT
} cli_opt;

typedef struct cli cli;

enum { CLI_ARGUMENTS = 1024 }; /* as many shards as db merge takes at once */

/* Kinds of what a command's positional argument and shape options name. */
enum { CLI_NO_PROBLEM, CLI_ONE_PROBLEM, CLI_PROBLEM_GRID /* --model, --tp and numbers of fields may be lists */ };

typedef struct cli_command {
  const char *name, *arguments, *summary;
  const char *details; /* further help, NULL if none */
  const cli_opt *options; /* ended by O_COUNT; O_FIELD stands for all fields, or for those of `fields` */
  int takes_problem;
  int max_arguments; /* positional ones, the problem among them */
  int (*run)(cli *c);
  const char *const *fields; /* names, ended by NULL; NULL: all */
} cli_command;

struct cli {
  const cli_command *command;
  const char *given[O_COUNT]; /* text of an option with a value, "" of a flag, NULL when absent */
  const char *arguments[CLI_ARGUMENTS];
  int n_arguments;
  int verbose; /* times -v was given */
  bool json;
  bool progress_shown; /* a progress line is on the terminal and must be cleared first */
  double progress_at;  /* when the last one was printed */
  struct cli *of;      /* the command that this one works for on a thread of its own: progress lines are that one's. NULL: none */
  mlaf_log log;
  const atomic_bool *cancel;
  mlaf_ctx *ctx; /* NULL until a command opens it */
  mlaf_err err;
};

extern const cli_command mlaf_cli_commands[]; /* ended by name NULL */

/* --- options.c --- */
/* CLI_OK: c is filled. Else an exit code, with the message printed; -1: help was printed, exit 0. */
int mlaf_cli_parse(cli *c, int argc, char **argv);
void mlaf_cli_help(FILE *to, const cli_command *command); /* NULL: the overview */
bool mlaf_cli_has(const cli *c, cli_opt o);
/* Values were checked while parsing. */
long long mlaf_cli_int(const cli *c, cli_opt o, long long otherwise);
double mlaf_cli_real(const cli *c, cli_opt o, double otherwise);
/* One option of a command, as its help has it; strings live as long as the process. False: the command has no such option. */
typedef struct cli_option {
  const char *name, *value, *help; /* value: "N", "FILE", ...; NULL: a flag */
  const mlaf_field *field;         /* of a problem; NULL: an option of the commands' own */
} cli_option;
bool mlaf_cli_option(const cli_command *command, cli_opt o, cli_option *out);
const char *mlaf_cli_option_name(cli_opt o);
/* Refuses options that are given, of a list that ends with O_COUNT: "--set <why>". CLI_OK where none is. */
int mlaf_cli_excess(cli *c, const cli_opt *options, const char *why);
/* "20M" as bytes: E_ARG when it is no size; 0 when the option is absent. */
mlaf_status mlaf_cli_size(cli *c, cli_opt o, size_t *out);

/* --- cli.c --- */
int mlaf_cli_main(int argc, char **argv, const atomic_bool *cancel);
/* MLAF_OK, or E_CANCELLED in c->err after a signal: asked for between two steps of a loop. */
mlaf_status mlaf_cli_go_on(cli *c);
/* The exit code that belongs to a status; a problem that cannot be is usage, a wrong result is a finding. */
int mlaf_cli_exit(mlaf_status status);
/* Print c->err (and, with --json, an error line) and return its exit code. */
int mlaf_cli_fail(cli *c);
int mlaf_cli_usage(cli *c, const char *fmt, ...) MLAF_PRINTF(2, 3);
/* The problem of the shape options, the model or the positional string, checked. */
mlaf_status mlaf_cli_problem(cli *c, mlaf_point *out);
/* E_PROBLEM when neither `text` nor options say which problem, or --tp stands without --model. */
mlaf_status mlaf_cli_named(cli *c, const char *text);
/* Open c->ctx from the common options and take its lock, which the command keeps. need_db: no database, no command;
 * else one that cannot be used is a warning. */
mlaf_status mlaf_cli_open(cli *c, bool need_db);
/* Gives lock and context back. */
void mlaf_cli_close(cli *c);
/* --device. Without a GPU auto is the emulator, which a line on stderr says; the same in mlaf_cli_open. */
mlaf_status mlaf_cli_open_device(cli *c, mlaf_device **out);
mlaf_status mlaf_cli_open_db(cli *c, bool read_only, mlaf_db **out);
/* The database that db import and db merge write: with --dry-run a copy of it in memory. */
mlaf_status mlaf_cli_open_target(cli *c, mlaf_db **out);
uint64_t mlaf_cli_seed(const cli *c);
/* The target to generate for: --target, else the device's. */
const char *mlaf_cli_target(const cli *c);
/* MLAF_PLAN_OPTS_INIT with what the options say of it. */
mlaf_plan_opts mlaf_cli_plan_opts(const cli *c);
/* One line, which the next one replaces: at most once a second on a terminal, once in ten seconds in a log file. */
void mlaf_cli_progress(cli *c, const char *fmt, ...) MLAF_PRINTF(2, 3);
void mlaf_cli_progress_end(cli *c);

/* --- stop.c --- */
/* Start the watch that ends the process when a command has not ended within a second of a signal. For main() alone. */
void mlaf_cli_stop_begin(void);
/* From the signal handler. */
void mlaf_cli_stop_signalled(void);
/* The command under way, NULL when it is over. */
void mlaf_cli_stop_current(const cli *c);
/* Seconds that it may take to end by itself (0.7). A second signal ends it at once. */
void mlaf_cli_stop_grace(double s);

/* --- grid.c --- */
/* Ascending and distinct; values are malloc'ed. */
typedef struct cli_axis {
  int32_t *values;
  size_t n;
} cli_axis;
/* "1,8,64:256": numbers and doubling ranges. `name` is the option's, for the error. */
mlaf_status mlaf_cli_axis(const char *name, const char *text, long long low, long long high, cli_axis *out, mlaf_err *err);

/* --- fields.c --- */
/* The operation that the command line is about: that of its problem string, else --op's, else mla_decode. */
const mlaf_op *mlaf_cli_op(const cli *c);
/* E_PROBLEM: --op names none, or an option is no field of it. */
mlaf_status mlaf_cli_check_op(cli *c);
/* Options of fields: each name once; O_FIELD + i is the i-th's. NULL past the end. */
int mlaf_cli_field_count(void);
const mlaf_field *mlaf_cli_field(int i);
/* E_PROBLEM where an operation has a field whose option would be one of the commands' own. `ops` ends with NULL. */
mlaf_status mlaf_cli_field_names(const mlaf_op *const *ops, mlaf_err *err);
/* Name and help text of a field's option; of the i-th. */
void mlaf_cli_option_of(const mlaf_field *f, char *name, size_t name_size, char *help, size_t help_size);
void mlaf_cli_field_text(int i, char *name, size_t name_size, char *help, size_t help_size);
/* Writes the options that were given over *p; a list counts as its first number. The rest keeps the value of string, model or
 * defaults. */
mlaf_status mlaf_cli_fields(cli *c, mlaf_point *p);
/* The option of a field that another operation has, taken from the command line: the index of its word, 0 where it was not
 * given. For a command whose problems are several operations'. */
mlaf_status mlaf_cli_take_word(cli *c, const char *op, const char *field, int32_t *out);
/* The numbers of each field that was given, which may be a list; none for others. To be freed either way. */
mlaf_status mlaf_cli_axes(cli *c, const mlaf_op *op, cli_axis axes[MLAF_FIELDS_MAX]);
void mlaf_cli_axes_free(cli_axis axes[MLAF_FIELDS_MAX]);
/* The dims of a model whose heads `tp` ranks share, where the operation has such fields. */
void mlaf_cli_set_model(mlaf_point *p, const mlaf_model *m, int tp);
/* Every field is given that must be. */
bool mlaf_cli_required(const cli *c);
/* The command line names a problem, be it in part. */
bool mlaf_cli_names_problem(const cli *c);
/* A field's list, NULL: none is one. */
const char *mlaf_cli_listed(const cli *c);

/* --- grid.c: models and problems --- */
enum { CLI_MODELS_MAX = 64 };
typedef struct cli_models {
  const mlaf_model *list[CLI_MODELS_MAX];
  size_t n;
} cli_models;
/* --model: names separated by commas, "all", or @FILE. */
mlaf_status mlaf_cli_models(cli *c, cli_models *out);
/* Every problem of the command line's grid, once, small ones first. A model that a --tp does not divide is left out with a
 * warning, unless it is the only pair. */
typedef struct cli_problems {
  mlaf_point *list;
  size_t n;
} cli_problems;
mlaf_status mlaf_cli_problems(cli *c, cli_problems *out);
mlaf_status mlaf_cli_problems_add(cli *c, cli_problems *g, const mlaf_point *p);
/* Each once, small ones first. */
void mlaf_cli_problems_sort(cli_problems *g);
void mlaf_cli_problems_free(cli_problems *g);

/* --- tune_select.c --- */
/* Problems the open database was asked for in vain on this context's device, most wanted first. */
mlaf_status mlaf_cli_missed(cli *c, cli_problems *out);
/* The share that --shard names: of n things in a row this machine takes numbers i with i % share.n == share.i. */
typedef struct cli_share {
  long long i, n;
} cli_share;
mlaf_status mlaf_cli_share(cli *c, cli_share *out);
/* Keep that share. */
mlaf_status mlaf_cli_shard(cli *c, cli_problems *g);

/* --- tune_print.c --- */
/* Everything about one problem's run; its summary as one JSON line. */
void mlaf_cli_tune_print(const cli *c, const char *problem, const mlaf_tuner_result *r);
void mlaf_cli_tune_json(const cli *c, const char *problem, const mlaf_tuner_result *r);

/* --- bench_cases.c --- */
/* The problems of --set, a list of the peers' sets (tuning/peer-sets.tsv). */
mlaf_status mlaf_cli_peer_problems(cli *c, cli_problems *out);

/* --- output.c --- */
/* At the start of a command; and whether memory was lacking for some of its output since. */
void mlaf_cli_output_begin(void);
bool mlaf_cli_output_lacking(void);
typedef struct cli_table cli_table;
/* Columns as "name" or ">name" (right-aligned); ended by NULL. The last may be "|name": on a line of its own below the row. */
cli_table *mlaf_cli_table_new(const char *const *columns);
/* A cell, or as many as tabs divide the format into. */
void mlaf_cli_table_cell(cli_table *t, const char *fmt, ...) MLAF_PRINTF(2, 3);
/* Prints to stdout and frees. */
void mlaf_cli_table_end(cli_table *t);
/* Frees without printing. */
void mlaf_cli_table_drop(cli_table *t);
/* Prints the whole rows of tables that are not at their end, from another thread, before the process ends. */
void mlaf_cli_tables_flush(void);
/* {"schema": "mlaforge.<name>", "version": 1} */
cJSON *mlaf_cli_event(const char *name);
/* Adds members to an object, in this order: mlaf_cli_json(o, TEXT("variant", name), NUMBER("knob", 4), FLAG("hot", true)). */
typedef struct cli_member {
  const char *name;
  cJSON *(*make)(const struct cli_member *m);
  const char *text;
  double number;
  bool flag;
} cli_member;
cJSON *mlaf_cli_json_text(const cli_member *m);
cJSON *mlaf_cli_json_number(const cli_member *m);
cJSON *mlaf_cli_json_flag(const cli_member *m);
void mlaf_cli_json_members(cJSON *to, const cli_member *members, size_t n);
#define TEXT(its_name, x) {.name = its_name, .make = mlaf_cli_json_text, .text = (x)}
#define NUMBER(its_name, x) {.name = its_name, .make = mlaf_cli_json_number, .number = (double)(x)}
#define FLAG(its_name, x) {.name = its_name, .make = mlaf_cli_json_flag, .flag = (x)}
#define mlaf_cli_json(to, ...)                                                                                                \
  mlaf_cli_json_members(to, (const cli_member[]){__VA_ARGS__},                                                                \
                        sizeof((const cli_member[]){__VA_ARGS__}) / sizeof(cli_member))
/* Prints one line and frees. */
void mlaf_cli_emit(cJSON *event);
/* An event of these members alone. */
#define mlaf_cli_print(name, ...)               \
  do {                                          \
    cJSON *const event_ = mlaf_cli_event(name); \
    mlaf_cli_json(event_, __VA_ARGS__);         \
    mlaf_cli_emit(event_);                      \
  } while (0)
/* One field for each stage of the problem's operation, null where the variant has no such kernel. */
void mlaf_cli_json_kernels(cJSON *to, const char *problem, const mlaf_kernel_ref kernels[MLAF_STAGES_MAX]);
void mlaf_cli_json_timing(cJSON *to, const mlaf_timing *t);
void mlaf_cli_json_sample(cJSON *to, const char *problem, const mlaf_sample *s);
/* "hbm 8.1 + launch 6.0 us": the parts of a time, largest first, those below 1 % left out. */
void mlaf_cli_parts(const mlaf_timing *t, char *out, size_t size);

/* --- select.c --- */
/* Variants a command works on. */
typedef struct cli_variants {
  mlaf_variant *list;
  size_t n, rejected;
} cli_variants;
/* --variant: that one. Else all candidates of the space (rejected ones dropped and counted). */
/* E_ARG when the generator has no arch table for a target that the command line names. */
mlaf_status mlaf_cli_check_target(cli *c, mlaf_gen *g, const char *target);
mlaf_status mlaf_cli_variants(cli *c, mlaf_gen *g, const mlaf_point *p, const char *target, cli_variants *out);
/* Keep the model's best variant for each set of kernels: the knob is launch-time only. */
void mlaf_cli_distinct_kernels(cli_variants *v);
void mlaf_cli_variants_free(cli_variants *v);

/* A distinct kernel of some variants, rendered. */
typedef struct cli_kernel {
  const mlaf_kernel_desc *desc;
  const char *variant; /* the first that uses it */
  size_t variants;     /* that use it */
  int stage;
  char *source;
  char src_hash[MLAF_HASH_HEX];
} cli_kernel;
/* Compile the kernels of all variants over the pool of workers: builds that follow find them in the cache. */
mlaf_status mlaf_cli_warm_cache(cli *c, mlaf_gen *g, const cli_variants *v);
mlaf_status mlaf_cli_kernels(cli *c, mlaf_gen *g, const char *target, const cli_variants *v, cli_kernel **out, size_t *n);
void mlaf_cli_kernels_free(cli_kernel *k, size_t n);

/* --- subject.c --- */
/* The variant that a command runs, loaded, and where it comes from. */
typedef struct cli_subject {
  struct mlaf_loaded *loaded;
  char variant[256];
  const char *rung, *source;
  char *notes;
  int compiles;  /* compiler runs it took to have it loaded */
  double plan_s; /* wall clock from the problem to loaded kernels */
} cli_subject;
mlaf_status mlaf_cli_subject(cli *c, const mlaf_point *p, mlaf_gen *g, cli_subject *out);
void mlaf_cli_subject_clear(cli_subject *s);

/* --- db_why.c, db_tools.c --- */
int mlaf_cli_db_why(cli *c);
int mlaf_cli_db_merge(cli *c);
int mlaf_cli_db_diff(cli *c);
int mlaf_cli_db_check(cli *c);
int mlaf_cli_db_gc(cli *c);

/* --- the commands --- */
int mlaf_cli_completion(cli *c);
int mlaf_cli_tune(cli *c);
int mlaf_cli_tune_layer(cli *c); /* tune layer */
int mlaf_cli_verify(cli *c);
int mlaf_cli_soak(cli *c); /* verify --soak */
int mlaf_cli_bench(cli *c);
int mlaf_cli_profile(cli *c);
int mlaf_cli_layer(cli *c);
int mlaf_cli_generate(cli *c);
int mlaf_cli_bundle(cli *c); /* generate --targets */
int mlaf_cli_embed(cli *c);
int mlaf_cli_cache(cli *c);
int mlaf_cli_compile(cli *c);
int mlaf_cli_db(cli *c);
int mlaf_cli_report(cli *c);
int mlaf_cli_env(cli *c);
int mlaf_cli_devices(cli *c);
int mlaf_cli_models_list(cli *c);
