/* `mlaforge generate --targets`: a bundle of code objects for a grid of problems. */
#include <sys/stat.h>

#include "bundle/make.h"
#include "cli/cli.h"
#include "op/nearest.h"

enum { TARGETS_MAX = 32 };

typedef struct job {
  cli *c;
  mlaf_bundle_request requests[TARGETS_MAX];
  char names[TARGETS_MAX][64];
  mlaf_point *lists[TARGETS_MAX]; /* what requests point at */
  size_t n;
} job;

/* --- targets --- */

static mlaf_status read_targets(job *j) {
  for (const char *at = j->c->given[O_TARGETS]; *at;) {
    size_t length = strcspn(at, ",");
    bool known = length == 0;
    for (size_t i = 0; i < j->n; i++) known = known || (strlen(j->names[i]) == length && !strncmp(j->names[i], at, length));
    if (!known && (j->n == TARGETS_MAX || length >= sizeof j->names[0]))
      return mlaf_fail(&j->c->err, MLAF_E_ARG, "--targets '%s': at most %d names of at most %zu letters", j->c->given[O_TARGETS],
                       TARGETS_MAX, sizeof j->names[0] - 1);
    if (!known) memcpy(j->names[j->n++], at, length);
    at += length + (at[length] == ',');
  }
  return j->n ? MLAF_OK : mlaf_fail(&j->c->err, MLAF_E_ARG, "--targets '%s' names no target", j->c->given[O_TARGETS]);
}

/* --- problems --- */

static mlaf_status add(job *j, size_t target, const mlaf_point *list, size_t n) {
  mlaf_bundle_request *r = &j->requests[target];
  mlaf_point *grown = realloc(j->lists[target], (r->n + n + 1) * sizeof *grown);
  if (!grown) return mlaf_fail(&j->c->err, MLAF_E_NOMEM, "no memory for %zu problems", r->n + n);
  j->lists[target] = grown;
  const size_t before = r->n;
  for (size_t i = 0; i < n; i++) {
    bool known = false;
    for (size_t k = 0; k < before && !known; k++) known = mlaf_point_order(&grown[k], &list[i]) == 0;
    if (!known) grown[r->n++] = list[i];
  }
  r->problems = grown;
  return MLAF_OK;
}

static size_t target_index(job *j, const char *name) {
  size_t i = 0;
  while (i < j->n && strcmp(j->names[i], name)) i++;
  if (i == j->n && j->n < TARGETS_MAX) snprintf(j->names[j->n++], sizeof j->names[0], "%s", name);
  return i;
}

/* --extend: the problems of the bundle that is there go in first. */
static mlaf_status keep_present(job *j) {
  mlaf_bundle *b = NULL;
  struct stat st;
  char *path = mlaf_format("%s/" MLAF_BUNDLE_MANIFEST, j->c->given[O_OUT]);
  bool absent = path && stat(path, &st) != 0;
  free(path);
  if (!mlaf_cli_has(j->c, O_EXTEND) || absent) return MLAF_OK;
  mlaf_status status = mlaf_bundle_open(j->c->given[O_OUT], &b, &j->c->err);
  if (status != MLAF_OK) return status;
  for (size_t i = 0; status == MLAF_OK && i < b->n_plans; i++) {
    if (!b->plans[i].baseline) continue; /* every problem has one */
    size_t t = target_index(j, b->plans[i].target);
    if (t < TARGETS_MAX) status = add(j, t, &b->plans[i].problem, 1);
  }
  mlaf_bundle_close(b);
  return status;
}

static mlaf_status read_grid(job *j) {
  cli *c = j->c;
  cli_problems grid = {NULL, 0};
  if (c->given[O_MODELS] && c->given[O_MODEL])
    return mlaf_fail(&c->err, MLAF_E_ARG, "--model and --models mean the same here: give one of them");
  if (c->given[O_MODELS]) c->given[O_MODEL] = c->given[O_MODELS];
  mlaf_status status = mlaf_cli_problems(c, &grid);
  const size_t asked = j->n;
  if (status == MLAF_OK) status = keep_present(j);
  for (size_t i = 0; status == MLAF_OK && i < asked; i++) status = add(j, i, grid.list, grid.n);
  for (size_t i = 0; i < j->n; i++) j->requests[i].target = j->names[i];
  mlaf_cli_problems_free(&grid);
  return status;
}

/* --- the command --- */

static bool on_progress(void *user, const char *activity, const char *target, size_t done, size_t total) {
  cli *c = user;
  mlaf_cli_progress(c, "%s for %s: %zu of %zu %s", activity, target, done, total,
                    activity[1] == 'o' ? "kernels" : "problems");
  return !c->cancel || !atomic_load(c->cancel);
}

static void report(const cli *c, const mlaf_bundle_made *m, double seconds) {
  if (c->json) {
    mlaf_cli_print("bundle", TEXT("directory", c->given[O_OUT]), TEXT("sha256", m->hash), NUMBER("problems", m->plans),
                   NUMBER("tuned", m->tuned), NUMBER("kernels", m->kernels), NUMBER("unverified", m->unverified),
                   NUMBER("dropped", m->dropped), NUMBER("code_bytes", m->code_bytes), NUMBER("compiled", m->compiled),
                   NUMBER("seconds", seconds));
    return;
  }
  printf("bundle    %s\nsha256    %s\nproblems  %zu, %zu with a tuned choice\n", c->given[O_OUT], m->hash, m->plans, m->tuned);
  printf("kernels   %zu, %zu of them verified when they were tuned (on a device, or on its emulator)\n", m->kernels,
         m->kernels - m->unverified);
  printf("size      %.2f MB of code objects", (double)m->code_bytes / 1e6);
  if (m->dropped) printf("; %zu kernels dropped to keep the budget (see the manifest)", m->dropped);
  printf("\ntime      %.1f s, %zu kernels compiled, the others were in the cache\n", seconds, m->compiled);
}

/* --- --device-id --- */

typedef struct known_ids {
  const job *j;
  const char *wanted;
  mlaf_text list; /* of the targets that are asked for */
  bool found;
} known_ids;

static bool note_id(void *user, const char *device, const mlaf_choice *choice) {
  known_ids *k = user;
  char target[64];
  bool asked = false;
  k->found |= strcmp(device, k->wanted) == 0;
  mlaf_target_of_device(device, target, sizeof target);
  for (size_t i = 0; i < k->j->n; i++) asked |= strcmp(k->j->requests[i].target, target) == 0;
  char *line = asked ? mlaf_format("\n  %s", device) : NULL;
  if (line && (!k->list.data || !strstr(k->list.data, line))) mlaf_text_str(&k->list, line);
  free(line);
  return !k->found;
}

/* Without a choice of it the whole bundle would be the model's, which is not what was asked for. */
static mlaf_status check_device_id(const job *j, mlaf_db *db) {
  known_ids k = {.j = j, .wanted = j->c->given[O_DEVICE_ID], .list = MLAF_TEXT_INIT(64 * 1024)};
  if (!k.wanted) return MLAF_OK;
  mlaf_db *shipped = mlaf_db_layer(db, MLAF_LAYER_SHIPPED);
  mlaf_status status = mlaf_db_each_choice(db, note_id, &k, &j->c->err);
  if (status == MLAF_OK && !k.found && shipped) status = mlaf_db_each_choice(shipped, note_id, &k, &j->c->err);
  if (status == MLAF_OK && !k.found)
    status = mlaf_fail(&j->c->err, MLAF_E_ARG, "--device-id '%s': nothing was tuned for it. Known for these --targets:%s",
                       k.wanted, k.list.len ? k.list.data : " none");
  mlaf_text_free(&k.list);
  return status;
}

static mlaf_status make(job *j, mlaf_bundle_made *made) {
  cli *c = j->c;
  mlaf_bundle_make_opts opts = {.requests = j->requests,
                                .n_requests = j->n,
                                .gen_root = c->given[O_GEN_ROOT],
                                .device_id = c->given[O_DEVICE_ID],
                                .jobs = (int)mlaf_cli_int(c, O_JOBS, 2),
                                .log = &c->log,
                                .progress = on_progress,
                                .user = c};
  const mlaf_compiler_opts compiler = {.cache_dir = c->given[O_CACHE], .jobs = (int)mlaf_cli_int(c, O_JOBS, 0)};
  mlaf_status status = mlaf_cli_size(c, O_SIZE_BUDGET, &opts.size_budget);
  if (status == MLAF_OK) status = mlaf_compiler_open(&compiler, &c->log, &opts.compiler, &c->err);
  if (status == MLAF_OK)
    status = c->given[O_DB] ? mlaf_db_open_layered(c->given[O_DB], true, &c->log, &opts.db, &c->err)
                            : mlaf_db_open_outer("none was named", &c->log, &opts.db, &c->err);
  if (status == MLAF_OK) status = check_device_id(j, opts.db);
  if (status == MLAF_OK) status = mlaf_bundle_make(&opts, c->given[O_OUT], made, &c->err);
  mlaf_db_close(opts.db);
  mlaf_compiler_close(opts.compiler);
  return status;
}

int mlaf_cli_bundle(cli *c) {
  if (c->given[O_VARIANT] || c->given[O_TARGET])
    return mlaf_cli_usage(c, "--%s is for sources; a bundle takes --targets and chooses its variants",
                          c->given[O_VARIANT] ? "variant" : "target");
  if (!c->given[O_OUT]) return mlaf_cli_usage(c, "a bundle needs --out DIR");
  job *j = calloc(1, sizeof *j);
  mlaf_bundle_made made;
  const double start = mlaf_now();
  mlaf_status status = j ? MLAF_OK : mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory for a bundle");
  if (status == MLAF_OK) {
    j->c = c;
    status = read_targets(j);
  }
  if (status == MLAF_OK) status = read_grid(j);
  if (status == MLAF_OK) status = make(j, &made);
  mlaf_cli_progress_end(c);
  if (status == MLAF_OK) report(c, &made, mlaf_now() - start);
  for (size_t i = 0; j && i < j->n; i++) free(j->lists[i]);
  free(j);
  return status == MLAF_OK ? CLI_OK : mlaf_cli_fail(c);
}
