/* A verification case of mla_gather_kv_b: inputs of a launch on the host, and its fp64 reference. */
#ifndef MLAF_GATHER_CASE_H
#define MLAF_GATHER_CASE_H

#include "ops/mla_gather_kv_b/gather.h"

#define GATHER_ULPS 0.51 /* of outputs: rounded once, to nearest */

enum { GATHER_MOST_REQUESTS = 64 };
typedef struct gather_spec {
  const char *name;
  int n;
  int32_t length[GATHER_MOST_REQUESTS], start[GATHER_MOST_REQUESTS];
  int32_t page_tokens;
  bool list;   /* pages in a list with table_indptr; else a table of rows */
  bool gaps;   /* between rows and pages of everything */
  bool joined; /* v behind k's columns; else apart */
  bool copies; /* of k_pe for each head */
  bool small;  /* fp8: the smallest codes */
  bool no_starts, scale_at, spare;
} gather_spec;

typedef struct gather_case {
  mlaf_case head; /* first */
  gather_spec spec;
  gather_shape s;
  int64_t tokens, spare_tokens; /* that there are; rows of the outputs, of which nobody writes the last ones */
  int64_t cache_row, cache_page, num_pages; /* bytes */
  int64_t table_stride, table_count;
  int64_t w_row, w_head, k_token, k_head, v_token, v_head, k_pe_token, k_pe_head; /* elements */
  int64_t kpe_row;                                                                /* bytes, of a split cache */
  int64_t rope_rows; /* of the table, which ends before the last position; 0: nothing turns */
  float *rope_table;
  unsigned char *cache, *kpe;
  int32_t *table, *indptr, *cu, *starts;
  uint16_t *w, *k, *v, *k_pe; /* k, v, k_pe: what is there before the launch */
  float scale;
  size_t cache_bytes, kpe_bytes, w_count, k_count, v_count, k_pe_count;
} gather_case;

mlaf_status gather_case_make(const mlaf_point *p, const gather_spec *spec, uint64_t seed, mlaf_inject inject, gather_case **out,
                             mlaf_err *err);
void gather_case_free(gather_case *c);
/* The row of the cache that token t of request r has; NULL: its page or position is outside. */
const unsigned char *gather_case_row(const gather_case *c, int r, int64_t t);
/* Returns where the rope columns of that row begin. */
const unsigned char *gather_case_rope(const gather_case *c, const unsigned char *row);

/* --- reference.c --- */
/* One byte of e4m3. */
double gather_e4m3(bool fnuz, uint8_t code);
/* A row of the cache as numbers: operands of the product as a kernel has them (rounded to the problem's type where they are
 * scaled first), and what is behind the product. `row` NULL: NaN; pe: its rope columns. */
void gather_decode_row(const gather_shape *s, const unsigned char *row, const unsigned char *pe, double *latent, double *rope,
                       double scale, double *behind);
/* Rotates rope columns as a problem with rope on read does, which rounds them to the problem's type first: by a row of the table,
 * NULL: NaN. slack: the error of fp32 before it rounds. */
void gather_turn(const gather_shape *s, const float *table, double *rope, double *slack);
/* Output `f` of [N+V] of a head: its value, and what fp32 may be off by before it rounds. w: the head's row f of W. */
double gather_output(const gather_shape *s, const uint16_t *w, const double *latent, double behind, double *slack);

/* --- compare.c --- */
int gather_case_buffers(const mlaf_case *c, const mlaf_bound *b, uint32_t knob, void *args,
                        mlaf_case_buffer out[MLAF_CASE_BUFFERS]);
bool gather_compare(const mlaf_case *c, void *const *outputs, mlaf_verify_result *out);
bool gather_same(const mlaf_case *c, void *const *a, void *const *b, mlaf_verify_result *out);

#endif
