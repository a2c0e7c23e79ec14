/* The words behind the operands, s_waitcnt, and the operand-position words that only set an immediate. */
#include "emu/parse.h"

/* "[0,1,1]" -> bits 0b110; false when malformed. */
static bool parse_bits(const char *s, uint8_t *out) {
  uint8_t bits = 0;
  if (*s++ != '[') return false;
  for (int i = 0; i < 4; i++) {
    if (*s != '0' && *s != '1') return false;
    bits |= (uint8_t)((*s++ - '0') << i);
    if (*s == ']') {
      *out = bits;
      return s[1] == 0;
    }
    if (*s++ != ',') return false;
  }
  return false;
}

/* quad_perm:[a,b,c,d] -> the 8-bit DPP control. */
static bool parse_quad_perm(const char *s, emu_inst *in) {
  if (strlen(s) != 9 || s[0] != '[' || s[8] != ']') return false;
  unsigned ctrl = 0;
  for (int i = 0; i < 4; i++) {
    char c = s[1 + 2 * i];
    if (c < '0' || c > '3') return false;
    ctrl |= (unsigned)(c - '0') << (2 * i);
  }
  in->dpp_ctrl = (uint16_t)ctrl;
  return true;
}

/* Words that are one flag, or one DPP control without a number. */
static const struct { const char *word; uint32_t flag; uint16_t dpp; } plain[] = {
  {"sc0", EMU_F_SC0, 0},   {"glc", EMU_F_SC0, 0} /* scalar memory's and gfx90a's name for it */,
    {"sc1", EMU_F_SC1, 0},       {"nt", EMU_F_NT, 0},       {"lds", EMU_F_LDS, 0},
  {"scc", EMU_F_SC1, 0},   {"slc", EMU_F_NT, 0} /* gfx90a's names for those two */,
  {"gds", EMU_F_GDS, 0},   {"offen", EMU_F_OFFEN, 0},   {"idxen", EMU_F_IDXEN, 0}, {"clamp", EMU_F_CLAMP, 0},
  {"row_mirror", 0, 0x140}, {"row_half_mirror", 0, 0x141},
};

/* key:number words. DPP controls are base + number (CDNA3 ISA, table "DPP_CTRL"). */
enum field { F_OFFSET, F_OFFSET1, F_CBSZ, F_ABID, F_BLGP, F_ROW_MASK, F_BANK_MASK, F_BOUND, F_FI, F_DPP, F_MUL, F_DIV };
static const struct { const char *key; enum field field; uint16_t base; int lo, hi; } valued[] = {
  {"offset", F_OFFSET, 0, -(1 << 20), (1 << 21) - 1}, {"offset0", F_OFFSET, 0, 0, 255}, {"offset1", F_OFFSET1, 0, 0, 255},
  {"bitop3", F_OFFSET, 0, 0, 255} /* a VALU instruction has no other offset */,
  {"cbsz", F_CBSZ, 0, 0, 7}, {"abid", F_ABID, 0, 0, 15}, {"blgp", F_BLGP, 0, 0, 7},
  {"fi", F_FI, 0, 0, 1}, {"row_mask", F_ROW_MASK, 0, 0, 15}, {"bank_mask", F_BANK_MASK, 0, 0, 15},
  {"bound_ctrl", F_BOUND, 0, 0, 1},
  {"row_shl", F_DPP, 0x100, 1, 15}, {"row_shr", F_DPP, 0x110, 1, 15}, {"row_ror", F_DPP, 0x120, 1, 15},
  {"wave_shl", F_DPP, 0x12f, 1, 1}, {"wave_rol", F_DPP, 0x133, 1, 1}, {"wave_shr", F_DPP, 0x137, 1, 1},
  {"wave_ror", F_DPP, 0x13b, 1, 1}, {"row_newbcast", F_DPP, 0x150, 0, 15}, {"mul", F_MUL, 0, 2, 4}, {"div", F_DIV, 0, 2, 2},
};

static void set_field(emu_inst *in, enum field field, uint16_t base, int v) {
  switch (field) {
    case F_OFFSET: in->offset = v; break;
    case F_OFFSET1: in->offset2 = v; break;
    case F_CBSZ: in->cbsz = (uint8_t)v; break;
    case F_ABID: in->abid = (uint8_t)v; break;
    case F_BLGP: in->blgp = (uint8_t)v; break;
    case F_ROW_MASK: in->row_mask = (uint8_t)v; break;
    case F_BANK_MASK: in->bank_mask = (uint8_t)v; break;
    case F_BOUND: in->flags |= EMU_F_BOUND_CTRL; break; /* printed only when set; older printers call it bound_ctrl:0 */
    case F_FI: break; /* of v_permlane*_swap: what lanes that are off give, and those fault */
    case F_DPP: in->dpp_ctrl = (uint16_t)(base + v); break;
    case F_MUL: in->omod = v == 2 ? 1 : 2; break;
    case F_DIV: in->omod = 3; break;
  }
}

/* SDWA selections: encoding of the ISA's SDWA_SEL and DST_UNUSED tables. */
static bool parse_sdwa(const char *key, size_t n, const char *v, emu_inst *in) {
  static const char *const sel[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
  static const char *const unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
  const struct { const char *key; uint8_t *field; const char *const *names; int n; } f[] = {
    {"dst_sel", &in->sdwa_dst, sel, 7}, {"src0_sel", &in->sdwa_src0, sel, 7}, {"src1_sel", &in->sdwa_src1, sel, 7},
    {"dst_unused", &in->sdwa_unused, unused, 3}};
  for (int i = 0; i < 4; i++)
    for (int j = 0; strlen(f[i].key) == n && strncmp(key, f[i].key, n) == 0 && j < f[i].n; j++)
      if (strcmp(v, f[i].names[j]) == 0) {
        *f[i].field = (uint8_t)j;
        return true;
      }
  return false;
}

/* offset:swizzle(...) of ds_swizzle_b32, back to its 16-bit pattern. */
static bool parse_swizzle(const char *s, emu_inst *in) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const char *arg = strchr(s, ',');
  if (!arg) return false;
  char *end;
  if (strncmp(s, "QUAD_PERM,", 10) == 0) {
    unsigned *q[4] = {&a, &b, &c, &d};
    end = (char *)arg;
    for (int i = 0; i < 4; i++) *q[i] = *end == ',' ? (unsigned)strtoul(end + 1, &end, 10) & 3 : 0;
    in->imm = 0x8000 | a | b << 2 | c << 4 | d << 6;
    return *end == ')';
  }
  if (strncmp(s, "BITMASK_PERM,\"", 14) == 0) { /* MSB first: 0, 1, p preserve, i invert */
    for (int i = 0; i < 5; i++) {
      unsigned bit = 16u >> i;
      char m = s[14 + i];
      if (m == 'p' || m == 'i') a |= bit;
      if (m == '1') b |= bit;
      if (m == 'i') c |= bit;
      if (!strchr("01pi", m) || !m) return false;
    }
    in->imm = a | b << 5 | c << 10;
    return strcmp(s + 19, "\")") == 0;
  }
  a = (unsigned)strtoul(arg + 1, &end, 10);
  if (strncmp(s, "SWAP,", 5) == 0) in->imm = 0x1f | a << 10;
  else if (strncmp(s, "REVERSE,", 8) == 0) in->imm = 0x1f | (a - 1) << 10;
  else if (strncmp(s, "BROADCAST,", 10) == 0 && *end == ',')
    in->imm = (32 - a) | (unsigned)strtoul(end + 1, &end, 10) << 5;
  else if (strncmp(s, "FFT,", 4) == 0) in->imm = 0xe000 | (a & 31);
  else if (strncmp(s, "ROTATE,", 7) == 0 && *end == ',')
    in->imm = 0xc000 | (a & 1) << 10 | ((unsigned)strtoul(end + 1, &end, 10) & 31) << 5;
  else return false;
  return *end == ')';
}

bool emu_parse_modifier(const char *word, emu_inst *in) {
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
    if (strcmp(word, plain[i].word) == 0) {
      in->flags |= plain[i].flag;
      if (plain[i].dpp) in->dpp_ctrl = plain[i].dpp;
      return true;
    }
  const char *colon = strchr(word, ':');
  if (!colon) return false;
  size_t n = (size_t)(colon - word);
  const char *v = colon + 1;
  if (n == 6 && strncmp(word, "op_sel", n) == 0) return parse_bits(v, &in->op_sel);
  if (n == 9 && strncmp(word, "op_sel_hi", n) == 0) {
    in->flags |= EMU_F_OP_SEL_HI;
    return parse_bits(v, &in->op_sel_hi);
  }
  if (n == 6 && strncmp(word, "neg_lo", n) == 0) return parse_bits(v, &in->neg_lo);
  if (n == 3 && strncmp(word, "neg", n) == 0) return parse_bits(v, &in->neg_lo); /* v_mfma_f64_* */
  if (n == 6 && strncmp(word, "neg_hi", n) == 0) return parse_bits(v, &in->neg_hi);
  if (n == 9 && strncmp(word, "quad_perm", n) == 0) return parse_quad_perm(v, in);
  if (strncmp(v, "swizzle(", 8) == 0) return parse_swizzle(v + 8, in);
  if (n == 9 && strncmp(word, "row_bcast", n) == 0) { /* gfx9 has exactly two */
    in->dpp_ctrl = strcmp(v, "15") == 0 ? 0x142 : 0x143;
    return strcmp(v, "15") == 0 || strcmp(v, "31") == 0;
  }
  int64_t num;
  for (size_t i = 0; emu_parse_int(v, &num) && i < sizeof valued / sizeof *valued; i++)
    if (strlen(valued[i].key) == n && strncmp(word, valued[i].key, n) == 0) {
      if (num < valued[i].lo || num > valued[i].hi) return false;
      set_field(in, valued[i].field, valued[i].base, (int)num);
      return true;
    }
  if (n == 4 && strncmp(word, "blgp", n) == 0) return false;
  return parse_sdwa(word, n, v, in);
}

/* Hardware registers a kernel may name; numbers are the ISA's HWREG ids. */
static const struct { const char *name; unsigned id; } hwregs[] = {
  {"HW_REG_MODE", 1}, {"HW_REG_STATUS", 2}, {"HW_REG_TRAPSTS", 3}, {"HW_REG_HW_ID", 4}, {"HW_REG_GPR_ALLOC", 5},
  {"HW_REG_LDS_ALLOC", 6}, {"HW_REG_IB_STS", 7}, {"HW_REG_SH_MEM_BASES", 15}, {"HW_REG_XCC_ID", 20}};

/* gpr_idx(SRC0,DST): the mask of s_set_gpr_idx_on and s_set_gpr_idx_mode; () is no bit. */
static bool parse_gpr_idx(const char *s, emu_inst *in) {
  static const char *const names[] = {"SRC0", "SRC1", "SRC2", "DST"};
  in->imm = 0;
  while (*s && *s != ')') {
    size_t n = strcspn(s, ",)");
    unsigned bit = 0;
    while (bit < 4 && (strlen(names[bit]) != n || strncmp(s, names[bit], n) != 0)) bit++;
    if (bit == 4) return false;
    in->imm |= 1u << bit;
    s += n + (s[n] == ',');
  }
  return strcmp(s, ")") == 0;
}

bool emu_parse_imm_word(const char *word, emu_inst *in) {
  if (strncmp(word, "sendmsg(", 8) == 0) return true; /* the message itself has no meaning to a compute wave */
  if (strncmp(word, "gpr_idx(", 8) == 0) return parse_gpr_idx(word + 8, in);
  if (strncmp(word, "hwreg(", 6) != 0) return false;
  const char *s = word + 6;
  char *end = NULL;
  unsigned id = 0, offset = 0, width = 32;
  for (size_t i = 0; i < sizeof hwregs / sizeof *hwregs && !end; i++) {
    size_t n = strlen(hwregs[i].name);
    if (strncmp(s, hwregs[i].name, n) != 0 || (s[n] != ')' && s[n] != ',')) continue;
    id = hwregs[i].id;
    end = (char *)s + n;
  }
  if (!end) id = (unsigned)strtoul(s, &end, 0) & 0x3f;
  if (*end == ',') offset = (unsigned)strtoul(end + 1, &end, 0) & 31;
  if (*end == ',') width = (unsigned)strtoul(end + 1, &end, 0);
  if (*end != ')' || width < 1 || width > 32) return false;
  in->imm = id | offset << 6 | (width - 1) << 11; /* SIMM16 of s_getreg / s_setreg */
  return true;
}

bool emu_parse_waitcnt(const char *rest, emu_inst *in) {
  int64_t raw;
  in->vmcnt = in->lgkmcnt = in->expcnt = 0xff;
  if (emu_parse_int(rest, &raw)) { /* gfx9 layout: vmcnt [15:14][3:0], expcnt [6:4], lgkmcnt [11:8] */
    in->vmcnt = (uint8_t)((raw & 15) | (raw >> 14 & 3) << 4);
    in->expcnt = raw >> 4 & 7;
    in->lgkmcnt = raw >> 8 & 15;
    return raw >= 0 && raw <= 0xffff;
  }
  const struct { const char *key; uint8_t *field; } f[] = {
    {"vmcnt(", &in->vmcnt}, {"lgkmcnt(", &in->lgkmcnt}, {"expcnt(", &in->expcnt}};
  while (*rest) {
    bool hit = false;
    for (int i = 0; i < 3; i++) {
      size_t n = strlen(f[i].key);
      char *end;
      if (strncmp(rest, f[i].key, n) != 0) continue;
      unsigned long v = strtoul(rest + n, &end, 10);
      if (end == rest + n || *end != ')' || v > 63) return false;
      *f[i].field = (uint8_t)v;
      rest = end + 1;
      hit = true;
    }
    if (!hit) return false;
    while (*rest == ' ' || *rest == '&') rest++;
  }
  return true;
}
