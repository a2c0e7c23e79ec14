// Generated from templates/read_ceiling.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render read_ceiling target=sm_90a depth=8

// [templates/lib/cuda.h]
typedef uint4 word;
// [8 more lines of templates/read_ceiling.cu.in]

constexpr int DEPTH = 8;

struct mlaf_read_args { // runtime/check/ceilings.c fills it
// [22 more lines of templates/read_ceiling.cu.in]
