/* Misses: what was asked for and is not tuned, a hint for whoever tunes next. One is made while a request waits for its plan, and
 * a transaction there would wait for a disk and perhaps for another writer: it is a line appended to <database>-misses instead,
 * which is taken into the database when that is closed or asked for its misses. What a killed process left waits for the next. */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/db_internal.h"

enum { FILE_MAX = 64 * 1024, TRIES = 3 };

static char *path_of(const mlaf_db *db) { return mlaf_format("%s-misses", db->path); }

/* The file, locked, and not one that was taken away meanwhile; -1: not now. */
static int open_locked(const char *path, int flags, off_t *size) {
  for (int i = 0; i < TRIES; i++) {
    struct stat st;
    const int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink) {
      *size = st.st_size;
      return fd;
    }
    close(fd);
  }
  return -1;
}

void mlaf_db_record_miss(mlaf_db *db, const char *device, const mlaf_point *p) {
  char problem[MLAF_POINT_TEXT_MAX], line[sizeof problem + 256];
  off_t size;
  if (db->read_only || strpbrk(device, "\t\n") || mlaf_point_print(p, problem, sizeof problem) != MLAF_OK) return;
  const int n = snprintf(line, sizeof line, "%s\t%s\n", device, problem);
  char *path = n > 0 && (size_t)n < sizeof line ? path_of(db) : NULL;
  const int fd = path ? open_locked(path, O_WRONLY | O_APPEND | O_CREAT, &size) : -1;
  const mlaf_write_guard guard = mlaf_write_guard_enter();
  if (fd >= 0 && size + n <= FILE_MAX && write(fd, line, (size_t)n) == n) db->missed = true;
  mlaf_write_guard_leave(guard);
  if (fd >= 0) close(fd);
  free(path);
}

static mlaf_status add(mlaf_db *db, const char *device, const mlaf_point *p, mlaf_err *err) {
  int64_t device_id, problem_id;
  char target[64];
  mlaf_db_target_of(device, target, sizeof target);
  mlaf_status status = mlaf_db_put_device(db, device, target, &device_id, err);
  if (status == MLAF_OK) status = mlaf_db_put_problem(db, p, &problem_id, err);
  sqlite3_stmt *s = status == MLAF_OK ? mlaf_db_prepare(db, MLAF_S_ADD_MISS, err) : NULL;
  if (!s) return status == MLAF_OK ? MLAF_E_DB : status;
  sqlite3_bind_int64(s, 1, device_id);
  sqlite3_bind_int64(s, 2, problem_id);
  sqlite3_bind_int64(s, 3, 1);
  return mlaf_db_run(db, s, "recording a miss", err);
}

/* A line that is cut short or damaged is a hint less. */
static mlaf_status add_lines(mlaf_db *db, char *text, mlaf_err *err) {
  char *rest;
  mlaf_status status = MLAF_OK;
  for (char *line = strtok_r(text, "\n", &rest); line && status == MLAF_OK; line = strtok_r(NULL, "\n", &rest)) {
    char *tab = strchr(line, '\t');
    mlaf_point p;
    if (!tab || tab == line || mlaf_point_parse(NULL, tab + 1, &p, NULL, 0) != MLAF_OK) continue;
    *tab = 0;
    status = add(db, line, &p, err);
  }
  return status;
}

static bool store(mlaf_db *db, char *text) {
  mlaf_err ignored;
  sqlite3_busy_timeout(db->sql, MLAF_DB_MISS_BUSY_MS);
  mlaf_status status = mlaf_db_begin(db, &ignored);
  if (status == MLAF_OK) status = mlaf_db_end(db, add_lines(db, text, &ignored), &ignored);
  sqlite3_busy_timeout(db->sql, MLAF_DB_BUSY_MS);
  return status == MLAF_OK;
}

static void take(mlaf_db *db) {
  off_t size = 0;
  char *path = db->read_only || !sqlite3_get_autocommit(db->sql) ? NULL : path_of(db);
  const int fd = path ? open_locked(path, O_RDWR, &size) : -1;
  char *text = fd >= 0 && size <= FILE_MAX ? malloc((size_t)size + 1) : NULL;
  const ssize_t n = text ? pread(fd, text, (size_t)size, 0) : -1;
  if (n >= 0) text[n] = 0;
  if ((n >= 0 && store(db, text)) || size > FILE_MAX) unlink(path); /* the lock is held until it is closed */
  if (fd >= 0) close(fd);
  free(text);
  free(path);
}

void mlaf_db_take_misses(mlaf_db *db) {
  char *path = db->sql ? path_of(db) : NULL;
  mlaf_db *writable = NULL;
  if (path && access(path, F_OK) == 0) {
    if (!db->read_only) take(db);
    else if (mlaf_db_open(db->path, false, NULL, &writable, NULL) == MLAF_OK) take(writable);
  }
  mlaf_db_close(writable);
  free(path);
}
