// Generated from templates/attn_sink.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render attn_sink target=sm_90a threads=256

// [templates/lib/cuda.h]
#define MLAF_GLOBAL
// [19 more lines of templates/attn_sink.cu.in]

constexpr int LANES = 32, WAVES = 8;
constexpr float LOG2E = 1.44269504f;
// [21 more lines of templates/attn_sink.cu.in]

extern "C" __global__ void __launch_bounds__(256) mlaf_attn_sink(mlaf_attn_sink_args a) {
  let_next_launch_start();
// [16 more lines of templates/attn_sink.cu.in]
