/* The table of mla_decode's functions, and those of them that no other header has. */
#pragma once

#include "op/calls.h"

extern const mlaf_calls mlaf_decode_calls;

/* --- fit.c --- */
/* The split count of a decode kernel, tuned with `splits` for another batch and ctx, that suits p: fewest rounds of
 * workgroups times rounds of tokens, unless what was tuned is within 5 % of that. For those who cannot ask the generator's
 * model (gen/space.lua, refit). Judged by it, over 3400 pairs of problems on gfx942 and sm_90a (five head counts, 1 and 2
 * query tokens), the fitted count takes 1.4 % more time than the model's own on average, the tuned count as it is 7 %. */
uint32_t mlaf_decode_fit(const mlaf_point *p, const mlaf_fit_kernel *k, uint32_t splits);
/* A choice tuned for one request stands back for several, unless its kernel is as good for requests of any lengths: one request
 * has no other beside it whose length differs, so its kernels were chosen without a look at that. Where no kernel is that good it
 * serves like any other. */
bool mlaf_decode_stands_back(const mlaf_point *asked, const mlaf_point *tuned);
bool mlaf_decode_any_lengths(uint32_t flags);
/* More splits than the generator makes, or than there are rounds of tokens, would only keep a launch busy with empty
 * workgroups. */
uint32_t mlaf_decode_splits_most(const mlaf_point *p, uint32_t step);
