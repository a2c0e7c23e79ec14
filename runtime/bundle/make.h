/* Making a bundle: from a grid of problems to a directory of code objects, with no device. */
#pragma once

#include "bundle/bundle.h"
#include "compile/compile.h"
#include "db/db.h"
#include "gen/gen.h"

/* The problems of one target. */
typedef struct mlaf_bundle_request {
  const char *target;
  const mlaf_point *problems; /* checked, distinct */
  size_t n;
} mlaf_bundle_request;

/* Called on the calling thread; false stops the work with E_CANCELLED. Code objects made so far stay in the cache. */
typedef bool (*mlaf_bundle_progress_fn)(void *user, const char *activity, const char *target, size_t done, size_t total);

typedef struct mlaf_bundle_make_opts {
  const mlaf_bundle_request *requests;
  size_t n_requests;
  const char *gen_root;      /* as mlaf_gen_open's */
  mlaf_compiler *compiler;
  mlaf_db *db;               /* whose choices, and if layered those shipped behind it, are preferred to the model's; NULL: none */
  const char *device_id;     /* only this device's choices; NULL: every device of the target, measured ones first */
  int jobs;                  /* threads that ask the generator; compiles are the compiler's own */
  size_t size_budget;        /* bytes of code objects; 0: no limit */
  const mlaf_log *log;
  mlaf_bundle_progress_fn progress; /* may be NULL */
  void *user;
} mlaf_bundle_make_opts;

typedef struct mlaf_bundle_made {
  size_t kernels, plans, tuned, code_bytes, compiled, dropped, unverified;
  char hash[MLAF_HASH_HEX]; /* the manifest's */
} mlaf_bundle_made;

/* Make the bundle in `dir` (made if need be). Complete or not at all: the manifest is written last, and files of an earlier
 * bundle that the new one does not name are removed after that. Interrupted at any point, the same call completes to the same
 * bytes. Errors: E_ARG (a target without kernels, a budget below what the baselines take, two makers in one directory),
 * E_TEMPLATE, E_COMPILE, E_NO_COMPILER, E_IO, E_CANCELLED, E_NOMEM. */
mlaf_status mlaf_bundle_make(const mlaf_bundle_make_opts *opts, const char *dir, mlaf_bundle_made *out, mlaf_err *err);
