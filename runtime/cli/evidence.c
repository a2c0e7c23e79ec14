/* Static evidence: what a kernel's hot loop is made of, by mnemonic. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

typedef struct line {
  unsigned offset, size;
  const char *text;
} line;

/* Which counter a mnemonic goes to: the longest prefix that fits, so the special ones stand before "v_" and "s_". */
static const struct {
  const char *prefix;
  size_t counter;
} classes[] = {
    {"v_mfma_", offsetof(cli_evidence, mfma)},      {"v_smfmac_", offsetof(cli_evidence, mfma)},
    {"v_", offsetof(cli_evidence, valu)},           {"ds_", offsetof(cli_evidence, ds)},
    {"global_", offsetof(cli_evidence, vmem)},      {"buffer_", offsetof(cli_evidence, vmem)},
    {"flat_", offsetof(cli_evidence, vmem)},        {"scratch_", offsetof(cli_evidence, vmem)},
    {"s_load_", offsetof(cli_evidence, smem)},      {"s_buffer_load_", offsetof(cli_evidence, smem)},
    {"s_waitcnt", offsetof(cli_evidence, waitcnt)}, {"s_nop", offsetof(cli_evidence, nop)},
    {"s_barrier", offsetof(cli_evidence, barrier)}, {"s_cbranch_", offsetof(cli_evidence, branch)},
    {"s_branch", offsetof(cli_evidence, branch)},   {"s_", offsetof(cli_evidence, salu)},
};

static bool starts(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static size_t class_of(const char *text) {
  size_t best = SIZE_MAX, length = 0;
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
    if (starts(text, classes[i].prefix) && strlen(classes[i].prefix) > length) {
      best = classes[i].counter;
      length = strlen(classes[i].prefix);
    }
  return best;
}

/* Bytes a wave of 64 lanes takes with one load. */
static unsigned load_bytes(const char *text) {
  static const struct {
    const char *word;
    unsigned bytes;
  } widths[] = {{"_load_dwordx4", 16},  {"_load_dwordx3", 12}, {"_load_dwordx2", 8}, {"_load_dword", 4},
                {"_load_lds_dword", 4}, {"_load_ushort", 2},   {"_load_sshort", 2},  {"_load_short", 2},
                {"_load_ubyte", 1},     {"_load_sbyte", 1}};
  if (!starts(text, "global_") && !starts(text, "buffer_") && !starts(text, "flat_")) return 0;
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
    if (strstr(text, widths[i].word)) return 64 * widths[i].bytes;
  return 0;
}

static line *split(const char *text, size_t *n) {
  size_t cap = 1;
  for (const char *p = text; *p; p++) cap += *p == '\n';
  line *list = calloc(cap, sizeof *list);
  *n = 0;
  for (const char *p = text; list && *p;) {
    char *end;
    line *l = &list[*n];
    l->offset = (unsigned)strtoul(p, &end, 16);
    l->size = (unsigned)strtoul(end, &end, 16);
    while (*end == ' ') end++;
    l->text = end;
    (*n)++;
    p = strchr(end, '\n');
    if (!p) break;
    p++;
  }
  return list;
}

/* Where a branch goes: a 16-bit word offset, unsigned in the text, from the next instruction. -1: no branch. */
static long long target_of(const line *l) {
  if (!starts(l->text, "s_cbranch_") && !starts(l->text, "s_branch ")) return -1;
  const char *space = strchr(l->text, ' ');
  return space ? (long long)l->offset + 4 + 4 * (long long)(int16_t)strtoul(space + 1, NULL, 10) : -1;
}

static void count(const line *list, size_t from, size_t to, cli_evidence *out) {
  for (size_t i = from; i <= to; i++) {
    size_t at = class_of(list[i].text);
    if (at != SIZE_MAX) ++*(unsigned *)((char *)out + at);
    out->instructions++;
    out->load_bytes += load_bytes(list[i].text);
  }
}

static size_t index_at(const line *list, size_t n, long long offset) {
  for (size_t i = 0; i < n; i++)
    if (list[i].offset == offset) return i;
  return n;
}

bool mlaf_cli_evidence(const char *text, cli_evidence *out) {
  size_t n;
  line *list = split(text, &n);
  if (!list) return false;
  cli_evidence best = {0};
  unsigned loops = 0;
  for (size_t i = 0; i < n; i++) {
    long long target = target_of(&list[i]);
    if (target < 0 || target > list[i].offset) continue;
    size_t from = index_at(list, n, target);
    if (from == n) continue;
    cli_evidence here = {0};
    count(list, from, i, &here);
    here.start = list[from].offset;
    here.end = list[i].offset + list[i].size;
    loops++;
    /* most MFMAs; at equal numbers the smaller loop is the inner one */
    if (!best.end || here.mfma > best.mfma || (here.mfma == best.mfma && here.instructions < best.instructions))
      best = here;
  }
  best.loops = loops;
  *out = best;
  free(list);
  return true;
}
