/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* Launches of mla_q_b: of the product alone, and where the problem says so with what other operations do in the same launch. */
#ifndef MLAF_EMBED_MLA_Q_B_LAUNCH_H
#define MLAF_EMBED_MLA_Q_B_LAUNCH_H

#include "mlaf_embed_mla_append.h"
#include "mlaf_embed_mla_q_b.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Launch on `stream` (hipStream_t or CUstream; NULL: the default stream) and return without waiting. Never allocates, locks or
 * synchronises: legal inside graph capture. A plan of a problem that appends appends nothing by this one. */
mlaf_embed_status mlaf_embed_q_b_execute(const mlaf_embed_plan *plan, const mlaf_embed_projection_args *args, void *stream,
                                         char *why, size_t why_size);
/* Launches mla_q_b where the problem appends (append is not 0): a fused epilogue does what a launch of mla_append without query
 * rows does. append's tokens are apart from the product's, which are more than 0; its ckv and kpe are what the launch before
 * wrote, and not y; q_nope, q_pe, q_out and q_pe_out are NULL. */
mlaf_embed_status mlaf_embed_q_b_append_execute(const mlaf_embed_plan *plan, const mlaf_embed_projection_args *args,
                                                const mlaf_embed_append_args *append, void *stream, char *why, size_t why_size);
/* Launches mla_q_b where the problem absorbs as well (absorb is not 0): y is NULL, and query heads go to absorb's y, by its w.
 * Its x is NULL, its tokens are the product's. */
mlaf_embed_status mlaf_embed_q_b_absorb_execute(const mlaf_embed_plan *plan, const mlaf_embed_projection_args *args,
                                                const mlaf_embed_append_args *append, const mlaf_embed_projection_args *absorb,
                                                void *stream, char *why, size_t why_size);

#ifdef __cplusplus
}
#endif
#endif
