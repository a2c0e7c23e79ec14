// Generated from templates/soak_compare.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_soak_compare_86db7944
// parameters:
//   threads = 256
// regenerate: lua5.4 gen/cli.lua render soak_compare target=sm_90a threads=256


// [templates/lib/cuda.h]
#define MLAF_GLOBAL
typedef uint4 word4;
MLAF_DEV int my_block() { return blockIdx.x; }
MLAF_DEV int my_thread() { return threadIdx.x; }
MLAF_DEV u32 first_lane(u32 x) { return __shfl_sync(~0u, x, 0); }
MLAF_DEV bool in_any_lane(bool x) { return __any_sync(~0u, x); }
MLAF_DEV u32 count_one(u32* at) { return atomicAdd(at, 1u); }

constexpr u32 WAVE = 32, WAVES = 8, THREADS = 256, SHORT = 16;

struct mlaf_soak_args { // runtime/check/soak_compare.c fills it
  const void* got;      // [rows][words], 16-byte aligned
  const void* want;
  u32* tally;           // [0] records asked for, [1 + i] wrong rows of launch i
  u32* records;         // [capacity][stride]: launch, output, row, then the row's words
  u32 rows, words, stride, launch, output, capacity, blocks, reserved;
};

MLAF_DEV u32 count_row(mlaf_soak_args a, u32 row) {
  MLAF_GLOBAL u32* tally = (MLAF_GLOBAL u32*)(u64)a.tally;
  count_one(tally + 1 + a.launch);
  const u32 slot = count_one(tally);
  if (slot >= a.capacity) return slot;
  MLAF_GLOBAL u32* record = (MLAF_GLOBAL u32*)(u64)a.records + (u64)slot * a.stride;
  record[0] = a.launch;
  record[1] = a.output;
  record[2] = row;
  return slot;
}

MLAF_DEV void keep_row(mlaf_soak_args a, u32 row, u32 slot, u32 first, u32 step) {
  if (slot >= a.capacity) return;
  MLAF_GLOBAL u32* record = (MLAF_GLOBAL u32*)(u64)a.records + (u64)slot * a.stride + 3;
  const MLAF_GLOBAL u32* got = (const MLAF_GLOBAL u32*)(u64)a.got + (u64)row * a.words;
  for (u32 i = first; i < a.words; i += step) record[i] = got[i];
}

MLAF_DEV u32 differing(mlaf_soak_args a, u32 row, u32 first, u32 step) {
  u32 off = 0;
  if (a.words % 4 == 0) {
    const u64 at = (u64)row * (a.words / 4);
    const MLAF_GLOBAL word4* got = (const MLAF_GLOBAL word4*)(u64)a.got + at;
    const MLAF_GLOBAL word4* want = (const MLAF_GLOBAL word4*)(u64)a.want + at;
    for (u32 i = first; i < a.words / 4; i += step) {
      const word4 g = got[i], w = want[i];
      off |= (g.x ^ w.x) | (g.y ^ w.y) | (g.z ^ w.z) | (g.w ^ w.w);
    }
    return off;
  }
  const u64 at = (u64)row * a.words;
  const MLAF_GLOBAL u32* got = (const MLAF_GLOBAL u32*)(u64)a.got + at;
  const MLAF_GLOBAL u32* want = (const MLAF_GLOBAL u32*)(u64)a.want + at;
  for (u32 i = first; i < a.words; i += step) off |= got[i] ^ want[i];
  return off;
}

extern "C" __global__ void __launch_bounds__(256) mlaf_soak_compare(mlaf_soak_args a) {
  const u32 thread = (u32)my_thread(), lane = thread % WAVE, block = (u32)my_block();
  if (a.words < SHORT) {
    for (u32 row = block * THREADS + thread; row < a.rows; row += a.blocks * THREADS)
      if (differing(a, row, 0, 1)) keep_row(a, row, count_row(a, row), 0, 1);
    return;
  }
  for (u32 row = block * WAVES + thread / WAVE; row < a.rows; row += a.blocks * WAVES) {
    if (!in_any_lane(differing(a, row, lane, WAVE) != 0)) continue;
    u32 slot = 0;
    if (lane == 0) slot = count_row(a, row);
    keep_row(a, row, first_lane(slot), lane, WAVE);
  }
}
