/* Calls of several threads that hand over no workspace: each is one unit on its stream, whatever the others launch. Launches of
 * different calls are made to alternate wherever nothing keeps them apart. */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "layer/rig.h"
#include "mlaforge/call.h"
#include "plan/ctx.h"

enum { THREADS = 16, CALLS = 3, HEADS = 4, RANK = 64, ROPE = 32, CONTEXT = 5 * PAGE + 3, CHUNK = 16 };
enum { PATIENCE_MS = 4 };
/* The emulator runs a launch before it returns, so streams are mere names there. 2: the per-thread default stream. */
static void *const STREAMS[] = {NULL, (void *)(uintptr_t)0x100, (void *)(uintptr_t)0x200};
#define PER_THREAD ((void *)(uintptr_t)2)

/* --- launches that alternate --- */

static struct {
  const mlaf_device_ops *real;
  mlaf_device_ops ops;
  pthread_mutex_t lock;
  pthread_cond_t came;
  uint64_t launches;
} turnstile = {.lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER};

/* After its launch a thread waits for one of another thread, a little while. */
static mlaf_status launch_and_yield(mlaf_device *dev, void *stream, const mlaf_launch *launch, mlaf_err *err) {
  struct timespec until;
  const mlaf_status st = turnstile.real->launch(dev, stream, launch, err);
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += PATIENCE_MS * 1000000L;
  if (until.tv_nsec >= 1000000000L) until.tv_sec++, until.tv_nsec -= 1000000000L;
  pthread_mutex_lock(&turnstile.lock);
  const uint64_t mine = ++turnstile.launches;
  pthread_cond_broadcast(&turnstile.came);
  while (turnstile.launches == mine && pthread_cond_timedwait(&turnstile.came, &turnstile.lock, &until) != ETIMEDOUT) {}
  pthread_mutex_unlock(&turnstile.lock);
  return st;
}

static void alternate(rig *r, bool on) {
  mlaf_device *dev = mlaf_ctx_device(r->ctx);
  if (on) {
    turnstile.real = mlaf_ops(dev);
    turnstile.ops = *turnstile.real;
    turnstile.ops.launch = launch_and_yield;
  }
  ((mlaf_device_base *)dev)->ops = on ? &turnstile.ops : turnstile.real;
}

/* --- jobs: a call that a thread makes again and again, and what must come out --- */

typedef struct job {
  mlaf_ctx *ctx;
  mlaf_status (*run)(const struct job *);
  const mlaf_layer *layer;
  const mlaf_chunked_prefill *chunked;
  mlaf_call call;
  mlaf_layer_args step;
  mlaf_chunked_prefill_args prefill;
  void *stream;
  const char *name;
  void *out; /* on the device */
  size_t bytes;
  unsigned char *want, *got;
  int wrong, failed;
} job;

static mlaf_status run_call(const job *j) { return mlaf_call_run(j->ctx, &j->call, j->stream); }

static mlaf_status run_layer(const job *j) { return mlaf_layer_execute(j->layer, &j->step, j->stream); }
static mlaf_status run_chunked(const job *j) { return mlaf_chunked_prefill_execute(j->chunked, &j->prefill, j->stream); }

static mlaf_view view(void *data, int32_t dtype, int dims, const int64_t *shape) {
  mlaf_view v = {.data = data, .dtype = dtype, .dims = dims, .where = MLAF_WHERE_UNKNOWN};
  int64_t n = 1;
  for (int i = dims - 1; i >= 0; n *= shape[i--]) v.shape[i] = shape[i], v.stride[i] = n;
  return v;
}
#define VIEW(data, dtype, dims, ...) view(data, dtype, dims, (const int64_t[]){__VA_ARGS__})

static void *put_random(rig *r, size_t n) {
  uint16_t *bits = draw_bits(r, n, 0, 1);
  void *p = put(r, bits, n * sizeof *bits);
  free(bits);
  return p;
}

/* Two requests of different lengths, and of other ones for each job. */
static void decode_job(rig *r, int seed, bool table, job *j) {
  enum { WIDE = CONTEXT / PAGE + 1 };
  const int32_t lens[2] = {CONTEXT, 1 + seed * 5 % CONTEXT};
  int32_t pages[2][WIDE], flat[2 * WIDE], indptr[3] = {0}, last[2];
  for (int b = 0; b < 2; b++) {
    const int n = (lens[b] + PAGE - 1) / PAGE;
    for (int i = 0; i < WIDE; i++) pages[b][i] = (b * WIDE + i) * 5 % PAGES;
    memcpy(flat + indptr[b], pages[b], sizeof *flat * (size_t)n);
    indptr[b + 1] = indptr[b] + n, last[b] = lens[b] - (n - 1) * PAGE;
  }
  *j = (job){.ctx = r->ctx, .run = run_call, .name = table ? "decode, block table" : "decode, lists", .call = MLAF_CALL_INIT};
  const size_t rows = 2 * HEADS, row = RANK + ROPE;
  void *q = put_random(r, rows * row);
  j->bytes = rows * RANK * sizeof(uint16_t);
  j->out = put(r, NULL, j->bytes);
  j->call.cache = VIEW(put_random(r, PAGES * PAGE * row), MLAF_VIEW_BF16, 4, PAGES, PAGE, 1, RANK + ROPE);
  j->call.mean_kv_len = 4096; /* a plan that splits */
  j->call.q_len = 1;
  if (table) {
    j->call.q = VIEW(q, MLAF_VIEW_BF16, 4, 2, 1, HEADS, RANK + ROPE);
    j->call.o = VIEW(j->out, MLAF_VIEW_BF16, 4, 2, 1, HEADS, RANK);
    j->call.block_table = VIEW(put(r, pages, sizeof pages), MLAF_VIEW_INT32, 2, 2, WIDE);
    j->call.seq_lens = VIEW(put(r, lens, sizeof lens), MLAF_VIEW_INT32, 1, 2);
    return;
  }
  j->call.q = VIEW(q, MLAF_VIEW_BF16, 3, 2, HEADS, RANK + ROPE);
  j->call.o = VIEW(j->out, MLAF_VIEW_BF16, 3, 2, HEADS, RANK);
  j->call.qo_indptr = VIEW(put(r, (int32_t[]){0, 1, 2}, 3 * sizeof(int32_t)), MLAF_VIEW_INT32, 1, 3);
  j->call.kv_indptr = VIEW(put(r, indptr, sizeof indptr), MLAF_VIEW_INT32, 1, 3);
  j->call.kv_indices = VIEW(put(r, flat, sizeof flat), MLAF_VIEW_INT32, 1, 2 * WIDE);
  j->call.kv_last_page_lens = VIEW(put(r, last, sizeof last), MLAF_VIEW_INT32, 1, 2);
}

/* One token for each of three requests. */
static void step_job(rig *r, const model *m, const mlaf_layer *layer, int seed, bool lists, job *j) {
  call c;
  begin(r, m, layer, &(step){.batch = REQUESTS, .q = 1, .past = {40, seed % 40, 17}, .lists = lists}, &c);
  *j = (job){.ctx = r->ctx, .run = run_layer, .layer = layer, .name = lists ? "layer, lists" : "layer, block table", .step = c.a};
  j->out = c.a.out, j->bytes = sizeof(uint16_t) * (size_t)(REQUESTS * m->d.hidden);
  j->step.workspace = NULL, j->step.workspace_size = 0;
  end(&c);
}

/* A layer's prefill of two requests, one of them over cached tokens in two chunks. */
static void prefill_job(rig *r, const model *m, const mlaf_layer *layer, int seed, job *j) {
  enum { NEW = 3, WORDS = 256 };
  static int32_t schedules[THREADS][WORDS];
  const int32_t fresh[2] = {2, 1}, past[2] = {20 + seed % 10, 0};
  int64_t positions[NEW] = {past[0], past[0] + 1, 0}, slots[NEW];
  call c;
  begin(r, m, layer, &(step){.batch = 2, .q = 1, .past = {past[0], 0}}, &c);
  for (int t = 0; t < NEW; t++) slots[t] = c.pages[t / 2][positions[t] / PAGE] * PAGE + positions[t] % PAGE;
  const size_t words = mlaf_layer_prefill_words(layer, 2, fresh, past);
  assert_in_range(words, 1, WORDS);
  must(r, mlaf_layer_prefill_schedule(layer, 2, fresh, past, schedules[seed], words), "schedule");
  *j = (job){.ctx = r->ctx, .run = run_layer, .layer = layer, .name = "layer, prefill", .step = c.a};
  j->out = c.a.out, j->bytes = sizeof(uint16_t) * (size_t)(NEW * m->d.hidden);
  j->step.schedule = schedules[seed], j->step.schedule_device = put(r, schedules[seed], words * sizeof(int32_t));
  j->step.positions = put(r, positions, sizeof positions), j->step.slots = put(r, slots, sizeof slots);
  j->step.seq_lens = NULL;
  j->step.workspace = NULL, j->step.workspace_size = 0;
  end(&c);
}

static mlaf_chunked_prefill *make_chunked(rig *r) {
  mlaf_chunked_prefill_desc d = MLAF_CHUNKED_PREFILL_DESC_INIT;
  mlaf_chunked_prefill *c = NULL;
  d.heads = HEADS, d.nope = 32, d.rope = ROPE, d.vdim = 64, d.rank = RANK, d.tokens = 32;
  d.page_tokens = PAGE, d.chunk_tokens = CHUNK;
  must(r, mlaf_chunked_prefill_create(r->ctx, &d, &c), "mlaf_chunked_prefill_create");
  return c;
}

static void chunked_job(rig *r, const mlaf_chunked_prefill *chunked, int seed, job *j) {
  enum { NEW = 3, WORDS = 256, OUT = 32 + 64 };
  static int32_t schedules[THREADS][WORDS];
  const int32_t fresh[2] = {2, 1}, past[2] = {20 + seed % 10, 3}, table[2][2] = {{5, 2}, {1, 7}};
  const size_t words = mlaf_chunked_prefill_words(chunked, 2, fresh, past);
  assert_in_range(words, 1, WORDS);
  must(r, mlaf_chunked_prefill_schedule(chunked, 2, fresh, past, schedules[seed], words), "schedule");
  *j = (job){.ctx = r->ctx, .run = run_chunked, .chunked = chunked, .name = "chunked prefill",
             .prefill = MLAF_CHUNKED_PREFILL_ARGS_INIT};
  mlaf_chunked_prefill_args *a = &j->prefill;
  j->bytes = sizeof(uint16_t) * NEW * HEADS * 64;
  a->schedule = schedules[seed], a->schedule_device = put(r, schedules[seed], words * sizeof(int32_t));
  a->fresh.scale = 0.1f;
  a->fresh.q = put_random(r, NEW * HEADS * (32 + ROPE));
  a->fresh.k = put_random(r, NEW * HEADS * OUT);
  a->fresh.v = (const char *)a->fresh.k + 2 * 32;
  a->fresh.k_token_stride = a->fresh.v_token_stride = HEADS * OUT;
  a->fresh.k_head_stride = a->fresh.v_head_stride = OUT;
  a->fresh.k_pe = put_random(r, NEW * ROPE);
  a->fresh.o = j->out = put(r, NULL, j->bytes);
  a->cached.cache = put_random(r, 8 * PAGE * (RANK + ROPE));
  a->cached.num_pages = 8;
  a->cached.table = put(r, table, sizeof table);
  a->cached.table_stride = 2;
  a->cached.w = put_random(r, HEADS * OUT * RANK);
}

/* --- threads --- */

static void ask(job *j, unsigned char *to) {
  if (mlaf_mem_fill(j->ctx, j->out, 0xff, j->bytes) || j->run(j) || mlaf_sync(j->ctx, j->stream) ||
      mlaf_mem_read(j->ctx, to, j->out, j->bytes))
    j->failed++;
}

static void *again_and_again(void *arg) {
  job *j = arg;
  for (int i = 0; i < CALLS; i++) {
    ask(j, j->got);
    j->wrong += memcmp(j->got, j->want, j->bytes) != 0;
  }
  return NULL;
}

/* Wrong calls of so many threads on so many streams; 0: the per-thread default stream. */
static int count_wrong(rig *r, job *jobs, int threads, int streams, int *failed) {
  pthread_t id[THREADS];
  int wrong = 0;
  alternate(r, true);
  for (int i = 0; i < threads; i++) {
    jobs[i].stream = streams ? STREAMS[i % streams] : PER_THREAD;
    jobs[i].wrong = jobs[i].failed = 0;
    assert_int_equal(pthread_create(&id[i], NULL, again_and_again, &jobs[i]), 0);
  }
  for (int i = 0; i < threads; i++) pthread_join(id[i], NULL);
  alternate(r, false);
  for (int i = 0; i < threads; i++) {
    if (jobs[i].wrong) print_message("  %s: %d of %d wrong\n", jobs[i].name, jobs[i].wrong, CALLS);
    wrong += jobs[i].wrong, *failed += jobs[i].failed;
  }
  return wrong;
}

TEST_OF(calls_are_units, rig *r) {
  static const struct {
    int threads, streams;
  } runs[] = {{2, 1}, {8, 1}, {16, 1}, {8, 3}, {16, 3}, {4, 0}};
  static job jobs[THREADS];
  model m;
  int wrong = 0, failed = 0;
  make_model(r, &m, 96, MLAF_LAYER_PAIRS, 0);
  m.desc.prefill_tokens = 16, m.desc.prefill_chunk = CHUNK;
  mlaf_layer *layer = make_layer(r, &m);
  mlaf_chunked_prefill *chunked = make_chunked(r);
  for (int i = 0; i < THREADS; i++) { /* two neighbours of a kind */
    job *j = &jobs[i];
    const int kind = i / 2 % 6;
    if (kind < 2) decode_job(r, 3 * i, kind, j);
    else if (kind < 4) step_job(r, &m, layer, 3 * i, kind == 3, j);
    else if (kind == 4) prefill_job(r, &m, layer, i, j);
    else chunked_job(r, chunked, i, j);
    j->want = malloc(j->bytes), j->got = malloc(j->bytes);
    assert_true(j->want && j->got);
    ask(j, j->want);
    must(r, j->failed ? MLAF_E_INTERNAL : MLAF_OK, j->name);
  }
  for (size_t i = 0; i < sizeof runs / sizeof *runs && !wrong; i++) { /* what reads another call's lists may never end */
    const int n = count_wrong(r, jobs, runs[i].threads, runs[i].streams, &failed);
    print_message("%d threads, %d streams: %d of %d calls wrong\n", runs[i].threads, runs[i].streams, n, CALLS * runs[i].threads);
    wrong = n;
  }
  for (int i = 0; i < THREADS; i++) free(jobs[i].want), free(jobs[i].got);
  mlaf_chunked_prefill_destroy(chunked);
  mlaf_layer_destroy(layer);
  free_model(&m);
  assert_int_equal(wrong, 0);
  assert_int_equal(failed, 0);
}

/* --- the lock by its public functions --- */

typedef struct attempt {
  job *j;
  mlaf_status unlock, st;
} attempt;

static void *try_it(void *arg) {
  attempt *a = arg;
  a->unlock = mlaf_workspace_unlock(a->j->ctx, a->j->stream);
  a->st = a->j->run(a->j);
  return NULL;
}

static void last_says(rig *r, const char *words) {
  if (!strstr(said(r->ctx), words)) fail_msg("'%s' is not in '%s'", words, said(r->ctx));
}

/* A workspace that one thread holds no other gives back, and the holder is told what it asks for twice; other streams do not
 * wait. */
TEST_OF(locked_by_a_thread, rig *r) {
  void *workspace = NULL, *same = NULL;
  size_t size = 0;
  pthread_t id;
  job j;
  decode_job(r, 5, true, &j);
  j.stream = STREAMS[1];
  must(r, mlaf_workspace_lock(r->ctx, j.stream, 1 << 20, &workspace, &size), "mlaf_workspace_lock");
  assert_true(workspace && size >= 1 << 20);
  assert_int_equal(mlaf_workspace_lock(r->ctx, j.stream, 1, &same, NULL), MLAF_E_ARG);
  last_says(r, "this thread holds the workspace of stream 0x100");
  assert_int_equal(mlaf_workspace_get(r->ctx, j.stream, 1, &same, NULL), MLAF_E_ARG);
  assert_int_equal(mlaf_workspace_reserve(r->ctx, j.stream, 1), MLAF_E_ARG);
  assert_int_equal(run_call(&j), MLAF_E_ARG);
  last_says(r, "mlaf_workspace_unlock first");
  j.call.workspace = VIEW(workspace, MLAF_VIEW_U8, 1, (int64_t)size);
  must(r, run_call(&j), "a call with the workspace that the thread holds");
  j.call.workspace = (mlaf_view){.data = NULL};
  attempt a = {.j = &j};
  j.stream = STREAMS[2]; /* of that the thread holds nothing either */
  assert_int_equal(pthread_create(&id, NULL, try_it, &a), 0);
  pthread_join(id, NULL);
  assert_int_equal(a.unlock, MLAF_E_ARG);
  assert_int_equal(a.st, MLAF_OK);
  j.stream = STREAMS[1];
  a = (attempt){.j = &j, .st = -1};
  assert_int_equal(pthread_create(&id, NULL, try_it, &a), 0);
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  must(r, mlaf_workspace_unlock(r->ctx, j.stream), "mlaf_workspace_unlock");
  pthread_join(id, NULL);
  assert_int_equal(a.unlock, MLAF_E_ARG);
  assert_int_equal(a.st, MLAF_OK);
  assert_int_equal(mlaf_workspace_unlock(r->ctx, j.stream), MLAF_E_ARG);
  last_says(r, "does not hold");
  assert_int_equal(mlaf_workspace_lock(r->ctx, MLAF_ANY_STREAM, 1, &same, NULL), MLAF_E_ARG);
  assert_int_equal(mlaf_workspace_lock(NULL, NULL, 1, &same, NULL), MLAF_E_ARG);
  assert_int_equal(mlaf_workspace_unlock(NULL, NULL), MLAF_E_ARG);
}

/* A call that fails behind the lock leaves nothing locked. */
TEST_OF(a_failure_unlocks, rig *r) {
  job j;
  decode_job(r, 5, false, &j);
  const mlaf_status refuses = MLAF_E_ARG;
  j.call.mean_kv_len = 4096;
  mlaf_view q = j.call.q;
  j.call.q.data = (char *)q.data + 2; /* which the launch refuses */
  assert_int_equal(run_call(&j), refuses);
  last_says(r, "16-byte aligned");
  j.call.q = q;
  must(r, run_call(&j), "a call behind one that failed");
  void *out = NULL;
  assert_int_not_equal(mlaf_workspace_lock(r->ctx, NULL, (size_t)1 << 60, &out, NULL), MLAF_OK);
  must(r, run_call(&j), "a call behind a workspace that could not grow");
}

TESTS(rig_open, rig_close)
