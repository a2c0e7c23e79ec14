#include "cuda/fake_balanced.h"

#include "cuda/fake_rows.h"

void fake_walk(const mlaf_decode_args *a, uint32_t x, uint32_t part) {
  struct mlaf_part walk = part_open(a, FB_PAGE, (int)part);
  struct mlaf_piece p;
  while (part_next(a, FB_PAGE, &walk, &p))
    for (int r = (int)x * FB_ROWS; r < ((int)x + 1) * FB_ROWS && r < p.q_tokens * H; r++) {
      const int64_t row = (int64_t)p.qo * H + r;
      double o[R];
      const double lse2 = attend(a, &p, row, p.tokens - (p.q_tokens - 1 - r / H), o);
      if (p.slot < 0) {
        finish(a, row, o, lse2);
        continue;
      }
      const int64_t at = (int64_t)p.slot * SLOT_ROWS + r;
      for (int c = 0; c < R; c++) a->part_o[at * R + c] = (float)o[c];
      a->part_lse[at] = (float)lse2;
    }
}

void fake_merge(const mlaf_decode_args *a, uint32_t block) {
  const struct mlaf_shares s = schedule_shares(schedule_start(a->kv_indptr[a->batch], a->batch, FB_PAGE), a->splits);
  for (int64_t row = (int64_t)block * FB_MERGE_ROWS; row < (int64_t)(block + 1) * FB_MERGE_ROWS && row < a->total_q * H; row++) {
    int b = 0, first, last;
    while (a->qo_indptr[b + 1] <= row / H) b++;
    const int pages = a->kv_indptr[b + 1] - a->kv_indptr[b];
    const int tokens = schedule_tokens(pages, a->kv_last_page_lens[b], FB_PAGE);
    const i64 start = schedule_start(a->kv_indptr[b], b, FB_PAGE), end = schedule_start(a->kv_indptr[b + 1], b + 1, FB_PAGE);
    double o[R] = {0}, sum = 0;
    int pieces = 0;
    request_parts(s, start, end, &first, &last);
    for (int id = first < 0 ? 0 : first; id <= last && id < a->splits; id++) {
      const int slot = request_slot(s, start, tokens, id);
      if (slot < 0) continue;
      const int64_t at = (int64_t)slot * SLOT_ROWS + row - (int64_t)a->qo_indptr[b] * H;
      const double weight = exp2((double)a->part_lse[at]);
      pieces++;
      sum += weight;
      for (int c = 0; c < R && weight > 0; c++) o[c] += weight * (double)a->part_o[at * R + c];
    }
    if (!pieces) continue; /* it lay whole in one part */
    for (int c = 0; c < R && sum > 0; c++) o[c] /= sum;
    finish(a, row, o, sum > 0 ? log2(sum) : -INFINITY);
  }
}
