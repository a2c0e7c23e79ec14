/* A context on an emulator with its compiler, its last message, and memory there; for tests of launches by index lists. */
#pragma once

#include "mlaforge/mlaforge.h"
#include "run/built.h"
#include "said.h"

static inline void *put(mlaf_ctx *ctx, const void *x, size_t bytes) {
  void *p = NULL;
  assert_int_equal(mlaf_mem_alloc(ctx, bytes ? bytes : 16, &p), MLAF_OK);
  if (x && bytes) assert_int_equal(mlaf_mem_write(ctx, p, x, bytes), MLAF_OK);
  return p;
}

static inline mlaf_ctx *open_on(const char *device) {
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  char why[500] = "";
  mlaf_ctx *ctx = NULL;
  built_cache();
  need_compiler(strchr(device, ':') + 1);
  o.device = device;
  o.flags = MLAF_CTX_NO_DB;
  if (mlaf_ctx_create(&o, &ctx, why, sizeof why)) fail_msg("%s: %s", device, why);
  return ctx;
}
