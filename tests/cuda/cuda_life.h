/* One pass through everything the cuda back end does, on the fake driver; and the cubin it loads. */
#pragma once

#include "cuda/cubin.h"
#include "cuda/cuda_device.h"
#include "cuda/fakecuda.h"
#include "fake/fake_test.h"

static inline void use_fake(void) { fake_use("MLAF_CUDA_LIBRARY", "fakecuda/libfakecuda.so", "FAKECUDA"); }

static inline fake_launch fake_last(void) {
  fake_launch (*get)(void);
  fake_symbol("fakecuda_last", &get);
  return get();
}

static const fake_fill nothing; /* fills no word */

static void make_cubin(cubin *c, unsigned machine) {
  make_cubin_of(c, machine, "big", "huge");
  c->data[0].dynamic_shared = FAKE_SHARED, c->data[1].dynamic_shared = 300000;
}

/* Both kernels as a chain, which runs as a graph. */
static mlaf_status use_chain(mlaf_device *dev, void *stream, const mlaf_launch l[2], mlaf_err *err) {
  mlaf_chain *chain = NULL;
  mlaf_status st = mlaf_ops(dev)->chain_open(dev, l, 2, &chain, err);
  if (!st) st = mlaf_ops(dev)->chain_launch(dev, stream, chain, l, 2, err);
  if (chain) mlaf_ops(dev)->chain_close(dev, chain);
  return st;
}

/* Memory, a kernel with a struct by value, and its timing: one pass through everything the back end does. */
static mlaf_status use_kernel(mlaf_device *dev, uint32_t *mem, void *stream, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(dev);
  cubin code;
  uint32_t back[16] = {0};
  mlaf_module *m = NULL;
  mlaf_function *fill = NULL, *big = NULL;
  mlaf_timing timing;
  const mlaf_time_opts once = {.warmup = 1, .min_samples = 1, .max_samples = 1, .min_window_ns = 1e4, .limit_s = 1};
  make_cubin(&code, 190);
  mlaf_status st = ops->module_load(dev, &code, sizeof code, &m, err);
  if (!st) st = ops->function_get(dev, m, "fill", &fill, err);
  if (!st) st = ops->function_get(dev, m, "big", &big, err);
  const fake_fill args = {mem + 3, 77, 5};
  const mlaf_launch l[2] = {{.fn = fill, .grid = {2, 3, 4}, .block = {32, 1, 1}, .args = &args, .args_size = sizeof args},
                            {.fn = big, .grid = {1, 1, 1}, .block = {64, 1, 1}, .args = &args, .args_size = 8}};
  if (!st) st = ops->launch(dev, stream, &l[0], err);
  if (!st) st = ops->sync(dev, stream, err);
  if (!st) st = ops->mem_read(dev, back, mem, sizeof back, err);
  for (int i = 0; !st && i < 16; i++)
    if (back[i] != (i >= 3 && i < 8 ? 77 : 0x01010101)) st = mlaf_fail(err, MLAF_E_INTERNAL, "word %d is %u", i, back[i]);
  mlaf_launch wide = l[1];
  wide.flags = MLAF_LAUNCH_OVERLAPS;
  _Alignas(64) unsigned char map[MLAF_MAP_BYTES];
  const mlaf_tensor tensor = {.data = mem, .cols = 16, .rows = 2, .row_stride = 32, .box_cols = 16, .box_rows = 2, .swizzle = 32};
  if (!st) st = ops->launch(dev, stream, &wide, err);
  if (!st) st = ops->tensor_map_encode(dev, &tensor, map, err);
  if (!st) st = ops->time(dev, l, 2, &once, &timing, err);
  if (!st) st = use_chain(dev, stream, l, err);
  if (m) ops->module_unload(dev, m);
  return st;
}

static inline mlaf_status cuda_life(mlaf_err *err) {
  mlaf_device *dev = NULL;
  void *stream = NULL, *mem = NULL;
  uint32_t first[2] = {5, 6}, back[2] = {0, 0};
  mlaf_status st = mlaf_device_open("cuda", NULL, &dev, err);
  if (st) return st;
  const mlaf_device_ops *ops = mlaf_ops(dev);
  st = ops->mem_alloc(dev, 64, &mem, err);
  if (!st) st = ops->mem_write(dev, mem, first, sizeof first, err);
  if (!st) st = ops->mem_read(dev, back, mem, sizeof back, err);
  if (!st && memcmp(first, back, sizeof first)) /* landed before write returned: the fake is lazy */
    st = mlaf_fail(err, MLAF_E_INTERNAL, "what was written is not there");
  if (!st) st = ops->mem_fill(dev, mem, 1, 64, err);
  if (!st) st = ops->stream_create(dev, &stream, err);
  bool reached = false, capturing = true, host = true;
  if (!st) st = ops->can_reach(dev, (char *)mem + 8, &reached, err);
  if (!st) st = ops->can_reach(dev, &host, &host, err);
  if (!st) st = ops->is_capturing(dev, stream, &capturing, err);
  if (!st && (!reached || host || capturing))
    st = mlaf_fail(err, MLAF_E_INTERNAL, "reached %d, host %d, capturing %d", reached, host, capturing);
  if (!st) st = use_kernel(dev, mem, stream, err);
  ops->stream_destroy(dev, stream);
  if (mem) {
    mlaf_status freed = ops->mem_free(dev, mem, st ? NULL : err);
    if (!st) st = freed;
  }
  mlaf_device_close(dev);
  return st;
}
