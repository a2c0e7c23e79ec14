/* Inside a context: for the planner, the tuner and the command line, which live in the same library. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "bundle/bundle.h"
#include "compile/compile.h"
#include "run/hashes.h"
#include "plan/recent.h"
#include "plan/registry.h"
#include "plan/workspaces.h"
#include "db/db.h"
#include "device/device.h"
#include "gen/gen.h"
#include "mlaforge/plan.h"

/* A kernel of a further form of an operation's arguments (plan/second_kernel.h). */
enum { MLAF_SECOND_KERNELS = 8 };
typedef struct mlaf_second_loaded {
  const struct mlaf_kernel_ref *kernel;
  mlaf_module *module; /* NULL until a plan wants it */
  _Atomic(mlaf_function *) fn;
} mlaf_second_loaded;

/* The part of a context that plans keep: the device, the place messages go to, the streams' workspaces. Freed with its last
 * reference. */
typedef struct mlaf_shared {
  atomic_int refs;
  mlaf_device *dev;
  pthread_mutex_t message_lock;
  mlaf_err message; /* the latest failure */
  mlaf_second_loaded second[MLAF_SECOND_KERNELS]; /* filled in order */
  mlaf_workspaces workspaces;
} mlaf_shared;
void mlaf_shared_release(mlaf_shared *base);
/* Keep a failure for mlaf_ctx_last_message; returns err->status. */
mlaf_status mlaf_shared_report(mlaf_shared *base, const mlaf_err *err);

struct mlaf_ctx {
  mlaf_shared *shared;
  mlaf_log log;
  uint32_t flags;
  char *gen_root;
  mlaf_bundle *bundle; /* NULL: none. Immutable */
  mlaf_registry registry;
  atomic_bool warm; /* mlaf_warm_up was called: a plan made later is news */
  /* Everything below belongs to whoever holds the lock. */
  pthread_mutex_t lock;
  mlaf_db *db;         /* NULL: none; with db_why not OK: the site's and the shipped choices alone */
  mlaf_err db_why;
  mlaf_compiler *compiler;
  mlaf_gen *gen;       /* NULL until first needed */
  mlaf_hashes hashes;  /* template hashes known without Lua */
  mlaf_recent recent;
  bool loads_ahead; /* $MLAF_LOAD_AHEAD */
};

static inline mlaf_device *mlaf_ctx_device(const mlaf_ctx *ctx) { return ctx->shared->dev; }
/* True where a plan was not made for forms of arguments that these flags stand for, and the context has no kernels of theirs.
 * From then on the plan takes forms that it has kernels for. */
bool mlaf_plan_lacks_second(mlaf_plan *plan, uint32_t flags);
/* Makes the kernels that the flags of MLAF_PLAN_FORMS ask for, beside a plan that is there. Takes the lock. */
mlaf_status mlaf_plan_want_second(mlaf_ctx *ctx, mlaf_plan *plan, const mlaf_plan_opts *opts);
/* The generator, opened on first use. The lock must be held. */
mlaf_status mlaf_ctx_gen(mlaf_ctx *ctx, mlaf_gen **out, mlaf_err *err);
/* The compiler's identity, NULL (and no error) when no compiler is installed: then staleness is not judged. */
const char *mlaf_ctx_toolchain(mlaf_ctx *ctx);
