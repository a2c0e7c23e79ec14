/* Check sums of rows. A bit that flips in a file must not turn into another kernel's launch size, so each row of `kernel`,
 * `sample` and `choice` carries a digest of everything it means, the names behind its keys included. */
#include "db/db_internal.h"

enum { ARGUMENTS_MAX = 48, DIGEST_HEX = 16 };

/* mlaf_sum(...): 16 hex digits of the SHA-256 over its arguments, types and lengths included. */
static void sum(sqlite3_context *context, int n, sqlite3_value **values) {
  const void *parts[2 * ARGUMENTS_MAX];
  size_t sizes[2 * ARGUMENTS_MAX];
  struct {
    int type, size;
  } heads[ARGUMENTS_MAX];
  union {
    int64_t whole;
    double real;
  } numbers[ARGUMENTS_MAX];
  if (n > ARGUMENTS_MAX) {
    sqlite3_result_error(context, "mlaf_sum: too many arguments", -1);
    return;
  }
  memset(heads, 0, sizeof heads);
  for (int i = 0; i < n; i++) {
    const int type = sqlite3_value_type(values[i]);
    const void *bytes = &numbers[i];
    size_t size = sizeof numbers[i];
    if (type == SQLITE_INTEGER) numbers[i].whole = sqlite3_value_int64(values[i]);
    else if (type == SQLITE_FLOAT) numbers[i].real = sqlite3_value_double(values[i]);
    else if (type == SQLITE_NULL) size = 0;
    else {
      bytes = type == SQLITE_BLOB ? sqlite3_value_blob(values[i]) : (const void *)sqlite3_value_text(values[i]);
      size = bytes ? (size_t)sqlite3_value_bytes(values[i]) : 0;
      if (!bytes && type == SQLITE_TEXT) { /* not the sum of another row */
        sqlite3_result_error_nomem(context);
        return;
      }
    }
    heads[i].type = type;
    heads[i].size = (int)size;
    parts[2 * i] = &heads[i];
    sizes[2 * i] = sizeof heads[i];
    parts[2 * i + 1] = bytes ? bytes : "";
    sizes[2 * i + 1] = size;
  }
  char hex[MLAF_HASH_HEX];
  mlaf_sha256_parts(parts, sizes, 2 * (size_t)n, hex);
  sqlite3_result_text(context, hex, DIGEST_HEX, SQLITE_TRANSIENT);
}

/* For our own statements only: a schema from elsewhere may not call it. */
mlaf_status mlaf_db_add_sum(mlaf_db *db, mlaf_err *err) {
  int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
  return sqlite3_create_function(db->sql, "mlaf_sum", -1, flags, NULL, sum, NULL, NULL) == SQLITE_OK
             ? MLAF_OK
             : mlaf_db_fail(db, err, "preparing the connection");
}
