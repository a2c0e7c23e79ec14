/* Kernel resources from code objects, and what damaged ones do: an error, never a crash. Run under ASan in CI. */
#include <elf.h>

#include "compile/elf.h"
#include "compile/msgpack.h"
#include "compile/wire.h"
#include "compile_fixture.h"

#define TWO_KERNELS                                                                                                   \
  "typedef float f4 __attribute__((ext_vector_type(4)));\ntypedef short s4 __attribute__((ext_vector_type(4)));\n"    \
  "extern \"C\" __global__ __launch_bounds__(256) void first(float* o, const s4* a) {\n"                              \
  "  f4 c = {0, 0, 0, 0};\n  for (int i = 0; i < 16; i++)\n"                                                          \
  "    c = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a[i], a[i + 64], c, 0, 0, 0);\n"                                 \
  "  for (int i = 0; i < 4; i++) o[i] = c[i];\n}\n"                                                                   \
  "extern \"C\" __global__ __launch_bounds__(64) void second(volatile int* o, int n) {\n"                             \
  "  __shared__ int t[1000];\n  int big[200];\n  for (int i = 0; i < 200; i++) big[i] = o[i];\n"                      \
  "  t[threadIdx.x] = big[n];\n  __syncthreads();\n  o[0] = t[n] + big[n / 2];\n}\n"

/* One real code object for all tests of this file. */
static mlaf_compile_job sample;

static int compile_sample(void **state) {
  need_compiler("gfx942");
  mlaf_compiler *c = open_compiler(NULL, 1, 0, NULL);
  sample = make_job(TWO_KERNELS);
  mlaf_status status = mlaf_compile(c, &sample, 1, NULL, NULL, NULL);
  mlaf_compiler_close(c);
  return status == MLAF_OK && sample.status == MLAF_OK ? 0 : -1;
}

static int clear_sample(void **state) {
  mlaf_compile_job_clear(&sample);
  return 0;
}

TEST(both_kernels_state_their_resources) {
  mlaf_kernel_meta m[4];
  size_t n = 0;
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_code_meta(sample.code, sample.code_size, m, 4, &n, &err) != MLAF_OK) fail_msg("%s", err.text);
  assert_int_equal(n, 2);
  const mlaf_kernel_meta *first = strcmp(m[0].symbol, "first") == 0 ? &m[0] : &m[1], *second = first == m ? &m[1] : m;
  assert_string_equal(first->symbol, "first");
  assert_string_equal(second->symbol, "second");
  assert_int_equal(first->max_threads, 256);
  assert_int_equal(first->lds_bytes, 0);
  assert_int_equal(first->scratch_bytes, 0);
  assert_true(first->vgpr_count >= 4 && first->vgpr_count <= 512 && first->agpr_count <= first->vgpr_count);
  assert_int_equal(second->max_threads, 64);
  assert_int_equal(second->lds_bytes, 4000);
  assert_true(second->scratch_bytes >= 800); /* the indexed array lives in scratch: the tuner must see that */
  assert_true(first->kernarg_bytes >= 16 && second->kernarg_bytes >= 12);

  mlaf_kernel_meta one = {.symbol = "guard"};
  assert_int_equal(mlaf_code_meta(sample.code, sample.code_size, NULL, 0, &n, NULL), MLAF_OK); /* just the count */
  assert_int_equal(n, 2);
  assert_int_equal(mlaf_code_meta(sample.code, sample.code_size, &one, 1, &n, NULL), MLAF_OK);
  assert_string_equal(one.symbol, m[0].symbol);
}

/* Assembled by hand, no metadata note: the descriptor alone must do. */
TEST(descriptors_do_where_there_is_no_note) {
  static const char source[] =
      ".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n.text\n.globl hand\n.p2align 8\n.type hand,@function\nhand:\n  s_endpgm\n"
      ".section .rodata\n.p2align 6\n.amdhsa_kernel hand\n  .amdhsa_next_free_vgpr 40\n  .amdhsa_next_free_sgpr 16\n"
      "  .amdhsa_accum_offset 32\n  .amdhsa_group_segment_fixed_size 512\n  .amdhsa_kernarg_size 24\n.end_amdhsa_kernel\n";
  mlaf_compiler *c = open_compiler(NULL, 1, 0, NULL);
  void *code;
  size_t size, n = 0;
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_assemble(c, "gfx942", source, &code, &size, &err) != MLAF_OK) fail_msg("%s", err.text);
  mlaf_kernel_meta m = {.symbol = ""};
  if (mlaf_code_meta(code, size, &m, 1, &n, &err) != MLAF_OK) fail_msg("%s", err.text);
  assert_int_equal(n, 1);
  assert_string_equal(m.symbol, "hand");
  assert_int_equal(m.vgpr_count, 40);
  assert_int_equal(m.agpr_count, 8);
  assert_int_equal(m.lds_bytes, 512);
  assert_int_equal(m.kernarg_bytes, 24);
  assert_int_equal(m.scratch_bytes, 0);
  free(code);
  mlaf_compiler_close(c);
}

static uint32_t next_random(uint32_t *x) { return *x = *x * 1664525u + 1013904223u; }

/* Bytes at the very end of a heap block, so that ASan sees any read behind them. */
static mlaf_status meta_of_copy(const void *bytes, size_t size, mlaf_kernel_meta *m, size_t *n) {
  char *copy = malloc(size ? size : 1);
  if (size) memcpy(copy, bytes, size);
  mlaf_status status = mlaf_code_meta(copy, size, m, 4, n, NULL);
  free(copy);
  return status;
}

TEST(damaged_code_objects_are_errors_not_crashes) {
  unsigned char *bytes = malloc(sample.code_size);
  uint32_t x = 2024;
  int refused = 0;
  for (int round = 0; round < 2000; round++) {
    memcpy(bytes, sample.code, sample.code_size);
    int flips = 1 + (int)(next_random(&x) >> 8) % 8;
    for (int i = 0; i < flips; i++) { /* half of them where the structure is: headers, notes, symbols */
      size_t range = round % 2 ? sample.code_size : 0x800;
      bytes[(next_random(&x) >> 4) % range] = (unsigned char)(next_random(&x) >> 16);
    }
    mlaf_kernel_meta m[4] = {{.symbol = "untouched"}};
    size_t n = 99;
    if (meta_of_copy(bytes, sample.code_size, m, &n) != MLAF_OK) { /* on failure nothing is written */
      refused++;
      assert_string_equal(m[0].symbol, "untouched");
      assert_int_equal(n, 99);
    }
  }
  print_message("2000 mutations: %d refused, the others hit bytes that the metadata does not depend on\n", refused);
  assert_true(refused > 200);
  free(bytes);
}

TEST(every_torn_length_is_refused) {
  for (size_t size = 0; size < sample.code_size; size += size < 4096 ? 1 : 13) {
    mlaf_kernel_meta m[4];
    size_t n;
    if (meta_of_copy(sample.code, size, m, &n) == MLAF_OK) fail_msg("%zu of %zu bytes passed", size, sample.code_size);
  }
}

TEST(offload_bundles_are_opened) {
  static const char id[] = "hipv4-amdgcn-amd-amdhsa--gfx942", host[] = "host-x86_64-unknown-linux-gnu-";
  mlaf_text b = MLAF_TEXT_INIT(1 << 20);
  uint64_t head = 24 + 8 + 24 + strlen(host) + 24 + strlen(id), count = 2, zero = 0, len = strlen(host), size = sample.code_size;
  mlaf_text_str(&b, "__CLANG_OFFLOAD_BUNDLE__");
  mlaf_text_add(&b, &count, 8);
  mlaf_text_add(&b, &head, 8);
  mlaf_text_add(&b, &zero, 8);
  mlaf_text_add(&b, &len, 8);
  mlaf_text_str(&b, host);
  len = strlen(id);
  mlaf_text_add(&b, &head, 8);
  mlaf_text_add(&b, &size, 8);
  mlaf_text_add(&b, &len, 8);
  mlaf_text_str(&b, id);
  assert_int_equal(b.len, head);
  mlaf_text_add(&b, sample.code, size);
  const void *code;
  size_t code_size, n;
  mlaf_kernel_meta m[4];
  assert_int_equal(mlaf_code_object_find("gfx942", b.data, b.len, &code, &code_size, NULL), MLAF_OK);
  assert_int_equal(code_size, size);
  assert_memory_equal(code, sample.code, size);
  assert_int_equal(mlaf_code_meta(b.data, b.len, m, 4, &n, NULL), MLAF_OK);
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_code_object_find("gfx94", b.data, b.len, &code, &code_size, &err), MLAF_E_ARG);
  assert_int_equal(mlaf_code_object_find("gfx90a", b.data, b.len, &code, &code_size, &err), MLAF_E_ARG);
  for (size_t cut = 0; cut < b.len; cut += cut < head ? 1 : 97)
    if (meta_of_copy(b.data, cut, m, &n) == MLAF_OK) fail_msg("a bundle cut to %zu bytes passed", cut);
  mlaf_text_free(&b);
}

TEST(other_files_are_named_for_what_they_are) {
  size_t n;
  mlaf_kernel_meta m;
  mlaf_err err = {MLAF_OK, ""};
  Elf64_Ehdr host = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB}, .e_machine = EM_X86_64};
  assert_int_equal(mlaf_code_meta(&host, sizeof host, &m, 1, &n, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "machine 62"));
  assert_int_equal(mlaf_code_meta("", 0, &m, 1, &n, &err), MLAF_E_ARG);
  assert_int_equal(mlaf_code_meta("CCOB0000", 8, &m, 1, &n, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "compressed"));
}

TEST(msgpack_reads_every_form) {
  static const struct {
    const char *bytes;
    size_t size;
    mlaf_mp_kind kind;
    uint64_t value;
  } cases[] = {
      {"\x05", 1, MLAF_MP_INT, 5},
      {"\xff", 1, MLAF_MP_INT, UINT64_MAX},
      {"\xcc\x80", 2, MLAF_MP_INT, 128},
      {"\xcd\x01\x02", 3, MLAF_MP_INT, 0x102},
      {"\xce\x01\x02\x03\x04", 5, MLAF_MP_INT, 0x1020304},
      {"\xcf\x01\x02\x03\x04\x05\x06\x07\x08", 9, MLAF_MP_INT, 0x102030405060708},
      {"\xd0\x80", 2, MLAF_MP_INT, (uint64_t)-128},
      {"\xd1\xff\xfe", 3, MLAF_MP_INT, (uint64_t)-2},
      {"\xd2\xff\xff\xff\xfd", 5, MLAF_MP_INT, (uint64_t)-3},
      {"\xc0", 1, MLAF_MP_NIL, 0},
      {"\xc2", 1, MLAF_MP_BOOL, 0},
      {"\xc3", 1, MLAF_MP_BOOL, 1},
      {"\xca\x00\x00\x00\x00", 5, MLAF_MP_FLOAT, 0},
      {"\xa2hi", 3, MLAF_MP_TEXT, 2},
      {"\xd9\x02hi", 4, MLAF_MP_TEXT, 2},
      {"\xda\x00\x02hi", 5, MLAF_MP_TEXT, 2},
      {"\xdb\x00\x00\x00\x02hi", 7, MLAF_MP_TEXT, 2},
      {"\xc4\x02hi", 4, MLAF_MP_BYTES, 2},
      {"\xc7\x02\x01hi", 5, MLAF_MP_BYTES, 2},
      {"\xd5\x01hi", 4, MLAF_MP_BYTES, 2},
      {"\x92\x01\x02", 3, MLAF_MP_ARRAY, 2},
      {"\xdc\x00\x02\x01\x02", 5, MLAF_MP_ARRAY, 2},
      {"\xdd\x00\x00\x00\x02\x01\x02", 7, MLAF_MP_ARRAY, 2},
      {"\x81\x01\x02", 3, MLAF_MP_MAP, 1},
      {"\xde\x00\x01\x01\x02", 5, MLAF_MP_MAP, 1},
      {"\xdf\x00\x00\x00\x01\x01\x02", 7, MLAF_MP_MAP, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    unsigned char *heap = malloc(cases[i].size); /* exact size: ASan sees a read behind it */
    memcpy(heap, cases[i].bytes, cases[i].size);
    mlaf_mp m = {heap, heap + cases[i].size};
    mlaf_mp_item item = mlaf_mp_next(&m);
    if (item.kind != cases[i].kind || (item.kind != MLAF_MP_FLOAT && item.value != cases[i].value)) fail_msg("case %zu", i);
    if (item.kind == MLAF_MP_TEXT || item.kind == MLAF_MP_BYTES) assert_memory_equal(item.text, "hi", 2);
    m.p = heap;
    assert_true(mlaf_mp_skip(&m));
    assert_ptr_equal(m.p, heap + cases[i].size);
    for (size_t cut = 0; cut < cases[i].size; cut++) { /* torn anywhere: refused */
      mlaf_mp torn = {heap, heap + cut};
      assert_false(mlaf_mp_skip(&torn));
    }
    free(heap);
  }
  unsigned char deep[4096];
  memset(deep, 0x91, sizeof deep); /* an array of an array of ...: no recursion, so no stack to blow */
  mlaf_mp m = {deep, deep + sizeof deep};
  assert_false(mlaf_mp_skip(&m));
  static const unsigned char huge[] = {0xdd, 0xff, 0xff, 0xff, 0xff, 0x01}; /* claims 4 G entries in one byte */
  m = (mlaf_mp){huge, huge + sizeof huge};
  assert_int_equal(mlaf_mp_next(&m).kind, MLAF_MP_BAD);
}

TEST(wire_messages_survive_and_torn_ones_do_not) {
  mlaf_wire_field in[3] = {{"gfx942", 6}, {"", 0}, {"source", 6}}, out[MLAF_WIRE_FIELDS];
  mlaf_text message = MLAF_TEXT_INIT(4096);
  mlaf_wire_encode(&message, MLAF_WIRE_COMPILE, 7, in, 3);
  mlaf_wire_header h;
  memcpy(&h, message.data, sizeof h);
  assert_true(mlaf_wire_header_ok(&h));
  assert_int_equal(h.status, 7);
  assert_int_equal(h.size, message.len - sizeof h);
  assert_true(mlaf_wire_decode(&h, message.data + sizeof h, out));
  for (int i = 0; i < 3; i++) {
    assert_int_equal(out[i].size, in[i].size);
    assert_memory_equal(out[i].data, in[i].data, in[i].size);
  }
  for (uint64_t size = 0; size < h.size; size++) {
    mlaf_wire_header cut = h;
    cut.size = size;
    char *heap = malloc(size + 1);
    memcpy(heap, message.data + sizeof h, size);
    assert_false(mlaf_wire_decode(&cut, heap, out));
    free(heap);
  }
  h.magic++;
  assert_false(mlaf_wire_header_ok(&h));
  mlaf_text_free(&message);
}

TESTS(compile_sample, clear_sample)
