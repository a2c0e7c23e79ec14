/* The ladder: from a problem to a loaded variant, and where it came from. */
#pragma once

#include "plan/ctx.h"
#include "run/build.h"
#include "run/loaded.h"

typedef struct mlaf_planned {
  mlaf_loaded *loaded;
  mlaf_rung rung;
  const char *source; /* static text: of the choice's time, "none" off the database */
  char variant[256], tuned_for[MLAF_POINT_TEXT_MAX], stale[160];
  char lengths[64]; /* of the requests a choice was timed with */
  mlaf_kernel_ref first; /* its first kernel; no template_name: out of a bundle */
  char *notes;        /* rungs passed over, owned */
  int compiles;
  bool bundled; /* its code came from the context's bundle */
  double ns, error;
} mlaf_planned;

/* The context's lock must be held. `p` and the options have been checked; `inside` may be NULL. */
mlaf_status mlaf_planner_run(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_plan_opts *opts, const mlaf_plan_inside *inside,
                             mlaf_planned *out, mlaf_err *err);

/* A kernel that plans would have compiled: a build that has this one stage alone, with its source. */
typedef struct mlaf_missing_kernel {
  mlaf_build build;
  int stage;
  const mlaf_calls *calls; /* of its operation */
} mlaf_missing_kernel;
/* Each once. Several planners may add to one list at a time. */
typedef struct mlaf_missing_kernels {
  pthread_mutex_t lock;
  mlaf_missing_kernel *list;
  size_t n;
  char (*seen)[64]; /* symbols of kernels that were looked at */
  size_t n_seen;
} mlaf_missing_kernels;
void mlaf_missing_kernels_init(mlaf_missing_kernels *w);
void mlaf_missing_kernels_clear(mlaf_missing_kernels *w);
/* True if all kernels of a build were looked at before; marks them as looked at. Many plans are one kernel with other knobs. */
bool mlaf_missing_kernels_seen(mlaf_missing_kernels *w, const mlaf_build *b);
/* The kernels of a build whose sources are there. Takes these over. */
void mlaf_missing_kernels_add(mlaf_missing_kernels *w, mlaf_build *b, const mlaf_calls *calls);
/* Adds what mlaf_planner_run would compile, and neither compiles nor loads. What it cannot tell is left out. Not of a context
 * with a bundle. The context's lock must be held. */
void mlaf_planner_find_missing(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_plan_opts *opts, const mlaf_plan_inside *inside,
                              mlaf_missing_kernels *missing);

/* The rung of the context's bundle: fills *out, or says in `err` why the bundle does not serve the problem (E_NOT_COMPILED) and
 * which command would change that. in_reach: not with what lies too far away (op/nearest.h). What is passed over on the
 * way (damaged files, too far) leaves a note. */
mlaf_status mlaf_planner_bundle(mlaf_ctx *ctx, const mlaf_point *p, bool in_reach, mlaf_planned *out, mlaf_text *notes,
                                mlaf_err *err);
