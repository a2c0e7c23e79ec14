/* The fitted schedule of waves (templates/mla_decode/lib/fit_wave.h) on the host: its cuts over any batch, and what the combine
 * kernel finds of them. */
#include "cmocka_all.h"
#include "base/base.h"
#include "ops/mla_decode/launch.h"
#include "op/numeric.h"

typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;
#define MLAF_DEV static inline
enum { FIT_FIXED = 64, FIT_CUT = 100, FIT_PACE = 50, FIT_LEAST = 128 };
#include "../templates/mla_decode/lib/fit_wave.h"
static int own_least, own_knee, own_wide;
#define OWN_LEAST (u32) own_least
#define OWN_KNEE (u32) own_knee
#define OWN_WIDE (u32) own_wide
#include "../templates/mla_decode/lib/own_cut.h"

enum { MOST = 400, PARTS_MOST = 4096 };

typedef struct batch {
  int n, page_size, kv[MOST + 1], tokens[MOST];
} batch;

static int length(mlaf_rng *rng, int kind) {
  switch (kind) {
    case 0: return 0;
    case 1: return 1 + (int)mlaf_rng_below(rng, 3);
    case 2: return 1 + (int)mlaf_rng_below(rng, 200);
    case 3: return 1 + (int)mlaf_rng_below(rng, 9000);
    default: return 1000;
  }
}

static void draw(mlaf_rng *rng, batch *x) {
  static const int pages[] = {1, 16, 64, 64, 48, 3, 128, 65536};
  const int usual = (int)mlaf_rng_below(rng, 5);
  x->page_size = pages[mlaf_rng_below(rng, 8)];
  x->n = 1 + (int)mlaf_rng_below(rng, mlaf_rng_below(rng, 4) ? 40 : MOST);
  x->kv[0] = 0;
  for (int b = 0; b < x->n; b++) {
    x->tokens[b] = length(rng, mlaf_rng_below(rng, 8) ? usual : (int)mlaf_rng_below(rng, 5));
    x->kv[b + 1] = x->kv[b] + (x->tokens[b] + x->page_size - 1) / x->page_size;
  }
}

/* Walks over one part of the batch; marks its slots. */
static void walk(const batch *x, int id, i64 width, int *covered, int *whole, int *slots) {
  const i64 lo = width * id, hi = lo + width;
  i64 work = 0;
  for (int b = 0; b < x->n; b++) {
    int begin, end;
    if (!fit_piece(lo, hi, fit_start(x->kv[b], b, x->page_size), x->tokens[b], &begin, &end)) continue;
    assert_int_equal(begin, covered[b]); /* each token once, parts in order */
    assert_true(begin % FIT_GRAIN == 0 && (begin < end || !x->tokens[b]));
    covered[b] = end;
    work += end - begin;
    const int slot = fit_slot(id, begin, end, x->tokens[b]);
    if (slot < 0) whole[b]++;
    else {
      assert_int_equal(slot / 2, id);
      assert_int_equal(slots[slot], -1); /* nobody else's */
      slots[slot] = b;
    }
  }
  assert_true(work <= width + FIT_GRAIN);
}

/* The combine kernel's pieces of a request, first, ... and the last one aside, are the slots that parts filled. */
static void check_found(const batch *x, int b, i64 width, int parts, int whole, const int *slots) {
  int first, others = 0;
  for (int i = 0; i < 2 * parts; i++) others += slots[i] == b;
  if (!x->tokens[b]) {
    assert_int_equal(others, 0);
    assert_int_equal(whole, 1);
    return;
  }
  const int behind = fit_pieces(fit_start(x->kv[b], b, x->page_size), x->tokens[b], width, &first);
  assert_int_equal(behind > 0, others > 0);
  assert_int_equal(whole, behind == 0);
  if (behind == 0) return;
  assert_int_equal(others, behind + 1);
  for (int k = 0; k <= behind; k++) assert_int_equal(slots[2 * (first + k) + (k == behind)], b);
}

TEST(each_token_once) {
  mlaf_rng rng = {21};
  batch *x = malloc(sizeof *x);
  int *slots = malloc(2 * PARTS_MOST * sizeof *slots), cut = 0;
  static const int most[] = {1, 2, 38, 76, 304, 608, 1216, PARTS_MOST};
  for (int round = 0; round < 1500; round++) {
    int covered[MOST] = {0}, whole[MOST] = {0};
    draw(&rng, x);
    const i64 total = fit_start(x->kv[x->n], x->n, x->page_size);
    const int splits = 1 + (int)mlaf_rng_below(&rng, 8), parts = fit_parts(splits, most[mlaf_rng_below(&rng, 8)], x->n, total);
    const i64 width = fit_width(total, parts);
    assert_true(parts >= 1 && parts <= PARTS_MOST && width * parts >= total);
    memset(slots, -1, 2 * PARTS_MOST * sizeof *slots);
    for (int id = 0; id < parts; id++) walk(x, id, width, covered, whole, slots);
    for (int b = 0; b < x->n; b++) {
      assert_int_equal(covered[b], x->tokens[b]);
      check_found(x, b, width, parts, whole[b], slots);
      cut += !whole[b];
    }
  }
  assert_true(cut > 5000);
  free(x);
  free(slots);
}

/* As a division, also beyond what a float tells apart. */
TEST(quotients_are_exact) {
  mlaf_rng rng = {22};
  for (int round = 0; round < 200000; round++) {
    const i64 by = 1 + (i64)mlaf_rng_below(&rng, mlaf_rng_below(&rng, 2) ? 5000 : 1u << 31);
    const i64 n = (i64)mlaf_rng_below(&rng, mlaf_rng_below(&rng, 2) ? 400 : 1u << 30);
    const i64 x = by * (n >> mlaf_rng_below(&rng, 8)) + (i64)mlaf_rng_below(&rng, 7) - 3;
    if (x >= 0 && x < (INT64_C(1) << 48)) assert_int_equal(fit_quotient(x, by), x / by);
  }
}

/* Parts: no more than run at once, none of few tokens, one at least. */
TEST(parts_are_as_many_as_pay) {
  assert_int_equal(fit_parts(1, 304, 10, 304 * FIT_LEAST), 304);
  assert_int_equal(fit_parts(1, 304, 10, 304 * FIT_LEAST - 1), 303);
  assert_int_equal(fit_parts(1, 304, 10, 5), 1);
  assert_int_equal(fit_parts(8, 304, 1, INT64_C(1) << 46), 304);
  assert_int_equal(fit_parts(64, 38, 1, INT64_C(1) << 46), 38);
  assert_int_equal(fit_requests(4, 304, 10), 76);
  assert_int_equal(fit_requests(4, 304, 100), 100);
  assert_int_equal(fit_splits(mlaf_fit_word(5, 1, 304)), 5);
  assert_int_equal(fit_slots(mlaf_fit_word(5, 1, 304)), 304);
}

/* Equal requests stay whole, one long one among short ones does not. */
TEST(long_requests_are_cut) {
  static const int requests[] = {6, 24, 48, 128, 304, 500};
  for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
    for (int splits = 1; splits <= 8; splits *= 2) {
      const int n = requests[i], pages = 64;
      const i64 equal = fit_start(n * pages, n, 64), uneven = fit_start(n * 4 + 40 * pages * 16, n, 64);
      const int parts = fit_parts(splits, 304, n, equal), of = fit_parts(splits, 304, n, uneven);
      const bool busy = n * splits <= 304 && 2 * n * splits > 304; /* a turn that fills half of the device */
      if (busy) assert_false(fit_is_long(pages, 64, fit_weight(splits, 304, parts, n), fit_limit(equal, parts)));
      assert_true(fit_is_long(40 * pages * 16, 64, fit_weight(splits, 304, of, n), fit_limit(uneven, of)));
    }
}

/* A request that a quick look takes for whole is whole by the full one; and it sees that equal requests of some length are. */
TEST(a_quick_look_errs_on_one_side) {
  mlaf_rng rng = {23};
  int whole = 0, doubted = 0;
  for (int round = 0; round < 100000; round++) {
    const int splits = 1 + (int)mlaf_rng_below(&rng, 64), slots = 1 + (int)mlaf_rng_below(&rng, 608);
    const int n = 1 + (int)mlaf_rng_below(&rng, FIT_QUICK), page = 1 << mlaf_rng_below(&rng, 8);
    const int mean = 1 + (int)mlaf_rng_below(&rng, 400), longest = mean + (int)mlaf_rng_below(&rng, 2 * (uint32_t)mean);
    const i64 total = fit_start(n * mean, n, page);
    const int parts = fit_parts(splits, slots, n, total);
    const int quick = fit_is_short(fit_look_at(splits, slots, n, page), longest, n * mean);
    const int is_long = fit_is_long(longest, page, fit_weight(splits, slots, parts, n), fit_limit(total, parts));
    whole += quick;
    doubted += !quick && !is_long;
    assert_false(quick && is_long);
    assert_int_equal(fit_ratio(slots, splits), slots / splits);
  }
  assert_true(whole > 30000);
  assert_true(doubted < whole / 4);
  for (int by = 1; by < 2048; by++)
    for (int n = by - 1; n < 32767; n += by) assert_true(fit_ratio(n, by) == n / by && fit_ratio(n + 1, by) == (n + 1) / by);
}

/* Batch-invariant: the parts of a request are its tokens in order, none is empty, and they differ by a grain. */
static void check_own_cut(int tokens, int most) {
  const int n = own_parts(tokens, most);
  int least = tokens, longest = 0;
  if (n < 1 || n > most || n >= 1 << OWN_PARTS_BITS) fail_msg("%d parts of %d tokens, at most %d", n, tokens, most);
  assert_int_equal(own_begin(tokens, n, 0), 0);
  assert_int_equal(own_begin(tokens, n, n), tokens);
  for (int k = 0; k < n; k++) {
    const int begin = own_begin(tokens, n, k), end = own_begin(tokens, n, k + 1), size = end - begin;
    if (begin % OWN_GRAIN || (tokens && size <= 0)) fail_msg("part %d of %d of %d tokens: %d..%d", k, n, tokens, begin, end);
    if (k < n - 1) least = size < least ? size : least;
    longest = size > longest ? size : longest;
  }
  if (n > 1 && longest - least > OWN_GRAIN) fail_msg("parts of %d to %d tokens of %d", least, longest, tokens);
}
TEST(requests_are_cut_by_their_own_length) {
  static const int cuts[][4] = {{8, 32, 16, 63}, {16, 22, 32, 48}, {4, 16, 8, 32}, {1, 1, 1, 63}, {3, 7, 5, 1}};
  for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
    mlaf_rng rng = {c + 1};
    int before = 1;
    own_least = cuts[c][0], own_knee = cuts[c][1], own_wide = cuts[c][2];
    for (int tokens = 0; tokens < 20000; tokens++) {
      check_own_cut(tokens, cuts[c][3]);
      const int n = own_parts(tokens, cuts[c][3]);
      if (n < before) fail_msg("%d tokens have %d parts, fewer had %d", tokens, n, before);
      before = n;
    }
    for (int i = 0; i < 20000; i++) check_own_cut((int)mlaf_rng_below(&rng, 1u << (i % 31)), cuts[c][3]);
    check_own_cut(INT32_MAX, cuts[c][3]);
  }
}

TESTS(NULL, NULL)
