// Generated from templates/mla_append/rows.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_mla_append_rows_fed5f5fa
// parameters:
//   dtype = bf16
//   group = 4
//   heads = 16
//   layout = e4m3fnuz
//   norm = 1
//   rank = 512
//   rope = 64
//   style = pairs
//   threads = 128
// regenerate: lua5.4 gen/cli.lua render mla_append/rows target=gfx942 dtype=bf16 group=4 heads=16 layout=e4m3fnuz norm=1 rank=512 rope=64 style=pairs threads=128
// Appends tokens to the latent cache of an MLA layer and, in the same launch, makes the query rows that attention reads.
//
//   token t   latent  ckv[t] (R columns) -> RMSNorm, or as it is -> cast or quantised -> cache[slots[t]]
//             rope    kpe[t] (P columns) -> rotated to positions[t] -> cast or quantised -> cache[slots[t]], and kpe_out[t]
//             q       for each head (q_nope, q_pe rotated) -> q_out[t][head]
//
//   layout    paged, split    R, P columns of the inputs' type; together or in two tensors
//             e4m3fn, e4m3fnuz  R + P bytes: value / scale, one scale for all
//             fp8_ds_mla      R bytes e4m3fn, 4 scales (fp32) of 128 columns each, P columns of 16 bits: 656 for 512 and 64
//
// A slot outside the cache writes nothing; its token has no query rows either, unless all are asked for, and its position,
// whatever it is, does nothing. All arithmetic is fp32, rounded once. Everything is loaded before the slot is looked at: one wait
// for the slot, the inputs and the position, one for the table's row. Where launches overlap there is only the first: the norm's
// weights and the table are constants, so that the former, and the row of the position as it stands then, are loaded before the
// launch before has ended; should the position differ afterwards, its row is loaded again.
//
// The first blocks hold a token a warp (wave): lane l has columns 8l .. 8l+7, then those 8 * lanes further on. The blocks behind
// them hold `group` heads of a token each: every thread copies 16 bytes of q_nope several times over, and the first ones rotate
// an item of q_pe. All loads of a block are on their way before its first store. One text for CUDA and HIP.


#define MLAF_BF16 1
// One text for CUDA and HIP: thread numbers, lanes, loads and stores of global memory.
constexpr int LANES = 64;
// [templates/lib/wave.h]
#define MLAF_CVT_BF16 0
// [templates/lib/number.h]
typedef u32x4 word4;
typedef u32x2 word2;
MLAF_DEV word4 words(u32 a, u32 b, u32 c, u32 d) { return word4{a, b, c, d}; }
MLAF_DEV word2 words(u32 a, u32 b) { return word2{a, b}; }
MLAF_DEV u32 my_block() { return (u32)group_x(); }
MLAF_DEV u32 my_thread() { return (u32)thread_id(); }
MLAF_DEV void wait_for_previous_launch() {}
MLAF_DEV void let_next_launch_start() {}
MLAF_DEV float exchange(float x, int lane, int d) { return lane_xor(x, lane, d); }
template <class T>
MLAF_DEV T load(const void* p) {
  return *(const MLAF_GLOBAL T*)(u64)p;
}
template <class T>
MLAF_DEV void store(void* p, T x) {
  *(MLAF_GLOBAL T*)(u64)p = x;
}
MLAF_DEV float not_a_number() { return float_of(0x7fc00000u); } // stays one when its upper half is rounded
MLAF_DEV float inverse_root(float x) { return __builtin_amdgcn_rsqf(x); }
MLAF_DEV float inverse(float x) { return 1.0f / x; }
MLAF_DEV float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
MLAF_DEV float magnitude(float x) { return __builtin_fabsf(x); }
MLAF_DEV float larger(float a, float b) { return __builtin_fmaxf(a, b); }
// A value that the compiler does not put into a pair with another one, half of which nobody wrote.
MLAF_DEV float apart(float x) {
  asm("" : "+v"(x));
  return x;
}

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
// [templates/mla_append/lib/args.h]
// What this kernel wants of its launch, for the runtime to read from the code object: runtime/device/kernel_launch.h says what
// each field means. The includer hands over `launch`: flags, and per_cu (workgroups that a compute unit holds at once; 0: one).
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_append_rows_fed5f5fa_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 0, 0, 0, {0, 0}, 0, {}};

constexpr int R = 512, ROPE = 64, H = 16, GROUP = 4, THREADS = 128;
constexpr int CHUNKS = R / 8;                                // 16 bytes of the inputs each
constexpr int ROUNDS = (CHUNKS + LANES - 1) / LANES;         // of a warp over a latent row
// Rotation of the rope columns by cosines and sines from a table, in work items of one lane each:
//
//   pairs      item c: columns 8c .. 8c+7, pairs (x_2i, x_2i+1), angles 4c .. 4c+3
//   halves     item c: columns 8c .. 8c+7 and P/2 + 8c .. P/2 + 8c+7, pairs (x_i, x_i+P/2), angles 8c .. 8c+7
//   unrotated  item c: columns 8c .. 8c+7 as they are
//
// A position outside the table makes the columns NaN: nothing faults, and nobody takes them for an answer.
constexpr int ITEM_CHUNKS = 1; // of 16 bytes
constexpr int ITEMS = ROPE / (8 * ITEM_CHUNKS);              // of a row
constexpr int ANGLES = 4;      // of an item

// Byte where chunk k of an item begins in its row.
MLAF_DEV int column_byte(int item, int k) { return 16 * item + k * ROPE; }

struct rope_item {
  word4 x[ITEM_CHUNKS];
};
MLAF_DEV rope_item load_item(const char* row, int item) {
  rope_item r;
#pragma unroll
  for (int k = 0; k < ITEM_CHUNKS; k++) r.x[k] = load<word4>(row + column_byte(item, k));
  return r;
}

struct turn {
  float cos[ANGLES], sin[ANGLES];
};

template <int N>
MLAF_DEV void load_angles(float (&to)[N], const char* row, int item, bool narrow) {
  if (narrow) {
    const char* const at = row + 2 * N * item;
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const word2 w = load<word2>(at + 2 * i);
      to[i] = unpack_lo(w.x), to[i + 1] = unpack_hi(w.x), to[i + 2] = unpack_lo(w.y), to[i + 3] = unpack_hi(w.y);
    }
  } else {
    const char* const at = row + 4 * N * item;
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const word4 w = load<word4>(at + 4 * i);
      to[i] = float_of(w.x), to[i + 1] = float_of(w.y), to[i + 2] = float_of(w.z), to[i + 3] = float_of(w.w);
    }
  }
}

MLAF_DEV turn load_turn(const mlaf_append_kernel_args& a, i64 position, int item) {
  turn t;
#pragma unroll
  for (int i = 0; i < ANGLES; i++) t.cos[i] = t.sin[i] = not_a_number();
  if ((u64)position < (u64)a.table_rows) {
    const i64 row = position * a.table_stride;
    load_angles(t.cos, a.cos + row, item, a.flags & APPEND_TABLE_16);
    load_angles(t.sin, a.sin + row, item, a.flags & APPEND_TABLE_16);
  }
  return t;
}

MLAF_DEV void rotate(float (&v)[ITEM_CHUNKS][8], const turn& t) {
#pragma unroll
  for (int i = 0; i < ANGLES; i++) {
    float &x = v[0][2 * i], &y = v[0][2 * i + 1];
    const float across = apart(y * t.sin[i]), back = apart(x * t.sin[i]);
    x = multiply_add(x, t.cos[i], -across);
    y = multiply_add(y, t.cos[i], back);
  }
}
// Eight floats to eight bytes of e4m3, rounded to nearest even. What is too large becomes the largest number, as all writers of
// such caches do; NaN stays NaN.
//
//   e4m3fn    bias 7, up to 448, NaN is 0x7f and 0xff        e4m3fnuz  bias 8, up to 240, NaN is 0x80, no -0
//
// In integers but where the target has an instruction for it: from 2^(1-bias) on the code is the float's upper bits, rounded,
// less the difference of the biases; below, adding a number whose last bit is worth a code's step rounds to it.
constexpr u32 MOST = 0x43700000u;                            // 240 or 448
constexpr u32 LEAST_NORMAL = 1006632960;      // 2^(1-bias) as a float's bits
constexpr u32 STEP = 1174405120;     // of codes below: 2^(-2-bias), that of a float of 2^(21-bias)
MLAF_DEV u32 encode1(float x) {
  const u32 u = bits_of(x), size = u & 0x7fffffffu;
  const u32 h = size < MOST ? size : MOST;
  const u32 normal = (h + 0x7ffffu + (h >> 20 & 1u) >> 20) - 952;
  const u32 small = bits_of(float_of(h) + float_of(STEP)) - STEP;
  const u32 code = h < LEAST_NORMAL ? small : normal;
  return size > 0x7f800000u ? 0x80u : code ? code | (u >> 24 & 0x80u) : 0u;
}
MLAF_DEV u32 encode2(float lo, float hi) { return encode1(lo) | encode1(hi) << 8; }
MLAF_DEV word2 encode(const float (&v)[8]) {
  return words(encode2(v[0], v[1]) | encode2(v[2], v[3]) << 16, encode2(v[4], v[5]) | encode2(v[6], v[7]) << 16);
}

// v / scale, correctly rounded, by the rounded inverse of scale: the product's error is what a second step takes away. What is
// beyond all codes stays as it is, so that infinity does not become NaN.
MLAF_DEV void divide(float (&v)[8], float scale, float inverse_scale) {
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const float q = v[i] * inverse_scale;
    v[i] = magnitude(q) < 1024.0f ? multiply_add(multiply_add(-q, scale, v[i]), inverse_scale, q) : q;
  }
}

// Byte where a slot's row begins, in pages of `page` bytes.
MLAF_DEV i64 row_of(u32 slot, u32 page_tokens, i64 page, i64 row) {
  if (page_tokens == 0) return (i64)slot * row; // pages follow each other
  const u32 in = slot / page_tokens;
  return (i64)in * page + (i64)(slot - in * page_tokens) * row;
}

MLAF_DEV float sum_of_warp(float x, int lane) {
#pragma unroll
  for (int d = 1; d < LANES; d *= 2) x += exchange(x, lane, d);
  return x;
}

MLAF_DEV void append_token(const mlaf_append_kernel_args& a, i64 t, int lane) {
  word4 w[ROUNDS];
#pragma unroll
  for (int k = 0; k < ROUNDS; k++)
    if (k * LANES + lane < CHUNKS) w[k] = load<word4>(a.weight + 16 * (k * LANES + lane));
  const bool mine = lane < ITEMS;
  wait_for_previous_launch();
  const i64 slot = load<i64>(a.slots + t);
  const i64 position = load<i64>(a.positions + t);
  word4 x[ROUNDS];
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) {
    const int chunk = k * LANES + lane;
    x[k] = words(0, 0, 0, 0);
    if (CHUNKS % LANES == 0 || chunk < CHUNKS) x[k] = load<word4>(a.ckv + t * a.ckv_stride + 16 * chunk);
  }
  rope_item item;
  if (mine) item = load_item(a.kpe + t * a.kpe_stride, lane);
  const float scale = a.scale_at ? load<float>(a.scale_at) : a.scale, inverse_scale = inverse(scale);
  turn angle;
  if (mine) angle = load_turn(a, position, lane);
  if ((u64)slot >= (u64)a.num_slots) return;
  char* const latent = a.latent + row_of((u32)slot, a.page_tokens, a.latent_page, a.latent_row);

  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) {
    float v[8];
    unpack(v, x[k]);
#pragma unroll
    for (int i = 0; i < 8; i++) sum = multiply_add(v[i], v[i], sum);
  }
  const float factor = inverse_root(multiply_add(sum_of_warp(sum, lane), 0.001953125f, a.eps));
#pragma unroll
  for (int k = 0; k < ROUNDS; k++) {
    const int chunk = k * LANES + lane;
    const bool there = CHUNKS % LANES == 0 || chunk < CHUNKS;
    float v[8];
    unpack(v, x[k]);
    float g[8];
    unpack(g, w[k]);
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = there ? v[i] * factor * g[i] : 0.0f;
    divide(v, scale, inverse_scale);
    if (there) store(latent + 8 * chunk, encode(v));
  }
  if (!mine) return;
  char* const rope = a.rope + row_of((u32)slot, a.page_tokens, a.rope_page, a.rope_row);
  float v[ITEM_CHUNKS][8];
#pragma unroll
  for (int k = 0; k < ITEM_CHUNKS; k++) unpack(v[k], item.x[k]);
  rotate(v, angle);
#pragma unroll
  for (int k = 0; k < ITEM_CHUNKS; k++) item.x[k] = pack(v[k]);
#pragma unroll
  for (int k = 0; k < ITEM_CHUNKS; k++) {
    if (a.kpe_out) store(a.kpe_out + t * a.kpe_out_stride + column_byte(lane, k), item.x[k]);
    divide(v[k], scale, inverse_scale);
    store(rope + column_byte(lane, k) / 2, encode(v[k]));
  }
}

constexpr int GROUPS = (H + GROUP - 1) / GROUP;                                // of a token
constexpr int DEPTH = (GROUP * CHUNKS + THREADS - 1) / THREADS;                // chunks of q_nope for each thread
constexpr int TURNS = (GROUP * ITEMS + THREADS - 1) / THREADS;                 // items of q_pe

MLAF_DEV void make_queries(const mlaf_append_kernel_args& a, u32 at) {
  const u32 thread = my_thread();
  const i64 t = at / GROUPS;
  const int first = (int)(at % GROUPS) * GROUP;
  const int heads = H % GROUP == 0 ? GROUP : smaller(GROUP, H - first);
  wait_for_previous_launch();
  const i64 slot = load<i64>(a.slots + t);
  const i64 position = load<i64>(a.positions + t);
  rope_item item[TURNS];
#pragma unroll
  for (int k = 0; k < TURNS; k++) {
    const int i = k * THREADS + (int)thread, head = i / ITEMS;
    if (head < heads) item[k] = load_item(a.q_pe + t * a.q_pe_token + (first + head) * a.q_pe_head, i % ITEMS);
  }
  word4 x[DEPTH];
  const bool whole = a.q_nope != nullptr;
#pragma unroll
  for (int k = 0; k < DEPTH; k++) {
    const int i = k * THREADS + (int)thread, head = i / CHUNKS;
    const char* const row = a.q_nope + t * a.q_nope_token + (first + head) * a.q_nope_head;
    if (whole && head < heads) x[k] = load<word4>(row + 16 * (i % CHUNKS));
  }
  turn angle[TURNS];
#pragma unroll
  for (int k = 0; k < TURNS; k++) {
    const int i = k * THREADS + (int)thread;
    const bool wanted = i / ITEMS < heads;
    if (wanted) angle[k] = load_turn(a, position, i % ITEMS);
  }
  if ((u64)slot >= (u64)a.num_slots && !(a.flags & APPEND_ALL_Q)) return;
#pragma unroll
  for (int k = 0; k < DEPTH; k++) {
    const int i = k * THREADS + (int)thread, head = i / CHUNKS;
    if (whole && head < heads) store(a.q_out + t * a.q_out_token + (first + head) * a.q_out_head + 16 * (i % CHUNKS), x[k]);
  }
#pragma unroll
  for (int k = 0; k < TURNS; k++) {
    const int i = k * THREADS + (int)thread, head = i / ITEMS;
    if (head >= heads) continue;
    char* const to = a.q_pe_out + t * a.q_pe_out_token + (first + head) * a.q_pe_out_head;
    float v[ITEM_CHUNKS][8];
#pragma unroll
    for (int c = 0; c < ITEM_CHUNKS; c++) unpack(v[c], item[k].x[c]);
    rotate(v, angle[k]);
#pragma unroll
    for (int c = 0; c < ITEM_CHUNKS; c++) store(to + column_byte(i % ITEMS, c), pack(v[c]));
  }
}

extern "C" __global__ void __launch_bounds__(128) mlaf_mla_append_rows_fed5f5fa(const mlaf_append_kernel_args a) {
  let_next_launch_start();
  const u32 block = my_block();
  if (block < a.token_blocks) {
    const i64 t = (i64)block * (THREADS / LANES) + my_thread() / LANES;
    if (t < a.tokens) append_token(a, t, (int)(my_thread() % LANES));
    return;
  }
  make_queries(a, block - a.token_blocks);
}
