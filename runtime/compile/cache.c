/* Self-checking cache files: a fixed header with the hash of the payload and of itself, published by rename. */
#include "compile/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ENTRY_MAX ((size_t)256 << 20)
enum { FORMAT = 1, HEADER_SIZE = 1024, DAY_S = 86400, FAILED_KEEP_DAYS = 7 };
static const char magic[8] = {'M', 'L', 'A', 'F', 'C', 'O', '\r', '\n'};

/* On disk as it lies here (little-endian only, as everything in this library). Texts are NUL-padded. */
typedef struct entry_header {
  char magic[8];
  uint32_t format, header_size, kind, reserved;
  uint64_t payload_size;
  char key[MLAF_HASH_HEX + 7];
  char payload_sha[MLAF_HASH_HEX + 7];
  char target[96];
  char name[128];
  char toolchain[256];
  char unused[HEADER_SIZE - 32 - 3 * 72 - 96 - 128 - 256];
  char header_sha[MLAF_HASH_HEX + 7]; /* of everything before it */
} entry_header;
_Static_assert(sizeof(entry_header) == HEADER_SIZE, "the header's layout is a file format");

bool mlaf_cache_target_ok(const char *target) {
  size_t n = strlen(target);
  return n > 0 && n < 96 && strspn(target, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:+-_") == n;
}

static void warn_once(mlaf_cache *c, const char *fmt, const char *a, const char *b) {
  pthread_mutex_lock(&c->mutex);
  bool first = !c->warned;
  c->warned = true;
  pthread_mutex_unlock(&c->mutex);
  if (first) mlaf_log_line(c->log, MLAF_LOG_WARN, fmt, a, b);
}

/* Cached code is executed, so the folder must be ours (or root's, for a shared read-only one). A folder that was named
 * explicitly may belong to somebody else, but must not be writable for everybody. */
static bool trusted(const char *dir, bool named) {
  struct stat st;
  if (stat(dir, &st) != 0) return true; /* not there yet: we will make it, 0700 */
  if (st.st_mode & S_IWOTH) return false;
  return named || ((st.st_uid == geteuid() || st.st_uid == 0) && !(st.st_mode & S_IWGRP));
}

mlaf_status mlaf_cache_open(mlaf_cache *c, const char *dir, bool off, const mlaf_log *log, mlaf_err *err) {
  memset(c, 0, sizeof *c);
  c->log = log;
  if (pthread_mutex_init(&c->mutex, NULL) != 0) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a mutex");
  if (off) return MLAF_OK;
  const char *named = dir ? dir : getenv("MLAF_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (named && *named) {
    c->dir = mlaf_strdup(named);
  } else if (xdg && xdg[0] == '/') {
    c->dir = mlaf_format("%s/mlaforge", xdg);
  } else if (home && home[0] == '/') {
    c->dir = mlaf_format("%s/.cache/mlaforge", home);
  } else {
    warn_once(c, "no code-object cache: neither MLAF_CACHE_DIR nor HOME is set, every kernel is compiled anew%s%s", "", "");
    return MLAF_OK;
  }
  if (!c->dir) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for the cache path");
  if (!trusted(c->dir, named && *named)) {
    warn_once(c, "cache directory '%s' is not used: others may write to it (chmod 700 it, or name another with "
              "MLAF_CACHE_DIR)%s", c->dir, "");
    free(c->dir);
    c->dir = NULL;
  }
  return MLAF_OK;
}

void mlaf_cache_close(mlaf_cache *c) {
  free(c->dir);
  c->dir = NULL;
  pthread_mutex_destroy(&c->mutex);
}

static char *entry_folder(const mlaf_cache *c, const mlaf_cache_label *l) {
  return mlaf_format("%s/v1/%s/%.2s", c->dir, l->target, l->key);
}

static char *entry_path(const mlaf_cache *c, const mlaf_cache_label *l, const char *suffix) {
  return mlaf_format("%s/v1/%s/%.2s/%s%s", c->dir, l->target, l->key, l->key, suffix);
}

static const char *suffix_of(mlaf_cache_kind kind) { return kind == MLAF_CACHE_CODE ? ".co" : ".s"; }

/* Returns what is wrong with an entry's bytes, NULL if nothing. */
static const char *entry_fault(const void *file, size_t size, const mlaf_cache_label *l) {
  const entry_header *h = file;
  char sha[sizeof h->header_sha] = ""; /* with the field's padding, so that no byte of a header goes unchecked */
  if (size < sizeof *h) return "shorter than its header";
  if (memcmp(h->magic, magic, sizeof magic) != 0) return "not a cache file";
  if (h->format != FORMAT || h->header_size != sizeof *h) return "of another format";
  mlaf_sha256_hex(h, offsetof(entry_header, header_sha), sha);
  if (memcmp(sha, h->header_sha, sizeof sha) != 0) return "its header is damaged";
  if (h->kind != (uint32_t)l->kind || memcmp(h->key, l->key, MLAF_HASH_HEX) != 0) return "it is another entry's file";
  if (h->payload_size != size - sizeof *h) return "its size is wrong";
  mlaf_sha256_hex(h + 1, size - sizeof *h, sha);
  return memcmp(sha, h->payload_sha, MLAF_HASH_HEX) == 0 ? NULL : "its payload is damaged";
}

const char *mlaf_cache_inspect(const void *file, size_t size, bool payload, const mlaf_cache_label *want, mlaf_cache_label *out) {
  const entry_header *h = file;
  char sha[sizeof h->header_sha] = "";
  if (payload) {
    const char *fault = entry_fault(file, size, want);
    if (fault) return fault;
  } else {
    if (size < sizeof *h || memcmp(h->magic, magic, sizeof magic) != 0) return "not a cache file";
    mlaf_sha256_hex(h, offsetof(entry_header, header_sha), sha);
    if (!sha[0] || memcmp(sha, h->header_sha, sizeof sha) != 0) return "its header is damaged";
  }
  *out = (mlaf_cache_label){(mlaf_cache_kind)h->kind, h->target, h->key, h->toolchain, h->name};
  return NULL;
}

static mlaf_status absent(const mlaf_cache_label *l, mlaf_err *err) {
  return mlaf_fail(err, MLAF_E_NOT_COMPILED, "no cache entry %.16s... (compile it, or name the cache that holds it with "
                   "MLAF_CACHE_DIR)", l->key);
}

static mlaf_status load_file(mlaf_cache *c, const mlaf_cache_label *l, void **data, size_t *size, mlaf_err *err) {
  char *path = entry_path(c, l, suffix_of(l->kind));
  void *file;
  size_t n;
  mlaf_status status = path ? mlaf_file_read(path, ENTRY_MAX, &file, &n, NULL) : MLAF_E_NOMEM;
  if (status != MLAF_OK) {
    free(path);
    return status == MLAF_E_NOMEM ? mlaf_fail(err, status, "no memory to read cache entry %.16s...", l->key) : absent(l, err);
  }
  const char *fault = entry_fault(file, n, l);
  if (fault) {
    pthread_mutex_lock(&c->mutex);
    c->healed++;
    pthread_mutex_unlock(&c->mutex);
    unlink(path); /* where this fails (read-only), every load finds the fault anew and the caller compiles */
    mlaf_log_line(c->log, MLAF_LOG_WARN, "cache entry '%s' is rebuilt: %s", path, fault);
    free(file);
    free(path);
    return absent(l, err);
  }
  free(path);
  *size = n - sizeof(entry_header);
  memmove(file, (char *)file + sizeof(entry_header), *size + 1); /* and the NUL that mlaf_file_read adds */
  *data = file;
  return MLAF_OK;
}

mlaf_status mlaf_cache_load(mlaf_cache *c, const mlaf_cache_label *l, void **data, size_t *size, mlaf_err *err) {
  if (!c->dir) return absent(l, err);
  if (l->target) return load_file(c, l, data, size, err);
  /* by key alone: look into every target's folder */
  char *root = mlaf_format("%s/v1", c->dir);
  DIR *targets = root ? opendir(root) : NULL;
  mlaf_status status = MLAF_E_NOT_COMPILED;
  for (struct dirent *d; targets && status != MLAF_OK && (d = readdir(targets));) {
    mlaf_cache_label one = *l;
    one.target = d->d_name;
    if (d->d_name[0] != '.') status = load_file(c, &one, data, size, NULL);
  }
  if (targets) closedir(targets);
  if (!root) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a path of the cache");
  free(root);
  return status == MLAF_OK ? MLAF_OK : absent(l, err);
}

/* Remove what a killed process left: names that hold `part` and are older than `days`. */
static void sweep(const char *folder, const char *part, int days) {
  DIR *d = opendir(folder);
  time_t oldest = time(NULL) - (time_t)days * DAY_S;
  for (struct dirent *e; d && (e = readdir(d));) {
    struct stat st;
    if (strstr(e->d_name, part) && fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
        st.st_mtime < oldest)
      unlinkat(dirfd(d), e->d_name, 0);
  }
  if (d) closedir(d);
}

static void put(char *field, size_t size, const char *text) { snprintf(field, size, "%s", text ? text : ""); }

void mlaf_cache_store(mlaf_cache *c, const mlaf_cache_label *l, const void *data, size_t size) {
  if (!c->dir) return;
  mlaf_err why = {MLAF_OK, ""};
  char *folder = entry_folder(c, l), *path = entry_path(c, l, suffix_of(l->kind));
  entry_header *h = calloc(1, sizeof *h + size);
  if (folder && path && h) {
    memcpy(h->magic, magic, sizeof magic);
    h->format = FORMAT;
    h->header_size = sizeof *h;
    h->kind = (uint32_t)l->kind;
    h->payload_size = size;
    put(h->key, sizeof h->key, l->key);
    put(h->target, sizeof h->target, l->target);
    put(h->name, sizeof h->name, l->name);
    put(h->toolchain, sizeof h->toolchain, l->toolchain);
    mlaf_sha256_hex(data, size, h->payload_sha);
    mlaf_sha256_hex(h, offsetof(entry_header, header_sha), h->header_sha);
    if (size) memcpy(h + 1, data, size);
    if (mlaf_dir_make(folder, &why) == MLAF_OK) {
      sweep(folder, ".tmp.", 1);
      mlaf_file_publish(path, h, sizeof *h + size, &why);
    }
    if (why.status != MLAF_OK)
      warn_once(c, "the cache cannot be written, kernels are compiled anew each time: %s%s", why.text, "");
  }
  free(h);
  free(path);
  free(folder);
}

int mlaf_cache_try_lock(mlaf_cache *c, const mlaf_cache_label *l, long *holder) {
  if (!c->dir) return MLAF_LOCK_NONE;
  char *folder = entry_folder(c, l), *path = entry_path(c, l, ".lock");
  int fd = MLAF_LOCK_NONE;
  if (folder && path && mlaf_dir_make(folder, NULL) == MLAF_OK) fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  free(folder);
  free(path);
  if (fd < 0) return MLAF_LOCK_NONE;
  char pid[24] = "";
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) { /* released by the kernel when the holder dies, however it dies */
    bool busy = errno == EWOULDBLOCK;
    *holder = pread(fd, pid, sizeof pid - 1, 0) > 0 ? strtol(pid, NULL, 10) : 0;
    close(fd);
    return busy ? MLAF_LOCK_BUSY : MLAF_LOCK_NONE; /* ENOLCK on some network file systems: compile without it */
  }
  int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
  const mlaf_write_guard guard = mlaf_write_guard_enter();
  if (ftruncate(fd, 0) != 0 || pwrite(fd, pid, (size_t)n, 0) != n) *holder = 0; /* only a message would have used it */
  mlaf_write_guard_leave(guard);
  return fd;
}

void mlaf_cache_unlock(mlaf_cache *c, const mlaf_cache_label *l, int fd) {
  if (fd < 0) return;
  /* Unlinked while held. A waiter that gets the unlinked file looks into the cache first; should the compile have
   * failed and a third process lock a new file, two compile at once, which is only a waste. */
  char *path = entry_path(c, l, ".lock");
  if (path) unlink(path);
  free(path);
  close(fd);
}

char *mlaf_cache_keep_source(mlaf_cache *c, const char *key, const char *source) {
  char *folder = c->dir ? mlaf_format("%s/failed", c->dir) : NULL;
  char *path = folder ? mlaf_format("%s/%s.hip", folder, key) : NULL;
  bool kept = path && mlaf_dir_make(folder, NULL) == MLAF_OK;
  if (kept) {
    sweep(folder, ".hip", FAILED_KEEP_DAYS);
    kept = mlaf_file_publish(path, source, strlen(source), NULL) == MLAF_OK;
  }
  free(folder);
  if (kept) return path;
  free(path);
  const char *tmp = getenv("TMPDIR");
  path = mlaf_format("%s/mlaforge-%.16s.hip", tmp && tmp[0] == '/' ? tmp : "/tmp", key);
  if (path && mlaf_file_publish(path, source, strlen(source), NULL) == MLAF_OK) return path;
  free(path);
  return NULL;
}
