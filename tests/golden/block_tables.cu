// Generated from templates/block_tables.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_block_tables_6f089f93
// parameters:
//   chunk = 1024
// regenerate: lua5.4 gen/cli.lua render block_tables target=gfx942 chunk=1024


// [templates/lib/wave.h]
MLAF_DEV int my_block() { return group_x(); }
MLAF_DEV int my_share() { return group_y(); }
MLAF_DEV int my_thread() { return thread_id(); }
MLAF_DEV int exchange(int x, int lane, int d) { return __builtin_amdgcn_ds_bpermute((lane ^ d) << 2, x); }
MLAF_DEV void wait_for_previous_launch() {}
MLAF_DEV void let_next_launch_start() {}
MLAF_DEV void publish() {}
MLAF_DEV int read(const int* p) { return *(const MLAF_GLOBAL int*)(u64)p; }
MLAF_DEV void write(int* p, int x) { *(MLAF_GLOBAL int*)(u64)p = x; }

constexpr int LANES = 64, WAVES = 256 / LANES, CHUNK = 1024, DEPTH = 4;

struct mlaf_block_tables_args { // runtime/plan/block_tables.c fills it
  const int* table;        // [B] rows, `stride` apart; with seq_lens. NULL: the three below
  const int* seq_lens;
  const int* indptr;
  const int* indices;
  const int* last_tokens;
  int* qo_indptr;          // NULL: not wanted
  int* kv_indptr;
  int* kv_last_page_lens;
  int* kv_indices;
  long stride;
  long room;               // entries of kv_indices
  int batch, width;        // entries in a row
  int q_tokens;            // of each request, for qo_indptr
  int pages;               // ids of the cache
  int page, sub, step;
  int group, chunks;
};

struct request {
  const int* ids;
  int pages, last; // of the kernels' pages
  bool bad;
};

MLAF_DEV request open_request(const mlaf_block_tables_args& a, int r) {
  request x;
  const int page_tokens = a.page * a.sub;
  x.bad = false;
  int whole, tail; // pages before the last one, and its tokens
  if (a.table) {
    int tokens = read(a.seq_lens + r);
    const i64 room = (i64)a.width * page_tokens;
    x.ids = a.table + r * a.stride;
    x.bad = tokens < 0 || tokens > room;
    if (x.bad) tokens = room > 0x7fffffff - page_tokens ? 0x7fffffff - page_tokens : (int)room;
    whole = tokens / page_tokens;
    tail = tokens - whole * page_tokens;
  } else {
    const int first = read(a.indptr + r), n = read(a.indptr + r + 1) - first;
    tail = n > 0 ? read(a.last_tokens + r) : 0;
    tail = tail < 0 ? 0 : tail > page_tokens ? page_tokens : tail;
    x.ids = a.indices + first;
    whole = n > 0 ? n - 1 : 0;
  }
  const int more = (int)(((u32)tail + (u32)a.page - 1) / (u32)a.page);
  x.pages = whole * a.sub + more;
  x.last = more ? tail - (more - 1) * a.page : x.pages ? a.page : 0;
  return x;
}

MLAF_DEV int sum(int x, int lane) {
#pragma unroll
  for (int d = 1; d < LANES; d *= 2) x += exchange(x, lane, d);
  return x;
}

MLAF_DEV int id_of(const mlaf_block_tables_args& a, const request& x, int k) {
  const int from = a.sub == 1 ? k : (int)((u32)k / (u32)a.sub);
  const int id = read(x.ids + from);
  return id < 0 || id >= a.pages || (x.bad && k == 0) ? -1 : id * a.step + (k - from * a.sub);
}

MLAF_DEV void copy_ids(const mlaf_block_tables_args& a, const request& x, i64 to, int lane) {
  for (int at = my_share() * CHUNK; at < x.pages; at += a.chunks * CHUNK) {
    const int end = smaller(x.pages, at + CHUNK);
    for (int k = at + lane; k < end; k += DEPTH * LANES) {
      int id[DEPTH];
#pragma unroll
      for (int i = 0; i < DEPTH; i++) id[i] = k + i * LANES < end ? id_of(a, x, k + i * LANES) : 0;
#pragma unroll
      for (int i = 0; i < DEPTH; i++)
        if (k + i * LANES < end && to + k + i * LANES < a.room) write(a.kv_indices + to + k + i * LANES, id[i]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) mlaf_block_tables(mlaf_block_tables_args a) {
  let_next_launch_start(); // which waits for this one before it reads tables
  wait_for_previous_launch(); // it may still read the tables that are written here
  const int lane = my_thread() % LANES;
  const i64 first = ((i64)my_block() * WAVES + my_thread() / LANES) * a.group;
  if (first < a.batch) {
    const int end = a.batch - first < a.group ? a.batch : (int)first + a.group;
    int before = 0;
#pragma unroll 4
    for (int r = lane; r < (int)first; r += LANES) before += open_request(a, r).pages;
    int to = sum(before, lane);
    for (int r = (int)first; r < end; r++) {
      const request x = open_request(a, r);
      if (my_share() == 0 && lane == 0) {
        write(a.kv_indptr + r, to);
        write(a.kv_last_page_lens + r, x.last);
        if (a.qo_indptr) write(a.qo_indptr + r, r * a.q_tokens);
      }
      copy_ids(a, x, to, lane);
      to += x.pages;
      if (my_share() == 0 && lane == 0 && r == a.batch - 1) {
        write(a.kv_indptr + a.batch, to);
        if (a.qo_indptr) write(a.qo_indptr + a.batch, a.batch * a.q_tokens);
      }
    }
  }
  publish();
}
