/* Who the GPU is: the HARD key of the database and the facts beside it. */
#include "hip/hip_device.h"

/* Offsets of gcnArchName in the two layouts of hipDeviceProp_t, and room for any that may come. */
enum { ARCH_AT_R0600 = 1160, ARCH_AT_R0000 = 396, PROPS_ROOM = 16384, ARCH_SIZE = 256 };

/* One small text file, trailing white space cut; false when it cannot be read. */
static bool read_line(char *out, size_t size, const char *path) {
  FILE *f = fopen(path, "r");
  size_t n = f ? fread(out, 1, size - 1, f) : 0;
  if (f) fclose(f);
  while (n && (out[n - 1] == '\n' || out[n - 1] == ' ')) n--;
  out[n] = 0;
  return n > 0;
}

/* "name value" lines of a KFD topology file. -1: not there. */
static long long property(const char *text, const char *name) {
  size_t n = strlen(name);
  for (const char *s = text; s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL)
    if (!strncmp(s, name, n) && s[n] == ' ') return strtoll(s + n, NULL, 0);
  return -1;
}

/* The size of the level-3 cache (Infinity Cache) of a KFD node: the sum over its cache entries, in KiB there. */
static int64_t node_llc(const char *node) {
  int64_t total = 0;
  for (int i = 0; i < 4096; i++) {
    char path[600], text[2048];
    snprintf(path, sizeof path, "%s/caches/%d/properties", node, i);
    if (!read_line(text, sizeof text, path)) break;
    if (property(text, "level") == 3) total += property(text, "size") * 1024;
  }
  return total;
}

static void read_kfd(const char *sysfs, unsigned domain, unsigned location, mlaf_hip_sysfs *out) {
  for (int i = 0; i < 1024; i++) {
    char node[512], path[560], text[4096];
    snprintf(node, sizeof node, "%s/class/kfd/kfd/topology/nodes/%d", sysfs, i);
    snprintf(path, sizeof path, "%s/properties", node);
    if (!read_line(text, sizeof text, path)) return;
    if (property(text, "location_id") != (long long)location) continue;
    if (property(text, "domain") > 0 && property(text, "domain") != (long long)domain) continue;
    if (property(text, "num_xcc") > 0) out->xcc = (int)property(text, "num_xcc");
    out->llc_bytes = node_llc(node);
    return;
  }
}

void mlaf_hip_read_sysfs(const char *sysfs, const char *pci, mlaf_hip_sysfs *out) {
  char path[512];
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  *out = (mlaf_hip_sysfs){.compute = "?", .memory = "?"};
  snprintf(path, sizeof path, "%s/module/amdgpu/version", sysfs);
  if (!read_line(out->driver, sizeof out->driver, path)) out->driver[0] = 0;
  if (sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) return;
  const struct {
    const char *file;
    char *to;
  } partitions[] = {{"current_compute_partition", out->compute}, {"current_memory_partition", out->memory}};
  for (int i = 0; i < 2; i++) {
    char text[16];
    snprintf(path, sizeof path, "%s/bus/pci/devices/%04x:%02x:%02x.%x/%s", sysfs, domain, bus, slot, function,
             partitions[i].file);
    if (read_line(text, sizeof text, path)) memcpy(partitions[i].to, text, sizeof text);
  }
  read_kfd(sysfs, domain, bus << 8 | slot << 3 | function, out);
}

/* "gfx942:sramecc+:xnack-" out of a struct whose layout depends on the ROCm that made the library. */
static mlaf_status read_arch(mlaf_hip *h, char *out, size_t size, mlaf_err *err) {
  const bool r0600 = h->api.properties_r0600 != NULL;
  char *props = calloc(1, PROPS_ROOM);
  if (!props) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for device properties");
  int code = (r0600 ? h->api.properties_r0600 : h->api.properties_r0000)(props, h->ordinal);
  mlaf_status st = mlaf_hip_check(&h->api, code, "hipGetDeviceProperties", err);
  if (!st) {
    char *arch = props + (r0600 ? ARCH_AT_R0600 : ARCH_AT_R0000);
    arch[ARCH_SIZE - 1] = 0;
    if (!strncmp(arch, "gfx", 3) && strlen(arch) < size) snprintf(out, size, "%s", arch);
    else
      st = mlaf_fail(err, MLAF_E_DEVICE,
                     "%s: hipGetDeviceProperties has an unknown layout: no \"gfx\" where the arch is", h->api.library);
  }
  free(props);
  return st;
}

static mlaf_status read_attributes(mlaf_hip *h, mlaf_err *err) {
  mlaf_device_info *info = &h->base.info;
  int l2 = 0, clock_khz = 0, mem_khz = 0;
  const struct {
    int attribute;
    int *to;
    bool needed;
    const char *name;
  } wanted[] = {
      {HIP_ATTR_CU_COUNT, &info->compute_units, true, "MultiprocessorCount"},
      {HIP_ATTR_WAVE_SIZE, &info->wave_size, true, "WarpSize"},
      {HIP_ATTR_LDS_BYTES, &info->lds_bytes, true, "MaxSharedMemoryPerBlock"},
      {HIP_ATTR_MAX_THREADS, &info->max_threads, true, "MaxThreadsPerBlock"},
      {HIP_ATTR_L2_BYTES, &l2, false, "L2CacheSize"},
      {HIP_ATTR_CLOCK_KHZ, &clock_khz, false, "ClockRate"},
      {HIP_ATTR_MEM_CLOCK_KHZ, &mem_khz, false, "MemoryClockRate"},
      {HIP_ATTR_XCC_COUNT, &info->xcc, false, "NumberOfXccs"},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    int value = 0;
    int code = h->api.hipDeviceGetAttribute(&value, wanted[i].attribute, h->ordinal);
    if (!code && value > 0) *wanted[i].to = value;
    else if (wanted[i].needed) {
      char call[80];
      snprintf(call, sizeof call, "hipDeviceGetAttribute(%s)", wanted[i].name);
      return code ? mlaf_hip_check(&h->api, code, call, err) : mlaf_fail(err, MLAF_E_DEVICE, "%s is %d", call, value);
    }
  }
  info->l2_bytes = l2;
  info->clock_mhz = clock_khz / 1000;
  info->mem_clock_mhz = mem_khz / 1000;
  return MLAF_OK;
}

static void write_driver(mlaf_hip *h, const char *module) {
  int runtime = 0, driver = 0;
  h->api.hipRuntimeGetVersion(&runtime); /* both are for the record only: 0 when not told */
  h->api.hipDriverGetVersion(&driver);
  snprintf(h->base.info.driver, sizeof h->base.info.driver, "hip %d driver %d%s%s", runtime, driver,
           *module ? " amdgpu " : "", module);
}

mlaf_status mlaf_hip_identify(mlaf_hip *h, const char *sysfs, mlaf_err *err) {
  mlaf_device_info *info = &h->base.info;
  mlaf_hip_sysfs files;
  char xcc[16] = "?";
  size_t mem = 0;
  mlaf_status st = read_arch(h, info->full_target, sizeof info->full_target, err);
  if (!st) st = read_attributes(h, err);
  if (!st) st = mlaf_hip_check(&h->api, h->api.hipDeviceTotalMem(&mem, h->ordinal), "hipDeviceTotalMem", err);
  if (st) return st;
  snprintf(info->target, sizeof info->target, "%.*s", (int)strcspn(info->full_target, ":"), info->full_target);
  info->mem_bytes = (int64_t)mem;
  /* The marketing name is empty on real machines (containers, early firmware): then the target has to do. */
  if (h->api.hipDeviceGetName(info->name, sizeof info->name - 1, h->ordinal) || !info->name[0])
    snprintf(info->name, sizeof info->name, "%s", info->target);
  if (h->api.hipDeviceGetPCIBusId(info->place, sizeof info->place - 1, h->ordinal)) info->place[0] = 0;
  mlaf_hip_read_sysfs(sysfs, info->place, &files);
  if (!info->xcc) info->xcc = files.xcc;
  info->llc_bytes = files.llc_bytes;
  write_driver(h, files.driver);
  if (info->xcc) snprintf(xcc, sizeof xcc, "%d", info->xcc);
  snprintf(info->id, sizeof info->id, "%s|cu%d|xcc%s|%s|%s", info->full_target, info->compute_units, xcc, files.compute,
           files.memory);
  return MLAF_OK;
}
