//@ -- joined: 16 rows of a tile come as one copy; step_8: from a position to that 8 behind it, in tokens; scales_at: of
//@ -- fp8_scales and fp8_planar, where the scales of a warp's 16 tokens lie behind its codes, of which each 8 rows are a copy;
//@ -- rope_at: of fp8_planar, where their rope columns do.
//@ needs("PITCH", "ROPE", "TILE")
// ---- Tiles ------------------------------------------------------------------------------------------------------------
// Token of a tile at a position, which is its row of S^T and its column of P^T. The 8 rows of a matrix of ldmatrix are to lie in
// different banks${joined and ": two of each 16 that were one copy" or ""}.
//@ if joined then
MLAF_DEV int token_at(int position) { return position % 8 / 2 * 16 + position / 8 * 2 + position % 2; }
MLAF_DEV int place_of(int token) { return token * PITCH + token / 16 * 16; }
//@ elseif scales_apart then
MLAF_DEV int token_at(int position) { return position % 8 * 8 + position / 8; }
//@   if planar then
MLAF_DEV int place_of(int token) { return token / 16 * (TILE / 4) + token % 16 * PITCH + token % 16 / 8 * 16; }
//@   else
MLAF_DEV int place_of(int token) { return token * PITCH + token / 8 * 16 + token / 16 * 256; }
//@   end
MLAF_DEV int scales_of(int token) { return token / 16 * (TILE / 4) + ${scales_at} + token % 16 * 16; }
//@   if planar then
MLAF_DEV int rope_of(int token) { return token / 16 * (TILE / 4) + ${rope_at} + token % 16 * (2 * ROPE) + token % 16 / 8 * 16; }
//@   end
//@ else
MLAF_DEV int token_at(int position) { return position; }
MLAF_DEV int place_of(int token) { return token * PITCH; }
//@ end
constexpr int STEP_8 = ${step_8}, STEP_16 = 2 * STEP_8 * PITCH; // from a position to that 8 behind it: tokens. 16: bytes
