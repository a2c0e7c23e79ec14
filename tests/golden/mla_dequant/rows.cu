// Generated from templates/mla_dequant/rows.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_80
// symbol: mlaf_mla_dequant_rows_1b75ae2a
// parameters:
//   columns = 96
//   depth = 1
//   dtype = f16
//   threads = 128
//   weights = e4m3fn
// regenerate: lua5.4 gen/cli.lua render mla_dequant/rows target=sm_80 columns=96 depth=1 dtype=f16 threads=128 weights=e4m3fn


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
// [templates/mla_dequant/lib/args.h]
struct mlaf_kernel_launch {
  u32 magic, size, dynamic_shared, cluster[3], flags, schedule, per_cu, reserved[2], n_maps, maps[8][4];
};
static_assert(sizeof(mlaf_kernel_launch) == 176, "differs from runtime/device/kernel_launch.h");
extern "C" __device__ const mlaf_kernel_launch mlaf_mla_dequant_rows_1b75ae2a_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {1, 1, 1},
    0, 0, 0, {0, 0}, 0, {}};
// [templates/lib/projection/args.h]
MLAF_DEV void unpack_halves(u32 x, float& a, float& b) {
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %2;\ncvt.f32.f16 %0, l;\ncvt.f32.f16 %1, h;\n}" : "=f"(a), "=f"(b) : "r"(x));
}

template <int PAIR>
MLAF_DEV u32 halves_of(u32 codes) {
  const u32 w = __byte_perm(codes, 0, PAIR ? 0x3424 : 0x1404); // a byte each in the upper half of 16 bits
  const u32 nan = (w & 0x7f007f00u) + 0x01000100u & 0x80008000u;
  u32 x = w >> 1 & 0x3f803f80u | w & 0x80008000u;
  asm volatile("mul.rn.f16x2 %0, %0, %1;" : "+r"(x) : "r"(0x5c005c00u)); // 256 twice
  return x | nan - (nan >> 6); // its low bits stay zero, as number.h wants
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

MLAF_DEV void decode8(float (&v)[8], u32 x, u32 y) {
  decode2<0>(x, v[0], v[1]);
  decode2<1>(x, v[2], v[3]);
  decode2<0>(y, v[4], v[5]);
  decode2<1>(y, v[6], v[7]);
}
MLAF_DEV word4 expand8(u32 x, u32 y) { return words(expand2<0>(x), expand2<1>(x), expand2<0>(y), expand2<1>(y)); }

struct mlaf_projection_scaled_args : mlaf_projection_kernel_args {
  const float* w_scale;
  i64 scale_row, scale_first_row, scale_head, scale_first_column; // scale_row in bytes
};
static_assert(sizeof(mlaf_projection_scaled_args) == 192, "differs from runtime/op/projection.h");

MLAF_DEV const char* scales_of(const mlaf_projection_scaled_args& a, int head, int row) {
  return (const char*)a.w_scale + (a.scale_first_row + head * a.scale_head + row >> 7) * a.scale_row;
}
MLAF_DEV float scale_at(const mlaf_projection_scaled_args& a, const char* scales, int column) {
  return load<float>(scales + 4 * (a.scale_first_column + column >> 7));
}

constexpr int CHUNKS = 12, THREADS = 128, ROWS = 10;
constexpr int ITEMS = ROWS * CHUNKS, DEPTH = (ITEMS + THREADS - 1) / THREADS;

MLAF_DEV float scale_of(const mlaf_dequant_kernel_args& a, i64 r, int c) {
  const i64 row = a.scale_first_row + r >> 7, column = a.scale_first_column + c >> 7;
  const float scale = load<float>(a.w_scale + row * a.scale_row + 4 * column);
  return scale;
}

extern "C" __global__ void __launch_bounds__(128) mlaf_mla_dequant_rows_1b75ae2a(const mlaf_dequant_kernel_args a) {
  const int thread = (int)my_thread();
  const i64 first = (i64)my_block() * ROWS;
  word2 codes[DEPTH];
  float scale[DEPTH];
#pragma unroll
  for (int k = 0; k < DEPTH; k++) {
    const int item = thread + k * THREADS, column = 8 * (item % CHUNKS);
    const i64 row = first + item / CHUNKS;
    if ((ITEMS % THREADS == 0 || item < ITEMS) && row < a.rows) {
      codes[k] = load<word2>(a.w + row * a.w_row + column);
      scale[k] = scale_of(a, row, column);
    }
  }
  wait_for_previous_launch();
#pragma unroll
  for (int k = 0; k < DEPTH; k++) {
    const int item = thread + k * THREADS, column = 8 * (item % CHUNKS);
    const i64 row = first + item / CHUNKS;
    if ((ITEMS % THREADS == 0 || item < ITEMS) && row < a.rows) {
      float v[8];
      decode8(v, codes[k].x, codes[k].y);
#pragma unroll
      for (int i = 0; i < 8; i++) v[i] *= scale[k];
      store(a.y + row * a.y_row + 2 * column, pack(v));
    }
  }
}
