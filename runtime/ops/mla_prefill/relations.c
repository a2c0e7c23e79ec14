/* Relations between mla_prefill's arguments that its table does not say, and its launch: (total_q / rows_per_wg + batch) * H
 * blocks. Request r's are those from (cu_seqlens_q[r] / rows_per_wg + r) * H on, at least as many as it has tiles: so a block
 * finds its request by a search, and nobody needs a list of tiles. A kernel that says MLAF_KERNEL_TURNS has a grid of at most the
 * device's compute units, each of which takes every gridDim.x-th block. With clusters a block here is a cluster: its blocks work
 * on a tile together. */
#include <float.h>

#include "op/maps.h"
#include "ops/mla_prefill/prefill.h"

static const uint64_t BLOCKS_MOST = INT32_MAX, THREADS_MOST = UINT32_MAX; /* of a launch, as CUDA and AMD's packets count them */
static const double LOG2E = 1.4426950408889634;
_Static_assert(offsetof(mlaf_prefill_kernel_args, q_scale) == 184, "templates/mla_prefill/lib/args.h has as many bytes");
_Static_assert(sizeof(mlaf_prefill_kernel_args) == 208, "templates/mla_prefill/lib/args_fp8.h has as many bytes");
_Static_assert(256 + MLAF_MAPS_MAX * MLAF_MAP_BYTES <= MLAF_PARAMETERS_MAX, "a prepared launch holds block and maps");

/* A kernel that says MLAF_KERNEL_TURNS deals its tiles to so many crews of blocks (templates/mla_prefill/lib/deal.h). It may have
 * more tiles than the blocks counted above, and no crew may be without a block. */
enum { CREWS = 4 };

void prefill_sizes(const int32_t *f, const mlaf_prefill_args *a, int64_t *n) {
  n[PREFILL_SIZE_UNIT] = f[MLA_PREFILL_INPUTS] ? 1 : 2;
  n[PREFILL_SIZE_KCOLUMNS] = n[a->k_pe ? PREFILL_SIZE_N : PREFILL_SIZE_QK];
}

mlaf_status prefill_numbers(const int32_t *f, const mlaf_prefill_args *a, mlaf_err *err) {
  if (a->batch < 0) return mlaf_fail(err, MLAF_E_ARG, "batch is %d, must not be negative", a->batch);
  if (a->total_k < 0 || a->total_k > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "total_k is %lld, must be 0..2^31-1", (long long)a->total_k);
  if (!(isnormal(a->scale) && a->scale > 0))
    return mlaf_fail(err, MLAF_E_ARG, "scale is %g, must be finite and positive, from %g on", (double)a->scale, (double)FLT_MIN);
  return MLAF_OK;
}

/* UINT64_MAX: more than any. */
static uint64_t blocks_of(const mlaf_stage *k, const mlaf_prefill_args *a, const int64_t *n) {
  const uint64_t tiles = (uint64_t)a->total_q / k->rows_per_wg + (uint64_t)a->batch;
  return tiles > UINT32_MAX ? UINT64_MAX : tiles * (uint64_t)n[PREFILL_SIZE_H];
}

mlaf_status prefill_related(const mlaf_bound *b, const mlaf_prefill_args *a, const int64_t *n, mlaf_err *err) {
  const uint64_t by_threads = THREADS_MOST / b->stage[0].threads, most = by_threads < BLOCKS_MOST ? by_threads : BLOCKS_MOST;
  if (a->k_pe && !n[PREFILL_SIZE_P])
    return mlaf_fail(err, MLAF_E_ARG, "k_pe is set, and the problem has no rope columns: NULL");
  if (!b->point.v[MLA_PREFILL_INPUTS] && (a->q_scale || a->k_scale || a->v_scale))
    return mlaf_fail(err, MLAF_E_ARG, "q_scale, k_scale or v_scale is set, and the problem has no inputs of 8 bits: NULL");
  if (blocks_of(&b->stage[0], a, n) <= most) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "total_q is %lld and batch %d: more blocks than the %llu of a launch; launch fewer requests "
                   "at once", (long long)a->total_q, a->batch, (unsigned long long)most);
}

mlaf_status prefill_check_stages(const mlaf_bound *b, mlaf_err *err) {
  const bool bytes = b->point.v[MLA_PREFILL_INPUTS];
  if (!b->stage[0].fn) return mlaf_fail(err, MLAF_E_ARG, "no prefill kernel");
  if (b->knob != 1) return mlaf_fail(err, MLAF_E_ARG, "the knob is %u, and mla_prefill has none: 1", b->knob);
  if (!(b->stage[0].launch.flags & MLAF_KERNEL_SCALES) != !bytes)
    return mlaf_fail(err, MLAF_E_ARG, "its kernel takes inputs of %d bits, and the problem has %d", bytes ? 16 : 8,
                     bytes ? 8 : 16);
  if (!b->stage[0].rows_per_wg) return mlaf_fail(err, MLAF_E_ARG, "its kernel does not say how many tokens a workgroup has");
  return MLAF_OK;
}

/* --- a launch --- */

typedef struct filled {
  const int64_t *n;
  mlaf_prefill_kernel_args block;
} filled;

/* All heads of a token beside each other. Maps count in columns of 16 bits, which may be two of 8. */
static mlaf_tensor tensor_of(const void *launch, const mlaf_map_want *want) {
  const filled *f = (const filled *)launch;
  const mlaf_prefill_kernel_args *k = &f->block;
  const int64_t *n = f->n;
  const struct {
    const void *data;
    int64_t head, columns, rows, token;
  } all[] = {
      [PREFILL_MAP_Q] = {k->q, k->q_head, n[PREFILL_SIZE_QK], k->total_q, k->q_token},
      [PREFILL_MAP_K] = {k->k, k->k_head, n[PREFILL_SIZE_N], k->total_k, k->k_token},
      [PREFILL_MAP_K_PE] = {k->k_pe, k->k_pe_head, n[PREFILL_SIZE_P], k->total_k, k->k_pe_token},
      [PREFILL_MAP_V] = {k->v, k->v_head, n[PREFILL_SIZE_V], k->total_k, k->v_token},
  }, *t = &all[want->of];
  return (mlaf_tensor){.data = t->rows && t->columns ? t->data : NULL,
                       .cols = (uint64_t)(((n[PREFILL_SIZE_H] - 1) * t->head + t->columns * n[PREFILL_SIZE_UNIT]) / 2),
                       .rows = (uint64_t)t->rows,
                       .row_stride = (uint64_t)t->token,
                       .box_cols = want->cols,
                       .box_rows = want->rows,
                       .swizzle = want->swizzle};
}

mlaf_status prefill_complete(const mlaf_bound *b, const mlaf_prefill_args *a, const int64_t *n, mlaf_prefill_kernel_args *k,
                             mlaf_launch *launch, mlaf_err *err) {
  const mlaf_kernel_launch *l = &b->stage[0].launch;
  const uint32_t team = l->cluster[0] > 1 ? l->cluster[0] : 1; /* blocks that share a tile */
  const uint32_t units = (uint32_t)mlaf_info(b->dev)->compute_units / team, blocks = (uint32_t)blocks_of(&b->stage[0], a, n);
  const uint32_t least = blocks < CREWS ? CREWS : blocks, some = units && least > units ? units : least;
  if (!a->k_pe) { /* of key 0, head 0; no pointer arithmetic on NULL */
    k->k_pe = a->k ? (const char *)a->k + n[PREFILL_SIZE_UNIT] * n[PREFILL_SIZE_N] : NULL;
    k->k_pe_token = k->k_token, k->k_pe_head = k->k_head;
  }
  k->scale_log2e = (float)((double)a->scale * LOG2E);
  launch->grid[0] = (l->flags & MLAF_KERNEL_TURNS ? some : blocks) * team;
  launch->cluster[0] = team;
  if (!l->n_maps) return MLAF_OK;
  const filled f = {n, *k}; /* maps begin where a block without scales ends */
  return mlaf_fill_maps(b->dev, l, tensor_of, &f, (unsigned char *)k + mlaf_arguments_maps_at(&prefill_arguments, l), err);
}
