/* Attention fused with the value projection: what its launches hand over, what is refused, and that a case's reference is
 * attention's rows multiplied by W_UV. */
#include <assert.h>
#include "cmocka_all.h"
#include "op/numeric.h"
#include "ops/mla_decode/execute.h"
#include "ops/mla_decode/reference.h"

typedef struct template_decode_args template_decode_args;
typedef struct template_combine_args template_combine_args;
#define mlaf_decode_args template_decode_args
#define mlaf_combine_args template_combine_args
#define mlaf_values_args template_values_args
typedef struct template_values_args template_values_args;
#include "../templates/mla_decode/lib/args.h"
#include "../templates/mla_decode/lib/args_values.h"
#undef mlaf_decode_args
#undef mlaf_combine_args
#undef mlaf_values_args

#define PROBLEM "mla_decode:h3,r64,p32,q2,causal,bf16,page16,b4,s128"
enum { H = 3, R = 64, V = 48, T = 5, HEAD_ROWS = 80 };

static mlaf_status encode(mlaf_device *dev, const mlaf_tensor *t, void *map, mlaf_err *err) {
  memset(map, 0, MLAF_MAP_BYTES);
  memcpy(map, t, sizeof *t);
  return MLAF_OK;
}
static const mlaf_device_ops ops = {.tensor_map_encode = encode};
static mlaf_device_base device = {.ops = &ops};

static mlaf_bound bound(uint32_t values) {
  mlaf_bound b = {.dev = (mlaf_device *)&device, .knob = 2};
  char why[200] = "";
  if (mlaf_point_parse(NULL, PROBLEM, &b.point, why, sizeof why)) fail_msg("%s", why);
  device.info.compute_units = 132, device.info.wave_size = 32;
  b.stage[0] = b.stage[1] = (mlaf_stage){.fn = (mlaf_function *)&device, .threads = 512, .rows_per_wg = 64,
                                         .launch = {.flags = MLAF_KERNEL_FITS | MLAF_KERNEL_TURNS}};
  b.stage[1].launch.values = values;
  b.stage[1].launch.n_maps = values ? 1 : 0;
  b.stage[1].launch.maps[0] = (mlaf_map_want){MLAF_MAP_W, 64, values, 128};
  return b;
}

static void *at(uintptr_t x) { return (void *)(x << 12); } /* of no tensor: nobody looks there */
static mlaf_execute_args arguments(const mlaf_bound *b) {
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
  a.batch = 3, a.total_q = T, a.num_pages = 7, a.scale = 1;
  a.q = at(1), a.ckv = at(2), a.qo_indptr = at(3), a.kv_indptr = at(4), a.kv_indices = at(5), a.kv_last_page_lens = at(6);
  a.w_v = at(7), a.w_v_row_stride = R + 8, a.w_v_head_stride = HEAD_ROWS * (R + 8), a.values = at(8);
  a.workspace = at(9), a.workspace_size = mlaf_decode_workspace(b, 2, T);
  return a;
}

TEST(blocks_of_arguments_agree) {
  assert_int_equal(sizeof(mlaf_values_args), sizeof(template_values_args));
  assert_int_equal(offsetof(mlaf_values_args, values), offsetof(template_values_args, values));
  assert_int_equal(offsetof(mlaf_values_args, w_head_rows), offsetof(template_values_args, w_head_rows));
}

TEST(a_launch_is_a_block_a_head) {
  static mlaf_prepared made;
  mlaf_bound b = bound(V), plain = bound(0);
  mlaf_execute_args a = arguments(&b);
  mlaf_err err = {MLAF_OK, ""};
  const size_t before = mlaf_decode_workspace(&plain, 2, T);
  if (mlaf_decode_check_stages(&b, &err) || mlaf_decode_check_args(&b, 2, &a, &err)) fail_msg("%s", err.text);
  assert_in_range(a.workspace_size, before + T * H * R * 2, before + T * H * R * 2 + MLAF_WORKSPACE_ALIGN);
  assert_int_equal(mlaf_decode_prepare(&b, 2, &a, &made, &err), MLAF_OK);
  assert_int_equal(made.n, 2);
  assert_int_equal(made.launches[1].grid[0], H);
  assert_int_equal(made.launches[1].args_size, sizeof(mlaf_values_args) + MLAF_MAP_BYTES);
  const mlaf_values_args *k = made.launches[1].args;
  const mlaf_tensor *map = (const void *)(k + 1);
  const char *o = k->decode.o, *workspace = a.workspace;
  assert_ptr_equal(k->values, a.values);
  assert_int_equal(k->w_head_rows, HEAD_ROWS);
  assert_true(o > (const char *)k->decode.part_lse && o + T * H * R * 2 == workspace + a.workspace_size);
  assert_ptr_equal(mlaf_decode_parameters_of(&made)->decode.o, o);
  assert_ptr_equal(map->data, a.w_v);
  assert_int_equal(map->cols, R);
  assert_int_equal(map->row_stride, (R + 8) * 2);
  assert_int_equal(map->rows, (H - 1) * HEAD_ROWS + V);
}

/* A schedule of splits has room for the rows, too, in one split and in more, and nothing else has. */
TEST(splits_have_room_for_rows) {
  for (uint32_t splits = 1; splits <= 3; splits++) {
    mlaf_bound b = bound(V), plain = bound(0);
    for (int i = 0; i < 2; i++) b.stage[i].launch.flags = plain.stage[i].launch.flags = 0;
    const size_t before = mlaf_decode_workspace(&plain, splits, T), with = mlaf_decode_workspace(&b, splits, T);
    assert_int_equal(!before, splits == 1);
    assert_in_range(with, before + T * H * R * 2, before + T * H * R * 2 + MLAF_WORKSPACE_ALIGN);
  }
}

static void refused(uint32_t values, mlaf_execute_args a, const char *words) {
  const mlaf_bound b = bound(values);
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_decode_check_args(&b, 2, &a, &err), MLAF_E_ARG);
  if (!strstr(err.text, words)) fail_msg("'%s' does not say '%s'", err.text, words);
}

TEST(arguments_that_do_not_fit_are_refused) {
  const mlaf_bound b = bound(V);
  mlaf_execute_args a = arguments(&b);
  a.o = at(9);
  refused(V, a, "o is 0x9000");
  a = arguments(&b), a.lse = at(9);
  refused(V, a, "lse 0x9000, must be NULL");
  a = arguments(&b), a.w_v = NULL;
  refused(V, a, "must be 16-byte aligned: the plan goes on into values");
  a = arguments(&b), a.values = (char *)at(8) + 8;
  refused(V, a, "o is 0x8008");
  a = arguments(&b), a.w_v_row_stride = R - 8;
  refused(V, a, "w_v_row_stride is 56, must be a multiple of 8 in 64..");
  a = arguments(&b), a.w_v_head_stride += 8;
  refused(V, a, "w_v_head_stride is 5768, must be so many rows of 72: 48..");
  a = arguments(&b), a.w_v_head_stride = (V - 1) * a.w_v_row_stride;
  refused(V, a, "w_v_head_stride is 3384");
  a = arguments(&b), a.workspace_size--;
  refused(V, a, "workspace_size");
  a = arguments(&b);
  refused(0, a, "the plan ends with o: they must be NULL");
  a = arguments(&b), a.w_v = NULL, a.values = NULL;
  refused(0, a, "o is NULL");
}

/* --- a case --- */

static const mlaf_case_buffer *buffer(const mlaf_case_buffer *list, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (!strcmp(list[i].name, name)) return &list[i];
  fail_msg("no buffer %s", name);
  return NULL;
}

/* Attention's rows of a case, in double, from its buffers. */
static double *rows_of(const mlaf_bound *b, const mlaf_execute_args *a, const mlaf_case_buffer *list, int n) {
#define INPUT(name) buffer(list, n, #name)->input
  mlaf_batch x = {.problem = mlaf_decode_problem(b), .batch = a->batch, .num_pages = a->num_pages, .total_q = a->total_q,
                  .q = INPUT(q), .ckv = INPUT(ckv), .kpe = INPUT(kpe), .ckv_row_stride = a->ckv_row_stride,
                  .kpe_row_stride = a->kpe_row_stride ? a->kpe_row_stride : a->ckv_row_stride, .qo_indptr = INPUT(qo_indptr),
                  .kv_indptr = INPUT(kv_indptr), .kv_indices = INPUT(kv_indices),
                  .kv_last_page_lens = INPUT(kv_last_page_lens), .scale = a->scale};
#undef INPUT
  const size_t rows = (size_t)a->total_q * H;
  double *o = malloc(rows * R * sizeof *o), *lse = malloc(rows * sizeof *lse);
  mlaf_err err;
  if (!x.kpe) x.kpe = x.ckv + R;
  if (mlaf_reference(&x, o, lse, NULL, &err)) fail_msg("%s", err.text);
  free(lse);
  return o;
}

/* Rows rounded, multiplied, rounded once more. */
static uint16_t *values_of(const mlaf_execute_args *a, const double *o, const uint16_t *w) {
  uint16_t *y = malloc((size_t)a->total_q * H * V * sizeof *y);
  for (int64_t r = 0; r < a->total_q * H; r++)
    for (int v = 0; v < V; v++) {
      double sum = 0;
      for (int c = 0; c < R; c++)
        sum += (double)mlaf_decode16(MLAF_BF16, mlaf_encode16(MLAF_BF16, o[r * R + c])) *
               mlaf_decode16(MLAF_BF16, w[r % H * a->w_v_head_stride + v * a->w_v_row_stride + c]);
      y[r * V + v] = mlaf_encode16(MLAF_BF16, sum);
    }
  return y;
}

static void a_case(int index, mlaf_inject inject) {
  static mlaf_case_buffer list[MLAF_CASE_BUFFERS];
  void *outputs[MLAF_CASE_BUFFERS] = {NULL}, *others[MLAF_CASE_BUFFERS] = {NULL};
  const mlaf_bound b = bound(V), plain = bound(0);
  const mlaf_calls *calls = b.point.op->calls;
  mlaf_verify_result result = {.error = 0};
  mlaf_execute_args a;
  mlaf_case *c = NULL;
  mlaf_err err;
  if (calls->make_case(&b.point, index, 1, inject, &c, &err)) fail_msg("%s", err.text);
  const int n = calls->case_buffers(c, &b, 2, &a, list);
  assert_int_equal(buffer(list, n, "o")->use, MLAF_USE_NONE);
  assert_int_equal(buffer(list, n, "lse")->use, MLAF_USE_NONE);
  double *o = rows_of(&b, &a, list, n);
  const mlaf_case_buffer *y = buffer(list, n, "values");
  uint16_t *values = outputs[y - list] = values_of(&a, o, buffer(list, n, "w_v")->input);
  others[y - list] = values_of(&a, o, buffer(list, n, "w_v")->input);
  assert_int_equal(y->bytes, (size_t)a.total_q * H * V * 2);
  if (!calls->compare(c, outputs, &result)) fail_msg("%s", result.detail);
  assert_true(calls->same(c, outputs, others, &result));
  values[(size_t)a.total_q * H * V - 1] ^= 0x4000;
  assert_false(calls->same(c, outputs, others, &result));
  result = (mlaf_verify_result){.error = 0};
  assert_false(calls->compare(c, outputs, &result));
  calls->case_buffers(c, &plain, 2, &a, list); /* the next variant has none */
  assert_int_equal(buffer(list, n, "o")->use, MLAF_USE_OUTPUT);
  assert_int_equal(buffer(list, n, "values")->use, MLAF_USE_NONE);
  assert_int_equal(buffer(list, n, "w_v")->use, MLAF_USE_NONE);
  free(outputs[y - list]);
  free(others[y - list]);
  free(o);
  calls->free_case(c);
}

TEST(a_reference_is_two_products) {
  for (int i = 0; i < 3; i++) a_case(i, MLAF_INJECT_NONE);
  a_case(0, MLAF_INJECT_NAN_Q);
  a_case(0, MLAF_INJECT_OOB_PAGE);
}

TESTS(NULL, NULL)
