/* mla_prefill: attention of new tokens, where each head has its own keys and values, over requests of any lengths in one kernel.
 *
 *   q [Tq, H, N+P]   k [Tk, H, N] and k_pe [Tk, P] of all heads, or k [Tk, H, N+P]   v [Tk, H, V]   ->   o [Tq, H, V], lse
 *
 * k and v may be slices of one buffer: the output [Tk, H, N+V] of kv_b is read where it lies. Request r has the new tokens
 * cu_seqlens_q[r] .. cu_seqlens_q[r+1]-1 and the keys cu_seqlens_k[r] .. cu_seqlens_k[r+1]-1. A plan of a problem such as
 * "mla_prefill:h16,n128,p64,v128,bf16,causal,b4,t1024,s1024" (mlaf_plan_for) serves any number of requests of any lengths.
 *
 * Fp8 inputs: where the problem says e4m3fn or e4m3fnuz, q, k, k_pe and v are bytes of that encoding, each tensor with one scale:
 * a value is the byte's times the scale; k_pe has k's. Softmax weights are rounded to that encoding, too, before they multiply v;
 * the sums that divide O and make lse are of weights before that. O has 16 bits, as the problem says. */
#ifndef MLAFORGE_MLA_PREFILL_H
#define MLAFORGE_MLA_PREFILL_H

#include <stdint.h>

#include "mlaforge/status.h"

/* Device pointers of the plan's device, tensors 16-byte aligned. Strides in elements, tensors' a multiple of
 * 16 bytes; 0: dense. */
typedef struct mlaf_prefill_args {
  uint32_t struct_size; /* sizeof(mlaf_prefill_args), set by MLAF_PREFILL_ARGS_INIT */
  uint32_t flags;       /* 0 */
  int32_t batch;        /* requests, 0 and up */
  float scale;          /* of scores, before the softmax; positive, a normal number: from 1.2e-38 on */
  /* Tq, Tk: rows there are. A request whose keys reach behind Tk gets NaN; one that reaches behind Tq is left out. */
  int64_t total_q, total_k;
  const void *q;
  int64_t q_token_stride, q_head_stride;
  const void *k;
  int64_t k_token_stride, k_head_stride;
  const void *k_pe; /* NULL: a row of k has N+P columns */
  int64_t k_pe_token_stride;
  const void *v;
  int64_t v_token_stride, v_head_stride;
  const int32_t *cu_seqlens_q, *cu_seqlens_k; /* [batch + 1] each, from 0 on, not falling */
  void *o; /* 0 in rows that see no key */
  int64_t o_token_stride, o_head_stride;
  float *lse; /* natural log of the sum over scaled scores, -inf in rows that see no key; NULL: not wanted */
  int64_t lse_token_stride, lse_head_stride; /* both 0: [H, Tq] */
  /* Scales of fp8 inputs only: one number each, read when the kernel runs; NULL: 1. 0 is a scale like others; a negative one or
   * NaN makes O NaN, and of Q or K lse, too. */
  const float *q_scale, *k_scale, *v_scale;
} mlaf_prefill_args;
#define MLAF_PREFILL_ARGS_INIT {.struct_size = sizeof(mlaf_prefill_args)}

#endif
