/* Tokens of 8-bit caches in host memory, for the reference and for what makes its data. */
#pragma once

#include "op/stored.h"
#include "ops/mla_decode/problem.h"
#include "ops/mla_decode/reference.h"

/* Rows from one page of the problem's format to the next, where nothing else is said. */
static inline int64_t mlaf_decode_page_rows(const mlaf_problem *p) {
  return mlaf_format_page_rows(mlaf_decode_format(p, false), p->page_size, p->rank, p->rope);
}

/* The parts of a token of `cache`, and of the batch's kpe where rope columns lie there. It has the batch's shape. */
static inline mlaf_stored_token mlaf_batch_token(const mlaf_batch *x, void *cache, int64_t page, int64_t slot) {
  const mlaf_problem *p = &x->problem;
  const int64_t rows = x->page_rows ? x->page_rows : p->page_size;
  const mlaf_cache_format *f = mlaf_decode_format(p, false);
  mlaf_stored_token t = mlaf_stored_token_of(f, p->rank, p->rope, (unsigned char *)cache + page * rows * x->ckv_row_stride,
                                             x->ckv_row_stride, p->page_size, slot);
  if (f->split) t.rope = (unsigned char *)(uintptr_t)x->kpe + (page * rows + slot) * x->kpe_row_stride;
  return t;
}
