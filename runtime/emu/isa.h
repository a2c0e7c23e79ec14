/* Differences between the targets that the emulator executes. The instructions' text is LLVM's own, and most mean the same
 * everywhere; this is the rest. Sources: LLVM AMDGPUUsage, GCNSubtarget, GCNHazardRecognizer. */
#pragma once

#include "device/device.h"

/* A mnemonic that the target prints for an operation which is implemented under another name: older spellings, and instructions
 * that mean something else than gfx942's of the same name. */
typedef struct emu_alias { const char *printed, *name; } emu_alias;

typedef struct emu_isa {
  mlaf_device_info info;  /* what the device says of itself; info.target names the target */
  uint32_t mach;          /* EF_AMDGPU_MACH of its code objects */
  bool timed;             /* the timing model (arch_gfx942.h) is this device's */
  bool flat_scratch;      /* architected flat scratch: private memory as ops_apart.c has it */
  const emu_alias *aliases; /* ends with a NULL; NULL: none */
  uint32_t m0_lds;        /* the bits of M0 that loads to LDS take as their address there */
  uint8_t mfma_fused;     /* 16-bit products of an MFMA that are summed before the accumulator is added; 0: f32 sums of pairs */
  bool mfma_flush;        /* 16-bit MFMA flush subnormal inputs and results */
  /* hazard.c */
  bool shadows;           /* results of VALU and transcendental instructions reach some readers late: came with gfx940 */
  bool f32_xdl;           /* MFMA with f32 inputs run in the XDL pipe */
  uint8_t xdl_more;       /* wait states behind an XDL result beyond gfx942's, but for 2 passes */
  uint8_t xdl_to_srcc;    /* beyond the passes: from an XDL result to an overlapping, different SrcC */
  uint8_t full_srcc2;     /* from a result of 2 passes to the same SrcC */
  uint8_t big_store;      /* from a store of more than 64 bits to a VALU write of its data */
} emu_isa;

/* The first is gfx942. NULL when there is none for this EF_AMDGPU_MACH. */
enum { EMU_ISAS = 3 };
extern const emu_isa emu_isas[EMU_ISAS];
const emu_isa *emu_isa_of(uint32_t mach);
