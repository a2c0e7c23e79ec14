/* Inside chunked prefill: its plans, and a schedule as words. */
#pragma once

#include "mlaforge/chunked_prefill.h"
#include "mlaforge/layer.h"
#include "plan/plan.h"

/* A crossover that was timed: from how many new tokens on, over so many cached ones. */
typedef struct crossover_tuned {
  int32_t keys, tokens;
  mlaf_source source;
} crossover_tuned;
enum { CROSSOVERS = 16 };

struct mlaf_chunked_prefill {
  mlaf_shared *shared; /* where messages go; one reference */
  mlaf_chunked_prefill_desc d;
  mlaf_plan *fresh, *context, *gather, *merge; /* one reference each */
  bool invariant;                              /* a chunk takes whole shares of requests: chunked_schedule.c */
  crossover_tuned tuned[CROSSOVERS];           /* as the database had them when it was made, the better sources first */
  int n_tuned;
};

/* --- chunked.c --- */

enum { CHUNKED_FRESH, CHUNKED_CONTEXT, CHUNKED_GATHER, CHUNKED_MERGE, CHUNKED_PARTS };
/* The problem that a part plans: MLAF_PROBLEM_TEXT_MAX bytes. */
void chunked_problem(const mlaf_chunked_prefill_desc *d, int part, char *out);
/* All of them as plans to come. */
mlaf_status chunked_requests(const mlaf_chunked_prefill_desc *d, const mlaf_plan_opts *opts, mlaf_plan_request out[CHUNKED_PARTS],
                           mlaf_err *err);

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
/* True if it is laid out as it was written and within `words` words (0: the caller does not say, and its head is believed): what
 * is launched by a schedule asks this first, as others than its writer may have copied it. What chunked_most gives is not
 * whole. */
bool chunked_is_whole(const int32_t *schedule, size_t words);
static inline const chunked_part *chunked_part_at(const int32_t *schedule, int32_t i) {
  return (const chunked_part *)(const void *)(schedule + ((const chunked_head *)(const void *)schedule)->first) + i;
}

/* --- layer.c --- */

/* A layer's prefill; NULL: it has none. */
const mlaf_chunked_prefill *layer_prefill_of(const mlaf_layer *layer);

/* --- crossover.c --- */

/* Shows `look` every choice that is stored for such a problem on the context's device, the nearest first, until it takes one. */
void layer_look(mlaf_ctx *ctx, const mlaf_point *p, mlaf_db_accept_fn look, void *user);
/* The database's choices for these dims, kept for the life of the plans: nothing is a failure. */
void crossover_read(mlaf_ctx *ctx, mlaf_chunked_prefill *c);
/* The problem that a choice is stored for. */
mlaf_status crossover_point(const mlaf_chunked_prefill *c, int32_t keys, mlaf_point *out, mlaf_err *err);
/* By multiplications, tiles and compute units alone: what holds where nothing was timed. */
int64_t crossover_counted(const mlaf_chunked_prefill *c, int64_t keys);
/* Which crossover answers: NULL where none that was timed is near, or the caller has said one. */
const crossover_tuned *crossover_nearest(const mlaf_chunked_prefill *c, int64_t keys);
