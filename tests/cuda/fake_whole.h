/* The plainest decode kernel in plain C for the fake driver: "whole", a request a block along z, with one split. It keeps to
 * runtime/ops/mla_decode/launch.h. The shape is that of all kernels here that really run. Slow, single-threaded, in double
 * precision. */
#pragma once

#include "ops/mla_decode/launch.h"

enum { FW_HEADS = 3, FW_RANK = 32, FW_ROPE = 32, FW_Q_LEN = 2, FW_PAGE = 16, FW_ROWS = 4, FW_MERGE_ROWS = 2 };

/* One block. Causal, bf16. */
void fake_whole(const mlaf_decode_args *a, uint32_t x, uint32_t request);
