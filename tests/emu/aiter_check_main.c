/* aiter-check FOLDER: run AITER's gfx942 MLA decode kernels (hsa/gfx942/mla of ROCm/aiter, not part of this repository) and
 * compare with an fp64 reference. One line a kernel: with every rule on, what it breaks first; with MLAF_EMU_STRICT=none, the
 * error and the rules that were forgiven. Arguments are those of AITER's public interface (csrc/py_itfs_cu/asm_mla.cu): slots
 * of 16 bytes. Two requests of different length, pages of one token in random order, one split, the kernel's own output type. */
#include "aiter_run.h"

enum { ROW = 576, LATENT = 512, BATCH = 2 };
static const int ctx[BATCH] = {203, 77};

typedef struct subject {
  const char *name;
  int heads, q_len, rows;   /* of a workgroup */
  int q_bytes, kv_bytes;    /* 1: fp8 */
  int mqa;                  /* 0: heads * q_len */
  bool persistent, in_final;  /* in_final: writes where persistent kernels do */
} subject;

static const subject subjects[] = {
  {"mla_dec_stage1_bf16_a16w16_subQ16_mqa16", 16, 1, 16, 2, 2, 0, false, false},
  {"mla_dec_stage1_bf16_a16w16_subQ128_mqa128", 128, 1, 128, 2, 2, 0, false, false},
  {"mla_a16w16_qh16_m16x4_n16x1_coex0_mask1", 16, 4, 128, 2, 2, 0, false, false},
  {"mla_a16w16_qh16_m32x4_n16x1_coex0_mask1", 16, 8, 128, 2, 2, 0, false, false},
  {"MLA_A16W16_1TG_4W_32mx1_16nx1_Coex0_Msk1_QH16", 32, 1, 64, 2, 2, 0, false, true},
  {"MLA_A16W16_1TG_4W_64mx1_16nx1_Coex0_Msk1_QH16", 64, 1, 64, 2, 2, 0, false, true},
  {"mla_a16w16_qh8_qseqlen1_gqaratio8_v3", 8, 1, 8, 2, 2, 0, false, false},
  {"mla_a8w8_qh8_qseqlen1_gqaratio8_v1", 8, 1, 8, 1, 1, 0, false, false},
  {"mla_a8w8_qh16_qseqlen1_gqaratio16", 16, 1, 128, 1, 1, 0, false, false},
  {"mla_a8w8_qh16_qseqlen2_gqaratio16", 16, 2, 128, 1, 1, 0, false, false},
  {"mla_a8w8_qh64_qseqlen4_gqaratio16", 16, 4, 64, 1, 1, 0, false, false},
  {"mla_a8w8_qh128_m32x4_n16x2_msk1", 128, 1, 128, 1, 1, 0, false, false},
  {"mla_a16w16_qh16_m16x4_n16x1_coex0_mask1_ps", 16, 4, 128, 2, 2, 0, true, false},
  {"mla_dec_stage1_bf16_a16w16_subQ16_mqa16_ps", 8, 2, 16, 2, 2, 8, true, false},
  {"mla_a16w8_qh16_m16x4_n16x1_coex0_mask1_ps", 16, 4, 128, 2, 1, 0, true, false},
  {"mla_a8w8_qh16_qseqlen1_gqaratio16_ps", 16, 1, 128, 1, 1, 0, true, false},
  {"mla_a8w8_qh16_qseqlen2_gqaratio16_ps", 16, 2, 128, 1, 1, 0, true, false},
  {"mla_a8w8_qh64_qseqlen4_gqaratio16_ps", 16, 4, 64, 1, 1, 0, true, false},
  {"mla_a8w8_qh64_qseqlen1_gqaratio64_v3_ps", 64, 1, 64, 1, 1, 0, true, false},
  {"mla_a8w8_qh64_qseqlen1_gqaratio64_lse_v3_ps", 64, 1, 64, 1, 1, 0, true, false},
  {"mla_a8w8_qh128_m32x4_n16x2_msk0_ps", 128, 1, 128, 1, 1, 0, true, false}};

typedef struct work { int32_t request, partial, q_from, q_to, kv_from, kv_to, kv_after, pad; } work;

typedef struct call {
  aiter_run run;
  const subject *s;
  int tokens, queries, page_of[512];
  float *q, *kv; /* decoded, tokens in order */
  uint16_t *out; /* bf16 */
} call;

/* FNUZ e4m3 from its fields. */
static float fp8(uint8_t x) {
  int e = x >> 3 & 15, m = x & 7;
  float v = e ? ldexpf((float)(8 + m), e - 11) : ldexpf((float)m, -10);
  return x & 0x80 ? -v : v;
}

/* n random numbers as the kernel reads them, and as floats. */
static void *numbers(aiter_run *run, mlaf_rng *rng, size_t n, int bytes, float *as, const int *row_of) {
  uint8_t *raw = aiter_device(run, NULL, n * (size_t)bytes + AITER_PAST);
  for (size_t i = 0; raw && i < n; i++) {
    size_t at = row_of ? (size_t)row_of[i / ROW] * ROW + i % ROW : i;
    float f = (float)mlaf_rng_below(rng, 20001) / 10000 - 1;
    if (bytes == 1) {
      uint8_t code = (uint8_t)(mlaf_rng_below(rng, 2) << 7 | (0x20 + mlaf_rng_below(rng, 0x20))); /* 2^-4 .. 1.875 */
      raw[at] = code, as[i] = fp8(code);
    } else {
      uint16_t h = mlaf_bf16_encode(f);
      memcpy(raw + 2 * at, &h, 2);
      as[i] = mlaf_bf16_decode(h);
    }
  }
  return raw;
}

static bool fill(call *c) {
  const subject *s = c->s;
  aiter_run *run = &c->run;
  mlaf_rng rng = {7};
  int32_t kv_at[BATCH + 1] = {0}, q_at[BATCH + 1] = {0}, last[BATCH], splits[BATCH + 1], first[BATCH + 1], pages[512];
  work list[BATCH];
  float scale = 1 / 24.f, one = 1;
  for (int b = 0; b < BATCH; b++) {
    kv_at[b + 1] = kv_at[b] + ctx[b], q_at[b + 1] = q_at[b] + s->q_len;
    last[b] = 1, splits[b] = first[b] = b;
    list[b] = (work){b, -1, q_at[b], q_at[b + 1], kv_at[b], kv_at[b + 1], 0, 0};
  }
  splits[BATCH] = first[BATCH] = BATCH;
  c->tokens = kv_at[BATCH], c->queries = q_at[BATCH];
  for (int i = 0; i < c->tokens; i++) pages[i] = i;
  for (int i = c->tokens; i-- > 1;) {
    int j = (int)mlaf_rng_below(&rng, (uint32_t)i + 1), x = pages[i];
    pages[i] = pages[j], pages[j] = x;
  }
  size_t rows = (size_t)c->queries * (size_t)s->heads, nq = rows * ROW, nk = (size_t)c->tokens * ROW;
  c->q = malloc(nq * sizeof *c->q), c->kv = malloc(nk * sizeof *c->kv);
  if (!c->q || !c->kv) return false;
  size_t out = rows * LATENT * 4 + AITER_PAST;
  void *r = aiter_device(run, NULL, out), *final = aiter_device(run, NULL, out);
  aiter_slot_ptr(run, 0, r);
  aiter_slot_ptr(run, 1, aiter_device(run, NULL, rows * 4 + 4096));
  aiter_slot_ptr(run, 2, numbers(run, &rng, nq, s->q_bytes, c->q, NULL));
  aiter_slot_ptr(run, 3, numbers(run, &rng, nk, s->kv_bytes, c->kv, pages));
  aiter_slot_ptr(run, 4, aiter_device(run, kv_at, sizeof kv_at));
  aiter_slot_ptr(run, 5, aiter_device(run, pages, sizeof pages));
  aiter_slot_ptr(run, 6, aiter_device(run, last, sizeof last));
  aiter_slot(run, 7, &scale, sizeof scale);
  aiter_slot_u32(run, 8, (size_t)(s->mqa ? s->mqa : s->heads * s->q_len));
  aiter_slot_u32(run, 9, 1);
  aiter_slot_u32(run, 10, (size_t)(s->q_len * s->heads * ROW * s->q_bytes)); /* from request to request */
  aiter_slot_u32(run, 11, (size_t)(ROW * s->kv_bytes));
  aiter_slot_u32(run, 12, 0);
  aiter_slot_ptr(run, 13, aiter_device(run, q_at, sizeof q_at));
  void *head[10] = {aiter_device(run, first, sizeof first), aiter_device(run, list, sizeof list)};
  aiter_slot_ptr(run, 14, s->persistent ? aiter_device(run, head, sizeof head) : aiter_device(run, splits, sizeof splits));
  aiter_slot_ptr(run, 15, final);
  aiter_slot_ptr(run, 16, aiter_device(run, &one, 4));
  aiter_slot_ptr(run, 17, aiter_device(run, &one, 4));
  aiter_slot_u32(run, 18, 1);
  aiter_slot_ptr(run, 19, aiter_device(run, NULL, rows * 4 + 4096));
  aiter_slot_u32(run, 21, 1);
  c->out = s->persistent || s->in_final ? final : r;
  return r && final && run->n_buffers < AITER_BUFFERS;
}

/* Largest error over largest magnitude, of a bf16 or an fp32 output (older kernels write fp32 even of one split). Query t of a
 * request sees all but the last q_len - 1 - t tokens. */
static double error_as(const call *c, bool wide) {
  const subject *s = c->s;
  double worst = 0, most = 0, p[512], o;
  for (int b = 0, kv0 = 0, q0 = 0; b < BATCH; kv0 += ctx[b], q0 += s->q_len, b++)
    for (int t = 0; t < s->q_len; t++)
      for (int h = 0; h < s->heads; h++) {
        const float *q = c->q + ((size_t)(q0 + t) * (size_t)s->heads + (size_t)h) * ROW;
        int n = ctx[b] - (s->q_len - 1 - t);
        double top = -INFINITY, sum = 0;
        for (int k = 0; k < n; k++) {
          const float *row = c->kv + (size_t)(kv0 + k) * ROW;
          p[k] = 0;
          for (int d = 0; d < ROW; d++) p[k] += (double)q[d] * row[d];
          p[k] /= 24;
          if (p[k] > top) top = p[k];
        }
        for (int k = 0; k < n; k++) sum += p[k] = exp(p[k] - top);
        for (int d = 0; d < LATENT; d++) {
          o = 0;
          for (int k = 0; k < n; k++) o += p[k] * c->kv[(size_t)(kv0 + k) * ROW + (size_t)d];
          o /= sum;
          size_t at = ((size_t)(q0 + t) * (size_t)s->heads + (size_t)h) * LATENT + (size_t)d;
          double got = wide ? ((const float *)c->out)[at] : mlaf_bf16_decode(c->out[at]);
          if (!(fabs(got - o) <= worst)) worst = isnan(got) ? INFINITY : fabs(got - o);
          if (fabs(o) > most) most = fabs(o);
        }
      }
  return worst / most;
}

static double error(const void *user, const char **type) {
  double half = error_as(user, false), wide = error_as(user, true);
  *type = wide < half ? "fp32" : "bf16";
  return wide < half ? wide : half;
}

static void run(emu_asm *a, const char *folder, const subject *s) {
  call c = {.run = {.a = a}, .s = s};
  uint32_t groups = (uint32_t)((s->heads * s->q_len + s->rows - 1) / s->rows);
  const uint32_t grid[3] = {s->persistent ? BATCH : groups, s->persistent ? 1 : BATCH, 1};
  bool ok = fill(&c);
  aiter_execute(&c.run, ok, folder, s->name, grid, 256, s->q_bytes == 1 ? 0x1p-4 : 0x1p-7, error, &c);
  free(c.q), free(c.kv);
}

int main(int argc, char **argv) {
  emu_asm a;
  if (argc < 2) return fprintf(stderr, "aiter-check FOLDER [PART OF A NAME]\n"), 2;
  if (!emu_asm_open(&a)) return fprintf(stderr, "%s\n", a.err.text), 1;
  ((emu_device *)a.dev)->log = (mlaf_log){aiter_hear, NULL, MLAF_LOG_WARN};
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
    if (argc < 3 || strstr(subjects[i].name, argv[2])) run(&a, argv[1], &subjects[i]);
  emu_asm_close(&a);
  return 0;
}
