// Generated from templates/mla_prefill/sm90.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_prefill_sm90_c23faa89
// parameters:
//   causal = 1
//   dtype = bf16
//   heads = 16
//   keys = 128
//   nope = 128
//   pair = 2
//   room = 20
//   rope = 64
//   vdim = 128
// regenerate: lua5.4 gen/cli.lua render mla_prefill/sm90 target=sm_90a causal=1 dtype=bf16 heads=16 keys=128 nope=128 pair=2 room=20 rope=64 vdim=128


#define MLAF_BF16 1
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/mla_prefill/lib/args.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_prefill_sm90_c23faa89_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 229968, {2, 0, 0}, 3, 0, 0, {0, 0},
    4,
    {{1, 64, 64, 128}, {2, 64, 64, 128}, {4, 64, 64, 128}, {3, 64, 64, 128}}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_prefill_params {
  mlaf_prefill_kernel_args a;
  mlaf_tensor_map maps[4];
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
template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_rs_t(float (&d)[64], const u32 (&a)[4], u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %69, 0;\nmov.b64 b, {%68, %70};\n"
    "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
    "{%64, %65, %66, %67}, b, p, 1, 1, 1;\n}"
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
MLAF_DEV void wgmma_ss_t(float (&d)[64], u32 a, u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %66, 0;\nmov.b64 b, {%65, %67};\n"
    "mov.b64 a, {%64, %68};\n"
    "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
    "a, b, p, 1, 1, 0, 1;\n}"
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

constexpr int H = 16, NOPE = 128, QK = 192, V = 128, LANES = 32;
constexpr bool CAUSAL = 1;
constexpr int PAIR = 2, ROWS = 128 * PAIR, KEYS = 128, STAGES = 2;
constexpr int Q_HALF = 64 * 2 * QK, K_BYTES = KEYS * 2 * QK, SLABS_V = (V + 63) / 64, SLAB = KEYS * 128;
constexpr bool HALVES = KEYS == 128;
constexpr int TOLD = 6;
constexpr int MAP_V = 2;
constexpr i64 ROOM = 20971520, KEY_BYTES = 2 * (NOPE + V);
MLAF_DEV int larger(int a, int b) { return a > b ? a : b; }
MLAF_DEV int teams() { return gridDim.x / PAIR; } // of blocks that work on a tile together
MLAF_DEV int team() { return blockIdx.x / PAIR; }
constexpr int CREWS = 4 / PAIR; // of at most 33 teams each: lib/deal.h
// [templates/mla_prefill/lib/deal.h]
struct shared_memory {
  char q[2][Q_HALF], k[STAGES][K_BYTES], v[STAGES][SLABS_V][SLAB], o[8][2048]; // swizzled
  __align__(16) char told[TOLD][64];
  u64 k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES], q_full[2], q_empty[2], told_full[TOLD], told_empty[TOLD];
  __align__(16) u64 v_landed;
};
constexpr int Q_AT = AT(q), K_AT = AT(k), V_AT = AT(v), O_AT = AT(o), TOLD_AT = AT(told);
constexpr int K_FULL_AT = AT(k_full), K_EMPTY_AT = AT(k_empty);
constexpr int V_FULL_AT = AT(v_full), V_EMPTY_AT = AT(v_empty), Q_FULL_AT = AT(q_full), Q_EMPTY_AT = AT(q_empty);
constexpr int V_LANDED_AT = AT(v_landed), TOLD_FULL_AT = AT(told_full), TOLD_EMPTY_AT = AT(told_empty);
static_assert(sizeof(shared_memory) == 229968 && sizeof(tile) <= 64, "its plan counts otherwise");
enum { TURN = 1 }; // named barriers: each warpgroup's turn
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

MLAF_DEV int first_row(int wg, int cta) { return 64 * (wg ? 2 * PAIR - 1 - cta : cta); }
MLAF_DEV int my_cta() { return PAIR == 1 ? 0 : (int)cta_in_cluster(); }
MLAF_DEV void pair_sync() {
  if (PAIR == 1) __syncthreads();
  else asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
MLAF_DEV void copy_box_to_all(u32 to, const mlaf_tensor_map* map, int column, int row, u32 barrier) {
  if (PAIR == 1) return copy_box(to, map, column, row, barrier);
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1, {%2, %3}], [%4], %5;"
               ::"r"(to), "l"(map), "r"(column), "r"(row), "r"(barrier), "h"((unsigned short)3) : "memory");
}
MLAF_DEV void give_back_to_all(u32 at, int lane) {
  if (PAIR == 1) {
    if (lane == 0) barrier_arrive(at);
  } else if (lane < PAIR) {
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(cluster_address(at, lane)) : "memory");
  }
}

MLAF_DEV void load_k(const mlaf_prefill_params& p, u32 shared, const tile& t, int round, const ring<STAGES>& at, int lane) {
  const int share = my_cta() * (KEYS / PAIR);
  const u32 full = shared + K_FULL_AT + 8 * at.stage, to = shared + K_AT + at.stage * K_BYTES + share * 128;
  const int row = t.key + round * KEYS + share;
  const int column[2] = {(int)(t.head * p.a.k_head / 2), (int)(t.head * p.a.k_pe_head / 2)};
  barrier_wait(shared + K_EMPTY_AT + 8 * at.stage, at.lap ^ 1);
  __syncwarp();
  if (lane != 0) return;
  barrier_expect(full, K_BYTES);
  copy_box_to_all(to + 0, &p.maps[1], column[0] + 0, row, full);
  copy_box_to_all(to + 16384, &p.maps[1], column[0] + 64, row, full);
  copy_box_to_all(to + 32768, &p.maps[3], column[1] + 0, row, full);
}

MLAF_DEV void clear_tail(u32 v, int valid, int lane) {
#pragma unroll 1
  for (int i = lane; i < (KEYS - valid) * 8 * SLABS_V; i += 32)
    asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};"
                 ::"r"(v + valid * 128 + i % SLABS_V * SLAB + i / SLABS_V * 16), "r"(0) : "memory");
}

MLAF_DEV void load_v(const mlaf_prefill_params& p, u32 shared, const tile& t, int round, const ring<STAGES>& at, int lane,
                     u32& landed) {
  const int share = my_cta() * (KEYS / PAIR), valid = t.keys - round * KEYS;
  const u32 full = shared + V_FULL_AT + 8 * at.stage, to = shared + V_AT + at.stage * SLABS_V * SLAB;
  const u32 tell = valid < KEYS ? shared + V_LANDED_AT : full;
  barrier_wait(shared + V_EMPTY_AT + 8 * at.stage, at.lap ^ 1);
  __syncwarp();
  if (lane == 0) {
    barrier_expect(tell, SLABS_V * SLAB);
#pragma unroll
    for (int i = 0; i < SLABS_V; i++)
      copy_box_to_all(to + i * SLAB + share * 128, &p.maps[MAP_V], (int)(t.head * p.a.v_head / 2) + 64 * i,
                      t.key + round * KEYS + share, tell);
  }
  if (valid >= KEYS) return;
  barrier_wait(tell, landed++ & 1);
  clear_tail(to, valid, lane);
  fence_async();
  __syncwarp();
  if (lane == 0) barrier_arrive(full);
}

MLAF_DEV void load_q(const mlaf_prefill_params& p, u32 shared, const tile& t, u32 lap, int lane) {
  const int column = (int)(t.head * p.a.q_head / 2);
#pragma unroll 1
  for (int half = 0; half < 2; half++) {
    const u32 full = shared + Q_FULL_AT + 8 * half;
    barrier_wait(shared + Q_EMPTY_AT + 8 * half, lap ^ 1);
    __syncwarp();
    if (lane != 0) continue;
    barrier_expect(full, Q_HALF);
    copy_box_once(shared + Q_AT + half * Q_HALF + 0, &p.maps[0], column + 0,
                  t.row + first_row(half, my_cta()), full);
    copy_box_once(shared + Q_AT + half * Q_HALF + 8192, &p.maps[0], column + 64,
                  t.row + first_row(half, my_cta()), full);
    copy_box_once(shared + Q_AT + half * Q_HALF + 16384, &p.maps[0], column + 128,
                  t.row + first_row(half, my_cta()), full);
  }
}

MLAF_DEV void write_empty(const mlaf_prefill_kernel_args& a, const tile& t, int lane) {
  const bool bad = t.keys < 0;
  const float x = bad ? not_a_number() : 0.0f;
#pragma unroll 1
  for (int row = 0; row < t.rows; row++) {
    const i64 at = t.row + row;
#pragma unroll 1
    for (int i = lane; i < V / 2; i += 32) ((u32*)(a.o + at * a.o_token + t.head * a.o_head))[i] = pack2(x, x);
    if (lane == 0 && a.lse) a.lse[at * a.lse_token + t.head * a.lse_head] = bad ? x : minus_inf();
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
      if (my_cta() == 0) write_empty(a, t, lane);
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

template <bool IS_V>
MLAF_DEV void load_tiles(const mlaf_prefill_params& p, u32 shared, int lane) {
  ring<STAGES> places = {0, 0};
  ring<TOLD> told = {0, 0};
  u32 landed = 0;
  for (u32 q_lap = 0;; q_lap ^= 1) {
    barrier_wait(shared + TOLD_FULL_AT + 8 * told.stage, told.lap);
    const tile t = *(const tile*)(memory() + TOLD_AT + 64 * told.stage);
    __syncwarp();
    if (lane == 0) barrier_arrive(shared + TOLD_EMPTY_AT + 8 * told.stage);
    told.next();
    if (t.rounds == 0) return;
#pragma unroll 1
    for (int i = t.rounds - 1; i >= 0; i--) {
      if (IS_V) load_v(p, shared, t, i, places, lane, landed);
      else load_k(p, shared, t, i, places, lane);
      places.next();
      if (!IS_V && i == t.rounds - 1) load_q(p, shared, t, q_lap, lane);
    }
  }
}
// [templates/mla_prefill/lib/softmax.h]

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
  bool sure, same, shrinks;
};

MLAF_DEV void give_back(const math& c, u32 barrier) {
  if (c.lane == 0) barrier_arrive(c.shared + barrier);
}

MLAF_DEV void give_back_all(const math& c, u32 barrier) { give_back_to_all(c.shared + barrier, c.lane); }

MLAF_DEV const tile& told(const ring<TOLD>& at) { return *(const tile*)(memory() + TOLD_AT + 64 * at.stage); }

MLAF_DEV void take_turn(const math& c) { named_sync(TURN + c.wg, 256); }
MLAF_DEV void pass_turn(const math& c) { named_arrive(TURN + 1 - c.wg, 256); }

template <int COLUMNS, bool PASSES>
MLAF_DEV void multiply_k(const math& c, float (&s)[COLUMNS / 2]) {
  const u32 q = k_major(c.shared + Q_AT + c.wg * Q_HALF), k = k_major(c.shared + K_AT + c.k.stage * K_BYTES);
  wgmma_ss(s, q + 0, k + 0, false);
  wgmma_ss(s, q + 2, k + 2, true);
  wgmma_ss(s, q + 4, k + 4, true);
  wgmma_ss(s, q + 6, k + 6, true);
  wgmma_ss(s, q + 512, k + 1024, true);
  wgmma_ss(s, q + 514, k + 1026, true);
  wgmma_ss(s, q + 516, k + 1028, true);
  wgmma_ss(s, q + 518, k + 1030, true);
  wgmma_ss(s, q + 1024, k + 2048, true);
  wgmma_ss(s, q + 1026, k + 2050, true);
  wgmma_ss(s, q + 1028, k + 2052, true);
  wgmma_ss(s, q + 1030, k + 2054, true);
  wgmma_commit();
  if (PASSES) pass_turn(c);
}

MLAF_DEV void multiply_v(const math& c, const u32 (&p)[KEYS / 16][4], float (&o)[V / 2], bool more) {
  const u32 v = n_major(c.shared + V_AT + c.v.stage * SLABS_V * SLAB, SLAB);
#pragma unroll
  for (int i = 0; i < KEYS / 16; i++) wgmma_rs_t(o, p[i], v + 128 * i, more || i > 0);
  wgmma_commit();
  pass_turn(c);
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
  give_back_all(c, V_EMPTY_AT + 8 * c.v.stage);
  c.v.next();
}

constexpr u32 FROM_2 = 0x40004000;
template <bool ENDS, int N>
MLAF_DEV bool soften_again(math& c, const float (&s)[N], row_state& r, u32 (&p)[KEYS / 16][4], float (&o)[V / 2]) {
  constexpr int AHEAD = 16; // exponentials before the product is waited for: by then it has been made
  float add[2][2] = {}, ahead[AHEAD];
  u32 bits = 0;
#pragma unroll
  for (int i = 0; i < (ENDS ? AHEAD : 0); i++) {
    ahead[i] = exp2_fast(fmaf(s[i], c.scale, -r.offset[i >> 1 & 1]));
    add[i >> 1 & 1][i & 1] += ahead[i];
  }
  if (ENDS) {
    keep_ahead(c, (add[0][0] + add[0][1]) + (add[1][0] + add[1][1]));
    end_products(c, o);
  }
#pragma unroll
  for (int i = 0; i < N; i += 2) {
    const int h = i >> 1 & 1;
    const float x = ENDS && i < AHEAD ? ahead[i % AHEAD] : exp2_fast(fmaf(s[i], c.scale, -r.offset[h]));
    const float y = ENDS && i < AHEAD ? ahead[(i + 1) % AHEAD] : exp2_fast(fmaf(s[i + 1], c.scale, -r.offset[h]));
    if (!ENDS || i >= AHEAD) {
      add[h][0] += x;
      add[h][1] += y;
    }
    bits |= p[i / 8][i / 2 % 4] = pack2(x, y);
  }
  if (__any_sync(~0u, bits & FROM_2)) return false;
  r.sum[0] += add[0][0] + add[0][1];
  r.sum[1] += add[1][0] + add[1][1];
  return true;
}

MLAF_DEV void rescale(const float (&now)[2], float (&o)[V / 2]) {
  if (!__any_sync(~0u, now[0] != 1.0f || now[1] != 1.0f)) return; // true for NaN
#pragma unroll
  for (int i = 0; i < V / 2; i++) o[i] *= now[i >> 1 & 1];
}

MLAF_DEV void store_matrices(u32 at, u32 w0, u32 w1, u32 w2, u32 w3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               ::"r"(at), "r"(w0), "r"(w1), "r"(w2), "r"(w3) : "memory");
}
MLAF_DEV uint4 load_16(u32 at) {
  uint4 x;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"(at) : "memory");
  return x;
}

MLAF_DEV void close_rows(const math& c, const mlaf_prefill_kernel_args& a, const tile& f, const row_state& r, float (&last)[2]) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = c.row + 16 * c.warp + (c.lane >> 2) + 8 * h;
    const float total = sum_over_lanes<1, 4>(r.sum[h]);
    last[h] = total == 0.0f ? 0.0f : r.shrink[h] / total;
    if (row < f.rows && a.lse && (c.lane & 3) == 0)
      a.lse[(i64)(f.row + row) * a.lse_token + f.head * a.lse_head] = total == 0.0f ? minus_inf()
        : (r.offset[h] + log2_fast(total)) * LN_2;
  }
}

MLAF_DEV void store_rows(const math& c, const mlaf_prefill_kernel_args& a, const tile& f, const float (&last)[2],
                         const float (&o)[V / 2]) {
  const u32 own = c.shared + O_AT + (4 * c.wg + c.warp) * 2048;
  const u32 to = own + (c.lane & 15) * 128, from = own + (c.lane >> 3) * 128; // rows of 128 bytes, swizzled
  const int first = c.row + 16 * c.warp + (c.lane >> 3);
  char* const out = a.o + (i64)(f.row + first) * a.o_token + f.head * a.o_head + 16 * (c.lane & 7);
#pragma unroll
  for (int u = 0; u < SLABS_V; u++) {
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      if (64 * u + 8 * j >= V) break;
      const float* const x = o + 32 * u + 4 * j;
      store_matrices(to + (j + (c.lane >> 4) ^ c.lane & 7) * 16, pack2(x[0] * last[0], x[1] * last[0]),
                     pack2(x[2] * last[1], x[3] * last[1]), pack2(x[4] * last[0], x[5] * last[0]),
                     pack2(x[6] * last[1], x[7] * last[1]));
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const uint4 w = load_16(from + 512 * i + ((c.lane & 7) ^ (4 * i + (c.lane >> 3) & 7)) * 16);
      if (first + 4 * i < f.rows && (V % 64 == 0 || 64 * u + 8 * (c.lane & 7) < V))
        *(uint4*)(out + 4 * i * a.o_token + 128 * u) = w;
    }
    __syncwarp();
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
  return HALVES && most - c.round * KEYS <= KEYS / 2;
}

MLAF_DEV void forget_shrink(math& c) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    c.factor[h] = c.r.shrink[h];
    c.r.shrink[h] = 1.0f;
  }
  c.shrinks = false;
}

template <bool ENDS, int N>
MLAF_DEV void make_weights(math& c, float (&s)[N], u32 (&p)[KEYS / 16][4], float (&o)[V / 2]) {
  if (c.round == 0) give_back(c, Q_EMPTY_AT + 8 * c.wg); // first: it is wanted next
  give_back_all(c, K_EMPTY_AT + 8 * c.k.stage);
  c.k.next();
  const bool all = (c.round + 1) * KEYS <= c.least;
  c.same = c.sure && all;
  if (c.same) {
    if (soften_again<ENDS>(c, s, c.r, p, o)) {
      c.same = !c.shrinks;
      if (c.shrinks) forget_shrink(c);
      return;
    }
  } else if (ENDS) end_products(c, o);
  if (!all) hide(c, c.round, s);
  c.sure = soften(c.scale, s, c.r, c.factor);
  make_p(s, p);
  c.same = false;
  c.shrinks = true;
}

template <int COLUMNS>
MLAF_DEV void begin_tile(math& c, u32 (&p)[KEYS / 16][4], float (&o)[V / 2]) {
  float s[COLUMNS / 2];
  take_turn(c);
  settle(s);
  wgmma_fence();
  multiply_k<COLUMNS, true>(c, s);
  wgmma_wait<0>();
  settle(s);
  make_weights<false>(c, s, p, o);
}

MLAF_DEV void pass_k(math& c) {
  barrier_wait(c.shared + K_FULL_AT + 8 * c.k.stage, c.k.lap);
  give_back_all(c, K_EMPTY_AT + 8 * c.k.stage);
  c.k.next();
  take_turn(c);
  pass_turn(c);
}
MLAF_DEV void pass_v(math& c) {
  barrier_wait(c.shared + V_FULL_AT + 8 * c.v.stage, c.v.lap);
  give_back_all(c, V_EMPTY_AT + 8 * c.v.stage);
  c.v.next();
}

MLAF_DEV void work_on_tile(math& c, const mlaf_prefill_kernel_args& a) {
  const tile& f = told(c.told);
  c.round = rounds_here(c, f) - 1;
  const int skipped = f.rounds - 1 - c.round;
  c.least = keys_all_see(c, f);
  c.r = {{minus_inf(), minus_inf()}, {0.0f, 0.0f}, {1.0f, 1.0f}};
  c.sure = c.shrinks = false;
  float o[V / 2];
  u32 p[KEYS / 16][4];
#pragma unroll 1
  for (int i = 0; i < skipped; i++) pass_k(c);
  barrier_wait(c.shared + Q_FULL_AT + 8 * c.wg, c.q_lap);
  barrier_wait(c.shared + K_FULL_AT + 8 * c.k.stage, c.k.lap);
  if (half_of(c, f)) begin_tile<HALVES ? KEYS / 2 : KEYS>(c, p, o);
  else begin_tile<KEYS>(c, p, o);
#pragma unroll 1
  for (int i = 0; i < skipped; i++) pass_v(c);
  bool more = false; // than the first round
#pragma unroll 1
  for (; c.round > 0; more = true) {
    float s[KEYS / 2];
    c.round--;
    barrier_wait(c.shared + V_FULL_AT + 8 * c.v.stage, c.v.lap);
    barrier_wait(c.shared + K_FULL_AT + 8 * c.k.stage, c.k.lap);
    if (more && !c.same) rescale(c.factor, o);
    take_turn(c);
    settle(s);
    settle(o);
    wgmma_fence();
    multiply_k<KEYS, false>(c, s);
    multiply_v(c, p, o, more);
    wgmma_wait<1>();
    settle(s);
    make_weights<true>(c, s, p, o);
  }
  barrier_wait(c.shared + V_FULL_AT + 8 * c.v.stage, c.v.lap);
  if (more && !c.same) rescale(c.factor, o);
  take_turn(c);
  settle(o);
  wgmma_fence();
  multiply_v(c, p, o, more);
  close_rows(c, a, f, c.r, c.factor);
  wgmma_wait<0>();
  settle(o);
  give_back_all(c, V_EMPTY_AT + 8 * c.v.stage);
  c.v.next();
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
  take_turn(c);
  pass_turn(c);
}

MLAF_DEV void work_on_tiles(const mlaf_prefill_params& p, u32 shared, int wg) {
  math c;
  c.shared = shared;
  c.scale = p.a.scale_log2e;
  c.lane = threadIdx.x & 31;
  c.warp = __shfl_sync(~0u, threadIdx.x >> 5 & 3, 0);
  c.wg = wg;
  c.row = first_row(wg, my_cta());
  c.k = {0, 0}, c.v = {0, 0}, c.told = {0, 0};
  c.q_lap = 0;
  if (wg == 1) pass_turn(c);
#pragma unroll 1
  for (;; c.told.next(), c.q_lap ^= 1) {
    barrier_wait(shared + TOLD_FULL_AT + 8 * c.told.stage, c.told.lap);
    if (told(c.told).rounds == 0) break;
    if (mine(c, told(c.told))) work_on_tile(c, p.a);
    else pass_tile(c);
    __syncwarp();
    give_back(c, TOLD_EMPTY_AT + 8 * c.told.stage);
  }
  if (wg == 0) take_turn(c); // the last one that was passed on
}

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_prefill_sm90_c23faa89(const __grid_constant__ mlaf_prefill_params p) {
  const u32 shared = shared_address(memory());
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; i++) fetch_map(&p.maps[i]);
    for (int i = 0; i < STAGES; i++) {
      barrier_init(shared + K_FULL_AT + 8 * i, 1);
      barrier_init(shared + K_EMPTY_AT + 8 * i, 2 * PAIR * WG_WARPS);
      barrier_init(shared + V_FULL_AT + 8 * i, 1);
      barrier_init(shared + V_EMPTY_AT + 8 * i, 2 * PAIR * WG_WARPS);
    }
    barrier_init(shared + V_LANDED_AT, 1);
    for (int i = 0; i < 2; i++) {
      barrier_init(shared + Q_FULL_AT + 8 * i, 1);
      barrier_init(shared + Q_EMPTY_AT + 8 * i, WG_WARPS);
    }
    for (int i = 0; i < TOLD; i++) {
      barrier_init(shared + TOLD_FULL_AT + 8 * i, 1);
      barrier_init(shared + TOLD_EMPTY_AT + 8 * i, 2 * WG_WARPS + 2);
    }
    barriers_ready();
  }
  pair_sync();
  if (threadIdx.x >= 32) { // all but the dealer
    wait_for_previous_launch();
    let_next_launch_start();
  }
  const int wg = __shfl_sync(~0u, threadIdx.x >> 7, 0);
  if (wg == 0) { // registers: 128 * 40 + 256 * 232 = 384 * 168
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    const int warp = __shfl_sync(~0u, threadIdx.x >> 5, 0), lane = threadIdx.x & 31;
    if (warp == 0) deal_tiles(p.a, shared, lane);
    else if (warp == 1) load_tiles<false>(p, shared, lane);
    else if (warp == 2) load_tiles<true>(p, shared, lane);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    work_on_tiles(p, shared, wg - 1);
  }
  __syncwarp();
  if (PAIR > 1) pair_sync(); // nobody leaves while the other one may still tell it something
}
