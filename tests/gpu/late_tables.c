/* By hand, on a real Hopper GPU: tables that are written just before a launch, by a kernel that lets it begin early.
 *
 *   make late-tables && ./late-tables [PROBLEM VARIANT LENGTHS]...
 *
 * The launch's blocks find tables of another kind (garbage, zeros, other lengths, other pages, the right ones) and may look
 * ahead by them; then the right ones are written and the kernel ahead ends. O and the LSE must be those of a launch with nothing
 * ahead, bit for bit. compute-sanitizer's memcheck may watch: nothing may be read outside of the tables either. */
#include "check/bench.h"
#include "ops/mla_decode/data.h"
#include "run/build.h"
#include "plan/ctx.h"
#include "mlaforge/mlaforge.h"
#include "point.h"

enum { NO_DEVICE = 3, TIMES = 20, WAIT_NS = 30000 };

/* One block writes `words` words, 30 us after it let the next launch begin. */
typedef struct late_args {
  void *to;
  const void *from;
  uint32_t words, wait_ns;
} late_args;
static const char late_source[] =
    "struct args { unsigned *to; const unsigned *from; unsigned words, wait; };\n"
    "extern \"C\" __global__ void late(const __grid_constant__ args a) {\n"
    "  asm volatile(\"griddepcontrol.launch_dependents;\" ::: \"memory\");\n"
    "  unsigned long begin, now;\n"
    "  asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(begin));\n"
    "  do asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(now)); while (now - begin < a.wait);\n"
    "  for (unsigned i = threadIdx.x; i < a.words; i += blockDim.x) a.to[i] = a.from[i];\n"
    "}\n";

typedef struct rig {
  mlaf_ctx *ctx;
  mlaf_device *dev;
  mlaf_gen *gen;
  void *stream;
  mlaf_module *module;
  mlaf_function *late;
} rig;

typedef struct subject { /* one variant and its tables */
  mlaf_bench *bench;
  const mlaf_decode_data *data; /* the bench's */
  mlaf_prepared *prepared;
  void *right; /* a second copy of the tables */
  int32_t *words, batch, pages;
  size_t n, o_bytes, lse_bytes;
  char *want, *got;
} subject;

static void ok(mlaf_status st, const mlaf_err *err, const char *what) {
  if (!st) return;
  fprintf(stderr, "%s: %s\n", what, err->text);
  exit(3);
}
#define DO(call) ok(call, &err, #call)

static void make_late(rig *r) {
  mlaf_err err = {MLAF_OK, ""};
  const char *const *options;
  const char *target = mlaf_ctx_target(r->ctx);
  DO(mlaf_gen_options(r->gen, target, &options, &err));
  mlaf_compile_job job = {.source = late_source, .options = options, .target = target, .name = "late"};
  DO(mlaf_compile(r->ctx->compiler, &job, 1, NULL, NULL, &err));
  if (job.status) fprintf(stderr, "%s\n", job.log);
  ok(job.status, &err, "compiling the kernel that writes late");
  DO(mlaf_ops(r->dev)->module_load(r->dev, job.code, job.code_size, &r->module, &err));
  DO(mlaf_ops(r->dev)->function_get(r->dev, r->module, "late", &r->late, &err));
  mlaf_compile_job_clear(&job);
}

static mlaf_loaded *load(rig *r, const mlaf_problem *p, const char *name) {
  mlaf_err err = {MLAF_OK, ""};
  mlaf_variant v;
  mlaf_build build = {.n = 0};
  mlaf_loaded *l = NULL;
  int compiles = 0;
  const char *target = mlaf_ctx_target(r->ctx);
  DO(mlaf_gen_variant(r->gen, mlaf_point_text(pt(p)).s, target, name, &v, &err));
  DO(mlaf_build_init(&v, &build, &err));
  DO(mlaf_build_now(&build, r->gen, r->ctx->compiler, target, true, &compiles, &err));
  DO(mlaf_build_load(&build, r->dev, pt(p), &l, &err));
  mlaf_build_clear(&build);
  mlaf_variant_clear(&v);
  return l;
}

/* The right tables' words, changed in a way that `kind` names; NULL: no more kinds. */
static const char *spoil(const subject *s, int kind, uint32_t *rng, int32_t *out) {
  static const char *const names[] = {"as they are", "garbage", "all ones", "zeros", "other pages", "one other page", "shifted",
                                      "other lengths", "no query tokens", "last pages", "beyond the end"};
  int32_t *qo = out, *kv = qo + s->batch + 1, *last = kv + s->batch + 1, *pages = last + s->batch;
  if (kind >= (int)(sizeof names / sizeof *names)) return NULL;
  memcpy(out, s->words, s->n * 4);
  const int32_t all = kv[s->batch];
  for (size_t i = 0; i < s->n && kind >= 1 && kind <= 3; i++)
    out[i] = kind == 1 ? (int32_t)(*rng = *rng * 1664525 + 1013904223) : kind == 2 ? -1 : 0;
  for (int32_t i = 0; i < all && kind == 4; i++) pages[i] = (s->words[pages - out + i] + 1) % s->pages;
  if (kind == 5)
    for (int32_t b = 0; b < s->batch; b++)
      if (kv[b] < kv[b + 1]) pages[kv[b]] = (pages[kv[b]] + 1) % s->pages;
  for (int32_t b = 0; b <= s->batch; b++) {
    if (kind == 6) kv[b] += 1;
    if (kind == 7) kv[b] -= (kv[b] - (b ? s->words[kv + b - 1 - out] : 0)) / 2;
    if (kind == 8) qo[b] = 0;
    if (kind == 10) kv[b] += 100000000;
  }
  for (int32_t b = 0; b < s->batch && kind == 9; b++) last[b] = last[b] / 2 + 1;
  return names[kind];
}

/* Launch, with the writer ahead if there is one, and read what came out. */
static void run(rig *r, subject *s, const late_args *ahead, char *out) {
  mlaf_err err = {MLAF_OK, ""};
  const mlaf_device_ops *ops = mlaf_ops(r->dev);
  const mlaf_launch late = {.fn = r->late, .grid = {1, 1, 1}, .block = {1024, 1, 1}, .args = ahead, .args_size = sizeof *ahead};
  DO(ops->mem_fill(r->dev, s->data->args.o, 0xff, s->o_bytes, &err));
  DO(ops->mem_fill(r->dev, s->data->args.lse, 0xff, s->lse_bytes, &err));
  DO(ops->sync(r->dev, NULL, &err));
  if (ahead) DO(ops->launch(r->dev, r->stream, &late, &err));
  for (size_t i = 0; i < s->prepared->n; i++) DO(ops->launch(r->dev, r->stream, &s->prepared->launches[i], &err));
  DO(ops->sync(r->dev, r->stream, &err));
  DO(ops->mem_read(r->dev, out, s->data->args.o, s->o_bytes, &err));
  DO(ops->mem_read(r->dev, out + s->o_bytes, s->data->args.lse, s->lse_bytes, &err));
}

static subject prepare(rig *r, const mlaf_loaded *l, const mlaf_problem *p, const char *lengths) {
  mlaf_err err = {MLAF_OK, ""};
  subject s = {.batch = p->batch};
  mlaf_bench_opts opts = {.data = {.seed = 1, .cache_limit = (int64_t)1 << 30}};
  const size_t rows = (size_t)p->batch * (size_t)p->q_len * (size_t)p->heads;
  DO(mlaf_lengths_parse(lengths, &opts.data.lengths, &err));
  DO(mlaf_bench_create(r->dev, pt(p), &opts, &s.bench, &err));
  s.data = mlaf_decode_data_of(mlaf_bench_data(s.bench));
  s.n = s.data->words;
  s.words = s.data->host;
  s.pages = s.data->args.num_pages;
  s.o_bytes = rows * (size_t)p->rank * 2;
  s.lse_bytes = rows * 4;
  s.want = malloc(s.o_bytes + s.lse_bytes);
  s.got = malloc(s.o_bytes + s.lse_bytes);
  s.prepared = aligned_alloc(_Alignof(mlaf_prepared), sizeof *s.prepared);
  if (!s.want || !s.got || !s.prepared) exit(4);
  DO(mlaf_ops(r->dev)->mem_alloc(r->dev, s.n * 4, &s.right, &err));
  DO(mlaf_ops(r->dev)->mem_write(r->dev, s.right, s.words, s.n * 4, &err));
  DO(mlaf_bench_prepare(s.bench, l, mlaf_loaded_knob(l), s.prepared, &err));
  return s;
}

static int try(rig *r, const char *problem, const char *variant, const char *lengths) {
  mlaf_err err = {MLAF_OK, ""};
  mlaf_problem p;
  char why[512];
  if (mlaf_problem_parse(problem, &p, why, sizeof why)) exit((fprintf(stderr, "%s\n", why), 3));
  mlaf_loaded *l = load(r, &p, variant);
  subject s = prepare(r, l, &p, lengths);
  int32_t *stale = malloc(s.n * 4);
  if (!stale) exit(4);
  uint32_t rng = 1;
  int wrong = 0;
  run(r, &s, NULL, s.want);
  const char *name;
  for (int kind = 0; (name = spoil(&s, kind, &rng, stale)); kind++)
    for (int i = 0; i < TIMES; i++) {
      const late_args ahead = {s.data->tables, s.right, (uint32_t)s.n, WAIT_NS + 37u * (uint32_t)i};
      spoil(&s, kind, &rng, stale);
      DO(mlaf_ops(r->dev)->mem_write(r->dev, s.data->tables, stale, s.n * 4, &err));
      run(r, &s, &ahead, s.got);
      if (!memcmp(s.want, s.got, s.o_bytes + s.lse_bytes)) continue;
      printf("WRONG %s %s: tables before: %s, run %d\n", problem, variant, name, i);
      wrong++;
      break;
    }
  printf("%s %s %s: %d kinds of tables wrong\n", problem, variant, lengths, wrong);
  mlaf_ops(r->dev)->mem_free(r->dev, s.right, NULL);
  mlaf_bench_free(s.bench);
  mlaf_loaded_close(l);
  free(s.want), free(s.got), free(s.prepared), free(stale);
  return wrong;
}

int main(int argc, char **argv) {
  static const char *const usual[] = {
      "mla_decode:h16,r512,p64,q1,bf16,page64,b64,s1024", "sm90_few:cluster=2,load=tma,rows=16,schedule=splits,wgs=2/s1", "equal",
      "mla_decode:h16,r512,p64,q1,bf16,page64,b16,s1024", "sm90_few:cluster=6,load=tma,rows=16,schedule=splits,wgs=2/s1",
        "uniform",
      "mla_decode:h16,r512,p64,q1,bf16,page64,b1,s1024", "sm90_few:cluster=16,load=tma,rows=8,schedule=splits,wgs=1/s1", "equal",
      "mla_decode:h16,r512,p64,q2,causal,f16,page16,b9,s700",
      "sm90_few:cluster=1,load=tma,rows=32,schedule=splits,wgs=2/s3,rows=1,team=8", "uniform",
      "mla_decode:h16,r512,p64,q1,bf16,page64,b128,s1024",
      "sm90_few:cluster=1,load=tma,rows=16,schedule=fitted,wgs=2/s2,rows=1,team=4", "normal:1,0.5",
      "mla_decode:h16,r512,p64,q1,bf16,page8,b7,s500",
      "sm90_few:cluster=4,load=tma,rows=16,schedule=fitted,wgs=2/s1", "uniform",
      "mla_decode:h16,r512,p64,q1,bf16,page64,b128,s1024", "sm90_few:cluster=1,load=tma,rows=16,schedule=fitted,wgs=2/s1",
      "normal:1,0.5",
      "mla_decode:h128,r512,p64,q1,bf16,page64,b128,s1024", "sm90_many:cluster=2,schedule=fitted/s1,rows=4,team=2",
        "normal:1,0.5",
      "mla_decode:h128,r512,p64,q1,bf16,page64,b128,s1024", "sm90_many:cluster=2,schedule=turns/s1", "uniform"};
  rig r = {NULL};
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  mlaf_err err = {MLAF_OK, ""};
  char why[1024] = "";
  o.device = "cuda";
  o.gen_root = getenv("MLAF_GEN_ROOT"); /* another generator's kernels, e.g. some that trust what they saw */
  if (mlaf_ctx_create(&o, &r.ctx, why, sizeof why)) return fprintf(stderr, "late-tables: %s\n", why), NO_DEVICE;
  if (strcmp(mlaf_ctx_target(r.ctx), "sm_90a")) return fprintf(stderr, "late-tables: no Hopper GPU\n"), NO_DEVICE;
  r.dev = mlaf_ctx_device(r.ctx);
  DO(mlaf_ctx_gen(r.ctx, &r.gen, &err));
  DO(mlaf_ops(r.dev)->stream_create(r.dev, &r.stream, &err));
  make_late(&r);
  const char *const *list = argc > 3 ? (const char *const *)argv + 1 : usual;
  const int n = argc > 3 ? (argc - 1) / 3 : (int)(sizeof usual / sizeof *usual / 3);
  int wrong = 0;
  for (int i = 0; i < n; i++) wrong += try(&r, list[3 * i], list[3 * i + 1], list[3 * i + 2]);
  mlaf_ops(r.dev)->module_unload(r.dev, r.module);
  mlaf_ops(r.dev)->stream_destroy(r.dev, r.stream);
  mlaf_ctx_destroy(r.ctx);
  return wrong ? 1 : 0;
}
