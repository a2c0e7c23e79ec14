/* mla_q_b inside: a projection, which other problems may follow in one launch (op/joint.h). */
#ifndef MLAF_Q_B_H
#define MLAF_Q_B_H

#include "op/joint.h"
#include "op/projection.h"
#include "ops/mla_q_b/fields.h"

mlaf_product q_b_product(const mlaf_point *p);
/* The operation's functions; those of the product alone, and what may follow it. */
extern const mlaf_projection q_b_projection, q_b_alone;
enum { Q_B_APPEND, Q_B_ABSORB };
enum { Q_B_PRODUCT_BUFFERS = 10, Q_B_APPEND_BUFFERS = 15 }; /* most buffers of their cases */
extern const mlaf_joint q_b_joint;

#endif
