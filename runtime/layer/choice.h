/* Alternatives of a layer's stages, and which of them are taken for how many query tokens of a call: a choice that was stored for
 * the device (`mlaforge tune layer`), else a row of tuning/layer-stages.tsv, else none. All functions are thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mlaforge/layer.h"

struct layer_shape;

typedef enum layer_alternative {
  ALT_Q_B_APPEND,        /* q_b's kernel appends the rows of the cache */
  ALT_Q_B_APPEND_ABSORB, /* that, and queries become latent there. A choice that has it has the one above, too */
  ALT_DECODE_V_OUT,      /* attention's merge kernel makes values */
  ALT_DEQUANT_WEIGHTS,   /* matrices of 8 bits become 16 bits in the workspace first */
  /* The next ones are never part of a stored choice. */
  ALT_COPIES_16, /* products by the copies of MLAF_LAYER_KEEP_16 */
  /* By copies of 16 bits that a layer of 8-bit matrices makes by itself: */
  ALT_KEPT_A, /* qkv_a, or q_a and kv_a */
  ALT_KEPT_Q_B,
  ALT_KEPT_O,
  ALT_KEPT_KV_B, /* by which q_absorb and v_out multiply */
  LAYER_ALTERNATIVES
} layer_alternative;

/* A row of tuning/layer-stages.tsv. */
typedef struct layer_default {
  const char *target; /* "*": all; NULL ends the table */
  layer_alternative alternative;
  int32_t heads; /* of the rank, at least */
  int64_t from, to;
  double margin; /* 0: estimates are not asked */
} layer_default;
extern const layer_default layer_defaults[];

/* One bit for each alternative that is taken; all other stages are separate kernels. */
typedef uint8_t layer_choice;
enum { LAYER_CHOSEN = 1 << 7 }; /* the choice is known: stored, or forced */

enum { LAYER_CLASSES = 24, LAYER_CHOICE_TEXT_MAX = 64 };
/* Token classes: 1, 2, 3..4, 5..8, ... Stages' plans are made for these. */
static inline int layer_class_of(int64_t n) {
  const int k = n > 1 ? 64 - __builtin_clzll((unsigned long long)n - 1) : 0;
  return k < LAYER_CLASSES - 1 ? k : LAYER_CLASSES - 1;
}

typedef struct layer_choices {
  struct {
    int64_t from, to; /* tokens; from > to: never */
    double margin;
  } by_default[LAYER_ALTERNATIVES];
  layer_choice stored[LAYER_CLASSES]; /* 0: nothing is stored for the class */
} layer_choices;

/* True if kernels may do the layer's work so. Whether there are such kernels for the device, planning tells. */
bool layer_alternative_exists(const struct layer_shape *s, layer_alternative alt);
/* Defaults of alternatives that exist. target NULL: the rows for all targets alone. Nothing is stored. */
void layer_choices_by_default(struct layer_shape *s, const char *target);
/* The same choice for all numbers of tokens. */
void layer_choices_force(struct layer_shape *s, layer_choice choice);
/* True if anything is stored or forced; then forgets it. */
bool layer_choices_forget(struct layer_shape *s);

/* "q_b+append,decode+v_out"; "separate". `out` has LAYER_CHOICE_TEXT_MAX bytes. */
void layer_choice_print(layer_choice choice, char *out);
/* False, with the reason: the text names none, or one that does not exist in the layer. */
bool layer_choice_parse(const struct layer_shape *s, const char *text, layer_choice *out, char *why, size_t why_size);
/* The i-th of all choices that the layer has, the default for so many tokens first. False: past the end. */
bool layer_choice_at(const struct layer_shape *s, int64_t tokens, size_t i, layer_choice *out);
/* The alternatives taken for so many tokens, without LAYER_CHOSEN; and those taken where nothing is stored. */
layer_choice layer_choice_for(const struct layer_shape *s, int64_t tokens);
layer_choice layer_choice_usual(const struct layer_shape *s, int64_t tokens);

/* mlaf_layer_create with one choice for all numbers of tokens, whatever is stored; NULL: by what is stored. */
mlaf_status layer_create_as(mlaf_ctx *ctx, const mlaf_layer_desc *desc, const mlaf_layer_weight *weights, size_t n_weights,
                            const layer_choice *forced, mlaf_layer **out);

/* A layer's, for the functions above; it lives as long as the layer. */
const struct layer_shape *layer_shape_of(const mlaf_layer *layer);
/* The alternatives that a call of these sizes runs: its choice less those that no kernel does on the device. */
layer_choice layer_choice_of_call(const mlaf_layer *layer, const mlaf_layer_args *args);

/* --- stored.c --- */
struct mlaf_point;
struct mlaf_err;
/* "mla_layer:...": what a choice for a class of tokens is stored for. `tokens` is rounded up to the class. */
mlaf_status layer_choice_point(const struct layer_shape *s, int64_t tokens, int32_t ctx, struct mlaf_point *out,
                               struct mlaf_err *err);
/* That by a layer's description, with q_a and kv_a in one tensor. */
mlaf_status layer_choice_point_of(const mlaf_layer_desc *d, int64_t tokens, struct mlaf_point *out, struct mlaf_err *err);
/* Reads what is stored for the layer's shape on the context's device: for each class of tokens the choice of the nearest context.
 * One whose alternatives do not exist is skipped, with a line in the log. */
void layer_choices_read(mlaf_ctx *ctx, struct layer_shape *s);
