/* Layer.forward from tensors to mlaf_layer_execute. What is not plain, and what is wrong, is left to the Python code: then the
 * result is None, and nothing was launched. */
#include "_fast.h"

#include <stdlib.h>
#include <string.h>

#include "mlaforge/layer.h"

#define CAPSULE "mlaforge._fast.layer"

/* A layer's own, and how it is called. */
typedef struct facts {
  mlaf_status (*execute)(const mlaf_layer *layer, const mlaf_layer_args *args, void *stream);
  mlaf_status (*execute_stage)(const mlaf_layer *layer, size_t i, const mlaf_layer_args *args, void *stream);
  size_t (*workspace_size)(const mlaf_layer *layer, const mlaf_layer_args *args);
  const mlaf_layer *layer;
  int32_t ordinal, dtype, hidden, rank, page;
  int32_t split, second, second_dtype, second_unit; /* a second tensor: columns, and what strides count in a column */
  int32_t cache_dtype, cache_row; /* elements of a row of a cache of one tensor */
  int32_t topk, indexed;          /* entries of a list, 0: there are none; it has an indexer */
} facts;

static void facts_free(PyObject *capsule) { free(PyCapsule_GetPointer(capsule, CAPSULE)); }

/* layer(mlaf_layer_execute, mlaf_layer_execute_stage, mlaf_layer_workspace_size, the layer, ordinal, dtype, hidden, rank,
 * page_size, split, the second tensor's columns, dtype and units, the cache's dtype and columns, topk, indexed) -> what forward
 * wants first, good until the layer is closed. Addresses are integers. */
PyObject *fast_layer(PyObject *self, PyObject *args) {
  unsigned long long at[4];
  facts f = {NULL};
  if (!PyArg_ParseTuple(args, "KKKKiiiiiiiiiiiii", &at[0], &at[1], &at[2], &at[3], &f.ordinal, &f.dtype, &f.hidden, &f.rank,
                        &f.page, &f.split, &f.second, &f.second_dtype, &f.second_unit, &f.cache_dtype, &f.cache_row, &f.topk,
                        &f.indexed))
    return NULL;
  void *const to[] = {&f.execute, &f.execute_stage, &f.workspace_size, &f.layer};
  for (int i = 0; i < 4; i++) {
    const uintptr_t address = (uintptr_t)at[i];
    memcpy(to[i], &address, sizeof address);
  }
  facts *kept = malloc(sizeof *kept);
  if (!kept) return PyErr_NoMemory();
  *kept = f;
  PyObject *capsule = PyCapsule_New(kept, CAPSULE, facts_free);
  if (!capsule) free(kept);
  return capsule;
}

/* --- tensors --- */

enum {
  FACTS, HIDDEN, POSITIONS, SLOTS, CACHE, SEQ_LENS, BLOCK_TABLE, Q_LEN, RESIDUAL, OUT, QO_INDPTR, KV_INDPTR, KV_INDICES,
  LAST_PAGES, SCHEDULE, KV_LEN, WORKSPACE, STREAM, STAGE, SAME_TABLES, INDEX_CACHE, INDICES, ARGUMENTS
};

/* One call. False of a function that reads: not served here. */
typedef struct call {
  const facts *f;
  PyObject *const *a;
  mlaf_layer_args args;
  mlaf_view hidden, workspace;
  PyObject *out, *memory, *device; /* references: the output, a workspace, a schedule's words */
} call;

static int is_here(const call *c, const mlaf_view *v) { return v->where == c->f->ordinal || v->where == MLAF_WHERE_UNKNOWN; }

/* A tensor of a type, here, whose last dimension has no gaps. */
static int read_here(const call *c, PyObject *t, int32_t dtype, int least, int most, mlaf_view *v) {
  *v = (mlaf_view){.data = NULL};
  if (t == Py_None || !fast_read_view(t, v) || v->dims < least || v->dims > most || v->dtype != dtype || !is_here(c, v)) return 0;
  return v->shape[v->dims - 1] <= 1 || v->stride[v->dims - 1] == 1;
}

/* A dimension of one row, or none, has any stride: it counts as dense (0). */
static int row_stride(const mlaf_view *v, int dim, int64_t *out) {
  int empty = v->shape[dim] <= 1;
  for (int i = 0; i < v->dims; i++) empty |= !v->shape[i];
  *out = empty ? 0 : v->stride[dim];
  return empty || v->stride[dim] > 0;
}

static int read_rows(const call *c, PyObject *t, int64_t tokens, void *data, int64_t *stride) {
  mlaf_view v;
  if (!read_here(c, t, c->f->dtype, 2, 2, &v) || v.shape[0] != tokens || v.shape[1] != c->f->hidden) return 0;
  memcpy(data, &v.data, sizeof v.data);
  return row_stride(&v, 0, stride);
}

static int read_numbers(const call *c, PyObject *t, int32_t dtype, int64_t n, void *data) {
  mlaf_view v;
  if (!read_here(c, t, dtype, 1, 1, &v) || (n >= 0 && v.shape[0] != n)) return 0;
  memcpy(data, &v.data, sizeof v.data);
  return 1;
}

/* Pages of rows at one distance: [pages, page, any 1, columns]. second: those of the second tensor. */
static int read_pages(call *c, PyObject *t, int32_t columns, void **data, int64_t *row_out, int second) {
  mlaf_view v;
  int64_t page = 0, row = 0;
  const int32_t dtype = second ? c->f->second_dtype : c->f->cache_dtype;
  if (!read_here(c, t, dtype, 3, 4, &v) || v.shape[v.dims - 1] != columns || v.shape[1] != c->f->page) return 0;
  if (v.dims == 4 && v.shape[2] != 1) return 0;
  if (!row_stride(&v, 0, &page) || !row_stride(&v, 1, &row)) return 0;
  if (!row) row = c->f->page == 1 && page ? page : columns; /* of pages of a token each is a row */
  if (page % row) return 0;
  const int64_t apart = page && page != row * c->f->page ? page / row : 0;
  if (second && (c->args.page_rows != apart || c->args.num_pages != v.shape[0])) return 0;
  *data = v.data;
  *row_out = second ? c->f->second_unit * row : row; /* beside a latent of bytes strides are bytes */
  c->args.page_rows = apart;
  c->args.num_pages = (int32_t)v.shape[0];
  return v.shape[0] <= INT32_MAX;
}

static int read_cache(call *c) {
  PyObject *cache = c->a[CACHE];
  mlaf_layer_args *g = &c->args;
  if (!c->f->split) return read_pages(c, cache, c->f->cache_row, &g->cache, &g->cache_row_stride, 0);
  if (!PyTuple_Check(cache) || PyTuple_Size(cache) != 2) return 0;
  return read_pages(c, PyTuple_GetItem(cache, 0), c->f->rank, &g->cache, &g->cache_row_stride, 0) &&
         read_pages(c, PyTuple_GetItem(cache, 1), c->f->second, &g->cache_kpe, &g->cache_kpe_row_stride, 1);
}

/* The indexer's cache, planar pages: [pages, page, any 1, bytes of a token]. */
static int read_index(call *c) {
  enum { TOKEN = 132 };
  mlaf_view v;
  if (!c->f->indexed) return c->a[INDEX_CACHE] == Py_None;
  if (!read_here(c, c->a[INDEX_CACHE], MLAF_VIEW_U8, 3, 4, &v) || v.shape[v.dims - 1] != TOKEN) return 0;
  if (v.shape[0] != c->args.num_pages || v.shape[1] != c->f->page || (v.dims == 4 && v.shape[2] != 1)) return 0;
  if ((c->f->page > 1 && v.stride[1] != TOKEN) || (v.shape[0] > 1 && v.stride[0] <= 0)) return 0;
  c->args.index_cache = v.data;
  c->args.index_page_stride = v.shape[0] > 1 ? v.stride[0] : 0;
  return 1;
}

/* Lists, [tokens, topk] without gaps: an indexer's output where they are given, else another layer's. */
static int read_lists(call *c) {
  mlaf_view v;
  if (c->a[INDICES] == Py_None) return !c->f->topk || c->f->indexed;
  if (!c->f->topk || !read_here(c, c->a[INDICES], MLAF_VIEW_INT32, 2, 2, &v)) return 0;
  c->args.indices = v.data;
  return v.shape[0] == c->args.tokens && v.shape[1] == c->f->topk && fast_is_dense(&v);
}

/* --- requests --- */

static int read_int32(PyObject *x, int32_t *out) {
  const long v = PyLong_AsLong(x);
  *out = (int32_t)v;
  return !PyErr_Occurred() && v == *out;
}

static int given(const call *c, int i) { return c->a[i] != Py_None; }

static int read_table(call *c) {
  mlaf_view v;
  mlaf_layer_args *g = &c->args;
  if (!read_here(c, c->a[BLOCK_TABLE], MLAF_VIEW_INT32, 2, 2, &v) || v.shape[0] != g->batch || v.shape[1] > INT32_MAX) return 0;
  g->block_table = v.data;
  g->block_table_width = (int32_t)v.shape[1];
  return row_stride(&v, 0, &g->block_table_stride);
}

/* A block table and lengths, or four lists; of a prefill the pages of either. */
static int read_tables(call *c) {
  mlaf_layer_args *g = &c->args;
  const int prefill = g->schedule != NULL, table = given(c, BLOCK_TABLE);
  mlaf_view indices;
  const int shared = c->f->topk && !c->f->indexed; /* pages stand in the lists */
  if (table    ? !read_table(c) || (!prefill && !given(c, SEQ_LENS))
      : shared ? !given(c, SEQ_LENS)
               : !given(c, KV_INDPTR) || !given(c, KV_INDICES) || (!prefill && (!given(c, QO_INDPTR) || !given(c, LAST_PAGES))))
    return 0;
  if (given(c, KV_INDICES)) {
    if (!read_here(c, c->a[KV_INDICES], MLAF_VIEW_INT32, 1, 1, &indices)) return 0;
    g->kv_indices = indices.data;
    if (!table) g->kv_indices_size = indices.shape[0];
  }
  const struct {
    int i;
    int64_t n;
    const int32_t **to;
  } lists[] = {{SEQ_LENS, g->batch, &g->seq_lens}, {QO_INDPTR, g->batch + INT64_C(1), &g->qo_indptr},
               {KV_INDPTR, g->batch + INT64_C(1), &g->kv_indptr}, {LAST_PAGES, g->batch, &g->kv_last_page_lens}};
  for (int k = 0; k < 4; k++)
    if (given(c, lists[k].i) && !read_numbers(c, c->a[lists[k].i], MLAF_VIEW_INT32, lists[k].n, lists[k].to)) return 0;
  return 1;
}

/* (address of the words on the host, a tensor of them on the device, requests, how many words), or None. */
static int read_schedule(call *c) {
  PyObject *s = c->a[SCHEDULE];
  mlaf_view v = {.data = NULL};
  if (s == Py_None) return 1;
  if (!PyTuple_Check(s) || PyTuple_Size(s) != 4 || !fast_read_view(PyTuple_GetItem(s, 1), &v)) return 0;
  c->args.schedule = PyLong_AsVoidPtr(PyTuple_GetItem(s, 0));
  c->args.schedule_device = v.data;
  c->args.schedule_words = PyLong_AsSize_t(PyTuple_GetItem(s, 3));
  return read_int32(PyTuple_GetItem(s, 2), &c->args.batch) && !PyErr_Occurred() && c->args.schedule;
}

static int read_batch(call *c) {
  mlaf_view v = {.data = NULL};
  const int counted = given(c, SEQ_LENS) ? SEQ_LENS : given(c, QO_INDPTR) ? QO_INDPTR : KV_INDPTR;
  if (c->args.schedule) return 1;
  if (!read_here(c, c->a[counted], MLAF_VIEW_INT32, 1, 1, &v) || v.shape[0] > INT32_MAX) return 0;
  c->args.batch = (int32_t)v.shape[0] - (counted != SEQ_LENS);
  return 1;
}

/* --- output and workspace --- */

static int take_out(call *c) {
  PyObject *hidden = c->a[HIDDEN];
  if (given(c, OUT)) {
    Py_INCREF(c->out = c->a[OUT]);
  } else if (fast_is_torch(hidden)) {
    c->out = fast_empty_like(hidden);
  } else {
    c->out = PyObject_CallMethod(hidden, "new_empty", "((LL))", (long long)c->hidden.shape[0], (long long)c->hidden.shape[1]);
  }
  return c->out && read_rows(c, c->out, c->hidden.shape[0], &c->args.out, &c->args.out_token_stride);
}

/* The caller's, dense. */
static int take_given(call *c) {
  static const size_t bytes[MLAF_VIEW_OTHER] = {2, 2, 4, 4, 8, 8, 1};
  mlaf_view v = {.data = NULL};
  if (!fast_read_view(c->a[WORKSPACE], &v) || v.dtype >= MLAF_VIEW_OTHER || v.dims > 4 || !fast_is_dense(&v)) return 0;
  if (!is_here(c, &v)) return 0;
  c->args.workspace = v.data;
  c->args.workspace_size = bytes[v.dtype];
  for (int i = 0; i < v.dims; i++) c->args.workspace_size *= (size_t)v.shape[i];
  return 1;
}

/* The caller's, or PyTorch's on its current stream, also while that is captured. Else the library takes the context's. */
static int take_workspace(call *c, void *stream) {
  mlaf_view v = {.data = NULL};
  PyObject *hidden = c->a[HIDDEN];
  if (given(c, WORKSPACE)) return take_given(c);
  if (!fast_is_torch(hidden) || (given(c, STREAM) && fast_current_stream(hidden, &c->hidden) != stream)) return 1;
  const size_t size = c->f->workspace_size(c->f->layer, &c->args);
  if (size == SIZE_MAX) return 0;
  c->memory = PyObject_CallMethod(hidden, "new_empty", "((n))", (Py_ssize_t)(size + 1) / 2);
  if (!c->memory || !fast_read_view(c->memory, &v)) return 0;
  c->args.workspace = v.data;
  c->args.workspace_size = (size + 1) / 2 * 2;
  return 1;
}

/* --- the call --- */

static int read_all(call *c) {
  mlaf_layer_args *g = &c->args;
  const int same = PyObject_IsTrue(c->a[SAME_TABLES]);
  if (same < 0 || (same && !given(c, WORKSPACE))) return 0;
  if (!read_here(c, c->a[HIDDEN], c->f->dtype, 2, 2, &c->hidden) || c->hidden.shape[1] != c->f->hidden) return 0;
  const int64_t tokens = g->tokens = c->hidden.shape[0];
  g->hidden = c->hidden.data;
  g->flags = same ? MLAF_LAYER_SAME_TABLES : 0;
  if (!tokens || !read_int32(c->a[Q_LEN], &g->q_len) || !read_int32(c->a[KV_LEN], &g->ctx)) return 0;
  return row_stride(&c->hidden, 0, &g->hidden_token_stride) && read_schedule(c) && read_batch(c) &&
         read_numbers(c, c->a[SLOTS], MLAF_VIEW_INT64, tokens, &g->slots) &&
         read_numbers(c, c->a[POSITIONS], MLAF_VIEW_INT64, tokens, &g->positions) && read_cache(c) && read_index(c) &&
         read_lists(c) && read_tables(c) &&
         (!given(c, RESIDUAL) || read_rows(c, c->a[RESIDUAL], tokens, &g->residual, &g->residual_token_stride)) && take_out(c);
}

static int run(call *c, int *status) {
  void *stream = given(c, STREAM) ? fast_named_stream(c->a[STREAM]) : fast_current_stream(c->a[HIDDEN], &c->hidden);
  const size_t stage = given(c, STAGE) ? PyLong_AsSize_t(c->a[STAGE]) : 0;
  if (PyErr_Occurred() || !take_workspace(c, stream)) return 0;
  PyThreadState *thread = PyEval_SaveThread(); /* the emulator takes seconds */
  *status = given(c, STAGE) ? c->f->execute_stage(c->f->layer, stage, &c->args, stream)
                            : c->f->execute(c->f->layer, &c->args, stream);
  PyEval_RestoreThread(thread);
  return 1;
}

/* forward(what layer() gave, then as Layer.forward has them, a schedule as a tuple) -> the output, a status, or None: not served
 * here. */
PyObject *fast_forward(PyObject *self, PyObject *const *a, Py_ssize_t n) {
  int status = 0;
  if (n != ARGUMENTS) return PyErr_Format(PyExc_TypeError, "forward: %zd arguments, %d are wanted", n, ARGUMENTS);
  call c = {.f = PyCapsule_GetPointer(a[FACTS], CAPSULE), .a = a, .args = MLAF_LAYER_ARGS_INIT};
  if (!c.f) return NULL;
  fast_find_torch();
  const int ran = read_all(&c) && run(&c, &status);
  PyErr_Clear(); /* the Python code finds it, too */
  Py_XDECREF(c.memory);
  PyObject *result = ran && !status ? c.out : ran ? PyLong_FromLong(status) : Py_None;
  if (result == Py_None) Py_INCREF(result);
  if (result != c.out) Py_XDECREF(c.out);
  return result;
}
