/* fp64 MLA decode. Written for clarity first; op/sums.h has the inner loops. */
#include "op/stored.h"
#include "op/sums.h"
#include "ops/mla_decode/problem.h"
#include "ops/mla_decode/reference.h"
#include "ops/mla_decode/tokens.h"

/* Scratch of one request: its K rows gathered to double, one query row, its scores. */
typedef struct scratch {
  double *k, *q, *score;
} scratch;

/* A key's rope columns, turned by its row of the table (NULL: there is none). */
static void turn(const mlaf_batch *x, const float *angles, double *k) {
  const int rope = x->problem.rope, half = rope / 2, pairs = x->problem.rotate == MLAF_ROTATE_PAIRS;
  for (int i = 0; i < half; i++) {
    double *a = k + (pairs ? 2 * i : i), *b = k + (pairs ? 2 * i + 1 : half + i);
    const float u = (float)*a, v = (float)*b, c = angles ? angles[i] : NAN, s = angles ? angles[half + i] : NAN;
    const volatile float across = v * s, back = u * s; /* rounded here, whatever the compiler would contract */
    *a = mlaf_decode16(x->problem.dtype, mlaf_encode16(x->problem.dtype, fmaf(u, c, -across)));
    *b = mlaf_decode16(x->problem.dtype, mlaf_encode16(x->problem.dtype, fmaf(v, c, back)));
  }
}

/* A token of an 8-bit cache. */
static void decode_token(const mlaf_batch *x, int64_t page, int64_t slot, double *k) {
  const mlaf_cache_format *f = mlaf_decode_format(&x->problem, false);
  const mlaf_stored_token t = mlaf_batch_token(x, (void *)(uintptr_t)x->ckv, page, slot);
  const int32_t dtype = x->problem.dtype, latent = mlaf_format_latent(f, x->problem.rank);
  const int rope = mlaf_format_rope(f, x->problem.rope);
  const double scale = x->kv_scale ? (double)*x->kv_scale : 1;
  for (int c = 0; c < latent; c++)
    k[c] = mlaf_stored_number(f->latent, dtype, t.latent, c) * (double)mlaf_stored_factor(f, t.scales, c) * scale;
  for (int c = 0; c < rope; c++)
    k[latent + c] = mlaf_stored_number(f->rope, dtype, t.rope, c) * (mlaf_stored_in_16(f->rope) ? 1 : scale);
}

static void decode_query(const mlaf_batch *x, int64_t row, double *q) {
  const int d = x->problem.rank + x->problem.rope;
  const mlaf_stored type = x->problem.fp8_q ? mlaf_decode_format(&x->problem, false)->latent : MLAF_STORED_DTYPE;
  const double scale = x->q_scale ? (double)*x->q_scale : 1;
  for (int c = 0; c < d; c++) q[c] = scale * mlaf_stored_number(type, x->problem.dtype, (const unsigned char *)x->q, row * d + c);
}

/* Gather the request's rows; false when a page id is outside the cache. */
static bool gather(const mlaf_batch *x, int32_t b, int64_t kv_len, double *k) {
  const int rank = x->problem.rank, d = rank + x->problem.rope, page = x->problem.page_size;
  for (int64_t t = 0; t < kv_len; t++, k += d) {
    int32_t id = x->kv_indices[x->kv_indptr[b] + t / page];
    if (id < 0 || id >= x->num_pages) return false;
    int64_t row = (int64_t)id * page + t % page;
    if (x->problem.cache) {
      decode_token(x, id, t % page, k);
      continue;
    }
    mlaf_widen16(x->problem.dtype, x->ckv + row * x->ckv_row_stride, rank, k);
    if (d > rank) {
      mlaf_widen16(x->problem.dtype, x->kpe + row * x->kpe_row_stride, d - rank, k + rank);
      if (x->problem.rotate) turn(x, t < x->rope_rows ? x->rope_table + t * x->problem.rope : NULL, k + rank);
    }
  }
  return true;
}

/* One (token, head) over n visible K rows. */
static void one_row(const mlaf_batch *x, const scratch *s, int64_t n, double *o, double *lse, double *magnitude) {
  const int rank = x->problem.rank, d = rank + x->problem.rope;
  double max = -INFINITY, sum = 0;
  for (int64_t t = 0; t < n; t++) {
    const mlaf_sum score = mlaf_dot_sizes(s->q, s->k + t * d, d);
    s->score[t] = x->scale * score.sum;
    if (s->score[t] > max) max = s->score[t]; /* NaN never wins; it comes back through the sum */
    if (magnitude) *magnitude = fmax(*magnitude, fabs(x->scale) * score.size);
  }
  for (int64_t t = 0; t < n; t++) {
    /* A row of -inf scores has no defined softmax: inf - inf makes it NaN, as on the device. */
    double w = exp(s->score[t] - max);
    sum += w;
    mlaf_add_scaled(o, w, s->k + t * d, rank);
  }
  if (n)
    for (int c = 0; c < rank; c++) o[c] /= sum;
  *lse = n ? max + log(sum) : -INFINITY;
}

static void fill(double *p, int64_t n, double v) {
  for (int64_t i = 0; i < n; i++) p[i] = v;
}

static void one_request(const mlaf_batch *x, int32_t b, const scratch *s, double *o, double *lse, double *magnitude) {
  const int heads = x->problem.heads, rank = x->problem.rank;
  const int64_t first = x->qo_indptr[b], kv_len = mlaf_batch_kv_len(x, b);
  const int32_t n = x->qo_indptr[b + 1] - x->qo_indptr[b];
  const bool refused = n > x->problem.q_len || first + n > x->total_q, inside = !refused && gather(x, b, kv_len, s->k);
  for (int64_t r = first * heads; r < (first + n) * heads && r < x->total_q * heads; r++) {
    fill(o + r * rank, rank, inside ? 0 : NAN);
    if (magnitude) magnitude[r] = 0;
    lse[r] = NAN;
    if (!inside) continue;
    decode_query(x, r, s->q);
    int64_t visible = mlaf_batch_visible(x, kv_len, (int32_t)(r / heads - first), n);
    one_row(x, s, visible, o + r * rank, lse + r, magnitude ? magnitude + r : NULL);
  }
}

mlaf_status mlaf_reference(const mlaf_batch *x, double *o, double *lse, double *magnitude, mlaf_err *err) {
  const size_t d = (size_t)(x->problem.rank + x->problem.rope);
  int64_t longest = 1;
  for (int32_t b = 0; b < x->batch; b++)
    if (mlaf_batch_kv_len(x, b) > longest) longest = mlaf_batch_kv_len(x, b);
  scratch s = {calloc((size_t)longest * d, sizeof(double)), calloc(d, sizeof(double)),
               calloc((size_t)longest, sizeof(double))};
  bool ok = s.k && s.q && s.score;
  for (int32_t b = 0; ok && b < x->batch; b++) one_request(x, b, &s, o, lse, magnitude);
  free(s.k);
  free(s.q);
  free(s.score);
  return ok ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "fp64 reference: no memory for %lld tokens", (long long)longest);
}
