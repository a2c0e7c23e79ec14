/* Tuning from a program: what `mlaforge tune` does, on a context. */
#ifndef MLAFORGE_TUNE_H
#define MLAFORGE_TUNE_H

#include <stddef.h>
#include <stdint.h>

#include "mlaforge/context.h"

/* Progress of a run; strings live during the call only. */
typedef struct mlaf_tune_progress {
  uint32_t struct_size;   /* set by the library */
  int32_t total;          /* candidates so far planned; grows when a later round begins */
  int32_t done, failed;
  const char *activity;   /* "compiling", "verifying", "timing" */
  const char *variant;    /* being worked on, "" if none */
  const char *best;       /* fastest so far, "" if none */
  double best_ns;
  double elapsed_s;
} mlaf_tune_progress;
/* Called on the calling thread, several times a second. Return 0 to go on, anything else to stop. */
typedef int (*mlaf_tune_progress_fn)(void *user, const mlaf_tune_progress *progress);

enum { MLAF_TUNE_NO_RESUME = 1u << 0 /* try everything again although the database knows it */ };

/* Which candidates are tried (docs/tuning.md). */
typedef enum mlaf_tune_strategy {
  MLAF_TUNE_PRUNED = 0, /* by the generator's model, at most 15 % of the space */
  MLAF_TUNE_EXHAUSTIVE, /* all */
  MLAF_TUNE_HALVING,    /* all, shortly; the best third longer; the best third of those in full */
} mlaf_tune_strategy;

typedef struct mlaf_tune_opts {
  uint32_t struct_size;   /* sizeof(mlaf_tune_opts), set by MLAF_TUNE_OPTS_INIT */
  uint32_t flags;         /* MLAF_TUNE_* */
  int32_t max_candidates; /* 0: what the strategy selects (pruned on an emulator: 40 at most) */
  int32_t strategy;       /* mlaf_tune_strategy */
  double time_limit_s;    /* 0: none */
  uint64_t seed;          /* of verification and timing data; 0: 1 */
  mlaf_tune_progress_fn progress;
  void *progress_user;
  const char *lengths;    /* of the timed requests: "equal" (NULL), "uniform[,SEED]", "normal:MEAN,STD[,SEED]" (times ctx),
                           * "lognormal:MEAN,SIGMA[,SEED]" (times ctx; of the logarithm) */
} mlaf_tune_opts;
#define MLAF_TUNE_OPTS_INIT \
  { sizeof(mlaf_tune_opts), 0, 0, MLAF_TUNE_PRUNED, 0.0, 0, NULL, NULL, NULL }

typedef struct mlaf_tune_result {
  uint32_t struct_size;                  /* in: sizeof(mlaf_tune_result); only that many bytes are written */
  int32_t candidates, failed, resumed;   /* tried in all, of them failed, of them known from earlier runs */
  int32_t compiles;                      /* compiler runs */
  int32_t knob;                          /* of the choice: mlaf_plan_info */
  char variant[256];                     /* the choice */
  char source[16];                       /* of its time: "measured", "modelled" */
  double ns, margin, error;              /* time, lead over the second best as a ratio - 1, relative error against fp64 */
  char stopped[64];                      /* "": complete; else why not */
  double seconds;
} mlaf_tune_result;
#define MLAF_TUNE_RESULT_INIT \
  { sizeof(mlaf_tune_result), 0, 0, 0, 0, 0, "", "", 0.0, 0.0, 0.0, "", 0.0 }

/* Deprecated, until 1.0: mlaf_tune came with this header. */
#include "mlaforge/mla_decode.h"

#endif
