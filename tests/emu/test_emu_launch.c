/* Launches: what they may ask for, what they are told, and when they are ended: limits of instructions and memory, a caller's
 * flag. */
#include "emu/profile.h"
#include "hip_rig.h"
#include "limit.h"

static const char source[] =
    "typedef unsigned u32;\n"
    "#define K extern \"C\" __global__ void\n"
    "K endless(volatile u32 *x) { for (;;) x[threadIdx.x] = 1; }\n"
    "K __launch_bounds__(256) endless_barrier(u32 *x) {\n"
    "  __shared__ u32 s[256];\n"
    "  u32 v = x[threadIdx.x];\n"
    "  for (u32 i = 0; v != 12345; i++) { s[(threadIdx.x + i) & 255] = v | 1; __syncthreads(); v = s[threadIdx.x] & 255;"
    " __syncthreads(); }\n"
    "  x[0] = v;\n"
    "}\n"
    "K from(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x]; }\n"
    "K from16(const float4 *x, float4 *y) { y[threadIdx.x] = x[threadIdx.x]; }\n"
    "K to(const float *x, float *y) { y[threadIdx.x] = x[0]; }\n"
    "K hidden(u32 *out, u32 n) {\n"
    "  if (threadIdx.x | blockIdx.x | blockIdx.y | threadIdx.y) return;\n"
    "  out[0] = blockDim.x; out[1] = blockDim.y; out[2] = gridDim.x; out[3] = gridDim.y; out[4] = n;\n"
    "}\n"
    "K __launch_bounds__(128) bounded(u32 *x) { x[threadIdx.x] = threadIdx.x; }\n"
    "K two(u32 *x, u32 *y) { if (x) x[threadIdx.x] = 1; }\n"
    "K dynamic(u32 *out) {\n"
    "  extern __shared__ u32 s[];\n"
    "  __shared__ u32 own[64];\n"
    "  own[threadIdx.x] = 3 * threadIdx.x; s[1023 - threadIdx.x] = threadIdx.x;\n"
    "  __syncthreads();\n"
    "  out[threadIdx.x] = s[960 + threadIdx.x] + own[63 - threadIdx.x] ;\n"
    "}\n"
    "K allocates(u32 **out, u32 n) { if (n) out[threadIdx.x] = (u32 *)malloc(n); }\n"
    "K prints(u32 *out, int n) { if (n) printf(\"%d\\n\", n); out[threadIdx.x] = 5; }\n";

static hip_rig r;
static int open_rig(void **state) { return hip_rig_open(&r, &mlaf_emu_ops, "gfx942", "-O3", source), 0; }
static int close_rig(void **state) { return hip_rig_close(&r), 0; }

static void says(mlaf_status want, mlaf_status got, const char *words, const char *more) {
  if (got != want || !strstr(r.err.text, words) || !strstr(r.err.text, more))
    fail_msg("want %s '%s' '%s', got %s: %s", mlaf_status_name(want), words, more, mlaf_status_name(got), r.err.text);
  print_message("%s\n", r.err.text);
}

/* --- endings --- */

TEST(loops_that_do_not_end) {
  void *x = hip_rig_buffer(&r, 4096);
  const emu_launch_opts opts = {.max_insts = 200000};
  const char *words = "the wave does not terminate: ";
  says(MLAF_E_FAULT, hip_rig_try(&r, "endless", 1, 64, &x, 8, &opts), words, "MLAF_EMU_MAX_INSTS");
  says(MLAF_E_FAULT, hip_rig_try(&r, "endless_barrier", 1, 256, &x, 8, &opts), words, "MLAF_EMU_MAX_INSTS");
  mlaf_device *dev = r.dev; /* the variable sets what the launch does not */
  setenv("MLAF_EMU_MAX_INSTS", "54321", 1);
  hip_rig mine;
  hip_rig_open(&mine, &mlaf_emu_ops, "gfx942", "-O3", source);
  unsetenv("MLAF_EMU_MAX_INSTS");
  assert_ptr_not_equal(dev, mine.dev);
  x = hip_rig_buffer(&mine, 4096);
  mlaf_status st = hip_rig_try(&mine, "endless_barrier", 1, 256, &x, 8, NULL);
  r.err = mine.err;
  hip_rig_close(&mine);
  says(MLAF_E_FAULT, st, words, "54");
}

TEST(recordings_that_do_not_end) {
  setenv("MLAF_EMU_MAX_MEMORY", "8", 1);
  hip_rig mine;
  hip_rig_open(&mine, &mlaf_emu_ops, "gfx942", "-O3", source);
  unsetenv("MLAF_EMU_MAX_MEMORY");
  static const char *const kernels[] = {"endless", "endless_barrier"};
  for (int i = 0; i < 2; i++) {
    void *x = hip_rig_buffer(&mine, 4096);
    mlaf_launch l = {.fn = hip_rig_kernel(&mine, kernels[i]), .grid = {4, 1, 1}, .block = {256, 1, 1}, .args = &x,
        .args_size = 8};
    mlaf_time_opts opts = {.limit_s = 1};
    mlaf_timing timing;
    mlaf_profile p;
    mlaf_status st = mlaf_emu_ops.time(mine.dev, &l, 1, &opts, &timing, &mine.err);
    r.err = mine.err;
    says(MLAF_E_FAULT, st, "takes more than 8 MiB of host memory", "MLAF_EMU_MAX_MEMORY (MiB) raises the limit");
    st = mlaf_profile_run(mine.dev, &l, 1, &p, &timing, &mine.err);
    r.err = mine.err;
    says(MLAF_E_FAULT, st, "takes more than 8 MiB of host memory", "MLAF_EMU_MAX_MEMORY (MiB) raises the limit");
  }
  hip_rig_close(&mine);
}

TEST(bad_limits_are_named) {
  static const char *const names[] = {"MLAF_EMU_MAX_INSTS", "MLAF_EMU_MAX_MEMORY", "MLAF_EMU_THREADS"};
  mlaf_device *dev;
  for (int i = 0; i < 3; i++) {
    setenv(names[i], "many", 1);
    mlaf_status st = mlaf_emu_ops.open(0, NULL, &dev, &r.err);
    unsetenv(names[i]);
    says(MLAF_E_ARG, st, names[i], "'many' is no whole number from");
  }
  static const char *const words[][2] = {{"MLAF_EMU_HAZARDS", "known are: physical"}, {"MLAF_EMU_ISA", "known are: v1 v3 v4"}};
  for (int i = 0; i < 2; i++) {
    setenv(words[i][0], "abc", 1);
    mlaf_status st = mlaf_emu_ops.open(0, NULL, &dev, &r.err);
    unsetenv(words[i][0]);
    says(MLAF_E_ARG, st, words[i][0], words[i][1]);
  }
}

static void *soon(void *flag) {
  usleep(100000);
  atomic_store((atomic_bool *)flag, true);
  return NULL;
}

TEST(stopped_on_request) {
  for (int i = 0; i < 3; i++) {
    atomic_bool flag = false;
    pthread_t thread;
    void *x = hip_rig_buffer(&r, 4096);
    mlaf_launch l = {.fn = hip_rig_kernel(&r, i == 1 ? "endless_barrier" : "endless"), .grid = {4, 1, 1}, .block = {256, 1, 1},
                     .args = &x, .args_size = 8};
    mlaf_timing timing;
    mlaf_profile p;
    mlaf_device_cancel_by(r.dev, &flag);
    assert_int_equal(pthread_create(&thread, NULL, soon, &flag), 0);
    double from = cpu_now();
    mlaf_status st = i < 2 ? mlaf_emu_ops.launch(r.dev, NULL, &l, &r.err) : mlaf_profile_run(r.dev, &l, 1, &p, &timing, &r.err);
    double took = cpu_now() - from;
    pthread_join(thread, NULL);
    mlaf_device_cancel_by(r.dev, NULL);
    says(MLAF_E_CANCELLED, st, "was stopped on request", "endless");
    if (took > 60) fail_msg("it took %.1f s of CPU", took); /* else it is a matter of the instructions' limit, minutes */
  }
}

/* --- addresses --- */

/* Any address: at both ends of all, in the apertures, one short of an allocation, across its end. */
TEST(any_pointer) {
  uintptr_t buffer = (uintptr_t)hip_rig_buffer(&r, 4096);
  const uintptr_t bad[] = {0, 4, 16, (uintptr_t)-4, (uintptr_t)-16, (uintptr_t)-256, (uintptr_t)-260, (uintptr_t)-1024,
      (uintptr_t)-1040,
                           (uintptr_t)1 << 63, ((uintptr_t)1 << 63) - 128, (uintptr_t)1 << 47, (uintptr_t)1 << 48,
                           ((uintptr_t)1 << 48) - 128, (uintptr_t)2 << 48, buffer - 4, buffer - 256, buffer + 4096 - 128,
                               buffer + 4096};
  static const char *const kernels[] = {"from", "from16"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    for (int k = 0; k < 4; k++) {
      uintptr_t args[2] = {k & 1 ? buffer : bad[i], k & 1 ? bad[i] : buffer};
      mlaf_status st = hip_rig_try(&r, kernels[k / 2], 1, 64, args, sizeof args, NULL);
      if (st != MLAF_E_FAULT || !strstr(r.err.text, "outside every allocation"))
        fail_msg("%s, 0x%lx: %s %s", kernels[k / 2], (unsigned long)bad[i], mlaf_status_name(st), r.err.text);
    }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) { /* by a scalar load */
    uintptr_t args[2] = {bad[i], buffer};
    if (bad[i] == buffer + 4096 - 128) continue;
    mlaf_status st = hip_rig_try(&r, "to", 1, 64, args, sizeof args, NULL);
    if (st != MLAF_E_FAULT) fail_msg("0x%lx: %s %s", (unsigned long)bad[i], mlaf_status_name(st), r.err.text);
  }
}

/* --- arguments and shape --- */

typedef struct five {
  uint32_t *out;
  uint32_t n, padding[3];
} five;

/* The hidden arguments stand where the metadata says, however many bytes the caller's struct has. */
TEST(hidden_arguments) {
  for (size_t size = 12; size <= 24; size += 4) { /* the arguments, then as padded by hand */
    uint32_t *out = hip_rig_buffer(&r, 64);
    five a = {out, 99, {0xffffffff, 0xffffffff, 0xffffffff}};
    mlaf_launch l = {.fn = hip_rig_kernel(&r, "hidden"), .grid = {3, 5, 1}, .block = {32, 4, 1}, .args = &a, .args_size = size};
    if (mlaf_emu_ops.launch(r.dev, NULL, &l, &r.err)) fail_msg("%s", r.err.text);
    const uint32_t want[5] = {32, 4, 3, 5, 99};
    for (int i = 0; i < 5; i++) assert_int_equal(out[i], want[i]);
  }
  uint8_t block[272] = {0}; /* a caller who passes the whole block, the hidden part as zeros, as some launchers do */
  five a = {hip_rig_buffer(&r, 64), 98, {0}};
  memcpy(block, &a, sizeof a);
  mlaf_launch l = {.fn = hip_rig_kernel(&r, "hidden"), .grid = {2, 1, 1}, .block = {64, 1, 1}, .args = block,
      .args_size = sizeof block};
  if (mlaf_emu_ops.launch(r.dev, NULL, &l, &r.err)) fail_msg("%s", r.err.text);
  assert_int_equal(a.out[0], 64);
  assert_int_equal(a.out[2], 2);
}

TEST(too_few_arguments) {
  void *args[2] = {hip_rig_buffer(&r, 4096), NULL};
  says(MLAF_E_ARG, hip_rig_try(&r, "two", 1, 64, args, 8, NULL), "takes 16 bytes of arguments", "only 8 were given");
  says(MLAF_E_ARG, hip_rig_try(&r, "two", 1, 64, args, 0, NULL), "takes 16 bytes of arguments", "only 0 were given");
  assert_int_equal(hip_rig_try(&r, "two", 1, 64, args, 16, NULL), MLAF_OK);
}

TEST(larger_than_it_was_compiled_for) {
  void *x = hip_rig_buffer(&r, 4096);
  assert_int_equal(hip_rig_try(&r, "bounded", 1, 128, &x, 8, NULL), MLAF_OK);
  says(MLAF_E_ARG, hip_rig_try(&r, "bounded", 1, 192, &x, 8, NULL), "block of 192 work-items",
       "at most 128 (.max_flat_workgroup_size)");
}

TEST(dynamic_lds) {
  uint32_t *out = hip_rig_buffer(&r, 256);
  mlaf_launch l = {.fn = hip_rig_kernel(&r, "dynamic"), .grid = {2, 1, 1}, .block = {64, 1, 1}, .args = &out, .args_size = 8};
  says(MLAF_E_FAULT, mlaf_emu_ops.launch(r.dev, NULL, &l, &r.err), "LDS access", "outside the workgroup's 256 bytes");
  l.lds = 4096;
  if (mlaf_emu_ops.launch(r.dev, NULL, &l, &r.err)) fail_msg("%s", r.err.text);
  for (uint32_t i = 0; i < 64; i++) assert_int_equal(out[i], 63 - i + 3 * (63 - i));
  l.lds = 65536;
  says(MLAF_E_ARG, mlaf_emu_ops.launch(r.dev, NULL, &l, &r.err), "65792 bytes of LDS (256 of its own, 65536 dynamic)",
       "has 65536");
  mlaf_time_opts opts = {.limit_s = 1};
  mlaf_timing little, much;
  l.lds = 4096, l.grid[0] = 20000;
  if (mlaf_emu_ops.time(r.dev, &l, 1, &opts, &little, &r.err)) fail_msg("%s", r.err.text);
  l.lds = 60000;
  if (mlaf_emu_ops.time(r.dev, &l, 1, &opts, &much, &r.err)) fail_msg("%s", r.err.text);
  if (much.ns <= 1.5 * little.ns) fail_msg("one workgroup a CU for its LDS: %.0f ns, many: %.0f ns", much.ns, little.ns);
}

/* A kernel that needs a runtime's service faults where it reaches it, and only there. */
TEST(what_is_not_served) {
  struct { void *out; uint32_t n; } args = {hip_rig_buffer(&r, 4096), 0};
  assert_int_equal(hip_rig_try(&r, "prints", 1, 64, &args, 12, NULL), MLAF_OK);
  assert_int_equal(hip_rig_try(&r, "allocates", 1, 64, &args, 12, NULL), MLAF_OK);
  args.n = 8;
  says(MLAF_E_FAULT, hip_rig_try(&r, "prints", 1, 64, &args, 12, NULL), "the kernel calls", "printf");
  says(MLAF_E_FAULT, hip_rig_try(&r, "allocates", 1, 64, &args, 12, NULL), "malloc", "pass");
}

TESTS(open_rig, close_rig)
