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
// [22 more lines of templates/read_ceiling.cu.in]
