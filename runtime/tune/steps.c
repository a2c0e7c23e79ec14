/* The real steps, and the question whether a device survived. */
#include "tune/tune.h"

/* After a GPU fault every later call fails too, which must not be held against the candidates that follow. */
static mlaf_status device_alive(mlaf_device *dev, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(dev);
  static const char out[16] = "still there?";
  char in[16] = "";
  void *memory = NULL;
  mlaf_status st = ops->mem_alloc(dev, sizeof out, &memory, err);
  if (!st) st = ops->mem_write(dev, memory, out, sizeof out, err);
  if (!st) st = ops->mem_read(dev, in, memory, sizeof in, err);
  if (!st) st = ops->sync(dev, NULL, err);
  if (memory) ops->mem_free(dev, memory, NULL);
  if (!st && memcmp(in, out, sizeof in) != 0)
    st = mlaf_fail(err, MLAF_E_DEVICE, "device memory does not keep what is written");
  return st;
}

const mlaf_tuner_steps mlaf_tuner_real_steps = {
    .space = mlaf_gen_space,
    .render = mlaf_gen_render,
    .options = mlaf_gen_options,
    .identity = mlaf_compiler_identity_for,
    .key = mlaf_compile_key,
    .compile = mlaf_compile,
    .meta = mlaf_code_meta,
    .open = mlaf_loaded_open,
    .close = mlaf_loaded_close,
    .suite = mlaf_suite_create,
    .suite_free = mlaf_suite_free,
    .verify = mlaf_suite_run,
    .bench = mlaf_bench_create,
    .bench_free = mlaf_bench_free,
    .time = mlaf_bench_time,
    .alive = device_alive,
    .libraries = mlaf_gen_libraries,
};
