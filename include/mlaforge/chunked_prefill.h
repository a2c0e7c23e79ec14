/* Prefill over a cached context, in chunks: a plan of plans.
 *
 *   new tokens attend to themselves, causal                                   mla_prefill
 *   for each chunk of the contexts
 *     its rows of the cache become keys and values                            mla_gather_kv_b
 *     the new tokens attend to them, all of them                              mla_prefill
 *     what comes out is merged into what there is                             mla_merge
 *
 * A chunk holds at most `chunk_tokens` keys of all requests together; so the workspace is bounded however long the contexts are.
 * Which tokens of which request are in which chunk is a schedule. The host makes it, from lengths that it knows: how many
 * launches there are depends on them. The caller copies it to the device. */
#ifndef MLAFORGE_CHUNKED_PREFILL_H
#define MLAFORGE_CHUNKED_PREFILL_H

#include "mlaforge/mla_gather_kv_b.h"
#include "mlaforge/mla_merge.h"
#include "mlaforge/mla_prefill.h"
#include "mlaforge/plan.h"

/* Opaque, immutable. Thread-safe: any number of threads may execute one at once, on one stream or on several, each with its own
 * outputs, and its own workspace or none (mlaf_chunked_prefill_execute). */
typedef struct mlaf_chunked_prefill mlaf_chunked_prefill;

/* Pairing of rope columns, for caches whose keys are not rotated: cached.rope_table rotates them (mlaforge/mla_gather_kv_b.h). */
enum { MLAF_CHUNKED_PAIRS = 1, MLAF_CHUNKED_HALVES = 2 };

typedef struct mlaf_chunked_prefill_desc {
  uint32_t struct_size;               /* sizeof(mlaf_chunked_prefill_desc), set by MLAF_CHUNKED_PREFILL_DESC_INIT */
  uint32_t flags;                     /* 0 */
  int32_t heads;                      /* on this rank */
  int32_t nope, rope, vdim, rank;     /* N, P, V, R */
  int32_t dtype;                      /* mlaf_dtype */
  const char *layout;                 /* of the cache: "paged", "split", "fp8_ds_mla", "e4m3fn", "e4m3fnuz"; NULL: "paged" */
  int32_t page_tokens;                /* rows of a page of it */
  int32_t chunk_tokens;               /* keys of a chunk, all requests together */
  int32_t batch, tokens;              /* requests, and new tokens of one: what to plan for. Any others are served */
  const mlaf_plan_opts *plan;         /* NULL: MLAF_PLAN_OPTS_INIT. With MLAF_PLAN_BATCH_INVARIANT chunks cut a request as if it
                                       * were alone: some have room left, and there may be twice as many */
  int32_t crossover;                  /* what mlaf_chunked_prefill_crossover shall say; 0: it finds out */
  int32_t rotate;                     /* MLAF_CHUNKED_PAIRS, _HALVES: the cache's keys are not rotated; 0: they are */
} mlaf_chunked_prefill_desc;
#define MLAF_CHUNKED_PREFILL_DESC_INIT                                                                                     \
  {                                                                                                                        \
    sizeof(mlaf_chunked_prefill_desc), 0, 0, 128, 64, 128, 512, MLAF_BF16, NULL, 64, 16384, 4, 1024, NULL, 0, 0            \
  }

/* Creates a chunked prefill and plans all its parts. The caller destroys *out. Errors: E_ARG, and those of
 * mlaf_plan_for. `*out` is untouched on failure. */
MLAF_API mlaf_status mlaf_chunked_prefill_create(mlaf_ctx *ctx, const mlaf_chunked_prefill_desc *desc,
                                                 mlaf_chunked_prefill **out);
/* Destroys it. None of its launches may be in flight. NULL is allowed. */
MLAF_API void mlaf_chunked_prefill_destroy(mlaf_chunked_prefill *chunked);

/* --- the schedule, on the host --- */

/* Returns the words of a schedule for `batch` requests: request r has new_tokens[r] new and context_tokens[r] cached tokens, each
 * 0 and up. A request without new tokens takes no part. Returns 0 where the numbers are negative or too large. Thread-safe. */
MLAF_API size_t mlaf_chunked_prefill_words(const mlaf_chunked_prefill *chunked, int32_t batch, const int32_t *new_tokens,
                                           const int32_t *context_tokens);
/* Writes the schedule of these requests to `out`, which has room for `words` (mlaf_chunked_prefill_words). A chunk that cuts a
 * request ends at a page's end. E_ARG: `words` are too few, or lengths are negative. Thread-safe. */
MLAF_API mlaf_status mlaf_chunked_prefill_schedule(const mlaf_chunked_prefill *chunked, int32_t batch, const int32_t *new_tokens,
                                                   const int32_t *context_tokens, int32_t *out, size_t words);
/* Returns the number of chunks of a schedule; -1: it is none. */
MLAF_API int32_t mlaf_chunked_prefill_chunks(const int32_t *schedule);
/* Returns the bytes of workspace that executing a schedule needs. SIZE_MAX: it is no schedule, or one of larger chunks. */
MLAF_API size_t mlaf_chunked_prefill_workspace(const mlaf_chunked_prefill *chunked, const int32_t *schedule);

/* --- execution --- */

typedef struct mlaf_chunked_prefill_args {
  uint32_t struct_size; /* sizeof(mlaf_chunked_prefill_args), set by MLAF_CHUNKED_PREFILL_ARGS_INIT */
  uint32_t flags;       /* 0 */
  const int32_t *schedule;        /* on the host */
  const int32_t *schedule_device; /* the same words on the device */
  /* Arguments of mla_prefill for the new tokens. total_q, total_k, batch and cu_seqlens come from the schedule: 0 and NULL
   * here. */
  mlaf_prefill_args fresh;
  /* Arguments of mla_gather_kv_b: the cache, its table [batch, ...] or lists by request of the schedule, W. batch, tokens,
   * page_tokens, cu_seqlens, seq_starts, k, v and k_pe come from the schedule: 0 and NULL here. */
  mlaf_gather_kv_b_args cached;
  void *workspace; /* mlaf_chunked_prefill_workspace bytes, 256-byte aligned. NULL with workspace_size 0: the stream's, which
                    * the context keeps (context.h) */
  size_t workspace_size;
  /* Words that may be read at `schedule`, as mlaf_chunked_prefill_schedule was told: a schedule that says more is refused. 0: it
   * is memory that only that function wrote, and what its head says is believed. */
  size_t schedule_words;
} mlaf_chunked_prefill_args;
#define MLAF_CHUNKED_PREFILL_ARGS_INIT \
  {.struct_size = sizeof(mlaf_chunked_prefill_args), .fresh = MLAF_PREFILL_ARGS_INIT, .cached = MLAF_GATHER_KV_B_ARGS_INIT}

/* Launches the whole prefill on `stream`. With a workspace of the caller's it never allocates, locks, waits or reads device
 * memory on the host: legal in graph capture, with the schedule that was captured. Without one it locks the stream's while it
 * launches, so that a call is one unit on its stream, and allocates where that has to grow (E_ARG while the stream captures). On
 * failure some launches may have gone out. Thread-safe. Threads that hand over a workspace need one each, also on one stream. */
MLAF_API mlaf_status mlaf_chunked_prefill_execute(const mlaf_chunked_prefill *chunked, const mlaf_chunked_prefill_args *args,
                                                  void *stream);

/* --- which form --- */

/* Returns the number of new tokens of one request from which on expanded keys and values are faster than the absorbed form
 * (mla_decode with many query tokens), over `keys` of context. It takes the first of these that is there:
 *
 *   the description's `crossover`
 *   a time measured on such a device over keys within four doublings, times the ratio that counting gives for the two
 *     (`mlaforge layer --crossover` times it; read from the database when the plans are made)
 *   the multiplications of both, where mla_prefill's come in tiles of its plan's rows, spread over the device's compute units in
 *     waves. Few heads have few tiles, so their crossover is further up
 *
 * INT64_MAX: never faster. Thread-safe. */
MLAF_API int64_t mlaf_chunked_prefill_crossover(const mlaf_chunked_prefill *chunked, int64_t keys);

/* Returns the crossover by counting multiplications alone, as if tiles could have any size: R (N+V) keys / (keys (2R - N - V) + R
 * (N+V)). */
MLAF_API int64_t mlaf_prefill_crossover(int32_t rank, int32_t nope, int32_t vdim, int64_t keys);

#endif
