/* Words that problems share, and the shipped list of models. A problem is a string (mlaforge/operation.h): one grammar serves
 * CLI, database, tests, logs and failure reports. That of mla_decode has a typed struct, too (mlaforge/mla_decode.h). */
#ifndef MLAFORGE_PROBLEM_H
#define MLAFORGE_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

#include "mlaforge/rope.h"
#include "mlaforge/status.h"

/* Which columns of a pair turn together, of P: 2i and 2i+1 (DeepSeek's checkpoints), or i and i + P/2 (NeoX). */
typedef enum mlaf_rotate { MLAF_ROTATE_NONE = 0, MLAF_ROTATE_PAIRS, MLAF_ROTATE_HALVES } mlaf_rotate;

/* Caches of mla_decode: latent and rope columns of the problem's type; all columns as fp8 with one scale for all tokens; the
 * latent as e4m3fn, 4 fp32 scales for 128 columns each, and rope columns of the problem's type; 448 columns as e4m3fn, 64 as
 * bf16, and behind the rows of a page the tokens' scales, powers of two for 64 columns each, with K and V all 512 columns; the
 * latent as e4m3fn with one scale for all tokens, and rope columns of the problem's type in another tensor; the latent as
 * e4m3fn, no rope columns, and 4 fp32 scales for 128 columns each in another tensor; or the numbers of MLAF_KV_FP8_DS_MLA in
 * pages of all tokens' codes, then all their scales, then all their rope columns; or such pages whose codes are e4m3fnuz.
 * docs/append.md has their bytes. */
typedef enum mlaf_kv_format {
  MLAF_KV_16 = 0,
  MLAF_KV_E4M3FN,
  MLAF_KV_E4M3FNUZ,
  MLAF_KV_FP8_DS_MLA,
  MLAF_KV_FP8_V4,
  MLAF_KV_KPE16,
  MLAF_KV_FP8_SCALES,
  MLAF_KV_FP8_PLANAR,
  MLAF_KV_FP8_PLANAR_FNUZ
} mlaf_kv_format;

typedef enum mlaf_dtype { MLAF_BF16 = 0, MLAF_F16 = 1, MLAF_DTYPE_COUNT } mlaf_dtype;

#define MLAF_PROBLEM_TEXT_MAX 160

/* One line of the shipped model list (tuning/models.tsv), sources beside each entry there. */
typedef struct mlaf_model {
  const char *name; /* "deepseek-v3" */
  int32_t heads, rank, rope;
  const char *source;
  int32_t qk_nope, v_head; /* per-head dims before absorption */
  const char *unverified;  /* "": all confirmed; "all", or the fields not confirmed against the model's own config */
  int32_t hidden;          /* hidden size; 0: not a layer of this library's form */
  int32_t q_lora_rank;     /* 0: one q_proj in place of q_a_proj, q_a_layernorm and q_b_proj */
  double eps;              /* of the RMS norms */
  mlaf_rope rotation;      /* mlaf_softmax_scale(qk_nope, &rotation) is the softmax scale */
  double q_scale_beta;     /* mlaf_layer_desc has both; 0: queries are not scaled by their position */
  int32_t q_scale_original;
  int32_t index_heads, index_topk, index_style; /* of an indexer, as mlaf_layer_desc has them; 0 heads: none */
} mlaf_model;
/* The i-th shipped model, NULL past the end. Static storage. */
MLAF_API const mlaf_model *mlaf_model_at(size_t i);
/* Model by name, NULL if unknown. */
MLAF_API const mlaf_model *mlaf_model_find(const char *name);

/* Deprecated, until 1.0: the typed problem came with this header. */
#include "mlaforge/mla_decode.h"

#endif
