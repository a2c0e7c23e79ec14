#include "plan/recent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/vendor.h"
#include "plan/ctx.h"
#include "run/build.h"

enum { FILE_SIZE = MLAF_RECENT_MAX * 192 };
_Static_assert(FILE_SIZE >= sizeof((mlaf_recent *)0)->kernels, "all of them fit, and a tab and an end for each");

/* Into memory of the device, and of the host: the plan that wants it neither reads nor checks its file. */
static bool load(mlaf_ctx *ctx, const char *key, const char *symbol, mlaf_module **module) {
  mlaf_device *dev = mlaf_ctx_device(ctx);
  mlaf_function *fn;
  mlaf_err ignored;
  void *code;
  size_t size;
  if (mlaf_cache_get(ctx->compiler, key, &code, &size, &ignored)) return false;
  bool ok = !mlaf_vendor_is_code(code, size) && !mlaf_ops(dev)->module_load(dev, code, size, module, &ignored);
  if (ok && mlaf_ops(dev)->function_get(dev, *module, symbol, &fn, &ignored)) {
    mlaf_ops(dev)->module_unload(dev, *module);
    ok = false;
  }
  if (ok) mlaf_cache_hold(ctx->compiler, key, code, size);
  else free(code);
  return ok;
}

static bool has(const mlaf_recent *r, const char *key) {
  for (int i = 0; i < r->n; i++)
    if (!strcmp(r->kernels[i].key, key)) return true;
  return false;
}

static void take(mlaf_recent *r, int i, const char *key, const char *symbol, mlaf_module *module) {
  snprintf(r->kernels[i].key, sizeof r->kernels[i].key, "%s", key);
  snprintf(r->kernels[i].symbol, sizeof r->kernels[i].symbol, "%s", symbol);
  r->kernels[i].module = module;
}

static void read_lines(mlaf_ctx *ctx, char *text) {
  mlaf_recent *r = &ctx->recent;
  char *line_state, *field_state;
  for (char *line = strtok_r(text, "\n", &line_state); line && r->n < MLAF_RECENT_MAX; line = strtok_r(NULL, "\n", &line_state)) {
    const char *key = strtok_r(line, "\t", &field_state), *symbol = strtok_r(NULL, "\t", &field_state);
    mlaf_module *module;
    if (!symbol || strlen(symbol) >= sizeof r->kernels[0].symbol || has(r, key) || !load(ctx, key, symbol, &module)) continue;
    take(r, r->n++, key, symbol, module);
  }
}

void mlaf_recent_load(mlaf_ctx *ctx) {
  const char *dir = mlaf_compiler_cache_dir(ctx->compiler), *says = getenv("MLAF_LOAD_AHEAD");
  void *text = NULL;
  size_t size;
  if (!dir || !(mlaf_ops(mlaf_ctx_device(ctx))->features & MLAF_DEVICE_SLOW_LOADS) || (says && !strcmp(says, "0"))) return;
  ctx->recent.path = mlaf_format("%s/recent/%s.tsv", dir, mlaf_info(mlaf_ctx_device(ctx))->target);
  if (ctx->recent.path && !mlaf_file_read(ctx->recent.path, FILE_SIZE, &text, &size, NULL)) read_lines(ctx, text);
  free(text);
}

/* The first plan waits for it, since many a process makes no other and lets the end of the process clear up. */
static void save(const mlaf_recent *r) {
  char text[FILE_SIZE];
  size_t n = 0;
  memset(text, '\n', sizeof text);
  for (int i = 0; i < r->n; i++) { /* a line always fits: keys and symbols are as long as their arrays at most */
    n += (size_t)snprintf(text + n, sizeof text - n, "%s\t%s", r->kernels[i].key, r->kernels[i].symbol);
    text[n++] = '\n';
  }
  if (mlaf_file_jot(r->path, text, sizeof text)) return;
  char *dir = mlaf_strdup(r->path), *slash = dir ? strrchr(dir, '/') : NULL;
  if (slash) *slash = 0;
  if (slash && !mlaf_dir_make(dir, NULL)) mlaf_file_jot(r->path, text, sizeof text);
  free(dir);
}

void mlaf_recent_note(mlaf_ctx *ctx, const mlaf_build *b) {
  mlaf_recent *r = &ctx->recent;
  bool new = false;
  if (!r->path || r->noted || mlaf_is_library(b->name)) return;
  r->noted = true;
  for (int i = b->n; i-- > 0;) { /* the last stage first: a variant's first kernel comes to stand in front */
    if (!b->refs[i].code_key[0] || has(r, b->refs[i].code_key)) continue;
    const int last = r->n < MLAF_RECENT_MAX ? r->n++ : MLAF_RECENT_MAX - 1;
    if (r->kernels[last].module) mlaf_ops(mlaf_ctx_device(ctx))->module_unload(mlaf_ctx_device(ctx), r->kernels[last].module);
    memmove(&r->kernels[1], &r->kernels[0], (size_t)last * sizeof r->kernels[0]);
    take(r, 0, b->refs[i].code_key, b->refs[i].symbol, NULL);
    new = true;
  }
  if (new) save(r);
}

void mlaf_recent_clear(mlaf_recent *r, mlaf_device *dev) {
  for (int i = 0; i < r->n; i++)
    if (r->kernels[i].module) mlaf_ops(dev)->module_unload(dev, r->kernels[i].module);
  free(r->path);
  *r = (mlaf_recent){.n = 0};
}
