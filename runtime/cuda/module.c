/* Cubins and the kernels in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "compile/elf.h"
#include "cuda/cuda_device.h"

/* Of an SM's shared memory, where L1 is to have the rest. With 25 or 50 a layer took 3.5 us less than with nothing said. */
enum { L1_SHARED_PERCENT = 25 };
enum { LOG_SIZE = 2048, MACHINE_CUDA = 190 /* EM_CUDA */ };

/* A code object of another kind of GPU is a mistake worth naming before the driver calls it "invalid". */
static mlaf_status read_image(const void *code, size_t size, mlaf_module *m, mlaf_err *err) {
  mlaf_elf elf;
  mlaf_status st = mlaf_elf_open(code, size, &elf, err);
  if (!st && elf.machine != MACHINE_CUDA)
    st = mlaf_fail(err, MLAF_E_ARG, "ELF machine %u, CUDA's is %d", elf.machine, MACHINE_CUDA);
  if (st) return mlaf_fail_prefix(err, st, "not a cubin");
  m->code = malloc(size);
  if (!m->code) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a module");
  memcpy(m->code, code, size);
  m->size = size;
  return MLAF_OK;
}

/* The driver's own words, on one line. */
static void one_line(char *log) {
  size_t n = strlen(log);
  while (n && (log[n - 1] == '\n' || log[n - 1] == ' ')) log[--n] = 0;
  for (char *p = log; *p; p++)
    if (*p == '\n') *p = '|';
}

static mlaf_status load(mlaf_cuda *c, const void *code, void **raw, mlaf_err *err) {
  char info[LOG_SIZE] = "", errors[LOG_SIZE] = "";
  const int options[] = {CUDA_JIT_INFO_LOG, CUDA_JIT_INFO_LOG_SIZE, CUDA_JIT_ERROR_LOG, CUDA_JIT_ERROR_LOG_SIZE};
  const void *size = (void *)(uintptr_t)(LOG_SIZE - 1); /* sizes travel in the pointer itself */
  void *values[] = {info, (void *)(uintptr_t)size, errors, (void *)(uintptr_t)size};
  int rc = c->api.cuModuleLoadDataEx(raw, code, sizeof options / sizeof *options, options, values);
  mlaf_status st = mlaf_cuda_check(&c->api, rc, "cuModuleLoadDataEx", err);
  if (rc == CUDA_NO_BINARY_FOR_GPU || rc == CUDA_INVALID_IMAGE)
    mlaf_fail_prefix(err, st, "the cubin is damaged or not for %s", c->base.info.full_target);
  const char *said = errors[0] ? errors : info;
  one_line(errors);
  one_line(info);
  if (st && *said) {
    char first[1024];
    snprintf(first, sizeof first, "%.1000s", err ? err->text : "");
    mlaf_fail(err, st, "%s; the driver says: %s", first, said);
  }
  return st;
}

static void free_module(mlaf_module *m) {
  for (mlaf_function *f = m->functions, *next; f; f = next) {
    next = f->next;
    free(f);
  }
  free(m->code);
  free(m);
}

mlaf_status mlaf_cuda_module_load(mlaf_device *dev, const void *code, size_t size, mlaf_module **out, mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  bool pushed;
  mlaf_module *m = calloc(1, sizeof *m);
  if (!m) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a module");
  mlaf_status st = read_image(code, size, m, err);
  if (!st) st = mlaf_cuda_enter(c, &pushed, err);
  if (!st) {
    st = load(c, code, &m->raw, err);
    mlaf_cuda_leave(c, pushed);
  }
  if (st) free_module(m);
  else
    *out = m;
  return st;
}

void mlaf_cuda_module_unload(mlaf_device *dev, mlaf_module *module) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  bool pushed;
  if (!module) return;
  if (!mlaf_cuda_enter(c, &pushed, NULL)) {
    c->api.cuModuleUnload(module->raw);
    mlaf_cuda_leave(c, pushed);
  }
  free_module(module);
}

/* Kernels here take one struct; what is launched is copied from one pointer, so its size must be known to fit. */
static mlaf_status read_parameter(mlaf_cuda *c, mlaf_function *f, mlaf_err *err) {
  size_t offset, size = 0;
  if (!c->api.cuFuncGetParamInfo) return MLAF_OK;
  mlaf_status st = mlaf_cuda_check(&c->api, c->api.cuFuncGetParamInfo(f->raw, 0, &offset, &size), "cuFuncGetParamInfo", err);
  if (!st) f->args_size = size;
  return st;
}

/* More than 48 KiB must be asked for once per kernel. Asking also makes a driver that loads lazily load the kernel now,
 * not at its first launch, which may be inside a capture. */
static mlaf_status prepare(mlaf_cuda *c, const mlaf_function *f, const mlaf_kernel_launch *want, mlaf_err *err) {
  int fixed = 0, limit = c->base.info.lds_bytes;
  int rc = c->api.cuFuncGetAttribute(&fixed, CUDA_FUNC_STATIC_SHARED, f->raw);
  if (rc) return mlaf_cuda_check(&c->api, rc, "cuFuncGetAttribute", err);
  if (f->dynamic_shared > (uint32_t)(limit - fixed))
    return mlaf_fail(err, MLAF_E_ARG, "wants %u bytes of dynamic and %d of static shared memory, %s has %d",
                     f->dynamic_shared, fixed, c->base.info.full_target, limit);
  /* More than 8 blocks in a cluster is more than every GPU of the architecture promises: it must be asked for. */
  if (want->cluster[0] * want->cluster[1] * want->cluster[2] > 8) {
    rc = c->api.cuFuncSetAttribute(f->raw, CUDA_FUNC_WIDE_CLUSTER, 1);
    if (rc) return mlaf_cuda_check(&c->api, rc, "cuFuncSetAttribute(NON_PORTABLE_CLUSTER_SIZE_ALLOWED)", err);
  }
  if (want->flags & MLAF_KERNEL_WANTS_L1) {
    rc = c->api.cuFuncSetAttribute(f->raw, CUDA_FUNC_SHARED_PERCENT, L1_SHARED_PERCENT);
    if (rc) return mlaf_cuda_check(&c->api, rc, "cuFuncSetAttribute(PREFERRED_SHARED_MEMORY_CARVEOUT)", err);
  }
  if (!f->dynamic_shared) return MLAF_OK;
  rc = c->api.cuFuncSetAttribute(f->raw, CUDA_FUNC_MAX_DYNAMIC_SHARED, (int)f->dynamic_shared);
  return mlaf_cuda_check(&c->api, rc, "cuFuncSetAttribute", err);
}

mlaf_status mlaf_cuda_function_get(mlaf_device *dev, mlaf_module *module, const char *symbol, mlaf_function **out,
                                   mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  bool pushed;
  mlaf_kernel_launch want;
  mlaf_status st = mlaf_code_launch(module->code, module->size, symbol, &want, err);
  if (st) return st;
  mlaf_function *f = calloc(1, sizeof *f);
  if (!f) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a kernel");
  f->dynamic_shared = want.dynamic_shared;
  st = mlaf_cuda_enter(c, &pushed, err);
  if (!st) {
    st = mlaf_cuda_check(&c->api, c->api.cuModuleGetFunction(&f->raw, module->raw, symbol), "cuModuleGetFunction", err);
    if (!st) st = read_parameter(c, f, err);
    if (!st) st = prepare(c, f, &want, err);
    mlaf_cuda_leave(c, pushed);
  }
  if (st) {
    free(f);
    return mlaf_fail_prefix(err, st, "%.200s", symbol);
  }
  f->next = module->functions;
  module->functions = f;
  *out = f;
  return MLAF_OK;
}
