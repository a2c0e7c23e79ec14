/* Workgroups that wait for each other: what ends on the device ends here, on any number of host threads with the same bytes; what
 * cannot end is called a deadlock. */
#include "hip_rig.h"

static const char source[] =
    "typedef unsigned u32;\n"
    "#define K(threads) extern \"C\" __global__ void __launch_bounds__(threads)\n"
    "#define LOAD(p) __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)\n"
    "#define STORE(p, v) __hip_atomic_store(p, v, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT)\n"
    /* each workgroup waits for the one behind it */
    "K(64) later(u32 *flag, u32 *out) {\n"
    "  u32 b = blockIdx.x;\n"
    "  if (threadIdx.x == 0) {\n"
    "    if (b + 1 < gridDim.x) while (LOAD(&flag[b + 1]) == 0) __builtin_amdgcn_s_sleep(1);\n"
    "    out[b] = b + 1 < gridDim.x ? out[b + 1] + b : 1000;\n"
    "    STORE(&flag[b], 1u);\n"
    "  }\n"
    "}\n"
    "K(64) later_volatile(volatile u32 *flag, u32 *out) {\n"
    "  if (threadIdx.x) return;\n"
    "  if (blockIdx.x == 0) { while (flag[gridDim.x - 1] == 0) ; out[0] = 7; }\n"
    "  else if (blockIdx.x == gridDim.x - 1) flag[blockIdx.x] = 1;\n"
    "}\n"
    "K(64) later_fenced(u32 *flag, u32 *out) {\n"
    "  if (threadIdx.x) return;\n"
    "  if (blockIdx.x == 0) { while (flag[gridDim.x - 1] == 0) __threadfence(); out[0] = 9; }\n"
    "  else if (blockIdx.x == gridDim.x - 1) { flag[blockIdx.x] = 1; __threadfence(); }\n"
    "}\n"
    /* a barrier of the whole grid, three times; everybody reads its neighbour's last round */
    "__device__ void grid_barrier(u32 *count, u32 want) {\n"
    "  __syncthreads();\n"
    "  if (threadIdx.x == 0) {\n"
    "    __hip_atomic_fetch_add(count, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);\n"
    "    while (LOAD(count) < want) __builtin_amdgcn_s_sleep(2);\n"
    "  }\n"
    "  __syncthreads();\n"
    "}\n"
    "K(256) rounds(u32 *count, u32 *data) {\n"
    "  u32 n = gridDim.x, b = blockIdx.x, t = b * 256 + threadIdx.x;\n"
    "  data[t] = t;\n"
    "  for (u32 r = 1; r <= 3; r++) {\n"
    "    grid_barrier(count, r * n);\n"
    "    u32 next = data[((b + 1) % n * 256 + threadIdx.x) + (r - 1) % 2 * n * 256];\n"
    "    data[t + r % 2 * n * 256] = next;\n"
    "  }\n"
    "}\n"
    /* all threads of a workgroup leave the loop together, by way of LDS and a barrier */
    "K(128) all_wait(u32 *count, u32 *out) {\n"
    "  __shared__ u32 seen;\n"
    "  if (threadIdx.x == 0) atomicAdd(count, 1u);\n"
    "  do {\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x == 0) seen = LOAD(count);\n"
    "    __syncthreads();\n"
    "  } while (seen < gridDim.x);\n"
    "  out[blockIdx.x * 128 + threadIdx.x] = seen;\n"
    "}\n"
    "K(64) locked(u32 *lock, u32 *data) {\n"
    "  if (threadIdx.x) return;\n"
    "  for (int i = 0; i < 5; i++) {\n"
    "    while (atomicCAS(lock, 0u, 1u)) ;\n"
    "    __threadfence();\n"
    "    u32 x = *(volatile u32 *)data;\n"
    "    *(volatile u32 *)data = x * 3 + blockIdx.x;\n"
    "    __threadfence();\n"
    "    atomicExch(lock, 0u);\n"
    "  }\n"
    "}\n"
    /* the sum of floats depends on their order */
    "K(64) float_sum(float *sum, const float *x) { atomicAdd(sum, x[blockIdx.x * 64 + threadIdx.x]); }\n"
    /* workgroups take their work from a counter, in the order in which they come */
    "K(64) tickets(u32 *next, u32 *who) {\n"
    "  __shared__ u32 mine;\n"
    "  for (;;) {\n"
    "    if (threadIdx.x == 0) mine = atomicAdd(next, 1u);\n"
    "    __syncthreads();\n"
    "    u32 i = mine;\n"
    "    __syncthreads();\n"
    "    if (i >= 500) return;\n"
    "    if (threadIdx.x == 0) who[i] = blockIdx.x;\n"
    "  }\n"
    "}\n"
    "K(64) never(u32 *flag, u32 *out) { while (LOAD(&flag[1]) == 0) ; out[0] = 1; }\n"
    "K(64) out_of_bounds(u32 *x, u32 n) { if (blockIdx.x >= 5) x[n + blockIdx.x] = 1; }\n";

static const int threads[] = {1, 2, 7};
enum { N_THREADS = sizeof threads / sizeof *threads };

static hip_rig r;

/* The same output on every number of threads: the last one's. */
static void same_on_all(const char *kernel, uint32_t grid, uint32_t block, void *a, size_t a_bytes, void *b, size_t b_bytes,
                        bool keep_b) {
  void *first = malloc(a_bytes + b_bytes);
  const void *args[2] = {a, b};
  assert_non_null(first);
  for (int i = 0; i < N_THREADS; i++) {
    memset(a, 0, a_bytes);
    if (!keep_b) memset(b, 0, b_bytes);
    hip_rig_run(&r, kernel, grid, block, args, sizeof args, threads[i]);
    if (i && (memcmp(first, a, a_bytes) || memcmp((char *)first + a_bytes, b, b_bytes)))
      fail_msg("%s: %d threads and %d give different results", kernel, threads[0], threads[i]);
    memcpy(first, a, a_bytes);
    memcpy((char *)first + a_bytes, b, b_bytes);
  }
  free(first);
}

TEST(a_wait_for_a_later_workgroup) {
  enum { N = 200 };
  uint32_t *flag = hip_rig_buffer(&r, 4 * N), *out = hip_rig_buffer(&r, 4 * N), want = 1000;
  same_on_all("later", N, 64, flag, 4 * N, out, 4 * N, false);
  for (uint32_t b = N; b-- > 0; want += b) {
    if (b == N - 1) want = 1000 - b;
    assert_int_equal(out[b], want + b);
  }
  same_on_all("later_volatile", N, 64, flag, 4 * N, out, 4 * N, false);
  assert_int_equal(out[0], 7);
  same_on_all("later_fenced", N, 64, flag, 4 * N, out, 4 * N, false);
  assert_int_equal(out[0], 9);
}

TEST(a_barrier_of_the_grid) {
  enum { N = 120 };
  uint32_t *count = hip_rig_buffer(&r, 4), *data = hip_rig_buffer(&r, 8 * 256 * N);
  same_on_all("rounds", N, 256, count, 4, data, 8 * 256 * N, false);
  for (uint32_t t = 0; t < 256 * N; t++) assert_int_equal(data[256 * N + t], (t + 3 * 256) % (256 * N));
  uint32_t *out = hip_rig_buffer(&r, 4 * 128 * N);
  same_on_all("all_wait", N, 128, count, 4, out, 4 * 128 * N, false);
  for (uint32_t t = 0; t < 128 * N; t++) assert_int_equal(out[t], N);
}

/* Locks and tickets are taken in one order, float sums added in one. */
TEST(the_same_order) {
  enum { N = 64 };
  uint32_t *one = hip_rig_buffer(&r, 4), *data = hip_rig_buffer(&r, 4), *who = hip_rig_buffer(&r, 2000);
  float *x = hip_rig_buffer(&r, 4 * 64 * N);
  same_on_all("locked", N, 64, one, 4, data, 4, false);
  assert_int_equal(*one, 0);
  same_on_all("tickets", 16, 64, one, 4, who, 2000, false);
  assert_int_equal(*one, 516);
  for (int i = 0; i < 64 * N; i++) x[i] = (float)(1 + i * i % 1009) * (i % 3 ? 1e-3f : 1e4f);
  same_on_all("float_sum", N, 64, one, 4, x, 4 * 64 * N, true);
}

/* 304 CUs hold 2048 work-items each: 2432 workgroups of 256. */
TEST(more_than_fit) {
  uint32_t *count = hip_rig_buffer(&r, 4), *data = hip_rig_buffer(&r, 8 * 256 * 2433);
  const void *args[2] = {count, data};
  char first[MLAF_ERR_MAX] = "";
  hip_rig_run(&r, "all_wait", 2432, 128, args, sizeof args, 2);
  for (int i = 0; i < 2; i++) {
    const emu_launch_opts opts = {.threads = i ? 7 : 1};
    *count = 0;
    assert_int_equal(hip_rig_try(&r, "rounds", 2433, 256, args, sizeof args, &opts), MLAF_E_FAULT);
    if (!strstr(r.err.text, "deadlock: all 2432 resident workgroups wait") || !strstr(r.err.text, "1 more workgroups") ||
        !strstr(r.err.text, "the device holds 2432") || (i && strcmp(first, r.err.text)))
      fail_msg("%s\n%s", first, r.err.text);
    snprintf(first, sizeof first, "%s", r.err.text);
  }
  print_message("%s\n", first);
}

TEST(nobody_comes) {
  uint32_t *flag = hip_rig_buffer(&r, 64), *out = hip_rig_buffer(&r, 64);
  const void *args[2] = {flag, out};
  assert_int_equal(hip_rig_try(&r, "never", 3, 64, args, sizeof args, NULL), MLAF_E_FAULT);
  if (!strstr(r.err.text, "deadlock: all 3 workgroups that have not ended wait")) fail_msg("%s", r.err.text);
  print_message("%s\n", r.err.text);
}

/* The fault of the first workgroup in the grid is reported, of however many. */
TEST(the_same_diagnostics) {
  struct { uint32_t *x; uint32_t n; } args = {hip_rig_buffer(&r, 4096), 1024};
  for (int i = 0; i < 10 * N_THREADS; i++) {
    const emu_launch_opts opts = {.threads = threads[i % N_THREADS]};
    assert_int_equal(hip_rig_try(&r, "out_of_bounds", 64, 64, &args, 12, &opts), MLAF_E_FAULT);
    if (!strstr(r.err.text, "workgroup (5,0,0)")) fail_msg("%d threads: %s", threads[i % N_THREADS], r.err.text);
  }
}

static int open_rig(void **state) { return hip_rig_open(&r, &mlaf_emu_ops, "gfx942", "-O3", source), 0; }
static int close_rig(void **state) { return hip_rig_close(&r), 0; }

/* The other targets spell device scope differently. */
static void on(const mlaf_device_ops *ops, const char *target, const char *level) {
  hip_rig mine = r;
  hip_rig_open(&r, ops, target, level, source);
  a_wait_for_a_later_workgroup(NULL);
  the_same_order(NULL);
  nobody_comes(NULL);
  hip_rig_close(&r);
  r = mine;
}
TEST(on_gfx950) { on(&mlaf_emu_gfx950_ops, "gfx950", "-O3"); }
TEST(on_gfx90a) { on(&mlaf_emu_gfx90a_ops, "gfx90a", "-O3"); }
TEST(unoptimised) { on(&mlaf_emu_ops, "gfx942", "-O0"); }

TESTS(open_rig, close_rig)
