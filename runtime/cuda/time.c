/* Timing by graph replays between two events; the protocol is device/measure.c's. Graphs,
 * because a decode kernel may take less time than the call that launches it. */
#include "cuda/cuda_device.h"
#include "device/measure.h"

enum { GRAPH_SEQUENCES = 64 };

typedef struct timer {
  mlaf_cuda *c;
  const mlaf_launch *launches;
  size_t n;
  int sets; /* sequences of n launches, taken in turn */
  void *stream, *start, *stop;
  void *exec;    /* a graph of `in_graph` sequences from `graph_first` on */
  int in_graph, graph_first;
} timer;

static mlaf_status call(timer *t, int code, const char *name, mlaf_err *err) {
  return mlaf_cuda_check(&t->c->api, code, name, err);
}

static mlaf_status enqueue(timer *t, int first, int sequences, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (int r = first; !st && r < first + sequences; r++)
    for (size_t i = 0; !st && i < t->n; i++)
      st = mlaf_cuda_launch((mlaf_device *)t->c, t->stream, &t->launches[(size_t)(r % t->sets) * t->n + i], err);
  return st;
}

static void drop_graph(timer *t) {
  if (t->exec) t->c->api.cuGraphExecDestroy(t->exec);
  t->exec = NULL;
  t->in_graph = 0;
}

/* Have a graph of `sequences` from `first` on. Capture in thread-local mode: what other threads do with CUDA is none of our
 * business. */
static mlaf_status have_graph(timer *t, int first, int sequences, mlaf_err *err) {
  const mlaf_cuda_api *api = &t->c->api;
  void *graph = NULL;
  if (t->in_graph == sequences && t->graph_first == first) return MLAF_OK;
  drop_graph(t);
  mlaf_status st =
      call(t, api->cuStreamBeginCapture_v2(t->stream, CUDA_CAPTURE_THREAD_LOCAL), "cuStreamBeginCapture", err);
  if (st) return st;
  st = enqueue(t, first, sequences, err);
  /* A capture must be ended, whatever became of it; the first error is the one that matters. */
  mlaf_status ended = call(t, api->cuStreamEndCapture(t->stream, &graph), "cuStreamEndCapture", st ? NULL : err);
  if (!st) st = ended;
  if (!st) st = call(t, api->cuGraphInstantiateWithFlags(&t->exec, graph, 0), "cuGraphInstantiate", err);
  if (!st) st = call(t, api->cuGraphUpload(t->exec, t->stream), "cuGraphUpload", err);
  if (graph) api->cuGraphDestroy(graph);
  if (!st) t->in_graph = sequences;
  if (!st) t->graph_first = first;
  return st;
}

static mlaf_status sample(void *user, int first, int repeats, double *ns, mlaf_err *err) {
  timer *t = user;
  const mlaf_cuda_api *api = &t->c->api;
  const int most = t->sets > GRAPH_SEQUENCES ? t->sets : GRAPH_SEQUENCES, sequences = repeats < most ? repeats : most;
  float ms = 0;
  mlaf_status st = have_graph(t, first, sequences, err);
  if (!st) st = call(t, api->cuEventRecord(t->start, t->stream), "cuEventRecord", err);
  for (int r = 0; !st && r < repeats / sequences; r++)
    st = call(t, api->cuGraphLaunch(t->exec, t->stream), "cuGraphLaunch", err);
  if (!st) st = call(t, api->cuEventRecord(t->stop, t->stream), "cuEventRecord", err);
  if (!st) st = call(t, api->cuEventSynchronize(t->stop), "cuEventSynchronize", err);
  if (!st) st = call(t, api->cuEventElapsedTime(&ms, t->start, t->stop), "cuEventElapsedTime", err);
  if (!st && !(ms >= 0))
    st = mlaf_fail(err, MLAF_E_DEVICE, "cuEventElapsedTime: %g ms, time ran backwards", (double)ms);
  if (!st) *ns = (double)ms * 1e6;
  return st;
}

static mlaf_status prepare(timer *t, mlaf_err *err) {
  const mlaf_cuda_api *api = &t->c->api;
  mlaf_status st = call(t, api->cuStreamCreate(&t->stream, CUDA_STREAM_NON_BLOCKING), "cuStreamCreate", err);
  if (!st) st = call(t, api->cuEventCreate(&t->start, 0), "cuEventCreate", err);
  if (!st) st = call(t, api->cuEventCreate(&t->stop, 0), "cuEventCreate", err);
  return st;
}

static void finish(timer *t) {
  const mlaf_cuda_api *api = &t->c->api;
  if (t->stream) api->cuStreamSynchronize(t->stream); /* buffers are freed next: nothing may be in flight */
  drop_graph(t);
  if (t->start) api->cuEventDestroy_v2(t->start);
  if (t->stop) api->cuEventDestroy_v2(t->stop);
  if (t->stream) api->cuStreamDestroy_v2(t->stream);
}

mlaf_status mlaf_cuda_time(mlaf_device *dev, const mlaf_launch *launches, size_t n, const mlaf_time_opts *opts,
                           mlaf_timing *out, mlaf_err *err) {
  timer t = {.c = mlaf_cuda_of(dev), .launches = launches, .n = n, .sets = opts->sets > 1 ? opts->sets : 1};
  mlaf_timing timing = {.source = MLAF_TIME_MEASURED, .clock_mhz = t.c->base.info.clock_mhz};
  bool pushed;
  mlaf_status st = mlaf_cuda_enter(t.c, &pushed, err);
  if (!st) {
    st = prepare(&t, err);
    if (!st) st = enqueue(&t, 0, opts->warmup, err);
    if (!st) st = mlaf_measure(sample, &t, opts, &timing, err);
    const size_t said = strlen(timing.detail);
    snprintf(timing.detail + said, sizeof timing.detail - said, ", graph of %d", t.in_graph);
    finish(&t);
    mlaf_cuda_leave(t.c, pushed);
  }
  if (!st) *out = timing;
  return st;
}
