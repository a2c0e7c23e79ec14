/* Timing a loaded variant on data of its operation (op/data.h). */
#pragma once

#include "op/data.h"
#include "run/loaded.h"

typedef struct mlaf_bench mlaf_bench; /* data of one problem and a workspace, shared by all its variants */

typedef struct mlaf_bench_opts {
  mlaf_data_opts data;
  /* The pool that the data's numbers come from: several benches, one after the other, may share a pool. NULL: an own one. */
  mlaf_pool *pool;
} mlaf_bench_opts;

/* On a real device there may be several sets of inputs, and a timing goes through them in turn. E_ARG when they do not fit the
 * device. opts NULL: defaults, seed 1. One bench belongs to one thread at a time. */
mlaf_status mlaf_bench_create(mlaf_device *dev, const mlaf_point *p, const mlaf_bench_opts *opts, mlaf_bench **out,
                              mlaf_err *err);
void mlaf_bench_free(mlaf_bench *b);

/* Time a variant's launches as one sequence. The variant must be of the same problem. The workspace grows as variants need it,
 * outside the timing. time NULL: mlaf_bench_time_opts. */
mlaf_status mlaf_bench_time(mlaf_bench *b, const mlaf_loaded *l, const mlaf_time_opts *time, mlaf_timing *out,
                            mlaf_err *err);

/* Is what a variant computes on the very buffers that are timed right? Two launches over outputs filled with different bytes
 * have to give the same bits, so that none was left unwritten, and some rows what fp64 says (data_check, the fewest). *error:
 * the worst relative error of these. MLAF_E_INCORRECT names what is wrong. */
mlaf_status mlaf_bench_check(mlaf_bench *b, const mlaf_loaded *l, double *error, mlaf_err *err);

/* The launches that mlaf_bench_time would time first, on the bench's buffers: for who runs them in another way (the profile). */
mlaf_status mlaf_bench_prepare(mlaf_bench *b, const mlaf_loaded *l, uint32_t knob, mlaf_prepared *out, mlaf_err *err);

/* Warm-up, windows and sample counts of the measurement protocol (MLAF_DB_PROTOCOL). */
mlaf_time_opts mlaf_bench_time_opts(void);
/* The options of `bench` and the tuner on a real device: 0.1 s of rest, then about 25 ms of work. A card at its power limit runs
 * 5 to 15 % slower in a long or an unrested measurement (one NVIDIA H200), so times of different protocols cannot be compared. */
mlaf_time_opts mlaf_bench_rested_opts(void);

mlaf_work mlaf_problem_work(const mlaf_point *p); /* as the problem says */
const mlaf_data *mlaf_bench_data(const mlaf_bench *b); /* its work, tokens and sets; the bench keeps it */
