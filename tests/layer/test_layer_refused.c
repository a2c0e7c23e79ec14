/* Refusals of a layer, which say what and why; the problems that it lists. */
#include "layer/rig.h"

/* --- descriptions and weights --- */

static void create_says(rig *r, const model *m, mlaf_status want, const char *part) {
  mlaf_layer *layer = (mlaf_layer *)(void *)m;
  says(r, mlaf_layer_create(r->ctx, &m->desc, m->list, m->n, &layer), want, part);
  assert_ptr_equal(layer, m); /* untouched */
}

TEST_OF(wrong_descriptions, rig *r) {
  model m;
  make_model(r, &m, 96, MLAF_LAYER_PAIRS, 0);
  const struct {
    size_t at;
    int32_t value;
    mlaf_status status;
    const char *part;
  } list[] = {
      {offsetof(mlaf_layer_desc, struct_size), 16, MLAF_E_ARG, "MLAF_LAYER_DESC_INIT"},
      {offsetof(mlaf_layer_desc, flags), 1 << 30, MLAF_E_ARG, "flags"},
      {offsetof(mlaf_layer_desc, hidden), 130, MLAF_E_PROBLEM, "hidden size is 130"},
      {offsetof(mlaf_layer_desc, heads), 0, MLAF_E_ARG, "heads is 0"},
      {offsetof(mlaf_layer_desc, rope), 16, MLAF_E_PROBLEM, "rope dim is 16"},
      {offsetof(mlaf_layer_desc, v), 48, MLAF_E_PROBLEM, "value dim is 48"},
      {offsetof(mlaf_layer_desc, dtype), 7, MLAF_E_ARG, "dtype is 7"},
      {offsetof(mlaf_layer_desc, rope_style), 3, MLAF_E_ARG, "rope_style is 3"},
      {offsetof(mlaf_layer_desc, tp_size), 3, MLAF_E_ARG, "no multiple of tp_size, 3"},
      {offsetof(mlaf_layer_desc, tp_rank), 1, MLAF_E_ARG, "tp_rank is 1, must be 0..0"},
      {offsetof(mlaf_layer_desc, batch_max), 0, MLAF_E_ARG, "batch_max is 0"},
      {offsetof(mlaf_layer_desc, q_lens), 0, MLAF_E_ARG, "q_lens is 0"},
      {offsetof(mlaf_layer_desc, q_lens), 1 << 30, MLAF_E_PROBLEM, "q_len is 31"},
      {offsetof(mlaf_layer_desc, ctx_min), 65, MLAF_E_ARG, "ctx_min is 65, must be 1..64"},
      {offsetof(mlaf_layer_desc, q_scale_original), -1, MLAF_E_ARG, "q_scale_original is -1, must be 0.."},
      {offsetof(mlaf_layer_desc, table_rows), 0, MLAF_E_ARG, "table_rows is 0"},
      {offsetof(mlaf_layer_desc, index_heads), 48, MLAF_E_ARG, "index_heads is 48, must be 32 or 64, or 0"},
      {offsetof(mlaf_layer_desc, index_heads), 32, MLAF_E_ARG, "index_topk is 0, must be 1 or more"},
      {offsetof(mlaf_layer_desc, flags), MLAF_LAYER_INDEX_HADAMARD, MLAF_E_ARG, "index_heads is 0, must be 32 or 64, or 0"},
      {offsetof(mlaf_layer_desc, index_style), 2, MLAF_E_ARG, "index_style is 2, must be 0..1"},
      {offsetof(mlaf_layer_desc, table_row_stride), 18, MLAF_E_ARG, "table_row_stride is 18"},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    model x = m;
    memcpy((char *)&x.desc + list[i].at, &list[i].value, sizeof list[i].value);
    create_says(r, &x, list[i].status, list[i].part);
  }
  model x = m;
  x.desc.cos = NULL;
  create_says(r, &x, MLAF_E_ARG, "cos is");
  x = m;
  x.desc.index_topk = 1, x.desc.q_lens = 1, x.desc.batch_max = 65536, x.desc.hidden = 130; /* as many lists as there may be */
  create_says(r, &x, MLAF_E_PROBLEM, "hidden size is 130");
  x.desc.q_lens = 2, x.desc.batch_max = 32769;
  create_says(r, &x, MLAF_E_ARG, "more than 65536 lists");
  x = m;
  x.desc.flags |= MLAF_LAYER_ROPE_ON_READ;
  x.desc.sin = x.desc.cos;
  create_says(r, &x, MLAF_E_ARG, "with MLAF_LAYER_ROPE_ON_READ sin must be NULL");
  x.desc.sin = NULL;
  x.desc.flags |= MLAF_LAYER_TABLE_16;
  create_says(r, &x, MLAF_E_ARG, "a dense table in fp32");
  x = m;
  x.desc.eps = -1;
  create_says(r, &x, MLAF_E_ARG, "eps is -1");
  static const float betas[] = {-0.1f, NAN, 2e6f, 0.1f}; /* the last without q_scale_original */
  static const char *const said[] = {"q_scale_beta is -0.1,", "q_scale_beta is nan,", "q_scale_beta is 2e+06,",
                                     "q_scale_original is 0: with q_scale_beta 0.1"};
  for (size_t i = 0; i < sizeof betas / sizeof *betas; i++) {
    x = m;
    x.desc.q_scale_beta = betas[i], x.desc.q_scale_original = betas[i] == 0.1f ? 0 : 8192;
    create_says(r, &x, MLAF_E_ARG, said[i]);
  }
  x = m;
  x.desc.scale = 1e-40f;
  create_says(r, &x, MLAF_E_ARG, "scale is 9.99995e-41, must be at least 1.17549e-38");
  x = m;
  x.desc.scale = -0.1f; /* with prefills and without */
  create_says(r, &x, MLAF_E_ARG, "scale is -0.1, must be positive, or 0 for 1/sqrt(nope + rope)");
  x.desc.prefill_tokens = 16;
  create_says(r, &x, MLAF_E_ARG, "scale is -0.1, must be positive, or 0 for 1/sqrt(nope + rope)");
  assert_int_equal(mlaf_layer_create(NULL, &m.desc, m.list, m.n, NULL), MLAF_E_ARG);
  says(r, mlaf_layer_create(r->ctx, &m.desc, m.list, m.n, NULL), MLAF_E_ARG, "a pointer is NULL");
  free_model(&m);
}

TEST_OF(wrong_weights, rig *r) {
  model m, x;
  make_model(r, &m, 96, MLAF_LAYER_PAIRS, 0);
  static const char *const missing[] = {"q_a_proj.weight is missing",        "q_a_layernorm.weight is missing",
                                        "q_b_proj.weight is missing",        "kv_a_proj_with_mqa.weight is missing",
                                        "kv_a_layernorm.weight is missing",  "kv_b_proj.weight is missing",
                                        "o_proj.weight is missing"};
  for (size_t i = 0; i < m.n; i++) {
    x = m;
    x.list[i].name = "model.layers.3.mlp.up_proj.weight"; /* none of a layer's, and passed over */
    create_says(r, &x, MLAF_E_ARG, missing[i]);
    x = m;
    x.list[i].rows += 1;
    create_says(r, &x, MLAF_E_ARG, m.list[i].name);
    x = m;
    x.list[i].cols -= 1;
    create_says(r, &x, MLAF_E_ARG, ", must be [");
    x = m;
    x.list[i].data = (const char *)m.list[i].data + 2;
    create_says(r, &x, MLAF_E_ARG, "must be 16-byte aligned");
  }
  x = m;
  x.list[2].row_stride = 100;
  create_says(r, &x, MLAF_E_ARG, "has the row stride 100");
  x.list[2].row_stride = INT64_C(1) << 62;
  create_says(r, &x, MLAF_E_ARG, "has the row stride 4611686018427387904");
  x = m;
  x.list[1] = x.list[0];
  create_says(r, &x, MLAF_E_ARG, "are the same weight");
  x = m;
  x.list[1].name = "self_attn.q_a_proj.weight_scale_inv";
  create_says(r, &x, MLAF_E_ARG, "q_a_proj.weight_scale_inv: the layer's weights have 16 bits");
  x = m;
  x.list[1].name = "self_attn.q_a_proj.bias";
  create_says(r, &x, MLAF_E_ARG, "q_a_proj.bias: only weights without bias are served");
  x = m;
  x.desc.weights = MLAF_LAYER_E4M3FN;
  create_says(r, &x, MLAF_E_ARG, "_proj.weight_scale_inv is missing");
  x.list[x.n++] = (mlaf_layer_weight){"q_a_proj.weight_scale_inv", m.device[W_Q_A], 2, 1, 0};
  create_says(r, &x, MLAF_E_ARG, "q_a_proj.weight_scale_inv is [2, 1], must be [1, 1]");
  x = m;
  x.desc.weights = 3;
  create_says(r, &x, MLAF_E_ARG, "weights is 3, must be 0..2");
  x = m;
  x.list[1].name = "fused_qkv_a_proj_with_mqa.weight";
  create_says(r, &x, MLAF_E_ARG, "is given beside");
  x = m;
  x.list[1].name = NULL;
  create_says(r, &x, MLAF_E_ARG, "weight 1 has no name");
  /* The joined tensor by its name serves as the two do. */
  x = m;
  x.list[0] = (mlaf_layer_weight){"fused_qkv_a_proj_with_mqa.weight", m.device[W_Q_A], 96 + 96, 128, 0};
  x.list[3].name = "none";
  mlaf_layer *layer = make_layer(r, &x);
  assert_int_equal(mlaf_layer_stages(layer), 6);
  mlaf_layer_destroy(layer);
  free_model(&m);
}

/* --- calls --- */

TEST_OF(wrong_calls, rig *r) {
  model m;
  call c;
  make_model(r, &m, 96, MLAF_LAYER_PAIRS, 0);
  m.desc.batch_max = 2;
  mlaf_layer *layer = make_layer(r, &m);
  begin(r, &m, layer, &(step){.batch = 2, .q = 1, .past = {4, 40}}, &c);
#define WRONG(field, value, part)                                         \
  do {                                                                    \
    mlaf_layer_args a = c.a;                                              \
    a.field = value;                                                      \
    says(r, mlaf_layer_execute(layer, &a, NULL), MLAF_E_ARG, part);       \
  } while (0)
  WRONG(struct_size, 24, "MLAF_LAYER_ARGS_INIT");
  WRONG(flags, 2, "flags is 0x2");
  WRONG(batch, 3, "batch is 3, must be 0..2");
  WRONG(batch, -1, "batch is -1");
  WRONG(q_len, 2, "q_len is 2, must be 1..1");
  WRONG(tokens, 3, "tokens is 3, must be 0..2");
  WRONG(tokens, 1, "then qo_indptr is wanted");
  WRONG(ctx, -1, "ctx is -1");
  WRONG(hidden, NULL, "hidden is NULL");
  WRONG(hidden, (char *)c.a.hidden + 2, "must be 16-byte aligned");
  WRONG(hidden_token_stride, 100, "hidden_token_stride is 100");
  WRONG(out, NULL, "out is NULL");
  WRONG(out_token_stride, 132, "out_token_stride is 132");
  WRONG(residual, c.a.hidden, "this call has none");
  WRONG(positions, NULL, "positions is NULL");
  WRONG(slots, NULL, "slots is NULL");
  WRONG(cache, NULL, "cache is NULL");
  WRONG(cache_kpe, c.a.cache, "cache_kpe is");
  WRONG(cache_row_stride, 88, "cache_row_stride is 88");
  WRONG(num_pages, -1, "num_pages is -1");
  WRONG(num_pages, INT32_MAX, "less than 2^32 rows");
  WRONG(page_rows, 8, "page_rows is 8");
  WRONG(seq_lens, NULL, "seq_lens is NULL");
  WRONG(block_table_width, 0, "block_table_width is 0");
  WRONG(block_table_stride, 1, "block_table_stride is 1");
  WRONG(block_table, NULL, "seq_lens is");
  WRONG(kv_indptr, c.a.seq_lens, "kv_indptr is");
  WRONG(workspace, NULL, "workspace has");
  WRONG(workspace, (char *)c.a.workspace + 16, "256-byte aligned");
  WRONG(workspace_size, c.a.workspace_size - 1, "this call needs");
#undef WRONG
  mlaf_layer_args a = c.a;
  a.workspace = NULL, a.workspace_size = 0, a.flags = MLAF_LAYER_SAME_TABLES; /* other calls use the stream's in between */
  says(r, mlaf_layer_execute(layer, &a, NULL), MLAF_E_ARG, "flags has MLAF_LAYER_SAME_TABLES, and the call no workspace");
  says(r, mlaf_layer_execute(layer, NULL, NULL), MLAF_E_ARG, "mlaf_layer_args is NULL");
  says(r, mlaf_layer_execute_stage(layer, 6, &c.a, NULL), MLAF_E_ARG, "stage 6 of a layer of 6");
  says(r, mlaf_layer_execute_stage(layer, 99, &c.a, NULL), MLAF_E_ARG, "stage 99 of a layer of 6");
  assert_int_equal(mlaf_layer_execute(NULL, &c.a, NULL), MLAF_E_ARG);
  fetch(r, &m, &c); /* nothing was launched */
  assert_memory_equal(c.cache, c.before, sizeof *c.cache * (size_t)(c.cache_rows * 96));
  assert_int_equal(c.y[0][0], 0xffff);
  end_all(&c, layer, &m);
}

TEST_OF(no_tokens_and_workspaces, rig *r) {
  model m;
  make_model(r, &m, 96, MLAF_LAYER_PAIRS, 0);
  m.desc.batch_max = 2;
  m.desc.q_lens = 1u << 0 | 1u << 3;
  mlaf_layer *layer = make_layer(r, &m);
  mlaf_layer_args a = MLAF_LAYER_ARGS_INIT; /* no tokens: nothing is looked at */
  assert_int_equal(mlaf_layer_execute(layer, &a, NULL), MLAF_OK);
  assert_int_equal(mlaf_layer_workspace_size(layer, &a), 0);
  const size_t most = mlaf_layer_workspace_size(layer, NULL);
  int32_t entry = 0;
  for (a.batch = 1; a.batch <= 2; a.batch++)
    for (a.q_len = 1; a.q_len <= 4; a.q_len++) {
      a.block_table = &entry;
      a.block_table_width = WIDTH;
      const size_t size = mlaf_layer_workspace_size(layer, &a);
      const size_t rows = sizeof(uint16_t) * (size_t)(a.batch * a.q_len) * (192 + 4 * (96 + 96 + 64 + 32));
      assert_true(size >= rows && size <= most);
    }
  a.q_len = 5;
  assert_true(mlaf_layer_workspace_size(layer, &a) == SIZE_MAX);
  mlaf_layer_destroy(layer);
  mlaf_layer_destroy(NULL);
  free_model(&m);
}

/* --- problems --- */

/* Counts the problems that a layer of this description wants, and tells whether `one` is among them. */
static size_t listed(const mlaf_layer_desc *d, const char *one, bool *there) {
  char text[MLAF_PROBLEM_TEXT_MAX];
  size_t n = 0;
  for (*there = false;; n++) {
    assert_int_equal(mlaf_layer_problem_at(d, 1, n, text, sizeof text, NULL, 0), MLAF_OK);
    if (!*text) return n;
    *there |= !strcmp(text, one);
  }
}

/* Up to 128 tokens rows are appended beside q_b, with more in a launch of their own. */
TEST(problems_of_appending) {
  static const struct {
    const char *text;
    uint32_t flags;
    int32_t batch_max;
    bool there;
  } list[] = {
      {"mla_q_b:l1536,h16,n128,p64,norm,bf16,t128+mla_append:r512,paged,pairs,norm", 0, 200, true},
      {"mla_q_b:l1536,h16,n128,p64,norm,bf16,t256+mla_append:r512,paged,pairs,norm", 0, 200, false},
      {"mla_q_b:l1536,h16,n128,p64,norm,bf16,t128", 0, 200, false},
      {"mla_q_b:l1536,h16,n128,p64,norm,bf16,t256", 0, 200, true},
      {"mla_append:h0,r512,p64,bf16,paged,pairs,norm,t256", 0, 200, true},
      {"mla_append:h0,r512,p64,bf16,paged,pairs,norm,t128", 0, 128, false},
      {"mla_q_b:l1536,h16,n128,p64,bf16,t16+mla_append:r512,split,unrotated", MLAF_LAYER_SPLIT_CACHE | MLAF_LAYER_NO_NORMS |
       MLAF_LAYER_ROPE_ON_READ, 16, true},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;
    bool there;
    d.tp_size = 8, d.flags = list[i].flags, d.batch_max = list[i].batch_max;
    listed(&d, list[i].text, &there);
    if (there != list[i].there) fail_msg("%s of a batch of %d: %d", list[i].text, list[i].batch_max, there);
  }
}

TEST(problems_are_listed) {
  mlaf_layer_desc d = MLAF_LAYER_DESC_INIT; /* DeepSeek-V3 */
  char text[MLAF_PROBLEM_TEXT_MAX], again[MLAF_PROBLEM_TEXT_MAX], why[256];
  size_t n = 0;
  bool whole = false, decode = false, apart = false;
  d.tp_size = 8, d.batch_max = 5, d.q_lens = 3, d.ctx_max = 4096, d.ctx_min = 1000;
  for (;; n++) {
    assert_int_equal(mlaf_layer_problem_at(&d, 1, n, text, sizeof text, why, sizeof why), MLAF_OK);
    if (!*text) break;
    assert_int_equal(mlaf_operation_check(text, again, sizeof again, why, sizeof why), MLAF_OK);
    assert_string_equal(text, again);
    whole |= !strcmp(text, "mla_qkv_a:d7168,l1536,r512,p64,bf16,t16");
    decode |= !strcmp(text, "mla_decode:h16,r512,p64,q2,causal,bf16,page64,b8,s1024");
  }
  /* 10 tokens: 1, 2, 4, 8, 16 of 5 stages; two q_lens, batches of 1, 2, 4, 8, contexts of 4096, 2048, 1024 */
  assert_int_equal(n, 5 * 5 + 2 * 4 * 3);
  assert_true(whole && decode);
  for (size_t i = 0; i < n + 5; i++) {
    assert_int_equal(mlaf_layer_problem_at(&d, 0, i, text, sizeof text, why, sizeof why), MLAF_OK);
    apart |= !strcmp(text, "mla_qkv_a:d7168,l0,r512,p64,bf16,t16");
  }
  assert_true(apart && *text);
  d.q_rank = 0; /* q_proj's columns are the hidden states' */
  bool q_proj = false;
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(mlaf_layer_problem_at(&d, 1, i, text, sizeof text, why, sizeof why), MLAF_OK);
    q_proj |= !strcmp(text, "mla_q_b:l7168,h16,n128,p64,bf16,t8+mla_append:r512,paged,pairs,norm");
  }
  assert_true(q_proj);
  d.heads = 100;
  assert_int_equal(mlaf_layer_problem_at(&d, 1, 0, text, sizeof text, why, sizeof why), MLAF_E_ARG);
  assert_non_null(strstr(why, "heads is 100"));
}

TESTS(rig_open, rig_close)
