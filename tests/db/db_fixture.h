/* A fresh directory with a database path in it, a made-up device, and samples written in one line. */
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include "cmocka_all.h"
#include "db/db.h"
#include "ops/mla_decode/fields.h"
#include "point.h"

#define TOOLCHAIN "hiprtc 6.4 LLVM 21"

typedef struct db_dir {
  char dir[64], path[96];
} db_dir;

static inline int db_dir_setup(void **state) {
  db_dir *d = calloc(1, sizeof *d);
  snprintf(d->dir, sizeof d->dir, "/tmp/mlaf-db-XXXXXX");
  if (!mkdtemp(d->dir)) return -1;
  snprintf(d->path, sizeof d->path, "%s/tuning.db", d->dir);
  *state = d;
  return 0;
}

static inline int db_dir_teardown(void **state) {
  db_dir *d = *state;
  DIR *dir = opendir(d->dir);
  char file[400];
  for (struct dirent *e; dir && (e = readdir(dir));) {
    snprintf(file, sizeof file, "%s/%s", d->dir, e->d_name);
    if (e->d_name[0] != '.') unlink(file);
  }
  if (dir) closedir(dir);
  rmdir(d->dir);
  free(d);
  return 0;
}

static inline mlaf_db *open_db(const char *path) {
  mlaf_db *db = NULL;
  mlaf_err err = {0};
  if (mlaf_db_open(path, false, NULL, &db, &err) != MLAF_OK) fail_msg("open: %s", err.text);
  return db;
}

static inline mlaf_device_info make_device(const char *id) {
  mlaf_device_info dev = {
      .compute_units = 304, .xcc = 8, .wave_size = 64, .lds_bytes = 65536, .clock_mhz = 2100, .mem_clock_mhz = 1300};
  snprintf(dev.id, sizeof dev.id, "%s", id);
  snprintf(dev.name, sizeof dev.name, "test device");
  snprintf(dev.target, sizeof dev.target, "gfx942");
  snprintf(dev.driver, sizeof dev.driver, "6.4.3");
  return dev;
}

static inline mlaf_problem make_problem(int heads, int batch, int ctx) {
  mlaf_problem p = MLAF_PROBLEM_INIT;
  p.heads = heads;
  p.batch = batch;
  p.ctx = ctx;
  return p;
}

static inline mlaf_point make_point(int heads, int batch, int ctx) {
  const mlaf_problem p = make_problem(heads, batch, ctx);
  return point_of(&p);
}

static inline void fake_hash(char out[MLAF_HASH_HEX], const char *seed) { mlaf_sha256_hex(seed, strlen(seed), out); }

/* An OK, measured sample of variant `name`; template_hash is made from `version`. */
static inline mlaf_sample make_sample(const char *name, double ns, const char *version) {
  mlaf_sample s = {.knob = 4,
                   .outcome = MLAF_OUT_OK,
                   .source = MLAF_SRC_MEASURED,
                   .error = 1.9e-3,
                   .vgpr = 400,
                   .agpr = 128,
                   .lds = 1024};
  snprintf(s.variant, sizeof s.variant, "%s", name);
  mlaf_kernel_ref *kernels[] = {&s.kernels[0], &s.kernels[1]};
  for (int i = 0; i < 2; i++) {
    snprintf(kernels[i]->template_name, sizeof kernels[i]->template_name, i ? "mla_decode/combine_wave" : "mla_decode/mfma_reg");
    snprintf(kernels[i]->params, sizeof kernels[i]->params, i ? "rank=512" : "heads=16,waves=4");
    snprintf(kernels[i]->symbol, sizeof kernels[i]->symbol,
             i ? "mlaf_mla_combine_00000001" : "mlaf_mla_decode_00000001");
    fake_hash(kernels[i]->template_hash, i ? "combine" : version);
    fake_hash(kernels[i]->src_hash, name);
    fake_hash(kernels[i]->code_key, name);
    kernels[i]->threads = 256;
    kernels[i]->rows_per_wg = 16;
  }
  s.timing = (mlaf_timing){.source = MLAF_TIME_MEASURED,
                           .ns = ns,
                           .p10_ns = ns * 0.99,
                           .p90_ns = ns * 1.01,
                           .samples = 20,
                           .clock_mhz = 2100,
                           .n_parts = 2};
  snprintf(s.timing.parts[0].name, sizeof s.timing.parts[0].name, "hbm");
  s.timing.parts[0].ns = 1234.5;
  snprintf(s.timing.parts[1].name, sizeof s.timing.parts[1].name, "mfma");
  s.timing.parts[1].ns = 77;
  snprintf(s.timing.bound, sizeof s.timing.bound, "hbm");
  return s;
}

static inline void add_sample(mlaf_db *db, const mlaf_device_info *dev, const mlaf_point *p, const mlaf_sample *s) {
  mlaf_err err = {0};
  if (mlaf_db_add_sample(db, dev, TOOLCHAIN, p, s, &err) != MLAF_OK) fail_msg("add: %s", err.text);
}

static inline mlaf_db_counts count(mlaf_db *db) {
  mlaf_db_counts c = {0};
  mlaf_err err = {0};
  if (mlaf_db_count(db, &c, &err) != MLAF_OK) fail_msg("count: %s", err.text);
  return c;
}

#define assert_has(text, part)                                                                                         \
  do {                                                                                                                 \
    if (!strstr((text), (part))) fail_msg("expected \"%s\" in:\n%s", (part), (text));                                  \
  } while (0)

/* Nothing is wrong with any row. */
static inline void assert_sound(mlaf_db *db) {
  size_t findings = 0;
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_db_check(db, NULL, NULL, &findings, &err)) fail_msg("%s", err.text);
  assert_int_equal(findings, 0);
}
