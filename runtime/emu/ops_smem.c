/* Scalar memory: loads, stores, atomics, the clock, cache control. A load's registers are unreadable until lgkmcnt(0). */
#include "emu/memory.h"
#include "emu/strict.h"
#include "emu/vmem.h"

/* Mark n destination registers as loaded by the newest scalar operation. Two loads in flight to one register are a
 * race, because scalar loads return in any order. */
static bool load_into(emu_wave *w, const emu_operand *dst, const uint32_t *data, unsigned n) {
  unsigned reg = dst->reg;
  if (dst->kind != EMU_O_SREG || reg + n > EMU_SREGS || dst->count != n)
    return emu_fault(w, -1, "scalar load of %u dwords into an operand that does not hold them", n);
  w->smem_issued++;
  for (unsigned i = 0; i < n; i++) {
    if (!emu_sreg_write(w, reg + i, data[i])) return false;
    w->s_lgkm[reg + i] = w->smem_issued;
  }
  return true;
}

static bool load_done(emu_wave *w, const emu_inst *in, const uint32_t *data, unsigned n) {
  return load_into(w, &in->dst[0], data, n);
}

/* Byte offset behind the base, which is operand i: an immediate, a register, or a register plus offset:imm. */
static bool offset_behind(emu_wave *w, const emu_inst *in, int i, int64_t *out) {
  uint32_t reg;
  if (in->n_src < i + 2) return emu_fault(w, -1, "scalar memory access without an offset operand");
  if (in->src[i + 1].kind == EMU_O_CONST) *out = (int64_t)in->src[i + 1].value;
  else if (!emu_sread32(w, &in->src[i + 1], &reg)) return false;
  else *out = (int64_t)reg + in->offset;
  return true;
}

static bool read_offset(emu_wave *w, const emu_inst *in, int64_t *out) { return offset_behind(w, in, 0, out); }

/* The hardware drops the low bits of a scalar address: what then comes is not what the program asked for. */
static bool aligned(emu_wave *w, uint64_t *address) {
  if (*address % 4 && !emu_broken(w, EMU_RULE_SCALAR_ALIGN, -1, "scalar access at 0x%llx, which is no multiple of 4: the hardware"
                                  " drops the low bits", (unsigned long long)*address)) return false;
  *address &= ~UINT64_C(3);
  return true;
}

static bool s_load(emu_wave *w, const emu_inst *in) {
  uint64_t base;
  int64_t offset = 0;
  char why[256];
  uint32_t data[16], n = in->dwords;
  if (!emu_sread64(w, &in->src[0], &base) || !read_offset(w, in, &offset)) return false;
  uint64_t address = base + (uint64_t)offset;
  if (!aligned(w, &address)) return false;
  const uint8_t *p = emu_mem_at(w->group->dev, address, n * 4, why, sizeof why);
  if (!p) return emu_fault(w, -1, "scalar load of %u bytes at 0x%llx: %s", n * 4, (unsigned long long)address, why);
  if (!emu_global_written(w, -1, address, n * 4, "scalar load")) return false;
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
  uint64_t from = base + (uint64_t)offset;
  if (!aligned(w, &from)) return false;
  offset &= ~INT64_C(3);
  base &= ~UINT64_C(3);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t at = (uint64_t)offset + 4 * i;
    if (at >= limit || limit - at < 4) continue; /* a negative offset is a huge one */
    const uint8_t *p = emu_mem_at(w->group->dev, base + at, 4, why, sizeof why);
    if (!p) return emu_fault(w, -1, "scalar buffer load at 0x%llx: %s", (unsigned long long)(base + at), why);
    if (!emu_global_written(w, -1, base + at, 4, "scalar buffer load")) return false;
    memcpy(&data[i], p, 4);
  }
  return load_done(w, in, data, n);
}

/* Stores and atomics: operand 0 is the data, 1 the base or a descriptor. They count in lgkmcnt like loads do. *bytes becomes
 * what lies in range: beyond num_records nothing is written and atomics return 0. NULL after emu_fault. */
static uint8_t *data_place(emu_wave *w, const emu_inst *in, unsigned *bytes) {
  static uint8_t nowhere[16];
  uint64_t base = 0;
  int64_t offset = 0;
  char why[256];
  const emu_operand *s = &in->src[1];
  if (s->count == 4 ? !emu_sreg_check(w, s->reg, 4) : !emu_sread64(w, s, &base)) return NULL;
  if (!offset_behind(w, in, 1, &offset)) return NULL;
  if (s->count == 4) {
    uint64_t stride = w->s[s->reg + 1] >> 16 & 0x3fff, limit = (uint64_t)w->s[s->reg + 2] * (stride ? stride : 1);
    base = (uint64_t)(w->s[s->reg + 1] & 0xffff) << 32 | w->s[s->reg];
    uint64_t room = (uint64_t)offset < limit ? limit - (uint64_t)offset : 0;
    if (room < *bytes) *bytes = (unsigned)room / 4 * 4;
    if (*bytes == 0) return nowhere;
  }
  uint64_t address = base + (uint64_t)offset;
  if (!aligned(w, &address)) return NULL;
  uint8_t *p = emu_mem_at(w->group->dev, address, *bytes, why, sizeof why);
  if (!p) emu_fault(w, -1, "scalar store or atomic of %u bytes at 0x%llx: %s", *bytes, (unsigned long long)address, why);
  return p && emu_global_write(w, -1, address, *bytes) ? p : NULL;
}

static bool s_store(emu_wave *w, const emu_inst *in) {
  unsigned n = in->dwords;
  if (in->src[0].kind != EMU_O_SREG || in->src[0].count != n)
    return emu_fault(w, -1, "scalar store of %u dwords from an operand that does not hold them", n);
  if (!emu_sreg_check(w, in->src[0].reg, n)) return false;
  unsigned bytes = 4 * n;
  uint8_t *p = data_place(w, in, &bytes);
  if (!p) return false;
  memcpy(p, &w->s[in->src[0].reg], bytes);
  emu_changed(w);
  w->smem_issued++;
  return true;
}

/* Scalar atomics. With glc the old value comes back to the data register. Compare-and-swap: new value, then comparand. */
static bool s_atomic(emu_wave *w, const emu_inst *in) {
  unsigned words = in->dwords, n = emu_atomic_operands((emu_atomic)in->dtype), reg = in->src[0].reg;
  uint64_t value[2] = {0, 0};
  if (in->src[0].kind != EMU_O_SREG || in->src[0].count != words * n)
    return emu_fault(w, -1, "scalar atomic on an operand of another size");
  if (!emu_sreg_check(w, reg, words * n)) return false;
  memcpy(value, &w->s[reg], 4 * words);
  if (n == 2) memcpy(&value[1], &w->s[reg + words], 4 * words);
  unsigned bytes = 4 * words;
  uint8_t *p = data_place(w, in, &bytes);
  if (!p) return false;
  uint64_t at = (uint64_t)(uintptr_t)p;
  if (bytes && at % (4 * words)) return emu_fault(w, -1, "scalar atomic at 0x%llx is not aligned", (unsigned long long)at);
  uint64_t old = 0;
  if (bytes == 4 * words) {
    old = emu_atomic_memory((emu_atomic)in->dtype, words, at, value[0], value[1]);
    emu_atomic_changed(w, at, words, old);
  }
  const uint32_t data[2] = {(uint32_t)old, (uint32_t)(old >> 32)};
  emu_operand dst = in->src[0];
  dst.count = (uint8_t)words;
  if (in->flags & EMU_F_SC0) return load_into(w, &dst, data, words);
  w->smem_issued++;
  return true;
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

#define CACHE(name) {name, cache_control, EMU_C_NOP, 0, 0, NULL}
#define LOAD(name, n) {name, s_load, EMU_C_SMEM, 0, n, NULL}
#define BUFFER(name, n) {name, s_buffer_load, EMU_C_SMEM, 0, n, NULL}
#define STORE(name, n) {name, s_store, EMU_C_SMEM, 0, n, NULL}
#define ATOMIC(name, op) \
  {"s_atomic_" name, s_atomic, EMU_C_SMEM, op, 1, NULL}, {"s_atomic_" name "_x2", s_atomic, EMU_C_SMEM, op, 2, NULL}, \
  {"s_buffer_atomic_" name, s_atomic, EMU_C_SMEM, op, 1, NULL}, {"s_buffer_atomic_" name "_x2", s_atomic, EMU_C_SMEM, op, 2, NULL}
const emu_op emu_ops_smem[] = {
  LOAD("s_load_dword", 1), LOAD("s_load_dwordx2", 2), LOAD("s_load_dwordx4", 4), LOAD("s_load_dwordx8", 8),
  LOAD("s_load_dwordx16", 16),
  BUFFER("s_buffer_load_dword", 1), BUFFER("s_buffer_load_dwordx2", 2), BUFFER("s_buffer_load_dwordx4", 4),
  BUFFER("s_buffer_load_dwordx8", 8), BUFFER("s_buffer_load_dwordx16", 16),
  STORE("s_store_dword", 1), STORE("s_store_dwordx2", 2), STORE("s_store_dwordx4", 4),
  STORE("s_buffer_store_dword", 1), STORE("s_buffer_store_dwordx2", 2), STORE("s_buffer_store_dwordx4", 4),
  ATOMIC("swap", EMU_SWAP), ATOMIC("cmpswap", EMU_CMPSWAP), ATOMIC("add", EMU_ADD), ATOMIC("sub", EMU_SUB),
  ATOMIC("smin", EMU_SMIN), ATOMIC("umin", EMU_UMIN), ATOMIC("smax", EMU_SMAX), ATOMIC("umax", EMU_UMAX),
  ATOMIC("and", EMU_AND), ATOMIC("or", EMU_OR), ATOMIC("xor", EMU_XOR), ATOMIC("inc", EMU_INC), ATOMIC("dec", EMU_DEC),
  {"s_memtime", s_memtime, EMU_C_SMEM, 0, 2, NULL},
  {"s_memrealtime", s_memtime, EMU_C_SMEM, 0, 2, NULL},
  CACHE("s_atc_probe"), CACHE("s_atc_probe_buffer"), /* hints to translate an address early */
  CACHE("s_dcache_inv"), CACHE("s_dcache_inv_vol"), CACHE("s_dcache_wb"), CACHE("s_dcache_wb_vol"), CACHE("buffer_inv"),
  CACHE("buffer_wbl2"), CACHE("buffer_invl2"),
  CACHE("buffer_wbinvl1"), CACHE("buffer_wbinvl1_vol"), /* gfx90a's */
  {NULL, NULL, 0, 0, 0, NULL}};
