/* Program control: branches, barriers, waits, hardware registers. */
#include "emu/emu_launch.h"
#include "emu/salu.h"

bool emu_s_branch(emu_wave *w, const emu_inst *in) {
  if (in->target < 0) return emu_fault(w, -1, "branch to an address that is not an instruction of .text");
  w->next = w->group->code->insts + in->target;
  return true;
}

bool emu_s_cbranch(emu_wave *w, const emu_inst *in) {
  bool take = false;
  switch (in->dtype) {
    case EMU_CB_SCC0:
    case EMU_CB_SCC1:
      if (!emu_scc_check(w)) return false;
      take = w->scc == (in->dtype == EMU_CB_SCC1);
      break;
    case EMU_CB_VCCZ:
    case EMU_CB_VCCNZ:
      if (!emu_sreg_check(w, EMU_VCC, 2)) return false;
      take = ((w->s[EMU_VCC] | w->s[EMU_VCC + 1]) != 0) == (in->dtype == EMU_CB_VCCNZ);
      break;
    default: take = (emu_exec_mask(w) != 0) == (in->dtype == EMU_CB_EXECNZ);
  }
  return take ? emu_s_branch(w, in) : true;
}

bool emu_s_endpgm(emu_wave *w, const emu_inst *in) {
  w->state = EMU_ENDED;
  return false;
}

bool emu_s_barrier(emu_wave *w, const emu_inst *in) {
  w->state = EMU_AT_BARRIER;
  return false;
}

/* A counter that may stay at n proves everything older than the n youngest. LDS operations return in order among
 * themselves; scalar loads do not, so they are proved by 0 alone. */
bool emu_s_waitcnt(emu_wave *w, const emu_inst *in) {
  if (in->vmcnt != 0xff && w->vm_issued - w->vm_done > in->vmcnt) w->vm_done = w->vm_issued - in->vmcnt;
  if (in->lgkmcnt != 0xff && w->lgkm_issued - w->lgkm_done > in->lgkmcnt) w->lgkm_done = w->lgkm_issued - in->lgkmcnt;
  if (in->lgkmcnt == 0) w->smem_done = w->smem_issued;
  return true;
}

bool emu_s_nothing(emu_wave *w, const emu_inst *in) { return true; }

bool emu_s_trap(emu_wave *w, const emu_inst *in) {
  return emu_fault(w, -1, "the kernel trapped or halted itself (a failed assertion or __builtin_trap)");
}

bool emu_s_sendmsg(emu_wave *w, const emu_inst *in) {
  w->smem_issued++; /* counts in lgkmcnt; nobody receives it */
  return true;
}

/* --- the program counter as a device address --- */
static uint64_t pc_address(const emu_wave *w, const emu_inst *at) {
  const emu_code *c = w->group->code;
  return c->guest_base + c->text_addr + at->pc;
}

bool emu_s_getpc(emu_wave *w, const emu_inst *in) { return emu_swrite64(w, &in->dst[0], pc_address(w, in + 1)); }

static bool jump(emu_wave *w, uint64_t address) {
  const emu_code *c = w->group->code;
  uint64_t pc = address - c->guest_base - c->text_addr;
  const emu_inst *to = pc < c->text_size ? emu_code_at(c, (uint32_t)pc) : NULL;
  if (!to) return emu_fault(w, -1, "jump to 0x%llx, which is not an instruction of this code object",
                            (unsigned long long)address);
  w->next = to;
  return true;
}

bool emu_s_setpc(emu_wave *w, const emu_inst *in) {
  uint64_t to;
  return emu_sread64(w, &in->src[0], &to) && jump(w, to);
}

bool emu_s_swappc(emu_wave *w, const emu_inst *in) {
  uint64_t to;
  return emu_sread64(w, &in->src[0], &to) && emu_swrite64(w, &in->dst[0], pc_address(w, in + 1)) && jump(w, to);
}

bool emu_s_call(emu_wave *w, const emu_inst *in) {
  return emu_swrite64(w, &in->dst[0], pc_address(w, in + 1)) && emu_s_branch(w, in);
}

/* --- hardware registers: MODE (what arithmetic depends on), XCC_ID (workgroups go round-robin over the XCDs) and HW_ID --- */
enum { HWREG_MODE = 1, HWREG_HW_ID = 4, HWREG_XCC_ID = 20, SIMDS = 4, ENGINES = 4 };

/* Placement of a wave: the CUs of an XCD, spread over its shader engines, are filled in dispatch order, over and over. The same
 * in every run. WAVE_ID 3:0, SIMD_ID 5:4, CU_ID 11:8, SE_ID 15:13, TG_ID 19:16. */
static uint32_t hw_id(const emu_wave *w) {
  const mlaf_device_info *info = &w->group->dev->isa->info;
  uint64_t xccs = (uint64_t)info->xcc, cus = (uint64_t)info->compute_units / xccs, nth = w->group->linear_id / xccs;
  uint32_t cu = (uint32_t)(nth % cus), round = (uint32_t)(nth / cus), wave = (uint32_t)w->index;
  return ((wave / SIMDS + round) & 15) | wave % SIMDS << 4 | (cu / ENGINES & 15) << 8 | cu % ENGINES << 13 | (round & 15) << 16;
}

bool emu_s_getreg(emu_wave *w, const emu_inst *in) {
  unsigned id = in->imm & 0x3f, offset = in->imm >> 6 & 31, width = (in->imm >> 11 & 31) + 1;
  uint32_t v;
  if (id == HWREG_MODE) v = w->mode;
  else if (id == HWREG_HW_ID) v = hw_id(w);
  else if (id == HWREG_XCC_ID) v = (uint32_t)(w->group->linear_id % (uint64_t)w->group->dev->isa->info.xcc);
  else return emu_fault(w, -1, "hardware register %u is not emulated (MODE, HW_ID and XCC_ID are)", id);
  v = v >> offset & (width == 32 ? ~0u : (1u << width) - 1);
  return emu_swrite32(w, &in->dst[0], v);
}

bool emu_s_setreg(emu_wave *w, const emu_inst *in) {
  unsigned id = in->imm & 0x3f, offset = in->imm >> 6 & 31, width = (in->imm >> 11 & 31) + 1;
  uint32_t mask = (width == 32 ? ~0u : (1u << width) - 1) << offset, v;
  if (!emu_sread32(w, &in->src[0], &v)) return false;
  if (id != HWREG_MODE) return emu_fault(w, -1, "writing hardware register %u is not emulated (MODE is)", id);
  w->mode = (w->mode & ~mask) | (v << offset & mask);
  return true;
}
