/* Which hash each template has in the generator at hand, and under which key the code of a kernel lies: asked of Lua once,
 * remembered in a file beside the code objects under the stamp of the generator's files, so that a warm plan opens no Lua state
 * or, where it must, renders no source. */
#pragma once

#include "base/base.h"

enum { MLAF_HASHES_MAX = 1024 };

typedef struct mlaf_hashes {
  bool loaded;
  char *path; /* NULL: nowhere to remember */
  int n, oldest; /* oldest: whose place the next one takes when all are taken: a long-lived cache has more kernels than places */
  struct { char target[64], name[64], hash[MLAF_HASH_HEX]; } rows[MLAF_HASHES_MAX];
} mlaf_hashes;

/* Read the remembered hashes; any trouble means none are known. cache_dir NULL: memory only. Later calls do nothing. */
void mlaf_hashes_load(mlaf_hashes *h, const char *cache_dir, const char *gen_root);
/* `name`: a template's, or what mlaf_build calls a kernel's code. NULL when not known. */
const char *mlaf_hashes_find(const mlaf_hashes *h, const char *target, const char *name);
/* Remember one, here and on disk (a disk that refuses is no error: it costs time, not correctness). */
void mlaf_hashes_add(mlaf_hashes *h, const char *target, const char *name, const char *hash);
/* The two halves of it, for several at once: put says whether it is new. What was put last is found. */
bool mlaf_hashes_put(mlaf_hashes *h, const char *target, const char *name, const char *hash);
void mlaf_hashes_save(const mlaf_hashes *h);
void mlaf_hashes_free(mlaf_hashes *h);
