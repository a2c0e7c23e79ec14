/* What every room of the runtime shares: error detail, bounded text, logging, hashing, files, time. */
#ifndef MLAF_BASE_H
#define MLAF_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mlaforge/status.h"

#define MLAF_ERR_MAX 4096

/* Where a failing function writes its detail. Functions take `mlaf_err *err`, which may be NULL.
 * The detail names the cause and, where there is one, the fix. */
typedef struct mlaf_err {
  mlaf_status status;
  char text[MLAF_ERR_MAX];
} mlaf_err;

/* Record status and a printf-formatted detail; returns status so that callers can `return mlaf_fail(...)`. */
mlaf_status mlaf_fail(mlaf_err *err, mlaf_status status, const char *fmt, ...) MLAF_PRINTF(3, 4);
/* Put "prefix: " in front of the detail already in err; returns err's status. */
mlaf_status mlaf_fail_prefix(mlaf_err *err, mlaf_status status, const char *fmt, ...) MLAF_PRINTF(3, 4);

/* Growing text with a hard maximum (a runaway producer gets MLAF_E_NOMEM, not the machine's memory).
 * After any failed append `failed` is set and further appends do nothing: check once at the end. */
typedef struct mlaf_text {
  char *data; /* NUL-terminated once anything was appended; NULL before */
  size_t len, cap, max;
  bool failed;
} mlaf_text;
#define MLAF_TEXT_INIT(limit) ((mlaf_text){NULL, 0, 0, (limit), false})
void mlaf_text_add(mlaf_text *t, const void *bytes, size_t n);
void mlaf_text_str(mlaf_text *t, const char *s);
void mlaf_text_fmt(mlaf_text *t, const char *fmt, ...) MLAF_PRINTF(2, 3);
void mlaf_text_free(mlaf_text *t);
/* Hand the string to the caller (free()); NULL if anything failed. Resets t. */
char *mlaf_text_take(mlaf_text *t);

typedef struct mlaf_log {
  mlaf_log_fn fn; /* NULL: silent */
  void *user;
  mlaf_log_level level; /* lines above this level are dropped */
} mlaf_log;
void mlaf_log_line(const mlaf_log *log, mlaf_log_level level, const char *fmt, ...) MLAF_PRINTF(3, 4);

#define MLAF_HASH_HEX 65 /* SHA-256 as lower-case hex and NUL */
/* SHA-256 (OpenSSL) of one buffer. */
void mlaf_sha256_hex(const void *data, size_t n, char out[MLAF_HASH_HEX]);
/* SHA-256 over several parts, each preceded by its length, so that ("ab","c") != ("a","bc"). */
void mlaf_sha256_parts(const void *const *parts, const size_t *lens, size_t n, char out[MLAF_HASH_HEX]);

/* Whole file into malloc'ed memory (NUL added behind it). `max` bytes at most. */
mlaf_status mlaf_file_read(const char *path, size_t max, void **data, size_t *size, mlaf_err *err);
/* Publish a file: mkstemp in the same directory, write, fsync, rename over. Nothing is left behind on failure. */
mlaf_status mlaf_file_publish(const char *path, const void *data, size_t size, mlaf_err *err);
/* mkdir -p with mode 0700 for what it makes. */
mlaf_status mlaf_dir_make(const char *path, mlaf_err *err);

char *mlaf_strdup(const char *s);                                 /* NULL in, NULL out */
char *mlaf_format(const char *fmt, ...) MLAF_PRINTF(1, 2);        /* malloc'ed, NULL when out of memory */
double mlaf_now(void);                                            /* monotonic seconds */

#endif
