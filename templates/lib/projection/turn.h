// The rope columns of a row, which stand behind its INNER columns in x: rotated by cosines and sines from a table, and written
// behind the OUTER columns of y. Work items of one thread each, a token and 16 bytes (halves: twice 16):
//
//   pairs      columns 8c .. 8c+7, pairs (x_2i, x_2i+1), angles 4c .. 4c+3
//   halves     columns 8c .. 8c+7 and P/2 + 8c .. P/2 + 8c+7, pairs (x_i, x_i+P/2), angles 8c .. 8c+7
//   unrotated  columns 8c .. 8c+7 as they are
//
// A position outside the table makes the columns NaN: nothing faults, and nobody takes them for an answer.
//@ needs("INNER", "OUTER", "THREADS", "PROJECTION_TABLE_16")
constexpr int ROPE = ${turn};
constexpr int ITEM_CHUNKS = ${style == "halves" and 2 or 1}; // of 16 bytes
constexpr int ITEMS = ROPE / (8 * ITEM_CHUNKS);              // of a row
//@ if style ~= "unrotated" then
constexpr int ANGLES = ${style == "halves" and 8 or 4};      // of an item

MLAF_DEV void load_angles(float (&to)[ANGLES], const char* row, int item, bool narrow) {
#pragma unroll
  for (int i = 0; i < ANGLES; i += 4) {
    if (narrow) {
      const word2 w = load<word2>(row + 2 * (ANGLES * item + i));
      to[i] = unpack_lo(w.x), to[i + 1] = unpack_hi(w.x), to[i + 2] = unpack_lo(w.y), to[i + 3] = unpack_hi(w.y);
    } else {
      const word4 w = load<word4>(row + 4 * (ANGLES * item + i));
      to[i] = float_of(w.x), to[i + 1] = float_of(w.y), to[i + 2] = float_of(w.z), to[i + 3] = float_of(w.w);
    }
  }
}
//@ end

//@ if arch.has_pdl == 1 and style ~= "unrotated" then
// Before the launch before is over: the rows of the table that the items below want, into L2. That launch may still write the
// positions, so what they say serves only to ask; loads go past L1, which would keep what they brought.
MLAF_DEV void ask_turn(const mlaf_projection_kernel_args& a, int first, int step) {
#pragma unroll 1
  for (i64 i = first; i < a.tokens * ITEMS; i += step) {
    i64 position;
    asm volatile("ld.relaxed.gpu.global.s64 %0, [%1];" : "=l"(position) : "l"(a.positions + i / ITEMS) : "memory");
    if ((u64)position >= (u64)a.table_rows) continue;
    const i64 at = position * a.table_row + (a.flags & PROJECTION_TABLE_16 ? 2 : 4) * ANGLES * (i % ITEMS);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a.cos + at) : "memory");
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a.sin + at) : "memory");
  }
}
//@ end

//@ -- Items of a thread: in a ring two warps of each block turn, in a walk four.
//@ local chunks, lanes, at_once = style == "halves" and 2 or 1, 0, 1
//@ if template:find("/walk$") then lanes = 128 * (rank // (rows * tiles)) end
//@ if template:find("/ring$") then lanes = 64 * ceil_div(rank, rows) end
//@ if template:find("/direct_fp8$") then at_once = 4 // chunks end
//@ if lanes > 0 then at_once = min(4 // chunks, ceil_div(pass * turn // (8 * chunks), lanes)) end
//@ if at_once > 1 and style ~= "unrotated" then
// Items whose loads are in flight together: stores of one would hold up the next.
constexpr int AT_ONCE = ${lanes > 0 and at_once or "4 / ITEM_CHUNKS"};

// All tokens of the launch, of one head: items first, first + step, ...
MLAF_DEV void turn_rows(const mlaf_projection_kernel_args& a, const char* x, char* y, int first, int step) {
  const i64 end = a.tokens * ITEMS;
#pragma unroll 1
  for (i64 item = first; item < end; item += AT_ONCE * step) {
    word4 in[AT_ONCE][ITEM_CHUNKS];
    float c[AT_ONCE][ANGLES], s[AT_ONCE][ANGLES];
    i64 position[AT_ONCE];
#pragma unroll
    for (int n = 0; n < AT_ONCE; n++) {
      const i64 i = item + n * step < end ? item + n * step : item;
      position[n] = load<i64>(a.positions + i / ITEMS);
#pragma unroll
      for (int k = 0; k < ITEM_CHUNKS; k++)
        in[n][k] = load<word4>(x + i / ITEMS * a.x_token + 2 * INNER + 16 * (i % ITEMS) + k * ROPE);
    }
#pragma unroll
    for (int n = 0; n < AT_ONCE; n++) {
      const int angle = (int)((item + n * step < end ? item + n * step : item) % ITEMS);
#pragma unroll
      for (int k = 0; k < ANGLES; k++) c[n][k] = s[n][k] = not_a_number();
      if ((u64)position[n] < (u64)a.table_rows) {
        load_angles(c[n], a.cos + position[n] * a.table_row, angle, a.flags & PROJECTION_TABLE_16);
        load_angles(s[n], a.sin + position[n] * a.table_row, angle, a.flags & PROJECTION_TABLE_16);
      }
    }
#pragma unroll
    for (int n = 0; n < AT_ONCE; n++) {
      const i64 i = item + n * step;
      if (i >= end) break;
      float v[ITEM_CHUNKS][8];
#pragma unroll
      for (int k = 0; k < ITEM_CHUNKS; k++) unpack(v[k], in[n][k]);
#pragma unroll
      for (int k = 0; k < ANGLES; k++) {
//@   if style == "halves" then
        float &p = v[0][k], &q = v[ITEM_CHUNKS - 1][k];
//@   else
        float &p = v[0][2 * k], &q = v[0][2 * k + 1];
//@   end
        const float across = q * s[n][k], back = p * s[n][k];
        p = multiply_add(p, c[n][k], -across);
        q = multiply_add(q, c[n][k], back);
      }
#pragma unroll
      for (int k = 0; k < ITEM_CHUNKS; k++)
        store(y + i / ITEMS * a.y_token + 2 * OUTER + 16 * (i % ITEMS) + k * ROPE, pack(v[k]));
    }
  }
}
//@ else
// All tokens of the launch, of one head: items first, first + step, ...
MLAF_DEV void turn_rows(const mlaf_projection_kernel_args& a, const char* x, char* y, int first, int step) {
#pragma unroll 2
  for (i64 i = first; i < a.tokens * ITEMS; i += step) {
    const i64 t = i / ITEMS;
    const int item = (int)(i % ITEMS);
    const char* const from = x + t * a.x_token + 2 * INNER + 16 * item;
    char* const to = y + t * a.y_token + 2 * OUTER + 16 * item;
    word4 in[ITEM_CHUNKS];
#pragma unroll
    for (int k = 0; k < ITEM_CHUNKS; k++) in[k] = load<word4>(from + k * ROPE);
//@ if style ~= "unrotated" then
    float v[ITEM_CHUNKS][8], c[ANGLES], s[ANGLES];
    const i64 position = load<i64>(a.positions + t);
#pragma unroll
    for (int k = 0; k < ANGLES; k++) c[k] = s[k] = not_a_number();
    if ((u64)position < (u64)a.table_rows) {
      load_angles(c, a.cos + position * a.table_row, item, a.flags & PROJECTION_TABLE_16);
      load_angles(s, a.sin + position * a.table_row, item, a.flags & PROJECTION_TABLE_16);
    }
#pragma unroll
    for (int k = 0; k < ITEM_CHUNKS; k++) unpack(v[k], in[k]);
#pragma unroll
    for (int k = 0; k < ANGLES; k++) {
//@   if style == "halves" then
      float &p = v[0][k], &q = v[ITEM_CHUNKS - 1][k];
//@   else
      float &p = v[0][2 * k], &q = v[0][2 * k + 1];
//@   end
      const float across = q * s[k], back = p * s[k];
      p = multiply_add(p, c[k], -across);
      q = multiply_add(q, c[k], back);
    }
#pragma unroll
    for (int k = 0; k < ITEM_CHUNKS; k++) in[k] = pack(v[k]);
//@ end
#pragma unroll
    for (int k = 0; k < ITEM_CHUNKS; k++) store(to + k * ROPE, in[k]);
  }
}
//@ end
