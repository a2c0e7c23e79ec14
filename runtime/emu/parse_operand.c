/* Operand words of LLVM's AMDGPU disassembly. */
#include "base/bits.h"
#include "emu/parse.h"

typedef struct named_operand {
  const char *name;
  uint8_t kind, count;
  uint16_t reg;
  uint64_t value;
} named_operand;

static const named_operand named[] = {
  {"vcc", EMU_O_SREG, 2, EMU_VCC, 0},
  {"vcc_lo", EMU_O_SREG, 1, EMU_VCC, 0},
  {"vcc_hi", EMU_O_SREG, 1, EMU_VCC + 1, 0},
  {"exec", EMU_O_SREG, 2, EMU_EXEC, 0},
  {"exec_lo", EMU_O_SREG, 1, EMU_EXEC, 0},
  {"exec_hi", EMU_O_SREG, 1, EMU_EXEC + 1, 0},
  {"m0", EMU_O_SREG, 1, EMU_M0, 0},
  {"flat_scratch", EMU_O_SREG, 2, EMU_FLAT_SCRATCH, 0},
  {"flat_scratch_lo", EMU_O_SREG, 1, EMU_FLAT_SCRATCH, 0},
  {"flat_scratch_hi", EMU_O_SREG, 1, EMU_FLAT_SCRATCH + 1, 0},
  {"xnack_mask", EMU_O_SREG, 2, EMU_XNACK, 0},
  {"xnack_mask_lo", EMU_O_SREG, 1, EMU_XNACK, 0},
  {"xnack_mask_hi", EMU_O_SREG, 1, EMU_XNACK + 1, 0},
  {"off", EMU_O_OFF, 1, 0, 0},
  {"scc", EMU_O_SCC, 1, 0, 0},
  {"src_scc", EMU_O_SCC, 1, 0, 0},
  /* Apertures are 64 bits wide; a 32-bit read gives the low half, which is 0, as on silicon. */
  {"src_shared_base", EMU_O_CONST, 2, 0, EMU_SHARED_BASE},
  {"src_private_base", EMU_O_CONST, 2, 0, EMU_PRIVATE_BASE},
  {"src_shared_limit", EMU_O_CONST, 2, 0, EMU_SHARED_BASE | 0xffffffff},
  {"src_private_limit", EMU_O_CONST, 2, 0, EMU_PRIVATE_BASE | 0xffffffff},
};

bool emu_parse_int(const char *word, int64_t *out) {
  const char *digits = word + (*word == '-');
  char *end;
  if (*digits < '0' || *digits > '9') return false;
  uint64_t v = strtoull(digits, &end, 0);
  if (*end) return false;
  *out = *word == '-' ? -(int64_t)v : (int64_t)v;
  return true;
}

/* "12" or "[12:15]" behind a register letter. */
static bool parse_range(const char *s, unsigned limit, unsigned *first, unsigned *count) {
  char *end;
  bool many = *s == '[';
  s += many;
  if (*s < '0' || *s > '9') return false;
  unsigned long lo = strtoul(s, &end, 10), hi = lo;
  if (many && *end == ':') hi = strtoul(end + 1, &end, 10);
  if (many && *end++ != ']') return false;
  if (*end || hi < lo || hi >= limit || hi - lo >= 32) return false;
  *first = (unsigned)lo;
  *count = (unsigned)(hi - lo + 1);
  return true;
}

static bool parse_register(const char *s, emu_operand *o) {
  static const struct { const char *prefix; uint8_t kind; uint16_t base, limit; } files[] = {
    {"ttmp", EMU_O_SREG, 108, 16}, {"v", EMU_O_VREG, 0, 256}, {"a", EMU_O_VREG, EMU_AGPR0, 256}, {"s", EMU_O_SREG, 0, 102}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    size_t n = strlen(files[i].prefix);
    unsigned first, count;
    if (strncmp(s, files[i].prefix, n) != 0 || !parse_range(s + n, files[i].limit, &first, &count)) continue;
    o->kind = files[i].kind;
    o->reg = (uint16_t)(files[i].base + first);
    o->count = (uint8_t)count;
    return true;
  }
  return false;
}

static bool parse_constant(const char *s, emu_operand *o) {
  int64_t v;
  char *end;
  o->kind = EMU_O_CONST;
  o->count = 1;
  if (emu_parse_int(s, &v)) {
    o->value = (uint64_t)v;
    o->is_literal = strncmp(s, "0x", 2) == 0; /* inline integers print in decimal, literals in hexadecimal */
    return true;
  }
  if (!strchr(s, '.')) return false;
  o->fvalue = mlaf_strtod(s, &end);
  o->is_float = true;
  o->value = mlaf_float_bits((float)o->fvalue);
  return end != s && !*end;
}

static bool parse_core(const char *s, emu_operand *o) {
  for (size_t i = 0; i < sizeof named / sizeof *named; i++)
    if (strcmp(s, named[i].name) == 0) {
      o->kind = named[i].kind;
      o->count = named[i].count;
      o->reg = named[i].reg;
      o->value = named[i].value;
      return true;
    }
  return parse_register(s, o) || parse_constant(s, o);
}

/* Strip one layer of prefix...suffix, e.g. "neg(" ... ")". */
static bool unwrap(char *s, const char *prefix, char close) {
  size_t n = strlen(prefix), len = strlen(s);
  if (len <= n || strncmp(s, prefix, n) != 0 || s[len - 1] != close) return false;
  memmove(s, s + n, len - n - 1);
  s[len - n - 1] = 0;
  return true;
}

bool emu_parse_operand(const char *word, emu_operand *out) {
  char s[EMU_WORD_MAX];
  size_t len = strlen(word);
  if (len >= sizeof s) return false;
  memcpy(s, word, len + 1);
  memset(out, 0, sizeof *out);
  if (unwrap(s, "sext(", ')')) out->sext = 1;
  if (s[0] == '-' && !(s[1] >= '0' && s[1] <= '9')) { /* "-1" and "-0.5" are constants, not negated ones */
    out->neg = 1;
    memmove(s, s + 1, strlen(s));
  } else if (unwrap(s, "neg(", ')')) {
    out->neg = 1;
  }
  if (unwrap(s, "|", '|') || unwrap(s, "abs(", ')')) out->abs = 1;
  return parse_core(s, out);
}
