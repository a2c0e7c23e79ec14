/* Data to time and soak an operation on: inputs that lie on the device, in one or more sets that launches go through in turn, and
 * what a launch writes. What is in it is the operation's own (data_open and its neighbours in op/calls.h); whoever times (check)
 * sees the head below. */
#pragma once

#include <stdatomic.h>

#include "op/lengths.h"
#include "op/pool.h"
#include "op/work.h"

typedef struct mlaf_data_opts {
  uint64_t seed;
  /* At most this many bytes of inputs that are read from a cache; larger ones then share rows. 0: whole on real devices (where
   * sharing would turn memory traffic into cache hits), 1 GiB on emulators (4 times the largest cache of any target). */
  int64_t cache_limit;
  mlaf_lengths lengths;  /* of the requests; all zero: as the problem says */
  const int32_t *tokens; /* the lengths themselves, one a request, each at least 1. NULL: drawn from `lengths` */
  /* Not for timing but to have every launch find cold memory: inputs of about so many bytes, at least two sets as far as the
   * device has room, and as many as go through it once, 2 to spread_sets. 0: as above. */
  int64_t spread_bytes;
  int spread_sets;
  /* The variant that will run over it, where that takes more than others of its problem, or leaves something else. NULL: it does
   * not. */
  const struct mlaf_bound *bound;
  const atomic_bool *cancel; /* true: a check ends early, with what it has. May be NULL */
} mlaf_data_opts;

/* Lengths of n requests as opts say them, to be freed; NULL: E_NOMEM. */
static inline int32_t *mlaf_data_lengths(const mlaf_data_opts *opts, int64_t ctx, int64_t n, mlaf_err *err) {
  int32_t *out = malloc((size_t)n * sizeof *out);
  if (!out) mlaf_fail(err, MLAF_E_NOMEM, "no memory for %lld lengths", (long long)n);
  else if (opts->tokens) memcpy(out, opts->tokens, (size_t)n * sizeof *out);
  else mlaf_lengths_draw(&opts->lengths, (int32_t)ctx, (int32_t)n, out);
  return out;
}

/* One tensor that a launch writes, every byte of it at every launch: rows of the same size, without gaps. */
typedef struct mlaf_data_output {
  const char *name;
  size_t arg;             /* where in the struct of arguments its address goes */
  size_t rows, row_bytes; /* row_bytes: a multiple of 4 */
} mlaf_data_output;
enum { MLAF_DATA_OUTPUTS = 4 };

/* The head of an operation's data. */
typedef struct mlaf_data {
  int sets;           /* of inputs, at least 1; all sets' outputs have the same sizes */
  bool uneven;        /* requests differ, so that workgroups take unlike times */
  int64_t rows;       /* of input, as the workspace counts them */
  int64_t tokens;     /* that a launch goes through, to be printed */
  int64_t pool_bytes; /* that all sets together read and no launch writes; 0: none */
  const void *pool;   /* where they begin; NULL: they are the mlaf_pool's */
  mlaf_work work;     /* of a launch over one set */
  int n_outputs;
  mlaf_data_output outputs[MLAF_DATA_OUTPUTS];
} mlaf_data;

/* Rows of an output that `most_work` multiplications pay for, at least so many; and the i-th of n that are evenly spread over all
 * rows, the first and the last among them. */
static inline size_t mlaf_data_affords(size_t rows, double most_work, double row_work, size_t least) {
  const double afford = row_work > 0 ? most_work / row_work : 0;
  const size_t n = afford > (double)rows ? rows : afford < (double)least ? least : (size_t)afford;
  return n < rows ? n : rows;
}
static inline size_t mlaf_data_spread(size_t i, size_t n, size_t rows) {
  return n > 1 ? (size_t)((double)i / (double)(n - 1) * (double)(rows - 1) + 0.5) : 0;
}

/* Result of data_check: what it looked at and found. */
typedef struct mlaf_data_checked {
  double error, row_error; /* relative error, of what was compared at a time and of the worst row */
  double lse_ratio;        /* of mla_decode: error of an LSE over its bound, worst row. 0: no such output */
  int64_t rows;            /* compared, as mlaf_verify_result counts them */
  char which[160];         /* "the whole output of page table 0" */
} mlaf_data_checked;
