/* A verification case of mla_dequant, and what must come out. */
#ifndef MLAF_DEQUANT_CASE_H
#define MLAF_DEQUANT_CASE_H

#include "ops/mla_dequant/dequant.h"

typedef struct dequant_spec {
  const char *name;
  bool gaps;                 /* between rows, of scales too */
  int64_t rows, row, column; /* w's place in the tensor that has the scales */
  bool wild;                 /* scales are of any size, some no numbers */
} dequant_spec;

typedef struct dequant_case {
  mlaf_case head; /* first */
  dequant_spec spec;
  dequant_shape s;
  mlaf_dequant_args a; /* without pointers */
  uint8_t *w;
  float *scales; /* those that no weight has are NaN */
  uint16_t *y;   /* what is there before the launch */
  size_t w_bytes, scale_count, y_count;
} dequant_case;

mlaf_status dequant_case_make(const mlaf_point *p, const dequant_spec *spec, uint64_t seed, mlaf_inject inject,
                              dequant_case **out, mlaf_err *err);
void dequant_case_free(dequant_case *c);

/* --- reference.c --- */
uint16_t dequant_reference(const dequant_shape *s, uint8_t w, float scale);
/* Whether y is it: any NaN is a NaN, either zero a zero. */
bool dequant_agrees(const dequant_shape *s, uint8_t w, float scale, uint16_t y);

/* --- compare.c --- */
int dequant_case_buffers(const mlaf_case *c, const mlaf_bound *b, uint32_t knob, void *args,
                         mlaf_case_buffer out[MLAF_CASE_BUFFERS]);
bool dequant_compare(const mlaf_case *c, void *const *outputs, mlaf_verify_result *out);
bool dequant_same(const mlaf_case *c, void *const *a, void *const *b, mlaf_verify_result *out);

#endif
