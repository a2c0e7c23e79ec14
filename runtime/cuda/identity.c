/* Who the GPU is: the HARD key of the database and the facts beside it. */
#include "cuda/cuda_device.h"

typedef struct facts {
  int major, minor, l2, bus, clock_khz, mem_khz;
} facts;

static mlaf_status read_attributes(mlaf_cuda *c, facts *f, mlaf_err *err) {
  mlaf_device_info *info = &c->base.info;
  const struct {
    int attribute;
    int *to;
    bool needed;
    const char *name;
  } wanted[] = {
      {CUDA_ATTR_CC_MAJOR, &f->major, true, "COMPUTE_CAPABILITY_MAJOR"},
      {CUDA_ATTR_SM_COUNT, &info->compute_units, true, "MULTIPROCESSOR_COUNT"},
      {CUDA_ATTR_WARP_SIZE, &info->wave_size, true, "WARP_SIZE"},
      {CUDA_ATTR_SHARED_OPTIN, &info->lds_bytes, true, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"},
      {CUDA_ATTR_MAX_THREADS, &info->max_threads, true, "MAX_THREADS_PER_BLOCK"},
      {CUDA_ATTR_L2_BYTES, &f->l2, true, "L2_CACHE_SIZE"},
      {CUDA_ATTR_BUS_BITS, &f->bus, true, "GLOBAL_MEMORY_BUS_WIDTH"},
      {CUDA_ATTR_CLOCK_KHZ, &f->clock_khz, false, "CLOCK_RATE"},
      {CUDA_ATTR_MEM_CLOCK_KHZ, &f->mem_khz, false, "MEMORY_CLOCK_RATE"},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    int value = 0;
    int code = c->api.cuDeviceGetAttribute(&value, wanted[i].attribute, c->device);
    if (!code && value > 0) *wanted[i].to = value;
    else if (wanted[i].needed) {
      char call[80];
      snprintf(call, sizeof call, "cuDeviceGetAttribute(%s)", wanted[i].name);
      return code ? mlaf_cuda_check(&c->api, code, call, err) : mlaf_fail(err, MLAF_E_DEVICE, "%s is %d", call, value);
    }
  }
  return MLAF_OK;
}

static void write_target(mlaf_device_info *info, const facts *f) {
  char name[16];
  snprintf(name, sizeof name, "sm_%d%d", f->major, f->minor);
  mlaf_target_of_device(name, info->target, sizeof info->target);
  memcpy(info->full_target, info->target, sizeof info->full_target);
}

/* Both are for the record only: left out when not told. */
static void write_driver(mlaf_cuda *c, const char *sysfs) {
  char path[512], module[32] = "";
  int version = 0;
  if (c->api.cuDriverGetVersion(&version)) version = 0;
  snprintf(path, sizeof path, "%s/module/nvidia/version", sysfs);
  FILE *f = fopen(path, "r");
  if (f && fscanf(f, "%31s", module) != 1) module[0] = 0;
  if (f) fclose(f);
  snprintf(c->base.info.driver, sizeof c->base.info.driver, "cuda %d.%d%s%s", version / 1000, version % 1000 / 10,
           *module ? " nvidia " : "", module);
}

mlaf_status mlaf_cuda_identify(mlaf_cuda *c, const char *sysfs, mlaf_err *err) {
  mlaf_device_info *info = &c->base.info;
  facts f = {0};
  size_t mem = 0;
  mlaf_status st = read_attributes(c, &f, err);
  /* 0 is a good minor: not in the table, which takes 0 for "not told". */
  if (!st)
    st = mlaf_cuda_check(&c->api, c->api.cuDeviceGetAttribute(&f.minor, CUDA_ATTR_CC_MINOR, c->device),
                         "cuDeviceGetAttribute(COMPUTE_CAPABILITY_MINOR)", err);
  int pageable = 0;
  if (!st)
    st = mlaf_cuda_check(&c->api, c->api.cuDeviceGetAttribute(&pageable, CUDA_ATTR_PAGEABLE_ACCESS, c->device),
                         "cuDeviceGetAttribute(PAGEABLE_MEMORY_ACCESS)", err);
  c->reaches_host = pageable;
  if (!st) st = mlaf_cuda_check(&c->api, c->api.cuDeviceTotalMem_v2(&mem, c->device), "cuDeviceTotalMem", err);
  if (st) return st;
  write_target(info, &f);
  c->can_overlap = f.major >= 9;
  info->xcc = 1;
  info->mem_bytes = (int64_t)mem;
  info->l2_bytes = f.l2;
  info->clock_mhz = f.clock_khz / 1000;
  info->mem_clock_mhz = f.mem_khz / 1000;
  if (c->api.cuDeviceGetName(info->name, sizeof info->name - 1, c->device) || !info->name[0])
    snprintf(info->name, sizeof info->name, "%s", info->target);
  if (c->api.cuDeviceGetPCIBusId(info->place, sizeof info->place - 1, c->device)) info->place[0] = 0;
  write_driver(c, sysfs);
  snprintf(info->id, sizeof info->id, "sm_%d%d|sm%d|l2_%dM|bus%d", f.major, f.minor, info->compute_units, f.l2 >> 20,
           f.bus);
  return MLAF_OK;
}
