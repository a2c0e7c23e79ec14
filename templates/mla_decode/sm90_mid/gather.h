// Loaders of transposed decode with roles for pages of any size: rows copied one by one (mla_decode/lib/gather.h). Of a tile's 16
// groups of four rows warp w takes w, w + SENDERS, ... of every box: an instruction copies 128 bytes of each of a group's rows.
// plan.pairs: two boxes of neighbouring columns at a time, 256 bytes of two rows in an instruction. With up to 48 rows a short
// request waits for its rows, and they come 4 to 7 % earlier so; beyond, the ring is short of two boxes that are given back.
// Copies arrive at the full barriers themselves; who multiplies takes them over by take_copies(). The includer has the constants
// of the kernel.
//@ needs("BAD_AT", "BOX", "EVICT_FIRST", "FITTED", "NB", "PAGE", "ROPE", "SENDERS", "TABLES_AT")
//@ if lists then needs("LIST_AT") end
constexpr int FOURS = 16, OWN = (FOURS + SENDERS - 1) / SENDERS; // of a box; of them a warp's, at most
// Registers for where a lane's rows lie: computed once for all boxes but rope's.
constexpr bool KEEP = ${plan.keeps and 1 or 0};

// A box as soon as it is given back, by lanes that copy; from(k): of the lane's k-th row. bad: it is the first of a tile with a
// page outside.
template <typename F>
MLAF_DEV void copy_box_of_rows(u32 smem, char* base, place& at, u32 in_box, int warp, bool copies, bool bad, F from) {
  barrier_wait(empty_barrier(smem, at.slot), at.lap ^ 1);
  if (bad) ((volatile int*)(base + BAD_AT))[at.slot] = at.tile;
  __syncwarp();
  const u32 to = smem + BOX * at.slot + in_box;
#pragma unroll
  for (int k = 0; k < OWN; k++)
    if (copies && warp + SENDERS * k < FOURS) copy_16((to ^ SENDERS * k % 2 * 64) + 512 * SENDERS * k, from(k), EVICT_FIRST);
  barrier_arrive_after_copies(full_barrier(smem, at.slot));
  advance(at, 1);
}

//@ if plan.pairs then
// The place in a box of a lane's share of its first row, swizzled: of a half-warp's 256 bytes of a row 128 lie in each of two
// boxes, and the other half-warp has the row behind it.
MLAF_DEV u32 place_in_pair(int warp) {
  const u32 lane = lane_now(), odd = lane / 16;
  return 512 * warp + 128 * odd + ((lane % 8 ^ odd ^ 4 * (warp & 1)) << 4);
}
// Two boxes as soon as both are given back; from(k): of the lane's k-th row, of the warp's group k / 2.
template <typename F>
MLAF_DEV void copy_pair_of_boxes(u32 smem, char* base, place& at, u32 in_box, int warp, bool bad, F from) {
  place second = at;
  advance(second, 1);
  barrier_wait(empty_barrier(smem, at.slot), at.lap ^ 1);
  if (bad) ((volatile int*)(base + BAD_AT))[at.slot] = at.tile;
  barrier_wait(empty_barrier(smem, second.slot), second.lap ^ 1);
  __syncwarp();
  const u32 to = smem + BOX * (lane_now() & 8 ? second.slot : at.slot) + in_box;
#pragma unroll
  for (int k = 0; k < 2 * OWN; k++)
    if (warp + SENDERS * (k / 2) < FOURS)
      copy_16((to ^ (SENDERS * (k / 2) % 2 * 64 + k % 2 * 32)) + 512 * SENDERS * (k / 2) + 256 * (k % 2), from(k), EVICT_FIRST);
  barrier_arrive_after_copies(full_barrier(smem, at.slot));
  barrier_arrive_after_copies(full_barrier(smem, second.slot));
  advance(at, 2);
}
// Rows as make_rows() has them, of ids that a lane has of its two tokens, `token` + lane and 32 behind that.
MLAF_DEV bool put_rows(u32 table, const u32 (&ids)[2], int pages, int token, int last) {
  const int lane = lane_now();
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const u32 page = ids[i] < (u32)pages ? ids[i] : 0;
    store_row(table + 4 * (lane + 32 * i), page * PAGE + (u32)smaller(token + lane + 32 * i, last) % PAGE);
  }
  return ids[0] >= (u32)pages || ids[1] >= (u32)pages;
}
//@ end

//@ -- A tile's boxes; row(g, i) is the number of row i of the warp's g-th group. bad: a page lies outside. next: what makes the
//@ -- next tile's.
//@ local function copy_tile(bad, next)
      const u32 stride = (u32)a.ckv_row_stride * 2;
      if (ROPE > 0)
        copy_box_of_rows(smem, base, at, in_box, warp, chunk < ROPE / 8, ${bad} && warp == 0,
                         [&](int k) { return a.kpe + 16 * chunk + row(k, sub) * ((u32)a.kpe_row_stride * 2); });
//@ if plan.pairs then
      const char* from[2 * OWN];
#pragma unroll
      for (int k = 0; k < 2 * OWN; k++) {
        from[k] = a.ckv + 16 * (lane_now() % 16) + row(k / 2, k % 2 * 2 + lane_now() / 16) * stride;
        asm volatile("" : "+l"(from[k]));
      }
#pragma unroll
      for (int b = ROPE > 0; b < NB; b += 2) {
        copy_pair_of_boxes(smem, base, at, place_in_pair(warp), warp, b == 0 && ${bad} && warp == 0,
                           [&](int k) { return from[k] + 128 * column_of(b); });
//@ if next then
        if (b / 2 == NB / 4) ${next}; // the next tile's rows, and page ids of the one behind it
//@ end
      }
//@ else
      const char* from[OWN];
#pragma unroll
      for (int k = 0; k < OWN; k++) {
        from[k] = a.ckv + 16 * chunk + (KEEP ? row(k, sub) * stride : 0);
        if (KEEP) asm volatile("" : "+l"(from[k]));
      }
#pragma unroll
      for (int b = ROPE > 0; b < NB; b++) {
        copy_box_of_rows(smem, base, at, in_box, warp, true, b == 0 && ${bad} && warp == 0,
                         [&](int k) { return from[k] + 128 * column_of(b) + (KEEP ? 0 : row(k, sub) * stride); });
//@ if next then
        if (b == NB / 2 && KEEP) ${next}; // the next tile's rows, and page ids of the one behind it
//@ end
      }
//@ if next then
      if (!KEEP) ${next};
//@ end
//@ end
//@ end

// The last token of a piece is copied again behind its end. The first warp says that a page lies outside.
MLAF_DEV void copy_boxes(const mlaf_decode_args& a, u32 smem, char* base, int warp) {
  auto table_of = [&](int t) { return smem + TABLES_AT + 512 * warp + 256 * (t & 1); };
  const u32 lane = lane_now(), sub = lane / 8, chunk = lane % 8;
  const u32 in_box = 512 * warp + 128 * sub + ((chunk ^ sub ^ 4 * (warp & 1)) << 4); // of the first group, swizzled
  walk where;
  work w;
  begin_walk(a, where);
  place at = {0, 0, 1};
  while (next_work(a, where, w)) {
    const int tiles = tiles_of(w);
    bool bad = false; // of the tile whose rows were made last
//@ if plan.pairs then
    u32 ids[2] = {0, 0}; // of the lane's tokens of the tile whose rows are made next
    auto ask = [&](int t) {
#pragma unroll
      for (int i = 0; i < 2; i++)
        if (t < tiles) ids[i] = w.pages[(u32)smaller(w.begin + 64 * t + 32 * i + (int)lane_now(), w.end - 1) / PAGE];
    };
    auto make = [&](int t) {
      __syncwarp(); // all lanes are through with the table
      if (t < tiles) bad = put_rows(table_of(t), ids, a.num_pages, w.begin + 64 * t, w.end - 1);
      __syncwarp();
    };
//@ else
    auto ask = [&](int t) {
      __syncwarp(); // all lanes are through with the table that the ids take
      if (t < tiles) ask_for_ids<PAGE>(table_of(t), w.pages, w.begin + 64 * t, w.end - 1);
    };
    auto make = [&](int t) {
      if (t < tiles) bad = make_rows<PAGE>(table_of(t), a.num_pages, w.begin + 64 * t, w.end - 1);
      __syncwarp();
    };
//@ end
    ask(0);
    make(0);
    ask(1);
    for (int t = 0; t < tiles; t++) {
      auto row = [&](int g, u32 i) { return (u64)load_row(table_of(t) + 16 * smaller(warp + SENDERS * g, FOURS - 1) + 4 * i); };
//@ copy_tile("bad", "make(t + 1), ask(t + 2)")
      at.tile++;
    }
  }
}
//@ if lists then

//@   include("mla_decode/lib/index_list.h", { q = q, fitted = fitted, meets = false, entries = plan.list, barrier = "LISTED",
//@     pools = false })
// The rows that an index list names, by all warps: those that copy, and the one that says what the block works on. Rows behind
// the end repeat the last one.
MLAF_DEV void copy_list(const mlaf_decode_params& p, u32 smem, char* base, int warp) {
  const mlaf_decode_args& a = p.a;
  const u32 lane = lane_now(), sub = lane / 8, chunk = lane % 8;
  const u32 in_box = 512 * warp + 128 * sub + ((chunk ^ sub ^ 4 * (warp & 1)) << 4); // as in copy_boxes()
  place at = {0, 0, 1};
  work w;
  list_walk walk;
  const bool there = begin_list(a, base, walk, w);
  if (warp == SENDERS) say_list(p, smem, base, 0, w, there);
  if (!there) return;
#pragma unroll 1
  for (int left = tiles_of(w); left > 0; left--) {
    refill_list(a, base, walk);
    const u32 table = smem + LIST_AT + 4 * walk.used;
    const int last = walk.held - walk.used - 1;
    walk.used += 64;
    if (warp == SENDERS) continue;
    auto row = [&](int g, u32 i) {
      return (u64)load_row(table + 4 * smaller(4 * smaller(warp + SENDERS * g, FOURS - 1) + (int)i, last));
    };
//@ copy_tile("false")
  }
  if (FITTED && warp == SENDERS) say_list(p, smem, base, 1, w, false);
}
//@ end
