/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* Launches of mla_q_b, and the operations that it knows by name. */
#include "mlaf_embed_mla_q_b_launch.h"

#include "mlaf_embed_inside.h"
#include "mlaf_embed_mla_q_b_q_b.h"

extern const mlaf_embed_op mlaf_embed_op_mla_q_b, mlaf_embed_op_mla_append, mlaf_embed_op_mla_q_absorb;

const mlaf_embed_calls mlaf_embed_q_b_calls = {
    .args_size = sizeof(mlaf_embed_q_b_args),
    .arguments = &mlaf_embed_q_b_arguments,
    .check_stages = mlaf_embed_joint_check_stages,
    .check_args = mlaf_embed_joint_check_args,
    .workspace = mlaf_embed_projection_workspace,
    .prepare = mlaf_embed_joint_prepare,
};

const mlaf_embed_op *mlaf_embed_op_of(const char *text) {
  const mlaf_embed_op *const all[] = {&mlaf_embed_op_mla_append, &mlaf_embed_op_mla_q_absorb};
  for (int i = 0; i < 2; i++)
    if (!strncmp(text, all[i]->name, strlen(all[i]->name))) return all[i];
  return NULL;
}

mlaf_embed_status mlaf_embed_q_b_absorb_execute(const mlaf_embed_plan *x, const mlaf_embed_projection_args *a,
                                                const mlaf_embed_append_args *append, const mlaf_embed_projection_args *absorb,
                                                void *stream, char *why, size_t size) {
  mlaf_embed_q_b_args all = MLAF_EMBED_Q_B_ARGS_INIT;
  const bool whole = a && append && absorb;
  if (whole) all.projection = *a, all.append = *append, all.absorb = *absorb;
  return mlaf_embed_run(x, &mlaf_embed_op_mla_q_b, whole ? &all : NULL, stream, why, size);
}

mlaf_embed_status mlaf_embed_q_b_append_execute(const mlaf_embed_plan *x, const mlaf_embed_projection_args *a,
                                                const mlaf_embed_append_args *append, void *stream, char *why, size_t size) {
  const mlaf_embed_projection_args none = MLAF_EMBED_PROJECTION_ARGS_INIT;
  return mlaf_embed_q_b_absorb_execute(x, a, append, &none, stream, why, size);
}

mlaf_embed_status mlaf_embed_q_b_execute(const mlaf_embed_plan *x, const mlaf_embed_projection_args *a, void *stream, char *why,
                                         size_t size) {
  const mlaf_embed_append_args none = MLAF_EMBED_APPEND_ARGS_INIT;
  return mlaf_embed_q_b_append_execute(x, a, &none, stream, why, size);
}
