/* mla_q_b inside: a projection, which other problems may follow in one launch (op/joint.h). */
#pragma once

#include "op/joint.h"
#include "op/projection_calls.h"
#include "ops/mla_q_b/fields.h"

/* The operation's functions, and those of the product alone; what may follow it. */
extern const mlaf_calls q_b_calls, q_b_alone;
extern const mlaf_args_table q_b_arguments;
enum { Q_B_APPEND, Q_B_ABSORB };
enum { Q_B_PRODUCT_BUFFERS = 10, Q_B_APPEND_BUFFERS = 15 }; /* most buffers of their cases */
extern const mlaf_joint q_b_joint;
