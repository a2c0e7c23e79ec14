/* One pass through everything the hip back end does, on the fake runtime, with a real code object. */
#pragma once

#include "check/bench.h"
#include "run/built.h"
#include "hip/hip_device.h"
#include "point.h"

static mlaf_status hip_life(const built *b, mlaf_err *err) {
  mlaf_device *dev = NULL;
  mlaf_loaded *l = NULL;
  mlaf_bench *bench = NULL;
  void *stream = NULL, *mem = NULL;
  mlaf_timing timing;
  const mlaf_time_opts once = {.warmup = 1, .min_samples = 1, .max_samples = 1, .min_window_ns = 1, .limit_s = 0.01};
  mlaf_status st = mlaf_device_open("hip", NULL, &dev, err);
  if (st) return st;
  const mlaf_device_ops *ops = mlaf_ops(dev);
  st = ops->mem_alloc(dev, 64, &mem, err);
  if (!st) st = ops->mem_fill(dev, mem, 1, 64, err);
  if (!st) st = ops->mem_read(dev, (char[64]){0}, mem, 64, err);
  bool reached = false, capturing = true, host = true;
  if (!st) st = ops->can_reach(dev, mem, &reached, err);
  if (!st) st = ops->can_reach(dev, &host, &host, err);
  if (!st) st = ops->is_capturing(dev, stream, &capturing, err);
  if (!st && (!reached || host || capturing))
    st = mlaf_fail(err, MLAF_E_INTERNAL, "reached %d, host %d, capturing %d", reached, host, capturing);
  if (mem) {
    mlaf_status freed = ops->mem_free(dev, mem, st ? NULL : err);
    if (!st) st = freed;
  }
  if (!st) st = ops->stream_create(dev, &stream, err);
  if (!st) st = ops->sync(dev, stream, err);
  ops->stream_destroy(dev, stream);
  if (!st) st = mlaf_build_load(&b->build, dev, pt(&b->problem), &l, err);
  if (!st) st = mlaf_bench_create(dev, pt(&b->problem), NULL, &bench, err);
  if (!st) st = mlaf_bench_time(bench, l, &once, &timing, err);
  mlaf_bench_free(bench);
  mlaf_loaded_close(l);
  mlaf_device_close(dev);
  return st;
}
