/* Every list, in the order a reader of the ISA expects. No include guard: it is read twice. */
#include "emu/valu_ops_int.h"
#include "emu/valu_ops_float.h"
#include "emu/valu_ops_cvt.h"
#include "emu/valu_ops_cmp.h"
#include "emu/valu_ops_pk.h"
