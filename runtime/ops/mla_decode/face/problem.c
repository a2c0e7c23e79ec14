/* Problems as callers write them. */
#include "ops/mla_decode/problem.h"

mlaf_status mlaf_problem_check(mlaf_problem *p, char *why, size_t why_size) {
  if (!p) return MLAF_E_ARG;
  mlaf_problem checked;
  const uint32_t size = p->struct_size;
  mlaf_status st = mlaf_problem_take(p, &checked, why, why_size);
  if (st) return st;
  memcpy(p, &checked, size < sizeof checked ? size : sizeof checked);
  p->struct_size = size; /* the caller's struct may be longer than ours, or shorter */
  return MLAF_OK;
}

mlaf_status mlaf_problem_print(const mlaf_problem *p, char *out, size_t out_size) {
  mlaf_point at;
  if (!p) return MLAF_E_ARG;
  mlaf_problem_of_caller(p, &at);
  return mlaf_point_print(&at, out, out_size);
}

mlaf_status mlaf_problem_parse(const char *text, mlaf_problem *out, char *why, size_t why_size) {
  mlaf_point p;
  if (!out) return MLAF_E_ARG;
  mlaf_status st = mlaf_point_parse(&mlaf_op_mla_decode, text, &p, why, why_size);
  if (!st) *out = mlaf_problem_of(&p);
  return st;
}
