/* One-instruction differential tests: each CASE is an instruction and, as C over one lane's inputs, what it must do. The
 * instruction goes through comgr, its disassembler, the parser and the executor; the expression is written from the ISA,
 * with the host's own arithmetic, and shares no code with the emulator.
 *
 * Inputs: V(1)..V(12) of the lane and S(16)..S(31) of the workgroup, drawn from special values of every format and random
 * bits. Outputs: O(0)..O(3) are v16..v19 (0xa5a5000k before), BIT the lane's bit of s[40:41], SO(k) s40+k. */
#pragma once

#include "cmocka_all.h"
#include "emu_asm.h"
#include "half.h"

typedef struct lane_in {
  const uint32_t *v, *s; /* v[(n - 1) * 64 + lane], s[n - 16] */
  int lane;
} lane_in;

typedef struct lane_out {
  uint32_t v[EMU_ASM_VOUT], s[EMU_ASM_SOUT];
  bool bit, has_bit, has_s;
} lane_out;

/* Comparison of outputs: dwords, or numbers whose NaNs are all alike, with `ulp` of slack. */
typedef enum diff_kind { BITS, NUM32, NUM16, NUMPK16, NUM64, NUM32X2 } diff_kind;

typedef struct diff_case {
  const char *text;
  diff_kind kind;
  int ulp;
  void (*expect)(const lane_in *in, lane_out *out);
} diff_case;

/* --- accessors of the expressions --- */
#define V(n) (in->v[((n)-1) * 64 + in->lane])
#define S(n) (in->s[(n)-16])
#define I(n) ((int32_t)V(n))
#define F(n) f32_of(V(n))
#define Q(n) ((uint64_t)V((n) + 1) << 32 | V(n))
#define SQ(n) ((uint64_t)S((n) + 1) << 32 | S(n))
#define D(n) f64_of(Q(n))
#define H(n) f16_of(V(n))          /* low half as a float */
#define HH(n) f16_of(V(n) >> 16)   /* high half */
#define U16(n) (V(n) & 0xffff)
#define I16(n) ((int16_t)V(n))
#define O(k) (out->v[k])
#define SO(k) (*(out->has_s = true, &out->s[k]))
#define OF(x) (O(0) = u32_of(x))
#define OD(x) (put64(out, u64_of(x)))
#define OQ(x) (put64(out, (x)))
#define OH(x) (O(0) = h_of(x))     /* float -> f16 in the low half, 0 above */
#define BIT(x) (out->bit = (x), out->has_bit = true)
#define LANE (in->lane)
#define SX(x, bits) ((int32_t)((uint32_t)(x) << (32 - (bits))) >> (32 - (bits))) /* low bits as a signed number */

static inline float f32_of(uint32_t u) { return mlaf_bits_float(u); }
static inline uint32_t u32_of(float f) { return mlaf_float_bits(f); }
static inline double f64_of(uint64_t u) { return mlaf_bits_double(u); }
static inline uint64_t u64_of(double d) { return mlaf_double_bits(d); }
/* By the format's definition: independent of the emulator's bit arithmetic. */
static inline float f16_of(uint32_t h) { return test_half_to_float((uint16_t)h); }
static inline uint32_t h_of(float f) { return test_half_of(f); }
/* One rounding from the exact sum: 113 bits hold every f16 product plus addend. */
static inline uint32_t h_fma(float a, float b, float c) {
  if (isnan(a) || isnan(b) || isnan(c) || isnan(a * b + c)) return 0x7e00;
  return test_half_of_quad((__float128)a * b + c);
}
static inline void put64(lane_out *out, uint64_t v) {
  out->v[0] = (uint32_t)v;
  out->v[1] = (uint32_t)(v >> 32);
}

/* --- inputs --- */
static uint64_t diff_seed = 0x9e3779b97f4a7c15;
static inline uint32_t diff_random(void) {
  diff_seed ^= diff_seed << 13;
  diff_seed ^= diff_seed >> 7;
  diff_seed ^= diff_seed << 17;
  return (uint32_t)(diff_seed >> 16);
}
static inline uint32_t diff_value(void) {
  static const uint32_t special[] = {
    0, 0x80000000, 1, 2, 31, 32, 33, 63, 64, 0x7fffffff, 0xffffffff, 0xfffffffe, 0xffff, 0x10000, 0x8000, 0x7fff, 0x80008000,
    /* f32: ones, halves, extremes, subnormals, infinities, NaNs quiet and signalling, integer limits */
    0x3f800000, 0xbf800000, 0x3f000000, 0xbf000000, 0x40000000, 0x3fc00000, 0x40200000, 0x7f7fffff, 0xff7fffff, 0x00800000,
    0x007fffff, 0x00000001, 0x80000001, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0xff812345, 0x4f000000,
    0xcf000000, 0x4f800000, 0x4effffff, 0x3effffff, 0x4b000001, 0x33800000, 0x477fe000, 0x477ff000, 0x38800000, 0x387fe000,
    /* f16 pairs */
    0x3c003c00, 0xbc003c00, 0x7c00fc00, 0x7e007c01, 0x00010400, 0x03ff7bff, 0xfbff8000, 0x38003800, 0x64006401,
    /* high dwords of f64: 1, -2, subnormal, infinity, NaN */
    0x3ff00000, 0xc0000000, 0x000fffff, 0x7ff00000, 0x7ff80000, 0xfff00001, 0x41dfffff, 0x41efffff};
  switch (diff_random() % 8) {
    case 0: case 1: case 2: return special[diff_random() % (sizeof special / sizeof *special)];
    case 3: return diff_random() % 256 - 128;
    case 4: return u32_of((float)(int32_t)diff_random() / 16777216.0f);      /* moderate f32 */
    case 5: return h_of((float)(int16_t)diff_random() / 512.0f) | h_of((float)(int16_t)diff_random() / 512.0f) << 16;
    default: return diff_random();
  }
}

/* --- comparison --- */
static inline bool near32(uint32_t a, uint32_t b, int ulp) {
  if (isnan(f32_of(a)) && isnan(f32_of(b))) return true;
  int64_t x = a & 0x80000000 ? -(int64_t)(a & 0x7fffffff) : (int64_t)a,
    y = b & 0x80000000 ? -(int64_t)(b & 0x7fffffff) : (int64_t)b;
  return a == b || (ulp && llabs(x - y) <= ulp);
}
static inline bool near16(uint32_t a, uint32_t b, int ulp) {
  if ((a & 0x7fff) > 0x7c00 && (b & 0x7fff) > 0x7c00) return true;
  int x = a & 0x8000 ? -(int)(a & 0x7fff) : (int)a, y = b & 0x8000 ? -(int)(b & 0x7fff) : (int)b;
  return a == b || (ulp && abs(x - y) <= ulp);
}
static inline bool near64(const uint32_t *a, const uint32_t *b, int ulp) {
  uint64_t x = (uint64_t)a[1] << 32 | a[0], y = (uint64_t)b[1] << 32 | b[0];
  return x == y || (isnan(f64_of(x)) && isnan(f64_of(y))) || (ulp && x - y + (uint64_t)ulp <= 2 * (uint64_t)ulp);
}
static inline bool diff_equal(const uint32_t *got, const uint32_t *want, diff_kind kind, int ulp) {
  int from = kind == BITS ? 0 : kind == NUM64 || kind == NUM32X2 ? 2 : 1;
  if (memcmp(got + from, want + from, sizeof(uint32_t) * (size_t)(EMU_ASM_VOUT - from)) != 0) return false;
  switch (kind) {
    case NUM32: return near32(got[0], want[0], ulp);
    case NUM32X2: return near32(got[0], want[0], ulp) && near32(got[1], want[1], ulp);
    case NUM16: return got[0] >> 16 == want[0] >> 16 && near16(got[0] & 0xffff, want[0] & 0xffff, ulp);
    case NUMPK16: return near16(got[0] >> 16, want[0] >> 16, ulp) && near16(got[0] & 0xffff, want[0] & 0xffff, ulp);
    case NUM64: return near64(got, want, ulp);
    default: return true;
  }
}

enum { DIFF_GROUPS = 24 };

/* Returns the number of lanes that differ; prints the first few with their inputs. */
static inline int diff_check(const diff_case *c, const uint32_t *in, const uint32_t *out) {
  int bad = 0;
  for (int lane = 0; lane < DIFF_GROUPS * 64; lane++) {
    const uint32_t *vin = in + lane / 64 * EMU_ASM_IN_DWORDS, *got = out + lane / 64 * EMU_ASM_OUT_DWORDS;
    lane_in li = {vin, vin + EMU_ASM_SIN_AT, lane % 64};
    lane_out want = {{0xa5a50000, 0xa5a50001, 0xa5a50002, 0xa5a50003}, {0, 0, 0, 0}, false, false, false};
    uint32_t v[EMU_ASM_VOUT], s[EMU_ASM_SOUT];
    for (int k = 0; k < EMU_ASM_VOUT; k++) v[k] = got[k * 64 + lane % 64];
    for (int k = 0; k < EMU_ASM_SOUT; k++) s[k] = got[EMU_ASM_SOUT_AT + k * 64 + lane % 64];
    c->expect(&li, &want);
    bool bit = s[lane % 64 / 32] >> (lane % 32) & 1;
    bool ok = diff_equal(v, want.v, c->kind, c->ulp) && (!want.has_bit || bit == want.bit) &&
              (!want.has_s || memcmp(s, want.s, sizeof s) == 0);
    if (!ok && bad++ < 3)
      print_error("%s\n  lane %d: v1..v6 = %08x %08x %08x %08x %08x %08x, s16.. = %08x %08x %08x %08x\n  got  %08x %08x %08x %08x"
                  " bit %d s %08x %08x %08x %08x\n  want %08x %08x %08x %08x bit %d s %08x %08x %08x %08x\n", c->text, lane % 64,
                  vin[lane % 64], vin[64 + lane % 64], vin[128 + lane % 64], vin[192 + lane % 64], vin[256 + lane % 64],
                  vin[320 + lane % 64], li.s[0], li.s[1], li.s[2], li.s[3], v[0], v[1], v[2], v[3], bit, s[0], s[1], s[2], s[3],
                  want.v[0], want.v[1], want.v[2], want.v[3], want.bit, want.s[0], want.s[1], want.s[2], want.s[3]);
  }
  return bad;
}

/* The same cases for each host build of the vector ALU that this machine can run (a wider one than it has is clipped). */
static inline void diff_run(const diff_case *cases, int n);
static inline void diff_run_all(const diff_case *cases, int n) {
  static const char *const isas[] = {"v1", "v3", "v4"};
  for (int i = 0; i < 3; i++) {
    setenv("MLAF_EMU_ISA", isas[i], 1);
    diff_run(cases, n);
  }
  unsetenv("MLAF_EMU_ISA");
}

/* Bodies that use scalar outputs must write all of s[40:43] themselves; the harness zeroes them first. */
static inline void diff_run(const diff_case *cases, int n) {
  emu_asm a;
  char name[32], body[2048];
  int failed = 0;
  if (!emu_asm_open(&a)) fail_msg("%s", a.err.text);
  for (int i = 0; i < n; i++) {
    snprintf(name, sizeof name, "t%d", i);
    snprintf(body, sizeof body, "  s_mov_b64 s[40:41], 0\n  s_mov_b64 s[42:43], 0\n  %s", cases[i].text);
    emu_asm_kernel(&a, name, EMU_ASM_IO, 0, body);
  }
  if (!emu_asm_build(&a)) fail_msg("%s", a.err.text);
  size_t in_bytes = DIFF_GROUPS * EMU_ASM_IN_DWORDS * 4, out_bytes = DIFF_GROUPS * EMU_ASM_OUT_DWORDS * 4;
  uint32_t *in = malloc(in_bytes), *out = malloc(out_bytes);
  for (size_t i = 0; i < in_bytes / 4; i++) in[i] = diff_value();
  struct { void *in, *out; } args = {emu_asm_buffer(&a, in, in_bytes), emu_asm_buffer(&a, NULL, out_bytes)};
  assert_non_null(args.in);
  assert_non_null(args.out);
  for (int i = 0; i < n; i++) {
    snprintf(name, sizeof name, "t%d", i);
    if (emu_asm_run(&a, name, DIFF_GROUPS, 64, &args, sizeof args, &a.err) != MLAF_OK) {
      print_error("%s: %s\n", cases[i].text, a.err.text);
      failed++;
      continue;
    }
    if (mlaf_emu_ops.mem_read(a.dev, out, args.out, out_bytes, &a.err) != MLAF_OK) fail_msg("%s", a.err.text);
    failed += diff_check(&cases[i], in, out) != 0;
  }
  free(in);
  free(out);
  emu_asm_close(&a);
  print_message("%d instructions, %d lanes each\n", n, DIFF_GROUPS * 64);
  assert_int_equal(failed, 0);
}

/* CASE(kind, ulp, "text", statement): collected by including a list twice, see the tests. */
