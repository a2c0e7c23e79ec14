// Copies of a tile's tokens from pools of pages (mla_decode/lib/pools.h) to shared memory: each row, and its scales behind it.
//@ needs("MINE", "NO_ROW", "PAGE", "ROW_BYTES", "TILE", "WARPS")
constexpr u32 TOKEN_ROW = ${token_row}, TOKEN_SCALES = ${token_scales}; // bytes
//@ include("mla_decode/lib/pools.h")
static_assert(TOKEN_SCALES == 8 && TOKEN_ROW / 16 > 32 && TOKEN_ROW / 16 < 64, "a warp copies a row in two rounds");

struct source {
  const mlaf_decode_args* args;
  const int* pages;
  int begin, end;
};

MLAF_DEV void copy8(u32 to, const void* from, bool real) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" :: "r"(to), "l"(__cvta_generic_to_global(from)), "r"(real ? 8 : 0)
               : "memory");
}

// The token that lane i < MINE of this warp copies for a tile; an id outside the cache spoils the request.
MLAF_DEV token_at find_row(const source& s, int tile, int warp, int lane, bool& bad) {
  const int token = s.begin + tile * TILE + warp + WARPS * lane;
  token_at at = {NO_ROW, 0};
  if (lane < MINE && token < s.end && !find_token(*s.args, (u32)s.pages[(u32)token / PAGE], token, at)) bad = true;
  return at;
}

MLAF_DEV void copy_tile(const source& s, const token_at& of_lane, u32 to, int warp, int lane) {
#pragma unroll
  for (int i = 0; i < MINE; i++) {
    const u32 row = __shfl_sync(~0u, of_lane.row, i), scales = __shfl_sync(~0u, of_lane.scales, i);
    const u32 at = to + (warp + WARPS * i) * ROW_BYTES;
    const bool real = row != NO_ROW;
    const char* const from = real ? row_of(*s.args, row) : s.args->ckv;
    copy16(at + 16 * lane, from + 16 * lane, real);
    if (lane < TOKEN_ROW / 16 - 32) copy16(at + 16 * (lane + 32), from + 16 * (lane + 32), real);
    else if (lane == TOKEN_ROW / 16 - 32)
      copy8(at + TOKEN_ROW, from + scales, real);
  }
}
