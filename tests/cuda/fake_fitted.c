#include "cuda/fake_fitted.h"

#include <stdbool.h>
#include <stdlib.h>

#include "cuda/fake_rows.h"

/* A piece's rows of this block: partial results to their slot, whole requests to o. `place` is the row of the request's row 0. */
static void put_row(const mlaf_decode_args *a, const struct mlaf_piece *p, int r, int64_t place, const double o[R], double lse2) {
  if (place < 0) {
    finish(a, (int64_t)p->qo * H + r, o, lse2);
    return;
  }
  for (int c = 0; c < R && lse2 > -INFINITY; c++) a->part_o[(place + r) * R + c] = (float)o[c];
  a->part_lse[place + r] = (float)lse2;
}

static int seen_by(const struct mlaf_piece *p, int r) { return p->tokens - (p->q_tokens - 1 - r / H); }
static int rows_end(const struct mlaf_piece *p, uint32_t x) {
  const int end = ((int)x + 1) * FW_ROWS;
  return end < p->q_tokens * H ? end : p->q_tokens * H;
}

static void put_piece(const mlaf_decode_args *a, const struct mlaf_piece *p, uint32_t x, int64_t place) {
  for (int r = (int)x * FW_ROWS; r < rows_end(p, x); r++) {
    double o[R];
    const double lse2 = attend(a, p, (int64_t)p->qo * H + r, seen_by(p, r), o);
    put_row(a, p, r, place, o, lse2);
  }
}

/* A share of a request that stays whole, in steps of 64 tokens. */
static void put_share(const mlaf_decode_args *a, int request, int share, uint32_t x) {
  const int shares = fit_splits(a), page = a->kv_indptr[request], qo = a->qo_indptr[request];
  struct mlaf_piece p = {.request = request, .qo = qo, .q_tokens = a->qo_indptr[request + 1] - qo, .first_page = page,
                         .slot = -1};
  p.tokens = schedule_tokens(a->kv_indptr[request + 1] - page, a->kv_last_page_lens[request], FW_PAGE);
  const int steps = (p.tokens + 63) / 64, begin = 64 * (steps * share / shares), end = 64 * (steps * (share + 1) / shares);
  p.begin = begin < p.tokens ? begin : p.tokens;
  p.end = end < p.tokens ? end : p.tokens;
  put_piece(a, &p, x, shares == 1 ? -1 : ((int64_t)share * a->total_q + qo) * H);
}

/* Into how many parts this launch cuts its batch, 0: into none; the first block tells it. */
static int decide(const mlaf_decode_args *a, const fake_block *b, int *id) {
  const int slots = fit_slots(a), blocks = (int)(b->grid[1] * b->grid[2]), most = slots < blocks ? slots : blocks;
  const int parts = fit_cuts(a, FW_PAGE, (int)b->grid[1], slots, most, fit_longest(a)) ? most : 0;
  *id = (int)(b->at[2] * b->grid[1] + b->at[1]);
  if (b->at[0] + (uint32_t)*id == 0 && a->part_o) fit_tell(a->part_o, parts);
  return parts;
}

/* For the combine kernel, by the first of the blocks that share a part. */
static void list(const mlaf_decode_args *a, uint32_t x, int id, int request) {
  if (x == 0 && a->part_o) fit_list(a->part_o, id, request);
}

void fake_fit(const mlaf_decode_args *a, const fake_block *b) {
  int id;
  const int parts = decide(a, b, &id);
  if (!parts) {
    for (int i = (int)b->at[2]; i < a->batch; i += (int)b->grid[2]) put_share(a, i, (int)b->at[1], b->at[0]);
    return;
  }
  if (id >= parts) return;
  struct mlaf_part walk = fit_open(a, FW_PAGE, id, parts);
  struct mlaf_piece p;
  list(a, b->at[0], id, -1);
  while (fit_next(a, FW_PAGE, &walk, &p)) {
    if (fit_goes_on(&p)) list(a, b->at[0], id, p.request);
    put_piece(a, &p, b->at[0], p.slot < 0 ? -1 : (int64_t)p.slot * SLOT_ROWS);
  }
}

/* --- in-kernel split merge --- */

static const uint64_t ready = 0x1234567890abcdef;

/* The word of a part's rows from x on: as mla_decode/lib/meet.h has it for kernels. */
static uint64_t *word_of(const mlaf_decode_args *a, int part, uint32_t x) {
  return (uint64_t *)(void *)(a->part_o + ((int64_t)(2 * part + 1) * SLOT_ROWS + x * FW_ROWS) * R);
}

/* A row of a piece and of those that this part adds to it. late: one is missing. */
static double add_up(const mlaf_decode_args *a, const struct mlaf_piece *p, int id, int whom, bool late, int r, double o[R]) {
  const double own = attend(a, p, (int64_t)p->qo * H + r, seen_by(p, r), o);
  double sum = exp2(own);
  for (int c = 0; c < R; c++) o[c] *= sum;
  for (int k = 0; k < meet_count(whom); k++) {
    const int64_t at = (int64_t)(2 * meet_part(id, whom, k)) * SLOT_ROWS + r;
    const double weight = exp2((double)a->part_lse[at]);
    sum += weight;
    for (int c = 0; c < R && weight > 0; c++) o[c] += weight * (double)a->part_o[at * R + c];
  }
  for (int c = 0; c < R && sum > 0; c++) o[c] /= sum;
  return late ? (double)NAN : sum > 0 ? log2(sum) : -INFINITY;
}

static void meet(const mlaf_decode_args *a, uint32_t x, int id, int parts) {
  struct mlaf_part walk = meet_open(a, FW_PAGE, id, parts);
  struct mlaf_piece p;
  const int apart = fit_apart(a);
  int whom;
  if (apart) list(a, x, id, -1);
  while (meet_next(a, FW_PAGE, &walk, &p, apart, &whom)) {
    if (apart && fit_goes_on(&p)) list(a, x, id, p.request);
    if ((int)x * FW_ROWS >= p.q_tokens * H) continue;
    bool late = false;
    for (int k = 0; k < meet_count(whom); k++) {
      uint64_t *word = word_of(a, meet_part(id, whom, k), x);
      late |= *word != ready;
      *word = 0;
    }
    for (int r = (int)x * FW_ROWS; r < rows_end(&p, x); r++) {
      double o[R];
      const double lse2 = add_up(a, &p, id, whom, late, r, o);
      put_row(a, &p, r, p.slot < 0 ? -1 : (int64_t)p.slot * SLOT_ROWS, o, lse2);
    }
    if (p.slot >= 0 && !apart) *word_of(a, id, x) = ready;
  }
}

void fake_fitmeet(const mlaf_decode_args *a, const fake_block *b) {
  int id;
  const int parts = decide(a, b, &id);
  if (parts && id < parts) meet(a, b->at[0], id, parts);
  if (!parts && (int)b->at[2] < a->batch && b->at[1] % b->team == 0) /* a team's first block for all */
    put_share(a, (int)b->at[2], (int)(b->at[1] / b->team), b->at[0]);
}

/* --- the combine kernel --- */

/* A row from `count` partial results, the k-th at first + k * stride, the last one `aside` rows behind that. */
static void add_row(const mlaf_decode_args *a, int64_t row, int64_t first, int64_t stride, int count, int64_t aside) {
  double o[R] = {0}, sum = 0;
  for (int k = 0; k < count; k++) {
    const int64_t at = first + k * stride + (k == count - 1 ? aside : 0);
    const double weight = exp2((double)a->part_lse[at]);
    sum += weight;
    for (int c = 0; c < R && weight != 0; c++) o[c] += weight * (double)a->part_o[at * R + c];
  }
  for (int c = 0; c < R && sum > 0; c++) o[c] /= sum;
  finish(a, row, o, sum > 0 ? log2(sum) : isnan(sum) ? (double)NAN : -INFINITY);
}

/* The rows of the request that the parts' list has at `part`, of which this block takes every grid'th. */
static void add_cut(const mlaf_decode_args *a, const fake_block *b, int part, int parts) {
  const int request = fit_words(a->part_o)[part], page = request < 0 ? 0 : a->kv_indptr[request];
  int first;
  if (request < 0) return;
  const int tokens = schedule_tokens(a->kv_indptr[request + 1] - page, a->kv_last_page_lens[request], FW_PAGE);
  const i64 width = fit_width(schedule_start(a->kv_indptr[a->batch], a->batch, FW_PAGE), parts);
  const int count = fit_pieces(schedule_start(page, request, FW_PAGE), tokens, width, &first) + 1;
  const int64_t row = (int64_t)a->qo_indptr[request] * H, rows = (int64_t)a->qo_indptr[request + 1] * H - row;
  if (first != part || count < 2) abort(); /* the list names what was cut, and where it begins */
  for (int64_t r = b->at[0]; r < rows; r += b->grid[0])
    add_row(a, row + r, (int64_t)(2 * part) * SLOT_ROWS + r, 2 * SLOT_ROWS, count, SLOT_ROWS);
}

void fake_fitadd(const mlaf_decode_args *a, const fake_block *b) {
  const int parts = fit_told(a->part_o), splits = fit_splits(a);
  const int64_t rows = a->total_q * H;
  for (int part = 0; part < parts; part++) add_cut(a, b, part, parts);
  if (parts || splits == 1) return; /* all is done */
  for (int64_t first = (int64_t)b->at[0] * FW_MERGE_ROWS; first < rows; first += (int64_t)b->grid[0] * FW_MERGE_ROWS)
    for (int64_t row = first; row < first + FW_MERGE_ROWS && row < rows; row++) add_row(a, row, row, rows, splits, 0);
}
