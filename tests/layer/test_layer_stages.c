/* The launches of a layer by default, for models, ranks, weights, flags, targets and numbers of tokens: exactly those of
 * tests/layer/stages.tsv, which was recorded. MLAF_STAGES_OUT=FILE writes what is found instead. */
#include "cmocka_all.h"
#include "layer/inside.h"

enum { FEW_MOST = 300, MANY_MOST = 4096 };

static const struct {
  const char *model;
  int tp;
} layers[] = {{"deepseek-v3", 1}, {"deepseek-v3", 8}, {"kimi-k3", 1}, {"deepseek-v2-lite", 1}, {"mistral-large-3", 1}};
static const char *const targets[] = {"sm_90a", "gfx942"};
static const struct {
  const char *name;
  uint32_t flags;
  bool invariant, bytes; /* bytes: it says something of weights of 8 bits alone */
  bool index;            /* an indexer, in models that may have one */
} forms[] = {{"-", 0, false, false, false},
             {"rope_on_read", MLAF_LAYER_ROPE_ON_READ, false, false, false},
             {"no_norms", MLAF_LAYER_NO_NORMS, false, false, false},
             {"kv_b_16", MLAF_LAYER_KV_B_16, false, true, false},
             {"rows_anywhere", MLAF_LAYER_ROWS_ANYWHERE, false, false, false},
             {"keep_16", MLAF_LAYER_KEEP_16, false, true, false},
             {"dequant_never", MLAF_LAYER_DEQUANT_NEVER, false, true, false},
             {"invariant", 0, true, false, false},
             {"indexer", MLAF_LAYER_INDEX_16, false, false, true}};

static const char *name_of(layer_kind kind) {
  static const char *const names[LAYER_STAGES] = {
      [STAGE_QKV_A] = "qkv_a", [STAGE_Q_A] = "q_a", [STAGE_KV_A] = "kv_a", [STAGE_Q_B] = "q_b", [STAGE_Q_B_APPEND] = "q_b+append",
      [STAGE_Q_B_APPEND_ABSORB] = "q_b+append+q_absorb", [STAGE_Q_SCALE] = "q_scale",
      [STAGE_DEQUANT_KV_B] = "dequant", [STAGE_APPEND] = "append",
      [STAGE_APPEND_ROPE_Q] = "append_rope_q", [STAGE_Q_ABSORB] = "q_absorb", [STAGE_DECODE] = "decode", [STAGE_V_OUT] = "v_out",
      [STAGE_GATHER] = "gather", [STAGE_PREFILL] = "prefill", [STAGE_O_PROJ] = "o_proj", [STAGE_INDEX_K] = "index_k",
      [STAGE_INDEX_W] = "index_w", [STAGE_INDEX_Q] = "index_q", [STAGE_INDEX_APPEND] = "index_append", [STAGE_INDEX] = "index"};
  return names[kind];
}

typedef struct launches {
  char text[400];
} launches;

/* "stage: launch launch; ...", "+values" behind a decode whose plan may go on. */
static launches launches_of(const layer_shape *s, const char *target, layer_form form, int64_t tokens) {
  const bool values = !strcmp(target, "sm_90a") && layer_may_fuse_v_out(s, tokens); /* no other target has such a kernel */
  launches out = {""};
  size_t n = 0;
  for (int i = 0; i < s->n[form]; i++) {
    layer_kind parts[LAYER_PARTS];
    const int count = layer_parts_of(s, s->kinds[form][i], tokens, parts);
    for (int k = 0; k < count; k++) {
      const bool dequant = layer_is_dequant(parts[k]) && parts[k] != STAGE_DEQUANT_KV_B, by = parts[k] >= STAGE_PRODUCT_16;
      n += (size_t)snprintf(out.text + n, sizeof out.text - n, "%s%s%s%s%s", i && !k ? " " : k ? "," : "",
                            dequant ? "dequant_" : "", name_of(layer_stage_of(parts[k])), by ? "_16" : "",
                            parts[k] == STAGE_DECODE && values ? "+values" : "");
      assert_true(n < sizeof out.text);
    }
  }
  return out;
}

/* Numbers of tokens with the same launches, on one line each. */
static void write_form(FILE *f, const layer_shape *s, const char *target, layer_form form, int64_t most) {
  if (!s->n[form]) return;
  launches now = launches_of(s, target, form, 1);
  int64_t from = 1;
  for (int64_t t = 2; t <= most + 1; t++) {
    const launches next = t <= most ? launches_of(s, target, form, t) : (launches){""};
    if (!strcmp(now.text, next.text)) continue;
    fprintf(f, "  %s\t%lld-%lld\t%s\n", form == FORM_ABSORBED ? "few" : "many", (long long)from, (long long)t - 1, now.text);
    now = next, from = t;
  }
}

/* Layers with the same launches: their names, a line each, and the lines of launches. */
static struct {
  char *names, *lines;
} groups[128];
static size_t n_groups;

static void write_shape(const char *what, layer_shape *s, const char *target) {
  char *lines = NULL, *names;
  size_t size = 0, i = 0;
  FILE *f = open_memstream(&lines, &size);
  assert_non_null(f);
  layer_choices_by_default(s, target);
  for (int alt = ALT_KEPT_A; alt < LAYER_ALTERNATIVES; alt++) /* as where copies could be made */
    s->keeps |= (uint16_t)((s->choices.by_default[alt].to > 0) << alt);
  if (layer_shape_may_absorb(s)) layer_shape_set_absorb(s, true);
  write_form(f, s, target, FORM_ABSORBED, FEW_MOST);
  write_form(f, s, target, FORM_PREFILL, MANY_MOST);
  assert_int_equal(fclose(f), 0);
  while (i < n_groups && strcmp(groups[i].lines, lines)) i++;
  if (i == n_groups) assert_true(n_groups++ < sizeof groups / sizeof *groups);
  assert_true(asprintf(&names, "%s%s\n", groups[i].names ? groups[i].names : "", what) > 0);
  free(groups[i].names), free(groups[i].lines);
  groups[i].names = names, groups[i].lines = lines;
}

static void write_layer(const mlaf_model *m, int tp, int weights, size_t form, const char *target) {
  static const char *const encodings[] = {"16", "e4m3fn", "e4m3fnuz"};
  mlaf_plan_opts opts = MLAF_PLAN_OPTS_INIT;
  mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;
  mlaf_err err = {MLAF_OK, ""};
  layer_shape s, other;
  char what[200];
  d.hidden = m->hidden, d.heads = m->heads, d.q_rank = m->q_lora_rank, d.rank = m->rank, d.rope = m->rope, d.nope = m->qk_nope;
  d.v = m->v_head, d.tp_size = tp, d.batch_max = FEW_MOST, d.ctx_max = 4096, d.prefill_tokens = MANY_MOST;
  d.weights = weights, d.flags = forms[form].flags;
  if (forms[form].index) d.index_heads = 64, d.index_topk = 2048, d.index_style = MLAF_LAYER_HALVES, d.prefill_tokens = 0;
  d.q_scale_beta = (float)m->q_scale_beta, d.q_scale_original = m->q_scale_original;
  opts.flags |= forms[form].invariant ? MLAF_PLAN_BATCH_INVARIANT : 0;
  d.plan = &opts;
  if (layer_shape_take(&d, true, &s, &err)) fail_msg("%s", err.text);
  snprintf(what, sizeof what, "%s\t%d\t%s\t%s\t%s", m->name, tp, encodings[weights], forms[form].name, target);
  const bool two = layer_has_alternative(&s);
  write_shape(what, &s, target);
  if (!two) return;
  if (layer_alternative_shape(&s, &other, &err)) fail_msg("%s", err.text);
  snprintf(what, sizeof what, "%s\t%d\t%s\t%s, the alternative\t%s", m->name, tp, encodings[weights], forms[form].name, target);
  write_shape(what, &other, target);
}

static void write_all(FILE *f) {
  for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
      const mlaf_model *m = mlaf_model_find(layers[i].model);
      assert_non_null(m);
      for (size_t form = 0; form < sizeof forms / sizeof *forms; form++)
        for (int weights = forms[form].bytes; weights < 2 && (!forms[form].index || m->q_lora_rank); weights++)
          write_layer(m, layers[i].tp, weights, form, targets[t]);
    }
  fprintf(f, "# Launches of layers by default: layers (model, tp, weights, flags, target), then what they launch (form, tokens,\n"
             "# launches): stages, a blank behind each; a stage's launches, a comma behind each.\n");
  for (size_t i = 0; i < n_groups; i++) {
    fprintf(f, "%s%s", groups[i].names, groups[i].lines);
    free(groups[i].names), free(groups[i].lines);
  }
}

TEST(as_recorded) {
  const char *out = getenv("MLAF_STAGES_OUT"), *root = getenv("MLAF_SOURCE_DIR");
  char path[512], *text = NULL;
  size_t size = 0;
  void *want;
  size_t want_size;
  FILE *f = open_memstream(&text, &size);
  assert_non_null(f);
  write_all(f);
  assert_int_equal(fclose(f), 0);
  if (out) {
    assert_int_equal(mlaf_file_write(out, text, size, NULL), MLAF_OK);
    print_message("written to %s\n", out);
  }
  snprintf(path, sizeof path, "%s/tests/layer/stages.tsv", root ? root : ".");
  assert_int_equal(mlaf_file_read(path, 1 << 24, &want, &want_size, NULL), MLAF_OK);
  const char *a = text, *b = want;
  for (int line = 1; *a || *b; line++) {
    const size_t n = strcspn(a, "\n"), k = strcspn(b, "\n");
    if (n != k || memcmp(a, b, n)) fail_msg("%s:%d: recorded is\n%.*s\nand found\n%.*s", path, line, (int)k, b, (int)n, a);
    a += n + (a[n] == '\n'), b += k + (b[k] == '\n');
  }
  free(text), free(want);
}

/* Requests that have just passed a size take its plan, not that of twice as many tokens. */
TEST(contexts_take_the_nearest_plan) {
  static const struct {
    int32_t ctx, plan;
  } cases[] = {{1, 1024}, {1024, 1024}, {1025, 1024}, {1448, 1024}, {1449, 2048}, {2049, 2048}, {3000, 4096}, {100000, 4096}};
  static const int32_t sizes[] = {1024, 2048, 4096};
  int32_t batches[] = {1, 2};
  mlaf_plan *decode[6];
  layer_shape *s = calloc(1, sizeof *s);
  layer_plans *p = calloc(1, sizeof *p);
  for (int i = 0; i < 6; i++) decode[i] = (mlaf_plan *)(uintptr_t)(sizes[i / 2] + i % 2);
  memcpy(p->ctxs, sizes, sizeof sizes);
  p->batches = batches, p->n_batches = 2, p->n_ctxs = 3, p->decode[0] = decode;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const layer_sizes z = {.tokens = 2, .batch = 2, .q_len = 1, .ctx = cases[i].ctx};
    assert_int_equal((uintptr_t)layer_plan_of(s, p, STAGE_DECODE, &z), cases[i].plan + 1);
  }
  free(s), free(p);
}

TESTS(NULL, NULL)
