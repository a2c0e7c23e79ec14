/* The real HIP runtime behind the device vtable. */
#include "hip/hip_device.h"

/* The raw handle: mlaf_function points to HIP's own object, with nothing to add and nothing to free. */
static void *raw(const void *handle) { return (void *)(uintptr_t)handle; }

mlaf_status mlaf_hip_enter(mlaf_hip *h, int *previous, mlaf_err *err) {
  *previous = h->ordinal;
  int code = h->api.hipGetDevice(previous);
  if (!code && *previous != h->ordinal) code = h->api.hipSetDevice(h->ordinal);
  return mlaf_hip_check(&h->api, code, "hipSetDevice", err);
}

void mlaf_hip_leave(mlaf_hip *h, int previous) {
  if (previous != h->ordinal) h->api.hipSetDevice(previous);
}

/* Run one HIP call on our device. `call` is an expression that may use h. */
#define ON_DEVICE(h, err, name, call)                   \
  int previous_;                                        \
  mlaf_status st_ = mlaf_hip_enter(h, &previous_, err); \
  if (st_) return st_;                                  \
  st_ = mlaf_hip_check(&(h)->api, call, name, err);     \
  mlaf_hip_leave(h, previous_);                         \
  return st_

/* --- open and close --- */

static mlaf_status count_devices(mlaf_hip *h, int *count, mlaf_err *err) {
  mlaf_err why = {MLAF_OK, ""};
  mlaf_status st = mlaf_hip_check(&h->api, h->api.hipInit(0), "hipInit", &why);
  if (!st) st = mlaf_hip_check(&h->api, h->api.hipGetDeviceCount(count), "hipGetDeviceCount", &why);
  if (!st && *count > 0) return MLAF_OK;
  if (!st) mlaf_fail(&why, MLAF_E_NO_DEVICE, "hipGetDeviceCount: 0 devices");
  /* The usual reasons, in the order they are met. */
  return mlaf_fail(err, MLAF_E_NO_DEVICE,
                   "%s: %.3500s; is there an AMD GPU, is /dev/kfd readable (group render), is ROCR_VISIBLE_DEVICES or "
                   "HIP_VISIBLE_DEVICES hiding it?",
                   h->api.library, why.text);
}

static mlaf_status hip_open(int ordinal, const mlaf_log *log, mlaf_device **out, mlaf_err *err) {
  int count = 0;
  mlaf_hip *h = calloc(1, sizeof *h);
  if (!h) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a device");
  h->base.ops = &mlaf_hip_ops;
  h->ordinal = ordinal;
  mlaf_status st = mlaf_hip_load(&h->api, err);
  if (!st) st = count_devices(h, &count, err);
  if (!st && ordinal >= count)
    st = mlaf_fail(err, MLAF_E_NO_DEVICE, "hip:%d asked for, %s has %d device%s", ordinal, h->api.library, count,
                   count == 1 ? "" : "s");
  if (!st) st = mlaf_hip_identify(h, "/sys", err);
  if (st) {
    free(h);
    return st;
  }
  pthread_mutex_init(&h->lock, NULL);
  mlaf_log_line(log, MLAF_LOG_DEBUG, "hip: %s, %s, %s", h->api.library, h->base.info.id, h->base.info.driver);
  *out = (mlaf_device *)h;
  return MLAF_OK;
}

static void hip_close(mlaf_device *dev) {
  mlaf_hip *h = mlaf_hip_of(dev);
  mlaf_hip_library_close(h);
  pthread_mutex_destroy(&h->lock);
  free(h);
}

/* --- memory --- */

static mlaf_status hip_mem_alloc(mlaf_device *dev, size_t bytes, void **ptr, mlaf_err *err) {
  mlaf_hip *h = mlaf_hip_of(dev);
  int previous;
  void *p = NULL;
  mlaf_status st = mlaf_hip_enter(h, &previous, err);
  if (st) return st;
  /* hipMalloc(0) yields NULL, which callers here take for "none". */
  st = mlaf_hip_check(&h->api, h->api.hipMalloc(&p, bytes ? bytes : 1), "hipMalloc", err);
  mlaf_hip_leave(h, previous);
  if (st) return mlaf_fail_prefix(err, st, "%zu bytes", bytes);
  *ptr = p;
  return MLAF_OK;
}

static mlaf_status hip_mem_free(mlaf_device *dev, void *ptr, mlaf_err *err) {
  mlaf_hip *h = mlaf_hip_of(dev);
  ON_DEVICE(h, err, "hipFree", h->api.hipFree(ptr));
}

static mlaf_status hip_mem_write(mlaf_device *dev, void *dst, const void *src, size_t bytes, mlaf_err *err) {
  mlaf_hip *h = mlaf_hip_of(dev);
  ON_DEVICE(h, err, "hipMemcpy to the device", h->api.hipMemcpy(dst, src, bytes, HIP_HOST_TO_DEVICE));
}

static mlaf_status hip_mem_read(mlaf_device *dev, void *dst, const void *src, size_t bytes, mlaf_err *err) {
  mlaf_hip *h = mlaf_hip_of(dev);
  ON_DEVICE(h, err, "hipMemcpy from the device", h->api.hipMemcpy(dst, src, bytes, HIP_DEVICE_TO_HOST));
}

/* hipMemset may return before it is done, and streams that do not block with the default one would overtake it. */
static mlaf_status hip_mem_fill(mlaf_device *dev, void *dst, int byte, size_t bytes, mlaf_err *err) {
  mlaf_hip *h = mlaf_hip_of(dev);
  int previous;
  mlaf_status st = mlaf_hip_enter(h, &previous, err);
  if (st) return st;
  st = mlaf_hip_check(&h->api, h->api.hipMemset(dst, byte, bytes), "hipMemset", err);
  if (!st) st = mlaf_hip_check(&h->api, h->api.hipDeviceSynchronize(), "hipDeviceSynchronize", err);
  mlaf_hip_leave(h, previous);
  return st;
}

/* --- launches and streams --- */

mlaf_status mlaf_hip_launch(mlaf_device *dev, void *stream, const mlaf_launch *l, mlaf_err *err) {
  mlaf_hip *h = mlaf_hip_of(dev);
  size_t size = l->args_size;
  if (l->flags & MLAF_LAUNCH_LIBRARY) return mlaf_hip_product_launch(h, stream, l, err);
  void *extra[] = {HIP_PARAM_POINTER, raw(l->args), HIP_PARAM_SIZE, &size, HIP_PARAM_END};
  ON_DEVICE(h, err, "hipModuleLaunchKernel",
            h->api.hipModuleLaunchKernel(raw(l->fn), l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                                         l->block[2], l->lds, stream, NULL, extra));
}

static mlaf_status hip_sync(mlaf_device *dev, void *stream, mlaf_err *err) {
  mlaf_hip *h = mlaf_hip_of(dev);
  ON_DEVICE(h, err, "hipStreamSynchronize", h->api.hipStreamSynchronize(stream));
}

static mlaf_status hip_stream_create(mlaf_device *dev, void **stream, mlaf_err *err) {
  mlaf_hip *h = mlaf_hip_of(dev);
  ON_DEVICE(h, err, "hipStreamCreateWithFlags", h->api.hipStreamCreateWithFlags(stream, HIP_STREAM_NON_BLOCKING));
}

static void hip_stream_destroy(mlaf_device *dev, void *stream) {
  mlaf_hip *h = mlaf_hip_of(dev);
  int previous;
  if (!stream || mlaf_hip_enter(h, &previous, NULL)) return;
  h->api.hipStreamDestroy(stream);
  mlaf_hip_leave(h, previous);
}

/* Asked of the default stream while another one captures, the runtime says so by an error. */
static mlaf_status hip_is_capturing(mlaf_device *dev, void *stream, bool *out, mlaf_err *err) {
  mlaf_hip *h = mlaf_hip_of(dev);
  int previous, status = 0;
  mlaf_status st = mlaf_hip_enter(h, &previous, err);
  if (st) return st;
  const int code = h->api.hipStreamIsCapturing(stream, &status);
  mlaf_hip_leave(h, previous);
  *out = code == HIP_CAPTURE_IMPLICIT || status != 0;
  return code == HIP_CAPTURE_IMPLICIT ? MLAF_OK : mlaf_hip_check(&h->api, code, "hipStreamIsCapturing", err);
}

/* Plain host memory: an error, or, since ROCm 6, no address that kernels could use. */
static mlaf_status hip_can_reach(mlaf_device *dev, const void *ptr, bool *out, mlaf_err *err) {
  mlaf_hip *h = mlaf_hip_of(dev);
  mlaf_hip_pointer is = {.for_kernels = NULL};
  int previous;
  mlaf_status st = mlaf_hip_enter(h, &previous, err);
  if (st) return st;
  const int code = h->api.hipPointerGetAttributes(&is, ptr);
  mlaf_hip_leave(h, previous);
  *out = code != HIP_INVALID_VALUE && (code || is.for_kernels);
  return *out ? mlaf_hip_check(&h->api, code, "hipPointerGetAttributes", err) : MLAF_OK;
}

const mlaf_device_ops mlaf_hip_ops = {
    .name = "hip",
    .open = hip_open,
    .close = hip_close,
    .mem_alloc = hip_mem_alloc,
    .mem_free = hip_mem_free,
    .mem_write = hip_mem_write,
    .mem_read = hip_mem_read,
    .mem_fill = hip_mem_fill,
    .module_load = mlaf_hip_module_load,
    .module_unload = mlaf_hip_module_unload,
    .function_get = mlaf_hip_function_get,
    .launch = mlaf_hip_launch,
    .sync = hip_sync,
    .stream_create = hip_stream_create,
    .stream_destroy = hip_stream_destroy,
    .time = mlaf_hip_time,
    .is_capturing = hip_is_capturing,
    .can_reach = hip_can_reach,
    .features = MLAF_DEVICE_LIBRARIES,
    .library_workspace = mlaf_hip_library_workspace,
    .library_open = mlaf_hip_library_open,
};
