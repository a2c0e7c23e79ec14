/* Tensor maps that a kernel wants, one behind the other. */
#pragma once

#include "op/bound.h"

/* The tensor of a map; no data: there is nothing to copy. `launch`: the operation's own. */
typedef mlaf_tensor (*mlaf_tensor_fn)(const void *launch, const mlaf_map_want *want);

/* Encodes them. A map without data is zero: the kernel does not use it then. */
static inline mlaf_status mlaf_fill_maps(mlaf_device *dev, const mlaf_kernel_launch *k, mlaf_tensor_fn tensor_of,
                                         const void *launch, void *maps, mlaf_err *err) {
  unsigned char(*out)[MLAF_MAP_BYTES] = (unsigned char(*)[MLAF_MAP_BYTES])maps;
  mlaf_status st = MLAF_OK;
  for (uint32_t i = 0; !st && i < k->n_maps; i++) {
    const mlaf_tensor t = tensor_of(launch, &k->maps[i]);
    if (!t.data) memset(out[i], 0, sizeof out[i]);
    else st = mlaf_ops(dev)->tensor_map_encode(dev, &t, out[i], err);
  }
  return st;
}
