/* Several launches as one: a graph of the same kernels, whose parameters are set anew for every call.
 *
 * A graph costs the host less than half of what two launches do. But it begins when all before it in the stream has ended, while
 * a launch begins beside the end of what is before: 0.7 us of the device (docs/lab/server.md). Two or three launches cost the
 * host little, so their graph is for a stream with nothing to do: there the device waits for the host, and both gain. Whether it
 * has is asked (an answer of "nothing" is dear, and holds for the next few calls, too); behind work that is still under way they
 * are launched one by one. MLAF_GRAPH_LAUNCHES and more, a layer's, are always a graph: one by one they cost the host as long as
 * the device runs them, and a host that launches without a rest never finds its stream idle.
 *
 * A graph runs once at a time: in a second stream it would wait for the first. So it belongs to the stream that took it first,
 * and to one thread at a time; all others launch one by one, and so does everybody while the stream is captured. */
#include "cuda/cuda_device.h"
#include "device/kernel_launch.h"
#include "mlaf_thresholds.h"

enum { BLANK_BYTES = 2048, MARK = 720720 /* a multiple of every cluster's width up to 16 */ };

struct mlaf_chain {
  size_t n;
  mlaf_launch like[MLAF_CHAIN_MOST];
  void *graph, *exec, *nodes[MLAF_CHAIN_MOST];
  int users;
  mlaf_chain *next;
  atomic_flag taken; /* of what is below, and of the graph */
  bool owned, broken;
  void *stream;
  int sure; /* calls for which the stream counts as one with nothing to do */
};

/* --- launching --- */

static bool same_kernel(const mlaf_launch *a, const mlaf_launch *b) {
  return a->fn == b->fn && a->flags == b->flags && a->lds == b->lds && a->args_size == b->args_size &&
         !memcmp(a->block, b->block, sizeof a->block) && !memcmp(a->cluster, b->cluster, sizeof a->cluster);
}

static bool same_kernels(const mlaf_chain *k, const mlaf_launch *launches, size_t n) {
  bool same = n == k->n;
  for (size_t i = 0; same && i < n; i++) same = same_kernel(&k->like[i], &launches[i]);
  return same;
}

static bool takes_stream(mlaf_chain *k, void *stream) {
  if (stream == MLAF_STREAM_PER_THREAD) return false;
  if (!k->owned) {
    k->owned = true;
    k->stream = stream;
  }
  return k->stream == stream;
}

/* Asked strictly, the question would spoil the capture of another thread in another stream. */
static bool is_idle(mlaf_cuda *c, void *stream) {
  int mode = CUDA_CAPTURE_RELAXED;
  if (c->api.cuThreadExchangeStreamCaptureMode(&mode)) return false;
  const bool idle = c->api.cuStreamQuery(stream) == CUDA_OK;
  c->api.cuThreadExchangeStreamCaptureMode(&mode);
  return idle;
}

static bool may_run(mlaf_cuda *c, mlaf_chain *k, void *stream) {
  int capturing = 0;
  if (k->broken || !takes_stream(k, stream) || c->api.cuStreamIsCapturing(stream, &capturing) || capturing) return false;
  if (k->n >= MLAF_GRAPH_LAUNCHES) return true;
  if (k->sure) return k->sure--, true;
  const bool idle = is_idle(c, stream);
  if (idle) k->sure = MLAF_GRAPH_SURE_CALLS;
  return idle;
}

static int set_parameters(mlaf_cuda *c, mlaf_chain *k, size_t i, const mlaf_launch *l) {
  void *params[] = {(void *)(uintptr_t)l->args};
  cuda_kernel_node node = {.function = l->fn->raw, .shared = l->fn->dynamic_shared + l->lds, .params = params};
  memcpy(node.grid, l->grid, sizeof node.grid);
  memcpy(node.block, l->block, sizeof node.block);
  return c->api.cuGraphExecKernelNodeSetParams_v2(k->exec, k->nodes[i], &node);
}

/* false: nothing was launched. What the graph does not take, launches say better. */
static bool run(mlaf_cuda *c, mlaf_chain *k, void *stream, const mlaf_launch *launches) {
  for (size_t i = 0; !k->broken && i < k->n; i++) k->broken = set_parameters(c, k, i, &launches[i]) != CUDA_OK;
  k->broken = k->broken || c->api.cuGraphLaunch(k->exec, stream) != CUDA_OK;
  return !k->broken;
}

static bool run_graph(mlaf_cuda *c, mlaf_chain *k, void *stream, const mlaf_launch *launches, size_t n) {
  if (!k || !same_kernels(k, launches, n)) return false;
  if (atomic_flag_test_and_set_explicit(&k->taken, memory_order_acquire)) return false;
  const bool ran = may_run(c, k, stream) && run(c, k, stream, launches);
  atomic_flag_clear_explicit(&k->taken, memory_order_release);
  return ran;
}

mlaf_status mlaf_cuda_chain_launch(mlaf_device *dev, void *stream, mlaf_chain *k, const mlaf_launch *launches, size_t n,
                                   mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  bool pushed;
  mlaf_status st = mlaf_cuda_enter(c, &pushed, err);
  if (st) return st;
  if (!run_graph(c, k, stream, launches, n))
    for (size_t i = 0; !st && i < n; i++) st = mlaf_cuda_launch(dev, stream, &launches[i], err);
  mlaf_cuda_leave(c, pushed);
  return st;
}

/* --- making one --- */

/* Nodes come in no promised order: the i-th launch is known by its grid. None of this ever runs. */
static mlaf_status record(mlaf_cuda *c, const mlaf_chain *k, void *stream, mlaf_err *err) {
  static const _Alignas(64) unsigned char blank[BLANK_BYTES];
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < k->n; i++) {
    mlaf_launch l = k->like[i];
    for (int d = 0; d < 3; d++) l.grid[d] = l.cluster[d] ? l.cluster[d] : 1;
    l.grid[0] = MARK * ((uint32_t)i + 1);
    l.args = blank;
    st = l.args_size <= sizeof blank ? mlaf_cuda_launch((mlaf_device *)c, stream, &l, err)
                                     : mlaf_fail(err, MLAF_E_ARG, "%zu bytes of arguments", l.args_size);
  }
  return st;
}

static mlaf_status find_nodes(mlaf_cuda *c, mlaf_chain *k, mlaf_err *err) {
  void *nodes[MLAF_CHAIN_MOST];
  size_t n = k->n;
  mlaf_status st = mlaf_cuda_check(&c->api, c->api.cuGraphGetNodes(k->graph, nodes, &n), "cuGraphGetNodes", err);
  for (size_t i = 0; !st && i < n; i++) {
    cuda_kernel_node node = {.shared = 0};
    st = mlaf_cuda_check(&c->api, c->api.cuGraphKernelNodeGetParams_v2(nodes[i], &node), "cuGraphKernelNodeGetParams", err);
    const size_t place = node.grid[0] / MARK;
    if (!st && place >= 1 && place <= k->n) k->nodes[place - 1] = nodes[i];
  }
  for (size_t i = 0; !st && i < k->n; i++)
    if (!k->nodes[i]) st = mlaf_fail(err, MLAF_E_DEVICE, "the graph of %zu launches has no node for the one at %zu", k->n, i);
  return st;
}

static mlaf_status capture(mlaf_cuda *c, mlaf_chain *k, void *stream, mlaf_err *err) {
  const mlaf_cuda_api *api = &c->api;
  const int begun = api->cuStreamBeginCapture_v2(stream, CUDA_CAPTURE_THREAD_LOCAL);
  mlaf_status st = mlaf_cuda_check(api, begun, "cuStreamBeginCapture", err);
  if (st) return st;
  st = record(c, k, stream, err);
  mlaf_status ended = mlaf_cuda_check(api, api->cuStreamEndCapture(stream, &k->graph), "cuStreamEndCapture", st ? NULL : err);
  if (!st) st = ended;
  if (!st) st = find_nodes(c, k, err);
  if (!st) st = mlaf_cuda_check(api, api->cuGraphInstantiateWithFlags(&k->exec, k->graph, 0), "cuGraphInstantiate", err);
  if (!st) st = mlaf_cuda_check(api, api->cuGraphUpload(k->exec, stream), "cuGraphUpload", err);
  return st;
}

static void free_chain(mlaf_cuda *c, mlaf_chain *k) {
  if (k->exec) c->api.cuGraphExecDestroy(k->exec);
  if (k->graph) c->api.cuGraphDestroy(k->graph);
  free(k);
}

/* Captures in a stream of its own, in relaxed mode: another thread that captures in another stream is not disturbed. */
static mlaf_status capture_aside(mlaf_cuda *c, mlaf_chain *k, mlaf_err *err) {
  void *stream = NULL;
  int mode = CUDA_CAPTURE_RELAXED;
  c->api.cuThreadExchangeStreamCaptureMode(&mode);
  mlaf_status st = mlaf_cuda_check(&c->api, c->api.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING), "cuStreamCreate", err);
  if (!st) st = capture(c, k, stream, err);
  if (stream) c->api.cuStreamDestroy_v2(stream);
  c->api.cuThreadExchangeStreamCaptureMode(&mode);
  return st;
}

/* The lock is held, the context entered. */
static mlaf_status make(mlaf_cuda *c, const mlaf_launch *like, size_t n, mlaf_chain **out, mlaf_err *err) {
  mlaf_chain *k = calloc(1, sizeof *k);
  if (!k) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a graph");
  k->n = n;
  memcpy(k->like, like, n * sizeof *like);
  atomic_flag_clear(&k->taken);
  const mlaf_status st = capture_aside(c, k, err);
  if (st) {
    free_chain(c, k);
    return st;
  }
  k->next = c->chains;
  *out = c->chains = k;
  return MLAF_OK;
}

/* Plans of the same kernels share one: they run behind each other anyway. Kernels that do not overlap are as many graphs. */
mlaf_status mlaf_cuda_chain_open(mlaf_device *dev, const mlaf_launch *like, size_t n, mlaf_chain **out, mlaf_err *err) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  bool pushed;
  *out = NULL;
  if (!c->graphs || n < 2 || n > MLAF_CHAIN_MOST) return MLAF_OK;
  for (size_t i = 0; i < n; i++)
    if (like[i].flags & MLAF_LAUNCH_LIBRARY) return MLAF_OK;
  mlaf_status st = mlaf_cuda_enter(c, &pushed, err);
  if (st) return st;
  pthread_mutex_lock(&c->lock);
  mlaf_chain *k = c->chains;
  while (k && !same_kernels(k, like, n)) k = k->next;
  if (!k) st = make(c, like, n, &k, err);
  if (!st) k->users++;
  if (!st) *out = k;
  pthread_mutex_unlock(&c->lock);
  mlaf_cuda_leave(c, pushed);
  return st;
}

void mlaf_cuda_chain_close(mlaf_device *dev, mlaf_chain *k) {
  mlaf_cuda *c = mlaf_cuda_of(dev);
  bool pushed;
  if (!k) return;
  pthread_mutex_lock(&c->lock);
  const bool last = !--k->users;
  mlaf_chain **at = &c->chains;
  while (last && *at != k) at = &(*at)->next;
  if (last) *at = k->next;
  pthread_mutex_unlock(&c->lock);
  if (!last) return;
  if (mlaf_cuda_enter(c, &pushed, NULL)) {
    free(k); /* its graph goes with the context */
    return;
  }
  free_chain(c, k);
  mlaf_cuda_leave(c, pushed);
}
