// Generated from templates/index_lists.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_index_lists_7d240fa7
// parameters:
//   threads = 512
// regenerate: lua5.4 gen/cli.lua render index_lists target=gfx942 threads=512


// [templates/lib/wave.h]
MLAF_DEV int my_block() { return group_x(); }
// [10 more lines of templates/index_lists.cu.in]

constexpr int LANES = 64, THREADS = 512, WAVES = 8;
constexpr int DEPTH = 2048 / THREADS; // loads in flight: lists of 2048 are in registers as a whole
// [95 more lines of templates/index_lists.cu.in]

extern "C" __global__ void __launch_bounds__(512) mlaf_index_lists(mlaf_index_lists_args a) {
  const int t = my_block(), thread = my_thread(), lane = thread % LANES, wave = thread / LANES;
// [36 more lines of templates/index_lists.cu.in]
