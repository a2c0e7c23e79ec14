/* Timing by events; the protocol is device/measure.c's. */
#include "hip/hip_device.h"
#include "device/measure.h"

typedef struct timer {
  mlaf_hip *h;
  const mlaf_launch *launches;
  size_t n;
  int sets; /* sequences of n launches, taken in turn */
  void *stream, *start, *stop;
} timer;

static mlaf_status call(timer *t, int code, const char *name, mlaf_err *err) {
  return mlaf_hip_check(&t->h->api, code, name, err);
}

static mlaf_status run(timer *t, int repeats, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (int r = 0; !st && r < repeats; r++)
    for (size_t i = 0; !st && i < t->n; i++)
      st = mlaf_hip_launch((mlaf_device *)t->h, t->stream, &t->launches[(size_t)(r % t->sets) * t->n + i], err);
  return st;
}

/* Nanoseconds of `repeats` sequences between two events of one stream. */
static mlaf_status sample(void *user, int repeats, double *ns, mlaf_err *err) {
  timer *t = user;
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
  timer t = {.h = mlaf_hip_of(dev), .launches = launches, .n = n, .sets = opts->sets > 1 ? opts->sets : 1};
  mlaf_timing timing = {.source = MLAF_TIME_MEASURED, .clock_mhz = t.h->base.info.clock_mhz};
  int previous;
  mlaf_status st = mlaf_hip_enter(t.h, &previous, err);
  if (!st) {
    st = prepare(&t, err);
    if (!st) st = run(&t, opts->warmup, err);
    if (!st) st = mlaf_measure(sample, &t, opts, &timing, err);
    finish(&t);
    mlaf_hip_leave(t.h, previous);
  }
  if (!st) *out = timing;
  return st;
}
