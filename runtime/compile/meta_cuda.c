/* Resources of the kernels of a cubin, from its .nv.info sections: entries of {format, attribute, two bytes} and, in
 * one format, as many more bytes as those two say. */
#include "compile/meta_cuda.h"

/* As `nvdisasm` and `cuobjdump -elf` name them (EIFMT_*, EIATTR_*). */
enum { FORMAT_SIZED = 4, ATTR_REQUIRED_THREADS = 0x05, ATTR_MAX_STACK = 0x11, ATTR_MIN_STACK = 0x12, ATTR_PARAM = 0x17,
       ATTR_PARAM_BYTES = 0x19, ATTR_REGISTERS = 0x2f };

typedef struct entry {
  unsigned attribute, value; /* value: the two bytes, where they are no size */
  uint32_t words[3];         /* the first of those behind it, 0 where there are fewer */
} entry;

/* The entry at *at, which moves behind it. False at the end or when it is cut off. */
static bool next_entry(const mlaf_elf_section *s, uint64_t *at, entry *out) {
  if (!s->data || s->size - *at < 4) return false;
  const unsigned char *p = s->data + *at;
  uint16_t half;
  memcpy(&half, p + 2, sizeof half);
  *out = (entry){.attribute = p[1], .value = half};
  *at += 4;
  if (p[0] != FORMAT_SIZED) return true;
  if (s->size - *at < half) return false;
  memcpy(out->words, s->data + *at, half < sizeof out->words ? half : sizeof out->words);
  *at += half;
  return true;
}

static bool section_of(const mlaf_elf *elf, const char *prefix, const char *kernel, mlaf_elf_section *out) {
  char name[256];
  return (size_t)snprintf(name, sizeof name, "%s%s", prefix, kernel) < sizeof name && mlaf_elf_section_find(elf, name, out);
}

/* Reads the kernel's own section; false for a function that is no kernel. */
static bool read_kernel(const mlaf_elf *elf, mlaf_kernel_meta *m) {
  mlaf_elf_section info, shared, reserved;
  entry e;
  uint32_t gap = 0; /* before the first parameter, where the constant bank is less aligned than it (tensor maps: 64 bytes) */
  if (!section_of(elf, ".nv.info.", m->symbol, &info)) return false;
  for (uint64_t at = 0; next_entry(&info, &at, &e);) {
    if (e.attribute == ATTR_PARAM_BYTES) m->kernarg_bytes = e.value;
    if (e.attribute == ATTR_PARAM && (e.words[1] & 0xffff) == 0) gap = e.words[1] >> 16; /* ordinal, offset */
    if (e.attribute == ATTR_REQUIRED_THREADS) m->max_threads = e.words[0] * e.words[1] * e.words[2];
  }
  m->kernarg_bytes -= gap;
  if (section_of(elf, ".nv.shared.", m->symbol, &shared)) m->lds_bytes = (uint32_t)shared.size;
  /* Since Hopper the first KiB is the system's and is not counted in what a kernel may use. */
  if (section_of(elf, ".nv.shared.reserved.", "0", &reserved) && m->lds_bytes >= 1024) m->lds_bytes -= 1024;
  return true;
}

/* Stack of the function with this symbol index: the larger of its own frame and what its callees need. */
static uint32_t stack_of(const mlaf_elf_section *info, uint32_t symbol) {
  uint32_t bytes = 0;
  entry e;
  for (uint64_t at = 0; next_entry(info, &at, &e);)
    if ((e.attribute == ATTR_MIN_STACK || e.attribute == ATTR_MAX_STACK) && e.words[0] == symbol && e.words[1] > bytes)
      bytes = e.words[1];
  return bytes;
}

mlaf_status mlaf_cubin_meta(const mlaf_elf *elf, mlaf_kernel_meta *out, size_t max, size_t *n, mlaf_err *err) {
  mlaf_elf_section info, table;
  mlaf_elf_symbol symbol;
  size_t count = 0;
  entry e;
  if (!mlaf_elf_section_find(elf, ".nv.info", &info) || !mlaf_elf_section_find(elf, ".symtab", &table))
    return mlaf_fail(err, MLAF_E_ARG, "the cubin has no .nv.info or no symbols: not a whole one");
  for (uint64_t at = 0; next_entry(&info, &at, &e);) {
    mlaf_kernel_meta m = {.vgpr_count = e.words[1]};
    if (e.attribute != ATTR_REGISTERS || !mlaf_elf_symbol_at(elf, &table, e.words[0], &symbol)) continue;
    if ((size_t)snprintf(m.symbol, sizeof m.symbol, "%s", symbol.name) >= sizeof m.symbol || !read_kernel(elf, &m)) continue;
    m.scratch_bytes = stack_of(&info, e.words[0]);
    mlaf_status st = mlaf_code_launch(elf->data, elf->size, m.symbol, &m.launch, err);
    if (st) return st;
    m.lds_bytes += m.launch.dynamic_shared;
    if (count < max) out[count] = m;
    count++;
  }
  *n = count;
  return MLAF_OK;
}
