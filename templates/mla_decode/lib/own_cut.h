// A batch-invariant launch cuts a request (schedule=invariant) by the request's own cached tokens alone, so that its sums
// are the same in any batch and at any place in it. A part is computed by one block, and the combine kernel adds the parts in
// order.
//
//   grains of 64 tokens   1 .. LEAST: one part. Then one part for each LEAST grains, up to KNEE parts, then one for each WIDE
//                         grains, up to `most` (the variant's splits). Parts of a request differ by one grain at most
//
// Which block computes which part depends on the batch, which changes no bits: the parts of all requests, one request after the
// other, are dealt out to the blocks of the launch in turns.
//
// Plain C, so that a test can run it on the host, with constants of its own. The includer has u32 and MLAF_DEV.
//@ local own = require("ops/mla_decode/plans/invariant").cut(heads * q_len)
enum { OWN_GRAIN = 64 };     // tokens: parts begin at multiples of it
enum { OWN_PARTS_BITS = 6 }; // a request has fewer parts than 2^6
#ifndef OWN_LEAST
enum { OWN_LEAST = ${own.least}, OWN_KNEE = ${own.knee}, OWN_WIDE = ${own.wide} };
#endif

MLAF_DEV u32 own_grains(int tokens) { return ((u32)tokens + OWN_GRAIN - 1) / OWN_GRAIN; }

// Parts of a request of so many tokens, at least one.
MLAF_DEV int own_parts(int tokens, int most) {
  const u32 grains = own_grains(tokens), wide = (grains + OWN_WIDE - 1) / OWN_WIDE;
  u32 n = (grains + OWN_LEAST - 1) / OWN_LEAST;
  n = n < OWN_KNEE ? n : OWN_KNEE;
  n = n < wide ? wide : n;
  n = n < (u32)most ? n : (u32)most;
  return n > 0 ? (int)n : 1;
}

// First token of part k of n; that of part n is the end.
MLAF_DEV int own_begin(int tokens, int n, int k) {
  const u32 at = own_grains(tokens) * (u32)k / (u32)n * OWN_GRAIN;
  return at < (u32)tokens ? (int)at : tokens;
}
