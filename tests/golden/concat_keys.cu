// Generated from templates/concat_keys.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render concat_keys target=sm_90a heads=8

// [templates/lib/cuda.h]
#define MLAF_GLOBAL
// [5 more lines of templates/concat_keys.cu.in]

constexpr int HEADS = 8;

struct mlaf_concat_args { // runtime/cli/layer_acc.c fills it
// [15 more lines of templates/concat_keys.cu.in]
