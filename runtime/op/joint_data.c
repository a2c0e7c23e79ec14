/* Data of joint kernels to time and soak on: that of each problem in the list. A part that runs beside has a pool of its own, of
 * which nobody else knows; a chained one shares the first's, whose outputs are its input. */
#include "op/joint_calls.h"

enum { SPREAD_MOST = 256 << 20 }; /* bytes of data beside: what a launch finds cold is the first problem's */

typedef struct part_data {
  mlaf_data *data; /* NULL: the list has no such part */
  mlaf_point point;
  mlaf_pool *pool; /* of a part beside */
  double share;    /* what an error of a row beside counts, so that all have the first problem's bound */
  int outputs_at;  /* its first among the joint's outputs */
} part_data;

typedef struct joint_data {
  mlaf_data head; /* first */
  const mlaf_joint *joint;
  mlaf_data *first;
  part_data parts[MLAF_JOINT_PARTS];
} joint_data;

static const joint_data *data_of(const mlaf_data *d) { return (const joint_data *)d; }
static const mlaf_calls *calls_of(const part_data *x) { return x->point.op->calls; }

/* A chained part counts sets as the first problem does. */
static int set_of(const part_data *x, int set) { return x->pool ? set % x->data->sets : set; }

/* --- opening --- */

static mlaf_status open_beside(joint_data *d, part_data *x, mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts,
                               mlaf_err *err) {
  mlaf_data_opts less = *opts;
  if (less.spread_bytes > SPREAD_MOST) less.spread_bytes = SPREAD_MOST;
  x->share = p->op->calls->bound(p) / calls_of(x)->bound(&x->point);
  mlaf_status st = mlaf_pool_create(dev, opts->seed, &x->pool, err);
  if (!st) st = calls_of(x)->data_open(dev, &x->point, &less, x->pool, &x->data, err);
  if (st) return st;
  x->outputs_at = d->head.n_outputs;
  d->head.n_outputs += x->data->n_outputs;
  return MLAF_OK;
}

static mlaf_status open_part(joint_data *d, int part, mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts,
                             mlaf_pool *pool, mlaf_err *err) {
  const mlaf_joint_part *of = &d->joint->parts[part];
  part_data *x = &d->parts[part];
  x->point = mlaf_joint_point(p, part);
  mlaf_status st = MLAF_OK;
  if (of->blocks) st = open_beside(d, x, dev, p, opts, err);
  else {
    st = calls_of(x)->data_open(dev, &x->point, opts, pool, &x->data, err);
    if (!st) calls_of(x)->chain_data(x->data, d->first);
  }
  for (int i = 0; !st && i < x->data->n_outputs; i++) {
    mlaf_data_output *o = &d->head.outputs[x->outputs_at + i];
    *o = x->data->outputs[i];
    o->arg += of->args_at;
  }
  return st;
}

mlaf_status mlaf_joint_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool,
                                 mlaf_data **out, mlaf_err *err) {
  joint_data *d = calloc(1, sizeof *d);
  if (!d) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for timing data");
  d->joint = p->op->joint;
  mlaf_status st = d->joint->first->data_open(dev, p, opts, pool, &d->first, err);
  if (!st) d->head = *d->first;
  for (int i = 0; !st && i < d->joint->n_parts; i++)
    if (mlaf_joint_has(p, i)) st = open_part(d, i, dev, p, opts, pool, err);
  if (st) {
    mlaf_joint_data_close(&d->head);
    return st;
  }
  d->head.work = p->op->calls->work(p);
  *out = &d->head;
  return MLAF_OK;
}

void mlaf_joint_data_close(mlaf_data *data) {
  joint_data *d = (joint_data *)data;
  if (!d) return;
  for (int i = d->joint->n_parts - 1; i >= 0; i--) {
    if (d->parts[i].data) calls_of(&d->parts[i])->data_close(d->parts[i].data);
    mlaf_pool_free(d->parts[i].pool);
  }
  if (d->first) d->joint->first->data_close(d->first);
  free(d);
}

void mlaf_joint_data_args(const mlaf_data *data, int set, void *args) {
  const joint_data *d = data_of(data);
  const mlaf_joint *j = d->joint;
  uint32_t size;
  bool chained = false;
  memcpy(&size, j->args_init, sizeof size);
  memcpy(args, j->args_init, size);
  j->first->data_args(d->first, set, args);
  memcpy(args, &size, sizeof size); /* struct_size */
  for (int i = 0; i < j->n_parts; i++) {
    const part_data *x = &d->parts[i];
    if (!x->data) continue;
    calls_of(x)->data_args(x->data, set_of(x, set), (char *)args + j->parts[i].args_at);
    chained |= !x->pool;
  }
  if (chained) j->part(args);
}

/* --- what came out --- */

/* The part whose output the first problem's is: a chained one; NULL: its own. */
static const part_data *last_of(const joint_data *d) {
  const part_data *last = NULL;
  for (int i = 0; i < d->joint->n_parts; i++)
    if (d->parts[i].data && !d->parts[i].pool) last = &d->parts[i];
  return last;
}

/* The part that an output of the joint is of; NULL: the first problem's, none chained to it. */
static const part_data *part_of(const joint_data *d, int output) {
  for (int i = 0; i < d->joint->n_parts; i++) {
    const part_data *x = &d->parts[i];
    if (x->data && output >= x->outputs_at && output < x->outputs_at + x->data->n_outputs) return x;
  }
  return NULL;
}

mlaf_status mlaf_joint_data_check(const mlaf_data *data, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                                  mlaf_err *err) {
  const joint_data *d = data_of(data);
  const part_data *last = last_of(d);
  mlaf_status st = last ? calls_of(last)->data_check(last->data, set, outputs, most_work, out, err)
                        : d->joint->first->data_check(d->first, set, outputs, most_work, out, err);
  for (int i = 0; !st && i < d->joint->n_parts; i++) {
    const part_data *x = &d->parts[i];
    mlaf_data_checked beside;
    if (!x->data || x == last) continue;
    st = calls_of(x)->data_check(x->data, set_of(x, set), outputs + x->outputs_at, most_work, &beside, err);
    out->rows += beside.rows;
  }
  return st;
}

mlaf_status mlaf_joint_data_error(const mlaf_data *data, int set, int output, size_t row, const void *got, const void *want,
                                  double *error, mlaf_err *err) {
  const joint_data *d = data_of(data);
  const part_data *x = part_of(d, output);
  if (!x) return d->joint->first->data_error(d->first, set, output, row, got, want, error, err);
  const mlaf_status st = calls_of(x)->data_error(x->data, set_of(x, set), output - x->outputs_at, row, got, want, error, err);
  if (!st && x->pool) *error *= x->share;
  return st;
}

void mlaf_joint_data_row(const mlaf_data *data, int output, size_t row, char *out, size_t size) {
  const joint_data *d = data_of(data);
  const part_data *x = part_of(d, output);
  if (x) calls_of(x)->data_row(x->data, output - x->outputs_at, row, out, size);
  else d->joint->first->data_row(d->first, output, row, out, size);
}
