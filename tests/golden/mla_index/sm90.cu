// Generated from templates/mla_index/sm90.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_index_sm90_b784bdfa
// parameters:
//   groups = 2
//   heads = 64
//   part = 2048
// regenerate: lua5.4 gen/cli.lua render mla_index/sm90 target=sm_90a groups=2 heads=64 part=2048


#define MLAF_BF16 0
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

constexpr u32 SWIZZLE_128 = 64 | 1u << 30, SWIZZLE_64 = 32 | 2u << 30;
MLAF_DEV u32 k_major(u32 at) { return (at & 0x3ffff) >> 4 | 1u << 16; }
MLAF_DEV u32 n_major(u32 at, u32 bytes_per_64_columns) { return (at & 0x3ffff) >> 4 | bytes_per_64_columns >> 4 << 16; }

template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_rs(float (&d)[32], const u32 (&a)[4], u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %37, 0;\nmov.b64 b, {%36, %38};\n"
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16\n{"
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
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16\n{"
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
// [templates/mla_index/lib/args.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_index_sm90_b784bdfa_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 84416, {1, 1, 1},
    1, 0, 0, {0, 0}, 0, {}};
struct mlaf_tensor_map; // none is used
// [templates/lib/hopper.h]

constexpr int H = 64, GROUPS = 2, MATH = 128 * GROUPS, TOKENS = 2048, STEP = 64;
constexpr int SLAB = H * 128; // bytes: 64 columns of all heads, rows of 128 bytes swizzled
constexpr int STAGES = 8, KEYS = 128 * STEP, SCALES = 4 * STEP;

struct shared_memory {
  char queries[2 * SLAB];
  char keys[STAGES][KEYS];
  float scales[STAGES][STEP];
  alignas(8) float weights[H];
  u32 there[STAGES][STEP / 32];
  u64 full[STAGES], empty[STAGES];
};
constexpr int KEYS_AT = AT(keys), SCALES_AT = AT(scales), FULL_AT = AT(full), EMPTY_AT = AT(empty);
enum { QUERIES = 1 }; // a named barrier
static_assert(sizeof(shared_memory) == 84416, "differs from gen/ops/mla_index/shape.lua");

MLAF_DEV shared_memory& memory() {
  extern __shared__ __align__(1024) char all_memory[];
  return *(shared_memory*)all_memory;
}

MLAF_DEV float positive(float x) { // NaN stays
  float y;
  asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(y) : "f"(x));
  return y;
}
MLAF_DEV u32 word_of(word4 x, int i) { return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w; }
MLAF_DEV word4 load_16(u32 at) {
  word4 x;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"(at) : "memory");
  return x;
}

MLAF_DEV void copy_bytes(u32 to, const char* from, int bytes, u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
               ::"r"(to), "l"(from), "r"(bytes), "r"(barrier), "l"(EVICT_FIRST) : "memory");
}
MLAF_DEV void expect_more(u32 at, u32 bytes) { // does not arrive
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}
MLAF_DEV void copy_4(u32 to, const char* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}
MLAF_DEV void arrive_behind_copies(u32 at) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(at) : "memory");
}

MLAF_DEV int id_of(const mlaf_index_kernel_args& a, const char* table, int at, int end) {
  const int id = at < end ? load<int>(table + 4ul * page_of(a, at)) : -1;
  return id < a.num_pages ? id : -1;
}

MLAF_DEV void load_steps(const mlaf_index_kernel_args& a, u32 shared, const char* table, int first, int end, int lane) {
  u32 stage = 0, lap = 1;
  int ids = 0, next = id_of(a, table, first + STEP * lane, end);
#pragma unroll 1
  for (int at = first, i = 0; at < end; at += STEP, i = (i + 1) % 32) {
    if (i == 0) ids = next, next = id_of(a, table, at + STEP * (32 + lane), end);
    const int id = __shfl_sync(~0u, ids, i);
    if (lane == 0) {
      const u32 full = shared + FULL_AT + 8 * stage, page = page_of(a, at);
      const place p = place_in(a, id, page, at);
      barrier_wait(shared + EMPTY_AT + 8 * stage, lap);
      memory().there[stage][0] = memory().there[stage][1] = p.key ? ~0u : 0;
      if (p.key) {
        barrier_expect(full, KEYS + SCALES);
        copy_bytes(shared + KEYS_AT + KEYS * stage, p.key, KEYS, full);
        copy_bytes(shared + SCALES_AT + SCALES * stage, p.scale, SCALES, full);
      } else barrier_arrive(full);
    }
    if (++stage == STAGES) stage = 0, lap ^= 1;
  }
}

MLAF_DEV void load_tokens(const mlaf_index_kernel_args& a, u32 shared, const char* table, int first, int end, int lane) {
  u32 stage = 0, lap = 1;
  int next[2] = {id_of(a, table, first + lane, end), id_of(a, table, first + lane + 32, end)};
#pragma unroll 1
  for (int at = first; at < end; at += STEP) {
    const u32 full = shared + FULL_AT + 8 * stage;
    place p[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int mine = at + lane + 32 * i;
      p[i] = place_in(a, next[i], page_of(a, mine), mine);
      next[i] = id_of(a, table, mine + STEP, end);
    }
    barrier_wait(shared + EMPTY_AT + 8 * stage, lap);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const u32 there = __ballot_sync(~0u, p[i].key != nullptr);
      if (lane == 0) memory().there[stage][i] = there;
      if (!p[i].key) continue;
      expect_more(full, 128);
      copy_bytes(shared + KEYS_AT + KEYS * stage + 128 * (lane + 32 * i), p[i].key, 128, full);
      copy_4(shared + SCALES_AT + SCALES * stage + 4 * (lane + 32 * i), p[i].scale);
    }
    arrive_behind_copies(full);
    if (lane == 0) barrier_arrive(full);
    if (++stage == STAGES) stage = 0, lap ^= 1;
  }
}

MLAF_DEV void prepare(const mlaf_index_kernel_args& a, u32 t, int thread) {
  shared_memory& s = memory();
  for (int i = thread; i < 8 * H; i += MATH) { // instruction i % 4 of 64 columns of a head
    const int head = i / 8, c = i / 4 % 2;
    const char* from = a.q + t * a.q_token + head * a.q_head + 64 * c + 4 * (i % 4);
    u32 low[4], high[4];
#pragma unroll
    for (int g = 0; g < 4; g++) {
      const u32 w = load<u32>(from + 16 * g);
      low[g] = expand2<0>(w);
      high[g] = expand2<1>(w);
    }
    char* row = s.queries + c * SLAB + 128 * head;
    *(word4*)(row + 16 * (2 * (i % 4) ^ head % 8)) = words(low[0], low[1], low[2], low[3]);
    *(word4*)(row + 16 * (2 * (i % 4) + 1 ^ head % 8)) = words(high[0], high[1], high[2], high[3]);
  }
  for (int i = thread; i < H; i += MATH) s.weights[i] = load<float>(a.w + t * a.w_token + 4 * i);
  fence_async();
  named_sync(QUERIES, MATH);
}

MLAF_DEV void load_keys(word4 (&x)[2][2], u32 keys, int lane) {
#pragma unroll
  for (int row = 0; row < 2; row++)
#pragma unroll
    for (int c = 0; c < 2; c++) x[row][c] = load_16(keys + 128 * (8 * row + lane / 4) + 64 * c + 16 * (lane % 4));
}

MLAF_DEV void multiply(float (&d)[H / 2], const word4 (&x)[2][2], u32 queries) {
  u32 k[8][4];
#pragma unroll
  for (int i = 0; i < 8; i++)
#pragma unroll
    for (int row = 0; row < 2; row++) {
      const u32 w = word_of(x[row][i / 4], i % 4);
      k[i][row] = expand2<0>(w);
      k[i][2 + row] = expand2<1>(w);
    }
  wgmma_fence();
#pragma unroll
  for (int i = 0; i < 8; i++) wgmma_rs(d, k[i], queries + i / 4 * (SLAB / 16) + 2 * (i % 4), i > 0);
  wgmma_commit();
  wgmma_wait<0>();
  settle(d);
}

MLAF_DEV float sum_heads(const float (&d)[H / 2], const float* weights, int lane) {
  float sum[2] = {};
#pragma unroll
  for (int i = 0; i < H / 8; i++) {
    const float2 w = *(const float2*)(weights + 8 * i + 2 * (lane % 4));
#pragma unroll
    for (int row = 0; row < 2; row++) {
      sum[row] = multiply_add(w.x, positive(d[4 * i + 2 * row]), sum[row]);
      sum[row] = multiply_add(w.y, positive(d[4 * i + 2 * row + 1]), sum[row]);
    }
  }
#pragma unroll
  for (int row = 0; row < 2; row++) {
    sum[row] += exchange(sum[row], lane, 1);
    sum[row] += exchange(sum[row], lane, 2);
  }
  return lane % 4 ? sum[1] : sum[0];
}

MLAF_DEV void work(const mlaf_index_kernel_args& a, u32 shared, u32 t, int first, int end, int thread) {
  const shared_memory& s = memory();
  const int lane = thread % 32, warp = thread / 32 % 4, group = lane % 4;
  const int mine = 16 * warp + 8 * group + lane / 4;
  const u32 queries = k_major(shared);
  char* out = a.logits + t * a.logits_token + 4 * (i64)mine;
  u32 stage = thread / 128, lap = 0;
#pragma unroll 1
  for (int at = first + STEP * (thread / 128); at < end; at += STEP * GROUPS) {
    word4 x[2][2];
    barrier_wait(shared + FULL_AT + 8 * stage, lap);
    load_keys(x, shared + KEYS_AT + KEYS * stage + 128 * 16 * warp, lane);
    const float scale = load_4(shared + SCALES_AT + SCALES * stage + 4 * (group < 2 ? mine : 0));
    const bool there = s.there[stage][warp / 2] >> mine % 32 & 1;
    __syncwarp();
    if (lane == 0) barrier_arrive(shared + EMPTY_AT + 8 * stage);
    if ((stage += GROUPS) >= STAGES) stage -= STAGES, lap ^= 1;
    float d[H / 2];
    multiply(d, x, queries);
    const float logit = sum_heads(d, s.weights, lane) * scale;
    if (group < 2 && at + mine < end)
      store(out + 4 * (i64)at, there ? logit == logit ? bits_of(logit) : 0x7fc00000u : ABSENT);
  }
}

extern "C" __global__ void __launch_bounds__(288, 2) mlaf_mla_index_sm90_b784bdfa(const mlaf_index_kernel_args a) {
  const int thread = (int)my_thread();
  const u32 t = my_block() % a.tokens, shared = shared_address(&memory());
  const int first = (int)(my_block() / a.tokens) * TOKENS;
  const bool whole = a.page_tokens % STEP == 0;
  if (thread == 0) {
    for (int i = 0; i < STAGES; i++) {
      barrier_init(shared + FULL_AT + 8 * i, whole ? 1 : 33); // 32 behind their copies
      barrier_init(shared + EMPTY_AT + 8 * i, 4);
    }
    barriers_ready();
  }
  __syncthreads();
  let_next_launch_start();
  wait_for_previous_launch();
  const int length = length_of(a, t), end = smaller(length, first + TOKENS);
  if (first >= end) return;
  if (thread < MATH) {
    prepare(a, t, thread);
    work(a, shared, t, first, end, thread);
  } else if (whole) load_steps(a, shared, table_of(a, t), first, end, thread - MATH);
  else load_tokens(a, shared, table_of(a, t), first, end, thread - MATH);
}
