/* The balanced schedule in plain C for the fake driver: kernels "walk" (decode) and "merge" (combine) that
 * keep to core/launch.h, for one small shape. Slow, single-threaded, in double precision. */
#ifndef FAKE_BALANCED_H
#define FAKE_BALANCED_H

#include "ops/mla_decode/launch.h"

enum { FB_HEADS = 3, FB_RANK = 32, FB_ROPE = 32, FB_Q_LEN = 2, FB_PAGE = 16, FB_ROWS = 4, FB_MERGE_ROWS = 2 };

/* One block each. Causal, bf16. */
void fake_walk(const mlaf_decode_args *a, uint32_t x, uint32_t part);
void fake_merge(const mlaf_decode_args *a, uint32_t block);

#endif
