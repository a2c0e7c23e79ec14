// The rope slice of a block, rotated where it lies by the math warpgroup that makes its scores, the only one that reads the slice
// (mla_decode/lib/rotate_shared.h). None of that warpgroup's products is under way.
//@ needs("ALL", "BEGIN_OF", "BUFFER", "FULL_AT", "KV_AT", "ROPE", "SLICE", "SLICES")
template <int WG>
MLAF_DEV void rotate_block(const mlaf_decode_args& a, const math& c, buffer_use t, int j) {
  tile_rotation<64, 128> angles;
  const int thread = 32 * c.warp + c.lane;
  const u32 to = c.shared + KV_AT + t.buffer * BUFFER + SLICES * SLICE;
  load_rotations(angles, a.rope_table, a.rope_rows, known(c.shared, BEGIN_OF) + 64 * j, thread);
  barrier_wait(c.shared + FULL_AT + 8 * (ALL * t.buffer + SLICES), t.use & 1);
  rotate_tile(angles, thread, [&](int token, int chunk) { // swizzled by rows of 128 bytes or of 64
    return to + 2 * ROPE * token + ((chunk ^ (ROPE == 64 ? token & 7 : token >> 1 & 3)) << 4);
  });
  fence_async();
  named_sync(1 + WG, 128); // all of it before any warp multiplies it
}
