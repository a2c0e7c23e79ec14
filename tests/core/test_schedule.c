/* The balanced schedule (templates/lib/schedule.h) on the host: its cuts over any batch. */
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "base/base.h"
#include "core/launch.h"
#include "core/numeric.h"

typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;
#define MLAF_DEV static inline
static int fixed; /* gen/schedule.lua has one for each family */
#define SCHEDULE_FIXED fixed
#include "../templates/lib/schedule.h"

enum { FIXED_MOST = 5 };
static const int fixed_costs[FIXED_MOST] = {64, 128, 192, 320, 512};

enum { MOST = 3000 };

typedef struct batch {
  mlaf_decode_args a;
  int page_size;
  int32_t qo[MOST + 1], kv[MOST + 1], last[MOST];
  int tokens[MOST];
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

/* Mostly of one kind, some of any: empty batches, equal ones, one long request among short ones. */
static void draw(mlaf_rng *rng, batch *x) {
  static const int pages[] = {1, 16, 64, 64, 64, 128, 48, 65536};
  x->page_size = pages[mlaf_rng_below(rng, 8)];
  const int n = 1 + (int)mlaf_rng_below(rng, mlaf_rng_below(rng, 4) ? 40 : MOST), usual = (int)mlaf_rng_below(rng, 5);
  x->kv[0] = x->qo[0] = 0;
  for (int b = 0; b < n; b++) {
    x->tokens[b] = length(rng, mlaf_rng_below(rng, 8) ? usual : (int)mlaf_rng_below(rng, 5));
    const int full = (x->tokens[b] + x->page_size - 1) / x->page_size;
    x->kv[b + 1] = x->kv[b] + full;
    x->last[b] = full ? x->tokens[b] - (full - 1) * x->page_size : 0;
    x->qo[b + 1] = x->qo[b] + (mlaf_rng_below(rng, 6) ? 1 + (int)mlaf_rng_below(rng, 2) : 0);
  }
  static const int parts[] = {1, 2, 33, 66, 132, 264, 1000, 4096};
  x->a = (mlaf_decode_args){.qo_indptr = x->qo, .kv_indptr = x->kv, .kv_last_page_lens = x->last, .batch = n};
  x->a.splits = mlaf_rng_below(rng, 2) ? parts[mlaf_rng_below(rng, 8)] : 1 + (int)mlaf_rng_below(rng, 300);
}

typedef struct seen {
  int covered[MOST]; /* tokens of each request so far, in order of the parts */
  int whole[MOST];   /* pieces that finish the request */
  int slots[2 * 4096];
} seen;

static void check_piece(const batch *x, const struct mlaf_part *part, const struct mlaf_piece *p, seen *s) {
  const int b = p->request;
  assert_int_equal(p->tokens, x->tokens[b]);
  assert_int_equal(p->first_page, x->kv[b]);
  assert_int_equal(p->qo, x->qo[b]);
  assert_int_equal(p->q_tokens, x->qo[b + 1] - x->qo[b]);
  assert_true(p->q_tokens > 0);
  assert_int_equal(p->begin, s->covered[b]); /* each token once, parts in order */
  assert_true(p->begin % SCHEDULE_GRAIN == 0 && (p->begin < p->end || !p->tokens));
  s->covered[b] = p->end;
  if (p->slot < 0) {
    assert_true(p->begin == 0 && p->end == p->tokens);
    s->whole[b]++;
  } else {
    assert_true(p->end - p->begin < p->tokens);
    assert_int_equal(p->slot / 2, part->id);
    assert_int_equal(s->slots[p->slot], -1); /* nobody else's */
    s->slots[p->slot] = b;
  }
}

/* Walks all parts; no part has more than its share and what a cut may move. */
static void walk(const batch *x, seen *s) {
  const i64 total = schedule_start(x->kv[x->a.batch], x->a.batch, x->page_size);
  memset(s, 0, sizeof *s);
  memset(s->slots, -1, sizeof s->slots);
  for (int id = 0; id < x->a.splits; id++) {
    struct mlaf_part part = part_open(&x->a, x->page_size, id);
    struct mlaf_piece p;
    i64 work = 0;
    while (part_next(&x->a, x->page_size, &part, &p)) {
      check_piece(x, &part, &p, s);
      work += p.end - p.begin;
    }
    assert_true(work <= total / x->a.splits + 1 + SCHEDULE_GRAIN);
  }
}

/* What the combine kernel finds for a request is what the parts did. */
static void check_request(const batch *x, int b, const seen *s) {
  const struct mlaf_shares shares = schedule_shares(schedule_start(x->kv[x->a.batch], x->a.batch, x->page_size), x->a.splits);
  const i64 start = schedule_start(x->kv[b], b, x->page_size), end = schedule_start(x->kv[b + 1], b + 1, x->page_size);
  int first, last, pieces = 0, others = 0;
  request_parts(shares, start, end, &first, &last);
  assert_true(0 <= first && first <= last && last < x->a.splits);
  for (int id = first; id <= last; id++) {
    const int slot = request_slot(shares, start, x->tokens[b], id);
    if (slot < 0) continue;
    assert_int_equal(s->slots[slot], b);
    pieces++;
  }
  for (int i = 0; i < 2 * x->a.splits; i++) others += s->slots[i] == b;
  assert_int_equal(others, pieces);
  assert_true(pieces == 0 ? s->whole[b] == 1 : pieces > 1 && s->whole[b] == 0);
}

static void each_token_once(void **state) {
  mlaf_rng rng = {11};
  batch *x = malloc(sizeof *x);
  seen *s = malloc(sizeof *s);
  for (int round = 0; round < 1000; round++) {
    fixed = fixed_costs[round % FIXED_MOST];
    draw(&rng, x);
    walk(x, s);
    for (int b = 0; b < x->a.batch; b++) {
      if (x->qo[b + 1] == x->qo[b]) {
        assert_int_equal(s->covered[b] + s->whole[b], 0);
        continue;
      }
      assert_int_equal(s->covered[b], x->tokens[b]);
      if (x->a.batch < 50 || b % 17 == 0) check_request(x, b, s);
    }
  }
  free(x);
  free(s);
}

/* As many parts as equal requests: one each, nothing to combine. */
static void equal_lengths_stay_whole(void **state) {
  batch *x = calloc(1, sizeof *x);
  seen *s = malloc(sizeof *s);
  x->page_size = 64;
  for (int b = 0; b < 128; b++) {
    x->tokens[b] = 4096;
    x->kv[b + 1] = 64 * (b + 1);
    x->qo[b + 1] = b + 1;
    x->last[b] = 64;
  }
  x->a = (mlaf_decode_args){.qo_indptr = x->qo, .kv_indptr = x->kv, .kv_last_page_lens = x->last, .batch = 128, .splits = 128};
  for (int i = 0; i < FIXED_MOST; i++) {
    fixed = fixed_costs[i];
    walk(x, s);
    for (int b = 0; b < 128; b++) assert_int_equal(s->whole[b], 1);
  }
  free(x);
  free(s);
}

/* Positions beyond 32 bits: many pages of 65536 tokens. */
static void positions_are_wide(void **state) {
  static const int32_t kv[] = {0, 30000, 60000, 60001}, qo[] = {0, 1, 2, 3}, last[] = {1, 65536, 9};
  const mlaf_decode_args a = {.qo_indptr = qo, .kv_indptr = kv, .kv_last_page_lens = last, .batch = 3, .splits = 7};
  i64 sum = 0;
  fixed = 128;
  for (int id = 0; id < 7; id++) {
    struct mlaf_part part = part_open(&a, 65536, id);
    struct mlaf_piece p;
    while (part_next(&a, 65536, &part, &p)) sum += p.end - p.begin;
  }
  assert_int_equal(sum, (i64)29999 * 65536 + 1 + (i64)30000 * 65536 + 9);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_token_once),
      cmocka_unit_test(equal_lengths_stay_whole),
      cmocka_unit_test(positions_are_wide),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
