/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* The workspace of mla_decode, block tables and index lists, by the library's own functions. */
#include "mlaf_embed_mla_decode_tables.h"

#include "mlaf_embed_inside.h"
#include "mlaf_embed_mla_decode_block_tables.h"
#include "mlaf_embed_mla_decode_execute.h"
#include "mlaf_embed_mla_decode_index_lists.h"

extern const mlaf_embed_op mlaf_embed_op_mla_decode;

size_t mlaf_embed_decode_workspace(const mlaf_embed_plan *plan, int64_t total_q) {
  return mlaf_embed_decode_workspace_of(&plan->bound, plan->bound.knob, total_q);
}

mlaf_embed_status mlaf_embed_decode_tables_open(mlaf_embed *e, char *why, size_t size) {
  return mlaf_embed_second_load(e, &mlaf_embed_block_tables, why, size);
}

/* The library's arguments: the table in place of page lists. */
static mlaf_embed_decode_args with_table(const mlaf_embed_decode_tables *t, const mlaf_embed_decode_args *a) {
  mlaf_embed_decode_args out = *a;
  out.block_table = t->block_table;
  out.seq_lens = t->seq_lens;
  out.block_table_stride = t->row_stride ? t->row_stride : t->width;
  out.block_table_width = t->width;
  out.qo_indptr = NULL;
  out.total_q = (int64_t)a->batch * t->q_tokens;
  return out;
}

mlaf_embed_status mlaf_embed_decode_lists_open(mlaf_embed *e, char *why, size_t size) {
  return mlaf_embed_second_load(e, &mlaf_embed_index_lists, why, size);
}

mlaf_embed_status mlaf_embed_decode_pools_open(mlaf_embed *e, char *why, size_t size) {
  return mlaf_embed_second_load(e, &mlaf_embed_index_pools, why, size);
}

size_t mlaf_embed_decode_lists_workspace(const mlaf_embed_plan *plan, const mlaf_embed_decode_args *args) {
  return mlaf_embed_index_lists.workspace(&plan->bound, plan->bound.knob, args);
}

size_t mlaf_embed_decode_tables_size(int32_t batch, int32_t width) {
  const mlaf_embed_problem p = {.page_size = 1};
  const mlaf_embed_decode_args a = {.batch = batch, .kv_indices_size = (int64_t)batch * width};
  return width < 1 ? SIZE_MAX : mlaf_embed_block_tables_size(&p, &a);
}

static mlaf_embed_status make(const mlaf_embed_plan *x, const mlaf_embed_decode_tables *t, void *memory, size_t memory_size,
                              mlaf_embed_decode_args *a, void *stream, mlaf_embed_err *err) {
  const mlaf_embed_problem p = mlaf_embed_decode_problem_of_bound(&x->bound);
  const size_t need = mlaf_embed_decode_tables_size(a->batch, t->width);
  const mlaf_embed_function *loaded[MLAF_EMBED_SECOND_KERNELS_EACH];
  const mlaf_embed_function *const *fns = mlaf_embed_second(x->owner, &mlaf_embed_block_tables, loaded);
  const mlaf_embed_decode_args with = with_table(t, a);
  mlaf_embed_decode_args first;
  mlaf_embed_second_prepared launch;
  if (!fns) return mlaf_embed_fail(err, MLAF_EMBED_ARG, "mlaf_embed_decode_tables_open was not called");
  if (need == SIZE_MAX)
    return mlaf_embed_fail(err, MLAF_EMBED_ARG, "batch is %d and width %d: batch is in 0..%d, batch * width in 1..2^31-1",
                           a->batch, t->width, MLA_DECODE_BATCH_MAX);
  if (t->q_tokens < 1 || t->q_tokens > p.q_len)
    return mlaf_embed_fail(err, MLAF_EMBED_ARG, "q_tokens is %d, must be 1..%d (the plan's q_len)", t->q_tokens, p.q_len);
  a->total_q = with.total_q;
  if (!a->batch) return MLAF_EMBED_OK;
  if (!memory || (uintptr_t)memory % sizeof(int32_t) || memory_size < need)
    return mlaf_embed_fail(err, MLAF_EMBED_ARG, "the memory is %p of %zu bytes, must be %zu, 4-byte aligned "
                           "(mlaf_embed_decode_tables_size)", memory, memory_size, need);
  mlaf_embed_status st = mlaf_embed_block_tables_prepare(x->bound.dev, fns, &p, &with, memory, &first, &launch, err);
  if (!st) st = mlaf_embed_launch_one(x->owner, &launch.launch[0], stream, err);
  if (!st) {
    a->qo_indptr = first.qo_indptr;
    a->kv_indptr = first.kv_indptr;
    a->kv_indices = first.kv_indices;
    a->kv_last_page_lens = first.kv_last_page_lens;
  }
  return st;
}

mlaf_embed_status mlaf_embed_decode_tables_make(const mlaf_embed_plan *x, const mlaf_embed_decode_tables *t, void *memory,
                                                size_t memory_size, mlaf_embed_decode_args *a, void *stream, char *why,
                                                size_t size) {
  mlaf_embed_err err = {MLAF_EMBED_OK, ""};
  mlaf_embed_status status = mlaf_embed_expect(x, t ? a : NULL, &mlaf_embed_op_mla_decode, &err);
  if (!status) status = make(x, t, memory, memory_size, a, stream, &err);
  return mlaf_embed_say(&err, status, why, size);
}
