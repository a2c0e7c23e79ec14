/* Make and remove a worker's temporary folder. */
#include "compile/scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char *mlaf_scratch_make(void) {
  const char *tmp = getenv("TMPDIR");
  char *path = NULL;
  if (asprintf(&path, "%s/mlaforge-worker-XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp") < 0) return NULL;
  if (mkdtemp(path)) return path;
  free(path);
  return NULL;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
  remove(path);
  return 0; /* go on: what cannot be removed stays, the rest goes */
}

void mlaf_scratch_remove(const char *path) {
  if (path) nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
