/* A case's buffers, and its outputs against the host's: every number as it must be, every other byte as it was. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op/numeric.h"
#include "ops/mla_dequant/case.h"

enum { AT_W, AT_SCALES, AT_Y };

int dequant_case_buffers(const mlaf_case *head, const mlaf_bound *b, uint32_t knob, void *args,
                         mlaf_case_buffer out[MLAF_CASE_BUFFERS]) {
  const dequant_case *c = (const dequant_case *)head;
  *(mlaf_dequant_args *)args = c->a;
#define ARG(name) offsetof(mlaf_dequant_args, name)
  const mlaf_case_buffer all[] = {
      [AT_W] = {"w", MLAF_USE_INPUT, c->w_bytes, ARG(w), c->w},
      [AT_SCALES] = {"w_scale", MLAF_USE_INPUT, c->scale_count * sizeof *c->scales, ARG(w_scale), c->scales},
      [AT_Y] = {"y", MLAF_USE_INOUT, c->y_count * sizeof *c->y, ARG(y), c->y},
  };
#undef ARG
  memcpy(out, all, sizeof all);
  return sizeof all / sizeof *all;
}

static bool compare_row(const dequant_case *c, const uint16_t *y, int64_t r, mlaf_verify_result *out) {
  const float *scales = c->scales + (c->a.w_scale_row + r) / DEQUANT_BLOCK * c->a.w_scale_row_stride;
  out->rows++;
  for (int i = 0; i < c->s.columns; i++) {
    const uint8_t w = c->w[r * c->a.w_row_stride + i];
    const float scale = scales[(c->a.w_scale_column + i) / DEQUANT_BLOCK];
    if (dequant_agrees(&c->s, w, scale, y[i])) continue;
    out->error = out->row_error = INFINITY;
    char text[160];
    mlaf_snprintf(text, sizeof text, "column %d is %g, byte %#x times %g is %g", i, (double)mlaf_decode16(c->s.dtype, y[i]), w,
                  (double)scale, (double)mlaf_decode16(c->s.dtype, dequant_reference(&c->s, w, scale)));
    snprintf(out->detail, sizeof out->detail, "case %s: row %lld: %s", c->head.name, (long long)r, text);
    return false;
  }
  return true;
}

/* The first element behind a row's that changed; -1: none. */
static int64_t changed(const dequant_case *c, const uint16_t *y) {
  for (int64_t r = 0; r < c->spec.rows; r++)
    for (int64_t i = r * c->a.y_row_stride + c->s.columns; i < (r + 1) * c->a.y_row_stride; i++)
      if (y[i] != c->y[i]) return i;
  return -1;
}

bool dequant_compare(const mlaf_case *head, void *const *outputs, mlaf_verify_result *out) {
  const dequant_case *c = (const dequant_case *)head;
  const uint16_t *y = outputs[AT_Y];
  for (int64_t r = 0; r < c->spec.rows; r++)
    if (!compare_row(c, y + r * c->a.y_row_stride, r, out)) return false;
  const int64_t at = changed(c, y);
  if (at >= 0)
    snprintf(out->detail, sizeof out->detail, "case %s: element %lld, between rows, was written", head->name, (long long)at);
  return at < 0;
}

bool dequant_same(const mlaf_case *head, void *const *a, void *const *b, mlaf_verify_result *out) {
  const dequant_case *c = (const dequant_case *)head;
  const uint16_t *x = a[AT_Y], *y = b[AT_Y];
  for (int64_t r = 0; r < c->spec.rows; r++) {
    const int64_t at = r * c->a.y_row_stride;
    if (!memcmp(x + at, y + at, (size_t)c->s.columns * sizeof *x)) continue;
    snprintf(out->detail, sizeof out->detail, "case %s: two runs differ in row %lld", head->name, (long long)r);
    return false;
  }
  return true;
}
