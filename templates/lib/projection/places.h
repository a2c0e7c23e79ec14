//@ needs("STAGES")
// A ring of STAGES places, as each of its users walks it through all passes.
struct ring {
  int stage;
  u32 lap; // parity of the place's use
  __device__ __forceinline__ void next() {
    if (++stage == STAGES) stage = 0, lap ^= 1;
  }
  template <int N>
  __device__ __forceinline__ void advance() { // N places, which are no more than STAGES
    if ((stage += N) >= STAGES) stage -= STAGES, lap ^= 1;
  }
  __device__ __forceinline__ void advance(int steps) {
    stage += steps;
    lap ^= stage / STAGES & 1;
    stage %= STAGES;
  }
};

// A warp is done with a place.
MLAF_DEV void give_back(u32 barrier, int lane) {
  if (lane == 0) barrier_arrive(barrier);
}
