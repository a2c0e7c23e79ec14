// Generated from templates/mla_decode/sm90_many.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_decode_sm90_many_592931cf
// parameters:
//   causal = 1
//   cluster = 1
//   dtype = bf16
//   heads = 40
//   page_size = 16
//   q_len = 3
//   rank = 256
//   rope = 32
//   schedule = fitted
// regenerate: lua5.4 gen/cli.lua render mla_decode/sm90_many target=sm_90a causal=1 cluster=1 dtype=bf16 heads=40 page_size=16 q_len=3 rank=256 rope=32 schedule=fitted



#define MLAF_BF16 1
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/mla_decode/lib/args.h]
struct mlaf_map_want {
  u32 of, cols, rows, swizzle;
};
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, reserved[3], n_maps;
  mlaf_map_want maps[8];
};
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_sm90_many_592931cf_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 215560,
    {1, 1, 1}, 11, 0, {}, 4,
    {{3, 64, 64, 128}, {3, 32, 64, 64}, {1, 64, 16, 128}, {2, 32, 16, 64}}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_decode_params {
  mlaf_decode_args a;
  mlaf_tensor_map maps[4];
};
// [templates/lib/hopper.h]
// [templates/mla_decode/sm90_many/copy.h]

constexpr u32 SWIZZLE_128 = 64 | 1u << 30, SWIZZLE_64 = 32 | 2u << 30;
MLAF_DEV u32 k_major(u32 at) { return (at & 0x3ffff) >> 4 | 1u << 16; }
MLAF_DEV u32 n_major(u32 at, u32 bytes_per_64_columns) { return (at & 0x3ffff) >> 4 | bytes_per_64_columns >> 4 << 16; }

template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_rs(float (&d)[32], const u32 (&a)[4], u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %37, 0;\nmov.b64 b, {%36, %38};\n"
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
    "{%32, %33, %34, %35}, b, p, 1, 1, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((int)accumulate), "n"(B_HI));
}
template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_ss(float (&d)[32], u32 a, u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %34, 0;\nmov.b64 b, {%33, %35};\n"
    "mov.b64 a, {%32, %36};\n"
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
    "a, b, p, 1, 1, 0, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
    : "r"(a), "r"(b), "r"((int)accumulate), "n"(B_HI), "n"(SWIZZLE_128));
}
template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_rs_t(float (&d)[32], const u32 (&a)[4], u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %37, 0;\nmov.b64 b, {%36, %38};\n"
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
    "{%32, %33, %34, %35}, b, p, 1, 1, 1;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((int)accumulate), "n"(B_HI));
}
template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_ss_t(float (&d)[32], u32 a, u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %34, 0;\nmov.b64 b, {%33, %35};\n"
    "mov.b64 a, {%32, %36};\n"
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
    "a, b, p, 1, 1, 0, 1;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
    : "r"(a), "r"(b), "r"((int)accumulate), "n"(B_HI), "n"(SWIZZLE_128));
}

MLAF_DEV void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
MLAF_DEV void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N>
MLAF_DEV void wgmma_wait() { // until at most N groups are in flight
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
template <int N>
MLAF_DEV void settle(float (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; i++) asm volatile("" : "+f"(x[i])::"memory");
}
#define SCHEDULE_FIXED 320
// [templates/mla_decode/lib/schedule.h]
// [templates/mla_decode/lib/paging.h]

#define MLAF_MEMBER __device__ __forceinline__
constexpr int H = 40, R = 256, ROPE = 32, Q_LEN = 3, PAGE = 16;
constexpr bool CAUSAL = 1, MANY = 1; // many: a block walks several pieces
constexpr int ROWS = 64;                         // of a block
constexpr int PAIR = 1;                  // blocks that share the slices
constexpr int BOX = 16, BOXES = 64 / BOX;     // tokens of one copy
constexpr int AHEAD = 2;                          // blocks that a pair asks for ahead
constexpr int ASK = 4;                            // blocks before the end at which the next piece's Q is asked for
constexpr int SLICES = R / 64, HALF = SLICES / 2, QUARTER = SLICES / 4; // of 64 columns, without rope
constexpr int ALL = SLICES + (ROPE > 0);
constexpr int SLICE = 8192, ROPE_BYTES = 128 * ROPE; // bytes of 64 tokens
constexpr int O_COLS = R / 4;                   // columns of O that one wgmma covers
constexpr int BUFFERS = 4, BUFFER = SLICES * SLICE + ROPE_BYTES;
constexpr int OWN_BUFFERS = BUFFERS / 2;        // buffers of a warpgroup's blocks
constexpr int MAP_Q = 0, MAP_Q_ROPE = 1, MAP_CKV = 2, MAP_KPE = MAP_CKV + 1;
constexpr int Q_SLICES = ROPE > 0 ? SLICES : SLICES - 1, Q_LAST_K = ROPE == 32 ? 2 : 4;
constexpr u32 LAST_HI = ROPE == 32 ? SWIZZLE_64 : SWIZZLE_128;
struct shared_memory {
  char kv[BUFFERS][BUFFER];                 // swizzled
  char q[Q_SLICES][SLICE], p[BUFFERS][SLICE]; // likewise
  float sums[2][ROWS], m[BUFFERS][ROWS], tops[2][ROWS];
  int facts[4][10];                         // of this piece and the next one, and copies for the ends of two
  u64 full[BUFFERS][ALL], empty[BUFFERS][5], q_full, q_empty, last_empty, checked, near_end; // barriers
};
constexpr int KV_AT = AT(kv), Q_AT = AT(q), P_AT = AT(p), SUMS_AT = AT(sums), M_AT = AT(m), TOPS_AT = AT(tops);
constexpr int FACTS_AT = AT(facts), FULL_AT = AT(full), EMPTY_AT = AT(empty), Q_FULL_AT = AT(q_full), Q_EMPTY_AT = AT(q_empty);
constexpr int LAST_EMPTY_AT = AT(last_empty), CHECKED_AT = AT(checked), NEAR_END_AT = AT(near_end);
static_assert(sizeof(shared_memory) == 215560 && BUFFER % 1024 == 0, "plans/sm90_many.lua counts otherwise");
enum { BOTH = 3, P_READY = 4, SCORES_ISSUED = 8, FIRST_ISSUED = 9, M_READY = 10 };

MLAF_DEV char* memory() {
  extern __shared__ __align__(1024) char all_memory[];
  return all_memory;
}

#define PART ((int)(blockIdx.z * gridDim.y + blockIdx.y))
#define FIT_CUT 500
// [templates/mla_decode/lib/fit.h]

template <typename T>
MLAF_DEV bool is_refused(int n, T from, T to, T all) {
  return (u32)n > (u32)Q_LEN || (from | to) < 0 || to > all; // to < 0: the difference of two wild numbers may be a small one
}

constexpr u32 NAN_WORD = 0x7fc07fc0;

MLAF_DEV void refuse(const mlaf_decode_args& a, i64 from, i64 to, i64 part, int lane, int lanes) {
  const i64 end = to < a.total_q * H ? to : a.total_q * H;
  const int words = part < 0 ? R / 2 : R;
  u32* const lse = (u32*)(u64)(part < 0 ? a.lse : a.part_lse + part);
  u32* const o = (u32*)(u64)(part < 0 ? a.o : (char*)(a.part_o + part * R));
#pragma unroll 1
  for (i64 row = from > 0 ? from : 0; row < end; row++) {
    if (lse && lane == 0) lse[row] = NAN_WORD;
#pragma unroll 1
    for (int i = lane; i < words; i += lanes) o[row * words + i] = NAN_WORD;
  }
}
struct piece {
  int request, begin, end, tokens; // cached tokens [begin, end) of `tokens`
  int first_page, n;               // query tokens, as qo_indptr has it
  i64 row;                         // first row of this block, over all requests
  int part;                        // its place in part_o and part_lse (rows there are fewer than 2^31), -1: straight to o and lse
  bool bad;                        // a cache without pages
};

struct walk {
  mlaf_part part;
  int request; // the next one; fitted: -1 where the batch is cut
};

MLAF_DEV walk begin_walk(const mlaf_decode_args& a) {
  const int slots = fit_slots(&a), parts = smaller(slots, (int)(gridDim.y * gridDim.z));
  walk w;
  const mlaf_entry e = schedule_entry(&a, smaller((int)blockIdx.z, a.batch - 1));
  const int none = smaller(0, e.qo | e.next_qo | e.page | e.next_page | e.last);
  w.request = fit_cuts(&a, PAGE, gridDim.y, slots, parts, none) ? -1 : (int)blockIdx.z;
  const bool tells = blockIdx.x == 0 && (threadIdx.x & 31) == 0 && a.part_o;
  if (PART == 0 && tells) fit_tell(a.part_o, w.request < 0 ? parts : 0);
  if (w.request >= 0) return w;
  if (PART < parts && tells) fit_list(a.part_o, PART, -1);
  w.part = fit_open(&a, PAGE, PART, parts);
  if (PART >= parts) w.part.request = a.batch;
  return w;
}

MLAF_DEV bool next_range(const mlaf_decode_args& a, walk& w, piece& x, int& qo) {
  const int splits = fit_splits(&a);
  if (w.request >= a.batch || (int)blockIdx.y >= splits) return false;
  x.request = w.request;
  w.request += gridDim.z;
  qo = a.qo_indptr[x.request];
  x.n = a.qo_indptr[x.request + 1] - qo;
  x.tokens = cached_tokens<PAGE>(a, x.request, x.first_page);
  split_range(x.tokens, 64, splits, blockIdx.y, x.begin, x.end);
  x.part = splits == 1 ? -1 : ((int)blockIdx.y * (int)a.total_q + qo) * H + ROWS * (int)blockIdx.x;
  return true;
}
MLAF_DEV bool next_of_part(const mlaf_decode_args& a, walk& w, piece& x, int& qo) {
  mlaf_piece y;
  if (!fit_next(&a, PAGE, &w.part, &y)) return false;
  if (fit_goes_on(&y) && blockIdx.x == 0 && (threadIdx.x & 31) == 0 && a.part_o) fit_list(a.part_o, PART, y.request);
  qo = y.qo;
  x.request = y.request, x.begin = y.begin, x.end = y.end, x.tokens = y.tokens, x.first_page = y.first_page;
  x.n = y.q_tokens;
  x.part = y.slot < 0 ? -1 : y.slot * (Q_LEN * H) + ROWS * (int)blockIdx.x;
  return true;
}

MLAF_DEV bool next_piece(const mlaf_decode_args& a, walk& w, piece& x) {
  int qo;
  if (!(w.request < 0 ? next_of_part(a, w, x, qo) : next_range(a, w, x, qo))) return false;
  x.row = (i64)qo * H + ROWS * (int)blockIdx.x;
  x.bad = a.num_pages <= 0 && x.begin < x.end; // nothing may be read
  if (x.bad || x.n <= 0) x.end = x.begin;
  return true;
}
MLAF_DEV i64 part_of(const mlaf_decode_args& a, const piece& x) {
  return x.part;
}
MLAF_DEV int blocks_of(const piece& x) { return (x.end - x.begin + 63) / 64; }

MLAF_DEV int page_of_box(const mlaf_decode_args& a, const piece& x, int box) {
  if (x.begin + box * BOX >= x.end) return 0;
  const u32 id = (u32)a.kv_indices[x.first_page + (x.begin + box * BOX) / PAGE];
  return id < (u32)a.num_pages ? (int)id : 0;
}
MLAF_DEV int row_of_box(const piece& x, int box, int ids) {
  return __shfl_sync(~0u, ids, box & 31) * PAGE + (x.begin + box * BOX) % PAGE;
}
MLAF_DEV int row_of_box_for_all(const piece& x, int box, int ids) {
  const int id = (int)__reduce_max_sync(~0u, (threadIdx.x & 31) == (box & 31) ? (u32)ids : 0u);
  return id * PAGE + (x.begin + box * BOX) % PAGE;
}

MLAF_DEV bool check_pages(const mlaf_decode_args& a, const piece& x, int lane) {
  bool bad = false;
  if (x.begin < x.end)
#pragma unroll 1
    for (int i = x.begin / PAGE + lane; i <= (x.end - 1) / PAGE; i += 32)
      bad |= (u32)a.kv_indices[x.first_page + i] >= (u32)a.num_pages;
  return __any_sync(~0u, bad);
}

struct facts {
  int blocks; // -1: no piece is left
  int begin, tokens, n;
  i64 row, part;
  int bad;
};
enum { BLOCKS_OF = 0, BEGIN_OF = 4, TOKENS_OF = 8, N_OF = 12, ROW_OF = 16, PART_OF = 24, BAD_OF = 32 }; // where a fact lies

MLAF_DEV facts facts_of(const mlaf_decode_args& a, const piece& x, bool bad) {
  return {blocks_of(x), x.begin, x.tokens, x.n, x.row, part_of(a, x), x.bad || bad};
}

MLAF_DEV int known(u32 shared, u32 field) {
  int x;
  asm volatile("ld.shared.s32 %0, [%1];" : "=r"(x) : "r"(shared + FACTS_AT + field) : "memory");
  return x;
}
MLAF_DEV i64 known_row(u32 shared, u32 field) {
  i64 x;
  asm volatile("ld.shared.s64 %0, [%1];" : "=l"(x) : "r"(shared + FACTS_AT + field) : "memory");
  return x;
}

MLAF_DEV void check_request(const mlaf_decode_args& a, u32 shared, u32 copy) {
  const int n = known(shared, N_OF);
  const i64 first = known_row(shared, ROW_OF) - ROWS * (int)blockIdx.x, end = first + (i64)n * H; // rows of the request
  if (!is_refused(n, first, end, a.total_q * H)) return;
  const int slots = fit_slots(&a), parts = smaller(slots, (int)(gridDim.y * gridDim.z));
  const bool final = fit_splits(&a) == 1 || fit_cuts(&a, PAGE, gridDim.y, slots, parts, 0);
  refuse(a, first, end, final ? -1 : (i64)blockIdx.y * a.total_q * H, threadIdx.x - 128, 256);
  named_sync(BOTH, 256);
  if (threadIdx.x == 128) {
    asm volatile("st.shared.s32 [%0], 0;" ::"r"(copy + FACTS_AT + N_OF) : "memory");
    asm volatile("st.shared.s32 [%0], 0;" ::"r"(shared + FACTS_AT + N_OF) : "memory");
    asm volatile("st.shared.s64 [%0], 0;" ::"r"(shared + FACTS_AT + ROW_OF) : "memory"); // Q may be read from there
  }
  named_sync(BOTH, 256);
}

constexpr float LOWEST = -1e30f; // the reference of a row that has seen nothing
MLAF_DEV void no_rows(int row, int live, float (&m)[2]) {
#pragma unroll
  for (int h = 0; h < 2; h++)
    if (row + 8 * h >= live) m[h] = -LOWEST;
}


constexpr u64 POLICY = Q_LEN * H <= 2 * ROWS && (PAIR == 1 || ROPE % 64 == 0) ? EVICT_FIRST : EVICT_NORMAL;

constexpr int BOXES_AT_ONCE = BOXES < 2 ? BOXES : PAIR == 1 ? 2 : BOXES < 4 ? BOXES : 4;
MLAF_DEV bool elected() {
  u32 yes;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(yes));
  return yes != 0;
}

struct loader {
  const mlaf_decode_params& p;
  u32 shared;
  int lane, half; // half: 0 left, 1 right, 2 rope
};

struct buffer_use {
  int buffer;
  u32 use;
};
MLAF_DEV buffer_use next_use(u32 (&used)[2], int j) {
  const u32 n = j & 1 ? used[1]++ : used[0]++;
  return {(j & 1) + 2 * (int)(n % OWN_BUFFERS), n / OWN_BUFFERS};
}

MLAF_DEV void wait_empty(const loader& l, buffer_use t, int group) {
  if (t.use > 0) barrier_wait(l.shared + EMPTY_AT + 8 * (5 * t.buffer + group), (t.use - 1) & 1);
  __syncwarp();
}

MLAF_DEV void load_slices(const loader& l, const piece& x, buffer_use t, int j, int ids, int next, int group, int first,
                          int count) {
  const bool rope = first == SLICES;
  const int at = j * BOXES, later = at + AHEAD * BOXES;
  const int odd = PAIR == 2 ? (int)((rope ? t.use : first) ^ cta_in_cluster()) & 1 : 0;
  const int slice = first + (count == 2 ? odd : 0), column = rope ? 0 : 64 * slice;
  const bool chosen = elected();
  const bool mine = chosen && (count == 2 || odd == 0); // of two a block of a pair takes one
  const u32 to = l.shared + KV_AT + t.buffer * BUFFER + slice * SLICE;
  const u32 full = l.shared + FULL_AT + 8 * (ALL * t.buffer + first); // one for all of them
  const mlaf_tensor_map* map = &l.p.maps[rope ? MAP_KPE : MAP_CKV];
  int rows[BOXES_AT_ONCE]; // found together, ahead of the wait: beside QK a shuffle takes 200-350 clocks
  auto find = [&](int first_box) {
#pragma unroll
    for (int b = 0; b < BOXES_AT_ONCE; b++) rows[b] = row_of_box_for_all(x, at + first_box + b, ids);
  };
  find(0);
  wait_empty(l, t, group);
  if (chosen) barrier_expect(full, rope ? ROPE_BYTES : QUARTER * SLICE);
#pragma unroll 1
  for (int b0 = 0; b0 < BOXES; b0 += BOXES_AT_ONCE) {
    if (b0 > 0) find(b0);
#pragma unroll
    for (int b = 0; b < BOXES_AT_ONCE; b++) {
      const u32 place = to + (b0 + b) * BOX * (rope ? 2 * ROPE : 128);
      if (!mine) continue;
      if (PAIR == 2) {
        copy_box_to_pair(place, map, column, rows[b], full, POLICY);
      } else {
        copy_box_once(place, map, column, rows[b], full, POLICY);
        if (count == 2) copy_box_once(place + SLICE, map, column + 64, rows[b], full, POLICY);
      }
    }
  }
}

MLAF_DEV void fetch_ahead(const loader& l, const piece& x, int j, int ids, int next) {
  const int own = (j + AHEAD) * BOXES + l.lane % BOXES, row = row_of_box(x, own, own / 32 == j * BOXES / 32 ? ids : next);
  const bool mine = l.lane < BOXES && (l.lane & 1) == (int)cta_in_cluster() && x.begin + own * BOX < x.end;
  if (mine && l.p.a.ckv_row_stride == R + ROPE) fetch_bytes(l.p.a.ckv + (u64)(u32)row * (2 * (R + ROPE)), BOX * 2 * (R + ROPE));
}

MLAF_DEV void load_piece(const loader& l, const piece& x, u32 k, u32 (&used)[2]) {
  const int blocks = blocks_of(x), near_end = !MANY || l.half > 0 ? -1 : blocks - ASK > 1 ? blocks - ASK : 1;
  int ids = page_of_box(l.p.a, x, l.lane), next = page_of_box(l.p.a, x, l.lane + 32);
  for (int j = 0; j < blocks; j++) {
    if (j > 0 && j * BOXES % 32 == 0) {
      ids = next;
      next = page_of_box(l.p.a, x, j * BOXES + 32 + l.lane);
    }
    const buffer_use t = next_use(used, j);
    if (j == 1) barrier_wait(l.shared + Q_FULL_AT, k & 1);
    if (j == near_end && l.lane == 0) barrier_arrive(l.shared + NEAR_END_AT);
    if (l.half == 2) {
      if (PAIR == 2) fetch_ahead(l, x, j, ids, next);
      load_slices(l, x, t, j, ids, next, 4, SLICES, 1);
    } else {
#pragma unroll 1
      for (int q = 2 * l.half; q < 2 * l.half + 2; q++) load_slices(l, x, t, j, ids, next, q, q * QUARTER, QUARTER);
    }
  }
  if (MANY && l.half == 0 && blocks < 2) {
    barrier_wait(l.shared + Q_FULL_AT, k & 1);
    if (l.lane == 0) barrier_arrive(l.shared + NEAR_END_AT);
  }
}

MLAF_DEV void load_cache(const loader& l, walk& w) {
  u32 used[2] = {0, 0};
  piece x;
  for (u32 k = 0; next_piece(l.p.a, w, x); k++) {
    load_piece(l, x, k, used);
    if (!MANY) return;
  }
}

MLAF_DEV void load_q(const loader& l, int row) {
  if (l.lane < Q_SLICES)
    copy_box(l.shared + Q_AT + l.lane * SLICE, &l.p.maps[MAP_Q], 64 * l.lane, row, l.shared + Q_FULL_AT);
}
MLAF_DEV void load_last(const loader& l, int row) {
  const u32 full = l.shared + Q_FULL_AT;
  if (row >= 0) copy_box(l.shared + P_AT, &l.p.maps[ROPE > 0 ? MAP_Q_ROPE : MAP_Q], 64 * Q_SLICES, row, full);
  barrier_expect(full, row >= 0 ? Q_SLICES * SLICE + (ROPE > 0 ? ROPE_BYTES : SLICE) : 0);
}

static_assert(sizeof(facts) == 40, "gen/ops/mla_decode/plans/sm90_many.lua and finish() count so many bytes");
MLAF_DEV void tell(facts* f, u32 k, const facts& x) {
  f[0] = x;
  f[2 + (k & 1)] = x;
}

MLAF_DEV void load_queries(const loader& l, walk& w, facts* f) {
  piece x;
  if (!next_piece(l.p.a, w, x)) {
    if (l.lane == 0) {
      f->blocks = -1;
      load_last(l, -1);
    }
    return;
  }
  load_q(l, (int)x.row);
  if (l.lane == 0) {
    tell(f, 0, facts_of(l.p.a, x, false));
    load_last(l, (int)x.row);
  }
  const bool bad = check_pages(l.p.a, x, l.lane);
  if (l.lane == 0) {
    if (bad) f[2].bad = 1;
    barrier_arrive(l.shared + CHECKED_AT);
  }
  if (!MANY) return;
  int row = 0;
#pragma unroll 1
  for (u32 k = 0; row >= 0; k++) {
    row = -1;
    if (next_piece(l.p.a, w, x)) {
      row = (int)x.row;
      const bool bad = check_pages(l.p.a, x, l.lane);
      if (l.lane == 0) f[1] = facts_of(l.p.a, x, bad);
    }
    barrier_wait(l.shared + NEAR_END_AT, k & 1);
    __syncwarp();
    if (row >= 0 && l.lane < ALL) fetch_box(&l.p.maps[MAP_Q], 64 * l.lane, row);
    barrier_wait(l.shared + Q_EMPTY_AT, k & 1);
    __syncwarp();
    if (row >= 0) load_q(l, row);
    barrier_wait(l.shared + LAST_EMPTY_AT, k & 1);
    __syncwarp();
    if (l.lane == 0) {
      if (row >= 0) tell(f, k + 1, f[1]);
      else f->blocks = -1;
      load_last(l, row);
      barrier_arrive(l.shared + CHECKED_AT);
    }
  }
}
struct rows_state {
  float m[2], sum[2]; // reference; sum of P, this thread's columns of own blocks
};

struct math {
  MLAF_MEMBER void forget() { asm volatile("" : "+r"(lane), "+r"(warp), "+r"(shared)); }

  u32 shared;
  u32 peer;      // of a pair: where the other block's barriers of empty slices begin
  float scale;   // positive; Q has its sign
  int lane, warp;
  int clear;     // of the piece's tokens, those that all rows see
  u32 used[2];   // blocks before this piece
};

template <int WHO> // 0: A, 1: B
MLAF_DEV buffer_use use_of(const math& c, int i) {
  const u32 n = c.used[WHO] + i;
  return {WHO + 2 * (int)(n % OWN_BUFFERS), n / OWN_BUFFERS};
}

MLAF_DEV void give_back(const math& c, int buffer, int group) {
  const u32 at = 8 * (5 * buffer + group);
  if (c.lane == 0) barrier_arrive(c.shared + EMPTY_AT + at);
  if (PAIR == 2 && c.lane == 1) barrier_arrive_there(c.peer + at);
}
template <int WG>
MLAF_DEV void multiply_quarter(const math& c, buffer_use t, int i, const u32 (&q_last)[4][4], float (&s)[32]) {
  const int quarter = WG == 0 ? (i & 1) * 2 + i / 2 : i ^ 2;
  const u32 k = k_major(c.shared + KV_AT + t.buffer * BUFFER), q = k_major(c.shared + Q_AT);
  barrier_wait(c.shared + FULL_AT + 8 * (ALL * t.buffer + quarter * QUARTER), t.use & 1);
  settle(s);
  wgmma_fence();
#pragma unroll
  for (int j = 0; j < 4 * QUARTER; j++) {
    const int slice = quarter * QUARTER + j / 4, at = slice * (SLICE / 16) + 2 * (j % 4);
    if (ROPE == 0 && slice == Q_SLICES) wgmma_rs(s, q_last[j % 4], k + at, true);
    else wgmma_ss(s, q + at, k + at, ROPE > 0 || i > 0 || j > 0);
  }
  wgmma_commit();
}
template <int WG>
MLAF_DEV void multiply_first(const math& c, buffer_use t, const u32 (&q_last)[4][4], float (&s)[32]) {
  if (ROPE == 0) return multiply_quarter<WG>(c, t, 0, q_last, s);
  const u32 k = k_major(c.shared + KV_AT + t.buffer * BUFFER) + SLICES * (SLICE / 16);
  barrier_wait(c.shared + FULL_AT + 8 * (ALL * t.buffer + SLICES), t.use & 1);
  settle(s);
  wgmma_fence();
#pragma unroll
  for (int i = 0; i < Q_LAST_K; i++) wgmma_rs<LAST_HI>(s, q_last[i], k + 2 * i, i > 0);
  wgmma_commit();
}
template <int WG>
MLAF_DEV void multiply_rest(const math& c, buffer_use t, const u32 (&q_last)[4][4], float (&s)[32]) {
#pragma unroll (ROPE > 0 ? 1 : 4)
  for (int i = ROPE > 0 ? 0 : 1; i < 4; i++) multiply_quarter<WG>(c, t, i, q_last, s);
}

template <int WG>
MLAF_DEV u32 v_of(const math& c, int buffer, int half) {
  return n_major(c.shared + KV_AT + buffer * BUFFER, SLICE) + (WG * HALF + half * QUARTER) * (SLICE / 16);
}
template <int WG, typename BETWEEN>
MLAF_DEV void multiply_v(const math& c, int buffer, const u32 (&p)[4][4], float (&o)[2][O_COLS / 2], BETWEEN between) {
  settle(o[0]);
  settle(o[1]);
  wgmma_fence();
#pragma unroll
  for (int h = 0; h < 2; h++) {
#pragma unroll
    for (int k = 0; k < 4; k++) wgmma_rs_t(o[h], p[k], v_of<WG>(c, buffer, h) + 128 * k, true);
    wgmma_commit();
    if (h == 0) {
      between();
      wgmma_fence();
    }
  }
}
template <int WG>
MLAF_DEV void multiply_v(const math& c, int buffer, float (&o)[2][O_COLS / 2]) { // P of the other warpgroup
  const u32 p = k_major(c.shared + P_AT + buffer * SLICE);
  settle(o[0]);
  settle(o[1]);
  wgmma_fence();
#pragma unroll
  for (int h = 0; h < 2; h++) {
#pragma unroll
    for (int k = 0; k < 4; k++) wgmma_ss_t(o[h], p + 2 * k, v_of<WG>(c, buffer, h) + 128 * k, true);
    wgmma_commit();
  }
}
template <int WG, int BEHIND, typename BETWEEN>
MLAF_DEV void finish_v(const math& c, int buffer, BETWEEN between) {
  wgmma_wait<BEHIND + 1>();
  give_back(c, buffer, 2 * WG);
  between();
  wgmma_wait<BEHIND>();
  give_back(c, buffer, 2 * WG + 1);
}
template <int WG, int BEHIND>
MLAF_DEV void finish_v(const math& c, int buffer) {
  finish_v<WG, BEHIND>(c, buffer, [] {});
}

MLAF_DEV void bring_to(float m0, float m1, rows_state& r, float (&o)[2][O_COLS / 2]) {
  const float m[2] = {m0, m1};
#pragma unroll
  for (int h = 0; h < 2; h++) { // rows 0-7, rows 8-15 of the warp
    if (!__any_sync(~0u, m[h] != r.m[h])) continue;
    const float f = exp2_fast(r.m[h] - m[h]);
#pragma unroll
    for (int v = 0; v < 2; v++) {
      settle(o[v]);
#pragma unroll
      for (int i = 0; i < O_COLS / 2; i++)
        if ((i >> 1 & 1) == h) o[v][i] *= f;
      settle(o[v]);
    }
    r.sum[h] *= f;
    r.m[h] = m[h];
  }
}
MLAF_DEV void bring_to_block(const math& c, int buffer, rows_state& r, float (&o)[2][O_COLS / 2]) {
  named_sync(M_READY + buffer, 256);
  const u32 m = c.shared + M_AT + 4 * (64 * buffer + 16 * c.warp + (c.lane >> 2));
  bring_to(load_4(m), load_4(m + 32), r, o);
}

template <int WG>
MLAF_DEV void clear_tail(const math& c, int buffer, int j) {
  if (64 * j + 64 <= c.clear) return;
  const int valid = known(c.shared, TOKENS_OF) - known(c.shared, BEGIN_OF) - 64 * j;
  if (valid >= 64) return;
  named_sync(1 + WG, 128);
  const u32 at = c.shared + KV_AT + buffer * BUFFER + WG * HALF * SLICE + valid * 128;
#pragma unroll 1
  for (int i = 32 * c.warp + c.lane; i < (64 - valid) * 8 * HALF; i += 128)
    store_16(at + i % HALF * SLICE + i / HALF * 16, 0, 0, 0, 0);
  fence_async();
  named_sync(1 + WG, 128);
}

MLAF_DEV void find_reference(const math& c, int j, float (&s)[32], const rows_state& r, float (&m)[2]) {
  if (64 * j + 64 > c.clear) {
    int limit[2]; // tokens that this thread's rows see, counted from its first
    const int seen = known(c.shared, TOKENS_OF) - known(c.shared, BEGIN_OF) - 64 * j - 2 * (c.lane & 3);
    const int n = known(c.shared, N_OF);
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int token = (64 * blockIdx.x + 16 * c.warp + (c.lane >> 2) + 8 * h) / H;
      limit[h] = CAUSAL ? seen - (n - 1 - token) : seen;
    }
#pragma unroll
    for (int i = 0; i < 32; i++)
      if (8 * (i / 4) + (i & 1) >= limit[i >> 1 & 1]) s[i] = minus_inf();
  }
  float top[2][2] = {{s[0], s[1]}, {s[2], s[3]}};
#pragma unroll
  for (int i = 4; i < 32; i++) top[i >> 1 & 1][i & 1] = fmaxf(top[i >> 1 & 1][i & 1], s[i]);
  const float row[2] = {fmaxf(top[0][0], top[0][1]), fmaxf(top[1][0], top[1][1])};
  float other[2][3]; // of the row's other lanes. Beside QK a shuffle takes 200-350 clocks: all at once
#pragma unroll
  for (int i = 0; i < 6; i++) other[i & 1][i / 2] = __shfl_xor_sync(~0u, row[i & 1], i / 2 + 1);
#pragma unroll
  for (int h = 0; h < 2; h++)
    m[h] = fmaxf(r.m[h], fmaxf(fmaxf(row[h], other[h][0]), fmaxf(other[h][1], other[h][2])) * c.scale);
}

MLAF_DEV void make_p(const math& c, int buffer, int k, float (&s)[32], const float (&m)[2], u32 (&p)[4]) {
  const u32 to = c.shared + P_AT + buffer * SLICE + (16 * c.warp + (c.lane & 15)) * 128;
#pragma unroll
  for (int i = 8 * k; i < 8 * k + 8; i++) s[i] = exp2_fast(fmaf(s[i], c.scale, -m[i >> 1 & 1]));
#pragma unroll
  for (int i = 0; i < 4; i++) p[i] = pack2(s[8 * k + 2 * i], s[8 * k + 2 * i + 1]);
  store_matrices(to + (((2 * k + (c.lane >> 4)) ^ (c.lane & 7)) << 4), p);
}
MLAF_DEV void publish_reference(const math& c, int buffer, const float (&m)[2]) {
  if ((c.lane & 3) == 0) {
    const u32 to = c.shared + M_AT + 4 * (64 * buffer + 16 * c.warp + (c.lane >> 2));
    store_4(to, m[0]);
    store_4(to + 32, m[1]);
  }
  named_arrive(M_READY + buffer, 256);
}
MLAF_DEV void load_reference(const math& c, int buffer, float (&m)[2]) {
  const u32 at = c.shared + M_AT + 4 * (64 * buffer + 16 * c.warp + (c.lane >> 2));
  m[0] = load_4(at);
  m[1] = load_4(at + 32);
}
MLAF_DEV void publish_p(int buffer) {
  fence_async();
  named_arrive(P_READY + buffer, 256);
}
MLAF_DEV void add_sums(const math& c, int buffer, rows_state& r, const float (&s)[32]) {
  float m[2];
  load_reference(c, buffer, m);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    r.sum[h] += m[h] - r.m[h];
#pragma unroll
    for (int i = 0; i < 8; i++) r.sum[h] = r.sum[h] + s[4 * i + 2 * h] + s[4 * i + 2 * h + 1];
  }
}
template <typename DONE>
MLAF_DEV void blocks_as_a(math& c, int blocks, const u32 (&q_last)[4][4], rows_state& r, float (&o)[2][O_COLS / 2], DONE q_done) {
  const int mine = (blocks + 1) / 2, others = blocks / 2;
  float s[32], m[2];
  u32 p[4][4];
  auto reference = [&](int i, buffer_use t) {
    settle(s);
    if (ROPE > 0) give_back(c, t.buffer, 4);
    if (i == mine - 1) q_done();
    c.forget();
    find_reference(c, 2 * i, s, r, m);
    publish_reference(c, t.buffer, m);
  };
  auto own = [&](int i, buffer_use t, int other) {
    if (other >= 0) load_reference(c, t.buffer, m);
    make_p(c, t.buffer, 0, s, m, p[0]);
    if (other >= 0) {
      wgmma_wait<1>();
      give_back(c, other, 0);
    }
    make_p(c, t.buffer, 1, s, m, p[1]);
    make_p(c, t.buffer, 2, s, m, p[2]);
    make_p(c, t.buffer, 3, s, m, p[3]);
    c.forget();
    publish_p(t.buffer);
    if (other >= 0) {
      wgmma_wait<0>();
      give_back(c, other, 1);
    }
    bring_to(m[0], m[1], r, o);
    clear_tail<0>(c, t.buffer, 2 * i);
    multiply_v<0>(c, t.buffer, p, o, [] {});
    finish_v<0, 0>(c, t.buffer, [&] { add_sums(c, t.buffer, r, s); });
    settle(o[0]);
    settle(o[1]);
  };
  if (mine == 0) {
    q_done();
    return;
  }
  const buffer_use t0 = use_of<0>(c, 0);
  multiply_first<0>(c, t0, q_last, s);
  multiply_rest<0>(c, t0, q_last, s);
  if (others > 0) named_arrive(FIRST_ISSUED, 256);
  wgmma_wait<0>();
  reference(0, t0);
  own(0, t0, -1);
#pragma unroll 1
  for (int i = 1; i < mine; i++) {
    const buffer_use t = use_of<0>(c, i);
    const int other = use_of<1>(c, i - 1).buffer;
    c.forget();
    named_sync(SCORES_ISSUED, 256);
    multiply_first<0>(c, t, q_last, s);
    multiply_rest<0>(c, t, q_last, s);
    wgmma_wait<0>();
    bring_to_block(c, other, r, o);
    reference(i, t);
    named_sync(P_READY + other, 256);
    multiply_v<0>(c, other, o);
    own(i, t, other);
  }
  if (others == mine) {
    const int other = use_of<1>(c, others - 1).buffer;
    named_sync(SCORES_ISSUED, 256);
    bring_to_block(c, other, r, o);
    named_sync(P_READY + other, 256);
    clear_tail<0>(c, other, 2 * others - 1);
    multiply_v<0>(c, other, o);
    finish_v<0, 0>(c, other);
    settle(o[0]);
    settle(o[1]);
  }
}

template <typename DONE>
MLAF_DEV void blocks_as_b(math& c, int blocks, const u32 (&q_last)[4][4], rows_state& r, float (&o)[2][O_COLS / 2], DONE q_done) {
  const int mine = blocks / 2, others = (blocks + 1) / 2;
  float s[32], m[2];
  u32 p[4][4];
  auto own = [&](int i, buffer_use t) {
    settle(s);
    if (ROPE > 0) give_back(c, t.buffer, 4);
    if (i == mine - 1) q_done();
    c.forget();
    find_reference(c, 2 * i + 1, s, r, m);
    publish_reference(c, t.buffer, m);
    if (c.scale > 0.0f) { // always; keeps the exponentials behind the reference's way out
#pragma unroll
      for (int k = 0; k < 4; k++) make_p(c, t.buffer, k, s, m, p[k]);
    }
    c.forget();
    bring_to(m[0], m[1], r, o);
    clear_tail<1>(c, t.buffer, 2 * i + 1);
    multiply_v<1>(c, t.buffer, p, o, [&] { publish_p(t.buffer); }); // half of the own product is ahead of A's
    finish_v<1, 0>(c, t.buffer, [&] { add_sums(c, t.buffer, r, s); });
    settle(o[0]);
    settle(o[1]);
  };
  if (mine == 0) q_done();
  if (mine > 0) {
    const buffer_use t0 = use_of<1>(c, 0);
    const int first = use_of<0>(c, 0).buffer;
    named_sync(FIRST_ISSUED, 256);
    multiply_first<1>(c, t0, q_last, s);
    multiply_rest<1>(c, t0, q_last, s);
    named_arrive(SCORES_ISSUED, 256);
    wgmma_wait<0>();
    bring_to_block(c, first, r, o);
    named_sync(P_READY + first, 256);
    multiply_v<1>(c, first, o);
    finish_v<1, 0>(c, first);
    settle(o[0]);
    settle(o[1]);
    own(0, t0);
#pragma unroll 1
    for (int i = 1; i < mine; i++) {
      const buffer_use t = use_of<1>(c, i);
      const int other = use_of<0>(c, i).buffer;
      c.forget();
      bring_to_block(c, other, r, o);
      named_sync(P_READY + other, 256);
      multiply_v<1>(c, other, o);
      multiply_first<1>(c, t, q_last, s); // keeps the tensor cores busy while slices are given back
      finish_v<1, 1>(c, other);
      multiply_rest<1>(c, t, q_last, s);
      named_arrive(SCORES_ISSUED, 256);
      wgmma_wait<0>();
      own(i, t);
    }
  }
  if (others > mine) {
    const int other = use_of<0>(c, mine).buffer;
    bring_to_block(c, other, r, o);
    named_sync(P_READY + other, 256);
    clear_tail<1>(c, other, 2 * mine);
    multiply_v<1>(c, other, o);
    finish_v<1, 0>(c, other);
    settle(o[0]);
    settle(o[1]);
  }
}
// [templates/mla_decode/sm90_many/ends.h]

// [templates/mla_decode/lib/narrow.h]

template <int WG>
MLAF_DEV void find_tops(const math& c, const float (&o)[2][O_COLS / 2]) {
  float top[2] = {NARROW_LEAST, NARROW_LEAST};
  narrow_raise(top, o[0]);
  narrow_raise(top, o[1]);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    top[h] = narrow_of_quad(top[h]);
    if ((c.lane & 3) == 0) store_4(c.shared + TOPS_AT + 4 * (64 * WG + 16 * c.warp + (c.lane >> 2) + 8 * h), top[h]);
  }
}

template <int WG>
MLAF_DEV void write_narrow(const math& c, float* part_o, int live, const float (&by)[2],
                           const float (&o)[2][O_COLS / 2]) {
  const int t = c.lane & 3;
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = 16 * c.warp + (c.lane >> 2) + 8 * h;
    if (row >= live) continue;
    const u32 tops = c.shared + TOPS_AT + 4 * row;
    const float most = narrow_larger(load_4(tops), load_4(tops + 4 * 64));
    const float per_unit = NARROW_REACH / most;
    float* const at = part_o + (i64)row * R;
    uint4* const to = (uint4*)at + WG * (R / 16) + t;
#pragma unroll
    for (int i = 0; i < R / 64; i++) to[4 * i] = narrow_values(o[i / (R / 128)], i % (R / 128), h, per_unit);
    if (WG == 0 && t == 0) at[R / 2] = most * by[h] * (1 / NARROW_REACH);
  }
}

template <int WG>
MLAF_DEV void finish(const math& c, const mlaf_decode_args& a, u32 k, rows_state& r, float (&o)[2][O_COLS / 2]) {
  const u32 copy = c.shared + 40 * (2 + (k & 1));
  if (MANY) { // the first P's place and that of the facts are the next piece's
    fence_async();
    barrier_arrive(c.shared + LAST_EMPTY_AT);
  }
  const u32 sums = c.shared + SUMS_AT; // [warpgroup][row]
  const int row0 = 16 * c.warp + (c.lane >> 2), t = c.lane & 3, live = known(copy, N_OF) * H - 64 * (int)blockIdx.x;
  const bool part = known_row(copy, PART_OF) >= 0; // not all of its request
  if (part) find_tops<WG>(c, o);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    r.sum[h] = sum_over_lanes<1, 4>(r.sum[h]);
    if (t == 0) store_4(sums + 4 * (64 * WG + row0 + 8 * h), r.sum[h]);
  }
  named_sync(BOTH, 256);
  float by[2];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = row0 + 8 * h;
    const float sum = known(copy, BAD_OF) ? not_a_number() : r.sum[h] + load_4(sums + 4 * (64 * (1 - WG) + row));
    by[h] = sum == 0.0f ? 0.0f : 1.0f / sum; // no token seen: O = 0
    if (WG == 0 && t == 0 && row < live) {
      const float lse2 = sum == 0.0f ? minus_inf() : r.m[h] + log2_fast(sum);
      if (part) a.part_lse[known_row(copy, PART_OF) + row] = lse2;
      else if (a.lse) a.lse[known_row(copy, ROW_OF) + row] = lse2 * LN_2;
    }
  }
  if (part) {
    write_narrow<WG>(c, a.part_o + known_row(copy, PART_OF) * R, live, by, o);
    return;
  }
  const i64 to_row = known_row(copy, ROW_OF) + 16 * c.warp;
#pragma unroll
  for (int v = 0; v < 2; v++)
#pragma unroll
    for (int i = 0; i < O_COLS; i += 32)
      write_columns(c, a.o + 2 * (to_row * R + WG * (R / 2) + v * O_COLS + i), o[v], i, by, live - 16 * c.warp, 4 * WG + c.warp);
}

template <int WG>
MLAF_DEV void work_on_blocks(const mlaf_decode_params& p, u32 shared) {
  const mlaf_decode_args& a = p.a;
  math c;
  c.shared = shared, c.lane = threadIdx.x & 31, c.warp = threadIdx.x >> 5 & 3;
  c.scale = fmaxf(fabsf(a.scale_log2e), 1e-30f); // not 0: masked scores are -inf
  c.peer = PAIR == 2 ? cluster_address(shared + EMPTY_AT, cta_in_cluster() ^ 1) : 0;
  c.used[0] = c.used[1] = 0;
#pragma unroll 1
  for (u32 k = 0;; k++) {
    barrier_wait(shared + Q_FULL_AT, k & 1);
    const int blocks = known(shared, BLOCKS_OF);
    if (blocks < 0) return;
    check_request(a, shared, shared + 40 * (2 + (k & 1)));
    c.forget();
    c.clear = known(shared, TOKENS_OF) - (CAUSAL ? known(shared, N_OF) - 1 : 0) - known(shared, BEGIN_OF);
    const int live = known(shared, N_OF) * H - ROWS * (int)blockIdx.x;
    const int row = 16 * c.warp + (c.lane & 15), chunk = c.lane >> 4;
    u32 q_last[4][4];
#pragma unroll
    for (int i = 0; i < Q_LAST_K; i++)
      load_matrices(shared + P_AT + (ROPE == 32 ? 64 * row + (((2 * i + chunk) ^ (row >> 1 & 3)) << 4)
                                             : 128 * row + (((2 * i + chunk) ^ (row & 7)) << 4)), q_last[i]);
    if (a.scale_log2e < 0.0f || live < ROWS) prepare_q(c, a.scale_log2e < 0.0f ? 0x80008000u : 0, live, q_last);
    named_sync(BOTH, 256); // the place is P's again
    rows_state r = {{LOWEST, LOWEST}, {0.0f, 0.0f}};
    no_rows(16 * c.warp + (c.lane >> 2), live, r.m);
    float o[2][O_COLS / 2];
#pragma unroll
    for (int i = 0; i < O_COLS / 2; i++) o[0][i] = o[1][i] = 0.0f;
    auto q_done = [&] {
      if (c.lane == 0) barrier_arrive(shared + Q_EMPTY_AT);
    };
    if (WG == 0) blocks_as_a(c, blocks, q_last, r, o, q_done);
    else blocks_as_b(c, blocks, q_last, r, o, q_done);
    c.forget();
    c.used[0] += (blocks + 1) / 2;
    c.used[1] += blocks / 2;
    barrier_wait(shared + CHECKED_AT, k & 1);
    finish<WG>(c, a, k, r, o);
    if (!MANY) return;
  }
}

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_decode_sm90_many_592931cf(const __grid_constant__ mlaf_decode_params p) {
  const u32 shared = shared_address(memory());
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; i++) fetch_map(&p.maps[i]);
    for (int i = 0; i < BUFFERS * ALL; i++) barrier_init(shared + FULL_AT + 8 * i, 1);
    for (int i = 0; i < BUFFERS * 5; i++) barrier_init(shared + EMPTY_AT + 8 * i, 4 * PAIR);
    barrier_init(shared + Q_FULL_AT, 1);
    barrier_init(shared + Q_EMPTY_AT, 8);
    barrier_init(shared + LAST_EMPTY_AT, 256);
    barrier_init(shared + CHECKED_AT, 1);
    barrier_init(shared + NEAR_END_AT, 1);
    barriers_ready();
  }
  if (threadIdx.x >= 32 && threadIdx.x < 32 + SLICES && (int)blockIdx.z < p.a.batch)
    fetch_box(&p.maps[MAP_Q], 64 * (threadIdx.x - 32), load_past_l1(p.a.qo_indptr + blockIdx.z) * H + 64 * blockIdx.x);
  if (threadIdx.x >= 64 && threadIdx.x < 68 && (int)blockIdx.z < p.a.batch) { // page ids, a line holds 32
    const int first = load_past_l1(p.a.kv_indptr + blockIdx.z), pages = load_past_l1(p.a.kv_indptr + blockIdx.z + 1) - first;
    fetch_line(p.a.kv_indices + first + (i64)pages * blockIdx.y / gridDim.y + 32 * (threadIdx.x - 64));
    if (threadIdx.x == 64) fetch_line(p.a.kv_last_page_lens + blockIdx.z);
  }
  __syncthreads();
  if (PAIR == 2) cluster_sync();
  wait_for_previous_launch();
  let_next_launch_start();
  const int wg = __shfl_sync(~0u, threadIdx.x >> 7, 0);
  if (wg == 0) { // registers: 128 * 24 + 256 * 240 = 384 * 168
    const int warp = __shfl_sync(~0u, threadIdx.x >> 5, 0);
    const loader l = {p, shared, (int)(threadIdx.x & 31), warp};
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    walk w = begin_walk(p.a);
    if (warp == 3) load_queries(l, w, (facts*)(memory() + FACTS_AT));
    else if (warp < 2 || ROPE > 0) load_cache(l, w);
  } else if (wg == 1) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    work_on_blocks<0>(p, shared);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    work_on_blocks<1>(p, shared);
  }
  if (PAIR == 2) { // the other block may still write here
    __syncthreads();
    cluster_sync();
  }
}
