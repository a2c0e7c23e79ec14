/* Memory runs out at every call site of the public API, once and for good: each call says so (or gets by without) and
 * nothing crashes, leaks, or computes something else.
 *
 * This program's own malloc family serves every library in the process. A recording run collects the call sites, told
 * apart by their nearest callers; then a child process for each site lets its first allocation fail. The sites of the emulator's
 * instruction text differ by address only, so CI takes a sample; MLAF_ALLOC_FAULTS=all tries every site. */
#include <errno.h>
#include <execinfo.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "mlaforge/mlaforge.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
int main(void) {
  puts("skipped: the sanitizer owns malloc");
  return 0;
}
#else

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

/* ---- the allocator ---- */

enum { MAX_SITES = 1 << 16, FRAMES = 16, SKIP = 2 };
typedef enum fault_mode { COUNT, RECORD, FAIL_ONCE, FAIL_ON } fault_mode;

static struct {
  fault_mode mode;
  uint64_t target;    /* the site that fails */
  atomic_long live;   /* blocks */
  atomic_int failed;  /* allocations refused */
  uint64_t sites[MAX_SITES];
  size_t n;
  atomic_flag lock;
  void *refused[FRAMES]; /* callers of the first refusal */
  int depth;
} heap = {.lock = ATOMIC_FLAG_INIT};
static _Thread_local int inside; /* backtrace may allocate */

static uint64_t site(void) {
  void *frames[FRAMES];
  uint64_t h = 14695981039346656037u;
  int n = backtrace(frames, FRAMES);
  for (int i = SKIP; i < n; i++) h = (h ^ (uint64_t)(uintptr_t)frames[i]) * 1099511628211u;
  return h | 1;
}

static void record(uint64_t s) {
  while (atomic_flag_test_and_set(&heap.lock)) {}
  size_t at = s % MAX_SITES;
  while (heap.sites[at] && heap.sites[at] != s) at = (at + 1) % MAX_SITES;
  if (!heap.sites[at] && heap.n < MAX_SITES / 2) {
    heap.sites[at] = s;
    heap.n++;
  }
  atomic_flag_clear(&heap.lock);
}

static bool refuses(void) {
  if (heap.mode == COUNT || inside) return false;
  bool no = heap.mode == FAIL_ON && heap.failed > 0;
  if (!no) {
    inside = 1;
    uint64_t s = site();
    if (heap.mode == RECORD) record(s);
    else no = s == heap.target && (heap.mode == FAIL_ON || !heap.failed);
    if (no && !heap.failed) heap.depth = backtrace(heap.refused, FRAMES);
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

/* ---- what a caller does ---- */

enum { HEADS = 16, RANK = 64, ROPE = 32, CTX = 24, PAGE = 16, PAGES = 2, ROW = RANK + ROPE };
static char dir[64] = "/tmp/mlaf-alloc-XXXXXX", db_path[96], cache_path[96];
static uint16_t expected[HEADS * RANK];

/* cmocka's assertions jump, which only its own thread may. */
static void require(bool holds, const char *what, mlaf_status st, const char *text) {
  if (holds) return;
  fprintf(stderr, "%s (status %d): %s\n", what, st, text);
  _exit(5);
}

static mlaf_status make_ctx(uint32_t flags, mlaf_ctx **out) {
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  char why[512] = "";
  o.device = "emu:gfx942";
  o.db_path = db_path;
  o.cache_dir = cache_path;
  o.flags = flags;
  mlaf_status st = mlaf_ctx_create(&o, out, why, sizeof why);
  require(!st || (why[0] && heap.failed && !*out), "mlaf_ctx_create", st, why);
  return st;
}

static const mlaf_problem *problem(void) {
  static mlaf_problem p;
  if (mlaf_problem_parse("mla_decode:h16,r64,p32,q1,bf16,page16,b1,s24", &p, NULL, 0)) abort();
  return &p;
}

/* Copy `bytes` to new device memory; NULL and *st set on failure. */
static void *upload(mlaf_ctx *ctx, const void *data, size_t bytes, mlaf_status *st) {
  void *p = NULL;
  if (!*st) *st = mlaf_mem_alloc(ctx, bytes, &p);
  if (!*st) *st = mlaf_mem_write(ctx, p, data, bytes);
  return p;
}

/* One execution of `plan`; out receives O when the result is OK. */
static mlaf_status execute(mlaf_ctx *ctx, const mlaf_plan *plan, uint16_t *out) {
  static uint16_t q[HEADS * ROW], kv[PAGES * PAGE * ROW];
  static const int32_t qo[] = {0, 1}, kvp[] = {0, 2}, ids[] = {1, 0}, last[] = {CTX - PAGE};
  for (int i = 0; i < HEADS * ROW; i++) q[i] = (uint16_t)(0x3c00 + (i * 37) % 512);
  for (int i = 0; i < PAGES * PAGE * ROW; i++) kv[i] = (uint16_t)(0x3c00 + (i * 91) % 500);
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
  mlaf_status st = MLAF_OK;
  a.batch = 1;
  a.total_q = 1;
  a.num_pages = PAGES;
  a.scale = 0.05f;
  a.q = upload(ctx, q, sizeof q, &st);
  a.ckv = upload(ctx, kv, sizeof kv, &st);
  a.qo_indptr = upload(ctx, qo, sizeof qo, &st);
  a.kv_indptr = upload(ctx, kvp, sizeof kvp, &st);
  a.kv_indices = upload(ctx, ids, sizeof ids, &st);
  a.kv_last_page_lens = upload(ctx, last, sizeof last, &st);
  a.workspace_size = mlaf_plan_workspace_size(plan, 1);
  if (!st) st = mlaf_mem_alloc(ctx, sizeof expected, &a.o);
  if (!st) st = mlaf_mem_alloc(ctx, a.workspace_size, &a.workspace);
  if (!st) st = mlaf_execute(plan, &a, NULL);
  if (!st) st = mlaf_sync(ctx, NULL);
  if (!st) st = mlaf_mem_read(ctx, out, a.o, sizeof expected);
  void *const all[] = {(void *)a.q,          (void *)a.ckv,       (void *)a.qo_indptr,         a.o,
                       (void *)a.kv_indptr, (void *)a.kv_indices, (void *)a.kv_last_page_lens, a.workspace};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mlaf_mem_free(ctx, all[i]);
  return st;
}

/* A failure leaves its reason on the context; without a fault there is none. */
static void check_failure(mlaf_ctx *ctx, const char *call, mlaf_status st) {
  char text[4096] = "";
  mlaf_ctx_last_message(ctx, text, sizeof text);
  require(heap.failed, "failed although there was memory", st, text);
  require(text[0] != 0, "left no message", st, call);
}

static void plan_and_run(uint32_t ctx_flags, uint32_t plan_flags, int32_t effort) {
  mlaf_ctx *ctx = NULL;
  mlaf_plan *plan = NULL;
  mlaf_plan_opts o = MLAF_PLAN_OPTS_INIT;
  o.flags = plan_flags;
  o.effort = effort;
  if (make_ctx(ctx_flags, &ctx)) return;
  mlaf_status st = mlaf_plan_create(ctx, problem(), &o, &plan);
  if (st) {
    require(!plan, "a failed plan was handed out", st, "");
    check_failure(ctx, "mlaf_plan_create", st);
  } else {
    uint16_t out[HEADS * RANK];
    mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
    require(!mlaf_plan_query(plan, &info), "mlaf_plan_query", 0, "");
    st = execute(ctx, plan, out);
    if (st) check_failure(ctx, "mlaf_execute and its copies", st);
    else if (heap.mode == COUNT && !expected[0]) memcpy(expected, out, sizeof out);
    /* Another rung may stand in for the choice: the same sums in another order. */
    else if (!strcmp(info.rung, "exact")) require(!memcmp(out, expected, sizeof out), "another result", st, info.variant);
  }
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
}

static void from_database(void) { plan_and_run(0, MLAF_PLAN_NO_COMPILE, MLAF_EFFORT_DB_ONLY); }
static void from_model(void) { plan_and_run(MLAF_CTX_NO_DB, 0, MLAF_EFFORT_ESTIMATE); }

static void export_and_import(void) {
  mlaf_ctx *ctx = NULL;
  char *text = NULL;
  if (make_ctx(0, &ctx)) return;
  mlaf_status st = mlaf_tuning_export(ctx, 0, &text);
  if (st) check_failure(ctx, "mlaf_tuning_export", st);
  else if ((st = mlaf_tuning_import(ctx, text, NULL))) check_failure(ctx, "mlaf_tuning_import", st);
  mlaf_tuning_text_free(text);
  mlaf_ctx_destroy(ctx);
}

/* ---- every site ---- */

typedef struct job {
  void (*scenario)(void);
  fault_mode mode;
} job;

static void *thread(void *arg) {
  job j = *(const job *)arg;
  heap.mode = j.mode;
  j.scenario();
  heap.mode = COUNT;
  return NULL;
}

/* On a thread of its own, so that the callers of a site are the same ones in every run. */
static void run(void (*scenario)(void), fault_mode mode) {
  pthread_t t;
  job j = {scenario, mode};
  if (pthread_create(&t, NULL, thread, &j)) abort();
  pthread_join(t, NULL);
}

static int in_child(void (*scenario)(void), fault_mode mode, uint64_t target, long clean) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
  }
  alarm(60);
  heap.target = target;
  heap.failed = 0;
  run(scenario, mode);
  if (heap.failed && heap.live > clean) {
    fprintf(stderr, "%ld blocks leaked after a refusal in\n", (long)heap.live - clean);
    backtrace_symbols_fd(heap.refused, heap.depth, STDERR_FILENO);
    _exit(3);
  }
  _exit(heap.failed ? 0 : 4); /* 4: the site was not met again */
}

static void every_site(void (*scenario)(void), const char *name) {
  const char *all = getenv("MLAF_ALLOC_FAULTS");
  size_t step = all && !strcmp(all, "all") ? 1 : 0, tried = 0, missed = 0, bad = 0;
  run(scenario, COUNT); /* what libraries keep for good is kept now */
  run(scenario, COUNT);
  long clean = heap.live;
  memset(heap.sites, 0, sizeof heap.sites);
  heap.n = 0;
  run(scenario, RECORD);
  if (!step) step = heap.n / 100 + 1;
  for (size_t at = 0, k = 0; at < MAX_SITES; at++) {
    if (!heap.sites[at] || k++ % step) continue;
    for (fault_mode mode = FAIL_ONCE; mode <= FAIL_ON; mode++) {
      int status = in_child(scenario, mode, heap.sites[at], clean);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 4) missed++;
      else if (status) {
        print_error("%s: site %zu of %zu (%016llx), %s: %s %d\n", name, k, heap.n, (unsigned long long)heap.sites[at],
                    mode == FAIL_ONCE ? "once" : "from then on", WIFSIGNALED(status) ? "killed by signal" : "exit",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        bad++;
      }
      tried++;
    }
  }
  print_message("%s: %zu call sites, %zu faults, %zu not met again\n", name, heap.n, tried, missed);
  assert_int_equal(bad, 0);
  assert_true(heap.n > 50 && tried >= 100 && missed * 10 < tried);
}

static void planning_from_the_database(void **state) { every_site(from_database, "database"); }
static void planning_from_the_model(void **state) { every_site(from_model, "model"); }
static void text_out_and_in(void **state) { every_site(export_and_import, "text"); }

static int setup(void **state) {
  void *frames[2];
  backtrace(frames, 2); /* loads what it needs */
  if (!mkdtemp(dir)) return -1;
  snprintf(db_path, sizeof db_path, "%s/t.db", dir);
  snprintf(cache_path, sizeof cache_path, "%s/cache", dir);
  setenv("MLAF_EMU_THREADS", "1", 1);
  mlaf_ctx *ctx = NULL;
  mlaf_tune_opts o = MLAF_TUNE_OPTS_INIT;
  o.max_candidates = 2;
  if (make_ctx(0, &ctx)) return -1;
  mlaf_status st = mlaf_tune(ctx, problem(), &o, NULL);
  char text[1024] = "";
  mlaf_ctx_last_message(ctx, text, sizeof text);
  mlaf_ctx_destroy(ctx);
  if (st == MLAF_E_NO_COMPILER && !getenv("MLAF_REQUIRE_ROCM")) {
    puts("skipped: no hiprtc here; run tools/setup.sh");
    exit(0);
  }
  if (st) puts(text);
  return st ? -1 : 0;
}

static int teardown(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return system(command) ? -1 : 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(planning_from_the_database),
      cmocka_unit_test(planning_from_the_model),
      cmocka_unit_test(text_out_and_in),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
#endif
