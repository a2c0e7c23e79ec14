// Loaders of transposed decode with roles for pages of any size: rows copied one by one (mla_decode/lib/gather.h). Warps 0 and 1
// take every second box of a tile. Their copies are ordinary accesses to shared memory, so a proxy fence must stand between them
// and the tensor cores: warp 2 waits for what has landed, fences and fills the barrier that the scores wait for. The includer has
// the constants of the kernel.
//@ needs("BAD_AT", "BOX", "EVICT_FIRST", "LANDED_AT", "NB", "NV", "PAGE", "ROPE", "TABLES_AT")
constexpr int COPIERS = 2;
constexpr int ROPE_CHUNKS = ROPE > 0 ? ROPE / 8 : 8; // of 16 bytes, in a row

MLAF_DEV u32 landed(u32 smem, int slot) { return smem + LANDED_AT + 8 * slot; }

// Behind the end of a piece its last token is copied again.
MLAF_DEV void copy_boxes(const mlaf_decode_args& a, u32 smem, int warp) {
  auto table_of = [&](int t) { return smem + TABLES_AT + 512 * warp + 256 * (t & 1); };
  walk where;
  work w;
  begin_walk(a, where);
  place at = {0, 0, 1};
  while (next_work(a, where, w)) {
    const int tiles = tiles_of(w);
    auto ask = [&](int t) { ask_for_ids<PAGE>(table_of(t), w.pages, w.begin + 64 * t, w.end - 1); };
    __syncwarp(); // all lanes are through with the piece before
    if (tiles > 0) ask(0);
    for (int t = 0; t < tiles; t++) {
      make_rows<PAGE>(table_of(t), a.num_pages, w.begin + 64 * t, w.end - 1);
      __syncwarp(); // and all lanes are through with the tile before, whose table the next ids take
      if (t + 1 < tiles) ask(t + 1);
      place box = at;
      advance(box, warp);
#pragma unroll 1
      for (int b = warp; b < NB; b += COPIERS) {
        const int column = column_of(b);
        const u32 to = smem + BOX * box.slot;
        barrier_wait(empty_barrier(smem, box.slot), box.lap ^ 1);
        __syncwarp();
        if (ROPE > 0 && column == NV)
          gather_rows<1, ROPE_CHUNKS, 128>(to, a.kpe, (u32)a.kpe_row_stride * 2, table_of(t), EVICT_FIRST);
        else gather_rows<1, 8, 128>(to, a.ckv + 128 * column, (u32)a.ckv_row_stride * 2, table_of(t), EVICT_FIRST);
        barrier_arrive_after_copies(landed(smem, box.slot));
        advance(box, COPIERS);
      }
      advance(at, NB);
      at.tile++;
    }
  }
}

// All boxes in their order, with word of a tile's bad pages ahead of its first one.
MLAF_DEV void hand_over(const mlaf_decode_args& a, u32 smem, char* base) {
  const int lane = threadIdx.x & 31;
  walk where;
  work w;
  begin_walk(a, where);
  place at = {0, 0, 1};
  while (next_work(a, where, w)) {
    const int tiles = tiles_of(w);
    u32 ids[2];
    auto fetch = [&](int t) {
#pragma unroll
      for (int i = 0; i < 2; i++) ids[i] = w.pages[(u32)smaller(w.begin + 64 * t + lane + 32 * i, w.end - 1) / PAGE];
    };
    if (tiles > 0) fetch(0);
    for (int t = 0; t < tiles; t++) {
      const bool bad = __any_sync(~0u, ids[0] >= (u32)a.num_pages || ids[1] >= (u32)a.num_pages);
      if (t + 1 < tiles) fetch(t + 1);
#pragma unroll 1
      for (int b = 0; b < NB; b++) {
        barrier_wait(landed(smem, at.slot), at.lap);
        fence_async();
        __syncwarp();
        if (lane == 0) {
          if (b == 0 && bad) ((volatile int*)(base + BAD_AT))[at.slot] = at.tile;
          barrier_arrive(full_barrier(smem, at.slot));
        }
        advance(at, 1);
      }
      at.tile++;
    }
  }
}

MLAF_DEV void send_boxes(const mlaf_decode_params& p, u32 smem, char* base, int warp) {
  if (warp < COPIERS) copy_boxes(p.a, smem, warp);
  else hand_over(p.a, smem, base);
}
