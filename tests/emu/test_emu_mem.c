/* Vector memory: widths, addressing, buffer bounds, atomics, loads to LDS, and the checks on addresses and waits. */
#include <sys/mman.h>

#include "emu/snippet.h"

#define WAIT "s_waitcnt vmcnt(0)\n"

static void number_input(snip *s) {
  for (uint32_t i = 0; i < SNIP_BYTES / 4; i++) s->in[i] = 0x9e3779b9u * (i + 1), s->out[i] = 0xaaaaaaaau;
}

TEST_OF(loads_and_stores_of_every_width, snip *s) {
  static const char *const kind[] = {"global_load_%s v[20:%d], v3, s[4:5] offset:64\n"
      WAIT "global_store_%s v3, v[20:%d], s[6:7] offset:64\n",
                                     "v_mov_b32 v10, s4\nv_mov_b32 v11, s5\nv_add_co_u32 v10, vcc, v10, v3\ns_nop 1\n"
                                         "v_addc_co_u32 v11, vcc, 0, v11, vcc\n"
                                     "flat_load_%s v[20:%d], v[10:11] offset:64\ns_waitcnt vmcnt(0) lgkmcnt(0)\n"
                                     "global_store_%s v3, v[20:%d], s[6:7] offset:64\n",
                                     "buffer_load_%s v[20:%d], v3, s[12:15], 0 offen offset:64\n"
                                         WAIT "s_mov_b32 s12, s6\ns_mov_b32 s13, s7\ns_nop 4\n"
                                     "buffer_store_%s v[20:%d], v3, s[12:15], 0 offen offset:64\n"};
  static const char *const width[] = {"", "dword", "dwordx2", "dwordx3", "dwordx4"};
  for (int n = 2; n <= 4; n++)
    for (int k = 0; k < 3; k++) {
      char body[1024] = "v_lshlrev_b32 v3, 4, v0\n", text[1024];
      number_input(s);
      snprintf(text, sizeof text, kind[k], width[n], 19 + n, width[n], 19 + n);
      strcat(body, text);
      snip_ok(s, 1, 0, body);
      for (uint32_t i = 16; i < 16 + 4 * 63; i++)
        assert_int_equal(s->out[i], i % 4 < (uint32_t)n ? s->in[i] : 0xaaaaaaaau);
    }
}

TEST_OF(agprs_are_loaded_and_stored, snip *s) {
  number_input(s);
  snip_ok(s, 1, 0, "v_lshlrev_b32 v3, 4, v0\nglobal_load_dwordx4 a[8:11], v3, s[4:5]\n"
      WAIT "global_store_dwordx4 v3, a[8:11], s[6:7]\n");
  assert_memory_equal(s->in, s->out, 1024);
}

TEST_OF(narrow_forms_extend_and_merge, snip *s) {
  static const struct { const char *op; uint32_t old, want; } t[] = {
      {"ubyte", 0, 0x9c}, {"sbyte", 0, 0xffffff9c}, {"ushort", 0, 0x8b9c}, {"sshort", 0, 0xffff8b9c},
      {"ubyte_d16", 0x11223344, 0x1122009c}, {"ubyte_d16_hi", 0x11223344, 0x009c3344}, {"sbyte_d16", 0x11223344, 0x1122ff9c},
      {"sbyte_d16_hi", 0x11223344, 0xff9c3344}, {"short_d16", 0x11223344, 0x11228b9c}, {"short_d16_hi", 0x11223344, 0x8b9c3344}};
  for (size_t i = 0; i < sizeof t / sizeof t[0]; i++)
    for (int k = 0; k < 2; k++) {
      char body[512];
      s->in[0] = 0x7a6b8b9c;
      snprintf(body, sizeof body, "v_mov_b32 v9, 0x%x\nv_mov_b32 v3, 0\n%s_load_%s v9, v3, %s\n"
          WAIT "global_store_dword v1, v9, s[6:7]\n",
               t[i].old, k ? "buffer" : "global", t[i].op, k ? "s[12:15], 0 offen" : "s[4:5]");
      snip_ok(s, 1, 0, body);
      for (int l = 0; l < 64; l++) assert_int_equal(s->out[l], t[i].want);
    }
  snip_ok(s, 1, 0, "v_mov_b32 v9, 0x11223344\nv_mov_b32 v10, 0xaabbccdd\nglobal_store_dword v1, v9, s[6:7]\n"
                   "global_store_byte v1, v10, s[6:7] offset:1\nglobal_store_byte_d16_hi v1, v10, s[6:7]\n"
                   "global_store_short_d16_hi v1, v10, s[6:7] offset:2\n");
  for (int l = 0; l < 64; l++) assert_int_equal(s->out[l], 0xaabbddbb);
}

TEST_OF(addressing, snip *s) {
  number_input(s);
  /* Negative offsets, and a 32-bit lane offset that is not sign-extended. */
  snip_ok(s, 1, 0, "v_add_u32 v3, 0x100, v1\nglobal_load_dword v9, v3, s[4:5] offset:-256\n"
      WAIT "global_store_dword v1, v9, s[6:7]\n");
  assert_memory_equal(s->in, s->out, 256);
  /* Buffers: index times stride plus offsets; soffset from a register. */
  snip_ok(s, 1, 0, "s_or_b32 s13, s13, 0x80000\ns_mov_b32 s20, 16\nv_mov_b32 v4, v0\nv_mov_b32 v5, 4\n"
                   "buffer_load_dword v9, v[4:5], s[12:15], s20 idxen offen offset:8\n"
                       WAIT "global_store_dword v1, v9, s[6:7]\n");
  for (uint32_t l = 0; l < 64; l++) assert_int_equal(s->out[l], s->in[(8 * l + 4 + 16 + 8) / 4]);
  /* Unaligned addresses work, as in the mode ROCm sets. */
  snip_ok(s, 1, 0, "v_add_u32 v3, 2, v1\nglobal_load_dword v9, v3, s[4:5]\n" WAIT "global_store_dword v1, v9, s[6:7]\n");
  assert_int_equal(s->out[0], s->in[0] >> 16 | s->in[1] << 16);
}

TEST_OF(buffer_bounds_are_silent_zero, snip *s) {
  number_input(s);
  /* num_records 100: lane 24 has its dword, lane 25 does not; partly outside is dword by dword; stores are dropped. */
  snip_ok(s, 1, 0, "s_movk_i32 s14, 100\nbuffer_load_dword v9, v1, s[12:15], 0 offen\n"
      WAIT "global_store_dword v1, v9, s[6:7]\n");
  for (uint32_t l = 0; l < 64; l++) assert_int_equal(s->out[l], l < 25 ? s->in[l] : 0);
  snip_ok(s, 1, 0, "s_movk_i32 s14, 100\nv_lshlrev_b32 v3, 4, v0\nbuffer_load_dwordx4 v[20:23], v3, s[12:15], 0 offen\n" WAIT
                   "global_store_dwordx4 v3, v[20:23], s[6:7]\n");
  for (uint32_t i = 0; i < 256; i++) assert_int_equal(s->out[i], i < 25 ? s->in[i] : 0);
  number_input(s);
  snip_ok(s, 1, 0, "s_mov_b32 s12, s6\ns_mov_b32 s13, s7\ns_movk_i32 s14, 100\nv_mov_b32 v20, 1\nv_mov_b32 v21, 2\n"
      "v_lshlrev_b32 v3, 3, v0\n"
                   "buffer_store_dwordx2 v[20:21], v3, s[12:15], 0 offen\n");
  for (uint32_t i = 0; i < 128; i++) assert_int_equal(s->out[i], i < 25 ? 1 + i % 2 : 0xaaaaaaaau);
  /* A huge offset must not wrap into range. */
  snip_ok(s, 1, 0, "v_mov_b32 v3, -4\nbuffer_load_dword v9, v3, s[12:15], 0 offen offset:8\n"
      WAIT "global_store_dword v1, v9, s[6:7]\n");
  assert_int_equal(s->out[0], 0);
}

TEST_OF(outside_allocations_is_a_fault, snip *s) {
  FAULT(s, 1, 0, "v_mov_b32 v3, 0x10000\nglobal_load_dword v9, v3, s[4:5]\n", "load outside every allocation", "65536 bytes at",
        "offset 65536", "lane 0", "global_load_dword");
  FAULT(s, 1, 0, "v_mov_b32 v3, 0\nglobal_store_dword v3, v3, s[4:5] offset:-4\n", "store outside", "4 bytes before");
  FAULT(s, 1, 0, "v_mov_b32 v3, 0xfff8\nv_mov_b32 v4, 0xfff0\nv_cmp_eq_u32 vcc, 7, v0\ns_nop 1\nv_cndmask_b32 v3, v4, v3, vcc\n"
                 "global_load_dwordx4 v[20:23], v3, s[4:5]\n", "lane 7", "16 bytes at", "offset 65528");
  FAULT(s, 1, 0, "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\nglobal_load_dword v9, v[10:11], off\n", "outside every allocation", "0x0");
  /* Descriptor bounds do not replace the allocation's. */
  FAULT(s, 1, 0, "s_mov_b32 s14, -1\nv_mov_b32 v3, 0x10000\nbuffer_load_dword v9, v3, s[12:15], 0 offen\n",
      "outside every allocation");
  FAULT(s, 1, 0, "s_mov_b32 s15, 0\nbuffer_load_dword v9, v1, s[12:15], 0 offen\n", "word 3", "0x00020000");
  /* Lanes that are off may point anywhere. */
  snip_ok(s, 1, 0, "v_lshlrev_b32 v3, 20, v0\ns_mov_b64 exec, 1\nglobal_load_dword v9, v3, s[4:5]\n" WAIT);
}

TEST_OF(freed_memory_is_named, snip *s) {
  void *p;
  mlaf_err err = {MLAF_OK, ""};
  uint32_t *in = s->in;
  assert_int_equal(mlaf_emu_ops.mem_alloc(s->dev, 1000, &p, &err), MLAF_OK);
  s->in = p;
  snip_ok(s, 1, 0, "v_mov_b32 v3, 996\nglobal_load_dword v9, v3, s[4:5]\n" WAIT);
  FAULT(s, 1, 0, "v_mov_b32 v3, 997\nglobal_load_dword v9, v3, s[4:5]\n", "they cross its end", "1000 bytes");
  assert_int_equal(mlaf_emu_ops.mem_free(s->dev, p, &err), MLAF_OK);
  FAULT(s, 1, 0, "v_mov_b32 v3, 4\nglobal_load_dword v9, v3, s[4:5]\n", "offset 4", "freed 1000-byte allocation");
  s->in = in;
  assert_int_equal(mlaf_emu_ops.mem_free(s->dev, p, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "freed"));
  assert_int_equal(mlaf_emu_ops.mem_free(s->dev, (char *)s->out + 16, &err), MLAF_E_ARG);
  assert_int_equal(mlaf_emu_ops.mem_alloc(s->dev, 0, &p, &err), MLAF_E_ARG);
  uint32_t x = 0;
  assert_int_equal(mlaf_emu_ops.mem_read(s->dev, &x, (char *)s->out + SNIP_BYTES - 2, 4, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "out of bounds"));
  assert_int_equal(mlaf_emu_ops.mem_write(s->dev, s->out + 1, &x, 4, &err), MLAF_OK);
  assert_int_equal(mlaf_emu_ops.mem_fill(s->dev, s->out, 7, SNIP_BYTES + 1, &err), MLAF_E_ARG);
}

#define REGISTER(p, n, read_only) assert_int_equal(mlaf_emu_ops.mem_register(s->dev, p, n, read_only, &err), MLAF_OK)
#define UNREGISTER(p, n) assert_int_equal(mlaf_emu_ops.mem_unregister(s->dev, p, n, &err), MLAF_OK)

TEST_OF(host_memory_is_reached_while_it_is_registered, snip *s) {
  mlaf_err err = {MLAF_OK, ""};
  uint32_t host[64], *in = s->in, *out = s->out;
  for (int i = 0; i < 64; i++) host[i] = 0;
  const char *store = "v_mov_b32 v3, 252\nv_mov_b32 v9, 7\nglobal_store_dword v3, v9, s[4:5]\n" WAIT;
  s->in = host;
  FAULT(s, 1, 0, store, "outside every allocation");
  REGISTER(host, 128, false); /* two that overlap are one */
  REGISTER(host + 16, 192, true);
  snip_ok(s, 1, 0, store);
  assert_int_equal(host[63], 7);
  UNREGISTER(host, 128);
  FAULT(s, 1, 0, store, "read-only", "offset 188"); /* of what is left */
  FAULT(s, 1, 0, "global_load_dword v9, v1, s[4:5]\n" WAIT, "outside every allocation", "64 bytes before");
  s->in = host + 16;
  FAULT(s, 1, 0, "v_mov_b32 v3, 4\nv_mov_b32 v9, 8\nglobal_store_dword v3, v9, s[4:5]\n" WAIT, "read-only", "offset 4");
  snip_ok(s, 1, 0, "v_mov_b32 v3, 4\nglobal_load_dword v9, v3, s[4:5]\n" WAIT);
  assert_int_equal(mlaf_emu_ops.mem_fill(s->dev, host + 16, 1, 4, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "read-only"));
  assert_int_equal(mlaf_emu_ops.mem_free(s->dev, host + 16, &err), MLAF_E_ARG);
  UNREGISTER(host + 16, 192);
  assert_int_equal(mlaf_emu_ops.mem_unregister(s->dev, host + 16, 192, &err), MLAF_E_ARG);
  s->in = in;
  REGISTER(out, 16, true); /* the device's own: nothing changes */
  snip_ok(s, 1, 0, "v_mov_b32 v9, 7\nglobal_store_dword v1, v9, s[6:7]\n" WAIT);
  UNREGISTER(out, 16);
  void *none = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(none, 4096);
  const struct {
    void *at;
    size_t bytes;
  } bad[] = {{host, 0}, {none, 4096}, {host, SIZE_MAX}, {(void *)16, 8}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(mlaf_emu_ops.mem_register(s->dev, bad[i].at, bad[i].bytes, false, &err), MLAF_E_ARG);
    assert_non_null(strstr(err.text, "not memory of this process"));
  }
}

TEST_OF(loads_are_in_flight_until_waited_for, snip *s) {
  FAULT(s, 1, 0, "global_load_dword v9, v1, s[4:5]\nv_mov_b32 v10, v9\n", "v9", "vmcnt");
  FAULT(s, 1, 0, "global_load_dword v9, v1, s[4:5]\nv_mov_b32 v9, 0\n", "v9", "vmcnt"); /* the load would land on top */
  FAULT(s, 1, 0, "global_load_dword v9, v1, s[4:5]\nglobal_store_dword v1, v9, s[6:7]\n", "v9", "vmcnt");
  FAULT(s, 1, 0, "global_load_dword v9, v1, s[4:5]\nglobal_load_dword v10, v1, s[4:5]\ns_waitcnt vmcnt(1)\n"
      "v_mov_b32 v11, v9\nv_mov_b32 v12, v10\n",
        "v10", "vmcnt");
  snip_ok(s, 1, 0, "global_load_dword v9, v1, s[4:5]\nglobal_load_dword v10, v1, s[4:5]\ns_waitcnt vmcnt(1)\n"
      "v_mov_b32 v11, v9\n" WAIT
                   "v_mov_b32 v12, v10\n");
  /* Stores take their place in the count: vmcnt(1) leaves the store, not the load. */
  snip_ok(s, 1, 0, "global_load_dword v9, v1, s[4:5]\nglobal_store_dword v1, v1, s[6:7]\ns_waitcnt vmcnt(1)\n"
      "v_mov_b32 v11, v9\n");
  /* flat needs both counters. */
  const char *flat = "v_mov_b32 v10, s4\nv_mov_b32 v11, s5\nflat_load_dword v9, v[10:11]\n";
  char body[256];
  snprintf(body, sizeof body, "%ss_waitcnt vmcnt(0)\nv_mov_b32 v12, v9\n", flat);
  FAULT(s, 1, 0, body, "v9", "lgkmcnt");
  snprintf(body, sizeof body, "%ss_waitcnt lgkmcnt(0)\nv_mov_b32 v12, v9\n", flat);
  FAULT(s, 1, 0, body, "v9", "vmcnt");
  snprintf(body, sizeof body, "%ss_waitcnt vmcnt(0) lgkmcnt(0)\nv_mov_b32 v12, v9\n", flat);
  snip_ok(s, 1, 0, body);
}

TEST_OF(atomics, snip *s) {
  static const struct { const char *op; uint32_t mem, data, want; } t[] = {
      {"swap", 5, 7, 7}, {"add", 5, 7, 12}, {"sub", 5, 7, 0xfffffffe}, {"smin", 3, 0xffffffff, 0xffffffff}, {"umin", 3,
          0xffffffff, 3},
      {"smax", 3, 0xffffffff, 3}, {"umax", 3, 0xffffffff, 0xffffffff}, {"and", 12, 10, 8}, {"or", 12, 10, 14}, {"xor", 12, 10, 6},
      {"inc", 5, 5, 0}, {"dec", 0, 9, 9}, {"add_f32", 0x3fc00000, 0x40000000, 0x40600000}, {"pk_add_f16", 0x3c004000,
          0x3c003c00, 0x40004200},
      {"pk_add_bf16", 0x3f804000, 0x3f803f80, 0x40004040}};
  for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
    char body[512];
    for (int l = 0; l < 64; l++) s->in[l] = t[i].mem, s->in[64 + l] = t[i].mem;
    snprintf(body, sizeof body,
        "v_mov_b32 v10, 0x%x\nglobal_atomic_%s v9, v1, v10, s[4:5] sc0\nglobal_atomic_%s v1, v10, s[4:5] offset:256\n" WAIT
             "global_store_dword v1, v9, s[6:7]\n", t[i].data, t[i].op, t[i].op);
    snip_ok(s, 1, 0, body);
    for (int l = 0; l < 64; l++) {
      assert_int_equal(s->out[l], t[i].mem);
      if (s->in[l] != t[i].want || s->in[64 + l] != t[i].want) fail_msg("%s: %x, expected %x", t[i].op, s->in[l], t[i].want);
    }
  }
  /* All lanes and both waves on one qword; compare-and-swap takes the new value first. */
  memset(s->in, 0, 64);
  snip_ok(s, 2, 0, "v_mov_b32 v10, -1\nv_mov_b32 v11, 3\nv_mov_b32 v3, 0\nglobal_atomic_add_x2 v3, v[10:11], s[4:5]\n"
                   "v_mov_b32 v12, 77\nv_mov_b32 v13, 0\nglobal_atomic_cmpswap v9, v1, v[12:13], s[4:5] offset:1024 sc0\n" WAIT
                   "global_store_dword v1, v9, s[6:7]\n");
  uint64_t sum = 128 * (3ull << 32 | 0xffffffffu), got;
  memcpy(&got, s->in, 8);
  assert_true(got == sum);
  memset(s->in + 256, 0, 512);
  snip_ok(s, 1, 0, "v_mov_b32 v12, 77\nv_mov_b32 v13, 0\n"
      "buffer_atomic_cmpswap v[12:13], v1, s[12:15], 0 offen offset:1024 sc0\n" WAIT
                   "global_store_dword v1, v12, s[6:7]\n");
  for (int l = 0; l < 64; l++) assert_true(s->in[256 + l] == 77 && s->out[l] == 0);
  FAULT(s, 1, 0, "v_mov_b32 v3, 2\nglobal_atomic_add v3, v1, s[4:5]\n", "not aligned to 4 bytes");
}

TEST_OF(loads_to_lds, snip *s) {
  number_input(s);
  /* M0 plus the instruction's offset, which moves both addresses; a dword per lane whatever the width. */
  snip_ok(s, 1, 1024, "s_movk_i32 m0, 0x80\ns_nop 0\nbuffer_load_dword v1, s[12:15], 0 offen offset:64 lds\n" WAIT
                      "ds_read_b32 v9, v2 offset:192\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v9, s[6:7]\n");
  for (uint32_t l = 0; l < 64; l++) assert_int_equal(s->out[l], s->in[16 + l]);
  snip_ok(s, 1, 1024, "s_movk_i32 m0, 0x100\ns_nop 0\nglobal_load_lds_sshort v1, s[4:5]\n"
      "global_load_lds_ubyte v1, s[4:5] offset:256\n" WAIT
                      "ds_read2st64_b32 v[10:11], v2 offset0:1 offset1:2\ns_waitcnt lgkmcnt(0)\n"
                          "global_store_dword v1, v10, s[6:7]\n"
                      "global_store_dword v1, v11, s[6:7] offset:256\n");
  for (uint32_t l = 0; l < 64; l++) {
    assert_int_equal(s->out[l], (uint32_t)(int16_t)s->in[l]);
    assert_int_equal(s->out[64 + l], s->in[64 + l] & 255);
  }
}

/* Lanes that are off keep their dword; lanes out of the buffer get 0; what does not fit the LDS is a fault. */
TEST_OF(loads_to_lds_edges, snip *s) {
  number_input(s);
  snip_ok(s, 1, 256, "v_mov_b32 v9, 7\nds_write_b32 v2, v9\ns_waitcnt lgkmcnt(0)\ns_movk_i32 s14, 40\ns_mov_b32 m0, 0\n"
      "s_mov_b64 exec, 0xffff\n"
                     "buffer_load_dword v1, s[12:15], 0 offen lds\ns_mov_b64 exec, -1\n" WAIT
                     "ds_read_b32 v9, v2\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v9, s[6:7]\n");
  for (uint32_t l = 0; l < 64; l++) assert_int_equal(s->out[l], l < 10 ? s->in[l] : l < 16 ? 0 : 7);
  FAULT(s, 1, 252, "s_mov_b32 m0, 0\ns_nop 0\nbuffer_load_dword v1, s[12:15], 0 offen lds\n",
      "outside the workgroup's 252 bytes", "lane 63");
  FAULT(s, 1, 256, "buffer_load_dword v1, s[12:15], 0 offen lds\n", "uninitialised", "m0");
}

TESTS(snip_open, snip_close)
