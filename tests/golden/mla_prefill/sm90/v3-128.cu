// Generated from templates/mla_prefill/sm90.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_prefill_sm90_f157a7a4
// parameters:
//   causal = 1
//   dtype = bf16
//   heads = 16
//   keys = 128
//   nope = 128
//   rope = 64
//   vdim = 128
// regenerate: lua5.4 gen/cli.lua render mla_prefill/sm90 target=sm_90a causal=1 dtype=bf16 heads=16 keys=128 nope=128 rope=64 vdim=128
// Prefill for Hopper: wgmma, copies by the tensor memory accelerator, a persistent block on each SM.
//
// A block takes tile after tile (lib/tiles.h): 128 new tokens of one head. One warp loads, two warpgroups multiply, 64 tokens
// each:
//
//   S = Q K^T    [64 x KEYS] over N+P   A = Q, B = K, both from shared memory
//   O += P V     [64 x V] over KEYS     A = P from registers, as S lies in them; B = V from shared memory, columns contiguous
//
// Keys are walked from the last one down, so that masks come first. While the tensor cores make S of the next round and O of this
// one, a warpgroup's other work is the softmax between them: S(next) is issued, then P V of the round before; the softmax of
// S(next) runs under that product. Both warpgroups share K, V and Q's place; the loader is up to two rounds ahead, into the
// next tile.
//
// Shared memory holds slabs of 64 columns, 128 bytes a row, swizzled: Q 128 rows, rings of two rounds of K and of V. K has two
// sources, each by its own tensor map: the head's own columns, and those with positions. A box may reach behind the request's
// end: scores there are masked, and V's rows are cleared, since 0 * NaN is NaN.


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
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_prefill_sm90_f157a7a4_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 213232, {0, 0, 0}, 3, 0, 0, {0, 0}, 4,
    {{1, 64, 128, 128}, {2, 64, 128, 128}, {4, 64, 128, 128}, {3, 64, 128, 128}}};
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
constexpr int SLABS_QK = QK / 64, SLABS_V = V / 64, SLAB = KEYS * 128, Q_SLAB = ROWS * 128;
constexpr int MAP_Q = 0, MAP_K = 1, MAP_V = 2, MAP_K_PE = 3;
constexpr i64 HEADS_BYTES = 25165824, KEY_BYTES = 2 * (QK + V);
MLAF_DEV int load_length(const int* at) { return *at; }
MLAF_DEV int lanes_true(bool x) { return __popc(__ballot_sync(~0u, x)); }
MLAF_DEV int same_in_all(int x) { return __shfl_sync(~0u, x, 0); }
// [templates/mla_prefill/lib/tiles.h]

// What the loader tells of a tile. rounds -1: there are no more.
struct facts {
  i64 row;
  int rows, head, keys, seen, rounds, bad;
};
struct shared_memory {
  char q[SLABS_QK][Q_SLAB], k[STAGES][SLABS_QK][SLAB], v[STAGES][SLABS_V][SLAB]; // swizzled
  __align__(16) char told[2][64];
  u64 k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES], q_full, q_empty, told_full[2], told_empty[2]; // barriers
};
constexpr int Q_AT = AT(q), K_AT = AT(k), V_AT = AT(v), TOLD_AT = AT(told), K_FULL_AT = AT(k_full), K_EMPTY_AT = AT(k_empty);
constexpr int V_FULL_AT = AT(v_full), V_EMPTY_AT = AT(v_empty), Q_FULL_AT = AT(q_full), Q_EMPTY_AT = AT(q_empty);
constexpr int TOLD_FULL_AT = AT(told_full), TOLD_EMPTY_AT = AT(told_empty);
static_assert(sizeof(shared_memory) == 213232 && sizeof(facts) <= 64, "its plan counts otherwise");
enum { BOTH = 1 }; // named barrier
constexpr int MATH_WARPS = 8;

MLAF_DEV char* memory() {
  extern __shared__ __align__(1024) char all_memory[];
  return all_memory;
}

// A ring of STAGES places, as each of its users walks it.
struct ring {
  int stage;
  u32 lap; // parity of the place's use
  __device__ __forceinline__ void next() {
    if (++stage == STAGES) stage = 0, lap ^= 1;
  }
};

MLAF_DEV int rounds_of(const tile& t) {
  const int most = smaller(seen_by(t, t.rows - 1), t.keys);
  return most > 0 ? (most + KEYS - 1) / KEYS : 0;
}

// ---- The loader ------------------------------------------------------------------------------------------------------------
MLAF_DEV void load_k(const mlaf_prefill_params& p, u32 shared, const tile& t, int round, const ring& at, int lane) {
  const u32 full = shared + K_FULL_AT + 8 * at.stage, to = shared + K_AT + at.stage * SLABS_QK * SLAB;
  const int row = (int)t.key + round * KEYS, column = (int)(t.head * p.a.k_head / 2);
  const int column_pe = (int)(t.head * p.a.k_pe_head / 2);
  barrier_wait(shared + K_EMPTY_AT + 8 * at.stage, at.lap ^ 1);
  __syncwarp();
  if (lane != 0) return;
  barrier_expect(full, SLABS_QK * SLAB);
#pragma unroll
  for (int i = 0; i < NOPE / 64; i++) copy_box(to + i * SLAB, &p.maps[MAP_K], column + 64 * i, row, full);
  if (QK > NOPE) copy_box(to + NOPE / 64 * SLAB, &p.maps[QK > NOPE ? MAP_K_PE : 0], column_pe, row, full);
}

MLAF_DEV void load_v(const mlaf_prefill_params& p, u32 shared, const tile& t, int round, const ring& at, int lane) {
  const u32 full = shared + V_FULL_AT + 8 * at.stage, to = shared + V_AT + at.stage * SLABS_V * SLAB;
  barrier_wait(shared + V_EMPTY_AT + 8 * at.stage, at.lap ^ 1);
  __syncwarp();
  if (lane != 0) return;
  barrier_expect(full, SLABS_V * SLAB);
#pragma unroll
  for (int i = 0; i < SLABS_V; i++)
    copy_box(to + i * SLAB, &p.maps[MAP_V], (int)(t.head * p.a.v_head / 2) + 64 * i, (int)t.key + round * KEYS, full);
}

MLAF_DEV void load_q(const mlaf_prefill_params& p, u32 shared, const tile& t, u32 lap, int lane) {
  barrier_wait(shared + Q_EMPTY_AT, lap ^ 1);
  __syncwarp();
  if (lane != 0) return;
  barrier_expect(shared + Q_FULL_AT, SLABS_QK * Q_SLAB);
#pragma unroll
  for (int i = 0; i < SLABS_QK; i++)
    copy_box_once(shared + Q_AT + i * Q_SLAB, &p.maps[MAP_Q], (int)(t.head * p.a.q_head / 2) + 64 * i, (int)t.row,
                  shared + Q_FULL_AT);
}

MLAF_DEV void tell(u32 shared, const facts& f, const ring& at, int lane) {
  barrier_wait(shared + TOLD_EMPTY_AT + 8 * at.stage, at.lap ^ 1);
  __syncwarp();
  if (lane == 0) {
    *(facts*)(memory() + TOLD_AT + 64 * at.stage) = f;
    barrier_arrive(shared + TOLD_FULL_AT + 8 * at.stage);
  }
}

MLAF_DEV void load_tiles(const mlaf_prefill_params& p, u32 shared, int lane) {
  const u32 blocks = (u32)((p.a.total_q / ROWS + p.a.batch) * H);
  ring k = {0, 0}, v = {0, 0}, told = {0, 0};
  u32 q_lap = 0;
  for (u32 block = blockIdx.x; block < blocks; block += gridDim.x) {
    tile t;
    if (!find_tile(p.a, block, lane, 0, t)) continue;
    const int rounds = rounds_of(t);
    tell(shared, {t.row, t.rows, t.head, t.keys, t.seen, rounds, t.bad}, told, lane);
    told.next();
    if (rounds == 0) continue;
    load_k(p, shared, t, rounds - 1, k, lane);
    k.next();
    load_q(p, shared, t, q_lap, lane);
    q_lap ^= 1;
    for (int i = rounds - 1; i >= 0; i--) {
      if (i > 0) load_k(p, shared, t, i - 1, k, lane), k.next();
      load_v(p, shared, t, i, v, lane);
      v.next();
    }
  }
  tell(shared, {0, 0, 0, 0, 0, -1, 0}, told, lane);
}

// ---- Math ------------------------------------------------------------------------------------------------------------------
struct math {
  u32 shared;
  float scale;
  int lane, warp, wg; // warp of its warpgroup; warpgroup 0, 1
  ring k, v;
};
struct row_state {
  float top[2], sum[2]; // maximum of scores not yet scaled; this thread's share of the sum
};

MLAF_DEV void give_back(const math& c, u32 barrier) {
  if (c.lane == 0) barrier_arrive(c.shared + barrier);
}

MLAF_DEV void multiply_k(const math& c, float (&s)[KEYS / 2]) {
  const u32 q = k_major(c.shared + Q_AT + c.wg * 64 * 128), k = k_major(c.shared + K_AT + c.k.stage * SLABS_QK * SLAB);
#pragma unroll
  for (int i = 0; i < SLABS_QK; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) wgmma_ss(s, q + i * (Q_SLAB / 16) + 2 * j, k + i * (SLAB / 16) + 2 * j, i + j > 0);
  wgmma_commit();
}

MLAF_DEV void multiply_v(const math& c, const u32 (&p)[KEYS / 16][4], float (&o)[V / 2]) {
  const u32 v = n_major(c.shared + V_AT + c.v.stage * SLABS_V * SLAB, SLAB);
#pragma unroll
  for (int i = 0; i < KEYS / 16; i++) wgmma_rs_t(o, p[i], v + 128 * i, true);
  wgmma_commit();
}

// V's rows from the request's end on become zero: of the last round, which is the first.
MLAF_DEV void clear_tail(const math& c, int valid) {
  if (valid >= KEYS) return;
  const u32 at = c.shared + V_AT + c.v.stage * SLABS_V * SLAB + valid * 128;
  for (int i = 128 * c.wg + 32 * c.warp + c.lane; i < (KEYS - valid) * 8 * SLABS_V; i += 256)
    asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(at + i % SLABS_V * SLAB + i / SLABS_V * 16), "r"(0) : "memory");
  fence_async();
  named_sync(BOTH, 256);
}

// Scores of a round -> P, packed as the next product wants it, and what the past is worth now. masked: not all rows see all
// of it.
MLAF_DEV void soften(const math& c, const facts& f, int round, bool masked, float (&s)[KEYS / 2], row_state& r, float (&now)[2]) {
  if (masked) {
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
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float top[2] = {s[2 * h], s[2 * h + 1]};
#pragma unroll
    for (int i = 4; i < KEYS / 2; i += 4) {
      top[0] = fmaxf(top[0], s[i + 2 * h]);
      top[1] = fmaxf(top[1], s[i + 2 * h + 1]);
    }
    const float m = fmaxf(r.top[h], max_over_lanes<1, 4>(fmaxf(top[0], top[1])));
    const float offset = m == minus_inf() ? 0.0f : m * c.scale; // nothing seen yet: all weights are 0, not NaN
    now[h] = exp2_fast(r.top[h] * c.scale - offset);
    r.top[h] = m;
    float add = 0.0f;
#pragma unroll
    for (int i = 0; i < KEYS / 2; i += 4)
#pragma unroll
      for (int e = 0; e < 2; e++) {
        float& x = s[i + 2 * h + e];
        x = exp2_fast(fmaf(x, c.scale, -offset));
        add += x;
      }
    r.sum[h] = r.sum[h] * now[h] + add;
  }
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

// All rounds of a tile, at least one.
MLAF_DEV void work_on_tile(math& c, const facts& f, row_state& r, float (&o)[V / 2]) {
  float s[KEYS / 2], now[2];
  u32 p[KEYS / 16][4];
  const int least = CAUSAL ? smaller(f.seen + 64 * c.wg, f.keys) : f.keys; // keys that all of its rows see
  barrier_wait(c.shared + K_FULL_AT + 8 * c.k.stage, c.k.lap);
  settle(s);
  wgmma_fence();
  multiply_k(c, s);
  wgmma_wait<0>();
  settle(s);
  give_back(c, K_EMPTY_AT + 8 * c.k.stage);
  c.k.next();
  soften(c, f, f.rounds - 1, f.rounds * KEYS > least, s, r, now);
  make_p(s, p);
  barrier_wait(c.shared + V_FULL_AT + 8 * c.v.stage, c.v.lap);
  clear_tail(c, f.keys - (f.rounds - 1) * KEYS);
#pragma unroll 1
  for (int round = f.rounds - 2; round >= 0; round--) {
    barrier_wait(c.shared + K_FULL_AT + 8 * c.k.stage, c.k.lap);
    settle(s);
    settle(o);
    wgmma_fence();
    multiply_k(c, s);
    multiply_v(c, p, o);
    wgmma_wait<1>();
    settle(s);
    give_back(c, K_EMPTY_AT + 8 * c.k.stage);
    c.k.next();
    soften(c, f, round, (round + 1) * KEYS > least, s, r, now);
    wgmma_wait<0>();
    settle(o);
    give_back(c, V_EMPTY_AT + 8 * c.v.stage);
    c.v.next();
    rescale(now, o);
    make_p(s, p);
    barrier_wait(c.shared + V_FULL_AT + 8 * c.v.stage, c.v.lap);
  }
  give_back(c, Q_EMPTY_AT); // every S is there
  settle(o);
  wgmma_fence();
  multiply_v(c, p, o);
  wgmma_wait<0>();
  settle(o);
  give_back(c, V_EMPTY_AT + 8 * c.v.stage);
  c.v.next();
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

MLAF_DEV void finish(const math& c, const mlaf_prefill_kernel_args& a, const facts& f, const row_state& r,
                     const float (&o)[V / 2]) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = 64 * c.wg + 16 * c.warp + (c.lane >> 2) + 8 * h;
    const bool there = row < f.rows;
    float total = sum_over_lanes<1, 4>(r.sum[h]);
    if (f.bad) total = not_a_number();
    const float scale = total == 0.0f ? 0.0f : 1.0f / total;
    if (there && a.lse && (c.lane & 3) == 0)
      a.lse[(f.row + row) * a.lse_token + f.head * a.lse_head] = total == 0.0f ? minus_inf()
        : ((r.top[h] == minus_inf() ? 0.0f : r.top[h] * c.scale) + log2_fast(total)) * LN_2;
    char* const to = a.o + (f.row + row) * a.o_token + f.head * a.o_head + 16 * (c.lane & 3);
#pragma unroll
    for (int u = 0; u < V / 32; u++) { // 16 bytes of each lane of a quad: 32 columns
      u32 w[4];
#pragma unroll
      for (int j = 0; j < 4; j++) w[j] = pack2(o[16 * u + 4 * j + 2 * h] * scale, o[16 * u + 4 * j + 2 * h + 1] * scale);
      transpose_quad(w);
      if (there) *(uint4*)(to + 64 * u) = make_uint4(w[0], w[1], w[2], w[3]);
    }
  }
}

MLAF_DEV void work_on_tiles(const mlaf_prefill_params& p, u32 shared, int wg) {
  math c;
  c.shared = shared;
  c.scale = p.a.scale_log2e;
  c.lane = threadIdx.x & 31;
  c.warp = __shfl_sync(~0u, threadIdx.x >> 5 & 3, 0);
  c.wg = wg;
  c.k = c.v = {0, 0};
  ring told = {0, 0};
  u32 q_lap = 0;
#pragma unroll 1
  for (;;) {
    barrier_wait(shared + TOLD_FULL_AT + 8 * told.stage, told.lap);
    const facts f = *(const facts*)(memory() + TOLD_AT + 64 * told.stage);
    __syncwarp();
    give_back(c, TOLD_EMPTY_AT + 8 * told.stage);
    told.next();
    if (f.rounds < 0) return;
    row_state r = {{minus_inf(), minus_inf()}, {0.0f, 0.0f}};
    float o[V / 2];
#pragma unroll
    for (int i = 0; i < V / 2; i++) o[i] = 0.0f;
    if (f.rounds > 0) {
      barrier_wait(shared + Q_FULL_AT, q_lap);
      q_lap ^= 1;
      work_on_tile(c, f, r, o);
    }
    finish(c, p.a, f, r, o);
  }
}

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_prefill_sm90_f157a7a4(const __grid_constant__ mlaf_prefill_params p) {
  const u32 shared = shared_address(memory());
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; i++) fetch_map(&p.maps[i]);
    for (int i = 0; i < STAGES; i++) {
      barrier_init(shared + K_FULL_AT + 8 * i, 1);
      barrier_init(shared + K_EMPTY_AT + 8 * i, MATH_WARPS);
      barrier_init(shared + V_FULL_AT + 8 * i, 1);
      barrier_init(shared + V_EMPTY_AT + 8 * i, MATH_WARPS);
      barrier_init(shared + TOLD_FULL_AT + 8 * i, 1);
      barrier_init(shared + TOLD_EMPTY_AT + 8 * i, MATH_WARPS);
    }
    barrier_init(shared + Q_FULL_AT, 1);
    barrier_init(shared + Q_EMPTY_AT, MATH_WARPS);
    barriers_ready();
  }
  __syncthreads();
  wait_for_previous_launch();
  let_next_launch_start();
  const int wg = __shfl_sync(~0u, threadIdx.x >> 7, 0);
  if (wg == 0) { // registers: 128 * 40 + 256 * 232 = 384 * 168
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x < 32) load_tiles(p, shared, threadIdx.x);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    work_on_tiles(p, shared, wg - 1);
  }
}
