/* Lanes that do not access memory: scratch_ instructions, which reach the lane's private memory (AMDGPUUsage: the private
 * segment), before architected flat scratch buffer instructions with its descriptor, and flat_ instructions whose address lies in
 * the LDS or the private aperture.
 *
 * Private memory is interleaved by dword, as on the hardware: dword d of lane l is dword 64 d + l of the wave's part, so that
 * 64 lanes that spill one register touch two L1 lines. It is not an allocation: a pointer into it means something to its own
 * lane only. Whether a byte was ever written travels with it. A register that holds rubbish may be saved and restored, which
 * compilers do in prologues; it is its use that faults. */
#include <inttypes.h>

#include "emu/lds.h"
#include "emu/place.h"
#include "emu/timing.h"
#include "emu/vmem.h"

enum { DYNAMIC_STACK = 16384 /* what a lane gets when the compiler could not say how much */ };

static uint32_t lane_bytes(const emu_kernel *k) {
  return (k->scratch_bytes + (k->dynamic_stack ? DYNAMIC_STACK : 0) + 15) & ~15u;
}

size_t emu_private_bytes(const emu_kernel *k) { return 2 * (size_t)lane_bytes(k) * EMU_LANES; }

bool emu_private_init(emu_group *g) {
  uint32_t bytes = lane_bytes(g->kernel);
  size_t wave = (size_t)bytes * EMU_LANES;
  if (bytes == 0) return true;
  g->priv = calloc((size_t)g->n_waves, 2 * wave);
  for (int i = 0; g->priv && i < g->n_waves; i++) {
    g->waves[i].priv = g->priv + 2 * wave * (size_t)i;
    g->waves[i].priv_valid = g->waves[i].priv + wave;
    g->waves[i].priv_bytes = bytes;
  }
  return g->priv != NULL;
}

void emu_private_free(emu_group *g) {
  free(g->priv);
  g->priv = NULL;
}

static size_t private_at(uint64_t offset, int lane) {
  return ((size_t)(offset / 4) * EMU_LANES + (size_t)lane) * 4 + offset % 4;
}

/* Bounds of every lane, and what the accesses cost. `data`: what a store stores, rows of registers, shifted right. */
static bool check(emu_wave *w, const emu_inst *in, const emu_place *p, unsigned bytes, emu_lds_kind kind, const char *what,
                  const uint32_t (*data)[EMU_LANES], unsigned shift) {
  uint32_t at[EMU_LANES];
  for (int l = 0; l < EMU_LANES; l++) {
    at[l] = (uint32_t)p->addr[l];
    if (!(p->priv >> l & 1)) continue;
    if (w->priv_bytes < bytes || p->addr[l] > w->priv_bytes - bytes)
      return emu_fault(w, l, "private memory %s of %u bytes at offset 0x%" PRIx64 ": a lane of this kernel has %u bytes%s", what,
                       bytes, p->addr[l], w->priv_bytes, w->priv_bytes ? "" : " (its descriptor asks for none)");
  }
  if (p->lds) {
    if (data ? !emu_lds_write(w, in, at, bytes, p->lds, data, shift) : !emu_lds_access(w, in, kind, at, bytes, p->lds))
      return false;
    w->counts.lds_clk += emu_lds_clocks(kind, at, bytes, p->lds);
  }
  if (p->lanes && !emu_place_check(w, p, bytes, what)) return false;
  if (p->lanes) emu_timing_memory(w, p->addr, p->whole, bytes);
  if (p->lanes && kind == EMU_LDS_WRITE) emu_changed(w);
  for (unsigned k = 0; p->priv && k < bytes; k += 4) {
    emu_place dword;
    dword.whole = p->priv;
    for (int l = 0; l < EMU_LANES; l++)
      dword.addr[l] = p->priv >> l & 1 ? (uint64_t)(uintptr_t)w->priv + private_at(p->addr[l] + k, l) / 4 * 4 : 0;
    emu_timing_memory(w, dword.addr, dword.whole, bytes < 4 ? bytes : 4);
  }
  return true;
}

/* One lane's bytes, and which of their bits are defined. */
static void fetch(const emu_wave *w, const emu_place *p, int l, unsigned bytes, uint8_t out[16], uint8_t def[16]) {
  if (!(p->priv >> l & 1)) {
    if (p->lds >> l & 1) memcpy(out, w->group->lds + p->addr[l], bytes);
    else memcpy(out, (const void *)(uintptr_t)p->addr[l], bytes);
    memset(def, 0xff, bytes);
    return;
  }
  for (unsigned i = 0; i < bytes; i++) {
    size_t at = private_at(p->addr[l] + i, l);
    out[i] = w->priv[at];
    def[i] = w->priv_valid[at];
  }
}

static void put(emu_wave *w, const emu_place *p, int l, unsigned bytes, const uint8_t *from, const uint8_t *def) {
  if (p->lds >> l & 1) memcpy(w->group->lds + p->addr[l], from, bytes);
  else if (p->lanes >> l & 1) memcpy((void *)(uintptr_t)p->addr[l], from, bytes);
  for (unsigned i = 0; p->priv >> l & 1 && i < bytes; i++) {
    size_t at = private_at(p->addr[l] + i, l);
    w->priv[at] = from[i];
    w->priv_valid[at] = def[i];
  }
}

bool emu_apart_load(emu_wave *w, const emu_inst *in, const emu_vm_op *op, const emu_place *p) {
  uint64_t lanes = p->lanes | p->lds | p->priv;
  unsigned words = (op->bytes + 3u) / 4, dst = in->dst[0].reg;
  uint32_t whole = op->bytes < 4 ? (1u << 8 * op->bytes) - 1 : ~0u; /* the bits a dword of it has */
  bool to_lds = op->lds;
  uint32_t dma[1][EMU_LANES] = {{0}}, def[4][EMU_LANES];
  uint64_t unwritten[4] = {0, 0, 0, 0};
  if (!to_lds && !emu_vm_begin(w, op, &in->dst[0], words)) return false; /* counts before the LDS shadow looks at it */
  if (!check(w, in, p, op->bytes, EMU_LDS_READ, "load", NULL, 0)) return false;
  for (int l = 0; l < EMU_LANES; l++) {
    uint32_t x[4] = {0, 0, 0, 0}, d[4] = {0, 0, 0, 0};
    if (!(lanes >> l & 1)) continue;
    fetch(w, p, l, op->bytes, (uint8_t *)x, (uint8_t *)d);
    if (to_lds && (d[0] & whole) != whole) return emu_fault(w, l, "read of private memory that nothing has written");
    if (to_lds) dma[0][l] = emu_narrow((emu_conv)op->conv, x[0], 0);
    for (unsigned k = 0; !to_lds && k < words && k < 4; k++) {
      if ((d[k] & whole) != whole) unwritten[k] |= 1ull << l;
      def[k][l] = op->conv == EMU_RAW ? d[k] : 0; /* extended or merged: too few cases to be exact about */
      w->v[dst + k][l] = op->conv == EMU_RAW ? x[k] : emu_narrow((emu_conv)op->conv, x[0], w->v[dst][l]);
    }
  }
  if (to_lds) return emu_to_lds(w, in, op, lanes, dma, 1);
  emu_vm_in_flight(w, op, dst, words, lanes);
  for (unsigned k = 0; k < words; k++)
    if (!emu_vreg_undefine(w, dst + k, unwritten[k], def[k])) return false;
  return true;
}

bool emu_apart_store(emu_wave *w, const emu_inst *in, const emu_vm_op *op, const emu_place *p, unsigned src) {
  uint64_t lanes = p->lanes | p->lds | p->priv;
  unsigned words = (op->bytes + 3u) / 4, shift = op->conv == EMU_ST8_HI || op->conv == EMU_ST16_HI ? 16 : 0;
  if (!emu_vreg_check(w, src, words, lanes & ~p->priv) || !emu_vm_begin(w, op, NULL, 0)) return false;
  if (!check(w, in, p, op->bytes, EMU_LDS_WRITE, "store", (const uint32_t(*)[EMU_LANES])w->v + src, shift)) return false;
  for (int l = 0; l < EMU_LANES; l++) {
    uint32_t x[4], def[4]; // no store is wider; gcc 12 wants to see it
    if (!(lanes >> l & 1)) continue;
    for (unsigned k = 0; k < words && k < 4; k++) {
      x[k] = w->v[src + k][l] >> shift;
      def[k] = emu_vreg_def(w, src + k, (unsigned)l) >> shift;
    }
    put(w, p, l, op->bytes, (const uint8_t *)x, (const uint8_t *)def);
  }
  return true;
}

static uint64_t value(const emu_wave *w, unsigned reg, unsigned words, int l) {
  return words == 2 ? (uint64_t)w->v[reg + 1][l] << 32 | w->v[reg][l] : w->v[reg][l];
}

/* Private memory has none: compilers branch around it. */
bool emu_apart_atomic(emu_wave *w, const emu_inst *in, const emu_vm_op *op, const emu_place *p, const emu_operand *data,
                      bool rtn) {
  emu_atomic what = (emu_atomic)in->dtype;
  uint64_t lanes = p->lanes | p->lds;
  unsigned words = in->dwords, n_data = emu_atomic_operands(what);
  if (p->priv) return emu_fault(w, __builtin_ctzll(p->priv), "flat atomic on private memory, which has no atomics");
  if (!emu_vreg_check(w, data->reg, words * n_data, lanes)) return false;
  if (!emu_vm_begin(w, op, rtn ? &in->dst[0] : NULL, words)) return false;
  if (!check(w, in, p, 4 * words, EMU_LDS_ATOMIC, "atomic", NULL, 0)) return false;
  for (int l = 0; l < EMU_LANES; l++) {
    uint64_t old = 0, x, cmp;
    if (!(lanes >> l & 1)) continue;
    x = value(w, data->reg, words, l);
    cmp = n_data == 2 ? value(w, data->reg + words, words, l) : 0;
    if (p->lanes >> l & 1) {
      if (p->addr[l] % (4 * words)) return emu_fault(w, l, "atomic at 0x%" PRIx64 " is not aligned", p->addr[l]);
      old = emu_atomic_memory(what, words, p->addr[l], x, cmp);
      emu_atomic_changed(w, p->addr[l], words, old);
    } else {
      memcpy(&old, w->group->lds + p->addr[l], 4 * words);
      uint64_t next = emu_atomic_apply(what, words, old, x, cmp);
      memcpy(w->group->lds + p->addr[l], &next, 4 * words);
    }
    if (!rtn) continue;
    w->v[in->dst[0].reg][l] = (uint32_t)old;
    if (words == 2) w->v[in->dst[0].reg + 1][l] = (uint32_t)(old >> 32);
  }
  if (rtn) emu_vm_in_flight(w, op, in->dst[0].reg, words, lanes);
  return true;
}
