/* Finding the CUDA driver and its functions. */
#include "cuda/cuda_api.h"

#include "base/library.h"

const char *const mlaf_cuda_symbols[] = {
#define X(name, parameters) #name,
    MLAF_CUDA_FUNCTIONS(X) MLAF_CUDA_NEW_FUNCTIONS(X)
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
    NULL,
};

static const char fix[] =
    "install the NVIDIA driver (in a container: start it with --gpus all), set MLAF_CUDA_LIBRARY, or use another --device";

mlaf_status mlaf_cuda_load(mlaf_cuda_api *out, mlaf_err *err) {
  mlaf_cuda_api api = {.library = ""};
  void *handle = mlaf_library_open("MLAF_CUDA_LIBRARY", candidates, "libcuda.so.1", fix, api.library, sizeof api.library, err);
  if (!handle) return MLAF_E_NO_DEVICE;
  const char *missing = NULL;
#define X(name, parameters) \
  if (!mlaf_library_find(handle, #name, &api.name)) missing = #name;
  MLAF_CUDA_FUNCTIONS(X)
#undef X
#define X(name, parameters) \
  if (!mlaf_library_find(handle, #name, &api.name)) api.name = NULL;
  MLAF_CUDA_NEW_FUNCTIONS(X)
#undef X
  if (!mlaf_library_find(handle, "cuGetErrorName", &api.cuGetErrorName)) missing = "cuGetErrorName";
  if (!mlaf_library_find(handle, "cuGetErrorString", &api.cuGetErrorString)) missing = "cuGetErrorString";
  if (missing)
    return mlaf_fail(err, MLAF_E_NO_DEVICE, "%s has no function %s: not a CUDA driver of 11.4 or later", api.library,
                     missing);
  *out = api;
  return MLAF_OK;
}

/* Tells whether a kernel did something wrong: the driver then refuses everything in this process. */
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
