/* Is a loaded variant right every time? Thousands of launches on cold memory beside other work, all outputs compared bit for bit
 * with the first launch of the same inputs, and a first launch once with the fp64 reference. It sees what `verify` cannot:
 * mistakes that depend on timing and hit one launch in a thousand. */
#pragma once

#include <stdatomic.h>

#include "op/data.h"
#include "run/loaded.h"
#include "run/tool.h"

typedef struct mlaf_soak_opts {
  int64_t launches; /* after the first ones; above 0 */
  uint64_t seed;
  mlaf_lengths lengths;      /* of the requests; all zero: as the problem says */
  /* Size of the pool of inputs. 0: 50 times L2 or 8 times the last-level cache, the larger; where times are modelled, two
   * sets. */
  int64_t pool_bytes;
  const mlaf_loaded *beside; /* what the second stream runs: a variant of the same problem on the same device. NULL: the same */
  mlaf_pool *pool;           /* where the inputs' numbers come from; soaks one after the other may share it. NULL: an own one */
  const atomic_bool *cancel; /* true: stop within about a tenth of a second (a launch, where one takes longer). May be NULL */
  /* About ten times a second, and twice with nothing done: when the first launches were made, and when they were checked, before
   * any launch has company. May be NULL. */
  void (*progress)(void *user, int64_t done, int64_t wrong);
  void *user;
} mlaf_soak_opts;

/* A row of an output that differed from the first launch of its inputs. */
typedef struct mlaf_soak_row {
  int64_t launch; /* 1, 2, ... in the order they were started */
  int stream;     /* 0; 1: the one beside */
  int set;        /* of inputs */
  int output;     /* of the operation's data (op/data.h) */
  int64_t row;
  char where[128];      /* "o, request 2, token 1, head 3" */
  int32_t words, of;    /* 32-bit words of the row that differ, of so many */
  double against_first; /* error of the row against the first launch (data_error of op/calls.h); INFINITY: a NaN */
  double error;         /* the same against fp64 */
  double first_error;   /* of the first launch against fp64: when this one is large, the first launch was the wrong one */
} mlaf_soak_row;

typedef struct mlaf_soak_result {
  int64_t launches;    /* made and compared, on all streams */
  int64_t beside;      /* of these on the second stream */
  int64_t wrong;       /* launches with a row that differed */
  int64_t wrong_rows;
  int64_t rows;        /* of all outputs of one launch */
  int sets;            /* of inputs, gone through in turn */
  int64_t pool_bytes;  /* of inputs */
  bool stopped;        /* cancelled before all launches were made */
  bool traffic;        /* whether a third stream read memory meanwhile; false where times are modelled */
  double seconds;      /* of the launches */
  mlaf_soak_row first; /* where wrong > 0 */
  double worst;        /* against_first of the worst row looked at */
  /* Errors of the first launches over set 0, against fp64: see mlaf_data_checked. */
  double error, row_error, lse_ratio;
  int64_t checked_rows;
  char checked[160];   /* which rows that were */
  char detail[1024];   /* "" when nothing is wrong */
} mlaf_soak_result;

/* env->gen NULL: outputs are compared on the host and no third stream reads memory (devices of tests).
 * MLAF_E_INCORRECT with out->detail when a launch differed or a first launch is not what fp64 says. A launch that fails ends the
 * run with its status and number. `out` is filled as far as it came. The device should have nothing else to do. */
mlaf_status mlaf_soak_run(const mlaf_tool_env *env, const mlaf_loaded *l, const mlaf_soak_opts *opts, mlaf_soak_result *out,
                          mlaf_err *err);
