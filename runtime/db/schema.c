/* Every SQL statement of the room in one table. */
#include "db/columns.h"
#include "db/db_internal.h"

/* `kernel` is what other tuners call a configuration: a template and its parameters, with the hashes that say which text and
 * code they gave. A sample's or choice's kernels are joined as k1, k2, ... */
#define KERNEL_JOIN(x, i) " LEFT JOIN kernel k" #i " ON k" #i ".id = " #x ".kernel" #i
#define KERNEL_JOINS(x) KERNEL_JOIN(x, 1) KERNEL_JOIN(x, 2) KERNEL_JOIN(x, 3) KERNEL_JOIN(x, 4)
#define JOINED_COLUMNS KERNEL_COLUMNS(k1) "," KERNEL_COLUMNS(k2) "," KERNEL_COLUMNS(k3) "," KERNEL_COLUMNS(k4)
/* 1 when a kernel is there exactly if its key is, and is what it was. */
#define KERNEL_INTACT(x, i) \
  "(" #x ".kernel" #i " IS k" #i ".id AND (k" #i ".id IS NULL OR k" #i ".sum IS " KERNEL_SUM(k##i) "))"
#define KERNELS_INTACT(x) \
  KERNEL_INTACT(x, 1) " AND " KERNEL_INTACT(x, 2) " AND " KERNEL_INTACT(x, 3) " AND " KERNEL_INTACT(x, 4)
#define SAMPLE_INTACT "(s.sum IS " SAMPLE_SUM(s) " AND " KERNELS_INTACT(s) ")"
#define CHOICE_INTACT "(c.sum IS " CHOICE_SUM(c) " AND " KERNELS_INTACT(c) ")"

/* mlaf_db_choice_row reads these by position. */
#define CHOICE_COLUMNS                                                                                                    \
  "v.canonical, p.canonical, c.protocol, c.variant, c.knob, c.source, c.imported, c.ns, c.margin, c.error, t.identity,"      \
  " c.driver, c.clock_mhz, c.mem_clock_mhz, c.lengths, " CHOICE_INTACT ", " JOINED_COLUMNS
#define CHOICE_FROM                                                                                                         \
  " FROM choice c JOIN device v ON v.id = c.device JOIN problem p ON p.id = c.problem JOIN toolchain t ON t.id = c.toolchain" \
  KERNEL_JOINS(c) " "
#define CHOICE_INSERT                                                                                                     \
  "INSERT OR REPLACE INTO choice(device, problem, protocol, variant, knob, kernel1, kernel2, kernel3, kernel4, source,"      \
  " imported, ns, margin, error, toolchain, driver, clock_mhz, mem_clock_mhz, lengths, run, incumbent) "

/* mlaf_db_sample_row reads these by position. Of each variant of a problem the newest sample; a condition follows. */
#define SAMPLE_FIELDS                                                                                                     \
  "SELECT s.variant, s.knob, s.outcome, s.source, s.ns, s.p10_ns, s.p90_ns, s.mad_ns, s.n, s.clock, s.parts, s.bound,"       \
  " s.timing_detail, s.error, s.vgpr, s.agpr, s.lds, s.scratch, s.detail, s.lengths, " SAMPLE_INTACT ", " JOINED_COLUMNS
#define SAMPLE_COLUMNS SAMPLE_FIELDS " FROM sample s" KERNEL_JOINS(s)
#define NEWEST_SAMPLES                                                                                                   \
  "(SELECT max(x.id) FROM sample x JOIN device v ON v.id = x.device JOIN problem p ON p.id = x.problem"                    \
  " WHERE v.canonical = ?1 AND p.canonical = ?2 AND x.protocol = ?3 GROUP BY x.variant, " STAGES(x) ", x.lengths)"

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
    [MLAF_S_PUT_PROBLEM] = "INSERT INTO problem(canonical, op, family) VALUES(?1, substr(?1, 1, instr(?1, ':') - 1), ?2)"
                           " ON CONFLICT DO NOTHING",
    [MLAF_S_GET_PROBLEM] = "SELECT id FROM problem WHERE canonical = ?1",
    [MLAF_S_PUT_KERNEL] = "INSERT INTO kernel(template, params, symbol, template_hash, src_hash, code_key, threads, rows_per_wg)"
                          " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
    [MLAF_S_GET_KERNEL] = "SELECT id FROM kernel WHERE template = ?1 AND params = ?2 AND symbol = ?3 AND template_hash = ?4"
                          " AND src_hash = ?5 AND code_key = ?6 AND threads = ?7 AND rows_per_wg = ?8",
    [MLAF_S_ADD_RUN] = "INSERT INTO run(device, protocol) VALUES(?1, ?2)",
    [MLAF_S_ADD_SAMPLE] =
        "INSERT INTO sample(run, device, toolchain, problem, protocol, variant, knob, kernel1, kernel2, kernel3, kernel4,"
        " outcome, source, ns, p10_ns, p90_ns, mad_ns, n, clock, parts, bound, timing_detail, error, vgpr, agpr, lds, scratch,"
        " detail, driver, clock_mhz, mem_clock_mhz, lengths) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
        " ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32)",
    /* Newest first: the first row of a variant is the one that counts. */
    [MLAF_S_NEWEST] = "SELECT s.id, s.variant, s.outcome, s.source, s.ns, s.mad_ns, s.lengths, " SAMPLE_INTACT ", k1.template,"
                      " k1.template_hash, k2.template, k2.template_hash, k3.template, k3.template_hash, k4.template,"
                      " k4.template_hash FROM sample s" KERNEL_JOINS(s)
                      " WHERE s.device = ?1 AND s.problem = ?2 AND s.protocol = ?3 ORDER BY s.id DESC",
    [MLAF_S_SAMPLES] = SAMPLE_COLUMNS " WHERE s.id IN " NEWEST_SAMPLES " ORDER BY s.outcome <> 'ok', s.ns, s.variant, s.id",
    /* Sums are made of these few rows alone. */
    [MLAF_S_FASTEST] = SAMPLE_COLUMNS
        " WHERE s.id IN (SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY kernel1 ORDER BY ns, variant, id) AS place"
        " FROM (SELECT y.id, y.kernel1, y.ns, y.variant, row_number() OVER (PARTITION BY y.kernel1, y.knob ORDER BY y.ns,"
        " y.variant, y.id) AS other FROM sample y WHERE y.id IN " NEWEST_SAMPLES " AND y.outcome = 'ok' AND y.lengths = ?4)"
        " WHERE other = 1) WHERE place <= ?5) ORDER BY s.ns, s.variant, s.id",
    [MLAF_S_GET_CHOICE] = "SELECT variant, source, imported, protocol, run, incumbent FROM choice WHERE device = ?1"
                          " AND problem = ?2",
    [MLAF_S_PUT_CHOICE] = CHOICE_INSERT "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,"
                                        " ?18, ?19, NULL, '')",
    [MLAF_S_CHOOSE_SAMPLE] =
        CHOICE_INSERT "SELECT device, problem, protocol, variant, knob, kernel1, kernel2, kernel3, kernel4, source, 0, ns, ?2,"
                      " error, toolchain, driver, clock_mhz, mem_clock_mhz, lengths, ?3, ?4 FROM sample WHERE id = ?1",
    [MLAF_S_DROP_CHOICE] = "DELETE FROM choice WHERE device = ?1 AND problem = ?2",
    /* Everything of the problem's family; the caller orders it by distance. */
    [MLAF_S_NEAR] = "SELECT c.id, c.source, c.imported, p.canonical FROM problem p JOIN choice c"
                    " ON c.problem = p.id JOIN device v ON v.id = c.device WHERE p.family = ?1"
                    " AND v.canonical = ?2 AND c.protocol = ?3",
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
    /* Rows that a merge copies, oldest first: the columns of MLAF_S_SAMPLES, then who and what it was. */
    [MLAF_S_EACH_SAMPLE] =
        SAMPLE_FIELDS ", s.protocol, v.canonical, v.target, v.name, v.cu, v.xcc, v.wave, v.lds, v.mem_bytes, v.l2_bytes,"
        " v.llc_bytes, p.canonical, t.identity, s.driver, s.clock_mhz, s.mem_clock_mhz FROM sample s" KERNEL_JOINS(s)
        " JOIN device v ON v.id = s.device JOIN problem p ON p.id = s.problem JOIN toolchain t ON t.id = s.toolchain"
        " ORDER BY s.id",
    [MLAF_S_HAS_SAMPLE] = "SELECT 1 FROM sample WHERE device = ?1 AND problem = ?2 AND protocol = ?3 AND variant = ?4"
                          " AND outcome = ?5 AND ns IS ?6 AND n IS ?7 AND lengths = ?8 AND toolchain = ?9 AND driver = ?10"
                          " AND kernel1 IS ?11 AND kernel2 IS ?12 AND kernel3 IS ?13 AND kernel4 IS ?14",
    [MLAF_S_FACTS] = "SELECT target, name, cu, xcc, wave, lds, mem_bytes, l2_bytes, llc_bytes FROM device WHERE canonical = ?1",
    [MLAF_S_ANY_SAMPLE] = "SELECT 1 FROM sample WHERE device = (SELECT id FROM device WHERE canonical = ?1)"
                          " AND problem = (SELECT id FROM problem WHERE canonical = ?2) AND protocol = ?3 LIMIT 1",
    [MLAF_S_TOUCHED] = "SELECT DISTINCT device, problem FROM sample UNION SELECT device, problem FROM choice WHERE imported = 0",
};

const char *const *mlaf_db_damaged_sql(void) {
  static const char *const list[] = {
      "SELECT 'kernel row ' || k.id || ' (' || k.symbol || ')' FROM kernel k WHERE NOT (k.sum IS " KERNEL_SUM(k) ")",
      "SELECT 'sample row ' || s.id || ' (' || s.variant || ')' FROM sample s" KERNEL_JOINS(s) " WHERE NOT " SAMPLE_INTACT,
      "SELECT 'choice row ' || c.id || ' (' || c.variant || ')' FROM choice c" KERNEL_JOINS(c) " WHERE NOT " CHOICE_INTACT,
      NULL};
  return list;
}

sqlite3_stmt *mlaf_db_prepare(mlaf_db *db, mlaf_db_stmt which, mlaf_err *err) {
  sqlite3_stmt **slot = &db->stmt[which];
  if (!db->sql && mlaf_db_texts_fill(db, err) != MLAF_OK) return NULL;
  if (*slot) {
    sqlite3_reset(*slot);
    sqlite3_clear_bindings(*slot);
  } else if (mlaf_db_parse(db->sql, statements[which], SQLITE_PREPARE_PERSISTENT, slot) != SQLITE_OK) {
    mlaf_db_fail(db, err, "preparing a statement");
  }
  return *slot;
}

/* Prepares statements ahead. A failure here is not reported: it comes again, and is reported, where the statement is wanted. */
void mlaf_db_get_ready(mlaf_db *db, const mlaf_device_info *dev) {
  static const mlaf_db_stmt always[] = {MLAF_S_NEAR, MLAF_S_CHOICE_BY_ID, MLAF_S_ANY_SAMPLE};
  static const mlaf_db_stmt tuned[] = {MLAF_S_FASTEST, MLAF_S_SAMPLES}; /* a third of a millisecond */
  mlaf_err ignored;
  if (db->texts) mlaf_db_texts_get_ready(db, dev->id);
  if (!db->sql) return; /* a text, or nothing: it is not asked in SQL */
  for (size_t i = 0; i < sizeof always / sizeof *always; i++) mlaf_db_prepare(db, always[i], &ignored);
  if (mlaf_db_pragma(db, "SELECT EXISTS (SELECT 1 FROM sample)") != 1) return;
  for (size_t i = 0; i < sizeof tuned / sizeof *tuned; i++) mlaf_db_prepare(db, tuned[i], &ignored);
}
