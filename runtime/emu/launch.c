/* A grid over host threads. Workgroups are handed out in dispatch order, x fastest; the first fault stops all threads. */
#include <stdlib.h>
#include <string.h>

#include "emu/strict.h"
#include "emu/memory.h"

#if defined(__SANITIZE_THREAD__)
/* Workgroups of one launch run on several host threads; where they race for global memory (a load beside another's atomic,
 * which GPUs allow), the race is the kernel's own. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) { return "race:^exec_load$\nrace:^exec_store$\nrace:^exec_atomic$\n"; }
#endif

enum { MAX_HOST_THREADS = 256, IMPLICIT_ARGS = 256, PACKET_BYTES = 64, MAX_BLOCK = 1024, MAX_SCRATCH = 1 << 17 };
static const uint64_t DEFAULT_MAX_INSTS = UINT64_C(1) << 33;

/* Shared by the host threads of one launch. */
typedef struct job {
  const emu_dispatch *dispatch;
  const emu_launch_opts *opts;
  uint64_t n_groups;
  atomic_uint_fast64_t next;
  atomic_bool stop;
  pthread_mutex_t lock; /* guards what follows */
  emu_counts total;
  uint64_t ran;
  mlaf_err *err;
  bool failed;
} job;

static void group_id(const emu_grid *g, uint64_t linear, uint32_t id[3]) {
  id[0] = (uint32_t)(linear % g->grid[0]);
  id[1] = (uint32_t)(linear / g->grid[0] % g->grid[1]);
  id[2] = (uint32_t)(linear / g->grid[0] / g->grid[1]);
}

static void report(job *j, const mlaf_err *err) {
  pthread_mutex_lock(&j->lock);
  if (!j->failed) *j->err = *err;
  j->failed = true;
  pthread_mutex_unlock(&j->lock);
  atomic_store(&j->stop, true);
}

static void finished(job *j, const uint32_t id[3], const emu_counts *counts) {
  pthread_mutex_lock(&j->lock);
  emu_counts_add(&j->total, counts);
  j->ran++;
  if (j->opts->done) j->opts->done(j->opts->ctx, id, counts);
  pthread_mutex_unlock(&j->lock);
}

static void *worker(void *arg) {
  job *j = arg;
  mlaf_err err = {MLAF_OK, ""};
  emu_arena *arena = emu_arena_new();
  if (!arena) {
    mlaf_fail(&err, MLAF_E_NOMEM, "no host memory for the registers of a workgroup");
    report(j, &err);
    return NULL;
  }
  while (!atomic_load_explicit(&j->stop, memory_order_relaxed)) {
    uint64_t i = atomic_fetch_add(&j->next, 1);
    if (i >= j->n_groups) break;
    uint32_t id[3];
    group_id(j->dispatch->grid, i, id);
    if (j->opts->filter && !j->opts->filter(j->opts->ctx, id)) continue;
    emu_counts counts = {0};
    err.status = MLAF_OK;
    if (emu_group_run(arena, j->dispatch, id, &counts, &err)) finished(j, id, &counts);
    else if (err.status != MLAF_OK) report(j, &err); /* without one: stopped because of another thread's fault */
  }
  emu_arena_free(arena);
  return NULL;
}

static void run_job(job *j, int threads) {
  pthread_t tid[MAX_HOST_THREADS];
  int started = 0;
  if ((uint64_t)threads > j->n_groups) threads = (int)j->n_groups;
  if (threads > MAX_HOST_THREADS) threads = MAX_HOST_THREADS;
  while (started < threads - 1 && pthread_create(&tid[started], NULL, worker, j) == 0) started++;
  worker(j); /* this thread works too: no extra thread for a single workgroup */
  for (int i = 0; i < started; i++) pthread_join(tid[i], NULL);
}

/* What the HIP runtime appends behind the explicit arguments (code object v5 implicit arguments): the parts that
 * blockDim, gridDim and their remainders compile to. */
static void fill_implicit(uint8_t *at, const mlaf_launch *l) {
  uint16_t dims = l->grid[2] > 1 || l->block[2] > 1 ? 3 : l->grid[1] > 1 || l->block[1] > 1 ? 2 : 1;
  for (int i = 0; i < 3; i++) {
    uint16_t size = (uint16_t)l->block[i];
    memcpy(at + 4 * i, &l->grid[i], 4);   /* hidden_block_count_{x,y,z} */
    memcpy(at + 12 + 2 * i, &size, 2);    /* hidden_group_size_{x,y,z}; remainders at 18 stay 0: grids are whole */
  }
  memcpy(at + 64, &dims, 2);              /* hidden_grid_dims */
}

static void fill_packet(uint8_t *p, const mlaf_launch *l, const emu_kernel *k, const uint8_t *kernarg) {
  uint64_t arg = (uint64_t)(uintptr_t)kernarg;
  for (int i = 0; i < 3; i++) {
    uint16_t size = (uint16_t)l->block[i];
    uint32_t items = l->grid[i] * l->block[i];
    memcpy(p + 4 + 2 * i, &size, 2);
    memcpy(p + 12 + 4 * i, &items, 4);
  }
  memcpy(p + 24, &k->scratch_bytes, 4);
  memcpy(p + 28, &k->lds_bytes, 4);
  memcpy(p + 40, &arg, 8);
}

static mlaf_status check_launch(const emu_isa *isa, const mlaf_launch *l, const emu_kernel *k, mlaf_err *err) {
  uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
  for (int i = 0; i < 3; i++)
    if (l->grid[i] == 0 || l->block[i] == 0 || l->block[i] > MAX_BLOCK || (uint64_t)l->grid[i] * l->block[i] > UINT32_MAX)
      return mlaf_fail(err, MLAF_E_ARG, "kernel %s: grid %ux%ux%u of blocks %ux%ux%u: every extent must be at least 1, a"
                       " block's at most 1024, and grid*block below 2^32", k->symbol, l->grid[0], l->grid[1], l->grid[2],
                       l->block[0], l->block[1], l->block[2]);
  if (threads > MAX_BLOCK)
    return mlaf_fail(err, MLAF_E_ARG, "kernel %s: block of %llu work-items; at most %d", k->symbol,
                     (unsigned long long)threads, MAX_BLOCK);
  if ((l->args_size > k->kernarg_bytes && !k->kernarg_open) || (l->args_size && !l->args))
    return mlaf_fail(err, MLAF_E_ARG, "kernel %s takes %u bytes of arguments; %zu were given", k->symbol,
                     k->kernarg_bytes, l->args_size);
  if (k->lds_bytes > (uint32_t)isa->info.lds_bytes)
    return mlaf_fail(err, MLAF_E_ARG, "kernel %s needs %u bytes of LDS; a compute unit has %d", k->symbol, k->lds_bytes,
                     isa->info.lds_bytes);
  if (k->scratch_bytes > 0 && !isa->flat_scratch)
    return mlaf_fail(err, MLAF_E_ARG, "kernel %s asks for %u bytes of scratch per work-item; emu:%s has no private memory",
                     k->symbol, k->scratch_bytes, isa->info.target);
  if (k->scratch_bytes > MAX_SCRATCH)
    return mlaf_fail(err, MLAF_E_ARG, "kernel %s asks for %u bytes of scratch per work-item; the emulator gives at most %d",
                     k->symbol, k->scratch_bytes, MAX_SCRATCH);
  return MLAF_OK;
}

/* Kernel arguments and dispatch packet in one device allocation. The tail of the arguments is padded to the size the
 * kernel declares, so that a wide scalar load of the last argument stays inside. */
static mlaf_status make_kernarg(emu_device *dev, const mlaf_launch *l, const emu_kernel *k, uint8_t **kernarg,
                                uint64_t *packet, mlaf_err *err) {
  size_t declared = l->args_size > k->kernarg_bytes ? l->args_size : k->kernarg_bytes;
  size_t args = (declared + 63) & ~(size_t)63, implicit = (l->args_size + 7) & ~(size_t)7;
  void *p;
  mlaf_status st = emu_mem_alloc(dev, args + PACKET_BYTES, &p, err);
  if (st != MLAF_OK) return st;
  memset(p, 0, args + PACKET_BYTES);
  if (l->args_size) memcpy(p, l->args, l->args_size);
  if (k->kernarg_bytes >= implicit + IMPLICIT_ARGS) fill_implicit((uint8_t *)p + implicit, l);
  fill_packet((uint8_t *)p + args, l, k, p);
  *kernarg = p;
  *packet = (uint64_t)(uintptr_t)p + args;
  return MLAF_OK;
}

mlaf_status emu_launch_run(emu_device *dev, const mlaf_launch *launch, const emu_launch_opts *opts, emu_counts *total,
                           uint64_t *ran, mlaf_err *err) {
  static const emu_launch_opts none = {0};
  const emu_kernel *k = launch->fn->kernel;
  mlaf_module *module = launch->fn->module;
  uint8_t *kernarg;
  uint64_t packet;
  if (!opts) opts = &none;
  mlaf_status st = check_launch(dev->isa, launch, k, err);
  if (st == MLAF_OK) st = emu_module_decode(module, err);
  if (st == MLAF_OK) st = make_kernarg(dev, launch, k, &kernarg, &packet, err);
  if (st != MLAF_OK) return st;

  emu_grid grid;
  memcpy(grid.grid, launch->grid, sizeof grid.grid);
  memcpy(grid.block, launch->block, sizeof grid.block);
  mlaf_err fault = {MLAF_OK, ""};
  emu_warnings warnings = {.lock = PTHREAD_MUTEX_INITIALIZER};
  job j = {.opts = opts, .n_groups = (uint64_t)grid.grid[0] * grid.grid[1] * grid.grid[2],
           .lock = PTHREAD_MUTEX_INITIALIZER, .err = &fault};
  emu_dispatch d = {.dev = dev, .code = module->code, .kernel = k, .grid = &grid, .kernarg = kernarg, .packet = packet,
                    .max_insts = opts->max_insts ? opts->max_insts : DEFAULT_MAX_INSTS, .stop = &j.stop,
                    .recorder = opts->recorder, .warnings = &warnings};
  j.dispatch = &d;
  emu_mem_pin(dev); /* another thread of the application may allocate meanwhile */
  run_job(&j, opts->threads > 0 ? opts->threads : dev->threads);
  emu_mem_unpin(dev);
  pthread_mutex_destroy(&j.lock);
  pthread_mutex_destroy(&warnings.lock);
  emu_warnings_log(&warnings, k, &dev->log);
  st = emu_mem_free(dev, kernarg, err);
  if (j.failed) return mlaf_fail(err, fault.status, "%s", fault.text);
  if (st != MLAF_OK) return st;
  if (total) *total = j.total;
  if (ran) *ran = j.ran;
  return MLAF_OK;
}
