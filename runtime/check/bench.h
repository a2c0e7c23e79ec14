/* Timing a loaded variant on the shape its problem names: `batch` requests of q_len tokens over `ctx` cached tokens, or
 * over lengths spread about it. */
#ifndef MLAF_BENCH_H
#define MLAF_BENCH_H

#include "op/lengths.h"
#include "run/loaded.h"
#include "check/pool.h"

typedef struct mlaf_bench mlaf_bench; /* device buffers of one problem, shared by all its variants */

typedef struct mlaf_bench_opts {
  uint64_t seed;
  /* At most this many bytes of KV cache; a larger problem's pages then share rows. 0: whole on real devices (where
   * sharing would turn HBM traffic into cache hits), 1 GiB on emulators (4 times the largest cache of any target). */
  int64_t cache_limit;
  mlaf_lengths lengths;  /* of the requests; all zero: each has the problem's ctx */
  const int32_t *tokens; /* [batch], 1..ctx maximum of a problem: the lengths themselves. NULL: drawn from `lengths` */
  /* Where the cache's numbers come from: several benches, one after the other, may share a pool. NULL: an own one. */
  mlaf_pool *pool;
  /* Not for timing but to have every launch find cold memory: a cache of about so many bytes, at least two sets of pages as far
   * as the device has room, and as many sets as go through it once, 2 to spread_sets. 0: as above. */
  int64_t spread_bytes;
  int spread_sets;
} mlaf_bench_opts;

/* Buffers with realistic data (random normal; the clock a GPU reaches depends on the data) and a random page order. On a real
 * device there are several page tables over different pages, a power of two of them, and a timing goes through them in turn: with
 * four times the largest cache between two uses of a page no call finds its tokens in a cache.
 * E_ARG when the cache does not fit the device. opts NULL: defaults. One bench belongs to one thread at a time. */
mlaf_status mlaf_bench_create(mlaf_device *dev, const mlaf_point *p, const mlaf_bench_opts *opts, mlaf_bench **out,
                              mlaf_err *err);
void mlaf_bench_free(mlaf_bench *b);

/* Time decode and, with more than one split, combine as one sequence. The variant must be of the same problem. The
 * workspace grows as variants need it, outside the timing. time NULL: mlaf_bench_time_opts. */
mlaf_status mlaf_bench_time(mlaf_bench *b, const mlaf_loaded *l, const mlaf_time_opts *time, mlaf_timing *out,
                            mlaf_err *err);

/* Compare rows of O on the very buffers that are timed with the fp64 reference: the first, middle and last heads of the first
 * and last query token, for the shortest, a middle and the longest request. *error: relative Frobenius error of the worst of
 * them. MLAF_E_INCORRECT when it exceeds the bound or any element of O was not written. */
mlaf_status mlaf_bench_check(mlaf_bench *b, const mlaf_loaded *l, double *error, mlaf_err *err);

/* The launches that mlaf_bench_time would time first, on the bench's buffers: for who runs them in another way (the profile). */
mlaf_status mlaf_bench_prepare(mlaf_bench *b, const mlaf_loaded *l, uint32_t splits, mlaf_prepared *out, mlaf_err *err);

/* Warm-up, windows and sample counts of the measurement protocol (MLAF_DB_PROTOCOL). */
mlaf_time_opts mlaf_bench_time_opts(void);
/* What `bench` and the tuner take on a real device: 0.1 s of rest, then about 25 ms of work. A card at its power limit runs 5 to
 * 15 % slower in a long or an unrested measurement (one NVIDIA H200), so times of different protocols cannot be compared. */
mlaf_time_opts mlaf_bench_rested_opts(void);

/* The least work there is (op/calls.h). */
mlaf_work mlaf_problem_work(const mlaf_point *p); /* every request has ctx tokens */
mlaf_work mlaf_bench_work(const mlaf_bench *b);     /* the bench's lengths */
int64_t mlaf_bench_tokens(const mlaf_bench *b);     /* cached, all requests together */
int mlaf_bench_sets(const mlaf_bench *b);           /* page tables a timing goes through */

#endif
