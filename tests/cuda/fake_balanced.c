#include "cuda/fake_balanced.h"

#include <stdbool.h>

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

/* The word of a part's rows from x on: as lib/meet.h has it for kernels. */
static uint64_t *word_of(const mlaf_decode_args *a, int part, uint32_t x) {
  return (uint64_t *)(void *)(a->part_o + ((int64_t)(2 * part + 1) * SLOT_ROWS + x * FB_ROWS) * R);
}

void fake_meet(const mlaf_decode_args *a, uint32_t x, uint32_t part) {
  static const uint64_t ready = 0x1234567890abcdef;
  struct mlaf_part walk = meet_open(a, FB_PAGE, (int)part, a->splits);
  struct mlaf_piece p;
  int whom;
  while (meet_next(a, FB_PAGE, &walk, &p, 0, &whom)) {
    const int others = meet_count(whom);
    if ((int)x * FB_ROWS >= p.q_tokens * H) continue;
    bool late = false;
    for (int k = 0; k < others; k++) {
      const int id = meet_part((int)part, whom, k);
      late |= *word_of(a, id, x) != ready;
      *word_of(a, id, x) = 0;
    }
    for (int r = (int)x * FB_ROWS; r < ((int)x + 1) * FB_ROWS && r < p.q_tokens * H; r++) {
      const int64_t row = (int64_t)p.qo * H + r;
      double o[R], lse2 = attend(a, &p, row, p.tokens - (p.q_tokens - 1 - r / H), o), sum = exp2(lse2);
      for (int c = 0; c < R; c++) o[c] *= sum;
      for (int k = 0; k < others; k++) {
        const int64_t at = (int64_t)(2 * meet_part((int)part, whom, k)) * SLOT_ROWS + r;
        const double weight = late ? NAN : exp2((double)a->part_lse[at]);
        sum += weight;
        for (int c = 0; c < R; c++) o[c] += weight * (double)a->part_o[at * R + c];
      }
      for (int c = 0; c < R && sum > 0; c++) o[c] /= sum;
      lse2 = late ? NAN : sum > 0 ? log2(sum) : -INFINITY;
      if (p.slot < 0) {
        finish(a, row, o, lse2);
        continue;
      }
      const int64_t at = (int64_t)p.slot * SLOT_ROWS + r;
      for (int c = 0; c < R; c++) a->part_o[at * R + c] = (float)o[c];
      a->part_lse[at] = (float)lse2;
    }
    if (p.slot >= 0) *word_of(a, (int)part, x) = ready;
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
