/* Everything: specialised Multi-head Latent Attention kernels, generated, compiled, verified, tuned and served.
 *
 *   mlaf_ctx *ctx = NULL;
 *   mlaf_plan *plan = NULL;
 *   mlaf_mla_decode_problem problem = MLAF_MLA_DECODE_PROBLEM_INIT; // 16 heads, rank 512, rope 64, bf16, pages of 64
 *   mlaf_ctx_create(NULL, &ctx, NULL, 0);
 *   mlaf_mla_decode_plan_create(ctx, &problem, NULL, &plan);
 *   mlaf_mla_decode_execute(plan, &args, stream);                   // as often as you like, from any thread
 *   mlaf_plan_release(plan);
 *   mlaf_ctx_destroy(ctx);
 */
#ifndef MLAFORGE_H
#define MLAFORGE_H

#include "mlaforge/call.h"
#include "mlaforge/chunked_prefill.h"
#include "mlaforge/context.h"
#include "mlaforge/context_split.h"
#include "mlaforge/database.h"
#include "mlaforge/layer.h"
#include "mlaforge/mla_decode.h"
#include "mlaforge/operation.h"
#include "mlaforge/plan.h"
#include "mlaforge/problem.h"
#include "mlaforge/rope.h"
#include "mlaforge/status.h"
#include "mlaforge/tune.h"

#define MLAF_VERSION_NUMBER 100 /* major*10000 + minor*100 + patch */

/* The version of the library at run time: "0.1.0" and 100. Thread-safe. */
MLAF_API const char *mlaf_version(void);
MLAF_API int mlaf_version_number(void);

#endif
