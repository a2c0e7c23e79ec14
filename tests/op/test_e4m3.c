/* e4m3 on the host, as caches of mla_append have it. */
#include "cmocka_all.h"
#include "op/e4m3.h"

/* By the formats' definitions. */
TEST(fp8_numbers) {
  static const struct {
    bool fnuz;
    uint8_t code;
    double value;
  } known[] = {{false, 0x00, 0},     {false, 0x01, 0x1p-9},  {false, 0x08, 0x1p-6}, {false, 0x38, 1},    {false, 0x7e, 448},
               {false, 0xfe, -448},  {true, 0x01, 0x1p-10},  {true, 0x08, 0x1p-7},  {true, 0x40, 1},     {true, 0x7f, 240},
               {true, 0xff, -240},   {false, 0x39, 1.125},   {true, 0x07, 7 * 0x1p-10}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    assert_true(mlaf_e4m3_decode(known[i].fnuz, known[i].code) == known[i].value);
  assert_true(isnan(mlaf_e4m3_decode(false, 0x7f)) && isnan(mlaf_e4m3_decode(false, 0xff)));
  assert_true(isnan(mlaf_e4m3_decode(true, 0x80)));
  assert_true(mlaf_e4m3_ulp(false, 1) == 0x1p-3 && mlaf_e4m3_ulp(false, 0.99) == 0x1p-4 && mlaf_e4m3_ulp(false, 0) == 0x1p-9);
  assert_true(mlaf_e4m3_ulp(true, 0x1p-9) == 0x1p-10);
}

TESTS(NULL, NULL)
