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
  if (layer->copies) memset(layer->by_alternative, true, sizeof layer->by_alternative); /* whatever estimates say */
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

TEST(many_tokens) {
  static uint16_t x[T][HIDDEN];
  static outcome wide, want, kept, plain;
  rig *r = *state;
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

TESTS(rig_open, rig_close)
