/* Rotary positions of an MLA layer: frequencies with YaRN, tables of cosines and sines, the softmax scale that goes with them.
 * Pure host code, no context. Kernels take the tables and the scale as arguments and never derive them.
 *
 *   mlaf_rope rope = mlaf_model_find("deepseek-v3")->rotation;      // or MLAF_ROPE_INIT and your own numbers
 *   mlaf_rope_table(&rope, 8192, table, sizeof table, NULL, 0);     // float[8192][64]: 32 cosines, then 32 sines
 *   float scale = (float)mlaf_softmax_scale(128, &rope);            // 0.135234 for DeepSeek-V3
 */
#ifndef MLAFORGE_ROPE_H
#define MLAFORGE_ROPE_H

#include <stddef.h>
#include <stdint.h>

#include "mlaforge/status.h"

/* Columns that rotate together: the words that problems have, numbered as in mlaforge/layer.h. */
enum {
  MLAF_ROPE_PAIRS = 0, /* 2i and 2i+1: DeepSeek, Kimi, GLM */
  MLAF_ROPE_HALVES,    /* i and i+P/2: MiniCPM3; DeepSeek as Transformers caches it */
  MLAF_ROPE_UNROTATED, /* P columns that are not rotated: a table of cosines 1 and sines 0 serves them, too */
};

typedef struct mlaf_rope {
  uint32_t struct_size;          /* sizeof(mlaf_rope), set by MLAF_ROPE_INIT */
  int32_t columns;               /* P, even; 0: none */
  int32_t style;                 /* MLAF_ROPE_* */
  int32_t original;              /* YaRN: positions before it was stretched */
  double base;                   /* theta of pair i is base^(-2i/P) */
  double factor;                 /* YaRN: by how much positions are stretched; 0 or 1: no YaRN */
  double beta_fast, beta_slow;   /* YaRN: pairs that turn more often than beta_fast in `original` positions keep their theta,
                                  * those that turn less often than beta_slow have it divided by factor */
  double mscale, mscale_all_dim; /* YaRN: see mlaf_rope_mscale. 0: its m is 1 */
} mlaf_rope;
#define MLAF_ROPE_INIT \
  { sizeof(mlaf_rope), 64, MLAF_ROPE_PAIRS, 0, 10000.0, 0.0, 32.0, 1.0, 0.0, 0.0 }

/* Returns YaRN's m(factor, mscale): 1 if factor <= 1, else 0.1 mscale ln(factor) + 1. */
MLAF_API double mlaf_rope_mscale(double factor, double mscale);
/* Returns the softmax scale, (nope + P)^-1/2 m(factor, mscale_all_dim)^2. `rope` NULL: no rope columns. NaN for what
 * mlaf_rope_frequencies refuses. */
MLAF_API double mlaf_softmax_scale(int32_t nope, const mlaf_rope *rope);
/* Writes theta[P/2], in radians a position, YaRN applied. E_ARG (in `why`, which may be NULL): a number that cannot be. */
MLAF_API mlaf_status mlaf_rope_frequencies(const mlaf_rope *rope, double *theta, char *why, size_t why_size);
/* Writes float table[positions][P]: for each position P/2 cosines, then P/2 sines, both times m(factor, mscale) / m(factor,
 * mscale_all_dim), which is 1 where the two are equal. Angles are computed in double precision and rounded once.
 * E_ARG: a number that cannot be, or `bytes` less than positions * P * 4. */
MLAF_API mlaf_status mlaf_rope_table(const mlaf_rope *rope, int64_t positions, float *table, size_t bytes, char *why,
                                     size_t why_size);
/* Makes a table of the form of mlaf_rope_table, as code in bf16 computes it without YaRN: base, exponent, theta, position, angle,
 * cosine and sine are each rounded to bf16. Positions above 256 fall together by twos, above 512 by fours, and so on: results of
 * such code (the AMD developer challenge's reference) can be had with this table alone. Values are exact in bf16. E_ARG: YaRN, a
 * number that cannot be, or `bytes` less than positions * P * 4. */
MLAF_API mlaf_status mlaf_rope_table_bf16(const mlaf_rope *rope, int64_t positions, float *table, size_t bytes, char *why,
                                          size_t why_size);

#endif
