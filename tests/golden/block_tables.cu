// Generated from templates/block_tables.cu.in by mlaforge. Do not edit: change the template.
// template_hash: (not part of a golden)
// target: gfx942
// symbol: mlaf_block_tables_6f089f93
// parameters:
//   chunk = 1024
// regenerate: lua5.4 gen/cli.lua render block_tables target=gfx942 chunk=1024


// [templates/lib/wave.h]
MLAF_DEV int my_block() { return group_x(); }
MLAF_DEV int my_share() { return group_y(); }
MLAF_DEV int my_thread() { return thread_id(); }
MLAF_DEV int exchange(int x, int lane, int d) { return __builtin_amdgcn_ds_bpermute((lane ^ d) << 2, x); }
MLAF_DEV void wait_for_previous_launch() {}
MLAF_DEV void let_next_launch_start() {}
MLAF_DEV void publish() {}
MLAF_DEV int read(const int* p) { return *(const MLAF_GLOBAL int*)(u64)p; }
MLAF_DEV void write(int* p, int x) { *(MLAF_GLOBAL int*)(u64)p = x; }

constexpr int LANES = 64, WAVES = 256 / LANES, CHUNK = 1024, DEPTH = 4;

struct mlaf_block_tables_args { // runtime/plan/block_tables.c fills it
// [104 more lines of templates/block_tables.cu.in]
