/* The hip back end against a HIP runtime over the emulator (fakehip.c), and its symbols against a real one. */
#include <dlfcn.h>
#include <elf.h>
#include <glob.h>
#include <sys/stat.h>

#include "check/verify.h"
#include "fake/fake_test.h"
#include "hip/hip_life.h"
#include "mlaforge/mlaforge.h"
#include "point.h"

static void use_fake(const char *which) {
  char file[64];
  snprintf(file, sizeof file, "fakehip/libamdhip64_%s.so", which);
  fake_use("MLAF_HIP_LIBRARY", file, "FAKEHIP");
  setenv("MLAF_CUDA_LIBRARY", "/nonexistent", 1); /* "auto" is tested here without an NVIDIA GPU, on any machine */
}

TEST(absent_or_foreign_library) {
  setenv("MLAF_HIP_LIBRARY", "/nonexistent/libamdhip64.so.6", 1);
  expect_no_device("hip", "MLAF_HIP_LIBRARY: /nonexistent");
  setenv("MLAF_HIP_LIBRARY", "libm.so.6", 1);
  expect_no_device("hip", "libm.so.6 has no function hip");
  unsetenv("MLAF_HIP_LIBRARY");
  void *installed = dlopen("libamdhip64.so.6", RTLD_NOW | RTLD_LOCAL);
  if (installed || !access("/opt/rocm/lib", R_OK)) return; /* a machine with ROCm: nothing is absent here */
  expect_no_device("hip", "libamdhip64.so.6 not found");
  expect_no_device("hip", "install ROCm, set MLAF_HIP_LIBRARY, or use --device emu:gfx942");
}

TEST(no_gpu) {
  use_fake("fakehip6");
  setenv("FAKEHIP_DEVICES", "0", 1);
  expect_no_device("hip", "hipErrorNoDevice (100): no ROCm-capable device is detected");
  expect_no_device("hip", "/dev/kfd");
  setenv("FAKEHIP_DEVICES", "2", 1);
  expect_no_device("hip:2", "hip:2 asked for");
  expect_no_device("hip:2", "2 devices");
  mlaf_device *dev = open_device("hip:1");
  mlaf_device_close(dev);
}

TEST(specs) {
  static const struct {
    const char *spec;
    mlaf_status status;
  } bad[] = {{"hip:", MLAF_E_ARG},       {"hip:x", MLAF_E_ARG},      {"hip:-1", MLAF_E_ARG},
             {"hip:1234", MLAF_E_ARG},   {"hipp", MLAF_E_NO_DEVICE}, {"", MLAF_E_NO_DEVICE},
             {"none", MLAF_E_NO_DEVICE}, {"emu", MLAF_E_NO_DEVICE},  {"emu:gfx900", MLAF_E_NO_DEVICE}};
  use_fake("fakehip6");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    mlaf_device *dev = NULL;
    mlaf_err err = {MLAF_OK, ""};
    assert_int_equal(mlaf_device_open(bad[i].spec, NULL, &dev, &err), bad[i].status);
    assert_non_null(strstr(err.text, bad[i].spec));
    assert_null(dev);
  }
  static const char *const good[] = {"hip", "hip:0", "auto", NULL};
  for (int i = 0; i < 4; i++) {
    mlaf_device *dev = open_device(good[i]);
    assert_string_equal(mlaf_ops(dev)->name, "hip");
    mlaf_device_close(dev);
  }
}

typedef struct lines {
  char text[4096];
} lines;
static void keep_line(void *user, mlaf_log_level level, const char *line) {
  lines *l = user;
  snprintf(l->text + strlen(l->text), sizeof l->text - strlen(l->text), "%s\n", line);
}

/* auto is a GPU or an error that says what was tried, why each failed and what to do: it never serves emulated. */
TEST(auto_without_gpu) {
  use_fake("fakehip6");
  setenv("FAKEHIP_DEVICES", "0", 1);
  lines kept = {""};
  const mlaf_log log = {keep_line, &kept, MLAF_LOG_INFO};
  mlaf_device *dev = NULL;
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_device_open("auto", &log, &dev, &err), MLAF_E_NO_DEVICE);
  assert_null(dev);
  assert_non_null(strstr(kept.text, "not hip:"));
  assert_non_null(strstr(kept.text, "not cuda:"));
  static const char *const says[] = {"auto found no GPU", "emulator by name: \"emu:gfx942\"", "hip: ", "hipErrorNoDevice (100)",
                                     "/dev/kfd", "cuda: MLAF_CUDA_LIBRARY: /nonexistent"};
  for (int i = 0; i < 6; i++)
    if (!strstr(err.text, says[i])) fail_msg("'%s' does not say '%s'", err.text, says[i]);
  mlaf_ctx *ctx = NULL;
  char why[4096] = "";
  assert_int_equal(mlaf_ctx_create(NULL, &ctx, why, sizeof why), MLAF_E_NO_DEVICE);
  assert_null(ctx);
  assert_string_equal(why, err.text);
}

static void write_file(const char *root, const char *path, const char *text) {
  char full[512];
  snprintf(full, sizeof full, "%s/%s", root, path);
  for (char *s = full + strlen(root) + 1; (s = strchr(s, '/')); s++) {
    *s = 0;
    mkdir(full, 0700);
    *s = '/';
  }
  FILE *f = fopen(full, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

TEST(partitions_from_sysfs) {
  char root[] = "/tmp/mlaf-sysfs-XXXXXX", clean[64];
  assert_non_null(mkdtemp(root));
  mlaf_hip_sysfs s;
  mlaf_hip_read_sysfs(root, "0000:c1:00.0", &s);
  assert_string_equal(s.compute, "?");
  assert_string_equal(s.memory, "?");
  assert_int_equal(s.xcc, 0);
  write_file(root, "bus/pci/devices/0000:c1:00.0/current_compute_partition", "CPX\n");
  write_file(root, "bus/pci/devices/0000:c1:00.0/current_memory_partition", "NPS4\n");
  write_file(root, "module/amdgpu/version", "6.8.5\n");
  write_file(root, "class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 96\nlocation_id 0\n");
  write_file(root, "class/kfd/kfd/topology/nodes/1/properties",
             "location_id 41472\ndomain 0\nnum_xcc 8\n"); /* a2:00.0 */
  write_file(root, "class/kfd/kfd/topology/nodes/2/properties",
             "num_xcc 1\nlocation_id 49408\ndomain 0\n"); /* c1:00.0 */
  write_file(root, "class/kfd/kfd/topology/nodes/2/caches/0/properties", "level 2\nsize 4096\n");
  write_file(root, "class/kfd/kfd/topology/nodes/2/caches/1/properties", "level 3\nsize 262144\n");
  mlaf_hip_read_sysfs(root, "0000:c1:00.0", &s);
  assert_string_equal(s.compute, "CPX");
  assert_string_equal(s.memory, "NPS4");
  assert_string_equal(s.driver, "6.8.5");
  assert_int_equal(s.xcc, 1);
  assert_int_equal(s.llc_bytes, 256 << 20);
  mlaf_hip_read_sysfs(root, "garbage", &s);
  assert_string_equal(s.compute, "?");
  snprintf(clean, sizeof clean, "rm -rf '%s'", root);
  assert_int_equal(system(clean), 0);
}

TEST(identity) {
  for (int rocm5 = 0; rocm5 < 2; rocm5++) {
    use_fake(rocm5 ? "fakehip5" : "fakehip6");
    mlaf_device *dev = open_device("hip");
    const mlaf_device_info *info = mlaf_info(dev);
    assert_string_equal(info->id,
                        rocm5 ? "gfx942:sramecc+:xnack-|cu304|xcc?|?|?" : "gfx942:sramecc+:xnack-|cu304|xcc8|?|?");
    assert_string_equal(info->target, "gfx942");
    assert_string_equal(info->full_target, "gfx942:sramecc+:xnack-");
    assert_string_equal(info->name, "Fake Instinct");
    assert_string_equal(info->place, "0000:c1:00.0");
    assert_int_equal(info->wave_size, 64);
    assert_int_equal(info->lds_bytes, 65536);
    assert_int_equal(info->mem_bytes, INT64_C(192) << 30);
    assert_int_equal(info->clock_mhz, 2100);
    assert_non_null(strstr(info->driver, "60443484"));
    mlaf_device_close(dev);
  }
}

/* Every call of the runtime, failing at its first and at its third use: the error names the call and the code, whatever
 * was made before is given back, and the next try works. */
TEST(every_call_may_fail) {
  static const char *const harmless[] = {
      "hipDeviceGetName", "hipDeviceGetPCIBusId", "hipDriverGetVersion", "hipRuntimeGetVersion",
      "hipStreamDestroy", "hipEventDestroy",      "hipModuleUnload",     "hipFree"};
  built b;
  mlaf_err err;
  use_fake("fakehip6");
  built_open(&b, "mla_decode:h4,r64,p32,q1,bf16,page16,b1,s16", NULL);
  assert_int_equal(hip_life(&b, &err), MLAF_OK);
  for (size_t i = 0; mlaf_hip_symbols[i]; i++) {
    const char *name = mlaf_hip_symbols[i];
    fake_reset();
    assert_int_equal(hip_life(&b, &err), MLAF_OK);
    int calls = fake_calls(name);
    for (int k = 1; k <= 3 && k <= calls; k += 2) {
      char spec[80];
      bool optional = false;
      fake_reset();
      snprintf(spec, sizeof spec, "%s:%d:777", name, k);
      setenv("FAKEHIP_FAIL", spec, 1);
      const int before = fake_int("fake_leaks");
      err = (mlaf_err){MLAF_OK, ""};
      mlaf_status st = hip_life(&b, &err);
      unsetenv("FAKEHIP_FAIL");
      for (size_t h = 0; h < sizeof harmless / sizeof *harmless; h++) optional |= !strcmp(name, harmless[h]);
      if (!strcmp(name, "hipDeviceGetAttribute") && k > 4) optional = true;
      if (!strcmp(name, "hipModuleLaunchKernel") && k > 1) optional = true; /* inside a capture: then one by one */
      if (st == MLAF_OK && !optional) fail_msg("call %d of %s failed and nobody noticed", k, name);
      if (st != MLAF_OK && !strstr(err.text, "777")) fail_msg("%s: '%s' does not name the code", name, err.text);
      if (fake_int("fake_leaks") != before) fail_msg("call %d of %s: leaks", k, name);
      assert_int_equal(hip_life(&b, &err), MLAF_OK);
    }
  }
  built_close(&b);
}

/* The whole way: compile, load through HIP, run every verification case, inject, time. */
TEST(kernels_run) {
  built b;
  use_fake("fakehip6");
  built_open(&b, "mla_decode:h5,r64,p32,q2,causal,bf16,page16,b2,s100", NULL);
  mlaf_device *dev = open_device("hip");
  mlaf_loaded *l = NULL;
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_build_load(&b.build, dev, pt(&b.problem), &l, &err)) fail_msg("%s", err.text);
  for (int inject = MLAF_INJECT_NONE; inject <= MLAF_INJECT_OOB_PAGE; inject++) {
    mlaf_suite *suite = NULL;
    mlaf_verify_result r;
    assert_int_equal(mlaf_suite_create(pt(&b.problem), 11, (mlaf_inject)inject, &suite, &err), MLAF_OK);
    if (mlaf_suite_run(suite, l, &r, &err)) fail_msg("%s", err.text);
    mlaf_suite_free(suite);
  }
  mlaf_bench *bench = NULL;
  mlaf_timing t = {.ns = 0};
  const mlaf_time_opts opts = {.warmup = 1, .min_samples = 5, .max_samples = 5, .min_window_ns = 1e6, .limit_s = 20};
  assert_int_equal(mlaf_bench_create(dev, pt(&b.problem), NULL, &bench, &err), MLAF_OK);
  if (mlaf_bench_time(bench, l, &opts, &t, &err)) fail_msg("%s", err.text);
  assert_int_equal(t.source, MLAF_TIME_MEASURED);
  assert_int_equal(t.samples, 5);
  assert_true(t.ns > 0 && t.p10_ns <= t.ns && t.ns <= t.p90_ns && t.mad_ns >= 0);
  assert_non_null(strstr(t.detail, "5 samples of"));
  assert_non_null(strstr(t.detail, ", graph of "));
  assert_true(fake_int("fakehip_graph_kernels") > 5);
  /* A candidate that is hopeless is given up after its first sample. */
  const mlaf_time_opts give_up = {
      .warmup = 0, .min_samples = 5, .max_samples = 5, .min_window_ns = 1, .limit_s = 20, .give_up_ns = 1};
  assert_int_equal(mlaf_bench_time(bench, l, &give_up, &t, &err), MLAF_OK);
  assert_int_equal(t.samples, 1);
  assert_non_null(strstr(t.detail, "given up"));
  mlaf_bench_free(bench);
  mlaf_loaded_close(l);
  mlaf_device_close(dev);
  built_close(&b);
}

/* Without graphs in the runtime, or where it cannot make one of these kernels, launches are timed one by one, and the result says
 * so; whatever was begun is ended and given back. */
TEST(timing_without_graphs) {
  static const char *const failures[] = {NULL, "hipStreamBeginCapture:1:801", "hipModuleLaunchKernel:2:900",
                                         "hipStreamEndCapture:1:901", "hipGraphInstantiate:2:801"};
  const mlaf_time_opts opts = {.warmup = 1, .min_samples = 3, .max_samples = 3, .min_window_ns = 1, .limit_s = 20, .sets = 2};
  for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
    built b;
    mlaf_loaded *l = NULL;
    mlaf_bench *bench = NULL;
    mlaf_timing t = {.ns = 0};
    mlaf_err err = {MLAF_OK, ""};
    use_fake(failures[i] ? "fakehip6" : "fakehip5");
    built_open(&b, "mla_decode:h4,r64,p32,q1,bf16,page16,b1,s16", NULL);
    mlaf_device *dev = open_device("hip");
    const int before = fake_int("fake_leaks");
    if (mlaf_build_load(&b.build, dev, pt(&b.problem), &l, &err)) fail_msg("%s", err.text);
    assert_int_equal(mlaf_bench_create(dev, pt(&b.problem), NULL, &bench, &err), MLAF_OK);
    fake_reset();
    if (failures[i]) setenv("FAKEHIP_FAIL", failures[i], 1);
    if (mlaf_bench_time(bench, l, &opts, &t, &err)) fail_msg("%s: %s", failures[i] ? failures[i] : "no graphs", err.text);
    unsetenv("FAKEHIP_FAIL");
    assert_int_equal(t.samples, 3);
    assert_true(t.ns > 0);
    if (!strstr(t.detail, ", launched one by one")) fail_msg("%s: %s", failures[i] ? failures[i] : "no graphs", t.detail);
    mlaf_bench_free(bench);
    mlaf_loaded_close(l);
    assert_int_equal(fake_int("fake_leaks"), before);
    mlaf_device_close(dev);
    built_close(&b);
  }
}

/* A launch makes exactly two runtime calls, neither of which allocates or waits: legal inside graph capture. */
TEST(a_launch_is_only_a_launch) {
  built b;
  use_fake("fakehip6");
  setenv("FAKEHIP_DEVICES", "2", 1);
  built_open(&b, "mla_decode:h4,r64,p32,q1,bf16,page16,b1,s16", NULL);
  mlaf_device *dev = open_device("hip:1");
  mlaf_loaded *l = NULL;
  mlaf_bench *bench = NULL;
  void *mem = NULL;
  assert_int_equal(mlaf_build_load(&b.build, dev, pt(&b.problem), &l, NULL), MLAF_OK);
  assert_int_equal(mlaf_ops(dev)->mem_alloc(dev, 1 << 20, &mem, NULL), MLAF_OK);
  assert_int_equal(mlaf_ops(dev)->mem_fill(dev, mem, 0, 1 << 20, NULL), MLAF_OK);
  char *at = mem;
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
  a.batch = 1;
  a.total_q = 1;
  a.q = at;
  a.ckv = at + 4096;
  a.qo_indptr = (int32_t *)(at + 8192);
  a.kv_indptr = a.kv_indices = a.kv_last_page_lens = a.qo_indptr;
  a.o = at + 16384;
  a.workspace = at + 32768;
  a.workspace_size = 1 << 19;
  a.num_pages = 1;
  a.scale = 1;
  uint32_t splits = mlaf_loaded_knob(l);
  fake_reset();
  assert_int_equal(mlaf_loaded_launch(l, splits, &a, NULL, NULL), MLAF_OK);
  int launches = splits > 1 ? 2 : 1;
  assert_int_equal(fake_calls("hipModuleLaunchKernel"), launches);
  assert_int_equal(fake_calls("hipGetDevice"), launches);
  assert_int_equal(fake_calls("hipSetDevice"), 2 * launches); /* this thread is on device 0: over and back */
  for (size_t i = 0; mlaf_hip_symbols[i]; i++)
    if (strcmp(mlaf_hip_symbols[i], "hipModuleLaunchKernel") && strcmp(mlaf_hip_symbols[i], "hipGetDevice") &&
        strcmp(mlaf_hip_symbols[i], "hipSetDevice"))
      assert_int_equal(fake_calls(mlaf_hip_symbols[i]), 0);
  /* The application's current device is what it was after everything, failing calls included. */
  int (*get)(int *), device = -1;
  fake_symbol("hipGetDevice", &get);
  assert_int_equal(get(&device), 0);
  assert_int_equal(device, 0);
  setenv("FAKEHIP_FAIL", "hipModuleLaunchKernel:2:719", 1);
  fake_reset();
  mlaf_loaded_launch(l, splits, &a, NULL, NULL);
  mlaf_loaded_launch(l, splits, &a, NULL, NULL);
  unsetenv("FAKEHIP_FAIL");
  assert_int_equal(get(&device), 0);
  assert_int_equal(device, 0);
  mlaf_ops(dev)->mem_free(dev, mem, NULL);
  mlaf_bench_free(bench);
  mlaf_loaded_close(l);
  mlaf_device_close(dev);
  built_close(&b);
}

TEST(bad_code_objects) {
  use_fake("fakehip6");
  mlaf_device *dev = open_device("hip");
  mlaf_module *m = NULL;
  mlaf_err err;
  char junk[256] = "not an elf";
  assert_int_equal(mlaf_ops(dev)->module_load(dev, junk, sizeof junk, &m, &err), MLAF_E_ARG);
  assert_int_equal(mlaf_ops(dev)->module_load(dev, junk, 3, &m, &err), MLAF_E_ARG);
  memset(junk, 0, sizeof junk);
  memcpy(junk, "\177ELF", 4);
  assert_int_equal(mlaf_ops(dev)->module_load(dev, junk, sizeof junk, &m, &err), MLAF_E_DEVICE);
  assert_non_null(strstr(err.text, "not for gfx942:sramecc+:xnack-"));
  assert_non_null(strstr(err.text, "hipErrorNoBinaryForGpu (209)"));
  assert_null(m);
  mlaf_device_close(dev);
}

/* --- symbols of a real library --- */

/* Is `name` a defined dynamic symbol of this ELF file? */
static bool exports(const char *elf, const char *name) {
  const Elf64_Ehdr *h = (const Elf64_Ehdr *)elf;
  const Elf64_Shdr *s = (const Elf64_Shdr *)(elf + h->e_shoff);
  for (int i = 0; i < h->e_shnum; i++) {
    if (s[i].sh_type != SHT_DYNSYM) continue;
    const Elf64_Sym *symbols = (const Elf64_Sym *)(elf + s[i].sh_offset);
    const char *strings = elf + s[s[i].sh_link].sh_offset;
    for (size_t k = 0; k < s[i].sh_size / sizeof *symbols; k++)
      if (symbols[k].st_shndx != SHN_UNDEF && !strcmp(strings + symbols[k].st_name, name)) return true;
  }
  return false;
}

static void find_real(char *out, size_t size) {
  const char *rocm = getenv("MLAF_ROCM"), *source = getenv("MLAF_SOURCE_DIR");
  const struct {
    const char *root, *rest;
  } places[] = {{rocm, "usr/lib/x86_64-linux-gnu/libamdhip64.so.*"},
                {rocm, "lib/libamdhip64.so.*"},
                {source, ".deps/rocm/usr/lib/x86_64-linux-gnu/libamdhip64.so.*"},
                {"/opt/rocm", "lib/libamdhip64.so.*"}};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    char pattern[600];
    glob_t found;
    if (!places[i].root) continue;
    snprintf(pattern, sizeof pattern, "%s/%s", places[i].root, places[i].rest);
    bool ok = !glob(pattern, 0, NULL, &found) && found.gl_pathc;
    if (ok) snprintf(out, size, "%s", found.gl_pathv[0]);
    globfree(&found);
    if (ok) return;
  }
  fail_msg("no libamdhip64 in MLAF_ROCM, .deps/rocm or /opt/rocm: run tools/setup.sh, or ctest -LE rocm");
}

TEST(real_library_has_every_symbol) {
  char path[600];
  void *elf;
  size_t size;
  find_real(path, sizeof path);
  assert_int_equal(mlaf_file_read(path, (size_t)1 << 28, &elf, &size, NULL), MLAF_OK);
  int n = 0;
  for (; mlaf_hip_symbols[n]; n++)
    if (!exports(elf, mlaf_hip_symbols[n])) fail_msg("%s has no %s", path, mlaf_hip_symbols[n]);
  assert_true(exports(elf, "hipGetDevicePropertiesR0600") || exports(elf, "hipGetDeviceProperties"));
  assert_false(exports(elf, "hipNoSuchFunction"));
  print_message("%d symbols found in %s\n", n, path);
  free(elf);
}

/* The real runtime, opened by this back end, through its own loader if its prefix has one: without a GPU it says so in its own
 * words. With one it opens. Not with sanitizers: their run-time does not follow into another loader. */
static void real_runtime_is_asked(void **state) {
  char lib[600], self[512] = "", loader[640], command[2400], answer[4096];
  find_real(lib, sizeof lib);
  *strrchr(lib, '/') = 0;
  assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  unsetenv("MLAF_HIP_LIBRARY");
  snprintf(loader, sizeof loader, "%s/ld-linux-x86-64.so.2", lib);
  if (access(loader, X_OK) == 0)
    snprintf(command, sizeof command, "'%s' --library-path '%s:/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu' '%s' probe 2>&1",
             loader, lib, self);
  else snprintf(command, sizeof command, "MLAF_HIP_LIBRARY='%s/libamdhip64.so' '%s' probe 2>&1", lib, self);
  FILE *p = popen(command, "r");
  assert_non_null(p);
  answer[fread(answer, 1, sizeof answer - 1, p)] = 0;
  pclose(p);
  print_message("%s", answer);
  assert_true(strstr(answer, "hipErrorNoDevice (100)") || strstr(answer, "opened gfx"));
  assert_non_null(strstr(answer, "libamdhip64.so"));
}

static int probe(void) {
  mlaf_device *dev = NULL;
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_device_open("hip", NULL, &dev, &err)) return printf("%s\n", err.text) < 0;
  printf("opened %s through %s\n", mlaf_info(dev)->id, mlaf_hip_of(dev)->api.library);
  mlaf_device_close(dev);
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[1], "probe")) return probe();
  const struct CMUnitTest unsanitized[] = {cmocka_unit_test(real_runtime_is_asked)};
  const int failed = SANITIZED ? 0 : cmocka_run_group_tests(unsanitized, NULL, NULL);
  return failed + tests_run(NULL, NULL);
}
