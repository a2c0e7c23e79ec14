/* The table of mla_gather_kv_b's functions, and its cases. */
#include "ops/mla_gather_kv_b/case.h"
#include "ops/mla_gather_kv_b/data.h"

enum { FEW_OUTPUTS = 1024, MOST_MAPS = 1 };

/* --- which cases: of many outputs shorter ones, as each is a sum over the rank --- */

static void add(gather_spec *s, int32_t start, int32_t length) {
  s->start[s->n] = start;
  s->length[s->n++] = length;
}

/* Requests without tokens, chunks that begin and end within pages, the first page left out. */
static void chunks(gather_spec *s, bool few) {
  static const int32_t list[][2] = {{7, 33}, {0, 0}, {16, 16}, {5, 1}, {0, 0}, {0, 47}, {63, 2}, {31, 34}};
  for (int i = 0; i < (few ? 8 : 4); i++) add(s, list[i][0], list[i][1]);
}

/* Longer than any tile of tokens. */
static void longer(gather_spec *s, bool few) {
  add(s, 0, few ? 261 : 19);
  add(s, 0, few ? 12 : 3);
}

/* So many requests that finding one's own takes several steps. */
static void crowd(gather_spec *s, bool few) {
  for (int i = 0; i < (few ? 41 : 20); i++) add(s, i % 5, i * 7 % 4);
  add(s, 3, 2);
}

static const struct {
  void (*fill)(gather_spec *s, bool few);
  gather_spec spec;
} cases[] = {
    {chunks, {.name = "chunks", .page_tokens = 16, .gaps = true, .copies = true}},
    {longer, {.name = "longer", .page_tokens = 64, .joined = true, .list = true, .no_starts = true, .scale_at = true}},
    {crowd, {.name = "crowd", .page_tokens = 1, .joined = true, .gaps = true, .small = true}},
    {chunks, {.name = "without k_pe", .page_tokens = 5, .list = true, .spare = true}},
};

static mlaf_status make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out, mlaf_err *err) {
  const gather_shape s = gather_shape_of(p);
  gather_spec spec = cases[index].spec;
  gather_case *c = NULL;
  cases[index].fill(&spec, s.heads * s.out <= FEW_OUTPUTS);
  mlaf_status st = gather_case_make(p, &spec, seed + (uint64_t)index, inject, &c, err);
  if (!st) *out = &c->head;
  return st;
}

static void free_case(mlaf_case *c) { gather_case_free((gather_case *)c); }

static double bound(const mlaf_point *p) { return GATHER_ULPS; }

static int64_t rows(const void *args) { return ((const mlaf_gather_kv_b_args *)args)->tokens; }
static int64_t rows_of(const mlaf_point *p) { return p->v[MLA_GATHER_KV_B_TOKENS]; }

const mlaf_calls mlaf_gather_calls = {
    .args_name = "mlaf_gather_kv_b_args",
    .args_init = "MLAF_GATHER_KV_B_ARGS_INIT",
    .args_size = sizeof(mlaf_gather_kv_b_args),
    .args_first = offsetof(mlaf_gather_kv_b_args, cache_kpe),
    .workspace_at = offsetof(mlaf_gather_kv_b_args, workspace),
    .workspace_size_at = offsetof(mlaf_gather_kv_b_args, workspace_size),
    .libraries = true,
    .workspace = gather_workspace,
    .n_mapped = MOST_MAPS,
    .rows = rows,
    .rows_of = rows_of,
    .parameter_bytes = gather_parameter_bytes,
    .check_stages = gather_check_stages,
    .check_args = gather_check_args,
    .prepare = gather_prepare,
    .work = gather_work,
    .n_cases = sizeof cases / sizeof *cases,
    .make_case = make_case,
    .free_case = free_case,
    .case_buffers = gather_case_buffers,
    .compare = gather_compare,
    .same = gather_same,
    .bound = bound,
    .error_about = "units in the last place of what is written, against fp64",
    .data_open = gather_data_open,
    .data_close = gather_data_close,
    .data_args = gather_data_args,
    .data_check = gather_data_check,
    .data_error = gather_data_error,
    .data_row = gather_data_row,
};
