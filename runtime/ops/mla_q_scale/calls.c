/* The table of mla_q_scale's functions, and its cases. */
#include "ops/mla_q_scale/case.h"
#include "ops/mla_q_scale/data.h"

enum { ROWS = 300, LEAST = 11, MOST_MAPS = 1 };

/* tokens: by the heads, so that there are some ROWS rows; odd, and enough for every kind of position. */
static const q_scale_spec specs[] = {
    {.name = "apart", .gaps = true, .beta = 0.1f, .original = 8192},
    {.name = "in place", .gaps = true, .in_place = true, .beta = 0.1f, .original = 8192},
    {.name = "wild positions", .in_place = true, .wild = true, .beta = -0.25f, .original = 7},
    {.name = "dense", .wild = true, .beta = 1.5f, .original = 1},
};

static mlaf_status make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out, mlaf_err *err) {
  q_scale_spec spec = specs[index];
  q_scale_case *c = NULL;
  const int tokens = ROWS / p->v[MLA_Q_SCALE_HEADS];
  spec.tokens = (tokens > LEAST ? tokens : LEAST) | 1;
  mlaf_status st = q_scale_case_make(p, &spec, seed + (uint64_t)index, inject, &c, err);
  if (!st) *out = &c->head;
  return st;
}

static void free_case(mlaf_case *c) { q_scale_case_free((q_scale_case *)c); }

static double bound(const mlaf_point *p) { return Q_SCALE_ULPS; }

static int64_t rows(const void *args) { return ((const mlaf_q_scale_args *)args)->tokens; }
static int64_t rows_of(const mlaf_point *p) { return p->v[MLA_Q_SCALE_TOKENS]; }

const mlaf_calls mlaf_q_scale_calls = {
    .args_name = "mlaf_q_scale_args",
    .args_init = "MLAF_Q_SCALE_ARGS_INIT",
    .args_size = sizeof(mlaf_q_scale_args),
    .args_first = sizeof(mlaf_q_scale_args),
    .n_mapped = MOST_MAPS,
    .rows = rows,
    .rows_of = rows_of,
    .parameter_bytes = q_scale_parameter_bytes,
    .check_stages = q_scale_check_stages,
    .check_args = q_scale_check_args,
    .prepare = q_scale_prepare,
    .work = q_scale_work,
    .n_cases = sizeof specs / sizeof *specs,
    .make_case = make_case,
    .free_case = free_case,
    .case_buffers = q_scale_case_buffers,
    .compare = q_scale_compare,
    .same = q_scale_same,
    .bound = bound,
    .error_about = "units in the last place, against fp64",
    .data_open = q_scale_data_open,
    .data_close = q_scale_data_close,
    .data_args = q_scale_data_args,
    .data_check = q_scale_data_check,
    .data_error = q_scale_data_error,
    .data_row = q_scale_data_row,
};
