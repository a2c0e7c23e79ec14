/* Every load and store of every address space, one row per form: narrow and wide, through global, flat (memory, LDS and private
 * aperture), buffer and scratch instructions; loads to LDS of every width; typed buffers; swizzled descriptors. */

#include "emu/snippet.h"
#include "half.h"

enum { GLOBAL, FLAT, FLAT_LDS, FLAT_PRIVATE, BUFFER, SCRATCH, SPACES };
static const char *const prefix[] = {"global", "flat", "flat", "flat", "buffer", "scratch"};
/* Address operands of a load and of a store; v3 and v[4:5] address lane l's 32 bytes in each space. */
static const char *const load_at[] = {"v3, s[4:5]", "v[4:5]", "v[4:5]", "v[4:5]", "v3, s[12:15], 0 offen", "v3, off"};

typedef struct form { const char *name; int bytes, high, sign, keep; } form; /* keep: the register's other half stays */
static const form loads[] = {
  {"ubyte", 1, 0, 0, 0}, {"sbyte", 1, 0, 1, 0}, {"ushort", 2, 0, 0, 0}, {"sshort", 2, 0, 1, 0}, {"ubyte_d16", 1, 0, 0, 1},
  {"ubyte_d16_hi", 1, 1, 0, 1}, {"sbyte_d16", 1, 0, 1, 1}, {"sbyte_d16_hi", 1, 1, 1, 1}, {"short_d16", 2, 0, 0, 1},
  {"short_d16_hi", 2, 1, 0, 1}, {"dword", 4, 0, 0, 0}, {"dwordx2", 8, 0, 0, 0}, {"dwordx3", 12, 0, 0, 0}, {"dwordx4", 16, 0,
      0, 0}};
static const form stores[] = {
  {"byte", 1, 0, 0, 0}, {"byte_d16_hi", 1, 1, 0, 0}, {"short", 2, 0, 0, 0}, {"short_d16_hi", 2, 1, 0, 0}, {"dword", 4, 0, 0, 0},
  {"dwordx2", 8, 0, 0, 0}, {"dwordx3", 12, 0, 0, 0}, {"dwordx4", 16, 0, 0, 0}};

static uint32_t rnd(uint32_t *s) { return *s = *s * 1664525u + 1013904223u, *s ^ *s >> 15; }

/* Lane l's 32 bytes of s->in are in the space, at 32 l (private: at 0); v3 and v[4:5] point there. */
static int put(char *b, size_t size, int space) {
  int n = snprintf(b, size, "v_lshlrev_b32 v3, 5, v0\nglobal_load_dwordx4 v[24:27], v3, s[4:5]\n"
                   "global_load_dwordx4 v[28:31], v3, s[4:5] offset:16\ns_movk_i32 s14, 0x4000\ns_waitcnt vmcnt(0)\n"
                   "s_mov_b64 s[20:21], src_shared_base\ns_mov_b64 s[22:23], src_private_base\n");
  if (space == GLOBAL || space == FLAT || space == BUFFER)
    return n + snprintf(b + n, size - (size_t)n, "v_add_co_u32 v4, vcc, s4, v3\nv_mov_b32 v5, s5\ns_nop 1\n"
                        "v_addc_co_u32 v5, vcc, 0, v5, vcc\n");
  if (space == FLAT_LDS)
    return n + snprintf(b + n, size - (size_t)n, "v_mov_b32 v4, v3\nv_mov_b32 v5, s21\nds_write_b128 v3, v[24:27]\n"
                        "ds_write_b128 v3, v[28:31] offset:16\ns_waitcnt lgkmcnt(0)\n");
  return n + snprintf(b + n, size - (size_t)n, "v_mov_b32 v3, 0\nv_mov_b32 v4, 0\nv_mov_b32 v5, s23\n"
                      "scratch_store_dwordx4 v3, v[24:27], off\nscratch_store_dwordx4 off, v[28:31], off offset:16\n"
                      "s_waitcnt vmcnt(0)\n");
}

/* A kernel with 64 bytes of private memory a lane. */
static mlaf_status run(snip *s, const char *body, int lds, int scratch) {
  static char source[1 << 17];
  static const char tail[] =
      "\ns_endpgm\n.section .rodata\n.p2align 6\n.amdhsa_kernel snip\n.amdhsa_next_free_vgpr 512\n.amdhsa_next_free_sgpr 96\n"
      ".amdhsa_accum_offset 256\n.amdhsa_group_segment_fixed_size %d\n.amdhsa_private_segment_fixed_size %d\n"
      ".amdhsa_enable_private_segment %d\n.amdhsa_kernarg_size 16\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
      ".amdhsa_system_sgpr_workgroup_id_x 1\n.end_amdhsa_kernel\n";
  void *code, *args[2] = {s->in, s->out};
  size_t size;
  mlaf_module *m;
  mlaf_function *fn;
  int n = snprintf(source, sizeof source, "%s%s", snip_head, body);
  snprintf(source + n, sizeof source - (size_t)n, tail, lds, scratch, scratch != 0);
  s->err = (mlaf_err){MLAF_OK, ""};
  if (mlaf_assemble(s->compiler, "gfx942", source, &code, &size, &s->err) != MLAF_OK) fail_msg("%s\nin:\n%s", s->err.text, body);
  if (mlaf_emu_ops.module_load(s->dev, code, size, &m, &s->err) != MLAF_OK) fail_msg("%s", s->err.text);
  free(code);
  assert_int_equal(mlaf_emu_ops.function_get(s->dev, m, "snip", &fn, &s->err), MLAF_OK);
  mlaf_launch l = {.fn = fn, .grid = {1, 1, 1}, .block = {64, 1, 1}, .args = args, .args_size = sizeof args};
  mlaf_status st = mlaf_emu_ops.launch(s->dev, NULL, &l, &s->err);
  mlaf_emu_ops.module_unload(s->dev, m);
  return st;
}
static void run_ok(snip *s, const char *body) {
  if (run(s, body, 4096, 64) != MLAF_OK) fail_msg("%s\nin:\n%s", s->err.text, body);
}

static const char *registers(char b[32], int dwords) {
  if (dwords == 1) snprintf(b, 32, "v16");
  else snprintf(b, 32, "v[16:%d]", 15 + dwords);
  return b;
}

static void numbers(snip *s) {
  uint32_t seed = 12345;
  for (int i = 0; i < SNIP_BYTES / 4; i++) s->in[i] = rnd(&seed), s->out[i] = 0x5a5a5a5a;
}

TEST_OF(every_load, snip *s) {
  for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
    for (int space = 0; space < SPACES; space++)
      for (int at = 0; at < 2; at++) { /* aligned, and one byte further on: memory and LDS are in unaligned mode */
        const form *f = &loads[i];
        char body[2048], d[32];
        int dwords = (f->bytes + 3) / 4, offset = at ? 5 : 0;
        numbers(s);
        int n = put(body, sizeof body, space);
        n += snprintf(body + n, sizeof body - (size_t)n,
                      "v_mov_b32 v16, 0x11223344\nv_mov_b32 v17, 0\nv_mov_b32 v18, 0\nv_mov_b32 v19, 0\n"
                          "%s_load_%s %s, %s offset:%d\n"
                      "s_waitcnt vmcnt(0) lgkmcnt(0)\nv_lshlrev_b32 v3, 4, v0\nglobal_store_dwordx4 v3, v[16:19], s[6:7]\n",
                      prefix[space], f->name, registers(d, dwords), load_at[space], offset);
        run_ok(s, body);
        for (uint32_t l = 0; l < 64; l++) {
          const uint8_t *from = (const uint8_t *)s->in + 32 * l + offset;
          uint32_t want[4] = {0, 0, 0, 0};
          memcpy(want, from, (size_t)f->bytes);
          if (f->sign) want[0] = (uint32_t)(f->bytes == 1 ? (int8_t)from[0] : (int16_t)(from[0] | from[1] << 8));
          if (f->keep) want[0] = f->high ? (want[0] & 0xffff) << 16 | 0x3344 : 0x11220000 | (want[0] & 0xffff);
          if (memcmp(want, &s->out[4 * l], 4 * (size_t)dwords) != 0)
            fail_msg("%s_load_%s (space %d, offset %d) lane %u: %08x, want %08x", prefix[space], f->name, space, offset, l,
                     s->out[4 * l], want[0]);
        }
      }
}

TEST_OF(every_store, snip *s) {
  for (size_t i = 0; i < sizeof stores / sizeof *stores; i++)
    for (int space = 0; space < SPACES; space++) {
      const form *f = &stores[i];
      char body[2560], d[32], where[32];
      numbers(s);
      int n = put(body, sizeof body, space);
      const char *data = registers(d, (f->bytes + 3) / 4);
      snprintf(where, sizeof where, "%s", load_at[space]);
      n += snprintf(body + n, sizeof body - (size_t)n, "v_not_b32 v16, v24\nv_not_b32 v17, v25\nv_not_b32 v18, v26\n"
          "v_not_b32 v19, v27\n");
      if (space == BUFFER) n += snprintf(body + n, sizeof body - (size_t)n,
          "buffer_store_%s %s, v3, s[12:15], 0 offen offset:8\n", f->name, data);
      else if (space == GLOBAL) n += snprintf(body + n, sizeof body - (size_t)n, "global_store_%s v3, %s, s[4:5] offset:8\n",
          f->name, data);
      else if (space == SCRATCH) n += snprintf(body + n, sizeof body - (size_t)n, "scratch_store_%s v3, %s, off offset:8\n",
          f->name, data);
      else n += snprintf(body + n, sizeof body - (size_t)n, "flat_store_%s v[4:5], %s offset:8\n", f->name, data);
      snprintf(body + n, sizeof body - (size_t)n,
               "s_waitcnt vmcnt(0) lgkmcnt(0)\n%s_load_dwordx4 v[32:35], %s\n%s_load_dwordx4 v[36:39], %s offset:16\n"
               "s_waitcnt vmcnt(0) lgkmcnt(0)\nv_lshlrev_b32 v6, 5, v0\nglobal_store_dwordx4 v6, v[32:35], s[6:7]\n"
               "global_store_dwordx4 v6, v[36:39], s[6:7] offset:16\n", prefix[space], where, prefix[space], where);
      static uint32_t before[512];
      memcpy(before, s->in, sizeof before);
      run_ok(s, body);
      for (uint32_t l = 0; l < 64; l++) {
        uint8_t want[32];
        uint32_t x[4];
        memcpy(want, &before[8 * l], 32);
        for (int k = 0; k < 4; k++) x[k] = ~before[8 * l + (uint32_t)k];
        if (f->high) x[0] >>= 16;
        memcpy(want + 8, x, (size_t)f->bytes);
        if (memcmp(want, &s->out[8 * l], 32) != 0) fail_msg("%s_store_%s (space %d) lane %u", prefix[space], f->name, space, l);
      }
    }
}

/* Four ways to say where in private memory, what a lane may see, and what each mistake is called. */
TEST_OF(private_memory, snip *s) {
  numbers(s);
  run_ok(s, "s_mov_b32 s20, 8\nv_mov_b32 v3, 16\nv_add_u32 v10, 100, v0\nv_add_u32 v11, 200, v0\nv_add_u32 v12, 300, v0\n"
            "scratch_store_dword off, v10, s20 offset:4\nscratch_store_dword v3, v11, s20\n"
                "scratch_store_dword v3, v12, off offset:-16\n"
            "scratch_load_dword v16, off, off offset:12\nscratch_load_dword v17, off, s20 offset:16\n"
                "scratch_load_dword v18, off, off\n"
            "s_waitcnt vmcnt(0)\nv_lshlrev_b32 v3, 4, v0\nglobal_store_dwordx3 v3, v[16:18], s[6:7]\n");
  for (uint32_t l = 0; l < 64; l++)
    for (uint32_t k = 0; k < 3; k++) assert_int_equal(s->out[4 * l + k], 100 * (k + 1) + l);
  static const struct { const char *body; int scratch; const char *says; } bad[] = {
    {"scratch_load_dword v16, off, off offset:4\ns_waitcnt vmcnt(0)\nv_not_b32 v17, v16\n", 64, "uninitialised register v16"},
    {"scratch_store_dword off, v0, off offset:64\n"
        "", 64, "private memory store of 4 bytes at offset 0x40: a lane of this kernel has 64"},
    {"scratch_store_dword off, v0, off offset:-4\n", 64, "private memory store"},
    {"scratch_store_dword off, v0, off\n", 0, "its descriptor asks for none"},
    {"s_mov_b64 s[20:21], src_private_base\nv_mov_b32 v4, 0\nv_mov_b32 v5, s21\nv_mov_b32 v6, 1\n"
        "flat_atomic_add v[4:5], v6\n", 64,
     "no atomics"},
    {"scratch_store_dword off, v0, off\nscratch_load_dword v16, off, off\nv_not_b32 v17, v16\n", 64, "vmcnt(0)"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(run(s, bad[i].body, 0, bad[i].scratch), MLAF_E_FAULT);
    if (!strstr(s->err.text, bad[i].says)) fail_msg("'%s' lacks '%s'", s->err.text, bad[i].says);
  }
  /* Saving and restoring a register that holds nothing is no mistake. */
  run_ok(s, "scratch_store_dword off, v99, off\nscratch_load_dword v99, off, off\ns_waitcnt vmcnt(0)\n");
}

/* LDS, private and global lanes in one flat instruction; the LDS part is checked as LDS. */
TEST_OF(flat_in_three_places, snip *s) {
  char body[4096];
  numbers(s);
  int n = put(body, sizeof body, FLAT_LDS);
  snprintf(body + n, sizeof body - (size_t)n,
           "v_add_u32 v20, 7, v0\nscratch_store_dword off, v20, off\nv_add_co_u32 v6, vcc, s4, v3\nv_mov_b32 v7, s5\ns_nop 1\n"
           "v_addc_co_u32 v7, vcc, 0, v7, vcc\nv_and_b32 v8, 3, v0\nv_cmp_eq_u32 vcc, 1, v8\ns_nop 1\n"
           "v_cndmask_b32 v4, v4, v6, vcc\nv_cndmask_b32 v5, v5, v7, vcc\nv_mov_b32 v9, s23\nv_mov_b32 v10, 0\n"
           "v_cmp_eq_u32 vcc, 2, v8\ns_nop 1\nv_cndmask_b32 v4, v4, v10, vcc\nv_cndmask_b32 v5, v5, v9, vcc\ns_waitcnt vmcnt(0)\n"
           "flat_load_dword v16, v[4:5]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_store_dword v1, v16, s[6:7]\n");
  run_ok(s, body);
  for (uint32_t l = 0; l < 64; l++) assert_int_equal(s->out[l], l % 4 == 2 ? l + 7 : s->in[8 * l]);
  n = put(body, sizeof body, FLAT_LDS);
  snprintf(body + n, sizeof body - (size_t)n, "flat_load_dword v16, v[4:5]\ns_waitcnt vmcnt(0)\nv_mov_b32 v17, v16\n");
  assert_int_equal(run(s, body, 4096, 64), MLAF_E_FAULT); /* a flat load counts in lgkmcnt too */
  if (!strstr(s->err.text, "lgkmcnt(0)")) fail_msg("%s", s->err.text);
  assert_int_equal(run(s, "s_mov_b64 s[20:21], src_shared_base\nv_mov_b32 v4, 0x2000\nv_mov_b32 v5, s21\n"
      "flat_load_dword v16, v[4:5]\n",
                       4096, 0), MLAF_E_FAULT);
  if (!strstr(s->err.text, "outside the workgroup's 4096 bytes")) fail_msg("%s", s->err.text);
}

/* A dword per lane in LDS, whatever the width in memory; from buffers, global and private memory. */
TEST_OF(loads_to_lds, snip *s) {
  static const char *const from[] = {"global_load_lds_%s v3, s[4:5] offset:4\n",
      "buffer_load_%s v3, s[12:15], 0 offen offset:4 lds\n",
                                     "scratch_load_lds_%s off, off offset:4\n"};
  for (int i = 0; i < 5; i++)
    for (int space = 0; space < 3; space++) {
      static const int index[5] = {0, 1, 2, 3, 10};
      const form *f = &loads[index[i]];
      char body[2048], op[128];
      numbers(s);
      int n = put(body, sizeof body, space == 2 ? SCRATCH : GLOBAL);
      snprintf(op, sizeof op, from[space], f->name);
      snprintf(body + n, sizeof body - (size_t)n, "s_movk_i32 m0, 0x80\ns_nop 1\n%ss_waitcnt vmcnt(0)\n"
          "ds_read_b32 v16, v1 offset:132\n"
               "s_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v16, s[6:7]\n", op);
      run_ok(s, body);
      for (uint32_t l = 0; l < 64; l++) {
        const uint8_t *p = (const uint8_t *)s->in + 32 * l + 4;
        uint32_t want = 0;
        memcpy(&want, p, (size_t)f->bytes);
        if (f->sign) want = (uint32_t)(f->bytes == 1 ? (int8_t)p[0] : (int16_t)(p[0] | p[1] << 8));
        if (s->out[l] != want) fail_msg("%s lane %u: %08x, want %08x", op, l, s->out[l], want);
      }
    }
}

/* --- typed buffers --- */
static float f32(uint32_t u) { return mlaf_bits_float(u); }
static uint32_t to_half(float f) { return test_half_of(f); }

typedef struct fmt { int data, number, n; uint32_t in[4], want[4]; } fmt; /* memory and components of lane 0 */
static const fmt formats[] = {
  {10, 0, 4, {0xff804000}, {0, 0x3e808081, 0x3f008081, 0x3f800000}},       /* 8_8_8_8 unorm: 0, 64, 128, 255 */
  {10, 1, 4, {0x7f81c080}, {0xbf800000, 0xbf010204, 0xbf800000, 0x3f800000}}, /* snorm: -128 and -127 are -1, -64 */
  {10, 4, 4, {0xff804001}, {1, 0x40, 0x80, 0xff}}, {10, 5, 4, {0xff804001}, {1, 0x40, 0xffffff80, 0xffffffff}},
  {10, 2, 4, {0xff804001}, {0x3f800000, 0x42800000, 0x43000000, 0x437f0000}},
  {10, 3, 4, {0xff804001}, {0x3f800000, 0x42800000, 0xc3000000, 0xbf800000}},
  {5, 7, 2, {0xc0003c00}, {0x3f800000, 0xc0000000}}, {12, 7, 4, {0xc0003c00, 0x00013800}, {0x3f800000, 0xc0000000, 0x3f000000,
      0x33800000}},
  {9, 4, 4, {0xc0300801}, {1, 2, 3, 3}},                                   /* 2_10_10_10 uint: the 2 bits are on top */
  {8, 4, 4, {0x00c0200a}, {2, 2, 2, 3}},                                   /* 10_10_10_2: they are at the bottom */
  {6, 7, 3, {0xf01e03c0}, {0x3f800000, 0x3f800000, 0x47000000}},           /* 10_11_11 float: 1.0, 1.0, 2^15 */
  {4, 7, 1, {0x12345678}, {0x12345678}}, {11, 4, 2, {7, 8}, {7, 8}}, {13, 7, 3, {1, 2, 3}, {1, 2, 3}}, {14, 4, 4, {9, 8, 7,
      6}, {9, 8, 7, 6}},
  {1, 4, 1, {0x1234}, {0x34}}, {2, 5, 1, {0x8001}, {0xffff8001}}, {3, 0, 2, {0x00ff}, {0x3f800000, 0}}};

TEST_OF(typed_loads, snip *s) {
  static const char *const name[] = {"", "x", "xy", "xyz", "xyzw"};
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    for (int n = 1; n <= 4; n++)
      for (int narrow = 0; narrow < 2; narrow++) {
        const fmt *f = &formats[i];
        char body[1024], d[32];
        bool whole = f->number == 4 || f->number == 5;
        memcpy(s->in, f->in, 16);
        snprintf(body, sizeof body, "s_mov_b32 s15, 0x%x\nv_mov_b32 v3, 0\nv_mov_b32 v16, 0\nv_mov_b32 v17, 0\nv_mov_b32 v18, 0\n"
                 "v_mov_b32 v19, 0\nbuffer_load_format_%s%s %s, v3, s[12:15], 0 offen\ns_waitcnt vmcnt(0)\n"
                     "v_lshlrev_b32 v3, 4, v0\n"
                 "global_store_dwordx4 v3, v[16:19], s[6:7]\n", f->data << 15 | f->number << 12 | 4 | 5 << 3 | 6 << 6 | 7 << 9,
                 narrow ? "d16_" : "", name[n], registers(d, narrow ? (n + 1) / 2 : n));
        snip_ok(s, 1, 0, body);
        for (int k = 0; k < n; k++) {
          uint32_t want = k < f->n ? f->want[k] : k == 3 ? (whole ? 1 : 0x3f800000) : 0, got = s->out[k];
          if (narrow) want = whole ? want & 0xffff : to_half(f32(want)), got = s->out[k / 2] >> (k % 2 ? 16 : 0) & 0xffff;
          if (got != want) fail_msg("format %d/%d %s component %d: %08x, want %08x", f->data, f->number, name[n], k, got, want);
        }
      }
  /* The high half alone. */
  s->in[0] = 0x40;
  snip_ok(s, 1, 0, "s_mov_b32 s15, 0xc004\nv_mov_b32 v3, 0\n"
          "v_mov_b32 v16, 0x1234\nbuffer_load_format_d16_hi_x v16, v3, s[12:15], 0 offen\ns_waitcnt vmcnt(0)\n"
          "global_store_dword v1, v16, s[6:7]\n");
  assert_int_equal(s->out[0], 0x00401234);
}

TEST_OF(typed_stores, snip *s) {
  static const char *const name[] = {"", "x", "xy", "xyz", "xyzw"};
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    for (int narrow = 0; narrow < 2; narrow++) {
      const fmt *f = &formats[i];
      char body[2048], d[32];
      bool whole = f->number == 4 || f->number == 5;
      uint32_t mask[4] = {0}, bytes = 0;
      static const uint8_t size[] = {0, 1, 2, 2, 4, 4, 4, 4, 4, 4, 4, 8, 8, 12, 16};
      bytes = size[f->data];
      memset(mask, 0xff, bytes);
      if (f->data == 6 || (narrow && (f->data == 4 || f->data >= 11) && f->data != 12)) continue; /* wider than 16 bits */
      if (f->number == 1) continue; /* -128 does not come back */
      s->out[1024] = s->out[1025] = s->out[1026] = s->out[1027] = 0;
      int n = snprintf(body, sizeof body, "s_mov_b32 s12, s6\ns_mov_b32 s13, s7\ns_movk_i32 s14, 0x2000\ns_mov_b32 s15, 0x%x\n"
                       "v_mov_b32 v3, 0x1000\n", f->data << 15 | f->number << 12 | 4 | 5 << 3 | 6 << 6 | 7 << 9);
      for (int k = 0; k < 4; k++) {
        uint32_t x = f->want[k];
        if (narrow) {
          uint32_t lo = f->want[2 * k % 4], hi = f->want[(2 * k + 1) % 4];
          x = whole ? (lo & 0xffff) | hi << 16 : to_half(f32(lo)) | to_half(f32(hi)) << 16;
        }
        n += snprintf(body + n, sizeof body - (size_t)n, "v_mov_b32 v%d, 0x%x\n", 16 + k, x);
      }
      snprintf(body + n, sizeof body - (size_t)n, "s_mov_b64 exec, 1\nbuffer_store_format_%s%s %s, v3, s[12:15], 0 offen\n",
               narrow ? "d16_" : "", name[f->n], registers(d, narrow ? (f->n + 1) / 2 : f->n));
      snip_ok(s, 1, 0, body);
      for (int k = 0; k < 4; k++)
        if (s->out[1024 + k] != (f->in[k] & mask[k]))
          fail_msg("format %d/%d%s: %08x, want %08x", f->data, f->number, narrow ? " d16" : "", s->out[1024 + k], f->in[k] &
              mask[k]);
    }
  s->out[1024] = 0;
  snip_ok(s, 1, 0, "s_mov_b32 s12, s6\ns_mov_b32 s13, s7\ns_movk_i32 s14, 0x2000\ns_mov_b32 s15, 0x14004\nv_mov_b32 v3, 0x1000\n"
                   "v_mov_b32 v16, 0x12345678\ns_mov_b64 exec, 1\nbuffer_store_format_d16_hi_x v16, v3, s[12:15], 0 offen\n");
  assert_int_equal(s->out[1024], 0x1234);
  s->out[1024] = 0; /* three components of four: the last becomes 0 */
  snip_ok(s, 1, 0, "s_mov_b32 s12, s6\ns_mov_b32 s13, s7\ns_movk_i32 s14, 0x2000\ns_mov_b32 s15, 0x54fac\nv_mov_b32 v3, 0x1000\n"
                   "v_mov_b32 v16, 0x120034\nv_mov_b32 v17, 0x560078\ns_mov_b64 exec, 1\n"
                   "buffer_store_format_d16_xyz v[16:17], v3, s[12:15], 0 offen\n");
  assert_int_equal(s->out[1024], 0x781234);
}

/* Eight records of 16 bytes interleaved by 4 bytes; add-tid counts the lanes as records. */
TEST_OF(swizzled_descriptors, snip *s) {
  numbers(s);
  snip_ok(s, 1, 0, "s_or_b32 s13, s13, 0x80100000\ns_movk_i32 s14, 40\ns_mov_b32 s15, 0xa0000\nv_mov_b32 v4, v0\n"
      "v_mov_b32 v5, 8\n"
                   "buffer_load_dword v16, v[4:5], s[12:15], 0 idxen offen\ns_waitcnt vmcnt(0)\n"
                       "global_store_dword v1, v16, s[6:7]\n");
  for (uint32_t l = 0; l < 64; l++) {
    uint32_t at = (l / 8 * 16 + 8) * 8 + l % 8 * 4; /* dword 2 of record l */
    if (s->out[l] != (l < 40 ? s->in[at / 4] : 0)) fail_msg("swizzled lane %u: %08x, want %08x", l, s->out[l], s->in[at / 4]);
  }
  snip_ok(s, 1, 0, "s_or_b32 s13, s13, 0x80000\ns_mov_b32 s15, 0x800000\nbuffer_load_dword v16, off, s[12:15], 0 offset:4\n"
                   "s_waitcnt vmcnt(0)\nglobal_store_dword v1, v16, s[6:7]\n");
  for (uint32_t l = 0; l < 64; l++) assert_int_equal(s->out[l], s->in[2 * l + 1]);
}

/* Cache control has nothing to do, and does nothing. */
TEST_OF(cache_control, snip *s) {
  snip_ok(s, 1, 0, "buffer_wbl2 sc0 sc1\ns_waitcnt vmcnt(0)\nbuffer_inv sc0 sc1\ns_dcache_inv\ns_dcache_inv_vol\ns_dcache_wb\n"
                   "s_dcache_wb_vol\ns_icache_inv\nv_mov_b32 v9, 5\nglobal_store_dword v1, v9, s[6:7]\n");
  for (int l = 0; l < 64; l++) assert_int_equal(s->out[l], 5);
}

TESTS(snip_open, snip_close)
