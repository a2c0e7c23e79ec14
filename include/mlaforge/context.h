/* The context: a device, a tuning database, a code-object cache and a logger. No process globals: two contexts in one
 * process share nothing but files. */
#ifndef MLAFORGE_CONTEXT_H
#define MLAFORGE_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "mlaforge/status.h"

/* Opaque. Thread-safe: any thread may use it at any time; planning calls take turns on one lock. Created and destroyed
 * by the caller; plans keep what they need of it alive, see mlaf_ctx_destroy. A process made by fork() must not use its parent's:
 * neither devices nor locks survive that. */
typedef struct mlaf_ctx mlaf_ctx;

enum {
  MLAF_CTX_NO_DB = 1u << 0,        /* plan without any database: by model and baseline only */
  MLAF_CTX_DB_READ_ONLY = 1u << 1, /* never write to the database (misses are not recorded, nothing can be tuned) */
  MLAF_CTX_NO_CACHE = 1u << 2,     /* compile every time; for measuring compiles */
};

/* Options of mlaf_ctx_create. Strings are copied. NULL and 0 mean the default given beside each field. */
typedef struct mlaf_ctx_opts {
  uint32_t struct_size;     /* sizeof(mlaf_ctx_opts), set by MLAF_CTX_OPTS_INIT */
  uint32_t flags;           /* MLAF_CTX_* */
  const char *device;       /* "auto" (default): the first GPU that works; "hip:1", "cuda"; "emu:gfx942": only by its name */
  const char *db_path;      /* $MLAF_DB, else $XDG_DATA_HOME/mlaforge/tuning.db, else that under $HOME/.local/share, else none */
  const char *cache_dir;    /* $MLAF_CACHE_DIR, else $XDG_CACHE_HOME/mlaforge, else ~/.cache/mlaforge */
  const char *gen_root;     /* a directory holding gen/ and templates/; default: the ones embedded in the library */
  const char *rocm_prefix;  /* $MLAF_ROCM, else a system ROCm, else the prefix tools/setup.sh made */
  const char *worker_path;  /* $MLAF_WORKER, else beside the executable, else the build's */
  mlaf_log_fn log;          /* default: silent */
  void *log_user;           /* handed to log */
  mlaf_log_level log_level; /* lines above this level are not made */
  int32_t jobs;             /* parallel compiles; default: online CPUs */
  double compile_timeout_s; /* CPU seconds of one compile; default 120. A busy machine uses up none of them */
  const char *bundle;       /* directory made by `mlaforge generate --targets`; default $MLAF_BUNDLE, "" : none */
} mlaf_ctx_opts;

#define MLAF_CTX_OPTS_INIT \
  { sizeof(mlaf_ctx_opts), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, MLAF_LOG_WARN, 0, 0.0, NULL }

/* Open a context. `opts` NULL: all defaults. A database that cannot be used (foreign, corrupt, locked, read-only
 * directory) is logged as a warning and planning goes on without it; mlaf_ctx_db_status tells. No compiler is started
 * and no Lua state opened before the first call that needs one.
 * With a bundle every problem that it covers is planned from it and from nothing else; a database is opened only when one is
 * named (db_path or $MLAF_DB), for the problems outside. A bundle that is damaged or not for this device's target is an error
 * (E_IO, E_ARG), as it was asked for.
 * `why` (may be NULL) receives the detail of a failure, as there is no context yet to ask.
 * Errors: E_ARG (bad struct or option), E_NO_DEVICE (what was tried, why each failed; "auto" never takes the emulator), E_IO (the
 * bundle), E_NOMEM. `*out` is untouched on failure.
 *   mlaf_ctx *ctx; mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT; o.device = "emu:gfx942";
 *   mlaf_ctx_create(&o, &ctx, why, sizeof why); */
MLAF_API mlaf_status mlaf_ctx_create(const mlaf_ctx_opts *opts, mlaf_ctx **out, char *why, size_t why_size);

/* Drop the caller's reference, with no other thread in a call on the context. Plans that are still held keep the device (not the
 * database or the compiler) alive and may be executed and released afterwards; nothing else may be called on the context. NULL is
 * allowed. */
MLAF_API void mlaf_ctx_destroy(mlaf_ctx *ctx);

/* Copy the detail of the latest failure on this context, of whatever thread, into `out` (NUL-terminated, cut to
 * size; "" when nothing failed yet). Returns that failure's status. Threads that want only their own failures use one
 * context each. Successful calls leave the message alone. */
MLAF_API mlaf_status mlaf_ctx_last_message(const mlaf_ctx *ctx, char *out, size_t out_size);

/* The context's device. Strings live as long as the context. */
MLAF_API const char *mlaf_ctx_device_id(const mlaf_ctx *ctx);   /* the tuning database's key, "emu:gfx942..." */
MLAF_API const char *mlaf_ctx_device_name(const mlaf_ctx *ctx); /* for people */
MLAF_API const char *mlaf_ctx_target(const mlaf_ctx *ctx);      /* "gfx942" */
MLAF_API int mlaf_ctx_ordinal(const mlaf_ctx *ctx);             /* as tensor libraries count devices: 1 of "cuda:1" */
/* OK when the database is in use; else why not (E_DB, E_IO, ...), with the detail in `why` (may be NULL). */
MLAF_API mlaf_status mlaf_ctx_db_status(const mlaf_ctx *ctx, char *why, size_t why_size);

/* Device memory for simple callers and tests; anything else that yields pointers valid on the same device may be used
 * instead (hipMalloc, a torch tensor). Synchronous. Sizes in bytes; 0 bytes is allowed and yields a non-NULL pointer.
 * Errors: E_ARG, E_DEVICE (the driver's words in the message). Free what was allocated before mlaf_ctx_destroy. */
MLAF_API mlaf_status mlaf_mem_alloc(mlaf_ctx *ctx, size_t bytes, void **out);
MLAF_API mlaf_status mlaf_mem_free(mlaf_ctx *ctx, void *ptr); /* NULL is allowed */
MLAF_API mlaf_status mlaf_mem_write(mlaf_ctx *ctx, void *device_dst, const void *host_src, size_t bytes);
MLAF_API mlaf_status mlaf_mem_read(mlaf_ctx *ctx, void *host_dst, const void *device_src, size_t bytes);
MLAF_API mlaf_status mlaf_mem_fill(mlaf_ctx *ctx, void *device_dst, int byte, size_t bytes);

enum { MLAF_MEM_READ_ONLY = 1u << 0 }; /* a kernel that writes to it fails */
/* Lets an emulator's kernels work on `bytes` of host memory in place, under the address it has, until it is unregistered. The
 * memory stays the caller's. Ranges may overlap, and may be registered several times; each is unregistered as often, with the
 * same address and size.
 * Errors: E_ARG (a GPU, whose kernels reach device memory only; no memory of this process; 0 bytes; not registered), E_NOMEM.
 * Thread-safe; waits for launches that run on the context. */
MLAF_API mlaf_status mlaf_mem_register(mlaf_ctx *ctx, void *host, size_t bytes, uint32_t flags);
MLAF_API mlaf_status mlaf_mem_unregister(mlaf_ctx *ctx, void *host, size_t bytes);

/* --- workspaces that the context keeps ---
 * One for each stream, as launches on one stream follow each other. mlaf_call_run, mlaf_run, mlaf_mla_decode_execute,
 * mlaf_layer_execute and mlaf_chunked_prefill_execute use it when they are handed none. Such a call locks its stream's workspace
 * while it launches: calls of other threads on this stream come before it or after it, never in between; calls on other streams
 * do not wait. The per-thread default stream counts as one stream for each thread.
 * A workspace grows to at least twice its size when a call wants more. What it was before is kept, because a captured graph may
 * hold it, until the context is destroyed and its last plan released: in all less than twice the largest. Growing allocates,
 * which no stream may do that captures: then the call fails (E_ARG) and says what to reserve.
 * A graph that was captured without a workspace holds its stream's: replay it on that stream, or where nothing else uses that
 * workspace at the same time. */

/* Reserves for streams that do not exist yet: the first stream that needs more than it has takes this workspace, and keeps it. */
#define MLAF_ANY_STREAM ((void *)(intptr_t)-1)
/* Makes sure that `stream` (NULL: the default stream; MLAF_ANY_STREAM) has a workspace of `bytes` before a call needs it.
 * Allocates. Errors: E_ARG (the stream captures), E_DEVICE, E_NOMEM. Thread-safe. */
MLAF_API mlaf_status mlaf_workspace_reserve(mlaf_ctx *ctx, void *stream, size_t bytes);
/* Locks the stream's workspace for launches of your own: *out is its address, `bytes` or more, 256-byte aligned; bytes 0:
 * whatever there is, NULL if nothing. *size (may be NULL) receives how many it has. Until mlaf_workspace_unlock no other thread
 * launches over it: between the two call mlaf_run or its like with *out as workspace, as often as you like; other threads'
 * calls on this stream wait. Do not wait for such a thread in between. Errors: E_ARG (the stream captures and has less; this
 * thread holds it already), E_DEVICE, E_NOMEM; then nothing is locked. Thread-safe. */
MLAF_API mlaf_status mlaf_workspace_lock(mlaf_ctx *ctx, void *stream, size_t bytes, void **out, size_t *size);
/* Unlocks the stream's workspace, by the thread that locked it (mlaf_workspace_lock). What was launched may still run. Errors:
 * E_ARG (this thread does not hold it). */
MLAF_API mlaf_status mlaf_workspace_unlock(mlaf_ctx *ctx, void *stream);
/* Gives the workspace as mlaf_workspace_lock does, without the lock: for a look at it, and for programs where one thread alone
 * makes calls on the stream. Launches of other threads may come between launches over it. Errors as of mlaf_workspace_lock.
 * Thread-safe. */
MLAF_API mlaf_status mlaf_workspace_get(mlaf_ctx *ctx, void *stream, size_t bytes, void **out, size_t *size);

/* Wait for everything launched on `stream` (NULL: the default stream). */
MLAF_API mlaf_status mlaf_sync(mlaf_ctx *ctx, void *stream);

#endif
