/* The tuner: candidates of a problem are compiled, checked, verified, timed and recorded, and one is chosen. The CLI and
 * planning with effort MEASURE both call mlaf_tuner_run. The order is fixed: nothing is timed that was not verified
 * against the fp64 reference with its own split count on this device, and each finished candidate is in the database
 * before the next one begins, so that an interrupted run goes on where it stopped. */
#pragma once

#include <stdatomic.h>

#include "base/base.h"
#include "compile/compile.h"
#include "check/bench.h"
#include "op/lengths.h"
#include "check/verify.h"
#include "db/db.h"
#include "device/device.h"
#include "gen/gen.h"

/* Functions of other rooms that the tuner calls, so that tests can script them. NULL in the env: the real ones. */
typedef struct mlaf_tuner_steps {
  mlaf_status (*space)(mlaf_gen *g, const char *problem, const char *target, mlaf_variant **list, size_t *n,
                       mlaf_err *err);
  mlaf_status (*render)(mlaf_gen *g, const mlaf_kernel_desc *k, const char *target, char **source,
                        char src_hash[MLAF_HASH_HEX], mlaf_err *err);
  mlaf_status (*options)(mlaf_gen *g, const char *target, const char *const **options, mlaf_err *err);
  mlaf_status (*identity)(mlaf_compiler *c, const char *target, const char **id, mlaf_err *err);
  mlaf_status (*key)(mlaf_compiler *c, mlaf_compile_job *job, mlaf_err *err);
  mlaf_status (*compile)(mlaf_compiler *c, mlaf_compile_job *jobs, size_t n, mlaf_compile_progress progress, void *user,
                         mlaf_err *err);
  mlaf_status (*meta)(const void *code, size_t size, mlaf_kernel_meta *out, size_t max, size_t *n, mlaf_err *err);
  mlaf_status (*open)(mlaf_device *dev, const mlaf_point *p, const mlaf_loaded_desc *desc, mlaf_loaded **out,
                      mlaf_err *err);
  void (*close)(mlaf_loaded *l);
  mlaf_status (*suite)(const mlaf_point *p, uint64_t seed, mlaf_inject inject, mlaf_suite **out, mlaf_err *err);
  void (*suite_free)(mlaf_suite *s);
  mlaf_status (*verify)(const mlaf_suite *s, const mlaf_loaded *l, mlaf_verify_result *out, mlaf_err *err);
  mlaf_status (*bench)(mlaf_device *dev, const mlaf_point *p, const mlaf_bench_opts *opts, mlaf_bench **out,
                       mlaf_err *err);
  void (*bench_free)(mlaf_bench *b);
  mlaf_status (*time)(mlaf_bench *b, const mlaf_loaded *l, const mlaf_time_opts *opts, mlaf_timing *out, mlaf_err *err);
  mlaf_status (*alive)(mlaf_device *dev, mlaf_err *err); /* does the device still answer after a failed launch? */
  mlaf_status (*libraries)(mlaf_gen *g, const char *problem, const char *target, mlaf_variant **list, size_t *n,
                           mlaf_err *err); /* NULL: there are none */
} mlaf_tuner_steps;
extern const mlaf_tuner_steps mlaf_tuner_real_steps;

/* Verifications that the problems of one campaign share (NULL in the env: none are). Never written to a file: what another
 * process verified is not taken on trust. */
typedef struct mlaf_verified mlaf_verified;
mlaf_verified *mlaf_verified_new(void); /* NULL: no memory; a run does without */
void mlaf_verified_free(mlaf_verified *v);

/* Errors of the model, kernel by kernel, at the problems of one campaign so far: they correct the estimates of the next
 * problems (NULL in the env: nothing is known before the first timing). */
typedef struct mlaf_learned mlaf_learned;
mlaf_learned *mlaf_learned_new(void); /* for runs of several threads, too. NULL: no memory; a run does without */
void mlaf_learned_free(mlaf_learned *l);

typedef struct mlaf_tuner_env {
  mlaf_device *device;
  mlaf_db *db; /* NULL or read-only: nothing is remembered */
  mlaf_gen *gen;
  mlaf_compiler *compiler; /* used from one other thread during the run: lend it to nobody meanwhile */
  const mlaf_log *log;
  const mlaf_tuner_steps *steps; /* NULL: the real ones */
  mlaf_verified *verified;
  mlaf_learned *learned;
} mlaf_tuner_env;

typedef struct mlaf_tuner_progress {
  const char *activity;         /* "compiling", "verifying", "timing", "waiting for another tuner" */
  const char *variant;          /* being worked on, "" while compiling */
  size_t total, done, failed;   /* candidates so far planned (grows with the later rounds), finished, and failed ones */
  size_t most;                  /* that all rounds together may take */
  size_t kernels, kernels_done; /* of the round under way */
  double best_ns;               /* 0: none yet */
  const char *best;             /* "" */
  double elapsed_s, limit_s;
} mlaf_tuner_progress;
/* Called on the calling thread, often; the receiver decides how often to print. */
typedef void (*mlaf_tuner_progress_fn)(void *user, const mlaf_tuner_progress *p);

#define MLAF_TUNER_EMU_CANDIDATES 40 /* what max_candidates 0 means where times are modelled */

typedef enum mlaf_strategy {
  MLAF_STRATEGY_PRUNED, MLAF_STRATEGY_EXHAUSTIVE, MLAF_STRATEGY_HALVING, MLAF_STRATEGY_COUNT
} mlaf_strategy;
const char *mlaf_strategy_name(mlaf_strategy s);
int mlaf_strategy_find(const char *name); /* -1: none is called that */

typedef struct mlaf_tuner_opts {
  mlaf_strategy strategy;
  size_t max_candidates; /* 0: all of the space; a pruned search 15 % of it, and on an emulator MLAF_TUNER_EMU_CANDIDATES */
  mlaf_lengths lengths;  /* of the requests that are timed; all zero: equal */
  double give_up;        /* timing ends with the first sample above this many times the best; 0: 3 */
  double time_limit_s;   /* 0: none. Checked between candidates; what was compiled for nothing stays in the cache */
  uint64_t seed;         /* of verification and timing data; 0 = 1 */
  bool no_libraries;     /* kernels of ours alone. Else what a vendor's GEMM library offers is tried, too, all of it */
  bool no_resume;        /* do everything again although the database has it */
  mlaf_tuner_progress_fn progress;
  void *progress_user;
  const atomic_bool *cancel; /* NULL, or a flag that a signal handler may set */
} mlaf_tuner_opts;

/* Candidates a run may try of a space of that size; SIZE_MAX: all. */
size_t mlaf_tuner_limit(const mlaf_tuner_opts *o, size_t space, bool emulated);

/* One candidate that was tried, now or in an earlier run. */
typedef struct mlaf_tuner_item {
  mlaf_sample sample;
  double model_ns; /* the generator's closed-form estimate, 0 = none */
  bool resumed;    /* taken from the database */
} mlaf_tuner_item;

typedef struct mlaf_tuner_result {
  mlaf_tuner_item *items; /* best first, failures last */
  size_t n;
  size_t space, rejected;    /* candidates of the space, and points the budgets rejected */
  size_t resumed, failed;    /* of n */
  size_t passed_over;        /* not timed: by what was timed they cannot be the fastest */
  size_t libraries;          /* of `space`: a library's */
  char no_library[512];      /* why there are none, where the operation could do with one; "" */
  size_t kernels;            /* distinct kernels this run asked the compiler for */
  size_t compiles, cached;   /* of them: compiler runs, cache hits */
  bool has_choice, recorded; /* recorded: the database holds the choice */
  mlaf_choice choice;
  char stopped[64]; /* "": complete; "time limit", "cancelled" */
  double seconds;
} mlaf_tuner_result;
void mlaf_tuner_result_clear(mlaf_tuner_result *r);

/* --- guess.c --- */
/* A candidate's estimate and its time; 0: there is none. */
typedef struct mlaf_guessed {
  double model_ns, ns;
} mlaf_guessed;
/* The model's guess for a problem: the candidate that it puts first among those that were timed. */
typedef struct mlaf_guess {
  double pick_ns, best_ns; /* its time, and the fastest's */
  size_t rank, of;         /* its place by time, 1: it is the fastest */
  double error;            /* median of |estimate / time - 1| over all that were timed */
} mlaf_guess;
/* False: nothing with an estimate was timed. */
bool mlaf_guess_judge(const mlaf_guessed *list, size_t n, mlaf_guess *out);
bool mlaf_guess_of(const mlaf_tuner_result *r, mlaf_guess *out);
/* Sums over many problems. */
#define MLAF_GUESS_NEAR 1.02
typedef struct mlaf_guesses {
  size_t n, first, near;           /* problems; where the pick is the fastest, and within MLAF_GUESS_NEAR of it */
  double log_ratio, worst, errors; /* of the pick's time over the fastest's; of the median errors */
} mlaf_guesses;
void mlaf_guesses_add(mlaf_guesses *to, const mlaf_guess *g);

/* `out` must be cleared by the caller whatever is returned; it holds what was finished.
 * OK: there is a choice (look at `stopped` for a time limit). E_CANCELLED: the flag was set; run again to go on.
 * E_NOT_TUNED: no candidate passed, the detail says what became of them. Others: nothing could be tuned at all
 * (E_NO_COMPILER, E_KILLED, E_TEMPLATE, E_DEVICE, E_DB, E_IO, E_NOMEM); what was finished before is recorded. A compile that
 * fails for no fault of its kernel is among them, and no sample. */
mlaf_status mlaf_tuner_run(const mlaf_tuner_env *env, const mlaf_point *p, const mlaf_tuner_opts *opts,
                           mlaf_tuner_result *out, mlaf_err *err);

/* One tuner at a time on one device, unless its times are modelled: an flock on a file named after the device, released by the
 * kernel when the holder dies. Waits until `deadline` (mlaf_now) or the cancel flag; announces the wait after two seconds.
 * *fd -1: locking is not possible here (a warning was logged) and timing goes on without. */
mlaf_status mlaf_tuner_lock(const mlaf_device *dev, const mlaf_log *log, const atomic_bool *cancel,
                            double deadline, int *fd, mlaf_err *err);
/* For work that is not timed: several may share a device, while none has it by mlaf_tuner_lock. */
mlaf_status mlaf_tuner_share(const mlaf_device *dev, const mlaf_log *log, const atomic_bool *cancel,
                             double deadline, int *fd, mlaf_err *err);
void mlaf_tuner_unlock(int fd);
