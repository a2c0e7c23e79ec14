/* A soak passes right kernels and finds one wrong launch among many, with its number and row: on a device of host functions,
 * where outputs are compared on the host, and on the emulator, where the comparing kernel does it. */
#include "run/built.h"
#include "run/fake_device.h"
#include "check/bench_internal.h"
#include "check/soak.h"
#include "check/soak_internal.h"
#include "check/verify.h"
#include "ops/mla_decode/compare.h"
#include "decode_problem.h"
#include "point.h"

/* Damage done to decode launches of the device under test: those numbered first, first + step, ..., counted from 1. */
static struct soiling {
  int64_t seen, first, step, cancel_at;
  bool lse, skip;        /* change the LSE, or leave everything unwritten; else one bit of O */
  int64_t row;
  int rank;
  mlaf_status (*launch)(mlaf_device *dev, void *stream, const mlaf_launch *l, mlaf_err *err);
} soil;
static atomic_bool cancelled;

static mlaf_status soiled_launch(mlaf_device *dev, void *stream, const mlaf_launch *l, mlaf_err *err) {
  const mlaf_decode_args *a = l->args;
  if (l->args_size < sizeof *a) return soil.launch(dev, stream, l, err); /* a combine, or the comparing kernel */
  const int64_t n = ++soil.seen;
  const bool hit = soil.first && n >= soil.first && (n == soil.first || (soil.step && (n - soil.first) % soil.step == 0));
  if (n == soil.cancel_at) atomic_store(&cancelled, true);
  if (hit && soil.skip) return MLAF_OK;
  mlaf_status st = soil.launch(dev, stream, l, err);
  if (st || !hit) return st;
  char *at = soil.lse ? (char *)(a->lse + soil.row) : (char *)a->o + 2 * (soil.row * soil.rank + 7);
  uint32_t word;
  st = mlaf_ops(dev)->mem_read(dev, &word, at - (uintptr_t)at % 4, 4, err);
  word ^= soil.lse ? 1 : 0x40000000; /* the LSE's last bit; an exponent of O */
  return st ? st : mlaf_ops(dev)->mem_write(dev, at - (uintptr_t)at % 4, &word, 4, err);
}

/* Ops of the device with its launches soiled. */
static mlaf_device_ops soiled_ops(const mlaf_device_ops *ops, const mlaf_problem *p) {
  mlaf_device_ops s = *ops;
  soil = (struct soiling){.launch = ops->launch, .rank = p->rank, .row = 0};
  atomic_store(&cancelled, false);
  s.launch = soiled_launch;
  return s;
}

typedef struct rig {
  mlaf_problem problem;
  mlaf_device_ops ops;
  fake_device dev;
  mlaf_loaded *loaded;
} rig;

static void rig_open(rig *r, const char *problem, uint32_t splits) {
  r->problem = parsed(problem);
  r->dev = fake_make(&r->problem, BUG_NONE);
  r->ops = soiled_ops(r->dev.base.ops, &r->problem);
  r->dev.base.ops = &r->ops;
  r->loaded = fake_load(&r->dev, splits);
  assert_non_null(r->loaded);
}

static mlaf_status rig_run(rig *r, mlaf_soak_opts *o, mlaf_soak_result *out, mlaf_err *err) {
  const mlaf_tool_env env = {.device = (mlaf_device *)&r->dev};
  o->seed = 3;
  *err = (mlaf_err){MLAF_OK, ""};
  return mlaf_soak_run(&env, r->loaded, o, out, err);
}

static void rig_close(rig *r) {
  mlaf_loaded_close(r->loaded);
  assert_int_equal(r->dev.allocations, 0); /* every buffer went back, on every path */
}

TEST(right_kernels_pass) {
  static const char *const problems[] = {"mla_decode:h4,r64,p32,q1,bf16,page16,b3,s90",
                                         "mla_decode:h3,r64,p0,q3,causal,f16,page1,b2,s70",
                                         "mla_decode:h2,r512,p64,q1,bf16,page64,b2,s200"};
  for (int i = 0; i < 3; i++)
    for (uint32_t splits = 1; splits <= 4; splits += 3) {
      rig r;
      mlaf_soak_opts o = {.launches = 100, .lengths = {.kind = i ? MLAF_LENGTHS_EQUAL : MLAF_LENGTHS_UNIFORM}};
      mlaf_soak_result out;
      mlaf_err err;
      rig_open(&r, problems[i], splits);
      if (rig_run(&r, &o, &out, &err)) fail_msg("%s: %s", problems[i], err.text);
      assert_int_equal(out.launches, 100);
      assert_int_equal(out.sets, 2);
      assert_true(out.beside > 0 && out.beside < 100);
      assert_int_equal(out.wrong, 0);
      assert_false(out.stopped);
      assert_int_equal(2 * out.checked_rows, out.rows); /* of O and of LSE */
      assert_true(out.error > 0 && out.error < mlaf_error_bound((mlaf_dtype)r.problem.dtype));
      assert_string_equal(out.checked, "the whole output of page table 0");
      assert_string_equal(out.detail, "");
      assert_int_equal(soil.seen, 102);
      rig_close(&r);
    }
}

/* Launch numbers are those of the run: two first launches go before. */
TEST(one_wrong_launch_is_named) {
  rig r;
  mlaf_soak_opts o = {.launches = 150};
  mlaf_soak_result out;
  mlaf_err err;
  for (int lse = 0; lse < 2; lse++) {
    rig_open(&r, "mla_decode:h4,r64,p32,q2,bf16,page16,b3,s90", 1);
    soil.first = 2 + 77;
    soil.row = (2 * 2 + 1) * 4 + 3; /* request 2, token 1, head 3 */
    soil.lse = lse;
    assert_int_equal(rig_run(&r, &o, &out, &err), MLAF_E_INCORRECT);
    assert_int_equal(out.launches, 150);
    assert_int_equal(out.wrong, 1);
    assert_int_equal(out.wrong_rows, 1);
    assert_int_equal(out.first.launch, 77);
    assert_string_equal(out.first.where, lse ? "lse, request 2, token 1, head 3" : "o, request 2, token 1, head 3");
    assert_int_equal(out.first.output, lse);
    assert_int_equal(out.first.row, soil.row);
    assert_int_equal(out.first.words, 1);
    assert_int_equal(out.first.of, lse ? 1 : 32);
    assert_true(out.first.first_error < 2 * mlaf_error_bound(MLAF_BF16));
    assert_true(lse ? out.first.error < 1e-5 && out.first.error != out.first.first_error : out.first.error > 0.1);
    assert_true(lse ? out.worst > 0 && out.worst < 1e-5 : out.worst > 0.1);
    assert_non_null(strstr(err.text, "1 of 150 launches differ"));
    assert_non_null(strstr(err.text, "in launch 77 ("));
    assert_non_null(strstr(err.text, "request 2, token 1, head 3"));
    rig_close(&r);
  }
}

TEST(every_wrong_launch_is_counted) {
  rig r;
  mlaf_soak_opts o = {.launches = 200};
  mlaf_soak_result out;
  mlaf_err err;
  rig_open(&r, "mla_decode:h4,r64,p32,q1,bf16,page16,b3,s50", 1);
  soil.first = 2 + 9;
  soil.step = 13;
  soil.row = 5;
  assert_int_equal(rig_run(&r, &o, &out, &err), MLAF_E_INCORRECT);
  assert_int_equal(out.wrong, (200 - 9) / 13 + 1);
  assert_int_equal(out.wrong_rows, out.wrong);
  assert_int_equal(out.first.launch, 9);
  rig_close(&r);
}

/* Rows that a launch leaves unwritten never hold the right values by chance: another set's output lies there. */
TEST(unwritten_rows_are_found) {
  for (int sets = 2; sets < 12; sets++) {
    rig r;
    mlaf_soak_result out;
    mlaf_err err;
    rig_open(&r, "mla_decode:h4,r64,p32,q1,bf16,page16,b3,s64", 1);
    mlaf_soak_opts o = {.launches = 120, .pool_bytes = (int64_t)sets * 3 * 64 * 96 * 2};
    soil.first = sets + 50;
    soil.step = 11;
    soil.skip = true;
    assert_int_equal(rig_run(&r, &o, &out, &err), MLAF_E_INCORRECT);
    assert_int_equal(out.sets, sets);
    assert_int_equal(out.wrong, (120 - 50) / 11 + 1);
    assert_int_equal(out.wrong_rows, out.wrong * out.rows);
    rig_close(&r);
  }
}

/* A wrong first launch: found by fp64 where it is checked, else by what comes behind it, and called by its name. */
TEST(wrong_first_launches) {
  rig r;
  mlaf_soak_opts o = {.launches = 60};
  mlaf_soak_result out;
  mlaf_err err;
  rig_open(&r, "mla_decode:h4,r64,p32,q1,bf16,page16,b3,s50", 1);
  soil.first = 1;
  soil.row = 6;
  assert_int_equal(rig_run(&r, &o, &out, &err), MLAF_E_INCORRECT);
  assert_int_equal(out.launches, 0);
  assert_non_null(strstr(out.detail, "first launch: case page table 0, request 1, token 0"));
  rig_close(&r);
  rig_open(&r, "mla_decode:h4,r64,p32,q1,bf16,page16,b3,s50", 1);
  soil.first = 2;
  soil.row = 6;
  assert_int_equal(rig_run(&r, &o, &out, &err), MLAF_E_INCORRECT);
  assert_in_range(out.wrong, 25, 35); /* those of page table 1 */
  assert_string_equal(out.first.where, "o, request 1, token 0, head 2");
  assert_non_null(strstr(out.detail, "the first launch is the wrong one"));
  rig_close(&r);
}

TEST(stops_when_told) {
  rig r;
  mlaf_soak_result out;
  mlaf_err err;
  rig_open(&r, "mla_decode:h4,r64,p32,q1,bf16,page16,b3,s50", 1);
  soil.cancel_at = 2 + 130;
  mlaf_soak_opts o = {.launches = 1000000, .cancel = &cancelled};
  assert_int_equal(rig_run(&r, &o, &out, &err), MLAF_OK);
  assert_true(out.stopped);
  assert_in_range(out.launches, 130, 140); /* a burst is finished */
  assert_int_equal(out.wrong, 0);
  rig_close(&r);
}

/* 50 times L2, in as many page tables as go through it; every one with pages of its own. */
TEST(pool_follows_the_caches) {
  rig r;
  mlaf_soak_opts o = {.launches = 1};
  mlaf_soak_result out;
  mlaf_err err;
  rig_open(&r, "mla_decode:h4,r64,p32,q1,bf16,page16,b3,s64", 1);
  r.dev.base.info.l2_bytes = 100000;
  if (rig_run(&r, &o, &out, &err)) fail_msg("%s", err.text);
  assert_in_range(out.pool_bytes, 5000000 - 3072, 5000000);
  assert_int_equal(out.sets, out.pool_bytes / (3 * 64 * 96 * 2));
  r.dev.base.info.llc_bytes = 2000000;
  if (rig_run(&r, &o, &out, &err)) fail_msg("%s", err.text);
  assert_in_range(out.pool_bytes, 16000000 - 3072, 16000000);
  rig_close(&r);
}

/* Two variants beside each other: each against its own first launches. */
TEST(another_variant_beside) {
  rig r;
  mlaf_soak_result out;
  mlaf_err err;
  rig_open(&r, "mla_decode:h4,r64,p32,q1,bf16,page16,b3,s90", 1);
  mlaf_loaded *other = fake_load(&r.dev, 5); /* other bits: partial results are merged */
  assert_non_null(other);
  mlaf_soak_opts o = {.launches = 100, .beside = other};
  if (rig_run(&r, &o, &out, &err)) fail_msg("%s", err.text);
  assert_int_equal(out.launches, 100);
  assert_true(out.beside > 10);
  assert_int_equal(out.checked_rows, out.rows); /* O and LSE of one, O and LSE of the other */
  mlaf_loaded_close(other);
  rig_close(&r);
}

static const mlaf_device_ops *filling;
static mlaf_status no_tally(mlaf_device *dev, void *dst, int byte, size_t bytes, mlaf_err *err) {
  if (bytes == sizeof ((soak *)NULL)->tally) return mlaf_fail(err, MLAF_E_NO_DEVICE, "the device went away");
  return filling->mem_fill(dev, dst, byte, bytes, err);
}

/* The comparing kernel itself, executed: whole soaks on the emulator, with and without a wrong launch. */
TEST(on_the_emulator) {
  built b;
  mlaf_device *dev = NULL;
  mlaf_loaded *l = NULL;
  mlaf_soak_result out;
  mlaf_err err = {MLAF_OK, ""};
  built_open(&b, "mla_decode:h5,r96,p32,q1,bf16,page16,b9,s70", NULL); /* rows of 12 loads, 45 of them: waves with and without */
  if (mlaf_device_open("emu:gfx942", NULL, &dev, &err)) fail_msg("%s", err.text);
  mlaf_device_base *base = (mlaf_device_base *)dev;
  const mlaf_device_ops *real = base->ops, ops = soiled_ops(real, &b.problem);
  base->ops = &ops;
  if (mlaf_build_load(&b.build, dev, pt(&b.problem), &l, &err)) fail_msg("%s", err.text);
  const mlaf_tool_env env = {dev, b.gen, b.compiler, "gfx942"};
  const mlaf_soak_opts o = {.launches = 6, .seed = 5};
  if (mlaf_soak_run(&env, l, &o, &out, &err)) fail_msg("%s", err.text);
  assert_int_equal(out.launches, 6);
  assert_int_equal(out.sets, 2);
  for (int kind = 0; kind < 3; kind++) {
    soil = (struct soiling){.launch = real->launch, .rank = 96, .row = 5 * 7 + 4, .first = 2 + 4};
    soil.lse = kind == 1;
    soil.skip = kind == 2;
    assert_int_equal(mlaf_soak_run(&env, l, &o, &out, &err), MLAF_E_INCORRECT);
    assert_int_equal(out.wrong, 1);
    assert_int_equal(out.wrong_rows, kind == 2 ? 2 * 45 : 1);
    assert_int_equal(out.first.launch, 4);
    assert_string_equal(out.first.where, kind == 2   ? "o, request 0, token 0, head 0"
                                         : kind == 1 ? "lse, request 7, token 0, head 4"
                                                     : "o, request 7, token 0, head 4");
    assert_true(kind == 2 ? out.first.words > 40 : out.first.words == 1);
    assert_true(kind == 1 ? out.first.error < 5e-3 : out.first.error > 0.1);
  }
  filling = real;
  mlaf_device_ops gone = *real;
  gone.mem_fill = no_tally, base->ops = &gone;
  assert_int_equal(mlaf_soak_run(&env, l, &o, &out, &err), MLAF_E_NO_DEVICE);
  assert_non_null(strstr(err.text, "the device went away"));
  mlaf_loaded_close(l);
  base->ops = real;
  mlaf_device_close(dev);
  built_close(&b);
}

/* The work beside a soak reads the inputs of all sets: they must be as long as they are said to be, wherever they lie. */
TEST(inputs_are_as_long_as_said) {
  static const char *const more[] = {"mla_v_out:h2,r160,v96,f16,e4m3fn,t5", "mla_o_proj:d192,h3,v128,residual,bf16,e4m3fnuz,t17",
                                     "mla_q_b:l256,h4,n64,p32,norm,bf16,append_paged,r96,append_norm,t64"};
  const int n_more = sizeof more / sizeof *more;
  mlaf_device *dev = NULL;
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_device_open("emu:gfx942", NULL, &dev, &err)) fail_msg("%s", err.text);
  for (int i = 0; i < n_more || mlaf_ops_all[i - n_more]; i++) {
    const char *text = i < n_more ? more[i] : mlaf_ops_all[i - n_more]->example;
    mlaf_point p;
    mlaf_bench *b = NULL;
    char byte;
    assert_int_equal(mlaf_point_parse(mlaf_op_of(text), text, &p, NULL, 0), MLAF_OK);
    const mlaf_bench_opts o = {.data = {.seed = 3, .spread_bytes = 1, .spread_sets = 3}};
    if (mlaf_bench_create(dev, &p, &o, &b, &err)) fail_msg("%s: %s", text, err.text);
    const char *from = b->data->pool ? b->data->pool : mlaf_pool_data(b->pool);
    if (b->data->pool_bytes && mlaf_ops(dev)->mem_read(dev, &byte, from + b->data->pool_bytes - 1, 1, &err))
      fail_msg("%s: byte %lld: %s", text, (long long)b->data->pool_bytes, err.text);
    mlaf_bench_free(b);
  }
  mlaf_device_close(dev);
}

TESTS(NULL, NULL)
