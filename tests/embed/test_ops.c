/* Every operation through the embedded loader: a problem's struct gives the point that the library reads from its text, and a
 * launch has the library's grid and parameter block. */
#include "mlaf_embed_inside.h"
#include "mlaf_embed_mla_append.h"
#include "mlaf_embed_mla_decode.h"
#include "mlaf_embed_mla_dequant.h"
#include "mlaf_embed_mla_gather_kv_b.h"
#include "mlaf_embed_mla_index.h"
#include "mlaf_embed_mla_index_append.h"
#include "mlaf_embed_mla_merge.h"
#include "mlaf_embed_mla_merge_parts.h"
#include "mlaf_embed_mla_o_proj.h"
#include "mlaf_embed_mla_prefill.h"
#include "mlaf_embed_mla_q_absorb.h"
#include "mlaf_embed_mla_q_b.h"
#include "mlaf_embed_mla_q_scale.h"
#include "mlaf_embed_mla_qkv_a.h"
#include "mlaf_embed_mla_v_out.h"

#include "cmocka_all.h"
#include "cuda/fakecuda.h"
#include "device/device.h"
#include "fake/fake_test.h"
#include "op/calls.h"

enum { UNITS = 132, WARP = 32, THREADS = 128, ROWS = 16, COUNT = 37, ARGS = 768, SECOND = 128, THIRD = 256 };
static const unsigned char elf[64] = {0x7f, 'E', 'L', 'F'};
static void *const at = (void *)(uintptr_t)4096;

/* --- the library's side --- */

static mlaf_status encode(mlaf_device *dev, const mlaf_tensor *t, void *map, mlaf_err *err) {
  const uint64_t words[] = {(uintptr_t)t->data, t->cols, t->rows, t->row_stride, t->box_cols, t->box_rows, t->swizzle / 64 + 1};
  memset(map, 0, MLAF_MAP_BYTES);
  memcpy(map, words, sizeof words); /* as the fake driver writes them */
  return MLAF_OK;
}

static void by_library(const mlaf_point *p, uint32_t flags, bool second, const void *args, mlaf_prepared *out) {
  static const mlaf_device_ops ops = {.tensor_map_encode = encode};
  mlaf_device_base dev = {.ops = &ops, .info = {.compute_units = UNITS, .wave_size = WARP}};
  mlaf_bound b = {.dev = (mlaf_device *)&dev, .point = *p, .knob = 1};
  mlaf_err err = {MLAF_OK, ""};
  b.stage[0] = (mlaf_stage){.fn = (mlaf_function *)at, .threads = THREADS, .rows_per_wg = ROWS, .launch = {.flags = flags}};
  if (flags & THIRD)
    b.stage[0].launch.n_maps = 3, memcpy(b.stage[0].launch.maps, (mlaf_map_want[]){{1, 64, 64, 128}, {2, 64, 64, 128},
                                                                                 {3, 64, 64, 128}}, 3 * sizeof(mlaf_map_want));
  if (second) b.stage[1] = b.stage[0];
  if (p->op->calls->check_stages(&b, &err) || p->op->calls->prepare(&b, 1, args, out, &err)) fail_msg("%s", err.text);
}

/* --- the loader's side --- */

typedef struct question {
  const char *text;
  uint32_t flags;
  size_t counts[8];  /* members of the arguments that say how much there is to do, ended by 0 */
  size_t tensors[4]; /* and those that maps are made of */
  bool second;       /* a second kernel comes behind the first */
} question;

/* The plan that `plan` makes of its problem, from an index that has this one alone; both sides' launches of it are compared. */
#define SAME(name, operation, args_type, question_, ...)                                                                     \
  do {                                                                                                                       \
    extern const mlaf_embed_op mlaf_embed_op_##operation;                                                                    \
    const mlaf_embed_##name##_problem problem = {__VA_ARGS__};                                                               \
    const question q = question_;                                                                                            \
    const mlaf_embed_plan *plan = NULL;                                                                                      \
    mlaf_embed *e = open_with(&q);                                                                                           \
    char why[300] = "";                                                                                                      \
    if (mlaf_embed_##name##_plan(e, &problem, &plan, why, sizeof why)) fail_msg("%s: %s", q.text, why);                      \
    compare(&q, plan, &mlaf_embed_op_##operation, sizeof(args_type));                                                        \
    mlaf_embed_close(e);                                                                                                     \
    assert_int_equal(mlaf_embed_##name##_plan(NULL, &problem, &plan, why, sizeof why), MLAF_EMBED_ARG);                      \
  } while (0)

static mlaf_point point_of(const char *text) {
  mlaf_point p;
  char why[300] = "";
  if (mlaf_point_parse(NULL, text, &p, why, sizeof why)) fail_msg("%s: %s", text, why);
  return p;
}

static mlaf_embed *open_with(const question *q) {
  static mlaf_embed_kernel kernel;
  static mlaf_embed_row row;
  static mlaf_embed_index_op op;
  static const mlaf_embed_target target = {"sm_90a", &kernel, &row, 1, 1};
  static const mlaf_embed_index index = {MLAF_EMBED_VERSION, 1, "", &target, &op, 1};
  const mlaf_point p = point_of(q->text);
  mlaf_embed *e = NULL;
  char why[300] = "";
  kernel = (mlaf_embed_kernel){elf, "any", THREADS, ROWS, 0, 0, {.flags = q->flags}};
  if (q->flags & THIRD) {
    kernel.launch.n_maps = 3;
    for (uint32_t i = 0; i < 3; i++) kernel.launch.maps[i] = (mlaf_embed_map_want){i + 1, 64, 64, 128};
  }
  row = (mlaf_embed_row){.knob = 1, .kernels = {1, q->second}};
  memcpy(row.values, p.v, sizeof p.v);
  op = (mlaf_embed_index_op){p.op->name, p.op->n_fields};
  if (mlaf_embed_open(&index, 0, &e, why, sizeof why)) fail_msg("%s", why);
  return e;
}

static void compare(const question *q, const mlaf_embed_plan *plan, const mlaf_embed_op *op, size_t args_size) {
  static _Alignas(64) unsigned char args[ARGS];
  static mlaf_prepared theirs;
  static mlaf_embed_prepared ours;
  const mlaf_point p = point_of(q->text);
  mlaf_embed_err err = {MLAF_EMBED_OK, ""};
  assert_memory_equal(plan->bound.point.v, p.v, sizeof p.v);
  assert_true(args_size == p.op->calls->args_size && args_size <= sizeof args);
  memset(args, 0, sizeof args);
  for (const size_t *i = q->counts; *i; i++) memcpy(args + *i, &(int64_t){COUNT}, sizeof(int64_t));
  for (const size_t *i = q->tensors; *i; i++) memcpy(args + *i, &at, sizeof at);
  memset(&theirs, 0xee, sizeof theirs);
  memset(&ours, 0xee, sizeof ours);
  by_library(&p, q->flags, q->second, args, &theirs);
  if (op->calls->prepare(&plan->bound, 1, args, &ours, &err)) fail_msg("%s: %s", q->text, err.text);
  assert_true(theirs.n == 1u + q->second && ours.n == theirs.n);
  for (size_t i = 0; i < ours.n; i++) {
    const mlaf_launch *x = &theirs.launches[i];
    const mlaf_embed_launch *y = &ours.launches[i];
    assert_memory_equal(x->grid, y->grid, sizeof x->grid);
    assert_memory_equal(x->block, y->block, sizeof x->block);
    assert_int_equal(x->args_size, y->args_size);
    assert_memory_equal(theirs.parameters, ours.parameters, x->args_size);
    assert_true(x->grid[0] > 0 && x->args_size > 32);
  }
}

#define AT(type, member) offsetof(mlaf_embed_##type, member)
#define ASKED(text_, flags_, ...) {.text = text_, .flags = flags_, __VA_ARGS__}

static int setup(void **state) {
  fake_use("MLAF_CUDA_LIBRARY", "fakecuda/libfakecuda.so", "FAKECUDA");
  return 0;
}

TEST(rows_and_caches) {
  SAME(append, mla_append, mlaf_embed_append_args,
       ASKED("mla_append:h16,r256,p32,f16,fp8_ds_mla,halves,norm,t64", 0, .counts = {AT(append_args, tokens)}),
       .heads = 16, .rank = 256, .rope = 32, .dtype = 1, .layout = 2, .style = 1, .norm = 1, .tokens = 64);
  SAME(q_scale, mla_q_scale, mlaf_embed_q_scale_args,
       ASKED("mla_q_scale:h16,n192,f16,t64", 0, .counts = {AT(q_scale_args, tokens)}),
       .heads = 16, .qdim = 192, .dtype = 1, .tokens = 64);
  SAME(dequant, mla_dequant, mlaf_embed_dequant_args,
       ASKED("mla_dequant:c512,f16,e4m3fnuz,t4096", 0, .counts = {AT(dequant_args, rows)}),
       .columns = 512, .dtype = 1, .weights = 1, .w_rows = 4096);
  SAME(merge, mla_merge, mlaf_embed_merge_args,
       ASKED("mla_merge:h16,v128,f16,t1024", 0, .counts = {AT(merge_args, tokens)}),
       .heads = 16, .vdim = 128, .dtype = 1, .tokens = 1024);
  SAME(merge_parts, mla_merge_parts, mlaf_embed_merge_parts_args,
       ASKED("mla_merge_parts:n4,h16,v128,f16,t1024", 0, .counts = {AT(merge_parts_args, tokens)}),
       .parts = 4, .heads = 16, .vdim = 128, .dtype = 1, .tokens = 1024);
  SAME(gather, mla_gather_kv_b, mlaf_embed_gather_args,
       ASKED("mla_gather_kv_b:h8,n96,p48,v128,r256,f16,e4m3fn,rope_halves,t4096", MLAF_KERNEL_SCALES,
             .counts = {AT(gather_args, tokens), AT(gather_args, batch)}),
       .heads = 8, .nope = 96, .rope = 48, .vdim = 128, .rank = 256, .dtype = 1, .layout = 2, .rotate = 2, .tokens = 4096);
}

/* Numbers of 32 bits are members one behind the other: what the one before left in the next is written over. */
TEST(selection) {
  SAME(index, mla_index, mlaf_embed_index_args,
       ASKED("mla_index:h32,s4096,t64", 0, .second = true,
             .counts = {AT(index_args, tokens), AT(index_args, max_length), AT(index_args, topk), AT(index_args, page_tokens),
                        AT(index_args, table_width), AT(index_args, q_tokens)}),
       .heads = 32, .tokens = 64, .ctx = 4096);
  SAME(index_append, mla_index_append, mlaf_embed_index_append_args,
       ASKED("mla_index_append:h32,f16,halves,hadamard,t64", 0,
             .counts = {AT(index_append_args, tokens), AT(index_append_args, num_pages), AT(index_append_args, page_tokens),
                        AT(index_append_args, q_tokens), AT(index_append_args, table_rows)}),
       .heads = 32, .dtype = 1, .style = 1, .hadamard = 1, .tokens = 64);
}

TEST(attention) {
  SAME(prefill, mla_prefill, mlaf_embed_prefill_args,
       ASKED("mla_prefill:h8,n96,p48,v128,f16,e4m3fnuz,causal,b4,t1024,s2048", MLAF_KERNEL_SCALES,
             .counts = {AT(prefill_args, total_q), AT(prefill_args, total_k), AT(prefill_args, batch)}),
       .heads = 8, .nope = 96, .rope = 48, .vdim = 128, .dtype = 1, .inputs = 2, .causal = 1, .batch = 4, .tokens = 1024,
       .ctx = 2048);
  SAME(decode, mla_decode, mlaf_embed_decode_args,
       ASKED("mla_decode:h16,r256,p32,q2,causal,f16,rope_halves,page16,b8,s4096", 0, .counts = {AT(decode_args, total_q)}),
       .heads = 16, .rank = 256, .rope = 32, .q_len = 2, .causal = 1, .dtype = 1, .page_size = 16, .batch = 8, .ctx = 4096,
       .rotate = 2);
}

TEST(products) {
  SAME(qkv_a, mla_qkv_a, mlaf_embed_projection_args,
       ASKED("mla_qkv_a:d2048,l512,r256,p32,f16,e4m3fn,t8", MLAF_KERNEL_SCALES, .counts = {AT(projection_args, tokens)}),
       .hidden = 2048, .q_rank = 512, .rank = 256, .rope = 32, .dtype = 1, .weights = 1, .tokens = 8);
  SAME(q_absorb, mla_q_absorb, mlaf_embed_projection_args,
       ASKED("mla_q_absorb:h16,n128,p64,r256,f16,halves,t8", 0, .counts = {AT(projection_args, tokens)}),
       .heads = 16, .nope = 128, .rope = 64, .rank = 256, .dtype = 1, .style = 1, .tokens = 8);
  SAME(v_out, mla_v_out, mlaf_embed_projection_args,
       ASKED("mla_v_out:h16,r256,v128,f16,t8", 0, .counts = {AT(projection_args, tokens)}),
       .heads = 16, .rank = 256, .v = 128, .dtype = 1, .tokens = 8);
  SAME(o_proj, mla_o_proj, mlaf_embed_projection_args,
       ASKED("mla_o_proj:d2048,h16,v128,residual,f16,t8", 0, .counts = {AT(projection_args, tokens)}),
       .hidden = 2048, .heads = 16, .v = 128, .residual = 1, .dtype = 1, .tokens = 8);
}

/* The product alone, with rows beside it, and with queries that go on. */
TEST(lists) {
  SAME(q_b, mla_q_b, mlaf_embed_q_b_args,
       ASKED("mla_q_b:l512,h16,n128,p64,norm,f16,t8", 0, .counts = {AT(q_b_args, projection.tokens)}),
       .q_rank = 512, .heads = 16, .nope = 128, .rope = 64, .norm = 1, .dtype = 1, .tokens = 8);
  SAME(q_b, mla_q_b, mlaf_embed_q_b_args,
       ASKED("mla_q_b:l512,h16,n128,p64,norm,f16,append_split,r256,append_halves,append_norm,t8", SECOND,
             .counts = {AT(q_b_args, projection.tokens), AT(q_b_args, append.tokens)}),
       .q_rank = 512, .heads = 16, .nope = 128, .rope = 64, .norm = 1, .dtype = 1, .append = 2, .rank = 256, .append_style = 1,
       .append_norm = 1, .tokens = 8);
  SAME(q_b, mla_q_b, mlaf_embed_q_b_args,
       ASKED("mla_q_b:l512,h1,n128,p64,norm,f16,append_paged,r256,append_norm,absorb_halves,t8", SECOND | THIRD,
             .counts = {AT(q_b_args, projection.tokens), AT(q_b_args, append.tokens), AT(q_b_args, absorb.tokens)},
             .tensors = {AT(q_b_args, projection.x), AT(q_b_args, projection.w), AT(q_b_args, absorb.w)}),
       .q_rank = 512, .heads = 1, .nope = 128, .rope = 64, .norm = 1, .dtype = 1, .append = 1, .rank = 256, .append_norm = 1,
       .absorb = 2, .tokens = 8);
}

/* Members of a list's struct go where the functions for programs say. */
TEST(a_list_is_refused_by_parts) {
  const question q = {.text = "mla_q_b:l512,h1,n128,p64,norm,f16,append_paged,r256,append_norm,absorb_halves,t8",
                      .flags = SECOND | THIRD};
  const mlaf_embed_q_b_problem p = {.q_rank = 512, .heads = 1, .nope = 128, .rope = 64, .norm = 1, .dtype = 1, .append = 1,
                                    .rank = 256, .append_norm = 1, .absorb = 2, .tokens = 8};
  const mlaf_embed_append_args rows = {.tokens = 3, .ckv = at, .kpe = at, .norm_weight = at, .slots = at, .num_slots = 9,
                                       .cache = at, .positions = at, .cos = at};
  mlaf_embed_projection_args a = {.tokens = 8, .x = at, .w = at, .norm_weight = at}, into = {.tokens = 8, .w = at, .y = at};
  const mlaf_embed_plan *plan = NULL;
  mlaf_embed *e = open_with(&q);
  char why[300] = "";
  if (mlaf_embed_q_b_plan(e, &p, &plan, why, sizeof why)) fail_msg("%s", why);
  into.positions = at, into.cos = at;
  if (mlaf_embed_q_b_absorb_execute(plan, &a, &rows, &into, NULL, why, sizeof why)) fail_msg("%s", why);
  into.tokens = 7;
  assert_int_equal(mlaf_embed_q_b_absorb_execute(plan, &a, &rows, &into, NULL, why, sizeof why), MLAF_EMBED_ARG);
  assert_string_equal(why, "absorb: tokens is 7, and the product has 8: as many");
  assert_int_equal(mlaf_embed_q_b_append_execute(plan, &a, &rows, NULL, why, sizeof why), MLAF_EMBED_ARG);
  assert_string_equal(why, "absorb: tokens is 0, and the product has 8: as many");
  a.y = at;
  assert_int_equal(mlaf_embed_q_b_execute(plan, &a, NULL, why, sizeof why), MLAF_EMBED_ARG);
  assert_non_null(strstr(why, "NULL and 0 where the problem absorbs"));
  assert_int_equal(mlaf_embed_q_b_absorb_execute(plan, &a, NULL, &into, NULL, why, sizeof why), MLAF_EMBED_ARG);
  assert_string_equal(why, "a NULL pointer");
  mlaf_embed_close(e);
}

TESTS(setup, NULL)
