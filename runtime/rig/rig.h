/* A layer with random weights on a device: made, checked against its forms in fp64, and timed. Commands and tests use it. */
#pragma once

#include "check/ceilings.h"
#include "device/record.h"
#include "layer/choice.h"
#include "layer/forms.h"
#include "mlaforge/mlaforge.h"
#include "op/numeric.h"
#include "plan/ctx.h"

/* The environment of a rig. */
typedef struct rig_env {
  mlaf_ctx *ctx; /* its lock is not held */
  mlaf_log log;
  const atomic_bool *cancel; /* NULL: nobody stops it */
  uint64_t seed;
  uint32_t plan_flags; /* MLAF_PLAN_NO_COMPILE, MLAF_PLAN_BATCH_INVARIANT */
  mlaf_err *err;       /* the caller's: filled by what fails */
} rig_env;
/* MLAF_OK, or E_CANCELLED in env->err once `cancel` is set. */
mlaf_status rig_go_on(rig_env *env);

enum { LAYER_TENSORS = 7, LAYER_INDEX_TENSORS = 5, LAYER_SETS = 8 };

/* A request: tokens that are cached, and new ones. */
typedef struct layer_request {
  int32_t past, fresh;
} layer_request;

/* Random weights on the host, of one model, number of ranks and encoding; layers may share them. */
typedef struct layer_weights {
  const mlaf_model *model;
  int32_t tp, encoding; /* MLAF_LAYER_WEIGHTS_16, ... of the matrices */
  uint16_t *tensors[LAYER_TENSORS], *numbers; /* bf16: of matrices of 8 bits what they mean, exactly */
  uint8_t *codes[LAYER_TENSORS];              /* of 8 bits: [rows, cols], and a scale for each LAYER_BLOCK x LAYER_BLOCK */
  float *scales[LAYER_TENSORS];
} layer_weights;
enum { LAYER_BLOCK = 128 };
static inline int64_t layer_blocks(int64_t n) { return (n + LAYER_BLOCK - 1) / LAYER_BLOCK; }

/* A layer and what is asked of it. */
typedef struct layer_setup {
  const mlaf_model *model;
  int32_t tp;
  int32_t encoding;   /* of matrices: MLAF_LAYER_WEIGHTS_16 ... */
  uint32_t flags;     /* MLAF_FORM_* */
  bool plain;         /* no YaRN, scale (N+P)^-1/2, columns turn in halves: as founding documents 000 and 003 */
  int32_t page_size;
  bool in_order;      /* pages lie one after another; else shuffled */
  int32_t window;     /* most query tokens of a request: one with more goes into the call as several, over the same pages */
  bool prefill;       /* as one, over keys and values of each head: the layer's other form */
  bool indexed;       /* by the model's indexer, where it has one: all requests have as many new tokens, at most `window` */
  const layer_request *requests;
  int32_t batch;
  layer_weights *weights; /* made where they are not yet */
  int32_t checked;    /* tokens whose outputs are compared, at most; 0: none */
} layer_setup;

/* The indexer of a layer, whose weights have 16 bits. */
typedef struct layer_indexer {
  mlaf_form_index form; /* for the reference, with the host's weights */
  void *tensors[LAYER_INDEX_TENSORS]; /* on the host: wq_b, wk, weights_proj, and of k_norm gain and bias in fp32 */
  void *device[LAYER_SETS][LAYER_INDEX_TENSORS];
  char *behind[LAYER_SETS]; /* place of wk and weights_proj behind kv_a, of layer_index_joined bytes; NULL: they lie apart */
  uint8_t *keys;        /* the cache of a set, as it is before a call */
  char *cache;          /* on the device, one set behind the other; NULL: there is no indexer */
  int64_t page_bytes;   /* from one page to the next */
  size_t set_bytes;
} layer_indexer;

/* One call of mlaf_layer_execute. */
typedef struct layer_call {
  mlaf_layer_args args;
  int32_t *schedule; /* of a prefill, on the host */
  int32_t *request; /* [tokens] of each token: its request, and which of the request's new tokens it is */
  int32_t *fresh;
} layer_call;

/* The layer on the device, in `sets` copies (weights, pages) that timings go through in turn. */
typedef struct layer_rig {
  rig_env *env; /* NULL: it is not open */
  layer_setup setup;
  mlaf_device *dev;
  bool modelled;
  int sets;
  mlaf_layer_desc desc;
  mlaf_form_layer form; /* the same for the reference, with the host's weights */
  layer_weights own, *weights;
  float *table;
  int64_t set_pages, row; /* pages of a set; columns of a cached row */
  int32_t *pages;         /* of set 0: those of request 0, then of request 1 ... */
  int64_t *first_page;    /* [batch + 1] of each request in `pages` */
  mlaf_layer *layer[LAYER_SETS];
  char *device_weights[LAYER_SETS][LAYER_TENSORS], *device_scales[LAYER_SETS][LAYER_TENSORS];
  uint16_t *cache; /* on the device, [sets * set_pages * page_size, R+P] */
  layer_indexer index;
  void *workspace;
  size_t workspace_size;
  layer_call *call; /* [sets] */
  void **held;      /* device memory, to be freed */
  size_t n_held;
  double setup_s;   /* plans and compiles of the first layer */
} layer_rig;

/* --- rig.c --- */
/* The description that mlaf_layer_create gets, without pointers. */
void layer_describe(const layer_setup *s, mlaf_layer_desc *out);
mlaf_status layer_rig_open(rig_env *env, const layer_setup *s, int sets, layer_rig *r);
void layer_rig_close(layer_rig *r);
/* One more layer over the weights of a set, to be destroyed by the caller before the rig is closed; forced: layer/choice.h. */
mlaf_status layer_rig_make(layer_rig *r, int set, const layer_choice *forced, mlaf_layer **out);
/* Has calls hand over a workspace of at least so many bytes. */
mlaf_status layer_rig_workspace(layer_rig *r, size_t size);
/* Element i of what everything random is taken from; the first of a token's hidden states. */
enum { LAYER_NUMBERS = 4 * 1000 * 1000 + 1237 };
static inline int64_t layer_x_at(int32_t request, int32_t fresh) {
  return ((int64_t)request * 1031 + fresh) * 7177 % LAYER_NUMBERS;
}
void layer_numbers(const layer_rig *r, int64_t first, int64_t n, uint16_t *out);
/* Row of the cache that holds a token of a request of set 0. */
int64_t layer_slot(const layer_rig *r, int32_t request, int64_t token);
mlaf_status layer_alloc(layer_rig *r, size_t bytes, void **out);
/* Everything that is random on the device, written anew. */
mlaf_status layer_rig_refill(layer_rig *r);
mlaf_status layer_rig_run(layer_rig *r);
/* env->err is filled from the context's message. */
mlaf_status layer_failed(rig_env *env, mlaf_status st);

/* --- weights.c --- */
void layer_weights_free(layer_weights *w);
/* n numbers in bf16; NULL: no memory. */
uint16_t *layer_draw(mlaf_rng *rng, int64_t n, double middle, double by);
/* A matrix in w's encoding. false: no memory. */
bool layer_draw_8(layer_weights *w, int tensor, int64_t rows, int64_t cols, double by, mlaf_rng *rng);
/* The encoding's name; "" of 16 bits. */
const char *layer_encoding(int32_t encoding);

/* --- index.c: nothing is done without an indexer --- */
mlaf_status layer_index_open(layer_rig *r);
size_t layer_index_joined(const layer_rig *r);
mlaf_status layer_index_refill(layer_rig *r);
mlaf_status layer_index_copy(layer_rig *r, int set);
/* A set's weights as mlaf_layer_create takes them; their number. */
size_t layer_index_list(const layer_rig *r, int set, mlaf_layer_weight out[LAYER_INDEX_TENSORS]);
void layer_index_close(layer_rig *r);

/* --- index_check.c --- */
/* The indexer's cache and lists of set 0 behind a call, read back. */
typedef struct layer_index_left {
  uint8_t *keys;     /* the indexer's cache */
  int32_t *lists;    /* [tokens, topk] */
  int64_t *position; /* of each row of set 0 in its request */
  int32_t *owner;    /* the row's request; -1: none */
} layer_index_left;
mlaf_status layer_index_read(layer_rig *r, layer_index_left *out);
void layer_index_free(layer_index_left *left);
/* Checks a token's list against scores in fp64 over the cached keys: its positions, ascending, in `out` (room for topk), their
 * number in *n. *beyond: how far a token that was taken, or left out, is on the wrong side of the worst that is to be taken, in
 * standard deviations of the scores. */
mlaf_status layer_index_check_list(const layer_rig *r, const layer_index_left *left, int64_t token, const uint16_t *x,
                                   int64_t *out, int64_t *n, double *beyond, mlaf_err *err);
/* The relative error of the key that a token appended. */
mlaf_status layer_index_check_key(const layer_rig *r, const layer_index_left *left, int64_t token, const uint16_t *x, double *off,
                                  mlaf_err *err);
/* E_INCORRECT if a byte of the cache changed that no token was appended to. */
mlaf_status layer_index_check_rest(const layer_rig *r, const layer_index_left *left);

/* --- check.c --- */
/* Bounds of what the indexer rounds: codes of e4m3 are 2.6 % off, root mean square, at most 6.25 %; so are keys. With 64 or 32
 * heads a score is off by some 3 % of the scores' deviation: 8 times as much is out of reach. */
#define LAYER_KEY_BOUND  0.05
#define LAYER_LIST_BOUND 0.25
typedef struct layer_checked {
  int64_t tokens, rows, untouched; /* outputs and appended rows compared; other rows of the cache that must keep their bits */
  double worst, rms;               /* relative error of the worst output, and of all */
  double row_worst;                /* of an appended row */
  double key_worst, list_worst;    /* of an indexer: of an appended key; of a list, as layer_index_check_list has it */
  double beyond;                   /* share of elements of outputs and rows beyond atol + rtol |x|, where a tolerance is given */
  double seconds;                  /* that the reference took */
} layer_checked;
typedef struct layer_tolerance {
  double worst, row; /* bounds of relative errors */
  double rtol, atol; /* both 0: not looked at */
} layer_tolerance;
/* Outputs of set 0 as they lie on the device against acc_me in fp64. E_INCORRECT names what is wrong. */
mlaf_status layer_check(layer_rig *r, const layer_tolerance *t, layer_checked *out);

/* --- time.c --- */
/* `first` .. `first` + n - 1 of the layer's stages; n 0: all, as one call of the layer does. */
mlaf_status layer_time(layer_rig *r, size_t first, size_t n, mlaf_timing *out);
/* Copies that timing needs, so that none finds its weights in a cache. */
int layer_sets_wanted(const mlaf_device *dev, const layer_setup *s, bool by_stage);
mlaf_status layer_ceilings(rig_env *env, mlaf_ceilings *out);
mlaf_status layer_time_recorded(layer_rig *r, mlaf_record *record, mlaf_timing *out);

/* A stage's time beside its floor. */
typedef struct layer_part {
  mlaf_layer_stage stage;
  double floor_ns, ns; /* ns: in its place among the others */
  double alone_ns;     /* the same launches again and again: what is small stays in caches */
  bool compute_bound;
} layer_part;

/* Stage i, timed in its place and alone. */
mlaf_status layer_look_at(layer_rig *r, size_t i, const mlaf_ceilings *ceilings, layer_part *out);
/* The stage launches something (mlaforge/layer.h: its bytes are not 0). */
static inline bool layer_part_launches(const layer_part *p) { return p->stage.bytes > 0; }

/* --- chain.c: forms as a chain of operations --- */
/* Runs cd, cc or acc over the rig (one new token a request, pages in order) and times it. E_ARG, with the reason: it cannot
 * be. */
mlaf_status layer_chain(layer_rig *r, mlaf_form form, const layer_tolerance *t, layer_checked *checked, mlaf_timing *timing);

/* The i-th problem that the chain may plan, "" where this form does not. false: past the end. */
bool layer_chain_problem(const layer_setup *s, mlaf_form form, int i, char out[MLAF_PROBLEM_TEXT_MAX]);

/* --- crossover.c --- */
/* *out: ns that the expanded form leads over the absorbed one with n new tokens. */
typedef mlaf_status (*layer_lead_fn)(void *user, int32_t n, double *out);
/* *out: the number of new tokens from which on it leads, 1 .. most, between two that are near each other; 0: not up to `most`.
 * The search begins at `first`. */
mlaf_status layer_cross(int32_t first, int32_t most, layer_lead_fn lead, void *user, int32_t *out);
enum { LAYER_CROSS_MOST = 4096 /* new tokens, which are tried and stored */ };
typedef struct layer_crossing {
  rig_env *env;
  layer_setup setup;
  layer_weights weights; /* to be freed */
  int32_t keys;          /* cached tokens */
  double error;          /* the worst of all that was checked */
  mlaf_timing expanded;  /* of the last number of tokens where it led, and what it led with */
  mlaf_kernel_ref kernel;
} layer_crossing;
/* Checks and times a layer with n new tokens in both forms. */
mlaf_status layer_crossing_lead(layer_crossing *x, int32_t n, mlaf_timing *absorbed, mlaf_timing *expanded);
/* Stores `tokens` as the choice of the problem that crossover_point says. */
mlaf_status layer_crossing_store(layer_crossing *x, const mlaf_point *problem, int32_t tokens);
