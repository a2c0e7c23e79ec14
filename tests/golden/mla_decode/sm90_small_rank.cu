// Generated from templates/mla_decode/sm90_small_rank.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_mla_decode_sm90_small_rank_479c91ac
// parameters:
//   causal = 1
//   dtype = f16
//   heads = 40
//   page_size = 16
//   q_len = 3
//   rank = 256
//   rope = 32
//   schedule = fitted
// regenerate: lua5.4 gen/cli.lua render mla_decode/sm90_small_rank target=sm_90a causal=1 dtype=f16 heads=40 page_size=16 q_len=3 rank=256 rope=32 schedule=fitted



#define MLAF_BF16 0
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
// [templates/mla_decode/lib/args.h]
struct mlaf_map_want {
  u32 of, cols, rows, swizzle;
};
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, reserved[3], n_maps;
  mlaf_map_want maps[8];
};
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_decode_sm90_small_rank_479c91ac_launch = {0x314b4c4du, sizeof(mlaf_kernel_launch), 213152,
    {1, 1, 1}, 11, 0, {}, 3,
    {{3, 64, 128, 128}, {1, 64, 16, 128}, {2, 32, 16, 64}}};
struct __align__(64) mlaf_tensor_map {
  u64 opaque[16];
};
struct mlaf_decode_params {
  mlaf_decode_args a;
  mlaf_tensor_map maps[3];
};
// [templates/mla_decode/lib/narrow.h]
// [templates/lib/hopper.h]
// [templates/mla_decode/sm90_many/copy.h]

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
template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_rs_t(float (&d)[128], const u32 (&a)[4], u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %133, 0;\nmov.b64 b, {%132, %134};\n"
    "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63,"
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79,"
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95,"
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111,"
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
    "{%128, %129, %130, %131}, b, p, 1, 1, 1;\n}"
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
      "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
      "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
      "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
      "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
      "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"((int)accumulate), "n"(B_HI));
}
template <u32 B_HI = SWIZZLE_128>
MLAF_DEV void wgmma_ss_t(float (&d)[128], u32 a, u32 b, bool accumulate) {
  asm volatile("{\n.reg .pred p;\n.reg .b64 a, b;\n"
    "setp.ne.b32 p, %130, 0;\nmov.b64 b, {%129, %131};\n"
    "mov.b64 a, {%128, %132};\n"
    "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16\n{"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63,"
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79,"
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95,"
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111,"
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
    "a, b, p, 1, 1, 0, 1;\n}"
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
      "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
      "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
      "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
      "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
      "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
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
// [templates/mla_decode/lib/schedule.h]
// [templates/mla_decode/lib/paging.h]

#define MLAF_MEMBER __device__ __forceinline__
constexpr int H = 40, R = 256, ROPE = 32, Q_LEN = 3, PAGE = 16;
constexpr bool CAUSAL = 1, FITTED = 1; // a block may walk several pieces
constexpr int ROWS = 128;                         // of a block
constexpr int BOX = 16, BOXES = 64 / BOX;     // tokens of one copy
constexpr int SLICES = R / 64, ALL = SLICES + (ROPE > 0); // of 64 columns, without and with rope
constexpr int SLICE = 8192, ROPE_BYTES = 128 * ROPE; // bytes of 64 tokens
constexpr int BUFFERS = 4, BUFFER = 36864;
constexpr int LOADERS = 3;                        // warps that load the cache
constexpr int COPIES = ALL * BOXES;               // of a block
constexpr int MAP_Q = 0, MAP_CKV = 1, MAP_KPE = 2;
constexpr int Q_ROPE_K = ROPE / 16;               // steps of 16 columns whose Q is in registers
constexpr u32 ROPE_HI = ROPE == 32 ? SWIZZLE_64 : SWIZZLE_128;
constexpr int Q_SLICE = 2 * SLICE;                // 128 rows
struct shared_memory {
  char kv[BUFFERS][BUFFER], q[SLICES][Q_SLICE]; // swizzled
  __align__(8) char facts[64];
  u64 full[BUFFERS], empty[BUFFERS], q_full, q_empty, facts_full, checked; // barriers
};
constexpr int KV_AT = AT(kv), Q_AT = AT(q), FACTS_AT = AT(facts), FULL_AT = AT(full), EMPTY_AT = AT(empty);
constexpr int Q_FULL_AT = AT(q_full), Q_EMPTY_AT = AT(q_empty), FACTS_FULL_AT = AT(facts_full), CHECKED_AT = AT(checked);
static_assert(sizeof(shared_memory) == 213152 && BUFFER == SLICES * SLICE + ROPE_BYTES, "its plan counts otherwise");
static_assert(BUFFER % 1024 == 0 && BUFFERS >= 3, "tiles are swizzled; a block is awaited while the two before it are in use");
static_assert(COPIES <= 32 * LOADERS, "a lane for each copy");
enum { TURN = 1, OWN = 3, BOTH = 5 };

MLAF_DEV char* memory() {
  extern __shared__ __align__(1024) char all_memory[];
  return all_memory;
}

#define PART ((int)(blockIdx.z * gridDim.y + blockIdx.y))
#define FIT_CUT 500
// [templates/mla_decode/lib/fit.h]

template <typename T>
MLAF_DEV bool is_refused(int n, T from, T to, T all) {
  return (u32)n > (u32)Q_LEN || (from | to) < 0 || to > all; // to < 0: the difference of two wild numbers may be a small one
}

constexpr u32 NAN_WORD = 0x7fc07fc0;

MLAF_DEV void refuse(const mlaf_decode_args& a, i64 from, i64 to, i64 part, int lane, int lanes) {
  const i64 end = to < a.total_q * H ? to : a.total_q * H;
  const int words = part < 0 ? R / 2 : R;
  u32* const lse = (u32*)(u64)(part < 0 ? a.lse : a.part_lse + part);
  u32* const o = (u32*)(u64)(part < 0 ? a.o : (char*)(a.part_o + part * R));
#pragma unroll 1
  for (i64 row = from > 0 ? from : 0; row < end; row++) {
    if (lse && lane == 0) lse[row] = NAN_WORD;
#pragma unroll 1
    for (int i = lane; i < words; i += lanes) o[row * words + i] = NAN_WORD;
  }
}
struct piece {
  int request, begin, end, tokens; // cached tokens [begin, end) of `tokens`
  int first_page, n;               // query tokens, as qo_indptr has it
  i64 row;                         // first row of this block, over all requests
  int part;                        // its place in part_o and part_lse (rows there are fewer than 2^31), -1: straight to o and lse
  bool bad;                        // a cache without pages
};

struct walk {
  mlaf_part part;
  int request; // the next one; fitted: -1 where the batch is cut
};

MLAF_DEV walk begin_walk(const mlaf_decode_args& a) {
  const int slots = fit_slots(&a), parts = smaller(slots, (int)(gridDim.y * gridDim.z));
  walk w;
  const mlaf_entry e = schedule_entry(&a, smaller((int)blockIdx.z, a.batch - 1));
  const int none = smaller(0, e.qo | e.next_qo | e.page | e.next_page | e.last);
  w.request = fit_cuts(&a, PAGE, gridDim.y, slots, parts, none) ? -1 : (int)blockIdx.z;
  const bool tells = blockIdx.x == 0 && (threadIdx.x & 31) == 0 && a.part_o;
  if (PART == 0 && tells) fit_tell(a.part_o, w.request < 0 ? parts : 0);
  if (w.request >= 0) return w;
  if (PART < parts && tells) fit_list(a.part_o, PART, -1);
  w.part = fit_open(&a, PAGE, PART, parts);
  if (PART >= parts) w.part.request = a.batch;
  return w;
}

MLAF_DEV bool next_range(const mlaf_decode_args& a, walk& w, piece& x, int& qo) {
  const int splits = fit_splits(&a);
  if (w.request >= a.batch || (int)blockIdx.y >= splits) return false;
  x.request = w.request;
  w.request += gridDim.z;
  qo = a.qo_indptr[x.request];
  x.n = a.qo_indptr[x.request + 1] - qo;
  x.tokens = cached_tokens<PAGE>(a, x.request, x.first_page);
  split_range(x.tokens, 64, splits, blockIdx.y, x.begin, x.end);
  x.part = splits == 1 ? -1 : ((int)blockIdx.y * (int)a.total_q + qo) * H + ROWS * (int)blockIdx.x;
  return true;
}
MLAF_DEV bool next_of_part(const mlaf_decode_args& a, walk& w, piece& x, int& qo) {
  mlaf_piece y;
  if (!fit_next(&a, PAGE, &w.part, &y)) return false;
  if (fit_goes_on(&y) && blockIdx.x == 0 && (threadIdx.x & 31) == 0 && a.part_o) fit_list(a.part_o, PART, y.request);
  qo = y.qo;
  x.request = y.request, x.begin = y.begin, x.end = y.end, x.tokens = y.tokens, x.first_page = y.first_page;
  x.n = y.q_tokens;
  x.part = y.slot < 0 ? -1 : y.slot * (Q_LEN * H) + ROWS * (int)blockIdx.x;
  return true;
}

MLAF_DEV bool next_piece(const mlaf_decode_args& a, walk& w, piece& x) {
  int qo;
  if (!(w.request < 0 ? next_of_part(a, w, x, qo) : next_range(a, w, x, qo))) return false;
  x.row = (i64)qo * H + ROWS * (int)blockIdx.x;
  x.bad = a.num_pages <= 0 && x.begin < x.end; // nothing may be read
  if (x.bad || x.n <= 0) x.end = x.begin;
  return true;
}
MLAF_DEV i64 part_of(const mlaf_decode_args& a, const piece& x) {
  return x.part;
}
MLAF_DEV int blocks_of(const piece& x) { return (x.end - x.begin + 63) / 64; }

MLAF_DEV int page_of_box(const mlaf_decode_args& a, const piece& x, int box) {
  if (x.begin + box * BOX >= x.end) return 0;
  const u32 id = (u32)a.kv_indices[x.first_page + (x.begin + box * BOX) / PAGE];
  return id < (u32)a.num_pages ? (int)id : 0;
}
MLAF_DEV int row_of_box(const piece& x, int box, int ids) {
  return __shfl_sync(~0u, ids, box & 31) * PAGE + (x.begin + box * BOX) % PAGE;
}

MLAF_DEV bool check_pages(const mlaf_decode_args& a, const piece& x, int lane) {
  bool bad = false;
  if (x.begin < x.end)
#pragma unroll 1
    for (int i = x.begin / PAGE + lane; i <= (x.end - 1) / PAGE; i += 32)
      bad |= (u32)a.kv_indices[x.first_page + i] >= (u32)a.num_pages;
  return __any_sync(~0u, bad);
}

struct facts {
  int blocks; // -1: no piece is left
  int begin, tokens, n;
  i64 row, part;
  int bad;
};
enum { BLOCKS_OF = 0, BEGIN_OF = 4, TOKENS_OF = 8, N_OF = 12, ROW_OF = 16, PART_OF = 24, BAD_OF = 32 }; // where a fact lies

MLAF_DEV facts facts_of(const mlaf_decode_args& a, const piece& x, bool bad) {
  return {blocks_of(x), x.begin, x.tokens, x.n, x.row, part_of(a, x), x.bad || bad};
}

MLAF_DEV int known(u32 shared, u32 field) {
  int x;
  asm volatile("ld.shared.s32 %0, [%1];" : "=r"(x) : "r"(shared + FACTS_AT + field) : "memory");
  return x;
}
MLAF_DEV i64 known_row(u32 shared, u32 field) {
  i64 x;
  asm volatile("ld.shared.s64 %0, [%1];" : "=l"(x) : "r"(shared + FACTS_AT + field) : "memory");
  return x;
}

MLAF_DEV void check_request(const mlaf_decode_args& a, u32 shared, u32 copy) {
  const int n = known(shared, N_OF);
  const i64 first = known_row(shared, ROW_OF) - ROWS * (int)blockIdx.x, end = first + (i64)n * H; // rows of the request
  if (!is_refused(n, first, end, a.total_q * H)) return;
  const int slots = fit_slots(&a), parts = smaller(slots, (int)(gridDim.y * gridDim.z));
  const bool final = fit_splits(&a) == 1 || fit_cuts(&a, PAGE, gridDim.y, slots, parts, 0);
  refuse(a, first, end, final ? -1 : (i64)blockIdx.y * a.total_q * H, threadIdx.x - 128, 256);
  named_sync(BOTH, 256);
  if (threadIdx.x == 128) {
    asm volatile("st.shared.s32 [%0], 0;" ::"r"(copy + FACTS_AT + N_OF) : "memory");
    asm volatile("st.shared.s32 [%0], 0;" ::"r"(shared + FACTS_AT + N_OF) : "memory");
    asm volatile("st.shared.s64 [%0], 0;" ::"r"(shared + FACTS_AT + ROW_OF) : "memory"); // Q may be read from there
  }
  named_sync(BOTH, 256);
}

constexpr float LOWEST = -1e30f; // the reference of a row that has seen nothing
MLAF_DEV void no_rows(int row, int live, float (&m)[2]) {
#pragma unroll
  for (int h = 0; h < 2; h++)
    if (row + 8 * h >= live) m[h] = -LOWEST;
}

struct ring {
  int buffer;
  u32 lap; // parity of the buffer's use
  MLAF_MEMBER void next() {
    if (++buffer == BUFFERS) buffer = 0, lap ^= 1;
  }
};

MLAF_DEV void load_piece(const mlaf_decode_params& p, u32 shared, int lane, int warp, const piece& x, ring& at, bool hold) {
  const int blocks = blocks_of(x), copy = warp + LOADERS * lane, part = copy % BOXES, slice = copy / BOXES;
  const bool rope = slice == SLICES;
  const mlaf_tensor_map* map = &p.maps[rope ? MAP_KPE : MAP_CKV];
  const u32 place = shared + KV_AT + slice * SLICE + part * BOX * (rope ? 2 * ROPE : 128), bytes = BOX * (rope ? 2 * ROPE : 128);
  int ids = page_of_box(p.a, x, lane), next = page_of_box(p.a, x, lane + 32);
  for (int j = 0; j < blocks; j++) {
    if (j > 0 && j * BOXES % 32 == 0) {
      ids = next;
      next = page_of_box(p.a, x, j * BOXES + 32 + lane);
    }
    const int row = row_of_box(x, j * BOXES + part, ids);
    const u32 full = shared + FULL_AT + 8 * at.buffer;
    if (hold && j == 1) barrier_wait(shared + Q_FULL_AT, 0);
    barrier_wait(shared + EMPTY_AT + 8 * at.buffer, at.lap ^ 1);
    __syncwarp();
    if (copy < COPIES) {
      barrier_expect(full, bytes);
      copy_box_once(place + at.buffer * BUFFER, map, rope ? 0 : 64 * slice, row, full);
    }
    at.next();
  }
}

MLAF_DEV void load_cache(const mlaf_decode_params& p, u32 shared, int lane, int warp) {
  ring at = {0, 0};
  walk w = begin_walk(p.a);
  piece x;
  for (bool first = true; next_piece(p.a, w, x); first = false) {
    load_piece(p, shared, lane, warp, x, at, first);
    if (!FITTED) return;
  }
}

MLAF_DEV void load_queries(const mlaf_decode_params& p, u32 shared, int lane, facts* f) {
  walk w = begin_walk(p.a);
  piece x;
  const u32 full = shared + Q_FULL_AT;
  for (u32 k = 0;; k++) {
    const bool more = next_piece(p.a, w, x);
    if (k > 0) {
      if (more && lane < ALL) fetch_box(&p.maps[MAP_Q], 64 * lane, (int)x.row);
      barrier_wait(shared + Q_EMPTY_AT, (k - 1) & 1);
    }
    __syncwarp();
    if (lane == 0) {
      *f = {more ? blocks_of(x) : -1, x.begin, x.tokens, x.n, x.row, part_of(p.a, x), x.bad};
      barrier_arrive(shared + FACTS_FULL_AT);
      barrier_expect(full, more ? SLICES * Q_SLICE : 0);
      for (int i = 0; i < SLICES && more; i++) copy_box(shared + Q_AT + i * Q_SLICE, &p.maps[MAP_Q], 64 * i, (int)x.row, full);
    }
    if (!more) return;
    const bool bad = check_pages(p.a, x, lane);
    if (lane == 0) {
      if (bad) f->bad = 1;
      barrier_arrive(shared + CHECKED_AT);
    }
    if (!FITTED) return;
  }
}

struct rows_state {
  float m[2], sum[2], weight[2]; // reference; sums of P before and after rounding, this thread's columns
};

struct math {
  u32 shared;
  float scale;        // positive
  bool negative;      // the scale's sign
  int lane, warp, wg; // warpgroup 0, 1
  int clear;          // of the piece's tokens, those that all rows see
  ring at;
};

MLAF_DEV void take_turn(const math& c) { named_sync(TURN + c.wg, 256); }
MLAF_DEV void pass_turn(const math& c) { named_arrive(TURN + (c.wg ^ 1), 256); }

MLAF_DEV void wait_full(const math& c, bool next, float x) {
  ring at = c.at;
  if (next) at.next();
  barrier_wait(c.shared + FULL_AT + 8 * at.buffer, at.lap ^ (u32)(x == 3e38f));
}
MLAF_DEV void give_back(const math& c, int buffer) {
  if (c.lane == 0) barrier_arrive(c.shared + EMPTY_AT + 8 * buffer);
}

typedef u32 q_rope[ROPE > 0 ? Q_ROPE_K : 1][4];

MLAF_DEV void load_q_rope(const math& c, const char* q, q_rope& to) {
  const int row = 64 * c.wg + 16 * c.warp + (c.lane >> 2), live = known(c.shared, N_OF) * H - ROWS * (int)blockIdx.x;
  const char* from = q + 2 * ((known_row(c.shared, ROW_OF) + row) * (R + ROPE) + R + 2 * (c.lane & 3));
#pragma unroll
  for (int i = 0; i < Q_ROPE_K; i++)
#pragma unroll
    for (int k = 0; k < 4; k++)
      to[i][k] = row + 8 * (k & 1) < live ? *(const u32*)(from + 2 * (8 * (k & 1) * (R + ROPE) + 16 * i + 8 * (k >> 1))) : 0;
}

MLAF_DEV void multiply_k(const math& c, const q_rope& rope, float (&s)[32]) {
  const u32 q = k_major(c.shared + Q_AT + c.wg * SLICE), k = k_major(c.shared + KV_AT + c.at.buffer * BUFFER);
#pragma unroll
  for (int i = 0; i < SLICES; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) wgmma_ss(s, q + i * (Q_SLICE / 16) + 2 * j, k + i * (SLICE / 16) + 2 * j, i + j > 0);
#pragma unroll
  for (int j = 0; j < Q_ROPE_K; j++) wgmma_rs<ROPE_HI>(s, rope[j], k + SLICES * (SLICE / 16) + 2 * j, true);
  wgmma_commit();
}
MLAF_DEV void multiply_v(const math& c, int buffer, const u32 (&p)[4][4], float (&o)[R / 2]) {
  const u32 v = n_major(c.shared + KV_AT + buffer * BUFFER, SLICE);
#pragma unroll
  for (int k = 0; k < 4; k++) wgmma_rs_t(o, p[k], v + 128 * k, true);
  wgmma_commit();
}

MLAF_DEV void clear_tail(const math& c, int j) {
  const int valid = known(c.shared, TOKENS_OF) - known(c.shared, BEGIN_OF) - 64 * j;
  if (valid >= 64) return;
  named_sync(BOTH, 256);
  const u32 at = c.shared + KV_AT + c.at.buffer * BUFFER + valid * 128;
  for (int i = 128 * c.wg + 32 * c.warp + c.lane; i < (64 - valid) * 8 * SLICES; i += 256)
    store_16(at + i % SLICES * SLICE + i / SLICES * 16, 0, 0, 0, 0);
  fence_async();
  named_sync(BOTH, 256);
}

MLAF_DEV void soften(const math& c, int j, float (&s)[32], const rows_state& r, float (&m)[2], float (&sum)[2]) {
  if (c.negative) {
#pragma unroll
    for (int i = 0; i < 32; i++) s[i] = -s[i];
  }
  if (64 * j + 64 > c.clear) {
    int limit[2]; // tokens that this thread's rows see, counted from its first
    const int seen = known(c.shared, TOKENS_OF) - known(c.shared, BEGIN_OF) - 64 * j - 2 * (c.lane & 3);
    const int n = known(c.shared, N_OF);
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int token = (ROWS * (int)blockIdx.x + 64 * c.wg + 16 * c.warp + (c.lane >> 2) + 8 * h) / H;
      limit[h] = CAUSAL ? seen - (n - 1 - token) : seen;
    }
#pragma unroll
    for (int i = 0; i < 32; i++)
      if (8 * (i / 4) + (i & 1) >= limit[i >> 1 & 1]) s[i] = minus_inf();
  }
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float top[2] = {s[2 * h], s[2 * h + 1]};
#pragma unroll
    for (int i = 4; i < 32; i += 4) {
      top[0] = fmaxf(top[0], s[i + 2 * h]);
      top[1] = fmaxf(top[1], s[i + 2 * h + 1]);
    }
    m[h] = fmaxf(r.m[h], max_over_lanes<1, 4>(fmaxf(top[0], top[1])) * c.scale);
  }
  sum[0] = sum[1] = 0.0f;
#pragma unroll
  for (int i = 0; i < 32; i++) {
    s[i] = exp2_fast(fmaf(s[i], c.scale, -m[i >> 1 & 1]));
    sum[i >> 1 & 1] += s[i];
  }
}

MLAF_DEV void bring_to(const float (&m)[2], rows_state& r, float (&o)[R / 2]) {
  if (!__any_sync(~0u, m[0] != r.m[0] || m[1] != r.m[1])) return;
  const float f[2] = {exp2_fast(r.m[0] - m[0]), exp2_fast(r.m[1] - m[1])};
#pragma unroll
  for (int i = 0; i < R / 2; i++) o[i] *= f[i >> 1 & 1];
#pragma unroll
  for (int h = 0; h < 2; h++) r.sum[h] *= f[h], r.weight[h] *= f[h], r.m[h] = m[h];
}

MLAF_DEV void make_p(const float (&s)[32], const float (&sum)[2], rows_state& r, u32 (&p)[4][4]) {
#pragma unroll
  for (int k = 0; k < 4; k++)
#pragma unroll
    for (int i = 0; i < 4; i++) p[k][i] = pack2(s[8 * k + 2 * i], s[8 * k + 2 * i + 1]);
  r.sum[0] += sum[0];
  r.sum[1] += sum[1];
}
MLAF_DEV void weigh(rows_state& r, const u32 (&p)[4][4]) {
#pragma unroll
  for (int k = 0; k < 4; k++)
#pragma unroll
    for (int i = 0; i < 4; i++) r.weight[i & 1] += unpack_lo(p[k][i]) + unpack_hi(p[k][i]);
}

MLAF_DEV void work_on_piece(math& c, int blocks, const q_rope& rope, rows_state& r, float (&o)[R / 2]) {
  float s[32], m[2], sum[2];
  u32 p[4][4];
  wait_full(c, false, 0.0f);
  take_turn(c);
  settle(s);
  wgmma_fence();
  multiply_k(c, rope, s);
  pass_turn(c);
  wgmma_wait<0>();
  settle(s);
  soften(c, 0, s, r, m, sum);
  if (blocks > 1) wait_full(c, true, 0.0f);
  r.m[0] = m[0], r.m[1] = m[1];
  make_p(s, sum, r, p);
#pragma unroll 1
  for (int j = 1; j < blocks; j++) {
    const int before = c.at.buffer;
    c.at.next();
    take_turn(c);
    settle(s);
    settle(o);
    wgmma_fence();
    multiply_k(c, rope, s);
    multiply_v(c, before, p, o);
    pass_turn(c);
    weigh(r, p);
    wgmma_wait<1>();
    settle(s);
    soften(c, j, s, r, m, sum);
    wait_full(c, j + 1 < blocks, sum[0] + sum[1]); // beside PV, not behind it
    wgmma_wait<0>();
    settle(o);
    give_back(c, before);
    bring_to(m, r, o);
    make_p(s, sum, r, p);
  }
  clear_tail(c, blocks - 1);
  take_turn(c);
  settle(o);
  wgmma_fence();
  multiply_v(c, c.at.buffer, p, o);
  pass_turn(c);
  weigh(r, p);
  wgmma_wait<0>();
  settle(o);
  give_back(c, c.at.buffer);
  c.at.next();
}

MLAF_DEV void write_columns(const math& c, char* to, const float (&o)[R / 2], int slice, const float (&by)[2], int live) {
  const u32 stage = c.shared + Q_AT + slice * Q_SLICE + c.wg * SLICE + 2048 * c.warp;
  const int x = c.lane & 7, chunk = c.lane >> 4, row = c.lane >> 3;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    u32 w[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int at = 4 * (8 * slice + 2 * k + i / 2) + 2 * (i & 1);
      w[i] = pack2(o[at] * by[i & 1], o[at + 1] * by[i & 1]);
    }
    store_matrices(stage + (c.lane & 15) * 128 + (((2 * k + chunk) ^ x) << 4), w);
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 4; i++) {
    u32 w[4];
    load_16(stage + (row + 4 * i) * 128 + ((x ^ (row + 4 * i & 7)) << 4), w);
    if (row + 4 * i < live)
      *(uint4*)(to + (i64)(row + 4 * i) * (2 * R) + 128 * slice + 16 * x) = make_uint4(w[0], w[1], w[2], w[3]);
  }
}

MLAF_DEV void finish(const math& c, const mlaf_decode_args& a, rows_state& r, float (&o)[R / 2]) {
  const i64 first = known_row(c.shared, ROW_OF), part = known_row(c.shared, PART_OF);
  const bool bad = known(c.shared, BAD_OF) != 0;
  const int row0 = 64 * c.wg + 16 * c.warp + (c.lane >> 2), t = c.lane & 3;
  const int live = known(c.shared, N_OF) * H - ROWS * (int)blockIdx.x;
  float by[2];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int row = row0 + 8 * h;
    float sum = sum_over_lanes<1, 4>(r.sum[h]), weight = sum_over_lanes<1, 4>(r.weight[h]);
    if (bad) sum = weight = not_a_number();
    by[h] = weight == 0.0f ? 0.0f : 1.0f / weight; // no token seen: O = 0
    if (t == 0 && row < live) {
      const float lse2 = sum == 0.0f ? minus_inf() : r.m[h] + log2_fast(sum);
      if (part >= 0) a.part_lse[part + row] = lse2;
      else if (a.lse) a.lse[first + row] = lse2 * LN_2;
    }
  }
  if (part < 0) {
    named_sync(OWN + c.wg, 128); // nobody reads Q any more
    const int row = 64 * c.wg + 16 * c.warp;
#pragma unroll
    for (int i = 0; i < SLICES; i++) write_columns(c, a.o + 2 * (first + row) * R, o, i, by, live - row);
  } else {
    float top[2] = {NARROW_LEAST, NARROW_LEAST};
    narrow_raise(top, o);
#pragma unroll
    for (int h = 0; h < 2; h++) {
      top[h] = narrow_of_quad(top[h]);
      if (row0 + 8 * h >= live) continue;
      const float per_unit = NARROW_REACH / top[h];
      float* const row = a.part_o + (part + row0 + 8 * h) * R;
#pragma unroll
      for (int i = 0; i < R / 32; i++) ((uint4*)row)[4 * i + t] = narrow_values(o, i, h, per_unit);
      if (t == 0) row[R / 2] = top[h] * by[h] * (1 / NARROW_REACH);
    }
  }
}

MLAF_DEV void work_on_pieces(const mlaf_decode_params& p, u32 shared, int wg) {
  const mlaf_decode_args& a = p.a;
  math c;
  c.shared = shared, c.lane = threadIdx.x & 31, c.warp = threadIdx.x >> 5 & 3, c.wg = wg;
  c.negative = a.scale_log2e < 0.0f;
  c.scale = fmaxf(fabsf(a.scale_log2e), 1e-30f); // not 0: masked scores are -inf
  c.at = {0, 0};
  if (wg == 1) pass_turn(c);
#pragma unroll 1
  for (u32 k = 0;; k++) {
    barrier_wait(shared + FACTS_FULL_AT, k & 1);
    const int blocks = known(shared, BLOCKS_OF);
    if (blocks < 0) break;
    check_request(a, shared, shared);
    c.clear = known(shared, TOKENS_OF) - (CAUSAL ? known(shared, N_OF) - 1 : 0) - known(shared, BEGIN_OF);
    q_rope rope;
    load_q_rope(c, a.q, rope);
    rows_state r = {{LOWEST, LOWEST}, {0.0f, 0.0f}, {0.0f, 0.0f}};
    no_rows(64 * c.wg + 16 * c.warp + (c.lane >> 2), known(shared, N_OF) * H - ROWS * (int)blockIdx.x, r.m);
    float o[R / 2];
#pragma unroll
    for (int i = 0; i < R / 2; i++) o[i] = 0.0f;
    barrier_wait(shared + Q_FULL_AT, k & 1);
    if (blocks > 0) work_on_piece(c, blocks, rope, r, o);
    barrier_wait(shared + CHECKED_AT, k & 1);
    finish(c, a, r, o);
    if (!FITTED) break;
    fence_async();
    barrier_arrive(shared + Q_EMPTY_AT);
  }
  if (wg == 0) take_turn(c); // the last one passed
}

extern "C" __global__ void __launch_bounds__(384, 1) mlaf_mla_decode_sm90_small_rank_479c91ac(const __grid_constant__ mlaf_decode_params p) {
  const u32 shared = shared_address(memory());
  if (threadIdx.x == 0) {
    for (int i = 0; i < 3; i++) fetch_map(&p.maps[i]);
    for (int i = 0; i < BUFFERS; i++) {
      barrier_init(shared + FULL_AT + 8 * i, COPIES);
      barrier_init(shared + EMPTY_AT + 8 * i, 8);
    }
    barrier_init(shared + Q_FULL_AT, 1);
    barrier_init(shared + Q_EMPTY_AT, 256);
    barrier_init(shared + FACTS_FULL_AT, 1);
    barrier_init(shared + CHECKED_AT, 1);
    barriers_ready();
  }
  __syncthreads();
  wait_for_previous_launch();
  let_next_launch_start();
  const int wg = __shfl_sync(~0u, threadIdx.x >> 7, 0);
  if (wg == 0) { // registers: 128 * 40 + 256 * 232 = 384 * 168
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    const int warp = __shfl_sync(~0u, threadIdx.x >> 5, 0), lane = threadIdx.x & 31;
    if (warp == LOADERS) load_queries(p, shared, lane, (facts*)(memory() + FACTS_AT));
    else load_cache(p, shared, lane, warp);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    work_on_pieces(p, shared, wg - 1);
  }
}
