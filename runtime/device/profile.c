/* Profiles, by the back ends that make them. */
#include "device/profile.h"

static mlaf_status refuse(const mlaf_device *dev, mlaf_err *err) {
  return mlaf_fail(err, MLAF_E_ARG, "a profile is made by the emulator's timing model; the device is %s: use --device emu:gfx942",
                   mlaf_ops(dev)->name);
}

mlaf_status mlaf_profile_run(mlaf_device *dev, const mlaf_launch *launches, size_t n, mlaf_profile *out, mlaf_timing *timing,
                             mlaf_err *err) {
  memset(out, 0, n * sizeof *out);
  if (!mlaf_ops(dev)->profile) return refuse(dev, err);
  mlaf_status st = mlaf_ops(dev)->profile(dev, launches, n, out, timing, err);
  for (size_t i = 0; i < n && st; i++) mlaf_profile_clear(&out[i]);
  return st;
}

mlaf_status mlaf_profile_count(mlaf_device *dev, const mlaf_launch *launch, mlaf_profile *out, mlaf_err *err) {
  memset(out, 0, sizeof *out);
  if (!mlaf_ops(dev)->profile_count) return refuse(dev, err);
  mlaf_status st = mlaf_ops(dev)->profile_count(dev, launch, out, err);
  if (st) mlaf_profile_clear(out);
  return st;
}

void mlaf_profile_clear(mlaf_profile *p) {
  for (int i = 0; p->wave && i < p->n_waves; i++) free(p->wave[i].span);
  free(p->wave);
  free(p->inst);
  memset(p, 0, sizeof *p);
}
