/* Inside a layer: its shape, its weights, its plans. */
#pragma once

#include "layer/choice.h"
#include "layer/chunked.h"
#include "mlaforge/layer.h"
#include "mlaforge/mla_append.h"
#include "mlaforge/mla_dequant.h"
#include "mlaforge/mla_index.h"
#include "mlaforge/mla_index_append.h"
#include "mlaforge/mla_q_scale.h"
#include "mlaforge/projection.h"
#include "op/cache_format.h"
#include "op/calls.h"
#include "plan/plan.h"

/* The form of a call: absorbed, for few tokens a request, or a prefill. */
typedef enum layer_form { FORM_ABSORBED, FORM_PREFILL, LAYER_FORMS } layer_form;

/* Matrices that may become 16 bits (layer_matrices). A layer has MATRIX_QKV_A, or MATRIX_KV_A and, with q_lora, MATRIX_Q_A. The
 * last two are the parts of kv_b: copied as one tensor, and never dequantised in the workspace for decode. */
enum { MATRIX_QKV_A, MATRIX_Q_A, MATRIX_KV_A, MATRIX_Q_B, MATRIX_O, MATRIX_UK, MATRIX_UV, LAYER_MATRICES };
/* Kernels of a layer, and stages, which are one or several of them (layer_parts_of). A layer has either qkv_a or kv_a, with q_a
 * in front where there is a q_lora. */
typedef enum layer_kind {
  STAGE_QKV_A,
  STAGE_Q_A,
  STAGE_KV_A,
  STAGE_Q_B,
  STAGE_Q_B_APPEND,        /* as a stage: this kernel, or q_b and append */
  STAGE_Q_B_APPEND_ABSORB, /* as a stage: this kernel, or those of STAGE_Q_B_APPEND and q_absorb */
  STAGE_Q_SCALE,           /* queries times a factor of their positions, in place */
  STAGE_DEQUANT_KV_B,      /* kv_b of 8 bits becomes 16 bits, which whatever gathers reads */
  STAGE_APPEND,
  STAGE_APPEND_ROPE_Q, /* append, and the rope columns of queries are rotated in place. Where keys are rotated on read,
                        * STAGE_APPEND follows */
  STAGE_Q_ABSORB,
  STAGE_DECODE,
  STAGE_V_OUT,
  STAGE_GATHER,  /* keys and values of the new tokens */
  STAGE_PREFILL, /* a chunked prefill */
  STAGE_O_PROJ,
  /* An indexer's: keys and weights of hidden states, queries of the low-rank ones, what becomes of them, lists. */
  STAGE_INDEX_K,
  STAGE_INDEX_W,
  STAGE_INDEX_Q,
  STAGE_INDEX_APPEND,
  STAGE_INDEX,
  /* A product whose matrix is dequantised first is two kernels: one that makes it 16 bits, and the product by these. Each
   * LAYER_MATRICES of them. */
  STAGE_DEQUANT_WEIGHTS,
  STAGE_PRODUCT_16 = STAGE_DEQUANT_WEIGHTS + LAYER_MATRICES,
  LAYER_STAGES = STAGE_PRODUCT_16 + LAYER_MATRICES
} layer_kind;

/* Tensors that stages read and write. */
typedef enum layer_value {
  TENSOR_HIDDEN,   /* the caller's; it is never written */
  TENSOR_Q_LOW,    /* low-rank queries, and behind them in the same rows */
  TENSOR_LATENT,   /* the latent and its rope columns */
  TENSOR_Q,        /* query heads */
  TENSOR_Q_LATENT, /* in the latent space */
  TENSOR_CACHE,    /* the caller's, with the new rows */
  TENSOR_SUMS,     /* attention's, latent */
  TENSOR_KV_B,     /* kv_b of 16 bits */
  TENSOR_KEYS,     /* keys and values of the new tokens */
  TENSOR_VALUES,
  TENSOR_OUT, /* the caller's */
  TENSOR_INDEX_K, /* the indexer's: keys, weights and queries as projections leave them, */
  TENSOR_INDEX_W,
  TENSOR_INDEX_Q,
  TENSOR_INDEX_Q8,    /* queries of 8 bits, with weights and lengths */
  TENSOR_INDEX_CACHE, /* the caller's, with the new keys */
  TENSOR_LISTS,       /* rows of the cache that each query token attends to */
  LAYER_VALUES
} layer_value;

enum { LAYER_Q_LENS = 32, LAYER_CTXS = 32, LAYER_ALIGN = 256, LAYER_ELEMENT = 2 };
enum { LAYER_INDEX_COLUMNS = 128, LAYER_INDEX_ROPE = 64, LAYER_INDEX_TOKEN = 132 }; /* of a key; bytes of a cached one */

/* Matrices of hidden states that lie, or are, like one tensor: one product. */
typedef enum layer_join {
  JOIN_NONE,
  JOIN_A,      /* q_a and kv_a; also without q_lora */
  JOIN_A_INDEX /* behind them the indexer's wk and weights_proj */
} layer_join;

typedef struct layer_shape {
  mlaf_layer_desc d; /* checked: what may be left to us is filled in */
  int32_t heads;     /* of this rank */
  bool joined;       /* q_a and kv_a in one launch */
  bool index_joined; /* and in the same one the indexer's keys and weights, which stand behind the latent's rope columns */
  bool absorbs;      /* there are plans of STAGE_Q_B_APPEND_ABSORB */
  bool dequantises;  /* matrices of 8 bits become 16 bits where ALT_DEQUANT_WEIGHTS is taken */
  uint16_t keeps;    /* a bit for each alternative whose copies there are, from ALT_KEPT_A on */
  int32_t index_weights; /* encoding of the indexer's wq_b and wk, as d.weights */
  bool invariant;    /* batch-invariant: no kernel may depend on how many tokens a call has */
  layer_choices choices;
  layer_kind kinds[LAYER_FORMS][LAYER_STAGES]; /* in the order of a call */
  int n[LAYER_FORMS];                         /* of FORM_PREFILL 0: it is not planned */
} layer_shape;
/* Bytes of an element of kv_b, and of the other matrices. */
static inline int layer_matrix_bytes(const layer_shape *s) { return s->d.weights ? 1 : LAYER_ELEMENT; }
static inline int layer_kv_b_bytes(const layer_shape *s) {
  return s->d.weights && !(s->d.flags & MLAF_LAYER_KV_B_16) ? 1 : LAYER_ELEMENT;
}
/* True if prefills want a kv_b of 16 bits where decode reads one of 8. */
static inline bool layer_dequantises_kv_b(const layer_shape *s) { return s->d.prefill_tokens && layer_kv_b_bytes(s) == 1; }
static inline int64_t layer_kv_b_rows(const layer_shape *s) { return (int64_t)s->heads * (s->d.nope + s->d.v); }
/* True if a call of so many tokens takes the alternative. */
static inline bool layer_takes(const layer_shape *s, layer_alternative alt, int64_t tokens) {
  const layer_choice stored = s->choices.stored[layer_class_of(tokens)];
  return stored ? stored >> alt & 1 : tokens >= s->choices.by_default[alt].from && tokens <= s->choices.by_default[alt].to;
}
/* True if a call of so many tokens dequantises the matrices but kv_b. */
static inline bool layer_dequantises_weights(const layer_shape *s, int64_t tokens) {
  return s->dequantises && layer_takes(s, ALT_DEQUANT_WEIGHTS, tokens);
}
/* True if the layer multiplies by copies of that alternative that were made with it. Stored choices say nothing of it. */
static inline bool layer_keeps(const layer_shape *s, layer_alternative alt, int64_t tokens) {
  return s->keeps >> alt & 1 && tokens >= s->choices.by_default[alt].from && tokens <= s->choices.by_default[alt].to;
}
/* A kernel that makes a matrix 16 bits, whose plan is for any number of tokens. */
static inline bool layer_is_dequant(layer_kind k) {
  return k == STAGE_DEQUANT_KV_B || (k >= STAGE_DEQUANT_WEIGHTS && k < STAGE_PRODUCT_16);
}

/* --- stages.c: the graph --- */

const char *layer_stage_name(layer_kind kind);
const char *layer_operation(layer_kind kind);
/* The tensor that a profile looks at; TENSOR_HIDDEN: none in the workspace. */
layer_value layer_output_of(layer_kind kind);
/* The stage that a kernel of STAGE_DEQUANT_WEIGHTS or STAGE_PRODUCT_16 belongs to; others themselves. */
layer_kind layer_stage_of(layer_kind kind);
/* Matrices that may become 16 bits. The i-th one's kernels are STAGE_DEQUANT_WEIGHTS + i, which makes it so, and
 * STAGE_PRODUCT_16 + i. */
typedef struct layer_matrix_row {
  layer_kind product;
  layer_alternative kept; /* by which a layer keeps a copy of it */
} layer_matrix_row;
extern const layer_matrix_row layer_matrices[LAYER_MATRICES];
/* The index of a product's matrix; -1: of another stage. */
int layer_matrix_of(layer_kind product);
/* True for a tensor of the layer's own that the i-th matrix is; false for parts of kv_b. */
bool layer_has_matrix(const layer_shape *s, int i);
/* The matrix of a product. */
typedef struct layer_extent {
  int64_t rows, columns;
} layer_extent;
layer_extent layer_matrix(const layer_shape *s, layer_kind stage);
/* Columns of low-rank queries and latent, and of the indexer's keys and weights where they are of the same product. */
static inline int32_t layer_index_row(const layer_shape *s) {
  return s->index_joined ? LAYER_INDEX_COLUMNS + s->d.index_heads : 0;
}
static inline int64_t layer_latent_end(const layer_shape *s) { return s->d.q_rank + s->d.rank + s->d.rope; }
static inline int64_t layer_c_row(const layer_shape *s) { return layer_latent_end(s) + layer_index_row(s); }
static inline int32_t layer_q_row(const layer_shape *s) { return s->d.nope + s->d.rope; }
static inline int32_t layer_kv_row(const layer_shape *s) { return s->d.rank + s->d.rope; }
/* The cache's format (op/cache_format.h), and elements of a row of its tensor. */
static inline const mlaf_cache_format *layer_format_of(const mlaf_layer_desc *d) {
  static const int of[] = {MLA_DECODE_FORMATS}; /* paged, split, then by their numbers in mlaf_kv_format */
  return mlaf_cache_format_at(of[d->cache_format ? d->cache_format + 1 : d->flags & MLAF_LAYER_SPLIT_CACHE ? 1 : 0]);
}
static inline const mlaf_cache_format *layer_format(const layer_shape *s) { return layer_format_of(&s->d); }
static inline int64_t layer_cache_row(const layer_shape *s) {
  return mlaf_format_row(layer_format(s), s->d.rank, s->d.rope);
}
/* Elements of a row of its second tensor; 0: there is none, or no such columns. */
static inline int64_t layer_kpe_row(const layer_shape *s) { return mlaf_format_second(layer_format(s), s->d.rank, s->d.rope); }
static inline bool layer_rotates(const layer_shape *s) { return s->d.rope && s->d.rope_style != MLAF_LAYER_UNROTATED; }
static inline bool layer_rotates_on_read(const layer_shape *s) {
  return layer_rotates(s) && s->d.flags & MLAF_LAYER_ROPE_ON_READ;
}
static inline bool layer_scales(const layer_shape *s) { return s->d.q_scale_beta > 0; }
static inline bool layer_plans_q_len(const layer_shape *s, int q_len) { return s->d.q_lens >> (q_len - 1) & 1; }
int32_t layer_q_len_most(const layer_shape *s);
/* --- over lists attention is planned for query tokens: each is a request of one token --- */
static inline bool layer_lists(const layer_shape *s) { return s->d.index_topk > 0; }
/* It has an indexer, which makes them. */
static inline bool layer_indexes(const layer_shape *s) { return s->d.index_heads > 0; }
static inline bool layer_plans_decode(const layer_shape *s, int q_len) {
  return layer_lists(s) ? q_len == 1 : layer_plans_q_len(s, q_len);
}
static inline int32_t layer_decode_batch_most(const layer_shape *s) {
  return layer_lists(s) ? s->d.batch_max * layer_q_len_most(s) : s->d.batch_max;
}
static inline int32_t layer_decode_ctx_most(const layer_shape *s) { return layer_lists(s) ? s->d.index_topk : s->d.ctx_max; }
static inline int32_t layer_decode_ctx_least(const layer_shape *s) { return layer_lists(s) ? s->d.index_topk : s->d.ctx_min; }
/* The stages of both forms, by the description and `absorbs`. */
void layer_order_stages(layer_shape *s);
/* True if for some tokens queries become latent in q_b's kernel, as far as choices say. */
bool layer_shape_may_absorb(const layer_shape *s);
void layer_shape_set_absorb(layer_shape *s, bool absorbs);
/* The kernels of a stage in a call of so many tokens; their number. */
enum { LAYER_PARTS = 4 };
int layer_parts_of(const layer_shape *s, layer_kind kind, int64_t tokens, layer_kind out[LAYER_PARTS]);
/* True if every kernel of a call finds what it reads written before it, and the output is written. */
bool layer_stages_are_bound(const layer_shape *s, layer_form form, int64_t tokens);
/* True if some call of so many tokens launches this kernel; the fewest and the most tokens that do, not each number between. 0 as
 * the most: no call does. */
bool layer_launches(const layer_shape *s, layer_kind kind, int64_t tokens);
int64_t layer_rows_least(const layer_shape *s, layer_kind kind);
int64_t layer_rows_most(const layer_shape *s, layer_kind kind);
/* True if attention's plan for so many tokens may make values, where there is such a kernel. */
static inline bool layer_may_fuse_v_out(const layer_shape *s, int64_t tokens) { return layer_takes(s, ALT_DECODE_V_OUT, tokens); }

/* --- shape.c: the description, and stages as problems --- */

mlaf_status layer_shape_take(const mlaf_layer_desc *desc, layer_join join, layer_shape *out, mlaf_err *err);
/* A stage as a problem; sizes are 1. q_len is looked at by STAGE_DECODE alone. */
mlaf_status layer_point(const layer_shape *s, layer_kind kind, int q_len, mlaf_point *out, mlaf_err *err);
/* The point with its sizes: tokens, or batch and ctx. */
void layer_point_size(mlaf_point *p, const char *field, int64_t value);
/* The chunked prefill that STAGE_PREFILL plans; options of plans are not set. */
mlaf_chunked_prefill_desc layer_chunked(const layer_shape *s);
/* Sets the tokens of a stage other than STAGE_DECODE. */
void layer_point_rows(mlaf_point *p, int64_t rows);

/* --- weights.c --- */

typedef struct layer_tensor {
  const void *data;
  int64_t stride;
  const float *scale; /* of weights of 8 bits; NULL: they have 16 */
  int64_t scale_stride, scale_row, scale_column; /* the tensor's place among its scales */
} layer_tensor;
/* The rank's weights. */
typedef struct layer_weights {
  layer_tensor matrices[LAYER_MATRICES], kv_b;
  layer_tensor copies[LAYER_MATRICES], kv_b_copy; /* of 16 bits, where the layer keeps them */
  const void *q_norm, *kv_norm;
  layer_tensor index_k, index_w, index_q; /* the indexer's */
  const float *index_norm, *index_bias;
} layer_weights;
layer_join layer_weights_join(const mlaf_layer_desc *desc, const mlaf_layer_weight *list, size_t n);
mlaf_status layer_weights_take(const layer_shape *s, const mlaf_layer_weight *list, size_t n, layer_weights *out, mlaf_err *err);

/* --- plans.c --- */

/* Plans of all stages: by classes of tokens (1, 2, 4, ...), and decode's by q_len, ctx and batch. */
typedef struct layer_plans {
  mlaf_series_chains *chains; /* of all launches of a call with few tokens; NULL: they are made one by one */
  mlaf_chunked_prefill *prefill; /* STAGE_PREFILL's; NULL: there is none */
  mlaf_plan *by_rows[LAYER_STAGES][LAYER_CLASSES];
  int32_t *batches; /* rising: sizes that plans are made for */
  int n_batches, n_ctxs;
  int32_t ctxs[LAYER_CTXS]; /* rising */
  mlaf_plan **decode[LAYER_Q_LENS]; /* [n_ctxs][n_batches]; NULL: not planned */
} layer_plans;
/* Fails with a report in the context's message. */
mlaf_status layer_plans_make(mlaf_ctx *ctx, layer_shape *s, layer_plans *out);
void layer_plans_clear(layer_plans *p);
typedef struct layer_sizes {
  int64_t tokens;
  int32_t batch, q_len, ctx;
  layer_form form;
  size_t lists; /* bytes of what becomes of a block table; 0: the call has lists, SIZE_MAX: there are too many */
  int64_t scored; /* cached tokens that an indexer may score for a query token, by the table's width; a multiple of 4 */
} layer_sizes;
/* The plan that serves a stage, for sizes in the layer's range: of a stage that is several kernels the first one's, of
 * STAGE_PREFILL that of the new tokens. */
mlaf_plan *layer_plan_of(const layer_shape *s, const layer_plans *p, layer_kind kind, const layer_sizes *sizes);
/* True if attention's plan makes values: STAGE_V_OUT then launches nothing. */
bool layer_fuses_v_out(const layer_shape *s, const layer_plans *p, const layer_sizes *sizes);

/* --- alternative.c: a layer of 8-bit matrices, and the same one by 16 bits --- */

/* Copies of 16 bits in one piece of device memory, and the launches that make them from the weights as they are. */
enum { LAYER_COPIES = LAYER_MATRICES + 1 };
typedef struct layer_copies {
  void *memory; /* NULL: there are none */
  size_t bytes;
  int n;
  struct {
    mlaf_plan *plan;
    mlaf_dequant_args args;
  } made[LAYER_COPIES];
} layer_copies;

struct mlaf_layer {
  mlaf_shared *shared; /* where messages go; one reference */
  layer_shape shape;
  layer_weights weights;
  layer_plans plans;
  struct mlaf_layer *alternative; /* by matrices of 16 bits; NULL: none. It has none itself */
  layer_copies copies;            /* MLAF_LAYER_KEEP_16: the alternative's matrices */
  layer_copies kept[LAYER_ALTERNATIVES]; /* those of ALT_KEPT_A and behind it */
  bool by_alternative[LAYER_FORMS][LAYER_CLASSES]; /* whether it serves calls of so many tokens */
};
/* Makes the alternative where the description allows one. A failure is an error with MLAF_LAYER_KEEP_16 alone; it is reported. */
mlaf_status layer_alternative_make(mlaf_ctx *ctx, const mlaf_plan_opts *plan, mlaf_layer *layer);
void layer_alternative_clear(mlaf_layer *layer);
/* Decides which of the two serves how many tokens. */
void layer_alternative_choose(mlaf_layer *layer);
/* Makes the copies of ALT_KEPT_A and those behind it where calls for few tokens a request take them, and says so in the shape.
 * Those that cannot be made (no memory, no kernel in a bundle) are done without. */
void layer_keep(mlaf_ctx *ctx, const mlaf_plan_opts *plan, mlaf_layer *layer);
void layer_keep_clear(mlaf_layer *layer);
/* Returns the one of the two that serves a call of these sizes. */
const mlaf_layer *layer_serving(const mlaf_layer *layer, const layer_sizes *z);
/* True if the layer has an alternative; its shape, as layer_shape_take has it. */
bool layer_has_alternative(const layer_shape *s);
mlaf_status layer_alternative_shape(const layer_shape *s, layer_shape *out, mlaf_err *err);

/* --- args.c: one call --- */

/* Offsets in the workspace; the intermediates stay, so that a stage can be run and looked at alone. What becomes of a block table
 * lies in front, at the same place for all layers that get the same tables. */
typedef struct layer_places {
  size_t c, q, qout, u, kv_b, kv, k_pe, o, w, scratch; /* w, scratch: of whichever stage runs */
  size_t index_k, index_w, index_q, q8, w8, lengths, chosen, logits; /* an indexer's */
} layer_places;
size_t layer_place(size_t *at, int64_t rows, int64_t row); /* of 16-bit elements; moves *at */
layer_places layer_places_of(const layer_shape *s, const layer_sizes *z);

/* Arguments of any stage but STAGE_PREFILL. */
typedef union layer_stage_args {
  uint32_t struct_size;
  mlaf_projection_args projection;
  mlaf_q_b_args q_b;
  mlaf_append_args append;
  mlaf_q_scale_args scale;
  mlaf_dequant_args dequant;
  mlaf_execute_args decode;
  mlaf_gather_kv_b_args gather;
  mlaf_index_append_args index_append;
  mlaf_index_args index;
} layer_stage_args;

/* A caller's struct as this library has it (op/calls.h); NULL: E_ARG. */
const mlaf_layer_args *layer_args_take(const mlaf_layer_args *args, mlaf_whole_args *whole, mlaf_err *err);
layer_sizes layer_sizes_of(const layer_shape *s, const mlaf_layer_args *a);
/* Checks the sizes of a call; sizes and pointers. */
mlaf_status layer_check_sizes(const layer_shape *s, const mlaf_layer_args *a, mlaf_err *err);
mlaf_status layer_check_args(const mlaf_layer *layer, const mlaf_layer_args *a, mlaf_err *err);
/* True if the call takes the stream's workspace. */
static inline bool layer_leaves_workspace_out(const mlaf_layer_args *a) { return !a->workspace && !a->workspace_size; }
/* Fills a stage's arguments. workspace_size 0 stands for a workspace of any size: for asking how large it has to be. */
void layer_fill(const mlaf_layer *layer, layer_kind kind, const mlaf_layer_args *a, layer_stage_args *out);
/* Dequantises a matrix, or `rows` of it: dense, in 16 bits, to y. */
void layer_fill_dequant(const layer_tensor *w, int64_t rows, void *y, mlaf_dequant_args *out);
void layer_fill_w(const layer_tensor *w, mlaf_projection_args *out);
void layer_fill_prefill(const mlaf_layer *layer, const mlaf_layer_args *a, mlaf_chunked_prefill_args *out);
/* Bytes of workspace for checked sizes; SIZE_MAX: there are none. */
size_t layer_workspace(const mlaf_layer *layer, const mlaf_layer_args *a);

/* --- indexer.c --- */

mlaf_status layer_index_check_desc(const mlaf_layer_desc *d, int32_t q_len_most, mlaf_err *err);
mlaf_status layer_index_check_sizes(const layer_shape *s, const mlaf_layer_args *a, mlaf_err *err);
int64_t layer_index_scored(const layer_shape *s, const mlaf_layer_args *a);
void layer_index_place(const layer_shape *s, const layer_sizes *z, size_t *at, layer_places *p);
static inline bool layer_is_index(layer_kind k) { return k >= STAGE_INDEX_K && k <= STAGE_INDEX; }
/* Arguments of a stage of the indexer; of attention those that say which rows it reads. */
void layer_index_fill(const mlaf_layer *l, layer_kind kind, const mlaf_layer_args *a, const layer_sizes *z, const layer_places *p,
                      layer_stage_args *out);
void layer_index_fill_decode(const mlaf_layer *l, const mlaf_layer_args *a, const layer_sizes *z, const layer_places *p,
                             mlaf_execute_args *out);
