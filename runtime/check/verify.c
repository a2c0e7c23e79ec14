/* The verification suite: an operation's cases, and running a variant over them. */
#include "check/verify.h"

#include "check/buffers.h"

enum { MAX_CASES = 12 };

struct mlaf_suite {
  mlaf_point problem;
  const mlaf_calls *calls;
  uint64_t seed;
  mlaf_inject inject;
  size_t n;
  mlaf_case *cases[MAX_CASES];
};

void mlaf_suite_free(mlaf_suite *s) {
  if (!s) return;
  for (size_t i = 0; i < s->n; i++) s->calls->free_case(s->cases[i]);
  free(s);
}

mlaf_status mlaf_suite_create(const mlaf_point *p, uint64_t seed, mlaf_inject inject, mlaf_suite **out,
                              mlaf_err *err) {
  const mlaf_calls *calls = p->op->calls;
  const int n = inject == MLAF_INJECT_NONE ? calls->n_cases : 1;
  if (inject == MLAF_INJECT_LONG_Q && !calls->long_q)
    return mlaf_fail(err, MLAF_E_ARG, "long-q is an injection of mla_decode: a plan of %s has no most query tokens of a request",
                     p->op->name);
  mlaf_suite *s = calloc(1, sizeof *s);
  if (!s) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a verification suite");
  *s = (mlaf_suite){.problem = *p, .calls = calls, .seed = seed, .inject = inject};
  mlaf_status st = n <= MAX_CASES && calls->args_size <= MLAF_ARGS_MAX
                       ? MLAF_OK
                       : mlaf_fail(err, MLAF_E_INTERNAL, "operation %s has %d cases, %zu bytes of arguments: too many",
                                   p->op->name, n, calls->args_size);
  for (int i = 0; !st && i < n; i++) {
    st = calls->make_case(p, i, seed, inject, &s->cases[i], err);
    if (!st) s->n++;
  }
  if (st) {
    mlaf_suite_free(s);
    return st;
  }
  *out = s;
  return MLAF_OK;
}

/* --- running a variant --- */

/* One launch: its buffers, and its outputs on the host. */
typedef struct trial {
  mlaf_buffers set;
  mlaf_case_buffer buffers[MLAF_CASE_BUFFERS];
  int n;
  void *at[MLAF_CASE_BUFFERS];      /* on the device; NULL: left out */
  void *outputs[MLAF_CASE_BUFFERS]; /* on the host; NULL: no output, or left out */
  _Alignas(16) unsigned char args[MLAF_ARGS_MAX];
} trial;

static bool is_output(const mlaf_case_buffer *b) {
  return b->use == MLAF_USE_OUTPUT || b->use == MLAF_USE_OPTIONAL_OUTPUT || b->use == MLAF_USE_INOUT;
}

static mlaf_status upload(trial *t, int poison, bool spare, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < t->n; i++) {
    const mlaf_case_buffer *b = &t->buffers[i];
    if (b->use == MLAF_USE_NONE || (spare && b->use == MLAF_USE_OPTIONAL_OUTPUT)) continue;
    st = mlaf_buffers_add(&t->set, b, poison, &t->at[i], err);
    if (!st) memcpy(t->args + b->arg, &t->at[i], sizeof t->at[i]);
  }
  return st;
}

static mlaf_status download(trial *t, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < t->n; i++) {
    if (!t->at[i] || !is_output(&t->buffers[i])) continue;
    t->outputs[i] = malloc(t->buffers[i].bytes + 1);
    if (!t->outputs[i]) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu bytes of output", t->buffers[i].bytes);
    st = mlaf_ops(t->set.dev)->mem_read(t->set.dev, t->outputs[i], t->at[i], t->buffers[i].bytes, err);
  }
  return st;
}

static void free_trial(trial *t) {
  mlaf_buffers_free(&t->set);
  for (int i = 0; i < t->n; i++) free(t->outputs[i]);
}

static mlaf_status run_trial(const mlaf_loaded *l, const mlaf_case *c, uint32_t knob, bool canaries, bool spare, trial *t,
                             mlaf_err *err) {
  mlaf_device *dev = mlaf_loaded_device(l);
  *t = (trial){.set = {.dev = dev, .canaries = canaries}};
  t->n = mlaf_loaded_calls(l)->case_buffers(c, mlaf_loaded_bound(l), knob, t->args, t->buffers);
  /* 0xff is NaN; 0x5a is a large ordinary number. An output nobody writes is wrong under one of the two. */
  mlaf_status st = upload(t, canaries ? 0xff : 0x5a, spare, err);
  if (!st) st = mlaf_loaded_launch(l, knob, t->args, NULL, err);
  if (!st) st = mlaf_ops(dev)->sync(dev, NULL, err);
  if (!st) st = download(t, err);
  return st ? st : mlaf_buffers_check(&t->set, err);
}

/* A NaN agrees with every NaN: what a case without a single number in its reference finds right may be anything. */
static mlaf_status check_compared(const mlaf_case *c, mlaf_verify_result *out, mlaf_err *err) {
  if (out->compared) return MLAF_OK;
  snprintf(out->detail, sizeof out->detail, "case %s: nothing was compared: the reference has no number among its outputs",
           c->name);
  return mlaf_fail(err, MLAF_E_INCORRECT, "%s", out->detail);
}

/* blank: the case may be NaN throughout, as one of a single token with an injected NaN is. */
static mlaf_status run_case(const mlaf_case *c, const mlaf_loaded *l, bool blank, mlaf_verify_result *out, mlaf_err *err) {
  const mlaf_calls *calls = mlaf_loaded_calls(l);
  const uint32_t own = mlaf_loaded_knob(l), knob = c->knob_most && own > c->knob_most ? c->knob_most : own;
  trial first = {.n = 0}, second = {.n = 0};
  /* Canaries find stray writes anywhere; exact allocations let a strict device find stray reads. */
  mlaf_status st = run_trial(l, c, knob, true, false, &first, err);
  if (!st && !calls->compare(c, first.outputs, out)) st = mlaf_fail(err, MLAF_E_INCORRECT, "%s", out->detail);
  if (!st && !blank) st = check_compared(c, out, err);
  if (!st) st = run_trial(l, c, knob, false, c->spare, &second, err);
  if (!st && !calls->same(c, first.outputs, second.outputs, out)) st = mlaf_fail(err, MLAF_E_INCORRECT, "%s", out->detail);
  if (st && !out->detail[0] && err)
    snprintf(out->detail, sizeof out->detail, "case %s, knob %u: %.900s", c->name, knob, err->text);
  free_trial(&first);
  free_trial(&second);
  return st;
}

static const char *inject_option(mlaf_inject inject) {
  static const char *const options[] = {"", " --inject nan-q", " --inject oob-page", " --inject long-q"};
  return options[inject];
}

mlaf_status mlaf_suite_run(const mlaf_suite *s, const mlaf_loaded *l, mlaf_verify_result *out, mlaf_err *err) {
  char problem[MLAF_POINT_TEXT_MAX];
  mlaf_err local = {MLAF_OK, ""};
  mlaf_point_print(&s->problem, problem, sizeof problem);
  *out = (mlaf_verify_result){0};
  snprintf(out->command, sizeof out->command, "mlaforge verify '%s' --device %s --variant '%s' --seed %llu%s", problem,
           mlaf_ops(mlaf_loaded_device(l))->name, mlaf_loaded_name(l), (unsigned long long)s->seed,
           inject_option(s->inject));
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < s->n; i++) {
    st = run_case(s->cases[i], l, s->inject != MLAF_INJECT_NONE, out, &local);
    if (!st) out->cases++;
  }
  return st ? mlaf_fail(err, st, "%s (reproduce: %s)", out->detail, out->command) : MLAF_OK;
}
