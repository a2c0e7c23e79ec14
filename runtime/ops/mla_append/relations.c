/* Relations between mla_append's arguments that its table does not say, and the grid: token_blocks blocks of up to
 * threads / wave tokens each, `token_blocks` apart; then, where there are queries, ceil(H / rows_per_wg) a token. */
#include "ops/mla_append/append.h"
#include "mlaf_thresholds.h"

static const int64_t PAGE_MOST = INT64_C(1) << 40; /* units */
static const uint64_t THREADS_MOST = UINT32_MAX;   /* of a launch, as AMD's packets count them */
_Static_assert(sizeof(mlaf_append_kernel_args) == 296, "templates/mla_append/lib/args.h has as many bytes");

/* True if the cache's pages lie apart: then page_tokens counts. */
static bool is_paged(const mlaf_cache_format *format, const mlaf_append_args *a) {
  return format->aside || (a->cache && a->cache_page_stride) || (a->cache_kpe && a->cache_kpe_page_stride);
}

void append_sizes(const int32_t *f, const mlaf_append_args *a, int64_t *n) {
  const mlaf_cache_format *format = append_format(f);
  const int64_t rope = f[MLA_APPEND_ROPE], tokens = a->page_tokens > 1 ? a->page_tokens : 1;
  const bool q = f[MLA_APPEND_HEADS] && (a->q_nope || a->q_pe || a->q_out || a->q_pe_out), paged = is_paged(format, a);
  n[APPEND_SIZE_UNIT] = format->unit;
  n[APPEND_SIZE_ROW] = append_bytes(f, format->row) / format->unit;
  n[APPEND_SIZE_ROPEROW] = format->aside ? mlaf_format_behind(format, (int)rope)
                                         : append_bytes(f, format->second.row) / format->unit;
  n[APPEND_SIZE_TOKEN] = append_bytes(f, format->token);
  n[APPEND_SIZE_SPLIT] = append_bytes(f, format->second.row) > 0;
  n[APPEND_SIZE_SCALED] = format->scale == MLAF_SCALE_LAUNCH; /* a stored number is a value divided by the launch's scale */
  n[APPEND_SIZE_TURNED] = rope && f[MLA_APPEND_STYLE] != APPEND_UNROTATED;
  n[APPEND_SIZE_NUMBER] = a->flags & MLAF_APPEND_TABLE_16 ? 2 : 4;
  n[APPEND_SIZE_ANGLES] = a->sin ? rope / 2 : rope;
  n[APPEND_SIZE_PAGES] = paged ? 1 + (uint32_t)a->num_slots / (uint32_t)tokens : 1; /* at least so many */
  if (format->aside) n[APPEND_SIZE_PAGES] = mlaf_up(a->num_slots > 0 ? a->num_slots : 1, tokens);
  n[APPEND_SIZE_SECOND] = n[APPEND_SIZE_SPLIT] || format->aside;
  n[APPEND_SIZE_PAGE] = paged ? tokens : a->num_slots;
  n[APPEND_SIZE_NEEDKPE] = n[APPEND_SIZE_SPLIT] && a->num_slots > 0;
  n[APPEND_SIZE_NEEDNOPE] = q && !a->q_pe_out;
  n[APPEND_SIZE_NEEDPE] = q && rope;
  n[APPEND_SIZE_NEEDOUT] = q && (a->q_nope || !a->q_pe_out);
}

mlaf_status append_numbers(const int32_t *f, const mlaf_append_args *a, mlaf_err *err) {
  if (a->reserved) return mlaf_fail(err, MLAF_E_ARG, "reserved is %d, must be 0", a->reserved);
  if (a->num_slots < 0 || a->num_slots > UINT32_MAX)
    return mlaf_fail(err, MLAF_E_ARG, "num_slots is %lld, must be 0..2^32-1", (long long)a->num_slots);
  if (a->table_rows < 0) return mlaf_fail(err, MLAF_E_ARG, "table_rows is %lld, must not be negative", (long long)a->table_rows);
  if (f[MLA_APPEND_NORM] && !(isfinite(a->eps) && a->eps >= 0))
    return mlaf_fail(err, MLAF_E_ARG, "eps is %g, must be finite and not negative", (double)a->eps);
  if (append_format(f)->scale == MLAF_SCALE_LAUNCH && !a->scale_at && !(isnormal(a->scale) && a->scale > 0))
    return mlaf_fail(err, MLAF_E_ARG, "scale is %g, must be a positive number", (double)a->scale);
  return MLAF_OK;
}

static mlaf_status check_page(const mlaf_append_args *a, const int64_t *n, mlaf_err *err) {
  const int64_t latent = a->cache && a->cache_row_stride ? a->cache_row_stride : n[APPEND_SIZE_ROW];
  const int64_t rope = a->cache_kpe && a->cache_kpe_row_stride ? a->cache_kpe_row_stride : n[APPEND_SIZE_ROPEROW];
  const int64_t row = latent > rope ? latent : rope;
  if (a->page_tokens < 1)
    return mlaf_fail(err, MLAF_E_ARG, "page_tokens is %d, and pages lie apart: it must be 1 or more", a->page_tokens);
  if (a->page_tokens <= PAGE_MOST / row) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "page_tokens is %d, and rows lie %lld apart: a page may be 2^40 long", a->page_tokens,
                   (long long)row);
}

static uint64_t blocks_of_token(const mlaf_stage *k, const int64_t *n) {
  return ((uint64_t)n[APPEND_SIZE_H] + k->rows_per_wg - 1) / k->rows_per_wg;
}

mlaf_status append_related(const mlaf_bound *b, const mlaf_append_args *a, const int64_t *n, mlaf_err *err) {
  const uint64_t most = THREADS_MOST / ((1 + blocks_of_token(&b->stage[0], n)) * b->stage[0].threads);
  const mlaf_cache_format *format = append_format(b->point.v);
  mlaf_status st = is_paged(format, a) ? check_page(a, n, err) : MLAF_OK;
  if (!st && format->aside)
    st = mlaf_format_check_pages(format, b->point.v[MLA_APPEND_RANK], b->point.v[MLA_APPEND_ROPE], a->page_tokens,
                                 a->cache_row_stride, a->cache_page_stride, err);
  if (st || (uint64_t)a->tokens <= most) return st;
  return mlaf_fail(err, MLAF_E_ARG, "tokens is %lld, and a launch of this kernel takes at most %llu: launch fewer at once",
                   (long long)a->tokens, (unsigned long long)most);
}

/* No pointer arithmetic on NULL. */
static void *behind(const void *p, int64_t bytes) { return p ? (void *)((uintptr_t)p + (uintptr_t)bytes) : NULL; }

static void fill_cache(const int32_t *f, const mlaf_append_args *a, mlaf_append_kernel_args *k) {
  const mlaf_cache_format *format = append_format(f);
  if (format->aside && !a->cache_page_stride)
    k->latent_page = mlaf_format_page_rows(format, a->page_tokens, f[MLA_APPEND_RANK], f[MLA_APPEND_ROPE]) * k->latent_row;
  if (format->aside && !a->cache_kpe) {
    k->rope_row = format->aside;
    k->rope_page = k->latent_page;
    k->rope = behind(a->cache, a->page_tokens * k->latent_row);
  } else if (!format->second.of && !format->aside) {
    k->rope_row = k->latent_row;
    k->rope_page = k->latent_page;
    k->rope = behind(a->cache, append_bytes(f, format->rope_at));
  }
  k->num_slots = (uint32_t)a->num_slots;
  if (!is_paged(format, a)) {
    k->latent_page = k->rope_page = 0;
  } else if (a->page_tokens == 1) { /* whose inverse is too large: pages are rows, then */
    k->latent_row = k->latent_page;
    k->rope_row = k->rope_page;
  } else {
    k->page_tokens = (uint32_t)a->page_tokens;
    k->page_inverse = UINT64_MAX / k->page_tokens + 1; /* 2^64 / page_tokens, rounded up; 0: pages follow each other */
  }
}

mlaf_status append_complete(const mlaf_bound *b, const mlaf_append_args *a, const int64_t *n, mlaf_append_kernel_args *k,
                            mlaf_launch *launch, mlaf_err *err) {
  const bool q = n[APPEND_SIZE_H] && (a->q_nope || a->q_pe);
  const int64_t teams = b->stage[0].threads / (uint32_t)mlaf_info(b->dev)->wave_size;
  const int64_t full = mlaf_up(a->tokens, teams), spread = a->tokens < MLAF_APPEND_SPREAD ? a->tokens : MLAF_APPEND_SPREAD;
  fill_cache(b->point.v, a, k);
  if (!a->sin) k->sin = behind(a->cos, n[APPEND_SIZE_NUMBER] * n[APPEND_SIZE_P] / 2);
  if (!a->q_pe_out) {
    k->q_pe_out = behind(a->q_out, 2 * n[APPEND_SIZE_R]);
    k->q_pe_out_token = k->q_out_token, k->q_pe_out_head = k->q_out_head;
  }
  k->token_blocks = (uint32_t)(full > spread ? full : spread);
  launch->grid[0] = k->token_blocks + (q ? (uint32_t)((uint64_t)a->tokens * blocks_of_token(&b->stage[0], n)) : 0);
  return MLAF_OK;
}
