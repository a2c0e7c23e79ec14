/* Tables and JSON lines. What memory was lacking for is left out whole, and the command does not pass. */
#include <pthread.h>

#include "cli/cli.h"
#include "op/op.h"

static atomic_bool lacking;

static void *json_malloc(size_t size) {
  void *p = malloc(size);
  if (!p) atomic_store(&lacking, true);
  return p;
}

void mlaf_cli_output_begin(void) {
  atomic_store(&lacking, false);
  cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = json_malloc, .free_fn = free});
}

bool mlaf_cli_output_lacking(void) { return atomic_load(&lacking); }

struct cli_table {
  const char *const *columns;
  int n_columns;
  char **cells;
  size_t n;
  cli_table *next; /* of those not at their end */
};

static cli_table *unfinished; /* tables being filled, for mlaf_cli_tables_flush */
static pthread_mutex_t filling = PTHREAD_MUTEX_INITIALIZER; /* guards the list and the cells of what is in it */

cli_table *mlaf_cli_table_new(const char *const *columns) {
  cli_table *t = calloc(1, sizeof *t);
  if (!t) {
    atomic_store(&lacking, true);
    return NULL;
  }
  t->columns = columns;
  while (columns[t->n_columns]) t->n_columns++;
  pthread_mutex_lock(&filling);
  t->next = unfinished;
  unfinished = t;
  pthread_mutex_unlock(&filling);
  return t;
}

/* Takes `text` over; NULL: there was no memory for it. False when out of memory. */
static bool add_cell(cli_table *t, char *text) {
  const bool room = text && mlaf_room(&t->cells, t->n, sizeof *t->cells);
  if (room) t->cells[t->n++] = text;
  else free(text);
  return room;
}

void mlaf_cli_table_cell(cli_table *t, const char *fmt, ...) {
  enum { FORMAT_MAX = 128, NEXT = 037 };
  char format[FORMAT_MAX], *text = NULL;
  if (!t) return;
  snprintf(format, sizeof format, "%s", fmt);
  for (char *tab; (tab = strchr(format, '\t'));) *tab = NEXT; /* texts may have tabs */
  va_list ap;
  va_start(ap, fmt);
  if (vasprintf(&text, format, ap) < 0) text = NULL;
  va_end(ap);
  bool added = text != NULL;
  pthread_mutex_lock(&filling);
  for (char *at = text, *end; added && at; at = end) {
    if ((end = strchr(at, NEXT))) *end++ = 0;
    added = add_cell(t, mlaf_strdup(at));
  }
  pthread_mutex_unlock(&filling);
  free(text);
  if (!added) atomic_store(&lacking, true);
}

static const char *title(const cli_table *t, int column) {
  const char *name = t->columns[column];
  return name[0] == '>' || name[0] == '|' ? name + 1 : name;
}

/* A "|column" stands on a line of its own below its row, where it has anything to say. */
static bool is_below(const cli_table *t, int column) { return t->columns[column][0] == '|'; }

/* A first cell of more columns than these has a line of its own, above the rest of its row. */
enum { WIDEST_FIRST = 64 };
static bool is_above(int column, const char *text) { return column == 0 && strlen(text) > WIDEST_FIRST; }

/* The last column is never padded: nothing stands behind it. */
static void print_cell(const cli_table *t, int column, int width, const char *text) {
  bool last = column + 1 == t->n_columns || is_below(t, column + 1);
  if (is_below(t, column)) {
    if (*text) printf("  %s\n", text);
    return;
  }
  if (t->columns[column][0] == '>') printf("%*s%s", width, text, last ? "\n" : "  ");
  else if (!last && is_above(column, text)) printf("%s\n%*s", text, width + 2, "");
  else if (last) printf("%s\n", text);
  else printf("%-*s  ", width, text);
}

/* Widths come from all rows, so a table is printed at its end; long runs show progress on stderr meanwhile. */
static void print_table(const cli_table *t, size_t n) {
  int *widths = lacking ? NULL : calloc((size_t)t->n_columns, sizeof *widths);
  if (!widths) atomic_store(&lacking, true);
  for (int i = 0; widths && i < t->n_columns; i++) widths[i] = (int)strlen(title(t, i));
  for (size_t i = 0; widths && i < n; i++) {
    const int column = (int)(i % (size_t)t->n_columns), have = (int)strlen(t->cells[i]);
    if (have > widths[column] && !is_above(column, t->cells[i])) widths[column] = have;
  }
  for (int i = 0; widths && i < t->n_columns; i++) print_cell(t, i, widths[i], title(t, i));
  for (size_t i = 0; widths && i < n; i++) {
    int column = (int)(i % (size_t)t->n_columns);
    print_cell(t, column, widths[column], t->cells[i]);
  }
  free(widths);
}

static void finish_table(cli_table *t, bool print) {
  if (!t) return;
  pthread_mutex_lock(&filling);
  for (cli_table **p = &unfinished; *p; p = &(*p)->next)
    if (*p == t) {
      *p = t->next;
      break;
    }
  pthread_mutex_unlock(&filling);
  flockfile(stdout); /* tables of several threads do not mix */
  if (print) print_table(t, t->n);
  funlockfile(stdout);
  for (size_t i = 0; i < t->n; i++) free(t->cells[i]);
  free(t->cells);
  free(t);
}

void mlaf_cli_table_end(cli_table *t) { finish_table(t, true); }
void mlaf_cli_table_drop(cli_table *t) { finish_table(t, false); }

void mlaf_cli_tables_flush(void) {
  pthread_mutex_lock(&filling); /* and never released: the process ends */
  for (const cli_table *t = unfinished; t; t = t->next)
    if (t->n >= (size_t)t->n_columns) print_table(t, t->n - t->n % (size_t)t->n_columns);
}

cJSON *mlaf_cli_json_text(const cli_member *m) { return m->text ? cJSON_CreateString(m->text) : NULL; }
cJSON *mlaf_cli_json_number(const cli_member *m) { return cJSON_CreateNumber(m->number); }
cJSON *mlaf_cli_json_flag(const cli_member *m) { return cJSON_CreateBool(m->flag); }

void mlaf_cli_json_members(cJSON *to, const cli_member *members, size_t n) {
  for (size_t i = 0; i < n; i++) {
    cJSON *x = members[i].make(&members[i]);
    if (x && !cJSON_AddItemToObject(to, members[i].name, x)) cJSON_Delete(x);
  }
}

cJSON *mlaf_cli_event(const char *name) {
  cJSON *event = cJSON_CreateObject();
  char schema[64];
  snprintf(schema, sizeof schema, "mlaforge.%s", name);
  mlaf_cli_json(event, TEXT("schema", schema), NUMBER("version", MLAF_CLI_JSON_VERSION));
  return event;
}

void mlaf_cli_emit(cJSON *event) {
  char *line = cJSON_PrintUnformatted(event);
  if (line && !lacking) printf("%s\n", line);
  fflush(stdout); /* a reader at the other end of a pipe sees each event when it happens */
  cJSON_free(line);
  cJSON_Delete(event);
}

static void json_kernel(cJSON *to, const char *name, const mlaf_kernel_ref *k) {
  if (!k->template_name[0]) {
    cJSON_AddNullToObject(to, name);
    return;
  }
  cJSON *o = cJSON_AddObjectToObject(to, name);
  mlaf_cli_json(o, TEXT("template", k->template_name), TEXT("params", k->params), TEXT("symbol", k->symbol),
                TEXT("template_hash", k->template_hash), TEXT("src_hash", k->src_hash), TEXT("code_key", k->code_key),
                NUMBER("threads", k->threads), NUMBER("rows_per_wg", k->rows_per_wg));
}

void mlaf_cli_json_kernels(cJSON *to, const char *problem, const mlaf_kernel_ref kernels[MLAF_STAGES_MAX]) {
  const char *const *names = mlaf_stage_names(problem);
  for (int i = 0; names && names[i]; i++) json_kernel(to, names[i], &kernels[i]);
}

void mlaf_cli_json_timing(cJSON *to, const mlaf_timing *t) {
  cJSON *o = cJSON_AddObjectToObject(to, "timing");
  mlaf_cli_json(o, TEXT("source", t->source == MLAF_TIME_MODELLED ? "modelled" : "measured"), NUMBER("ns", t->ns),
                NUMBER("p10_ns", t->p10_ns), NUMBER("p90_ns", t->p90_ns), NUMBER("mad_ns", t->mad_ns),
                NUMBER("samples", t->samples), NUMBER("clock_mhz", t->clock_mhz), TEXT("bound", t->bound),
                TEXT("detail", t->detail));
  cJSON *parts = cJSON_AddObjectToObject(o, "parts_ns");
  for (int i = 0; i < t->n_parts && i < MLAF_TIME_PARTS; i++)
    cJSON_AddNumberToObject(parts, t->parts[i].name, t->parts[i].ns);
}

/* Times and errors of a candidate that was not timed are left out rather than printed as 0. */
void mlaf_cli_json_sample(cJSON *to, const char *problem, const mlaf_sample *s) {
  mlaf_cli_json(to, TEXT("variant", s->variant), NUMBER("knob", s->knob), TEXT("outcome", mlaf_outcome_name(s->outcome)),
                TEXT("detail", s->detail), NUMBER("vgpr", s->vgpr), NUMBER("agpr", s->agpr), NUMBER("lds_bytes", s->lds),
                NUMBER("scratch_bytes", s->scratch));
  if (s->outcome == MLAF_OUT_OK || s->outcome == MLAF_OUT_NOISY) {
    cJSON_AddNumberToObject(to, "error", s->error);
    mlaf_cli_json_timing(to, &s->timing);
  }
  mlaf_cli_json_kernels(to, problem, s->kernels);
}

void mlaf_cli_parts(const mlaf_timing *t, char *out, size_t size) {
  bool used[MLAF_TIME_PARTS] = {false};
  size_t at = 0;
  out[0] = 0;
  for (int k = 0; k < t->n_parts && k < MLAF_TIME_PARTS && at < size; k++) {
    int best = -1;
    for (int i = 0; i < t->n_parts && i < MLAF_TIME_PARTS; i++)
      if (!used[i] && (best < 0 || t->parts[i].ns > t->parts[best].ns)) best = i;
    used[best] = true;
    if (t->parts[best].ns < 0.01 * t->ns) break;
    at += (size_t)snprintf(out + at, size - at, "%s%s %.1f", at ? ", " : "", t->parts[best].name,
                           t->parts[best].ns / 1e3);
  }
}
