/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* The table of functions that the projections share, in place of the library's op/projection_calls.h. */
#ifndef MLAF_EMBED_OP_PROJECTION_CALLS_H
#define MLAF_EMBED_OP_PROJECTION_CALLS_H

#include "mlaf_embed_op_projection.h"

#define MLAF_EMBED_PROJECTION(table, dtype)                                                               \
  {                                                                                                       \
    .arguments = table, .n_mapped = MLAF_EMBED_PROJECTION_MAPS,                                           \
    .parameter_bytes = mlaf_embed_projection_parameter_bytes,                                             \
    .check_stages = mlaf_embed_projection_check_stages, .check_args = mlaf_embed_projection_check_args,   \
    .workspace = mlaf_embed_projection_workspace, .prepare = mlaf_embed_projection_prepare                \
  }

#endif
