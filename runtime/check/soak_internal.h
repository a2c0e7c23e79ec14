/* The inside of a soak, shared by soak.c (buffers, phases), soak_compare.c (outputs against first ones) and soak_check.c (what
 * was wrong with them, and fp64). */
#pragma once

#include "check/bench_internal.h"
#include "check/soak.h"

enum { SOAK_PHASE = 64 /* launches of a phase at most */, SOAK_DEPTH = 8 /* outputs of a stream */, SOAK_RECORDS = 4096 };

/* Memory of the device that holds several launches' outputs, by place in the data's list: what a launch wrote begins at a
 * multiple of the output's pitch. */
typedef struct soak_outputs {
  char *at[MLAF_DATA_OUTPUTS];
} soak_outputs;

/* A variant and what its first launches gave, by set. */
typedef struct soak_side {
  const mlaf_loaded *l;
  soak_outputs first;
} soak_side;

typedef struct soak_lane {
  const soak_side *side;
  void *stream, *workspace;
  size_t workspace_size;
  soak_outputs out; /* of `depth` launches */
  int64_t n;        /* launches of this lane so far */
} soak_lane;

/* A launch of the current phase. */
typedef struct soak_launch {
  int lane, set;
} soak_launch;

typedef struct soak {
  const mlaf_soak_opts *opts;
  mlaf_soak_result *out;
  mlaf_device *dev;
  mlaf_bench *bench;
  const mlaf_calls *calls;
  const mlaf_data *data;           /* the bench's */
  int sets;                        /* of the data's, as many as there is room for their first outputs */
  size_t pitch[MLAF_DATA_OUTPUTS]; /* bytes of an output, in whole lines */
  size_t output_bytes;             /* of all outputs of a launch */
  size_t row_bytes;                /* the largest */
  soak_side sides[2];
  soak_lane lanes[2];
  int n_sides, depth, per_phase;
  mlaf_tool compare, reader;       /* module NULL: none */
  void *read_stream, *read_out;
  int64_t read_at;                 /* bytes of the pool that the reader has gone through */
  /* Counts of the current phase: [0] records asked for, [1 + i] wrong rows of launch i. Records: i, output, row, the row's words
   * (templates/soak_compare). */
  uint32_t *tally_dev, *records_dev;
  uint32_t tally[1 + SOAK_PHASE], *records;
  soak_launch launches[SOAK_PHASE];
  char *host[2];                   /* an output that is compared here: what was got and what is wanted */
} soak;

static inline size_t soak_stride(const soak *s) { return 3 + s->row_bytes / sizeof(uint32_t); } /* words of a record */

/* Output i of launch k of so many. */
static inline char *soak_at(const soak *s, const soak_outputs *o, int i, size_t k) { return o->at[i] + k * s->pitch[i]; }

/* --- soak_compare.c --- */
mlaf_status soak_compare_open(soak *s, const mlaf_tool_env *env, mlaf_err *err);
void soak_compare_close(soak *s);
mlaf_status soak_compare_reset(soak *s, mlaf_err *err);
/* Compare the outputs in `slot` of the lane that launch i of the phase wrote: on its stream, or here after waiting for it. */
mlaf_status soak_compare_one(soak *s, int i, int slot, mlaf_err *err);
/* Ends a phase of n launches whose streams are done: counts, and looks at what was wrong. `base` launches were before it. */
mlaf_status soak_compare_read(soak *s, int n, int64_t base, mlaf_err *err);

/* --- soak_check.c --- */
/* The first launch of one side over set 0 against fp64: whole, or as much as some seconds of the CPU allow. E_INCORRECT. */
mlaf_status soak_check_first(soak *s, const soak_side *side, mlaf_err *err);
/* A record beside the first launch's row: words that differ, and the error. */
mlaf_status soak_against_first(soak *s, const uint32_t *record, int32_t *words, double *error, mlaf_err *err);
/* The first wrong row of all, in full. */
mlaf_status soak_describe_first(soak *s, const uint32_t *record, int64_t base, mlaf_err *err);
