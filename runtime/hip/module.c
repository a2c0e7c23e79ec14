/* Code objects and libraries' products: loaded once, however many plans want them. */
#include "compile/vendor.h"
#include "hip/hip_device.h"

static mlaf_hip_module *module_of(mlaf_module *module) { return (mlaf_hip_module *)module; }

static mlaf_status load_image(mlaf_hip *h, const void *code, size_t size, void **out, mlaf_err *err) {
  int previous;
  if (size < 64 || memcmp(code, "\177ELF", 4))
    return mlaf_fail(err, MLAF_E_ARG, "hipModuleLoadData: not a code object");
  mlaf_status st = mlaf_hip_enter(h, &previous, err);
  if (st) return st;
  int rc = h->api.hipModuleLoadData(out, code);
  mlaf_hip_leave(h, previous);
  st = mlaf_hip_check(&h->api, rc, "hipModuleLoadData", err);
  if (rc == HIP_NO_BINARY_FOR_GPU) mlaf_fail_prefix(err, st, "the code object is not for %s", h->base.info.full_target);
  return st;
}

static void free_module(mlaf_hip_module *m) {
  free(m->code);
  free(m);
}

/* Loading takes time and memory each time, and a library is asked for its ways and runs them: a process has one of each. The
 * lock is held. */
static mlaf_hip_module *find_loaded(const mlaf_hip *h, const void *code, size_t size) {
  mlaf_hip_module *m = h->modules;
  while (m && (m->size != size || memcmp(m->code, code, size) != 0)) m = m->next;
  return m;
}

static mlaf_status load_new(mlaf_hip *h, const void *code, size_t size, mlaf_hip_module **out, mlaf_err *err) {
  mlaf_hip_module *m = calloc(1, sizeof *m);
  if (m) m->code = malloc(size + 1);
  if (!m || !m->code) {
    free(m);
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a module");
  }
  memcpy(m->code, code, size);
  m->size = size;
  const mlaf_status st = mlaf_vendor_is_code(code, size) ? mlaf_hip_product_load(h, code, size, &m->product, err)
                                                         : load_image(h, code, size, &m->raw, err);
  if (st) {
    free_module(m);
    return st;
  }
  m->next = h->modules;
  *out = h->modules = m;
  return MLAF_OK;
}

mlaf_status mlaf_hip_module_load(mlaf_device *dev, const void *code, size_t size, mlaf_module **out, mlaf_err *err) {
  mlaf_hip *h = mlaf_hip_of(dev);
  mlaf_status st = MLAF_OK;
  pthread_mutex_lock(&h->lock);
  mlaf_hip_module *m = find_loaded(h, code, size);
  if (!m) st = load_new(h, code, size, &m, err);
  if (!st) {
    m->users++;
    *out = (mlaf_module *)m;
  }
  pthread_mutex_unlock(&h->lock);
  return st;
}

void mlaf_hip_module_unload(mlaf_device *dev, mlaf_module *module) {
  mlaf_hip *h = mlaf_hip_of(dev);
  mlaf_hip_module *m = module_of(module);
  int previous;
  if (!m) return;
  pthread_mutex_lock(&h->lock);
  const bool last = !--m->users;
  mlaf_hip_module **at = &h->modules;
  while (last && *at != m) at = &(*at)->next;
  if (last) *at = m->next;
  pthread_mutex_unlock(&h->lock);
  if (!last) return;
  if (!mlaf_hip_enter(h, &previous, NULL)) {
    if (m->product) mlaf_matmul_close(m->product);
    else h->api.hipModuleUnload(m->raw);
    mlaf_hip_leave(h, previous);
  }
  free_module(m);
}

/* A kernel is HIP's own object, the same one however often it is asked for. */
mlaf_status mlaf_hip_function_get(mlaf_device *dev, mlaf_module *module, const char *symbol, mlaf_function **out, mlaf_err *err) {
  mlaf_hip *h = mlaf_hip_of(dev);
  const mlaf_hip_module *m = module_of(module);
  int previous;
  void *function = NULL;
  if (m->product) {
    *out = (mlaf_function *)m->product;
    return MLAF_OK;
  }
  mlaf_status st = mlaf_hip_enter(h, &previous, err);
  if (st) return st;
  st = mlaf_hip_check(&h->api, h->api.hipModuleGetFunction(&function, m->raw, symbol), "hipModuleGetFunction", err);
  mlaf_hip_leave(h, previous);
  if (st) return mlaf_fail_prefix(err, st, "%s", symbol);
  *out = function;
  return MLAF_OK;
}
