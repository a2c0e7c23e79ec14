/* Chooses the kernels that fit the budget, and writes the files of a bundle. */
#include <dirent.h>
#include <unistd.h>

#include "bundle/make_internal.h"
#include "op/nearest.h"

#define MANIFEST_MAX ((size_t)256 << 20)
#define CODE_MAX ((size_t)256 << 20)

/* --- the budget --- */

static void use(make_target *t, int kernel) {
  if (kernel != NO_KERNEL) t->kernels[kernel].used = true;
}

static void mark_used(make_target *t) {
  for (size_t i = 0; i < t->n_kernels; i++) t->kernels[i].used = t->kernels[i].always != NULL;
  for (size_t i = 0; i < t->request->n; i++) {
    const make_choice *choices[] = {make_in_force(&t->entries[i]), &t->entries[i].baseline};
    for (int k = 0; k < 2; k++)
      for (int s = 0; s < MLAF_STAGES_MAX; s++) use(t, choices[k]->kernels[s]);
  }
}

/* Bytes of distinct code objects; those only baselines need, when `baselines`. */
static size_t total_bytes(const maker *m, bool baselines) {
  size_t sum = 0;
  for (size_t i = 0; i < m->opts->n_requests; i++)
    for (size_t k = 0; k < m->targets[i].n_kernels; k++) {
      const make_kernel *x = &m->targets[i].kernels[k];
      if (x->used && (x->baseline || !baselines)) sum += x->size;
    }
  return sum;
}

static bool needs(const make_choice *c, int kernel) {
  bool found = false;
  for (int i = 0; i < MLAF_STAGES_MAX; i++) found = found || c->kernels[i] == kernel;
  return found;
}

/* The loss of a bundle without this kernel: the baseline's time over the plan's, less 1, summed over the plans that need it. */
static double gain_of(const make_target *t, int kernel, size_t *plans) {
  double gain = 0;
  *plans = 0;
  for (size_t i = 0; i < t->request->n; i++) {
    const make_entry *e = &t->entries[i];
    const make_choice *c = make_in_force(e);
    if (e->at == e->n || !needs(c, kernel)) continue;
    ++*plans;
    if (c->ns > 0 && e->baseline.ns > c->ns) gain += e->baseline.ns / c->ns - 1;
  }
  return gain;
}

/* The kernel that is worth least for its size. */
static bool least(const maker *m, make_target **target, int *kernel, double *gain, size_t *plans) {
  double best = 0;
  bool found = false;
  for (size_t i = 0; i < m->opts->n_requests; i++)
    for (size_t k = 0; k < m->targets[i].n_kernels; k++) {
      const make_kernel *x = &m->targets[i].kernels[k];
      size_t n;
      if (!x->used || x->baseline) continue;
      double g = gain_of(&m->targets[i], (int)k, &n), rate = g / (double)(x->size ? x->size : 1);
      if (found && rate >= best) continue;
      found = true;
      best = rate;
      *target = &m->targets[i];
      *kernel = (int)k;
      *gain = g;
      *plans = n;
    }
  return found;
}

static mlaf_status drop(make_target *t, int kernel, double gain, size_t plans, mlaf_err *err) {
  if (!mlaf_room(&t->drops, t->n_drops, sizeof *t->drops)) return mlaf_fail(err, MLAF_E_NOMEM, "no memory to fit the budget");
  t->drops[t->n_drops++] = (struct make_drop){kernel, plans, gain};
  for (size_t i = 0; i < t->request->n; i++) {
    make_entry *e = &t->entries[i];
    const make_choice *c = make_in_force(e);
    if (e->at < e->n && needs(c, kernel)) e->at = e->n;
  }
  mark_used(t);
  return MLAF_OK;
}

mlaf_status make_fit(maker *m, mlaf_err *err) {
  const size_t budget = m->opts->size_budget;
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; i < m->opts->n_requests; i++) mark_used(&m->targets[i]);
  if (!budget) return MLAF_OK;
  if (total_bytes(m, true) > budget)
    return mlaf_fail(err, MLAF_E_ARG,
                     "the baseline kernels alone, without which the bundle would not serve every problem, take %zu "
                     "bytes: raise --size-budget or declare fewer shapes", total_bytes(m, true));
  make_target *t = NULL;
  int kernel = 0;
  double gain = 0;
  size_t plans = 0;
  while (!st && total_bytes(m, false) > budget && least(m, &t, &kernel, &gain, &plans)) st = drop(t, kernel, gain, plans, err);
  return st;
}

/* --- the manifest --- */

static int by_symbol(const void *a, const void *b) {
  return strcmp((*(const make_kernel *const *)a)->ref.symbol, (*(const make_kernel *const *)b)->ref.symbol);
}
static int by_sha256(const void *a, const void *b) {
  return strcmp((*(const make_kernel *const *)a)->sha256, (*(const make_kernel *const *)b)->sha256);
}
static int by_target(const void *a, const void *b) {
  return strcmp((*(const make_target *const *)a)->request->target, (*(const make_target *const *)b)->request->target);
}
static int by_problem(const void *a, const void *b) {
  return mlaf_point_order(&(*(const make_entry *const *)a)->problem, &(*(const make_entry *const *)b)->problem);
}

static const char *tested(const make_kernel *k) { return k->verified ? "verified" : "unverified"; }

static mlaf_status kernel_lines(const make_target *t, mlaf_text *out, mlaf_bundle_made *made, mlaf_err *err) {
  const make_kernel **order = calloc(t->n_kernels + 1, sizeof *order);
  size_t n = 0;
  if (!order) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for the manifest");
  for (size_t i = 0; i < t->n_kernels; i++)
    if (t->kernels[i].used) order[n++] = &t->kernels[i];
  qsort(order, n, sizeof *order, by_symbol);
  for (size_t i = 0; i < n; i++) {
    const make_kernel *k = order[i];
    mlaf_text_fmt(out, "kernel\t%s\t%s\t%s\t%zu\t%u\t%u\t%u\t%u\t%u\t%s\t%s\t%s\t%s\t%s\t%s\n", t->request->target,
                  k->ref.symbol, k->sha256, k->size, k->ref.threads, k->ref.rows_per_wg, k->step, k->slots, k->launch.flags,
                  k->ref.template_name, k->ref.params, k->ref.template_hash[0] ? k->ref.template_hash : "-", k->ref.src_hash,
                  k->ref.code_key, tested(k));
    made->unverified += !k->verified;
  }
  made->kernels += n;
  free(order);
  return MLAF_OK;
}

static void plan_line(const make_target *t, const make_entry *e, const make_choice *c, const char *role, mlaf_text *out) {
  char problem[MLAF_POINT_TEXT_MAX];
  mlaf_point_print(&e->problem, problem, sizeof problem);
  int last = MLAF_STAGES_MAX - 1;
  while (last > 0 && c->kernels[last] == NO_KERNEL) last--;
  mlaf_text_fmt(out, "plan\t%s\t%s\t%s\t%s\t%s\t%s\t%u\t%.1f\t%.3e", t->request->target, problem, role,
                mlaf_rung_name(c->rung), c->source == MLAF_SRC_COUNT ? "none" : mlaf_source_name(c->source), c->variant, c->knob,
                c->ns, c->error);
  for (int i = 0; i <= last; i++)
    mlaf_text_fmt(out, "\t%s", c->kernels[i] == NO_KERNEL ? "-" : t->kernels[c->kernels[i]].ref.symbol);
  mlaf_text_str(out, "\n");
}

static mlaf_status plan_lines(const make_target *t, mlaf_text *out, mlaf_bundle_made *made, mlaf_err *err) {
  const size_t n = t->request->n;
  const make_entry **order = calloc(n + 1, sizeof *order);
  if (!order) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for the manifest");
  for (size_t i = 0; i < n; i++) order[i] = &t->entries[i];
  qsort(order, n, sizeof *order, by_problem);
  for (size_t i = 0; i < n; i++) {
    const make_entry *e = order[i];
    if (e->at < e->n) plan_line(t, e, make_in_force(e), "choice", out);
    plan_line(t, e, &e->baseline, "baseline", out);
    made->tuned += e->at < e->n && e->tries[e->at].rung <= MLAF_RUNG_DEFAULT;
  }
  made->plans += n;
  free(order);
  return MLAF_OK;
}

static void dropped_lines(const make_target *t, mlaf_text *out, mlaf_bundle_made *made) {
  for (size_t i = 0; i < t->n_drops; i++) {
    const make_kernel *k = &t->kernels[t->drops[i].kernel];
    mlaf_text_fmt(out,
                  "dropped\t%s\t%s\t%zu\t%s\t%zu plans fall back to the baseline: least gain for its size, %.3f for %zu bytes\n",
                  t->request->target, k->ref.symbol, k->size, k->ref.params, t->drops[i].plans, t->drops[i].gain, k->size);
  }
  made->dropped += t->n_drops;
}

/* Targets by name, so that the order of --targets does not matter. */
static mlaf_status manifest(const maker *m, mlaf_text *out, mlaf_bundle_made *made, mlaf_err *err) {
  const size_t n = m->opts->n_requests;
  const make_target **order = calloc(n + 1, sizeof *order);
  mlaf_status st = order ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for the manifest");
  for (size_t i = 0; !st && i < n; i++) order[i] = &m->targets[i];
  if (!st) qsort(order, n, sizeof *order, by_target);
  mlaf_text_str(out, MLAF_BUNDLE_HEADER);
  mlaf_text_fmt(out, "generator\t%s\n", m->stamp);
  for (size_t i = 0; !st && i < n; i++) mlaf_text_fmt(out, "target\t%s\t%s\n", order[i]->request->target, order[i]->compiler);
  mlaf_text_str(out, "# kernel: target symbol sha256 bytes threads rows_per_wg step slots flags template params template_hash "
                     "src_hash key tested\n");
  for (size_t i = 0; !st && i < n; i++) st = kernel_lines(order[i], out, made, err);
  mlaf_text_str(out, "# plan: target problem role rung source variant knob ns error, the kernel of each stage (-: none)\n");
  for (size_t i = 0; !st && i < n; i++) st = plan_lines(order[i], out, made, err);
  for (size_t i = 0; !st && i < n; i++) dropped_lines(order[i], out, made);
  free(order);
  if (!st && !out->failed) {
    mlaf_sha256_hex(out->data, out->len, made->hash);
    mlaf_text_fmt(out, "# sha256 %s\n", made->hash);
  }
  if (!st && (out->failed || !made->hash[0])) st = mlaf_fail(err, MLAF_E_NOMEM, "no memory for the manifest");
  return st;
}

/* --- the files --- */

/* Is what an earlier run left under this name what belongs there? */
static bool is_there(const char *path, const make_kernel *k) {
  void *data = NULL;
  size_t size;
  char hash[MLAF_HASH_HEX] = "";
  if (mlaf_file_read(path, CODE_MAX, &data, &size, NULL)) return false;
  mlaf_sha256_hex(data, size, hash);
  free(data);
  return size == k->size && !strcmp(hash, k->sha256);
}

static mlaf_status write_code(const char *folder, const make_kernel *k, mlaf_err *err) {
  char *path = mlaf_format("%s/%s.co", folder, k->sha256);
  if (!path) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a path");
  mlaf_status st = is_there(path, k) ? MLAF_OK : mlaf_file_publish(path, k->code, k->size, err);
  free(path);
  return st;
}

static bool known(const make_kernel *const *sorted, size_t n, const char *name) {
  make_kernel key = {.state = MAKE_OK};
  const make_kernel *p = &key;
  if (strlen(name) != MLAF_HASH_HEX + 2 || strcmp(name + MLAF_HASH_HEX - 1, ".co")) return false;
  memcpy(key.sha256, name, MLAF_HASH_HEX - 1);
  return bsearch(&p, sorted, n, sizeof *sorted, by_sha256) != NULL;
}

/* Only names that a maker gives: <sha256>.co and its temporary files. */
static bool is_ours(const char *name) {
  return strlen(name) >= MLAF_HASH_HEX + 2 && strspn(name, "0123456789abcdef") == MLAF_HASH_HEX - 1 &&
         !strncmp(name + MLAF_HASH_HEX - 1, ".co", 3);
}

static void prune(const char *folder, const make_kernel *const *sorted, size_t n) {
  DIR *d = opendir(folder);
  for (struct dirent *e; d && (e = readdir(d));)
    if (is_ours(e->d_name) && !known(sorted, n, e->d_name)) unlinkat(dirfd(d), e->d_name, 0);
  if (d) closedir(d);
}

/* Removes what a killed maker left beside the manifest. */
static void prune_manifests(const char *dir) {
  static const char temp[] = MLAF_BUNDLE_MANIFEST ".tmp.";
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d));)
    if (!strncmp(e->d_name, temp, sizeof temp - 1)) unlinkat(dirfd(d), e->d_name, 0);
  if (d) closedir(d);
}

static mlaf_status write_all(const maker *m, const char *dir, const char *folder, const mlaf_text *text, mlaf_bundle_made *made,
                             mlaf_err *err) {
  size_t n = 0, most = 0;
  for (size_t i = 0; i < m->opts->n_requests; i++) most += m->targets[i].n_kernels;
  const make_kernel **sorted = calloc(most + 1, sizeof *sorted);
  char *path = mlaf_format("%s/" MLAF_BUNDLE_MANIFEST, dir);
  mlaf_status st = sorted && path ? mlaf_dir_make_open(folder, err) : mlaf_fail(err, MLAF_E_NOMEM, "no memory to write a bundle");
  for (size_t i = 0; !st && i < m->opts->n_requests; i++)
    for (size_t k = 0; !st && k < m->targets[i].n_kernels; k++) {
      const make_kernel *x = &m->targets[i].kernels[k];
      if (!x->used) continue;
      st = write_code(folder, x, err);
      sorted[n++] = x;
    }
  if (!st) st = mlaf_file_write(path, text->data, text->len, err);
  if (!st) {
    qsort(sorted, n, sizeof *sorted, by_sha256);
    for (size_t i = 0; i < n; i++)
      if (!i || strcmp(sorted[i]->sha256, sorted[i - 1]->sha256)) made->code_bytes += sorted[i]->size;
    prune(folder, sorted, n);
    prune_manifests(dir);
  }
  free(path);
  free(sorted);
  return st;
}

mlaf_status make_write(maker *m, const char *dir, mlaf_bundle_made *made, mlaf_err *err) {
  mlaf_text text = MLAF_TEXT_INIT(MANIFEST_MAX);
  char *folder = mlaf_format("%s/code", dir);
  mlaf_status st = folder ? manifest(m, &text, made, err) : mlaf_fail(err, MLAF_E_NOMEM, "no memory to write a bundle");
  if (!st) st = write_all(m, dir, folder, &text, made, err);
  free(folder);
  mlaf_text_free(&text);
  return st;
}
