/* From a variant's name and a problem to a verdict on an emulator, of the kernel as it is or with one place changed. */
#pragma once

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

/* `text` with the first place of `from` replaced; NULL: it has none. */
static inline char *with_mistake(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  if (!at) return NULL;
  char *out = malloc(strlen(text) + strlen(to) + 1);
  memcpy(out, text, (size_t)(at - text));
  strcpy(out + (at - text), to);
  strcat(out, at + strlen(from));
  return out;
}

/* A kernel of a variant, compiled: true if `from` stood in its text and was replaced. from NULL: the text as it is. */
static inline bool compile_kernel(bench *b, const mlaf_kernel_desc *k, const char *from, const char *to,
                                  mlaf_kernel_ref *ref, mlaf_compile_job *job) {
  mlaf_err err = {MLAF_OK, ""};
  char *source = NULL, hash[MLAF_HASH_HEX];
  const char *const *options = NULL;
  if (mlaf_gen_render(b->gen, k, b->target, &source, hash, &err) ||
      mlaf_gen_options(b->gen, b->target, &options, &err))
    fail_msg("%s", err.text);
  char *changed = from ? with_mistake(source, from, to) : NULL;
  *job = (mlaf_compile_job){.source = changed ? changed : source, .options = options, .target = b->target,
                            .name = k->symbol};
  if (mlaf_compile(b->compiler, job, 1, NULL, NULL, &err) || job->status)
    fail_msg("%s: %s", from ? from : k->symbol, job->log ? job->log : err.text);
  *ref = (mlaf_kernel_ref){.threads = k->threads, .rows_per_wg = k->rows_per_wg};
  snprintf(ref->template_name, sizeof ref->template_name, "%s", k->template_name);
  snprintf(ref->params, sizeof ref->params, "%s", k->params);
  snprintf(ref->symbol, sizeof ref->symbol, "%s", k->symbol);
  free(changed);
  free(source);
  return changed != NULL;
}

/* name NULL: the baseline; from NULL: the text as it is, else of the first kernel that has it. */
static inline mlaf_status verdict_of(bench *b, const char *name, const char *problem, const char *from, const char *to,
                                     mlaf_inject inject, mlaf_verify_result *result) {
  mlaf_err err = {MLAF_OK, ""};
  mlaf_point p;
  mlaf_variant v = {.name = NULL};
  mlaf_status st = mlaf_point_parse(NULL, problem, &p, err.text, sizeof err.text);
  if (!st) st = name ? mlaf_gen_variant(b->gen, problem, b->target, name, &v, &err)
                     : mlaf_gen_baseline(b->gen, problem, b->target, &v, &err);
  if (st) fail_msg("%s: %s", problem, err.text);
  mlaf_kernel_ref refs[MLAF_STAGES_MAX];
  mlaf_compile_job jobs[MLAF_STAGES_MAX] = {{.source = NULL}};
  mlaf_loaded_desc desc = {.name = v.name, .knob = v.knob};
  bool found = false;
  for (int i = 0; i < MLAF_STAGES_MAX; i++) {
    if (!v.kernels[i].template_name) continue;
    found |= compile_kernel(b, &v.kernels[i], found ? NULL : from, to, &refs[i], &jobs[i]);
    desc.kernels[i].ref = &refs[i];
    desc.kernels[i].code = (mlaf_code){jobs[i].code, jobs[i].code_size};
  }
  if (from && !found) fail_msg("no kernel has '%s'", from);
  mlaf_loaded *l = NULL;
  mlaf_suite *s = NULL;
  if (mlaf_loaded_open(b->dev, &p, &desc, &l, &err) || mlaf_suite_create(&p, 1, inject, &s, &err)) fail_msg("%s", err.text);
  st = mlaf_suite_run(s, l, result, &err);
  mlaf_suite_free(s);
  mlaf_loaded_close(l);
  for (int i = 0; i < MLAF_STAGES_MAX; i++) mlaf_compile_job_clear(&jobs[i]);
  mlaf_variant_clear(&v);
  return st;
}

/* Every variant of the list verifies, under every injection. */
static inline void all_verify(const char *const (*variants)[2], size_t n) {
  bench b;
  open_bench(&b, "gfx942");
  for (size_t i = 0; i < n; i++)
    for (int inject = MLAF_INJECT_NONE; inject <= MLAF_INJECT_OOB_PAGE; inject++) {
      const char *problem = variants[i][0], *name = variants[i][1];
      mlaf_verify_result r;
      if (verdict_of(&b, name, problem, NULL, NULL, (mlaf_inject)inject, &r))
        fail_msg("%s %s: %s", problem, name ? name : "baseline", r.detail);
      if (!(r.rows > 0 && (r.error > 0 || inject) && r.error <= 2.5e-3)) fail_msg("%s %s %d: %g", problem, name, inject, r.error);
    }
  close_bench(&b);
}

typedef struct verified {
  const char *target, *problem, *variant;
  mlaf_inject inject;
} verified;

/* Each variant of the list verifies on its target's emulator. */
static inline void each_verifies(const verified *list, size_t n) {
  for (const verified *v = list; v < list + n; v++) {
    bench b;
    mlaf_verify_result r;
    open_bench(&b, v->target);
    if (verdict_of(&b, v->variant, v->problem, NULL, NULL, v->inject, &r)) fail_msg("%s: %s", v->problem, r.detail);
    assert_true(r.rows > 0);
    close_bench(&b);
  }
}

typedef struct mistake {
  const char *problem, *name, *from, *to;
} mistake;

/* Each mistake is found, under one of the injections from none to `most`. */
static inline void all_are_found(const mistake *list, size_t n, mlaf_inject most) {
  bench b;
  open_bench(&b, "gfx942");
  for (const mistake *m = list; m < list + n; m++) {
    mlaf_status st = MLAF_OK;
    mlaf_verify_result r;
    for (int inject = MLAF_INJECT_NONE; !st && inject <= (int)most; inject++)
      st = verdict_of(&b, m->name, m->problem, m->from, m->to, (mlaf_inject)inject, &r);
    if (st != MLAF_E_INCORRECT && st != MLAF_E_FAULT)
      fail_msg("'%s' as '%s' in %s: %s", m->from, m->to, m->problem, mlaf_status_text(st));
    assert_true(r.detail[0]);
  }
  close_bench(&b);
}
