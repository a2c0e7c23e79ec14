/* Runs the built mlaforge in a directory of its own and keeps what it wrote. */
#pragma once

#include <cjson/cJSON.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/base.h"
#include "cmocka_all.h"

typedef struct cli_dir {
  char dir[64], db[96], cache[96], out[96], err[96], program[512];
} cli_dir;

typedef struct cli_result {
  int exit;
  char *out, *err;
} cli_result;

static inline void remove_tree(const char *path) {
  DIR *d = opendir(path);
  for (struct dirent *e; d && (e = readdir(d));) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    char *file = mlaf_format("%s/%s", path, e->d_name);
    if (unlink(file) != 0) remove_tree(file);
    free(file);
  }
  if (d) closedir(d);
  rmdir(path);
}

static inline int cli_dir_setup(void **state) {
  cli_dir *d = calloc(1, sizeof *d);
  const char *build = getenv("MLAF_BUILD_DIR");
  snprintf(d->dir, sizeof d->dir, "/tmp/mlaf-cli-XXXXXX");
  if (!mkdtemp(d->dir)) return -1;
  snprintf(d->db, sizeof d->db, "%s/tuning.db", d->dir);
  snprintf(d->cache, sizeof d->cache, "%s/cache", d->dir);
  snprintf(d->out, sizeof d->out, "%s/stdout", d->dir);
  snprintf(d->err, sizeof d->err, "%s/stderr", d->dir);
  snprintf(d->program, sizeof d->program, "%s/mlaforge", build ? build : ".");
  setenv("MLAF_DB", d->db, 1);
  setenv("MLAF_TUNING_DIR", "/nonexistent", 1); /* what is shipped does not enter */
  setenv("MLAF_SITE_DB", "", 1);
  setenv("MLAF_CACHE_DIR", d->cache, 1);
  *state = d;
  return access(d->program, X_OK);
}

static inline int cli_dir_teardown(void **state) {
  cli_dir *d = *state;
  remove_tree(d->dir);
  free(d);
  return 0;
}

static inline char *slurp(const char *path) {
  void *data = NULL;
  size_t size;
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_file_read(path, 64 << 20, &data, &size, &err) != MLAF_OK) fail_msg("%s", err.text);
  return data;
}

/* Start `mlaforge ARGS...` (NULL-terminated) with its output in files. */
static inline pid_t start(const cli_dir *d, const char *const *args, const char *stdout_path) {
  const char *argv[32] = {d->program};
  for (int i = 0; i < 30 && args[i]; i++) argv[i + 1] = args[i];
  pid_t child = fork();
  if (child == 0) {
    int out = open(stdout_path ? stdout_path : d->out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int err = open(d->err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(out, 1);
    dup2(err, 2);
    execv(d->program, (char **)argv);
    _exit(127);
  }
  return child;
}

static inline cli_result finish(const cli_dir *d, pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  cli_result r = {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), NULL, slurp(d->err)};
  r.out = access(d->out, F_OK) == 0 ? slurp(d->out) : mlaf_strdup("");
  return r;
}

#define RUN(d, ...) finish(d, start(d, (const char *const[]){__VA_ARGS__, NULL}, NULL))

static inline void release(cli_result *r) {
  free(r->out);
  free(r->err);
}

#define assert_has(text, part)                                                                                         \
  do {                                                                                                                 \
    if (!strstr((text), (part))) fail_msg("expected \"%s\" in:\n%s", (part), (text));                                  \
  } while (0)
#define assert_exit(r, code)                                                                                           \
  do {                                                                                                                 \
    if ((r).exit != (code)) fail_msg("exit %d, expected %d\n%s\n%s", (r).exit, (code), (r).out, (r).err);              \
  } while (0)

/* Runs a command that must end with `code` and print each of the texts, if any: on stdout where that is 0, else on stderr. */
static inline void ran(const cli_dir *d, int code, const char *const *prints, const char *const *args) {
  cli_result r = finish(d, start(d, args, NULL));
  assert_exit(r, code);
  for (; prints && *prints; prints++) assert_has(code ? r.err : r.out, *prints);
  release(&r);
}
#define PRINTS(...) (const char *const[]){__VA_ARGS__, NULL}
#define RAN(d, code, prints, ...) ran(d, code, prints, (const char *const[]){__VA_ARGS__, NULL})

/* Every line of stdout is a JSON object with schema and version; calls fn for each. Returns their number. */
static inline int each_json(const char *out, void (*fn)(void *user, const char *schema, const cJSON *object),
                            void *user) {
  int n = 0;
  for (const char *line = out; *line;) {
    size_t length = strcspn(line, "\n");
    cJSON *o = cJSON_ParseWithLength(line, length);
    if (!o) fail_msg("not JSON: %.*s", (int)length, line);
    const cJSON *schema = cJSON_GetObjectItem(o, "schema");
    assert_true(cJSON_IsString(schema) && strncmp(schema->valuestring, "mlaforge.", 9) == 0);
    assert_true(cJSON_IsNumber(cJSON_GetObjectItem(o, "version")));
    if (fn) fn(user, schema->valuestring + 9, o);
    cJSON_Delete(o);
    n++;
    line += length + (line[length] == '\n');
  }
  return n;
}
