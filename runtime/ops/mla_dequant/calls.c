/* The table of mla_dequant's functions, and its cases. */
#include "ops/mla_dequant/case.h"
#include "ops/mla_dequant/data.h"

enum { MOST_MAPS = 1 };

/* Rows fill no block of scales. A part of a tensor begins within one, as a columns's rows of kv_b_proj may. */
static const dequant_spec specs[] = {
    {.name = "dense", .rows = 257},
    {.name = "part", .gaps = true, .rows = 195, .row = 96, .column = 64},
    {.name = "odd part", .gaps = true, .rows = 131, .row = 1021, .column = 8},
    {.name = "wild scales", .gaps = true, .wild = true, .rows = 389, .row = 32, .column = 192},
};

static mlaf_status make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out, mlaf_err *err) {
  dequant_case *c = NULL;
  mlaf_status st = dequant_case_make(p, &specs[index], seed + (uint64_t)index, inject, &c, err);
  if (!st) *out = &c->head;
  return st;
}

static void free_case(mlaf_case *c) { dequant_case_free((dequant_case *)c); }

static double bound(const mlaf_point *p) { return 0; }

static int64_t rows(const void *args) { return ((const mlaf_dequant_args *)args)->rows; }
static int64_t rows_of(const mlaf_point *p) { return p->v[MLA_DEQUANT_W_ROWS]; }

const mlaf_calls mlaf_dequant_calls = {
    .args_name = "mlaf_dequant_args",
    .args_init = "MLAF_DEQUANT_ARGS_INIT",
    .args_size = sizeof(mlaf_dequant_args),
    .args_first = sizeof(mlaf_dequant_args),
    .n_mapped = MOST_MAPS,
    .rows = rows,
    .rows_of = rows_of,
    .parameter_bytes = dequant_parameter_bytes,
    .check_stages = dequant_check_stages,
    .check_args = dequant_check_args,
    .prepare = dequant_prepare,
    .work = dequant_work,
    .n_cases = sizeof specs / sizeof *specs,
    .make_case = make_case,
    .free_case = free_case,
    .case_buffers = dequant_case_buffers,
    .compare = dequant_compare,
    .same = dequant_same,
    .bound = bound,
    .error_about = "0: every number is the host's",
    .data_open = dequant_data_open,
    .data_close = dequant_data_close,
    .data_args = dequant_data_args,
    .data_check = dequant_data_check,
    .data_error = dequant_data_error,
    .data_row = dequant_data_row,
};
