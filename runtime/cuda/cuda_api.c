/* Finding the CUDA driver and its functions. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/cuda_api.h"

const char *const mlaf_cuda_symbols[] = {
#define X(name, parameters) #name,
    MLAF_CUDA_FUNCTIONS(X)
#undef X
        "cuGetErrorName",
    "cuGetErrorString",
    NULL,
};

/* Never plain libcuda.so: on a machine without a driver that is the toolkit's stub. */
static const char *const candidates[] = {
    "libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
};

/* The first candidate that loads. A library that exists and does not load (a missing dependency) is worth reporting;
 * names that are not there are not. */
static void *open_library(char *name, size_t size, mlaf_err *err) {
  const char *forced = getenv("MLAF_CUDA_LIBRARY");
  if (forced && *forced) {
    void *handle = dlopen(forced, RTLD_NOW | RTLD_LOCAL);
    if (!handle) mlaf_fail(err, MLAF_E_NO_DEVICE, "MLAF_CUDA_LIBRARY: %s", dlerror());
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
  mlaf_fail(err, MLAF_E_NO_DEVICE,
            "libcuda.so.1 not found on the loader's path%s; install the NVIDIA driver (in a container: start it with "
            "--gpus all), set MLAF_CUDA_LIBRARY, or use another --device",
            broken);
  return NULL;
}

/* dlsym gives an object pointer; POSIX says it may be copied to a function pointer. */
static bool find(void *handle, const char *name, void *slot) {
  void *symbol = dlsym(handle, name);
  memcpy(slot, &symbol, sizeof symbol);
  return symbol != NULL;
}

mlaf_status mlaf_cuda_load(mlaf_cuda_api *out, mlaf_err *err) {
  mlaf_cuda_api api = {.library = ""};
  void *handle = open_library(api.library, sizeof api.library, err);
  if (!handle) return MLAF_E_NO_DEVICE;
  const char *missing = NULL;
#define X(name, parameters) \
  if (!find(handle, #name, &api.name)) missing = #name;
  MLAF_CUDA_FUNCTIONS(X)
#undef X
  if (!find(handle, "cuGetErrorName", &api.cuGetErrorName)) missing = "cuGetErrorName";
  if (!find(handle, "cuGetErrorString", &api.cuGetErrorString)) missing = "cuGetErrorString";
  if (missing)
    return mlaf_fail(err, MLAF_E_NO_DEVICE, "%s has no function %s: not a CUDA driver of 11.4 or later", api.library,
                     missing);
  *out = api;
  return MLAF_OK;
}

/* What a kernel did wrong: the driver then refuses everything in this process. */
static bool is_fault(int code) {
  return code == CUDA_ILLEGAL_ADDRESS || code == CUDA_ASSERT || (code >= CUDA_HARDWARE_STACK && code <= CUDA_LAUNCH_FAILED);
}

mlaf_status mlaf_cuda_check(const mlaf_cuda_api *api, int code, const char *call, mlaf_err *err) {
  if (code == CUDA_OK) return MLAF_OK;
  const char *name = NULL, *text = NULL;
  if (api->cuGetErrorName(code, &name)) name = NULL; /* an unknown code is itself an error */
  if (api->cuGetErrorString(code, &text)) text = NULL;
  if (code == CUDA_STUB_LIBRARY && !text) text = "this is a toolkit's stub, not a driver"; /* it cannot say so itself */
  mlaf_status st = code == CUDA_NO_DEVICE || code == CUDA_INVALID_DEVICE ? MLAF_E_NO_DEVICE
                   : code == CUDA_LAUNCH_TIMEOUT                         ? MLAF_E_TIMEOUT
                                                                         : MLAF_E_DEVICE;
  return mlaf_fail(err, st, "%s: %s (%d): %s%s", call, name ? name : "?", code, text ? text : "?",
                   is_fault(code) ? "; a kernel faulted, this process cannot use the device any more" : "");
}
