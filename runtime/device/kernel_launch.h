/* Launch word of a kernel K: what it needs of its launch beyond threads and rows, as a constant K_launch of type
 * mlaf_kernel_launch in its code object. So a plan from the database, a bundle and a fresh compile launch it alike. No such
 * constant means: no dynamic shared memory, no cluster, no tensor maps. Templates declare the same (templates/lib/launch.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define MLAF_LAUNCH_SUFFIX "_launch"
#define MLAF_LAUNCH_MAGIC 0x314b4c4du /* "MLK1" */
#define MLAF_STAGES_MAX 4 /* kernels of a variant, launched one behind the other */
enum { MLAF_MAPS_MAX = 8, MLAF_MAP_BYTES = 128, MLAF_TENSORS_MAX = 32 };
/* Kernel flags. OVERLAPS: it executes griddepcontrol.wait, in every thread that touches global memory, before the first such
 * access that counts, so that it may be launched while the launch before it still runs. Before that it may ask for memory
 * (prefetches, by what the tables say then), which changes nothing but time, and read what no launch writes (weights). */
enum {
  MLAF_KERNEL_OVERLAPS = 1,
  /* A block works on requests blockIdx.z, blockIdx.z + gridDim.z, ...: grid z is as small as it can be while the device's compute
   * units, one block each, take no more turns. Of a combine kernel: its blocks take rows in turns, and where a batch may have
   * been cut it wants at least as many as the device holds. */
  MLAF_KERNEL_TURNS = 2,
  /* In-kernel split merge, of a kernel that FITS: with no combine kernel behind it, parts add up what they cut among themselves
   * (templates/mla_decode/lib/meet.h), whatever was in part_o before. */
  MLAF_KERNEL_MEETS = 4,
  /* Adaptive split: where the requests' lengths differ much the launch cuts the whole batch into equal parts
   * (templates/mla_decode/lib/fit.h; fit_wave.h on CDNA): as many as the grid has blocks for a group of rows, but no more than
   * the device's compute units hold of them at once (per_cu below). args.splits then is mlaf_fit_word(). Workspace also with one
   * split: MLAF_FIT_BYTES before part_o, in which the last word tells the combine kernel how many parts there were (0: none) and
   * the others which requests they cut, and room for the splits' partial results or two slots of q_len*H rows a part, whichever
   * is more. The combine kernel says FITS, too, takes mlaf_decode_args and comes also behind one split; it adds up what was cut.
   * Only where parts meet may it be left out. */
  MLAF_KERNEL_FITS = 8,
  /* It takes the whole of a projection's, a prefill's or a gather's argument block; others take what is before the scales, or
   * before the table of rotations. */
  MLAF_KERNEL_SCALES = 16,
  /* No kernel but a vendor's library's product (device/matmul.h); no code object of a compiler says so. */
  MLAF_KERNEL_LIBRARY = 32,
  /* Loads ahead into registers pass through L1, which has what shared memory leaves: an SM shall not stay as a kernel
   * before it wanted it, with hardly any (CUDA; a hint). */
  MLAF_KERNEL_WANTS_L1 = 64,
  /* A joint kernel: it serves the second, the third problem of its list, too, whose arguments are behind the first's
   * (op/joint.h). */
  MLAF_KERNEL_SECOND = 128,
  MLAF_KERNEL_THIRD = 256,
  /* A FITS kernel with this flag cuts each request by its own length alone (templates/mla_decode/lib/own_cut.h). The grid has as
   * many blocks as run at once, which take the parts of all requests in turns; partial results lie as those of splits do. */
  MLAF_KERNEL_INVARIANT = 512,
  /* A decode kernel that reads index lists itself where qo_indptr is odd, a merge kernel that applies their sinks
   * (ops/mla_decode/launch.h). */
  MLAF_KERNEL_LISTS = 1024,
  /* A projection with a norm that takes each token's factor, of 32 bits at `cos`, from a kernel before it. */
  MLAF_KERNEL_NORMED = 2048,
  /* A LISTS kernel whose blocks take the lists of tokens z, z + grid z, ... one after the other. */
  MLAF_KERNEL_LIST_TURNS = 4096,
  /* A projection that wants boxes of x with no more rows than there are tokens: a box that reaches beyond its tensor takes longer
   * to copy. */
  MLAF_KERNEL_X_ROWS = 8192,
  /* A decode kernel that knows more of Q than one dense tensor: mlaf_q_words follow its arguments (gen/ops/mla_decode/q.lua). */
  MLAF_KERNEL_Q_WORDS = 16384,
  /* All that a compiler's code object may say. */
  MLAF_KERNEL_KNOWN = MLAF_KERNEL_OVERLAPS | MLAF_KERNEL_TURNS | MLAF_KERNEL_MEETS | MLAF_KERNEL_FITS | MLAF_KERNEL_SCALES |
                      MLAF_KERNEL_WANTS_L1 | MLAF_KERNEL_SECOND | MLAF_KERNEL_THIRD | MLAF_KERNEL_INVARIANT |
                      MLAF_KERNEL_LISTS | MLAF_KERNEL_NORMED | MLAF_KERNEL_LIST_TURNS | MLAF_KERNEL_X_ROWS |
                      MLAF_KERNEL_Q_WORDS
};

/* A tensor map (TMA) the runtime encodes for every launch: two dimensions, the inner one dense. */
typedef struct mlaf_map_want {
  uint32_t of;         /* which tensor of the operation, from 1: loading checks that the operation has it */
  uint32_t cols, rows; /* the box one copy moves: cols*2 bytes at most the swizzle's, rows 1..256 */
  uint32_t swizzle;    /* bytes: 0 (none), 32, 64, 128 */
} mlaf_map_want;

/* The constant K_launch. With maps, the parameter block is the operation's arguments followed by n_maps maps of 128 bytes,
 * 64-byte aligned: one struct parameter (templates/lib/launch.h declares it), __grid_constant__. */
typedef struct mlaf_kernel_launch {
  uint32_t magic, size;    /* MLAF_LAUNCH_MAGIC, sizeof(mlaf_kernel_launch) */
  uint32_t dynamic_shared; /* bytes */
  uint32_t cluster[3];     /* blocks; 0 or 1: none. Grid x and z are rounded up to a multiple of it: a block beyond the row
                              groups or batch of the arguments has no work. Grid y is splits * cluster[1]: the blocks of a
                              cluster along y work on one split together */
  uint32_t flags;
  uint32_t schedule;       /* 0; earlier versions had another one, whose launches nobody makes any more */
  uint32_t per_cu;         /* blocks that a compute unit holds at once, for FITS; 0: one */
  uint32_t values;         /* columns of a value projection that a combine kernel is fused with: it takes mlaf_values_args
                              (ops/mla_decode/launch.h). 0: it is not */
  uint32_t values_each;    /* least columns of it that a block makes of rows_per_wg tokens; 0: all of a head, of all tokens */
  uint32_t n_maps;
  mlaf_map_want maps[MLAF_MAPS_MAX];
} mlaf_kernel_launch;
