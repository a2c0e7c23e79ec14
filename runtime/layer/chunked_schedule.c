/* Which keys of which request are in which chunk. Requests come one after the other; a chunk takes what there is room for. So
 * there are about as many chunks as all contexts together fill, however unlike they are. */
#include "layer/chunked.h"

enum { MAGIC = 0x4350464d };

const chunked_head *chunked_head_of(const int32_t *schedule) {
  const chunked_head *h = (const chunked_head *)(const void *)schedule;
  if (!h || h->magic != MAGIC || h->words < CHUNKED_HEAD_WORDS || h->first < CHUNKED_HEAD_WORDS) return NULL;
  return h->batch < 0 || h->tokens < 0 || h->chunks < 0 || h->most_keys < 0 || h->most_rows < 0 ? NULL : h;
}

/* Words of a chunk's tables. */
static int64_t table_words(const chunked_part *p) { return 3 * (int64_t)p->batch + 2; }

/* True if a chunk is one of the head's, and its tables begin at `at`, where the tables of the chunk before end. */
static bool part_is_whole(const chunked_head *h, const chunked_part *p, int64_t at) {
  if (p->request < 0 || p->batch < 1 || (int64_t)p->request + p->batch > h->batch) return false;
  if (p->row < 0 || p->rows < 0 || p->rows > h->most_rows || (int64_t)p->row + p->rows > h->tokens) return false;
  if (p->keys < 0 || p->keys > h->most_keys) return false;
  return p->cu_q == at && p->cu_k == at + p->batch + 1 && p->starts == at + 2 * ((int64_t)p->batch + 1);
}

bool chunked_is_whole(const int32_t *schedule, size_t words) {
  const chunked_head *h = chunked_head_of(words && words < CHUNKED_HEAD_WORDS ? NULL : schedule);
  if (!h || (words && (size_t)h->words > words)) return false;
  if (h->cu_new != CHUNKED_HEAD_WORDS || h->cached != (int64_t)h->cu_new + h->batch + 1) return false;
  int64_t at = h->first + (int64_t)h->chunks * CHUNKED_PART_WORDS;
  if (h->first != (int64_t)h->cached + h->batch || at > h->words) return false;
  for (int32_t i = 0; i < h->chunks; i++) {
    const chunked_part *p = chunked_part_at(schedule, i);
    if (!part_is_whole(h, p, at)) return false;
    at += table_words(p);
  }
  return at == h->words;
}

chunked_head chunked_most(const mlaf_chunked_prefill *c, int32_t tokens) {
  return (chunked_head){.magic = MAGIC, .words = CHUNKED_HEAD_WORDS, .first = CHUNKED_HEAD_WORDS, .batch = 1, .tokens = tokens,
                        .chunks = 1, .most_keys = c->d.chunk_tokens, .most_rows = tokens};
}

int64_t chunked_keys(const int32_t *schedule) {
  const chunked_head *h = chunked_head_of(schedule);
  int64_t keys = 0;
  for (int32_t i = 0; i < h->chunks; i++) keys += chunked_part_at(schedule, i)->keys;
  return keys;
}

int32_t mlaf_chunked_prefill_chunks(const int32_t *schedule) {
  const chunked_head *h = chunked_head_of(schedule);
  return h ? h->chunks : -1;
}

/* Begin of the next chunk: a position in a request's context. */
typedef struct walk {
  const mlaf_chunked_prefill *c;
  int32_t batch;
  const int32_t *fresh, *cached;
  int32_t request, position;
} walk;

static bool takes_part(const walk *w, int32_t r) { return w->fresh[r] && w->cached[r]; }

/* Keys of request r that go into a chunk with so much room, from `position` on. A chunk ends at a page's end, unless it is
 * smaller than a page. Batch-invariant: a request is cut as if it had every chunk for itself, and waits for one with room. */
static int32_t share_of(const walk *w, int32_t r, int32_t position, int32_t room) {
  const int32_t left = w->cached[r] - position, page = w->c->d.page_tokens, chunk = w->c->d.chunk_tokens;
  if (w->c->invariant) {
    const int32_t most = chunk >= page ? chunk / page * page : chunk, share = left < most ? left : most;
    return share <= room ? share : 0;
  }
  if (left <= room) return left;
  return chunk >= page ? (position + room) / page * page - position : room;
}

/* The next chunk: its requests and keys, and where each begins and how many it takes (NULL: not wanted). False: there is none. */
static bool next_chunk(walk *w, chunked_part *out, int32_t *starts, int32_t *takes) {
  while (w->request < w->batch && !takes_part(w, w->request)) w->request++;
  if (w->request >= w->batch) return false;
  int32_t room = w->c->d.chunk_tokens;
  *out = (chunked_part){.request = w->request};
  while (w->request < w->batch && room > 0) {
    const int32_t r = w->request, n = takes_part(w, r) ? share_of(w, r, w->position, room) : 0;
    if (takes_part(w, r) && n <= 0) break; /* no whole page has room */
    if (starts) starts[r - out->request] = w->position, takes[r - out->request] = n;
    out->batch = r - out->request + 1;
    out->keys += n;
    room -= n;
    w->position += n;
    if (takes_part(w, r) && w->position < w->cached[r]) break;
    w->request++;
    w->position = 0;
  }
  return true;
}

/* --- sizes --- */

static bool fit(const mlaf_chunked_prefill *c, int32_t batch, const int32_t *fresh, const int32_t *cached) {
  int64_t total = 0;
  if (!c || batch < 0 || (batch && (!fresh || !cached))) return false;
  for (int32_t r = 0; r < batch; r++) {
    if (fresh[r] < 0 || cached[r] < 0) return false;
    total += fresh[r];
  }
  return total <= INT32_MAX;
}

static int64_t words_of(const mlaf_chunked_prefill *c, int32_t batch, const int32_t *fresh, const int32_t *cached) {
  walk w = {.c = c, .batch = batch, .fresh = fresh, .cached = cached};
  chunked_part p;
  int64_t words = CHUNKED_HEAD_WORDS + 2 * (int64_t)batch + 1;
  while (words <= INT32_MAX && next_chunk(&w, &p, NULL, NULL)) words += CHUNKED_PART_WORDS + table_words(&p);
  return words;
}

size_t mlaf_chunked_prefill_words(const mlaf_chunked_prefill *c, int32_t batch, const int32_t *new_tokens,
                                  const int32_t *context_tokens) {
  if (!fit(c, batch, new_tokens, context_tokens)) return 0;
  const int64_t words = words_of(c, batch, new_tokens, context_tokens);
  return words <= INT32_MAX ? (size_t)words : 0;
}

/* --- writing --- */

/* Sums of n numbers from 0 on; NULL: none. The last one. */
static int32_t sum_up(const int32_t *of, int32_t n, int32_t *out) {
  out[0] = 0;
  for (int32_t i = 0; i < n; i++) out[i + 1] = out[i] + of[i];
  return out[n];
}

static void write_all(const mlaf_chunked_prefill *c, int32_t batch, const int32_t *fresh, const int32_t *cached, int32_t words,
                      int32_t *out) {
  walk w = {.c = c, .batch = batch, .fresh = fresh, .cached = cached};
  chunked_head h = {.magic = MAGIC, .words = words, .batch = batch, .cu_new = CHUNKED_HEAD_WORDS,
                    .chunk_tokens = c->d.chunk_tokens};
  chunked_part p;
  h.cached = h.cu_new + batch + 1;
  h.first = h.cached + batch;
  if (batch) memcpy(out + h.cached, cached, (size_t)batch * sizeof *out);
  h.tokens = sum_up(fresh, batch, out + h.cu_new);
  while (next_chunk(&w, &p, NULL, NULL)) h.chunks++;
  int32_t at = h.first + h.chunks * CHUNKED_PART_WORDS;
  w.request = w.position = 0;
  for (int32_t i = 0; i < h.chunks; i++) {
    walk look = w;
    next_chunk(&look, &p, NULL, NULL);
    const int32_t n = p.batch, cu_q = at, cu_k = cu_q + n + 1, starts = cu_k + n + 1;
    /* Each request's count stands where its sum will, one word on: a sum is written after the count it adds was read. */
    next_chunk(&w, &p, out + starts, out + cu_k + 1);
    out[cu_k] = 0;
    for (int32_t r = 0; r < n; r++) out[cu_k + r + 1] += out[cu_k + r];
    p.row = out[h.cu_new + p.request];
    p.rows = sum_up(fresh + p.request, n, out + cu_q);
    p.cu_q = cu_q, p.cu_k = cu_k, p.starts = starts;
    memcpy(out + h.first + i * CHUNKED_PART_WORDS, &p, sizeof p);
    if (p.keys > h.most_keys) h.most_keys = p.keys;
    if (p.rows > h.most_rows) h.most_rows = p.rows;
    at = starts + n;
  }
  memcpy(out, &h, sizeof h);
}

mlaf_status mlaf_chunked_prefill_schedule(const mlaf_chunked_prefill *c, int32_t batch, const int32_t *new_tokens,
                                          const int32_t *context_tokens, int32_t *out, size_t words) {
  if (!c) return MLAF_E_ARG;
  mlaf_err err;
  const size_t need = mlaf_chunked_prefill_words(c, batch, new_tokens, context_tokens);
  mlaf_status st = MLAF_OK;
  if (!need)
    st = mlaf_fail(&err, MLAF_E_ARG, "a schedule of %d requests: lengths must be 0 and up, 2^31-1 new tokens and 2^31-1 words of "
                   "chunks in all", batch);
  else if (!out || words < need)
    st = mlaf_fail(&err, MLAF_E_ARG, "a schedule of %d requests needs %zu words, %zu were given", batch, need, words);
  else write_all(c, batch, new_tokens, context_tokens, (int32_t)need, out);
  err.status = st;
  return st ? mlaf_shared_report(c->shared, &err) : MLAF_OK;
}
