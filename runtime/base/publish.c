/* The one writer of files: whole ones by rename, anything that is no regular file written through. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

enum { LINKS_MAX = 40, ATTEMPTS = 100, BASE_MAX = 220 /* of a file's name, so that a suffix fits behind it */ };

/* The file that a path names, links followed. */
typedef struct place {
  char *path;
  int descriptor;  /* of this process, when the path names one; else -1 */
  bool open_file;  /* a link of /proc to what some process has open: has no name that could be replaced */
  bool exists;
  struct stat st;  /* if it exists */
} place;

static char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return !slash ? mlaf_strdup(".") : slash == path ? mlaf_strdup("/") : mlaf_format("%.*s", (int)(slash - path), path);
}

/* Is this link one of /proc/PID/fd? */
static bool names_open_file(const char *path, int *descriptor) {
  char *folder = folder_of(path), *real = folder ? realpath(folder, NULL) : NULL, own[64];
  const size_t n = real ? strlen(real) : 0;
  const bool yes = n > 9 && strncmp(real, "/proc/", 6) == 0 && strcmp(real + n - 3, "/fd") == 0;
  const char *slash = strrchr(path, '/');
  snprintf(own, sizeof own, "/proc/%ld/", (long)getpid());
  *descriptor = yes && strncmp(real, own, strlen(own)) == 0 ? (int)strtol(slash ? slash + 1 : path, NULL, 10) : -1;
  free(folder);
  free(real);
  return yes;
}

/* The kernel's rule for links in /tmp and its like, which looking at them ourselves would go round: only those of the folder's
 * owner or of our own are followed. */
static bool may_follow(const char *path) {
  struct stat link, in;
  char *folder = folder_of(path);
  const bool known = folder && lstat(path, &link) == 0 && stat(folder, &in) == 0;
  free(folder);
  const mode_t shared = S_ISVTX | S_IWOTH;
  return known && ((in.st_mode & shared) != shared || link.st_uid == geteuid() || link.st_uid == in.st_uid);
}

/* One link further: 1 when `at` was a link, 0 when not, -1 with errno set. */
static int follow(place *at) {
  char target[PATH_MAX];
  const ssize_t n = readlink(at->path, target, sizeof target - 1);
  if (n < 0) return 0; /* no link, or nothing there */
  if (!may_follow(at->path)) return errno = EACCES, -1;
  if (names_open_file(at->path, &at->descriptor)) {
    at->open_file = true;
    return 0;
  }
  target[n] = 0;
  char *folder = target[0] == '/' ? NULL : folder_of(at->path);
  char *next = target[0] == '/' ? mlaf_strdup(target) : folder ? mlaf_format("%s/%s", folder, target) : NULL;
  free(folder);
  if (!next) return errno = ENOMEM, -1;
  free(at->path);
  at->path = next;
  return 1;
}

static mlaf_status locate(const char *path, place *at, mlaf_err *err) {
  *at = (place){.path = mlaf_strdup(path), .descriptor = -1};
  int more = at->path ? 1 : -1;
  for (int i = 0; more > 0 && i <= LINKS_MAX; i++) more = follow(at);
  if (more > 0) errno = ELOOP;
  at->exists = !more && stat(at->path, &at->st) == 0;
  if (!more && (at->exists || errno == ENOENT)) return MLAF_OK;
  mlaf_file_fail(err, "write", path);
  free(at->path);
  return MLAF_E_IO;
}

static bool is_whole(const place *at) { return !at->open_file && (!at->exists || S_ISREG(at->st.st_mode)); }

static bool write_all(int fd, const char *data, size_t size) {
  const mlaf_write_guard guard = mlaf_write_guard_enter();
  bool ok = true;
  while (ok && size) {
    ssize_t n = write(fd, data, size);
    ok = n >= 0 || errno == EINTR;
    if (n > 0) data += n, size -= (size_t)n;
  }
  mlaf_write_guard_leave(guard);
  return ok;
}

/* --- what is no regular file --- */

/* Never waits for a reader. -1 with err filled. */
static int open_through(const char *path, const place *at, mlaf_err *err) {
  if (at->descriptor == STDOUT_FILENO) fflush(stdout); /* what was printed before comes before */
  const int fd = at->descriptor >= 0 ? fcntl(at->descriptor, F_DUPFD_CLOEXEC, 3)
                                     : open(at->path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 && errno == ENXIO && at->exists && S_ISFIFO(at->st.st_mode)) {
    mlaf_fail(err, MLAF_E_IO, "cannot write '%s': nobody reads this FIFO (start its reader first)", path);
    return -1;
  }
  const int flags = fd < 0 || at->descriptor >= 0 ? -1 : fcntl(fd, F_GETFL);
  if (fd < 0 || (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0)) {
    mlaf_file_fail(err, "write", path);
    if (fd >= 0) close(fd);
    return -1;
  }
  return fd;
}

static mlaf_status write_through(const char *path, const place *at, const void *data, size_t size, mlaf_err *err) {
  const int fd = open_through(path, at, err);
  if (fd < 0) return MLAF_E_IO;
  mlaf_status status = write_all(fd, data, size) ? MLAF_OK : mlaf_file_fail(err, "write", path);
  if (close(fd) != 0 && status == MLAF_OK) status = mlaf_file_fail(err, "write", path);
  return status;
}

/* --- regular files --- */

/* mkstemp's work with a mode that the umask applies to: it cannot be asked for without changing it for all threads. */
static int open_beside(const char *path, mode_t mode, char **temp) {
  static atomic_uint count;
  const char *slash = strrchr(path, '/');
  const size_t folder = slash ? (size_t)(slash + 1 - path) : 0, base = strlen(path + folder);
  int fd = -1;
  for (int i = 0; i < ATTEMPTS && fd < 0; i++) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    const unsigned salt = ((unsigned)t.tv_nsec ^ atomic_fetch_add(&count, 1) * 2654435761u) & 0xffffff;
    free(*temp);
    *temp = mlaf_format("%.*s.tmp.%ld.%06x", (int)(folder + (base < BASE_MAX ? base : BASE_MAX)), path, (long)getpid(), salt);
    if (!*temp) return errno = ENOMEM, -1;
    fd = open(*temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0 && errno != EEXIST) break;
  }
  return fd;
}

/* A file that takes the place of another looks like it. Who may not give files away keeps them. */
static bool look_like(int fd, const struct stat *st) {
  if (st->st_uid != geteuid() || st->st_gid != getegid()) {
    if (fchown(fd, st->st_uid, st->st_gid) != 0 && errno != EPERM && errno != EINVAL) return false;
  }
  return fchmod(fd, st->st_mode & 0777) == 0;
}

static mlaf_status replace(const place *at, const char *path, const void *data, size_t size, mlaf_err *err) {
  char *temp = NULL;
  mlaf_status status = MLAF_OK;
  const int fd = open_beside(at->path, at->exists ? 0600 : 0666, &temp);
  if (fd < 0) {
    status = mlaf_file_fail(err, "create a file beside", path);
    free(temp);
    return status;
  }
  /* fsync before the rename: after a power cut the name must not point at an empty file */
  if (!write_all(fd, data, size) || (at->exists && !look_like(fd, &at->st)) || fsync(fd) != 0)
    status = mlaf_file_fail(err, "write", path);
  if (close(fd) != 0 && status == MLAF_OK) status = mlaf_file_fail(err, "write", path);
  if (status == MLAF_OK && rename(temp, at->path) != 0) status = mlaf_file_fail(err, "rename onto", path);
  if (status != MLAF_OK) unlink(temp);
  free(temp);
  return status;
}

mlaf_status mlaf_file_publish(const char *path, const void *data, size_t size, mlaf_err *err) {
  const place at = {.path = (char *)path, .descriptor = -1};
  return replace(&at, path, data, size, err);
}

bool mlaf_file_jot(const char *path, const void *data, size_t size) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
  const bool done = fd >= 0 && write_all(fd, data, size);
  if (fd >= 0) close(fd);
  return done;
}

mlaf_status mlaf_file_write(const char *path, const void *data, size_t size, mlaf_err *err) {
  place at;
  mlaf_status status = locate(path, &at, err);
  if (status != MLAF_OK) return status;
  status = is_whole(&at) ? replace(&at, path, data, size, err) : write_through(path, &at, data, size, err);
  free(at.path);
  return status;
}

FILE *mlaf_file_create(const char *path, mlaf_err *err) {
  place at;
  FILE *file = NULL;
  if (locate(path, &at, err) != MLAF_OK) return NULL;
  const bool whole = is_whole(&at);
  const int fd = whole ? open(at.path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0666) : open_through(path, &at, err);
  if (fd < 0 && whole) mlaf_file_fail(err, "write", path);
  if (fd >= 0 && !(file = fdopen(fd, "w"))) {
    mlaf_file_fail(err, "write", path);
    close(fd);
  }
  free(at.path);
  return file;
}

int mlaf_file_descriptor(const char *path) {
  place at;
  if (locate(path, &at, NULL) != MLAF_OK) return -1;
  free(at.path);
  return at.descriptor;
}
