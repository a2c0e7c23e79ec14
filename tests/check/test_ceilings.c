/* Ceilings of a device: what cannot be measured comes from the table, and memory that runs out or a stop is an error. */
#include "check/ceilings.h"
#include "cmocka_all.h"
#include "run/built.h"

enum { MOST_BYTES = 64 << 20 }; /* below the matrices of the product */
static const mlaf_device_ops *real;
static mlaf_status read_says;

static mlaf_status small_alloc(mlaf_device *dev, size_t bytes, void **out, mlaf_err *err) {
  if (bytes > MOST_BYTES) return mlaf_fail(err, MLAF_E_NOMEM, "no %zu bytes here", bytes);
  return real->mem_alloc(dev, bytes, out, err);
}

static mlaf_status no_time(mlaf_device *dev, const mlaf_launch *launches, size_t n, const mlaf_time_opts *o, mlaf_timing *out,
                           mlaf_err *err) {
  return mlaf_fail(err, read_says, "the clock says nothing");
}

static mlaf_status no_product(mlaf_device *dev, int n, const void *a, const void *b, void *c, const mlaf_time_opts *o,
                              mlaf_timing *out, mlaf_err *err) {
  return mlaf_fail(err, MLAF_E_NO_DEVICE, "the library says nothing");
}

TEST(errors_and_tables) {
  built b;
  mlaf_device *dev = NULL;
  mlaf_err err = {MLAF_OK, ""};
  mlaf_ceilings c = {0};
  built_open(&b, "mla_decode:h4,r64,p32,q1,bf16,page16,b1,s16", NULL);
  if (mlaf_device_open("emu:gfx942", NULL, &dev, &err)) fail_msg("%s", err.text);
  mlaf_device_base *base = (mlaf_device_base *)dev;
  real = base->ops;
  mlaf_device_ops ops = *real;
  mlaf_pool *pool = NULL;
  if (mlaf_pool_create(dev, 1, &pool, &err)) fail_msg("%s", err.text);
  const mlaf_ceilings_env env = {dev, b.gen, b.compiler, "gfx942", pool};
  const mlaf_time_opts time = {.min_samples = 1, .max_samples = 1};
  assert_int_equal(mlaf_ceilings_measure(&env, &time, &c, &err), MLAF_OK); /* modelled: both of the table */
  assert_true(!c.bytes_measured && !c.flops_measured && c.bytes_per_ns > 1000 && c.flops_per_ns > 100000);
  base->ops = &ops;
  ops.features &= ~(uint32_t)MLAF_DEVICE_MODELLED;
  ops.time = no_time, ops.time_matmul = no_product, ops.mem_alloc = small_alloc;
  read_says = MLAF_E_CANCELLED;
  assert_int_equal(mlaf_ceilings_measure(&env, &time, &c, &err), MLAF_E_CANCELLED);
  assert_non_null(strstr(err.text, "the clock says nothing"));
  read_says = MLAF_E_NO_DEVICE; /* of the table; but the product finds no memory */
  assert_int_equal(mlaf_ceilings_measure(&env, &time, &c, &err), MLAF_E_NOMEM);
  assert_non_null(strstr(err.text, "bytes here"));
  base->ops = real;
  mlaf_pool_free(pool);
  mlaf_device_close(dev);
  built_close(&b);
}

TESTS(NULL, NULL)
