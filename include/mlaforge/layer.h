/* mla_layer: an MLA layer in one call, from hidden states to hidden states. It is a plan of plans: its stages are problems of
 * other operations, planned together, with one workspace.
 *
 *   mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;             // DeepSeek-V3's dims; set cos, table_rows, batch_max, tp_size ...
 *   mlaf_layer_create(ctx, &d, weights, n, &layer);       // plans, compiles and loads all that may come
 *   mlaf_layer_args a = MLAF_LAYER_ARGS_INIT;             // hidden, positions, slots, block table, cache, out ...
 *   mlaf_layer_execute(layer, &a, stream);                // as often as you like, from any thread
 *
 * T tokens, B requests, d hidden size, H heads of this rank, L q_lora_rank, R kv_lora_rank, P rope, N nope, V value dim.
 *
 *   c = x W_a^T              [T, L+R+P]      mla_qkv_a    (one launch, or two where q_a and kv_a lie apart)
 *   Q = rms(c[:, :L]) W_qb^T [T, H, N+P]     mla_q_b      (without q_lora: Q = x W_q^T)
 *   Q = f Q, f of each token's position                   mla_q_scale  (with q_scale_beta alone)
 *   cache[slot] = (rms(c[:, L:L+R]), rope(c[:, L+R:]))    mla_append
 *   Qout = (Q_nope W_UK, rope(Q_pe)) [T, H, R+P]          mla_q_absorb
 *   u = attention(Qout, cache)       [T, H, R]            mla_decode
 *   o = u W_UV                       [T, H, V]            mla_v_out
 *   y = o W_o^T (+ residual)         [T, d]               mla_o_proj
 *
 * A layer with an indexer (index_heads: DeepSeek-V3.2, GLM-5) attends to the cached tokens that it selects. Before Q come
 *
 *   k = x W_k^T, w = x W_w^T, q = rms(c[:, :L]) W_iqb^T   mla_qkv_a, mla_qkv_a, mla_q_b
 *   keys of 8 bits into the indexer's cache; q of 8 bits  mla_index_append
 *   lists of rows, [T, index_topk]                        mla_index
 *
 * and mla_decode reads the rows of the lists alone.
 *
 * That is for few tokens a request. Many are a prefill (args.schedule): rows of the cache become keys and values of each head,
 * and new tokens attend to them. What requests had cached before goes in chunks, so the workspace is bounded.
 *
 *   W_kvb of 8 bits in 16                                 mla_dequant  (where matrices have 8 bits, kv_b_proj among them)
 *   cache as above; Q_pe turned in place                  mla_append
 *   (k, v) = W_kvb latent, k_pe      [T, H, N+V]          mla_gather_kv_b, of the new tokens
 *   o = attention(Q, k, k_pe, v)     [T, H, V]            mla_prefill; then mla_gather_kv_b, mla_prefill and mla_merge for each
 *                                                         chunk of what was cached (mlaforge/chunked_prefill.h) */
#ifndef MLAFORGE_LAYER_H
#define MLAFORGE_LAYER_H

#include <stddef.h>
#include <stdint.h>

#include "mlaforge/operation.h"

/* Opaque, immutable. Thread-safe: any number of threads may execute one layer at once, on one stream or on several, each with its
 * own outputs, its own slots of the cache, and its own workspace or none (mlaf_layer_execute). */
typedef struct mlaf_layer mlaf_layer;

/* Rope styles: what turns together are columns 2i and 2i+1; i and i + P/2; none. */
enum { MLAF_LAYER_PAIRS = 0, MLAF_LAYER_HALVES, MLAF_LAYER_UNROTATED };
/* Encodings of matrices: as all tensors of the layer, or e4m3 with a scale for each 128 x 128. */
enum { MLAF_LAYER_WEIGHTS_16 = 0, MLAF_LAYER_E4M3FN, MLAF_LAYER_E4M3FNUZ };
enum {
  MLAF_LAYER_RESIDUAL = 1u << 0,    /* a row of hidden states is added to the output. With tensor parallelism on one rank only */
  MLAF_LAYER_SPLIT_CACHE = 1u << 1, /* latent and rope columns of the cache are two tensors */
  MLAF_LAYER_TABLE_16 = 1u << 2,    /* cosines and sines are of the layer's dtype; else fp32 */
  MLAF_LAYER_NO_NORMS = 1u << 3,    /* neither low-rank queries nor the latent are normed, and there are no weights of norms */
  MLAF_LAYER_ROPE_ON_READ = 1u << 4, /* rope columns are cached as they are, and turned to their position by attention; the table
                                      * of rotations is dense and fp32 */
  MLAF_LAYER_KV_B_16 = 1u << 5,     /* where matrices have 8 bits, kv_b_proj alone is of the layer's dtype. Of 8 bits it is
                                      * dequantised in the workspace of each prefill, by a separate kernel */
  MLAF_LAYER_APPEND_APART = 1u << 6, /* deprecated: accepted and ignored until 1.0, as which stages share a kernel is tuned
                                      * (`mlaforge tune layer`). So are MLAF_LAYER_ABSORB_APART, MLAF_LAYER_V_OUT_APART and
                                      * MLAF_LAYER_DEQUANT_MANY */
  MLAF_LAYER_ROWS_ANYWHERE = 1u << 7, /* slots may be other rows that the call attends to than each request's last ones, as many
                                      * as it has query tokens. Attention then reads no row before all are written */
  MLAF_LAYER_ABSORB_APART = 1u << 8, /* deprecated: accepted and ignored until 1.0 */
  MLAF_LAYER_V_OUT_APART = 1u << 9, /* deprecated: accepted and ignored until 1.0 */
  /* The next three, and MLAF_LAYER_KEEP_NEVER, are about matrices of 8 bits, and have no effect on others. Without them a call
   * multiplies by 8 bits, or makes each matrix but kv_b_proj 16 bits in the workspace first, which rounds weights once more: as
   * was tuned, else whichever is estimated to be faster with more than 128 tokens.
   * And a layer whose calls (not prefills) may have more than 64 or 128 tokens keeps 16-bit copies of some matrices where that
   * was measured to be faster (tuning/layer-stages.tsv, docs/layer.md: on Hopper q_a_proj and kv_a_proj_with_mqa,
   * 2 (L + R + P) d bytes, with q_b_proj, 2 H (N + P) L bytes, o_proj, 2 H V d bytes, kv_b_proj, 2 H (N + V) R bytes, or
   * several, by the rank's heads H). They are made when the layer is created, in device memory that it allocates, as
   * MLAF_LAYER_KEEP_16's are. Where there is no memory it does without. Who changes weights in place calls
   * mlaf_layer_weights_changed. */
  MLAF_LAYER_DEQUANT_MANY = 1u << 10, /* deprecated: accepted and ignored until 1.0 */
  MLAF_LAYER_KEEP_16 = 1u << 11,    /* all matrices are dequantised when the layer is created, in device memory that it
                                      * allocates: 2 bytes for each weight of this rank. A call goes by these or by 8 bits,
                                      * whichever is estimated to be faster for its tokens; with MLAF_PLAN_BATCH_INVARIANT
                                      * every call by these. The weights must be there when the layer is created; who changes
                                      * them calls mlaf_layer_weights_changed */
  MLAF_LAYER_DEQUANT_NEVER = 1u << 12, /* products by 8 bits alone: no weight is rounded, except an 8-bit
                                      * kv_b_proj's in a prefill. E_ARG with MLAF_LAYER_KEEP_16 */
  /* The next three are about an indexer. */
  MLAF_LAYER_INDEX_16 = 1u << 13,   /* where matrices have 8 bits, its wq_b and wk are of the layer's dtype */
  MLAF_LAYER_INDEX_HADAMARD = 1u << 14, /* its queries and keys are multiplied by the Hadamard matrix (mla_index_append.h) */
  MLAF_LAYER_INDEX_FP32_SCALES = 1u << 15, /* scales of its queries and keys are any numbers; else powers of two (ue8m0) */
  MLAF_LAYER_KEEP_NEVER = 1u << 16 /* the layer keeps no copy of a matrix. E_ARG with MLAF_LAYER_KEEP_16 */
};

/* A tensor of weights on the device, by its name in a checkpoint; what stands before the last two words is not looked at
 * ("model.layers.3.self_attn.q_a_proj.weight"). A bare vector has rows 1. */
typedef struct mlaf_layer_weight {
  const char *name;
  const void *data;   /* of the layer's dtype, a matrix of 8 bits bytes, its scales fp32; 16-byte aligned, scales 4 */
  int64_t rows, cols;
  int64_t row_stride; /* elements, a multiple of 16 bytes but for scales; 0: cols */
} mlaf_layer_weight;
/* Names, [rows, cols]. q_b, kv_b and o may be whole or this rank's part, their shape tells which; the whole is read in place.
 *   q_a_proj.weight            [L, d]        with q_lora
 *   q_a_layernorm.weight       [L]           with q_lora
 *   q_b_proj.weight            [H(N+P), L]   with q_lora; q_proj.weight [H(N+P), d] without
 *   kv_a_proj_with_mqa.weight  [R+P, d]
 *   kv_a_layernorm.weight      [R]
 *   kv_b_proj.weight           [H(N+V), R]
 *   o_proj.weight              [d, H V]
 * fused_qkv_a_proj_with_mqa.weight [L+R+P, d] may stand in place of q_a_proj and kv_a_proj_with_mqa: one launch in place of two.
 * So do these two where the second's first row follows the first's last, at one row stride.
 * With an indexer, I = index_heads, each whole on every rank:
 *   wq_b.weight                [128 I, L]
 *   wk.weight                  [128, d]
 *   weights_proj.weight        [I, d]        always of the layer's dtype
 *   k_norm.weight, k_norm.bias [128]         fp32
 * Where wk follows kv_a_proj_with_mqa in memory, weights_proj wk, and q_a_proj and kv_a_proj_with_mqa are one launch, all four
 * are, if they have 16 bits.
 * A matrix of 8 bits has its scales beside it, q_a_proj.weight_scale_inv [rows/128, cols/128], rounded up, of the whole where it
 * is whole. q_a_proj and kv_a_proj_with_mqa are one launch where their scales follow each other, too, and L is a multiple of
 * 128. */

/* A layer: all that its plans depend on, and what is constant. */
typedef struct mlaf_layer_desc {
  uint32_t struct_size; /* sizeof(mlaf_layer_desc), set by MLAF_LAYER_DESC_INIT */
  uint32_t flags;       /* MLAF_LAYER_* */
  int32_t hidden;       /* d */
  int32_t heads;        /* of the whole model */
  int32_t q_rank;       /* L; 0: no q_lora */
  int32_t rank, rope, nope, v;
  int32_t dtype;        /* mlaf_dtype of all tensors */
  int32_t rope_style;   /* MLAF_LAYER_PAIRS ... */
  int32_t tp_rank, tp_size; /* heads are shared out evenly; the outputs of all ranks add up to the layer's */
  int32_t page_size;    /* tokens of a page of the cache */
  /* Ranges of the calls to come: plans are made for them, and calls outside of them are refused. */
  int32_t batch_max;    /* most requests of a call */
  uint32_t q_lens;      /* bit q-1: calls of up to q query tokens a request. 1: q_len 1 alone; 1 | 1 << 3: 1 and 4 */
  int32_t ctx_min, ctx_max; /* cached tokens of a request, about: plans are made for ctx_max, and halves of it down to ctx_min.
                         * A call takes the nearest (its args' ctx). Requests of any length are served. ctx_min 0: ctx_max */
  int32_t table_width;  /* most entries in a row of a block table, for the workspace; 0: pages of ctx_max */
  int32_t prefill_tokens; /* most new tokens of a prefill, of all its requests together; 0: there are none */
  int32_t prefill_chunk; /* cached tokens that become keys and values at a time, of all its requests: it bounds the workspace.
                          * 0: 16384 */
  float eps;            /* of both norms */
  float scale;          /* softmax scale, positive. 0: 1/sqrt(N+P), wrong for models with YaRN's mscale */
  /* Rotations: [table_rows, P/2] cosines and sines by position; sin NULL: a row of cos has its P/2 sines behind. */
  const void *cos, *sin;
  int64_t table_row_stride; /* elements; 0: P/2, or P where sin is NULL */
  int64_t table_rows;
  const mlaf_plan_opts *plan; /* NULL: MLAF_PLAN_OPTS_INIT. With MLAF_PLAN_BATCH_INVARIANT a request's output has the same bits
                               * in any call: stages are separate kernels, and every step takes the plan for the most query
                               * tokens */
  int32_t weights;      /* MLAF_LAYER_WEIGHTS_16, MLAF_LAYER_E4M3FN ...: of all matrices */
  int32_t prefill_crossover; /* what mlaf_layer_prefill_crossover shall say; 0: it finds out */
  /* Queries times 1 + q_scale_beta ln(1 + floor(position / q_scale_original)), as Mistral-Large-3 and Mistral-Small-4 have them
   * ("llama_4_scaling" of their configs). 0: they are not scaled. With a factor positions matter without rotations, too. */
  float q_scale_beta;        /* 0..MLAF_Q_SCALE_BETA_MOST of mla_q_scale.h */
  int32_t q_scale_original;  /* 1 and up where q_scale_beta is not 0 */
  /* A cache of 8 bits, with one scale for all (e4m3fn, e4m3fnuz, kpe16), or with scales that its tokens hold (fp8_ds_mla,
   * fp8_scales, fp8_planar, fp8_planar_fnuz), which are powers of two. Formats of two tensors have the second one in cache_kpe.
   * Not with MLAF_LAYER_SPLIT_CACHE or MLAF_LAYER_ROPE_ON_READ. */
  int32_t cache_format;      /* mlaf_kv_format. 0: the layer's dtype */
  int32_t reserved;          /* 0 */
  const float *cache_scale;  /* on the device: a value is stored as value / scale, read as stored x scale. NULL: 1. Of
                              * formats with one scale only */
  /* Each query token attends to the index_topk cached tokens that an indexer selects, this layer's or another one's whose lists
   * calls hand over (`indices`). It wants rotated keys; there is no prefill. An indexer wants q_lora and 64 rope columns, and its
   * calls a block table. */
  int32_t index_heads;       /* 32 or 64; 0: no indexer here */
  int32_t index_topk;        /* 1 and up; 0: each query token attends to all tokens before it */
  int32_t index_style;       /* MLAF_LAYER_PAIRS or MLAF_LAYER_HALVES: of its own rope columns, the first 64 of 128 */
  float index_eps;           /* of its key's LayerNorm; 0: 1e-6 */
} mlaf_layer_desc;
#define MLAF_LAYER_DESC_INIT                                                                                                  \
  {                                                                                                                           \
    .struct_size = sizeof(mlaf_layer_desc), .hidden = 7168, .heads = 128, .q_rank = 1536, .rank = 512, .rope = 64,            \
    .nope = 128, .v = 128, .tp_size = 1, .page_size = 64, .batch_max = 1, .q_lens = 1, .ctx_max = 1024, .eps = 1e-6f          \
  }

/* Problem strings of all plans that a layer of this description makes with batches and contexts in powers of two: what a bundle
 * wants that is to serve it. The i-th, NUL-terminated, in `out` (MLAF_PROBLEM_TEXT_MAX bytes); "" past the end. `joined`: 1: q_a
 * and kv_a are one tensor; 2: with the indexer's wk and weights_proj behind them; 0: all lie apart. Needs no device, looks at no
 * pointer. E_ARG, E_PROBLEM with a detail in `why` (may be NULL). Thread-safe. */
MLAF_API mlaf_status mlaf_layer_problem_at(const mlaf_layer_desc *desc, int joined, size_t i, char *out, size_t out_size,
                                           char *why, size_t why_size);

/* Check weights, and make every plan that may be wanted (layers of one shape share them: the second costs microseconds).
 * Weights and tables stay where they are and must outlive the layer. Nothing is copied but matrices of 8 bits
 * (MLAF_LAYER_KEEP_16, MLAF_LAYER_KEEP_NEVER), from the weights as they are now; mlaf_layer_weights_changed makes them anew.
 * Errors: E_ARG (the field, or the weight that is missing or wrong, by its name), those of mlaf_plan_for; the detail is in
 * mlaf_ctx_last_message. */
MLAF_API mlaf_status mlaf_layer_create(mlaf_ctx *ctx, const mlaf_layer_desc *desc, const mlaf_layer_weight *weights,
                                       size_t n_weights, mlaf_layer **out);
/* None of its launches may be in flight. NULL is allowed. */
MLAF_API void mlaf_layer_destroy(mlaf_layer *layer);

/* Bytes of device memory that the layer's 16-bit copies of 8-bit matrices take; 0: it has none. Thread-safe. */
MLAF_API size_t mlaf_layer_copies_size(const mlaf_layer *layer);
/* Weights were changed in place: launches on `stream` (the device's; NULL: its default one), behind all that is there, make the
 * layer's 16-bit copies from them anew, and return without waiting. Later calls on that stream, and replays of graphs captured
 * before, take the new ones. None of the layer's calls may run on another stream meanwhile. A layer without copies launches
 * nothing. Legal in graph capture. Failures: those of a launch; the detail is in mlaf_ctx_last_message. Thread-safe. */
MLAF_API mlaf_status mlaf_layer_weights_changed(const mlaf_layer *layer, void *stream);

enum {
  /* Set for all layers of a step but the first: block_table, seq_lens and qo_indptr say what they said at the call before on this
   * stream, of this layer or another one, with the same batch, tokens, width, page_size, page_rows and num_pages, and the
   * workspace is that one, untouched since. Then what that call made of them is taken, and this one has no launch for them. The
   * first call of a step must not have the flag: what it would take is of the step before. Where tables are lists it says
   * nothing. */
  MLAF_LAYER_SAME_TABLES = 1u << 0
};
/* One call. Device pointers of the layer's device, tensors 16-byte aligned and of the layer's dtype; strides in elements, those
 * of tensors a multiple of 8, 0: dense. Everything behind them is read on the device at each launch. */
typedef struct mlaf_layer_args {
  uint32_t struct_size;  /* sizeof(mlaf_layer_args), set by MLAF_LAYER_ARGS_INIT */
  uint32_t flags;        /* 0, or MLAF_LAYER_SAME_TABLES */
  int32_t batch;         /* B: 0 .. batch_max */
  int32_t q_len;         /* most query tokens of a request: 1 .. the largest of q_lens */
  int64_t tokens;        /* T; 0: B q_len */
  const void *hidden;    /* [T, d] */
  int64_t hidden_token_stride;
  void *out;             /* [T, d]; may be hidden */
  int64_t out_token_stride;
  const void *residual;  /* [T, d]; with MLAF_LAYER_RESIDUAL only; may be hidden or out */
  int64_t residual_token_stride;
  const int64_t *positions; /* [T] rows of the tables; also what queries are scaled by */
  const int64_t *slots;  /* [T] rows of the cache, page * page_size + offset; outside of it nothing is written: -1 for padding */
  void *cache;           /* rows of R+P, of a split cache R; of 8 bits a token's bytes */
  void *cache_kpe;       /* rows of P, of a split cache only; of cache_format what it has there (docs/append.md) */
  int64_t cache_row_stride, cache_kpe_row_stride; /* of a cache of 8 bits in bytes, a multiple of 16 */
  int32_t num_pages;     /* of the cache */
  int32_t ctx;           /* cached tokens of a request, about: which plan serves. 0: ctx_max */
  int64_t page_rows;     /* rows from a page to the next where there are gaps, a multiple of page_size; 0: page_size. With
                          * fp8_planar, whose rows are R bytes, those that hold what lies behind them count, and it is any
                          * number from as many on as a page has; 0: so many */
  /* Which pages a request has: a block table and lengths, which count the new tokens ... */
  const int32_t *block_table; /* [B] rows of page ids */
  const int32_t *seq_lens;    /* [B]; 0: an empty request, whose rows of out mean nothing (0 and the residual) */
  int64_t block_table_stride; /* 0: block_table_width */
  int32_t block_table_width;  /* entries in a row */
  int32_t reserved;           /* 0 */
  /* ... or lists: one launch less, unless MLAF_LAYER_SAME_TABLES is given. */
  const int32_t *kv_indptr, *kv_indices, *kv_last_page_lens; /* [B+1], [kv_indptr[B]], [B] */
  int64_t kv_indices_size;    /* entries of kv_indices; wanted with page_rows */
  const int32_t *qo_indptr;   /* [B+1] query tokens. Lists want it; with a block table NULL: T/B for each request */
  /* A prefill: any number of new tokens a request, T in all, one request's behind the other's. It wants a schedule and the pages
   * of each request; batch and tokens are the schedule's or 0, and q_len, batch_max, seq_lens, kv_last_page_lens and qo_indptr
   * say nothing. */
  const int32_t *schedule;        /* that mlaf_layer_prefill_schedule wrote, on the host; NULL: no prefill */
  const int32_t *schedule_device; /* the same words on the device */
  void *workspace;            /* mlaf_layer_workspace_size bytes, 256-byte aligned; contents do not matter. NULL with
                               * workspace_size 0: the stream's, which the context keeps (context.h); not with
                               * MLAF_LAYER_SAME_TABLES */
  size_t workspace_size;
  /* Words that may be read at `schedule`, as mlaf_layer_prefill_schedule was told: a schedule that says more is refused. 0: it is
   * memory that only that function wrote, and what its head says is believed. */
  size_t schedule_words;
  /* The cache of the indexer: as many pages as `cache`, whose ids and slots are the same. A page is page_size keys of 128 bytes,
   * then as many fp32 scales. */
  void *index_cache;
  int64_t index_page_stride;  /* bytes from a page to the next, a multiple of 16; 0: 132 page_size */
  /* [T, index_topk] rows of the cache, dense: mla_index's. With an indexer they are written here; NULL: to the workspace. Without
   * one they are read: another layer's, whose cache has the same pages and slots. */
  int32_t *indices;
} mlaf_layer_args;
#define MLAF_LAYER_ARGS_INIT \
  { .struct_size = sizeof(mlaf_layer_args), .q_len = 1 }

/* Bytes of workspace for a call, of whose arguments only the sizes are looked at (and whether there is a block table). NULL: for
 * any call in the description's range. SIZE_MAX where the arguments are none it would take. Layers that one thread runs one after
 * another on a stream may share a workspace. Thread-safe. */
MLAF_API size_t mlaf_layer_workspace_size(const mlaf_layer *layer, const mlaf_layer_args *args);

/* A prefill's schedule: which cached tokens are in which chunk. The host makes it once a step, for all layers of one shape, from
 * lengths it knows; the caller copies it to the device. new_tokens[r] new ones behind context_tokens[r] cached ones, each 0 and
 * up. Words that it takes; 0: these are no such numbers, or the layer has no prefill. Thread-safe. */
MLAF_API size_t mlaf_layer_prefill_words(const mlaf_layer *layer, int32_t batch, const int32_t *new_tokens,
                                         const int32_t *context_tokens);
/* Write it. E_ARG with a detail in mlaf_ctx_last_message. Thread-safe. */
MLAF_API mlaf_status mlaf_layer_prefill_schedule(const mlaf_layer *layer, int32_t batch, const int32_t *new_tokens,
                                                 const int32_t *context_tokens, int32_t *out, size_t words);

/* New tokens of one request over `context_tokens` from which on a prefill is faster than the same tokens as requests of few query
 * tokens each over the same pages (mlaforge/chunked_prefill.h says how that is known). INT64_MAX: never, or the layer has no
 * prefill. Thread-safe. */
MLAF_API int64_t mlaf_layer_prefill_crossover(const mlaf_layer *layer, int64_t context_tokens);

/* Launch on `stream` (the device's; NULL: its default one) and return without waiting. With a workspace of the caller's it never
 * allocates, compiles, locks, logs or synchronises on success: legal in graph capture; replays read lengths, tables, slots and
 * positions anew (a prefill's lengths are its schedule's, which a capture fixes). But the first call with a set of kernels,
 * outside of a capture, makes their CUDA graph: a millisecond or so, and memory (MLAF_LAUNCH_GRAPHS=0: none). Without a workspace
 * it locks the stream's while it launches, so that a call is one unit on its stream, and allocates where that has to grow (E_ARG
 * while the stream captures).
 * 0 tokens: nothing is launched. E_ARG names the argument; the detail is in mlaf_ctx_last_message.
 * Thread-safe. Threads that hand over a workspace need one each, also on one stream. */
MLAF_API mlaf_status mlaf_layer_execute(const mlaf_layer *layer, const mlaf_layer_args *args, void *stream);

/* --- looking inside: for profiles and tests --- */

typedef struct mlaf_layer_stage {
  uint32_t struct_size;    /* sizeof(mlaf_layer_stage), set by MLAF_LAYER_STAGE_INIT; only that many bytes are written */
  int32_t reserved;
  const char *name;        /* "qkv_a", "q_a", "kv_a", "q_b", "q_scale", "append", "q_absorb", "decode", "v_out", "o_proj"; with an
                            * indexer "index_k", "index_w", "index_q", "index_append", "index"; of a prefill also "dequant",
                            * "gather", "prefill" */
  const char *operation;   /* "mla_qkv_a" */
  const mlaf_plan *plan;   /* that serves the call: mlaf_plan_query says variant, rung and problem. Borrowed from the layer */
  size_t output_at, output_bytes; /* its output in the workspace, dense; output_bytes 0: in a tensor of the caller's */
  double bytes, flops;     /* the least that it must move and compute for this call, with requests of args->ctx tokens; 0: it
                            * launches nothing, and another stage of that plan has its work */
} mlaf_layer_stage;
#define MLAF_LAYER_STAGE_INIT \
  { .struct_size = sizeof(mlaf_layer_stage) }

/* The most stages that a call for few tokens a request has (with MLAF_LAYER_KEEP_16 some calls have fewer). mlaf_layer_stage_at
 * numbers the stages of these calls and of a prefill; it refuses the first number past the end. */
MLAF_API size_t mlaf_layer_stages(const mlaf_layer *layer);
/* Stage i of a call with these sizes (as mlaf_layer_workspace_size's). E_ARG past the end. Thread-safe. */
MLAF_API mlaf_status mlaf_layer_stage_at(const mlaf_layer *layer, size_t i, const mlaf_layer_args *args, mlaf_layer_stage *out);
/* Stage i of a call alone: mlaf_layer_execute is all of them in order. Each finds in the workspace what those before it left, the
 * first one's also what became of a block table: hand over a workspace. */
MLAF_API mlaf_status mlaf_layer_execute_stage(const mlaf_layer *layer, size_t i, const mlaf_layer_args *args, void *stream);

#endif
