/* `mlaforge layer`: a layer with random weights on a device, checked against its forms in fp64, and timed. */
#ifndef MLAF_CLI_LAYER_H
#define MLAF_CLI_LAYER_H

#include "check/ceilings.h"
#include "cli/cli.h"
#include "device/record.h"
#include "layer/forms.h"
#include "mlaforge/layer.h"
#include "op/numeric.h"

enum { LAYER_TENSORS = 7, LAYER_SETS = 8 };

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
  const layer_request *requests;
  int32_t batch;
  layer_weights *weights; /* made where they are not yet */
  int32_t checked;    /* tokens whose outputs are compared, at most; 0: none */
} layer_setup;

/* One call of mlaf_layer_execute. */
typedef struct layer_call {
  mlaf_layer_args args;
  int32_t *schedule; /* of a prefill, on the host */
  int32_t *request; /* [tokens] of each token: its request, and which of the request's new tokens it is */
  int32_t *fresh;
} layer_call;

/* The layer on the device, in `sets` copies (weights, pages) that timings go through in turn. */
typedef struct layer_rig {
  cli *c;
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
  void *workspace;
  size_t workspace_size;
  layer_call *call; /* [sets] */
  void **held;      /* device memory, to be freed */
  size_t n_held;
  double setup_s;   /* plans and compiles of the first layer */
} layer_rig;

/* --- layer_rig.c --- */
/* The description that mlaf_layer_create gets, without pointers. */
void layer_describe(const layer_setup *s, mlaf_layer_desc *out);
mlaf_status layer_rig_open(cli *c, const layer_setup *s, int sets, layer_rig *r);
void layer_rig_close(layer_rig *r);
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
/* c->err is filled from the context's message. */
mlaf_status layer_failed(cli *c, mlaf_status st);

/* --- layer_weights.c --- */
void layer_weights_free(layer_weights *w);
/* n numbers in bf16; NULL: no memory. */
uint16_t *layer_draw(mlaf_rng *rng, int64_t n, double middle, double by);
/* A matrix in w's encoding. false: no memory. */
bool layer_draw_8(layer_weights *w, int tensor, int64_t rows, int64_t cols, double by, mlaf_rng *rng);
/* The encoding's name; "" of 16 bits. */
const char *layer_encoding(int32_t encoding);

/* --- layer_check.c --- */
typedef struct layer_checked {
  int64_t tokens, rows, untouched; /* outputs and appended rows compared; other rows of the cache that must keep their bits */
  double worst, rms;               /* relative error of the worst output, and of all */
  double row_worst;                /* of an appended row */
  double beyond;                   /* share of elements of outputs and rows beyond atol + rtol |x|, where a tolerance is given */
  double seconds;                  /* that the reference took */
} layer_checked;
typedef struct layer_tolerance {
  double worst, row; /* bounds of relative errors */
  double rtol, atol; /* both 0: not looked at */
} layer_tolerance;
/* Outputs of set 0 as they lie on the device against acc_me in fp64. E_INCORRECT names what is wrong. */
mlaf_status layer_check(layer_rig *r, const layer_tolerance *t, layer_checked *out);

/* --- layer_time.c --- */
/* `first` .. `first` + n - 1 of the layer's stages; n 0: all, as one call of the layer does. */
mlaf_status layer_time(layer_rig *r, size_t first, size_t n, mlaf_timing *out);
/* How many copies timing wants, so that none finds its weights in a cache. */
int layer_sets_wanted(const mlaf_device *dev, const layer_setup *s, bool by_stage);
mlaf_status layer_ceilings(cli *c, mlaf_ceilings *out);
int layer_profile(layer_rig *r, const mlaf_ceilings *ceilings);

/* A stage's time beside its floor. */
typedef struct layer_part {
  mlaf_layer_stage stage;
  double floor_ns, ns; /* ns: in its place among the others */
  double alone_ns;     /* the same launches again and again: what is small stays in caches */
  bool compute_bound;
} layer_part;

/* --- layer_page.c --- */
/* The profile as a page with a picture: --out. */
mlaf_status layer_page(const layer_rig *r, const layer_part *parts, size_t n, const mlaf_timing *whole, const char *path);
mlaf_status layer_time_recorded(layer_rig *r, mlaf_record *record, mlaf_timing *out);

/* --- layer_chain.c: forms as a chain of operations --- */
/* Runs cd, cc or acc over the rig (one new token a request, pages in order) and times it. E_ARG, with the reason: it cannot
 * be. */
mlaf_status layer_chain(layer_rig *r, mlaf_form form, const layer_tolerance *t, layer_checked *checked, mlaf_timing *timing);

/* The problems that the chain plans, one a line. */
void layer_chain_problems(const layer_setup *s, mlaf_form form);

/* --- layer_crossover.c --- */
/* By how many ns the expanded form leads over the absorbed one with n new tokens. */
typedef mlaf_status (*layer_lead_fn)(void *user, int32_t n, double *out);
/* From how many on it leads, 1 .. most, between two numbers that are near each other; 0: not up to `most`. Begins at `first`. */
mlaf_status layer_cross(int32_t first, int32_t most, layer_lead_fn lead, void *user, int32_t *out);
int layer_crossover(cli *c, const layer_setup *s);

/* --- layer_forms.c, layer_case.c --- */
/* Those of a layer's plans. */
mlaf_status layer_print_problems(cli *c, const layer_setup *s);
int layer_case_problems(cli *c, const char *name);
int layer_forms(layer_rig *r);
int layer_case(cli *c, const char *name);

#endif
