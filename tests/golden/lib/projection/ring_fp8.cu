// Generated from gen/projection/kernels.lua by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_q_b_ring_fp8_append_86520baa
// parameters:
//   append = 1
//   append_norm = 1
//   append_style = 0
//   dtype = bf16
//   heads = 16
//   nope = 128
//   norm = 1
//   pass = 64
//   per_sm = 1
//   q_rank = 1536
//   rank = 512
//   rope = 64
//   rows = 192
//   split = 1
//   ways = 1
//   weights = 1
// regenerate: lua5.4 gen/cli.lua render mla_q_b/ring_fp8_append target=sm_90a append=1 append_norm=1 append_style=0 dtype=bf16 heads=16 nope=128 norm=1 pass=64 per_sm=1 q_rank=1536 rank=512 rope=64 rows=192 split=1 ways=1 weights=1

#define MLAF_BF16 1
constexpr int LANES = 32;
constexpr bool FIRST_OF_LAYER = false;
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
typedef uint4 word4;
// [21 more lines of templates/lib/projection/machine.h]

MLAF_DEV void unpack(float (&v)[8], word4 x) {
// [11 more lines of templates/lib/projection/machine.h]
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
// [17 more lines of templates/lib/projection/fp8.h]
  return load<float>(scales + 4 * (a.scale_first_column + column >> 7));
}
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_b_ring_fp8_append_86520baa_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 209152, {1, 1, 1},
    145, 0, 0, {0, 0}, 2, {{1, 64, 192, 128}, {2, 64, 64, 128}}};
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
// [10 more lines of templates/lib/wgmma.h]

constexpr int INNER = 1536, OUTER = 3072, TOKENS = 64, TILE = 192, WAYS = 1, SPLIT = 1;
constexpr int GROUPS = 3, WAY = 128 * GROUPS; // warpgroups of a way, 64 outputs each; its threads
constexpr int THREADS = 512, STAGES = 5, STEPS = INNER / 128, SCALES = (TILE + 15) / 16;
constexpr int TILES = (OUTER + TILE - 1) / TILE;
constexpr int PITCH = TILE + 4; // floats of a token's partial sums: neighbours lie in different banks

struct place {
// [18 more lines of templates/lib/projection/block.h]

MLAF_DEV void finish(const mlaf_projection_kernel_args& a, const place& p, i64 t0, const float* sums,
                     const float* squares, float up = 1.0f) {
#pragma unroll 1
// [9 more lines of templates/lib/projection/block.h]
    float square = 0.0f;
#pragma unroll 1
    for (int way = 0; way < WAYS; way++) square += squares[way * TOKENS + token];
    const float factor = inverse_root(multiply_add(square, 0.000651041667f, a.eps)) * up;
#pragma unroll
    for (int k = 0; k < 8; k++) v[k] *= factor;
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column), pack(v));
  }
}

MLAF_DEV word2 words(u32 a, u32 b) { return make_uint2(a, b); }
MLAF_DEV i64 load_past_l1(const i64* at) {
// [21 more lines of templates/mla_append/lib/machine.h]
MLAF_DEV float inverse(float x) { return __frcp_rn(x); }
MLAF_DEV float magnitude(float x) { return fabsf(x); }
MLAF_DEV float larger(float a, float b) { return fmaxf(a, b); }
MLAF_DEV float apart(float x) { return x; }

namespace append {
// [templates/mla_append/lib/args.h]
constexpr int R = 512, ROPE = 64;
constexpr int CHUNKS = R / 8, ROUNDS = (CHUNKS + LANES - 1) / LANES;
constexpr int ITEM_CHUNKS = 1; // of 16 bytes
constexpr int ITEMS = ROPE / (8 * ITEM_CHUNKS);              // of a row
constexpr u32 NOT_NUMBERS = 0x7fc07fc0u;                     // NaN as fp32, two of bf16 and two of f16
constexpr int ANGLES = 4;      // of an item

MLAF_DEV int column_byte(int item, int k) { return 16 * item + k * ROPE; }
// [10 more lines of templates/mla_append/lib/rotate.h]

struct turn {
// [32 more lines of templates/mla_append/lib/rotate.h]
    float &x = v[0][2 * i], &y = v[0][2 * i + 1];
    const float across = apart(y * s), back = apart(x * s);
    x = multiply_add(x, c, -across);
    y = multiply_add(y, c, back);
  }
}


MLAF_DEV u32 quotient(u32 n, u64 inverse) { return (u32)(n * (inverse >> 32) + (n * (inverse & 0xffffffffu) >> 32) >> 32); }

struct place {
  char* latent;
  bool inside;
};
MLAF_DEV place place_of(const mlaf_append_kernel_args& a, i64 slot) {
  const u32 page = quotient((u32)slot, a.page_inverse), row = (u32)slot - page * a.page_tokens;
  place p;
  p.inside = (u64)slot < (u64)a.num_slots;
  p.latent = a.latent + page * a.latent_page + row * a.latent_row;
  return p;
}

MLAF_DEV void append_token(const mlaf_append_kernel_args& a, u32 t, int lane) {
  const i64 *const slot_at = a.slots + t, *const position_at = a.positions + t;
  i64 slot = load_past_l1(slot_at);
  i64 position = load_past_l1(position_at);
  word4 w[ROUNDS];
#pragma unroll
  for (int k = 0; k < ROUNDS; k++)
    w[k] = k * LANES + lane < CHUNKS ? load<word4>(a.weight + 16 * (k * LANES + lane)) : words(0, 0, 0, 0);
  const char* const from = a.ckv + t * a.ckv_stride + 16 * lane;
  ready(from, a.flags & APPEND_NEVER);
  const bool mine = lane < ITEMS;
  const char* const rope_from = a.kpe + t * a.kpe_stride + column_byte(lane, 0);
  ready(rope_from, a.flags & APPEND_NEVER);
  turn angle = load_turn(a, position, lane, mine);
  place to = place_of(a, slot);
  wait_for_previous_launch();
  const i64 slot_now = load<i64>(slot_at);
  const i64 position_now = load<i64>(position_at);
  word4 x[ROUNDS];
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) {
    const int chunk = k * LANES + lane;
    x[k] = words(0, 0, 0, 0);
    if (CHUNKS % LANES == 0 || chunk < CHUNKS) x[k] = load<word4>(from + 16 * k * LANES);
  }
  rope_item item = {};
  if (mine) item = load_item(rope_from, 0);
  float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
// [9 more lines of templates/mla_append/lib/token.h]
  if (__builtin_expect(slot_now != slot, 0)) to = place_of(a, slot_now);
  if (__builtin_expect(position_now != position, 0)) angle = load_turn(a, position_now, lane, mine);
  if (!to.inside) return;

#pragma unroll
  for (int d = 2; d < LANES; d *= 2) sum += exchange(sum, lane, d);
  const float factor = inverse_root(multiply_add(sum, 0.001953125f, a.eps));
  char* const rope = to.latent + 1024;
  const bool wanted = mine && a.kpe_out;
  float v[ITEM_CHUNKS][8]; // of all lanes, mine or not: without a branch this runs between the norm's exchanges
#pragma unroll
  for (int k = 0; k < ITEM_CHUNKS; k++) unpack(v[k], item.x[k]);
  rotate(v, angle, a.flags & APPEND_TABLE_16);
#pragma unroll
  for (int k = 0; k < ITEM_CHUNKS; k++) item.x[k] = pack(v[k]);
#pragma unroll
  for (int k = 0; k < ITEM_CHUNKS; k++) {
    if (wanted) store(a.kpe_out + t * a.kpe_out_stride + column_byte(lane, k), item.x[k]);
    if (mine) store(rope + column_byte(lane, k), item.x[k]);
  }
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) {
    const int chunk = k * LANES + lane;
    const bool there = CHUNKS % LANES == 0 || chunk < CHUNKS;
    float v[8];
    unpack(v, x[k]);
    float g[8];
    unpack(g, w[k]);
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = there ? v[i] * g[i] * factor : 0.0f; // the factor comes last
    if (there) store(to.latent + 16 * chunk, pack(v));
  }
}
} // namespace append
// [16 more lines of templates/lib/projection/side.h]
constexpr int SQUARES_AT = WAYS * TOKENS * PITCH;

MLAF_DEV void add4(float (&v)[4], const float4& x) { v[0] += x.x, v[1] += x.y, v[2] += x.z, v[3] += x.w; }

constexpr int OCTETS = TILE / 8, ITEMS_OF_PASS = TOKENS * OCTETS; // eight outputs of a token each

MLAF_DEV void write_pass(const mlaf_projection_kernel_args& a, const place& p, i64 t0, float* sums,
                         int rank, float up = 1.0f) {
#pragma unroll (WAYS == 1 ? 2 : 1)
  for (int i = (int)my_thread(); i < ITEMS_OF_PASS; i += WAY * WAYS) {
    const int token = i / OCTETS, column = i % OCTETS * 8;
    if (t0 + token >= a.tokens || (OUTER % TILE != 0 && p.first + column >= OUTER)) continue;
    float v[2][4] = {};
    float square = 0.0f;
#pragma unroll
    for (int way = 0; way < WAYS; way++) {
      const float4* const from = (const float4*)(sums + (way * TOKENS + token) * PITCH + column);
      add4(v[0], from[0]);
      add4(v[1], from[1]);
      square += sums[SQUARES_AT + way * TOKENS + token];
    }
    const float factor = inverse_root(multiply_add(square, 0.000651041667f, a.eps)) * up;
#pragma unroll
    for (int k = 0; k < 8; k++) v[k / 4][k % 4] *= factor;
    store(p.y + (t0 + token) * a.y_token + 2 * (p.first + column),
          words(pack2(v[0][0], v[0][1]), pack2(v[0][2], v[0][3]), pack2(v[1][0], v[1][1]), pack2(v[1][2], v[1][3])));
  }
}
constexpr int W_AT = TOKENS * 256, W_BYTES = TILE * 128, STAGE = W_AT + W_BYTES; // in a stage
constexpr int FULL_AT = 204800, X_AT = FULL_AT + 8 * STAGES, EMPTY_AT = X_AT + 8 * STAGES; // W is there; x; room
constexpr int SCALES_AT = 208000;
constexpr int GAIN_AT = 204928, PARTS_AT = SQUARES_AT + WAYS * TOKENS; // of squares: floats, behind their sums
constexpr int SQUARERS = GROUPS == 3 ? 256 : WAY; // threads of a way that square x: each as much of it
constexpr int W_WARP = 4 * GROUPS * WAYS, X_WARP = W_WARP + 1;

// [templates/lib/projection/places.h]

MLAF_DEV void load_w(const mlaf_projection_params& p, u32 shared, const place& at, int step, const ring& r) {
// [21 more lines of templates/lib/projection/ring_fp8.h]

MLAF_DEV u32 times(u32 a, u32 b) {
// [27 more lines of templates/lib/projection/ring_fp8.h]
MLAF_DEV u32 load_2(u32 at) {
// [9 more lines of templates/lib/projection/ring_fp8.h]
MLAF_DEV void take_w(u32 (&a)[4][4], u32 w, int half, int g, u32 gain) {
  u32 codes[4][4];
#pragma unroll
  for (int j = 0; j < 4; j++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      codes[j][i] = load_2(w + (4 * half + j ^ g) * 16 + (i & 1) * (8 * 128) + (i >> 1) * 8); // 16 values, swizzled
  u32 gains[4][2];
#pragma unroll
  for (int j = 0; j < 4; j++)
#pragma unroll
    for (int i = 0; i < 2; i++) gains[j][i] = load_word(gain + 128 * half + 32 * j + 16 * i);
#pragma unroll
  for (int j = 0; j < 4; j++)
#pragma unroll
    for (int i = 0; i < 4; i++) a[j][i] = times(expand2<0>(codes[j][i]), gains[j][i >> 1]);
}
// [25 more lines of templates/lib/projection/ring_fp8.h]
  const u32 row = W_AT + (16 * warp + g) * 128 + 2 * t, gain = shared + GAIN_AT + 4 * t;
  float part[TOKENS / 2], square = 0.0f;
// [20 more lines of templates/lib/projection/ring_fp8.h]
    square = add_squares(square, at, thread % WAY);
    barrier_wait(full, next.lap);
// [21 more lines of templates/lib/projection/ring_fp8.h]
  const float square = args.scale_first_column % 128 == 0
    ? multiply_steps<true>(total, memory, shared, begin, begin + first, end, thread, r)
// [12 more lines of templates/lib/projection/ring_fp8.h]
  ((float*)memory)[PARTS_AT + thread] = square;
}
MLAF_DEV void add_parts(float* memory, int thread) {
  if (thread < WAYS * TOKENS) {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < SQUARERS / TOKENS; i++) sum += memory[PARTS_AT + thread / TOKENS * WAY + i * TOKENS + thread % TOKENS];
    memory[SQUARES_AT + thread] = sum;
  }
}

MLAF_DEV void load_pass(const mlaf_projection_params& p, u32 shared, const place& at, int begin, int end, i64 t0, int warp,
// [14 more lines of templates/lib/projection/load_pass.h]

extern "C" __global__ void __launch_bounds__(512, 1) mlaf_mla_q_b_ring_fp8_append_86520baa(
    const __grid_constant__ beside<mlaf_projection_params> p) {
  extern __shared__ __align__(1024) char memory[];
  if (!FIRST_OF_LAYER) let_next_launch_start();
  if (appended(p, TILES * SPLIT)) return;
  const u32 shared = shared_address(memory);
// [14 more lines of templates/lib/projection/ring_fp8.h]
  lay_gain(p.a, memory, thread);
  __syncthreads();
  if (warp > W_WARP) wait_for_previous_launch();
  if (FIRST_OF_LAYER && warp > W_WARP) let_next_launch_start();
  if (warp >= W_WARP) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
#pragma unroll 1
    for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS) {
      load_pass(p, shared, at, begin, end, t0, warp, thread, r);
      for (int i = 0; i < 3; i++) __syncthreads(); // the ring is done with; sums are there
      __syncthreads(); // sums are written
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
#pragma unroll 1
  for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS) {
    multiply_pass(p.a, memory, shared, begin, end, thread, r);
    __syncthreads();
    add_parts((float*)memory, thread);
    __syncthreads();
    write_pass(p.a, at, t0, (float*)memory, rank);
    fence_async(); // copies of the next pass come to where the sums are
    __syncthreads();
  }
}
