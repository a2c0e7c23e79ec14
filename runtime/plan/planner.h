/* The ladder: from a problem to a loaded variant, and where it came from. */
#ifndef MLAF_PLANNER_H
#define MLAF_PLANNER_H

#include "plan/ctx.h"
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

/* Of plan options whose public flags were checked: kernels may read ahead (mlaf_plan_create_ahead). No caller's have it. */
enum { MLAF_PLAN_AHEAD = 1 << 30 };

/* The context's lock must be held. `p` has been checked. */
mlaf_status mlaf_planner_run(mlaf_ctx *ctx, const mlaf_point *p, const mlaf_plan_opts *opts, mlaf_planned *out,
                             mlaf_err *err);

/* The rung of the context's bundle: fills *out, or says in `err` why the bundle does not serve the problem (E_NOT_COMPILED) and
 * which command would change that. in_reach: not with what lies too far away (op/nearest.h). What is passed over on the
 * way (damaged files, too far) leaves a note. */
mlaf_status mlaf_planner_bundle(mlaf_ctx *ctx, const mlaf_point *p, bool in_reach, mlaf_planned *out, mlaf_text *notes,
                                mlaf_err *err);

#endif
