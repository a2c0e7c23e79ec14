/* A scripted generator, compiler and device: what each kernel does is written in a table, what was asked is counted. */
#pragma once

#include <stdatomic.h>
#include <time.h>

#include "cmocka_all.h"
#include "ops/mla_decode/launch.h"
#include "tune/tune.h"

enum { FAKE_KERNELS = 12, FAKE_SPLITS = 4, FAKE_LOG = 4096 };

typedef struct fake_kernel {
  const char *template_name;   /* NULL: "fake_decode" */
  double model_ns, ns;         /* of one split; more splits: see fake_ns */
  mlaf_status compile, verify; /* what they return */
  mlaf_status time;
  uint32_t scratch;
  bool kills_device, noisy, any_lengths;
} fake_kernel;

typedef struct fake {
  mlaf_device_base device; /* first: a mlaf_device */
  int n, splits;
  fake_kernel k[FAKE_KERNELS];
  const char *version;  /* of the template: part of its hash */
  const char *compiler; /* part of every key */
  bool modelled, dead, no_compiler;
  atomic_int compiles, compile_calls;
  int verifies, timings, opened, closed;
  int cancel_after; /* timings until the flag is set; 0: never */
  atomic_bool cancel;
  int timing_ms;      /* how long a timing takes */
  const char *timing; /* the timings' detail, or NULL */
  double give_up_ns, limit_s, deadline; /* what the last timing was told */
  char log[FAKE_LOG]; /* "v:k0/s1 t:k0/s1 ..." */
  bool watches;       /* the device's lock is looked at: */
  int alone, shared;  /* timings that had the device alone, verifications that others may share */
} fake;

struct mlaf_loaded {
  fake *f;
  int kernel;
  uint32_t splits;
};
struct mlaf_suite {
  int unused;
};
struct mlaf_bench {
  fake *f;
};

/* Two splits are best; the model thinks one is. */
static double fake_ns(const fake *f, int kernel, uint32_t splits) {
  return f->k[kernel].ns * (splits == 2 ? 0.9 : 1 + 0.1 * splits);
}

static mlaf_status fake_space(mlaf_gen *g, const char *problem, const char *target, mlaf_variant **list, size_t *n,
                              mlaf_err *err) {
  fake *f = (fake *)g;
  mlaf_variant *v = calloc((size_t)(f->n * f->splits) + 1, sizeof *v);
  size_t at = 0;
  for (int s = 0; s < f->splits; s++) /* model order: all kernels at one split, then at two, ... */
    for (int k = 0; k < f->n; k++, at++) {
      const char *template = f->k[k].template_name ? f->k[k].template_name : "fake_decode";
      v[at].name = mlaf_format("k%d/s%d", k, s + 1);
      v[at].knob = (uint32_t)s + 1;
      v[at].model_ns = f->k[k].model_ns * (1 + 0.5 * s);
      v[at].any_lengths = f->k[k].any_lengths;
      v[at].kernels[0] = (mlaf_kernel_desc){mlaf_strdup(template), mlaf_format("i=%d", k), "", "", 256, 16, 1024, 400, 64, 304};
      snprintf(v[at].kernels[0].symbol, sizeof v[at].kernels[0].symbol, "mlaf_k%d", k);
      mlaf_sha256_hex(f->version, strlen(f->version), v[at].kernels[0].template_hash);
      if (s == 0) continue;
      v[at].kernels[1] = (mlaf_kernel_desc){
          mlaf_strdup("fake_combine"), mlaf_strdup("i=100"), "mlaf_k100", "", 256, 1, 1024, 400, 0, 0};
      mlaf_sha256_hex("combine", 7, v[at].kernels[1].template_hash);
    }
  v[at].name = mlaf_strdup("k99/s1");
  v[at].rejected = mlaf_strdup("LDS 99999 > 65536");
  v[at].kernels[0] = (mlaf_kernel_desc){
      mlaf_strdup("fake_decode"), mlaf_strdup("i=99"), "mlaf_k99", "", 256, 16, 99999, 400, 64, 304};
  *list = v;
  *n = at + 1;
  return MLAF_OK;
}

static mlaf_status fake_render(mlaf_gen *g, const mlaf_kernel_desc *k, const char *target, char **source,
                               char src_hash[MLAF_HASH_HEX], mlaf_err *err) {
  *source = mlaf_strdup(k->params);
  mlaf_sha256_hex(*source, strlen(*source), src_hash);
  return MLAF_OK;
}

static mlaf_status fake_options(mlaf_gen *g, const char *target, const char *const **options, mlaf_err *err) {
  static const char *const none[] = {NULL};
  *options = none;
  return MLAF_OK;
}

static mlaf_status fake_identity(mlaf_compiler *c, const char *target, const char **id, mlaf_err *err) {
  *id = ((fake *)c)->compiler;
  return MLAF_OK;
}

static mlaf_status fake_key(mlaf_compiler *c, mlaf_compile_job *job, mlaf_err *err) {
  const char *id = ((fake *)c)->compiler;
  mlaf_sha256_parts((const void *[]){job->source, id}, (size_t[]){strlen(job->source), strlen(id)}, 2, job->key);
  return MLAF_OK;
}

static int kernel_of(const char *source) { return (int)strtol(source + 2, NULL, 10); }

/* Like the real one: outcomes job by job, progress on the calling thread, the rest cancelled when it says stop. */
static mlaf_status fake_compile(mlaf_compiler *c, mlaf_compile_job *jobs, size_t n, mlaf_compile_progress progress,
                                void *user, mlaf_err *err) {
  fake *f = (fake *)c;
  bool go_on = true;
  atomic_fetch_add(&f->compile_calls, 1);
  for (size_t i = 0; i < n; i++) jobs[i].status = MLAF_E_CANCELLED;
  for (size_t i = 0; i < n && go_on; i++) {
    int k = kernel_of(jobs[i].source);
    nanosleep(&(struct timespec){0, 2000000L}, NULL);
    fake_key(c, &jobs[i], err);
    jobs[i].status = f->no_compiler ? MLAF_E_NO_COMPILER : k < FAKE_KERNELS ? f->k[k].compile : MLAF_OK;
    jobs[i].log = mlaf_strdup(jobs[i].status ? "x.hip:3: error: it will not do\nsecond line" : "");
    if (jobs[i].status == MLAF_OK) {
      jobs[i].code = mlaf_strdup(jobs[i].source);
      jobs[i].code_size = strlen(jobs[i].source) + 1;
    }
    atomic_fetch_add(&f->compiles, 1);
    go_on = progress(user, i + 1, n, &jobs[i]);
  }
  if (f->no_compiler) return mlaf_fail(err, MLAF_E_NO_COMPILER, "no hiprtc here");
  return go_on ? MLAF_OK : mlaf_fail(err, MLAF_E_CANCELLED, "stopped");
}

static mlaf_status fake_meta(const void *code, size_t size, mlaf_kernel_meta *out, size_t max, size_t *n,
                             mlaf_err *err);

static mlaf_status fake_open(mlaf_device *dev, const mlaf_point *p, const mlaf_loaded_desc *desc, mlaf_loaded **out,
                             mlaf_err *err) {
  fake *f = (fake *)dev;
  assert_non_null(desc->kernels[0].code.bytes);
  assert_true((desc->knob > 1) == (desc->kernels[1].ref != NULL));
  *out = malloc(sizeof **out);
  **out = (mlaf_loaded){f, kernel_of(desc->kernels[0].code.bytes), desc->knob};
  f->opened++;
  return MLAF_OK;
}

static void fake_close(mlaf_loaded *l) {
  l->f->closed++;
  free(l);
}

static mlaf_status fake_suite(const mlaf_point *p, uint64_t seed, mlaf_inject inject, mlaf_suite **out,
                              mlaf_err *err) {
  *out = calloc(1, sizeof **out);
  return MLAF_OK;
}
static void fake_suite_free(mlaf_suite *s) { free(s); }

static void note(fake *f, char what, const mlaf_loaded *l) {
  size_t n = strlen(f->log);
  snprintf(f->log + n, sizeof f->log - n, "%c:k%d/s%u ", what, l->kernel, l->splits);
}

/* True if another tuner could get the device now. */
typedef mlaf_status fake_take(const mlaf_device *, const mlaf_log *, const atomic_bool *, double, int *, mlaf_err *);
static bool fake_gets(const fake *f, fake_take *take) {
  int lock = -1;
  const mlaf_status st = take((const mlaf_device *)f, NULL, NULL, mlaf_now() + 0.01, &lock, NULL);
  mlaf_tuner_unlock(lock);
  return st == MLAF_OK;
}

static mlaf_status fake_verify(const mlaf_suite *s, const mlaf_loaded *l, mlaf_verify_result *out, mlaf_err *err) {
  fake *f = l->f;
  const fake_kernel *k = &f->k[l->kernel];
  note(f, 'v', l);
  f->verifies++;
  f->shared += f->watches && fake_gets(f, mlaf_tuner_share) && !fake_gets(f, mlaf_tuner_lock);
  *out = (mlaf_verify_result){.error = 1.7e-3, .cases = 3};
  if (k->verify == MLAF_OK) return MLAF_OK;
  f->dead = f->dead || k->kills_device;
  return mlaf_fail(err, k->verify, "case ragged: row 3 is wrong");
}

static mlaf_status fake_bench(mlaf_device *dev, const mlaf_point *p, const mlaf_bench_opts *opts, mlaf_bench **out,
                              mlaf_err *err) {
  *out = malloc(sizeof **out);
  (*out)->f = (fake *)dev;
  return MLAF_OK;
}
static void fake_bench_free(mlaf_bench *b) { free(b); }

static mlaf_status fake_time(mlaf_bench *b, const mlaf_loaded *l, const mlaf_time_opts *opts, mlaf_timing *out,
                             mlaf_err *err) {
  fake *f = b->f;
  const fake_kernel *k = &f->k[l->kernel];
  note(f, 't', l);
  f->timings++;
  f->alone += f->watches && !fake_gets(f, mlaf_tuner_share);
  f->give_up_ns = opts->give_up_ns, f->limit_s = opts->limit_s, f->deadline = opts->deadline;
  nanosleep(&(struct timespec){0, f->timing_ms * 1000000L}, NULL);
  if (f->cancel_after && f->timings == f->cancel_after) atomic_store(&f->cancel, true);
  if (k->time != MLAF_OK) return mlaf_fail(err, k->time, "the launch failed");
  double ns = fake_ns(f, l->kernel, l->splits);
  *out = (mlaf_timing){.source = f->modelled ? MLAF_TIME_MODELLED : MLAF_TIME_MEASURED,
                       .ns = ns,
                       .p10_ns = ns * 0.99,
                       .p90_ns = k->noisy ? ns * 2 : ns * 1.01,
                       .samples = 11,
                       .clock_mhz = 2100};
  if (f->timing) snprintf(out->detail, sizeof out->detail, "%s", f->timing);
  return MLAF_OK;
}

static mlaf_status fake_alive(mlaf_device *dev, mlaf_err *err) {
  return ((fake *)dev)->dead ? mlaf_fail(err, MLAF_E_DEVICE, "no answer") : MLAF_OK;
}

static const mlaf_tuner_steps fake_steps = {
    fake_space, fake_render, fake_options,    fake_identity, fake_key,   fake_compile,    fake_meta, fake_open,
    fake_close, fake_suite,  fake_suite_free, fake_verify,   fake_bench, fake_bench_free, fake_time, fake_alive,
    NULL,
};

static fake *fake_for_meta; /* the one call that has no handle */
static mlaf_status fake_meta(const void *code, size_t size, mlaf_kernel_meta *out, size_t max, size_t *n,
                             mlaf_err *err) {
  int k = kernel_of(code);
  *out = (mlaf_kernel_meta){.vgpr_count = 300, .agpr_count = 128, .lds_bytes = 1024, .max_threads = 256};
  out->kernarg_bytes = k == 100 ? sizeof(mlaf_combine_args) : sizeof(mlaf_decode_args);
  if (k < FAKE_KERNELS) out->scratch_bytes = fake_for_meta->k[k].scratch;
  snprintf(out->symbol, sizeof out->symbol, "mlaf_k%d", k);
  *n = 1;
  return MLAF_OK;
}

static const mlaf_device_ops fake_measured_ops = {.name = "fake"},
                            fake_emulated_ops = {.name = "emu:fake", .features = MLAF_DEVICE_MODELLED};

/* n kernels, the k-th takes 1000 + 100 k ns, and the model knows it. */
static fake *fake_new(int n, int splits) {
  fake *f = calloc(1, sizeof *f);
  f->n = n;
  f->splits = splits;
  f->version = "v1";
  f->compiler = "fake compiler 1";
  f->device.ops = &fake_measured_ops;
  snprintf(f->device.info.id, sizeof f->device.info.id, "fake:%d", (int)getpid());
  snprintf(f->device.info.target, sizeof f->device.info.target, "gfx942");
  for (int k = 0; k < n; k++) f->k[k].ns = f->k[k].model_ns = 1000 + 100 * k;
  fake_for_meta = f;
  return f;
}
