/* Problems of mla_decode as structs, from their texts. */
#pragma once

#include "cmocka_all.h"
#include "ops/mla_decode/problem.h"

static inline mlaf_problem parsed(const char *text) {
  mlaf_problem p;
  char why[256] = "";
  if (mlaf_problem_parse(text, &p, why, sizeof why)) fail_msg("%s: %s", text, why);
  return p;
}
