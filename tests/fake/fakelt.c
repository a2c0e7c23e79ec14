/* A vendor's GEMM library for tests: the functions, numbers and struct sizes of cuBLASLt, or with FAKELT_HIP those of hipBLASLt,
 * which keeps device memory behind hipMemcpy. It does the product on the CPU and remembers how it was asked (fakelt.h).
 *
 *   FAKELT_WAYS=N      it proposes N ways (default 5); of them the third wants more workspace than anybody gives
 *   FAKELT_ROOM=N      its first way wants N bytes of workspace (default 1000), the next as many more, and so on
 *   FAKELT_VERSION=N   what it says of itself
 *   FAKELT_NARROW=N    its ways go with N tokens and more alone, but for the first; cuBLASLt's check says so, too
 *   FAKELT_FAIL=Name   that function fails */
#include "fake/fakelt.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "half.h"

#ifdef FAKELT_HIP
#define NAME(name) hipblasLt##name
enum { TRANSA = 0, TYPE = 2, ROWS = 4, COLS = 5, LD = 6, BATCH = 0, STRIDE = 1, WORKSPACE = 1, ALGO = 24, OP_T = 112, COMPUTE = 2,
       VERSION = 1100 };
#else
#define NAME(name) cublasLt##name
enum { TRANSA = 3, TYPE = 0, ROWS = 2, COLS = 3, LD = 4, BATCH = 5, STRIDE = 6, WORKSPACE = 1, ALGO = 64, OP_T = 1, COMPUTE = 68,
       VERSION = 130100 };
#endif
enum { BF16 = 14, F16 = 2, INVALID = 7, NOT_SUPPORTED = 15, MARK = 0x4c74 };
#define EXPORT __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* a back end looks them up by name */

typedef struct layout {
  int type, batch;
  int64_t rows, cols, ld, stride;
} layout;
typedef struct desc {
  int transa;
} desc;
typedef struct preference {
  uint64_t workspace;
  uint32_t alignment;
} preference;
typedef struct result { /* ALGO bytes: MARK, which way, for how many columns */
  unsigned char algo[ALGO];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
} result;

static fakelt_seen seen;
EXPORT fakelt_seen *fakelt(void) { return &seen; }

static long setting(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text && *text ? strtol(text, NULL, 10) : otherwise;
}
static int enter(const char *name) {
  const char *bad = getenv("FAKELT_FAIL");
  seen.calls++;
  return bad && !strcmp(bad, name) ? INVALID : 0;
}
static int put(void **out, const void *value, size_t size, const char *name) {
  const int code = enter(name);
  if (code) return code;
  *out = malloc(size);
  memcpy(*out, value, size);
  seen.live++;
  return 0;
}
static int drop(void *at) {
  seen.live--;
  free(at);
  return 0;
}

/* --- memory --- */

#ifdef FAKELT_HIP
static int copy(void *to, const void *from, size_t size, int kind) {
  void *hip = dlopen(getenv("MLAF_HIP_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
  int (*hip_memcpy)(void *, const void *, size_t, int) = NULL;
  void *found = hip ? dlsym(hip, "hipMemcpy") : NULL;
  memcpy(&hip_memcpy, &found, sizeof found);
  const int code = hip_memcpy ? hip_memcpy(to, from, size, kind) : INVALID;
  if (hip) dlclose(hip);
  return code;
}
#else
static int copy(void *to, const void *from, size_t size, int kind) {
  memcpy(to, from, size);
  return 0;
}
#endif

/* It takes a kernel's time on the fake driver's clock, or a place in the graph that is being recorded: then nothing runs. */
static bool recorded(void *stream) {
  bool is = false;
#ifndef FAKELT_HIP
  void *cuda = dlopen(getenv("MLAF_CUDA_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
  int (*foreign)(void *) = NULL;
  void *found = cuda ? dlsym(cuda, "fakecuda_foreign") : NULL;
  memcpy(&foreign, &found, sizeof found);
  is = foreign && foreign(stream);
  if (cuda) dlclose(cuda);
#endif
  return is;
}

/* --- functions --- */

#ifdef FAKELT_HIP
EXPORT int NAME(GetVersion)(void *handle, int *version) {
  *version = (int)setting("FAKELT_VERSION", VERSION);
  return 0;
}
#else
EXPORT size_t NAME(GetVersion)(void) { return (size_t)setting("FAKELT_VERSION", VERSION); }
#endif

EXPORT int NAME(Create)(void **out) { return put(out, "handle", 7, "Create"); }
EXPORT int NAME(Destroy)(void *handle) { return drop(handle); }

EXPORT int NAME(MatmulDescCreate)(void **out, int compute, int scale) {
  return compute == COMPUTE && scale == 0 ? put(out, &(desc){0}, sizeof(desc), "MatmulDescCreate") : INVALID;
}
EXPORT int NAME(MatmulDescDestroy)(void *d) { return drop(d); }
EXPORT int NAME(MatmulDescSetAttribute)(void *d, int attribute, const void *value, size_t size) {
  if (attribute != TRANSA || size != 4) return INVALID;
  memcpy(&((desc *)d)->transa, value, size);
  return enter("MatmulDescSetAttribute");
}

EXPORT int NAME(MatrixLayoutCreate)(void **out, int type, uint64_t rows, uint64_t cols, int64_t ld) {
  const layout l = {type, 1, (int64_t)rows, (int64_t)cols, ld, 0};
  return type == BF16 || type == F16 ? put(out, &l, sizeof l, "MatrixLayoutCreate") : INVALID;
}
EXPORT int NAME(MatrixLayoutDestroy)(void *l) { return drop(l); }
EXPORT int NAME(MatrixLayoutSetAttribute)(void *at, int attribute, const void *value, size_t size) {
  layout *l = at;
  struct {
    int attribute;
    void *to;
    size_t size;
  } known[] = {{ROWS, &l->rows, 8}, {COLS, &l->cols, 8}, {LD, &l->ld, 8}, {BATCH, &l->batch, 4}, {STRIDE, &l->stride, 8}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].attribute == attribute && known[i].size == size) {
      memcpy(known[i].to, value, size);
      seen.attributes++;
      return enter("MatrixLayoutSetAttribute");
    }
  return INVALID;
}

EXPORT int NAME(MatmulPreferenceCreate)(void **out) {
  const preference p = {0, 256};
  return put(out, &p, sizeof p, "MatmulPreferenceCreate");
}
EXPORT int NAME(MatmulPreferenceDestroy)(void *p) { return drop(p); }
EXPORT int NAME(MatmulPreferenceSetAttribute)(void *at, int attribute, const void *value, size_t size) {
  preference *p = at;
  if (attribute == WORKSPACE && size == 8) memcpy(&p->workspace, value, 8);
#ifndef FAKELT_HIP
  else if (attribute >= 5 && attribute <= 8 && size == 4) memcpy(&p->alignment, value, 4);
#endif
  else return INVALID;
  return enter("MatmulPreferenceSetAttribute");
}

/* Tells whether shapes fit each other, column-major. */
static int fits(const desc *d, const layout *a, const layout *b, const layout *c, const layout *y) {
  const bool t = d->transa == OP_T;
  const int64_t m = t ? a->cols : a->rows, k = t ? a->rows : a->cols;
  return b->rows == k && y->rows == m && y->cols == b->cols && c->rows == m && c->cols == y->cols && a->ld >= a->rows &&
         b->ld >= b->rows && y->ld >= y->rows && c->ld >= c->rows && a->batch == b->batch && a->batch == y->batch &&
         a->batch == c->batch && a->type == b->type && a->type == y->type && a->type == c->type;
}

static void make(result *r, int way, int64_t cols) {
  const int32_t numbers[] = {MARK, way, (int32_t)cols};
  *r = (result){.workspace = way == 2 ? (size_t)1 << 40 : (size_t)((1 + way) * setting("FAKELT_ROOM", 1000))};
  memcpy(r->algo, numbers, sizeof numbers);
}

EXPORT int NAME(MatmulAlgoGetHeuristic)(void *handle, void *d, void *a, void *b, void *c, void *y, void *p, int wanted,
                                        result *out, int *found) {
  const preference *prefer = p;
  const int code = enter("MatmulAlgoGetHeuristic"), n = (int)setting("FAKELT_WAYS", 5);
  if (code || !fits(d, a, b, c, y)) return code ? code : INVALID;
  seen.workspace_allowed = prefer->workspace;
  seen.alignment = prefer->alignment;
  for (*found = 0; *found < wanted && *found < n; ++*found) make(&out[*found], *found, ((layout *)b)->cols);
  return 0;
}

#ifndef FAKELT_HIP
EXPORT int NAME(MatmulAlgoCheck)(void *handle, void *d, void *a, void *b, void *c, void *y, const void *algo, result *out) {
  int32_t numbers[3];
  memcpy(numbers, algo, sizeof numbers);
  if (numbers[0] != MARK || !fits(d, a, b, c, y)) return INVALID;
  if (numbers[1] && ((layout *)b)->cols < setting("FAKELT_NARROW", 0)) return NOT_SUPPORTED;
  make(out, numbers[1], ((layout *)b)->cols);
  return enter("MatmulAlgoCheck");
}
#endif

/* --- the product --- */

static float wide(int type, uint16_t bits) {
  return type == BF16 ? mlaf_bits_float((uint32_t)bits << 16) : test_half_to_float(bits);
}
static uint16_t narrow(int type, float x) {
  const uint32_t bits = mlaf_float_bits(x);
  return type == F16 ? test_half_of(x) : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* One of a layout's matrices on the host; to be freed. */
static uint16_t *fetch(const layout *l, const void *from, int batch) {
  const size_t n = (size_t)((l->cols - 1) * l->ld + l->rows);
  uint16_t *host = malloc(2 * n);
  if (copy(host, (const uint16_t *)from + batch * l->stride, 2 * n, 2)) abort();
  return host;
}

static void multiply(const desc *d, const layout *a, const uint16_t *av, const layout *b, const uint16_t *bv, float beta,
                     const layout *c, const uint16_t *cv, const layout *y, uint16_t *yv) {
  const bool t = d->transa == OP_T;
  for (int64_t j = 0; j < y->cols; j++)
    for (int64_t i = 0; i < y->rows; i++) {
      float sum = beta != 0 ? beta * wide(c->type, cv[j * c->ld + i]) : 0;
      for (int64_t k = 0; k < b->rows; k++)
        sum += wide(a->type, av[t ? i * a->ld + k : k * a->ld + i]) * wide(b->type, bv[j * b->ld + k]);
      yv[j * y->ld + i] = narrow(y->type, sum);
    }
}

EXPORT int NAME(Matmul)(void *handle, void *d, const void *alpha, const void *a, void *al, const void *b, void *bl,
                        const void *beta, const void *c, void *cl, void *y, void *yl, const void *algo, void *workspace,
                        size_t workspace_size, void *stream) {
  const layout *la = al, *lb = bl, *lc = cl, *ly = yl;
  int32_t numbers[3];
  float one, more;
  const int code = enter("Matmul");
  memcpy(numbers, algo, sizeof numbers);
  memcpy(&one, alpha, 4);
  memcpy(&more, beta, 4);
  result need;
  make(&need, numbers[1], lb->cols);
  if (code || numbers[0] != MARK || one != 1 || !fits(d, la, lb, lc, ly)) return code ? code : INVALID;
  if (numbers[1] && lb->cols < setting("FAKELT_NARROW", 0)) return NOT_SUPPORTED;
  if (workspace_size < need.workspace || !workspace || (uintptr_t)workspace % 256) return INVALID;
  seen.n[seen.products++ % 16] = lb->cols;
  seen.last = (fakelt_product){.m = ly->rows, .n = ly->cols, .k = lb->rows, .batch = la->batch, .a_ld = la->ld, .b_ld = lb->ld,
                               .c_ld = lc->ld, .y_ld = ly->ld, .a_stride = la->stride, .b_stride = lb->stride,
                               .y_stride = ly->stride, .transposed = ((desc *)d)->transa == OP_T, .beta = more, .way = numbers[1],
                               .asked_for = numbers[2], .type = la->type, .workspace = workspace_size, .stream = stream};
  if (recorded(stream)) return 0;
  for (int h = 0; h < la->batch; h++) {
    uint16_t *av = fetch(la, a, h), *bv = fetch(lb, b, h), *cv = fetch(lc, c, h), *yv = fetch(ly, y, h);
    multiply(d, la, av, lb, bv, more, lc, cv, ly, yv);
    for (int64_t j = 0; j < ly->cols; j++) /* what lies between columns is not ours */
      copy((uint16_t *)y + h * ly->stride + j * ly->ld, yv + j * ly->ld, 2 * (size_t)ly->rows, 1);
    free(av), free(bv), free(cv), free(yv);
  }
  return 0;
}
