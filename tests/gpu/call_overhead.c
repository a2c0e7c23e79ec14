/* Host cost of one mlaf_call_run, as a server calls it: checks, the plan's look-up, workspace, tensor maps, launches. By
 * hand, on any device; on the fake CUDA driver (MLAF_CUDA_LIBRARY=build/fakecuda/libfakecuda.so FAKECUDA_ANY=1) it also says
 * which calls of the driver a warm call makes.
 *
 *   call-overhead [device] [heads] [batch] [tokens]      block tables, then lists */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mlaforge/call.h"
#include "mlaforge/mlaforge.h"

enum { RANK = 512, ROPE = 64, PAGE = 64, CALLS = 32, ROUNDS = 200 };

static struct {
  mlaf_ctx *ctx;
  mlaf_call call;
} run;

static void ok(mlaf_status st, const char *what) {
  char text[1024] = "";
  if (!st) return;
  if (run.ctx) mlaf_ctx_last_message(run.ctx, text, sizeof text);
  fprintf(stderr, "%s: %s: %s\n", what, mlaf_status_name(st), text);
  exit(3);
}

static double cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Zeros: page 0 again and again, lengths of 0, so that the device is done before the host is. */
static mlaf_view view(int32_t dtype, int dims, const int64_t *shape) {
  mlaf_view v = {.dtype = dtype, .dims = dims, .where = mlaf_ctx_ordinal(run.ctx)};
  int64_t n = 1;
  for (int i = dims - 1; i >= 0; i--) {
    v.shape[i] = shape[i];
    v.stride[i] = n;
    n *= shape[i];
  }
  const size_t bytes = (size_t)n * (dtype == MLAF_VIEW_INT32 || dtype == MLAF_VIEW_F32 ? 4 : 2);
  ok(mlaf_mem_alloc(run.ctx, bytes, &v.data), "mlaf_mem_alloc");
  ok(mlaf_mem_fill(run.ctx, v.data, 0, bytes), "mlaf_mem_fill");
  return v;
}
#define VIEW(dtype, dims, ...) view(dtype, dims, (const int64_t[]){__VA_ARGS__})

static void *no_memory(void *user, size_t bytes) { return NULL; }

static void fill(bool tables, int64_t heads, int64_t batch, int64_t tokens) {
  const int64_t pages = (tokens + PAGE - 1) / PAGE;
  run.call = (mlaf_call)MLAF_CALL_INIT;
  run.call.alloc = no_memory; /* as the Python package has one */
  run.call.cache = VIEW(MLAF_VIEW_BF16, 4, 64, PAGE, 1, RANK + ROPE);
  run.call.mean_kv_len = (int32_t)tokens;
  if (tables) {
    run.call.q = VIEW(MLAF_VIEW_BF16, 4, batch, 1, heads, RANK + ROPE);
    run.call.o = VIEW(MLAF_VIEW_BF16, 4, batch, 1, heads, RANK);
    run.call.lse = VIEW(MLAF_VIEW_F32, 3, batch, 1, heads);
    run.call.block_table = VIEW(MLAF_VIEW_INT32, 2, batch, pages);
    run.call.seq_lens = VIEW(MLAF_VIEW_INT32, 1, batch);
    return;
  }
  run.call.q = VIEW(MLAF_VIEW_BF16, 3, batch, heads, RANK + ROPE);
  run.call.o = VIEW(MLAF_VIEW_BF16, 3, batch, heads, RANK);
  run.call.qo_indptr = VIEW(MLAF_VIEW_INT32, 1, batch + 1);
  run.call.kv_indptr = VIEW(MLAF_VIEW_INT32, 1, batch + 1);
  run.call.kv_indices = VIEW(MLAF_VIEW_INT32, 1, batch * pages);
  run.call.kv_last_page_lens = VIEW(MLAF_VIEW_INT32, 1, batch);
  run.call.q_len = 1;
}

static void once(void) { ok(mlaf_call_run(run.ctx, &run.call, NULL), "mlaf_call_run"); }

static double median_ns(void) {
  static double ns[ROUNDS];
  for (int r = -5; r < ROUNDS; r++) {
    const double start = cpu_ns();
    for (int i = 0; i < CALLS; i++) once();
    if (r >= 0) ns[r] = (cpu_ns() - start) / CALLS;
    ok(mlaf_sync(run.ctx, NULL), "mlaf_sync");
  }
  qsort(ns, ROUNDS, sizeof *ns, by_value);
  return ns[ROUNDS / 2];
}

/* The fake driver counts its calls. */
static void say_driver_calls(void) {
  static const char *const names[] = {"cuCtxGetCurrent", "cuCtxPushCurrent_v2",  "cuStreamIsCapturing", "cuTensorMapEncodeTiled",
                                      "cuLaunchKernel",  "cuLaunchKernelEx", "cuPointerGetAttribute", "cuMemAlloc_v2"};
  enum { N = sizeof names / sizeof *names };
  const char *path = getenv("MLAF_CUDA_LIBRARY");
  void *lib = path ? dlopen(path, RTLD_NOW) : NULL;
  int (*calls)(const char *) = NULL, before[N];
  void *f = lib ? dlsym(lib, "fake_calls") : NULL;
  if (!f) return;
  memcpy(&calls, &f, sizeof f);
  for (int i = 0; i < N; i++) before[i] = calls(names[i]);
  once();
  for (int i = 0; i < N; i++)
    if (calls(names[i]) > before[i]) printf("    %-24s %d\n", names[i], calls(names[i]) - before[i]);
}

/* Cost of the driver's own calls here: the context is current, as in PyTorch's threads. Not on the fake, whose calls are
 * counted. */
typedef int encode_fn(void *map, int type, uint32_t rank, void *data, const uint64_t *dims, const uint64_t *strides,
                      const uint32_t *box, const uint32_t *ones, int interleave, int swizzle, int l2, int oob);
static struct {
  int (*retain)(void **, int);
  int (*set)(void *);
  int (*get)(void **);
  int (*capturing)(void *, int *);
  encode_fn *encode;
} cu;

static bool find_driver(void) {
  static const struct {
    void *slot;
    const char *name;
  } symbols[] = {{&cu.retain, "cuDevicePrimaryCtxRetain"}, {&cu.set, "cuCtxSetCurrent"}, {&cu.get, "cuCtxGetCurrent"},
                 {&cu.capturing, "cuStreamIsCapturing"},   {&cu.encode, "cuTensorMapEncodeTiled"}};
  void *lib = getenv("MLAF_CUDA_LIBRARY") ? NULL : dlopen("libcuda.so.1", RTLD_NOW);
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *f = lib ? dlsym(lib, symbols[i].name) : NULL;
    if (!f) return false;
    memcpy(symbols[i].slot, &f, sizeof f);
  }
  return true;
}

static void say_driver_costs(void) {
  enum { TIMES = 20000 };
  static _Alignas(64) char map[128];
  const uint64_t dims[] = {RANK, 4096}, strides[] = {2 * (RANK + ROPE)};
  const uint32_t box[] = {64, 64}, ones[] = {1, 1};
  void *context = NULL;
  int status = 0;
  if (!find_driver() || cu.retain(&context, 0) || cu.set(context)) return; /* it stays current for what is measured next */
  const double begun = cpu_ns();
  for (int i = 0; i < TIMES; i++) cu.get(&context);
  const double got = cpu_ns();
  for (int i = 0; i < TIMES; i++) cu.capturing(NULL, &status);
  const double asked = cpu_ns();
  for (int i = 0; i < TIMES; i++) cu.encode(map, 1 /* UINT16 */, 2, run.call.q.data, dims, strides, box, ones, 0, 3, 0, 0);
  printf("the driver's cuCtxGetCurrent %.0f ns, cuStreamIsCapturing %.0f, cuTensorMapEncodeTiled %.0f\n", (got - begun) / TIMES,
         (asked - got) / TIMES, (cpu_ns() - asked) / TIMES);
}

int main(int argc, char **argv) {
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  char why[1024] = "";
  o.device = argc > 1 ? argv[1] : "cuda";
  const long heads = argc > 2 ? atol(argv[2]) : 16, batch = argc > 3 ? atol(argv[3]) : 128;
  const long tokens = argc > 4 ? atol(argv[4]) : 4096;
  if (mlaf_ctx_create(&o, &run.ctx, why, sizeof why)) {
    fprintf(stderr, "%s\n", why);
    return 3;
  }
  for (int tables = 1; tables >= 0; tables--) { /* a plan that is made for tables knows what comes ahead of its kernels */
    fill(tables, heads, batch, tokens);
    once();
    if (tables) say_driver_costs();
    printf("mlaf_call_run, %s: %.0f ns of CPU time (%ld heads, %ld x %ld)\n", tables ? "block table" : "lists", median_ns(),
           heads, batch, tokens);
    say_driver_calls();
  }
  mlaf_ctx_destroy(run.ctx);
  return 0;
}
