/* Inside a layer: its shape, its weights, its plans. */
#ifndef MLAF_LAYER_INSIDE_H
#define MLAF_LAYER_INSIDE_H

#include "layer/chunked.h"
#include "mlaforge/layer.h"
#include "mlaforge/mla_append.h"
#include "mlaforge/mla_dequant.h"
#include "mlaforge/mla_q_scale.h"
#include "mlaforge/projection.h"
#include "op/cache_format.h"
#include "op/calls.h"
#include "plan/plan.h"

/* What a call is: absorbed, for few tokens a request, or a prefill. */
typedef enum layer_form { LAYER_FEW, LAYER_MANY, LAYER_FORMS } layer_form;

/* Those that become 16 bits: of LAYER_QKV_A to LAYER_Q_B, and of LAYER_O_PROJ. */
enum { LAYER_MATRICES = 5 };
/* Stages. A layer has either qkv_a or kv_a, with q_a in front where there is a q_lora. */
typedef enum layer_kind {
  LAYER_QKV_A,
  LAYER_Q_A,
  LAYER_KV_A,
  LAYER_Q_B,
  LAYER_BESIDE, /* q_b with blocks beside it that append; of more than LAYER_BESIDE_MOST tokens q_b, then append */
  LAYER_LATENT, /* the same, and queries go on into the latent space; of few tokens LAYER_BESIDE, then q_absorb; of more than
                 * LAYER_BESIDE_MOST q_b, append, q_absorb */
  LAYER_SCALE,  /* queries by their positions, in place */
  LAYER_DEQUANT, /* kv_b of 8 bits becomes one of 16, which whatever gathers reads */
  LAYER_APPEND,
  LAYER_TURN, /* append, and the rope columns of queries are turned in place; where keys turn on read, LAYER_APPEND follows */
  LAYER_ABSORB,
  LAYER_DECODE,
  LAYER_V_OUT,
  LAYER_GATHER,  /* of the new tokens' rows */
  LAYER_PREFILL, /* a chunked prefill */
  LAYER_O_PROJ,
  /* Of many tokens, with MLAF_LAYER_DEQUANT_MANY, each of the five matrices' stages is two launches, in their order: the
   * matrix of 8 bits becomes one of 16, and the product by that. */
  LAYER_TO_16,
  LAYER_BY_16 = LAYER_TO_16 + LAYER_MATRICES,
  LAYER_KINDS = LAYER_BY_16 + LAYER_MATRICES
} layer_kind;

enum { LAYER_Q_LENS = 32, LAYER_CLASSES = 24, LAYER_CTXS = 32, LAYER_ALIGN = 256, LAYER_ELEMENT = 2 };
/* Tokens of a call whose latent rows are appended beside q_b: with more a vendor's library may do that product. */
enum { LAYER_BESIDE_MOST = 128 };
/* h200, by whole layers (docs/lab/layer.md): tokens from which on LAYER_LATENT is one launch; 16 are slower so, 24 faster. */
enum { LAYER_LATENT_LEAST = 17 };
/* The same: tokens of a call whose values attention makes, too. 8 are up to 1 % slower so, 48 of equal lengths 1 to 2 %. */
enum { LAYER_VALUES_LEAST = 9, LAYER_VALUES_MOST = 40 };

/* --- shape.c: what is computed --- */

typedef struct layer_shape {
  mlaf_layer_desc d; /* checked: what may be left to us is filled in */
  int32_t heads;     /* of this rank */
  bool joined;       /* q_a and kv_a in one launch */
  bool latent;       /* q_b's launch has q_absorb's work, too */
  bool invariant;    /* batch-invariant: no kernel may depend on how many tokens a call has */
  layer_kind kinds[LAYER_FORMS][LAYER_KINDS]; /* in the order of a call */
  int n[LAYER_FORMS];                         /* of LAYER_MANY 0: it is not planned */
} layer_shape;
/* Bytes of an element of kv_b's, and of the other matrices'. */
static inline int layer_matrix_bytes(const layer_shape *s) { return s->d.weights ? 1 : LAYER_ELEMENT; }
static inline int layer_kv_b_bytes(const layer_shape *s) {
  return s->d.weights && !(s->d.flags & MLAF_LAYER_KV_B_16) ? 1 : LAYER_ELEMENT;
}
/* Whether prefills want another kv_b than decode. */
static inline bool layer_dequantises(const layer_shape *s) { return s->d.prefill_tokens && layer_kv_b_bytes(s) == 1; }
static inline int64_t layer_kv_b_rows(const layer_shape *s) { return (int64_t)s->heads * (s->d.nope + s->d.v); }
/* Whether a call of so many tokens has the other matrices made 16 bits. */
static inline bool layer_widens(const layer_shape *s, int64_t tokens) {
  return s->d.weights && s->d.flags & MLAF_LAYER_DEQUANT_MANY && tokens > LAYER_BESIDE_MOST;
}
/* A launch that makes a matrix 16 bits, whose plan is for any number of tokens. */
static inline bool layer_is_dequant(layer_kind k) { return k == LAYER_DEQUANT || (k >= LAYER_TO_16 && k < LAYER_BY_16); }
/* The stage that a launch of LAYER_TO_16 or LAYER_BY_16 on is part of; of others themselves. */
static inline layer_kind layer_stage_of(layer_kind k) {
  const int i = k < LAYER_TO_16 ? 0 : (k - LAYER_TO_16) % LAYER_MATRICES;
  return k < LAYER_TO_16 ? k : i == LAYER_MATRICES - 1 ? LAYER_O_PROJ : (layer_kind)i;
}
/* That stage's matrix. */
typedef struct layer_extent {
  int64_t rows, columns;
} layer_extent;
layer_extent layer_matrix(const layer_shape *s, layer_kind stage);
static inline int64_t layer_c_row(const layer_shape *s) { return s->d.q_rank + s->d.rank + s->d.rope; }
static inline int32_t layer_q_row(const layer_shape *s) { return s->d.nope + s->d.rope; }
static inline int32_t layer_kv_row(const layer_shape *s) { return s->d.rank + s->d.rope; }
/* The cache's format (op/cache_format.h), and elements of a row of its tensor. */
static inline const mlaf_cache_format *layer_format(const layer_shape *s) {
  return mlaf_cache_format_at(s->d.flags & MLAF_LAYER_SPLIT_CACHE ? MLAF_FORMAT_SPLIT : MLAF_FORMAT_PAGED);
}
static inline int64_t layer_cache_row(const layer_shape *s) {
  return mlaf_extent_bytes(layer_format(s)->row, s->d.rank, s->d.rope) / layer_format(s)->unit;
}
static inline bool layer_turns(const layer_shape *s) { return s->d.rope && s->d.rope_style != MLAF_LAYER_UNROTATED; }
static inline bool layer_turns_on_read(const layer_shape *s) {
  return layer_turns(s) && s->d.flags & MLAF_LAYER_ROPE_ON_READ;
}
static inline bool layer_scales(const layer_shape *s) { return s->d.q_scale_beta > 0; }
static inline bool layer_plans_q_len(const layer_shape *s, int q_len) { return s->d.q_lens >> (q_len - 1) & 1; }
int32_t layer_q_len_most(const layer_shape *s);
/* Whether some call of so many tokens launches this. And of how many, from .. to; not each number between. 0 as the most: no call
 * does. */
bool layer_launches(const layer_shape *s, layer_kind kind, int64_t tokens);
int64_t layer_rows_least(const layer_shape *s, layer_kind kind);
int64_t layer_rows_most(const layer_shape *s, layer_kind kind);

const char *layer_stage_name(layer_kind kind);
const char *layer_operation(layer_kind kind);
mlaf_status layer_shape_take(const mlaf_layer_desc *desc, bool joined, layer_shape *out, mlaf_err *err);
/* Where LAYER_LATENT may be worth it on this target: with many heads, each of which is a block. What else it takes its plan
 * knows; where there is none, two launches do it. */
bool layer_shape_may_join(const layer_shape *s, const char *target);
void layer_shape_set_latent(layer_shape *s, bool latent);
/* Whether attention's plan for so many tokens may go on into values, where there is a kernel that does. */
bool layer_may_go_on(const layer_shape *s, int64_t tokens);
/* A stage as a problem; sizes are 1. q_len is looked at by LAYER_DECODE alone. */
mlaf_status layer_point(const layer_shape *s, layer_kind kind, int q_len, mlaf_point *out, mlaf_err *err);
/* The point with its sizes: tokens, or batch and ctx. */
void layer_point_size(mlaf_point *p, const char *field, int64_t value);
/* What LAYER_PREFILL plans, but for the plans' options. */
mlaf_chunked_prefill_desc layer_chunked(const layer_shape *s);
/* Of any stage but LAYER_DECODE. */
void layer_point_rows(mlaf_point *p, int64_t rows);

/* --- weights.c --- */

typedef struct layer_tensor {
  const void *data;
  int64_t stride;
  const float *scale; /* of weights of 8 bits; NULL: they have 16 */
  int64_t scale_stride, scale_row, scale_column; /* the tensor's place among its scales */
} layer_tensor;
/* Of this rank. */
typedef struct layer_weights {
  layer_tensor qkv_a, q_a, kv_a, q_b, kv_b, o; /* qkv_a, or kv_a and, with q_lora, q_a */
  const void *q_norm, *kv_norm;
} layer_weights;
/* Whether q_a and kv_a are, or lie like, one tensor; without q_lora true. */
bool layer_weights_joined(const mlaf_layer_desc *desc, const mlaf_layer_weight *list, size_t n);
mlaf_status layer_weights_take(const layer_shape *s, const mlaf_layer_weight *list, size_t n, layer_weights *out, mlaf_err *err);

/* --- plans.c --- */

/* One stage's plans. Those of rows by doublings: 1, 2, 4, ... Those of decode by q_len, ctx and batch. */
typedef struct layer_plans {
  mlaf_chunked_prefill *prefill; /* LAYER_PREFILL's; NULL: there is none */
  mlaf_plan *by_rows[LAYER_KINDS][LAYER_CLASSES];
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
} layer_sizes;
/* The launches of a stage, of which LAYER_BESIDE and LAYER_LATENT may have several, and those that layer_widens; their number. */
enum { LAYER_PARTS = 4 };
int layer_parts_of(const layer_shape *s, layer_kind kind, int64_t tokens, layer_kind out[LAYER_PARTS]);
/* For sizes in the layer's range. Of LAYER_PREFILL the new tokens'; of a joint stage that is several launches the first's. */
mlaf_plan *layer_plan_of(const layer_shape *s, const layer_plans *p, layer_kind kind, const layer_sizes *sizes);
/* Whether attention's launches have LAYER_V_OUT's work, too: then that launches nothing. */
bool layer_goes_on(const layer_shape *s, const layer_plans *p, const layer_sizes *sizes);

/* The smallest power of two that holds n: its exponent. Plans of rows are made for these. */
int layer_class_of(int64_t n);

/* --- alternative.c: a layer of 8-bit matrices, and the same one by 16 bits --- */

struct mlaf_layer {
  mlaf_shared *shared; /* where messages go; one reference */
  layer_shape shape;
  layer_weights weights;
  layer_plans plans;
  struct mlaf_layer *alternative; /* by matrices of 16 bits; NULL: none. It has none itself */
  void *copies;                   /* MLAF_LAYER_KEEP_16: device memory of the alternative's matrices */
  bool by_alternative[LAYER_FORMS][LAYER_CLASSES]; /* whether it serves calls of so many tokens */
};
/* Makes the alternative where the description allows one. A failure is an error with MLAF_LAYER_KEEP_16 alone; it is reported. */
mlaf_status layer_alternative_make(mlaf_ctx *ctx, const mlaf_plan_opts *plan, mlaf_layer *layer);
void layer_alternative_clear(mlaf_layer *layer);
/* Returns the one of the two that serves a call of these sizes. */
const mlaf_layer *layer_serving(const mlaf_layer *layer, const layer_sizes *z);
/* The description of the alternative. False: there is none. */
bool layer_alternative_desc(const layer_shape *s, mlaf_layer_desc *out);

/* --- args.c: one call --- */

/* Offsets in the workspace; the intermediates stay, so that a stage can be run and looked at alone. What becomes of a block table
 * lies in front, at the same place for all layers that get the same tables. */
typedef struct layer_places {
  size_t c, q, qout, u, kv_b, kv, k_pe, o, w, scratch; /* w, scratch: of whichever stage runs */
} layer_places;
layer_places layer_places_of(const layer_shape *s, const layer_sizes *z);

/* Arguments of any stage but LAYER_PREFILL. */
typedef union layer_stage_args {
  uint32_t struct_size;
  mlaf_projection_args projection;
  mlaf_q_b_args q_b;
  mlaf_append_args append;
  mlaf_q_scale_args scale;
  mlaf_dequant_args dequant;
  mlaf_execute_args decode;
  mlaf_gather_kv_b_args gather;
} layer_stage_args;

/* A caller's struct as this library has it (op/calls.h); NULL: E_ARG. */
const mlaf_layer_args *layer_args_take(const mlaf_layer_args *args, mlaf_whole_args *whole, mlaf_err *err);
layer_sizes layer_sizes_of(const layer_shape *s, const mlaf_layer_args *a);
/* Sizes alone, and all. */
mlaf_status layer_check_sizes(const layer_shape *s, const mlaf_layer_args *a, mlaf_err *err);
mlaf_status layer_check_args(const mlaf_layer *layer, const mlaf_layer_args *a, mlaf_err *err);
/* The stream's is meant. */
static inline bool layer_leaves_workspace_out(const mlaf_layer_args *a) { return !a->workspace && !a->workspace_size; }
/* With workspace_size 0 a workspace of any size is meant: for asking how large it has to be. */
void layer_fill(const mlaf_layer *layer, layer_kind kind, const mlaf_layer_args *a, layer_stage_args *out);
/* Dequantises a matrix, or `rows` of it: dense, in 16 bits, to y. */
void layer_fill_dequant(const layer_tensor *w, int64_t rows, void *y, mlaf_dequant_args *out);
void layer_fill_prefill(const mlaf_layer *layer, const mlaf_layer_args *a, mlaf_chunked_prefill_args *out);
/* Bytes of workspace for checked sizes; SIZE_MAX: there are none. */
size_t layer_workspace(const mlaf_layer *layer, const mlaf_layer_args *a);

#endif
