/* This program's own malloc family, which serves every library in the process, and what to do with it: a recording run of a
 * scenario collects its call sites, told apart by their nearest callers; then a child process for each site lets the first
 * allocation from there fail, once and from there on.
 *
 * A site is looked for by its callers only near the place where the recording run met it first: walking the stack at each of
 * some 100000 allocations is what a run's time would go into. */
#pragma once

#include <errno.h>
#include <execinfo.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "cmocka_all.h"
#include "gen/pool.h"
#include "limit.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

/* ---- the allocator ---- */

#ifndef PATH_FRAMES
#define PATH_FRAMES 3
#endif
enum { MAX_SITES = 1 << 16, FRAMES = 16, NEAR = 64 };
typedef enum fault_mode { COUNT, RECORD, FAIL_ONCE, FAIL_ON, FAIL_ALL } fault_mode;

typedef struct fault_site {
  uint64_t callers; /* their hash; 0: an empty place in the table, or foreign */
  uint64_t path;    /* the nearest PATH_FRAMES of them that are in the program itself: of sqlite's, who called sqlite */
  long first;       /* which allocation of the run was its first */
  unsigned modes;   /* 1 << fault_mode: what is tried there */
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

extern const char __executable_start, etext; /* the linker's: the program without the libraries */

static bool is_within(uintptr_t at, uintptr_t begin, uintptr_t end) { return at >= begin && at < end; }
static uint64_t hash_with(uint64_t h, uintptr_t at) { return (h ^ (uint64_t)at) * 1099511628211u; }

/* The stack from `caller` on, which asked for memory; how many frames of this file are before it is up to the compiler. */
static fault_site site_now(const void *caller, long number) {
  void *frames[FRAMES];
  fault_site site = {14695981039346656037u, 14695981039346656037u, number, 0};
  const int n = backtrace(frames, FRAMES);
  int i = 0, own = 0;
  while (i < n && frames[i] != caller) i++;
  for (; i < n; i++) {
    const uintptr_t at = (uintptr_t)frames[i];
    if (is_within(at, heap.foreign[0], heap.foreign[1])) return (fault_site){0};
    site.callers = hash_with(site.callers, at);
    if (own < PATH_FRAMES && is_within(at, (uintptr_t)&__executable_start, (uintptr_t)&etext)) {
      site.path = hash_with(site.path, at);
      own++;
    }
  }
  site.callers |= 1;
  return site;
}

static void record(fault_site site) {
  while (atomic_flag_test_and_set(&heap.lock)) {}
  size_t at = site.callers % MAX_SITES;
  while (heap.sites[at].callers && heap.sites[at].callers != site.callers) at = (at + 1) % MAX_SITES;
  if (!heap.sites[at].callers && heap.n < MAX_SITES / 2) {
    heap.sites[at] = site;
    heap.n++;
  }
  atomic_flag_clear(&heap.lock);
}

static bool refuses(const void *caller) {
  if (heap.mode == COUNT || inside) return false;
  const long number = atomic_fetch_add(&heap.asked, 1);
  bool no = heap.mode == FAIL_ALL || (heap.mode == FAIL_ON && heap.failed > 0);
  const bool near = !no && !heap.failed && number >= heap.target.first - NEAR;
  if (heap.mode == RECORD || near || (no && heap.foreign[1])) {
    inside = 1;
    const fault_site site = site_now(caller, number);
    if (!site.callers) no = false;
    else if (heap.mode == RECORD) record(site);
    else if (near) no = site.callers == heap.target.callers;
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

#define CALLER __builtin_return_address(0)
#pragma GCC visibility push(default) /* for the libraries */
void *malloc(size_t size) { return refuses(CALLER) ? NULL : counted(__libc_malloc(size)); }
void *calloc(size_t n, size_t size) { return refuses(CALLER) ? NULL : counted(__libc_calloc(n, size)); }
void *memalign(size_t align, size_t size) { return refuses(CALLER) ? NULL : counted(__libc_memalign(align, size)); }
void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }
int posix_memalign(void **out, size_t align, size_t size) {
  void *p = memalign(align, size);
  if (p) *out = p;
  return p ? 0 : ENOMEM;
}
void *realloc(void *p, size_t size) {
  if (size && refuses(CALLER)) return NULL;
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
  size_t most;                    /* of its sites tried beyond the first of each path; 0: FURTHER */
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
#define SITES_TRIED 100 /* where there are fewer, all of them */
#endif
#ifndef FURTHER
#define FURTHER 40
#endif
#ifndef SITES_EVENLY
#define SITES_EVENLY 20
#endif

typedef struct site_path {
  uint64_t path;
  size_t first, last; /* sites of the scenario that had it first */
} site_path;
static site_path paths[MAX_SITES];
static size_t n_paths;

static void note_paths(size_t n) {
  for (size_t k = 0; k < n; k++) {
    size_t i = 0;
    while (i < n_paths && paths[i].path != heap.sites[k].path) i++;
    if (i == n_paths) paths[n_paths++] = (site_path){heap.sites[k].path, k, k};
    paths[i].last = k;
  }
}

/* Chooses what is tried at each of the n sites. First, for each path that no scenario before had, its first site, once: no check
 * left out and no error swallowed there passes by. Further, those paths' last sites, from then on, and SITES_EVENLY of all, in
 * turns; of these evenly `most`. */
static void choose(size_t n, size_t most, bool all) {
  const size_t before = n_paths, step = n / SITES_EVENLY + 1;
  note_paths(n);
  const size_t fresh = n_paths - before, further = fresh + (n + step - 1) / step, every = further / most + 1;
  for (size_t k = 0; all && k < n; k++) heap.sites[k].modes = 1u << FAIL_ONCE | 1u << FAIL_ON;
  for (size_t i = before; i < n_paths; i++) heap.sites[paths[i].first].modes |= 1u << FAIL_ONCE;
  for (size_t j = 0; j < further; j += every) {
    if (j < fresh) heap.sites[paths[before + j].last].modes |= 1u << FAIL_ON;
    else heap.sites[(j - fresh) * step].modes |= 1u << (j / every % 2 ? FAIL_ON : FAIL_ONCE);
  }
}

static bool all_sites(void) {
  const char *all = getenv("MLAF_ALLOC_FAULTS");
  return all && !strcmp(all, "all");
}

/* MLAF_ALLOC_FAULTS=all: every site; else those of `choose`. A test whose state is the scenario. */
static void every_site(void **state) {
  const scenario *s = *state;
  const bool all = all_sites();
  mlaf_gen_pool_small = 0; /* each block of Lua is refused by itself, unless the scenario's prepare says otherwise */
  size_t tried = 0, missed = 0, bad = 0;
  for (int i = 0; i < 2; i++) { /* what libraries and files never free is allocated now, also for a case that runs alone */
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
  const size_t before = n_paths;
  choose(n, s->most ? s->most : FURTHER, all || n < SITES_TRIED);
  for (size_t k = first_site(); k < n; k++)
    for (fault_mode mode = FAIL_ONCE; mode <= FAIL_ON; mode++) {
      if (!(heap.sites[k].modes & 1u << mode)) continue;
      const fault_site anywhere = {.callers = heap.sites[k].callers};
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
  print_message("%s: %zu call sites, %zu new paths, %zu faults, %zu not met again\n", s->name, n, n_paths - before, tried,
                missed);
  assert_int_equal(bad, 0);
  assert_true(n >= s->least && missed * 10 <= tried);
}
