/* Typed buffer accesses: buffer_load_format_* and buffer_store_format_*. The descriptor's word 3 says how an element lies in
 * memory (data format, number format) and which component each result takes (dst_sel). CDNA3 ISA, "Buffer Data Format". */
#pragma GCC optimize("fp-contract=off")
#include "base/half.h"
#include "emu/place.h"
#include "emu/timing.h"

typedef struct layout {
  uint8_t n, bytes;  /* components, bytes of an element */
  uint8_t width[4];  /* bits, from the lowest bit up */
} layout;

/* By BUF_DATA_FORMAT, whose names list the components from the highest bit down. */
static const layout layouts[16] = {
  [1] = {1, 1, {8}}, [2] = {1, 2, {16}}, [3] = {2, 2, {8, 8}}, [4] = {1, 4, {32}}, [5] = {2, 4, {16, 16}},
  [6] = {3, 4, {11, 11, 10}}, [7] = {3, 4, {10, 11, 11}}, [8] = {4, 4, {2, 10, 10, 10}}, [9] = {4, 4, {10, 10, 10, 2}},
  [10] = {4, 4, {8, 8, 8, 8}}, [11] = {2, 8, {32, 32}}, [12] = {4, 8, {16, 16, 16, 16}}, [13] = {3, 12, {32, 32, 32}},
  [14] = {4, 16, {32, 32, 32, 32}}};
enum { UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT = 7 };

typedef struct format_op {
  emu_vm_op vm;  /* first: the address functions see it */
  uint8_t n;     /* components of the instruction */
  bool half, high; /* 16-bit results, two to a register; the high half of one */
} format_op;

/* Unsigned floats of 10 and 11 bits (5 exponent bits) and halves. */
static float small_float(uint32_t x, unsigned width) {
  unsigned mant = width == 16 ? 10 : width - 5;
  uint32_t e = x >> mant & 31, m = x & ((1u << mant) - 1);
  float v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf((float)(m | 1u << mant), (int)e - 15 - (int)mant)
                                               : ldexpf((float)m, -14 - (int)mant);
  return width == 16 && x >> 15 ? -v : v;
}
static uint32_t to_half(float f) { return mlaf_half_encode_bits(f); }

static int64_t signed_field(uint32_t x, unsigned width) { return (int32_t)(x << (32 - width)) >> (32 - width); }

/* Memory field -> component as the shader sees it: f32 or integer bits. */
static uint32_t decode(uint32_t x, unsigned width, unsigned number) {
  int64_t s = signed_field(x, width);
  double top = (double)((UINT64_C(1) << (number == SNORM ? width - 1 : width)) - 1);
  switch (number) {
    case UNORM: return mlaf_float_bits((float)(x / top));
    case SNORM: return mlaf_float_bits((float)fmax((double)s / top, -1.0));
    case USCALED: return mlaf_float_bits((float)x);
    case SSCALED: return mlaf_float_bits((float)s);
    case SINT: return (uint32_t)s;
    case FLOAT: return width == 32 ? x : mlaf_float_bits(small_float(x, width));
    default: return x;
  }
}

static uint32_t encode(uint32_t v, unsigned width, unsigned number) {
  double f = mlaf_bits_float(v), top = (double)((UINT64_C(1) << (number == SNORM || number == SSCALED ? width - 1 : width)) - 1);
  uint32_t mask = width == 32 ? ~0u : (1u << width) - 1;
  switch (number) {
    case UNORM: return f > 0 ? (uint32_t)rint((f < 1 ? f : 1) * top) : 0;
    case SNORM: return f != f ? 0 : (uint32_t)(int64_t)rint((f > -1 ? f < 1 ? f : 1 : -1) * top) & mask;
    case USCALED: return f > 0 ? (uint32_t)(f < top ? f : top) : 0;
    case SSCALED: return f != f ? 0 : (uint32_t)(int64_t)(f > -top - 1 ? f < top ? f : top : -top - 1) & mask;
    case FLOAT: return width == 32 ? v : to_half(mlaf_bits_float(v));
    default: return v & mask;
  }
}

/* The descriptor's view of an element; NULL after emu_fault. */
static const layout *view(emu_wave *w, const emu_inst *in, int descriptor, uint32_t *word3, unsigned *number) {
  const emu_operand *s = &in->src[descriptor];
  if (s->kind != EMU_O_SREG || !emu_sreg_check(w, s->reg, 4)) return NULL;
  *word3 = w->s[s->reg + 3];
  *number = *word3 >> 12 & 7;
  const layout *f = &layouts[*word3 >> 15 & 15];
  bool packed_float = *number == FLOAT && (f->width[0] == 8 || f->n == 4) && f->width[0] != 16 && f->width[0] != 32;
  if (f->n && *number != 6 && !packed_float) return f;
  emu_fault(w, -1, "buffer descriptor with data format %u and number format %u, which is no element type", *word3 >> 15 & 15,
            *number);
  return NULL;
}

static uint32_t field(const uint8_t element[16], const layout *f, unsigned c) {
  unsigned at = 0;
  uint64_t x = 0;
  for (unsigned k = 0; k < c; k++) at += f->width[k];
  memcpy(&x, element + at / 32 * 4, 4);
  return (uint32_t)(x >> at % 32) & (f->width[c] == 32 ? ~0u : (1u << f->width[c]) - 1);
}

static bool exec_load(emu_wave *w, const emu_inst *in) {
  const format_op *op = in->aux;
  unsigned number, dst = in->dst[0].reg, words = op->half ? (op->n + 1u) / 2 : op->n;
  uint32_t word3;
  emu_place p;
  const layout *f = view(w, in, 1, &word3, &number);
  if (!f || !emu_locate(w, in, &op->vm, &in->src[0], &in->src[1], f->bytes, &p)) return false;
  if (!emu_place_check(w, &p, f->bytes, "load")) return false;
  emu_timing_memory(w, p.addr, p.whole, f->bytes);
  if (!emu_vm_begin(w, &op->vm, &in->dst[0], words)) return false;
  for (int l = 0; l < EMU_LANES; l++) {
    uint8_t element[16] = {0};
    if (!(p.lanes >> l & 1)) continue;
    if (p.whole >> l & 1) memcpy(element, (const void *)(uintptr_t)p.addr[l], f->bytes);
    for (unsigned c = 0; c < op->n; c++) {
      unsigned sel = word3 >> (3 * c) & 7; /* 0, 1, or 4 + component */
      bool is_int = number == UINT || number == SINT;
      uint32_t one = is_int ? 1 : 0x3f800000, x = sel == 1 || (sel == 7 && f->n < 4) ? one : 0;
      if (sel >= 4 && sel - 4u < f->n) x = decode(field(element, f, sel - 4u), f->width[sel - 4], number);
      if (!(p.whole >> l & 1)) x = 0;
      if (op->half && !is_int) x = to_half(mlaf_bits_float(x));
      uint32_t *d = &w->v[dst + (op->half ? c / 2 : c)][l];
      if (!op->half) *d = x;
      else if (op->high || c % 2) *d = (*d & 0xffff) | x << 16;
      else *d = op->n == 1 ? (*d & 0xffff0000u) | (x & 0xffff) : x & 0xffff;
    }
  }
  emu_vm_in_flight(w, &op->vm, dst, words, p.lanes);
  return true;
}

static bool exec_store(emu_wave *w, const emu_inst *in) {
  const format_op *op = in->aux;
  unsigned number, src = in->src[0].reg, words = op->half ? (op->n + 1u) / 2 : op->n;
  uint32_t word3;
  emu_place p;
  const layout *f = view(w, in, 2, &word3, &number);
  if (!f || !emu_locate(w, in, &op->vm, &in->src[1], &in->src[2], f->bytes, &p)) return false;
  if (number == FLOAT && (f->width[0] == 10 || f->width[0] == 11))
    return emu_fault(w, -1, "unimplemented: typed store of 10- and 11-bit floats");
  if (!emu_vreg_check(w, src, words, p.lanes) || !emu_place_check(w, &p, f->bytes, "store")) return false;
  emu_timing_memory(w, p.addr, p.whole, f->bytes);
  emu_changed(w);
  if (!emu_vm_begin(w, &op->vm, NULL, 0)) return false;
  for (int l = 0; l < EMU_LANES; l++) {
    uint8_t element[16] = {0};
    unsigned at = 0;
    if (!(p.whole >> l & 1)) continue;
    for (unsigned c = 0; c < f->n; at += f->width[c++]) {
      uint32_t x = 0, part;
      if (c < op->n) x = w->v[src + (op->half ? c / 2 : c)][l];
      if (op->half && c < op->n) {
        x = x >> (op->high || c % 2 ? 16 : 0) & 0xffff;
        if (number != UINT && number != SINT) x = mlaf_float_bits(small_float(x, 16));
      }
      memcpy(&part, element + at / 32 * 4, 4);
      part |= encode(x, f->width[c], number) << at % 32;
      memcpy(element + at / 32 * 4, &part, 4);
    }
    memcpy((void *)(uintptr_t)p.addr[l], element, f->bytes);
  }
  return true;
}

#define OP(name, ...) &(const format_op){{EMU_BUFFER, EMU_RAW, 0, false}, __VA_ARGS__}
#define BOTH(name, ...) {"buffer_load_format_" name, exec_load, EMU_C_VMEM_LOAD, 0, 0, OP(name, __VA_ARGS__)}, \
                        {"buffer_store_format_" name, exec_store, EMU_C_VMEM_STORE, 0, 0, OP(name, __VA_ARGS__)}
const emu_op emu_ops_format[] = {
  BOTH("x", 1, false, false), BOTH("xy", 2, false, false), BOTH("xyz", 3, false, false), BOTH("xyzw", 4, false, false),
  BOTH("d16_x", 1, true, false), BOTH("d16_xy", 2, true, false), BOTH("d16_xyz", 3, true, false),
  BOTH("d16_xyzw", 4, true, false), BOTH("d16_hi_x", 1, true, true),
  {NULL, NULL, 0, 0, 0, NULL}};
