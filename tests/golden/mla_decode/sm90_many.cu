// Generated from templates/mla_decode/sm90_many.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_decode/sm90_many target=sm_90a causal=1 cluster=1 dtype=bf16 heads=40 page_size=16 q_len=3 rank=256 rope=32 schedule=fitted

#define MLAF_BF16 1
// [10 more lines of tests/golden/mla_decode/combine_warp.cu]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_sm90_many_592931cf_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 215560,
    {2, 1, 1}, 11, 0, {}, 5,
    {{3, 64, 64, 128}, {3, 32, 64, 64}, {1, 64, 16, 128}, {2, 32, 16, 64}, {3, 64, 56, 128}}};
struct __align__(64) mlaf_tensor_map {
// [3 more lines of tests/golden/mla_decode/combine_values.cu, with other numbers]
// [templates/lib/hopper.h]
// [templates/mla_decode/sm90_many/copy.h]

constexpr u32 SWIZZLE_128 = 64 | 1u << 30, SWIZZLE_64 = 32 | 2u << 30;
// [4 more lines of tests/golden/mla_decode/combine_values.cu]
MLAF_DEV void wgmma_rs(float (&d)[32], const u32 (&a)[4], u32 b, bool accumulate) {
// [4 more lines of tests/golden/mla_decode/combine_values.cu, with other numbers]
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
    "{%32, %33, %34, %35}, b, p, 1, 1, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
// [10 more lines of tests/golden/mla_decode/combine_values.cu, with other numbers]
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
    "a, b, p, 1, 1, 0, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
// [3 more lines of those above, with other numbers]
    : "r"(a), "r"(b), "r"((int)accumulate), "n"(B_HI), "n"(SWIZZLE_128));
}
template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_rs_t(float (&d)[32], const u32 (&a)[4], u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
// [12 more lines of those above, with other numbers]
MLAF_DEV void wgmma_ss_t(float (&d)[32], u32 a, u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
// [11 more lines of those above, with other numbers]
// [14 more lines of tests/golden/mla_decode/combine_values.cu]
// [templates/mla_decode/lib/schedule.h]
// [templates/mla_decode/lib/paging.h]

#define MLAF_MEMBER __device__ __forceinline__
constexpr int H = 40, R = 256, ROPE = 32, Q_LEN = 3, PAGE = 16;
constexpr bool CAUSAL = 1, MANY = 1; // many: a block walks several pieces
constexpr int ROWS = 64;                         // of a block
constexpr int PAIR = 1;                  // blocks that share the slices
constexpr int BOX = 16, BOXES = 64 / BOX;     // tokens of one copy
constexpr int AHEAD = 2;                          // blocks that a pair asks for ahead
// [5 more lines of templates/mla_decode/sm90_many.cu.in]
constexpr int BUFFERS = 4, BUFFER = SLICES * SLICE + ROPE_BYTES;
constexpr int OWN_BUFFERS = BUFFERS / 2;        // buffers of a warpgroup's blocks
constexpr int MAP_Q = 0, MAP_Q_ROPE = 1, MAP_CKV = 2, MAP_KPE = MAP_CKV + 1, MAP_Q_FEW = 4;
constexpr int FEW_ROWS = 56, FEW_AT = FEW_ROWS > 0 ? Q_LEN * H / ROWS : -1; // rows of a request's last block, and which it is
MLAF_DEV int q_rows() { return FEW_ROWS > 0 && blockIdx.x == FEW_AT ? FEW_ROWS : ROWS; }
constexpr int Q_SLICES = ROPE > 0 ? SLICES : SLICES - 1, Q_LAST_K = ROPE == 32 ? 2 : 4;
constexpr u32 LAST_HI = ROPE == 32 ? SWIZZLE_64 : SWIZZLE_128;
struct shared_memory {
// [5 more lines of templates/mla_decode/sm90_many.cu.in]
};
// [3 more lines of templates/mla_decode/sm90_many.cu.in]
static_assert(sizeof(shared_memory) == 215560 && BUFFER % 1024 == 0, "plans/sm90_many.lua counts otherwise");
enum { BOTH = 3, P_READY = 4, SCORES_ISSUED = 8, FIRST_ISSUED = 9, M_READY = 10 };

MLAF_DEV char* memory() {
// [3 more lines of templates/mla_decode/sm90_many.cu.in]

#define PART ((int)(blockIdx.z * gridDim.y + blockIdx.y))
#define FIT_CUT 500
// [templates/mla_decode/lib/fit.h]

template <typename T>
// [18 more lines of tests/golden/mla_decode/mma.cu]
struct piece {
// [6 more lines of templates/mla_decode/sm90_many/piece.h]

struct walk {
// [5 more lines of templates/mla_decode/sm90_many/piece.h]
  const int slots = fit_slots(&a), parts = smaller(slots, (int)(gridDim.y * gridDim.z));
  walk w;
  const mlaf_entry e = schedule_entry(&a, smaller((int)blockIdx.z, a.batch - 1));
  const int longest = schedule_arrived(fit_longest(&a), e);
  w.request = fit_cuts(&a, PAGE, gridDim.y, slots, parts, longest) ? -1 : (int)blockIdx.z;
  const bool tells = blockIdx.x == 0 && (threadIdx.x & 31) == 0 && a.part_o;
// [6 more lines of templates/mla_decode/sm90_many/piece.h]
}

MLAF_DEV bool next_range(const mlaf_decode_args& a, walk& w, piece& x, int& qo) {
  const int splits = fit_splits(&a);
  if (w.request >= a.batch || (int)blockIdx.y >= splits) return false;
// [6 more lines of templates/mla_decode/sm90_many/piece.h]
  x.part = splits == 1 ? -1 : ((int)blockIdx.y * (int)a.total_q + qo) * H + ROWS * (int)blockIdx.x;
// [5 more lines of templates/mla_decode/sm90_many/piece.h]
  if (fit_goes_on(&y) && blockIdx.x == 0 && (threadIdx.x & 31) == 0 && a.part_o) fit_list(a.part_o, PART, y.request);
// [9 more lines of templates/mla_decode/sm90_many/piece.h]
  if (!(w.request < 0 ? next_of_part(a, w, x, qo) : next_range(a, w, x, qo))) return false;
  x.row = (i64)qo * H + ROWS * (int)blockIdx.x;
// [6 more lines of templates/mla_decode/sm90_many/piece.h]
}
// [51 more lines of templates/mla_decode/sm90_many/piece.h]
  const int slots = fit_slots(&a), parts = smaller(slots, (int)(gridDim.y * gridDim.z));
  const bool final = fit_splits(&a) == 1 || fit_cuts(&a, PAGE, gridDim.y, slots, parts, fit_longest(&a));
  refuse(a, first, end, final ? -1 : (i64)blockIdx.y * a.total_q * H, threadIdx.x - 128, 256);
// [15 more lines of templates/mla_decode/sm90_many/piece.h]

constexpr u64 POLICY = Q_LEN * H <= 2 * ROWS && (PAIR == 1 || ROPE % 64 == 0) ? EVICT_FIRST : EVICT_NORMAL;
// [7 more lines of templates/mla_decode/sm90_many/load.h]

struct loader {
// [26 more lines of templates/mla_decode/sm90_many/load.h]
  const bool mine = chosen && (count == 2 || odd == 0); // of two a block of a pair takes one
  const u32 to = l.shared + KV_AT + t.buffer * BUFFER + slice * SLICE;
// [5 more lines of templates/mla_decode/sm90_many/load.h]
    for (int b = 0; b < BOXES_AT_ONCE; b++) rows[b] = row_of_box_for_all(x, at + first_box + b, ids);
  };
  find(0);
  wait_empty(l, t, group);
  if (chosen) barrier_expect(full, rope ? ROPE_BYTES : QUARTER * SLICE);
#pragma unroll 1
// [14 more lines of templates/mla_decode/sm90_many/load.h]
}
// [9 more lines of templates/mla_decode/sm90_many/load.h]
  int ids = page_of_box(l.p.a, x, l.lane), next = page_of_box(l.p.a, x, l.lane + 32);
// [6 more lines of templates/mla_decode/sm90_many/load.h]
    if (j == 1) barrier_wait(l.shared + Q_FULL_AT, k & 1);
// [8 more lines of templates/mla_decode/sm90_many/load.h]
  }
// [9 more lines of templates/mla_decode/sm90_many/load.h]
  for (u32 k = 0; next_piece(l.p.a, w, x); k++) {
// [4 more lines of templates/mla_decode/sm90_many/load.h]

MLAF_DEV void load_q(const loader& l, int row) {
  if (l.lane < Q_SLICES)
// [5 more lines of templates/mla_decode/q/slices.h]
  if (row >= 0) copy_box(l.shared + P_AT, &l.p.maps[ROPE > 0 ? MAP_Q_ROPE : MAP_Q], 64 * Q_SLICES, row, full);
  barrier_expect(full, row >= 0 ? Q_SLICES * 128 * q_rows() + (ROPE > 0 ? ROPE_BYTES : SLICE) : 0);
}

static_assert(sizeof(facts) == 40, "gen/ops/mla_decode/plans/sm90_many.lua and finish() count so many bytes");
// [4 more lines of templates/mla_decode/sm90_many/load.h]

MLAF_DEV void load_queries(const loader& l, walk& w, facts* f) {
  piece x;
  if (!next_piece(l.p.a, w, x)) {
// [4 more lines of templates/mla_decode/sm90_many/load.h]
    return;
// [4 more lines of templates/mla_decode/sm90_many/load.h]
    load_last(l, (int)x.row);
  }
  const bool bad = check_pages(l.p.a, x, l.lane);
// [4 more lines of templates/mla_decode/sm90_many/load.h]
  if (!MANY) return;
// [6 more lines of templates/mla_decode/sm90_many/load.h]
      const bool bad = check_pages(l.p.a, x, l.lane);
      if (l.lane == 0) f[1] = facts_of(l.p.a, x, bad);
// [3 more lines of templates/mla_decode/sm90_many/load.h]
    if (row >= 0 && l.lane < ALL) fetch_box(&l.p.maps[MAP_Q], 64 * l.lane, row);
    barrier_wait(l.shared + Q_EMPTY_AT, k & 1);
// [10 more lines of templates/mla_decode/sm90_many/load.h]
  }
}
struct rows_state {
// [27 more lines of templates/mla_decode/sm90_many/block.h]
  const int quarter = WG == 0 ? (i & 1) * 2 + i / 2 : i ^ 2;
  const u32 k = k_major(c.shared + KV_AT + t.buffer * BUFFER), q = k_major(c.shared + Q_AT);
  barrier_wait(c.shared + FULL_AT + 8 * (ALL * t.buffer + quarter * QUARTER), t.use & 1);
  settle(s);
// [14 more lines of templates/mla_decode/sm90_many/block.h]
  settle(s);
// [156 more lines of templates/mla_decode/sm90_many/block.h]
template <typename DONE>
MLAF_DEV void blocks_as_a(math& c, int blocks, const u32 (&q_last)[4][4], rows_state& r, float (&o)[2][O_COLS / 2], DONE q_done) {
  const int mine = (blocks + 1) / 2, others = blocks / 2;
// [73 more lines of templates/mla_decode/sm90_many/order.h]
MLAF_DEV void blocks_as_b(math& c, int blocks, const u32 (&q_last)[4][4], rows_state& r, float (&o)[2][O_COLS / 2], DONE q_done) {
  const int mine = blocks / 2, others = (blocks + 1) / 2;
// [62 more lines of templates/mla_decode/sm90_many/order.h]
// [templates/mla_decode/sm90_many/ends.h]

// [templates/mla_decode/lib/narrow.h]

MLAF_DEV void find_tops(const math& c, int wg, const float (&o)[2][O_COLS / 2]) {
// [27 more lines of templates/mla_decode/sm90_many/partial.h]

MLAF_DEV void finish(const math& c, const mlaf_decode_args& a, u32 k, int wg, rows_state& r, float (&o)[2][O_COLS / 2]) {
// [5 more lines of templates/mla_decode/sm90_many/finish.h]
  const u32 sums = c.shared + SUMS_AT; // [warpgroup][row]
// [9 more lines of templates/mla_decode/sm90_many/finish.h]
  float by[2];
// [4 more lines of templates/mla_decode/sm90_many/finish.h]
    by[h] = sum == 0.0f ? 0.0f : 1.0f / sum; // no token seen: O = 0
// [18 more lines of templates/mla_decode/sm90_many/finish.h]

MLAF_DEV void work_on_blocks(const mlaf_decode_params& p, u32 shared, int wg) {
// [10 more lines of templates/mla_decode/sm90_many.cu.in]
    const int blocks = known(shared, BLOCKS_OF);
    if (blocks < 0) return;
    check_request(a, shared, shared + 40 * (2 + (k & 1)));
    c.forget();
// [18 more lines of templates/mla_decode/sm90_many.cu.in]
    if (wg == 0) blocks_as_a(c, blocks, q_last, r, o, q_done);
    else blocks_as_b(c, blocks, q_last, r, o, q_done);
    c.forget();
// [3 more lines of templates/mla_decode/sm90_many.cu.in]
    finish(c, a, k, wg, r, o);
// [3 more lines of templates/mla_decode/sm90_many.cu.in]

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_decode_sm90_many_592931cf(const __grid_constant__ mlaf_decode_params p) {
  const u32 shared = shared_address(memory());
  if (threadIdx.x == 0) {
    for (int i = 0; i < BUFFERS * ALL; i++) barrier_init(shared + FULL_AT + 8 * i, 1);
    barriers_ready();
  } else if (threadIdx.x == 32) {
    for (int i = 0; i < BUFFERS * 5; i++) barrier_init(shared + EMPTY_AT + 8 * i, 4 * PAIR);
    barriers_ready();
  } else if (threadIdx.x == 64) {
    for (int i = 0; i < 5; i++) fetch_map(&p.maps[i]);
    barrier_init(shared + Q_FULL_AT, 1);
// [4 more lines of templates/mla_decode/sm90_many.cu.in]
    barriers_ready();
// [3 more lines of templates/mla_decode/sm90_many.cu.in]
  if (threadIdx.x >= 128 && threadIdx.x < 128 + SLICES && (int)blockIdx.z < p.a.batch)
    fetch_box(&p.maps[MAP_Q], 64 * (threadIdx.x - 128), load_past_l1(p.a.qo_indptr + blockIdx.z) * H + 64 * blockIdx.x);
  if (threadIdx.x >= 160 && threadIdx.x < 164 && (int)blockIdx.z < p.a.batch) { // page ids, a line holds 32
    const int first = load_past_l1(p.a.kv_indptr + blockIdx.z), pages = load_past_l1(p.a.kv_indptr + blockIdx.z + 1) - first;
    fetch_line(p.a.kv_indices + first + (i64)pages * blockIdx.y / gridDim.y + 32 * (threadIdx.x - 160));
    if (threadIdx.x == 160) fetch_line(p.a.kv_last_page_lens + blockIdx.z);
  }
// [3 more lines of templates/mla_decode/sm90_many.cu.in]
  if (wg == 0) { // registers: 128 * 24 + 256 * 240 = 384 * 168
    const int warp = __shfl_sync(~0u, threadIdx.x >> 5, 0);
    const loader l = {p, shared, (int)(threadIdx.x & 31), warp};
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    walk w = begin_walk(p.a);
    if (warp == 3) load_queries(l, w, (facts*)(memory() + FACTS_AT));
    else if (warp < 2 || ROPE > 0) load_cache(l, w);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    work_on_blocks(p, shared, wg - 1); // one text for both: what runs once is fetched once
// [6 more lines of templates/mla_decode/sm90_many.cu.in]
