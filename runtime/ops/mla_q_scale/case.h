/* A verification case of mla_q_scale, and its fp64 reference. */
#ifndef MLAF_Q_SCALE_CASE_H
#define MLAF_Q_SCALE_CASE_H

#include "ops/mla_q_scale/scale.h"

#define Q_SCALE_ULPS 0.51 /* rounded once, to nearest */

/* Where queries lie on the host; strides in elements. */
typedef struct q_scale_place {
  uint16_t *q;
  int64_t token, head;
  size_t count;
} q_scale_place;

typedef struct q_scale_spec {
  const char *name;
  int64_t tokens;
  bool gaps;     /* between rows; those of x and y differ */
  bool in_place;
  bool wild;     /* some positions are below 0, or beyond 2^31-1 */
  float beta;
  int32_t original;
} q_scale_spec;

typedef struct q_scale_case {
  mlaf_case head; /* first */
  q_scale_spec spec;
  q_scale_shape s;
  q_scale_place x, y; /* y: what is there before the launch. None in place */
  int64_t *positions;
} q_scale_case;

mlaf_status q_scale_case_make(const mlaf_point *p, const q_scale_spec *spec, uint64_t seed, mlaf_inject inject,
                              q_scale_case **out, mlaf_err *err);
void q_scale_case_free(q_scale_case *c);

/* --- reference.c --- */
typedef struct q_scale_factor {
  double value, slack; /* slack: what an implementation in fp32 may be off by; 0 where it is 1 */
} q_scale_factor;
q_scale_factor q_scale_reference(int64_t position, float beta, int32_t original);
/* How far a row is off in units of the last place, and where most. Times 1 it keeps its bits. */
double q_scale_row_off(const q_scale_shape *s, q_scale_factor by, const uint16_t *x, const uint16_t *got, int *column);

/* --- compare.c --- */
int q_scale_case_buffers(const mlaf_case *c, const mlaf_bound *b, uint32_t knob, void *args,
                         mlaf_case_buffer out[MLAF_CASE_BUFFERS]);
bool q_scale_compare(const mlaf_case *c, void *const *outputs, mlaf_verify_result *out);
bool q_scale_same(const mlaf_case *c, void *const *a, void *const *b, mlaf_verify_result *out);

#endif
