/* Arithmetic of atomics. Float additions keep subnormals and round to nearest even; packed halves are added one by one. */
#pragma GCC optimize("fp-contract=off")
#include <math.h>
#include <stdbool.h>

#include "base/half.h"
#include "emu/vmem.h"

unsigned emu_atomic_operands(emu_atomic op) {
  return op == EMU_CMPSWAP || op == EMU_FCMPSWAP || op == EMU_MSKOR || op == EMU_WRAP ? 2 : 1;
}

static float as_float(uint64_t x) { return mlaf_bits_float((uint32_t)x); }

static uint64_t apply_float(emu_atomic op, unsigned words, uint64_t mem, uint64_t data) {
  if (words == 2) {
    double a = mlaf_bits_double(mem), b = mlaf_bits_double(data);
    return mlaf_double_bits(op == EMU_FADD ? a + b : op == EMU_FMIN ? fmin(a, b) : fmax(a, b));
  }
  float a = as_float(mem), b = as_float(data);
  return mlaf_float_bits(op == EMU_FADD ? a + b : op == EMU_FMIN ? fminf(a, b) : fmaxf(a, b));
}

static uint16_t add_half(uint16_t a, uint16_t b) {
  return mlaf_half_encode(mlaf_half_decode(a) + mlaf_half_decode(b)); /* fp32 holds the sum exactly enough: one rounding */
}

static uint16_t add_bf16(uint16_t a, uint16_t b) {
  float s = as_float((uint32_t)a << 16) + as_float((uint32_t)b << 16);
  uint32_t u = mlaf_float_bits(s);
  if (s != s) return (uint16_t)(u >> 16 | 0x40);
  return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

uint64_t emu_atomic_apply(emu_atomic op, unsigned words, uint64_t mem, uint64_t data, uint64_t cmp) {
  uint64_t mask = words == 2 ? ~0ull : 0xffffffffull, r = 0;
  int64_t sm = words == 2 ? (int64_t)mem : (int32_t)mem, sd = words == 2 ? (int64_t)data : (int32_t)data;
  switch (op) {
    case EMU_SWAP: r = data; break;
    case EMU_CMPSWAP: r = mem == cmp ? data : mem; break;
    case EMU_FCMPSWAP:
      r = (words == 2 ? mlaf_bits_double(mem) == mlaf_bits_double(cmp) : as_float(mem) == as_float(cmp)) ? data : mem;
      break;
    case EMU_MSKOR: r = (mem & ~cmp) | data; break;
    case EMU_WRAP: r = mem >= cmp ? mem - cmp : mem + data; break;
    case EMU_CONDXCHG: /* each dword by its own top bit */
      r = mem;
      for (int s = 0; s < 64; s += 32)
        if (data >> (s + 31) & 1) r = (r & ~(UINT64_C(0xffffffff) << s)) | (data & UINT64_C(0x7fffffff) << s);
      break;
    case EMU_ADD: r = mem + data; break;
    case EMU_SUB: r = mem - data; break;
    case EMU_RSUB: r = data - mem; break;
    case EMU_SMIN: r = sm < sd ? mem : data; break;
    case EMU_UMIN: r = mem < data ? mem : data; break;
    case EMU_SMAX: r = sm > sd ? mem : data; break;
    case EMU_UMAX: r = mem > data ? mem : data; break;
    case EMU_AND: r = mem & data; break;
    case EMU_OR: r = mem | data; break;
    case EMU_XOR: r = mem ^ data; break;
    case EMU_INC: r = mem >= data ? 0 : mem + 1; break;
    case EMU_DEC: r = mem == 0 || mem > data ? data : mem - 1; break;
    case EMU_FADD: case EMU_FMIN: case EMU_FMAX: r = apply_float(op, words, mem, data); break;
    case EMU_PK_ADD_F16:
      r = (uint64_t)add_half((uint16_t)(mem >> 16), (uint16_t)(data >> 16)) << 16 | add_half((uint16_t)mem, (uint16_t)data);
      break;
    case EMU_PK_ADD_BF16:
      r = (uint64_t)add_bf16((uint16_t)(mem >> 16), (uint16_t)(data >> 16)) << 16 | add_bf16((uint16_t)mem, (uint16_t)data);
      break;
  }
  return r & mask;
}

uint64_t emu_atomic_memory(emu_atomic op, unsigned words, uint64_t addr, uint64_t data, uint64_t cmp) {
  if (words == 1) {
    uint32_t *m = (uint32_t *)(uintptr_t)addr, old = __atomic_load_n(m, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(m, &old, (uint32_t)emu_atomic_apply(op, 1, old, data, cmp), false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED)) {}
    return old;
  }
  uint64_t *m = (uint64_t *)(uintptr_t)addr, old = __atomic_load_n(m, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(m, &old, emu_atomic_apply(op, 2, old, data, cmp), false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED)) {}
  return old;
}
