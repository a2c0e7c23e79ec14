/* Prefill of a layer: new tokens of requests of different lengths, with and without a cached past, in one chunk and in several,
 * against double precision and against the same tokens one by one. */
#include "layer/rig.h"

enum { B = 3, T = 8, CACHED = 33, WORDS = 256 };
static const int32_t past[B] = {0, 21, 12}, fresh[B] = {3, 4, 1};

typedef struct prefill {
  call c; /* its cache, pages and hidden states; the call itself is a step of one token */
  mlaf_layer_args a;
  int32_t schedule[WORDS];
  uint16_t y[T][COLS];
} prefill;

static void open_prefill(rig *r, const model *m, const mlaf_layer *layer, bool lists, prefill *p) {
  int64_t positions[T], slots[T];
  int32_t qo[B + 1] = {0}, pages[B + 1] = {0}, indices[B * WIDTH];
  begin(r, m, layer, &(step){.batch = B, .q = 1, .past = {0, 21, 12}, .page_gap = lists ? PAGE : 0}, &p->c);
  for (int b = 0; b < B; b++) {
    qo[b + 1] = qo[b] + fresh[b];
    pages[b + 1] = pages[b] + (past[b] + fresh[b] + PAGE - 1) / PAGE;
    memcpy(indices + pages[b], p->c.pages[b], sizeof *indices * (size_t)(pages[b + 1] - pages[b]));
    for (int i = 0; i < fresh[b]; i++) {
      const int at = past[b] + i;
      positions[qo[b] + i] = at;
      slots[qo[b] + i] = (int64_t)p->c.pages[b][at / PAGE] * PAGE + at % PAGE;
    }
  }
  const size_t words = mlaf_layer_prefill_words(layer, B, fresh, past);
  assert_in_range(words, 1, WORDS);
  must(r, mlaf_layer_prefill_schedule(layer, B, fresh, past, p->schedule, words), "mlaf_layer_prefill_schedule");
  p->a = p->c.a;
  p->a.schedule = p->schedule, p->a.schedule_device = put(r, p->schedule, words * sizeof *p->schedule);
  p->a.positions = put(r, positions, sizeof positions), p->a.slots = put(r, slots, sizeof slots);
  p->a.seq_lens = NULL;
  if (lists) {
    p->a.block_table = NULL;
    p->a.kv_indptr = put(r, pages, sizeof pages), p->a.kv_indices = put(r, indices, sizeof indices);
  }
  p->a.workspace_size = mlaf_layer_workspace_size(layer, &p->a);
  assert_true(p->a.workspace_size <= mlaf_layer_workspace_size(layer, NULL));
  p->a.workspace = put(r, NULL, p->a.workspace_size);
  must(r, mlaf_mem_fill(r->ctx, p->a.workspace, 0xff, p->a.workspace_size), "fill");
}

static void read_prefill(rig *r, const model *m, prefill *p) {
  for (int t = 0; t < T; t++)
    get(r, p->y[t], (char *)p->a.out + sizeof(uint16_t) * (size_t)(t * m->d.hidden), sizeof(uint16_t) * (size_t)m->d.hidden);
  get(r, p->c.cache, p->a.cache, cache_bytes(m, &p->c));
}

/* Hidden states of a prefill are rows of the call's. */
static void check_tokens(const model *m, const prefill *p) {
  const ref_weights w = reference_of(m);
  const int row = m->d.rank + m->d.rope;
  for (int b = 0, t = 0; b < B; b++) {
    double *cache = past_of(m, &p->c, b);
    for (int i = 0; i < fresh[b]; i++, t++) {
      double x[COLS], y[COLS];
      const int at = past[b] + i;
      for (int k = 0; k < m->d.hidden; k++) x[k] = ref_wide(p->c.x[t][k]);
      ref_layer(&m->d, &w, m->table[at], m->table[at] + m->d.rope / 2, at, cache, x, y);
      for (int k = 0; k < m->d.hidden && m->desc.flags & MLAF_LAYER_RESIDUAL; k++) y[k] += x[k];
      const double error = ref_error(p->y[t], y, (size_t)m->d.hidden);
      const double stored = ref_error(p->c.cache + row_of(&p->c, b, at) * row, cache + at * row, (size_t)row);
      if (!(error <= bound_of(m) && stored <= 5e-3))
        fail_msg("request %d, new token %d: relative error %.2e, of its row in the cache %.2e", b, i, error, stored);
    }
    free(cache);
  }
}

/* Without the factor the reference is far off where it is not 1: the last token of the request with 21 cached ones. */
static void check_factor(const model *m, const prefill *p) {
  const ref_weights w = reference_of(m);
  double *cache = past_of(m, &p->c, 1), x[COLS], y[COLS];
  model without = *m;
  without.d.q_beta = 0;
  for (int i = 0, t = fresh[0]; i < fresh[1]; i++, t++) {
    const int at = past[1] + i;
    for (int k = 0; k < m->d.hidden; k++) x[k] = ref_wide(p->c.x[t][k]);
    ref_layer(&without.d, &w, m->table[at], m->table[at] + m->d.rope / 2, at, cache, x, y);
    for (int k = 0; k < m->d.hidden && m->desc.flags & MLAF_LAYER_RESIDUAL; k++) y[k] += x[k];
    const double error = ref_error(p->y[t], y, (size_t)m->d.hidden);
    if (error < 2 * bound_of(m)) fail_msg("new token %d: %.2e off without the factor", i, error);
  }
  free(cache);
}

/* The last token of each request alone, over the cache that the prefill left, gives its row of the prefill. */
static void check_step(rig *r, const model *m, const mlaf_layer *layer, prefill *p) {
  const int last[B] = {2, 6, 7};
  int64_t positions[B], slots[B];
  int32_t lengths[B];
  uint16_t x[B][128];
  for (int b = 0; b < B; b++) {
    const int at = past[b] + fresh[b] - 1;
    positions[b] = at, lengths[b] = at + 1;
    slots[b] = (int64_t)p->c.pages[b][at / PAGE] * PAGE + at % PAGE;
    memcpy(x[b], p->c.x[last[b]], sizeof x[b]);
  }
  mlaf_layer_args *a = &p->c.a;
  must(r, mlaf_mem_write(r->ctx, (void *)a->positions, positions, sizeof positions), "positions");
  must(r, mlaf_mem_write(r->ctx, (void *)a->slots, slots, sizeof slots), "slots");
  must(r, mlaf_mem_write(r->ctx, (void *)a->seq_lens, lengths, sizeof lengths), "lengths");
  must(r, mlaf_mem_write(r->ctx, (void *)a->hidden, x, sizeof x), "hidden");
  execute(r, m, layer, &p->c);
  for (int b = 0; b < B; b++) {
    double *want = widen(p->y[last[b]], (size_t)m->d.hidden);
    const double error = ref_error(p->c.y[b], want, (size_t)m->d.hidden);
    if (!(error <= bound_of(m))) fail_msg("step of request %d: %.2e off its row of the prefill", b, error);
    free(want);
  }
}

TEST_OF(prefill_is_its_tokens, rig *r) {
  static const uint32_t flags[] = {0, MLAF_LAYER_RESIDUAL, MLAF_LAYER_SPLIT_CACHE};
  static const int32_t chunk[] = {0, PAGE, 7}, chunks[] = {1, 3, 5}; /* 0: 16384 */
  static const int32_t original[] = {0, 0, 0, 4, 6, 2}; /* positions of a query's factor; 0: queries are not scaled */
  static prefill p;
  size_t most = SIZE_MAX;
  for (int k = 0; k < 6; k++) {
    const int i = k % 3;
    const bool lists = i == 1;
    if (!i) most = SIZE_MAX;
    model m;
    make_model(r, &m, 96, lists ? MLAF_LAYER_UNROTATED : MLAF_LAYER_PAIRS, flags[i]);
    m.desc.prefill_tokens = T, m.desc.prefill_chunk = chunk[i];
    if (original[k]) scale_queries(&m, 0.25, original[k]);
    mlaf_layer *layer = make_layer(r, &m);
    open_prefill(r, &m, layer, lists, &p);
    assert_int_equal(mlaf_chunked_prefill_chunks(p.schedule), chunks[i]);
    assert_true(p.a.workspace_size < most); /* bounded by the chunk */
    most = p.a.workspace_size;
    must(r, mlaf_layer_execute(layer, &p.a, NULL), "prefill");
    read_prefill(r, &m, &p);
    check_tokens(&m, &p);
    if (original[k]) check_factor(&m, &p);
    if (!i) check_step(r, &m, layer, &p);
    end(&p.c);
    mlaf_layer_destroy(layer);
    free_model(&m);
  }
}

/* The same with matrices of 8 bits: heads of kv_b begin within blocks of scales here. Where kv_b has 16 bits that mean the same,
 * every bit of the output is the same. */
TEST_OF(a_kv_b_of_8_bits, rig *r) {
  static const int32_t chunk[] = {0, 7};
  static prefill p;
  model m;
  static uint16_t y[T][COLS], kv_b[1 << 15];
  make_model(r, &m, 128, MLAF_LAYER_PAIRS, 0);
  narrow_all(r, &m);
  model other = m; /* of 16 bits */
  const int n = m.d.heads * (m.d.nope + m.d.v) * m.d.rank;
  for (int i = 0; i < n; i++) kv_b[i] = ref_bf16(m.wide[W_KV_B][i]);
  other.desc.flags |= MLAF_LAYER_KV_B_16;
  for (size_t i = 0; i < m.n; i++) {
    if (!strcmp(m.list[i].name, "kv_b_proj.weight")) other.list[i].data = put(r, kv_b, sizeof *kv_b * (size_t)n);
    if (!strcmp(m.list[i].name, "kv_b_proj.weight_scale_inv")) other.list[i].name = "none";
  }
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++) {
      model *of = k ? &other : &m;
      of->desc.prefill_tokens = T, of->desc.prefill_chunk = chunk[i];
      mlaf_layer *layer = make_layer(r, of);
      const uint64_t seed = r->seed;
      open_prefill(r, of, layer, i == 1, &p);
      r->seed = k ? r->seed : seed; /* both get the same data */
      must(r, mlaf_layer_execute(layer, &p.a, NULL), "prefill");
      read_prefill(r, of, &p);
      check_tokens(of, &p);
      if (k) assert_memory_equal(y, p.y, sizeof y);
      memcpy(y, p.y, sizeof y);
      if (!i) check_step(r, of, layer, &p);
      end(&p.c);
      mlaf_layer_destroy(layer);
    }
  free_model(&m);
}

/* Outputs of two ranks, each with a part of the tensor that the whole is, add up to the only one's. */
TEST_OF(a_kv_b_of_8_bits_on_two_ranks, rig *r) {
  static prefill p;
  static double sum[T][COLS];
  model m;
  make_model(r, &m, 128, MLAF_LAYER_PAIRS, 0);
  narrow_all(r, &m);
  m.desc.prefill_tokens = T, m.desc.prefill_chunk = PAGE;
  m.desc.tp_size = 2;
  const uint64_t seed = r->seed;
  for (m.desc.tp_rank = 0; m.desc.tp_rank < 2; m.desc.tp_rank++) {
    mlaf_layer *layer = make_layer(r, &m);
    r->seed = seed;
    open_prefill(r, &m, layer, false, &p);
    must(r, mlaf_layer_execute(layer, &p.a, NULL), "prefill");
    read_prefill(r, &m, &p);
    for (int t = 0; t < T; t++)
      for (int i = 0; i < m.d.hidden; i++) sum[t][i] += ref_wide(p.y[t][i]);
    if (!m.desc.tp_rank) end(&p.c);
    mlaf_layer_destroy(layer);
  }
  m.desc.tp_size = 1, m.desc.tp_rank = 0;
  for (int t = 0; t < T; t++)
    for (int i = 0; i < m.d.hidden; i++) p.y[t][i] = ref_bf16(sum[t][i]);
  check_tokens(&m, &p);
  end(&p.c);
  free_model(&m);
}

/* It is written once a call, by a stage of its own, which comes first: what the stage leaves is what the scales make of bytes. */
TEST_OF(kv_b_becomes_one_of_16_bits, rig *r) {
  static const char *const names[] = {"dequant", "qkv_a", "q_b", "append", "gather", "prefill", "o_proj"};
  static prefill p;
  model m;
  make_model(r, &m, 128, MLAF_LAYER_PAIRS, 0);
  narrow_all(r, &m);
  m.desc.prefill_tokens = T, m.desc.prefill_chunk = 7;
  mlaf_layer *layer = make_layer(r, &m);
  open_prefill(r, &m, layer, false, &p);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    mlaf_layer_stage s = MLAF_LAYER_STAGE_INIT;
    must(r, mlaf_layer_stage_at(layer, i, &p.a, &s), "mlaf_layer_stage_at");
    assert_string_equal(s.name, names[i]);
    assert_true(s.bytes > 0 && s.output_at + s.output_bytes <= p.a.workspace_size);
    must(r, mlaf_layer_execute_stage(layer, i, &p.a, NULL), s.name);
    if (i) continue;
    const size_t n = (size_t)(m.d.heads * (m.d.nope + m.d.v) * m.d.rank);
    static uint16_t kv_b[1 << 15];
    mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
    assert_int_equal(mlaf_plan_query(s.plan, &info), MLAF_OK);
    assert_string_equal(info.problem, "mla_dequant:c64,bf16,e4m3fnuz,t384");
    assert_int_equal(s.output_bytes, sizeof *kv_b * n);
    get(r, kv_b, (char *)p.a.workspace + s.output_at, s.output_bytes);
    for (size_t k = 0; k < n; k++) assert_int_equal(kv_b[k], ref_bf16(m.wide[W_KV_B][k]));
  }
  read_prefill(r, &m, &p);
  check_tokens(&m, &p);
  mlaf_layer_stage s = MLAF_LAYER_STAGE_INIT;
  assert_int_equal(mlaf_layer_stages(layer), 6); /* decode reads it as it lies */
  for (size_t i = 0; i < 6; i++) {
    must(r, mlaf_layer_stage_at(layer, i, &p.c.a, &s), "mlaf_layer_stage_at");
    assert_string_not_equal(s.name, "dequant");
  }
  end(&p.c);
  mlaf_layer_destroy(layer);
  free_model(&m);
}

TEST_OF(stages_and_refusals, rig *r) {
  static const char *const names[] = {"qkv_a", "q_b", "append", "gather", "prefill", "o_proj"};
  static prefill p;
  model m;
  make_model(r, &m, 96, MLAF_LAYER_PAIRS, 0);
  m.desc.prefill_tokens = T;
  mlaf_layer *layer = make_layer(r, &m), *none = NULL;
  open_prefill(r, &m, layer, false, &p);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    mlaf_layer_stage s = MLAF_LAYER_STAGE_INIT;
    must(r, mlaf_layer_stage_at(layer, i, &p.a, &s), "mlaf_layer_stage_at");
    assert_string_equal(s.name, names[i]);
    assert_true(s.bytes > 0 && s.flops > 0 && s.output_at + s.output_bytes <= p.a.workspace_size);
    must(r, mlaf_layer_execute_stage(layer, i, &p.a, NULL), s.name);
  }
  read_prefill(r, &m, &p);
  check_tokens(&m, &p); /* stages one by one are the call */
  mlaf_layer_stage s = MLAF_LAYER_STAGE_INIT;
  says_arg(r, mlaf_layer_stage_at(layer, 6, &p.a, &s), "stage 6 of a layer of 6");
  says_arg(r, mlaf_layer_execute_stage(layer, 6, &p.a, NULL), "stage 6 of a layer of 6");
#define WRONG(field, value, part)                                   \
  do {                                                              \
    mlaf_layer_args a = p.a;                                        \
    a.field = value;                                                \
    says_arg(r, mlaf_layer_execute(layer, &a, NULL), part);             \
  } while (0)
  static const int32_t many[B] = {3, 5, 1}, minus[B] = {3, -1, 1};
  int32_t other[WORDS] = {0};
  WRONG(schedule, other, "schedule is none");
  must(r, mlaf_layer_prefill_schedule(layer, B, many, past, other, WORDS), "mlaf_layer_prefill_schedule");
  WRONG(schedule, other, "has 9 new tokens, must be 0..8");
  WRONG(tokens, T + 1, "tokens is 9 and batch 3, must be 0 or as in the schedule, 8 and 3");
  WRONG(batch, 1, "batch 1, must be 0 or as in the schedule");
  WRONG(schedule_device, NULL, "schedule_device is NULL");
  WRONG(block_table, NULL, "kv_indptr is NULL");
  WRONG(workspace_size, p.a.workspace_size - 1, "this call needs");
  says_arg(r, mlaf_layer_prefill_schedule(layer, B, minus, past, other, WORDS), "0 and up");
#undef WRONG
  mlaf_layer_args a = p.a;
  must(r, mlaf_layer_prefill_schedule(layer, 0, NULL, NULL, other, WORDS), "no requests");
  a.schedule = other, a.batch = 0;
  assert_int_equal(mlaf_layer_execute(layer, &a, NULL), MLAF_OK);
  model x = m;
  x.desc.prefill_chunk = -1;
  says_arg(r, mlaf_layer_create(r->ctx, &x.desc, x.list, x.n, &none), "prefill_chunk is -1, must be 1..");
  end(&p.c);
  mlaf_layer_destroy(layer);
  free_model(&m);
}

TESTS(rig_open, rig_close)
