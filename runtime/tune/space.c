/* Which candidates are tried, and in which order.
 *   round 1: each decode kernel with the split count the model likes best, kernels in the model's order (each template
 *            gets a share of the room);
 *   round 2: further split counts of the kernels that came out near the best;
 *   round 3: further combine kernels for the best split counts.
 * A limit on candidates leaves a third of it to the later rounds: a good kernel with a bad split count looks like a bad one. */
#include <stdlib.h>
#include <string.h>

#include "core/build.h"
#include "tune/tune_internal.h"

#define NEAR_SPLITS     1.25 /* round 2 looks at kernels within this of the best */
#define NEAR_COMBINES   1.05 /* round 3 */
#define MODELLED_SPLITS 2    /* further split counts of a kernel where timing one is slow */

static int kernel_index(tuner *t, const mlaf_kernel_desc *k) {
  for (size_t i = 0; i < t->n_kernels; i++)
    if (strcmp(t->kernels[i].desc->symbol, k->symbol) == 0 && strcmp(t->kernels[i].desc->params, k->params) == 0)
      return (int)i;
  t->kernels[t->n_kernels].desc = k;
  return (int)t->n_kernels++;
}

static int group_of(const tuner *t, size_t upto, int decode) {
  for (size_t i = 0; i < upto; i++)
    if (t->list[i].decode == decode) return t->list[i].group;
  return t->n_groups;
}

/* Names, hashes and geometry as the database keeps them, by the same code the planner uses. */
static mlaf_status start_sample(tune_candidate *c, mlaf_err *err) {
  mlaf_build build = {.n = 0};
  mlaf_status status = mlaf_build_init(c->variant, &build, err);
  if (status != MLAF_OK) return status;
  mlaf_sample *s = &c->item.sample;
  memcpy(s->variant, build.name, sizeof s->variant);
  s->splits = build.splits;
  s->decode = build.refs[0];
  if (build.n == 2) s->combine = build.refs[1];
  c->item.model_ns = c->variant->model_ns;
  mlaf_build_clear(&build);
  return MLAF_OK;
}

mlaf_status mlaf_tuner_space_read(tuner *t, mlaf_err *err) {
  mlaf_status status = t->steps->space(t->env->gen, t->problem, t->info->target, &t->space, &t->n_space, err);
  if (status != MLAF_OK) return status;
  t->list = calloc(t->n_space + 1, sizeof *t->list);
  t->counted = calloc(t->n_space + 1, sizeof *t->counted);
  t->kernels = calloc(2 * t->n_space + 1, sizeof *t->kernels);
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
    c->decode = kernel_index(t, &v->decode);
    c->combine = v->combine.template_name ? kernel_index(t, &v->combine) : -1;
    c->group = group_of(t, t->n, c->decode);
    if (c->group == t->n_groups) t->n_groups++;
    t->n++;
    status = start_sample(c, err);
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
static bool same_template(const mlaf_kernel_ref *was, const mlaf_kernel_ref *is) {
  return strcmp(was->template_name, is->template_name) == 0 && strcmp(was->template_hash, is->template_hash) == 0;
}

/* The key covers source, options and compiler. A failure from before there was one is judged by its template alone. */
static bool same_code(const mlaf_kernel_ref *was, const mlaf_kernel_ref *is) {
  return !was->code_key[0] || !is->code_key[0] || strcmp(was->code_key, is->code_key) == 0;
}

static mlaf_status resume_one(tuner *t, tune_candidate *c, const mlaf_sample *s, mlaf_err *err) {
  mlaf_sample *mine = &c->item.sample;
  if (c->state != TUNE_PENDING || strcmp(s->variant, mine->variant) != 0) return MLAF_OK;
  if (!same_template(&s->decode, &mine->decode) || !same_template(&s->combine, &mine->combine)) return MLAF_OK;
  mlaf_status status = mlaf_tuner_candidate_prepare(t, c, err);
  if (status != MLAF_OK || !same_code(&s->decode, &mine->decode) || !same_code(&s->combine, &mine->combine))
    return status;
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

/* --- selecting --- */
static bool usable(const tune_candidate *c) { return c->state == TUNE_DONE && c->item.sample.outcome == MLAF_OUT_OK; }

/* Counts a candidate in, once, whether it is still to be done or an earlier run did it: the same candidates make up the
 * run whether or not it was interrupted. */
typedef struct selection {
  tuner *t;
  size_t limit; /* of t->selected */
  bool any;     /* something is to be done */
  bool *counted;
} selection;

static bool take(selection *s, size_t i) {
  tune_candidate *c = &s->t->list[i];
  if (s->t->selected >= s->limit) return false;
  if (s->counted[i]) return true;
  s->counted[i] = true;
  s->t->selected++;
  if (c->state == TUNE_PENDING) {
    c->state = TUNE_SELECTED;
    s->any = true;
  } else {
    c->item.model_ns = c->variant->model_ns;
    s->t->done++;
    s->t->failed += c->item.sample.outcome != MLAF_OUT_OK;
    if (usable(c)) s->t->modelled = c->item.sample.source == MLAF_SRC_MODELLED;
    if (usable(c) && (s->t->best < 0 || c->item.sample.timing.ns < s->t->list[s->t->best].item.sample.timing.ns))
      s->t->best = (int)i;
  }
  return true;
}

/* In model order, so a group's first candidate is its best. Groups of `template` only, `most` of them; NULL: all. */
static void best_of_groups(selection *s, const char *template, size_t most) {
  for (int group = 0; group < s->t->n_groups && most; group++)
    for (size_t i = 0; i < s->t->n; i++) {
      if (s->t->list[i].group != group) continue;
      if (template && strcmp(template, s->t->list[i].variant->decode.template_name) != 0) break;
      if (!take(s, i)) return;
      most--;
      break;
    }
}

static bool first_of_template(const tuner *t, size_t index) {
  for (size_t i = 0; i < index; i++)
    if (strcmp(t->list[i].variant->decode.template_name, t->list[index].variant->decode.template_name) == 0)
      return false;
  return true;
}

/* Half the room is shared out evenly between the templates: where a model errs, it errs for a whole family at once. */
static void first_round(selection *s) {
  size_t templates = 0;
  for (size_t i = 0; i < s->t->n; i++) templates += first_of_template(s->t, i);
  size_t share = templates ? s->limit / (2 * templates) : 0;
  for (size_t i = 0; i < s->t->n && templates > 1; i++)
    if (first_of_template(s->t, i)) best_of_groups(s, s->t->list[i].variant->decode.template_name, share ? share : 1);
  best_of_groups(s, NULL, SIZE_MAX);
}

/* 0 when nothing of the group passed. */
static double group_best(const selection *s, int group, uint32_t *splits) {
  double best = 0;
  for (size_t i = 0; i < s->t->n; i++) {
    const tune_candidate *c = &s->t->list[i];
    if (c->group != group || !s->counted[i] || !usable(c)) continue;
    if (best != 0 && c->item.sample.timing.ns >= best) continue;
    best = c->item.sample.timing.ns;
    *splits = c->item.sample.splits;
  }
  return best;
}

static bool splits_counted(const selection *s, int group, uint32_t splits) {
  for (size_t i = 0; i < s->t->n; i++)
    if (s->t->list[i].group == group && s->t->list[i].item.sample.splits == splits && s->counted[i]) return true;
  return false;
}

/* Groups near the best, the best first: the limit may cut the rest off. *order is malloc'ed by the caller. */
static int near_groups(const selection *s, double within, int *order, double *times) {
  uint32_t splits;
  int n = 0;
  double best = 0;
  for (int g = 0; g < s->t->n_groups; g++) {
    double ns = group_best(s, g, &splits);
    if (ns == 0) continue;
    if (best == 0 || ns < best) best = ns;
    int at = n++;
    for (; at > 0 && times[at - 1] > ns; at--) {
      times[at] = times[at - 1];
      order[at] = order[at - 1];
    }
    times[at] = ns;
    order[at] = g;
  }
  while (n > 0 && times[n - 1] > within * best) n--;
  return n;
}

/* In model order. Where timing is slow only a few more are tried. */
static void further_splits(selection *s, int group) {
  int taken = 0;
  for (size_t i = 0; i < s->t->n; i++) {
    const tune_candidate *c = &s->t->list[i];
    if (c->group != group || splits_counted(s, group, c->item.sample.splits)) continue;
    if (s->t->modelled && taken++ == MODELLED_SPLITS) return;
    if (!take(s, i)) return;
  }
}

/* Decode and combine times add up, so other combine kernels are tried at the best split count only. */
static void further_combines(selection *s, int group) {
  uint32_t splits = 0;
  group_best(s, group, &splits);
  for (size_t i = 0; i < s->t->n; i++)
    if (s->t->list[i].group == group && s->t->list[i].item.sample.splits == splits && !take(s, i)) return;
}

bool mlaf_tuner_select(tuner *t, int round) {
  selection s = {t, round == 1 && t->limit > 2 ? t->limit - t->limit / 3 : t->limit, false, t->counted};
  if (round == 1) {
    first_round(&s);
    return s.any;
  }
  int *order = calloc((size_t)t->n_groups, sizeof *order);
  double *times = calloc((size_t)t->n_groups, sizeof *times);
  int n = order && times ? near_groups(&s, round == 2 ? NEAR_SPLITS : NEAR_COMBINES, order, times) : 0;
  for (int i = 0; i < n; i++) (round == 2 ? further_splits : further_combines)(&s, order[i]);
  free(order);
  free(times);
  return s.any;
}
