/* Timing model. */
#include "emu/emu_launch.h"
#include "emu/timing.h"

void emu_timing_memory(emu_wave *w, const uint64_t addr[EMU_LANES], uint64_t lanes, unsigned bytes, emu_traffic kind) {
  uint64_t last = UINT64_MAX;
  for (int l = 0; l < EMU_LANES; l++) {
    if (!(lanes >> l & 1) || addr[l] / 128 == last) continue;
    last = addr[l] / 128;
    w->counts.l1_lines++;
  }
}

bool emu_timing_wave_init(emu_wave *w) { return true; }
void emu_timing_wave_free(emu_wave *w) {}
void emu_timing_step(emu_wave *w, const emu_inst *in) {}
void emu_timing_barrier(emu_group *g) {}

mlaf_status emu_time(emu_device *dev, const mlaf_launch *launches, size_t n, const mlaf_time_opts *opts, mlaf_timing *out,
                     mlaf_err *err) {
  return mlaf_fail(err, MLAF_E_INTERNAL, "the timing model is being written");
}
