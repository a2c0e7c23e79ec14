/* The kernel argument blocks: the contract between every template and the runtime that launches it.
 * Templates declare the same structs in templates/mla_decode/lib/args.h; tests/core/test_launch.c compares the two. Passed by
 * value, so the bytes below are the kernarg segment. All device pointers.
 *
 * What a kernel K wants of its launch beyond threads and rows it says itself, in its code object: a constant K_launch of type
 * mlaf_kernel_launch (below). So a plan from the database, a bundle and a fresh compile launch it alike. No such constant
 * means: no dynamic shared memory, no cluster, no tensor maps, schedule "splits". */
#ifndef MLAF_LAUNCH_H
#define MLAF_LAUNCH_H

#include <stdbool.h>
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
  float *part_o;                    /* [splits, T, H, R] fp32, each split normalised by its own sum; or, between kernels that
                                       agree on it, 16-bit values in the same rows (templates/mla_decode/lib/narrow.h) */
  float *part_lse;                  /* [splits, T, H] base-2 LSE of the split */
  int64_t ckv_row_stride;           /* elements, multiple of 8 */
  int64_t kpe_row_stride;           /* elements, multiple of 8 */
  int64_t total_q;                  /* T */
  int32_t num_pages;                /* pages in the cache */
  int32_t splits;                   /* gridDim.y */
  float scale_log2e;                /* softmax scale * log2(e) */
  int32_t batch;                    /* B = gridDim.z before any remap */
} mlaf_decode_args;

/* Schedule "balanced" (mlaf_kernel_launch.schedule of the decode kernel): grid (row groups, parts, 1), row groups =
 * ceil(q_len*H / rows_per_wg), args.splits = parts. The blocks with blockIdx.y = p walk part p of all tokens of the batch, laid
 * end to end (templates/mla_decode/lib/schedule.h says where the cuts are). A request that lies whole in one part goes straight
 * to o and lse. Of the others a part has at most two: one that began in an earlier part (its slot 0) and one that goes on in a
 * later one (slot 1).
 *   part_o   [parts][2][q_len*H][R] fp32   row r of the request at r, normalised by its own sum
 *   part_lse [parts][2][q_len*H] fp32      base 2, on the next 256-byte boundary
 * The combine kernel of a balanced decode (its own K_launch says schedule 1 too) takes mlaf_decode_args, grid
 * (ceil(T*H / rows_per_wg), 1, 1), finds the same cuts and leaves rows alone that a part has finished. parts == 1: no combine,
 * no workspace. */

/* Combine kernel, schedule "splits", grid (ceil(T*H / rows_per_wg), 1, 1): merges the splits of a row through their LSE.
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

/* --- what a kernel says of its launch --- */

#define MLAF_LAUNCH_SUFFIX "_launch"
#define MLAF_LAUNCH_MAGIC 0x314b4c4du /* "MLK1" */
enum { MLAF_MAPS_MAX = 8, MLAF_MAP_BYTES = 128 };
typedef enum mlaf_schedule { MLAF_SCHEDULE_SPLITS, MLAF_SCHEDULE_BALANCED } mlaf_schedule;
/* Kernel flags. OVERLAPS: it executes griddepcontrol.wait, in every thread that touches global memory, before the first such
 * access that counts, so that it may be launched while the launch before it still runs. Before that it may ask for memory
 * (prefetches, by what the tables say then), which changes nothing but time. */
enum {
  MLAF_KERNEL_OVERLAPS = 1,
  /* A block works on requests blockIdx.z, blockIdx.z + gridDim.z, ...: grid z is as small as it can be while the device's compute
   * units, one block each, take no more turns. */
  MLAF_KERNEL_TURNS = 2,
  /* Of a kernel that FITS: with no combine kernel behind it, parts add up what they cut among themselves
   * (templates/mla_decode/lib/meet.h), whatever was in part_o before. */
  MLAF_KERNEL_MEETS = 4,
  /* Schedule "splits", but where the requests' lengths differ much the launch cuts the whole batch into equal parts
   * (templates/mla_decode/lib/fit.h; fit_wave.h on CDNA): as many as the grid has blocks for a group of rows, but no more than
   * the device's compute units hold of them at once (per_cu below). args.splits then is mlaf_fit_word(). Workspace also with one
   * split: MLAF_FIT_BYTES before part_o, in which the last word tells the combine kernel how many parts there were (0: none) and
   * the others which requests they cut, and room for the splits' partial results or two slots of q_len*H rows a part, whichever
   * is more. The combine kernel says FITS, too, takes mlaf_decode_args and comes also behind one split; it adds up what was cut.
   * Only where parts meet may it be left out. */
  MLAF_KERNEL_FITS = 8
};
#define MLAF_FIT_BYTES 16384
#define MLAF_FIT_PARTS 4095   /* most parts: a word each in those bytes, and the last one */
#define MLAF_FIT_THREADS 1024 /* of the combine kernel behind one split, on a compute unit: its blocks take rows in turns */
/* Whether a kernel with these flags is never launched without a combine kernel behind it, however many splits there are. */
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
 * A coordinate outside reads zeros and writes nothing. A tensor without a byte (KPE at rope 0, a cache of 0 pages) leaves the
 * map zero: a kernel does not use it then. */
typedef enum mlaf_map_of { MLAF_MAP_CKV = 1, MLAF_MAP_KPE, MLAF_MAP_Q, MLAF_MAP_O } mlaf_map_of;
typedef struct mlaf_map_want {
  uint32_t of;         /* mlaf_map_of */
  uint32_t cols, rows; /* the box one copy moves: cols*2 bytes at most the swizzle's, rows 1..256 */
  uint32_t swizzle;    /* bytes: 0 (none), 32, 64, 128 */
} mlaf_map_want;

/* The constant K_launch. With maps, the parameter block is mlaf_decode_args followed by n_maps maps of 128 bytes, 64-byte
 * aligned: one struct parameter (templates/lib/launch.h declares it), __grid_constant__. */
typedef struct mlaf_kernel_launch {
  uint32_t magic, size;    /* MLAF_LAUNCH_MAGIC, sizeof(mlaf_kernel_launch) */
  uint32_t dynamic_shared; /* bytes */
  uint32_t cluster[3];     /* blocks; 0 or 1: none. Grid x and z are rounded up to a multiple of it: a block beyond the row
                              groups or batch of the arguments has no work. Grid y is splits * cluster[1]: the blocks of a
                              cluster along y work on one split together */
  uint32_t flags, schedule;
  uint32_t per_cu;         /* blocks that a compute unit holds at once, for FITS; 0: one */
  uint32_t reserved[2];    /* 0 */
  uint32_t n_maps;
  mlaf_map_want maps[MLAF_MAPS_MAX];
} mlaf_kernel_launch;

/* Bytes of the parameter block of a kernel that takes `args_size` bytes under schedule "splits". */
static inline uint32_t mlaf_launch_block_size(const mlaf_kernel_launch *l, uint32_t args_size) {
  if (l->schedule == MLAF_SCHEDULE_BALANCED || l->flags & MLAF_KERNEL_FITS) args_size = sizeof(mlaf_decode_args);
  return args_size + l->n_maps * MLAF_MAP_BYTES;
}

#endif
