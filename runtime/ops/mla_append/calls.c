/* The table of mla_append's functions, and its cases. */
#include "ops/mla_append/case.h"
#include "ops/mla_append/data.h"

enum { MANY_HEADS = 32, MOST_MAPS = 1 };

/* tokens: odd, even, one; of many heads fewer, as each is a row. */
static const append_spec specs[] = {
    {.name = "scattered", .tokens = 37, .bad_slots = true, .apart = true},
    {.name = "turned", .tokens = 8, .table_16 = true, .one_table = true, .turned_out = true, .bad_slots = true},
    {.name = "extreme", .tokens = 21, .bad_slots = true, .table_16 = true, .extreme = true, .all_q = true},
    {.name = "one", .tokens = 1, .one_table = true},
};

static mlaf_status make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out, mlaf_err *err) {
  append_spec spec = specs[index];
  append_case *c = NULL;
  if (p->v[MLA_APPEND_HEADS] > MANY_HEADS && spec.tokens > 9) spec.tokens = 9;
  mlaf_status st = append_case_make(p, &spec, seed + (uint64_t)index, inject, &c, err);
  if (!st) *out = &c->head;
  return st;
}

static void free_case(mlaf_case *c) { append_case_free((append_case *)c); }

static double bound(const mlaf_point *p) { return APPEND_ULPS; }

static int64_t rows(const void *args) { return ((const mlaf_append_args *)args)->tokens; }
static int64_t rows_of(const mlaf_point *p) { return p->v[MLA_APPEND_TOKENS]; }

const mlaf_calls mlaf_append_calls = {
    .args_name = "mlaf_append_args",
    .args_init = "MLAF_APPEND_ARGS_INIT",
    .args_size = sizeof(mlaf_append_args),
    .args_first = sizeof(mlaf_append_args),
    .n_mapped = MOST_MAPS,
    .rows = rows,
    .rows_of = rows_of,
    .parameter_bytes = append_parameter_bytes,
    .check_stages = append_check_stages,
    .check_args = append_check_args,
    .prepare = append_prepare,
    .work = append_work,
    .n_cases = sizeof specs / sizeof *specs,
    .make_case = make_case,
    .free_case = free_case,
    .case_buffers = append_case_buffers,
    .compare = append_compare,
    .same = append_same,
    .bound = bound,
    .error_about = "units in the last place of what is stored, against fp64",
    .data_open = append_data_open,
    .data_close = append_data_close,
    .data_args = append_data_args,
    .data_check = append_data_check,
    .data_error = append_data_error,
    .data_row = append_data_row,
};
