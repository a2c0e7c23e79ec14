/* The schema as forward-only numbered migrations, and how a file comes by them. */

#include "op/nearest.h"
#include "db/columns.h"
#include "db/db_internal.h"
#include "op/op.h"

/* The sums of schema 3, over columns that migration 4 has renamed. */
#define SAMPLE_SUM_3(s) SAMPLE_SUM_OF(s, #s ".kernel1, " #s ".kernel2")
#define CHOICE_SUM_3(c) CHOICE_SUM_OF(c, #c ".kernel1, " #c ".kernel2")
#define STAGED(table)                                                                                                       \
  "ALTER TABLE " table " RENAME COLUMN splits TO knob; ALTER TABLE " table " RENAME COLUMN decode TO kernel1;"                \
  "ALTER TABLE " table " RENAME COLUMN combine TO kernel2; ALTER TABLE " table " ADD COLUMN kernel3 INTEGER REFERENCES kernel;" \
  "ALTER TABLE " table " ADD COLUMN kernel4 INTEGER REFERENCES kernel;"

#define OLD_PROBLEM "problem IN (SELECT id FROM problem WHERE canonical <> mlaf_canonical(canonical))"

/* Never edit a migration that has shipped: append the next one and raise MLAF_DB_SCHEMA. `kernel` is what other tuners
 * call a configuration: a template and its parameters, with the hashes that say which text and code they gave. */
static const char *const migrations[] = {
    /* 1 */
    "CREATE TABLE device(id INTEGER PRIMARY KEY, canonical TEXT NOT NULL UNIQUE, target TEXT NOT NULL, name TEXT, cu INTEGER,"
    " xcc INTEGER, wave INTEGER, lds INTEGER, mem_bytes INTEGER, l2_bytes INTEGER, llc_bytes INTEGER);"
    "CREATE TABLE toolchain(id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE);"
    "CREATE TABLE problem(id INTEGER PRIMARY KEY, canonical TEXT NOT NULL UNIQUE, op TEXT NOT NULL, heads INTEGER NOT NULL,"
    " rank INTEGER NOT NULL, rope INTEGER NOT NULL, q_len INTEGER NOT NULL, causal INTEGER NOT NULL, dtype INTEGER NOT NULL,"
    " page_size INTEGER NOT NULL, batch INTEGER NOT NULL, ctx INTEGER NOT NULL);"
    "CREATE INDEX problem_family ON problem(heads, rank, rope, q_len, causal, dtype, page_size);"
    "CREATE TABLE kernel(id INTEGER PRIMARY KEY, template TEXT NOT NULL, params TEXT NOT NULL, symbol TEXT NOT NULL,"
    " template_hash TEXT NOT NULL, src_hash TEXT NOT NULL, code_key TEXT NOT NULL, threads INTEGER NOT NULL,"
    " rows_per_wg INTEGER NOT NULL,"
    " UNIQUE(symbol, code_key, src_hash, template_hash, template, params, threads, rows_per_wg));"
    "CREATE TABLE run(id INTEGER PRIMARY KEY, device INTEGER NOT NULL REFERENCES device, protocol INTEGER NOT NULL);"
    "CREATE TABLE sample(id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run, device INTEGER NOT NULL REFERENCES device,"
    " toolchain INTEGER NOT NULL REFERENCES toolchain, problem INTEGER NOT NULL REFERENCES problem, protocol INTEGER NOT NULL,"
    " variant TEXT NOT NULL, splits INTEGER NOT NULL, decode INTEGER REFERENCES kernel, combine INTEGER REFERENCES kernel,"
    " outcome TEXT NOT NULL, source TEXT NOT NULL, ns REAL, p10_ns REAL, p90_ns REAL, mad_ns REAL, n INTEGER, clock REAL,"
    " parts TEXT NOT NULL, bound TEXT NOT NULL, timing_detail TEXT NOT NULL, error REAL, vgpr INTEGER, agpr INTEGER,"
    " lds INTEGER, scratch INTEGER, detail TEXT NOT NULL, driver TEXT NOT NULL, clock_mhz INTEGER, mem_clock_mhz INTEGER);"
    "CREATE INDEX sample_of ON sample(device, problem, protocol, variant);"
    "CREATE TABLE choice(id INTEGER PRIMARY KEY, device INTEGER NOT NULL REFERENCES device,"
    " problem INTEGER NOT NULL REFERENCES problem, protocol INTEGER NOT NULL, variant TEXT NOT NULL, splits INTEGER NOT NULL,"
    " decode INTEGER REFERENCES kernel, combine INTEGER REFERENCES kernel, source TEXT NOT NULL, imported INTEGER NOT NULL,"
    " ns REAL NOT NULL, margin REAL NOT NULL, error REAL NOT NULL, toolchain INTEGER NOT NULL REFERENCES toolchain,"
    " driver TEXT NOT NULL, clock_mhz INTEGER NOT NULL, mem_clock_mhz INTEGER NOT NULL, run INTEGER, incumbent TEXT NOT NULL,"
    " UNIQUE(device, problem));",
    /* 2: problems asked for and not tuned, what to tune next */
    "CREATE TABLE miss(device INTEGER NOT NULL REFERENCES device, problem INTEGER NOT NULL REFERENCES problem,"
    " count INTEGER NOT NULL, PRIMARY KEY(device, problem)) WITHOUT ROWID;",
    /* 3: request lengths of a timing, and row sums (filled in by apply) */
    "ALTER TABLE kernel ADD COLUMN sum TEXT; ALTER TABLE sample ADD COLUMN sum TEXT; ALTER TABLE choice ADD COLUMN sum TEXT;"
    "ALTER TABLE sample ADD COLUMN lengths TEXT NOT NULL DEFAULT 'equal';"
    "ALTER TABLE choice ADD COLUMN lengths TEXT NOT NULL DEFAULT 'equal';",
    /* 4: any operation. A problem is its string, and what is equal for all that its kernels can execute; its numbers stood in
       columns of their own. Stages and a knob were decode, combine and splits. Whole rows are summed anew, damaged ones stay
       damaged. */
    "DROP INDEX problem_family; ALTER TABLE problem ADD COLUMN family TEXT NOT NULL DEFAULT '';"
    "UPDATE problem SET family = mlaf_family(canonical);"
    "ALTER TABLE problem DROP COLUMN heads; ALTER TABLE problem DROP COLUMN rank; ALTER TABLE problem DROP COLUMN rope;"
    "ALTER TABLE problem DROP COLUMN q_len; ALTER TABLE problem DROP COLUMN causal; ALTER TABLE problem DROP COLUMN dtype;"
    "ALTER TABLE problem DROP COLUMN page_size; ALTER TABLE problem DROP COLUMN batch; ALTER TABLE problem DROP COLUMN ctx;"
    "CREATE INDEX problem_family ON problem(family);"
    STAGED("sample") STAGED("choice")
    "UPDATE sample SET sum = " SAMPLE_SUM(sample) " WHERE sum IS " SAMPLE_SUM_3(sample) ";"
    "UPDATE choice SET sum = " CHOICE_SUM(choice) " WHERE sum IS " CHOICE_SUM_3(choice) ";",
    /* 5: lists of problems are "FIRST:...+NEXT:..."; what followed stood among the fields of the first. Sums, of which the string
       is a part, as above. */
    "UPDATE sample SET sum = 'whole' WHERE " OLD_PROBLEM " AND sum IS " SAMPLE_SUM(sample) ";"
    "UPDATE choice SET sum = 'whole' WHERE " OLD_PROBLEM " AND sum IS " CHOICE_SUM(choice) ";"
    "UPDATE problem SET family = mlaf_family(canonical), canonical = mlaf_canonical(canonical)"
    " WHERE canonical <> mlaf_canonical(canonical);"
    "UPDATE sample SET sum = " SAMPLE_SUM(sample) " WHERE sum = 'whole';"
    "UPDATE choice SET sum = " CHOICE_SUM(choice) " WHERE sum = 'whole';",
};
_Static_assert(sizeof migrations / sizeof *migrations == MLAF_DB_SCHEMA, "one migration per schema version");

int64_t mlaf_db_pragma(mlaf_db *db, const char *sql) {
  sqlite3_stmt *s = NULL;
  int64_t value = -1;
  if (mlaf_db_parse(db->sql, sql, 0, &s) == SQLITE_OK && mlaf_db_step(s) == SQLITE_ROW)
    value = sqlite3_column_int64(s, 0);
  return sqlite3_finalize(s) == SQLITE_OK ? value : -1;
}

/* All steps and the stamp are one transaction: a file is never half migrated. */
static mlaf_status apply(mlaf_db *db, int from, mlaf_err *err) {
  for (int v = from; v < MLAF_DB_SCHEMA; v++)
    if (mlaf_db_exec(db->sql, migrations[v]) != SQLITE_OK)
      return mlaf_db_fail(db, err, "updating the schema");
  /* Rows of before there were sums are taken as they are. */
  static const char sums[] = "UPDATE kernel SET sum = " KERNEL_SUM(kernel) "; UPDATE sample SET sum = " SAMPLE_SUM(sample)
                             "; UPDATE choice SET sum = " CHOICE_SUM(choice);
  if (from < 3 && mlaf_db_exec(db->sql, sums) != SQLITE_OK) return mlaf_db_fail(db, err, "summing the rows");
  char stamp[96];
  sqlite3_snprintf(sizeof stamp, stamp, "PRAGMA application_id=%d;PRAGMA user_version=%d", MLAF_DB_APPLICATION_ID,
                   MLAF_DB_SCHEMA);
  return mlaf_db_exec(db->sql, stamp) == SQLITE_OK ? MLAF_OK : mlaf_db_fail(db, err, "stamping the file");
}

/* mlaf_family(problem string): the family it belongs to; of a string that is none, "", which is nobody's. */
static void family(sqlite3_context *context, int n, sqlite3_value **values) {
  const char *text = (const char *)sqlite3_value_text(values[0]);
  char out[MLAF_POINT_TEXT_MAX] = "";
  mlaf_point p;
  if (text && mlaf_point_stored(text, &p, NULL, 0) == MLAF_OK) mlaf_point_family(&p, out, sizeof out);
  sqlite3_result_text(context, out, -1, SQLITE_TRANSIENT);
}

/* mlaf_canonical(problem string): as today's library writes it; what is none stays as it is. */
static void canonical(sqlite3_context *context, int n, sqlite3_value **values) {
  const char *text = (const char *)sqlite3_value_text(values[0]);
  char out[MLAF_POINT_TEXT_MAX];
  mlaf_point p;
  if (text && mlaf_point_stored(text, &p, NULL, 0) == MLAF_OK && mlaf_point_print(&p, out, sizeof out) == MLAF_OK) text = out;
  sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

mlaf_status mlaf_db_migrate(mlaf_db *db, int *found, mlaf_err *err) {
  const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
  if (sqlite3_create_function(db->sql, "mlaf_family", 1, flags, NULL, family, NULL, NULL) != SQLITE_OK ||
      sqlite3_create_function(db->sql, "mlaf_canonical", 1, flags, NULL, canonical, NULL, NULL) != SQLITE_OK)
    return mlaf_db_fail(db, err, "preparing the connection");
  mlaf_status status = mlaf_db_begin(db, err);
  if (status != MLAF_OK) return status;
  /* Asked again under the lock: another process may have just done this. */
  int64_t version = mlaf_db_pragma(db, "PRAGMA user_version");
  *found = (int)version;
  if (version < 0) status = mlaf_db_fail(db, err, "reading the schema version");
  else if (version < MLAF_DB_SCHEMA) status = apply(db, (int)version, err);
  return mlaf_db_end(db, status, err);
}
