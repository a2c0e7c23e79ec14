/* Questions to the database: samples and listings. */
#include "db/db_internal.h"

mlaf_status mlaf_db_damaged_row(mlaf_db *db, const char *what, mlaf_err *err) {
  if (sqlite3_errcode(db->sql) == SQLITE_NOMEM) return mlaf_db_fail(db, err, "reading a row"); /* which may well be whole */
  char cause[64];
  snprintf(cause, sizeof cause, "a %s holds values no mlaforge writes", what);
  return mlaf_db_fail_damaged(db->path, cause, err);
}

static mlaf_status collect_samples(mlaf_db *db, sqlite3_stmt *s, mlaf_sample **list, size_t *n, mlaf_err *err) {
  size_t have = 0;
  mlaf_sample *items = NULL;
  mlaf_status status = MLAF_OK;
  int rc;
  while (status == MLAF_OK && (rc = mlaf_db_step(s)) == SQLITE_ROW) {
    if (!mlaf_room(&items, have, sizeof *items)) status = mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu samples", have + 1);
    if (status == MLAF_OK && !mlaf_db_sample_row(s, &items[have++])) status = mlaf_db_damaged_row(db, "sample", err);
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

/* Most plans ask for a problem that was never tried here, and preparing the great statements costs a third of a millisecond.
 * Where this one fails they say why. */
static bool has_samples(mlaf_db *db, const char *device, const char *problem) {
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_ANY_SAMPLE, NULL);
  if (!s) return true;
  sqlite3_bind_text(s, 1, device, -1, SQLITE_STATIC);
  sqlite3_bind_text(s, 2, problem, -1, SQLITE_STATIC);
  sqlite3_bind_int(s, 3, MLAF_DB_PROTOCOL);
  const bool has = mlaf_db_step(s) != SQLITE_DONE;
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  return has;
}

/* lengths NULL: all of them; else of every first kernel the fastest of each of its fastest `each` knobs. */
static mlaf_status read_samples(mlaf_db *db, const mlaf_device_info *dev, const mlaf_point *p, const char *lengths, size_t each,
                                mlaf_sample **list, size_t *n, mlaf_err *err) {
  char canonical[MLAF_POINT_TEXT_MAX];
  if (mlaf_point_print(p, canonical, sizeof canonical) != MLAF_OK)
    return mlaf_fail(err, MLAF_E_PROBLEM, "a problem that does not pass mlaf_problem_check has no samples");
  *list = NULL;
  *n = 0;
  if (db->texts) return MLAF_OK; /* a text holds choices only */
  if (!db->stmt[lengths ? MLAF_S_FASTEST : MLAF_S_SAMPLES] && !has_samples(db, dev->id, canonical)) return MLAF_OK;
  sqlite3_stmt *s = mlaf_db_prepare(db, lengths ? MLAF_S_FASTEST : MLAF_S_SAMPLES, err);
  if (!s) return MLAF_E_DB;
  if (lengths) sqlite3_bind_text(s, 4, lengths, -1, SQLITE_STATIC);
  if (lengths) sqlite3_bind_int64(s, 5, (int64_t)each);
  sqlite3_bind_text(s, 1, dev->id, -1, SQLITE_STATIC);
  sqlite3_bind_text(s, 2, canonical, -1, SQLITE_STATIC);
  sqlite3_bind_int(s, 3, MLAF_DB_PROTOCOL);
  mlaf_status status = collect_samples(db, s, list, n, err);
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  return status;
}

mlaf_status mlaf_db_samples(mlaf_db *db, const mlaf_device_info *dev, const mlaf_point *p, mlaf_sample **list,
                            size_t *n, mlaf_err *err) {
  return read_samples(db, dev, p, NULL, 0, list, n, err);
}

mlaf_status mlaf_db_fastest(mlaf_db *db, const mlaf_device_info *dev, const mlaf_point *p, const char *lengths, size_t each,
                            mlaf_sample **list, size_t *n, mlaf_err *err) {
  return read_samples(db, dev, p, lengths[0] ? lengths : "equal", each, list, n, err);
}

/* --- listings --- */
static mlaf_status each_choice(mlaf_db *db, mlaf_db_stmt in_order, mlaf_db_row_fn fn, void *user, mlaf_err *err) {
  sqlite3_stmt *s = mlaf_db_prepare(db, in_order, err);
  if (!s) return MLAF_E_DB;
  mlaf_status status = MLAF_OK;
  int rc;
  bool more = true;
  while (status == MLAF_OK && more && (rc = mlaf_db_step(s)) == SQLITE_ROW) {
    mlaf_choice_row row;
    if (!mlaf_db_choice_row(s, &row)) {
      status = mlaf_db_damaged_row(db, "choice", err);
    } else {
      row.choice.source = mlaf_db_effective(db, row.choice.source, row.imported);
      row.choice.layer = db->layer;
      more = fn(user, row.device, &row.choice);
    }
  }
  if (status == MLAF_OK && more && rc != SQLITE_DONE) status = mlaf_db_fail(db, err, "listing choices");
  sqlite3_reset(s);
  return status;
}

mlaf_status mlaf_db_each_choice(mlaf_db *db, mlaf_db_row_fn fn, void *user, mlaf_err *err) {
  return each_choice(db, MLAF_S_EACH_CHOICE, fn, user, err);
}

mlaf_status mlaf_db_each_newest(mlaf_db *db, mlaf_db_row_fn fn, void *user, mlaf_err *err) {
  return each_choice(db, MLAF_S_EACH_NEWEST, fn, user, err);
}

mlaf_status mlaf_db_each_device(mlaf_db *db, mlaf_db_device_fn fn, void *user, mlaf_err *err) {
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_EACH_DEVICE, err);
  if (!s) return MLAF_E_DB;
  int rc;
  bool more = true;
  while (more && (rc = mlaf_db_step(s)) == SQLITE_ROW) {
    const char *device = (const char *)sqlite3_column_text(s, 0);
    more = fn(user, device ? device : "");
  }
  mlaf_status status = !more || rc == SQLITE_DONE ? MLAF_OK : mlaf_db_fail(db, err, "listing devices");
  sqlite3_reset(s);
  return status;
}

mlaf_status mlaf_db_each_miss(mlaf_db *db, mlaf_db_miss_fn fn, void *user, mlaf_err *err) {
  mlaf_db_take_misses(db);
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_EACH_MISS, err);
  if (!s) return MLAF_E_DB;
  int rc;
  bool more = true;
  while (more && (rc = mlaf_db_step(s)) == SQLITE_ROW) {
    const char *device = (const char *)sqlite3_column_text(s, 0), *problem = (const char *)sqlite3_column_text(s, 1);
    more = fn(user, device ? device : "", problem ? problem : "", sqlite3_column_int64(s, 2));
  }
  mlaf_status status = !more || rc == SQLITE_DONE ? MLAF_OK : mlaf_db_fail(db, err, "listing misses");
  sqlite3_reset(s);
  return status;
}

/* For people and tests; planning never counts. */
mlaf_status mlaf_db_count(mlaf_db *db, mlaf_db_counts *out, mlaf_err *err) {
  mlaf_db_take_misses(db);
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_COUNTS, err);
  if (!s) return MLAF_E_DB;
  mlaf_db_counts c = {0};
  int64_t *const fields[] = {&c.devices, &c.problems, &c.samples, &c.failures, &c.choices, &c.misses};
  int rc = mlaf_db_step(s);
  for (int i = 0; rc == SQLITE_ROW && i < 6; i++) *fields[i] = sqlite3_column_int64(s, i);
  mlaf_status status = rc == SQLITE_ROW ? MLAF_OK : mlaf_db_fail(db, err, "counting");
  sqlite3_reset(s);
  if (status == MLAF_OK) *out = c;
  return status;
}
