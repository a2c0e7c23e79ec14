/* Bytes and flops of mla_decode. */
#include "ops/mla_decode/execute.h"

static mlaf_work work(const mlaf_problem *p, const int32_t *lengths) {
  const double rows = (double)p->q_len * p->heads, d = p->rank + p->rope;
  const double token = (double)mlaf_decode_bytes(p, mlaf_decode_format(p, false)->token);
  double longest = 0; /* a table of cosines and sines is read once: requests share it */
  mlaf_work w = {.main = "the cache"};
  for (int32_t b = 0; b < p->batch; b++) {
    const double tokens = lengths ? lengths[b] : p->ctx;
    const double seen = p->causal ? tokens - (fmin(p->q_len, tokens) - 1) / 2.0 : tokens; /* by a row on average */
    w.main_bytes += token * tokens;
    w.flops += 2 * rows * seen * (d + p->rank);
    longest = fmax(longest, tokens);
  }
  w.bytes = w.main_bytes + p->batch * rows * ((p->fp8_q ? 1 : 2) * d + 2 * p->rank + 4) + (p->rotate ? 4 * longest * p->rope : 0);
  return w;
}

mlaf_work mlaf_decode_work(const mlaf_point *p) {
  const mlaf_problem problem = mlaf_problem_of(p);
  return work(&problem, NULL);
}

mlaf_work mlaf_decode_work_of(const mlaf_problem *p, const int32_t *lengths) { return work(p, lengths); }
