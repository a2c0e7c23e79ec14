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
struct turn {
  float cos[ANGLES], sin[ANGLES];
};

template <int N>
MLAF_DEV void load_angles(float (&to)[N], const char* row, int item, bool narrow) {
  if (narrow) {
    const char* const at = row + 2 * N * item;
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const word2 w = load<word2>(at + 2 * i);
      to[i] = unpack_lo(w.x), to[i + 1] = unpack_hi(w.x), to[i + 2] = unpack_lo(w.y), to[i + 3] = unpack_hi(w.y);
    }
  } else {
    const char* const at = row + 4 * N * item;
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const word4 w = load<word4>(at + 4 * i);
      to[i] = float_of(w.x), to[i + 1] = float_of(w.y), to[i + 2] = float_of(w.z), to[i + 3] = float_of(w.w);
    }
  }
}

MLAF_DEV turn load_turn(const mlaf_append_kernel_args& a, i64 position, int item) {
  turn t;
#pragma unroll
  for (int i = 0; i < ANGLES; i++) t.cos[i] = t.sin[i] = not_a_number();
  if ((u64)position < (u64)a.table_rows) {
    const i64 row = position * a.table_stride;
    load_angles(t.cos, a.cos + row, item, a.flags & APPEND_TABLE_16);
    load_angles(t.sin, a.sin + row, item, a.flags & APPEND_TABLE_16);
  }
  return t;
}

MLAF_DEV void rotate(float (&v)[ITEM_CHUNKS][8], const turn& t) {
#pragma unroll
  for (int i = 0; i < ANGLES; i++) {
//@ if style == "halves" then
    float &x = v[0][i], &y = v[1][i];
//@ else
    float &x = v[0][2 * i], &y = v[0][2 * i + 1];
//@ end
    const float across = apart(y * t.sin[i]), back = apart(x * t.sin[i]);
    x = multiply_add(x, t.cos[i], -across);
    y = multiply_add(y, t.cos[i], back);
  }
}
//@ end
