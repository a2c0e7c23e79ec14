/* The code-object cache as a whole: listing, checking, shrinking, filling. Safe beside processes that use it. */
#pragma once

#include "compile/cache.h"

/* One entry; texts live during the call. */
typedef struct mlaf_cache_entry {
  const char *path, *target, *key;
  const char *name, *toolchain; /* "" when the header is damaged */
  mlaf_cache_kind kind;
  uint64_t size;  /* bytes of the file */
  int64_t used;   /* seconds since 1970 when it was last read or written, as far as the file system keeps that */
  const char *fault; /* NULL, or what is wrong with it */
} mlaf_cache_entry;
/* Return false to stop. */
typedef bool (*mlaf_cache_entry_fn)(void *user, const mlaf_cache_entry *e);
/* Every entry, in the order target, key, kind. `check`: read and hash the payloads too. E_IO when there is no such directory. */
mlaf_status mlaf_cache_each(const mlaf_cache *c, bool check, mlaf_cache_entry_fn fn, void *user, mlaf_err *err);

typedef struct mlaf_cache_gc {
  uint64_t size_budget; /* bytes that may stay; 0: no limit */
  double max_age_s;     /* 0: no limit */
  bool dry_run;
} mlaf_cache_gc;
typedef struct mlaf_cache_gc_result {
  size_t entries, removed, damaged; /* removed: damaged ones among them */
  uint64_t bytes, removed_bytes;
} mlaf_cache_gc_result;
/* Remove damaged entries, then those older than max_age_s, then those used longest ago until the budget holds, then empty folders
 * and what killed processes left. The generator's answers, of older generators too, count as entries here: their target is
 * "generator". `removed` (may be NULL) hears of each. */
mlaf_status mlaf_cache_collect(const mlaf_cache *c, const mlaf_cache_gc *opts, mlaf_cache_entry_fn removed, void *user,
                               mlaf_cache_gc_result *out, mlaf_err *err);
