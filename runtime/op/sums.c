#include "op/sums.h"

#include <math.h>

#include "base/half.h"
#include "mlaforge/problem.h"

/* Vector code is cloned per host instruction set. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_THREAD__)
#define FAST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FAST
#endif

enum { LANES = 8 };

static inline double add_lanes(const double s[LANES]) {
  return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
}

FAST static double dot(const double *a, const double *b, int64_t n) {
  double s[LANES] = {0};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int k = 0; k < LANES; k++) s[k] += a[i + k] * b[i + k];
  for (; i < n; i++) s[0] += a[i] * b[i];
  return add_lanes(s);
}

FAST static void dot_sizes(const double *a, const double *b, int64_t n, mlaf_sum *out) {
  double s[LANES] = {0}, sizes[LANES] = {0};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int k = 0; k < LANES; k++) {
      const double term = a[i + k] * b[i + k];
      s[k] += term;
      sizes[k] += fabs(term);
    }
  for (; i < n; i++) s[0] += a[i] * b[i], sizes[0] += fabs(a[i] * b[i]);
  out->sum = add_lanes(s), out->size = add_lanes(sizes);
}

FAST static double dot_bf16(const double *a, const uint16_t *b, int64_t n) {
  double s[LANES] = {0};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int k = 0; k < LANES; k++) s[k] += a[i + k] * (double)mlaf_bits_float((uint32_t)b[i + k] << 16);
  for (; i < n; i++) s[0] += a[i] * (double)mlaf_bits_float((uint32_t)b[i] << 16);
  return add_lanes(s);
}

FAST static void add_scaled(double *restrict to, double by, const double *restrict x, int64_t n) {
  for (int64_t i = 0; i < n; i++) to[i] += by * x[i];
}

FAST static void widen_bf16(const uint16_t *restrict from, int64_t n, double *restrict to) {
  for (int64_t i = 0; i < n; i++) to[i] = (double)mlaf_bits_float((uint32_t)from[i] << 16);
}

FAST static void widen_f16(const uint16_t *restrict from, int64_t n, double *restrict to) {
  for (int64_t i = 0; i < n; i++) to[i] = (double)mlaf_bits_float(mlaf_half_decode_bits(from[i]));
}

/* Clones have no name for others to call. */
double mlaf_dot(const double *a, const double *b, int64_t n) { return dot(a, b, n); }
double mlaf_dot_bf16(const double *a, const uint16_t *b, int64_t n) { return dot_bf16(a, b, n); }
void mlaf_add_scaled(double *to, double by, const double *x, int64_t n) { add_scaled(to, by, x, n); }

mlaf_sum mlaf_dot_sizes(const double *a, const double *b, int64_t n) {
  mlaf_sum s;
  dot_sizes(a, b, n, &s);
  return s;
}

void mlaf_widen16(int32_t dtype, const uint16_t *from, int64_t n, double *to) {
  if (dtype == MLAF_F16) widen_f16(from, n, to);
  else widen_bf16(from, n, to);
}

void mlaf_widen8(const double codes[256], const uint8_t *from, int64_t n, double scale, double *to) {
  for (int64_t i = 0; i < n; i++) to[i] = codes[from[i]] * scale;
}
