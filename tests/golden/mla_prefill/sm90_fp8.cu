// Generated from templates/mla_prefill/sm90_fp8.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_prefill_sm90_fp8_2839f818
// parameters:
//   causal = 0
//   dtype = f16
//   heads = 3
//   inputs = 1
//   nope = 192
//   room = 20
//   rope = 64
//   vdim = 128
// regenerate: lua5.4 gen/cli.lua render mla_prefill/sm90_fp8 target=sm_90a causal=0 dtype=f16 heads=3 inputs=1 nope=192 room=20 rope=64 vdim=128


#define MLAF_BF16 0
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/mla_prefill/lib/args.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_prefill_sm90_fp8_2839f818_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 229984, {0, 0, 0}, 19, 0, 0, {0, 0},
    6,
    {{4, 64, 128, 128}, {1, 64, 64, 128}, {2, 64, 128, 128}, {1, 32, 64, 64}, {2, 32, 128, 64}, {3, 32, 128, 64}}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_prefill_params {
  mlaf_prefill_kernel_args a;
  const float *q_scale, *k_scale, *v_scale; // NULL: 1
  mlaf_tensor_map maps[6];
};
static_assert(sizeof(mlaf_prefill_params) == 256 + 128 * 6, "differs from runtime/ops/mla_prefill/prepare.c");
// [templates/lib/hopper.h]

constexpr u32 SWIZZLE_128 = 64 | 1u << 30, SWIZZLE_64 = 32 | 2u << 30;
MLAF_DEV u32 k_major(u32 at) { return (at & 0x3ffff) >> 4 | 1u << 16; }
MLAF_DEV u32 n_major(u32 at, u32 bytes_per_64_columns) { return (at & 0x3ffff) >> 4 | bytes_per_64_columns >> 4 << 16; }


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
constexpr u32 SWIZZLE_32 = 16 | 3u << 30;
template <u32 HI = SWIZZLE_128>
MLAF_DEV void wgmma_bytes_rs(float (&d)[64], const u32 (&a)[4], u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %69, 0;\nmov.b64 b, {%68, %70};\n"
    "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
    "{%64, %65, %66, %67}, b, p, 1, 1;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
      "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
      "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
      "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
      "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((int)accumulate), "n"(HI));
}
template <u32 HI = SWIZZLE_128>
MLAF_DEV void wgmma_bytes_ss(float (&d)[64], u32 a, u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %66, 0;\nmov.b64 b, {%65, %67};\n"
    "mov.b64 a, {%64, %67};\n"
    "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
    "a, b, p, 1, 1;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
      "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
      "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
      "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
      "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
    : "r"(a), "r"(b), "r"((int)accumulate), "n"(HI));
}
template <u32 HI = SWIZZLE_128>
MLAF_DEV void wgmma_bytes_rs(float (&d)[32], const u32 (&a)[4], u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %37, 0;\nmov.b64 b, {%36, %38};\n"
    "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
    "{%32, %33, %34, %35}, b, p, 1, 1;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((int)accumulate), "n"(HI));
}
template <u32 HI = SWIZZLE_128>
MLAF_DEV void wgmma_bytes_ss(float (&d)[32], u32 a, u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %34, 0;\nmov.b64 b, {%33, %35};\n"
    "mov.b64 a, {%32, %35};\n"
    "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
    "a, b, p, 1, 1;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
      "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
    : "r"(a), "r"(b), "r"((int)accumulate), "n"(HI));
}

constexpr int H = 3, NOPE = 192, QK = 256, V = 128, LANES = 32;
MLAF_DEV int head_of(int dealt) { return dealt; }
MLAF_DEV int first_of_v(int) { return 0; }
MLAF_DEV bool says_lse(int) { return true; }
constexpr bool CAUSAL = 0;
constexpr int ROWS = 128, KEYS = 128, STAGES = 2, RAWS = 2;
constexpr int Q_HALF = 64 * QK, K_BYTES = KEYS * QK, V_BYTES = KEYS * V, RAW_BYTES = KEYS * 128;
constexpr int TOLD = 6;
constexpr int MAP_V = 0;
constexpr int SUM_ROUNDS = 16, TRANSPOSERS = 2;
constexpr i64 ROOM = 20971520, KEY_BYTES = NOPE + V;
constexpr int CREWS = 4; // of at most 33 blocks each: lib/deal.h
MLAF_DEV int larger(int a, int b) { return a > b ? a : b; }
MLAF_DEV int teams() { return (int)gridDim.x; }
MLAF_DEV int team() { return (int)blockIdx.x; }
// [templates/mla_prefill/lib/deal.h]
struct shared_memory {
  char q[2][Q_HALF], k[STAGES][K_BYTES], v[STAGES][V_BYTES], raw[RAWS][RAW_BYTES]; // swizzled; raw: V as it came
  char sums[2][V / 8][128][16];
  __align__(16) char told[TOLD][64];
  u64 k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES], raw_full[RAWS], raw_empty[RAWS];
  u64 q_full[2], q_empty[2], told_full[TOLD], told_empty[TOLD];
};
constexpr int Q_AT = AT(q), K_AT = AT(k), V_AT = AT(v), RAW_AT = AT(raw), SUMS_AT = AT(sums), TOLD_AT = AT(told);
constexpr int K_FULL_AT = AT(k_full), K_EMPTY_AT = AT(k_empty), RAW_FULL_AT = AT(raw_full), RAW_EMPTY_AT = AT(raw_empty);
constexpr int V_FULL_AT = AT(v_full), V_EMPTY_AT = AT(v_empty), Q_FULL_AT = AT(q_full), Q_EMPTY_AT = AT(q_empty);
constexpr int TOLD_FULL_AT = AT(told_full), TOLD_EMPTY_AT = AT(told_empty);
static_assert(sizeof(shared_memory) == 229984 && sizeof(tile) <= 64, "its plan counts otherwise");
constexpr int WG_WARPS = 4;

MLAF_DEV char* memory() {
  extern __shared__ __align__(1024) char all_memory[];
  return all_memory;
}

template <int N>
struct ring {
  int stage;
  u32 lap; // parity of the place's use
  __device__ __forceinline__ void next() {
    if (++stage == N) stage = 0, lap ^= 1;
  }
};

MLAF_DEV void load_k(const mlaf_prefill_params& p, u32 shared, const tile& t, int round, const ring<STAGES>& at, int lane) {
  const u32 full = shared + K_FULL_AT + 8 * at.stage, to = shared + K_AT + at.stage * K_BYTES;
  const int row = t.key + round * KEYS;
  const int column[2] = {(int)(head_of(t.head) * p.a.k_head / 2), (int)(head_of(t.head) * p.a.k_pe_head / 2)};
  barrier_wait(shared + K_EMPTY_AT + 8 * at.stage, at.lap ^ 1);
  __syncwarp();
  if (lane != 0) return;
  barrier_expect(full, K_BYTES);
  copy_box(to + 0, &p.maps[2], column[0] + 0, row, full);
  copy_box(to + 16384, &p.maps[4], column[0] + 64, row, full);
  copy_box(to + 24576, &p.maps[5], column[1] + 0, row, full);
}

MLAF_DEV void load_v(const mlaf_prefill_params& p, u32 shared, const tile& t, int round, const ring<RAWS>& at, int lane) {
  const u32 full = shared + RAW_FULL_AT + 8 * at.stage, to = shared + RAW_AT + at.stage * RAW_BYTES;
  barrier_wait(shared + RAW_EMPTY_AT + 8 * at.stage, at.lap ^ 1);
  __syncwarp();
  if (lane != 0) return;
  barrier_expect(full, RAW_BYTES);
  copy_box(to, &p.maps[MAP_V], (int)((head_of(t.head) * p.a.v_head + first_of_v(t.head)) / 2), t.key + round * KEYS, full);
}

MLAF_DEV void load_q(const mlaf_prefill_params& p, u32 shared, const tile& t, u32 lap, int lane) {
  const int column = (int)(head_of(t.head) * p.a.q_head / 2);
#pragma unroll 1
  for (int half = 0; half < 2; half++) {
    const u32 full = shared + Q_FULL_AT + 8 * half, to = shared + Q_AT + half * Q_HALF;
    const int row = t.row + 64 * half;
    barrier_wait(shared + Q_EMPTY_AT + 8 * half, lap ^ 1);
    __syncwarp();
    if (lane != 0) continue;
    barrier_expect(full, Q_HALF);
    copy_box_once(to + 0, &p.maps[1], column + 0, row, full);
    copy_box_once(to + 8192, &p.maps[3], column + 64, row, full);
    copy_box_once(to + 12288, &p.maps[3], column + 96, row, full);
  }
}

MLAF_DEV void write_empty(const mlaf_prefill_kernel_args& a, const tile& t, int lane) {
  const bool bad = t.keys < 0;
  const float x = bad ? not_a_number() : 0.0f;
#pragma unroll 1
  for (int row = 0; row < t.rows; row++) {
    const i64 at = t.row + row;
#pragma unroll 1
    for (int i = lane; i < V / 2; i += 32)
      ((u32*)(a.o + at * a.o_token + head_of(t.head) * a.o_head + 2 * first_of_v(t.head)))[i] = pack2(x, x);
    if (lane == 0 && a.lse && says_lse(t.head)) a.lse[at * a.lse_token + head_of(t.head) * a.lse_head] = bad ? x : minus_inf();
  }
}

MLAF_DEV void deal_tiles(const mlaf_prefill_kernel_args& a, u32 shared, int lane) {
  ring<TOLD> told = {0, 0};
  deal d = first_deal(a, lane);
  for (bool more = true, early = true; more;) {
    tile t;
    more = me() < members() && next_tile(a, d, lane, t);
    if (early) {
      early = false;
      wait_for_previous_launch();
      if (!same_lengths(a, d, lane)) {
        d = first_deal(a, lane);
        more = true;
        continue;
      }
    }
    if (!more) t.rounds = 0;
    else if (t.rounds == 0) {
      write_empty(a, t, lane);
      continue;
    }
    barrier_wait(shared + TOLD_EMPTY_AT + 8 * told.stage, told.lap ^ 1);
    __syncwarp();
    if (lane == 0) {
      *(tile*)(memory() + TOLD_AT + 64 * told.stage) = t;
      barrier_arrive(shared + TOLD_FULL_AT + 8 * told.stage);
    }
    told.next();
  }
}

MLAF_DEV tile told_next(u32 shared, ring<TOLD>& told, int lane) {
  barrier_wait(shared + TOLD_FULL_AT + 8 * told.stage, told.lap);
  const tile t = *(const tile*)(memory() + TOLD_AT + 64 * told.stage);
  __syncwarp();
  if (lane == 0) barrier_arrive(shared + TOLD_EMPTY_AT + 8 * told.stage);
  told.next();
  return t;
}

MLAF_DEV void load_tiles(const mlaf_prefill_params& p, u32 shared, int lane) {
  ring<STAGES> places = {0, 0};
  ring<RAWS> raw = {0, 0};
  ring<TOLD> told = {0, 0};
  for (u32 q_lap = 0;; q_lap ^= 1) {
    const tile t = told_next(shared, told, lane);
    if (t.rounds == 0) return;
#pragma unroll 1
    for (int i = t.rounds - 1; i >= 0; i--, places.next(), raw.next()) {
      load_k(p, shared, t, i, places, lane);
      if (i == t.rounds - 1) load_q(p, shared, t, q_lap, lane);
      load_v(p, shared, t, i, raw, lane);
    }
  }
}

MLAF_DEV void store_matrices(u32 at, u32 w0, u32 w1, u32 w2, u32 w3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               ::"r"(at), "r"(w0), "r"(w1), "r"(w2), "r"(w3) : "memory");
}
MLAF_DEV void load_matrices_transposed(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}

MLAF_DEV void transpose(u32 from, u32 to, int first, int lane) {
  constexpr int AT_ONCE = V % 64 == 0 ? 4 : V % 32 == 0 ? 2 : 1; // of 32 keys and 16 columns each
  const u32 key = from + lane * 128, chunk = 2 * first + (lane >> 4), column = to + (lane & 15) * 128, swizzle = lane & 7;
#pragma unroll
  for (int t = 0; t < KEYS / 32 / TRANSPOSERS; t++)
#pragma unroll
    for (int u = 0; u < V / 16; u += AT_ONCE) {
      u32 x[AT_ONCE][4];
#pragma unroll
      for (int i = 0; i < AT_ONCE; i++) load_matrices_transposed(x[i], key + (first + t) * 32 * 128 + ((u + i ^ swizzle) << 4));
#pragma unroll
      for (int i = 0; i < AT_ONCE; i++)
        store_matrices(column + (u + i) * 16 * 128 + ((2 * t + chunk ^ swizzle) << 4),
                       __byte_perm(x[i][0], x[i][1], 0x6420), __byte_perm(x[i][0], x[i][1], 0x7531),
                       __byte_perm(x[i][2], x[i][3], 0x6420), __byte_perm(x[i][2], x[i][3], 0x7531));
    }
}

MLAF_DEV void clear_rows(u32 v, int from, int to, int lane) {
#pragma unroll 1
  for (int i = 8 * from + lane; i < 8 * to; i += 32)
    asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(v + i * 16), "r"(0) : "memory");
  __syncwarp();
}

MLAF_DEV void transpose_values(u32 shared, int which, int lane) {
  constexpr int SHARE = KEYS / TRANSPOSERS;
  ring<RAWS> raw = {0, 0};
  ring<STAGES> places = {0, 0};
  ring<TOLD> told = {0, 0};
  for (;;) {
    const tile t = told_next(shared, told, lane);
    if (t.rounds == 0) return;
#pragma unroll 1
    for (int i = t.rounds - 1; i >= 0; i--, raw.next(), places.next()) {
      const u32 from = shared + RAW_AT + raw.stage * RAW_BYTES;
      barrier_wait(shared + RAW_FULL_AT + 8 * raw.stage, raw.lap);
      const int valid = t.keys - i * KEYS;
      if (valid < KEYS) clear_rows(from, larger(valid, SHARE * which), SHARE * (which + 1), lane);
      barrier_wait(shared + V_EMPTY_AT + 8 * places.stage, places.lap ^ 1);
      __syncwarp();
      transpose(from, shared + V_AT + places.stage * V_BYTES, SHARE / 32 * which, lane);
      fence_async();
      __syncwarp();
      if (lane != 0) continue;
      barrier_arrive(shared + RAW_EMPTY_AT + 8 * raw.stage);
      barrier_arrive(shared + V_FULL_AT + 8 * places.stage);
    }
  }
}

struct row_state {
  float top[2], sum[2]; // maximum of scores not yet scaled; this thread's share of the sum
};
constexpr float UP = 6.0f;

MLAF_DEV u32 pack4(float x0, float x1, float x2, float x3) {
  unsigned short lo, hi;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(lo) : "f"(x1), "f"(x0));
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(hi) : "f"(x3), "f"(x2));
  return lo | (u32)hi << 16;
}

template <int N>
MLAF_DEV void soften(float scale, float (&s)[N], row_state& r, float (&now)[2]) {
  float offset[2], add[2][2] = {};
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float top[2] = {s[2 * h], s[2 * h + 1]};
#pragma unroll
    for (int i = 4; i < N; i += 4) {
      top[0] = fmaxf(top[0], s[i + 2 * h]);
      top[1] = fmaxf(top[1], s[i + 2 * h + 1]);
    }
    const float m = fmaxf(r.top[h], max_over_lanes<1, 4>(fmaxf(top[0], top[1])));
    offset[h] = m == minus_inf() ? 0.0f : m * scale - UP; // nothing seen yet: all weights are 0, not NaN
    now[h] = exp2_fast(r.top[h] * scale - UP - offset[h]);
    r.top[h] = m;
  }
#pragma unroll
  for (int i = 0; i < N; i += 2) {
    const int h = i >> 1 & 1;
    s[i] = exp2_fast(fmaf(s[i], scale, -offset[h]));
    s[i + 1] = exp2_fast(fmaf(s[i + 1], scale, -offset[h]));
    add[h][0] += s[i];
    add[h][1] += s[i + 1];
  }
#pragma unroll
  for (int h = 0; h < 2; h++) r.sum[h] = r.sum[h] * now[h] + (add[h][0] + add[h][1]);
}

template <int N>
MLAF_DEV void make_p(const float (&s)[N], u32 (&p)[KEYS / 32][4]) {
#pragma unroll
  for (int k = 0; k < KEYS / 32; k++)
#pragma unroll
    for (int i = 0; i < 4; i++) { // rows g and g + 8 of the first 16 keys, then of the others
      const int at = (16 * k + 8 * (i >> 1) + 2 * (i & 1)) % N;
      p[k][i] = 16 * k < N ? pack4(s[at], s[at + 1], s[at + 4], s[at + 5]) : 0;
    }
}

struct math {
  u32 shared;
  float scale;
  int lane, warp, wg; // warp of its warpgroup; warpgroup 0, 1
  int row;            // its first one of a tile
  ring<STAGES> k, v;
  ring<TOLD> told;
  u32 q_lap;
  int round; // of the scores at hand
  int least; // keys that all rows of their tile see
  row_state r;
  float factor[2]; // of O: what the past is worth
  float worth[2];  // what sums in shared memory are worth
  bool sure, same; // all rows of this warp have seen something; the past is worth what it was
};

MLAF_DEV void give_back(const math& c, u32 barrier) {
  if (c.lane == 0) barrier_arrive(c.shared + barrier);
}

MLAF_DEV const tile& told(const ring<TOLD>& at) { return *(const tile*)(memory() + TOLD_AT + 64 * at.stage); }

template <int COLUMNS>
MLAF_DEV void multiply_k(const math& c, float (&s)[COLUMNS / 2]) {
  const u32 q = k_major(c.shared + Q_AT + c.wg * Q_HALF), k = k_major(c.shared + K_AT + c.k.stage * K_BYTES);
  wgmma_bytes_ss<SWIZZLE_128>(s, q + 0, k + 0, false);
  wgmma_bytes_ss<SWIZZLE_128>(s, q + 2, k + 2, true);
  wgmma_bytes_ss<SWIZZLE_128>(s, q + 4, k + 4, true);
  wgmma_bytes_ss<SWIZZLE_128>(s, q + 6, k + 6, true);
  wgmma_bytes_ss<SWIZZLE_64>(s, q + 512, k + 1024, true);
  wgmma_bytes_ss<SWIZZLE_64>(s, q + 514, k + 1026, true);
  wgmma_bytes_ss<SWIZZLE_64>(s, q + 768, k + 1536, true);
  wgmma_bytes_ss<SWIZZLE_64>(s, q + 770, k + 1538, true);
  wgmma_commit();
}

MLAF_DEV void multiply_v(const math& c, const u32 (&p)[KEYS / 32][4], float (&o)[V / 2], bool more) {
  const u32 v = k_major(c.shared + V_AT + c.v.stage * V_BYTES);
#pragma unroll
  for (int i = 0; i < KEYS / 32; i++) wgmma_bytes_rs(o, p[i], v + 2 * i, more || i > 0);
  wgmma_commit();
}

template <int N>
MLAF_DEV void hide(const math& c, int round, float (&s)[N]) {
  const tile& f = told(c.told);
  int limit[2];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = c.row + 16 * c.warp + (c.lane >> 2) + 8 * h;
    limit[h] = smaller(CAUSAL ? f.seen + row : f.keys, f.keys) - round * KEYS - 2 * (c.lane & 3);
  }
#pragma unroll
  for (int i = 0; i < N; i++)
    if (8 * (i / 4) + (i & 1) >= limit[i >> 1 & 1]) s[i] = minus_inf();
}

MLAF_DEV void keep_ahead(const math& c, float sum) {
  asm volatile("{\n.reg .pred p;\nsetp.lt.f32 p, %0, %1;\n@p st.shared.b32 [%2], %2;\n}" ::"f"(sum), "f"(-c.scale), "r"(c.shared)
               : "memory");
}

MLAF_DEV void end_products(math& c, float (&o)[V / 2]) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  settle(o);
  give_back(c, V_EMPTY_AT + 8 * c.v.stage);
  c.v.next();
}

template <bool ENDS, int N>
MLAF_DEV bool soften_again(math& c, const float (&s)[N], row_state& r, u32 (&p)[KEYS / 32][4], float (&o)[V / 2]) {
  constexpr int AHEAD = 16; // exponentials before the product is waited for: by then it has been made
  const float offset[2] = {r.top[0] * c.scale - UP, r.top[1] * c.scale - UP};
  float add[2][2] = {}, ahead[AHEAD];
  u32 bits = 0;
#pragma unroll
  for (int i = 0; i < (ENDS ? AHEAD : 0); i++) {
    ahead[i] = exp2_fast(fmaf(s[i], c.scale, -offset[i >> 1 & 1]));
    add[i >> 1 & 1][i & 1] += ahead[i];
  }
  if (ENDS) {
    keep_ahead(c, (add[0][0] + add[0][1]) + (add[1][0] + add[1][1]));
    end_products(c, o);
  }
#pragma unroll
  for (int i = 0; i < N; i += 8)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float x[4];
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const int at = i + 2 * h + e % 2 + 4 * (e / 2);
        x[e] = ENDS && at < AHEAD ? ahead[at % AHEAD] : exp2_fast(fmaf(s[at], c.scale, -offset[h]));
        if (!ENDS || at >= AHEAD) add[h][e & 1] += x[e];
      }
      const u32 w = pack4(x[0], x[1], x[2], x[3]);
      p[i / 16][(i / 8 & 1) * 2 + h] = w;
      bits |= w + 0x08080808u;
    }
  if (__any_sync(~0u, bits & 0x80808080u)) return false;
  r.sum[0] += add[0][0] + add[0][1];
  r.sum[1] += add[1][0] + add[1][1];
  return true;
}

MLAF_DEV void rescale(math& c, float (&o)[V / 2]) {
  if (!__any_sync(~0u, c.factor[0] != 1.0f || c.factor[1] != 1.0f)) return; // true for NaN
#pragma unroll
  for (int i = 0; i < V / 2; i++) o[i] *= c.factor[i >> 1 & 1];
  c.worth[0] *= c.factor[0];
  c.worth[1] *= c.factor[1];
}

MLAF_DEV u32 sums_at(const math& c) { return c.shared + SUMS_AT + c.wg * (int)(V / 8 * 2048) + (32 * c.warp + c.lane) * 16; }
MLAF_DEV void add_sums(const math& c, float (&o)[V / 2]) {
  const u32 at = sums_at(c);
#pragma unroll
  for (int i = 0; i < V / 8; i++) {
    float x[4];
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3]) : "r"(at + 2048 * i)
                 : "memory");
#pragma unroll
    for (int e = 0; e < 4; e++) o[4 * i + e] += x[e] * c.worth[e >> 1];
  }
}
MLAF_DEV void keep_sums(const math& c, const float (&o)[V / 2]) {
  const u32 at = sums_at(c);
#pragma unroll
  for (int i = 0; i < V / 8; i++)
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(at + 2048 * i), "f"(o[4 * i]), "f"(o[4 * i + 1]),
                 "f"(o[4 * i + 2]), "f"(o[4 * i + 3]) : "memory");
}

MLAF_DEV void close_rows(const math& c, const mlaf_prefill_kernel_args& a, const tile& f, const row_state& r, float v_scale,
                         float (&last)[2]) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = c.row + 16 * c.warp + (c.lane >> 2) + 8 * h;
    const float total = sum_over_lanes<1, 4>(r.sum[h]);
    last[h] = total == 0.0f ? 0.0f : v_scale * (1.0f / total);
    if (row < f.rows && a.lse && (c.lane & 3) == 0 && says_lse(f.head))
      a.lse[(i64)(f.row + row) * a.lse_token + head_of(f.head) * a.lse_head] = total == 0.0f ? minus_inf()
        : ((r.top[h] == minus_inf() ? 0.0f : r.top[h] * c.scale - UP) + log2_fast(total)) * LN_2;
  }
}

MLAF_DEV void store_rows(const math& c, const mlaf_prefill_kernel_args& a, const tile& f, const float (&last)[2],
                         const float (&o)[V / 2]) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = c.row + 16 * c.warp + (c.lane >> 2) + 8 * h;
    if (row >= f.rows) continue;
    char* const out = a.o + (i64)(f.row + row) * a.o_token + head_of(f.head) * a.o_head + 2 * first_of_v(f.head)
      + 8 * (c.lane & 3);
#pragma unroll
    for (int u = 0; u < V / 16; u++) {
      const float* const x = o + 8 * u + 2 * h;
      *(uint2*)(out + 32 * u) = make_uint2(pack2(x[0] * last[h], x[4] * last[h]), pack2(x[1] * last[h], x[5] * last[h]));
    }
  }
}

MLAF_DEV int keys_all_see(const math& c, const tile& f) { return CAUSAL ? smaller(f.seen + c.row, f.keys) : f.keys; }

MLAF_DEV bool mine(const math& c, const tile& f) { return f.rounds > 0 && f.rows > c.row; }

MLAF_DEV int rounds_here(const math& c, const tile& f) {
  if (!CAUSAL) return f.rounds;
  return larger(1, smaller(f.rounds, (f.seen + c.row + 63 + KEYS - 1) / KEYS));
}

MLAF_DEV bool half_of(const math& c, const tile& f) {
  const int most = CAUSAL ? smaller(f.seen + c.row + 63, f.keys) : f.keys;
  return most - c.round * KEYS <= KEYS / 2;
}

template <bool ENDS, int N>
MLAF_DEV void make_weights(math& c, float (&s)[N], u32 (&p)[KEYS / 32][4], float (&o)[V / 2]) {
  if (c.round == 0) give_back(c, Q_EMPTY_AT + 8 * c.wg); // first: it is wanted next
  give_back(c, K_EMPTY_AT + 8 * c.k.stage);
  c.k.next();
  const bool all = (c.round + 1) * KEYS <= c.least;
  c.same = c.sure && all;
  if (c.same) {
    c.same = soften_again<ENDS>(c, s, c.r, p, o);
    if (c.same) return;
  } else if (ENDS) end_products(c, o);
  if (!all) hide(c, c.round, s);
  soften(c.scale, s, c.r, c.factor);
  make_p(s, p);
  c.sure = __all_sync(~0u, c.r.top[0] != minus_inf() && c.r.top[1] != minus_inf());
}

template <int COLUMNS>
MLAF_DEV void begin_tile(math& c, u32 (&p)[KEYS / 32][4], float (&o)[V / 2]) {
  float s[COLUMNS / 2];
  settle(s);
  wgmma_fence();
  multiply_k<COLUMNS>(c, s);
  wgmma_wait<0>();
  settle(s);
  make_weights<false>(c, s, p, o);
}

MLAF_DEV void pass_k(math& c) {
  barrier_wait(c.shared + K_FULL_AT + 8 * c.k.stage, c.k.lap);
  give_back(c, K_EMPTY_AT + 8 * c.k.stage);
  c.k.next();
}
MLAF_DEV void pass_v(math& c) {
  barrier_wait(c.shared + V_FULL_AT + 8 * c.v.stage, c.v.lap);
  give_back(c, V_EMPTY_AT + 8 * c.v.stage);
  c.v.next();
}

MLAF_DEV void work_on_tile(math& c, const mlaf_prefill_kernel_args& a, float v_scale) {
  const tile& f = told(c.told);
  c.round = rounds_here(c, f) - 1;
  const int skipped = f.rounds - 1 - c.round;
  c.least = keys_all_see(c, f);
  c.r = {{minus_inf(), minus_inf()}, {0.0f, 0.0f}};
  c.sure = false;
  float o[V / 2];
  u32 p[KEYS / 32][4];
#pragma unroll 1
  for (int i = 0; i < skipped; i++) pass_k(c);
  barrier_wait(c.shared + Q_FULL_AT + 8 * c.wg, c.q_lap);
  barrier_wait(c.shared + K_FULL_AT + 8 * c.k.stage, c.k.lap);
  if (half_of(c, f)) begin_tile<KEYS / 2>(c, p, o);
  else begin_tile<KEYS>(c, p, o);
#pragma unroll 1
  for (int i = 0; i < skipped; i++) pass_v(c);
  bool more = false, kept = false; // than the first round; sums are in shared memory
  int since = 0; // they went there
  c.worth[0] = c.worth[1] = 1.0f;
#pragma unroll 1
  while (c.round > 0) {
    float s[KEYS / 2];
    c.round--;
    barrier_wait(c.shared + V_FULL_AT + 8 * c.v.stage, c.v.lap);
    barrier_wait(c.shared + K_FULL_AT + 8 * c.k.stage, c.k.lap);
    if ((more || kept) && !c.same) rescale(c, o);
    if (since == SUM_ROUNDS) {
      if (kept) add_sums(c, o);
      keep_sums(c, o);
      c.worth[0] = c.worth[1] = 1.0f;
      kept = true, more = false, since = 0;
    }
    settle(s);
    settle(o);
    wgmma_fence();
    multiply_k<KEYS>(c, s);
    multiply_v(c, p, o, more);
    wgmma_wait<1>();
    settle(s);
    make_weights<true>(c, s, p, o);
    more = true;
    since++;
  }
  barrier_wait(c.shared + V_FULL_AT + 8 * c.v.stage, c.v.lap);
  if (more && !c.same) rescale(c, o);
  settle(o);
  wgmma_fence();
  multiply_v(c, p, o, more);
  close_rows(c, a, f, c.r, v_scale, c.factor);
  wgmma_wait<0>();
  settle(o);
  give_back(c, V_EMPTY_AT + 8 * c.v.stage);
  c.v.next();
  if (kept) add_sums(c, o);
  store_rows(c, a, f, c.factor, o);
}

MLAF_DEV void pass_tile(math& c) {
  barrier_wait(c.shared + Q_FULL_AT + 8 * c.wg, c.q_lap);
  give_back(c, Q_EMPTY_AT + 8 * c.wg);
#pragma unroll 1
  for (int i = told(c.told).rounds; i > 0; i--) {
    pass_k(c);
    pass_v(c);
  }
}

MLAF_DEV float scale_at(const float* at) {
  if (!at) return 1.0f;
  const float x = *at;
  return x >= 0.0f ? x : float_of(0x7fc00000u);
}
MLAF_DEV float score_scale(float scale_log2e, const float* q_scale, const float* k_scale) {
  const float scale = scale_log2e * scale_at(q_scale) * scale_at(k_scale), least = float_of(0x00800000u);
  return scale < least ? least : scale;
}

MLAF_DEV void work_on_tiles(const mlaf_prefill_params& p, u32 shared, int wg) {
  math c;
  c.shared = shared;
  c.scale = score_scale(p.a.scale_log2e, p.q_scale, p.k_scale);
  const float v_scale = scale_at(p.v_scale);
  c.lane = threadIdx.x & 31;
  c.warp = __shfl_sync(~0u, threadIdx.x >> 5 & 3, 0);
  c.wg = wg;
  c.row = 64 * wg;
  c.k = {0, 0}, c.v = {0, 0}, c.told = {0, 0};
  c.q_lap = 0;
#pragma unroll 1
  for (;; c.told.next(), c.q_lap ^= 1) {
    barrier_wait(shared + TOLD_FULL_AT + 8 * c.told.stage, c.told.lap);
    if (told(c.told).rounds == 0) break;
    if (mine(c, told(c.told))) work_on_tile(c, p.a, v_scale);
    else pass_tile(c);
    __syncwarp();
    give_back(c, TOLD_EMPTY_AT + 8 * c.told.stage);
  }
}

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_prefill_sm90_fp8_2839f818(const __grid_constant__ mlaf_prefill_params p) {
  const u32 shared = shared_address(memory());
  if (threadIdx.x == 0) {
    for (int i = 0; i < 6; i++) fetch_map(&p.maps[i]);
    for (int i = 0; i < STAGES; i++) {
      barrier_init(shared + K_FULL_AT + 8 * i, 1);
      barrier_init(shared + K_EMPTY_AT + 8 * i, 2 * WG_WARPS);
      barrier_init(shared + V_FULL_AT + 8 * i, TRANSPOSERS);
      barrier_init(shared + V_EMPTY_AT + 8 * i, 2 * WG_WARPS);
    }
    for (int i = 0; i < RAWS; i++) {
      barrier_init(shared + RAW_FULL_AT + 8 * i, 1);
      barrier_init(shared + RAW_EMPTY_AT + 8 * i, TRANSPOSERS);
    }
    for (int i = 0; i < 2; i++) {
      barrier_init(shared + Q_FULL_AT + 8 * i, 1);
      barrier_init(shared + Q_EMPTY_AT + 8 * i, WG_WARPS);
    }
    for (int i = 0; i < TOLD; i++) {
      barrier_init(shared + TOLD_FULL_AT + 8 * i, 1);
      barrier_init(shared + TOLD_EMPTY_AT + 8 * i, 2 * WG_WARPS + 1 + TRANSPOSERS);
    }
    barriers_ready();
  }
  __syncthreads();
  if (threadIdx.x >= 32) { // all but the dealer
    wait_for_previous_launch();
    let_next_launch_start();
  }
  const int wg = __shfl_sync(~0u, threadIdx.x >> 7, 0);
  if (wg == 0) { // registers: 128 * 72 + 256 * 216 = 384 * 168
    asm volatile("setmaxnreg.dec.sync.aligned.u32 72;");
    const int warp = __shfl_sync(~0u, threadIdx.x >> 5, 0), lane = threadIdx.x & 31;
    if (warp == 0) deal_tiles(p.a, shared, lane);
    else if (warp == 1) load_tiles(p, shared, lane);
    else transpose_values(shared, warp - 2, lane);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 216;");
    work_on_tiles(p, shared, wg - 1);
  }
}
