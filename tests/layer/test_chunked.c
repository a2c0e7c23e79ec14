/* Prefill over a cached context: the schedule puts every key into one chunk; on the emulator a request in chunks is the same
 * request whole, and both are the fp64 reference; what is refused; the crossover. */
#include "layer/rig.h"

#include <sys/mman.h>

#include "layer/chunked.h"

/* --- schedules --- */

enum { SOME = 24 };

static void every_key_once(const mlaf_chunked_prefill *c, int32_t batch, const int32_t *fresh, const int32_t *cached) {
  const size_t words = mlaf_chunked_prefill_words(c, batch, fresh, cached);
  int32_t *s = calloc(words + 1, sizeof *s), position[SOME] = {0}, new_before[SOME + 1] = {0};
  s[words] = 0x5a5a5a5a;
  assert_int_equal(mlaf_chunked_prefill_schedule(c, batch, fresh, cached, s, words), MLAF_OK);
  assert_int_equal(s[words], 0x5a5a5a5a);
  for (int r = 0; r < batch; r++) new_before[r + 1] = new_before[r] + fresh[r];
  const chunked_head *h = chunked_head_of(s);
  assert_int_equal(h->tokens, new_before[batch]);
  assert_memory_equal(s + h->cu_new, new_before, (size_t)(batch + 1) * sizeof *s);
  int64_t keys = 0, wanted = 0;
  for (int i = 0; i < h->chunks; i++) {
    const chunked_part *p = chunked_part_at(s, i);
    assert_in_range(p->keys, 1, c->d.chunk_tokens);
    assert_int_equal(p->row, new_before[p->request]);
    assert_int_equal(p->rows, new_before[p->request + p->batch] - p->row);
    assert_int_equal(s[p->cu_q], 0);
    assert_int_equal(s[p->cu_k], 0);
    assert_int_equal(s[p->cu_k + p->batch], p->keys);
    assert_true(p->starts + p->batch <= (int32_t)words && p->rows <= h->most_rows && p->keys <= h->most_keys);
    for (int r = 0; r < p->batch; r++) {
      const int at = p->request + r;
      const int32_t n = s[p->cu_k + r + 1] - s[p->cu_k + r];
      assert_int_equal(s[p->cu_q + r + 1] - s[p->cu_q + r], fresh[at]);
      if (!n) continue;
      assert_true(fresh[at] > 0);
      assert_int_equal(s[p->starts + r], position[at]);
      position[at] += n;
      if (position[at] < cached[at] && c->d.chunk_tokens >= c->d.page_tokens)
        assert_int_equal(position[at] % c->d.page_tokens, 0);
    }
    keys += p->keys;
  }
  for (int r = 0; r < batch; r++) {
    if (fresh[r]) wanted += cached[r];
    assert_int_equal(position[r], fresh[r] ? cached[r] : 0);
  }
  assert_int_equal(keys, wanted);
  /* A chunk is full but for less than a page. */
  const int64_t full = c->d.chunk_tokens >= c->d.page_tokens ? c->d.chunk_tokens - c->d.page_tokens + 1 : c->d.chunk_tokens;
  assert_true(h->chunks <= (wanted + full - 1) / full);
  free(s);
}

TEST(schedules_hold_every_key_once) {
  rig r = {.seed = 11};
  for (int i = 0; i < 300; i++) {
    const int32_t page = 1 << (int)(fabs(draw(&r)) * 4), most = i % 7 == 0 ? 3 : 1 + (int32_t)(fabs(draw(&r)) * 200);
    const mlaf_chunked_prefill c = {.d = {.page_tokens = page, .chunk_tokens = most}};
    int32_t fresh[SOME], cached[SOME];
    const int32_t batch = i % (SOME + 1);
    for (int k = 0; k < batch; k++) {
      fresh[k] = draw(&r) < -0.8 ? 0 : 1 + (int32_t)(fabs(draw(&r)) * 30);
      cached[k] = draw(&r) < -0.8 ? 0 : (int32_t)(fabs(draw(&r)) * 300);
    }
    every_key_once(&c, batch, fresh, cached);
  }
}

/* --- a batch with everything in it --- */

enum { H = 2, N = 32, P = 48, V = 48, R = 64, OUT = N + V, QK = N + P, BATCH = 6, TABLE = 12, ROW = R + P };
static const int32_t FRESH[BATCH] = {20, 0, 17, 5, 1, 33}, CACHED[BATCH] = {100, 50, 0, 3, 64, 129};
static const float SCALE = 0.13f;

typedef struct batch {
  int32_t tokens, cu[BATCH + 1], table[BATCH][TABLE];
  uint16_t *q, *kv, *k_pe, *w, *cache; /* of the new tokens, but for W and the cache */
  void *d_q, *d_kv, *d_k_pe, *d_w, *d_cache, *d_table;
  double *want, *lse; /* [tokens, H, V], [H, tokens] */
} batch;

static double element(const uint16_t *bits, int64_t i) { return ref_wide(bits[i]); }

/* Row j of the request's context: K and V of a head as the kernels round them, and the columns with positions. */
static void cached_key(const batch *b, int r, int j, int h, double *k, double *v) {
  const uint16_t *row = b->cache + (b->table[r][j / PAGE] * PAGE + j % PAGE) * ROW;
  for (int i = 0; i < OUT; i++) {
    double sum = 0;
    for (int c = 0; c < R; c++) sum += element(b->w, (h * OUT + i) * R + c) * element(row, c);
    *(i < N ? k + i : v + i - N) = ref_wide(ref_bf16(sum));
  }
  for (int i = 0; i < P; i++) k[N + i] = element(row, R + i);
}

static void fresh_key(const batch *b, int t, int h, double *k, double *v) {
  for (int i = 0; i < N; i++) k[i] = element(b->kv, (t * H + h) * OUT + i);
  for (int i = 0; i < V; i++) v[i] = element(b->kv, (t * H + h) * OUT + N + i);
  for (int i = 0; i < P; i++) k[N + i] = element(b->k_pe, t * P + i);
}

static void refer_row(batch *b, int r, int t, int h) {
  double k[QK], v[V], o[V] = {0}, top = -INFINITY, sum = 0;
  for (int j = 0; j < CACHED[r] + t + 1; j++) {
    double score = 0;
    if (j < CACHED[r]) cached_key(b, r, j, h, k, v);
    else fresh_key(b, b->cu[r] + j - CACHED[r], h, k, v);
    for (int c = 0; c < QK; c++) score += (double)SCALE * k[c] * element(b->q, ((b->cu[r] + t) * H + h) * QK + c);
    const double now = fmax(top, score), past = exp(top - now), w = exp(score - now);
    for (int c = 0; c < V; c++) o[c] = o[c] * past + w * v[c];
    sum = sum * past + w;
    top = now;
  }
  for (int c = 0; c < V; c++) b->want[((b->cu[r] + t) * H + h) * V + c] = o[c] / sum;
  b->lse[h * b->tokens + b->cu[r] + t] = top + log(sum);
}

static void make_batch(rig *r, batch *b) {
  int page = 0;
  *b = (batch){.tokens = 0};
  for (int i = 0; i < BATCH; i++) {
    b->cu[i + 1] = b->tokens += FRESH[i];
    for (int k = 0; k < TABLE; k++) b->table[i][k] = k * PAGE < CACHED[i] ? (page++ * 5) % 29 : -1;
  }
  const size_t T = (size_t)b->tokens;
  b->q = draw_bits(r, T * H * QK, 0, 1);
  b->kv = draw_bits(r, T * H * OUT, 0, 1);
  b->k_pe = draw_bits(r, T * P, 0, 1);
  b->w = draw_bits(r, H * OUT * R, 0, 0.125);
  b->cache = draw_bits(r, 29 * PAGE * ROW, 0, 1);
  b->d_q = put(r, b->q, T * H * QK * 2);
  b->d_kv = put(r, b->kv, T * H * OUT * 2);
  b->d_k_pe = put(r, b->k_pe, T * P * 2);
  b->d_w = put(r, b->w, H * OUT * R * 2);
  b->d_cache = put(r, b->cache, 29 * PAGE * ROW * 2);
  b->d_table = put(r, b->table, sizeof b->table);
  b->want = calloc(T * H * V, sizeof *b->want);
  b->lse = calloc(T * H, sizeof *b->lse);
  for (int i = 0; i < BATCH; i++)
    for (int t = 0; t < FRESH[i]; t++)
      for (int h = 0; h < H; h++) refer_row(b, i, t, h);
}

static void free_batch(batch *b) {
  void *const all[] = {b->q, b->kv, b->k_pe, b->w, b->cache, b->want, b->lse};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static mlaf_chunked_prefill *make(rig *r, int32_t chunk) {
  mlaf_chunked_prefill_desc d = MLAF_CHUNKED_PREFILL_DESC_INIT;
  mlaf_chunked_prefill *c = NULL;
  d.heads = H, d.nope = N, d.rope = P, d.vdim = V, d.rank = R, d.page_tokens = PAGE, d.chunk_tokens = chunk, d.tokens = 32;
  must(r, mlaf_chunked_prefill_create(r->ctx, &d, &c), "create");
  return c;
}

static mlaf_chunked_prefill_args args_of(const batch *b) {
  mlaf_chunked_prefill_args a = MLAF_CHUNKED_PREFILL_ARGS_INIT;
  a.fresh.scale = SCALE;
  a.fresh.q = b->d_q;
  a.fresh.k = b->d_kv;
  a.fresh.v = (char *)b->d_kv + 2 * N;
  a.fresh.k_token_stride = a.fresh.v_token_stride = H * OUT;
  a.fresh.k_head_stride = a.fresh.v_head_stride = OUT;
  a.fresh.k_pe = b->d_k_pe;
  a.cached.cache = b->d_cache;
  a.cached.num_pages = 29;
  a.cached.table = b->d_table;
  a.cached.table_stride = TABLE;
  a.cached.w = b->d_w;
  return a;
}

/* The batch in chunks of so many keys: o [T, H, V] and, where wanted, lse [H, T]; the number of chunks. */
static int32_t run_batch(rig *r, const batch *b, int32_t chunk, uint16_t *o, float *lse) {
  const size_t T = (size_t)b->tokens, bytes = T * H * V * 2;
  int32_t words[1024];
  mlaf_chunked_prefill *c = make(r, chunk);
  mlaf_chunked_prefill_args a = args_of(b);
  const size_t n = mlaf_chunked_prefill_words(c, BATCH, FRESH, CACHED);
  assert_in_range(n, 1, 1024);
  must(r, mlaf_chunked_prefill_schedule(c, BATCH, FRESH, CACHED, words, n), "schedule");
  a.schedule = words;
  a.schedule_device = put(r, words, n * sizeof *words);
  a.workspace_size = mlaf_chunked_prefill_workspace(c, words);
  /* Bounded by the chunk: keys and values of no more. */
  assert_true(a.workspace_size <= (size_t)chunk * (H * OUT + P) * 2 + bytes + 2 * T * H * 4 + 5 * 256);
  a.workspace = put(r, NULL, a.workspace_size);
  must(r, mlaf_mem_fill(r->ctx, a.workspace, 0xff, a.workspace_size), "poison");
  a.fresh.o = put(r, NULL, bytes);
  must(r, mlaf_mem_fill(r->ctx, a.fresh.o, 0xff, bytes), "poison");
  a.fresh.lse = lse ? put(r, NULL, T * H * 4) : NULL;
  must(r, mlaf_chunked_prefill_execute(c, &a, NULL), "execute");
  must(r, mlaf_sync(r->ctx, NULL), "sync");
  get(r, o, a.fresh.o, bytes);
  if (lse) get(r, lse, a.fresh.lse, T * H * 4);
  const int32_t chunks = mlaf_chunked_prefill_chunks(words);
  mlaf_chunked_prefill_destroy(c);
  return chunks;
}

/* Largest relative error of a row. */
static double row_error(const batch *b, const uint16_t *o) {
  double worst = 0;
  for (int row = 0; row < b->tokens * H; row++) {
    double diff = 0, size = 0;
    for (int i = row * V; i < (row + 1) * V; i++) {
      diff += (ref_wide(o[i]) - b->want[i]) * (ref_wide(o[i]) - b->want[i]);
      size += b->want[i] * b->want[i];
    }
    const double error = sqrt(diff / size);
    if (!(error <= worst)) worst = isnan(error) ? INFINITY : error;
  }
  return worst;
}

/* A row of mla_prefill is within 5e-3 (twice its bound for all rows together). Each merge rounds to bf16 once more, 2^-9 of an
 * element at most, and each chunk's own error has its share of weights only. */
TEST_OF(in_chunks_as_at_once, rig *r) {
  static const int32_t chunks_of[] = {1024, 48, 16, 7};
  batch b;
  make_batch(r, &b);
  const size_t T = (size_t)b.tokens;
  uint16_t *o = malloc(T * H * V * 2), *other = malloc(T * H * V * 2);
  float *lse = malloc(T * H * 4);
  for (size_t i = 0; i < sizeof chunks_of / sizeof *chunks_of; i++) {
    const int32_t n = run_batch(r, &b, chunks_of[i], o, lse);
    if (i == 0) assert_int_equal(n, 1);
    else assert_true(n > (100 + 3 + 64 + 129) / chunks_of[i]);
    const int merges = 129 / chunks_of[i] + 1; /* of the longest request */
    const double error = row_error(&b, o), bound = 5e-3 + 0x1p-9 * sqrt(merges);
    print_message("chunks of %d keys: %d, worst row %.2e\n", chunks_of[i], n, error);
    if (!(error <= bound)) fail_msg("chunks of %d: error %g, bound %g", chunks_of[i], error, bound);
    for (size_t k = 0; k < T * H; k++)
      if (!(fabs((double)lse[k] - b.lse[k]) <= 1e-4)) fail_msg("chunks of %d: lse %zu is %g, reference %g", chunks_of[i], k,
                                                              (double)lse[k], b.lse[k]);
    run_batch(r, &b, chunks_of[i], other, NULL); /* the same with nobody asking for lse */
    assert_memory_equal(o, other, T * H * V * 2);
  }
  free(o);
  free(other);
  free(lse);
  free_batch(&b);
}

/* --- what is refused --- */

/* Plan options as a caller of another version has them: the first ones, shorter, and longer ones with nothing new set. */
TEST_OF(options_of_other_versions, rig *r) {
  const mlaf_plan_opts now = MLAF_PLAN_OPTS_INIT;
  const size_t first = offsetof(mlaf_plan_opts, lengths), later = 256, page = (size_t)sysconf(_SC_PAGESIZE);
  char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(memory, MAP_FAILED);
  assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
  for (int i = 0; i < 2; i++) {
    const size_t size = i ? later : first;
    mlaf_plan_opts *opts = (mlaf_plan_opts *)(void *)(memory + page - size); /* behind them is nothing */
    memcpy(opts, &now, i ? sizeof now : first);
    opts->struct_size = (uint32_t)size;
    mlaf_chunked_prefill_desc d = MLAF_CHUNKED_PREFILL_DESC_INIT;
    mlaf_chunked_prefill *c = NULL;
    d.heads = H, d.nope = N, d.rope = P, d.vdim = V, d.rank = R, d.page_tokens = PAGE, d.chunk_tokens = 64, d.tokens = 32;
    d.plan = opts;
    must(r, mlaf_chunked_prefill_create(r->ctx, &d, &c), "create");
    mlaf_chunked_prefill_destroy(c);
    model m;
    make_model(r, &m, 0, MLAF_LAYER_PAIRS, 0);
    m.desc.plan = opts, m.desc.prefill_tokens = 16;
    mlaf_layer *layer = NULL;
    must(r, mlaf_layer_create(r->ctx, &m.desc, m.list, m.n, &layer), "a layer");
    mlaf_layer_destroy(layer);
    free_model(&m);
    memset(memory, 0, page);
  }
  munmap(memory, 2 * page);
}

/* Words that a larger number makes no worse: what fits then, and what workspace is asked for. */
static bool may_grow(size_t at) {
  const size_t list[] = {offsetof(chunked_head, most_rows), offsetof(chunked_head, tokens)};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (list[i] / sizeof(int32_t) == at) return true;
  return false;
}

/* A schedule that somebody wrote into: each word of its head and of its chunks by what lies outside. */
static void every_word_torn(rig *r, const mlaf_chunked_prefill *c) {
  const int32_t fresh[] = {4, 0, 5}, cached[] = {100, 7, 40}, wrong[] = {-1, INT32_MIN, INT32_MAX, 1 << 20};
  int32_t words[256], torn[256];
  const size_t n = mlaf_chunked_prefill_words(c, 3, fresh, cached);
  assert_in_range(n, 1, 256);
  must(r, mlaf_chunked_prefill_schedule(c, 3, fresh, cached, words, n), "a schedule");
  assert_true(chunked_is_whole(words, 0) && chunked_is_whole(words, n) && chunked_is_whole(words, n + 1));
  assert_false(chunked_is_whole(words, n - 1) || chunked_is_whole(words, 1)); /* its own word for its length is not enough */
  const chunked_head *h = chunked_head_of(words);
  assert_true(h->chunks > 1);
  mlaf_chunked_prefill_args a = MLAF_CHUNKED_PREFILL_ARGS_INIT;
  a.schedule = words, a.schedule_device = words, a.schedule_words = n - 1;
  says_arg(r, mlaf_chunked_prefill_execute(c, &a, NULL), "schedule is none");
  a.schedule = torn, a.schedule_words = 0;
  for (size_t at = 0; at < (size_t)h->first + (size_t)h->chunks * CHUNKED_PART_WORDS; at++)
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
      memcpy(torn, words, sizeof words);
      torn[at] = wrong[i];
      const bool length = at >= CHUNKED_HEAD_WORDS && at < (size_t)h->first; /* any number may stand there */
      if (length || at == offsetof(chunked_head, chunk_tokens) / 4 || (wrong[i] > 0 && may_grow(at))) continue;
      says_arg(r, mlaf_chunked_prefill_execute(c, &a, NULL), "schedule is none");
    }
}

TEST_OF(refused, rig *r) {
  mlaf_chunked_prefill *c = make(r, 64), *none = NULL;
  mlaf_chunked_prefill_desc d = MLAF_CHUNKED_PREFILL_DESC_INIT;
  d.heads = H, d.chunk_tokens = 0;
  says_arg(r, mlaf_chunked_prefill_create(r->ctx, &d, &none), "chunk_tokens");
  d = (mlaf_chunked_prefill_desc){.struct_size = 8};
  says_arg(r, mlaf_chunked_prefill_create(r->ctx, &d, &none), "DESC_INIT");
  assert_null(none);

  const int32_t one = 1, minus = -1, many = 100;
  int32_t words[128];
  assert_int_equal(mlaf_chunked_prefill_words(c, 1, &one, &minus), 0);
  says_arg(r, mlaf_chunked_prefill_schedule(c, 1, &minus, &one, words, 128), "0 and up");
  every_word_torn(r, c);
  says_arg(r, mlaf_chunked_prefill_schedule(c, 1, &one, &many, words, 5), "words");
  must(r, mlaf_chunked_prefill_schedule(c, 1, &one, &many, words, 128), "schedule");
  assert_int_equal(mlaf_chunked_prefill_chunks(words), 2);
  mlaf_chunked_prefill_args a = MLAF_CHUNKED_PREFILL_ARGS_INIT;
  _Alignas(256) char space[2]; /* so that space + 1 is never aligned */
#define WRONG(change, part)                                                \
  do {                                                                     \
    a = (mlaf_chunked_prefill_args)MLAF_CHUNKED_PREFILL_ARGS_INIT;         \
    a.schedule = a.schedule_device = words;                                \
    a.cached.table = words;                                                \
    a.workspace = (void *)(uintptr_t)256;                                  \
    a.workspace_size = 1 << 30;                                            \
    change;                                                                \
    says_arg(r, mlaf_chunked_prefill_execute(c, &a, NULL), part);              \
  } while (0)
  WRONG(a.struct_size = 4, "ARGS_INIT");
  WRONG(a.flags = 1, "flags");
  WRONG(a.schedule = (const int32_t *)(const void *)"none that is one", "schedule");
  WRONG(a.schedule_device = NULL, "schedule_device");
  WRONG(a.fresh.batch = 1, "fresh");
  WRONG(a.cached.tokens = 1, "cached");
  WRONG(a.cached.table = NULL, "table");
  WRONG(a.workspace = space + 1, "workspace");
  WRONG(a.workspace_size = 100, "workspace");
  WRONG(a.fresh.scale = 0, "scale"); /* said by mla_prefill */
  mlaf_chunked_prefill *smaller = make(r, 32);
  a.schedule = words;
  says_arg(r, mlaf_chunked_prefill_execute(smaller, &a, NULL), "schedule");
  assert_true(mlaf_chunked_prefill_workspace(smaller, words) == SIZE_MAX);
  /* Nothing to do is no error. */
  const int32_t zero = 0;
  must(r, mlaf_chunked_prefill_schedule(c, 1, &zero, &many, words, 128), "schedule");
  a = (mlaf_chunked_prefill_args)MLAF_CHUNKED_PREFILL_ARGS_INIT;
  a.schedule = a.schedule_device = words;
  must(r, mlaf_chunked_prefill_execute(c, &a, NULL), "nothing");
  mlaf_chunked_prefill_destroy(smaller);
  mlaf_chunked_prefill_destroy(c);
  mlaf_chunked_prefill_destroy(NULL);
}

/* --- which form --- */

/* Multiplications of one head for `n` new tokens over `keys` of context, rope columns P. */
static double naive(double n, double keys, double rope) { return keys * 512 * 256 + n * keys * (256 + rope); }
static double absorbed(double n, double keys, double rope) { return n * keys * (2 * 512 + rope) + n * 512 * 256; }

/* On a device few heads have fewer tiles than it has compute units: what the tiles leave idle counts. */
TEST_OF(crossover_of_plans, rig *r) {
  mlaf_chunked_prefill *c = make(r, 64);
  const mlaf_bound *b = mlaf_plan_bound(c->context);
  const double units = mlaf_info(b->dev)->compute_units, rows = b->stage[0].rows_per_wg;
  int64_t before = INT64_MAX;
  assert_int_equal(mlaf_chunked_prefill_crossover(c, 0), 0);
  c->d.nope = c->d.vdim = 128, c->d.rope = 64, c->d.rank = 512;
  for (int32_t heads = 1; heads <= 128; heads *= 2) {
    c->d.heads = heads;
    const int64_t n = mlaf_chunked_prefill_crossover(c, INT64_C(1) << 40);
    assert_true(n >= 171 && n <= before); /* more heads fill the device better; 171 with tiles of any size */
    const double one_turn = (131072.0 * heads + 320 * rows * units) / (1088.0 * heads);
    if (heads * ceil(one_turn / rows) <= units) assert_true(fabs((double)n - one_turn) <= 1);
    before = n;
  }
  c->d.heads = H, c->d.nope = N, c->d.rope = P, c->d.vdim = V, c->d.rank = R;
  mlaf_chunked_prefill_destroy(c);
}

/* A row of tuning text: over `keys` from `tokens` on, by the template with this hash. */
static int tuning_row(char *out, size_t size, const char *device, int keys, int tokens, const char *hash) {
  return snprintf(out, size, "%s\tmla_chunked_prefill:h%d,n%d,p%d,v%d,r%d,bf16,s%d\tnew_tokens\t%d\tmeasured\t9000\t0\t0"
                  "\t2\t*\t*\t*\t*\tequal\tprefill\tmla_prefill/x\t-\tx\t%s\t-\t-\t64\t1\n", device, H, N, P, V, R, keys,
                  tokens, hash);
}

/* A timed crossover answers, also for keys near by; not for those far away, nor after the kernel was edited, nor against the
 * caller. */
TEST(crossover_that_was_timed) {
  static const char OTHER[] = "0123456789012345678901234567890123456789012345678901234567890123"; /* template */
  rig *r = *state, mine = {.seed = 3};
  char folder[] = "/tmp/mlaf-crossover-XXXXXX", path[64], why[4096] = "", text[4096], *head = NULL;
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/db", folder);
  o.device = "emu:gfx942", o.db_path = path;
  if (mlaf_ctx_create(&o, &mine.ctx, why, sizeof why)) fail_msg("%s", why);
  const char *id = mlaf_ctx_device_id(mine.ctx);
  must(&mine, mlaf_tuning_export(mine.ctx, 0, &head), "export");
  int n = snprintf(text, sizeof text, "%s%s", head, strchr(head, '\n')[1] ? "" : "\n");
  n += tuning_row(text + n, sizeof text - (size_t)n, id, 1024, 777, "-");
  n += tuning_row(text + n, sizeof text - (size_t)n, id, 4096, 5, OTHER);
  tuning_row(text + n, sizeof text - (size_t)n, "arch:gfx942", 1024, 9, "-");
  must(&mine, mlaf_tuning_import(mine.ctx, text, NULL), "import");
  mlaf_chunked_prefill *c = make(&mine, 64), *counts = make(r, 64);
  const double at = (double)mlaf_chunked_prefill_crossover(counts, 1024);
  const double near = (double)mlaf_chunked_prefill_crossover(counts, 4096);
  assert_int_equal(c->n_tuned, 1);
  assert_int_equal(mlaf_chunked_prefill_crossover(c, 1024), 777);
  assert_int_equal(mlaf_chunked_prefill_crossover(c, 4096), (int64_t)ceil(777 * near / at));
  assert_true(mlaf_chunked_prefill_crossover(c, 1 << 15) == mlaf_chunked_prefill_crossover(counts, 1 << 15));
  assert_int_equal(counts->n_tuned, 0);
  c->d.crossover = 42;
  assert_int_equal(mlaf_chunked_prefill_crossover(c, 1024), 42);
  mlaf_chunked_prefill_destroy(c), mlaf_chunked_prefill_destroy(counts);
  mlaf_tuning_text_free(head);
  mlaf_ctx_destroy(mine.ctx);
  snprintf(text, sizeof text, "rm -r %s", folder);
  assert_int_equal(system(text), 0);
}

TEST(crossover) {
  /* DeepSeek-V3's: 128 at 512 keys, 146 at 1024, 164 at 4096, and no more than 171. GLM-5's goes to 398. */
  assert_int_equal(mlaf_prefill_crossover(512, 128, 128, 512), 128);
  assert_int_equal(mlaf_prefill_crossover(512, 128, 128, 1024), 147);
  assert_int_equal(mlaf_prefill_crossover(512, 128, 128, 4096), 164);
  assert_int_equal(mlaf_prefill_crossover(512, 128, 128, INT64_C(1) << 40), 171);
  assert_int_equal(mlaf_prefill_crossover(512, 192, 256, INT64_C(1) << 40), 399);
  assert_int_equal(mlaf_prefill_crossover(512, 128, 128, 0), 0);
  assert_true(mlaf_prefill_crossover(64, 128, 128, INT64_C(1) << 40) == INT64_MAX); /* a latent smaller than K and V */
  for (int64_t keys = 1; keys < 1 << 20; keys = keys * 3 + 1) {
    const double n = (double)mlaf_prefill_crossover(512, 128, 128, keys), k = (double)keys;
    assert_true(naive(n, k, 64) <= absorbed(n, k, 64) && naive(n - 1, k, 64) >= absorbed(n - 1, k, 64));
  }
}

TESTS(rig_open, rig_close)
