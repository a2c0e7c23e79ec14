/* Shared by the compile tests: a compiler with its own cache folder, small kernels, what is seen of a process from outside. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cmocka_all.h"
#include "compile/compile.h"
#include "compile/toolchain.h"
#include "need.h"

#define KERNEL                                                                                                        \
  "extern \"C\" __global__ void scale(float* o, const float* a, float f) {\n"                                         \
  "  __shared__ float t[64];\n"                                                                                       \
  "  t[threadIdx.x] = a[threadIdx.x];\n"                                                                              \
  "  __syncthreads();\n"                                                                                              \
  "  o[threadIdx.x] = f * t[63 - threadIdx.x];\n}\n"

static const char *const plain_options[] = {"-O3", NULL};

typedef struct log_lines {
  int count;
  char last[MLAF_ERR_MAX];
} log_lines;

static inline void keep_line(void *user, mlaf_log_level level, const char *line) {
  log_lines *l = user;
  if (level > MLAF_LOG_WARN) return;
  l->count++;
  snprintf(l->last, sizeof l->last, "%s", line);
}

/* A fresh folder under $TMPDIR; the caller removes it with remove_tree. */
static inline char *make_folder(void) {
  const char *tmp = getenv("TMPDIR");
  char *path = mlaf_format("%s/mlaf-test-XXXXXX", tmp ? tmp : "/tmp");
  assert_non_null(mkdtemp(path));
  return path;
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
  if (type == FTW_D) chmod(path, 0700);
  return remove(path);
}
static inline void remove_tree(char *path) {
  nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  free(path);
}

static inline mlaf_compiler *open_compiler(const char *cache, int jobs, double timeout_s, log_lines *lines) {
  mlaf_compiler_opts opts = {.cache_dir = cache, .jobs = jobs, .timeout_s = timeout_s, .no_cache = !cache};
  mlaf_log log = {keep_line, lines, MLAF_LOG_DEBUG};
  mlaf_compiler *c = NULL;
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_compiler_open(&opts, lines ? &log : NULL, &c, &err) != MLAF_OK) fail_msg("open: %s", err.text);
  return c;
}

static inline mlaf_compile_job make_job(const char *source) {
  return (mlaf_compile_job){.source = source, .options = plain_options, .target = "gfx942", .name = "scale"};
}

/* Compile one source; the job is the caller's to clear. */
static inline mlaf_compile_job compile_one(mlaf_compiler *c, const char *source) {
  mlaf_compile_job job = make_job(source);
  mlaf_err err = {MLAF_OK, ""};
  mlaf_status status = mlaf_compile(c, &job, 1, NULL, NULL, &err);
  if (status != MLAF_OK) fail_msg("mlaf_compile: %s: %s", mlaf_status_name(status), err.text);
  return job;
}

static inline void clear_and_close(mlaf_compile_job *job, mlaf_compiler *c) {
  mlaf_compile_job_clear(job);
  mlaf_compiler_close(c);
}

static inline void assert_compiled(const mlaf_compile_job *job) {
  if (job->status != MLAF_OK) fail_msg("%s: %s", mlaf_status_name(job->status), job->log);
  assert_non_null(job->code);
  assert_true(job->code_size > 64);
  assert_memory_equal(job->code, "\177ELF", 4);
}

static inline mlaf_compile_stats stats_of(const mlaf_compiler *c) {
  mlaf_compile_stats s;
  mlaf_compiler_stats(c, &s);
  return s;
}

/* Path of a job's cache file. */
static inline char *entry_of(const char *cache, const mlaf_compile_job *job) {
  return mlaf_format("%s/v1/%s/%.2s/%s.co", cache, job->target, job->key, job->key);
}

/* Children of a process (running or zombie), the first of them in *first. */
static inline int count_children_of(pid_t of, pid_t *first) {
  DIR *proc = opendir("/proc");
  int n = 0;
  for (struct dirent *d; (d = readdir(proc));) {
    char path[64], text[512] = "";
    long pid = strtol(d->d_name, NULL, 10), parent = 0;
    if (pid <= 0) continue;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f) continue;
    size_t got = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[got] = 0;
    char *end = strrchr(text, ')');
    if (!end || sscanf(end + 1, " %*c %ld", &parent) != 1 || parent != of) continue;
    if (!n++ && first) *first = (pid_t)pid;
  }
  closedir(proc);
  return n;
}

static inline int count_children(pid_t *first) { return count_children_of(getpid(), first); }

static inline int count_descriptors(void) {
  DIR *d = opendir("/proc/self/fd");
  int n = 0;
  while (readdir(d)) n++;
  closedir(d);
  return n;
}
