/* Contexts that are split over ranks by their tokens (decode context parallel): token i of a request lies on rank (i /
 * interleave) % ranks, behind the tokens before it that this rank has. Pure host code, no library call. A rank computes O and LSE
 * over its tokens (mla_decode), ranks exchange both, and mla_merge_parts makes one of them. docs/context-split.md has it all.
 *
 *   mlaf_context_split s = {.ranks = 4, .rank = 1, .interleave = 1};
 *   mlaf_context_shard_lengths(&s, seq_lens, batch, q_len, 1, local);   // seq_lens of mla_decode on rank 1 */
#ifndef MLAFORGE_CONTEXT_SPLIT_H
#define MLAFORGE_CONTEXT_SPLIT_H

#include <stdint.h>

typedef struct mlaf_context_split {
  int32_t ranks;      /* 1 and up */
  int32_t rank;       /* 0..ranks-1 */
  int32_t interleave; /* consecutive tokens that lie on one rank, 1 and up; ranks * interleave below 2^31 */
} mlaf_context_split;

/* The number of tokens of the rank among the first n of a request; 0 where n is not positive. Thread-safe. */
static inline int64_t mlaf_context_shard_length(const mlaf_context_split *s, int64_t n) {
  const int64_t round = (int64_t)s->ranks * s->interleave, whole = n > 0 ? n / round : 0;
  const int64_t rest = n > 0 ? n % round - (int64_t)s->rank * s->interleave : 0;
  return whole * s->interleave + (rest < 0 ? 0 : rest > s->interleave ? s->interleave : rest);
}

/* The place of token i (0 and up) of a request among the tokens of the rank; -1 where another rank has it, which is a slot that
 * mla_append skips. Thread-safe. */
static inline int64_t mlaf_context_shard_token(const mlaf_context_split *s, int64_t i) {
  const int64_t block = i / s->interleave;
  return block % s->ranks == s->rank ? block / s->ranks * s->interleave + i % s->interleave : -1;
}

/* Writes [batch, q_len] lengths to `out`: of each query token, as a request of its own (mla_decode with q_len 1), the tokens of
 * the rank that it sees. seq_lens [batch]: cached tokens of each request on all ranks, the new ones included. causal: query token
 * i of q_len sees the first seq_lens - (q_len-1-i), else all. All arrays are in host memory; `out` may be seq_lens where q_len is
 * 1. Thread-safe. */
static inline void mlaf_context_shard_lengths(const mlaf_context_split *s, const int32_t *seq_lens, int32_t batch, int32_t q_len,
                                              int32_t causal, int32_t *out) {
  for (int32_t b = 0; b < batch; b++)
    for (int32_t i = 0; i < q_len; i++)
      out[(int64_t)b * q_len + i] =
          (int32_t)mlaf_context_shard_length(s, (int64_t)seq_lens[b] - (causal ? q_len - 1 - i : 0));
}

#endif
