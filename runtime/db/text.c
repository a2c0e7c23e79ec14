/* Tuning text: tab-separated, one choice a line, sorted. One column table both prints and parses. See tuning/README.md. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/lengths.h"
#include "db/db_internal.h"
#include "mlaf_limits.h"

/* Version 2 has one column more, at the end: version 1 is read, 2 is written. */
static const char first_line[] = "# mlaforge tuning text 2", first_line_1[] = "# mlaforge tuning text 1";

typedef enum column_kind {
  TEXT,   /* may be empty, printed as "-" */
  NAME,   /* must not be empty */
  WORD,   /* a name of the generator's: its characters, and not empty */
  HASH,   /* 64 hex digits or "-" */
  COUNT,  /* uint32 within [low, high] */
  CLOCK,  /* int32, "*" waives it */
  REAL,   /* six digits, within [low, high] */
  SOURCE, /* a name of mlaf_source */
  PROBLEM, /* canonical problem string */
  LENGTHS  /* canonical lengths */
} column_kind;

typedef struct column {
  const char *name;
  column_kind kind;
  size_t offset, size;
  double low, high;
} column;

#define FIELD(f) offsetof(mlaf_choice_row, f), sizeof(((mlaf_choice_row *)0)->f)
#define KERNEL(name, at, kind, least) \
  {name ".template", kind, FIELD(choice.kernels[at].template_name), 0, 0}, \
      {name ".params", TEXT, FIELD(choice.kernels[at].params), 0, 0}, \
      {name ".symbol", kind, FIELD(choice.kernels[at].symbol), 0, 0}, \
      {name ".template_hash", HASH, FIELD(choice.kernels[at].template_hash), 0, 0}, \
      {name ".src_hash", HASH, FIELD(choice.kernels[at].src_hash), 0, 0}, \
      {name ".code_key", HASH, FIELD(choice.kernels[at].code_key), 0, 0}, \
      {name ".threads", COUNT, FIELD(choice.kernels[at].threads), least, 1024}, \
      {name ".rows_per_wg", COUNT, FIELD(choice.kernels[at].rows_per_wg), least ? 1 : 0, 65536}

/* The first two columns are the sort key. */
static const column columns[] = {
    {"device", NAME, FIELD(device), 0, 0},
    {"problem", PROBLEM, FIELD(choice.problem), 0, 0},
    {"variant", WORD, FIELD(choice.variant), 0, 0},
    {"splits", COUNT, FIELD(choice.knob), 1, MLAF_PARTS_MAX},
    {"source", SOURCE, FIELD(choice.source), 0, 0},
    {"ns", REAL, FIELD(choice.ns), 1, 1e12},
    {"margin", REAL, FIELD(choice.margin), -1, 1e9},
    {"error", REAL, FIELD(choice.error), 0, 1},
    {"protocol", COUNT, FIELD(protocol), 1, INT32_MAX},
    {"toolchain", TEXT, FIELD(toolchain), 0, 0},
    {"driver", TEXT, FIELD(driver), 0, 0},
    {"clock_mhz", CLOCK, FIELD(clock_mhz), 0, 1e6},
    {"mem_clock_mhz", CLOCK, FIELD(mem_clock_mhz), 0, 1e6},
    KERNEL("decode", 0, WORD, 64),
    KERNEL("combine", 1, TEXT, 0),
    {"lengths", LENGTHS, FIELD(choice.lengths), 0, 0},
};
enum { COLUMNS = sizeof columns / sizeof *columns, COLUMNS_1 = COLUMNS - 1 };

/* --- printing --- */
static void print_text(mlaf_text *t, const char *text) {
  if (!*text) mlaf_text_str(t, "-");
  else if (strcmp(text, "-") == 0) mlaf_text_str(t, "\\-");
  else
    for (const char *p = text; *p; p++) {
      if (*p == '\t') mlaf_text_str(t, "\\t");
      else if (*p == '\n') mlaf_text_str(t, "\\n");
      else if (*p == '\r') mlaf_text_str(t, "\\r");
      else if (*p == '\\') mlaf_text_str(t, "\\\\");
      else mlaf_text_add(t, p, 1);
    }
}

static void print_field(mlaf_text *t, const column *c, const mlaf_choice_row *row) {
  const char *field = (const char *)row + c->offset;
  switch (c->kind) {
    case COUNT: mlaf_text_fmt(t, "%u", *(const uint32_t *)field); break;
    case CLOCK:
      if (*(const int32_t *)field < 0) mlaf_text_str(t, "*");
      else mlaf_text_fmt(t, "%d", *(const int32_t *)field);
      break;
    case REAL: mlaf_text_fmt(t, "%.6g", *(const double *)field); break;
    case SOURCE: mlaf_text_str(t, mlaf_source_name(*(const mlaf_source *)field)); break;
    default: print_text(t, field);
  }
}

static void print_header(mlaf_text *t) {
  mlaf_text_fmt(t, "%s\n", first_line);
  for (size_t i = 0; i < COLUMNS; i++) mlaf_text_fmt(t, "%s%c", columns[i].name, i + 1 < COLUMNS ? '\t' : '\n');
}

mlaf_status mlaf_db_export(mlaf_db *db, const char *device_id, mlaf_text *out, mlaf_err *err) {
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_EACH_CHOICE, err);
  if (!s) return MLAF_E_DB;
  print_header(out);
  mlaf_status status = MLAF_OK;
  int rc;
  while (status == MLAF_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
    mlaf_choice_row row;
    if (!mlaf_db_choice_row(s, &row)) {
      status = mlaf_fail(err, MLAF_E_DB,
                         "tuning database '%s' is damaged (choice of '%s' on '%s'); move it aside with: "
                         "mv '%s' '%s.damaged'",
                         db->path, row.choice.problem, row.device, db->path, db->path);
      continue;
    }
    if (device_id && strcmp(device_id, row.device) != 0) continue;
    for (size_t i = 0; i < COLUMNS; i++) {
      print_field(out, &columns[i], &row);
      mlaf_text_str(out, i + 1 < COLUMNS ? "\t" : "\n");
    }
  }
  if (status == MLAF_OK && rc != SQLITE_DONE) status = mlaf_db_fail(db, err, "exporting");
  sqlite3_reset(s);
  if (status == MLAF_OK && out->failed) status = mlaf_fail(err, MLAF_E_NOMEM, "the exported text exceeds its limit");
  return status;
}

/* --- parsing --- */
typedef struct parsed_row {
  mlaf_choice_row row;
  mlaf_problem problem;
  size_t line;
} parsed_row;

typedef struct parser {
  parsed_row *rows;
  size_t n, cap, line, columns;
  mlaf_err *err;
} parser;

/* Line, column and the text itself: an import error is fixed in an editor. What is no plain text is shown with dots. */
static mlaf_status complain(const parser *p, const column *c, const char *field, int length, const char *why) {
  char shown[81];
  const int n = length > 80 ? 80 : length;
  for (int i = 0; i < n; i++) shown[i] = (unsigned char)field[i] < 0x20 || (unsigned char)field[i] > 0x7e ? '.' : field[i];
  return mlaf_fail(p->err, MLAF_E_ARG, "line %zu, column '%s': '%.*s' %s", p->line, c->name, n, shown, why);
}

/* Undoes print_text into a fixed buffer; NULL or what is wrong. */
static const char *parse_text(const char *field, size_t n, char *out, size_t size) {
  size_t used = 0;
  if (n == 1 && field[0] == '-') n = 0;
  for (size_t i = 0; i < n; i++) {
    char ch = field[i];
    if (ch == '\\') {
      static const char codes[] = "tnr\\-", values[] = "\t\n\r\\-";
      const char *code = i + 1 < n ? strchr(codes, field[++i]) : NULL;
      if (!code || !*code) return "has an unknown escape (use \\t \\n \\r \\\\ \\-)";
      ch = values[code - codes];
    }
    if (used + 1 >= size) return "is too long";
    out[used++] = ch;
  }
  out[used] = 0;
  return NULL;
}

static const char *parse_number(const char *field, size_t n, const column *c, bool whole, double *out) {
  char copy[40], *end;
  if (n == 0 || n >= sizeof copy) return "is not a number";
  memcpy(copy, field, n);
  copy[n] = 0;
  /* strtod takes spaces, hex and "inf"; a reviewed text has none of these */
  if (strspn(copy, whole ? "0123456789" : "0123456789+-.e") != n)
    return whole ? "is not a whole number" : "is not a number";
  *out = mlaf_strtod(copy, &end);
  if (*end || !isfinite(*out)) return "is not a number";
  return *out < c->low || *out > c->high ? "is out of range" : NULL;
}

static const char *parse_hash(const char *field, size_t n, char *out) {
  out[0] = 0;
  if (n == 1 && field[0] == '-') return NULL;
  if (n != MLAF_HASH_HEX - 1) return "is not a hash (64 hex digits or '-')";
  for (size_t i = 0; i < n; i++)
    if (!strchr("0123456789abcdef", field[i])) return "is not a hash (64 lower-case hex digits or '-')";
  memcpy(out, field, n);
  out[n] = 0;
  return NULL;
}

static const char *parse_problem(const char *field, size_t n, char *out, size_t size, mlaf_problem *problem, char *why,
                                 size_t why_size) {
  char canonical[MLAF_PROBLEM_TEXT_MAX];
  const char *bad = parse_text(field, n, out, size);
  if (bad) return bad;
  snprintf(why, why_size, "is not a problem: ");
  size_t used = strlen(why);
  if (mlaf_problem_parse(out, problem, why + used, why_size - used) != MLAF_OK) return why;
  mlaf_problem_print(problem, canonical, sizeof canonical);
  if (strcmp(canonical, out) == 0) return NULL;
  snprintf(why, why_size, "is not in canonical form; write '%s'", canonical);
  return why;
}

static mlaf_status parse_field(parser *p, const column *c, const char *field, size_t n, parsed_row *out) {
  char *at = (char *)&out->row + c->offset, word[32], why[400];
  const char *bad = NULL;
  double number = 0;
  int source = -1;
  mlaf_lengths lengths;
  switch (c->kind) {
    case TEXT:
    case NAME:
    case WORD:
      bad = parse_text(field, n, at, c->size);
      if (!bad && c->kind != TEXT && !*at) bad = "must not be empty";
      if (!bad) bad = c->kind == WORD ? mlaf_db_word_fault(at) : mlaf_text_fault(at, c->kind == TEXT);
      break;
    case HASH: bad = parse_hash(field, n, at); break;
    case COUNT:
      bad = parse_number(field, n, c, true, &number);
      *(uint32_t *)at = (uint32_t)number;
      break;
    case CLOCK:
      if (n == 1 && field[0] == '*') number = -1;
      else bad = parse_number(field, n, c, true, &number);
      *(int32_t *)at = (int32_t)number;
      break;
    case REAL: bad = parse_number(field, n, c, false, (double *)at); break;
    case SOURCE:
      bad = parse_text(field, n, word, sizeof word);
      source = bad ? -1 : mlaf_source_find(word);
      if (source < 0) bad = "is not a source (measured, imported, default, modelled)";
      else *(mlaf_source *)at = (mlaf_source)source;
      break;
    case LENGTHS:
      bad = parse_text(field, n, at, c->size);
      if (!bad && mlaf_lengths_parse(at, &lengths, NULL) != MLAF_OK) bad = "are no request lengths";
      break;
    case PROBLEM: bad = parse_problem(field, n, at, c->size, &out->problem, why, sizeof why); break;
  }
  return bad ? complain(p, c, field, (int)n, bad) : MLAF_OK;
}

/* The first `wanted` columns of a row. */
static mlaf_status parse_columns(parser *p, const char *line, size_t n, size_t wanted, parsed_row *out) {
  const char *end = line + n;
  memset(out, 0, sizeof *out);
  snprintf(out->row.choice.lengths, sizeof out->row.choice.lengths, "equal");
  out->line = p->line;
  for (size_t i = 0; i < wanted; i++) {
    const char *tab = memchr(line, '\t', (size_t)(end - line));
    if (!tab != (i + 1 == p->columns))
      return mlaf_fail(p->err, MLAF_E_ARG, "line %zu: %s; %zu tab-separated columns are expected", p->line,
                       tab ? "too many columns" : "too few columns", p->columns);
    const char *stop = tab ? tab : end;
    mlaf_status status = parse_field(p, &columns[i], line, (size_t)(stop - line), out);
    if (status != MLAF_OK) return status;
    line = tab ? tab + 1 : end;
  }
  return MLAF_OK;
}

static mlaf_status parse_row(parser *p, const char *line, size_t n) {
  if (p->n == p->cap) {
    size_t cap = p->cap ? 2 * p->cap : 64;
    parsed_row *grown = realloc(p->rows, cap * sizeof *grown);
    if (!grown) return mlaf_fail(p->err, MLAF_E_NOMEM, "line %zu: no memory", p->line);
    p->rows = grown;
    p->cap = cap;
  }
  mlaf_status status = parse_columns(p, line, n, p->columns, &p->rows[p->n]);
  p->n += status == MLAF_OK;
  return status;
}

static bool starts(const char *line, size_t n, const char *with) {
  return n >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

static mlaf_status parse_line(parser *p, const char *line, size_t n, const char *names) {
  if (n && line[n - 1] == '\r')
    return mlaf_fail(p->err, MLAF_E_ARG, "line %zu ends in a carriage return: convert the file to LF line ends",
                     p->line);
  if (p->line == 1) {
    bool one = n == strlen(first_line_1) && starts(line, n, first_line_1);
    p->columns = one ? COLUMNS_1 : COLUMNS;
    if (!one && (n != strlen(first_line) || !starts(line, n, first_line)))
      return mlaf_fail(p->err, MLAF_E_ARG, "line 1 is not '%s': this is no tuning text of a version known here", first_line);
  }
  size_t named = p->columns == COLUMNS ? strlen(names) : strlen(names) - strlen("\tlengths");
  if (p->line == 2 && (n != named || memcmp(line, names, n) != 0))
    return mlaf_fail(p->err, MLAF_E_ARG, "line 2 does not name the %zu columns of this version; they are: %.*s", p->columns,
                     (int)named, names);
  if (p->line <= 2 || n == 0 || line[0] == '#') return MLAF_OK;
  if (starts(line, n, "<<<<<<<") || starts(line, n, "=======") || starts(line, n, ">>>>>>>"))
    return mlaf_fail(p->err, MLAF_E_ARG, "line %zu is a merge-conflict marker: resolve the conflict first", p->line);
  return parse_row(p, line, n);
}

static int by_key(const void *left, const void *right) {
  const parsed_row *a = left, *b = right;
  int order = strcmp(a->row.device, b->row.device);
  return order ? order : strcmp(a->row.choice.problem, b->row.choice.problem);
}

/* As many lines as there are, `most` at most; *end is where it stopped. */
static mlaf_status parse_lines(parser *p, const char *text, size_t most, const char **end) {
  mlaf_text names = MLAF_TEXT_INIT(4096);
  for (size_t i = 0; i < COLUMNS; i++) mlaf_text_fmt(&names, "%s%s", i ? "\t" : "", columns[i].name);
  mlaf_status status = names.failed ? mlaf_fail(p->err, MLAF_E_NOMEM, "no memory") : MLAF_OK;
  const char *line = text;
  while (status == MLAF_OK && *line && p->line < most) {
    size_t n = strcspn(line, "\n");
    p->line++;
    status = parse_line(p, line, n, names.data);
    line += n + (line[n] == '\n');
  }
  mlaf_text_free(&names);
  *end = line;
  if (status == MLAF_OK && p->line < 2)
    return mlaf_fail(p->err, MLAF_E_ARG, "line %zu: the text ends before its two header lines", p->line + 1);
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
      return mlaf_fail(p->err, MLAF_E_ARG, "line %zu repeats line %zu: one choice per device and problem",
                       a > b ? a : b, a > b ? b : a);
  }
  return MLAF_OK;
}

mlaf_status mlaf_db_text_head(const char *text, size_t *columns_of, const char **rows, mlaf_err *err) {
  parser p = {.err = err};
  const mlaf_status status = parse_lines(&p, text, 2, rows);
  *columns_of = p.columns;
  return status;
}

mlaf_status mlaf_db_text_row(const char *line, size_t n, size_t number, size_t columns_of, bool whole, mlaf_choice_row *out,
                             mlaf_err *err) {
  enum { TO_PROTOCOL = 9 }; /* device, problem, variant, splits, source, ns, margin, error, protocol */
  parser p = {.line = number, .columns = columns_of, .err = err};
  parsed_row row;
  const mlaf_status status = parse_columns(&p, line, n, whole ? columns_of : TO_PROTOCOL, &row);
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
  if (sqlite3_step(s) == SQLITE_ROW && !sqlite3_column_int(s, 2) && sqlite3_column_int(s, 3) == MLAF_DB_PROTOCOL) {
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
  else if (strncmp(device, "emu:", 4) == 0) device += 4;
  snprintf(out, size, "%.*s", (int)strcspn(device, ":|"), device);
}

static mlaf_status store_row(mlaf_db *db, const parsed_row *r, size_t *kept, mlaf_err *err) {
  int64_t device, problem;
  char target[64];
  mlaf_db_target_of(r->row.device, target, sizeof target);
  mlaf_status status = mlaf_db_put_device(db, r->row.device, target, &device, err);
  if (status == MLAF_OK) status = mlaf_db_put_problem(db, &r->problem, &problem, err);
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
  parser p = {.err = err};
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
  while (status == MLAF_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
    parsed_row r = {.line = 0};
    size_t kept = 0;
    if (!mlaf_db_choice_row(s, &r.row) || !r.row.imported) continue; /* its own choices follow from its samples */
    if (mlaf_problem_parse(r.row.choice.problem, &r.problem, NULL, 0) != MLAF_OK) continue;
    if (mlaf_text_fault(r.row.device, false) || mlaf_db_word_fault(r.row.choice.variant)) continue; /* as in an import */
    status = store_row(db, &r, &kept, err);
    *taken += status == MLAF_OK && !kept;
  }
  if (status == MLAF_OK && rc != SQLITE_DONE) status = mlaf_db_fail(from, err, "reading choices");
  sqlite3_reset(s);
  return status;
}
