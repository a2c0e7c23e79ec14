/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* Functions of mla_decode beside plans and launches: words of its problem, its workspace, block tables and index lists in place
 * of page lists. */
#ifndef MLAF_EMBED_MLA_DECODE_TABLES_H
#define MLAF_EMBED_MLA_DECODE_TABLES_H

#include "mlaf_embed_mla_decode.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MLAF_EMBED_DECODE_BF16 = 0, MLAF_EMBED_DECODE_F16 = 1 };

/* Bytes of workspace for total_q query tokens; 0: none. SIZE_MAX: more than there can be. Each thread hands over one of its own,
 * and outputs and lists of a block table, also on one stream, as an execution is up to two launches and those of another thread
 * may come in between. */
size_t mlaf_embed_decode_workspace(const mlaf_embed_plan *plan, int64_t total_q);

/* --- a block table in place of page lists --- */
/* Device pointers. */
typedef struct mlaf_embed_decode_tables {
  const int32_t *block_table; /* [B] rows of page ids, row_stride entries apart; one outside [0, num_pages): NaN, no fault */
  const int32_t *seq_lens;    /* [B] cached tokens; one that its row has no room for makes its request NaN */
  int64_t row_stride;         /* entries; 0: width */
  int32_t width;              /* entries of a row that are looked at: no more than the longest request needs */
  int32_t q_tokens;           /* query tokens of each request, 1..q_len */
} mlaf_embed_decode_tables;

/* Load the kernel for them: by the thread that plans, and not inside a graph capture. */
mlaf_embed_status mlaf_embed_decode_tables_open(mlaf_embed *e, char *why, size_t why_size);
/* Bytes that the lists of such a table take; SIZE_MAX: more than there can be. */
size_t mlaf_embed_decode_tables_size(int32_t batch, int32_t width);
/* Launch what writes the lists into `memory` (device, 4-byte aligned), and point args to them: total_q, qo_indptr, kv_indptr,
 * kv_indices and kv_last_page_lens are set, batch and num_pages read. mlaf_embed_decode_execute on the same stream comes next.
 * Table and lengths are read on the device, at each replay of a graph; it neither allocates nor waits. */
mlaf_embed_status mlaf_embed_decode_tables_make(const mlaf_embed_plan *plan, const mlaf_embed_decode_tables *tables, void *memory,
                                                size_t memory_size, mlaf_embed_decode_args *args, void *stream, char *why,
                                                size_t why_size);

/* --- index lists in place of page lists: sparse attention ---
 * mlaf_embed_decode_execute takes arguments with `indices` (and topk, topk_length, attn_sink: mlaf_embed_mla_decode.h) once the
 * kernels for them are loaded, with a plan for pages of 1. */

/* Load those kernels: by the thread that plans, and not inside a graph capture. */
mlaf_embed_status mlaf_embed_decode_lists_open(mlaf_embed *e, char *why, size_t why_size);
/* Load those for lists over two pools (extra_ckv, extra_indices, ...), in the same way. */
mlaf_embed_status mlaf_embed_decode_pools_open(mlaf_embed *e, char *why, size_t why_size);
/* Bytes of workspace for a launch with these arguments, of which only the sizes and which of them are given are looked at.
 * SIZE_MAX: no launch takes them. */
size_t mlaf_embed_decode_lists_workspace(const mlaf_embed_plan *plan, const mlaf_embed_decode_args *args);

#ifdef __cplusplus
}
#endif
#endif
