/* A decoding loop for authors of engines in C: requests arrive over time, share a paged cache that is too small for all of them,
 * and run in one batch. New requests are prefilled, running ones decode; when pages run out the youngest request gives its pages
 * back, waits, and is prefilled again. Every hidden state is compared with the same in double precision, each request by itself.
 * MLAF_DEVICE=emu:gfx942 runs it without a GPU.
 *
 * The model is that of ../layer: h = embedding[token]; h += layer(h), twice. Tokens are drawn in advance, so that a rounding
 * cannot choose another text. */
#include <stdbool.h>

#include "../layer/toy.h"

enum {
  LAYERS = 2, REQUESTS = 12, BATCH = 5, MOST = 48, PAGE = 8, WIDTH = MOST / PAGE, PAGES = 9, PREFILL = 64, SCHEDULE = 4096
};
static const double BOUND = 1e-2; /* of the relative error of a hidden state */

typedef struct request {
  int arrives;             /* at this step */
  int prompt, total;       /* tokens before the first decode; in all */
  int words[MOST];
  int cached, reached;     /* tokens in the cache; the most there ever were */
  int pages[WIDTH], n_pages;
  bool running;
  uint16_t h[MOST][HIDDEN]; /* behind all layers, of tokens whose next one is wanted */
  bool known[MOST];
} request;

/* Tensors on the device that each step writes anew. */
typedef struct step_inputs {
  void *hidden;
  int64_t *positions, *slots;
  int32_t *lengths, *table, *schedule;
} step_inputs;

static mlaf_layer *layers[LAYERS];
static void *caches[LAYERS];
static double *wide[LAYERS][WEIGHTS], *wide_words;
static uint16_t *embedding;
static request requests[REQUESTS];
static request *running[BATCH]; /* in the order of their admission */
static int n_running, free_pages[PAGES], n_free, preemptions, steps;
static step_inputs device;
static void *workspace;
static size_t workspace_size;

static int draw_below(int n) { return (int)((draw() / 1.7320509 + 1) / 2 * n); }

/* ---- The cache: pages of PAGE tokens, the same ones in every layer ---- */
static bool take_pages(request *r, int tokens) {
  const int more = (tokens + PAGE - 1) / PAGE - r->n_pages;
  if (more > n_free) return false;
  for (int i = 0; i < more; i++) r->pages[r->n_pages++] = free_pages[--n_free];
  return true;
}
static void give_pages_back(request *r) {
  while (r->n_pages) free_pages[n_free++] = r->pages[--r->n_pages];
  r->cached = 0;
}
static int64_t slot_of(const request *r, int token) { return (int64_t)r->pages[token / PAGE] * PAGE + token % PAGE; }

/* ---- Scheduling ---- */
static void stop(int i) {
  give_pages_back(running[i]);
  running[i]->running = false;
  memmove(running + i, running + i + 1, (size_t)(--n_running - i) * sizeof *running);
}

/* Pages for one token more of each running request. Where there are none the youngest request waits for its second chance. */
static void make_room(void) {
  for (int i = 0; i < n_running; i++)
    while (!take_pages(running[i], running[i]->cached + 1)) {
      const bool itself = n_running - 1 == i;
      stop(n_running - 1);
      preemptions++;
      if (itself) return;
    }
}

/* Requests that are there and fit, in the order of their arrival: how many tokens each has to prefill is what it had reached, or
 * its prompt. Returns how many began; they are the last ones of `running`. */
static int admit(void) {
  int began = 0, tokens = 0;
  for (int i = 0; i < REQUESTS && n_running < BATCH; i++) {
    request *r = &requests[i];
    const int first = r->reached > r->prompt ? r->reached : r->prompt;
    if (r->running || r->reached == r->total || r->arrives > steps || tokens + first > PREFILL) continue;
    if (!take_pages(r, first)) break; /* those behind it do not overtake */
    r->running = true;
    running[n_running++] = r;
    tokens += first, began++;
  }
  return began;
}

/* ---- A step ---- */
/* Runs the next new[i] tokens of each of n requests through all layers, and keeps the hidden state of the last one. */
static void forward(request **batch, int n, const int *new, bool prefill) {
  static uint16_t hidden[PREFILL][HIDDEN];
  int64_t positions[PREFILL], slots[PREFILL];
  int32_t lengths[BATCH], table[BATCH][WIDTH] = {{0}}, fresh[BATCH], cached[BATCH], words[SCHEDULE];
  mlaf_layer_args a = MLAF_LAYER_ARGS_INIT;
  int tokens = 0;
  for (int b = 0; b < n; b++) {
    request *r = batch[b];
    for (int t = r->cached; t < r->cached + new[b]; t++, tokens++) {
      positions[tokens] = t, slots[tokens] = slot_of(r, t);
      memcpy(hidden[tokens], embedding + r->words[t] * HIDDEN, sizeof hidden[tokens]);
    }
    for (int i = 0; i < r->n_pages; i++) table[b][i] = r->pages[i];
    fresh[b] = new[b], cached[b] = r->cached, lengths[b] = r->cached + new[b];
  }
  a.batch = n, a.tokens = tokens;
  a.hidden = a.residual = a.out = device.hidden; /* h += layer(h) */
  a.positions = device.positions, a.slots = device.slots, a.seq_lens = device.lengths;
  a.block_table = device.table, a.block_table_width = WIDTH, a.num_pages = PAGES;
  a.workspace = workspace, a.workspace_size = workspace_size;
  if (prefill) {
    a.schedule_words = mlaf_layer_prefill_words(layers[0], n, fresh, cached);
    if (a.schedule_words > SCHEDULE || mlaf_layer_prefill_schedule(layers[0], n, fresh, cached, words, a.schedule_words) ||
        mlaf_mem_write(ctx, device.schedule, words, a.schedule_words * sizeof *words))
      fail("schedule");
    a.schedule = words, a.schedule_device = device.schedule;
  }
  if (mlaf_mem_write(ctx, device.hidden, hidden, (size_t)tokens * sizeof *hidden) ||
      mlaf_mem_write(ctx, device.positions, positions, (size_t)tokens * sizeof *positions) ||
      mlaf_mem_write(ctx, device.slots, slots, (size_t)tokens * sizeof *slots) ||
      mlaf_mem_write(ctx, device.lengths, lengths, (size_t)n * sizeof *lengths) ||
      mlaf_mem_write(ctx, device.table, table, sizeof table))
    fail("inputs");
  for (int l = 0; l < LAYERS; l++) {
    a.cache = caches[l];
    a.flags = l && !prefill ? MLAF_LAYER_SAME_TABLES : 0; /* the block table is read once a step */
    if (mlaf_layer_execute(layers[l], &a, NULL)) fail("mlaf_layer_execute");
  }
  if (mlaf_sync(ctx, NULL) || mlaf_mem_read(ctx, hidden, device.hidden, (size_t)tokens * sizeof *hidden)) fail("outputs");
  for (int b = 0, at = -1; b < n; b++) {
    request *r = batch[b];
    at += new[b], r->cached += new[b];
    memcpy(r->h[r->cached - 1], hidden[at], sizeof hidden[at]);
    r->known[r->cached - 1] = true;
    if (r->cached > r->reached) r->reached = r->cached;
  }
}

static void step(void) {
  int new[BATCH];
  make_room();
  const int before = n_running, began = admit();
  if (began) {
    for (int i = 0; i < began; i++) {
      const request *r = running[before + i];
      new[i] = r->reached > r->prompt ? r->reached : r->prompt;
    }
    forward(running + before, began, new, true);
  }
  for (int i = 0; i < before; i++) new[i] = 1;
  if (before) forward(running, before, new, false);
  for (int i = n_running - 1; i >= 0; i--)
    if (running[i]->reached == running[i]->total) stop(i);
  steps++;
}

/* ---- The same in double precision ---- */
static double check(const request *r, double table[MOST][ROPE]) {
  static double cache[LAYERS][MOST * ROW];
  double worst = 0;
  for (int t = 0; t < r->total; t++) {
    double x[HIDDEN], y[HIDDEN];
    memcpy(x, wide_words + r->words[t] * HIDDEN, sizeof x);
    for (int l = 0; l < LAYERS; l++) {
      double **w = wide[l];
      const ref_weights weights = {w[0], w[1], w[2], w[3], w[4], w[5], w[6]};
      ref_layer(&dims, &weights, table[t], table[t] + ROPE / 2, t, cache[l], x, y);
      for (int i = 0; i < HIDDEN; i++) x[i] += y[i];
    }
    if (t >= r->prompt - 1 && !r->known[t]) return INFINITY; /* a token that was never computed */
    const double error = r->known[t] ? ref_error(r->h[t], x, HIDDEN) : 0;
    worst = error > worst ? error : worst;
  }
  return worst;
}

static void make_model(double table[MOST][ROPE]) {
  static float rotations[MOST][ROPE];
  mlaf_layer_desc d = describe();
  make_table(MOST, rotations, table);
  d.page_size = PAGE, d.batch_max = BATCH, d.ctx_max = MOST, d.table_width = WIDTH, d.prefill_tokens = PREFILL;
  d.cos = to_device(rotations, sizeof rotations), d.table_rows = MOST;
  for (int l = 0; l < LAYERS; l++) {
    layers[l] = make_layer(&d, wide[l]);
    caches[l] = to_device(NULL, (size_t)PAGES * PAGE * ROW * sizeof(uint16_t));
  }
  embedding = draw_all((size_t)WORDS * HIDDEN, 0, 1, &wide_words);
  workspace_size = mlaf_layer_workspace_size(layers[0], NULL); /* of the largest call */
  workspace = to_device(NULL, workspace_size);
  device = (step_inputs){to_device(NULL, PREFILL * HIDDEN * sizeof(uint16_t)), to_device(NULL, PREFILL * sizeof(int64_t)),
                         to_device(NULL, PREFILL * sizeof(int64_t)), to_device(NULL, BATCH * sizeof(int32_t)),
                         to_device(NULL, BATCH * WIDTH * sizeof(int32_t)), to_device(NULL, SCHEDULE * sizeof(int32_t))};
}

int main(void) {
  static double table[MOST][ROPE];
  char why[4096] = "";
  double worst = 0;
  mlaf_ctx_opts opts = MLAF_CTX_OPTS_INIT;
  opts.device = getenv("MLAF_DEVICE"); /* NULL: the first GPU */
  if (mlaf_ctx_create(&opts, &ctx, why, sizeof why)) return fprintf(stderr, "no context: %s\n", why), 1;
  make_model(table);
  for (n_free = 0; n_free < PAGES; n_free++) free_pages[n_free] = n_free;
  for (int i = 0; i < REQUESTS; i++) {
    request *r = &requests[i];
    r->arrives = 2 * i / 3, r->prompt = 1 + draw_below(24), r->total = r->prompt + 4 + draw_below(MOST - 28 - 4);
    for (int t = 0; t < r->total; t++) r->words[t] = draw_below(WORDS);
  }
  int tokens = 0;
  for (int left = REQUESTS; left && steps < 1000;) {
    step();
    left = 0;
    for (int i = 0; i < REQUESTS; i++) left += requests[i].reached < requests[i].total;
  }
  for (int i = 0; i < REQUESTS; i++) {
    const double error = check(&requests[i], table);
    worst = error > worst ? error : worst;
    tokens += requests[i].total;
  }
  printf("mlaforge %s on %s: %d requests, %d tokens, %d steps, %d preemptions, relative error at most %.2e (bound %.1e)\n",
         mlaf_version(), mlaf_ctx_device_name(ctx), REQUESTS, tokens, steps, preemptions, worst, BOUND);
  for (int l = 0; l < LAYERS; l++) {
    mlaf_layer_destroy(layers[l]);
    for (int i = 0; i < WEIGHTS; i++) free(wide[l][i]);
  }
  free(embedding), free(wide_words);
  free_model();
  return !(worst <= BOUND && preemptions && n_free == PAGES);
}
