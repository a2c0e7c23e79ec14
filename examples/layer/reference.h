/* An MLA layer in double precision, a token at a time: what the kernels are compared with. Plain loops, nothing of mlaforge. */
#ifndef LAYER_REFERENCE_H
#define LAYER_REFERENCE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct ref_dims {
  int hidden, heads, q_rank, rank, rope, nope, v; /* q_rank 0: no q_lora */
  int halves;                                     /* columns i and i + P/2 turn together; else 2i and 2i+1 */
  double eps, scale;
  double q_beta; /* queries times 1 + q_beta ln(1 + floor(position / q_original)); 0: they are not scaled */
  int q_original;
} ref_dims;

/* Row-major, by the shapes of a checkpoint. */
typedef struct ref_weights {
  const double *q_a, *q_norm, *q_b, *kv_a, *kv_norm, *kv_b, *o;
} ref_weights;

/* --- stages --- */

static inline void ref_product(const double *w, int rows, int cols, const double *x, double *y) {
  for (int i = 0; i < rows; i++) {
    double sum = 0;
    for (int k = 0; k < cols; k++) sum += w[(size_t)i * (size_t)cols + (size_t)k] * x[k];
    y[i] = sum;
  }
}

static inline void ref_norm(const double *x, const double *gain, int n, double eps, double *y) {
  double squares = 0;
  for (int i = 0; i < n; i++) squares += x[i] * x[i];
  for (int i = 0; i < n; i++) y[i] = x[i] / sqrt(squares / n + eps) * gain[i];
}

static inline void ref_turn(const ref_dims *d, const double *cos_of, const double *sin_of, double *x) {
  const int half = d->rope / 2;
  for (int i = 0; i < half; i++) {
    const int a = d->halves ? i : 2 * i, b = d->halves ? i + half : 2 * i + 1;
    const double xa = x[a], xb = x[b];
    x[a] = xa * cos_of[i] - xb * sin_of[i];
    x[b] = xb * cos_of[i] + xa * sin_of[i];
  }
}

/* The factor that queries at a position are multiplied by. */
static inline double ref_factor(const ref_dims *d, int at) {
  return d->q_beta > 0 ? 1 + d->q_beta * log(1 + floor((double)at / d->q_original)) : 1;
}

/* The row that the cache gets: c's latent normed, its rope columns turned. */
static inline void ref_append(const ref_dims *d, const double *gain, const double *cos_of, const double *sin_of, const double *c,
                              double *row) {
  ref_norm(c + d->q_rank, gain, d->rank, d->eps, row);
  memcpy(row + d->rank, c + d->q_rank + d->rank, sizeof *row * (size_t)d->rope);
  ref_turn(d, cos_of, sin_of, row + d->rank);
}

/* One head of Q into the latent space. */
static inline void ref_absorb(const ref_dims *d, const double *kv_b_head, const double *cos_of, const double *sin_of,
                              const double *q, double *out) {
  for (int r = 0; r < d->rank; r++) {
    out[r] = 0;
    for (int n = 0; n < d->nope; n++) out[r] += q[n] * kv_b_head[(size_t)n * (size_t)d->rank + (size_t)r];
  }
  memcpy(out + d->rank, q + d->nope, sizeof *out * (size_t)d->rope);
  ref_turn(d, cos_of, sin_of, out + d->rank);
}

/* One row of Qout over the first `seen` rows of a cache. */
static inline void ref_attend(const ref_dims *d, const double *qout, const double *cache, int seen, double *u) {
  const int row = d->rank + d->rope;
  double most = -INFINITY, total = 0, *p = malloc(sizeof *p * (size_t)(seen ? seen : 1));
  for (int r = 0; r < d->rank; r++) u[r] = 0;
  for (int j = 0; p && j < seen; j++) {
    ref_product(cache + (size_t)j * (size_t)row, 1, row, qout, &p[j]);
    p[j] *= d->scale;
    most = p[j] > most ? p[j] : most;
  }
  for (int j = 0; p && j < seen; j++) total += p[j] = exp(p[j] - most);
  for (int j = 0; p && j < seen; j++)
    for (int r = 0; r < d->rank; r++) u[r] += p[j] / total * cache[(size_t)j * (size_t)row + (size_t)r];
  free(p);
}

/* --- the layer --- */

/* The token at position `at`: writes its row of the request's cache [positions][R+P], and y [hidden]. cos_of, sin_of: P/2 of its
 * position. */
static inline void ref_layer(const ref_dims *d, const ref_weights *w, const double *cos_of, const double *sin_of, int at,
                             double *cache, const double *x, double *y) {
  const int low = d->q_rank, head = d->nope + d->rope, latent = d->rank + d->rope, kv = d->nope + d->v;
  double *c = malloc(sizeof *c * (size_t)(low + latent + low + d->heads * (head + d->v) + latent + d->rank));
  if (!c) abort();
  double *normed = c + low + latent, *q = normed + low, *o = q + d->heads * head, *qout = o + d->heads * d->v, *u = qout + latent;
  if (low) ref_product(w->q_a, low, d->hidden, x, c);
  ref_product(w->kv_a, latent, d->hidden, x, c + low);
  if (low) ref_norm(c, w->q_norm, low, d->eps, normed);
  ref_product(w->q_b, d->heads * head, low ? low : d->hidden, low ? normed : x, q);
  for (int i = 0; i < d->heads * head; i++) q[i] *= ref_factor(d, at);
  ref_append(d, w->kv_norm, cos_of, sin_of, c, cache + (size_t)at * (size_t)latent);
  for (int h = 0; h < d->heads; h++) {
    const double *const kv_b = w->kv_b + (size_t)h * (size_t)kv * (size_t)d->rank;
    ref_absorb(d, kv_b, cos_of, sin_of, q + h * head, qout);
    ref_attend(d, qout, cache, at + 1, u);
    ref_product(kv_b + (size_t)d->nope * (size_t)d->rank, d->v, d->rank, u, o + h * d->v);
  }
  ref_product(w->o, d->hidden, d->heads * d->v, o, y);
  free(c);
}

/* --- numbers of 16 bits --- */

static inline uint16_t ref_bf16(double x) {
  const float f = (float)x;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
static inline double ref_wide(uint16_t h) {
  const uint32_t bits = (uint32_t)h << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return (double)f;
}

/* ||got - want|| / ||want||; INFINITY where a value is NaN. */
static inline double ref_error(const uint16_t *got, const double *want, size_t n) {
  double off = 0, all = 0;
  for (size_t i = 0; i < n; i++) {
    const double e = ref_wide(got[i]) - want[i];
    off += e * e;
    all += want[i] * want[i];
  }
  return isnan(off) ? INFINITY : sqrt(off / (all > 0 ? all : 1));
}

#endif
