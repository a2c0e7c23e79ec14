/* Shared by the whole-kernel tests: generate, compile and load a variant, and run it on one batch in host memory. */
#pragma once

#include "compile/compile.h"
#include "run/loaded.h"
#include "ops/mla_decode/testcase.h"
#include "gen/gen.h"

typedef struct rig {
  mlaf_device *dev;
  mlaf_gen *gen;
  mlaf_compiler *compiler;
} rig;

/* Emulator, embedded generator, compiler. */
void rig_open(rig *r);
void rig_close(rig *r);

mlaf_problem rig_problem(const char *text);

/* The candidates of a problem that differ in their decode kernel, in the space's order. */
typedef struct rig_candidates {
  mlaf_variant *all;
  size_t n_all;
  const mlaf_variant **distinct;
  size_t n;
} rig_candidates;
void rig_candidates_make(rig *r, const mlaf_problem *p, rig_candidates *out);
void rig_candidates_free(rig_candidates *c);

/* Compile the kernels of all these variants at once, over the worker pool: rig_load then finds them in the cache. */
void rig_compile(rig *r, const mlaf_variant *const *v, size_t n);

/* The code objects of a variant: decode, combine (bytes NULL: none). */
typedef struct rig_code {
  const mlaf_variant *variant;
  mlaf_kernel_ref refs[2];
  mlaf_code code[2];
} rig_code;
/* Compile both kernels, require scratch 0, no spills and the budgeted LDS. */
void rig_build(rig *r, const mlaf_variant *v, rig_code *out);
void rig_code_free(rig_code *c);
mlaf_status rig_open_code(rig *r, const mlaf_problem *p, const rig_code *c, mlaf_loaded **out, mlaf_err *err);
/* Both at once. */
mlaf_loaded *rig_load(rig *r, const mlaf_problem *p, const mlaf_variant *v);

typedef struct rig_output {
  uint16_t *o; /* [T, H, R] */
  float *lse;  /* [T, H] */
  size_t rows;
} rig_output;
/* Run on `x` with `splits` splits. x must be in a combined cache whose `ckv` has ckv_count elements. rig_run asserts success;
 * rig_try returns the launch's status and error. The output must be freed either way. */
mlaf_status rig_try(rig *r, const mlaf_loaded *l, const mlaf_testcase *t, uint32_t splits, rig_output *result, mlaf_err *fault);
rig_output rig_run(rig *r, const mlaf_loaded *l, const mlaf_testcase *t, uint32_t splits);
void rig_output_free(rig_output *o);

/* Relative Frobenius distance of a to b, both in the problem's 16-bit type. */
double rig_distance(const rig_output *a, const rig_output *b, const mlaf_problem *p);
