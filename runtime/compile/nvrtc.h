/* NVRTC loaded by dlopen: the compiler of the targets "sm_*". As with rocm.h, used by the worker process and, where
 * asked for, in this one. Not used from two threads at once here. */
#pragma once

#include "base/base.h"

typedef struct mlaf_nvrtc mlaf_nvrtc;

/* Which of the two toolchains a target belongs to. */
typedef enum mlaf_tool { MLAF_TOOL_ROCM, MLAF_TOOL_NVRTC, MLAF_TOOLS } mlaf_tool;
static inline mlaf_tool mlaf_tool_of(const char *target, size_t n) {
  return n > 3 && !memcmp(target, "sm_", 3) ? MLAF_TOOL_NVRTC : MLAF_TOOL_ROCM;
}

/* `lib_dir` is where libnvrtc lies; its headers (cuda_bf16.h and so on) are taken from beside it. */
mlaf_status mlaf_nvrtc_load(const char *lib_dir, mlaf_nvrtc **out, mlaf_err *err);
/* The library stays mapped. */
void mlaf_nvrtc_free(mlaf_nvrtc *n);
/* Compile to a cubin, malloc'ed; *log as mlaf_rocm_compile gives it. `options`: NUL-terminated strings in a row. */
mlaf_status mlaf_nvrtc_compile(mlaf_nvrtc *n, const char *target, const char *options, size_t options_size,
                               const char *source, void **out, size_t *size, char **log, mlaf_err *err);
