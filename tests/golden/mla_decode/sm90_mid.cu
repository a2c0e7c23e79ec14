// Generated from templates/mla_decode/sm90_mid_gather.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_decode/sm90_mid_gather target=sm_90a causal=1 dtype=bf16 heads=40 page_size=3 q_len=2 rank=512 rope=32 rows=80 schedule=fitted

#define MLAF_BF16 1
// [10 more lines of tests/golden/mla_decode/combine_warp.cu]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_sm90_mid_gather_1e2e93bb_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 230160,
    {1, 1, 1}, 9, 0, {}, 1,
    {{3, 64, 80, 128}}};
struct __align__(64) mlaf_tensor_map {
// [6 more lines of tests/golden/mla_decode/combine_values.cu]
#define SCHEDULE_FIXED 128
// [templates/mla_decode/lib/schedule.h]
// [templates/lib/hopper.h]
// [templates/mla_decode/lib/gather.h]

MLAF_DEV void barrier_arrive_if(bool now, u32 bar) {
// [51 more lines of tests/golden/mla_decode/sm90_few.cu]

constexpr int H = 40, Q_LEN = 2, R = 512, ROPE = 32, PAGE = 3, SUB = 1, SUBS = 64 / SUB;
constexpr bool CAUSAL = 1, FITTED = 1; // a block may walk several pieces
constexpr int N = 80, C = 1;
constexpr int NV = R / 64, HALF = NV / 2, NB = 9, RING = 15; // boxes of V, half of them, of a tile
constexpr int BOX = 8192;
// [12 more lines of templates/mla_decode/sm90_mid.cu.in]
  u64 full[RING], empty[RING], q_full, q_empty, p_full, end[2]; // barriers
  int bad[RING]; // of each box: the number of the last tile with a bad page that began in it
};
// [4 more lines of templates/mla_decode/sm90_mid.cu.in]
constexpr int TABLES_AT = AT(tables);
static_assert(sizeof(shared_memory) == 230160, "plans/sm90_mid.lua counts otherwise");
constexpr int FACTORS_FULL = 4, P_EMPTY = 5, HALVES = 6, MATH = 384;
constexpr float LOWEST = -1e30f;

// [templates/mla_decode/lib/narrow.h]
template <int TransA>
// [4 more lines of tests/golden/mla_decode/sm90_few.cu, with other numbers]
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39}, "
      "%40, %41, p, 1, 1, %43, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
      : "l"(a), "l"(b), "r"((u32)add), "n"(TransA));
}
MLAF_DEV float2 load_8(u32 at) {
// [5 more lines of templates/mla_decode/sm90_mid.cu.in]
#define FIT_CUT 500
// [21 more lines of tests/golden/mla_decode/sm90_many.cu]

enum { REFUSED = 2 }; // of work's `bad`
// [11 more lines of templates/mla_decode/sm90_few/work.h]
};
// [3 more lines of tests/golden/mla_decode/sm90_few.cu]
  mlaf_entry mine; // of the block's request, where there are no parts: it follows from the block's place in the grid
  bool whole, done;
};

MLAF_DEV void begin_walk(const mlaf_decode_args& a, walk& at) {
  at.done = (int)blockIdx.z >= a.batch;
  at.mine = schedule_entry(&a, smaller((int)blockIdx.z, a.batch - 1)); // in flight while the table is looked through
// [3 more lines of templates/mla_decode/sm90_few/work.h]
  const bool tells = blockIdx.x == 0 && threadIdx.x % 32 == 0 && a.part_o && true;
  if (PART == 0 && tells) fit_tell(a.part_o, at.whole ? 0 : parts);
  if (at.whole) return;
  if (PART < parts && tells) fit_list(a.part_o, PART, -1);
  at.part = fit_open(&a, PAGE, PART, parts);
  if (PART >= parts) at.part.request = a.batch;
}
// [4 more lines of tests/golden/mla_decode/sm90_few.cu]
    if (!at.whole) {
      mlaf_piece x;
      if (!fit_next(&a, PAGE, &at.part, &x)) return false;
      if (fit_goes_on(&x) && blockIdx.x == 0 && threadIdx.x % 32 == 0 && a.part_o && true)
        fit_list(a.part_o, PART, x.request);
// [10 more lines of tests/golden/mla_decode/sm90_few.cu]
      if (at.done) return false;
      at.done = true;
      const int share = blockIdx.y, shares = gridDim.y;
      q_begin = at.mine.qo;
      q_tokens = at.mine.next_qo - q_begin;
      first_page = at.mine.page;
      w.tokens = schedule_tokens(at.mine.next_page - first_page, at.mine.last, PAGE);
      const u32 tiles = ((u32)w.tokens + 63) / 64, each = tiles / (u32)shares, more = tiles - each * (u32)shares;
// [17 more lines of tests/golden/mla_decode/sm90_few.cu]
    }
// [53 more lines of tests/golden/mla_decode/sm90_few.cu]

MLAF_DEV int column_of(int b) { // in boxes; NV: rope
  if (ROPE > 0 && b == 0) return NV;
  const int v = b - (ROPE > 0);
  return v % 2 * HALF + v / 2;
}
// [13 more lines of templates/mla_decode/sm90_mid.cu.in]

constexpr int FOURS = 16, OWN = (FOURS + SENDERS - 1) / SENDERS; // of a box; of them a warp's, at most
constexpr bool KEEP = 0;

template <typename F>
// [11 more lines of templates/mla_decode/sm90_mid/gather.h]

MLAF_DEV void copy_boxes(const mlaf_decode_args& a, u32 smem, char* base, int warp) {
// [10 more lines of templates/mla_decode/sm90_mid/gather.h]
    auto ask = [&](int t) {
// [12 more lines of templates/mla_decode/sm90_mid/gather.h]
      const u32 stride = (u32)a.ckv_row_stride * 2;
      if (ROPE > 0)
        copy_box_of_rows(smem, base, at, in_box, warp, chunk < ROPE / 8, bad && warp == 0,
                         [&](int k) { return a.kpe + 16 * chunk + row(k, sub) * ((u32)a.kpe_row_stride * 2); });
      const char* from[OWN];
// [7 more lines of templates/mla_decode/sm90_mid/gather.h]
        copy_box_of_rows(smem, base, at, in_box, warp, true, b == 0 && bad && warp == 0,
                         [&](int k) { return from[k] + 128 * column_of(b) + (KEEP ? 0 : row(k, sub) * stride); });
        if (b == NB / 2 && KEEP) make(t + 1), ask(t + 2); // the next tile's rows, and page ids of the one behind it
      }
      if (!KEEP) make(t + 1), ask(t + 2);
      at.tile++;
// [8 more lines of templates/mla_decode/sm90_mid.cu.in]
  begin_walk(p.a, where);
// [3 more lines of templates/mla_decode/sm90_mid.cu.in]
    if (more && k > 0 && lane == 0) fetch_q(p.a, w.row, w.rows);
// [3 more lines of templates/mla_decode/sm90_mid.cu.in]
          {more ? tiles_of(w) : -1, w.begin, w.end, w.tokens, w.n, w.row0, w.rows, w.bad, w.row, w.part};
      barrier_expect(smem + Q_FULL, more ? NB * N * 128 : 0);
      if (more)
        for (int b = 0; b < NB; b++)
          copy_box(smem + Q_AT + b * (N * 128), p.maps + MAP_Q, 64 * column_of(b), (int)w.row, smem + Q_FULL);
    }
    __syncwarp();
    if (!more) return;
// [142 more lines of templates/mla_decode/sm90_mid.cu.in]
    store_4(smem + INVERSE_AT + 4 * (N * (k & 1) + n), sum == 0.0f ? 0.0f : 1.0f / sum); // no token seen: O = 0
// [7 more lines of templates/mla_decode/sm90_mid.cu.in]
  }
// [11 more lines of templates/mla_decode/sm90_mid.cu.in]
    const u32 about = facts_of(smem, k);
    const int tiles = known(about, TILES_OF);
    if (tiles < 0) break;
// [40 more lines of templates/mla_decode/sm90_mid.cu.in]
    finish_rows(a, smem, k, r);
// [26 more lines of templates/mla_decode/sm90_mid.cu.in]

MLAF_DEV int value_slot(const place& at, int half, int i) { return slot_of(at, (ROPE > 0) + 2 * i + half); }
MLAF_DEV void multiply_v(u32 smem, int half, const place& at, bool keeps, float (&o)[HALF][N / 2]) {
// [69 more lines of templates/mla_decode/sm90_mid.cu.in]

// [templates/mla_decode/sm90_mid/partial.h]

MLAF_DEV void work_on_values(const mlaf_decode_args& a, u32 smem, int half) { // 0: left, 1: right
  place at = {0, 0, 1};
// [3 more lines of templates/mla_decode/sm90_mid.cu.in]
    if (FITTED) barrier_arrive(smem + Q_EMPTY); // the piece before is done with
    const int tiles = known(facts_of(smem, k), TILES_OF);
    if (tiles < 0) return;
// [14 more lines of templates/mla_decode/sm90_mid.cu.in]
    barrier_wait(smem + END + 8 * (k & 1), k >> 1 & 1);
// [9 more lines of templates/mla_decode/sm90_mid.cu.in]

extern "C" __global__ void __launch_bounds__(512, 1) mlaf_mla_decode_sm90_mid_gather_1e2e93bb(const __grid_constant__ mlaf_decode_params p) {
  extern __shared__ __align__(1024) char base[];
  const u32 smem = shared_address(base);
  if (threadIdx.x == 0)
#pragma unroll
    for (int s = 0; s < RING; s++) barrier_init(full_barrier(smem, s), 96);
  if (threadIdx.x == 32)
#pragma unroll
    for (int s = 0; s < RING; s++) barrier_init(empty_barrier(smem, s), 4);
  if (threadIdx.x == 64) {
    barrier_init(smem + Q_FULL, 1);
// [4 more lines of templates/mla_decode/sm90_mid.cu.in]
  }
  if (threadIdx.x < 96) barriers_ready();
  if (threadIdx.x >= 128 && threadIdx.x < 128 + RING) ((int*)(base + BAD_AT))[threadIdx.x - 128] = 0;
  if (threadIdx.x >= 256 && threadIdx.x < 256 + 1) fetch_map(&p.maps[threadIdx.x - 256]);
  if (threadIdx.x >= 96 && threadIdx.x < 128) look_ahead(p.a);
  __syncthreads();
  wait_for_previous_launch();
  let_next_launch_start();
  const int group = __shfl_sync(~0u, threadIdx.x / 128, 0);
  if (group == 0) { // registers: 128 * (32 + 96 + 2 * 192) of 65536
    asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
    const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    if (warp == SENDERS) send_queries(p, smem, base);
    else copy_boxes(p.a, smem, base, warp);
  } else if (group == 1) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 96;");
    work_on_scores(p.a, base, smem);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 192;");
    work_on_values(p.a, smem, group - 2); // one text for both: what runs once is fetched once
  }
}
