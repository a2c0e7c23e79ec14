/* Whole-file reads, and directories. How files are written: publish.c. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

mlaf_status mlaf_file_fail(mlaf_err *err, const char *what, const char *path) {
  const int e = errno;
  const mlaf_os_error *known = mlaf_os_error_of(e);
  return mlaf_fail(err, MLAF_E_IO, "cannot %s '%s': %s%s%s%s", what, path, strerror(e), known ? " (" : "",
                   known ? known->cure : "", !known ? "" : known->of_place ? " or name another path)" : ")");
}

static bool read_all(int fd, char *data, size_t size) {
  size_t have = 0;
  while (have < size) {
    ssize_t n = read(fd, data + have, size - have);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO; /* shrank while being read */
    if (n <= 0) return false;
    have += (size_t)n;
  }
  return true;
}

mlaf_status mlaf_file_read(const char *path, size_t max, void **data, size_t *size, mlaf_err *err) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a FIFO's open would wait for its writer */
  if (fd < 0) return mlaf_file_fail(err, "open", path);
  struct stat st;
  mlaf_status status = MLAF_OK;
  char *buffer = NULL;
  if (fstat(fd, &st) != 0) {
    status = mlaf_file_fail(err, "stat", path);
  } else if (!S_ISREG(st.st_mode)) {
    status = mlaf_fail(err, MLAF_E_IO, "'%s' is not a regular file", path);
  } else if ((uint64_t)st.st_size > max) {
    status = mlaf_fail(err, MLAF_E_IO, "'%s' is %lld bytes, more than the %zu accepted here", path,
                       (long long)st.st_size, max);
  } else if (!(buffer = malloc((size_t)st.st_size + 1))) {
    status = mlaf_fail(err, MLAF_E_NOMEM, "no memory for the %lld bytes of '%s'", (long long)st.st_size, path);
  } else if (!read_all(fd, buffer, (size_t)st.st_size)) {
    status = mlaf_file_fail(err, "read", path);
  }
  close(fd);
  if (status != MLAF_OK) {
    free(buffer);
    return status;
  }
  buffer[st.st_size] = 0;
  *data = buffer;
  *size = (size_t)st.st_size;
  return MLAF_OK;
}

/* --- what is no regular file --- */

enum { WRITER_MS = 1000, TRY_MS = 20 };

/* To the end. A FIFO without a writer looks like one at its end: its writer has a second to come. */
static mlaf_status read_stream(int fd, const char *path, bool fifo, size_t max, mlaf_text *out, mlaf_err *err) {
  char block[65536];
  for (int waited = 0;;) {
    const ssize_t n = read(fd, block, sizeof block);
    if (n > 0) {
      mlaf_text_add(out, block, (size_t)n);
      if (out->failed)
        return mlaf_fail(err, MLAF_E_IO, "'%s' gives more than the %zu bytes accepted here, or memory is short", path, max);
    } else if (n == 0 && fifo && !out->len && waited < WRITER_MS) {
      poll(NULL, 0, TRY_MS);
      waited += TRY_MS;
    } else if (n == 0) {
      return fifo && !out->len ? mlaf_fail(err, MLAF_E_IO, "nobody writes to the FIFO '%s'", path) : MLAF_OK;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      struct pollfd p = {fd, POLLIN, 0};
      poll(&p, 1, -1);
    } else if (errno != EINTR) {
      return mlaf_file_fail(err, "read", path);
    }
  }
}

mlaf_status mlaf_file_take(const char *path, size_t max, void **data, size_t *size, mlaf_err *err) {
  struct stat st;
  if (stat(path, &st) != 0 || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))) return mlaf_file_read(path, max, data, size, err);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return mlaf_file_fail(err, "open", path);
  mlaf_text text = MLAF_TEXT_INIT(max < SIZE_MAX ? max + 1 : max);
  mlaf_status status = read_stream(fd, path, S_ISFIFO(st.st_mode), max, &text, err);
  close(fd);
  const size_t n = text.len;
  char *taken = status == MLAF_OK ? mlaf_text_take(&text) : NULL;
  mlaf_text_free(&text);
  if (status == MLAF_OK && !taken) status = mlaf_fail(err, MLAF_E_NOMEM, "no memory for what '%s' gives", path);
  if (status != MLAF_OK) return status;
  *data = taken;
  *size = n;
  return MLAF_OK;
}

bool mlaf_file_begins(const char *path, const char *with) {
  char head[64];
  const size_t n = strlen(with);
  struct stat st;
  const int fd = n > sizeof head ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const bool whole = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && read(fd, head, n) == (ssize_t)n;
  if (fd >= 0) close(fd);
  return whole && !memcmp(head, with, n);
}

/* --- directories --- */

static mlaf_status make_dirs(const char *path, mode_t mode, mlaf_err *err) {
  char *copy = mlaf_strdup(path);
  if (!copy) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for the path '%s'", path);
  bool ok = true;
  for (char *p = copy + 1; ok && *p; p++) {
    if (*p != '/') continue;
    *p = 0;
    ok = mkdir(copy, mode) == 0 || errno == EEXIST;
    *p = '/';
  }
  struct stat st;
  ok = ok && (mkdir(copy, mode) == 0 || errno == EEXIST);
  if (ok && stat(copy, &st) == 0 && !S_ISDIR(st.st_mode)) {
    errno = ENOTDIR;
    ok = false;
  }
  free(copy);
  return ok ? MLAF_OK : mlaf_file_fail(err, "make the directory", path);
}

mlaf_status mlaf_dir_make(const char *path, mlaf_err *err) { return make_dirs(path, 0700, err); }
mlaf_status mlaf_dir_make_open(const char *path, mlaf_err *err) { return make_dirs(path, 0777, err); }
