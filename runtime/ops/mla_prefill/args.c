/* The host-visible checks of a launch, and who may run. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/mla_prefill/prefill.h"

enum { ALIGN = 16 };
static const int64_t STRIDE_MOST = INT64_C(1) << 40; /* elements */
static const uint64_t BLOCKS_MOST = INT32_MAX, THREADS_MOST = UINT32_MAX; /* of a launch, as CUDA and AMD's packets count them */

/* --- arguments --- */

static mlaf_status check_pointers(const prefill_shape *s, const mlaf_prefill_args *a, mlaf_err *err) {
  const struct {
    const char *name;
    const void *at;
    uintptr_t align;
    bool needed;
  } list[] = {
      {"q", a->q, ALIGN, true},
      {"k", a->k, ALIGN, a->total_k > 0},
      {"k_pe", a->k_pe, ALIGN, false},
      {"v", a->v, ALIGN, a->total_k > 0},
      {"o", a->o, ALIGN, true},
      {"lse", a->lse, sizeof(float), false},
      {"cu_seqlens_q", a->cu_seqlens_q, sizeof(int32_t), true},
      {"cu_seqlens_k", a->cu_seqlens_k, sizeof(int32_t), true},
      {"q_scale", a->q_scale, sizeof(float), false},
      {"k_scale", a->k_scale, sizeof(float), false},
      {"v_scale", a->v_scale, sizeof(float), false},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (!list[i].at && list[i].needed) return mlaf_fail(err, MLAF_E_ARG, "%s is NULL", list[i].name);
    if ((uintptr_t)list[i].at % list[i].align)
      return mlaf_fail(err, MLAF_E_ARG, "%s is %p, must be %d-byte aligned", list[i].name, list[i].at, (int)list[i].align);
  }
  if (a->k_pe && !s->rope) return mlaf_fail(err, MLAF_E_ARG, "k_pe is set, and the problem has no rope columns: NULL");
  if (!s->inputs && (a->q_scale || a->k_scale || a->v_scale))
    return mlaf_fail(err, MLAF_E_ARG, "q_scale, k_scale or v_scale is set, and the problem has no inputs of 8 bits: NULL");
  return MLAF_OK;
}

static mlaf_status check_strides(const prefill_shape *s, const mlaf_prefill_args *a, mlaf_err *err) {
  const int64_t k_row = a->k_pe ? s->nope : s->qk;
  const struct {
    const char *name;
    int64_t value, least;
    int elements; /* that it is a multiple of: 16 bytes */
  } list[] = {
      {"q_token_stride", a->q_token_stride, s->qk, ALIGN / s->bytes},
      {"q_head_stride", a->q_head_stride, s->qk, ALIGN / s->bytes},
      {"k_token_stride", a->k_token_stride, k_row, ALIGN / s->bytes},
      {"k_head_stride", a->k_head_stride, k_row, ALIGN / s->bytes},
      {"k_pe_token_stride", a->k_pe_token_stride, s->rope, ALIGN / s->bytes},
      {"v_token_stride", a->v_token_stride, s->vdim, ALIGN / s->bytes},
      {"v_head_stride", a->v_head_stride, s->vdim, ALIGN / s->bytes},
      {"o_token_stride", a->o_token_stride, s->vdim, ALIGN / 2},
      {"o_head_stride", a->o_head_stride, s->vdim, ALIGN / 2},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (list[i].value && (list[i].value < list[i].least || list[i].value > STRIDE_MOST || list[i].value % list[i].elements))
      return mlaf_fail(err, MLAF_E_ARG, "%s is %lld, must be 0 or a multiple of %d from %lld on", list[i].name,
                       (long long)list[i].value, list[i].elements, (long long)list[i].least);
  const int64_t t = a->lse_token_stride, h = a->lse_head_stride;
  const bool meet = (!t && a->total_q > 1) || (!h && s->heads > 1); /* rows would lie on each other */
  if (t < 0 || h < 0 || t > STRIDE_MOST || h > STRIDE_MOST || (a->lse && t + h > 0 && meet))
    return mlaf_fail(err, MLAF_E_ARG, "lse_token_stride and lse_head_stride are %lld and %lld, must be positive, or both 0",
                     (long long)t, (long long)h);
  return MLAF_OK;
}

static mlaf_status check_numbers(const mlaf_prefill_args *a, mlaf_err *err) {
  if (a->flags) return mlaf_fail(err, MLAF_E_ARG, "flags is %#x, must be 0", a->flags);
  if (a->batch < 0) return mlaf_fail(err, MLAF_E_ARG, "batch is %d, must not be negative", a->batch);
  if (a->total_q < 0 || a->total_q > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "total_q is %lld, must be 0..2^31-1", (long long)a->total_q);
  if (a->total_k < 0 || a->total_k > INT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "total_k is %lld, must be 0..2^31-1", (long long)a->total_k);
  if (!(isnormal(a->scale) && a->scale > 0))
    return mlaf_fail(err, MLAF_E_ARG, "scale is %g, must be finite and positive, from %g on", (double)a->scale, (double)FLT_MIN);
  return MLAF_OK;
}

static mlaf_status check_size(const mlaf_stage *k, const prefill_shape *s, const mlaf_prefill_args *a, mlaf_err *err) {
  const uint64_t blocks = prefill_blocks(s, k->rows_per_wg, a->total_q, a->batch);
  const uint64_t by_threads = THREADS_MOST / k->threads, most = by_threads < BLOCKS_MOST ? by_threads : BLOCKS_MOST;
  if (blocks <= most) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "total_q is %lld and batch %d: more blocks than the %llu of a launch; launch fewer requests "
                   "at once", (long long)a->total_q, a->batch, (unsigned long long)most);
}

mlaf_status prefill_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err) {
  const mlaf_prefill_args *a = args;
  const prefill_shape s = prefill_shape_of(&b->point);
  mlaf_status st = check_numbers(a, err);
  if (st || !a->total_q || !a->batch) return st;
  st = check_pointers(&s, a, err);
  if (!st) st = check_strides(&s, a, err);
  return st ? st : check_size(&b->stage[0], &s, a, err);
}

/* --- who may run --- */

mlaf_status prefill_check_stages(const mlaf_bound *b, mlaf_err *err) {
  if (!b->stage[0].fn) return mlaf_fail(err, MLAF_E_ARG, "no prefill kernel");
  if (b->knob != 1) return mlaf_fail(err, MLAF_E_ARG, "the knob is %u, and mla_prefill has none: 1", b->knob);
  const prefill_shape s = prefill_shape_of(&b->point);
  if (!(b->stage[0].launch.flags & MLAF_KERNEL_SCALES) != !s.inputs)
    return mlaf_fail(err, MLAF_E_ARG, "its kernel takes inputs of %d bits, and the problem has %d", s.inputs ? 16 : 8,
                     8 * s.bytes);
  if (!b->stage[0].rows_per_wg) return mlaf_fail(err, MLAF_E_ARG, "its kernel does not say how many tokens a workgroup has");
  return MLAF_OK;
}
