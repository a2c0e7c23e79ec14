/* The struct_size rule of every operation's arguments. */
#include "op/calls.h"

static mlaf_status copy(const mlaf_calls *calls, const void *args, uint32_t size, void *whole, mlaf_err *err) {
  if (size < calls->args_first || size > 4096)
    return mlaf_fail(err, MLAF_E_ARG, "%s: struct_size is %u, must be %zu: start from %s", calls->args_name, size,
                     calls->args_size, calls->args_init);
  for (const char *s = (const char *)args + calls->args_size, *end = (const char *)args + size; s < end; s++)
    if (*s) return mlaf_fail(err, MLAF_E_ARG, "%s: a field this library does not know is set", calls->args_name);
  memset(whole, 0, calls->args_size);
  memcpy(whole, args, size < calls->args_size ? size : calls->args_size);
  size = (uint32_t)calls->args_size;
  memcpy(whole, &size, sizeof size);
  return MLAF_OK;
}

const void *mlaf_args_take(const mlaf_calls *calls, const void *args, mlaf_whole_args *whole, mlaf_err *err) {
  uint32_t size;
  memcpy(&size, args, sizeof size);
  if (size == calls->args_size) return args;
  return copy(calls, args, size, whole->bytes, err) ? NULL : whole->bytes;
}
