/* Whole files and folders, for tests. */
#pragma once

#include "base/base.h"
#include "cmocka_all.h"

static inline void write_file(const char *path, const void *data, size_t size) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, size, f), size);
  assert_int_equal(fclose(f), 0);
}

/* The file's bytes, to be freed. */
static inline void *read_file(const char *path, size_t *size) {
  void *data = NULL;
  assert_int_equal(mlaf_file_read(path, 64 << 20, &data, size, NULL), MLAF_OK);
  return data;
}

static inline void copy_tree(const char *from, const char *to) {
  char *command = mlaf_format("rm -rf '%s' && cp -r '%s' '%s'", to, from, to);
  assert_int_equal(system(command), 0);
  free(command);
}
