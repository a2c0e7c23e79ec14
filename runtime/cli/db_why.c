/* `mlaforge db why PROBLEM`: every rung of the ladder, what was looked at on it, and why it holds or not. */
#include "cli/cli.h"
#include "compile/vendor.h"
#include "op/lengths.h"
#include "plan/nearby.h"
#include "op/nearest.h"

typedef struct why {
  cli *c;
  const mlaf_point *problem;
  const mlaf_device_info *dev;
  mlaf_db *db;
  mlaf_gen *gen;
  mlaf_rung taken; /* the first rung that holds; MLAF_RUNG_BASELINE + 1: none yet */
  bool by_lengths; /* a sample of the lengths asked for holds, before any choice */
  char own[256];   /* the model's own variant where it is clearly better than what was measured near */
  bool lacking;    /* memory, for some of it */
  char reason[300];
} why;

static void note(why *w, mlaf_status status) { w->lacking |= status == MLAF_E_NOMEM; }

static void step(why *w, const char *rung, bool holds, const char *what, const char *reason) {
  if (w->c->json) {
    mlaf_cli_print("rung", TEXT("rung", rung), FLAG("holds", holds), TEXT("what", what), TEXT("why", reason));
  } else {
    printf("%-9s %s  %s\n%s%s%s", rung, holds ? "yes" : "no ", what, *reason ? "               " : "", reason, *reason ?
           "\n" : "");
  }
}

/* A library's product: the library of this machine, by the key that its code would have. */
static mlaf_status same_library(why *w, const mlaf_choice *choice, const mlaf_kernel_desc *now, mlaf_err *err) {
  mlaf_compiler *compiler = NULL;
  mlaf_compile_job job = {.target = w->dev->target, .name = now->symbol};
  char *source = NULL;
  if (choice->distance > 0) return mlaf_fail(err, MLAF_E_NOT_TUNED, "a library proposes for one number of tokens: tune this one");
  mlaf_status status = mlaf_gen_render(w->gen, now, w->dev->target, &source, NULL, err);
  if (status == MLAF_OK) status = mlaf_gen_options(w->gen, w->dev->target, &job.options, err);
  if (status == MLAF_OK) status = mlaf_compiler_open(&(mlaf_compiler_opts){.jobs = 1}, &w->c->log, &compiler, err);
  job.source = source;
  if (status == MLAF_OK) status = mlaf_compile_key(compiler, &job, err);
  if (status == MLAF_OK && strcmp(job.key, choice->kernels[0].code_key) != 0)
    status = mlaf_fail(err, MLAF_E_NOT_TUNED, "HARD: timed with another version of the library: tune again");
  mlaf_compiler_close(compiler);
  free(source);
  return status;
}

/* The HARD field that only the generator knows: are the templates still those it was tuned with? */
static bool same_templates(void *user, const mlaf_choice *choice) {
  why *w = user;
  mlaf_err err = {MLAF_OK, ""};
  mlaf_point at;
  mlaf_variant v = {.name = NULL};
  w->reason[0] = 0;
  if (!mlaf_in_reach(w->problem, choice->distance, false)) {
    snprintf(w->reason, sizeof w->reason, "%.1f doublings of batch and ctx away: the model looks at the problem itself",
             choice->distance);
    return false;
  }
  bool named = !choice->kernels[0].template_hash[0]; /* a default that only names its variant */
  mlaf_status status = mlaf_point_parse(NULL, choice->problem, &at, NULL, 0);
  if (status == MLAF_OK)
    status = mlaf_gen_variant(w->gen, mlaf_point_text(named ? w->problem : &at).s, w->dev->target, choice->variant, &v, &err);
  note(w, status);
  if (status != MLAF_OK) {
    snprintf(w->reason, sizeof w->reason, "HARD: the generator no longer makes this variant: %.*s",
             (int)strcspn(err.text, "\n") > 200 ? 200 : (int)strcspn(err.text, "\n"), err.text);
    return false;
  }
  char *one = NULL;
  if (mlaf_stands_back(w->problem, &at) && !mlaf_gen_serve(w->gen, mlaf_point_text(w->problem).s, w->dev->target,
                                                           choice->variant, &one, &err) && one)
    snprintf(w->reason, sizeof w->reason, "tuned for one request: %.250s", one);
  free(one);
  for (int i = 0; i < MLAF_STAGES_MAX && !named && !w->reason[0]; i++) {
    const mlaf_kernel_desc *now = &v.kernels[i];
    const mlaf_kernel_ref *then = &choice->kernels[i];
    if (then->template_name[0] && (!now->template_name || strcmp(now->template_hash, then->template_hash) != 0))
      snprintf(w->reason, sizeof w->reason, "HARD: template %s was edited since (%.12s then, %.12s now): tune again",
               then->template_name, then->template_hash, now->template_name ? now->template_hash : "none");
  }
  if (mlaf_is_library(choice->variant) && !w->reason[0] && (status = same_library(w, choice, &v.kernels[0], &err)) != MLAF_OK)
    snprintf(w->reason, sizeof w->reason, "%.280s", err.text);
  note(w, status);
  mlaf_variant_clear(&v);
  return !w->reason[0];
}

/* Distance of the nearest choice and of what else was measured near, and what the plan makes of it. */
static size_t fitted(why *w, const mlaf_db_considered *x, char *out, size_t size) {
  mlaf_gen_nearby y = {.from = -1};
  mlaf_nearby *near = NULL;
  mlaf_err err = {MLAF_OK, ""};
  char taken[600] = "";
  mlaf_status st = x->rung != MLAF_RUNG_NEAREST ? MLAF_E_NOT_TUNED
                       : mlaf_nearby_gather(w->db, w->dev, NULL, w->problem, false, same_templates, w, &near, &err);
  w->reason[0] = 0; /* of farther choices */
  if (!st) st = mlaf_nearby_choose(near, w->gen, mlaf_question(w->problem, 0).s, w->dev->target, true, &y, &err);
  note(w, st);
  if (!st) mlaf_nearby_reason(near, &y, taken, sizeof taken);
  else if (!mlaf_gen_refit(w->gen, mlaf_question(w->problem, 0).s, w->dev->target, x->choice->variant, &y.variant, NULL))
    snprintf(taken, sizeof taken, "the splits the model gives it here: %s", y.variant.name);
  if (!st && y.from < 0) snprintf(w->own, sizeof w->own, "%s", y.variant.name);
  const char *then = !st ? "; taken: " : *taken ? ", with " : "";
  int n = snprintf(out, size, "; %.2f doublings of batch and ctx away%s%s", x->distance, then, taken);
  mlaf_variant_clear(&y.variant);
  free(near);
  return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

/* Defaults and the model are for the target's usual device: one with other compute units wants other splits, and its time
 * differs. */
static void other_units(const why *w, char *out, size_t size) {
  mlaf_err ignored;
  int32_t usual = 0;
  out[0] = 0;
  if (!w->dev->compute_units || mlaf_gen_units(w->gen, w->dev->target, &usual, &ignored)) return;
  if (usual == w->dev->compute_units) return;
  snprintf(out, size, "for %d compute units, and this device has %d: its time is another, and other splits may win; tune it "
           "there", usual, w->dev->compute_units);
}

static void on_considered(void *user, const mlaf_db_considered *x) {
  why *w = user;
  char what[700], reason[1100] = "";
  snprintf(what, sizeof what, "%s layer%s%s%s: choice of %s on %s: %s", mlaf_layer_name(x->layer),
           x->layer == MLAF_LAYER_USER ? "" : " (", x->layer == MLAF_LAYER_USER ? "" : x->layer_path,
           x->layer == MLAF_LAYER_USER ? "" : ")", x->problem, x->device, x->choice ? x->choice->variant : "?");
  if (!x->choice && strcmp(x->verdict, MLAF_DB_UNREAD) == 0) note(w, MLAF_E_NOMEM);
  if (!x->choice) snprintf(reason, sizeof reason, "%s", x->verdict);
  else if (x->verdict) snprintf(reason, sizeof reason, "%s", w->reason[0] ? w->reason : x->verdict);
  else {
    snprintf(reason, sizeof reason, "%.2f us %s%s%s", x->choice->ns / 1e3, mlaf_source_name(x->choice->source),
             strcmp(x->choice->lengths, "equal") ? ", lengths " : "", strcmp(x->choice->lengths, "equal") ?
                 x->choice->lengths : "");
    size_t n = strlen(reason);
    if (x->rung == MLAF_RUNG_DEFAULT) {
      char units[200];
      other_units(w, units, sizeof units);
      if (units[0]) n += (size_t)snprintf(reason + n, sizeof reason - n, " %s", units);
    }
    if (x->distance > 0) n += fitted(w, x, reason + n, sizeof reason - n);
    if (x->choice->stale) snprintf(reason + n, sizeof reason - n, "; SOFT: %s: usable, worth tuning again", x->choice->stale_why);
    if (!w->by_lengths) w->taken = w->own[0] ? MLAF_RUNG_MODEL : x->rung;
    else n = strlen(reason), snprintf(reason + n, sizeof reason - n, "; not needed: a sample of the lengths asked for holds");
  }
  w->reason[0] = 0;
  step(w, mlaf_rung_name(x->rung), !x->verdict && !w->by_lengths && !w->own[0], what, reason);
}

/* Choices of the problem's shape that HARD fields keep away from this device. */
static bool other_device(void *user, const char *device, const mlaf_choice *choice) {
  why *w = user;
  char text[MLAF_POINT_TEXT_MAX], arch[80], what[600];
  mlaf_point_print(w->problem, text, sizeof text);
  snprintf(arch, sizeof arch, "arch:%s", w->dev->target);
  if (strcmp(device, w->dev->id) == 0 || strcmp(device, arch) == 0 || strcmp(choice->problem, text) != 0) return true;
  snprintf(what, sizeof what, "%s layer: choice of %s on %s", mlaf_layer_name(choice->layer), choice->problem, device);
  step(w, "exact", false, what, "HARD: another device (architecture, features, CUs, XCCs or partition differ)");
  return true;
}

static void model_rungs(why *w) {
  cli *c = w->c;
  mlaf_variant *list = NULL, base = {.name = NULL};
  size_t n = 0;
  mlaf_err err = {MLAF_OK, ""};
  char what[400];
  mlaf_status status = mlaf_gen_space(w->gen, mlaf_question(w->problem, 0).s, w->dev->target, &list, &n, &err);
  note(w, status);
  bool any = status == MLAF_OK && n && !list[0].rejected;
  if (any) snprintf(what, sizeof what, "the generator's best estimate: %s", list[0].name);
  else snprintf(what, sizeof what, "the generator has no candidate");
  if (w->own[0]) snprintf(what, sizeof what, "the generator's own, as said above: %s", w->own);
  const bool holds = any && (w->taken > MLAF_RUNG_MODEL || w->own[0]);
  char units[200], said[300];
  other_units(w, units, sizeof units);
  snprintf(said, sizeof said, "not verified on this device%s%s%s", units[0] ? "; estimated " : "", units,
           units[0] ? "" : ": tune it");
  step(w, "model", holds, what, !any ? err.text : holds ? said : "not needed: a tuned choice holds");
  if (any && w->taken > MLAF_RUNG_MODEL) w->taken = MLAF_RUNG_MODEL;
  mlaf_variants_free(list, n);
  status = mlaf_gen_baseline(w->gen, mlaf_point_text(w->problem).s, w->dev->target, &base, &err);
  note(w, status);
  snprintf(what, sizeof what, "the variant that always works: %s", status == MLAF_OK ? base.name : "none");
  step(w, "baseline", status == MLAF_OK && w->taken > MLAF_RUNG_BASELINE, what,
       status != MLAF_OK ? err.text : w->taken <= MLAF_RUNG_MODEL ? "not needed: a rung above holds" : "");
  mlaf_variant_clear(&base);
  (void)c;
}

/* The device's identity alone matters: it need not be here. */
static mlaf_status which_device(cli *c, mlaf_device_info *out, char *toolchain, size_t size) {
  const char *id = c->given[O_DEVICE_ID];
  *out = (mlaf_device_info){.compute_units = 0};
  toolchain[0] = 0;
  if (id) {
    snprintf(out->id, sizeof out->id, "%s", id);
    mlaf_target_of_device(id, out->target, sizeof out->target);
    return mlaf_units_of_device(id, &out->compute_units, &c->err);
  }
  mlaf_device *dev = NULL;
  mlaf_compiler *compiler = NULL;
  const char *text = NULL;
  mlaf_status status = mlaf_cli_open_device(c, &dev);
  if (status != MLAF_OK) return status;
  *out = *mlaf_info(dev);
  mlaf_device_close(dev);
  if (mlaf_compiler_open(&(mlaf_compiler_opts){.jobs = 1}, &c->log, &compiler, NULL) != MLAF_OK) return MLAF_OK;
  if (mlaf_compiler_identity_for(compiler, out->target, &text, NULL) == MLAF_OK) snprintf(toolchain, size, "%s", text);
  mlaf_compiler_close(compiler);
  return MLAF_OK;
}

/* --lengths, which a plan's options may name, too: unless the problem's choice is for them, what was timed with them. */
static mlaf_status lengths_rung(why *w, mlaf_db *db, const mlaf_lengths *lengths) {
  char text[MLAF_LENGTHS_TEXT_MAX], what[400], reason[200];
  mlaf_choice choice;
  mlaf_rung rung;
  mlaf_err err = {MLAF_OK, ""};
  mlaf_lengths_print(lengths, text);
  if (!mlaf_db_peek(db, w->dev, NULL, w->problem, &choice, &rung, &err) && rung == MLAF_RUNG_EXACT &&
      !strcmp(choice.lengths, text) && same_templates(w, &choice))
    return MLAF_OK;
  mlaf_status status = mlaf_db_choose_lengths(db, w->dev, w->problem, text, same_templates, w, &choice, &err);
  if (status && status != MLAF_E_NOT_TUNED) return mlaf_fail(&w->c->err, status, "%s", err.text);
  w->by_lengths = !status;
  if (w->by_lengths) w->taken = MLAF_RUNG_EXACT;
  snprintf(what, sizeof what, "user layer: sample of lengths %s: %s", text, status ? "none" : choice.variant);
  if (!status) snprintf(reason, sizeof reason, "%.2f us %s", choice.ns / 1e3, mlaf_source_name(choice.source));
  else snprintf(reason, sizeof reason, "%.150s", w->reason[0] ? w->reason : err.text);
  w->reason[0] = 0;
  step(w, "exact", w->by_lengths, what, reason);
  return MLAF_OK;
}

/* The choice is a library's product that cannot serve here: then the best kernel that was timed beside it does. */
static bool beside_library(why *w, mlaf_db *db) {
  mlaf_choice choice;
  mlaf_rung rung;
  const bool exact = !mlaf_db_peek(db, w->dev, NULL, w->problem, &choice, &rung, NULL) && rung == MLAF_RUNG_EXACT;
  const bool beside = exact && mlaf_is_library(choice.variant) && !same_templates(w, &choice);
  w->reason[0] = 0;
  return beside;
}

int mlaf_cli_db_why(cli *c) {
  mlaf_point p;
  mlaf_device_info dev;
  char toolchain[256], reason[512], canonical[MLAF_POINT_TEXT_MAX];
  mlaf_db *db = NULL;
  mlaf_choice choice;
  mlaf_rung rung;
  mlaf_lengths lengths;
  if (c->n_arguments != 2) return mlaf_cli_usage(c, "db why wants a problem string");
  if (c->given[O_LENGTHS] && mlaf_lengths_parse(c->given[O_LENGTHS], &lengths, &c->err) != MLAF_OK) return mlaf_cli_fail(c);
  if (mlaf_op_stored(c->arguments[1]) != mlaf_op_of(c->arguments[1]))
    return mlaf_cli_usage(c, "%.40s... is a knob of several operations, which no plan serves: mlaforge %s says which value holds "
                          "and why", c->arguments[1],
                          strncmp(c->arguments[1], "mla_layer:", 10) ? "layer --crossover" : "tune layer --dry-run");
  if (mlaf_point_parse(NULL, c->arguments[1], &p, reason, sizeof reason) != MLAF_OK)
    return mlaf_cli_usage(c, "'%s': %s", c->arguments[1], reason);
  why w = {.c = c, .problem = &p, .dev = &dev, .taken = MLAF_RUNG_BASELINE + 1};
  mlaf_status status = which_device(c, &dev, toolchain, sizeof toolchain);
  if (status == MLAF_OK) status = mlaf_gen_open(NULL, &w.gen, &c->err);
  if (status == MLAF_OK && c->given[O_DEVICE_ID] && mlaf_cli_check_target(c, w.gen, dev.target) != MLAF_OK) {
    mlaf_gen_close(w.gen);
    mlaf_fail_prefix(&c->err, MLAF_E_ARG, "--device-id '%s'", c->given[O_DEVICE_ID]);
    return mlaf_cli_fail(c);
  }
  if (status == MLAF_OK) status = mlaf_db_open_layered(c->given[O_DB], true, &c->log, &db, &c->err);
  if (status != MLAF_OK && w.gen && status != MLAF_E_NOMEM) { /* which says nothing of the database */
    mlaf_log_line(&c->log, MLAF_LOG_WARN, "without the user's database: %s", c->err.text);
    status = mlaf_db_open_outer("it could not be opened", &c->log, &db, &c->err);
  }
  if (status != MLAF_OK) {
    mlaf_gen_close(w.gen);
    return mlaf_cli_fail(c);
  }
  w.db = db;
  mlaf_point_print(&p, canonical, sizeof canonical);
  if (!c->json) printf("problem   %s\ndevice    %s\n", canonical, dev.id);
  mlaf_err err = {MLAF_OK, ""};
  if (!c->given[O_LENGTHS]) lengths = (mlaf_lengths){.kind = MLAF_LENGTHS_EQUAL};
  if (c->given[O_LENGTHS] || beside_library(&w, db)) status = lengths_rung(&w, db, &lengths);
  if (status == MLAF_OK)
    status = mlaf_db_why(db, &dev, toolchain[0] ? toolchain : NULL, &p, same_templates, &w, on_considered, &w, &choice, &rung,
                         &err);
  note(&w, err.status);
  if (status == MLAF_E_NOT_TUNED) step(&w, "exact", false, "no usable choice in any layer", err.text);
  else if (status != MLAF_OK) step(&w, "exact", false, "the database cannot be asked", err.text);
  for (int i = 0; i < MLAF_LAYER_COUNT; i++) {
    mlaf_db *layer = mlaf_db_layer(db, (mlaf_choice_layer)i);
    status = layer ? mlaf_db_each_choice(layer, other_device, &w, &err) : MLAF_OK;
    if (status != MLAF_OK) note(&w, err.status);
    if (status != MLAF_OK) step(&w, "exact", false, mlaf_layer_name((mlaf_choice_layer)i), err.text);
  }
  model_rungs(&w);
  if (!c->json) printf("a plan stands on: %s\n", w.taken <= MLAF_RUNG_BASELINE ? mlaf_rung_name(w.taken) : "nothing");
  mlaf_db_close(db);
  mlaf_gen_close(w.gen);
  if (!w.lacking) return CLI_OK;
  mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory to look at every rung: what is said above may be wrong");
  return mlaf_cli_fail(c);
}
