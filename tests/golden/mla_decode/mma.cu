// Generated from templates/mla_decode/mma_rotate.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_decode/mma_rotate target=sm_80 blocks=1 causal=0 cols=4 dtype=bf16 heads=16 page_size=64 q_len=1 rank=512 rope=64 rotate=2 stages=2 teams=1 tile=32

#define MLAF_BF16 1
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/lib/mma.h]
struct mlaf_narrow { // 32 bits that count in 64
// [8 more lines of templates/mla_decode/lib/args_words.h]
  const char* kpe;
// [8 more lines of templates/mla_decode/lib/args.h]
  unsigned ckv_row_stride;
  unsigned kpe_row_stride;
  const float* rope_table;
  struct mlaf_narrow total_q;
  int rope_rows;
  int num_pages;
// [5 more lines of templates/mla_decode/lib/args_words.h]
struct mlaf_map_want {
// [6 more lines of templates/lib/launch.h]
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_mma_rotate_015f6c54_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 94976,
    {1, 1, 1}, 0, 0, {}, 0,
    {}};
struct __align__(64) mlaf_tensor_map {
// [4 more lines of templates/lib/launch.h]
};
// [templates/mla_decode/lib/paging.h]

constexpr int H = 16, R = 512, ROPE = 64, Q_LEN = 1, PAGE = 64;
constexpr bool CAUSAL = 0;
constexpr int BLOCKS = 1, TEAMS = 1, COLS = 4, TILE = 32, STAGES = 2;
constexpr int WARPS = COLS * TEAMS, ROWS = 16 * BLOCKS * TEAMS;
constexpr int CHUNKS = (R + ROPE) / 8;           // 16-byte chunks of a cache row
constexpr int PITCH = 1168, PITCH_P = 80; // bytes
constexpr int TOKENS = TILE / COLS, NT = TOKENS / 8; // tokens of a warp's share of QK
// [4 more lines of templates/mla_decode/mma.cu.in]

template <typename T>
// [9 more lines of templates/mla_decode/lib/refuse.h]
  u32* const lse = (u32*)(u64)(part < 0 ? a.lse : a.part_lse + part);
  u32* const o = (u32*)(u64)(part < 0 ? a.o : (char*)(a.part_o + part * R));
#pragma unroll 1
// [6 more lines of templates/mla_decode/lib/refuse.h]
static_assert(TILE % WARPS == 0 && MINE <= 32, "copies are dealt out by whole rows");
struct rotation { // what eight pairs turn by
// [5 more lines of templates/mla_decode/lib/rotate.h]
  x = __fmaf_rn(x, cos, -across);
  y = __fmaf_rn(y, cos, back);
}
// [5 more lines of templates/mla_decode/lib/rotate.h]
    turn_pair(p, r, t.cos[2 * k], t.sin[2 * k]);
// [5 more lines of templates/mla_decode/lib/rotate.h]
constexpr int ROTATE_UNITS = ROPE / 16, ROTATE_HALF = ROPE / 2; // of a key
constexpr int ROTATE_FIRST = 1, ROTATE_APART = ROPE / 16; // chunks

template <int TOKENS, int THREADS>
// [50 more lines of templates/mla_decode/lib/rotate_shared.h]

struct source {
  const int* pages;
  int num_pages, begin, end;
  const char* column[(CHUNKS + 31) / 32]; // this lane's 16-byte chunks of row 0
  u32 stride[(CHUNKS + 31) / 32];         // bytes between rows, of each
};
// [16 more lines of templates/mla_decode/mma.cu.in]
    const u32 at = to + (warp + WARPS * i) * PITCH;
#pragma unroll
    for (int c = 0; c < (CHUNKS + 31) / 32; c++)
      if (lane + 32 * c < CHUNKS)
        copy16(at + 16 * (lane + 32 * c), s.column[c] + (row == NO_ROW ? 0 : (u64)row * s.stride[c]), row != NO_ROW);
  }
// [3 more lines of templates/mla_decode/mma.cu.in]

MLAF_DEV void multiply_qk(u32 q, u32 k, int lane, float (&s)[NT][BLOCKS][4]) {
  float acc[CHAINS][NT][BLOCKS][4] = {};
// [3 more lines of templates/mla_decode/mma.cu.in]
    u32 a[BLOCKS][2][4];
// [44 more lines of templates/mla_decode/mma.cu.in]

extern "C" __global__ void __launch_bounds__(128, 1) mlaf_mla_decode_mma_rotate_015f6c54(const __grid_constant__ mlaf_decode_params params) {
  extern __shared__ __align__(128) char memory[];
  const mlaf_decode_args& a = params.a;
  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5, team = warp / COLS, w = warp % COLS;
  const u32 q_at = shared_address(memory), tiles_at = q_at + ROWS * PITCH, p_at = tiles_at + STAGES * TILE * PITCH;
// [15 more lines of templates/mla_decode/mma.cu.in]
  s.num_pages = a.num_pages;
// [7 more lines of templates/mla_decode/mma.cu.in]
#pragma unroll
  for (int c = 0; c < (CHUNKS + 31) / 32; c++) {
    const int chunk = lane + 32 * c;
    const bool latent = chunk < R / 8;
// [3 more lines of templates/mla_decode/mma.cu.in]

  const char* q = a.q + out_row * (2 * (R + ROPE));
// [3 more lines of templates/mla_decode/q/shared.h]
    copy16(q_at + r * PITCH + 16 * c, real ? q + (i64)r * (2 * (R + ROPE)) + 16 * c : a.q, real);
  }
  bool bad = false;
// [3 more lines of templates/mla_decode/mma.cu.in]
    const u32 row = find_row(s, d, warp, lane, bad);
    if (d < count) copy_tile(s, row, tiles_at + d * TILE * PITCH, warp, lane);
    end_copy_group();
  }
  u32 ahead = find_row(s, STAGES - 1, warp, lane, bad);

  const int g = lane >> 2, team_row = team * 16 * BLOCKS;
// [19 more lines of templates/mla_decode/mma.cu.in]
    if (i + STAGES - 1 < count) copy_tile(s, ahead, tiles_at + free * TILE * PITCH, warp, lane);
    end_copy_group();
    ahead = find_row(s, i + STAGES, warp, lane, bad);

    const u32 kv = tiles_at + stage * TILE * PITCH, p_team = p_at + team_row * PITCH_P;
// [3 more lines of templates/mla_decode/mma.cu.in]
    multiply_qk(q_at + team_row * PITCH, kv + w * TOKENS * PITCH, lane, x);

    const int at = s.begin + i * TILE + w * TOKENS + 2 * (lane & 3); // token of x[0][b][0]
// [12 more lines of templates/mla_decode/mma.cu.in]
            score = 8 * t + e < limit ? score * a.scale_log2e : minus_inf();
            m = fmaxf(m, score);
// [21 more lines of templates/mla_decode/mma.cu.in]
          asm volatile("st.shared.b32 [%0], %1;" :: "r"(p_team + row * PITCH_P + 2 * column), "r"(pack2(p0, p1)) : "memory");
// [12 more lines of templates/mla_decode/mma.cu.in]
    multiply_pv(p_team, kv, w, lane, o);
// [36 more lines of templates/mla_decode/mma.cu.in]
          const float y0 = o[u][b][j][2 * h] * scale, y1 = o[u][b][j][2 * h + 1] * scale;
// [6 more lines of templates/mla_decode/mma.cu.in]
