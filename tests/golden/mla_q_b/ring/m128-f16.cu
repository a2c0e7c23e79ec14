// Generated from templates/mla_q_b/ring.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_q_b_ring_68194b17
// parameters:
//   dtype = f16
//   heads = 40
//   nope = 128
//   norm = 0
//   pass = 128
//   per_sm = 1
//   q_rank = 1536
//   rope = 64
//   rows = 192
//   split = 1
//   ways = 1
// regenerate: lua5.4 gen/cli.lua render mla_q_b/ring target=sm_90a dtype=f16 heads=40 nope=128 norm=0 pass=128 per_sm=1 q_rank=1536 rope=64 rows=192 split=1 ways=1
// mla_q_b by wgmma and tensor copies: low-rank columns, through RMSNorm where there is one, to query heads.
// A projection by wgmma, for more tokens than registers can feed: weights and x come through a ring in shared memory by tensor
// copies, 64 values of a sum at a time. Tokens are the rows of the product, 64 a warpgroup; a tile's outputs its columns.
//
//   block     a tile of TILE outputs of one head, or a share of its sum (SPLIT blocks, a cluster): warpgroups that multiply, a
//             warp that loads weights, a warp that loads x; where columns turn, two warps that turn the tile's share of them
//   loaders   with a norm, or of short sums, and in tiles that are not wide, a block waits for x: there both warps load W and x,
//             every second step each, and a place of the ring is always the same one's
//   ways      warpgroups with the same tokens take the steps of the sum in turns (WAYS of them): with a norm a step is a chain of
//             x through registers, and one warpgroup alone waits for it at each
//   ring      STAGES of x [TOKENS][64] | W, rows of 128 bytes, swizzled. layout=outputs: W [TILE][64]; inputs: 64 outputs of 64
//             values side by side, [TILE/64][64][64]. Rows of x behind the last token are zeros; rows behind TOKENS are whatever
//             lies there, and so are the results that nobody writes
//   norm      a warp takes its 16 rows of x into registers, squares them for the sum, multiplies by the norm's weights, rounded
//             to 16 bits, and multiplies from there; the factor of a token comes in at the end
//   sums      a token's lie side by side where the ring was; sums.h finishes them
//   tiles     with more than one a block takes tiles of a head one after the other: sums lie behind the ring, so that the next
//             tile's W and x come while they are written
//
// Weights are constants of a layer: the first STAGES of them are asked for before the launch waits for the one before.

#define MLAF_BF16 0
// One text for CUDA and HIP: block and thread numbers, lanes, loads and stores of global memory, packs of eight 16-bit values.
constexpr int LANES = 32;
// A layer's first launch lets the next one start only behind its own wait. So whatever was there before a layer's launches is
// there for all of them but the second, ahead of their own waits, too: mla_decode/sm90_few_ahead reads a cache then.
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
// Weights: each byte is read once by one block, so L1 need not keep it.
MLAF_DEV word4 load_weights(const void* p) {
  word4 x;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(p) : "memory");
  return x;
}
MLAF_DEV float inverse_root(float x) { return rsqrtf(x); }
MLAF_DEV float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }

// Eight 16-bit values as floats, and back, rounded to nearest even.
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
// Two pairs multiplied, each product rounded.
MLAF_DEV u32 multiply2(u32 a, u32 b) { return pack2(unpack_lo(a) * unpack_lo(b), unpack_hi(a) * unpack_hi(b)); }
// [templates/lib/projection/args.h]
// What this kernel wants of its launch, for the runtime to read from the code object: runtime/device/kernel_launch.h says what
// each field means. The includer hands over `shared`, bytes of dynamic shared memory, `cluster`, blocks that work on a tile
// together, `maps`, tensor maps { which of 1 W, 2 x; columns and rows of a box }, and `flags` beside PDL's: 16, it takes scales;
// 64, what it loads ahead wants room in L1.
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_q_b_ring_68194b17_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 204928, {1, 1, 1},
    1, 0, 0, {0, 0}, 2, {{1, 64, 192, 128}, {2, 64, 128, 128}}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_projection_params {
  mlaf_projection_kernel_args a;
  mlaf_tensor_map w, x;
};
// [templates/lib/hopper.h]
// wgmma for 64 rows and N columns, fp32 accumulators; A from registers (_rs) or shared memory (_ss), B from shared memory,
// K-major or, with _t, columns contiguous. The upper words of matrix descriptors are constants here, so that the lower words
// stay in uniform registers. `kinds`: list of { n, trans }; `type`: bf16 or f16.

// Upper words: bytes between groups of 8 rows (16-byte units), swizzle. Rows of 128 bytes (64 columns) or of 64 bytes.
constexpr u32 SWIZZLE_128 = 64 | 1u << 30, SWIZZLE_64 = 32 | 2u << 30;
// Lower words. An address inside a cluster carries the block's number there above these bits.
MLAF_DEV u32 k_major(u32 at) { return (at & 0x3ffff) >> 4 | 1u << 16; }
MLAF_DEV u32 n_major(u32 at, u32 bytes_per_64_columns) { return (at & 0x3ffff) >> 4 | bytes_per_64_columns >> 4 << 16; }

template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_rs(float (&d)[96], const u32 (&a)[4], u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %101, 0;\nmov.b64 b, {%100, %102};\n"
    "wgmma.mma_async.sync.aligned.m64n192k16.f32.f16.f16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63,"
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79,"
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}, "
    "{%96, %97, %98, %99}, b, p, 1, 1, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
      "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
      "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
      "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
      "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
      "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
      "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
      "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
      "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((int)accumulate), "n"(B_HI));
}
template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_ss(float (&d)[96], u32 a, u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %98, 0;\nmov.b64 b, {%97, %99};\n"
    "mov.b64 a, {%96, %100};\n"
    "wgmma.mma_async.sync.aligned.m64n192k16.f32.f16.f16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63,"
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79,"
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}, "
    "a, b, p, 1, 1, 0, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
      "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
      "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
      "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
      "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
      "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
      "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
      "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
      "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
    : "r"(a), "r"(b), "r"((int)accumulate), "n"(B_HI), "n"(SWIZZLE_128));
}

MLAF_DEV void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
MLAF_DEV void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N>
MLAF_DEV void wgmma_wait() { // until at most N groups are in flight
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
// The compiler must not move uses of accumulators across this point.
template <int N>
MLAF_DEV void settle(float (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; i++) asm volatile("" : "+f"(x[i])::"memory");
}

constexpr int INNER = 1536, OUTER = 7680, TOKENS = 128, TILE = 192, WAYS = 1, SPLIT = 1;
constexpr int THREADS = 320, STAGES = 5, STEPS = INNER / 64;
constexpr int WAY_WARPS = 8, MATH_WARPS = WAYS * WAY_WARPS; // that multiply a step, and all
// What every projection kernel has: y[t, h, :] = W[h] x[t, h, :], of a block's TILE outputs of one head, in passes of TOKENS
// tokens. Blocks are numbered head by head, tile by tile. Partial sums of WAYS shares of the contraction meet in shared memory.
constexpr int TILES = (OUTER + TILE - 1) / TILE;
constexpr int PITCH = TILE + 4; // floats of a token's partial sums: neighbours lie in different banks

// A block's place in the problem, and where its head's tensors begin.
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

// The row of a pass' token; those behind the last one read the last one's.
MLAF_DEV const char* row_of_x(const mlaf_projection_kernel_args& a, const place& p, i64 t) {
  return p.x + (t < a.tokens ? t : a.tokens - 1) * a.x_token;
}

// Sums [WAYS][TOKENS][PITCH] and, with a norm, sums of squares [WAYS][TOKENS]: added up, finished, rounded once, written.
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
// The end of a pass for kernels of NVIDIA: partial sums of WAYS warps, and of SPLIT blocks of a cluster, are added up in a fixed
// order, finished and written. Sums [WAYS][TOKENS][PITCH] and, with a norm, sums of squares [WAYS][TOKENS] lie in shared memory
// one behind the other.

// Four sums of a warp's or block's share, added up.
MLAF_DEV void add4(float (&v)[4], const float4& x) { v[0] += x.x, v[1] += x.y, v[2] += x.z, v[3] += x.w; }

constexpr int OCTETS = TILE / 8, ITEMS_OF_PASS = TOKENS * OCTETS; // eight outputs of a token each

// The sums of a pass: added up, finished, rounded once, written. rank: of this block in its cluster.
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
constexpr int W_AT = TOKENS * 128, W_BYTES = TILE * 128, STAGE = W_AT + W_BYTES; // in a stage
constexpr int FULL_AT = 204800, EMPTY_AT = FULL_AT + 8 * STAGES;
constexpr int W_WARP = MATH_WARPS, X_WARP = MATH_WARPS + 1;
constexpr int TURN_AT = 320, TURN_THREADS = 0;

// The threads that work on sums.
MLAF_DEV void sync_workers() {
  __syncthreads();
}

// [templates/lib/projection/places.h]

// ---- The loaders: a lane each ------------------------------------------------------------------------------------------
MLAF_DEV void load_w(const mlaf_projection_params& p, u32 shared, const place& at, int step, const ring& r) {
  const u32 full = shared + FULL_AT + 8 * r.stage, to = shared + r.stage * STAGE + W_AT;
  const int column = (int)(at.head * p.a.w_head / 2);
  barrier_expect(full, W_BYTES);
  copy_box_once(to, &p.w, column + 64 * step, at.first, full);
}
MLAF_DEV void load_x(const mlaf_projection_params& p, u32 shared, const place& at, int step, i64 t0, const ring& r) {
  const u32 full = shared + FULL_AT + 8 * r.stage;
  barrier_expect(full, TOKENS * 128);
  copy_box(shared + r.stage * STAGE, &p.x, (int)(at.head * p.a.x_head / 2) + 64 * step, (int)t0, full);
}
MLAF_DEV void wait_empty(u32 shared, const ring& r) { barrier_wait(shared + EMPTY_AT + 8 * r.stage, r.lap ^ 1); }

// ---- Math --------------------------------------------------------------------------------------------------------------

struct stage_at {
  u32 x, w; // address of x, descriptor of W
};
MLAF_DEV stage_at wait_full(u32 shared, const ring& r) {
  const u32 at = shared + r.stage * STAGE;
  barrier_wait(shared + FULL_AT + 8 * r.stage, r.lap);
  return {at, k_major(at + W_AT)};
}

MLAF_DEV void multiply_pass(char* memory, u32 shared, int begin, int end, int thread, ring& all) {
  const int lane = thread & 31, warp = __shfl_sync(~0u, thread >> 5, 0);
  ring& r = all;
  float d[TILE / 2];
#pragma unroll
  for (int i = 0; i < TILE / 2; i++) d[i] = 0.0f;
  settle(d);
  u32 before = 0; // barrier of the step whose products may still run
#pragma unroll 1
  for (int step = begin; step < end; step += WAYS, r.advance<WAYS>()) {
    const stage_at s = wait_full(shared, r);
    const u32 x = k_major(s.x + warp / 4 * (64 * 128));
    wgmma_fence();
#pragma unroll
    for (int j = 0; j < 4; j++) wgmma_ss(d, x + 2 * j, s.w + 2 * j, true);
    wgmma_commit();
    wgmma_wait<1>(); // the step before is done
    if (before) give_back(before, lane);
    before = shared + EMPTY_AT + 8 * r.stage;
  }
  wgmma_wait<0>();
  settle(d);
  give_back(before, lane);
  sync_workers(); // the ring is done with
  const int row = 16 * warp + (lane >> 2);
  float* const sums = (float*)(memory);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    if (TOKENS % 64 != 0 && row + 8 * h >= TOKENS) continue;
    float* const to = sums + (row + 8 * h) * PITCH + 2 * (lane & 3);
#pragma unroll
    for (int i = 0; i < TILE / 8; i++) *(float2*)(to + 8 * i) = make_float2(d[4 * i + 2 * h], d[4 * i + 2 * h + 1]);
  }
}

extern "C" __global__ void __launch_bounds__(320, 1) mlaf_mla_q_b_ring_68194b17(
    const __grid_constant__ mlaf_projection_params p) {
  extern __shared__ __align__(1024) char memory[];
  if (!FIRST_OF_LAYER) let_next_launch_start();
  const u32 shared = shared_address(memory);
  const int thread = (int)my_thread(), warp = __shfl_sync(~0u, thread >> 5, 0), rank = (int)(my_block() % SPLIT);
  const place at = place_of(p.a, my_block() / SPLIT);
  const int begin = STEPS * rank / SPLIT, end = STEPS * (rank + 1) / SPLIT;
  ring r = {0, 0};
  if (thread == 32 * W_WARP) {
    for (int i = 0; i < STAGES; i++) {
      barrier_init(shared + FULL_AT + 8 * i, 2);
      barrier_init(shared + EMPTY_AT + 8 * i, WAY_WARPS);
    }
    barriers_ready();
    // Nothing is in the ring yet, and who waits for these copies does so behind the barrier below.
    for (int i = 0; i < STAGES && begin + i < end; i++, r.next()) load_w(p, shared, at, begin + i, r);
  }
  __syncthreads();
  if (warp != W_WARP) wait_for_previous_launch();
  if (FIRST_OF_LAYER && warp != W_WARP) let_next_launch_start();
#pragma unroll 1
  for (i64 t0 = 0; t0 < p.a.tokens; t0 += TOKENS) {
    if (warp == W_WARP) {
      if (thread == 32 * W_WARP)
        for (int step = t0 ? begin : begin + STAGES; step < end; step++, r.next()) {
          wait_empty(shared, r);
          load_w(p, shared, at, step, r);
        }
      __syncwarp();
      wait_for_previous_launch();
    } else if (warp == X_WARP) {
      if (thread == 32 * X_WARP)
        for (int step = begin; step < end; step++, r.next()) {
          wait_empty(shared, r);
          load_x(p, shared, at, step, t0, r);
        }
      __syncwarp();
    } else {
      multiply_pass(memory, shared, begin, end, thread, r);
    }
    if (warp >= W_WARP) sync_workers(); // the ring is done with
    sync_workers();
    write_pass(p.a, at, t0, (float*)memory, rank);
    fence_async(); // copies of the next pass come to where the sums are
    sync_workers();
  }
}
