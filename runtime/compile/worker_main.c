/* mlaforge-worker: compiles, assembles and disassembles for one parent process, over its stdin and stdout, until stdin
 * ends. It exists so that a compiler that crashes or hangs takes nobody with it, so that compiles run in parallel, and
 * so that a ROCm with another libc can be used (the parent starts it through that ROCm's own loader).
 *
 *   mlaforge-worker [--lib-dir DIR] [--temp DIR]
 *
 * --lib-dir is searched for libhiprtc and libamd_comgr before the loader's path, and is where libnvrtc lies; --temp is the TMPDIR
 * that the parent made for this worker alone: the worker works in it, and removes it when it finds the parent gone. */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "compile/nvrtc.h"
#include "compile/rocm.h"
#include "compile/scratch.h"
#include "compile/wire.h"

typedef struct reply {
  mlaf_status status;
  void *payload;
  size_t size;
  char *log;
  double seconds;
} reply;

static bool read_all(int fd, void *to, size_t n) {
  for (char *p = to; n;) {
    ssize_t got = read(fd, p, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false; /* the parent is gone */
    p += got;
    n -= (size_t)got;
  }
  return true;
}

static bool write_all(int fd, const void *from, size_t n) {
  for (const char *p = from; n;) {
    ssize_t put = write(fd, p, n);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    p += put;
    n -= (size_t)put;
  }
  return true;
}

static char *text_of(const mlaf_wire_field *f) {
  char *s = malloc(f->size + 1);
  if (!s) return NULL;
  if (f->size) memcpy(s, f->data, f->size);
  s[f->size] = 0;
  return s;
}

/* Test hooks, dead unless the parent's environment says MLAF_WORKER_TEST=1: ways in which a compiler can misbehave. */
static void misbehave(const char *source) {
  const char *on = getenv("MLAF_WORKER_TEST");
  if (!on || strcmp(on, "1") != 0) return;
  if (strstr(source, "//MLAF_TEST_CRASH")) raise(SIGSEGV);
  if (strstr(source, "//MLAF_TEST_EXIT")) _exit(3);
  if (strstr(source, "//MLAF_TEST_GARBAGE")) write_all(STDERR_FILENO + 1, "this is no reply, says the worker", 33);
  if (strstr(source, "//MLAF_TEST_SAY")) fprintf(stderr, "LLVM ERROR: last words of the compiler\n"), raise(SIGABRT);
  if (strstr(source, "//MLAF_TEST_NAP")) sleep(1);
  while (strstr(source, "//MLAF_TEST_HANG")) sleep(1);
  while (strstr(source, "//MLAF_TEST_SPIN")) continue;
}

/* Whatever was loaded so far: each library on the first request that needs it. */
typedef struct libraries {
  const char *dir;
  mlaf_rocm *rocm;
  mlaf_nvrtc *nvrtc;
} libraries;

static mlaf_status handle_cuda(libraries *l, uint32_t kind, const mlaf_wire_field *f, reply *a, mlaf_err *err) {
  mlaf_status status = l->nvrtc ? MLAF_OK : mlaf_nvrtc_load(l->dir, &l->nvrtc, err);
  if (status != MLAF_OK) return status;
  if (kind != MLAF_WIRE_COMPILE) return mlaf_fail(err, MLAF_E_INTERNAL, "request %u is none for NVRTC", kind);
  char *target = text_of(&f[0]), *source = text_of(&f[2]);
  if (target && source) {
    misbehave(source);
    status = mlaf_nvrtc_compile(l->nvrtc, target, f[1].data, f[1].size, source, &a->payload, &a->size, &a->log, err);
  } else {
    status = mlaf_fail(err, MLAF_E_NOMEM, "the worker is out of memory");
  }
  free(target);
  free(source);
  return status;
}

static mlaf_status handle(mlaf_rocm *r, uint32_t kind, const mlaf_wire_field *f, reply *a, mlaf_err *err) {
  char *target = text_of(&f[0]), *source = text_of(&f[2]);
  mlaf_status status = MLAF_E_NOMEM;
  if (!target || !source) {
    mlaf_fail(err, status, "the worker is out of memory");
  } else if (kind == MLAF_WIRE_COMPILE) {
    misbehave(source);
    status = mlaf_rocm_compile(r, target, f[1].data, f[1].size, source, &a->payload, &a->size, &a->log, err);
  } else if (kind == MLAF_WIRE_DISASSEMBLE) {
    status = mlaf_rocm_disassemble(r, target, f[1].data, f[1].size, &a->payload, &a->size, &a->log, err);
  } else if (kind == MLAF_WIRE_ASSEMBLE) {
    misbehave(source);
    status = mlaf_rocm_assemble(r, target, source, f[2].size, &a->payload, &a->size, &a->log, err);
  } else if (kind == MLAF_WIRE_IDENTITY) {
    a->payload = mlaf_rocm_version(r);
    a->size = a->payload ? strlen(a->payload) : 0;
    status = a->payload ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "the worker is out of memory");
  } else {
    status = mlaf_fail(err, MLAF_E_INTERNAL, "unknown request %u: library and worker are of different builds", kind);
  }
  free(target);
  free(source);
  return status;
}

static void encode(const reply *a, const char *detail, mlaf_text *out) {
  /* On failure the payload is the detail; the log stays the compiler's own words. */
  const char *log = a->log ? a->log : "";
  mlaf_wire_field fields[3] = {{a->payload, a->size}, {log, strlen(log)}, {&a->seconds, sizeof a->seconds}};
  if (a->status != MLAF_OK) fields[0] = (mlaf_wire_field){detail, strlen(detail)};
  *out = MLAF_TEXT_INIT(MLAF_WIRE_MAX + 4096);
  mlaf_wire_encode(out, MLAF_WIRE_REPLY, a->status, fields, 3);
}

/* The parent kills us when the CPU time is used up; this is the net under it, should the parent be stuck. 0: no limit. */
static void arm(double seconds) {
  const struct itimerval timer = {.it_value = {seconds > 0 && seconds < 1e6 ? (time_t)seconds + 10 : 0, 0}};
  setitimer(ITIMER_PROF, &timer, NULL);
}

static double limit_of(const mlaf_wire_field *f) {
  double seconds = 0;
  if (f->size == sizeof seconds) memcpy(&seconds, f->data, sizeof seconds);
  return seconds;
}

/* Do what is asked and encode the reply. */
static mlaf_status work(libraries *l, const mlaf_wire_header *h, const mlaf_wire_field *fields, mlaf_text *out) {
  mlaf_err err = {MLAF_OK, ""};
  reply a = {MLAF_OK, NULL, 0, NULL, 0};
  double start = mlaf_now();
  arm(limit_of(&fields[3]));
  if (mlaf_tool_of(fields[0].data, fields[0].size) == MLAF_TOOL_NVRTC) {
    a.status = handle_cuda(l, h->kind, fields, &a, &err);
  } else {
    if (!l->rocm) a.status = mlaf_rocm_load(l->dir, &l->rocm, &err);
    if (l->rocm) a.status = handle(l->rocm, h->kind, fields, &a, &err);
  }
  a.seconds = mlaf_now() - start;
  arm(0);
  encode(&a, err.text, out);
  free(a.payload);
  free(a.log);
  return a.status;
}

#ifndef WORK /* tests put one before it that remembers (tests/compile/memo_worker.c) */
#define WORK work
#endif

/* The parent reads the reason from our stderr. */
static void give_up(const char *why, int number) {
  fprintf(stderr, "%s: %s\n", why, strerror(number));
  fflush(NULL);
  _exit(MLAF_WORKER_EXIT_UNABLE);
}

/* One request from `in`. False when the parent is gone or talks nonsense. */
static bool serve_one(int in, int out, libraries *l) {
  mlaf_wire_header h;
  mlaf_wire_field fields[MLAF_WIRE_FIELDS];
  mlaf_text text;
  if (!read_all(in, &h, sizeof h) || !mlaf_wire_header_ok(&h)) return false;
  void *payload = malloc(h.size + 1);
  if (!payload) give_up("no memory for a request", ENOMEM);
  if (!read_all(in, payload, h.size) || !mlaf_wire_decode(&h, payload, fields)) {
    free(payload);
    return false;
  }
  WORK(l, &h, fields, &text);
  if (text.failed) give_up("no memory for a reply", ENOMEM);
  const bool ok = write_all(out, text.data, text.len);
  mlaf_text_free(&text);
  free(payload);
  return ok;
}

/* End without a trace. Both threads come here when the parent is gone: the first one removes the folder while the second one
 * waits. A compile that still runs may write beside it, so once may not be enough. */
static void leave(const char *temp) {
  static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&first);
  for (int tries = 0; temp && tries < 100 && access(temp, F_OK) == 0; tries++) mlaf_scratch_remove(temp);
  _exit(0); /* no destructors: LLVM's take longer than the whole rest of the exit */
}

/* A parent that was killed can neither kill us nor clean up: end as soon as its end of the socket closes, in mid-compile
 * or not. */
static void watch_parent(const char *temp) {
  struct pollfd p = {STDIN_FILENO, POLLRDHUP, 0};
  while (poll(&p, 1, -1) < 0 || !(p.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL))) continue;
  leave(temp);
}

typedef struct service {
  int out;
  libraries l;
  const char *temp;
} service;

static void *serve(void *user) {
  service *s = user;
  while (serve_one(STDIN_FILENO, s->out, &s->l)) continue;
  fflush(NULL);
  leave(s->temp);
  return NULL;
}

/* Compilers recurse: they get a stack of their own, whatever the host's limit of stacks is. */
static void start_serving(service *s) {
  enum { STACK = 16 << 20 };
  pthread_t thread;
  pthread_attr_t attr;
  int rc = pthread_attr_init(&attr);
  if (!rc) rc = pthread_attr_setstacksize(&attr, STACK);
  if (!rc) rc = pthread_create(&thread, &attr, serve, s);
  if (rc) give_up("cannot start a thread", rc);
}

int main(int argc, char **argv) {
  const char *lib_dir = NULL, *temp = NULL;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--lib-dir") == 0) lib_dir = argv[i + 1];
    if (strcmp(argv[i], "--temp") == 0) temp = argv[i + 1];
  }
  mallopt(M_ARENA_MAX, 1); /* the thread that compiles has the heap to itself: no second one beside it */
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN); /* a file-size limit is an error of a write, as a full disk is */
  /* The host's working directory may be gone or closed to us, on which compilers crash. */
  if (chdir(temp ? temp : "/") != 0) give_up("cannot work in the temporary folder", errno);
  /* Compilers print to stdout when they feel like it: keep the reply channel to ourselves. */
  int out = dup2(STDOUT_FILENO, STDERR_FILENO + 1);
  if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) give_up("cannot keep the reply channel", errno);
  static service s;
  s = (service){out, {lib_dir, NULL, NULL}, temp};
  start_serving(&s);
  watch_parent(temp);
  return 0;
}
