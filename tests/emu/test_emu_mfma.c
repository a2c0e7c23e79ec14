/* Matrix instructions: where every element lives, and what is computed.
 *
 * a_place, b_place and d_place say where the public calculator puts element (block, row, column) of an instruction; the
 * hashes in the table were taken from the calculator's own tables (cdna3, -R -A/-B/-D), so the formulas here are checked
 * against it, and the emulator against the formulas, element by element. */
#include "emu/snippet.h"
#include "half.h"

typedef enum type { BF16, F16, I8, F32, XF32, FP8, BF8, F64 } type;

typedef struct shape {
  const char *name;
  int m, k, blocks;
  type a, b;
  uint32_t hash_a, hash_b, hash_d;
  int passes;
  bool multi; /* has cbsz, abid and blgp */
} shape;

static const shape shapes[] = {
    {"f32_16x16x16_bf16", 16, 16, 1, BF16, BF16, 0xcec659c5, 0x0821ad45, 0x73852145, 4, false},
    {"f32_32x32x8_bf16", 32, 8, 1, BF16, BF16, 0xea3098c5, 0x304db845, 0x7b1fd7c5, 8, false},
    {"f32_4x4x4_16b_bf16", 4, 4, 16, BF16, BF16, 0x8098e0c5, 0xdb9ce045, 0x15ee5fc5, 2, true},
    {"f32_16x16x4_4b_bf16", 16, 4, 4, BF16, BF16, 0x8098e0c5, 0x0821ad45, 0x08cbabc5, 8, true},
    {"f32_32x32x4_2b_bf16", 32, 4, 2, BF16, BF16, 0x8098e0c5, 0x304db845, 0xd2f06dc5, 16, true},
    {"f32_16x16x16_f16", 16, 16, 1, F16, F16, 0xcec659c5, 0x0821ad45, 0x73852145, 4, false},
    {"f32_32x32x8_f16", 32, 8, 1, F16, F16, 0xea3098c5, 0x304db845, 0x7b1fd7c5, 8, false},
    {"f32_4x4x4_16b_f16", 4, 4, 16, F16, F16, 0x8098e0c5, 0xdb9ce045, 0x15ee5fc5, 2, true},
    {"f32_16x16x4_4b_f16", 16, 4, 4, F16, F16, 0x8098e0c5, 0x0821ad45, 0x08cbabc5, 8, true},
    {"f32_32x32x4_2b_f16", 32, 4, 2, F16, F16, 0x8098e0c5, 0x304db845, 0xd2f06dc5, 16, true},
    {"i32_16x16x32_i8", 16, 32, 1, I8, I8, 0x9250e7c5, 0xfdaa1a45, 0x73852145, 4, false},
    {"i32_32x32x16_i8", 32, 16, 1, I8, I8, 0xd94eddc5, 0x2383b645, 0x7b1fd7c5, 8, false},
    {"i32_4x4x4_16b_i8", 4, 4, 16, I8, I8, 0x09f950c5, 0x94616045, 0x15ee5fc5, 2, true},
    {"i32_16x16x4_4b_i8", 16, 4, 4, I8, I8, 0x09f950c5, 0x1b9a9e45, 0x08cbabc5, 8, true},
    {"i32_32x32x4_2b_i8", 32, 4, 2, I8, I8, 0x09f950c5, 0x2cc89a45, 0xd2f06dc5, 16, true},
    {"f32_16x16x4_f32", 16, 4, 1, F32, F32, 0x7d63cac5, 0xa7f13c45, 0x73852145, 8, false},
    {"f32_32x32x2_f32", 32, 2, 1, F32, F32, 0xb06778c5, 0xa7f13c45, 0x7b1fd7c5, 16, false},
    {"f32_4x4x1_16b_f32", 4, 1, 16, F32, F32, 0xa7f13c45, 0xa7f13c45, 0x15ee5fc5, 2, true},
    {"f32_16x16x1_4b_f32", 16, 1, 4, F32, F32, 0xa7f13c45, 0xa7f13c45, 0x08cbabc5, 8, true},
    {"f32_32x32x1_2b_f32", 32, 1, 2, F32, F32, 0xa7f13c45, 0xa7f13c45, 0xd2f06dc5, 16, true},
    {"f32_16x16x8_xf32", 16, 8, 1, XF32, XF32, 0x37011bc5, 0xbde26ac5, 0x73852145, 4, false},
    {"f32_32x32x4_xf32", 32, 4, 1, XF32, XF32, 0x27312cc5, 0x84ec53c5, 0x7b1fd7c5, 8, false},
    {"f64_16x16x4_f64", 16, 4, 1, F64, F64, 0x7d63cac5, 0xa7f13c45, 0xb7faabc5, 8, false},
    {"f64_4x4x4_4b_f64", 4, 4, 4, F64, F64, 0x7d63cac5, 0x155e9bc5, 0x155e9bc5, 4, false},
    {"f32_16x16x32_fp8_fp8", 16, 32, 1, FP8, FP8, 0x9250e7c5, 0xfdaa1a45, 0x73852145, 4, false},
    {"f32_16x16x32_fp8_bf8", 16, 32, 1, FP8, BF8, 0x9250e7c5, 0xfdaa1a45, 0x73852145, 4, false},
    {"f32_16x16x32_bf8_fp8", 16, 32, 1, BF8, FP8, 0x9250e7c5, 0xfdaa1a45, 0x73852145, 4, false},
    {"f32_16x16x32_bf8_bf8", 16, 32, 1, BF8, BF8, 0x9250e7c5, 0xfdaa1a45, 0x73852145, 4, false},
    {"f32_32x32x16_fp8_fp8", 32, 16, 1, FP8, FP8, 0xd94eddc5, 0x2383b645, 0x7b1fd7c5, 8, false},
    {"f32_32x32x16_fp8_bf8", 32, 16, 1, FP8, BF8, 0xd94eddc5, 0x2383b645, 0x7b1fd7c5, 8, false},
    {"f32_32x32x16_bf8_fp8", 32, 16, 1, BF8, FP8, 0xd94eddc5, 0x2383b645, 0x7b1fd7c5, 8, false},
    {"f32_32x32x16_bf8_bf8", 32, 16, 1, BF8, BF8, 0xd94eddc5, 0x2383b645, 0x7b1fd7c5, 8, false}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static int bits_of(type t) { return t == BF16 || t == F16 ? 16 : t == F32 || t == XF32 ? 32 : t == F64 ? 64 : 8; }
static int ab_regs(const shape *s) { return s->m * s->k * s->blocks * bits_of(s->a) / 64 / 32; }
static int d_regs(const shape *s) { return s->m * s->m * s->blocks * (s->a == F64 ? 64 : 32) / 64 / 32; }

/* --- where elements live --- */

typedef struct place {
  int reg, lane, bit;
} place;

static place pack(int lane, int element, int bits) { return (place){element * bits / 32, lane, element * bits % 32}; }

static place a_place(const shape *s, int b, int i, int k) {
  if (s->a == F64 && s->m == 4) return (place){0, i + 4 * b + 16 * k, 0};
  int per_lane = s->m * s->k * s->blocks / 64; /* consecutive k in one lane */
  return pack(s->blocks > 1 ? s->m * b + i : s->m * (k / per_lane) + i, k % per_lane, bits_of(s->a));
}

static place b_place(const shape *s, int b, int k, int j) { return a_place(s, b, j, k); }

static place d_place(const shape *s, int b, int i, int j) {
  if (s->a == F64) return s->m == 4 ? (place){0, j + 4 * b + 16 * i, 0} : (place){2 * (i / 4), 16 * (i % 4) + j, 0};
  if (s->m == 32) return (place){16 * b + 4 * (i / 8) + i % 4, 32 * (i / 4 % 2) + j, 0};
  if (s->m == 16) return (place){4 * b + i % 4, 16 * (i / 4) + j, 0};
  return (place){i, 4 * b + j, 0};
}

static uint32_t mix(uint32_t h, place p) {
  uint32_t v = (uint32_t)((p.reg * 64 + p.lane) * 32 + p.bit);
  for (int i = 0; i < 32; i += 8) h = (h ^ (v >> i & 255)) * 16777619u;
  return h;
}

TEST(formulas_are_the_calculators) {
  for (int n = 0; n < SHAPES; n++) {
    const shape *s = &shapes[n];
    uint32_t a = 2166136261u, b = a, d = a;
    for (int blk = 0; blk < s->blocks; blk++) {
      for (int i = 0; i < s->m; i++)
        for (int k = 0; k < s->k; k++) a = mix(a, a_place(s, blk, i, k));
      for (int k = 0; k < s->k; k++)
        for (int j = 0; j < s->m; j++) b = mix(b, b_place(s, blk, k, j));
      for (int i = 0; i < s->m; i++)
        for (int j = 0; j < s->m; j++) d = mix(d, d_place(s, blk, i, j));
    }
    if (a != s->hash_a || b != s->hash_b || d != s->hash_d) fail_msg("%s: A %08x B %08x D %08x", s->name, a, b, d);
  }
}

/* --- values --- */

static double decode(type t, uint64_t u) {
  int e, m;
  switch (t) {
    case BF16: return mlaf_bits_float((uint32_t)u << 16);
    case F16: return test_half_value((uint16_t)u);
    case I8: return (int8_t)u;
    case F32: return mlaf_bits_float((uint32_t)u);
    case XF32: { /* 10 mantissa bits, nearest even */
      double x = mlaf_bits_float((uint32_t)u);
      int exp;
      double f = frexp(x, &exp);
      return x == 0 ? x : ldexp(nearbyint(ldexp(f, 11)), exp - 11);
    }
    case FP8:
      e = (int)(u >> 3 & 15), m = (int)(u & 7);
      return (u == 0x80 ? NAN : e ? ldexp(8 + m, e - 8 - 3) : ldexp(m, 1 - 8 - 3)) * (u >> 7 ? -1 : 1);
    case BF8:
      e = (int)(u >> 2 & 31), m = (int)(u & 3);
      return (u == 0x80 ? NAN : e ? ldexp(4 + m, e - 16 - 2) : ldexp(m, 1 - 16 - 2)) * (u >> 7 ? -1 : 1);
    default: return mlaf_bits_double(u);
  }
}

/* Bits of a small integer, exact in every type. */
static uint64_t encode_int(type t, int v) {
  float f = (float)v;
  double d = v;
  uint64_t u = 0;
  switch (t) {
    case BF16: return mlaf_float_bits(f) >> 16;
    case F16: return test_half_of(f);
    case I8: return (uint8_t)v;
    case F32: case XF32: return mlaf_float_bits(f);
    case F64: return mlaf_double_bits(d);
    default:
      for (u = 0; u < 256; u++)
        if (u != 0x80 && decode(t, u) == v) return u;
      return 0x80;
  }
}

static uint32_t seed;
static uint32_t rnd(void) { return (seed = seed * 1664525u + 1013904223u) >> 8; }

/* Random bits that decode to something of ordinary size. */
static uint64_t random_bits(type t) {
  float f = (float)((double)rnd() / (1 << 23) - 1) * (float)(1 << rnd() % 4);
  switch (t) {
    case BF16: return mlaf_float_bits(f) >> 16;
    case F16: return test_half_of(f);
    case I8: return rnd() & 255;
    case F32: case XF32: return mlaf_float_bits(f);
    case F64: return mlaf_double_bits(f + 1e-9 * rnd());
    default: {
      uint64_t u = rnd() & 0xff;
      return u == 0x80 ? 0 : u;
    }
  }
}

/* --- running one --- */

typedef struct job {
  const shape *s;
  uint64_t a[32 * 64], b[32 * 64], c[2048]; /* [block][row][column] */
  int cbsz, abid, blgp;                     /* fp64: blgp is neg */
} job;

static uint32_t image[64 * 64]; /* registers of the input buffer: A, then B, then C */

static void put(uint32_t (*regs)[64], place p, int bits, uint64_t v) {
  uint32_t mask = bits >= 32 ? ~0u : (1u << bits) - 1;
  regs[p.reg][p.lane] = (regs[p.reg][p.lane] & ~(mask << p.bit)) | ((uint32_t)v & mask) << p.bit;
  if (bits == 64) regs[p.reg + 1][p.lane] = (uint32_t)(v >> 32);
}

static void fill(const job *j) {
  const shape *s = j->s;
  uint32_t(*regs)[64] = (void *)image, (*b)[64] = regs + ab_regs(s), (*c)[64] = b + ab_regs(s);
  memset(image, 0, sizeof image);
  for (int blk = 0; blk < s->blocks; blk++) {
    for (int i = 0; i < s->m; i++)
      for (int k = 0; k < s->k; k++) {
        put(regs, a_place(s, blk, i, k), bits_of(s->a), j->a[(blk * s->m + i) * s->k + k]);
        put(b, b_place(s, blk, k, i), bits_of(s->b), j->b[(blk * s->k + k) * s->m + i]);
      }
    for (int i = 0; i < s->m; i++)
      for (int n = 0; n < s->m; n++) put(c, d_place(s, blk, i, n), s->a == F64 ? 64 : 32, j->c[(blk * s->m + i) * s->m + n]);
  }
}

/* A at v[10..], B at v[20..], C and D at v[32..]; or A, C and D in the same a registers. */
static int program(char *out, size_t size, const shape *s, const char *modifiers, bool agpr) {
  int n = 0, ab = ab_regs(s), d = d_regs(s);
  const char *ra = agpr ? "a" : "v";
  for (int r = 0; r < 2 * ab + d; r++) {
    int reg = r < ab ? 10 + r : r < 2 * ab ? 20 + r - ab : 32 + r - 2 * ab;
    const char *file = r >= ab && r < 2 * ab ? "v" : ra;
    n += snprintf(out + n, size - (size_t)n, "v_add_u32 v3, 0x%x, v2\nglobal_load_dword %s%d, v3, s[4:5]\n", 256 * r, file, reg);
  }
  char a[16], b[16];
  snprintf(a, sizeof a, ab > 1 ? "%s[10:%d]" : "%s10", ra, 10 + ab - 1);
  snprintf(b, sizeof b, ab > 1 ? "v[20:%d]" : "v20", 20 + ab - 1);
  n += snprintf(out + n, size - (size_t)n,
      "s_waitcnt vmcnt(0)\nv_mfma_%s %s[32:%d], %s, %s, %s[32:%d]%s\ns_nop 15\ns_nop 3\n", s->name, ra,
                32 + d - 1, a, b, ra, 32 + d - 1, modifiers);
  for (int r = 0; r < d; r++)
    n += snprintf(out + n, size - (size_t)n, "v_add_u32 v3, 0x%x, v2\nglobal_store_dword v3, %s%d, s[6:7]\n", 256 * r, ra,
        32 + r);
  return n;
}

static int blgp_from(int lane, int blgp) {
  static const int base[8] = {0, 0, 32, 0, 0, 16, 32, 48};
  return blgp == 0 ? lane : blgp <= 2 ? lane % 32 + base[blgp] : blgp == 3 ? (lane + 16) % 64 : lane % 16 + base[blgp];
}

/* Element (k, j) of block b as blgp re-routes it: the element that lives where its lane now reads. */
static double b_value(const job *q, int blk, int k, int j) {
  const shape *s = q->s;
  if (!q->blgp || s->a == F64) return decode(s->b, q->b[(blk * s->k + k) * s->m + j]);
  place p = b_place(s, blk, k, j);
  int want = blgp_from(p.lane, q->blgp);
  for (int b2 = 0; b2 < s->blocks; b2++)
    for (int k2 = 0; k2 < s->k; k2++)
      for (int j2 = 0; j2 < s->m; j2++) {
        place o = b_place(s, b2, k2, j2);
        if (o.lane == want && o.reg == p.reg && o.bit == p.bit) return decode(s->b, q->b[(b2 * s->k + k2) * s->m + j2]);
      }
  return NAN;
}

static void check(snip *t, const job *q, double tolerance, bool agpr, const char *modifiers) {
  static char body[1 << 16];
  const shape *s = q->s;
  fill(q);
  memcpy(t->in, image, sizeof image);
  program(body, sizeof body, s, modifiers, agpr);
  snip_ok(t, 1, 0, body);
  int neg = s->a == F64 ? q->blgp : 0;
  uint32_t(*out)[64] = (void *)t->out;
  for (int blk = 0; blk < s->blocks; blk++)
    for (int i = 0; i < s->m; i++)
      for (int j = 0; j < s->m; j++) {
        uint64_t cu = q->c[(blk * s->m + i) * s->m + j];
        double want = s->a == I8 ? (int32_t)cu : s->a == F64 ? decode(F64, cu) : mlaf_bits_float((uint32_t)cu), size = fabs(want);
        if (neg & 4) want = -want;
        for (int k = 0; k < s->k; k++) {
          int ablk = (blk >> q->cbsz << q->cbsz) + q->abid;
          double x = decode(s->a, q->a[(ablk * s->m + i) * s->k + k]) * b_value(q, blk, k, j);
          if ((neg & 1) != (neg >> 1 & 1)) x = -x;
          want += x;
          size += fabs(x);
        }
        place p = d_place(s, blk, i, j);
        uint64_t u = out[p.reg][p.lane] | (s->a == F64 ? (uint64_t)out[p.reg + 1][p.lane] << 32 : 0);
        double got = s->a == I8 ? (int32_t)u : s->a == F64 ? decode(F64, u) : mlaf_bits_float((uint32_t)u);
        if (!(fabs(got - want) <= tolerance * size))
          fail_msg("v_mfma_%s%s: D[%d][%d] of block %d is %.9g, expected %.9g", s->name, modifiers, i, j, blk, got, want);
      }
}

static void integers(job *q, const shape *s) {
  *q = (job){.s = s};
  for (int i = 0; i < s->m * s->k * s->blocks; i++) {
    q->a[i] = encode_int(s->a, (int)(rnd() % 9) - 4);
    q->b[i] = encode_int(s->b, (int)(rnd() % 9) - 4);
  }
  for (int i = 0; i < s->m * s->m * s->blocks; i++) {
    int c = (int)(rnd() % 201) - 100;
    q->c[i] = s->a == I8 ? (uint32_t)c : encode_int(s->a == F64 ? F64 : F32, c);
  }
}

/* --- tests --- */

TEST(every_element_is_where_the_map_says) {
  static job q;
  for (int n = 0; n < SHAPES; n++) {
    seed = 1000u + (uint32_t)n;
    integers(&q, &shapes[n]);
    check(*state, &q, 0, n % 2, "");
  }
}

TEST(random_products) {
  static job q;
  for (int n = 0; n < SHAPES; n++) {
    const shape *s = &shapes[n];
    seed = 77u + (uint32_t)n;
    q = (job){.s = s};
    for (int i = 0; i < s->m * s->k * s->blocks; i++) q.a[i] = random_bits(s->a), q.b[i] = random_bits(s->b);
    for (int i = 0; i < s->m * s->m * s->blocks; i++) q.c[i] = s->a == I8 ? rnd() : random_bits(s->a == F64 ? F64 : F32);
    check(*state, &q, s->a == I8 ? 0 : s->a == F64 ? 1e-15 : 1e-6, (n + 1) % 2, "");
  }
}

TEST(broadcast_and_lane_modifiers) {
  static const struct { const char *name; int cbsz, abid, blgp; } m[] = {
      {"f32_32x32x4_2b_bf16", 1, 0, 0}, {"f32_32x32x4_2b_bf16", 1, 1, 1}, {"f32_32x32x4_2b_f16", 0, 0, 2},
      {"f32_16x16x4_4b_f16", 1, 1, 3}, {"f32_16x16x4_4b_bf16", 2, 3, 4}, {"f32_16x16x1_4b_f32", 2, 0, 5},
      {"i32_16x16x4_4b_i8", 1, 0, 6}, {"f32_4x4x4_16b_bf16", 4, 11, 7},
      {"f32_4x4x1_16b_f32", 3, 5, 3}, {"i32_4x4x4_16b_i8", 2, 2, 1}, {"f32_32x32x1_2b_f32", 1, 1, 7}};
  static job q;
  for (size_t n = 0; n < sizeof m / sizeof m[0]; n++)
    for (int i = 0; i < SHAPES; i++) {
      if (strcmp(shapes[i].name, m[n].name) != 0) continue;
      char text[64];
      seed = 5u + (uint32_t)n;
      integers(&q, &shapes[i]);
      q.cbsz = m[n].cbsz, q.abid = m[n].abid, q.blgp = m[n].blgp;
      snprintf(text, sizeof text, " cbsz:%d abid:%d blgp:%d", q.cbsz, q.abid, q.blgp);
      check(*state, &q, 0, n % 2, text);
    }
}

TEST(f64_negation) {
  static job q;
  for (int n = 0; n < SHAPES; n++)
    for (int neg = 1; neg < 8 && shapes[n].a == F64; neg++) {
      char text[32];
      integers(&q, &shapes[n]);
      q.blgp = neg;
      snprintf(text, sizeof text, " neg:[%d,%d,%d]", neg & 1, neg >> 1 & 1, neg >> 2 & 1);
      check(*state, &q, 0, false, text);
    }
}

/* All 256 codes of both 8-bit formats, through B = 1. */
TEST_OF(fp8_codes, snip *t) {
  for (int n = 0; n < SHAPES; n++) {
    const shape *s = &shapes[n];
    if ((s->a != FP8 && s->a != BF8) || s->m != 16 || s->a != s->b) continue;
    for (int round = 0; round < 16; round++) {
      static job q;
      static char body[1 << 16];
      q = (job){.s = s};
      for (int i = 0; i < 16; i++) q.a[i * 32] = (uint64_t)(16 * round + i); /* A[i][0] = code, the rest 0 */
      for (int j = 0; j < 16; j++) q.b[j] = encode_int(s->b, 1);
      fill(&q);
      memcpy(t->in, image, sizeof image);
      program(body, sizeof body, s, "", false);
      snip_ok(t, 1, 0, body);
      for (int i = 0; i < 16; i++) {
        double want = decode(s->a, (uint64_t)(16 * round + i)), got = mlaf_bits_float(t->out[64 * (i % 4) + 16 * (i / 4)]);
        if (!(got == want || (isnan(got) && isnan(want))))
          fail_msg("%s code 0x%02x: %g, expected %g", s->name, 16 * round + i, got, want);
      }
    }
  }
}

TEST_OF(subnormals_and_specials, snip *t) {
  static job q;
  q = (job){.s = &shapes[0]};
  q.a[0] = 0x0001; /* 2^-133 */
  q.b[0] = mlaf_float_bits(1024.0f) >> 16;
  check(t, &q, 0, false, "");
  assert_true(mlaf_bits_float(t->out[0]) == 0x1p-123f);
  q.b[0] = mlaf_float_bits(0.5f) >> 16; /* the result is subnormal too */
  check(t, &q, 0, false, "");
  assert_true(mlaf_bits_float(t->out[0]) == 0x1p-134f);
  q.s = &shapes[5];
  q.a[0] = 0x0001; /* f16 2^-24 */
  q.b[0] = 0x0001;
  check(t, &q, 0, false, "");
  assert_true(mlaf_bits_float(t->out[0]) == 0x1p-48f);
  /* inf * 0 is NaN in its row and column only. */
  static char body[1 << 16];
  q = (job){.s = &shapes[0]};
  q.a[0] = 0x7f80;
  fill(&q);
  memcpy(t->in, image, sizeof image);
  program(body, sizeof body, q.s, "", false);
  snip_ok(t, 1, 0, body);
  for (int i = 0; i < 16; i++) assert_int_equal(isnan(mlaf_bits_float(t->out[64 * (i % 4) + 16 * (i / 4)])) != 0, i == 0);
}

TEST_OF(constants_and_exec, snip *t) {
  /* C as an inline constant; EXEC is ignored by reads and by the write. */
  snip_ok(t, 1, 0, "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_nop 1\ns_mov_b64 exec, 3\n"
                   "v_mfma_f32_16x16x16_bf16 v[32:35], v[10:11], v[10:11], 2.0\ns_mov_b64 exec, -1\ns_nop 7\n"
                   "global_store_dword v1, v33, s[6:7]\n");
  for (int l = 0; l < 64; l++) assert_true(mlaf_bits_float(t->out[l]) == 2.0f);
  snip_ok(t, 1, 0, "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_nop 1\nv_mfma_i32_16x16x32_i8 a[32:35], v[10:11], v[10:11], -5\n"
      "s_nop 7\n"
                   "global_store_dword v1, a35, s[6:7]\n");
  for (int l = 0; l < 64; l++) assert_int_equal((int32_t)t->out[l], -5);
}

TEST_OF(operands_are_checked, snip *t) {
  FAULT(t, 1, 0, "v_mov_b32 v10, 0\ns_nop 1\nv_mfma_f32_16x16x16_bf16 v[32:35], v[10:11], v[10:11], 0\n", "uninitialised", "v11");
  FAULT(t, 1, 0, "global_load_dwordx2 v[10:11], v1, s[4:5]\nv_mfma_f32_16x16x16_bf16 v[32:35], v[10:11], v[10:11], 0\n",
      "v10", "vmcnt");
  FAULT(t, 1, 0, "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_mov_b64 exec, 1\nv_mov_b32 v12, 0\nv_mov_b32 v13, 0\ns_nop 7\n"
                 "v_mfma_f32_16x16x16_bf16 v[32:35], v[10:11], v[12:13], 0\n", "uninitialised", "v12", "lane 1");
  /* A 16-register result over its own inputs. */
  FAULT(t, 1, 0, "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_nop 1\nv_mfma_f32_32x32x8_bf16 v[10:25], v[10:11], v[10:11], 0\n",
      "32x32x8");
}

TESTS(snip_open, snip_close)
