/* The vector ALU built for any x86-64 (and every other host); options are set in room.cmake. */
#define EMU_VALU_TABLE emu_ops_valu_v1
#include "emu/valu_body.h"
