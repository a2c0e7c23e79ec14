/* Data to time and soak mla_decode on: `batch` requests of q_len tokens over `ctx` cached tokens, or over lengths spread about
 * it. Entries of its table (op/calls.h). */
#pragma once

#include "op/stored.h"
#include "ops/mla_decode/execute.h"

enum { MLAF_DECODE_TOKENS = 6007 }; /* a prime: pages are not like each other */
#define MLAF_DECODE_KV_SCALE mlaf_decode_given[MLAF_GIVEN_KV_SCALE].timing
#define MLAF_DECODE_Q_SCALE  mlaf_decode_given[MLAF_GIVEN_Q_SCALE].timing
enum { MLAF_DECODE_O, MLAF_DECODE_LSE }; /* outputs; with a fused value projection the first is the values, the only one */

/* Random normal numbers (the clock a GPU reaches depends on the data) and a random page order. A set is a page table. On a real
 * device there are several over different pages, a power of two of them: with four times the largest cache between two uses of a
 * page no call finds its tokens in a cache. */
typedef struct mlaf_decode_data {
  mlaf_data head; /* first */
  mlaf_device *dev;
  mlaf_pool *pool;
  const atomic_bool *cancel;
  mlaf_problem problem;
  mlaf_execute_args args; /* with the first page table */
  unsigned char *tokens;  /* of an 8-bit cache: token_rows rows, of which row i of the cache is the i % token_rows'th; behind
                           * them as many of a tensor of rope columns */
  int64_t token_rows;     /* MLAF_DECODE_TOKENS; where scales lie behind a page's rows, whole pages of about as many */
  int32_t *lengths;       /* [batch] tokens of each request, on the host */
  int32_t *host;          /* tables: qo_indptr, kv_indptr, kv_last_page_lens, then kv_indices of each set */
  void *tables;           /* their copy on the device */
  MLA_DECODE_GIVEN(float *); /* numbers of optional tensors on the host; on the device they are where args says */
  size_t words;           /* of `host` */
  int values;             /* columns of the fused value projection; 0: there is none */
  int64_t pages;          /* of one set */
} mlaf_decode_data;

static inline const mlaf_decode_data *mlaf_decode_data_of(const mlaf_data *d) { return (const void *)d; }

/* --- data.c --- */
/* The token of an 8-bit cache that lies in a page of the pool. */
mlaf_stored_token mlaf_decode_data_token(const mlaf_decode_data *d, int64_t page, int64_t slot);
/* Elements of the pool's pattern where Q and W_UV begin. */
size_t mlaf_decode_q_first(const mlaf_problem *p);
size_t mlaf_decode_w_first(const mlaf_problem *p);
/* Elements of that pattern as Q of 8 bits. */
void mlaf_decode_q_codes(const mlaf_problem *p, const uint16_t *pattern, size_t count, unsigned char *out);

/* --- data.c, data_check.c --- */
MLAF_DATA_FUNCTIONS(mlaf_decode);
