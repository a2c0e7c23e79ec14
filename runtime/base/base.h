/* Shared by every room of the runtime: the headers of C that nearly every file wants, error detail, bounded text, logging,
 * hashing, files, time. */
#pragma once

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "mlaforge/status.h"

#define MLAF_ERR_MAX 4096

/* The detail of a failure, written by the function that fails. Functions take `mlaf_err *err`, which may be NULL.
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

/* Returns what is wrong with a name or a note from somebody else's file, NULL if nothing: it has to be UTF-8 without control
 * characters, as it goes to terminals, JSON and generated files. `breaks`: tab, line feed and carriage return are let pass. */
const char *mlaf_text_fault(const char *text, bool breaks);

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

/* Whole regular file into malloc'ed memory (NUL added behind it). `max` bytes at most. Never waits: a FIFO is refused. */
mlaf_status mlaf_file_read(const char *path, size_t max, void **data, size_t *size, mlaf_err *err);
/* The same for text that a user names: FIFOs, terminals and /dev/stdin are read to their end, too (a shell's <(command)). E_IO
 * for a FIFO to which nobody writes. */
mlaf_status mlaf_file_take(const char *path, size_t max, void **data, size_t *size, mlaf_err *err);
/* Tells whether a regular file begins with that text (64 bytes at most). */
bool mlaf_file_begins(const char *path, const char *with);
/* Causes and cures of the system's refusals. Most are E_IO; where memory or processes are lacking the status says so. */
typedef struct mlaf_os_error {
  int number;         /* of errno; 0: one that only a text names */
  const char *phrase; /* as strerror has it in English, or as C++ and LLVM say it */
  mlaf_status status;
  const char *cure;   /* "free some space" */
  bool of_place;      /* another file or folder would do as well */
} mlaf_os_error;
/* The cure by errno value; NULL if none is known. */
const mlaf_os_error *mlaf_os_error_of(int number);
/* The first that a text names: a compiler's log, the last words of a process. NULL: none. */
const mlaf_os_error *mlaf_os_error_in(const char *text);

/* Between the two calls a write of this thread beyond the file-size limit (ulimit -f) fails with EFBIG, as one to a full disk
 * fails with ENOSPC, where otherwise SIGXFSZ would end the process. Whoever writes a file does it between them; they nest. */
typedef struct mlaf_write_guard {
  bool pending, blocked; /* SIGXFSZ was, before */
} mlaf_write_guard;
mlaf_write_guard mlaf_write_guard_enter(void);
void mlaf_write_guard_leave(mlaf_write_guard g);

/* E_IO from errno: "cannot <what> '<path>': <reason>", and what helps. */
mlaf_status mlaf_file_fail(mlaf_err *err, const char *what, const char *path);
/* Publish a file of ours (a cache entry), whole or not at all: a temporary one in the same directory, with what the umask leaves
 * of 0666, write, fsync, rename over whatever has the name, a link too. Nothing is left behind on failure. */
mlaf_status mlaf_file_publish(const char *path, const void *data, size_t size, mlaf_err *err);
/* A file of ours that may be lost or torn, written in place (5 us where a rename onto another file takes 100 and an fsync some
 * milliseconds): always of one size, as nothing is cut off. */
bool mlaf_file_jot(const char *path, const void *data, size_t size);
/* The same for a path that a user names (--out): links are followed, a file that was there keeps its mode (and its owner, for
 * root), and what is no regular file (a device, a FIFO, /dev/stdout, /dev/fd/N) is written through. E_IO for a FIFO that nobody
 * reads. */
mlaf_status mlaf_file_write(const char *path, const void *data, size_t size, mlaf_err *err);
/* A path that a user names, to be written bit by bit: what was there is gone at once. NULL with err filled; fclose() it. */
FILE *mlaf_file_create(const char *path, mlaf_err *err);
/* The descriptor of this process that `path` names ("/dev/stdout": 1); -1 when it names none. */
int mlaf_file_descriptor(const char *path);
/* mkdir -p with mode 0700 for what it makes: caches and databases. */
mlaf_status mlaf_dir_make(const char *path, mlaf_err *err);
/* The same with what the umask leaves of 0777: for what users name to be written into. */
mlaf_status mlaf_dir_make_open(const char *path, mlaf_err *err);

char *mlaf_strdup(const char *s);                                 /* NULL in, NULL out */
/* Makes room for another element of `each` bytes in a list of n, whose elements all came that way; with n 0 it may be NULL. list:
 * the address of the pointer to it. False when out of memory, the list as it was. */
bool mlaf_room(void *list, size_t n, size_t each);
char *mlaf_format(const char *fmt, ...) MLAF_PRINTF(1, 2);        /* malloc'ed, NULL when out of memory */
double mlaf_now(void);                                            /* monotonic seconds */
