/* One hash over every file of the generator, without opening a Lua state: what "the same generator" means to caches. */
#include <dirent.h>

#include "gen/host.h"

enum { MAX_FILES = 1024, MAX_DEPTH = 4 };

/* Names and digests of files, each as one line. */
static void add_file(mlaf_text *lines, const char *path, const void *text, size_t size) {
  char hex[MLAF_HASH_HEX];
  mlaf_sha256_hex(text, size, hex);
  mlaf_text_fmt(lines, "%s %s\n", hex, path);
}

static mlaf_status add_dir(mlaf_text *lines, const char *root, const char *dir, int depth, int *files, mlaf_err *err);

static mlaf_status add_entry(mlaf_text *lines, const char *root, const char *path, bool is_dir, int depth, int *files,
                             mlaf_err *err) {
  if (is_dir) return depth < MAX_DEPTH ? add_dir(lines, root, path, depth + 1, files, err) : MLAF_OK;
  if (++*files > MAX_FILES)
    return mlaf_fail(err, MLAF_E_IO, "more than %d files under %s: not a generator?", MAX_FILES, root);
  void *text = NULL;
  size_t size = 0;
  char *full = mlaf_format("%s/%s", root, path);
  mlaf_status st =
      full ? mlaf_file_read(full, MLAF_GEN_FILE_MAX, &text, &size, err) : mlaf_fail(err, MLAF_E_NOMEM, "stamp");
  if (!st) add_file(lines, path, text, size);
  free(text);
  free(full);
  return st;
}

static mlaf_status add_dir(mlaf_text *lines, const char *root, const char *dir, int depth, int *files, mlaf_err *err) {
  struct dirent **entries = NULL;
  char *full = mlaf_format("%s/%s", root, dir);
  int n = full ? scandir(full, &entries, NULL, alphasort) : -1;
  mlaf_status st = n < 0 ? mlaf_fail(err, MLAF_E_IO, "cannot list %s/%s", root, dir) : MLAF_OK;
  for (int i = 0; i < n; i++) {
    const char *name = entries[i]->d_name;
    char *path = mlaf_format("%s/%s", dir, name);
    if (!path) st = mlaf_fail(err, MLAF_E_NOMEM, "stamp");
    if (!st && name[0] != '.') st = add_entry(lines, root, path, entries[i]->d_type == DT_DIR, depth, files, err);
    free(path);
    free(entries[i]);
  }
  free(entries);
  free(full);
  return st;
}

mlaf_status mlaf_gen_stamp(const char *root, char out[MLAF_HASH_HEX], mlaf_err *err) {
  mlaf_text lines = MLAF_TEXT_INIT(1 << 20);
  mlaf_status st = MLAF_OK;
  int files = 0;
  if (!root) {
    memcpy(out, mlaf_gen_files_stamp, MLAF_HASH_HEX);
    return MLAF_OK;
  }
  st = add_dir(&lines, root, "gen", 0, &files, err);
  if (!st) st = add_dir(&lines, root, "templates", 0, &files, err);
  if (!st && lines.failed) st = mlaf_fail(err, MLAF_E_NOMEM, "stamp of the generator's files");
  if (!st) mlaf_sha256_hex(lines.data ? lines.data : "", lines.len, out);
  mlaf_text_free(&lines);
  return st;
}
