/* Shared by the public functions that take a mlaf_problem. */
#pragma once

#include "mlaforge/problem.h"
#include "plan/plan.h"

/* The checked point of a caller's struct. `function` names what was called; a failure is reported. */
mlaf_status mlaf_decode_take(mlaf_ctx *ctx, const char *function, const mlaf_problem *problem, mlaf_point *out);
