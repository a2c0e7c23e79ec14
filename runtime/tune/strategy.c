/* Which candidates are tried, in which order and how precisely.
 *   pruned      first rounds: each first kernel with the knob the model likes best, kernels in the model's order (each
 *                        template gets a share of the room); few of them at a time, so that the others can be judged;
 *               then further knobs of the kernels that came out near the best;
 *               then further kernels of the later stages for the best knobs.
 *               A limit on candidates leaves a third of it to the later rounds: a good kernel with a bad knob looks
 *               like a bad one. Whichever cannot win by what was timed so far is passed over (worth.c).
 *   exhaustive  all of them.
 *   halving     round 1: all of them, a few short samples each; rounds 2 and 3: the best third of the last round, with more.
 *               Where times are modelled one rung says everything. */
#include "tune/tune_internal.h"

#define NEAR_KNOBS      1.25 /* later rounds look at kernels within this of the best */
#define NEAR_SPLITS     1.2  /* by the model, of a kernel's best split count */
#define NEAR_LATER      1.05 /* and at their later stages within this */
#define MODELLED_KNOBS  2    /* further knobs of a kernel where timing one is slow */
#define PRUNED_SHARE    0.15 /* of the space is as much as a pruned search evaluates ... */
enum { PRUNED_LEAST = 12, HALVING_LEAST = 4 }; /* ... but this many in any case */
enum { KERNEL_ROUNDS = 4, KNOB_ROUNDS = 2, PRUNED_ROUNDS = KERNEL_ROUNDS + KNOB_ROUNDS + 1 };
enum { STEP_MEASURED = 8, STEP_MODELLED = 4 }; /* candidates of a round at least: kernels of a round compile side by side */

static bool usable(const tune_candidate *c) { return c->state == TUNE_DONE && c->item.sample.outcome == MLAF_OUT_OK; }

void mlaf_tuner_note_best(tuner *t) {
  t->best = -1;
  for (size_t i = 0; i < t->n; i++)
    if (t->counted[i] && usable(&t->list[i]) &&
        (t->best < 0 || t->list[i].item.sample.timing.ns < t->list[t->best].item.sample.timing.ns))
      t->best = (int)i;
}

/* Counts a candidate in, once, whether it is still to be done or an earlier run did it: the same candidates make up the
 * run whether or not it was interrupted. */
typedef struct selection {
  tuner *t;
  size_t limit; /* of t->selected */
  bool any;     /* something is to be done */
  bool sure_of_it; /* a candidate that is timed in any case was found */
  bool *counted;
} selection;

bool mlaf_tuner_is_absent(const tuner *t, const tune_candidate *c) {
  return c >= t->list + t->n_own && c->state == TUNE_DONE && c->item.sample.outcome == MLAF_OUT_CONSTRAINT;
}

void mlaf_tuner_leave_out(tuner *t, tune_candidate *c) {
  bool *counted = &t->counted[c - t->list];
  t->selected -= *counted;
  *counted = false;
  if (c->absent) return;
  c->absent = true;
  t->out->libraries--;
  t->out->space--;
}

void mlaf_tuner_take_back(tuner *t, tune_candidate *c) {
  t->counted[c - t->list] = false;
  t->selected--;
  c->state = TUNE_PENDING;
}

static bool take(selection *s, size_t i) {
  tune_candidate *c = &s->t->list[i];
  if (s->t->selected >= s->limit) return false;
  if (s->counted[i] || (c->state != TUNE_DONE && mlaf_tuner_is_passed_over(s->t, c))) return true;
  if (mlaf_tuner_is_absent(s->t, c)) {
    mlaf_tuner_leave_out(s->t, c);
    return true;
  }
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
    mlaf_tuner_note_best(s->t);
  }
  return true;
}

/* Candidates are in model order, so a group's first one is its best. `most` groups of `template` (NULL: of any), or of those only
 * that are as good for any lengths. */
static void best_of_groups(selection *s, const char *template, bool any_lengths, size_t most) {
  for (int group = 0; group < s->t->n_groups && most; group++)
    for (size_t i = 0; i < s->t->n; i++) {
      if (s->t->list[i].group != group) continue;
      if (template && strcmp(template, s->t->list[i].variant->kernels[0].template_name) != 0) break;
      if (any_lengths && !s->t->list[i].variant->any_lengths) break;
      if (any_lengths && !s->sure_of_it) s->sure_of_it = s->t->list[i].sure = true;
      if (!take(s, i)) return;
      most--;
      break;
    }
}

static bool first_of_template(const tuner *t, size_t index) {
  for (size_t i = 0; i < index; i++)
    if (strcmp(t->list[i].variant->kernels[0].template_name, t->list[index].variant->kernels[0].template_name) == 0)
      return false;
  return true;
}

tune_candidate *mlaf_tuner_pick(const tuner *t) {
  tune_candidate *pick = NULL;
  for (size_t i = 0; i < t->n_own; i++) {
    tune_candidate *c = &t->list[i];
    if (c->variant->model_ns > 0 && (!pick || c->variant->model_ns < pick->variant->model_ns)) pick = c;
  }
  return pick;
}

/* Half the room is shared out evenly between the templates: where a model errs, it errs for a whole family at once. It knows
 * equal lengths only: where they differ, kernels for any lengths get as much room again. */
static void first_round(selection *s) {
  const bool uneven = s->t->opts.lengths.kind != MLAF_LENGTHS_EQUAL;
  size_t templates = 0;
  for (size_t i = 0; i < s->t->n; i++) templates += first_of_template(s->t, i);
  size_t share = templates ? s->limit / (2 * templates) : 0;
  if (!share) share = 1;
  for (size_t i = 0; i < s->t->n; i++) {
    const char *template = s->t->list[i].variant->kernels[0].template_name;
    if (!first_of_template(s->t, i)) continue;
    s->sure_of_it = false;
    if (uneven) best_of_groups(s, template, true, share);
    if (templates > 1) best_of_groups(s, template, false, share);
  }
  tune_candidate *guess = mlaf_tuner_pick(s->t);
  if (guess) guess->sure = true;
  best_of_groups(s, NULL, false, SIZE_MAX);
}

/* 0 when nothing of the group passed. */
static double group_best(const selection *s, int group, uint32_t *knob) {
  double best = 0;
  for (size_t i = 0; i < s->t->n; i++) {
    const tune_candidate *c = &s->t->list[i];
    if (c->group != group || !s->counted[i] || !usable(c)) continue;
    if (best != 0 && c->item.sample.timing.ns >= best) continue;
    best = c->item.sample.timing.ns;
    *knob = c->item.sample.knob;
  }
  return best;
}

static bool knob_counted(const selection *s, int group, uint32_t knob) {
  for (size_t i = 0; i < s->t->n; i++)
    if (s->t->list[i].group == group && s->t->list[i].item.sample.knob == knob && s->counted[i]) return true;
  return false;
}

/* Groups near the best, the best first: the limit may cut the rest off. *order is malloc'ed by the caller. */
static int near_groups(const selection *s, double within, int *order, double *times) {
  uint32_t knob;
  int n = 0;
  double best = 0;
  for (int g = 0; g < s->t->n_groups; g++) {
    double ns = group_best(s, g, &knob);
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

/* Adds further split counts of a group, in model order; only a few where timing is slow. Models know least how split counts
 * trade: they decide in steps how a launch fills the device. Problems before correct a kernel for all split counts alike, so
 * they tell nothing of that. Hence the next split count is timed in any case while nothing was learned, and later, too, for the
 * fastest group where the model has it near. */
static void further_knobs(selection *s, int group, bool fastest) {
  const tune_candidate *first = NULL;
  int taken = 0;
  for (size_t i = 0; i < s->t->n; i++) {
    tune_candidate *c = &s->t->list[i];
    if (c->group != group) continue;
    if (!first) first = c;
    if (knob_counted(s, group, c->item.sample.knob)) continue;
    if (s->t->modelled && taken == MODELLED_KNOBS) return;
    if (!taken++ && s->t->round == KERNEL_ROUNDS + 1)
      c->sure = !s->t->taught || (fastest && c->estimate_ns <= NEAR_SPLITS * first->estimate_ns);
    if (!take(s, i)) return;
  }
}

/* The times of stages add up, so other kernels behind the first are tried at the best knob only. */
static void further_later(selection *s, int group) {
  uint32_t knob = 0;
  group_best(s, group, &knob);
  for (size_t i = 0; i < s->t->n; i++)
    if (s->t->list[i].group == group && s->t->list[i].item.sample.knob == knob && !take(s, i)) return;
}

static void pruned_round(selection *s, int round) {
  tuner *t = s->t;
  if (round <= KERNEL_ROUNDS) {
    first_round(s);
    return;
  }
  int *order = calloc((size_t)t->n_groups, sizeof *order);
  double *times = calloc((size_t)t->n_groups, sizeof *times);
  int n = order && times ? near_groups(s, round < PRUNED_ROUNDS ? NEAR_KNOBS : NEAR_LATER, order, times) : 0;
  for (int i = 0; i < n; i++)
    if (round < PRUNED_ROUNDS) further_knobs(s, order[i], i == 0);
    else further_later(s, order[i]);
  free(order);
  free(times);
}

static void exhaustive_round(selection *s, int round) {
  for (size_t i = 0; i < s->t->n && take(s, i); i++) continue;
}

/* --- halving --- */
static int by_time(const void *left, const void *right) {
  const tune_candidate *a = *(tune_candidate *const *)left, *b = *(tune_candidate *const *)right;
  double x = a->item.sample.timing.ns, y = b->item.sample.timing.ns;
  return x != y ? (x > y) - (x < y) : a < b ? -1 : a > b;
}

/* A round of successive halving keeps the fastest third of the candidates of the round before. */
static void halving_round(selection *s, int round) {
  tuner *t = s->t;
  if (round == 1) exhaustive_round(s, round);
  tune_candidate **order = round == 1 || t->modelled ? NULL : calloc(t->n + 1, sizeof(tune_candidate *));
  size_t n = 0;
  for (size_t i = 0; order && i < t->n; i++)
    if (s->counted[i] && usable(&t->list[i])) order[n++] = &t->list[i];
  if (order) qsort(order, n, sizeof *order, by_time);
  size_t keep = n;
  for (int i = 1; i < round; i++) keep = (keep + 2) / 3;
  if (keep < HALVING_LEAST) keep = n < HALVING_LEAST ? n : HALVING_LEAST;
  for (size_t i = 0; order && i < keep; i++)
    if (order[i]->item.sample.timing.samples < mlaf_tuner_min_samples(t, round)) {
      order[i]->state = TUNE_SELECTED;
      t->done--;
      s->any = true;
    }
  free(order);
}

/* --- strategies --- */
typedef struct strategy {
  const char *name;
  int rounds;
  void (*select)(selection *s, int round);
} strategy;

static const strategy strategies[MLAF_STRATEGY_COUNT] = {
    [MLAF_STRATEGY_PRUNED] = {"pruned", PRUNED_ROUNDS, pruned_round},
    [MLAF_STRATEGY_EXHAUSTIVE] = {"exhaustive", 1, exhaustive_round},
    [MLAF_STRATEGY_HALVING] = {"halving", 3, halving_round},
};

const char *mlaf_strategy_name(mlaf_strategy s) { return (unsigned)s < MLAF_STRATEGY_COUNT ? strategies[s].name : "unknown"; }

int mlaf_strategy_find(const char *name) {
  for (int i = 0; i < MLAF_STRATEGY_COUNT; i++)
    if (strcmp(strategies[i].name, name) == 0) return i;
  return -1;
}

int mlaf_tuner_rounds(const tuner *t) { return strategies[t->opts.strategy].rounds; }

size_t mlaf_tuner_limit(const mlaf_tuner_opts *o, size_t space, bool emulated) {
  if (o->max_candidates) return o->max_candidates;
  if (o->strategy != MLAF_STRATEGY_PRUNED) return SIZE_MAX;
  size_t share = (size_t)(PRUNED_SHARE * (double)space);
  if (share < PRUNED_LEAST) share = PRUNED_LEAST;
  return emulated && share > MLAF_TUNER_EMU_CANDIDATES ? MLAF_TUNER_EMU_CANDIDATES : share;
}

int mlaf_tuner_min_samples(const tuner *t, int round) {
  int full = mlaf_tuner_protocol(t).min_samples;
  return t->opts.strategy == MLAF_STRATEGY_HALVING ? full * (round < 3 ? round : 3) / 3 : full;
}

/* Own candidates that may be selected up to the end of a round. */
static size_t room_of(const tuner *t, int round) {
  if (t->opts.strategy != MLAF_STRATEGY_PRUNED || round > KERNEL_ROUNDS || t->limit <= 2) return t->limit;
  const size_t most = t->limit - t->limit / 3, least = t->modelled ? STEP_MODELLED : STEP_MEASURED;
  const size_t step = most / KERNEL_ROUNDS > least ? most / KERNEL_ROUNDS : least;
  return round == KERNEL_ROUNDS || step * (size_t)round > most ? most : step * (size_t)round;
}

bool mlaf_tuner_select(tuner *t, int round) {
  const size_t room = room_of(t, round), beyond = t->n - t->n_own;
  selection s = {t, room > SIZE_MAX - beyond ? SIZE_MAX : room + beyond, false, false, t->counted};
  t->round = round;
  for (size_t i = 0; i < t->n; i++) t->list[i].told = t->counted[i] && usable(&t->list[i]);
  /* All that a library proposes: which is fastest only timing tells, and none of them has to be compiled. */
  for (size_t i = t->n_own; round == 1 && i < t->n; i++) take(&s, i);
  strategies[t->opts.strategy].select(&s, round);
  return s.any;
}
