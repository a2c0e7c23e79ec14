/* A few of the random HIP programs of emu-random, at every level on every target. */
#include "cmocka_all.h"
#include "need.h"
#include "random_hip_run.h"

static void report(rh_batch *b, int i, const char *where) { print_error("%s: %s\n", where, b->why); }

TEST(programs_agree_with_the_host) {
  static const mlaf_device_ops *const targets[] = {&mlaf_emu_ops, &mlaf_emu_gfx950_ops, &mlaf_emu_gfx90a_ops};
  static const char *const levels[] = {"-O0", "-O1", "-O3"};
  enum { N = 6 };
  rh_batch b;
  need_compiler("gfx942");
  if (!rh_open(&b, 1, N)) fail_msg("%s", b.why);
  for (int t = 0; t < 3; t++)
    for (int l = 0; l < 3; l++) assert_int_equal(rh_run(&b, targets[t], levels[l], report), N);
  rh_close(&b);
}

/* 0xffffffffu / (T | 1u) and 0xffffffffu % (T | 1u): see DIVISOR in random_hip.h */
TEST(divisions_of_all_ones_agree) {
  static const mlaf_device_ops *const targets[] = {&mlaf_emu_ops, &mlaf_emu_gfx950_ops, &mlaf_emu_gfx90a_ops};
  static const uint64_t programs[] = {121, 185};
  need_compiler("gfx942");
  for (int p = 0; p < 2; p++) {
    rh_batch b;
    if (!rh_open(&b, programs[p], 1)) fail_msg("%s", b.why);
    for (int t = 0; t < 3; t++) assert_int_equal(rh_run(&b, targets[t], "-O0", report), 1);
    rh_close(&b);
  }
}

TESTS(NULL, NULL)
