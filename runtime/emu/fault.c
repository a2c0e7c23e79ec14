/* Texts of faults, and the slow path that finds out which rule a register access broke. */
#include "emu/clock.h"
#include "emu/strict.h"

bool emu_fault(emu_wave *w, int lane, const char *fmt, ...) {
  char what[1024], where[64] = "";
  const emu_inst *in = w->inst;
  const emu_group *g = w->group;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  if (lane >= 0) snprintf(where, sizeof where, ", lane %d", lane);
  w->state = EMU_FAULTED;
  mlaf_fail(g->err, MLAF_E_FAULT, "%s (kernel %s, pc 0x%x: '%s', workgroup (%u,%u,%u), wave %d%s)", what,
            g->kernel ? g->kernel->symbol : "?", in ? in->pc : 0, in ? in->text : "?", g->id[0], g->id[1], g->id[2],
            w->index, where);
  return false;
}

/* "v12" or "a3" */
static void vreg_name(unsigned reg, char out[16]) {
  snprintf(out, 16, "%c%u", reg < EMU_AGPR0 ? 'v' : 'a', reg % EMU_AGPR0);
}

/* A register of a load that nobody waited for: forgivable only once the load has had the time it takes. */
static bool MLAF_PRINTF(3, 4) in_flight(emu_wave *w, bool by_time, const char *fmt, ...) {
  char what[400];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  if (!by_time && w->clock) return emu_fault(w, -1, "%s", what);
  return emu_broken(w, EMU_RULE_WAITCNT, -1, "%s", what);
}

bool emu_vreg_bad(emu_wave *w, unsigned reg, uint64_t lanes) {
  char name[16];
  vreg_name(reg, name);
  if (w->v_vm[reg] > w->vm_done) {
    uint32_t younger = w->vm_issued - w->v_vm[reg];
    if (!in_flight(w, emu_clock_vm_done(w, w->v_vm[reg]), "%s is used while a vector-memory load to it is in flight:"
                   " %u younger vector-memory instruction(s) are allowed to be outstanding, so 's_waitcnt vmcnt(%u)' or"
                   " less must come first", name, younger, younger)) return false;
    w->v_vm[reg] = 0;
  }
  if (w->v_lgkm[reg] > w->lgkm_done) {
    if (!in_flight(w, emu_clock_lgkm_done(w, w->v_lgkm[reg]), "%s is used while an LDS load to it is in flight: 's_waitcnt"
                   " lgkmcnt(%u)' or less must come first", name, w->lgkm_issued - w->v_lgkm[reg])) return false;
    w->v_lgkm[reg] = 0;
  }
  uint64_t missing = lanes & ~w->v_init[reg];
  if (!missing) return true;
  if (!emu_broken(w, EMU_RULE_REGISTERS, __builtin_ctzll(missing), "read of uninitialised register %s (%d of the %d"
                  " lanes read were never written)", name, __builtin_popcountll(missing), __builtin_popcountll(lanes)))
    return false;
  for (int l = 0; l < EMU_LANES; l++)
    if (missing >> l & 1) w->v[reg][l] = ~0u;
  w->v_init[reg] |= missing;
  return true;
}

bool emu_vreg_undefine(emu_wave *w, unsigned reg, uint64_t lanes, const uint32_t *def) {
  if (!lanes) return true;
  w->v_init[reg] &= ~lanes;
  if (!w->v_def && !def) return true;
  if (!w->v_def && !(w->v_def = calloc(EMU_VREGS, sizeof *w->v_def))) return emu_fault(w, -1, "out of host memory");
  for (int l = 0; l < EMU_LANES; l++)
    if (lanes >> l & 1) w->v_def[reg][l] = def ? def[l] : 0;
  return true;
}

static void sreg_name(unsigned reg, char out[16]) {
  static const struct { uint8_t reg; const char *name; } special[] = {
    {EMU_VCC, "vcc_lo"}, {EMU_VCC + 1, "vcc_hi"}, {EMU_M0, "m0"}, {EMU_EXEC, "exec_lo"}, {EMU_EXEC + 1, "exec_hi"},
    {EMU_FLAT_SCRATCH, "flat_scratch_lo"}, {EMU_FLAT_SCRATCH + 1, "flat_scratch_hi"}};
  snprintf(out, 16, "s%u", reg);
  for (size_t i = 0; i < sizeof special / sizeof *special; i++)
    if (special[i].reg == reg) snprintf(out, 16, "%s", special[i].name);
}

bool emu_sreg_bad(emu_wave *w, unsigned reg) {
  char name[16];
  sreg_name(reg, name);
  if (w->s_lgkm[reg] > w->smem_done) {
    if (!in_flight(w, emu_clock_smem_done(w), "%s is used while a scalar load to it is in flight: scalar loads return"
                   " in any order, so only 's_waitcnt lgkmcnt(0)' covers it", name)) return false;
    w->s_lgkm[reg] = 0;
  }
  if (w->s_init[reg]) return true;
  if (!emu_broken(w, EMU_RULE_REGISTERS, -1, "read of uninitialised register %s", name)) return false;
  w->s[reg] |= ~w->s_def[reg];
  return w->s_init[reg] = true;
}

bool emu_scc_bad(emu_wave *w) {
  if (!emu_broken(w, EMU_RULE_REGISTERS, -1, "SCC is read before anything wrote it")) return false;
  w->scc = 1;
  return true;
}
