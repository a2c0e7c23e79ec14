/* v_smfmac_*: D += A B with a 4:2 sparse A. Places of elements are the public matrix-instruction calculator's (cdna3);
    the product
 * is computed from dense matrices. */

#include "emu/snippet.h"
#include "half.h"

enum { F16, BF16, I8, FP8, BF8 };
typedef struct shape { const char *name; int m, k, a, b; } shape;
static const shape shapes[] = {
  {"f32_16x16x32_f16", 16, 32, F16, F16}, {"f32_32x32x16_f16", 32, 16, F16, F16}, {"f32_16x16x32_bf16", 16, 32, BF16, BF16},
  {"f32_32x32x16_bf16", 32, 16, BF16, BF16}, {"i32_16x16x64_i8", 16, 64, I8, I8}, {"i32_32x32x32_i8", 32, 32, I8, I8},
  {"f32_16x16x64_bf8_bf8", 16, 64, BF8, BF8}, {"f32_16x16x64_bf8_fp8", 16, 64, BF8, FP8}, {"f32_16x16x64_fp8_bf8", 16, 64,
      FP8, BF8},
  {"f32_16x16x64_fp8_fp8", 16, 64, FP8, FP8}, {"f32_32x32x32_bf8_bf8", 32, 32, BF8, BF8}, {"f32_32x32x32_bf8_fp8", 32, 32,
      BF8, FP8},
  {"f32_32x32x32_fp8_bf8", 32, 32, FP8, BF8}, {"f32_32x32x32_fp8_fp8", 32, 32, FP8, FP8}};

static uint32_t seed;
static uint32_t rnd(void) { return seed = seed * 1664525u + 1013904223u, seed >> 9; }

/* The code of a small integer in each format. */
static uint32_t code(int type, int v) {
  const float f = (float)v;
  const uint32_t u = mlaf_float_bits(f);
  int mant = type == FP8 ? 3 : 2, bias = type == FP8 ? 8 : 16, e = (int)(u >> 23 & 255) - 127;
  if (type == F16) return test_half_of(f);
  if (type == BF16) return u >> 16;
  if (type == I8) return (uint8_t)v;
  return v == 0 ? 0 : (u >> 31) << 7 | (uint32_t)(e + bias) << mant | (u >> (23 - mant) & ((1u << mant) - 1));
}

/* registers[dword][lane] */
static uint32_t regs[64][64];
static void set(int reg, int lane, int bit, uint32_t v) { regs[reg][lane] |= v << bit; }

static void run(snip *t, const shape *s, int cbsz, int abid) {
  int wide = s->a <= BF16, per_lane = wide ? 8 : 16, bits = wide ? 16 : 8, d_regs = s->m == 32 ? 16 : 4, n = 0;
  static int a[32][64], b[64][32], c[32][32];
  static char body[1 << 14];
  memset(regs, 0, sizeof regs);
  memset(a, 0, sizeof a);
  for (int k = 0; k < s->k; k++)
    for (int j = 0; j < s->m; j++) {
      b[k][j] = (int)(rnd() % 9) - 4;
      set(2 + k % per_lane * bits / 32, k / per_lane * s->m + j, k % per_lane * bits % 32, code(s->b, b[k][j]));
    }
  for (int i = 0; i < s->m; i++)
    for (int group = 0; group < s->k / 4; group++) { /* two of these four */
      int first = (int)(rnd() % 3), second = first + 1 + (int)(rnd() % (uint32_t)(3 - first)), k = 4 * group;
      int lane = k / per_lane * s->m + i, e = k % per_lane / 2, shift = cbsz ? 0 : abid * per_lane;
      const int at[2] = {first, second};
      for (int x = 0; x < 2; x++) {
        a[i][k + at[x]] = (int)(rnd() % 9) - 4;
        set((e + x) * bits / 32, lane, (e + x) * bits % 32, code(s->a, a[i][k + at[x]]));
        set(6, lane, shift + 2 * (e + x), (uint32_t)at[x]);
      }
    }
  for (int i = 0; i < s->m; i++)
    for (int j = 0; j < s->m; j++) {
      int reg = s->m == 32 ? i / 8 * 4 + i % 4 : i % 4, lane = (s->m == 32 ? i / 4 % 2 : i / 4) * s->m + j;
      float f = (float)(c[i][j] = (int)(rnd() % 201) - 100);
      if (s->a == I8) regs[7 + reg][lane] = (uint32_t)c[i][j];
      else memcpy(&regs[7 + reg][lane], &f, 4);
    }
  memcpy(t->in, regs, sizeof regs);
  for (int r = 0; r < 7 + d_regs; r++)
    n += snprintf(body + n, sizeof body - (size_t)n, "v_add_u32 v3, 0x%x, v2\nglobal_load_dword v%d, v3, s[4:5]\n", 256 * r,
                  r < 2 ? 10 + r : r < 6 ? 18 + r : r == 6 ? 30 : 25 + r);
  n += snprintf(body + n, sizeof body - (size_t)n, "s_waitcnt vmcnt(0)\nv_smfmac_%s v[32:%d], v[10:11], v[20:23], v30", s->name,
                31 + d_regs);
  if (cbsz) n += snprintf(body + n, sizeof body - (size_t)n, " cbsz:%d", cbsz);
  if (abid) n += snprintf(body + n, sizeof body - (size_t)n, " abid:%d", abid);
  n += snprintf(body + n, sizeof body - (size_t)n, "\ns_nop 15\n");
  for (int r = 0; r < d_regs; r++)
    n += snprintf(body + n, sizeof body - (size_t)n, "v_add_u32 v3, 0x%x, v2\nglobal_store_dword v3, v%d, s[6:7]\n", 256 * r,
        32 + r);
  snip_ok(t, 1, 0, body);
  for (int i = 0; i < s->m; i++)
    for (int j = 0; j < s->m; j++) {
      int reg = s->m == 32 ? i / 8 * 4 + i % 4 : i % 4, lane = (s->m == 32 ? i / 4 % 2 : i / 4) * s->m + j, want = c[i][j];
      uint32_t got = t->out[64 * reg + lane];
      for (int k = 0; k < s->k; k++) want += a[i][k] * b[k][j];
      const uint32_t u = mlaf_float_bits((float)want);
      if (got != (s->a == I8 ? (uint32_t)want : u))
        fail_msg("v_smfmac_%s cbsz:%d abid:%d: D[%d][%d] is 0x%x, want %d", s->name, cbsz, abid, i, j, got, want);
    }
}

TEST(every_shape_and_set) {
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    seed = (uint32_t)i + 1;
    for (int abid = 0; abid < (shapes[i].a <= BF16 ? 4 : 2); abid++) run(*state, &shapes[i], 0, abid);
    run(*state, &shapes[i], 1, 1); /* the first set, whatever abid says */
  }
}

TEST_OF(checks, snip *t) {
  const char *zero = "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_mov_b32 v20, 0\nv_mov_b32 v21, 0\nv_mov_b32 v22, 0\n"
      "v_mov_b32 v23, 0\n"
                     "v_mov_b32 v30, 0\nv_mov_b32 v32, 0\nv_mov_b32 v33, 0\nv_mov_b32 v34, 0\n";
  char body[1024];
  snprintf(body, sizeof body, "%ss_nop 1\nv_smfmac_f32_16x16x32_f16 v[32:35], v[10:11], v[20:23], v30\n", zero);
  FAULT(t, 1, 0, body, "uninitialised register v35"); /* D comes in */
  snprintf(body, sizeof body, "%sv_mov_b32 v35, 0\ns_nop 1\nv_smfmac_f32_16x16x32_f16 v[32:35], v[10:11], v[20:23], v30\n"
           "v_mov_b32 v9, v32\n", zero);
  FAULT(t, 1, 0, body, "hazard", "7 in all");
  snprintf(body, sizeof body, "%sv_mov_b32 v35, 0\ns_nop 1\nv_mfma_f32_16x16x16_f16 v[32:35], v[10:11], v[20:21], 0\n"
           "v_smfmac_f32_16x16x32_f16 v[32:35], v[10:11], v[20:23], v30\n", zero);
  FAULT(t, 1, 0, body, "hazard", "SrcC"); /* the accumulator of another opcode */
  snprintf(body, sizeof body, "%sv_mov_b32 v35, 0\nv_mov_b32 v31, 0\ns_nop 1\n"
      "v_mfma_f32_16x16x16_f16 v[36:39], v[10:11], v[20:21], 0\n"
           "v_smfmac_f32_16x16x32_f16 v[32:35], v[10:11], v[20:23], v36\n", zero);
  FAULT(t, 1, 0, body, "hazard", "reading an MFMA result: 7 in all"); /* the positions are read early, like A and B */
}

TESTS(snip_open, snip_close)
