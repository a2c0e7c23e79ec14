/* Finding the HIP runtime and its functions. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hip/hip_api.h"

const char *const mlaf_hip_symbols[] = {
#define X(name, parameters) #name,
    MLAF_HIP_FUNCTIONS(X)
#undef X
        "hipGetErrorName",
    "hipGetErrorString",
    NULL,
};

/* Newest first; 5 has the old properties layout. */
static const char *const candidates[] = {
    "libamdhip64.so.7",
    "libamdhip64.so.6",
    "libamdhip64.so.5",
    "libamdhip64.so",
    "/opt/rocm/lib/libamdhip64.so.7",
    "/opt/rocm/lib/libamdhip64.so.6",
    "/opt/rocm/lib/libamdhip64.so.5",
    "/opt/rocm/lib/libamdhip64.so",
};

/* The first candidate that loads. A library that exists and does not load (a missing dependency) is worth reporting;
 * names that are not there are not. */
static void *open_library(char *name, size_t size, mlaf_err *err) {
  const char *forced = getenv("MLAF_HIP_LIBRARY");
  if (forced && *forced) {
    void *handle = dlopen(forced, RTLD_NOW | RTLD_LOCAL);
    if (!handle) mlaf_fail(err, MLAF_E_NO_DEVICE, "MLAF_HIP_LIBRARY: %s", dlerror());
    snprintf(name, size, "%s", forced);
    return handle;
  }
  char broken[512] = "";
  for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
    void *handle = dlopen(candidates[i], RTLD_NOW | RTLD_LOCAL);
    if (handle) {
      snprintf(name, size, "%s", candidates[i]);
      return handle;
    }
    const char *why = dlerror();
    size_t n = strlen(candidates[i]);
    bool absent = why && !strncmp(why, candidates[i], n) && strstr(why, "No such file");
    if (why && !absent && !broken[0]) snprintf(broken, sizeof broken, " (%s)", why);
  }
  mlaf_fail(
      err, MLAF_E_NO_DEVICE,
      "libamdhip64.so.6 not found on the loader's path or in /opt/rocm/lib%s; install ROCm, set MLAF_HIP_LIBRARY, or "
      "use --device emu:gfx942",
      broken);
  return NULL;
}

/* dlsym gives an object pointer; POSIX says it may be copied to a function pointer. */
static bool find(void *handle, const char *name, void *slot) {
  void *symbol = dlsym(handle, name);
  memcpy(slot, &symbol, sizeof symbol);
  return symbol != NULL;
}

mlaf_status mlaf_hip_load(mlaf_hip_api *out, mlaf_err *err) {
  mlaf_hip_api api = {.library = ""};
  void *handle = open_library(api.library, sizeof api.library, err);
  if (!handle) return MLAF_E_NO_DEVICE;
  const char *missing = NULL;
#define X(name, parameters) \
  if (!find(handle, #name, &api.name)) missing = #name;
  MLAF_HIP_FUNCTIONS(X)
#undef X
  if (!find(handle, "hipGetErrorName", &api.hipGetErrorName)) missing = "hipGetErrorName";
  if (!find(handle, "hipGetErrorString", &api.hipGetErrorString)) missing = "hipGetErrorString";
  if (missing)
    return mlaf_fail(err, MLAF_E_NO_DEVICE, "%s has no function %s: not a HIP runtime of ROCm 5 or later", api.library,
                     missing);
  if (!find(handle, "hipGetDevicePropertiesR0600", &api.properties_r0600) &&
      !find(handle, "hipGetDeviceProperties", &api.properties_r0000))
    return mlaf_fail(err, MLAF_E_NO_DEVICE, "%s has no hipGetDeviceProperties", api.library);
  *out = api;
  return MLAF_OK;
}

mlaf_status mlaf_hip_check(const mlaf_hip_api *api, int code, const char *call, mlaf_err *err) {
  if (code == HIP_OK) return MLAF_OK;
  const char *name = api->hipGetErrorName(code), *text = api->hipGetErrorString(code);
  mlaf_status st = code == HIP_NO_DEVICE || code == HIP_INVALID_DEVICE ? MLAF_E_NO_DEVICE
                   : code == HIP_LAUNCH_TIMEOUT                        ? MLAF_E_TIMEOUT
                                                                       : MLAF_E_DEVICE;
  return mlaf_fail(err, st, "%s: %s (%d): %s", call, name ? name : "?", code, text ? text : "?");
}
