/* The host-visible checks of a launch, and who may run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/mla_append/append.h"

enum { ALIGN = MLAF_FORMAT_ALIGN };
static const int64_t STRIDE_MOST = INT64_C(1) << 40; /* bytes */
static const uint64_t THREADS_MOST = UINT32_MAX;      /* of a launch, as AMD's packets count them */

/* --- arguments --- */

typedef struct wanted {
  const char *name;
  const void *at;
  uintptr_t align;
  bool needed;
} wanted;

static mlaf_status check_pointers(const append_shape *s, const mlaf_append_args *a, mlaf_err *err) {
  const bool q = s->heads && (a->q_nope || a->q_pe || a->q_out || a->q_pe_out);
  const wanted list[] = {
      {"ckv", a->ckv, ALIGN, true},
      {"kpe", a->kpe, ALIGN, s->rope},
      {"norm_weight", a->norm_weight, ALIGN, s->norm},
      {"slots", a->slots, sizeof(int64_t), true},
      {"positions", a->positions, sizeof(int64_t), s->turned},
      {"cos", a->cos, ALIGN, s->turned},
      {"sin", a->sin, ALIGN, false},
      {"scale_at", a->scale_at, sizeof(float), false},
      {"cache", a->cache, ALIGN, a->num_slots > 0},
      {"cache_kpe", a->cache_kpe, ALIGN, a->num_slots > 0 && s->format->split && s->rope},
      {"kpe_out", a->kpe_out, ALIGN, false},
      {"q_nope", a->q_nope, ALIGN, q && !a->q_pe_out},
      {"q_pe", a->q_pe, ALIGN, q && s->rope},
      {"q_out", a->q_out, ALIGN, q && (a->q_nope || !a->q_pe_out)},
      {"q_pe_out", a->q_pe_out, ALIGN, false},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (!list[i].at && list[i].needed) return mlaf_fail(err, MLAF_E_ARG, "%s is NULL", list[i].name);
    if ((uintptr_t)list[i].at % list[i].align)
      return mlaf_fail(err, MLAF_E_ARG, "%s is %p, must be %d-byte aligned", list[i].name, list[i].at, (int)list[i].align);
  }
  return MLAF_OK;
}

/* A stride in units of `unit` bytes, at least `least` bytes of which a row has; 0 is dense. Of what is NULL it says nothing. */
typedef struct stride {
  const char *name;
  const void *of;
  int64_t value, least, unit;
} stride;

static mlaf_status check_stride(const stride *x, mlaf_err *err) {
  if (!x->of || !x->value) return MLAF_OK;
  if (x->value >= x->least / x->unit && x->value <= STRIDE_MOST && x->value * x->unit % ALIGN == 0) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "%s is %lld, must be 0 or a multiple of %d from %lld on", x->name, (long long)x->value,
                   (int)(ALIGN / x->unit), (long long)(x->least / x->unit));
}

static mlaf_status check_page(const append_shape *s, const mlaf_append_args *a, mlaf_err *err) {
  const int64_t unit = s->format->unit, latent = append_stride(a->cache, a->cache_row_stride, append_row_bytes(s) / unit);
  const int64_t rope = append_stride(a->cache_kpe, a->cache_kpe_row_stride, append_rope_bytes(s) / unit);
  const int64_t row = latent > rope ? latent : rope;
  if (a->page_tokens < 1)
    return mlaf_fail(err, MLAF_E_ARG, "page_tokens is %d, and pages lie apart: it must be 1 or more", a->page_tokens);
  if (a->page_tokens <= STRIDE_MOST / row) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "page_tokens is %d, and rows lie %lld apart: a page may be 2^40 long", a->page_tokens,
                   (long long)row);
}

static mlaf_status check_strides(const append_shape *s, const mlaf_append_args *a, mlaf_err *err) {
  const int64_t latent = 2 * (int64_t)s->rank, rope = 2 * (int64_t)s->rope, unit = s->format->unit;
  const int64_t number = a->flags & MLAF_APPEND_TABLE_16 ? 2 : 4;
  const stride list[] = {
      {"ckv_row_stride", a->ckv, a->ckv_row_stride, latent, 2},
      {"kpe_row_stride", a->kpe, a->kpe_row_stride, rope, 2},
      {"kpe_out_row_stride", a->kpe_out, a->kpe_out_row_stride, rope, 2},
      {"table_row_stride", s->turned ? a->cos : NULL, a->table_row_stride, number * s->rope / (a->sin ? 2 : 1), number},
      {"cache_row_stride", a->cache, a->cache_row_stride, append_row_bytes(s), unit},
      {"cache_kpe_row_stride", a->cache_kpe, a->cache_kpe_row_stride, rope, unit},
      {"cache_page_stride", a->cache, a->cache_page_stride, append_row_bytes(s), unit},
      {"cache_kpe_page_stride", a->cache_kpe, a->cache_kpe_page_stride, rope, unit},
      {"q_nope_token_stride", a->q_nope, a->q_nope_token_stride, latent, 2},
      {"q_nope_head_stride", a->q_nope, a->q_nope_head_stride, latent, 2},
      {"q_pe_token_stride", a->q_pe, a->q_pe_token_stride, rope, 2},
      {"q_pe_head_stride", a->q_pe, a->q_pe_head_stride, rope, 2},
      {"q_out_token_stride", a->q_out, a->q_out_token_stride, latent, 2},
      {"q_out_head_stride", a->q_out, a->q_out_head_stride, latent, 2},
      {"q_pe_out_token_stride", a->q_pe_out, a->q_pe_out_token_stride, rope, 2},
      {"q_pe_out_head_stride", a->q_pe_out, a->q_pe_out_head_stride, rope, 2},
  };
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < sizeof list / sizeof *list; i++) st = check_stride(&list[i], err);
  if (st) return st;
  return append_is_paged(a) ? check_page(s, a, err) : MLAF_OK;
}

static mlaf_status check_flags(const mlaf_append_args *a, mlaf_err *err) {
  if (a->reserved) return mlaf_fail(err, MLAF_E_ARG, "reserved is %d, must be 0", a->reserved);
  const uint32_t known = MLAF_APPEND_ALL_Q | MLAF_APPEND_POWER_OF_TWO | MLAF_APPEND_TABLE_16;
  if (a->flags & ~known) return mlaf_fail(err, MLAF_E_ARG, "flags is %#x, known are %#x", a->flags, known);
  return MLAF_OK;
}

static mlaf_status check_numbers(const append_shape *s, const mlaf_append_args *a, mlaf_err *err) {
  if (a->tokens < 0) return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld, must not be negative", (long long)a->tokens);
  if (a->num_slots < 0 || a->num_slots > UINT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "num_slots is %lld, must be 0..2^32-1", (long long)a->num_slots);
  if (a->table_rows < 0) return mlaf_fail(err, MLAF_E_ARG, "table_rows is %lld, must not be negative", (long long)a->table_rows);
  if (s->norm && !(isfinite(a->eps) && a->eps >= 0))
    return mlaf_fail(err, MLAF_E_ARG, "eps is %g, must be finite and not negative", (double)a->eps);
  if (append_has_scale(s) && !a->scale_at && !(isnormal(a->scale) && a->scale > 0))
    return mlaf_fail(err, MLAF_E_ARG, "scale is %g, must be a positive number", (double)a->scale);
  return MLAF_OK;
}

static mlaf_status check_size(const mlaf_bound *b, const append_shape *s, const mlaf_append_args *a, mlaf_err *err) {
  const mlaf_stage *k = &b->stage[0];
  const uint64_t blocks = 1 + (uint64_t)(s->heads ? (s->heads + k->rows_per_wg - 1) / k->rows_per_wg : 0);
  const uint64_t most = THREADS_MOST / (blocks * k->threads);
  if ((uint64_t)a->tokens <= most) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld, and a launch of this kernel takes at most %llu: launch fewer at once",
                   (long long)a->tokens, (unsigned long long)most);
}

mlaf_status append_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err) {
  const mlaf_append_args *a = args;
  const append_shape s = append_shape_of(&b->point);
  mlaf_status st = check_flags(a, err);
  if (!st) st = check_numbers(&s, a, err);
  if (st || !a->tokens) return st;
  st = check_pointers(&s, a, err);
  if (!st) st = check_strides(&s, a, err);
  return st ? st : check_size(b, &s, a, err);
}

/* --- who may run --- */

mlaf_status append_check_stages(const mlaf_bound *b, mlaf_err *err) {
  if (!b->stage[0].fn) return mlaf_fail(err, MLAF_E_ARG, "no append kernel");
  if (b->knob != 1) return mlaf_fail(err, MLAF_E_ARG, "the knob is %u, and mla_append has none: 1", b->knob);
  if (!b->stage[0].rows_per_wg) return mlaf_fail(err, MLAF_E_ARG, "its append kernel has no heads a workgroup");
  return MLAF_OK;
}
