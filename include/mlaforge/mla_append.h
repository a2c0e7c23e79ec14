/* mla_append: writes new tokens into the latent cache of an MLA layer, and on demand the query rows that attention reads, in one
 * kernel.
 *
 *   latent  ckv [T, R] -> RMSNorm, or as it is -> cast or quantised -> the cache's row slots[t]
 *   rope    kpe [T, P] -> rotated to positions[t] -> cast or quantised -> the cache's row slots[t]
 *   query   (q_nope [T, H, R], q_pe [T, H, P] rotated) -> q_out [T, H, R+P]
 *
 * A plan of a problem such as "mla_append:h16,r512,p64,bf16,paged,pairs,norm,t64" (mlaf_plan_for) serves any number of tokens. */
#ifndef MLAFORGE_MLA_APPEND_H
#define MLAFORGE_MLA_APPEND_H

#include "mlaforge/operation.h"

enum {
  MLAF_APPEND_ALL_Q = 1u << 0,        /* query rows also of tokens whose slot is negative: their positions are used then */
  MLAF_APPEND_POWER_OF_TWO = 1u << 1, /* scales of fp8_ds_mla are powers of two, as DeepSeek-V3.2's are; else largest / 448 */
  MLAF_APPEND_TABLE_16 = 1u << 2      /* cosines and sines are of the problem's dtype; else fp32 */
};

/* Device pointers of the plan's device. T tokens, H heads, R rank, P rope. Strides in elements; a row of the cache counts 16-bit
 * elements of paged and split caches, bytes of the others. All but slots, positions and scale_at 16-byte aligned, all strides a
 * multiple of 16 bytes. A stride of 0: dense. norm_weight, cos and sin are constants: the launch before this one on its stream
 * must not write them. */
typedef struct mlaf_append_args {
  uint32_t struct_size;       /* sizeof(mlaf_append_args), set by MLAF_APPEND_ARGS_INIT */
  uint32_t flags;             /* MLAF_APPEND_* */
  int64_t tokens;             /* T, 0 and up */
  const void *ckv, *kpe;      /* rows may be slices of one row of a projection's output */
  int64_t ckv_row_stride, kpe_row_stride;
  const void *norm_weight;    /* [R], of the problem's dtype; only with norm */
  float eps;                  /* of the norm, added to the mean square */
  float scale;                /* of e4m3fn and e4m3fnuz: stored is value / scale, saturated; used where scale_at is NULL */
  const float *scale_at;      /* that scale on the device, or NULL; rows are NaN where it is not a positive normal number */
  const int64_t *slots;       /* [T] rows of the cache, all different; outside [0, num_slots): nothing is written */
  const int64_t *positions;   /* [T] rows of the table; not used where the slot is outside. Outside [0, table_rows): NaN */
  const void *cos, *sin;      /* [table_rows, P/2]; sin NULL: a row of cos has its P/2 sines behind */
  int64_t table_row_stride;   /* 0: P/2, or P where sin is NULL */
  int64_t table_rows;
  /* Rows of R+P; of two tensors R. fp8_ds_mla: R bytes e4m3fn, 4 fp32 scales of 128 columns, P 16-bit. fp8_v4: pages of
   * page_tokens rows of 576 bytes, then 8 bytes for each, 7 of which are scales; pages a multiple of 576 bytes apart, 0: as near
   * as they can be. fp8_planar: pages of page_tokens rows of R bytes e4m3fn, then 16 bytes of scales for each, then P 16-bit for
   * each; pages a multiple of R bytes apart, 0: as near as they can be. */
  void *cache;
  void *cache_kpe;            /* the second of two tensors: rows of P, or what the layout has there (docs/append.md). Of fp8_v4
                               * those 8 bytes, where they lie elsewhere, or NULL. Of fp8_planar a row of scales and rope
                               * columns for each token, where they lie elsewhere, or NULL */
  int64_t cache_row_stride, cache_kpe_row_stride;
  int64_t num_slots;          /* 0 .. 2^32-1 */
  int64_t cache_page_stride;  /* from page to page where pages lie apart; 0: page_tokens rows */
  int64_t cache_kpe_page_stride;
  int32_t page_tokens;        /* rows of a page; needed only where pages lie apart, with fp8_v4 and with fp8_planar */
  int32_t reserved;           /* 0 */
  void *kpe_out;              /* [T, P] the rotated rope columns, e.g. kpe itself; NULL: not wanted */
  int64_t kpe_out_row_stride;
  const void *q_nope, *q_pe;  /* all NULL: no query rows in this launch. q_nope NULL: the rope columns alone */
  int64_t q_nope_token_stride, q_nope_head_stride, q_pe_token_stride, q_pe_head_stride;
  void *q_out;                /* [T, H, R+P] */
  int64_t q_out_token_stride, q_out_head_stride;
  void *q_pe_out;             /* NULL: behind q_out's R columns; else the rope columns go here, e.g. to q_pe itself */
  int64_t q_pe_out_token_stride, q_pe_out_head_stride;
} mlaf_append_args;
#define MLAF_APPEND_ARGS_INIT \
  { .struct_size = sizeof(mlaf_append_args), .eps = 1e-6f, .scale = 1.0f }

/* Launch on `stream` (the device's; NULL: its default one). Legal in graph capture; never allocates, waits or reads device memory
 * on the host. E_ARG names the argument. Thread-safe. */
static inline mlaf_status mlaf_append_execute(const mlaf_plan *plan, const mlaf_append_args *args, void *stream) {
  return mlaf_run(plan, "mla_append", args, stream);
}

#endif
