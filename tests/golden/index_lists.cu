// Generated from templates/index_lists.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render index_lists target=gfx942 threads=512

// [templates/lib/wave.h]
MLAF_DEV int my_block() { return group_x(); }
// [10 more lines of templates/index_lists.cu.in]

constexpr int LANES = 64, THREADS = 512, WAVES = 8;
constexpr int DEPTH = 2048 / THREADS; // loads in flight: lists of 2048 are in registers as a whole
// [16 more lines of templates/index_lists.cu.in]
};
// [3 more lines of templates/index_lists.cu.in]
  int n;
// [27 more lines of templates/index_lists.cu.in]
MLAF_DEV entries read_entries(const list& x, int k, int to, int step) {
  entries e;
#pragma unroll
  for (int i = 0; i < DEPTH; i++) e.of[i] = k + i * step < to ? read(x.at + k + i * step) : -1;
  return e;
// [10 more lines of templates/index_lists.cu.in]
  for (int k = from + lane; k < to; k += DEPTH * lanes) n += count_there(a, read_entries(x, k, to, lanes));
  return n;
// [30 more lines of templates/index_lists.cu.in]

extern "C" __global__ void __launch_bounds__(512) mlaf_index_lists(mlaf_index_lists_args a) {
  const int t = my_block(), thread = my_thread(), lane = thread % LANES, wave = thread / LANES;
// [11 more lines of templates/index_lists.cu.in]
  const entries first_round = read_entries(mine, from + lane, to, LANES);
  const int here = count_there(a, first_round) + count(a, mine, smaller(from + round, to), to, lane, LANES);
// [11 more lines of templates/index_lists.cu.in]
  for (int k = from + round; k < to; k += round) out = place(a, read_entries(mine, k + lane, to, LANES), out, lane);
  if (wave == WAVES - 1 && lane == 0) {
// [10 more lines of templates/index_lists.cu.in]
