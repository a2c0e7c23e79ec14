/* A launch of mla_decode: its stages and parameters, the checks of its arguments, its workspace. The functions are entries of its
 * table (op/calls.h). */
#pragma once

#include "mlaforge/mla_decode.h"
#include "op/calls.h"
#include "ops/mla_decode/launch.h"
#include "ops/mla_decode/problem.h"

/* Stages. With COMBINE left out splits must be 1 and the decode kernel end alone. */
enum { MLAF_STAGE_DECODE, MLAF_STAGE_COMBINE };
enum { MLAF_WORKSPACE_ALIGN = 256 };
/* The first version of mlaf_execute_args ended before the tables' second form. */
#define MLAF_EXECUTE_ARGS_FIRST offsetof(mlaf_execute_args, block_table)
/* The narrowest rows of 16-byte loads: of cosines and sines of 32 columns. */
enum { MLAF_ROPE_TABLE_ALIGN = 16 };

/* Contents of mlaf_prepared.parameters. */
typedef struct mlaf_decode_parameters {
  mlaf_decode_args decode; /* with the maps behind it one parameter block, mlaf_q_words between if the kernel says so */
  union {
    unsigned char maps[MLAF_MAPS_MAX][MLAF_MAP_BYTES];
    struct {
      mlaf_q_words q;
      unsigned char maps_behind_q[MLAF_MAPS_MAX - 1][MLAF_MAP_BYTES];
    };
  };
  mlaf_combine_args combine;
  mlaf_values_args behind; /* for a combine kernel that takes the decode kernel's arguments, in their wide form. With the map
                            * behind it one block */
  unsigned char maps_behind[1][MLAF_MAP_BYTES];
} mlaf_decode_parameters;
_Static_assert(offsetof(mlaf_decode_parameters, maps) == sizeof(mlaf_decode_args), "maps follow the arguments");
_Static_assert(sizeof(mlaf_q_words) == 64, "maps are aligned behind it");
_Static_assert(sizeof(mlaf_decode_args) == 128 && sizeof(mlaf_values_args) % 64 == 0, "the kernels' layout");
_Static_assert(sizeof(mlaf_decode_parameters) <= MLAF_PARAMETERS_MAX, "a prepared launch holds them");
static inline mlaf_decode_parameters *mlaf_decode_parameters_of(mlaf_prepared *p) { return (void *)p->parameters; }

/* True where the launch may cut its batch on the device. */
static inline bool mlaf_decode_fits(const mlaf_bound *b) {
  return b->stage[MLAF_STAGE_DECODE].launch.flags & MLAF_KERNEL_FITS;
}
/* True if it cuts each request by its own length. */
static inline bool mlaf_decode_invariant(const mlaf_bound *b) {
  return b->stage[MLAF_STAGE_DECODE].launch.flags & MLAF_KERNEL_INVARIANT;
}
/* Blocks of a launch that may cut its batch and does not, where all requests have as many tokens. */
typedef struct mlaf_whole_requests {
  uint32_t busy; /* percent of the time that a block works; 100: also where the launch cannot cut */
  uint64_t idle; /* tokens that it could work on meanwhile */
} mlaf_whole_requests;
mlaf_whole_requests mlaf_decode_whole(const mlaf_bound *b, uint32_t splits, int64_t batch, int64_t tokens);
/* Columns of the value projection that its combine kernel is fused with; 0: none. */
static inline int mlaf_decode_goes_on(const mlaf_bound *b) { return (int)b->stage[MLAF_STAGE_COMBINE].launch.values; }
static inline bool mlaf_decode_combined(const mlaf_bound *b) { return b->stage[MLAF_STAGE_COMBINE].fn != NULL; }

/* The typed problem of a bound variant. */
static inline mlaf_problem mlaf_decode_problem(const mlaf_bound *b) { return mlaf_problem_of(&b->point); }

/* Row strides in units of the cache's format, the default where the caller left them 0. */
int64_t mlaf_ckv_stride(const mlaf_problem *p, const mlaf_execute_args *a);
int64_t mlaf_kpe_stride(const mlaf_problem *p, const mlaf_execute_args *a);

/* One of Q's two tensors, with strides in elements, the defaults where the caller left them 0. */
typedef struct mlaf_q_part {
  const void *data;
  int64_t columns, token, head;
} mlaf_q_part;
static inline mlaf_q_part mlaf_q_part_of(const mlaf_problem *p, const mlaf_execute_args *a, bool pe) {
  mlaf_q_part q = {a->q, p->rank, a->q_token_stride, a->q_head_stride};
  if (pe) q = (mlaf_q_part){a->q_pe, p->rope, a->q_pe_token_stride, a->q_pe_head_stride};
  if (!q.head) q.head = q.columns;
  if (!q.token) q.token = p->heads * q.head;
  return q;
}

/* Bytes from page to page of a pool in pages of `tokens`, the default where the caller left them 0. */
static inline int64_t mlaf_page_stride(const mlaf_problem *p, int64_t given, int64_t tokens) {
  const mlaf_cache_format *f = mlaf_decode_format(p, false);
  return given ? given : mlaf_format_page_rows(f, tokens, p->rank, p->rope) * mlaf_decode_bytes(p, f->row);
}
/* Tokens of a page: lists of the cache's rows have pages of their own. */
static inline int32_t mlaf_page_tokens(const mlaf_problem *p, const mlaf_execute_args *a) {
  return p->page_size == 1 && a->page_tokens ? a->page_tokens : p->page_size;
}

/* --- args.c --- */
/* An optional tensor of fp32 numbers: a row of gen/ops/mla_decode/args.lua. Places are in mlaf_execute_args, and those of fields
 * in mlaf_problem; 0: there is none. */
typedef struct mlaf_given {
  const char *name;
  size_t at, rows_at, columns_at;  /* its address, and the members that count its rows and its columns */
  size_t has_at;                   /* the field that says which problems have it */
  uint32_t has;                    /* bits: that field's values with which they do */
  const char *without, *otherwise; /* why others do not, where that field is 0 or not; NULL: checks and numbers are by hand */
  float cases[3], timing;          /* its numbers in cases and in timed launches; 0: it is NULL there */
} mlaf_given;
extern const mlaf_given mlaf_decode_given[MLAF_GIVEN];
static inline int32_t mlaf_given_number(const void *of, size_t at) {
  return at ? *(const int32_t *)(const void *)((const char *)of + at) : 1;
}
static inline bool mlaf_given_wanted(const mlaf_given *g, const mlaf_problem *p) {
  return g->has >> mlaf_given_number(p, g->has_at) & 1;
}
static inline size_t mlaf_given_bytes(const mlaf_given *g, const mlaf_problem *p, const mlaf_execute_args *a) {
  return (size_t)mlaf_given_number(a, g->rows_at) * (size_t)mlaf_given_number(p, g->columns_at) * sizeof(float);
}
static inline const float **mlaf_given_place(const mlaf_given *g, mlaf_execute_args *a) {
  return (const float **)(void *)((char *)a + g->at);
}

/* The checks of mlaf_execute for `splits` splits. */
mlaf_status mlaf_decode_check_args(const mlaf_bound *b, uint32_t splits, const void *args, mlaf_err *err);
mlaf_status mlaf_decode_check_stages(const mlaf_bound *b, mlaf_err *err);

/* --- prepare.c --- */
/* Workspace for `splits` splits and total_q tokens: part_o [splits,T,H,R] fp32, then part_lse [splits,T,H] fp32 on the next
 * 256-byte boundary; more where the variant may cut its batch (ops/mla_decode/launch.h) or makes values. 0 for one split without
 * these; SIZE_MAX when it does not fit size_t. */
size_t mlaf_decode_workspace(const mlaf_bound *b, uint32_t splits, int64_t total_q);
void mlaf_decode_settle(mlaf_bound *b);
uint32_t mlaf_decode_parameter_bytes(int stage, const mlaf_kernel_launch *launch);
mlaf_status mlaf_decode_prepare(const mlaf_bound *b, uint32_t splits, const void *args, mlaf_prepared *out, mlaf_err *err);

/* --- work.c --- */
mlaf_work mlaf_decode_work(const mlaf_point *p);
/* The same of requests with these lengths. */
mlaf_work mlaf_decode_work_of(const mlaf_problem *p, const int32_t *lengths);
