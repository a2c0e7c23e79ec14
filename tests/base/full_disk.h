/* A disk that fills up at a chosen moment: a child process whose n-th call that needs space below a directory (write, create,
 * grow, flush, rename, mkdir) fails with ENOSPC, alone or with all that follow. The kernel hands the calls of the child, and of
 * what it starts, to us (seccomp's user notification), so that those of libraries and of stdio are among them. Linux 5.5. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"

typedef struct full_disk {
  const char *dir; /* absolute, no link in it */
  long nth;        /* from 1; 0: nothing fails, the calls are counted */
  bool stays;      /* all later calls fail, too */
} full_disk;

typedef struct full_disk_result {
  bool possible; /* false: this kernel cannot do it, or forbids it */
  bool hung;     /* killed: it took too much CPU time, or stood still */
  long calls;    /* that needed space, up to the end or the failing one */
  int status;    /* waitpid's */
} full_disk_result;

enum { FULL_DISK_LIMIT_S = 120 }; /* of CPU time */

/* The way a call names its file: a descriptor, a path, or a path behind a directory's descriptor. */
typedef enum disk_call_kind { BY_FD, BY_PATH, BY_AT, MAKE_PATH, MAKE_AT, OPEN_PATH, OPEN_AT } disk_call_kind;
static const struct {
  int number;
  disk_call_kind kind;
} disk_calls[] = {
    {SYS_write, BY_FD},      {SYS_pwrite64, BY_FD},  {SYS_writev, BY_FD},   {SYS_pwritev, BY_FD}, {SYS_ftruncate, BY_FD},
    {SYS_fallocate, BY_FD},  {SYS_fsync, BY_FD},     {SYS_fdatasync, BY_FD}, {SYS_openat, OPEN_AT}, {SYS_mkdirat, MAKE_AT},
    {SYS_renameat2, BY_AT},
#ifdef SYS_open /* calls of old that newer architectures do without */
    {SYS_open, OPEN_PATH},   {SYS_mkdir, MAKE_PATH},   {SYS_rename, BY_PATH},
#endif
#ifdef SYS_renameat
    {SYS_renameat, BY_AT},
#endif
};
enum { N_DISK_CALLS = sizeof disk_calls / sizeof *disk_calls };

/* Called in the child: from here on its calls go to whoever holds the returned descriptor. */
static int disk_watch(void) {
  struct sock_filter code[2 * N_DISK_CALLS + 2];
  unsigned short n = 0;
  code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < N_DISK_CALLS; i++) {
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)disk_calls[i].number, 0, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
  }
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {n, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static bool fd_send(int socket, int fd) {
  char byte = 'x', space[CMSG_SPACE(sizeof fd)] = "";
  struct iovec io = {&byte, 1};
  struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  *c = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(c), &fd, sizeof fd);
  return sendmsg(socket, &m, 0) == 1;
}

static int fd_receive(int socket) {
  char byte, space[CMSG_SPACE(sizeof(int))] = "";
  struct iovec io = {&byte, 1};
  struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
  int fd = -1;
  if (recvmsg(socket, &m, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&m)) memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
  return fd;
}

/* The path that a call names; "" if it cannot be told. */
static void disk_call_path(const struct seccomp_notif *call, disk_call_kind kind, char *out, size_t size) {
  char link[64];
  out[0] = 0;
  if (kind == BY_FD) {
    snprintf(link, sizeof link, "/proc/%u/fd/%d", call->pid, (int)call->data.args[0]);
    ssize_t n = readlink(link, out, size - 1);
    out[n > 0 ? n : 0] = 0;
    return;
  }
  const unsigned long long at = call->data.args[kind == BY_AT || kind == MAKE_AT || kind == OPEN_AT];
  for (size_t n = 0; n + 1 < size; n++) { /* byte by byte: the text may end where the memory does */
    struct iovec to = {out + n, 1}, from = {(void *)(uintptr_t)(at + n), 1};
    if (process_vm_readv((pid_t)call->pid, &to, 1, &from, 1, 0) != 1) break;
    if (!out[n]) return;
  }
  out[0] = 0;
}

static bool needs_space(const struct seccomp_notif *call, const char *dir) {
  char path[1024];
  disk_call_kind kind = BY_FD;
  struct stat st;
  for (int i = 0; i < N_DISK_CALLS; i++)
    if (disk_calls[i].number == call->data.nr) kind = disk_calls[i].kind;
  if (kind >= OPEN_PATH && !(call->data.args[kind == OPEN_AT ? 2 : 1] & O_CREAT)) return false;
  disk_call_path(call, kind, path, sizeof path);
  if (strncmp(path, dir, strlen(dir)) != 0) return false;
  return kind < MAKE_PATH || stat(path, &st) != 0; /* what is there already is neither made nor created */
}

static void full_disk_answer(int listener, const full_disk *d, full_disk_result *r) {
  struct seccomp_notif call;
  memset(&call, 0, sizeof call);
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call)) return; /* it died meanwhile */
  bool counts = needs_space(&call, d->dir), fails = false;
  if (counts && !(d->nth && !d->stays && r->calls >= d->nth)) {
    r->calls++;
    fails = d->nth && r->calls >= d->nth;
  }
  struct seccomp_notif_resp answer = {.id = call.id, .flags = fails ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE,
                                      .error = fails ? -ENOSPC : 0};
  ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* Run body(user) in a child, whose exit status it returns, on a disk that fills up. */
static full_disk_result full_disk_run(const full_disk *d, int (*body)(void *user), void *user) {
  full_disk_result r = {.status = -1};
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return r;
  fflush(NULL);
  const pid_t child = fork();
  if (!child) {
    const int watch = disk_watch();
    if (watch < 0 || !fd_send(pair[1], watch)) _exit(77);
    close(watch);
    close(pair[0]);
    close(pair[1]);
    _exit(body(user));
  }
  close(pair[1]);
  const int listener = fd_receive(pair[0]);
  close(pair[0]);
  r.possible = listener >= 0;
  progress watched = progress_of(child, FULL_DISK_LIMIT_S);
  unsigned answers = 0;
  while (waitpid(child, &r.status, r.possible ? WNOHANG : 0) == 0) {
    struct pollfd p = {listener, POLLIN, 0};
    const bool asked = poll(&p, 1, 20) > 0 && (p.revents & POLLIN);
    if (asked) full_disk_answer(listener, d, &r);
    if (r.hung || (asked && ++answers % 256) || !progress_fault(&watched)) continue;
    r.hung = true;
    kill(child, SIGKILL);
  }
  if (r.possible) close(listener);
  return r;
}
