/* Shared by all commands: the command table, problems, contexts, errors, progress. */
#include "cli/cli.h"

#include <sys/ioctl.h>
#include <unistd.h>

#define SHAPE  O_FIELD, O_OP, O_MODEL, O_TP
#define COMMON O_GEN_ROOT, O_VERBOSE, O_JSON, O_HELP
static const cli_opt tune_options[] = {SHAPE,    O_DEVICE, O_DB,         O_CACHE,          O_SEED,   O_JOBS,      O_STRATEGY,
                                       O_LENGTHS, O_SET, O_SHARD, O_TIME_LIMIT, O_MAX_CANDIDATES, O_GIVE_UP, O_RESUME,
                                       O_NO_RESUME, O_NO_LIBRARY, O_MISSES, O_SERVE, O_SOAK, O_OUT, O_DRY_RUN, COMMON, O_COUNT};
static const cli_opt verify_options[] = {SHAPE,  O_DEVICE,  O_DB,  O_CACHE,  O_BUNDLE, O_NO_COMPILE, O_INVARIANT, O_SEED,
                                         O_JOBS, O_VARIANT, O_ALL, O_INJECT, O_LENGTHS, O_SOAK, O_CHOICES, O_BESIDE, O_POOL,
                                         O_SHARD, COMMON, O_MAX_CANDIDATES, O_COUNT};
static const cli_opt bench_options[] = {SHAPE,  O_DEVICE,  O_DB,      O_CACHE, O_BUNDLE, O_NO_COMPILE, O_SEED,
                                        O_INVARIANT, O_VARIANT, O_SET, O_LENGTHS, O_HOT, O_CSV, COMMON, O_COUNT};
static const cli_opt profile_options[] = {SHAPE, O_DEVICE, O_DB,  O_CACHE, O_SEED, O_VARIANT, O_CODE, O_ARGS,
                                          O_LENGTHS, O_ALL, O_TOP, O_TRACE, COMMON, O_COUNT};
static const cli_opt layer_options[] = {O_FIELD, O_MODEL, O_TP, O_DEVICE, O_DB, O_CACHE, O_BUNDLE, O_NO_COMPILE, O_INVARIANT,
                                        O_SEED, O_PROFILE, O_FORMS, O_CROSSOVER, O_DRY_RUN, O_CASE, O_PROBLEMS, O_ALL, O_OUT,
                                        COMMON, O_COUNT};
static const char *const layer_fields[] = {"q_len", "page_size", "batch", "ctx", "weights", NULL}; /* the model has the rest */
static const cli_opt generate_options[] = {SHAPE,  O_TARGET, O_VARIANT, O_OUT,       O_MODELS, O_TARGETS, O_SIZE_BUDGET, O_EXTEND,
                                           O_JOBS, O_CACHE,  O_DB,      O_DEVICE_ID, COMMON,   O_COUNT};
static const cli_opt embed_options[] = {O_FROM, O_OUT, O_NAME, O_TARGETS, O_VERBOSE, O_JSON, O_HELP, O_COUNT};
static const cli_opt cache_options[] = {O_CACHE, O_FROM, O_SIZE_BUDGET, O_MAX_AGE, O_DRY_RUN, O_VERBOSE, O_JSON, O_HELP, O_COUNT};
static const cli_opt compile_options[] = {SHAPE, O_TARGET,   O_CACHE, O_JOBS, O_VARIANT,
                                          O_OUT, O_EVIDENCE, COMMON,  O_COUNT};
static const cli_opt db_options[] = {O_DB,      O_OUT,     O_DEVICE, O_DEVICE_ID, O_MISSES, O_SAMPLES, O_LENGTHS,
                                     O_ALL, O_DRY_RUN, O_VERBOSE, O_JSON,   O_HELP,      O_COUNT};
static const cli_opt report_options[] = {O_DB, O_OUT, O_DEVICE_ID, COMMON, O_COUNT};
static const cli_opt env_options[] = {O_DEVICE, O_DB, O_CACHE, COMMON, O_COUNT};
static const cli_opt models_options[] = {O_VERBOSE, O_JSON, O_HELP, O_COUNT};
static const cli_opt completion_options[] = {O_JSON, O_HELP, O_COUNT};
static const cli_opt devices_options[] = {O_VERBOSE, O_JSON, O_HELP, O_COUNT};

const cli_command mlaf_cli_commands[] = {
    {"tune", "[PROBLEM ... | layer] [OPTIONS]", "compile, verify and time the candidates of problems, remember the best",
     "Every candidate is verified against an fp64 reference before it is timed, and recorded when it is finished, so an\n"
     "interrupted run goes on where it stopped. Candidates of a finished run are not tried again. --misses tunes what plans\n"
     "asked for in vain. docs/tuning.md walks through it.\n"
     "layer: which stages of a layer share a kernel, by whole layers of --model and --tp in turns (docs/layer.md).\n"
     "--serve SIZES: everything that a server of --model runs, on all GPUs of the host: attention with --lengths (uniform), the\n"
     "other operations, whole layers; then --soak, a report page and a tuning text. Sizes left out have the lists shown below.",
     tune_options, CLI_PROBLEM_GRID, CLI_ARGUMENTS, mlaf_cli_tune, NULL},
    {"verify", "[PROBLEM] [OPTIONS]", "compare a variant's output with the fp64 reference",
     "Without --variant or --all: the variant that a plan of the problem would run.\n"
     "--soak N: mistakes that depend on timing. N launches on pages of a pool 50 times larger than L2, alone, back to back,\n"
     "beside the same work (or --beside) and beside reads of memory, after rests; every output is compared bit for bit with\n"
     "the first one of the same inputs, the first ones with the fp64 reference. --choices shipped soaks all that is shipped\n"
     "for this device. docs/bench.md says what each check can see.",
     verify_options, true, 1, mlaf_cli_verify, NULL},
    {"bench", "[PROBLEM] [OPTIONS]", "time planned variants beside what the device can do at most",
     "The ceilings (read bandwidth, bf16 matrix rate) are measured first, in the same run. Each variant is verified before it\n"
     "is timed, its calls go through several page tables so that none finds its tokens in a cache, and the device rests\n"
     "a moment before each measurement. The roofline counts the flops and the cached tokens, read once. --lengths spreads the\n"
     "requests; docs/bench.md.",
     bench_options, CLI_PROBLEM_GRID, 1, mlaf_cli_bench, NULL},
    {"profile", "[PROBLEM] [OPTIONS]", "show where the cycles of a launch go, by the emulator's timing model",
     "Of the planned variant, or --variant, or any kernel with --code and --args. Annotates the hot path; --all the whole\n"
     "kernel, --top N the N most expensive instructions. Everything it prints is modelled (docs/emulator.md).",
     profile_options, true, 1, mlaf_cli_profile, NULL},
    {"layer", "[OPTIONS]", "run a whole MLA layer with random weights: check it, time its stages, reproduce published cases",
     "The layer of --model on one of --tp ranks, for --batch requests of --ctx tokens, of which --q-len are new. Outputs and\n"
     "the appended rows are compared with the layer in fp64; other rows of the cache must keep their bits. --case runs the\n"
     "shapes of a founding document beside its figures, and exits 1 where something is missed or cannot be run.\n"
     "docs/layer-cases.md has more.",
     layer_options, CLI_NO_PROBLEM, 0, mlaf_cli_layer, layer_fields},
    {"generate", "[PROBLEM] [OPTIONS]", "make kernels ahead, with no device: a bundle of code objects, or sources",
     "With --targets LIST a bundle in --out DIR: for each problem of the grid the code objects of its tuned choice (--db) or\n"
     "of the model's, and of the variant that always works; docs/offline.md. Stopped at any point, the same command goes on.\n"
     "Without --targets sources of one problem, which needs no compiler either: with --out DIR one file a kernel and\n"
     "manifest.tsv with its hashes; without, and with one kernel, the source on stdout. Without --variant: every kernel of the\n"
     "problem's space.",
     generate_options, CLI_PROBLEM_GRID, 1, mlaf_cli_generate, NULL},
    {"embed", "--from BUNDLE --out DIR [OPTIONS]", "write the kernels of a bundle as C, with a loader that needs only the driver",
     "NAME.h and NAME.c (index and code objects), the loader (mlaf_embed.h, mlaf_embed.c, mlaf_embed_driver.h,\n"
     "mlaf_embed_tables.h), and LICENSE.mlaforge: the MIT licence that all of them are under.\n"
     "They are for copying into another project: docs/embedding.md.",
     embed_options, false, 0, mlaf_cli_embed, NULL},
    {"cache", "list | verify | gc | seed [OPTIONS]", "look into the code-object cache, check it, shrink it, fill it",
     "verify: exit code 1 when an entry is damaged (it would be rebuilt at its next use). gc: remove the entries used longest\n"
     "ago until --size-budget and --max-age hold, damaged ones in any case; --dry-run only says so. seed: take the code objects\n"
     "of the bundle or cache --from DIR in.",
     cache_options, false, 1, mlaf_cli_cache, NULL},
    {"compile", "[PROBLEM] [OPTIONS]", "compile kernels and show their registers, LDS and scratch; needs no device",
     "Without --variant: every kernel of the problem's space. With --out DIR the code objects are written there. Exit "
     "code 1 when\n"
     "a kernel does not compile or takes more than its variant's budget.",
     compile_options, true, 1, mlaf_cli_compile, NULL},
    {"db", "show [PROBLEM] | why PROBLEM | diff OLD NEW | merge FILES | check | gc | export | import FILE [OPTIONS]",
     "look into the tuning database, merge, check and clean it, write and read tuning text",
     "show: your choices, those of the last run first (--all: the site's and the shipped ones, too; --device, --device-id: of\n"
     "one device), or with --samples and a problem every candidate tried, or with --misses what to tune.\n"
     "why: every rung a plan of the problem would try, and why it holds or not; --device-id for a device that is not here.\n"
     "diff: the choices that differ between two files; exit code 1 when some do. merge: add what other databases know to --db.\n"
     "check: everything that can be verified; exit code 1 with findings. gc: remove what cannot matter any more (--dry-run).\n"
     "export: all choices as sorted text on stdout or into --out FILE. import: such a text (- for stdin), all of it or nothing.\n"
     "docs/database.md has more.",
     db_options, false, CLI_ARGUMENTS, mlaf_cli_db, NULL},
    {"report", "--out FILE.html [OPTIONS]", "write what the database knows as one self-contained HTML page with plots",
     "Ratio to the roofline over batch and context, tuned against the model's first pick, where the time goes, coverage of the\n"
     "grid, the choices. Needs no network to be looked at.",
     report_options, false, 0, mlaf_cli_report, NULL},
    {"models", "[OPTIONS]", "the shipped models that --model knows: dims, rotary positions, softmax scale",
     "Heads are those of the whole model: --tp N divides them. factor is YaRN's; scale is the softmax scale with its m squared.\n"
     "Where hidden is 0 the model has no layer of this library's form. -v: also where each line comes from.",
     models_options, false, 0, mlaf_cli_models_list, NULL},
    {"env", "[OPTIONS]", "versions, paths, variables, compiler, devices: what a bug report needs", NULL, env_options,
     false, 0, mlaf_cli_env, NULL},
    {"devices", "[OPTIONS]", "the devices that work here, and why others do not", NULL, devices_options, false, 0,
     mlaf_cli_devices, NULL},
    {"completion", "bash | zsh | fish", "print what makes a shell complete commands, options and values",
     "`cmake --install` puts all three where shells look. By hand: source <(mlaforge completion bash).",
     completion_options, false, 1, mlaf_cli_completion, NULL},
    {NULL, NULL, NULL, NULL, NULL, false, 0, NULL, NULL},
};

/* --- errors --- */
int mlaf_cli_exit(mlaf_status status) {
  switch (status) {
    case MLAF_OK: return CLI_OK;
    case MLAF_E_ARG:
    case MLAF_E_PROBLEM: return CLI_USAGE;
    case MLAF_E_INCORRECT:
    case MLAF_E_FAULT:
    case MLAF_E_NOT_TUNED:
    case MLAF_E_CANCELLED:
    case MLAF_E_COMPILE: return CLI_FINDINGS;
    case MLAF_E_INTERNAL:
    case MLAF_E_TEMPLATE: return CLI_INTERNAL;
    default: return CLI_ENVIRONMENT;
  }
}

mlaf_status mlaf_cli_go_on(cli *c) {
  return c->cancel && atomic_load(c->cancel) ? mlaf_fail(&c->err, MLAF_E_CANCELLED, "stopped on request") : MLAF_OK;
}

int mlaf_cli_fail(cli *c) {
  int code = mlaf_cli_exit(c->err.status);
  mlaf_cli_progress_end(c);
  fprintf(stderr, "mlaforge: %s: %s\n", mlaf_status_text(c->err.status), c->err.text);
  if (c->json)
    mlaf_cli_print("error", TEXT("status", mlaf_status_name(c->err.status)), TEXT("message", c->err.text),
                   NUMBER("exit", code));
  return code;
}

int mlaf_cli_usage(cli *c, const char *fmt, ...) {
  char text[600];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  const char *name = c->command ? c->command->name : NULL;
  mlaf_fail(&c->err, MLAF_E_ARG, "%s (see: mlaforge %s%s--help)", text, name ? name : "", name ? " " : "");
  return mlaf_cli_fail(c);
}

/* --- problems --- */
static mlaf_status from_model(cli *c, mlaf_point *p) {
  const mlaf_model *m = mlaf_model_find(c->given[O_MODEL]);
  int tp = (int)mlaf_cli_int(c, O_TP, 1);
  if (!m) {
    mlaf_text names = MLAF_TEXT_INIT(2000);
    for (size_t i = 0; mlaf_model_at(i); i++) mlaf_text_fmt(&names, "%s%s", i ? ", " : "", mlaf_model_at(i)->name);
    mlaf_fail(&c->err, MLAF_E_PROBLEM, "no shipped model is called '%s'; known are: %s", c->given[O_MODEL],
              names.data ? names.data : "none");
    mlaf_text_free(&names);
    return MLAF_E_PROBLEM;
  }
  if (m->heads % tp)
    return mlaf_fail(&c->err, MLAF_E_PROBLEM, "%s has %d heads, which --tp %d does not divide", m->name, m->heads, tp);
  mlaf_cli_set_model(p, m, tp);
  return MLAF_OK;
}

mlaf_status mlaf_cli_named(cli *c, const char *text) {
  if (mlaf_cli_check_op(c) != MLAF_OK) return c->err.status;
  if (!text && !mlaf_cli_has(c, O_MODEL) && !mlaf_cli_required(c))
    return mlaf_fail(&c->err, MLAF_E_PROBLEM, "which problem? Give --heads N, --model NAME, or a problem string ('%s')",
                     mlaf_cli_op(c)->example);
  if (text && mlaf_cli_has(c, O_MODEL))
    return mlaf_fail(&c->err, MLAF_E_PROBLEM, "both a problem string and --model say which heads and ranks: give one of them");
  if (mlaf_cli_has(c, O_TP) && !mlaf_cli_has(c, O_MODEL))
    return mlaf_fail(&c->err, MLAF_E_PROBLEM, "--tp divides the heads of a --model; with --heads give those of this rank");
  return MLAF_OK;
}

mlaf_status mlaf_cli_problem(cli *c, mlaf_point *out) {
  char why[512] = "";
  mlaf_point p;
  const char *text = c->n_arguments ? c->arguments[c->n_arguments - 1] : NULL;
  if (mlaf_cli_named(c, text) != MLAF_OK) return c->err.status;
  mlaf_point_init(mlaf_cli_op(c), &p);
  if (text && mlaf_point_parse(NULL, text, &p, why, sizeof why) != MLAF_OK)
    return mlaf_fail(&c->err, MLAF_E_PROBLEM, "'%s': %s", text, why);
  mlaf_status status = mlaf_cli_has(c, O_MODEL) ? from_model(c, &p) : MLAF_OK;
  if (status == MLAF_OK) status = mlaf_cli_fields(c, &p);
  if (status == MLAF_OK && mlaf_point_check(&p, why, sizeof why) != MLAF_OK)
    status = mlaf_fail(&c->err, MLAF_E_PROBLEM, "%s", why);
  if (status == MLAF_OK) *out = p;
  return status;
}

/* --- logs and progress --- */
static void on_log(void *user, mlaf_log_level level, const char *line) {
  static const char *const names[] = {"error: ", "warning: ", "", ""};
  cli *c = user;
  mlaf_cli_progress_end(c);
  fprintf(stderr, "mlaforge: %s%s\n", names[level], line);
}

/* Columns of the window that stderr is; 80 where it does not say. */
static int window_columns(void) {
  struct winsize w = {0};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : 80;
}

/* Progress lines and what clears them, of all threads of a command. */
static pthread_mutex_t showing = PTHREAD_MUTEX_INITIALIZER;

/* On a terminal cut to the window: what is wrapped cannot be cleared, and each line would leave one behind. */
static void show(cli *c, char line[1024]) {
  bool tty = isatty(STDERR_FILENO);
  double now = mlaf_now();
  if (now - c->progress_at < (tty ? 1 : 10)) return;
  c->progress_at = now;
  const size_t room = (size_t)window_columns() - 1;
  if (tty && strlen(line) > room && room > 3) memcpy(line + room - 3, "...", 4);
  if (tty) fprintf(stderr, "\r\033[K%.*s", (int)room, line);
  else fprintf(stderr, "%s\n", line);
  fflush(stderr);
  c->progress_shown = tty;
}

void mlaf_cli_progress(cli *c, const char *fmt, ...) {
  char line[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  pthread_mutex_lock(&showing);
  show(c->of ? c->of : c, line);
  pthread_mutex_unlock(&showing);
}

void mlaf_cli_progress_end(cli *c) {
  cli *shown = c->of ? c->of : c;
  pthread_mutex_lock(&showing);
  if (shown->progress_shown) fprintf(stderr, "\r\033[K");
  shown->progress_shown = false;
  pthread_mutex_unlock(&showing);
}

/* --- contexts --- */
uint64_t mlaf_cli_seed(const cli *c) {
  long long seed = mlaf_cli_int(c, O_SEED, 1);
  return seed > 0 ? (uint64_t)seed : 1;
}

const char *mlaf_cli_target(const cli *c) {
  if (c->given[O_TARGET]) return c->given[O_TARGET];
  return c->ctx ? mlaf_ctx_target(c->ctx) : "gfx942";
}

mlaf_plan_opts mlaf_cli_plan_opts(const cli *c) {
  mlaf_plan_opts opts = MLAF_PLAN_OPTS_INIT;
  opts.flags |= MLAF_PLAN_LIBRARY;
  if (mlaf_cli_has(c, O_NO_COMPILE)) opts.flags |= MLAF_PLAN_NO_COMPILE;
  if (mlaf_cli_has(c, O_INVARIANT)) opts.flags |= MLAF_PLAN_BATCH_INVARIANT;
  opts.lengths = c->given[O_LENGTHS];
  return opts;
}

/* The library serves emulated only when asked to by name. Here somebody looks on: a machine without a GPU may be tried out. */
static bool emulate(const cli *c, mlaf_status status, const char **device) {
  if (status != MLAF_E_NO_DEVICE || (*device && strcmp(*device, "auto") != 0)) return false;
  const mlaf_device_ops *const *b = mlaf_backends;
  while (*b && !((*b)->features & MLAF_DEVICE_MODELLED)) b++;
  if (!*b) return false;
  *device = (*b)->name;
  fprintf(stderr, "auto: no GPU, using %s\n", *device);
  return true;
}

mlaf_status mlaf_cli_open_device(cli *c, mlaf_device **out) {
  const char *device = c->given[O_DEVICE];
  mlaf_status status = mlaf_device_open(device, &c->log, out, &c->err);
  if (emulate(c, status, &device)) status = mlaf_device_open(device, &c->log, out, &c->err);
  if (status == MLAF_OK) mlaf_device_cancel_by(*out, c->cancel);
  return status;
}

mlaf_status mlaf_cli_open(cli *c, bool need_db) {
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  char why[MLAF_ERR_MAX] = "";
  o.device = c->given[O_DEVICE];
  o.db_path = c->given[O_DB];
  o.cache_dir = c->given[O_CACHE];
  o.flags = need_db ? MLAF_CTX_NO_DB : 0; /* opened below, where a failure is an error */
  o.gen_root = c->given[O_GEN_ROOT];
  o.bundle = c->given[O_BUNDLE];
  o.jobs = (int32_t)mlaf_cli_int(c, O_JOBS, 0);
  o.log = c->log.fn;
  o.log_user = c->log.user;
  o.log_level = c->log.level;
  mlaf_status status = mlaf_ctx_create(&o, &c->ctx, why, sizeof why);
  if (emulate(c, status, &o.device)) status = mlaf_ctx_create(&o, &c->ctx, why, sizeof why);
  if (status != MLAF_OK) return mlaf_fail(&c->err, status, "%s", why);
  mlaf_device_cancel_by(mlaf_ctx_device(c->ctx), c->cancel);
  pthread_mutex_lock(&c->ctx->lock);
  return need_db ? mlaf_cli_open_db(c, false, &c->ctx->db) : MLAF_OK;
}

mlaf_status mlaf_cli_open_db(cli *c, bool read_only, mlaf_db **out) {
  return mlaf_db_open(c->given[O_DB], read_only, &c->log, out, &c->err);
}

mlaf_status mlaf_cli_open_target(cli *c, mlaf_db **out) {
  return mlaf_cli_has(c, O_DRY_RUN) ? mlaf_db_open_copy(c->given[O_DB], &c->log, out, &c->err) : mlaf_cli_open_db(c, false, out);
}

void mlaf_cli_close(cli *c) {
  if (!c->ctx) return;
  pthread_mutex_unlock(&c->ctx->lock);
  mlaf_ctx_destroy(c->ctx);
  c->ctx = NULL;
}

/* Results that could not be made or written are no results, whatever the command found. */
static int check_stdout(cli *c, int code) {
  if (mlaf_cli_output_lacking()) {
    fprintf(stderr, "mlaforge: out of memory: the results are not complete\n");
    code = code == CLI_OK || code == CLI_FINDINGS ? CLI_ENVIRONMENT : code;
  }
  if (fflush(stdout) == 0 && !ferror(stdout)) return code;
  fprintf(stderr, "mlaforge: the results could not be written to stdout: free some space or keep its reader alive\n");
  return code == CLI_OK || code == CLI_FINDINGS ? CLI_ENVIRONMENT : code;
}

static int run_command(int argc, char **argv, const atomic_bool *cancel) {
  cli c = {.cancel = cancel, .progress_at = mlaf_now()};
  mlaf_cli_output_begin();
  int code = mlaf_cli_parse(&c, argc, argv);
  if (code == -1) return check_stdout(&c, CLI_OK);
  if (code != CLI_OK) return check_stdout(&c, code);
  c.log = (mlaf_log){on_log, &c, c.verbose > 1 ? MLAF_LOG_DEBUG : c.verbose ? MLAF_LOG_INFO : MLAF_LOG_WARN};
  mlaf_cli_stop_current(&c);
  code = c.command->run(&c);
  mlaf_cli_progress_end(&c);
  mlaf_cli_close(&c);
  mlaf_cli_stop_current(NULL);
  return check_stdout(&c, code);
}

int mlaf_cli_main(int argc, char **argv, const atomic_bool *cancel) {
  const mlaf_locale before = mlaf_locale_enter(); /* what it prints and parses, cJSON's numbers too, is the same everywhere */
  const int code = run_command(argc, argv, cancel);
  mlaf_locale_leave(before);
  return code;
}
