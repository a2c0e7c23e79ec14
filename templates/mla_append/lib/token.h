//@ -- A token's latent row and rope columns, by a warp (wave): normed, rotated, cast or quantised, written to its slot. Of
//@ -- mla_append's kernel, and of the blocks that append beside another product (lib/projection/side.h).
//@ needs("LANES", "CHUNKS", "ROUNDS", "APPEND_NEVER", "APPEND_POWER_OF_TWO", "APPEND_TABLE_16")
//@ local f = require("parts").of("mla_append", layout)
//@ local plain, flat, scales = f.bits == 16, f.one_scale, f.scales
//@ local tiles, aside = f.tiles, f.powers -- which are behind a page's rows
//@ local apart = f.rope.place == "tensor"
//@ local beside = tiles and scales.place ~= "row" -- in a tensor of their own, or behind a page's rows, and rope columns, too:
//@ local planar = f.rope.place == "page"
//@ local scales_at = beside and "to.rope" or tiles and "to.latent + " .. scales.text
//@ local turns = rope > 0 and style ~= "unrotated"
//@ if rope > 0 then
//@ include("mla_append/lib/rotate.h", { style = style })
//@ end
//@ if not plain then
//@ local hardware = not f.fnuz and arch.wave == 32 and arch.sm >= 89
//@ include("mla_append/lib/fp8.h", { fnuz = f.fnuz, hardware = hardware })
//@ end

//@ local lanes, slots = scales and scales.group // 8, scales and scales.slots -- of a tile of 64 or 128 columns; of scales
//@ local largest = f.fnuz and "240.0f" or "448.0f"
//@ if scales then
// Over the ${lanes} lanes that hold a tile of ${8 * lanes} columns.
MLAF_DEV float max_of_tile(float x, int lane) {
#pragma unroll
  for (int d = 1; d < ${lanes}; d *= 2) x = larger(x, exchange(x, lane, d));
  return x;
}

//@ if aside then
// The scale of a tile: the power of two from its largest value / 448 on, that one no less than 1e-4, as writers of such caches
// have it. Of a tile with an infinity it is infinite, which is NaN as a byte: all of it reads as NaN.
MLAF_DEV float scale_of(float most, bool) {
  if (most == infinity()) return most;
  most = larger(most, 1e-4f);
//@ else
// The scale of a tile: its largest value over the type's largest, or the power of two from there on. Of a tile with an infinity
// it is infinite: all of it reads as NaN.
MLAF_DEV float scale_of(float most, bool power_of_two) {
  if (most == infinity()) return most;
//@ end
  const float x = most * inverse(${largest});
  // most / 448, correctly rounded; 1e-4 and the least normal number are what writers of such caches take for a tile of zeros.
  const float exact = multiply_add(multiply_add(-x, ${largest}, most), inverse(${largest}), x);
//@ if aside then
  const u32 u = bits_of(exact);
//@ else
  if (!power_of_two) return larger(exact, float_of(0x00800000u));
  const u32 u = bits_of(larger(exact, 1e-4f));
//@ end
  return float_of(u + 0x7fffffu & 0xff800000u);
}
//@ end

// n / d for the inverse 2^64 / d, rounded up; 0 for the inverse 0. Exact.
MLAF_DEV u32 quotient(u32 n, u64 inverse) { return (u32)(n * (inverse >> 32) + (n * (inverse & 0xffffffffu) >> 32) >> 32); }

// The place of a slot's row; inside: there is such a row.
struct place {
  char* latent;
//@ if apart or beside then
  char* rope;
//@   if planar then
  char* columns;
//@   end
//@ elseif aside then
  char* scales;
//@ end
  bool inside;
};
MLAF_DEV place place_of(const mlaf_append_kernel_args& a, i64 slot) {
  const u32 page = quotient((u32)slot, a.page_inverse), row = (u32)slot - page * a.page_tokens;
  place p;
  p.inside = (u64)slot < (u64)a.num_slots;
  p.latent = a.latent + page * a.latent_page + row * a.latent_row;
//@ if apart or aside or beside then
  p.${aside and "scales" or "rope"} = a.rope + page * a.rope_page + row * a.rope_row;
//@ end
//@ if planar then
//@   local n = scales.bytes
  // Rows of other lengths than scales have both.
  p.columns = p.rope + (a.rope_row == ${n} ? ${n} * (i64)a.page_tokens + row * ${2 * rope - n} : ${n});
//@ end
  return p;
}

MLAF_DEV void append_token(const mlaf_append_kernel_args& a, u32 t, int lane) {
  const i64 *const slot_at = a.slots + t, *const position_at = a.positions + t;
//@ if ahead == 1 then
  i64 slot = load_past_l1(slot_at);
//@   if turns then
  i64 position = load_past_l1(position_at);
//@   end
//@ end
//@ if norm == 1 then
  word4 w[ROUNDS];
#pragma unroll
  for (int k = 0; k < ROUNDS; k++)
    w[k] = k * LANES + lane < CHUNKS ? load<word4>(a.weight + 16 * (k * LANES + lane)) : words(0, 0, 0, 0);
//@ end
  const char* const from = a.ckv + t * a.ckv_stride + 16 * lane;
  ready(from, a.flags & APPEND_NEVER);
//@ if rope > 0 then
  const bool mine = lane < ITEMS;
  const char* const rope_from = a.kpe + t * a.kpe_stride + column_byte(lane, 0);
  ready(rope_from, a.flags & APPEND_NEVER);
//@ end
//@ if ahead == 1 then
//@   if turns then
  turn angle = load_turn(a, position, lane, mine);
//@   end
  place to = place_of(a, slot);
//@ end
  wait_for_previous_launch();
//@ if ahead == 0 then
  const i64 slot = load<i64>(slot_at);
//@   if turns then
  const i64 position = load<i64>(position_at);
//@   end
//@ else
  const i64 slot_now = load<i64>(slot_at);
//@   if turns then
  const i64 position_now = load<i64>(position_at);
//@   end
//@ end
  word4 x[ROUNDS];
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) {
    const int chunk = k * LANES + lane;
    x[k] = words(0, 0, 0, 0);
    if (CHUNKS % LANES == 0 || chunk < CHUNKS) x[k] = load<word4>(from + 16 * k * LANES);
  }
//@ if rope > 0 then
  rope_item item = {};
  if (mine) item = load_item(rope_from, 0);
//@ end
//@ if flat then
  const float scale = usable(a.scale_at ? load<float>(a.scale_at) : a.scale), inverse_scale = inverse(scale);
//@ end
//@ if norm == 1 then
  float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) {
    float v[8];
    unpack(v, x[k]);
#pragma unroll
    for (int i = 0; i < 8; i++) part[i % 4] = multiply_add(v[i], v[i], part[i % 4]);
  }
  float sum = part[0] + part[1] + (part[2] + part[3]);
  sum += exchange(sum, lane, 1); // in flight while slots are looked at: the sum is what a launch of few tokens waits for
//@ end
//@ if ahead == 0 then
//@   if turns then
  const turn angle = load_turn(a, position, lane, mine);
//@   end
  const place to = place_of(a, slot);
//@ else
  if (__builtin_expect(slot_now != slot, 0)) to = place_of(a, slot_now);
//@   if turns then
  if (__builtin_expect(position_now != position, 0)) angle = load_turn(a, position_now, lane, mine);
//@   end
//@ end
  if (!to.inside) return;

//@ if norm == 1 then
#pragma unroll
  for (int d = 2; d < LANES; d *= 2) sum += exchange(sum, lane, d);
  const float factor = inverse_root(multiply_add(sum, ${f32(1.0 / rank)}, a.eps));
//@ end
//@ if rope > 0 then
  char* const rope = ${planar and "to.columns" or apart and "to.rope" or "to.latent + " .. f.rope.at(rank, rope)};
  const bool wanted = mine && a.kpe_out;
//@   if turns then
  float v[ITEM_CHUNKS][8]; // of all lanes, mine or not: without a branch this runs between the norm's exchanges
#pragma unroll
  for (int k = 0; k < ITEM_CHUNKS; k++) unpack(v[k], item.x[k]);
  rotate(v, angle, a.flags & APPEND_TABLE_16);
#pragma unroll
  for (int k = 0; k < ITEM_CHUNKS; k++) item.x[k] = pack(v[k]);
//@   end
#pragma unroll
  for (int k = 0; k < ITEM_CHUNKS; k++) {
    if (wanted) store(a.kpe_out + t * a.kpe_out_stride + column_byte(lane, k), item.x[k]);
//@   if flat and not apart then
//@     if not turns then
    float v[1][8];
    unpack(v[k], item.x[k]);
//@     end
    divide(v[k], scale, inverse_scale);
    if (mine) store(rope + column_byte(lane, k) / 2, encode(v[k]));
//@   else
    if (mine) store(rope + column_byte(lane, k), item.x[k]);
//@   end
  }
//@ end
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) {
    const int chunk = k * LANES + lane;
    const bool there = CHUNKS % LANES == 0 || chunk < CHUNKS;
//@ if plain and norm == 0 then
    if (there) store(to.latent + 16 * chunk, x[k]);
//@ else
    float v[8];
    unpack(v, x[k]);
//@   if norm == 1 then
    float g[8];
    unpack(g, w[k]);
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = there ? v[i] * g[i] * factor : 0.0f; // the factor comes last
//@   end
//@   if plain then
    if (there) store(to.latent + 16 * chunk, pack(v));
//@   elseif flat then
    divide(v, scale, inverse_scale);
    if (there) store(to.latent + 8 * chunk, encode(v));
//@   else
    float most = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++) most = larger(most, magnitude(v[i]));
    const float scale = scale_of(max_of_tile(most, lane), a.flags & APPEND_POWER_OF_TWO);
    divide(v, scale, inverse(scale));
    if (there) store(to.latent + 8 * chunk, encode(v));
//@     if aside then
    if (chunk % ${lanes} == 0 && chunk < ${lanes * slots}) // the eighth is empty
      store(to.scales + chunk / ${lanes}, (unsigned char)(there ? bits_of(scale) >> 23 : 0));
//@     else -- fewer tiles than four: 0
    if (chunk % ${lanes} == 0 && chunk < ${lanes * slots}) store(${scales_at} + chunk / ${lanes // 4}, there ? scale : 0.0f);
//@     end
//@   end
//@ end
  }
//@ if tiles and ceil_div(rank // 8, arch.wave) * arch.wave < lanes * slots then
  if (lane == 0)
    for (int tile = ROUNDS * LANES / ${lanes}; tile < ${slots}; tile++) store(${scales_at} + 4 * tile, 0.0f);
//@ end
}
