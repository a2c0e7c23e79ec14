/* Products by hipBLASLt. */
#include "compile/vendor.h"
#include "hip/hip_device.h"

/* The lock is held. */
static mlaf_status open_library(mlaf_hip *h, const char *path, mlaf_err *err) {
  int previous;
  mlaf_status st = mlaf_hip_enter(h, &previous, err);
  if (st) return st;
  st = mlaf_matmul_library_keep(&mlaf_hipblaslt, path, &h->library, err);
  mlaf_hip_leave(h, previous);
  return st;
}

mlaf_status mlaf_hip_library_open(mlaf_device *dev, mlaf_err *err) {
  mlaf_hip *h = mlaf_hip_of(dev);
  mlaf_vendor_library found;
  mlaf_status st = mlaf_vendor_find(MLAF_HIPBLASLT, &found, err);
  if (st) return st;
  pthread_mutex_lock(&h->lock);
  st = open_library(h, found.path, err);
  pthread_mutex_unlock(&h->lock);
  return st;
}

void mlaf_hip_library_close(mlaf_hip *h) {
  int previous;
  if (!h->library || mlaf_hip_enter(h, &previous, NULL)) return;
  mlaf_matmul_library_close(h->library);
  mlaf_hip_leave(h, previous);
}

mlaf_status mlaf_hip_product_load(mlaf_hip *h, const void *code, size_t size, mlaf_matmul **out, mlaf_err *err) {
  mlaf_vendor_library found;
  mlaf_matmul_want want;
  int previous;
  mlaf_status st = mlaf_vendor_of_code(code, size, MLAF_HIPBLASLT, &found, err);
  if (!st) st = mlaf_matmul_read(code, size, &want, err);
  if (!st) st = open_library(h, found.path, err);
  if (!st) st = mlaf_hip_enter(h, &previous, err);
  if (st) return st;
  st = mlaf_matmul_open((mlaf_device *)h, h->library, &want, out, err);
  mlaf_hip_leave(h, previous);
  return st;
}

size_t mlaf_hip_library_workspace(const mlaf_function *fn) { return mlaf_matmul_workspace((const mlaf_matmul *)fn); }

mlaf_status mlaf_hip_product_launch(mlaf_hip *h, void *stream, const mlaf_launch *l, mlaf_err *err) {
  int previous;
  mlaf_status st = mlaf_hip_enter(h, &previous, err);
  if (st) return st;
  st = mlaf_matmul_launch((mlaf_matmul *)(uintptr_t)l->fn, stream, l->args, err);
  mlaf_hip_leave(h, previous);
  return st;
}
