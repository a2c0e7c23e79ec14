/* Between the parser's files: one line of disassembly cut into words, operands and modifiers. */
#pragma once

#include "emu/emu.h"

enum { EMU_MAX_OPERANDS = 6, EMU_WORD_MAX = 96 };

/* A parsed line, before the op decides which operands are destinations. */
typedef struct emu_line {
  char mnemonic[64];  /* encoding suffix removed */
  bool dpp, sdwa;     /* the suffix that was removed */
  emu_operand op[EMU_MAX_OPERANDS];
  int n_op;
  bool has_imm;       /* imm was set by a word that is no operand: hwreg(), swizzle(), sendmsg() */
} emu_line;

/* One operand word: v1, s[0:1], -|v2|, neg(1.0), 0x3f, vcc, off ... False when it is none. */
bool emu_parse_operand(const char *word, emu_operand *out);
/* hwreg(...), sendmsg(...) in operand position: sets in->imm. */
bool emu_parse_imm_word(const char *word, emu_inst *in);
/* One trailing word: offset:16, sc0, op_sel:[0,1], row_shl:1 ... False when unknown. */
bool emu_parse_modifier(const char *word, emu_inst *in);
/* "vmcnt(0) lgkmcnt(3)" or a raw immediate. */
bool emu_parse_waitcnt(const char *rest, emu_inst *in);
/* Unsigned decimal or 0x hexadecimal up to the end of the word; '-' allowed. */
bool emu_parse_int(const char *word, int64_t *out);
