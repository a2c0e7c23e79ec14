/* The ladder: from a problem to a loaded variant, and where it came from. */
#ifndef MLAF_PLANNER_H
#define MLAF_PLANNER_H

#include "core/ctx.h"
#include "core/loaded.h"

typedef struct mlaf_planned {
  mlaf_loaded *loaded;
  mlaf_rung rung;
  const char *source; /* static text: of the choice's time, "none" off the database */
  char variant[256], tuned_for[MLAF_PROBLEM_TEXT_MAX], stale[160];
  char *notes;        /* rungs passed over, owned */
  int compiles;
  double ns, error;
} mlaf_planned;

/* The context's lock must be held. `p` has been checked. */
mlaf_status mlaf_planner_run(mlaf_ctx *ctx, const mlaf_problem *p, const mlaf_plan_opts *opts, mlaf_planned *out,
                             mlaf_err *err);

#endif
