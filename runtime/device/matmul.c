/* A product by a vendor's library. */
#include "device/matmul.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/library.h"
#include "device/matmul_library.h"

enum { WAYS_MOST = 32, SLOTS = 16, ALIGNMENT = 16 };
/* Numbers of tokens that a product has a way of its own for: each doubling, and of the last one eighths, where those are
 * 16 tokens and more. A way for 512 tokens may take more than twice as long as one for 288 where there are 257
 * (docs/lab/projections.md). */
enum { EIGHTHS = 8, EIGHTH_LEAST = 16, SIZES = 16 + EIGHTHS };
#define WORKSPACE_MOST ((uint64_t)32 << 20) /* customary on Hopper; what a way wants of it is what callers are asked for */

/* --- the text --- */

static bool number(const char *text, const char *key, int64_t most, int64_t *out) {
  char line[32];
  const int n = snprintf(line, sizeof line, "\n%s ", key);
  const char *at = strstr(text, line);
  char *end;
  if (!at) return false;
  const long long x = strtoll(at + n, &end, 10);
  *out = x;
  return end != at + n && *end == '\n' && x >= 0 && x <= most;
}

static const char *word(const char *text, const char *key, char *out, size_t size) {
  char line[32];
  const int n = snprintf(line, sizeof line, "\n%s ", key);
  const char *at = strstr(text, line), *end = at ? strchr(at + n, '\n') : NULL;
  out[0] = 0;
  if (end && (size_t)(end - at - n) < size) snprintf(out, size, "%.*s", (int)(end - at - n), at + n);
  return out;
}

mlaf_status mlaf_matmul_read(const void *from, size_t size, mlaf_matmul_want *out, mlaf_err *err) {
  mlaf_matmul_want w = {.heads = 0};
  char layout[16], dtype[16];
  char *text = malloc(size + 1);
  if (!text) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a library's product");
  memcpy(text, from, size);
  text[size] = 0;
  const char *body = strstr(text, MLAF_MATMUL_MAGIC);
  int64_t heads = 0, inner = 0, outer = 0, residual = 0, way = 0;
  bool ok = body && number(body, "heads", 256, &heads) && number(body, "inner", 1 << 20, &inner) &&
            number(body, "outer", 1 << 20, &outer) && number(body, "residual", 1, &residual) &&
            number(body, "tokens", 1 << 16, &w.tokens) && number(body, "way", WAYS_MOST - 1, &way);
  ok = ok && heads && inner && outer && w.tokens && word(body, "symbol", w.symbol, sizeof w.symbol)[0];
  w.by_inputs = ok && !strcmp(word(body, "layout", layout, sizeof layout), "inputs");
  ok = ok && (w.by_inputs || !strcmp(layout, "outputs"));
  w.f16 = ok && !strcmp(word(body, "dtype", dtype, sizeof dtype), "f16");
  ok = ok && (w.f16 || !strcmp(dtype, "bf16"));
  free(text);
  if (!ok) return mlaf_fail(err, MLAF_E_ARG, "damaged text of a library's product: plan again");
  w.heads = (int32_t)heads;
  w.inner = (int32_t)inner;
  w.outer = (int32_t)outer;
  w.residual = residual != 0;
  w.way = (int32_t)way;
  *out = w;
  return MLAF_OK;
}

/* --- the library --- */

static bool find(void *opened, const char *prefix, const char *name, void *slot) {
  char symbol[64];
  snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
  return mlaf_library_find(opened, symbol, slot);
}

static mlaf_status find_all(mlaf_matmul_library *lib, void *opened, mlaf_err *err) {
  const char *missing = NULL, *prefix = lib->d->prefix;
#define X(member, name, parameters) \
  if (!find(opened, prefix, name, &lib->member)) missing = name;
  MLAF_MATMUL_FUNCTIONS(X)
#undef X
  if (lib->d->checks && !find(opened, prefix, "MatmulAlgoCheck", &lib->check)) missing = "MatmulAlgoCheck";
  return missing ? mlaf_fail(err, MLAF_E_NO_DEVICE, "%s has no function %s%s", lib->path, prefix, missing) : MLAF_OK;
}

/* The numbers of another version need not be these. */
static mlaf_status check_version(mlaf_matmul_library *lib, void *opened, mlaf_err *err) {
  const mlaf_matmul_dialect *d = lib->d;
  if (d->versioned_alone) {
    size_t (*version)(void) = NULL;
    if (find(opened, d->prefix, "GetVersion", &version)) lib->version = (long)version();
  } else {
    int (*version)(void *handle, int *out) = NULL;
    int v = 0;
    if (find(opened, d->prefix, "GetVersion", &version) && !version(lib->handle, &v)) lib->version = v;
  }
  if (lib->version >= d->least_version && lib->version < d->first_unknown) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_NO_DEVICE, "%s says it is version %ld of %s; known are %ld to %ld", lib->path, lib->version,
                   d->name, d->least_version, d->first_unknown - 1);
}

mlaf_status mlaf_matmul_library_open(const mlaf_matmul_dialect *d, const char *path, mlaf_matmul_library **out, mlaf_err *err) {
  mlaf_matmul_library *lib = calloc(1, sizeof *lib);
  if (!lib) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %s", d->name);
  lib->d = d;
  snprintf(lib->path, sizeof lib->path, "%s", path);
  void *opened = mlaf_library_load(path, err); /* stays loaded: such libraries do not survive being unloaded */
  mlaf_status st = opened ? find_all(lib, opened, err) : MLAF_E_NO_DEVICE;
  if (!st && d->versioned_alone) st = check_version(lib, opened, err);
  const int code = st ? 0 : lib->create(&lib->handle);
  if (!st && code) st = mlaf_fail(err, MLAF_E_NO_DEVICE, "%s: %sCreate: status %d", path, d->prefix, code);
  if (!st && !d->versioned_alone) st = check_version(lib, opened, err);
  if (st) mlaf_matmul_library_close(lib);
  else *out = lib;
  return st;
}

mlaf_status mlaf_matmul_library_keep(const mlaf_matmul_dialect *d, const char *path, mlaf_matmul_library **kept, mlaf_err *err) {
  if (!*kept) return mlaf_matmul_library_open(d, path, kept, err);
  if (!strcmp((*kept)->path, path)) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_NO_DEVICE, "%s is in use on this device already, and %s is asked for: open it anew", (*kept)->path,
                   path);
}

void mlaf_matmul_library_close(mlaf_matmul_library *lib) {
  if (!lib) return;
  if (lib->handle) lib->destroy(lib->handle);
  free(lib);
}

/* --- a product --- */

enum { W, X, C, Y, LAYOUTS };
/* Layouts of one launch at a time, with what was last said of them: most launches say the same again. */
typedef struct slot {
  atomic_flag busy;
  void *layout[LAYOUTS];
  int64_t cols, ld[LAYOUTS], stride[LAYOUTS];
} slot;

struct mlaf_matmul {
  mlaf_matmul_library *lib;
  mlaf_matmul_want want;
  void *desc;
  size_t workspace;
  int64_t size[SIZES]; /* rising, the last is want.tokens; a way serves what is above the size before it */
  int n_sizes;
  _Alignas(16) unsigned char algo[SIZES][MLAF_MATMUL_ALGO_MAX];
  slot slots[SLOTS];
};

static void list_sizes(mlaf_matmul *m) {
  const int64_t most = m->want.tokens;
  int64_t n = 1;
  for (; 2 * n < most; n *= 2) m->size[m->n_sizes++] = n;
  if (n < most) m->size[m->n_sizes++] = n;
  const int64_t eighth = (most - n) / EIGHTHS;
  for (int i = 1; i < EIGHTHS && eighth >= EIGHTH_LEAST; i++) m->size[m->n_sizes++] = n + i * eighth;
  m->size[m->n_sizes++] = most;
}

/* Index of the size class of `tokens`, which is 1 to want.tokens. */
static int size_of(const mlaf_matmul *m, int64_t tokens) {
  int k = 0;
  while (m->size[k] < tokens) k++;
  return k;
}

static mlaf_status say(const mlaf_matmul *m, void *layout, int attribute, const void *value, size_t size, mlaf_err *err) {
  return mlaf_matmul_failed(m->lib, "MatrixLayoutSetAttribute", m->lib->layout_set(layout, attribute, value, size), err);
}

static mlaf_status say_if_new(const mlaf_matmul *m, void *layout, int attribute, int64_t value, int64_t *said, mlaf_err *err) {
  if (*said == value) return MLAF_OK;
  const mlaf_status st = say(m, layout, attribute, &value, sizeof value, err);
  *said = st ? -1 : value;
  return st;
}

/* Column-major: W as it lies is [inner][outer] or, transposed in the product, [outer][inner]; x, c and y have a column for each
 * token. */
static mlaf_status make_layouts(const mlaf_matmul *m, slot *s, mlaf_err *err) {
  const mlaf_matmul_want *w = &m->want;
  const mlaf_matmul_dialect *d = m->lib->d;
  const int type = w->f16 ? d->real_16f : d->real_16bf;
  const uint64_t inner = (uint64_t)w->inner, outer = (uint64_t)w->outer, tokens = (uint64_t)w->tokens;
  const uint64_t rows[LAYOUTS] = {w->by_inputs ? outer : inner, inner, outer, outer};
  const uint64_t cols[LAYOUTS] = {w->by_inputs ? inner : outer, tokens, tokens, tokens};
  const int32_t heads = w->heads;
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < LAYOUTS; i++) {
    const int code = m->lib->layout_create(&s->layout[i], type, rows[i], cols[i], (int64_t)rows[i]);
    st = mlaf_matmul_failed(m->lib, "MatrixLayoutCreate", code, err);
    if (!st) st = say(m, s->layout[i], d->batch, &heads, sizeof heads, err);
    s->ld[i] = s->stride[i] = -1;
  }
  s->cols = -1;
  return st;
}

static mlaf_status set_tokens(const mlaf_matmul *m, slot *s, int64_t tokens, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  if (s->cols == tokens) return MLAF_OK;
  s->cols = -1;
  for (int i = X; !st && i < LAYOUTS; i++) st = say(m, s->layout[i], m->lib->d->cols, &tokens, sizeof tokens, err);
  if (!st) s->cols = tokens;
  return st;
}

static mlaf_status set_strides(const mlaf_matmul *m, slot *s, const mlaf_matmul_args *a, mlaf_err *err) {
  const int64_t ld[LAYOUTS] = {a->w_row, a->x_token, a->c ? a->c_token : a->y_token, a->y_token};
  const int64_t stride[LAYOUTS] = {a->w_head, a->x_head, a->y_head, a->y_head};
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < LAYOUTS; i++) {
    st = say_if_new(m, s->layout[i], m->lib->d->ld, ld[i], &s->ld[i], err);
    if (!st) st = say_if_new(m, s->layout[i], m->lib->d->stride, m->want.heads > 1 ? stride[i] : 0, &s->stride[i], err);
  }
  return st;
}

static mlaf_matmul_args dense(const mlaf_matmul_want *w) {
  const int64_t row = w->by_inputs ? w->outer : w->inner;
  return (mlaf_matmul_args){.w_row = row,
                            .w_head = (int64_t)w->inner * w->outer,
                            .x_token = (int64_t)w->heads * w->inner,
                            .x_head = w->inner,
                            .y_token = (int64_t)w->heads * w->outer,
                            .y_head = w->outer,
                            .c_token = w->outer,
                            .tokens = w->tokens};
}

/* --- choosing a way --- */

typedef struct proposals {
  _Alignas(16) unsigned char bytes[WAYS_MOST * MLAF_MATMUL_RESULT_MAX];
  int n;
} proposals;

static const unsigned char *proposal(const mlaf_matmul_library *lib, const proposals *p, int i) {
  return p->bytes + (size_t)i * (lib->d->algo_bytes + MLAF_MATMUL_RESULT_TAIL);
}
static size_t workspace_of(const mlaf_matmul_library *lib, const unsigned char *result) {
  size_t bytes;
  memcpy(&bytes, result + lib->d->algo_bytes, sizeof bytes);
  return bytes;
}
static bool is_good(const mlaf_matmul_library *lib, const unsigned char *result) {
  int status;
  memcpy(&status, result + lib->d->algo_bytes + sizeof(size_t), sizeof status);
  return !status && workspace_of(lib, result) <= WORKSPACE_MOST;
}

/* Pointers are aligned to 16 bytes and no better, which a library would not think by itself. */
static mlaf_status prefer(const mlaf_matmul_library *lib, void *preference, mlaf_err *err) {
  const uint64_t most = WORKSPACE_MOST;
  const uint32_t alignment = ALIGNMENT;
  int code = lib->preference_set(preference, lib->d->most_workspace, &most, sizeof most);
  for (int i = 0; !code && i < 4; i++)
    if (lib->d->least_alignment[i])
      code = lib->preference_set(preference, lib->d->least_alignment[i], &alignment, sizeof alignment);
  return mlaf_matmul_failed(lib, "MatmulPreferenceSetAttribute", code, err);
}

static mlaf_status propose(const mlaf_matmul *m, const slot *s, proposals *out, mlaf_err *err) {
  const mlaf_matmul_library *lib = m->lib;
  void *preference = NULL;
  out->n = 0;
  mlaf_status st = mlaf_matmul_failed(lib, "MatmulPreferenceCreate", lib->preference_create(&preference), err);
  if (!st) st = prefer(lib, preference, err);
  if (!st)
    st = mlaf_matmul_failed(lib, "MatmulAlgoGetHeuristic",
                            lib->propose(lib->handle, m->desc, s->layout[W], s->layout[X], s->layout[C], s->layout[Y], preference,
                                         WAYS_MOST, out->bytes, &out->n), err);
  if (preference) lib->preference_destroy(preference);
  int good = 0;
  for (int i = 0; !st && i < out->n && i < WAYS_MOST; i++)
    if (is_good(lib, proposal(lib, out, i))) {
      const size_t bytes = lib->d->algo_bytes + MLAF_MATMUL_RESULT_TAIL;
      memmove(out->bytes + (size_t)good++ * bytes, proposal(lib, out, i), bytes);
    }
  out->n = good;
  return st;
}

static void take(mlaf_matmul *m, int size, const unsigned char *result) {
  const size_t workspace = workspace_of(m->lib, result);
  memcpy(m->algo[size], result, m->lib->d->algo_bytes);
  if (workspace > m->workspace) m->workspace = workspace;
}

/* Tells whether an algorithm takes so many tokens, too, and sets its workspace. A library without a check is believed. */
static bool goes(mlaf_matmul *m, slot *s, int64_t tokens, const unsigned char *algo) {
  const mlaf_matmul_library *lib = m->lib;
  _Alignas(16) unsigned char result[MLAF_MATMUL_RESULT_MAX] = {0};
  if (!lib->check) return true;
  if (set_tokens(m, s, tokens, NULL) ||
      lib->check(lib->handle, m->desc, s->layout[W], s->layout[X], s->layout[C], s->layout[Y], algo, result) ||
      !is_good(lib, result))
    return false;
  if (workspace_of(lib, result) > m->workspace) m->workspace = workspace_of(lib, result);
  return true;
}

static mlaf_status no_memory(const mlaf_matmul *m, mlaf_err *err) {
  return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %s's proposals", m->lib->d->name);
}

/* For fewer tokens than the way was chosen for: what the library would take first for the most of them that goes with the least,
 * too. */
static mlaf_status take_first(mlaf_matmul *m, slot *s, int size, mlaf_err *err) {
  const int64_t least = size ? m->size[size - 1] + 1 : 1;
  proposals *p = malloc(sizeof *p);
  mlaf_status st = p ? set_tokens(m, s, m->size[size], err) : no_memory(m, err);
  if (!st) st = propose(m, s, p, err);
  int i = 0;
  while (!st && i < p->n && !goes(m, s, least, proposal(m->lib, p, i))) i++;
  if (!st && i == p->n)
    st = mlaf_fail(err, MLAF_E_TEMPLATE, "%s proposes nothing for %lld to %lld tokens", m->lib->d->name, (long long)least,
                   (long long)m->size[size]);
  if (!st) take(m, size, proposal(m->lib, p, i));
  free(p);
  return st;
}

static mlaf_status choose(mlaf_matmul *m, mlaf_err *err) {
  slot *s = &m->slots[0];
  const mlaf_matmul_args a = dense(&m->want);
  const int last = m->n_sizes - 1;
  proposals *p = malloc(sizeof *p);
  mlaf_status st = p ? set_strides(m, s, &a, err) : no_memory(m, err);
  if (!st) st = set_tokens(m, s, m->want.tokens, err);
  if (!st) st = propose(m, s, p, err);
  if (!st && m->want.way >= p->n)
    st = mlaf_fail(err, MLAF_E_TEMPLATE, "%s proposes %d ways for this product, and way %d is asked for", m->lib->d->name, p->n,
                   m->want.way);
  if (!st) take(m, last, proposal(m->lib, p, m->want.way));
  for (int k = 0; !st && k < last; k++) st = take_first(m, s, k, err);
  free(p);
  return st;
}

/* A launch of each size on memory of our own. Kernels are loaded when they run first, which must not be inside a capture, and a
 * size may have a kernel that no other has. */
static mlaf_status run_sizes(mlaf_device *dev, mlaf_matmul *m, mlaf_matmul_args a, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(dev);
  void *stream = NULL;
  mlaf_status st = ops->stream_create(dev, &stream, err);
  for (int k = 0; !st && k < m->n_sizes; k++) {
    a.tokens = m->size[k];
    st = mlaf_matmul_launch(m, stream, &a, err);
  }
  if (!stream) return st;
  const mlaf_status done = ops->sync(dev, stream, st ? NULL : err); /* also after a failure: what runs has our memory */
  ops->stream_destroy(dev, stream);
  return st ? st : done;
}

static mlaf_status warm(mlaf_device *dev, mlaf_matmul *m, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(dev);
  const mlaf_matmul_want *w = &m->want;
  mlaf_matmul_args a = dense(w);
  const size_t bytes[4] = {2 * (size_t)a.w_head * (size_t)w->heads, 2 * (size_t)(a.x_token * a.tokens),
                           2 * (size_t)(a.y_token * a.tokens), m->workspace};
  void *at[4] = {NULL};
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < 4; i++) st = ops->mem_alloc(dev, bytes[i], &at[i], NULL);
  const bool room = !st;
  a.w = at[0], a.x = at[1], a.y = at[2], a.c = w->residual ? at[2] : NULL, a.workspace = at[3];
  if (room) st = run_sizes(dev, m, a, err);
  for (int i = 0; i < 4; i++)
    if (at[i]) ops->mem_free(dev, at[i], NULL);
  return room ? st : MLAF_OK;
}

mlaf_status mlaf_matmul_open(mlaf_device *dev, mlaf_matmul_library *lib, const mlaf_matmul_want *want, mlaf_matmul **out,
                             mlaf_err *err) {
  const int32_t trans = want->by_inputs ? lib->d->op_n : lib->d->op_t;
  mlaf_matmul *m = aligned_alloc(_Alignof(mlaf_matmul), sizeof *m);
  if (!m) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a product");
  memset(m, 0, sizeof *m);
  m->lib = lib;
  m->want = *want;
  list_sizes(m);
  for (int i = 0; i < SLOTS; i++) atomic_flag_clear(&m->slots[i].busy);
  const int code = lib->desc_create(&m->desc, lib->d->compute_32f, lib->d->real_32f);
  mlaf_status st = mlaf_matmul_failed(lib, "MatmulDescCreate", code, err);
  if (!st)
    st = mlaf_matmul_failed(lib, "MatmulDescSetAttribute", lib->desc_set(m->desc, lib->d->transa, &trans, sizeof trans), err);
  for (int i = 0; !st && i < SLOTS; i++) st = make_layouts(m, &m->slots[i], err);
  if (!st) st = choose(m, err);
  if (!st) st = warm(dev, m, err);
  if (st) mlaf_matmul_close(m);
  else *out = m;
  return st;
}

void mlaf_matmul_close(mlaf_matmul *m) {
  if (!m) return;
  for (int i = 0; i < SLOTS * LAYOUTS; i++) {
    void *layout = m->slots[i / LAYOUTS].layout[i % LAYOUTS];
    if (layout) m->lib->layout_destroy(layout);
  }
  if (m->desc) m->lib->desc_destroy(m->desc);
  free(m);
}

size_t mlaf_matmul_workspace(const mlaf_matmul *m) { return m->workspace; }

/* --- a launch --- */

/* There are as many slots as threads are likely to launch one product in the same microsecond. */
static slot *take_slot(mlaf_matmul *m) {
  for (unsigned i = 0;; i++) {
    slot *s = &m->slots[i % SLOTS];
    if (!atomic_flag_test_and_set_explicit(&s->busy, memory_order_acquire)) return s;
    if (i % SLOTS == SLOTS - 1) sched_yield();
  }
}

static const void *tokens_on(const void *from, int64_t tokens, int64_t stride) {
  return from ? (const char *)from + 2 * tokens * stride : NULL;
}

static mlaf_status one_pass(mlaf_matmul *m, slot *s, void *stream, const mlaf_matmul_args *a, int64_t first, int64_t tokens,
                            mlaf_err *err) {
  const mlaf_matmul_library *lib = m->lib;
  const float one = 1, beta = a->c ? 1 : 0;
  void *y = (void *)(uintptr_t)tokens_on(a->y, first, a->y_token);
  const void *c = a->c ? tokens_on(a->c, first, a->c_token) : y;
  const mlaf_status st = set_tokens(m, s, tokens, err);
  if (st) return st;
  const int code = lib->matmul(lib->handle, m->desc, &one, a->w, s->layout[W], tokens_on(a->x, first, a->x_token), s->layout[X],
                               &beta, c, s->layout[C], y, s->layout[Y], m->algo[size_of(m, tokens)], a->workspace, m->workspace,
                               stream);
  return mlaf_matmul_failed(lib, "Matmul", code, err);
}

mlaf_status mlaf_matmul_launch(mlaf_matmul *m, void *stream, const mlaf_matmul_args *a, mlaf_err *err) {
  slot *s = take_slot(m);
  mlaf_status st = set_strides(m, s, a, err);
  for (int64_t first = 0; !st && first < a->tokens; first += m->want.tokens) {
    const int64_t left = a->tokens - first;
    st = one_pass(m, s, stream, a, first, left < m->want.tokens ? left : m->want.tokens, err);
  }
  atomic_flag_clear_explicit(&s->busy, memory_order_release);
  return st;
}
