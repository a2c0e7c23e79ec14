/* Checks of memory that may be asked for, and of registers and addresses that silicon takes as they come. */
#include "emu/snippet.h"
#include "emu/strict.h"

#define STORE9 "global_store_dword v1, v9, s[6:7]\n"
#define STORE16 \
  "v_mov_b32 v10, 1\nv_mov_b32 v11, 2\nv_mov_b32 v12, 3\nv_mov_b32 v13, 4\nglobal_store_dwordx4 v5, v[10:13], s[6:7]\n"
#define VM "s_waitcnt vmcnt(0)\n"
#define LGKM "s_waitcnt lgkmcnt(0)\n"

/* A buffer whose contents were declared undefined may be read only where it was written since. */
TEST_OF(global_memory_nobody_wrote, snip *s) {
  static const struct { const char *body; bool ok; } cases[] = {
      {"global_load_dword v9, v1, s[6:7]\n" VM, false},
      {STORE9 "global_load_dword v10, v1, s[6:7]\n" VM, true},
      {STORE9 "global_load_dwordx2 v[10:11], v3, s[6:7]\n" VM, true},                 /* within what 64 lanes wrote */
      {STORE9 "global_load_dwordx2 v[10:11], v3, s[6:7] offset:4\n" VM, false},       /* the last lane's second dword */
      {STORE9 "global_load_ubyte v10, v1, s[6:7] offset:256\n" VM, false},
      {STORE9 "global_load_dwordx4 v[10:13], v4, s[6:7]\n" VM, true},
      {STORE9 "global_load_dwordx4 v[10:13], v4, s[6:7] offset:1\n" VM, false},
      {STORE9 "global_load_dwordx3 v[10:12], v4, s[6:7] offset:4\n" VM, true},
      {STORE9 "global_load_dwordx3 v[10:12], v4, s[6:7] offset:5\n" VM, false},
      {STORE16 "global_load_ubyte v9, v5, s[6:7] offset:15\n" VM, true},
      {STORE16 "global_load_ubyte v9, v5, s[6:7] offset:16\n" VM, false},
      {"v_mov_b32 v6, 5\nv_mov_b32 v7, 5\nv_mov_b32 v8, 5\nglobal_store_dwordx3 v5, v[6:8], s[6:7]\n"
       "global_load_ubyte v9, v5, s[6:7] offset:11\n" VM, true},
      {"v_mov_b32 v6, 5\nv_mov_b32 v7, 5\nv_mov_b32 v8, 5\nglobal_store_dwordx3 v5, v[6:8], s[6:7]\n"
       "global_load_ubyte v9, v5, s[6:7] offset:12\n" VM, false},
      /* lanes that are on alone */
      {"s_mov_b64 exec, 0xff\n" STORE9 "global_load_dword v10, v1, s[6:7]\n" VM, true},
      {"s_mov_b64 exec, 0xff\n" STORE9 "s_mov_b64 exec, 0x1ff\nglobal_load_dword v10, v1, s[6:7]\n" VM, false},
      {"s_mov_b64 exec, 0xff\n" STORE9 "s_mov_b64 exec, -1\nglobal_load_dword v10, v1, s[6:7]\n" VM, false},
      {"s_lshr_b64 exec, exec, 1\n" STORE9 "s_mov_b64 exec, -1\nglobal_load_dword v10, v1, s[6:7]\n" VM, false},
      {"global_store_byte v1, v9, s[6:7]\nglobal_load_ubyte v10, v1, s[6:7]\n" VM, true},
      {"global_store_byte v1, v9, s[6:7]\nglobal_load_ushort v10, v1, s[6:7]\n" VM, false},
      {"global_atomic_add v1, v9, s[6:7]\n" VM, false},
      {STORE9 "global_atomic_add v10, v1, v9, s[6:7] sc0\n" VM, true},
      {"s_load_dword s20, s[6:7], 0x0\n" LGKM, false},
      {STORE9 "s_load_dwordx4 s[20:23], s[6:7], 0xf0\n" LGKM, true},
      {STORE9 "s_load_dwordx4 s[20:23], s[6:7], 0xf4\n" LGKM, false},
      {"s_mov_b32 s12, s6\ns_mov_b32 s13, s7\nbuffer_load_dword v9, v1, s[12:15], 0 offen\n" VM, false},
      {"s_mov_b32 s12, s6\ns_mov_b32 s13, s7\nbuffer_store_dword v9, v1, s[12:15], 0 offen\n"
       "buffer_load_dword v9, v1, s[12:15], 0 offen\n" VM, true},
      {"s_mov_b32 s12, s6\ns_mov_b32 s13, s7\ns_mov_b32 m0, 0\ns_nop 0\nbuffer_load_dword v1, s[12:15], 0 offen lds\n" VM, false},
      {"v_mov_b32 v4, s6\nv_mov_b32 v5, s7\nflat_load_dword v9, v[4:5]\n" VM LGKM, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char body[512];
    snprintf(body, sizeof body, "v_mov_b32 v9, 5\nv_and_b32 v3, -8, v1\nv_and_b32 v4, -16, v1\nv_lshlrev_b32 v5, 2, v1\n%s",
             cases[i].body);
    if (mlaf_emu_ops.mem_undefine(s->dev, s->out, SNIP_BYTES, &s->err)) fail_msg("%s", s->err.text);
    if (cases[i].ok) snip_ok(s, 1, 256, body);
    else FAULT(s, 1, 256, body, "global memory that nothing has written", "rule global-unwritten");
  }
  if (mlaf_emu_ops.mem_undefine(s->dev, s->out, SNIP_BYTES, &s->err)) fail_msg("%s", s->err.text);
  if (mlaf_emu_ops.mem_write(s->dev, s->out, s->in, 256, &s->err)) fail_msg("%s", s->err.text); /* the host writes, too */
  snip_ok(s, 1, 0, "global_load_dword v9, v1, s[6:7]\n" VM);
  if (mlaf_emu_ops.mem_fill(s->dev, s->out, 0, SNIP_BYTES, &s->err)) fail_msg("%s", s->err.text);
  snip_ok(s, 1, 0, "global_load_dword v9, v1, s[6:7] offset:2048\n" VM);
  if (mlaf_emu_ops.mem_undefine(s->dev, (char *)s->out + SNIP_BYTES, 1, &s->err) != MLAF_E_ARG) fail_msg("past the end");
}

/* By +global-unwritten every allocation is watched from its beginning; kernel arguments and constants are none of the kernel's.
 * */
TEST_OF(watched_from_the_start, snip *s) {
  snip watched = *s;
  void *in, *out;
  setenv("MLAF_EMU_STRICT", "+global-unwritten", 1);
  mlaf_status st = mlaf_emu_ops.open(0, NULL, &watched.dev, &s->err);
  unsetenv("MLAF_EMU_STRICT");
  if (st || mlaf_emu_ops.mem_alloc(watched.dev, SNIP_BYTES, &in, &s->err) ||
      mlaf_emu_ops.mem_alloc(watched.dev, SNIP_BYTES, &out, &s->err))
    fail_msg("%s", s->err.text);
  watched.in = in, watched.out = out;
  snip_ok(&watched, 1, 0, "v_mov_b32 v9, 5\n" STORE9 "global_load_dword v9, v1, s[6:7]\n" VM);
  FAULT(&watched, 1, 0, "global_load_dword v9, v1, s[4:5]\n" VM, "nothing has written");
  mlaf_emu_ops.close(watched.dev);
}

TEST_OF(misaligned_scalar_loads, snip *s) {
  emu_device *d = (emu_device *)s->dev;
  static const char *const bad[] = {
      "s_load_dword s20, s[4:5], 0x2\n" LGKM, "s_load_dwordx2 s[20:21], s[4:5], 0x1\n" LGKM,
      "s_mov_b32 s21, 3\ns_load_dword s20, s[4:5], s21\n" LGKM,
          "s_add_u32 s4, s4, 1\ns_load_dwordx4 s[20:23], s[4:5], 0x0\n" LGKM,
      "s_buffer_load_dword s20, s[12:15], 0x2\n" LGKM, "s_mov_b32 s20, 1\ns_store_dword s20, s[6:7], 0x2\n" LGKM};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    FAULT(s, 1, 0, bad[i], "which is no multiple of 4", "rule scalar-align");
    d->forgiven = 1u << EMU_RULE_SCALAR_ALIGN;
    snip_ok(s, 1, 0, bad[i]); /* then the low bits are dropped, as on silicon */
    d->forgiven = 0;
  }
  snip_ok(s, 1, 0, "s_load_dword s20, s[4:5], 0x4\n" LGKM);
}

/* A negative offset of a buffer is a huge one: beyond its records. */
TEST_OF(buffers_do_not_wrap, snip *s) {
  s->in[0] = 77;
  snip_ok(s, 1, 0, "s_add_u32 s12, s12, 4\ns_mov_b32 s21, -4\ns_buffer_load_dword s20, s[12:15], s21\n" LGKM "v_mov_b32 v9,"
                                                                                                             " s20\n" STORE9);
  assert_int_equal(s->out[0], 0);
}

TEST_OF(hardware_ids, snip *s) {
  mlaf_module *m;
  void *args[2] = {s->in, s->out};
  mlaf_function *fn = snip_load(s, 64, 0, "s_getreg_b32 s20, hwreg(HW_REG_HW_ID)\ns_getreg_b32 s21,"
                                          " hwreg(HW_REG_XCC_ID)\ns_lshl_b32 s22, s2, 5\n"
                                "s_lshl_b32 s23, s8, 3\ns_add_u32 s22, s22, s23\nv_mov_b32 v3, s22\nv_mov_b32 v10,"
                                " s20\nv_mov_b32 v11, s21\n"
                                "global_store_dwordx2 v3, v[10:11], s[6:7]\n", &m);
  mlaf_launch l = {.fn = fn, .grid = {304, 1, 1}, .block = {256, 1, 1}, .args = args, .args_size = sizeof args};
  if (mlaf_emu_ops.launch(s->dev, NULL, &l, &s->err)) fail_msg("%s", s->err.text);
  uint64_t place[304];
  for (uint32_t g = 0; g < 304; g++) {
    const uint32_t *at = s->out + 8 * g;
    assert_int_equal(at[1], g % 8);
    for (uint32_t w = 0; w < 4; w++) assert_int_equal(at[2 * w] >> 4 & 3, w); /* a wave on each SIMD */
    place[g] = (uint64_t)at[1] << 32 | (at[0] & 0xef00);
    for (uint32_t i = 0; i < g; i++) assert_true(place[i] != place[g]); /* 304 workgroups, 304 compute units */
  }
  mlaf_emu_ops.module_unload(s->dev, m);
}

TESTS(snip_open, snip_close)
