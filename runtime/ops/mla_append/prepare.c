/* Filling a launch. */
#include <string.h>

#include "ops/mla_append/append.h"

enum { SPREAD = 64 }; /* blocks that tokens are spread over before a block takes a second one */
_Static_assert(sizeof(mlaf_append_kernel_args) == 296, "templates/mla_append/lib/args.h has as many bytes");
_Static_assert(sizeof(mlaf_append_kernel_args) <= MLAF_PARAMETERS_MAX, "a prepared launch holds them");

uint32_t append_parameter_bytes(int stage, const mlaf_kernel_launch *launch) {
  return (uint32_t)(sizeof(mlaf_append_kernel_args) + launch->n_maps * MLAF_MAP_BYTES);
}

/* No pointer arithmetic on NULL. */
static void *behind(const void *p, int64_t bytes) { return p ? (void *)((uintptr_t)p + (uintptr_t)bytes) : NULL; }

static void fill_cache(const append_shape *s, const mlaf_append_args *a, mlaf_append_kernel_args *k) {
  const int64_t unit = s->format->unit, tokens = append_is_paged(a) ? a->page_tokens : 0;
  k->latent_row = unit * append_stride(a->cache, a->cache_row_stride, append_row_bytes(s) / unit);
  k->latent_page = unit * append_stride(a->cache, a->cache_page_stride, tokens * (k->latent_row / unit));
  k->latent = a->cache;
  if (s->format->split) {
    k->rope_row = unit * append_stride(a->cache_kpe, a->cache_kpe_row_stride, append_rope_bytes(s) / unit);
    k->rope_page = unit * append_stride(a->cache_kpe, a->cache_kpe_page_stride, tokens * (k->rope_row / unit));
    k->rope = a->cache_kpe;
  } else {
    k->rope_row = k->latent_row;
    k->rope_page = k->latent_page;
    k->rope = behind(a->cache, append_bytes(s, s->format->rope_at));
  }
  k->num_slots = (uint32_t)a->num_slots;
  if (!append_is_paged(a)) return;
  if (a->page_tokens == 1) { /* whose inverse is too large: pages are rows, then */
    k->latent_row = k->latent_page;
    k->rope_row = k->rope_page;
    return;
  }
  k->page_tokens = (uint32_t)a->page_tokens;
  k->page_inverse = UINT64_MAX / k->page_tokens + 1;
}

static void fill_queries(const append_shape *s, const mlaf_append_args *a, mlaf_append_kernel_args *k) {
  const int64_t heads = s->heads, rank = s->rank, rope = s->rope, row = rank + rope;
  k->q_nope = a->q_nope;
  k->q_pe = a->q_pe;
  k->q_nope_head = 2 * append_stride(a->q_nope, a->q_nope_head_stride, rank);
  k->q_nope_token = 2 * append_stride(a->q_nope, a->q_nope_token_stride, heads * rank);
  k->q_pe_head = 2 * append_stride(a->q_pe, a->q_pe_head_stride, rope);
  k->q_pe_token = 2 * append_stride(a->q_pe, a->q_pe_token_stride, heads * rope);
  k->q_out = a->q_out;
  k->q_out_head = 2 * append_stride(a->q_out, a->q_out_head_stride, row);
  k->q_out_token = 2 * append_stride(a->q_out, a->q_out_token_stride, heads * row);
  k->q_pe_out = a->q_pe_out ? a->q_pe_out : behind(a->q_out, 2 * rank);
  k->q_pe_out_head = a->q_pe_out ? 2 * append_stride(a->q_pe_out, a->q_pe_out_head_stride, rope) : k->q_out_head;
  k->q_pe_out_token = a->q_pe_out ? 2 * append_stride(a->q_pe_out, a->q_pe_out_token_stride, heads * rope) : k->q_out_token;
}

void append_fill(const append_shape *s, const mlaf_append_args *a, uint32_t threads, uint32_t wave, uint32_t group,
                 mlaf_append_kernel_args *out, uint64_t *blocks) {
  const bool q = s->heads && (a->q_nope || a->q_pe);
  const int64_t number = a->flags & MLAF_APPEND_TABLE_16 ? 2 : 4, teams = threads / wave;
  const int64_t full = (a->tokens + teams - 1) / teams, spread = a->tokens < SPREAD ? a->tokens : SPREAD;
  *out = (mlaf_append_kernel_args){
      .ckv = a->ckv,
      .kpe = a->kpe,
      .weight = a->norm_weight,
      .slots = a->slots,
      .positions = a->positions,
      .cos = a->cos,
      .sin = a->sin ? a->sin : behind(a->cos, number * s->rope / 2),
      .scale_at = a->scale_at,
      .kpe_out = a->kpe_out,
      .ckv_stride = 2 * append_stride(a->ckv, a->ckv_row_stride, s->rank),
      .kpe_stride = 2 * append_stride(a->kpe, a->kpe_row_stride, s->rope),
      .kpe_out_stride = 2 * append_stride(a->kpe_out, a->kpe_out_row_stride, s->rope),
      .table_stride = number * append_stride(s->turned ? a->cos : NULL, a->table_row_stride, a->sin ? s->rope / 2 : s->rope),
      .tokens = a->tokens,
      .table_rows = a->table_rows,
      .token_blocks = (uint32_t)(full > spread ? full : spread),
      .flags = a->flags,
      .eps = a->eps,
      .scale = a->scale,
  };
  fill_cache(s, a, out);
  if (q) fill_queries(s, a, out);
  *blocks = out->token_blocks + (q ? (uint64_t)a->tokens * (((uint32_t)s->heads + group - 1) / group) : 0);
}

mlaf_status append_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err) {
  const mlaf_append_args *a = args;
  const append_shape s = append_shape_of(&b->point);
  const mlaf_stage *k = &b->stage[0];
  mlaf_append_kernel_args *to = (void *)out->parameters;
  uint64_t blocks;
  out->n = 0;
  if (!a->tokens) return MLAF_OK;
  append_fill(&s, a, k->threads, (uint32_t)mlaf_info(b->dev)->wave_size, k->rows_per_wg, to, &blocks);
  out->launches[out->n++] = (mlaf_launch){
      .fn = k->fn,
      .grid = {(uint32_t)blocks, 1, 1},
      .block = {k->threads, 1, 1},
      .cluster = {1, 1, 1},
      .args = to,
      .args_size = append_parameter_bytes(0, &k->launch),
      .flags = k->launch.flags & MLAF_KERNEL_OVERLAPS ? MLAF_LAUNCH_OVERLAPS : 0,
  };
  return MLAF_OK;
}
