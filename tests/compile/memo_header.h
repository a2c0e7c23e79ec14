/* The compiler's own header, precompiled. hiprtc puts half a megabyte of declarations before every text; reading them takes clang
 * 0.26 of the 0.33 s of CPU that an empty kernel takes. For `-include NAME` clang takes NAME.pch where the working folder has
 * it, so a worker of tests makes one for each target and its options, and links it into its folder. The first text of each is
 * compiled in both ways, and so is one in 64 of the others, different ones each day: the answers are the same, byte for byte, or
 * the worker ends. Where anything else goes wrong (another ROCm, a text that does not compile) the compiler is asked as it always
 * is, and so it is for unoptimised code, which differs with such a header. */
#pragma once

#include <dlfcn.h>
#include <time.h>

#include "compile/rtc_text.h"

#define HEADER_LINK "hiprtc_runtime.h.pch"
enum { HEADER_SAMPLE = 64, COMGR_SOURCE = 1, COMGR_RELOCATABLE = 7, COMGR_HIP = 3, COMGR_TO_RELOCATABLE = 0xd };

typedef struct comgr {
  uint64_t handle;
} comgr;

/* Days since 1970; MEMO_HEADER_DAY names another one, to see again what a run of that day compared. */
static long long header_day(void) {
  const char *day = getenv("MEMO_HEADER_DAY");
  return day ? strtoll(day, NULL, 10) : (long long)time(NULL) / (24 * 60 * 60);
}

/* True for the texts whose turn is today, by the digest that ends their file's name: every text has one in HEADER_SAMPLE days. A
 * share that stays the same leaves the other texts out for ever. */
static bool header_sampled(const char *path) {
  return ((long long)strtoul(path + strlen(path) - 2, NULL, 16) + header_day()) % HEADER_SAMPLE == 0;
}

/* The functions of comgr that rocm.c has no use for, too; the worker has loaded it for all to see. */
#define COMGR(name, ...) int (*name)(__VA_ARGS__) = (int (*)(__VA_ARGS__))(uintptr_t)dlsym(RTLD_DEFAULT, "amd_comgr_" #name)

/* The header's text, as `path`: the precompiled one names it. */
static bool header_text(const char *path, const char *lib_dir) {
  static const char *const names[] = {"libhiprtc-builtins.so.7", "libhiprtc-builtins.so.6", "libhiprtc-builtins.so"};
  const char *text = NULL;
  const unsigned *size = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && !text; i++) {
    char name[600];
    snprintf(name, sizeof name, "%s%s%s", lib_dir ? lib_dir : "", lib_dir ? "/" : "", names[i]);
    void *library = dlopen(name, RTLD_NOW);
    text = library ? dlsym(library, "__hipRTC_header") : NULL;
    size = library ? dlsym(library, "__hipRTC_header_size") : NULL;
  }
  if (!text || !size) return false;
  mlaf_text all = MLAF_TEXT_INIT(8 << 20);
  mlaf_text_add(&all, text, strnlen(text, *size));
  keep(path, &all);
  mlaf_text_free(&all);
  return access(path, R_OK) == 0;
}

/* comgr's answer to an empty text behind the header: the precompiled header in place of a code object. */
static bool header_compile(const char *isa, const char **options, size_t n, mlaf_text *out) {
  COMGR(create_data, int, comgr *);
  COMGR(set_data, comgr, size_t, const char *);
  COMGR(set_data_name, comgr, const char *);
  COMGR(get_data, comgr, size_t *, char *);
  COMGR(create_data_set, comgr *);
  COMGR(data_set_add, comgr, comgr);
  COMGR(action_data_get_data, comgr, int, size_t, comgr *);
  COMGR(create_action_info, comgr *);
  COMGR(action_info_set_isa_name, comgr, const char *);
  COMGR(action_info_set_language, comgr, int);
  COMGR(action_info_set_option_list, comgr, const char **, size_t);
  COMGR(do_action, int, comgr, comgr, comgr);
  comgr source, in, made, action, answer;
  if (!action_info_set_option_list || create_data(COMGR_SOURCE, &source) || set_data(source, 1, "\n") ||
      set_data_name(source, MLAF_RTC_HIP_NAME) || create_data_set(&in) || create_data_set(&made) || data_set_add(in, source) ||
      create_action_info(&action) || action_info_set_isa_name(action, isa) || action_info_set_language(action, COMGR_HIP) ||
      action_info_set_option_list(action, options, n) || do_action(COMGR_TO_RELOCATABLE, action, in, made)) return false;
  size_t size = 0;
  char *data = NULL;
  const bool ok = !action_data_get_data(made, COMGR_RELOCATABLE, 0, &answer) && !get_data(answer, &size, NULL) && size > 4 &&
                  (data = malloc(size)) && !get_data(answer, &size, data) && !memcmp(data, "CPCH", 4);
  if (ok) mlaf_text_add(out, data, size);
  free(data);
  return ok && !out->failed; /* what comgr was given lives as long as the worker */
}

static bool header_make(const char *path, const char *text, const char *lib_dir, const char *target,
                        const mlaf_wire_field *options) {
  enum { OWN = 8, MOST = 32 };
  char isa[160], arch[160];
  snprintf(isa, sizeof isa, "amdgcn-amd-amdhsa--%s", target);
  snprintf(arch, sizeof arch, "--offload-arch=%s", target);
  const char *all[MOST] = {arch,       "-D__HIPCC_RTC__", "-nogpuinc", "-Wno-gnu-line-marker",
                           "-include", text,              "-Xclang",   "-emit-pch"};
  const char *from = options->data;
  size_t n = OWN;
  for (size_t i = 0; i < options->size && n < MOST; i += strlen(from + i) + 1) all[n++] = from + i;
  mlaf_text pch = MLAF_TEXT_INIT(64 << 20);
  const bool ok = n < MOST && header_text(text, lib_dir) && header_compile(isa, all, n, &pch);
  if (ok) keep(path, &pch);
  mlaf_text_free(&pch);
  return ok;
}

/* `work` with the header at `path` in the working folder. */
static mlaf_status header_work(const char *path, libraries *l, const mlaf_wire_header *h, const mlaf_wire_field *f,
                               mlaf_text *out) {
  static const char unchecked[] = "-Xclang\0-fno-validate-pch"; /* its main text was in a folder that is gone */
  mlaf_wire_field with[MLAF_WIRE_FIELDS];
  memcpy(with, f, sizeof with);
  char *options = malloc(f[1].size + sizeof unchecked);
  if (!options) return MLAF_E_NOMEM;
  memcpy(options, f[1].data, f[1].size);
  memcpy(options + f[1].size, unchecked, sizeof unchecked);
  with[1] = (mlaf_wire_field){options, f[1].size + sizeof unchecked};
  const bool linked = symlink(path, HEADER_LINK) == 0;
  const mlaf_status status = linked ? work(l, h, with, out) : MLAF_E_IO;
  if (linked) unlink(HEADER_LINK);
  if (linked && status != MLAF_OK) mlaf_text_free(out);
  free(options);
  return status;
}

/* The code objects of two replies. */
static bool same_code(const mlaf_text *a, const mlaf_text *b) {
  mlaf_wire_header ha, hb;
  mlaf_wire_field fa[MLAF_WIRE_FIELDS], fb[MLAF_WIRE_FIELDS];
  memcpy(&ha, a->data, sizeof ha);
  memcpy(&hb, b->data, sizeof hb);
  return mlaf_wire_decode(&ha, a->data + sizeof ha, fa) && mlaf_wire_decode(&hb, b->data + sizeof hb, fb) &&
         fa[0].size == fb[0].size && !memcmp(fa[0].data, fb[0].data, fa[0].size);
}

static bool is_unoptimised(const mlaf_wire_field *options) {
  const char *from = options->data;
  for (size_t i = 0; i < options->size; i += strlen(from + i) + 1)
    if (!strcmp(from + i, "-O0")) return true;
  return false;
}

/* `work`, by way of the header at `path` where that can be had; `sampled`: and without it. */
static mlaf_status work_by_header(const char *path, bool sampled, libraries *l, const mlaf_wire_header *h,
                                  const mlaf_wire_field *f, mlaf_text *out) {
  char cwd[512];
  const char *temp = getenv("TMPDIR");
  const bool at_home = temp && getcwd(cwd, sizeof cwd) && !strcmp(cwd, temp) && /* not what belongs to others */
                       !is_unoptimised(&f[1]);
  const bool made = at_home && access(path, R_OK) == 0;
  if (made && !sampled && header_work(path, l, h, f, out) == MLAF_OK) return MLAF_OK;
  const mlaf_status status = work(l, h, f, out);
  if (status != MLAF_OK || out->failed || !at_home) return status;
  char target[128], fresh[600], text[600];
  snprintf(target, sizeof target, "%.*s", (int)f[0].size, (const char *)f[0].data);
  snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
  snprintf(text, sizeof text, "%s.h", path);
  if (!made && !header_make(fresh, text, l->dir, target, &f[1])) return status;
  mlaf_text other;
  if (header_work(made ? path : fresh, l, h, f, &other) != MLAF_OK) return status;
  if (!same_code(out, &other)) {
    fprintf(stderr, "memo-worker: a precompiled header changes code for %s (MEMO_HEADER_DAY=%lld): see memo_header.h\n", target,
            header_day());
    fflush(NULL);
    _exit(1);
  }
  mlaf_text_free(&other);
  if (!made && rename(fresh, path)) unlink(fresh);
  return status;
}
