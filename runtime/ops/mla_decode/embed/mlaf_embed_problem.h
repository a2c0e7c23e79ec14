/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* The problem as the library's files have it (mlaforge/problem.h). For programs: mlaf_embed_decode_problem. */
#ifndef MLAF_EMBED_PROBLEM_H
#define MLAF_EMBED_PROBLEM_H

#include "mlaf_embed_inside.h"
#include "mlaf_embed_mla_decode_fields.h"

#define MLAF_EMBED_MEMBER(name) int32_t name;
typedef struct mlaf_embed_problem {
  uint32_t struct_size;
  MLA_DECODE_MEMBERS(MLAF_EMBED_MEMBER)
} mlaf_embed_problem;
enum { MLAF_EMBED_PROBLEM_TEXT_MAX = 160, MLAF_EMBED_BF16 = 0, MLAF_EMBED_F16 = 1 };
typedef struct mlaf_embed_execute_args mlaf_embed_execute_args; /* mlaf_embed_mla_decode_args by its older name */

#endif
