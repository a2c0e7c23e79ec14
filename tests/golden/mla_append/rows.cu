// Generated from templates/mla_append/rows.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_80
// symbol: mlaf_mla_append_rows_5bb6c3aa
// parameters:
//   ahead = 0
//   dtype = f16
//   group = 8
//   heads = 20
//   layout = e4m3fn
//   norm = 1
//   rank = 256
//   rope = 32
//   style = halves
//   threads = 64
// regenerate: lua5.4 gen/cli.lua render mla_append/rows target=sm_80 ahead=0 dtype=f16 group=8 heads=20 layout=e4m3fn norm=1 rank=256 rope=32 style=halves threads=64


#define MLAF_BF16 0
constexpr int LANES = 32;
// [templates/lib/cuda.h]
// [templates/lib/cuda_number.h]
typedef uint4 word4;
typedef uint2 word2;
MLAF_DEV word4 words(u32 a, u32 b, u32 c, u32 d) { return make_uint4(a, b, c, d); }
MLAF_DEV word2 words(u32 a, u32 b) { return make_uint2(a, b); }
MLAF_DEV u32 my_block() { return blockIdx.x; }
// [10 more lines of templates/mla_append/lib/machine.h]
MLAF_DEV i64 load_past_l1(const i64* at) {
// [21 more lines of templates/mla_append/lib/machine.h]
MLAF_DEV float inverse_root(float x) { return rsqrtf(x); }
MLAF_DEV float inverse(float x) { return __frcp_rn(x); }
MLAF_DEV float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
MLAF_DEV float magnitude(float x) { return fabsf(x); }
MLAF_DEV float larger(float a, float b) { return fmaxf(a, b); }
MLAF_DEV float apart(float x) { return x; }

MLAF_DEV void unpack(float (&v)[8], word4 x) {
// [10 more lines of templates/mla_append/lib/machine.h]
// [templates/mla_append/lib/args.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_append_rows_5bb6c3aa_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 0, 0, 0, {0, 0}, 0, {}};

constexpr int R = 256, ROPE = 32, H = 20, GROUP = 8, THREADS = 64;
constexpr int CHUNKS = R / 8;                                // 16 bytes of the inputs each
constexpr int ROUNDS = (CHUNKS + LANES - 1) / LANES;         // of a warp over a latent row
constexpr int ITEM_CHUNKS = 2; // of 16 bytes
constexpr int ITEMS = ROPE / (8 * ITEM_CHUNKS);              // of a row
constexpr u32 NOT_NUMBERS = 0x7fc07fc0u;                     // NaN as fp32, two of bf16 and two of f16
constexpr int ANGLES = 8;      // of an item

MLAF_DEV int column_byte(int item, int k) { return 16 * item + k * ROPE; }
// [10 more lines of templates/mla_append/lib/rotate.h]

struct turn {
// [32 more lines of templates/mla_append/lib/rotate.h]
    float &x = v[0][i], &y = v[1][i];
    const float across = apart(y * s), back = apart(x * s);
    x = multiply_add(x, c, -across);
    y = multiply_add(y, c, back);
  }
}
constexpr u32 MOST = 0x43e00000u;                            // 240 or 448
constexpr u32 LEAST_NORMAL = 1015021568;      // 2^(1-bias) as a float's bits
constexpr u32 STEP = 1182793728;     // of codes below: 2^(-2-bias), that of a float of 2^(21-bias)
MLAF_DEV u32 encode1(float x) {
  const u32 u = bits_of(x), size = u & 0x7fffffffu;
  const u32 h = size < MOST ? size : MOST;
  const u32 normal = (h + 0x7ffffu + (h >> 20 & 1u) >> 20) - 960;
  const u32 small = bits_of(float_of(h) + float_of(STEP)) - STEP;
  const u32 code = h < LEAST_NORMAL ? small : normal;
  return (size > 0x7f800000u ? 0x7fu : code) | (u >> 24 & 0x80u);
}
MLAF_DEV u32 encode2(float lo, float hi) { return encode1(lo) | encode1(hi) << 8; }
MLAF_DEV word2 encode(const float (&v)[8]) {
// [13 more lines of templates/mla_append/lib/fp8.h]


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
  word4 w[ROUNDS];
#pragma unroll
  for (int k = 0; k < ROUNDS; k++)
    w[k] = k * LANES + lane < CHUNKS ? load<word4>(a.weight + 16 * (k * LANES + lane)) : words(0, 0, 0, 0);
  const char* const from = a.ckv + t * a.ckv_stride + 16 * lane;
  ready(from, a.flags & APPEND_NEVER);
  const bool mine = lane < ITEMS;
  const char* const rope_from = a.kpe + t * a.kpe_stride + column_byte(lane, 0);
  ready(rope_from, a.flags & APPEND_NEVER);
  wait_for_previous_launch();
  const i64 slot = load<i64>(slot_at);
  const i64 position = load<i64>(position_at);
  word4 x[ROUNDS];
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) {
    const int chunk = k * LANES + lane;
    x[k] = words(0, 0, 0, 0);
    if (CHUNKS % LANES == 0 || chunk < CHUNKS) x[k] = load<word4>(from + 16 * k * LANES);
  }
  rope_item item = {};
  if (mine) item = load_item(rope_from, 0);
  const float scale = usable(a.scale_at ? load<float>(a.scale_at) : a.scale), inverse_scale = inverse(scale);
  float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
// [9 more lines of templates/mla_append/lib/token.h]
  const turn angle = load_turn(a, position, lane, mine);
  const place to = place_of(a, slot);
  if (!to.inside) return;

#pragma unroll
  for (int d = 2; d < LANES; d *= 2) sum += exchange(sum, lane, d);
  const float factor = inverse_root(multiply_add(sum, 0.00390625f, a.eps));
  char* const rope = to.latent + 256;
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
    divide(v[k], scale, inverse_scale);
    if (mine) store(rope + column_byte(lane, k) / 2, encode(v[k]));
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
    divide(v, scale, inverse_scale);
    if (there) store(to.latent + 8 * chunk, encode(v));
  }
}

constexpr int GROUPS = (H + GROUP - 1) / GROUP;                                // of a token
constexpr int DEPTH = (GROUP * CHUNKS + THREADS - 1) / THREADS;                // chunks of q_nope for each thread
constexpr bool FULL = H % GROUP == 0;                                          // no group has fewer heads
constexpr int TURNS = (GROUP * ITEMS + THREADS - 1) / THREADS;                 // items of q_pe

MLAF_DEV i64 chunk_at(int i, i64 head_stride) { return i / CHUNKS * head_stride + 16 * (i % CHUNKS); }
// [11 more lines of templates/mla_append/rows.cu.in]
  const char* const from = a.q_nope + t * a.q_nope_token + first * a.q_nope_head + chunk_at(thread, a.q_nope_head);
  char* const to = a.q_out + t * a.q_out_token + first * a.q_out_head + chunk_at(thread, a.q_out_head);
  ready(from, a.flags & APPEND_NEVER);
  const bool whole = a.q_nope != nullptr;
  const int rope_head = first + thread / ITEMS, column = column_byte(thread % ITEMS, 0);
  const char* const rope_from = a.q_pe + t * a.q_pe_token + rope_head * a.q_pe_head + column;
  char* const rope_to = a.q_pe_out + t * a.q_pe_out_token + rope_head * a.q_pe_out_head + column;
  ready(rope_from, a.flags & APPEND_NEVER);
  wait_for_previous_launch();
  const i64 slot = load<i64>(slot_at);
  const i64 position = load<i64>(position_at);
  rope_item item[TURNS] = {};
#pragma unroll
  for (int k = 0; k < TURNS; k++) {
    const int i = k * THREADS + thread;
    if (i / ITEMS < heads) item[k] = load_item(rope_from + k * (THREADS / ITEMS) * a.q_pe_head, 0);
  }
  word4 x[DEPTH] = {};
#pragma unroll
  for (int k = 0; k < DEPTH; k++) {
    const bool there = (FULL && (k + 1) * THREADS <= GROUP * CHUNKS) || (k * THREADS + thread) / CHUNKS < heads;
    if (whole && there) x[k] = load<word4>(from + further(k, thread, a.q_nope_head));
  }
  turn angle[TURNS];
#pragma unroll
  for (int k = 0; k < TURNS; k++) {
    const int i = k * THREADS + thread;
    angle[k] = load_turn(a, position, i % ITEMS, i / ITEMS < heads);
  }
  if ((u64)slot >= (u64)a.num_slots && !(a.flags & APPEND_ALL_Q)) return;
#pragma unroll
  for (int k = 0; k < DEPTH; k++) {
    const bool there = (FULL && (k + 1) * THREADS <= GROUP * CHUNKS) || (k * THREADS + thread) / CHUNKS < heads;
    if (whole && there) store(to + further(k, thread, a.q_out_head), x[k]);
  }
#pragma unroll
  for (int k = 0; k < TURNS; k++) {
    const int i = k * THREADS + thread;
    if (i / ITEMS >= heads) continue;
    char* const head_to = rope_to + k * (THREADS / ITEMS) * a.q_pe_out_head;
    float v[ITEM_CHUNKS][8];
#pragma unroll
    for (int c = 0; c < ITEM_CHUNKS; c++) unpack(v[c], item[k].x[c]);
    rotate(v, angle[k], a.flags & APPEND_TABLE_16);
#pragma unroll
    for (int c = 0; c < ITEM_CHUNKS; c++) store(head_to + column_byte(0, c), pack(v[c]));
  }
}

extern "C" __global__ void __launch_bounds__(64, 18) mlaf_mla_append_rows_5bb6c3aa(const mlaf_append_kernel_args a) {
  let_next_launch_start();
  const u32 block = my_block();
  if (block < a.token_blocks) {
    const u32 t = block + my_thread() / LANES * a.token_blocks; // few tokens: one a block
    if (t < a.tokens) append_token(a, t, (int)(my_thread() % LANES));
    return;
  }
  make_queries(a, block - a.token_blocks);
}
