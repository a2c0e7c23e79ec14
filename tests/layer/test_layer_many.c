/* Many tokens through a layer with matrices of 8 bits that become ones of 16 first: the same bits as a layer of those 16. */
#include "layer/inside.h"
#include "layer/rig.h"

enum { B = 3, T = 140, WORDS = 256, HIDDEN = 128 };
static const int32_t past[B] = {0}, fresh[B] = {60, 50, 30};

static uint16_t *bits_of(const double *x, size_t n) {
  uint16_t *bits = malloc(n * sizeof *bits);
  assert_non_null(bits);
  for (size_t i = 0; i < n; i++) bits[i] = ref_bf16(x[i]);
  return bits;
}

/* The same matrices in 16 bits, rounded once. */
static model rounded(rig *r, const model *m) {
  model other = *m;
  const size_t q_a = (size_t)(m->d.q_rank * m->d.hidden), kv_a = (size_t)((m->d.rank + m->d.rope) * m->d.hidden);
  char *const joined = put(r, NULL, 2 * (q_a + kv_a));
  static const char *const names[WEIGHTS] = {[W_Q_A] = "q_a_proj.weight", [W_Q_B] = "q_b_proj.weight",
                                             [W_KV_A] = "kv_a_proj_with_mqa.weight", [W_KV_B] = "kv_b_proj.weight",
                                             [W_O] = "o_proj.weight"};
  other.desc.weights = MLAF_LAYER_WEIGHTS_16;
  for (size_t i = 0; i < other.n; i++) {
    mlaf_layer_weight *w = &other.list[i];
    if (strstr(w->name, "scale_inv")) w->name = "none";
    for (int k = 0; k < WEIGHTS; k++) {
      const size_t name = strlen(w->name), end = names[k] ? strlen(names[k]) : 0;
      if (!end || name < end || strcmp(w->name + name - end, names[k])) continue;
      const size_t n = (size_t)(w->rows * w->cols);
      uint16_t *bits = bits_of(m->wide[k], n);
      char *to = k == W_Q_A ? joined : k == W_KV_A ? joined + 2 * q_a : put(r, NULL, 2 * n);
      must(r, mlaf_mem_write(r->ctx, to, bits, 2 * n), "weights");
      w->data = to;
      free(bits);
    }
  }
  return other;
}

typedef struct outcome {
  uint16_t y[T][HIDDEN], *cache;
} outcome;

/* choice NULL: by default. */
static void run(rig *r, const model *m, const layer_choice *choice, const uint16_t (*x)[HIDDEN], outcome *out) {
  static call c;
  int64_t positions[T], slots[T];
  int32_t schedule[WORDS];
  mlaf_layer *layer = choice ? make_layer_as(r, m, *choice) : make_layer(r, m);
  if (layer->copies.memory) memset(layer->by_alternative, true, sizeof layer->by_alternative); /* whatever estimates say */
  r->seed = 11; /* each gets the same cache */
  begin(r, m, layer, &(step){.batch = B, .q = 1, .past = {59, 49, 29}}, &c);
  for (int b = 0, t = 0; b < B; b++)
    for (int i = 0; i < fresh[b]; i++, t++) positions[t] = i, slots[t] = (int64_t)c.pages[b][i / PAGE] * PAGE + i % PAGE;
  mlaf_layer_args a = c.a;
  const size_t words = mlaf_layer_prefill_words(layer, B, fresh, past);
  assert_in_range(words, 1, WORDS);
  must(r, mlaf_layer_prefill_schedule(layer, B, fresh, past, schedule, words), "schedule");
  a.schedule = schedule, a.schedule_device = put(r, schedule, words * sizeof *schedule);
  a.positions = put(r, positions, sizeof positions), a.slots = put(r, slots, sizeof slots);
  a.seq_lens = NULL;
  a.hidden = put(r, x, sizeof out->y);
  a.out = put(r, NULL, sizeof out->y);
  must(r, mlaf_mem_fill(r->ctx, a.out, 0xff, sizeof out->y), "fill");
  a.workspace_size = mlaf_layer_workspace_size(layer, &a);
  a.workspace = put(r, NULL, a.workspace_size);
  must(r, mlaf_mem_fill(r->ctx, a.workspace, 0xff, a.workspace_size), "fill");
  must(r, mlaf_layer_execute(layer, &a, NULL), "mlaf_layer_execute");
  must(r, mlaf_sync(r->ctx, NULL), "sync");
  get(r, out->y, a.out, sizeof out->y);
  out->cache = malloc(cache_bytes(m, &c));
  assert_non_null(out->cache);
  get(r, out->cache, a.cache, cache_bytes(m, &c));
  for (int t = 0; t < T; t++) /* nothing is left NaN, and slots were written */
    for (int i = 0; i < HIDDEN; i++) assert_true(isfinite(ref_wide(out->y[t][i])));
  end(&c);
  mlaf_layer_destroy(layer);
}

TEST_OF(many_tokens, rig *r) {
  static uint16_t x[T][HIDDEN];
  static outcome wide, want, kept, plain;
  model m;
  make_model(r, &m, 128, MLAF_LAYER_PAIRS, 0);
  m.desc.prefill_tokens = T;
  narrow_all(r, &m);
  const model other = rounded(r, &m);
  for (int t = 0; t < T; t++)
    for (int i = 0; i < HIDDEN; i++) x[t][i] = ref_bf16(draw(r));
  const layer_choice dequant = 1 << ALT_DEQUANT_WEIGHTS;
  run(r, &m, &dequant, x, &wide);
  run(r, &other, NULL, x, &want);
  assert_memory_equal(wide.y, want.y, sizeof wide.y);
  assert_memory_equal(wide.cache, want.cache, sizeof(uint16_t) * PAGES * PAGE * (size_t)(m.d.rank + m.d.rope));
  m.desc.flags = MLAF_LAYER_KEEP_16;
  run(r, &m, NULL, x, &kept);
  assert_memory_equal(kept.y, want.y, sizeof kept.y);
  m.desc.flags = MLAF_LAYER_DEQUANT_NEVER;
  run(r, &m, NULL, x, &plain);
  assert_memory_not_equal(plain.y, wide.y, sizeof wide.y); /* weights were rounded */
  double off = 0, all = 0;
  for (int t = 0; t < T; t++)
    for (int i = 0; i < HIDDEN; i++) {
      const double a = ref_wide(plain.y[t][i]), b = ref_wide(wide.y[t][i]);
      off += (a - b) * (a - b), all += a * a;
    }
  assert_true(sqrt(off / all) < 1e-2);
  free(wide.cache), free(want.cache), free(kept.cache), free(plain.cache);
  free_model(&m);
}

/* --- one matrix alone --- */

/* A decode of n requests, up to ONES, over one token and a new one: outputs, and what qkv_a made. */
enum { ONES = 130 };
static void run_some(rig *r, model *m, const mlaf_layer *layer, int n, uint16_t (*y)[HIDDEN], void *c, size_t c_bytes) {
  static int64_t positions[ONES], slots[ONES];
  static int32_t indptr[ONES + 1], pages[ONES], last[ONES];
  static uint16_t x[ONES][HIDDEN];
  r->seed = 17;
  for (int b = 0; b < ONES; b++) {
    for (int i = 0; i < HIDDEN; i++) x[b][i] = ref_bf16(draw(r));
    indptr[b + 1] = b + 1, pages[b] = b, last[b] = 2, slots[b] = (int64_t)b * PAGE + 1, positions[b] = 1;
  }
  mlaf_layer_args a = MLAF_LAYER_ARGS_INIT;
  a.batch = n, a.q_len = 1, a.ctx = 2, a.num_pages = ONES;
  a.hidden = put(r, x, sizeof x), a.out = put(r, NULL, sizeof x);
  a.positions = put(r, positions, sizeof positions), a.slots = put(r, slots, sizeof slots);
  const size_t cached = ONES * PAGE * (size_t)(m->d.rank + m->d.rope);
  uint16_t *rows = draw_bits(r, cached, 0, 1);
  a.cache = put(r, rows, sizeof *rows * cached);
  free(rows);
  a.qo_indptr = a.kv_indptr = put(r, indptr, sizeof indptr);
  a.kv_indices = put(r, pages, sizeof pages), a.kv_indices_size = ONES;
  a.kv_last_page_lens = put(r, last, sizeof last);
  a.workspace_size = mlaf_layer_workspace_size(layer, &a);
  assert_true(a.workspace_size <= mlaf_layer_workspace_size(layer, NULL));
  a.workspace = put(r, NULL, a.workspace_size);
  must(r, mlaf_mem_fill(r->ctx, a.workspace, 0xff, a.workspace_size), "fill");
  must(r, mlaf_layer_execute(layer, &a, NULL), "mlaf_layer_execute");
  must(r, mlaf_sync(r->ctx, NULL), "sync");
  get(r, y, a.out, sizeof *y * (size_t)n);
  mlaf_layer_stage s = MLAF_LAYER_STAGE_INIT;
  must(r, mlaf_layer_stage_at(layer, 0, &a, &s), "stage");
  assert_string_equal(s.name, "qkv_a");
  assert_int_equal(s.output_bytes, c_bytes);
  get(r, c, (char *)a.workspace + s.output_at, c_bytes);
}

static void run_ones(rig *r, model *m, const mlaf_layer *layer, uint16_t (*y)[HIDDEN], void *c, size_t c_bytes) {
  run_some(r, m, layer, ONES, y, c, c_bytes);
}

/* The layer as it is where tuning/layer-stages.tsv says that it keeps these copies, from so many tokens on. */
static void keep(rig *r, mlaf_layer *layer, layer_alternative alt, int64_t from) {
  const mlaf_plan_opts opts = MLAF_PLAN_OPTS_INIT;
  layer_plans_clear(&layer->plans);
  layer->plans = (layer_plans){.prefill = NULL};
  layer_keep_clear(layer);
  layer->shape.choices.by_default[alt].from = from, layer->shape.choices.by_default[alt].to = INT64_MAX;
  layer_keep(r->ctx, &opts, layer);
  layer->shape.d.plan = &opts;
  must(r, layer_plans_make(r->ctx, &layer->shape, &layer->plans), "plans");
  layer->shape.d.plan = NULL;
  assert_true(layer->shape.keeps >> alt & 1 && layer->kept[alt].memory);
}

static double apart(const uint16_t (*x)[HIDDEN], const uint16_t (*y)[HIDDEN]) {
  double off = 0, all = 0;
  for (int t = 0; t < ONES; t++)
    for (int i = 0; i < HIDDEN; i++) {
      const double a = ref_wide(x[t][i]), b = ref_wide(y[t][i]);
      assert_true(isfinite(a) && isfinite(b));
      off += (a - b) * (a - b), all += a * a;
    }
  return sqrt(off / all);
}

/* The products of hidden states by a copy have the bits of a layer of such weights, and others stay with their 8 bits until they
 * have copies, too. With all of them the layer's outputs have those bits. */
TEST_OF(keeps_matrices, rig *r) {
  static uint16_t wide_y[ONES][HIDDEN], plain_y[ONES][HIDDEN], y[2][ONES][HIDDEN];
  model m;
  make_model(r, &m, 128, MLAF_LAYER_PAIRS, 0);
  m.desc.batch_max = ONES;
  narrow_all(r, &m);
  model other = rounded(r, &m);
  const size_t bytes = sizeof(uint16_t) * ONES * (size_t)(m.d.q_rank + m.d.rank + m.d.rope);
  char *const want = malloc(bytes), *const got = malloc(bytes);
  assert_true(want && got);
  mlaf_layer *wide = make_layer(r, &other), *layer = make_layer_as(r, &m, 0);
  run_ones(r, &other, wide, wide_y, want, bytes);
  run_ones(r, &m, layer, plain_y, got, bytes);
  assert_memory_not_equal(got, want, bytes);
  memcpy(y[1], plain_y, sizeof plain_y);
  for (int alt = ALT_KEPT_A; alt < LAYER_ALTERNATIVES; alt++) {
    keep(r, layer, (layer_alternative)alt, 129);
    run_ones(r, &m, layer, y[0], got, bytes);
    assert_memory_equal(got, want, bytes);
    assert_memory_not_equal(y[0], y[1], sizeof y[0]); /* one matrix more was rounded */
    if (alt < LAYER_ALTERNATIVES - 1) assert_memory_not_equal(y[0], wide_y, sizeof y[0]);
    else assert_memory_equal(y[0], wide_y, sizeof y[0]);
    assert_true(apart(y[0], plain_y) < 1e-2);
    memcpy(y[1], y[0], sizeof y[0]);
  }
  mlaf_layer_destroy(layer), mlaf_layer_destroy(wide);
  free(want), free(got);
  free_model(&m);
}

/* A copy may begin to serve within a class of tokens, whose plans are the same but for that product's. */
TEST_OF(keeps_within_a_class, rig *r) {
  static uint16_t few[ONES][HIDDEN], few_kept[ONES][HIDDEN], all[ONES][HIDDEN], all_kept[ONES][HIDDEN];
  model m;
  make_model(r, &m, 128, MLAF_LAYER_PAIRS, 0);
  m.desc.batch_max = ONES;
  narrow_all(r, &m);
  const size_t row = sizeof(uint16_t) * (size_t)(m.d.q_rank + m.d.rank + m.d.rope), bytes = row * ONES;
  char *const c = malloc(bytes);
  assert_non_null(c);
  mlaf_layer *layer = make_layer_as(r, &m, 0);
  run_some(r, &m, layer, ONES - 1, few, c, row * (ONES - 1));
  run_some(r, &m, layer, ONES, all, c, bytes);
  keep(r, layer, ALT_KEPT_A, ONES);
  run_some(r, &m, layer, ONES - 1, few_kept, c, row * (ONES - 1));
  run_some(r, &m, layer, ONES, all_kept, c, bytes);
  assert_memory_equal(few, few_kept, sizeof few);
  assert_memory_not_equal(all, all_kept, sizeof all);
  mlaf_layer_destroy(layer);
  free(c);
  free_model(&m);
}

/* Every launch of every number of tokens has a plan, wherever copies begin to serve. */
TEST_OF(plans_around_copies, rig *r) {
  enum { MOST = 300 };
  static const int64_t from[] = {129, 200, 225, 256, 257, 299};
  model m;
  make_model(r, &m, 128, MLAF_LAYER_PAIRS, 0);
  m.desc.batch_max = MOST;
  narrow_all(r, &m);
  mlaf_layer *layer = make_layer_as(r, &m, 0);
  for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
    keep(r, layer, ALT_KEPT_O, from[i]);
    for (int64_t t = 1; t <= MOST; t++) {
      const layer_sizes z = {.tokens = t, .batch = (int32_t)t, .q_len = 1, .ctx = 1, .form = FORM_ABSORBED};
      bool by_16 = false;
      for (int k = 0; k < layer->shape.n[FORM_ABSORBED]; k++) {
        layer_kind parts[LAYER_PARTS];
        const int n = layer_parts_of(&layer->shape, layer->shape.kinds[FORM_ABSORBED][k], t, parts);
        for (int p = 0; p < n; p++) {
          if (!layer_plan_of(&layer->shape, &layer->plans, parts[p], &z))
            fail_msg("from %d, %d tokens: %s has no plan", (int)from[i], (int)t, layer_stage_name(layer_stage_of(parts[p])));
          by_16 = by_16 || parts[p] >= STAGE_PRODUCT_16;
        }
      }
      assert_int_equal(by_16, t >= from[i]);
    }
  }
  mlaf_layer_destroy(layer);
  free_model(&m);
}

/* Who declines the copy gets none. */
TEST_OF(keeps_nothing, rig *r) {
  const uint32_t flags[] = {MLAF_LAYER_KEEP_NEVER, MLAF_LAYER_DEQUANT_NEVER, MLAF_LAYER_KEEP_16};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    layer_shape s;
    mlaf_err err;
    mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;
    d.weights = MLAF_LAYER_E4M3FN, d.flags = flags[i], d.batch_max = 300;
    if (layer_shape_take(&d, 1, &s, &err)) fail_msg("%s", err.text);
    assert_false(layer_alternative_exists(&s, ALT_KEPT_A));
    layer_choices_by_default(&s, "sm_90a");
    for (int alt = ALT_KEPT_A; alt < LAYER_ALTERNATIVES; alt++) assert_int_equal(s.choices.by_default[alt].to, 0);
    d.flags = 0;
    if (layer_shape_take(&d, 1, &s, &err)) fail_msg("%s", err.text);
    layer_choices_by_default(&s, "sm_90a");
    assert_int_equal(s.choices.by_default[ALT_KEPT_A].from, 129);
    assert_int_equal(s.choices.by_default[ALT_KEPT_O].from, 129);
    assert_int_equal(s.choices.by_default[ALT_KEPT_Q_B].to, 0); /* of 128 heads it is not worth its memory */
    layer_choices_by_default(&s, "gfx942");
    assert_int_equal(s.choices.by_default[ALT_KEPT_A].to, 0);
  }
  mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;
  mlaf_layer *layer = NULL;
  d.weights = MLAF_LAYER_E4M3FN, d.flags = MLAF_LAYER_KEEP_16 | MLAF_LAYER_KEEP_NEVER;
  assert_int_equal(mlaf_layer_create(r->ctx, &d, NULL, 0, &layer), MLAF_E_ARG);
  assert_non_null(strstr(said(r->ctx), "MLAF_LAYER_KEEP_NEVER"));
}

/* The weights of `from`, byte for byte, where those of `to` lie. */
static void overwrite(rig *r, const model *to, const model *from) {
  static char bytes[2 << 16];
  for (size_t i = 0; i < to->n; i++) {
    const mlaf_layer_weight *w = &to->list[i];
    const bool scale = strstr(w->name, "scale_inv"), matrix = !scale && w->rows > 1;
    const size_t size = (size_t)(w->rows * w->cols) * (scale ? 4 : matrix ? 1 : 2);
    assert_true(size <= sizeof bytes && !strcmp(w->name, from->list[i].name));
    get(r, bytes, from->list[i].data, size);
    must(r, mlaf_mem_write(r->ctx, (void *)(uintptr_t)w->data, bytes, size), "weights");
  }
}

/* Weights that were changed in place: what was copied is the old ones' until the layer is told, then the new ones'. */
TEST_OF(copies_are_made_anew, rig *r) {
  static uint16_t want[ONES][HIDDEN], old[ONES][HIDDEN], stale[ONES][HIDDEN], y[ONES][HIDDEN];
  for (int by_itself = 0; by_itself < 2; by_itself++) {
    model m, other;
    make_model(r, &m, 128, MLAF_LAYER_PAIRS, 0);
    narrow_all(r, &m);
    make_model(r, &other, 128, MLAF_LAYER_PAIRS, 0);
    narrow_all(r, &other);
    m.desc.batch_max = other.desc.batch_max = ONES;
    m.desc.flags |= by_itself ? 0 : MLAF_LAYER_KEEP_16, other.desc.flags = m.desc.flags;
    const size_t bytes = sizeof(uint16_t) * ONES * (size_t)(m.d.q_rank + m.d.rank + m.d.rope);
    char *const c = malloc(bytes);
    assert_non_null(c);
    mlaf_layer *layer[2];
    for (int i = 0; i < 2; i++) {
      const model *of = i ? &other : &m;
      layer[i] = by_itself ? make_layer_as(r, of, 0) : make_layer(r, of);
      assert_int_equal(mlaf_layer_copies_size(layer[i]) != 0, !by_itself);
      if (by_itself)
        for (int alt = ALT_KEPT_A; alt < LAYER_ALTERNATIVES; alt++) keep(r, layer[i], (layer_alternative)alt, 1);
      else memset(layer[i]->by_alternative, true, sizeof layer[i]->by_alternative); /* whatever estimates say */
      assert_true(mlaf_layer_copies_size(layer[i]) >= 2 * (size_t)(m.d.q_rank + m.d.rank + m.d.rope) * HIDDEN);
    }
    run_ones(r, &m, layer[0], old, c, bytes);
    run_ones(r, &other, layer[1], want, c, bytes);
    overwrite(r, &m, &other);
    run_ones(r, &m, layer[0], stale, c, bytes);
    assert_memory_not_equal(stale, want, sizeof want);
    must(r, mlaf_layer_weights_changed(layer[0], NULL), "mlaf_layer_weights_changed");
    run_ones(r, &m, layer[0], y, c, bytes);
    assert_memory_equal(y, want, sizeof want);
    assert_memory_not_equal(old, want, sizeof want);
    mlaf_layer_destroy(layer[0]), mlaf_layer_destroy(layer[1]);
    m.desc.flags = MLAF_LAYER_KEEP_NEVER;
    mlaf_layer *none = make_layer(r, &m);
    assert_int_equal(mlaf_layer_copies_size(none), 0);
    must(r, mlaf_layer_weights_changed(none, NULL), "mlaf_layer_weights_changed");
    mlaf_layer_destroy(none);
    free(c);
    free_model(&m), free_model(&other);
  }
}

/* Copies that data says are taken are taken, whatever estimates say. */
TEST_OF(copies_by_data, rig *r) {
  model m;
  make_model(r, &m, 128, MLAF_LAYER_PAIRS, 0);
  narrow_all(r, &m);
  m.desc.flags = MLAF_LAYER_KEEP_16;
  mlaf_layer *layer = make_layer(r, &m);
  bool *const by = layer->by_alternative[FORM_ABSORBED];
  for (int i = 0; i < 2; i++) {
    layer->shape.choices.by_default[ALT_COPIES_16].from = i ? 1 : 2, layer->shape.choices.by_default[ALT_COPIES_16].margin = 0;
    layer_alternative_choose(layer);
    assert_int_equal(by[0], i);
    assert_true(by[1]);
  }
  layer->shape.choices.by_default[ALT_COPIES_16].margin = 1e9; /* asked: never */
  layer_alternative_choose(layer);
  assert_false(by[0] || by[1]);
  mlaf_layer_destroy(layer);
  free_model(&m);
}

TESTS(rig_open, rig_close)
