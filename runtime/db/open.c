/* Opening a database file: where it is, whose it is, what may be done with it, and what to say when something is wrong. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/db_internal.h"

#define QUICK_CHECK_MAX (512 * 1024) /* bytes: below this a whole check costs about a millisecond */
enum { SQLITE_PATH_MOST = 510 }; /* bytes of an absolute path that SQLite opens: MAX_PATHNAME of its os_unix.c, less its end */

static const char fix_damaged[] =
    "save what its pages hold with: mlaforge db merge '%s' --db '%s.saved'; then put that in its place: rm -f '%s-wal' '%s-shm'; "
    "mv '%s' '%s.damaged'; mv '%s.saved' '%s'";

mlaf_status mlaf_db_fail_damaged(const char *path, const char *cause, mlaf_err *err) {
  char fix[MLAF_ERR_MAX / 2];
  const int n = snprintf(fix, sizeof fix, fix_damaged, path, path, path, path, path, path, path, path);
  if (n >= (int)sizeof fix) /* of a long path the first command alone, and that whole */
    snprintf(fix, sizeof fix, "save what its pages hold with: mlaforge db merge '%s' --db '%s.saved'; then put that in its place",
             path, path);
  return mlaf_fail(err, MLAF_E_DB, "tuning database '%s' is damaged (%s): %s", path, cause, fix);
}

mlaf_status mlaf_db_fail(mlaf_db *db, mlaf_err *err, const char *what) {
  int code = sqlite3_extended_errcode(db->sql);
  const int cause = sqlite3_system_errno(db->sql);
  const char *text = sqlite3_errmsg(db->sql), *path = db->path;
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return mlaf_db_fail_damaged(path, text, err);
    case SQLITE_ERROR: /* our own SQL on our own schema: only a damaged or hand-edited file gets here */
    case SQLITE_CONSTRAINT:
      if (db->newer)
        return mlaf_fail(err, MLAF_E_DB,
                         "tuning database '%s' needs a newer mlaforge (%s while %s): use that one, or name "
                         "another file with --db",
                         path, text, what);
      return mlaf_db_fail_damaged(path, text, err);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return mlaf_fail(err, MLAF_E_DB,
                       "tuning database '%s' stayed locked by another process for %d s while %s: wait for it, "
                       "or find it with: fuser '%s'",
                       path, MLAF_DB_BUSY_MS / 1000, what, path);
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return mlaf_fail(err, MLAF_E_DB,
                       "tuning database '%s' cannot be written while %s (%s): check the permissions of the "
                       "file and its directory, or name another with --db",
                       path, what, text);
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return mlaf_fail(err, MLAF_E_IO,
                       "tuning database '%s' could not be written while %s (%s%s%s): nothing committed is lost; "
                       "%s or name a file elsewhere with --db",
                       path, what, text, cause ? ", " : "", cause ? strerror(cause) : "",
                       cause == EFBIG ? mlaf_os_error_of(cause)->cure : "free some space");
    case SQLITE_CANTOPEN:
      if (strlen(path) > SQLITE_PATH_MOST)
        return mlaf_fail(err, MLAF_E_IO,
                         "tuning database: its path has %zu bytes, and SQLite takes %d: name one that is shorter with --db; "
                         "it begins with '%.100s'", strlen(path), SQLITE_PATH_MOST, path);
      return mlaf_fail(err, MLAF_E_IO,
                       "tuning database '%s' cannot be opened or created (%s): check that its directory exists, is "
                       "writable and has space, or name another with --db",
                       path, text);
    case SQLITE_NOMEM: return mlaf_fail(err, MLAF_E_NOMEM, "no memory while %s in '%s'", what, path);
    default:
      return mlaf_fail(err, MLAF_E_INTERNAL, "tuning database '%s': %s (code %d) while %s", path, text, code, what);
  }
}

mlaf_status mlaf_db_refuse_write(const mlaf_db *db, mlaf_err *err) {
  return mlaf_fail(err, MLAF_E_DB,
                   "tuning database '%s' is open read-only (%s): nothing is recorded; name another with --db", db->path,
                   db->read_only_why);
}

/* --- where --- */
/* *out NULL: no memory. Without a home there is no database: in a folder of all users one could choose others' kernels. */
static mlaf_status home_path(char **out, mlaf_err *err) {
  const char *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
  if (xdg && xdg[0] == '/') *out = mlaf_format("%s/mlaforge/tuning.db", xdg);
  else if (home && home[0] == '/') *out = mlaf_format("%s/.local/share/mlaforge/tuning.db", home);
  else
    return mlaf_fail(err, MLAF_E_IO, "no place for a tuning database: neither MLAF_DB nor HOME nor XDG_DATA_HOME names one "
                                     "(HOME and XDG_DATA_HOME must be absolute paths); name a file with --db or MLAF_DB");
  return MLAF_OK;
}

/* Names that SQLite would take for no file at all (":memory:", "file:...") are files here. */
static char *file_path(const char *path) {
  return path[0] == ':' || strncmp(path, "file:", 5) == 0 ? mlaf_format("./%s", path) : mlaf_strdup(path);
}

/* malloc'ed: what the caller, the environment or the home directory names. An empty name is refused, for it is a mistake in a
 * script mostly, and writing into the home directory instead would hide it. */
static mlaf_status name_of(const char *path, char **out, mlaf_err *err) {
  const char *value = path ? path : getenv("MLAF_DB");
  if (value && !*value)
    return mlaf_fail(err, MLAF_E_ARG, path ? "a tuning database needs the name of a file, not ''"
                                           : "MLAF_DB is set and empty: name a tuning database with it, or unset it for the one "
                                             "in your home directory");
  if (value) *out = file_path(value);
  const mlaf_status st = value ? MLAF_OK : home_path(out, err);
  if (st) return st;
  return *out ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for a path");
}

static char *parent_of(const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return mlaf_strdup(".");
  return slash == path ? mlaf_strdup("/") : mlaf_format("%.*s", (int)(slash - path), path);
}

/* --- whose --- */
static const char *guess_format(const unsigned char *head, size_t n) {
  static const struct {
    const char *magic;
    size_t n;
    const char *what;
  } known[] = {{"\x7f"
                "ELF",
                4, "an ELF object"},
               {"\x1f\x8b", 2, "gzip data"},
               {"PK\3\4", 4, "a zip archive"},
               {"%PDF", 4, "a PDF"},
               {"\x28\xb5\x2f\xfd", 4, "zstd data"},
               {"#!", 2, "a script"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (n >= known[i].n && memcmp(head, known[i].magic, known[i].n) == 0) return known[i].what;
  for (size_t i = 0; i < n; i++)
    if (head[i] >= 0x80 || (head[i] < 32 && !strchr("\t\r\n", head[i]))) return "binary data of an unknown kind";
  return "a text file (a tuning text is read with: mlaforge db import FILE)";
}

/* Looks at the raw file, before SQLite may touch it. *suspect: a SQLite file whose header lacks our application id. */
static mlaf_status inspect_raw(const char *path, bool *suspect, mlaf_err *err) {
  unsigned char head[100] = {0};
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return mlaf_fail(err, MLAF_E_IO, "cannot read the tuning database '%s': %s; name another with --db", path,
                     strerror(errno));
  struct stat st;
  ssize_t n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, head, sizeof head) : -1;
  close(fd);
  if (n < 0) return mlaf_fail(err, MLAF_E_DB, "'%s' is not a regular file; name another with --db", path);
  *suspect = false;
  if (n == 0) return MLAF_OK; /* empty: new */
  if ((size_t)n < sizeof head && memcmp(head, "SQLite format 3", (size_t)n < 15 ? (size_t)n : 15) == 0)
    return mlaf_db_fail_damaged(path, "cut short inside its header", err);
  if (memcmp(head, "SQLite format 3", 16) != 0)
    return mlaf_fail(err, MLAF_E_DB,
                     "'%s' is not a tuning database but %s: name another file with --db; it was not touched (if it was one and "
                     "its first page is damaged: mlaforge db merge '%s' --db NEW saves what the others hold)",
                     path, guess_format(head, (size_t)n), path);
  uint32_t id = (uint32_t)head[68] << 24 | (uint32_t)head[69] << 16 | (uint32_t)head[70] << 8 | head[71];
  *suspect = id != MLAF_DB_APPLICATION_ID;
  return MLAF_OK;
}

/* Enough for a person to recognise the file by. */
static void list_tables(sqlite3 *sql, char *out, size_t size) {
  sqlite3_stmt *s = NULL;
  size_t used = 0;
  out[0] = 0;
  if (mlaf_db_parse(sql, "SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 6", 0, &s) == SQLITE_OK)
    while (mlaf_db_step(s) == SQLITE_ROW && used < size)
      used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "",
                               (const char *)sqlite3_column_text(s, 0));
  sqlite3_finalize(s);
}

/* OK when the open file is ours or still blank (*blank). */
static mlaf_status identify(mlaf_db *db, bool *blank, mlaf_err *err) {
  /* Tables first: another process may be making the file at this moment, both in one transaction. */
  int64_t tables = mlaf_db_pragma(db, "SELECT count(*) FROM sqlite_master");
  int64_t id = tables < 0 ? -1 : mlaf_db_pragma(db, "PRAGMA application_id");
  if (id < 0) return mlaf_db_fail(db, err, "reading it");
  *blank = id == 0 && tables == 0;
  if (*blank || id == MLAF_DB_APPLICATION_ID) return MLAF_OK;
  char names[200];
  list_tables(db->sql, names, sizeof names);
  return mlaf_fail(err, MLAF_E_DB,
                   "'%s' is a SQLite database of another program (application id 0x%08x, tables: %s): name "
                   "another file with --db; it was not touched",
                   db->path, (unsigned)id, names[0] ? names : "none");
}

/* --- how --- */
/* A WAL file in a directory that cannot be written opens only as immutable; the path goes into a URI for that. */
static char *immutable_uri(const char *path) {
  mlaf_text t = MLAF_TEXT_INIT(65536);
  mlaf_text_str(&t, "file:");
  for (const char *p = path; *p; p++) {
    if (strchr("?#%", *p)) mlaf_text_fmt(&t, "%%%02X", (unsigned char)*p);
    else mlaf_text_add(&t, p, 1);
  }
  mlaf_text_str(&t, "?immutable=1");
  return mlaf_text_take(&t);
}

/* The file may come from anywhere: no functions of its schema are trusted, every page is checked as it is read. */
static mlaf_status connect(mlaf_db *db, const char *name, int flags, mlaf_err *err) {
  if (db->sql) mlaf_db_shut(db->sql);
  db->sql = NULL;
  int rc = sqlite3_open_v2(name, &db->sql, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
  if (!db->sql) return mlaf_fail(err, MLAF_E_NOMEM, "no memory to open '%s'", db->path);
  if (rc != SQLITE_OK) return mlaf_db_fail(db, err, "opening it");
  sqlite3_busy_timeout(db->sql, MLAF_DB_BUSY_MS);
  sqlite3_db_config(db->sql, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_db_config(db->sql, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(db->sql, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
  mlaf_db_exec(db->sql, "PRAGMA cell_size_check=ON");
  return mlaf_db_add_sum(db, err);
}

/* No log whose content a reader of the file alone would miss. */
static bool has_no_wal(const mlaf_db *db) {
  struct stat st;
  char *wal = mlaf_format("%s-wal", db->path);
  const bool none = wal && (stat(wal, &st) != 0 || st.st_size == 0);
  free(wal);
  return none;
}

/* SQLite wants to create the shared memory of a WAL file even for reading. Where it may not, nobody else writes either; where
 * there is no space for it, nobody else has the file open. */
static mlaf_status connect_read_only(mlaf_db *db, mlaf_err *err) {
  mlaf_status status = connect(db, db->path, SQLITE_OPEN_READONLY, err);
  if (status != MLAF_OK || mlaf_db_pragma(db, "PRAGMA schema_version") >= 0) return status;
  const int code = sqlite3_extended_errcode(db->sql);
  const bool no_space = code == SQLITE_IOERR_SHMSIZE || code == SQLITE_IOERR_SHMOPEN || code == SQLITE_IOERR_SHMMAP;
  if ((code & 0xff) != SQLITE_CANTOPEN && (code & 0xff) != SQLITE_READONLY && !(no_space && has_no_wal(db)))
    return mlaf_db_fail(db, err, "reading it");
  char *uri = immutable_uri(db->path);
  if (!uri) return mlaf_fail(err, MLAF_E_NOMEM, "no memory to open '%s'", db->path);
  status = connect(db, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
  free(uri);
  return status;
}

/* Changed only where it has to be: a file that comes from elsewhere may be in the other mode. A refusal (busy) leaves the
 * journal as it was, which is correct too on a local disk, only slower. */
static void choose_journal(mlaf_db *db, const char *dir) {
  bool local;
  const char *fs = mlaf_db_fs_of(dir, &local);
  mlaf_db_exec(db->sql, local ? "PRAGMA journal_mode=WAL" : "PRAGMA journal_mode=DELETE");
  if (!local)
    mlaf_log_line(&db->log, MLAF_LOG_INFO,
                  "tuning database '%s' lies on %s: it is written with a rollback journal, safe between hosts but slower than "
                  "on a local disk",
                  db->path, fs);
}

static mlaf_status connect_writable(mlaf_db *db, const char *dir, bool suspect, mlaf_err *err) {
  bool blank;
  mlaf_status status = MLAF_OK;
  if (suspect) { /* closing a writable connection may fold another program's WAL into its file: look read-only first */
    status = connect_read_only(db, err);
    if (status == MLAF_OK) status = identify(db, &blank, err);
    if (status != MLAF_OK) return status;
  }
  status = connect(db, db->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
  if (status == MLAF_OK) status = identify(db, &blank, err);
  if (status != MLAF_OK) return status;
  int64_t version = mlaf_db_pragma(db, "PRAGMA user_version");
  if (version > MLAF_DB_SCHEMA) return MLAF_OK; /* the caller goes read-only; no byte of it changes */
  choose_journal(db, dir);
  mlaf_db_exec(db->sql, "PRAGMA synchronous=FULL");
  int found = 0;
  return version == MLAF_DB_SCHEMA ? MLAF_OK : mlaf_db_migrate(db, &found, err);
}

static void go_read_only(mlaf_db *db, bool warn, const char *why) {
  db->read_only = true;
  snprintf(db->read_only_why, sizeof db->read_only_why, "%s", why);
  if (warn) mlaf_log_line(&db->log, MLAF_LOG_WARN, "tuning database '%s' is used read-only: %s", db->path, why);
}

/* A file of an older schema that may not be written: its content in memory, brought to today's schema. */
static mlaf_status migrate_copy(mlaf_db *db, mlaf_err *err) {
  sqlite3 *file = db->sql;
  int found = 0;
  db->sql = NULL;
  mlaf_status status = connect(db, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
  sqlite3_backup *copy = status == MLAF_OK ? sqlite3_backup_init(db->sql, "main", file, "main") : NULL;
  int rc = copy ? sqlite3_backup_step(copy, -1) : SQLITE_ERROR;
  if (copy) sqlite3_backup_finish(copy);
  mlaf_db_shut(file);
  if (status == MLAF_OK && rc != SQLITE_DONE) status = mlaf_db_fail(db, err, "reading it");
  return status == MLAF_OK ? mlaf_db_migrate(db, &found, err) : status;
}

/* After the connection stands: schema newer than this build, damage that shows at once, tables an old file lacks. */
static mlaf_status settle(mlaf_db *db, off_t size, mlaf_err *err) {
  int64_t version = mlaf_db_pragma(db, "PRAGMA user_version");
  if (version < 0) return mlaf_db_fail(db, err, "reading the schema version");
  if (version > MLAF_DB_SCHEMA) {
    char why[128];
    snprintf(why, sizeof why, "a newer mlaforge wrote it (schema %lld, this one knows %d)", (long long)version,
             MLAF_DB_SCHEMA);
    mlaf_db_exec(db->sql, "PRAGMA query_only=1");
    go_read_only(db, true, why);
    db->newer = true;
  }
  if (size > QUICK_CHECK_MAX) return MLAF_OK;
  sqlite3_stmt *s = NULL;
  mlaf_status status = MLAF_OK;
  if (mlaf_db_parse(db->sql, "PRAGMA quick_check(1)", 0, &s) != SQLITE_OK || mlaf_db_step(s) != SQLITE_ROW)
    status = mlaf_db_fail(db, err, "checking it");
  else if (strcmp((const char *)sqlite3_column_text(s, 0), "ok") != 0)
    status = mlaf_db_fail_damaged(db->path, (const char *)sqlite3_column_text(s, 0), err);
  sqlite3_finalize(s);
  return status;
}

static mlaf_status open_read_only(mlaf_db *db, mlaf_err *err) {
  bool blank = false;
  mlaf_status status = connect_read_only(db, err);
  if (status == MLAF_OK) status = identify(db, &blank, err);
  if (status == MLAF_OK && blank)
    status = mlaf_fail(err, MLAF_E_DB, "tuning database '%s' is empty and cannot be written: %s", db->path,
                       db->read_only_why);
  int64_t version = status == MLAF_OK ? mlaf_db_pragma(db, "PRAGMA user_version") : MLAF_DB_SCHEMA;
  return version >= 1 && version < MLAF_DB_SCHEMA ? migrate_copy(db, err) : status;
}

static mlaf_status open_at(mlaf_db *db, const char *dir, bool read_only, mlaf_err *err) {
  struct stat st;
  bool exists = stat(db->path, &st) == 0, suspect = false;
  if (!exists && read_only)
    return mlaf_fail(err, MLAF_E_IO,
                     "there is no tuning database at '%s': tune something, import a tuning text, or name "
                     "another with --db",
                     db->path);
  mlaf_status status = exists ? inspect_raw(db->path, &suspect, err) : mlaf_dir_make(dir, err);
  if (status != MLAF_OK) return status;
  if (read_only) go_read_only(db, false, "opened for reading");
  else if (exists && euidaccess(db->path, W_OK) != 0) go_read_only(db, true, "the file is not writable");
  else if (exists && euidaccess(dir, W_OK) != 0) go_read_only(db, true, "its directory is not writable");
  status = db->read_only ? open_read_only(db, err) : connect_writable(db, dir, suspect, err);
  if (status == MLAF_E_IO && exists && !db->read_only) { /* a full disk: what is known serves all the same */
    go_read_only(db, true, "it cannot be opened for writing; free some space where it lies");
    status = open_read_only(db, err);
  }
  return status == MLAF_OK ? settle(db, exists ? st.st_size : 0, err) : status;
}

mlaf_status mlaf_db_open(const char *path, bool read_only, const mlaf_log *log, mlaf_db **out, mlaf_err *err) {
  mlaf_db *db = calloc(1, sizeof *db);
  if (!db) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a database handle");
  if (log) db->log = *log;
  mlaf_status status = name_of(path, &db->path, err);
  char *dir = status == MLAF_OK ? parent_of(db->path) : NULL;
  if (status == MLAF_OK) status = dir ? open_at(db, dir, read_only, err) : mlaf_fail(err, MLAF_E_NOMEM, "no memory for a path");
  free(dir);
  if (status == MLAF_OK) *out = db;
  else mlaf_db_close(db);
  return status;
}

mlaf_status mlaf_db_connect_memory(mlaf_db *db, mlaf_err *err) {
  int found = 0;
  mlaf_status status = connect(db, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
  return status == MLAF_OK ? mlaf_db_migrate(db, &found, err) : status;
}

mlaf_status mlaf_db_open_memory(const char *name, const mlaf_log *log, mlaf_db **out, mlaf_err *err) {
  mlaf_db *db = calloc(1, sizeof *db);
  if (!db || !(db->path = mlaf_strdup(name))) {
    free(db);
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a database handle");
  }
  if (log) db->log = *log;
  mlaf_status status = mlaf_db_connect_memory(db, err);
  if (status == MLAF_OK) *out = db;
  else mlaf_db_close(db);
  return status;
}

mlaf_status mlaf_db_open_copy(const char *path, const mlaf_log *log, mlaf_db **out, mlaf_err *err) {
  char *name = NULL;
  mlaf_db *db = NULL;
  mlaf_status status = name_of(path, &name, err);
  if (status != MLAF_OK) return status;
  status = access(name, F_OK) != 0 ? mlaf_db_open_memory(name, log, &db, err) : mlaf_db_open(path, true, log, &db, err);
  free(name);
  if (status == MLAF_OK && db->read_only && !db->newer) {
    for (int i = 0; i < MLAF_S_COUNT; i++) {
      sqlite3_finalize(db->stmt[i]);
      db->stmt[i] = NULL;
    }
    status = migrate_copy(db, err);
    db->read_only = false;
  }
  if (status == MLAF_OK) *out = db;
  else mlaf_db_close(db);
  return status;
}

void mlaf_db_close(mlaf_db *db) {
  if (!db) return;
  if (db->missed) mlaf_db_take_misses(db);
  for (int i = 0; i < MLAF_LAYER_COUNT; i++) mlaf_db_close(db->outer[i]);
  for (int i = 0; i < MLAF_S_COUNT; i++) sqlite3_finalize(db->stmt[i]);
  mlaf_db_shut(db->sql);
  mlaf_db_texts_free(db->texts);
  free(db->path);
  free(db);
}

const char *mlaf_db_path(const mlaf_db *db) { return db->path; }

bool mlaf_db_is_read_only(const mlaf_db *db) { return db->read_only; }
