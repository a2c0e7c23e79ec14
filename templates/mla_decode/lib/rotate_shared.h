// Rotation of the rope columns of a tile of keys that lies in shared memory, in place, by all threads of a team
// (mla_decode/lib/rotate.h), in units of eight pairs. A thread asks for its part of the table while the tile is still in flight.
// Handed over: style.
//@ needs("ROPE")
constexpr int ROTATE_UNITS = ROPE / 16, ROTATE_HALF = ROPE / 2; // of a key
constexpr int ROTATE_FIRST = ${style == "pairs" and 2 or 1}, ROTATE_APART = ${style == "pairs" and "1" or "ROPE / 16"}; // chunks

template <int TOKENS, int THREADS>
struct tile_rotation {
  static constexpr int EACH = (TOKENS * ROTATE_UNITS + THREADS - 1) / THREADS; // units of a thread
  rotation t[EACH];
};

// Angles of a unit of the key at `position`. Behind the table: NaN, so that nothing faults and nobody takes it for an answer.
MLAF_DEV rotation load_rotation(const float* table, int rows, int position, int unit) {
  rotation r;
  const float4* const at = (const float4*)(table + (i64)position * ROPE + 8 * unit);
  const bool there = (u32)position < (u32)rows;
  const float4 none = make_float4(not_a_number(), not_a_number(), not_a_number(), not_a_number());
#pragma unroll
  for (int k = 0; k < 2; k++) {
    const float4 c = there ? at[k] : none, s = there ? at[k + ROTATE_HALF / 4] : none;
    r.cos[4 * k] = c.x, r.cos[4 * k + 1] = c.y, r.cos[4 * k + 2] = c.z, r.cos[4 * k + 3] = c.w;
    r.sin[4 * k] = s.x, r.sin[4 * k + 1] = s.y, r.sin[4 * k + 2] = s.z, r.sin[4 * k + 3] = s.w;
  }
  return r;
}

// Angles that thread `thread` of THREADS needs for a tile of TOKENS keys whose first is at `position`.
template <int TOKENS, int THREADS>
MLAF_DEV void load_rotations(tile_rotation<TOKENS, THREADS>& r, const float* table, int rows, int position, int thread) {
#pragma unroll
  for (int k = 0; k < r.EACH; k++) {
    const int i = thread + k * THREADS;
    if (TOKENS * ROTATE_UNITS % THREADS == 0 || i < TOKENS * ROTATE_UNITS)
      r.t[k] = load_rotation(table, rows, position + i / ROTATE_UNITS, i % ROTATE_UNITS);
  }
}

MLAF_DEV void load_words(u32 (&x)[4], u32 at) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at) : "memory");
}
MLAF_DEV void store_words(u32 at, const u32 (&x)[4]) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]) : "memory");
}

// place(token, chunk): the address of 16 bytes of the key's rope columns.
template <int TOKENS, int THREADS, class Place>
MLAF_DEV void rotate_tile(const tile_rotation<TOKENS, THREADS>& r, int thread, Place place) {
#pragma unroll
  for (int k = 0; k < r.EACH; k++) {
    const int i = thread + k * THREADS, token = i / ROTATE_UNITS, chunk = i % ROTATE_UNITS * ROTATE_FIRST;
    if (TOKENS * ROTATE_UNITS % THREADS != 0 && i >= TOKENS * ROTATE_UNITS) break;
    u32 a[4], b[4];
    load_words(a, place(token, chunk));
    load_words(b, place(token, chunk + ROTATE_APART));
    turn_chunks(a, b, r.t[k]);
    store_words(place(token, chunk), a);
    store_words(place(token, chunk + ROTATE_APART), b);
  }
}
