/* Finding the HIP runtime and its functions. */
#include "hip/hip_api.h"

#include "base/library.h"

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
    NULL,
};

static const char fix[] =
    "install ROCm, set MLAF_HIP_LIBRARY, or use --device emu:gfx942";

/* A part of them would be of no use. */
static void find_graphs(void *handle, mlaf_hip_api *api) {
  bool all = true;
#define X(name, parameters) all = mlaf_library_find(handle, #name, &api->name) && all;
  MLAF_HIP_GRAPH_FUNCTIONS(X)
#undef X
#define X(name, parameters) api->name = all ? api->name : NULL;
  MLAF_HIP_GRAPH_FUNCTIONS(X)
#undef X
}

mlaf_status mlaf_hip_load(mlaf_hip_api *out, mlaf_err *err) {
  mlaf_hip_api api = {.library = ""};
  void *handle = mlaf_library_open("MLAF_HIP_LIBRARY", candidates, "libamdhip64.so.6", fix, api.library, sizeof api.library, err);
  if (!handle) return MLAF_E_NO_DEVICE;
  const char *missing = NULL;
#define X(name, parameters) \
  if (!mlaf_library_find(handle, #name, &api.name)) missing = #name;
  MLAF_HIP_FUNCTIONS(X)
#undef X
  if (!mlaf_library_find(handle, "hipGetErrorName", &api.hipGetErrorName)) missing = "hipGetErrorName";
  if (!mlaf_library_find(handle, "hipGetErrorString", &api.hipGetErrorString)) missing = "hipGetErrorString";
  if (missing)
    return mlaf_fail(err, MLAF_E_NO_DEVICE, "%s has no function %s: not a HIP runtime of ROCm 5 or later", api.library,
                     missing);
  if (!mlaf_library_find(handle, "hipGetDevicePropertiesR0600", &api.properties_r0600) &&
      !mlaf_library_find(handle, "hipGetDeviceProperties", &api.properties_r0000))
    return mlaf_fail(err, MLAF_E_NO_DEVICE, "%s has no hipGetDeviceProperties", api.library);
  find_graphs(handle, &api);
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
