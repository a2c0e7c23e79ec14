/* A HIP runtime for tests: the calls the hip back end makes, over the gfx942 emulator. It is built as libamdhip64.so.6
 * and loaded by MLAF_HIP_LIBRARY, so that the back end really copies memory, loads code objects and runs kernels.
 * FAKEHIP_DEVICES and FAKEHIP_FAIL tell it what to do (fake/driver.h); without a device it is as a machine without a GPU. */
#define FAKE "FAKEHIP"
#include "device/device.h"
#include "fake/driver.h"

enum {
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  NO_BINARY = 209,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  LAUNCH_FAILURE = 719,
  CAPTURE_INVALIDATED = 901
};
enum { MAX_NODES = 512, MAX_ARGS = 1024 };
typedef struct node {
  mlaf_launch launch; /* args: the bytes behind it */
  unsigned char args[MAX_ARGS];
} node;
typedef struct sequence { /* a stream and what it captures, a graph */
  handle base;
  int capturing, n;
  node *nodes;
} sequence;
typedef struct module {
  handle base;
  mlaf_module *inner;
} module;

static mlaf_device *device;
static int64_t graph_kernels; /* that ran from graphs */
static __thread int current;

void fake_reset(void) {
  memset(counted, 0, sizeof counted);
  graph_kernels = 0;
}
int fake_leaks(void) { return live; }
EXPORT int fakehip_graph_kernels(void) { return (int)graph_kernels; }

static mlaf_device *emulator(void) {
  pthread_mutex_lock(&lock);
  if (!device && mlaf_emu_ops.open(0, NULL, &device, NULL)) device = NULL;
  pthread_mutex_unlock(&lock);
  return device;
}
static const mlaf_device_ops *ops(void) { return &mlaf_emu_ops; }

static int code_of(mlaf_status st) {
  return st == MLAF_OK        ? SUCCESS
         : st == MLAF_E_NOMEM ? OUT_OF_MEMORY
         : st == MLAF_E_FAULT ? LAUNCH_FAILURE
                              : INVALID_VALUE;
}

/* --- device --- */

EXPORT int hipInit(unsigned flags) {
  ENTER;
  return flags ? INVALID_VALUE : device_count() > 0 ? SUCCESS : NO_DEVICE;
}
EXPORT int hipGetDeviceCount(int *count) {
  ENTER;
  *count = device_count();
  return *count > 0 ? SUCCESS : NO_DEVICE;
}
EXPORT int hipGetDevice(int *d) {
  ENTER;
  *d = current;
  return SUCCESS;
}
EXPORT int hipSetDevice(int d) {
  ENTER;
  if (d < 0 || d >= device_count()) return INVALID_DEVICE;
  current = d;
  return SUCCESS;
}
EXPORT int hipDeviceGetName(char *name, int size, int d) {
  ENTER;
  snprintf(name, (size_t)size, "Fake Instinct");
  return SUCCESS;
}
EXPORT int hipDeviceGetAttribute(int *value, int attribute, int d) {
  ENTER;
  const mlaf_device_info *info = mlaf_info(emulator());
  const struct {
    int attribute, value;
  } known[] = {
      {5, info->clock_mhz * 1000}, {19, (int)info->l2_bytes}, {56, info->max_threads}, {60, info->mem_clock_mhz * 1000},
      {63, info->compute_units},   {74, info->lds_bytes},     {87, info->wave_size},
#ifndef FAKEHIP_ROCM5
      {10018, info->xcc},
#endif
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].attribute == attribute) {
      *value = known[i].value;
      return SUCCESS;
    }
  return INVALID_VALUE;
}
EXPORT int hipDeviceGetPCIBusId(char *id, int size, int d) {
  ENTER;
  snprintf(id, (size_t)size, "0000:c1:00.0");
  return SUCCESS;
}
EXPORT int hipDeviceTotalMem(size_t *bytes, int d) {
  ENTER;
  *bytes = (size_t)mlaf_info(emulator())->mem_bytes;
  return SUCCESS;
}
EXPORT int hipDeviceSynchronize(void) {
  ENTER;
  return SUCCESS;
}
EXPORT int hipStreamIsCapturing(void *stream, int *status) {
  ENTER;
  *status = 0;
  return SUCCESS;
}
EXPORT int hipDriverGetVersion(int *version) {
  ENTER;
  *version = 60443484;
  return SUCCESS;
}
EXPORT int hipRuntimeGetVersion(int *version) {
  ENTER;
  *version = 60443484;
  return SUCCESS;
}

/* The two layouts of the properties: only the arch name is looked at. */
static void put_arch(char *props, size_t size, size_t at) {
  memset(props, 0x11, size);
  snprintf(props + at, 256, "%s", mlaf_info(emulator())->full_target);
}
#ifdef FAKEHIP_ROCM5
EXPORT int hipGetDeviceProperties(char *props, int d) {
  ENTER;
  put_arch(props, 792, 396);
  return SUCCESS;
}
#else
EXPORT int hipGetDevicePropertiesR0600(char *props, int d) {
  ENTER;
  put_arch(props, 1472, 1160);
  return SUCCESS;
}
#endif

/* --- memory --- */

EXPORT int hipMalloc(void **ptr, size_t bytes) {
  ENTER;
  const int code = code_of(ops()->mem_alloc(emulator(), bytes, ptr, NULL));
  if (!code) keep(*ptr);
  return code;
}
EXPORT int hipFree(void *ptr) {
  if (ptr) forget(ptr);
  int forced = enter(__func__), code = ptr ? code_of(ops()->mem_free(emulator(), ptr, NULL)) : SUCCESS;
  return forced ? forced : code;
}
/* Layout of hipPointerAttribute_t: type, device, the address for kernels, ... As ROCm 6 does, no error for plain host memory. */
EXPORT int hipPointerGetAttributes(void *attributes, const void *ptr) {
  ENTER;
  char byte;
  const void *reached = ops()->mem_read(emulator(), &byte, ptr, 1, NULL) ? NULL : ptr;
  memcpy((char *)attributes + 2 * sizeof(int), &reached, sizeof reached);
  return SUCCESS;
}
EXPORT int hipMemcpy(void *dst, const void *src, size_t bytes, int kind) {
  ENTER;
  if (kind == 1) return code_of(ops()->mem_write(emulator(), dst, src, bytes, NULL));
  return kind == 2 ? code_of(ops()->mem_read(emulator(), dst, src, bytes, NULL)) : INVALID_VALUE;
}
EXPORT int hipMemset(void *dst, int value, size_t bytes) {
  ENTER;
  return code_of(ops()->mem_fill(emulator(), dst, value, bytes, NULL));
}

/* --- modules --- */

/* The size of an ELF file from its headers: hipModuleLoadData is given none. */
static size_t elf_size(const unsigned char *elf) {
  uint64_t section_table;
  uint16_t entry, count;
  memcpy(&section_table, elf + 0x28, 8);
  memcpy(&entry, elf + 0x3a, 2);
  memcpy(&count, elf + 0x3c, 2);
  return (size_t)section_table + (size_t)entry * count;
}
EXPORT int hipModuleLoadData(void **out, const void *image) {
  ENTER;
  module *m = make(sizeof *m, MODULE);
  if (!m) return OUT_OF_MEMORY;
  if (ops()->module_load(emulator(), image, elf_size(image), &m->inner, NULL)) {
    destroy(m, MODULE);
    return NO_BINARY;
  }
  *out = m;
  return SUCCESS;
}
EXPORT int hipModuleUnload(void *handle_) {
  int forced = enter(__func__); /* what is told to fail to destroy does destroy: nothing here may leak */
  module *m = handle_;
  if (!is(m, MODULE)) return INVALID_HANDLE;
  ops()->module_unload(emulator(), m->inner);
  destroy(m, MODULE);
  return forced;
}
EXPORT int hipModuleGetFunction(void **out, void *handle_, const char *name) {
  ENTER;
  module *m = handle_;
  mlaf_function *f;
  if (!is(m, MODULE)) return INVALID_HANDLE;
  if (ops()->function_get(emulator(), m->inner, name, &f, NULL)) return NOT_FOUND;
  *out = f;
  return SUCCESS;
}

static int check_stream(const void *stream) { return !stream || is(stream, STREAM); }

/* As the emulator runs it, or into the graph that the stream captures. */
static int run_or_capture(sequence *stream, const mlaf_launch *l) {
  mlaf_err err = {MLAF_OK, ""};
  if (stream && stream->capturing) {
    if (stream->n == MAX_NODES || l->args_size > MAX_ARGS) return CAPTURE_INVALIDATED;
    node *to = &stream->nodes[stream->n++];
    to->launch = *l;
    memcpy(to->args, l->args, l->args_size);
    return SUCCESS;
  }
  mlaf_status st = ops()->launch(emulator(), NULL, l, &err);
  if (st) fprintf(stderr, "fakehip: %s\n", err.text);
  return code_of(st);
}

EXPORT int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned lds, void *stream, void **params, void **extra) {
  ENTER;
  /* Exactly the form of the public documentation: {1, pointer, 2, size pointer, 3}. */
  if (!function || params || !extra || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != (void *)3 || lds)
    return INVALID_VALUE;
  if (!check_stream(stream) || !gx || !gy || !gz || !bx || !by || !bz) return INVALID_VALUE;
  const mlaf_launch l = {.fn = function,
                         .grid = {gx, gy, gz},
                         .block = {bx, by, bz},
                         .args = extra[1],
                         .args_size = *(const size_t *)extra[3]};
  return run_or_capture(stream, &l);
}

/* --- streams and events --- */

static int make_handle(void **out, uint32_t magic) {
  *out = make(sizeof(handle), magic);
  return *out ? SUCCESS : OUT_OF_MEMORY;
}
/* Ends a handle: a call that is told to fail destroys all the same. */
static int end_handle(void *h, uint32_t magic, int forced) {
  const int code = destroy(h, magic) ? SUCCESS : INVALID_HANDLE;
  return forced ? forced : code;
}
static int end_sequence(void *h, uint32_t magic, int forced) {
  if (is(h, magic)) free(((sequence *)h)->nodes);
  return end_handle(h, magic, forced);
}
EXPORT int hipStreamCreateWithFlags(void **stream, unsigned flags) {
  ENTER;
  *stream = make(sizeof(sequence), STREAM);
  return *stream ? SUCCESS : OUT_OF_MEMORY;
}
EXPORT int hipStreamDestroy(void *stream) {
  return end_sequence(stream, STREAM, enter(__func__));
}
EXPORT int hipStreamSynchronize(void *stream) {
  ENTER;
  return check_stream(stream) && !(stream && ((sequence *)stream)->capturing) ? SUCCESS : INVALID_HANDLE;
}
/* The ROCm 5 of this kind has no graphs. */
#ifndef FAKEHIP_ROCM5
EXPORT int hipStreamBeginCapture(void *stream, int mode) {
  ENTER;
  sequence *s = stream;
  if (!is(s, STREAM) || s->capturing || mode != 1) return INVALID_VALUE;
  if (!s->nodes) s->nodes = calloc(MAX_NODES, sizeof(node));
  if (!s->nodes) return OUT_OF_MEMORY;
  s->capturing = 1;
  s->n = 0;
  return SUCCESS;
}
EXPORT int hipStreamEndCapture(void *stream, void **graph) {
  int forced = enter(__func__);
  sequence *s = stream, *g;
  if (!is(s, STREAM) || !s->capturing) return INVALID_VALUE;
  s->capturing = 0;
  if (forced) return forced;
  *graph = g = make(sizeof *g, GRAPH);
  if (!g) return OUT_OF_MEMORY;
  g->n = s->n;
  g->nodes = s->nodes;
  s->nodes = NULL;
  return SUCCESS;
}
EXPORT int hipGraphInstantiate(void **exec, void *graph, void **error_node, char *log, size_t log_size) {
  ENTER;
  if (!is(graph, GRAPH)) return INVALID_VALUE;
  sequence *from = graph, *to = make(sizeof *to, EXEC);
  if (!to || !(to->nodes = calloc(MAX_NODES, sizeof(node)))) {
    destroy(to, EXEC);
    return OUT_OF_MEMORY;
  }
  to->n = from->n;
  memcpy(to->nodes, from->nodes, (size_t)from->n * sizeof(node));
  *exec = to;
  return SUCCESS;
}
EXPORT int hipGraphLaunch(void *exec, void *stream) {
  ENTER;
  const sequence *e = exec;
  int code = SUCCESS;
  if (!is(e, EXEC) || !is(stream, STREAM)) return INVALID_HANDLE;
  for (int i = 0; !code && i < e->n; i++) {
    mlaf_launch l = e->nodes[i].launch;
    l.args = e->nodes[i].args;
    code = run_or_capture(NULL, &l);
    graph_kernels++;
  }
  return code;
}
EXPORT int hipGraphExecDestroy(void *exec) { return end_sequence(exec, EXEC, enter(__func__)); }
EXPORT int hipGraphDestroy(void *graph) { return end_sequence(graph, GRAPH, enter(__func__)); }
#endif
EXPORT int hipEventCreate(void **event) {
  ENTER;
  return make_handle(event, EVENT);
}
EXPORT int hipEventDestroy(void *event) {
  return end_handle(event, EVENT, enter(__func__));
}
EXPORT int hipEventRecord(void *event, void *stream) {
  ENTER;
  handle *e = event;
  if (!is(e, EVENT) || !check_stream(stream)) return INVALID_HANDLE;
  e->when = mlaf_now(); /* launches are synchronous here: now is when everything before is done */
  return SUCCESS;
}
EXPORT int hipEventSynchronize(void *event) {
  ENTER;
  return is(event, EVENT) ? SUCCESS : INVALID_HANDLE;
}
EXPORT int hipEventElapsedTime(float *ms, void *start, void *stop) {
  ENTER;
  if (!is(start, EVENT) || !is(stop, EVENT)) return INVALID_HANDLE;
  *ms = (float)((((handle *)stop)->when - ((handle *)start)->when) * 1e3);
  return SUCCESS;
}

/* --- errors --- */

EXPORT const char *hipGetErrorName(int code) {
  static const struct {
    int code;
    const char *name;
  } names[] = {{SUCCESS, "hipSuccess"},
               {INVALID_VALUE, "hipErrorInvalidValue"},
               {OUT_OF_MEMORY, "hipErrorOutOfMemory"},
               {NO_DEVICE, "hipErrorNoDevice"},
               {INVALID_DEVICE, "hipErrorInvalidDevice"},
               {NO_BINARY, "hipErrorNoBinaryForGpu"},
               {INVALID_HANDLE, "hipErrorInvalidHandle"},
               {NOT_FOUND, "hipErrorNotFound"},
               {LAUNCH_FAILURE, "hipErrorLaunchFailure"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].code == code) return names[i].name;
  return "hipErrorUnknown";
}
EXPORT const char *hipGetErrorString(int code) {
  return code == NO_DEVICE ? "no ROCm-capable device is detected" : "fake error";
}
