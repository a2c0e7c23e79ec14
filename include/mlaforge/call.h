/* One decode call as servers make it: checks tensors with shapes and strides, finds the plan (mostly a hit in the registry), and
 * launches. The Python package calls this; other bindings may, too. */
#ifndef MLAFORGE_CALL_H
#define MLAFORGE_CALL_H

#include <stddef.h>
#include <stdint.h>

#include "mlaforge/context.h"
#include "mlaforge/plan.h"

/* mlaf_view.dtype. The first four are taken, and of 8-bit caches bytes; the others are told apart for messages, and for the
 * caller's workspace. */
enum { MLAF_VIEW_BF16 = 0, MLAF_VIEW_F16, MLAF_VIEW_INT32, MLAF_VIEW_F32, MLAF_VIEW_INT64, MLAF_VIEW_F64, MLAF_VIEW_U8,
       MLAF_VIEW_OTHER, MLAF_VIEW_E4M3FN, MLAF_VIEW_E4M3FNUZ };
enum { MLAF_ON_HOST = -1, MLAF_WHERE_UNKNOWN = -2 }; /* mlaf_view.where */

/* A tensor. Strides are in elements. */
typedef struct mlaf_view {
  void *data;
  int32_t dtype;
  int32_t dims;  /* 0: not given; at most 4 */
  int32_t where; /* the device's number (mlaf_ctx_ordinal), MLAF_ON_HOST, or MLAF_WHERE_UNKNOWN: the driver is asked */
  int32_t reserved;
  int64_t shape[4], stride[4];
} mlaf_view;

/* The arguments of one decode call. Shapes: H heads, R rank, P rope, T query tokens in all, B requests. */
typedef struct mlaf_call {
  uint32_t struct_size;              /* sizeof(mlaf_call), set by MLAF_CALL_INIT */
  int32_t causal;                    /* as mlaf_mla_decode_problem's; not looked at with q_len 1 */
  mlaf_view q;                       /* [T, H, R+P], or [B, q_len, H, R+P] with a block table and no qo_indptr; dense.
                                      * Of the output's type, or with a cache of e4m3fn or e4m3fnuz of that one's */
  mlaf_view cache;                   /* [pages, page, 1, R+P], or without the 1; rows at one distance, pages a whole number of
                                      * rows apart. With cache_kpe [pages, page, 1, R], or without the 1. With cache_format a
                                      * token's bytes as columns (uint8 or the format's own type): 576 or 656 of R 512, P 64,
                                      * R with cache_kpe;
                                      * or 584 of R 512, P 0 (MLAF_KV_FP8_V4), of which a page has 576 a row and then 8 a
                                      * row, and pages are a multiple of 576 apart. 656 of MLAF_KV_FP8_PLANAR: a page has R
                                      * a row, then 16 a row, then 2P a row, and pages are a multiple of R apart */
  mlaf_view o;                       /* [T, H, R], or [B, q_len, H, R]; dense */
  mlaf_view lse;                     /* float32, [T, H], or [B, q_len, H] or [B, H, q_len] over such memory; may be left out */
  mlaf_view qo_indptr, kv_indptr;    /* int32, [B+1] */
  mlaf_view kv_indices;              /* int32, [pages of all requests] */
  mlaf_view kv_last_page_lens;       /* int32, [B] */
  mlaf_view block_table;             /* int32, [B, most], rows at any distance: in place of the three above, with seq_lens.
                                      * With qo_indptr requests have query tokens of their own numbers, else q_len each */
  mlaf_view seq_lens;                /* int32, [B] */
  int32_t q_len;                     /* most query tokens of a request; with a block table and no qo_indptr q says it */
  int32_t mean_kv_len;               /* cached tokens of a request, about: a hint for the plan. 0: from the tables' shapes */
  float scale;                       /* of the softmax, finite. 0 without MLAF_CALL_SCALE: 1/sqrt(R+P) */
  int32_t rotate;                    /* mlaf_rotate of the problem: of a cache whose rope columns are not rotated */
  const mlaf_plan_opts *plan;        /* NULL: MLAF_PLAN_OPTS_INIT; MLAF_PLAN_TABLES, MLAF_PLAN_LISTS and MLAF_PLAN_POOLS are
                                      * added where they are needed */
  mlaf_view workspace;               /* the caller's, of any type, dense; left out: below */
  void *(*alloc)(void *user, size_t bytes); /* device memory, 256-byte aligned, that stays until what is launched has run; called
                                      * at most once, while the stream captures always when there is one. NULL or returning
                                      * NULL: the stream's workspace, which the context keeps (context.h) */
  void *alloc_user;
  mlaf_view rope_table;              /* float32, [positions, P], dense: P/2 cosines, then P/2 sines; with rotate */
  mlaf_view cache_kpe;               /* where the cache is two tensors, the second: [pages, page, 1, P], or without the 1, rope
                                      * columns of the output's type, or what else a cache_format has there (docs/append.md);
                                      * as many rows from page to page as in `cache`. Left out: `cache` has all */
  uint32_t flags;                    /* 0, or MLAF_CALL_SCALE */
  int32_t reserved;                  /* 0 */
  /* Sparse attention, in place of all tables: each query token has a list of the cache's rows (mla_decode.h: indices). */
  mlaf_view indices;                 /* int32, [T, topk] or [T, 1, topk], or [B, q_len, topk] with q [B, q_len, H, R+P]:
                                      * page * tokens of a page + token in it; outside the cache: absent. Entries of a list
                                      * side by side */
  mlaf_view topk_length;             /* int32, [T], or [B] for the tokens of a request: entries that count. Left out: all */
  mlaf_view attn_sink;               /* float32, [H]: mla_decode.h. Left out: none */
  mlaf_view kv_scale;                /* float32, [1] or [], on the device: of a cache with one scale for all. Left out: 1 */
  int32_t cache_format;              /* mlaf_kv_format: what an 8-bit cache holds */
  int32_t reserved_format;           /* 0 */
  /* A second pool beside the cache of MLAF_KV_FP8_V4, in one softmax, with pages of its own. All left out: one pool. */
  mlaf_view extra_cache;             /* as cache */
  mlaf_view extra_indices;           /* as indices, of rows of extra_cache */
  mlaf_view extra_topk_length;       /* as topk_length; both have one for each token, or for each request */
  mlaf_view q_scale;                 /* float32, [1] or [], on the device: of q of 8 bits. Left out: 1 */
  mlaf_view q_pe;                    /* where Q is two tensors, the second: [T, H, P] or [B, q_len, H, P], and q has R columns.
                                      * Tokens of each at one distance, heads at another, multiples of 8 elements, columns side
                                      * by side. Left out: q has all columns, and is dense */
} mlaf_call;
/* MLAF_CALL_SCALE: `scale` counts as it stands, 0 included, with which all keys weigh the same. */
enum { MLAF_CALL_SCALE = 1u << 0 };
#define MLAF_CALL_INIT {.struct_size = sizeof(mlaf_call)}

/* Check, plan and launch on `stream` (NULL: the default stream). Nothing is waited for, and nothing of the tables is read on the
 * host. A plan that is not there yet is made (mlaforge/mla_decode.h), with one line in the log; while the stream captures that is
 * an error, as is a workspace that would have to be allocated.
 * Pages of the cache that are further apart than they are long (one layer of a cache of many) are read as smaller pages where
 * that is needed, by a plan for those: as fast as pages of that size are.
 * Errors: E_ARG (the argument, what it is and what is wanted), E_PROBLEM, those of a plan and of its execution.
 * Thread-safe: any number of threads, on one stream or on several, each call with outputs of its own. Over the stream's workspace
 * all launches of a call are one unit on their stream: calls of other threads on this stream wait until they are out (context.h).
 * Threads that hand over a workspace need one each, also on one stream. `alloc` is called by the calling thread, with nothing
 * locked. */
MLAF_API mlaf_status mlaf_call_run(mlaf_ctx *ctx, const mlaf_call *call, void *stream);

#endif
