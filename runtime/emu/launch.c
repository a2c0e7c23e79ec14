/* A grid over host threads. Workgroups are handed out in dispatch order, x fastest. After a fault those behind it give up and
 * those before it go on, so that the fault reported is that of the earliest. Kernels whose workgroups wait for each other:
 * turns.c. */
#include "emu/memory.h"
#include "emu/strict.h"
#include "emu/turns.h"

#if defined(__SANITIZE_THREAD__)
/* Workgroups of one launch run on several host threads; where they race for global memory (a load beside another's atomic,
 * which GPUs allow), the race is the kernel's own. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) { return "race:^exec_load$\nrace:^exec_store$\nrace:^exec_atomic$\n"; }
#endif

enum { MAX_HOST_THREADS = 256, PACKET_BYTES = 64, MAX_BLOCK = 1024, MAX_SCRATCH = 1 << 17 };

/* Shared by the host threads of one launch. */
typedef struct job {
  emu_dispatch *dispatch;
  const emu_launch_opts *opts;
  uint64_t n_groups;
  atomic_uint_fast64_t next;
  atomic_uint_fast64_t stop; /* number of the first workgroup in the grid that is known to fault: later ones give up */
  pthread_mutex_t lock; /* guards what follows */
  emu_counts total;
  uint64_t ran;
  mlaf_err *err;
  bool failed;
} job;

static void group_id(void *user, uint64_t linear, uint32_t id[3]) {
  const emu_grid *g = ((const job *)user)->dispatch->grid;
  id[0] = (uint32_t)(linear % g->grid[0]);
  id[1] = (uint32_t)(linear / g->grid[0] % g->grid[1]);
  id[2] = (uint32_t)(linear / g->grid[0] / g->grid[1]);
}

/* Reports the fault of the lowest workgroup id, so the result does not depend on the thread count. `at`: that id, 0 for a fault
 * that is no workgroup's. */
static void report(job *j, uint64_t at, const mlaf_err *err) {
  pthread_mutex_lock(&j->lock);
  if (!j->failed || at < atomic_load(&j->stop)) {
    *j->err = *err;
    atomic_store(&j->stop, at);
  }
  j->failed = true;
  pthread_mutex_unlock(&j->lock);
}

static void finished(void *user, const uint32_t id[3], const emu_counts *counts) {
  job *j = user;
  pthread_mutex_lock(&j->lock);
  emu_counts_add(&j->total, counts);
  j->ran++;
  if (j->opts->done) j->opts->done(j->opts->ctx, id, counts);
  pthread_mutex_unlock(&j->lock);
}

static void *worker(void *arg) {
  job *j = arg;
  mlaf_err err = {MLAF_OK, ""};
  emu_arena *arena = emu_arena_new(j->dispatch);
  if (!arena) {
    mlaf_fail(&err, MLAF_E_NOMEM, "no host memory for the registers of a workgroup");
    report(j, 0, &err);
    return NULL;
  }
  for (;;) {
    uint64_t i = atomic_fetch_add(&j->next, 1);
    if (i >= j->n_groups || i >= atomic_load(&j->stop)) break;
    uint32_t id[3];
    group_id(j, i, id);
    if (j->opts->filter && !j->opts->filter(j->opts->ctx, id)) continue;
    emu_counts counts = {0};
    err.status = MLAF_OK;
    if (emu_group_run(arena, j->dispatch, id, &counts, &err)) finished(j, id, &counts);
    else if (err.status != MLAF_OK) report(j, err.status == MLAF_E_CANCELLED ? 0 : i, &err); /* without one: told to stop */
  }
  emu_arena_free(arena);
  return NULL;
}

/* Workgroups that communicate are run whole, whatever the filter says: those that it wants may wait for the others. */
static void run_in_turns(job *j) {
  mlaf_err err = {MLAF_OK, ""};
  const emu_turns_how how = {.user = j, .id = group_id, .done = finished, .n_groups = j->n_groups,
                             .max_bytes = j->dispatch->dev->max_bytes};
  if (!emu_turns_run(j->dispatch, &how, &err)) report(j, 0, &err);
}

static void run_at_once(job *j, int threads) {
  pthread_t tid[MAX_HOST_THREADS];
  int started = 0;
  if ((uint64_t)threads > j->n_groups) threads = (int)j->n_groups;
  if (threads > MAX_HOST_THREADS) threads = MAX_HOST_THREADS;
  while (started < threads - 1 && pthread_create(&tid[started], NULL, worker, j) == 0) started++;
  worker(j); /* this thread works too: no extra thread for a single workgroup */
  for (int i = 0; i < started; i++) pthread_join(tid[i], NULL);
}

/* --- arguments --- */

/* Fills the hidden arguments that the kernel's metadata asks for. The queue, the heap, the multi-grid barrier and the
 * host's ear do not exist here: a kernel that follows their address is told so (emu_mem_describe). */
static void fill_hidden(uint8_t *at, const mlaf_launch *l, const mlaf_kernel_meta *m) {
  uint64_t value[MLAF_HIDDEN_COUNT] = {0};
  for (int i = 0; i < 3; i++) {
    value[MLAF_HIDDEN_BLOCK_COUNT + i] = l->grid[i];
    value[MLAF_HIDDEN_GROUP_SIZE + i] = l->block[i]; /* remainders stay 0: grids are whole */
  }
  value[MLAF_HIDDEN_GRID_DIMS] = l->grid[2] > 1 || l->block[2] > 1 ? 3 : l->grid[1] > 1 || l->block[1] > 1 ? 2 : 1;
  for (int i = 0; i < EMU_ABSENT_COUNT; i++) value[emu_absent[i].hidden] = EMU_ABSENT_BASE + (uint64_t)i * EMU_ABSENT_BYTES;
  value[MLAF_HIDDEN_DYNAMIC_LDS] = l->lds;
  value[MLAF_HIDDEN_PRIVATE_BASE] = EMU_PRIVATE_BASE >> 32;
  value[MLAF_HIDDEN_SHARED_BASE] = EMU_SHARED_BASE >> 32;
  for (int i = 0; i < MLAF_HIDDEN_COUNT; i++)
    if (m->hidden[i].bytes && m->hidden[i].bytes <= sizeof value[i]) memcpy(at + m->hidden[i].at, &value[i], m->hidden[i].bytes);
}

static void fill_packet(uint8_t *p, const mlaf_launch *l, const emu_kernel *k, const uint8_t *kernarg) {
  uint64_t arg = (uint64_t)(uintptr_t)kernarg;
  uint32_t lds = k->lds_bytes + l->lds;
  for (int i = 0; i < 3; i++) {
    uint16_t size = (uint16_t)l->block[i];
    uint32_t items = l->grid[i] * l->block[i];
    memcpy(p + 4 + 2 * i, &size, 2);
    memcpy(p + 12 + 4 * i, &items, 4);
  }
  memcpy(p + 24, &k->scratch_bytes, 4);
  memcpy(p + 28, &lds, 4);
  memcpy(p + 40, &arg, 8);
}

/* --- what a launch may ask for --- */

static mlaf_status check_shape(const mlaf_launch *l, const emu_kernel *k, const mlaf_kernel_meta *m, mlaf_err *err) {
  uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
  for (int i = 0; i < 3; i++)
    if (l->grid[i] == 0 || l->block[i] == 0 || l->block[i] > MAX_BLOCK || (uint64_t)l->grid[i] * l->block[i] > UINT32_MAX)
      return mlaf_fail(err, MLAF_E_ARG, "kernel %s: grid %ux%ux%u of blocks %ux%ux%u: every extent must be at least 1, a"
                       " block's at most 1024, and grid*block below 2^32", k->symbol, l->grid[0], l->grid[1], l->grid[2],
                       l->block[0], l->block[1], l->block[2]);
  if (threads > MAX_BLOCK)
    return mlaf_fail(err, MLAF_E_ARG, "kernel %s: block of %llu work-items; at most %d", k->symbol,
                     (unsigned long long)threads, MAX_BLOCK);
  if (m && m->max_threads && threads > m->max_threads)
    return mlaf_fail(err, MLAF_E_ARG, "kernel %s: block of %llu work-items, but it was compiled for at most %u"
                     " (.max_flat_workgroup_size): launch a smaller block, or compile it with __launch_bounds__(%llu)", k->symbol,
                     (unsigned long long)threads, m->max_threads, (unsigned long long)threads);
  if (m && m->block[0] && memcmp(m->block, l->block, sizeof m->block) != 0)
    return mlaf_fail(err, MLAF_E_ARG, "kernel %s: block of %ux%ux%u, but it was compiled for %ux%ux%u (.reqd_workgroup_size)",
                     k->symbol, l->block[0], l->block[1], l->block[2], m->block[0], m->block[1], m->block[2]);
  return MLAF_OK;
}

static mlaf_status check_args(const mlaf_launch *l, const emu_kernel *k, const mlaf_kernel_meta *m, mlaf_err *err) {
  if (l->args_size && !l->args)
    return mlaf_fail(err, MLAF_E_ARG, "kernel %s: %zu bytes of arguments at NULL", k->symbol, l->args_size);
  if (l->args_size > k->kernarg_bytes && !k->kernarg_open)
    return mlaf_fail(err, MLAF_E_ARG, "kernel %s takes %u bytes of arguments; %zu were given", k->symbol,
                     m && m->args_known ? m->args_bytes : k->kernarg_bytes, l->args_size);
  if (m && m->args_known && l->args_size < m->args_bytes)
    return mlaf_fail(err, MLAF_E_ARG, "kernel %s takes %u bytes of arguments; only %zu were given: arguments are missing at the"
                                      " end",
                     k->symbol, m->args_bytes, l->args_size);
  return MLAF_OK;
}

static mlaf_status check_memory(const emu_isa *isa, const mlaf_launch *l, const emu_kernel *k, mlaf_err *err) {
  uint64_t lds = (uint64_t)k->lds_bytes + l->lds;
  if (lds > (uint64_t)isa->info.lds_bytes)
    return mlaf_fail(err, MLAF_E_ARG, "kernel %s needs %llu bytes of LDS (%u of its own, %u dynamic); a compute unit has %d",
                     k->symbol, (unsigned long long)lds, k->lds_bytes, l->lds, isa->info.lds_bytes);
  if (k->scratch_bytes > MAX_SCRATCH)
    return mlaf_fail(err, MLAF_E_ARG, "kernel %s asks for %u bytes of scratch per work-item; the emulator gives at most %d",
                     k->symbol, k->scratch_bytes, MAX_SCRATCH);
  return MLAF_OK;
}

static mlaf_status check_launch(const emu_isa *isa, const mlaf_launch *l, mlaf_err *err) {
  const emu_kernel *k = l->fn->kernel;
  mlaf_status st = check_shape(l, k, l->fn->meta, err);
  if (st == MLAF_OK) st = check_args(l, k, l->fn->meta, err);
  return st == MLAF_OK ? check_memory(isa, l, k, err) : st;
}

/* Kernel arguments and dispatch packet in one device allocation. The tail of the arguments is padded to the size the
 * kernel declares, so that a wide scalar load of the last argument stays inside. */
static mlaf_status make_kernarg(emu_device *dev, const mlaf_launch *l, uint8_t **kernarg, uint64_t *packet, mlaf_err *err) {
  const emu_kernel *k = l->fn->kernel;
  const mlaf_kernel_meta *m = l->fn->meta;
  size_t declared = l->args_size > k->kernarg_bytes ? l->args_size : k->kernarg_bytes;
  if (m && m->kernarg_bytes > declared) declared = m->kernarg_bytes;
  size_t args = (declared + 63) & ~(size_t)63;
  void *p;
  mlaf_status st = emu_mem_alloc(dev, args + PACKET_BYTES, &p, err);
  if (st == MLAF_OK) st = emu_mem_fill(dev, p, 0, args + PACKET_BYTES, err);
  if (st != MLAF_OK) return st;
  if (l->args_size) memcpy(p, l->args, l->args_size);
  if (m && m->args_known) fill_hidden(p, l, m);
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
  mlaf_status st = check_launch(dev->isa, launch, err);
  if (st == MLAF_OK) st = emu_module_decode(module, err);
  if (st == MLAF_OK) st = make_kernarg(dev, launch, &kernarg, &packet, err);
  if (st != MLAF_OK) return st;

  emu_grid grid;
  memcpy(grid.grid, launch->grid, sizeof grid.grid);
  memcpy(grid.block, launch->block, sizeof grid.block);
  mlaf_err fault = {MLAF_OK, ""};
  emu_warnings warnings = {.lock = PTHREAD_MUTEX_INITIALIZER};
  job j = {.opts = opts, .n_groups = (uint64_t)grid.grid[0] * grid.grid[1] * grid.grid[2], .stop = UINT64_MAX,
           .lock = PTHREAD_MUTEX_INITIALIZER, .err = &fault};
  emu_dispatch d = {.dev = dev, .code = module->code, .kernel = k, .grid = &grid, .lds_bytes = k->lds_bytes + launch->lds,
                    .kernarg = kernarg, .packet = packet, .max_insts = opts->max_insts ? opts->max_insts : dev->max_insts,
                    .stop = &j.stop, .cancel = dev->base.cancel, .recorder = opts->recorder, .warnings = &warnings};
  j.dispatch = &d;
  emu_mem_pin(dev); /* another thread of the application may allocate meanwhile */
  if (k->communicates) run_in_turns(&j);
  else run_at_once(&j, opts->threads > 0 ? opts->threads : dev->threads);
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
