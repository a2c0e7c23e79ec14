/* The inside of a bench, shared by bench.c, bench_check.c and the soak. */
#pragma once

#include "check/bench.h"

struct mlaf_bench {
  mlaf_device *dev;
  mlaf_point problem;
  const mlaf_calls *calls;
  mlaf_data *data;
  mlaf_pool *pool, *own_pool;
  void *workspace;
  size_t workspace_size;
};

/* Arguments of any operation. */
typedef struct mlaf_any_args {
  _Alignas(16) unsigned char bytes[MLAF_ARGS_MAX];
} mlaf_any_args;

static inline void mlaf_args_set(mlaf_any_args *args, size_t at, const void *value, size_t size) {
  memcpy(args->bytes + at, value, size);
}

/* Fills the arguments of a launch over one of the bench's sets, with a workspace; the outputs are the data's own. */
static inline void mlaf_bench_args(const mlaf_bench *b, int set, void *workspace, size_t workspace_size, mlaf_any_args *args) {
  b->calls->data_args(b->data, set, args->bytes);
  if (b->calls->workspace_at == b->calls->workspace_size_at) return;
  mlaf_args_set(args, b->calls->workspace_at, &workspace, sizeof workspace);
  mlaf_args_set(args, b->calls->workspace_size_at, &workspace_size, sizeof workspace_size);
}

/* Bytes of workspace that a variant wants over the bench's data. */
static inline size_t mlaf_bench_workspace(const mlaf_bench *b, const mlaf_loaded *l, uint32_t knob) {
  return b->calls->workspace ? mlaf_loaded_workspace_size(l, knob, b->data->rows) : 0;
}
