/* Timing by events; the protocol is device/measure.c's. By graph replays as on CUDA, because a decode kernel may take less time
 * than the call that launches it; launch by launch where the runtime has no graphs or cannot make one of these kernels. */
#include "device/measure.h"
#include "hip/hip_device.h"

enum { GRAPH_SEQUENCES = 64 };

typedef struct timer {
  mlaf_hip *h;
  const mlaf_launch *launches;
  size_t n;
  int sets; /* sequences of n launches, taken in turn */
  void *stream, *start, *stop;
  bool plain;    /* no graphs */
  void *exec;    /* a graph of `in_graph` sequences from `graph_first` on */
  int in_graph, graph_first;
} timer;

static mlaf_status call(timer *t, int code, const char *name, mlaf_err *err) {
  return mlaf_hip_check(&t->h->api, code, name, err);
}

static mlaf_status enqueue(timer *t, int first, int sequences, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (int r = first; !st && r < first + sequences; r++)
    for (size_t i = 0; !st && i < t->n; i++)
      st = mlaf_hip_launch((mlaf_device *)t->h, t->stream, &t->launches[(size_t)(r % t->sets) * t->n + i], err);
  return st;
}

static void drop_graph(timer *t) {
  if (t->exec) t->h->api.hipGraphExecDestroy(t->exec);
  t->exec = NULL;
  t->in_graph = 0;
}

/* Have a graph of `sequences` from `first` on. Capture in thread-local mode: what other threads do with HIP is none of our
 * business. False: this runtime does not make one. What is wrong with the launches themselves comes up again without it. */
static bool have_graph(timer *t, int first, int sequences) {
  const mlaf_hip_api *api = &t->h->api;
  void *graph = NULL;
  if (t->in_graph == sequences && t->graph_first == first) return true;
  drop_graph(t);
  if (api->hipStreamBeginCapture(t->stream, HIP_CAPTURE_THREAD_LOCAL)) return false;
  bool ok = enqueue(t, first, sequences, NULL) == MLAF_OK;
  ok = api->hipStreamEndCapture(t->stream, &graph) == HIP_OK && ok; /* ended, whatever became of it */
  ok = ok && api->hipGraphInstantiate(&t->exec, graph, NULL, NULL, 0) == HIP_OK;
  if (graph) api->hipGraphDestroy(graph);
  if (!ok) t->exec = NULL;
  if (!ok) return false;
  t->in_graph = sequences;
  t->graph_first = first;
  return true;
}

/* The sequences of a sample behind each other on the stream. */
static mlaf_status run(timer *t, int first, int repeats, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  if (t->plain) return enqueue(t, first, repeats, err);
  for (int r = 0; !st && r < repeats / t->in_graph; r++)
    st = call(t, t->h->api.hipGraphLaunch(t->exec, t->stream), "hipGraphLaunch", err);
  return st;
}

/* Nanoseconds of `repeats` sequences between two events of one stream. */
static mlaf_status sample(void *user, int first, int repeats, double *ns, mlaf_err *err) {
  timer *t = user;
  const mlaf_hip_api *api = &t->h->api;
  const int most = t->sets > GRAPH_SEQUENCES ? t->sets : GRAPH_SEQUENCES;
  float ms = 0;
  t->plain = t->plain || !have_graph(t, first, repeats < most ? repeats : most);
  mlaf_status st = call(t, api->hipEventRecord(t->start, t->stream), "hipEventRecord", err);
  if (!st) st = run(t, first, repeats, err);
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
  t->plain = !api->hipGraphInstantiate;
  mlaf_status st =
      call(t, api->hipStreamCreateWithFlags(&t->stream, HIP_STREAM_NON_BLOCKING), "hipStreamCreateWithFlags", err);
  if (!st) st = call(t, api->hipEventCreate(&t->start), "hipEventCreate", err);
  if (!st) st = call(t, api->hipEventCreate(&t->stop), "hipEventCreate", err);
  return st;
}

static void finish(timer *t) {
  const mlaf_hip_api *api = &t->h->api;
  if (t->stream) api->hipStreamSynchronize(t->stream); /* buffers are freed next: nothing may be in flight */
  drop_graph(t);
  if (t->start) api->hipEventDestroy(t->start);
  if (t->stop) api->hipEventDestroy(t->stop);
  if (t->stream) api->hipStreamDestroy(t->stream);
}

static void say_how(const timer *t, mlaf_timing *timing) {
  const size_t said = strlen(timing->detail);
  if (t->plain) snprintf(timing->detail + said, sizeof timing->detail - said, ", launched one by one");
  else snprintf(timing->detail + said, sizeof timing->detail - said, ", graph of %d", t->in_graph);
}

mlaf_status mlaf_hip_time(mlaf_device *dev, const mlaf_launch *launches, size_t n, const mlaf_time_opts *opts,
                          mlaf_timing *out, mlaf_err *err) {
  timer t = {.h = mlaf_hip_of(dev), .launches = launches, .n = n, .sets = opts->sets > 1 ? opts->sets : 1};
  mlaf_timing timing = {.source = MLAF_TIME_MEASURED, .clock_mhz = t.h->base.info.clock_mhz};
  int previous;
  mlaf_status st = mlaf_hip_enter(t.h, &previous, err);
  if (!st) {
    st = prepare(&t, err);
    if (!st) st = enqueue(&t, 0, opts->warmup, err);
    if (!st) st = mlaf_measure(sample, &t, opts, &timing, err);
    say_how(&t, &timing);
    finish(&t);
    mlaf_hip_leave(t.h, previous);
  }
  if (!st) *out = timing;
  return st;
}
