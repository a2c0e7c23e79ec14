/* A verification case of mla_merge, and its fp64 reference. */
#ifndef MLAF_MERGE_CASE_H
#define MLAF_MERGE_CASE_H

#include "ops/mla_merge/merge.h"

#define MERGE_ULPS 0.51 /* of o: rounded once, to nearest */

/* Where O and its sums lie on the host; strides in elements. */
typedef struct merge_place {
  uint16_t *o;
  float *lse;
  int64_t token, head, lse_token, lse_head;
  size_t o_count, lse_count;
} merge_place;

typedef enum merge_into { MERGE_APART, MERGE_PREFIX } merge_into;

typedef struct merge_spec {
  const char *name;
  int64_t tokens;
  bool gaps;         /* between rows; the two parts' differ */
  bool lse_by_token; /* [T, H] of the suffix and the result */
  bool base_2, empty; /* empty: a third of the rows of either part */
  bool spare;
  merge_into into;
  double far; /* how far apart the two logs are, standard deviation */
} merge_spec;

typedef struct merge_case {
  mlaf_case head; /* first */
  merge_spec spec;
  merge_shape s;
  merge_place prefix, suffix, result; /* result: what is there before the launch. None of MERGE_PREFIX */
} merge_case;

mlaf_status merge_case_make(const mlaf_point *p, const merge_spec *spec, uint64_t seed, mlaf_inject inject, merge_case **out,
                            mlaf_err *err);
void merge_case_free(merge_case *c);

/* --- reference.c --- */
/* A row in fp64: o, and what an implementation in fp32 may be off by before it rounds. */
typedef struct merge_row {
  double lse, lse_slack, o[MLA_MERGE_VDIM_MAX], slack[MLA_MERGE_VDIM_MAX];
} merge_row;
void merge_reference(const merge_shape *s, const uint16_t *prefix, float prefix_lse, const uint16_t *suffix, float suffix_lse,
                     bool base_2, merge_row *out);
/* How far a row is off in units of the last place, and where most. */
double merge_row_off(const merge_shape *s, const merge_row *want, const uint16_t *got, int *column);
/* The same of its sum over its bound; above 1 is wrong. */
double merge_lse_ratio(const merge_row *want, float got);

/* --- compare.c --- */
int merge_case_buffers(const mlaf_case *c, const mlaf_bound *b, uint32_t knob, void *args,
                       mlaf_case_buffer out[MLAF_CASE_BUFFERS]);
bool merge_compare(const mlaf_case *c, void *const *outputs, mlaf_verify_result *out);
bool merge_same(const mlaf_case *c, void *const *a, void *const *b, mlaf_verify_result *out);

#endif
