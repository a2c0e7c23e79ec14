/* Products by a vendor's GEMM library, loaded at run time: y[t,h,:] = W[h] x[t,h,:] (+ c[t]) in its column-major terms, as
 * strided batches, with no copies. cuBLASLt's and hipBLASLt's C functions differ in their numbers and in the sizes of their
 * structs, not in what they do: a dialect is those as data (cuda/cublaslt.c, hip/hipblaslt.c). */
#pragma once

#include "device/device.h"

#define MLAF_MATMUL_MAGIC "mlaforge library product 1\n" /* templates/lib/projection/library.h */

/* A product as its text asks for it. */
typedef struct mlaf_matmul_want {
  char symbol[64];
  int32_t heads, inner, outer;
  bool by_inputs; /* W[h] is [inner][outer]; else [outer][inner] */
  bool f16;       /* else bf16; sums are fp32 */
  bool residual;  /* c is added */
  int64_t tokens; /* that the library is asked about; a launch of more goes in passes of so many */
  int32_t way;    /* which of its proposals for so many, from 0 */
} mlaf_matmul_want;
/* From a text that has it; E_ARG where a line is missing or out of range. */
mlaf_status mlaf_matmul_read(const void *text, size_t size, mlaf_matmul_want *out, mlaf_err *err);

/* A launch's args (mlaf_launch with MLAF_LAUNCH_LIBRARY): device pointers, strides in elements. */
typedef struct mlaf_matmul_args {
  const void *w, *x, *c; /* c NULL: without residual */
  void *y;
  int64_t w_row, w_head, x_token, x_head, c_token, y_token, y_head;
  int64_t tokens;
  void *workspace; /* mlaf_matmul_workspace bytes of it, 256-byte aligned */
} mlaf_matmul_args;

enum { MLAF_MATMUL_ALGO_MAX = 64 };

typedef struct mlaf_matmul_dialect {
  const char *name, *prefix; /* "cuBLASLt", of its functions: "cublasLt" */
  int compute_32f, real_32f, real_16bf, real_16f, op_n, op_t;
  int transa; /* attribute of a product */
  int cols, ld, batch, stride; /* of a layout: type and rows never change */
  int most_workspace, least_alignment[4]; /* of a preference; 0: it has none such */
  /* A proposal: algo_bytes, then size_t workspace, int status, float waves, int reserved[4]. */
  size_t algo_bytes;
  bool versioned_alone;      /* PREFIXGetVersion(void) returns it; else (handle, int *) */
  bool checks;               /* has PREFIXMatmulAlgoCheck */
  long least_version, first_unknown; /* whose numbers these are */
} mlaf_matmul_dialect;

typedef struct mlaf_matmul_library mlaf_matmul_library; /* its functions and a handle */
typedef struct mlaf_matmul mlaf_matmul;                 /* one product with its way, ready to launch */

/* E_NO_DEVICE: it does not load, lacks a function, has other numbers, or finds no device. In the device's context. */
mlaf_status mlaf_matmul_library_open(const mlaf_matmul_dialect *d, const char *path, mlaf_matmul_library **out, mlaf_err *err);
void mlaf_matmul_library_close(mlaf_matmul_library *lib);
/* The same, kept in *kept from the first call on: a device has one. E_NO_DEVICE where that was of another path. With a lock
 * held. */
mlaf_status mlaf_matmul_library_keep(const mlaf_matmul_dialect *d, const char *path, mlaf_matmul_library **kept, mlaf_err *err);

/* Asks for proposals and takes one; for fewer tokens (each doubling, and eighths of the last) the first of those for so many.
 * Runs them on memory of its own, so that their kernels are loaded before a capture (left out where that memory is not to be
 * had). MLAF_E_TEMPLATE: there are fewer proposals. In the device's context; the library outlives it. */
mlaf_status mlaf_matmul_open(mlaf_device *dev, mlaf_matmul_library *lib, const mlaf_matmul_want *want, mlaf_matmul **out,
                             mlaf_err *err);
void mlaf_matmul_close(mlaf_matmul *m);
size_t mlaf_matmul_workspace(const mlaf_matmul *m);
/* Asynchronous on `stream`. Any thread; no allocation or lock of ours. */
mlaf_status mlaf_matmul_launch(mlaf_matmul *m, void *stream, const mlaf_matmul_args *args, mlaf_err *err);
