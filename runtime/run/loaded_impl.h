/* Inside a loaded variant: for loaded.c (open), args.c (checks) and prepare.c (launches). */
#ifndef MLAF_LOADED_IMPL_H
#define MLAF_LOADED_IMPL_H

#include "run/loaded.h"

typedef struct mlaf_loaded_kernel {
  mlaf_module *module;
  mlaf_function *fn;
  uint32_t threads, rows_per_wg;
  mlaf_kernel_launch launch;
} mlaf_loaded_kernel;

struct mlaf_loaded {
  mlaf_device *dev;
  mlaf_problem problem;
  mlaf_loaded_kernel decode, combine; /* combine.fn NULL: none */
  uint32_t splits;
  char name[256];
};

enum { MLAF_WORKSPACE_ALIGN = 256 };
/* The first version of mlaf_execute_args ended before the tables' second form. */
#define MLAF_EXECUTE_ARGS_FIRST offsetof(mlaf_execute_args, block_table)

/* Row strides in elements, the default where the caller left them 0. */
int64_t mlaf_ckv_stride(const mlaf_problem *p, const mlaf_execute_args *a);
int64_t mlaf_kpe_stride(const mlaf_problem *p, const mlaf_execute_args *a);

/* Whether the launch may cut its batch by itself. */
static inline bool mlaf_loaded_fits(const mlaf_loaded *l) { return l->decode.launch.flags & MLAF_KERNEL_FITS; }

/* Offsets of the parts of a workspace, and its whole size; all 0 where none is needed. False when they do not fit size_t. */
typedef struct mlaf_workspace {
  size_t part_o, part_lse, size;
} mlaf_workspace;
bool mlaf_loaded_workspace(const mlaf_loaded *l, uint32_t splits, int64_t total_q, mlaf_workspace *out);

#endif
