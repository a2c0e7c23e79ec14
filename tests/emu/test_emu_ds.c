/* LDS instructions: widths, pairs, sub-dword forms, crossbar, atomics, and the checks on a single wave. */
#include "emu/snippet.h"

/* out[thread] = v9 */
#define STORE "s_nop 1\nglobal_store_dword v1, v9, s[6:7]\n"

TEST_OF(every_width_round_trips, snip *s) {
  static const struct { const char *type; int dwords; } w[] = {{"b32", 1}, {"b64", 2}, {"b96", 3}, {"b128", 4}};
  for (int i = 0; i < 4; i++) {
    char body[1024];
    const char *regs[] = {"", "v10", "v[10:11]", "v[10:12]", "v[10:13]"};
    const char *back[] = {"", "v20", "v[20:21]", "v[20:22]", "v[20:23]"};
    const char *width[] = {"", "dword", "dwordx2", "dwordx3", "dwordx4"};
    snprintf(body, sizeof body,
             "v_lshlrev_b32 v3, 4, v0\nglobal_load_dwordx4 v[10:13], v3, s[4:5]\ns_waitcnt vmcnt(0)\n"
             "ds_write_%s v3, %s offset:32\nds_read_%s %s, v3 offset:32\ns_waitcnt lgkmcnt(0)\n"
             "global_store_%s v3, %s, s[6:7]\n", w[i].type, regs[w[i].dwords], w[i].type, back[w[i].dwords],
             width[w[i].dwords], back[w[i].dwords]);
    for (uint32_t k = 0; k < 256; k++) s->in[k] = 0x01010101u * k + 77, s->out[k] = 0;
    snip_ok(s, 1, 4096, body);
    for (uint32_t k = 0; k < 256; k++) assert_int_equal(s->out[k], k % 4 < (uint32_t)w[i].dwords ? s->in[k] : 0);
  }
}

TEST_OF(pairs_use_both_offsets, snip *s) {
  snip_ok(s, 1, 8192,
          "v_add_u32 v10, 1000, v0\nv_add_u32 v11, 2000, v0\n"
          "ds_write2_b32 v2, v10, v11 offset0:3 offset1:100\n"
          "ds_read_b32 v9, v2 offset:12\nds_read_b32 v8, v2 offset:400\n"
          "ds_read2_b32 v[12:13], v2 offset0:100 offset1:3\n"
          "ds_write2st64_b32 v2, v10, v11 offset0:3 offset1:4\nds_read2st64_b32 v[14:15], v2 offset0:4 offset1:3\n"
          "s_waitcnt lgkmcnt(0)\nv_lshlrev_b32 v3, 5, v0\n"
          "global_store_dword v3, v9, s[6:7]\nglobal_store_dword v3, v8, s[6:7] offset:4\n"
          "global_store_dwordx2 v3, v[12:13], s[6:7] offset:8\nglobal_store_dwordx2 v3, v[14:15], s[6:7] offset:16\n");
  for (uint32_t l = 0; l < 64; l++) {
    const uint32_t want[6] = {1000 + l, 2000 + l, 2000 + l, 1000 + l, 2000 + l, 1000 + l};
    for (int k = 0; k < 6; k++) assert_int_equal(s->out[8 * l + (uint32_t)k], want[k]);
  }
}

TEST_OF(narrow_forms_extend_and_merge, snip *s) {
  static const struct { const char *op; uint32_t old, want; } t[] = {
      {"ds_read_u8 v9, v2", 0, 0x9c}, {"ds_read_i8 v9, v2", 0, 0xffffff9c}, {"ds_read_u16 v9, v2", 0, 0x8b9c},
      {"ds_read_i16 v9, v2", 0, 0xffff8b9c}, {"ds_read_u8_d16 v9, v2", 0x11223344, 0x1122009c},
      {"ds_read_u8_d16_hi v9, v2", 0x11223344, 0x009c3344}, {"ds_read_i8_d16 v9, v2", 0x11223344, 0x1122ff9c},
      {"ds_read_i8_d16_hi v9, v2", 0x11223344, 0xff9c3344}, {"ds_read_u16_d16 v9, v2", 0x11223344, 0x11228b9c},
      {"ds_read_u16_d16_hi v9, v2", 0x11223344, 0x8b9c3344}};
  for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
    char body[512];
    snprintf(body, sizeof body,
        "v_mov_b32 v10, 0x7a6b8b9c\nv_mov_b32 v9, 0x%x\nds_write_b32 v2, v10\n%s\ns_waitcnt lgkmcnt(0)\n" STORE,
             t[i].old, t[i].op);
    snip_ok(s, 1, 256, body);
    for (int l = 0; l < 64; l++) assert_int_equal(s->out[l], t[i].want);
  }
  snip_ok(s, 1, 256, "v_mov_b32 v10, 0x11223344\nv_mov_b32 v11, 0xaabbccdd\nds_write_b32 v2, v10\nds_write_b8 v2, v11 offset:1\n"
                     "ds_write_b8_d16_hi v2, v11\nds_write_b16_d16_hi v2, v11 offset:2\nds_read_b32 v9, v2\n"
                         "s_waitcnt lgkmcnt(0)\n" STORE);
  for (int l = 0; l < 64; l++) assert_int_equal(s->out[l], 0xaabbddbb);
}

TEST_OF(swizzle_in_all_modes, snip *s) {
  static const char *const modes[] = {"swizzle(BITMASK_PERM, \"01pip\")", "swizzle(SWAP, 16)", "swizzle(BROADCAST, 8, 3)",
                                      "swizzle(QUAD_PERM, 2, 3, 1, 0)", "swizzle(REVERSE, 32)", "0xc0a0" /* rotate by 5 */,
                                      "0xe000" /* FFT: bit reversal */};
  for (int m = 0; m < 7; m++) {
    char body[256];
    snprintf(body, sizeof body, "v_add_u32 v10, 100, v0\nds_swizzle_b32 v9, v10 offset:%s\ns_waitcnt lgkmcnt(0)\n" STORE,
        modes[m]);
    snip_ok(s, 1, 0, body);
    for (int l = 0; l < 64; l++) {
      static const int quad[4] = {2, 3, 1, 0};
      int rev = (l & 1) << 4 | (l & 2) << 2 | (l & 4) | (l & 8) >> 2 | (l & 16) >> 4;
      int from[7] = {((l & 0x07) | 0x08) ^ 0x02, l ^ 16, (l & ~7) + 3, (l & ~3) + quad[l & 3], (l & 32) | (31 - (l & 31)),
                     (l & 32) | ((l + 5) & 31), (l & 32) | rev};
      if (m == 0) from[0] |= l & 32; /* "01pip": bit 4 clear, 3 set, 2 keep, 1 invert, 0 keep */
      assert_int_equal(s->out[l], 100 + from[m]);
    }
  }
}

TEST_OF(permutes_push_and_pull, snip *s) {
  const char *index = "v_mul_u32_u24 v3, 20, v0\nv_add_u32 v10, 500, v0\n"; /* lane 5 * l, as bytes */
  char body[512];
  snprintf(body, sizeof body, "%sds_bpermute_b32 v9, v3, v10 offset:8\ns_waitcnt lgkmcnt(0)\n" STORE, index);
  snip_ok(s, 1, 0, body);
  for (int l = 0; l < 64; l++) assert_int_equal(s->out[l], 500 + (5 * l + 2) % 64);
  snprintf(body, sizeof body, "%sds_permute_b32 v9, v3, v10\ns_waitcnt lgkmcnt(0)\n" STORE, index);
  snip_ok(s, 1, 0, body);
  for (int l = 0; l < 64; l++) assert_int_equal(s->out[5 * l % 64], 500 + l); /* 5 is odd: every lane is written */
  /* Inactive lanes: pulled as 0; a lane nobody pushes to is 0. */
  snip_ok(s, 1, 0, "v_add_u32 v10, 500, v0\nv_mov_b32 v9, 7\nv_mov_b32 v3, 4\ns_mov_b64 exec, 1\n"
                   "ds_bpermute_b32 v9, v3, v10\ns_waitcnt lgkmcnt(0)\ns_mov_b64 exec, -1\n" STORE);
  assert_int_equal(s->out[0], 0);
  assert_int_equal(s->out[1], 7);
}

TEST_OF(atomics_return_the_old_value, snip *s) {
  static const struct { const char *op; uint32_t mem, data, want; } t[] = {
      {"add_rtn_u32", 5, 7, 12}, {"sub_rtn_u32", 5, 7, 0xfffffffe}, {"rsub_rtn_u32", 5, 7, 2}, {"inc_rtn_u32", 5, 5, 0},
      {"inc_rtn_u32", 4, 5, 5}, {"dec_rtn_u32", 0, 9, 9}, {"dec_rtn_u32", 6, 9, 5}, {"min_rtn_i32", 3, 0xffffffff, 0xffffffff},
      {"max_rtn_i32", 3, 0xffffffff, 3}, {"min_rtn_u32", 3, 0xffffffff, 3}, {"max_rtn_u32", 3, 0xffffffff, 0xffffffff},
      {"and_rtn_b32", 12, 10, 8}, {"or_rtn_b32", 12, 10, 14}, {"xor_rtn_b32", 12, 10, 6}, {"wrxchg_rtn_b32", 12, 10, 10},
      {"add_rtn_f32", 0x3fc00000, 0x40000000, 0x40600000}, {"min_rtn_f32", 0x3fc00000, 0x40000000, 0x3fc00000},
      {"max_rtn_f32", 0x3fc00000, 0x40000000, 0x40000000}, {"pk_add_rtn_f16", 0x3c004000, 0x3c003c00, 0x40004200},
      {"pk_add_rtn_bf16", 0x3f804000, 0x3f803f80, 0x40004040}};
  for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
    char body[512];
    snprintf(body, sizeof body,
             "v_mov_b32 v10, 0x%x\nv_mov_b32 v11, 0x%x\nds_write_b32 v2, v10\nds_%s v9, v2, v11\nds_read_b32 v8, v2\n"
             "s_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v9, s[6:7]\nglobal_store_dword v1, v8, s[6:7] offset:256\n",
             t[i].mem, t[i].data, t[i].op);
    snip_ok(s, 1, 256, body);
    for (int l = 0; l < 64; l++) {
      assert_int_equal(s->out[l], t[i].mem);
      if (s->out[64 + l] != t[i].want) fail_msg("ds_%s: 0x%x, expected 0x%x", t[i].op, s->out[64 + l], t[i].want);
    }
  }
  /* All 64 lanes on one dword; compare-and-store takes the comparand first; 64-bit. */
  snip_ok(s, 1, 64, "v_mov_b32 v3, 0\nv_mov_b32 v10, 0\nv_mov_b32 v11, 3\nv_mov_b32 v12, 100\nv_mov_b32 v14, 0\n"
      "v_mov_b32 v15, 0\n"
                    "ds_write_b32 v3, v10\nds_add_u32 v3, v11\nds_cmpst_b32 v3, v10, v12\nds_read_b32 v9, v3\n"
                    "v_mov_b32 v10, -1\nds_write_b64 v3, v[14:15] offset:8\nds_add_u64 v3, v[10:11] offset:8\n"
                    "ds_read_b64 v[20:21], v3 offset:8\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v9, s[6:7]\n"
                    "v_lshlrev_b32 v4, 3, v0\nglobal_store_dwordx2 v4, v[20:21], s[6:7] offset:256\n");
  assert_int_equal(s->out[0], 192);
  uint64_t sum = 64 * (3ull << 32 | 0xffffffffu);
  assert_int_equal(s->out[64], (uint32_t)sum);
  assert_int_equal(s->out[65], (uint32_t)(sum >> 32));
}

TEST_OF(checks_name_what_is_wrong, snip *s) {
  FAULT(s, 1, 256, "ds_read_b32 v9, v2\n", "read of LDS byte 0x0 that nothing has written", "lane 0", "ds_read_b32");
  FAULT(s, 1, 256, "v_mov_b32 v9, 0\nds_write_b16 v2, v9\nds_read_b32 v9, v2\n", "LDS byte 0x2 that nothing has written");
  FAULT(s, 1, 256, "v_mov_b32 v9, 0\nds_write_b32 v2, v9 offset:4\n", "outside the workgroup's 256 bytes", "lane 63", "0x100");
  FAULT(s, 1, 256, "v_mov_b32 v9, 0\nv_mov_b32 v3, 2\nds_add_u32 v3, v9\n", "not aligned to 4 bytes");
  FAULT(s, 1, 256, "ds_write_b32 v2, v9\n", "uninitialised", "v9");
  FAULT(s, 1, 256, "v_mov_b32 v9, 0\nds_write_b32 v2, v9\nds_read_b32 v10, v2\nv_mov_b32 v11, v10\n", "v10", "lgkmcnt");
  FAULT(s, 1, 256, "v_mov_b32 v9, 0\nds_write_b32 v2, v9\nds_read_b32 v10, v2\nds_read_b32 v11, v2\ns_waitcnt lgkmcnt(1)\n"
                   "v_mov_b32 v12, v10\nv_mov_b32 v13, v11\n", "v11", "lgkmcnt");
  FAULT(s, 1, 256, "global_load_dword v10, v2, s[4:5]\nv_mov_b32 v9, 0\nds_write_b32 v2, v9\nds_read_b32 v10, v2\n", "v10");
  /* Lanes that are off are not looked at; an address out of range in them is no fault. */
  snip_ok(s, 1, 256, "v_mov_b32 v9, 5\nv_lshlrev_b32 v3, 12, v0\ns_mov_b64 exec, 1\nds_write_b32 v3, v9\ns_waitcnt lgkmcnt(0)\n");
}

TESTS(snip_open, snip_close)
