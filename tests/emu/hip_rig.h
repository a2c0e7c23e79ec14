/* HIP source, compiled by hiprtc, on an emulated device of its own: for kernels that nobody wrote for the emulator. */
#pragma once

#include "cmocka_all.h"
#include "compile/compile.h"
#include "emu/emu_launch.h"
#include "need.h"

typedef struct hip_rig {
  const mlaf_device_ops *ops;
  mlaf_compiler *compiler;
  mlaf_device *dev;
  mlaf_module *module;
  mlaf_err err;
} hip_rig;

static inline void hip_rig_open(hip_rig *r, const mlaf_device_ops *ops, const char *target, const char *level,
                                const char *source) {
  const char *const options[] = {level, NULL};
  mlaf_compile_job job = {.source = source, .options = options, .target = target, .name = "hip_rig"};
  memset(r, 0, sizeof *r);
  r->ops = ops;
  need_compiler(target);
  if (mlaf_compiler_open(NULL, NULL, &r->compiler, &r->err) || ops->open(0, NULL, &r->dev, &r->err)) fail_msg("%s", r->err.text);
  if (mlaf_compile(r->compiler, &job, 1, NULL, NULL, &r->err) || job.status) fail_msg("%s\n%s", r->err.text,
                                                                                      job.log ? job.log : "");
  if (ops->module_load(r->dev, job.code, job.code_size, &r->module, &r->err)) fail_msg("%s", r->err.text);
  mlaf_compile_job_clear(&job);
}

static inline void hip_rig_close(hip_rig *r) {
  if (r->module) r->ops->module_unload(r->dev, r->module);
  if (r->dev) r->ops->close(r->dev);
  if (r->compiler) mlaf_compiler_close(r->compiler);
}

/* Zeroed; the host may look at it. Freed with the device. */
static inline void *hip_rig_buffer(hip_rig *r, size_t bytes) {
  void *p;
  if (r->ops->mem_alloc(r->dev, bytes, &p, &r->err) || r->ops->mem_fill(r->dev, p, 0, bytes, &r->err)) fail_msg("%s",
                                                                                                                r->err.text);
  return p;
}

static inline mlaf_function *hip_rig_kernel(hip_rig *r, const char *name) {
  mlaf_function *fn;
  if (r->ops->function_get(r->dev, r->module, name, &fn, &r->err)) fail_msg("%s", r->err.text);
  return fn;
}

/* Runs a kernel; r->err says what went wrong. */
static inline mlaf_status hip_rig_try(hip_rig *r, const char *name, uint32_t grid, uint32_t block, const void *args, size_t size,
                                      const emu_launch_opts *opts) {
  mlaf_launch l = {.fn = hip_rig_kernel(r, name), .grid = {grid, 1, 1}, .block = {block, 1, 1}, .args = args, .args_size = size};
  r->err = (mlaf_err){MLAF_OK, ""};
  return emu_launch_run((emu_device *)r->dev, &l, opts, NULL, NULL, &r->err);
}

static inline void hip_rig_run(hip_rig *r, const char *name, uint32_t grid, uint32_t block, const void *args, size_t size,
                               int threads) {
  const emu_launch_opts opts = {.threads = threads};
  if (hip_rig_try(r, name, grid, block, args, size, &opts)) fail_msg("%s on %d threads: %s", name, threads, r->err.text);
}
