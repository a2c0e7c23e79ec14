/* The vector ALU built for AVX2, FMA and F16C; options are set in room.cmake. */
#define EMU_VALU_TABLE emu_ops_valu_v3
#include "emu/valu_body.h"
