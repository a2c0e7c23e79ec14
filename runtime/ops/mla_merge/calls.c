/* The table of mla_merge's functions, and its cases. */
#include "ops/mla_merge/case.h"
#include "ops/mla_merge/data.h"

enum { ROWS = 600, MOST_MAPS = 1 };

/* tokens: by the heads, so that there are some ROWS rows; odd, and more than one. */
static const merge_spec specs[] = {
    {.name = "empty parts", .gaps = true, .empty = true, .far = 2},
    {.name = "in place", .lse_by_token = true, .into = MERGE_PREFIX, .empty = true, .far = 12},
    {.name = "base 2", .gaps = true, .lse_by_token = true, .base_2 = true, .far = 4},
    {.name = "dense", .spare = true, .far = 1},
};

static mlaf_status make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out, mlaf_err *err) {
  merge_spec spec = specs[index];
  merge_case *c = NULL;
  spec.tokens = (ROWS / p->v[MLA_MERGE_HEADS] + 1) | 1;
  mlaf_status st = merge_case_make(p, &spec, seed + (uint64_t)index, inject, &c, err);
  if (!st) *out = &c->head;
  return st;
}

static void free_case(mlaf_case *c) { merge_case_free((merge_case *)c); }

static double bound(const mlaf_point *p) { return MERGE_ULPS; }

static int64_t rows(const void *args) { return ((const mlaf_merge_args *)args)->tokens; }
static int64_t rows_of(const mlaf_point *p) { return p->v[MLA_MERGE_TOKENS]; }

const mlaf_calls mlaf_merge_calls = {
    .args_name = "mlaf_merge_args",
    .args_init = "MLAF_MERGE_ARGS_INIT",
    .args_size = sizeof(mlaf_merge_args),
    .args_first = sizeof(mlaf_merge_args),
    .n_mapped = MOST_MAPS,
    .rows = rows,
    .rows_of = rows_of,
    .parameter_bytes = merge_parameter_bytes,
    .check_stages = merge_check_stages,
    .check_args = merge_check_args,
    .prepare = merge_prepare,
    .work = merge_work,
    .n_cases = sizeof specs / sizeof *specs,
    .make_case = make_case,
    .free_case = free_case,
    .case_buffers = merge_case_buffers,
    .compare = merge_compare,
    .same = merge_same,
    .bound = bound,
    .error_about = "units in the last place of o, against fp64",
    .data_open = merge_data_open,
    .data_close = merge_data_close,
    .data_args = merge_data_args,
    .data_check = merge_data_check,
    .data_error = merge_data_error,
    .data_row = merge_data_row,
};
