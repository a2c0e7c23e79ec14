/* The cases that an operation verifies its variants with, as verify sees them: inputs and answers are the operation's own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Data that breaks a rule on purpose. LONG_Q: of operations whose calls say long_q. */
typedef enum mlaf_inject { MLAF_INJECT_NONE, MLAF_INJECT_NAN_Q, MLAF_INJECT_OOB_PAGE, MLAF_INJECT_LONG_Q } mlaf_inject;

/* The head of an operation's case. */
typedef struct mlaf_case {
  const char *name;
  uint32_t knob_most; /* launched with the variant's knob, but no more than this; 0: as it is */
  bool spare;         /* the second of its two runs does without optional outputs */
} mlaf_case;

/* A buffer of a launch. */
typedef enum mlaf_use {
  MLAF_USE_NONE, /* this case has none */
  MLAF_USE_INPUT, MLAF_USE_OUTPUT, MLAF_USE_OPTIONAL_OUTPUT, MLAF_USE_WORKSPACE,
  MLAF_USE_INOUT /* holds `input` before the launch, and is an output: what must not change in it, the operation compares */
} mlaf_use;
typedef struct mlaf_case_buffer {
  const char *name;
  mlaf_use use;
  size_t bytes;
  size_t arg;        /* where in the struct of arguments its address goes */
  const void *input; /* host contents, which of MLAF_USE_INPUT must not change */
} mlaf_case_buffer;
enum { MLAF_CASE_BUFFERS = 36 };
