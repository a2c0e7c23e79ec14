/* The space of a problem as candidates and kernels, and what an earlier run has finished of it. */
#include "run/build.h"
#include "tune/tune_internal.h"

static int kernel_index(tuner *t, const mlaf_kernel_desc *k) {
  for (size_t i = 0; i < t->n_kernels; i++)
    if (strcmp(t->kernels[i].desc->symbol, k->symbol) == 0 && strcmp(t->kernels[i].desc->params, k->params) == 0)
      return (int)i;
  t->kernels[t->n_kernels].desc = k;
  return (int)t->n_kernels++;
}

static int group_of(const tuner *t, size_t upto, int kernel) {
  for (size_t i = 0; i < upto; i++)
    if (t->list[i].kernels[0] == kernel) return t->list[i].group;
  return t->n_groups;
}

/* Names, hashes and geometry as the database keeps them, by the same code the planner uses. */
static mlaf_status start_sample(const tuner *t, tune_candidate *c, mlaf_err *err) {
  mlaf_build build = {.n = 0};
  mlaf_status status = mlaf_build_init(c->variant, &build, err);
  if (status != MLAF_OK) return status;
  mlaf_sample *s = &c->item.sample;
  memcpy(s->variant, build.name, sizeof s->variant);
  s->knob = build.knob;
  memcpy(s->kernels, build.refs, sizeof s->kernels);
  mlaf_lengths_print(&t->opts.lengths, s->lengths);
  c->item.model_ns = c->variant->model_ns;
  mlaf_build_clear(&build);
  return MLAF_OK;
}

/* A variant as a candidate, unless it is rejected. */
static mlaf_status add(tuner *t, mlaf_variant *v, mlaf_err *err) {
  if (v->rejected) {
    t->out->rejected++;
    return MLAF_OK;
  }
  tune_candidate *c = &t->list[t->n];
  c->variant = v;
  c->estimate_ns = mlaf_tuner_corrected(t, v);
  for (int k = 0; k < MLAF_STAGES_MAX; k++)
    c->kernels[k] = v->kernels[k].template_name ? kernel_index(t, &v->kernels[k]) : -1;
  c->group = group_of(t, t->n, c->kernels[0]);
  if (c->group == t->n_groups) t->n_groups++;
  t->n++;
  return start_sample(t, c, err);
}

typedef struct ranked {
  mlaf_variant *variant;
  double ns;
} ranked;

/* Ties keep the generator's order: a space is one array. */
static int by_estimate(const void *left, const void *right) {
  const ranked *a = left, *b = right;
  return a->ns != b->ns ? (a->ns > b->ns) - (a->ns < b->ns) : (a->variant > b->variant) - (a->variant < b->variant);
}

static mlaf_status add_space(tuner *t, mlaf_err *err) {
  ranked *order = calloc(t->n_space + 1, sizeof *order);
  mlaf_status status = order ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for a space of %zu variants", t->n_space);
  for (size_t i = 0; !status && i < t->n_space; i++) order[i] = (ranked){&t->space[i], mlaf_tuner_corrected(t, &t->space[i])};
  if (!status && t->env->learned) qsort(order, t->n_space, sizeof *order, by_estimate);
  for (size_t i = 0; !status && i < t->n_space; i++) status = add(t, order[i].variant, err);
  free(order);
  return status;
}

/* Reads what a library offers, where there is one for this device. Without one the reason is kept, and the tune goes on. */
static mlaf_status read_libraries(tuner *t, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(t->env->device);
  char *const why = t->out->no_library;
  const size_t size = sizeof t->out->no_library;
  mlaf_err absent = {MLAF_OK, ""};
  if (!t->steps->libraries || !t->problem->op->calls->libraries) return MLAF_OK;
  if (t->opts.no_libraries) snprintf(why, size, "not asked for");
  else if (!(ops->features & MLAF_DEVICE_LIBRARIES)) snprintf(why, size, "%.60s runs no libraries", ops->name);
  else if (ops->library_open(t->env->device, &absent)) snprintf(why, size, "%.500s", absent.text);
  if (*why) return MLAF_OK;
  mlaf_status status = t->steps->libraries(t->env->gen, mlaf_point_text(t->problem).s, t->info->target, &t->libraries,
                                           &t->n_libraries, err);
  if (status == MLAF_OK && t->n_libraries && t->libraries[0].rejected) snprintf(why, size, "%.500s", t->libraries[0].rejected);
  return status;
}

mlaf_status mlaf_tuner_space_read(tuner *t, mlaf_err *err) {
  mlaf_status status = t->steps->space(t->env->gen, mlaf_point_text(t->problem).s, t->info->target, &t->space, &t->n_space, err);
  if (status == MLAF_OK) status = read_libraries(t, err);
  if (status != MLAF_OK) return status;
  const size_t n = t->n_space + t->n_libraries;
  t->list = calloc(n + 1, sizeof *t->list);
  t->counted = calloc(n + 1, sizeof *t->counted);
  t->kernels = calloc(MLAF_STAGES_MAX * n + 1, sizeof *t->kernels);
  if (!t->list || !t->counted || !t->kernels)
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a space of %zu variants", n);
  status = add_space(t, err);
  t->n_own = t->n;
  for (size_t i = 0; status == MLAF_OK && i < t->n_libraries; i++) status = add(t, &t->libraries[i], err);
  t->out->libraries = t->n - t->n_own;
  t->out->space = t->n;
  if (*t->out->no_library) mlaf_log_line(t->env->log, MLAF_LOG_INFO, "no library variants: %s", t->out->no_library);
  if (status == MLAF_OK && t->n == 0)
    status = mlaf_fail(err, MLAF_E_NOT_TUNED,
                       "no variant of the space fits this problem on %s: `--dry-run` lists the reasons",
                       t->info->target);
  return status;
}

void mlaf_tuner_space_free(tuner *t) {
  mlaf_variants_free(t->space, t->n_space);
  mlaf_variants_free(t->libraries, t->n_libraries);
  free(t->list);
  free(t->counted);
}

/* --- resuming --- */
static bool same_templates(const mlaf_kernel_ref *was, const mlaf_kernel_ref *is) {
  bool same = true;
  for (int i = 0; i < MLAF_STAGES_MAX; i++)
    same = same && !strcmp(was[i].template_name, is[i].template_name) && !strcmp(was[i].template_hash, is[i].template_hash);
  return same;
}

/* The key covers source, options and compiler. A failure from before there was one is judged by its template alone. */
static bool same_code(const mlaf_kernel_ref *was, const mlaf_kernel_ref *is) {
  bool same = true;
  for (int i = 0; i < MLAF_STAGES_MAX; i++)
    same = same && (!was[i].code_key[0] || !is[i].code_key[0] || !strcmp(was[i].code_key, is[i].code_key));
  return same;
}

/* Modelled by a version whose timing model stopped by the wall clock, with a part of its workgroups: a busy host's time. */
static bool cut_by_clock(const mlaf_sample *s) {
  return s->source == MLAF_SRC_MODELLED && strstr(s->timing.detail, ", time limit");
}

/* A failure that no longer says anything of the variant is no result: it is tried anew. */
static bool still_counts(const tuner *t, const mlaf_sample *s) {
  if (cut_by_clock(s)) return false;
  return s->outcome == MLAF_OUT_OK || s->outcome == MLAF_OUT_NOISY || mlaf_sample_is_bad(s, t->toolchain);
}

static mlaf_status resume_one(tuner *t, tune_candidate *c, const mlaf_sample *s, mlaf_err *err) {
  mlaf_sample *mine = &c->item.sample;
  const bool asked = strcmp(s->variant, mine->variant) == 0 && strcmp(s->lengths, mine->lengths) == 0 && still_counts(t, s);
  if (c->state != TUNE_PENDING || !asked || !same_templates(s->kernels, mine->kernels)) return MLAF_OK;
  mlaf_status status = mlaf_tuner_candidate_prepare(t, c, err);
  if (status != MLAF_OK || !same_code(s->kernels, mine->kernels)) return status;
  *mine = *s;
  c->item.resumed = true;
  c->state = TUNE_DONE;
  return MLAF_OK;
}

mlaf_status mlaf_tuner_resume(tuner *t, mlaf_err *err) {
  mlaf_sample *samples = NULL;
  size_t n = 0;
  if (!t->env->db || t->opts.no_resume) return MLAF_OK;
  mlaf_status status = mlaf_db_samples(t->env->db, t->info, t->problem, &samples, &n, err);
  for (size_t i = 0; i < t->n && status == MLAF_OK; i++)
    for (size_t k = 0; k < n && status == MLAF_OK; k++) status = resume_one(t, &t->list[i], &samples[k], err);
  free(samples);
  return status;
}
