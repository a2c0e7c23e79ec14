/* The emulated devices behind the device vtable, one per target of isa.c. Opening needs no ROCm: the disassembler is wanted at
 * a module's first launch. */
#include <unistd.h>

#include "base/env.h"
#include "emu/profile.h"
#include "emu/strict.h"

enum { MAX_THREADS = 256, DEFAULT_MAX_MIB = 4096 };
static const int64_t DEFAULT_MAX_INSTS = INT64_C(1) << 33;

static emu_device *self(mlaf_device *dev) { return (emu_device *)dev; }

static mlaf_status read_limits(emu_device *d, mlaf_err *err) {
  int64_t threads, insts, mib;
  long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  mlaf_status st = mlaf_env_number("MLAF_EMU_THREADS", 0, MAX_THREADS, 0, &threads, err);
  if (st == MLAF_OK) st = mlaf_env_number("MLAF_EMU_MAX_INSTS", 1, INT64_MAX, DEFAULT_MAX_INSTS, &insts, err);
  if (st == MLAF_OK) st = mlaf_env_number("MLAF_EMU_MAX_MEMORY", 1, INT64_MAX >> 20, DEFAULT_MAX_MIB, &mib, err);
  const char *word; /* read where they are used; here they are checked */
  if (st == MLAF_OK) st = mlaf_env_word("MLAF_EMU_HAZARDS", "physical", NULL, &word, err);
  if (st == MLAF_OK) st = mlaf_env_word("MLAF_EMU_ISA", "v1 v3 v4", NULL, &word, err);
  if (st != MLAF_OK) return st;
  if (threads == 0) threads = cpus < 1 ? 1 : cpus > MAX_THREADS ? MAX_THREADS : cpus;
  d->threads = (int)threads;
  d->max_insts = (uint64_t)insts;
  d->max_bytes = (uint64_t)mib << 20;
  return emu_strict_parse(getenv("MLAF_EMU_STRICT"), &d->forgiven, &d->extra, err);
}

static mlaf_status emu_open(const mlaf_device_ops *ops, const emu_isa *isa, int ordinal, const mlaf_log *log, mlaf_device **out,
                            mlaf_err *err) {
  if (ordinal != 0) return mlaf_fail(err, MLAF_E_NO_DEVICE, "%s has one device, 0; %d was asked for", ops->name, ordinal);
  emu_device *d = calloc(1, sizeof *d);
  if (!d) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for the emulated device");
  d->base.ops = ops;
  d->base.info = isa->info;
  d->isa = isa;
  if (log) d->log = *log;
  if (pthread_mutex_init(&d->lock, NULL) != 0) {
    free(d);
    return mlaf_fail(err, MLAF_E_NOMEM, "cannot create the emulated device's lock");
  }
  mlaf_status st = read_limits(d, err);
  if (st == MLAF_OK) st = emu_memory_open(d, err);
  if (st != MLAF_OK) {
    pthread_mutex_destroy(&d->lock);
    free(d);
    return st;
  }
  *out = (mlaf_device *)d;
  return MLAF_OK;
}

static void emu_close(mlaf_device *dev) {
  emu_device *d = self(dev);
  if (!d) return;
  if (d->compiler) mlaf_compiler_close(d->compiler);
  emu_memory_close(d);
  pthread_mutex_destroy(&d->lock);
  free(d);
}

/* --- modules --- */
static void module_free(mlaf_module *m) {
  if (m->image) emu_mem_free(m->dev, m->image, NULL);
  emu_code_close(m->code);
  free(m->functions);
  free(m->meta);
  free(m);
}

static mlaf_status place_image(mlaf_module *m, mlaf_err *err) {
  size_t span = emu_code_span(m->code);
  if (span == 0) return mlaf_fail(err, MLAF_E_ARG, "code object with nothing to load: the file is damaged; recompile it");
  mlaf_status st = emu_mem_alloc(m->dev, span, &m->image, err);
  if (st == MLAF_OK) st = emu_mem_fill(m->dev, m->image, 0, span, err); /* all of it counts as written */
  return st != MLAF_OK ? st : emu_code_place(m->code, m->image, span, err);
}

/* Hand-written kernels leave the kernarg size out of the descriptor (0, "not specified"); runtimes then go by the metadata
 * note. Without either, a launch may pass any size. */
static void take_meta(mlaf_function *f, emu_kernel *k, const mlaf_kernel_meta *meta, size_t n) {
  k->kernarg_open = k->kernarg_bytes == 0;
  for (size_t i = 0; i < n && !f->meta; i++)
    if (strcmp(meta[i].symbol, k->symbol) == 0) f->meta = &meta[i];
  if (!k->kernarg_open || !f->meta) return;
  k->kernarg_bytes = f->meta->kernarg_bytes;
  k->kernarg_open = k->kernarg_bytes == 0;
}

static mlaf_status make_functions(mlaf_module *m, mlaf_err *err) {
  emu_code *c = m->code;
  size_t n = 0;
  m->functions = calloc(c->n_kernels + 1, sizeof *m->functions);
  m->meta = calloc(c->n_kernels + 1, sizeof *m->meta);
  if (!m->functions || !m->meta)
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory for the metadata of %zu kernels", c->n_kernels);
  if (mlaf_code_meta(c->image, c->size, m->meta, c->n_kernels, &n, NULL) != MLAF_OK) n = 0; /* assembled without a note */
  for (size_t i = 0; i < c->n_kernels; i++) {
    m->functions[i] = (mlaf_function){.module = m, .kernel = &c->kernels[i]};
    take_meta(&m->functions[i], &c->kernels[i], m->meta, n < c->n_kernels ? n : c->n_kernels);
  }
  return MLAF_OK;
}

static mlaf_status emu_module_load(mlaf_device *dev, const void *code, size_t size, mlaf_module **out, mlaf_err *err) {
  mlaf_module *m = calloc(1, sizeof *m);
  if (!m) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a module");
  m->dev = self(dev);
  mlaf_status st = emu_code_open(code, size, &m->code, err);
  if (st == MLAF_OK && m->code->isa != m->dev->isa)
    st = mlaf_fail(err, MLAF_E_ARG, "a code object for %s on %s: compile it for %s", m->code->isa->info.target,
                   mlaf_ops(dev)->name, m->dev->isa->info.target);
  if (st == MLAF_OK) st = place_image(m, err);
  if (st == MLAF_OK) st = make_functions(m, err);
  if (st != MLAF_OK) {
    module_free(m);
    return st;
  }
  *out = m;
  return MLAF_OK;
}

static void emu_module_unload(mlaf_device *dev, mlaf_module *module) {
  if (module) module_free(module);
}

static mlaf_status emu_function_get(mlaf_device *dev, mlaf_module *module, const char *symbol, mlaf_function **out,
                                    mlaf_err *err) {
  for (size_t i = 0; i < module->code->n_kernels; i++)
    if (strcmp(module->code->kernels[i].symbol, symbol) == 0) {
      *out = &module->functions[i];
      return MLAF_OK;
    }
  return mlaf_fail(err, MLAF_E_ARG, "no kernel '%s' in the code object (%zu kernels, first '%s')", symbol,
                   module->code->n_kernels, module->code->n_kernels ? module->code->kernels[0].symbol : "");
}

/* Under the device's lock. A decode that failed stays failed: half-built instruction lists are never run. */
static mlaf_status decode_locked(mlaf_module *m, mlaf_err *err) {
  emu_device *d = m->dev;
  char *text;
  mlaf_status st = MLAF_OK;
  if (!d->compiler) st = mlaf_compiler_open(NULL, &d->log, &d->compiler, err);
  if (st == MLAF_OK) st = mlaf_disassemble(d->compiler, d->isa->info.target, m->code->image, m->code->size, &text, err);
  if (st != MLAF_OK) return mlaf_fail_prefix(err, st, "the emulator needs comgr's disassembler");
  return emu_code_decode(m->code, text, err);
}

mlaf_status emu_module_decode(mlaf_module *module, mlaf_err *err) {
  emu_device *d = module->dev;
  pthread_mutex_lock(&d->lock);
  mlaf_status st = module->decoded ? MLAF_OK : decode_locked(module, err);
  if (st == MLAF_OK) module->decoded = true;
  pthread_mutex_unlock(&d->lock);
  return st;
}

/* --- the rest of the vtable: launches run to their end before returning, so streams have nothing to order --- */
static mlaf_status op_alloc(mlaf_device *dev, size_t n, void **p, mlaf_err *err) { return emu_mem_alloc(self(dev), n, p, err); }
static mlaf_status op_free(mlaf_device *dev, void *p, mlaf_err *err) { return emu_mem_free(self(dev), p, err); }
static mlaf_status op_write(mlaf_device *dev, void *dst, const void *src, size_t n, mlaf_err *err) {
  return emu_mem_write(self(dev), dst, src, n, err);
}
static mlaf_status op_read(mlaf_device *dev, void *dst, const void *src, size_t n, mlaf_err *err) {
  return emu_mem_read(self(dev), dst, src, n, err);
}
static mlaf_status op_fill(mlaf_device *dev, void *dst, int byte, size_t n, mlaf_err *err) {
  return emu_mem_fill(self(dev), dst, byte, n, err);
}
static mlaf_status op_undefine(mlaf_device *dev, void *at, size_t n, mlaf_err *err) {
  return emu_mem_undefine(self(dev), at, n, err);
}
static mlaf_status op_register(mlaf_device *dev, void *host, size_t n, bool read_only, mlaf_err *err) {
  return emu_mem_register(self(dev), host, n, read_only, err);
}
static mlaf_status op_unregister(mlaf_device *dev, void *host, size_t n, mlaf_err *err) {
  return emu_mem_unregister(self(dev), host, n, err);
}
static mlaf_status op_launch(mlaf_device *dev, void *stream, const mlaf_launch *launch, mlaf_err *err) {
  return emu_launch_run(self(dev), launch, NULL, NULL, NULL, err);
}
static mlaf_status op_sync(mlaf_device *dev, void *stream, mlaf_err *err) { return MLAF_OK; }
static mlaf_status op_stream_create(mlaf_device *dev, void **stream, mlaf_err *err) {
  *stream = dev; /* any non-NULL token */
  return MLAF_OK;
}
static void op_stream_destroy(mlaf_device *dev, void *stream) { (void)stream; }
static mlaf_status op_time(mlaf_device *dev, const mlaf_launch *launches, size_t n, const mlaf_time_opts *opts,
                           mlaf_timing *out, mlaf_err *err) {
  if (!self(dev)->isa->timed)
    return mlaf_fail(err, MLAF_E_ARG, "%s executes and verifies, it has no timing model: times are modelled on %s only",
                     mlaf_ops(dev)->name, mlaf_emu_ops.name);
  return emu_time(self(dev), launches, n, opts, out, err);
}

#define EMU_OPS(target, open_it) \
  .name = "emu:" target, \
  .open = open_it, \
  .close = emu_close, \
  .mem_alloc = op_alloc, \
  .mem_free = op_free, \
  .mem_write = op_write, \
  .mem_read = op_read, \
  .mem_fill = op_fill, \
  .mem_undefine = op_undefine, \
  .mem_register = op_register, \
  .mem_unregister = op_unregister, \
  .module_load = emu_module_load, \
  .module_unload = emu_module_unload, \
  .function_get = emu_function_get, \
  .launch = op_launch, \
  .sync = op_sync, \
  .stream_create = op_stream_create, \
  .stream_destroy = op_stream_destroy, \
  .time = op_time, \
  .profile_count = emu_profile_count, \
  .features = MLAF_DEVICE_MODELLED

static mlaf_status open_gfx942(int ordinal, const mlaf_log *log, mlaf_device **out, mlaf_err *err) {
  return emu_open(&mlaf_emu_ops, &emu_isas[0], ordinal, log, out, err);
}
static mlaf_status open_gfx950(int ordinal, const mlaf_log *log, mlaf_device **out, mlaf_err *err) {
  return emu_open(&mlaf_emu_gfx950_ops, &emu_isas[1], ordinal, log, out, err);
}
static mlaf_status open_gfx90a(int ordinal, const mlaf_log *log, mlaf_device **out, mlaf_err *err) {
  return emu_open(&mlaf_emu_gfx90a_ops, &emu_isas[2], ordinal, log, out, err);
}

const mlaf_device_ops mlaf_emu_ops = {EMU_OPS("gfx942", open_gfx942), .profile = emu_profile_run};
const mlaf_device_ops mlaf_emu_gfx950_ops = {EMU_OPS("gfx950", open_gfx950)};
const mlaf_device_ops mlaf_emu_gfx90a_ops = {EMU_OPS("gfx90a", open_gfx90a)};
