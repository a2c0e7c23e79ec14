/* base/half.h: every half, every float around every boundary of two halves, and millions of others, against the definition of the
 * format; the definition, and base/half.h, against the compiler's own conversions where it has any. */
#include "base/half.h"

#include "cmocka_all.h"
#include "half.h"

static void encodes(uint32_t u) {
  float f = mlaf_bits_float(u);
  uint16_t want = test_half_of(f), got = mlaf_half_encode(f);
  if (got != want) fail_msg("float %08x: %04x, by definition %04x", u, got, want);
#ifdef TEST_HAS_FLOAT16
  _Float16 own = (_Float16)f;
  memcpy(&want, &own, 2);
  if (got != want) fail_msg("float %08x: %04x, the compiler's %04x", u, got, want);
#endif
}

TEST(every_half) {
  for (uint32_t h = 0; h < 65536; h++) {
    uint32_t got = mlaf_float_bits(mlaf_half_decode((uint16_t)h)), want = mlaf_float_bits(test_half_to_float((uint16_t)h));
    if (got != want) fail_msg("half %04x: %08x, by definition %08x", h, got, want);
    assert_int_equal(mlaf_half_decode_bits(h), got);
#ifdef TEST_HAS_FLOAT16
    uint16_t bits = (uint16_t)h;
    _Float16 own;
    memcpy(&own, &bits, 2);
    if (got != mlaf_float_bits((float)own)) fail_msg("half %04x: %08x, the compiler's %08x", h, got, mlaf_float_bits((float)own));
#endif
    uint16_t quiet = (uint16_t)(h & 0x7fff) > 0x7c00 ? (uint16_t)(h | 0x200) : (uint16_t)h;
    assert_int_equal(mlaf_half_encode(mlaf_bits_float(got)), quiet); /* there and back */
  }
}

/* At each half, half way to the next one, and one float to either side of both; around the edges of the format. */
TEST(every_boundary) {
  for (uint32_t h = 0; h < 0x7c00; h++) {
    uint32_t at[3] = {mlaf_float_bits((float)test_half_value((uint16_t)h)), 0, 0};
    const double next = h == 0x7bff ? 65536 : test_half_value((uint16_t)(h + 1));
    at[1] = mlaf_float_bits((float)((test_half_value((uint16_t)h) + next) / 2));
    at[2] = at[0] + (at[1] - at[0]) / 2;
    for (int i = 0; i < 3; i++)
      for (uint32_t step = 0; step < 3; step++) encodes(at[i] + step - 1), encodes((at[i] + step - 1) ^ 0x80000000u);
  }
  for (uint32_t e = 0; e < 512; e++)
    for (uint32_t m = 0; m < 64; m++) encodes(e << 23 | m), encodes(e << 23 | (0x7fffff - m)), encodes(e << 23 | m << 17);
}

TEST(many_others) {
  uint64_t x = 88172645463325252u;
  for (int i = 0; i < 4000000; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    encodes((uint32_t)(x >> 24));
    encodes(((uint32_t)x & 0x9fffffff) + 0x33000000); /* where halves are */
  }
}

/* Sums of 113 bits round once. */
TEST(quads) {
#ifdef __SIZEOF_FLOAT128__
  assert_int_equal(test_half_of_quad((__float128)65520 - 0x1p-90), 0x7bff);
  assert_int_equal(test_half_of_quad((__float128)65520), 0x7c00);
  assert_int_equal(test_half_of_quad((__float128)-0x1p-25 - 0x1p-120), 0x8001);
  assert_int_equal(test_half_of_quad((__float128)0x1p-25), 0);
  assert_int_equal(test_half_of_quad(1 + (__float128)0x1p-11 + 0x1p-100), 0x3c01);
  assert_int_equal(test_half_of_quad(1 + (__float128)0x1p-11), 0x3c00);
  assert_int_equal(test_half_of_quad(1 + (__float128)0x1p-11 - 0x1p-100), 0x3c00);
#endif
}

TESTS(NULL, NULL)
