/* Timing a loaded variant on the shape its problem names: `batch` requests of q_len tokens over `ctx` cached tokens, or
 * over lengths spread about it. */
#ifndef MLAF_BENCH_H
#define MLAF_BENCH_H

#include "core/lengths.h"
#include "core/loaded.h"

typedef struct mlaf_bench mlaf_bench; /* device buffers of one problem, shared by all its variants */

typedef struct mlaf_bench_opts {
  uint64_t seed;
  /* At most this many bytes of KV cache; a larger problem's pages then share rows. 0: whole on real devices (where
   * sharing would turn HBM traffic into cache hits), 1 GiB on emulators (4 times the largest cache of any target). */
  int64_t cache_limit;
  mlaf_lengths lengths; /* of the requests; all zero: each has the problem's ctx */
} mlaf_bench_opts;

/* Buffers with realistic data (random normal; the clock a GPU reaches depends on the data) and a random page order.
 * E_ARG when the cache does not fit the device. opts NULL: defaults. One bench belongs to one thread at a time. */
mlaf_status mlaf_bench_create(mlaf_device *dev, const mlaf_problem *p, const mlaf_bench_opts *opts, mlaf_bench **out,
                              mlaf_err *err);
void mlaf_bench_free(mlaf_bench *b);

/* Time decode and, with more than one split, combine as one sequence. The variant must be of the same problem. The
 * workspace grows as variants need it, outside the timing. time NULL: mlaf_bench_time_opts. */
mlaf_status mlaf_bench_time(mlaf_bench *b, const mlaf_loaded *l, const mlaf_time_opts *time, mlaf_timing *out,
                            mlaf_err *err);

/* The launches that mlaf_bench_time would time, on the bench's buffers: for who runs them in another way (the profile). */
mlaf_status mlaf_bench_prepare(mlaf_bench *b, const mlaf_loaded *l, uint32_t splits, mlaf_prepared *out, mlaf_err *err);

/* Warm-up, windows and sample counts of the measurement protocol (MLAF_DB_PROTOCOL). */
mlaf_time_opts mlaf_bench_time_opts(void);

/* Bytes the fastest possible kernel moves (Q, the cached tokens, O, LSE) and flops it does, to put a time beside. */
typedef struct mlaf_work {
  double bytes, flops;
} mlaf_work;
mlaf_work mlaf_problem_work(const mlaf_problem *p);

#endif
