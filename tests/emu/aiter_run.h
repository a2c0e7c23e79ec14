/* One launch of a code object of AITER's (not part of this repository): buffers, an argument block of 16-byte slots, the
 * run with every rule on and, where that faults, with the rules forgiven. */
#pragma once

#include "op/numeric.h"
#include "emu/strict.h"
#include "emu_asm.h"

enum { AITER_SLOTS = 41, AITER_BUFFERS = 24, AITER_PAST = 65536 /* bytes behind a buffer: kernels read whole tiles */ };

typedef struct aiter_run {
  emu_asm *a;
  void *buffer[AITER_BUFFERS];
  int n_buffers;
  uint8_t args[16 * AITER_SLOTS];
} aiter_run;

/* Largest error over largest magnitude of what the launch wrote; `user` is the caller's. */
typedef double (*aiter_error_fn)(const void *user, const char **type);

/* Device memory of the run: a copy of `from`, or zeros. NULL when there is none. */
static inline void *aiter_device(aiter_run *r, const void *from, size_t bytes) {
  void *p = NULL;
  if (r->n_buffers == AITER_BUFFERS || mlaf_emu_ops.mem_alloc(r->a->dev, bytes, &p, &r->a->err) != MLAF_OK) return NULL;
  r->buffer[r->n_buffers++] = p;
  if (from) memcpy(p, from, bytes);
  else memset(p, 0, bytes);
  return p;
}
static inline void aiter_slot(aiter_run *r, int i, const void *value, size_t size) { memcpy(r->args + 16 * i, value, size); }
static inline void aiter_slot_u32(aiter_run *r, int i, size_t v) {
  uint32_t x = (uint32_t)v;
  aiter_slot(r, i, &x, sizeof x);
}
static inline void aiter_slot_f32(aiter_run *r, int i, float v) { aiter_slot(r, i, &v, sizeof v); }
static inline bool aiter_slot_ptr(aiter_run *r, int i, void *p) {
  aiter_slot(r, i, &p, sizeof p);
  return p != NULL;
}

/* A line of what the kernel breaks with every rule on, if anything, and a line with its error, good below `bound`. */
static inline void aiter_launch(aiter_run *r, const char *name, mlaf_launch *l, double bound, aiter_error_fn error,
                                const void *user) {
  emu_device *dev = (emu_device *)r->a->dev;
  mlaf_time_opts opts = {0};
  for (int relaxed = 0; relaxed < 2; relaxed++) {
    const char *mode = relaxed ? "relaxed" : "strict", *type = "";
    mlaf_timing t = {0};
    mlaf_err err = {MLAF_OK, ""};
    emu_strict_parse(relaxed ? "none" : NULL, &dev->forgiven, &dev->extra, &err);
    double wall = mlaf_now();
    mlaf_status st = mlaf_emu_ops.launch(r->a->dev, NULL, l, &err);
    wall = mlaf_now() - wall;
    if (st != MLAF_OK) {
      printf("%s %s: %.420s\n", name, mode, err.text);
      continue;
    }
    double e = error(user, &type);
    if (mlaf_emu_ops.time(r->a->dev, l, 1, &opts, &t, &err) != MLAF_OK) t.ns = 0;
    printf("%s %s: error %.2e (%s) %s, modelled %.1f us, wall %.2f s\n", name, mode, e, type, e < bound ? "ok" : "WRONG",
           t.ns / 1e3, wall);
    break;
  }
  fflush(stdout);
  dev->forgiven = 0;
}

/* Load FOLDER/NAME.co, launch it with r's arguments, give everything of the run back. `ok`: the arguments are complete. */
static inline void aiter_execute(aiter_run *r, bool ok, const char *folder, const char *name, const uint32_t grid[3],
                                 uint32_t block, double bound, aiter_error_fn error, const void *user) {
  char path[512];
  void *code = NULL;
  size_t size = 0, n = 0;
  mlaf_kernel_meta meta;
  mlaf_module *m = NULL;
  mlaf_function *fn = NULL;
  mlaf_err *err = &r->a->err;
  const char *base = strrchr(name, '/');
  snprintf(path, sizeof path, "%s/%s.co", folder, name);
  ok = ok && mlaf_file_read(path, 1 << 24, &code, &size, err) == MLAF_OK &&
       mlaf_code_meta(code, size, &meta, 1, &n, err) == MLAF_OK && n > 0 &&
       mlaf_emu_ops.module_load(r->a->dev, code, size, &m, err) == MLAF_OK &&
       mlaf_emu_ops.function_get(r->a->dev, m, meta.symbol, &fn, err) == MLAF_OK;
  mlaf_launch l = {.fn = fn, .grid = {grid[0], grid[1], grid[2]}, .block = {block, 1, 1}, .args = r->args,
                   .args_size = ok && meta.kernarg_bytes < sizeof r->args ? meta.kernarg_bytes : sizeof r->args};
  if (ok) aiter_launch(r, base ? base + 1 : name, &l, bound, error, user);
  else printf("%s: %s\n", name, err->text);
  for (int i = 0; i < r->n_buffers; i++) mlaf_emu_ops.mem_free(r->a->dev, r->buffer[i], err);
  if (m) mlaf_emu_ops.module_unload(r->a->dev, m);
  free(code);
}

static inline void aiter_hear(void *user, mlaf_log_level level, const char *line) {
  const char *rule = strstr(line, "broke the rule");
  if (rule) printf("    %.200s\n", rule);
}
