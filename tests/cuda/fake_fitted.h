/* Launches that decide themselves how their batch is cut (templates/mla_decode/lib/fit.h), in plain C for the fake driver: "fit"
 * leaves what it cut to its combine kernel, "fitmeet" adds it up by itself unless one comes behind; "fitadd" is that combine
 * kernel. Of the shape in fake_whole.h. */
#pragma once

#include "ops/mla_decode/launch.h"

/* A block of a grid; `team` blocks along y work on one split. */
typedef struct fake_block {
  uint32_t grid[3], at[3], team;
} fake_block;

/* One block each. "fit" goes through requests in turns. */
void fake_fit(const mlaf_decode_args *a, const fake_block *b);
/* A request a block; after those of all lower parts. */
void fake_fitmeet(const mlaf_decode_args *a, const fake_block *b);
void fake_fitadd(const mlaf_decode_args *a, const fake_block *b);
