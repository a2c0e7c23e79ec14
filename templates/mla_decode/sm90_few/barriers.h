// The barriers of a block, and words that say of a box that its tile had a bad page. tma: boxes come by the copy engine.
//@ needs("BAD_AT", "C", "EMPTY_Q_AT", "ENDS_AT", "FULL_Q_AT", "MET_AT", "N", "PLACES", "RING", "W")

// Run by a warpgroup, of which one thread a warp makes barriers: of several in a warp each waits for the one before at its
// fences, 1 us for a ring's. A warp that makes none stores the words: between two barriers a store costs a fence.
MLAF_DEV void make_barriers(char* base, u32 smem, int thread) {
  if (thread == 0)
#pragma unroll
    for (int s = 0; s < RING; s++) barrier_init(full_barrier(smem, s), ${tma and 1 or 128});
  if (thread == 32)
#pragma unroll
    for (int s = 0; s < RING; s++) barrier_init(empty_barrier(smem, s), 4);
  if (thread == 64) {
#pragma unroll
    for (int k = 0; k < PLACES; k++) {
      barrier_init(smem + FULL_Q_AT + 8 * k, 1);
      barrier_init(smem + EMPTY_Q_AT + 8 * k, 128 * W);
    }
//@ if meets then
    barrier_init(smem + MET_AT, 1);
//@ end
    if (C > 1) {
      barrier_init(smem + ENDS_AT, 1);
      barrier_init(smem + ENDS_AT + 8, 1);
      barrier_expect(smem + ENDS_AT, 16 * N * C);
    }
  }
#pragma unroll
  for (int s = 0; s < RING; s += 32)
    if (thread >= 96 && s + thread - 96 < RING) ((int*)(base + BAD_AT))[s + thread - 96] = 0;
  barriers_ready();
}
