// Generated from templates/concat_keys.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_concat_keys_acd9ebf6
// parameters:
//   heads = 8
// regenerate: lua5.4 gen/cli.lua render concat_keys target=sm_90a heads=8


// [templates/lib/cuda.h]
#define MLAF_GLOBAL
typedef uint4 word;
MLAF_DEV int my_block() { return blockIdx.x; }
MLAF_DEV int my_request() { return blockIdx.y; }
MLAF_DEV int my_group() { return blockIdx.z; }
MLAF_DEV int my_thread() { return threadIdx.x; }

constexpr int HEADS = 8;

struct mlaf_concat_args { // runtime/cli/layer_acc.c fills it
  const void* from; // [B][words], 16-byte aligned
  void* to;         // [B][heads][words]
  u64 words;        // of a request
  u32 heads, blocks;
};

extern "C" __global__ void __launch_bounds__(256) mlaf_concat_keys(mlaf_concat_args a) {
  const MLAF_GLOBAL word* from = (const MLAF_GLOBAL word*)(u64)a.from + (u64)my_request() * a.words;
  const u32 first = (u32)my_group() * HEADS, end = first + HEADS < a.heads ? first + HEADS : a.heads;
  MLAF_GLOBAL word* to = (MLAF_GLOBAL word*)(u64)a.to + ((u64)my_request() * a.heads + first) * a.words;
  for (u64 i = (u64)my_block() * 256 + (u64)my_thread(); i < a.words; i += (u64)a.blocks * 256) {
    const word x = from[i];
    for (u32 head = first; head < end; head++) to[(head - first) * a.words + i] = x;
  }
}
