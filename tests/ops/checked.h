/* The words of the checks of a launch's arguments: what tests/ops/OP/test_OP_args.c have alike. */
#pragma once

#include "cmocka_all.h"
#include "op/calls.h"

/* A problem, and threads and rows of its kernel's workgroups; a second kernel has a row of each. */
typedef struct args_kernel {
  const char *problem;
  uint32_t threads, rows;
} args_kernel;

static inline mlaf_status args_checked(const args_kernel *k, const void *args, mlaf_err *err) {
  mlaf_bound b = {.stage = {{.threads = k->threads, .rows_per_wg = k->rows}, {.threads = 1024, .rows_per_wg = 1}}};
  assert_int_equal(mlaf_point_parse(NULL, k->problem, &b.point, NULL, 0), MLAF_OK);
  *err = (mlaf_err){MLAF_OK, ""};
  return b.point.op->calls->check_args(&b, 1, args, err);
}

/* Good arguments with one change, in `a`, are refused for a kernel, and the message in `err` has the word. */
#define WRONG_OF(kernel, change, word)                                                          \
  do {                                                                                          \
    a = good();                                                                                 \
    change;                                                                                     \
    assert_int_equal(args_checked(kernel, &a, &err), MLAF_E_ARG);                               \
    if (!strstr(err.text, word)) fail_msg("'%s' does not name %s", err.text, word);             \
  } while (0)
#define WRONG(change, word) WRONG_OF(&of, change, word)
