/* Walking `<dir>/v1/<target>/<k[0:2]>/<key>.co|.s`. */
#include "compile/cache_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILE_MAX ((size_t)256 << 20)
enum { HEX = MLAF_HASH_HEX - 1 };

typedef struct walk {
  const mlaf_cache *cache;
  bool check, stopped;
  mlaf_cache_entry_fn fn;
  void *user;
} walk;

static int not_hidden(const struct dirent *d) { return d->d_name[0] != '.'; }

/* Calls `each` for every name in a folder, sorted. A folder that cannot be read has none: it may have been removed just now. */
static void sorted_names(walk *w, const char *folder, void (*each)(walk *, const char *folder, const char *name)) {
  struct dirent **names = NULL;
  int n = scandir(folder, &names, not_hidden, alphasort);
  for (int i = 0; i < n; i++) {
    if (!w->stopped) each(w, folder, names[i]->d_name);
    free(names[i]);
  }
  free(names);
}

/* The first `size` bytes of a file, or what there is of them. */
static void *read_head(const char *path, size_t *size) {
  void *data = malloc(*size);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  ssize_t n = data && fd >= 0 ? read(fd, data, *size) : -1;
  if (fd >= 0) close(fd);
  if (n < 0) {
    free(data);
    return NULL;
  }
  *size = (size_t)n;
  return data;
}

static void visit_file(walk *w, const char *folder, const char *name) {
  const size_t length = strlen(name);
  const bool code = length == HEX + 3 && !strcmp(name + HEX, ".co"), text = length == HEX + 2 && !strcmp(name + HEX, ".s");
  char key[MLAF_HASH_HEX] = "", target[96] = "";
  struct stat st;
  if ((!code && !text) || strspn(name, "0123456789abcdef") < HEX) return; /* locks, temporary files */
  memcpy(key, name, HEX);
  char *path = mlaf_format("%s/%s", folder, name);
  if (path && !stat(path, &st) && S_ISREG(st.st_mode)) {
    mlaf_cache_entry e = {.path = path, .key = key, .name = "", .toolchain = "", .kind = code ? MLAF_CACHE_CODE : MLAF_CACHE_TEXT,
                          .size = (uint64_t)st.st_size, .used = st.st_atime > st.st_mtime ? st.st_atime : st.st_mtime};
    const mlaf_cache_label want = {.kind = e.kind, .key = key};
    mlaf_cache_label label;
    size_t size = MLAF_CACHE_HEADER;
    void *file = NULL;
    if (w->check && mlaf_file_read(path, FILE_MAX, &file, &size, NULL)) file = NULL;
    else if (!w->check) file = read_head(path, &size);
    e.fault = file ? mlaf_cache_inspect(file, size, w->check, &want, &label) : "it cannot be read";
    if (!e.fault) {
      e.name = label.name;
      e.toolchain = label.toolchain;
    }
    const char *slash = strrchr(folder, '/'), *start = slash; /* .../<target>/<k[0:2]> */
    while (start > folder && start[-1] != '/') start--;
    snprintf(target, sizeof target, "%.*s", (int)(slash - start), start);
    e.target = target;
    w->stopped = !w->fn(w->user, &e);
    free(file);
  }
  free(path);
}

static void visit_bucket(walk *w, const char *folder, const char *name) {
  char *path = mlaf_format("%s/%s", folder, name);
  if (path) sorted_names(w, path, visit_file);
  free(path);
}

static void visit_target(walk *w, const char *folder, const char *name) {
  char *path = mlaf_format("%s/%s", folder, name);
  if (path && mlaf_cache_target_ok(name)) sorted_names(w, path, visit_bucket);
  free(path);
}

mlaf_status mlaf_cache_each(const mlaf_cache *c, bool check, mlaf_cache_entry_fn fn, void *user, mlaf_err *err) {
  walk w = {.cache = c, .check = check, .fn = fn, .user = user};
  if (!c->dir) return mlaf_fail(err, MLAF_E_IO, "there is no code-object cache: name one with --cache or MLAF_CACHE_DIR");
  if (access(c->dir, R_OK | X_OK)) {
    return mlaf_fail(err, MLAF_E_IO, "there is no code-object cache at '%s': compile something, or name another with --cache",
                     c->dir);
  }
  char *root = mlaf_format("%s/v1", c->dir);
  if (!root) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a path");
  sorted_names(&w, root, visit_target);
  free(root);
  return MLAF_OK;
}

/* --- collecting --- */

typedef struct item {
  char *path, *name, *toolchain, *target;
  char key[MLAF_HASH_HEX];
  mlaf_cache_kind kind;
  uint64_t size;
  int64_t used;
  const char *fault;
} item;

typedef struct items {
  item *list;
  size_t n;
  bool failed;
} items;

static bool keep(void *user, const mlaf_cache_entry *e) {
  items *l = user;
  if ((l->failed = !mlaf_room(&l->list, l->n, sizeof *l->list))) return false;
  item *x = &l->list[l->n++];
  *x = (item){mlaf_strdup(e->path), mlaf_strdup(e->name), mlaf_strdup(e->toolchain), mlaf_strdup(e->target), "", e->kind, e->size,
              e->used, e->fault};
  memcpy(x->key, e->key, sizeof x->key);
  l->failed = !x->path || !x->name || !x->toolchain || !x->target;
  return !l->failed;
}

/* `<dir>/generator/<stamp>/<question>` and `<dir>/generator/<stamp>.tsv`: one that is gone is asked anew. */
static void keep_answers(walk *w, const char *folder, const char *name) {
  char *path = mlaf_format("%s/%s", folder, name);
  char key[MLAF_HASH_HEX] = "";
  struct stat st;
  if (path && !lstat(path, &st) && S_ISDIR(st.st_mode)) sorted_names(w, path, keep_answers);
  else if (path && !lstat(path, &st) && S_ISREG(st.st_mode) && !strstr(name, ".tmp.")) {
    memcpy(key, name, strnlen(name, HEX));
    w->stopped = !keep(w->user, &(mlaf_cache_entry){.path = path, .target = "generator", .key = key, .name = "", .toolchain = "",
                                                     .kind = MLAF_CACHE_ANSWER, .size = (uint64_t)st.st_size,
                                                     .used = st.st_atime > st.st_mtime ? st.st_atime : st.st_mtime});
  }
  free(path);
}

static int oldest_first(const void *a, const void *b) {
  const item *x = a, *y = b;
  if (x->used != y->used) return x->used < y->used ? -1 : 1;
  return strcmp(x->path, y->path);
}

/* An entry that is opened while it is removed is still read whole: the file lives until it is closed. */
static void remove_item(const item *x, const mlaf_cache_gc *opts, const char *why, mlaf_cache_entry_fn removed, void *user,
                        mlaf_cache_gc_result *r) {
  if (!opts->dry_run && unlink(x->path)) return;
  r->removed++;
  r->removed_bytes += x->size;
  const mlaf_cache_entry e = {x->path, x->target, x->key, x->name, x->toolchain, x->kind, x->size, x->used, why};
  if (removed) removed(user, &e);
}

static void collect(items *l, const mlaf_cache_gc *opts, mlaf_cache_entry_fn removed, void *user, mlaf_cache_gc_result *r) {
  const double now = (double)time(NULL);
  qsort(l->list, l->n, sizeof *l->list, oldest_first);
  for (size_t i = 0; i < l->n; i++) {
    r->bytes += l->list[i].size;
    r->damaged += l->list[i].fault != NULL;
  }
  uint64_t left = r->bytes;
  for (size_t i = 0; i < l->n; i++)
    if (l->list[i].fault) left -= l->list[i].size;
  for (size_t i = 0; i < l->n; i++) {
    const item *x = &l->list[i];
    const char *why = x->fault                                                                  ? x->fault
                      : opts->max_age_s > 0 && now - (double)x->used > opts->max_age_s          ? "older than --max-age"
                      : opts->size_budget && left > opts->size_budget                           ? "used longest ago"
                                                                                                : NULL;
    if (!why) continue;
    if (!x->fault) left -= x->size;
    remove_item(x, opts, why, removed, user, r);
  }
}

/* Folders that became empty, and temporary files a day old. Links to folders outside the cache are not followed. */
static void tidy_bucket(walk *w, const char *folder, const char *name) {
  char *path = mlaf_format("%s/%s", folder, name);
  struct stat own;
  DIR *d = path && !lstat(path, &own) && S_ISDIR(own.st_mode) ? opendir(path) : NULL;
  for (struct dirent *e; d && (e = readdir(d));) {
    struct stat st;
    if (strstr(e->d_name, ".tmp.") && !fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) && st.st_mtime < time(NULL) - 86400)
      unlinkat(dirfd(d), e->d_name, 0);
  }
  if (d) closedir(d);
  if (path) rmdir(path); /* refused while it holds anything */
  free(path);
}
static void tidy_target(walk *w, const char *folder, const char *name) {
  char *path = mlaf_format("%s/%s", folder, name);
  if (path && mlaf_cache_target_ok(name)) sorted_names(w, path, tidy_bucket);
  if (path) rmdir(path);
  free(path);
}

mlaf_status mlaf_cache_collect(const mlaf_cache *c, const mlaf_cache_gc *opts, mlaf_cache_entry_fn removed, void *user,
                               mlaf_cache_gc_result *out, mlaf_err *err) {
  items l = {NULL, 0, false};
  mlaf_cache_gc_result r = {0};
  mlaf_status st = mlaf_cache_each(c, true, keep, &l, err);
  char *answers = !st ? mlaf_format("%s/generator", c->dir) : NULL;
  if (answers && !l.failed) keep_answers(&(walk){.cache = c, .user = &l}, c->dir, "generator");
  if (!st && (l.failed || !answers)) st = mlaf_fail(err, MLAF_E_NOMEM, "no memory to list the cache");
  r.entries = l.n;
  if (!st) collect(&l, opts, removed, user, &r);
  char *root = !st && !opts->dry_run ? mlaf_format("%s/v1", c->dir) : NULL;
  if (root) {
    sorted_names(&(walk){.cache = c}, root, tidy_target);
    struct stat own;
    if (!lstat(answers, &own) && S_ISDIR(own.st_mode)) sorted_names(&(walk){.cache = c}, answers, tidy_bucket);
    tidy_bucket(&(walk){.cache = c}, c->dir, "generator");
  }
  free(root);
  free(answers);
  for (size_t i = 0; i < l.n; i++) {
    free(l.list[i].path);
    free(l.list[i].name);
    free(l.list[i].toolchain);
    free(l.list[i].target);
  }
  free(l.list);
  if (!st) *out = r;
  return st;
}
