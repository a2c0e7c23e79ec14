/* Runs random programs (random_hip.h) on emulated targets and compares them with the host compiler's. */
#pragma once

#include "compile/compile.h"
#include "emu/emu_launch.h"
#include "random_hip.h"

#ifndef MLAF_TEST_CC
#define MLAF_TEST_CC "cc"
#endif

enum { RH_MOST = 32 /* programs of one source */ };
typedef void (*rh_function)(const uint32_t *in, uint32_t *out);

typedef struct rh_batch {
  uint64_t first;
  int n;
  char *hip;
  void *library;
  uint32_t *want[RH_MOST];
  char why[1024]; /* of the last failure */
} rh_batch;

static inline bool rh_failed(rh_batch *b, const char *fmt, ...) MLAF_PRINTF(2, 3);
static inline bool rh_failed(rh_batch *b, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(b->why, sizeof b->why, fmt, ap);
  va_end(ap);
  return false;
}

/* The host's part: source, compiler, results. */
static inline bool rh_open(rh_batch *b, uint64_t first, int n) {
  mlaf_text hip = MLAF_TEXT_INIT(8u << 20), host = MLAF_TEXT_INIT(8u << 20);
  char dir[] = "/tmp/mlaf-random-XXXXXX", path[96], lib[96], command[400];
  memset(b, 0, sizeof *b);
  b->first = first, b->n = n;
  mlaf_text_str(&hip, rh_hip_head);
  mlaf_text_str(&host, rh_host_head);
  for (int i = 0; i < n; i++) rh_program(first + (uint64_t)i, &hip, &host);
  b->hip = mlaf_text_take(&hip);
  char *text = mlaf_text_take(&host);
  if (!b->hip || !text || !mkdtemp(dir)) return rh_failed(b, "no memory or no /tmp");
  snprintf(path, sizeof path, "%s/r.c", dir);
  snprintf(lib, sizeof lib, "%s/r.so", dir);
  FILE *f = fopen(path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f)) return rh_failed(b, "cannot write %s", path);
  free(text);
  snprintf(command, sizeof command, MLAF_TEST_CC " -w -O1 -ffp-contract=off -fno-strict-aliasing -fPIC -shared -o %s %s -lm", lib,
           path);
  if (system(command) != 0) return rh_failed(b, "the host compiler does not take %s", path);
  b->library = dlopen(lib, RTLD_NOW | RTLD_LOCAL);
  unlink(path), unlink(lib), rmdir(dir);
  if (!b->library) return rh_failed(b, "%s", dlerror());
  for (int i = 0; i < n; i++) {
    char name[32];
    uint32_t in[RH_INPUTS];
    snprintf(name, sizeof name, "r%llu", (unsigned long long)(first + (uint64_t)i));
    rh_function fn;
    void *symbol = dlsym(b->library, name);
    memcpy(&fn, &symbol, sizeof fn);
    b->want[i] = calloc(RH_THREADS * RH_OUTPUTS, 4);
    if (!fn || !b->want[i]) return rh_failed(b, "no %s", name);
    rh_input(first + (uint64_t)i, in);
    fn(in, b->want[i]);
  }
  return true;
}

static inline void rh_close(rh_batch *b) {
  for (int i = 0; i < b->n; i++) free(b->want[i]);
  if (b->library) dlclose(b->library);
  free(b->hip);
}

/* One program of a loaded batch. */
static inline bool rh_run_one(rh_batch *b, mlaf_device *dev, mlaf_module *module, int i) {
  const mlaf_device_ops *ops = mlaf_ops(dev);
  void *in, *out, *args[2];
  mlaf_function *fn;
  mlaf_err err;
  char name[32];
  uint32_t data[RH_INPUTS], *got;
  snprintf(name, sizeof name, "r%llu", (unsigned long long)(b->first + (uint64_t)i));
  rh_input(b->first + (uint64_t)i, data);
  if (ops->mem_alloc(dev, sizeof data, &in, &err) || ops->mem_alloc(dev, 4 * RH_THREADS * RH_OUTPUTS, &out, &err) ||
      ops->function_get(dev, module, name, &fn, &err)) return rh_failed(b, "%s", err.text);
  memcpy(in, data, sizeof data);
  args[0] = in, args[1] = out;
  mlaf_launch l = {.fn = fn, .grid = {1, 1, 1}, .block = {RH_THREADS, 1, 1}, .args = args, .args_size = sizeof args};
  bool ok = ops->launch(dev, NULL, &l, &err) == MLAF_OK || rh_failed(b, "%s: %s", name, err.text);
  got = out;
  for (int k = 0; ok && k < RH_THREADS * RH_OUTPUTS; k++)
    if (got[k] != b->want[i][k])
      ok = rh_failed(b, "%s: thread %d word %d is %08x, the host's %08x", name, k / RH_OUTPUTS, k % RH_OUTPUTS, got[k],
                     b->want[i][k]);
  ops->mem_free(dev, in, NULL);
  ops->mem_free(dev, out, NULL);
  return ok;
}

/* All of it at one level on one target; calls report(i, why) for each that fails. The number that agree, -1 when none ran. */
static inline int rh_run(rh_batch *b, const mlaf_device_ops *ops, const char *level,
                         void (*report)(rh_batch *b, int i, const char *where)) {
  const char *const options[] = {level, "-ffp-contract=off", NULL};
  mlaf_compile_job job = {.source = b->hip, .options = options, .target = ops->name + 4, .name = "random"};
  mlaf_compiler *compiler = NULL;
  mlaf_device *dev = NULL;
  mlaf_module *module = NULL;
  mlaf_err err = {MLAF_OK, ""};
  char where[64];
  int agree = 0;
  snprintf(where, sizeof where, "%s %s", ops->name, level);
  if (mlaf_compiler_open(NULL, NULL, &compiler, &err) || ops->open(0, NULL, &dev, &err) ||
      mlaf_compile(compiler, &job, 1, NULL, NULL, &err) || job.status ||
      ops->module_load(dev, job.code, job.code_size, &module, &err)) {
    rh_failed(b, "%s %.600s", err.text, job.log ? job.log : "");
    report(b, -1, where);
    agree = -1;
  }
  for (int i = 0; agree >= 0 && i < b->n; i++) {
    bool ok = rh_run_one(b, dev, module, i);
    if (!ok) report(b, i, where);
    agree += ok;
  }
  if (module) ops->module_unload(dev, module);
  if (dev) ops->close(dev);
  mlaf_compile_job_clear(&job);
  if (compiler) mlaf_compiler_close(compiler);
  return agree;
}
