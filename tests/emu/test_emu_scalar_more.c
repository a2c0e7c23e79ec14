/* Scalar memory through descriptors, clocks, and the instructions that have nothing to do in a compute wave. */
#include "emu/snippet.h"

#define STORE9 "v_mov_b32 v9, s20\nglobal_store_dword v1, v9, s[6:7]\n"

/* Loads of every width; what lies beyond num_records reads as zero. */
TEST_OF(buffer_loads, snip *s) {
  static const struct { const char *name; int n; } w[] = {{"dword", 1}, {"dwordx2", 2}, {"dwordx4", 4}, {"dwordx8", 8},
      {"dwordx16", 16}};
  for (uint32_t i = 0; i < 1024; i++) s->in[i] = 7 * i + 3;
  for (int i = 0; i < 5; i++)
    for (int at = 0; at < 2; at++) {
      char body[2048], to[32];
      int n, offset = at ? 4096 - 8 : 64;
      if (w[i].n == 1) snprintf(to, sizeof to, "s20");
      else snprintf(to, sizeof to, "s[20:%d]", 19 + w[i].n);
      n = snprintf(body, sizeof body, "s_buffer_load_%s %s, s[12:15], 0x%x\ns_waitcnt lgkmcnt(0)\n", w[i].name, to, offset);
      for (int k = 0; k < w[i].n; k++)
        n += snprintf(body + n, sizeof body - (size_t)n, "v_mov_b32 v9, s%d\nglobal_store_dword v1, v9, s[6:7] offset:%d\n",
            20 + k, 256 * k);
      snip_ok(s, 1, 0, body);
      for (int k = 0; k < w[i].n; k++) {
        uint32_t want = offset + 4 * k < 4096 ? s->in[offset / 4 + k] : 0;
        if (s->out[64 * k] != want) fail_msg("s_buffer_load_%s at %d, dword %d: %u, want %u", w[i].name, offset, k,
            s->out[64 * k], want);
      }
    }
}

TEST_OF(stores, snip *s) {
  static const char *const name[] = {"dword", "dwordx2", "dwordx4"};
  for (int i = 0; i < 3; i++)
    for (int buffer = 0; buffer < 2; buffer++) {
      char body[1024], from[32];
      int n = 1 << i;
      for (int k = 0; k < 16; k++) s->out[k] = 99;
      if (n == 1) snprintf(from, sizeof from, "s20");
      else snprintf(from, sizeof from, "s[20:%d]", 19 + n);
      snprintf(body, sizeof body, "s_mov_b32 s12, s6\ns_mov_b32 s13, s7\ns_mov_b32 s14, 40\ns_mov_b32 s20, 1\ns_mov_b32 s21, 2\n"
               "s_mov_b32 s22, 3\ns_mov_b32 s23, 4\ns_%sstore_%s %s, %s, 0x8\ns_%sstore_%s %s, %s, 0x%x\ns_waitcnt lgkmcnt(0)\n",
               buffer ? "buffer_" : "", name[i], from, buffer ? "s[12:15]" : "s[6:7]", buffer ? "buffer_" : "", name[i], from,
               buffer ? "s[12:15]" : "s[6:7]", 36);
      snip_ok(s, 1, 0, body);
      for (int k = 0; k < 16; k++) {
        uint32_t want = k >= 2 && k < 2 + n ? (uint32_t)k - 1 : k >= 9 && k < 9 + n && (!buffer || k < 10) ? (uint32_t)k - 8 : 99;
        if (s->out[k] != want) fail_msg("%s%s: dword %d is %u, want %u", buffer ? "buffer " : "", name[i], k, s->out[k], want);
      }
    }
}

/* Both clocks only grow, and not by themselves. */
TEST_OF(clocks, snip *s) {
  snip_ok(s, 1, 0, "s_memtime s[20:21]\ns_memrealtime s[22:23]\ns_waitcnt lgkmcnt(0)\ns_nop 15\ns_nop 15\ns_memtime s[24:25]\n"
                   "s_memrealtime s[26:27]\ns_waitcnt lgkmcnt(0)\ns_sub_u32 s28, s24, s20\ns_sub_u32 s29, s26, s22\n"
                   "v_mov_b32 v9, s28\nv_mov_b32 v10, s29\nglobal_store_dword v1, v9, s[6:7]\n"
                       "global_store_dword v1, v10, s[6:7] offset:256\n");
  for (int k = 0; k < 128; k++)
    if (s->out[k] < 32 || s->out[k] > 10000) fail_msg("%u clocks for 32 wait states", s->out[k]);
  FAULT(s, 1, 0, "s_memtime s[20:21]\nv_mov_b32 v9, s20\n", "s20", "lgkmcnt(0)");
}

TEST_OF(nothing_to_do, snip *s) {
  snip_ok(s, 1, 0, "s_mov_b32 s20, 77\ns_mov_b32 m0, 0\ns_incperflevel 1\ns_decperflevel 1\ns_wakeup\ns_ttracedata\ns_sleep 1\n"
                   "s_atc_probe 0, s[4:5], 0x0\ns_atc_probe_buffer 0, s[12:15], 0x0\ns_sendmsg sendmsg(MSG_INTERRUPT)\n"
                   "s_waitcnt lgkmcnt(0)\n" STORE9);
  for (int k = 0; k < 64; k++) assert_int_equal(s->out[k], 77);
  FAULT(s, 1, 0, "s_sethalt 1\n", "halted");
  FAULT(s, 1, 0, "s_mov_b32 m0, 0\ns_nop 0\ns_sendmsghalt sendmsg(MSG_INTERRUPT)\n", "halted");
}

TEST_OF(relative_moves_are_checked, snip *s) {
  FAULT(s, 1, 0, "s_mov_b32 m0, 100\ns_mov_b32 s20, 0\ns_nop 0\ns_movrels_b32 s21, s20\n", "s20 plus M0 = 100");
  FAULT(s, 1, 0, "s_mov_b32 m0, 1\ns_mov_b64 s[20:21], 0\ns_nop 0\ns_movrels_b64 s[22:23], s[20:21]\n", "plus M0 = 1");
  FAULT(s, 1, 0, "s_mov_b32 m0, 1\ns_nop 0\ns_movrels_b32 s21, s40\n", "uninitialised register s41");
  FAULT(s, 1, 0, "s_mov_b32 s20, 0\ns_mov_b32 m0, 1\ns_movrels_b32 s21, s20\n", "hazard", "M0 just written");
}

/* Instructions that only graphics, debuggers and trap handlers use keep their named fault. */
TEST_OF(left_out, snip *s) {
  static const char *const text[] = {"s_rfe_b64 s[4:5]", "s_setkill 1", "s_dcache_discard s[4:5], 0x0", "s_endpgm_saved",
                                     "v_screen_partition_4se_b32 v9, v0", "s_scratch_load_dword s20, s[4:5], 0x0",
                                     "s_mov_b32 m0, 0\ns_nop 0\nds_gws_barrier v0 gds"};
  for (size_t i = 0; i < sizeof text / sizeof *text; i++) FAULT(s, 1, 0, text[i], "unimplemented instruction");
}

TESTS(snip_open, snip_close)
