/* Timing data of operations whose arguments are a table: what their kernels make of each set is right, another set's is not, and
 * one wrong element is found and named. */
#include "op/table_calls.h"
#include "run/built.h"
#include "run/loaded.h"

enum { TOKENS = 37, ROW = 5 };

typedef struct rig {
  built b;
  mlaf_point p;
  mlaf_device *dev;
  mlaf_loaded *l;
  mlaf_pool *pool;
  mlaf_data *d;
  const mlaf_calls *calls;
  mlaf_whole_args args;
  void *outputs[MLAF_DATA_OUTPUTS];
} rig;

/* A product of its operation's usual sizes takes seconds a check. */
static void shrink(mlaf_point *p) {
  static const struct {
    const char *field;
    int32_t most;
  } sizes[] = {{"hidden", 256}, {"heads", 2}, {"q_rank", 256}};
  for (int i = 0; p->op->calls->chain_case && i < p->op->n_fields; i++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
      if (!strcmp(p->op->fields[i].name, sizes[k].field) && p->v[i] > sizes[k].most) p->v[i] = sizes[k].most;
}

static void rig_open(rig *r, const mlaf_op *op) {
  const mlaf_data_opts opts = {.seed = 3, .spread_bytes = 1, .spread_sets = 2};
  mlaf_err err = {MLAF_OK, ""};
  mlaf_variant v = {.name = NULL};
  int compiles = 0;
  *r = (rig){.calls = op->calls};
  built_cache();
  need_compiler("gfx942");
  assert_int_equal(mlaf_point_parse(op, op->example, &r->p, NULL, 0), MLAF_OK);
  r->p.v[op->n_fields - 1] = TOKENS;
  shrink(&r->p);
  if (mlaf_gen_open(NULL, &r->b.gen, &err) || mlaf_compiler_open(NULL, NULL, &r->b.compiler, &err) ||
      mlaf_gen_baseline(r->b.gen, mlaf_point_text(&r->p).s, "gfx942", &v, &err) || mlaf_build_init(&v, &r->b.build, &err) ||
      mlaf_build_now(&r->b.build, r->b.gen, r->b.compiler, "gfx942", true, &compiles, &err) ||
      mlaf_device_open("emu:gfx942", NULL, &r->dev, &err) || mlaf_build_load(&r->b.build, r->dev, &r->p, &r->l, &err) ||
      mlaf_pool_create(r->dev, 9, &r->pool, &err) || op->calls->data_open(r->dev, &r->p, &opts, r->pool, &r->d, &err))
    fail_msg("%s: %s", op->name, err.text);
  const int64_t requests = op->calls->table->lengths ? mlaf_point_value(&r->p, "batch", 0) : 1;
  assert_true(r->d->sets == 2 && r->d->tokens == requests * TOKENS && r->d->n_outputs > 0);
  mlaf_variant_clear(&v);
}

static void rig_close(rig *r) {
  r->calls->data_close(r->d);
  mlaf_pool_free(r->pool);
  mlaf_loaded_close(r->l);
  mlaf_device_close(r->dev);
  built_close(&r->b);
}

static void launch(rig *r, int set) {
  mlaf_err err = {MLAF_OK, ""};
  r->calls->data_args(r->d, set, r->args.bytes);
  for (int k = 0; k < MLAF_DATA_OUTPUTS && k < r->d->n_outputs; k++)
    memcpy(&r->outputs[k], r->args.bytes + r->d->outputs[k].arg, sizeof r->outputs[k]);
  if (mlaf_loaded_launch(r->l, 1, r->args.bytes, NULL, &err) || mlaf_ops(r->dev)->sync(r->dev, NULL, &err))
    fail_msg("%s", err.text);
}

static mlaf_status checked(rig *r, int set, const char *says) {
  mlaf_data_checked c;
  mlaf_err err = {MLAF_OK, ""};
  const mlaf_status st = r->calls->data_check(r->d, set, r->outputs, 1e12, &c, &err);
  size_t most = 0;
  for (int k = 0; k < r->d->n_outputs; k++) most = r->d->outputs[k].rows > most ? r->d->outputs[k].rows : most;
  if (!st && c.rows != (int64_t)most) fail_msg("%lld rows were looked at", (long long)c.rows);
  if (st && !strstr(err.text, says)) fail_msg("'%s' does not say %s", err.text, says);
  return st;
}

/* An element's sign and largest exponent bit. */
static void spoil(rig *r, int k, unsigned char *row) {
  const mlaf_data_output *o = &r->d->outputs[k];
  char *at = (char *)r->outputs[k] + ROW * o->row_bytes;
  unsigned char wrong[32768];
  assert_true(o->row_bytes <= sizeof wrong);
  assert_int_equal(mlaf_ops(r->dev)->mem_read(r->dev, row, at, o->row_bytes, NULL), MLAF_OK);
  memcpy(wrong, row, o->row_bytes);
  wrong[o->row_bytes - 1] ^= 0xc0;
  assert_int_equal(mlaf_ops(r->dev)->mem_write(r->dev, at, wrong, o->row_bytes, NULL), MLAF_OK);
}

static void wrong_rows_are_found(rig *r, int set) {
  static unsigned char right[32768], wrong[32768];
  for (int k = 0; k < r->d->n_outputs; k++) {
    const size_t bytes = r->d->outputs[k].row_bytes;
    const double bound = r->calls->bound(&r->p) * (r->calls->table->relative ? 2 : 1); /* of a row */
    char *at = (char *)r->outputs[k] + ROW * bytes, name[80];
    double error = -1;
    mlaf_err err = {MLAF_OK, ""};
    spoil(r, k, right);
    r->calls->data_row(r->d, k, ROW, name, sizeof name);
    assert_int_equal(checked(r, set, name), MLAF_E_INCORRECT);
    assert_int_equal(mlaf_ops(r->dev)->mem_read(r->dev, wrong, at, bytes, NULL), MLAF_OK);
    assert_int_equal(r->calls->data_error(r->d, set, k, ROW, wrong, right, &error, &err), MLAF_OK);
    assert_true(isinf(error));
    assert_int_equal(r->calls->data_error(r->d, set, k, ROW, wrong, NULL, &error, &err), MLAF_OK);
    assert_true(error > bound);
    assert_int_equal(r->calls->data_error(r->d, set, k, ROW, right, NULL, &error, &err), MLAF_OK);
    assert_true(error <= bound);
    assert_int_equal(mlaf_ops(r->dev)->mem_write(r->dev, at, right, bytes, NULL), MLAF_OK);
  }
}

TEST(kernels_over_timing_data) {
  int n = 0;
  for (int i = 0; mlaf_ops_all[i]; i++) {
    if (mlaf_ops_all[i]->calls->data_open != mlaf_table_data_open) continue;
    rig r;
    rig_open(&r, mlaf_ops_all[i]);
    for (int set = 0; set < 2; set++) {
      launch(&r, set);
      assert_int_equal(checked(&r, set, ""), MLAF_OK);
      /* Inputs that do not lie in the pool are those of all sets. */
      assert_int_equal(checked(&r, 1 - set, "of set"), r.d->pool_bytes ? MLAF_E_INCORRECT : MLAF_OK);
      wrong_rows_are_found(&r, set);
    }
    rig_close(&r);
    n++;
  }
  assert_true(n >= 3);
}

TESTS(NULL, NULL)
