/* The inside of a soak, shared by soak.c (buffers, phases), soak_compare.c (outputs against first ones) and soak_check.c (first
 * ones against fp64). */
#ifndef MLAF_SOAK_INTERNAL_H
#define MLAF_SOAK_INTERNAL_H

#include "check/bench_internal.h"
#include "check/soak.h"

enum { SOAK_PHASE = 64 /* launches of a phase at most */, SOAK_DEPTH = 8 /* outputs of a stream */, SOAK_RECORDS = 4096 };

/* A variant and what its first launches gave, by set: device memory. */
typedef struct soak_side {
  const mlaf_loaded *l;
  char *o, *lse;
} soak_side;

typedef struct soak_lane {
  const soak_side *side;
  void *stream, *workspace;
  size_t workspace_size;
  char *o, *lse; /* `depth` outputs */
  int64_t n;     /* launches of this lane so far */
} soak_lane;

/* What a launch of the current phase was. */
typedef struct soak_launch {
  int lane, set;
} soak_launch;

typedef struct soak {
  const mlaf_soak_opts *opts;
  mlaf_soak_result *out;
  mlaf_device *dev;
  mlaf_bench *bench;
  size_t rows, o_bytes, lse_bytes; /* of one output */
  uint32_t words;                  /* of a row of O */
  soak_side sides[2];
  soak_lane lanes[2];
  int n_sides, depth, per_phase;
  mlaf_tool compare, reader;       /* module NULL: none */
  void *read_stream, *read_out;
  int64_t read_at;                 /* bytes of the pool that the reader has gone through */
  /* Of the current phase: [0] records asked for, [1 + i] wrong rows of launch i. Records: i, row, LSE, O
   * (templates/soak_compare). */
  uint32_t *tally_dev, *records_dev;
  uint32_t tally[1 + SOAK_PHASE], *records;
  soak_launch launches[SOAK_PHASE];
  char *host[2];                   /* outputs that are compared here: one that was got and the one that is wanted */
} soak;

static inline size_t soak_stride(const soak *s) { return 3 + (size_t)s->words; } /* words of a record */

/* --- soak_compare.c --- */
mlaf_status soak_compare_open(soak *s, const mlaf_tool_env *env, mlaf_err *err);
void soak_compare_close(soak *s);
mlaf_status soak_compare_reset(soak *s, mlaf_err *err);
/* Compare output `slot` of the lane that launch i of the phase wrote: on the lane's stream, or here after waiting for it. */
mlaf_status soak_compare_one(soak *s, int i, int slot, mlaf_err *err);
/* Behind a phase of n launches whose streams are done: count, and look at what was wrong. `base` launches were before it. */
mlaf_status soak_compare_read(soak *s, int n, int64_t base, mlaf_err *err);

/* --- soak_check.c --- */
/* The first launches of one side against fp64: whole, or as much as some seconds of the CPU allow. E_INCORRECT. */
mlaf_status soak_check_first(soak *s, const soak_side *side, mlaf_err *err);
/* Fill request, token, head and the errors of *row from the row of O and its LSE that were got. */
mlaf_status soak_check_row(soak *s, const soak_side *side, size_t index, const uint16_t *o, float lse, mlaf_soak_row *row,
                           mlaf_err *err);

#endif
