// Loaders of the many-rows Hopper kernel for pages of any size: rows copied one by one (mla_decode/lib/gather.h).
//
//   warp 0          the numbers of each block's rows, to a ring of tables in shared memory; it alone walks the page list
//   warps 1, 2      copy the rope slices, of even blocks and of odd ones
//   warpgroup 3     copies quarters: where a lane's rows lie is in its registers, so that copies stand side by side
//
// Who copies knows nothing of pieces. Copies arrive at the full barriers themselves; who multiplies takes them over by
// take_copies().
// The includer has the constants of the kernel.
//@ needs("ALL", "ASK", "BUFFER", "CHECKED_AT", "FULL_AT", "KV_AT", "EMPTY_AT", "MANY", "NEAR_END_AT", "PAGE", "POLICY",
//@   "QUARTER", "Q_FULL_AT", "ROPE", "SLICE", "SLICES", "TABLES_AT", "TABLE_BYTES", "TABLE_EMPTY_AT", "TABLE_FULL_AT")
constexpr int LIST_AHEAD = 8;           // blocks whose page ids are asked for ahead
constexpr int ROPE_GROUP = 4;           // groups 0..3: quarters of O's columns
constexpr int ROPE_CHUNKS = ROPE > 0 ? ROPE / 8 : 8; // of 16 bytes, in a row

// Table n: who writes and who reads take them in turn.
MLAF_DEV u32 table_at(u32 shared, u32 n) { return shared + TABLES_AT + TABLE_BYTES * (n % 2); }
MLAF_DEV u32 table_full(u32 shared, u32 n) { return shared + TABLE_FULL_AT + 8 * (n % 2); }
MLAF_DEV u32 table_empty(u32 shared, u32 n) { return shared + TABLE_EMPTY_AT + 8 * (n % 2); }

// A table, eight numbers for each half-warp of the copiers, and behind them which of a piece's blocks it is of: even, odd, or
// none is left. Rows behind the end repeat the last one; a page outside the cache is read as page 0: see check_pages. All lanes
// arrive, here and in read_table(), though one would do: racecheck knows no other order.
MLAF_DEV void publish(u32 shared, u32& n, int what, u32 row0, u32 row1) {
  const u32 lane = lane_now(), at = table_at(shared, n);
  barrier_wait(table_empty(shared, n), n / 2 & 1 ^ 1);
  __syncwarp();
  store_row(at + 4 * (lane % 8 * 8 + lane / 8), row0);
  store_row(at + 4 * (lane % 8 * 8 + lane / 8 + 4), row1);
  if (lane == 0) store_row(at + 256, (u32)what);
  barrier_arrive(table_full(shared, n));
  n++;
}

// Says of a piece whether a page id lies outside the cache, while the piece is worked on: with pages of 1 this takes as long as
// many a piece, which Q would wait for. Four ids a lane at once, since each look is a trip to memory.
MLAF_DEV void say_checked(const loader& l, const piece& x, facts* copy) {
  bool bad = false;
  const int last = (x.end - 1) / PAGE;
  if (x.begin < x.end)
#pragma unroll 1
    for (int i = x.begin / PAGE + l.lane; i <= last; i += 128) {
      u32 id[4];
#pragma unroll
      for (int n = 0; n < 4; n++) id[n] = (u32)l.p.a.kv_indices[x.first_page + smaller(i + 32 * n, last)];
#pragma unroll
      for (int n = 0; n < 4; n++) bad |= id[n] >= (u32)l.p.a.num_pages;
    }
  bad = __any_sync(~0u, bad);
  if (l.lane == 0) {
    if (bad) copy->bad = 1;
    barrier_arrive(l.shared + CHECKED_AT);
  }
}

// Piece k, as load.h says of boxes: who says what is to be copied waits for Q instead of who copies.
MLAF_DEV void list_piece(const loader& l, const piece& x, u32 k, u32& n) {
  const mlaf_decode_args& a = l.p.a;
  const int blocks = blocks_of(x), near_end = MANY ? (blocks - ASK > 1 ? blocks - ASK : 1) : -1;
  const int* const pages = a.kv_indices + x.first_page;
  auto token = [&](int j, int i) { return smaller(x.begin + 64 * j + 32 * i + l.lane, x.end - 1); };
  // The list's lines into L2, ahead of the loads: from memory a line may take as long as a block's products.
  auto fetch_list = [&](int at) { fetch_line(pages + (u32)smaller(x.begin + at, x.end - 1) / PAGE); };
  if (blocks > 1 && l.lane < 2 * LIST_AHEAD - 2) fetch_list(64 + 32 * l.lane);
  u32 id0 = 0, id1 = 0;
  if (blocks > 0) id0 = pages[(u32)token(0, 0) / PAGE], id1 = pages[(u32)token(0, 1) / PAGE];
  for (int j = 0; j < blocks; j++) {
    const u32 row0 = (id0 < (u32)a.num_pages ? id0 : 0) * PAGE + (u32)token(j, 0) % PAGE;
    const u32 row1 = (id1 < (u32)a.num_pages ? id1 : 0) * PAGE + (u32)token(j, 1) % PAGE;
    if (j + 1 < blocks) id0 = pages[(u32)token(j + 1, 0) / PAGE], id1 = pages[(u32)token(j + 1, 1) / PAGE];
    if (l.lane < 2) fetch_list(64 * (j + LIST_AHEAD) + 32 * l.lane);
    if (j == 1) barrier_wait(l.shared + Q_FULL_AT, k & 1);
    if (j == near_end && l.lane == 0) barrier_arrive(l.shared + NEAR_END_AT);
    publish(l.shared, n, j & 1, row0, row1);
  }
  if (MANY && blocks < 2) {
    barrier_wait(l.shared + Q_FULL_AT, k & 1);
    if (l.lane == 0) barrier_arrive(l.shared + NEAR_END_AT);
  }
}

MLAF_DEV void list_blocks(const loader& l, walk& w) {
  u32 n = 0;
  piece x;
  for (u32 k = 0; next_piece(l.p.a, w, x); k++) {
    list_piece(l, x, k, n);
    if (!MANY) break;
  }
  publish(l.shared, n, -1, 0, 0);
}

// The block that table n is of, -1: none is left; by all lanes of a warp. read(that, table): what is wanted of it.
template <typename F>
MLAF_DEV int read_table(u32 shared, u32& n, F read) {
  barrier_wait(table_full(shared, n), n / 2 & 1);
  const int what = (int)load_row(table_at(shared, n) + 256);
  read(what, table_at(shared, n));
  barrier_arrive(table_empty(shared, n));
  n++;
  return what;
}

// Waits until a group is given back; a fresh one counts as that.
MLAF_DEV void wait_empty(u32 shared, const buffer_use& t, int group) {
  barrier_wait(shared + EMPTY_AT + 8 * (5 * t.buffer + group), t.use & 1 ^ 1);
}

// Warps 1 and 2: rope of the blocks that are odd, or not.
MLAF_DEV void copy_rope(const mlaf_decode_args& a, u32 shared, int mine) {
  u32 used[2] = {0, 0}, n = 0;
  while (true) {
    const int odd = read_table(shared, n, [&](int odd, u32 at) {
      if (odd != mine) return;
      const buffer_use t = next_use(used, odd);
      wait_empty(shared, t, ROPE_GROUP);
      copy_slice_by_warp<ROPE_CHUNKS>(shared + KV_AT + t.buffer * BUFFER + SLICES * SLICE, a.kpe, (u32)a.kpe_row_stride * 2, at,
                                      POLICY);
      barrier_arrive_after_copies(shared + FULL_AT + 8 * (ALL * t.buffer + SLICES));
    });
    if (odd < 0) return;
  }
}

// The places of a lane's rows of a block, computed once for all of its quarters, so that copies stand side by side. Half-warp g
// has rows g, g + 8, ..., g + 56. Sixteen lanes copy as many bytes at once: of one row to a quarter's two slices, or of two rows
// to its one.
struct kept_rows {
  static constexpr int AT_ONCE = 2 / QUARTER, COUNT = 8 / AT_ONCE, LANES = 8 * QUARTER;

  MLAF_MEMBER void find(u32 table, const char* from, u32 stride) { // table: the half-warp's eight numbers
    const uint4 x = load_rows(table), y = load_rows(table + 16);
    const u32 rows[8] = {x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w}, lane = lane_now() % 16;
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      at[i] = from + 16 * (lane % LANES) + (u64)(lane < LANES ? rows[i * AT_ONCE] : rows[i * AT_ONCE + AT_ONCE - 1]) * stride;
  }
  MLAF_MEMBER u32 place() const { // in a quarter, of the lane's part of its first row
    const u32 g = half_warp(), lane = lane_now() % 16;
    return lane % LANES / 8 * SLICE + 128 * (g + 8 * (lane / LANES)) + ((lane % 8 ^ g) << 4);
  }
  MLAF_MEMBER void copy(u32 to, int column) const { // from that byte of a row on
#pragma unroll
    for (int i = 0; i < COUNT; i++) copy_16(to + 1024 * AT_ONCE * i, at[i] + column, POLICY);
  }

  const char* at[COUNT];
};

// Warpgroup 3. A quarter is copied as soon as it is given back, in the order in which QK takes them.
MLAF_DEV void copy_quarters(const mlaf_decode_args& a, u32 shared) {
  u32 used[2] = {0, 0}, n = 0;
  while (true) {
    kept_rows rows;
    const int odd =
        read_table(shared, n, [&](int, u32 at) { rows.find(at + 32 * half_warp(), a.ckv, (u32)a.ckv_row_stride * 2); });
    if (odd < 0) return;
    const buffer_use t = next_use(used, odd);
    const u32 to = shared + KV_AT + t.buffer * BUFFER + rows.place();
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int quarter = i ^ 2;
      wait_empty(shared, t, quarter);
      rows.copy(to + quarter * QUARTER * SLICE, 128 * QUARTER * quarter);
      barrier_arrive_after_copies(shared + FULL_AT + 8 * (ALL * t.buffer + quarter * QUARTER));
    }
  }
}
