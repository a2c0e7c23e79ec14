// Control cases for compute-sanitizer's racecheck: what can it judge? Hand-overs of 128 words between two groups of 128 threads,
// over and over, each ordered by the PTX memory model: 0: bar.sync on both sides; 1: bar.arrive on the giver's side, bar.sync on
// the taker's; 2: mbarriers, with one arrival a warp behind __syncwarp; 3: as 0, in a block of 384 threads, a third of which take
// no part; 4: as 0, with a bar.arrive of one group and a bar.sync of the other in each round that hand over nothing; 5: as 2,
// with an arrival of every thread. 6 is another question: whether who waits at a cluster's barrier, at which all threads have
// arrived, is let through, or held back until all of them wait, too (sm90_few's loaders wait late). "6: held back" is the tool's
// doing. The Hopper kernels hand ordinary accesses over by 1 and 5, a warpgroup of the block taking no part, as in 4; what only
// the tensor cores and copies touch, by 2.
//   nvcc -arch=sm_90a -o racecheck_control tests/gpu/racecheck_control.cu
//   for i in 0 1 2 3 4 5 6; do compute-sanitizer --tool racecheck ./racecheck_control $i; done
// docs/lab/kernels-hopper.md says what it reported.
#include <cstdio>
#include <cstdlib>

constexpr int GIVEN = 1, TAKEN = 2, TURN = 3; // named barriers

__device__ unsigned shared_address(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void sync_on(int id) { asm volatile("bar.sync %0, 256;" ::"r"(id) : "memory"); }
__device__ void arrive_on(int id) { asm volatile("bar.arrive %0, 256;" ::"r"(id) : "memory"); }
template <bool EACH>
__device__ void arrive(unsigned barrier) {
  __syncwarp();
  if (EACH || threadIdx.x % 32 == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ void wait(unsigned barrier, int parity) {
  asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra AGAIN;\n}"
               ::"r"(barrier), "r"(parity) : "memory");
  __syncwarp();
}

template <int HOW>
__global__ void hand_over(int* out, int rounds) {
  constexpr bool MBARRIER = HOW == 2 || HOW == 5;
  __shared__ int data[128];
  __shared__ __align__(8) unsigned long long barriers[2];
  const unsigned given = shared_address(&barriers[0]), taken = shared_address(&barriers[1]);
  const int t = threadIdx.x % 128;
  if (threadIdx.x == 0)
    for (unsigned b : {given, taken})
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b), "r"(HOW == 5 ? 128 : 4) : "memory");
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < rounds; i++) {
    if (threadIdx.x < 128) {
      if (HOW == 4) arrive_on(TURN);
      if (i > 0 && MBARRIER) wait(taken, (i - 1) & 1);
      if (i > 0 && !MBARRIER) sync_on(TAKEN);
      ((volatile int*)data)[t] = i + t;
      if (HOW == 0 || HOW == 4) sync_on(GIVEN);
      if (HOW == 1) arrive_on(GIVEN);
      if (MBARRIER) arrive<HOW == 5>(given);
    } else if (threadIdx.x < 256) {
      if (HOW == 4) sync_on(TURN);
      if (MBARRIER) wait(given, i & 1);
      else sync_on(GIVEN);
      sum += ((volatile int*)data)[127 - t];
      if (MBARRIER) arrive<HOW == 5>(taken);
      else if (i + 1 < rounds && HOW != 1) sync_on(TAKEN);
      else if (i + 1 < rounds) arrive_on(TAKEN);
    }
  }
  if (threadIdx.x / 128 == 1) out[t] = sum;
}

// A cluster of two blocks. All threads arrive. Warps 0 to 2 wait, then say so; warp 3 waits once it has heard of that, or after a
// second.
__global__ void __cluster_dims__(2) late_wait(int* out) {
  __shared__ volatile int through;
  if (threadIdx.x == 0) through = 0;
  __syncthreads();
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  if (threadIdx.x < 96) {
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0) through = 1;
    return;
  }
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (!through && now - begin < 1000000000ull);
  if (threadIdx.x == 96) out[blockIdx.x] = through;
  __syncwarp();
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

int main(int argc, char** argv) {
  const int how = argc == 2 ? atoi(argv[1]) : -1, rounds = 4;
  int *out, got[128];
  if (how < 0 || how > 6) return fprintf(stderr, "usage: racecheck_control 0|1|2|3|4|5|6\n"), 2;
  cudaMalloc(&out, sizeof got);
  if (how == 0) hand_over<0><<<1, 256>>>(out, rounds);
  if (how == 1) hand_over<1><<<1, 256>>>(out, rounds);
  if (how == 2) hand_over<2><<<1, 256>>>(out, rounds);
  if (how == 3) hand_over<0><<<1, 384>>>(out, rounds);
  if (how == 4) hand_over<4><<<1, 256>>>(out, rounds);
  if (how == 5) hand_over<5><<<1, 256>>>(out, rounds);
  if (how == 6) late_wait<<<2, 128>>>(out);
  const cudaError_t error = cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
  if (error) return fprintf(stderr, "%s\n", cudaGetErrorString(error)), 1;
  if (how == 6) return printf("6: %s\n", got[0] && got[1] ? "let through" : "held back"), !(got[0] && got[1]);
  for (int t = 0; t < 128; t++)
    if (got[t] != rounds * (rounds - 1) / 2 + rounds * (127 - t)) return printf("%d: wrong\n", how), 1;
  printf("%d: right\n", how);
  return 0;
}
