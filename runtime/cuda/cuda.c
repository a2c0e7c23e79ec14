/* The CUDA driver behind the device vtable. */
#include <stdatomic.h>

#include "base/env.h"
#include "cuda/cuda_device.h"
#include "device/kernel_launch.h"

/* The device whose context this thread is in, as cuda_visit found or made it. */
static _Thread_local mlaf_cuda *visited;

mlaf_status mlaf_cuda_enter(mlaf_cuda *c, bool *pushed, mlaf_err *err) {
  void *current = NULL;
  *pushed = false;
  if (visited == c) return MLAF_OK;
  int code = c->api.cuCtxGetCurrent(&current);
  if (code) return mlaf_cuda_check(&c->api, code, "cuCtxGetCurrent", err);
  if (current == c->context) return MLAF_OK;
  code = c->api.cuCtxPushCurrent_v2(c->context);
  *pushed = code == CUDA_OK;
  return mlaf_cuda_check(&c->api, code, "cuCtxPushCurrent", err);
}

void mlaf_cuda_leave(mlaf_cuda *c, bool pushed) {
  void *ours;
  if (pushed) c->api.cuCtxPopCurrent_v2(&ours);
}

static mlaf_status cuda_visit(mlaf_device *dev, mlaf_visit *visit, mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  visit->before = visited;
  const mlaf_status st = mlaf_cuda_enter(c, &visit->pushed, err);
  if (!st) visited = c;
  return st;
}

static void cuda_leave(mlaf_device *dev, const mlaf_visit *visit) {
  visited = visit->before;
  mlaf_cuda_leave(mlaf_cuda_of(dev), visit->pushed);
}

/* Run one CUDA call in our context. `call` is an expression that may use c. */
#define IN_CONTEXT(c, err, name, call)                \
  bool pushed_;                                       \
  mlaf_status st_ = mlaf_cuda_enter(c, &pushed_, err); \
  if (st_) return st_;                                \
  st_ = mlaf_cuda_check(&(c)->api, call, name, err);  \
  mlaf_cuda_leave(c, pushed_);                        \
  return st_

static cuda_ptr address(const void *p) { return (cuda_ptr)(uintptr_t)p; }

/* --- open and close --- */

static mlaf_status count_devices(mlaf_cuda *c, int *count, mlaf_err *err) {
  mlaf_err why = {MLAF_OK, ""};
  mlaf_status st = mlaf_cuda_check(&c->api, c->api.cuInit(0), "cuInit", &why);
  if (!st) st = mlaf_cuda_check(&c->api, c->api.cuDeviceGetCount(count), "cuDeviceGetCount", &why);
  if (!st && *count > 0) return MLAF_OK;
  if (!st) mlaf_fail(&why, MLAF_E_NO_DEVICE, "cuDeviceGetCount: 0 devices");
  /* The usual reasons, in the order they are met. */
  return mlaf_fail(err, MLAF_E_NO_DEVICE,
                   "%s: %.3500s; is there an NVIDIA GPU, are /dev/nvidiactl and /dev/nvidia0 there (in a container: "
                   "--gpus all), is CUDA_VISIBLE_DEVICES hiding it, is the kernel module loaded and of this version?",
                   c->api.library, why.text);
}

static mlaf_status open_ordinal(mlaf_cuda *c, int ordinal, mlaf_err *err) {
  int count = 0;
  mlaf_status st = mlaf_cuda_load(&c->api, err);
  if (!st) st = count_devices(c, &count, err);
  if (!st && ordinal >= count)
    st = mlaf_fail(err, MLAF_E_NO_DEVICE, "cuda:%d asked for, %s has %d device%s", ordinal, c->api.library, count,
                   count == 1 ? "" : "s");
  if (!st) st = mlaf_cuda_check(&c->api, c->api.cuDeviceGet(&c->device, ordinal), "cuDeviceGet", err);
  if (!st) st = mlaf_cuda_identify(c, "/sys", err);
  if (!st)
    st = mlaf_cuda_check(&c->api, c->api.cuDevicePrimaryCtxRetain(&c->context, c->device), "cuDevicePrimaryCtxRetain",
                         err);
  return st;
}

/* Programs that show a launch as what it is want it to be one. */
static bool wants_graphs(const mlaf_cuda *c, const char *says) {
  return c->api.cuGraphKernelNodeGetParams_v2 && c->api.cuGraphExecKernelNodeSetParams_v2 && *says == '1';
}

static _Atomic uint64_t opened;

static mlaf_status cuda_open(int ordinal, const mlaf_log *log, mlaf_device **out, mlaf_err *err) {
  mlaf_cuda *c = calloc(1, sizeof *c);
  if (!c) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a device");
  c->base.ops = &mlaf_cuda_ops;
  c->serial = atomic_fetch_add(&opened, 1) + 1;
  pthread_mutex_init(&c->lock, NULL);
  const char *graphs;
  mlaf_status st = mlaf_env_word("MLAF_LAUNCH_GRAPHS", "0 1", "1", &graphs, err);
  if (!st) st = open_ordinal(c, ordinal, err);
  if (st) {
    pthread_mutex_destroy(&c->lock);
    free(c);
    return st;
  }
  c->graphs = wants_graphs(c, graphs);
  mlaf_log_line(log, MLAF_LOG_DEBUG, "cuda: %s, %s, %s", c->api.library, c->base.info.id, c->base.info.driver);
  *out = (mlaf_device *)c;
  return MLAF_OK;
}

static void cuda_close(mlaf_device *dev) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  bool pushed;
  if (c->library && !mlaf_cuda_enter(c, &pushed, NULL)) {
    mlaf_matmul_library_close(c->library);
    mlaf_cuda_leave(c, pushed);
  }
  c->api.cuDevicePrimaryCtxRelease_v2(c->device); /* the context goes when the application's last user lets go, too */
  pthread_mutex_destroy(&c->lock);
  free(c);
}

/* --- memory --- */

static mlaf_status cuda_mem_alloc(mlaf_device *dev, size_t bytes, void **ptr, mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  bool pushed;
  cuda_ptr p = 0;
  mlaf_status st = mlaf_cuda_enter(c, &pushed, err);
  if (st) return st;
  st = mlaf_cuda_check(&c->api, c->api.cuMemAlloc_v2(&p, bytes ? bytes : 1), "cuMemAlloc", err); /* 0 is an error there */
  mlaf_cuda_leave(c, pushed);
  if (st) return mlaf_fail_prefix(err, st, "%zu bytes", bytes);
  *ptr = (void *)(uintptr_t)p;
  return MLAF_OK;
}

static mlaf_status cuda_mem_free(mlaf_device *dev, void *ptr, mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  if (!ptr) return MLAF_OK;
  IN_CONTEXT(c, err, "cuMemFree", c->api.cuMemFree_v2(address(ptr)));
}

/* Copies to the device and fills may return before the last byte has landed (a copy from pageable memory is staged),
 * and streams that do not block with the default one would overtake them: wait. */
static mlaf_status landed(mlaf_cuda *c, int code, const char *call, mlaf_err *err) {
  mlaf_status st = mlaf_cuda_check(&c->api, code, call, err);
  return st ? st : mlaf_cuda_check(&c->api, c->api.cuStreamSynchronize(NULL), "cuStreamSynchronize", err);
}

static mlaf_status cuda_mem_write(mlaf_device *dev, void *dst, const void *src, size_t bytes, mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  bool pushed;
  mlaf_status st = mlaf_cuda_enter(c, &pushed, err);
  if (st) return st;
  st = landed(c, c->api.cuMemcpyHtoD_v2(address(dst), src, bytes), "cuMemcpyHtoD", err);
  mlaf_cuda_leave(c, pushed);
  return st;
}

static mlaf_status cuda_mem_read(mlaf_device *dev, void *dst, const void *src, size_t bytes, mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  IN_CONTEXT(c, err, "cuMemcpyDtoH", c->api.cuMemcpyDtoH_v2(dst, address(src), bytes));
}

static mlaf_status cuda_mem_fill(mlaf_device *dev, void *dst, int byte, size_t bytes, mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  bool pushed;
  mlaf_status st = mlaf_cuda_enter(c, &pushed, err);
  if (st) return st;
  st = landed(c, c->api.cuMemsetD8_v2(address(dst), (unsigned char)byte, bytes), "cuMemsetD8", err);
  mlaf_cuda_leave(c, pushed);
  return st;
}

/* --- launches and streams --- */

enum { GRID_YZ_MAX = 65535 };

/* Clusters and overlap need the newer call. */
static int launch_extended(mlaf_cuda *c, void *stream, const mlaf_launch *l, bool clustered, void **params) {
  cuda_launch_attribute attributes[2] = {{.id = 0}};
  cuda_launch_config config = {.shared = l->fn->dynamic_shared + l->lds, .stream = stream, .attributes = attributes};
  memcpy(config.grid, l->grid, sizeof config.grid);
  memcpy(config.block, l->block, sizeof config.block);
  if (clustered) {
    attributes[config.n_attributes].id = CUDA_LAUNCH_CLUSTER;
    memcpy(attributes[config.n_attributes++].value.cluster, l->cluster, sizeof l->cluster);
  }
  if (l->flags & MLAF_LAUNCH_OVERLAPS && c->can_overlap)
    attributes[config.n_attributes++] = (cuda_launch_attribute){.id = CUDA_LAUNCH_OVERLAP, .value.overlap = 1};
  return c->api.cuLaunchKernelEx(&config, l->fn->raw, params, NULL);
}

static mlaf_status launch_product(mlaf_cuda *c, void *stream, const mlaf_launch *l, mlaf_err *err) {
  bool pushed;
  mlaf_status st = mlaf_cuda_enter(c, &pushed, err);
  if (st) return st;
  st = mlaf_matmul_launch(l->fn->product, stream, l->args, err);
  mlaf_cuda_leave(c, pushed);
  return st;
}

mlaf_status mlaf_cuda_launch(mlaf_device *dev, void *stream, const mlaf_launch *l, mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  if (l->flags & MLAF_LAUNCH_LIBRARY) return launch_product(c, stream, l, err);
  const bool clustered = l->cluster[0] > 1 || l->cluster[1] > 1 || l->cluster[2] > 1;
  /* As the kernel's one parameter, not as a raw block: the driver knows where a struct with 64-byte alignment begins. */
  void *params[] = {(void *)(uintptr_t)l->args};
  if (l->grid[1] > GRID_YZ_MAX || l->grid[2] > GRID_YZ_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "a grid of %ux%ux%u blocks: CUDA takes %d in y and z; fewer requests in one call",
                     l->grid[0], l->grid[1], l->grid[2], GRID_YZ_MAX);
  if (l->fn->args_size && l->fn->args_size != l->args_size)
    return mlaf_fail(err, MLAF_E_ARG, "the kernel takes %zu bytes of arguments, %zu are passed", l->fn->args_size, l->args_size);
  if (clustered && !c->api.cuLaunchKernelEx)
    return mlaf_fail(err, MLAF_E_DEVICE, "%s has no cuLaunchKernelEx: clusters need a driver of 12.0 or later", c->api.library);
  if (c->api.cuLaunchKernelEx && (clustered || l->flags & MLAF_LAUNCH_OVERLAPS)) {
    IN_CONTEXT(c, err, "cuLaunchKernelEx", launch_extended(c, stream, l, clustered, params));
  }
  IN_CONTEXT(c, err, "cuLaunchKernel",
             c->api.cuLaunchKernel(l->fn->raw, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
                                   l->fn->dynamic_shared + l->lds, stream, params, NULL));
}

static mlaf_status encode(mlaf_cuda *c, const mlaf_tensor *t, void *map, mlaf_err *err) {
  const uint64_t dims[] = {t->cols, t->rows, t->slices}, strides[] = {t->row_stride, t->slice_stride};
  const uint32_t box[] = {t->box_cols, t->box_rows, t->box_slices}, ones[] = {1, 1, 1}, rank = t->slices ? 3 : 2;
  const int swizzle = t->swizzle == 128 ? 3 : t->swizzle == 64 ? 2 : t->swizzle == 32 ? 1 : 0;
  bool pushed;
  if (!c->api.cuTensorMapEncodeTiled)
    return mlaf_fail(err, MLAF_E_DEVICE, "%s has no cuTensorMapEncodeTiled: tensor maps need a driver of 12.0 or later",
                     c->api.library);
  /* L2 promotion to 256 bytes cost 4 % of decode's bandwidth (one NVIDIA H200): plain. */
  mlaf_status st = mlaf_cuda_enter(c, &pushed, err); /* a map is encoded for the current context's device */
  if (st) return st;
  int rc = c->api.cuTensorMapEncodeTiled(map, CUDA_TENSOR_UINT16, rank, (void *)(uintptr_t)t->data, dims, strides, box, ones,
                                         CUDA_TENSOR_NO_INTERLEAVE, swizzle, CUDA_TENSOR_L2_PLAIN, CUDA_TENSOR_OOB_ZEROS);
  mlaf_cuda_leave(c, pushed);
  if (!rc) return MLAF_OK;
  st = mlaf_cuda_check(&c->api, rc, "cuTensorMapEncodeTiled", err);
  return mlaf_fail_prefix(err, st, "%llu rows of %llu columns at %p, %llu bytes apart, box %ux%u, swizzle %u",
                          (unsigned long long)t->rows, (unsigned long long)t->cols, t->data,
                          (unsigned long long)t->row_stride, t->box_rows, t->box_cols, t->swizzle);
}

/* A map says nothing but what the tensor says, whatever lies there, and a layer's tensors come again with every token: each
 * thread keeps what it encoded. */
typedef struct kept_map {
  uint64_t device; /* its serial; 0: none */
  mlaf_tensor tensor;
  unsigned char map[MLAF_MAP_BYTES];
} kept_map;
enum { KEPT_MAPS = 256 };
static _Thread_local kept_map kept_maps[KEPT_MAPS];

static bool same_tensor(const mlaf_tensor *a, const mlaf_tensor *b) {
  return a->data == b->data && a->cols == b->cols && a->rows == b->rows && a->row_stride == b->row_stride &&
         a->box_cols == b->box_cols && a->box_rows == b->box_rows && a->swizzle == b->swizzle &&
         a->slices == b->slices && a->slice_stride == b->slice_stride && a->box_slices == b->box_slices;
}

/* Two rounds: tensors of one call often lie a multiple of a page apart, which one would leave in one place. */
static kept_map *place_of(const mlaf_tensor *t) {
  uint64_t h = (uintptr_t)t->data ^ t->rows << 20 ^ (uint64_t)t->box_rows << 44 ^ t->cols << 52;
  for (int i = 0; i < 2; i++) h = (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
  return &kept_maps[h >> 56];
}
_Static_assert(KEPT_MAPS == 256, "a place is 8 bits of a hash");

mlaf_status mlaf_cuda_tensor_map(mlaf_device *dev, const mlaf_tensor *t, void *map, mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  kept_map *k = place_of(t);
  if (k->device != c->serial || !same_tensor(&k->tensor, t)) {
    k->device = 0;
    mlaf_status st = encode(c, t, map, err);
    if (st) return st;
    *k = (kept_map){.device = c->serial, .tensor = *t};
    memcpy(k->map, map, sizeof k->map);
    return MLAF_OK;
  }
  memcpy(map, k->map, sizeof k->map);
  return MLAF_OK;
}

static mlaf_status cuda_sync(mlaf_device *dev, void *stream, mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  IN_CONTEXT(c, err, "cuStreamSynchronize", c->api.cuStreamSynchronize(stream));
}

static mlaf_status cuda_stream_create(mlaf_device *dev, void **stream, mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  IN_CONTEXT(c, err, "cuStreamCreate", c->api.cuStreamCreate(stream, CUDA_STREAM_NON_BLOCKING));
}

static void cuda_stream_destroy(mlaf_device *dev, void *stream) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  bool pushed;
  if (!stream || mlaf_cuda_enter(c, &pushed, NULL)) return;
  c->api.cuStreamDestroy_v2(stream);
  mlaf_cuda_leave(c, pushed);
}

/* Asked of the default stream while another one captures, the driver says so by an error: it is no time to allocate either. */
static mlaf_status cuda_is_capturing(mlaf_device *dev, void *stream, bool *out, mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  int status = 0;
  bool pushed;
  mlaf_status st = mlaf_cuda_enter(c, &pushed, err);
  if (st) return st;
  const int code = c->api.cuStreamIsCapturing(stream, &status);
  mlaf_cuda_leave(c, pushed);
  *out = code == CUDA_CAPTURE_IMPLICIT || status != 0;
  return code == CUDA_CAPTURE_IMPLICIT ? MLAF_OK : mlaf_cuda_check(&c->api, code, "cuStreamIsCapturing", err);
}

/* The driver knows what it allocated, pinned or manages, whatever the device; the rest is plain host memory. */
static mlaf_status cuda_can_reach(mlaf_device *dev, const void *ptr, bool *out, mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  int type = 0;
  bool pushed;
  *out = true;
  if (c->reaches_host) return MLAF_OK;
  mlaf_status st = mlaf_cuda_enter(c, &pushed, err);
  if (st) return st;
  const int code = c->api.cuPointerGetAttribute(&type, CUDA_POINTER_MEMORY_TYPE, address(ptr));
  mlaf_cuda_leave(c, pushed);
  *out = code != CUDA_INVALID_VALUE;
  return *out ? mlaf_cuda_check(&c->api, code, "cuPointerGetAttribute", err) : MLAF_OK;
}

const mlaf_device_ops mlaf_cuda_ops = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .mem_alloc = cuda_mem_alloc,
    .mem_free = cuda_mem_free,
    .mem_write = cuda_mem_write,
    .mem_read = cuda_mem_read,
    .mem_fill = cuda_mem_fill,
    .module_load = mlaf_cuda_module_load,
    .module_unload = mlaf_cuda_module_unload,
    .function_get = mlaf_cuda_function_get,
    .launch = mlaf_cuda_launch,
    .sync = cuda_sync,
    .stream_create = cuda_stream_create,
    .stream_destroy = cuda_stream_destroy,
    .time = mlaf_cuda_time,
    .features = MLAF_DEVICE_CLUSTERS | MLAF_DEVICE_LIBRARIES | MLAF_DEVICE_SLOW_LOADS,
    .tensor_map_encode = mlaf_cuda_tensor_map,
    .time_matmul = mlaf_cuda_time_matmul,
    .is_capturing = cuda_is_capturing,
    .can_reach = cuda_can_reach,
    .enter = cuda_visit,
    .leave = cuda_leave,
    .chain_open = mlaf_cuda_chain_open,
    .chain_close = mlaf_cuda_chain_close,
    .chain_launch = mlaf_cuda_chain_launch,
    .library_workspace = mlaf_cuda_library_workspace,
    .library_open = mlaf_cuda_library_open,
};
