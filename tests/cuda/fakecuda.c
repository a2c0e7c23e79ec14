/* A CUDA driver for tests: the calls the cuda back end makes, over host memory and a clock of its own in which every
 * kernel takes FAKE_KERNEL_NS. It is loaded by MLAF_CUDA_LIBRARY. A cubin is any ELF; it holds the kernels
 * "fill" (really run), "big" and "huge", "whole" (fake_whole.h; run too);
 * "mlaf_block_tables" (fake_tables.h; run too); and kernels whose launches cut their batch themselves (fake_fitted.h; run too).
 *
 *   FAKECUDA_DEVICES, FAKECUDA_FAIL  what to do (fake/driver.h); without a device it is as without a GPU
 *   FAKECUDA_SM=major.minor          compute capability (default 9.0)
 *   FAKECUDA_BUS=bits                width of the memory bus (default 6144; 6016 makes it the device of tuning/nvidia-h200.tsv)
 *   fakecuda_depth()                 contexts on this thread's stack
 *   FAKECUDA_ANY=1                   any other kernel is there, too, and does nothing
 *   fakecuda_busy()                  a stream has work that is not done yet, or none (what runs, runs at once all the same)
 *   fakecuda_foreign()               a kernel of another library's runs, or is recorded
 *   fakecuda_last(), _before()       the last kernel that ran, and the one before it
 *
 * Like the real one it refuses calls made without a current context, a fill that was not waited for does not land, and
 * inside a capture nothing runs. */
#include "cuda/fakecuda.h"

#define FAKE "FAKECUDA"
#include "cuda/fake_whole.h"
#include "cuda/fake_fitted.h"
#include "cuda/fake_tables.h"
#include "fake/driver.h"

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201,
       INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901 };
enum { MAX_NODES = 256, MAX_RANGES = 1024 };

typedef struct node {
  int kernel;
  fake_launch shape;
  unsigned char args[1536];
} node;
typedef struct sequence { /* a stream and what it captures, a graph */
  handle base;
  int capturing, n, busy;
  node *nodes;
  const node *origin; /* of a graph that was made ready: the graph's */
} sequence;
typedef struct kernel {
  const char *name;
  size_t args_size; /* of its one parameter */
  int granted;      /* dynamic shared memory, by cuFuncSetAttribute */
  int percent, wide; /* the other attributes: of memory that shall be shared; clusters of more than 8 blocks */
} kernel;

static kernel kernels[] = {{.name = "fill", .args_size = sizeof(fake_fill)},
                           {.name = "big", .args_size = FAKE_BIG_ARGS},
                           {.name = "huge", .args_size = 4},
                           {.name = "whole", .args_size = sizeof(mlaf_decode_args)},
                           {.name = "fit", .args_size = sizeof(mlaf_decode_args)},
                           {.name = "fitmeet", .args_size = sizeof(mlaf_decode_args)},
                           {.name = "fitadd", .args_size = sizeof(mlaf_decode_args)},
                           {.name = "mlaf_block_tables", .args_size = FAKE_TABLES_BYTES},
                           {.name = "any", .granted = 1 << 20}};
enum { KERNEL_WHOLE = 3, KERNEL_FIT = 4, KERNEL_TABLES = 7, KERNEL_ANY = 8 };
static fake_launch last, before;
static double now_ns;
static int contexts[8];
static int retained[8];
static __thread void *stack[8];
static __thread int depth;
/* Allocations, for calls that ask what an address is; and streams that capture: meanwhile nothing is allocated. */
static struct {
  uint64_t at;
  size_t bytes;
} ranges[MAX_RANGES];
static int capturing;
/* A copy or fill of this thread that has not landed. */
static __thread struct {
  void *to, *bytes;
  size_t n;
} pending;

#define ENTER_CONTEXT \
  ENTER;              \
  if (!depth) return INVALID_CONTEXT

void fake_reset(void) {
  memset(counted, 0, sizeof counted);
  memset(&last, 0, sizeof last);
}
int fake_leaks(void) { /* contexts, too */
  int n = live;
  for (int i = 0; i < 8; i++) n += retained[i];
  return n;
}
EXPORT int fakecuda_depth(void) { return depth; }
EXPORT fake_launch fakecuda_last(void) { return last; }
EXPORT fake_launch fakecuda_before(void) { return before; }

static void land(void) {
  if (pending.bytes) memcpy(pending.to, pending.bytes, pending.n);
  free(pending.bytes);
  pending.bytes = NULL;
}
static int post(void *to, const void *from, int byte, size_t n) {
  land();
  pending.bytes = malloc(n ? n : 1);
  if (!pending.bytes) return OUT_OF_MEMORY;
  if (from) memcpy(pending.bytes, from, n);
  else
    memset(pending.bytes, byte, n);
  pending.to = to;
  pending.n = n;
  return SUCCESS;
}

/* --- device and context --- */

EXPORT int cuInit(unsigned flags) {
  ENTER;
  return flags ? INVALID_VALUE : device_count() > 0 ? SUCCESS : NO_DEVICE;
}
EXPORT int cuDriverGetVersion(int *version) {
  ENTER;
  *version = 13000;
  return SUCCESS;
}
EXPORT int cuDeviceGetCount(int *count) {
  ENTER;
  *count = device_count();
  return SUCCESS;
}
EXPORT int cuDeviceGet(int *device, int ordinal) {
  ENTER;
  if (ordinal < 0 || ordinal >= device_count()) return INVALID_DEVICE;
  *device = ordinal;
  return SUCCESS;
}
EXPORT int cuDeviceGetName(char *name, int size, int device) {
  ENTER;
  snprintf(name, (size_t)size, "Fake Hopper");
  return SUCCESS;
}
EXPORT int cuDeviceGetPCIBusId(char *id, int size, int device) {
  ENTER;
  snprintf(id, (size_t)size, "0000:%02x:00.0", 0x40 + device);
  return SUCCESS;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  ENTER;
  int major = 9, minor = 0;
  const char *sm = getenv("FAKECUDA_SM"), *bus = getenv("FAKECUDA_BUS");
  if (sm) sscanf(sm, "%d.%d", &major, &minor);
  const int known[][2] = {{1, 1024},     {10, 32},   {13, 1980000}, {16, 132},   {36, 3201000},
                          {37, bus ? atoi(bus) : 6144}, {38, 60 << 20}, {75, major},   {76, minor}, {88, 0}, {97, 232448}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i][0] == attribute) {
      *value = known[i][1];
      return SUCCESS;
    }
  return INVALID_VALUE;
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  ENTER;
  *bytes = (size_t)139 << 30;
  return SUCCESS;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  ENTER;
  retained[device]++;
  *context = &contexts[device];
  return SUCCESS;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  int forced = enter(__func__);
  if (!retained[device]) return INVALID_CONTEXT;
  retained[device]--;
  return forced;
}
EXPORT int cuCtxGetCurrent(void **context) {
  ENTER;
  *context = depth ? stack[depth - 1] : NULL;
  return SUCCESS;
}
EXPORT int cuCtxPushCurrent_v2(void *context) {
  ENTER;
  if (!context || depth == 8) return INVALID_VALUE;
  stack[depth++] = context;
  return SUCCESS;
}
EXPORT int cuCtxPopCurrent_v2(void **context) {
  int forced = enter(__func__);
  if (!depth) return INVALID_CONTEXT;
  *context = stack[--depth];
  return forced;
}

/* --- memory --- */

EXPORT int cuMemAlloc_v2(uint64_t *ptr, size_t bytes) {
  ENTER_CONTEXT;
  if (!bytes) return INVALID_VALUE;
  if (capturing) return CAPTURE_UNSUPPORTED;
  void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256); /* the driver's alignment */
  if (memory) memset(memory, 0, bytes);
  *ptr = (uint64_t)(uintptr_t)keep(memory);
  for (int i = 0; i < MAX_RANGES; i++)
    if (!ranges[i].bytes) {
      ranges[i].at = *ptr;
      ranges[i].bytes = *ptr ? bytes : 0;
      break;
    }
  return *ptr ? SUCCESS : OUT_OF_MEMORY;
}
EXPORT int cuPointerGetAttribute(int *data, int attribute, uint64_t ptr) {
  ENTER_CONTEXT;
  if (attribute != 2) return INVALID_VALUE;
  for (int i = 0; i < MAX_RANGES; i++)
    if (ptr >= ranges[i].at && ptr - ranges[i].at < ranges[i].bytes) {
      *data = 2; /* device memory */
      return SUCCESS;
    }
  return INVALID_VALUE;
}
EXPORT int cuMemFree_v2(uint64_t ptr) {
  int forced = enter(__func__); /* what is told to fail to free does free: nothing here may leak */
  if (!depth) return INVALID_CONTEXT;
  land();
  if (!forget((void *)(uintptr_t)ptr)) return INVALID_VALUE;
  for (int i = 0; i < MAX_RANGES; i++)
    if (ranges[i].at == ptr) ranges[i].bytes = 0;
  free((void *)(uintptr_t)ptr);
  return forced;
}
EXPORT int cuMemcpyHtoD_v2(uint64_t dst, const void *src, size_t bytes) {
  ENTER_CONTEXT;
  return post((void *)(uintptr_t)dst, src, 0, bytes);
}
EXPORT int cuMemsetD8_v2(uint64_t dst, unsigned char value, size_t bytes) {
  ENTER_CONTEXT;
  return post((void *)(uintptr_t)dst, NULL, value, bytes);
}
EXPORT int cuMemcpyDtoH_v2(void *dst, uint64_t src, size_t bytes) {
  ENTER_CONTEXT;
  memcpy(dst, (void *)(uintptr_t)src, bytes);
  return SUCCESS;
}

/* --- modules --- */

/* Ends a handle: a call that is told to fail destroys all the same. */
static int end(void *h, uint32_t magic, int forced) {
  const int code = destroy(h, magic) ? SUCCESS : INVALID_HANDLE;
  return forced ? forced : code;
}
static int end_sequence(void *s, uint32_t magic, int forced) {
  if (is(s, magic)) free(((sequence *)s)->nodes);
  return end(s, magic, forced);
}

EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned n, const int *options, void **values) {
  ENTER_CONTEXT;
  char *errors = NULL;
  size_t size = 0;
  for (unsigned i = 0; i < n; i++) {
    if (options[i] == 5) errors = values[i];
    if (options[i] == 6) size = (size_t)(uintptr_t)values[i];
  }
  if (((const unsigned char *)image)[7] == 0x77) { /* a mark that the test puts there: a cubin for something else */
    if (errors) snprintf(errors, size, "ptxas fatal: wrong GPU\nsecond line\n");
    return 209;
  }
  *module = make(sizeof(handle), MODULE);
  return *module ? SUCCESS : OUT_OF_MEMORY;
}
EXPORT int cuModuleLoadData(void **module, const void *image) { return cuModuleLoadDataEx(module, image, 0, NULL, NULL); }
EXPORT int cuModuleUnload(void *module) {
  const int forced = enter(__func__);
  return depth ? end(module, MODULE, forced) : INVALID_CONTEXT;
}
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) {
  ENTER_CONTEXT;
  if (!is(module, MODULE)) return INVALID_HANDLE;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (!strcmp(name, kernels[i].name)) {
      *function = &kernels[i];
      kernels[i].granted = kernels[i].percent = kernels[i].wide = 0;
      return SUCCESS;
    }
  if (getenv("FAKECUDA_ANY")) {
    *function = &kernels[KERNEL_ANY];
    return SUCCESS;
  }
  return NOT_FOUND;
}
EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function) {
  ENTER_CONTEXT;
  if (attribute != 1) return INVALID_VALUE;
  *value = FAKE_STATIC;
  return SUCCESS;
}
EXPORT int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *size) {
  ENTER_CONTEXT;
  if (index) return INVALID_VALUE;
  *offset = 48;
  *size = ((kernel *)function)->args_size;
  return SUCCESS;
}
EXPORT int cuFuncSetAttribute(void *function, int attribute, int value) {
  ENTER_CONTEXT;
  kernel *k = function;
  const bool many = k == &kernels[KERNEL_ANY]; /* each of those has its own: what one of them was given, all keep */
  if (attribute == 9 && value >= 0 && value <= 100) k->percent = value;
  else if (attribute == 14 && (value == 0 || value == 1)) k->wide = value || (many && k->wide);
  else if (attribute == 8 && value + FAKE_STATIC <= 232448) k->granted = many && k->granted > value ? k->granted : value;
  else
    return INVALID_VALUE;
  return SUCCESS;
}

/* --- kernels --- */

static void run_whole(const node *k) {
  mlaf_decode_args a;
  memcpy(&a, k->args, sizeof a);
  if (k->shape.grid[1] != 1 || a.splits != 1 || k->shape.grid[2] != (uint32_t)a.batch) return; /* no such launch */
  for (uint32_t z = 0; z < k->shape.grid[2]; z++)
    for (uint32_t x = 0; x < k->shape.grid[0]; x++) fake_whole(&a, x, z);
}

/* All blocks of a launch, those with lower parts first. */
static void run_fitted(const node *k) {
  static void (*const run[])(const mlaf_decode_args *, const fake_block *) = {fake_fit, fake_fitmeet, fake_fitadd};
  mlaf_decode_args a;
  fake_block b = {.team = k->shape.cluster[1] ? k->shape.cluster[1] : 1};
  memcpy(&a, k->args, sizeof a);
  memcpy(b.grid, k->shape.grid, sizeof b.grid);
  const uint32_t splits = (uint32_t)a.splits & 0x7fff; /* runtime/ops/mla_decode/launch.h */
  if (b.grid[1] != (k->kernel == KERNEL_FIT + 2 ? 1 : splits * b.team)) return; /* no such launch */
  for (b.at[2] = 0; b.at[2] < b.grid[2]; b.at[2]++)
    for (b.at[1] = 0; b.at[1] < b.grid[1]; b.at[1]++)
      for (b.at[0] = 0; b.at[0] < b.grid[0]; b.at[0]++) run[k->kernel - KERNEL_FIT](&a, &b);
}

static void run_node(const node *k) {
  uint64_t total = last.total + 1;
  before = last;
  last = k->shape;
  last.total = total;
  now_ns += FAKE_KERNEL_NS;
  if (k->kernel == KERNEL_WHOLE) run_whole(k);
  if (k->kernel >= KERNEL_FIT && k->kernel < KERNEL_TABLES) run_fitted(k);
  if (k->kernel == KERNEL_TABLES) fake_tables(k->args, k->shape.grid, k->shape.block);
  if (k->kernel != 0 || last.args_size != sizeof(fake_fill)) return;
  fake_fill f;
  memcpy(&f, k->args, sizeof f);
  for (uint32_t i = 0; i < f.n; i++) f.to[i] = f.value;
}
/* Makes the node of a launch, if it may be launched. */
static int make_node(kernel *f, const unsigned grid[3], const unsigned block[3], unsigned shared, void **params, void **extra,
                     const node *attributes, node *out) {
  const unsigned gx = grid[0], gy = grid[1], gz = grid[2], bx = block[0], by = block[1], bz = block[2];
  /* One pointer per parameter; a raw block would start at another place when the parameter wants alignment. */
  if (!params || !params[0] || extra) return INVALID_VALUE;
  if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024 || gy > 65535 || gz > 65535) return INVALID_VALUE;
  if (shared > 49152 && shared > (unsigned)f->granted) return INVALID_VALUE;
  node k = {(int)(f - kernels), {{gx, gy, gz}, {bx, by, bz}, shared, f->args_size, 0, {0}, 0, 0}, {0}};
  memcpy(k.shape.cluster, attributes->shape.cluster, sizeof k.shape.cluster);
  for (int i = 0; i < 3; i++)
    if (k.shape.cluster[i] && grid[i] % k.shape.cluster[i]) return INVALID_VALUE;
  if (k.shape.cluster[0] * k.shape.cluster[1] * k.shape.cluster[2] > 8 && !f->wide) return INVALID_VALUE;
  k.shape.shared_percent = (uint32_t)f->percent;
  k.shape.overlaps = attributes->shape.overlaps;
  if (k.shape.args_size > sizeof k.args) return INVALID_VALUE;
  memcpy(k.args, params[0], k.shape.args_size);
  *out = k;
  return SUCCESS;
}
static int launch(kernel *f, const unsigned grid[3], const unsigned block[3], unsigned shared, void *stream, void **params,
                  void **extra, const node *attributes) {
  sequence *s = stream;
  node k;
  if (stream && !is(stream, STREAM)) return INVALID_HANDLE;
  const int code = make_node(f, grid, block, shared, params, extra, attributes, &k);
  if (code) return code;
  if (!s || !s->capturing) {
    run_node(&k);
    return SUCCESS;
  }
  if (s->n == MAX_NODES) return INVALID_VALUE;
  s->nodes[s->n++] = k;
  return SUCCESS;
}

EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **params, void **extra) {
  ENTER_CONTEXT;
  const unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  static const node plain;
  return launch(function, grid, block, shared, stream, params, extra, &plain);
}

/* Somebody else's kernel (fake/fakelt.c): 1: it is recorded. */
EXPORT int fakecuda_foreign(void *stream) {
  static const node plain;
  static const unsigned one[] = {1, 1, 1};
  void *none[] = {(void *)(uintptr_t)&plain};
  launch(&kernels[KERNEL_ANY], one, one, 0, stream, none, NULL, &plain);
  return stream && ((sequence *)stream)->capturing;
}

/* CUlaunchConfig and CUlaunchAttribute as cuda.h has them. */
typedef struct launch_attribute {
  int id; /* 4: cluster, 6: programmatic stream serialization */
  int pad;
  uint32_t value[16];
} launch_attribute;
typedef struct launch_config {
  unsigned grid[3], block[3], shared;
  void *stream;
  const launch_attribute *attributes;
  unsigned n;
} launch_config;
EXPORT int cuLaunchKernelEx(const launch_config *config, void *function, void **params, void **extra) {
  ENTER_CONTEXT;
  node with = {.kernel = 0};
  for (unsigned i = 0; i < config->n; i++) {
    const launch_attribute *a = &config->attributes[i];
    if (a->id == 4) memcpy(with.shape.cluster, a->value, sizeof with.shape.cluster);
    else if (a->id == 6) with.shape.overlaps = a->value[0];
    else
      return INVALID_VALUE;
  }
  return launch(function, config->grid, config->block, config->shared, config->stream, params, extra, &with);
}
EXPORT int cuTensorMapEncodeTiled(uint64_t *map, int type, uint32_t rank, void *data, const uint64_t *dims,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides, int interleave,
                           int swizzle, int l2, int oob) {
  static const unsigned widest[] = {512, 32, 64, 128}; /* bytes of a box's row, by swizzle */
  int forced = enter(__func__); /* host work: no context */
  if (forced) return forced;
  if ((uintptr_t)map % 64 || (uintptr_t)data % 16 || type != 1 || rank != 2 || !dims[0] || !dims[1] || strides[0] % 16 ||
      strides[0] < 2 * dims[0] || !box[0] || box[0] > 256 || !box[1] || box[1] > 256 || box[0] * 2 % 16 ||
      element_strides[0] != 1 || element_strides[1] != 1 || interleave || swizzle < 0 || swizzle > 3 ||
      box[0] * 2 > widest[swizzle] || l2 || oob)
    return INVALID_VALUE;
  memset(map, 0, 128);
  map[0] = (uintptr_t)data;
  map[1] = dims[0], map[2] = dims[1], map[3] = strides[0], map[4] = box[0], map[5] = box[1], map[6] = (uint64_t)swizzle;
  return SUCCESS;
}

/* --- streams, graphs, events --- */

EXPORT int cuStreamCreate(void **stream, unsigned flags) {
  ENTER_CONTEXT;
  if (flags != 1) return INVALID_VALUE;
  *stream = make(sizeof(sequence), STREAM);
  return *stream ? SUCCESS : OUT_OF_MEMORY;
}
EXPORT int cuStreamDestroy_v2(void *stream) {
  const int forced = enter(__func__);
  return depth ? end_sequence(stream, STREAM, forced) : INVALID_CONTEXT;
}
EXPORT int cuStreamSynchronize(void *stream) {
  ENTER_CONTEXT;
  if (stream && (!is(stream, STREAM) || ((sequence *)stream)->capturing)) return INVALID_HANDLE;
  land();
  return SUCCESS;
}
static __thread int capture_mode; /* global, as drivers begin */
EXPORT int cuThreadExchangeStreamCaptureMode(int *mode) {
  ENTER;
  const int before_this = capture_mode;
  if (*mode < 0 || *mode > 2) return INVALID_VALUE;
  capture_mode = *mode;
  *mode = before_this;
  return SUCCESS;
}
static int default_busy;
EXPORT void fakecuda_busy(void *stream, int busy) {
  if (stream) ((sequence *)stream)->busy = busy;
  else
    default_busy = busy;
}
/* Asked strictly while somebody captures, it spoils the capture. */
EXPORT int cuStreamQuery(void *stream) {
  ENTER_CONTEXT;
  if (stream && !is(stream, STREAM)) return INVALID_HANDLE;
  if ((capturing && capture_mode != 2) || (stream && ((sequence *)stream)->capturing)) return CAPTURE_INVALIDATED;
  return (stream ? ((sequence *)stream)->busy : default_busy) ? NOT_READY : SUCCESS;
}
EXPORT int cuStreamBeginCapture_v2(void *stream, int mode) {
  ENTER_CONTEXT;
  sequence *s = stream;
  if (!is(s, STREAM) || s->capturing || mode != 1) return INVALID_VALUE;
  if (!s->nodes) s->nodes = calloc(MAX_NODES, sizeof(node));
  if (!s->nodes) return OUT_OF_MEMORY;
  s->capturing = 1;
  s->n = 0;
  capturing++;
  return SUCCESS;
}
EXPORT int cuStreamIsCapturing(void *stream, int *status) {
  ENTER_CONTEXT;
  if (stream && !is(stream, STREAM)) return INVALID_HANDLE;
  *status = stream && ((sequence *)stream)->capturing;
  return SUCCESS;
}
EXPORT int cuStreamEndCapture(void *stream, void **graph) {
  int forced = enter(__func__);
  sequence *s = stream, *g;
  if (!depth || !is(s, STREAM) || !s->capturing) return INVALID_VALUE;
  s->capturing = 0;
  capturing--;
  if (forced) return forced;
  *graph = g = make(sizeof *g, GRAPH);
  if (!g) return OUT_OF_MEMORY;
  g->n = s->n;
  g->nodes = s->nodes;
  s->nodes = NULL;
  return SUCCESS;
}
EXPORT int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) {
  ENTER_CONTEXT;
  if (!is(graph, GRAPH) || flags) return INVALID_VALUE;
  sequence *from = graph, *to = make(sizeof *to, EXEC);
  if (!to || !(to->nodes = calloc(MAX_NODES, sizeof(node)))) {
    destroy(to, EXEC);
    return OUT_OF_MEMORY;
  }
  to->n = from->n;
  to->origin = from->nodes;
  memcpy(to->nodes, from->nodes, (size_t)from->n * sizeof(node));
  *exec = to;
  return SUCCESS;
}
EXPORT int cuGraphGetNodes(void *graph, void **nodes, size_t *n) { /* in no promised order: the last first */
  ENTER_CONTEXT;
  const sequence *g = graph;
  if (!is(g, GRAPH) || *n < (size_t)g->n) return INVALID_VALUE;
  *n = (size_t)g->n;
  for (int i = 0; i < g->n; i++) nodes[i] = &g->nodes[g->n - 1 - i];
  return SUCCESS;
}
typedef struct node_params { /* CUDA_KERNEL_NODE_PARAMS_v2 */
  void *function;
  unsigned grid[3], block[3], shared;
  void **params, **extra;
  void *kernel, *context;
} node_params;
EXPORT int cuGraphKernelNodeGetParams_v2(void *at, node_params *out) {
  ENTER_CONTEXT;
  const node *k = at;
  *out = (node_params){.function = &kernels[k->kernel], .shared = k->shape.shared};
  memcpy(out->grid, k->shape.grid, sizeof out->grid);
  memcpy(out->block, k->shape.block, sizeof out->block);
  return SUCCESS;
}
EXPORT int cuGraphExecKernelNodeSetParams_v2(void *exec, void *at, const node_params *p) {
  ENTER_CONTEXT;
  sequence *e = exec;
  const node *which = at;
  if (!is(e, EXEC) || which < e->origin || which >= e->origin + e->n) return INVALID_HANDLE;
  node *k = &e->nodes[which - e->origin];
  const node attributes = *k; /* stay as they were recorded */
  return make_node(p->function, p->grid, p->block, p->shared, p->params, p->extra, &attributes, k);
}
EXPORT int cuGraphUpload(void *exec, void *stream) {
  ENTER_CONTEXT;
  return is(exec, EXEC) && is(stream, STREAM) ? SUCCESS : INVALID_HANDLE;
}
EXPORT int cuGraphLaunch(void *exec, void *stream) {
  ENTER_CONTEXT;
  const sequence *e = exec;
  const sequence *to = stream;
  if (!is(e, EXEC) || (to && (!is(to, STREAM) || to->capturing))) return INVALID_HANDLE;
  for (int i = 0; i < e->n; i++) run_node(&e->nodes[i]);
  return SUCCESS;
}
EXPORT int cuGraphExecDestroy(void *exec) {
  return end_sequence(exec, EXEC, enter(__func__));
}
EXPORT int cuGraphDestroy(void *graph) {
  return end_sequence(graph, GRAPH, enter(__func__));
}
EXPORT int cuEventCreate(void **event, unsigned flags) {
  ENTER_CONTEXT;
  if (flags) return INVALID_VALUE; /* an event without timing would be of no use */
  *event = make(sizeof(handle), EVENT);
  return *event ? SUCCESS : OUT_OF_MEMORY;
}
EXPORT int cuEventDestroy_v2(void *event) {
  return end(event, EVENT, enter(__func__));
}
EXPORT int cuEventRecord(void *event, void *stream) {
  ENTER_CONTEXT;
  handle *e = event;
  if (!is(e, EVENT) || !is(stream, STREAM) || ((sequence *)stream)->capturing) return INVALID_HANDLE;
  e->when = now_ns;
  return SUCCESS;
}
EXPORT int cuEventSynchronize(void *event) {
  ENTER_CONTEXT;
  return is(event, EVENT) ? SUCCESS : INVALID_HANDLE;
}
EXPORT int cuEventElapsedTime(float *ms, void *start, void *stop) {
  ENTER_CONTEXT;
  if (!is(start, EVENT) || !is(stop, EVENT)) return INVALID_HANDLE;
  *ms = (float)((((handle *)stop)->when - ((handle *)start)->when) * 1e-6);
  return SUCCESS;
}

/* --- errors --- */

static const struct {
  int code;
  const char *name, *text;
} errors[] = {{SUCCESS, "CUDA_SUCCESS", "no error"},
              {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
              {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
              {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
              {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
              {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
              {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}};

static int look_up(int code, const char **out, int name) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].code == code) {
      *out = name ? errors[i].name : errors[i].text;
      return SUCCESS;
    }
  return INVALID_VALUE;
}
EXPORT int cuGetErrorName(int code, const char **text) { return look_up(code, text, 1); }
EXPORT int cuGetErrorString(int code, const char **text) { return look_up(code, text, 0); }
