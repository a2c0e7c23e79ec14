/* Tensors to arguments. Every check is made at every call: they cost nanoseconds, attributes of tensors are what costs. */
#include "mlaforge/call.h"

#include "op/cache_format.h"
#include "ops/mla_decode/fields.h"
#include "ops/mla_decode/launch.h"
#include "ops/mla_decode/problem.h"
#include "ops/mla_decode/face/face.h"

enum { WORKSPACE_ALIGN = 256, DIMS_MOST = sizeof((mlaf_view *)0)->shape / sizeof(int64_t) };
/* Bytes of earlier versions. The first had no `rotate`. */
static const size_t call_bytes[] = {MLA_DECODE_CALL_BYTES};

/* Optional tensors of fp32 numbers (gen/ops/mla_decode/args.lua). Places are in mlaf_call, mlaf_execute_args and, of a field,
 * mlaf_problem; 0: there is none. */
static const struct optional {
  const char *name;
  size_t view_at, at, rows_at, columns_at; /* its view, its address, what takes its rows, what says its columns */
  const char *shape;                       /* NULL: one number */
} optional[] = {MLA_DECODE_CALL_ROWS};

static const struct {
  const char *name;
  int32_t size;
} dtypes[] = {{"bfloat16", 2}, {"float16", 2}, {"int32", 4}, {"float32", 4}, {"int64", 8}, {"float64", 8}, {"uint8", 1},
              {"of another type", 1}, {"float8_e4m3fn", 1}, {"float8_e4m3fnuz", 1}};
static int known_dtype(int32_t dtype) { return (unsigned)dtype <= MLAF_VIEW_E4M3FNUZ ? dtype : MLAF_VIEW_OTHER; }

/* A call as it was read. */
typedef struct reading {
  mlaf_ctx *ctx;
  const mlaf_call *c;
  mlaf_err *err;
  mlaf_problem problem;
  mlaf_plan_opts plan;
  mlaf_execute_args args;
} reading;

/* --- words --- */

static void list(const int64_t *x, int n, char *out, size_t size) {
  size_t at = (size_t)snprintf(out, size, "(");
  for (int i = 0; i < n && at < size; i++)
    at += (size_t)snprintf(out + at, size - at, "%s%lld", i ? ", " : "", (long long)x[i]);
  if (at < size) snprintf(out + at, size - at, ")");
}

static mlaf_status bad_layout(const reading *r, const char *name, const mlaf_view *v, const char *want) {
  char shape[96], strides[96];
  list(v->shape, v->dims, shape, sizeof shape);
  list(v->stride, v->dims, strides, sizeof strides);
  return mlaf_fail(r->err, MLAF_E_ARG, "%s (shape %s, strides %s) %s", name, shape, strides, want);
}

static mlaf_status no_fit(const reading *r) {
  char q[96], cache[96], kpe[96], o[96];
  list(r->c->q.shape, r->c->q.dims, q, sizeof q);
  list(r->c->cache.shape, r->c->cache.dims, cache, sizeof cache);
  list(r->c->o.shape, r->c->o.dims, o, sizeof o);
  list(r->c->cache_kpe.shape, r->c->cache_kpe.dims, kpe, sizeof kpe);
  if (r->c->cache_kpe.dims)
    return mlaf_fail(r->err, MLAF_E_ARG, "q %s, the cache's ckv %s and kpe %s, and the output %s do not fit together", q, cache,
                     kpe, o);
  return mlaf_fail(r->err, MLAF_E_ARG, "q %s, the cache %s and the output %s do not fit together", q, cache, o);
}

/* --- one tensor --- */

static mlaf_status check_place(const reading *r, const char *name, const mlaf_view *v) {
  mlaf_device *dev = mlaf_ctx_device(r->ctx);
  const int here = mlaf_info(dev)->ordinal;
  bool reached = true;
  if (v->where == here || !v->data) return MLAF_OK;
  if (v->where >= 0)
    return mlaf_fail(r->err, MLAF_E_ARG, "%s lies on device %d, the context works on device %d: open one for that device "
                     "(\"%s:%d\")", name, v->where, here, mlaf_ops(dev)->name, v->where);
  if (v->where == MLAF_WHERE_UNKNOWN && mlaf_ops(dev)->can_reach) {
    mlaf_status st = mlaf_ops(dev)->can_reach(dev, v->data, &reached, r->err);
    if (st) return mlaf_fail_prefix(r->err, st, "%s", name);
  }
  if (v->where == MLAF_WHERE_UNKNOWN && reached) return MLAF_OK;
  return mlaf_fail(r->err, MLAF_E_ARG, "%s lies in host memory (a CPU tensor): move it to the device first", name);
}

static mlaf_status check_view(const reading *r, const char *name, const mlaf_view *v, int dims, int dtype) {
  if (v->dims && v->dtype != dtype)
    return mlaf_fail(r->err, MLAF_E_ARG, "%s is %s, must be %s", name,
                     dtypes[known_dtype(v->dtype)].name, dtypes[dtype].name);
  if (v->dims != dims) {
    char shape[96];
    list(v->shape, v->dims > 4 ? 4 : v->dims, shape, sizeof shape);
    return mlaf_fail(r->err, MLAF_E_ARG, "%s has shape %s; %d dimensions are expected", name, shape, dims);
  }
  for (int i = 0; i < dims; i++)
    if (v->shape[i] < 0 || v->shape[i] > INT32_MAX) return bad_layout(r, name, v, "has an impossible size");
  return check_place(r, name, v);
}

/* Row-major without gaps; dimensions of one element may have any stride, and so may all of a tensor without elements. */
static bool is_dense(const mlaf_view *v) {
  int64_t expected = 1;
  for (int i = 0; i < v->dims; i++)
    if (!v->shape[i]) return true;
  for (int i = v->dims - 1; i >= 0; i--) {
    if (v->shape[i] != 1 && v->stride[i] != expected) return false;
    if (__builtin_mul_overflow(expected, v->shape[i], &expected)) return false;
  }
  return true;
}

static mlaf_status check_table(const reading *r, const char *name, const mlaf_view *v, int64_t least) {
  mlaf_status st = check_view(r, name, v, 1, MLAF_VIEW_INT32);
  if (!st && !is_dense(v)) return bad_layout(r, name, v, "must be contiguous");
  if (!st && v->shape[0] < least)
    return mlaf_fail(r->err, MLAF_E_ARG, "%s has %lld entries, at least %lld are expected", name, (long long)v->shape[0],
                     (long long)least);
  return st;
}

/* --- q, cache, output, lse --- */

static int32_t common_divisor(int64_t a, int64_t b) {
  while (b) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return (int32_t)a;
}

/* [pages, page, columns] as [pages, page, 1, columns]. */
static mlaf_view with_head(mlaf_view v) {
  if (v.dims != 3) return v;
  v.dims = 4;
  v.shape[3] = v.shape[2], v.stride[3] = v.stride[2];
  v.shape[2] = 1;
  return v;
}

/* The distance of rows, and where pages do not follow each other at once that of pages in rows, else 0. */
static mlaf_status read_rows(const reading *r, const char *name, const mlaf_view *k, int64_t *row, int64_t *page_rows) {
  const int64_t tokens = k->shape[1];
  *row = tokens > 1 ? k->stride[1] : k->stride[0];
  if (k->shape[2] != 1)
    return mlaf_fail(r->err, MLAF_E_ARG, "%s has %lld KV heads, must have 1: all heads of queries read one latent cache, and "
                     "more KV heads are not served", name, (long long)k->shape[2]);
  if (tokens < 1) return bad_layout(r, name, k, "must have pages of one token at least");
  if ((k->shape[3] > 1 && k->stride[3] != 1) || *row < k->shape[3] || *row < 1)
    return bad_layout(r, name, k, "must hold its rows at one distance, with columns side by side");
  if (*row > (r->problem.cache ? 2 : 1) * MLAF_ROW_STRIDE_MAX)
    return bad_layout(r, name, k, r->problem.cache ? "must have rows at most 2^28 bytes apart"
                                                   : "must have rows at most 2^27 elements apart");
  if (k->shape[0] <= 1 || k->stride[0] == tokens * *row) return MLAF_OK;
  if (k->stride[0] % *row || k->stride[0] < tokens * *row)
    return bad_layout(r, name, k, "must have its pages a whole number of rows apart: the kernels count rows");
  *page_rows = k->stride[0] / *row;
  return MLAF_OK;
}

/* Pages whose scales lie behind their rows: bytes from one to the next, 0 where there is one, which the launch checks. */
static mlaf_status read_pages(const reading *r, const char *name, const mlaf_view *k, int64_t *page_stride) {
  if (k->shape[2] != 1 || k->shape[1] < 1)
    return bad_layout(r, name, k, "must have pages of one token at least, and 1 KV head");
  if (k->stride[3] != 1 || (k->shape[1] > 1 && k->stride[1] != k->shape[3]))
    return bad_layout(r, name, k, "must have the bytes of a page side by side: those of its rows, then those of its scales");
  if (k->shape[0] > 1 && k->stride[0] <= 0)
    return bad_layout(r, name, k, "must have its pages apart: of an expanded tensor pass .contiguous()");
  *page_stride = k->shape[0] > 1 ? k->stride[0] : 0;
  return MLAF_OK;
}

static mlaf_status read_kpe(reading *r, const mlaf_view *k, const mlaf_view *kpe) {
  int64_t page_rows = 0;
  const mlaf_cache_format *f = mlaf_decode_format(&r->problem, true);
  mlaf_status st = read_rows(r, "the cache's kpe", kpe, &r->args.kpe_row_stride, &page_rows);
  if (st) return st;
  if (kpe->shape[0] != k->shape[0] || kpe->shape[1] != k->shape[1] || page_rows != r->args.page_rows)
    return bad_layout(r, "the cache's kpe", kpe, "must have as many pages, of as many rows and as many rows apart, as its ckv");
  r->args.kpe_row_stride *= f->second.number / f->unit; /* bytes beside a latent of bytes */
  r->args.kpe = k->shape[0] ? kpe->data : r->c->q.data; /* an empty tensor has no address, which would say that there is one */
  return MLAF_OK;
}

/* Pages that do not follow each other at once are read as pages of the largest size that divides both a page and its distance. */
static mlaf_status read_cache(reading *r, const mlaf_view *k, const mlaf_view *kpe) {
  const int64_t tokens = k->shape[1];
  mlaf_status st = mlaf_decode_format(&r->problem, false)->aside
                       ? read_pages(r, "the cache", k, &r->args.ckv_page_stride)
                       : read_rows(r, "the cache", k, &r->args.ckv_row_stride, &r->args.page_rows);
  if (!st && kpe->dims) st = read_kpe(r, k, kpe);
  if (st) return st;
  r->args.ckv = k->data;
  r->args.num_pages = (int32_t)k->shape[0];
  r->problem.page_size = (int32_t)tokens;
  if (!r->args.page_rows) return MLAF_OK;
  r->args.page_tokens = (int32_t)tokens;
  r->problem.page_size = common_divisor(r->args.page_rows, tokens);
  r->plan.flags |= MLAF_PLAN_TABLES;
  return MLAF_OK;
}

/* [T, H] or [B, q_len, H] dense; or [B, H, q_len] over such memory, as FlashMLA returns it. */
static mlaf_status check_lse(const reading *r) {
  const mlaf_view *l = &r->c->lse, *q = &r->c->q;
  const int n = q->dims - 1;
  if (!l->dims) return MLAF_OK;
  mlaf_status st = check_view(r, "lse", l, n, MLAF_VIEW_F32);
  if (st) return st;
  mlaf_view as = *l;
  if (n == 3 && !(l->shape[1] == q->shape[1] && l->shape[2] == q->shape[2] && is_dense(l))) {
    as.shape[1] = l->shape[2], as.stride[1] = l->stride[2];
    as.shape[2] = l->shape[1], as.stride[2] = l->stride[1];
  }
  bool fits = is_dense(&as);
  for (int i = 0; i < n; i++) fits = fits && as.shape[i] == q->shape[i];
  if (fits) return MLAF_OK;
  return bad_layout(r, "lse", l, n == 2 ? "must be [query tokens, heads] of q, contiguous"
                                        : "must be [batch, heads, q_len] of q over memory of [batch, q_len, heads]");
}

static bool is_bytes(int32_t dtype) {
  return dtype == MLAF_VIEW_U8 || dtype == MLAF_VIEW_E4M3FN || dtype == MLAF_VIEW_E4M3FNUZ;
}

/* Bytes without a format: those whose rows are as long as of a format that decode does not read are refused by its name. */
static mlaf_status refuse_bytes(const reading *r, const mlaf_view *k, int rank, int rope) {
  const char *const why = mlaf_cache_format_refused_row("mla_decode", k->shape[3], rank, rope);
  return mlaf_fail(r->err, MLAF_E_ARG, "the cache is %s, must be %s: %s", dtypes[k->dtype].name, dtypes[r->c->q.dtype].name,
                   why ? why : "an 8-bit cache is read where the call says its format");
}

/* Checks that a tensor of bytes holds the problem's format. */
static mlaf_status check_format(const reading *r, const char *name, const mlaf_view *k, int rank, int rope) {
  const mlaf_cache_format *f = mlaf_decode_format(&r->problem, false);
  const int own = mlaf_stored_fnuz(f->latent) ? MLAF_VIEW_E4M3FNUZ : MLAF_VIEW_E4M3FN;
  if (k->dtype != own && k->dtype != MLAF_VIEW_U8)
    return mlaf_fail(r->err, MLAF_E_ARG, "%s is %s, must be %s or uint8: its format is %s", name,
                     dtypes[known_dtype(k->dtype)].name, dtypes[own].name, f->name);
  if (k->shape[3] != mlaf_extent_bytes(f->handed, rank, rope))
    return mlaf_fail(r->err, MLAF_E_ARG, "%s has rows of %lld bytes, of %s with %d + %d columns they have %lld", name,
                     (long long)k->shape[3], f->name, rank, rope, (long long)mlaf_extent_bytes(f->handed, rank, rope));
  return MLAF_OK;
}

/* Takes the format of an 8-bit cache, and checks that its tensor holds that. */
static mlaf_status read_format(reading *r, const mlaf_view *k, int dims) {
  const int32_t format = r->c->cache_format;
  const mlaf_view *q = &r->c->q, *o = &r->c->o;
  if (format < 0 || format > MLA_DECODE_CACHE_LAST || r->c->reserved_format)
    return mlaf_fail(r->err, MLAF_E_ARG, "mlaf_call: cache_format is %d, must be 0..%d; reserved_format is %d, must be 0", format,
                     MLA_DECODE_CACHE_LAST, r->c->reserved_format);
  if (k->dims != 4 || o->dims != dims) return MLAF_OK; /* which is refused as that */
  const int rank = (int)o->shape[dims - 1];
  const int rope = (int)(r->c->q_pe.dims == dims ? r->c->q_pe.shape[dims - 1] : q->shape[dims - 1] - rank);
  if (!format) return is_bytes(k->dtype) ? refuse_bytes(r, k, rank, rope) : MLAF_OK;
  r->problem.cache = format;
  return check_format(r, "the cache", k, rank, rope);
}

/* Reads an optional tensor. The launch says where it is wanted and not there, or the other way round. */
static mlaf_status read_optional(reading *r, const struct optional *g) {
  mlaf_view v = *(const mlaf_view *)(const void *)((const char *)r->c + g->view_at);
  char want[80];
  if (!v.dims && (g->shape || !v.data)) return MLAF_OK;
  if (!v.dims) v.shape[v.dims++] = 1; /* a tensor of one number and no dimension */
  const int dims = g->rows_at ? 2 : 1;
  mlaf_status st = check_view(r, g->name, &v, dims, MLAF_VIEW_F32);
  if (st) return st;
  if (!g->shape && v.shape[0] != 1)
    return mlaf_fail(r->err, MLAF_E_ARG, "%s has %lld numbers, must have one for all tokens", g->name, (long long)v.shape[0]);
  snprintf(want, sizeof want, "must be %s, contiguous", g->shape ? g->shape : "");
  if (g->shape && (!is_dense(&v) || v.shape[dims - 1] != *(const int32_t *)(const void *)((char *)&r->problem + g->columns_at)))
    return bad_layout(r, g->name, &v, want);
  memcpy((char *)&r->args + g->at, &v.data, sizeof v.data);
  if (g->rows_at) memcpy((char *)&r->args + g->rows_at, &(int32_t){(int32_t)v.shape[0]}, sizeof(int32_t));
  return MLAF_OK;
}

/* The type of Q of 8 bits: that of the cache, which has one scale; else none. */
static int type_of_codes(const mlaf_call *c) {
  return c->cache_format == MLAF_KV_E4M3FN ? MLAF_VIEW_E4M3FN : c->cache_format == MLAF_KV_E4M3FNUZ ? MLAF_VIEW_E4M3FNUZ : -1;
}

/* Q's type is the problem's, which the output has, too; or the cache's. */
static mlaf_status read_q_type(reading *r, int dims) {
  const mlaf_call *c = r->c;
  const int type = known_dtype(c->q.dtype), codes = type_of_codes(c);
  r->problem.fp8_q = is_bytes(type) && codes >= 0;
  if (r->problem.fp8_q && type != codes && type != MLAF_VIEW_U8)
    return mlaf_fail(r->err, MLAF_E_ARG, "q is %s, must be %s, as its cache is, or bfloat16 or float16", dtypes[type].name,
                     dtypes[codes].name);
  if (!r->problem.fp8_q && type != MLAF_VIEW_BF16 && type != MLAF_VIEW_F16)
    return mlaf_fail(r->err, MLAF_E_ARG, "q is %s; bfloat16 and float16 are accepted", dtypes[type].name);
  const int wide = r->problem.fp8_q ? known_dtype(c->o.dtype) : type;
  if (wide != MLAF_VIEW_BF16 && wide != MLAF_VIEW_F16)
    return mlaf_fail(r->err, MLAF_E_ARG, "the output is %s, must be bfloat16 or float16", dtypes[wide].name);
  r->problem.dtype = wide == MLAF_VIEW_F16 ? MLAF_F16 : MLAF_BF16;
  return check_view(r, "q", &c->q, dims, c->q.dtype);
}

/* Strides of one of Q's two tensors: from token to token and from head to head; 0 where there is one. */
static mlaf_status read_part(const reading *r, const char *name, const mlaf_view *v, int64_t *token, int64_t *head) {
  const int last = v->dims - 1, tokens_at = last > 2 && v->shape[1] > 1 ? 1 : 0;
  const int64_t heads = v->shape[last - 1], columns = v->shape[last], tokens = last > 2 ? v->shape[0] * v->shape[1] : v->shape[0];
  const bool one = tokens_at == 0 || v->shape[0] <= 1 || v->stride[0] == v->shape[1] * v->stride[1]; /* distance of tokens */
  *head = heads > 1 ? v->stride[last - 1] : 0;
  *token = tokens > 1 ? v->stride[tokens_at] : 0;
  if ((columns > 1 && v->stride[last] != 1) || !one || (heads > 1 && *head < columns) || (tokens > 1 && *token < columns))
    return bad_layout(r, name, v, "must have the columns of a row side by side, and rows of tokens and of heads at one distance "
                      "each");
  return MLAF_OK;
}

/* Q in two tensors of as many rows. */
static mlaf_status read_parts(reading *r, int dims) {
  const mlaf_view *q = &r->c->q, *pe = &r->c->q_pe;
  mlaf_status st = check_view(r, "q_pe", pe, dims, q->dtype);
  if (st) return st;
  for (int i = 0; i < dims - 1; i++)
    if (pe->shape[i] != q->shape[i]) return bad_layout(r, "q_pe", pe, "must have the rows of q");
  st = read_part(r, "q", q, &r->args.q_token_stride, &r->args.q_head_stride);
  if (!st) st = read_part(r, "q_pe", pe, &r->args.q_pe_token_stride, &r->args.q_pe_head_stride);
  r->args.q_pe = pe->data;
  r->problem.q_parts = 1;
  return st;
}

static mlaf_status read_tensors(reading *r, int dims) {
  const mlaf_call *c = r->c;
  const mlaf_view *q = &c->q, *o = &c->o, k = with_head(c->cache), kpe = with_head(c->cache_kpe);
  mlaf_status st = read_q_type(r, dims);
  if (!st) st = read_format(r, &k, dims);
  if (!st) st = check_view(r, "the cache", &k, 4, c->cache_format ? k.dtype : q->dtype);
  const mlaf_cache_format *f = mlaf_decode_format(&r->problem, true);
  if (!st && kpe.dims) st = check_view(r, "the cache's kpe", &kpe, 4, f->second.number == 4 ? MLAF_VIEW_F32 : q->dtype);
  if (!st) st = check_view(r, "the output", o, dims, r->problem.dtype == MLAF_F16 ? MLAF_VIEW_F16 : MLAF_VIEW_BF16);
  if (st) return st;
  if (c->q_pe.dims && (st = read_parts(r, dims))) return st;
  const int64_t heads = q->shape[dims - 2], rank = o->shape[dims - 1];
  const int64_t columns = q->shape[dims - 1] + (c->q_pe.dims ? c->q_pe.shape[dims - 1] : 0);
  bool fits = (c->q_pe.dims ? rank == q->shape[dims - 1] : rank <= columns) &&
              (c->cache_format || k.shape[3] == (kpe.dims ? rank : columns)) &&
              (!kpe.dims || kpe.shape[3] == mlaf_format_second_columns(f, (int)rank, (int)(columns - rank)));
  for (int i = 0; i < dims - 1; i++) fits = fits && o->shape[i] == q->shape[i];
  if (!fits) return no_fit(r);
  if (!c->q_pe.dims && !is_dense(q)) return bad_layout(r, "q", q, "has gaps, and kernels read it dense: q.contiguous()");
  if (!is_dense(o)) return bad_layout(r, "the output", o, "is not contiguous");
  r->problem.heads = (int32_t)heads;
  r->problem.rank = (int32_t)rank;
  r->problem.rope = (int32_t)(columns - rank);
  r->args.q = q->data;
  r->args.o = o->data;
  r->args.lse = c->lse.data;
  r->args.scale = c->scale != 0 || c->flags & MLAF_CALL_SCALE ? c->scale : (float)(1 / sqrt((double)columns));
  st = check_lse(r);
  for (size_t i = 0; !st && i < sizeof optional / sizeof *optional; i++) st = read_optional(r, &optional[i]);
  return st ? st : read_cache(r, &k, &kpe);
}

/* --- tables --- */

static mlaf_status read_lists(reading *r) {
  const mlaf_call *c = r->c;
  mlaf_status st = check_table(r, "qo_indptr", &c->qo_indptr, 1);
  const int64_t batch = st ? 0 : c->qo_indptr.shape[0] - 1;
  if (!st) st = check_table(r, "kv_indptr", &c->kv_indptr, batch + 1);
  if (!st) st = check_table(r, "kv_indices", &c->kv_indices, 0);
  if (!st) st = check_table(r, "kv_last_page_lens", &c->kv_last_page_lens, batch);
  if (st) return st;
  r->args.batch = (int32_t)batch;
  r->args.total_q = c->q.shape[0];
  r->args.qo_indptr = c->qo_indptr.data;
  r->args.kv_indptr = c->kv_indptr.data;
  r->args.kv_indices = c->kv_indices.data;
  if (!c->kv_indices.shape[0]) r->args.kv_indices = r->args.page_rows ? NULL : c->kv_indptr.data; /* nothing is read there */
  r->args.kv_last_page_lens = c->kv_last_page_lens.data;
  if (r->args.page_rows) r->args.kv_indices_size = c->kv_indices.shape[0];
  r->problem.q_len = c->q_len;
  return MLAF_OK;
}

static int64_t mean_of_lists(const reading *r) {
  return r->args.batch ? r->c->kv_indices.shape[0] * r->c->cache.shape[1] / r->args.batch : 0;
}

/* True where requests of a block table have query tokens of their own numbers: q [T, H, R+P] beside qo_indptr. */
static bool is_ragged(const mlaf_call *c) { return c->qo_indptr.dims && c->q.dims == 3; }

static mlaf_status read_block_table(reading *r) {
  const mlaf_call *c = r->c;
  const mlaf_view *t = &c->block_table;
  const bool ragged = is_ragged(c);
  mlaf_status st = ragged ? check_table(r, "qo_indptr", &c->qo_indptr, 1) : MLAF_OK;
  if (!st) st = check_view(r, "block_table", t, 2, MLAF_VIEW_INT32);
  if (st) return st;
  const int64_t batch = ragged ? c->qo_indptr.shape[0] - 1 : c->q.shape[0];
  if (t->shape[0] != batch)
    return mlaf_fail(r->err, MLAF_E_ARG, "block_table has %lld rows, %s %lld", (long long)t->shape[0],
                     ragged ? "qo_indptr is of" : "q", (long long)batch);
  if ((t->shape[1] > 1 && t->stride[1] != 1) || (batch > 1 && t->stride[0] < t->shape[1]))
    return bad_layout(r, "block_table", t, "must have the entries of a row side by side");
  if (batch && t->shape[1] < 1)
    return bad_layout(r, "block_table", t, "must have 1 entry or more in a row: a request of 0 tokens reads none of them");
  st = check_table(r, "cache_seqlens", &c->seq_lens, batch);
  if (st) return st;
  r->args.batch = (int32_t)batch;
  r->args.total_q = ragged ? c->q.shape[0] : batch * c->q.shape[1];
  r->args.qo_indptr = ragged ? c->qo_indptr.data : NULL;
  r->args.block_table = t->data;
  r->args.block_table_width = (int32_t)t->shape[1];
  r->args.block_table_stride = batch > 1 ? t->stride[0] : t->shape[1];
  r->args.seq_lens = c->seq_lens.data;
  r->problem.q_len = ragged ? c->q_len : (int32_t)c->q.shape[1];
  r->plan.flags |= MLAF_PLAN_TABLES;
  return MLAF_OK;
}

/* Rows are often as wide as the longest request there may ever be: no more than the cache holds. */
static int64_t mean_of_table(const reading *r) {
  const int64_t tokens = r->c->cache.shape[1], batch = r->args.batch;
  const int64_t wide = r->c->block_table.shape[1] * tokens, held = batch ? r->c->cache.shape[0] * tokens / batch : 0;
  return wide < held ? wide : held;
}

/* --- index lists --- */

/* [T, topk] of [T, 1, topk], or [B, q_len, topk] as [B * q_len, topk]; false: it is none of these. */
static bool flat_lists(const reading *r, mlaf_view *v) {
  const mlaf_view *q = &r->c->q;
  if (v->dims == 2) return q->dims == 3 && v->shape[0] == q->shape[0];
  const int64_t inner = q->dims == 3 ? 1 : q->shape[1], outer = v->stride[0];
  if (v->shape[0] != q->shape[0] || v->shape[1] != inner) return false;
  if (inner > 1 && v->shape[0] > 1 && outer != inner * v->stride[1]) return false;
  v->shape[0] *= inner;
  if (inner > 1) v->stride[0] = v->stride[1];
  v->shape[1] = v->shape[2], v->stride[1] = v->stride[2];
  return true;
}

static mlaf_status read_lengths(reading *r, const char *name, const mlaf_view *l, int64_t tokens, const int32_t **out) {
  const mlaf_view *q = &r->c->q;
  if (!l->dims) return MLAF_OK;
  mlaf_status st = check_table(r, name, l, 0);
  if (st) return st;
  if (l->shape[0] != tokens && l->shape[0] != q->shape[0])
    return mlaf_fail(r->err, MLAF_E_ARG, "%s has %lld entries, must be %lld, one for each query token, or %lld, one for "
                     "each request", name, (long long)l->shape[0], (long long)tokens, (long long)q->shape[0]);
  const int32_t share = l->shape[0] == tokens ? 1 : (int32_t)q->shape[1];
  if (r->args.topk_share && share != r->args.topk_share)
    return mlaf_fail(r->err, MLAF_E_ARG, "%s has %lld entries and topk_length %lld: both must have one for each query token, or "
                     "for each request", name, (long long)l->shape[0], (long long)r->c->topk_length.shape[0]);
  *out = l->data;
  r->args.topk_share = share;
  return MLAF_OK;
}

/* Lists of so many tokens as [tokens, topk], the entries of a list side by side. */
static mlaf_status read_entries(const reading *r, const char *name, const mlaf_view *given, int64_t tokens, mlaf_view *out) {
  *out = *given;
  mlaf_status st = check_view(r, name, out, out->dims == 2 ? 2 : 3, MLAF_VIEW_INT32);
  if (st) return st;
  if (tokens && out->shape[out->dims - 1] < 1) /* some libraries' empty tensors have no address, which is not what is wrong */
    return mlaf_fail(r->err, MLAF_E_ARG, "%s is 0, must be 1 or more", given == &r->c->indices ? "topk" : "extra_topk");
  if (flat_lists(r, out) && (out->shape[1] <= 1 || out->stride[1] == 1) && (tokens <= 1 || out->stride[0] >= out->shape[1]))
    return MLAF_OK;
  return bad_layout(r, name, given, "must be [query tokens of q, topk], or with q's two dimensions for them, with the entries of "
                    "a list side by side");
}

/* The second pool of a call. */
static mlaf_status read_extra(reading *r, int64_t tokens) {
  const mlaf_call *c = r->c;
  const mlaf_view k = with_head(c->extra_cache);
  const mlaf_cache_format *f = mlaf_decode_format(&r->problem, false);
  mlaf_view v;
  if (!k.dims && !c->extra_indices.dims && !c->extra_topk_length.dims) return MLAF_OK;
  if (!f->pools)
    return mlaf_fail(r->err, MLAF_E_ARG, "a second pool is given, which is read beside a cache of fp8_v4: the cache is %s",
                     f->name);
  if (!k.dims || !c->extra_indices.dims)
    return mlaf_fail(r->err, MLAF_E_ARG, "extra_k_cache and extra_indices_in_kvcache are a second pool: both are wanted");
  mlaf_status st = check_view(r, "extra_k_cache", &k, 4, k.dtype);
  if (!st) st = check_format(r, "extra_k_cache", &k, r->problem.rank, r->problem.rope);
  if (!st) st = read_pages(r, "extra_k_cache", &k, &r->args.extra_page_stride);
  if (!st) st = read_entries(r, "extra_indices_in_kvcache", &c->extra_indices, tokens, &v);
  if (st) return st;
  r->args.extra_ckv = k.data;
  r->args.extra_num_pages = (int32_t)k.shape[0];
  r->args.extra_page_tokens = (int32_t)k.shape[1];
  r->args.extra_indices = v.data;
  r->args.extra_topk = (int32_t)v.shape[1];
  r->args.extra_indices_stride = tokens > 1 ? v.stride[0] : 0;
  r->plan.flags = (r->plan.flags & ~(uint32_t)MLAF_PLAN_LISTS) | MLAF_PLAN_POOLS;
  return read_lengths(r, "extra_topk_length", &c->extra_topk_length, tokens, &r->args.extra_topk_length);
}

/* Each query token is a request of its own, and a list's entry a page of one token. */
static mlaf_status read_index_lists(reading *r) {
  const mlaf_call *c = r->c;
  mlaf_view v;
  const mlaf_view *others[] = {&c->qo_indptr,         &c->kv_indptr,   &c->kv_indices,
                               &c->kv_last_page_lens, &c->block_table, &c->seq_lens};
  int64_t tokens = c->q.shape[0];
  if (c->q.dims == 4 && __builtin_mul_overflow(tokens, c->q.shape[1], &tokens)) tokens = INT64_MAX;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (others[i]->dims)
      return mlaf_fail(r->err, MLAF_E_ARG, "indices is given beside another table: lists say all that is read");
  if (tokens > MLA_DECODE_BATCH_MAX)
    return mlaf_fail(r->err, MLAF_E_ARG, "q has %lld query tokens, with indices at most %d go into a call", (long long)tokens,
                     MLA_DECODE_BATCH_MAX);
  mlaf_status st = read_entries(r, "indices", &c->indices, tokens, &v);
  if (st) return st;
  r->args.batch = (int32_t)tokens;
  r->args.total_q = tokens;
  r->args.indices = v.data;
  r->args.topk = (int32_t)v.shape[1];
  r->args.indices_stride = tokens > 1 ? v.stride[0] : 0;
  r->args.page_tokens = r->problem.page_size;
  if (r->args.page_rows) r->args.page_tokens = (int32_t)with_head(c->cache).shape[1];
  r->problem.page_size = r->problem.q_len = 1;
  r->plan.flags = (r->plan.flags & ~(uint32_t)MLAF_PLAN_TABLES) | MLAF_PLAN_LISTS;
  st = read_lengths(r, "topk_length", &c->topk_length, tokens, &r->args.topk_length);
  return st ? st : read_extra(r, tokens);
}

/* The caller's, or for one that was built against an earlier version a copy in *whole; NULL: E_ARG. */
static const mlaf_call *take_call(const mlaf_call *c, mlaf_call *whole, mlaf_err *err) {
  if (c && c->struct_size == sizeof *c) return c;
  for (size_t i = 0; c && i < sizeof call_bytes / sizeof *call_bytes; i++)
    if (c->struct_size == call_bytes[i] && (i || !c->rotate)) {
      memset(whole, 0, sizeof *whole);
      return memcpy(whole, c, c->struct_size);
    }
  if (!c) mlaf_fail(err, MLAF_E_ARG, "mlaf_call_run: call is NULL");
  else
    mlaf_fail(err, MLAF_E_ARG, "mlaf_call: struct_size is %u, must be %zu: start from MLAF_CALL_INIT", c->struct_size, sizeof *c);
  return NULL;
}

static mlaf_status read_call(reading *r) {
  const mlaf_call *c = r->c;
  const bool table = c->block_table.dims || c->seq_lens.dims;
  if (c->flags & ~(uint32_t)MLAF_CALL_SCALE || c->reserved)
    return mlaf_fail(r->err, MLAF_E_ARG, "mlaf_call: flags is %#x, must be 0 or MLAF_CALL_SCALE; reserved is %d, must be 0",
                     c->flags, c->reserved);
  if (c->plan && c->plan->struct_size == sizeof r->plan) r->plan = *c->plan;
  else if (c->plan)
    return mlaf_fail(r->err, MLAF_E_ARG, "mlaf_call: plan's struct_size is %u, must be %zu", c->plan->struct_size,
                     sizeof r->plan);
  const bool extra = c->extra_cache.dims || c->extra_indices.dims || c->extra_topk_length.dims;
  const bool lists = c->indices.dims || c->topk_length.dims || c->attn_sink.dims || extra;
  mlaf_status st = read_tensors(r, lists ? (c->q.dims == 4 ? 4 : 3) : table && !is_ragged(c) ? 4 : 3);
  r->problem.rotate = c->rotate;
  if (!st) st = lists ? read_index_lists(r) : table ? read_block_table(r) : read_lists(r);
  if (st) return st;
  const int64_t mean = c->mean_kv_len > 0 ? c->mean_kv_len
                       : lists            ? (int64_t)r->args.topk + r->args.extra_topk
                       : table            ? mean_of_table(r)
                                          : mean_of_lists(r);
  r->problem.causal = c->causal && r->problem.q_len > 1;
  r->problem.batch = r->args.batch;
  r->problem.ctx = mean < 1 ? 1 : mean > MLA_DECODE_CTX_MAX ? MLA_DECODE_CTX_MAX : (int32_t)mean;
  return MLAF_OK;
}

/* --- the launch --- */

static mlaf_status ask_caller(reading *r, size_t need, void *stream) {
  bool capturing = false;
  mlaf_device *dev = mlaf_ctx_device(r->ctx);
  if (!r->c->alloc || !mlaf_ops(dev)->is_capturing) return MLAF_OK;
  mlaf_status st = mlaf_ops(dev)->is_capturing(dev, stream, &capturing, r->err);
  if (st || !capturing) return st;
  r->args.workspace = r->c->alloc(r->c->alloc_user, need);
  r->args.workspace_size = r->args.workspace ? need : 0;
  return MLAF_OK;
}

static mlaf_status use_given(reading *r, size_t need) {
  const mlaf_view *w = &r->c->workspace;
  int64_t bytes = dtypes[known_dtype(w->dtype)].size;
  mlaf_status st = check_place(r, "workspace", w);
  if (st) return st;
  if (w->dims < 1 || w->dims > DIMS_MOST)
    return mlaf_fail(r->err, MLAF_E_ARG, "workspace has %d dimensions; 1 to %d are expected", w->dims, DIMS_MOST);
  if (!is_dense(w)) return bad_layout(r, "workspace", w, "must be contiguous");
  for (int i = 0; i < w->dims; i++) /* dense, so only the last product may be too much: more than anybody needs */
    if (__builtin_mul_overflow(bytes, w->shape[i], &bytes)) bytes = INT64_MAX;
  if (bytes < 0 || (size_t)bytes < need || (uintptr_t)w->data % WORKSPACE_ALIGN)
    return mlaf_fail(r->err, MLAF_E_ARG, "workspace has %lld bytes at %p, this call needs %zu, %d-byte aligned", (long long)bytes,
                     w->data, need, WORKSPACE_ALIGN);
  r->args.workspace = w->data;
  r->args.workspace_size = (size_t)bytes;
  return MLAF_OK;
}

/* Takes the stream's workspace if neither the caller nor his allocator has one: *b says whether, and is to be given back. */
static mlaf_status find_workspace(reading *r, const mlaf_plan *plan, void *stream, mlaf_borrowed *b) {
  const size_t need = mlaf_execute_workspace_size(plan, &r->args);
  if (!need || (need == SIZE_MAX && r->args.indices)) return MLAF_OK; /* the launch says what is wrong with lists */
  if (need == SIZE_MAX)
    return mlaf_fail(r->err, MLAF_E_ARG, "tables of %d requests name more pages than 32 bits count: hand over fewer "
                     "columns", r->args.batch);
  if (r->c->workspace.dims) return use_given(r, need);
  mlaf_status st = ask_caller(r, need, stream);
  if (st || r->args.workspace) return st;
  st = mlaf_workspace_borrow(r->ctx->shared, stream, need, b, r->err);
  if (st) return st;
  r->args.workspace = b->memory;
  r->args.workspace_size = b->size;
  return MLAF_OK;
}

mlaf_status mlaf_call_run(mlaf_ctx *ctx, const mlaf_call *call, void *stream) {
  mlaf_err err; /* 4 KB that only a failure writes to */
  mlaf_point p;
  mlaf_plan *plan = NULL;
  mlaf_borrowed borrowed = {.lane = NULL};
  if (!ctx) return MLAF_E_ARG;
  mlaf_call whole;
  reading r = {.ctx = ctx, .c = take_call(call, &whole, &err), .err = &err, .problem = MLAF_PROBLEM_INIT,
               .plan = MLAF_PLAN_OPTS_INIT, .args = MLAF_EXECUTE_ARGS_INIT};
  mlaf_status st = r.c ? read_call(&r) : MLAF_E_ARG;
  if (!st && (!r.args.batch || !r.args.total_q)) return MLAF_OK;
  if (!st) { /* what follows reports itself */
    st = mlaf_decode_take(ctx, "mlaf_call_run", &r.problem, &p);
    if (!st) st = mlaf_registry_get(ctx, &p, &r.plan, &(mlaf_registry_how){.on_stream = true, .stream = stream}, &plan);
    if (st) return st;
    st = find_workspace(&r, plan, stream, &borrowed);
  }
  if (st) {
    err.status = st;
    mlaf_plan_release(plan);
    return mlaf_shared_report(ctx->shared, &err);
  }
  st = mlaf_execute(plan, &r.args, stream);
  if (borrowed.lane) mlaf_workspace_give_back(&borrowed);
  mlaf_plan_release(plan);
  return st;
}
