/* A compile worker that remembers, for tests whose subject is not the compiler (MLAF_WORKER in tests.cmake): what was asked
 * before gets the answer that hiprtc, comgr or NVRTC gave then. The caches of code objects that tests begin empty stay empty:
 * this is behind them. All tests of a build share its files, in MEMO_DIR; all builds do with $MLAF_MEMO_DIR. An answer is for one
 * request, byte for byte, of one source of the compile room and one set of libraries; what failed is asked again. */
#include "compile/wire.h"

typedef struct libraries libraries;
static mlaf_status work(libraries *l, const mlaf_wire_header *h, const mlaf_wire_field *fields, mlaf_text *out);
static mlaf_status remember(libraries *l, const mlaf_wire_header *h, const mlaf_wire_field *fields, mlaf_text *out);
#define WORK remember
#include "compile/worker_main.c"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

__extension__ typedef unsigned __int128 digest; /* FNV-1a */

static void mix(digest *d, const void *data, size_t size) {
  const digest prime = ((digest)1 << 88) + 0x13b;
  for (size_t i = 0; i < size; i++) *d = (*d ^ ((const unsigned char *)data)[i]) * prime;
}

static void mix_file(digest *d, int dir, const char *name) {
  struct stat st;
  if (fstatat(dir, name, &st, 0) || !S_ISREG(st.st_mode)) return;
  mix(d, name, strlen(name) + 1);
  mix(d, &st.st_size, sizeof st.st_size);
  mix(d, &st.st_mtim, sizeof st.st_mtim);
}

/* The text of the files that the worker is made of: builds with sanitizers and without them have the same answers. */
static digest sources(void) {
  static digest sum; /* 0: not read yet */
  DIR *dir = sum ? NULL : opendir(WORKER_SOURCES);
  for (struct dirent *e; dir && (e = readdir(dir));) {
    char part[1 << 14];
    ssize_t n;
    digest one = 1;
    const int fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_CLOEXEC);
    mix(&one, e->d_name, strlen(e->d_name) + 1);
    while (fd >= 0 && (n = read(fd, part, sizeof part)) > 0) mix(&one, part, (size_t)n);
    if (fd >= 0) close(fd);
    sum += one;
  }
  if (dir) closedir(dir);
  return sum;
}

static const char *memo_dir(void) {
  const char *shared = getenv("MLAF_MEMO_DIR");
  return shared && *shared ? shared : MEMO_DIR;
}

/* The digest of the compilers that answer. Files of a folder come in any order: their digests are added. */
static digest compilers(const char *lib_dir) {
  digest sum = 0;
  DIR *dir = lib_dir ? opendir(lib_dir) : NULL;
  for (struct dirent *e; dir && (e = readdir(dir));) {
    digest one = 1;
    mix_file(&one, dirfd(dir), e->d_name);
    sum += one;
  }
  if (dir) closedir(dir);
  return sum + sources();
}

/* The file for a request, of whose fields the first `n` count. */
static void path_of(const libraries *l, const mlaf_wire_header *h, const mlaf_wire_field *f, int n, char path[512]) {
  digest d = compilers(l->dir);
  mix(&d, &h->kind, sizeof h->kind);
  for (int i = 0; i < n; i++) {
    mix(&d, &f[i].size, sizeof f[i].size);
    mix(&d, f[i].data, f[i].size);
  }
  snprintf(path, 512, "%s/%016llx%016llx", memo_dir(), (unsigned long long)(d >> 64), (unsigned long long)d);
}

static bool recall(const char *path, mlaf_text *out) {
  struct stat st;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  void *text = fd >= 0 && !fstat(fd, &st) ? malloc((size_t)st.st_size + 1) : NULL;
  const bool ok = text && read_all(fd, text, (size_t)st.st_size);
  if (fd >= 0) close(fd);
  *out = MLAF_TEXT_INIT(MLAF_WIRE_MAX + 4096);
  if (ok) mlaf_text_add(out, text, (size_t)st.st_size);
  free(text);
  return ok && !out->failed;
}

/* Whole or not at all: others read meanwhile. */
static void keep(const char *path, const mlaf_text *text) {
  char fresh[600];
  snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
  mkdir(memo_dir(), 0700);
  const int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool ok = fd >= 0 && write_all(fd, text->data, text->len);
  if (fd >= 0 && (close(fd) || !ok || rename(fresh, path))) unlink(fresh);
}

#include "memo_header.h"

static mlaf_status remember(libraries *l, const mlaf_wire_header *h, const mlaf_wire_field *fields, mlaf_text *out) {
  enum { TARGET_AND_OPTIONS = 2, ALL_BUT_LIMIT = 3 };
  char path[512], header[512];
  const char *pause = getenv("MEMO_PAUSE_MS"); /* for tests of what is seen while compiles take their time */
  if (pause) usleep((useconds_t)atoi(pause) * 1000);
  path_of(l, h, fields, ALL_BUT_LIMIT, path);
  const bool forgets = getenv("MEMO_FORGET"); /* for tests that want compiles, of compilers that are fast */
  if (!forgets && recall(path, out)) return MLAF_OK;
  if (!forgets) mlaf_text_free(out);
  const bool rocm = h->kind == MLAF_WIRE_COMPILE && mlaf_tool_of(fields[0].data, fields[0].size) == MLAF_TOOL_ROCM;
  path_of(l, h, fields, TARGET_AND_OPTIONS, header);
  mlaf_status status = MLAF_OK;
  if (rocm) status = work_by_header(header, header_sampled(path), l, h, fields, out);
  else status = work(l, h, fields, out);
  if (status == MLAF_OK && !out->failed && !forgets) keep(path, out);
  return status;
}
