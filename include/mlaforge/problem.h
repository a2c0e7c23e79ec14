/* The problem: what a caller needs computed. One grammar serves CLI, database, tests, logs and failure reports. */
#ifndef MLAFORGE_PROBLEM_H
#define MLAFORGE_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

#include "mlaforge/rope.h"
#include "mlaforge/status.h"

/* Which columns of a pair turn together, of P: 2i and 2i+1 (DeepSeek's checkpoints), or i and i + P/2 (NeoX). */
typedef enum mlaf_rotate { MLAF_ROTATE_NONE = 0, MLAF_ROTATE_PAIRS, MLAF_ROTATE_HALVES } mlaf_rotate;

typedef enum mlaf_dtype { MLAF_BF16 = 0, MLAF_F16 = 1, MLAF_DTYPE_COUNT } mlaf_dtype;

/* Absorbed MLA decode, O = softmax(scale * Q K^T) V over a paged latent cache, K = R+P columns, V = first R of them.
 *   Q [T, H, R+P], KV [pages, page_size, R+P], O [T, H, R], LSE [T, H] fp32; T = sum over the batch of its q lengths.
 * batch and ctx are the shape the choice is tuned for; a plan executes any batch and any lengths. docs/limits.md lists what each
 * field may be; mlaf_problem_check names the field, its value and the range. */
typedef struct mlaf_problem {
  uint32_t struct_size; /* sizeof(mlaf_problem), set by MLAF_PROBLEM_INIT */
  int32_t heads;        /* H, query heads on this rank */
  int32_t rank;         /* R, kv_lora_rank in elements */
  int32_t rope;         /* P, rope dim in elements */
  int32_t q_len;        /* largest number of query tokens of a request */
  int32_t causal;       /* 1: query token i of n sees the first kv_len - (n-1-i) tokens. Same as 0 when q_len is 1 */
  int32_t dtype;        /* mlaf_dtype of Q, KV and O */
  int32_t page_size;    /* tokens per page */
  int32_t batch;        /* requests */
  int32_t ctx;          /* cached tokens per request */
  int32_t rotate;       /* mlaf_rotate. Not NONE: the cache holds rope columns that are not rotated; those of key j are rotated
                           to position j as they are read, by a table of the launch. Q comes rotated. NONE where rope is 0 */
} mlaf_problem;

#define MLAF_PROBLEM_INIT \
  { sizeof(mlaf_problem), 16, 512, 64, 1, 0, MLAF_BF16, 64, 1, 1024, MLAF_ROTATE_NONE }

#define MLAF_PROBLEM_TEXT_MAX 160

/* Check every field and canonicalise (causal := 0 when q_len is 1). MLAF_E_PROBLEM with a detail in `why`
 * (may be NULL) that names the field, its value and the accepted range. */
MLAF_API mlaf_status mlaf_problem_check(mlaf_problem *problem, char *why, size_t why_size);

/* "mla_decode:h16,r512,p64,q1,bf16,page64,b64,s4096", with ",causal" behind q when causal is 1. The problem must
 * have passed mlaf_problem_check. Always writes a NUL-terminated string. */
MLAF_API mlaf_status mlaf_problem_print(const mlaf_problem *problem, char *out, size_t out_size);

/* Inverse of print. Fields may come in any order; h is required, others default as MLAF_PROBLEM_INIT. Unknown,
 * repeated or malformed fields are MLAF_E_PROBLEM with a detail in `why`. parse(print(p)) == p. */
MLAF_API mlaf_status mlaf_problem_parse(const char *text, mlaf_problem *out, char *why, size_t why_size);

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
} mlaf_model;
/* The i-th shipped model, NULL past the end. Static storage. */
MLAF_API const mlaf_model *mlaf_model_at(size_t i);
/* Model by name, NULL if unknown. */
MLAF_API const mlaf_model *mlaf_model_find(const char *name);

#endif
