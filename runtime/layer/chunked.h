/* Inside chunked prefill: its plans, and a schedule as words. */
#ifndef MLAF_LAYER_CHUNKED_H
#define MLAF_LAYER_CHUNKED_H

#include "mlaforge/chunked_prefill.h"
#include "plan/plan.h"

struct mlaf_chunked_prefill {
  mlaf_shared *shared; /* where messages go; one reference */
  mlaf_chunked_prefill_desc d;
  mlaf_plan *fresh, *context, *gather, *merge; /* one reference each */
};

/* --- chunked.c --- */

enum { CHUNKED_FRESH, CHUNKED_CONTEXT, CHUNKED_GATHER, CHUNKED_MERGE, CHUNKED_PARTS };
/* The problem that a part plans: MLAF_PROBLEM_TEXT_MAX bytes. */
void chunked_problem(const mlaf_chunked_prefill_desc *d, int part, char *out);

/* --- chunked_schedule.c --- */

/* The first words of a schedule. Offsets in words, from its begin. */
typedef struct chunked_head {
  int32_t magic, words;
  int32_t batch, tokens; /* requests, new tokens of all */
  int32_t cu_new;        /* offset: [batch + 1] */
  int32_t cached;        /* offset: [batch], what is cached of each */
  int32_t chunks, first; /* offset of the list of chunks */
  int32_t most_keys, most_rows; /* of a chunk */
  int32_t chunk_tokens;  /* that it was made for */
} chunked_head;

/* One chunk: of `batch` requests one behind the other. Their tables lie at the offsets. */
typedef struct chunked_part {
  int32_t request, batch;
  int32_t row, rows; /* of the new tokens */
  int32_t keys;
  int32_t cu_q, cu_k, starts; /* [batch + 1], from 0; [batch + 1]; [batch] */
} chunked_part;

enum { CHUNKED_HEAD_WORDS = sizeof(chunked_head) / 4, CHUNKED_PART_WORDS = sizeof(chunked_part) / 4 };

/* The head of a schedule that no other of so many new tokens needs more workspace than. */
chunked_head chunked_most(const mlaf_chunked_prefill *c, int32_t tokens);
/* Cached tokens that new ones attend to, of all requests. */
int64_t chunked_keys(const int32_t *schedule);
/* NULL: these words are no schedule. */
const chunked_head *chunked_head_of(const int32_t *schedule);
static inline const chunked_part *chunked_part_at(const int32_t *schedule, int32_t i) {
  return (const chunked_part *)(const void *)(schedule + ((const chunked_head *)(const void *)schedule)->first) + i;
}

#endif
