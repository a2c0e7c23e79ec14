/* Rows beside mla_q_b's product: the vendored loader makes of the arguments what the library makes of them. Of the product alone
 * tests/ops/mla_v_out/test_projection_embed.c says so. */
#include "op/embed/mlaf_embed_projection.c" /* to look at its block */
#undef refuse
#define fill q_b_fill
#define product q_b_product
#include "ops/mla_q_b/embed/mlaf_embed_mla_q_b.c"
#undef fill
#undef product

#include <stdlib.h>

#include "cmocka_all.h"
#include "random_args.h"
#include "ops/mla_q_b/q_b.h"

#define ROWS(X) \
  X(flags) X(tokens) X(ckv) X(kpe) X(ckv_row_stride) X(kpe_row_stride) X(norm_weight) X(eps) X(scale) X(scale_at) X(slots) \
  X(positions) X(cos) X(sin) X(table_row_stride) X(table_rows) X(cache) X(cache_kpe) X(cache_row_stride) \
  X(cache_kpe_row_stride) X(num_slots) X(cache_page_stride) X(cache_kpe_page_stride) X(page_tokens) X(kpe_out) \
  X(kpe_out_row_stride)

enum { ROUNDS = 20000 };
static void *address(void) { return address_but_one_of(150); }
static void *maybe(bool wanted) { return wanted != !next(80) ? address() : NULL; }
static int64_t stride(void) {
  return or_extreme(next(3) ? 0 : next(40) ? (int64_t)(1024 + 16 * next(500)) : (int64_t)next(1000) - 20);
}

static mlaf_point random_problem(void) {
  mlaf_point p = {.op = mlaf_op_of("mla_q_b:")};
  for (int i = 0; i < p.op->n_fields; i++) {
    const mlaf_field *f = &p.op->fields[i];
    p.v[i] = f->words ? (int32_t)next((uint64_t)f->max + 1)
                      : f->min + f->multiple * (int32_t)next((uint64_t)((f->max - f->min) / f->multiple + 1));
  }
  p.v[MLA_Q_B_ABSORB] = 0; /* kernels that absorb are not embedded */
  char why[200] = "";
  if (mlaf_point_check(&p, why, sizeof why)) fail_msg("%s", why);
  return p;
}

static mlaf_q_b_args random_args(const mlaf_point *p) {
  const int32_t *v = p->v, layout = v[MLA_Q_B_APPEND] - 1;
  const bool turns = v[MLA_Q_B_ROPE] && v[MLA_Q_B_APPEND_STYLE] != 2, split = layout == 1;
  mlaf_q_b_args a = MLAF_Q_B_ARGS_INIT;
  a.projection.x = (void *)4096, a.projection.w = (void *)8192, a.projection.y = (void *)16384;
  a.projection.norm_weight = v[MLA_Q_B_NORM] ? a.projection.w : NULL;
  a.projection.w_scale = v[MLA_Q_B_WEIGHTS] ? a.projection.w : NULL;
  a.projection.tokens = next(20) ? 1 + (int64_t)next(300) : 0;
  mlaf_append_args *to = &a.append;
  to->tokens = or_extreme(next(20) ? (int64_t)next(5000) : next(2) ? 0 : (int64_t)(x >> 30) - 5);
  to->ckv = address(), to->kpe = maybe(v[MLA_Q_B_ROPE]), to->norm_weight = maybe(v[MLA_Q_B_APPEND_NORM]);
  to->slots = address(), to->positions = maybe(turns), to->cos = maybe(turns), to->sin = maybe(turns && next(2));
  to->scale_at = maybe(layout >= 3 && next(2)), to->scale = next(40) ? 0.5f : 0, to->cache = address();
  to->cache_kpe = maybe(split && v[MLA_Q_B_ROPE]), to->kpe_out = maybe(v[MLA_Q_B_ROPE] && next(2));
  to->table_rows = or_extreme((int64_t)next(9999));
  to->num_slots = or_extreme((int64_t)next(1 << 20) - (next(60) ? 0 : 1 << 20));
  to->ckv_row_stride = stride(), to->kpe_row_stride = stride(), to->kpe_out_row_stride = stride();
  to->cache_row_stride = stride(), to->cache_kpe_row_stride = split ? stride() : 0, to->table_row_stride = turns ? stride() : 0;
  if (!next(4)) to->page_tokens = 1 + (int32_t)next(64), to->cache_page_stride = (int64_t)(1 << 16) * (1 + (int64_t)next(9));
  return a;
}

static mlaf_status encode(mlaf_device *dev, const mlaf_tensor *t, void *map, mlaf_err *err) {
  memset(map, 0, MLAF_MAP_BYTES);
  return MLAF_OK;
}

/* Of arguments that both take. */
static void the_same_block(const mlaf_bound *b, const mlaf_embed_kernel *k, const product *p, const mlaf_q_b_args *given,
                           const mlaf_embed_projection_args *a, const mlaf_embed_beside *beside) {
  static mlaf_prepared made;
  everything mine;
  arguments dense_args = *a;
  mlaf_err err = {MLAF_OK, ""};
  const mlaf_device_info *info = mlaf_info(b->dev);
  assert_int_equal(b->point.op->calls->prepare(b, 1, given, &made, &err), MLAF_OK);
  dense(p, &dense_args);
  memset(&mine, 0, sizeof mine);
  const uint32_t blocks = fill_all(p, k, (uint32_t)info->compute_units, (uint32_t)info->wave_size, &dense_args, beside, &mine);
  assert_int_equal(made.launches[0].grid[0], blocks);
  assert_int_equal(made.launches[0].args_size, parameter_bytes(k));
  const size_t head = k->flags & EMBED_SCALES ? sizeof(kernel_args) : offsetof(kernel_args, w_scale), tail = product_bytes(k);
  assert_memory_equal(&mine, made.parameters, head);
  assert_memory_equal(mine.bytes + tail, made.parameters + tail, parameter_bytes(k) - tail);
}

static void the_same_launch(void **state) {
  static const mlaf_device_ops ops = {.tensor_map_encode = encode};
  mlaf_device_base dev = {.ops = &ops};
  int good = 0, refused = 0, rows = 0;
  for (int i = 0; i < ROUNDS; i++) {
    mlaf_bound b = {.dev = (mlaf_device *)&dev, .point = random_problem(), .knob = 1};
    const int32_t *v = b.point.v;
    const product p = q_b_product(v);
    dev.info.compute_units = next(20) ? 132 : 0, dev.info.wave_size = next(2) ? 32 : 64;
    b.stage[0] = (mlaf_stage){.threads = 64u << next(4), .rows_per_wg = 16u << next(4),
                              .launch = {.cluster = {(uint32_t)next(5), 1, 1}, .n_maps = (uint32_t)next(3),
                                         .flags = (v[MLA_Q_B_WEIGHTS] ? MLAF_KERNEL_SCALES : 0u) |
                                                  (v[MLA_Q_B_APPEND] ? MLAF_KERNEL_SECOND : 0u)}};
    mlaf_embed_kernel k = {.threads = b.stage[0].threads, .rows_per_wg = b.stage[0].rows_per_wg,
                           .cluster = {b.stage[0].launch.cluster[0], 1, 1}, .n_maps = b.stage[0].launch.n_maps,
                           .flags = b.stage[0].launch.flags};
    for (uint32_t m = 0; m < k.n_maps; m++) k.maps[m].of = b.stage[0].launch.maps[m].of = 1 + m;
    const mlaf_q_b_args a = random_args(&b.point);
    const mlaf_projection_args *o = &a.projection;
    const mlaf_embed_projection_args e = {.tokens = o->tokens, .x = o->x, .w = o->w, .y = o->y, .norm_weight = o->norm_weight,
                                          .w_scale = o->w_scale, .eps = o->eps};
    mlaf_embed_append_args r;
    mlaf_embed_beside beside;
    memset(&r, 0, sizeof r);
#define COPY(m) r.m = a.append.m;
    ROWS(COPY)
    char why[400] = "";
    mlaf_err err = {MLAF_OK, ""};
    const bool ours = b.point.op->calls->check_args(&b, 1, &a, &err) == MLAF_OK;
    const bool theirs = q_b_fill(v, &k, (uint32_t)dev.info.wave_size, e.tokens, &r, &beside, why, sizeof why) == MLAF_EMBED_OK;
    if (ours != theirs) fail_msg("round %d: the library says '%s', the loader '%s'", i, err.text, why);
    if (!ours) assert_string_equal(err.text, why);
    refused += !ours;
    if (!ours || !e.tokens) continue;
    good++, rows += v[MLA_Q_B_APPEND] && r.tokens;
    the_same_block(&b, &k, &p, &a, &e, &beside);
  }
  if (good < ROUNDS / 10 || refused < ROUNDS / 10 || rows < ROUNDS / 20) fail_msg("%d, %d, %d", good, refused, rows);
}

int main(void) {
  _Static_assert((int)EMBED_APPENDS == (int)MLAF_KERNEL_SECOND, "the same flag");
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_launch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
