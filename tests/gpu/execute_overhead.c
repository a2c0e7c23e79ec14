/* By hand, on a real NVIDIA GPU: what mlaf_execute costs the host beside a bare driver launch, and that a captured graph
 * of it replays to the same bits.
 *
 *   make execute-overhead && ./execute-overhead [PROBLEM]      default: a problem planned with one kernel
 *
 * Both sides launch 64 times into an idle stream, then wait; a figure is the median over 200 such rounds of the host's time
 * for one launch. The bare launch is an empty kernel with a parameter block of the same size through cuLaunchKernel. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mlaforge/mlaforge.h"

enum { LAUNCHES = 64, ROUNDS = 200, REPLAYS = 1000 };

static struct {
  int (*retain)(void **, int);
  int (*current)(void *);
  int (*module)(void **, const void *);
  int (*function)(void **, void *, const char *);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
  int (*stream)(void **, unsigned);
  int (*sync)(void *);
  int (*begin)(void *, int);
  int (*end)(void *, void **);
  int (*instantiate)(void **, void *, unsigned long long);
  int (*replay)(void *, void *);
} cu;

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry empty(.param .align 64 .b8 p[384]) { ret; }\n";

static void check(int code, const char *what) {
  if (!code) return;
  fprintf(stderr, "%s: error %d\n", what, code);
  exit(3);
}

static void load_driver(void) {
  static const struct {
    void *slot;
    const char *name;
  } symbols[] = {
      {&cu.retain, "cuDevicePrimaryCtxRetain"}, {&cu.current, "cuCtxSetCurrent"},
      {&cu.module, "cuModuleLoadData"},         {&cu.function, "cuModuleGetFunction"},
      {&cu.launch, "cuLaunchKernel"},           {&cu.stream, "cuStreamCreate"},
      {&cu.sync, "cuStreamSynchronize"},        {&cu.begin, "cuStreamBeginCapture_v2"},
      {&cu.end, "cuStreamEndCapture"},          {&cu.instantiate, "cuGraphInstantiateWithFlags"},
      {&cu.replay, "cuGraphLaunch"},
  };
  void *lib = dlopen("libcuda.so.1", RTLD_NOW);
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *f = lib ? dlsym(lib, symbols[i].name) : NULL;
    check(!f, symbols[i].name);
    memcpy(symbols[i].slot, &f, sizeof f);
  }
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static struct {
  mlaf_ctx *ctx;
  mlaf_plan *plan;
  mlaf_execute_args args;
  void *stream, *empty;
} run;

static void ok(mlaf_status st, const char *what) {
  char text[1024] = "";
  if (!st) return;
  if (run.ctx) mlaf_ctx_last_message(run.ctx, text, sizeof text);
  fprintf(stderr, "%s: %s: %s\n", what, mlaf_status_name(st), text);
  exit(3);
}

static void execute(void) { ok(mlaf_execute(run.plan, &run.args, run.stream), "mlaf_execute"); }
static void bare(void) {
  static _Alignas(64) char block[384];
  void *params[] = {block};
  check(cu.launch(run.empty, 1, 1, 1, 128, 1, 1, 0, run.stream, params, NULL), "cuLaunchKernel");
}

static double median_us(void (*launch)(void)) {
  static double us[ROUNDS];
  for (int r = -5; r < ROUNDS; r++) {
    double start = now_us();
    for (int i = 0; i < LAUNCHES; i++) launch();
    if (r >= 0) us[r] = (now_us() - start) / LAUNCHES;
    check(cu.sync(run.stream), "cuStreamSynchronize");
  }
  qsort(us, ROUNDS, sizeof *us, by_value);
  return us[ROUNDS / 2];
}

static void *device(const void *data, size_t bytes) {
  void *p = NULL;
  ok(mlaf_mem_alloc(run.ctx, bytes, &p), "mlaf_mem_alloc");
  ok(data ? mlaf_mem_write(run.ctx, p, data, bytes) : mlaf_mem_fill(run.ctx, p, 0, bytes), "mlaf_mem_write");
  return p;
}

/* A dense cache with every page in order; random 16-bit values near 1. */
static void prepare(const mlaf_problem *p) {
  const size_t pages = (size_t)(p->ctx + p->page_size - 1) / (size_t)p->page_size, batch = (size_t)p->batch;
  const size_t kv = batch * pages * (size_t)p->page_size * (size_t)(p->rank + p->rope);
  const size_t rows = batch * (size_t)p->q_len * (size_t)p->heads, q = rows * (size_t)(p->rank + p->rope);
  uint16_t *values = malloc(2 * (kv > q ? kv : q));
  int32_t *table = malloc(4 * (batch * pages + 3 * batch + 3)), *qo = table, *kvp = qo + batch + 1, *last = kvp + batch + 1;
  if (!values || !table) exit(4);
  for (size_t i = 0; i < (kv > q ? kv : q); i++) values[i] = (uint16_t)(0x3c00 + (i * 2654435761u >> 23) % 300);
  for (size_t b = 0; b <= batch; b++) qo[b] = (int32_t)b * p->q_len, kvp[b] = (int32_t)(b * pages);
  for (size_t b = 0; b < batch; b++) last[b] = (p->ctx - 1) % p->page_size + 1;
  for (size_t i = 0; i < batch * pages; i++) last[batch + i] = (int32_t)i;
  const int32_t *d = device(table, 4 * (batch * pages + 3 * batch + 3));
  run.args = (mlaf_execute_args)MLAF_EXECUTE_ARGS_INIT;
  run.args.batch = p->batch;
  run.args.total_q = (int64_t)batch * p->q_len;
  run.args.q = device(values, 2 * q);
  run.args.ckv = device(values, 2 * kv);
  run.args.qo_indptr = d;
  run.args.kv_indptr = d + (kvp - table);
  run.args.kv_last_page_lens = d + (last - table);
  run.args.kv_indices = d + (last - table) + batch;
  run.args.o = device(NULL, 2 * rows * (size_t)p->rank);
  run.args.num_pages = (int32_t)(batch * pages);
  run.args.scale = 0.05f;
  run.args.workspace_size = mlaf_plan_workspace_size(run.plan, run.args.total_q);
  run.args.workspace = device(NULL, run.args.workspace_size);
  free(values);
  free(table);
}

static void capture(const mlaf_problem *p) {
  const size_t bytes = 2 * (size_t)p->batch * (size_t)p->q_len * (size_t)p->heads * (size_t)p->rank;
  char *first = malloc(bytes), *again = malloc(bytes);
  void *graph = NULL, *exec = NULL;
  int wrong = 0;
  if (!first || !again) exit(4);
  execute();
  ok(mlaf_sync(run.ctx, run.stream), "mlaf_sync");
  ok(mlaf_mem_read(run.ctx, first, run.args.o, bytes), "mlaf_mem_read");
  check(cu.begin(run.stream, 0), "cuStreamBeginCapture");
  execute();
  check(cu.end(run.stream, &graph), "cuStreamEndCapture");
  check(cu.instantiate(&exec, graph, 0), "cuGraphInstantiate");
  for (int i = 0; i < REPLAYS; i++) {
    ok(mlaf_mem_fill(run.ctx, run.args.o, 0xff, bytes), "mlaf_mem_fill");
    check(cu.replay(exec, run.stream), "cuGraphLaunch");
    ok(mlaf_sync(run.ctx, run.stream), "mlaf_sync");
    ok(mlaf_mem_read(run.ctx, again, run.args.o, bytes), "mlaf_mem_read");
    wrong += memcmp(first, again, bytes) != 0;
  }
  printf("captured and replayed %d times: %d differ\n", REPLAYS, wrong);
  if (wrong) exit(1);
  free(first);
  free(again);
}

int main(int argc, char **argv) {
  mlaf_problem p;
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
  char why[1024] = "";
  void *module = NULL, *primary = NULL;
  if (mlaf_problem_parse(argc > 1 ? argv[1] : "mla_decode:h16,r512,p64,q1,bf16,page64,b128,s64", &p, why, sizeof why) ||
      (o.device = "cuda", mlaf_ctx_create(&o, &run.ctx, why, sizeof why))) {
    fprintf(stderr, "%s\n", why);
    return 3;
  }
  ok(mlaf_plan_create(run.ctx, &p, NULL, &run.plan), "mlaf_plan_create");
  ok(mlaf_plan_query(run.plan, &info), "mlaf_plan_query");
  load_driver();
  check(cu.retain(&primary, 0), "cuDevicePrimaryCtxRetain");
  check(cu.current(primary), "cuCtxSetCurrent");
  prepare(&p);
  check(cu.module(&module, ptx), "cuModuleLoadData");
  check(cu.function(&run.empty, module, "empty"), "cuModuleGetFunction");
  check(cu.stream(&run.stream, 1), "cuStreamCreate");
  double ours = median_us(execute), theirs = median_us(bare), again = median_us(execute);
  printf("%s: %s (%s)\n", info.problem, info.variant, info.rung);
  const int kernels = strchr(strchr(info.variant, '/'), ',') ? 2 : 1; /* .../sN,... names a combine kernel */
  printf("mlaf_execute %.2f us (again %.2f), bare launch %.2f us: %+.2f us for %d kernel%s\n", ours, again, theirs,
         ours - theirs, kernels, kernels > 1 ? "s" : "");
  capture(&p);
  mlaf_plan_release(run.plan);
  mlaf_ctx_destroy(run.ctx);
  return 0;
}
