/* mla_q_b inside: a projection, and beside it, where the problem says so, what mla_append does; behind it, where it says that,
 * too, what mla_q_absorb does. Those operations are known by their records alone: their checks, argument blocks, cases and data
 * are asked of their tables (op/calls.h). */
#ifndef MLAF_Q_B_H
#define MLAF_Q_B_H

#include "op/projection.h"
#include "ops/mla_q_b/fields.h"

extern const mlaf_projection q_b_projection;
mlaf_product q_b_product(const mlaf_point *p);

static inline bool q_b_appends(const mlaf_point *p) { return p->v[MLA_Q_B_APPEND]; }
/* What is appended, as a problem of mla_append. */
mlaf_point q_b_append_point(const mlaf_point *p);
/* The same as a variant: the product's kernel, whose warps take a token each. */
mlaf_bound q_b_append_bound(const mlaf_bound *b);

static inline bool q_b_absorbs(const mlaf_point *p) { return p->v[MLA_Q_B_ABSORB]; }
/* The tensor of a map that such a kernel wants beside a projection's: W_UK. */
enum { Q_B_MAP_W_UK = MLAF_PROJECTION_MAPS + 1 };
/* Where queries go, as a problem of mla_q_absorb; and as a variant. The product before it alone. */
mlaf_point q_b_absorb_point(const mlaf_point *p);
mlaf_bound q_b_absorb_bound(const mlaf_bound *b);
mlaf_bound q_b_product_bound(const mlaf_bound *b);

/* --- absorb.c --- */
uint32_t q_b_absorb_bytes(uint32_t before, const mlaf_kernel_launch *launch);
mlaf_status q_b_check_absorb_stage(const mlaf_bound *b, mlaf_err *err);
/* The product's checks, too; `product`: its arguments as they are checked. */
mlaf_status q_b_check_absorb(const mlaf_bound *b, const mlaf_q_b_args *a, mlaf_projection_args *product, mlaf_err *err);
/* Arguments behind the first `before` bytes. */
mlaf_status q_b_prepare_absorb(const mlaf_bound *b, const mlaf_q_b_args *a, uint32_t before, mlaf_prepared *out, mlaf_err *err);

/* --- append.c --- */
uint32_t q_b_parameter_bytes(int stage, const mlaf_kernel_launch *launch);
mlaf_status q_b_check_stages(const mlaf_bound *b, mlaf_err *err);
mlaf_status q_b_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err);
mlaf_status q_b_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err);

#endif
