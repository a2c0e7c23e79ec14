/* mla_gather_kv_b: checks of arguments, and how a launch is shared out. Its kernels: kernels.tsv. */
#include "ops/checked.h"
#include "ops/mla_gather_kv_b/gather.h"

#define V3 "mla_gather_kv_b:h1,n128,p64,v128,r512,bf16,paged,t512"
#define MINI "mla_gather_kv_b:h3,n64,p32,v64,r256,f16,e4m3fnuz,t128"

/* --- a launch --- */

static mlaf_point point(const char *text) {
  mlaf_point p;
  assert_int_equal(mlaf_point_parse(NULL, text, &p, NULL, 0), MLAF_OK);
  return p;
}

/* Few tiles of tokens take many shares of the outputs, so that all units work; many tiles take one, which gathers once. */
TEST(shares_fill_the_device) {
  const uint32_t outputs = 16 * 256, parts = outputs / 128;
  assert_int_equal(gather_kv_b_shares(outputs, 1, 132), parts);
  assert_int_equal(gather_kv_b_shares(outputs, 100000, 132), 1);
  assert_int_equal(gather_kv_b_shares(outputs, 132, 132), 1);
  for (uint64_t tiles = 1; tiles < 600; tiles++) {
    const uint32_t n = gather_kv_b_shares(outputs, tiles, 132);
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

static const args_kernel of = {V3, 256, 128}, mini = {MINI, 256, 128},
                         no_rope = {"mla_gather_kv_b:h3,n64,p0,v64,r256,f16,paged,t128", 256, 128},
                         halves = {"mla_gather_kv_b:h16,n128,p64,v128,r512,bf16,split,t512", 256, 128},
                         halves_no_rope = {"mla_gather_kv_b:h16,n128,p0,v128,r512,bf16,split,t512", 256, 128};

TEST(arguments_are_checked) {
  mlaf_err err;
  mlaf_gather_kv_b_args a = good();
  assert_int_equal(args_checked(&of, &a, &err), MLAF_OK);
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
  WRONG_OF(&mini, a.scale = 0, "scale");
  WRONG_OF(&no_rope, a.flags = 0, "k_pe");
  WRONG(a.cache_kpe = a.cache, "cache_kpe is set, and the problem's cache is not split");
  WRONG_OF(&halves, a.flags = 0, "cache_kpe is NULL");
  WRONG_OF(&halves_no_rope, a.k_pe = NULL; a.cache_kpe = a.cache, "without rope columns");
  WRONG_OF(&halves, a.cache_kpe = a.cache; a.cache_kpe_row_stride = 56, "cache_kpe_row_stride is 56");
  WRONG_OF(&halves, a.cache_kpe = a.cache; a.cache_page_stride = 520, "must be whole rows of 512");
  const mlaf_gather_kv_b_args nothing = MLAF_GATHER_KV_B_ARGS_INIT;
  assert_int_equal(args_checked(&of, &nothing, &err), MLAF_OK);
}

/* --- a launch with a tensor map --- */

static mlaf_tensor mapped; /* what was asked for last */
static mlaf_status encode(mlaf_device *dev, const mlaf_tensor *t, void *map, mlaf_err *err) {
  mapped = *t;
  memset(map, 0x5a, MLAF_MAP_BYTES);
  return MLAF_OK;
}

/* Blocks in pairs: an odd tile of tokens has an empty neighbour. W's heads lie beside each other in the map, however they lie. */
TEST(pairs_and_the_map_of_w) {
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
  assert_int_equal(gather_kv_b_prepare(&b, 1, &a, &p, &err), MLAF_OK);
  const mlaf_gather_kv_b_kernel_args *k = (const void *)p.parameters;
  assert_int_equal(p.launches[0].grid[0], 4 * k->shares);
  assert_int_equal(p.launches[0].cluster[0], 2);
  assert_int_equal(p.launches[0].args_size, 256 + MLAF_MAP_BYTES);
  assert_true(p.parameters[255] != 0x5a && p.parameters[256] == 0x5a && p.parameters[256 + MLAF_MAP_BYTES - 1] == 0x5a);
  assert_ptr_equal(mapped.data, a.w);
  assert_true(mapped.cols == 15 * 140000 + 512 && mapped.rows == 256 && mapped.row_stride == 1040);
  assert_true(mapped.box_cols == 64 && mapped.box_rows == 64 && mapped.swizzle == 128);
  a.w_head_stride = INT64_C(1) << 28;
  assert_int_equal(gather_kv_b_prepare(&b, 1, &a, &p, &err), MLAF_E_ARG);
  assert_non_null(strstr(err.text, "w_head_stride is 268435456"));
  b.stage[0].launch = (mlaf_kernel_launch){.n_maps = 0};
  assert_int_equal(gather_kv_b_prepare(&b, 1, &a, &p, &err), MLAF_OK);
  assert_int_equal(p.launches[0].grid[0], 3 * k->shares);
  assert_int_equal(p.launches[0].args_size, offsetof(mlaf_gather_kv_b_kernel_args, rope_table)); /* it turns nothing */
}

TESTS(NULL, NULL)
