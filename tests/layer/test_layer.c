/* A whole layer on the emulator against double precision: each stage over what the stage before it wrote, and all of them at
 * once. */
#include "layer/rig.h"

/* Bound of a stage's relative error over what it read (docs/projections.md). */
static const double STAGE = 2.5e-3;

static void near(double error, double bound, const char *what, int t, int h) {
  if (!(error <= bound)) fail_msg("%s of token %d, head %d: relative error %.3e, bound %.1e", what, t, h, error, bound);
}

/* --- stage by stage --- */

typedef struct seen {
  const uint16_t *c, *q, *qout, *u, *o; /* in the workspace, as the layer says */
} seen;

static const uint16_t *output(const mlaf_layer *layer, const call *c, const char *name) {
  for (size_t i = 0; i < mlaf_layer_stages(layer); i++) {
    mlaf_layer_stage s = MLAF_LAYER_STAGE_INIT;
    assert_int_equal(mlaf_layer_stage_at(layer, i, &c->a, &s), MLAF_OK);
    if (!strcmp(s.name, name)) return (const uint16_t *)(const void *)(c->workspace + s.output_at);
  }
  return NULL;
}

static void check_row(const uint16_t *got, const double *want, int n, double bound, const char *what, int t, int h) {
  near(ref_error(got, want, (size_t)n), bound, what, t, h);
}

static void check_token(const model *m, const call *c, const seen *s, int b, int i) {
  const ref_dims *d = &m->d;
  const int t = b * c->s.q + i, at = c->s.past[b] + i;
  const int latent = d->rank + d->rope, head = d->nope + d->rope, wide = d->q_rank + latent;
  const double *cos_of = m->table[at], *sin_of = cos_of + d->rope / 2;
  double want[2048], normed[256], *x = widen(c->x[t], (size_t)d->hidden), *cc = widen(s->c + t * wide, (size_t)wide);
  if (d->q_rank) ref_product(m->wide[W_Q_A], d->q_rank, d->hidden, x, want);
  ref_product(m->wide[W_KV_A], latent, d->hidden, x, want + d->q_rank);
  check_row(s->c + t * wide, want, wide, STAGE, "qkv_a", t, 0);
  if (d->q_rank) ref_norm(cc, m->wide[W_Q_NORM], d->q_rank, d->eps, normed);
  ref_product(m->wide[W_Q_B], d->heads * head, d->q_rank ? d->q_rank : d->hidden, d->q_rank ? normed : x, want);
  for (int k = 0; k < d->heads * head; k++) want[k] *= ref_factor(d, at);
  const double twice = ref_factor(d, at) == 1 ? 1 : sqrt(2); /* q_scale rounds once more, in place */
  check_row(s->q + t * d->heads * head, want, d->heads * head, twice * STAGE, "q_b", t, 0);
  ref_append(d, m->wide[W_KV_NORM], cos_of, sin_of, cc, want);
  check_row(c->cache + row_of(c, b, at) * latent, want, latent, STAGE, "append", t, 0);
  free(x), free(cc);
  double *cache = calloc((size_t)(POSITIONS * latent), sizeof *cache);
  assert_non_null(cache);
  for (int p = 0; p <= at; p++)
    for (int k = 0; k < latent; k++) cache[p * latent + k] = ref_wide(c->cache[row_of(c, b, p) * latent + k]);
  for (int h = 0; h < d->heads; h++) {
    const int r = t * d->heads + h;
    double *q = widen(s->q + r * head, (size_t)head), *qout = widen(s->qout + r * latent, (size_t)latent);
    double *u = widen(s->u + r * d->rank, (size_t)d->rank);
    const double *kv_b = m->wide[W_KV_B] + h * (d->nope + d->v) * d->rank;
    ref_absorb(d, kv_b, cos_of, sin_of, q, want);
    check_row(s->qout + r * latent, want, latent, STAGE, "q_absorb", t, h);
    ref_attend(d, qout, cache, at + 1, want);
    check_row(s->u + r * d->rank, want, d->rank, 2 * STAGE, "decode", t, h);
    ref_product(kv_b + d->nope * d->rank, d->v, d->rank, u, want);
    check_row(s->o + r * d->v, want, d->v, STAGE, "v_out", t, h);
    free(q), free(qout), free(u);
  }
  double *o = widen(s->o + t * d->heads * d->v, (size_t)(d->heads * d->v));
  ref_product(m->wide[W_O], d->hidden, d->heads * d->v, o, want);
  for (int k = 0; k < d->hidden && m->desc.flags & MLAF_LAYER_RESIDUAL; k++) want[k] += ref_wide(c->x[t][k]);
  check_row(c->y[t], want, d->hidden, STAGE, "o_proj", t, 0);
  free(o), free(cache);
}

static void check_stages(const model *m, const mlaf_layer *layer, const call *c) {
  const uint16_t *kv_a = output(layer, c, "kv_a"), *qkv_a = output(layer, c, "qkv_a");
  const seen s = {qkv_a ? qkv_a : kv_a, output(layer, c, "q_b"), output(layer, c, "q_absorb"), output(layer, c, "decode"),
                  output(layer, c, "v_out")};
  for (int b = 0; b < c->s.batch; b++)
    for (int i = 0; i < c->s.q && c->s.past[b] >= 0; i++) check_token(m, c, &s, b, i);
}

/* --- as a whole --- */

/* Outputs against the reference: errors[t] of each token; the worst. */
static double errors_of(const model *m, const call *c, double errors[ROWS]) {
  double y[COLS], worst = 0;
  for (int b = 0; b < c->s.batch; b++) {
    if (c->s.past[b] < 0) continue;
    double *cache = past_of(m, c, b);
    for (int i = 0; i < c->s.q; i++) {
      reference(m, c, b, i, cache, y);
      const double error = errors[b * c->s.q + i] = ref_error(c->y[b * c->s.q + i], y, (size_t)m->d.hidden);
      worst = error > worst ? error : worst;
    }
    free(cache);
  }
  return worst;
}

static double check_whole(const model *m, const call *c) {
  double errors[ROWS] = {0};
  const double worst = errors_of(m, c, errors);
  for (int t = 0; t < c->tokens; t++) near(errors[t], bound_of(m), "layer", t, 0);
  return worst;
}

/* Rows that no token went to, and the gaps between rows, are as they were; padding makes zeros (and the residual). */
static void check_untouched(const model *m, const call *c) {
  const int row = m->d.rank + m->d.rope;
  bool *touched = calloc((size_t)c->cache_rows, sizeof *touched);
  assert_non_null(touched);
  for (int b = 0; b < c->s.batch; b++)
    for (int i = 0; i < c->s.q && c->s.past[b] >= 0; i++) touched[row_of(c, b, c->s.past[b] + i)] = true;
  for (int64_t i = 0; i < c->cache_rows; i++)
    if (!touched[i] && memcmp(c->cache + i * row, c->before + i * row, sizeof *c->cache * (size_t)row))
      fail_msg("row %lld of the cache was written", (long long)i);
  free(touched);
  for (int b = 0; b < c->s.batch; b++)
    for (int k = 0; k < m->d.hidden && c->s.past[b] < 0; k++)
      if (c->y[b * c->s.q][k] & 0x7fff) fail_msg("column %d of padding request %d is not 0", k, b);
  for (int64_t t = 0; t < ROWS; t++)
    for (int k = t < c->tokens ? m->d.hidden : 0; k < m->d.hidden + c->s.y_gap; k++)
      if (c->y[t][k] != 0xffff) fail_msg("column %d behind row %lld of the output was written", k, (long long)t);
}

static double run_whole(rig *r, const model *m, const mlaf_layer *layer, const step *s, call *c) {
  begin(r, m, layer, s, c);
  execute(r, m, layer, c);
  check_untouched(m, c);
  return check_whole(m, c);
}

static double run(rig *r, const model *m, const mlaf_layer *layer, const step *s, call *c) {
  const double worst = run_whole(r, m, layer, s, c);
  check_stages(m, layer, c);
  return worst;
}

/* --- tests --- */

TEST_OF(every_stage_and_the_whole, rig *r) {
  model m;
  call c;
  make_model(r, &m, 96, MLAF_LAYER_PAIRS, 0);
  mlaf_layer *layer = make_layer(r, &m);
  assert_int_equal(mlaf_layer_stages(layer), 6); /* q_a and kv_a lie side by side: one launch */
  const step steps[] = {
      {.batch = 3, .q = 1, .past = {4, 40, 15}, .x_gap = 16, .y_gap = 8},
      {.batch = 3, .q = 1, .past = {0, -1, 70}, .page_gap = PAGE}, /* one of them padding, and pages apart */
      {.batch = 2, .q = 1, .past = {31, 17}, .lists = true},
  };
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    const double worst = run(r, &m, layer, &steps[i], &c);
    print_message("call %zu: relative error at most %.2e\n", i, worst);
    end(&c);
  }
  mlaf_layer_destroy(layer);
  free_model(&m);
}

TEST_OF(other_forms, rig *r) {
  static const struct {
    int32_t q_rank, style;
    uint32_t flags;
    int apart; /* rows between q_a and kv_a */
  } forms[] = {
      {0, MLAF_LAYER_HALVES, MLAF_LAYER_SPLIT_CACHE | MLAF_LAYER_RESIDUAL, 0}, /* as DeepSeek-V2-Lite has no q_lora */
      {96, MLAF_LAYER_UNROTATED, MLAF_LAYER_RESIDUAL, 1},
  };
  for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
    model m;
    call c;
    make_model(r, &m, forms[f].q_rank, forms[f].style, forms[f].flags);
    m.desc.batch_max = 1;
    if (forms[f].apart) /* the same weights in two tensors */
      m.list[0].data = m.device[W_Q_A] = put(r, m.bits[W_Q_A], sizeof(uint16_t) * (size_t)(m.d.q_rank * m.d.hidden));
    mlaf_layer *layer = make_layer(r, &m);
    assert_int_equal(mlaf_layer_stages(layer), forms[f].apart ? 7 : 6);
    run(r, &m, layer, &(step){.batch = 1, .q = 1, .past = {33}}, &c);
    end_all(&c, layer, &m);
  }
}

/* Four tokens of a request at once, and one after the other. */
TEST_OF(drafts_are_single_steps, rig *r) {
  model m;
  call all, one;
  make_model(r, &m, 96, MLAF_LAYER_PAIRS, 0);
  m.desc.batch_max = 1;
  m.desc.q_lens = 1u << 0 | 1u << 3;
  mlaf_layer *layer = make_layer(r, &m);
  run(r, &m, layer, &(step){.batch = 1, .q = 4, .past = {29}}, &all);
  begin(r, &m, layer, &(step){.batch = 1, .q = 1, .past = {29}}, &one);
  must(r, mlaf_mem_write(r->ctx, one.a.cache, all.before, cache_bytes(&m, &all)), "cache");
  for (int i = 0; i < 4; i++) {
    const int64_t position = 29 + i, slot = row_of(&one, 0, 29 + i);
    const int32_t length = 30 + i;
    must(r, mlaf_mem_write(r->ctx, (void *)one.a.positions, &position, sizeof position), "positions");
    must(r, mlaf_mem_write(r->ctx, (void *)one.a.slots, &slot, sizeof slot), "slots");
    must(r, mlaf_mem_write(r->ctx, (void *)one.a.seq_lens, &length, sizeof length), "lengths");
    must(r, mlaf_mem_write(r->ctx, (void *)one.a.hidden, all.x[i], sizeof(uint16_t) * (size_t)m.d.hidden), "hidden");
    execute(r, &m, layer, &one); /* the same arguments: nothing of what they point to is kept */
    double *want = widen(all.y[i], (size_t)m.d.hidden);
    near(ref_error(one.y[0], want, (size_t)m.d.hidden), bound_of(&m), "single step", i, 0);
    free(want);
  }
  end(&one);
  run(r, &m, layer, &(step){.batch = 1, .q = 3, .past = {50}}, &one); /* served by the longer one's plan */
  end(&one), end(&all);
  mlaf_layer_destroy(layer);
  free_model(&m);
}

/* Two ranks read their heads in whole weights, or have their own; their outputs add up. */
TEST_OF(ranks_add_up, rig *r) {
  model m;
  call whole, part;
  double sum[COLS] = {0};
  make_model(r, &m, 96, MLAF_LAYER_PAIRS, 0);
  m.desc.batch_max = 1;
  mlaf_layer *layer = make_layer(r, &m);
  const step s = {.batch = 1, .q = 1, .past = {45}};
  run(r, &m, layer, &s, &whole);
  m.desc.tp_size = 2;
  for (int rank = 0; rank < 2; rank++) {
    const ref_dims *d = &m.d;
    const int q_b = d->heads / 2 * (d->nope + d->rope), kv_b = d->heads / 2 * (d->nope + d->v), o = d->heads / 2 * d->v;
    model own = m;
    own.desc.tp_rank = rank;
    mlaf_layer *in_place = make_layer(r, &own);
    for (size_t i = 0; i < own.n; i++) {
      mlaf_layer_weight *w = &own.list[i];
      if (strstr(w->name, "q_b_proj")) w->rows = q_b, w->data = (const uint16_t *)w->data + rank * q_b * d->q_rank;
      if (strstr(w->name, "kv_b_proj")) w->rows = kv_b, w->data = (const uint16_t *)w->data + rank * kv_b * d->rank;
      if (strstr(w->name, "o_proj")) w->cols = o, w->row_stride = 2 * o, w->data = (const uint16_t *)w->data + rank * o;
    }
    mlaf_layer *shard = make_layer(r, &own);
    uint16_t first[REQUESTS][COLS];
    for (int i = 0; i < 2; i++) {
      begin(r, &m, i ? shard : in_place, &s, &part);
      part.a.hidden = whole.a.hidden;
      must(r, mlaf_mem_write(r->ctx, part.a.cache, whole.before, cache_bytes(&m, &whole)), "cache");
      execute(r, &m, i ? shard : in_place, &part);
      if (!i) memcpy(first, part.y, sizeof first);
      else assert_memory_equal(first, part.y, sizeof first);
      end(&part);
    }
    for (int k = 0; k < d->hidden; k++) sum[k] += ref_wide(first[0][k]);
    mlaf_layer_destroy(in_place), mlaf_layer_destroy(shard);
  }
  near(ref_error(whole.y[0], sum, (size_t)m.d.hidden), bound_of(&m), "sum of ranks", 0, 0);
  end_all(&whole, layer, &m);
}

/* Heads of kv_b begin within blocks of scales here, and so do the ranks'. */
TEST_OF(weights_of_8_bits, rig *r) {
  model m;
  call whole, part;
  double sum[COLS] = {0};
  make_model(r, &m, 128, MLAF_LAYER_PAIRS, 0);
  narrow_all(r, &m);
  m.desc.batch_max = 1;
  mlaf_layer *layer = make_layer(r, &m);
  assert_int_equal(mlaf_layer_stages(layer), 6);
  const step s = {.batch = 1, .q = 1, .past = {45}};
  run(r, &m, layer, &s, &whole);
  m.desc.tp_size = 2;
  for (m.desc.tp_rank = 0; m.desc.tp_rank < 2; m.desc.tp_rank++) {
    mlaf_layer *shard = make_layer(r, &m);
    begin(r, &m, shard, &s, &part);
    part.a.hidden = whole.a.hidden;
    must(r, mlaf_mem_write(r->ctx, part.a.cache, whole.before, cache_bytes(&m, &whole)), "cache");
    execute(r, &m, shard, &part);
    for (int k = 0; k < m.d.hidden; k++) sum[k] += ref_wide(part.y[0][k]);
    end(&part);
    mlaf_layer_destroy(shard);
  }
  near(ref_error(whole.y[0], sum, (size_t)m.d.hidden), bound_of(&m), "sum of ranks", 0, 0);
  end_all(&whole, layer, &m);
}

/* Stages one by one do what the whole call does, bit for bit. */
TEST_OF(stages_alone_are_the_call, rig *r) {
  model m;
  call c;
  static uint16_t y[ROWS][COLS];
  make_model(r, &m, 96, MLAF_LAYER_PAIRS, 0);
  mlaf_layer *layer = make_layer(r, &m);
  run(r, &m, layer, &(step){.batch = 2, .q = 1, .past = {9, 55}}, &c);
  memcpy(y, c.y, sizeof y);
  must(r, mlaf_mem_fill(r->ctx, c.a.workspace, 0xff, c.a.workspace_size), "fill");
  must(r, mlaf_mem_fill(r->ctx, c.a.out, 0xff, sizeof(uint16_t) * (size_t)(2 * m.d.hidden)), "fill");
  double bytes = 0;
  for (size_t i = 0; i < mlaf_layer_stages(layer); i++) {
    mlaf_layer_stage s = MLAF_LAYER_STAGE_INIT;
    mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
    must(r, mlaf_layer_stage_at(layer, i, &c.a, &s), "mlaf_layer_stage_at");
    assert_int_equal(mlaf_plan_query(s.plan, &info), MLAF_OK);
    assert_int_equal(strncmp(info.problem, s.operation, strlen(s.operation)), 0);
    assert_true(s.bytes > 0 && s.flops > 0 && s.output_at + s.output_bytes <= c.a.workspace_size);
    bytes += s.bytes;
    must(r, mlaf_layer_execute_stage(layer, i, &c.a, NULL), s.name);
  }
  const double weights = 2.0 * (96 * 128 + 96 * 128 + 4 * 64 * 96 + 4 * 96 * 64 + 128 * 256);
  assert_true(bytes > weights && bytes < 2 * weights);
  fetch(r, &m, &c);
  assert_memory_equal(c.y, y, sizeof y);
  end_all(&c, layer, &m);
}

/* Rows that a launch of their own appends are those that blocks beside q_b do, and so is all that follows. */
TEST_OF(rows_apart_are_the_same, rig *r) {
  model m;
  call c;
  static uint16_t y[ROWS][COLS];
  make_model(r, &m, 96, MLAF_LAYER_PAIRS, 0);
  mlaf_layer *layer = make_layer(r, &m);
  run(r, &m, layer, &(step){.batch = 3, .q = 1, .past = {9, -1, 55}, .page_gap = PAGE}, &c);
  memcpy(y, c.y, sizeof y);
  const size_t bytes = cache_bytes(&m, &c);
  uint16_t *cache = malloc(bytes);
  assert_non_null(cache);
  memcpy(cache, c.cache, bytes);
  mlaf_layer *apart = make_layer_as(r, &m, 0);
  must(r, mlaf_mem_write(r->ctx, c.a.cache, c.before, bytes), "cache");
  must(r, mlaf_mem_fill(r->ctx, c.a.workspace, 0xff, c.a.workspace_size), "fill");
  must(r, mlaf_mem_fill(r->ctx, c.a.out, 0xff, sizeof(uint16_t) * (size_t)(3 * m.d.hidden)), "fill");
  execute(r, &m, apart, &c);
  assert_memory_equal(c.y, y, sizeof y);
  assert_memory_equal(c.cache, cache, bytes);
  free(cache);
  end(&c);
  mlaf_layer_destroy(apart);
  mlaf_layer_destroy(layer);
  free_model(&m);
}

/* --- queries scaled by their position --- */

enum { STEP = 8 }; /* positions of a factor */

/* Without the factor the reference is far off where it is not 1, and nowhere else. */
static void check_factor(const model *m, const call *c) {
  double errors[ROWS] = {0};
  model without = *m;
  without.d.q_beta = 0;
  errors_of(&without, c, errors);
  for (int b = 0; b < c->s.batch; b++)
    for (int i = 0; i < c->s.q && c->s.past[b] >= 0; i++) {
      const double error = errors[b * c->s.q + i];
      if (c->s.past[b] + i < STEP) near(error, bound_of(&without), "layer before the first step", b * c->s.q + i, 0);
      else if (error < 2 * bound_of(m)) fail_msg("position %d: %.2e off without the factor", c->s.past[b] + i, error);
    }
}

/* On both sides of several steps, one token and four, in all forms that a layer has; 8 bits and 16. */
TEST_OF(scaled_queries, rig *r) {
  static const struct {
    int32_t q_rank, style;
    uint32_t flags;
    bool narrow, separate;
  } forms[] = {
      {96, MLAF_LAYER_PAIRS, 0, false, false},
      {0, MLAF_LAYER_HALVES, MLAF_LAYER_SPLIT_CACHE, false, false},
      {96, MLAF_LAYER_UNROTATED, 0, false, true},
      {128, MLAF_LAYER_PAIRS, 0, true, false},
  };
  static const step steps[] = {
      {.batch = 3, .q = 1, .past = {7, 8, 15}},
      {.batch = 3, .q = 1, .past = {16, -1, 63}, .lists = true},
      {.batch = 1, .q = 4, .past = {13}},
      {.batch = 3, .q = 4, .past = {5, 29, 62}}, /* as a whole: of so many tokens q_b rounds its normed input, too */
  };
  for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
    model m;
    call c;
    make_model(r, &m, forms[f].q_rank, forms[f].style, forms[f].flags);
    if (forms[f].narrow) narrow_all(r, &m);
    scale_queries(&m, 0.25, STEP);
    m.desc.q_lens = 1u << 0 | 1u << 3;
    mlaf_layer *layer = forms[f].separate ? make_layer_as(r, &m, 0) : make_layer(r, &m);
    assert_int_equal(mlaf_layer_stages(layer), 7);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
      const double worst = (steps[i].batch * steps[i].q > 4 ? run_whole : run)(r, &m, layer, &steps[i], &c);
      check_factor(&m, &c);
      print_message("form %zu, call %zu: relative error at most %.2e, bound %.2e\n", f, i, worst, bound_of(&m));
      end(&c);
    }
    mlaf_layer_destroy(layer);
    free_model(&m);
  }
}

/* Before the first step a layer's bits are those of one that knows no factor; a caller who knows none of its fields gets that. */
TEST_OF(unscaled_queries_keep_their_bits, rig *r) {
  static uint16_t y[ROWS][COLS];
  model m;
  call c;
  make_model(r, &m, 96, MLAF_LAYER_PAIRS, 0);
  mlaf_layer *layer = make_layer(r, &m);
  run(r, &m, layer, &(step){.batch = 3, .q = 1, .past = {9, -1, 55}}, &c);
  memcpy(y, c.y, sizeof y);
  mlaf_layer_destroy(layer);
  const struct {
    double beta;
    int32_t original;
    bool old;
    size_t stages;
  } same[] = {{0, 5, false, 6}, {0.5, 56, false, 7}, {0.5, 5, true, 6}};
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    scale_queries(&m, same[i].beta, same[i].original);
    m.desc.struct_size = same[i].old ? offsetof(mlaf_layer_desc, q_scale_beta) : sizeof m.desc;
    layer = make_layer(r, &m);
    assert_int_equal(mlaf_layer_stages(layer), same[i].stages);
    must(r, mlaf_mem_write(r->ctx, c.a.cache, c.before, cache_bytes(&m, &c)), "cache");
    must(r, mlaf_mem_fill(r->ctx, c.a.workspace, 0xff, c.a.workspace_size), "fill");
    must(r, mlaf_mem_fill(r->ctx, c.a.out, 0xff, sizeof(uint16_t) * (size_t)(3 * m.d.hidden)), "fill");
    execute(r, &m, layer, &c);
    assert_memory_equal(c.y, y, sizeof y);
    mlaf_layer_destroy(layer);
  }
  end(&c);
  free_model(&m);
}

TESTS(rig_open, rig_close)
