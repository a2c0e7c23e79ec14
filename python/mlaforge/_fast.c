/* mla_decode_fwd and flash_mla_with_kvcache from tensors to mlaf_call_run: what they are is read here, not by the interpreter,
 * and FlashMLA's outputs are made here.
 * Stable ABI (3.10 and later), no link to anything: the library's function comes as an address. Without this module the package
 * does the same by ctypes (calls.py). */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030a0000
#include <Python.h>

#include <math.h>
#include <string.h>

#include "_fast.h"

enum { DTYPES = 16, SCALES = 16 };

static int (*run_call)(void *ctx, const mlaf_call *call, void *stream); /* mlaf_call_run */
static Py_ssize_t scales[SCALES], n_scales; /* views of a call that are one number each: bytes from its begin */
static struct {
  PyObject *data_ptr, *dtype, *shape, *stride, *get_device, *contiguous, *new_empty, *new_strided, *cuda_stream, *expand;
  PyObject *nan_to_num, *torch;
} name;
/* Types of elements that were met; they live as long as their module. */
static struct {
  PyObject *object;
  int32_t code;
} dtypes[DTYPES];
static int n_dtypes;
/* Tensor, the current stream's address by device, what uint8 and float32 tensors are made with; once torch is there. */
static PyObject *torch_tensor, *torch_stream, *torch_bytes, *torch_floats;
/* torch.empty_like and what it is told; NULL: there is none. */
static PyObject *torch_like, *torch_dense;
static PyObject *torch_traces, *torch_records; /* is_compiling, is_grad_enabled */
/* Functions that say who would see operators: the number of dispatch modes, functorch's innermost transform, TorchScript's
 * tracer. NULL: this PyTorch has no such function. */
static PyObject *torch_seen[3];
static PyObject *infinities; /* what nan_to_num_ is told */

/* DLPack's C functions (1.3 and later; its layouts are frozen within a major version), which read a tensor and make no object. A
 * library hands them over in a capsule of its tensor type, dlpack_exchange_api. */
typedef struct dl_tensor {
  void *data;
  int32_t device_type, device;
  int32_t dims;
  uint8_t code, bits;
  uint16_t lanes;
  const int64_t *shape, *strides;
  uint64_t byte_offset;
} dl_tensor;
typedef struct dl_functions {
  uint32_t major, minor;
  const void *older;
  int (*allocate)(void), (*own)(void), (*give)(void); /* not used */
  int (*read)(void *object, dl_tensor *out);
  int (*stream)(int device_type, int32_t device, void **out);
} dl_functions;
enum { DL_CUDA = 2, DL_ROCM = 10, DL_MANAGED = 13 };
static const dl_functions *dl; /* of torch_tensor; NULL: an older PyTorch */

/* --- one tensor --- */

static int32_t code_of_name(const char *s) {
  static const char *const names[] = {"bfloat16", "float16", "int32", "float32", "int64", "float64", "uint8",
                                      [MLAF_VIEW_OTHER] = "", "float8_e4m3fn", "float8_e4m3fnuz"};
  const char *dot = strrchr(s, '.');
  for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
    if (!strcmp(dot ? dot + 1 : s, names[i])) return i;
  return MLAF_VIEW_OTHER;
}

/* "torch.bfloat16" and "bfloat16" alike. */
static int32_t learn_dtype(PyObject *dtype) {
  PyObject *text = PyObject_Str(dtype);
  PyObject *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
  const int32_t code = bytes ? code_of_name(PyBytes_AsString(bytes)) : MLAF_VIEW_OTHER;
  Py_XDECREF(text);
  if (!bytes) PyErr_Clear();
  Py_XDECREF(bytes);
  if (n_dtypes < DTYPES) {
    Py_INCREF(dtype);
    dtypes[n_dtypes].object = dtype;
    dtypes[n_dtypes++].code = code;
  }
  return code;
}

static int read_dtype(PyObject *t, mlaf_view *v) {
  PyObject *dtype = PyObject_GetAttr(t, name.dtype);
  int i = 0;
  if (!dtype) return 0;
  while (i < n_dtypes && dtypes[i].object != dtype) i++;
  v->dtype = i < n_dtypes ? dtypes[i].code : learn_dtype(dtype);
  Py_DECREF(dtype);
  return 1;
}

/* Takes `list` over. How many entries it has; -1: an error is set. Of more than four the first four are kept. */
static int read_list(PyObject *list, int64_t out[4]) {
  PyObject *tuple = list && PyTuple_Check(list) ? list : list ? PySequence_Tuple(list) : NULL;
  if (tuple != list) Py_XDECREF(list);
  if (!tuple) return -1;
  const Py_ssize_t n = PyTuple_Size(tuple);
  for (Py_ssize_t i = 0; i < n && i < 4; i++) out[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
  Py_DECREF(tuple);
  return PyErr_Occurred() ? -1 : n < 127 ? (int)n : 127;
}

/* The number of the tensor's device; where there is no get_device, or it has no answer, that is not known. */
static int32_t read_place(PyObject *t) {
  PyObject *got = PyObject_CallMethodObjArgs(t, name.get_device, NULL);
  const long where = got ? PyLong_AsLong(got) : MLAF_WHERE_UNKNOWN;
  Py_XDECREF(got);
  if (!PyErr_Occurred()) return (int32_t)where;
  PyErr_Clear();
  return MLAF_WHERE_UNKNOWN;
}

static int32_t code_of_dl(const dl_tensor *t) {
  static const struct {
    uint8_t code, bits;
  } known[] = {{4, 16}, {2, 16}, {0, 32}, {2, 32}, {0, 64}, {2, 64}, {1, 8}, [MLAF_VIEW_OTHER] = {0, 0}, {10, 8}, {11, 8}};
  for (int i = 0; i < (int)(sizeof known / sizeof *known); i++) /* as code_of_name's */
    if (t->code == known[i].code && t->bits == known[i].bits && t->lanes == 1) return i;
  return MLAF_VIEW_OTHER;
}

/* False: the tensor does not let itself be read so. */
static int read_dl(PyObject *t, mlaf_view *v) {
  dl_tensor d = {.data = NULL};
  if (dl->read(t, &d) || (d.dims && (!d.shape || !d.strides))) {
    PyErr_Clear();
    return 0;
  }
  const int on_device = d.device_type == DL_CUDA || d.device_type == DL_ROCM || d.device_type == DL_MANAGED;
  v->data = d.data ? (char *)d.data + d.byte_offset : NULL;
  v->dims = d.dims;
  v->dtype = code_of_dl(&d);
  v->where = on_device ? d.device : MLAF_ON_HOST;
  for (int i = 0; i < d.dims && i < 4; i++) {
    v->shape[i] = d.shape[i];
    v->stride[i] = d.strides[i];
  }
  return 1;
}

int fast_read_view(PyObject *t, mlaf_view *v) {
  if (t == Py_None) return 1; /* left out */
  if (dl && (PyObject *)Py_TYPE(t) == torch_tensor && read_dl(t, v)) return 1;
  PyObject *data = PyObject_CallMethodObjArgs(t, name.data_ptr, NULL);
  if (!data) return 0;
  v->data = PyLong_AsVoidPtr(data);
  Py_DECREF(data);
  v->dims = read_list(PyObject_GetAttr(t, name.shape), v->shape);
  if (v->dims < 0 || PyErr_Occurred() || !read_dtype(t, v)) return 0;
  if (read_list(PyObject_CallMethodObjArgs(t, name.stride, NULL), v->stride) < 0) return 0;
  v->where = read_place(t);
  return 1;
}

int fast_is_dense(const mlaf_view *v) {
  int64_t expected = 1;
  for (int i = (v->dims > 4 ? 4 : v->dims) - 1; i >= 0; i--) {
    if (v->shape[i] > 1 && v->stride[i] != expected) return 0;
    expected *= v->shape[i];
  }
  return 1;
}

/* A dense copy, in stream order, where the tensor's library makes one; *held keeps it. */
static int read_copy(PyObject *t, mlaf_view *v, PyObject **held) {
  *held = PyObject_CallMethodObjArgs(t, name.contiguous, NULL);
  if (!*held) { /* the library says what is wrong with the tensor */
    PyErr_Clear();
    return 1;
  }
  *v = (mlaf_view){.data = NULL};
  return fast_read_view(*held, v);
}

/* Rows of a part of Q are read where they lie if their strides and addresses are multiples of 16 bytes. */
static int is_aligned(const mlaf_view *v) {
  int good = v->dims > 1 && v->dims <= 4 && v->stride[v->dims - 1] == 1 && !((uintptr_t)v->data % 16);
  for (int i = 0; good && i + 1 < v->dims; i++) good = v->shape[i] <= 1 || (v->stride[i] % 8 == 0 && v->stride[i] > 0);
  return good;
}

/* Makes columns of one dense tensor that tensor again. */
static int is_joined(mlaf_view *q, mlaf_view *pe) {
  const int last = q->dims - 1;
  int same = q->dims == pe->dims && pe->data == (char *)q->data + 2 * q->shape[last];
  for (int i = 0; same && i < last; i++) same = q->shape[i] == pe->shape[i] && q->stride[i] == pe->stride[i];
  mlaf_view all = *q;
  all.shape[last] += pe->shape[last];
  if (!same || !fast_is_dense(&all)) return 0;
  *q = all;
  *pe = (mlaf_view){.data = NULL};
  return 1;
}

/* Q as a pair of tensors; *unread where kernels do not read them as they are. */
static int read_q_pair(PyObject *q, mlaf_call *c, int *unread) {
  if (!PyTuple_Check(q) || PyTuple_Size(q) != 2) { /* Python makes a pair of it, or says what is wrong */
    *unread = 1;
    return 1;
  }
  if (!fast_read_view(PyTuple_GetItem(q, 0), &c->q) || !fast_read_view(PyTuple_GetItem(q, 1), &c->q_pe)) return 0;
  *unread = !is_joined(&c->q, &c->q_pe) && (!is_aligned(&c->q) || !is_aligned(&c->q_pe) || c->q_pe.shape[c->q_pe.dims - 1] < 32);
  return 1;
}
static PyObject *first_of(PyObject *q) { return PyTuple_Check(q) && PyTuple_Size(q) ? PyTuple_GetItem(q, 0) : q; }

/* Kernels read one tensor dense, a pair as it lies. */
static int read_q(PyObject *q, mlaf_call *c, PyObject **held, int *unread) {
  if (PyTuple_Check(q) || PyList_Check(q)) return read_q_pair(q, c, unread);
  return fast_read_view(q, &c->q) && (fast_is_dense(&c->q) || read_copy(q, &c->q, held));
}

/* Index lists [B, q_len, topk] whose tokens do not lie one stride apart are copied. */
static int read_entries(PyObject *t, mlaf_view *v, PyObject **held) {
  if (!fast_read_view(t, v)) return 0;
  const int even = v->dims != 3 || v->shape[0] <= 1 || v->shape[1] <= 1 || v->stride[0] == v->shape[1] * v->stride[1];
  return even || read_copy(t, v, held);
}

/* --- PyTorch --- */

static void find_dl(void) {
  PyObject *capsule = PyObject_GetAttrString(torch_tensor, "__dlpack_c_exchange_api__");
  const dl_functions *f = capsule ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
  if (f && f->major == 1 && f->read && f->stream) dl = f; /* lives as long as the process */
  Py_XDECREF(capsule);
}

/* {"dtype": torch.<name>} */
static PyObject *options_of(PyObject *torch, const char *dtype) {
  PyObject *value = PyObject_GetAttrString(torch, dtype), *options = value ? Py_BuildValue("{s:O}", "dtype", value) : NULL;
  Py_XDECREF(value);
  return options;
}

static void find_like(PyObject *torch) {
  PyObject *format = PyObject_GetAttrString(torch, "contiguous_format");
  torch_dense = format ? Py_BuildValue("{s:O}", "memory_format", format) : NULL;
  torch_like = torch_dense ? PyObject_GetAttrString(torch, "empty_like") : NULL;
  Py_XDECREF(format);
}

/* 1 once PyTorch is known. It is looked for, never imported. */
int fast_find_torch(void) {
  if (torch_tensor) return 1;
  PyObject *key = PyUnicode_FromString("torch"), *torch = key ? PyImport_GetModule(key) : NULL;
  PyObject *c = torch ? PyObject_GetAttrString(torch, "_C") : NULL;
  PyObject *tensor = c ? PyObject_GetAttrString(torch, "Tensor") : NULL;
  torch_bytes = tensor ? options_of(torch, "uint8") : NULL;
  torch_floats = torch_bytes ? options_of(torch, "float32") : NULL;
  torch_stream = torch_floats ? PyObject_GetAttrString(c, "_cuda_getCurrentRawStream") : NULL; /* none in a build for CPUs */
  if (torch_floats) {
    torch_tensor = tensor;
    find_dl();
    PyErr_Clear();
    find_like(torch);
  } else {
    Py_CLEAR(torch_bytes);
    Py_XDECREF(tensor);
  }
  Py_XDECREF(key);
  Py_XDECREF(torch);
  Py_XDECREF(c);
  PyErr_Clear();
  return torch_tensor != NULL;
}

/* Py_RETURN_NONE of Python 3.12's headers takes no reference, and Pythons before it that load this module want one. */
static PyObject *none(void) {
  Py_INCREF(Py_None);
  return Py_None;
}

/* 1 once both functions of PyTorch's are known that say what it is doing. */
static int find_modes(void) {
  if (torch_records) return 1;
  PyObject *torch = PyImport_GetModule(name.torch);
  PyObject *compiler = torch ? PyObject_GetAttrString(torch, "compiler") : NULL;
  torch_traces = compiler ? PyObject_GetAttrString(compiler, "is_compiling") : NULL;
  torch_records = torch_traces ? PyObject_GetAttrString(torch, "is_grad_enabled") : NULL;
  if (!torch_records) Py_CLEAR(torch_traces);
  PyObject *inner = torch_records ? PyObject_GetAttrString(torch, "_C") : NULL;
  PyObject *functorch = inner ? PyObject_GetAttrString(inner, "_functorch") : NULL;
  torch_seen[0] = inner ? PyObject_GetAttrString(inner, "_len_torch_dispatch_stack") : NULL;
  torch_seen[1] = functorch ? PyObject_GetAttrString(functorch, "peek_interpreter_stack") : NULL;
  torch_seen[2] = inner ? PyObject_GetAttrString(inner, "_get_tracing_state") : NULL;
  Py_XDECREF(functorch);
  Py_XDECREF(inner);
  Py_XDECREF(torch);
  Py_XDECREF(compiler);
  PyErr_Clear();
  return torch_records != NULL;
}

/* 1 while something of PyTorch's would see an operator, and not what a plain call does; -1 with an error. */
static int is_seen(void) {
  for (size_t i = 0; i < sizeof torch_seen / sizeof *torch_seen; i++) {
    PyObject *found = torch_seen[i] ? PyObject_CallNoArgs(torch_seen[i]) : NULL;
    int seen = found && found != Py_None && PyObject_IsTrue(found);
    Py_XDECREF(found);
    if (seen) return 1;
    if (torch_seen[i] && !found) return -1;
  }
  return 0;
}

/* mode() of torch_state.py: 1 while PyTorch traces, 2 while it records for a backward pass, else None. */
static PyObject *mode(PyObject *self, PyObject *unused) {
  if (!find_modes()) return none();
  PyObject *traces = PyObject_CallNoArgs(torch_traces);
  if (!traces) return NULL;
  int sees = traces == Py_True ? 1 : is_seen();
  PyObject *records = sees ? NULL : PyObject_CallNoArgs(torch_records);
  if (sees < 0 || (!sees && !records)) {
    Py_DECREF(traces);
    return NULL;
  }
  long n = sees ? 1 : records == Py_True ? 2 : 0;
  Py_DECREF(traces);
  Py_XDECREF(records);
  if (!n) return none();
  return PyLong_FromLong(n);
}

/* Address of the stream that is current for q's device. */
void *fast_current_stream(PyObject *q, const mlaf_view *v) {
  if (v->where < 0 || !fast_find_torch() || !torch_stream || PyObject_IsInstance(q, torch_tensor) <= 0) {
    PyErr_Clear();
    return NULL;
  }
  void *address = NULL;
  if (dl && (PyObject *)Py_TYPE(q) == torch_tensor && !dl->stream(DL_CUDA, v->where, &address)) return address;
  PyErr_Clear();
  PyObject *index = PyLong_FromLong(v->where);
  PyObject *got = index ? PyObject_CallFunctionObjArgs(torch_stream, index, NULL) : NULL;
  void *stream = got ? PyLong_AsVoidPtr(got) : NULL;
  Py_XDECREF(index);
  Py_XDECREF(got);
  return stream;
}

/* A stream as the caller names it: None, an address, an object with cuda_stream. */
void *fast_named_stream(PyObject *given) {
  if (PyLong_CheckExact(given)) return PyLong_AsVoidPtr(given);
  PyObject *inner = PyObject_GetAttr(given, name.cuda_stream);
  if (!inner) PyErr_Clear();
  void *stream = PyLong_AsVoidPtr(inner ? inner : given);
  Py_XDECREF(inner);
  return stream;
}

/* While a stream captures, the graph's own pool: PyTorch gives it out and keeps it with the graph. */
typedef struct torch_memory {
  PyObject *q, *held;
  void *stream;
  const mlaf_view *view;
} torch_memory;

static void *alloc(void *user, size_t bytes) {
  torch_memory *m = user;
  void *data = NULL;
  PyGILState_STATE gil = PyGILState_Ensure();
  if (fast_find_torch() && PyObject_IsInstance(m->q, torch_tensor) == 1 && fast_current_stream(m->q, m->view) == m->stream) {
    PyObject *new_empty = PyObject_GetAttr(m->q, name.new_empty), *arguments = Py_BuildValue("((n))", (Py_ssize_t)bytes);
    mlaf_view v = {.data = NULL};
    if (new_empty && arguments) m->held = PyObject_Call(new_empty, arguments, torch_bytes);
    if (m->held && fast_read_view(m->held, &v)) data = v.data;
    Py_XDECREF(new_empty);
    Py_XDECREF(arguments);
  }
  PyErr_Clear(); /* the library says what to do without */
  PyGILState_Release(gil);
  return data;
}

int fast_is_torch(PyObject *t) { return fast_find_torch() && (PyObject *)Py_TYPE(t) == torch_tensor; }

PyObject *fast_empty_like(PyObject *given) {
  PyObject *arguments = torch_like ? PyTuple_Pack(1, given) : NULL, *made = NULL;
  if (arguments) made = PyObject_Call(torch_like, arguments, torch_dense);
  Py_XDECREF(arguments);
  return made;
}

/* --- the call --- */

enum { CTX, PLAN, CAUSAL, SIZE, MEAN, SCALE, STREAM, WORKSPACE, Q, CACHE, O, LSE, TABLES };

/* A number that does not fit becomes the largest that does: the library refuses that. */
static int32_t as_int32(PyObject *x) {
  const long v = PyLong_AsLong(x);
  return (int32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}

/* One tensor, or a pair of latent and rope columns. */
static int read_cached(PyObject *cache, mlaf_call *c) {
  if (!PyTuple_Check(cache) && !PyList_Check(cache)) return fast_read_view(cache, &c->cache);
  PyObject *pair = PySequence_Tuple(cache);
  int good = pair && PyTuple_Size(pair) == 2;
  if (pair && !good)
    PyErr_Format(PyExc_ValueError, "the cache is %zd tensors, must be one, or two: ckv and kpe", PyTuple_Size(pair));
  good = good && fast_read_view(PyTuple_GetItem(pair, 0), &c->cache) && fast_read_view(PyTuple_GetItem(pair, 1), &c->cache_kpe);
  Py_XDECREF(pair);
  return good;
}

/* Those as they are, or of 8 bits: with mlaf_kv_format, and the scales or None, as many as a call has. */
static int read_cache(PyObject *cache, mlaf_call *c) {
  const Py_ssize_t n = PyTuple_Check(cache) ? PyTuple_Size(cache) : 0;
  if (n < 3 || !PyLong_Check(PyTuple_GetItem(cache, 1))) return read_cached(cache, c);
  c->cache_format = as_int32(PyTuple_GetItem(cache, 1));
  for (Py_ssize_t i = 2; i < n && i - 2 < n_scales; i++)
    if (!fast_read_view(PyTuple_GetItem(cache, i), (mlaf_view *)((char *)c + scales[i - 2]))) return 0;
  return read_cached(PyTuple_GetItem(cache, 0), c);
}

/* Reads the arguments that are no tensors, and the tensors that are always there. */
static int read_common(PyObject *const *a, mlaf_call *c, PyObject **held, int *unread) {
  c->plan = PyLong_AsVoidPtr(a[PLAN]);
  c->causal = as_int32(a[CAUSAL]);
  c->mean_kv_len = as_int32(a[MEAN]);
  c->scale = a[SCALE] == Py_None ? 0 : (float)PyFloat_AsDouble(a[SCALE]);
  c->flags = a[SCALE] == Py_None ? 0 : MLAF_CALL_SCALE;
  return !PyErr_Occurred() && read_q(a[Q], c, held, unread) && read_cache(a[CACHE], c) &&
         fast_read_view(a[WORKSPACE], &c->workspace);
}

static int read_tables(PyObject *const *a, Py_ssize_t n, mlaf_call *c) {
  mlaf_view *const lists[] = {&c->qo_indptr, &c->kv_indptr, &c->kv_indices, &c->kv_last_page_lens};
  mlaf_view *const block[] = {&c->qo_indptr, &c->block_table, &c->seq_lens};
  mlaf_view *const *views = n == 4 ? lists : n == 3 ? block : block + 1;
  for (Py_ssize_t i = 0; i < n; i++)
    if (!fast_read_view(a[i], views[i])) return 0;
  return 1;
}

/* False: a Python error is set. */
static int make_call(PyObject *const *a, mlaf_call *c, int *status) {
  torch_memory memory = {.q = first_of(a[Q]), .view = &c->q};
  memory.stream = a[STREAM] == Py_None ? fast_current_stream(memory.q, &c->q) : fast_named_stream(a[STREAM]);
  void *ctx = PyLong_AsVoidPtr(a[CTX]);
  if (PyErr_Occurred()) return 0;
  c->alloc = alloc;
  c->alloc_user = &memory;
  PyThreadState *thread = PyEval_SaveThread(); /* planning may take long, and logs */
  *status = run_call(ctx, c, memory.stream);
  PyEval_RestoreThread(thread);
  Py_XDECREF(memory.held);
  return 1;
}

/* run(ctx, plan_opts, causal, q_len, mean_kv_len, scale, stream, workspace, q, cache, o, lse, 4 lists or block_table and
 * seq_lens, perhaps behind qo_indptr) -> status, or None, and nothing is launched, where the cache has bytes and nobody said what
 * they hold, where q is a pair that kernels do not read as it lies, and where o or lse is to be made. Addresses are integers. */
static PyObject *run(PyObject *self, PyObject *const *a, Py_ssize_t n) {
  mlaf_call c = MLAF_CALL_INIT;
  PyObject *dense = NULL;
  int status = 0, unread = 0;
  if (!run_call || n < TABLES + 2 || n > TABLES + 4)
    return PyErr_Format(PyExc_TypeError, "run: %zd arguments, or bind was not called", n);
  fast_find_torch();
  c.q_len = as_int32(a[SIZE]);
  const int common = !PyErr_Occurred() && read_common(a, &c, &dense, &unread);
  const int makes = a[O] == Py_None || a[LSE] == Py_True;
  const int unsaid = common && (unread || (c.cache.dtype >= MLAF_VIEW_U8 && !c.cache_format));
  const int good = common && !unsaid && !makes && fast_read_view(a[O], &c.o) && fast_read_view(a[LSE], &c.lse) &&
                   read_tables(a + TABLES, n - TABLES, &c) && make_call(a, &c, &status);
  Py_XDECREF(dense);
  return common && (unsaid || makes) ? none() : good ? PyLong_FromLong(status) : NULL;
}

/* --- FlashMLA's call, outputs and all --- */

/* Making a tensor by shape and strides takes PyTorch twice as long as making one like another. So of layouts that come again a
 * likeness is kept: one element, expanded. */
typedef struct likeness {
  int64_t shape[4]; /* b, n, h, size */
  int32_t dtype, where;
  int seen;
  PyObject *out, *lse; /* NULL: not made yet, or not to be made so */
} likeness;
enum { LIKENESSES = 64 };
static likeness likenesses[LIKENESSES];

/* A tensor of this shape that holds one element; NULL: made another way, then. */
static PyObject *expanded(PyObject *q, PyObject *dtype, PyObject *shape) {
  PyObject *make = PyObject_GetAttr(q, name.new_empty), *one = make ? Py_BuildValue("((i))", 1) : NULL;
  PyObject *element = one ? PyObject_Call(make, one, dtype) : NULL;
  PyObject *all = element && shape ? PyObject_CallMethodObjArgs(element, name.expand, shape, NULL) : NULL;
  Py_XDECREF(make);
  Py_XDECREF(one);
  Py_XDECREF(element);
  Py_XDECREF(shape);
  PyErr_Clear();
  return all;
}

static int is_of(const likeness *l, const likeness *layout) {
  return l->dtype == layout->dtype && l->where == layout->where && !memcmp(l->shape, layout->shape, sizeof l->shape);
}

/* Whenever PyTorch is asked for something, another thread may come by, and the entry become another layout's. */
static void learn(likeness *l, const likeness *layout, PyObject *q) {
  const long long b = layout->shape[0], n = layout->shape[1], h = layout->shape[2];
  PyObject *out = expanded(q, NULL, Py_BuildValue("(LLLL)", b, n, h, (long long)layout->shape[3])), *lse = NULL;
  if (n == 1) lse = expanded(q, torch_floats, Py_BuildValue("(LLL)", b, h, 1LL)); /* else it is not dense */
  if (is_of(l, layout) && !l->out && !l->lse) {
    l->out = out;
    l->lse = lse;
    return;
  }
  Py_XDECREF(out);
  Py_XDECREF(lse);
}

/* Returns the layout's entry, with references of the caller's. A layout that comes for the second time is learnt. */
static likeness likeness_of(PyObject *q, const mlaf_view *v, int64_t size) {
  likeness layout = {.shape = {v->shape[0], v->shape[1], v->shape[2], size}, .dtype = v->dtype, .where = v->where};
  uint64_t h = (uint64_t)(uint32_t)v->dtype << 8 | (uint8_t)v->where;
  if (!torch_like || (PyObject *)Py_TYPE(q) != torch_tensor || !v->shape[0] || !v->shape[1] || !v->shape[2]) return layout;
  for (int i = 0; i < 4; i++) h = (h ^ (uint64_t)layout.shape[i]) * 0x9e3779b97f4a7c15u;
  likeness *l = &likenesses[h >> 58];
  if (!is_of(l, &layout)) {
    const likeness other = *l;
    *l = layout;
    Py_XDECREF(other.out);
    Py_XDECREF(other.lse);
  }
  if (is_of(l, &layout) && l->seen < 2 && ++l->seen == 2) learn(l, &layout, q);
  if (!is_of(l, &layout)) return layout;
  layout.out = l->out;
  layout.lse = l->lse;
  Py_XINCREF(layout.out);
  Py_XINCREF(layout.lse);
  return layout;
}

/* out [B, q_len, H, size]. */
static PyObject *make_out(PyObject *q, const mlaf_view *v, int64_t size, const likeness *l) {
  const long long b = v->shape[0], n = v->shape[1], h = v->shape[2];
  if (l->out) return fast_empty_like(l->out);
  PyObject *shape = Py_BuildValue("(LLLL)", b, n, h, (long long)size);
  PyObject *strides = Py_BuildValue("(LLLL)", n * h * size, h * size, (long long)size, 1LL);
  PyObject *out = shape && strides ? PyObject_CallMethodObjArgs(q, name.new_strided, shape, strides, NULL) : NULL;
  Py_XDECREF(shape);
  Py_XDECREF(strides);
  return out;
}

/* lse [B, H, q_len] over memory of [B, q_len, H]. */
static PyObject *make_lse(PyObject *q, const mlaf_view *v, const likeness *l) {
  const long long b = v->shape[0], n = v->shape[1], h = v->shape[2];
  if (l->lse) return fast_empty_like(l->lse);
  PyObject *make = PyObject_GetAttr(q, name.new_strided);
  PyObject *layout = Py_BuildValue("((LLL)(LLL))", b, h, n, n * h, 1LL, h);
  PyObject *lse = make && layout ? PyObject_Call(make, layout, torch_floats) : NULL;
  Py_XDECREF(make);
  Py_XDECREF(layout);
  return lse;
}

/* Given, or made. False: an error is set. */
static int take_outputs(PyObject *const *a, const mlaf_view *q, int64_t size, PyObject **out, PyObject **lse) {
  likeness l = {.out = NULL};
  if (a[O] == Py_None || a[LSE] == Py_None) l = likeness_of(a[Q], q, size);
  *out = a[O] == Py_None ? make_out(a[Q], q, size, &l) : a[O];
  *lse = !*out ? NULL : a[LSE] == Py_None ? make_lse(a[Q], q, &l) : a[LSE];
  Py_XDECREF(l.out);
  Py_XDECREF(l.lse);
  if (*out && *out == a[O]) Py_INCREF(*out);
  if (*lse && *lse == a[LSE]) Py_INCREF(*lse);
  return *lse != NULL;
}

/* This path serves only these calls: the Python code serves the rest, and reports what is wrong. inverts: rows without keys shall
 * have +inf. */
static int is_plain(PyObject *const *a, const mlaf_view *q, int64_t size, int inverts) {
  const int makes = a[O] == Py_None || a[LSE] == Py_None;
  if (inverts && (a[STREAM] != Py_None || (a[LSE] != Py_None && (PyObject *)Py_TYPE(a[LSE]) != torch_tensor))) return 0;
  return q->dims == 4 && size > 0 && size <= q->shape[3] && (!makes || (PyObject *)Py_TYPE(a[Q]) == torch_tensor);
}

/* -inf to +inf, by PyTorch on its current stream. */
static int invert(PyObject *lse) {
  PyObject *method = PyObject_GetAttr(lse, name.nan_to_num), *done = method ? PyObject_CallObject(method, infinities) : NULL;
  Py_XDECREF(method);
  Py_XDECREF(done);
  return done != NULL;
}

/* References that a call holds until it is made. */
typedef struct flash_refs {
  PyObject *dense, *out, *lse, *entries, *extra_entries;
} flash_refs;

/* Index lists, how many of their entries count, and sinks, in place of tables; then a second pool with its lists. */
enum { FLASH_LISTS = 6 };
static int read_index_lists(PyObject *const *a, mlaf_call *c, flash_refs *r) {
  return read_entries(a[0], &c->indices, &r->entries) && fast_read_view(a[1], &c->topk_length) &&
         fast_read_view(a[2], &c->attn_sink) && fast_read_view(a[3], &c->extra_cache) &&
         read_entries(a[4], &c->extra_indices, &r->extra_entries) && fast_read_view(a[5], &c->extra_topk_length);
}

static PyObject *flash_with(PyObject *const *a, Py_ssize_t tables, flash_refs *r, int inverts) {
  mlaf_call c = MLAF_CALL_INIT;
  int status = 0, unread = 0;
  const int64_t size = PyLong_AsLongLong(a[SIZE]);
  if (PyErr_Occurred() || !read_common(a, &c, &r->dense, &unread)) return NULL;
  if (unread || c.q_pe.dims || !is_plain(a, &c.q, size, inverts)) return none();
  if (!take_outputs(a, &c.q, size, &r->out, &r->lse)) return NULL;
  if (!fast_read_view(r->out, &c.o) || !fast_read_view(r->lse, &c.lse)) return NULL;
  if (c.o.dims != 4 || c.o.shape[3] != size) return none();
  if (tables == FLASH_LISTS ? !read_index_lists(a + TABLES, &c, r) : !read_tables(a + TABLES, 2, &c)) return NULL;
  if (!make_call(a, &c, &status)) return NULL;
  if (status) return PyLong_FromLong(status);
  return inverts && !invert(r->lse) ? NULL : PyTuple_Pack(2, r->out, r->lse);
}

/* flash(ctx, plan_opts, causal, head_dim_v, mean_kv_len, scale, stream, workspace, q, cache, out, lse, block_table, seq_lens,
 * inverts), or with the members of flashmla.Lists for the two tables -> (out, lse), made where they are None; a status; or
 * None: not served here. inverts: lse of rows without keys is +inf, not -inf. */
static PyObject *flash(PyObject *self, PyObject *const *a, Py_ssize_t n) {
  flash_refs r = {.dense = NULL};
  const Py_ssize_t tables = n - TABLES - 1;
  if (!run_call || (tables != 2 && tables != FLASH_LISTS))
    return PyErr_Format(PyExc_TypeError, "flash: %zd arguments, or bind was not called", n);
  fast_find_torch();
  PyObject *result = flash_with(a, tables, &r, PyObject_IsTrue(a[n - 1]));
  Py_XDECREF(r.dense);
  Py_XDECREF(r.out);
  Py_XDECREF(r.lse);
  Py_XDECREF(r.entries);
  Py_XDECREF(r.extra_entries);
  return result;
}

/* bind(address of mlaf_call_run, places of a call's scales) */
static PyObject *bind(PyObject *self, PyObject *const *a, Py_ssize_t n) {
  void *p = n ? PyLong_AsVoidPtr(a[0]) : NULL;
  for (n_scales = 0; n_scales < n - 1 && n_scales < SCALES; n_scales++) scales[n_scales] = PyLong_AsSsize_t(a[n_scales + 1]);
  if (PyErr_Occurred()) return NULL;
  memcpy(&run_call, &p, sizeof p);
  return none();
}

static PyMethodDef methods[] = {{"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL, NULL},
                                {"flash", (PyCFunction)(void (*)(void))flash, METH_FASTCALL, NULL},
                                {"bind", (PyCFunction)(void (*)(void))bind, METH_FASTCALL, NULL},
                                {"mode", mode, METH_NOARGS, NULL},
                                {"layer", fast_layer, METH_VARARGS, NULL},
                                {"forward", (PyCFunction)(void (*)(void))fast_forward, METH_FASTCALL, NULL},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {.m_base = PyModuleDef_HEAD_INIT, .m_name = "_fast", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit__fast(void);
PyMODINIT_FUNC PyInit__fast(void) {
  const struct {
    PyObject **slot;
    const char *text;
  } names[] = {{&name.data_ptr, "data_ptr"},     {&name.dtype, "dtype"},           {&name.shape, "shape"},
               {&name.stride, "stride"},         {&name.get_device, "get_device"}, {&name.contiguous, "contiguous"},
               {&name.new_empty, "new_empty"},   {&name.cuda_stream, "cuda_stream"}, {&name.new_strided, "new_empty_strided"},
               {&name.expand, "expand"},         {&name.nan_to_num, "nan_to_num_"}, {&name.torch, "torch"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!(*names[i].slot = PyUnicode_InternFromString(names[i].text))) return NULL;
  infinities = Py_BuildValue("(ddd)", (double)NAN, (double)INFINITY, (double)INFINITY);
  return infinities ? PyModule_Create(&module) : NULL;
}
