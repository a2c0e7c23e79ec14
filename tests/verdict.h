/* From a problem and a variant's name to a verdict on the emulator, of the kernel as it is or with one place changed. */
#ifndef MLAF_TEST_VERDICT_H
#define MLAF_TEST_VERDICT_H

#include <string.h>

#include "check/verify.h"
#include "run/built.h"
#include "run/loaded.h"

typedef struct verdict_bench {
  mlaf_gen *gen;
  mlaf_compiler *compiler;
  mlaf_device *dev;
} verdict_bench;

#define VERDICT_TARGET "gfx942"

static inline void open_verdicts(verdict_bench *b) {
  mlaf_err err = {MLAF_OK, ""};
  built_cache();
  need_compiler(VERDICT_TARGET);
  if (mlaf_gen_open(NULL, &b->gen, &err) || mlaf_compiler_open(NULL, NULL, &b->compiler, &err) ||
      mlaf_device_open("emu:gfx942", NULL, &b->dev, &err))
    fail_msg("%s", err.text);
}

static inline void close_verdicts(verdict_bench *b) {
  mlaf_device_close(b->dev);
  mlaf_compiler_close(b->compiler);
  mlaf_gen_close(b->gen);
}

/* `text` with the first place of `from` replaced. */
static inline char *with_mistake(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  if (!at) fail_msg("the kernel has no '%s'", from);
  char *out = malloc(strlen(text) + strlen(to) + 1);
  memcpy(out, text, (size_t)(at - text));
  strcpy(out + (at - text), to);
  strcat(out, at + strlen(from));
  return out;
}

/* name NULL: the baseline; from NULL: the text as it is. */
static inline mlaf_status verdict_of(verdict_bench *b, const char *problem, const char *name, const char *from, const char *to,
                                     mlaf_inject inject, mlaf_verify_result *result) {
  mlaf_err err = {MLAF_OK, ""};
  mlaf_point p;
  mlaf_variant v = {.name = NULL};
  mlaf_status st = mlaf_point_parse(NULL, problem, &p, err.text, sizeof err.text);
  if (!st) st = name ? mlaf_gen_variant(b->gen, problem, VERDICT_TARGET, name, &v, &err)
                     : mlaf_gen_baseline(b->gen, problem, VERDICT_TARGET, &v, &err);
  if (st) fail_msg("%s: %s", problem, err.text);
  char *source = NULL, hash[MLAF_HASH_HEX];
  const char *const *options = NULL;
  if (mlaf_gen_render(b->gen, &v.kernels[0], VERDICT_TARGET, &source, hash, &err) ||
      mlaf_gen_options(b->gen, VERDICT_TARGET, &options, &err))
    fail_msg("%s", err.text);
  char *changed = from ? with_mistake(source, from, to) : NULL;
  mlaf_compile_job job = {.source = changed ? changed : source, .options = options, .target = VERDICT_TARGET,
                          .name = v.kernels[0].symbol};
  if (mlaf_compile(b->compiler, &job, 1, NULL, NULL, &err) || job.status)
    fail_msg("%s: %s", from ? from : problem, job.log ? job.log : err.text);
  mlaf_kernel_ref ref = {.threads = v.kernels[0].threads, .rows_per_wg = v.kernels[0].rows_per_wg};
  snprintf(ref.template_name, sizeof ref.template_name, "%s", v.kernels[0].template_name);
  snprintf(ref.params, sizeof ref.params, "%s", v.kernels[0].params);
  snprintf(ref.symbol, sizeof ref.symbol, "%s", v.kernels[0].symbol);
  const mlaf_loaded_desc desc = {.name = v.name, .kernels = {{&ref, {job.code, job.code_size}}}, .knob = v.knob};
  mlaf_loaded *l = NULL;
  mlaf_suite *s = NULL;
  if (mlaf_loaded_open(b->dev, &p, &desc, &l, &err) || mlaf_suite_create(&p, 1, inject, &s, &err)) fail_msg("%s", err.text);
  st = mlaf_suite_run(s, l, result, &err);
  mlaf_suite_free(s);
  mlaf_loaded_close(l);
  mlaf_compile_job_clear(&job);
  mlaf_variant_clear(&v);
  free(changed);
  free(source);
  return st;
}

#endif
