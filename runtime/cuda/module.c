/* Cubins and the kernels in them. */
#include "compile/compile.h"
#include "compile/elf.h"
#include "compile/vendor.h"
#include "cuda/cuda_device.h"

/* Percent of an SM's memory that is shared memory, where L1 is to have the rest. With 25 or 50 a layer took 3.5 us less than with
 * nothing said. */
enum { L1_SHARED_PERCENT = 25 };
enum { LOG_SIZE = 2048, MACHINE_CUDA = 190 /* EM_CUDA */ };

/* A code object of another kind of GPU is a mistake worth naming before the driver calls it "invalid". */
static mlaf_status check_image(const void *code, size_t size, mlaf_err *err) {
  mlaf_elf elf;
  mlaf_status st = mlaf_elf_open(code, size, &elf, err);
  if (!st && elf.machine != MACHINE_CUDA)
    st = mlaf_fail(err, MLAF_E_ARG, "ELF machine %u, CUDA's is %d", elf.machine, MACHINE_CUDA);
  return st ? mlaf_fail_prefix(err, st, "not a cubin") : MLAF_OK;
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

/* --- a library's product --- */

/* The lock is held. */
static mlaf_status open_library(mlaf_cuda *c, const char *path, mlaf_err *err) {
  bool pushed;
  mlaf_status st = mlaf_cuda_enter(c, &pushed, err);
  if (st) return st;
  st = mlaf_matmul_library_keep(&mlaf_cublaslt, path, &c->library, err);
  mlaf_cuda_leave(c, pushed);
  return st;
}

mlaf_status mlaf_cuda_library_open(mlaf_device *dev, mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  mlaf_vendor_library found;
  mlaf_status st = mlaf_vendor_find(MLAF_CUBLASLT, &found, err);
  if (st) return st;
  pthread_mutex_lock(&c->lock);
  st = open_library(c, found.path, err);
  pthread_mutex_unlock(&c->lock);
  return st;
}

static mlaf_status load_product(mlaf_cuda *c, const void *code, size_t size, mlaf_module *m, mlaf_err *err) {
  mlaf_vendor_library found;
  mlaf_matmul_want want;
  bool pushed;
  mlaf_status st = mlaf_vendor_of_code(code, size, MLAF_CUBLASLT, &found, err);
  if (!st) st = mlaf_matmul_read(code, size, &want, err);
  if (!st) st = open_library(c, found.path, err);
  if (!st) st = mlaf_cuda_enter(c, &pushed, err);
  if (st) return st;
  st = mlaf_matmul_open((mlaf_device *)c, c->library, &want, &m->product, err);
  mlaf_cuda_leave(c, pushed);
  return st;
}

size_t mlaf_cuda_library_workspace(const mlaf_function *fn) { return mlaf_matmul_workspace(fn->product); }

/* The driver takes 0.3 ms to load a kernel of this size and gives it memory each time, a library is asked for its ways and runs
 * them: a process has one of each. The lock is held. */
static mlaf_module *find_loaded(const mlaf_cuda *c, const void *code, size_t size) {
  mlaf_module *m = c->modules;
  while (m && (m->size != size || memcmp(m->code, code, size) != 0)) m = m->next;
  return m;
}

static mlaf_status load_cubin(mlaf_cuda *c, const void *code, size_t size, mlaf_module *m, mlaf_err *err) {
  bool pushed;
  mlaf_status st = check_image(code, size, err);
  if (!st) st = mlaf_cuda_enter(c, &pushed, err);
  if (st) return st;
  st = load(c, code, &m->raw, err);
  mlaf_cuda_leave(c, pushed);
  return st;
}

static mlaf_status load_new(mlaf_cuda *c, const void *code, size_t size, mlaf_module **out, mlaf_err *err) {
  mlaf_module *m = calloc(1, sizeof *m);
  if (m) m->code = malloc(size);
  if (!m || !m->code) {
    free(m);
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a module");
  }
  memcpy(m->code, code, size);
  m->size = size;
  const bool library = mlaf_vendor_is_code(code, size);
  const mlaf_status st = library ? load_product(c, code, size, m, err) : load_cubin(c, code, size, m, err);
  if (st) {
    free_module(m);
    return st;
  }
  m->next = c->modules;
  *out = c->modules = m;
  return MLAF_OK;
}

mlaf_status mlaf_cuda_module_load(mlaf_device *dev, const void *code, size_t size, mlaf_module **out, mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  mlaf_status st = MLAF_OK;
  pthread_mutex_lock(&c->lock);
  mlaf_module *m = find_loaded(c, code, size);
  if (!m) st = load_new(c, code, size, &m, err);
  if (!st) {
    m->users++;
    *out = m;
  }
  pthread_mutex_unlock(&c->lock);
  return st;
}

void mlaf_cuda_module_unload(mlaf_device *dev, mlaf_module *module) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  bool pushed;
  if (!module) return;
  pthread_mutex_lock(&c->lock);
  const bool last = !--module->users;
  mlaf_module **at = &c->modules;
  while (last && *at != module) at = &(*at)->next;
  if (last) *at = module->next;
  pthread_mutex_unlock(&c->lock);
  if (!last) return;
  if (!mlaf_cuda_enter(c, &pushed, NULL)) {
    if (module->product) mlaf_matmul_close(module->product);
    else c->api.cuModuleUnload(module->raw);
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

/* The lock is held. */
static mlaf_status get_new(mlaf_cuda *c, mlaf_module *module, const char *symbol, mlaf_function **out, mlaf_err *err) {
  bool pushed;
  mlaf_kernel_launch want = {.magic = 0};
  mlaf_status st = module->product ? MLAF_OK : mlaf_code_launch(module->code, module->size, symbol, &want, err);
  if (st) return st;
  const size_t length = strlen(symbol) + 1;
  mlaf_function *f = calloc(1, sizeof *f + length);
  if (!f) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a kernel");
  memcpy(f->symbol, symbol, length);
  f->dynamic_shared = want.dynamic_shared;
  f->product = module->product;
  if (!f->product) st = mlaf_cuda_enter(c, &pushed, err);
  if (!st && !f->product) {
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
  *out = module->functions = f;
  return MLAF_OK;
}

mlaf_status mlaf_cuda_function_get(mlaf_device *dev, mlaf_module *module, const char *symbol, mlaf_function **out,
                                   mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  mlaf_status st = MLAF_OK;
  pthread_mutex_lock(&c->lock);
  mlaf_function *f = module->functions;
  while (f && strcmp(f->symbol, symbol) != 0) f = f->next;
  if (!f) st = get_new(c, module, symbol, &f, err);
  if (!st) *out = f;
  pthread_mutex_unlock(&c->lock);
  return st;
}
