/* NVRTC, found at run time and never linked; its few declarations are repeated here, so that building needs no CUDA. */
#include "compile/nvrtc.h"

#include <dlfcn.h>
#include <unistd.h>

#include "compile/rtc_text.h"

#define LOG_MAX ((size_t)4 << 20)

typedef struct api {
  const char *(*error)(int result);
  int (*create)(void **prog, const char *src, const char *name, int n, const char *const *headers,
                const char *const *names);
  int (*compile)(void *prog, int n, const char *const *options);
  int (*destroy)(void **prog);
  int (*log_size)(void *prog, size_t *size);
  int (*log)(void *prog, char *log);
  int (*cubin_size)(void *prog, size_t *size);
  int (*cubin)(void *prog, char *code);
} api;

struct mlaf_nvrtc {
  api f;
  char include[600]; /* "--include-path=...", "" where no headers lie beside the library */
};

#define SYMBOL(member, name) {offsetof(api, member), name}
static const struct {
  size_t offset;
  const char *name;
} symbols[] = {
    SYMBOL(error, "nvrtcGetErrorString"),     SYMBOL(create, "nvrtcCreateProgram"),
    SYMBOL(compile, "nvrtcCompileProgram"),   SYMBOL(destroy, "nvrtcDestroyProgram"),
    SYMBOL(log_size, "nvrtcGetProgramLogSize"), SYMBOL(log, "nvrtcGetProgramLog"),
    SYMBOL(cubin_size, "nvrtcGetCUBINSize"),  SYMBOL(cubin, "nvrtcGetCUBIN"),
};

/* Newest first, as the toolchain's identity is made. */
static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};

static void *open_library(const char *lib_dir, mlaf_err *err) {
  char path[600];
  mlaf_fail(err, MLAF_E_NO_COMPILER, "no libnvrtc.so.13 or .12 in %.500s", lib_dir ? lib_dir : "(no folder)");
  for (int i = 0; lib_dir && names[i]; i++) {
    snprintf(path, sizeof path, "%.560s/%s", lib_dir, names[i]);
    if (access(path, R_OK)) continue;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle) return handle;
    mlaf_fail(err, MLAF_E_NO_COMPILER, "cannot load %s: %s", path, dlerror());
  }
  return NULL;
}

/* NVRTC opens its built-in functions by bare name at the first compile, which only a folder on the loader's path answers. Loaded
 * by path beforehand they are found by that name wherever they lie. Absent ones are NVRTC's to complain about. */
static void load_builtins(void *nvrtc, const char *lib_dir) {
  int (*version)(int *major, int *minor), major = 0, minor = 0;
  char path[640];
  void *symbol = dlsym(nvrtc, "nvrtcVersion");
  memcpy(&version, &symbol, sizeof symbol);
  if (!symbol || version(&major, &minor)) return;
  snprintf(path, sizeof path, "%.560s/libnvrtc-builtins.so.%d.%d", lib_dir, major, minor);
  (void)dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

mlaf_status mlaf_nvrtc_load(const char *lib_dir, mlaf_nvrtc **out, mlaf_err *err) {
  char header[600];
  void *handle = open_library(lib_dir, err);
  if (!handle) return MLAF_E_NO_COMPILER;
  load_builtins(handle, lib_dir);
  mlaf_nvrtc *n = calloc(1, sizeof *n);
  if (!n) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for the compiler's functions");
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *symbol = dlsym(handle, symbols[i].name);
    if (!symbol) {
      free(n);
      return mlaf_fail(err, MLAF_E_NO_COMPILER, "libnvrtc in %s lacks %s: 12.0 is the first that works", lib_dir,
                       symbols[i].name);
    }
    memcpy((char *)&n->f + symbols[i].offset, &symbol, sizeof symbol);
  }
  snprintf(header, sizeof header, "%.560s/../include/cuda_fp16.h", lib_dir);
  if (!access(header, R_OK)) snprintf(n->include, sizeof n->include, "--include-path=%.560s/../include", lib_dir);
  *out = n;
  return MLAF_OK;
}

void mlaf_nvrtc_free(mlaf_nvrtc *n) { free(n); }

static char *take_log(mlaf_nvrtc *n, void *prog) {
  size_t size = 0;
  if (n->f.log_size(prog, &size) || size <= 1 || size > LOG_MAX) return mlaf_strdup("");
  char *raw = calloc(1, size + 1);
  if (raw && n->f.log(prog, raw)) raw[0] = 0;
  return mlaf_rtc_error_first(raw);
}

static mlaf_status take_cubin(mlaf_nvrtc *n, void *prog, const char *target, void **out, size_t *size, mlaf_err *err) {
  size_t bytes = 0;
  int rc = n->f.cubin_size(prog, &bytes);
  if (rc || !bytes) /* a virtual target such as compute_90 gives PTX only */
    return mlaf_fail(err, MLAF_E_COMPILE, "nvrtcGetCUBINSize: %s; %s gave no cubin", n->f.error(rc), target);
  char *code = malloc(bytes);
  if (!code) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a cubin of %zu bytes", bytes);
  rc = n->f.cubin(prog, code);
  if (rc) {
    free(code);
    return mlaf_fail(err, MLAF_E_COMPILE, "nvrtcGetCUBIN: %s", n->f.error(rc));
  }
  *out = code;
  *size = bytes;
  return MLAF_OK;
}

mlaf_status mlaf_nvrtc_compile(mlaf_nvrtc *n, const char *target, const char *options, size_t options_size,
                               const char *source, void **out, size_t *size, char **log, mlaf_err *err) {
  char arch[160];
  void *prog = NULL;
  int argc = 0;
  if (options_size && options[options_size - 1] != 0) return mlaf_fail(err, MLAF_E_ARG, "options do not end in NUL");
  snprintf(arch, sizeof arch, "--gpu-architecture=%s", target);
  const char *const first[] = {arch, n->include};
  const char **argv = mlaf_rtc_options(first, n->include[0] ? 2 : 1, options, options_size, &argc);
  if (!argv) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for compiler options");
  int rc = n->f.create(&prog, source, MLAF_RTC_CUDA_NAME, 0, NULL, NULL);
  if (rc) {
    free(argv);
    return mlaf_fail(err, mlaf_rtc_status(rc), "nvrtcCreateProgram: %s", n->f.error(rc));
  }
  rc = n->f.compile(prog, argc, argv);
  *log = take_log(n, prog);
  mlaf_status status;
  if (rc) {
    const char *line = "";
    size_t len = *log ? mlaf_rtc_first_error(*log, &line) : 0;
    if (!len && *log) len = strcspn(line = *log, "\n"); /* an option that it does not know is no "error:" */
    status = mlaf_fail(err, mlaf_rtc_status(rc), "%s%s%.*s", n->f.error(rc), len ? ": " : "", (int)len, line);
  } else {
    status = take_cubin(n, prog, target, out, size, err);
  }
  n->f.destroy(&prog);
  free(argv);
  return status;
}
