/* The calls in which SQLite writes its files: behind a guard, since a host may run under a file-size limit. */
#include "db/db_internal.h"

int mlaf_db_parse(sqlite3 *sql, const char *text, unsigned flags, sqlite3_stmt **out) {
  const mlaf_write_guard guard = mlaf_write_guard_enter(); /* the first one of a connection opens the file and its log */
  const int rc = sqlite3_prepare_v3(sql, text, -1, flags, out, NULL);
  mlaf_write_guard_leave(guard);
  return rc;
}

int mlaf_db_step(sqlite3_stmt *s) {
  const mlaf_write_guard guard = mlaf_write_guard_enter();
  const int rc = sqlite3_step(s);
  mlaf_write_guard_leave(guard);
  return rc;
}

int mlaf_db_exec(sqlite3 *sql, const char *text) {
  const mlaf_write_guard guard = mlaf_write_guard_enter();
  const int rc = sqlite3_exec(sql, text, NULL, NULL, NULL);
  mlaf_write_guard_leave(guard);
  return rc;
}

void mlaf_db_shut(sqlite3 *sql) {
  const mlaf_write_guard guard = mlaf_write_guard_enter();
  sqlite3_close(sql);
  mlaf_write_guard_leave(guard);
}
