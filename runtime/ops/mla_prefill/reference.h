/* mla_prefill in fp64: rows beside a launch's, and how far off a kernel's may be. */
#pragma once

#include "ops/mla_prefill/args.h"
#include "ops/mla_prefill/prefill.h"

static inline mlaf_prefill_args *prefill_args_of(const mlaf_host *h) { return (void *)(uintptr_t)h->args.bytes; }
/* A list of where requests begin, and the last one ends. */
static inline int32_t *prefill_ends(const mlaf_host *h, int tensor) { return (void *)h->t[tensor].data; }
/* New tokens of a timed request with so many keys, in the proportion of the problem's. */
static inline int64_t prefill_new_tokens(const mlaf_point *p, int64_t keys) {
  const int64_t n = keys * p->v[MLA_PREFILL_TOKENS] / p->v[MLA_PREFILL_CTX];
  return n > 0 ? n : 1;
}

/* Hooks (op/table.h). */
void prefill_refer(mlaf_rows *r);
double prefill_off(mlaf_rows *r, int k, const void *got, int *column, double *is);
mlaf_work prefill_work_over(const mlaf_host *h);

double prefill_bound(const mlaf_point *p);
