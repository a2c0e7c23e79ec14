// Generated from templates/attn_sink.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: sm_90a
// symbol: mlaf_attn_sink_e5538ef0
// parameters:
//   threads = 256
// regenerate: lua5.4 gen/cli.lua render attn_sink target=sm_90a threads=256


// [templates/lib/cuda.h]
#define MLAF_GLOBAL
typedef uint4 word4;
MLAF_DEV int my_block() { return blockIdx.x; }
MLAF_DEV int my_thread() { return threadIdx.x; }
MLAF_DEV void publish() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
MLAF_DEV float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
MLAF_DEV float half_to_float(u32 x) {
  float y;
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %1;\ncvt.f32.f16 %0, l;\n}" : "=f"(y) : "r"(x));
  return y;
}
MLAF_DEV u32 pack_halves(float lo, float hi) {
  u32 y;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(hi), "f"(lo));
  return y;
}

constexpr int LANES = 32, WAVES = 8;
constexpr float LOG2E = 1.44269504f;

struct mlaf_attn_sink_args { // runtime/ops/mla_decode/index_lists.c fills it
  void* o;           // [rows, rank], rows of tokens and heads
  const float* lse;  // [rows], natural log
  const float* sink; // [heads]
  long rows;
  int heads, rank, f16;
};

MLAF_DEV u32 bf16_of(float x) {
  const u32 u = bits_of(x);
  return u + 0x7fffu + (u >> 16 & 1u) >> 16;
}
MLAF_DEV u32 scaled(u32 x, float by, bool f16) {
  if (f16) return pack_halves(half_to_float(x) * by, half_to_float(x >> 16) * by);
  return bf16_of(float_of(x << 16) * by) | bf16_of(float_of(x & 0xffff0000u) * by) << 16;
}

MLAF_DEV float factor(float lse, float sink) {
  return lse == float_of(0xff800000u) ? 1.0f : 1.0f / (1.0f + exp2_of((sink - lse) * LOG2E));
}

extern "C" __global__ void __launch_bounds__(256) mlaf_attn_sink(mlaf_attn_sink_args a) {
  let_next_launch_start();
  wait_for_previous_launch();
  const int lane = my_thread() % LANES;
  const i64 row = (i64)my_block() * WAVES + my_thread() / LANES;
  if (row < a.rows) {
    const MLAF_GLOBAL float* const lse = (const MLAF_GLOBAL float*)(u64)a.lse + row;
    const MLAF_GLOBAL float* const sink = (const MLAF_GLOBAL float*)(u64)a.sink + row % a.heads;
    MLAF_GLOBAL word4* const o = (MLAF_GLOBAL word4*)(u64)a.o + row * (a.rank / 8);
    const float by = factor(*lse, *sink);
    for (int i = lane; i < a.rank / 8; i += LANES) {
      word4 x = o[i];
      x.x = scaled(x.x, by, a.f16), x.y = scaled(x.y, by, a.f16), x.z = scaled(x.z, by, a.f16), x.w = scaled(x.w, by, a.f16);
      o[i] = x;
    }
  }
  publish();
}
