/* The forms that mlaforge layer runs as a chain of operations. All begin and end as the layer does: projections of the hidden
 * states, query heads, rows appended and queries turned; o_proj. What lies between is a form's own. */
#pragma once

#include "rig/rig.h"
#include "run/tool.h"

/* Plans of a chain: of all forms; of cd and cc; of acc. */
enum { CHAIN_Q_B, CHAIN_TURN, CHAIN_EXPAND, CHAIN_PREFILL, CHAIN_ABSORB, CHAIN_DECODE, CHAIN_VALUES, CHAIN_PLANS };

typedef struct chain {
  layer_rig *r;
  mlaf_form form;
  int64_t tokens; /* of each request; 0: they differ: then each is a separate launch */
  int64_t rows;   /* of the cache that requests have, pages in order */
  mlaf_plan *plan[CHAIN_PLANS];
  size_t c_at, q_at, o_at;     /* in the workspace */
  size_t before, o_proj;       /* how many stages come before q_b; the last */
  uint16_t *keys[LAYER_SETS];  /* cd, cc: K and V [rows, H, N+V]; acc: [batch, H, rows of a request, R+P] */
  int32_t *lists;              /* cd, cc: [batch][4]: 0, new tokens, 0, keys of each; or [2][batch + 1] of all. acc: its own */
  mlaf_tool concat;            /* of acc, and what lies between its launches: */
  uint16_t *absorbed, *latent; /* [batch, H, R+P], [batch, H, R] */
  void *workspace;
  size_t workspace_size;
} chain;

/* Bytes of the keys of all tokens, as the form has them. */
double chain_key_bytes(const chain *x);
/* Row of the cache at which a request of a set begins. */
int64_t chain_first_row(const chain *x, int set, int32_t request);

/* --- acc.c: the absorbed form over keys concatenated for each head --- */
/* Buffers, lists and the kernel that concatenates. Plans are there. */
mlaf_status chain_acc_open(chain *x);
void chain_acc_close(chain *x);
/* From turned queries to values. Called behind those who append. */
mlaf_status chain_acc_attend(const chain *x, int set, const mlaf_layer_args *a);
