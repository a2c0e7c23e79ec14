/* Lengths and places of tokens on ranks against a walk over all tokens of a request, and what ranks have together. */
#include "op/numeric.h"
#include "cmocka_all.h"
#include "mlaforge/context_split.h"

enum { TRIALS = 3000, Q_MOST = 4, BATCH = 3, CONTEXT_MOST = 400 };

static int32_t below(mlaf_rng *rng, int n) { return (int32_t)mlaf_rng_below(rng, (uint32_t)n); }

/* The first n tokens of a request, one by one: the rank's own, each at the next place. */
static int32_t walk(const mlaf_context_split *s, int32_t n) {
  int32_t mine = 0;
  for (int32_t i = 0; i < n; i++) {
    const bool here = i / s->interleave % s->ranks == s->rank;
    assert_int_equal(mlaf_context_shard_token(s, i), here ? mine : -1);
    mine += here;
  }
  return mine;
}

TEST(by_brute_force) {
  mlaf_rng rng = {39};
  for (int k = 0; k < TRIALS; k++) {
    const int32_t ranks = 1 + below(&rng, 9), q_len = 1 + below(&rng, Q_MOST), causal = below(&rng, 2);
    const mlaf_context_split s = {.ranks = ranks, .rank = below(&rng, ranks), .interleave = 1 + below(&rng, k % 2 ? 4 : 70)};
    int32_t lens[BATCH], got[BATCH * Q_MOST];
    for (int b = 0; b < BATCH; b++) lens[b] = below(&rng, k % 3 ? CONTEXT_MOST : 6);
    mlaf_context_shard_lengths(&s, lens, BATCH, q_len, causal, got);
    for (int b = 0; b < BATCH; b++)
      for (int32_t i = 0; i < q_len; i++)
        assert_int_equal(got[b * q_len + i], walk(&s, causal ? lens[b] - (q_len - 1 - i) : lens[b]));
  }
}

/* Ranks have every token once, of the longest requests, too; a request that is no longer there has none. */
TEST(together) {
  static const int32_t ranks[] = {1, 2, 3, 8, 1000}, interleave[] = {1, 16, 64, 1 << 20};
  static const int64_t lengths[] = {-5, 0, 1, 63, 1 << 20, INT32_MAX};
  for (int r = 0; r < 5; r++)
    for (int k = 0; k < 4; k++)
      for (int n = 0; n < 6; n++) {
        int64_t sum = 0;
        for (int32_t rank = 0; rank < ranks[r]; rank++)
          sum += mlaf_context_shard_length(&(mlaf_context_split){ranks[r], rank, interleave[k]}, lengths[n]);
        assert_int_equal(sum, lengths[n] < 0 ? 0 : lengths[n]);
      }
}

TEST(in_place) {
  int32_t lens[] = {0, 1, 7, 1 << 20};
  mlaf_context_shard_lengths(&(mlaf_context_split){4, 1, 2}, lens, 4, 1, 1, lens);
  assert_int_equal(lens[0], 0);
  assert_int_equal(lens[1], 0);
  assert_int_equal(lens[2], 2);
  assert_int_equal(lens[3], 1 << 18);
}

TESTS(NULL, NULL)
