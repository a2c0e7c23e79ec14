/* Inside the tuner: the candidate table, the kernel table with its compile thread, and one candidate's trial. */
#pragma once

#include <pthread.h>

#include "tune/tune.h"

/* A distinct kernel of the space: all knobs of one first kernel share it, and all share a few of the later stages. */
typedef struct tune_kernel {
  const mlaf_kernel_desc *desc; /* of the variant that named it first */
  char *source;
  char src_hash[MLAF_HASH_HEX], code_key[MLAF_HASH_HEX];
  bool prepared;       /* source and key are there, or trouble says why not */
  mlaf_status trouble; /* of rendering */
  char trouble_text[512];
  bool asked; /* the compile thread has it or had it */
  bool ready; /* job has its outcome; guarded by the compile thread's lock */
  mlaf_compile_job job;
} tune_kernel;

typedef enum tune_state { TUNE_PENDING, TUNE_SELECTED, TUNE_DONE } tune_state;

typedef struct tune_candidate {
  mlaf_variant *variant;
  int kernels[MLAF_STAGES_MAX]; /* indices, by stage; -1: none */
  double estimate_ns;           /* the model's, corrected by what the campaign learned; 0: there is none */
  int group;                    /* candidates of one first kernel */
  tune_state state;
  bool verified; /* in this run: timing it again needs no second verification */
  bool compared; /* in turns with the others at the front */
  bool sure;     /* timed whatever the model says */
  bool told;     /* it was timed before the round under way, so that its time judges others */
  bool passed_over;
  bool absent;   /* a library's proposal that there is not */
  bool fleeting; /* its failure says nothing of it: not recorded, tried again by the next run */
  mlaf_tuner_item item;
} tune_candidate;

/* Compiles run on their own thread so that the device works meanwhile; `ready` flags pass finished jobs over. */
typedef struct tune_compiler {
  pthread_t thread;
  bool running;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool finished, stop;    /* stop: the run gives up (cancel, time limit) */
  mlaf_compile_job *jobs; /* of this round, in order */
  int *kernel_of;         /* kernel index of each job */
  size_t n, done;
  mlaf_status status;
  mlaf_err err;
} tune_compiler;

typedef struct tuner {
  const mlaf_tuner_env *env;
  const mlaf_tuner_steps *steps;
  mlaf_tuner_opts opts;
  const mlaf_point *problem;
  const mlaf_device_info *info;
  const char *toolchain;
  const char *const *options;
  mlaf_variant *space;
  size_t n_space;
  mlaf_variant *libraries; /* what a vendor's library offers */
  size_t n_libraries, n_own; /* n_own: candidates that are none of those. Those stand behind and are tried beyond the limit */
  tune_candidate *list; /* accepted variants, best corrected estimate first; then a library's */
  bool *counted;        /* of each: it belongs to this run, done now or earlier */
  size_t n;
  int n_groups;
  tune_kernel *kernels;
  size_t n_kernels;
  tune_compiler compiler;
  mlaf_suite *suite;
  mlaf_bench *bench;
  double start, deadline; /* deadline 0: none */
  size_t limit;           /* candidates */
  int round;              /* under way; sets how precisely a halving search times */
  size_t timed;           /* timings of this run */
  char standing[256];     /* variant of the exact choice before this run, "" */
  size_t selected, done, failed;
  int best;      /* candidate with the lowest OK time, -1 */
  bool in_finals; /* the rounds are over */
  bool patient;   /* nothing passed so far but what is noisy: timings take long */
  bool taught;    /* problems before had kernels of this one */
  bool modelled; /* the device's times are; known after the first one */
  bool record;   /* samples go to the database */
  mlaf_tuner_result *out;
} tuner;

/* --- space.c --- */
mlaf_status mlaf_tuner_space_read(tuner *t, mlaf_err *err);
void mlaf_tuner_space_free(tuner *t);
/* Take over what an earlier run finished with the same code. */
mlaf_status mlaf_tuner_resume(tuner *t, mlaf_err *err);

/* --- strategy.c --- */
/* The model's own first choice, which a plan takes where nothing was tuned; NULL: no estimates. */
tune_candidate *mlaf_tuner_pick(const tuner *t);
int mlaf_tuner_rounds(const tuner *t);
/* Mark the candidates of round 1, 2, ...; false: nothing (left) to do in it. */
bool mlaf_tuner_select(tuner *t, int round);
/* Samples a timing of that round needs. */
int mlaf_tuner_min_samples(const tuner *t, int round);
/* The timing protocol, of the rounds and the finals: all times of a problem must be comparable. */
mlaf_time_opts mlaf_tuner_protocol(const tuner *t);
/* t->best anew: a candidate may have been timed again. */
void mlaf_tuner_note_best(tuner *t);

/* True for a proposal that the library does not make: the generator lists more than any library has. */
bool mlaf_tuner_is_absent(const tuner *t, const tune_candidate *c);
/* It counts nowhere: neither as tried nor as failed nor as one of the space. */
void mlaf_tuner_leave_out(tuner *t, tune_candidate *c);

/* A selected candidate that was passed over: it is not tried in this round. */
void mlaf_tuner_take_back(tuner *t, tune_candidate *c);

/* --- worth.c --- */
/* True in a pruned search for a candidate that cannot win by what was timed in earlier rounds, and in this one of candidates
 * that stand before it: so an interrupted run judges as one that is not. */
bool mlaf_tuner_is_passed_over(const tuner *t, tune_candidate *c);

/* --- kernels.c --- */
/* Render and hash a kernel once. Its own failure stays with it; not OK: no memory, no compiler. */
mlaf_status mlaf_tuner_kernel_prepare(tuner *t, int kernel, mlaf_err *err);
/* The same for all kernels of a candidate, and put hashes and keys into its sample. */
mlaf_status mlaf_tuner_candidate_prepare(tuner *t, tune_candidate *c, mlaf_err *err);
void mlaf_tuner_kernels_free(tuner *t);
/* Start compiling what the selected candidates need, in their order. */
mlaf_status mlaf_tuner_compile_start(tuner *t, mlaf_err *err);
/* Wait until all kernels of a candidate have their outcome; false: the run is to stop, or the compiler failed as a whole. */
bool mlaf_tuner_compile_wait(tuner *t, const tune_candidate *c);
/* Tells whether the candidate's kernels are compiled already. */
bool mlaf_tuner_compiled(tuner *t, const tune_candidate *c);
/* Stop (when the run gives up) and join. */
mlaf_status mlaf_tuner_compile_end(tuner *t, bool stop, mlaf_err *err);

/* --- trial.c --- */
/* Compile outcome, resources, load, verify, time: fills c->item. Not OK: the run must end (device lost, out of memory,
 * cancelled); a candidate's own failure is an outcome and returns OK. */
mlaf_status mlaf_tuner_try(tuner *t, tune_candidate *c, mlaf_err *err);
/* Load a candidate whose code is there. */
mlaf_status mlaf_tuner_open(tuner *t, const tune_candidate *c, mlaf_loaded **out, mlaf_err *err);
/* Outcome of a timing: noisy or not, and which noise. */
void mlaf_tuner_class_timing(tune_candidate *c, const mlaf_time_opts *opts);
/* The buffers timings run on, made once. */
mlaf_status mlaf_tuner_need_bench(tuner *t, mlaf_err *err);
/* Others, with other data. Filling them disturbs no other tuner's timing. */
mlaf_status mlaf_tuner_make_bench(const tuner *t, const mlaf_bench_opts *opts, mlaf_bench **out, mlaf_err *err);

/* --- verified.c --- */
/* Was this very code verified with this knob in the campaign? Then *error is what it showed. */
bool mlaf_tuner_verified(const tuner *t, const tune_candidate *c, double *error);
void mlaf_tuner_note_verified(const tuner *t, const tune_candidate *c);

/* --- learned.c --- */
/* The model's estimate of a variant, in ns, corrected by the campaign's problems so far. Says t->taught if they had its first
 * kernel. */
double mlaf_tuner_corrected(tuner *t, const mlaf_variant *v);
/* Remembers by how much the model was off here, for the next problems. */
void mlaf_tuner_learn(const tuner *t);

/* --- finals.c --- */
/* Runs after the rounds, on devices whose times vary: noisy candidates that could matter are timed once more, then the front
 * runners and the standing choice are timed in turns, so that a drifting clock touches all of them alike. */
mlaf_status mlaf_tuner_finals(tuner *t, mlaf_err *err);

/* --- run.c --- */
/* One round of what is TUNE_SELECTED: compile, try, record. */
mlaf_status mlaf_tuner_one_round(tuner *t, mlaf_err *err);
mlaf_status mlaf_tuner_record(tuner *t, const tune_candidate *c, mlaf_err *err);
bool mlaf_tuner_stop(const tuner *t); /* cancelled or out of time */
bool mlaf_tuner_cancelled(const tuner *t);
void mlaf_tuner_report(tuner *t, const char *activity, const tune_candidate *c);
