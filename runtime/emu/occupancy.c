/* Occupancy: how many workgroups a compute unit holds at once. */
#include "emu/arch_gfx942.h"
#include "emu/emu.h"

/* Register file, wave slots and granules are those of gfx942 on all targets here; only the LDS differs. */
int emu_resident_groups(const emu_isa *isa, const emu_kernel *k, int waves, uint32_t lds_bytes, const char **limit) {
  const emu_arch *a = &emu_gfx942;
  unsigned granule = (unsigned)a->vgpr_granule, regs = ((k->vgprs ? k->vgprs : 1) + granule - 1) / granule * granule;
  int per_simd = regs > (unsigned)a->vgprs ? 1 : a->vgprs / (int)regs;
  if (per_simd > a->waves_per_simd) per_simd = a->waves_per_simd;
  int by_waves = waves >= a->simds ? per_simd / ((waves + a->simds - 1) / a->simds) : per_simd * a->simds / waves;
  int by_lds = lds_bytes ? isa->info.lds_bytes / (int)((lds_bytes + 511) / 512 * 512) : a->max_wgs_per_cu;
  int n = by_waves < by_lds ? by_waves : by_lds;
  *limit = by_lds < by_waves ? "LDS" : per_simd < a->waves_per_simd ? "registers" : "waves";
  if (n > a->max_wgs_per_cu) n = a->max_wgs_per_cu, *limit = "workgroups";
  if (n * waves > 32) n = 32 / waves, *limit = "waves"; /* the replay's limit and the hardware's */
  return n < 1 ? 1 : n;
}
