/* Causes and cures of the system's refusals, and writing without being killed by the file-size limit. */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "base/base.h"

#define SPACE     "free some space"
#define RIGHTS    "check the permissions"
#define MEMORY    "free memory, raise the limit of ulimit -v or of the container, or compile with fewer jobs"
#define PROCESSES "raise the limit of processes (ulimit -u, the container's pids limit) or of memory"

/* A phrase stands before those that it begins with: a text is searched for them in this order. */
static const mlaf_os_error known[] = {
    {ENOSPC, "No space left on device", MLAF_E_IO, SPACE, true},
    {EDQUOT, "Disk quota exceeded", MLAF_E_IO, SPACE, true},
    {EFBIG, "File too large", MLAF_E_IO, "raise the file-size limit: ulimit -f", false},
    {EROFS, "Read-only file system", MLAF_E_IO, RIGHTS, true},
    {EACCES, "Permission denied", MLAF_E_IO, RIGHTS, true},
    {EPERM, "Operation not permitted", MLAF_E_IO, RIGHTS, true},
    {ENFILE, "Too many open files in system", MLAF_E_IO, "raise fs.file-max, or end what keeps files open", false},
    {EMFILE, "Too many open files", MLAF_E_IO, "raise the limit of open files: ulimit -n", false},
    {EIO, "Input/output error", MLAF_E_IO, "look for the disk's errors with dmesg", true},
    {ENOMEM, "Cannot allocate memory", MLAF_E_NOMEM, MEMORY, false},
    {EAGAIN, "Resource temporarily unavailable", MLAF_E_NOMEM, PROCESSES, false},
    {0, "out of memory", MLAF_E_NOMEM, MEMORY, false},
    {0, "bad_alloc", MLAF_E_NOMEM, MEMORY, false},
    {0, "llocation failed", MLAF_E_NOMEM, MEMORY, false},
    {0, "cannot allocate memory", MLAF_E_NOMEM, MEMORY, false},
    {0, "failed to map segment", MLAF_E_NOMEM, MEMORY, false},
};

const mlaf_os_error *mlaf_os_error_of(int number) {
  for (size_t i = 0; number && i < sizeof known / sizeof *known; i++)
    if (known[i].number == number) return &known[i];
  return NULL;
}

const mlaf_os_error *mlaf_os_error_in(const char *text) {
  for (size_t i = 0; text && i < sizeof known / sizeof *known; i++)
    if (strstr(text, known[i].phrase)) return &known[i];
  return NULL;
}

/* The signal is sent to the thread that writes: blocked it waits there until it is taken off, and nobody else sees it. */
mlaf_write_guard mlaf_write_guard_enter(void) {
  sigset_t one, before, pending;
  sigemptyset(&one);
  sigaddset(&one, SIGXFSZ);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &one, &before);
  return (mlaf_write_guard){sigismember(&pending, SIGXFSZ) == 1, sigismember(&before, SIGXFSZ) == 1};
}

void mlaf_write_guard_leave(mlaf_write_guard g) {
  const int error = errno;
  const struct timespec at_once = {0, 0};
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGXFSZ);
  if (!g.pending) sigtimedwait(&one, NULL, &at_once);
  if (!g.blocked) pthread_sigmask(SIG_UNBLOCK, &one, NULL);
  errno = error;
}
