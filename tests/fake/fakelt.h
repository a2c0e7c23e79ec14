/* Counts of what the fake of a vendor's GEMM library has seen. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fakelt_product {
  int64_t m, n, k, batch, a_ld, b_ld, c_ld, y_ld, a_stride, b_stride, y_stride;
  bool transposed;
  float beta;
  int way, asked_for, type; /* asked_for: columns that the way was proposed for */
  size_t workspace;
  void *stream;
} fakelt_product;

typedef struct fakelt_seen {
  int calls, live, products, attributes;
  uint64_t workspace_allowed;
  uint32_t alignment;
  int64_t n[16]; /* of product i, at i modulo 16 */
  fakelt_product last;
} fakelt_seen;
