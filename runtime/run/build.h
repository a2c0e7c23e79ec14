/* From a variant, or a stored choice, to kernels on a device: references, sources, code objects, the loaded variant. The planner
 * and the tuner use the same steps, so what the tuner measured is what the plan loads. */
#pragma once

#include "compile/compile.h"
#include "db/db.h"
#include "gen/gen.h"
#include "op/kernel.h"
#include "run/hashes.h"
#include "run/loaded.h"
#include "run/resources.h"

/* The kernels of one variant, by stage. Zero-initialise; mlaf_build_clear frees. */
typedef struct mlaf_build {
  char name[256];
  uint32_t knob;
  int n;                                  /* stages up to the last one that has a kernel */
  mlaf_kernel_ref refs[MLAF_STAGES_MAX];  /* code_key is set once the code is there */
  void *code[MLAF_STAGES_MAX];            /* owned */
  size_t code_size[MLAF_STAGES_MAX];
  char *source[MLAF_STAGES_MAX];          /* owned; NULL while nothing had to be rendered */
  mlaf_kernel_meta meta[MLAF_STAGES_MAX]; /* what the code objects say; there when the code is */
  mlaf_budget budget[MLAF_STAGES_MAX];    /* known of a variant, not of a stored choice */
} mlaf_build;

/* Names, hashes and launch geometry of a variant; no source yet. */
mlaf_status mlaf_build_init(const mlaf_variant *v, mlaf_build *out, mlaf_err *err);
/* The same of a stored choice. */
void mlaf_build_from_choice(const mlaf_choice *choice, mlaf_build *out);
void mlaf_build_clear(mlaf_build *b);

/* Render what is not rendered yet and fill one compile job per kernel that has no code. Jobs borrow the build's
 * sources and the generator's options.
 * E_TEMPLATE when a stored src_hash is not what the generator makes today. *n: 0 to the number of kernels. */
mlaf_status mlaf_build_jobs(mlaf_build *b, mlaf_gen *g, const char *target, mlaf_compile_job jobs[MLAF_STAGES_MAX], size_t *n,
                            mlaf_err *err);
/* Take the code of finished jobs (all succeeded) and read its metadata. Call with the jobs of the call above. */
mlaf_status mlaf_build_finish(mlaf_build *b, mlaf_compile_job jobs[MLAF_STAGES_MAX], size_t n, mlaf_err *err);

/* Code from the cache by the refs' keys; E_NOT_COMPILED when one is missing. */
mlaf_status mlaf_build_take_cached(mlaf_build *b, mlaf_compiler *c, mlaf_err *err);
/* The same of kernels that were built here before by this generator and this compiler (NULL: unknown), whatever key a choice made
 * elsewhere has for them; one with a stored source hash only if that very source was built. False: one was not, or its code is
 * gone; then nothing is taken. */
bool mlaf_build_take_known(mlaf_build *b, mlaf_compiler *c, const mlaf_hashes *known, const char *target, const char *toolchain);
/* Remember where the code of a finished build lies. */
void mlaf_build_remember(const mlaf_build *b, mlaf_hashes *known, const char *target, const char *toolchain);
/* Code from elsewhere for kernel i: malloc'ed, taken over whatever is returned. */
mlaf_status mlaf_build_take(mlaf_build *b, int i, void *code, size_t size, mlaf_err *err);
/* The budgets of a variant, for the kernels that have its symbols. */
void mlaf_build_learn(mlaf_build *b, const mlaf_variant *v);
/* Checks whether its kernels may run (run/resources.h). `calls` NULL: they are no operation's; dev NULL: none is at hand. */
mlaf_status mlaf_build_check(const mlaf_build *b, const mlaf_calls *calls, const mlaf_device *dev, mlaf_err *err);
/* Everything in one: render, then cached code if there is, else compile (`may_compile`) or E_NOT_COMPILED. Compiler
 * runs are added to *compiles. */
mlaf_status mlaf_build_now(mlaf_build *b, mlaf_gen *g, mlaf_compiler *c, const char *target, bool may_compile,
                           int *compiles, mlaf_err *err);

/* Check and load. */
mlaf_status mlaf_build_load(const mlaf_build *b, mlaf_device *dev, const mlaf_point *p, mlaf_loaded **out,
                            mlaf_err *err);
/* The same of a build of one kernel that is no operation's. */
mlaf_status mlaf_build_load_one(const mlaf_build *b, mlaf_device *dev, mlaf_module **module, mlaf_function **fn, mlaf_err *err);

/* Render a kernel and fill its compile job, which borrows *source (malloc'ed) and the generator's options. */
mlaf_status mlaf_build_render(mlaf_gen *g, const char *target, const mlaf_kernel_ref *ref, char **source,
                              char src_hash[MLAF_HASH_HEX], mlaf_compile_job *job, mlaf_err *err);
