// The matrix products of a tile, whose boxes lie in the ring (place, advance, full_barrier, empty_barrier); mma.h has the
// instruction. Handed over: tma (boxes come by the copy engine), rotates, and angles (keys are rotated on read, and the
// parameter that says by what).
//@ needs("BOX", "N", "NB", "NV", "ORDERED", "RING", "ROPE", "SCORED")
static_assert(NB >= NV && RING >= NB, "a tile's boxes fit the ring");

// S^T of the tile at `at`, waiting for box after box. Returns the slot of its last box. `tell`: the other warpgroup takes the
// next tile, and may wait for its boxes now. A barrier's one bit of parity tells a phase from the one before only where that
// one is known to be over; where the ring is no multiple of the warpgroups' tiles, a slot's last phase was the other
// warpgroup's.
MLAF_DEV int scores(u32 smem, u32 q_place, const place& at, float (&s)[N / 2], int group, bool tell${angles}) {
  const u64 ring = matrix(smem, 16, 1024, 1), q = matrix(q_place, 16, 1024, 1);
  int slot = at.slot;
  u32 lap = at.lap;
#pragma unroll
  for (int b = 0; b < NB; b++) {
    if (b > 0 && ++slot == RING) {
      slot = 0;
      lap ^= 1;
    }
    barrier_wait(full_barrier(smem, slot), lap);
    if (ORDERED && b == NB - 1) named_arrive_if(tell, SCORED + (group ^ 1), 256);
//@ if not tma then
    take_copies();
//@ end
//@ if rotates then emit("    if (b == NV) rotate_box(angles, smem + BOX * slot, group);") end
    mma_begin();
#pragma unroll
    for (int k = 0; k < (b < NV ? 4 : ROPE / 16); k++) {
      const u64 rows = ring + (slot * (BOX / 16) + 2 * k), columns = q + (b * (N * 8) + 2 * k);
      mma<0>(s, rows, columns, b > 0 || k > 0);
    }
  }
  mma_commit();
  mma_wait<0>();
  return slot;
}

// O^T += V^T P^T of the tile whose first box is at `slot`, two boxes at a time. A pair is given back to the producer once the
// next is under way, without a branch, since MMAs are.
MLAF_DEV void multiply_v(u32 smem, int slot, u64 p, float (&o)[NV][N / 2]) {
  const u64 ring = matrix(smem, 16, 1024, 1);
  const int lane = threadIdx.x & 31;
  auto v = [&](int i) { return slot + i >= RING ? slot + i - RING : slot + i; };
  mma_begin();
#pragma unroll
  for (int i = 0; i < NV; i += 2) {
#pragma unroll
    for (int k = 0; k < 4; k++)
#pragma unroll
      for (int j = i; j < i + 2 && j < NV; j++) mma<1>(o[j], ring + (v(j) * (BOX / 16) + 128 * k), p + 16 * k, true);
    mma_commit();
    if (i > 0) {
      mma_wait<1>();
      barrier_arrive_if(lane < 2, empty_barrier(smem, v(i - 2 + lane)));
    }
  }
  mma_wait<0>();
  constexpr int LAST = (NV - 1) / 2 * 2;
  barrier_arrive_if(lane < NV - LAST, empty_barrier(smem, v(LAST + lane)));
}
