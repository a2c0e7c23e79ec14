/* The best usable choice of a problem: over all layers, nearest first, with every step open to whoever asks why. */
#include "op/nearest.h"
#include "db/db_internal.h"
#include "op/op.h"

typedef struct near_choice {
  mlaf_db *layer;
  int64_t id;
  double distance, apart; /* from the point asked for: mlaf_point_distance, and in doublings whatever they round to */
  int source;
  mlaf_point at;
  const mlaf_point *asked;
  char problem[MLAF_POINT_TEXT_MAX];
} near_choice;

typedef struct near_list {
  near_choice *items;
  size_t n;
} near_list;

/* Nearest first; then the better source (another's measurement ranks below one's own), then the nearer layer, then of those that
 * one plan serves the nearest. */
static int by_preference(const void *left, const void *right) {
  const near_choice *a = left, *b = right;
  if (a->distance != b->distance) return a->distance < b->distance ? -1 : 1;
  if (a->source != b->source) return a->source - b->source;
  if (a->layer->layer != b->layer->layer) return (int)a->layer->layer - (int)b->layer->layer;
  if (a->apart != b->apart) return a->apart < b->apart ? -1 : 1;
  return mlaf_point_first_of_equals(a->asked, &a->at, &b->at);
}

mlaf_source mlaf_db_effective(const mlaf_db *db, int source, bool imported) {
  return source == MLAF_SRC_MEASURED && (imported || db->layer != MLAF_LAYER_USER) ? MLAF_SRC_IMPORTED : (mlaf_source)source;
}

static near_choice *room(near_list *list) {
  return mlaf_room(&list->items, list->n, sizeof *list->items) ? &list->items[list->n] : NULL;
}

/* A row whose problem string does not belong to its family is damaged and passed over: planning goes on with the
 * others. false: no memory. */
static bool near_row(mlaf_db *db, sqlite3_stmt *s, const mlaf_point *p, near_list *list) {
  near_choice *x = room(list);
  if (!x) return false;
  int source = mlaf_source_find((const char *)sqlite3_column_text(s, 1));
  bool ok = mlaf_db_text(s, 3, x->problem, sizeof x->problem) && source >= 0;
  ok = ok && mlaf_point_stored(x->problem, &x->at, NULL, 0) == MLAF_OK && mlaf_point_same_shape(p, &x->at);
  if (!ok) return true;
  x->layer = db;
  x->asked = p;
  x->id = sqlite3_column_int64(s, 0);
  x->source = mlaf_db_effective(db, source, sqlite3_column_int(s, 2) != 0);
  x->distance = mlaf_point_distance(p, &x->at);
  x->apart = mlaf_point_doublings(p, &x->at);
  list->n++;
  return true;
}

/* The same of a text's row, which was checked. */
typedef struct text_rows {
  mlaf_db *db;
  const mlaf_point *p;
  near_list *list;
} text_rows;

static bool near_text(void *user, int64_t id, const mlaf_choice_row *row) {
  const text_rows *t = user;
  if (!mlaf_point_same_shape(t->p, &row->choice.at)) return true; /* it goes on with a word that says more of the shape */
  near_choice *x = room(t->list);
  if (!x) return false;
  memcpy(x->problem, row->choice.problem, sizeof x->problem);
  x->at = row->choice.at;
  x->layer = t->db;
  x->asked = t->p;
  x->id = id;
  x->source = mlaf_db_effective(t->db, row->choice.source, row->imported);
  x->distance = mlaf_point_distance(t->p, &x->at);
  x->apart = mlaf_point_doublings(t->p, &x->at);
  t->list->n++;
  return true;
}

/* All choices of the problem's family on one device in one layer. */
static mlaf_status find_near(mlaf_db *db, const char *device, const mlaf_point *p, near_list *list, mlaf_err *err) {
  if (db->texts) return mlaf_db_texts_near(db, device, p, near_text, &(text_rows){db, p, list}, err);
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_NEAR, err);
  if (!s) return MLAF_E_DB;
  char family[MLAF_POINT_TEXT_MAX] = "?";
  mlaf_point_family(p, family, sizeof family);
  sqlite3_bind_text(s, 1, family, -1, SQLITE_STATIC);
  sqlite3_bind_text(s, 2, device, -1, SQLITE_STATIC);
  sqlite3_bind_int(s, 3, MLAF_DB_PROTOCOL);
  int rc;
  bool memory = true;
  while (memory && (rc = mlaf_db_step(s)) == SQLITE_ROW) memory = near_row(db, s, p, list);
  mlaf_status status = !memory             ? mlaf_fail(err, MLAF_E_NOMEM, "no memory for the choices of a problem")
                       : rc == SQLITE_DONE ? MLAF_OK
                                           : mlaf_db_fail(db, err, "looking for a choice");
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  return status;
}

mlaf_status mlaf_db_choice_by_id(mlaf_db *db, int64_t id, mlaf_choice_row *row, mlaf_err *err) {
  if (db->texts) return mlaf_db_texts_row(db, id, row, err);
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_CHOICE_BY_ID, err);
  if (!s) return MLAF_E_DB;
  sqlite3_bind_int64(s, 1, id);
  int rc = mlaf_db_step(s);
  mlaf_status status = MLAF_OK;
  if (rc != SQLITE_ROW) status = mlaf_db_fail(db, err, "reading a choice");
  else if (!mlaf_db_choice_row(s, row)) status = mlaf_db_damaged_row(db, "choice", err);
  sqlite3_reset(s);
  row->choice.layer = db->layer;
  return status;
}

static bool soft_text(const char *what, const char *then, const char *now, mlaf_choice *c) {
  if (!now || strcmp(then, "*") == 0 || strcmp(then, now) == 0) return false;
  c->stale = true;
  snprintf(c->stale_why, sizeof c->stale_why, "tuned with %s '%.50s', now '%.50s'", what, then, now);
  return true;
}

static bool soft_number(const char *what, int32_t then, int32_t now, mlaf_choice *c) {
  if (then == -1 || then == now) return false;
  c->stale = true;
  snprintf(c->stale_why, sizeof c->stale_why, "tuned at %s %d MHz, now %d MHz", what, then, now);
  return true;
}

/* HARD fields selected the row; a SOFT one that differs flags it (the first found is named). */
static void judge_soft(mlaf_choice_row *row, const mlaf_device_info *dev, const char *toolchain) {
  mlaf_choice *c = &row->choice;
  c->stale = false;
  c->stale_why[0] = 0;
  if (!toolchain) return;
  if (soft_text("compiler", row->toolchain, toolchain, c) || soft_text("driver", row->driver, dev->driver, c)) return;
  if (soft_number("clock", row->clock_mhz, dev->clock_mhz, c)) return;
  soft_number("memory clock", row->mem_clock_mhz, dev->mem_clock_mhz, c);
}

typedef struct search {
  const mlaf_device_info *dev;
  const char *toolchain;
  const mlaf_point *problem;
  mlaf_db_accept_fn accept;
  void *user;
  mlaf_db_trace_fn trace;
  void *trace_user;
} search;

static void tell(const search *q, const near_choice *x, bool arch, const char *device, const mlaf_choice_row *row,
                 const char *verdict) {
  if (!q->trace) return;
  mlaf_db_considered c = {
      .rung = arch ? MLAF_RUNG_DEFAULT : x->distance == 0 ? MLAF_RUNG_EXACT : MLAF_RUNG_NEAREST,
      .layer = x->layer->layer,
      .layer_path = x->layer->path,
      .device = device,
      .problem = x->problem,
      .choice = row ? &row->choice : NULL,
      .distance = x->distance,
      .verdict = verdict,
  };
  q->trace(q->trace_user, &c);
}

static void sort(near_list *list) {
  if (list->n) qsort(list->items, list->n, sizeof *list->items, by_preference);
}

/* A layer that cannot be read is one layer less. */
static mlaf_status add_outer(mlaf_db *db, const char *device, const mlaf_point *p, near_list *list, mlaf_status status,
                             mlaf_err *err) {
  for (int i = 0; i < MLAF_LAYER_COUNT && status != MLAF_E_NOMEM; i++) {
    mlaf_db *layer = i == (int)MLAF_LAYER_USER ? NULL : mlaf_db_layer(db, (mlaf_choice_layer)i);
    mlaf_err why = {MLAF_OK, ""};
    if (!layer || find_near(layer, device, p, list, &why) == MLAF_OK) continue;
    mlaf_log_line(&db->log, MLAF_LOG_WARN, "%s tuning data are passed over: %s", mlaf_layer_name((mlaf_choice_layer)i), why.text);
    status = status == MLAF_OK && why.status == MLAF_E_NOMEM ? mlaf_fail(err, why.status, "%s", why.text) : status;
  }
  sort(list);
  return list->n && status != MLAF_E_NOMEM ? MLAF_OK : status;
}

/* Takes the row if it can be used. */
static bool take(const search *q, const near_choice *x, const char *device, bool arch, mlaf_choice *out) {
  mlaf_choice_row row;
  mlaf_err why = {MLAF_OK, ""};
  if (mlaf_db_choice_by_id(x->layer, x->id, &row, &why) != MLAF_OK) { /* damaged or just withdrawn: try the next */
    tell(q, x, arch, device, NULL, why.status == MLAF_E_NOMEM ? MLAF_DB_UNREAD : "its row is damaged");
    return false;
  }
  row.choice.distance = x->distance;
  row.choice.source = mlaf_db_effective(x->layer, row.choice.source, row.imported);
  judge_soft(&row, q->dev, q->toolchain);
  const char *verdict = NULL;
  const bool estimate = arch && !row.choice.kernels[0].template_hash[0];
  if (estimate && !mlaf_in_reach(q->problem, x->distance, estimate))
    verdict = "more than one doubling of batch and ctx away: the model picks better than a default";
  else if (q->accept && !q->accept(q->user, &row.choice)) verdict = "refused";
  tell(q, x, arch, device, &row, verdict);
  if (!verdict) *out = row.choice;
  return !verdict;
}

/* Nothing in an outer layer, where times are imported at best, precedes it: they need not be read. */
static bool settles(const near_list *list) {
  return list->n && list->items[0].distance == 0 && list->items[0].source <= MLAF_SRC_IMPORTED;
}

/* NOT_TUNED: nothing on this device. */
static mlaf_status choose_on(mlaf_db *db, const search *q, const char *device, bool arch, mlaf_choice *out, bool *exact,
                             mlaf_err *err) {
  near_list list = {0};
  mlaf_status status = find_near(db, device, q->problem, &list, err);
  sort(&list);
  const size_t asked = status == MLAF_OK && settles(&list);
  bool found = asked && take(q, &list.items[0], device, arch, out);
  *exact = found;
  if (!found) status = add_outer(db, device, q->problem, &list, status, err);
  for (size_t i = asked; status == MLAF_OK && !found && i < list.n; i++) {
    found = take(q, &list.items[i], device, arch, out);
    *exact = list.items[i].distance == 0;
  }
  free(list.items);
  return status != MLAF_OK ? status : found ? MLAF_OK : MLAF_E_NOT_TUNED;
}

static mlaf_status look(mlaf_db *db, const search *q, bool miss, mlaf_choice *out, mlaf_rung *rung, mlaf_err *err) {
  bool exact = false, arch = false;
  mlaf_choice found;
  const mlaf_device_info *dev = q->dev;
  mlaf_status status = choose_on(db, q, dev->id, false, &found, &exact, err);
  if (status == MLAF_E_NOT_TUNED) {
    char device[sizeof dev->target + 8];
    snprintf(device, sizeof device, "arch:%s", dev->target);
    status = choose_on(db, q, device, true, &found, &exact, err);
    arch = true;
  }
  if (status != MLAF_OK && status != MLAF_E_NOT_TUNED) return status;
  if (miss && (status != MLAF_OK || arch || !exact)) mlaf_db_record_miss(db, dev->id, q->problem);
  if (status != MLAF_OK) {
    char text[MLAF_POINT_TEXT_MAX] = "?";
    mlaf_point_print(q->problem, text, sizeof text);
    return mlaf_fail(err, MLAF_E_NOT_TUNED, "no tuned choice for %s on %s; tune it with: mlaforge tune '%s'", text,
                     dev->id, text);
  }
  *out = found;
  *rung = arch ? MLAF_RUNG_DEFAULT : exact ? MLAF_RUNG_EXACT : MLAF_RUNG_NEAREST;
  return MLAF_OK;
}

mlaf_status mlaf_db_choose_if(mlaf_db *db, const mlaf_device_info *dev, const char *toolchain, const mlaf_point *p,
                              mlaf_db_accept_fn accept, void *user, mlaf_choice *out, mlaf_rung *rung, mlaf_err *err) {
  return look(db, &(search){dev, toolchain, p, accept, user, NULL, NULL}, true, out, rung, err);
}

mlaf_status mlaf_db_choose(mlaf_db *db, const mlaf_device_info *dev, const char *toolchain, const mlaf_point *p,
                           mlaf_choice *out, mlaf_rung *rung, mlaf_err *err) {
  return mlaf_db_choose_if(db, dev, toolchain, p, NULL, NULL, out, rung, err);
}

mlaf_status mlaf_db_peek(mlaf_db *db, const mlaf_device_info *dev, const char *toolchain, const mlaf_point *p,
                         mlaf_choice *out, mlaf_rung *rung, mlaf_err *err) {
  return look(db, &(search){dev, toolchain, p, NULL, NULL, NULL, NULL}, false, out, rung, err);
}

mlaf_status mlaf_db_why(mlaf_db *db, const mlaf_device_info *dev, const char *toolchain, const mlaf_point *p,
                        mlaf_db_accept_fn accept, void *user, mlaf_db_trace_fn trace, void *trace_user, mlaf_choice *out,
                        mlaf_rung *rung, mlaf_err *err) {
  return look(db, &(search){dev, toolchain, p, accept, user, trace, trace_user}, false, out, rung, err);
}

/* --- by the lengths of requests --- */

static void as_choice(const mlaf_sample *s, const mlaf_point *p, mlaf_choice *out) {
  *out = (mlaf_choice){.at = *p, .knob = s->knob, .source = s->source, .ns = s->timing.ns, .error = s->error,
                       .layer = MLAF_LAYER_USER};
  mlaf_point_print(p, out->problem, sizeof out->problem);
  memcpy(out->kernels, s->kernels, sizeof out->kernels);
  memcpy(out->variant, s->variant, sizeof out->variant);
  memcpy(out->lengths, s->lengths, sizeof out->lengths);
}

/* *found: a sample of this very problem is taken. */
static mlaf_status take_lengths(mlaf_db *db, const mlaf_device_info *dev, const mlaf_point *p, const char *lengths,
                                mlaf_db_accept_fn accept, void *user, mlaf_choice *out, bool *found, mlaf_err *err) {
  mlaf_sample *list = NULL;
  size_t n = 0;
  mlaf_status status = mlaf_db_samples(db, dev, p, &list, &n, err);
  for (size_t i = 0; status == MLAF_OK && i < n && !*found; i++) { /* best first */
    const char *its = list[i].lengths[0] ? list[i].lengths : "equal";
    mlaf_choice c;
    if (list[i].outcome != MLAF_OUT_OK || strcmp(its, lengths) != 0) continue;
    as_choice(&list[i], p, &c);
    *found = !accept || accept(user, &c);
    if (*found) *out = c;
  }
  free(list);
  return status;
}

mlaf_status mlaf_db_choose_lengths(mlaf_db *db, const mlaf_device_info *dev, const mlaf_point *p, const char *lengths,
                                   mlaf_db_accept_fn accept, void *user, mlaf_choice *out, mlaf_err *err) {
  near_list list = {0};
  bool found = false;
  mlaf_status status = take_lengths(db, dev, p, lengths, accept, user, out, &found, err);
  if (status == MLAF_OK && !found) status = find_near(db, dev->id, p, &list, err);
  sort(&list);
  for (size_t i = 0; status == MLAF_OK && !found && i < list.n && list.items[i].distance == 0; i++)
    if (list.items[i].apart > 0)
      status = take_lengths(db, dev, &list.items[i].at, lengths, accept, user, out, &found, err);
  free(list.items);
  if (status != MLAF_OK || found) return status;
  return mlaf_fail(err, MLAF_E_NOT_TUNED, "nothing was tuned here with requests of lengths %s", lengths);
}
