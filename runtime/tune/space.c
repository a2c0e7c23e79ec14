/* The space of a problem as candidates and kernels, and what an earlier run has finished of it. */
#include <stdlib.h>
#include <string.h>

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

mlaf_status mlaf_tuner_space_read(tuner *t, mlaf_err *err) {
  mlaf_status status = t->steps->space(t->env->gen, mlaf_point_text(t->problem).s, t->info->target, &t->space, &t->n_space, err);
  if (status != MLAF_OK) return status;
  t->list = calloc(t->n_space + 1, sizeof *t->list);
  t->counted = calloc(t->n_space + 1, sizeof *t->counted);
  t->kernels = calloc(MLAF_STAGES_MAX * t->n_space + 1, sizeof *t->kernels);
  if (!t->list || !t->counted || !t->kernels)
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a space of %zu variants", t->n_space);
  for (size_t i = 0; status == MLAF_OK && i < t->n_space; i++) {
    mlaf_variant *v = &t->space[i];
    if (v->rejected) {
      t->out->rejected++;
      continue;
    }
    tune_candidate *c = &t->list[t->n];
    c->variant = v;
    for (int k = 0; k < MLAF_STAGES_MAX; k++)
      c->kernels[k] = v->kernels[k].template_name ? kernel_index(t, &v->kernels[k]) : -1;
    c->group = group_of(t, t->n, c->kernels[0]);
    if (c->group == t->n_groups) t->n_groups++;
    t->n++;
    status = start_sample(t, c, err);
  }
  t->out->space = t->n;
  if (status == MLAF_OK && t->n == 0)
    status = mlaf_fail(err, MLAF_E_NOT_TUNED,
                       "no variant of the space fits this problem on %s: `--dry-run` lists the reasons",
                       t->info->target);
  return status;
}

void mlaf_tuner_space_free(tuner *t) {
  mlaf_variants_free(t->space, t->n_space);
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

static mlaf_status resume_one(tuner *t, tune_candidate *c, const mlaf_sample *s, mlaf_err *err) {
  mlaf_sample *mine = &c->item.sample;
  const bool asked = strcmp(s->variant, mine->variant) == 0 && strcmp(s->lengths, mine->lengths) == 0;
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
