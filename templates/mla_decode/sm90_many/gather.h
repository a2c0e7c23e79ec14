// Loaders of the many-rows Hopper kernel for pages of any size: rows copied one by one (mla_decode/lib/gather.h). Warp 0 takes
// the left half of every block and rope of even ones, warp 1 the right half and rope of odd ones. Their copies are ordinary
// accesses to shared memory, so a proxy fence must stand between them and the tensor cores: warp 2 waits for what has landed,
// fences and fills the barrier that the math warps wait for; in those the fence would stand between QK's products. The includer
// has the constants of the kernel.
//@ needs("ALL", "ASK", "BUFFER", "FULL_AT", "KV_AT", "LANDED_AT", "MANY", "NEAR_END_AT", "PAGE", "POLICY", "QUARTER",
//@   "Q_FULL_AT", "ROPE", "SLICE", "SLICES", "TABLES_AT")
constexpr int ROPE_GROUP = 4;           // groups 0..3: quarters of O's columns
constexpr int ROPE_CHUNKS = ROPE > 0 ? ROPE / 8 : 8; // of 16 bytes, in a row

MLAF_DEV u32 table_of(const loader& l, int j) { return l.shared + TABLES_AT + 512 * l.half + 256 * (j & 1); }
MLAF_DEV u32 landed(const loader& l, buffer_use t, int group) { return l.shared + LANDED_AT + 8 * (5 * t.buffer + group); }

// Copies a group of slices as soon as they are given back.
template <int COUNT, int CHUNKS>
MLAF_DEV void copy_group(const loader& l, buffer_use t, int j, int group, int first, const char* from, i64 stride) {
  wait_empty(l, t, group);
  gather_rows<COUNT, CHUNKS, 16 * CHUNKS, 8>(l.shared + KV_AT + t.buffer * BUFFER + first * SLICE, from, (u32)stride * 2,
                                          table_of(l, j), POLICY);
  barrier_arrive_after_copies(landed(l, t, group));
}
MLAF_DEV void copy_block(const loader& l, buffer_use t, int j) {
  const mlaf_decode_args& a = l.p.a;
  if (ROPE > 0 && (j & 1) == l.half) copy_group<1, ROPE_CHUNKS>(l, t, j, ROPE_GROUP, SLICES, a.kpe, a.kpe_row_stride);
#pragma unroll 1
  for (int q = 2 * l.half; q < 2 * l.half + 2; q++)
    copy_group<QUARTER, 8>(l, t, j, q, q * QUARTER, a.ckv + 128 * QUARTER * q, a.ckv_row_stride);
}

// What landed of block j goes to the math warps, in the order in which QK takes it.
MLAF_DEV void hand_over(const loader& l, buffer_use t, int j) {
#pragma unroll 1
  for (int i = ROPE > 0 ? -1 : 0; i < 4; i++) {
    const int group = i < 0 ? ROPE_GROUP : j & 1 ? i ^ 2 : (i & 1) * 2 + i / 2;
    barrier_wait(landed(l, t, group), t.use & 1);
    fence_async();
    __syncwarp();
    if (lane_now() == 0) barrier_arrive(l.shared + FULL_AT + 8 * (ALL * t.buffer + (i < 0 ? SLICES : group * QUARTER)));
  }
}

// Piece k, as load.h says of boxes; page ids of the next block come beside the copies. Behind the end the last token is copied
// again. A page outside the cache: see check_pages.
MLAF_DEV void load_piece(const loader& l, const piece& x, u32 k, u32 (&used)[2]) {
  const mlaf_decode_args& a = l.p.a;
  const int blocks = blocks_of(x), near_end = !MANY || l.half > 0 ? -1 : blocks - ASK > 1 ? blocks - ASK : 1;
  auto ask = [&](int j) { ask_for_ids<PAGE>(table_of(l, j), a.kv_indices + x.first_page, x.begin + 64 * j, x.end - 1); };
  __syncwarp(); // all lanes are through with the piece before
  if (blocks > 0 && l.half < 2) ask(0);
  for (int j = 0; j < blocks; j++) {
    const buffer_use t = next_use(used, j);
    if (l.half == 2) {
      hand_over(l, t, j);
      continue;
    }
    make_rows<PAGE>(table_of(l, j), a.num_pages, x.begin + 64 * j, x.end - 1);
    __syncwarp(); // and all lanes are through with the block before, whose table the next ids take
    if (j + 1 < blocks) ask(j + 1);
    if (j == 1) barrier_wait(l.shared + Q_FULL_AT, k & 1);
    if (j == near_end && lane_now() == 0) barrier_arrive(l.shared + NEAR_END_AT);
    copy_block(l, t, j);
  }
  if (MANY && l.half == 0 && blocks < 2) {
    barrier_wait(l.shared + Q_FULL_AT, k & 1);
    if (lane_now() == 0) barrier_arrive(l.shared + NEAR_END_AT);
  }
}
