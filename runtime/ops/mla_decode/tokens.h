/* Tokens of 8-bit caches in host memory, for the reference and for what makes its data. */
#pragma once

#include "op/stored.h"
#include "ops/mla_decode/problem.h"
#include "ops/mla_decode/reference.h"

/* Rows from one page of the problem's format to the next, where nothing else is said. */
static inline int64_t mlaf_decode_page_rows(const mlaf_problem *p) {
  return mlaf_format_page_rows(mlaf_decode_format(p, false), p->page_size, p->rank, p->rope);
}

/* The parts of a token of `cache`, which has the batch's shape, and of the batch's kpe. */
static inline mlaf_stored_token mlaf_batch_token(const mlaf_batch *x, void *cache, int64_t page, int64_t slot) {
  const mlaf_problem *p = &x->problem;
  const int64_t rows = x->page_rows ? x->page_rows : p->page_size;
  const mlaf_stored_page at = {.rows = (unsigned char *)cache + page * rows * x->ckv_row_stride, .row = x->ckv_row_stride,
                               .second = (unsigned char *)(uintptr_t)x->kpe + page * rows * x->kpe_row_stride,
                               .second_row = x->kpe_row_stride, .tokens = p->page_size};
  return mlaf_stored_token_of(mlaf_decode_format(p, false), p->rank, p->rope, &at, slot);
}
