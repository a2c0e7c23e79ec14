// Generated from templates/mla_decode/combine_wave_invariant.hip.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_decode/combine_wave_invariant target=gfx942 dtype=bf16 heads=16 page_size=64 q_len=1 rank=512 rows=4 team=2

// [4 more times the line above, with other numbers]
#define MLAF_BF16 1
#define MLAF_CVT_BF16 0
// [templates/lib/wave.h]
// [templates/lib/number.h]
// [templates/mla_decode/lib/args.h]

constexpr int R = 512, ROWS = 4, TEAM = 2, VECTORS = 2, DEPTH = 8;
#define FIT_FIXED 16
// [3 more lines of tests/golden/mla_decode/combine_values_wave.hip, with other numbers]
struct mlaf_kernel_launch {
// [3 more lines of templates/lib/launch_wave.h]
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_decode_combine_wave_invariant_8c4aab7e_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 8, 0, 0, {0, 0}, 0, {}};
// [templates/mla_decode/lib/fit_wave.h]
constexpr int H = 16, Q_LEN = 1, PAGE = 64;
enum { OWN_GRAIN = 64 };     // tokens: parts begin at multiples of it
enum { OWN_PARTS_BITS = 6 }; // a request has fewer parts than 2^6
#ifndef OWN_LEAST
enum { OWN_LEAST = 8, OWN_KNEE = 32, OWN_WIDE = 16 };
#endif
// [16 more lines of templates/mla_decode/lib/own_cut.h]
// [templates/mla_decode/lib/paging.h]
// [84 more lines of tests/golden/mla_decode/combine_values_wave.hip]

#if 1
typedef float part_rows[R]; // of each wave
// [4 more lines of templates/mla_decode/combine_wave.hip.in]
MLAF_DEV void merge_row(const mlaf_combine_args& a, const sources& from, i64 row, bool exists, int lane, int wave) {
  constexpr u64 EVERY_TEAM = ~0ul / ((1ul << Team) - 1); // bits 0, Team, 2 Team, ... of 64: what a team's first wave adds up
  const int mate = wave % Team;
  merged m = merge<DEPTH>(a.part_o, a.part_lse, from, lse_of(a.part_lse, from, 0, lane), EVERY_TEAM << mate, lane);

#if 1
  if (Team > 1) {
// [14 more lines of templates/mla_decode/combine_wave.hip.in]
#pragma unroll
// [8 more lines of templates/mla_decode/combine_wave.hip.in]

MLAF_DEV int own_results(const mlaf_decode_args& a, i64 row, int lane) {
// [7 more lines of templates/mla_decode/combine_wave.hip.in]

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(512, 512))) void
mlaf_mla_decode_combine_wave_invariant_8c4aab7e(mlaf_decode_args p) {
  const int lane = thread_id() & 63, wave = uniform(thread_id() >> 6);
// [4 more lines of templates/mla_decode/combine_wave.hip.in]
}
