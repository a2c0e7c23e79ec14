// Three memory-bound kernels around one decode call: Q becomes 16-bit and dense, the mask becomes index lists or lengths, and the
// output becomes fp32. Their bodies are the same in every build: a GPU's threads run them, in C++ alone a loop.
#include "mlaforge-ggml.h"

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "mlaforge/call.h"

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#define ON_GPU 1
#define EACH __device__
#elif defined(__HIPCC__)
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#define ON_GPU 1
#define EACH __device__
#else
#define ON_GPU 0
#define EACH
#endif

namespace {

constexpr int64_t kK = 576, kV = 512, kPage = 64, kMostKeys = 1 << 20;
constexpr int32_t kNoMask = INT_MAX;  // "last" of a row with another value than 0 and -inf

// ---- numbers of 16 bits ----

EACH uint16_t Half(float x) {
#if ON_GPU
  return __half_as_ushort(__float2half(x));
#else
  return ggml_fp32_to_fp16(x);
#endif
}

EACH float FromHalf(uint16_t x) {
#if ON_GPU
  return __half2float(__ushort_as_half(x));
#else
  return ggml_fp16_to_fp32(x);
#endif
}

union Bits {
  float value;
  uint32_t bits;
};

EACH uint16_t BFloat(float x) {  // to nearest, ties to even; a NaN stays one
  Bits u;
  u.value = x;
  return (uint16_t)((u.bits & 0x7fffffff) > 0x7f800000 ? u.bits >> 16 | 64 : (u.bits + 0x7fff + (u.bits >> 16 & 1)) >> 16);
}

EACH float FromBFloat(uint16_t x) {
  Bits u;
  u.bits = (uint32_t)x << 16;
  return u.value;
}

EACH void Raise(int32_t *to, int32_t x) {
#if ON_GPU
  atomicMax(to, x);
#else
  if (*to < x) *to = x;
#endif
}

EACH void Add(int32_t *to, int32_t x) {
#if ON_GPU
  atomicAdd(to, x);
#else
  *to += x;
#endif
}

// ---- the bodies; query token r = s * T + t of stream s ----

struct RoundQ {
  const char *q;
  int64_t T, H, rows;
  size_t token, head, stream;  // bytes
  bool bf16;
  uint16_t *out;        // [rows, H, 576]
  int32_t *last, *seen;  // [rows], set to 0
  EACH void operator()(int64_t i) const {
    const int64_t column = i % kK, h = i / kK % H, r = i / kK / H;
    const float x = *(const float *)(q + r % T * token + h * head + r / T * stream + column * sizeof(float));
    out[i] = bf16 ? BFloat(x) : Half(x);
    if (i < rows) last[i] = seen[i] = 0;
  }
};

// One item is a row's part of 64 keys.
struct ReadMask {
  const char *mask;
  int64_t T, keys, parts, masks, stream_rows;
  size_t token, stream;  // bytes
  bool pages;
  int32_t *table;        // index lists [rows, keys], or with `pages` block tables [rows, parts]
  int32_t *last, *seen;  // [rows] one more than the last key that is seen; how many are
  EACH void operator()(int64_t i) const {
    const int64_t r = i / parts, part = i % parts, s = r / T, from = part * kPage;
    const uint16_t *row = (const uint16_t *)(mask + r % T * token + s % masks * stream);
    int32_t n = 0, end = 0;
    for (int64_t j = from; j < from + kPage && j < keys; j++) {
      const bool shown = !(row[j] & 0x7fff);
      if (shown) n++, end = (int32_t)j + 1;
      if (!shown && row[j] != 0xfc00) Raise(last + r, kNoMask);
      if (!pages) table[r * keys + j] = shown ? (int32_t)(s * stream_rows + j) : -1;
    }
    if (pages) table[i] = (int32_t)(s * stream_rows / kPage + part);
    if (n) Add(seen + r, n), Raise(last + r, end);
  }
};

struct WidenO {
  const uint16_t *o;
  int64_t H;
  bool bf16, pages;
  const int32_t *last, *seen;
  float *out;  // [rows, H, 512]
  EACH void operator()(int64_t i) const {
    const int64_t r = i / kV / H;
    Bits nan;
    nan.bits = 0x7fc00000;
    const bool bad = last[r] == kNoMask || (pages && last[r] != seen[r]);
    out[i] = bad ? nan.value : bf16 ? FromBFloat(o[i]) : FromHalf(o[i]);
  }
};

// ---- launches ----

#if ON_GPU
template <class F>
__global__ void Run(F body, int64_t n) {
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) body(i);
}

template <class F>
bool Launch(const F &body, int64_t n, void *stream) {
  const int64_t blocks = (n + 255) / 256;
#if defined(__CUDACC__)
  Run<<<(unsigned)(blocks < 65536 ? blocks : 65536), 256, 0, (cudaStream_t)stream>>>(body, n);
  return cudaGetLastError() == cudaSuccess;
#else
  Run<<<(unsigned)(blocks < 65536 ? blocks : 65536), 256, 0, (hipStream_t)stream>>>(body, n);
  return hipGetLastError() == hipSuccess;
#endif
}
#else
template <class F>
bool Launch(const F &body, int64_t n, void *) {
  for (int64_t i = 0; i < n; i++) body(i);
  return true;
}
#endif

// ---- the node ----

const ggml_tensor *Root(const ggml_tensor *t) { return t->view_src ? t->view_src : t; }

float Parameter(const ggml_tensor *op, int i) {
  float x;
  memcpy(&x, op->op_params + i, sizeof x);
  return x;
}

bool ServesCache(const ggml_tensor *k, const ggml_tensor *v) {
  if (k->type != GGML_TYPE_F16 && k->type != GGML_TYPE_BF16) return false;
  if (k->ne[0] != kK || k->ne[2] != 1 || k->nb[0] != 2 || k->nb[1] % 16 || k->ne[1] < 1 || k->ne[1] > kMostKeys) return false;
  if (k->ne[3] > 1 && (k->nb[3] % k->nb[1] || k->ne[3] * (int64_t)(k->nb[3] / k->nb[1]) >= INT_MAX)) return false;
  const bool same_rows = v->ne[1] == k->ne[1] && v->ne[2] == 1 && v->ne[3] == k->ne[3] && v->nb[0] == 2 && v->nb[1] == k->nb[1];
  return v->type == k->type && v->ne[0] == kV && same_rows && (k->ne[3] == 1 || v->nb[3] == k->nb[3]) && Root(v) == Root(k) &&
         v->view_offs == k->view_offs;
}

bool ServesMask(const ggml_tensor *m, const ggml_tensor *q, const ggml_tensor *k) {
  return m && m->type == GGML_TYPE_F16 && m->nb[0] == 2 && m->ne[0] == k->ne[1] && m->ne[1] >= q->ne[1] && m->ne[2] == 1 &&
         q->ne[3] % m->ne[3] == 0;
}

size_t Aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

// alloc's memory at a multiple of 256 bytes, which pools need not give.
void *Allocate(void *call, size_t bytes) {
  const mlaf_ggml_call *c = (const mlaf_ggml_call *)call;
  void *p = c->alloc(c->user, bytes + 255);
  return p ? (void *)Aligned((uintptr_t)p) : nullptr;
}

mlaf_view View(const void *data, int32_t type, int32_t dims, int64_t a, int64_t b = 1, int64_t c = 1, int64_t d = 1) {
  mlaf_view v = {};
  const int64_t shape[] = {a, b, c, d};
  v.data = (void *)data, v.dtype = type, v.dims = dims, v.where = MLAF_WHERE_UNKNOWN;
  int64_t stride = 1;
  for (int32_t i = dims - 1; i >= 0; i--) v.shape[i] = shape[i], v.stride[i] = stride, stride *= shape[i];
  return v;
}

// Rows of K from one to the next and from stream to stream, and a page's, in elements.
mlaf_view Cache(const ggml_tensor *k, int32_t type, int64_t streams, int64_t stream_rows, int64_t page) {
  const int64_t row = k->nb[1] / 2;
  mlaf_view v = View(k->data, type, 4, ((streams - 1) * stream_rows + k->ne[1]) / page, page, 1, kK);
  v.stride[0] = page * row, v.stride[1] = row, v.stride[2] = row;
  return v;
}

mlaf_status Fail(mlaf_status status, const char *text, char *why, size_t why_size) {
  if (why) snprintf(why, why_size, "mlaforge-ggml: %s", text);
  return status;
}

mlaf_status Attend(const mlaf_ggml_call *call, const mlaf_call *attention, const ggml_tensor *k, size_t bytes) {
#if ON_GPU
  (void)k, (void)bytes;
  return mlaf_call_run(call->ctx, attention, call->stream);
#else
  mlaf_status status = mlaf_mem_register(call->ctx, k->data, bytes, MLAF_MEM_READ_ONLY);
  if (status) return status;
  status = mlaf_call_run(call->ctx, attention, call->stream);
  if (!status) status = mlaf_sync(call->ctx, call->stream);
  mlaf_mem_unregister(call->ctx, k->data, bytes);
  return status;
#endif
}

}  // namespace

extern "C" int mlaf_ggml_supports(const ggml_tensor *op) {
  if (op->op != GGML_OP_FLASH_ATTN_EXT || op->src[4]) return 0;  // sinks
  const ggml_tensor *q = op->src[0], *k = op->src[1], *v = op->src[2];
  if (q->type != GGML_TYPE_F32 || q->ne[0] != kK || q->nb[0] != 4 || q->ne[3] != k->ne[3]) return 0;
  if (op->type != GGML_TYPE_F32 || !ggml_is_contiguous(op)) return 0;
  if (Parameter(op, 1) != 0 || Parameter(op, 2) != 0) return 0;  // ALiBi's largest bias; softcap
  return ServesCache(k, v) && ServesMask(op->src[3], q, k) && q->ne[1] * q->ne[3] * k->ne[1] < INT32_MAX;
}

extern "C" mlaf_status mlaf_ggml_flash_attn_ext(const mlaf_ggml_call *call, const ggml_tensor *op, char *why, size_t why_size) {
  if (!mlaf_ggml_supports(op)) return Fail(MLAF_E_ARG, "this node is not served: ask mlaf_ggml_supports first", why, why_size);
  const ggml_tensor *q = op->src[0], *k = op->src[1], *m = op->src[3];
  if ((uintptr_t)k->data % 16) return Fail(MLAF_E_ARG, "K is not 16-byte aligned", why, why_size);
  const bool emulated = !strncmp(mlaf_ctx_device_id(call->ctx), "emu:", 4);
  if (ON_GPU == emulated)
    return Fail(MLAF_E_ARG, emulated ? "the context is an emulator's, must be a GPU's: mlaforge-ggml.cpp was compiled for one"
                                     : "the context is a GPU's: compile mlaforge-ggml.cpp as CUDA or HIP",
                why, why_size);
  const int64_t T = q->ne[1], H = q->ne[2], S = q->ne[3], rows = T * S, keys = k->ne[1], parts = (keys + kPage - 1) / kPage;
  const int64_t stream_rows = S > 1 ? k->nb[3] / k->nb[1] : keys;
  const bool bf16 = k->type == GGML_TYPE_BF16, pages = call->prefix && keys % kPage == 0 && stream_rows % kPage == 0;
  const int64_t entries = pages ? parts : keys;
  const size_t q_bytes = Aligned(rows * H * kK * 2), o_bytes = Aligned(rows * H * kV * 2), row_bytes = Aligned(rows * 4);
  char *memory = (char *)Allocate((void *)call, q_bytes + o_bytes + 2 * row_bytes + rows * entries * 4);
  if (!memory) return Fail(MLAF_E_NOMEM, "alloc returned NULL", why, why_size);
  uint16_t *q16 = (uint16_t *)memory, *o16 = (uint16_t *)(memory + q_bytes);
  int32_t *last = (int32_t *)(memory + q_bytes + o_bytes), *seen = last + row_bytes / 4, *table = seen + row_bytes / 4;

  const int32_t type = bf16 ? MLAF_VIEW_BF16 : MLAF_VIEW_F16;
  mlaf_call c = {};
  c.struct_size = sizeof c, c.q_len = 1, c.scale = Parameter(op, 0), c.flags = MLAF_CALL_SCALE, c.mean_kv_len = (int32_t)keys;
  c.alloc = Allocate, c.alloc_user = (void *)call;
  c.cache = Cache(k, type, S, stream_rows, pages ? kPage : 1);
  if (pages) {
    c.q = View(q16, type, 4, rows, 1, H, kK), c.o = View(o16, type, 4, rows, 1, H, kV);
    c.block_table = View(table, MLAF_VIEW_INT32, 2, rows, parts), c.seq_lens = View(last, MLAF_VIEW_INT32, 1, rows);
  } else {
    c.q = View(q16, type, 3, rows, H, kK), c.o = View(o16, type, 3, rows, H, kV);
    c.indices = View(table, MLAF_VIEW_INT32, 2, rows, keys), c.topk_length = View(last, MLAF_VIEW_INT32, 1, rows);
  }
  const RoundQ round = {(const char *)q->data, T, H, rows, q->nb[1], q->nb[2], q->nb[3], bf16, q16, last, seen};
  const ReadMask read = {(const char *)m->data, T, keys, parts, m->ne[3], stream_rows, m->nb[1], m->nb[3],
                         pages, table, last, seen};
  const WidenO widen = {o16, H, bf16, pages, last, seen, (float *)op->data};
  if (!Launch(round, rows * H * kK, call->stream) || !Launch(read, rows * parts, call->stream))
    return Fail(MLAF_E_DEVICE, "a launch failed", why, why_size);
  const size_t cache_bytes = (((S - 1) * stream_rows + keys - 1) * k->nb[1]) + kK * 2;
  const mlaf_status status = Attend(call, &c, k, cache_bytes);
  if (status) {
    if (why) mlaf_ctx_last_message(call->ctx, why, why_size);
    return status;
  }
  return Launch(widen, rows * H * kV, call->stream) ? MLAF_OK : Fail(MLAF_E_DEVICE, "a launch failed", why, why_size);
}
