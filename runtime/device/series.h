/* Launches of one call that are kept until all of them are known, and then made as one chain (device.h): a whole layer's cost the
 * host less than half so. Nothing runs before the end. */
#pragma once

#include "device/device.h"

enum { MLAF_SERIES_BYTES = 16384 /* parameters of MLAF_CHAIN_MOST launches, and more */ };

typedef struct mlaf_series {
  mlaf_device *dev;
  void *stream;
  size_t n, used; /* launches, bytes of their parameters */
  bool direct;    /* launched one by one from here on */
  mlaf_launch list[MLAF_CHAIN_MOST];
  _Alignas(64) unsigned char args[MLAF_SERIES_BYTES];
} mlaf_series;

/* Chains by the kernels they are of, found without a lock by any thread. */
typedef struct mlaf_series_chains mlaf_series_chains;

/* NULL: the device has no chains, or there is no memory; calls are launched one by one then. */
mlaf_series_chains *mlaf_series_chains_new(mlaf_device *dev);
/* Before the kernels are unloaded. NULL is allowed. */
void mlaf_series_chains_free(mlaf_series_chains *g);

void mlaf_series_begin(mlaf_series *g, mlaf_device *dev, void *stream);
/* Keeps launches with their parameters. Where they are too many, or a library's, all are launched one by one from here on. */
mlaf_status mlaf_series_launch(mlaf_series *g, const mlaf_launch *launches, size_t n, mlaf_err *err);
/* Launches what is kept, and everything from here on, one by one. */
mlaf_status mlaf_series_stop(mlaf_series *g, mlaf_err *err);
/* Launches one behind the other, as a chain. The first call with these kernels makes it, which takes some 50 us
 * (docs/lab/server.md); none is made while the stream is captured. */
mlaf_status mlaf_series_chains_launch(mlaf_series_chains *g, void *stream, const mlaf_launch *launches, size_t n, mlaf_err *err);
/* Launches what is kept, as a chain. */
mlaf_status mlaf_series_end(mlaf_series *g, mlaf_series_chains *chains, mlaf_err *err);
