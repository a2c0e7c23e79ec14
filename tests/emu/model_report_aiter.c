/* One launch of AITER's gfx942 decode kernels. The argument block is its public interface: slots of 16 bytes
 * (csrc/py_itfs_cu/asm_mla.cu). The cache is all zeros, its pages in random order: only time is looked at. */
#include "op/numeric.h"
#include "emu/arch_gfx942.h"
#include "model_report.h"

enum { PERSISTENT = 1, SLOTS = 23, GRAIN = 64, FRAGMENT_COST = 16, MAX_BUFFERS = 24, LATENT = 512, ROW = 576 };

typedef struct stage1 {
  const char *name;
  int rows;     /* query rows of a workgroup */
  int bytes;    /* of an element of Q and of the cache */
  int flags;
} stage1;

static const stage1 kernels[] = {
    {"mla_dec_stage1_bf16_a16w16_subQ16_mqa16", 16, 2, 0},
    {"mla_dec_stage1_bf16_a16w16_subQ128_mqa128", 128, 2, 0},
    {"mla_a8w8_qh128_m32x4_n16x2_msk0_ps", 128, 1, PERSISTENT},
    {"mla_a8w8_qh64_qseqlen1_gqaratio64_v3_ps", 64, 1, PERSISTENT},
};

/* A persistent kernel's work list entry, as AITER's metadata kernel writes it. */
typedef struct work {
  int32_t request, partial, q_from, q_to, kv_from, kv_to, kv_after, pad;
} work;

typedef struct call {
  emu_asm *a;
  const stage1 *k;
  int heads, batch, ctx, splits;
  int parts, used; /* persistent: partial results of a request, rounded up, 0 when none; CUs with work */
  void *buffer[MAX_BUFFERS];
  int n_buffers;
  uint8_t args[16 * SLOTS];
} call;

static void *device(call *c, const void *from, size_t bytes) {
  void *p = NULL;
  if (c->n_buffers == MAX_BUFFERS || mlaf_emu_ops.mem_alloc(c->a->dev, bytes, &p, &c->a->err) != MLAF_OK) return NULL;
  c->buffer[c->n_buffers++] = p;
  if (from && mlaf_emu_ops.mem_write(c->a->dev, p, from, bytes, &c->a->err) != MLAF_OK) return NULL;
  return p;
}

static void slot(call *c, int i, const void *value, size_t size) { memcpy(c->args + 16 * i, value, size); }
static void slot_u32(call *c, int i, size_t v) { uint32_t x = (uint32_t)v; slot(c, i, &x, sizeof x); }
static bool slot_ptr(call *c, int i, void *p) { slot(c, i, &p, sizeof p); return p != NULL; }

/* A table of n + 1 multiples of `step`. */
static void *multiples(call *c, int n, int step) {
  int32_t t[1025];
  for (int i = 0; i <= n; i++) t[i] = i * step;
  return device(c, t, sizeof *t * (size_t)(n + 1));
}

static void *random_pages(call *c, size_t n) {
  mlaf_rng rng = {1};
  int32_t *t = malloc(n * sizeof *t);
  if (!t) return NULL;
  for (size_t i = 0; i < n; i++) t[i] = (int32_t)i;
  for (size_t i = n; i-- > 1;) {
    size_t j = mlaf_rng_below(&rng, (uint32_t)i + 1);
    int32_t x = t[i];
    t[i] = t[j], t[j] = x;
  }
  void *p = device(c, t, n * sizeof *t);
  free(t);
  return p;
}

/* Equal shares of all tokens, each fragment charged 16 more, dealt to the CUs in order. The CUs past the last fragment would
 * only look and leave; they are not launched, since the model's sample of workgroups could miss the few that work. */
static bool work_list(call *c, int cus) {
  static work list[4096];
  int32_t first[513] = {0};
  int n = 0, part = 0, request = 0, at = 0;
  double share = (double)c->batch * (c->ctx + FRAGMENT_COST) / cus;
  for (int cu = 0; cu < cus; cu++) {
    for (double left = share; request < c->batch && left > 0;) {
      int grains = (int)ceil((left - FRAGMENT_COST) / GRAIN), take = GRAIN * (grains < 1 ? 1 : grains);
      if (take > c->ctx - at) take = c->ctx - at;
      bool whole = take == c->ctx;
      list[n++] = (work){request, whole ? -1 : part++, request, request + 1, request * c->ctx + at, request * c->ctx + at + take,
                         c->ctx - at - take, 0};
      left -= take + FRAGMENT_COST;
      at += take;
      if (at == c->ctx) request++, at = 0;
    }
    first[cu + 1] = n;
    if (n > first[cu]) c->used = cu + 1;
  }
  if (request < c->batch) return mlaf_fail(&c->a->err, MLAF_E_ARG, "the work list left requests over"), false;
  c->parts = (part + c->batch - 1) / c->batch;
  void *head[10] = {device(c, first, sizeof *first * (size_t)(cus + 1)), device(c, list, sizeof *list * (size_t)n)};
  return head[0] && head[1] && slot_ptr(c, 14, device(c, head, sizeof head));
}

/* AITER's get_meta_param: the split count that fills the CUs, weighed against 84.1 tokens a split. */
static int default_splits(int batch, int ctx, int cus) {
  int best = 1;
  double most = 0;
  for (int i = 1; i <= 16; i++) {
    double rounds = (batch * i + cus - 1) / cus, score = batch * i / (rounds * cus) * ctx / (ctx + 84.1 * i);
    if (score > most) most = score, best = i;
  }
  return best;
}

static bool fill_args(call *c, int cus) {
  size_t rows = (size_t)c->batch * (size_t)c->heads, tokens = (size_t)c->batch * (size_t)c->ctx, b = (size_t)c->k->bytes;
  bool ps = c->k->flags & PERSISTENT;
  float scale = 1 / 24.f, one = 1;
  size_t partials = ps ? (size_t)(c->batch + cus) * (size_t)c->heads : rows * (size_t)c->splits;
  bool ok = slot_ptr(c, 0, device(c, NULL, partials * LATENT * 4)) && slot_ptr(c, 1, device(c, NULL, partials * 4)) &&
            slot_ptr(c, 2, device(c, NULL, rows * ROW * b)) && slot_ptr(c, 3, device(c, NULL, tokens * ROW * b + 4096)) &&
            slot_ptr(c, 4, multiples(c, c->batch, c->ctx)) && slot_ptr(c, 5, random_pages(c, tokens)) &&
            slot_ptr(c, 13, multiples(c, c->batch, 1));
  int32_t last[1024];
  for (int i = 0; i < c->batch; i++) last[i] = 1;
  ok = ok && slot_ptr(c, 6, device(c, last, sizeof *last * (size_t)c->batch));
  slot(c, 7, &scale, sizeof scale);
  slot_u32(c, 8, (size_t)c->heads);
  slot_u32(c, 9, ps ? 1 : (size_t)c->splits);
  slot_u32(c, 10, (size_t)c->heads * ROW * b);
  slot_u32(c, 11, ROW * b);
  ok = ok && (ps ? work_list(c, cus) && slot_ptr(c, 15, device(c, NULL, rows * LATENT * 2))
                 : slot_ptr(c, 14, multiples(c, c->batch, c->splits)));
  if (b == 1) ok = ok && slot_ptr(c, 16, device(c, &one, 4)) && slot_ptr(c, 17, device(c, &one, 4));
  slot_u32(c, 18, ps || c->splits == 1);
  slot_u32(c, 21, 1);
  return ok;
}

static bool load(call *c, const char *folder, mlaf_module **m, mlaf_function **fn, size_t *args) {
  char path[512];
  void *code = NULL;
  size_t size = 0, n = 0;
  mlaf_kernel_meta meta;
  mlaf_err *err = &c->a->err;
  snprintf(path, sizeof path, "%s/%s.co", folder, c->k->name);
  if (mlaf_file_read(path, 1 << 24, &code, &size, err) != MLAF_OK) return false;
  bool ok = mlaf_code_meta(code, size, &meta, 1, &n, err) == MLAF_OK && n > 0 &&
            mlaf_emu_ops.module_load(c->a->dev, code, size, m, err) == MLAF_OK &&
            mlaf_emu_ops.function_get(c->a->dev, *m, meta.symbol, fn, err) == MLAF_OK;
  *args = ok && meta.kernarg_bytes < sizeof c->args ? meta.kernarg_bytes : sizeof c->args;
  free(code);
  return ok;
}

/* The merge is Triton code that is not here: its bytes at the Infinity Cache's rate, behind a launch and two trips. */
static double merge_ns(const call *c, bool kernels_only) {
  const emu_arch *a = &emu_gfx942;
  bool ps = c->k->flags & PERSISTENT;
  if (!ps && c->splits == 1) return 0;
  double bytes = (double)c->batch * c->heads * LATENT * 4 * (ps ? c->parts : c->splits);
  return bytes / a->mall_bps * 1e9 + a->wg_start_clk * 1e3 / a->boost_mhz + 2 * a->hbm_latency_ns +
         (kernels_only ? 0 : a->next_launch_ns);
}

bool report_aiter(emu_asm *a, const char *folder, const report_point *p, int ctx, double *us) {
  call c = {.a = a, .heads = p->heads, .batch = p->batch, .ctx = ctx, .splits = p->splits};
  int cus = emu_gfx942.cus;
  mlaf_module *m = NULL;
  mlaf_function *fn = NULL;
  mlaf_timing t;
  mlaf_time_opts opts = {0};
  size_t args = 0;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (strcmp(kernels[i].name, p->subject) == 0) c.k = &kernels[i];
  if (!c.k || c.batch > 1024) return mlaf_fail(&a->err, MLAF_E_ARG, "no kernel '%s' in the table", p->subject), false;
  if (c.splits == 0) c.splits = default_splits(c.batch, ctx, cus);
  bool ps = c.k->flags & PERSISTENT, kernels_only = strcmp(p->unit, "kernel-us") == 0;
  bool ok = load(&c, folder, &m, &fn, &args) && fill_args(&c, cus);
  mlaf_launch l = {.fn = fn, .grid = {(uint32_t)(c.heads / c.k->rows), (uint32_t)c.batch, (uint32_t)c.splits},
                   .block = {256, 1, 1}, .args = c.args, .args_size = args};
  if (ps) l.grid[0] = (uint32_t)c.used, l.grid[1] = l.grid[2] = 1;
  ok = ok && mlaf_emu_ops.time(a->dev, &l, 1, &opts, &t, &a->err) == MLAF_OK;
  if (ok) *us = (t.ns + merge_ns(&c, kernels_only) - (kernels_only ? emu_gfx942.launch_ns : 0)) / 1e3;
  if (ok && getenv("MODEL_REPORT_PARTS")) { /* where a modelled time goes */
    fprintf(stderr, "%s ctx %d splits %d: %.1f us at %.0f MHz, %s:", p->id, ctx, c.splits, t.ns / 1e3, t.clock_mhz, t.detail);
    for (int i = 0; i < t.n_parts; i++) fprintf(stderr, " %s %.1f", t.parts[i].name, t.parts[i].ns / 1e3);
    fprintf(stderr, "; merge %.1f\n", merge_ns(&c, kernels_only) / 1e3);
  }
  for (int i = 0; i < c.n_buffers; i++) mlaf_emu_ops.mem_free(a->dev, c.buffer[i], &a->err);
  if (m) mlaf_emu_ops.module_unload(a->dev, m);
  return ok;
}
