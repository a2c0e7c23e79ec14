/* A case's buffers, and its outputs against fp64: every row within a rounding, every other byte as it was. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op/ulp.h"
#include "ops/mla_q_scale/case.h"

enum { AT_X, AT_Y, AT_POSITIONS };

int q_scale_case_buffers(const mlaf_case *head, const mlaf_bound *b, uint32_t knob, void *args,
                         mlaf_case_buffer out[MLAF_CASE_BUFFERS]) {
  const q_scale_case *c = (const q_scale_case *)head;
  const q_scale_place *x = &c->x, *y = &c->y;
  const bool over = c->spec.in_place;
  *(mlaf_q_scale_args *)args = (mlaf_q_scale_args){
      .struct_size = sizeof(mlaf_q_scale_args),
      .tokens = c->spec.tokens,
      .x_token_stride = x->token,
      .x_head_stride = x->head,
      .y_token_stride = over ? 0 : y->token,
      .y_head_stride = over ? 0 : y->head,
      .beta = c->spec.beta,
      .original = c->spec.original,
  };
#define ARG(name) offsetof(mlaf_q_scale_args, name)
  const mlaf_case_buffer all[] = {
      [AT_X] = {"x", over ? MLAF_USE_INOUT : MLAF_USE_INPUT, x->count * 2, ARG(x), x->q},
      [AT_Y] = {"y", over ? MLAF_USE_NONE : MLAF_USE_INOUT, y->count * 2, ARG(y), y->q},
      [AT_POSITIONS] = {"positions", MLAF_USE_INPUT, (size_t)c->spec.tokens * sizeof *c->positions, ARG(positions), c->positions},
  };
#undef ARG
  memcpy(out, all, sizeof all);
  return sizeof all / sizeof *all;
}

/* What a launch wrote, and what was there before. */
typedef struct written {
  const q_scale_place *before;
  const uint16_t *q;
} written;

static written written_of(const q_scale_case *c, void *const *outputs) {
  const bool over = c->spec.in_place;
  return (written){over ? &c->x : &c->y, outputs[over ? AT_X : AT_Y]};
}

/* The first element between rows that changed; -1: none. */
static int64_t changed(const q_scale_case *c, const written *w) {
  const q_scale_place *p = w->before;
  int64_t at = 0;
  for (int64_t t = 0; t < c->spec.tokens; t++)
    for (int h = 0; h <= c->s.heads; h++) {
      const int64_t row = h < c->s.heads ? t * p->token + h * p->head : (t + 1) * p->token;
      for (; at < row; at++)
        if (w->q[at] != p->q[at]) return at;
      if (h < c->s.heads) at = row + c->s.qdim;
    }
  return -1;
}

static bool compare_row(const q_scale_case *c, const written *w, int64_t t, int h, mlaf_verify_result *out) {
  const uint16_t *x = c->x.q + t * c->x.token + h * c->x.head, *got = w->q + t * w->before->token + h * w->before->head;
  const q_scale_factor by = q_scale_reference(c->positions[t], c->spec.beta, c->spec.original);
  int column = 0;
  const double off = q_scale_row_off(&c->s, by, x, got, &column);
  out->rows++;
  out->error = fmax(out->error, off);
  out->row_error = fmax(out->row_error, off);
  if (off <= Q_SCALE_ULPS || out->detail[0]) return off <= Q_SCALE_ULPS;
  char text[200];
  mlaf_snprintf(text, sizeof text, "column %d is %g, reference %g times %g", column,
                (double)mlaf_decode16(c->s.dtype, got[column]), (double)mlaf_decode16(c->s.dtype, x[column]), by.value);
  snprintf(out->detail, sizeof out->detail, "case %s: token %lld at position %lld, head %d: %s", c->head.name, (long long)t,
           (long long)c->positions[t], h, text);
  return false;
}

bool q_scale_compare(const mlaf_case *head, void *const *outputs, mlaf_verify_result *out) {
  const q_scale_case *c = (const q_scale_case *)head;
  const written w = written_of(c, outputs);
  bool good = true;
  for (int64_t t = 0; t < c->spec.tokens; t++)
    for (int h = 0; h < c->s.heads; h++) good &= compare_row(c, &w, t, h, out);
  const int64_t at = changed(c, &w);
  if (good && at >= 0)
    snprintf(out->detail, sizeof out->detail, "case %s: element %lld, between rows, was written", head->name, (long long)at);
  return good && at < 0;
}

bool q_scale_same(const mlaf_case *head, void *const *a, void *const *b, mlaf_verify_result *out) {
  const q_scale_case *c = (const q_scale_case *)head;
  const written x = written_of(c, a), y = written_of(c, b);
  for (int64_t t = 0; t < c->spec.tokens; t++)
    for (int h = 0; h < c->s.heads; h++) {
      const int64_t at = t * x.before->token + h * x.before->head;
      if (!memcmp(x.q + at, y.q + at, (size_t)c->s.qdim * sizeof *x.q)) continue;
      snprintf(out->detail, sizeof out->detail, "case %s: two runs differ in token %lld, head %d", head->name, (long long)t, h);
      return false;
    }
  return true;
}
