// Rotation of the rope columns by cosines and sines from a table, in work items of one lane each:
//
//   pairs      item c: columns 8c .. 8c+7, pairs (x_2i, x_2i+1), angles 4c .. 4c+3
//   halves     item c: columns 8c .. 8c+7 and P/2 + 8c .. P/2 + 8c+7, pairs (x_i, x_i+P/2), angles 8c .. 8c+7
//   unrotated  item c: columns 8c .. 8c+7 as they are
//
// A position outside the table makes the columns NaN: nothing faults, and nobody takes them for an answer.
//@ needs("ROPE", "APPEND_TABLE_16")
constexpr int ITEM_CHUNKS = ${style == "halves" and 2 or 1}; // of 16 bytes
constexpr int ITEMS = ROPE / (8 * ITEM_CHUNKS);              // of a row
constexpr u32 NOT_NUMBERS = 0x7fc07fc0u;                     // NaN as fp32, two of bf16 and two of f16
constexpr int ANGLES = ${style == "halves" and 8 or 4};      // of an item

// Byte where chunk k of an item begins in its row.
MLAF_DEV int column_byte(int item, int k) { return 16 * item + k * ROPE; }

struct rope_item {
  word4 x[ITEM_CHUNKS];
};
MLAF_DEV rope_item load_item(const char* row, int item) {
  rope_item r;
#pragma unroll
  for (int k = 0; k < ITEM_CHUNKS; k++) r.x[k] = load<word4>(row + column_byte(item, k));
  return r;
}

//@ if style ~= "unrotated" then
// Cosines and sines of an item as they stand in the table: four in the 16 bytes of a word, or in its first eight.
struct turn {
  word4 cos[ANGLES / 4], sin[ANGLES / 4];
};

MLAF_DEV word4 load_angles(const char* at, bool there, bool narrow) {
  word4 w = words(NOT_NUMBERS, NOT_NUMBERS, NOT_NUMBERS, NOT_NUMBERS);
  load_if(there && !narrow, w, at);
  load_half_if(there && narrow, w, at);
  return w;
}

MLAF_DEV turn load_turn(const mlaf_append_kernel_args& a, i64 position, int item, bool wanted) {
  const bool there = wanted && (u64)position < (u64)a.table_rows, narrow = a.flags & APPEND_TABLE_16;
  const int step = narrow ? 8 : 16;
  const i64 at = position * a.table_stride + item * (ANGLES / 4) * step;
  turn t;
#pragma unroll
  for (int i = 0; i < ANGLES / 4; i++) {
    t.cos[i] = load_angles(a.cos + at + i * step, there, narrow);
    t.sin[i] = load_angles(a.sin + at + i * step, there, narrow);
  }
  return t;
}

MLAF_DEV float angle_of(const word4& w, int i, bool narrow) {
  const u32 wide = i == 0 ? w.x : i == 1 ? w.y : i == 2 ? w.z : w.w, pair = i < 2 ? w.x : w.y;
  return narrow ? i % 2 ? unpack_hi(pair) : unpack_lo(pair) : float_of(wide);
}

MLAF_DEV void rotate(float (&v)[ITEM_CHUNKS][8], const turn& t, bool narrow) {
#pragma unroll
  for (int i = 0; i < ANGLES; i++) {
    const float c = angle_of(t.cos[i / 4], i % 4, narrow), s = angle_of(t.sin[i / 4], i % 4, narrow);
//@ if style == "halves" then
    float &x = v[0][i], &y = v[1][i];
//@ else
    float &x = v[0][2 * i], &y = v[0][2 * i + 1];
//@ end
    const float across = apart(y * s), back = apart(x * s);
    x = multiply_add(x, c, -across);
    y = multiply_add(y, c, back);
  }
}
//@ end
