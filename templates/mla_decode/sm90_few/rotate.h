// The rope box of a tile, rotated where it lies by the math warpgroup that multiplies it (mla_decode/lib/rotate_shared.h), while
// the products of the boxes before it run.
typedef tile_rotation<64, 128> tile_angles;

// Angles that this thread needs for the tile whose first token is at `position`.
MLAF_DEV tile_angles angles_of(const mlaf_decode_args& a, int position) {
  tile_angles angles;
  load_rotations(angles, a.rope_table, a.rope_rows, position, threadIdx.x % 128);
  return angles;
}

// After it all warps of the warpgroup may multiply the box: rows of 128 bytes, with the swizzle of as many.
MLAF_DEV void rotate_box(const tile_angles& angles, u32 box, int group) {
  rotate_tile(angles, threadIdx.x % 128, [&](int token, int chunk) { return box + 128 * token + ((chunk ^ token % 8) << 4); });
  fence_async();
  named_sync(1 + group, 128);
}
