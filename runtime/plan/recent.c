#include "plan/recent.h"

#include "compile/vendor.h"
#include "plan/ctx.h"
#include "run/build.h"

enum { LINE = 192 };
_Static_assert((size_t)LINE * MLAF_RECENT_LATER >= sizeof((mlaf_recent_list *)0)->kernels,
               "all of them fit, and a tab and an end for each");
_Static_assert((int)MLAF_RECENT_FIRST <= (int)MLAF_RECENT_LATER, "a list holds either");
_Static_assert(MLAF_RECENT_FIRST + MLAF_RECENT_LATER <= MLAF_HELD_MAX, "the compiler holds the code of all");

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

static bool has(const mlaf_recent_list *r, const char *key) {
  for (int i = 0; i < r->n; i++)
    if (!strcmp(r->kernels[i].key, key)) return true;
  return false;
}

static void take(mlaf_recent_list *r, int i, const char *key, const char *symbol, mlaf_module *module) {
  snprintf(r->kernels[i].key, sizeof r->kernels[i].key, "%s", key);
  snprintf(r->kernels[i].symbol, sizeof r->kernels[i].symbol, "%s", symbol);
  r->kernels[i].module = module;
}

static void read_lines(mlaf_ctx *ctx, mlaf_recent_list *r, char *text) {
  char *line_state, *field_state;
  for (char *line = strtok_r(text, "\n", &line_state); line && r->n < r->most; line = strtok_r(NULL, "\n", &line_state)) {
    const char *key = strtok_r(line, "\t", &field_state), *symbol = strtok_r(NULL, "\t", &field_state);
    mlaf_module *module;
    const bool good = symbol && strlen(symbol) < sizeof r->kernels[0].symbol;
    if (!good || has(&ctx->recent.first, key) || has(r, key) || !load(ctx, key, symbol, &module)) continue;
    take(r, r->n++, key, symbol, module);
  }
}

static void open_list(mlaf_ctx *ctx, mlaf_recent_list *r, int most, const char *suffix) {
  void *text = NULL;
  size_t size;
  r->most = most;
  r->path = mlaf_format("%s/recent/%s%s.tsv", mlaf_compiler_cache_dir(ctx->compiler), mlaf_info(mlaf_ctx_device(ctx))->target,
                        suffix);
  if (r->path && !mlaf_file_read(r->path, (size_t)LINE * (size_t)most, &text, &size, NULL)) read_lines(ctx, r, text);
  free(text);
}

void mlaf_recent_load(mlaf_ctx *ctx) {
  const bool slow = mlaf_ops(mlaf_ctx_device(ctx))->features & MLAF_DEVICE_SLOW_LOADS;
  if (!mlaf_compiler_cache_dir(ctx->compiler) || !slow || !ctx->loads_ahead) return;
  open_list(ctx, &ctx->recent.first, MLAF_RECENT_FIRST, "");
  open_list(ctx, &ctx->recent.later, MLAF_RECENT_LATER, "-later");
}

/* The plan waits for it, since many a process lets its end clear up. */
static void save(const mlaf_recent_list *r) {
  char text[LINE * MLAF_RECENT_LATER];
  const size_t size = (size_t)LINE * (size_t)r->most;
  size_t n = 0;
  memset(text, '\n', size);
  for (int i = 0; i < r->n; i++) { /* a line always fits: keys and symbols are as long as their arrays at most */
    n += (size_t)snprintf(text + n, size - n, "%s\t%s", r->kernels[i].key, r->kernels[i].symbol);
    text[n++] = '\n';
  }
  if (mlaf_file_jot(r->path, text, size)) return;
  char *dir = mlaf_strdup(r->path), *slash = dir ? strrchr(dir, '/') : NULL;
  if (slash) *slash = 0;
  if (slash && !mlaf_dir_make(dir, NULL)) mlaf_file_jot(r->path, text, size);
  free(dir);
}

/* Puts a kernel in front; the oldest goes where there are too many. */
static void put(mlaf_recent_list *r, mlaf_device *dev, const mlaf_kernel_ref *kernel) {
  const int last = r->n < r->most ? r->n++ : r->most - 1;
  if (r->kernels[last].module) mlaf_ops(dev)->module_unload(dev, r->kernels[last].module);
  memmove(&r->kernels[1], &r->kernels[0], (size_t)last * sizeof r->kernels[0]);
  take(r, 0, kernel->code_key, kernel->symbol, NULL);
}

void mlaf_recent_note(mlaf_ctx *ctx, const mlaf_build *b) {
  mlaf_recent *const all = &ctx->recent;
  mlaf_recent_list *const r = all->noted ? &all->later : &all->first;
  bool new = false;
  if (!r->path || mlaf_is_library(b->name)) return;
  all->noted = true;
  for (int i = b->n; i-- > 0;) { /* the last stage first: a variant's first kernel comes to stand in front */
    const char *key = b->refs[i].code_key;
    if (!key[0] || has(&all->first, key) || has(r, key)) continue;
    put(r, mlaf_ctx_device(ctx), &b->refs[i]);
    new = true;
  }
  if (new) save(r);
}

static void clear(mlaf_recent_list *r, mlaf_device *dev) {
  for (int i = 0; i < r->n; i++)
    if (r->kernels[i].module) mlaf_ops(dev)->module_unload(dev, r->kernels[i].module);
  free(r->path);
  *r = (mlaf_recent_list){.n = 0};
}

void mlaf_recent_clear(mlaf_recent *r, mlaf_device *dev) {
  clear(&r->first, dev);
  clear(&r->later, dev);
}
