/* Data to time and soak on: a projection's, and where rows are appended mla_append's beside it, out of a pool of its own, of
 * which nobody else knows; where queries go on mla_q_absorb's, whose x is the first's outputs. */
#include <stdio.h>
#include <stdlib.h>

#include "ops/mla_q_b/q_b_calls.h"

enum { SPREAD_MOST = 256 << 20 }; /* bytes of the rows' data: weights are what a launch finds cold */

typedef struct q_b_data {
  mlaf_data head; /* first */
  mlaf_data *product, *append, *absorb; /* append, absorb NULL: there is none */
  mlaf_pool *pool;             /* of append */
  mlaf_point side;
  double share;                /* what an error of a row counts, so that both have the product's bound */
} q_b_data;

/* Whose y it is. */
static mlaf_data *last_of(const q_b_data *d) { return d->absorb ? d->absorb : d->product; }

static const q_b_data *data_of(const mlaf_data *d) { return (const q_b_data *)d; }
static const mlaf_calls *appends(const q_b_data *d) { return d->side.op->calls; }
static int side_set(const q_b_data *d, int set) { return set % d->append->sets; }

static mlaf_status open_append(q_b_data *d, mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_err *err) {
  mlaf_data_opts less = *opts;
  if (less.spread_bytes > SPREAD_MOST) less.spread_bytes = SPREAD_MOST;
  d->side = q_b_append_point(p);
  d->share = q_b_bound(p) / appends(d)->bound(&d->side);
  mlaf_status st = mlaf_pool_create(dev, opts->seed, &d->pool, err);
  if (!st) st = appends(d)->data_open(dev, &d->side, &less, d->pool, &d->append, err);
  if (st) return st;
  d->head.work.bytes += d->append->work.bytes;
  d->head.work.flops += d->append->work.flops;
  for (int i = 0; i < d->append->n_outputs; i++) {
    mlaf_data_output *o = &d->head.outputs[d->head.n_outputs++];
    *o = d->append->outputs[i];
    o->arg += offsetof(mlaf_q_b_args, append);
  }
  return MLAF_OK;
}

static mlaf_status open_absorb(q_b_data *d, mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool,
                               mlaf_err *err) {
  const mlaf_point second = q_b_absorb_point(p);
  const mlaf_status st = mlaf_projection_data_open(dev, &second, opts, pool, &d->absorb, err);
  if (st) return st;
  mlaf_projection_data_chain(d->absorb, d->product);
  d->head.outputs[0] = d->absorb->outputs[0];
  d->head.outputs[0].arg += offsetof(mlaf_q_b_args, absorb);
  d->head.work = q_b_work(p);
  return MLAF_OK;
}

mlaf_status q_b_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool, mlaf_data **out,
                          mlaf_err *err) {
  q_b_data *d = calloc(1, sizeof *d);
  if (!d) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for timing data");
  mlaf_status st = mlaf_projection_data_open(dev, p, opts, pool, &d->product, err);
  if (!st) d->head = *d->product;
  if (!st && q_b_appends(p)) st = open_append(d, dev, p, opts, err);
  if (!st && q_b_absorbs(p)) st = open_absorb(d, dev, p, opts, pool, err);
  if (st) {
    q_b_data_close(&d->head);
    return st;
  }
  *out = &d->head;
  return MLAF_OK;
}

void q_b_data_close(mlaf_data *data) {
  q_b_data *d = (q_b_data *)data;
  if (!d) return;
  mlaf_projection_data_close(d->absorb);
  mlaf_projection_data_close(d->product);
  if (d->append) appends(d)->data_close(d->append);
  mlaf_pool_free(d->pool);
  free(d);
}

void q_b_data_args(const mlaf_data *data, int set, void *args) {
  const q_b_data *d = data_of(data);
  mlaf_q_b_args *a = args;
  *a = (mlaf_q_b_args)MLAF_Q_B_ARGS_INIT;
  mlaf_projection_data_args(d->product, set, &a->projection);
  a->projection.struct_size = sizeof *a;
  if (d->append) appends(d)->data_args(d->append, side_set(d, set), &a->append);
  if (!d->absorb) return;
  mlaf_projection_data_args(d->absorb, set, &a->absorb);
  a->absorb.x = a->projection.y = NULL;
}

mlaf_status q_b_data_check(const mlaf_data *data, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                           mlaf_err *err) {
  const q_b_data *d = data_of(data);
  mlaf_data_checked rows;
  mlaf_status st = mlaf_projection_data_check(last_of(d), set, outputs, most_work, out, err);
  if (st || !d->append) return st;
  st = appends(d)->data_check(d->append, side_set(d, set), outputs + d->product->n_outputs, most_work, &rows, err);
  out->rows += rows.rows;
  return st;
}

mlaf_status q_b_data_error(const mlaf_data *data, int set, int output, size_t row, const void *got, const void *want,
                           double *error, mlaf_err *err) {
  const q_b_data *d = data_of(data);
  const int first = d->product->n_outputs;
  if (output < first) return mlaf_projection_data_error(last_of(d), set, output, row, got, want, error, err);
  const mlaf_status st = appends(d)->data_error(d->append, side_set(d, set), output - first, row, got, want, error, err);
  if (!st) *error *= d->share;
  return st;
}

void q_b_data_row(const mlaf_data *data, int output, size_t row, char *out, size_t size) {
  const q_b_data *d = data_of(data);
  const int first = d->product->n_outputs;
  if (output < first) mlaf_projection_data_row(last_of(d), output, row, out, size);
  else appends(d)->data_row(d->append, output - first, row, out, size);
}
