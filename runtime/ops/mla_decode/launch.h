/* The kernel argument blocks: the contract between every template and the runtime that launches it. Templates declare the same
 * structs in templates/mla_decode/lib/args.h; tests/lua/test_args.lua compares the two. Passed by value, so the bytes
 * below are the kernarg segment. All device pointers. */
#pragma once

#include "device/kernel_launch.h"
#include "ops/mla_decode/args.h"

/* Limits that mlaf_execute checks and kernels stand on: rows and row bytes are 32-bit factors of 64-bit offsets, and 16
 * rows' bytes fit 32 bits. More rows than this are beyond any device's memory. */
#define MLAF_ROW_STRIDE_MAX (INT64_C(1) << 27) /* elements of 2 bytes; of a cache whose strides are bytes, twice that */
#define MLAF_CACHE_ROWS_MAX (INT64_C(1) << 32) /* num_pages * page_size stays below */

/* Decode kernel, grid (ceil(q_len*H / rows_per_wg), splits, batch), block (threads,1,1).
 * Rows of request b: r in [0, n*H), n = qo_indptr[b+1]-qo_indptr[b] (n <= q_len, may be 0), token qo_indptr[b] + r/H,
 * head r%H: contiguous in Q and O. kv_len(b) = pages(b) ? (pages(b)-1)*page_size + kv_last_page_lens[b] : 0.
 * splits == 1: writes o and lse. splits > 1: writes part_o and part_lse for every (split, row) of a live row; a split
 * with no token writes part_lse = -inf and leaves part_o alone. A request with kv_len 0 gets o = 0, lse = -inf.
 * A page id outside [0, num_pages) never faults: that request's rows come out NaN.
 * A kernel that rotates what it reads has the same numbers in fewer bits, to make room for its table in as many bytes
 * (templates/mla_decode/lib/args_words.h). Behind the table's end cosines are NaN: so are the rows that see such a key.
 * A kernel that reads an 8-bit cache has them in fewer bits, too: row j of ckv is a token's bytes as its format stores them, its
 * rope columns are at kpe + j * kpe_row_stride, and strides are bytes.
 * One whose Q is of 8 bits, too, has rows of R+P bytes there, and one stride.
 * One whose scales lie behind a page's rows has no strides of rows, kpe is the second pool, and with pages of 1 ids are tokens in
 * pages of page_tokens, those of the second pool with bit 31. */
typedef struct mlaf_pool_words {
  uint32_t page_rows, extra_page_rows;     /* from page to page, in a pool below 2^31 */
  uint32_t page_tokens, extra_page_tokens; /* 1 and up */
  int32_t total_q, extra_tokens;           /* extra_tokens: pages * tokens of the second pool */
} mlaf_pool_words;
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
  float *part_o;                    /* [splits, T, H, R] fp32, each split normalised by its own sum; or, between kernels that
                                       agree on it, 16-bit values in the same rows (templates/mla_decode/lib/narrow.h) */
  float *part_lse;                  /* [splits, T, H] base-2 LSE of the split */
  union {
    struct {
      int64_t ckv_row_stride;       /* elements, multiple of 8 */
      int64_t kpe_row_stride;       /* elements, multiple of 8 */
      int64_t total_q;              /* T */
    };
    MLA_DECODE_WORDS_UNION          /* of problems with optional tensors (gen/ops/mla_decode/args.lua) */
    mlaf_pool_words pools;          /* of one with scales behind a page's rows */
  };
  int32_t num_pages;                /* pages in the cache */
  int32_t splits;                   /* gridDim.y */
  float scale_log2e;                /* softmax scale * log2(e) */
  int32_t batch;                    /* B = gridDim.z before any remap */
} mlaf_decode_args; /* where Q is two tensors, q has columns [0, R) of each row, and q_pe of mlaf_q_words behind it the others;
                     * strides there count 16 bytes */

/* Index lists, for a kernel that says MLAF_KERNEL_LISTS: qo_indptr is the sinks' address or NULL, and this bit, which is in no
 * address of tables, request t is query token t, kv_indices are the lists' rows of the cache, of which those outside
 * [0, num_pages) are absent, kv_indptr the lists' lengths or NULL, kv_last_page_lens this word: topk - 1,
 * then tokens of a length less 1, then entries between lists. False: the word has no room for them. Sinks of rows in several
 * splits are the merge kernel's, if it says MLAF_KERNEL_LISTS: its kpe is their address, or NULL, and its qo_indptr is this
 * bit. */
enum { MLAF_LIST_MARK = 1 };
enum { MLAF_LIST_TOPK_BITS = 20, MLAF_LIST_SHARE_BITS = 20, MLAF_LIST_GAP_BITS = 24 };
static inline bool mlaf_list_word(int64_t topk, int64_t share, int64_t stride, uint64_t *out) {
  const int64_t gap = stride - topk;
  *out = (uint64_t)(topk - 1) | (uint64_t)(share - 1) << MLAF_LIST_TOPK_BITS |
         (uint64_t)gap << (MLAF_LIST_TOPK_BITS + MLAF_LIST_SHARE_BITS);
  return topk <= 1 << MLAF_LIST_TOPK_BITS && share <= 1 << MLAF_LIST_SHARE_BITS && gap < 1 << MLAF_LIST_GAP_BITS;
}

/* Index lists of a second pool beside them, for a kernel of a cache with two: the fields of outputs that the launch does not
 * write (part_o and part_lse of one split, else o and lse) are the lists' address and that of their lengths, NULL: none, and
 * total_q, which is batch, is this word: topk - 1, then entries between lists. False: the word has no room for them. */
enum { MLAF_EXTRA_GAP_BITS = 12 };
static inline bool mlaf_extra_word(int64_t topk, int64_t stride, uint32_t *out) {
  const int64_t gap = stride - topk;
  *out = (uint32_t)(topk - 1) | (uint32_t)gap << MLAF_LIST_TOPK_BITS;
  return topk <= 1 << MLAF_LIST_TOPK_BITS && gap < 1 << MLAF_EXTRA_GAP_BITS;
}

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

/* Combine kernel fused with the value projection, grid (H, 1, 1), or of one that says `values_each`
 * (H V / columns ceil(T / rows_per_wg), 1, 1): each row merged as above, or taken from o where it is done, then
 * multiplied. lse is not written. */
typedef struct mlaf_values_args {
  mlaf_decode_args decode;
  void *values;                     /* [T, H, V] dtype */
  int32_t w_head_rows;              /* of the map of W_UV, from head to head */
  int32_t columns;                  /* that a block makes */
  const void *w_v;                  /* W_UV, for kernels without a map of it */
  int64_t w_v_row_stride;           /* elements */
  int32_t more[8];                  /* maps are 64-byte aligned */
} mlaf_values_args;

/* --- schedules --- */

#define MLAF_FIT_BYTES 16384
#define MLAF_FIT_PARTS 4095   /* most parts: a word each in those bytes, and the last one */
/* True where a kernel with these flags is never launched without a combine kernel behind it, however many splits there are. */
static inline bool mlaf_launch_needs_combine(uint32_t flags) {
  return flags & MLAF_KERNEL_FITS && !(flags & MLAF_KERNEL_MEETS);
}
/* splits below 2^15, parts below 2^15; combined: a combine kernel comes behind. */
static inline int32_t mlaf_fit_word(uint32_t splits, int combined, uint32_t parts) {
  return (int32_t)(splits | (combined ? 1u << 15 : 0) | parts << 16);
}

/* A tensor map (TMA) the runtime encodes for every launch: two dimensions of 16-bit elements, the inner one dense.
 *   CKV  num_pages*page_size rows of R columns, ckv_row_stride apart      Q  T*H rows of R+P columns
 *   KPE  num_pages*page_size rows of P columns, kpe_row_stride apart      O  T*H rows of R columns
 *        An 8-bit cache has no KPE, and CKV's columns are its tokens' bytes in pairs.
 *   Q_NOPE, Q_PE  of Q in two tensors, in three dimensions: T tokens of H rows of R columns, or P; a box has `rows` rows of one
 *        token, or where H divides `rows` all rows of some tokens
 *   W    rows of W_UV from the first head's to the last one's, R columns: of a combine kernel fused with the value projection
 * A coordinate outside reads zeros and writes nothing. A tensor without a byte (KPE at rope 0, a cache of 0 pages) leaves the
 * map zero: a kernel does not use it then. */
typedef enum mlaf_map_of { MLAF_MAP_CKV = 1, MLAF_MAP_KPE, MLAF_MAP_Q, MLAF_MAP_O, MLAF_MAP_W, MLAF_MAP_Q_NOPE,
                           MLAF_MAP_Q_PE } mlaf_map_of;
/* Bytes of the parameter block of a kernel that takes `args_size` bytes unless it FITS. */
static inline uint32_t mlaf_launch_block_size(const mlaf_kernel_launch *l, uint32_t args_size) {
  if (l->flags & MLAF_KERNEL_FITS) args_size = sizeof(mlaf_decode_args);
  if (l->flags & MLAF_KERNEL_Q_WORDS) args_size += sizeof(mlaf_q_words);
  if (l->values) args_size = sizeof(mlaf_values_args);
  return args_size + l->n_maps * MLAF_MAP_BYTES;
}
