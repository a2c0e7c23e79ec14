/* Between choose.c (which variants), make.c (their code) and write.c (what fits, and the files). */
#pragma once

#include "bundle/make.h"
#include "run/resources.h"

enum { MAKE_TRIES = 4, NO_KERNEL = -1 }; /* choices tried before the baseline */

typedef enum make_state { MAKE_NEW, MAKE_OK, MAKE_BAD } make_state;

/* A distinct kernel of a target. */
typedef struct make_kernel {
  mlaf_kernel_ref ref; /* src_hash and code_key are set when it is compiled */
  make_state state;
  char *source;
  void *code;
  uint32_t step, slots; /* op/nearest.h */
  mlaf_kernel_launch launch; /* what its code says of it, once it is compiled */
  size_t size;
  char sha256[MLAF_HASH_HEX];
  bool verified, used, baseline; /* used: by a plan of the bundle; baseline: by one's fallback, so it is never dropped */
  const char *always; /* what it is, where it is no plan's and every bundle has it; a baseline, too. NULL: a plan's */
  const mlaf_op *op;
  int stage;   /* of the operation, unless always */
  mlaf_budget budget;
} make_kernel;

/* A variant that may serve a problem. */
typedef struct make_choice {
  char *variant;
  mlaf_rung rung;
  mlaf_source source; /* MLAF_SRC_COUNT: none */
  uint32_t knob;
  double ns, error;
  int kernels[MLAF_STAGES_MAX]; /* by stage: index into the target's kernels, NO_KERNEL */
} make_choice;

typedef struct make_entry {
  mlaf_point problem;
  make_choice tries[MAKE_TRIES], baseline;
  int n, at; /* tries[at] is the one in force; at == n: the baseline serves alone */
} make_entry;

typedef struct make_target {
  const mlaf_bundle_request *request;
  make_entry *entries;
  make_kernel *kernels;
  size_t n_kernels;
  const char *compiler; /* its identity */
  struct make_drop { int kernel; size_t plans; double gain; } *drops;
  size_t n_drops;
} make_target;

typedef struct maker {
  const mlaf_bundle_make_opts *opts;
  mlaf_gen *gen;
  char stamp[MLAF_HASH_HEX];
  make_target *targets;
} maker;

/* Fill the entries and the kernels' references; nothing is rendered yet. */
mlaf_status make_choose(maker *m, make_target *t, mlaf_err *err);
/* The choice in force: the entry's best that compiled, or its baseline. */
static inline const make_choice *make_in_force(const make_entry *e) { return e->at < e->n ? &e->tries[e->at] : &e->baseline; }
/* Mark what is used; drop the least valuable kernels until the budget is kept. E_ARG when the baselines alone exceed it. */
mlaf_status make_fit(maker *m, mlaf_err *err);
/* Code objects, manifest, and then away with what the manifest does not name. */
mlaf_status make_write(maker *m, const char *dir, mlaf_bundle_made *out, mlaf_err *err);
