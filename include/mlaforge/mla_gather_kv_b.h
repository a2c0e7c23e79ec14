/* mla_gather_kv_b: gathers rows of a paged latent cache and makes keys and values of each head of them, in one kernel.
 *
 *   latent [R] and rope [P] of a token, found by its request's block table, dequantised
 *   k [T, H, N], v [T, H, V] = W_kvb [H, N+V, R] latent        k_pe [T, P] = rope
 *
 * The outputs are what mla_prefill reads for a context: k with k_pe, and v in the same buffer. Tokens are a chunk of each
 * request: those of request r stand at cu_seqlens[r] .. cu_seqlens[r+1]-1 and have the positions from seq_starts[r] on. A plan of
 * a problem such as "mla_gather_kv_b:h16,n128,p64,v128,r512,bf16,paged,t4096" (mlaf_plan_for) serves any number of tokens and
 * requests.
 *
 * Where the problem says rope_pairs or rope_halves, the cache's rope is not rotated: k_pe is, by its token's position, as
 * mla_append would have rotated it; from e4m3fn and e4m3fnuz it is rounded to 16 bits before that, too. */
#ifndef MLAFORGE_MLA_GATHER_KV_B_H
#define MLAFORGE_MLA_GATHER_KV_B_H

#include "mlaforge/operation.h"

/* Device pointers of the plan's device. cache, w, k, v and k_pe 16-byte aligned, all their strides a multiple of 16 bytes.
 * Strides in elements; a row of the cache counts 16-bit elements where it is paged or split, bytes else. A stride of 0: dense. w
 * is a constant: the launch before this one on its stream must not write it. */
typedef struct mlaf_gather_kv_b_args {
  uint32_t struct_size; /* sizeof(mlaf_gather_kv_b_args), set by MLAF_GATHER_KV_B_ARGS_INIT */
  uint32_t flags;       /* 0 */
  int32_t batch;        /* requests, 0 and up */
  int32_t page_tokens;  /* rows of a page */
  int64_t tokens;       /* T: rows of k that there are. Those behind cu_seqlens[batch] are not written,
                         * but by plans made with MLAF_PLAN_LIBRARY, which may write anything there */
  const void *cache;    /* rows of R+P; split: R; fp8_ds_mla: R bytes e4m3fn, 4 fp32 scales of 128 columns, P 16-bit */
  int64_t cache_row_stride, cache_page_stride;
  int64_t num_pages;     /* 0 .. 2^31-1 */
  const float *scale_at; /* of e4m3fn and e4m3fnuz: a value is stored x scale. On the device; NULL: `scale` */
  float scale;
  int32_t table_width; /* entries of a request's row of the table; 0: as many as its stride */
  /* Pages of each request: its row of a table [batch, table_stride], or, where table_indptr is set, the entries
   * table_indptr[r] .. table_indptr[r+1]-1 of a list. A page outside the cache, a position outside the table: NaN. */
  const int32_t *table;
  int64_t table_stride;
  const int32_t *table_indptr; /* [batch + 1], or NULL */
  const int32_t *cu_seqlens;   /* [batch + 1], from 0 on, not falling */
  const int32_t *seq_starts;   /* [batch]; NULL: all 0 */
  const void *w;               /* kv_b_proj's weight [H, N+V, R] */
  int64_t w_row_stride, w_head_stride;
  void *k;
  int64_t k_token_stride, k_head_stride; /* 0: dense, of rows of N+V where v is NULL */
  void *v;                               /* NULL: behind k's N columns */
  int64_t v_token_stride, v_head_stride;
  void *k_pe; /* NULL: not wanted */
  int64_t k_pe_token_stride;
  int64_t k_pe_head_stride; /* 0: one row for all heads; else each head gets a copy, e.g. behind its columns of k */
  /* The rope tensor of a split cache (else NULL): rows of P, in pages of as many rows as the cache's have, so that its page
   * stride is whole rows. */
  const void *cache_kpe;
  int64_t cache_kpe_row_stride;
  void *workspace;       /* 256-byte aligned; wanted where mlaf_run_workspace says so, as launches of plans made with
                          * MLAF_PLAN_LIBRARY may. NULL with workspace_size 0: the stream's, which the context keeps (context.h).
                          * Launches that overlap must not share one of the caller's */
  size_t workspace_size;
  /* RoPE table, for rope_pairs and rope_halves only: a row a position, P/2 cosines, then P/2 sines, dense, 16-byte aligned.
   * Positions outside of it: NaN. */
  const float *rope_table;
  int64_t rope_rows;
} mlaf_gather_kv_b_args;
#define MLAF_GATHER_KV_B_ARGS_INIT {.struct_size = sizeof(mlaf_gather_kv_b_args), .scale = 1.0f}

/* Launch on `stream` (the device's; NULL: its default one). Legal in graph capture; never allocates, waits or reads device memory
 * on the host. E_ARG names the argument. Thread-safe. */
static inline mlaf_status mlaf_gather_kv_b_execute(const mlaf_plan *plan, const mlaf_gather_kv_b_args *args, void *stream) {
  return mlaf_run(plan, "mla_gather_kv_b", args, stream);
}

#endif
