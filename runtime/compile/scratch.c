/* Make, check and remove a worker's temporary folder. */
#include "compile/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NEEDED = 8 << 20 }; /* bytes; the largest kernels of today write one MiB */

/* Below an absolute path only: a compiler would take a relative one from the folder it works in. And LLVM writes random digits in
 * place of each % of a name. */
static const char *parent(void) {
  const char *tmp = getenv("TMPDIR");
  return tmp && tmp[0] == '/' && !strchr(tmp, '%') ? tmp : "/tmp";
}

/* E_IO from errno. */
static mlaf_status unusable(const char *what, mlaf_err *err) {
  const char *reason = strerror(errno);
  const mlaf_os_error *known = mlaf_os_error_of(errno);
  const bool of_place = !known || known->of_place;
  return mlaf_fail(err, MLAF_E_IO, "the compiler cannot %s '%s': %s (%s%s%s)", what, parent(), reason, known ? known->cure : "",
                   known && of_place ? " or " : "", of_place ? "name another folder with TMPDIR" : "");
}

char *mlaf_scratch_make(mlaf_err *err) {
  char *path = mlaf_format("%s/mlaforge-worker-XXXXXX", parent());
  if (path && mkdtemp(path)) return path;
  if (path) unusable("make a folder for its files in", err);
  else mlaf_fail(err, MLAF_E_NOMEM, "no memory for the path of a temporary folder");
  free(path);
  return NULL;
}

mlaf_status mlaf_scratch_check(mlaf_err *err) {
  char *dir = mlaf_scratch_make(err), *path = dir ? mlaf_format("%s/room", dir) : NULL;
  if (!dir) return err ? err->status : MLAF_E_IO;
  const int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
  const mlaf_write_guard guard = mlaf_write_guard_enter();
  int number = fd < 0 ? (path ? errno : ENOMEM) : posix_fallocate(fd, 0, NEEDED);
  mlaf_write_guard_leave(guard);
  if (fd >= 0) close(fd);
  mlaf_scratch_remove(dir);
  free(path);
  free(dir);
  if (number == 0 || number == EOPNOTSUPP || number == EINVAL) return MLAF_OK; /* a file system that does not reserve */
  errno = number;
  return unusable("write 8 MiB in", err);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
  remove(path);
  return 0; /* go on: what cannot be removed stays, the rest goes */
}

void mlaf_scratch_remove(const char *path) {
  if (path) nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
