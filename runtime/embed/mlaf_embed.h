/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* Kernels inside a program: a loader that needs nothing but the HIP or CUDA driver library, found by dlopen. Part of mlaforge,
 * for copying into other projects; the kernels it loads are in the NAME.c that `mlaforge embed` wrote beside. What an operation
 * takes, and its launches, are in a mlaf_embed_OPERATION.h of its own. C11 and C++. The longer explanation is mlaforge's
 * docs/embedding.md. */
#ifndef MLAF_EMBED_H
#define MLAF_EMBED_H

#include <stddef.h>
#include <stdint.h>

#include "mlaf_embed_device_kernel_launch.h"

/* A member of an initialiser: C names it, C++ before 20 takes members by their order. */
#ifdef __cplusplus
#define MLAF_EMBED_SET(name, value) value
extern "C" {
#else
#define MLAF_EMBED_SET(name, value) .name = value
#endif

#define MLAF_EMBED_VERSION 8
enum { MLAF_EMBED_FIELDS = 16, MLAF_EMBED_STAGES = 4 };

/* --- what NAME.c holds; nobody else needs to look --- */
typedef struct mlaf_embed_kernel {
  const unsigned char *code;
  const char *symbol;
  uint32_t threads, rows_per_wg, step, slots;
  mlaf_embed_kernel_launch launch;
} mlaf_embed_kernel;
typedef struct mlaf_embed_index_op {
  const char *name; /* "mla_decode" */
  int32_t n_fields;
} mlaf_embed_index_op;
typedef struct mlaf_embed_row { /* a problem, and what serves it */
  int32_t op;                         /* of the index */
  int32_t values[MLAF_EMBED_FIELDS];  /* of the operation's fields */
  int32_t baseline, knob;             /* knob: what the operation may turn at launch; 1: nothing */
  int32_t kernels[MLAF_EMBED_STAGES]; /* by stage: counted from 1 among the target's; 0: none */
} mlaf_embed_row;
typedef struct mlaf_embed_target {
  const char *name; /* "gfx942", "sm_90a" */
  const mlaf_embed_kernel *kernels;
  const mlaf_embed_row *rows;
  int32_t n_kernels, n_rows;
} mlaf_embed_target;
typedef struct mlaf_embed_index {
  int32_t version, n_targets;
  const char *bundle; /* SHA-256 of the manifest this was made from */
  const mlaf_embed_target *targets;
  const mlaf_embed_index_op *ops;
  int32_t n_ops;
} mlaf_embed_index;

/* --- what a program uses --- */
typedef enum mlaf_embed_status {
  MLAF_EMBED_OK = 0,
  MLAF_EMBED_ARG,       /* an argument is out of range; nothing was launched */
  MLAF_EMBED_NO_DEVICE, /* no driver library, no such device, or none of the targets embedded here */
  MLAF_EMBED_NO_KERNEL, /* the problem is outside the embedded grid */
  MLAF_EMBED_DRIVER,    /* a driver call failed */
  MLAF_EMBED_NOMEM
} mlaf_embed_status;

typedef struct mlaf_embed mlaf_embed;           /* a device; one thread at a time may plan on it */
typedef struct mlaf_embed_plan mlaf_embed_plan; /* immutable; any thread may execute it; lives as long as its mlaf_embed */

/* `device`: the driver's ordinal. `why` (may be NULL) receives the reason of a failure. */
mlaf_embed_status mlaf_embed_open(const mlaf_embed_index *index, int device, mlaf_embed **out, char *why, size_t why_size);
/* Unloads the kernels; none of their launches may be in flight. NULL is allowed. */
void mlaf_embed_close(mlaf_embed *e);
const char *mlaf_embed_target_name(const mlaf_embed *e);
/* Plans are made and executed by the functions of their operation. What a plan's knob stands at (of mla_decode the splits). */
int32_t mlaf_embed_plan_knob(const mlaf_embed_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
