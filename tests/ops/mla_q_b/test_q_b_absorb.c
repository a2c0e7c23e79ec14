/* mla_q_b fused with the q absorb: what a launch hands over, what is refused, and that a case's reference is that of two
 * products one behind the other. */
#include "cmocka_all.h"
#include "op/numeric.h"
#include "op/projection_calls.h"
#include "ops/mla_q_b/q_b.h"

#define PROBLEM "mla_q_b:l128,h3,n32,p32,norm,bf16,append_paged,r64,append_norm,absorb_halves,t5"
enum { L = 128, H = 3, N = 32, P = 32, R = 64, T = 5, SECOND_AT = 768, MAP_AT = 960, ALL = 1088 };

static mlaf_status encode(mlaf_device *dev, const mlaf_tensor *t, void *map, mlaf_err *err) {
  memset(map, 0, MLAF_MAP_BYTES);
  memcpy(map, t, sizeof *t);
  return MLAF_OK;
}
static const mlaf_device_ops ops = {.tensor_map_encode = encode};
static mlaf_device_base device = {.ops = &ops};

static mlaf_bound bound(const char *problem, uint32_t flags, uint32_t n_maps) {
  mlaf_bound b = {.dev = (mlaf_device *)&device, .knob = 1};
  char why[200] = "";
  if (mlaf_point_parse(NULL, problem, &b.point, why, sizeof why)) fail_msg("%s", why);
  device.info.compute_units = 132, device.info.wave_size = 32;
  b.stage[0] = (mlaf_stage){.fn = (mlaf_function *)&device, .threads = 192, .rows_per_wg = N + P,
                            .launch = {.flags = flags, .n_maps = n_maps}};
  for (uint32_t i = 0; i < n_maps; i++) b.stage[0].launch.maps[i] = (mlaf_map_want){i + 1, 64, 32 + i, 128};
  return b;
}
static mlaf_bound right(void) { return bound(PROBLEM, MLAF_KERNEL_SECOND | MLAF_KERNEL_THIRD, 3); }

static void *at(uintptr_t x) { return (void *)(x << 12); } /* of no tensor: nobody looks there */
static mlaf_q_b_args arguments(void) {
  mlaf_q_b_args a = MLAF_Q_B_ARGS_INIT;
  a.projection.tokens = a.absorb.tokens = T;
  a.projection.x = at(1), a.projection.w = at(2), a.projection.norm_weight = at(3);
  a.absorb.w = at(4), a.absorb.w_head_stride = 2 * N * R, a.absorb.y = at(5);
  a.absorb.positions = at(6), a.absorb.cos = at(7), a.absorb.table_rows = 10;
  return a;
}

TEST(a_launch_has_both_products) {
  static mlaf_prepared made, alone;
  const mlaf_bound b = right(), second = mlaf_joint_bound(&b, Q_B_ABSORB);
  mlaf_q_b_args a = arguments();
  mlaf_err err = {MLAF_OK, ""};
  if (b.point.op->calls->check_stages(&b, &err) || b.point.op->calls->check_args(&b, 1, &a, &err)) fail_msg("%s", err.text);
  assert_int_equal(b.point.op->calls->prepare(&b, 1, &a, &made, &err), MLAF_OK);
  assert_int_equal(made.launches[0].args_size, ALL);
  assert_int_equal(made.launches[0].grid[0], H); /* nothing is appended: no blocks beside */
  assert_int_equal(second.point.op->calls->prepare(&second, 1, &a.absorb, &alone, &err), MLAF_OK);
  const mlaf_projection_kernel_args *k = (const void *)(made.parameters + SECOND_AT);
  assert_memory_equal(k, alone.parameters, offsetof(mlaf_projection_kernel_args, w_scale));
  assert_ptr_equal(k->y, a.absorb.y);
  assert_int_equal(k->y_token, 2 * H * (R + P));
  const mlaf_tensor *map = (const void *)(made.parameters + MAP_AT);
  assert_ptr_equal(map->data, a.absorb.w);
  assert_int_equal(map->rows, N);
  assert_int_equal(map->cols, (H - 1) * 2 * N * R + R);
  assert_int_equal(map->box_rows, 34);
}

/* CDNA's kernels load nothing by maps: neither part has one, and the blocks of arguments lie side by side. */
TEST(a_kernel_without_maps_has_none_of_its_parts) {
  static mlaf_prepared made, alone;
  const mlaf_bound b = bound(PROBLEM, MLAF_KERNEL_SECOND | MLAF_KERNEL_THIRD, 0), second = mlaf_joint_bound(&b, Q_B_ABSORB);
  const mlaf_kernel_launch none = {.n_maps = 0};
  const mlaf_op *append = mlaf_op_of("mla_append:");
  const size_t product = offsetof(mlaf_projection_kernel_args, w_scale);
  const size_t at_second = product + append->calls->parameter_bytes(0, &none) + sizeof(int64_t);
  mlaf_q_b_args a = arguments();
  mlaf_err err = {MLAF_OK, ""};
  if (b.point.op->calls->check_stages(&b, &err) || b.point.op->calls->check_args(&b, 1, &a, &err)) fail_msg("%s", err.text);
  assert_int_equal(second.stage[0].launch.n_maps, 0);
  assert_int_equal(b.point.op->calls->prepare(&b, 1, &a, &made, &err), MLAF_OK);
  assert_int_equal(made.launches[0].args_size, at_second + product);
  assert_int_equal(second.point.op->calls->prepare(&second, 1, &a.absorb, &alone, &err), MLAF_OK);
  assert_memory_equal(made.parameters + at_second, alone.parameters, product);
}

static void refused(mlaf_q_b_args a, const char *words) {
  const mlaf_bound b = right();
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(b.point.op->calls->check_args(&b, 1, &a, &err), MLAF_E_ARG);
  if (!strstr(err.text, words)) fail_msg("'%s' does not say '%s'", err.text, words);
}

TEST(arguments_that_do_not_fit_are_refused) {
  mlaf_q_b_args a = arguments();
  a.projection.y = at(9);
  refused(a, "y is 0x9000");
  a = arguments(), a.projection.y_token_stride = 1024;
  refused(a, "NULL and 0 where the problem absorbs");
  a = arguments(), a.absorb.x = at(9);
  refused(a, "absorb: x is 0x9000");
  a = arguments(), a.absorb.tokens = T - 1;
  refused(a, "absorb: tokens is 4");
  a = arguments(), a.absorb.y = NULL;
  refused(a, "absorb: y is NULL");
  a = arguments(), a.absorb.positions = NULL;
  refused(a, "absorb: positions is NULL");
  a = arguments(), a.projection.norm_weight = NULL;
  refused(a, "norm_weight is NULL");
}

TEST(kernels_that_do_not_fit_are_refused) {
  const mlaf_bound wrong[] = {
      bound(PROBLEM, MLAF_KERNEL_SECOND, 2),
      bound(PROBLEM, MLAF_KERNEL_SECOND | MLAF_KERNEL_THIRD, 2),
      bound("mla_q_b:l128,h3,n32,p32,norm,bf16,append_paged,r64,t5", MLAF_KERNEL_SECOND | MLAF_KERNEL_THIRD, 3),
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    mlaf_err err = {MLAF_OK, ""};
    assert_int_equal(wrong[i].point.op->calls->check_stages(&wrong[i], &err), MLAF_E_TEMPLATE);
  }
}

/* Both products of a case in double, from its buffers, rounded once, against `second`, which is chained; `wrong`: one number
 * is. */
static bool passes(const mlaf_case *c, const mlaf_case *second, mlaf_bound *b, bool wrong) {
  static mlaf_q_b_args a;
  static mlaf_case_buffer list[MLAF_CASE_BUFFERS];
  void *outputs[MLAF_CASE_BUFFERS] = {NULL};
  const uint16_t *in[MLAF_CASE_BUFFERS] = {NULL};
  const int n = b->point.op->calls->case_buffers(c, b, 1, &a, list);
  int y = -1;
  for (int i = 0; i < n; i++) {
    if (list[i].arg == offsetof(mlaf_q_b_args, projection.y) || list[i].arg == offsetof(mlaf_q_b_args, absorb.x))
      assert_int_equal(list[i].use, MLAF_USE_NONE); /* the first product's output is in no memory */
    in[i] = list[i].input;
    if (list[i].use != MLAF_USE_INOUT) continue;
    memcpy(outputs[i] = malloc(list[i].bytes), list[i].input, list[i].bytes);
    if (list[i].arg == offsetof(mlaf_q_b_args, absorb) + offsetof(mlaf_projection_args, y)) y = i;
  }
  assert_true(y > 0);
  const uint16_t *const *second_in = &in[y - PROJECTION_Y];
  const uint16_t *x = in[PROJECTION_X], *w = in[PROJECTION_W], *gain = in[PROJECTION_NORM_WEIGHT], *uk = second_in[PROJECTION_W];
  const int64_t *positions = (const void *)second_in[PROJECTION_POSITIONS];
  const float *cos = (const void *)second_in[PROJECTION_COS], *sin = (const void *)second_in[PROJECTION_SIN];
#define B(p) (double)mlaf_bf16_decode(p)
  for (int64_t t = 0; t < T; t++) {
    double norm[L], square = 0, q[N + P];
    for (int i = 0; i < L; i++) norm[i] = B(x[t * a.projection.x_token_stride + i]), square += norm[i] * norm[i];
    for (int i = 0; i < L; i++) norm[i] *= B(gain[i]) / sqrt(square / L + (double)a.projection.eps);
    for (int h = 0; h < H; h++) {
      uint16_t *to = (uint16_t *)outputs[y] + t * a.absorb.y_token_stride + h * a.absorb.y_head_stride;
      for (int o = 0; o < N + P; o++) {
        q[o] = 0;
        for (int i = 0; i < L; i++) q[o] += norm[i] * B(w[(h * (N + P) + o) * a.projection.w_row_stride + i]);
      }
      for (int o = 0; o < R; o++) {
        double sum = 0;
        for (int i = 0; i < N; i++) sum += q[i] * B(uk[h * a.absorb.w_head_stride + i * a.absorb.w_row_stride + o]);
        to[o] = mlaf_bf16_encode((float)sum);
      }
      for (int i = 0; i < P / 2; i++) {
        const int64_t angle = positions[t] * a.absorb.table_row_stride + i;
        const double u = q[N + i], v = q[N + i + P / 2], cosine = (double)cos[angle], sine = (double)sin[angle];
        to[R + i] = mlaf_bf16_encode((float)(u * cosine - v * sine));
        to[R + i + P / 2] = mlaf_bf16_encode((float)(v * cosine + u * sine));
      }
      if (wrong && t == 3 && h == 1) to[R + 1] = mlaf_bf16_encode((float)(B(to[R + 1]) + 40));
    }
  }
  mlaf_verify_result out = {0};
  const bool good = mlaf_table_compare(second, outputs + y - PROJECTION_Y, &out);
  if (good) assert_true(out.error < 1.8e-3); /* one rounding */
  for (int i = 0; i < n; i++) free(outputs[i]);
  return good;
}

TEST(the_reference_is_of_both_products) {
  mlaf_bound b = right();
  const mlaf_point absorb = mlaf_joint_point(&b.point, Q_B_ABSORB);
  mlaf_case *c, *first, *second;
  mlaf_err err;
  assert_int_equal(b.point.op->calls->make_case(&b.point, 0, 7, MLAF_INJECT_NONE, &c, &err), MLAF_OK);
  assert_int_equal(mlaf_table_make_case(&b.point, 0, 7, MLAF_INJECT_NONE, &first, &err), MLAF_OK);
  assert_int_equal(mlaf_table_make_case(&absorb, 0, 8, MLAF_INJECT_NONE, &second, &err), MLAF_OK);
  assert_int_equal(mlaf_table_chain_case(second, first, &err), MLAF_OK);
  assert_true(passes(c, second, &b, false));
  assert_false(passes(c, second, &b, true));
  mlaf_table_free_case(second);
  mlaf_table_free_case(first);
  b.point.op->calls->free_case(c);
  assert_true(b.point.op->calls->bound(&b.point) > 2.8e-3); /* three roundings */
}

/* --- data to time and soak on, over a device that is the host's memory --- */

enum { BLOCKS = 32 };
static struct {
  char *at;
  size_t bytes;
} blocks[BLOCKS];

static mlaf_status give(mlaf_device *dev, size_t bytes, void **out, mlaf_err *err) {
  int i = 0;
  while (blocks[i].at) assert_true(++i < BLOCKS);
  blocks[i].bytes = bytes;
  *out = blocks[i].at = malloc(bytes);
  return MLAF_OK;
}
static mlaf_status take_back(mlaf_device *dev, void *at, mlaf_err *err) {
  for (int i = 0; i < BLOCKS; i++)
    if (blocks[i].at == at) blocks[i].at = NULL;
  free(at);
  return MLAF_OK;
}
static mlaf_status write_to(mlaf_device *dev, void *at, const void *from, size_t bytes, mlaf_err *err) {
  memcpy(at, from, bytes);
  return MLAF_OK;
}
static bool is_there(const void *from, size_t bytes) {
  const char *at = from;
  for (int i = 0; i < BLOCKS; i++)
    if (blocks[i].at && at >= blocks[i].at && at + bytes <= blocks[i].at + blocks[i].bytes) return true;
  return false;
}

/* Both products' data share a pool, which the second one may have grow: the first one's is then elsewhere. */
TEST(each_set_lies_in_memory) {
  static const mlaf_device_ops host = {.mem_alloc = give, .mem_free = take_back, .mem_write = write_to};
  static mlaf_device_base on_host = {.ops = &host};
  static const int64_t spread[] = {1, 150000, 300000}; /* sets of the product 2, 2, 5; of the second 2, 10, 20 */
  for (size_t i = 0; i < sizeof spread / sizeof *spread; i++) {
    const mlaf_bound b = right();
    const mlaf_data_opts opts = {.seed = 3, .spread_bytes = spread[i], .spread_sets = 64};
    mlaf_pool *pool;
    mlaf_data *data;
    mlaf_err err = {MLAF_OK, ""};
    assert_int_equal(mlaf_pool_create((mlaf_device *)&on_host, 3, &pool, &err), MLAF_OK);
    assert_int_equal(b.point.op->calls->data_open((mlaf_device *)&on_host, &b.point, &opts, pool, &data, &err), MLAF_OK);
    for (int set = 0; set < data->sets; set++) {
      mlaf_q_b_args a;
      b.point.op->calls->data_args(data, set, &a);
      assert_true(is_there(a.projection.w, 2 * L * H * (N + P)));
      assert_true(is_there(a.projection.x, 2 * T * L) && is_there(a.projection.norm_weight, 2 * L));
      assert_true(is_there(a.absorb.w, 2 * H * N * R));
      assert_true(is_there(a.append.ckv, 2 * T * R) && is_there(a.append.kpe, 2 * T * P));
    }
    b.point.op->calls->data_close(data);
    mlaf_pool_free(pool);
  }
}

TESTS(NULL, NULL)
