// Generated from templates/mla_decode/combine_values.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_decode_combine_values_a69c0229
// parameters:
//   dtype = bf16
//   fitted = 320
//   heads = 112
//   page_size = 16
//   partials = 16
//   q_len = 2
//   rank = 512
//   values = 128
// regenerate: lua5.4 gen/cli.lua render mla_decode/combine_values target=sm_90a dtype=bf16 fitted=320 heads=112 page_size=16 partials=16 q_len=2 rank=512 values=128



#define MLAF_BF16 1
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/mla_decode/lib/args.h]
// [templates/mla_decode/lib/args_values.h]
struct mlaf_map_want {
  u32 of, cols, rows, swizzle;
};
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, reserved[3], n_maps;
  mlaf_map_want maps[8];
};
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_combine_values_a69c0229_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 213248,
    {1, 1, 1}, 9, 0, {0, 128}, 1,
    {{5, 64, 128, 128}}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_decode_params {
  mlaf_decode_args a;
  mlaf_tensor_map maps[1];
};
struct mlaf_values_params {
  mlaf_values_args v;
  mlaf_tensor_map w;
};
// [templates/mla_decode/lib/narrow.h]
// [templates/lib/mma.h]
// [templates/lib/hopper.h]

constexpr u32 SWIZZLE_128 = 64 | 1u << 30, SWIZZLE_64 = 32 | 2u << 30;
MLAF_DEV u32 k_major(u32 at) { return (at & 0x3ffff) >> 4 | 1u << 16; }
MLAF_DEV u32 n_major(u32 at, u32 bytes_per_64_columns) { return (at & 0x3ffff) >> 4 | bytes_per_64_columns >> 4 << 16; }

template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_rs(float (&d)[24], const u32 (&a)[4], u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %29, 0;\nmov.b64 b, {%28, %30};\n"
    "wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23}, "
    "{%24, %25, %26, %27}, b, p, 1, 1, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((int)accumulate), "n"(B_HI));
}
template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_ss(float (&d)[24], u32 a, u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %26, 0;\nmov.b64 b, {%25, %27};\n"
    "mov.b64 a, {%24, %28};\n"
    "wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23}, "
    "a, b, p, 1, 1, 0, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
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
#define FIT_CUT 0 // decides nothing here
// [templates/mla_decode/lib/schedule.h]
// [templates/mla_decode/lib/fit.h]

#define MLAF_MEMBER __device__ __forceinline__
constexpr int H = 112, Q_LEN = 2, PAGE = 16, SLOT_ROWS = Q_LEN * H, R = 512, V = 128;
constexpr int PASS = 48;
constexpr int WARPS = 16, THREADS = 32 * WARPS, SHARES = 1, WAYS = 2;
constexpr int VECTORS = 2, DEPTH = 4; // 16-byte loads of a lane for a split; splits in flight
constexpr int VALUES = 8;                      // in 16 bytes
constexpr bool FULL = true;                                     // no lane is without columns
constexpr int FEW = 2 * DEPTH;                                  // pieces that a warp adds up in two trips
constexpr int X_AT = 131072, MEET_AT = 180224, FULL_AT = 213184;
constexpr int W_BOX = V * 128, X_BOX = PASS * 128;              // 64 values of each row
struct sources {
  u32 first, stride, aside;
  int count;
  MLAF_MEMBER u32 at(int k) const { return first + k * stride + (k == count - 1 ? aside : 0); }
};

struct merged {
  float top, sum; // largest LSE; weights
  float o[VECTORS][VALUES];
};

MLAF_DEV float max_of_warp(float x) {
  const int key = (int)bits_of(x) ^ ((int)bits_of(x) >> 31 & 0x7fffffff);
  const int top = __reduce_max_sync(~0u, key); // one instruction, five shuffles otherwise
  return float_of(top ^ (top >> 31 & 0x7fffffff));
}

MLAF_DEV float weight_of(float x, float top) { return x == minus_inf() ? 0.0f : exp2_fast(x - top); } // NaN stays NaN

MLAF_DEV uint4 load(const char* at, bool there) {
  uint4 x;
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %5, 0;\n@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(at), "r"((u32)there));
  return x;
}
MLAF_DEV float load(const float* at, bool there) {
  float x;
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\n@p ld.global.f32 %0, [%1];\n}" : "=f"(x) : "l"(at), "r"((u32)there));
  return x;
}

MLAF_DEV void add(float (&o)[VALUES], float w, const uint4& x) {
  const u32 words[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    o[2 * i] = fmaf(w, narrow_lo(words[i]), o[2 * i]);
    o[2 * i + 1] = fmaf(w, narrow_hi(words[i]), o[2 * i + 1]);
  }
}

MLAF_DEV merged merge(const mlaf_combine_args& a, const sources& from, int group, int groups, int share) {
  const int lane = threadIdx.x & 31, column = VALUES * (32 * share + lane), splits = from.count;
  const char* base = (const char*)a.part_o + 16 * (32 * share + lane);
  asm("" : "+l"(base)); // added up once, not for each load
  merged m = {minus_inf()};
  float middle = 0.0f; // what a value of 0 has become in the sums
  int first = group;
  do { // 32 splits of the group
    const int mine = first + groups * lane;
    const u32 at = from.at(mine); // of the rows in part_o, which are fewer than 2^32: each takes 64 bytes at least
    float lse = load(a.part_lse + at, mine < splits), weight;
    float unit = load(a.part_o + (i64)at * R + R / 2, mine < splits);
    int done = 0;
#pragma unroll 1
    do {
      uint4 x[DEPTH][VECTORS];
#pragma unroll
      for (int k = 0; k < DEPTH; k++) {
        const int split = first + groups * (done + k);
        const char* const data = base + (i64)from.at(split) * (4 * R);
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
          x[k][i] = load(data + 512 * SHARES * i, split < splits && (FULL || column + 32 * VALUES * SHARES * i < R));
      }
      if (done == 0) { // LSEs come with the first partial results; what was summed up before is worth less
        if (mine >= splits) lse = minus_inf();
        const float higher = fmaxf(m.top, max_of_warp(lse)), past = weight_of(m.top, higher);
        weight = weight_of(lse, higher);
        m.sum *= past;
        m.top = higher;
        if (lse == minus_inf()) unit = 0.0f;
        middle *= past;
#pragma unroll
        for (int i = 0; i < VECTORS * VALUES; i++) m.o[i / VALUES][i % VALUES] *= past;
      }
#pragma unroll
      for (int k = 0; k < DEPTH; k++) {
        if (2 * k == DEPTH && first + groups * (done + k) >= splits) break;
        float w = __shfl_sync(~0u, weight, done + k);
        m.sum += w;
        w *= __shfl_sync(~0u, unit, done + k);
        middle = fmaf(w, NARROW_MIDDLE, middle); // no split, or none with a token: numbers, whatever they are, times 0
#pragma unroll
        for (int i = 0; i < VECTORS; i++) add(m.o[i], w, x[k][i]);
      }
      done += DEPTH;
    } while (done < 32 && first + groups * done < splits);
    first += 32 * groups;
  } while (first < splits);
#pragma unroll
  for (int i = 0; i < VECTORS * VALUES; i++) m.o[i / VALUES][i % VALUES] -= middle;
  return m;
}

MLAF_DEV float scale_of(float sum) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(sum));
  return sum == 0.0f ? 0.0f : y;
}

MLAF_DEV int place_of_pair(int pair) {
  const int lane = pair / 16 * 4 + pair % 4, j = pair / 4 % 4; // mla_decode/lib/narrow.h
  return lane / 32 * 256 + j / 2 * 128 + lane % 32 * 4 + j % 2 * 2;
}

template <typename T>
MLAF_DEV bool is_refused(int n, T from, T to, T all) {
  return (u32)n > (u32)Q_LEN || (from | to) < 0 || to > all; // to < 0: the difference of two wild numbers may be a small one
}
struct cut {
  u32 row, rows; // of O: its first one, how many
  u32 part;      // it begins in,
  int pieces;    // from there on, one in each
};
struct cut_list {
  cut of[THREADS];  // as many parts at most: no Hopper has more compute units
  int found[WARPS]; // by each warp: how many, and the most pieces of one in the upper half
};
MLAF_DEV cut_list& cuts() {
  __shared__ cut_list all;
  return all;
}

MLAF_DEV mlaf_entry own_entry(const mlaf_decode_args& a) {
  return schedule_entry(&a, a.batch <= THREADS && (int)threadIdx.x < a.batch ? threadIdx.x : 0);
}

MLAF_DEV int list_cuts(const mlaf_decode_args& a, mlaf_entry entry, i64 width, int parts, int& most) {
  if (parts > THREADS) __trap();
  cut_list& list = cuts();
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  int request = (int)threadIdx.x < a.batch ? threadIdx.x : -1, part = 0, behind = 0;
  if (a.batch > THREADS) {
    request = (int)threadIdx.x < parts ? fit_words(a.part_o)[threadIdx.x] : -1;
    if (request >= 0) entry = schedule_entry(&a, request);
  }
  const int tokens = schedule_tokens(entry.next_page - entry.page, entry.last, PAGE);
  const int n = entry.next_qo - entry.qo;
  if (request >= 0 && tokens > 0 && n > 0 && !is_refused(n, entry.qo, entry.next_qo, (int)a.total_q))
    behind = fit_pieces(schedule_start(entry.page, request, PAGE), tokens, width, &part);
  const bool is = behind > 0 && part < parts;
  const u32 some = __ballot_sync(~0u, is);
  const int pieces = smaller(behind, parts - 1 - part) + 1;
  const u32 longest = __reduce_max_sync(~0u, is ? pieces : 0);
  if (lane == 0) list.found[warp] = (int)(longest << 16) + __popc(some);
  __syncthreads();
  int before = __popc(some & ((1u << lane) - 1)), all = 0;
  most = 0;
#pragma unroll
  for (int w = 0; w < WARPS; w++) {
    before += w < warp ? list.found[w] & 0xffff : 0;
    all += list.found[w] & 0xffff;
    most = list.found[w] >> 16 > most ? list.found[w] >> 16 : most;
  }
  if (is) list.of[before] = {(u32)entry.qo * H, (u32)n * H, (u32)part, pieces};
  __syncthreads();
  return all;
}

MLAF_DEV sources pieces_of(const cut& x, u32 mine) {
  return {x.part * (2 * SLOT_ROWS) + mine, 2 * SLOT_ROWS, SLOT_ROWS, x.pieces};
}

MLAF_DEV u32 place_of(int box, int row, int chunk) { return chunk / 8 * box + row * 128 + ((chunk % 8 ^ row % 8) << 4); }

MLAF_DEV void ask_weights(const mlaf_values_params& p, u32 shared, int head) {
  fetch_map(&p.w);
#pragma unroll
  for (int box = 0; box < R / 64; box++) barrier_init(shared + FULL_AT + 8 * box, 1);
  barriers_ready();
#pragma unroll
  for (int box = 0; box < R / 64; box++) {
    barrier_expect(shared + FULL_AT + 8 * box, W_BOX);
    copy_box_once(shared + box * W_BOX, &p.w, 64 * box, head * p.v.w_head_rows, shared + FULL_AT + 8 * box);
  }
}

enum { DONE = -1 }; // of pieces: the decode launch has finished the row
MLAF_DEV sources sources_of(const mlaf_decode_args& a, i64 token, int head, int parts, int n_cuts) {
  const u32 row = (u32)(token * H + head);
  const int splits = fit_splits(&a);
  if (parts == 0) return {row, (u32)(a.total_q * H), 0, splits > 1 ? splits : DONE};
  const int lane = threadIdx.x & 31;
#pragma unroll 1
  for (int first = 0; first < n_cuts; first += 32) {
    const bool in = first + lane < n_cuts && row - cuts().of[first + lane].row < cuts().of[first + lane].rows;
    const u32 found = __ballot_sync(~0u, in);
    if (!found) continue;
    const cut x = cuts().of[first + __ffs(found) - 1];
    return pieces_of(x, row - x.row);
  }
  return {0, 0, 0, DONE};
}

MLAF_DEV void copy_row(const mlaf_decode_args& a, i64 token, int head, int at, u32 shared) {
#pragma unroll
  for (int chunk = threadIdx.x & 31; chunk < R / 8; chunk += 32)
    copy16(shared + X_AT + place_of(X_BOX, at, chunk), a.o + (token * H + head) * (2 * R) + 16 * chunk, true);
  end_copy_group();
}

MLAF_DEV void put_row(const merged& m, int at, char* memory) {
  const int lane = threadIdx.x & 31;
  const float scale = scale_of(m.sum);
#pragma unroll
  for (int i = 0; i < VECTORS; i++) {
    const int vector = 32 * i + lane;
    u32 w[VALUES / 2];
#pragma unroll
    for (int k = 0; k < VALUES / 2; k++) w[k] = pack2(m.o[i][2 * k] * scale, m.o[i][2 * k + 1] * scale);
    transpose_quad(w);
    *(uint4*)(memory + X_AT + place_of(X_BOX, at, vector)) = make_uint4(w[0], w[1], w[2], w[3]);
  }
}

struct meeting {
  float top, sum; // of a warp
  int row;        // of X, that it has a share of; -1: none
};
MLAF_DEV void meet_rows(const merged& m, int at, int team, int rows, char* memory) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  float* const sums = (float*)(memory + MEET_AT); // [WARPS][R]
  meeting* const known = (meeting*)(sums + WARPS * R);
#pragma unroll
  for (int i = 0; i < VECTORS && at >= 0; i++)
#pragma unroll
    for (int k = 0; k < VALUES; k += 4)
      *(float4*)(sums + warp * R + i * (32 * VALUES) + k / 4 * 128 + lane * 4) =
          make_float4(m.o[i][k], m.o[i][k + 1], m.o[i][k + 2], m.o[i][k + 3]);
  if (lane == 0) known[warp] = {m.top, m.sum, at};
  __syncthreads();
  for (int i = threadIdx.x; i < rows * (R / 2); i += THREADS) {
    const int first = i / (R / 2) * team, pair = i % (R / 2), row = known[first].row;
    float top = minus_inf(), sum = 0.0f, x = 0.0f, y = 0.0f;
    if (row < 0) continue;
    for (int w = first; w < first + team; w++) top = fmaxf(top, known[w].top);
    for (int w = first; w < first + team; w++) {
      const float weight = weight_of(known[w].top, top);
      const float2 part = *(const float2*)(sums + w * R + place_of_pair(pair));
      sum = fmaf(weight, known[w].sum, sum);
      x = fmaf(weight, part.x, x);
      y = fmaf(weight, part.y, y);
    }
    const float scale = scale_of(sum);
    *(u32*)(memory + X_AT + place_of(X_BOX, row, pair / 4) + pair % 4 * 4) = pack2(x * scale, y * scale);
  }
  __syncthreads(); // the sums are read
}

MLAF_DEV int team_of(int n) {
  int team = WARPS;
  while (team > 1 && team * n > WARPS) team /= 2;
  return team;
}

MLAF_DEV void lay_rows(const mlaf_decode_args& a, i64 t0, int n, int head, int parts, int n_cuts, int most, char* memory,
                       u32 shared) {
  const int warp = __shfl_sync(~0u, threadIdx.x >> 5, 0);
  const int usual = team_of(n), each = WARPS / usual; // rows at once
  const bool far = usual == 1 && most > FEW;
#pragma unroll 1
  for (int turn = far ? -n : 0; turn * each < n; turn++) {
    const bool together = turn < 0;
    const int team = together ? WARPS : usual, at = together ? turn + n : turn * each + warp / team;
    const bool some = at < n;
    const sources from = some ? sources_of(a, t0 + at, head, parts, n_cuts) : sources{0, 0, 0, DONE};
    if (far && together != (from.count > FEW)) continue; // far: no team has several warps, and none waits for this one
    if (some && from.count == DONE && warp % team == 0) copy_row(a, t0 + at, head, at, shared);
    const mlaf_combine_args partial = {a.part_o, a.part_lse};
    const bool mine = some && from.count != DONE;
    merged m = {};
    if (mine) m = merge(partial, from, warp % team, team, 0);
    if (team > 1) meet_rows(m, mine ? at : -1, team, together ? 1 : each, memory);
    else if (mine) put_row(m, at, memory);
  }
}

MLAF_DEV void multiply(char* memory, u32 shared, int n) {
  constexpr int BLOCKS = V / 64, BOXES = R / 64 / WAYS;
  const int lane = threadIdx.x & 31, warp = __shfl_sync(~0u, threadIdx.x >> 5, 0), group = warp / 4;
  const int block = group % BLOCKS, way = group / BLOCKS;
  const u32 w = k_major(shared + block * (64 * 128)), x = k_major(shared + X_AT);
  float d[PASS / 2];
#pragma unroll
  for (int i = 0; i < PASS / 2; i++) d[i] = 0.0f;
  settle(d);
#pragma unroll
  for (int i = 0; i < BOXES; i++) {
    const int box = way + i * WAYS;
    barrier_wait(shared + FULL_AT + 8 * box, 0);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; k++) wgmma_ss(d, w + box * (W_BOX / 16) + 2 * k, x + box * (X_BOX / 16) + 2 * k, true);
    wgmma_commit();
  }
  wgmma_wait<0>();
  settle(d);
  __syncthreads(); // X is done with
  float* const sums = (float*)(memory + X_AT) + way * PASS * (V + 4) + block * 64 + warp % 4 * 16 + (lane >> 2);
#pragma unroll
  for (int i = 0; i < PASS / 2; i++)
    if (i / 4 * 8 < n) sums[(i / 4 * 8 + 2 * (lane & 3) + i % 2) * (V + 4) + i / 2 % 2 * 8] = d[i];
}
MLAF_DEV void write_values(const mlaf_values_args& p, i64 t0, int n, int head, const char* memory) {
#pragma unroll 1
  for (int i = threadIdx.x; i < n * (V / 8); i += THREADS) {
    const int token = i / (V / 8), first = i % (V / 8) * 8;
    const float* const sums = (const float*)(memory + X_AT) + token * (V + 4) + first;
    float y[8] = {};
#pragma unroll
    for (int way = 0; way < WAYS; way++)
#pragma unroll
      for (int k = 0; k < 8; k++) y[k] += sums[way * PASS * (V + 4) + k];
    *(uint4*)(p.values + ((t0 + token) * H + head) * (2 * V) + 2 * first) =
        make_uint4(pack2(y[0], y[1]), pack2(y[2], y[3]), pack2(y[4], y[5]), pack2(y[6], y[7]));
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) mlaf_mla_decode_combine_values_a69c0229(const __grid_constant__ mlaf_values_params p) {
  extern __shared__ __align__(1024) char memory[];
  const u32 shared = shared_address(memory);
  const int head = blockIdx.x;
  let_next_launch_start(); // its own wait is for this launch, and so for the decode launch
  if (threadIdx.x == 0) ask_weights(p, shared, head);
  const mlaf_decode_args& a = p.v.a;
  const i64 total = schedule_start(a.kv_indptr[a.batch], a.batch, PAGE);
  const mlaf_entry entry = own_entry(a);
  wait_for_previous_launch();
  const int parts = fit_told(a.part_o);
  int most = fit_splits(&a);
  const int n_cuts = parts > 0 ? list_cuts(a, entry, fit_width(total, parts), parts, most) : 0;
#pragma unroll 1
  for (i64 t0 = 0; t0 < a.total_q; t0 += PASS) {
    const int n = a.total_q - t0 < PASS ? (int)(a.total_q - t0) : PASS;
    lay_rows(a, t0, n, head, parts, n_cuts, most, memory, shared);
    wait_for_copies<0>();
    fence_async(); // X was written as ordinary memory
    __syncthreads();
    multiply(memory, shared, n);
    __syncthreads();
    write_values(p.v, t0, n, head, memory);
    __syncthreads(); // the next rows come where the sums are
  }
}
