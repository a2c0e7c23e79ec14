// Shared memory of the Hopper kernels, and rings of places in it.
MLAF_DEV char* memory() {
  extern __shared__ __align__(1024) char all_memory[];
  return all_memory;
}

// A ring of N places, as each of its users walks it.
template <int N>
struct ring {
  int stage;
  u32 lap; // parity of the place's use
  __device__ __forceinline__ void next() {
    if (++stage == N) stage = 0, lap ^= 1;
  }
};
