/* Guarded device buffers. */
#include "check/buffers.h"

enum { ALIGNED_CANARY = 512, CANARY_BYTE = 0xff };

static size_t before(const mlaf_buffer *b) { return (size_t)(b->data - b->base); }

/* A workspace is read by kernels alone: where the device knows what was written, its megabytes need no poison. */
static mlaf_status fill(mlaf_buffers *set, const mlaf_buffer *b, const mlaf_case_buffer *want, int poison, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(set->dev);
  const bool known = ops->mem_undefine && want->use == MLAF_USE_WORKSPACE;
  if (!b->size) return MLAF_OK;
  if (want->input) return ops->mem_write(set->dev, b->data, want->input, b->size, err);
  mlaf_status st = known ? MLAF_OK : ops->mem_fill(set->dev, b->data, poison, b->size, err);
  return !st && ops->mem_undefine ? ops->mem_undefine(set->dev, b->data, b->size, err) : st;
}

mlaf_status mlaf_buffers_add(mlaf_buffers *set, const mlaf_case_buffer *want, int poison, void **data, mlaf_err *err) {
  if (set->n == MLAF_BUFFERS_MAX) return mlaf_fail(err, MLAF_E_INTERNAL, "too many buffers at %s", want->name);
  const mlaf_device_ops *ops = mlaf_ops(set->dev);
  const size_t front = !set->canaries ? 0 : want->use == MLAF_USE_WORKSPACE ? ALIGNED_CANARY : MLAF_CANARY;
  const size_t back = set->canaries ? MLAF_CANARY : 0, size = want->bytes;
  void *base = NULL;
  mlaf_status st = ops->mem_alloc(set->dev, front + size + back ? front + size + back : 1, &base, err);
  if (st) return mlaf_fail_prefix(err, st, "buffer %s", want->name);
  mlaf_buffer *b = &set->at[set->n++];
  *b = (mlaf_buffer){base, (char *)base + front, size, want->use == MLAF_USE_INPUT ? want->input : NULL, want->name};
  if (front) st = ops->mem_fill(set->dev, base, CANARY_BYTE, front, err);
  if (!st && back) st = ops->mem_fill(set->dev, b->data + size, CANARY_BYTE, back, err);
  if (!st) st = fill(set, b, want, poison, err);
  *data = b->data;
  return st;
}

/* The first byte that is not as expected, n if all are. `want` NULL: the canary byte. */
static size_t first_changed(const unsigned char *got, const unsigned char *want, size_t n) {
  if (want && memcmp(got, want, n) == 0) return n; /* as a rule, and much faster than byte by byte */
  for (size_t i = 0; i < n; i++)
    if (got[i] != (want ? want[i] : CANARY_BYTE)) return i;
  return n;
}

/* n bytes at `at` of a buffer, copied to the host: the first that is not as expected. */
static mlaf_status look(const mlaf_buffers *set, const mlaf_buffer *b, const void *at, const unsigned char *want, size_t n,
                        unsigned char *host, size_t *changed, mlaf_err *err) {
  mlaf_status st = n ? mlaf_ops(set->dev)->mem_read(set->dev, host, at, n, err) : MLAF_OK;
  if (st) return mlaf_fail_prefix(err, st, "buffer %s", b->name);
  *changed = first_changed(host, want, n);
  return MLAF_OK;
}

/* Checks one buffer. Only canaries and inputs are read: a workspace may be large. */
static mlaf_status check_one(const mlaf_buffers *set, const mlaf_buffer *b, unsigned char *host, mlaf_err *err) {
  const size_t front = before(b), back = set->canaries ? MLAF_CANARY : 0, size = b->input ? b->size : 0;
  size_t at = 0;
  mlaf_status st = look(set, b, b->base, NULL, front, host, &at, err);
  if (!st && at < front)
    return mlaf_fail(err, MLAF_E_INCORRECT, "the kernel wrote %zu bytes before buffer %s", front - at, b->name);
  if (!st) st = look(set, b, b->data + b->size, NULL, back, host, &at, err);
  if (!st && at < back)
    return mlaf_fail(err, MLAF_E_INCORRECT, "the kernel wrote %zu bytes behind the end of buffer %s", at, b->name);
  if (!st) st = look(set, b, b->data, b->input, size, host, &at, err);
  if (!st && at < size)
    return mlaf_fail(err, MLAF_E_INCORRECT, "the kernel wrote to input %s at byte %zu", b->name, at);
  return st;
}

mlaf_status mlaf_buffers_check(const mlaf_buffers *set, mlaf_err *err) {
  size_t largest = MLAF_CANARY + ALIGNED_CANARY; /* either */
  for (int i = 0; i < set->n; i++)
    if (set->at[i].input && set->at[i].size > largest) largest = set->at[i].size;
  unsigned char *host = malloc(largest);
  if (!host) return mlaf_fail(err, MLAF_E_NOMEM, "no memory to check %zu bytes", largest);
  mlaf_status st = MLAF_OK;
  for (int i = 0; !st && i < set->n; i++)
    if (set->canaries || set->at[i].input) st = check_one(set, &set->at[i], host, err);
  free(host);
  return st;
}

void mlaf_buffers_free(mlaf_buffers *set) {
  for (int i = set->n; i-- > 0;) mlaf_ops(set->dev)->mem_free(set->dev, set->at[i].base, NULL);
  set->n = 0;
}
