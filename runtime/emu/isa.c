/* The targets of isa.h. Devices: SPX/NPS1; a gfx90a is one die of an MI250X. Memory is host memory; its size here is only what is
 * reported. */
#include "emu/isa.h"

#define GIB(n) (INT64_C(n) << 30)
#define MIB(n) (INT64_C(n) << 20)

const emu_isa emu_isas[EMU_ISAS] = {
  {.info = {.id = "emu:gfx942|cu304|xcc8|SPX|NPS1", .name = "AMD Instinct MI300X (emulated)", .target = "gfx942",
            .full_target = "gfx942:sramecc+:xnack-", .compute_units = 304, .xcc = 8, .wave_size = 64, .lds_bytes = 65536,
            .max_threads = 1024, .mem_bytes = GIB(192), .l2_bytes = MIB(4), .llc_bytes = MIB(256), .clock_mhz = 2100,
            .mem_clock_mhz = 1300, .driver = "mlaforge emulator 1"},
   .mach = 0x4c, .timed = true, .flat_scratch = true, .fnuz = true, .shadows = true, .xdl_to_srcc = 1, .full_srcc2 = 2,
   .big_store = 2},
  {.info = {.id = "emu:gfx950|cu256|xcc8|SPX|NPS1", .name = "AMD Instinct MI355X (emulated)", .target = "gfx950",
            .full_target = "gfx950:sramecc+:xnack-", .compute_units = 256, .xcc = 8, .wave_size = 64, .lds_bytes = 163840,
            .max_threads = 1024, .mem_bytes = GIB(288), .l2_bytes = MIB(4), .llc_bytes = MIB(256), .clock_mhz = 2400,
            .mem_clock_mhz = 2000, .driver = "mlaforge emulator 1"},
   .mach = 0x4f, .flat_scratch = true, .shadows = true, .xdl_more = 1, .xdl_to_srcc = 1, .full_srcc2 = 2, .big_store = 2},
  {.info = {.id = "emu:gfx90a|cu110|xcc1|SPX|NPS1", .name = "AMD Instinct MI250X, one die (emulated)", .target = "gfx90a",
            .full_target = "gfx90a:sramecc+:xnack-", .compute_units = 110, .xcc = 1, .wave_size = 64, .lds_bytes = 65536,
            .max_threads = 1024, .mem_bytes = GIB(64), .l2_bytes = MIB(8), .llc_bytes = MIB(8), .clock_mhz = 1700,
            .mem_clock_mhz = 1600, .driver = "mlaforge emulator 1"},
   .mach = 0x3f, .f32_xdl = true, .big_store = 1},
};

const emu_isa *emu_isa_of(uint32_t mach) {
  for (int i = 0; i < EMU_ISAS; i++)
    if (emu_isas[i].mach == mach) return &emu_isas[i];
  return NULL;
}
