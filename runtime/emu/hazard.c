/* Wait states. */
#include "emu/emu.h"

bool emu_hazard_wave_init(emu_wave *w) { return true; }
void emu_hazard_wave_free(emu_wave *w) {}
bool emu_hazard_before(emu_wave *w, const emu_inst *in) { return true; }
void emu_hazard_after(emu_wave *w, const emu_inst *in) { w->wait_states += in->cls == EMU_C_NOP ? in->imm + 1u : 1u; }
