/* Measurements near an untuned problem, and the plan made of them: two choices and what was timed beside them. */
#include "plan/nearby.h"
#include "run/build.h"
#include "db/db_fixture.h"
#include "mlaforge/mlaforge.h"
#include "need.h"
#include "point.h"
#include "said.h"

/* 64 rows a request: blocks of 32 rows win where two a request fill the device once, those of 64 where they would not. Times:
 * the emulator's. */
#define SHAPE "mla_decode:h16,r512,p64,q4,causal,bf16,page64,"
#define REG   "mfma_reg:blocks=2,kvload=nt,psplit=1,qsrc=lds,rescale=lazy,schedule=fitted,tile=16,waves=4/s1,rows=4,team=2"
#define LDS   "mfma_lds:blocks=1,load=dma,order=ahead,rescale=lazy,schedule=fitted,stages=3,waves=4/s1,rows=4,team=2"
#define STEM  ((int)strlen(REG) - (int)strlen("s1,rows=4,team=2")) /* of REG: all but splits and combine kernel */
#define ALSO  "mfma_lds:blocks=1,load=dma,order=plain,rescale=lazy,schedule=fitted,stages=2,waves=4/s2,rows=4,team=1"
#define SLOW  "mfma_reg:blocks=1,kvload=nt,psplit=1,qsrc=lds,rescale=lazy,schedule=fitted,tile=16,waves=4/s1,rows=4,team=2"
#define ASKED SHAPE "b240,s1024"

typedef struct fixture {
  db_dir *d;
  mlaf_db *db;
  mlaf_device_info dev;
  mlaf_gen *gen;
} fixture;

static fixture begin(void **state) {
  fixture f = {.d = *state};
  mlaf_device *dev = NULL;
  mlaf_err err;
  unlink(f.d->path);
  f.db = open_db(f.d->path);
  if (mlaf_device_open("emu:gfx942", NULL, &dev, &err) || mlaf_gen_open(NULL, &f.gen, &err)) fail_msg("%s", err.text);
  f.dev = *mlaf_info(dev);
  mlaf_device_close(dev);
  return f;
}

static void end(fixture *f) {
  mlaf_db_close(f->db);
  mlaf_gen_close(f->gen);
}

static mlaf_problem parsed(const char *text) {
  mlaf_problem p;
  assert_int_equal(mlaf_problem_parse(text, &p, NULL, 0), MLAF_OK);
  return p;
}

/* A sample of a variant that the generator makes; hash NULL: of today's template. */
static void sample(fixture *f, const char *problem, const char *variant, double us, mlaf_outcome outcome, const char *lengths,
                   const char *hash) {
  const mlaf_problem p = parsed(problem);
  mlaf_variant v = {.name = NULL};
  mlaf_build b = {.n = 0};
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_gen_variant(f->gen, mlaf_point_text(pt(&p)).s, "gfx942", variant, &v, &err) || mlaf_build_init(&v, &b, &err))
    fail_msg("%s", err.text);
  mlaf_sample s = {.knob = v.knob, .kernels = {b.refs[0], b.refs[1]}, .outcome = outcome, .source = MLAF_SRC_MODELLED,
                   .error = 0.002, .timing = {.source = MLAF_TIME_MODELLED, .ns = 1000 * us, .samples = 7}};
  snprintf(s.variant, sizeof s.variant, "%s", v.name);
  snprintf(s.lengths, sizeof s.lengths, "%s", lengths);
  if (hash) fake_hash(s.kernels[0].template_hash, hash);
  if (mlaf_db_add_sample(f->db, &f->dev, TOOLCHAIN, pt(&p), &s, &err)) fail_msg("%s", err.text);
  mlaf_build_clear(&b);
  mlaf_variant_clear(&v);
}

static bool all_but(void *user, const mlaf_choice *c) { return !user || strcmp(c->problem, user) != 0; }

TEST(gathers_choices_in_reach_and_the_fastest_beside_them) {
  fixture f = begin(state);
  mlaf_nearby *n = NULL;
  mlaf_err err;
  const mlaf_problem p = parsed(ASKED);
  assert_int_equal(mlaf_nearby_gather(f.db, &f.dev, NULL, pt(&p), false, NULL, NULL, &n, &err), MLAF_E_NOT_TUNED);
  sample(&f, SHAPE "b128,s1024", REG, 55.26, MLAF_OUT_OK, "equal", NULL);
  sample(&f, SHAPE "b128,s1024", ALSO, 61.32, MLAF_OUT_OK, "equal", NULL);
  sample(&f, SHAPE "b128,s1024", LDS, 110, MLAF_OUT_OK, "equal", NULL);             /* twice as slow, but the best below */
  sample(&f, SHAPE "b128,s1024", SLOW, 100, MLAF_OUT_OK, "equal", NULL);            /* as slow below */
  sample(&f, SHAPE "b128,s2048", REG, 99, MLAF_OUT_INCORRECT, "equal", NULL);       /* no choice */
  sample(&f, SHAPE "b256,s2048", LDS, 160.28, MLAF_OUT_OK, "equal", NULL);
  sample(&f, SHAPE "b256,s2048", SLOW, 290, MLAF_OUT_OK, "equal", NULL);
  sample(&f, SHAPE "b256,s2048", REG, 170, MLAF_OUT_INCORRECT, "equal", NULL);      /* failed */
  sample(&f, SHAPE "b256,s4096", LDS, 320, MLAF_OUT_OK, "normal:1,0.5,1", NULL);    /* of other requests */
  sample(&f, SHAPE "b2,s1024", REG, 30, MLAF_OUT_OK, "equal", NULL);                /* out of reach */
  sample(&f, "mla_decode:h16,b240,s1024", REG, 50, MLAF_OUT_OK, "equal", NULL);     /* another shape */
  assert_int_equal(mlaf_nearby_gather(f.db, &f.dev, NULL, pt(&p), false, NULL, NULL, &n, &err), MLAF_OK);
  assert_int_equal(n->n_choices, 2);
  assert_string_equal(n->choices[0].problem, SHAPE "b128,s1024");
  assert_string_equal(n->choices[1].problem, SHAPE "b256,s2048");
  static const struct {
    const char *variant;
    double ns;
    size_t choice;
    bool fast;
  } want[] = {{REG, 55260, 0, true}, {ALSO, 61320, 0, true}, {SLOW, 100000, 0, false}, {LDS, 110000, 0, true},
              {LDS, 160280, 1, true}};
  assert_int_equal(n->n, sizeof want / sizeof *want);
  for (size_t i = 0; i < n->n; i++) {
    assert_string_equal(n->items[i].variant, want[i].variant);
    assert_true(n->items[i].ns == want[i].ns && n->items[i].choice == want[i].choice && n->items[i].fast == want[i].fast);
  }
  assert_true(n->items[4].error == 0.002);
  free(n);
  /* Kernels that the caller refuses are not there. */
  assert_int_equal(mlaf_nearby_gather(f.db, &f.dev, NULL, pt(&p), false, all_but, SHAPE "b128,s1024", &n, &err), MLAF_OK);
  assert_int_equal(n->n_choices, 1);
  assert_string_equal(n->items[0].variant, LDS);
  free(n);
  end(&f);
}

/* The fastest few of many split counts of a kernel are there, each once. */
TEST(no_more_than_the_nearest_few) {
  fixture f = begin(state);
  mlaf_nearby *n = NULL;
  mlaf_err err;
  char text[MLAF_PROBLEM_TEXT_MAX], variant[256];
  const mlaf_problem p = parsed(ASKED);
  for (int i = 0; i < MLAF_NEARBY_CHOICES + 2; i++) {
    snprintf(text, sizeof text, SHAPE "b%d,s1024", 256 + i);
    for (int splits = 1; splits < MLAF_NEARBY_EACH + 4; splits++) {
      snprintf(variant, sizeof variant, "%.*ss%d%s", STEM, REG, splits, splits > 1 ? ",rows=4,team=1" : ",rows=4,team=2");
      sample(&f, text, variant, 100 + splits, MLAF_OUT_OK, "equal", NULL);
    }
    snprintf(variant, sizeof variant, "%.*ss2,rows=8,team=1", STEM, REG); /* another combine kernel: no news */
    sample(&f, text, variant, 102.5, MLAF_OUT_OK, "equal", NULL);
  }
  assert_int_equal(mlaf_nearby_gather(f.db, &f.dev, NULL, pt(&p), false, NULL, NULL, &n, &err), MLAF_OK);
  assert_int_equal(n->n_choices, MLAF_NEARBY_CHOICES);
  assert_string_equal(n->choices[0].problem, SHAPE "b256,s1024");
  assert_int_equal(n->n, MLAF_NEARBY_CHOICES * MLAF_NEARBY_EACH); /* a choice is one of its fastest */
  assert_true(n->items[MLAF_NEARBY_EACH - 1].choice == 0 && n->items[MLAF_NEARBY_EACH - 1].ns == 1000 * (100 + MLAF_NEARBY_EACH));
  assert_string_equal(n->items[MLAF_NEARBY_EACH].variant, REG);
  free(n);
  /* Those of an older template, faster or not, are another kernel's. */
  for (int splits = 8; splits < MLAF_NEARBY_EACH + 9; splits++) {
    snprintf(variant, sizeof variant, "%.*ss%d,rows=4,team=1", STEM, REG, splits);
    sample(&f, SHAPE "b256,s1024", variant, 80 + splits, MLAF_OUT_OK, "equal", "an older template");
  }
  assert_int_equal(mlaf_nearby_gather(f.db, &f.dev, NULL, pt(&p), false, NULL, NULL, &n, &err), MLAF_OK);
  assert_int_equal(n->n, (MLAF_NEARBY_CHOICES + 1) * MLAF_NEARBY_EACH);
  free(n);
  end(&f);
}

/* A kernel that is near the best for one problem counts with its times for all of them, the others are named as slow. */
TEST(kernels_near_the_best_count_everywhere) {
  fixture f = begin(state);
  mlaf_nearby *n = NULL;
  mlaf_variant *list = NULL;
  size_t found = 0, fast[2] = {0}, slow = 0;
  mlaf_err err;
  char late[256] = "", later[256] = "";
  const mlaf_problem p = parsed(ASKED);
  int us = 100;
  if (mlaf_gen_space(f.gen, mlaf_point_text(pt(&p)).s, "gfx942", &list, &found, &err)) fail_msg("%s", err.text);
  for (size_t i = 0; i < found && us <= 140; i++) { /* one split: a kernel each; up to 130 us are within 1.3 times the best */
    if (list[i].rejected || list[i].knob != 1) continue;
    snprintf(late, sizeof late, "%s", later);
    snprintf(later, sizeof later, "%s", list[i].name);
    sample(&f, SHAPE "b256,s1024", list[i].name, us++, MLAF_OUT_OK, "equal", NULL);
  }
  mlaf_variants_free(list, found);
  assert_int_equal(us, 141);
  sample(&f, SHAPE "b256,s512", later, 50, MLAF_OUT_OK, "equal", NULL);
  sample(&f, SHAPE "b256,s512", late, 66, MLAF_OUT_OK, "equal", NULL);
  assert_int_equal(mlaf_nearby_gather(f.db, &f.dev, NULL, pt(&p), false, NULL, NULL, &n, &err), MLAF_OK);
  for (size_t i = 0; i < n->n; i++) {
    const mlaf_nearby_item *x = &n->items[i];
    if (x->fast) fast[x->choice]++;
    else slow++;
    assert_true(x->fast == (x->choice == 1 || x->ns <= 130000 || !strcmp(x->variant, later)));
  }
  assert_int_equal(fast[0], 31 + 1);
  assert_int_equal(fast[1], 1);
  assert_int_equal(slow, 41 - 32); /* each once */
  free(n);
  end(&f);
}

static mlaf_plan *plan(mlaf_ctx *ctx, const char *problem, mlaf_plan_info *info) {
  const mlaf_problem p = parsed(problem);
  mlaf_plan *made = NULL;
  if (mlaf_plan_create(ctx, &p, NULL, &made)) fail_msg("%s", said(ctx));
  *info = (mlaf_plan_info)MLAF_PLAN_INFO_INIT;
  assert_int_equal(mlaf_plan_query(made, info), MLAF_OK);
  return made;
}

static mlaf_ctx *open_ctx(fixture *f) {
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  mlaf_ctx *ctx = NULL;
  char why[500] = "", cache[512];
  snprintf(cache, sizeof cache, "%s/test-cache", getenv("MLAF_BUILD_DIR") ? getenv("MLAF_BUILD_DIR") : ".");
  need_compiler("gfx942");
  o.device = "emu:gfx942";
  o.db_path = f->d->path;
  o.cache_dir = cache;
  if (mlaf_ctx_create(&o, &ctx, why, sizeof why)) fail_msg("%s", why);
  return ctx;
}

TEST(a_plan_takes_the_kernel_that_the_measurements_favour) {
  fixture f = begin(state);
  mlaf_plan_info info;
  mlaf_nearby *n = NULL;
  mlaf_gen_nearby x;
  mlaf_err err;
  char why[600];
  sample(&f, SHAPE "b128,s1024", REG, 55.26, MLAF_OUT_OK, "equal", NULL); /* the nearest */
  mlaf_ctx *ctx = open_ctx(&f);
  mlaf_plan *made = plan(ctx, ASKED, &info);
  assert_string_equal(info.rung, "nearest");
  assert_string_equal(info.variant, REG);
  assert_string_equal(info.notes, "");
  mlaf_plan_release(made);
  mlaf_ctx_destroy(ctx);
  sample(&f, SHAPE "b256,s2048", LDS, 160.28, MLAF_OUT_OK, "equal", "an older template"); /* HARD */
  ctx = open_ctx(&f);
  made = plan(ctx, ASKED, &info);
  assert_string_equal(info.variant, REG);
  mlaf_plan_release(made);
  sample(&f, SHAPE "b256,s2048", LDS, 160.28, MLAF_OUT_OK, "equal", NULL);
  made = plan(ctx, ASKED, &info);
  assert_string_equal(info.rung, "nearest");
  assert_string_equal(info.variant, LDS);
  assert_string_equal(info.tuned_for, SHAPE "b256,s2048");
  assert_true(info.ns == 160280 && info.error == 0.002);
  /* The same in words. */
  const mlaf_problem p = parsed(ASKED);
  assert_int_equal(mlaf_nearby_gather(f.db, &f.dev, NULL, pt(&p), false, NULL, NULL, &n, &err), MLAF_OK);
  assert_int_equal(mlaf_nearby_choose(n, f.gen, mlaf_point_text(pt(&p)).s, "gfx942", true, &x, &err), MLAF_OK);
  mlaf_nearby_reason(n, &x, why, sizeof why);
  assert_non_null(strstr(why, LDS " (kernel of " SHAPE "b256,s2048): the model and 2 times of 2 problems nearby say "));
  assert_non_null(strstr(why, " us, the nearest choice's kernel "));
  assert_int_equal(x.from, 1);
  assert_non_null(strstr(info.notes, "choice " REG " of " SHAPE "b128,s1024 is nearest, but " LDS));
  assert_non_null(strstr(info.notes, why));
  mlaf_plan_release(made);
  mlaf_ctx_destroy(ctx);
  mlaf_variant_clear(&x.variant);
  free(n);
  end(&f);
}

TESTS_EACH(db_dir_setup, db_dir_teardown)
