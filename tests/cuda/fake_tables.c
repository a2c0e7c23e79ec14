#include "cuda/fake_tables.h"

#include <stdbool.h>

enum { THREADS = 256, WARPS = THREADS / 32, CHUNK = 1024 };

/* templates/block_tables declares the same. */
typedef struct tables {
  const int32_t *table, *seq_lens, *indptr, *indices, *last_tokens;
  int32_t *qo_indptr, *kv_indptr, *kv_last_page_lens, *kv_indices;
  int64_t stride, room;
  int32_t batch, width, q_tokens, pages, page, sub, step, group, chunks;
} tables;
_Static_assert(sizeof(tables) == FAKE_TABLES_BYTES, "not the kernel's layout");

/* Rows of a block table alone; index pointers are not understood. */
static int32_t one_request(const tables *a, int32_t r, int32_t to) {
  const int32_t tokens = a->page * a->sub, *ids = a->table + r * a->stride;
  const int64_t room = (int64_t)a->width * tokens;
  const bool bad = a->seq_lens[r] < 0 || a->seq_lens[r] > room;
  const int32_t n = bad ? (int32_t)room : a->seq_lens[r], pages = (n + a->page - 1) / a->page;
  a->kv_indptr[r] = to;
  a->kv_last_page_lens[r] = pages ? n - (pages - 1) * a->page : 0;
  if (a->qo_indptr) a->qo_indptr[r] = r * a->q_tokens;
  for (int32_t k = 0; k < pages && to + k < a->room; k++) {
    const int32_t id = ids[k / a->sub];
    a->kv_indices[to + k] = id < 0 || id >= a->pages || (bad && !k) ? -1 : id * a->step + k % a->sub;
  }
  return pages;
}

void fake_tables(const void *args, const uint32_t grid[3], const uint32_t block[3]) {
  const tables *a = args;
  const int64_t warps = (int64_t)grid[0] * WARPS, longest = (int64_t)a->width * a->sub;
  int32_t to = 0;
  if (!a->table || block[0] != THREADS || block[1] != 1 || block[2] != 1 || grid[1] != (uint32_t)a->chunks || grid[2] != 1 ||
      a->group < 1 || warps * a->group < a->batch || a->chunks < 1 || (a->chunks - 1) * CHUNK >= longest)
    return; /* no such launch */
  for (int32_t r = 0; r < a->batch; r++) to += one_request(a, r, to);
  a->kv_indptr[a->batch] = to;
  if (a->qo_indptr) a->qo_indptr[a->batch] = a->batch * a->q_tokens;
}
