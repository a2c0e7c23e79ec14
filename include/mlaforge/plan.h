/* The plan: one problem bound to loaded kernels on one device, and its execution. */
#ifndef MLAFORGE_PLAN_H
#define MLAFORGE_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "mlaforge/context.h"

/* Opaque, immutable, reference-counted. Thread-safe: any number of threads may execute one plan at once, each with its
 * own outputs, and its own workspace or none (mlaf_run). */
typedef struct mlaf_plan mlaf_plan;

typedef enum mlaf_effort {
  MLAF_EFFORT_DB_ONLY = 0, /* a choice from the database, exact or nearest; else E_NOT_TUNED */
  MLAF_EFFORT_ESTIMATE,    /* else the generator's model, else the baseline variant: always yields a plan */
  MLAF_EFFORT_MEASURE,     /* tune here first unless an exact, fresh choice is known; may take minutes */
} mlaf_effort;

enum {
  MLAF_PLAN_NO_COMPILE = 1u << 0, /* code objects come from the cache or the call fails with E_NOT_COMPILED */
  MLAF_PLAN_TABLES = 1u << 1,     /* the kernel that reads block tables, and pages with a stride, is made with the plan */
  MLAF_PLAN_LISTS = 1u << 4,      /* the kernels that read index lists and apply attention sinks are made with the plan */
  MLAF_PLAN_POOLS = 1u << 5,      /* the kernels that read index lists of two pools and apply attention sinks are made, too */
  MLAF_PLAN_LIBRARY = 1u << 2,    /* what was tuned may be a vendor's GEMM library's product (cuBLASLt, hipBLASLt), which may want
                                   * workspace; so may kernels of ours that norm mla_q_b's input apart. Without it the best of the
                                   * other kernels that were timed serves */
  MLAF_PLAN_BATCH_INVARIANT = 1u << 3, /* what is computed of a request has the same bits alone and in any batch, at any place in
                                   * it: docs/batch-invariance.md. One variant for all batches of a shape, which no tuning, no
                                   * bundle and no library takes part in. E_NOT_TUNED where an operation has none */
};

typedef struct mlaf_plan_opts {
  uint32_t struct_size; /* sizeof(mlaf_plan_opts), set by MLAF_PLAN_OPTS_INIT */
  uint32_t flags;       /* MLAF_PLAN_* */
  int32_t effort;       /* mlaf_effort */
  int32_t reserved;     /* must be 0 */
  double time_limit_s;  /* MEASURE: stop tuning after this long and use the best so far (a lower rung if nothing was
                        * finished by then); 0 = no limit */
  const char *lengths;  /* how many cached tokens the requests will have, as mlaf_tune_opts says it ("uniform",
                        * "normal:1,0.5"): what was tuned here with such requests for this very problem goes first; MEASURE
                        * tunes with them. NULL: no preference. Bundles know nothing of lengths (docs/tuning.md) */
} mlaf_plan_opts;

#define MLAF_PLAN_OPTS_INIT \
  { sizeof(mlaf_plan_opts), 0, MLAF_EFFORT_ESTIMATE, 0, 0.0, NULL }

/* Makes the context plan anew what its registry had planned: after tuning (which calls it, as mlaf_tuning_import does).
 * Thread-safe. */
MLAF_API void mlaf_plan_forget(mlaf_ctx *ctx);
/* --- before the first request --- */

/* The problems that may come: those of one shape with batch and cached tokens in these ranges. */
typedef struct mlaf_warm_up_opts {
  uint32_t struct_size; /* sizeof(mlaf_warm_up_opts), set by MLAF_WARM_UP_INIT */
  int32_t batch_min, batch_max; /* 0: the shape's batch */
  int32_t ctx_min, ctx_max;     /* 0: the shape's ctx */
  uint32_t flags;               /* must be 0 */
  const mlaf_plan_opts *plan;   /* as later calls will get them; NULL: MLAF_PLAN_OPTS_INIT */
} mlaf_warm_up_opts;
#define MLAF_WARM_UP_INIT \
  { sizeof(mlaf_warm_up_opts), 0, 0, 0, 0, 0, NULL }
typedef struct mlaf_warm_up_result {
  uint32_t struct_size;   /* in: sizeof(mlaf_warm_up_result); only that many bytes are written */
  int32_t plans, kernels; /* that serve the ranges; different texts among their kernels */
  int32_t compiles;       /* compiler runs */
  size_t workspace;       /* bytes that the largest of these problems needs; with MLAF_PLAN_TABLES block tables of ctx_max, too */
  double seconds;
} mlaf_warm_up_result;
#define MLAF_WARM_UP_RESULT_INIT \
  { sizeof(mlaf_warm_up_result), 0, 0, 0, 0, 0.0 }
/* One more reference; returns its argument. Thread-safe. */
MLAF_API mlaf_plan *mlaf_plan_retain(mlaf_plan *plan);
/* One reference less; the last one unloads the kernels. None of its launches may be in flight then. NULL is allowed. */
MLAF_API void mlaf_plan_release(mlaf_plan *plan);

/* Source of a plan. Strings live as long as the plan. */
typedef struct mlaf_plan_info {
  uint32_t struct_size;  /* in: sizeof(mlaf_plan_info); only that many bytes are written */
  int32_t knob;          /* mla_decode: splits of every request, where the launch does not cut the whole batch by itself */
  const char *problem;   /* canonical problem string */
  const char *rung;      /* "exact", "nearest", "default", "model", "baseline" */
  const char *source;    /* of the choice's time: "measured", "modelled", "imported", "default"; "none": no database */
  const char *variant;   /* the name that rebuilds the variant */
  const char *tuned_for; /* the problem string of the choice; may differ from `problem` in sizes */
  const char *code;      /* "cache" or "bundle": nothing was compiled; "compiled" */
  const char *stale;     /* "" or why re-tuning would be worth it (compiler or driver differ) */
  const char *notes;     /* "" or the rungs that were passed over, and why */
  int32_t compiles;      /* compiler runs this plan caused */
  int32_t reserved;
  double ns;             /* time the choice was made by, 0 if none */
  double error;          /* relative error it was verified with, 0 if none */
  const char *lengths;   /* of the requests the choice was timed with, "equal" mostly; "" if none was timed */
} mlaf_plan_info;
#define MLAF_PLAN_INFO_INIT \
  { sizeof(mlaf_plan_info), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0.0, 0.0, NULL }
/* E_ARG for a NULL pointer or a struct_size below the first version's. Thread-safe. */
MLAF_API mlaf_status mlaf_plan_query(const mlaf_plan *plan, mlaf_plan_info *info);

/* Bytes of workspace that a launch of so many rows needs (mla_decode: query tokens of all requests); 0: none. mla_decode plans
 * that cut ragged batches by themselves want some also with one split. */
MLAF_API size_t mlaf_plan_workspace_size(const mlaf_plan *plan, int64_t total_q);

/* Deprecated, until 1.0: what is mla_decode's came with this header. */
#include "mlaforge/mla_decode.h"

#endif
