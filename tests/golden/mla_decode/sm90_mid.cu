// Generated from templates/mla_decode/sm90_mid_gather.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_decode_sm90_mid_gather_1e2e93bb
// parameters:
//   causal = 1
//   dtype = bf16
//   heads = 40
//   page_size = 3
//   q_len = 2
//   rank = 512
//   rope = 32
//   rows = 80
//   schedule = fitted
// regenerate: lua5.4 gen/cli.lua render mla_decode/sm90_mid_gather target=sm_90a causal=1 dtype=bf16 heads=40 page_size=3 q_len=2 rank=512 rope=32 rows=80 schedule=fitted



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
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_sm90_mid_gather_1e2e93bb_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 229472,
    {1, 1, 1}, 9, 0, {}, 1,
    {{3, 64, 80, 128}}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_decode_params {
  mlaf_decode_args a;
  mlaf_tensor_map maps[1];
};
#define SCHEDULE_FIXED 128
// [templates/mla_decode/lib/schedule.h]
// [templates/lib/hopper.h]
// [templates/mla_decode/lib/gather.h]
// [templates/mla_decode/sm90_few/sm90.h]

constexpr int H = 40, Q_LEN = 2, R = 512, ROPE = 32, PAGE = 3, SUB = 1, SUBS = 64 / SUB;
constexpr bool CAUSAL = 1, FITTED = 1; // a block may walk several pieces
constexpr int N = 80, C = 1;
constexpr int NV = R / 64, HALF = NV / 2, NB = 9, RING = 15; // boxes of V, half of them, of a tile
constexpr int BOX = 8192;
constexpr int GROUPS = (N + 31) / 32;                                    // of 32 rows: see `fold`
constexpr int SENDERS = 3;                                               // warps that send boxes, or copy them
constexpr int MAP_Q = 0, MAP_CKV = 1, MAP_KPE = 2;
struct shared_memory {
  char ring[RING][BOX], q[NB][128 * N];     // swizzled
  int tables[SENDERS][2][64];               // of each of them: numbers of the rows of a tile, before that page ids
  __align__(16) char p[128 * N];            // P^T
  float refs[N], factors[N];                // reference of each row; what O is multiplied by
  u32 raised[4];                            // a bit for each row whose factor is not 1
  float sums[4][N], inverse[N];             // by warp; 1 over the whole of it
  __align__(8) char facts[64];
  u64 full[RING], empty[RING], q_full, q_empty, p_full, end; // barriers
  int bad[RING]; // of each box: the number of the last tile with a bad page that began in it
};
constexpr int Q_AT = AT(q), P_AT = AT(p), REFS_AT = AT(refs), FACTORS_AT = AT(factors), RAISED_AT = AT(raised);
constexpr int SUMS_AT = AT(sums), INVERSE_AT = AT(inverse), FACTS_AT = AT(facts), BARS_AT = AT(full), BAD_AT = AT(bad);
constexpr int Q_FULL = AT(q_full), Q_EMPTY = AT(q_empty), P_FULL = AT(p_full), END = AT(end);
constexpr int TABLES_AT = AT(tables);
static_assert(sizeof(shared_memory) == 229472, "plans/sm90_mid.lua counts otherwise");
constexpr int FACTORS_FULL = 4, P_EMPTY = 5, MATH = 384;
constexpr float LOWEST = -1e30f;

template <int TransA>
MLAF_DEV void mma(float (&d)[N / 2], u64 a, u64 b, bool add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %42, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n80k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39}, "
      "%40, %41, p, 1, 1, %43, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
      : "l"(a), "l"(b), "r"((u32)add), "n"(TransA));
}
MLAF_DEV float2 load_8(u32 at) {
  float2 x;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x.x), "=f"(x.y) : "r"(at) : "memory");
  return x;
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

enum { REFUSED = 2 }; // of work's `bad`
// [11 more lines of templates/mla_decode/sm90_few/work.h]
};

struct walk {
  mlaf_part part;
  mlaf_entry mine; // of the block's request, where there are no parts: it follows from the block's place in the grid
  bool whole, done;
};

MLAF_DEV void begin_walk(const mlaf_decode_args& a, walk& at) {
  at.done = (int)blockIdx.z >= a.batch;
  at.mine = schedule_entry(&a, smaller((int)blockIdx.z, a.batch - 1)); // in flight while the table is looked through
  const int slots = fit_slots(&a), parts = smaller(slots, (int)(gridDim.y * gridDim.z));
  at.whole = !fit_cuts(&a, PAGE, gridDim.y, slots, parts, 0);
  const bool tells = blockIdx.x == 0 && threadIdx.x % 32 == 0 && a.part_o && true;
  if (PART == 0 && tells) fit_tell(a.part_o, at.whole ? 0 : parts);
  if (at.whole) return;
  if (PART < parts && tells) fit_list(a.part_o, PART, -1);
  at.part = fit_open(&a, PAGE, PART, parts);
  if (PART >= parts) at.part.request = a.batch;
}

MLAF_DEV bool next_work(const mlaf_decode_args& a, walk& at, work& w) {
  for (;;) {
    int request = blockIdx.z, q_begin, q_tokens, first_page, slot;
    if (!at.whole) {
      mlaf_piece x;
      if (!fit_next(&a, PAGE, &at.part, &x)) return false;
      if (fit_goes_on(&x) && blockIdx.x == 0 && threadIdx.x % 32 == 0 && a.part_o && true)
        fit_list(a.part_o, PART, x.request);
    request = x.request;
    q_begin = x.qo;
    q_tokens = x.q_tokens;
    first_page = x.first_page;
    w.tokens = x.tokens;
    w.begin = x.begin;
    w.end = x.end;
    slot = x.slot;
    } else
    {
// [10 more lines of templates/mla_decode/sm90_few/work.h]
      slot = fit_splits(&a) == 1 ? -1 : (int)blockIdx.y / C;
    }
    w.n = smaller(q_tokens, Q_LEN);
    w.row0 = blockIdx.x * N;
    if (w.n * H <= w.row0) continue;
    w.row = (i64)q_begin * H + w.row0;
    w.rows = smaller(w.n * H - w.row0, N);
    w.pages = a.kv_indices + first_page;
    w.part = slot < 0 ? -1 : at.whole ? slot * (a.total_q * H) + (i64)q_begin * H : (i64)slot * (Q_LEN * H);
    w.bad = a.num_pages <= 0 && w.begin < w.end;
    if (w.bad) w.end = w.begin;
    if (is_refused(q_tokens, q_begin, q_begin + q_tokens, (int)a.total_q)) {
      w.bad = REFUSED + request;
      w.row = w.n = w.rows = 0;
      w.part = at.whole && slot >= 0 ? slot * (a.total_q * H) : -1;
    }
// [38 more lines of templates/mla_decode/sm90_few/work.h]

MLAF_DEV int column_of(int b) { // in boxes; NV: rope
// [16 more lines of templates/mla_decode/sm90_mid.cu.in]

constexpr int FOURS = 16, OWN = (FOURS + SENDERS - 1) / SENDERS; // of a box; of them a warp's, at most
constexpr bool KEEP = 0;

template <typename F>
// [11 more lines of templates/mla_decode/sm90_mid/gather.h]


MLAF_DEV void copy_boxes(const mlaf_decode_args& a, u32 smem, char* base, int warp) {
// [23 more lines of templates/mla_decode/sm90_mid/gather.h]
      const u32 stride = (u32)a.ckv_row_stride * 2;
      if (ROPE > 0)
        copy_box_of_rows(smem, base, at, in_box, warp, chunk < ROPE / 8, bad && warp == 0,
                         [&](int k) { return a.kpe + 16 * chunk + row(k) * ((u32)a.kpe_row_stride * 2); });
      const char* from[OWN];
#pragma unroll
      for (int k = 0; k < OWN; k++) {
        from[k] = a.ckv + 16 * chunk + (KEEP ? row(k) * stride : 0);
        if (KEEP) asm volatile("" : "+l"(from[k]));
      }
#pragma unroll
      for (int b = ROPE > 0; b < NB; b++) {
        copy_box_of_rows(smem, base, at, in_box, warp, true, b == 0 && bad && warp == 0,
                         [&](int k) { return from[k] + 128 * column_of(b) + (KEEP ? 0 : row(k) * stride); });
        if (b == NB / 2 && KEEP) make(t + 1), ask(t + 2); // the next tile's rows, and page ids of the one behind it
      }
      if (!KEEP) make(t + 1), ask(t + 2);
      at.tile++;
    }
  }
}

MLAF_DEV void send_queries(const mlaf_decode_params& p, u32 smem, char* base) {
  const int lane = threadIdx.x & 31;
  walk where;
  work w;
  begin_walk(p.a, where);
  for (u32 k = 0;; k++) {
    const bool more = next_work(p.a, where, w);
    if (!FITTED && k > 0) return;
    barrier_wait(smem + Q_EMPTY, (k & 1) ^ 1);
    if (lane == 0) {
      *(facts*)(base + FACTS_AT) = {more ? tiles_of(w) : -1, w.begin, w.end, w.tokens, w.n, w.row0, w.rows, w.bad, w.row, w.part};
      barrier_expect(smem + Q_FULL, more ? NB * N * 128 : 0);
      if (more)
        for (int b = 0; b < NB; b++)
          copy_box(smem + Q_AT + b * (N * 128), p.maps + MAP_Q, 64 * column_of(b), (int)w.row, smem + Q_FULL);
    }
    __syncwarp();
    if (!more) return;
// [33 more lines of templates/mla_decode/sm90_mid.cu.in]
    take_copies();
    mma_begin();
// [107 more lines of templates/mla_decode/sm90_mid.cu.in]
    store_4(smem + INVERSE_AT + 4 * n, sum == 0.0f ? 0.0f : 1.0f / sum); // no token seen: O = 0
    if (n < known(smem, ROWS_OF)) {
      const i64 part = load_s64(smem + FACTS_AT + PART_OF);
      const float lse = sum == 0.0f ? minus_inf() : r.m + log2_fast(sum);
      if (part >= 0) a.part_lse[part + known(smem, ROW0_OF) + n] = lse;
// [178 more lines of templates/mla_decode/sm90_mid.cu.in]

extern "C" __global__ void __launch_bounds__(512, 1) mlaf_mla_decode_sm90_mid_gather_1e2e93bb(const __grid_constant__ mlaf_decode_params p) {
  extern __shared__ __align__(1024) char base[];
  const u32 smem = shared_address(base);
  if (threadIdx.x < RING) {
    barrier_init(full_barrier(smem, threadIdx.x), 96);
    barrier_init(empty_barrier(smem, threadIdx.x), 4);
// [9 more lines of templates/mla_decode/sm90_mid.cu.in]
  if (threadIdx.x >= 64 && threadIdx.x < 64 + 1) fetch_map(&p.maps[threadIdx.x - 64]);
  __syncthreads();
  wait_for_previous_launch();
  const int group = __shfl_sync(~0u, threadIdx.x / 128, 0);
  if (group == 0) { // registers: 128 * (32 + 96 + 2 * 192) of 65536
    asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
    const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    if (warp == SENDERS) send_queries(p, smem, base);
    else copy_boxes(p.a, smem, base, warp);
    let_next_launch_start();
  } else if (group == 1) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 96;");
    work_on_scores(p.a, base, smem);
  } else if (group == 2) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 192;");
    work_on_values<0>(p.a, smem);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 192;");
    work_on_values<1>(p.a, smem);
  }
}
