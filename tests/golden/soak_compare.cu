// Generated from templates/soak_compare.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render soak_compare target=sm_90a threads=256

// [templates/lib/cuda.h]
// [4 more lines of tests/golden/attn_sink.cu]
MLAF_DEV u32 first_lane(u32 x) { return __shfl_sync(~0u, x, 0); }
MLAF_DEV bool in_any_lane(bool x) { return __any_sync(~0u, x); }
MLAF_DEV u32 count_one(u32* at) { return atomicAdd(at, 1u); }

constexpr u32 WAVE = 32, WAVES = 8, THREADS = 256, SHORT = 16;

struct mlaf_soak_args { // runtime/check/soak_compare.c fills it
// [44 more lines of templates/soak_compare.cu.in]

extern "C" __global__ void __launch_bounds__(256) mlaf_soak_compare(mlaf_soak_args a) {
  const u32 thread = (u32)my_thread(), lane = thread % WAVE, block = (u32)my_block();
// [12 more lines of templates/soak_compare.cu.in]
