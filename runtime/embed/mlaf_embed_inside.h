/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* Between mlaf_embed.c and the operations' files: what a plan holds, how the nearest is found, how kernels are launched. Nothing
 * here is for programs. */
#ifndef MLAF_EMBED_INSIDE_H
#define MLAF_EMBED_INSIDE_H

#include "mlaf_embed.h"

/* What a kernel says of its launch, as mlaforge's runtime/device/kernel_launch.h. per_cu: blocks that a compute unit holds at
 * once; 0: one. */
enum { EMBED_OVERLAPS = 1, EMBED_TURNS = 2, EMBED_MEETS = 4, EMBED_FITS = 8, EMBED_SCALES = 16, EMBED_WANTS_L1 = 64,
       EMBED_APPENDS = 128 };

/* What an operation says of choosing, as mlaforge's runtime/op/calls.h; NULL: nothing. */
typedef struct mlaf_embed_rules {
  const char *op;
  int (*any_lengths)(const mlaf_embed_kernel *first); /* as good for requests of any lengths */
  int (*stands_back)(const int32_t *asked, const int32_t *tuned);
  int32_t (*fit_knob)(const int32_t *asked, const mlaf_embed_kernel *first, int32_t knob);
  int knob_wants_second; /* above 1 there must be a second kernel */
} mlaf_embed_rules;

struct mlaf_embed_plan {
  mlaf_embed *owner;
  mlaf_embed_plan *next;
  const mlaf_embed_rules *rules;
  const mlaf_embed_row *row; /* the nearest: of the asked problem's shape */
  int32_t knob;
  const mlaf_embed_kernel *kernels[MLAF_EMBED_STAGES]; /* by stage; NULL: none */
  void *functions[MLAF_EMBED_STAGES];
};

/* The plan for a problem whose fields have these values, in the record's order. */
mlaf_embed_status mlaf_embed_plan_for(mlaf_embed *e, const mlaf_embed_rules *rules, const int32_t *values,
                                      const mlaf_embed_plan **out, char *why, size_t size);

/* Write the reason, return the status. */
mlaf_embed_status mlaf_embed_fail(char *why, size_t size, mlaf_embed_status status, const char *fmt, ...);

/* A kernel that is no plan's, by its symbol: loaded once by the thread that plans; then any thread may ask for it. `what`: behind
 * "no kernel embedded ". */
mlaf_embed_status mlaf_embed_extra_load(mlaf_embed *e, const char *symbol, const char *what, char *why, size_t size);
const mlaf_embed_kernel *mlaf_embed_extra(const mlaf_embed *e, const char *symbol, void **function); /* NULL: not loaded */

/* What every execute asks first: that nothing is NULL, and that x is a plan of the operation with these rules. */
mlaf_embed_status mlaf_embed_expect(const mlaf_embed_plan *x, const void *args, const mlaf_embed_rules *rules, char *why,
                                    size_t size);
/* And what it begins and ends its launches with: enter and leave, below, in words. `code`: of the driver, between them. */
mlaf_embed_status mlaf_embed_begin(const mlaf_embed *e, int *previous, char *why, size_t size);
mlaf_embed_status mlaf_embed_end(const mlaf_embed *e, int previous, int code, char *why, size_t size);

/* Make our device current on this thread and remember what was; leave puts it back. Driver errors are numbers other than 0. */
int mlaf_embed_enter(const mlaf_embed *e, int *previous);
void mlaf_embed_leave(const mlaf_embed *e, int previous);
uint32_t mlaf_embed_units(const mlaf_embed *e); /* multiprocessors */
uint32_t mlaf_embed_wave(const mlaf_embed *e);  /* threads of a warp or wave */
/* With the device current. `args`: the parameter block; grid y is in clusters, x and z in blocks, rounded up to whole ones. */
int mlaf_embed_launch(const mlaf_embed *e, const mlaf_embed_kernel *k, void *function, const uint32_t grid[3], void *args,
                      size_t size, void *stream);
/* A tensor map of 128 bytes over rows of 16-bit numbers, `stride` bytes apart; zeros where there are none. */
int mlaf_embed_encode(const mlaf_embed *e, const mlaf_embed_map *want, const void *data, uint64_t cols, uint64_t rows,
                      uint64_t stride, void *map);

#endif
