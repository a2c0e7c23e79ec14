/* Recovers what the pages of a damaged file hold. SQLite reads a table from its root page down, so a damaged first or inner page
 * hides rows that are whole. Here every leaf page of the file is read, and of its log what was committed; each row goes to the
 * table that has as many columns (no two have), under its own id, in a store in memory. What a row means is then judged by its
 * sum, as ever. Distributions' libraries lack SQLite's own recovery (sqlite_dbdata). Format: sqlite.org/fileformat2.html. */
#include <unistd.h>

#include "db/db_internal.h"

enum { USUAL_PAGE = 4096, LEAF = 0x0d, LEAF_HEAD = 8, FIRST_PAGE_HEAD = 100, FIELDS_MAX = 64 };
enum { WAL_HEAD = 32, WAL_FRAME_HEAD = 24 };
static const size_t FILE_MOST = (size_t)1 << 30;

/* Columns that a row of a table has today, and had when its table was new: columns that were added later may be missing. */
static const struct {
  const char *table;
  int least, most;
} tables[] = {{"device", 11, 11}, {"toolchain", 2, 2}, {"problem", 4, 4}, {"kernel", 9, 10},
              {"run", 3, 3},      {"sample", 30, 34},  {"choice", 19, 23}};
enum { TABLES = sizeof tables / sizeof *tables };

typedef struct recovery {
  mlaf_db *out;
  sqlite3_stmt *insert[TABLES][FIELDS_MAX]; /* by number of fields */
  size_t page;                              /* bytes of one */
  const unsigned char **pages;              /* [n]: in the file, or in its log */
  size_t n;
  bool no_memory; /* for a row, or to ask for its table */
} recovery;

static uint32_t big(const unsigned char *p, int bytes) {
  uint32_t x = 0;
  for (int i = 0; i < bytes; i++) x = x << 8 | p[i];
  return x;
}

/* A number of 1 to 9 bytes; NULL: it does not end before `end`. */
static const unsigned char *varint(const unsigned char *p, const unsigned char *end, uint64_t *out) {
  *out = 0;
  for (int i = 0; i < 9 && p < end; i++) {
    const unsigned char c = *p++;
    *out = i == 8 ? *out << 8 | c : *out << 7 | (c & 127);
    if (i == 8 || c < 128) return p;
  }
  return NULL;
}

/* --- one row --- */

static uint64_t bytes_of(uint64_t type) {
  static const unsigned char small[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
  return type < 12 ? small[type] : (type - 12) / 2;
}

static int64_t integer(const unsigned char *p, uint64_t bytes) {
  uint64_t x = bytes && *p & 128 ? UINT64_MAX : 0;
  for (uint64_t i = 0; i < bytes; i++) x = x << 8 | p[i];
  return (int64_t)x;
}

static void bind(sqlite3_stmt *s, int at, uint64_t type, const unsigned char *p) {
  const uint64_t bytes = bytes_of(type);
  double real;
  if (type == 7) {
    const int64_t bits = integer(p, 8);
    memcpy(&real, &bits, sizeof real);
    sqlite3_bind_double(s, at, real);
  } else if (type >= 12 && type % 2) sqlite3_bind_text(s, at, (const char *)p, (int)bytes, SQLITE_TRANSIENT);
  else if (type == 8 || type == 9) sqlite3_bind_int64(s, at, type == 9);
  else if (type && type < 7) sqlite3_bind_int64(s, at, integer(p, bytes));
  else sqlite3_bind_null(s, at);
}

/* INSERT into the table that has rows of so many fields; NULL: none has. */
static sqlite3_stmt *insert_of(recovery *r, int fields) {
  for (int t = 0; t < TABLES; t++) {
    if (fields < tables[t].least || fields > tables[t].most) continue;
    if (r->insert[t][fields]) return r->insert[t][fields];
    char *sql = sqlite3_mprintf("SELECT group_concat(name), group_concat('?') FROM (SELECT name FROM pragma_table_info(%Q) "
                                "ORDER BY cid LIMIT %d)", tables[t].table, fields);
    sqlite3_stmt *names = NULL;
    char *insert = NULL;
    if (sql && sqlite3_prepare_v2(r->out->sql, sql, -1, &names, NULL) == SQLITE_OK && sqlite3_step(names) == SQLITE_ROW)
      insert = sqlite3_mprintf("INSERT OR IGNORE INTO %s(%s) VALUES(%s)", tables[t].table, sqlite3_column_text(names, 0),
                               sqlite3_column_text(names, 1));
    sqlite3_finalize(names);
    sqlite3_free(sql);
    if (insert) sqlite3_prepare_v2(r->out->sql, insert, -1, &r->insert[t][fields], NULL);
    r->no_memory |= !sql || sqlite3_errcode(r->out->sql) == SQLITE_NOMEM;
    sqlite3_free(insert);
    return r->insert[t][fields];
  }
  return NULL;
}

/* A record: the types of its fields, then the fields. The first is the row's id, which is not in it. */
static void put_record(recovery *r, int64_t id, const unsigned char *p, size_t n) {
  const unsigned char *end = p + n, *at;
  uint64_t head, type[FIELDS_MAX], need = 0;
  int fields = 0;
  if (!(at = varint(p, end, &head)) || head > n) return;
  for (const unsigned char *stop = p + head; at < stop; fields++) {
    if (fields == FIELDS_MAX || !(at = varint(at, stop, &type[fields])) || type[fields] > 2 * (uint64_t)n + 13) return;
    need += bytes_of(type[fields]);
  }
  if (need > n - head) return;
  sqlite3_stmt *s = insert_of(r, fields);
  if (!s) return;
  at = p + head;
  for (int i = 0; i < fields; at += bytes_of(type[i++])) bind(s, i + 1, type[i], at);
  sqlite3_bind_int64(s, 1, id);
  r->no_memory |= sqlite3_step(s) == SQLITE_NOMEM; /* what breaks a rule of its table is none of its rows */
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
}

/* --- pages --- */

/* The payload of a row that goes on in other pages. False: they are not there. */
static bool gather(const recovery *r, const unsigned char *p, size_t here, uint64_t whole, unsigned char *out) {
  memcpy(out, p, here);
  uint32_t next = big(p + here, 4);
  while (here < whole) {
    if (!next || next > r->n || !r->pages[next - 1]) return false;
    const size_t left = (size_t)whole - here, n = left < r->page - 4 ? left : r->page - 4;
    memcpy(out + here, r->pages[next - 1] + 4, n);
    next = big(r->pages[next - 1], 4);
    here += n;
  }
  return true;
}

static void read_cell(recovery *r, const unsigned char *p, const unsigned char *end) {
  uint64_t whole, id;
  if (!(p = varint(p, end, &whole)) || !(p = varint(p, end, &id)) || whole > MLAF_DB_TEXT_MAX) return;
  const size_t usable = r->page, most = usable - 35, least = (usable - 12) * 32 / 255 - 23;
  if (whole <= most) {
    if (whole <= (size_t)(end - p)) put_record(r, (int64_t)id, p, (size_t)whole);
    return;
  }
  const size_t fits = least + (size_t)((whole - least) % (usable - 4)), here = fits <= most ? fits : least;
  if (here + 4 > (size_t)(end - p)) return;
  unsigned char *all = malloc((size_t)whole);
  r->no_memory |= !all;
  if (all && gather(r, p, here, whole, all)) put_record(r, (int64_t)id, all, (size_t)whole);
  free(all);
}

static void read_page(recovery *r, size_t number) {
  const unsigned char *page = r->pages[number], *end = page + r->page, *head = page + (number ? 0 : FIRST_PAGE_HEAD);
  if (!page || head[0] != LEAF) return;
  const uint32_t cells = big(head + 3, 2);
  for (uint32_t i = 0; i < cells && head + LEAF_HEAD + 2 * i + 2 <= end; i++) {
    const uint32_t at = big(head + LEAF_HEAD + 2 * i, 2);
    if (at >= LEAF_HEAD && at < r->page) read_cell(r, page + at, end);
  }
}

static bool is_page_size(uint32_t n) { return n >= 512 && n <= 32768 && (n & (n - 1)) == 0; }

/* Puts the log's pages of whole transactions in the place of the file's. */
static void take_log(recovery *r, const unsigned char *log, size_t n, size_t room) {
  size_t last = 0;
  if (n < WAL_HEAD || big(log + 8, 4) != r->page) return;
  const size_t frame = WAL_FRAME_HEAD + r->page, frames = (n - WAL_HEAD) / frame;
  for (size_t i = 0; i < frames; i++) {
    const unsigned char *f = log + WAL_HEAD + i * frame;
    if (memcmp(f + 8, log + 16, 8)) break; /* salts: of an older log */
    if (big(f + 4, 4)) last = i + 1;       /* it ends a transaction */
  }
  for (size_t i = 0; i < last; i++) {
    const unsigned char *f = log + WAL_HEAD + i * frame;
    const uint32_t number = big(f, 4);
    if (!number || number > room) continue;
    r->pages[number - 1] = f + WAL_FRAME_HEAD;
    if (number > r->n) r->n = number;
  }
}

static mlaf_status read_all(recovery *r, const unsigned char *file, size_t n, const unsigned char *log, size_t n_log,
                            mlaf_err *err) {
  const uint32_t told = n > 18 ? big(file + 16, 2) : 0, logged = n_log > WAL_HEAD ? big(log + 8, 4) : 0;
  r->page = is_page_size(logged) ? logged : is_page_size(told) && !memcmp(file, "SQLite format 3", 16) ? told : USUAL_PAGE;
  r->n = n / r->page;
  const size_t room = r->n + n_log / r->page + 1;
  if (!(r->pages = calloc(room, sizeof *r->pages))) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu pages", room);
  for (size_t i = 0; i < r->n; i++) r->pages[i] = file + i * r->page;
  take_log(r, log, n_log, room);
  int rc = sqlite3_exec(r->out->sql, "PRAGMA foreign_keys=OFF; BEGIN", NULL, NULL, NULL); /* rows come in any order */
  for (size_t i = 0; i < r->n && !r->no_memory; i++)
    if (r->pages[i]) read_page(r, i);
  if (rc == SQLITE_OK) rc = sqlite3_exec(r->out->sql, "COMMIT", NULL, NULL, NULL);
  if (rc != SQLITE_OK || r->no_memory) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for the rows of '%s'", r->out->path);
  return MLAF_OK;
}

mlaf_status mlaf_db_recover(const char *path, const mlaf_log *log, mlaf_db **out, mlaf_err *err) {
  void *file = NULL, *frames = NULL;
  size_t n = 0, n_frames = 0;
  recovery r = {.out = NULL};
  char *name = mlaf_format("%s-wal", path);
  mlaf_status status = name ? mlaf_file_take(path, FILE_MOST, &file, &n, err)
                            : mlaf_fail(err, MLAF_E_NOMEM, "no memory for a path");
  if (!status && access(name, F_OK) == 0) status = mlaf_file_take(name, FILE_MOST, &frames, &n_frames, err);
  if (!status) status = mlaf_db_open_memory(path, log, &r.out, err);
  if (!status) status = read_all(&r, file, n, frames, n_frames, err);
  for (int t = 0; t < TABLES; t++)
    for (int i = 0; i < FIELDS_MAX; i++) sqlite3_finalize(r.insert[t][i]);
  free(r.pages);
  free(frames);
  free(file);
  free(name);
  if (!status && mlaf_db_pragma(r.out, "SELECT (SELECT count(*) FROM sample) + (SELECT count(*) FROM choice)") <= 0)
    status = mlaf_fail(err, MLAF_E_DB, "no page of '%s' holds a sample or a choice", path);
  if (!status) *out = r.out;
  else mlaf_db_close(r.out);
  return status;
}
