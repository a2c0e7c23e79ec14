/* Finds and identifies the compilers by looking at files only: nothing is started and nothing is loaded. */
#pragma once

#include "base/base.h"

typedef struct mlaf_toolchain {
  char *lib_dir;  /* folder of libhiprtc and libamd_comgr */
  char *loader;   /* that ROCm's own ld.so, NULL when the system's loader runs it */
  char *identity; /* versions and a digest of the libraries' build-ids: part of every cache key */
} mlaf_toolchain;

/* `prefix` NULL: $MLAF_ROCM, then a system ROCm, then the prefix that tools/setup.sh makes. A prefix that was named
 * but holds no ROCm is an error, never silently replaced by another. */
mlaf_status mlaf_toolchain_find(const char *prefix, mlaf_toolchain *out, mlaf_err *err);
/* Both look for what tools/setup.sh made in .deps of the folders above the program, the library and the working directory. */
/* The folder of libnvrtc, loaded by the system's loader: $MLAF_NVRTC (nothing else is tried then), $CUDA_HOME,
 * LD_LIBRARY_PATH, /usr/local/cuda, the system. */
mlaf_status mlaf_nvrtc_find(mlaf_toolchain *out, mlaf_err *err);
/* Identifies one library: the version in its resolved name ("13.1.0.3", "?" where there is none), and a digest of its name,
 * size and build-id. False: it cannot be read. */
bool mlaf_toolchain_identify(const char *path, char *version, size_t version_size, char digest[MLAF_HASH_HEX]);
void mlaf_toolchain_clear(mlaf_toolchain *t);
/* The worker that `path` or $MLAF_WORKER names; NULL: it is to be looked for. */
const char *mlaf_worker_named(const char *path);
/* malloc'ed path of the worker executable, as named or found; E_NO_COMPILER if there is none. */
mlaf_status mlaf_worker_find(const char *path, char **out, mlaf_err *err);
