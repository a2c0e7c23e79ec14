/* Instructions that gfx90a has and gfx942 lacks: older matrix shapes and spellings, v_mad_f32 and its kin, private memory through
 * a buffer descriptor, its cache instructions; and matrices that flush what gfx942 keeps. */
#include "base/bits.h"
#include "target_rig.h"

RIG_OF(mlaf_emu_gfx90a_ops)

static float float_of(uint32_t u) { return mlaf_bits_float(u); }
static uint32_t bits_of(float f) { return mlaf_float_bits(f); }

typedef enum type { BF16, F16, I8, F32, F64 } type;
static int bits(type t) { return t == I8 ? 8 : t == F32 ? 32 : t == F64 ? 64 : 16; }

static uint64_t encode(type t, int v) {
  uint32_t u = bits_of((float)v);
  double d = v;
  uint64_t q;
  memcpy(&q, &d, 8);
  switch (t) {
    case BF16: return u >> 16;
    case F16: return v ? (u >> 16 & 0x8000) | ((u >> 23 & 255) - 112) << 10 | (u >> 13 & 0x3ff) : 0;
    case I8: return (uint64_t)v & 255;
    case F64: return q;
    default: return u;
  }
}

typedef struct shape {
  const char *name;
  int m, k, blocks;
  type t;
} shape;
static const shape shapes[] = {
  {"i32_32x32x8i8", 32, 8, 1, I8},          {"i32_16x16x16i8", 16, 16, 1, I8},     {"i32_32x32x4i8", 32, 4, 2, I8},
  {"i32_16x16x4i8", 16, 4, 4, I8},          {"i32_4x4x4i8", 4, 4, 16, I8},         {"f32_32x32x2f32", 32, 2, 1, F32},
  {"f32_16x16x4f32", 16, 4, 1, F32},        {"f32_32x32x1f32", 32, 1, 2, F32},     {"f32_16x16x1f32", 16, 1, 4, F32},
  {"f32_4x4x1f32", 4, 1, 16, F32},          {"f32_32x32x8f16", 32, 8, 1, F16},     {"f32_16x16x16f16", 16, 16, 1, F16},
  {"f32_32x32x4f16", 32, 4, 2, F16},        {"f32_16x16x4f16", 16, 4, 4, F16},     {"f32_4x4x4f16", 4, 4, 16, F16},
  {"f32_32x32x8bf16_1k", 32, 8, 1, BF16},   {"f32_16x16x16bf16_1k", 16, 16, 1, BF16}, {"f32_32x32x4bf16_1k", 32, 4, 2, BF16},
  {"f32_16x16x4bf16_1k", 16, 4, 4, BF16},   {"f32_4x4x4bf16_1k", 4, 4, 16, BF16},  {"f32_32x32x4bf16", 32, 4, 1, BF16},
  {"f32_16x16x8bf16", 16, 8, 1, BF16},      {"f32_32x32x2bf16", 32, 2, 2, BF16},   {"f32_16x16x2bf16", 16, 2, 4, BF16},
  {"f32_4x4x2bf16", 4, 2, 16, BF16},        {"f64_16x16x4f64", 16, 4, 1, F64},     {"f64_4x4x4f64", 4, 4, 4, F64}};

/* Lane and element in it of A's (block, row, k), which is also B's (block, k, column). */
static void place(const shape *s, int block, int row, int k, int *lane, int *element) {
  int per_lane = s->m * s->k * s->blocks / 64;
  *element = k % per_lane;
  *lane = s->blocks > 1 ? s->m * block + row : s->m * (k / per_lane) + row;
  if (s->t == F64 && s->m == 4) *lane = row + 4 * block + 16 * k, *element = 0;
}

static double result(const shape *s, int block, int i, int j) {
  int reg, lane;
  if (s->t == F64) {
    reg = s->m == 4 ? 0 : 2 * (i / 4), lane = s->m == 4 ? j + 4 * block + 16 * i : 16 * (i % 4) + j;
    uint64_t u = (uint64_t)out[64 * (reg + 1) + lane] << 32 | out[64 * reg + lane];
    double d;
    memcpy(&d, &u, 8);
    return d;
  }
  if (s->m == 32) reg = 16 * block + 4 * (i / 8) + i % 4, lane = 32 * (i / 4 % 2) + j;
  else if (s->m == 16) reg = 4 * block + i % 4, lane = 16 * (i / 4) + j;
  else reg = i, lane = 4 * block + j;
  return s->t == I8 ? (double)(int32_t)out[64 * reg + lane] : (double)float_of(out[64 * reg + lane]);
}

/* Whole numbers, exact in every type: D = A B, every element of every block. */
TEST(matrices) {
  for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++) {
    const shape *s = &shapes[n];
    int words = s->m * s->k * s->blocks / 64 * bits(s->t), d_regs = s->m * s->m * s->blocks / 64 * (s->t == F64 ? 2 : 1);
    static int a[16][32][16], b[16][32][16]; /* [block][row or column][k] */
    char text[256], regs[3][24];
    words = words < 32 ? 1 : words / 32;
    memset(in, 0, 16 * 256);
    for (int which = 0; which < 2; which++)
      for (int block = 0; block < s->blocks; block++)
        for (int i = 0; i < s->m; i++)
          for (int k = 0; k < s->k; k++) {
            int lane, e, v = (int)(rig_random() % 9) - 4;
            (which ? b : a)[block][i][k] = v;
            place(s, block, i, k, &lane, &e);
            uint64_t code = encode(s->t, v);
            int bit = e * bits(s->t);
            in[64 * (8 * which + bit / 32) + lane] |= (uint32_t)(code << bit % 32);
            if (s->t == F64) in[64 * (8 * which + 1) + lane] = (uint32_t)(code >> 32);
          }
    for (int k = 0; k < 3; k++) {
      int first = k == 0 ? 40 : k == 1 ? 2 : 10, count = k == 0 ? d_regs : words;
      snprintf(regs[k], sizeof regs[k], count == 1 ? "v%d" : "v[%d:%d]", first, first + count - 1);
    }
    snprintf(text, sizeof text, "v_mfma_%s %s, %s, %s, 0", s->name, regs[0], regs[1], regs[2]);
    rig_run(&r, 10, text, 40, d_regs);
    for (int block = 0; block < s->blocks; block++)
      for (int i = 0; i < s->m; i++)
        for (int j = 0; j < s->m; j++) {
          int want = 0;
          for (int k = 0; k < s->k; k++) want += a[block][i][k] * b[block][j][k];
          if (result(s, block, i, j) != want)
            fail_msg("%s: block %d D[%d][%d] is %g, want %d", s->name, block, i, j, result(s, block, i, j), want);
        }
  }
}

/* MIOpen's note on MI200: 16-bit shapes flush subnormal inputs and results, f32 ones do not. */
TEST(subnormals) {
  for (int l = 0; l < 64; l++)
    in[l] = 0x00010001, in[64 + l] = 0x3c003c00, in[128 + l] = 0x007f007f, in[192 + l] = 0x3f803f80, in[256 + l] = 1;
  rig_run(&r, 5, "v_mov_b32 v10, v2\nv_mov_b32 v11, v2\nv_mov_b32 v12, v3\nv_mov_b32 v13, v3\ns_nop 1\n"
          "v_mfma_f32_16x16x16f16 v[40:43], v[10:11], v[12:13], 0\nv_mfma_f32_16x16x8bf16 v[44:47], v4, v5, 0\n"
          "v_mov_b32 v14, 1.0\ns_nop 1\nv_mfma_f32_16x16x4f32 v[48:51], v6, v14, 0", 40, 12);
  for (int l = 0; l < 64; l++) {
    assert_int_equal(out[l], 0);
    assert_int_equal(out[4 * 64 + l], 0);
    assert_int_equal(out[8 * 64 + l], 4);
  }
}

/* Two roundings, and neither inputs nor results below the normal numbers. */
TEST(multiply_add) {
  for (int l = 0; l < 64; l++) {
    for (int k = 0; k < 3; k++) in[64 * k + l] = (rig_random() & 0x807fffff) | (rig_random() % 20 + (l % 4 ? 117 : 0)) << 23;
    if (l % 8 == 1) in[l] = 0;
  }
  rig_run(&r, 3, "v_mad_f32 v40, v2, v3, v4\nv_mov_b32 v41, v4\nv_mac_f32 v41, v2, v3\nv_madmk_f32 v42, v2, 0x40490fdb, v3\n"
          "v_madak_f32 v43, v2, v3, 0x40490fdb\nv_mad_legacy_f32 v44, v2, v3, v4\nv_mad_f32 v45, -v2, |v3|, v4", 40, 6);
  for (int l = 0; l < 64; l++) {
    float x[4], p, want[6];
    for (int k = 0; k < 3; k++) x[k] = float_of(in[64 * k + l]), x[k] = fabsf(x[k]) < 0x1p-126f ? copysignf(0, x[k]) : x[k];
    x[3] = float_of(0x40490fdb);
    const float ops[6][3] = {{x[0], x[1], x[2]}, {x[0], x[1], x[2]}, {x[0], x[3], x[1]},
                             {x[0], x[1], x[3]}, {x[0], x[1], x[2]}, {-x[0], fabsf(x[1]), x[2]}};
    for (int k = 0; k < 6; k++) {
      volatile float product = ops[k][0] * ops[k][1]; /* rounded by itself */
      p = fabsf(product) < 0x1p-126f ? copysignf(0, product) : product;
      if (k == 4 && (ops[k][0] == 0 || ops[k][1] == 0)) p = 0;
      want[k] = p + ops[k][2];
      if (fabsf(want[k]) < 0x1p-126f) want[k] = copysignf(0, want[k]);
      if (float_of(out[64 * k + l]) != want[k])
        fail_msg("lane %d, %d: %a, want %a", l, k, (double)float_of(out[64 * k + l]), (double)want[k]);
    }
  }
}

/* Stores to and loads from private memory through s[0:3] and by flat addresses are the same bytes; its bounds are checked. The
 * descriptor comes in s[0:3], the arguments' address behind it, the wave's offset last. */
TEST(private_memory) {
  static const char head[] =
    ".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n"
    "s_add_u32 s0, s0, s9\ns_addc_u32 s1, s1, 0\ns_add_u32 flat_scratch_lo, s6, s9\ns_addc_u32 flat_scratch_hi, s7, 0\n"
    "s_load_dwordx2 s[10:11], s[4:5], 0x8\ns_mov_b32 s32, 0x400\nv_lshlrev_b32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\ns_nop 4\n";
  static const char tail[] =
    "\ns_endpgm\n.section .rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr 64\n.amdhsa_accum_offset 64\n"
    ".amdhsa_next_free_sgpr 40\n.amdhsa_kernarg_size 16\n.amdhsa_private_segment_fixed_size 64\n.amdhsa_user_sgpr_count 8\n"
    ".amdhsa_user_sgpr_private_segment_buffer 1\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_user_sgpr_flat_scratch_init 1\n"
    ".amdhsa_system_sgpr_workgroup_id_x 1\n.amdhsa_system_sgpr_private_segment_wavefront_offset 1\n.end_amdhsa_kernel\n";
  static const struct { const char *text, *fault;
  } cases[] = {
      {"v_mul_u32_u24 v2, v0, v0\nbuffer_store_dword v2, off, s[0:3], s32 offset:8\nv_mov_b32 v3, 24\nv_mov_b32 v4, 0\n"
       "s_mov_b64 s[12:13], src_private_base\nv_mov_b32 v5, s13\nv_mov_b32 v4, 24\ns_waitcnt vmcnt(0)\nflat_load_dword v6, "
       "v[4:5]\n"
       "buffer_load_dword v7, v3, s[0:3], 0 offen\ns_waitcnt vmcnt(0) lgkmcnt(0)\nv_add_u32 v7, v6, v7\nglobal_store_dword v1, "
       "v7, s[10:11]",
       NULL},
      {"v_mov_b32 v2, 1\nbuffer_store_dword v2, off, s[0:3], 0 offset:64", "private memory store of 4 bytes at offset 0x40"},
      {"buffer_load_dword v2, off, s[0:3], 0 offset:16\ns_waitcnt vmcnt(0)\nv_add_u32 v2, v2, v2", "uninitialised register v2"},
      {"v_mov_b32 v2, 1\ns_movk_i32 s14, 0x84\nbuffer_store_dword v2, off, s[0:3], s14", "no dword's place"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char source[4096];
    void *code, *args[2] = {r.in, r.out};
    size_t size;
    mlaf_module *m;
    mlaf_function *fn;
    const mlaf_device_ops *ops = mlaf_ops(r.dev);
    snprintf(source, sizeof source, "%s%s%s", head, cases[i].text, tail);
    if (mlaf_assemble(r.compiler, "gfx90a", source, &code, &size, &r.err)) fail_msg("%s", r.err.text);
    if (ops->module_load(r.dev, code, size, &m, &r.err)) fail_msg("%s", r.err.text);
    free(code);
    assert_int_equal(ops->function_get(r.dev, m, "k", &fn, &r.err), MLAF_OK);
    mlaf_launch l = {.fn = fn, .grid = {1, 1, 1}, .block = {64, 1, 1}, .args = args, .args_size = sizeof args};
    mlaf_status st = ops->launch(r.dev, NULL, &l, &r.err);
    if (cases[i].fault ? st != MLAF_E_FAULT || !strstr(r.err.text, cases[i].fault) : st != MLAF_OK)
      fail_msg("%s in:\n%s", r.err.text, cases[i].text);
    for (uint32_t k = 0; !cases[i].fault && k < 64; k++) assert_int_equal(out[k], 2 * k * k);
    ops->module_unload(r.dev, m);
  }
}

TEST(cache_instructions) {
  run_ok(&r, "buffer_wbl2\ns_waitcnt vmcnt(0)\nbuffer_invl2\nbuffer_wbinvl1_vol\nbuffer_wbinvl1\ns_waitcnt vmcnt(0)");
}

TESTS(open_rig, close_rig)
