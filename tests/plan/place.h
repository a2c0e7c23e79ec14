/* A folder of one's own with a database and a cache in it, and contexts over the emulator that use them. */
#pragma once

#include "cmocka_all.h"
#include "mlaforge/mlaforge.h"

typedef struct place {
  char dir[64], db[96], cache[96];
} place;

static inline void place_make(place *at) {
  snprintf(at->dir, sizeof at->dir, "/tmp/mlaf-test-XXXXXX");
  assert_non_null(mkdtemp(at->dir));
  snprintf(at->db, sizeof at->db, "%s/tuning.db", at->dir);
  snprintf(at->cache, sizeof at->cache, "%s/cache", at->dir);
}

static inline void place_remove(const place *at) {
  char clean[128];
  snprintf(clean, sizeof clean, "rm -rf '%s'", at->dir);
  assert_int_equal(system(clean), 0);
}

static inline mlaf_ctx *place_open(const place *at, mlaf_log_fn log, void *log_user) {
  mlaf_ctx *ctx = NULL;
  char why[500] = "";
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  o.device = "emu:gfx942";
  o.db_path = at->db;
  o.cache_dir = at->cache;
  o.log = log;
  o.log_user = log_user;
  if (mlaf_ctx_create(&o, &ctx, why, sizeof why)) fail_msg("%s", why);
  return ctx;
}
