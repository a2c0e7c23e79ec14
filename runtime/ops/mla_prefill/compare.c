/* A case's buffers, and its outputs against fp64. Rows whose reference is NaN must be NaN throughout, rows that see no key
 * exactly (0, -inf), all others are measured. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op/numeric.h"
#include "ops/mla_prefill/case.h"

enum { AT_O = 6, AT_LSE }; /* among the buffers */

double prefill_error_bound(const prefill_shape *s) {
  /* Weights of 8 bits: a weight in [1, 2) is rounded to an eighth, by 2^-3 / sqrt(12) in the mean square, which relative to
   * weights spread evenly over the logarithm is 2.7e-2; keys' errors are independent, as the keys' values are, so it is that of
   * a row, too. Half as much again is left to small samples and to weights that the last maximum makes lower than normal ones. Of
   * one row, twice this bound is 8e-2: a key that decides it alone may be off by 2^-4. */
  if (s->inputs) return 4e-2;
  /* bf16: rounding P and O to 16 bits costs 1.9e-3; published kernels measure 2.2e-3 to 2.7e-3 on single rows. f16 keeps 3 bits
   * more in both. */
  return s->dtype == MLAF_F16 ? 2.5e-3 / 8 : 2.5e-3;
}

/* u = 2^-24; rounding errors of a sum of k terms stay below 8 sqrt(k) u times the sum of magnitudes but for a chance of
 * 2 exp(-32) (Higham and Mary 2019). Scores: N+P additions and the scale; sum: a term, a rescale and an exp2 for each key.
 * Matrix cores may add products of e4m3fn and the sum before, 32 at a time, all cut off 13 bits behind the largest (Hopper's
 * wgmma does): each term is an addition whose error is at most 2^-13 of that. */
double prefill_lse_bound(const prefill_shape *s, int64_t visible, double magnitude, double lse) {
  const double u = 0x1p-24, unit = s->inputs == PREFILL_E4M3FN ? 0x1p-13 : u;
  return 8 * sqrt(s->qk + 4) * unit * magnitude + (16 * sqrt((double)visible) + 16) * u + 8 * u * fabs(lse);
}

int prefill_case_buffers(const mlaf_case *head, const mlaf_bound *b, uint32_t knob, void *args,
                         mlaf_case_buffer out[MLAF_CASE_BUFFERS]) {
  const prefill_case *c = (const prefill_case *)head;
  const prefill_view *x = &c->x;
  const size_t lengths = (size_t)(x->batch + 1) * sizeof(int32_t), rows = (size_t)(x->total_q * x->s.heads);
  const size_t bytes = (size_t)x->s.bytes;
  const mlaf_use scales = x->s.inputs ? MLAF_USE_INPUT : MLAF_USE_NONE;
  *(mlaf_prefill_args *)args = (mlaf_prefill_args){
      .struct_size = sizeof(mlaf_prefill_args),
      .batch = (int32_t)x->batch,
      .scale = (float)x->scale,
      .total_q = x->total_q,
      .total_k = x->total_k,
      .q_token_stride = x->q_token,
      .q_head_stride = x->q_head,
      .k_token_stride = x->k_token,
      .k_head_stride = x->k_head,
      .k_pe_token_stride = c->k_pe_count ? x->k_pe_token : 0,
      .v_token_stride = x->v_token,
      .v_head_stride = x->v_head,
      .o_token_stride = c->o_token,
      .o_head_stride = c->o_head,
      .lse_token_stride = c->lse_by_token ? x->s.heads : 0,
      .lse_head_stride = c->lse_by_token ? 1 : 0,
  };
#define ARG(name) offsetof(mlaf_prefill_args, name)
  const mlaf_case_buffer all[] = {
      {"q", MLAF_USE_INPUT, c->q_count * bytes, ARG(q), c->q},
      {"k", MLAF_USE_INPUT, c->k_count * bytes, ARG(k), c->k},
      {"k_pe", c->k_pe_count ? MLAF_USE_INPUT : MLAF_USE_NONE, c->k_pe_count * bytes, ARG(k_pe), c->k_pe},
      {"v", MLAF_USE_INPUT, c->v_count * bytes, ARG(v), c->v},
      {"cu_seqlens_q", MLAF_USE_INPUT, lengths, ARG(cu_seqlens_q), x->cu_q},
      {"cu_seqlens_k", MLAF_USE_INPUT, lengths, ARG(cu_seqlens_k), x->cu_k},
      [AT_O] = {"o", MLAF_USE_OUTPUT, c->o_count * 2, ARG(o), NULL},
      [AT_LSE] = {"lse", MLAF_USE_OPTIONAL_OUTPUT, rows * sizeof(float), ARG(lse), NULL},
      {"q_scale", scales, sizeof(float), ARG(q_scale), &x->tensor_scale[0]},
      {"k_scale", scales, sizeof(float), ARG(k_scale), &x->tensor_scale[1]},
      {"v_scale", scales, sizeof(float), ARG(v_scale), &x->tensor_scale[2]},
  };
  memcpy(out, all, sizeof all);
#undef ARG
  return sizeof all / sizeof *all;
}

/* INFINITY for NaN, so that comparisons with bounds work. */
static double measured(double e) { return isnan(e) ? INFINITY : e; }

double prefill_row_error(int dtype, const double *want, const uint16_t *got, int n, double *diff2, double *ref2, int *column) {
  double diff = 0, ref = 0, worst = -1;
  for (int c = 0; c < n; c++) {
    const double e = (double)mlaf_decode16(dtype, got[c]) - want[c];
    diff += e * e;
    ref += want[c] * want[c];
    if (measured(fabs(e)) > worst) worst = measured(fabs(e)), *column = c;
  }
  *diff2 += measured(diff);
  *ref2 += ref;
  return measured(sqrt(diff / ref));
}

/* The worst that was found: error over bound, above 1 is a failure. */
typedef struct finding {
  double ratio;
  int64_t token;
  int head;
  char what[200];
} finding;

static void consider(finding *f, double ratio, int64_t token, int head, const char *what, int column, double got, double want) {
  if (!(ratio > f->ratio)) return;
  f->ratio = ratio;
  f->token = token;
  f->head = head;
  mlaf_snprintf(f->what, sizeof f->what, "%s column %d is %g, reference %g: %.3g times the bound", what, column, got, want,
                ratio);
}

static void exact_row(const prefill_case *c, int64_t t, int h, const uint16_t *got, const float *lse, finding *f) {
  const double want = c->lse[t * c->x.s.heads + h];
  for (int i = 0; i < c->x.s.vdim; i++) {
    const double v = (double)mlaf_decode16(c->x.s.dtype, got[i]);
    if (isnan(want) ? !isnan(v) : v != 0) consider(f, INFINITY, t, h, "o", i, v, isnan(want) ? NAN : 0);
  }
  const double l = (double)*lse;
  if (isnan(want) ? !isnan(l) : l != -INFINITY) consider(f, INFINITY, t, h, "lse", 0, l, want);
}

bool prefill_compare(const mlaf_case *head, void *const *outputs, mlaf_verify_result *out) {
  const prefill_case *c = (const prefill_case *)head;
  const prefill_shape *s = &c->x.s;
  const uint16_t *o = outputs[AT_O];
  const float *lse = outputs[AT_LSE];
  const double bound = prefill_error_bound(s);
  double diff2 = 0, ref2 = 0;
  finding f = {.ratio = 0};
  for (int64_t t = 0; t < c->x.total_q; t++) {
    const prefill_row row = prefill_row_of(&c->x, t);
    for (int h = 0; h < s->heads; h++) {
      const int64_t at = t * s->heads + h;
      const uint16_t *got = o + t * c->o_token + h * c->o_head;
      const float *l = lse + prefill_case_lse_at(c, t, h);
      int column = 0;
      out->rows++;
      if (!isfinite(c->lse[at])) {
        exact_row(c, t, h, got, l, &f);
        continue;
      }
      const double *want = c->o + at * s->vdim, error = prefill_row_error(s->dtype, want, got, s->vdim, &diff2, &ref2, &column);
      const double off = measured(fabs((double)*l - c->lse[at]));
      const double most = prefill_lse_bound(s, row.visible, c->magnitude[at], c->lse[at]);
      consider(&f, error / (2 * bound), t, h, "o", column, (double)mlaf_decode16(s->dtype, got[column]), want[column]);
      consider(&f, off / most, t, h, "lse", 0, (double)*l, c->lse[at]);
      out->row_error = fmax(out->row_error, error);
      out->lse_error = fmax(out->lse_error, off);
      out->lse_ratio = fmax(out->lse_ratio, off / most);
    }
  }
  const double whole = f.ratio == INFINITY ? INFINITY : ref2 > 0 ? measured(sqrt(diff2 / ref2)) : 0;
  out->error = fmax(out->error, whole);
  if (f.ratio <= 1 && whole <= bound) return true;
  const prefill_row row = prefill_row_of(&c->x, f.token);
  char errors[80];
  mlaf_snprintf(errors, sizeof errors, "error %.3g, bound %.3g", whole, bound);
  snprintf(out->detail, sizeof out->detail,
           "case %s: %s; worst in request %lld (%lld keys, %lld visible), token %lld, head %d: %s", head->name, errors,
           (long long)row.request, (long long)row.keys, (long long)row.visible, (long long)row.token, f.head, f.what);
  return false;
}

bool prefill_same(const mlaf_case *head, void *const *a, void *const *b, mlaf_verify_result *out) {
  const prefill_case *c = (const prefill_case *)head;
  const prefill_shape *s = &c->x.s;
  const uint16_t *o = a[AT_O], *again = b[AT_O];
  const float *lse = a[AT_LSE], *lse_again = b[AT_LSE];
  for (int64_t t = 0; t < c->x.total_q; t++)
    for (int h = 0; h < s->heads; h++) {
      const int64_t at = t * c->o_token + h * c->o_head, l = prefill_case_lse_at(c, t, h);
      const bool good = !memcmp(o + at, again + at, (size_t)s->vdim * 2);
      if (good && (!lse || !lse_again || !memcmp(lse + l, lse_again + l, sizeof *lse))) continue;
      snprintf(out->detail, sizeof out->detail, "case %s: two runs differ in %s of token %lld, head %d", head->name,
               good ? "lse" : "o", (long long)t, h);
      return false;
    }
  return true;
}
