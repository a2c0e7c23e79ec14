// A ggml back end for ggml_backend_load(): an accelerator device that takes MLA's GGML_OP_FLASH_ATTN_EXT and nothing else. It
// works on host buffers with mlaforge's emulator, so it checks results within llama.cpp where there is no GPU.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ggml-backend-impl.h"
#include "ggml-cpu.h"
#include "mlaforge-ggml.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

mlaf_ctx *context;
std::atomic<long> calls;

const char *Name(ggml_backend_t) { return "MLAFORGE"; }
const char *RegName(ggml_backend_reg_t) { return "MLAFORGE"; }
const char *DeviceName(ggml_backend_dev_t) { return "MLAFORGE"; }

void Free(ggml_backend_t backend) { delete backend; }

// Memory of one call. The emulator's addresses are this process's.
struct Pool {
  std::vector<void *> blocks;
  ~Pool() {
    for (void *p : blocks) mlaf_mem_free(context, p);
  }
  static void *Alloc(void *self, size_t bytes) {
    void *p = nullptr;
    if (mlaf_mem_alloc(context, bytes, &p)) return nullptr;
    ((Pool *)self)->blocks.push_back(p);
    return p;
  }
};

ggml_status Compute(ggml_backend_t, ggml_cgraph *graph) {
  for (int i = 0; i < ggml_graph_n_nodes(graph); i++) {
    ggml_tensor *node = ggml_graph_node(graph, i);
    if (node->op != GGML_OP_FLASH_ATTN_EXT) continue;  // views: no work
    Pool pool;
    const mlaf_ggml_call call = {context, nullptr, Pool::Alloc, &pool, getenv("MLAF_GGML_PREFIX") != nullptr};
    char why[4096] = "";
    if (mlaf_ggml_flash_attn_ext(&call, node, why, sizeof why)) {
      fprintf(stderr, "mlaforge: %s\n", why);
      return GGML_STATUS_FAILED;
    }
    calls++;
  }
  return GGML_STATUS_SUCCESS;
}

ggml_backend_t InitBackend(ggml_backend_dev_t device, const char *) {
  static ggml_guid guid = {'m', 'l', 'a', 'f', 'o', 'r', 'g', 'e'};
  ggml_backend_i calls_of = {};
  calls_of.get_name = Name, calls_of.free = Free, calls_of.graph_compute = Compute;
  return new ggml_backend{&guid, calls_of, device, nullptr};
}

void Memory(ggml_backend_dev_t, size_t *free, size_t *total) { *free = *total = 0; }
enum ggml_backend_dev_type Type(ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_ACCEL; }

void Properties(ggml_backend_dev_t device, ggml_backend_dev_props *to) {
  *to = {};
  to->name = to->description = DeviceName(device);
  to->type = Type(device);
}

ggml_backend_buffer_type_t BufferType(ggml_backend_dev_t) {
  return ggml_backend_dev_buffer_type(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
}

bool TakesBuffer(ggml_backend_dev_t, ggml_backend_buffer_type_t type) { return ggml_backend_buft_is_host(type); }

bool TakesOp(ggml_backend_dev_t, const ggml_tensor *op) {
  switch (op->op) {
    case GGML_OP_NONE:
    case GGML_OP_RESHAPE:
    case GGML_OP_VIEW:
    case GGML_OP_PERMUTE:
    case GGML_OP_TRANSPOSE: return true;
    default: return mlaf_ggml_supports(op);
  }
}

size_t Devices(ggml_backend_reg_t) { return 1; }

ggml_backend_dev_t Device(ggml_backend_reg_t reg, size_t) {
  static ggml_backend_device device = {};
  ggml_backend_device_i &to = device.iface;
  device.reg = reg;
  to.get_name = to.get_description = DeviceName, to.get_memory = Memory, to.get_type = Type, to.get_props = Properties;
  to.init_backend = InitBackend, to.get_buffer_type = BufferType, to.supports_op = TakesOp, to.supports_buft = TakesBuffer;
  return &device;
}

}  // namespace

// Nodes that were computed so far, for tests.
EXPORT long mlaf_ggml_calls(void) { return calls; }

EXPORT ggml_backend_reg_t ggml_backend_init(void) {
  static ggml_backend_reg reg = {GGML_BACKEND_API_VERSION, {RegName, Devices, Device, nullptr}, nullptr};
  const char *device = getenv("MLAF_DEVICE");
  if (device && strncmp(device, "emu:", 4)) {
    fprintf(stderr, "mlaforge: MLAF_DEVICE is %s, must be an emulator, as emu:gfx942: buffers are the host's\n", device);
    return nullptr;
  }
  if (context) return &reg;
  mlaf_ctx_opts opts = MLAF_CTX_OPTS_INIT;
  char why[4096] = "";
  opts.device = device ? device : "emu:gfx942";
  if (mlaf_ctx_create(&opts, &context, why, sizeof why)) {
    fprintf(stderr, "mlaforge: %s\n", why);
    return nullptr;
  }
  return &reg;
}
