/* Whole-file reads and atomic publication. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

static mlaf_status io_fail(mlaf_err *err, const char *what, const char *path) {
  int e = errno;
  const char *fix = e == ENOSPC || e == EDQUOT ? " (free some space or name another directory)"
                    : e == EACCES || e == EROFS || e == EPERM ? " (check the permissions or name another path)"
                                                              : "";
  return mlaf_fail(err, MLAF_E_IO, "cannot %s '%s': %s%s", what, path, strerror(e), fix);
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
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return io_fail(err, "open", path);
  struct stat st;
  mlaf_status status = MLAF_OK;
  char *buffer = NULL;
  if (fstat(fd, &st) != 0) {
    status = io_fail(err, "stat", path);
  } else if (!S_ISREG(st.st_mode)) {
    status = mlaf_fail(err, MLAF_E_IO, "'%s' is not a regular file", path);
  } else if ((uint64_t)st.st_size > max) {
    status = mlaf_fail(err, MLAF_E_IO, "'%s' is %lld bytes, more than the %zu accepted here", path,
                       (long long)st.st_size, max);
  } else if (!(buffer = malloc((size_t)st.st_size + 1))) {
    status = mlaf_fail(err, MLAF_E_NOMEM, "no memory for the %lld bytes of '%s'", (long long)st.st_size, path);
  } else if (!read_all(fd, buffer, (size_t)st.st_size)) {
    status = io_fail(err, "read", path);
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

static bool write_all(int fd, const char *data, size_t size) {
  while (size) {
    ssize_t n = write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    data += n;
    size -= (size_t)n;
  }
  return true;
}

mlaf_status mlaf_file_publish(const char *path, const void *data, size_t size, mlaf_err *err) {
  char *temp = mlaf_format("%s.tmp.%ld.XXXXXX", path, (long)getpid());
  if (!temp) return mlaf_fail(err, MLAF_E_NOMEM, "no memory to publish '%s'", path);
  mlaf_status status = MLAF_OK;
  int fd = mkostemp(temp, O_CLOEXEC);
  if (fd < 0) {
    status = io_fail(err, "create a file beside", path);
    free(temp);
    return status;
  }
  /* fsync before the rename: after a power cut the name must not point at an empty file */
  if (!write_all(fd, data, size) || fchmod(fd, 0644) != 0 || fsync(fd) != 0) status = io_fail(err, "write", path);
  if (close(fd) != 0 && status == MLAF_OK) status = io_fail(err, "write", path);
  if (status == MLAF_OK && rename(temp, path) != 0) status = io_fail(err, "rename onto", path);
  if (status != MLAF_OK) unlink(temp);
  free(temp);
  return status;
}

mlaf_status mlaf_dir_make(const char *path, mlaf_err *err) {
  char *copy = mlaf_strdup(path);
  if (!copy) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for the path '%s'", path);
  bool ok = true;
  for (char *p = copy + 1; ok && *p; p++) {
    if (*p != '/') continue;
    *p = 0;
    ok = mkdir(copy, 0700) == 0 || errno == EEXIST;
    *p = '/';
  }
  struct stat st;
  ok = ok && (mkdir(copy, 0700) == 0 || errno == EEXIST);
  if (ok && stat(copy, &st) == 0 && !S_ISDIR(st.st_mode)) {
    errno = ENOTDIR;
    ok = false;
  }
  free(copy);
  return ok ? MLAF_OK : io_fail(err, "make the directory", path);
}
