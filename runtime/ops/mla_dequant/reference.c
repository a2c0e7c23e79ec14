/* mla_dequant on the host. What comes out is one number, exactly. */
#include "op/e4m3.h"
#include "op/numeric.h"
#include "ops/mla_dequant/case.h"

uint16_t dequant_reference(const dequant_shape *s, uint8_t w, float scale) {
  return mlaf_encode16(s->dtype, (float)mlaf_e4m3_decode(s->fnuz, w) * scale);
}

bool dequant_agrees(const dequant_shape *s, uint8_t w, float scale, uint16_t y) {
  const float want = mlaf_decode16(s->dtype, dequant_reference(s, w, scale)), got = mlaf_decode16(s->dtype, y);
  return want == got || (isnan(want) && isnan(got));
}
