/* Points of mla_decode for tests that write its problems as structs. */
#pragma once

#include "ops/mla_decode/problem.h"

static inline mlaf_point point_of(const mlaf_problem *p) {
  mlaf_point at;
  mlaf_problem_point(p, &at);
  return at;
}

/* The same as a pointer, good for the next seven calls of a thread. */
static inline const mlaf_point *pt(const mlaf_problem *p) {
  static _Thread_local mlaf_point ring[8];
  static _Thread_local int n;
  mlaf_point *x = &ring[n++ % 8];
  *x = point_of(p);
  return x;
}
