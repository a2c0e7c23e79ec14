/* Is what a timed variant computes on the timing data right? */
#include "check/bench_internal.h"

enum { FILLS = 2 };
static const unsigned char fills[FILLS] = {0xff, 0x5a};

/* Finds the data's outputs; returns the sum of their bytes. */
static size_t find_outputs(const mlaf_bench *b, void *outputs[MLAF_DATA_OUTPUTS]) {
  mlaf_any_args args;
  size_t bytes = 0;
  mlaf_bench_args(b, 0, NULL, 0, &args);
  for (int i = 0; i < b->data->n_outputs; i++) {
    const mlaf_data_output *o = &b->data->outputs[i];
    void *at;
    memcpy(&at, args.bytes + o->arg, sizeof at);
    outputs[i] = at;
    bytes += o->rows * o->row_bytes;
  }
  return bytes;
}

/* One launch over outputs filled with a byte; all of them, one behind the other, to `to`. */
static mlaf_status run_once(mlaf_bench *b, const mlaf_loaded *l, int fill, void *const outputs[], char *to, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(b->dev);
  mlaf_prepared prepared;
  mlaf_status st = mlaf_bench_prepare(b, l, mlaf_loaded_knob(l), &prepared, err);
  for (int i = 0; !st && i < b->data->n_outputs; i++)
    st = ops->mem_fill(b->dev, outputs[i], fill, b->data->outputs[i].rows * b->data->outputs[i].row_bytes, err);
  for (size_t i = 0; !st && i < prepared.n; i++) st = ops->launch(b->dev, NULL, &prepared.launches[i], err);
  if (!st) st = ops->sync(b->dev, NULL, err);
  for (int i = 0; !st && i < b->data->n_outputs; i++) {
    const size_t bytes = b->data->outputs[i].rows * b->data->outputs[i].row_bytes;
    st = ops->mem_read(b->dev, to, outputs[i], bytes, err);
    to += bytes;
  }
  return st;
}

static mlaf_status say_different(const mlaf_bench *b, const mlaf_loaded *l, size_t at, const unsigned char *const got[FILLS],
                                 mlaf_err *err) {
  const bool unwritten = got[0][at] == fills[0] && got[1][at] == fills[1];
  char where[128];
  int i = 0;
  for (; at >= b->data->outputs[i].rows * b->data->outputs[i].row_bytes; i++)
    at -= b->data->outputs[i].rows * b->data->outputs[i].row_bytes;
  const mlaf_data_output *o = &b->data->outputs[i];
  b->calls->data_row(b->data, i, at / o->row_bytes, where, sizeof where);
  return mlaf_fail(err, MLAF_E_INCORRECT, "variant %s on the timed data: byte %zu of %zu of %s, %s, %s", mlaf_loaded_name(l),
                   at % o->row_bytes, o->row_bytes, o->name, where,
                   unwritten ? "was left unwritten" : "is not the same in two launches");
}

/* Two launches; what they left is what the second wrote. */
static mlaf_status run_twice(mlaf_bench *b, const mlaf_loaded *l, void *const outputs[], size_t bytes, mlaf_err *err) {
  unsigned char *got[FILLS] = {malloc(bytes), malloc(bytes)};
  mlaf_status st = got[0] && got[1] ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no memory for two outputs of %zu bytes", bytes);
  for (int i = 0; !st && i < FILLS; i++) st = run_once(b, l, fills[i], outputs, (char *)got[i], err);
  if (!st && memcmp(got[0], got[1], bytes)) {
    size_t at = 0;
    while (got[0][at] == got[1][at]) at++;
    st = say_different(b, l, at, (const unsigned char *const[]){got[0], got[1]}, err);
  }
  free(got[0]);
  free(got[1]);
  return st;
}

mlaf_status mlaf_bench_check(mlaf_bench *b, const mlaf_loaded *l, double *error, mlaf_err *err) {
  void *outputs[MLAF_DATA_OUTPUTS];
  mlaf_data_checked checked = {.error = 0};
  const size_t bytes = find_outputs(b, outputs);
  mlaf_status st = run_twice(b, l, outputs, bytes, err);
  if (st) return st;
  st = b->calls->data_check(b->data, 0, outputs, 0, &checked, err);
  *error = checked.error;
  return st == MLAF_E_INCORRECT ? mlaf_fail_prefix(err, st, "variant %s on the timed data", mlaf_loaded_name(l)) : st;
}
