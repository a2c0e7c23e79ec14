/* bundle, if the context has one; else exact -> nearest -> default (database) -> model -> baseline. Every rung that is passed
 * over leaves a note. */
#include "run/build.h"
#include "op/lengths.h"
#include "plan/nearby.h"
#include "op/nearest.h"
#include "plan/plan.h"
#include "plan/planner.h"
#ifdef MLAF_HAVE_TUNE
#include "tune/tune.h"
#endif

enum { REFUSED_MAX = 8, MODEL_TRIES = 3, NOTES_MAX = 4096 };

typedef struct planner {
  mlaf_ctx *ctx;
  const mlaf_point *problem; /* whose choices are looked for */
  const mlaf_point *asked;   /* that the plan is for: the same, or like it, but for fields that say so (mlaf_field) */
  const mlaf_plan_opts *opts;
  const mlaf_plan_inside *inside; /* what the caller knows; NULL: nothing */
  mlaf_planned *out;
  mlaf_missing_kernels *missing; /* NULL; else nothing is compiled or loaded, and what would be compiled is added here */
  mlaf_text notes;
  mlaf_err last; /* why the latest rung failed: what the caller hears if none holds */
  mlaf_err trouble; /* its status is set once this machine, and no kernel, kept a compile from working (E_KILLED, E_IO): no more
                       are tried */
  bool far;      /* a choice out of reach was passed over */
  bool single;   /* so was one for one request, as mlaf_for_one says */
  bool singles_too; /* but nothing else is there */
  bool library;  /* so was a library's of this very problem: none serves here, and the best kernel timed beside goes first */
  mlaf_lengths lengths; /* the caller's, and their canonical text; "": no preference */
  char lengths_text[MLAF_LENGTHS_TEXT_MAX];
  int n_refused;
  struct {
    char problem[MLAF_POINT_TEXT_MAX], variant[256];
  } refused[REFUSED_MAX];
} planner;

static const mlaf_device_info *info(const planner *p) { return mlaf_info(mlaf_ctx_device(p->ctx)); }
static bool may_compile(const planner *p) { return !(p->opts->flags & MLAF_PLAN_NO_COMPILE); }
static bool compiles(const planner *p) { return may_compile(p) && !p->trouble.status; }
static bool may_ask_model(const planner *p) { return may_compile(p) && p->opts->effort != MLAF_EFFORT_DB_ONLY; }

/* Notes and logs why a source of the choice was skipped. Nothing is wrong where it only does not apply to this problem. */
static void skip(planner *p, bool wrong, const mlaf_err *why, const char *what) {
  p->last = *why;
  mlaf_text_fmt(&p->notes, "%s%s: %.400s", p->notes.len ? "; " : "", what, why->text);
  if (!p->missing)
    mlaf_log_line(&p->ctx->log, wrong ? MLAF_LOG_WARN : MLAF_LOG_INFO, "plan: passing over %s: %s", what, why->text);
}

/* It should have served. */
static void MLAF_PRINTF(3, 4) pass_over(planner *p, const mlaf_err *why, const char *fmt, ...) {
  char what[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  skip(p, true, why, what);
}

/* A stored choice is for other problems, or for callers who ask for more. */
static void does_not_apply(planner *p, const mlaf_choice *c, const mlaf_err *why) {
  char what[512];
  snprintf(what, sizeof what, "choice %s of %s", c->variant, c->problem);
  skip(p, false, why, what);
}

/* Load what was built and say who it is. */
static mlaf_status plan_from_build(planner *p, const mlaf_build *b, mlaf_rung rung, const char *source, mlaf_err *err) {
  if (p->missing) return MLAF_OK;
  mlaf_status st = mlaf_build_load(b, mlaf_ctx_device(p->ctx), p->asked, &p->out->loaded, err);
  if (st) return st;
  mlaf_recent_note(p->ctx, b);
  p->out->rung = rung;
  p->out->source = source;
  snprintf(p->out->variant, sizeof p->out->variant, "%s", b->name);
  p->out->first = b->refs[0];
  return MLAF_OK;
}

/* Reads the budgets that a stored choice was planned with, where its code was made anew and the generator is loaded: another
 * compiler may take more than the one it was tuned with. */
static void learn_budgets(planner *p, const char *problem, mlaf_build *b) {
  mlaf_point at;
  mlaf_variant v = {.name = NULL};
  mlaf_err ignored;
  if (b->budget[0].known || !p->ctx->gen || mlaf_point_parse(NULL, problem, &at, NULL, 0)) return;
  if (!mlaf_gen_variant(p->ctx->gen, mlaf_point_text(&at).s, info(p)->target, b->name, &v, &ignored)) mlaf_build_learn(b, &v);
  mlaf_variant_clear(&v);
}

static mlaf_status make_code(planner *p, mlaf_build *b, const char *problem, mlaf_gen *gen, mlaf_err *err) {
  mlaf_status st = mlaf_build_now(b, gen, p->ctx->compiler, info(p)->target, compiles(p), &p->out->compiles, err);
  if (st) return st;
  learn_budgets(p, problem, b);
  st = mlaf_build_check(b, p->problem->op->calls, mlaf_ctx_device(p->ctx), err);
  if (!st) mlaf_build_remember(b, &p->ctx->hashes, info(p)->target, mlaf_ctx_toolchain(p->ctx));
  return st;
}

/* Variants in place of b's for a caller who knows more of its launches, best first; *n 0: there are none, or nothing is known. */
static void list_inside(planner *p, const mlaf_build *b, mlaf_gen **gen, mlaf_variant **list, size_t *n) {
  const mlaf_plan_inside *in = p->inside;
  mlaf_err ignored;
  *n = 0;
  if (!in || (!in->ahead && !in->next.op) || p->opts->flags & MLAF_PLAN_BATCH_INVARIANT || mlaf_ctx_gen(p->ctx, gen, &ignored))
    return;
  mlaf_point_string next = {""};
  if (in->next.op) next = mlaf_point_text(&in->next);
  if (mlaf_gen_inside(*gen, mlaf_point_text(p->problem).s, info(p)->target, b->name, in->ahead, in->next.op ? next.s : NULL, list,
                      n, &ignored))
    *n = 0;
}

static mlaf_status make_inside(planner *p, mlaf_gen *gen, mlaf_build *b) {
  const char *target = info(p)->target, *toolchain = mlaf_ctx_toolchain(p->ctx);
  mlaf_err ignored;
  if (mlaf_build_take_known(b, p->ctx->compiler, &p->ctx->hashes, target, toolchain)) return MLAF_OK;
  mlaf_status st = mlaf_build_now(b, gen, p->ctx->compiler, target, compiles(p), &p->out->compiles, &ignored);
  if (!st) st = mlaf_build_check(b, p->problem->op->calls, mlaf_ctx_device(p->ctx), &ignored);
  if (!st) mlaf_build_remember(b, &p->ctx->hashes, target, toolchain);
  return st;
}

/* Takes a kernel for this caller in place of the usual one, where one runs. */
static bool take_inside(planner *p, mlaf_build *b) {
  mlaf_gen *gen;
  mlaf_variant *list = NULL;
  mlaf_err ignored;
  size_t n;
  bool taken = false;
  list_inside(p, b, &gen, &list, &n);
  for (size_t i = 0; !taken && i < n; i++) {
    mlaf_build other = {.n = 0};
    taken = !mlaf_build_init(&list[i], &other, &ignored) && !make_inside(p, gen, &other);
    mlaf_build_clear(taken ? b : &other);
    if (taken) *b = other;
  }
  mlaf_variants_free(list, n);
  return taken;
}

/* Lists what no cache has of a build, or of the one that this caller gets in its place. */
static void list_missing(planner *p, mlaf_build *b) {
  const char *target = info(p)->target, *toolchain = mlaf_ctx_toolchain(p->ctx);
  mlaf_compile_job jobs[MLAF_STAGES_MAX] = {{.source = NULL}};
  mlaf_gen *gen;
  mlaf_build other = {.n = 0};
  mlaf_variant *list = NULL;
  mlaf_err ignored;
  size_t n, n_jobs = 0;
  list_inside(p, b, &gen, &list, &n);
  mlaf_build *x = n && !mlaf_build_init(&list[0], &other, &ignored) ? &other : b;
  const bool there = mlaf_missing_kernels_seen(p->missing, x) ||
                     (x == b && !mlaf_build_take_cached(b, p->ctx->compiler, &ignored)) ||
                     mlaf_build_take_known(x, p->ctx->compiler, &p->ctx->hashes, target, toolchain);
  if (!there && !mlaf_ctx_gen(p->ctx, &gen, &ignored) && !mlaf_build_jobs(x, gen, target, jobs, &n_jobs, &ignored))
    mlaf_missing_kernels_add(p->missing, x, p->problem->op->calls);
  mlaf_build_clear(&other);
  mlaf_variants_free(list, n);
}

/* Makes a build of another problem's choice one of the problem that was asked for: the same variant. */
static mlaf_status build_as_asked(planner *p, mlaf_build *b, mlaf_err *err) {
  mlaf_gen *gen;
  mlaf_variant v = {.name = NULL};
  mlaf_build made = {.n = 0};
  if (p->asked == p->problem) return MLAF_OK;
  mlaf_status st = mlaf_ctx_gen(p->ctx, &gen, err);
  if (!st) st = mlaf_gen_variant(gen, mlaf_question(p->asked, p->opts->flags).s, info(p)->target, b->name, &v, err);
  if (!st) st = mlaf_build_init(&v, &made, err);
  mlaf_variant_clear(&v);
  mlaf_build_clear(st ? &made : b);
  if (!st) *b = made;
  return st;
}

/* The code of a build: from the cache, or made, if that is allowed. `problem` is the one that its variant was chosen for. */
static mlaf_status get_code(planner *p, mlaf_build *b, const char *problem, mlaf_err *err) {
  if (p->trouble.status == MLAF_E_KILLED) { /* no rung below may stand in: nothing is wrong with the better one */
    *err = p->trouble;
    return err->status;
  }
  mlaf_status st = build_as_asked(p, b, err);
  if (st) return st;
  if (p->missing) list_missing(p, b);
  if (p->missing || take_inside(p, b)) return MLAF_OK;
  const char *target = info(p)->target, *toolchain = mlaf_ctx_toolchain(p->ctx);
  mlaf_gen *gen;
  st = mlaf_build_take_cached(b, p->ctx->compiler, err);
  /* Not under the stored key: another compiler may have made it since, or may make it now. */
  if (st == MLAF_E_NOT_COMPILED && mlaf_build_take_known(b, p->ctx->compiler, &p->ctx->hashes, target, toolchain)) st = MLAF_OK;
  if (st == MLAF_E_NOT_COMPILED && !mlaf_ctx_gen(p->ctx, &gen, err)) {
    st = make_code(p, b, problem, gen, err);
    if (st == MLAF_E_KILLED || st == MLAF_E_IO) mlaf_fail(&p->trouble, st, "%s", err->text);
  }
  return st;
}

static mlaf_status try_variant(planner *p, const mlaf_variant *v, mlaf_rung rung, mlaf_err *err) {
  mlaf_build b;
  mlaf_status st = mlaf_build_init(v, &b, err);
  if (st) return st;
  st = get_code(p, &b, "", err);
  if (!st) st = plan_from_build(p, &b, rung, "none", err);
  if (!st) {
    p->out->ns = v->model_ns;
    mlaf_point_print(p->problem, p->out->tuned_for, sizeof p->out->tuned_for);
  }
  mlaf_build_clear(&b);
  return st;
}

/* The tuner has tried it on this very problem and it failed. */
static bool known_bad(const planner *p, const mlaf_sample *samples, size_t n, const char *variant) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(samples[i].variant, variant)) return mlaf_sample_is_bad(&samples[i], mlaf_ctx_toolchain(p->ctx));
  return false;
}

/* --- the database's rungs --- */

/* Ask the generator for the hashes of a variant's templates; it may also say that there is no such variant any more. */
static mlaf_status learn_hashes(planner *p, const mlaf_choice *choice, mlaf_err *err) {
  mlaf_gen *gen;
  mlaf_variant v = {.name = NULL};
  mlaf_status st = mlaf_ctx_gen(p->ctx, &gen, err);
  if (!st) st = mlaf_gen_variant(gen, mlaf_point_text(&choice->at).s, info(p)->target, choice->variant, &v, err);
  if (st) return st;
  for (int i = 0; i < MLAF_STAGES_MAX; i++)
    if (v.kernels[i].template_name)
      mlaf_hashes_add(&p->ctx->hashes, info(p)->target, v.kernels[i].template_name, v.kernels[i].template_hash);
  mlaf_variant_clear(&v);
  return MLAF_OK;
}

static mlaf_status check_hash(planner *p, const mlaf_choice *choice, const mlaf_kernel_ref *ref, mlaf_err *err) {
  /* a shipped default may name its variant alone: try_choice has today's generator rebuild it */
  if (!ref->template_name[0] || !ref->template_hash[0]) return MLAF_OK;
  const char *now = mlaf_hashes_find(&p->ctx->hashes, info(p)->target, ref->template_name);
  if (!now) {
    mlaf_status st = learn_hashes(p, choice, err);
    if (st) return st;
    now = mlaf_hashes_find(&p->ctx->hashes, info(p)->target, ref->template_name);
  }
  if (now && !strcmp(now, ref->template_hash)) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_NOT_TUNED, "template %s changed since it was tuned: tune again", ref->template_name);
}

/* A choice is void when a template it was made with has changed since. */
static mlaf_status check_hashes(planner *p, const mlaf_choice *choice, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < MLAF_STAGES_MAX; i++) st = check_hash(p, choice, &choice->kernels[i], err);
  return st;
}

static bool is_refused(const planner *p, const mlaf_choice *c) {
  for (int i = 0; i < p->n_refused; i++)
    if (!strcmp(p->refused[i].variant, c->variant) && !strcmp(p->refused[i].problem, c->problem)) return true;
  return false;
}

/* It will not be looked at again. */
static void refuse(planner *p, const mlaf_choice *c) {
  if (p->n_refused < REFUSED_MAX) {
    memcpy(p->refused[p->n_refused].problem, c->problem, sizeof c->problem);
    memcpy(p->refused[p->n_refused++].variant, c->variant, sizeof c->variant);
  }
}

/* Choices come nearest first, so one note does for all that are too far. Who may not ask the model takes them all the same. */
static bool out_of_reach(planner *p, const mlaf_choice *c) {
  mlaf_err why;
  if (mlaf_in_reach(p->problem, c->distance, false) || !may_ask_model(p)) return false;
  mlaf_fail(&why, MLAF_E_NOT_TUNED, "%.1f doublings of batch and ctx away: the model looks at the problem itself", c->distance);
  if (!p->far) does_not_apply(p, c, &why);
  return p->far = true;
}

/* One note does for all. The generator knows whether there are kernels for any lengths; where it cannot be asked, nothing else
 * would come of it. */
static bool for_one_request(planner *p, const mlaf_choice *c) {
  mlaf_gen *gen;
  mlaf_err why = {MLAF_OK, ""}, ignored;
  char *reason = NULL;
  if (p->singles_too || !mlaf_stands_back(p->problem, &c->at)) return false;
  if (mlaf_ctx_gen(p->ctx, &gen, &ignored) || mlaf_gen_serve(gen, mlaf_point_text(p->problem).s, info(p)->target, c->variant,
                                                             &reason, &ignored))
    return false;
  if (!reason) return false;
  mlaf_fail(&why, MLAF_E_NOT_TUNED, "tuned for one request: %s", reason);
  free(reason);
  if (!p->single) does_not_apply(p, c, &why);
  return p->single = true;
}

/* A library's product serves what it was timed for, where the caller allows it, the device can run it, and the choice tells
 * which version it was: the key of its code is that version's. Whether it is this machine's is seen when it is loaded. */
static bool library_serves(const planner *p, const mlaf_choice *c, mlaf_err *why) {
  const mlaf_device_ops *ops = mlaf_ops(mlaf_ctx_device(p->ctx));
  if (c->distance > 0) return true; /* it says what else was timed there: try_choice */
  if (p->library) return false;
  if (!(p->opts->flags & MLAF_PLAN_LIBRARY))
    mlaf_fail(why, MLAF_E_NOT_TUNED, "a library's product, which the caller does not ask for (MLAF_PLAN_LIBRARY)");
  else if (!(ops->features & MLAF_DEVICE_LIBRARIES)) mlaf_fail(why, MLAF_E_NOT_TUNED, "%s runs no libraries", ops->name);
  else if (!c->kernels[0].code_key[0]) mlaf_fail(why, MLAF_E_NOT_TUNED, "it does not say which version was timed");
  return why->status == MLAF_OK;
}

/* A kernel that wants workspace serves as a library's product does, where the caller allows one. */
static bool workspace_serves(const planner *p, const mlaf_choice *c, mlaf_err *why) {
  if (p->opts->flags & MLAF_PLAN_LIBRARY || mlaf_is_library(c->variant) || !mlaf_choice_wants_workspace(c)) return true;
  mlaf_fail(why, MLAF_E_NOT_TUNED, "it wants workspace, which the caller does not allow (MLAF_PLAN_LIBRARY)");
  return false;
}

/* Called by the database in order of preference. */
static bool accept_choice(void *user, const mlaf_choice *c) {
  planner *p = user;
  mlaf_err why = {MLAF_OK, ""};
  if (out_of_reach(p, c) || for_one_request(p, c)) return false;
  if (mlaf_is_library(c->variant) && !library_serves(p, c, &why)) { /* one note does for all */
    if (!p->library) does_not_apply(p, c, &why);
    p->library = true;
    return false;
  }
  if (!workspace_serves(p, c, &why)) {
    does_not_apply(p, c, &why);
    return false;
  }
  if (is_refused(p, c) || p->n_refused == REFUSED_MAX) return false;
  if (!check_hashes(p, c, &why)) return true;
  why.status = MLAF_E_NOT_TUNED; /* whatever the reason, there is no valid choice here */
  pass_over(p, &why, "choice %s of %s", c->variant, c->problem);
  refuse(p, c);
  return false;
}

/* Makes a build of what a choice names. One without hashes is a name: it means what the generator makes of it today, for
 * this very problem, if it still makes it. */
static mlaf_status start_build(planner *p, const mlaf_choice *choice, mlaf_build *out, mlaf_err *err) {
  if (choice->kernels[0].template_hash[0]) {
    mlaf_build_from_choice(choice, out);
    return MLAF_OK;
  }
  mlaf_gen *gen;
  mlaf_variant v = {.name = NULL};
  mlaf_status st = mlaf_ctx_gen(p->ctx, &gen, err);
  if (!st) st = mlaf_gen_variant(gen, mlaf_point_text(p->problem).s, info(p)->target, choice->variant, &v, err);
  if (!st) st = mlaf_build_init(&v, out, err);
  mlaf_variant_clear(&v);
  return st;
}

/* Keeps the hashes and keys of what a build shares with a choice. */
static void keep_refs(const mlaf_choice *choice, mlaf_build *b) {
  for (int i = 0; i < b->n; i++) {
    const mlaf_kernel_ref *then = &choice->kernels[i];
    if (then->template_hash[0] && !strcmp(then->symbol, b->refs[i].symbol)) b->refs[i] = *then;
  }
}

/* A neighbour's kernel with the splits that suit this problem. */
static mlaf_status start_refit(planner *p, const mlaf_choice *choice, mlaf_build *out, mlaf_err *err) {
  mlaf_gen *gen;
  mlaf_variant v = {.name = NULL};
  mlaf_status st = mlaf_ctx_gen(p->ctx, &gen, err);
  if (!st) st = mlaf_gen_refit(gen, mlaf_question(p->problem, p->opts->flags).s, info(p)->target, choice->variant, &v, err);
  if (!st) st = mlaf_build_init(&v, out, err);
  mlaf_variant_clear(&v);
  if (!st) keep_refs(choice, out);
  return st;
}

typedef mlaf_status (*start_fn)(planner *p, const mlaf_choice *choice, mlaf_build *out, mlaf_err *err);

/* The code of what was started, and who it is. */
static mlaf_status plan_from_choice(planner *p, mlaf_build *b, const mlaf_choice *choice, mlaf_rung rung, mlaf_err *err) {
  mlaf_status st = get_code(p, b, choice->problem, err);
  if (!st) st = plan_from_build(p, b, rung, mlaf_source_name(choice->source), err);
  if (!st) {
    p->out->ns = choice->ns;
    p->out->error = choice->error;
    memcpy(p->out->tuned_for, choice->problem, sizeof p->out->tuned_for);
    memcpy(p->out->lengths, choice->lengths, sizeof p->out->lengths);
    snprintf(p->out->stale, sizeof p->out->stale, "%s", choice->stale ? choice->stale_why : "");
  }
  return st;
}

static mlaf_status try_build(planner *p, const mlaf_choice *choice, start_fn start, mlaf_rung rung, mlaf_err *err) {
  mlaf_build b = {.n = 0};
  mlaf_status st = start(p, choice, &b, err);
  if (!st) st = plan_from_choice(p, &b, choice, rung, err);
  mlaf_build_clear(&b);
  return st;
}

/* HARD fields, without a word: what is passed over was said when the nearest choice was looked for. */
static bool holds(void *user, const mlaf_choice *c) {
  planner *p = user;
  mlaf_err ignored;
  return !is_refused(p, c) && !check_hashes(p, c, &ignored);
}

static bool failed_here(planner *p, const char *variant) {
  mlaf_sample *samples = NULL;
  size_t n = 0;
  const bool bad = !mlaf_db_samples(p->ctx->db, info(p), p->problem, &samples, &n, NULL) && known_bad(p, samples, n, variant);
  free(samples);
  return bad;
}

/* Plans by all that was measured near: mostly the nearest choice's kernel, fitted; another neighbour's, or one that was
 * only timed there, or the model's own where they are clearly better. */
static mlaf_status stand_nearby(planner *p, const mlaf_nearby *n, const mlaf_gen_nearby *x, mlaf_err *err) {
  if (x->from < 0) return try_variant(p, &x->variant, MLAF_RUNG_MODEL, err);
  const mlaf_nearby_item *item = &n->items[x->from];
  mlaf_choice of = n->choices[item->choice];
  mlaf_build b = {.n = 0};
  of.kernels[0] = item->kernel;
  of.ns = item->ns;
  of.error = item->error;
  mlaf_status st = mlaf_build_init(&x->variant, &b, err);
  if (!st) keep_refs(&of, &b);
  if (!st) st = plan_from_choice(p, &b, &of, MLAF_RUNG_NEAREST, err);
  mlaf_build_clear(&b);
  return st;
}

static mlaf_status try_nearby(planner *p, const mlaf_choice *nearest, mlaf_err *err) {
  mlaf_nearby *n = NULL;
  mlaf_gen_nearby x = {.from = -1};
  mlaf_gen *gen;
  char why[600];
  mlaf_status st = mlaf_ctx_gen(p->ctx, &gen, err);
  if (!st)
    st = mlaf_nearby_gather(p->ctx->db, info(p), mlaf_ctx_toolchain(p->ctx), p->problem, !may_ask_model(p), holds, p, &n, err);
  if (!st) st = mlaf_nearby_choose(n, gen, mlaf_question(p->problem, p->opts->flags).s, info(p)->target, may_ask_model(p), &x,
                                   err);
  if (!st && failed_here(p, x.variant.name)) st = mlaf_fail(err, MLAF_E_NOT_TUNED, "%s failed here", x.variant.name);
  if (!st) st = stand_nearby(p, n, &x, err);
  if (!st && (x.from < 0 || strcmp(p->out->tuned_for, nearest->problem) != 0 || x.ns != x.nearest_ns)) {
    mlaf_nearby_reason(n, &x, why, sizeof why);
    mlaf_text_fmt(&p->notes, "%schoice %s of %s is nearest, but %s", p->notes.len ? "; " : "", nearest->variant,
                  nearest->problem, why);
    if (!p->missing) mlaf_log_line(&p->ctx->log, MLAF_LOG_INFO, "plan: %s", why);
  }
  mlaf_variant_clear(&x.variant);
  free(n);
  return st;
}

/* A neighbour's choice is compared with what else is known near and fitted to the problem; where that cannot be had (no
 * generator, a kernel in no cache), it is fitted alone or serves as it was tuned. Of a library's only what was timed beside it
 * counts. A choice for a point that rounds to the same serves as it was tuned, or fitted where that does not load. */
static mlaf_status try_choice(planner *p, const mlaf_choice *choice, mlaf_rung rung, mlaf_err *err) {
  mlaf_err ignored;
  if (rung == MLAF_RUNG_NEAREST && !try_nearby(p, choice, &ignored)) return MLAF_OK;
  if (choice->distance > 0 && mlaf_is_library(choice->variant))
    return mlaf_fail(err, MLAF_E_NOT_TUNED, "a library proposes for one number of tokens: tune this one");
  if (choice->distance > 0 && !try_build(p, choice, start_refit, rung, &ignored)) return MLAF_OK;
  mlaf_status st = try_build(p, choice, start_build, rung, err);
  const bool refit = st && choice->distance == 0 && mlaf_point_order(p->problem, &choice->at) != 0;
  return refit && !try_build(p, choice, start_refit, rung, &ignored) ? MLAF_OK : st;
}

/* The outcome of try_choice. A library's product may be for another number of tokens or another version (NOT_TUNED), and the
 * library need not be here (NO_DEVICE). */
static void give_up(planner *p, const mlaf_choice *c, const mlaf_err *why) {
  if (why->status == MLAF_E_NOT_TUNED || why->status == MLAF_E_NO_DEVICE) does_not_apply(p, c, why);
  else pass_over(p, why, "choice %s of %s", c->variant, c->problem);
  refuse(p, c);
}

/* The best usable choice, or NOT_TUNED; a database that fails is passed over like one that is empty. */
static mlaf_status choose(planner *p, mlaf_choice *choice, mlaf_rung *rung) {
  mlaf_err why = {MLAF_OK, ""};
  if (!p->ctx->db) {
    mlaf_fail(&p->last, MLAF_E_NOT_TUNED, "no tuning database: %.4000s", p->ctx->db_why.text);
    return MLAF_E_NOT_TUNED;
  }
  mlaf_status st = mlaf_db_choose_if(p->ctx->db, info(p), mlaf_ctx_toolchain(p->ctx), p->problem, accept_choice, p,
                                     choice, rung, &why);
  if (st && st != MLAF_E_NOT_TUNED) {
    why.status = MLAF_E_NOT_TUNED;
    pass_over(p, &why, "the database");
  } else if (st && !p->n_refused) {
    p->last = why;
    if (p->ctx->db_why.status) /* the site's and the shipped choices were all there was to ask */
      mlaf_fail(&p->last, MLAF_E_NOT_TUNED, "no tuning database: %.4000s", p->ctx->db_why.text);
  }
  return st ? MLAF_E_NOT_TUNED : MLAF_OK;
}

/* Times of other lengths answer another question: before a choice for them what was timed here with the caller's. */
static mlaf_status from_lengths(planner *p, const char *lengths) {
  mlaf_choice choice;
  mlaf_err why = {MLAF_OK, ""};
  if (!p->ctx->db) return MLAF_E_NOT_TUNED;
  while (p->n_refused < REFUSED_MAX &&
         !mlaf_db_choose_lengths(p->ctx->db, info(p), p->problem, lengths, accept_choice, p, &choice, &why)) {
    if (!try_choice(p, &choice, MLAF_RUNG_EXACT, &why)) return MLAF_OK;
    p->library |= mlaf_is_library(choice.variant);
    give_up(p, &choice, &why);
  }
  mlaf_text_fmt(&p->notes, "%s%s", p->notes.len ? "; " : "", why.text);
  return MLAF_E_NOT_TUNED;
}

static bool may_guess_library(const planner *p) {
  const bool asked = p->opts->flags & MLAF_PLAN_LIBRARY && p->opts->effort != MLAF_EFFORT_DB_ONLY;
  return asked && p->problem->op->calls->libraries && mlaf_ops(mlaf_ctx_device(p->ctx))->features & MLAF_DEVICE_LIBRARIES;
}

/* A library's product that nobody tuned, where one is known to be better than any kernel: before what is fitted or guessed. */
static mlaf_status from_library(planner *p) {
  mlaf_variant *list = NULL;
  size_t n = 0;
  mlaf_gen *gen;
  mlaf_err why = {MLAF_OK, ""};
  mlaf_status st = mlaf_ctx_gen(p->ctx, &gen, &why);
  if (!st) st = mlaf_gen_known_library(gen, mlaf_point_text(p->problem).s, info(p)->target, &list, &n, &why);
  if (!st && n) {
    st = try_variant(p, &list[0], MLAF_RUNG_MODEL, &why);
    why.status = st;
    if (st) skip(p, st != MLAF_E_NO_DEVICE, &why, list[0].name); /* the library is not here */
  }
  const bool none = !n;
  mlaf_variants_free(list, n);
  return st || none ? MLAF_E_NOT_TUNED : MLAF_OK;
}

static mlaf_status from_database(planner *p) {
  mlaf_choice choice;
  mlaf_rung rung;
  bool asked = !p->lengths_text[0]; /* for what was timed with the caller's lengths */
  bool guessed = !may_guess_library(p); /* for a library's product that is known to be better */
  bool beside = false;              /* for what was timed beside a library that does not serve */
  mlaf_hashes_load(&p->ctx->hashes, mlaf_compiler_cache_dir(p->ctx->compiler), p->ctx->gen_root);
  while (p->n_refused < REFUSED_MAX) {
    mlaf_err why = {MLAF_OK, ""};
    const bool none = choose(p, &choice, &rung) != MLAF_OK;
    if (!asked && (none || rung != MLAF_RUNG_EXACT || strcmp(choice.lengths, p->lengths_text) != 0)) {
      asked = true;
      if (!from_lengths(p, p->lengths_text)) return MLAF_OK;
      continue; /* that choice may have been refused meanwhile */
    }
    if (!guessed && (none || rung != MLAF_RUNG_EXACT)) {
      guessed = true;
      if (!from_library(p)) return MLAF_OK;
      continue;
    }
    if (p->library && !beside && (none || rung != MLAF_RUNG_EXACT)) {
      beside = true;
      if (!from_lengths(p, p->lengths_text[0] ? p->lengths_text : "equal")) return MLAF_OK;
      continue;
    }
    if (none && p->single && !p->singles_too && !may_ask_model(p)) { /* nobody else answers */
      p->singles_too = true;
      continue;
    }
    if (none) break;
    mlaf_status st = try_choice(p, &choice, rung, &why);
    if (!st) return MLAF_OK;
    why.status = st;
    p->library |= mlaf_is_library(choice.variant) && choice.distance == 0;
    give_up(p, &choice, &why);
  }
  return MLAF_E_NOT_TUNED;
}

/* --- the generator's rungs --- */

/* Tries variants of a list until one serves, MODEL_TRIES at most. Those before `from` were tried: a variant with the first kernel
 * of one of them is passed over. */
static mlaf_status try_list(planner *p, const mlaf_sample *samples, size_t n_samples, const mlaf_variant *list, size_t from,
                            size_t n) {
  mlaf_err why = {MLAF_OK, ""};
  mlaf_status st = MLAF_E_NOT_TUNED;
  for (size_t i = from, tries = 0; st && i < n && tries < MODEL_TRIES; i++) {
    const size_t first = strcspn(list[i].name, "/");
    size_t same = 0;
    while (same < from && strncmp(list[same].name, list[i].name, first + 1) != 0) same++;
    if (same < from || known_bad(p, samples, n_samples, list[i].name)) continue;
    tries++;
    st = try_variant(p, &list[i], MLAF_RUNG_MODEL, &why);
    if (!st) break;
    why.status = st;
    pass_over(p, &why, "model's %s", list[i].name);
    if (st == MLAF_E_NO_COMPILER) break; /* the next candidate will not find one either */
  }
  return st;
}

/* The model's first variants, and where none of them serves those behind them that have another first kernel: the first ones may
 * be one kernel with several that merge. */
static mlaf_status from_model(planner *p, mlaf_gen *gen) {
  mlaf_err why = {MLAF_OK, ""};
  mlaf_variant *list = NULL;
  mlaf_sample *samples = NULL;
  size_t n = 0, n_samples = 0, most = MODEL_TRIES, tried = 0;
  if (p->ctx->db && mlaf_db_samples(p->ctx->db, info(p), p->problem, &samples, &n_samples, NULL)) n_samples = 0;
  for (size_t i = 0; i < n_samples; i++) most += mlaf_sample_is_bad(&samples[i], mlaf_ctx_toolchain(p->ctx));
  mlaf_status st = MLAF_E_NOT_TUNED;
  for (int ask = 0; ask < 2 && st && st != MLAF_E_NO_COMPILER && p->trouble.status != MLAF_E_KILLED; ask++, most *= 8) {
    const mlaf_point_string question = mlaf_question(p->problem, p->opts->flags);
    const mlaf_status got = mlaf_gen_best(gen, question.s, info(p)->target, most, &list, &n, &why);
    if (got) {
      pass_over(p, &why, "the model");
      st = got;
      break;
    }
    st = try_list(p, samples, n_samples, list, tried, n);
    tried = n;
    mlaf_variants_free(list, n);
    if (n < most) break;
  }
  free(samples);
  return st;
}

static mlaf_status from_baseline(planner *p, mlaf_gen *gen) {
  mlaf_err why = {MLAF_OK, ""};
  mlaf_variant v = {.name = NULL};
  mlaf_status st = mlaf_gen_baseline(gen, mlaf_point_text(p->problem).s, info(p)->target, &v, &why);
  const bool made = !st; /* else there is none for this problem here: the error says so, if nothing else serves */
  if (made) st = try_variant(p, &v, MLAF_RUNG_BASELINE, &why);
  why.status = st;
  if (st) skip(p, made, &why, "the baseline");
  mlaf_variant_clear(&v);
  return st;
}

static mlaf_status from_generator(planner *p) {
  mlaf_err why = {MLAF_OK, ""};
  mlaf_gen *gen;
  mlaf_status st = mlaf_ctx_gen(p->ctx, &gen, &why);
  if (st) {
    pass_over(p, &why, "the generator");
    return st;
  }
  return from_model(p, gen) ? from_baseline(p, gen) : MLAF_OK;
}

/* --- MEASURE --- */

/* Is what we stand on already as good as tuning here would make it? */
static bool is_tuned_here(const planner *p) {
  if (!p->out->loaded || p->out->rung != MLAF_RUNG_EXACT || p->out->stale[0]) return false;
  return !p->lengths_text[0] || !strcmp(p->out->lengths, p->lengths_text);
}

/* Tune, and stand on what the tuner chose: its result, not the database, because a run may have had nowhere to write.
 */
static mlaf_status measure(planner *p, bool *out_of_time, mlaf_err *err) {
#ifdef MLAF_HAVE_TUNE
  mlaf_gen *gen;
  mlaf_tuner_result r = {.items = NULL};
  mlaf_status st = mlaf_ctx_gen(p->ctx, &gen, err);
  if (st) return st;
  const mlaf_tuner_env env = {.device = mlaf_ctx_device(p->ctx),
                              .db = p->ctx->db,
                              .gen = gen,
                              .compiler = p->ctx->compiler,
                              .log = &p->ctx->log};
  const mlaf_tuner_opts opts = {.time_limit_s = p->opts->time_limit_s, .lengths = p->lengths,
                                .no_libraries = !(p->opts->flags & MLAF_PLAN_LIBRARY)};
  st = mlaf_tuner_run(&env, p->problem, &opts, &r, err);
  p->out->compiles += (int)r.compiles;
  *out_of_time = st && !r.has_choice && r.stopped[0] && st != MLAF_E_CANCELLED;
  if (!st || r.has_choice) st = try_choice(p, &r.choice, MLAF_RUNG_EXACT, err);
  mlaf_tuner_result_clear(&r);
  return st;
#else
  return mlaf_fail(err, MLAF_E_ARG, "this build has no tuner: use effort ESTIMATE or DB_ONLY");
#endif
}

static mlaf_status below_bundle(planner *p) {
  bool out_of_time = false;
  mlaf_status st = from_database(p);
  if (p->opts->effort == MLAF_EFFORT_MEASURE && !is_tuned_here(p)) {
    mlaf_err why = {MLAF_OK, ""};
    mlaf_loaded_close(p->out->loaded);
    p->out->loaded = NULL;
    why.status = st = measure(p, &out_of_time, &why);
    if (st) pass_over(p, &why, "tuning");
    /* A caller who asks for a measurement and cannot have it wants to know, not to run something else. A limit that was too
     * short for even one candidate is what the caller chose: then the lower rungs have to do. */
    if (!out_of_time) return st;
    p->n_refused = 0;
    st = from_database(p);
  }
  if (!st || p->opts->effort == MLAF_EFFORT_DB_ONLY) return st;
  return from_generator(p);
}

/* --- batch invariance --- */

/* The one variant of the shape: no choice of the database, nor another variant, may stand in for it. */
static mlaf_status from_invariant(planner *p) {
  mlaf_gen *gen;
  mlaf_variant v = {.name = NULL};
  mlaf_err why = {MLAF_OK, ""};
  if (p->ctx->bundle)
    return mlaf_fail(&p->last, MLAF_E_NOT_TUNED, "BATCH_INVARIANT: bundles hold no batch-invariant kernels: open the context "
                     "without one");
  mlaf_status st = mlaf_ctx_gen(p->ctx, &gen, &why);
  if (!st) st = mlaf_gen_invariant(gen, mlaf_point_text(p->problem).s, info(p)->target, &v, &why);
  if (st == MLAF_E_TEMPLATE) st = MLAF_E_NOT_TUNED;
  if (!st) st = try_variant(p, &v, MLAF_RUNG_MODEL, &why);
  mlaf_variant_clear(&v);
  if (st) mlaf_fail(&p->last, st, "BATCH_INVARIANT: %s", why.text);
  return st;
}

/* Plans a problem that is like another one as that one is planned, where nothing was tuned for itself. */
static mlaf_status from_like(planner *p) {
  const mlaf_op *op = p->asked->op;
  mlaf_point like = *p->asked;
  for (int i = 0; i < op->n_fields; i++)
    if (op->fields[i].like) like.v[i] = 0;
  if (!mlaf_point_order(&like, p->asked) || p->opts->effort == MLAF_EFFORT_MEASURE) return MLAF_E_NOT_TUNED;
  if (!from_database(p)) return MLAF_OK;
  p->n_refused = 0;
  p->problem = &like;
  const mlaf_status st = below_bundle(p);
  p->problem = p->asked;
  if (st || p->out->rung != MLAF_RUNG_BASELINE) return st;
  mlaf_loaded_close(p->out->loaded); /* none of those variants serves this problem: its own are better */
  p->out->loaded = NULL;
  p->n_refused = 0;
  return MLAF_E_NOT_TUNED;
}

static mlaf_status run_ladder(planner *p) {
  if (p->opts->flags & MLAF_PLAN_BATCH_INVARIANT) return from_invariant(p);
  if (!p->ctx->bundle || p->opts->effort == MLAF_EFFORT_MEASURE) return from_like(p) ? below_bundle(p) : MLAF_OK;
  mlaf_err ignored = {MLAF_OK, ""};
  mlaf_status st = mlaf_planner_bundle(p->ctx, p->problem, may_ask_model(p), p->out, &p->notes, &p->last);
  if (!st || !may_compile(p)) return st; /* without a compiler the bundle is all there is */
  mlaf_log_line(&p->ctx->log, MLAF_LOG_INFO, "plan: %s", p->last.text);
  st = below_bundle(p);
  /* A choice that lay too far is better than nothing. */
  if (!st || p->trouble.status == MLAF_E_KILLED) return st;
  return mlaf_planner_bundle(p->ctx, p->problem, false, p->out, &p->notes, &ignored) ? st : MLAF_OK;
}

static mlaf_status run(mlaf_ctx *ctx, const mlaf_point *problem, const mlaf_plan_opts *opts, const mlaf_plan_inside *inside,
                       mlaf_missing_kernels *missing, mlaf_planned *out, mlaf_err *err) {
  planner *p = calloc(1, sizeof *p); /* the refused list is too large for a small thread stack */
  if (!p) return mlaf_fail(err, MLAF_E_NOMEM, "no memory to plan");
  *out = (mlaf_planned){.source = "none"};
  p->ctx = ctx;
  p->problem = p->asked = problem;
  p->opts = opts;
  p->inside = inside;
  p->out = out;
  p->missing = missing;
  if (opts->lengths && !mlaf_lengths_parse(opts->lengths, &p->lengths, err)) mlaf_lengths_print(&p->lengths, p->lengths_text);
  p->notes = MLAF_TEXT_INIT(NOTES_MAX);
  p->last = (mlaf_err){MLAF_E_NOT_TUNED, "no usable choice"};
  mlaf_status st = run_ladder(p);
  if (st) {
    const mlaf_err *last = p->trouble.status ? &p->trouble : &p->last;
    st = last->status ? last->status : st;
    mlaf_fail(err, st, "%s", last->text);
    mlaf_text_free(&p->notes);
  } else {
    out->notes = mlaf_text_take(&p->notes);
  }
  free(p);
  return st;
}

mlaf_status mlaf_planner_run(mlaf_ctx *ctx, const mlaf_point *problem, const mlaf_plan_opts *opts, const mlaf_plan_inside *inside,
                             mlaf_planned *out, mlaf_err *err) {
  return run(ctx, problem, opts, inside, NULL, out, err);
}

void mlaf_planner_find_missing(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_plan_opts *opts, const mlaf_plan_inside *inside,
                              mlaf_missing_kernels *missing) {
  mlaf_planned nothing;
  mlaf_err ignored;
  if (ctx->bundle || opts->flags & MLAF_PLAN_NO_COMPILE || opts->effort == MLAF_EFFORT_MEASURE) return;
  if (!run(ctx, p, opts, inside, missing, &nothing, &ignored)) free(nothing.notes);
}
