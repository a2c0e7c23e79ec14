/* A case's buffers, and its outputs against fp64: every row within a rounding, every other byte as it was. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op/ulp.h"
#include "ops/mla_merge/case.h"

enum { AT_PREFIX, AT_PREFIX_LSE, AT_SUFFIX, AT_SUFFIX_LSE, AT_O, AT_LSE };

int merge_case_buffers(const mlaf_case *head, const mlaf_bound *b, uint32_t knob, void *args,
                       mlaf_case_buffer out[MLAF_CASE_BUFFERS]) {
  const merge_case *c = (const merge_case *)head;
  const merge_place *p = &c->prefix, *s = &c->suffix, *r = &c->result;
  const bool over = c->spec.into == MERGE_PREFIX;
  *(mlaf_merge_args *)args = (mlaf_merge_args){
      .struct_size = sizeof(mlaf_merge_args),
      .flags = (over ? MLAF_MERGE_IN_PLACE : 0) | (c->spec.base_2 ? MLAF_MERGE_BASE_2 : 0),
      .tokens = c->spec.tokens,
      .prefix = {NULL, p->token, p->head, NULL, p->lse_token, p->lse_head},
      .suffix = {NULL, s->token, s->head, NULL, s->lse_token, s->lse_head},
      .o_token_stride = over ? 0 : r->token,
      .o_head_stride = over ? 0 : r->head,
      .lse_token_stride = over ? 0 : r->lse_token,
      .lse_head_stride = over ? 0 : r->lse_head,
  };
  const mlaf_use part = over ? MLAF_USE_INOUT : MLAF_USE_INPUT, result = over ? MLAF_USE_NONE : MLAF_USE_INOUT;
  const mlaf_use sums = over ? MLAF_USE_NONE : c->spec.spare ? MLAF_USE_OPTIONAL_OUTPUT : MLAF_USE_INOUT;
#define ARG(name) offsetof(mlaf_merge_args, name)
  const mlaf_case_buffer all[] = {
      [AT_PREFIX] = {"prefix.o", part, p->o_count * 2, ARG(prefix.o), p->o},
      [AT_PREFIX_LSE] = {"prefix.lse", part, p->lse_count * 4, ARG(prefix.lse), p->lse},
      [AT_SUFFIX] = {"suffix.o", MLAF_USE_INPUT, s->o_count * 2, ARG(suffix.o), s->o},
      [AT_SUFFIX_LSE] = {"suffix.lse", MLAF_USE_INPUT, s->lse_count * 4, ARG(suffix.lse), s->lse},
      [AT_O] = {"o", result, r->o_count * 2, ARG(o), r->o},
      [AT_LSE] = {"lse", sums, r->lse_count * 4, ARG(lse), c->spec.spare ? NULL : r->lse},
  };
#undef ARG
  memcpy(out, all, sizeof all);
  return sizeof all / sizeof *all;
}

/* What a launch wrote, and what was there before. */
typedef struct written {
  const merge_place *before;
  const uint16_t *o;
  const float *lse;
} written;

static written written_of(const merge_case *c, void *const *outputs) {
  const bool over = c->spec.into == MERGE_PREFIX;
  return (written){over ? &c->prefix : &c->result, outputs[over ? AT_PREFIX : AT_O], outputs[over ? AT_PREFIX_LSE : AT_LSE]};
}

/* The first element between rows that changed; -1: none. */
static int64_t changed(const merge_case *c, const merge_place *p, const uint16_t *got) {
  int64_t at = 0;
  for (int64_t t = 0; t < c->spec.tokens; t++)
    for (int h = 0; h <= c->s.heads; h++) {
      const int64_t row = h < c->s.heads ? t * p->token + h * p->head : (t + 1) * p->token;
      for (; at < row; at++)
        if (got[at] != p->o[at]) return at;
      if (h < c->s.heads) at = row + c->s.vdim;
    }
  return -1;
}

static bool fault(const merge_case *c, mlaf_verify_result *out, int64_t t, int h, const char *what, int column, double got,
                  double want, double off) {
  if (out->detail[0]) return false;
  const double a = (double)c->prefix.lse[t * c->prefix.lse_token + h * c->prefix.lse_head];
  const double b = (double)c->suffix.lse[t * c->suffix.lse_token + h * c->suffix.lse_head];
  char text[200];
  mlaf_snprintf(text, sizeof text, "(logs %g and %g): %s column %d is %g, reference %g: %.3g times the bound", a, b, what, column,
                got, want, off);
  snprintf(out->detail, sizeof out->detail, "case %s: token %lld, head %d %s", c->head.name, (long long)t, h, text);
  return false;
}

static bool compare_row(const merge_case *c, const written *w, int64_t t, int h, mlaf_verify_result *out) {
  const merge_place *p = &c->prefix, *s = &c->suffix;
  const uint16_t *got = w->o + t * w->before->token + h * w->before->head;
  const float *lse = w->lse + t * w->before->lse_token + h * w->before->lse_head;
  merge_row want;
  int column = 0;
  merge_reference(&c->s, p->o + t * p->token + h * p->head, p->lse[t * p->lse_token + h * p->lse_head],
                  s->o + t * s->token + h * s->head, s->lse[t * s->lse_token + h * s->lse_head], c->spec.base_2, &want);
  const double off = merge_row_off(&c->s, &want, got, &column), ratio = merge_lse_ratio(&want, *lse);
  out->rows++;
  out->error = fmax(out->error, off);
  out->row_error = fmax(out->row_error, off);
  out->lse_ratio = fmax(out->lse_ratio, ratio);
  if (isfinite(want.lse)) out->lse_error = fmax(out->lse_error, fabs((double)*lse - want.lse));
  if (!(off <= MERGE_ULPS))
    return fault(c, out, t, h, "o", column, (double)mlaf_decode16(c->s.dtype, got[column]), want.o[column], off / MERGE_ULPS);
  return ratio <= 1 || fault(c, out, t, h, "lse", 0, (double)*lse, want.lse, ratio);
}

bool merge_compare(const mlaf_case *head, void *const *outputs, mlaf_verify_result *out) {
  const merge_case *c = (const merge_case *)head;
  const written w = written_of(c, outputs);
  bool good = true;
  for (int64_t t = 0; t < c->spec.tokens; t++)
    for (int h = 0; h < c->s.heads; h++) good &= compare_row(c, &w, t, h, out);
  const int64_t at = changed(c, w.before, w.o);
  if (good && at >= 0)
    snprintf(out->detail, sizeof out->detail, "case %s: element %lld of o, between rows, was written", head->name, (long long)at);
  return good && at < 0;
}

bool merge_same(const mlaf_case *head, void *const *a, void *const *b, mlaf_verify_result *out) {
  const merge_case *c = (const merge_case *)head;
  const written x = written_of(c, a), y = written_of(c, b);
  for (int64_t t = 0; t < c->spec.tokens; t++)
    for (int h = 0; h < c->s.heads; h++) {
      const int64_t at = t * x.before->token + h * x.before->head, l = t * x.before->lse_token + h * x.before->lse_head;
      const bool good = !memcmp(x.o + at, y.o + at, (size_t)c->s.vdim * 2);
      if (good && (!x.lse || !y.lse || !memcmp(x.lse + l, y.lse + l, sizeof *x.lse))) continue;
      snprintf(out->detail, sizeof out->detail, "case %s: two runs differ in %s of token %lld, head %d", head->name,
               good ? "lse" : "o", (long long)t, h);
      return false;
    }
  return true;
}
