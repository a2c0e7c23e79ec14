/* cmocka's header behind those of C that it and nearly every test want, and tests that register themselves. */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { TESTS_MOST = 64 };
static struct CMUnitTest tests_here[TESTS_MOST] __attribute__((unused));
static size_t n_tests_here __attribute__((unused));

/* TEST(name) { ... }: a test of this file. */
#define TEST(name)                                                                                                   \
  static void name(void **state);                                                                                    \
  __attribute__((constructor)) static void name##_registers(void) {                                                  \
    if (n_tests_here == TESTS_MOST) abort();                                                                         \
    tests_here[n_tests_here++] = (struct CMUnitTest)cmocka_unit_test(name);                                          \
  }                                                                                                                  \
  static void name(void **state)

/* TEST_OF(name, const rig *r) { ... }: a test that begins with its state as r. */
#define TEST_OF(name, variable)                                                                                      \
  static void name##_of(variable);                                                                                   \
  TEST(name) { name##_of(*state); }                                                                                  \
  static void name##_of(variable)

/* Runs this file's tests in their order; setup and teardown, if any, before the first and behind the last. */
#define tests_run(setup, teardown) _cmocka_run_group_tests("tests", tests_here, n_tests_here, setup, teardown)
/* The main that does that alone. */
#define TESTS(setup, teardown) \
  int main(void) { return tests_run(setup, teardown); }

/* The same with setup before each test and teardown behind it. */
#define TESTS_EACH(setup, teardown)                                                         \
  int main(void) {                                                                          \
    for (size_t i = 0; i < n_tests_here; i++) {                                             \
      tests_here[i].setup_func = setup;                                                     \
      tests_here[i].teardown_func = teardown;                                               \
    }                                                                                       \
    return _cmocka_run_group_tests("tests", tests_here, n_tests_here, NULL, NULL);          \
  }
