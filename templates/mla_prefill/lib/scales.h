// Scales of inputs of 8 bits, read when the launch runs. A tensor of zeros may have been quantised with 0. A negative scale is
// NaN, and so is all that it is multiplied by.
MLAF_DEV float scale_at(const float* at) {
  if (!at) return 1.0f;
//@ if arch.wave == 64 then
  const float x = *(const MLAF_GLOBAL float*)(u64)at;
//@ else
  const float x = *at;
//@ end
  return x >= 0.0f ? x : float_of(0x7fc00000u);
}
// The factor of scores, in base 2: at least the smallest normal number. Scores of hidden keys are -inf, and times 0 they
// would be NaN.
MLAF_DEV float score_scale(float scale_log2e, const float* q_scale, const float* k_scale) {
  const float scale = scale_log2e * scale_at(q_scale) * scale_at(k_scale), least = float_of(0x00800000u);
  return scale < least ? least : scale;
}
