// Generated from templates/mla_decode/mfma_reg.hip.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render mla_decode/mfma_reg target=gfx950 blocks=2 causal=1 dtype=f16 heads=20 kvload=temporal page_size=1 psplit=1 q_len=3 qsrc=lds rank=256 rescale=lazy rope=32 schedule=fitted tile=16 waves=4

#define MLAF_BF16 0
#define MLAF_CVT_BF16 1
#define MLAF_MFMA_K32 1
#define MLAF_XCDS 8
// [templates/lib/wave.h]
// [3 more lines of tests/golden/mla_decode/combine_values_wave.hip]
// [templates/mla_decode/lib/grid.h]
// [5 more lines of tests/golden/mla_decode/mfma_lds.hip, with other numbers]
// [4 more lines of tests/golden/mla_decode/mfma_lds.hip]
extern "C" __device__ __attribute__((used)) const mlaf_kernel_launch mlaf_mla_decode_mfma_reg_5b93919c_launch = {
    0x314b4c4du, sizeof(mlaf_kernel_launch), 0, {0, 0, 0}, 8, 0, 1, {0, 0}, 0, {}};
// [3 more lines of tests/golden/mla_decode/mfma_lds.hip, with other numbers]
constexpr bool CAUSAL = 1, LAZY = 1, NT = 0;
constexpr bool Q_IN_LDS = 1, WHOLE_PAGES = 0;
constexpr int WAVES = 4, BLOCKS = 2, ROWS = 16 * BLOCKS, TILE = 16, SUBS = 1, PSPLIT = 1;
constexpr int STEP = TILE * WAVES;
constexpr int NK = 9, NK_C = R / 32, NJ = 2;
constexpr int STRIP = 4, STRIP_COLS = 128, STRIP_STRIDE = STRIP_COLS + 4; // + 4: no bank conflicts
constexpr float LAZY_LIMIT = LAZY ? 8.0f : 0.0f;
#define KEEP_LOADS_HERE() __builtin_amdgcn_sched_barrier(0x106)
#define IN_ACCUMULATORS(x) asm volatile("" : "+a"(x))

template <typename T>
// [201 more lines of tests/golden/mla_decode/mfma_lds.hip]

MLAF_DEV u32x4 kv_load(gptr p, u32 lane_bytes, int bytes) {
// [18 more lines of templates/mla_decode/mfma_reg.hip.in]
  int k, v;
// [47 more lines of templates/mla_decode/mfma_reg.hip.in]
  const f32x4 before = first ? f32x4{0.0f, 0.0f, 0.0f, 0.0f} : s;
  s = mfma32(k, q, before);
}
// [63 more lines of templates/mla_decode/mfma_reg.hip.in]

MLAF_DEV void multiply_v(const u32x4 (&v)[4], const u32x2 (&p)[BLOCKS][SUBS][PSPLIT], int u, int j, o_blocks (&o)[BLOCKS]) {
// [13 more lines of templates/mla_decode/mfma_reg.hip.in]

MLAF_DEV void write_lse(const mlaf_decode_args& a, const piece& to, int row, float lse2) {
// [7 more lines of templates/mla_decode/mfma_reg/finish.h]
                         int wave, o_blocks& o) {
  constexpr u32 UNITS = 4 * STRIP_COLS, EACH = UNITS > 64 * WAVES ? UNITS / (64 * WAVES) : 1; // 4 columns of a row; of a lane
  constexpr int BYTES = FINAL ? 2 : 4;
  const u32 column = lane & 15, group = (u32)lane >> 4, first = wave * 64 + lane;
  float* const to_lds = strips + (wave * 16 + column) * STRIP_STRIDE + group * STRIP * 8;
  const u32 at = first % (STRIP_COLS / 4) * 4; // of a strip
  const u32 d = at / (8 * STRIP) * 32 + at % (8 * STRIP);
  const float *from[EACH], *weight[EACH];
// [19 more lines of templates/mla_decode/mfma_reg/finish.h]
        for (int c = 0; c < 8; c += 4) {
          f32x4 x;
#pragma unroll
          for (int i = 0; i < 4; i++) x[i] = o[j][c + i][half * STRIP + r];
          *(f32x4*)(to_lds + r * 8 + c) = x;
        }
// [12 more lines of templates/mla_decode/mfma_reg/finish.h]
      const int base = 128 * j + half * STRIP * 8;
#pragma unroll
// [4 more lines of templates/mla_decode/mfma_reg/finish.h]
        if (!here[i] || (128 * (j + 1) > R && base + (int)d >= R)) continue;
        if (FINAL) *(MLAF_GLOBAL u32x2*)(out[i] + BYTES * base) = u32x2{pack2(low.x, low.y), pack2(high.x, high.y)};
// [7 more lines of templates/mla_decode/mfma_reg/finish.h]
                     o_blocks (&o)[BLOCKS]) {
  float* const strips = (float*)lds;
// [22 more lines of templates/mla_decode/mfma_reg/finish.h]
    if (group == 0) weights[wave * ROWS + 16 * b + column] = weight;
    if (to.final) write_rows<true>(a, to, strips, weights, b, lane, wave, o[b]);
    else write_rows<false>(a, to, strips, weights, b, lane, wave, o[b]);
  }
}

MLAF_DEV u32x4 load_q(const mlaf_decode_args& a, const piece& to, int b, int i, int lane) {
  const int row = smaller(16 * b + (lane & 15), to.rows - 1);
  return *(const MLAF_GLOBAL u32x4*)(global(a.q) + (to.row + row) * (2 * (R + ROPE)) + 64 * i + k_column(lane));
}

MLAF_DEV void work_on(const mlaf_decode_args& a, const piece& to, char* lds, int lane, int wave) {
// [13 more lines of templates/mla_decode/mfma_reg.hip.in]
    for (int i = wave; i < BLOCKS * NK; i += WAVES) *(u32x4*)(lds + 1024 * i + 16 * lane) = load_q(a, to, i / NK, i % NK, lane);
    __syncthreads();
// [4 more lines of templates/mla_decode/mfma_reg.hip.in]
      for (int i = 0; i < NK; i++) q[b][Q_IN_LDS ? 0 : i] = load_q(a, to, b, i, lane);
  }
// [20 more lines of templates/mla_decode/mfma_reg.hip.in]
#pragma unroll
// [7 more lines of templates/mla_decode/mfma_reg.hip.in]
    }
// [21 more lines of templates/mla_decode/mfma_reg.hip.in]
#pragma unroll
// [9 more lines of templates/mla_decode/mfma_reg.hip.in]

      const bool fresh = t == begin + TILE * wave + step;
// [4 more lines of templates/mla_decode/mfma_reg.hip.in]
      for (int u = 0; u < SUBS; u++)
// [16 more lines of templates/mla_decode/mfma_reg.hip.in]
  const mlaf_decode_args last = arguments_again();
  if (__builtin_expect(to.n == 0, 0)) refuse_piece(last, to, 64 * wave + lane);
  else finish(last, to, lds, lane, wave, row, o);
}

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(256, 256),
                                     amdgpu_waves_per_eu(1, 1))) void
mlaf_mla_decode_mfma_reg_5b93919c(mlaf_decode_args a) {
  __shared__ __attribute__((aligned(16))) char lds[35840];
  const int wave = uniform(thread_id() >> 6);
// [4 more lines of templates/mla_decode/mfma_reg/kernel.h]
  bool whole = first_piece(thread_id() & 63, q, w, x);
#pragma nounroll
// [3 more lines of templates/mla_decode/mfma_reg/kernel.h]
    if (!whole) {
      if (w.next < 0 || !next_piece(w, x)) break;
// [4 more lines of templates/mla_decode/mfma_reg/kernel.h]
    whole = false;
    forget(q, now);
  }
}
