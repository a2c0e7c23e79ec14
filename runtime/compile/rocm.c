/* hiprtc compiles, comgr assembles and disassembles. Both are found at run time and never linked; the few declarations
 * needed of their C ABI are repeated here, so that building needs no ROCm. */
#include "compile/rocm.h"

#include <dlfcn.h>

#include "compile/elf.h"
#include "compile/rtc_text.h"

#define LOG_MAX ((size_t)4 << 20)
#define TEXT_MAX ((size_t)128 << 20)

typedef struct comgr_handle { /* every comgr object is such a struct, passed by value */
  uint64_t handle;
} comgr_handle;
enum { /* amd_comgr_data_kind_t and amd_comgr_action_kind_t, stable since comgr 2.0 */
  DATA_SOURCE = 0x1, DATA_LOG = 0x5, DATA_RELOCATABLE = 0x7, DATA_EXECUTABLE = 0x8,
  ACTION_LINK_TO_EXECUTABLE = 0x7, ACTION_ASSEMBLE = 0x8
};
typedef uint64_t (*comgr_read_fn)(uint64_t from, char *to, uint64_t size, void *user);
typedef void (*comgr_print_fn)(const char *text, void *user);
typedef void (*comgr_address_fn)(uint64_t address, void *user);

typedef struct api {
  int (*rtc_version)(int *major, int *minor);
  const char *(*rtc_error)(int result);
  int (*rtc_create)(void **prog, const char *src, const char *name, int n, const char **headers, const char **names);
  int (*rtc_compile)(void *prog, int n, const char **options);
  int (*rtc_destroy)(void **prog);
  int (*rtc_log_size)(void *prog, size_t *size);
  int (*rtc_log)(void *prog, char *log);
  int (*rtc_code_size)(void *prog, size_t *size);
  int (*rtc_code)(void *prog, char *code);
  void (*version)(size_t *major, size_t *minor);
  int (*status_string)(int status, const char **text);
  int (*create_data)(int kind, comgr_handle *data);
  int (*release_data)(comgr_handle data);
  int (*set_data)(comgr_handle data, size_t size, const char *bytes);
  int (*set_data_name)(comgr_handle data, const char *name);
  int (*get_data)(comgr_handle data, size_t *size, char *bytes);
  int (*create_set)(comgr_handle *set);
  int (*destroy_set)(comgr_handle set);
  int (*set_add)(comgr_handle set, comgr_handle data);
  int (*set_get)(comgr_handle set, int kind, size_t index, comgr_handle *data);
  int (*create_action)(comgr_handle *action);
  int (*destroy_action)(comgr_handle action);
  int (*action_isa)(comgr_handle action, const char *isa);
  int (*action_logging)(comgr_handle action, bool on);
  int (*do_action)(int kind, comgr_handle action, comgr_handle in, comgr_handle out);
  int (*create_dis)(const char *isa, comgr_read_fn, comgr_print_fn, comgr_address_fn, comgr_handle *out);
  int (*destroy_dis)(comgr_handle dis);
  int (*dis_one)(comgr_handle dis, uint64_t address, void *user, uint64_t *size);
} api;

struct mlaf_rocm {
  api f;
  char hiprtc[512], comgr[512]; /* the files that were loaded */
};

/* Which symbol fills which member; `comgr` tells the library. */
#define SYMBOL(lib, member, name) {lib, offsetof(api, member), name}
static const struct {
  bool comgr;
  size_t offset;
  const char *name;
} symbols[] = {
    SYMBOL(false, rtc_version, "hiprtcVersion"), SYMBOL(false, rtc_error, "hiprtcGetErrorString"),
    SYMBOL(false, rtc_create, "hiprtcCreateProgram"), SYMBOL(false, rtc_compile, "hiprtcCompileProgram"),
    SYMBOL(false, rtc_destroy, "hiprtcDestroyProgram"), SYMBOL(false, rtc_log_size, "hiprtcGetProgramLogSize"),
    SYMBOL(false, rtc_log, "hiprtcGetProgramLog"), SYMBOL(false, rtc_code_size, "hiprtcGetCodeSize"),
    SYMBOL(false, rtc_code, "hiprtcGetCode"), SYMBOL(true, version, "amd_comgr_get_version"),
    SYMBOL(true, status_string, "amd_comgr_status_string"), SYMBOL(true, create_data, "amd_comgr_create_data"),
    SYMBOL(true, release_data, "amd_comgr_release_data"), SYMBOL(true, set_data, "amd_comgr_set_data"),
    SYMBOL(true, set_data_name, "amd_comgr_set_data_name"), SYMBOL(true, get_data, "amd_comgr_get_data"),
    SYMBOL(true, create_set, "amd_comgr_create_data_set"), SYMBOL(true, destroy_set, "amd_comgr_destroy_data_set"),
    SYMBOL(true, set_add, "amd_comgr_data_set_add"), SYMBOL(true, set_get, "amd_comgr_action_data_get_data"),
    SYMBOL(true, create_action, "amd_comgr_create_action_info"),
    SYMBOL(true, destroy_action, "amd_comgr_destroy_action_info"),
    SYMBOL(true, action_isa, "amd_comgr_action_info_set_isa_name"),
    SYMBOL(true, action_logging, "amd_comgr_action_info_set_logging"), SYMBOL(true, do_action, "amd_comgr_do_action"),
    SYMBOL(true, create_dis, "amd_comgr_create_disassembly_info"),
    SYMBOL(true, destroy_dis, "amd_comgr_destroy_disassembly_info"),
    SYMBOL(true, dis_one, "amd_comgr_disassemble_instruction"),
};

/* Newest first: a machine with two ROCm versions gets the newer compiler. */
static const char *const comgr_names[] = {"libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so", NULL};
static const char *const hiprtc_names[] = {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so", NULL};

static void *open_first(const char *const *names, const char *lib_dir, int flags, mlaf_text *tried) {
  const char *dirs[] = {lib_dir, "", "/opt/rocm/lib"};
  for (size_t d = 0; d < sizeof dirs / sizeof *dirs; d++) {
    if (!dirs[d]) continue;
    for (int i = 0; names[i]; i++) {
      char path[512];
      snprintf(path, sizeof path, "%s%s%s", dirs[d], *dirs[d] ? "/" : "", names[i]);
      void *handle = dlopen(path, flags);
      if (handle) return handle;
      mlaf_text_fmt(tried, "; %s", dlerror());
    }
  }
  return NULL;
}

static void path_of(const void *symbol, char *out, size_t size) {
  Dl_info info;
  snprintf(out, size, "%s", dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : "?");
}

mlaf_status mlaf_rocm_load(const char *lib_dir, mlaf_rocm **out, mlaf_err *err) {
  mlaf_text tried = MLAF_TEXT_INIT(3000);
  /* comgr first and global: libhiprtc looks its functions up by name in the process and calls null if they are absent */
  void *comgr = open_first(comgr_names, lib_dir, RTLD_NOW | RTLD_GLOBAL, &tried);
  void *rtc = comgr ? open_first(hiprtc_names, lib_dir, RTLD_NOW | RTLD_GLOBAL, &tried) : NULL;
  if (!rtc) {
    mlaf_fail(err, MLAF_E_NO_COMPILER, "cannot load %s (run tools/setup.sh, or name a ROCm with MLAF_ROCM)%.2500s",
              comgr ? "libhiprtc" : "libamd_comgr", tried.data ? tried.data : "");
    mlaf_text_free(&tried);
    return MLAF_E_NO_COMPILER;
  }
  mlaf_text_free(&tried);
  mlaf_rocm *r = calloc(1, sizeof *r);
  if (!r) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for the compiler's functions");
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *symbol = dlsym(symbols[i].comgr ? comgr : rtc, symbols[i].name);
    if (!symbol) {
      free(r);
      return mlaf_fail(err, MLAF_E_NO_COMPILER, "%s lacks %s: this ROCm is too old, 6.0 is the first that works",
                       symbols[i].comgr ? "libamd_comgr" : "libhiprtc", symbols[i].name);
    }
    memcpy((char *)&r->f + symbols[i].offset, &symbol, sizeof symbol);
  }
  path_of((void *)(uintptr_t)r->f.rtc_compile, r->hiprtc, sizeof r->hiprtc);
  path_of((void *)(uintptr_t)r->f.do_action, r->comgr, sizeof r->comgr);
  *out = r;
  return MLAF_OK;
}

void mlaf_rocm_free(mlaf_rocm *r) { free(r); }

char *mlaf_rocm_version(mlaf_rocm *r) {
  int major = 0, minor = 0;
  size_t cmajor = 0, cminor = 0;
  r->f.rtc_version(&major, &minor);
  r->f.version(&cmajor, &cminor);
  return mlaf_format("hiprtc %d.%d (%s), comgr %zu.%zu (%s)", major, minor, r->hiprtc, cmajor, cminor, r->comgr);
}

/* Compiler messages name files in comgr's temporary folder, different in every run: cut "/tmp/comgr-ab-0-cd/input/". */
static void cut_temp_paths(char *log) {
  for (char *p; (p = strstr(log, "/comgr-"));) {
    char *start = p, *end = p;
    while (start > log && !strchr(" \n\t'\"<(", start[-1])) start--;
    while (*end && !strchr(" \n\t'\":>)", *end)) end++;
    char *base = end;
    while (base > p + 1 && base[-1] != '/') base--;
    memmove(start, base, strlen(base) + 1);
  }
}

/* Cleaned log with the first error line on top. Takes ownership of `raw`, which may be NULL. */
static char *tidy_log(char *raw) {
  if (raw) cut_temp_paths(raw);
  return mlaf_rtc_error_first(raw);
}

static char *rtc_log(mlaf_rocm *r, void *prog) {
  size_t size = 0;
  if (r->f.rtc_log_size(prog, &size) != 0 || size <= 1 || size > LOG_MAX) return tidy_log(NULL);
  char *raw = calloc(1, size + 1);
  if (raw && r->f.rtc_log(prog, raw) != 0) raw[0] = 0;
  return tidy_log(raw);
}

static mlaf_status take_code(mlaf_rocm *r, void *prog, const char *target, void **out, size_t *size, mlaf_err *err) {
  size_t n = 0;
  if (r->f.rtc_code_size(prog, &n) != 0 || !n) return mlaf_fail(err, MLAF_E_COMPILE, "hiprtc gave no code object");
  char *code = malloc(n);
  if (!code) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a code object of %zu bytes", n);
  const void *image = NULL;
  size_t image_size = 0;
  int rc = r->f.rtc_code(prog, code);
  mlaf_status status = rc != 0 ? mlaf_fail(err, MLAF_E_COMPILE, "hiprtcGetCode: %s", r->f.rtc_error(rc))
                               : mlaf_code_object_find(target, code, n, &image, &image_size, err);
  if (status != MLAF_OK) {
    free(code);
    return status;
  }
  memmove(code, image, image_size); /* a bundle's entry becomes the whole result */
  *out = code;
  *size = image_size;
  return MLAF_OK;
}

mlaf_status mlaf_rocm_compile(mlaf_rocm *r, const char *target, const char *options, size_t options_size,
                              const char *source, void **out, size_t *size, char **log, mlaf_err *err) {
  char arch[160];
  snprintf(arch, sizeof arch, "--offload-arch=%s", target);
  if (options_size && options[options_size - 1] != 0) return mlaf_fail(err, MLAF_E_ARG, "options do not end in NUL");
  int n = 0;
  const char *first = arch;
  const char **argv = mlaf_rtc_options(&first, 1, options, options_size, &n);
  if (!argv) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for compiler options");
  void *prog = NULL;
  mlaf_status status = MLAF_OK;
  int rc = r->f.rtc_create(&prog, source, MLAF_RTC_HIP_NAME, 0, NULL, NULL);
  if (rc != 0) {
    free(argv);
    return mlaf_fail(err, mlaf_rtc_status(rc), "hiprtcCreateProgram: %s", r->f.rtc_error(rc));
  }
  rc = r->f.rtc_compile(prog, n, argv);
  *log = rtc_log(r, prog);
  if (rc != 0) {
    const char *line = "";
    size_t len = *log ? mlaf_rtc_first_error(*log, &line) : 0;
    status = mlaf_fail(err, mlaf_rtc_status(rc), "%s%s%.*s", r->f.rtc_error(rc), len ? ": " : "", (int)len, line);
  } else {
    status = take_code(r, prog, target, out, size, err);
  }
  r->f.rtc_destroy(&prog);
  free(argv);
  return status;
}

/* ---- disassembly: one instruction at a time, addresses are offsets in .text ---- */

typedef struct text_reader {
  const unsigned char *data;
  uint64_t size;
  mlaf_text line; /* of the instruction being decoded */
} text_reader;

static uint64_t read_text(uint64_t from, char *to, uint64_t size, void *user) {
  const text_reader *t = user;
  if (from >= t->size) return 0;
  uint64_t n = t->size - from < size ? t->size - from : size;
  memcpy(to, t->data + from, n);
  return n;
}

static void take_line(const char *text, void *user) {
  text_reader *t = user;
  while (*text == ' ' || *text == '\t') text++;
  size_t n = strcspn(text, "\n");
  const char *comment = memmem(text, n, "//", 2);
  if (comment) n = (size_t)(comment - text);
  while (n && (text[n - 1] == ' ' || text[n - 1] == '\t')) n--;
  mlaf_text_add(&t->line, text, n);
}

static void skip_address(uint64_t address, void *user) {}

/* One line per instruction. What does not decode (padding, data in .text) becomes ".long 0x...". */
static bool disassemble_text(mlaf_rocm *r, comgr_handle dis, text_reader *t, mlaf_text *out) {
  for (uint64_t at = 0; at < t->size && !out->failed;) {
    uint64_t size = 0;
    t->line.len = 0;
    if (t->line.data) t->line.data[0] = 0;
    bool ok = r->f.dis_one(dis, at, t, &size) == 0 && size && size <= t->size - at && t->line.len && !t->line.failed;
    if (ok) {
      mlaf_text_fmt(out, "%llx %llu %s\n", (unsigned long long)at, (unsigned long long)size, t->line.data);
    } else {
      uint32_t word = 0;
      size = t->size - at < 4 ? t->size - at : 4;
      memcpy(&word, t->data + at, size);
      mlaf_text_fmt(out, "%llx %llu .long 0x%08x\n", (unsigned long long)at, (unsigned long long)size, word);
    }
    at += size;
  }
  return !out->failed && !t->line.failed;
}

static void isa_name(const char *target, char *out, size_t size) { snprintf(out, size, "amdgcn-amd-amdhsa--%s", target); }

mlaf_status mlaf_rocm_disassemble(mlaf_rocm *r, const char *target, const void *code, size_t size, void **out,
                                  size_t *out_size, char **log, mlaf_err *err) {
  char isa[160];
  isa_name(target, isa, sizeof isa);
  const void *image;
  size_t image_size;
  mlaf_elf elf;
  mlaf_elf_section text;
  mlaf_status status = mlaf_code_object_find(target, code, size, &image, &image_size, err);
  if (status == MLAF_OK) status = mlaf_elf_open(image, image_size, &elf, err);
  if (status != MLAF_OK) return status;
  if (!mlaf_elf_section_find(&elf, ".text", &text) || !text.data)
    return mlaf_fail(err, MLAF_E_ARG, "the code object has no .text section");
  comgr_handle dis;
  int rc = r->f.create_dis(isa, read_text, take_line, skip_address, &dis);
  if (rc != 0) return mlaf_fail(err, MLAF_E_COMPILE, "comgr has no disassembler for %s (status %d)", isa, rc);
  text_reader reader = {text.data, text.size, MLAF_TEXT_INIT(4096)};
  mlaf_text lines = MLAF_TEXT_INIT(TEXT_MAX);
  bool ok = disassemble_text(r, dis, &reader, &lines);
  r->f.destroy_dis(dis);
  mlaf_text_free(&reader.line);
  size_t n = lines.len;
  char *result = mlaf_text_take(&lines);
  if (!ok || !result) {
    free(result);
    return mlaf_fail(err, MLAF_E_NOMEM, "disassembly of %llu bytes is too long", (unsigned long long)text.size);
  }
  *log = mlaf_strdup("");
  *out = result;
  *out_size = n;
  return MLAF_OK;
}

/* ---- assembly: source -> relocatable -> executable ---- */

static mlaf_status comgr_fail(mlaf_rocm *r, const char *what, int rc, mlaf_err *err) {
  const char *text = "";
  if (r->f.status_string(rc, &text) != 0 || !text) text = "unknown status";
  return mlaf_fail(err, rc == 3 /* OUT_OF_RESOURCES */ ? MLAF_E_NOMEM : MLAF_E_COMPILE, "comgr: %s: %s", what, text);
}

/* Bytes of the first object of `kind` in a set, NUL behind them; NULL if there is none. */
static char *take_data(mlaf_rocm *r, comgr_handle set, int kind, size_t *size) {
  comgr_handle data;
  size_t n = 0;
  if (r->f.set_get(set, kind, 0, &data) != 0) return NULL;
  char *bytes = NULL;
  if (r->f.get_data(data, &n, NULL) == 0 && n <= TEXT_MAX && (bytes = malloc(n + 1))) {
    bytes[n] = 0;
    if (r->f.get_data(data, &n, bytes) != 0) {
      free(bytes);
      bytes = NULL;
    }
  }
  r->f.release_data(data);
  if (bytes && size) *size = n;
  return bytes;
}

/* Run one action from `in` to a new set. The log is appended to *log. */
static mlaf_status act(mlaf_rocm *r, int kind, const char *what, const char *isa, comgr_handle in, comgr_handle *out,
                       char **log, mlaf_err *err) {
  comgr_handle action, result;
  int rc = r->f.create_action(&action);
  if (rc != 0) return comgr_fail(r, "create_action_info", rc, err);
  rc = r->f.create_set(&result);
  if (rc != 0) {
    r->f.destroy_action(action);
    return comgr_fail(r, "create_data_set", rc, err);
  }
  rc = r->f.action_isa(action, isa);
  if (rc == 0) rc = r->f.action_logging(action, true);
  if (rc == 0) rc = r->f.do_action(kind, action, in, result);
  r->f.destroy_action(action);
  if (rc == 0) {
    *out = result;
    return MLAF_OK;
  }
  free(*log);
  *log = tidy_log(take_data(r, result, DATA_LOG, NULL));
  r->f.destroy_set(result);
  const char *line = "";
  size_t n = *log ? mlaf_rtc_first_error(*log, &line) : 0;
  if (n) return mlaf_fail(err, MLAF_E_COMPILE, "%s: %.*s", what, (int)n, line);
  return comgr_fail(r, what, rc, err);
}

static int source_set(mlaf_rocm *r, const char *source, size_t size, comgr_handle *out) {
  comgr_handle data, set;
  int rc = r->f.create_data(DATA_SOURCE, &data);
  if (rc != 0) return rc;
  rc = r->f.set_data(data, size, source);
  if (rc == 0) rc = r->f.set_data_name(data, "kernel.s");
  if (rc == 0) rc = r->f.create_set(&set);
  if (rc == 0 && (rc = r->f.set_add(set, data)) != 0) r->f.destroy_set(set);
  r->f.release_data(data); /* the set holds its own reference */
  if (rc == 0) *out = set;
  return rc;
}

mlaf_status mlaf_rocm_assemble(mlaf_rocm *r, const char *target, const char *source, size_t size, void **out,
                               size_t *out_size, char **log, mlaf_err *err) {
  char isa[160];
  isa_name(target, isa, sizeof isa);
  comgr_handle in, object, linked;
  int rc = source_set(r, source, size, &in);
  if (rc != 0) return comgr_fail(r, "source data", rc, err);
  *log = mlaf_strdup("");
  mlaf_status status = act(r, ACTION_ASSEMBLE, "assemble", isa, in, &object, log, err);
  r->f.destroy_set(in);
  if (status != MLAF_OK) return status;
  status = act(r, ACTION_LINK_TO_EXECUTABLE, "link", isa, object, &linked, log, err);
  r->f.destroy_set(object);
  if (status != MLAF_OK) return status;
  char *bytes = take_data(r, linked, DATA_EXECUTABLE, out_size);
  r->f.destroy_set(linked);
  if (!bytes) return mlaf_fail(err, MLAF_E_COMPILE, "comgr linked nothing");
  *out = bytes;
  return MLAF_OK;
}
