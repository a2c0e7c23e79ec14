/* Looking after a database: is it whole, and what in it can go. */
#include <sys/stat.h>

#include "op/nearest.h"
#include "db/columns.h"
#include "db/db_internal.h"
#include "op/op.h"

#define EXPORT_MAX ((size_t)256 << 20)

/* --- check --- */
typedef struct report {
  mlaf_db_finding_fn fn;
  void *user;
  size_t n;
} report;

static void MLAF_PRINTF(2, 3) finding(report *r, const char *fmt, ...) {
  char line[700];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  r->n++;
  if (r->fn) r->fn(r->user, line);
}

/* Each row of a query is a finding of its own, in words: its first column, and what is wrong. "ok" is none. */
static mlaf_status rows(mlaf_db *db, report *r, const char *sql, const char *wrong, mlaf_err *err) {
  sqlite3_stmt *s = NULL;
  int rc = mlaf_db_parse(db->sql, sql, 0, &s);
  while (rc == SQLITE_OK || rc == SQLITE_ROW) {
    rc = mlaf_db_step(s);
    if (rc != SQLITE_ROW) break;
    const char *what = (const char *)sqlite3_column_text(s, 0);
    if (what && strcmp(what, "ok") == 0) continue;
    finding(r, "%s%s%s", what ? what : "?", *wrong ? ": " : "", wrong);
  }
  mlaf_status status = MLAF_OK;
  if (rc != SQLITE_DONE) {
    mlaf_err why = {MLAF_OK, ""};
    status = mlaf_db_fail(db, &why, "checking it");
    if (status == MLAF_E_DB) { /* damage is what was looked for */
      finding(r, "%.600s", why.text);
      status = MLAF_OK;
    } else if (err) {
      *err = why;
    }
  }
  sqlite3_finalize(s);
  return status;
}

static mlaf_status check_problems(mlaf_db *db, report *r, mlaf_err *err) {
  sqlite3_stmt *s = NULL;
  static const char sql[] = "SELECT canonical, op, family FROM problem";
  if (mlaf_db_parse(db->sql, sql, 0, &s) != SQLITE_OK) return mlaf_db_fail(db, err, "checking problems");
  while (mlaf_db_step(s) == SQLITE_ROW) {
    const char *text = (const char *)sqlite3_column_text(s, 0), *op = (const char *)sqlite3_column_text(s, 1);
    const char *stored = (const char *)sqlite3_column_text(s, 2);
    char family[MLAF_POINT_TEXT_MAX];
    mlaf_point p;
    bool ok = text && op && stored && mlaf_point_stored(text, &p, NULL, 0) == MLAF_OK;
    ok = ok && mlaf_point_family(&p, family, sizeof family) == MLAF_OK && strcmp(family, stored) == 0;
    ok = ok && strncmp(text, op, strlen(op)) == 0 && text[strlen(op)] == ':';
    if (!ok) finding(r, "problem '%.160s': its string and its operation or family differ", text ? text : "");
  }
  sqlite3_finalize(s);
  return MLAF_OK;
}

/* Lines of two exports, both sorted. */
static void compare(report *r, const char *stored, const char *computed) {
  for (const char *a = stored, *b = computed; *a || *b;) {
    size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
    bool same = n == m && memcmp(a, b, n) == 0;
    int order = same ? 0 : !*b ? -1 : !*a ? 1 : strcmp(a, b);
    if (!same && order < 0)
      finding(r, "choice '%.*s': its samples say otherwise (tune the problem again, or run: mlaforge db gc)",
              (int)(n < 300 ? n : 300), a);
    if (same || order < 0) a += n + (a[n] == '\n');
    if (same || order > 0) b += m + (b[m] == '\n');
  }
}

/* Chosen again inside a transaction that is taken back. */
static mlaf_status check_choices(mlaf_db *db, report *r, mlaf_err *err) {
  mlaf_text before = MLAF_TEXT_INIT(EXPORT_MAX), after = MLAF_TEXT_INIT(EXPORT_MAX);
  mlaf_err why = {MLAF_OK, ""};
  mlaf_status status = mlaf_db_export(db, NULL, &before, &why);
  if (status == MLAF_OK && !db->read_only) {
    status = mlaf_db_begin(db, &why);
    if (status == MLAF_OK) {
      status = mlaf_db_rechoose_all(db, &why);
      if (status == MLAF_OK) status = mlaf_db_export(db, NULL, &after, &why);
      mlaf_db_end(db, MLAF_E_CANCELLED, NULL);
    }
    if (status == MLAF_OK && before.data && after.data) compare(r, before.data, after.data);
  }
  mlaf_text_free(&before);
  mlaf_text_free(&after);
  if (status == MLAF_E_DB) {
    finding(r, "%.600s", why.text);
    return MLAF_OK;
  }
  if (status != MLAF_OK && err) *err = why;
  return status;
}

mlaf_status mlaf_db_check(mlaf_db *db, mlaf_db_finding_fn fn, void *user, size_t *findings, mlaf_err *err) {
  report r = {fn, user, 0};
  mlaf_status status = rows(db, &r, "PRAGMA integrity_check(20)", "", err);
  if (status == MLAF_OK)
    status = rows(db, &r, "SELECT \"table\" || ' row ' || rowid FROM pragma_foreign_key_check", "it refers to a row that is gone",
                  err);
  static const char damaged[] = "it is not what was written (its sum differs); it is not used";
  const char *const *sql = mlaf_db_damaged_sql();
  for (int i = 0; sql[i] && status == MLAF_OK; i++) status = rows(db, &r, sql[i], damaged, err);
  if (status == MLAF_OK) status = check_problems(db, &r, err);
  if (status == MLAF_OK) status = check_choices(db, &r, err);
  *findings = r.n;
  return status;
}

/* --- gc --- */
#define KERNELS_OF(x) "(" STAGES(x) ")"
/* Kernels of a stage that something refers to. */
#define USED(i) "SELECT kernel" #i " FROM sample WHERE kernel" #i " IS NOT NULL UNION SELECT kernel" #i \
                " FROM choice WHERE kernel" #i " IS NOT NULL"

/* Rules in order: each one sees what the ones before it left. */
static const struct {
  size_t counter;
  const char *sql;
} rules[] = {
#define COUNTER(f) offsetof(mlaf_db_garbage, f)
    {COUNTER(outdated), "DELETE FROM sample WHERE protocol <> " MLAF_DB_PROTOCOL_TEXT},
    /* a template's newest hash on a device is that of its newest sample */
    {COUNTER(outdated),
     "DELETE FROM sample WHERE id IN (SELECT s.id FROM sample s JOIN kernel k ON k.id IN " KERNELS_OF(s) ""
     " JOIN (SELECT x.device AS device, y.template AS template, max(x.id) AS newest FROM sample x JOIN kernel y"
     "  ON y.id IN " KERNELS_OF(x) " GROUP BY x.device, y.template) n ON n.device = s.device AND n.template = k.template"
     " JOIN sample o ON o.id = n.newest JOIN kernel h ON h.id IN " KERNELS_OF(o) " AND h.template = k.template"
     " WHERE h.template_hash <> k.template_hash)"},
    {COUNTER(superseded),
     "DELETE FROM sample WHERE id NOT IN (SELECT max(id) FROM sample GROUP BY device, problem, variant, kernel1, kernel2,"
     " kernel3, kernel4, lengths)"},
    {COUNTER(choices), "DELETE FROM choice WHERE protocol <> " MLAF_DB_PROTOCOL_TEXT},
    {COUNTER(misses), "DELETE FROM miss WHERE EXISTS (SELECT 1 FROM choice c WHERE c.device = miss.device"
                      " AND c.problem = miss.problem)"},
    {COUNTER(orphans), "DELETE FROM run WHERE id NOT IN (SELECT run FROM sample)"
                       " AND id NOT IN (SELECT run FROM choice WHERE run IS NOT NULL)"},
    {COUNTER(orphans), "DELETE FROM kernel WHERE id NOT IN (" USED(1) " UNION " USED(2) " UNION " USED(3) " UNION " USED(4) ")"},
    {COUNTER(orphans), "DELETE FROM toolchain WHERE id NOT IN (SELECT toolchain FROM sample UNION SELECT toolchain FROM choice)"},
    {COUNTER(orphans), "DELETE FROM problem WHERE id NOT IN (SELECT problem FROM sample UNION SELECT problem FROM choice"
                       " UNION SELECT problem FROM miss)"},
};

static int64_t file_size(const mlaf_db *db) {
  struct stat st;
  return stat(db->path, &st) == 0 ? (int64_t)st.st_size : 0;
}

static mlaf_status apply_rules(mlaf_db *db, mlaf_db_garbage *out, mlaf_err *err) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    if (mlaf_db_exec(db->sql, rules[i].sql) != SQLITE_OK) return mlaf_db_fail(db, err, "removing rows");
    *(int64_t *)((char *)out + rules[i].counter) += sqlite3_changes(db->sql);
    if (rules[i].counter != COUNTER(superseded)) continue;
    mlaf_status status = mlaf_db_rechoose_all(db, err); /* before the kernels of what is left are judged */
    if (status != MLAF_OK) return status;
  }
  return MLAF_OK;
}

mlaf_status mlaf_db_gc(mlaf_db *db, bool dry_run, mlaf_db_garbage *out, mlaf_err *err) {
  mlaf_db_garbage done = {.bytes_before = file_size(db)};
  if (db->read_only) return mlaf_db_refuse_write(db, err);
  mlaf_status status = mlaf_db_begin(db, err);
  if (status != MLAF_OK) return status;
  status = apply_rules(db, &done, err);
  mlaf_status ended = mlaf_db_end(db, dry_run && status == MLAF_OK ? MLAF_E_CANCELLED : status, err);
  if (status == MLAF_OK && !dry_run) status = ended;
  if (status == MLAF_OK && !dry_run) { /* a refusal (somebody reads) only keeps the file as large as it was */
    mlaf_db_exec(db->sql, "VACUUM");
    mlaf_db_exec(db->sql, "PRAGMA wal_checkpoint(TRUNCATE)");
  }
  done.bytes_after = file_size(db);
  if (status == MLAF_OK) *out = done;
  return status;
}
