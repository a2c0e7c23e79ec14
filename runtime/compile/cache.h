/* The code-object cache: one self-checking file per content key, `<dir>/v1/<target>/<k[0:2]>/<key>.co` (`.s` for
 * disassembly text). Faults of the cache never fail a compile: they cost a rebuild and one warning. */
#pragma once

#include <pthread.h>

#include "base/base.h"

typedef struct mlaf_cache {
  char *dir;                /* NULL: no cache */
  const mlaf_log *log;
  pthread_mutex_t mutex;    /* guards what follows */
  bool warned;              /* one warning for whatever is wrong with the directory */
  uint64_t healed;          /* files that failed their own check and were removed */
} mlaf_cache;

/* ANSWER: a file of the generator's answers (gen/memo.c, run/hashes.c), which lie beside the entries and have no header. */
typedef enum mlaf_cache_kind { MLAF_CACHE_CODE = 1, MLAF_CACHE_TEXT = 2, MLAF_CACHE_ANSWER = 3 } mlaf_cache_kind;

/* The label of an entry: all it holds besides its payload. */
typedef struct mlaf_cache_label {
  mlaf_cache_kind kind;
  const char *target, *key;
  const char *toolchain; /* compiler identity, for people */
  const char *name;      /* kernel symbol, for people */
} mlaf_cache_label;

/* `dir` NULL: $MLAF_CACHE_DIR, $XDG_CACHE_HOME/mlaforge, ~/.cache/mlaforge. Touches nothing on disk but a stat. */
mlaf_status mlaf_cache_open(mlaf_cache *c, const char *dir, bool off, const mlaf_log *log, mlaf_err *err);
void mlaf_cache_close(mlaf_cache *c);
/* True for names that may become a folder: "gfx942", "gfx90a:sramecc+:xnack-". */
bool mlaf_cache_target_ok(const char *target);

/* E_NOT_COMPILED when absent. A damaged entry is removed, counted and reported as absent. target NULL: any target. */
mlaf_status mlaf_cache_load(mlaf_cache *c, const mlaf_cache_label *label, void **data, size_t *size, mlaf_err *err);
/* Best effort: what goes wrong is logged once. */
void mlaf_cache_store(mlaf_cache *c, const mlaf_cache_label *label, const void *data, size_t size);

enum { MLAF_CACHE_HEADER = 1024 }; /* bytes in front of an entry's payload */
/* Returns what is wrong with an entry's file, NULL if nothing; then *out is its label (texts point into `file`). `want` (kind and
 * key) is what its name promises. Without `payload` only the first MLAF_CACHE_HEADER bytes are looked at. */
const char *mlaf_cache_inspect(const void *file, size_t size, bool payload, const mlaf_cache_label *want, mlaf_cache_label *out);

/* One compile per key at a time among all processes. Returns a descriptor to pass to unlock, MLAF_LOCK_BUSY while
 * another process has it (its pid, as far as known, in *holder), MLAF_LOCK_NONE when this directory cannot lock. */
enum { MLAF_LOCK_NONE = -1, MLAF_LOCK_BUSY = -2 };
int mlaf_cache_try_lock(mlaf_cache *c, const mlaf_cache_label *label, long *holder);
void mlaf_cache_unlock(mlaf_cache *c, const mlaf_cache_label *label, int fd);

/* Keep the source of a failed compile where its message can point: `<dir>/failed/<key>.hip`, or a temporary file when
 * there is no cache. malloc'ed path, NULL if nothing could be written. */
char *mlaf_cache_keep_source(mlaf_cache *c, const char *key, const char *source);
