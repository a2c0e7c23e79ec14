// What can compute-sanitizer's racecheck judge? Hand-overs of 128 words between two groups of 128 threads, over and over, each
// ordered by the PTX memory model: 0: bar.sync on both sides; 1: bar.arrive on the giver's side, bar.sync on the taker's;
// 2: mbarriers, with one arrival a warp behind __syncwarp; 3: as 0, in a block of 384 threads, a third of which take no part;
// 4: as 0, with a bar.arrive of one group and a bar.sync of the other in each round that hand over nothing; 5: as 2, with an
// arrival of every thread.
// The Hopper kernels hand ordinary accesses over by 1 and 5, a warpgroup of the block taking no part, as in 4; what only the tensor
// cores and copies touch, by 2.
//   nvcc -arch=sm_90a -o racecheck_control tests/gpu/racecheck_control.cu
//   for i in 0 1 2 3 4 5; do compute-sanitizer --tool racecheck ./racecheck_control $i; done
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

int main(int argc, char** argv) {
  const int how = argc == 2 ? atoi(argv[1]) : -1, rounds = 4;
  int *out, got[128];
  if (how < 0 || how > 5) return fprintf(stderr, "usage: racecheck_control 0|1|2|3|4|5\n"), 2;
  cudaMalloc(&out, sizeof got);
  if (how == 0) hand_over<0><<<1, 256>>>(out, rounds);
  if (how == 1) hand_over<1><<<1, 256>>>(out, rounds);
  if (how == 2) hand_over<2><<<1, 256>>>(out, rounds);
  if (how == 3) hand_over<0><<<1, 384>>>(out, rounds);
  if (how == 4) hand_over<4><<<1, 256>>>(out, rounds);
  if (how == 5) hand_over<5><<<1, 256>>>(out, rounds);
  const cudaError_t error = cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost);
  if (error) return fprintf(stderr, "%s\n", cudaGetErrorString(error)), 1;
  for (int t = 0; t < 128; t++)
    if (got[t] != rounds * (rounds - 1) / 2 + rounds * (127 - t)) return printf("%d: wrong\n", how), 1;
  printf("%d: right\n", how);
  return 0;
}
