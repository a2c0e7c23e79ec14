// Generated from templates/mla_decode/mma_rotate.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_80
// symbol: mlaf_mla_decode_mma_rotate_015f6c54
// parameters:
//   blocks = 1
//   causal = 0
//   cols = 4
//   dtype = bf16
//   heads = 16
//   page_size = 64
//   q_len = 1
//   rank = 512
//   rope = 64
//   rotate = 2
//   stages = 2
//   teams = 1
//   tile = 32
// regenerate: lua5.4 gen/cli.lua render mla_decode/mma_rotate target=sm_80 blocks=1 causal=0 cols=4 dtype=bf16 heads=16 page_size=64 q_len=1 rank=512 rope=64 rotate=2 stages=2 teams=1 tile=32



#define MLAF_BF16 1
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/lib/mma.h]
// [templates/mla_decode/lib/args_rotate.h]
struct mlaf_map_want {
  u32 of, cols, rows, swizzle;
};
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, reserved[3], n_maps;
  mlaf_map_want maps[8];
};
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_mma_rotate_015f6c54_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 94976,
    {1, 1, 1}, 0, 0, {}, 0,
    {}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_decode_params {
  mlaf_decode_args a;
};
// [templates/mla_decode/lib/paging.h]

constexpr int H = 16, R = 512, ROPE = 64, Q_LEN = 1, PAGE = 64;
constexpr bool CAUSAL = 0;
constexpr int BLOCKS = 1, TEAMS = 1, COLS = 4, TILE = 32, STAGES = 2;
constexpr int WARPS = COLS * TEAMS, ROWS = 16 * BLOCKS * TEAMS;
constexpr int CHUNKS = (R + ROPE) / 8;           // 16-byte chunks of a cache row
constexpr int PITCH = 1168, PITCH_P = 80; // bytes
constexpr int TOKENS = TILE / COLS, NT = TOKENS / 8; // tokens of a warp's share of QK
constexpr int MINE = TILE / WARPS;               // rows of a tile that a warp copies
constexpr int UNITS = (R / 16 + COLS - 1) / COLS; // 16-column units of O of a warp
constexpr int CHAINS = NT * BLOCKS < 4 ? 2 : 1;  // accumulators per score tile: enough independent instructions in flight
constexpr u32 NO_ROW = ~0u;

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
static_assert(TILE % WARPS == 0 && MINE <= 32, "copies are dealt out by whole rows");
struct rotation { // what eight pairs turn by
  float cos[8], sin[8];
};

MLAF_DEV void turn_pair(float& x, float& y, float cos, float sin) {
  const float across = y * sin, back = x * sin;
  x = __fmaf_rn(x, cos, -across);
  y = __fmaf_rn(y, cos, back);
}

MLAF_DEV void turn_chunks(u32 (&a)[4], u32 (&b)[4], const rotation& t) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
    float p = unpack_lo(a[k]), q = unpack_hi(a[k]), r = unpack_lo(b[k]), s = unpack_hi(b[k]);
    turn_pair(p, r, t.cos[2 * k], t.sin[2 * k]);
    turn_pair(q, s, t.cos[2 * k + 1], t.sin[2 * k + 1]);
    a[k] = pack2(p, q);
    b[k] = pack2(r, s);
  }
}
constexpr int ROTATE_UNITS = ROPE / 16, ROTATE_HALF = ROPE / 2; // of a key
constexpr int ROTATE_FIRST = 1, ROTATE_APART = ROPE / 16; // chunks

template <int TOKENS, int THREADS>
struct tile_rotation {
  static constexpr int EACH = (TOKENS * ROTATE_UNITS + THREADS - 1) / THREADS; // units of a thread
  rotation t[EACH];
};

MLAF_DEV rotation load_rotation(const float* table, int rows, int position, int unit) {
  rotation r;
  const float4* const at = (const float4*)(table + (i64)position * ROPE + 8 * unit);
  const bool there = (u32)position < (u32)rows;
  const float4 none = make_float4(not_a_number(), not_a_number(), not_a_number(), not_a_number());
#pragma unroll
  for (int k = 0; k < 2; k++) {
    const float4 c = there ? at[k] : none, s = there ? at[k + ROTATE_HALF / 4] : none;
    r.cos[4 * k] = c.x, r.cos[4 * k + 1] = c.y, r.cos[4 * k + 2] = c.z, r.cos[4 * k + 3] = c.w;
    r.sin[4 * k] = s.x, r.sin[4 * k + 1] = s.y, r.sin[4 * k + 2] = s.z, r.sin[4 * k + 3] = s.w;
  }
  return r;
}

template <int TOKENS, int THREADS>
MLAF_DEV void load_rotations(tile_rotation<TOKENS, THREADS>& r, const float* table, int rows, int position, int thread) {
#pragma unroll
  for (int k = 0; k < r.EACH; k++) {
    const int i = thread + k * THREADS;
    if (TOKENS * ROTATE_UNITS % THREADS == 0 || i < TOKENS * ROTATE_UNITS)
      r.t[k] = load_rotation(table, rows, position + i / ROTATE_UNITS, i % ROTATE_UNITS);
  }
}

MLAF_DEV void load_words(u32 (&x)[4], u32 at) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at) : "memory");
}
MLAF_DEV void store_words(u32 at, const u32 (&x)[4]) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]) : "memory");
}

template <int TOKENS, int THREADS, class Place>
MLAF_DEV void rotate_tile(const tile_rotation<TOKENS, THREADS>& r, int thread, Place place) {
#pragma unroll
  for (int k = 0; k < r.EACH; k++) {
    const int i = thread + k * THREADS, token = i / ROTATE_UNITS, chunk = i % ROTATE_UNITS * ROTATE_FIRST;
    if (TOKENS * ROTATE_UNITS % THREADS != 0 && i >= TOKENS * ROTATE_UNITS) break;
    u32 a[4], b[4];
    load_words(a, place(token, chunk));
    load_words(b, place(token, chunk + ROTATE_APART));
    turn_chunks(a, b, r.t[k]);
    store_words(place(token, chunk), a);
    store_words(place(token, chunk + ROTATE_APART), b);
  }
}

struct source {
  const int* pages;
  int num_pages, begin, end;
  const char* column[(CHUNKS + 31) / 32]; // this lane's 16-byte chunks of row 0
  u32 stride[(CHUNKS + 31) / 32];         // bytes between rows, of each
};

MLAF_DEV u32 find_row(const source& s, int tile, int warp, int lane, bool& bad) {
  const int token = s.begin + tile * TILE + warp + WARPS * lane;
  if (lane >= MINE || token >= s.end) return NO_ROW;
  const u32 page = (u32)s.pages[(u32)token / PAGE];
  if (page >= (u32)s.num_pages) {
    bad = true;
    return NO_ROW;
  }
  return page * PAGE + (u32)token % PAGE;
}

MLAF_DEV void copy_tile(const source& s, u32 row_of_lane, u32 to, int warp, int lane) {
#pragma unroll
  for (int i = 0; i < MINE; i++) {
    const u32 row = __shfl_sync(~0u, row_of_lane, i);
    const u32 at = to + (warp + WARPS * i) * PITCH;
#pragma unroll
    for (int c = 0; c < (CHUNKS + 31) / 32; c++)
      if (lane + 32 * c < CHUNKS)
        copy16(at + 16 * (lane + 32 * c), s.column[c] + (row == NO_ROW ? 0 : (u64)row * s.stride[c]), row != NO_ROW);
  }
}

MLAF_DEV void meet_team(int team) { asm volatile("bar.sync %0, %1;" :: "r"(team + 1), "n"(32 * COLS) : "memory"); }

MLAF_DEV void multiply_qk(u32 q, u32 k, int lane, float (&s)[NT][BLOCKS][4]) {
  float acc[CHAINS][NT][BLOCKS][4] = {};
  const u32 qa = q + (lane & 15) * PITCH + (lane >> 4) * 16, ka = k + (lane & 7) * PITCH + (lane >> 3) * 16;
#pragma unroll
  for (int kk = 0; kk < (R + ROPE) / 32; kk++) {
    u32 a[BLOCKS][2][4];
#pragma unroll
    for (int b = 0; b < BLOCKS; b++) {
      load_matrices(a[b][0], qa + b * 16 * PITCH + kk * 64);
      load_matrices(a[b][1], qa + b * 16 * PITCH + kk * 64 + 32);
    }
#pragma unroll
    for (int n = 0; n < NT; n++) {
      u32 b4[4];
      load_matrices(b4, ka + n * 8 * PITCH + kk * 64);
#pragma unroll
      for (int b = 0; b < BLOCKS; b++) {
        mma16(acc[0][n][b], a[b][0], b4[0], b4[1]);
        mma16(acc[CHAINS - 1][n][b], a[b][1], b4[2], b4[3]);
      }
    }
  }
#pragma unroll
  for (int n = 0; n < NT; n++)
#pragma unroll
    for (int b = 0; b < BLOCKS; b++)
#pragma unroll
      for (int i = 0; i < 4; i++) s[n][b][i] = acc[0][n][b][i] + (CHAINS > 1 ? acc[CHAINS - 1][n][b][i] : 0.0f);
}

MLAF_DEV void multiply_pv(u32 p, u32 v, int col_warp, int lane, float (&o)[UNITS][BLOCKS][2][4]) {
  const u32 pa = p + (lane & 15) * PITCH_P + (lane >> 4) * 16, va = v + (lane & 15) * PITCH + (lane >> 4) * 16;
#pragma unroll
  for (int t = 0; t < TILE / 16; t++) {
    u32 a[BLOCKS][4];
#pragma unroll
    for (int b = 0; b < BLOCKS; b++) load_matrices(a[b], pa + b * 16 * PITCH_P + t * 32);
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
      if (R / 16 % COLS != 0 && col_warp + COLS * u >= R / 16) break;
      u32 b4[4];
      load_matrices_transposed(b4, va + t * 16 * PITCH + (col_warp + COLS * u) * 32);
#pragma unroll
      for (int b = 0; b < BLOCKS; b++) {
        mma16(o[u][b][0], a[b], b4[0], b4[1]);
        mma16(o[u][b][1], a[b], b4[2], b4[3]);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(128, 1) mlaf_mla_decode_mma_rotate_015f6c54(const __grid_constant__ mlaf_decode_params params) {
  extern __shared__ __align__(128) char memory[];
  const mlaf_decode_args& a = params.a;
  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5, team = warp / COLS, w = warp % COLS;
  const u32 q_at = shared_address(memory), tiles_at = q_at + ROWS * PITCH, p_at = tiles_at + STAGES * TILE * PITCH;
  float* maxima = (float*)(memory + (ROWS + STAGES * TILE) * PITCH + ROWS * PITCH_P) + team * 16 * BLOCKS * COLS; // [row][w]

  wait_for_previous_launch();
  const int request = blockIdx.z, split = blockIdx.y, first_row = blockIdx.x * ROWS;
  const int token0 = constants(a.qo_indptr)[request], n = constants(a.qo_indptr)[request + 1] - token0, live = n * H;
  if (is_refused(n, token0, token0 + n, (int)a.total_q)) {
    const i64 part = a.splits > 1 ? split * (a.total_q * H) : -1;
    if (first_row == 0) refuse(a, (i64)token0 * H, (i64)(token0 + n) * H, part, thread, 32 * WARPS);
    return;
  }
  if (first_row >= live) return;
  int first_page;
  const int tokens = cached_tokens<PAGE>(a, request, first_page);
  source s;
  s.pages = a.kv_indices + first_page;
  s.num_pages = a.num_pages;
  split_range(tokens, TILE, a.splits, split, s.begin, s.end);
  const i64 out_row = (i64)token0 * H + first_row; // of O and LSE
  if (a.splits > 1 && s.begin >= s.end) {
    for (int r = thread; r < ROWS && first_row + r < live; r += 32 * WARPS)
      a.part_lse[split * (a.total_q * H) + out_row + r] = minus_inf();
    return;
  }
#pragma unroll
  for (int c = 0; c < (CHUNKS + 31) / 32; c++) {
    const int chunk = lane + 32 * c;
    const bool latent = chunk < R / 8;
    s.column[c] = latent ? a.ckv + 16 * chunk : a.kpe + 16 * (chunk - R / 8);
    s.stride[c] = (u32)(latent ? a.ckv_row_stride : a.kpe_row_stride) * 2;
  }

  const char* q = a.q + out_row * (2 * (R + ROPE));
  for (int i = thread; i < ROWS * CHUNKS; i += 32 * WARPS) {
    const int r = i / CHUNKS, c = i % CHUNKS;
    const bool real = first_row + r < live;
    copy16(q_at + r * PITCH + 16 * c, real ? q + (i64)r * (2 * (R + ROPE)) + 16 * c : a.q, real);
  }
  bool bad = false;
  const int count = s.end > s.begin ? (s.end - s.begin + TILE - 1) / TILE : 0;
#pragma unroll
  for (int d = 0; d < STAGES - 1; d++) {
    const u32 row = find_row(s, d, warp, lane, bad);
    if (d < count) copy_tile(s, row, tiles_at + d * TILE * PITCH, warp, lane);
    end_copy_group();
  }
  u32 ahead = find_row(s, STAGES - 1, warp, lane, bad);

  const int g = lane >> 2, team_row = team * 16 * BLOCKS;
  int visible[BLOCKS][2];
  float top[BLOCKS][2], sum[BLOCKS][2], o[UNITS][BLOCKS][2][4] = {};
#pragma unroll
  for (int b = 0; b < BLOCKS; b++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int token = (first_row + team_row + 16 * b + g + 8 * h) / H;
      visible[b][h] = CAUSAL ? tokens - (n - 1 - token) : tokens;
      top[b][h] = minus_inf();
      sum[b][h] = 0.0f;
    }

  int stage = 0;
  for (int i = 0; i < count; i++) {
    tile_rotation<TILE, 32 * WARPS> angles;
    load_rotations(angles, a.rope_table, a.rope_rows, s.begin + i * TILE, thread);
    wait_for_copies<STAGES - 2>();
    __syncthreads(); // tile i is there for all, and nobody reads the stage before it any more
    const int free = stage == 0 ? STAGES - 1 : stage - 1;
    if (i + STAGES - 1 < count) copy_tile(s, ahead, tiles_at + free * TILE * PITCH, warp, lane);
    end_copy_group();
    ahead = find_row(s, i + STAGES, warp, lane, bad);

    const u32 kv = tiles_at + stage * TILE * PITCH, p_team = p_at + team_row * PITCH_P;
    rotate_tile(angles, thread, [&](int token, int chunk) { return kv + token * PITCH + 2 * R + 16 * chunk; });
    __syncthreads();
    float x[NT][BLOCKS][4];
    multiply_qk(q_at + team_row * PITCH, kv + w * TOKENS * PITCH, lane, x);

    const int at = s.begin + i * TILE + w * TOKENS + 2 * (lane & 3); // token of x[0][b][0]
    float now[BLOCKS][2];
#pragma unroll
    for (int b = 0; b < BLOCKS; b++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float m = minus_inf();
        const int limit = smaller(visible[b][h], s.end) - at;
#pragma unroll
        for (int t = 0; t < NT; t++)
#pragma unroll
          for (int e = 0; e < 2; e++) {
            float& score = x[t][b][2 * h + e];
            score = 8 * t + e < limit ? score * a.scale_log2e : minus_inf();
            m = fmaxf(m, score);
          }
        m = max_over_lanes<1, 4>(m);
        if ((lane & 3) == 0) maxima[(16 * b + g + 8 * h) * COLS + w] = m;
      }
    meet_team(team);
#pragma unroll
    for (int b = 0; b < BLOCKS; b++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float m = top[b][h];
#pragma unroll
        for (int c = 0; c < COLS; c++) m = fmaxf(m, maxima[(16 * b + g + 8 * h) * COLS + c]);
        const float zero = m == minus_inf() ? 0.0f : m; // nothing seen yet: all weights are 0, not NaN
        now[b][h] = exp2_fast(top[b][h] - zero);        // what the past is worth now
        top[b][h] = m;
        float add = 0.0f;
#pragma unroll
        for (int t = 0; t < NT; t++) {
          const float p0 = exp2_fast(x[t][b][2 * h] - zero), p1 = exp2_fast(x[t][b][2 * h + 1] - zero);
          add += p0 + p1;
          const u32 row = 16 * b + g + 8 * h, column = w * TOKENS + 8 * t + 2 * (lane & 3);
          asm volatile("st.shared.b32 [%0], %1;" :: "r"(p_team + row * PITCH_P + 2 * column), "r"(pack2(p0, p1)) : "memory");
        }
        sum[b][h] = sum[b][h] * now[b][h] + add;
      }
    meet_team(team);

#pragma unroll
    for (int b = 0; b < BLOCKS; b++)
      if (__any_sync(~0u, now[b][0] != 1.0f || now[b][1] != 1.0f)) // true for NaN
#pragma unroll
        for (int u = 0; u < UNITS; u++)
#pragma unroll
          for (int e = 0; e < 8; e++) o[u][b][e >> 2][e & 3] *= now[b][(e >> 1) & 1];
    multiply_pv(p_team, kv, w, lane, o);
    stage = stage + 1 == STAGES ? 0 : stage + 1;
  }

  wait_for_copies<0>(); // Q of a workgroup without tokens; and no copy may outlive its block
  const bool spoiled = __syncthreads_or(bad);
  let_next_launch_start();
#pragma unroll
  for (int b = 0; b < BLOCKS; b++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      sum[b][h] = sum_over_lanes<1, 4>(sum[b][h]);
      if ((lane & 3) == 0) maxima[(16 * b + g + 8 * h) * COLS + w] = sum[b][h];
    }
  meet_team(team);
#pragma unroll
  for (int b = 0; b < BLOCKS; b++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int row = 16 * b + g + 8 * h;
      if (first_row + team_row + row >= live) continue;
      float total = 0.0f;
#pragma unroll
      for (int c = 0; c < COLS; c++) total += maxima[row * COLS + c];
      if (spoiled) total = not_a_number();
      const float scale = total == 0.0f ? 0.0f : 1.0f / total, lse = top[b][h] + log2_fast(total);
      const i64 at = out_row + team_row + row, part = split * (a.total_q * H) + at;
      if (w == 0 && (lane & 3) == 0) {
        if (a.splits > 1) a.part_lse[part] = lse;
        else if (a.lse) a.lse[at] = lse * LN_2;
      }
#pragma unroll
      for (int u = 0; u < UNITS; u++) {
        if (R / 16 % COLS != 0 && w + COLS * u >= R / 16) break;
#pragma unroll
        for (int j = 0; j < 2; j++) {
          const int column = 16 * (w + COLS * u) + 8 * j + 2 * (lane & 3);
          const float y0 = o[u][b][j][2 * h] * scale, y1 = o[u][b][j][2 * h + 1] * scale;
          if (a.splits > 1) *(float2*)(a.part_o + part * R + column) = make_float2(y0, y1);
          else *(u32*)(a.o + 2 * (at * R + column)) = pack2(y0, y1);
        }
      }
    }
}
