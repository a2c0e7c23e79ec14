/* Needs of a test of its machine. Where one is missing the test fails and says what would help: none is skipped, since a
 * test that did not run shows nothing. Whoever builds without a compiler leaves out by label what needs one (README.md). */
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "cmocka_all.h"
#include "compile/toolchain.h"

/* Sanitizers own malloc, and their run-time cannot be loaded beside another libc. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* hiprtc and comgr, or NVRTC for targets sm_*. Also for group fixtures. */
static inline void need_compiler(const char *target) {
  const bool nvidia = strncmp(target, "sm_", 3) == 0;
  mlaf_toolchain t;
  mlaf_err err = {MLAF_OK, ""};
  if (nvidia ? mlaf_nvrtc_find(&t, &err) : mlaf_toolchain_find(NULL, &t, &err))
    fail_msg("no compiler for %s: %s\nRun tools/setup.sh, or leave out what needs one: ctest -LE %s", target, err.text,
             nvidia ? "nvrtc" : "rocm");
  mlaf_toolchain_clear(&t);
}

/* Some tests look at processes and descriptors from outside. */
static inline void need_proc(void) {
  if (access("/proc/self/stat", R_OK)) fail_msg("no /proc here, as in a bare chroot: mount -t proc proc /proc");
}

static inline bool write_line(const char *path, const char *text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  const bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
  if (fd >= 0) close(fd);
  return ok;
}

/* Gives a child process mounts of its own, as root or, for anybody, as root of a user namespace. */
static inline bool own_mounts(void) {
  char uids[64], gids[64];
  snprintf(uids, sizeof uids, "0 %u 1", (unsigned)geteuid());
  snprintf(gids, sizeof gids, "0 %u 1", (unsigned)getegid());
  if (unshare(CLONE_NEWNS) &&
      (unshare(CLONE_NEWUSER | CLONE_NEWNS) || !write_line("/proc/self/setgroups", "deny") ||
       !write_line("/proc/self/uid_map", uids) || !write_line("/proc/self/gid_map", gids)))
    return false;
  mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL); /* fails where "/" is no mount point, as in a chroot: unmount after use */
  return true;
}
#define NO_MOUNTS \
  "no file system can be mounted here: run as root, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1)"
