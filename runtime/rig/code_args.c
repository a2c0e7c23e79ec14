/* One launch of any code object, described in JSON: grammar in docs/emulator.md. Every error names the field. */
#include <cjson/cJSON.h>
#include <errno.h>

#include "op/numeric.h"
#include "rig/code_args.h"

enum { MAX_FILE = 256 << 20, BLOCK = 1 << 20 /* values of a random block, repeated */ };
static const int64_t MAX_BUFFER = (int64_t)16 << 30;

typedef struct reader {
  const char *path;
  code_call *code;
  uint64_t seed;
  size_t size;                            /* of the arguments so far */
  bool taken[sizeof((code_call *)0)->args];
  const char *names[64];                  /* of the buffers; borrowed from the JSON tree */
  mlaf_err *err;
} reader;

static mlaf_status bad(reader *r, const char *field, const char *fmt, ...) MLAF_PRINTF(3, 4);
static mlaf_status bad(reader *r, const char *field, const char *fmt, ...) {
  char text[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return mlaf_fail(r->err, MLAF_E_ARG, "%s: %s: %s", r->path, field, text);
}

/* A whole number as a JSON number or, above 2^53 or in hex, as a string. */
static bool whole(const cJSON *v, double low, double high, int64_t *out) {
  if (cJSON_IsNumber(v)) {
    if (v->valuedouble != floor(v->valuedouble) || v->valuedouble < low || v->valuedouble > high) return false;
    *out = v->valuedouble < 0 ? (int64_t)v->valuedouble : (int64_t)(uint64_t)v->valuedouble;
    return true;
  }
  char *end;
  if (!cJSON_IsString(v) || !v->valuestring[0]) return false;
  errno = 0;
  bool negative = v->valuestring[0] == '-';
  *out = negative ? strtoll(v->valuestring, &end, 0) : (int64_t)strtoull(v->valuestring, &end, 0);
  double value = negative ? (double)*out : (double)(uint64_t)*out;
  return !*end && !errno && value >= low && value <= high;
}

/* --- filling buffers --- */

typedef struct fill_kind {
  const char *name;
  size_t element;
  void (*value)(mlaf_rng *rng, uint64_t index, void *to);
} fill_kind;

static void random_bf16(mlaf_rng *rng, uint64_t index, void *to) {
  uint16_t v = mlaf_encode16(MLAF_BF16, mlaf_rng_normal(rng));
  memcpy(to, &v, sizeof v);
}
static void random_f16(mlaf_rng *rng, uint64_t index, void *to) {
  uint16_t v = mlaf_encode16(MLAF_F16, mlaf_rng_normal(rng));
  memcpy(to, &v, sizeof v);
}
static void random_f32(mlaf_rng *rng, uint64_t index, void *to) {
  float v = (float)mlaf_rng_normal(rng);
  memcpy(to, &v, sizeof v);
}
static void iota_i32(mlaf_rng *rng, uint64_t index, void *to) {
  int32_t v = (int32_t)index;
  memcpy(to, &v, sizeof v);
}
static const fill_kind kinds[] = {
    {"random_bf16", 2, random_bf16}, {"random_f16", 2, random_f16}, {"random_f32", 4, random_f32}, {"iota_i32", 4, iota_i32}};

static mlaf_status fill_values(reader *r, const fill_kind *k, uint8_t *to, size_t bytes) {
  const mlaf_device_ops *ops = mlaf_ops(r->code->dev);
  uint8_t *block = malloc(BLOCK * k->element);
  mlaf_rng rng = {r->seed + (uint64_t)r->code->n_buffers};
  mlaf_status st = block ? MLAF_OK : mlaf_fail(r->err, MLAF_E_NOMEM, "no memory for random data");
  bool made = false;
  for (uint64_t at = 0; st == MLAF_OK && at < bytes; at += BLOCK * k->element) {
    size_t n = bytes - at < BLOCK * k->element ? bytes - at : BLOCK * k->element;
    for (size_t i = 0; i * k->element < n && (!made || k->value == iota_i32); i++)
      k->value(&rng, at / k->element + i, block + i * k->element);
    made = true;
    st = ops->mem_write(r->code->dev, to + at, block, n, r->err);
  }
  free(block);
  return st;
}

static mlaf_status fill_file(reader *r, const char *field, const char *path, void *to, size_t bytes) {
  void *data = NULL;
  size_t size = 0;
  mlaf_status st = mlaf_file_read(path, MAX_FILE, &data, &size, r->err);
  if (st != MLAF_OK) return mlaf_fail_prefix(r->err, st, "%s: %s", r->path, field);
  st = size > bytes ? bad(r, field, "%s has %zu bytes, the buffer %zu", path, size, bytes)
                    : mlaf_ops(r->code->dev)->mem_write(r->code->dev, to, data, size, r->err);
  free(data);
  return st;
}

static mlaf_status fill(reader *r, const char *where, const cJSON *arg, void *to, size_t bytes) {
  char field[96];
  const cJSON *f = cJSON_GetObjectItemCaseSensitive(arg, "fill");
  const char *text = cJSON_IsString(f) ? f->valuestring : f ? "" : "zero";
  snprintf(field, sizeof field, "%s.fill", where);
  if (strncmp(text, "file:", 5) == 0) return fill_file(r, field, text + 5, to, bytes);
  if (strcmp(text, "zero") == 0) return MLAF_OK; /* done by the caller */
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(text, kinds[i].name) == 0) {
      if (bytes % kinds[i].element) return bad(r, field, "%zu bytes are no whole number of %s values", bytes, text);
      return fill_values(r, &kinds[i], to, bytes);
    }
  return bad(r, field, "'%s' is none of zero, random_bf16, random_f16, random_f32, iota_i32, file:PATH", text);
}

/* "values_i32": the first elements, whatever else fills the buffer. */
static mlaf_status put_values(reader *r, const char *where, const cJSON *arg, uint8_t *to, size_t bytes) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(arg, "values_i32"), *v;
  char field[96];
  size_t i = 0;
  mlaf_status st = MLAF_OK;
  snprintf(field, sizeof field, "%s.values_i32", where);
  if (list && !cJSON_IsArray(list)) return bad(r, field, "must be a list of whole numbers");
  if (list && 4 * (size_t)cJSON_GetArraySize(list) > bytes)
    return bad(r, field, "%d values do not fit %zu bytes", cJSON_GetArraySize(list), bytes);
  cJSON_ArrayForEach(v, list) {
    int64_t n;
    if (!whole(v, INT32_MIN, INT32_MAX, &n)) return bad(r, field, "element %zu is no 32-bit whole number", i);
    int32_t word = (int32_t)n;
    st = mlaf_ops(r->code->dev)->mem_write(r->code->dev, to + 4 * i++, &word, sizeof word, r->err);
    if (st != MLAF_OK) return st;
  }
  return st;
}

/* --- arguments --- */

static mlaf_status place(reader *r, const char *where, const cJSON *arg, const void *bytes, size_t n) {
  const cJSON *at = cJSON_GetObjectItemCaseSensitive(arg, "at");
  char field[96];
  int64_t offset = (int64_t)((r->size + n - 1) / n * n);
  snprintf(field, sizeof field, "%s.at", where);
  if (at && !whole(at, 0, sizeof r->code->args, &offset))
    return bad(r, field, "must be a byte offset below %zu", sizeof r->code->args);
  if ((size_t)offset + n > sizeof r->code->args)
    return bad(r, field, "the argument ends at byte %zu; at most %zu are supported", (size_t)offset + n, sizeof r->code->args);
  for (size_t i = 0; i < n; i++) {
    if (r->taken[(size_t)offset + i]) return bad(r, field, "byte %zu belongs to an earlier argument", (size_t)offset + i);
    r->taken[(size_t)offset + i] = true;
  }
  memcpy(r->code->args + offset, bytes, n);
  if ((size_t)offset + n > r->size) r->size = (size_t)offset + n;
  return MLAF_OK;
}

static mlaf_status add_buffer(reader *r, const char *where, const cJSON *arg, uint64_t *address) {
  const int room = (int)(sizeof r->code->buffers / sizeof *r->code->buffers);
  char field[96];
  int64_t bytes;
  void *p;
  snprintf(field, sizeof field, "%s.buffer", where);
  if (!whole(cJSON_GetObjectItemCaseSensitive(arg, "buffer"), 1, (double)MAX_BUFFER, &bytes))
    return bad(r, field, "must be a number of bytes from 1 to %lld", (long long)MAX_BUFFER);
  if (r->code->n_buffers == room) return bad(r, field, "more than %d buffers", room);
  mlaf_device *dev = r->code->dev;
  mlaf_status st = mlaf_ops(dev)->mem_alloc(dev, (size_t)bytes, &p, r->err);
  if (st != MLAF_OK) return mlaf_fail_prefix(r->err, st, "%s: %s", r->path, field);
  const cJSON *name = cJSON_GetObjectItemCaseSensitive(arg, "name");
  r->names[r->code->n_buffers] = cJSON_IsString(name) ? name->valuestring : NULL;
  const cJSON *save = cJSON_GetObjectItemCaseSensitive(arg, "save");
  r->code->bytes[r->code->n_buffers] = (size_t)bytes;
  r->code->save[r->code->n_buffers] = cJSON_IsString(save) ? mlaf_strdup(save->valuestring) : NULL;
  r->code->buffers[r->code->n_buffers++] = p;
  snprintf(field, sizeof field, "%s.save", where);
  if (save && (!cJSON_IsString(save) || !save->valuestring[0])) return bad(r, field, "must be the path of a file");
  r->code->n_saves += save != NULL;
  *address = (uint64_t)(uintptr_t)p;
  st = mlaf_ops(dev)->mem_fill(dev, p, 0, (size_t)bytes, r->err);
  if (st == MLAF_OK) st = fill(r, where, arg, p, (size_t)bytes);
  return st == MLAF_OK ? put_values(r, where, arg, p, (size_t)bytes) : st;
}

static mlaf_status add_pointer(reader *r, const char *where, const cJSON *arg, uint64_t *address) {
  const cJSON *name = cJSON_GetObjectItemCaseSensitive(arg, "pointer");
  const cJSON *offset = cJSON_GetObjectItemCaseSensitive(arg, "offset");
  char field[96];
  int64_t by = 0;
  snprintf(field, sizeof field, "%s.offset", where);
  if (offset && !whole(offset, 0, (double)MAX_BUFFER, &by)) return bad(r, field, "must be a byte offset");
  for (int i = 0; cJSON_IsString(name) && i < r->code->n_buffers; i++)
    if (r->names[i] && strcmp(r->names[i], name->valuestring) == 0) {
      *address = (uint64_t)(uintptr_t)r->code->buffers[i] + (uint64_t)by;
      return MLAF_OK;
    }
  snprintf(field, sizeof field, "%s.pointer", where);
  return bad(r, field, "'%s' is the \"name\" of no earlier buffer", cJSON_IsString(name) ? name->valuestring : "");
}

static const struct {
  const char *key;
  size_t size;
  double low, high;
} scalars[] = {{"i32", 4, INT32_MIN, INT32_MAX}, {"u32", 4, 0, UINT32_MAX},        {"i64", 8, -0x1p63, 0x1p63},
               {"u64", 8, 0, 0x1p64},            {"f32", 4, 0, 0},                 {"f64", 8, 0, 0}};

static mlaf_status add_scalar(reader *r, const char *where, const cJSON *arg, size_t k) {
  const cJSON *v = cJSON_GetObjectItemCaseSensitive(arg, scalars[k].key);
  char field[96];
  int64_t n = 0;
  snprintf(field, sizeof field, "%s.%s", where, scalars[k].key);
  if (scalars[k].key[0] == 'f') {
    double d = cJSON_IsNumber(v) ? v->valuedouble : 0;
    float f = (float)d;
    if (!cJSON_IsNumber(v)) return bad(r, field, "must be a number");
    return place(r, where, arg, scalars[k].size == 4 ? (void *)&f : (void *)&d, scalars[k].size);
  }
  if (!whole(v, scalars[k].low, scalars[k].high, &n))
    return bad(r, field, "must be a whole number that fits %s; above 2^53 write it as a string", scalars[k].key);
  return place(r, where, arg, &n, scalars[k].size); /* little-endian */
}

/* A mistyped field must not go unseen. */
static mlaf_status check_keys(reader *r, const char *where, const cJSON *o, const char *const *known) {
  const cJSON *x;
  cJSON_ArrayForEach(x, o) {
    size_t i = 0;
    while (known[i] && strcmp(known[i], x->string) != 0) i++;
    if (!known[i]) return bad(r, where, "there is no field '%s' (docs/emulator.md lists them)", x->string);
  }
  return MLAF_OK;
}

static mlaf_status add_argument(reader *r, const cJSON *arg, int index) {
  static const char *const known[] = {"buffer", "fill", "values_i32", "name", "save", "pointer", "offset", "at",
                                      "i32",    "u32",  "i64",        "u64",  "f32",     "f64",    NULL};
  char where[64];
  uint64_t address = 0;
  snprintf(where, sizeof where, "args[%d]", index);
  if (!cJSON_IsObject(arg)) return bad(r, where, "must be an object such as {\"i32\": 4}");
  mlaf_status st = check_keys(r, where, arg, known);
  if (st != MLAF_OK) return st;
  bool buffer = cJSON_HasObjectItem(arg, "buffer");
  if (buffer || cJSON_HasObjectItem(arg, "pointer")) {
    st = (buffer ? add_buffer : add_pointer)(r, where, arg, &address);
    return st == MLAF_OK ? place(r, where, arg, &address, sizeof address) : st;
  }
  for (size_t k = 0; k < sizeof scalars / sizeof *scalars; k++)
    if (cJSON_HasObjectItem(arg, scalars[k].key)) return add_scalar(r, where, arg, k);
  return bad(r, where, "says neither buffer, pointer, i32, u32, i64, u64, f32 nor f64");
}

static mlaf_status read_extent(reader *r, const cJSON *root, const char *key, uint32_t out[3]) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, key);
  int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
  if (n < 1 || n > 3) return bad(r, key, "must be a list of one to three whole numbers");
  for (int i = 0; i < 3; i++) {
    int64_t v = 1;
    if (i < n && !whole(cJSON_GetArrayItem(list, i), 1, UINT32_MAX, &v))
      return bad(r, key, "element %d must be a whole number of at least 1", i);
    out[i] = (uint32_t)v;
  }
  return MLAF_OK;
}

/* Dynamic LDS; whether the kernel's own leaves room for it is the launch's to say. */
static mlaf_status read_lds(reader *r, const cJSON *root) {
  const cJSON *lds = cJSON_GetObjectItemCaseSensitive(root, "lds");
  const int32_t most = mlaf_info(r->code->dev)->lds_bytes;
  int64_t bytes = 0;
  if (lds && !whole(lds, 0, most, &bytes)) return bad(r, "lds", "must be a number of bytes from 0 to %d, what a compute unit has",
                                                      most);
  r->code->launch.lds = (uint32_t)bytes;
  return MLAF_OK;
}

static mlaf_status read_launch(reader *r, const cJSON *root) {
  static const char *const known[] = {"kernel", "grid", "block", "lds", "args", NULL};
  const cJSON *kernel = cJSON_GetObjectItemCaseSensitive(root, "kernel"), *args, *arg;
  code_call *code = r->code;
  mlaf_function *fn = NULL;
  int index = 0;
  if (!cJSON_IsObject(root)) return bad(r, "top level", "must be an object with kernel, grid, block and args");
  mlaf_status st = check_keys(r, "top level", root, known);
  if (st == MLAF_OK && !cJSON_IsString(kernel)) st = bad(r, "kernel", "must be the symbol of a kernel");
  if (st == MLAF_OK) {
    st = mlaf_ops(code->dev)->function_get(code->dev, code->module, kernel->valuestring, &fn, r->err);
    if (st != MLAF_OK) st = mlaf_fail_prefix(r->err, st, "%s: kernel", r->path);
  }
  if (st == MLAF_OK) st = read_extent(r, root, "grid", code->launch.grid);
  if (st == MLAF_OK) st = read_extent(r, root, "block", code->launch.block);
  if (st == MLAF_OK) st = read_lds(r, root);
  args = cJSON_GetObjectItemCaseSensitive(root, "args");
  if (st == MLAF_OK && !cJSON_IsArray(args)) st = bad(r, "args", "must be a list");
  if (st == MLAF_OK) cJSON_ArrayForEach(arg, args) {
    st = add_argument(r, arg, index++);
    if (st != MLAF_OK) break;
  }
  code->launch.fn = fn;
  code->launch.args = code->args;
  code->launch.args_size = r->size;
  return st;
}

static mlaf_status read_args(reader *r) {
  void *text = NULL;
  size_t size = 0;
  const char *end = NULL;
  mlaf_status st = mlaf_file_take(r->path, MAX_FILE, &text, &size, r->err);
  if (st != MLAF_OK) return st;
  cJSON *root = cJSON_ParseWithLengthOpts(text, size, &end, false);
  if (root) st = read_launch(r, root);
  else {
    int line = 1;
    for (const char *p = text; end && p < end; p++) line += *p == '\n';
    st = mlaf_fail(r->err, MLAF_E_ARG, "%s: no JSON: something is wrong near line %d", r->path, line);
  }
  cJSON_Delete(root);
  free(text);
  return st;
}

mlaf_status mlaf_code_call_open(mlaf_device *dev, const char *code_path, const char *args_path, uint64_t seed, code_call *out,
                                mlaf_err *err) {
  void *bytes = NULL;
  size_t size = 0;
  memset(out, 0, sizeof *out);
  out->dev = dev;
  mlaf_status st = mlaf_file_read(code_path, MAX_FILE, &bytes, &size, err);
  if (st != MLAF_OK) return st;
  st = mlaf_ops(dev)->module_load(dev, bytes, size, &out->module, err);
  free(bytes);
  reader r = {.path = args_path, .code = out, .seed = seed, .err = err};
  st = st == MLAF_OK ? read_args(&r) : mlaf_fail_prefix(err, st, "%s", code_path);
  if (st != MLAF_OK) mlaf_code_call_close(out);
  return st;
}

static mlaf_status save_buffer(code_call *code, int i, mlaf_err *err) {
  void *data = malloc(code->bytes[i]);
  mlaf_status st = data ? mlaf_ops(code->dev)->mem_read(code->dev, data, code->buffers[i], code->bytes[i], err)
                        : mlaf_fail(err, MLAF_E_NOMEM, "no memory for a buffer of %zu bytes", code->bytes[i]);
  if (st == MLAF_OK) st = mlaf_file_publish(code->save[i], data, code->bytes[i], err);
  free(data);
  return st;
}

mlaf_status mlaf_code_call_run(code_call *code, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(code->dev);
  mlaf_status st = ops->launch(code->dev, NULL, &code->launch, err);
  if (st == MLAF_OK) st = ops->sync(code->dev, NULL, err);
  for (int i = 0; st == MLAF_OK && i < code->n_buffers; i++)
    if (code->save[i]) st = save_buffer(code, i, err);
  return st;
}

void mlaf_code_call_close(code_call *code) {
  for (int i = 0; i < code->n_buffers; i++) {
    mlaf_ops(code->dev)->mem_free(code->dev, code->buffers[i], NULL);
    free(code->save[i]);
  }
  if (code->module) mlaf_ops(code->dev)->module_unload(code->dev, code->module);
  memset(code, 0, sizeof *code);
}
