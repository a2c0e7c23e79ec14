/* The targets of isa.h. Devices: SPX/NPS1; a gfx90a is one die of an MI250X. Memory is host memory; its size here is only what is
 * reported. */
#include "emu/isa.h"

#define GIB(n) (INT64_C(n) << 30)
#define MIB(n) (INT64_C(n) << 20)

/* 8-bit floats are OCP's, not FNUZ. */
static const emu_alias gfx950_aliases[] = {
  {"v_cvt_f32_fp8", "v_cvt_f32_fp8_ocp"}, {"v_cvt_f32_bf8", "v_cvt_f32_bf8_ocp"},
  {"v_cvt_pk_f32_fp8", "v_cvt_pk_f32_fp8_ocp"}, {"v_cvt_pk_f32_bf8", "v_cvt_pk_f32_bf8_ocp"},
  {"v_cvt_pk_fp8_f32", "v_cvt_pk_fp8_f32_ocp"}, {"v_cvt_pk_bf8_f32", "v_cvt_pk_bf8_f32_ocp"},
  {"v_cvt_sr_fp8_f32", "v_cvt_sr_fp8_f32_ocp"}, {"v_cvt_sr_bf8_f32", "v_cvt_sr_bf8_f32_ocp"},
#define OCP(name) {name "_fp8_fp8", name "_fp8_fp8_ocp"}, {name "_fp8_bf8", name "_fp8_bf8_ocp"}, \
                  {name "_bf8_fp8", name "_bf8_fp8_ocp"}, {name "_bf8_bf8", name "_bf8_bf8_ocp"}
  OCP("v_mfma_f32_16x16x32"), OCP("v_mfma_f32_32x32x16"), OCP("v_smfmac_f32_16x16x64"), OCP("v_smfmac_f32_32x32x32"),
  {NULL, NULL}};

/* The spellings before gfx940. Shapes in the passes of gfx942; those in more are entries of their own. */
static const emu_alias gfx90a_aliases[] = {
  {"v_mfma_f32_32x32x1f32", "v_mfma_f32_32x32x1_2b_f32"}, {"v_mfma_f32_16x16x1f32", "v_mfma_f32_16x16x1_4b_f32"},
  {"v_mfma_f32_4x4x1f32", "v_mfma_f32_4x4x1_16b_f32"}, {"v_mfma_f32_32x32x2f32", "v_mfma_f32_32x32x2_f32"},
  {"v_mfma_f32_16x16x4f32", "v_mfma_f32_16x16x4_f32"}, {"v_mfma_f32_32x32x4f16", "v_mfma_f32_32x32x4_2b_f16"},
  {"v_mfma_f32_16x16x4f16", "v_mfma_f32_16x16x4_4b_f16"}, {"v_mfma_f32_4x4x4f16", "v_mfma_f32_4x4x4_16b_f16"},
  {"v_mfma_f32_32x32x4bf16_1k", "v_mfma_f32_32x32x4_2b_bf16"}, {"v_mfma_f32_16x16x4bf16_1k", "v_mfma_f32_16x16x4_4b_bf16"},
  {"v_mfma_f32_4x4x4bf16_1k", "v_mfma_f32_4x4x4_16b_bf16"}, {"v_mfma_i32_32x32x4i8", "v_mfma_i32_32x32x4_2b_i8"},
  {"v_mfma_i32_16x16x4i8", "v_mfma_i32_16x16x4_4b_i8"}, {"v_mfma_i32_4x4x4i8", "v_mfma_i32_4x4x4_16b_i8"},
  {"v_mfma_f64_16x16x4f64", "v_mfma_f64_16x16x4_f64"}, {"v_mfma_f64_4x4x4f64", "v_mfma_f64_4x4x4_4b_f64"},
  {NULL, NULL}};

const emu_isa emu_isas[EMU_ISAS] = {
  {.info = {.id = "emu:gfx942|cu304|xcc8|SPX|NPS1", .name = "AMD Instinct MI300X (emulated)", .target = "gfx942",
            .full_target = "gfx942:sramecc+:xnack-", .compute_units = 304, .xcc = 8, .wave_size = 64, .lds_bytes = 65536,
            .max_threads = 1024, .mem_bytes = GIB(192), .l2_bytes = MIB(4), .llc_bytes = MIB(256), .clock_mhz = 2100,
            .mem_clock_mhz = 1300, .driver = "mlaforge emulator 1"},
   .mach = 0x4c, .timed = true, .flat_scratch = true, .shadows = true, .xdl_to_srcc = 1, .full_srcc2 = 2, .big_store = 2,
   .m0_lds = 0xffff, .mfma_fused = 8},
  {.info = {.id = "emu:gfx950|cu256|xcc8|SPX|NPS1", .name = "AMD Instinct MI355X (emulated)", .target = "gfx950",
            .full_target = "gfx950:sramecc+:xnack-", .compute_units = 256, .xcc = 8, .wave_size = 64, .lds_bytes = 163840,
            .max_threads = 1024, .mem_bytes = GIB(288), .l2_bytes = MIB(4), .llc_bytes = MIB(256), .clock_mhz = 2400,
            .mem_clock_mhz = 2000, .driver = "mlaforge emulator 1"},
   .mach = 0x4f, .flat_scratch = true, .shadows = true, .xdl_more = 1, .xdl_to_srcc = 1, .full_srcc2 = 2, .big_store = 2,
   .m0_lds = 0x3ffff /* its LDS needs 18 bits */, .mfma_fused = 8, .aliases = gfx950_aliases},
  {.info = {.id = "emu:gfx90a|cu110|xcc1|SPX|NPS1", .name = "AMD Instinct MI250X, one die (emulated)", .target = "gfx90a",
            .full_target = "gfx90a:sramecc+:xnack-", .compute_units = 110, .xcc = 1, .wave_size = 64, .lds_bytes = 65536,
            .max_threads = 1024, .mem_bytes = GIB(64), .l2_bytes = MIB(8), .llc_bytes = MIB(8), .clock_mhz = 1700,
            .mem_clock_mhz = 1600, .driver = "mlaforge emulator 1"},
   .mach = 0x3f, .f32_xdl = true, .big_store = 1, .m0_lds = 0xffff, .mfma_flush = true, .aliases = gfx90a_aliases},
};

const emu_isa *emu_isa_of(uint32_t mach) {
  for (int i = 0; i < EMU_ISAS; i++)
    if (emu_isas[i].mach == mach) return &emu_isas[i];
  return NULL;
}
