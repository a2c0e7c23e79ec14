/* LDS instructions that kernels rarely use, against C: exchanges at two addresses, counting, add-TID, the 64-bit pairs; and reads
 * and writes at any byte, as ROCm's unaligned mode allows. */
#include "emu/snippet.h"

#define IN "v_lshlrev_b32 v3, 4, v0\nglobal_load_dwordx4 v[10:13], v3, s[4:5]\ns_waitcnt vmcnt(0)\n"
#define OUT "s_waitcnt lgkmcnt(0)\nv_lshlrev_b32 v3, 4, v0\nglobal_store_dwordx4 v3, v[20:23], s[6:7]\n"
#define ZERO "v_mov_b32 v20, 0\nv_mov_b32 v21, 0\nv_mov_b32 v22, 0\nv_mov_b32 v23, 0\n"

static void numbers(snip *s) {
  for (uint32_t i = 0; i < SNIP_BYTES / 4; i++) s->in[i] = 0x9e3779b9u * (i + 1), s->out[i] = 0;
}
static void expect(const snip *s, uint32_t lane, uint32_t a, uint32_t b, uint32_t c, uint32_t d, const char *what) {
  const uint32_t want[4] = {a, b, c, d};
  if (memcmp(&s->out[4 * lane], want, 16) != 0)
    fail_msg("%s lane %u: %08x %08x %08x %08x, want %08x %08x %08x %08x", what, lane, s->out[4 * lane], s->out[4 * lane + 1],
             s->out[4 * lane + 2], s->out[4 * lane + 3], a, b, c, d);
}

TEST_OF(pairs, snip *s) {
  static const struct { const char *write, *read; } t[] = {
    {"write2_b64 v3, v[10:11], v[12:13]", "read2_b64 v[20:23], v3"},
    {"write2st64_b64 v3, v[10:11], v[12:13]", "read2st64_b64 v[20:23], v3"}};
  for (int i = 0; i < 2; i++) {
    char body[1024];
    numbers(s);
    snprintf(body, sizeof body, IN ZERO "v_lshlrev_b32 v3, 3, v0\nds_%s offset0:1 offset1:%d\nds_%s offset0:%d offset1:1\n"
        "" OUT, t[i].write,
             i ? 2 : 65, t[i].read, i ? 2 : 65);
    snip_ok(s, 1, 4096, body);
    for (uint32_t l = 0; l < 64; l++) expect(s, l, s->in[4 * l + 2], s->in[4 * l + 3], s->in[4 * l], s->in[4 * l + 1], t[i].read);
  }
}

TEST_OF(exchanges, snip *s) {
  static const struct { const char *op; int words, unit, second; } t[] = {
    {"wrxchg2_rtn_b32 v[20:21], v3, v12, v13 offset0:2 offset1:66", 1, 4, 66},
    {"wrxchg2st64_rtn_b32 v[20:21], v3, v12, v13 offset0:1 offset1:3", 1, 256, 3},
    {"wrxchg2_rtn_b64 v[20:23], v3, v[12:13], v[10:11] offset0:2 offset1:66", 2, 8, 66},
    {"wrxchg2st64_rtn_b64 v[20:23], v3, v[12:13], v[10:11] offset0:1 offset1:3", 2, 512, 3}};
  for (int i = 0; i < 4; i++) {
    char body[2048], before[256];
    int first = i % 2 ? 1 : 2;
    bool wide = t[i].words == 2;
    numbers(s);
    snprintf(before, sizeof before, "ds_write_%s v3, %s offset:%d\nds_write_%s v3, %s offset:%d\n", wide ? "b64" : "b32",
             wide ? "v[10:11]" : "v10", first * t[i].unit, wide ? "b64" : "b32", wide ? "v[12:13]" : "v11",
                 t[i].second * t[i].unit);
    snprintf(body, sizeof body, IN ZERO "v_lshlrev_b32 v3, %d, v0\n%sds_%s\nds_read_%s %s, v3 offset:%d\n%s" OUT, wide ? 3 :
        2, before,
             t[i].op, wide ? "b64" : "b32", wide ? "v[24:25]" : "v22", t[i].second * t[i].unit,
             wide ? "s_waitcnt lgkmcnt(0)\nv_xor_b32 v20, v20, v24\nv_xor_b32 v21, v21, v25\n" : "");
    snip_ok(s, 1, 8192, body);
    for (uint32_t l = 0; l < 64; l++) {
      const uint32_t *v = &s->in[4 * l]; /* v10.. */
      if (wide) expect(s, l, 0, 0, v[2], v[3], t[i].op); /* old first ^ new second: both v[10:11] */
      else expect(s, l, v[0], v[1], v[3], 0, t[i].op);
    }
  }
}

TEST_OF(counting, snip *s) {
  snip_ok(s, 2, 64, "v_mov_b32 v10, 100\nv_mov_b32 v3, 12\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 1f\nds_write_b32 v3, v10\n1:\n"
                    "s_waitcnt lgkmcnt(0)\ns_barrier\ns_mov_b32 m0, 8\ns_mov_b32 exec_hi, 0\ns_mov_b32 exec_lo, 0x1ff\n"
                    "ds_append v9 offset:4\ns_mov_b64 exec, -1\ns_waitcnt lgkmcnt(0)\ns_barrier\nds_read_b32 v20, v3\n"
                    "s_waitcnt lgkmcnt(0)\ns_barrier\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 2f\nds_consume v21 offset:4\n"
                    "ds_read_b32 v22, v3\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v20, s[6:7]\n"
                    "global_store_dword v1, v21, s[6:7] offset:256\nglobal_store_dword v1, v22, s[6:7] offset:512\n"
                    "s_mov_b32 exec_hi, 0\ns_mov_b32 exec_lo, 0x1ff\nglobal_store_dword v1, v9, s[6:7] offset:768\n2:\n");
  for (uint32_t l = 0; l < 64; l++) {
    assert_int_equal(s->out[l], 118);       /* two waves of nine lanes */
    assert_int_equal(s->out[64 + l], 118);  /* the old value, to every lane */
    assert_int_equal(s->out[128 + l], 54);
  }
  assert_int_equal(s->out[192], 100);
}

TEST_OF(add_tid, snip *s) {
  numbers(s);
  snip_ok(s, 1, 1024, IN ZERO "s_movk_i32 m0, 0x40\ns_nop 0\nds_write_addtid_b32 v10 offset:16\n"
      "ds_read_addtid_b32 v20 offset:16\n"
                      "v_lshlrev_b32 v3, 2, v0\nds_read_b32 v21, v3 offset:80\nds_nop\n" OUT);
  for (uint32_t l = 0; l < 64; l++) expect(s, l, s->in[4 * l], s->in[4 * l], 0, 0, "addtid");
}

/* Every width at every byte of a dword; two lanes never meet. */
TEST_OF(any_byte, snip *s) {
  static const struct { const char *type, *data, *back; int bytes; } w[] = {
    {"b16", "v10", "", 2}, {"b32", "v10", "v20", 4}, {"b64", "v[10:11]", "v[20:21]", 8}, {"b96", "v[10:12]", "v[20:22]", 12},
    {"b128", "v[10:13]", "v[20:23]", 16}};
  for (int i = 0; i < 5; i++)
    for (int at = 0; at < 4; at++) {
      char body[1024];
      numbers(s);
      snprintf(body, sizeof body, IN ZERO "v_mul_u32_u24 v3, 24, v0\nds_write_%s v3, %s offset:%d\n"
          "ds_read_%s %s, v3 offset:%d\n" OUT,
               w[i].type, w[i].data, at, i ? w[i].type : "u16", i ? w[i].back : "v20", at);
      snip_ok(s, 1, 2048, body);
      for (uint32_t l = 0; l < 64; l++) {
        uint32_t want[4] = {0, 0, 0, 0};
        memcpy(want, &s->in[4 * l], (size_t)w[i].bytes);
        expect(s, l, want[0], want[1], want[2], want[3], w[i].type);
      }
    }
}

TEST_OF(any_byte_is_still_checked, snip *s) {
  /* A dword write two bytes on covers half of the next dword, no more. */
  FAULT(s, 1, 256, "v_mov_b32 v9, 1\nv_mov_b32 v3, 2\nds_write_b32 v3, v9\nds_read_b32 v10, v3 offset:2\n", "LDS byte 0x6");
  FAULT(s, 1, 256, "v_mov_b32 v9, 1\nv_mov_b32 v3, 253\nds_write_b32 v3, v9\n", "outside the workgroup's 256 bytes", "0xfd");
  /* Races are by byte: neighbours in one dword are none, one byte in common is one. */
  const char *two = "v_mov_b32 v9, 1\nv_mov_b32 v3, 1\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc0 1f\nv_mov_b32 v3, %d\n1:\n"
                    "s_mov_b64 exec, 1\nds_write_b32 v3, v9\ns_waitcnt lgkmcnt(0)\n";
  char body[512];
  snprintf(body, sizeof body, two, 5);
  snip_ok(s, 2, 256, body);
  snprintf(body, sizeof body, two, 4);
  FAULT(s, 2, 256, body, "LDS race", "byte 0x4");
  /* A write not waited for before the barrier races after it, wherever it starts. */
  FAULT(s, 2, 256, "v_mov_b32 v9, 1\nv_mov_b32 v3, 1\ns_mov_b64 exec, 1\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 1f\n"
      "ds_write_b32 v3, v9\n"
                   "1:\ns_barrier\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc0 2f\nds_read_b32 v10, v3\n2:\n", "LDS race",
                       "lgkmcnt(0) is missing");
  /* Aligned and unaligned accesses of two waves to one byte. */
  FAULT(s, 2, 256, "v_mov_b32 v9, 1\nv_mov_b32 v3, 0\ns_mov_b64 exec, 1\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc0 1f\n"
      "v_mov_b32 v3, 3\n1:\n"
                   "ds_write_b32 v3, v9\ns_waitcnt lgkmcnt(0)\n", "LDS race", "byte 0x3");
  /* Lanes that are off may be anywhere; an atomic may not be misaligned in lanes that are on. */
  snip_ok(s, 1, 256, "v_mov_b32 v9, 5\nv_mul_u32_u24 v3, 0x1003, v0\ns_mov_b64 exec, 1\nds_write_b32 v3, v9\n");
  FAULT(s, 1, 256, "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_mov_b32 v3, 4\nds_add_u64 v3, v[10:11]\n", "not aligned to 8 bytes");
  FAULT(s, 1, 1024, "v_mov_b32 v3, 0\ns_mov_b32 m0, 2\ns_nop 1\nglobal_load_lds_dword v3, s[4:5]\n", "not aligned to 4 bytes");
}

TESTS(snip_open, snip_close)
