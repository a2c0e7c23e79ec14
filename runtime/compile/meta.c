/* mlaf_code_meta: resources of each kernel from the AMDGPU metadata note, checked against the kernel descriptors. */
#include <elf.h>

#include "compile/compile.h"
#include "compile/elf.h"
#include "compile/meta_cuda.h"
#include "compile/msgpack.h"
#include "compile/vendor.h"

#ifndef EM_AMDGPU
#define EM_AMDGPU 224
#endif
enum { NOTE_METADATA = 32, DESCRIPTOR_SIZE = 64 };

/* A kernel as read so far. `symbol` is the descriptor's name, "<function>.kd". */
typedef struct kernel {
  mlaf_kernel_meta meta;
  char symbol[sizeof(((mlaf_kernel_meta *)0)->symbol) + 4];
} kernel;

static const struct {
  const char *key;
  size_t offset;
} numbers[] = {
    {".vgpr_count", offsetof(mlaf_kernel_meta, vgpr_count)},
    {".agpr_count", offsetof(mlaf_kernel_meta, agpr_count)},
    {".sgpr_count", offsetof(mlaf_kernel_meta, sgpr_count)},
    {".vgpr_spill_count", offsetof(mlaf_kernel_meta, vgpr_spills)},
    {".sgpr_spill_count", offsetof(mlaf_kernel_meta, sgpr_spills)},
    {".private_segment_fixed_size", offsetof(mlaf_kernel_meta, scratch_bytes)},
    {".group_segment_fixed_size", offsetof(mlaf_kernel_meta, lds_bytes)},
    {".kernarg_segment_size", offsetof(mlaf_kernel_meta, kernarg_bytes)},
    {".max_flat_workgroup_size", offsetof(mlaf_kernel_meta, max_threads)},
};

static mlaf_status torn(mlaf_err *err, const char *what) {
  return mlaf_fail(err, MLAF_E_ARG, "damaged code object: %s (compile it anew)", what);
}

static bool copy_text(const mlaf_mp_item *item, char *out, size_t size) {
  if (item->kind != MLAF_MP_TEXT || !item->value || item->value >= size || memchr(item->text, 0, item->value)) return false;
  memcpy(out, item->text, item->value);
  out[item->value] = 0;
  return true;
}

/* --- arguments --- */

static const char *const hidden_names[MLAF_HIDDEN_COUNT] = {
    "hidden_block_count_x", "hidden_block_count_y", "hidden_block_count_z", "hidden_group_size_x", "hidden_group_size_y",
    "hidden_group_size_z", "hidden_remainder_x", "hidden_remainder_y", "hidden_remainder_z", "hidden_global_offset_x",
    "hidden_global_offset_y", "hidden_global_offset_z", "hidden_grid_dims", "hidden_printf_buffer", "hidden_hostcall_buffer",
    "hidden_multigrid_sync_arg", "hidden_heap_v1", "hidden_default_queue", "hidden_completion_action", "hidden_dynamic_lds_size",
    "hidden_private_base", "hidden_shared_base", "hidden_queue_ptr"};

static bool read_number(mlaf_mp *m, uint32_t *out) {
  mlaf_mp_item value = mlaf_mp_next(m);
  if (value.kind != MLAF_MP_INT || value.value > UINT32_MAX) return false;
  *out = (uint32_t)value.value;
  return true;
}

static bool read_arg(mlaf_mp *m, mlaf_kernel_meta *out) {
  uint32_t offset = 0, size = 0;
  mlaf_mp_item map = mlaf_mp_next(m), kind = {.kind = MLAF_MP_INT};
  if (map.kind != MLAF_MP_MAP) return false;
  for (uint64_t i = 0; i < map.value; i++) {
    mlaf_mp_item key = mlaf_mp_next(m);
    bool ok = mlaf_mp_is(&key, ".offset") ? read_number(m, &offset) : mlaf_mp_is(&key, ".size") ? read_number(m, &size) : true;
    if (mlaf_mp_is(&key, ".value_kind")) ok = (kind = mlaf_mp_next(m)).kind == MLAF_MP_TEXT;
    else if (!mlaf_mp_is(&key, ".offset") && !mlaf_mp_is(&key, ".size")) ok = key.kind == MLAF_MP_TEXT && mlaf_mp_skip(m);
    if (!ok) return false;
  }
  if (kind.kind != MLAF_MP_TEXT || offset > UINT32_MAX - size) return false;
  if (kind.value < 7 || memcmp(kind.text, "hidden_", 7) != 0) {
    if (offset + size > out->args_bytes) out->args_bytes = offset + size;
    return true;
  }
  for (int k = 0; k < MLAF_HIDDEN_COUNT; k++)
    if (mlaf_mp_is(&kind, hidden_names[k])) out->hidden[k] = (mlaf_hidden_place){offset, size};
  return true; /* hidden_none and what later versions add: nothing that is filled in */
}

static bool read_args(mlaf_mp *m, mlaf_kernel_meta *out) {
  mlaf_mp_item list = mlaf_mp_next(m);
  if (list.kind != MLAF_MP_ARRAY) return false;
  for (uint64_t i = 0; i < list.value; i++)
    if (!read_arg(m, out)) return false;
  return out->args_known = true;
}

static bool read_block(mlaf_mp *m, mlaf_kernel_meta *out) {
  mlaf_mp_item list = mlaf_mp_next(m);
  if (list.kind != MLAF_MP_ARRAY || list.value != 3) return false;
  return read_number(m, &out->block[0]) && read_number(m, &out->block[1]) && read_number(m, &out->block[2]);
}

/* One entry of a kernel's map: a number we keep, one of its names, or something to step over. */
static bool read_entry(mlaf_mp *m, const mlaf_mp_item *key, kernel *k) {
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (!mlaf_mp_is(key, numbers[i].key)) continue;
    uint32_t v;
    if (!read_number(m, &v)) return false;
    memcpy((char *)&k->meta + numbers[i].offset, &v, sizeof v);
    return true;
  }
  if (mlaf_mp_is(key, ".args")) return read_args(m, &k->meta);
  if (mlaf_mp_is(key, ".reqd_workgroup_size")) return read_block(m, &k->meta);
  if (!mlaf_mp_is(key, ".name") && !mlaf_mp_is(key, ".symbol")) return mlaf_mp_skip(m);
  bool name = mlaf_mp_is(key, ".name");
  mlaf_mp_item value = mlaf_mp_next(m);
  return name ? copy_text(&value, k->meta.symbol, sizeof k->meta.symbol) : copy_text(&value, k->symbol, sizeof k->symbol);
}

static bool read_kernel(mlaf_mp *m, kernel *k) {
  memset(k, 0, sizeof *k);
  mlaf_mp_item map = mlaf_mp_next(m);
  if (map.kind != MLAF_MP_MAP) return false;
  for (uint64_t i = 0; i < map.value; i++) {
    mlaf_mp_item key = mlaf_mp_next(m);
    if (key.kind != MLAF_MP_TEXT || !read_entry(m, &key, k)) return false;
  }
  return k->meta.symbol[0] && k->symbol[0];
}

/* The symbol of this name, in either table. */
static bool find_symbol(const mlaf_elf *e, const char *name, mlaf_elf_symbol *out) {
  for (uint32_t i = 0; i < e->shnum; i++) {
    mlaf_elf_section table;
    if (!mlaf_elf_section_at(e, i, &table) || (table.type != SHT_DYNSYM && table.type != SHT_SYMTAB)) continue;
    for (uint64_t s = 0; mlaf_elf_symbol_at(e, &table, s, out); s++)
      if (strcmp(out->name, name) == 0) return true;
  }
  return false;
}

/* The 64 bytes the hardware's packet processor reads; offsets as in LLVM's AMDGPU usage guide. */
typedef struct descriptor {
  uint32_t lds, scratch, kernarg, rsrc1, rsrc3;
  int64_t entry;
} descriptor;

static bool read_descriptor(const mlaf_elf *e, uint64_t address, descriptor *d) {
  const unsigned char *p = mlaf_elf_at(e, address, DESCRIPTOR_SIZE);
  mlaf_elf_section text;
  if (!p || !mlaf_elf_section_find(e, ".text", &text)) return false;
  memcpy(&d->lds, p, 4);
  memcpy(&d->scratch, p + 4, 4);
  memcpy(&d->kernarg, p + 8, 4);
  memcpy(&d->entry, p + 16, 8);
  memcpy(&d->rsrc3, p + 44, 4);
  memcpy(&d->rsrc1, p + 48, 4);
  uint64_t entry = address + (uint64_t)d->entry;
  return entry >= text.addr && entry - text.addr < text.size;
}

/* The note is what people read, the descriptor is what the hardware obeys: where both state a thing they must agree. A
 * descriptor's kernarg size of 0 states nothing (LLVM AMDGPUUsage, KERNARG_SIZE): hand-written kernels leave it out. */
static const char *check_descriptor(const mlaf_elf *e, const kernel *k) {
  mlaf_elf_symbol symbol;
  descriptor d;
  if (!find_symbol(e, k->symbol, &symbol)) return "a kernel of the metadata has no descriptor symbol";
  if (!read_descriptor(e, symbol.value, &d)) return "a kernel descriptor lies outside the file or points outside .text";
  for (int i = 0; i < MLAF_HIDDEN_COUNT; i++) {
    const mlaf_hidden_place *h = &k->meta.hidden[i];
    if (h->bytes > k->meta.kernarg_bytes || h->at > k->meta.kernarg_bytes - h->bytes)
      return "an argument of the metadata lies behind the argument block it states";
  }
  if (k->meta.args_bytes > k->meta.kernarg_bytes) return "an argument of the metadata lies behind the argument block it states";
  bool same = d.lds == k->meta.lds_bytes && d.scratch == k->meta.scratch_bytes &&
              (d.kernarg == 0 || d.kernarg == k->meta.kernarg_bytes);
  return same ? NULL : "metadata and kernel descriptor disagree on LDS, scratch or kernarg size";
}

static mlaf_status from_note(const mlaf_elf *e, const mlaf_elf_note *note, mlaf_kernel_meta *out, size_t max, size_t *n,
                             mlaf_err *err) {
  mlaf_mp m = {note->desc, note->desc + note->size};
  mlaf_mp_item top = mlaf_mp_next(&m);
  if (top.kind != MLAF_MP_MAP) return torn(err, "the metadata is no map");
  size_t count = 0;
  for (uint64_t i = 0; i < top.value; i++) {
    mlaf_mp_item key = mlaf_mp_next(&m);
    if (!mlaf_mp_is(&key, "amdhsa.kernels")) {
      if (key.kind != MLAF_MP_TEXT || !mlaf_mp_skip(&m)) return torn(err, "the metadata ends early");
      continue;
    }
    mlaf_mp_item list = mlaf_mp_next(&m);
    if (list.kind != MLAF_MP_ARRAY) return torn(err, "amdhsa.kernels is no array");
    for (uint64_t k = 0; k < list.value; k++, count++) {
      kernel one;
      if (!read_kernel(&m, &one)) return torn(err, "a kernel's metadata cannot be read");
      const char *fault = check_descriptor(e, &one);
      if (fault) return torn(err, fault);
      mlaf_status st = mlaf_code_launch(e->data, e->size, one.meta.symbol, &one.meta.launch, err);
      if (st) return st;
      if (count < max) out[count] = one.meta;
    }
  }
  *n = count;
  return MLAF_OK;
}

/* Hand-assembled code has no metadata: the descriptors say less, but enough to launch. Register counts come in the
 * granules of the hardware (8 of the unified file; accum_offset says where the AGPRs begin, in units of 4). */
static mlaf_status from_descriptors(const mlaf_elf *e, mlaf_kernel_meta *out, size_t max, size_t *n, mlaf_err *err) {
  mlaf_elf_section table;
  mlaf_elf_symbol s;
  descriptor d;
  size_t count = 0;
  if (!mlaf_elf_section_find(e, ".symtab", &table) && !mlaf_elf_section_find(e, ".dynsym", &table))
    return torn(err, "it has no symbols");
  for (uint64_t i = 0; mlaf_elf_symbol_at(e, &table, i, &s); i++) {
    size_t len = strlen(s.name);
    if (len < 4 || strcmp(s.name + len - 3, ".kd") != 0) continue;
    if (len - 3 >= sizeof out->symbol || !read_descriptor(e, s.value, &d)) return torn(err, "a kernel descriptor cannot be read");
    mlaf_kernel_meta k = {.scratch_bytes = d.scratch, .lds_bytes = d.lds, .kernarg_bytes = d.kernarg, .max_threads = 1024};
    memcpy(k.symbol, s.name, len - 3);
    uint32_t arch = ((d.rsrc3 & 63) + 1) * 4;
    k.vgpr_count = ((d.rsrc1 & 63) + 1) * 8;
    k.agpr_count = k.vgpr_count > arch ? k.vgpr_count - arch : 0;
    k.sgpr_count = ((d.rsrc1 >> 6 & 15) / 2 + 1) * 16;
    if (count < max) out[count] = k;
    count++;
  }
  *n = count;
  return MLAF_OK;
}

mlaf_status mlaf_code_meta(const void *code, size_t size, mlaf_kernel_meta *out, size_t max, size_t *n, mlaf_err *err) {
  const void *image;
  size_t image_size;
  mlaf_elf elf;
  mlaf_elf_note note;
  if (!code || !n || (max && !out))
    return mlaf_fail(err, MLAF_E_ARG, "mlaf_code_meta needs a code object and room for its answer");
  if (mlaf_vendor_is_code(code, size)) return mlaf_vendor_meta(code, size, out, max, n, err);
  mlaf_status status = mlaf_code_object_find(NULL, code, size, &image, &image_size, err);
  if (status == MLAF_OK) status = mlaf_elf_open(image, image_size, &elf, err);
  if (status != MLAF_OK) return status;
  if (elf.machine == MLAF_MACHINE_CUDA) return mlaf_cubin_meta(&elf, out, max, n, err);
  if (elf.machine != EM_AMDGPU)
    return mlaf_fail(err, MLAF_E_ARG, "an ELF file for machine %u, not an AMD GPU code object", elf.machine);
  if (!elf.shnum) return torn(err, "it has no section headers");
  /* twice: all of it is checked before the first of the caller's entries is written */
  size_t count = 0;
  bool noted = mlaf_elf_note_find(&elf, "AMDGPU", NOTE_METADATA, &note);
  for (size_t room = 0;; room = max) {
    status = noted ? from_note(&elf, &note, out, room, &count, err) : from_descriptors(&elf, out, room, &count, err);
    if (status != MLAF_OK) return status;
    if (room == max) break;
  }
  *n = count;
  return MLAF_OK;
}
