/* A verification case of mla_append: inputs of a launch, what its outputs hold before, and the fp64 reference of a row. */
#ifndef MLAF_APPEND_CASE_H
#define MLAF_APPEND_CASE_H

#include "ops/mla_append/append.h"

/* What a case is about; the rest is usual. */
typedef struct append_spec {
  const char *name;
  int64_t tokens;
  bool bad_slots; /* some tokens have none: -1, one behind the last, the largest number */
  bool apart;     /* pages lie apart, rows have gaps: inputs are slices, too */
  bool table_16;  /* cosines and sines of the problem's dtype */
  bool one_table; /* sines behind the cosines of a row */
  bool turned_out; /* the rotated columns go to tensors of their own, and there is no q_out; with one_table */
  bool extreme;   /* large, small and zero rows, some with an infinity; fp8 saturates; scales are powers of two, one scale lies on
                     the device */
  bool all_q;
} append_spec;

typedef struct append_case {
  mlaf_case head; /* first */
  append_spec spec;
  append_shape s;
  int64_t num_slots, table_rows;
  int32_t page_tokens; /* 0: pages follow each other */
  /* elements of 16 bits */
  int64_t ckv_stride, kpe_stride, q_nope_token, q_nope_head, q_pe_token, q_pe_head, q_out_token, q_out_head;
  int64_t table_stride; /* elements of the table */
  int64_t latent_row, latent_page, rope_row, rope_page; /* bytes */
  float eps, scale;
  int64_t *slots, *positions;
  uint16_t *ckv, *kpe, *weight, *q_nope, *q_pe;
  void *cos, *sin;
  /* as they are before the launch */
  unsigned char *cache, *cache_kpe;
  uint16_t *q_out, *kpe_out, *q_pe_out;
  size_t ckv_bytes, kpe_bytes, weight_bytes, q_nope_bytes, q_pe_bytes, table_bytes, cache_bytes, cache_kpe_bytes, q_out_bytes,
      kpe_out_bytes, q_pe_out_bytes;
} append_case;

mlaf_status append_case_make(const mlaf_point *p, const append_spec *spec, uint64_t seed, mlaf_inject inject, append_case **out,
                             mlaf_err *err);
void append_case_free(append_case *c);

/* Whether the token's slot is one of the cache. */
static inline bool append_case_live(const append_case *c, int64_t t) { return c->slots[t] >= 0 && c->slots[t] < c->num_slots; }
/* Where a slot's row begins. */
int64_t append_case_row(const append_case *c, int64_t slot, int64_t row, int64_t page);

/* --- reference.c: fp64 --- */
/* The latent row [R] as it is before it is cast or quantised, NaN where it has to be. */
void append_reference_latent(const append_shape *s, const uint16_t *row, const uint16_t *weight, double eps, double *out);
/* The rope columns [P] rotated by a table's row of cosines and sines (NULL: NaN); size: what sums went into each value, |x c| +
 * |y s|, by which fp32 may be off. */
void append_reference_rope(const append_shape *s, const uint16_t *row, const double *cos, const double *sin, double *out,
                           double *size);
/* A row of the table. */
void append_case_angles(const append_case *c, int64_t position, double *cos, double *sin);

/* --- compare.c --- */
/* Off by so many units in the last place: of 16-bit numbers, of e4m3, where an infinity is NaN. NaN for NaN is 0, else INFINITY.
 * size: as above. */
double append_off16(int dtype, uint16_t got, double want, double size);
double append_off8(bool fnuz, uint8_t got, double want, double size);
/* Columns of the latent from `first` on that have one stored scale; 0 and less: none. */
static inline int append_columns(const append_shape *s, int first) {
  return s->rank - first < s->format->group ? s->rank - first : s->format->group;
}
/* True if a tile's scale is right for its largest value; infinite for an infinite one. */
bool append_scale_fits(bool fnuz, bool power_of_two, double most, double got);
#define APPEND_ULPS 0.51 /* what outputs may be off: rounded to nearest, after fp32 */

int append_case_buffers(const mlaf_case *c, const mlaf_bound *b, uint32_t knob, void *args,
                        mlaf_case_buffer out[MLAF_CASE_BUFFERS]);
bool append_compare(const mlaf_case *c, void *const *outputs, mlaf_verify_result *out);
bool append_same(const mlaf_case *c, void *const *a, void *const *b, mlaf_verify_result *out);

#endif
