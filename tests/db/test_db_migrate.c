/* A database of schema 3, row by row before and after it is brought to today's schema: schema3.sql is a real one, and rows in its
 * form make it a thousand. schema4.sql is one with lists of problems as they were written before there was a +. */
#include <sqlite3.h>
#include <sys/stat.h>

#include "db/db_fixture.h"

#include "base/killing.h"
#include "db/db_internal.h"
#include "op/nearest.h"
#include "ops/mla_decode/problem.h"

/* The columns that schema 3 summed. Frozen: rows of the real file must agree with it. */
#define OF(table, x) "(SELECT canonical FROM " table " WHERE id = " x "." table ")"
#define TOOL(x)      "(SELECT identity FROM toolchain WHERE id = " x ".toolchain)"
#define SAMPLE_SUM_3                                                                                                       \
  "mlaf_sum(sample.id, " OF("device", "sample") ", " OF("problem", "sample") ", " TOOL("sample") ", protocol, variant, splits," \
  " decode, combine, outcome, source, ns, p10_ns, p90_ns, mad_ns, n, parts, error, lengths, driver, clock_mhz, mem_clock_mhz)"
#define CHOICE_SUM_3                                                                                                       \
  "mlaf_sum(" OF("device", "choice") ", " OF("problem", "choice") ", " TOOL("choice") ", protocol, variant, splits, decode,"    \
  " combine, source, imported, ns, margin, error, lengths, driver, clock_mhz, mem_clock_mhz)"

typedef struct raw {
  mlaf_db db; /* for its SQL function */
} raw;

static void raw_open(raw *r, const char *path) {
  mlaf_err err;
  *r = (raw){{.path = "raw"}};
  assert_int_equal(sqlite3_open(path, &r->db.sql), SQLITE_OK);
  assert_int_equal(mlaf_db_add_sum(&r->db, &err), MLAF_OK);
}

static void raw_run(raw *r, const char *sql) {
  char *why = NULL;
  if (sqlite3_exec(r->db.sql, sql, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s: %.300s", why, sql);
}

static void raw_close(raw *r) { assert_int_equal(sqlite3_close(r->db.sql), SQLITE_OK); }

/* Every row of every query as one line, each value quoted: what the file holds. */
static void add_rows(raw *r, const char *sql, mlaf_text *out) {
  sqlite3_stmt *s = NULL;
  if (sqlite3_prepare_v2(r->db.sql, sql, -1, &s, NULL) != SQLITE_OK) fail_msg("%s: %s", sqlite3_errmsg(r->db.sql), sql);
  while (sqlite3_step(s) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(s); i++) {
      const char *text = (const char *)sqlite3_column_text(s, i);
      mlaf_text_fmt(out, "%d:%s%c", sqlite3_column_type(s, i), text ? text : "", i + 1 < sqlite3_column_count(s) ? '\t' : '\n');
    }
  }
  assert_int_equal(sqlite3_finalize(s), SQLITE_OK);
}

static int64_t number(raw *r, const char *sql) {
  const int64_t n = mlaf_db_pragma(&r->db, sql);
  assert_true(n >= 0);
  return n;
}

#define SAMPLE_REST                                                                                                           \
  ", outcome, source, ns, p10_ns, p90_ns, mad_ns, n, clock, parts, bound, timing_detail, error, vgpr, agpr, lds, scratch," \
  " detail, driver, clock_mhz, mem_clock_mhz, lengths FROM sample ORDER BY id"
#define CHOICE_REST                                                                                                           \
  ", source, imported, ns, margin, error, toolchain, driver, clock_mhz, mem_clock_mhz, run, incumbent, lengths FROM choice"    \
  " ORDER BY id"

/* The same lines of a file of either schema. Sums are left out: they cover what the columns are called by. */
static char *rows_of(const char *path) {
  static const char *const same[] = {
      "SELECT * FROM device ORDER BY id", "SELECT * FROM toolchain ORDER BY id",
      "SELECT id, canonical, op FROM problem ORDER BY id", "SELECT * FROM kernel ORDER BY id", "SELECT * FROM run ORDER BY id",
      "SELECT * FROM miss ORDER BY device, problem"};
  static const char *const staged[2][2] = {
      {"SELECT id, run, device, toolchain, problem, protocol, variant, splits, decode, combine, NULL, NULL" SAMPLE_REST,
       "SELECT id, device, problem, protocol, variant, splits, decode, combine, NULL, NULL" CHOICE_REST},
      {"SELECT id, run, device, toolchain, problem, protocol, variant, knob, kernel1, kernel2, kernel3, kernel4" SAMPLE_REST,
       "SELECT id, device, problem, protocol, variant, knob, kernel1, kernel2, kernel3, kernel4" CHOICE_REST}};
  raw r;
  mlaf_text t = MLAF_TEXT_INIT(16 << 20);
  raw_open(&r, path);
  const bool today = number(&r, "PRAGMA user_version") > 3;
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) add_rows(&r, same[i], &t);
  for (int i = 0; i < 2; i++) add_rows(&r, staged[today][i], &t);
  raw_close(&r);
  assert_false(t.failed);
  return mlaf_text_take(&t);
}

static int lines(const char *text) {
  int n = 0;
  for (; *text; text++) n += *text == '\n';
  return n;
}

/* The file of a dump. */
static void make_from(const char *name, const char *path) {
  char *sql_path = mlaf_format("%s/tests/db/%s", getenv("MLAF_SOURCE_DIR"), name);
  void *sql = NULL;
  size_t size;
  mlaf_err err;
  raw r;
  if (mlaf_file_read(sql_path, 1 << 20, &sql, &size, &err)) fail_msg("%s", err.text);
  unlink(path);
  raw_open(&r, path);
  raw_run(&r, sql);
  raw_close(&r);
  free(sql);
  free(sql_path);
}

static void make_real(const char *path) {
  raw r;
  make_from("schema3.sql", path);
  raw_open(&r, path);
  assert_int_equal(number(&r, "SELECT count(*) FROM sample WHERE sum IS NOT " SAMPLE_SUM_3), 0);
  assert_int_equal(number(&r, "SELECT count(*) FROM choice WHERE sum IS NOT " CHOICE_SUM_3), 0);
  raw_close(&r);
}

/* And what a long campaign adds to it: each candidate for 40 more problems, some of them failed, timed with requests of other
 * lengths, without a second kernel, or by an older protocol; a choice for each of the problems on each device. */
static void make_thousand(const char *path) {
  raw r;
  make_real(path);
  raw_open(&r, path);
  raw_run(&r, "BEGIN");
  raw_run(&r, "WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i < 39)"
              " INSERT INTO problem(canonical, op, heads, rank, rope, q_len, causal, dtype, page_size, batch, ctx) SELECT"
              " 'mla_decode:h' || (8 << i % 5) || ',r512,p64,q1,bf16,page64,b' || (1 << i / 10) || ',s' || (300 + i),"
              " 'mla_decode',"
              " 8 << i % 5, 512, 64, 1, 0, 0, 64, 1 << i / 10, 300 + i FROM k");
  raw_run(&r, "INSERT INTO sample(run, device, toolchain, problem, protocol, variant, splits, decode, combine, outcome,"
              " source, ns,"
              " p10_ns, p90_ns, mad_ns, n, clock, parts, bound, timing_detail, error, vgpr, agpr, lds, scratch, detail, driver,"
              " clock_mhz, mem_clock_mhz, lengths) SELECT s.run, s.device, s.toolchain, p.id, s.protocol - (s.id % 11 = 5),"
              " s.variant, s.splits, s.decode, CASE WHEN s.id % 7 THEN s.combine END, CASE s.id % 9 WHEN 4 THEN 'incorrect'"
              " ELSE s.outcome END, s.source, CASE s.id % 9 WHEN 4 THEN NULL ELSE s.ns * (1 + p.id / 100.0) END, s.p10_ns,"
              " s.p90_ns,"
              " s.mad_ns, s.n, s.clock, s.parts, s.bound, s.timing_detail, s.error, s.vgpr, s.agpr, s.lds, s.scratch,"
              " CASE s.id % 9 WHEN 4 THEN 'row 3: off by ''half''' ELSE '' END, s.driver, s.clock_mhz, s.mem_clock_mhz,"
              " CASE s.id % 5 WHEN 2 THEN 'normal:1,0.5' ELSE 'equal' END FROM sample s JOIN problem p ON p.ctx BETWEEN 300"
              " AND 339");
  raw_run(&r, "INSERT INTO choice(device, problem, protocol, variant, splits, decode, combine, source, imported, ns,"
              " margin, error,"
              " toolchain, driver, clock_mhz, mem_clock_mhz, run, incumbent, sum, lengths) SELECT c.device, p.id, c.protocol,"
              " c.variant, c.splits, c.decode, CASE WHEN p.id % 3 THEN c.combine END, c.source, 1, c.ns * (1 + p.id /"
              " 50.0), c.margin,"
              " c.error, c.toolchain, c.driver, c.clock_mhz, c.mem_clock_mhz, NULL, '', NULL, c.lengths FROM choice c JOIN"
              " problem p"
              " ON p.ctx BETWEEN 300 AND 339 WHERE c.id IN (SELECT min(id) FROM choice GROUP BY device)");
  raw_run(&r, "INSERT INTO miss SELECT v.id, p.id, p.ctx FROM device v JOIN problem p ON p.ctx % 9 = 1 WHERE v.id > 1");
  raw_run(&r, "UPDATE sample SET sum = " SAMPLE_SUM_3 "; UPDATE choice SET sum = " CHOICE_SUM_3);
  raw_run(&r, "COMMIT");
  raw_close(&r);
}

/* --- what a file says, to whoever asks the library --- */

static char *export_of(mlaf_db *db) {
  mlaf_text t = MLAF_TEXT_INIT(16 << 20);
  mlaf_err err = {0};
  if (mlaf_db_export(db, NULL, &t, &err)) fail_msg("export: %s", err.text);
  return mlaf_text_take(&t);
}

/* The export of schema 3, whose text was version 2, by SQL alone. */
static char *text_2_of(const char *path) {
#define DASH(x)   "CASE " x " WHEN '' THEN '-' ELSE " x " END"
#define KERNEL(k) DASH(k ".template") ", " DASH(k ".params") ", " DASH(k ".symbol") ", " DASH(k ".template_hash") ", " \
                  DASH(k ".src_hash") ", " DASH(k ".code_key") ", " k ".threads, " k ".rows_per_wg"
  static const char *const names[] = {"template", "params", "symbol", "template_hash", "src_hash", "code_key", "threads",
                                      "rows_per_wg"};
  mlaf_text t = MLAF_TEXT_INIT(16 << 20);
  sqlite3_stmt *s = NULL;
  raw r;
  raw_open(&r, path);
  mlaf_text_str(&t, "# mlaforge tuning text 2\ndevice\tproblem\tvariant\tsplits\tsource\tns\tmargin\terror\tprotocol\ttoolchain"
                    "\tdriver\tclock_mhz\tmem_clock_mhz");
  for (int i = 0; i < 16; i++) mlaf_text_fmt(&t, "\t%s.%s", i < 8 ? "decode" : "combine", names[i % 8]);
  mlaf_text_str(&t, "\tlengths\n");
  assert_int_equal(sqlite3_prepare_v2(r.db.sql, "SELECT v.canonical, p.canonical, c.variant, c.splits, c.source,"
      " printf('%.6g', c.ns),"
      " printf('%.6g', c.margin), printf('%.6g', c.error), c.protocol, " DASH("t.identity") ", " DASH("c.driver") ", CASE"
      " c.clock_mhz"
      " WHEN -1 THEN '*' ELSE c.clock_mhz END, CASE c.mem_clock_mhz WHEN -1 THEN '*' ELSE c.mem_clock_mhz END, " KERNEL("d") ", "
      KERNEL("m") ", c.lengths FROM choice c JOIN device v ON v.id = c.device JOIN problem p ON p.id = c.problem JOIN toolchain t"
      " ON t.id = c.toolchain LEFT JOIN kernel d ON d.id = c.decode LEFT JOIN kernel m ON m.id = c.combine"
      " ORDER BY v.canonical, p.canonical", -1, &s, NULL), SQLITE_OK);
  while (sqlite3_step(s) == SQLITE_ROW)
    for (int i = 0; i < 30; i++) {
      const char *value = (const char *)sqlite3_column_text(s, i);
      mlaf_text_fmt(&t, "%s%c", value ? value : i == 27 || i == 28 ? "0" : "-", i < 29 ? '\t' : '\n');
    }
  assert_int_equal(sqlite3_finalize(s), SQLITE_OK);
  raw_close(&r);
  return mlaf_text_take(&t);
}

/* Version 1 has no lengths, the last column; here they are equal everywhere. */
static void as_text_1(char *text) {
  char *to = text;
  for (char *line = text, *next; *line; line = next) {
    const size_t n = strcspn(line, "\n"), left = line == text ? n : (size_t)((char *)memrchr(line, '\t', n) - line);
    next = line + n + 1;
    if (line == text) line[n - 1] = '1';
    memmove(to, line, left);
    to += left;
    *to++ = '\n';
  }
  *to = 0;
}

TEST_OF(nothing_is_lost, const db_dir *d) {
  char other[128];
  mlaf_err err = {0};
  size_t findings = 0;
  raw r;
  make_thousand(d->path);
  raw_open(&r, d->path); /* the columns that go say what the string says */
  assert_int_equal(number(&r, "SELECT count(*) FROM problem WHERE canonical <> op || ':h' || heads || ',r' || rank || ',p'"
                              " || rope ||"
                              " ',q' || q_len || CASE causal WHEN 1 THEN ',causal' ELSE '' END || CASE dtype WHEN 0 THEN ',bf16'"
                              " ELSE ',f16' END || ',page' || page_size || ',b' || batch || ',s' || ctx"), 0);
  raw_close(&r);
  char *before = rows_of(d->path), *text_2 = text_2_of(d->path);
  assert_true(lines(before) >= 1000);
  mlaf_db *db = open_db(d->path);
  char *export = export_of(db);
  assert_int_equal(mlaf_db_check(db, NULL, NULL, &findings, &err), MLAF_OK);
  const mlaf_db_counts c = count(db);
  mlaf_db_close(db);
  char *after = rows_of(d->path);
  assert_string_equal(before, after);
  raw_open(&r, d->path);
  assert_int_equal(number(&r, "PRAGMA user_version"), MLAF_DB_SCHEMA);
  assert_int_equal(number(&r, "SELECT count(*) FROM problem WHERE family || ',b' <> substr(canonical, 1, length(family) +"
                              " 2)"), 0);
  raw_close(&r);
  /* the export is what an import of the old export gives */
  snprintf(other, sizeof other, "%s/other.db", d->dir);
  db = open_db(other);
  size_t n = 0;
  if (mlaf_db_import(db, text_2, &n, &err)) fail_msg("import: %s", err.text);
  assert_int_equal(n, c.choices);
  char *again = export_of(db);
  assert_string_equal(export, again);
  mlaf_db_close(db);
  unlink(other);
  db = open_db(other);
  as_text_1(text_2);
  if (mlaf_db_import(db, text_2, &n, &err)) fail_msg("import: %s", err.text);
  char *oldest = export_of(db);
  assert_string_equal(export, oldest);
  mlaf_db_close(db);
  print_message("%d rows, %lld samples, %lld choices\n", lines(before), (long long)c.samples, (long long)c.choices);
  char *const texts[] = {before, after, text_2, export, again, oldest};
  for (int i = 0; i < 6; i++) free(texts[i]);
}

/* Each choice answers for its own problem, and each family for its neighbours, as the old columns had it. */
TEST_OF(choices_answer_as_before, const db_dir *d) {
  sqlite3_stmt *s = NULL;
  raw r;
  int n = 0, near = 0;
  char copy[128];
  mlaf_err err = {0};
  make_thousand(d->path);
  snprintf(copy, sizeof copy, "%s/old.db", d->dir);
  make_thousand(copy);
  mlaf_db *db = open_db(d->path);
  raw_open(&r, copy);
  assert_int_equal(sqlite3_prepare_v2(r.db.sql,
      "SELECT v.canonical, v.target, p.canonical, c.variant, c.splits, c.ns, k.symbol, (SELECT count(*) FROM choice x JOIN"
      " problem q"
      " ON q.id = x.problem WHERE x.device = c.device AND q.heads = p.heads AND q.rank = p.rank AND q.rope = p.rope AND q.q_len ="
      " p.q_len AND q.causal = p.causal AND q.dtype = p.dtype AND q.page_size = p.page_size), c.protocol FROM choice c JOIN"
      " device v"
      " ON v.id = c.device JOIN problem p ON p.id = c.problem LEFT JOIN kernel k ON k.id = c.combine", -1, &s, NULL), SQLITE_OK);
  while (sqlite3_step(s) == SQLITE_ROW) {
    mlaf_device_info dev = make_device((const char *)sqlite3_column_text(s, 0));
    char family[MLAF_POINT_TEXT_MAX];
    const char *symbol = (const char *)sqlite3_column_text(s, 6);
    mlaf_point p;
    mlaf_choice c;
    mlaf_rung rung;
    assert_int_equal(mlaf_point_parse(NULL, (const char *)sqlite3_column_text(s, 2), &p, NULL, 0), MLAF_OK);
    if (mlaf_db_peek(db, &dev, NULL, &p, &c, &rung, &err)) fail_msg("%s", err.text);
    assert_int_equal(rung, MLAF_RUNG_EXACT);
    assert_string_equal(c.variant, (const char *)sqlite3_column_text(s, 3));
    assert_int_equal(c.knob, sqlite3_column_int(s, 4));
    assert_true(c.ns == sqlite3_column_double(s, 5));
    assert_string_equal(c.kernels[1].symbol, symbol ? symbol : "");
    assert_string_equal(c.kernels[2].template_name, "");
    mlaf_point_family(&p, family, sizeof family);
    sqlite3_stmt *q = mlaf_db_prepare(db, MLAF_S_NEAR, &err);
    sqlite3_bind_text(q, 1, family, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(q, 2, dev.id, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int(q, 3, sqlite3_column_int(s, 8));
    int found = 0;
    while (sqlite3_step(q) == SQLITE_ROW) found++;
    assert_int_equal(found, sqlite3_column_int(s, 7));
    near += found;
    n++;
  }
  sqlite3_finalize(s);
  raw_close(&r);
  mlaf_db_close(db);
  assert_true(n > 100 && near > n);
}

/* A neighbour is of the same operation. */
TEST_OF(another_operation_is_no_neighbour, const db_dir *d) {
  mlaf_err err;
  raw r;
  make_real(d->path);
  mlaf_db_close(open_db(d->path));
  raw_open(&r, d->path);
  const int64_t had = number(&r, "SELECT count(*) FROM choice c JOIN problem p ON p.id = c.problem WHERE p.family ="
                                 " 'mla_decode:h16,r512,p64,q1,bf16,page64' AND c.device = 3");
  assert_true(had > 0);
  raw_run(&r, "INSERT INTO problem(canonical, op, family) SELECT replace(canonical, 'mla_decode:', 'mla_other:'), 'mla_other',"
              " replace(family, 'mla_decode:', 'mla_other:') FROM problem WHERE family LIKE 'mla_decode:%'");
  raw_run(&r, "INSERT INTO choice(device, problem, protocol, variant, knob, source, imported, ns, margin, error, toolchain,"
              " driver,"
              " clock_mhz, mem_clock_mhz, incumbent) SELECT c.device, q.id, c.protocol, c.variant, c.knob, c.source, 1,"
              " c.ns, 0, 0,"
              " c.toolchain, c.driver, 1, 1, '' FROM choice c JOIN problem p ON p.id = c.problem JOIN problem q ON q.canonical ="
              " replace(p.canonical, 'mla_decode:', 'mla_other:')");
  raw_close(&r);
  mlaf_db *db = open_db(d->path);
  sqlite3_stmt *q = mlaf_db_prepare(db, MLAF_S_NEAR, &err);
  sqlite3_bind_text(q, 1, "mla_decode:h16,r512,p64,q1,bf16,page64", -1, SQLITE_STATIC);
  sqlite3_stmt *device = NULL;
  sqlite3_prepare_v2(db->sql, "SELECT canonical FROM device WHERE id = 3", -1, &device, NULL);
  assert_int_equal(sqlite3_step(device), SQLITE_ROW);
  sqlite3_bind_text(q, 2, (const char *)sqlite3_column_text(device, 0), -1, SQLITE_TRANSIENT);
  sqlite3_finalize(device);
  sqlite3_bind_int(q, 3, MLAF_DB_PROTOCOL);
  int64_t found = 0;
  while (sqlite3_step(q) == SQLITE_ROW) {
    assert_int_equal(strncmp((const char *)sqlite3_column_text(q, 3), "mla_decode:", 11), 0);
    found++;
  }
  assert_int_equal(found, had);
  mlaf_db_close(db);
}

static void note_line(void *user, const char *line) { mlaf_text_fmt(user, "%s\n", line); }

/* Rows that were damaged before are damaged afterwards, and no others. */
TEST_OF(damage_stays_damage, const db_dir *d) {
  mlaf_text said = MLAF_TEXT_INIT(1 << 16);
  size_t findings = 0;
  mlaf_err err;
  raw r;
  make_thousand(d->path);
  raw_open(&r, d->path);
  raw_run(&r, "UPDATE sample SET ns = 1 WHERE id = 100; UPDATE choice SET splits = 9 WHERE id = 20;"
              "UPDATE sample SET decode = (SELECT max(decode) FROM sample) WHERE id = 200");
  raw_close(&r);
  mlaf_db *db = open_db(d->path);
  assert_int_equal(mlaf_db_check(db, note_line, &said, &findings, &err), MLAF_OK);
  assert_has(said.data, "sample row 100 ");
  assert_has(said.data, "sample row 200 ");
  assert_has(said.data, "choice row 20 ");
  int damaged = 0;
  for (const char *at = said.data; (at = strstr(at, "its sum differs")); at++) damaged++;
  assert_int_equal(damaged, 3);
  mlaf_text_free(&said);
  mlaf_db_close(db);
}

/* For reading alone it is brought forward in memory, and the file stays what it was. */
TEST_OF(a_reader_leaves_the_file_alone, const db_dir *d) {
  mlaf_db *db;
  mlaf_err err;
  raw r;
  make_thousand(d->path);
  char *before = rows_of(d->path);
  assert_int_equal(mlaf_db_open(d->path, true, NULL, &db, &err), MLAF_OK);
  assert_true(count(db).samples > 900);
  char *text = export_of(db);
  assert_true(lines(text) > 100);
  mlaf_db_close(db);
  char *after = rows_of(d->path);
  assert_string_equal(before, after);
  raw_open(&r, d->path);
  assert_int_equal(number(&r, "PRAGMA user_version"), 3);
  raw_close(&r);
  free(before);
  free(text);
  free(after);
}

/* All or nothing, whenever it is interrupted. */
TEST_OF(killed_while_it_migrates, const db_dir *d) {
  killing k = killing_begin(12, 5, 60000);
  int old = 0;
  make_thousand(d->path);
  char *before = rows_of(d->path);
  while (killing_goes_on(&k)) {
    char wal[128], shm[128];
    raw r;
    snprintf(wal, sizeof wal, "%s-wal", d->path);
    snprintf(shm, sizeof shm, "%s-shm", d->path);
    unlink(wal);
    unlink(shm);
    make_thousand(d->path);
    const pid_t child = fork();
    if (child == 0) {
      mlaf_db *db = NULL;
      mlaf_err err;
      _exit(mlaf_db_open(d->path, false, NULL, &db, &err) != MLAF_OK);
    }
    killing_hits(&k, child);
    waitpid(child, NULL, 0);
    raw_open(&r, d->path);
    old += number(&r, "PRAGMA user_version") == 3;
    raw_close(&r);
    char *left = rows_of(d->path);
    assert_string_equal(before, left); /* of the one schema or the other, whole */
    free(left);
    mlaf_db_close(open_db(d->path));
    char *after = rows_of(d->path);
    assert_string_equal(before, after);
    free(after);
  }
  killing_report(&k, "migrations");
  assert_true(old > 0);
  free(before);
}

TEST_OF(schema_1_is_brought_forward, const db_dir *d) {
  mlaf_db *db;
  mlaf_err err;
  raw r;
  make_real(d->path);
  raw_open(&r, d->path);
  raw_run(&r, "DROP TABLE miss; ALTER TABLE kernel DROP COLUMN sum; ALTER TABLE sample DROP COLUMN sum;"
              " ALTER TABLE choice DROP COLUMN sum; ALTER TABLE sample DROP COLUMN lengths;"
              " ALTER TABLE choice DROP COLUMN lengths; PRAGMA user_version=1");
  raw_close(&r);
  assert_int_equal(mlaf_db_open(d->path, true, NULL, &db, &err), MLAF_OK); /* read-only: a copy in memory */
  assert_int_equal(count(db).samples, 24);
  mlaf_db_close(db);
  db = open_db(d->path);
  assert_int_equal(count(db).samples, 24);
  assert_sound(db);
  mlaf_device_info dev = make_device("d");
  mlaf_point p = make_point(5, 1, 1);
  mlaf_choice c;
  mlaf_rung rung;
  mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err);
  assert_int_equal(count(db).misses, 1);
  mlaf_db_close(db);
}

/* --- schema 4: lists of problems --- */

#define EMULATOR "emu:gfx942|cu304|xcc8|SPX|NPS1"
static const char *const listed[][2] = {
    {"mla_q_b:l96,h2,n32,p32,bf16,append_split,r64,append_norm,t5",
     "mla_q_b:l96,h2,n32,p32,bf16,t5+mla_append:r64,split,pairs,norm"},
    {"mla_q_b:l64,h1,n32,p32,bf16,append_fp8_ds_mla,r128,append_norm,t1",
     "mla_q_b:l64,h1,n32,p32,bf16,t1+mla_append:r128,fp8_ds_mla,pairs,norm"},
    {"mla_q_b:l64,h1,n32,p32,bf16,t1", "mla_q_b:l64,h1,n32,p32,bf16,t1"},
};

/* Each is found by either string, and is written as a list; with so many samples. */
static void has(mlaf_db *db, size_t wanted) {
  const mlaf_device_info dev = make_device(EMULATOR);
  mlaf_err err;
  for (size_t i = 0; i < sizeof listed / sizeof *listed; i++)
    for (int form = 0; form < 2; form++) {
      mlaf_point p;
      mlaf_choice c;
      mlaf_rung rung;
      mlaf_sample *samples;
      size_t n;
      assert_int_equal(mlaf_point_parse(NULL, listed[i][form], &p, NULL, 0), MLAF_OK);
      if (mlaf_db_peek(db, &dev, NULL, &p, &c, &rung, &err)) fail_msg("%s: %s", listed[i][form], err.text);
      assert_int_equal(rung, MLAF_RUNG_EXACT);
      assert_string_equal(c.problem, listed[i][1]);
      assert_non_null(strstr(c.variant, "mfma"));
      assert_int_equal(strstr(c.variant, "_append:") != NULL, i < 2);
      assert_int_equal(mlaf_db_samples(db, &dev, &p, &samples, &n, &err), MLAF_OK);
      assert_int_equal(n, wanted);
      free(samples);
    }
}
static void has_lists(mlaf_db *db) { has(db, 2); }
static void has_choices(mlaf_db *db) { has(db, 0); }

TEST_OF(lists_are_found_again, const db_dir *d) {
  mlaf_db *db;
  mlaf_err err;
  raw r;
  make_from("schema4.sql", d->path);
  assert_int_equal(mlaf_db_open(d->path, true, NULL, &db, &err), MLAF_OK); /* read-only: a copy in memory */
  has_lists(db);
  mlaf_db_close(db);
  db = open_db(d->path);
  has_lists(db);
  assert_sound(db); /* every sum is right again */
  mlaf_db_close(db);
  raw_open(&r, d->path);
  assert_int_equal(number(&r, "PRAGMA user_version"), MLAF_DB_SCHEMA);
  assert_int_equal(number(&r, "SELECT count(*) FROM problem WHERE canonical LIKE '%append\\_%' ESCAPE '\\'"), 0);
  assert_int_equal(number(&r, "SELECT count(*) FROM problem WHERE canonical LIKE '%+mla_append:%'"), 2);
  raw_close(&r);
}

TEST_OF(a_damaged_list_stays_damaged, const db_dir *d) {
  mlaf_err err;
  raw r;
  size_t findings = 0;
  make_from("schema4.sql", d->path);
  raw_open(&r, d->path);
  raw_run(&r, "UPDATE choice SET ns = 1 WHERE problem = 1"); /* as if it were the fastest */
  raw_close(&r);
  mlaf_db *db = open_db(d->path);
  assert_int_equal(mlaf_db_check(db, NULL, NULL, &findings, &err), MLAF_OK);
  assert_true(findings > 0);
  mlaf_db_close(db);
}

/* A tuning text of before is imported as what it means, and a layer of texts answers by either. */
TEST_OF(texts_of_before_are_read, const db_dir *d) {
  char other[512], file[512], dir[400];
  mlaf_err err;
  mlaf_db *db;
  size_t n = 0;
  make_from("schema4.sql", d->path);
  db = open_db(d->path);
  char *now = export_of(db);
  mlaf_db_close(db);
  mlaf_text before = MLAF_TEXT_INIT(1 << 20);
  for (const char *s = now; *s;) {
    size_t i = 0;
    while (i < 2 && strncmp(s, listed[i][1], strlen(listed[i][1]))) i++;
    if (i < 2) mlaf_text_fmt(&before, "%s", listed[i][0]), s += strlen(listed[i][1]);
    else mlaf_text_fmt(&before, "%c", *s++);
  }
  assert_non_null(strstr(before.data, listed[0][0]));
  assert_null(strchr(before.data, '+'));
  snprintf(other, sizeof other, "%s/other.db", d->dir);
  db = open_db(other);
  if (mlaf_db_import(db, before.data, &n, &err)) fail_msg("%s", err.text);
  assert_int_equal(n, 3);
  has_choices(db);
  char *again = export_of(db);
  assert_string_equal(again, now);
  mlaf_db_close(db);
  snprintf(dir, sizeof dir, "%s/texts", d->dir);
  snprintf(file, sizeof file, "%s/emu.tsv", dir);
  assert_int_equal(mkdir(dir, 0700), 0);
  assert_int_equal(mlaf_file_write(file, before.data, before.len, &err), MLAF_OK);
  setenv("MLAF_TUNING_DIR", dir, 1);
  setenv("MLAF_SITE_DB", "/nowhere/tuning.db", 1);
  snprintf(other, sizeof other, "%s/layered.db", d->dir);
  assert_int_equal(mlaf_db_open_layered(other, false, NULL, &db, &err), MLAF_OK);
  has_choices(db);
  mlaf_db_close(db);
  unsetenv("MLAF_TUNING_DIR");
  unsetenv("MLAF_SITE_DB");
  unlink(file);
  rmdir(dir);
  mlaf_text_free(&before);
  free(again);
  free(now);
}

TESTS_EACH(db_dir_setup, db_dir_teardown)
