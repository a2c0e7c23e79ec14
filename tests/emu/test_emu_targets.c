/* gfx950 and gfx90a: what they have that gfx942 lacks, what they lack, and where their rules differ. */
#include "base/bits.h"
#include "target_rig.h"

/* D = A B with small whole numbers, exact in 16 bits: A row i and B column j of k = group * per_lane + e in lane 16 group + i
 * (32: 32 group + i), two elements a register. Then D as the calculator's map of 16x16 and 32x32 results has it. */
static void multiply(rig *r, const char *name, int m, int k, bool bf16) {
  int groups = 64 / m, per_lane = k / groups, regs = per_lane / 2, d_regs = m * m / 64;
  int a[32][32], b[32][32]; /* [row or column][k] */
  uint16_t *words = (uint16_t *)r->in;
  char body[4096];
  int n = 0;
  for (int which = 0; which < 2; which++)
    for (int i = 0; i < m; i++)
      for (int x = 0; x < k; x++) {
        int value = (7 * i + 3 * x + 5 * which + i * x) % 9 - 4;
        const uint32_t bits = mlaf_float_bits((float)value);
        (which ? b : a)[i][x] = value;
        /* f16 of a small whole number: sign, exponent rebiased, the top ten bits of the mantissa */
        uint32_t half = value ? (bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff) : 0;
        int lane = m * (x / per_lane) + i, e = x % per_lane;
        words[2 * (64 * (regs * which + e / 2) + lane) + e % 2] = (uint16_t)(bf16 ? bits >> 16 : half);
      }
  for (int i = 0; i < 2 * regs; i++)
    n += snprintf(body + n, sizeof body - (size_t)n, "global_load_dword v%d, v1, s[4:5] offset:%d\n", 2 + i, 256 * i);
  n += snprintf(body + n, sizeof body - (size_t)n,
                "s_waitcnt vmcnt(0)\n%s v[32:%d], v[2:%d], v[%d:%d], 0\ns_nop 15\ns_nop 7\n", name,
                31 + d_regs, 1 + regs, 2 + regs, 1 + 2 * regs);
  for (int i = 0; i < d_regs; i++)
    n += snprintf(body + n, sizeof body - (size_t)n, "global_store_dword v1, v%d, s[6:7] offset:%d\n", 32 + i, 256 * i);
  run_ok(r, body);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < m; j++) {
      int want = 0, reg = m == 32 ? 4 * (i / 8) + i % 4 : i % 4, lane = m == 32 ? 32 * (i / 4 % 2) + j : 16 * (i / 4) + j;
      for (int x = 0; x < k; x++) want += a[i][x] * b[j][x];
      if (r->out[64 * reg + lane] != (float)want)
        fail_msg("%s: D[%d][%d] is %g, not %d", name, i, j, (double)r->out[64 * reg + lane], want);
    }
}

TEST(matrices) {
  rig r;
  rig_open(&r, &mlaf_emu_gfx950_ops);
  multiply(&r, "v_mfma_f32_16x16x16_bf16", 16, 16, true);
  multiply(&r, "v_mfma_f32_16x16x32_bf16", 16, 32, true);
  multiply(&r, "v_mfma_f32_32x32x16_bf16", 32, 16, true);
  multiply(&r, "v_mfma_f32_16x16x32_f16", 16, 32, false);
  multiply(&r, "v_mfma_f32_32x32x16_f16", 32, 16, false);
  rig_close(&r);
  rig_open(&r, &mlaf_emu_gfx90a_ops);
  multiply(&r, "v_mfma_f32_16x16x16bf16_1k", 16, 16, true);
  multiply(&r, "v_mfma_f32_32x32x8bf16_1k", 32, 8, true);
  multiply(&r, "v_mfma_f32_16x16x16f16", 16, 16, false);
  multiply(&r, "v_mfma_f32_32x32x8f16", 32, 8, false);
  rig_close(&r);
}

/* Wait states between an MFMA and a reader of its result: one too few is a fault, enough is none. */
TEST(wait_states) {
  static const struct { int target; const char *mfma; int states; } cases[] = {
    {0, "v_mfma_f32_16x16x16_bf16", 7}, {1, "v_mfma_f32_16x16x16_bf16", 8}, {2, "v_mfma_f32_16x16x16bf16_1k", 11},
    {0, "v_mfma_f32_32x32x8_bf16", 11}, {1, "v_mfma_f32_32x32x8_bf16", 12}, {2, "v_mfma_f32_32x32x8bf16_1k", 19}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    rig r;
    rig_open(&r, targets[cases[c].target]);
    for (int less = 0; less < 2; less++) {
      char body[512];
      int n = cases[c].states - less;
      snprintf(body, sizeof body, "v_mov_b32 v2, 0\nv_mov_b32 v3, 0\ns_nop 7\n%s v[32:%d], v[2:3], v[2:3], 0\n%s s_nop %d\n"
               "v_mov_b32 v4, v32", cases[c].mfma, strstr(cases[c].mfma, "16x16") ? 35 : 47, n > 16 ? "s_nop 15\n" : "",
               (n > 16 ? n - 16 : n) - 1);
      if (less) run_fault(&r, body, "needs 1 more wait state");
      else run_ok(&r, body);
    }
    rig_close(&r);
  }
}

/* Shadows that came with gfx940: a transcendental result read at once, a VALU-written SGPR. */
TEST(shadows) {
  static const char body[] = "v_mov_b32 v2, 1.0\nv_exp_f32 v3, v2\nv_add_f32 v4, v3, v3";
  for (int t = 0; t < 3; t++) {
    rig r;
    rig_open(&r, targets[t]);
    if (t == 2) run_ok(&r, body);
    else run_fault(&r, body, "result of a transcendental");
    rig_close(&r);
  }
}

TEST(gfx950_instructions) {
  rig r;
  rig_open(&r, &mlaf_emu_gfx950_ops);
  uint32_t *out = (uint32_t *)r.out;
  /* 0xaa, 0xcc and 0xf0 are the third, the second and the first operand: a table made of them is an expression */
  run_ok(&r, "v_mov_b32 v2, 0xff00ff00\nv_mov_b32 v3, 0xf0f0f0f0\nv_mov_b32 v4, 0xcccccccc\n"
             "v_bitop3_b32 v5, v2, v3, v4 bitop3:0x6c\nglobal_store_dword v1, v5, s[6:7]\n" /* (x & z) ^ y */
             "v_bitop3_b32 v6, v2, v3, v4 bitop3:0xf8\nglobal_store_dword v1, v6, s[6:7] offset:256\n" /* x | (y & z) */
             "v_mov_b32 v7, 0x12345678\nv_bitop3_b16 v7, v2, v3, v4 bitop3:0x1\n" /* ~(x | y | z) in the low half */
             "global_store_dword v1, v7, s[6:7] offset:512");
  assert_int_equal(out[5], (0xff00ff00 & 0xcccccccc) ^ 0xf0f0f0f0);
  assert_int_equal(out[64 + 5], 0xff00ff00 | (0xf0f0f0f0 & 0xcccccccc));
  assert_int_equal(out[128 + 5], 0x12340000 | (~(0xff00ff00 | 0xf0f0f0f0 | 0xcccccccc) & 0xffff));
  /* 1 + 2^-8 is a tie to even in bf16, 1 + 3 * 2^-8 one to the other side; a NaN stays one */
  run_ok(&r, "v_mov_b32 v2, 0x3f808000\nv_mov_b32 v3, 0x3f818000\nv_mov_b32 v4, 0x7f800001\nv_cvt_pk_bf16_f32 v5, v2, v3\n"
             "v_cvt_pk_bf16_f32 v6, v4, v2\nv_mov_b32 v7, 1.0\nv_mov_b32 v8, -2.0\nv_cvt_pk_f16_f32 v9, v7, v8\n"
             "global_store_dword v1, v5, s[6:7]\nglobal_store_dword v1, v6, s[6:7] offset:256\n"
             "global_store_dword v1, v9, s[6:7] offset:512");
  assert_int_equal(out[0], 0x3f823f80);
  assert_true((out[64] & 0x7f80) == 0x7f80 && out[64] & 0x7f);
  assert_int_equal(out[128], 0xc0003c00);
  /* Its 8-bit floats are OCP's: 0x38 is 1.0 there, 0.5 in FNUZ. */
  run_ok(&r, "v_mov_b32 v2, 0x38\nv_cvt_f32_fp8 v3, v2\nglobal_store_dword v1, v3, s[6:7]");
  assert_int_equal(out[0], 0x3f800000);
  rig_close(&r);
}

/* global_load_dword with `lds`: no register is written, the offset counts for both addresses, M0 says where. */
TEST(gfx90a_load_to_lds) {
  rig r;
  rig_open(&r, &mlaf_emu_gfx90a_ops);
  for (int i = 0; i < WORDS; i++) r.in[i] = (float)i;
  run_ok(&r, "s_mov_b32 m0, 64\ns_nop 0\nglobal_load_dword v1, s[4:5] offset:256 lds\ns_waitcnt vmcnt(0)\n"
             "ds_read_b32 v3, v1 offset:320\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v3, s[6:7] glc slc");
  for (int i = 0; i < 64; i++) assert_true(r.out[i] == (float)(64 + i));
  run_fault(&r, "s_mov_b32 m0, 64\nglobal_load_dword v1, s[4:5] lds\ns_waitcnt vmcnt(0)", "M0 just written");
  rig_close(&r);
}

/* Overflow of f32 within a 16-bit multiply: products of one row and column, and what silicon makes of them. gfx942 (and
 * gfx950) sum eight at a time without rounding to f32, a product of 2^128 or more being infinite; gfx90a sums pairs in f32. */
TEST(overflow_within) {
  static const float big = 0x1.8p127f, huge = 0x1p100f; /* huge * huge does not fit */
  static const struct { float a[16], b[16], fused, pairs;
  } cases[] = {{{big, big, -big}, {1, 1, 1}, 0x1.8p127f, INFINITY}, /* only a partial sum is too large */
               {{huge}, {huge}, INFINITY, INFINITY},
               {{huge, huge}, {huge, -huge}, NAN, NAN},           /* both infinities in one sum */
               {{big, big, -huge}, {1, 1, huge}, -INFINITY, NAN}, /* the finite ones are no infinity first */
               {{huge, 0, 0, 0, 0, 0, 0, 0, huge},
                {huge, 0, 0, 0, 0, 0, 0, 0, -huge},
                INFINITY,
                NAN}, /* the next eight add to what is infinite */
               {{big, 0, 0, 0, 0, 0, 0, 0, big}, {1, 0, 0, 0, 0, 0, 0, 0, 1}, INFINITY, INFINITY},
               {{big, big, -big, -big, 3}, {1, 1, 1, 1, 1}, 3, NAN}};
  for (int t = 0; t < 3; t++) {
    rig r;
    rig_open(&r, targets[t]);
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
      uint16_t *words = (uint16_t *)r.in;
      float want = t == 2 ? cases[n].pairs : cases[n].fused;
      memset(r.in, 0, 16 * 256);
      for (int k = 0; k < 16; k++)
        for (int which = 0; which < 2; which++) { /* row 5 of A, column 9 of B */
          uint32_t u;
          memcpy(&u, which ? &cases[n].b[k] : &cases[n].a[k], 4);
          words[2 * (64 * (2 * which + k % 4 / 2) + 16 * (k / 4) + (which ? 9 : 5)) + k % 2] = (uint16_t)(u >> 16);
        }
      rig_run(&r, 4,
              t == 2 ? "v_mfma_f32_16x16x16bf16_1k v[40:43], v[2:3], v[4:5], 0"
                     : "v_mfma_f32_16x16x16_bf16 v[40:43], v[2:3], v[4:5], 0",
              40, 4);
      for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
          float got = r.out[64 * (i % 4) + 16 * (i / 4) + j], should = i == 5 && j == 9 ? want : 0;
          if (got != should && !(got != got && should != should))
            fail_msg("%s, case %zu: D[%d][%d] is %g, want %g", target_of(&r), n, i, j, (double)got, (double)should);
        }
    }
    rig_close(&r);
  }
}

/* An accumulator in place may hold A and B as well: compilers put them there when they are the same numbers. */
TEST(inputs_in_the_accumulator) {
  static const char *const names[3][2] = {{"v_mfma_f64_16x16x4_f64", "v_mfma_f32_32x32x2_f32"},
                                          {"v_mfma_f64_16x16x4_f64", "v_mfma_f32_32x32x2_f32"},
                                          {"v_mfma_f64_16x16x4f64", "v_mfma_f32_32x32x2f32"}};
  for (int t = 0; t < 3; t++) {
    rig r;
    rig_open(&r, targets[t]);
    for (int i = 0; i < 64 * 16; i++) r.in[i] = (float)(i * 37 % 101 - 50) * 0.25f;
    for (int f64 = 0; f64 < 2; f64++) {
      const char *name = names[t][!f64];
      int regs = f64 ? 8 : 16, at = 0;
      char text[4096], a[24], b[24], refused[256];
      for (int i = 0; i < regs; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "v_mov_b32 v%d, v%d\nv_mov_b32 v%d, v%d\n", 40 + i, 2 + i,
                       40 + regs + i, 2 + i);
      snprintf(a, sizeof a, f64 ? "v[42:43]" : "v41"), snprintf(b, sizeof b, f64 ? "v[44:45]" : "v47");
      at += snprintf(text + at, sizeof text - (size_t)at,
                     "v_mov_b32 v80, %s\nv_mov_b32 v81, %s\nv_mov_b32 v82, %s\nv_mov_b32 v83, %s\ns_nop 7\n", f64 ? "v42" : "v41",
                     f64 ? "v43" : "v41", f64 ? "v44" : "v47", f64 ? "v45" : "v47");
      snprintf(text + at, sizeof text - (size_t)at, "%s v[40:%d], %s, %s, v[40:%d]\n%s v[%d:%d], %s, %s, v[%d:%d]", name,
               39 + regs, a, b, 39 + regs, name, 40 + regs, 39 + 2 * regs, f64 ? "v[80:81]" : "v80", f64 ? "v[82:83]" : "v82",
               40 + regs, 39 + 2 * regs);
      rig_run(&r, 16, text, 40, 2 * regs);
      assert_memory_equal(r.out, r.out + 64 * regs, (size_t)regs * 256);
      snprintf(refused, sizeof refused, "%s v[40:%d], %s, %s, 0", name, 39 + regs, a, b);
      run_fault(&r, refused, "unimplemented instruction");
    }
    rig_close(&r);
  }
}

TEST(each_its_own_code) {
  rig r;
  void *code;
  size_t size;
  mlaf_module *m;
  for (int t = 0; t < 3; t++) {
    rig_open(&r, targets[t]);
    for (int other = 0; other < 3; other++) {
      assemble(&r, targets[other]->name + 4, "", &code, &size);
      mlaf_status st = mlaf_ops(r.dev)->module_load(r.dev, code, size, &m, &r.err);
      assert_int_equal(st, t == other ? MLAF_OK : MLAF_E_ARG);
      if (st == MLAF_OK) mlaf_ops(r.dev)->module_unload(r.dev, m);
      else assert_non_null(strstr(r.err.text, targets[t]->name));
      free(code);
    }
    rig_close(&r);
  }
}

TEST(no_times) {
  for (int t = 1; t < 3; t++) {
    mlaf_device *dev;
    mlaf_err err;
    mlaf_timing timing;
    assert_int_equal(targets[t]->open(0, NULL, &dev, &err), MLAF_OK);
    assert_string_equal(mlaf_info(dev)->target, targets[t]->name + 4);
    mlaf_launch l = {.fn = NULL};
    mlaf_time_opts opts = {.min_samples = 1};
    assert_int_equal(targets[t]->time(dev, &l, 1, &opts, &timing, &err), MLAF_E_ARG);
    assert_non_null(strstr(err.text, "no timing model"));
    targets[t]->close(dev);
  }
}

TESTS(NULL, NULL)
