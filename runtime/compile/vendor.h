/* Vendors' GEMM libraries as a compiler's neighbours: where they lie, which version they are, and the "code objects" of kernels
 * that are theirs. Such a kernel's source is a text that says what the library is asked for (templates/lib/projection/library.h);
 * its code is that text behind the library's identity, so that keys, caches and choices know which version they were made with.
 * Nothing here calls the library; device rooms do (device/matmul.h). */
#pragma once

#include <limits.h>

#include "compile/compile.h"

typedef enum mlaf_vendor { MLAF_CUBLASLT, MLAF_HIPBLASLT, MLAF_VENDORS } mlaf_vendor;

typedef struct mlaf_vendor_library {
  char path[PATH_MAX];
  char identity[160]; /* "cublaslt 13.1.0 build-id ...": its version, and what tells two builds of it apart */
} mlaf_vendor_library;

/* The library of this machine, by looking at files: $MLAF_CUBLASLT_LIBRARY or $MLAF_HIPBLASLT_LIBRARY (a path; nothing else is
 * tried then), where NVRTC is looked for ($CUDA_HOME, LD_LIBRARY_PATH, /usr/local/cuda, the system, what this process has loaded,
 * $MLAF_CUBLASLT_ALSO), or $ROCM_PATH, LD_LIBRARY_PATH, /opt/rocm, the system and what is loaded. E_NO_DEVICE says what was
 * tried. Thread-safe. */
mlaf_status mlaf_vendor_find(mlaf_vendor which, mlaf_vendor_library *out, mlaf_err *err);
/* The library of a source; MLAF_VENDORS: a compiler's. */
mlaf_vendor mlaf_vendor_of_source(const char *source);
/* The source from its first line that means something to a library, without the comments in front: its key covers no more. */
const char *mlaf_vendor_request(const char *source);
const char *mlaf_vendor_name(mlaf_vendor which); /* "cublaslt" */

/* The code of such a source, malloc'ed. */
mlaf_status mlaf_vendor_code(const char *source, const mlaf_vendor_library *with, void **code, size_t *size, mlaf_err *err);
bool mlaf_vendor_is_code(const void *code, size_t size);
/* Its library, by the identity that it was made with: E_NOT_TUNED where this machine's is another or none. */
mlaf_status mlaf_vendor_of_code(const void *code, size_t size, mlaf_vendor which, mlaf_vendor_library *out, mlaf_err *err);
/* The answers of mlaf_code_meta and mlaf_code_launch for a vendor library's product. */
mlaf_status mlaf_vendor_meta(const void *code, size_t size, mlaf_kernel_meta *out, size_t max, size_t *n, mlaf_err *err);
mlaf_status mlaf_vendor_launch(const void *code, size_t size, const char *symbol, mlaf_kernel_launch *out, mlaf_err *err);
