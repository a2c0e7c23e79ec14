// Generated from templates/block_tables.cu.in by mlaforge. Do not edit: change the template.
// regenerate: lua5.4 gen/cli.lua render block_tables target=gfx942 chunk=1024

// [templates/lib/wave.h]
MLAF_DEV int my_block() { return group_x(); }
// [8 more lines of templates/block_tables.cu.in]

constexpr int LANES = 64, WAVES = 256 / LANES, CHUNK = 1024, DEPTH = 4;

struct mlaf_block_tables_args { // runtime/plan/block_tables.c fills it
// [104 more lines of templates/block_tables.cu.in]
