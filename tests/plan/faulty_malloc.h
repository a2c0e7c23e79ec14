/* This program's own malloc family, which serves every library in the process, and what to do with it: a recording run of a
 * scenario collects its call sites, told apart by their nearest callers; then a child process for each site lets the first
 * allocation from there fail, once and for good.
 *
 * A site is looked for by its callers only near the place where the recording run met it first: walking the stack at each of
 * some 100000 allocations is what a run's time would go into. */
#ifndef MLAF_TEST_FAULTY_MALLOC_H
#define MLAF_TEST_FAULTY_MALLOC_H

#include <errno.h>
#include <execinfo.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "limit.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

/* ---- the allocator ---- */

enum { MAX_SITES = 1 << 16, FRAMES = 16, SKIP = 2, NEAR = 64 };
typedef enum fault_mode { COUNT, RECORD, FAIL_ONCE, FAIL_ON, FAIL_ALL } fault_mode;

typedef struct fault_site {
  uint64_t callers; /* their hash; 0: an empty place in the table */
  long first;       /* which allocation of the run was its first */
} fault_site;

static struct {
  fault_mode mode;
  fault_site target;  /* the one that fails */
  atomic_long live;   /* blocks */
  atomic_long asked;  /* allocations while anything but COUNT */
  atomic_int failed;  /* of them refused */
  fault_site sites[MAX_SITES];
  size_t n;
  atomic_flag lock;
  void *refused[FRAMES]; /* callers of the first refusal */
  int depth;
  uintptr_t foreign[2]; /* addresses of a library whose allocations are not ours to fail: a fake driver; 0, 0: none */
} heap = {.lock = ATOMIC_FLAG_INIT};
static _Thread_local int inside; /* backtrace may allocate */

/* 0: foreign */
static uint64_t callers_now(void) {
  void *frames[FRAMES];
  uint64_t h = 14695981039346656037u;
  int n = backtrace(frames, FRAMES);
  for (int i = SKIP; i < n; i++) {
    const uintptr_t at = (uintptr_t)frames[i];
    if (at >= heap.foreign[0] && at < heap.foreign[1]) return 0;
    h = (h ^ (uint64_t)at) * 1099511628211u;
  }
  return h | 1;
}

static void record(uint64_t callers, long number) {
  while (atomic_flag_test_and_set(&heap.lock)) {}
  size_t at = callers % MAX_SITES;
  while (heap.sites[at].callers && heap.sites[at].callers != callers) at = (at + 1) % MAX_SITES;
  if (!heap.sites[at].callers && heap.n < MAX_SITES / 2) {
    heap.sites[at] = (fault_site){callers, number};
    heap.n++;
  }
  atomic_flag_clear(&heap.lock);
}

static bool refuses(void) {
  if (heap.mode == COUNT || inside) return false;
  const long number = atomic_fetch_add(&heap.asked, 1);
  bool no = heap.mode == FAIL_ALL || (heap.mode == FAIL_ON && heap.failed > 0);
  const bool near = !no && !heap.failed && number >= heap.target.first - NEAR;
  if (heap.mode == RECORD || near || (no && heap.foreign[1])) {
    inside = 1;
    const uint64_t callers = callers_now();
    if (!callers) no = false;
    else if (heap.mode == RECORD) record(callers, number);
    else if (near) no = callers == heap.target.callers;
    if (no && near) heap.depth = backtrace(heap.refused, FRAMES);
    inside = 0;
  }
  if (no) {
    atomic_fetch_add(&heap.failed, 1);
    errno = ENOMEM;
  }
  return no;
}

static void *counted(void *p) {
  if (p) atomic_fetch_add(&heap.live, 1);
  return p;
}

#pragma GCC visibility push(default) /* for the libraries */
void *malloc(size_t size) { return refuses() ? NULL : counted(__libc_malloc(size)); }
void *calloc(size_t n, size_t size) { return refuses() ? NULL : counted(__libc_calloc(n, size)); }
void *memalign(size_t align, size_t size) { return refuses() ? NULL : counted(__libc_memalign(align, size)); }
void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }
int posix_memalign(void **out, size_t align, size_t size) {
  void *p = memalign(align, size);
  if (p) *out = p;
  return p ? 0 : ENOMEM;
}
void *realloc(void *p, size_t size) {
  if (size && refuses()) return NULL;
  void *q = __libc_realloc(p, size);
  if (!p) return counted(q);
  if (!q && !size) atomic_fetch_sub(&heap.live, 1);
  return q;
}
void free(void *p) {
  if (p) atomic_fetch_sub(&heap.live, 1);
  __libc_free(p);
}
#pragma GCC visibility pop

/* ---- every site of a scenario ---- */

typedef struct scenario {
  const char *name;
  void (*body)(const void *how);
  const void *how;
  void (*prepare)(void);      /* before each run: files that the body changes; NULL: none */
  const struct scenario *but; /* sites that this one has, too, are left out, as they are tried there; NULL: none */
  size_t least;               /* fewer sites than this: something was not reached */
  void (*check)(const void *how); /* after each run with a fault, with memory again; NULL: nothing */
  size_t most;                    /* sites tried; 0: SITES_TRIED */
} scenario;

typedef struct job {
  const scenario *s;
  fault_mode mode;
} job;

static void *job_thread(void *arg) {
  job j = *(const job *)arg;
  heap.mode = j.mode;
  j.s->body(j.s->how);
  heap.mode = COUNT;
  return NULL;
}

/* On a thread of its own, so that the callers of a site are the same ones in every run. */
static void run_scenario(const scenario *s, fault_mode mode) {
  pthread_t t;
  job j = {s, mode};
  heap.asked = 0;
  if (pthread_create(&t, NULL, job_thread, &j)) abort();
  pthread_join(t, NULL);
}

enum { EXIT_LEAK = 3, EXIT_NOT_MET, EXIT_WRONG };

/* cmocka's assertions jump, which only its own thread may. */
static void require(bool holds, const char *what, int status, const char *text) {
  if (holds) return;
  fprintf(stderr, "%s (status %d): %s\n", what, status, text);
  backtrace_symbols_fd(heap.refused, heap.depth, STDERR_FILENO);
  _exit(EXIT_WRONG);
}

static int in_child(const scenario *s, fault_mode mode, fault_site target, long clean) {
  if (s->prepare) s->prepare();
  fflush(NULL);
  pid_t pid = fork();
  if (pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
  }
  limit_cpu(60); /* of its own: a child begins at 0 */
  heap.target = target;
  heap.failed = 0;
  run_scenario(s, mode);
  if (heap.failed && heap.live > clean) {
    fprintf(stderr, "%ld blocks leaked after a refusal in\n", (long)heap.live - clean);
    backtrace_symbols_fd(heap.refused, heap.depth, STDERR_FILENO);
    _exit(EXIT_LEAK);
  }
  const bool met = heap.failed > 0;
  if (met && s->check) s->check(s->how);
  _exit(met ? 0 : EXIT_NOT_MET);
}

static int by_first(const void *a, const void *b) {
  const fault_site *x = a, *y = b;
  return (x->first > y->first) - (x->first < y->first);
}

/* The sites of a run in the order in which they were met, in front of heap.sites. Returns their number. */
static size_t sites_of(const scenario *s) {
  size_t n = 0;
  memset(heap.sites, 0, sizeof heap.sites);
  heap.n = 0;
  if (s->prepare) s->prepare();
  run_scenario(s, RECORD);
  for (size_t at = 0; at < MAX_SITES; at++)
    if (heap.sites[at].callers) heap.sites[n++] = heap.sites[at];
  qsort(heap.sites, n, sizeof *heap.sites, by_first);
  return n;
}

static size_t leave_out(size_t n, const fault_site *known, size_t n_known) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    bool there = false;
    for (size_t k = 0; k < n_known && !there; k++) there = known[k].callers == heap.sites[i].callers;
    if (!there) heap.sites[kept++] = heap.sites[i];
  }
  return kept;
}

/* MLAF_ALLOC_CASE=NAME[:FIRST]: only the scenario of that name, from that site on. */
static bool is_wanted(const scenario *s) {
  const char *only = getenv("MLAF_ALLOC_CASE");
  const size_t n = strlen(s->name);
  return !only || (!strncmp(only, s->name, n) && (!only[n] || only[n] == ':'));
}
static size_t first_site(void) {
  const char *only = getenv("MLAF_ALLOC_CASE"), *colon = only ? strchr(only, ':') : NULL;
  return colon ? strtoul(colon + 1, NULL, 10) : 0;
}

static bool is_not_met(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NOT_MET; }

#ifndef SITES_TRIED
#define SITES_TRIED 100
#endif

/* MLAF_ALLOC_FAULTS=all: every site, once and from then on; else at most SITES_TRIED (`most`), evenly from the first to the
 * last, where there are more in turns once and from then on. A test whose state is the scenario. */
static void every_site(void **state) {
  const scenario *s = *state;
  const char *all = getenv("MLAF_ALLOC_FAULTS");
  size_t tried = 0, missed = 0, bad = 0;
  for (int i = 0; i < 2; i++) { /* what libraries and files keep for good is kept now, also for a case that runs alone */
    if (s->but && s->but->prepare) s->but->prepare();
    if (s->but) run_scenario(s->but, COUNT);
    if (s->prepare) s->prepare();
    run_scenario(s, COUNT);
  }
  const long clean = heap.live;
  fault_site *known = calloc(MAX_SITES, sizeof *known);
  const size_t n_known = s->but ? sites_of(s->but) : 0;
  memcpy(known, heap.sites, n_known * sizeof *known);
  const size_t n = leave_out(sites_of(s), known, n_known);
  free(known);
  const size_t step = all && !strcmp(all, "all") ? 1 : n / (s->most ? s->most : SITES_TRIED) + 1;
  for (size_t k = first_site(); k < n; k += step)
    for (fault_mode mode = FAIL_ONCE; mode <= FAIL_ON; mode++) {
      if (step > 1 && (k / step % 2 == 0) != (mode == FAIL_ONCE)) continue;
      const fault_site anywhere = {heap.sites[k].callers, 0};
      int status = in_child(s, mode, heap.sites[k], clean);
      tried++;
      if (is_not_met(status)) status = in_child(s, mode, anywhere, clean); /* it came earlier than in the recording run */
      if (is_not_met(status)) missed++;
      else if (status) {
        print_error("%s: site %zu of %zu, %s: %s %d\n", s->name, k, n, mode == FAIL_ONCE ? "once" : "from then on",
                    WIFSIGNALED(status) ? "killed by signal" : "exit",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        bad++;
      }
    }
  print_message("%s: %zu call sites, %zu faults, %zu not met again\n", s->name, n, tried, missed);
  assert_int_equal(bad, 0);
  assert_true(n >= s->least && missed * 10 <= tried);
}

#endif
