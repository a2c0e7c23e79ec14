/* Start, talk to and bury one worker process. */
#include "compile/worker.h"

#include "compile/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AWAKE 1e-3 /* of its limit: a worker that takes less CPU time while the whole limit passes stands still */

extern char **environ;

/* A host that closed its stdin would get our descriptors as 0..2, where the child's dup2 calls would clobber them. */
static int above_stdio(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  int high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(fd);
  return high;
}

static void close_fd(int fd) {
  if (fd >= 0) close(fd);
}

/* The parent's environment, less what would push foreign libraries into a process with another libc, and with a TMPDIR
 * of its own (`tmpdir` is "TMPDIR=..." or NULL). malloc'ed vector of borrowed strings. */
static char **worker_environment(bool own_loader, char *tmpdir) {
  size_t n = 0, k = 0;
  while (environ[n]) n++;
  char **env = calloc(n + 2, sizeof *env);
  for (size_t i = 0; env && i < n; i++) {
    bool loader = strncmp(environ[i], "LD_PRELOAD=", 11) == 0 || strncmp(environ[i], "LD_LIBRARY_PATH=", 16) == 0 ||
                  strncmp(environ[i], "LD_AUDIT=", 9) == 0;
    bool temp = tmpdir && strncmp(environ[i], "TMPDIR=", 7) == 0;
    if (!(own_loader && loader) && !temp) env[k++] = environ[i];
  }
  if (env && tmpdir) env[k++] = tmpdir;
  return env;
}

static int spawn(pid_t *pid, char *const *argv, char *const *env, int channel, int words) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  sigset_t blocked, defaults;
  int rc = posix_spawn_file_actions_init(&files);
  if (rc) return rc;
  rc = posix_spawnattr_init(&attr);
  if (rc) {
    posix_spawn_file_actions_destroy(&files);
    return rc;
  }
  /* Signals that a terminal or a service manager sends to all processes are for the server: it decides what ends. The worker
   * keeps these signals blocked, and dies with its socket. */
  sigemptyset(&blocked);
  const int of_server[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
  for (size_t i = 0; i < sizeof of_server / sizeof *of_server; i++) sigaddset(&blocked, of_server[i]);
  sigfillset(&defaults);
  rc = posix_spawn_file_actions_adddup2(&files, channel, STDIN_FILENO);
  if (!rc) rc = posix_spawn_file_actions_adddup2(&files, channel, STDOUT_FILENO);
  if (!rc) rc = posix_spawn_file_actions_adddup2(&files, words, STDERR_FILENO);
#if __GLIBC_PREREQ(2, 34)
  if (!rc) rc = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1); /* descriptors others forgot to mark */
#endif
  if (!rc) rc = posix_spawnattr_setsigmask(&attr, &blocked);
  if (!rc) rc = posix_spawnattr_setsigdefault(&attr, &defaults);
  if (!rc) rc = posix_spawnattr_setpgroup(&attr, 0); /* its own: what is typed at the terminal reaches the parent alone */
  if (!rc) rc = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  if (!rc) rc = posix_spawn(pid, argv[0], &files, &attr, argv, env);
  posix_spawnattr_destroy(&attr);
  posix_spawn_file_actions_destroy(&files);
  return rc;
}

/* Everything of a started worker but the process. */
static void release(mlaf_worker *w) {
  close_fd(w->fd);
  close_fd(w->words);
  mlaf_text_free(&w->out);
  free(w->payload);
  free(w->scratch);
  free(w);
}

/* Socket, stderr file and process. 0 or an errno value; `w` is left for release() either way. */
static int launch(mlaf_worker *w, char *const *argv, char *const *env) {
  int ends[2] = {-1, -1};
  /* a socket, because send() can be told not to raise SIGPIPE in the host */
  int rc = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ? errno : 0;
  w->fd = above_stdio(ends[0]);
  int child = above_stdio(ends[1]);
  w->words = above_stdio(memfd_create("mlaforge-worker-stderr", MFD_CLOEXEC));
  if (!rc && (w->fd < 0 || child < 0 || w->words < 0)) rc = errno ? errno : EMFILE;
  if (!rc && (fcntl(w->fd, F_SETFL, O_NONBLOCK) != 0 || fcntl(w->words, F_SETFL, O_APPEND) != 0)) rc = errno;
  if (!rc) rc = spawn(&w->pid, argv, env, child, w->words);
  close_fd(child);
  return rc;
}

/* Maps the errno value of a failed start to what is short, or else to a file that is no program. */
static mlaf_status not_started(const char *program, int number, mlaf_err *err) {
  const mlaf_os_error *known = number == EACCES || number == EPERM ? NULL : mlaf_os_error_of(number);
  return mlaf_fail(err, known ? known->status : MLAF_E_NO_COMPILER, "cannot start %s: %s%s%s%s", program, strerror(number),
                   known ? " (" : "", known ? known->cure : "", known ? ")" : "");
}

mlaf_status mlaf_worker_start(const mlaf_toolchain *t, mlaf_tool tool, const char *executable, mlaf_worker **out, mlaf_err *err) {
  mlaf_err why = {MLAF_OK, ""};
  char *scratch = mlaf_scratch_make(&why);
  if (!scratch && tool != MLAF_TOOL_NVRTC) return mlaf_fail(err, why.status, "%s", why.text); /* NVRTC writes no files */
  mlaf_worker *w = calloc(1, sizeof *w);
  if (!w) {
    mlaf_scratch_remove(scratch);
    free(scratch);
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a compile worker");
  }
  w->tool = tool;
  w->out = MLAF_TEXT_INIT(MLAF_WIRE_MAX + 4096);
  w->fd = w->words = -1;
  w->owner = getpid();
  w->scratch = scratch;
  char *tmpdir = w->scratch ? mlaf_format("TMPDIR=%s", w->scratch) : NULL;
  char **env = worker_environment(t->loader != NULL, tmpdir);
  /* ld.so --library-path DIR PROGRAM ...: runs the worker in the prefix's libc without patching anything */
  char *argv[] = {t->loader, "--library-path", t->lib_dir, (char *)executable, "--lib-dir", t->lib_dir,
                  w->scratch ? "--temp" : NULL, w->scratch, NULL};
  int rc = env ? launch(w, t->loader ? argv : argv + 3, env) : ENOMEM;
  free(env);
  free(tmpdir);
  if (rc) {
    mlaf_scratch_remove(w->scratch);
    release(w);
    return not_started(t->loader ? t->loader : executable, rc, err);
  }
  *out = w;
  return MLAF_OK;
}

/* False where the process is gone and its exit status with it, since the program ignores SIGCHLD or waits for all its children.
 * The number may be another process's by then. */
static bool is_child(pid_t pid) {
  siginfo_t info;
  return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0;
}

int mlaf_worker_stop(mlaf_worker *w) {
  if (!w) return -1;
  int status = -1;
  pid_t got = -1;
  if (w->owner == getpid()) {
    if (is_child(w->pid)) {
      kill(w->pid, SIGKILL); /* it owns nothing that needs an orderly end; after SIGKILL the wait is bounded */
      do got = waitpid(w->pid, &status, 0);
      while (got < 0 && errno == EINTR);
    }
    mlaf_scratch_remove(w->scratch);
  }
  release(w);
  return got > 0 ? status : -1;
}

bool mlaf_worker_alive(const mlaf_worker *w) {
  char byte;
  if (w->owner != getpid()) return false;
  ssize_t n = recv(w->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK); /* EOF: dead; bytes: it talks out of turn */
}

/* CPU seconds of a process and its threads; 0 where that cannot be asked, and then the worker counts as standing still. */
static double cpu_of(pid_t pid) {
  clockid_t clock;
  struct timespec t;
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

mlaf_status mlaf_worker_send(mlaf_worker *w, mlaf_wire_kind kind, const mlaf_wire_field fields[3], double limit_s,
                             mlaf_err *err) {
  mlaf_wire_field all[4] = {fields[0], fields[1], fields[2], {&limit_s, sizeof limit_s}};
  w->out.len = 0;
  w->sent = 0;
  w->got = 0;
  free(w->payload);
  w->payload = NULL;
  if (ftruncate(w->words, 0) != 0)
    return mlaf_fail(err, MLAF_E_INTERNAL, "cannot empty the worker's stderr: %s", strerror(errno));
  mlaf_wire_encode(&w->out, kind, 0, all, 4);
  if (w->out.failed) {
    mlaf_text_free(&w->out);
    return mlaf_fail(err, MLAF_E_NOMEM, "the request to the compile worker is too large (%zu bytes of source)", fields[2].size);
  }
  w->limit_s = limit_s;
  w->seen = mlaf_now();
  w->cpu_from = w->seen_cpu = cpu_of(w->pid);
  w->seen_got = 0;
  return MLAF_OK;
}

mlaf_worker_state mlaf_worker_pace(mlaf_worker *w) {
  const double cpu = cpu_of(w->pid), now = mlaf_now();
  if (cpu - w->cpu_from >= w->limit_s) return MLAF_WORKER_LATE;
  if (cpu - w->seen_cpu > AWAKE * w->limit_s || w->got != w->seen_got) {
    w->seen = now;
    w->seen_cpu = cpu;
    w->seen_got = w->got;
  }
  return now - w->seen >= w->limit_s ? MLAF_WORKER_STILL : MLAF_WORKER_BUSY;
}

short mlaf_worker_events(const mlaf_worker *w) { return (short)(POLLIN | (w->sent < w->out.len ? POLLOUT : 0)); }

static bool would_block(void) { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

/* Send what the socket takes. False when the worker is gone. */
static bool push(mlaf_worker *w) {
  while (w->sent < w->out.len) {
    ssize_t n = send(w->fd, w->out.data + w->sent, w->out.len - w->sent, MSG_NOSIGNAL);
    if (n < 0) return would_block();
    w->sent += (size_t)n;
  }
  return true;
}

static mlaf_worker_state finish_reply(mlaf_worker *w) {
  bool ok = w->header.kind == MLAF_WIRE_REPLY && w->header.status < MLAF_STATUS_COUNT && w->header.fields == 3 &&
            mlaf_wire_decode(&w->header, w->payload, w->reply) && w->reply[2].size == sizeof(double);
  return ok ? MLAF_WORKER_DONE : MLAF_WORKER_GARBAGE;
}

mlaf_worker_state mlaf_worker_step(mlaf_worker *w) {
  bool sendable = push(w);
  for (;;) {
    size_t head = sizeof w->header;
    char *to = w->got < head ? (char *)&w->header + w->got : w->payload + (w->got - head);
    size_t want = w->got < head ? head - w->got : head + w->header.size - w->got;
    if (!want) return finish_reply(w);
    ssize_t n = recv(w->fd, to, want, 0);
    if (n < 0) return would_block() && sendable ? MLAF_WORKER_BUSY : MLAF_WORKER_DEAD;
    if (n == 0) return MLAF_WORKER_DEAD;
    w->got += (size_t)n;
    if (w->got == head) {
      if (!mlaf_wire_header_ok(&w->header)) return MLAF_WORKER_GARBAGE;
      w->payload = malloc(w->header.size + 1);
      if (!w->payload) return MLAF_WORKER_NO_MEMORY;
    }
  }
}

/* The end of what the worker wrote to stderr, on one line. */
static void last_words(const mlaf_worker *w, char *out, size_t size) {
  off_t end = lseek(w->words, 0, SEEK_END);
  off_t start = end > (off_t)size - 1 ? end - ((off_t)size - 1) : 0;
  ssize_t n = end > 0 ? pread(w->words, out, size - 1, start) : 0;
  out[n > 0 ? n : 0] = 0;
  for (char *p = out; *p; p++)
    if (*p == '\n') *p = p[1] ? '|' : 0;
}

/* A signal that a crashing compiler raises itself says something of the kernel; any other came from somebody else (a user, a
 * service manager, the system when memory or allotted CPU time is short) and does not. */
static bool is_own_crash(int number) {
  static const int own[] = {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (own[i] == number) return true;
  return false;
}

/* A worker inherits the limit of CPU time: the system ends it with SIGXCPU, or with SIGKILL at the hard limit. */
static bool has_cpu_limit(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_CPU, &limit) == 0 && limit.rlim_max != RLIM_INFINITY;
}

static mlaf_status killed_by(pid_t pid, int number, const char *say, const char *words, mlaf_err *err) {
  const bool own = is_own_crash(number);
  return mlaf_fail(err, own ? MLAF_E_CRASH : MLAF_E_KILLED, "the compile worker (pid %ld) died of signal %d (%s)%s%s%s",
                   (long)pid, number, strsignal(number),
                   own                                     ? ""
                   : number == SIGXCPU                     ? ", sent by the system: the limit of CPU time is used up (ulimit -t)"
                   : number == SIGKILL && has_cpu_limit() ? ", sent from outside, for want of memory or CPU time (ulimit -t)"
                   : number == SIGKILL                     ? ", sent from outside, perhaps for want of memory"
                                                           : ", sent from outside",
                   say, words);
}

/* EOF comes a moment before the exit: learn the true cause, not our SIGKILL. */
static void await_exit(pid_t pid) {
  siginfo_t info = {0};
  for (int i = 0; i < 200 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && !info.si_pid; i++) usleep(1000);
}

/* Did somebody stop it (SIGSTOP, a debugger)? */
static bool is_stopped(pid_t pid) {
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT | WNOHANG) == 0 && info.si_pid == pid;
}

mlaf_status mlaf_worker_bury(mlaf_worker *w, mlaf_worker_state state, mlaf_err *err) {
  char words[1024];
  last_words(w, words, sizeof words);
  const pid_t pid = w->pid;
  const double limit_s = w->limit_s;
  const bool stopped = state == MLAF_WORKER_STILL && is_stopped(pid);
  if (state == MLAF_WORKER_DEAD) await_exit(pid);
  const int status = mlaf_worker_stop(w), number = status != -1 && WIFSIGNALED(status) ? WTERMSIG(status) : 0,
            code = status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  const char *say = *words ? "; its last words: " : "";
  if (state == MLAF_WORKER_LATE || number == SIGPROF)
    return mlaf_fail(err, MLAF_E_TIMEOUT, "the compiler (pid %ld) took more than %g s of CPU time and was stopped (raise the "
                     "limit or simplify the kernel)%s%s", (long)pid, limit_s, say, words);
  if (state == MLAF_WORKER_STILL)
    return mlaf_fail(err, MLAF_E_KILLED, "the compile worker (pid %ld) %s for %g s and was ended%s%s", (long)pid,
                     stopped ? "was stopped from outside (SIGSTOP)" : "took no CPU time", limit_s, say, words);
  if (state == MLAF_WORKER_NO_MEMORY) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for the compiler's answer");
  if (state == MLAF_WORKER_GARBAGE)
    return mlaf_fail(err, MLAF_E_CRASH, "the compile worker (pid %ld) sent a malformed reply%s%s", (long)pid, say, words);
  if (code == MLAF_WORKER_EXIT_UNABLE || code == 127 /* the loader's */)
    return mlaf_fail(err, MLAF_E_NO_COMPILER, "the compile worker could not be loaded%s%s", say, words);
  if (number) return killed_by(pid, number, say, words, err);
  if (status == -1)
    return mlaf_fail(err, MLAF_E_KILLED, "the compile worker (pid %ld) ended in mid-request, and its exit status is lost: this "
                     "program ignores SIGCHLD or waits for all its children; keep SIGCHLD at its default, and wait for children "
                     "of your own%s%s", (long)pid, say, words);
  return mlaf_fail(err, MLAF_E_CRASH, "the compile worker (pid %ld) ended with exit status %d in mid-request%s%s", (long)pid,
                   code, say, words);
}
