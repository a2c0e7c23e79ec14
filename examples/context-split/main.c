/* One request whose context is split over GPUs: each rank attends to its tokens, NCCL gathers outputs and logs, mla_merge_parts
 * makes one of them. Checked against the same request on one GPU, and timed.
 *
 *   context-split [--tokens 1048576] [--ranks 2] [--transport nccl|none] [--interleave 1] [--q-len 1] [--heads 16] [--device D]
 *
 * none: shards one after another on one GPU. MLAF_DEVICE=emu:gfx942 with --tokens 500 --transport none runs without a GPU. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <mlaforge/mla_merge_parts.h>
#include <mlaforge/mlaforge.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "nccl.h"

enum { RANK = 512, ROPE = 64, ROW = RANK + ROPE, PAGE = 64, RANKS_MOST = 16, QUERIES_MOST = 16 };
static const float SCALE = 0.1352f;
static const double O_BOUND = 6e-3, LSE_BOUND = 2e-3; /* relative, of roundings to bf16; absolute */

static int tokens = 1 << 20, ranks = 2, interleave = 1, q_len = 1, heads = 16;
static const char *transport = "nccl", *device;
static nccl lib;

/* A device's tokens, with what decode needs. */
typedef struct shard {
  mlaf_ctx *ctx;
  mlaf_plan *decode;
  mlaf_mla_decode_args args;
} shard;

/* A rank: its shard, and what all ranks' parts become. A rank's block is O [q_len, heads, RANK], then LSE [q_len, heads]. */
typedef struct member {
  shard own;
  mlaf_plan *merge;
  mlaf_merge_parts_args merge_args;
  char *blocks;
  void *comm;
} member;

static void fail(mlaf_ctx *ctx, const char *what) {
  char why[4096] = "";
  mlaf_ctx_last_message(ctx, why, sizeof why);
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static size_t o_bytes(void) { return (size_t)q_len * (size_t)heads * RANK * sizeof(uint16_t); }
static size_t lse_bytes(void) { return (size_t)q_len * (size_t)heads * sizeof(float); }
static size_t block_bytes(void) { return (o_bytes() + lse_bytes() + 15) / 16 * 16; }

static void *to_device(mlaf_ctx *ctx, const void *data, size_t size) {
  void *p = NULL;
  if (mlaf_mem_alloc(ctx, size, &p) || (data && mlaf_mem_write(ctx, p, data, size))) fail(ctx, "memory");
  return p;
}

static mlaf_ctx *open_context(const char *name) {
  char why[4096] = "";
  mlaf_ctx *ctx;
  mlaf_ctx_opts opts = MLAF_CTX_OPTS_INIT;
  opts.device = name;
  if (mlaf_ctx_create(&opts, &ctx, why, sizeof why)) fprintf(stderr, "no context: %s\n", why), exit(1);
  return ctx;
}

/* Uniform in -2..2, in bf16. */
static uint16_t *draw(size_t n, uint64_t seed) {
  uint16_t *bits = malloc(n * sizeof *bits);
  if (!bits) fprintf(stderr, "no host memory for %zu numbers\n", n), exit(1);
  for (size_t i = 0; i < n; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const float x = (float)(int32_t)(seed >> 32) * 0x1p-30f;
    uint32_t wide;
    memcpy(&wide, &x, sizeof wide);
    bits[i] = (uint16_t)(wide >> 16);
  }
  return bits;
}

/* --- a shard --- */

/* The rank's tokens in pages, the last first; what no token fills is NaN. */
static void *make_cache(mlaf_ctx *ctx, const mlaf_context_split *s, const uint16_t *all, int pages) {
  const size_t bytes = (size_t)pages * PAGE * ROW * sizeof(uint16_t);
  uint16_t *cache = malloc(bytes);
  if (!cache) fprintf(stderr, "no host memory for %zu bytes\n", bytes), exit(1);
  memset(cache, 0xff, bytes);
  for (int64_t i = 0; i < tokens; i++) {
    const int64_t at = mlaf_context_shard_token(s, i);
    if (at >= 0)
      memcpy(cache + ((pages - 1 - at / PAGE) * PAGE + at % PAGE) * ROW, all + i * ROW, ROW * sizeof(uint16_t));
  }
  void *p = to_device(ctx, cache, bytes);
  free(cache);
  return p;
}

/* whole: one request of q_len tokens under the plan's own causal mask; else each is a request with a length of its own. Tables
 * are lists of pages (kv_indptr, kv_indices): a block table would be made into them by one more kernel in each launch. */
static shard make_shard(mlaf_ctx *ctx, const mlaf_context_split *s, const uint16_t *all, void *q, int whole) {
  const int32_t n = (int32_t)mlaf_context_shard_length(s, tokens), pages = n ? (n + PAGE - 1) / PAGE : 1;
  const int batch = whole ? 1 : q_len;
  int32_t lengths[QUERIES_MOST] = {tokens}, begins[QUERIES_MOST + 1] = {0}, queries[QUERIES_MOST + 1] = {0};
  int32_t *indices = malloc((size_t)batch * (size_t)pages * sizeof *indices);
  shard out = {.ctx = ctx, .args = MLAF_MLA_DECODE_ARGS_INIT};
  if (!indices) fprintf(stderr, "no host memory\n"), exit(1);
  if (!whole) mlaf_context_shard_lengths(s, &tokens, 1, q_len, 1, lengths);
  for (int b = 0; b < batch; b++) {
    const int32_t mine = (lengths[b] + PAGE - 1) / PAGE;
    for (int32_t i = 0; i < mine; i++) indices[begins[b] + i] = pages - 1 - i;
    begins[b + 1] = begins[b] + mine, queries[b + 1] = q_len / batch * (b + 1);
    lengths[b] -= mine ? (mine - 1) * PAGE : 0; /* tokens of its last page */
  }

  mlaf_mla_decode_problem problem = MLAF_MLA_DECODE_PROBLEM_INIT;
  problem.heads = heads, problem.page_size = PAGE, problem.batch = batch, problem.ctx = n ? n : 1;
  problem.q_len = whole ? q_len : 1, problem.causal = problem.q_len > 1;
  if (mlaf_mla_decode_plan_get(ctx, &problem, NULL, &out.decode)) fail(ctx, "mla_decode");

  out.args.batch = batch, out.args.total_q = q_len, out.args.q = q, out.args.scale = SCALE;
  out.args.ckv = make_cache(ctx, s, all, pages), out.args.num_pages = pages;
  out.args.qo_indptr = to_device(ctx, queries, sizeof queries);
  out.args.kv_indptr = to_device(ctx, begins, sizeof begins);
  out.args.kv_indices = to_device(ctx, indices, (size_t)batch * (size_t)pages * sizeof *indices);
  out.args.kv_last_page_lens = to_device(ctx, lengths, sizeof lengths);
  free(indices);
  return out;
}

static void decode(const shard *s) {
  if (mlaf_mla_decode_execute(s->decode, &s->args, NULL)) fail(s->ctx, "mlaf_mla_decode_execute");
}

/* --- ranks --- */

static member make_member(mlaf_ctx *ctx, int rank, const uint16_t *all, void *q, char *blocks) {
  const mlaf_context_split s = {.ranks = ranks, .rank = rank, .interleave = interleave};
  member m = {.own = make_shard(ctx, &s, all, q, 0), .merge_args = MLAF_MERGE_PARTS_ARGS_INIT, .blocks = blocks};
  char problem[80], *mine = blocks + (size_t)rank * block_bytes();
  m.own.args.o = mine; /* decode writes into its place of the gathered buffer */
  m.own.args.lse = (float *)(void *)(mine + o_bytes());
  snprintf(problem, sizeof problem, "mla_merge_parts:n%d,h%d,v%d,bf16,t%d", ranks, heads, RANK, q_len);
  if (mlaf_plan_for(ctx, problem, NULL, &m.merge)) fail(ctx, problem);
  m.merge_args.tokens = q_len;
  m.merge_args.parts = blocks, m.merge_args.parts_lse = (const float *)(const void *)(blocks + o_bytes());
  m.merge_args.parts_part_stride = (int64_t)(block_bytes() / sizeof(uint16_t));
  m.merge_args.parts_lse_part_stride = (int64_t)(block_bytes() / sizeof(float));
  m.merge_args.o = to_device(ctx, NULL, o_bytes()), m.merge_args.lse = to_device(ctx, NULL, lse_bytes());
  return m;
}

static void merge(const member *m) {
  if (mlaf_merge_parts_execute(m->merge, &m->merge_args, NULL)) fail(m->own.ctx, "mlaf_merge_parts_execute");
}

/* The rank's block goes to all others, theirs come here. */
static void exchange(member *m) {
  const int st = lib.all_gather(m->own.args.o, m->blocks, block_bytes(), NCCL_BYTE, m->comm, NULL);
  if (st) fprintf(stderr, "ncclAllGather: %s\n", lib.error(st)), exit(1);
}

static int one_device(void) { return !strcmp(transport, "none"); }

/* --- times and errors --- */

static void wait_for(const shard *s) {
  if (mlaf_sync(s->ctx, NULL)) fail(s->ctx, "mlaf_sync");
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

enum { ROUNDS = 8, IN_A_ROW = 20 }; /* the first round is not counted */

/* Work of a rank's thread: `rounds` times, ranks beginning together, `n` steps in a row. */
typedef struct work {
  member *m;
  const shard *whole; /* decoded in place of the rank's own, or NULL */
  int decode, exchange, merge, rounds, n;
  double from[ROUNDS], to[ROUNDS];
} work;

static pthread_barrier_t ready;

static void *do_work(void *arg) {
  work *w = arg;
  for (int k = 0; k < w->rounds; k++) {
    pthread_barrier_wait(&ready);
    w->from[k] = now_us();
    for (int i = 0; i < w->n; i++) {
      if (w->decode) decode(w->whole ? w->whole : &w->m->own);
      if (w->exchange) exchange(w->m);
      if (w->merge) merge(w->m);
    }
    wait_for(&w->m->own);
    w->to[k] = now_us();
  }
  return NULL;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Microseconds of a step of `kind` on the first `count` ranks, each in a thread of its own, as ranks of an engine are processes:
 * the median of rounds. */
static double run(member *all, int count, work kind) {
  pthread_t threads[RANKS_MOST];
  work works[RANKS_MOST];
  double took[ROUNDS];
  pthread_barrier_init(&ready, NULL, (unsigned)count);
  for (int r = 0; r < count; r++) {
    works[r] = kind, works[r].m = &all[r];
    if (pthread_create(&threads[r], NULL, do_work, &works[r])) fprintf(stderr, "no thread\n"), exit(1);
  }
  for (int r = 0; r < count; r++) pthread_join(threads[r], NULL);
  pthread_barrier_destroy(&ready);
  for (int k = 0; k < kind.rounds; k++) {
    double from = works[0].from[k], to = works[0].to[k];
    for (int r = 1; r < count; r++) from = fmin(from, works[r].from[k]), to = fmax(to, works[r].to[k]);
    took[k] = (to - from) / kind.n;
  }
  const int counted = kind.rounds - 1;
  qsort(took + 1, (size_t)counted, sizeof *took, by_size);
  return counted ? took[1 + counted / 2] : took[0];
}

static double time_of(member *all, int count, work kind) {
  kind.rounds = ROUNDS, kind.n = IN_A_ROW;
  return run(all, count, kind);
}

static double wide(uint16_t bits) {
  const uint32_t u = (uint32_t)bits << 16;
  float x;
  memcpy(&x, &u, sizeof x);
  return (double)x;
}

/* 1 where the merged result is another one than the unsplit request's. */
static int differs(const shard *whole, const member *m, int rank) {
  uint16_t *want = malloc(o_bytes()), *got = malloc(o_bytes());
  float *want_lse = malloc(lse_bytes()), *got_lse = malloc(lse_bytes());
  double off = 0, size = 0, lse_off = 0;
  if (!want || !got || !want_lse || !got_lse || mlaf_mem_read(whole->ctx, want, whole->args.o, o_bytes()) ||
      mlaf_mem_read(whole->ctx, want_lse, whole->args.lse, lse_bytes()) ||
      mlaf_mem_read(m->own.ctx, got, m->merge_args.o, o_bytes()) ||
      mlaf_mem_read(m->own.ctx, got_lse, m->merge_args.lse, lse_bytes()))
    fail(m->own.ctx, "reading results");
  for (size_t i = 0; i < o_bytes() / 2; i++) {
    const double d = wide(got[i]) - wide(want[i]);
    off += d * d, size += wide(want[i]) * wide(want[i]);
  }
  off = sqrt(off / size);
  int bad = !(off <= O_BOUND);
  for (size_t i = 0; i < lse_bytes() / 4; i++) {
    const double d = got_lse[i] == want_lse[i] ? 0 : fabs((double)got_lse[i] - (double)want_lse[i]);
    lse_off = fmax(lse_off, d), bad |= !(d <= LSE_BOUND); /* a NaN is bad, too */
  }
  printf("rank %d: O differs by %.2e (relative, bound %.0e), LSE by %.1e: %s\n", rank, off, O_BOUND, lse_off,
         bad ? "WRONG" : "ok");
  free(want), free(got), free(want_lse), free(got_lse);
  return bad;
}

static void report(member *all, const shard *whole) {
  const double one = time_of(all, 1, (work){.whole = whole, .decode = 1});
  double slowest = 0;
  printf("%-34s %9.1f us\n", "one GPU", one);
  for (int r = 0; r < ranks; r++) slowest = fmax(slowest, time_of(all + r, 1, (work){.decode = 1}));
  printf("%-34s %9.1f us\n", "slowest shard", slowest);
  if (!one_device())
    printf("%-34s %9.1f us  (%zu bytes of each rank)\n", "exchange alone", time_of(all, ranks, (work){.exchange = 1}),
           block_bytes());
  const double merging = time_of(all, 1, (work){.merge = 1});
  printf("%-34s %9.1f us\n", "merge alone", merging);
  const work step = {.decode = 1, .exchange = 1, .merge = 1};
  const double split = one_device() ? slowest + merging : time_of(all, ranks, step);
  const char *what = one_device() ? "slowest shard + merge, no exchange" : "all ranks, exchange and merge";
  printf("%-34s %9.1f us  %.3f of one GPU\n", what, split, split / one);
}

static int usage(void) {
  fprintf(stderr, "context-split [--tokens N] [--ranks 1..%d] [--transport nccl|none] [--interleave N] [--q-len 1..%d] "
                  "[--heads N] [--device D]\n", RANKS_MOST, QUERIES_MOST);
  return 2;
}

static int read_options(int argc, char **argv) {
  for (int i = 1; i < argc; i += 2) {
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    if (!strcmp(argv[i], "--tokens")) tokens = atoi(value);
    else if (!strcmp(argv[i], "--ranks")) ranks = atoi(value);
    else if (!strcmp(argv[i], "--interleave")) interleave = atoi(value);
    else if (!strcmp(argv[i], "--q-len")) q_len = atoi(value);
    else if (!strcmp(argv[i], "--heads")) heads = atoi(value);
    else if (!strcmp(argv[i], "--transport")) transport = value;
    else if (!strcmp(argv[i], "--device")) device = value;
    else return 1;
  }
  return tokens < q_len || ranks < 1 || ranks > RANKS_MOST || interleave < 1 || interleave > 1 << 20 || q_len < 1 ||
         q_len > QUERIES_MOST || heads < 1 || heads > 128 || (strcmp(transport, "nccl") && strcmp(transport, "none"));
}

int main(int argc, char **argv) {
  static member all[RANKS_MOST];
  int devices[RANKS_MOST], wrong = 0;
  device = getenv("MLAF_DEVICE"); /* NULL: the first GPU */
  if (read_options(argc, argv)) return usage();
  if (!one_device() && nccl_open(&lib)) return 1;
  uint16_t *cache = draw((size_t)tokens * ROW, 39), *queries = draw((size_t)q_len * (size_t)heads * ROW, 8);
  const size_t q_bytes = (size_t)q_len * (size_t)heads * ROW * sizeof(uint16_t);
  for (int r = 0; r < ranks; r++) {
    char name[32];
    snprintf(name, sizeof name, "%s:%d", one_device() ? "" : lib.device, r);
    mlaf_ctx *ctx = one_device() ? r ? all[0].own.ctx : open_context(device) : open_context(name);
    void *q = one_device() && r ? (void *)(uintptr_t)all[0].own.args.q : to_device(ctx, queries, q_bytes);
    char *blocks = one_device() && r ? all[0].blocks : to_device(ctx, NULL, (size_t)ranks * block_bytes());
    all[r] = make_member(ctx, r, cache, q, blocks);
    devices[r] = r;
  }
  const mlaf_context_split nobody = {.ranks = 1, .rank = 0, .interleave = 1};
  shard whole = make_shard(all[0].own.ctx, &nobody, cache, (void *)(uintptr_t)all[0].own.args.q, 1);
  whole.args.o = to_device(whole.ctx, NULL, o_bytes()), whole.args.lse = to_device(whole.ctx, NULL, lse_bytes());
  void *comms[RANKS_MOST] = {0};
  const int st = one_device() ? 0 : lib.init_all(comms, ranks, devices);
  for (int r = 0; r < ranks; r++) all[r].comm = comms[r];
  if (st) return fprintf(stderr, "ncclCommInitAll: %s\n", lib.error(st)), 1;

  printf("%d tokens over %d ranks, interleave %d, %d query tokens, %d heads, transport %s, %s\n", tokens, ranks, interleave,
         q_len, heads, transport, mlaf_ctx_device_name(whole.ctx));
  if (one_device())
    for (int r = 1; r < ranks; r++) decode(&all[r].own);
  run(all, one_device() ? 1 : ranks, (work){.decode = 1, .exchange = !one_device(), .merge = 1, .rounds = 1, .n = 1});
  run(all, 1, (work){.whole = &whole, .decode = 1, .rounds = 1, .n = 1});
  for (int r = 0; r < (one_device() ? 1 : ranks); r++) wrong |= differs(&whole, &all[r], r);
  if (strncmp(mlaf_ctx_device_id(whole.ctx), "emu:", 4)) report(all, &whole); /* the emulator has no times */
  return wrong;
}
