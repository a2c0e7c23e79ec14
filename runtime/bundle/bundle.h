/* A bundle: kernels made ahead for a declared grid of problems, in a directory of its own.
 *
 *   manifest.tsv        what is in it; sorted text whose last line is the SHA-256 of all lines before it
 *   code/<sha256>.co    one file per distinct code object, named by its content
 *
 * Its bytes are a function of the command that made it, the generator and the compiler: no dates, hosts or paths. Reading one
 * needs neither Lua nor SQLite nor a compiler. Nothing read from it is used unless its hash agrees, so that a torn, truncated or
 * altered file costs a plan, never a wrong result. */
#pragma once

#include "base/base.h"
#include "device/kernel_launch.h"
#include "op/offer.h"

#define MLAF_BUNDLE_MANIFEST "manifest.tsv"
#define MLAF_BUNDLE_HEADER "# mlaforge bundle 4\n"
#define MLAF_BUNDLE_HEADER_3 "# mlaforge bundle 3\n" /* read, too: each of its plans names two kernels, "-" for none */

/* One code object and how to launch it. Texts live as long as the bundle. */
typedef struct mlaf_bundle_kernel {
  const char *target, *symbol;
  const char *sha256; /* of the code object, and its file's name */
  size_t size;        /* bytes */
  uint32_t threads, rows_per_wg;
  uint32_t step, slots; /* for fitting splits: op/nearest.h */
  uint32_t flags;       /* of its K_launch: device/kernel_launch.h */
  const char *template_name, *params, *template_hash, *src_hash;
  const char *key;    /* the code-object cache's, which `cache seed` stores it under */
  /* "verified": a device agreed with the reference when it was tuned; "unverified": it has only been compiled */
  const char *tested;
} mlaf_bundle_kernel;

/* One problem of the grid and what serves it. */
typedef struct mlaf_bundle_plan {
  const char *target, *text; /* text: the problem string */
  mlaf_point problem;
  bool baseline;             /* the variant that always works, behind the choice */
  const char *rung, *source; /* "exact", "nearest", "default", "model", "baseline"; of the time */
  const char *variant;
  uint32_t knob;
  double ns, error;
  const mlaf_bundle_kernel *kernels[MLAF_STAGES_MAX]; /* by stage; NULL: the plan does without */
} mlaf_bundle_plan;

typedef struct mlaf_bundle_target {
  const char *name, *compiler;
} mlaf_bundle_target;

/* Immutable once open; any thread may read it. */
typedef struct mlaf_bundle {
  char *dir, *text; /* owned; text is the manifest, cut into its fields */
  char hash[MLAF_HASH_HEX]; /* the manifest's: the bundle's identity */
  const char *generator; /* stamp of the generator that made it */
  mlaf_bundle_target *targets;
  mlaf_bundle_kernel *kernels;
  mlaf_bundle_plan *plans;
  size_t n_targets, n_kernels, n_plans, n_dropped;
} mlaf_bundle;

/* E_IO: no such folder, no manifest, or one that does not agree with its hash; the detail says which, and what to do. */
mlaf_status mlaf_bundle_open(const char *dir, mlaf_bundle **out, mlaf_err *err);
void mlaf_bundle_close(mlaf_bundle *b); /* NULL is allowed */

/* The code object of a kernel in malloc'ed memory (k->size bytes), after its hash was compared. E_IO names the file. */
mlaf_status mlaf_bundle_code(const mlaf_bundle *b, const mlaf_bundle_kernel *k, void **code, mlaf_err *err);
bool mlaf_bundle_has_target(const mlaf_bundle *b, const char *target);
/* The kernel of that name, which need not be a plan's (a second form's, op/calls.h); NULL: none. */
const mlaf_bundle_kernel *mlaf_bundle_kernel_of(const mlaf_bundle *b, const char *target, const char *symbol);
/* The plans that can execute `p` on `target` (all fields but the sizes agree) as offers, best first (op/offer.h): each offer's
 * `of` is its plan. *list is malloc'ed, NULL when *n is 0. E_NOMEM. */
mlaf_status mlaf_bundle_rank(const mlaf_bundle *b, const char *target, const mlaf_point *p, mlaf_offer **list, size_t *n,
                             mlaf_err *err);
/* The plan of list[i] as it serves p (mlaf_offer_fit). */
typedef struct mlaf_bundle_fitted {
  uint32_t knob; /* the splits */
  const mlaf_bundle_kernel *kernels[MLAF_STAGES_MAX];
  char variant[256];                 /* the name that rebuilds it */
} mlaf_bundle_fitted;
void mlaf_bundle_fit(const mlaf_offer *list, size_t n, size_t i, const mlaf_point *p, mlaf_bundle_fitted *out);
