/* Questions to the database: samples, the choice for a problem, listings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/db_internal.h"

static mlaf_status damaged_row(mlaf_db *db, const char *what, mlaf_err *err) {
  return mlaf_fail(err, MLAF_E_DB,
                   "tuning database '%s' is damaged (a %s holds values no mlaforge writes): move it aside with: "
                   "mv '%s' '%s.damaged'",
                   db->path, what, db->path, db->path);
}

static mlaf_status collect_samples(mlaf_db *db, sqlite3_stmt *s, mlaf_sample **list, size_t *n, mlaf_err *err) {
  size_t have = 0, cap = 0;
  mlaf_sample *items = NULL;
  mlaf_status status = MLAF_OK;
  int rc;
  while (status == MLAF_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
    if (have == cap) {
      cap = cap ? 2 * cap : 32;
      mlaf_sample *grown = realloc(items, cap * sizeof *grown);
      if (!grown) status = mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu samples", cap);
      else items = grown;
    }
    if (status == MLAF_OK && !mlaf_db_sample_row(s, &items[have++])) status = damaged_row(db, "sample", err);
  }
  if (status == MLAF_OK && rc != SQLITE_DONE) status = mlaf_db_fail(db, err, "reading samples");
  if (status != MLAF_OK) {
    free(items);
    return status;
  }
  *list = items;
  *n = have;
  return MLAF_OK;
}

mlaf_status mlaf_db_samples(mlaf_db *db, const mlaf_device_info *dev, const mlaf_problem *p, mlaf_sample **list,
                            size_t *n, mlaf_err *err) {
  char canonical[MLAF_PROBLEM_TEXT_MAX];
  if (mlaf_problem_print(p, canonical, sizeof canonical) != MLAF_OK)
    return mlaf_fail(err, MLAF_E_PROBLEM, "a problem that does not pass mlaf_problem_check has no samples");
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_SAMPLES, err);
  if (!s) return MLAF_E_DB;
  sqlite3_bind_text(s, 1, dev->id, -1, SQLITE_STATIC);
  sqlite3_bind_text(s, 2, canonical, -1, SQLITE_STATIC);
  sqlite3_bind_int(s, 3, MLAF_DB_PROTOCOL);
  mlaf_status status = collect_samples(db, s, list, n, err);
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  return status;
}

/* --- choosing --- */
typedef struct near_choice {
  int64_t id;
  double distance;
  int source;
  char problem[MLAF_PROBLEM_TEXT_MAX];
} near_choice;

typedef struct near_list {
  near_choice *items;
  size_t n, cap;
} near_list;

static int by_distance(const void *left, const void *right) {
  const near_choice *a = left, *b = right;
  if (a->distance != b->distance) return a->distance < b->distance ? -1 : 1;
  if (a->source != b->source) return a->source - b->source;
  return strcmp(a->problem, b->problem);
}

/* In doublings: batch 4 is as far from 8 as from 2. */
static double distance(const mlaf_problem *p, double batch, double ctx) {
  return fabs(log2(batch / p->batch)) + fabs(log2(ctx / p->ctx));
}

/* Somebody else's measurement ranks below one's own. */
static mlaf_source effective(int source, bool imported) {
  return source == MLAF_SRC_MEASURED && imported ? MLAF_SRC_IMPORTED : (mlaf_source)source;
}

static bool near_row(sqlite3_stmt *s, const mlaf_problem *p, near_list *list) {
  if (list->n == list->cap) {
    size_t cap = list->cap ? 2 * list->cap : 16;
    near_choice *grown = realloc(list->items, cap * sizeof *grown);
    if (!grown) return false;
    list->items = grown;
    list->cap = cap;
  }
  int batch = sqlite3_column_int(s, 1), ctx = sqlite3_column_int(s, 2);
  int source = mlaf_source_find((const char *)sqlite3_column_text(s, 3));
  near_choice *x = &list->items[list->n];
  bool ok = mlaf_db_text(s, 5, x->problem, sizeof x->problem) && source >= 0 && batch > 0 && ctx > 0;
  if (!ok) return true; /* a damaged row is passed over: planning goes on with the others */
  x->id = sqlite3_column_int64(s, 0);
  x->source = effective(source, sqlite3_column_int(s, 4) != 0);
  x->distance = distance(p, batch, ctx);
  list->n++;
  return true;
}

/* All choices of the problem's family on one device, nearest first. */
static mlaf_status find_near(mlaf_db *db, const char *device, const mlaf_problem *p, near_list *list, mlaf_err *err) {
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_NEAR, err);
  if (!s) return MLAF_E_DB;
  const int32_t family[] = {p->heads, p->rank, p->rope, p->q_len, p->causal, p->dtype, p->page_size};
  for (int i = 0; i < 7; i++) sqlite3_bind_int(s, 1 + i, family[i]);
  sqlite3_bind_text(s, 8, device, -1, SQLITE_STATIC);
  sqlite3_bind_int(s, 9, MLAF_DB_PROTOCOL);
  int rc;
  bool memory = true;
  while (memory && (rc = sqlite3_step(s)) == SQLITE_ROW) memory = near_row(s, p, list);
  mlaf_status status = !memory             ? mlaf_fail(err, MLAF_E_NOMEM, "no memory for the choices of a problem")
                       : rc == SQLITE_DONE ? MLAF_OK
                                           : mlaf_db_fail(db, err, "looking for a choice");
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  if (status == MLAF_OK && list->n) qsort(list->items, list->n, sizeof *list->items, by_distance);
  return status;
}

static mlaf_status read_choice(mlaf_db *db, int64_t id, mlaf_choice_row *row, mlaf_err *err) {
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_CHOICE_BY_ID, err);
  if (!s) return MLAF_E_DB;
  sqlite3_bind_int64(s, 1, id);
  int rc = sqlite3_step(s);
  mlaf_status status = MLAF_OK;
  if (rc != SQLITE_ROW) status = mlaf_db_fail(db, err, "reading a choice");
  else if (!mlaf_db_choice_row(s, row)) status = damaged_row(db, "choice", err);
  sqlite3_reset(s);
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
  const mlaf_problem *problem;
  mlaf_db_accept_fn accept;
  void *user;
} search;

/* NOT_TUNED: nothing on this device. */
static mlaf_status choose_on(mlaf_db *db, const search *q, const char *device, mlaf_choice *out, bool *exact,
                             mlaf_err *err) {
  near_list list = {0};
  mlaf_status status = find_near(db, device, q->problem, &list, err);
  mlaf_status found = MLAF_E_NOT_TUNED;
  for (size_t i = 0; status == MLAF_OK && found != MLAF_OK && i < list.n; i++) {
    mlaf_choice_row row;
    if (read_choice(db, list.items[i].id, &row, err) != MLAF_OK) continue; /* damaged or just withdrawn: try the next */
    row.choice.source = effective(row.choice.source, row.imported);
    judge_soft(&row, q->dev, q->toolchain);
    if (q->accept && !q->accept(q->user, &row.choice)) continue;
    *out = row.choice;
    *exact = list.items[i].distance == 0;
    found = MLAF_OK;
  }
  free(list.items);
  return status == MLAF_OK ? found : status;
}

/* A hint for whoever tunes next. It must not delay planning, so it neither waits nor reports. */
static void record_miss(mlaf_db *db, const mlaf_device_info *dev, const mlaf_problem *p) {
  if (db->read_only) return;
  mlaf_err ignored;
  int64_t device, problem;
  sqlite3_busy_timeout(db->sql, MLAF_DB_MISS_BUSY_MS);
  if (mlaf_db_begin(db, &ignored) == MLAF_OK) {
    mlaf_status status = mlaf_db_put_device(db, dev->id, dev->target, &device, &ignored);
    if (status == MLAF_OK) status = mlaf_db_put_problem(db, p, &problem, &ignored);
    sqlite3_stmt *s = status == MLAF_OK ? mlaf_db_prepare(db, MLAF_S_ADD_MISS, &ignored) : NULL;
    if (s) {
      sqlite3_bind_int64(s, 1, device);
      sqlite3_bind_int64(s, 2, problem);
      status = mlaf_db_run(db, s, "recording a miss", &ignored);
    }
    mlaf_db_end(db, s ? status : MLAF_E_DB, &ignored);
  }
  sqlite3_busy_timeout(db->sql, MLAF_DB_BUSY_MS);
}

mlaf_status mlaf_db_choose_if(mlaf_db *db, const mlaf_device_info *dev, const char *toolchain, const mlaf_problem *p,
                              mlaf_db_accept_fn accept, void *user, mlaf_choice *out, mlaf_rung *rung, mlaf_err *err) {
  search q = {dev, toolchain, p, accept, user};
  bool exact = false, arch = false;
  mlaf_choice found;
  mlaf_status status = choose_on(db, &q, dev->id, &found, &exact, err);
  if (status == MLAF_E_NOT_TUNED) {
    char device[sizeof dev->target + 8];
    snprintf(device, sizeof device, "arch:%s", dev->target);
    status = choose_on(db, &q, device, &found, &exact, err);
    arch = true;
  }
  if (status != MLAF_OK && status != MLAF_E_NOT_TUNED) return status;
  if (status != MLAF_OK || arch || !exact) record_miss(db, dev, p);
  if (status != MLAF_OK) {
    char text[MLAF_PROBLEM_TEXT_MAX] = "?";
    mlaf_problem_print(p, text, sizeof text);
    return mlaf_fail(err, MLAF_E_NOT_TUNED, "no tuned choice for %s on %s; tune it with: mlaforge tune '%s'", text,
                     dev->id, text);
  }
  *out = found;
  *rung = arch ? MLAF_RUNG_DEFAULT : exact ? MLAF_RUNG_EXACT : MLAF_RUNG_NEAREST;
  return MLAF_OK;
}

mlaf_status mlaf_db_choose(mlaf_db *db, const mlaf_device_info *dev, const char *toolchain, const mlaf_problem *p,
                           mlaf_choice *out, mlaf_rung *rung, mlaf_err *err) {
  return mlaf_db_choose_if(db, dev, toolchain, p, NULL, NULL, out, rung, err);
}

/* --- listings --- */
mlaf_status mlaf_db_each_choice(mlaf_db *db, mlaf_db_row_fn fn, void *user, mlaf_err *err) {
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_EACH_CHOICE, err);
  if (!s) return MLAF_E_DB;
  mlaf_status status = MLAF_OK;
  int rc;
  bool more = true;
  while (status == MLAF_OK && more && (rc = sqlite3_step(s)) == SQLITE_ROW) {
    mlaf_choice_row row;
    if (!mlaf_db_choice_row(s, &row)) {
      status = damaged_row(db, "choice", err);
    } else {
      row.choice.source = effective(row.choice.source, row.imported);
      more = fn(user, row.device, &row.choice);
    }
  }
  if (status == MLAF_OK && more && rc != SQLITE_DONE) status = mlaf_db_fail(db, err, "listing choices");
  sqlite3_reset(s);
  return status;
}

mlaf_status mlaf_db_each_device(mlaf_db *db, mlaf_db_device_fn fn, void *user, mlaf_err *err) {
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_EACH_DEVICE, err);
  if (!s) return MLAF_E_DB;
  int rc;
  bool more = true;
  while (more && (rc = sqlite3_step(s)) == SQLITE_ROW) {
    const char *device = (const char *)sqlite3_column_text(s, 0);
    more = fn(user, device ? device : "");
  }
  mlaf_status status = !more || rc == SQLITE_DONE ? MLAF_OK : mlaf_db_fail(db, err, "listing devices");
  sqlite3_reset(s);
  return status;
}

mlaf_status mlaf_db_each_miss(mlaf_db *db, mlaf_db_miss_fn fn, void *user, mlaf_err *err) {
  if (!db->has_misses) return MLAF_OK;
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_EACH_MISS, err);
  if (!s) return MLAF_E_DB;
  int rc;
  bool more = true;
  while (more && (rc = sqlite3_step(s)) == SQLITE_ROW) {
    const char *device = (const char *)sqlite3_column_text(s, 0), *problem = (const char *)sqlite3_column_text(s, 1);
    more = fn(user, device ? device : "", problem ? problem : "", sqlite3_column_int64(s, 2));
  }
  mlaf_status status = !more || rc == SQLITE_DONE ? MLAF_OK : mlaf_db_fail(db, err, "listing misses");
  sqlite3_reset(s);
  return status;
}

/* For people and tests; planning never counts. */
mlaf_status mlaf_db_count(mlaf_db *db, mlaf_db_counts *out, mlaf_err *err) {
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_COUNTS, err);
  if (!s) return MLAF_E_DB;
  mlaf_db_counts c = {0};
  int64_t *const fields[] = {&c.devices, &c.problems, &c.samples, &c.failures, &c.choices};
  int rc = sqlite3_step(s);
  for (int i = 0; rc == SQLITE_ROW && i < 5; i++) *fields[i] = sqlite3_column_int64(s, i);
  mlaf_status status = rc == SQLITE_ROW ? MLAF_OK : mlaf_db_fail(db, err, "counting");
  sqlite3_reset(s);
  s = status == MLAF_OK && db->has_misses ? mlaf_db_prepare(db, MLAF_S_COUNT_MISSES, err) : NULL;
  if (s && sqlite3_step(s) == SQLITE_ROW) c.misses = sqlite3_column_int64(s, 0);
  if (s) sqlite3_reset(s);
  if (status == MLAF_OK) *out = c;
  return status;
}
