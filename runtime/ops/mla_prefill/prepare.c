/* Filling a launch. */
#include <string.h>

#include "ops/mla_prefill/prefill.h"

/* The parameter block: arguments, those before the scales or all, then maps where the kernel has any. */
enum { MAP_ALIGN = 64, ARGS_MOST = 256 };
_Static_assert(offsetof(mlaf_prefill_kernel_args, q_scale) == 184, "templates/mla_prefill/lib/args.h has as many bytes");
_Static_assert(sizeof(mlaf_prefill_kernel_args) == 208, "templates/mla_prefill/lib/args_fp8.h has as many bytes");
_Static_assert(sizeof(mlaf_prefill_kernel_args) <= ARGS_MOST && ARGS_MOST + MLAF_MAPS_MAX * MLAF_MAP_BYTES <= MLAF_PARAMETERS_MAX,
               "a prepared launch holds them");

static const double LOG2E = 1.4426950408889634;

static uint32_t args_bytes(const mlaf_kernel_launch *launch) {
  return launch->flags & MLAF_KERNEL_SCALES ? sizeof(mlaf_prefill_kernel_args) : offsetof(mlaf_prefill_kernel_args, q_scale);
}
static uint32_t maps_at(const mlaf_kernel_launch *launch) { return (args_bytes(launch) + MAP_ALIGN - 1) / MAP_ALIGN * MAP_ALIGN; }

uint32_t prefill_parameter_bytes(int stage, const mlaf_kernel_launch *launch) {
  return launch->n_maps ? maps_at(launch) + launch->n_maps * MLAF_MAP_BYTES : args_bytes(launch);
}

uint64_t prefill_blocks(const prefill_shape *s, uint32_t rows_per_wg, int64_t total_q, int64_t batch) {
  const uint64_t tiles = (uint64_t)total_q / rows_per_wg + (uint64_t)batch;
  return tiles > UINT32_MAX ? UINT64_MAX : tiles * (uint64_t)s->heads;
}

/* Blocks that share a tile: a cluster. */
static uint32_t team_of(const mlaf_stage *k) { return k->launch.cluster[0] > 1 ? k->launch.cluster[0] : 1; }

static uint32_t blocks_of(const mlaf_stage *k, const prefill_shape *s, const mlaf_prefill_args *a, uint32_t units) {
  const uint32_t n = (uint32_t)prefill_blocks(s, k->rows_per_wg, a->total_q, a->batch);
  if (!(k->launch.flags & MLAF_KERNEL_TURNS)) return n;
  const uint32_t least = n < PREFILL_CREWS ? PREFILL_CREWS : n;
  return units && least > units ? units : least;
}

/* No pointer arithmetic on NULL. */
static const void *behind(const void *p, int64_t bytes) { return p ? (const void *)((uintptr_t)p + (uintptr_t)bytes) : NULL; }
static int64_t or_else(int64_t stride, int64_t dense) { return stride ? stride : dense; }

void prefill_fill(const prefill_shape *s, const mlaf_prefill_args *a, mlaf_prefill_kernel_args *out) {
  const int64_t heads = s->heads, k_row = a->k_pe ? s->nope : s->qk, bytes = s->bytes;
  const bool lse_dense = !a->lse_token_stride && !a->lse_head_stride;
  *out = (mlaf_prefill_kernel_args){
      .q = a->q,
      .k = a->k,
      .v = a->v,
      .cu_seqlens_q = a->cu_seqlens_q,
      .cu_seqlens_k = a->cu_seqlens_k,
      .o = a->o,
      .lse = a->lse,
      .q_head = bytes * or_else(a->q_head_stride, s->qk),
      .k_head = bytes * or_else(a->k_head_stride, k_row),
      .v_head = bytes * or_else(a->v_head_stride, s->vdim),
      .o_head = 2 * or_else(a->o_head_stride, s->vdim),
      .q_token = bytes * or_else(a->q_token_stride, heads * s->qk),
      .k_token = bytes * or_else(a->k_token_stride, heads * k_row),
      .v_token = bytes * or_else(a->v_token_stride, heads * s->vdim),
      .o_token = 2 * or_else(a->o_token_stride, heads * s->vdim),
      .lse_token = lse_dense ? 1 : a->lse_token_stride,
      .lse_head = lse_dense ? a->total_q : a->lse_head_stride,
      .total_q = a->total_q,
      .total_k = a->total_k,
      .batch = a->batch,
      .scale_log2e = (float)((double)a->scale * LOG2E),
      .q_scale = a->q_scale,
      .k_scale = a->k_scale,
      .v_scale = a->v_scale,
  };
  out->k_pe = a->k_pe ? a->k_pe : behind(a->k, bytes * s->nope);
  out->k_pe_token = a->k_pe ? bytes * or_else(a->k_pe_token_stride, s->rope) : out->k_token;
  out->k_pe_head = a->k_pe ? 0 : out->k_head;
}

/* The tensor a map wants, all heads of a token beside each other; no data: there is nothing to copy. Maps count in columns of
 * 16 bits, which may be two of 8. */
static mlaf_tensor tensor_of(const prefill_shape *s, const mlaf_prefill_kernel_args *a, const mlaf_map_want *want) {
  const struct {
    const void *data;
    int64_t head, columns, rows, token;
  } all[] = {
      [PREFILL_MAP_Q] = {a->q, a->q_head, s->qk, a->total_q, a->q_token},
      [PREFILL_MAP_K] = {a->k, a->k_head, s->nope, a->total_k, a->k_token},
      [PREFILL_MAP_K_PE] = {a->k_pe, a->k_pe_head, s->rope, a->total_k, a->k_pe_token},
      [PREFILL_MAP_V] = {a->v, a->v_head, s->vdim, a->total_k, a->v_token},
  }, *t = &all[want->of];
  return (mlaf_tensor){.data = t->rows && t->columns ? t->data : NULL,
                       .cols = (uint64_t)(((s->heads - 1) * t->head + t->columns * s->bytes) / 2),
                       .rows = (uint64_t)t->rows,
                       .row_stride = (uint64_t)t->token,
                       .box_cols = want->cols,
                       .box_rows = want->rows,
                       .swizzle = want->swizzle};
}

static mlaf_status fill_maps(const mlaf_bound *b, const prefill_shape *s, const mlaf_prefill_kernel_args *args,
                             unsigned char *maps, mlaf_err *err) {
  const mlaf_kernel_launch *k = &b->stage[0].launch;
  mlaf_status st = MLAF_OK;
  for (uint32_t i = 0; !st && i < k->n_maps; i++) {
    const mlaf_tensor t = tensor_of(s, args, &k->maps[i]);
    if (!t.data) memset(maps + i * MLAF_MAP_BYTES, 0, MLAF_MAP_BYTES);
    else
      st = mlaf_ops(b->dev)->tensor_map_encode(b->dev, &t, maps + i * MLAF_MAP_BYTES, err);
  }
  return st;
}

mlaf_status prefill_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err) {
  const mlaf_prefill_args *a = args;
  const prefill_shape s = prefill_shape_of(&b->point);
  const mlaf_stage *k = &b->stage[0];
  mlaf_prefill_kernel_args to;
  out->n = 0;
  if (!a->total_q || !a->batch) return MLAF_OK;
  prefill_fill(&s, a, &to);
  memcpy(out->parameters, &to, args_bytes(&k->launch));
  mlaf_status st = fill_maps(b, &s, &to, out->parameters + maps_at(&k->launch), err);
  if (st) return st;
  const uint32_t team = team_of(k), blocks = blocks_of(k, &s, a, (uint32_t)mlaf_info(b->dev)->compute_units / team);
  out->launches[out->n++] = (mlaf_launch){
      .fn = k->fn,
      .grid = {blocks * team, 1, 1},
      .block = {k->threads, 1, 1},
      .cluster = {team, 1, 1},
      .args = out->parameters,
      .args_size = prefill_parameter_bytes(0, &k->launch),
      .flags = k->launch.flags & MLAF_KERNEL_OVERLAPS ? MLAF_LAUNCH_OVERLAPS : 0,
  };
  return MLAF_OK;
}
