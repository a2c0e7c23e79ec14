/* Kernels that are no part of a variant: what measurements and long runs need (templates/ itself). Compiled as every other
 * kernel is, cached as every other. */
#pragma once

#include "compile/compile.h"
#include "device/device.h"
#include "gen/gen.h"

typedef struct mlaf_tool_env {
  mlaf_device *device;
  mlaf_gen *gen;
  mlaf_compiler *compiler;
  const char *target;
} mlaf_tool_env;

typedef struct mlaf_tool {
  mlaf_device *device;
  mlaf_module *module; /* NULL: not loaded */
  mlaf_function *fn;
} mlaf_tool;

/* Render, compile and load a template whose kernel is called "mlaf_<template>". Close also what failed to open. */
mlaf_status mlaf_tool_open(const mlaf_tool_env *env, const char *template_name, const char *params, mlaf_tool *out,
                           mlaf_err *err);
void mlaf_tool_close(mlaf_tool *tool);

/* templates/read_ceiling: reads n words of 16 bytes `passes` times with `blocks` blocks of MLAF_READ_THREADS. */
enum { MLAF_READ_THREADS = 512 };
#define MLAF_READ_PARAMS "depth=8"
#define MLAF_READ_NEVER  0x5bd1e995u /* a sum that is hardly ever met */
typedef struct mlaf_read_args {
  const void *words;
  uint64_t n;
  void *out; /* 4 bytes */
  uint32_t never, blocks, passes;
} mlaf_read_args;
