// Generated from templates/mla_prefill/sm90.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_prefill_sm90_1b1f51b2
// parameters:
//   causal = 1
//   dtype = bf16
//   heads = 16
//   keys = 128
//   nope = 128
//   room = 20
//   rope = 64
//   vdim = 128
// regenerate: lua5.4 gen/cli.lua render mla_prefill/sm90 target=sm_90a causal=1 dtype=bf16 heads=16 keys=128 nope=128 room=20 rope=64 vdim=128
// Prefill for Hopper: wgmma, copies by the tensor memory accelerator, a persistent block on each SM.
//
// A block takes tile after tile: 128 new tokens of one head. One warp says which (lib/deal.h), three load, two warpgroups
// multiply, 64 tokens each:
//
//   S = Q K^T    [64 x KEYS] over N+P   A = Q, B = K, both from shared memory
//   O += P V     [64 x V] over KEYS     A = P from registers, as S lies in them; B = V from shared memory, columns contiguous
//
// Keys are walked from the last one down, in rounds, so that masks come first. Rounds follow each other over the bounds of tiles:
//
//   warpgroup 0   | S(1) P V(0) |  softmax(1)   | S(2) P V(1) |  softmax(2)   |
//   warpgroup 1                 | S(1) P V(0)   |  softmax(1) | S(2) P V(1)   |
//
// S of the next round is issued, then P V of this one; softmax runs under P V, and under both products of the other warpgroup,
// which has the next turn: left to themselves both would multiply at the same time and then both not. What ends a tile (its last
// P V, O, lse) is done under the next tile's first products.
//
// Shared memory holds slabs of 64 columns, 128 bytes a row, swizzled: Q for each warpgroup, rings of two rounds of K and of V.
// K has two sources, each by its own tensor map: the head's own columns, and those with positions. A box may reach behind the
// request's end: scores there are masked, and V's rows are cleared, since 0 * NaN is NaN.


#define MLAF_BF16 1
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/mla_prefill/lib/args.h]
// What this kernel wants of its launch, and its parameter block: arguments, then tensor maps. runtime/device/kernel_launch.h says
// what each field means. The includer hands over `launch`: shared (bytes of dynamic shared memory), flags, and maps, a list of
// { tensor (1 q, 2 k, 3 k_pe, 4 v), columns, rows } of 128-byte rows.
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_prefill_sm90_1b1f51b2_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 213328, {0, 0, 0}, 3, 0, 0, {0, 0}, 4,
    {{1, 64, 64, 128}, {2, 64, 128, 128}, {4, 64, 128, 128}, {3, 64, 128, 128}}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_prefill_params {
  mlaf_prefill_kernel_args a;
  mlaf_tensor_map maps[4];
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

constexpr int H = 16, NOPE = 128, QK = 192, V = 128, LANES = 32;
constexpr bool CAUSAL = 1;
constexpr int ROWS = 128, KEYS = 128, STAGES = 2;
constexpr int SLABS_QK = QK / 64, SLABS_V = V / 64, SLAB = KEYS * 128, Q_SLAB = 64 * 128, Q_HALF = SLABS_QK * Q_SLAB;
constexpr int TOLD = 3;
constexpr int MAP_Q = 0, MAP_K = 1, MAP_V = 2, MAP_K_PE = 3;
constexpr i64 ROOM = 20971520, KEY_BYTES = 2 * (NOPE + V);
MLAF_DEV int larger(int a, int b) { return a > b ? a : b; }
// [templates/mla_prefill/lib/deal.h]
struct shared_memory {
  char q[2][SLABS_QK][Q_SLAB], k[STAGES][SLABS_QK][SLAB], v[STAGES][SLABS_V][SLAB]; // swizzled
  __align__(16) char told[TOLD][64];
  u64 k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES], q_full[2], q_empty[2], told_full[TOLD], told_empty[TOLD];
};
constexpr int Q_AT = AT(q), K_AT = AT(k), V_AT = AT(v), TOLD_AT = AT(told), K_FULL_AT = AT(k_full), K_EMPTY_AT = AT(k_empty);
constexpr int V_FULL_AT = AT(v_full), V_EMPTY_AT = AT(v_empty), Q_FULL_AT = AT(q_full), Q_EMPTY_AT = AT(q_empty);
constexpr int TOLD_FULL_AT = AT(told_full), TOLD_EMPTY_AT = AT(told_empty);
static_assert(sizeof(shared_memory) == 213328 && sizeof(tile) <= 64, "its plan counts otherwise");
enum { ONE = 1, TURN = 3 }; // named barriers, two each: of one warpgroup; a warpgroup's turn
constexpr int WG_WARPS = 4;

MLAF_DEV char* memory() {
  extern __shared__ __align__(1024) char all_memory[];
  return all_memory;
}

// A ring of N places, as each of its users walks it.
template <int N>
struct ring {
  int stage;
  u32 lap; // parity of the place's use
  __device__ __forceinline__ void next() {
    if (++stage == N) stage = 0, lap ^= 1;
  }
};

// ---- Those who load --------------------------------------------------------------------------------------------------------
MLAF_DEV void load_k(const mlaf_prefill_params& p, u32 shared, const tile& t, int round, const ring<STAGES>& at, int lane) {
  const u32 full = shared + K_FULL_AT + 8 * at.stage, to = shared + K_AT + at.stage * SLABS_QK * SLAB;
  const int row = t.key + round * KEYS, column = (int)(t.head * p.a.k_head / 2);
  const int column_pe = (int)(t.head * p.a.k_pe_head / 2);
  barrier_wait(shared + K_EMPTY_AT + 8 * at.stage, at.lap ^ 1);
  __syncwarp();
  if (lane != 0) return;
  barrier_expect(full, SLABS_QK * SLAB);
#pragma unroll
  for (int i = 0; i < NOPE / 64; i++) copy_box(to + i * SLAB, &p.maps[MAP_K], column + 64 * i, row, full);
  if (QK > NOPE) copy_box(to + NOPE / 64 * SLAB, &p.maps[QK > NOPE ? MAP_K_PE : 0], column_pe, row, full);
}

MLAF_DEV void load_v(const mlaf_prefill_params& p, u32 shared, const tile& t, int round, const ring<STAGES>& at, int lane) {
  const u32 full = shared + V_FULL_AT + 8 * at.stage, to = shared + V_AT + at.stage * SLABS_V * SLAB;
  barrier_wait(shared + V_EMPTY_AT + 8 * at.stage, at.lap ^ 1);
  __syncwarp();
  if (lane != 0) return;
  barrier_expect(full, SLABS_V * SLAB);
#pragma unroll
  for (int i = 0; i < SLABS_V; i++)
    copy_box(to + i * SLAB, &p.maps[MAP_V], (int)(t.head * p.a.v_head / 2) + 64 * i, t.key + round * KEYS, full);
}

MLAF_DEV void fetch_box(const mlaf_tensor_map* map, int column, int row) { // into L2
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(map), "r"(column), "r"(row) : "memory");
}

// Each warpgroup's half, as soon as it has made its last scores of the tile before. It is asked for into L2 a tile ahead.
MLAF_DEV void load_q(const mlaf_prefill_params& p, u32 shared, const tile& t, u32 lap, int lane) {
  const int column = (int)(t.head * p.a.q_head / 2);
  if (lane < 2 * SLABS_QK) fetch_box(&p.maps[MAP_Q], column + 64 * (lane >> 1), t.row + 64 * (lane & 1));
  for (int half = 0; half < 2; half++) {
    const u32 full = shared + Q_FULL_AT + 8 * half;
    barrier_wait(shared + Q_EMPTY_AT + 8 * half, lap ^ 1);
    __syncwarp();
    if (lane != 0) continue;
    barrier_expect(full, Q_HALF);
#pragma unroll
    for (int i = 0; i < SLABS_QK; i++)
      copy_box_once(shared + Q_AT + half * Q_HALF + i * Q_SLAB, &p.maps[MAP_Q], column + 64 * i, t.row + 64 * half, full);
  }
}

// Rows that see no key.
MLAF_DEV void write_empty(const mlaf_prefill_kernel_args& a, const tile& t, int lane) {
  const bool bad = t.keys < 0;
  const float x = bad ? not_a_number() : 0.0f;
  for (int row = 0; row < t.rows; row++) {
    const i64 at = t.row + row;
    for (int i = lane; i < V / 2; i += 32) ((u32*)(a.o + at * a.o_token + t.head * a.o_head))[i] = pack2(x, x);
    if (lane == 0 && a.lse) a.lse[at * a.lse_token + t.head * a.lse_head] = bad ? x : minus_inf();
  }
}

MLAF_DEV void deal_tiles(const mlaf_prefill_kernel_args& a, u32 shared, int lane) {
  ring<TOLD> told = {0, 0};
  deal d = first_deal();
  u32 place = d.place = blockIdx.x;
  bool more = true;
  for (; more; d.place += 2 * (gridDim.x - place) - 1, place = gridDim.x - 1 - place) { // to and fro
    tile t;
    more = find_tile(a, d, lane, t);
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

// A warp for each of K, V and Q: none waits behind another one's places, and boxes go out side by side.
enum { LOAD_K, LOAD_V, LOAD_Q };
template <int WHAT>
MLAF_DEV void load_tiles(const mlaf_prefill_params& p, u32 shared, int lane) {
  ring<STAGES> places = {0, 0};
  ring<TOLD> told = {0, 0};
  for (u32 q_lap = 0;; q_lap ^= 1) {
    barrier_wait(shared + TOLD_FULL_AT + 8 * told.stage, told.lap);
    const tile t = *(const tile*)(memory() + TOLD_AT + 64 * told.stage);
    __syncwarp();
    if (lane == 0) barrier_arrive(shared + TOLD_EMPTY_AT + 8 * told.stage);
    told.next();
    if (t.rounds == 0) return;
    if (WHAT == LOAD_Q) load_q(p, shared, t, q_lap, lane);
    for (int i = t.rounds - 1; WHAT != LOAD_Q && i >= 0; i--) {
      if (WHAT == LOAD_K) load_k(p, shared, t, i, places, lane);
      else load_v(p, shared, t, i, places, lane);
      places.next();
    }
  }
}

// ---- Math ------------------------------------------------------------------------------------------------------------------
struct row_state {
  float top[2], sum[2]; // maximum of scores not yet scaled; this thread's share of the sum
};
struct math {
  u32 shared;
  float scale;
  int lane, warp, wg; // warp of its warpgroup; warpgroup 0, 1
  ring<STAGES> k, v;
  ring<TOLD> told, done; // facts of the tile whose scores come next, of the one whose O comes next
  u32 q_lap;
  int round;          // of the scores at hand
  int least;          // keys that all rows of their tile see
  bool opens, before; // the round is its tile's first; there was a tile before
  row_state r;
  float factor[2]; // of O: what the past is worth; if the round opens its tile, what O of the tile before is to be multiplied by
};

MLAF_DEV void give_back(const math& c, u32 barrier) {
  if (c.lane == 0) barrier_arrive(c.shared + barrier);
}

MLAF_DEV const tile& told(const ring<TOLD>& at) { return *(const tile*)(memory() + TOLD_AT + 64 * at.stage); }

MLAF_DEV void multiply_k(const math& c, float (&s)[KEYS / 2]) {
  const u32 q = k_major(c.shared + Q_AT + c.wg * Q_HALF), k = k_major(c.shared + K_AT + c.k.stage * SLABS_QK * SLAB);
#pragma unroll
  for (int i = 0; i < SLABS_QK; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) wgmma_ss(s, q + i * (Q_SLAB / 16) + 2 * j, k + i * (SLAB / 16) + 2 * j, i + j > 0);
  wgmma_commit();
}

MLAF_DEV void multiply_v(const math& c, const u32 (&p)[KEYS / 16][4], float (&o)[V / 2], bool more) {
  const u32 v = n_major(c.shared + V_AT + c.v.stage * SLABS_V * SLAB, SLAB);
#pragma unroll
  for (int i = 0; i < KEYS / 16; i++) wgmma_rs_t(o, p[i], v + 128 * i, more || i > 0);
  wgmma_commit();
}

// V's rows from the request's end on become zero: of a tile's first round, which is the request's last. Both warpgroups write
// all of them, so neither waits for the other; each gives V back behind its own product alone.
MLAF_DEV void clear_tail(const math& c, int valid) {
  if (valid >= KEYS) return;
  const u32 at = c.shared + V_AT + c.v.stage * SLABS_V * SLAB + valid * 128;
  for (int i = 32 * c.warp + c.lane; i < (KEYS - valid) * 8 * SLABS_V; i += 128)
    asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(at + i % SLABS_V * SLAB + i / SLABS_V * 16), "r"(0) : "memory");
  fence_async();
  named_sync(ONE + c.wg, 128);
}

MLAF_DEV void hide(const math& c, int round, float (&s)[KEYS / 2]) {
  const tile& f = told(c.told);
  int limit[2];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = 64 * c.wg + 16 * c.warp + (c.lane >> 2) + 8 * h;
    limit[h] = smaller(CAUSAL ? f.seen + row : f.keys, f.keys) - round * KEYS - 2 * (c.lane & 3);
  }
#pragma unroll
  for (int i = 0; i < KEYS / 2; i++)
    if (8 * (i / 4) + (i & 1) >= limit[i >> 1 & 1]) s[i] = minus_inf();
}

// Scores of a round -> P, not yet packed, and what the past is worth now.
MLAF_DEV void soften(const math& c, float (&s)[KEYS / 2], row_state& r, float (&now)[2]) {
  float offset[2], add[2][2] = {};
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float top[2] = {s[2 * h], s[2 * h + 1]};
#pragma unroll
    for (int i = 4; i < KEYS / 2; i += 4) {
      top[0] = fmaxf(top[0], s[i + 2 * h]);
      top[1] = fmaxf(top[1], s[i + 2 * h + 1]);
    }
    const float m = fmaxf(r.top[h], max_over_lanes<1, 4>(fmaxf(top[0], top[1])));
    offset[h] = m == minus_inf() ? 0.0f : m * c.scale; // nothing seen yet: all weights are 0, not NaN
    now[h] = exp2_fast(r.top[h] * c.scale - offset[h]);
    r.top[h] = m;
  }
#pragma unroll
  for (int i = 0; i < KEYS / 2; i += 2) {
    const int h = i >> 1 & 1;
    s[i] = exp2_fast(fmaf(s[i], c.scale, -offset[h]));
    s[i + 1] = exp2_fast(fmaf(s[i + 1], c.scale, -offset[h]));
    add[h][0] += s[i];
    add[h][1] += s[i + 1];
  }
#pragma unroll
  for (int h = 0; h < 2; h++) r.sum[h] = r.sum[h] * now[h] + (add[h][0] + add[h][1]);
}

MLAF_DEV void make_p(const float (&s)[KEYS / 2], u32 (&p)[KEYS / 16][4]) {
#pragma unroll
  for (int k = 0; k < KEYS / 16; k++)
#pragma unroll
    for (int i = 0; i < 4; i++) p[k][i] = pack2(s[8 * k + 2 * i], s[8 * k + 2 * i + 1]);
}

MLAF_DEV void rescale(const float (&now)[2], float (&o)[V / 2]) {
  if (!__any_sync(~0u, now[0] != 1.0f || now[1] != 1.0f)) return; // true for NaN
#pragma unroll
  for (int i = 0; i < V / 2; i++) o[i] *= now[i >> 1 & 1];
}

// Word j of lane t of a quad and word t of its lane j change places.
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

// All scores of a tile's rows are known: lse, and what O is to be multiplied by.
MLAF_DEV void close_rows(const math& c, const mlaf_prefill_kernel_args& a, const tile& f, const row_state& r, float (&last)[2]) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = 64 * c.wg + 16 * c.warp + (c.lane >> 2) + 8 * h;
    const float total = sum_over_lanes<1, 4>(r.sum[h]);
    last[h] = total == 0.0f ? 0.0f : 1.0f / total;
    if (row < f.rows && a.lse && (c.lane & 3) == 0)
      a.lse[(i64)(f.row + row) * a.lse_token + f.head * a.lse_head] = total == 0.0f ? minus_inf()
        : ((r.top[h] == minus_inf() ? 0.0f : r.top[h] * c.scale) + log2_fast(total)) * LN_2;
  }
}

MLAF_DEV void store_rows(const math& c, const mlaf_prefill_kernel_args& a, const tile& f, const float (&last)[2],
                         const float (&o)[V / 2]) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = 64 * c.wg + 16 * c.warp + (c.lane >> 2) + 8 * h;
    char* const to = a.o + (i64)(f.row + row) * a.o_token + f.head * a.o_head + 16 * (c.lane & 3);
#pragma unroll
    for (int u = 0; u < V / 32; u++) { // 16 bytes of each lane of a quad: 32 columns
      u32 w[4];
#pragma unroll
      for (int j = 0; j < 4; j++) w[j] = pack2(o[16 * u + 4 * j + 2 * h] * last[h], o[16 * u + 4 * j + 2 * h + 1] * last[h]);
      transpose_quad(w);
      if (row < f.rows) *(uint4*)(to + 64 * u) = make_uint4(w[0], w[1], w[2], w[3]);
    }
  }
}

MLAF_DEV int keys_all_see(const math& c, const tile& f) { return CAUSAL ? smaller(f.seen + 64 * c.wg, f.keys) : f.keys; }

// Whether it has rows for this warpgroup.
MLAF_DEV bool mine(const math& c, const tile& f) { return f.rounds > 0 && f.rows > 64 * c.wg; }

// The compiler would wait for a product first and then do all that could run beside it. It keeps stores to shared memory ahead
// of the wait, so here is one that never happens: sums are not negative.
MLAF_DEV void keep_ahead(const math& c, float sum) {
  asm volatile("{\n.reg .pred p;\nsetp.lt.f32 p, %0, 0f00000000;\n@p st.shared.b32 [%1], %1;\n}" ::"f"(sum), "r"(c.shared)
               : "memory");
}

// A round: S of the next one is issued, then P V of this one. Under the first the past is rescaled, or O of the tile before
// stored; under the second the softmax of the next one runs. False: there is no next one.
MLAF_DEV bool work_on_round(math& c, const mlaf_prefill_kernel_args& a, float (&s)[KEYS / 2], float (&o)[V / 2],
                            const u32 (&weights)[KEYS / 16][4], u32 (&next)[KEYS / 16][4]) {
  const bool closes = c.round == 0;
  const int here = c.round;
  bool more = true, ends = false;
  if (--c.round < 0) {
    c.told.next();
    c.q_lap ^= 1;
    barrier_wait(c.shared + TOLD_FULL_AT + 8 * c.told.stage, c.told.lap);
    const tile& f = told(c.told);
    more = mine(c, f);
    ends = f.rounds == 0;
    if (more) {
      c.round = f.rounds - 1;
      barrier_wait(c.shared + Q_FULL_AT + 8 * c.wg, c.q_lap);
    }
  }
  if (more) barrier_wait(c.shared + K_FULL_AT + 8 * c.k.stage, c.k.lap);
  named_sync(TURN + c.wg, 256);
  settle(s);
  wgmma_fence();
  multiply_k(c, s); // of what lies there, if there are no more: nobody looks at it
  const bool stores = c.opens && c.before, passes = !ends || c.wg == 0;
  if (!c.opens) rescale(c.factor, o);
  if (stores) { // longer than a product: the other one need not wait for it
    if (passes) named_arrive(TURN + 1 - c.wg, 256);
    store_rows(c, a, told(c.done), c.factor, o);
    __syncwarp();
    give_back(c, TOLD_EMPTY_AT + 8 * c.done.stage);
    c.done.next();
  }
  barrier_wait(c.shared + V_FULL_AT + 8 * c.v.stage, c.v.lap);
  if (c.opens) clear_tail(c, told(c.done).keys - here * KEYS);
  settle(o);
  wgmma_fence();
  multiply_v(c, weights, o, !c.opens);
  if (passes && !stores) named_arrive(TURN + 1 - c.wg, 256);
  c.opens = closes;
  c.before = true;
  if (closes) {
    close_rows(c, a, told(c.done), c.r, c.factor);
    if (more) c.least = keys_all_see(c, told(c.told));
    c.r = {{minus_inf(), minus_inf()}, {0.0f, 0.0f}};
  }
  wgmma_wait<1>();
  settle(s);
  if (more) {
    give_back(c, K_EMPTY_AT + 8 * c.k.stage);
    c.k.next();
  }
  if (c.round == 0) give_back(c, Q_EMPTY_AT + 8 * c.wg);
  if ((c.round + 1) * KEYS > c.least) hide(c, c.round, s);
  float now[2];
  soften(c, s, c.r, now);
  if (!closes) c.factor[0] = now[0], c.factor[1] = now[1];
  make_p(s, next);
  keep_ahead(c, c.r.sum[0] + c.r.sum[1]);
  wgmma_wait<0>();
  settle(o);
  give_back(c, V_EMPTY_AT + 8 * c.v.stage);
  c.v.next();
  return more;
}

// Tiles one behind the other, until there are no more or one has no rows for this warpgroup.
MLAF_DEV void work_on_run(math& c, const mlaf_prefill_kernel_args& a) {
  c.least = keys_all_see(c, told(c.told));
  c.r = {{minus_inf(), minus_inf()}, {0.0f, 0.0f}};
  c.opens = true, c.before = false;
  float s[KEYS / 2], o[V / 2];
  u32 even[KEYS / 16][4], odd[KEYS / 16][4];
#pragma unroll
  for (int i = 0; i < V / 2; i++) o[i] = 0.0f;
  barrier_wait(c.shared + Q_FULL_AT + 8 * c.wg, c.q_lap);
  barrier_wait(c.shared + K_FULL_AT + 8 * c.k.stage, c.k.lap);
  settle(s);
  wgmma_fence();
  multiply_k(c, s);
  wgmma_wait<0>();
  settle(s);
  give_back(c, K_EMPTY_AT + 8 * c.k.stage);
  c.k.next();
  if (c.round == 0) give_back(c, Q_EMPTY_AT + 8 * c.wg);
  if ((c.round + 1) * KEYS > c.least) hide(c, c.round, s);
  soften(c, s, c.r, c.factor);
  make_p(s, even);
#pragma unroll 1
  while (work_on_round(c, a, s, o, even, odd) && work_on_round(c, a, s, o, odd, even)) {}
  store_rows(c, a, told(c.done), c.factor, o);
}

// A tile without rows for this warpgroup: what is for both is given back, and its turns are passed on.
MLAF_DEV void pass_tile(math& c, int rounds) {
  barrier_wait(c.shared + Q_FULL_AT + 8 * c.wg, c.q_lap);
  give_back(c, Q_EMPTY_AT + 8 * c.wg);
  for (int i = 0; i < rounds; i++) {
    barrier_wait(c.shared + K_FULL_AT + 8 * c.k.stage, c.k.lap);
    give_back(c, K_EMPTY_AT + 8 * c.k.stage);
    c.k.next();
    named_sync(TURN + c.wg, 256);
    barrier_wait(c.shared + V_FULL_AT + 8 * c.v.stage, c.v.lap);
    give_back(c, V_EMPTY_AT + 8 * c.v.stage);
    c.v.next();
    named_arrive(TURN + 1 - c.wg, 256);
  }
  c.told.next();
  c.q_lap ^= 1;
}

MLAF_DEV void work_on_tiles(const mlaf_prefill_params& p, u32 shared, int wg) {
  math c;
  c.shared = shared;
  c.scale = p.a.scale_log2e;
  c.lane = threadIdx.x & 31;
  c.warp = __shfl_sync(~0u, threadIdx.x >> 5 & 3, 0);
  c.wg = wg;
  c.k = {0, 0}, c.v = {0, 0}, c.told = {0, 0}, c.done = {0, 0};
  c.q_lap = 0;
  if (wg == 1) named_arrive(TURN, 256);
#pragma unroll 1
  for (;;) {
    barrier_wait(shared + TOLD_FULL_AT + 8 * c.told.stage, c.told.lap);
    c.round = told(c.told).rounds - 1;
    if (c.round < 0) return;
    if (!mine(c, told(c.told))) {
      pass_tile(c, c.round + 1);
    } else {
      work_on_run(c, p.a);
    }
    __syncwarp();
    give_back(c, TOLD_EMPTY_AT + 8 * c.done.stage);
    c.done.next();
  }
}

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_prefill_sm90_1b1f51b2(const __grid_constant__ mlaf_prefill_params p) {
  const u32 shared = shared_address(memory());
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; i++) fetch_map(&p.maps[i]);
    for (int i = 0; i < STAGES; i++) {
      barrier_init(shared + K_FULL_AT + 8 * i, 1);
      barrier_init(shared + K_EMPTY_AT + 8 * i, 2 * WG_WARPS);
      barrier_init(shared + V_FULL_AT + 8 * i, 1);
      barrier_init(shared + V_EMPTY_AT + 8 * i, 2 * WG_WARPS);
    }
    for (int i = 0; i < 2; i++) {
      barrier_init(shared + Q_FULL_AT + 8 * i, 1);
      barrier_init(shared + Q_EMPTY_AT + 8 * i, WG_WARPS);
    }
    for (int i = 0; i < TOLD; i++) {
      barrier_init(shared + TOLD_FULL_AT + 8 * i, 1);
      barrier_init(shared + TOLD_EMPTY_AT + 8 * i, 2 * WG_WARPS + 3);
    }
    barriers_ready();
  }
  __syncthreads();
  wait_for_previous_launch();
  let_next_launch_start();
  const int wg = __shfl_sync(~0u, threadIdx.x >> 7, 0);
  if (wg == 0) { // registers: 128 * 40 + 256 * 232 = 384 * 168
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    const int warp = __shfl_sync(~0u, threadIdx.x >> 5, 0), lane = threadIdx.x & 31;
    if (warp == 0) deal_tiles(p.a, shared, lane);
    else if (warp == 1) load_tiles<LOAD_K>(p, shared, lane);
    else if (warp == 2) load_tiles<LOAD_V>(p, shared, lane);
    else load_tiles<LOAD_Q>(p, shared, lane);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    work_on_tiles(p, shared, wg - 1);
  }
}
