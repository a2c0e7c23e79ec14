// Generated from templates/soak_compare.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_soak_compare_fdb3014d
// parameters:
//   threads = 512
// regenerate: lua5.4 gen/cli.lua render soak_compare target=gfx942 threads=512
// Compares an output with the one that the same inputs gave before, bit for bit, and keeps the rows that differ: `verify --soak`.
// A wave takes a row of O and its LSE at a time. A row that differs counts for its launch and, while there is room, is copied to
// the next free record, so that the host can look at what was wrong although the output is soon written over. One text for CUDA
// and HIP.


// [templates/lib/wave.h]
typedef u32x4 word4;
MLAF_DEV int my_block() { return group_x(); }
MLAF_DEV int my_thread() { return thread_id(); }
MLAF_DEV u32 first_lane(u32 x) { return (u32)uniform((int)x); }
MLAF_DEV bool in_any_lane(bool x) { return any_lane(x); }
MLAF_DEV u32 count_one(MLAF_GLOBAL u32* at) { return __hip_atomic_fetch_add(at, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }

constexpr u32 WAVE = 64, WAVES = 8;

struct mlaf_soak_args { // runtime/check/soak_compare.c fills it
  const void* got;      // [rows][words] of O, 16-byte aligned
  const void* want;
  const u32* got_lse;   // [rows]
  const u32* want_lse;
  u32* tally;           // [0] records asked for, [1 + i] wrong rows of launch i
  u32* records;         // [capacity][3 + words]: i, row, LSE, O
  u32 rows, words, launch, capacity, blocks, reserved;
};

extern "C" __global__ void __launch_bounds__(512) mlaf_soak_compare(mlaf_soak_args a) {
  const u32 lane = (u32)my_thread() % WAVE, first = (u32)my_block() * WAVES + (u32)my_thread() / WAVE;
  const u32 quads = a.words / 4; // words: a multiple of 16
  MLAF_GLOBAL u32* tally = (MLAF_GLOBAL u32*)(u64)a.tally;
  for (u32 row = first; row < a.rows; row += a.blocks * WAVES) {
    const MLAF_GLOBAL word4* got = (const MLAF_GLOBAL word4*)(u64)a.got + (u64)row * quads;
    const MLAF_GLOBAL word4* want = (const MLAF_GLOBAL word4*)(u64)a.want + (u64)row * quads;
    const u32 lse = ((const MLAF_GLOBAL u32*)(u64)a.got_lse)[row];
    u32 off = lse ^ ((const MLAF_GLOBAL u32*)(u64)a.want_lse)[row];
    for (u32 i = lane; i < quads; i += WAVE) {
      const word4 g = got[i], w = want[i];
      off |= (g.x ^ w.x) | (g.y ^ w.y) | (g.z ^ w.z) | (g.w ^ w.w);
    }
    if (!in_any_lane(off != 0)) continue;
    u32 slot = 0;
    if (lane == 0) {
      count_one(tally + 1 + a.launch);
      slot = count_one(tally);
    }
    slot = first_lane(slot);
    if (slot >= a.capacity) continue;
    MLAF_GLOBAL u32* record = (MLAF_GLOBAL u32*)(u64)a.records + (u64)slot * (3 + a.words);
    if (lane == 0) {
      record[0] = a.launch;
      record[1] = row;
      record[2] = lse;
    }
    for (u32 i = lane; i < a.words; i += WAVE) record[3 + i] = ((const MLAF_GLOBAL u32*)(u64)a.got)[(u64)row * a.words + i];
  }
}
