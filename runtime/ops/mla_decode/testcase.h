/* Verification data: one batch of random requests on the host, with everything a kernel must not read poisoned. */
#pragma once

#include "op/cases.h"
#include "ops/mla_decode/execute.h"
#include "ops/mla_decode/reference.h"

#define MLAF_CASE_REQUESTS 16
#define MLAF_CASE_Q_MOST 64

/* Layouts of the cache in memory. */
typedef enum mlaf_cache_layout {
  MLAF_CACHE_COMBINED, /* [pages, page_size, R+P], kpe = ckv + R */
  MLAF_CACHE_SPLIT,    /* ckv and kpe apart, or as an 8-bit cache has them, each row padded by 16 bytes */
} mlaf_cache_layout;

typedef struct mlaf_case_spec {
  const char *name;
  mlaf_problem problem; /* dims only; batch and ctx are not looked at */
  uint64_t seed;
  int32_t n;                              /* requests: 0..MLAF_CASE_REQUESTS */
  int32_t q_lens[MLAF_CASE_REQUESTS];     /* 0..MLAF_CASE_Q_MOST; more than problem.q_len: the request is refused */
  int32_t kv_lens[MLAF_CASE_REQUESTS];
  mlaf_cache_layout layout;
  int32_t unused_pages;                   /* pages of the cache that no request owns */
  bool short_table;                       /* the table of a problem that rotates ends before the longest request's last token */
  MLA_DECODE_GIVEN(float);                /* numbers of optional tensors; 0: none is handed over */
  bool any_scales;                        /* one with scales inside: any fp32 numbers, else powers of two, 2^-13 .. 2^7 */
  int32_t shifts[MLAF_CASE_REQUESTS];     /* exponents: a request's fp32 scales and values are times 2^shift, and its Q's latent
                                             columns times 2^-shift; in bf16 */
  int32_t nan_code_in;                    /* a token of that request holds one NaN code; 0: none does */
  double score_std;                       /* standard deviation of scale * q.k, with the scale's sign; fixes the scale */
} mlaf_case_spec;

/* Owns every array `batch` points to. Everything the reference may not look at is NaN, in the cache's own numbers: pages that
 * no request owns, tokens behind the last one of a page, padding between rows (a small number with OOB_PAGE). Page tables are in
 * random order. */
typedef struct mlaf_testcase {
  char name[80];
  mlaf_batch batch;
  uint16_t *q_parts;       /* what a launch of Q in two tensors reads: both, the rope columns from q_pe_at on. q has them
                              together, for the reference */
  size_t q_parts_count, q_pe_at;                        /* elements */
  int64_t q_token, q_head, q_pe_token, q_pe_head;       /* their strides, likewise */
  uint16_t *q, *ckv, *kpe; /* kpe: NULL where it is one tensor. ckv of an 8-bit cache, q of 8 bits: the bytes */
  size_t q_count, ckv_count, kpe_count; /* elements of 2 bytes */
  MLA_DECODE_GIVEN(float *); /* numbers of optional tensors; rope_table has an angle at random for each position and pair */
  int32_t *tables;         /* qo_indptr, kv_indptr, kv_indices, kv_last_page_lens, one behind the other */
  int64_t total_pages;     /* kv_indptr[batch] */
  int64_t max_kv_len;
} mlaf_testcase;

/* Deterministic by (spec, inject). E_ARG with the reason when a length is out of range or, with an injection, no
 * request can carry it. */
mlaf_status mlaf_testcase_make(const mlaf_case_spec *spec, mlaf_inject inject, mlaf_testcase **out, mlaf_err *err);
void mlaf_testcase_free(mlaf_testcase *t);
/* Numbers of a tensor, which begin with `value`; *out stays NULL where the problem has none, or that is 0. a: counts of rows. */
mlaf_status mlaf_given_draw(const mlaf_given *g, const mlaf_problem *p, const mlaf_execute_args *a, float value, float **out,
                            mlaf_err *err);
