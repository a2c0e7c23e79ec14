/* The vendored loader makes of the arguments what the library makes of them: the same checks, the same parameter block, the same
 * tensors behind its maps, as many blocks. */
#include "ops/mla_prefill/embed/mlaf_embed_mla_prefill.c" /* to look at its block */

#include <math.h>
#include <stdlib.h>

#include "cmocka_all.h"
#include "random_args.h"
#include "ops/mla_prefill/prefill.h"

#define MEMBERS(X) \
  X(flags) X(batch) X(scale) X(total_q) X(total_k) X(q) X(q_token_stride) X(q_head_stride) X(k) X(k_token_stride) \
  X(k_head_stride) X(k_pe) X(k_pe_token_stride) X(v) X(v_token_stride) X(v_head_stride) X(cu_seqlens_q) X(cu_seqlens_k) X(o) \
  X(o_token_stride) X(o_head_stride) X(lse) X(lse_token_stride) X(lse_head_stride) X(q_scale) X(k_scale) X(v_scale)

enum { ROUNDS = 20000 };

/* Mostly in order; each member is sometimes NULL, sometimes odd, sometimes too small. */
static void *address(void) { return address_but_one_of(100); }
static int64_t stride(void) { return next(40) ? (int64_t)(8 * (32 + next(5000))) : (int64_t)next(1000) - 20; }

static mlaf_prefill_args random_args(void) {
  mlaf_prefill_args a = MLAF_PREFILL_ARGS_INIT;
  int64_t *const strides[] = {&a.q_token_stride, &a.q_head_stride, &a.k_token_stride, &a.k_head_stride, &a.k_pe_token_stride,
                              &a.v_token_stride, &a.v_head_stride, &a.o_token_stride, &a.o_head_stride};
  for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) *strides[i] = next(4) ? 0 : or_extreme(stride());
  a.q = address(), a.k = address(), a.k_pe = next(2) ? NULL : address(), a.v = address(), a.o = address();
  a.cu_seqlens_q = address(), a.cu_seqlens_k = address(), a.lse = next(2) ? NULL : address();
  if (next(2)) {
    a.lse_token_stride = or_extreme(1 + (int64_t)next(9));
    a.lse_head_stride = or_extreme((int64_t)next(5000) - (next(20) ? 0 : 5000));
  }
  a.flags = !next(50), a.batch = or_extreme_32((int32_t)next(300) - !next(50));
  static const float bad_scales[] = {1e-40f, -1, INFINITY};
  a.scale = next(40) ? 0.1f : bad_scales[next(3)];
  a.total_q = or_extreme(next(30) ? (int64_t)next(70000) : (int64_t)(x >> 31) - 5);
  if (!next(3)) a.q_scale = address(), a.k_scale = address(), a.v_scale = next(2) ? NULL : address();
  a.total_k = or_extreme(next(4) ? (int64_t)next(70000) : next(4) ? 0 : (int64_t)(x >> 30) - 5);
  if (!next(4)) a.batch = 1 + (int32_t)next(2), a.total_q = 1 + (int64_t)next(40); /* hardly any tiles */
  return a;
}

/* What the library wants maps of: what stays NULL it leaves empty. */
static mlaf_tensor encoded[MAP_V];
static int n_encoded;
static mlaf_status encode(mlaf_device *dev, const mlaf_tensor *t, void *map, mlaf_err *err) {
  encoded[n_encoded++] = *t;
  return MLAF_OK;
}

/* Of arguments that both take. */
static void the_same_block(const mlaf_bound *b, const mlaf_embed_kernel *k, const shape *s, const mlaf_prefill_args *given,
                           const arguments *a) {
  static mlaf_prepared made;
  kernel_args mine;
  mlaf_err err = {MLAF_OK, ""};
  n_encoded = 0;
  assert_int_equal(prefill_prepare(b, 1, given, &made, &err), MLAF_OK);
  fill(s, a, &mine);
  assert_memory_equal(&mine, made.parameters, args_bytes(k));
  assert_int_equal(made.launches[0].grid[0], grid_of(s, k, (uint32_t)mlaf_info(b->dev)->compute_units, a));
  /* Each of the dealer's crews has a block, or a cluster of them, where the device has as many. */
  const uint32_t units = (uint32_t)mlaf_info(b->dev)->compute_units, team = made.launches[0].cluster[0];
  if (k->flags & EMBED_TURNS && units >= 4 * team) assert_in_range(made.launches[0].grid[0] / team, 4, units);
  assert_int_equal(made.launches[0].args_size, parameter_bytes(k));
  int at = 0;
  for (uint32_t i = 0; i < k->n_maps; i++) {
    const tensor t = tensor_of(s, &mine, k->maps[i].of);
    if (!t.cols) continue;
    assert_true(at < n_encoded && t.data == encoded[at].data && t.cols == encoded[at].cols && t.rows == encoded[at].rows);
    assert_true(t.stride == encoded[at].row_stride);
    at++;
  }
  assert_int_equal(at, n_encoded);
}

static void the_same_launch(void **state) {
  static const mlaf_device_ops ops = {.tensor_map_encode = encode};
  mlaf_device_base dev = {.ops = &ops};
  int good = 0, refused = 0;
  for (int i = 0; i < ROUNDS; i++) {
    mlaf_bound b = {.dev = (mlaf_device *)&dev, .point = {.op = mlaf_op_of("mla_prefill:")}, .knob = 1};
    mlaf_embed_row row = {0};
    int32_t *const v = b.point.v;
    v[MLA_PREFILL_HEADS] = 1 + (int32_t)next(next(4) ? 128 : 3), v[MLA_PREFILL_NOPE] = 16 * (1 + (int32_t)next(12));
    v[MLA_PREFILL_ROPE] = 16 * (int32_t)next(5), v[MLA_PREFILL_VDIM] = 16 * (1 + (int32_t)next(16));
    v[MLA_PREFILL_INPUTS] = (int32_t)next(3);
    v[MLA_PREFILL_BATCH] = v[MLA_PREFILL_TOKENS] = v[MLA_PREFILL_CTX] = 1;
    memcpy(row.values, v, sizeof row.values);
    const uint32_t scales = v[MLA_PREFILL_INPUTS] ? EMBED_SCALES : 0;
    mlaf_embed_kernel k = {.threads = 64u << next(4), .rows_per_wg = 32u << next(3), .cluster = {(uint32_t)next(3), 1, 1},
                           .n_maps = (uint32_t)next(5), .flags = (next(2) ? EMBED_TURNS : 0) | scales};
    b.stage[0] = (mlaf_stage){.threads = k.threads, .rows_per_wg = k.rows_per_wg,
                              .launch = {.cluster = {k.cluster[0], 1, 1}, .n_maps = k.n_maps, .flags = k.flags}};
    for (uint32_t m = 0; m < k.n_maps; m++)
      k.maps[m].of = b.stage[0].launch.maps[m].of = 1 + (m + (uint32_t)next(4)) % MAP_V;
    dev.info.compute_units = next(20) ? 132 : 1;
    const mlaf_embed_plan plan = {.row = &row};
    const mlaf_prefill_args a = random_args();
    arguments e;
    memset(&e, 0, sizeof e);
#define COPY(m) e.m = a.m;
    MEMBERS(COPY)
    const shape s = shape_of(&plan);
    char why[256] = "";
    reason to = {why, sizeof why};
    mlaf_err err = {MLAF_OK, ""};
    const bool ours = prefill_check_args(&b, 1, &a, &err) == MLAF_OK, theirs = check(&s, &k, &e, &to) == MLAF_EMBED_OK;
    if (ours != theirs) fail_msg("round %d: the library says '%s', the loader '%s'", i, err.text, why);
    if (!ours) assert_string_equal(err.text, why);
    refused += !ours;
    if (!ours || !a.total_q || !a.batch) continue;
    good++;
    the_same_block(&b, &k, &s, &a, &e);
  }
  if (good < ROUNDS / 50 || refused < ROUNDS / 50) fail_msg("%d, %d", good, refused);
}

int main(void) {
  _Static_assert(sizeof(kernel_args) == sizeof(mlaf_prefill_kernel_args), "the same block");
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_launch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
