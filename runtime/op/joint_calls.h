/* Cases, data to time and work of joint kernels, beside op/joint.h. */
#pragma once

#include "op/joint.h"

/* --- joint_work.c --- */
/* The sum of the list's, less `on_chip` bytes that chained parts neither write nor read. */
mlaf_work mlaf_joint_work(const mlaf_point *p, double on_chip);

MLAF_CASE_FUNCTIONS(mlaf_joint); /* joint_case.c */
MLAF_DATA_FUNCTIONS(mlaf_joint); /* joint_data.c */

/* Those entries of an operation's `calls`. */
#define MLAF_JOINT_CALLS                                                                                                     \
  .check_stages = mlaf_joint_check_stages, .check_args = mlaf_joint_check_args, .prepare = mlaf_joint_prepare,                \
  MLAF_CASE_CALLS(mlaf_joint), MLAF_DATA_CALLS(mlaf_joint)
