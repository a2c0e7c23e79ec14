// Generated from templates/index_lists.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_index_lists_7d240fa7
// parameters:
//   threads = 512
// regenerate: lua5.4 gen/cli.lua render index_lists target=gfx942 threads=512


// [templates/lib/wave.h]
MLAF_DEV int my_block() { return group_x(); }
MLAF_DEV int my_thread() { return thread_id(); }
MLAF_DEV int exchange(int x, int lane, int d) { return __builtin_amdgcn_ds_bpermute((lane ^ d) << 2, x); }
MLAF_DEV u64 votes(bool x) { return __builtin_amdgcn_ballot_w64(x); }
MLAF_DEV int ones(u64 x) { return __builtin_popcountl(x); }
MLAF_DEV void meet() { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); }
MLAF_DEV void wait_for_previous_launch() {}
MLAF_DEV void let_next_launch_start() {}
MLAF_DEV void publish() {}
MLAF_DEV int read(const int* p) { return *(const MLAF_GLOBAL int*)(u64)p; }
MLAF_DEV void write(int* p, int x) { *(MLAF_GLOBAL int*)(u64)p = x; }

constexpr int LANES = 64, THREADS = 512, WAVES = 8;
constexpr int DEPTH = 2048 / THREADS; // loads in flight: lists of 2048 are in registers as a whole
constexpr int COUNT = 1, PLACE = 2; // phases of a launch

struct mlaf_index_lists_args { // runtime/ops/mla_decode/index_lists.c fills it
  const int* indices;      // [T] lists, `stride` apart
  const int* lengths;      // [ceil(T / share)]; NULL: all of each list
  int* counts;             // [T]: written by COUNT, read by a launch that only PLACEs
  int* qo_indptr;
  int* kv_indptr;
  int* kv_last_page_lens;
  int* kv_indices;
  long stride;
  long page_rows;          // rows from page to page
  int tokens, topk, share;
  int rows;                // that entries may name: pages * page_tokens
  int page_tokens;
  int phases;
};

struct list {
  const int* at;
  int n;
};
MLAF_DEV list list_of(const mlaf_index_lists_args& a, int t) {
  int n = a.topk;
  if (a.lengths) {
    const int told = read(a.lengths + (a.share == 1 ? t : (int)((u32)t / (u32)a.share)));
    n = told < 0 ? 0 : smaller(told, n);
  }
  return {a.indices + t * a.stride, n};
}

MLAF_DEV bool is_there(const mlaf_index_lists_args& a, int entry) { return (u32)entry < (u32)a.rows; }

MLAF_DEV int row_of(const mlaf_index_lists_args& a, int entry) {
  if (a.page_rows == a.page_tokens) return entry;
  const u32 page = (u32)entry / (u32)a.page_tokens;
  return (int)(page * a.page_rows + (u32)entry % (u32)a.page_tokens);
}

MLAF_DEV int sum_of_wave(int x, int lane) {
#pragma unroll
  for (int d = 1; d < LANES; d *= 2) x += exchange(x, lane, d);
  return x;
}

struct entries {
  int of[DEPTH];
};
MLAF_DEV entries read_entries(const list& x, int k, int to, int step) {
  entries e;
#pragma unroll
  for (int i = 0; i < DEPTH; i++) e.of[i] = k + i * step < to ? read(x.at + k + i * step) : -1;
  return e;
}
MLAF_DEV int count_there(const mlaf_index_lists_args& a, const entries& e) {
  int n = 0;
#pragma unroll
  for (int i = 0; i < DEPTH; i++) n += is_there(a, e.of[i]);
  return n;
}

MLAF_DEV int count(const mlaf_index_lists_args& a, const list& x, int from, int to, int lane, int lanes) {
  int n = 0;
  for (int k = from + lane; k < to; k += DEPTH * lanes) n += count_there(a, read_entries(x, k, to, lanes));
  return n;
}

static __shared__ int of_wave[2][WAVES];

struct sums {
  int before, all;
};
MLAF_DEV sums add_up(int mine, int whole, int wave, int lane) {
  const int m = sum_of_wave(mine, lane), w = sum_of_wave(whole, lane);
  if (lane == 0) of_wave[0][wave] = m, of_wave[1][wave] = w;
  meet();
  sums s = {0, 0};
#pragma unroll
  for (int i = 0; i < WAVES; i++) {
    if (i < wave) s.before += of_wave[0][i];
    s.all += of_wave[1][i];
  }
  return s;
}

MLAF_DEV i64 place(const mlaf_index_lists_args& a, const entries& e, i64 out, int lane) {
#pragma unroll
  for (int i = 0; i < DEPTH; i++) {
    const bool there = is_there(a, e.of[i]);
    const u64 all = votes(there);
    if (there) write(a.kv_indices + out + ones(all & (((u64)1 << lane) - 1)), row_of(a, e.of[i]));
    out += ones(all);
  }
  return out;
}

extern "C" __global__ void __launch_bounds__(512) mlaf_index_lists(mlaf_index_lists_args a) {
  const int t = my_block(), thread = my_thread(), lane = thread % LANES, wave = thread / LANES;
  let_next_launch_start(); // which waits for this one before it reads what is made here
  wait_for_previous_launch(); // it may still write lists, and read the tables that are written here
  const list mine = list_of(a, t);
  if (!(a.phases & PLACE)) {
    const sums s = add_up(0, count(a, mine, 0, mine.n, thread, THREADS), wave, lane);
    if (thread == 0) write(a.counts + t, s.all);
    publish();
    return;
  }
  const int each = (mine.n + WAVES * LANES - 1) / (WAVES * LANES) * LANES, round = DEPTH * LANES;
  const int from = smaller(wave * each, mine.n), to = smaller(from + each, mine.n);
  const entries first_round = read_entries(mine, from + lane, to, LANES);
  const int here = count_there(a, first_round) + count(a, mine, smaller(from + round, to), to, lane, LANES);
  int before = 0; // entries of all tokens before, as this thread has them
  if (a.phases & COUNT) {
    for (int i = wave; i < t; i += WAVES) {
      const list x = list_of(a, i);
      before += count(a, x, 0, x.n, lane, LANES);
    }
  } else {
    for (int i = thread; i < t; i += THREADS) before += read(a.counts + i);
  }
  const sums own = add_up(here, before, wave, lane);
  i64 out = place(a, first_round, (i64)own.all + own.before, lane);
  for (int k = from + round; k < to; k += round) out = place(a, read_entries(mine, k + lane, to, LANES), out, lane);
  if (wave == WAVES - 1 && lane == 0) {
    write(a.kv_indptr + t, own.all);
    write(a.qo_indptr + t, t);
    write(a.kv_last_page_lens + t, 1);
    if (t == a.tokens - 1) {
      write(a.kv_indptr + a.tokens, (int)out);
      write(a.qo_indptr + a.tokens, a.tokens);
    }
  }
  publish();
}
