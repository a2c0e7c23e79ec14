/* The timing model looks at a sample of a launch's workgroups. Here it looks at all of them, and the two may not differ by more
 * than a tenth: batches of equal and of ragged length, few and many splits, persistent grids, one long workgroup among short
 * ones. MLAF_EXTRAPOLATION_TABLE=1 prints the table of docs/lab/timing-model.md. */
#include "cmocka_all.h"
#include "check/bench.h"
#include "ops/mla_decode/launch.h"
#include "op/numeric.h"
#include "emu/snippet.h"
#include "emu/timing.h"
#include "ragged.h"
#include "rig.h"
#include "point.h"

static const double TOLERANCE = 0.10;
#define SPLIT_REG  "mfma_reg:blocks=1,kvload=nt,psplit=1,qsrc=reg,rescale=lazy,schedule=splits,tile=16,waves=4/"
#define FITTED_REG "mfma_reg:blocks=1,kvload=nt,psplit=1,qsrc=reg,rescale=lazy,schedule=fitted,tile=16,waves=4/"
#define FITTED_LDS "mfma_lds:blocks=2,load=dma,order=ahead,rescale=lazy,schedule=fitted,stages=3,waves=4/"

typedef struct result {
  double part, all; /* us */
  double wall;      /* host seconds to simulate all */
  char detail[128];
} result;

static void judge(const char *name, result r) {
  double error = r.part / r.all - 1;
  if (getenv("MLAF_EXTRAPOLATION_TABLE"))
    printf("| %s | %.2f | %.2f | %+.1f %% | %.1f | %s |\n", name, r.all, r.part, 100 * error, r.wall, r.detail);
  if (fabs(error) > TOLERANCE) fail_msg("%s: %.2f us from a sample, %.2f us from all; %s", name, r.part, r.all, r.detail);
}

static result both(mlaf_device *dev, const mlaf_launch *l, size_t n, bool uneven) {
  mlaf_time_opts opts = mlaf_bench_time_opts();
  opts.uneven = uneven;
  opts.limit_s = 0; /* how large the sample is must not depend on how fast this machine is */
  const emu_time_how all = {.all = true};
  mlaf_timing t;
  mlaf_err err;
  result r;
  if (mlaf_ops(dev)->time(dev, l, n, &opts, &t, &err) != MLAF_OK) fail_msg("%s", err.text);
  r.part = t.ns / 1e3;
  snprintf(r.detail, sizeof r.detail, "%s", t.detail);
  r.wall = mlaf_now();
  if (emu_time_how_to((emu_device *)dev, l, n, &all, &t, &err) != MLAF_OK) fail_msg("%s", err.text);
  r.all = t.ns / 1e3;
  r.wall = mlaf_now() - r.wall;
  return r;
}

/* --- decode kernels --- */

typedef enum lengths { EQUAL, UNIFORM, FEW_LONG } lengths;
static const char *const lengths_names[] = {"equal", "1 to ctx", "one of 24 long, others ctx / 8"};

static const struct {
  const char *problem;
  lengths lengths;
  const char *family; /* its first candidate */
} shapes[] = {
    {"mla_decode:h16,b48,s512", EQUAL, "mfma_reg"},       {"mla_decode:h128,b24,s512", EQUAL, "mfma_lds"},
    {"mla_decode:h16,b2,s8192", EQUAL, "mfma_reg"},       {"mla_decode:h16,b64,s512", UNIFORM, "mfma_reg"},
    {"mla_decode:h128,b20,s512", UNIFORM, "mfma_lds"},    {"mla_decode:h20,q3,b24,s600", UNIFORM, "mfma_reg"},
    {"mla_decode:h16,b96,s1024", FEW_LONG, "mfma_reg"},   {"mla_decode:h5,b150,s400", FEW_LONG, "mfma_reg"},
    {"mla_decode:h128,b48,s512", FEW_LONG, "mfma_lds"},   {"mla_decode:h128,b1,s4096", EQUAL, "mfma_lds"},
};

/* Shorten the requests of a bench whose tables hold ctx tokens each, in pages of 64. */
static void shorten(mlaf_device *dev, const mlaf_prepared *prepared, const mlaf_problem *p, lengths kind) {
  const mlaf_decode_args *a = prepared->launches[0].args;
  mlaf_rng rng = {11};
  mlaf_err err;
  int32_t indptr[257] = {0}, last[256];
  if (kind == EQUAL) return;
  assert_true(p->batch <= 256 && p->page_size == 64);
  for (int i = 0; i < p->batch; i++) {
    int n = 1 + (int)mlaf_rng_below(&rng, (uint32_t)p->ctx);
    if (kind == FEW_LONG) n = i % 24 == 17 ? p->ctx : p->ctx / 8;
    indptr[i + 1] = indptr[i] + (n + 63) / 64;
    last[i] = (n - 1) % 64 + 1;
  }
  if (mlaf_ops(dev)->mem_write(dev, (void *)(uintptr_t)a->kv_indptr, indptr, sizeof *indptr * (size_t)(p->batch + 1), &err) ||
      mlaf_ops(dev)->mem_write(dev, (void *)(uintptr_t)a->kv_last_page_lens, last, sizeof *last * (size_t)p->batch, &err))
    fail_msg("%s", err.text);
}

static const mlaf_variant *first_of(const rig_candidates *c, const char *family) {
  for (size_t i = 0; i < c->n_all; i++)
    if (!c->all[i].rejected && !strncmp(c->all[i].name, family, strlen(family))) return &c->all[i];
  fail_msg("no variant of family %s", family);
  return NULL;
}

TEST(decode_kernels) {
  rig r;
  rig_open(&r);
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    mlaf_problem p = rig_problem(shapes[i].problem);
    mlaf_bench_opts opts = {.data = {.seed = 1}};
    mlaf_bench *bench;
    mlaf_prepared prepared;
    rig_candidates c;
    char name[160];
    mlaf_err err;
    rig_candidates_make(&r, &p, &c);
    const mlaf_variant *v = first_of(&c, shapes[i].family);
    mlaf_loaded *l = rig_load(&r, &p, v);
    if (mlaf_bench_create(r.dev, pt(&p), &opts, &bench, &err)) fail_msg("%s", err.text);
    if (mlaf_bench_prepare(bench, l, mlaf_loaded_knob(l), &prepared, &err)) fail_msg("%s", err.text);
    shorten(r.dev, &prepared, &p, shapes[i].lengths);
    snprintf(name, sizeof name, "%s, %s, %.3s/s%u", shapes[i].problem + strlen("mla_decode:"), lengths_names[shapes[i].lengths],
             v->name, (unsigned)mlaf_loaded_knob(l));
    judge(name, both(r.dev, prepared.launches, prepared.n, false));
    mlaf_bench_free(bench);
    mlaf_loaded_close(l);
    rig_candidates_free(&c);
  }
  rig_close(&r);
}

/* Batches of different lengths, by kernels that cut them and by those that do not: their workgroups, those of the combine kernel
 * too, differ in work, and few of them may be much longer than the rest. */
static const struct {
  const char *problem, *variant;
  ragged_kind kind;
} uneven[] = {
    {"mla_decode:h16,r512,p64,q1,bf16,page64,b48,s512", FITTED_REG "s1,rows=4,team=2", RAGGED_ONE_LONG},
    {"mla_decode:h16,r512,p64,q1,bf16,page64,b48,s512", FITTED_REG "s4,rows=2,team=4", RAGGED_ONE_LONG},
    {"mla_decode:h16,r512,p64,q1,bf16,page64,b96,s256", FITTED_REG "s3,rows=8,team=1", RAGGED_ZIPF},
    {"mla_decode:h16,r512,p64,q1,bf16,page64,b48,s512", SPLIT_REG "s6,rows=1,team=1", RAGGED_LOGNORMAL},
    {"mla_decode:h128,r512,p64,q1,bf16,page64,b8,s512", FITTED_LDS "s1,rows=4,team=2", RAGGED_ONE_LONG},
    {"mla_decode:h128,r512,p64,q1,bf16,page64,b12,s512", FITTED_LDS "s4,rows=4,team=1", RAGGED_UNIFORM},
};

TEST(uneven_launches) {
  rig r;
  rig_open(&r);
  for (size_t i = 0; i < sizeof uneven / sizeof *uneven; i++) {
    mlaf_problem p = rig_problem(uneven[i].problem);
    int32_t tokens[256];
    ragged_draw(uneven[i].kind, p.ctx, p.batch, 7, tokens);
    mlaf_bench_opts opts = {.data = {.seed = 1, .tokens = tokens}};
    mlaf_bench *bench;
    mlaf_prepared prepared;
    mlaf_variant v;
    char name[160];
    mlaf_err err;
    if (mlaf_gen_variant(r.gen, mlaf_point_text(pt(&p)).s, "gfx942", uneven[i].variant, &v, &err)) fail_msg("%s", err.text);
    mlaf_loaded *l = rig_load(&r, &p, &v);
    if (mlaf_bench_create(r.dev, pt(&p), &opts, &bench, &err)) fail_msg("%s", err.text);
    if (mlaf_bench_prepare(bench, l, mlaf_loaded_knob(l), &prepared, &err)) fail_msg("%s", err.text);
    snprintf(name, sizeof name, "h%d,b%d,s%d, %s, %s", p.heads, p.batch, p.ctx, ragged_names[uneven[i].kind],
             strstr(uneven[i].variant, "schedule"));
    judge(name, both(r.dev, prepared.launches, prepared.n, true));
    mlaf_bench_free(bench);
    mlaf_loaded_close(l);
    mlaf_variant_clear(&v);
  }
  rig_close(&r);
}

/* --- made-up grids --- */

/* s21 rounds of vector work, loads from the workgroup's own 256 bytes and a wait. */
static const char body_of_rounds[] =
    "v_mov_b32 v9, 0\nv_lshlrev_b32 v3, 2, v0\nloop:\nglobal_load_dword v20, v3, s[4:5]\n"
    "v_add_u32 v9, v9, v9\nv_add_u32 v9, v9, v9\nv_add_u32 v9, v9, v9\nv_add_u32 v9, v9, v9\ns_waitcnt vmcnt(0)\n"
    "s_sub_u32 s21, s21, 1\ns_cmp_lg_u32 s21, 0\ns_cbranch_scc1 loop\n";

static const struct {
  const char *name, *rounds;
  uint32_t groups;
} grids[] = {
    {"one of 200 workgroups 40 times as long", "s_cmp_eq_u32 s2, 133\ns_cselect_b32 s21, 800, 20", 200},
    {"every 16th of 512 workgroups 8 times as long", "s_and_b32 s20, s2, 15\ns_cmp_eq_u32 s20, 5\ns_cselect_b32 s21, 160, 20",
     512},
    {"persistent, 304 workgroups of 10 to 137 rounds", "s_mul_i32 s20, s2, 77\ns_and_b32 s20, s20, 127\ns_add_u32 s21, s20, 10",
     304},
    {"persistent, last tenth of 304 workgroups idle", "s_cmp_lt_u32 s2, 274\ns_cselect_b32 s21, 60, 1", 304},
};

TEST(made_up_grids) {
  void *opened = NULL;
  if (snip_open(&opened)) fail_msg("no emulator");
  snip *s = opened;
  for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
    char body[2048];
    mlaf_module *m;
    snprintf(body, sizeof body, "%s\n%s", grids[i].rounds, body_of_rounds);
    void *args[2] = {s->in, s->out};
    mlaf_launch l = {.fn = snip_load(s, 64, 0, body, &m), .grid = {grids[i].groups, 1, 1}, .block = {256, 1, 1}, .args = args,
                     .args_size = sizeof args};
    judge(grids[i].name, both(s->dev, &l, 1, false));
    mlaf_emu_ops.module_unload(s->dev, m);
  }
  snip_close(&opened);
}

/* One workgroup a compute unit, more instructions than are counted: those not counted are as long as their neighbours, so longest
 * first takes as long as all alike do. Dealt out in turn their lengths would leave long ones for the end. */
TEST(longest_first) {
  enum { GROUPS = 1216, LDS = 65536 };
  static const char *const rounds[] = {"s_sub_u32 s20, 1216, s2\ns_mul_i32 s21, s20, 3\n", "s_mov_b32 s21, 1825\n"};
  void *opened = NULL;
  if (snip_open(&opened)) fail_msg("no emulator");
  snip *s = opened;
  double us[2];
  for (int i = 0; i < 2; i++) {
    char body[2048];
    mlaf_module *m;
    mlaf_timing t;
    mlaf_err err;
    mlaf_time_opts opts = mlaf_bench_time_opts();
    opts.limit_s = 0;
    snprintf(body, sizeof body, "%s%s", rounds[i], body_of_rounds);
    void *args[2] = {s->in, s->out};
    mlaf_launch l = {.fn = snip_load(s, 64, LDS, body, &m), .grid = {GROUPS, 1, 1}, .block = {64, 1, 1}, .args = args,
                     .args_size = sizeof args};
    if (mlaf_ops(s->dev)->time(s->dev, &l, 1, &opts, &t, &err) != MLAF_OK) fail_msg("%s", err.text);
    us[i] = t.ns / 1e3;
    mlaf_emu_ops.module_unload(s->dev, m);
  }
  if (fabs(us[0] / us[1] - 1) > TOLERANCE) fail_msg("longest first %.1f us, all alike %.1f us", us[0], us[1]);
  if (getenv("MLAF_EXTRAPOLATION_TABLE")) printf("longest first %.1f us, all alike %.1f us\n", us[0], us[1]);
  snip_close(&opened);
}

TESTS(NULL, NULL)
