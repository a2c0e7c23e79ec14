/* One row of a tuning text: one table of columns both prints and parses it. See tuning/README.md. */
#include "op/lengths.h"
#include "db/text_row.h"
#include "mlaf_limits.h"
#include "op/op.h"

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
#define OF_KERNEL(f) offsetof(mlaf_kernel_ref, f), sizeof(((mlaf_kernel_ref *)0)->f)

/* The first two columns are the sort key. */
static const column columns[] = {
    {"device", NAME, FIELD(device), 0, 0},
    {"problem", PROBLEM, FIELD(choice.problem), 0, 0},
    {"variant", WORD, FIELD(choice.variant), 0, 0},
    {"knob", COUNT, FIELD(choice.knob), 1, MLAF_DB_KNOB_MAX},
    {"source", SOURCE, FIELD(choice.source), 0, 0},
    {"ns", REAL, FIELD(choice.ns), 1, 1e12},
    {"margin", REAL, FIELD(choice.margin), -1, 1e9},
    {"error", REAL, FIELD(choice.error), 0, 1},
    {"protocol", COUNT, FIELD(protocol), 1, INT32_MAX},
    {"toolchain", TEXT, FIELD(toolchain), 0, 0},
    {"driver", TEXT, FIELD(driver), 0, 0},
    {"clock_mhz", CLOCK, FIELD(clock_mhz), 0, 1e6},
    {"mem_clock_mhz", CLOCK, FIELD(mem_clock_mhz), 0, 1e6},
    {"lengths", LENGTHS, FIELD(choice.lengths), 0, 0},
};
/* Columns of a stage's kernel. The second list is for a kernel that may not be there (versions 1 and 2). */
#define KERNEL(kind, least)                                                                                        \
  {"template", kind, OF_KERNEL(template_name), 0, 0}, {"params", TEXT, OF_KERNEL(params), 0, 0},                    \
      {"symbol", kind, OF_KERNEL(symbol), 0, 0}, {"template_hash", HASH, OF_KERNEL(template_hash), 0, 0},           \
      {"src_hash", HASH, OF_KERNEL(src_hash), 0, 0}, {"code_key", HASH, OF_KERNEL(code_key), 0, 0},                 \
      {"threads", COUNT, OF_KERNEL(threads), least, 1024}, {                                                        \
    "rows_per_wg", COUNT, OF_KERNEL(rows_per_wg), least ? 1 : 0, 65536                                              \
  }
enum { OF_ONE = 8 };
static const column kernel_columns[OF_ONE] = {KERNEL(WORD, 64)}, later_columns[OF_ONE] = {KERNEL(WORD, 1)},
                    optional_columns[OF_ONE] = {KERNEL(TEXT, 0)};
static const column stage_column = {"stage", NAME, 0, 0, 0, 0};
enum { COLUMNS = sizeof columns / sizeof *columns, GROUP = 1 + OF_ONE, AT_LENGTHS_2 = COLUMNS - 1 + 2 * OF_ONE };

/* Meaning of a field of a row: a column of the choice, or of a stage's kernel; its stage's name if `names_stage`. */
typedef struct place {
  const column *column;
  int stage; /* -1: of the choice */
  bool names_stage;
} place;

/* `stage`: the last one named. */
static place place_of(int version, size_t i, int stage) {
  const size_t common = version < 3 ? COLUMNS - 1 : COLUMNS, group = version < 3 ? OF_ONE : GROUP;
  if (i < common) return (place){&columns[i], -1, false};
  if (version < 3 && i == AT_LENGTHS_2) return (place){&columns[COLUMNS - 1], -1, false};
  const size_t of = (i - common) % group;
  const column *two = i - common < OF_ONE ? kernel_columns : optional_columns;
  if (version < 3) return (place){&two[of], (int)((i - common) / OF_ONE), false};
  if (of == 0) return (place){&stage_column, stage, true};
  return (place){&(stage == 0 ? kernel_columns : later_columns)[of - 1], stage, false};
}

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

/* `of`: the row or the kernel that the column belongs to. */
static void print_field(mlaf_text *t, const column *c, const void *of) {
  const char *field = (const char *)of + c->offset;
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

void mlaf_text_print_names(mlaf_text *t, int version) {
  static const char *const stages_2[] = {"decode", "combine"};
  for (size_t i = 0; i < COLUMNS - (version < 3); i++)
    mlaf_text_fmt(t, "%s%s", i ? "\t" : "", version < 3 && i == 3 ? "splits" : columns[i].name);
  for (size_t i = 0; version < 3 && i < 2 * OF_ONE; i++)
    mlaf_text_fmt(t, "\t%s.%s", stages_2[i / OF_ONE], kernel_columns[i % OF_ONE].name);
  if (version == 2) mlaf_text_str(t, "\tlengths");
  if (version >= 3) mlaf_text_fmt(t, "\t%s", stage_column.name);
  for (size_t i = 0; version >= 3 && i < OF_ONE; i++) mlaf_text_fmt(t, "\t%s", kernel_columns[i].name);
  if (version >= 3) mlaf_text_str(t, "\t...");
}

bool mlaf_text_print_row(mlaf_text *t, const mlaf_choice_row *row) {
  const char *const *stages = mlaf_stage_names(row->choice.problem);
  for (size_t i = 0; i < COLUMNS; i++) {
    if (i) mlaf_text_str(t, "\t");
    print_field(t, &columns[i], row);
  }
  for (int k = 0; k < MLAF_STAGES_MAX; k++) {
    if (!row->choice.kernels[k].template_name[0]) continue;
    if (!stages || !stages[k]) return false;
    mlaf_text_fmt(t, "\t%s", stages[k]);
    for (size_t i = 0; i < OF_ONE; i++) {
      mlaf_text_str(t, "\t");
      print_field(t, &kernel_columns[i], &row->choice.kernels[k]);
    }
    if (!stages[k + 1]) stages = NULL; /* none behind it */
  }
  mlaf_text_str(t, "\n");
  return true;
}

/* --- parsing --- */
/* Line, column and the text itself: an import error is fixed in an editor. What is no plain text is shown with dots. */
static mlaf_status complain(const mlaf_text_at *p, const place *at, const mlaf_text_row *row, const char *field, int length,
                            const char *why) {
  char shown[81];
  const int n = length > 80 ? 80 : length;
  const bool of_kernel = at->stage >= 0 && !at->names_stage;
  const char *const *stages = of_kernel ? mlaf_stage_names(row->row.choice.problem) : NULL;
  for (int i = 0; i < n; i++) shown[i] = (unsigned char)field[i] < 0x20 || (unsigned char)field[i] > 0x7e ? '.' : field[i];
  return mlaf_fail(p->err, MLAF_E_ARG, "line %zu, column '%s%s%s': '%.*s' %s", p->line, stages ? stages[at->stage] : "",
                   stages ? "." : "", at->column->name, n, shown, why);
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

static const char *parse_problem(const char *field, size_t n, char *out, size_t size, mlaf_point *problem, char *why,
                                 size_t why_size) {
  char canonical[MLAF_POINT_TEXT_MAX];
  const char *bad = parse_text(field, n, out, size);
  if (bad) return bad;
  snprintf(why, why_size, "is not a problem: ");
  size_t used = strlen(why);
  if (mlaf_point_stored(out, problem, why + used, why_size - used) != MLAF_OK) return why;
  mlaf_point_print(problem, canonical, sizeof canonical);
  if (strcmp(canonical, out) == 0) return NULL;
  if (strchr(canonical, '+') && !strchr(out, '+')) { /* a list as it was written before there was a + */
    snprintf(out, size, "%s", canonical);
    return NULL;
  }
  snprintf(why, why_size, "is not in canonical form; write '%s'", canonical);
  return why;
}

/* A group of a stage begins: of the operation's stages a later one than before, and the first of them first. */
static const char *parse_stage(const char *field, size_t n, const mlaf_text_row *row, int *stage) {
  const char *const *stages = mlaf_stage_names(row->row.choice.problem);
  const int before = *stage;
  for (int i = 0; stages && stages[i]; i++)
    if (strlen(stages[i]) == n && memcmp(stages[i], field, n) == 0) *stage = i;
  if (before < 0 && *stage > 0) return "cannot come before the first stage";
  if (*stage != before) return *stage < before ? "is out of order" : NULL;
  return before < 0 ? "is no stage of this operation" : "is no further stage of this operation";
}

static mlaf_status parse_field(const mlaf_text_at *p, const place *place_at, const char *field, size_t n, mlaf_text_row *out) {
  const column *c = place_at->column;
  char word[32], why[400];
  char *at = (place_at->stage < 0 ? (char *)&out->row : (char *)&out->row.choice.kernels[place_at->stage]) + c->offset;
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
    case PROBLEM: bad = parse_problem(field, n, at, c->size, &out->row.choice.at, why, sizeof why); break;
  }
  return bad ? complain(p, place_at, out, field, (int)n, bad) : MLAF_OK;
}

/* Tells whether a row may end after so many fields. */
static bool may_end(int version, size_t n) {
  if (version < 3) return n == AT_LENGTHS_2 + (size_t)(version == 2);
  return n > COLUMNS && (n - COLUMNS) % GROUP == 0 && (n - COLUMNS) / GROUP <= MLAF_STAGES_MAX;
}
static size_t most_fields(int version) {
  return version < 3 ? AT_LENGTHS_2 + (size_t)(version == 2) : COLUMNS + GROUP * MLAF_STAGES_MAX;
}

static mlaf_status wrong_number(const mlaf_text_at *p, bool many) {
  char wanted[64];
  if (p->version < 3) snprintf(wanted, sizeof wanted, "%zu", most_fields(p->version));
  else snprintf(wanted, sizeof wanted, "%d and %d for each stage", COLUMNS, GROUP);
  return mlaf_fail(p->err, MLAF_E_ARG, "line %zu: %s; %s tab-separated columns are expected", p->line,
                   many ? "too many columns" : "too few columns", wanted);
}

mlaf_status mlaf_text_parse_row(const mlaf_text_at *p, const char *line, size_t n, size_t wanted, mlaf_text_row *out) {
  const char *end = line + n, *tab = line;
  int stage = -1;
  memset(out, 0, sizeof *out);
  snprintf(out->row.choice.lengths, sizeof out->row.choice.lengths, "equal");
  out->line = p->line;
  for (size_t i = 0; tab && (!wanted || i < wanted); i++) {
    tab = memchr(line, '\t', (size_t)(end - line));
    const char *stop = tab ? tab : end;
    if (tab ? i + 1 == most_fields(p->version) : !may_end(p->version, i + 1)) return wrong_number(p, tab != NULL);
    place at = place_of(p->version, i, stage);
    const char *bad = at.names_stage ? parse_stage(line, (size_t)(stop - line), out, &stage) : NULL;
    mlaf_status status = bad               ? complain(p, &at, out, line, (int)(stop - line), bad)
                         : at.names_stage ? MLAF_OK
                                          : parse_field(p, &at, line, (size_t)(stop - line), out);
    if (status != MLAF_OK) return status;
    line = tab ? tab + 1 : end;
  }
  return MLAF_OK;
}
