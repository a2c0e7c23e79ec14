#include "cuda/fake_whole.h"

#include "cuda/fake_rows.h"

void fake_whole(const mlaf_decode_args *a, uint32_t x, uint32_t request) {
  const int b = (int)request, page = a->kv_indptr[b], qo = a->qo_indptr[b];
  struct mlaf_piece p = {.request = b, .qo = qo, .q_tokens = a->qo_indptr[b + 1] - qo, .first_page = page, .slot = -1};
  p.end = p.tokens = schedule_tokens(a->kv_indptr[b + 1] - page, a->kv_last_page_lens[b], FW_PAGE);
  for (int r = (int)x * FW_ROWS; r < ((int)x + 1) * FW_ROWS && r < p.q_tokens * H; r++) {
    double o[R];
    const int64_t row = (int64_t)qo * H + r;
    const double lse2 = attend(a, &p, row, p.tokens - (p.q_tokens - 1 - r / H), o);
    finish(a, row, o, lse2);
  }
}
