/* Finding a ROCm and the worker, and naming the compiler without loading it. */
#include "compile/toolchain.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compile/elf.h"

#ifndef MLAF_BUILD_WORKER
#define MLAF_BUILD_WORKER ""
#endif
#ifndef MLAF_BUILD_DEPS
#define MLAF_BUILD_DEPS ""
#endif

/* Newest first, the order in which the libraries are loaded too. */
static const char *const hiprtc_names[] = {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so", NULL};
static const char *const comgr_names[] = {"libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so", NULL};
static const char *const builtin_names[] = {"libhiprtc-builtins.so.7", "libhiprtc-builtins.so.6", "libhiprtc-builtins.so",
                                            NULL};
/* Library folders of a ROCm prefix. The first is a Debian tree unpacked by dpkg -x, which brings its own loader. */
static const char *const prefix_dirs[] = {"usr/lib/x86_64-linux-gnu", "lib", "lib64", "lib/x86_64-linux-gnu", NULL};
static const char *const system_dirs[] = {"/opt/rocm/lib", "/opt/rocm/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64",
                                          "/usr/local/lib", "/usr/lib", NULL};

static bool file_exists(const char *path) { return access(path, R_OK) == 0; }

/* The search allocates nothing: a library that memory was lacking to look for would make another compiler, with
 * another identity, of what is left. What memory is lacking for in the end is found, with lib_dir NULL. */
static bool path_in(const char *dir, const char *name, char out[PATH_MAX]) {
  const int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);
  return n > 0 && n < PATH_MAX;
}

/* Path of the first of `names` that is in `dir`; "" if none is. */
static bool first_in(const char *dir, const char *const *names, char out[PATH_MAX]) {
  for (int i = 0; names[i]; i++)
    if (path_in(dir, names[i], out) && file_exists(out)) return true;
  out[0] = 0;
  return false;
}

static bool has_rocm(const char *dir) {
  char path[PATH_MAX];
  return first_in(dir, hiprtc_names, path) && first_in(dir, comgr_names, path);
}

void mlaf_toolchain_clear(mlaf_toolchain *t) {
  free(t->lib_dir);
  free(t->loader);
  free(t->identity);
  memset(t, 0, sizeof *t);
}

/* A name that stays true in a worker, which works in a folder of its own. NULL without memory. */
static char *absolute(const char *path) {
  char here[PATH_MAX];
  return path[0] == '/' || !getcwd(here, sizeof here) ? mlaf_strdup(path) : mlaf_format("%s/%s", here, path);
}

static bool use_dir(const char *dir, mlaf_toolchain *out) {
  if (!has_rocm(dir)) return false;
  out->lib_dir = absolute(dir);
  return true;
}

/* A ROCm below `prefix`; a Debian tree with its own libc runs through its own loader. */
static bool use_prefix(const char *prefix, mlaf_toolchain *out) {
  char dir[PATH_MAX], loader[PATH_MAX];
  for (int i = 0; prefix_dirs[i]; i++) {
    if (!path_in(prefix, prefix_dirs[i], dir) || !use_dir(dir, out)) continue;
    if (i == 0 && strcmp(prefix, "/") != 0 && path_in(dir, "ld-linux-x86-64.so.2", loader) && file_exists(loader) &&
        !(out->loader = absolute(loader)))
      mlaf_toolchain_clear(out);
    return true;
  }
  return false;
}

/* Folders listed in LD_LIBRARY_PATH-like text, separated by any of `separators`. */
static bool use_list(const char *list, const char *separators, bool (*use)(const char *, mlaf_toolchain *),
                     mlaf_toolchain *out) {
  char dir[PATH_MAX];
  for (size_t n; *list; list += n + (list[n] != 0)) {
    n = strcspn(list, separators);
    if (*list != '/' || n >= sizeof dir) continue;
    memcpy(dir, list, n);
    dir[n] = 0;
    if (use(dir, out)) return true;
  }
  return false;
}

/* Folders that the system's loader was told of: /etc/ld.so.conf.d/ *.conf, one a line. */
static bool use_loader_config(mlaf_toolchain *out) {
  const char *where = "/etc/ld.so.conf.d";
  struct dirent **files = NULL;
  int n = scandir(where, &files, NULL, alphasort);
  bool found = false;
  for (int i = 0; i < n; i++) {
    char *path = mlaf_format("%s/%s", where, files[i]->d_name);
    void *text = NULL;
    size_t size;
    if (!found && path && strstr(path, ".conf") && mlaf_file_read(path, 1 << 16, &text, &size, NULL) == MLAF_OK)
      found = use_list(text, " \t\r\n", use_dir, out);
    free(text);
    free(path);
    free(files[i]);
  }
  free(files);
  return found;
}

static bool use_system(mlaf_toolchain *out) {
  const char *paths = getenv("LD_LIBRARY_PATH");
  if (paths && use_list(paths, ":", use_dir, out)) return true;
  for (int i = 0; system_dirs[i]; i++)
    if (use_dir(system_dirs[i], out)) return true;
  return use_loader_config(out);
}

/* A private prefix that tools/setup.sh unpacked into .deps/NAME of a checkout, and the function that finds its libraries. */
typedef struct private_deps {
  const char *name;
  bool (*use)(const char *prefix, mlaf_toolchain *out);
} private_deps;

/* We execute what lies there: only folders of our own or of root count when nobody named them. */
static bool use_trusted_deps(const char *deps, const private_deps *what, mlaf_toolchain *out) {
  struct stat st;
  char prefix[PATH_MAX];
  return *deps && path_in(deps, what->name, prefix) && stat(prefix, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0) &&
         !(st.st_mode & S_IWOTH) && what->use(prefix, out);
}

/* `.deps` in a folder or any of its parents. `dir` is clobbered. */
static bool use_deps_above(char *dir, const private_deps *what, mlaf_toolchain *out) {
  while (*dir) {
    char deps[PATH_MAX];
    if (path_in(dir, ".deps", deps) && use_trusted_deps(deps, what, out)) return true;
    char *slash = strrchr(dir, '/');
    if (!slash) return false;
    *slash = 0;
  }
  return false;
}

/* Folder of the running executable, "" if unknown. */
static void executable_dir(char out[PATH_MAX]) {
  ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
  out[n > 0 ? n : 0] = 0;
  char *slash = strrchr(out, '/');
  if (slash) *slash = 0;
}

/* Folder of the shared library that holds this code (of the program, where it is linked in); "" if unknown. */
static void library_dir(char out[PATH_MAX]) {
  Dl_info info;
  char *path = dladdr((void *)(uintptr_t)mlaf_worker_find, &info) && info.dli_fname ? absolute(info.dli_fname) : NULL;
  char *slash = path ? strrchr(path, '/') : NULL;
  if (slash) *slash = 0;
  if (!slash || snprintf(out, PATH_MAX, "%s", path) >= PATH_MAX) out[0] = 0;
  free(path);
}

static bool use_setup(const private_deps *what, mlaf_toolchain *out) {
  char dir[PATH_MAX];
  executable_dir(dir);
  if (use_deps_above(dir, what, out)) return true;
  library_dir(dir);
  if (use_deps_above(dir, what, out)) return true;
  if (getcwd(dir, sizeof dir) && use_deps_above(dir, what, out)) return true;
  return use_trusted_deps(MLAF_BUILD_DEPS, what, out);
}

/* The cure where no compiler was found: a checkout may have a compiler that is not looked for here. */
static mlaf_status none_found(const char *what, const char *places, const char *deps, const char *variable, mlaf_err *err) {
  char library[PATH_MAX];
  library_dir(library);
  return mlaf_fail(err, MLAF_E_NO_COMPILER, "no %s found (%s; .deps/%s above the program, above the library in %s, and above the "
                   "working directory): run tools/setup.sh in a checkout of mlaforge. Where this runs outside of it, set "
                   "%s=CHECKOUT/.deps/%s, or link CHECKOUT/.deps beside the library", what, places, deps,
                   *library ? library : "?", variable, deps);
}

/* ---- identity ---- */

/* A library mapped for reading its notes: only the pages looked at are read. */
typedef struct mapped {
  void *data;
  size_t size;
  int64_t mtime;
} mapped;

static bool map_file(const char *path, mapped *out) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat st;
  if (fd < 0) return false;
  bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
  void *data = ok ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  const int error = errno;
  close(fd);
  errno = error;
  if (data == MAP_FAILED) return false;
  *out = (mapped){data, (size_t)st.st_size, st.st_mtime};
  return true;
}

/* "libX name size build-id", or the modification time where there is no build-id: what tells two builds apart. With
 * build-ids the identity is the same on every machine that has the same packages, so caches can travel. */
static void describe_library(const char *path, const mapped *m, mlaf_text *out) {
  mlaf_elf elf;
  mlaf_elf_note note;
  const char *base = strrchr(path, '/');
  mlaf_text_fmt(out, "%s %zu ", base ? base + 1 : path, m->size);
  if (mlaf_elf_open(m->data, m->size, &elf, NULL) == MLAF_OK && mlaf_elf_note_find(&elf, "GNU", NT_GNU_BUILD_ID, &note)) {
    for (uint32_t i = 0; i < note.size && i < 32; i++) mlaf_text_fmt(out, "%02x", note.desc[i]);
  } else {
    mlaf_text_fmt(out, "mtime %lld", (long long)m->mtime);
  }
  mlaf_text_str(out, "\n");
}

/* Copies what follows ".so." in the resolved name of a library: "6.4.43484" of libhiprtc.so.6.4.43484. */
static void version_of(const char *path, char *out, size_t size) {
  char real[PATH_MAX];
  const char *so = realpath(path, real) ? strstr(strrchr(real, '/'), ".so.") : NULL;
  snprintf(out, size, "%.60s", so ? so + 4 : "?");
}

/* The libLLVM that comgr is linked against, in the same folder; "" if it is inside comgr. */
static void llvm_of(const char *lib_dir, const mapped *comgr, char out[PATH_MAX]) {
  mlaf_elf elf;
  mlaf_elf_section dynamic, strings;
  if (mlaf_elf_open(comgr->data, comgr->size, &elf, NULL) != MLAF_OK || !mlaf_elf_section_find(&elf, ".dynamic", &dynamic) ||
      !dynamic.data || !mlaf_elf_section_at(&elf, dynamic.link, &strings) || !strings.data)
    return;
  for (uint64_t i = 0; i + sizeof(Elf64_Dyn) <= dynamic.size; i += sizeof(Elf64_Dyn)) {
    Elf64_Dyn d;
    memcpy(&d, dynamic.data + i, sizeof d);
    if (d.d_tag != DT_NEEDED || d.d_un.d_val >= strings.size) continue;
    const char *name = (const char *)strings.data + d.d_un.d_val;
    size_t left = strings.size - d.d_un.d_val;
    if (left > 8 && memchr(name, 0, left) && strncmp(name, "libLLVM", 7) == 0) {
      if (!path_in(lib_dir, name, out) || !file_exists(out)) out[0] = 0;
      return;
    }
  }
}

/* One line of `details` a library that is there, and its version. False: it is there and cannot be read. */
static bool identify_library(const char *path, mlaf_text *details, char *version, size_t size, mapped *m) {
  if (!*path) return true;
  if (!map_file(path, m)) return false;
  version_of(path, version, size);
  describe_library(path, m, details);
  return true;
}

bool mlaf_toolchain_identify(const char *path, char *version, size_t version_size, char digest[MLAF_HASH_HEX]) {
  mapped m = {NULL, 0, 0};
  mlaf_text details = MLAF_TEXT_INIT(8192);
  bool ok = identify_library(path, &details, version, version_size, &m);
  if (m.data) munmap(m.data, m.size);
  mlaf_sha256_hex(details.data ? details.data : "", details.len, digest);
  ok = ok && !details.failed && details.len && digest[0];
  mlaf_text_free(&details);
  return ok;
}

/* Takes the cause from errno: memory or open files may be too few, which no other libraries would cure. */
static mlaf_status unreadable(const mlaf_toolchain *t, mlaf_err *err) {
  const mlaf_os_error *known = mlaf_os_error_of(errno);
  return mlaf_fail(err, known && !known->of_place ? known->status : MLAF_E_NO_COMPILER,
                   "cannot read the compiler libraries in %s: %s%s%s%s", t->lib_dir, strerror(errno), known ? " (" : "",
                   known ? known->cure : "", known ? ")" : "");
}

static mlaf_status identify(mlaf_toolchain *t, mlaf_err *err) {
  static const char *const *const names[3] = {hiprtc_names, comgr_names, builtin_names};
  char path[PATH_MAX], llvm[PATH_MAX] = "";
  char versions[4][64] = {"?", "?", "?", "in comgr"}, digest[MLAF_HASH_HEX];
  mlaf_text details = MLAF_TEXT_INIT(8192);
  bool ok = true;
  errno = 0;
  for (int i = 0; ok && i < 4; i++) {
    mapped m = {NULL, 0, 0};
    if (i < 3) first_in(t->lib_dir, names[i], path);
    ok = identify_library(i < 3 ? path : llvm, &details, versions[i], sizeof versions[i], &m);
    if (i == 1 && m.data) llvm_of(t->lib_dir, &m, llvm);
    if (m.data) munmap(m.data, m.size);
  }
  mlaf_sha256_hex(details.data ? details.data : "", details.len, digest);
  ok = ok && !details.failed && details.len;
  mlaf_text_free(&details);
  if (ok)
    t->identity = mlaf_format("hiprtc %s comgr %s LLVM %s build-id %.16s", versions[0], versions[1], versions[3], digest);
  return t->identity ? MLAF_OK : unreadable(t, err);
}

mlaf_status mlaf_toolchain_find(const char *prefix, mlaf_toolchain *out, mlaf_err *err) {
  mlaf_toolchain t = {NULL, NULL, NULL};
  const char *named = prefix ? prefix : getenv("MLAF_ROCM");
  if (named && *named) {
    if (!use_prefix(named, &t) && !use_dir(named, &t))
      return mlaf_fail(err, MLAF_E_NO_COMPILER, "'%s' (from %s) holds no libhiprtc and libamd_comgr: name a ROCm prefix "
                       "such as /opt/rocm, or unset it", named, prefix ? "the options" : "MLAF_ROCM");
  } else if (!use_system(&t) && !use_setup(&(private_deps){"rocm", use_prefix}, &t)) {
    return none_found("libhiprtc and libamd_comgr", "/opt/rocm, the system", "rocm", "MLAF_ROCM", err);
  }
  mlaf_status status = t.lib_dir ? identify(&t, err) : mlaf_fail(err, MLAF_E_NOMEM, "out of memory looking for ROCm");
  if (status != MLAF_OK) {
    mlaf_toolchain_clear(&t);
    return status;
  }
  *out = t;
  return MLAF_OK;
}

/* ---- NVRTC ---- */

static const char *const nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
static const char *const cuda_dirs[] = {"lib64", "lib", "targets/x86_64-linux/lib", ".", NULL};

static bool use_nvrtc(const char *dir, mlaf_toolchain *out) {
  char path[PATH_MAX];
  if (!first_in(dir, nvrtc_names, path)) return false;
  out->lib_dir = absolute(dir);
  return true;
}

/* A CUDA toolkit at `root`, or the folder of the library itself. */
static bool use_cuda(const char *root, mlaf_toolchain *out) {
  char dir[PATH_MAX];
  for (int i = 0; root && *root && cuda_dirs[i]; i++)
    if (i == 3 ? use_nvrtc(root, out) : path_in(root, cuda_dirs[i], dir) && use_nvrtc(dir, out)) return true;
  return false;
}

static bool use_cuda_paths(const char *paths, mlaf_toolchain *out) { return use_list(paths, ":", use_nvrtc, out); }

/* The folder of one that this process has loaded already: PyTorch brings its own. */
static bool use_loaded(mlaf_toolchain *out) {
  char dir[PATH_MAX];
  for (int i = 0; nvrtc_names[i]; i++) {
    void *handle = dlopen(nvrtc_names[i], RTLD_LAZY | RTLD_NOLOAD);
    struct link_map *map = NULL;
    bool found = handle && !dlinfo(handle, RTLD_DI_LINKMAP, &map) && map && strrchr(map->l_name, '/');
    if (found) found = snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(map->l_name, '/') - map->l_name), map->l_name) < PATH_MAX;
    if (handle) dlclose(handle);
    if (found && use_nvrtc(dir, out)) return true;
  }
  return false;
}

/* Takes the library that a caller has seen elsewhere (the Python package: in site-packages). */
static bool use_told(mlaf_toolchain *out) {
  const char *paths = getenv("MLAF_NVRTC_ALSO");
  return paths && *paths && use_cuda_paths(paths, out);
}

/* The header-like code that NVRTC compiles into every kernel is a library of its own, named by its full version. */
static bool nvrtc_builtins(const char *dir, char out[PATH_MAX]) {
  glob_t list;
  char pattern[PATH_MAX];
  out[0] = 0;
  if (!path_in(dir, "libnvrtc-builtins.so.*", pattern)) return false;
  const int how = glob(pattern, GLOB_ERR, NULL, &list); /* else a folder that cannot be opened is an empty one */
  if (how) return how == GLOB_NOMATCH;
  const bool fits = snprintf(out, PATH_MAX, "%s", list.gl_pathv[list.gl_pathc - 1]) < PATH_MAX;
  globfree(&list);
  return fits;
}

static mlaf_status identify_nvrtc(mlaf_toolchain *t, mlaf_err *err) {
  char paths[2][PATH_MAX], version[64] = "?", digest[MLAF_HASH_HEX];
  mlaf_text details = MLAF_TEXT_INIT(8192);
  first_in(t->lib_dir, nvrtc_names, paths[0]);
  errno = 0;
  bool ok = nvrtc_builtins(t->lib_dir, paths[1]);
  for (int i = 0; ok && i < 2; i++) {
    mapped m = {NULL, 0, 0};
    ok = identify_library(paths[i], &details, version, sizeof version, &m); /* the builtins' name has more of the version */
    if (m.data) munmap(m.data, m.size);
  }
  mlaf_sha256_hex(details.data ? details.data : "", details.len, digest);
  if (ok && !details.failed && details.len) t->identity = mlaf_format("nvrtc %s build-id %.16s", version, digest);
  mlaf_text_free(&details);
  return t->identity ? MLAF_OK : unreadable(t, err);
}

mlaf_status mlaf_nvrtc_find(mlaf_toolchain *out, mlaf_err *err) {
  mlaf_toolchain t = {NULL, NULL, NULL};
  const char *named = getenv("MLAF_NVRTC"), *paths = getenv("LD_LIBRARY_PATH");
  if (named && *named) {
    if (!use_cuda(named, &t))
      return mlaf_fail(err, MLAF_E_NO_COMPILER, "'%s' (from MLAF_NVRTC) holds no libnvrtc.so.13 or .12: name a CUDA "
                       "toolkit such as /usr/local/cuda, or unset it", named);
  } else if (!use_cuda(getenv("CUDA_HOME"), &t) && !(paths && use_cuda_paths(paths, &t)) && !use_cuda("/usr/local/cuda", &t) &&
             !use_cuda_paths("/usr/lib/x86_64-linux-gnu:/usr/lib64", &t) &&
             !use_setup(&(private_deps){"nvrtc", use_cuda}, &t) && !use_loaded(&t) && !use_told(&t)) {
    return none_found("libnvrtc.so.13 or .12", "CUDA_HOME, /usr/local/cuda, the system, this process, MLAF_NVRTC_ALSO", "nvrtc",
                      "MLAF_NVRTC", err);
  }
  mlaf_status status = t.lib_dir ? identify_nvrtc(&t, err) : mlaf_fail(err, MLAF_E_NOMEM, "out of memory looking for NVRTC");
  if (status != MLAF_OK) {
    mlaf_toolchain_clear(&t);
    return status;
  }
  *out = t;
  return MLAF_OK;
}

/* ---- the worker ---- */

static bool use_worker(char *path, char **out) {
  struct stat st;
  if (path && access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
    *out = path;
    return true;
  }
  free(path);
  return false;
}

static bool use_worker_beside(const char *dir, char **out) {
  return *dir && (use_worker(mlaf_format("%s/mlaforge-worker", dir), out) ||
                  use_worker(mlaf_format("%s/../libexec/mlaforge-worker", dir), out) || /* installed: from bin or lib */
                  use_worker(mlaf_format("%s/../../libexec/mlaforge-worker", dir), out)); /* from lib/x86_64-linux-gnu */
}

const char *mlaf_worker_named(const char *path) {
  const char *named = path ? path : getenv("MLAF_WORKER");
  return named && *named ? named : NULL;
}

mlaf_status mlaf_worker_find(const char *path, char **out, mlaf_err *err) {
  const char *named = mlaf_worker_named(path);
  if (named) {
    if (use_worker(absolute(named), out)) return MLAF_OK;
    return mlaf_fail(err, MLAF_E_NO_COMPILER, "'%s' (from %s) is no program that can be run: name mlaforge-worker or unset it",
                     named, path ? "the options" : "MLAF_WORKER");
  }
  char dir[PATH_MAX];
  executable_dir(dir);
  if (use_worker_beside(dir, out)) return MLAF_OK;
  library_dir(dir);
  if (use_worker_beside(dir, out)) return MLAF_OK;
  if (use_worker(mlaf_strdup(MLAF_BUILD_WORKER), out)) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_NO_COMPILER, "mlaforge-worker is not beside the program or the library: name it with "
                   "MLAF_WORKER");
}
