/* LDS races: every way two waves, or a wave and its own direct-to-LDS load, can step on each other, and the nearest
 * program that does not. Waves run one after another in the emulator, so none of these would fail by its result. */
#include "emu/snippet.h"
#include "emu/strict.h"

#define WAIT "s_waitcnt lgkmcnt(0)\n"
#define BAR "s_barrier\n"
/* Waves 0 and 1 of two: the first argument runs in wave 0, the second in wave 1. */
#define BOTH(zero, one, label)                                                                              \
  "s_cmp_eq_u32 s8, 0\ns_cbranch_scc0 one" label "\n" zero "s_branch end" label "\none" label ":\n" one "end" label ":\n"
#define PRE "v_mov_b32 v9, 1\n"

TEST_OF(write_then_read, snip *s) {
  FAULT(s, 2, 256, PRE BOTH("ds_write_b32 v2, v9\n" WAIT, "ds_read_b32 v10, v2\n" WAIT, "a"), "LDS race", "read of byte 0x0",
        "write by wave 0", "pc 0x", "ds_write_b32", "wave 1", "no barrier");
  snip_ok(s, 2, 256, PRE BOTH("ds_write_b32 v2, v9\n" WAIT, "", "a") BAR BOTH("", "ds_read_b32 v10, v2\n" WAIT, "b"));
}

TEST_OF(read_then_write, snip *s) {
  /* Both waves may read what was there before; then wave 1 overwrites. */
  const char *fill = PRE BOTH("ds_write_b32 v2, v9\n" WAIT, "", "f") BAR;
  char body[1024];
  snprintf(body, sizeof body, "%s%s", fill, BOTH("ds_read_b32 v10, v2\n" WAIT, "ds_write_b32 v2, v9\n" WAIT, "a"));
  FAULT(s, 2, 256, body, "LDS race", "write of byte", "read by wave 0", "ds_read_b32", "no barrier");
  snprintf(body, sizeof body, "%s%s", fill,
           BOTH("ds_read_b32 v10, v2\n" WAIT, "ds_read_b32 v10, v2\n" WAIT, "a") BAR BOTH("", "ds_write_b32 v2, v9\n" WAIT, "b"));
  snip_ok(s, 2, 256, body);
}

TEST_OF(write_then_write, snip *s) {
  FAULT(s, 2, 256, "ds_write_b32 v2, v0\n" WAIT, "LDS race", "write of byte 0x0", "write by wave 0");
  /* Different dwords, and different halves of a dword, are nobody's business. */
  snip_ok(s, 2, 512, PRE "v_lshlrev_b32 v3, 2, v0\nds_write_b32 v3, v9\n" WAIT);
  snip_ok(s, 2, 256, PRE "v_lshl_add_u32 v3, s8, 1, v2\nds_write_b16 v3, v9\n" WAIT BAR "ds_read_b32 v10, v2\n" WAIT);
  FAULT(s, 2, 256, "ds_write_b16 v2, v0\n" WAIT, "LDS race", "write by wave 0", "ds_write_b16");
  FAULT(s, 2, 256, PRE BOTH("ds_write_b8 v2, v9 offset:1\n" WAIT, "ds_write_b32 v2, v9\n" WAIT, "a"), "LDS race", "wave 0");
  FAULT(s, 2, 256, PRE BOTH("ds_write_b32 v2, v9\n" WAIT, "ds_read_u8 v10, v2 offset:3\n" WAIT, "a"), "LDS race", "wave 0");
}

/* Two waves may write the same value to one byte: whichever comes last, it holds that. Nothing else becomes legal by it. */
TEST_OF(the_same_value_twice, snip *s) {
  emu_device *d = (emu_device *)s->dev;
  static const char *const same[] = {"ds_write_b32 v2, v9\n" WAIT, "ds_write_b16 v2, v9 offset:1\n" WAIT,
      "ds_write_b8 v2, v9\n" WAIT,
                                     "v_mov_b32 v10, 7\nds_write2_b32 v2, v9, v10 offset1:64\n" WAIT,
                                     "v_mov_b32 v10, 7\nv_mov_b32 v11, 8\nds_write_b64 v3, v[10:11]\n" WAIT,
                                     "ds_write_b32 v2, v9\nds_write_b32 v2, v9\n" WAIT};
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    char body[512];
    snprintf(body, sizeof body, PRE "v_lshlrev_b32 v3, 1, v2\n%s" BAR, same[i]);
    snip_ok(s, 4, 1024, body);
    d->extra = 1u << EMU_RULE_LDS_SAME_VALUE;
    FAULT(s, 4, 1024, body, "LDS race", "write by wave 0");
    d->extra = 0;
  }
  char body[1024];
  const char *twice = PRE "v_mov_b32 v10, 2\nds_write_b32 v2, v9\n" WAIT;
#define OF_WAVE(n, what) "s_cmp_eq_u32 s8, " #n "\ns_cbranch_scc0 skip" #n "\n" what "skip" #n ":\n"
  snprintf(body, sizeof body, "%s" OF_WAVE(1, "ds_read_b32 v11, v2\n" WAIT), twice);
  snip_ok(s, 2, 256, body); /* its own value, whoever wrote last */
  snprintf(body, sizeof body, "%s" OF_WAVE(1, "ds_write_b32 v2, v10\n" WAIT), twice);
  FAULT(s, 2, 256, body, "LDS race", "write by wave 0"); /* another value, although this wave wrote last */
  snprintf(body, sizeof body, "%s" OF_WAVE(1, "ds_write_b8 v2, v10 offset:3\n" WAIT), twice);
  FAULT(s, 2, 256, body, "LDS race", "write by wave 0");
  snprintf(body, sizeof body, "%s" OF_WAVE(1, "ds_add_u32 v2, v10\n" WAIT), twice);
  FAULT(s, 2, 256, body, "LDS race", "atomic of byte");
  FAULT(s, 3, 256, PRE "s_cmp_eq_u32 s8, 2\ns_cbranch_scc1 other\nds_write_b32 v2, v9\n" WAIT "s_branch done\nother:\n"
        "ds_read_b32 v11, v2\n" WAIT "done:\n", "LDS race", "read of byte 0x0"); /* a third wave reads */
  FAULT(s, 2, 256, PRE BOTH("v_mov_b32 v9, 0x10001\nds_write_b32 v2, v9\n" WAIT, "ds_write_b32 v2, v9\n" WAIT, "a"),
        "LDS race", "write by wave 0"); /* only half of it is the same */
  /* behind a barrier all is new */
  snip_ok(s, 2, 256, PRE "ds_write_b32 v2, v9\n" WAIT BAR BOTH("", "ds_write_b32 v2, v0\n" WAIT, "b"));
}

/* Only by its own name, and then counted. */
TEST_OF(races_forgiven_by_name, snip *s) {
  emu_device *d = (emu_device *)s->dev;
  const char *body = "ds_write_b32 v2, v0\nds_read_b32 v10, v2\n" WAIT;
  d->forgiven = 1u << EMU_RULE_LDS_RACE;
  snip_ok(s, 2, 256, body);
  d->forgiven = (1u << EMU_RULE_LDS_RACE) - 1;
  FAULT(s, 2, 256, body, "LDS race");
  d->forgiven = 0;
}

TEST_OF(barrier_without_wait, snip *s) {
  FAULT(s, 2, 256, PRE BOTH("ds_write_b32 v2, v9\n", "", "a") BAR BOTH("", "ds_read_b32 v10, v2\n" WAIT, "b"), "LDS race",
        "read of byte", "write by wave 0", "s_waitcnt lgkmcnt", "ds_write_b32");
  /* A read still outstanding at the barrier, overwritten by the other wave behind it. */
  FAULT(s, 2, 256,
        PRE BOTH("ds_write_b32 v2, v9\nds_read_b32 v10, v2\n", "", "a") BAR BOTH("", "ds_write_b32 v2, v9\n" WAIT, "b"),
        "LDS race", "by wave 0", "s_waitcnt lgkmcnt");
  FAULT(s, 2, 256, PRE BOTH("ds_write_b32 v2, v9\n" WAIT, "", "f") BAR BOTH("ds_read_b32 v10, v2\n", "", "a")
        BAR BOTH("", "ds_write_b32 v2, v9\n" WAIT, "b"), "LDS race", "read by wave 0", "s_waitcnt lgkmcnt");
  /* A later wait and a second barrier make it good. */
  snip_ok(s, 2, 256, PRE BOTH("ds_write_b32 v2, v9\n", "", "a") BAR WAIT BAR BOTH("", "ds_read_b32 v10, v2\n" WAIT, "b"));
  /* Waiting for all but the youngest is enough for the older ones. */
  snip_ok(s, 2, 512, PRE BOTH("ds_write_b32 v2, v9\nds_write_b32 v2, v9 offset:256\ns_waitcnt lgkmcnt(1)\n", "", "a") BAR
          BOTH("", "ds_read_b32 v10, v2\n" WAIT, "b"));
  FAULT(s, 2, 512, PRE BOTH("ds_write_b32 v2, v9\nds_write_b32 v2, v9 offset:256\ns_waitcnt lgkmcnt(1)\n", "", "a") BAR
        BOTH("", "ds_read_b32 v10, v2 offset:256\n" WAIT, "b"), "LDS race", "s_waitcnt lgkmcnt");
}

TEST_OF(own_wave_is_in_order, snip *s) {
  snip_ok(s, 1, 256, PRE "ds_write_b32 v2, v9\nds_read_b32 v10, v2\nds_write_b32 v2, v9\nds_read_b32 v11, v2\n" WAIT);
}

TEST_OF(atomics, snip *s) {
  const char *fill = PRE BOTH("ds_write_b32 v2, v9\n" WAIT, "", "f") BAR;
  char body[1024];
  snprintf(body, sizeof body, "%sds_add_u32 v2, v9\n" WAIT, fill);
  snip_ok(s, 2, 256, body); /* atomics of two waves on one dword */
  snprintf(body, sizeof body, "%s%s", fill, BOTH("ds_add_u32 v2, v9\n" WAIT, "ds_read_b32 v10, v2\n" WAIT, "a"));
  FAULT(s, 2, 256, body, "LDS race", "atomic by wave 0");
  snprintf(body, sizeof body, "%s%s", fill, BOTH("ds_read_b32 v10, v2\n" WAIT, "ds_add_u32 v2, v9\n" WAIT, "a"));
  FAULT(s, 2, 256, body, "LDS race", "atomic of byte", "read by wave 0");
}

#define DMA "s_mov_b32 m0, 0\ns_nop 0\nbuffer_load_dword v2, s[12:15], 0 offen lds\n"

TEST_OF(direct_to_lds, snip *s) {
  for (uint32_t i = 0; i < 64; i++) s->in[i] = 3 * i;
  /* The wave itself: not before its s_waitcnt vmcnt. */
  FAULT(s, 1, 256, DMA "ds_read_b32 v9, v2\n", "direct-to-LDS load", "in flight", "vmcnt", "ds_read_b32");
  snip_ok(s, 1, 256, DMA "s_waitcnt vmcnt(0)\nds_read_b32 v9, v2\n" WAIT "global_store_dword v1, v9, s[6:7]\n");
  for (uint32_t i = 0; i < 64; i++) assert_int_equal(s->out[i], 3 * i);
  /* Other waves: not before a barrier that came after that wait. */
  FAULT(s, 2, 256, BOTH(DMA, "", "a") BAR BOTH("", "ds_read_b32 v9, v2\n" WAIT, "b"), "LDS race", "direct-to-LDS load of wave 0",
        "in flight", "buffer_load_dword");
  FAULT(s, 2, 256, BOTH(DMA, "", "a") BAR "s_waitcnt vmcnt(0)\n" BOTH("", "ds_read_b32 v9, v2\n" WAIT, "b"), "LDS race",
        "direct-to-LDS load");
  snip_ok(s, 2, 256, BOTH(DMA "s_waitcnt vmcnt(0)\n", "", "a") BAR BOTH("", "ds_read_b32 v9, v2\n" WAIT, "b"));
  /* vmcnt(1) covers the older of two. */
  snip_ok(s, 1, 512, DMA "s_mov_b32 m0, 256\ns_nop 0\nbuffer_load_dword v2, s[12:15], 0 offen lds\ns_waitcnt vmcnt(1)\n"
      "ds_read_b32 v9, v2\n" WAIT);
  FAULT(s, 1, 512, DMA "s_mov_b32 m0, 256\ns_nop 0\nbuffer_load_dword v2, s[12:15], 0 offen lds\ns_waitcnt vmcnt(1)\n"
                   "ds_read_b32 v9, v2 offset:256\n", "in flight", "vmcnt");
  /* Over bytes that are still being read: by another wave, by this one. */
  FAULT(s, 2, 256, PRE BOTH("ds_write_b32 v2, v9\n" WAIT, "", "f") BAR
        BOTH("ds_read_b32 v10, v2\n" WAIT, DMA "s_waitcnt vmcnt(0)\n", "a"),
        "LDS race", "direct-to-LDS load of byte", "read by wave 0");
  FAULT(s, 1, 256, PRE "ds_write_b32 v2, v9\nds_read_b32 v10, v2\n" DMA, "direct-to-LDS load over LDS byte", "outstanding",
      "lgkmcnt");
  FAULT(s, 1, 256, DMA PRE "ds_write_b32 v2, v9\n", "write of LDS byte", "in flight", "vmcnt");
}

/* A load to LDS stays outstanding over any number of DS operations. */
TEST_OF(direct_to_lds_is_not_forgotten, snip *s) {
  const char *busy = "v_mov_b32 v9, 1\nv_mov_b32 v3, 0x200\nv_add_u32 v3, v3, v2\ns_mov_b32 s20, 40\nloop:\nds_write_b32 v3, v9\n"
                     "ds_read_b32 v10, v3\n" WAIT "s_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 loop\n";
  char body[2048];
  snprintf(body, sizeof body, "s_cmp_eq_u32 s8, 0\ns_cbranch_scc0 meet\n" DMA "%smeet:\n" BAR
           BOTH("", "ds_read_b32 v9, v2\n" WAIT, "b"), busy);
  FAULT(s, 2, 1024, body, "LDS race", "direct-to-LDS load of wave 0", "in flight");
  snprintf(body, sizeof body, "s_cmp_eq_u32 s8, 0\ns_cbranch_scc0 meet\n" DMA "%ss_waitcnt vmcnt(0)\nmeet:\n" BAR
           BOTH("", "ds_read_b32 v9, v2\n" WAIT, "b"), busy);
  snip_ok(s, 2, 1024, body);
}

TEST_OF(many_barriers, snip *s) {
  /* More epochs than 16 bits hold: the shadow starts over without forgetting what is initialised. */
  snip_ok(s, 2, 256, PRE BOTH("ds_write_b32 v2, v9\n" WAIT, "", "f")
                     "s_mov_b32 s20, 70000\nloop:\ns_barrier\ns_sub_u32 s20, s20, 1\n"
                     "s_cmp_lg_u32 s20, 0\ns_cbranch_scc1 loop\nds_read_b32 v10, v2\n" WAIT);
  FAULT(s, 2, 256, PRE "s_mov_b32 s20, 70000\nloop:\ns_barrier\ns_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 loop\n"
                   BOTH("ds_write_b32 v2, v9\n" WAIT, "ds_read_b32 v10, v2\n" WAIT, "a"), "LDS race");
}

TESTS(snip_open, snip_close)
