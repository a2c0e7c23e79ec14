/* The vendored loader makes of the arguments what the library makes of them: the same checks, the same parameter block. */
#include "ops/mla_gather_kv_b/embed/mlaf_embed_mla_gather_kv_b.c" /* to look at its block */

#include <stdlib.h>

#include "cmocka_all.h"
#include "random_args.h"
#include "ops/mla_gather_kv_b/gather.h"

#define MEMBERS(X) \
  X(flags) X(batch) X(page_tokens) X(tokens) X(cache) X(cache_row_stride) X(cache_page_stride) X(num_pages) X(scale_at) X(scale) \
  X(table_width) X(table) X(table_stride) X(table_indptr) X(cu_seqlens) X(seq_starts) X(w) X(w_row_stride) X(w_head_stride) X(k) \
  X(k_token_stride) X(k_head_stride) X(v) X(v_token_stride) X(v_head_stride) X(k_pe) X(k_pe_token_stride) X(k_pe_head_stride) \
  X(cache_kpe) X(cache_kpe_row_stride) X(rope_table) X(rope_rows)

enum { ROUNDS = 20000 };

/* Mostly in order; each member is sometimes NULL, sometimes odd, sometimes too small. */
static void *address(void) { return address_but_one_of(100); }
static int64_t stride(void) { return next(40) ? (int64_t)(16 * (50 + next(5000))) : (int64_t)next(1000) - 20; }

static mlaf_gather_kv_b_args random_args(bool split, bool rotates) {
  mlaf_gather_kv_b_args a = MLAF_GATHER_KV_B_ARGS_INIT;
  int64_t *const strides[] = {&a.cache_row_stride, &a.cache_page_stride, &a.w_row_stride, &a.w_head_stride, &a.k_token_stride,
                              &a.k_head_stride, &a.v_token_stride, &a.v_head_stride, &a.k_pe_token_stride, &a.k_pe_head_stride,
                              &a.cache_kpe_row_stride};
  for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) *strides[i] = next(4) ? 0 : or_extreme(stride());
  a.cache = address(), a.table = address(), a.cu_seqlens = address(), a.w = address(), a.k = address();
  a.v = next(2) ? NULL : address(), a.k_pe = next(3) ? NULL : address(), a.scale_at = next(3) ? NULL : address();
  a.table_indptr = next(2) ? NULL : address(), a.seq_starts = next(2) ? NULL : address();
  a.cache_kpe = next(split ? 40 : 1) != split ? address() : NULL;
  const int64_t row = a.cache_row_stride;
  if (split && row > 0 && row < 1 << 30 && next(20)) a.cache_page_stride = row * (1 + (int64_t)next(99));
  a.flags = !next(50), a.batch = or_extreme_32((int32_t)next(300) - !next(50));
  a.tokens = or_extreme(next(30) ? (int64_t)next(70000) : (int64_t)(x >> 30) - 5);
  a.page_tokens = or_extreme_32((int32_t)next(100)), a.num_pages = or_extreme((int64_t)next(1 << 20) - (next(30) ? 0 : 1 << 20));
  a.table_stride = or_extreme((int64_t)next(5000) - !next(50)), a.table_width = or_extreme_32(next(2) ? 0 : (int32_t)next(2000));
  a.scale = next(30) ? 0.5f : -1.0f;
  if (next(50) ? rotates : !rotates) a.rope_table = address(), a.rope_rows = or_extreme((int64_t)next(99999));
  return a;
}

static mlaf_status encode(mlaf_device *dev, const mlaf_tensor *t, void *map, mlaf_err *err) { return MLAF_OK; }

static void the_same_launch(void **state) {
  static const mlaf_device_ops ops = {.tensor_map_encode = encode};
  mlaf_device_base dev = {.ops = &ops};
  int good = 0, refused = 0;
  for (int i = 0; i < ROUNDS; i++) {
    mlaf_bound b = {.dev = (mlaf_device *)&dev, .point = {.op = mlaf_op_of("mla_gather_kv_b:")}, .knob = 1};
    mlaf_embed_row row = {0};
    int32_t *const v = b.point.v;
    v[MLA_GATHER_KV_B_HEADS] = 1 + (int32_t)next(128), v[MLA_GATHER_KV_B_NOPE] = 16 * (1 + (int32_t)next(12));
    v[MLA_GATHER_KV_B_ROPE] = 32 * (int32_t)next(3), v[MLA_GATHER_KV_B_VDIM] = 16 * (1 + (int32_t)next(16));
    v[MLA_GATHER_KV_B_RANK] = 32 * (1 + (int32_t)next(16)), v[MLA_GATHER_KV_B_LAYOUT] = (int32_t)next(5);
    v[MLA_GATHER_KV_B_ROTATE] = v[MLA_GATHER_KV_B_ROPE] ? (int32_t)next(3) : 0;
    v[MLA_GATHER_KV_B_TOKENS] = 1;
    memcpy(row.values, v, sizeof row.values);
    const uint32_t cluster = 1 + (uint32_t)next(2);
    dev.info.compute_units = next(20) ? 132 : 0;
    b.stage[0] = (mlaf_stage){.threads = 64u << next(3), .rows_per_wg = 32u << next(3),
                              .launch = {.cluster = {cluster, 1, 1}, .n_maps = (uint32_t)next(2),
                                         .flags = v[MLA_GATHER_KV_B_ROTATE] ? MLAF_KERNEL_SCALES : 0}};
    const mlaf_embed_kernel k = {.threads = b.stage[0].threads, .rows_per_wg = b.stage[0].rows_per_wg,
                                 .cluster = {cluster, 1, 1}, .n_maps = b.stage[0].launch.n_maps};
    const mlaf_embed_plan plan = {.row = &row};
    const mlaf_gather_kv_b_args a = random_args(gather_shape_of(&b.point).format->split, v[MLA_GATHER_KV_B_ROTATE]);
    mlaf_embed_gather_args e;
    memset(&e, 0, sizeof e);
#define COPY(m) e.m = a.m;
    MEMBERS(COPY)
    const shape s = shape_of(&plan);
    char why[256] = "";
    reason to = {why, sizeof why};
    mlaf_err err = {MLAF_OK, ""};
    const bool ours = gather_check_args(&b, 1, &a, &err) == MLAF_OK, theirs = check(&s, &k, &e, &to) == MLAF_EMBED_OK;
    if (ours != theirs) fail_msg("round %d: the library says '%s', the loader '%s'", i, err.text, why);
    if (!ours) assert_string_equal(err.text, why);
    refused += !ours;
    if (!ours || !a.tokens || !a.batch) continue;
    good++;
    static mlaf_prepared p;
    kernel_args mine;
    const uint64_t blocks = fill_all(&s, &k, (uint32_t)dev.info.compute_units, &e, &mine);
    const bool far = b.stage[0].launch.n_maps && (s.heads - 1) * (mine.w_head / 2) + s.rank > INT32_MAX;
    assert_int_equal(gather_prepare(&b, 1, &a, &p, &err), far ? MLAF_E_ARG : MLAF_OK);
    if (far) continue;
    assert_int_equal(p.launches[0].grid[0], (uint32_t)blocks);
    assert_memory_equal(&mine, p.parameters, sizeof mine);
    assert_int_equal(p.launches[0].args_size, block_bytes(&s, &k));
  }
  if (good < ROUNDS / 50 || refused < ROUNDS / 50) fail_msg("%d, %d", good, refused);
}

int main(void) {
  _Static_assert(sizeof(kernel_args) == sizeof(mlaf_gather_kv_b_kernel_args), "the same block");
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_launch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
