/* Recorded launches (record.h). */
#include "device/record.h"

enum { PARAMETERS_ALIGN = 64 /* tensor maps in them want it */ };

static mlaf_record *record_of(mlaf_device *dev) {
  return (mlaf_record *)((char *)(uintptr_t)mlaf_ops(dev) - offsetof(mlaf_record, ops));
}

static mlaf_status keep(mlaf_device *dev, void *stream, const mlaf_launch *launch, mlaf_err *err) {
  mlaf_record *r = record_of(dev);
  if (r->n == r->room) {
    const size_t room = r->room ? 2 * r->room : 16;
    mlaf_launch *list = realloc(r->list, room * sizeof *list);
    if (!list) return mlaf_fail(err, MLAF_E_NOMEM, "no memory to record %zu launches", room);
    r->list = list;
    r->room = room;
  }
  const size_t size = (launch->args_size + PARAMETERS_ALIGN) / PARAMETERS_ALIGN * PARAMETERS_ALIGN;
  void *args = aligned_alloc(PARAMETERS_ALIGN, size);
  if (!args) return mlaf_fail(err, MLAF_E_NOMEM, "no memory to record a launch of %zu bytes of parameters", size);
  if (launch->args_size) memcpy(args, launch->args, launch->args_size);
  r->list[r->n] = *launch;
  r->list[r->n++].args = args;
  return MLAF_OK;
}

/* Keeps the chain of a plan with two kernels or more. */
static mlaf_status keep_chain(mlaf_device *dev, void *stream, mlaf_chain *chain, const mlaf_launch *launches, size_t n,
                              mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (size_t i = 0; !st && i < n; i++) st = keep(dev, stream, &launches[i], err);
  return st;
}

void mlaf_record_begin(mlaf_device *dev, mlaf_record *r) {
  r->dev = dev;
  r->before = mlaf_ops(dev);
  r->ops = *r->before;
  r->ops.launch = keep;
  r->ops.chain_launch = keep_chain;
  ((mlaf_device_base *)dev)->ops = &r->ops;
}

void mlaf_record_end(mlaf_record *r) {
  if (r->dev) ((mlaf_device_base *)r->dev)->ops = r->before;
  r->dev = NULL;
}

void mlaf_record_free(mlaf_record *r) {
  mlaf_record_end(r);
  for (size_t i = 0; i < r->n; i++) free((void *)(uintptr_t)r->list[i].args);
  free(r->list);
  *r = (mlaf_record){.list = NULL};
}
