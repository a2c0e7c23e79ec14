/* The vendored loader makes of the arguments what the library makes of them, for each of the projections: the same checks, the
 * same parameter block, the same tensors behind its maps. */
#include "op/embed/mlaf_embed_projection.c" /* to look at its block */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "random_args.h"
#include "op/projection.h"

#define MEMBERS(X) \
  X(flags) X(eps) X(tokens) X(x) X(x_token_stride) X(x_head_stride) X(w) X(w_row_stride) X(w_head_stride) X(y) X(y_token_stride) \
  X(y_head_stride) X(norm_weight) X(residual) X(residual_token_stride) X(positions) X(cos) X(sin) X(table_row_stride) \
  X(table_rows) X(w_scale) X(w_scale_row_stride) X(w_scale_row) X(w_scale_column)

enum { ROUNDS = 20000 };

/* Mostly in order; sometimes NULL, sometimes odd, sometimes too small. */
static void *address(void) { return address_but_one_of(100); }
static void *maybe(int wanted) { return wanted != !next(60) ? address() : NULL; }
static int64_t stride(void) { return next(30) ? (int64_t)(512 * (64 + next(900))) : (int64_t)next(1000) - 20; }

static mlaf_projection_args random_args(const mlaf_product *p) {
  mlaf_projection_args a = MLAF_PROJECTION_ARGS_INIT;
  int64_t *const strides[] = {&a.x_token_stride, &a.x_head_stride, &a.w_row_stride, &a.w_head_stride, &a.y_token_stride,
                              &a.y_head_stride, &a.residual_token_stride, &a.table_row_stride};
  for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) *strides[i] = next(4) ? 0 : or_extreme(stride());
  const bool turns = mlaf_product_turns(p);
  a.x = address(), a.w = address(), a.y = address(), a.norm_weight = maybe(p->norm), a.residual = maybe(p->residual);
  a.positions = maybe(turns), a.cos = maybe(turns), a.sin = maybe(turns && next(2)), a.w_scale = maybe(p->weights);
  a.flags = next(60) ? (uint32_t)next(2) : (uint32_t)next(64), a.eps = next(60) ? 1e-6f : -1.0f;
  a.tokens = or_extreme(next(30) ? (int64_t)next(70000) : (int64_t)(x >> 30) - 5);
  a.table_rows = or_extreme((int64_t)next(9999) - (next(60) ? 0 : 9999));
  if (p->weights ? next(3) : !next(60)) {
    a.w_scale_row = or_extreme(next(20) ? 128 * (int64_t)next(9) : (int64_t)next(64) - 9);
    a.w_scale_column = or_extreme(next(20) ? 128 * (int64_t)next(9) : (int64_t)next(64) - 9);
    a.w_scale_row_stride = or_extreme(next(2) ? 0 : (int64_t)next(500));
  }
  return a;
}

/* What the library wants maps of. */
static mlaf_tensor encoded[MAPS];
static int n_encoded;
static mlaf_status encode(mlaf_device *dev, const mlaf_tensor *t, void *map, mlaf_err *err) {
  encoded[n_encoded++] = *t;
  return MLAF_OK;
}

static void random_problem(mlaf_point *p) {
  for (int i = 0; i < p->op->n_fields; i++) {
    const mlaf_field *f = &p->op->fields[i];
    p->v[i] = f->words ? (int32_t)next((uint64_t)f->max + 1)
                       : f->min + f->multiple * (int32_t)next((uint64_t)((f->max - f->min) / f->multiple + 1));
  }
  char why[200] = "";
  if (mlaf_point_check(p, why, sizeof why)) fail_msg("%s", why); /* moot fields become 0 */
}

static mlaf_embed_kernel kernel_of(mlaf_stage *k) {
  mlaf_embed_kernel e = {.threads = k->threads, .rows_per_wg = k->rows_per_wg, .cluster = {k->launch.cluster[0], 1, 1},
                         .n_maps = k->launch.n_maps, .flags = k->launch.flags};
  for (uint32_t i = 0; i < e.n_maps; i++) {
    const uint32_t of = 1 + (i + (uint32_t)next(2)) % MAPS;
    k->launch.maps[i] = (mlaf_map_want){of, 64, 32, 128};
    e.maps[i] = (mlaf_embed_map){of, 64, 32, 128};
  }
  return e;
}

/* Of arguments that both take. */
static void the_same_block(const mlaf_bound *b, const mlaf_embed_kernel *k, const product *p, const mlaf_projection_args *given,
                           const arguments *e) {
  static mlaf_prepared made;
  arguments a = *e;
  kernel_args mine;
  mlaf_err err = {MLAF_OK, ""};
  n_encoded = 0;
  assert_int_equal(mlaf_projection_prepare(b, 1, given, &made, &err), MLAF_OK);
  dense(p, &a);
  fill(p, &a, &mine);
  assert_memory_equal(&mine, made.parameters, sizeof mine);
  assert_int_equal(made.launches[0].grid[0], (uint32_t)blocks_of(p, k));
  assert_int_equal(made.launches[0].args_size, parameter_bytes(k));
  assert_int_equal(n_encoded, k->n_maps);
  for (uint32_t i = 0; i < k->n_maps; i++) {
    const tensor t = tensor_of(p, &mine, k->maps[i].of);
    assert_true(t.data == encoded[i].data && t.cols == encoded[i].cols && t.rows == encoded[i].rows);
    assert_true(t.stride == encoded[i].row_stride);
  }
}

static void the_same_launch(void **state) {
  static const mlaf_device_ops ops = {.tensor_map_encode = encode};
  const mlaf_embed_projection *const all[] = {&mlaf_embed_qkv_a_op, &mlaf_embed_q_b_op, &mlaf_embed_q_absorb_op,
                                              &mlaf_embed_v_out_op, &mlaf_embed_o_proj_op};
  mlaf_device_base dev = {.ops = &ops};
  int good[5] = {0}, refused[5] = {0};
  for (int i = 0; i < ROUNDS; i++) {
    const mlaf_embed_projection *op = all[i % 5];
    char text[64];
    snprintf(text, sizeof text, "%s:", op->rules.op);
    mlaf_bound b = {.dev = (mlaf_device *)&dev, .point = {.op = mlaf_op_of(text)}, .knob = 1};
    random_problem(&b.point);
    const mlaf_product whole = mlaf_product_of(&b.point);
    const product p = op->product(b.point.v);
    b.stage[0] = (mlaf_stage){.threads = 64u << next(3), .rows_per_wg = 16u << next(4),
                              .launch = {.cluster = {(uint32_t)next(5), 1, 1}, .n_maps = (uint32_t)next(3),
                                         .flags = whole.weights ? MLAF_KERNEL_SCALES : 0}};
    const mlaf_embed_kernel k = kernel_of(&b.stage[0]);
    const mlaf_projection_args a = random_args(&whole);
    arguments e;
    memset(&e, 0, sizeof e);
#define COPY(m) e.m = a.m;
    MEMBERS(COPY)
    char why[256] = "";
    reason to = {why, sizeof why};
    mlaf_err err = {MLAF_OK, ""};
    const bool ours = mlaf_projection_check_args(&b, 1, &a, &err) == MLAF_OK, theirs = check(&p, &e, &to) == MLAF_EMBED_OK;
    if (ours != theirs) fail_msg("round %d: the library says '%s', the loader '%s'", i, err.text, why);
    if (!ours) assert_string_equal(err.text, why);
    refused[i % 5] += !ours;
    if (!ours || !a.tokens) continue;
    good[i % 5]++;
    the_same_block(&b, &k, &p, &a, &e);
  }
  for (int i = 0; i < 5; i++)
    if (good[i] < ROUNDS / 50 || refused[i] < ROUNDS / 50) fail_msg("%s: %d, %d", all[i]->rules.op, good[i], refused[i]);
}

int main(void) {
  _Static_assert(sizeof(kernel_args) == sizeof(mlaf_projection_kernel_args), "the same block");
  _Static_assert((int)EMBED_SCALES == (int)MLAF_KERNEL_SCALES, "the same flag");
  _Static_assert((int)EMBED_WANTS_L1 == (int)MLAF_KERNEL_WANTS_L1, "the same flag");
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_launch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
