// mlaf_ggml_flash_attn_ext against double precision and beside ggml's own CPU kernel, on the device $MLAF_DEVICE: emu:gfx942 if
// unset, a GPU where mlaforge-ggml.cpp was compiled for one. Exit code 1 if a case fails.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "ggml-cpu.h"
#include "mlaforge-ggml.h"

namespace {

enum Mask { PREFIX, HOLES, EMPTY_ROW, NOT_A_MASK };
enum Layout { DENSE, WIDE_ROWS, SHARED_MASK, SPARE_ROWS };

struct Case {
  const char *name;
  int64_t T, H, S, keys;
  ggml_type type;
  Mask mask;
  Layout layout;
  int prefix;
};

// clang-format off
const Case CASES[] = {
  {"decode, 4 streams, lists",            1, 16, 4, 256, GGML_TYPE_F16, PREFIX, DENSE, 0},
  {"decode, 4 streams, lengths",          1, 16, 4, 256, GGML_TYPE_F16, PREFIX, DENSE, 1},
  {"decode, bf16, lengths",               1, 16, 2, 256, GGML_TYPE_BF16, PREFIX, DENSE, 1},
  {"7 tokens, lists",                     7, 8, 1, 256, GGML_TYPE_F16, PREFIX, DENSE, 0},
  {"7 tokens, lengths",                   7, 8, 1, 256, GGML_TYPE_F16, PREFIX, DENSE, 1},
  {"holes in the mask (unified cache)",   5, 4, 1, 512, GGML_TYPE_F16, HOLES, DENSE, 0},
  {"holes, rows of 640, 3 streams",       2, 4, 3, 256, GGML_TYPE_F16, HOLES, WIDE_ROWS, 0},
  {"lengths, rows of 640, 3 streams",     2, 4, 3, 256, GGML_TYPE_F16, PREFIX, WIDE_ROWS, 1},
  {"one mask for 2 streams",              2, 4, 2, 256, GGML_TYPE_F16, HOLES, SHARED_MASK, 0},
  {"128 spare rows a stream, lists",      2, 4, 3, 256, GGML_TYPE_F16, HOLES, SPARE_ROWS, 0},
  {"128 spare rows a stream, lengths",    2, 4, 3, 256, GGML_TYPE_F16, PREFIX, SPARE_ROWS, 1},
  {"100 keys, prefix asked for",          3, 4, 2, 100, GGML_TYPE_F16, PREFIX, DENSE, 1},
  {"a row without keys, lists",           3, 4, 1, 256, GGML_TYPE_F16, EMPTY_ROW, DENSE, 0},
  {"a row without keys, lengths",         3, 4, 1, 256, GGML_TYPE_F16, EMPTY_ROW, DENSE, 1},
  {"holes where a prefix was promised",   3, 4, 1, 256, GGML_TYPE_F16, HOLES, DENSE, 1},
  {"a value that is not 0 or -inf",       3, 4, 1, 256, GGML_TYPE_F16, NOT_A_MASK, DENSE, 0},
};
// clang-format on

mlaf_ctx *context;
std::mt19937 generator(1);

float Normal() {
  static std::normal_distribution<float> normal;
  return normal(generator);
}

// A node with its data in ggml's memory, as llama.cpp builds it: Q permuted, V a view of K.
struct Node {
  ggml_context *ctx;
  ggml_tensor *q, *k, *v, *mask, *op;

  explicit Node(const Case &c) {
    ctx = ggml_init({256u << 20, nullptr, false});
    const int64_t row = c.layout == WIDE_ROWS ? 640 : 576, masks = c.layout == SHARED_MASK ? 1 : c.S;
    ggml_tensor *cells = ggml_new_tensor_4d(ctx, c.type, row, c.keys + (c.layout == SPARE_ROWS ? 128 : 0), 1, c.S);
    q = ggml_permute(ctx, ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 576, c.H, c.T, c.S), 0, 2, 1, 3);
    k = ggml_view_4d(ctx, cells, 576, c.keys, 1, c.S, cells->nb[1], cells->nb[2], cells->nb[3], 0);
    v = ggml_view_4d(ctx, k, 512, c.keys, 1, c.S, k->nb[1], k->nb[2], k->nb[3], 0);
    mask = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, c.keys, c.T, 1, masks);
    op = ggml_flash_attn_ext(ctx, q, k, v, mask, 1 / sqrtf(192), 0, 0);
    for (int64_t i = 0; i < ggml_nelements(q); i++) ((float *)q->data)[i] = Normal();
    for (int64_t i = 0; i < ggml_nelements(cells); i++) {
      const float x = Normal();
      if (c.type == GGML_TYPE_F16) ((ggml_fp16_t *)cells->data)[i] = ggml_fp32_to_fp16(x);
      else ((ggml_bf16_t *)cells->data)[i] = ggml_fp32_to_bf16(x);
    }
    for (int64_t r = 0; r < c.T * masks; r++) FillMask(c, r);
  }
  ~Node() { ggml_free(ctx); }

  void FillMask(const Case &c, int64_t r) {
    const int64_t length = 1 + generator() % c.keys;
    for (int64_t j = 0; j < c.keys; j++) {
      bool shown = c.mask == HOLES ? generator() % 3 == 0 : j < length;
      if (c.mask == EMPTY_ROW && r == 1) shown = false;
      ((ggml_fp16_t *)mask->data)[r * c.keys + j] = ggml_fp32_to_fp16(shown ? 0 : -INFINITY);
    }
    if (c.mask == NOT_A_MASK) ((ggml_fp16_t *)mask->data)[r * c.keys + 5] = ggml_fp32_to_fp16(-2);
  }

  double K(int64_t s, int64_t j, int64_t column) const {
    const char *at = (const char *)k->data + s * k->nb[3] + j * k->nb[1] + column * 2;
    return k->type == GGML_TYPE_F16 ? ggml_fp16_to_fp32(*(const ggml_fp16_t *)at) : ggml_bf16_to_fp32(*(const ggml_bf16_t *)at);
  }
  const float *Q(int64_t t, int64_t h, int64_t s) const {
    return (const float *)((const char *)q->data + t * q->nb[1] + h * q->nb[2] + s * q->nb[3]);
  }
  double MaskAt(int64_t s, int64_t t, int64_t j) const {
    const char *row = (const char *)mask->data + t * mask->nb[1] + s % mask->ne[3] * mask->nb[3];
    return ggml_fp16_to_fp32(((const ggml_fp16_t *)row)[j]);
  }
};

// softmax(scale * q k + mask) v in double precision, as ggml.h states the shapes: [512, H, T, S].
std::vector<double> Reference(const Node &n) {
  const int64_t T = n.q->ne[1], H = n.q->ne[2], S = n.q->ne[3], keys = n.k->ne[1];
  std::vector<double> out(S * T * H * 512, 0.0), weight(keys);
  for (int64_t s = 0; s < S; s++)
    for (int64_t t = 0; t < T; t++)
      for (int64_t h = 0; h < H; h++) {
        double most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < keys; j++) {
          double dot = 0;
          if (n.MaskAt(s, t, j) > -INFINITY)
            for (int64_t i = 0; i < 576; i++) dot += n.Q(t, h, s)[i] * n.K(s, j, i);
          weight[j] = dot / sqrtf(192) + n.MaskAt(s, t, j);
          most = fmax(most, weight[j]);
        }
        if (most == -INFINITY) continue;
        for (double &w : weight) sum += w = exp(w - most);
        double *o = &out[((s * T + t) * H + h) * 512];
        for (int64_t j = 0; j < keys; j++)
          for (int64_t i = 0; weight[j] > 0 && i < 512; i++) o[i] += weight[j] / sum * n.K(s, j, i);
      }
  return out;
}

double Error(const float *x, const std::vector<double> &want) {
  double wrong = 0, all = 0;
  for (size_t i = 0; i < want.size(); i++) wrong += (x[i] - want[i]) * (x[i] - want[i]), all += want[i] * want[i];
  return sqrt(wrong / all);
}

std::vector<void *> blocks;  // of the device, until a call is over

void *Alloc(void *, size_t bytes) {
  void *p = nullptr;
  if (mlaf_mem_alloc(context, bytes, &p)) return nullptr;
  blocks.push_back(p);
  return p;
}

// Moves the node's tensors to a GPU, where K's cells start at K, and its views share their memory.
void ToDevice(const Node &n) {
  const auto copy = [](const ggml_tensor *t) {
    const ggml_tensor *whole = t->view_src ? t->view_src : t;
    void *p = Alloc(nullptr, ggml_nbytes(whole));
    if (!p || mlaf_mem_write(context, p, whole->data, ggml_nbytes(whole))) printf("FAIL device memory\n"), exit(1);
    return p;
  };
  n.q->data = copy(n.q), n.k->data = n.v->data = copy(n.k), n.mask->data = copy(n.mask), n.op->data = copy(n.op);
}

bool Run(const Case &c) {
  Node n(c);
  const std::vector<double> want = Reference(n);
  ggml_cgraph *graph = ggml_new_graph(n.ctx);
  ggml_build_forward_expand(graph, n.op);
  ggml_graph_compute_with_ctx(n.ctx, graph, 1);
  const double stock = Error((const float *)n.op->data, want);
  memset(n.op->data, 0x7f, ggml_nbytes(n.op));
  const mlaf_ggml_call call = {context, nullptr, Alloc, nullptr, c.prefix};
  char why[4096] = "";
  float *o = (float *)n.op->data;
  if (strncmp(mlaf_ctx_device_id(context), "emu:", 4)) ToDevice(n);
  mlaf_status status = mlaf_ggml_flash_attn_ext(&call, n.op, why, sizeof why);
  if (!status) status = mlaf_sync(context, nullptr);
  if (!status && o != n.op->data) status = mlaf_mem_read(context, o, n.op->data, want.size() * sizeof(float));
  for (void *p : blocks) mlaf_mem_free(context, p);
  blocks.clear();
  if (status) {
    printf("FAIL %s: %s\n", c.name, why);
    return false;
  }
  if (c.mask == NOT_A_MASK || (c.mask == HOLES && c.prefix)) {
    bool good = true;
    for (size_t i = 0; i < want.size(); i++) good = good && std::isnan(o[i]);
    printf("%s %-36s all NaN, as wanted\n", good ? "ok  " : "FAIL", c.name);
    return good;
  }
  // Weights and outputs are rounded to bf16 over a cache of bf16. ggml's CPU kernel keeps those in fp32.
  const double ours = Error(o, want), most = c.type == GGML_TYPE_F16 ? 1.1 : 1.4;
  const bool good = ours <= most * stock;
  printf("%s %-36s error relative to fp64 %.2e, ggml's CPU kernel %.2e\n", good ? "ok  " : "FAIL", c.name, ours, stock);
  return good;
}

// Nodes that must be left to ggml.
bool Refusals() {
  bool good = true;
  auto refused = [&](const char *name, auto change) {
    Node n({"", 1, 4, 1, 256, GGML_TYPE_F16, PREFIX, DENSE, 0});
    const bool before = mlaf_ggml_supports(n.op);
    change(n);
    const bool ok = before && !mlaf_ggml_supports(n.op) && mlaf_ggml_flash_attn_ext(nullptr, n.op, nullptr, 0) == MLAF_E_ARG;
    printf("%s not served: %s\n", ok ? "ok  " : "FAIL", name);
    good = good && ok;
  };
  refused("V is no view of K", [](Node &n) { n.op->src[2] = ggml_new_tensor_4d(n.ctx, GGML_TYPE_F16, 512, 256, 1, 1); });
  refused("no mask", [](Node &n) { n.op->src[3] = nullptr; });
  refused("sinks", [](Node &n) { n.op->src[4] = ggml_new_tensor_1d(n.ctx, GGML_TYPE_F32, 4); });
  refused("ALiBi", [](Node &n) { const float x = 8; memcpy(n.op->op_params + 1, &x, 4); });
  refused("softcap", [](Node &n) { const float x = 30; memcpy(n.op->op_params + 2, &x, 4); });
  refused("K of q8_0", [](Node &n) { n.k->type = GGML_TYPE_Q8_0; });
  refused("2 KV heads", [](Node &n) { n.k->ne[2] = 2; });
  return good;
}

}  // namespace

int main() {
  mlaf_ctx_opts opts = MLAF_CTX_OPTS_INIT;
  char why[4096] = "";
  opts.device = getenv("MLAF_DEVICE") ? getenv("MLAF_DEVICE") : "emu:gfx942";
  if (mlaf_ctx_create(&opts, &context, why, sizeof why)) {
    printf("FAIL %s\n", why);
    return 1;
  }
  bool good = Refusals();
  for (const Case &c : CASES) good = Run(c) && good;
  mlaf_ctx_destroy(context);
  return good ? 0 : 1;
}
