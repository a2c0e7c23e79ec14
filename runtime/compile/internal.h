/* The compiler object from inside: what compiler.c, batch.c and tools.c share. */
#pragma once

#include <pthread.h>

#include "compile/cache.h"
#include "compile/compile.h"
#include "compile/nvrtc.h"
#include "compile/rocm.h"
#include "compile/toolchain.h"
#include "compile/worker.h"

enum { MLAF_JOBS_MAX = 256 };

struct mlaf_compiler {
  mlaf_log log;
  int jobs;
  double timeout_s;
  bool in_process; /* asked for by the options */
  char *prefix, *worker_path;
  mlaf_cache cache;

  pthread_mutex_t mutex; /* guards the rest, never held over a compile */
  bool found[MLAF_TOOLS]; /* that toolchain is valid */
  mlaf_toolchain toolchain[MLAF_TOOLS];
  char *worker;          /* executable, once looked for */
  mlaf_worker *idle[MLAF_JOBS_MAX];
  int n_idle, n_live;    /* live: idle plus checked out */
  mlaf_compile_stats stats;
  struct {
    char key[MLAF_HASH_HEX]; /* "": free */
    void *code;
    size_t size;
  } held[MLAF_HELD_MAX]; /* read ahead of being asked for */

  pthread_mutex_t rocm_mutex; /* hiprtc compiles one program at a time; guards both libraries in this process */
  mlaf_rocm *rocm;
  mlaf_nvrtc *nvrtc;
};

typedef enum mlaf_compile_count { MLAF_COUNT_COMPILED, MLAF_COUNT_HIT, MLAF_COUNT_CRASH, MLAF_COUNT_TIMEOUT } mlaf_compile_count;
void mlaf_compiler_count(mlaf_compiler *c, mlaf_compile_count what);

/* The toolchain, found on first use. Stable until close. */
mlaf_status mlaf_compiler_toolchain(mlaf_compiler *c, mlaf_tool tool, const mlaf_toolchain **out, mlaf_err *err);
/* Check a worker of one toolchain out, starting one if need be. With `must` false NULL is given when all `jobs` are
 * busy; with `must` true one is started beyond them, so that a call made from another call's progress function cannot
 * wait forever. */
mlaf_status mlaf_compiler_take_worker(mlaf_compiler *c, mlaf_tool tool, bool must, mlaf_worker **out,
                                      mlaf_err *err);
/* Give it back, or NULL to say that it was buried. */
void mlaf_compiler_give_worker(mlaf_compiler *c, mlaf_worker *w);
/* The toolchain's libraries in this process. E_NO_COMPILER where they do not load here. Call with rocm_mutex held. */
mlaf_status mlaf_compiler_load(mlaf_compiler *c, mlaf_tool tool, mlaf_err *err);
/* True if requests should run in this process: because no worker exists and none was named, or because this is a single one, the
 * options ask for it and the libraries load here. */
bool mlaf_compiler_runs_here(mlaf_compiler *c, mlaf_tool tool, bool single);

/* The answer to one request. payload and log are malloc'ed (log may be NULL). */
typedef struct mlaf_answer {
  void *payload;
  size_t size;
  char *log;
  double seconds;
} mlaf_answer;
/* One request, waited for. `fields`: target, options or code object, source (see mlaf_wire_kind). */
mlaf_status mlaf_compiler_request(mlaf_compiler *c, mlaf_wire_kind kind, const mlaf_wire_field fields[3], mlaf_answer *out,
                                  mlaf_err *err);
/* Takes the answer of a worker that is DONE: fills *out, or `err` with the worker's own detail. */
mlaf_status mlaf_compiler_answer(const mlaf_worker *w, mlaf_answer *out, mlaf_err *err);
