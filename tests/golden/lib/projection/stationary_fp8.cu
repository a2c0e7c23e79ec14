// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_q_absorb_stationary_fp8_5ec706a7
// parameters:
//   dtype = bf16
//   nope = 128
//   pass = 64
//   per_sm = 1
//   rank = 512
//   rope = 64
//   rows = 128
//   style = pairs
//   ways = 2
//   weights = 1
// regenerate: lua5.4 gen/cli.lua render mla_q_absorb/stationary_fp8 target=sm_90a dtype=bf16 nope=128 pass=64 per_sm=1 rank=512 rope=64 rows=128 style=pairs ways=2 weights=1

#define MLAF_BF16 1
constexpr int LANES = 32;
constexpr bool FIRST_OF_LAYER = false;
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
typedef uint4 word4;
typedef uint2 word2;
MLAF_DEV word4 words(u32 a, u32 b, u32 c, u32 d) { return make_uint4(a, b, c, d); }
MLAF_DEV u32 my_block() { return blockIdx.x; }
MLAF_DEV u32 my_thread() { return threadIdx.x; }
MLAF_DEV float exchange(float x, int, int d) { return __shfl_xor_sync(~0u, x, d); }
template <class T>
MLAF_DEV T load(const void* p) {
  return *(const T*)p;
}
template <class T>
MLAF_DEV void store(void* p, T x) {
  *(T*)p = x;
}
MLAF_DEV word4 load_weights(const void* p) {
  word4 x;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(p) : "memory");
  return x;
}
MLAF_DEV float inverse_root(float x) { return rsqrtf(x); }
MLAF_DEV float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }

MLAF_DEV void unpack(float (&v)[8], word4 x) {
  const u32 w[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    v[2 * i] = unpack_lo(w[i]);
    v[2 * i + 1] = unpack_hi(w[i]);
  }
}
MLAF_DEV word4 pack(const float (&v)[8]) {
  return words(pack2(v[0], v[1]), pack2(v[2], v[3]), pack2(v[4], v[5]), pack2(v[6], v[7]));
}
MLAF_DEV u32 multiply2(u32 a, u32 b) { return pack2(unpack_lo(a) * unpack_lo(b), unpack_hi(a) * unpack_hi(b)); }
// [templates/lib/projection/args.h]
MLAF_DEV void unpack_halves(u32 x, float& a, float& b) {
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %2;\ncvt.f32.f16 %0, l;\ncvt.f32.f16 %1, h;\n}" : "=f"(a), "=f"(b) : "r"(x));
}

template <int PAIR>
MLAF_DEV u32 halves_of(u32 codes) {
  u32 x;
  asm volatile("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(x) : "h"((unsigned short)(codes >> 16 * PAIR)));
  return x;
}

template <int PAIR>
MLAF_DEV void decode2(u32 codes, float& a, float& b) {
  unpack_halves(halves_of<PAIR>(codes), a, b);
}
template <int PAIR>
MLAF_DEV u32 expand2(u32 codes) {
#if MLAF_BF16
  float a, b;
  decode2<PAIR>(codes, a, b);
  return pack2(a, b);
#else
  return halves_of<PAIR>(codes);
#endif
}

MLAF_DEV void decode8(float (&v)[8], u32 x, u32 y) {
  decode2<0>(x, v[0], v[1]);
  decode2<1>(x, v[2], v[3]);
  decode2<0>(y, v[4], v[5]);
  decode2<1>(y, v[6], v[7]);
}
MLAF_DEV word4 expand8(u32 x, u32 y) { return words(expand2<0>(x), expand2<1>(x), expand2<0>(y), expand2<1>(y)); }

struct mlaf_projection_scaled_args : mlaf_projection_kernel_args {
  const float* w_scale;
  i64 scale_row, scale_first_row, scale_head, scale_first_column; // scale_row in bytes
};
static_assert(sizeof(mlaf_projection_scaled_args) == 192, "differs from runtime/op/projection.h");

MLAF_DEV const char* scales_of(const mlaf_projection_scaled_args& a, int head, int row) {
  return (const char*)a.w_scale + (a.scale_first_row + head * a.scale_head + row >> 7) * a.scale_row;
}
MLAF_DEV float scale_at(const mlaf_projection_scaled_args& a, const char* scales, int column) {
  return load<float>(scales + 4 * (a.scale_first_column + column >> 7));
}
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_absorb_stationary_fp8_5ec706a7_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 116864, {1, 1, 1},
    17, 0, 0, {0, 0}, 2, {{1, 64, 128, 128}, {2, 64, 64, 128}}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_projection_params {
  mlaf_projection_scaled_args a;
  mlaf_tensor_map w, x;
};
// [templates/lib/hopper.h]

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

constexpr int INNER = 128, OUTER = 512, TOKENS = 64, TILE = 128, WAYS = 2, SPLIT = 1;
constexpr int THREADS = 256, MT = TILE / 64, VALUES = 64, GROUPS = VALUES / 16; // of a way
constexpr int TILES = (OUTER + TILE - 1) / TILE;
constexpr int PITCH = TILE + 4; // floats of a token's partial sums: neighbours lie in different banks
constexpr int ROPE = 64;
constexpr int ITEM_CHUNKS = 1; // of 16 bytes
constexpr int ITEMS = ROPE / (8 * ITEM_CHUNKS);              // of a row
constexpr int ANGLES = 4;      // of an item

MLAF_DEV void load_angles(float (&to)[ANGLES], const char* row, int item, bool narrow) {
#pragma unroll
  for (int i = 0; i < ANGLES; i += 4) {
    if (narrow) {
      const word2 w = load<word2>(row + 2 * (ANGLES * item + i));
      to[i] = unpack_lo(w.x), to[i + 1] = unpack_hi(w.x), to[i + 2] = unpack_lo(w.y), to[i + 3] = unpack_hi(w.y);
    } else {
      const word4 w = load<word4>(row + 4 * (ANGLES * item + i));
      to[i] = float_of(w.x), to[i + 1] = float_of(w.y), to[i + 2] = float_of(w.z), to[i + 3] = float_of(w.w);
    }
  }
}

MLAF_DEV void ask_turn(const mlaf_projection_kernel_args& a, int first, int step) {
#pragma unroll 1
  for (i64 i = first; i < a.tokens * ITEMS; i += step) {
    i64 position;
    asm volatile("ld.relaxed.gpu.global.s64 %0, [%1];" : "=l"(position) : "l"(a.positions + i / ITEMS) : "memory");
    if ((u64)position >= (u64)a.table_rows) continue;
    const i64 at = position * a.table_row + (a.flags & PROJECTION_TABLE_16 ? 2 : 4) * ANGLES * (i % ITEMS);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a.cos + at) : "memory");
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a.sin + at) : "memory");
  }
}

MLAF_DEV void turn_rows(const mlaf_projection_kernel_args& a, const char* x, char* y, int first, int step) {
#pragma unroll 2
  for (i64 i = first; i < a.tokens * ITEMS; i += step) {
    const i64 t = i / ITEMS;
    const int item = (int)(i % ITEMS);
    const char* const from = x + t * a.x_token + 2 * INNER + 16 * item;
    char* const to = y + t * a.y_token + 2 * OUTER + 16 * item;
    word4 in[ITEM_CHUNKS];
#pragma unroll
    for (int k = 0; k < ITEM_CHUNKS; k++) in[k] = load<word4>(from + k * ROPE);
    float v[ITEM_CHUNKS][8], c[ANGLES], s[ANGLES];
    const i64 position = load<i64>(a.positions + t);
#pragma unroll
    for (int k = 0; k < ANGLES; k++) c[k] = s[k] = not_a_number();
    if ((u64)position < (u64)a.table_rows) {
      load_angles(c, a.cos + position * a.table_row, item, a.flags & PROJECTION_TABLE_16);
      load_angles(s, a.sin + position * a.table_row, item, a.flags & PROJECTION_TABLE_16);
    }
#pragma unroll
    for (int k = 0; k < ITEM_CHUNKS; k++) unpack(v[k], in[k]);
#pragma unroll
    for (int k = 0; k < ANGLES; k++) {
      float &p = v[0][2 * k], &q = v[0][2 * k + 1];
      const float across = q * s[k], back = p * s[k];
      p = multiply_add(p, c[k], -across);
      q = multiply_add(q, c[k], back);
    }
#pragma unroll
    for (int k = 0; k < ITEM_CHUNKS; k++) in[k] = pack(v[k]);
#pragma unroll
    for (int k = 0; k < ITEM_CHUNKS; k++) store(to + k * ROPE, in[k]);
  }
}

struct place {
  int head, first; // first: output of the tile
  const char *x, *w;
  char* y;
};
MLAF_DEV place place_of(const mlaf_projection_kernel_args& a, u32 block) {
  place p;
  p.head = (int)(block / TILES);
  p.first = (int)(block % TILES) * TILE;
  p.x = a.x + p.head * a.x_head;
  p.w = a.w + p.head * a.w_head;
  p.y = a.y + p.head * a.y_head;
  return p;
}
MLAF_DEV place my_place(const mlaf_projection_kernel_args& a) { return place_of(a, my_block()); }

MLAF_DEV const char* row_of_x(const mlaf_projection_kernel_args& a, const place& p, i64 t) {
  return p.x + (t < a.tokens ? t : a.tokens - 1) * a.x_token;
}

MLAF_DEV void finish(const mlaf_projection_kernel_args& a, const place& p, i64 t0, const float* sums,
                     const float* squares) {
#pragma unroll 1
  for (int i = (int)my_thread(); i < TOKENS * (TILE / 8); i += THREADS) {
    const int token = i / (TILE / 8), column = i % (TILE / 8) * 8;
    if (t0 + token >= a.tokens || p.first + column >= OUTER) continue;
    float v[8] = {};
    for (int way = 0; way < WAYS; way++) {
      const float* const from = sums + (way * TOKENS + token) * PITCH + column;
#pragma unroll
      for (int k = 0; k < 8; k++) v[k] += from[k];
    }
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column), pack(v));
  }
}

MLAF_DEV void add4(float (&v)[4], const float4& x) { v[0] += x.x, v[1] += x.y, v[2] += x.z, v[3] += x.w; }

constexpr int OCTETS = TILE / 8, ITEMS_OF_PASS = TOKENS * OCTETS; // eight outputs of a token each

MLAF_DEV void write_pass(const mlaf_projection_kernel_args& a, const place& p, i64 t0, float* sums,
                         int rank) {
#pragma unroll (WAYS == 1 ? 2 : 1)
  for (int i = (int)my_thread(); i < ITEMS_OF_PASS; i += THREADS) {
    const int token = i / OCTETS, column = i % OCTETS * 8;
    if (t0 + token >= a.tokens || (OUTER % TILE != 0 && p.first + column >= OUTER)) continue;
    float v[2][4] = {};
#pragma unroll
    for (int way = 0; way < WAYS; way++) {
      const float4* const from = (const float4*)(sums + (way * TOKENS + token) * PITCH + column);
      add4(v[0], from[0]);
      add4(v[1], from[1]);
    }
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column),
          words(pack2(v[0][0], v[0][1]), pack2(v[0][2], v[0][3]), pack2(v[1][0], v[1][1]), pack2(v[1][2], v[1][3])));
  }
}
constexpr int PLACES = 2, PLACE = 16384, BOXES = PLACE / (TOKENS * 128);
constexpr int X_AT = 16384, SUMS_AT = 49152;
constexpr int W_FULL = 116736, FULL_AT = W_FULL + 8, EMPTY_AT = FULL_AT + 8 * PLACES;
constexpr int X_WARP = 4 * WAYS, TURN_AT = 128 * WAYS + 32, TURN_THREADS = 352 - TURN_AT;

MLAF_DEV void load_w(const mlaf_projection_params& p, u32 shared, const place& at) {
  barrier_expect(shared + W_FULL, INNER * TILE);
  copy_box_once(shared, &p.w, (int)((at.head * p.a.w_head + at.first) / 2), 0, shared + W_FULL);
}
MLAF_DEV void load_x(const mlaf_projection_params& p, u32 shared, const place& at) {
  int i = 0;
#pragma unroll 1
  for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS, i++) {
    const u32 place = i % PLACES, full = shared + FULL_AT + 8 * place;
    barrier_wait(shared + EMPTY_AT + 8 * place, i / PLACES & 1 ^ 1);
    barrier_expect(full, PLACE);
#pragma unroll
    for (int box = 0; box < BOXES; box++)
      copy_box(shared + X_AT + place * PLACE + box * (TOKENS * 128), &p.x, (int)(at.head * p.a.x_head / 2) + 64 * box, (int)t0,
               full);
  }
}

MLAF_DEV u32 load_bytes(u32 at) { // 2 MT of them
  u32 x;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
  return x;
}
MLAF_DEV void take_w(u32 (&a)[MT][4], u32 shared, int first, int output, int t) {
  u32 codes[4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const u32 at = (first + 2 * t + (i & 1) + (i >> 1) * 8) * TILE + output;
    codes[i] = load_bytes(shared + (at ^ (at >> 7 & TILE / 16 - 1) << 4)); // swizzled: 7, of rows of 64 bytes 3
  }
#pragma unroll
  for (int m = 0; m < MT; m++)
#pragma unroll
    for (int i = 0; i < 2; i++) { // values 2t and 2t+1; 2t+8 and 2t+9
      const u32 two = __byte_perm(codes[2 * i], codes[2 * i + 1], m ? 0x7362 : 0x5140); // of each of two outputs
      a[m][2 * i] = expand2<0>(two), a[m][2 * i + 1] = expand2<1>(two);
    }
}

MLAF_DEV u32 values_of(u32 x, int first) { return k_major(x) + first / 64 * (TOKENS * 8) + first % 64 / 8; }

MLAF_DEV void multiply(float (&sum)[MT][TOKENS / 2], const u32 (&a)[GROUPS][MT][4], const float (&scales)[GROUPS / 2], bool same,
                       u32 x, int first) {
  if (same) {
#pragma unroll
    for (int m = 0; m < MT; m++) settle(sum[m]);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < GROUPS; i++)
#pragma unroll
      for (int m = 0; m < MT; m++) wgmma_rs(sum[m], a[i][m], values_of(x, first + 16 * i), i > 0);
    wgmma_commit();
    wgmma_wait<0>();
#pragma unroll
    for (int m = 0; m < MT; m++) {
      settle(sum[m]);
#pragma unroll
      for (int i = 0; i < TOKENS / 2; i++) sum[m][i] *= scales[0];
    }
    return;
  }
#pragma unroll
  for (int m = 0; m < MT; m++) {
#pragma unroll
    for (int i = 0; i < TOKENS / 2; i++) sum[m][i] = 0.0f;
#pragma unroll
    for (int c = 0; c < GROUPS / 2; c++) {
      float part[TOKENS / 2];
      settle(part);
      wgmma_fence();
      wgmma_rs(part, a[2 * c][m], values_of(x, first + 32 * c), false);
      wgmma_rs(part, a[2 * c + 1][m], values_of(x, first + 32 * c + 16), true);
      wgmma_commit();
      wgmma_wait<0>();
      settle(part);
#pragma unroll
      for (int i = 0; i < TOKENS / 2; i++) sum[m][i] = fmaf(part[i], scales[c], sum[m][i]);
    }
  }
}

MLAF_DEV void lay_sums(const float (&sum)[MT][TOKENS / 2], float* to, int t) {
#pragma unroll
  for (int j = 0; j < TOKENS / 8; j++)
#pragma unroll
    for (int e = 0; e < 2; e++) {
      float* const at = to + (8 * j + 2 * t + e) * PITCH;
      *(float4*)at = make_float4(sum[0][4 * j + e], sum[0][4 * j + 2 + e], sum[1][4 * j + e], sum[1][4 * j + 2 + e]);
    }
}

extern "C" __global__ void __launch_bounds__(352, 1) mlaf_mla_q_absorb_stationary_fp8_5ec706a7(
    const __grid_constant__ mlaf_projection_params p) {
  extern __shared__ __align__(1024) char memory[];
  let_next_launch_start();
  const u32 shared = shared_address(memory);
  const int thread = (int)my_thread(), warp = __shfl_sync(~0u, thread >> 5, 0);
  const place at = place_of(p.a, my_block());
  if (thread == 32 * X_WARP) {
    barrier_init(shared + W_FULL, 1);
    for (int i = 0; i < PLACES; i++) {
      barrier_init(shared + FULL_AT + 8 * i, 1);
      barrier_init(shared + EMPTY_AT + 8 * i, 4 * WAYS);
    }
    barriers_ready();
    load_w(p, shared, at); // who waits for it does so behind the barrier below
  }
  __syncthreads();
  if (warp >= X_WARP) {
    if (thread >= TURN_AT) ask_turn(p.a, at.first / TILE * TURN_THREADS + thread - TURN_AT, TILES * TURN_THREADS);
    wait_for_previous_launch();
    if (thread == 32 * X_WARP) load_x(p, shared, at);
    if (thread >= TURN_AT) turn_rows(p.a, at.x, at.y, at.first / TILE * TURN_THREADS + thread - TURN_AT, TILES * TURN_THREADS);
    return;
  }
  const int lane = thread & 31, g = lane >> 2, t = lane & 3, way = warp / 4, first = way * VALUES;
  const int output = warp % 4 * (16 * MT) + 2 * MT * g;
  float scales[GROUPS / 2];
  bool same = true;
#pragma unroll
  for (int c = 0; c < GROUPS / 2; c++) {
    scales[c] = scale_at(p.a, scales_of(p.a, at.head, first + 32 * c), at.first);
    same = same && bits_of(scales[c]) == bits_of(scales[0]);
  }
  u32 a[GROUPS][MT][4];
  barrier_wait(shared + W_FULL, 0);
#pragma unroll
  for (int i = 0; i < GROUPS; i++) take_w(a[i], shared, first + 16 * i, output, t);
  wait_for_previous_launch();
  float* const sums = (float*)(memory + SUMS_AT);
  int i = 0;
#pragma unroll 1
  for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS, i++) {
    const u32 place = i % PLACES;
    float sum[MT][TOKENS / 2];
    barrier_wait(shared + FULL_AT + 8 * place, i / PLACES & 1);
    multiply(sum, a, scales, same, shared + X_AT + place * PLACE, first);
    if (lane == 0) barrier_arrive(shared + EMPTY_AT + 8 * place);
    if (t0) named_sync(1, THREADS); // the pass before is written
    lay_sums(sum, sums + way * TOKENS * PITCH + output, t);
    named_sync(1, THREADS);
    write_pass(p.a, at, t0, sums, 0);
  }
}
