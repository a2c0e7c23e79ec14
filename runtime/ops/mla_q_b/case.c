/* Cases: a projection's, and beside it one of mla_append's, each with its own tokens and its own reference; where queries go on,
 * one of mla_q_absorb's behind the first, whose outputs are its x. */
#include <stdio.h>
#include <stdlib.h>

#include "ops/mla_q_b/q_b_calls.h"

typedef struct q_b_case {
  mlaf_case head; /* first */
  mlaf_case *product, *append, *absorb; /* append, absorb NULL: there is none */
  const mlaf_calls *appends;
} q_b_case;
enum { PRODUCT_BUFFERS = 10, ABSORB_AT = MLAF_CASE_BUFFERS - PRODUCT_BUFFERS, Y = 0, X = 1 }; /* in the list of buffers */

/* Of mla_append's cases: rows of all sizes beside the tokens that it is tuned for, slices beside slices, and beside one token
 * rotated columns that go to a tensor of their own as well. */
static const int beside[MLAF_PROJECTION_CASES] = {2, 0, 1};

mlaf_status q_b_make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out, mlaf_err *err) {
  q_b_case *c = calloc(1, sizeof *c);
  if (!c) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a case");
  mlaf_status st = mlaf_projection_make_case(p, index, seed, inject, &c->product, err);
  if (!st && q_b_appends(p)) {
    const mlaf_point side = q_b_append_point(p);
    c->appends = side.op->calls;
    st = c->appends->make_case(&side, beside[index], seed, inject, &c->append, err);
  }
  if (!st && q_b_absorbs(p)) {
    const mlaf_point second = q_b_absorb_point(p);
    st = mlaf_projection_make_case(&second, index, seed + 1, inject, &c->absorb, err);
    if (!st) st = mlaf_projection_chain(c->absorb, c->product, err);
  }
  if (st) {
    q_b_free_case(&c->head);
    return st;
  }
  c->head.name = c->product->name;
  *out = &c->head;
  return MLAF_OK;
}

void q_b_free_case(mlaf_case *head) {
  q_b_case *c = (q_b_case *)head;
  if (!c) return;
  mlaf_projection_free_case(c->absorb);
  mlaf_projection_free_case(c->product);
  if (c->append) c->appends->free_case(c->append);
  free(c);
}

/* Where queries go on: they are in no buffer, and y is the second product's. */
static int absorb_buffers(const q_b_case *c, const mlaf_bound *b, mlaf_q_b_args *a, int n, mlaf_case_buffer *out) {
  const mlaf_bound second = q_b_absorb_bound(b);
  mlaf_case_buffer more[MLAF_CASE_BUFFERS];
  for (; n < ABSORB_AT; n++) out[n] = (mlaf_case_buffer){.use = MLAF_USE_NONE};
  out[Y].use = MLAF_USE_NONE;
  const int m = mlaf_projection_case_buffers(c->absorb, &second, 1, &a->absorb, more);
  more[X].use = MLAF_USE_NONE;
  for (int i = 0; i < m; i++, n++) {
    out[n] = more[i];
    out[n].arg += offsetof(mlaf_q_b_args, absorb);
  }
  a->projection.y_token_stride = a->projection.y_head_stride = a->absorb.x_token_stride = a->absorb.x_head_stride = 0;
  return n;
}

int q_b_case_buffers(const mlaf_case *head, const mlaf_bound *b, uint32_t knob, void *args,
                     mlaf_case_buffer out[MLAF_CASE_BUFFERS]) {
  const q_b_case *c = (const q_b_case *)head;
  mlaf_q_b_args *a = args;
  *a = (mlaf_q_b_args)MLAF_Q_B_ARGS_INIT;
  int n = mlaf_projection_case_buffers(c->product, b, knob, &a->projection, out);
  a->projection.struct_size = sizeof *a;
  for (; n < PRODUCT_BUFFERS; n++) out[n] = (mlaf_case_buffer){.use = MLAF_USE_NONE};
  if (!c->append) return n;
  mlaf_case_buffer more[MLAF_CASE_BUFFERS];
  const mlaf_bound side = q_b_append_bound(b);
  const int m = c->appends->case_buffers(c->append, &side, 1, &a->append, more);
  for (int i = 0; i < m && n < ABSORB_AT; i++, n++) {
    out[n] = more[i];
    out[n].arg += offsetof(mlaf_q_b_args, append);
  }
  return c->absorb ? absorb_buffers(c, b, a, n, out) : n;
}

bool q_b_compare(const mlaf_case *head, void *const *outputs, mlaf_verify_result *out) {
  const q_b_case *c = (const q_b_case *)head;
  mlaf_verify_result rows = {0};
  bool good = c->absorb ? mlaf_projection_compare(c->absorb, outputs + ABSORB_AT, out)
                        : mlaf_projection_compare(c->product, outputs, out);
  if (!good || !c->append) return good;
  good = c->appends->compare(c->append, outputs + PRODUCT_BUFFERS, &rows);
  out->rows += rows.rows;
  if (!good) snprintf(out->detail, sizeof out->detail, "append: %.1000s", rows.detail);
  return good;
}

bool q_b_same(const mlaf_case *head, void *const *a, void *const *b, mlaf_verify_result *out) {
  const q_b_case *c = (const q_b_case *)head;
  return (c->absorb ? mlaf_projection_same(c->absorb, a + ABSORB_AT, b + ABSORB_AT, out)
                    : mlaf_projection_same(c->product, a, b, out)) &&
         (!c->append || c->appends->same(c->append, a + PRODUCT_BUFFERS, b + PRODUCT_BUFFERS, out));
}

double q_b_bound(const mlaf_point *p) {
  const mlaf_point second = q_b_absorb_point(p);
  mlaf_product of = mlaf_product_of(&second);
  of.behind = p->v[MLA_Q_B_Q_RANK];
  return q_b_absorbs(p) ? mlaf_product_bound(&of, of.tokens) : mlaf_projection_bound(p);
}
