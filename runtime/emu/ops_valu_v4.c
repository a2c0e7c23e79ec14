/* The vector ALU built for AVX-512; options are set in room.cmake. */
#define EMU_VALU_TABLE emu_ops_valu_v4
#include "emu/valu_body.h"
