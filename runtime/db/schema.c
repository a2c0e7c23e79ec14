/* The schema as forward-only numbered migrations, and every SQL statement of the room in one table. */
#include "db/db_internal.h"

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
};
_Static_assert(sizeof migrations / sizeof *migrations == MLAF_DB_SCHEMA, "one migration per schema version");

#define KERNEL_COLUMNS(k) #k ".template," #k ".params," #k ".symbol," #k ".template_hash," #k ".src_hash," #k ".code_key," #k \
                             ".threads," #k ".rows_per_wg"
/* What a row means, the names behind its keys included: columns alone would let a flipped key point elsewhere. */
#define KERNEL_SUM(k) "mlaf_sum(" #k ".id," KERNEL_COLUMNS(k) ")"
#define DEVICE_OF(x) "(SELECT canonical FROM device WHERE id = " #x ".device)"
#define PROBLEM_OF(x) "(SELECT canonical FROM problem WHERE id = " #x ".problem)"
#define TOOLCHAIN_OF(x) "(SELECT identity FROM toolchain WHERE id = " #x ".toolchain)"
#define SAMPLE_SUM(s)                                                                                                         \
  "mlaf_sum(" #s ".id, " DEVICE_OF(s) ", " PROBLEM_OF(s) ", " TOOLCHAIN_OF(s) ", " #s ".protocol, " #s ".variant, " #s        \
  ".splits, " #s ".decode, " #s ".combine, " #s ".outcome, " #s ".source, " #s ".ns, " #s ".p10_ns, " #s ".p90_ns, " #s        \
  ".mad_ns, " #s ".n, " #s ".parts, " #s ".error, " #s ".lengths, " #s ".driver, " #s ".clock_mhz, " #s ".mem_clock_mhz)"
#define CHOICE_SUM(c)                                                                                                         \
  "mlaf_sum(" DEVICE_OF(c) ", " PROBLEM_OF(c) ", " TOOLCHAIN_OF(c) ", " #c ".protocol, " #c ".variant, " #c ".splits, " #c     \
  ".decode, " #c ".combine, " #c ".source, " #c ".imported, " #c ".ns, " #c ".margin, " #c ".error, " #c ".lengths, " #c       \
  ".driver, " #c ".clock_mhz, " #c ".mem_clock_mhz)"
/* 1 when a kernel is there exactly if its key is, and is what it was. */
#define KERNEL_INTACT(x, key, k) "(" #x "." #key " IS " #k ".id AND (" #k ".id IS NULL OR " #k ".sum IS " KERNEL_SUM(k) "))"
#define SAMPLE_INTACT "(s.sum IS " SAMPLE_SUM(s) " AND " KERNEL_INTACT(s, decode, d) " AND " KERNEL_INTACT(s, combine, m) ")"
#define CHOICE_INTACT "(c.sum IS " CHOICE_SUM(c) " AND " KERNEL_INTACT(c, decode, d) " AND " KERNEL_INTACT(c, combine, m) ")"

/* mlaf_db_choice_row reads these by position. */
#define CHOICE_COLUMNS                                                                                                  \
  "v.canonical, p.canonical, c.protocol, c.variant, c.splits, c.source, c.imported, c.ns, c.margin, c.error, t.identity,"  \
  " c.driver, c.clock_mhz, c.mem_clock_mhz, " KERNEL_COLUMNS(d) ", " KERNEL_COLUMNS(m) ", c.lengths, " CHOICE_INTACT
#define CHOICE_FROM                                                                                             \
  " FROM choice c JOIN device v ON v.id = c.device JOIN problem p ON p.id = c.problem JOIN toolchain t ON t.id = c.toolchain" \
  " LEFT JOIN kernel d ON d.id = c.decode LEFT JOIN kernel m ON m.id = c.combine "
#define CHOICE_INSERT                                                                                               \
  "INSERT OR REPLACE INTO choice(device, problem, protocol, variant, splits, decode, combine, source, imported, ns, margin," \
  " error, toolchain, driver, clock_mhz, mem_clock_mhz, lengths, run, incumbent) "

/* mlaf_db_sample_row reads these by position. Of each variant of a problem the newest sample; a condition follows. */
#define SAMPLE_COLUMNS                                                                                                    \
  "SELECT s.variant, s.splits, s.outcome, s.source, s.ns, s.p10_ns, s.p90_ns, s.mad_ns, s.n, s.clock, s.parts, s.bound,"    \
  " s.timing_detail, s.error, s.vgpr, s.agpr, s.lds, s.scratch, s.detail, " KERNEL_COLUMNS(d) ", " KERNEL_COLUMNS(m)        \
  ", s.lengths, " SAMPLE_INTACT " FROM sample s LEFT JOIN kernel d ON d.id = s.decode LEFT JOIN kernel m ON m.id = s.combine"
#define NEWEST_SAMPLES                                                                                                   \
  "(SELECT max(x.id) FROM sample x JOIN device v ON v.id = x.device JOIN problem p ON p.id = x.problem"                    \
  " WHERE v.canonical = ?1 AND p.canonical = ?2 AND x.protocol = ?3 GROUP BY x.variant, x.decode, x.combine, x.lengths)"

static const char *const statements[MLAF_S_COUNT] = {
    [MLAF_S_BEGIN] = "BEGIN IMMEDIATE",
    [MLAF_S_COMMIT] = "COMMIT",
    [MLAF_S_ROLLBACK] = "ROLLBACK",
    [MLAF_S_PUT_DEVICE] = "INSERT INTO device(canonical, target) VALUES(?1, ?2) ON CONFLICT DO NOTHING",
    [MLAF_S_GET_DEVICE] = "SELECT id FROM device WHERE canonical = ?1",
    [MLAF_S_NAME_DEVICE] = "UPDATE device SET target = ?2, name = ?3, cu = ?4, xcc = ?5, wave = ?6, lds = ?7, mem_bytes = ?8,"
                           " l2_bytes = ?9, llc_bytes = ?10 WHERE id = ?1 AND name IS NOT ?3",
    [MLAF_S_PUT_TOOLCHAIN] = "INSERT INTO toolchain(identity) VALUES(?1) ON CONFLICT DO NOTHING",
    [MLAF_S_GET_TOOLCHAIN] = "SELECT id FROM toolchain WHERE identity = ?1",
    [MLAF_S_PUT_PROBLEM] = "INSERT INTO problem(canonical, op, heads, rank, rope, q_len, causal, dtype, page_size, batch, ctx)"
                           " VALUES(?1, 'mla_decode', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING",
    [MLAF_S_GET_PROBLEM] = "SELECT id FROM problem WHERE canonical = ?1",
    [MLAF_S_PUT_KERNEL] = "INSERT INTO kernel(template, params, symbol, template_hash, src_hash, code_key, threads, rows_per_wg)"
                          " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
    [MLAF_S_GET_KERNEL] = "SELECT id FROM kernel WHERE template = ?1 AND params = ?2 AND symbol = ?3 AND template_hash = ?4"
                          " AND src_hash = ?5 AND code_key = ?6 AND threads = ?7 AND rows_per_wg = ?8",
    [MLAF_S_ADD_RUN] = "INSERT INTO run(device, protocol) VALUES(?1, ?2)",
    [MLAF_S_ADD_SAMPLE] =
        "INSERT INTO sample(run, device, toolchain, problem, protocol, variant, splits, decode, combine, outcome, source, ns,"
        " p10_ns, p90_ns, mad_ns, n, clock, parts, bound, timing_detail, error, vgpr, agpr, lds, scratch, detail, driver,"
        " clock_mhz, mem_clock_mhz, lengths) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, "
            "?17, ?18,"
        " ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30)",
    /* Newest first: the first row of a variant is the one that counts. */
    [MLAF_S_NEWEST] = "SELECT s.id, s.variant, s.outcome, s.source, s.ns, s.mad_ns, d.template, d.template_hash, m.template,"
                      " m.template_hash, s.lengths, " SAMPLE_INTACT " FROM sample s LEFT JOIN kernel d ON d.id = s.decode LEFT "
                          "JOIN kernel m"
                      " ON m.id = s.combine"
                      " WHERE s.device = ?1 AND s.problem = ?2 AND s.protocol = ?3 ORDER BY s.id DESC",
    [MLAF_S_SAMPLES] = SAMPLE_COLUMNS " WHERE s.id IN " NEWEST_SAMPLES " ORDER BY s.outcome <> 'ok', s.ns, s.variant, s.id",
    /* Sums are made of these few rows alone. */
    [MLAF_S_FASTEST] = SAMPLE_COLUMNS
        " WHERE s.id IN (SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY decode ORDER BY ns, variant, id) AS place"
        " FROM (SELECT y.id, y.decode, y.ns, y.variant, row_number() OVER (PARTITION BY y.decode, y.splits ORDER BY y.ns,"
        " y.variant, y.id) AS other FROM sample y WHERE y.id IN " NEWEST_SAMPLES " AND y.outcome = 'ok' AND y.lengths = ?4)"
        " WHERE other = 1) WHERE place <= ?5) ORDER BY s.ns, s.variant, s.id",
    [MLAF_S_GET_CHOICE] = "SELECT variant, source, imported, protocol, run, incumbent FROM choice WHERE device = ?1"
                          " AND problem = ?2",
    [MLAF_S_PUT_CHOICE] = CHOICE_INSERT "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,"
                                        " NULL, '')",
    [MLAF_S_CHOOSE_SAMPLE] =
        CHOICE_INSERT "SELECT device, problem, protocol, variant, splits, decode, combine, source, 0, ns, ?2, error, toolchain,"
                      " driver, clock_mhz, mem_clock_mhz, lengths, ?3, ?4 FROM sample WHERE id = ?1",
    [MLAF_S_DROP_CHOICE] = "DELETE FROM choice WHERE device = ?1 AND problem = ?2",
    /* Everything of the problem's family; the caller orders it by distance. */
    [MLAF_S_NEAR] = "SELECT c.id, c.source, c.imported, p.canonical FROM problem p JOIN choice c"
                    " ON c.problem = p.id JOIN device v ON v.id = c.device WHERE p.heads = ?1 AND p.rank = ?2"
                    " AND p.rope = ?3 AND p.q_len = ?4 AND p.causal = ?5 AND p.dtype = ?6 AND p.page_size = ?7"
                    " AND v.canonical = ?8 AND c.protocol = ?9",
    [MLAF_S_CHOICE_BY_ID] = "SELECT " CHOICE_COLUMNS CHOICE_FROM "WHERE c.id = ?1",
    [MLAF_S_EACH_CHOICE] = "SELECT " CHOICE_COLUMNS CHOICE_FROM "ORDER BY v.canonical, p.canonical",
    [MLAF_S_EACH_NEWEST] = "SELECT " CHOICE_COLUMNS CHOICE_FROM "ORDER BY"
                           " max(coalesce(c.run, 0)) OVER (PARTITION BY c.device) DESC,"
                           " v.canonical, coalesce(c.run, 0) DESC, p.canonical",
    [MLAF_S_EACH_DEVICE] = "SELECT canonical FROM device ORDER BY canonical",
    [MLAF_S_ADD_MISS] = "INSERT INTO miss(device, problem, count) VALUES(?1, ?2, ?3)"
                        " ON CONFLICT DO UPDATE SET count = CASE WHEN ?4 THEN max(count, ?3) ELSE count + ?3 END",
    [MLAF_S_EACH_MISS] = "SELECT v.canonical, p.canonical, m.count FROM miss m JOIN device v ON v.id = m.device"
                         " JOIN problem p ON p.id = m.problem LEFT JOIN choice c ON c.device = m.device AND c.problem = m.problem"
                         " WHERE c.id IS NULL ORDER BY m.count DESC, v.canonical, p.canonical",
    [MLAF_S_COUNTS] = "SELECT (SELECT count(*) FROM device), (SELECT count(*) FROM problem), (SELECT count(*) FROM sample),"
                      " (SELECT count(*) FROM sample WHERE outcome <> 'ok'), (SELECT count(*) FROM choice),"
                      " (SELECT count(*) FROM miss)",
    [MLAF_S_SUM_KERNEL] = "UPDATE kernel SET sum = " KERNEL_SUM(kernel) " WHERE id = ?1",
    [MLAF_S_SUM_SAMPLE] = "UPDATE sample SET sum = " SAMPLE_SUM(sample) " WHERE id = ?1",
    [MLAF_S_SUM_CHOICE] = "UPDATE choice SET sum = " CHOICE_SUM(choice) " WHERE device = ?1 AND problem = ?2",
    /* What a merge copies, oldest first: the columns of MLAF_S_SAMPLES, then who and what it was. */
    [MLAF_S_EACH_SAMPLE] =
        "SELECT s.variant, s.splits, s.outcome, s.source, s.ns, s.p10_ns, s.p90_ns, s.mad_ns, s.n, s.clock, s.parts, s.bound,"
        " s.timing_detail, s.error, s.vgpr, s.agpr, s.lds, s.scratch, s.detail, " KERNEL_COLUMNS(d) ", " KERNEL_COLUMNS(m)
        ", s.lengths, " SAMPLE_INTACT ", s.protocol, v.canonical, v.target, v.name, v.cu, v.xcc, v.wave, v.lds, v.mem_bytes,"
        " v.l2_bytes, v.llc_bytes, p.canonical, t.identity, s.driver, s.clock_mhz, s.mem_clock_mhz FROM sample s"
        " LEFT JOIN kernel d ON d.id = s.decode LEFT JOIN kernel m ON m.id = s.combine JOIN device v ON v.id = s.device"
        " JOIN problem p ON p.id = s.problem JOIN toolchain t ON t.id = s.toolchain ORDER BY s.id",
    [MLAF_S_HAS_SAMPLE] = "SELECT 1 FROM sample WHERE device = ?1 AND problem = ?2 AND protocol = ?3 AND variant = ?4"
                          " AND decode IS ?5 AND combine IS ?6 AND outcome = ?7 AND ns IS ?8 AND n IS ?9 AND lengths = ?10"
                          " AND toolchain = ?11 AND driver = ?12",
    [MLAF_S_FACTS] = "SELECT target, name, cu, xcc, wave, lds, mem_bytes, l2_bytes, llc_bytes FROM device WHERE canonical = ?1",
    [MLAF_S_ANY_SAMPLE] = "SELECT 1 FROM sample WHERE device = (SELECT id FROM device WHERE canonical = ?1)"
                          " AND problem = (SELECT id FROM problem WHERE canonical = ?2) AND protocol = ?3 LIMIT 1",
    [MLAF_S_TOUCHED] = "SELECT DISTINCT device, problem FROM sample UNION SELECT device, problem FROM choice WHERE imported = 0",
};

const char *const *mlaf_db_damaged_sql(void) {
  static const char *const list[] = {
      "SELECT 'kernel row ' || k.id || ' (' || k.symbol || ')' FROM kernel k WHERE NOT (k.sum IS " KERNEL_SUM(k) ")",
      "SELECT 'sample row ' || s.id || ' (' || s.variant || ')' FROM sample s LEFT JOIN kernel d ON d.id = s.decode"
      " LEFT JOIN kernel m ON m.id = s.combine WHERE NOT " SAMPLE_INTACT,
      "SELECT 'choice row ' || c.id || ' (' || c.variant || ')' FROM choice c LEFT JOIN kernel d ON d.id = c.decode"
      " LEFT JOIN kernel m ON m.id = c.combine WHERE NOT " CHOICE_INTACT,
      NULL};
  return list;
}

sqlite3_stmt *mlaf_db_prepare(mlaf_db *db, mlaf_db_stmt which, mlaf_err *err) {
  sqlite3_stmt **slot = &db->stmt[which];
  if (!db->sql && mlaf_db_texts_fill(db, err) != MLAF_OK) return NULL;
  if (*slot) {
    sqlite3_reset(*slot);
    sqlite3_clear_bindings(*slot);
  } else if (sqlite3_prepare_v3(db->sql, statements[which], -1, SQLITE_PREPARE_PERSISTENT, slot, NULL) != SQLITE_OK) {
    mlaf_db_fail(db, err, "preparing a statement");
  }
  return *slot;
}

int64_t mlaf_db_pragma(mlaf_db *db, const char *sql) {
  sqlite3_stmt *s = NULL;
  int64_t value = -1;
  if (sqlite3_prepare_v2(db->sql, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
    value = sqlite3_column_int64(s, 0);
  return sqlite3_finalize(s) == SQLITE_OK ? value : -1;
}

/* All steps and the stamp are one transaction: a file is never half migrated. */
static mlaf_status apply(mlaf_db *db, int from, mlaf_err *err) {
  for (int v = from; v < MLAF_DB_SCHEMA; v++)
    if (sqlite3_exec(db->sql, migrations[v], NULL, NULL, NULL) != SQLITE_OK)
      return mlaf_db_fail(db, err, "updating the schema");
  /* rows of before there were sums are taken as they are */
  static const char sums[] = "UPDATE kernel SET sum = " KERNEL_SUM(kernel) "; UPDATE sample SET sum = " SAMPLE_SUM(sample)
                             "; UPDATE choice SET sum = " CHOICE_SUM(choice);
  if (from < 3 && sqlite3_exec(db->sql, sums, NULL, NULL, NULL) != SQLITE_OK) return mlaf_db_fail(db, err, "summing the rows");
  char stamp[96];
  sqlite3_snprintf(sizeof stamp, stamp, "PRAGMA application_id=%d;PRAGMA user_version=%d", MLAF_DB_APPLICATION_ID,
                   MLAF_DB_SCHEMA);
  return sqlite3_exec(db->sql, stamp, NULL, NULL, NULL) == SQLITE_OK ? MLAF_OK : mlaf_db_fail(db, err, "stamping the file");
}

mlaf_status mlaf_db_migrate(mlaf_db *db, int *found, mlaf_err *err) {
  mlaf_status status = mlaf_db_begin(db, err);
  if (status != MLAF_OK) return status;
  /* Asked again under the lock: another process may have just done this. */
  int64_t version = mlaf_db_pragma(db, "PRAGMA user_version");
  *found = (int)version;
  if (version < 0) status = mlaf_db_fail(db, err, "reading the schema version");
  else if (version < MLAF_DB_SCHEMA) status = apply(db, (int)version, err);
  return mlaf_db_end(db, status, err);
}
