/* Tuning texts as a layer. Importing them into SQLite cost a process 7 ms before its first plan; a plan wants a few rows of one
 * device and one shape, and finds them by the first two columns. The text stays the truth: of what is derived from it a process
 * keeps the rows that it once parsed, as a plan looks at the same ones several times. */
#include "op/nearest.h"
#include "db/db_internal.h"
#include "op/op.h"

enum { LINE_BITS = 40 }; /* an id is a file's number, then its line's */

typedef struct text_line {
  const char *at;
  size_t n;
  mlaf_choice_row *row; /* NULL: not parsed yet, or wrong */
  bool wrong;
} text_line;

typedef struct text_file {
  char *path, *text;
  text_line *lines;
  size_t n_lines;
  int version;
  bool complained;
} text_file;

struct mlaf_db_texts {
  text_file *files;
  size_t n, parsed;
};

void mlaf_db_texts_free(mlaf_db_texts *t) {
  if (!t) return;
  for (size_t i = 0; i < t->n; i++) {
    for (size_t k = 0; k < t->files[i].n_lines; k++) free(t->files[i].lines[k].row);
    free(t->files[i].lines);
    free(t->files[i].path);
    free(t->files[i].text);
  }
  free(t->files);
  free(t);
}

mlaf_status mlaf_db_texts_open(const char *name, const mlaf_log *log, mlaf_db **out, mlaf_err *err) {
  mlaf_db *db = calloc(1, sizeof *db);
  if (db) db->texts = calloc(1, sizeof *db->texts);
  if (!db || !db->texts || !(db->path = mlaf_strdup(name))) {
    mlaf_db_close(db);
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a database handle");
  }
  if (log) db->log = *log;
  *out = db;
  return MLAF_OK;
}

static size_t length_of(const char *line, const char *end) {
  const char *stop = memchr(line, '\n', (size_t)(end - line));
  return (size_t)((stop ? stop : end) - line);
}

static bool find_lines(text_file *f, const char *rows, const char *end) {
  size_t n = 1;
  for (const char *p = rows; (p = memchr(p, '\n', (size_t)(end - p))); p++) n++;
  if (!(f->lines = calloc(n, sizeof *f->lines))) return false;
  for (const char *p = rows; p < end; p += f->lines[f->n_lines - 1].n + 1)
    f->lines[f->n_lines++] = (text_line){.at = p, .n = length_of(p, end)};
  return true;
}

static mlaf_status add_file(mlaf_db_texts *t, const char *path, mlaf_err *err) {
  if (!mlaf_room(&t->files, t->n, sizeof *t->files)) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a tuning text");
  text_file *f = &t->files[t->n];
  void *text = NULL;
  const char *rows;
  size_t size;
  mlaf_status status = mlaf_file_read(path, MLAF_DB_TEXT_MAX, &text, &size, err);
  if (status != MLAF_OK) return status;
  *f = (text_file){.path = mlaf_strdup(path), .text = text};
  status = f->path ? mlaf_db_text_head(text, &f->version, &rows, err) : mlaf_fail(err, MLAF_E_NOMEM, "no memory for a path");
  if (status == MLAF_OK && !find_lines(f, rows, (char *)text + strlen(text)))
    status = mlaf_fail(err, MLAF_E_NOMEM, "no memory for a tuning text");
  if (status == MLAF_OK) {
    t->n++;
    return MLAF_OK;
  }
  free(f->path);
  free(text);
  return status;
}

mlaf_status mlaf_db_texts_add(mlaf_db *db, const char *path, mlaf_err *err) {
  const mlaf_status status = add_file(db->texts, path, err);
  return status == MLAF_OK ? MLAF_OK : mlaf_fail_prefix(err, status, "%s", path);
}

size_t mlaf_db_texts_parsed(const mlaf_db *db) { return db->texts ? db->texts->parsed : 0; }

/* --- one row --- */

static mlaf_status no_row(mlaf_err *err) { return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a tuned choice"); }

/* Wrong rows are told of once. */
static mlaf_status read_row(mlaf_db *db, text_file *f, text_line *line, mlaf_err *err) {
  mlaf_err why = {MLAF_OK, ""};
  if (line->row) return MLAF_OK;
  if (line->wrong) return mlaf_fail(err, MLAF_E_DB, "%s: a row is wrong", f->path);
  mlaf_choice_row *row = calloc(1, sizeof *row);
  if (!row) return no_row(err);
  db->texts->parsed++;
  mlaf_status status = mlaf_db_text_row(line->at, line->n, 0, f->version, true, row, &why);
  row->imported = true;
  if (status == MLAF_OK) {
    line->row = row;
    return MLAF_OK;
  }
  size_t number = 1;
  for (const char *p = f->text; p < line->at; p++) number += *p == '\n';
  mlaf_db_text_row(line->at, line->n, number, f->version, true, row, &why);
  free(row);
  if (!f->complained) mlaf_log_line(&db->log, MLAF_LOG_WARN, "passing over a tuned choice: %s: %s", f->path, why.text);
  f->complained = true;
  line->wrong = status != MLAF_E_NOMEM;
  return mlaf_fail(err, status, "%s: %s", f->path, why.text);
}

mlaf_status mlaf_db_texts_row(mlaf_db *db, int64_t id, mlaf_choice_row *out, mlaf_err *err) {
  text_file *f = &db->texts->files[id >> LINE_BITS];
  text_line *line = &f->lines[id & ((INT64_C(1) << LINE_BITS) - 1)];
  const mlaf_status status = read_row(db, f, line, err);
  if (status != MLAF_OK) return status;
  *out = *line->row;
  out->choice.layer = db->layer;
  return MLAF_OK;
}

/* --- rows of a device and a shape --- */

typedef struct looking {
  mlaf_db *db;
  const char *device;
  const mlaf_point *p;
  char shape[MLAF_POINT_TEXT_MAX]; /* of its first problem the family and a comma: texts of such problems go on with sizes, which
                                      problems may follow, and with what followed before there were lists */
  const char **seen;               /* problems of the rows that matched */
  size_t n_seen;
  mlaf_db_texts_fn fn;
  void *user;
} looking;

static bool of_device(const char *device, const text_line *line, const char **problem) {
  const char *tab = memchr(line->at, '\t', line->n);
  const size_t n = tab ? (size_t)(tab - line->at) : 0;
  if (!tab || line->at[0] == '#') return false;
  *problem = tab + 1;
  return memchr(line->at, '\\', n) || (n == strlen(device) && memcmp(line->at, device, n) == 0);
}

/* The text of another device or shape; one with an escape in it is only known when it was parsed. */
static bool differs(const looking *k, const text_line *line, const char **problem) {
  const size_t shape = strlen(k->shape);
  if (!of_device(k->device, line, problem)) return true;
  return (size_t)(line->at + line->n - *problem) < shape || memcmp(*problem, k->shape, shape) != 0;
}

static bool same_problem(const char *a, const char *b) {
  const size_t n = strcspn(a, "\t");
  return n == strcspn(b, "\t") && memcmp(a, b, n) == 0;
}

/* Files are gone through from the last to the first, whose entries it replaces; within one the first of equals counts. */
static bool is_seen(const looking *k, const char *problem) {
  for (size_t i = 0; i < k->n_seen; i++)
    if (same_problem(k->seen[i], problem)) return true;
  return false;
}

static bool remember(looking *k, const char *problem) {
  if (!mlaf_room(&k->seen, k->n_seen, sizeof *k->seen)) return false;
  k->seen[k->n_seen++] = problem;
  return true;
}

/* false: no memory. */
static bool look_in(looking *k, size_t number) {
  text_file *f = &k->db->texts->files[number];
  for (size_t i = 0; i < f->n_lines; i++) {
    text_line *line = &f->lines[i];
    const char *problem;
    if (differs(k, line, &problem) || is_seen(k, problem) || read_row(k->db, f, line, NULL) != MLAF_OK) continue;
    if (strcmp(line->row->device, k->device) != 0 || !mlaf_point_same_shape(k->p, &line->row->choice.at)) continue;
    if (is_seen(k, line->row->choice.problem)) continue; /* written as before */
    if (!remember(k, line->row->choice.problem)) return false;
    if (line->row->protocol != MLAF_DB_PROTOCOL) continue;
    if (!k->fn(k->user, (int64_t)number << LINE_BITS | (int64_t)i, line->row)) return false;
  }
  return true;
}

void mlaf_db_texts_get_ready(mlaf_db *db, const char *device) {
  mlaf_err ignored;
  const char *problem;
  for (size_t i = 0; i < db->texts->n; i++)
    for (size_t k = 0; k < db->texts->files[i].n_lines; k++) {
      text_line *line = &db->texts->files[i].lines[k];
      if (of_device(device, line, &problem)) read_row(db, &db->texts->files[i], line, &ignored);
    }
}

mlaf_status mlaf_db_texts_near(mlaf_db *db, const char *device, const mlaf_point *p, mlaf_db_texts_fn fn, void *user,
                               mlaf_err *err) {
  looking k = {.db = db, .device = device, .p = p, .fn = fn, .user = user};
  bool memory = true;
  if (mlaf_point_family(p, k.shape, sizeof k.shape - 1) != MLAF_OK)
    return mlaf_fail(err, MLAF_E_PROBLEM, "a problem that does not pass mlaf_problem_check has no choices");
  snprintf(k.shape + strcspn(k.shape, "+"), 2, ",");
  for (size_t i = db->texts->n; memory && i-- > 0;) memory = look_in(&k, i);
  free(k.seen);
  return memory ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for the choices of a problem");
}

/* --- all of them, for whoever lists or exports a layer --- */

mlaf_status mlaf_db_texts_fill(mlaf_db *db, mlaf_err *err) {
  mlaf_status status = mlaf_db_connect_memory(db, err);
  for (size_t i = 0; db->texts && status == MLAF_OK && i < db->texts->n; i++) {
    const text_file *f = &db->texts->files[i];
    mlaf_err why = {MLAF_OK, ""};
    if (mlaf_db_import(db, f->text, NULL, &why) == MLAF_OK) continue;
    if (why.status == MLAF_E_NOMEM) status = mlaf_fail(err, why.status, "%s", why.text);
    else mlaf_log_line(&db->log, MLAF_LOG_WARN, "going on without tuning data: %s: %s", f->path, why.text);
  }
  return status;
}
