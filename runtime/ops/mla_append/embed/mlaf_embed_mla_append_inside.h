/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* For kernels of other operations whose blocks append rows beside their own work (mla_q_b). Nothing here is for programs. */
#ifndef MLAF_EMBED_MLA_APPEND_INSIDE_H
#define MLAF_EMBED_MLA_APPEND_INSIDE_H

#include "mlaf_embed_mla_append.h"

enum { MLAF_EMBED_APPEND_BLOCK = 296 };

/* Check arguments as for a launch of blocks of so many threads, and make a kernel's MLAF_EMBED_APPEND_BLOCK bytes of parameters
 * of them. 0 tokens: all 0. */
mlaf_embed_status mlaf_embed_append_fill(const mlaf_embed_append_problem *problem, uint32_t threads, uint32_t wave,
                                         const mlaf_embed_append_args *args, void *block, char *why, size_t why_size);

#endif
