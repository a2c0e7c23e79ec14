/* `mlaforge layer`: the check finds what is wrong, recorded launches are the layer's, and what the command says. One small layer
 * serves all: one head of MiniCPM3. */
#include "base/numbers.h"
#include "cli/cli_fixture.h"
#include "cli/layer.h"
#include "op/e4m3.h"

static mlaf_err failure;
static rig_env env = {.seed = 1, .err = &failure};
static layer_rig rig;
static const layer_request requests[] = {{30, 2}, {0, 1}, {17, 3}}; /* ragged, one without a past, windows of 2 */
static const layer_tolerance bound = {.worst = 1e-2, .row = 5e-3};

static void open_rig(void) {
  char why[400] = "";
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  o.device = "emu:gfx942";
  o.flags = MLAF_CTX_NO_DB;
  if (rig.env) return;
  if (mlaf_ctx_create(&o, &env.ctx, why, sizeof why)) fail_msg("%s", why);
  const layer_setup s = {.model = mlaf_model_find("minicpm3-4b"), .tp = 40, .page_size = 16, .window = 2, .requests = requests,
                         .batch = 3, .checked = 100};
  if (layer_rig_open(&env, &s, 1, &rig)) fail_msg("%s", failure.text);
}

static int close_rig(void **state) {
  if (rig.env) layer_rig_close(&rig);
  mlaf_ctx_destroy(env.ctx);
  return 0;
}

static void run(void) {
  open_rig();
  if (layer_rig_refill(&rig) || layer_rig_run(&rig)) fail_msg("%s", failure.text);
}

static layer_checked check(mlaf_status right, const char *says) {
  layer_checked x;
  failure = (mlaf_err){.status = MLAF_OK};
  assert_int_equal(layer_check(&rig, &bound, &x), right);
  if (right) assert_has(failure.text, says);
  return x;
}

static void flip(void *at, size_t offset) {
  uint16_t x;
  const mlaf_device_ops *ops = mlaf_ops(rig.dev);
  assert_int_equal(ops->mem_read(rig.dev, &x, (char *)at + 2 * offset, 2, &failure), MLAF_OK);
  x ^= 0x4000; /* the exponent's highest bit */
  assert_int_equal(ops->mem_write(rig.dev, (char *)at + 2 * offset, &x, 2, &failure), MLAF_OK);
}

static void a_layer_passes(void **state) {
  run();
  assert_int_equal(rig.call[0].args.batch, 4); /* the third request's tokens are two parts */
  const layer_checked x = check(MLAF_OK, "");
  assert_true(x.tokens == 6 && x.rows == 6 && x.worst > 1e-4 && x.row_worst > 1e-4);
  assert_int_equal(x.untouched + x.rows, rig.set_pages * 16);
}

static void what_is_wrong_is_found(void **state) {
  run();
  flip(rig.call[0].args.out, 5);
  check(MLAF_E_INCORRECT, "outputs are");
  run();
  flip(rig.call[0].args.out, (size_t)(rig.call[0].args.tokens * rig.form.hidden) - 1); /* the last element */
  check(MLAF_E_INCORRECT, "outputs are");
  run();
  flip(rig.cache, (size_t)(layer_slot(&rig, 2, 19) * rig.row)); /* appended as the second part */
  check(MLAF_E_INCORRECT, "an appended row");
  run();
  flip(rig.cache, (size_t)(layer_slot(&rig, 2, 16) * rig.row + rig.row - 1)); /* was there before */
  check(MLAF_E_INCORRECT, "changed, and no token was appended there");
  run();
  rig.form.scale *= 1.1; /* the reference has another scale: as if m were forgotten */
  check(MLAF_E_INCORRECT, "outputs are");
  rig.form.scale /= 1.1;
}

/* A cache that is not rotated, with the challenge's table: the layer agrees with it, and not with exact angles, though the rows
 * it appends are the same. */
static void turns_on_read(bool prefill) {
  static const layer_request one[] = {{300, 1}}, two[] = {{40, 3}, {0, 2}};
  layer_rig r;
  layer_checked x;
  const layer_setup s = {.model = mlaf_model_find("minicpm3-4b"), .tp = 40, .page_size = 16, .window = 1,
                         .requests = prefill ? two : one, .batch = prefill ? 2 : 1, .prefill = prefill, .checked = 5,
                         .plain = true, .weights = &rig.own,
                         .flags = MLAF_FORM_NO_NORMS | MLAF_FORM_ROPE_ON_READ | MLAF_FORM_BF16_TURN};
  failure = (mlaf_err){.status = MLAF_OK};
  if (layer_rig_open(&env, &s, 1, &r) || layer_rig_run(&r)) fail_msg("%s", failure.text);
  if (layer_check(&r, &bound, &x)) fail_msg("%s", failure.text);
  mlaf_rope rope = s.model->rotation;
  assert_int_equal(mlaf_rope_table(&rope, r.form.table_rows, r.table, SIZE_MAX, NULL, 0), MLAF_OK);
  if (!prefill) { /* few positions: exact angles are nearly those of the chain */
    assert_int_equal(layer_check(&r, &bound, &x), MLAF_E_INCORRECT);
    assert_has(failure.text, "outputs are");
  }
  assert_true(x.rows == (prefill ? 5 : 1) && x.row_worst < bound.row);
  layer_rig_close(&r);
}

static void keys_turn_on_read_by_the_table(void **state) {
  open_rig();
  turns_on_read(false);
  turns_on_read(true); /* rows stay as they are; those gathered turn on the way */
}

/* Mistral-Small-4 around the first steps of its queries' factor: right with it, and found wrong by a reference that knows none.
 * One token and four (these over keys that turn on read), or a prefill over what is cached; before the first step nobody knows
 * the difference. */
static void queries_are_scaled_by_position(void **state) {
  static const layer_request lists[][2] = {{{8191, 1}, {16384, 1}}, {{8190, 4}, {16383, 2}}, {{8191, 1}, {300, 1}}};
  open_rig();
  for (int i = 0; i < 3; i++)
    for (int prefill = 0; prefill < 2; prefill++) {
      layer_rig r;
      layer_checked x;
      const layer_setup s = {.model = mlaf_model_find("mistral-small-4"), .tp = 8, .page_size = 64, .window = 4,
                             .requests = lists[i], .batch = 2, .prefill = prefill, .checked = 8,
                             .flags = i == 1 ? MLAF_FORM_ROPE_ON_READ : 0};
      const layer_tolerance most = {.worst = 1e-2, .row = 5e-3};
      failure = (mlaf_err){.status = MLAF_OK};
      if (layer_rig_open(&env, &s, 1, &r) || layer_rig_run(&r)) fail_msg("%s", failure.text);
      if (layer_check(&r, &most, &x)) fail_msg("%s", failure.text);
      print_message("requests %d, prefill %d: %lld outputs, relative error at most %.2e\n", i, prefill, (long long)x.tokens,
                    x.worst);
      assert_int_equal(x.tokens, lists[i][0].fresh + lists[i][1].fresh);
      r.form.q_beta = 0;
      const mlaf_status without = layer_check(&r, &most, &x);
      if (i < 2) assert_int_equal(without, MLAF_E_INCORRECT);
      else assert_int_equal(without, MLAF_OK);
      layer_rig_close(&r);
    }
}

/* One head of GLM-5 whose indexer takes 24 tokens, with pages of 7, which must lie 928 bytes apart. New tokens are in one
 * call as requests of two each over the same pages, as those of a prompt may be. Found wrong: a reference that pairs other rope
 * columns, an entry of a list that is another's, a key of a token that was there. */
static void an_indexer_passes(void **state) {
  static const layer_request two[] = {{60, 6}, {31, 4}};
  mlaf_model small = *mlaf_model_find("glm-5");
  layer_rig r;
  layer_checked x;
  open_rig();
  small.index_topk = 24;
  const layer_setup s = {.model = &small, .tp = 64, .page_size = 7, .window = 2, .requests = two, .batch = 2, .checked = 10,
                         .indexed = true};
  failure = (mlaf_err){.status = MLAF_OK};
  if (layer_rig_open(&env, &s, 1, &r) || layer_rig_run(&r) || layer_check(&r, &bound, &x)) fail_msg("%s", failure.text);
  assert_true(x.tokens == 10 && x.key_worst > 0.01 && x.list_worst < LAYER_LIST_BOUND && x.worst > 1e-4);
  const int32_t style = r.index.form.rope_style;
  r.index.form.rope_style = MLAF_ROPE_HALVES;
  assert_int_equal(layer_check(&r, &bound, &x), MLAF_E_INCORRECT);
  assert_has(failure.text, "an appended key of the indexer is");
  assert_true(x.list_worst > LAYER_LIST_BOUND);
  r.index.form.rope_style = style;
  const int64_t old = layer_slot(&r, 0, 3) / 7 * 928 + layer_slot(&r, 0, 3) % 7 * 128;
  r.index.keys[old] ^= 1;
  assert_int_equal(layer_check(&r, &bound, &x), MLAF_E_INCORRECT);
  assert_has(failure.text, "of the indexer's cache changed");
  r.index.keys[old] ^= 1;
  mlaf_layer_stage stage = MLAF_LAYER_STAGE_INIT;
  const int32_t row = (int32_t)layer_slot(&r, 1, 0);
  for (size_t i = 0; !stage.name || strcmp(stage.name, "index"); i++)
    assert_int_equal(mlaf_layer_stage_at(r.layer[0], i, &r.call[0].args, &stage), MLAF_OK);
  assert_int_equal(mlaf_ops(r.dev)->mem_write(r.dev, (char *)r.workspace + stage.output_at, &row, sizeof row, &failure), MLAF_OK);
  assert_int_equal(layer_check(&r, &bound, &x), MLAF_E_INCORRECT);
  assert_has(failure.text, "none of its request's in ascending order");
  failure = (mlaf_err){.status = MLAF_OK};
  layer_rig_close(&r);
}

/* Codes times their block's scale are the reference's weights, exactly; there are many codes, and blocks differ. */
static void weights_of_8_bits_are_what_they_mean(void **state) {
  enum { ROWS = 200, COLS = 300, ACROSS = 3 };
  for (int32_t encoding = MLAF_LAYER_E4M3FN; encoding <= MLAF_LAYER_E4M3FNUZ; encoding++) {
    layer_weights w = {.encoding = encoding};
    mlaf_rng rng = {7};
    bool seen[256] = {false};
    double squares = 0;
    int codes = 0;
    assert_true(layer_draw_8(&w, 3, ROWS, COLS, 0.05, &rng));
    for (int i = 0; i < ROWS * COLS; i++) {
      const uint8_t code = w.codes[3][i];
      const double right = mlaf_e4m3_decode(encoding == MLAF_LAYER_E4M3FNUZ, code) *
                           (double)w.scales[3][i / COLS / LAYER_BLOCK * ACROSS + i % COLS / LAYER_BLOCK];
      assert_true(right == (double)mlaf_bf16_decode(w.tensors[3][i]));
      codes += !seen[code];
      seen[code] = true;
      squares += right * right;
    }
    bool differ = false;
    for (int i = 1; i < 2 * ACROSS; i++) differ = differ || w.scales[3][i] != w.scales[3][0];
    assert_true(differ && codes > 64);
    const double rms = sqrt(squares / (ROWS * COLS));
    assert_true(rms > 0.04 && rms < 0.06);
    layer_weights_free(&w);
  }
}

static void a_layer_of_8_bits_passes(void **state) {
  static const layer_request two[] = {{30, 1}, {0, 1}};
  layer_rig r;
  layer_checked x;
  open_rig();
  const layer_setup s = {.model = mlaf_model_find("minicpm3-4b"), .tp = 40, .page_size = 16, .window = 1, .requests = two,
                         .batch = 2, .checked = 2, .encoding = MLAF_LAYER_E4M3FNUZ};
  failure = (mlaf_err){.status = MLAF_OK};
  if (layer_rig_open(&env, &s, 1, &r) || layer_rig_run(&r) || layer_check(&r, &bound, &x)) fail_msg("%s", failure.text);
  assert_true(x.tokens == 2 && x.worst > 1e-4);
  r.weights->scales[5][0] *= 2; /* what the device has no longer is what the reference has */
  assert_int_equal(mlaf_ops(r.dev)->mem_write(r.dev, r.device_scales[0][5], r.weights->scales[5], sizeof(float), &failure),
                   MLAF_OK);
  assert_int_equal(layer_rig_run(&r), MLAF_OK);
  assert_int_equal(layer_check(&r, &bound, &x), MLAF_E_INCORRECT);
  layer_rig_close(&r);
}

/* The same as a prefill, over what is cached. */
static void a_prefill_of_8_bits_passes(void **state) {
  static const layer_request two[] = {{30, 3}, {0, 2}};
  layer_rig r;
  layer_checked x;
  open_rig();
  const layer_setup s = {.model = mlaf_model_find("minicpm3-4b"), .tp = 40, .page_size = 16, .window = 1, .requests = two,
                         .batch = 2, .checked = 5, .encoding = MLAF_LAYER_E4M3FNUZ, .prefill = true};
  failure = (mlaf_err){.status = MLAF_OK};
  if (layer_rig_open(&env, &s, 1, &r) || layer_rig_run(&r) || layer_check(&r, &bound, &x)) fail_msg("%s", failure.text);
  assert_true(x.tokens == 5 && x.worst > 1e-4);
  r.weights->scales[5][0] *= 2;
  assert_int_equal(mlaf_ops(r.dev)->mem_write(r.dev, r.device_scales[0][5], r.weights->scales[5], sizeof(float), &failure),
                   MLAF_OK);
  assert_int_equal(layer_rig_run(&r), MLAF_OK);
  assert_int_equal(layer_check(&r, &bound, &x), MLAF_E_INCORRECT);
  layer_rig_close(&r);
}

/* While launches are recorded nothing runs, and what is recorded is what a layer launches. */
static void launches_are_recorded(void **state) {
  run();
  mlaf_record record = {.n = 0};
  mlaf_timing whole = {.ns = 0}, stage = {.ns = 0};
  const mlaf_device_ops *ops = mlaf_ops(rig.dev);
  const mlaf_layer_args *a = &rig.call[0].args;
  assert_int_equal(ops->mem_fill(rig.dev, a->out, 0x11, 64, &failure), MLAF_OK);
  mlaf_record_begin(rig.dev, &record);
  assert_ptr_not_equal(mlaf_ops(rig.dev), ops);
  assert_int_equal(mlaf_layer_execute(rig.layer[0], a, NULL), MLAF_OK);
  mlaf_record_end(&record);
  assert_ptr_equal(mlaf_ops(rig.dev), ops);
  uint8_t left[64];
  assert_int_equal(ops->mem_read(rig.dev, left, a->out, 64, &failure), MLAF_OK);
  for (int i = 0; i < 64; i++) assert_int_equal(left[i], 0x11);
  assert_true(record.n >= mlaf_layer_stages(rig.layer[0]));
  for (size_t i = 0; i < record.n; i++) /* the copies are launches */
    assert_int_equal(ops->launch(rig.dev, NULL, &record.list[i], &failure), MLAF_OK);
  mlaf_record_free(&record);
  check(MLAF_OK, "");
  assert_int_equal(layer_time(&rig, 0, 0, &whole), MLAF_OK);
  assert_int_equal(layer_time(&rig, 0, 1, &stage), MLAF_OK);
  assert_true(whole.source == MLAF_TIME_MODELLED && stage.ns > 0 && whole.ns > stage.ns);
}

/* The profile's page has every stage, and says that its times are modelled. */
static void a_profile_has_a_page(void **state) {
  char path[] = "/tmp/mlaf-layer-page-XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  run();
  void *text;
  size_t size;
  const mlaf_ceilings ceilings = {.bytes_per_ns = 4200, .flops_per_ns = 708000};
  cli command = {.ctx = env.ctx, .given[O_OUT] = path};
  assert_int_equal(mlaf_cli_layer_profile(&command, &rig, &ceilings), CLI_OK);
  assert_int_equal(mlaf_file_read(path, 1 << 20, &text, &size, NULL), MLAF_OK);
  static const char *const has[] = {">qkv_a<", ">q_b<",              ">decode<", ">o_proj<",
                                    "modelled", "minicpm3-4b, tp 40", "<svg viewBox=", "class=legend", "class=grid", "</html>"};
  for (size_t i = 0; i < sizeof has / sizeof *has; i++) assert_has((char *)text, has[i]);
  assert_null(strstr((char *)text, "class=wide")); /* nothing that scrolls sideways */
  /* Each bar begins where the one before it ends: the orange ones are the whole stages. */
  double end = 0;
  int bars = 0;
  const mlaf_locale before = mlaf_locale_enter(); /* sscanf would look for the host's decimal comma */
  for (const char *s = text; (s = strstr(s, "<rect x=")); s++) {
    double x, y, width;
    char colour[40];
    assert_int_equal(sscanf(s, "<rect x=%lf y=%lf width=%lf height=20 fill=%39s", &x, &y, &width, colour), 4);
    if (!strstr(colour, "--c1")) continue;
    if (bars++) assert_true(fabs(x - end) < 0.02);
    end = x + width;
  }
  mlaf_locale_leave(before);
  assert_true(bars >= 4 && fabs(end - (84 + 560)) < 0.1);
  free(text);
  unlink(path);
}

/* Help of `layer` lists neither what the model says nor options that only single operations have. */
static void help_lists_what_a_layer_takes(void **state) {
  cli_result r = RUN(*state, "layer", "--help");
  assert_exit(r, 0);
  static const char *const has[] = {"--batch N", "--ctx N", "--q-len N", "--page-size N", "--weights T", "--model NAME",
                                    "--tp N"};
  static const char *const lacks[] = {"--heads", "--rank", "--op ", "--append", "--w-rows", "--inputs", "--style", "--residual"};
  for (size_t i = 0; i < sizeof has / sizeof *has; i++) assert_has(r.out, has[i]);
  for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++) assert_null(strstr(r.out, lacks[i]));
  release(&r);
}

static void wrong_options_are_refused(void **state) {
  static const struct {
    const char *args[6], *says;
    int exit;
  } list[] = {{{"layer", "--heads", "16"}, "'--heads' is not an option of `mlaforge layer`", 2},
              {{"layer", "--model", "deepseek-v4-h64"}, "no layer of this form", 2},
              {{"layer", "--tp", "3"}, "--tp 3 does not divide", 2},
              {{"layer", "--ctx", "2", "--q-len", "4"}, "counts the 4 new tokens", 2},
              {{"layer", "--profile", "--forms"}, "exclude each other", 2},
              {{"layer", "--crossover", "--forms"}, "exclude each other", 2},
              {{"layer", "--dry-run"}, "is for --crossover", 2},
              {{"layer", "--out", "x"}, "--profile", 2},
              {{"layer", "--case", "seed-001", "--device", "emu:gfx942"}, "there are seed-000", 2},
              {{"layer", "--case", "seed-004", "--tp", "2"}, "sizes and weights of its own", 2},
              {{"layer", "--case", "seed-004", "--weights", "e4m3fn"}, "sizes and weights of its own", 2},
              {{"layer", "--weights", "e5m2"}, "accepted are e4m3fn and e4m3fnuz", 2},
              {{"layer", "--forms", "--weights", "e4m3fn"}, "leave --weights out", 2}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    cli_result r = finish(*state, start(*state, list[i].args, NULL));
    assert_exit(r, list[i].exit);
    assert_has(r.err, list[i].says);
    release(&r);
  }
}

/* A layer's plans are made as the options say. */
static void nothing_is_compiled_where_that_is_refused(void **state) {
  cli_result r = RUN(*state, "layer", "--model", "minicpm3-4b", "--tp", "40", "--ctx", "33", "--device", "emu:gfx942",
                     "--no-compile", "--cache", ((cli_dir *)*state)->cache);
  assert_exit(r, 3);
  assert_has(r.err, "compiling is not allowed");
  release(&r);
}

/* Problems that a bundle of a layer needs are problems; a case names those of all its rows. */
static void problems_are_listed(void **state) {
  cli_result r = RUN(*state, "layer", "--problems", "--model", "deepseek-v2-lite", "--tp", "4", "--batch", "2", "--ctx", "512");
  assert_exit(r, 0);
  assert_has(r.out, "mla_qkv_a:d2048,l0,r512,p64,bf16,t1\n"); /* no q_lora: kv_a alone */
  assert_has(r.out, "mla_q_b:l2048,h4,n128,p64,bf16,t2+mla_append:r512,paged,pairs,norm\n");
  assert_has(r.out, "mla_o_proj:d2048,h4,v128,bf16,t1\n");
  release(&r);
  r = RUN(*state, "layer", "--problems", "--model", "deepseek-v2-lite", "--tp", "4", "--ctx", "512", "--weights", "e4m3fnuz");
  assert_exit(r, 0);
  static const char *const eight[] = {"mla_qkv_a:d2048,l0,r512,p64,bf16,e4m3fnuz,t1\n",
                                      "mla_q_absorb:h4,n128,p64,r512,bf16,e4m3fnuz,",
                                      "mla_o_proj:d2048,h4,v128,bf16,e4m3fnuz,t1\n"};
  for (size_t i = 0; i < sizeof eight / sizeof *eight; i++) assert_has(r.out, eight[i]);
  release(&r);
  r = RUN(*state, "layer", "--problems", "--case", "seed-002");
  assert_exit(r, 0);
  assert_has(r.out, "mla_prefill:h128,n128,p64,v128,bf16,causal,b32,t1,s8192\n");
  assert_has(r.out, "mla_qkv_a:d5120,l1536,r512,p64,bf16,t32\n");
  assert_has(r.out, "mla_decode:h1,r512,p64,q1,bf16,page32,b4096,s8192\n"); /* acc: each head has keys of its own */
  assert_has(r.out, "mla_q_b:l1536,h128,n128,p64,norm,bf16,t32\n"); /* a chain's appends nothing: turning does */
  char why[300], text[MLAF_PROBLEM_TEXT_MAX];
  for (char *line = strtok(r.out, "\n"); line; line = strtok(NULL, "\n"))
    if (mlaf_operation_check(line, text, sizeof text, why, sizeof why)) fail_msg("%s: %s", line, why);
  release(&r);
  for (int with_case = 0; with_case < 2; with_case++) {
    r = with_case ? RUN(*state, "layer", "--problems", "--json", "--case", "seed-002")
                  : RUN(*state, "layer", "--problems", "--json");
    assert_exit(r, 0);
    assert_true(each_json(r.out, NULL, NULL) >= 6);
    assert_has(r.out, "\"schema\":\"mlaforge.problem\",\"version\":1,\"problem\":\"mla_qkv_a:");
    release(&r);
  }
}

/* Other forms give what the layer gives: one request of whole pages, two of unlike lengths, three alike. */
static void forms_pass(void **state) {
  static const layer_request whole[] = {{303, 1}}, unlike[] = {{40, 3}, {9, 1}},
                             alike[] = {{31, 1}, {31, 1}, {31, 1}};
  static const struct {
    const layer_request *requests;
    int32_t batch;
    mlaf_form form;
  } cases[] = {{whole, 1, MLAF_FORM_CC}, {whole, 1, MLAF_FORM_CD},  {unlike, 2, MLAF_FORM_CC},
               {whole, 1, MLAF_FORM_ACC}, {alike, 3, MLAF_FORM_ACC}};
  open_rig(); /* the command */
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    layer_rig r;
    layer_checked x;
    const layer_setup s = {.model = mlaf_model_find("minicpm3-4b"), .tp = 40, .page_size = 16, .window = 3, .in_order = true,
                           .requests = cases[i].requests, .batch = cases[i].batch, .checked = 3, .plain = true,
                           .weights = &rig.own};
    failure = (mlaf_err){.status = MLAF_OK};
    if (layer_rig_open(&env, &s, 1, &r) || layer_chain(&r, cases[i].form, &bound, &x, NULL)) fail_msg("%s", failure.text);
    assert_true(x.rows > 0);
    layer_rig_close(&r);
  }
}

/* A chain that cannot be run says why. */
static void a_chain_that_cannot_be_says_why(void **state) {
  layer_checked x;
  run();
  failure = (mlaf_err){.status = MLAF_OK};
  assert_int_equal(layer_chain(&rig, MLAF_FORM_CC, &bound, &x, NULL), MLAF_E_ARG);
  assert_has(failure.text, "pages must lie in order");
  rig.setup.in_order = true;
  assert_int_equal(layer_chain(&rig, MLAF_FORM_CD, &bound, &x, NULL), MLAF_E_ARG);
  assert_has(failure.text, "one new token");
  failure = (mlaf_err){.status = MLAF_OK};
  assert_int_equal(layer_chain(&rig, MLAF_FORM_ACC, &bound, &x, NULL), MLAF_E_ARG);
  assert_has(failure.text, "one new token");
  rig.setup.in_order = false;
}

/* The search finds where a lead begins, whether it rises slowly or jumps, and asks for few numbers of tokens. */
typedef struct rising {
  double at;
  bool jumps;
  int asked;
} rising;

static mlaf_status rising_lead(void *user, int32_t n, double *out) {
  rising *x = user;
  *out = x->jumps ? (n < x->at ? -100 : 1) : n - x->at;
  return ++x->asked < 99 ? MLAF_OK : MLAF_E_CANCELLED;
}

static void a_crossover_is_found(void **state) {
  static const int32_t first[] = {1, 3, 200, 431, 4096, 9999};
  int32_t got;
  for (double at = 0.5; at < 4096; at = at * 1.37 + 1)
    for (size_t i = 0; i < 2 * sizeof first / sizeof *first; i++) {
      rising x = {.at = at, .jumps = i % 2};
      assert_int_equal(layer_cross(first[i / 2], 4096, rising_lead, &x, &got), MLAF_OK);
      assert_true(x.jumps ? got >= at && got <= at * (1 + 1.0 / 16) + 2 : fabs(got - at) <= 1);
      assert_true(x.asked < 32);
    }
  rising never = {.at = 5000}, broken = {.at = 50, .asked = 98};
  assert_int_equal(layer_cross(100, 4096, rising_lead, &never, &got), MLAF_OK);
  assert_int_equal(got, 0);
  assert_int_equal(layer_cross(100, 4096, rising_lead, &broken, &got), MLAF_E_CANCELLED);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, cli_dir_setup, cli_dir_teardown)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_layer_passes),         cmocka_unit_test(what_is_wrong_is_found),
      cmocka_unit_test(queries_are_scaled_by_position),
      cmocka_unit_test(keys_turn_on_read_by_the_table),
      cmocka_unit_test(weights_of_8_bits_are_what_they_mean), cmocka_unit_test(an_indexer_passes),
      cmocka_unit_test(a_layer_of_8_bits_passes),
      cmocka_unit_test(a_prefill_of_8_bits_passes),
      cmocka_unit_test(launches_are_recorded),  cmocka_unit_test(a_profile_has_a_page),
      T(help_lists_what_a_layer_takes),
      T(nothing_is_compiled_where_that_is_refused), T(wrong_options_are_refused),
      T(problems_are_listed),                   cmocka_unit_test(forms_pass),
      cmocka_unit_test(a_chain_that_cannot_be_says_why), cmocka_unit_test(a_crossover_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, close_rig);
}
