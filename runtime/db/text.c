/* Tuning text: tab-separated, one choice a line, sorted. See tuning/README.md; a single row is text_row.c's. */
#include "db/text_row.h"

static const char first_line[] = "# mlaforge tuning text ";

mlaf_status mlaf_db_export(mlaf_db *db, const char *device_id, mlaf_text *out, mlaf_err *err) {
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_EACH_CHOICE, err);
  if (!s) return MLAF_E_DB;
  mlaf_text_fmt(out, "%s%d\n", first_line, MLAF_TEXT_VERSION);
  mlaf_text_print_names(out, MLAF_TEXT_VERSION);
  mlaf_text_str(out, "\n");
  mlaf_status status = MLAF_OK;
  int rc;
  while (status == MLAF_OK && (rc = mlaf_db_step(s)) == SQLITE_ROW) {
    mlaf_choice_row row;
    const bool whole = mlaf_db_choice_row(s, &row);
    if (whole && device_id && strcmp(device_id, row.device) != 0) continue;
    if (!whole || !mlaf_text_print_row(out, &row))
      status = mlaf_fail(err, MLAF_E_DB,
                         "tuning database '%s' is damaged (choice of '%s' on '%s'); save what is whole with: "
                         "mlaforge db merge '%s' --db '%s.saved'",
                         db->path, row.choice.problem, row.device, db->path, db->path);
  }
  if (status == MLAF_OK && rc != SQLITE_DONE) status = mlaf_db_fail(db, err, "exporting");
  sqlite3_reset(s);
  if (status == MLAF_OK && out->failed) status = mlaf_fail(err, MLAF_E_NOMEM, "the exported text exceeds its limit");
  return status;
}

/* --- parsing --- */
typedef struct parser {
  mlaf_text_row *rows;
  size_t n;
  mlaf_text_at at;
} parser;

static mlaf_status parse_row(parser *p, const char *line, size_t n) {
  if (!mlaf_room(&p->rows, p->n, sizeof *p->rows)) return mlaf_fail(p->at.err, MLAF_E_NOMEM, "line %zu: no memory", p->at.line);
  mlaf_status status = mlaf_text_parse_row(&p->at, line, n, 0, &p->rows[p->n]);
  p->n += status == MLAF_OK;
  return status;
}

static bool starts(const char *line, size_t n, const char *with) {
  return n >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

/* Line 1; 0: it is none of a version known here. */
static int version_of(const char *line, size_t n) {
  const size_t at = strlen(first_line);
  if (n != at + 1 || !starts(line, n, first_line) || line[at] < '1' || line[at] > '0' + MLAF_TEXT_VERSION) return 0;
  return line[at] - '0';
}

static mlaf_status parse_head(parser *p, const char *line, size_t n) {
  if (p->at.line == 1) {
    p->at.version = version_of(line, n);
    if (p->at.version) return MLAF_OK;
    return mlaf_fail(p->at.err, MLAF_E_ARG, "line 1 is not '%s%d': this is no tuning text of a version known here", first_line,
                     MLAF_TEXT_VERSION);
  }
  mlaf_text names = MLAF_TEXT_INIT(4096);
  mlaf_text_print_names(&names, p->at.version);
  mlaf_status status = names.failed ? mlaf_fail(p->at.err, MLAF_E_NOMEM, "no memory") : MLAF_OK;
  if (status == MLAF_OK && (n != names.len || memcmp(line, names.data, n) != 0))
    status = mlaf_fail(p->at.err, MLAF_E_ARG, "line 2 does not name the columns of version %d; they are: %s", p->at.version,
                       names.data);
  mlaf_text_free(&names);
  return status;
}

static mlaf_status parse_line(parser *p, const char *line, size_t n) {
  if (n && line[n - 1] == '\r')
    return mlaf_fail(p->at.err, MLAF_E_ARG, "line %zu ends in a carriage return: convert the file to LF line ends",
                     p->at.line);
  if (p->at.line <= 2) return parse_head(p, line, n);
  if (n == 0 || line[0] == '#') return MLAF_OK;
  if (starts(line, n, "<<<<<<<") || starts(line, n, "=======") || starts(line, n, ">>>>>>>"))
    return mlaf_fail(p->at.err, MLAF_E_ARG, "line %zu is a merge-conflict marker: resolve the conflict first", p->at.line);
  return parse_row(p, line, n);
}

static int by_key(const void *left, const void *right) {
  const mlaf_text_row *a = left, *b = right;
  int order = strcmp(a->row.device, b->row.device);
  return order ? order : strcmp(a->row.choice.problem, b->row.choice.problem);
}

/* As many lines as there are, `most` at most; *end is where it stopped. */
static mlaf_status parse_lines(parser *p, const char *text, size_t most, const char **end) {
  mlaf_status status = MLAF_OK;
  const char *line = text;
  while (status == MLAF_OK && *line && p->at.line < most) {
    size_t n = strcspn(line, "\n");
    p->at.line++;
    status = parse_line(p, line, n);
    line += n + (line[n] == '\n');
  }
  *end = line;
  if (status == MLAF_OK && p->at.line < 2)
    return mlaf_fail(p->at.err, MLAF_E_ARG, "line %zu: the text ends before its two header lines", p->at.line + 1);
  return status;
}

/* Duplicates are found after sorting; the message names the later line first. */
static mlaf_status parse_all(parser *p, const char *text) {
  const char *end;
  mlaf_status status = parse_lines(p, text, SIZE_MAX, &end);
  if (status != MLAF_OK) return status;
  if (p->n) qsort(p->rows, p->n, sizeof *p->rows, by_key);
  for (size_t i = 1; i < p->n; i++) {
    size_t a = p->rows[i - 1].line, b = p->rows[i].line;
    if (by_key(&p->rows[i - 1], &p->rows[i]) == 0)
      return mlaf_fail(p->at.err, MLAF_E_ARG, "line %zu repeats line %zu: one choice per device and problem",
                       a > b ? a : b, a > b ? b : a);
  }
  return MLAF_OK;
}

mlaf_status mlaf_db_text_head(const char *text, int *version, const char **rows, mlaf_err *err) {
  parser p = {.at = {.err = err}};
  const mlaf_status status = parse_lines(&p, text, 2, rows);
  *version = p.at.version;
  return status;
}

mlaf_status mlaf_db_text_row(const char *line, size_t n, size_t number, int version, bool whole, mlaf_choice_row *out,
                             mlaf_err *err) {
  enum { TO_PROTOCOL = 9 }; /* device, problem, variant, knob, source, ns, margin, error, protocol */
  const mlaf_text_at at = {number, version, err};
  mlaf_text_row row;
  const mlaf_status status = mlaf_text_parse_row(&at, line, n, whole ? 0 : TO_PROTOCOL, &row);
  *out = row.row;
  return status;
}

/* --- storing --- */
/* A choice made here from samples gives way only to one from a better source. */
static bool keep_local(mlaf_db *db, int64_t device, int64_t problem, const mlaf_choice_row *row) {
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_GET_CHOICE, NULL);
  if (!s) return false;
  sqlite3_bind_int64(s, 1, device);
  sqlite3_bind_int64(s, 2, problem);
  bool keep = false;
  if (mlaf_db_step(s) == SQLITE_ROW && !sqlite3_column_int(s, 2) && sqlite3_column_int(s, 3) == MLAF_DB_PROTOCOL) {
    int mine = mlaf_source_find((const char *)sqlite3_column_text(s, 1));
    int theirs = row->choice.source == MLAF_SRC_MEASURED ? MLAF_SRC_IMPORTED : (int)row->choice.source;
    keep = mine >= 0 && mine <= theirs;
  }
  sqlite3_reset(s);
  return keep;
}

/* The part of a device id before its first ':' or '|' is the target, behind an "arch:" or "emu:" prefix. */
void mlaf_db_target_of(const char *device, char *out, size_t size) {
  if (strncmp(device, "arch:", 5) == 0) device += 5;
  else if (mlaf_emulated(device)) device = mlaf_emulated(device);
  snprintf(out, size, "%.*s", (int)strcspn(device, ":|"), device);
}

static mlaf_status store_row(mlaf_db *db, const mlaf_text_row *r, size_t *kept, mlaf_err *err) {
  int64_t device, problem;
  char target[64];
  mlaf_db_target_of(r->row.device, target, sizeof target);
  mlaf_status status = mlaf_db_put_device(db, r->row.device, target, &device, err);
  if (status == MLAF_OK) status = mlaf_db_put_problem(db, &r->row.choice.at, &problem, err);
  if (status != MLAF_OK) return status;
  if (keep_local(db, device, problem, &r->row)) {
    (*kept)++;
    return MLAF_OK;
  }
  mlaf_db_soft soft = {r->row.toolchain, r->row.driver, r->row.clock_mhz, r->row.mem_clock_mhz};
  return mlaf_db_put_choice(db, device, problem, r->row.protocol, &soft, &r->row.choice, true, err);
}

mlaf_status mlaf_db_import(mlaf_db *db, const char *text, size_t *n_choices, mlaf_err *err) {
  if (db->read_only) return mlaf_db_refuse_write(db, err);
  parser p = {.at = {.err = err}};
  size_t kept = 0;
  mlaf_status status = parse_all(&p, text); /* before the transaction: it stays short and a bad text never starts one */
  if (status == MLAF_OK) status = mlaf_db_begin(db, err);
  if (status == MLAF_OK) {
    for (size_t i = 0; status == MLAF_OK && i < p.n; i++) status = store_row(db, &p.rows[i], &kept, err);
    status = mlaf_db_end(db, status, err);
  }
  if (status == MLAF_OK && kept)
    mlaf_log_line(&db->log, MLAF_LOG_INFO, "%zu of %zu imported choices not taken: this database has its own", kept,
                  p.n);
  if (status == MLAF_OK && n_choices) *n_choices = p.n;
  free(p.rows);
  return status;
}

mlaf_status mlaf_db_take_imported(mlaf_db *db, mlaf_db *from, size_t *taken, mlaf_err *err) {
  sqlite3_stmt *s = mlaf_db_prepare(from, MLAF_S_EACH_CHOICE, err);
  if (!s) return MLAF_E_DB;
  mlaf_status status = MLAF_OK;
  int rc = SQLITE_DONE;
  while (status == MLAF_OK && (rc = mlaf_db_step(s)) == SQLITE_ROW) {
    mlaf_text_row r = {.line = 0};
    size_t kept = 0;
    if (!mlaf_db_choice_row(s, &r.row) || !r.row.imported) continue; /* its own choices follow from its samples */
    if (!r.row.choice.at.op) continue;
    if (mlaf_text_fault(r.row.device, false) || mlaf_db_word_fault(r.row.choice.variant)) continue; /* as in an import */
    status = store_row(db, &r, &kept, err);
    *taken += status == MLAF_OK && !kept;
  }
  if (status == MLAF_OK && rc != SQLITE_DONE) status = mlaf_db_fail(from, err, "reading choices");
  sqlite3_reset(s);
  return status;
}
