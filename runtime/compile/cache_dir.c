/* The cache's folder, for small files that live beside the code objects. */
#include "compile/internal.h"

const char *mlaf_compiler_cache_dir(const mlaf_compiler *c) { return c->cache.dir; }
