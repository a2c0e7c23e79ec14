/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* The library's own files, which stand beside this one, include it in place of base/base.h, device/device.h and op/calls.h: it
 * has as much of those as checking and filling a launch takes. Below that stands what the loader and the operations' files have
 * between them. Nothing here is for programs. */
#ifndef MLAF_EMBED_INSIDE_H
#define MLAF_EMBED_INSIDE_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlaf_embed.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter" /* functions of one table have the same parameters */
#define MLAF_EMBED_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))
#else
#define MLAF_EMBED_PRINTF(format_at, args_at)
#endif

/* --- base/base.h and mlaforge/status.h --- */
#define MLAF_EMBED_E_ARG MLAF_EMBED_ARG
#define MLAF_EMBED_E_PROBLEM MLAF_EMBED_ARG
#define MLAF_EMBED_E_TEMPLATE MLAF_EMBED_NO_KERNEL
enum { MLAF_EMBED_HASH_HEX = 65, MLAF_EMBED_ERR_MAX = 1024 };
typedef struct mlaf_embed_err {
  mlaf_embed_status status;
  char text[MLAF_EMBED_ERR_MAX];
} mlaf_embed_err;
/* Record status and reason; returns the status. err NULL: nobody asks. */
mlaf_embed_status mlaf_embed_fail(mlaf_embed_err *err, mlaf_embed_status status, const char *fmt, ...) MLAF_EMBED_PRINTF(3, 4);

/* --- device/device.h --- */
typedef struct mlaf_embed_device mlaf_embed_device;
typedef struct mlaf_embed_module mlaf_embed_module;
typedef struct mlaf_embed_function mlaf_embed_function; /* a loaded kernel */
typedef struct mlaf_embed_device_info { int32_t compute_units, wave_size; } mlaf_embed_device_info;
typedef struct mlaf_embed_launch {
  const mlaf_embed_function *fn;
  uint32_t grid[3], block[3];
  const void *args;
  size_t args_size;
  uint32_t cluster[3], flags, lds;
} mlaf_embed_launch;
enum { MLAF_EMBED_LAUNCH_OVERLAPS = 1, MLAF_EMBED_LAUNCH_LIBRARY = 2 };
typedef struct mlaf_embed_tensor {
  const void *data;
  uint64_t cols, rows, row_stride; /* bytes */
  uint32_t box_cols, box_rows, swizzle, box_slices;
  uint64_t slices, slice_stride; /* 0: two dimensions */
} mlaf_embed_tensor;
typedef struct mlaf_embed_device_ops {
  mlaf_embed_status (*tensor_map_encode)(mlaf_embed_device *dev, const mlaf_embed_tensor *tensor, void *map, mlaf_embed_err *err);
} mlaf_embed_device_ops;
typedef struct mlaf_embed_device_base { /* the head of a device */
  const mlaf_embed_device_ops *ops;
  mlaf_embed_device_info info;
} mlaf_embed_device_base;
static inline const mlaf_embed_device_ops *mlaf_embed_ops(const mlaf_embed_device *dev) {
  return ((const mlaf_embed_device_base *)(const void *)dev)->ops;
}
static inline const mlaf_embed_device_info *mlaf_embed_info(const mlaf_embed_device *dev) {
  return &((const mlaf_embed_device_base *)(const void *)dev)->info;
}

/* --- op/calls.h: of an operation's functions those that check, choose and launch --- */
#include "mlaf_embed_op_bound.h"
#include "mlaf_embed_op_second.h"
#include "mlaf_embed_op_work.h"

enum { MLAF_EMBED_ARGS_MAX = 768 };
typedef struct mlaf_embed_whole_args {
  _Alignas(16) unsigned char bytes[MLAF_EMBED_ARGS_MAX];
} mlaf_embed_whole_args;
typedef struct mlaf_embed_calls {
  size_t args_size;
  uint32_t n_mapped;
  uint32_t (*parameter_bytes)(int stage, const mlaf_embed_kernel_launch *launch);
  const struct mlaf_embed_args_table *arguments; /* NULL: the functions have their own */
  mlaf_embed_status (*check_stages)(const mlaf_embed_bound *b, mlaf_embed_err *err);
  void (*settle)(mlaf_embed_bound *b);
  mlaf_embed_status (*check_args)(const mlaf_embed_bound *b, uint32_t knob, const void *args, mlaf_embed_err *err);
  size_t (*workspace)(const mlaf_embed_bound *b, uint32_t knob, int64_t rows);
  mlaf_embed_status (*prepare)(const mlaf_embed_bound *b, uint32_t knob, const void *args, mlaf_embed_prepared *out,
                               mlaf_embed_err *err);
  const mlaf_embed_second_form *const *second;
  uint32_t (*fit_knob)(const mlaf_embed_point *p, const mlaf_embed_fit_kernel *k, uint32_t knob);
  bool (*stands_back)(const mlaf_embed_point *asked, const mlaf_embed_point *tuned);
  bool (*any_lengths)(uint32_t flags);
  bool (*needs_second)(uint32_t flags);
  double reach; /* of the tuning database */
} mlaf_embed_calls;
/* The further form that arguments are in; NULL: they are in the first. */
static inline const mlaf_embed_second_form *mlaf_embed_second_of(const mlaf_embed_calls *calls, const void *args) {
  for (int i = 0; calls->second && calls->second[i]; i++)
    if (calls->second[i]->wanted(args)) return calls->second[i];
  return NULL;
}
#include "mlaf_embed_op_offer.h"

/* --- between the loader and the operations' files --- */
struct mlaf_embed_function {
  void *module, *function;
  const mlaf_embed_kernel *kernel;
  int failed; /* the driver error with which it was refused; 0: it was not */
};
struct mlaf_embed_plan {
  mlaf_embed *owner;
  mlaf_embed_plan *next;
  const mlaf_embed_row *row; /* the nearest */
  mlaf_embed_bound bound;    /* its kernels; the point is the row's */
};

/* The plan for a problem whose fields have these values, in the record's order. */
mlaf_embed_status mlaf_embed_plan_for(mlaf_embed *e, const mlaf_embed_op *op, const int32_t *values, const mlaf_embed_plan **out,
                                      char *why, size_t why_size);
/* Check, fill and launch. `args` is the operation's struct of arguments. */
mlaf_embed_status mlaf_embed_run(const mlaf_embed_plan *plan, const mlaf_embed_op *op, const void *args, void *stream, char *why,
                                 size_t why_size);

/* Kernels that are no plan's, by their symbols: loaded once by the thread that plans; then any thread may ask for them, into
 * `fns`. NULL: not loaded. */
mlaf_embed_status mlaf_embed_second_load(mlaf_embed *e, const mlaf_embed_second_form *second, char *why, size_t why_size);
const mlaf_embed_function *const *mlaf_embed_second(const mlaf_embed *e, const mlaf_embed_second_form *second,
                                                    const mlaf_embed_function *fns[MLAF_EMBED_SECOND_KERNELS_EACH]);
/* Launch one that was prepared. */
mlaf_embed_status mlaf_embed_launch_one(mlaf_embed *e, const mlaf_embed_launch *launch, void *stream, mlaf_embed_err *err);

/* Status and reason of err for a caller. */
mlaf_embed_status mlaf_embed_say(const mlaf_embed_err *err, mlaf_embed_status status, char *why, size_t why_size);
/* Checks what every call asks first: that nothing is NULL, and that x is a plan of this operation. */
mlaf_embed_status mlaf_embed_expect(const mlaf_embed_plan *x, const void *args, const mlaf_embed_op *op, mlaf_embed_err *err);

#endif
