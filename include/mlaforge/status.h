/* Status codes, error details and logging shared by the whole C API. */
#ifndef MLAFORGE_STATUS_H
#define MLAFORGE_STATUS_H

#include <stdint.h>

#if defined(__cplusplus)
#define MLAF_EXTERN_C extern "C"
#else
#define MLAF_EXTERN_C
#endif
#if defined(__GNUC__)
#define MLAF_API MLAF_EXTERN_C __attribute__((visibility("default")))
#define MLAF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define MLAF_API MLAF_EXTERN_C
#define MLAF_PRINTF(fmt, args)
#endif

/* Every function that can fail returns one of these. On failure out-params are left untouched. */
typedef enum mlaf_status {
  MLAF_OK = 0,
  MLAF_E_ARG,          /* an argument is out of range or inconsistent */
  MLAF_E_PROBLEM,      /* a problem string or shape is malformed or unsupported */
  MLAF_E_NOMEM,        /* host memory, or its processes or threads, exhausted */
  MLAF_E_IO,           /* a file could not be read or written (permission, full disk, file-size limit, missing) */
  MLAF_E_NO_DEVICE,    /* the device asked for does not exist here */
  MLAF_E_DEVICE,       /* the device or its driver reported an error */
  MLAF_E_FAULT,        /* the emulator refused what a kernel did; the detail names pc, wave, lane */
  MLAF_E_NO_COMPILER,  /* no hiprtc/NVRTC for this target was found, or it does not compile even an empty kernel */
  MLAF_E_COMPILE,      /* the compiler rejected the source; the detail carries its log */
  MLAF_E_TIMEOUT,      /* a compile took more CPU time, a launch or a lock took longer than its limit */
  MLAF_E_CRASH,        /* the compiler crashed in its worker */
  MLAF_E_TEMPLATE,     /* a template or generator module failed; the detail names file:line */
  MLAF_E_DB,           /* the tuning database is unusable (foreign, newer, corrupt, locked) */
  MLAF_E_NOT_TUNED,    /* effort DB_ONLY and no usable choice */
  MLAF_E_NOT_COMPILED, /* NO_COMPILE and no code object in the cache */
  MLAF_E_INCORRECT,    /* a kernel's output differs from the reference by more than the bound */
  MLAF_E_CANCELLED,    /* stopped on request (SIGINT); finished work is kept */
  MLAF_E_INTERNAL,     /* a bug of this library */
  MLAF_E_KILLED,       /* the compiler worker was killed or stopped from outside, twice: says nothing of the kernel; try again */
  MLAF_STATUS_COUNT
} mlaf_status;

/* Returns a one-line English text for any status value, "unknown status" otherwise. Never NULL. Thread-safe. */
MLAF_API const char *mlaf_status_text(mlaf_status status);
/* Returns the constant's name, e.g. "MLAF_E_DB". Never NULL. Thread-safe. */
MLAF_API const char *mlaf_status_name(mlaf_status status);

typedef enum mlaf_log_level { MLAF_LOG_ERROR, MLAF_LOG_WARN, MLAF_LOG_INFO, MLAF_LOG_DEBUG } mlaf_log_level;
/* Receives one line without a trailing newline. May be called from any thread that calls the library. */
typedef void (*mlaf_log_fn)(void *user, mlaf_log_level level, const char *line);

#endif
