/* Timing by events: warm up, double the repeats until a sample fills its window, then medians. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "hip/hip_device.h"

enum { MAX_SAMPLES = 1000, MAX_REPEATS = 1 << 20 };

typedef struct timer {
  mlaf_hip *h;
  const mlaf_launch *launches;
  size_t n;
  void *stream, *start, *stop;
} timer;

static mlaf_status call(timer *t, int code, const char *name, mlaf_err *err) {
  return mlaf_hip_check(&t->h->api, code, name, err);
}

static mlaf_status run(timer *t, int repeats, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (int r = 0; !st && r < repeats; r++)
    for (size_t i = 0; !st && i < t->n; i++) st = mlaf_hip_launch((mlaf_device *)t->h, t->stream, &t->launches[i], err);
  return st;
}

/* Nanoseconds of `repeats` sequences between two events of one stream. */
static mlaf_status sample(timer *t, int repeats, double *ns, mlaf_err *err) {
  const mlaf_hip_api *api = &t->h->api;
  float ms = 0;
  mlaf_status st = call(t, api->hipEventRecord(t->start, t->stream), "hipEventRecord", err);
  if (!st) st = run(t, repeats, err);
  if (!st) st = call(t, api->hipEventRecord(t->stop, t->stream), "hipEventRecord", err);
  if (!st) st = call(t, api->hipEventSynchronize(t->stop), "hipEventSynchronize", err);
  if (!st) st = call(t, api->hipEventElapsedTime(&ms, t->start, t->stop), "hipEventElapsedTime", err);
  if (!st && !(ms >= 0))
    st = mlaf_fail(err, MLAF_E_DEVICE, "hipEventElapsedTime: %g ms, time ran backwards", (double)ms);
  if (!st) *ns = (double)ms * 1e6;
  return st;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Linear interpolation in a sorted list. */
static double quantile(const double *sorted, int n, double q) {
  double at = q * (n - 1);
  int i = (int)at;
  return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

static void summarise(double *ns, int n, mlaf_timing *out) {
  qsort(ns, (size_t)n, sizeof *ns, compare);
  out->ns = quantile(ns, n, 0.5);
  out->p10_ns = quantile(ns, n, 0.1);
  out->p90_ns = quantile(ns, n, 0.9);
  for (int i = 0; i < n; i++) ns[i] = fabs(ns[i] - out->ns);
  qsort(ns, (size_t)n, sizeof *ns, compare);
  out->mad_ns = quantile(ns, n, 0.5);
  out->samples = n;
}

/* Repeats per sample: doubled until a sample is as long as the window, so that the events' resolution does not matter.
 * A candidate that is hopeless already here is given up without more samples. */
static mlaf_status calibrate(timer *t, const mlaf_time_opts *o, double deadline, int *repeats, double *ns,
                             mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (*repeats = 1;; *repeats *= 2) {
    st = sample(t, *repeats, ns, err);
    if (st || *ns >= o->min_window_ns || *repeats >= MAX_REPEATS || mlaf_now() > deadline) break;
    if (o->give_up_ns > 0 && *repeats >= 4 && *ns / *repeats > o->give_up_ns) break;
  }
  *ns /= *repeats;
  return st;
}

static mlaf_status measure(timer *t, const mlaf_time_opts *o, double *ns, mlaf_timing *out, mlaf_err *err) {
  /* At the deadline a timing with enough samples ends; at three times it any does. */
  const double begin = mlaf_now(), limit = o->limit_s > 0 ? o->limit_s : 10, deadline = begin + limit;
  const int most = o->max_samples < 1 ? 1 : o->max_samples < MAX_SAMPLES ? o->max_samples : MAX_SAMPLES;
  int repeats = 1, n = 0;
  double first = 0;
  mlaf_status st = run(t, o->warmup, err);
  if (!st) st = calibrate(t, o, deadline, &repeats, &first, err);
  bool hopeless = !st && o->give_up_ns > 0 && first > o->give_up_ns;
  if (hopeless) ns[n++] = first;
  while (!st && !hopeless && n < most) {
    double sum;
    st = sample(t, repeats, &sum, err);
    if (!st) ns[n++] = sum / repeats;
    if (mlaf_now() > (n >= o->min_samples ? deadline : begin + 3 * limit)) break;
  }
  if (st) return st;
  summarise(ns, n, out);
  snprintf(out->detail, sizeof out->detail, "%d samples of %d sequences%s", n, repeats,
           hopeless             ? ", given up early"
           : n < o->min_samples ? ", time limit"
                                : "");
  return MLAF_OK;
}

static mlaf_status prepare(timer *t, mlaf_err *err) {
  const mlaf_hip_api *api = &t->h->api;
  mlaf_status st =
      call(t, api->hipStreamCreateWithFlags(&t->stream, HIP_STREAM_NON_BLOCKING), "hipStreamCreateWithFlags", err);
  if (!st) st = call(t, api->hipEventCreate(&t->start), "hipEventCreate", err);
  if (!st) st = call(t, api->hipEventCreate(&t->stop), "hipEventCreate", err);
  return st;
}

static void finish(timer *t) {
  const mlaf_hip_api *api = &t->h->api;
  if (t->stream) api->hipStreamSynchronize(t->stream); /* buffers are freed next: nothing may be in flight */
  if (t->start) api->hipEventDestroy(t->start);
  if (t->stop) api->hipEventDestroy(t->stop);
  if (t->stream) api->hipStreamDestroy(t->stream);
}

mlaf_status mlaf_hip_time(mlaf_device *dev, const mlaf_launch *launches, size_t n, const mlaf_time_opts *opts,
                          mlaf_timing *out, mlaf_err *err) {
  timer t = {.h = mlaf_hip_of(dev), .launches = launches, .n = n};
  mlaf_timing timing = {.source = MLAF_TIME_MEASURED, .clock_mhz = t.h->base.info.clock_mhz};
  int previous;
  double *ns = malloc(MAX_SAMPLES * sizeof *ns);
  if (!ns) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for samples");
  mlaf_status st = mlaf_hip_enter(t.h, &previous, err);
  if (!st) {
    st = prepare(&t, err);
    if (!st) st = measure(&t, opts, ns, &timing, err);
    finish(&t);
    mlaf_hip_leave(t.h, previous);
  }
  free(ns);
  if (!st) *out = timing;
  return st;
}
