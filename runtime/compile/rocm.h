/* libhiprtc and libamd_comgr loaded by dlopen, and what we ask of them. Used by the worker process and, where the
 * libraries load here, in this process. Not thread-safe: hiprtc compiles one program at a time per process. */
#pragma once

#include "base/base.h"

typedef struct mlaf_rocm mlaf_rocm;

/* `lib_dir` (may be NULL) is tried before the loader's own search path. E_NO_COMPILER names what was tried. */
mlaf_status mlaf_rocm_load(const char *lib_dir, mlaf_rocm **out, mlaf_err *err);
/* Frees the handle. The libraries stay mapped: LLVM registers destructors that must not outlive their code. */
void mlaf_rocm_free(mlaf_rocm *r);

/* The three below give malloc'ed output and a malloc'ed log ("" if empty); on failure *out is untouched, *log is set
 * when the compiler said something and `err` has its first error line. `options`: NUL-terminated strings in a row. */
mlaf_status mlaf_rocm_compile(mlaf_rocm *r, const char *target, const char *options, size_t options_size,
                              const char *source, void **out, size_t *size, char **log, mlaf_err *err);
mlaf_status mlaf_rocm_disassemble(mlaf_rocm *r, const char *target, const void *code, size_t size, void **out,
                                  size_t *out_size, char **log, mlaf_err *err);
mlaf_status mlaf_rocm_assemble(mlaf_rocm *r, const char *target, const char *source, size_t size, void **out,
                               size_t *out_size, char **log, mlaf_err *err);
/* "hiprtc 6.4, comgr 3.0, /path/libhiprtc.so.6 ..." as the libraries say it themselves. malloc'ed. */
char *mlaf_rocm_version(mlaf_rocm *r);
