/* Waves of one workgroup that share LDS without a barrier: what orders them, what makes no difference, and what is a race. */
#include "hip_rig.h"

static const char source[] =
    "typedef unsigned u32;\n"
    "#define K extern \"C\" __global__ void __launch_bounds__(256)\n"
    "#define LOAD(p) __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP)\n"
    "#define STORE(p, v) __hip_atomic_store(p, v, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP)\n"
    "#define ADD(p, v) __hip_atomic_fetch_add(p, v, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP)\n"
    /* wave 3 writes, wave 2 takes from it and adds, and so on: a chain of flags */
    "K chain(u32 *out) {\n"
    "  __shared__ u32 data[4][64], flag[4];\n"
    "  u32 w = threadIdx.x / 64, l = threadIdx.x % 64;\n"
    "  if (threadIdx.x < 4) flag[threadIdx.x] = 0;\n"
    "  __syncthreads();\n"
    "  if (w < 3) while (LOAD(&flag[w + 1]) == 0) ;\n"
    "  data[w][l] = w < 3 ? data[w + 1][63 - l] + w : l;\n"
    "  STORE(&flag[w], 1u);\n"
    "  if (w == 0) for (int i = 0; i < 4; i++) out[i * 64 + l] = data[i][l];\n"
    "}\n"
    /* a counter that three waves add to and the first waits for */
    "K counted(u32 *out) {\n"
    "  __shared__ u32 data[256], count;\n"
    "  if (threadIdx.x == 0) count = 0;\n"
    "  __syncthreads();\n"
    "  data[threadIdx.x] = threadIdx.x * 3;\n"
    "  if (threadIdx.x >= 64 && threadIdx.x % 64 == 0) ADD(&count, 1u);\n"
    "  if (threadIdx.x < 64) {\n"
    "    while (LOAD(&count) < 3) __builtin_amdgcn_s_sleep(1);\n"
    "    for (int i = 0; i < 4; i++) out[i * 64 + threadIdx.x] = data[255 - i * 64 - threadIdx.x];\n"
    "  }\n"
    "}\n"
    /* a lock in LDS */
    "K locked(u32 *out) {\n"
    "  __shared__ u32 lock, sum, parts;\n"
    "  if (threadIdx.x == 0) lock = sum = parts = 0;\n"
    "  __syncthreads();\n"
    "  if (threadIdx.x % 64 == 0) {\n"
    "    u32 free;\n"
    "    do free = 0; while (!__hip_atomic_compare_exchange_strong(&lock, &free, 1u, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED, "
    "__HIP_MEMORY_SCOPE_WORKGROUP));\n"
    "    sum = sum * 2 + threadIdx.x; parts++;\n"
    "    STORE(&lock, 0u);\n"
    "  }\n"
    "  __syncthreads();\n"
    "  if (threadIdx.x == 0) out[0] = sum, out[1] = parts;\n"
    "}\n"
    /* the flag is read once more than waited for: what it guards is not ordered by it */
    "K too_early(u32 *out) {\n"
    "  __shared__ u32 data[256], flag;\n"
    "  if (threadIdx.x == 0) flag = 0;\n"
    "  __syncthreads();\n"
    "  if (threadIdx.x >= 64) {\n"
    "    u32 early = data[threadIdx.x - 64];\n"
    "    while (LOAD(&flag) == 0) ;\n"
    "    out[threadIdx.x] = early;\n"
    "  } else {\n"
    "    data[threadIdx.x] = 5;\n"
    "    STORE(&flag, 1u);\n"
    "  }\n"
    "}\n"
    "K after_the_flag(u32 *out) {\n"
    "  __shared__ u32 data[256], flag;\n"
    "  if (threadIdx.x == 0) flag = 0;\n"
    "  data[threadIdx.x] = 1;\n"
    "  __syncthreads();\n"
    "  if (threadIdx.x < 64) {\n"
    "    STORE(&flag, 1u);\n"
    "    data[threadIdx.x] = 5;\n"
    "  } else if (threadIdx.x < 128) {\n"
    "    while (LOAD(&flag) == 0) ;\n"
    "    out[threadIdx.x] = data[threadIdx.x - 64];\n"
    "  }\n"
    "}\n"
    "K somebody_else(u32 *out) {\n"
    "  __shared__ u32 data[256], flag;\n"
    "  if (threadIdx.x == 0) flag = 0;\n"
    "  __syncthreads();\n"
    "  if (threadIdx.x < 64) { data[threadIdx.x] = 5; STORE(&flag, 1u); }\n"
    "  else if (threadIdx.x < 128) { while (LOAD(&flag) == 0) ; out[threadIdx.x] = data[threadIdx.x - 64]; }\n"
    "  else if (threadIdx.x < 192) out[threadIdx.x] = data[threadIdx.x - 128];\n"
    "}\n"
    /* looks for a number in a table that another wave is still writing: no flag, however it loops */
    "K search(u32 *out) {\n"
    "  __shared__ u32 table[128];\n"
    "  if (threadIdx.x < 64) table[threadIdx.x] = threadIdx.x;\n"
    "  else if (threadIdx.x == 64) { u32 i = 0; while (table[i] != 63) i++; out[0] = i; }\n"
    "}\n";

static hip_rig r;
static const char *level;

static void ok(const char *kernel, uint32_t *out) {
  const void *args[1] = {out};
  if (hip_rig_try(&r, kernel, 1, 256, args, 8, NULL)) fail_msg("%s %s: %s", level, kernel, r.err.text);
}

static void race(const char *kernel, uint32_t *out) {
  const void *args[1] = {out};
  mlaf_status st = hip_rig_try(&r, kernel, 1, 256, args, 8, NULL);
  if (st != MLAF_E_FAULT || !(strstr(r.err.text, "LDS race") || strstr(r.err.text, "nothing has written")))
    fail_msg("%s %s: want a race, got %s %s", level, kernel, mlaf_status_name(st), r.err.text);
  print_message("%s %s: %s\n", level, kernel, r.err.text);
}

TEST(flags_order_what_they_guard) {
  static const char *const levels[] = {"-O3", "-O1"};
  for (int i = 0; i < 2; i++) {
    level = levels[i];
    hip_rig_open(&r, &mlaf_emu_ops, "gfx942", level, source);
    uint32_t *out = hip_rig_buffer(&r, 1024);
    ok("chain", out);
    for (uint32_t l = 0; l < 64; l++) assert_int_equal(out[l], 63 - l + 3);
    ok("counted", out);
    for (uint32_t t = 0; t < 256; t++) assert_int_equal(out[t], 3 * (255 - t));
    ok("locked", out);
    assert_int_equal(out[1], 4);
    race("too_early", out);
    race("after_the_flag", out);
    race("somebody_else", out);
    race("search", out);
    hip_rig_close(&r);
  }
}

TESTS(NULL, NULL)
