/* Kernels as clang makes them from HIP (hip_kernels.h), against the host: shuffles, 64-bit arithmetic, libm, control flow,
 * atomics, halves, private memory, calls, generic pointers, builtins. None is written for the emulator. On every target. */
#include "cmocka_all.h"
#include "compile/compile.h"
#include "emu/emu_launch.h"
#include "half.h"
#include "hip_kernels.h"

typedef struct rig {
  mlaf_compiler *compiler;
  mlaf_device *dev;
  mlaf_module *module;
  mlaf_err err;
} rig;
static rig r;
static const mlaf_device_ops *const targets[] = {&mlaf_emu_ops, &mlaf_emu_gfx950_ops, &mlaf_emu_gfx90a_ops}, *ops;
static const char *target(void) { return ops->name + 4; }

static int open_rig(void **state) {
  static const char *const options[] = {"-O3", NULL};
  mlaf_compile_job job = {.source = hip_source, .options = options, .target = target(), .name = "hip_kernels"};
  if (mlaf_compiler_open(NULL, NULL, &r.compiler, &r.err) != MLAF_OK || ops->open(0, NULL, &r.dev, &r.err) != MLAF_OK ||
      mlaf_compile(r.compiler, &job, 1, NULL, NULL, &r.err) != MLAF_OK || job.status != MLAF_OK ||
      ops->module_load(r.dev, job.code, job.code_size, &r.module, &r.err) != MLAF_OK) {
    print_error("%s\n%s\n", r.err.text, job.log ? job.log : "");
    return -1;
  }
  mlaf_compile_job_clear(&job);
  return 0;
}

static int close_rig(void **state) {
  ops->module_unload(r.dev, r.module);
  ops->close(r.dev);
  mlaf_compiler_close(r.compiler);
  return 0;
}

static void *device(const void *from, size_t bytes) {
  void *p;
  if (ops->mem_alloc(r.dev, bytes, &p, &r.err) != MLAF_OK) fail_msg("%s", r.err.text);
  if (from) memcpy(p, from, bytes);
  else memset(p, 0xee, bytes);
  return p; /* the host may read it; freed with the device */
}

static void launch(const char *name, uint32_t gx, uint32_t gy, uint32_t bx, uint32_t by, const void *args, size_t size) {
  mlaf_function *fn;
  if (ops->function_get(r.dev, r.module, name, &fn, &r.err) != MLAF_OK) fail_msg("%s", r.err.text);
  mlaf_launch l = {.fn = fn, .grid = {gx, gy, 1}, .block = {bx, by, 1}, .args = args, .args_size = size};
  if (ops->launch(r.dev, NULL, &l, &r.err) != MLAF_OK) fail_msg("%s", r.err.text);
}

static uint64_t seed = 42;
static uint32_t rnd(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(seed >> 33) ^ (uint32_t)(seed >> 15);
}
static double uniform(double lo, double hi) { return lo + (hi - lo) * (rnd() / 4294967296.0); }

TEST(reduction) {
  enum { N = 1000 };
  static float in[1024], zero;
  static uint32_t votes;
  double want = 0;
  uint32_t above = 0;
  for (int i = 0; i < N; i++) in[i] = (float)(rnd() % 1000) / 1024, want += in[i], above += in[i] > 0.5f;
  float *sum = device(&zero, 4);
  uint32_t *v = device(&votes, 4);
  struct { void *in, *out, *votes; int n; } args = {device(in, sizeof in), sum, v, N};
  launch("reduce", 4, 1, 256, 1, &args, 28);
  assert_true(fabs(*sum - want) <= 1e-3);
  assert_int_equal(*v, above);
}

TEST(integers_of_64_bits) {
  enum { N = 256 };
  static int64_t a[N], b[N];
  for (int i = 0; i < N; i++) {
    a[i] = (int64_t)((uint64_t)rnd() << 32 | rnd()) >> rnd() % 60;
    b[i] = (int64_t)((uint64_t)rnd() << 32 | rnd()) >> rnd() % 60;
    if (b[i] == 0 || (b[i] == -1 && a[i] == INT64_MIN)) b[i] = 3;
  }
  int64_t *out = device(NULL, sizeof(int64_t) * 12 * N);
  struct { void *a, *b, *out; } args = {device(a, sizeof a), device(b, sizeof b), out};
  launch("int64", 2, 1, 128, 1, &args, sizeof args);
  for (int i = 0; i < N; i++) {
    uint64_t x = (uint64_t)a[i], y = (uint64_t)b[i], rev = 0;
    for (int k = 0; k < 64; k++) rev |= (x >> k & 1) << (63 - k);
    const int64_t want[12] = {a[i] / b[i], a[i] % b[i], (int64_t)(x / y), (int64_t)(x % y), (int64_t)(x * y),
                              (int64_t)((unsigned __int128)x * y >> 64), (int64_t)((__int128)a[i] * b[i] >> 64),
                                  (int64_t)(x << (y & 63)),
                              a[i] >> (y & 63), __builtin_popcountll(x) + 100 * (x ? __builtin_clzll(x) : 64), (int64_t)rev,
                              a[i] < b[i] ? a[i] : b[i]};
    for (int k = 0; k < 12; k++)
      if (out[12 * i + k] != want[k])
        fail_msg("int64 %d of %lld, %lld: %lld, want %lld", k, (long long)a[i], (long long)b[i], (long long)out[12 * i + k],
            (long long)want[k]);
  }
}

/* Correctly rounded operations exactly, library functions within their documented ulps. */
static void close_to(const char *what, int k, double x, double y, double got, double want, double ulp, double eps) {
  double slack = ulp * eps * (fabs(want) > 1e-300 ? fabs(want) : 1e-300);
  if (!(fabs(got - want) <= slack) && !(isnan(got) && isnan(want)))
    fail_msg("%s %d of %.17g, %.17g: %.17g, want %.17g", what, k, x, y, got, want);
}

TEST(doubles) {
  enum { N = 256 };
  static double a[N], b[N];
  static const double ulp[12] = {0, 0, 0, 0, 0, 2, 2, 4, 4, 0, 0, 0};
  for (int i = 0; i < N; i++) a[i] = uniform(-100, 100) * (i % 4 == 3 ? 1e-3 : 1), b[i] = uniform(0.01, 50) * (i & 1 ? -1 : 1);
  double *out = device(NULL, sizeof(double) * 12 * N);
  struct { void *a, *b, *out; } args = {device(a, sizeof a), device(b, sizeof b), out};
  launch("float64", 2, 1, 128, 1, &args, sizeof args);
  for (int i = 0; i < N; i++) {
    double x = a[i], y = b[i];
    const double want[12] = {x / y, sqrt(fabs(x)), fma(x, y, x), floor(x), x - trunc(y), exp(-fabs(x)), log(fabs(y)), sin(x),
        cos(x * 1e15),
                             fmod(x, y), trunc(x), (float)y};
    for (int k = 0; k < 12; k++) close_to("float64", k, x, y, out[12 * i + k], want[k], ulp[k], 0x1p-52);
  }
}

TEST(floats) {
  enum { N = 256 };
  static float a[N], b[N];
  static const double ulp[12] = {1, 1, 4, 4, 3, 3, 5, 16, 0, 0, 0, 16};
  for (int i = 0; i < N; i++) a[i] = (float)uniform(-20, 20), b[i] = (float)uniform(0.01, 3) * (i & 1 ? -1 : 1);
  float *out = device(NULL, sizeof(float) * 12 * N);
  struct { void *a, *b, *out; } args = {device(a, sizeof a), device(b, sizeof b), out};
  launch("float32", 2, 1, 128, 1, &args, sizeof args);
  for (int i = 0; i < N; i++) {
    float x = a[i], y = b[i];
    const double want[12] = {x / y, sqrtf(fabsf(x)), sin(x), cos(x * 1e6f), exp(-fabs(x)), log(fabs(y)), tanh(x),
        pow(fabsf(x), 0.3f), fmodf(x, y),
                             rintf(x), x * 8, erf(y)};
    for (int k = 0; k < 12; k++) close_to("float32", k, x, y, out[12 * i + k], want[k], ulp[k], 0x1p-23);
  }
}

static int control_host(int x) {
  int v = 0;
  for (int i = 0; i < (x & 15); i++) {
    switch ((x + i) % 7) {
      case 0: v += 3; break;
      case 1: v ^= x; break;
      case 2: v -= i; /* fall through */
      case 3: v *= 5; break;
      case 4:
        for (int j = 0; j < i; j++)
          if (j != x % 5) v += j;
        break;
      case 5:
        if (v > 1000) return -v;
        v += 2 * x;
        break;
      default: v = ~v;
    }
    while (v > 100000) v >>= 1;
  }
  return v;
}

TEST(control_flow) {
  enum { N = 500 };
  static int in[512];
  for (int i = 0; i < N; i++) in[i] = (int)(rnd() % 4096);
  int *out = device(NULL, sizeof in);
  struct { void *in, *out; int n; } args = {device(in, sizeof in), out, N};
  launch("control", 2, 1, 256, 1, &args, 20);
  for (int i = 0; i < N; i++)
    if (out[i] != control_host(in[i])) fail_msg("control of %d: %d, want %d", in[i], out[i], control_host(in[i]));
  assert_int_equal(out[N], (int)0xeeeeeeee);
}

TEST(atomics) {
  enum { N = 3000 };
  static uint8_t in[N];
  static uint32_t hist[256], want[256];
  float most = 0, top = 0;
  uint64_t least = UINT64_MAX, low = UINT64_MAX;
  memset(want, 0, sizeof want);
  for (int i = 0; i < N; i++) {
    in[i] = (uint8_t)(rnd() % 200 + 3);
    want[in[i]]++;
    if (in[i] * 0.5f > top) top = in[i] * 0.5f;
    uint64_t key = ((uint64_t)in[i] << 40) + (uint64_t)i;
    if (key < low) low = key;
  }
  uint32_t *h = device(hist, sizeof hist);
  float *m = device(&most, 4);
  uint64_t *l = device(&least, 8);
  struct { void *in, *hist, *most, *least; int n; } args = {device(in, sizeof in), h, m, l, N};
  launch("atomics", 3, 1, 256, 1, &args, 36);
  assert_memory_equal(h, want, sizeof want);
  assert_true(*m == top);
  assert_true(*l == low);
}

static float rounded(double x) { return test_half_to_float(test_half_bits(x)); }
TEST(halves) {
  enum { N = 128 };
  static uint16_t a[2 * N], b[2 * N];
  for (int i = 0; i < 2 * N; i++) a[i] = test_half_bits(uniform(-4, 4)), b[i] = test_half_bits(uniform(0.5, 3));
  uint16_t *out = device(NULL, sizeof a);
  struct { void *a, *b, *out; } args = {device(a, sizeof a), device(b, sizeof b), out};
  launch("halves", 1, 1, N, 1, &args, sizeof args);
  for (int i = 0; i < N; i++) {
    float z[2];
    for (int k = 0; k < 2; k++) { /* contracted to an fma, as hiprtc does */
      float x = test_half_to_float(a[2 * i + k]), y = test_half_to_float(b[2 * i + k]);
      z[k] = rounded((double)x * y + x);
      z[k] = rounded(fmaxf(z[k], y) - fminf(x, z[k]));
    }
    z[0] = z[0] > 2 ? z[1] : rounded(z[0] / test_half_to_float(b[2 * i]));
    for (int k = 0; k < 2; k++)
      if (fabs(test_half_value(out[2 * i + k]) - z[k]) > 0x1p-9 * fabs(z[k]) + 0x1p-14)
        fail_msg("halves %d.%d: %g, want %g", i, k, test_half_value(out[2 * i + k]), (double)z[k]);
  }
}

TEST(private_arrays) {
  enum { N = 192 };
  static int in[N];
  for (int i = 0; i < N; i++) in[i] = (int)(rnd() >> 1) | 7;
  int *out = device(NULL, sizeof in);
  struct { void *in, *out; } args = {device(in, sizeof in), out};
  launch("indexing", 1, 1, N, 1, &args, sizeof args);
  for (int t = 0; t < N; t++) {
    int stack[33], top = 0;
    uint32_t want = 0;
    for (int i = 0; i < 32; i++) {
      if (in[t] >> i & 1) stack[top++] = i * t;
      else if (top > 2) top--;
    }
    for (int i = 0; i < top; i++) want = 31 * want + (uint32_t)stack[((uint32_t)i * 7 + (uint32_t)in[t]) % (uint32_t)top & 31];
    if ((uint32_t)out[t] != want) fail_msg("indexing %d: %d, want %u", t, out[t], want);
  }
}

static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

TEST(calls) {
  enum { N = 128 };
  static int in[N];
  for (int i = 0; i < N; i++) in[i] = (int)(rnd() % 512);
  int *out = device(NULL, sizeof in);
  struct { void *in, *out; } args = {device(in, sizeof in), out};
  launch("calls", 1, 1, N, 1, &args, sizeof args);
  for (int t = 0; t < N; t++) {
    int x = in[t] & 255, want = fib(in[t] & 7) + (in[t] >> 8 & 1 ? x * x : 2 * x);
    if (out[t] != want) fail_msg("calls %d: %d, want %d", in[t], out[t], want);
  }
}

TEST(generic_pointers) {
  enum { N = 256 };
  static int in[4 * N];
  for (int i = 0; i < 4 * N; i++) in[i] = (int)(rnd() % 1000);
  int *out = device(NULL, sizeof(int) * N);
  struct { void *in, *out; } args = {device(in, sizeof in), out};
  launch("generic", 1, 1, N, 1, &args, sizeof args);
  for (int t = 0; t < N; t++) {
    const int *p = &in[4 * t];
    int want = p[0] + 2 * p[1] + 3 * p[2] + 4 * p[3] + (t % 3 == 1 ? 10 : t % 3 == 2 ? -10 : 0);
    if (out[t] != want) fail_msg("generic %d: %d, want %d", t, out[t], want);
  }
}

TEST(tiles) {
  enum { N = 48 };
  static float a[N * N], b[N * N];
  for (int i = 0; i < N * N; i++) a[i] = (float)uniform(-1, 1), b[i] = (float)uniform(-1, 1);
  float *c = device(NULL, sizeof a);
  struct { void *a, *b, *c; int n; } args = {device(a, sizeof a), device(b, sizeof b), c, N};
  launch("sgemm", 3, 3, 16, 16, &args, 28);
  for (int i = 0; i < N * N; i++) {
    float want = 0;
    for (int k = 0; k < N; k++) want = fmaf(a[i / N * N + k], b[k * N + i % N], want);
    if (c[i] != want) fail_msg("sgemm %d: %g, want %g", i, (double)c[i], (double)want); /* the same order: the same bits */
  }
}

TEST(builtins) {
  static uint32_t in[64];
  for (int i = 0; i < 64; i++) in[i] = rnd() >> rnd() % 24;
  uint32_t *out = device(NULL, 64 * 64);
  struct { void *in, *out; } args = {device(in, sizeof in), out};
  launch("builtins", 1, 1, 64, 1, &args, sizeof args);
  for (uint32_t t = 0; t < 64; t++) {
    uint32_t x = in[t], y = in[t ^ 1], sad = 5, want[16], b[4], dot = 3, lerp = 0;
    for (int k = 0; k < 32; k += 8) {
      int p = (int)(x >> k & 255), q = (int)(y >> k & 255);
      sad += (uint32_t)abs(p - q);
      dot += (uint32_t)((int)(int8_t)p * (int8_t)q);
      lerp |= (uint32_t)((p + q + 1) / 2) << k;
    }
    float m = (float)(int)x;
    m = m < 10 ? 10 : m > 1000 ? 1000 : m;
    memcpy(b, &m, 4);
    static const uint8_t fp8[16] = {0, 0x40, 0x48, 0x4c, 0x50, 0x52, 0x54, 0x56, 0x58, 0x59, 0x5a, 0x5b, 0x5c, 0x5d, 0x5e, 0x5f};
    want[0] = in[t ^ 21];
    want[1] = t % 16 ? in[t - 1] : 7;
    want[2] = in[17];
    want[3] = (x >> 16 & 0xff) << 24 | (x >> 8 & 0xff) << 16 | (y & 0xffff); /* selectors 0..3 are y's bytes, 4..7 x's */
    want[4] = sad;
    want[5] = x >> 7 & 0x7ff;
    want[6] = t;
    want[7] = in[t ^ 16];
    want[8] = b[0];
    want[9] = x << 8 | y >> 24;
    want[10] = 0x44u | (uint32_t)fp8[t & 15] << 8;
    if (strcmp(target(), "gfx950") == 0) want[10] -= t & 15 ? 0x808 : 8; /* OCP's exponents are one less */
    if (strcmp(target(), "gfx90a") == 0) want[10] = 0;                   /* has none: hip_kernels.h */
    want[11] = dot;
    want[12] = 64;
    want[13] = in[0] + 1;
    want[14] = x >> (t & 31) & 31;
    want[15] = lerp;
    for (int k = 0; k < 16; k++) {
      uint32_t got = out[16 * t + (uint32_t)k] & (k == 10 ? 0xffff : ~0u);
      if (got != want[k]) fail_msg("builtin %d lane %u: %08x, want %08x (x %08x y %08x)", k, t, got, want[k], x, y);
    }
  }
}

TEST(matrix) {
  static uint16_t a[256], b[256];
  for (int i = 0; i < 256; i++) a[i] = test_half_bits((int)(rnd() % 17) - 8), b[i] = test_half_bits((int)(rnd() % 17) - 8);
  float *c = device(NULL, 1024);
  uint32_t *cut = device(NULL, 256), w;
  struct { void *a, *b, *c, *cut; } args = {device(a, sizeof a), device(b, sizeof b), c, cut};
  launch("matrix", 1, 1, 64, 1, &args, sizeof args);
  for (int i = 0; i < 256; i++) {
    float want = 0;
    for (int k = 0; k < 16; k++) want += test_half_to_float(a[i / 16 * 16 + k]) * test_half_to_float(b[k * 16 + i % 16]);
    if (c[i] != want) fail_msg("matrix %d: %g, want %g", i, (double)c[i], (double)want);
  }
  for (int i = 0; i < 64; i++) {
    memcpy(&w, &a[2 * i], 4);
    assert_int_equal(cut[i], i < 25 ? w : 0);
  }
}

int main(void) {
  int failed = 0;
  for (int t = 0; t < 3; t++) {
    ops = targets[t];
    seed = 42;
    failed += _cmocka_run_group_tests(ops->name, tests_here, n_tests_here, open_rig, close_rig);
  }
  return failed;
}
