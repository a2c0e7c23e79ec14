/* mla_gather_kv_b on the emulator: shapes and parameters verify, what is wrong in a kernel is found; checks of arguments, and how
 * a launch is shared out. */
#include <assert.h>
#include <string.h>

#include "verdict.h"
#include "ops/mla_gather_kv_b/gather.h"

/* The template's header is C++ for the kernel compiler and plain enough for C under other names. */
typedef int64_t i64;
typedef uint32_t u32;
typedef struct template_args template_args;
#define mlaf_gather_kv_b_kernel_args template_args
#undef static_assert
#define static_assert(is, text) /* with the table of rotations and without: both stand there */
#include "../templates/mla_gather_kv_b/lib/args.h"
#undef mlaf_gather_kv_b_kernel_args

static void same_offsets(void **state) {
#define SAME(field)                                                                                  \
  assert_int_equal(offsetof(mlaf_gather_kv_b_kernel_args, field), offsetof(template_args, field));   \
  assert_int_equal(sizeof(((mlaf_gather_kv_b_kernel_args *)0)->field), sizeof(((template_args *)0)->field))
  SAME(cache);
  SAME(scale_at);
  SAME(table);
  SAME(table_indptr);
  SAME(cu_seqlens);
  SAME(seq_starts);
  SAME(w);
  SAME(k);
  SAME(v);
  SAME(k_pe);
  SAME(cache_row);
  SAME(num_pages);
  SAME(table_stride);
  SAME(w_head);
  SAME(k_token);
  SAME(v_head);
  SAME(k_pe_head);
  SAME(tokens);
  SAME(batch);
  SAME(table_width);
  SAME(page_tokens);
  SAME(shares);
  SAME(scale);
  SAME(kpe);
  SAME(kpe_row);
  SAME(rope_table);
  SAME(rope_rows);
  assert_int_equal(sizeof(mlaf_gather_kv_b_kernel_args), sizeof(template_args));
}

/* --- kernels --- */

#define V3 "mla_gather_kv_b:h1,n128,p64,v128,r512,bf16,paged,t512"
#define MINI "mla_gather_kv_b:h3,n64,p32,v64,r256,f16,e4m3fnuz,t128"

#define SPLIT "mla_gather_kv_b:h2,n16,p32,v32,r64,bf16,split,t128", "mfma:blocks=2,stages=2,waves=2/s1"

#define TURNS "mla_gather_kv_b:h2,n16,p32,v32,r64,bf16,paged,rope_pairs,t128", "mfma:blocks=2,stages=2,waves=2/s1"
#define TURNED_HALVES "mla_gather_kv_b:h2,n16,p32,v32,r64,bf16,paged,rope_halves,t128", "mfma:blocks=2,stages=2,waves=2/s1"

static void shapes_verify(void **state) {
  static const char *const list[][2] = {
      {V3, "mfma:blocks=1,stages=1,waves=4/s1"},
      {"mla_gather_kv_b:h2,n192,p64,v256,r512,bf16,fp8_ds_mla,t512", "mfma:blocks=1,stages=2,waves=8/s1"},
      {MINI, "mfma:blocks=2,stages=2,waves=4/s1"},
      {"mla_gather_kv_b:h5,n16,p0,v48,r96,bf16,e4m3fn,t128", "mfma:blocks=2,stages=1,waves=2/s1"}, /* a last round half full */
      {"mla_gather_kv_b:h1,n48,p48,v16,r160,f16,fp8_ds_mla,t16", NULL},
      {SPLIT},
      {TURNS},
      {"mla_gather_kv_b:h1,n16,p16,v16,r32,f16,split,rope_halves,t64", NULL},
  };
  verdict_bench b;
  open_verdicts(&b);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    for (int inject = MLAF_INJECT_NONE; inject <= MLAF_INJECT_OOB_PAGE; inject++) {
      mlaf_verify_result r;
      if (verdict_of(&b, list[i][0], list[i][1], NULL, NULL, (mlaf_inject)inject, &r))
        fail_msg("%s %s: %s", list[i][0], list[i][1] ? list[i][1] : "baseline", r.detail);
      assert_true(r.rows > 0 && r.error > 0);
    }
  close_verdicts(&b);
}

#define FNUZ "mla_gather_kv_b:h2,n16,p32,v32,r64,bf16,e4m3fnuz,t128", "mfma:blocks=2,stages=2,waves=2/s1"
#define TILES "mla_gather_kv_b:h2,n16,p32,v32,r256,bf16,fp8_ds_mla,t128", "mfma:blocks=1,stages=1,waves=2/s1"
#define PAGED "mla_gather_kv_b:h3,n32,p32,v16,r64,f16,paged,t128", "mfma:blocks=1,stages=2,waves=4/s1"

static const struct {
  const char *problem, *name, *from, *to;
  mlaf_inject inject;
} mistakes[] = {
    {PAGED, "<= t) low = middle", "< t) low = middle", MLAF_INJECT_NONE},
    {PAGED, "low + 1)) return NO_TOKEN", "low + 1)) return NO_ROW", MLAF_INJECT_NONE}, /* rows behind the last token */
    {PAGED, "a.seq_starts ? load<int>(a.seq_starts + low) : 0", "0", MLAF_INJECT_NONE},
    {PAGED, "low * a.table_stride", "low * (a.table_stride - 1)", MLAF_INJECT_NONE},
    {PAGED, "if (first < 0 || in >= width) return NO_ROW;", "", MLAF_INJECT_OOB_PAGE},
    {PAGED, "if ((u64)page >= (u64)a.num_pages) return NO_ROW;", "if (page < 0) return NO_ROW;", MLAF_INJECT_OOB_PAGE},
    {PAGED, "in * a.page_tokens) * a.cache_row", "in * a.page_tokens) * (2 * R + 2 * ROPE)", MLAF_INJECT_NONE},
    {PAGED, "if (i < N) return", "if (i <= N) return", MLAF_INJECT_NONE},
    {PAGED, "f / OUT * a.w_head", "f / OUT * (2 * OUT * R)", MLAF_INJECT_NONE},
    {PAGED, "h < (a.k_pe_head ? H : 1u)", "h < 1u", MLAF_INJECT_NONE},
    {PAGED, "h += a.shares", "h += a.shares + 1", MLAF_INJECT_NONE},
    {PAGED, "4 * (o >> 4 & 1)", "4 * (o >> 3 & 1)", MLAF_INJECT_NONE},
    {PAGED, "if (f >= ALL) continue;", "if (f > ALL) continue;", MLAF_INJECT_NONE},
    {FNUZ, "128.0f", "256.0f", MLAF_INJECT_NONE},
    {FNUZ, "code == 0x80u ? not_a_number() : x", "x", MLAF_INJECT_NAN_Q},
    {FNUZ, "a.scale_at ? load<float>(a.scale_at) : a.scale", "a.scale", MLAF_INJECT_NONE},
    {FNUZ, "(code & 0x7fu) << 7", "(code & 0x78u) << 7 | (code & 7u) << 6", MLAF_INJECT_NONE},
    {TILES, "4 * (c / 16)", "4 * (c / 32)", MLAF_INJECT_NONE},
    {TILES, "(code & 0x7fu) == 0x7fu ? not_a_number() : x", "x", MLAF_INJECT_NAN_Q},
    {TILES, "R + 16 + 16 * c", "R + 16 * c", MLAF_INJECT_NONE},
    {TURNS, "multiply_add(v[2 * i], cosine[i], -across)", "multiply_add(v[2 * i], cosine[i], across)", MLAF_INJECT_NONE},
    {TURNS, "a.seq_starts ? load<int>(a.seq_starts + r) : 0", "0", MLAF_INJECT_NONE},
    {TURNS, "above - r > 1", "above - r > 2", MLAF_INJECT_NONE},
    {TURNS, "position * 32", "(position + 1) * 32", MLAF_INJECT_NONE},
    {TURNS, "(u64)position >= (u64)a.rope_rows", "false", MLAF_INJECT_NONE},
    {TURNED_HALVES, "c < CHUNKS / 2 ? -1.0f : 1.0f", "c <= CHUNKS / 2 ? -1.0f : 1.0f", MLAF_INJECT_NONE},
    {SPLIT, "row / a.cache_row * a.kpe_row", "row / (2 * R) * a.kpe_row", MLAF_INJECT_NONE},
};

static void mistakes_are_found(void **state) {
  verdict_bench b;
  open_verdicts(&b);
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    mlaf_verify_result r;
    const mlaf_status st =
        verdict_of(&b, mistakes[i].problem, mistakes[i].name, mistakes[i].from, mistakes[i].to, mistakes[i].inject, &r);
    if (st != MLAF_E_INCORRECT && st != MLAF_E_FAULT)
      fail_msg("'%s' as '%s': %s", mistakes[i].from, mistakes[i].to, mlaf_status_text(st));
    assert_true(r.detail[0]);
  }
  close_verdicts(&b);
}

/* --- a launch --- */

static mlaf_point point(const char *text) {
  mlaf_point p;
  assert_int_equal(mlaf_point_parse(NULL, text, &p, NULL, 0), MLAF_OK);
  return p;
}

/* Few tiles of tokens take many shares of the outputs, so that all units work; many tiles take one, which gathers once. */
static void shares_fill_the_device(void **state) {
  const mlaf_point p = point("mla_gather_kv_b:h16,n128,p64,v128,r512,bf16,paged,t4096");
  const gather_shape s = gather_shape_of(&p);
  const uint32_t parts = 16 * 256 / 128;
  assert_int_equal(gather_shares(&s, 1, 132), parts);
  assert_int_equal(gather_shares(&s, 100000, 132), 1);
  assert_int_equal(gather_shares(&s, 132, 132), 1);
  for (uint64_t tiles = 1; tiles < 600; tiles++) {
    const uint32_t n = gather_shares(&s, tiles, 132);
    uint64_t least = UINT64_MAX;
    assert_true(n >= 1 && n <= parts);
    for (uint32_t k = 1; k <= parts; k++) { /* the first of the best of all */
      const uint64_t takes = (tiles * k + 131) / 132 * ((parts + k - 1) / k + 1);
      if (takes < least) assert_true(k <= n), least = takes;
    }
    assert_int_equal((tiles * n + 131) / 132 * ((parts + n - 1) / n + 1), least);
    /* No round of blocks is more than half empty where there is a way to fill it. */
    const uint64_t blocks = tiles * n, rounds = (blocks + 131) / 132;
    assert_true(blocks * 2 >= rounds * 132 || n == parts);
  }
}

static mlaf_gather_kv_b_args good(void) {
  static _Alignas(16) uint16_t tensor[4][16];
  static int32_t words[4];
  mlaf_gather_kv_b_args a = MLAF_GATHER_KV_B_ARGS_INIT;
  a.batch = 2, a.page_tokens = 64, a.tokens = 100, a.num_pages = 9, a.table_stride = 4;
  a.cache = tensor[0], a.w = tensor[1], a.k = tensor[2], a.k_pe = tensor[3];
  a.table = a.cu_seqlens = words;
  return a;
}

static mlaf_status checked(const char *problem, const mlaf_gather_kv_b_args *a, mlaf_err *err) {
  const mlaf_bound b = {.stage = {{.threads = 256, .rows_per_wg = 128}}, .point = point(problem)};
  *err = (mlaf_err){MLAF_OK, ""};
  return gather_check_args(&b, 1, a, err);
}

static void arguments_are_checked(void **state) {
  mlaf_err err;
  mlaf_gather_kv_b_args a = good();
  assert_int_equal(checked(V3, &a, &err), MLAF_OK);
#define WRONG_OF(problem, change, word)                                                \
  do {                                                                                 \
    a = good();                                                                        \
    change;                                                                            \
    assert_int_equal(checked(problem, &a, &err), MLAF_E_ARG);                          \
    if (!strstr(err.text, word)) fail_msg("'%s' does not name %s", err.text, word);    \
  } while (0)
#define WRONG(change, word) WRONG_OF(V3, change, word)
  WRONG(a.cache = NULL, "cache is NULL");
  WRONG(a.w = (const char *)a.w + 2, "w is");
  WRONG(a.k = NULL, "k is NULL");
  WRONG(a.table = NULL, "table is NULL");
  WRONG(a.cu_seqlens = NULL, "cu_seqlens");
  WRONG(a.flags = 1, "flags");
  WRONG(a.batch = -1, "batch");
  WRONG(a.tokens = -1, "tokens");
  WRONG(a.page_tokens = 0, "page_tokens");
  WRONG(a.num_pages = INT64_C(1) << 31, "num_pages");
  WRONG(a.cache_row_stride = 580, "cache_row_stride");
  WRONG(a.k_token_stride = 12, "k_token_stride");
  WRONG(a.k_head_stride = 128, "k_head_stride"); /* v lies behind */
  WRONG(a.k_pe_head_stride = 32, "k_pe_head_stride");
  WRONG(a.table_stride = -1, "table_stride");
  WRONG(a.table_width = 5, "table_width");
  WRONG(a.table_stride = 0, "table_width");
  WRONG_OF(MINI, a.scale = 0, "scale");
  WRONG_OF("mla_gather_kv_b:h3,n64,p0,v64,r256,f16,paged,t128", a.flags = 0, "k_pe");
#define HALVES "mla_gather_kv_b:h16,n128,p64,v128,r512,bf16,split,t512"
  WRONG(a.cache_kpe = a.cache, "cache_kpe is set, and the problem's cache is not split");
  WRONG_OF(HALVES, a.flags = 0, "cache_kpe is NULL");
  WRONG_OF("mla_gather_kv_b:h16,n128,p0,v128,r512,bf16,split,t512", a.k_pe = NULL; a.cache_kpe = a.cache, "without rope columns");
  WRONG_OF(HALVES, a.cache_kpe = a.cache; a.cache_kpe_row_stride = 56, "cache_kpe_row_stride is 56");
  WRONG_OF(HALVES, a.cache_kpe = a.cache; a.cache_page_stride = 520, "must be whole rows of 512");
  const mlaf_gather_kv_b_args nothing = MLAF_GATHER_KV_B_ARGS_INIT;
  assert_int_equal(checked(V3, &nothing, &err), MLAF_OK);
}

/* --- a launch with a tensor map --- */

static mlaf_tensor mapped; /* what was asked for last */
static mlaf_status encode(mlaf_device *dev, const mlaf_tensor *t, void *map, mlaf_err *err) {
  mapped = *t;
  memset(map, 0x5a, MLAF_MAP_BYTES);
  return MLAF_OK;
}

/* Blocks in pairs: an odd tile of tokens has an empty neighbour. W's heads lie beside each other in the map, however they lie. */
static void pairs_and_the_map_of_w(void **state) {
  static const mlaf_device_ops ops = {.tensor_map_encode = encode};
  mlaf_device_base dev = {.ops = &ops, .info = {.compute_units = 132}};
  mlaf_bound b = {.dev = (mlaf_device *)&dev, .point = point("mla_gather_kv_b:h16,n128,p64,v128,r512,bf16,paged,t99")};
  b.stage[0] = (mlaf_stage){.threads = 384, .rows_per_wg = 128,
                            .launch = {.cluster = {2, 1, 1}, .n_maps = 1, .maps = {{1, 64, 64, 128}}}};
  mlaf_gather_kv_b_args a = good();
  static mlaf_prepared p;
  mlaf_err err;
  a.tokens = 300; /* three tiles */
  a.w_row_stride = 520, a.w_head_stride = 140000;
  assert_int_equal(gather_prepare(&b, 1, &a, &p, &err), MLAF_OK);
  const mlaf_gather_kv_b_kernel_args *k = (const void *)p.parameters;
  assert_int_equal(p.launches[0].grid[0], 4 * k->shares);
  assert_int_equal(p.launches[0].cluster[0], 2);
  assert_int_equal(p.launches[0].args_size, 256 + MLAF_MAP_BYTES);
  assert_true(p.parameters[255] != 0x5a && p.parameters[256] == 0x5a && p.parameters[256 + MLAF_MAP_BYTES - 1] == 0x5a);
  assert_ptr_equal(mapped.data, a.w);
  assert_true(mapped.cols == 15 * 140000 + 512 && mapped.rows == 256 && mapped.row_stride == 1040);
  assert_true(mapped.box_cols == 64 && mapped.box_rows == 64 && mapped.swizzle == 128);
  a.w_head_stride = INT64_C(1) << 28;
  assert_int_equal(gather_prepare(&b, 1, &a, &p, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "w_head_stride is 268435456"));
  b.stage[0].launch = (mlaf_kernel_launch){.n_maps = 0};
  assert_int_equal(gather_prepare(&b, 1, &a, &p, &err), MLAF_OK);
  assert_int_equal(p.launches[0].grid[0], 3 * k->shares);
  assert_int_equal(p.launches[0].args_size, offsetof(mlaf_gather_kv_b_kernel_args, rope_table)); /* it turns nothing */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(same_offsets), cmocka_unit_test(arguments_are_checked),
                                     cmocka_unit_test(shares_fill_the_device), cmocka_unit_test(shapes_verify),
                                     cmocka_unit_test(mistakes_are_found), cmocka_unit_test(pairs_and_the_map_of_w)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
