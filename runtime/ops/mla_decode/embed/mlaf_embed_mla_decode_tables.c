/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* Block tables, made on the device into the page lists that decode kernels read. As mlaforge's
 * runtime/ops/mla_decode/block_tables.c; tests/embed/test_tables.c compares the two. */

#include "mlaf_embed_inside.h"
#include "mlaf_embed_mla_decode.h"

typedef struct tables_args {
  const int32_t *table, *seq_lens, *indptr, *indices, *last_tokens;
  int32_t *qo_indptr, *kv_indptr, *kv_last_page_lens, *kv_indices;
  int64_t stride, room;
  int32_t batch, width, q_tokens, pages, page, sub, step, group, chunks;
} tables_args;
_Static_assert(sizeof(tables_args) == 128, "not the kernel's layout");

static int64_t groups(int64_t rows, int64_t each) { return (rows + each - 1) / each; }

static mlaf_embed_decode_problem problem_of(const mlaf_embed_plan *x) {
  return mlaf_embed_decode_problem_of(x->row->values);
}

enum { TABLES_CHUNK = 1024, TABLES_MOST_WAVES = 4096, TABLES_MOST_CHUNKS = 64 };

static const char SYMBOL[] = "mlaf_block_tables";

mlaf_embed_status mlaf_embed_decode_tables_open(mlaf_embed *e, char *why, size_t size) {
  return mlaf_embed_extra_load(e, SYMBOL, "that reads block tables", why, size);
}

size_t mlaf_embed_decode_tables_size(int32_t batch, int32_t width) {
  const int64_t ids = (int64_t)batch * width;
  if (batch < 0 || batch > 65536 || width < 1 || ids > INT32_MAX) return SIZE_MAX;
  return ((size_t)ids + 3 * (size_t)batch + 2) * sizeof(int32_t);
}

/* What is wrong, NULL if nothing that can be seen from the host. */
static const char *tables_fault(const mlaf_embed_plan *x, const mlaf_embed_decode_tables *t, const mlaf_embed_decode_args *a,
                                const void *memory, size_t memory_size) {
  const size_t needed = mlaf_embed_decode_tables_size(a->batch, t->width);
  void *function;
  if (!mlaf_embed_extra(x->owner, SYMBOL, &function)) return "mlaf_embed_decode_tables_open was not called";
  if (needed == SIZE_MAX) return "batch is not in 0..65536, or batch * width not in 1..2^31-1";
  if (a->num_pages < 0 || (int64_t)a->num_pages * problem_of(x).page_size >> 32) return "num_pages * page_size is not below 2^32";
  if (t->q_tokens < 1 || t->q_tokens > problem_of(x).q_len) return "q_tokens is not in 1..q_len of the plan";
  if (t->row_stride && t->row_stride < t->width) return "row_stride is below width: rows overlap";
  if (!t->block_table || !t->seq_lens || ((uintptr_t)t->block_table | (uintptr_t)t->seq_lens) % 4)
    return "block_table or seq_lens is NULL or not 4-byte aligned";
  if (!memory || (uintptr_t)memory % 4 || memory_size < needed)
    return "the memory is NULL, not 4-byte aligned or smaller than mlaf_embed_decode_tables_size says";
  return NULL;
}

mlaf_embed_status mlaf_embed_decode_tables_make(const mlaf_embed_plan *x, const mlaf_embed_decode_tables *t, void *memory,
                                                size_t memory_size, mlaf_embed_decode_args *a, void *stream, char *why,
                                                size_t size) {
  if (!x || !t || !a) return mlaf_embed_fail(why, size, MLAF_EMBED_ARG, "a NULL pointer");
  const char *wrong = tables_fault(x, t, a, memory, memory_size);
  if (wrong) return mlaf_embed_fail(why, size, MLAF_EMBED_ARG, "%s", wrong);
  a->total_q = (int64_t)a->batch * t->q_tokens;
  if (!a->batch) return MLAF_EMBED_OK;
  int32_t *const at = memory, *const qo = at + 2 * a->batch + 1, *const ids = at + 3 * a->batch + 2;
  const int64_t chunks = groups(t->width, TABLES_CHUNK);
  tables_args k = {.table = t->block_table, .seq_lens = t->seq_lens, .kv_indptr = at, .kv_last_page_lens = at + a->batch + 1,
                   .qo_indptr = qo, .kv_indices = ids, .stride = t->row_stride ? t->row_stride : t->width,
                   .room = (int64_t)a->batch * t->width, .batch = a->batch, .width = t->width, .q_tokens = t->q_tokens,
                   .pages = a->num_pages, .page = problem_of(x).page_size, .sub = 1, .step = 1,
                   .group = (int32_t)groups(a->batch, TABLES_MOST_WAVES),
                   .chunks = (int32_t)(chunks > TABLES_MOST_CHUNKS ? TABLES_MOST_CHUNKS : chunks)};
  const mlaf_embed *e = x->owner;
  void *function = NULL;
  mlaf_embed_kernel kernel = *mlaf_embed_extra(e, SYMBOL, &function);
  kernel.flags |= EMBED_OVERLAPS; /* it waits before it reads or writes anything */
  const int waves = (int)(kernel.threads / mlaf_embed_wave(e));
  const uint32_t grid[] = {(uint32_t)groups(groups(a->batch, k.group), waves), (uint32_t)k.chunks, 1};
  int previous = 0;
  mlaf_embed_status st = mlaf_embed_begin(e, &previous, why, size);
  if (st) return st;
  st = mlaf_embed_end(e, previous, mlaf_embed_launch(e, &kernel, function, grid, &k, sizeof k, stream), why, size);
  if (st) return st;
  a->qo_indptr = qo;
  a->kv_indptr = k.kv_indptr;
  a->kv_last_page_lens = k.kv_last_page_lens;
  a->kv_indices = ids;
  return MLAF_EMBED_OK;
}
