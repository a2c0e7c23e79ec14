/* Verdicts on one decode kernel on an emulator, as it is and with its text changed. */
#ifndef MLAF_TEST_CHANGED_KERNEL_H
#define MLAF_TEST_CHANGED_KERNEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/verify.h"
#include "run/built.h"
#include "run/loaded.h"

typedef struct bench {
  mlaf_gen *gen;
  mlaf_compiler *compiler;
  mlaf_device *dev;
  const char *target;
} bench;

static inline void open_bench(bench *b, const char *target) {
  char device[32];
  mlaf_err err = {MLAF_OK, ""};
  built_cache();
  need_compiler(target);
  snprintf(device, sizeof device, "emu:%s", target);
  b->target = target;
  if (mlaf_gen_open(NULL, &b->gen, &err) || mlaf_compiler_open(NULL, NULL, &b->compiler, &err) ||
      mlaf_device_open(device, NULL, &b->dev, &err))
    fail_msg("%s", err.text);
}

static inline void close_bench(bench *b) {
  mlaf_device_close(b->dev);
  mlaf_compiler_close(b->compiler);
  mlaf_gen_close(b->gen);
}

/* `text` with the one place of `from` replaced; NULL: as it is. */
static inline char *replaced(const char *text, const char *from, const char *to) {
  const char *at = from ? strstr(text, from) : text;
  if (!at) fail_msg("the kernel has no '%s'", from ? from : "text");
  const size_t size = strlen(text) + (from ? strlen(to) : 0) + 1;
  char *out = malloc(size);
  snprintf(out, size, "%.*s%s%s", (int)(at - text), text, from ? to : "", at + (from ? strlen(from) : 0));
  return out;
}

/* Verdict on the variant `name`, a kernel without splits, whose text is changed. */
static inline mlaf_status verdict_of(bench *b, const char *name, const char *problem, const char *from, const char *to,
                                     mlaf_inject inject, mlaf_verify_result *result) {
  mlaf_err err = {MLAF_OK, ""};
  mlaf_point p;
  mlaf_variant v = {.name = NULL};
  mlaf_kernel_ref ref = {.threads = 0};
  mlaf_loaded *l = NULL;
  mlaf_suite *s = NULL;
  char *source = NULL, hash[MLAF_HASH_HEX];
  const char *const *options = NULL;
  if (mlaf_point_parse(NULL, problem, &p, err.text, sizeof err.text) ||
      mlaf_gen_variant(b->gen, problem, b->target, name, &v, &err) ||
      mlaf_gen_render(b->gen, &v.kernels[0], b->target, &source, hash, &err) ||
      mlaf_gen_options(b->gen, b->target, &options, &err))
    fail_msg("%s: %s", problem, err.text);
  char *changed = replaced(source, from, to);
  mlaf_compile_job job = {.source = changed, .options = options, .target = b->target, .name = v.kernels[0].symbol};
  if (mlaf_compile(b->compiler, &job, 1, NULL, NULL, &err) || job.status)
    fail_msg("%s: %s", from ? from : problem, job.log ? job.log : err.text);
  ref.threads = v.kernels[0].threads;
  ref.rows_per_wg = v.kernels[0].rows_per_wg;
  snprintf(ref.template_name, sizeof ref.template_name, "%s", v.kernels[0].template_name);
  snprintf(ref.params, sizeof ref.params, "%s", v.kernels[0].params);
  snprintf(ref.symbol, sizeof ref.symbol, "%s", v.kernels[0].symbol);
  const mlaf_loaded_desc desc = {.name = v.name, .kernels = {{&ref, {job.code, job.code_size}}}, .knob = v.knob};
  if (mlaf_loaded_open(b->dev, &p, &desc, &l, &err) || mlaf_suite_create(&p, 1, inject, &s, &err)) fail_msg("%s", err.text);
  const mlaf_status st = mlaf_suite_run(s, l, result, &err);
  mlaf_suite_free(s);
  mlaf_loaded_close(l);
  mlaf_compile_job_clear(&job);
  mlaf_variant_clear(&v);
  free(changed);
  free(source);
  return st;
}

#endif
