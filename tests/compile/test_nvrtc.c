/* NVRTC behind mlaf_compile: targets "sm_*" become cubins, by a worker or in this process, cached under NVRTC's own
 * identity, beside AMD kernels in one batch. */
#include "compile/compile_fixture.h"
#include "compile/elf.h"
#include "compile/internal.h"

enum { MACHINE_CUDA = 190 };

/* wgmma exists on sm_90a alone: sm_90 and a forgotten "a" are refused. */
#define HOPPER                                                                                   \
  "struct args { float* o; const float* a; float f; };\n"                                        \
  "extern \"C\" __device__ const unsigned scale_dynamic_shared = 1024;\n"                        \
  "extern \"C\" __global__ void scale(const args p) {\n"                                         \
  "  extern __shared__ float t[];\n"                                                             \
  "  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"                              \
  "  t[threadIdx.x] = p.a[threadIdx.x];\n"                                                       \
  "  __syncthreads();\n"                                                                         \
  "  p.o[threadIdx.x] = p.f * t[blockDim.x - 1 - threadIdx.x];\n}\n"

static const char *const cuda_options[] = {"--std=c++17", NULL};

static mlaf_compile_job cuda_job(const char *source, const char *target) {
  return (mlaf_compile_job){.source = source, .options = cuda_options, .target = target, .name = "scale"};
}

static bool has_symbol(const mlaf_compile_job *job, const char *name) {
  mlaf_elf elf;
  mlaf_elf_section table;
  mlaf_elf_symbol s;
  assert_int_equal(mlaf_elf_open(job->code, job->code_size, &elf, NULL), MLAF_OK);
  assert_int_equal(elf.machine, MACHINE_CUDA);
  assert_true(mlaf_elf_section_find(&elf, ".symtab", &table));
  for (uint64_t i = 0; mlaf_elf_symbol_at(&elf, &table, i, &s); i++)
    if (!strcmp(s.name, name)) return true;
  return false;
}

TEST(a_cubin_comes_out_and_is_cached) {
  need_compiler("sm_90a");
  char *cache = make_folder();
  mlaf_compiler *c = open_compiler(cache, 2, 0, NULL);
  mlaf_compile_job first = cuda_job(HOPPER, "sm_90a"), again = first, other = cuda_job(HOPPER, "sm_90");
  assert_int_equal(mlaf_compile(c, &first, 1, NULL, NULL, NULL), MLAF_OK);
  assert_compiled(&first);
  assert_false(first.cached);
  assert_true(has_symbol(&first, "scale"));
  assert_true(has_symbol(&first, "scale_dynamic_shared")); /* nobody refers to it, and it must stay */
  assert_int_equal(mlaf_compile(c, &again, 1, NULL, NULL, NULL), MLAF_OK);
  assert_true(again.cached);
  assert_string_equal(first.key, again.key);
  assert_int_equal(first.code_size, again.code_size);
  assert_memory_equal(first.code, again.code, first.code_size);
  assert_int_equal(mlaf_compile(c, &other, 1, NULL, NULL, NULL), MLAF_OK);
  assert_int_equal(other.status, MLAF_E_COMPILE);
  assert_non_null(strstr(other.log, "wgmma"));
  assert_int_equal(stats_of(c).compiled, 1);
  mlaf_compile_job_clear(&first);
  mlaf_compile_job_clear(&again);
  clear_and_close(&other, c);
  remove_tree(cache);
}

/* The cubin's facts of a kernel that uses some of everything. */
TEST(resources_of_a_cubin) {
  need_compiler("sm_90a");
  static const char *const source =
      "struct args { float* o; const int* i; int n; };\n"
      "extern \"C\" __global__ void __launch_bounds__(96) greedy(const args p) {\n"
      "  __shared__ float t[300]; float big[500];\n"
      "  for (int k = 0; k < p.n; k++) big[p.i[k]] = p.o[k];\n"
      "  t[threadIdx.x] = big[p.i[threadIdx.x]]; __syncthreads();\n"
      "  p.o[threadIdx.x] = t[95 - threadIdx.x] + big[p.i[7]];\n}\n"
      "extern \"C\" __global__ void modest(int* o) { *o = 1; }\n";
  static const char *const targets[] = {"sm_90a", "sm_80"};
  mlaf_compiler *c = open_compiler(NULL, 1, 0, NULL);
  for (int i = 0; i < 2; i++) {
    mlaf_compile_job job = cuda_job(source, targets[i]);
    mlaf_kernel_meta m[2];
    size_t n = 0;
    assert_int_equal(mlaf_compile(c, &job, 1, NULL, NULL, NULL), MLAF_OK);
    assert_compiled(&job);
    assert_int_equal(mlaf_code_meta(job.code, job.code_size, m, 2, &n, NULL), MLAF_OK);
    assert_int_equal(n, 2);
    const int first = strcmp(m[0].symbol, "greedy") != 0; /* in whatever order */
    const mlaf_kernel_meta *greedy = &m[first], *modest = &m[!first];
    assert_string_equal(greedy->symbol, "greedy");
    assert_string_equal(modest->symbol, "modest");
    assert_int_equal(greedy->lds_bytes, 1200);
    assert_int_equal(greedy->scratch_bytes, 2000);
    assert_int_equal(greedy->kernarg_bytes, 24);
    assert_int_equal(greedy->max_threads, 96);
    assert_true(greedy->vgpr_count > modest->vgpr_count && greedy->vgpr_count <= 255 && modest->vgpr_count > 0);
    assert_int_equal(modest->lds_bytes, 0);
    assert_int_equal(modest->scratch_bytes, 0);
    assert_int_equal(modest->kernarg_bytes, 8);
    for (size_t size = 0; size < job.code_size; size += 61) { /* cut anywhere: refused or fewer, never a crash */
      void *cut = malloc(size + 1);
      memcpy(cut, job.code, size);
      mlaf_code_meta(cut, size, m, 2, &n, NULL);
      free(cut);
    }
    mlaf_compile_job_clear(&job);
  }
  mlaf_compiler_close(c);
}

/* The same bytes and the same key, whether a worker compiles or this process. Not with sanitizers: what NVRTC does with memory is
 * not ours to judge. */
static void in_this_process(void **state) {
  need_compiler("sm_90a");
  mlaf_compiler *here = NULL, *there = open_compiler(NULL, 1, 0, NULL);
  const mlaf_compiler_opts opts = {.no_cache = true, .in_process = true};
  assert_int_equal(mlaf_compiler_open(&opts, NULL, &here, NULL), MLAF_OK);
  mlaf_compile_job a = cuda_job(HOPPER, "sm_90a"), b = a;
  assert_int_equal(mlaf_compile(here, &a, 1, NULL, NULL, NULL), MLAF_OK);
  assert_int_equal(mlaf_compile(there, &b, 1, NULL, NULL, NULL), MLAF_OK);
  assert_compiled(&a);
  assert_compiled(&b);
  assert_string_equal(a.key, b.key);
  assert_int_equal(a.code_size, b.code_size);
  assert_memory_equal(a.code, b.code, a.code_size);
  mlaf_compile_job_clear(&a);
  clear_and_close(&b, here);
  mlaf_compiler_close(there);
}

/* A fault of a source or an option is the kernel's; an unknown target is what this compiler cannot do. */
TEST(errors_are_the_compilers_own) {
  need_compiler("sm_90a");
  static const char *const strange[] = {"--no-such-option", NULL};
  mlaf_compiler *c = open_compiler(NULL, 2, 0, NULL);
  mlaf_compile_job jobs[3] = {cuda_job("extern \"C\" __global__ void f() { undefined_thing(); }\n", "sm_90a"),
                              cuda_job(HOPPER, "sm_90a"), cuda_job(HOPPER, "sm_nothing")};
  jobs[1].options = strange;
  assert_int_equal(mlaf_compile(c, jobs, 3, NULL, NULL, NULL), MLAF_E_NO_COMPILER);
  static const char *const says[] = {"kernel.cu(1): error: identifier \"undefined_thing\"", "no-such-option", "arch"};
  assert_non_null(strstr(jobs[2].log, "fails on an empty kernel for sm_nothing"));
  for (int i = 0; i < 3; i++) {
    assert_int_equal(jobs[i].status, i == 2 ? MLAF_E_NO_COMPILER : MLAF_E_COMPILE);
    if (!strstr(jobs[i].log, says[i])) fail_msg("'%s' does not say '%s'", jobs[i].log, says[i]);
    assert_null(jobs[i].code);
    mlaf_compile_job_clear(&jobs[i]);
  }
  mlaf_err err = {MLAF_OK, ""};
  char *text = NULL;
  assert_int_equal(mlaf_disassemble(c, "sm_90a", "code", 4, &text, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "cuobjdump"));
  mlaf_compiler_close(c);
}

/* Kernels of both vendors in one batch with one worker process: each gets its own compiler. */
TEST(both_vendors_in_one_batch) {
  need_compiler("sm_90a");
  need_compiler("gfx942");
  for (int jobs = 1; jobs <= 2; jobs++) {
    mlaf_compiler *c = open_compiler(NULL, jobs, 0, NULL);
    mlaf_compile_job all[4] = {cuda_job(HOPPER, "sm_90a"), make_job(KERNEL), cuda_job("// 2\n" HOPPER, "sm_90a"),
                               make_job("// 2\n" KERNEL)};
    mlaf_err err = {MLAF_OK, ""};
    if (mlaf_compile(c, all, 4, NULL, NULL, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < 4; i++) {
      mlaf_elf elf;
      assert_compiled(&all[i]);
      assert_int_equal(mlaf_elf_open(all[i].code, all[i].code_size, &elf, NULL), MLAF_OK);
      assert_int_equal(elf.machine, i % 2 ? 224 : MACHINE_CUDA);
      mlaf_compile_job_clear(&all[i]);
    }
    assert_int_equal(stats_of(c).compiled, 4);
    mlaf_compiler_close(c);
  }
}

TEST(identity_and_absence) {
  const char *id = NULL;
  mlaf_err err = {MLAF_OK, ""};
  mlaf_compiler *c = open_compiler(NULL, 1, 0, NULL);
  setenv("MLAF_NVRTC", "/nonexistent", 1);
  assert_int_equal(mlaf_compiler_identity_for(c, "sm_90a", &id, &err), MLAF_E_NO_COMPILER);
  assert_non_null(strstr(err.text, "'/nonexistent' (from MLAF_NVRTC)"));
  mlaf_compile_job job = cuda_job(HOPPER, "sm_90a");
  assert_int_equal(mlaf_compile(c, &job, 1, NULL, NULL, &err), MLAF_E_NO_COMPILER);
  assert_int_equal(job.status, MLAF_E_NO_COMPILER);
  mlaf_compile_job_clear(&job);
  unsetenv("MLAF_NVRTC");
  assert_null(id);
  need_compiler("sm_90a");
  assert_int_equal(mlaf_compiler_identity_for(c, "sm_90a", &id, NULL), MLAF_OK);
  print_message("%s\n", id);
  assert_memory_equal(id, "nvrtc 1", 7);
  assert_non_null(strstr(id, " build-id "));
  mlaf_compiler_close(c);
}

/* The library asks NVRTC for nothing but compiling; a worker that is asked for more says so. */
TEST(a_worker_only_compiles) {
  need_compiler("sm_90a");
  mlaf_err err = {MLAF_OK, ""};
  mlaf_compiler *c = open_compiler(NULL, 1, 0, NULL);
  const mlaf_wire_field fields[3] = {{"sm_90a", 6}, {"", 0}, {HOPPER, strlen(HOPPER)}};
  mlaf_answer out = {NULL, 0, NULL, 0};
  assert_int_equal(mlaf_compiler_request(c, MLAF_WIRE_ASSEMBLE, fields, &out, &err), MLAF_E_INTERNAL);
  if (!strstr(err.text, "is none for NVRTC")) fail_msg("%s", err.text);
  free(out.log);
  mlaf_compiler_close(c);
}

int main(void) {
  const struct CMUnitTest unsanitized[] = {cmocka_unit_test(in_this_process)};
  const int failed = SANITIZED ? 0 : cmocka_run_group_tests(unsanitized, NULL, NULL);
  return failed + tests_run(NULL, NULL);
}
