/* Whole kernels made by hiprtc, through the device vtable; and code objects that a crash has torn. */
#include "cmocka_all.h"
#include "compile/compile.h"
#include "emu/emu_launch.h"

static const char source[] =
  "extern \"C\" __global__ void softmax(float *o, const float *x, int n) {\n"
  "  __shared__ float red[256];\n"
  "  const float *r = x + (size_t)blockIdx.x * n; float m = -1e30f, t = 0;\n"
  "  for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, r[i]);\n"
  "  red[threadIdx.x] = m; __syncthreads();\n"
  "  for (int s = 128; s > 0; "
  "  s >>= 1) { if (threadIdx.x < s) red[threadIdx.x] = fmaxf(red[threadIdx.x], red[threadIdx.x + s]); __syncthreads(); }\n"
  "  m = red[0]; __syncthreads();\n"
  "  for (int i = threadIdx.x; i < n; i += blockDim.x) t += expf(r[i] - m);\n"
  "  red[threadIdx.x] = t; __syncthreads();\n"
  "  for (int s = 128; s > 0; s >>= 1) { if (threadIdx.x < s) red[threadIdx.x] += red[threadIdx.x + s]; __syncthreads(); }\n"
  "  t = red[0];\n"
  "  for (int i = threadIdx.x; i < n; i += blockDim.x) o[(size_t)blockIdx.x * n + i] = expf(r[i] - m) / t; }\n"
  "extern \"C\" __global__ void divide(float *o, double *od, const float *x, const float *y, const double *dx,\n"
  "    const double *dy) {\n"
  "  int i = blockIdx.x * blockDim.x + threadIdx.x; o[i] = x[i] / y[i]; od[i] = dx[i] / dy[i]; }\n"
  "extern \"C\" __global__ void roots(float *o, double *od, const float *x, const double *dx) {\n"
  "  int i = blockIdx.x * blockDim.x + threadIdx.x; o[i] = sqrtf(x[i]); od[i] = sqrt(dx[i]); }\n"
  "extern \"C\" __global__ void whole(unsigned long long *o, const unsigned long long *x, const unsigned long long *y) {\n"
  "  int i = blockIdx.x * blockDim.x + threadIdx.x; o += 4 * (size_t)i;\n"
  "  o[0] = x[i] / y[i]; o[1] = (long long)x[i] % (long long)y[i]; o[2] = x[i] * y[i]; "
  "  o[3] = (unsigned)x[i] / (unsigned)y[i]; }\n"
  "__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};\n"
  "extern \"C\" __global__ void ids(int *o, int n) {\n"
  "  int i = ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * (blockDim.x * blockDim.y * blockDim.z)\n"
  "        + (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;\n"
  "  if (i < n) o[i] = i * 10 + table[(threadIdx.x + n) & 7]; }\n";

typedef struct fixture {
  mlaf_device *dev;
  mlaf_module *module;
  mlaf_compile_job job;
  mlaf_err err;
} fixture;

static fixture f;
#define CHECK(call) \
  do { \
    if ((call) != MLAF_OK) fail_msg("%s: %s", #call, f.err.text); \
  } while (0)

static int setup(void **state) {
  static const char *const options[] = {"-O3", NULL};
  mlaf_compiler *c;
  CHECK(mlaf_compiler_open(NULL, NULL, &c, &f.err));
  f.job = (mlaf_compile_job){.source = source, .options = options, .target = "gfx942", .name = "device_test"};
  CHECK(mlaf_compile(c, &f.job, 1, NULL, NULL, &f.err));
  if (f.job.status != MLAF_OK) fail_msg("%s", f.job.log);
  mlaf_compiler_close(c);
  CHECK(mlaf_emu_ops.open(0, NULL, &f.dev, &f.err));
  CHECK(mlaf_emu_ops.module_load(f.dev, f.job.code, f.job.code_size, &f.module, &f.err));
  return 0;
}

static int teardown(void **state) {
  mlaf_emu_ops.module_unload(f.dev, f.module);
  mlaf_emu_ops.close(f.dev);
  mlaf_compile_job_clear(&f.job);
  return 0;
}

static void *upload(const void *src, size_t bytes) {
  void *p;
  CHECK(mlaf_emu_ops.mem_alloc(f.dev, bytes, &p, &f.err));
  if (src) CHECK(mlaf_emu_ops.mem_write(f.dev, p, src, bytes, &f.err));
  else CHECK(mlaf_emu_ops.mem_fill(f.dev, p, 0xee, bytes, &f.err));
  return p;
}

static void launch(const char *name, mlaf_launch l, const void *args, size_t size) {
  mlaf_function *fn;
  CHECK(mlaf_emu_ops.function_get(f.dev, f.module, name, &fn, &f.err));
  l.fn = fn;
  l.args = args;
  l.args_size = size;
  CHECK(mlaf_emu_ops.launch(f.dev, NULL, &l, &f.err));
  CHECK(mlaf_emu_ops.sync(f.dev, NULL, &f.err));
}

static uint64_t seed = 88172645463325252u;
static uint64_t rnd(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  return seed ^= seed << 17;
}

TEST(softmax) {
  enum { ROWS = 24, N = 777 };
  static float x[ROWS * N], y[ROWS * N];
  for (int i = 0; i < ROWS * N; i++) x[i] = (float)(rnd() % 100000) / 5000 - 10;
  struct { void *o, *x; int n; } args = {upload(NULL, sizeof y), upload(x, sizeof x), N};
  launch("softmax", (mlaf_launch){.grid = {ROWS, 1, 1}, .block = {256, 1, 1}}, &args, sizeof args);
  CHECK(mlaf_emu_ops.mem_read(f.dev, y, args.o, sizeof y, &f.err));
  for (int r = 0; r < ROWS; r++) {
    double max = -INFINITY, sum = 0;
    for (int i = 0; i < N; i++) max = fmax(max, x[r * N + i]);
    for (int i = 0; i < N; i++) sum += exp(x[r * N + i] - max);
    for (int i = 0; i < N; i++) {
      double want = exp(x[r * N + i] - max) / sum;
      if (!(fabs(y[r * N + i] - want) <= 3e-6 * want)) fail_msg("row %d column %d: %g, expected %g", r, i, y[r * N + i], want);
    }
  }
}

/* Bits with every exponent equally likely, subnormals and near-overflow more often. */
static uint32_t bits32(int i) {
  uint32_t u = (uint32_t)rnd();
  if (i % 8 == 1) u &= 0x807fffff;
  if (i % 16 == 3) u = (u & 0x80ffffff) | 0x7e000000;
  if (i % 16 == 5) u = (u & 0x807fffff) | 0x00800000;
  return u;
}
static uint64_t bits64(int i) {
  uint64_t u = rnd(), keep = UINT64_C(0x800fffffffffffff);
  if (i % 8 == 1) u &= keep;
  if (i % 16 == 3) u = (u & keep) | UINT64_C(0x7fd) << 52;
  if (i % 16 == 5) u = (u & keep) | UINT64_C(1) << 52;
  return u;
}

static bool same32(float a, float b) { return memcmp(&a, &b, 4) == 0 || (isnan(a) && isnan(b)); }
static bool same64(double a, double b) { return memcmp(&a, &b, 8) == 0 || (isnan(a) && isnan(b)); }

/* The compiled division sequences (div_scale, rcp, fma, div_fmas, div_fixup) are correctly rounded on silicon. */
TEST(division_is_correctly_rounded) {
  enum { N = 1 << 16 };
  static uint32_t x[N], y[N];
  static uint64_t dx[N], dy[N];
  static float q[N];
  static double dq[N];
  for (int i = 0; i < N; i++) x[i] = bits32(i), y[i] = bits32(i / 16), dx[i] = bits64(i), dy[i] = bits64(i / 16);
  void *args[] = {upload(NULL, sizeof q), upload(NULL, sizeof dq), upload(x, sizeof x), upload(y, sizeof y),
                  upload(dx, sizeof dx), upload(dy, sizeof dy)};
  launch("divide", (mlaf_launch){.grid = {N / 256, 1, 1}, .block = {256, 1, 1}}, args, sizeof args);
  CHECK(mlaf_emu_ops.mem_read(f.dev, q, args[0], sizeof q, &f.err));
  CHECK(mlaf_emu_ops.mem_read(f.dev, dq, args[1], sizeof dq, &f.err));
  for (int i = 0; i < N; i++) {
    float a, b;
    double c, d;
    memcpy(&a, &x[i], 4), memcpy(&b, &y[i], 4), memcpy(&c, &dx[i], 8), memcpy(&d, &dy[i], 8);
    if (!same32(a / b, q[i])) fail_msg("%a / %a = %a, got %a", a, b, a / b, q[i]);
    if (!same64(c / d, dq[i])) fail_msg("%a / %a = %a, got %a", c, d, c / d, dq[i]);
  }
}

TEST(square_roots_are_correctly_rounded) {
  enum { N = 1 << 14 };
  static uint32_t x[N];
  static uint64_t dx[N];
  static float r[N];
  static double dr[N];
  for (int i = 0; i < N; i++) x[i] = bits32(i) & ~(i % 4 ? 1u << 31 : 0), dx[i] = bits64(i) & ~(i % 4 ? UINT64_C(1) << 63 : 0);
  void *args[] = {upload(NULL, sizeof r), upload(NULL, sizeof dr), upload(x, sizeof x), upload(dx, sizeof dx)};
  launch("roots", (mlaf_launch){.grid = {N / 256, 1, 1}, .block = {256, 1, 1}}, args, sizeof args);
  CHECK(mlaf_emu_ops.mem_read(f.dev, r, args[0], sizeof r, &f.err));
  CHECK(mlaf_emu_ops.mem_read(f.dev, dr, args[1], sizeof dr, &f.err));
  for (int i = 0; i < N; i++) {
    float a;
    double b;
    memcpy(&a, &x[i], 4), memcpy(&b, &dx[i], 8);
    if (!same32(sqrtf(a), r[i])) fail_msg("sqrt(%a) = %a, got %a", a, sqrtf(a), r[i]);
    if (!same64(sqrt(b), dr[i])) fail_msg("sqrt(%a) = %a, got %a", b, sqrt(b), dr[i]);
  }
}

TEST(integer_division) {
  enum { N = 1 << 13 };
  static uint64_t x[N], y[N], o[4 * N];
  for (int i = 0; i < N; i++) x[i] = rnd() >> rnd() % 60, y[i] = rnd() >> rnd() % 60 | 1;
  void *args[] = {upload(NULL, sizeof o), upload(x, sizeof x), upload(y, sizeof y)};
  launch("whole", (mlaf_launch){.grid = {N / 256, 1, 1}, .block = {256, 1, 1}}, args, sizeof args);
  CHECK(mlaf_emu_ops.mem_read(f.dev, o, args[0], sizeof o, &f.err));
  for (int i = 0; i < N; i++) {
    uint64_t rest = (uint64_t)((int64_t)x[i] % (int64_t)y[i]), low = (uint32_t)x[i] / (uint32_t)y[i];
    uint64_t want[4] = {x[i] / y[i], rest, x[i] * y[i], low};
    if (memcmp(want, o + 4 * i, sizeof want) != 0) fail_msg("%llu and %llu", (unsigned long long)x[i], (unsigned long long)y[i]);
  }
}

/* Three-dimensional ids, implicit arguments, constant memory, a last wave that is not full. */
TEST(ids) {
  static const int table[] = {3, 1, 4, 1, 5, 9, 2, 6};
  enum { N = 3 * 2 * 2 * 5 * 3 * 7 };
  int o[N];
  struct { void *o; int n; } args = {upload(NULL, sizeof o), N};
  launch("ids", (mlaf_launch){.grid = {3, 2, 2}, .block = {5, 3, 7}}, &args, 12);
  CHECK(mlaf_emu_ops.mem_read(f.dev, o, args.o, sizeof o, &f.err));
  for (int i = 0; i < N; i++) assert_int_equal(o[i], i * 10 + table[(i % 5 + N) & 7]);
}

TEST(identity) {
  const mlaf_device_info *info = mlaf_info(f.dev);
  assert_string_equal(info->id, "emu:gfx942|cu304|xcc8|SPX|NPS1");
  assert_string_equal(info->target, "gfx942");
  assert_string_equal(info->full_target, "gfx942:sramecc+:xnack-");
  assert_int_equal(info->lds_bytes, 65536);
  assert_int_equal(info->clock_mhz, 2100);
  mlaf_device *other;
  assert_int_equal(mlaf_emu_ops.open(1, NULL, &other, &f.err), MLAF_E_NO_DEVICE);
}

/* Truncated and flipped code objects: refused or opened, never a crash or a read outside (the sanitizer build looks). */
TEST(torn_code_objects) {
  const uint8_t *good = f.job.code;
  size_t size = f.job.code_size;
  int opened = 0;
  for (int round = 0; round < 3000; round++) {
    size_t n = round % 3 == 0 ? rnd() % size : size;
    uint8_t *torn = malloc(n ? n : 1); /* exactly sized: an overrun is visible */
    assert_non_null(torn);
    memcpy(torn, good, n);
    for (int k = 0; n && round % 3 && k < 1 + round % 7; k++) {
      size_t at = rnd() % 4 ? rnd() % n : round % 2 ? rnd() % 64 : n - 1 - rnd() % (n < 2048 ? n : 2048);
      torn[at] = rnd() % 2 ? (uint8_t)rnd() : (uint8_t)(torn[at] ^ 1 << rnd() % 8);
    }
    emu_code *code = NULL;
    mlaf_err err = {MLAF_OK, ""};
    mlaf_status st = emu_code_open(torn, n, &code, &err);
    if (st == MLAF_OK) {
      size_t span = emu_code_span(code);
      void *at = malloc(span ? span : 1);
      assert_non_null(at);
      emu_code_place(code, at, span, &err);
      free(at);
      emu_code_close(code);
      opened++;
    } else if (!err.text[0]) {
      fail_msg("refused without a reason");
    }
    free(torn);
  }
  assert_true(opened > 100); /* most flips hit code or padding */
}

TESTS(setup, teardown)
