// Generated from templates/read_ceiling.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_read_ceiling_873dd9cc
// parameters:
//   depth = 8
// regenerate: lua5.4 gen/cli.lua render read_ceiling target=sm_90a depth=8


// [templates/lib/cuda.h]
typedef uint4 word;
MLAF_DEV int my_block() { return blockIdx.x; }
MLAF_DEV int my_thread() { return threadIdx.x; }
MLAF_DEV word load(const word* p) {
  word x;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(p));
  return x;
}

constexpr int DEPTH = 8;

struct mlaf_read_args { // runtime/check/ceilings.c fills it
  const word* words;
  u64 n; // words
  u32* out;
  u32 never, blocks, passes;
};

extern "C" __global__ void __launch_bounds__(512) mlaf_read_ceiling(mlaf_read_args a) {
  const u64 all = (u64)a.blocks * 512;
  u32 sum = 0;
  for (u32 pass = 0; pass < a.passes; pass++) { // several, so that the launch counts for less
    u64 at = (u64)my_block() * 512 + (u64)my_thread();
    for (; at + (DEPTH - 1) * all < a.n; at += DEPTH * all) {
      word x[DEPTH];
#pragma unroll
      for (int i = 0; i < DEPTH; i++) x[i] = load(a.words + at + i * all);
#pragma unroll
      for (int i = 0; i < DEPTH; i++) sum += x[i].x ^ x[i].y ^ x[i].z ^ x[i].w;
    }
    for (; at < a.n; at += all) sum += load(a.words + at).x;
  }
  if (sum == a.never) *a.out = sum;
}
