/* Instructions that gfx950 has and gfx942 lacks, and those that mean something else there, against references that share nothing
 * with the emulator: formats as lists of their numbers, matrices element by element, LDS byte by byte. */
#include "base/bits.h"
#include "target_rig.h"

RIG_OF(mlaf_emu_gfx950_ops)

static float float_of(uint32_t u) { return mlaf_bits_float(u); }
static uint32_t bits_of(float f) { return mlaf_float_bits(f); }

/* --- formats --- */

typedef struct format {
  const char *name;
  int bits, exp, man; /* sign bit beside them */
  int finite;         /* codes without sign that are numbers; above: infinity if `inf`, then NaN */
  bool inf;
} format;
static const format fp8 = {"fp8", 8, 4, 3, 0x7f, false}, bf8 = {"bf8", 8, 5, 2, 0x7c, true}, fp6 = {"fp6", 6, 2, 3, 32, false},
                    bf6 = {"bf6", 6, 3, 2, 32, false}, fp4 = {"fp4", 4, 2, 1, 8, false}, f16 = {"f16", 16, 5, 10, 0x7c00, true},
                    bf16 = {"bf16", 16, 8, 7, 0x7f80, true}, f32 = {"f32", 32, 8, 23, 0, true};

/* The number of a code without sign, by counting: codes go up by one step of their binade. */
static double number(const format *f, int code) {
  int bias = (1 << (f->exp - 1)) - 1, binade = code >> f->man;
  double step = pow(2, (binade > 0 ? binade : 1) - bias - f->man);
  return ((code & ((1 << f->man) - 1)) + (binade > 0 ? 1 << f->man : 0)) * step;
}
static double value(const format *f, uint32_t code) {
  uint32_t sign = 1u << (f->bits - 1), a = code & (sign - 1);
  if (f == &f32) return float_of(code);
  double v = (int)a < f->finite ? number(f, (int)a) : f->inf && (int)a == f->finite ? INFINITY : NAN;
  return code & sign ? -v : v;
}

/* Between which two codes a number lies: `low` not above it. */
static int below(const format *f, double a) {
  int low = 0, high = f->finite;
  while (high - low > 1) {
    int mid = (low + high) / 2;
    if (number(f, mid) <= a) low = mid;
    else high = mid;
  }
  return low;
}

/* The result that a conversion must give: nearest with ties to the even code, or by `random` up or down; NaN where -1. */
static int64_t rounded(const format *f, double x, bool stochastic, uint32_t random) {
  uint32_t sign = signbit(x) ? 1u << (f->bits - 1) : 0;
  double a = fabs(x);
  bool numbers = !f->inf && f != &fp8;
  if (f == &f32) return bits_of((float)x);
  if (x != x) return numbers ? -2 : -1; /* what a NaN becomes where there is none is not said */
  int low = a == INFINITY ? f->finite : below(f, a);
  if (low < f->finite) {
    double v = number(f, low), step = number(f, low + 1) - v; /* the code after the last is one step on as well */
    int binade = low >> f->man > 0 ? 0 : 1;
    if (!stochastic) low += a - v > step / 2 || (a - v == step / 2 && low % 2);
    else if (!binade) low += (a - v) / step + (random >> (9 + f->man)) / pow(2, 23 - f->man) >= 1;
    else return -2; /* below the normal numbers the place of the random bits is not said */
  }
  if (low < f->finite) return sign | (uint32_t)low;
  if (numbers) return sign | (uint32_t)(f->finite - 1);
  return f->inf ? (int64_t)(sign | (uint32_t)f->finite) : -1;
}

static bool fits(const format *f, int64_t want, uint32_t got) {
  if (want == -2) return true;
  return want < 0 ? value(f, got) != value(f, got) : (uint32_t)want == got;
}

static uint32_t field(const uint32_t *row, int bits, int element, int lane) { /* row[64 i + lane]: register i */
  uint32_t x = 0;
  for (int b = 0; b < bits; b++) x |= (row[64 * ((element * bits + b) / 32) + lane] >> (element * bits + b) % 32 & 1) << b;
  return x;
}

/* Random codes of a format; f32, f16 and bf16 near what a small format can hold, some special. */
static uint32_t random_code(const format *f) {
  uint32_t u = rig_random();
  if (f == &f32) return u % 16 == 0 ? u : (u & 0x807fffff) | (127 - 12 + u / 16 % 24) << 23;
  if (f == &bf16) return u % 16 == 0 ? u & 0xffff : (u & 0x807f) | (127 - 12 + u / 256 % 24) << 7;
  return u & ((1u << (f->bits - 1) << 1) - 1);
}

typedef struct conversion {
  const char *text;   /* %s: op_sel */
  const format *from, *to;
  int n, in_regs, out_regs;
  bool stochastic, scaled, two; /* two: elements from two operands in turns */
} conversion;

enum { SCALE_ROW = 34, RANDOM_ROW = 35 };

static void fill_inputs(const conversion *c) {
  int words = c->two ? 2 * c->in_regs : c->in_regs;
  memset(in, 0, 40 * 256);
  for (int l = 0; l < 64; l++) {
    for (int e = 0; e < words * 32 / c->from->bits; e++)
      for (int b = 0; b < c->from->bits; b++) {
        static uint32_t code;
        if (b == 0) code = random_code(c->from);
        int bit = e * c->from->bits + b;
        in[64 * (bit / 32) + l] |= (code >> b & 1) << bit % 32;
      }
    in[64 * SCALE_ROW + l] = (uint32_t)(l == 5 ? 255 : 120 + rig_random() % 14) << 23 | (rig_random() & 0x7fffff);
    in[64 * RANDOM_ROW + l] = rig_random();
  }
}

/* `at`: the bit of the destination, or of the source, that op_sel moves the elements to. */
static void check_conversion(const conversion *c, const char *op_sel, int from_at, int to_at) {
  char text[256];
  fill_inputs(c);
  for (int i = 0; i < 32; i++)
    for (int l = 0; l < 64; l++) out[64 * i + l] = 0;
  /* v2..: sources, v36 scale, v37 random, v40..: what was there before */
  int n = 0;
  for (int i = 0; i < c->out_regs; i++)
    n += snprintf(text + n, sizeof text - (size_t)n, i < 3 ? "v_mov_b32 v%d, 0x5a5a5a5a\n" : "", 40 + i);
  snprintf(text + n, sizeof text - (size_t)n, c->text, op_sel);
  rig_run(&r, 36, text, 40, c->out_regs);
  for (int l = 0; l < 64; l++) {
    uint32_t random = in[64 * RANDOM_ROW + l];
    int e8 = (int)(in[64 * SCALE_ROW + l] >> 23 & 255);
    double scale = !c->scaled ? 1 : e8 == 255 ? NAN : pow(2, c->from->bits < c->to->bits ? e8 - 127 : 127 - e8);
    for (int e = 0; e < c->n; e++) {
      int half = c->two ? e % 2 : 0, index = c->two ? e / 2 : e;
      uint32_t code = field(in + 64 * half * c->in_regs, c->from->bits, index + from_at / c->from->bits, l);
      uint32_t got = field(out, c->to->bits, e + to_at / c->to->bits, l);
      int64_t want = rounded(c->to, value(c->from, code) * scale, c->stochastic, random);
      if (!fits(c->to, want, got))
        fail_msg("%s, lane %d element %d: code %x scale %d random %x gives %x, want %x", text, l, e, code, e8, random, got,
                 (unsigned)want);
      random = random << 1 ^ (random >> 31 ? 197 : 0);
    }
    uint32_t kept = out[l];
    for (int b = 0; c->out_regs == 1 && b < 32; b++)
      if ((b < to_at || b >= to_at + c->n * c->to->bits) && (kept >> b & 1) != (0x5a5a5a5au >> b & 1))
        fail_msg("%s, lane %d: %08x, bit %d was to stay", text, l, kept, b);
  }
}

#define TEXT(name, operands) "v_cvt_scalef32_" name " " operands " %s"
TEST(scaled_small) {
  static const struct {
    const format *f;
    const char *name;
  } eight[] = {{&fp8, "fp8"}, {&bf8, "bf8"}}, wide[] = {{&f16, "f16"}, {&bf16, "bf16"}};
  for (int k = 0; k < 2; k++) {
    const format *f = eight[k].f;
    char t[4][80];
    snprintf(t[0], 80, "v_cvt_scalef32_pk_%s_f32 v40, v2, v3, v36 %%s", f->name);
    snprintf(t[1], 80, "v_cvt_scalef32_sr_%s_f32 v40, v2, v37, v36 %%s", f->name);
    conversion pk = {t[0], &f32, f, 2, 1, 1, false, true, true}, sr = {t[1], &f32, f, 1, 1, 1, true, true, false};
    check_conversion(&pk, "", 0, 0);
    check_conversion(&pk, "op_sel:[0,0,0,1]", 0, 16);
    check_conversion(&sr, "", 0, 0);
    check_conversion(&sr, "op_sel:[0,0,1,0]", 0, 8);
    check_conversion(&sr, "op_sel:[0,0,0,1]", 0, 16);
    check_conversion(&sr, "op_sel:[0,0,1,1]", 0, 24);
    snprintf(t[2], 80, "v_cvt_scalef32_pk_f32_%s v[40:41], v2, v36 %%s", f->name);
    snprintf(t[3], 80, "v_cvt_scalef32_f32_%s v40, v2, v36 %%s", f->name);
    conversion up = {t[2], f, &f32, 2, 1, 2, false, true, false}, one = {t[3], f, &f32, 1, 1, 1, false, true, false};
    check_conversion(&up, "", 0, 0);
    check_conversion(&up, "op_sel:[1,0,0]", 16, 0);
    check_conversion(&one, "op_sel:[1,1,0]", 24, 0);
    for (int w = 0; w < 2; w++) {
      const format *g = wide[w].f;
      snprintf(t[0], 80, "v_cvt_scalef32_pk_%s_%s v40, v2, v36 %%s", f->name, g->name);
      snprintf(t[1], 80, "v_cvt_scalef32_sr_%s_%s v40, v2, v37, v36 %%s", f->name, g->name);
      snprintf(t[2], 80, "v_cvt_scalef32_pk_%s_%s v40, v2, v36 %%s", g->name, f->name);
      conversion a = {t[0], g, f, 2, 1, 1, false, true, false}, b = {t[1], g, f, 1, 1, 1, true, true, false},
                 c = {t[2], f, g, 2, 1, 1, false, true, false};
      check_conversion(&a, "op_sel:[0,0,1]", 0, 16);
      check_conversion(&b, "op_sel:[0,0,1,1]", 0, 24);
      check_conversion(&c, "op_sel:[1,0,0]", 16, 0);
    }
    snprintf(t[0], 80, "v_cvt_scalef32_f16_%s v40, v2, v36 %%s", f->name);
    conversion half = {t[0], f, &f16, 1, 1, 1, false, true, false};
    check_conversion(&half, "op_sel:[1,0,0]", 8, 0);
    check_conversion(&half, "op_sel:[0,1,1]", 16, 16);
  }
}

TEST(scaled_four) {
  static const conversion all[] = {
    {TEXT("pk_fp4_f32", "v40, v2, v3, v36"), &f32, &fp4, 2, 1, 1, false, true, true},
    {TEXT("sr_pk_fp4_f32", "v40, v[2:3], v37, v36"), &f32, &fp4, 2, 2, 1, true, true, false},
    {TEXT("pk_fp4_f16", "v40, v2, v36"), &f16, &fp4, 2, 1, 1, false, true, false},
    {TEXT("pk_fp4_bf16", "v40, v2, v36"), &bf16, &fp4, 2, 1, 1, false, true, false},
    {TEXT("sr_pk_fp4_f16", "v40, v2, v37, v36"), &f16, &fp4, 2, 1, 1, true, true, false},
    {TEXT("sr_pk_fp4_bf16", "v40, v2, v37, v36"), &bf16, &fp4, 2, 1, 1, true, true, false}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    check_conversion(&all[i], "", 0, 0);
    check_conversion(&all[i], "op_sel:[0,0,1,0]", 0, 8);
    check_conversion(&all[i], "op_sel:[0,0,1,1]", 0, 24);
  }
  static const conversion up[] = {{TEXT("pk_f32_fp4", "v[40:41], v2, v36"), &fp4, &f32, 2, 1, 2, false, true, false},
                                  {TEXT("pk_f16_fp4", "v40, v2, v36"), &fp4, &f16, 2, 1, 1, false, true, false},
                                  {TEXT("pk_bf16_fp4", "v40, v2, v36"), &fp4, &bf16, 2, 1, 1, false, true, false}};
  for (size_t i = 0; i < sizeof up / sizeof *up; i++) {
    check_conversion(&up[i], "", 0, 0);
    check_conversion(&up[i], "op_sel:[0,1,0]", 16, 0);
  }
}

TEST(scaled_six) {
#define SIX(f)                                                                                                      \
  {TEXT("2xpk16_" #f "_f32", "v[40:45], v[2:17], v[18:33], v36"), &f32, &f, 32, 16, 6, false, true, true},          \
  {TEXT("sr_pk32_" #f "_f32", "v[40:45], v[2:33], v37, v36"), &f32, &f, 32, 32, 6, true, true, false},              \
  {TEXT("pk32_f32_" #f, "v[40:71], v[2:7], v36"), &f, &f32, 32, 6, 32, false, true, false},                         \
  {TEXT("pk32_" #f "_f16", "v[40:45], v[2:17], v36"), &f16, &f, 32, 16, 6, false, true, false},                     \
  {TEXT("pk32_" #f "_bf16", "v[40:45], v[2:17], v36"), &bf16, &f, 32, 16, 6, false, true, false},                   \
  {TEXT("sr_pk32_" #f "_f16", "v[40:45], v[2:17], v37, v36"), &f16, &f, 32, 16, 6, true, true, false},              \
  {TEXT("sr_pk32_" #f "_bf16", "v[40:45], v[2:17], v37, v36"), &bf16, &f, 32, 16, 6, true, true, false},            \
  {TEXT("pk32_f16_" #f, "v[40:55], v[2:7], v36"), &f, &f16, 32, 6, 16, false, true, false},                         \
  {TEXT("pk32_bf16_" #f, "v[40:55], v[2:7], v36"), &f, &bf16, 32, 6, 16, false, true, false}
  static const conversion all[] = {SIX(fp6), SIX(bf6)};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) check_conversion(&all[i], "", 0, 0);
}

/* The instructions of gfx942 whose 8-bit floats are OCP's here, and stochastic rounding to 16 bits. */
TEST(unscaled) {
  static const struct { conversion c; const char *op_sel; int from, to; } all[] = {
    {{"v_cvt_pk_fp8_f32 v40, v2, v3 %s", &f32, &fp8, 2, 1, 1, false, false, true}, "", 0, 0},
    {{"v_cvt_pk_bf8_f32 v40, v2, v3 %s", &f32, &bf8, 2, 1, 1, false, false, true}, "op_sel:[0,0,1]", 0, 16},
    {{"v_cvt_sr_fp8_f32 v40, v2, v37 %s", &f32, &fp8, 1, 1, 1, true, false, false}, "op_sel:[0,0,1,0]", 0, 8},
    {{"v_cvt_sr_bf8_f32 v40, v2, v37 %s", &f32, &bf8, 1, 1, 1, true, false, false}, "", 0, 0},
    {{"v_cvt_f32_fp8 v40, v2%s", &fp8, &f32, 1, 1, 1, false, false, false}, "", 0, 0},
    {{"v_cvt_f32_bf8 v40, v2%s", &bf8, &f32, 1, 1, 1, false, false, false}, "", 0, 0},
    {{"v_cvt_f32_fp8_sdwa v40, v2 %s", &fp8, &f32, 1, 1, 1, false, false, false}, "src0_sel:BYTE_2", 16, 0},
    {{"v_cvt_pk_f32_fp8 v[40:41], v2%s", &fp8, &f32, 2, 1, 2, false, false, false}, "", 0, 0},
    {{"v_cvt_pk_f32_bf8 v[40:41], v2%s", &bf8, &f32, 2, 1, 2, false, false, false}, "", 0, 0},
    {{"v_cvt_sr_f16_f32 v40, v2, v37 %s", &f32, &f16, 1, 1, 1, true, false, false}, "op_sel:[0,0,1]", 0, 16},
    {{"v_cvt_sr_bf16_f32 v40, v2, v37 %s", &f32, &bf16, 1, 1, 1, true, false, false}, "", 0, 0},
    {{"v_cvt_f32_bf16 v40, v2%s", &bf16, &f32, 1, 1, 1, false, false, false}, "", 0, 0}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) check_conversion(&all[i].c, all[i].op_sel, all[i].from, all[i].to);
  /* MODE.fp16_ovfl keeps what is too large at the largest number; 449 is not too large for bf8 */
  rig_run(&r, 0, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1\nv_mov_b32 v2, 0x44000000\nv_mov_b32 v3, 0xc7800000\ns_nop 1\n"
          "v_mov_b32 v40, 0\nv_cvt_pk_fp8_f32 v40, v2, v3\nv_mov_b32 v41, 0\nv_cvt_pk_bf8_f32 v41, v2, v3", 40, 2);
  assert_int_equal(out[0], 0xfe7e);
  assert_int_equal(out[64], 0xfb60);
}

/* --- lanes and LDS --- */

TEST(lane_swaps) {
  static const int width[] = {32, 16};
  for (int k = 0; k < 2; k++) {
    char text[80];
    for (uint32_t l = 0; l < 64; l++) in[l] = 100 + l, in[64 + l] = 200 + l;
    snprintf(text, sizeof text, "v_permlane%d_swap_b32 v2, v3", width[k]);
    rig_run(&r, 2, text, 2, 2);
    for (uint32_t l = 0; l < 64; l++) {
      bool odd = l & (uint32_t)width[k];
      assert_int_equal(out[l], odd ? 200 + l - (uint32_t)width[k] : 100 + l);
      assert_int_equal(out[64 + l], odd ? 200 + l : 100 + l + (uint32_t)width[k]);
    }
  }
  run_fault(&r, "v_mov_b32 v2, v0\nv_mov_b32 v3, v0\ns_mov_b64 exec, 1\ns_nop 4\nv_permlane32_swap_b32 v2, v3",
            "one of lanes 0 and 32 off");
}

/* Sixteen lanes read a matrix of 16 columns, wherever its rows lie, and each gets a column. */
TEST(transposing_reads) {
  static const struct { const char *name; int bits, words; } reads[] = {
    {"b64_tr_b16", 16, 2}, {"b64_tr_b8", 8, 2}, {"b64_tr_b4", 4, 2}, {"b96_tr_b6", 6, 3}};
  for (int k = 0; k < 4; k++) {
    int bits = reads[k].bits, words = reads[k].words, n = 32 * words / bits, per_row = 16 / n;
    char text[512];
    uint8_t lds[2048];
    for (int i = 0; i < 512; i++) in[i] = rig_random();
    memcpy(lds, in, sizeof lds);
    for (uint32_t l = 0; l < 64; l++) in[512 + l] = (l * 7 + 5) % 64 * 16; /* where the lane reads */
    snprintf(
        text, sizeof text,
        "v_lshlrev_b32 v20, 4, v0\nv_lshlrev_b32 v21, 3, v0\nglobal_load_dwordx4 v[24:27], v20, s[4:5]\n"
        "global_load_dwordx4 v[28:31], v20, s[4:5] offset:1024\ns_waitcnt vmcnt(0)\nds_write_b128 v20, v[24:27]\n"
        "ds_write_b128 v20, v[28:31] offset:1024\ns_waitcnt lgkmcnt(0)\nds_read_%s v[40:%d], v10 offset:16\ns_waitcnt lgkmcnt(0)",
        reads[k].name, 39 + words);
    rig_run(&r, 9, text, 40, words);
    for (int l = 0; l < 64; l++)
      for (int row = 0; row < n; row++) {
        int column = l % 16, from = l / 16 * 16 + row * per_row + column / n, at = (int)in[512 + from] + 16,
            bit = column % n * bits;
        uint32_t want = 0;
        for (int b = 0; b < bits; b++) want |= (uint32_t)(lds[at + (bit + b) / 8] >> (bit + b) % 8 & 1) << b;
        uint32_t got = field(out, bits, row, l);
        if (got != want) fail_msg("ds_read_%s: lane %d row %d is %x, want %x", reads[k].name, l, row, got, want);
      }
  }
  run_fault(&r, "v_mov_b32 v2, 0\ns_mov_b64 exec, 3\ns_nop 4\nds_read_b64_tr_b16 v[4:5], v2", "lanes 0 to 15 off");
}

/* 12 and 16 bytes a lane from memory to LDS, at M0 beyond what 16 bits hold; not there before vmcnt says so. */
TEST(wide_loads_to_lds) {
  for (uint32_t i = 0; i < 1024; i++) in[i] = rig_random();
  r.lds = 100000;
  rig_run(&r, 0,
          "v_lshlrev_b32 v20, 4, v0\ns_mov_b32 m0, 70000\ns_nop 0\nglobal_load_lds_dwordx4 v20, s[4:5] offset:64\ns_waitcnt "
          "vmcnt(0)\n"
          "v_mov_b32 v21, 70064\nv_lshl_add_u32 v21, v0, 4, v21\nds_read_b128 v[40:43], v21\ns_waitcnt lgkmcnt(0)",
          40, 4);
  for (int l = 0; l < 64; l++)
    for (int k = 0; k < 4; k++) assert_int_equal(out[64 * k + l], in[16 + 4 * l + k]);
  rig_run(&r, 0, "v_mul_u32_u24 v20, 12, v0\ns_mov_b32 m0, 16\ns_nop 0\nglobal_load_lds_dwordx3 v20, s[4:5]\ns_waitcnt vmcnt(0)\n"
          "ds_read_b96 v[40:42], v20 offset:16\ns_waitcnt lgkmcnt(0)", 40, 3);
  for (int l = 0; l < 64; l++)
    for (int k = 0; k < 3; k++) assert_int_equal(out[64 * k + l], in[3 * l + k]);
  /* a buffer of 1000 bytes: dwords beyond are 0, within a lane's four as well */
  rig_run(
      &r, 0,
      "s_mov_b32 s12, s4\ns_mov_b32 s13, s5\ns_mov_b32 s14, 1000\ns_mov_b32 s15, 0x20000\nv_lshlrev_b32 v20, 4, v0\n"
      "s_mov_b32 m0, 0\ns_nop 0\nbuffer_load_dwordx4 v20, s[12:15], 0 offen lds\ns_waitcnt vmcnt(0)\nds_read_b128 v[40:43], v20\n"
      "s_waitcnt lgkmcnt(0)",
      40, 4);
  for (int l = 0; l < 64; l++)
    for (int k = 0; k < 4; k++) assert_int_equal(out[64 * k + l], 4 * (4 * l + k) < 1000 ? in[4 * l + k] : 0);
  run_fault(
      &r,
      "v_lshlrev_b32 v20, 4, v0\ns_mov_b32 m0, 0\ns_nop 0\nglobal_load_lds_dwordx4 v20, s[4:5]\nds_read_b32 v21, v20 offset:12\n"
      "s_waitcnt vmcnt(0) lgkmcnt(0)",
      "vmcnt");
  r.lds = 0;
}

/* --- matrices --- */

typedef struct matrix { /* of m rows and k columns, its codes and numbers; B likewise by column */
  double v[32][128];
} matrix;

static matrix A, B;

/* Register, bit and lane of element (row, k) of an f8f6f4 operand. */
static void small_place(const format *f, int m, int total, int row, int k, int *lane, int *bit) {
  if (f->bits == 8) *lane = m * (k % (total / 2) / 16) + row, *bit = 8 * (k / (total / 2) * 16 + k % 16);
  else *lane = m * (k / 32) + row, *bit = f->bits * (k % 32);
}

static void fill_small(matrix *x, const format *f, int m, int total, uint32_t *rows) {
  memset(rows, 0, 8 * 256);
  for (int i = 0; i < m; i++)
    for (int k = 0; k < total; k++) {
      uint32_t code = rig_random() & ((1u << f->bits) - 1);
      int lane, bit;
      if (f->bits == 8)
        code = (code & 0x80) | ((1u << (f->exp - 1)) - 3 + code % 5) << f->man | (code >> 5 & ((1u << f->man) - 1));
      x->v[i][k] = value(f, code);
      small_place(f, m, total, i, k, &lane, &bit);
      for (int b = 0; b < f->bits; b++) rows[64 * ((bit + b) / 32) + lane] |= (code >> b & 1) << (bit + b) % 32;
    }
}

static double d_at(int m, int i, int j) {
  return float_of(m == 32 ? out[64 * (4 * (i / 8) + i % 4) + 32 * (i / 4 % 2) + j] : out[64 * (i % 4) + 16 * (i / 4) + j]);
}

/* All pairs of formats, both shapes, with and without scales; whole numbers of f32 bits, so that sums are exact. */
TEST(small_floats) {
  static const format *const formats[] = {&fp8, &bf8, &fp6, &bf6, &fp4};
  static const int regs[] = {8, 8, 6, 6, 4};
  for (int n = 0; n < 100; n++) {
    int fa = n % 5, fb = n / 5 % 5, m = n / 25 % 2 ? 32 : 16, total = m == 32 ? 64 : 128;
    bool scaled = n >= 50;
    uint32_t scale[2][64];
    char text[512];
    int byte_a = (int)(rig_random() % 4), byte_b = (int)(rig_random() % 4);
    fill_small(&A, formats[fa], m, total, in);
    fill_small(&B, formats[fb], m, total, in + 8 * 64);
    for (int l = 0; l < 64; l++)
      for (int k = 0; k < 2; k++)
        scale[k][l] = in[64 * (16 + k) + l] = rig_random() % 4 * 0x01010101u + 0x7c7d7e7fu + (uint32_t)l % 3;
    int at = snprintf(text, sizeof text, "v_mfma_%sf32_%dx%dx%d_f8f6f4 v[40:%d], v[2:%d], v[10:%d], 0", scaled ? "scale_" : "", m,
                      m, total, 39 + m * m / 64, 1 + regs[fa], 9 + regs[fb]);
    if (scaled)
      at += snprintf(text + at, sizeof text - (size_t)at, ", v18, v19 op_sel:[%d,%d,0] op_sel_hi:[%d,%d,0]", byte_a & 1,
                     byte_b & 1, byte_a >> 1, byte_b >> 1);
    snprintf(text + at, sizeof text - (size_t)at, " cbsz:%d blgp:%d", fa, fb);
    rig_run(&r, 18, text, 40, m * m / 64);
    for (int i = 0; i < m; i++)
      for (int j = 0; j < m; j++) {
        double want = 0, size = 0;
        for (int k = 0; k < total; k++) {
          double p = A.v[i][k] * B.v[j][k];
          if (scaled)
            p *= pow(2, (int)(scale[0][m * (k / 32) + i] >> 8 * byte_a & 255) +
                            (int)(scale[1][m * (k / 32) + j] >> 8 * byte_b & 255) - 254);
          want += p, size += fabs(p);
        }
        if (fabs(d_at(m, i, j) - want) > size * 1e-6)
          fail_msg("%s: D[%d][%d] is %.9g, want %.9g", text, i, j, d_at(m, i, j), want);
      }
  }
}

/* Twice the k of gfx942 for whole numbers, dense and sparse. */
TEST(wide_k) {
  static const struct {
    const char *name;
    int m, k;
    const format *f;
    bool sparse;
    const format *g; /* of B, if another */
  } shapes[] = {{"v_mfma_i32_16x16x64_i8", 16, 64, NULL, false, NULL},
                {"v_mfma_i32_32x32x32_i8", 32, 32, NULL, false, NULL},
                {"v_smfmac_i32_16x16x128_i8", 16, 128, NULL, true, NULL},
                {"v_smfmac_i32_32x32x64_i8", 32, 64, NULL, true, NULL},
                {"v_smfmac_f32_16x16x64_bf16", 16, 64, &bf16, true, NULL},
                {"v_smfmac_f32_32x32x32_bf16", 32, 32, &bf16, true, NULL},
                {"v_smfmac_f32_16x16x64_f16", 16, 64, &f16, true, NULL},
                {"v_smfmac_f32_32x32x32_f16", 32, 32, &f16, true, NULL},
                {"v_smfmac_f32_16x16x128_fp8_fp8", 16, 128, &fp8, true, NULL},
                {"v_smfmac_f32_32x32x64_fp8_fp8", 32, 64, &fp8, true, NULL},
                {"v_smfmac_f32_16x16x128_bf8_bf8", 16, 128, &bf8, true, NULL},
                {"v_smfmac_f32_32x32x64_bf8_bf8", 32, 64, &bf8, true, NULL},
                {"v_smfmac_f32_16x16x64_fp8_fp8", 16, 64, &fp8, true, NULL},
                {"v_smfmac_f32_32x32x32_bf8_bf8", 32, 32, &bf8, true, NULL},
#define MIXED(name, m, k) {name "_fp8_bf8", m, k, &fp8, true, &bf8}, {name "_bf8_fp8", m, k, &bf8, true, &fp8}
                MIXED("v_smfmac_f32_16x16x128", 16, 128),
                MIXED("v_smfmac_f32_32x32x64", 32, 64),
                MIXED("v_smfmac_f32_16x16x64", 16, 64),
                MIXED("v_smfmac_f32_32x32x32", 32, 32),
                {"v_smfmac_f32_16x16x64_bf8_bf8", 16, 64, &bf8, true, NULL},
                {"v_smfmac_f32_32x32x32_fp8_fp8", 32, 32, &fp8, true, NULL}};
  for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++) {
    int m = shapes[n].m, k = shapes[n].k, groups = 64 / m, per_lane = k / groups, bits = shapes[n].f ? shapes[n].f->bits : 8;
    int stored = shapes[n].sparse ? per_lane / 2 : per_lane, a_regs = stored * bits / 32, b_regs = per_lane * bits / 32;
    double a[32][128] = {{0}}, b[32][128];
    memset(in, 0, 32 * 256);
    for (int i = 0; i < m; i++)
      for (int x = 0; x < k; x++) { /* B whole, at k = group * per_lane + element */
        int v = (int)(rig_random() % 9) - 4, lane = m * (x / per_lane) + i, bit = x % per_lane * bits;
        uint32_t code = shapes[n].f ? (uint32_t)rounded(shapes[n].g ? shapes[n].g : shapes[n].f, v, false, 0) : (uint32_t)v & 255;
        b[i][x] = v;
        in[64 * (8 + bit / 32) + lane] |= code << bit % 32;
      }
    for (int lane = 0; lane < 64; lane++)
      for (int e = 0; e < stored; e++) { /* A: of each four k two, their places in row 16 */
        int v = (int)(rig_random() % 9) - 4, bit = e * bits,
            place = e % 2 ? 2 + (int)(rig_random() % 2) : (int)(rig_random() % 2);
        uint32_t code = shapes[n].f ? (uint32_t)rounded(shapes[n].f, v, false, 0) : (uint32_t)v & 255;
        in[64 * (bit / 32) + lane] |= code << bit % 32;
        in[64 * 16 + lane] |= (uint32_t)place << 2 * e;
        a[lane % m][lane / m * per_lane + (shapes[n].sparse ? e / 2 * 4 + place : e)] = v;
      }
    char text[600];
    int at = 0;
    for (int i = 0; i < m * m / 64; i++) at += snprintf(text + at, sizeof text - (size_t)at, "v_mov_b32 v%d, 0\n", 40 + i);
    at += snprintf(text + at, sizeof text - (size_t)at, "s_nop 1\n%s v[40:%d], v[2:%d], v[10:%d], %s", shapes[n].name,
                   39 + m * m / 64, 1 + a_regs, 9 + b_regs, shapes[n].sparse ? "v18" : "0");
    rig_run(&r, 17, text, 40, m * m / 64);
    for (int i = 0; i < m; i++)
      for (int j = 0; j < m; j++) {
        double want = 0, got = d_at(m, i, j);
        for (int x = 0; x < k; x++) want += a[i][x] * b[j][x];
        if (!shapes[n].f)
          got =
              (int32_t)(m == 32 ? out[64 * (4 * (i / 8) + i % 4) + 32 * (i / 4 % 2) + j] : out[64 * (i % 4) + 16 * (i / 4) + j]);
        if (got != want) fail_msg("%s: D[%d][%d] is %g, want %g", shapes[n].name, i, j, got, want);
      }
  }
}

/* The dense 8-bit shapes of gfx942 read OCP's floats, A and B each its own. */
TEST(ocp_matrices) {
  static const format *const of[] = {&fp8, &bf8};
  for (int n = 0; n < 8; n++) {
    const format *fa = of[n / 2 % 2], *fb = of[n % 2];
    int m = n / 4 ? 32 : 16, k = m == 32 ? 16 : 32;
    char text[256];
    memset(in, 0, 4 * 256);
    for (int which = 0; which < 2; which++)
      for (int i = 0; i < m; i++)
        for (int x = 0; x < k; x++) {
          int v = (int)(rig_random() % 9) - 4, lane = m * (x / 8) + i;
          (which ? &B : &A)->v[i][x] = v;
          in[64 * (2 * which + x % 8 / 4) + lane] |= (uint32_t)rounded(which ? fb : fa, v, false, 0) << 8 * (x % 4);
        }
    snprintf(text, sizeof text, "v_mfma_f32_%dx%dx%d_%s_%s v[40:%d], v[2:3], v[4:5], 0", m, m, k, fa->name, fb->name,
             39 + m * m / 64);
    rig_run(&r, 4, text, 40, m * m / 64);
    for (int i = 0; i < m; i++)
      for (int j = 0; j < m; j++) {
        double want = 0;
        for (int x = 0; x < k; x++) want += A.v[i][x] * B.v[j][x];
        if (d_at(m, i, j) != want) fail_msg("%s: D[%d][%d] is %g, want %g", text, i, j, d_at(m, i, j), want);
      }
  }
}

/* --- the rest --- */

static int clamp(int v, int low, int high) { return v < low ? low : v > high ? high : v; }

TEST(others) {
  for (int i = 0; i < 4 * 64; i++) in[i] = rig_random();
  rig_run(
      &r, 3,
      "v_mov_b32 v40, 0x5a5a5a5a\nv_mov_b32 v41, 0x5a5a5a5a\nv_ashr_pk_i8_i32 v40, v2, v3, v4\nv_ashr_pk_u8_i32 v41, v2, v3, v4\n"
      "v_prng_b32 v42, v2",
      40, 3);
  for (int l = 0; l < 64; l++) {
    int x = (int32_t)in[l] >> (in[128 + l] & 31), y = (int32_t)in[64 + l] >> (in[128 + l] & 31);
    assert_int_equal(out[l], 0x5a5a0000 | (clamp(x, -128, 127) & 255) | (clamp(y, -128, 127) & 255) << 8);
    assert_int_equal(out[64 + l], 0x5a5a0000 | clamp(x, 0, 255) | clamp(y, 0, 255) << 8);
    assert_int_equal(out[128 + l], in[l] * 2 ^ (in[l] >> 31) * 197);
  }
  /* minimum and maximum: a NaN wins, -0 is below 0 */
  static const float numbers[] = {0.0f, -0.0f, 1.5f, -3.25f, INFINITY, -INFINITY, NAN, 7.0f};
  for (int l = 0; l < 64; l++)
    for (int k = 0; k < 3; k++) in[64 * k + l] = bits_of(numbers[(l * (k + 1) + l / 8 * k) % 8]);
  rig_run(&r, 3,
          "v_minimum3_f32 v40, v2, v3, v4\nv_maximum3_f32 v41, v2, v3, v4\nv_cvt_pk_f16_f32 v42, v2, v3\nv_cvt_pk_f16_f32 v43, "
          "v4, v2\n"
          "v_pk_minimum3_f16 v44, v42, v43, v42\nv_pk_maximum3_f16 v45, v42, v43, v42",
          40, 6);
  for (int l = 0; l < 64; l++) {
    float x[3], low, high;
    bool nan = false, minus = false, plus = false;
    for (int k = 0; k < 3; k++)
      x[k] = float_of(in[64 * k + l]), nan |= x[k] != x[k], minus |= bits_of(x[k]) == 0x80000000, plus |= bits_of(x[k]) == 0;
    low = fminf(fminf(x[0], x[1]), x[2]), high = fmaxf(fmaxf(x[0], x[1]), x[2]);
    if (low == 0) low = minus ? -0.0f : 0.0f;
    if (high == 0) high = plus ? 0.0f : -0.0f;
    if (nan) assert_true(float_of(out[l]) != float_of(out[l]) && float_of(out[64 + l]) != float_of(out[64 + l]));
    else assert_int_equal(out[l], bits_of(low)), assert_int_equal(out[64 + l], bits_of(high));
    for (int h = 0; h < 2; h++) { /* of x0, x2 in the low half, x1, x0 in the high one */
      double p = h ? x[1] : x[0], q = h ? x[0] : x[2], got[2];
      for (int k = 0; k < 2; k++) got[k] = value(&f16, out[64 * (4 + k) + l] >> 16 * h & 0xffff);
      if (p != p || q != q) assert_true(got[0] != got[0] && got[1] != got[1]);
      else assert_true(got[0] == fmin(p, q) && got[1] == fmax(p, q));
    }
  }
  /* bf16 dot products: whole numbers are exact */
  for (int l = 0; l < 64; l++)
    for (int k = 0; k < 3; k++)
      in[64 * k + l] =
          k == 2 ? bits_of((float)(l - 30)) : bits_of((float)(l % 7 - 3)) >> 16 | (bits_of((float)(l % 5 + k)) & 0xffff0000u);
  rig_run(&r, 3, "v_dot2_f32_bf16 v40, v2, v3, v4\nv_mov_b32 v41, v4\nv_dot2c_f32_bf16 v41, v2, v3", 40, 2);
  for (int l = 0; l < 64; l++) {
    float want = (float)((l % 7 - 3) * (l % 7 - 3) + l % 5 * (l % 5 + 1) + l - 30);
    assert_true(float_of(out[l]) == want && float_of(out[64 + l]) == want);
  }
}

/* buffer_atomic_pk_add_bf16, a scale by constant, and D of an in-place multiply over A and B. */
TEST(accumulators) {
  for (int l = 0; l < 64; l++) out[l] = 0x3f803f80;
  run_ok(&r, "s_mov_b32 s12, s6\ns_mov_b32 s13, s7\ns_mov_b32 s14, 4096\ns_mov_b32 s15, 0x20000\nv_mov_b32 v2, 0x40003f80\n"
             "buffer_atomic_pk_add_bf16 v2, v1, s[12:15], 0 offen\ns_waitcnt vmcnt(0)");
  for (int l = 0; l < 64; l++) assert_int_equal(out[l], 0x40404000);
}

TESTS(open_rig, close_rig)
