/* The plan: one problem bound to loaded kernels on one device, and its execution. */
#ifndef MLAFORGE_PLAN_H
#define MLAFORGE_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "mlaforge/context.h"
#include "mlaforge/problem.h"

/* Opaque, immutable, reference-counted. Thread-safe: any number of threads may execute one plan at once, each with its
 * own outputs, and its own workspace or none (mlaf_execute). */
typedef struct mlaf_plan mlaf_plan;

typedef enum mlaf_effort {
  MLAF_EFFORT_DB_ONLY = 0, /* a choice from the database, exact or nearest; else E_NOT_TUNED */
  MLAF_EFFORT_ESTIMATE,    /* else the generator's model, else the baseline variant: always yields a plan */
  MLAF_EFFORT_MEASURE,     /* tune here first unless an exact, fresh choice is known; may take minutes */
} mlaf_effort;

enum {
  MLAF_PLAN_NO_COMPILE = 1u << 0, /* code objects come from the cache or the call fails with E_NOT_COMPILED */
  MLAF_PLAN_TABLES = 1u << 1,     /* the kernel that reads block tables, and pages with a stride, is made with the plan */
  MLAF_PLAN_LIBRARY = 1u << 2,    /* what was tuned may be a vendor's GEMM library's product (cuBLASLt, hipBLASLt), which may want
                                   * workspace. Without it the best of the kernels that were timed serves */
  MLAF_PLAN_BATCH_INVARIANT = 1u << 3, /* what is computed of a request has the same bits alone and in any batch, at any place in
                                   * it: docs/batch-invariance.md. One variant for all batches of a shape, which no tuning, no
                                   * bundle and no library takes part in. E_NOT_TUNED where an operation has none */
};

typedef struct mlaf_plan_opts {
  uint32_t struct_size; /* sizeof(mlaf_plan_opts), set by MLAF_PLAN_OPTS_INIT */
  uint32_t flags;       /* MLAF_PLAN_* */
  int32_t effort;       /* mlaf_effort */
  int32_t reserved;     /* must be 0 */
  double time_limit_s;  /* MEASURE: stop tuning after this long and use the best so far (a lower rung if nothing was
                        * finished by then); 0 = no limit */
  const char *lengths;  /* how many cached tokens the requests will have, as mlaf_tune_opts says it ("uniform",
                        * "normal:1,0.5"): what was tuned here with such requests for this very problem goes first; MEASURE
                        * tunes with them. NULL: no preference. Bundles know nothing of lengths (docs/tuning.md) */
} mlaf_plan_opts;

#define MLAF_PLAN_OPTS_INIT \
  { sizeof(mlaf_plan_opts), 0, MLAF_EFFORT_ESTIMATE, 0, 0.0, NULL }

/* Make a plan for `problem` (checked and copied) with `opts` (NULL: MLAF_PLAN_OPTS_INIT). `*out` has one reference.
 * The ladder: exact choice -> same device, nearest batch and ctx (its splits fitted to the problem; or another kernel that was
 * measured near and suits better; more than 16 times away only for DB_ONLY and NO_COMPILE) -> shipped default -> model ->
 * baseline; the plan says which rung it stands on. A choice that can no longer be used (template changed, code not loadable) is
 * passed over with a warning.
 * Errors: E_ARG, E_PROBLEM, E_NOT_TUNED, E_NOT_COMPILED, E_NO_COMPILER, E_COMPILE, E_KILLED, E_DEVICE, E_NOMEM, E_IO (no room for
 * the compiler's temporary files: $TMPDIR); MEASURE also what the tuner returns. The detail is in mlaf_ctx_last_message. */
MLAF_API mlaf_status mlaf_plan_create(mlaf_ctx *ctx, const mlaf_problem *problem, const mlaf_plan_opts *opts,
                                      mlaf_plan **out);
/* The same from the context's registry, for callers whose shapes change all the time: batch and ctx are rounded up (from 16
 * requests on to 8 values a doubling, 33, 66 and 132, ctx to 4), the plan is made at the first call of a rounded problem (and of
 * these flags, effort and lengths) and handed out again, with one reference more, at the others: a hit takes no lock, some 100
 * ns. What was tuned for any problem that rounds to the same one serves them all. Plans that were handed out stay valid whatever
 * happens. Thread-safe. */
MLAF_API mlaf_status mlaf_plan_get(mlaf_ctx *ctx, const mlaf_problem *problem, const mlaf_plan_opts *opts, mlaf_plan **out);
/* Make mlaf_plan_get plan anew from now on: after tuning (mlaf_tune and mlaf_tuning_import call it). Thread-safe. */
MLAF_API void mlaf_plan_forget(mlaf_ctx *ctx);
/* --- before the first request --- */

/* The problems that may come: those of one shape with batch and cached tokens in these ranges. */
typedef struct mlaf_warm_up_opts {
  uint32_t struct_size; /* sizeof(mlaf_warm_up_opts), set by MLAF_WARM_UP_INIT */
  int32_t batch_min, batch_max; /* 0: the shape's batch */
  int32_t ctx_min, ctx_max;     /* 0: the shape's ctx */
  uint32_t flags;               /* must be 0 */
  const mlaf_plan_opts *plan;   /* as mlaf_plan_get will get them; NULL: MLAF_PLAN_OPTS_INIT */
} mlaf_warm_up_opts;
#define MLAF_WARM_UP_INIT \
  { sizeof(mlaf_warm_up_opts), 0, 0, 0, 0, 0, NULL }
typedef struct mlaf_warm_up_result {
  uint32_t struct_size;   /* in: sizeof(mlaf_warm_up_result); only that many bytes are written */
  int32_t plans, kernels; /* that serve the ranges; different texts among their kernels */
  int32_t compiles;       /* compiler runs */
  size_t workspace;       /* bytes that the largest of these problems needs; with MLAF_PLAN_TABLES block tables of ctx_max, too */
  double seconds;
} mlaf_warm_up_result;
#define MLAF_WARM_UP_RESULT_INIT \
  { sizeof(mlaf_warm_up_result), 0, 0, 0, 0, 0.0 }
/* Plan, compile and load all that mlaf_plan_get may want for `shape` with any batch and ctx of the ranges. Afterwards such a call
 * neither plans nor compiles, and one outside of them logs a warning. May be called for several shapes (one for each q_len).
 * `opts` and `out` may be NULL. Takes seconds to minutes where nothing is cached. Thread-safe.
 * Errors: those of mlaf_plan_create; E_ARG for empty ranges. Plans made before a failure stay. */
MLAF_API mlaf_status mlaf_warm_up(mlaf_ctx *ctx, const mlaf_problem *shape, const mlaf_warm_up_opts *opts,
                                  mlaf_warm_up_result *out);

/* One more reference; returns its argument. Thread-safe. */
MLAF_API mlaf_plan *mlaf_plan_retain(mlaf_plan *plan);
/* One reference less; the last one unloads the kernels. None of its launches may be in flight then. NULL is allowed. */
MLAF_API void mlaf_plan_release(mlaf_plan *plan);

/* Source of a plan. Strings live as long as the plan. */
typedef struct mlaf_plan_info {
  uint32_t struct_size;  /* in: sizeof(mlaf_plan_info); only that many bytes are written */
  int32_t knob;          /* mla_decode: splits of every request, where the launch does not cut the whole batch by itself */
  const char *problem;   /* canonical problem string */
  const char *rung;      /* "exact", "nearest", "default", "model", "baseline" */
  const char *source;    /* of the choice's time: "measured", "modelled", "imported", "default"; "none": no database */
  const char *variant;   /* the name that rebuilds the variant */
  const char *tuned_for; /* the problem string of the choice; may differ from `problem` in sizes */
  const char *code;      /* "cache" or "bundle": nothing was compiled; "compiled" */
  const char *stale;     /* "" or why re-tuning would be worth it (compiler or driver differ) */
  const char *notes;     /* "" or the rungs that were passed over, and why */
  int32_t compiles;      /* compiler runs this plan caused */
  int32_t reserved;
  double ns;             /* time the choice was made by, 0 if none */
  double error;          /* relative error it was verified with, 0 if none */
  const char *lengths;   /* of the requests the choice was timed with, "equal" mostly; "" if none was timed */
} mlaf_plan_info;
#define MLAF_PLAN_INFO_INIT \
  { sizeof(mlaf_plan_info), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0.0, 0.0, NULL }
/* E_ARG for a NULL pointer or a struct_size below the first version's. Thread-safe. */
MLAF_API mlaf_status mlaf_plan_query(const mlaf_plan *plan, mlaf_plan_info *info);

/* Bytes of workspace mlaf_execute needs for a batch of `total_q` query tokens; 0: none. Plans that cut ragged batches by
 * themselves want some also with one split. */
MLAF_API size_t mlaf_plan_workspace_size(const mlaf_plan *plan, int64_t total_q);

/* One execution. Pointers are device pointers of the plan's device and must stay valid until the launch has finished;
 * shapes in elements, strides in elements of the problem's dtype. T total_q, H heads, R rank, P rope, B batch. */
typedef struct mlaf_execute_args {
  uint32_t struct_size;             /* sizeof(mlaf_execute_args), set by MLAF_EXECUTE_ARGS_INIT */
  int32_t batch;                    /* B: 0 and up (docs/limits.md) */
  int64_t total_q;                  /* T: qo_indptr[B], 0..B*q_len */
  const void *q;                    /* [T, H, R+P] dense, 16-byte aligned */
  const void *ckv;                  /* row j at ckv + j*ckv_row_stride: R+P elements if kpe is NULL, else R; 16 B al. */
  const void *kpe;                  /* NULL: combined cache. Row j at kpe + j*kpe_row_stride, P elements; 16-byte al. */
  int64_t ckv_row_stride;           /* multiple of 8, at most 2^27; 0: dense (R+P if kpe is NULL, else R) */
  int64_t kpe_row_stride;           /* same; 0: dense (P). Not looked at if kpe is NULL */
  const int32_t *qo_indptr;         /* [B+1] query tokens; NULL with block_table: T/B for each request. A request of more than
                                     * the problem's q_len, or with some outside [0, T): its rows are NaN */
  const int32_t *kv_indptr;         /* [B+1] pages */
  const int32_t *kv_indices;        /* [kv_indptr[B]] page ids; an id outside [0, num_pages) makes its request NaN */
  const int32_t *kv_last_page_lens; /* [B] tokens in the last page, 1..page_size */
  void *o;                          /* [T, H, R] dense, 16-byte aligned */
  float *lse;                       /* [T, H] natural log; may be NULL */
  void *workspace;                  /* mlaf_plan_workspace_size bytes, 256-byte aligned; contents do not matter, but for what a
                                     * launch with tables that mlaf_check_tables refuses left (docs/lab/kernels-hopper.md). NULL
                                     * with workspace_size 0: the stream's, which the context keeps (context.h) */
  size_t workspace_size;            /* bytes behind `workspace` */
  int32_t num_pages;                /* pages in the cache, 0..2^31-1; num_pages * page_size below 2^32 */
  float scale;                      /* softmax scale, e.g. 1/sqrt(qk_nope + rope); finite, no subnormal number */
  /* The tables' second form, for plans made with MLAF_PLAN_TABLES; all 0: the first form. Read on the device at each launch, by
   * one small kernel on the same stream, so that captured graphs see what they hold at the replay. */
  const int32_t *block_table;       /* [B] rows of page ids, in place of kv_indptr, kv_indices and kv_last_page_lens; a request
                                     * reads ceil(seq_lens[b] / page) entries of its row. NULL: those three */
  const int32_t *seq_lens;          /* [B] cached tokens; one that is negative, or more than a row holds: its request is NaN */
  int64_t block_table_stride;       /* entries from row to row, block_table_width or more */
  int32_t block_table_width;        /* entries in a row, 1 or more */
  int32_t page_tokens;              /* tokens of a page of these tables, a multiple of the problem's page_size; 0: that */
  int64_t page_rows;                /* rows from one page to the next where the cache has gaps between pages: a multiple of the
                                     * problem's page_size, page_tokens or more; 0: page_tokens. num_pages counts these pages */
  int64_t kv_indices_size;          /* entries of kv_indices; wanted with page_tokens or page_rows, without block_table */
  /* Of problems that rotate what they read; NULL and 0 for the others. */
  const float *rope_table;          /* [rope_rows, P] dense, 16-byte aligned: row j has P/2 cosines of position j, then P/2 sines.
                                     * x' = x cos - y sin, y' = y cos + x sin in fp32, then rounded to the problem's dtype */
  int32_t rope_rows;                /* 1 and up. A key behind the table makes the rows that see it NaN */
  int32_t reserved;                 /* 0 */
  /* Of a layer's plans whose combine kernel goes on into values, with o and lse NULL; NULL and 0 for all others. */
  const void *w_v;                  /* [H, V, R]: W_UV, of the problem's dtype, 16-byte aligned */
  int64_t w_v_row_stride;           /* elements, a multiple of 8 from R on */
  int64_t w_v_head_stride;          /* elements, a multiple of the row stride */
  void *values;                     /* [T, H, V] dense, 16-byte aligned */
} mlaf_execute_args;
#define MLAF_EXECUTE_ARGS_INIT                                                                                        \
  { sizeof(mlaf_execute_args), 0, 0, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0.0f, NULL, NULL, \
    0, 0, 0, 0, 0, NULL, 0, 0, NULL, 0, 0, NULL }

/* Bytes of workspace mlaf_execute needs for these arguments, of which only the sizes are looked at: mlaf_plan_workspace_size, and
 * for the tables' second form room for the first, 4 bytes for each page that the tables can name. SIZE_MAX when they are no
 * arguments mlaf_execute would take. Thread-safe. */
MLAF_API size_t mlaf_execute_workspace_size(const mlaf_plan *plan, const mlaf_execute_args *args);

/* Launch on `stream` (hipStream_t; NULL: the default stream) and return without waiting. Any batch and any lengths, of
 * the plan's heads, rank, rope, q_len bound, dtype, causality and page size. With a workspace of the caller's it never allocates,
 * compiles, locks, logs or synchronises on success: legal inside graph capture. Without one it locks the stream's while it
 * launches, and allocates where that has to grow, which is E_ARG while the stream captures.
 * Host-visible arguments are validated; what lies behind device pointers is not (mlaf_check_tables does that for copies on the
 * host), nor whether they are device pointers: an address of host memory ends the use of a real device in this process
 * (mlaf_call_run looks). The `struct_size` rule: smaller than the first version, or larger with a non-zero tail, is E_ARG.
 * Errors: E_ARG, E_DEVICE, E_FAULT (emulator); the detail, written under the context's lock, is in
 * mlaf_ctx_last_message while the context lives.
 * Thread-safe: any number of threads, on one stream or on several, each call with outputs of its own. Threads that hand over a
 * workspace need one each, also on one stream: an execution is up to three launches over it, and another thread's may come in
 * between. Executions by one thread on one stream may share it. */
MLAF_API mlaf_status mlaf_execute(const mlaf_plan *plan, const mlaf_execute_args *args, void *stream);

/* Host copies of the tables of one batch, for mlaf_check_tables. */
typedef struct mlaf_host_tables {
  uint32_t struct_size; /* sizeof(mlaf_host_tables), set by MLAF_HOST_TABLES_INIT */
  int32_t batch;
  int64_t total_q;
  int32_t num_pages;
  int32_t reserved;     /* must be 0 */
  const int32_t *qo_indptr, *kv_indptr, *kv_indices, *kv_last_page_lens; /* shapes as in mlaf_execute_args */
} mlaf_host_tables;
#define MLAF_HOST_TABLES_INIT \
  { sizeof(mlaf_host_tables), 0, 0, 0, 0, NULL, NULL, NULL, NULL }

/* Check what mlaf_execute cannot see: monotone index pointers, q lengths up to q_len, page ids inside the cache, last
 * page lengths in 1..page_size. E_ARG with a detail in `why` (may be NULL) that names the entry, its value and the
 * bound. Pure host code, thread-safe, O(batch + pages). */
MLAF_API mlaf_status mlaf_check_tables(const mlaf_problem *problem, const mlaf_host_tables *tables, char *why,
                                       size_t why_size);

#endif
