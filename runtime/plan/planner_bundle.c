/* The rung that a bundle is: no database, no generator, no compiler. */
#include "op/nearest.h"
#include "plan/planner.h"
#include "run/build.h"

static void make_ref(const mlaf_bundle_kernel *k, mlaf_kernel_ref *ref) {
  *ref = (mlaf_kernel_ref){.threads = k->threads, .rows_per_wg = k->rows_per_wg};
  snprintf(ref->template_name, sizeof ref->template_name, "%s", k->template_name);
  snprintf(ref->params, sizeof ref->params, "%s", k->params);
  snprintf(ref->symbol, sizeof ref->symbol, "%s", k->symbol);
  snprintf(ref->template_hash, sizeof ref->template_hash, "%s", k->template_hash);
  snprintf(ref->src_hash, sizeof ref->src_hash, "%s", k->src_hash);
  snprintf(ref->code_key, sizeof ref->code_key, "%s", k->key);
}

static mlaf_status load(mlaf_ctx *ctx, const mlaf_bundle_fitted *f, const mlaf_point *p,
                        mlaf_loaded **out, mlaf_err *err) {
  mlaf_build b = {.knob = f->knob};
  mlaf_status st = MLAF_OK;
  snprintf(b.name, sizeof b.name, "%s", f->variant);
  for (int i = 0; !st && i < MLAF_STAGES_MAX; i++) {
    void *code = NULL;
    if (!f->kernels[i]) continue;
    b.n = i + 1;
    make_ref(f->kernels[i], &b.refs[i]);
    st = mlaf_bundle_code(ctx->bundle, f->kernels[i], &code, err);
    if (!st) st = mlaf_build_take(&b, i, code, f->kernels[i]->size, err);
  }
  if (!st) st = mlaf_build_load(&b, mlaf_ctx_device(ctx), p, out, err);
  mlaf_build_clear(&b);
  return st;
}

static mlaf_rung rung_of(const mlaf_bundle_plan *x, bool here) {
  for (int r = MLAF_RUNG_EXACT; r <= MLAF_RUNG_BASELINE; r++)
    if (!strcmp(mlaf_rung_name((mlaf_rung)r), x->rung))
      return r == MLAF_RUNG_EXACT && !here ? MLAF_RUNG_NEAREST : (mlaf_rung)r;
  return MLAF_RUNG_MODEL;
}

/* Plans outlive the context and its bundle, so the text must be static. */
static const char *source_of(const mlaf_bundle_plan *x) {
  for (int s = 0; s < MLAF_SRC_COUNT; s++)
    if (!strcmp(mlaf_source_name((mlaf_source)s), x->source)) return mlaf_source_name((mlaf_source)s);
  return "none";
}

static void describe(const mlaf_bundle_plan *x, const mlaf_bundle_fitted *f, const mlaf_point *p, mlaf_planned *out) {
  out->rung = rung_of(x, mlaf_point_distance(p, &x->problem) == 0);
  out->source = source_of(x);
  out->bundled = true;
  out->ns = x->ns;
  out->error = x->error;
  snprintf(out->variant, sizeof out->variant, "%s", f->variant);
  snprintf(out->tuned_for, sizeof out->tuned_for, "%s", x->text);
}

/* Length of a problem string without its batch and ctx, which stand last. */
static size_t shape_length(const char *text) {
  size_t n = strlen(text);
  for (int commas = 0; n && commas < 2; commas += text[n] == ',') n--;
  return n;
}

/* A few of the shapes there are, for whoever asked for another. */
static void list_shapes(const mlaf_bundle *b, const char *target, mlaf_text *out) {
  const char *last = "";
  int n = 0;
  for (size_t i = 0; i < b->n_plans; i++) { /* sorted: equal shapes stand together */
    const mlaf_bundle_plan *x = &b->plans[i];
    const size_t length = shape_length(x->text);
    if (strcmp(x->target, target) || (!strncmp(last, x->text, length) && shape_length(last) == length)) continue;
    last = x->text;
    if (++n <= 8) mlaf_text_fmt(out, "%s%.*s", n > 1 ? ", " : "", (int)length, x->text);
  }
  if (n > 8) mlaf_text_fmt(out, " and %d more", n - 8);
}

static mlaf_status not_in_bundle(const mlaf_ctx *ctx, const mlaf_point *p, mlaf_err *err) {
  const mlaf_bundle *b = ctx->bundle;
  const char *target = mlaf_info(mlaf_ctx_device(ctx))->target;
  char problem[MLAF_POINT_TEXT_MAX];
  mlaf_text shapes = MLAF_TEXT_INIT(2048);
  mlaf_point_print(p, problem, sizeof problem);
  list_shapes(b, target, &shapes);
  mlaf_fail(err, MLAF_E_NOT_COMPILED, "the bundle '%s' has no kernel for %s on %s (it has %s); to add it: mlaforge generate '%s' "
            "--targets %s --out %s --extend", b->dir, problem, target, shapes.data ? shapes.data : "none", problem, target,
            b->dir);
  mlaf_text_free(&shapes);
  return MLAF_E_NOT_COMPILED;
}

/* The rule of the database's choices; `list` is sorted by distance. */
static mlaf_status too_far(const mlaf_bundle_plan *nearest, const mlaf_point *p, mlaf_text *notes, mlaf_err *err) {
  const double far = mlaf_point_distance(p, &nearest->problem);
  if (mlaf_in_reach(p, far, false)) return MLAF_OK;
  mlaf_fail(err, MLAF_E_NOT_COMPILED, "the bundle's nearest, %s, is %.1f doublings of batch and ctx away: the model looks at the "
            "problem itself", nearest->text, far);
  mlaf_text_fmt(notes, "%s%s", notes->len ? "; " : "", err->text);
  return MLAF_E_NOT_COMPILED;
}

mlaf_status mlaf_planner_bundle(mlaf_ctx *ctx, const mlaf_point *p, bool in_reach, mlaf_planned *out, mlaf_text *notes,
                                mlaf_err *err) {
  mlaf_offer *list = NULL;
  size_t n = 0;
  mlaf_err why = {MLAF_OK, ""};
  mlaf_status st = mlaf_bundle_rank(ctx->bundle, mlaf_info(mlaf_ctx_device(ctx))->target, p, &list, &n, err);
  if (st) return st;
  if (!n) return not_in_bundle(ctx, p, err);
  if (in_reach && too_far(list[0].of, p, notes, err)) {
    free(list);
    return err->status;
  }
  for (size_t i = 0; i < n && (!i || st); i++) {
    const mlaf_bundle_plan *x = list[i].of;
    mlaf_bundle_fitted f;
    mlaf_bundle_fit(list, n, i, p, &f);
    st = load(ctx, &f, p, &out->loaded, &why);
    if (!st) {
      describe(x, &f, p, out);
      break;
    }
    mlaf_text_fmt(notes, "%sthe bundle's %s of %s: %.400s", notes->len ? "; " : "", x->variant, x->text, why.text);
    mlaf_log_line(&ctx->log, MLAF_LOG_WARN, "plan: passing over the bundle's %s of %s: %s", x->variant, x->text,
                  why.text);
  }
  free(list);
  if (!st) return MLAF_OK;
  return mlaf_fail(err, st, "no kernel of the bundle '%s' for this problem can be loaded: %s", ctx->bundle->dir, why.text);
}
