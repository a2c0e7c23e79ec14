/* Finding vendors' GEMM libraries, and the code objects that are theirs. */
#include "compile/vendor.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include "compile/toolchain.h"
#include "device/matmul.h"

#define CODE_MAGIC "mlaforge library code 1\n"
#define MADE_WITH  "made with "

/* Newest first. Folders: a toolkit's, below its root; "" is the root itself. */
typedef struct vendor {
  const char *name, *variable, *root_variable, *also_variable, *root;
  const char *names[4], *below[5];
} vendor;
static const vendor vendors[MLAF_VENDORS] = {
    [MLAF_CUBLASLT] = {"cublaslt", "MLAF_CUBLASLT_LIBRARY", "CUDA_HOME", "MLAF_CUBLASLT_ALSO", "/usr/local/cuda",
                       {"libcublasLt.so.13", "libcublasLt.so.12"}, {"lib64", "lib", "targets/x86_64-linux/lib", ""}},
    [MLAF_HIPBLASLT] = {"hipblaslt", "MLAF_HIPBLASLT_LIBRARY", "ROCM_PATH", "MLAF_HIPBLASLT_ALSO", "/opt/rocm",
                        {"libhipblaslt.so.1", "libhipblaslt.so.0"}, {"lib", "lib64", ""}},
};
#define SYSTEM_FOLDERS "/usr/lib/x86_64-linux-gnu:/usr/lib64"

const char *mlaf_vendor_name(mlaf_vendor which) { return vendors[which].name; }

/* --- finding --- */

static bool in_folder(const vendor *v, const char *folder, size_t length, char out[PATH_MAX]) {
  for (int i = 0; length && v->names[i]; i++) {
    const int n = snprintf(out, PATH_MAX, "%.*s/%s", (int)length, folder, v->names[i]);
    if (n > 0 && n < PATH_MAX && access(out, R_OK) == 0) return true;
  }
  return false;
}

/* Folders, separated by colons. */
static bool in_list(const vendor *v, const char *list, char out[PATH_MAX]) {
  for (size_t n; list && *list; list += n + (list[n] != 0)) {
    n = strcspn(list, ":");
    if (*list == '/' && in_folder(v, list, n, out)) return true;
  }
  return false;
}

static bool below(const vendor *v, const char *root, char out[PATH_MAX]) {
  char folder[PATH_MAX];
  for (int i = 0; root && *root && v->below[i]; i++) {
    const int n = snprintf(folder, sizeof folder, "%s%s%s", root, *v->below[i] ? "/" : "", v->below[i]);
    if (n > 0 && n < PATH_MAX && in_folder(v, folder, (size_t)n, out)) return true;
  }
  return false;
}

/* One that this process has loaded already: PyTorch brings its own. */
static bool loaded(const vendor *v, char out[PATH_MAX]) {
  for (int i = 0; v->names[i]; i++) {
    void *handle = dlopen(v->names[i], RTLD_LAZY | RTLD_NOLOAD);
    struct link_map *map = NULL;
    bool found = handle && !dlinfo(handle, RTLD_DI_LINKMAP, &map) && map && *map->l_name == '/';
    if (found) found = snprintf(out, PATH_MAX, "%s", map->l_name) < PATH_MAX;
    if (handle) dlclose(handle);
    if (found) return true;
  }
  return false;
}

/* Two builds of one version are two libraries: what one proposes as its third way need not be the other's. */
static mlaf_status identify(const vendor *v, mlaf_vendor_library *out, mlaf_err *err) {
  char version[64], build[MLAF_HASH_HEX];
  if (!mlaf_toolchain_identify(out->path, version, sizeof version, build))
    return mlaf_fail(err, MLAF_E_NO_DEVICE, "%s cannot be read", out->path);
  snprintf(out->identity, sizeof out->identity, "%s %s build-id %.16s", v->name, version, build);
  return MLAF_OK;
}

mlaf_status mlaf_vendor_find(mlaf_vendor which, mlaf_vendor_library *out, mlaf_err *err) {
  const vendor *v = &vendors[which];
  const char *forced = getenv(v->variable);
  if (forced && *forced) {
    if (snprintf(out->path, sizeof out->path, "%s", forced) >= PATH_MAX || access(forced, R_OK))
      return mlaf_fail(err, MLAF_E_NO_DEVICE, "%s is '%.1000s', which cannot be read: name the library, or unset it", v->variable,
                       forced);
    return identify(v, out, err);
  }
  if (below(v, getenv(v->root_variable), out->path) || in_list(v, getenv("LD_LIBRARY_PATH"), out->path) ||
      below(v, v->root, out->path) || in_list(v, SYSTEM_FOLDERS, out->path) || loaded(v, out->path) ||
      in_list(v, getenv(v->also_variable), out->path))
    return identify(v, out, err);
  return mlaf_fail(err, MLAF_E_NO_DEVICE, "no %s or %s found ($%s, LD_LIBRARY_PATH, %s, the system, this process, $%s): "
                   "install it, or name it with %s", v->names[0], v->names[1], v->root_variable, v->root, v->also_variable,
                   v->variable);
}

/* --- sources and code --- */

mlaf_vendor mlaf_vendor_of_source(const char *source) {
  const char *at = strstr(source, "\n" MLAF_MATMUL_MAGIC "library ");
  for (int i = 0; at && i < MLAF_VENDORS; i++) {
    const char *name = at + sizeof "\n" MLAF_MATMUL_MAGIC "library " - 1;
    const size_t n = strlen(vendors[i].name);
    if (!strncmp(name, vendors[i].name, n) && name[n] == '\n') return (mlaf_vendor)i;
  }
  return MLAF_VENDORS;
}

const char *mlaf_vendor_request(const char *source) {
  const char *at = strstr(source, "\n" MLAF_MATMUL_MAGIC);
  return at ? at + 1 : source;
}

mlaf_status mlaf_vendor_code(const char *source, const mlaf_vendor_library *with, void **code, size_t *size, mlaf_err *err) {
  char *text = mlaf_format(CODE_MAGIC MADE_WITH "%s\n%s", with->identity, source);
  if (!text) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a library's product");
  *code = text;
  *size = strlen(text);
  return MLAF_OK;
}

bool mlaf_vendor_is_code(const void *code, size_t size) {
  return size > sizeof CODE_MAGIC && !memcmp(code, CODE_MAGIC, sizeof CODE_MAGIC - 1);
}

mlaf_status mlaf_vendor_of_code(const void *code, size_t size, mlaf_vendor which, mlaf_vendor_library *out, mlaf_err *err) {
  const char *text = (const char *)code + sizeof CODE_MAGIC - 1 + sizeof MADE_WITH - 1, *end = (const char *)code + size;
  const char *line = memchr(text, '\n', text < end ? (size_t)(end - text) : 0);
  if (!line || memcmp((const char *)code + sizeof CODE_MAGIC - 1, MADE_WITH, sizeof MADE_WITH - 1))
    return mlaf_fail(err, MLAF_E_ARG, "damaged: a library's product that does not name the library");
  const int n = (int)(line - text);
  mlaf_err why = {MLAF_OK, ""};
  if (mlaf_vendor_find(which, out, &why))
    return mlaf_fail(err, MLAF_E_NOT_TUNED, "a product of %.*s, which is not here: %.1000s", n < 160 ? n : 160, text, why.text);
  if ((int)strlen(out->identity) == n && !memcmp(out->identity, text, (size_t)n)) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_NOT_TUNED, "tuned with %.*s, and here is %s (%.1000s): tune again", n < 160 ? n : 160, text,
                   out->identity, out->path);
}

mlaf_status mlaf_vendor_launch(const void *code, size_t size, const char *symbol, mlaf_kernel_launch *out, mlaf_err *err) {
  mlaf_matmul_want want;
  mlaf_status st = mlaf_matmul_read(code, size, &want, err);
  if (!st && strcmp(want.symbol, symbol))
    st = mlaf_fail(err, MLAF_E_ARG, "the code object is of %s, not of %s", want.symbol, symbol);
  if (!st)
    *out = (mlaf_kernel_launch){.magic = MLAF_LAUNCH_MAGIC, .size = sizeof *out, .flags = MLAF_KERNEL_LIBRARY};
  return st;
}

mlaf_status mlaf_vendor_meta(const void *code, size_t size, mlaf_kernel_meta *out, size_t max, size_t *n, mlaf_err *err) {
  mlaf_matmul_want want;
  mlaf_status st = mlaf_matmul_read(code, size, &want, err);
  if (st) return st;
  *n = 1;
  if (!max) return MLAF_OK;
  *out = (mlaf_kernel_meta){.kernarg_bytes = sizeof(mlaf_matmul_args), .max_threads = 1024};
  memcpy(out->symbol, want.symbol, sizeof want.symbol);
  return mlaf_vendor_launch(code, size, want.symbol, &out->launch, err);
}
