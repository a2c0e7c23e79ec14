// Generated from templates/mla_gather_kv_b/sm90.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_gather_kv_b_sm90_4e5cee55
// parameters:
//   cluster = 2
//   dtype = bf16
//   heads = 128
//   layout = paged
//   nope = 128
//   rank = 512
//   rope = 64
//   rotate = 0
//   vdim = 128
// regenerate: lua5.4 gen/cli.lua render mla_gather_kv_b/sm90 target=sm_90a cluster=2 dtype=bf16 heads=128 layout=paged nope=128 rank=512 rope=64 rotate=0 vdim=128


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
struct mlaf_gather_kv_b_kernel_args {
  const char* cache;
  union {
    const float* scale_at;
    const char* kpe;
  };
  const int* table;
  const int* table_indptr;
  const int* cu_seqlens;
  const int* seq_starts;
  const char* w;
  char* k;
  char* v;
  char* k_pe;
  i64 cache_row, cache_page, num_pages, table_stride;
  i64 w_row, w_head;
  i64 k_token, k_head, v_token, v_head, k_pe_token, k_pe_head;
  i64 tokens;
  int batch, table_width;
  u32 page_tokens, shares;
  float scale;
  u32 kpe_row;
};
static_assert(sizeof(mlaf_gather_kv_b_kernel_args) == 208, "differs from runtime/ops/mla_gather_kv_b/launch.h");
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_gather_kv_b_sm90_4e5cee55_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 230560, {2, 1, 1},
    1, 0, 0, {0, 0}, 1, {{1, 64, 64, 128}}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_gather_kv_b_params {
  mlaf_gather_kv_b_kernel_args a;
  mlaf_tensor_map w;
};
// [templates/lib/hopper.h]

constexpr u32 SWIZZLE_128 = 64 | 1u << 30, SWIZZLE_64 = 32 | 2u << 30;
MLAF_DEV u32 k_major(u32 at) { return (at & 0x3ffff) >> 4 | 1u << 16; }
MLAF_DEV u32 n_major(u32 at, u32 bytes_per_64_columns) { return (at & 0x3ffff) >> 4 | bytes_per_64_columns >> 4 << 16; }

template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_rs(float (&d)[64], const u32 (&a)[4], u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %69, 0;\nmov.b64 b, {%68, %70};\n"
    "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
    "{%64, %65, %66, %67}, b, p, 1, 1, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
      "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
      "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
      "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
      "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((int)accumulate), "n"(B_HI));
}
template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_ss(float (&d)[64], u32 a, u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %66, 0;\nmov.b64 b, {%65, %67};\n"
    "mov.b64 a, {%64, %68};\n"
    "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
    "a, b, p, 1, 1, 0, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
      "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
      "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
      "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
      "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
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

MLAF_DEV float half_value(unsigned short x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
constexpr int H = 128, N = 128, OUT = 256, R = 512, ROPE = 64;
constexpr int TOKENS = 128, COLS = 128, OF_HEAD = OUT / COLS, TILES = H * OF_HEAD, SLABS = R / 64;
constexpr int STAGES = 6, CLUSTER = 2, SLAB = TOKENS * 128, STEP = COLS * 128, MATH = 256, WG_WARPS = 4;

constexpr i64 NO_TOKEN = -2, NO_ROW = -1;
MLAF_DEV i64 find_row(const mlaf_gather_kv_b_kernel_args& a, i64 t) {
  if (t >= a.tokens || a.batch <= 0 || t < load<int>(a.cu_seqlens)) return NO_TOKEN;
  int low = 0, high = a.batch - 1; // the last request that begins at t or before
  while (low < high) {
    const int middle = (low + high + 1) >> 1;
    if (load<int>(a.cu_seqlens + middle) <= t) low = middle;
    else high = middle - 1;
  }
  if (t >= load<int>(a.cu_seqlens + low + 1)) return NO_TOKEN;
  const i64 position = t - load<int>(a.cu_seqlens + low) + (a.seq_starts ? load<int>(a.seq_starts + low) : 0);
  const u32 in = (u32)position / a.page_tokens; // of a negative position more than any table has
  i64 first = low * a.table_stride, width = a.table_width;
  if (a.table_indptr) {
    first = load<int>(a.table_indptr + low);
    width = load<int>(a.table_indptr + low + 1) - first;
  }
  if (first < 0 || in >= width) return NO_ROW;
  const i64 page = load<int>(a.table + first + in);
  if ((u64)page >= (u64)a.num_pages) return NO_ROW;
  return page * a.cache_page + (i64)((u32)position - in * a.page_tokens) * a.cache_row;
}


MLAF_DEV float tidy(float x) { return x == x ? x : not_a_number(); }
MLAF_DEV word4 nan8() {
  const u32 two = pack2(not_a_number(), not_a_number());
  return words(two, two, two, two);
}

MLAF_DEV word4 latent8(const mlaf_gather_kv_b_kernel_args& a, i64 row, int c) {
  if (row < 0) return row == NO_TOKEN ? words(0, 0, 0, 0) : nan8();
  return load<word4>(a.cache + row + 16 * c);
}

MLAF_DEV float scale_behind(const mlaf_gather_kv_b_kernel_args& a) {
  return 1.0f;
}

MLAF_DEV word4 rope8(const mlaf_gather_kv_b_kernel_args& a, i64 row, int c, float scale) {
  if (row < 0) return nan8();
  return load<word4>(a.cache + row + 2 * R + 16 * c);
}


MLAF_DEV void store_rope8(const mlaf_gather_kv_b_kernel_args& a, i64 t, i64 row, int c, u32 share, float scale) {
  const word4 x = rope8(a, row, c, scale);
  char* const to = a.k_pe + t * a.k_pe_token + 16 * c;
  for (u32 h = share; h < (a.k_pe_head ? H : 1u); h += a.shares) store(to + h * a.k_pe_head, x);
}

struct target {
  char* at;
  i64 token;
};
MLAF_DEV target target_of(const mlaf_gather_kv_b_kernel_args& a, int f) {
  const int head = f / OUT, i = f % OUT;
  if (i < N) return {a.k + head * a.k_head + 2 * i, a.k_token};
  return {a.v + head * a.v_head + 2 * (i - N), a.v_token};
}

MLAF_DEV const char* row_of_w(const mlaf_gather_kv_b_kernel_args& a, int f) {
  return a.w + f / OUT * a.w_head + f % OUT * a.w_row;
}

struct shared_memory {
  char x[SLABS][SLAB], w[STAGES][STEP]; // swizzled
  i64 rows[TOKENS];
  u64 slab_full[SLABS], full[STAGES], empty[STAGES];
};
constexpr int X_AT = AT(x), W_AT = AT(w), ROWS_AT = AT(rows), SLAB_FULL_AT = AT(slab_full), FULL_AT = AT(full);
constexpr int EMPTY_AT = AT(empty);
static_assert(sizeof(shared_memory) == 230560, "its plan counts otherwise");
enum { ROWS_FOUND = 1, TURN = 2 }; // named barriers; TURN: a warpgroup's each

MLAF_DEV char* memory() {
  extern __shared__ __align__(1024) char all_memory[];
  return all_memory;
}

struct ring {
  int stage;
  u32 lap; // parity of the place's use
  __device__ __forceinline__ void next() {
    if (++stage == STAGES) stage = 0, lap ^= 1;
  }
  __device__ __forceinline__ void advance(int steps) {
    stage += steps;
    while (stage >= STAGES) stage -= STAGES, lap ^= 1;
  }
};

MLAF_DEV void copy_box_to_pair(u32 to, const mlaf_tensor_map* map, int column, int row, u32 barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint "
               "[%0], [%1, {%2, %3}], [%4], %5, %6;"
               ::"r"(to), "l"(map), "r"(column), "r"(row), "r"(barrier), "h"((unsigned short)3), "l"(EVICT_LAST) : "memory");
}
MLAF_DEV void barrier_arrive_there(u32 at) { // at: by cluster_address()
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(at) : "memory");
}
MLAF_DEV void sync_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

MLAF_DEV void load_w(const mlaf_gather_kv_b_params& p, u32 shared, int first, int last, u32 rank) {
  ring at = {0, 0};
#pragma unroll 1
  for (int tile = first; tile < last; tile++) {
    const int column = (int)(tile / OF_HEAD * (p.a.w_head / 2)), row = tile % OF_HEAD * COLS;
#pragma unroll 1
    for (int k = 0; k < SLABS; k++, at.next()) {
      const u32 full = shared + FULL_AT + 8 * at.stage, to = shared + W_AT + at.stage * STEP;
      barrier_wait(shared + EMPTY_AT + 8 * at.stage, at.lap ^ 1);
      barrier_expect(full, STEP);
      copy_box_to_pair(to + rank * (STEP / 2), &p.w, column + 64 * k, row + (int)rank * (COLS / 2), full);
    }
  }
}

struct math {
  u32 shared;
  int thread, lane, warp, wg; // thread of both warpgroups; warp of its own; warpgroup 0, 1
  u32 real;               // bit 2m+h: there is a token in row 64m + 8h of this lane's
  ring at;
};

constexpr int SHARE = TOKENS * 8 / MATH;
MLAF_DEV u32 share_at(int thread, int i) {
  const int row = thread / 8 + i * (MATH / 8);
  return (u32)(row * 128 + ((thread ^ row) & 7) * 16);
}
MLAF_DEV void put16(u32 at, word4 x) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
}

MLAF_DEV void gather(const mlaf_gather_kv_b_kernel_args& a, u32 shared, int thread) {
  const i64* const rows = (const i64*)(memory() + ROWS_AT);
#pragma unroll
  for (int k = 0; k < SLABS; k++) {
#pragma unroll
    for (int i = 0; i < SHARE; i++) {
      const i64 row = rows[thread / 8 + i * (MATH / 8)];
      const u32 to = shared + X_AT + k * SLAB + share_at(thread, i);
      if (row < 0) put16(to, row == NO_TOKEN ? words(0, 0, 0, 0) : nan8());
      else
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(a.cache + row + 128 * k + 16 * (thread & 7))
                     : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
}
MLAF_DEV void wait_for_share(int k) {
  if (k == 0) asm volatile("cp.async.wait_group 7;" ::: "memory");
  if (k == 1) asm volatile("cp.async.wait_group 6;" ::: "memory");
  if (k == 2) asm volatile("cp.async.wait_group 5;" ::: "memory");
  if (k == 3) asm volatile("cp.async.wait_group 4;" ::: "memory");
  if (k == 4) asm volatile("cp.async.wait_group 3;" ::: "memory");
  if (k == 5) asm volatile("cp.async.wait_group 2;" ::: "memory");
  if (k == 6) asm volatile("cp.async.wait_group 1;" ::: "memory");
  if (k == 7) asm volatile("cp.async.wait_group 0;" ::: "memory");
}

MLAF_DEV void give_share(u32 shared, int k) {
  wait_for_share(k);
  fence_async();
  barrier_arrive(shared + SLAB_FULL_AT + 8 * k);
}

MLAF_DEV void give_back(const math& c, int stage) {
  if (c.lane != 0) return;
  barrier_arrive_there(cluster_address(c.shared + EMPTY_AT + 8 * stage, 0));
  barrier_arrive_there(cluster_address(c.shared + EMPTY_AT + 8 * stage, 1));
}

typedef float sums[COLS / 2]; // of 64 tokens

MLAF_DEV void multiply(math& c, sums& low, sums& high, bool gathers, bool passes) {
  int before = 0;
  settle(low);
  settle(high);
#pragma unroll 1
  for (int k = 0; k < SLABS; k++) {
    if (gathers) {
      give_share(c.shared, k);
      barrier_wait(c.shared + SLAB_FULL_AT + 8 * k, 0);
    }
    const int stage = c.at.stage;
    barrier_wait(c.shared + FULL_AT + 8 * stage, c.at.lap);
    c.at.next();
    if (k + 1 == SLABS && passes) named_arrive(TURN + 1 - c.wg, MATH);
    const u32 x = k_major(c.shared + X_AT + k * SLAB), w = k_major(c.shared + W_AT + stage * STEP);
    wgmma_fence();
#pragma unroll
    for (int j = 0; j < 4; j++) {
      wgmma_ss(low, x + 2 * j, w + 2 * j, k + j > 0);
      wgmma_ss(high, x + 64 * 128 / 16 + 2 * j, w + 2 * j, k + j > 0);
    }
    wgmma_commit();
    if (k > 0) {
      wgmma_wait<1>();
      give_back(c, before);
    }
    before = stage;
  }
  wgmma_wait<0>();
  settle(low);
  settle(high);
  give_back(c, before);
}

MLAF_DEV void transpose_quad(u32 (&w)[4]) {
#pragma unroll
  for (int d = 1; d < 4; d *= 2)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      if (j & d) continue;
      const bool upper = threadIdx.x & d;
      const u32 other = __shfl_xor_sync(~0u, upper ? w[j] : w[j | d], d);
      if (upper) w[j] = other;
      else w[j | d] = other;
    }
}

MLAF_DEV void write_half(const mlaf_gather_kv_b_kernel_args& a, const math& c, int tile, i64 t, u32 real, float scale,
                         const sums& s) {
  const int head = tile / OF_HEAD, first = tile % OF_HEAD * COLS + 8 * (c.lane & 3);
#pragma unroll
  for (int u = 0; u < COLS / 32; u++) {
    const int i = first + 32 * u;
    char* const at = i < N ? a.k + head * a.k_head + 2 * i : a.v + head * a.v_head + 2 * (i - N);
    const i64 token = i < N ? a.k_token : a.v_token;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      u32 w[4];
#pragma unroll
      for (int j = 0; j < 4; j++) w[j] = pack2(s[16 * u + 4 * j + 2 * h] * scale, s[16 * u + 4 * j + 2 * h + 1] * scale);
      transpose_quad(w);
      if (real >> h & 1) store(at + (t + 8 * h) * token, words(w[0], w[1], w[2], w[3]));
    }
  }
}

MLAF_DEV void work_on_tiles(const mlaf_gather_kv_b_kernel_args& a, math& c, i64 t0, int first, int last, u32 share) {
  i64* const rows = (i64*)(memory() + ROWS_AT);
  if (c.thread < TOKENS) rows[c.thread] = find_row(a, t0 + c.thread);
  named_sync(ROWS_FOUND, MATH);
  gather(a, c.shared, c.thread);
  const float scale = scale_behind(a);
  if (a.k_pe)
    for (int i = c.thread; i < TOKENS * (ROPE / 8); i += MATH) {
      const int token = i / (ROPE / 8);
      if (rows[token] != NO_TOKEN) store_rope8(a, t0 + token, rows[token], i % (ROPE / 8), share, scale);
    }
  const int mine = 16 * c.warp + (c.lane >> 2);
  c.real = 0;
#pragma unroll
  for (int i = 0; i < 4; i++) c.real |= (u32)(rows[mine + 64 * (i >> 1) + 8 * (i & 1)] != NO_TOKEN) << i;

  sums low, high;
  c.at = {0, 0};
  if (c.wg == 1) { // all slabs are there when it is its turn: the first tile's products have read them
    for (int k = 0; k < SLABS; k++) give_share(c.shared, k);
    c.at.advance(SLABS);
  }
#pragma unroll 1
  for (int tile = first + c.wg; tile < last; tile += 2) {
    const bool gathers = tile == first;
    if (!gathers) named_sync(TURN + c.wg, MATH);
    multiply(c, low, high, gathers, tile + 1 < last);
    c.at.advance(SLABS);
    write_half(a, c, tile, t0 + mine, c.real, scale, low);
    write_half(a, c, tile, t0 + 64 + mine, c.real >> 2, scale, high);
  }
}

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_gather_kv_b_sm90_4e5cee55(const __grid_constant__ mlaf_gather_kv_b_params p) {
  const u32 shared = shared_address(memory()), rank = cta_in_cluster();
  const u32 tiles_of_tokens = ((u32)((p.a.tokens + TOKENS - 1) / TOKENS) + CLUSTER - 1) / CLUSTER * CLUSTER;
  const u32 share = my_block() / tiles_of_tokens;
  const i64 t0 = (i64)(my_block() - share * tiles_of_tokens) * TOKENS;
  const int first = (int)(share * TILES / p.a.shares), last = (int)((share + 1) * TILES / p.a.shares);
  let_next_launch_start();
  if (threadIdx.x == 0) {
    fetch_map(&p.w);
    for (int i = 0; i < SLABS; i++) barrier_init(shared + SLAB_FULL_AT + 8 * i, MATH);
    for (int i = 0; i < STAGES; i++) {
      barrier_init(shared + FULL_AT + 8 * i, 1);
      barrier_init(shared + EMPTY_AT + 8 * i, CLUSTER * WG_WARPS);
    }
    barriers_ready();
  }
  sync_cluster();
  const int wg = __shfl_sync(~0u, threadIdx.x >> 7, 0);
  if (wg == 0) { // registers: 128 * 40 + 256 * 232 = 384 * 168
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) load_w(p, shared, first, last, rank); // W is a constant: no launch before this one writes it
    __syncwarp();
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    wait_for_previous_launch();
    math c;
    c.shared = shared;
    c.thread = (int)threadIdx.x - 128, c.lane = threadIdx.x & 31;
    c.warp = __shfl_sync(~0u, threadIdx.x >> 5 & 3, 0);
    c.wg = wg - 1;
    work_on_tiles(p.a, c, t0, first, last, share);
    __syncwarp();
  }
  sync_cluster(); // nobody copies into this block's memory, or arrives at its barriers, any more
}
