/* Variant -> sources -> code objects -> loaded kernels. */
#include "compile/vendor.h"
#include "run/build.h"

/* Copy a string that must fit: a name cut short would be another name. */
static bool copy(char *to, size_t size, const char *from) {
  int n = snprintf(to, size, "%s", from ? from : "");
  return n >= 0 && (size_t)n < size;
}

static bool make_ref(const mlaf_kernel_desc *k, mlaf_kernel_ref *ref) {
  *ref = (mlaf_kernel_ref){.threads = k->threads, .rows_per_wg = k->rows_per_wg};
  return copy(ref->template_name, sizeof ref->template_name, k->template_name) &&
         copy(ref->params, sizeof ref->params, k->params) && copy(ref->symbol, sizeof ref->symbol, k->symbol) &&
         copy(ref->template_hash, sizeof ref->template_hash, k->template_hash);
}

mlaf_status mlaf_build_init(const mlaf_variant *v, mlaf_build *out, mlaf_err *err) {
  mlaf_build b = {.knob = v->knob, .n = mlaf_variant_stages(v)};
  if (!b.n || !v->kernels[0].template_name) return mlaf_fail(err, MLAF_E_INTERNAL, "variant %s has no first kernel", v->name);
  bool ok = copy(b.name, sizeof b.name, v->name);
  for (int i = 0; i < b.n; i++) ok = ok && make_ref(&v->kernels[i], &b.refs[i]);
  if (!ok) return mlaf_fail(err, MLAF_E_INTERNAL, "a name of variant %s is too long", v->name);
  mlaf_build_learn(&b, v);
  *out = b;
  return MLAF_OK;
}

void mlaf_build_from_choice(const mlaf_choice *c, mlaf_build *out) {
  *out = (mlaf_build){.knob = c->knob, .n = mlaf_stages_of(c->kernels)};
  memcpy(out->refs, c->kernels, sizeof out->refs);
  copy(out->name, sizeof out->name, c->variant);
}

void mlaf_build_clear(mlaf_build *b) {
  for (int i = 0; i < MLAF_STAGES_MAX; i++) {
    free(b->code[i]);
    free(b->source[i]);
  }
  *b = (mlaf_build){.n = 0};
}

void mlaf_build_learn(mlaf_build *b, const mlaf_variant *v) {
  for (int i = 0; i < b->n; i++) {
    const mlaf_kernel_desc *k = &v->kernels[i];
    if (k->template_name && !strcmp(k->symbol, b->refs[i].symbol)) b->budget[i] = mlaf_budget_of(k);
  }
}

/* There is such a kernel, and its code is not there yet. */
static bool wants_code(const mlaf_build *b, int i) { return b->refs[i].template_name[0] && !b->code[i]; }

/* The bare target, not the device's full id: a build machine without a GPU then makes the same cache keys. */
mlaf_status mlaf_build_render(mlaf_gen *g, const char *target, const mlaf_kernel_ref *ref, char **source,
                              char src_hash[MLAF_HASH_HEX], mlaf_compile_job *job, mlaf_err *err) {
  const char *const *options = NULL;
  const mlaf_kernel_desc desc = {.template_name = (char *)(uintptr_t)ref->template_name,
                                 .params = (char *)(uintptr_t)ref->params};
  mlaf_status st = mlaf_gen_options(g, target, &options, err);
  if (!st && !*source) st = mlaf_gen_render(g, &desc, target, source, src_hash, err);
  if (!st) *job = (mlaf_compile_job){.source = *source, .options = options, .target = target, .name = ref->symbol};
  return st;
}

static mlaf_status render(mlaf_build *b, int i, mlaf_gen *g, const char *target, mlaf_compile_job *job, mlaf_err *err) {
  mlaf_kernel_ref *ref = &b->refs[i];
  char hash[MLAF_HASH_HEX];
  const bool again = b->source[i] != NULL;
  mlaf_status st = mlaf_build_render(g, target, ref, &b->source[i], hash, job, err);
  if (st || again) return st;
  /* A stored choice was verified and timed with one exact text; another text needs another verification. */
  if (ref->src_hash[0] && strcmp(ref->src_hash, hash))
    return mlaf_fail(err, MLAF_E_TEMPLATE,
                     "%s: the generator makes another source today than when it was tuned; tune again", ref->symbol);
  memcpy(ref->src_hash, hash, sizeof hash);
  return MLAF_OK;
}

mlaf_status mlaf_build_jobs(mlaf_build *b, mlaf_gen *g, const char *target, mlaf_compile_job jobs[MLAF_STAGES_MAX], size_t *n,
                            mlaf_err *err) {
  size_t count = 0;
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < b->n; i++)
    if (wants_code(b, i)) st = render(b, i, g, target, &jobs[count++], err);
  if (!st) *n = count;
  return st;
}

static mlaf_status read_meta(mlaf_build *b, int i, mlaf_err *err) {
  return mlaf_resources_read(NULL, b->refs[i].symbol, b->code[i], b->code_size[i], &b->meta[i], err);
}

mlaf_status mlaf_build_take(mlaf_build *b, int i, void *code, size_t size, mlaf_err *err) {
  b->code[i] = code;
  b->code_size[i] = size;
  return read_meta(b, i, err);
}

mlaf_status mlaf_build_finish(mlaf_build *b, mlaf_compile_job jobs[MLAF_STAGES_MAX], size_t n, mlaf_err *err) {
  size_t taken = 0;
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < b->n; i++) {
    if (!wants_code(b, i) || taken == n) continue;
    mlaf_compile_job *job = &jobs[taken++];
    if (job->status) return mlaf_fail(err, job->status, "%s: %.3500s", b->refs[i].symbol, job->log ? job->log : "");
    if (mlaf_vendor_is_code(job->code, job->code_size) && b->refs[i].code_key[0] && strcmp(b->refs[i].code_key, job->key))
      return mlaf_fail(err, MLAF_E_NOT_TUNED, "%s was timed with another version of the library: tune again", b->name);
    b->code[i] = job->code;
    b->code_size[i] = job->code_size;
    job->code = NULL;
    memcpy(b->refs[i].code_key, job->key, sizeof job->key);
    st = read_meta(b, i, err);
  }
  return st;
}

mlaf_status mlaf_build_take_cached(mlaf_build *b, mlaf_compiler *c, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < b->n; i++) {
    if (!wants_code(b, i)) continue;
    if (!b->refs[i].code_key[0]) return mlaf_fail(err, MLAF_E_NOT_COMPILED, "%s was never compiled", b->refs[i].symbol);
    st = mlaf_cache_get(c, b->refs[i].code_key, &b->code[i], &b->code_size[i], err);
    if (!st) st = read_meta(b, i, err);
  }
  return st;
}

/* All that decides a kernel's code beside the generator's files: those are the stamp that `known` is kept under. With a source
 * hash it is a kernel whose source was rendered and has that hash. */
static void name_of_code(const mlaf_kernel_ref *ref, const char *src_hash, const char *toolchain, char name[MLAF_HASH_HEX]) {
  mlaf_text t = MLAF_TEXT_INIT(8192);
  mlaf_text_fmt(&t, "%s\n%s\n%s", ref->template_name, ref->params, toolchain);
  if (*src_hash) mlaf_text_fmt(&t, "\n%s", src_hash);
  name[0] = 0;
  if (!t.failed) mlaf_sha256_hex(t.data, t.len, name);
  name[MLAF_HASH_HEX - 2] = 0; /* a row of mlaf_hashes holds 63 characters */
  mlaf_text_free(&t);
}

bool mlaf_build_take_known(mlaf_build *b, mlaf_compiler *c, const mlaf_hashes *known, const char *target, const char *toolchain) {
  mlaf_build taken = *b;
  mlaf_err ignored;
  if (mlaf_is_library(b->name)) return false; /* made anew in no time, and by which library the compiler's name does not say */
  for (int i = 0; i < b->n; i++) {
    char name[MLAF_HASH_HEX];
    if (!toolchain) return false;
    if (!wants_code(b, i)) continue;
    name_of_code(&b->refs[i], b->refs[i].src_hash, toolchain, name);
    const char *key = mlaf_hashes_find(known, target, name);
    if (!key) return false;
    memcpy(taken.refs[i].code_key, key, sizeof taken.refs[i].code_key);
  }
  if (!mlaf_build_take_cached(&taken, c, &ignored)) {
    *b = taken;
    return true;
  }
  for (int i = 0; i < b->n; i++)
    if (!b->code[i]) free(taken.code[i]);
  return false;
}

void mlaf_build_remember(const mlaf_build *b, mlaf_hashes *known, const char *target, const char *toolchain) {
  bool new = false;
  for (int i = 0; toolchain && i < b->n; i++) {
    const char *const hashes[] = {"", b->refs[i].src_hash};
    for (int k = 0; b->source[i] && k < 2; k++) { /* what was not rendered says nothing of this generator */
      char name[MLAF_HASH_HEX];
      name_of_code(&b->refs[i], hashes[k], toolchain, name);
      if (name[0]) new |= mlaf_hashes_put(known, target, name, b->refs[i].code_key);
    }
  }
  if (new) mlaf_hashes_save(known);
}

mlaf_status mlaf_build_check(const mlaf_build *b, const mlaf_calls *calls, const mlaf_device *dev, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < b->n; i++) {
    if (!b->refs[i].template_name[0]) continue;
    const mlaf_asking k = {.symbol = b->refs[i].symbol, .threads = b->refs[i].threads, .calls = calls, .stage = i,
                           .budget = b->budget[i], .dev = dev};
    st = mlaf_resources_check(&k, &b->meta[i], err);
  }
  return st;
}

/* Looks up what the compiler would make: fills the jobs as if they had run. */
static mlaf_status look_up(mlaf_compiler *c, mlaf_compile_job jobs[MLAF_STAGES_MAX], size_t n, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < n; i++) {
    if (mlaf_vendor_of_source(jobs[i].source) < MLAF_VENDORS) { /* is made without a compiler */
      st = mlaf_compile(c, &jobs[i], 1, NULL, NULL, err);
      continue;
    }
    st = mlaf_compile_key(c, &jobs[i], err);
    if (!st) st = mlaf_cache_get(c, jobs[i].key, &jobs[i].code, &jobs[i].code_size, err);
    jobs[i].cached = true;
    /* Without a compiler its identity is unknown, and with it the key: for the caller that is "not compiled". */
    if (st == MLAF_E_NO_COMPILER) st = mlaf_fail_prefix(err, MLAF_E_NOT_COMPILED, "%s", jobs[i].name);
  }
  return st;
}

mlaf_status mlaf_build_now(mlaf_build *b, mlaf_gen *g, mlaf_compiler *c, const char *target, bool may_compile,
                           int *compiles, mlaf_err *err) {
  mlaf_compile_job jobs[MLAF_STAGES_MAX] = {{.source = NULL}};
  size_t n = 0;
  mlaf_status st = mlaf_build_jobs(b, g, target, jobs, &n, err);
  if (!st && n) st = may_compile ? mlaf_compile(c, jobs, n, NULL, NULL, err) : look_up(c, jobs, n, err);
  for (size_t i = 0; i < n; i++) *compiles += jobs[i].code && !jobs[i].cached;
  if (!st) st = mlaf_build_finish(b, jobs, n, err);
  for (size_t i = 0; i < n; i++) mlaf_compile_job_clear(&jobs[i]);
  return st;
}

mlaf_status mlaf_build_load(const mlaf_build *b, mlaf_device *dev, const mlaf_point *p, mlaf_loaded **out,
                            mlaf_err *err) {
  mlaf_loaded_desc desc = {.name = b->name, .knob = b->knob};
  mlaf_status st = mlaf_build_check(b, p->op->calls, dev, err);
  if (st) return st;
  for (int i = 0; i < b->n; i++) {
    if (!b->refs[i].template_name[0]) continue;
    desc.kernels[i].ref = &b->refs[i];
    desc.kernels[i].code = (mlaf_code){b->code[i], b->code_size[i]};
  }
  return mlaf_loaded_open(dev, p, &desc, out, err);
}

mlaf_status mlaf_build_load_one(const mlaf_build *b, mlaf_device *dev, mlaf_module **module, mlaf_function **fn, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(dev);
  mlaf_status st = mlaf_build_check(b, NULL, dev, err);
  if (!st) st = ops->module_load(dev, b->code[0], b->code_size[0], module, err);
  if (st) return st;
  st = ops->function_get(dev, *module, b->refs[0].symbol, fn, err);
  if (st) {
    ops->module_unload(dev, *module);
    *module = NULL;
  }
  return st;
}
