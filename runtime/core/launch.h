/* The kernel argument blocks: the contract between every template and the runtime that launches it.
 * Templates declare the same structs in templates/lib/args.h; tests/core/test_launch.c compares the two. Passed by value, so
 * the bytes below are the kernarg segment. All device pointers. */
#ifndef MLAF_LAUNCH_H
#define MLAF_LAUNCH_H

#include <stdint.h>

/* Limits that mlaf_execute checks and kernels stand on: rows and row bytes are 32-bit factors of 64-bit offsets, and 16
 * rows' bytes fit 32 bits. More rows than this are beyond any device's memory. */
#define MLAF_ROW_STRIDE_MAX (INT64_C(1) << 27) /* elements of 2 bytes */
#define MLAF_CACHE_ROWS_MAX (INT64_C(1) << 32) /* num_pages * page_size stays below */

/* Decode kernel, grid (ceil(q_len*H / rows_per_wg), splits, batch), block (threads,1,1).
 * Rows of request b: r in [0, n*H), n = qo_indptr[b+1]-qo_indptr[b] (n <= q_len, may be 0), token qo_indptr[b] + r/H,
 * head r%H: contiguous in Q and O. kv_len(b) = pages(b) ? (pages(b)-1)*page_size + kv_last_page_lens[b] : 0.
 * splits == 1: writes o and lse. splits > 1: writes part_o and part_lse for every (split, row) of a live row; a split
 * with no token writes part_lse = -inf and leaves part_o alone. A request with kv_len 0 gets o = 0, lse = -inf.
 * A page id outside [0, num_pages) never faults: that request's rows come out NaN. */
typedef struct mlaf_decode_args {
  const void *q;                    /* [T, H, R+P] dtype, dense */
  const void *ckv;                  /* row j: ckv + j*ckv_row_stride elements, R used */
  const void *kpe;                  /* row j: kpe + j*kpe_row_stride elements, P used (ckv + R in the combined cache) */
  const int32_t *qo_indptr;         /* [B+1] tokens */
  const int32_t *kv_indptr;         /* [B+1] pages */
  const int32_t *kv_indices;        /* [kv_indptr[B]] page ids; row of token t: kv_indices[..t/page]*page + t%page */
  const int32_t *kv_last_page_lens; /* [B] tokens in the last page, 1..page_size */
  void *o;                          /* [T, H, R] dtype */
  float *lse;                       /* [T, H] natural log of the sum of exp(scale * score); -inf when empty. May be NULL */
  float *part_o;                    /* [splits, T, H, R] fp32, each split normalised by its own sum */
  float *part_lse;                  /* [splits, T, H] base-2 LSE of the split */
  int64_t ckv_row_stride;           /* elements, multiple of 8 */
  int64_t kpe_row_stride;           /* elements, multiple of 8 */
  int64_t total_q;                  /* T */
  int32_t num_pages;                /* pages in the cache */
  int32_t splits;                   /* gridDim.y */
  float scale_log2e;                /* softmax scale * log2(e) */
  int32_t batch;                    /* B = gridDim.z before any remap */
} mlaf_decode_args;

/* Combine kernel, grid (ceil(T*H / rows_per_wg), 1, 1): merges the splits of a row through their LSE.
 * part_o of a split whose part_lse is -inf is never read into the result (it may hold anything). */
typedef struct mlaf_combine_args {
  const float *part_o;
  const float *part_lse;
  void *o;
  float *lse; /* may be NULL */
  int64_t rows; /* T*H */
  int32_t splits;
  int32_t reserved;
} mlaf_combine_args;

#endif
