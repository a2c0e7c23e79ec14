/* Scalar memory: loads, the clock, cache control. A load's registers are unreadable until lgkmcnt(0). */
#include <string.h>

#include "emu/emu.h"

/* Mark n destination registers as loaded by the newest scalar operation. Two loads in flight to one register are a
 * race, because scalar loads return in any order. */
static bool load_done(emu_wave *w, const emu_inst *in, const uint32_t *data, unsigned n) {
  unsigned reg = in->dst[0].reg;
  if (in->dst[0].kind != EMU_O_SREG || reg + n > EMU_SREGS || in->dst[0].count != n)
    return emu_fault(w, -1, "scalar load of %u dwords into an operand that does not hold them", n);
  w->smem_issued++;
  for (unsigned i = 0; i < n; i++) {
    if (!emu_sreg_write(w, reg + i, data[i])) return false;
    w->s_lgkm[reg + i] = w->smem_issued;
  }
  return true;
}

/* Byte offset of the last operands: an immediate, a register, or a register plus offset:imm. */
static bool read_offset(emu_wave *w, const emu_inst *in, int64_t *out) {
  uint32_t reg;
  if (in->n_src < 2) return emu_fault(w, -1, "scalar load without an offset operand");
  if (in->src[1].kind == EMU_O_CONST) *out = (int64_t)in->src[1].value;
  else if (!emu_sread32(w, &in->src[1], &reg)) return false;
  else *out = (int64_t)reg + in->offset;
  return true;
}

static bool s_load(emu_wave *w, const emu_inst *in) {
  uint64_t base;
  int64_t offset = 0;
  char why[256];
  uint32_t data[16], n = in->dwords;
  if (!emu_sread64(w, &in->src[0], &base) || !read_offset(w, in, &offset)) return false;
  uint64_t address = (base + (uint64_t)offset) & ~UINT64_C(3); /* the hardware drops the low bits */
  const uint8_t *p = emu_mem_at(w->group->dev, address, n * 4, why, sizeof why);
  if (!p) return emu_fault(w, -1, "scalar load of %u bytes at 0x%llx: %s", n * 4, (unsigned long long)address, why);
  memcpy(data, p, n * 4);
  return load_done(w, in, data, n);
}

/* Through a buffer descriptor: what lies beyond num_records reads as zero, by definition and not by accident. */
static bool s_buffer_load(emu_wave *w, const emu_inst *in) {
  uint32_t data[16] = {0}, n = in->dwords;
  int64_t offset = 0;
  char why[256];
  unsigned r = in->src[0].reg;
  if (in->src[0].kind != EMU_O_SREG || in->src[0].count != 4) return emu_fault(w, -1, "buffer descriptor is not s[n:n+3]");
  if (!emu_sreg_check(w, r, 4) || !read_offset(w, in, &offset)) return false;
  uint64_t base = (uint64_t)(w->s[r + 1] & 0xffff) << 32 | w->s[r];
  uint64_t stride = w->s[r + 1] >> 16 & 0x3fff, limit = (uint64_t)w->s[r + 2] * (stride ? stride : 1);
  offset &= ~INT64_C(3);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t at = (uint64_t)offset + 4 * i;
    if (at + 4 > limit) continue;
    const uint8_t *p = emu_mem_at(w->group->dev, base + at, 4, why, sizeof why);
    if (!p) return emu_fault(w, -1, "scalar buffer load at 0x%llx: %s", (unsigned long long)(base + at), why);
    memcpy(&data[i], p, 4);
  }
  return load_done(w, in, data, n);
}

/* A clock that moves with execution and is the same in every run: the wave's own issue clock. */
static bool s_memtime(emu_wave *w, const emu_inst *in) {
  uint64_t clock = w->wait_states * 4;
  uint32_t data[2] = {(uint32_t)clock, (uint32_t)(clock >> 32)};
  return load_done(w, in, data, 2);
}

/* Caches are not modelled functionally: every store is visible at once. Neither instruction is counted in vmcnt here,
 * which is the strict choice, since a wait may then never rely on them. */
static bool cache_control(emu_wave *w, const emu_inst *in) { return true; }

#define LOAD(name, n) {name, s_load, EMU_C_SMEM, 0, n, NULL}
#define BUFFER(name, n) {name, s_buffer_load, EMU_C_SMEM, 0, n, NULL}
const emu_op emu_ops_smem[] = {
  LOAD("s_load_dword", 1), LOAD("s_load_dwordx2", 2), LOAD("s_load_dwordx4", 4), LOAD("s_load_dwordx8", 8),
  LOAD("s_load_dwordx16", 16),
  BUFFER("s_buffer_load_dword", 1), BUFFER("s_buffer_load_dwordx2", 2), BUFFER("s_buffer_load_dwordx4", 4),
  BUFFER("s_buffer_load_dwordx8", 8), BUFFER("s_buffer_load_dwordx16", 16),
  {"s_memtime", s_memtime, EMU_C_SMEM, 0, 2, NULL},
  {"s_memrealtime", s_memtime, EMU_C_SMEM, 0, 2, NULL},
  {"s_dcache_inv", cache_control, EMU_C_NOP, 0, 0, NULL},
  {"s_dcache_inv_vol", cache_control, EMU_C_NOP, 0, 0, NULL},
  {"s_dcache_wb", cache_control, EMU_C_NOP, 0, 0, NULL},
  {"s_dcache_wb_vol", cache_control, EMU_C_NOP, 0, 0, NULL},
  {"buffer_inv", cache_control, EMU_C_NOP, 0, 0, NULL},
  {"buffer_wbl2", cache_control, EMU_C_NOP, 0, 0, NULL},
  {NULL, NULL, 0, 0, 0, NULL}};
