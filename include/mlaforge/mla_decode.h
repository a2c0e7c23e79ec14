/* mla_decode: absorbed MLA decode over a paged latent cache, the operation that a decode step spends its time in.
 *
 *   O [T, H, R] = softmax(scale * Q K^T) V      Q [T, H, R+P], K = the cache's R+P columns, V = their first R
 *
 * T query tokens of B requests, H heads, R kv_lora_rank, P rope dim. LSE [T, H] comes in fp32 on demand.
 *
 *   mlaf_mla_decode_problem p = MLAF_MLA_DECODE_PROBLEM_INIT;       // 16 heads, rank 512, rope 64, bf16, pages of 64
 *   mlaf_mla_decode_plan_get(ctx, &p, NULL, &plan);
 *   mlaf_mla_decode_args a = MLAF_MLA_DECODE_ARGS_INIT;             // batch, total_q, q, ckv, tables, o, scale ...
 *   mlaf_mla_decode_execute(plan, &a, stream);
 *
 * mlaforge/call.h does all of it in one call, from tensors with shapes and strides. */
#ifndef MLAFORGE_MLA_DECODE_H
#define MLAFORGE_MLA_DECODE_H

#include "mlaforge/plan.h"
#include "mlaforge/problem.h"
#include "mlaforge/tune.h"

/* A member of an initialiser: C names it, C++ before 20 takes members by their order. */
#ifdef __cplusplus
#define MLAF_SET(name, value) value
#else
#define MLAF_SET(name, value) .name = value
#endif

/* --- the problem --- */

/* The problem with its fields as numbers. batch and ctx are what the choice is tuned for; a plan executes any batch and any
 * lengths. docs/limits.md lists what each field may be. */
typedef struct mlaf_problem {
  uint32_t struct_size; /* sizeof(mlaf_mla_decode_problem), set by MLAF_MLA_DECODE_PROBLEM_INIT */
  int32_t heads;        /* H, query heads on this rank */
  int32_t rank;         /* R, kv_lora_rank in elements */
  int32_t rope;         /* P, rope dim in elements */
  int32_t q_len;        /* largest number of query tokens of a request */
  int32_t causal;       /* 1: query token i of n sees the first kv_len - (n-1-i) tokens. Same as 0 when q_len is 1 */
  int32_t dtype;        /* mlaf_dtype of Q and O, and of a cache of 16 bits */
  int32_t page_size;    /* tokens per page */
  int32_t batch;        /* requests */
  int32_t ctx;          /* cached tokens per request */
  int32_t rotate;       /* mlaf_rotate. Not NONE: the cache holds rope columns that are not rotated; those of key j are rotated
                           to position j as they are read, by a table of the launch. Q comes rotated. NONE where rope is 0 */
  int32_t cache;        /* mlaf_kv_format: of 16 bits or of 8. With one of 8 bits `rotate` is NONE */
  int32_t fp8_q;        /* 1: Q is fp8, too, in the encoding of `cache`, which is E4M3FN or E4M3FNUZ */
  int32_t q_parts;      /* 1: Q is two tensors with strides of their own, its first R columns and its rope columns (q_pe). 0 where
                           rope is 0, and with fp8_q */
} mlaf_mla_decode_problem;
#define MLAF_MLA_DECODE_PROBLEM_INIT                                                                                         \
  {                                                                                                                          \
    MLAF_SET(struct_size, sizeof(mlaf_mla_decode_problem)), MLAF_SET(heads, 16), MLAF_SET(rank, 512),                        \
        MLAF_SET(rope, 64), MLAF_SET(q_len, 1), MLAF_SET(causal, 0), MLAF_SET(dtype, MLAF_BF16),                             \
        MLAF_SET(page_size, 64), MLAF_SET(batch, 1), MLAF_SET(ctx, 1024), MLAF_SET(rotate, MLAF_ROTATE_NONE),                \
        MLAF_SET(cache, MLAF_KV_16), MLAF_SET(fp8_q, 0), MLAF_SET(q_parts, 0)                                                \
  }

/* --- a launch --- */

/* One launch. Pointers are device pointers of the plan's device and must stay valid until the launch has finished; strides are in
 * elements of the problem's dtype, those of an 8-bit cache in bytes. */
typedef struct mlaf_execute_args {
  uint32_t struct_size;             /* sizeof(mlaf_mla_decode_args), set by MLAF_MLA_DECODE_ARGS_INIT */
  int32_t batch;                    /* B: 0 and up (docs/limits.md) */
  int64_t total_q;                  /* T: qo_indptr[B], 0..B*q_len */
  const void *q;                    /* [T, H, R+P] dense, 16-byte aligned; with fp8_q bytes */
  const void *ckv;                  /* row j at ckv + j*ckv_row_stride: R+P elements if kpe is NULL, else R; 16 B al. Of an 8-bit
                                     * cache a token's bytes: R+P numbers, or R numbers, 4 fp32 scales and P of 16 bits; or
                                     * (MLAF_KV_FP8_V4) pages of n rows of 448 numbers and 64 of bf16, then 8 bytes a token:
                                     * 7 powers of two and one that means nothing; or (MLAF_KV_FP8_PLANAR) pages of n rows of
                                     * R numbers, then 4 fp32 scales a token, then P of 16 bits a token */
  const void *kpe;                  /* NULL: combined cache. Row j at kpe + j*kpe_row_stride, P elements; 16-byte al. Of 8-bit
                                     * caches those of two tensors, whose ckv has R bytes a row: what a format has there
                                     * (docs/append.md) */
  int64_t ckv_row_stride;           /* multiple of 8, at most 2^27; 0: dense (R+P if kpe is NULL, else R). Of an 8-bit cache
                                     * bytes, a multiple of 16, at most 2^28; 0: a token's (576 or 656 of R 512, P 64); 0 or 576
                                     * with MLAF_KV_FP8_V4, 0 or R with MLAF_KV_FP8_PLANAR */
  int64_t kpe_row_stride;           /* same; 0: dense (P elements). Not looked at if kpe is NULL */
  const int32_t *qo_indptr;         /* [B+1] query tokens; NULL with block_table: T/B for each request. A request of more than
                                     * the problem's q_len, or with some outside [0, T): its rows are NaN */
  const int32_t *kv_indptr;         /* [B+1] pages */
  const int32_t *kv_indices;        /* [kv_indptr[B]] page ids; an id outside [0, num_pages) makes its request NaN */
  const int32_t *kv_last_page_lens; /* [B] tokens in the last page, 1..page_size */
  void *o;                          /* [T, H, R] dense, 16-byte aligned */
  float *lse;                       /* [T, H] natural log; may be NULL */
  void *workspace;                  /* mlaf_mla_decode_workspace_size bytes, 256-byte aligned; contents do not matter, but for
                                     * what a launch with tables that mlaf_mla_decode_check_tables refuses left
                                     * (docs/lab/kernels-hopper.md). NULL with workspace_size 0: the stream's, which the context
                                     * keeps (context.h) */
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
  /* The rotation of problems that rotate what they read; NULL and 0 for the others. */
  const float *rope_table;          /* [rope_rows, P] dense, 16-byte aligned: row j has P/2 cosines of position j, then P/2 sines.
                                     * x' = x cos - y sin, y' = y cos + x sin in fp32, then rounded to the problem's dtype */
  int32_t rope_rows;                /* 1 and up. A key behind the table makes the rows that see it NaN */
  int32_t reserved;                 /* 0 */
  /* Values of a layer's plans whose combine kernel makes them, with o and lse NULL; NULL and 0 for all others. */
  const void *w_v;                  /* [H, V, R]: W_UV, of the problem's dtype, 16-byte aligned */
  int64_t w_v_row_stride;           /* elements, a multiple of 8 from R on */
  int64_t w_v_head_stride;          /* elements, a multiple of the row stride */
  void *values;                     /* [T, H, V] dense, 16-byte aligned */
  /* The tables' third form, for plans of pages of 1 (page_size) made with MLAF_PLAN_LISTS; all 0: another form. Sparse attention:
   * each query token has a list of its own of the cache's rows. batch is total_q, and the four tables, block_table and seq_lens
   * are NULL. Lists and lengths are read on the device at each launch, by the decode kernel itself or by one or two small
   * kernels on the same stream. */
  const int32_t *indices;           /* [T, topk] page * page_tokens + token in the page. An entry outside of the cache (-1, or
                                     * num_pages * page_tokens and more) is absent: nothing is read there. One that comes twice
                                     * counts twice. A token without entries: o is 0, lse -inf */
  const int32_t *topk_length;       /* [ceil(T / topk_share)] entries that count, 0..topk (more are topk, fewer than 0 none): what
                                     * lies behind them is not read. NULL: topk */
  const float *attn_sink;           /* [H] a term more in the softmax's denominator, e^sink, of no value; lse is without it. -inf:
                                     * no sink; +inf: o is 0. NULL: none. By the decode kernel, or applied to o as
                                     * it was rounded, by one more kernel */
  int64_t indices_stride;           /* entries from list to list, topk or more; 0: topk */
  int32_t topk;                     /* entries of a list, 1..2^20; T * topk below 2^31 */
  int32_t topk_share;               /* tokens in a row that share an entry of topk_length (those of a request); 0: 1 */
  /* The scale of 8-bit caches that have one for all tokens: a key's value is its stored number times this. */
  const float *kv_scale;            /* [1] fp32 on the device, read by each launch; NULL: 1. NULL for other caches */
  /* Pages of MLAF_KV_FP8_V4 and MLAF_KV_FP8_PLANAR, which have parts of their tokens behind their rows. With indices a page has
   * page_tokens tokens, else the problem's page_size; page_rows is 0. 0 for other caches. */
  int64_t ckv_page_stride;          /* bytes from page to page, a multiple of 576, or of R; 0: a token's bytes (584, or
                                     * R + 16 + 2P) for each, rounded up to one */
  /* A second pool beside `indices`, for plans of MLAF_KV_FP8_V4 made with MLAF_PLAN_POOLS; all 0: one pool. A query token sees
   * the entries of both its lists in one softmax, with one sink. */
  const void *extra_ckv;            /* as ckv, in pages of extra_page_tokens; 16-byte aligned. NULL with extra_num_pages 0 */
  const int32_t *extra_indices;     /* [T, extra_topk] as indices: page * extra_page_tokens + token in the page */
  const int32_t *extra_topk_length; /* as topk_length, with its topk_share. NULL: extra_topk */
  int64_t extra_indices_stride;     /* entries from list to list, extra_topk or more; 0: extra_topk */
  int64_t extra_page_stride;        /* as ckv_page_stride */
  int32_t extra_num_pages;          /* pages in the second pool */
  int32_t extra_page_tokens;        /* tokens of one of them; 0: 1 */
  int32_t extra_topk;               /* entries of a list, 1 and up; T * (topk + extra_topk) below 2^31 */
  int32_t reserved_extra;           /* 0 */
  /* The scale of Q in problems with fp8_q: a query's value is its stored number times this. */
  const float *q_scale;             /* [1] fp32 on the device, read by each launch; NULL: 1. NULL for other problems */
  /* Q in two tensors, for problems with q_parts: q is [T, H, R] and has the columns that are K and V, q_pe those with positions.
   * Strides are in elements, multiples of 8 below 2^35; all 0 for other problems. */
  const void *q_pe;                 /* [T, H, P] dtype; 16-byte aligned */
  int64_t q_token_stride, q_head_stride;       /* of q; 0: H times its head stride, R */
  int64_t q_pe_token_stride, q_pe_head_stride; /* of q_pe; 0: H times its head stride, P */
} mlaf_mla_decode_args;
#define MLAF_MLA_DECODE_ARGS_INIT                                                                                            \
  {                                                                                                                          \
    MLAF_SET(struct_size, sizeof(mlaf_mla_decode_args)), MLAF_SET(batch, 0), MLAF_SET(total_q, 0),                           \
        MLAF_SET(q, NULL), MLAF_SET(ckv, NULL), MLAF_SET(kpe, NULL), MLAF_SET(ckv_row_stride, 0),                            \
        MLAF_SET(kpe_row_stride, 0), MLAF_SET(qo_indptr, NULL), MLAF_SET(kv_indptr, NULL),                                   \
        MLAF_SET(kv_indices, NULL), MLAF_SET(kv_last_page_lens, NULL), MLAF_SET(o, NULL), MLAF_SET(lse, NULL),               \
        MLAF_SET(workspace, NULL), MLAF_SET(workspace_size, 0), MLAF_SET(num_pages, 0), MLAF_SET(scale, 0.0f),               \
        MLAF_SET(block_table, NULL), MLAF_SET(seq_lens, NULL), MLAF_SET(block_table_stride, 0),                              \
        MLAF_SET(block_table_width, 0), MLAF_SET(page_tokens, 0), MLAF_SET(page_rows, 0),                                    \
        MLAF_SET(kv_indices_size, 0), MLAF_SET(rope_table, NULL), MLAF_SET(rope_rows, 0), MLAF_SET(reserved, 0),             \
        MLAF_SET(w_v, NULL), MLAF_SET(w_v_row_stride, 0), MLAF_SET(w_v_head_stride, 0), MLAF_SET(values, NULL),              \
        MLAF_SET(indices, NULL), MLAF_SET(topk_length, NULL), MLAF_SET(attn_sink, NULL), MLAF_SET(indices_stride, 0),        \
        MLAF_SET(topk, 0), MLAF_SET(topk_share, 0), MLAF_SET(kv_scale, NULL), MLAF_SET(ckv_page_stride, 0),                  \
        MLAF_SET(extra_ckv, NULL), MLAF_SET(extra_indices, NULL), MLAF_SET(extra_topk_length, NULL),                         \
        MLAF_SET(extra_indices_stride, 0), MLAF_SET(extra_page_stride, 0), MLAF_SET(extra_num_pages, 0),                     \
        MLAF_SET(extra_page_tokens, 0), MLAF_SET(extra_topk, 0), MLAF_SET(reserved_extra, 0),                                \
        MLAF_SET(q_scale, NULL), MLAF_SET(q_pe, NULL), MLAF_SET(q_token_stride, 0), MLAF_SET(q_head_stride, 0),              \
        MLAF_SET(q_pe_token_stride, 0), MLAF_SET(q_pe_head_stride, 0)                                                        \
  }

/* Host copies of the tables of one launch, for mlaf_mla_decode_check_tables. */
typedef struct mlaf_host_tables {
  uint32_t struct_size; /* sizeof(mlaf_mla_decode_tables), set by MLAF_MLA_DECODE_TABLES_INIT */
  int32_t batch;
  int64_t total_q;
  int32_t num_pages;
  int32_t reserved;     /* must be 0 */
  const int32_t *qo_indptr, *kv_indptr, *kv_indices, *kv_last_page_lens; /* shapes as in mlaf_mla_decode_args */
} mlaf_mla_decode_tables;
#define MLAF_MLA_DECODE_TABLES_INIT                                                                                          \
  {                                                                                                                          \
    MLAF_SET(struct_size, sizeof(mlaf_mla_decode_tables)), MLAF_SET(batch, 0), MLAF_SET(total_q, 0),                         \
        MLAF_SET(num_pages, 0), MLAF_SET(reserved, 0), MLAF_SET(qo_indptr, NULL), MLAF_SET(kv_indptr, NULL),                 \
        MLAF_SET(kv_indices, NULL), MLAF_SET(kv_last_page_lens, NULL)                                                        \
  }

/* --- names until 0.1.0, deprecated: they go with 1.0 ---
 * The library exports the functions under these names. The functions below them have the same arguments and are explained. */
typedef mlaf_mla_decode_problem mlaf_problem;
typedef mlaf_mla_decode_args mlaf_execute_args;
typedef mlaf_mla_decode_tables mlaf_host_tables;
#define MLAF_PROBLEM_INIT MLAF_MLA_DECODE_PROBLEM_INIT
#define MLAF_EXECUTE_ARGS_INIT MLAF_MLA_DECODE_ARGS_INIT
#define MLAF_HOST_TABLES_INIT MLAF_MLA_DECODE_TABLES_INIT
/* mlaf_mla_decode_check. */
MLAF_API mlaf_status mlaf_problem_check(mlaf_problem *problem, char *why, size_t why_size);
/* mlaf_mla_decode_print. */
MLAF_API mlaf_status mlaf_problem_print(const mlaf_problem *problem, char *out, size_t out_size);
/* mlaf_mla_decode_parse. */
MLAF_API mlaf_status mlaf_problem_parse(const char *text, mlaf_problem *out, char *why, size_t why_size);
/* mlaf_mla_decode_plan_create. */
MLAF_API mlaf_status mlaf_plan_create(mlaf_ctx *ctx, const mlaf_problem *problem, const mlaf_plan_opts *opts, mlaf_plan **out);
/* mlaf_mla_decode_plan_get. */
MLAF_API mlaf_status mlaf_plan_get(mlaf_ctx *ctx, const mlaf_problem *problem, const mlaf_plan_opts *opts, mlaf_plan **out);
/* mlaf_mla_decode_warm_up. */
MLAF_API mlaf_status mlaf_warm_up(mlaf_ctx *ctx, const mlaf_problem *shape, const mlaf_warm_up_opts *opts,
                                  mlaf_warm_up_result *out);
/* mlaf_mla_decode_tune. */
MLAF_API mlaf_status mlaf_tune(mlaf_ctx *ctx, const mlaf_problem *problem, const mlaf_tune_opts *opts, mlaf_tune_result *out);
/* mlaf_mla_decode_workspace_size. */
MLAF_API size_t mlaf_execute_workspace_size(const mlaf_plan *plan, const mlaf_execute_args *args);
/* mlaf_mla_decode_execute. */
MLAF_API mlaf_status mlaf_execute(const mlaf_plan *plan, const mlaf_execute_args *args, void *stream);
/* mlaf_mla_decode_check_tables. */
MLAF_API mlaf_status mlaf_check_tables(const mlaf_problem *problem, const mlaf_host_tables *tables, char *why, size_t why_size);

/* --- the problem as text --- */

/* Checks every field of `problem` and makes it canonical (causal is 0 where q_len is 1). E_PROBLEM with a detail in `why` (may be
 * NULL) that names the field, its value and the accepted range. Thread-safe. */
static inline mlaf_status mlaf_mla_decode_check(mlaf_mla_decode_problem *problem, char *why, size_t why_size) {
  return mlaf_problem_check(problem, why, why_size);
}

/* Writes "mla_decode:h16,r512,p64,q1,bf16,page64,b64,s4096" to `out`, with ",causal" behind q where causal is 1: the problem
 * string of mlaforge/operation.h. MLAF_PROBLEM_TEXT_MAX bytes are enough; there is always a NUL at the end. The problem must have
 * passed mlaf_mla_decode_check. Thread-safe. */
static inline mlaf_status mlaf_mla_decode_print(const mlaf_mla_decode_problem *problem, char *out, size_t out_size) {
  return mlaf_problem_print(problem, out, out_size);
}

/* Reads such a string. Fields may come in any order; h is required, others are as in MLAF_MLA_DECODE_PROBLEM_INIT. Unknown,
 * repeated or malformed fields are E_PROBLEM with a detail in `why` (may be NULL). parse(print(p)) is p. Thread-safe. */
static inline mlaf_status mlaf_mla_decode_parse(const char *text, mlaf_mla_decode_problem *out, char *why, size_t why_size) {
  return mlaf_problem_parse(text, out, why, why_size);
}

/* --- plans --- */

/* Makes a plan for exactly this problem (checked and copied) with `opts` (NULL: MLAF_PLAN_OPTS_INIT). `*out` has one reference.
 * The choice comes from the first of these that has one, and mlaf_plan_query says from which: exact choice; same device, nearest
 * batch and ctx (its splits fitted to the problem; or another kernel that was measured near and suits better; more than 16 times
 * away only for DB_ONLY and NO_COMPILE); shipped default; model; baseline. A choice that can no longer be used (template changed,
 * code not loadable) is passed over with a warning.
 * Errors: E_ARG, E_PROBLEM, E_NOT_TUNED, E_NOT_COMPILED, E_NO_COMPILER, E_COMPILE, E_KILLED, E_DEVICE, E_NOMEM, E_IO (no room for
 * the compiler's temporary files: $TMPDIR); MEASURE also what the tuner returns. The detail is in mlaf_ctx_last_message.
 * Thread-safe. */
static inline mlaf_status mlaf_mla_decode_plan_create(mlaf_ctx *ctx, const mlaf_mla_decode_problem *problem,
                                                      const mlaf_plan_opts *opts, mlaf_plan **out) {
  return mlaf_plan_create(ctx, problem, opts, out);
}

/* Gives a plan from the context's registry, for callers whose shapes change all the time. batch and ctx are rounded up (from 16
 * requests on to 8 values a doubling, 33, 66 and 132, ctx to 4). The plan is made at the first call of a rounded problem (and of
 * these flags, effort and lengths) and handed out again, with one reference more, at the others: a hit takes no lock, some 100
 * ns. What was tuned for any problem that rounds to the same one serves them all. Plans that were handed out stay valid whatever
 * happens. Arguments and errors: mlaf_mla_decode_plan_create's. Thread-safe. */
static inline mlaf_status mlaf_mla_decode_plan_get(mlaf_ctx *ctx, const mlaf_mla_decode_problem *problem,
                                                   const mlaf_plan_opts *opts, mlaf_plan **out) {
  return mlaf_plan_get(ctx, problem, opts, out);
}

/* Plans, compiles and loads all that mlaf_mla_decode_plan_get may want for the shape of `problem` with any batch and
 * ctx of the ranges. Afterwards such a call neither plans nor compiles, and one outside of them logs a warning. May be called for
 * several shapes (one for each q_len). `opts` and `out` may be NULL. Takes seconds to minutes where nothing is cached.
 * Errors: those of mlaf_mla_decode_plan_create; E_ARG for empty ranges. Plans made before a failure stay. Thread-safe. */
static inline mlaf_status mlaf_mla_decode_warm_up(mlaf_ctx *ctx, const mlaf_mla_decode_problem *problem,
                                                  const mlaf_warm_up_opts *opts, mlaf_warm_up_result *out) {
  return mlaf_warm_up(ctx, problem, opts, out);
}

/* Compiles, verifies and times the candidates of `problem` on the context's device and records them in its database; an
 * interrupted run goes on where it stopped. Blocks for seconds to minutes; other planning calls on the context wait. `opts` and
 * `out` may be NULL.
 * Errors: E_CANCELLED (progress said stop; finished work is kept), E_NOT_TUNED (no candidate passed), E_PROBLEM, E_NO_COMPILER,
 * E_KILLED, E_DEVICE, E_DB, E_IO, E_NOMEM; the detail is in mlaf_ctx_last_message. Failures of this machine (no temporary folder,
 * no space, no memory, a killed compiler) end the run and are not recorded. Thread-safe. */
static inline mlaf_status mlaf_mla_decode_tune(mlaf_ctx *ctx, const mlaf_mla_decode_problem *problem, const mlaf_tune_opts *opts,
                                               mlaf_tune_result *out) {
  return mlaf_tune(ctx, problem, opts, out);
}

/* --- execution --- */

/* Bytes of workspace that a launch with these arguments needs, of which only the sizes are looked at: mlaf_plan_workspace_size,
 * and for the tables' second form room for the first, 4 bytes for each page that the tables can name. SIZE_MAX when they are no
 * arguments that a launch would take. Thread-safe. */
static inline size_t mlaf_mla_decode_workspace_size(const mlaf_plan *plan, const mlaf_mla_decode_args *args) {
  return mlaf_execute_workspace_size(plan, args);
}

/* Launches on `stream` (hipStream_t, CUstream; NULL: the default stream) and returns without waiting. Any batch and any lengths,
 * of the plan's heads, rank, rope, q_len bound, dtype, causality and page size. With a workspace of the caller's it never
 * allocates, compiles, locks, logs or synchronises on success: legal inside graph capture. Without one it locks the stream's
 * while it launches, and allocates where that has to grow, which is E_ARG while the stream captures.
 * Host-visible arguments are validated; what lies behind device pointers is not (mlaf_mla_decode_check_tables does that for
 * copies on the host), nor whether they are device pointers: an address of host memory ends the use of a real device in this
 * process (mlaf_call_run looks). A struct_size smaller than the first version's, or larger with a non-zero tail, is E_ARG.
 * Errors: E_ARG, E_DEVICE, E_FAULT (emulator); the detail, written under the context's lock, is in mlaf_ctx_last_message while
 * the context lives.
 * Thread-safe: any number of threads, on one stream or on several, each call with outputs of its own. Threads that hand over a
 * workspace need one each, also on one stream: an execution is up to three launches over it, and another thread's may come in
 * between. Executions by one thread on one stream may share it. */
static inline mlaf_status mlaf_mla_decode_execute(const mlaf_plan *plan, const mlaf_mla_decode_args *args, void *stream) {
  return mlaf_execute(plan, args, stream);
}

/* Checks on the host what a launch cannot see: monotone index pointers, q lengths up to q_len, page ids inside the cache, last
 * page lengths in 1..page_size. E_ARG with a detail in `why` (may be NULL) that names the entry, its value and the bound.
 * O(batch + pages). Thread-safe. */
static inline mlaf_status mlaf_mla_decode_check_tables(const mlaf_mla_decode_problem *problem,
                                                       const mlaf_mla_decode_tables *tables, char *why, size_t why_size) {
  return mlaf_check_tables(problem, tables, why, why_size);
}

#endif
