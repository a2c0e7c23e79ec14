/* The workspaces that are kept by stream (mlaforge/context.h). */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "device/device.h"

/* A stream and its workspace. Created when first asked for, and never removed. */
typedef struct mlaf_lane {
  void *stream;
  uint64_t thread;      /* of MLAF_STREAM_PER_THREAD: whose; else 0 */
  atomic_uint_fast64_t holder; /* the thread that holds the lock; 0: none */
  pthread_mutex_t lock; /* held for all launches of a call; guards the two fields that follow */
  void *memory;
  size_t size;
  struct mlaf_lane *next; /* in its bucket */
} mlaf_lane;

/* All memory there ever was: graphs that were captured may hold what has been outgrown. */
typedef struct mlaf_workspace_kept {
  void *memory;
  size_t size;
  bool waiting; /* reserved for MLAF_ANY_STREAM, and no stream has taken it */
  struct mlaf_workspace_kept *older;
} mlaf_workspace_kept;

enum { MLAF_LANE_BUCKETS = 64 };
typedef struct mlaf_workspaces {
  _Atomic(mlaf_lane *) lanes[MLAF_LANE_BUCKETS]; /* read without a lock */
  mlaf_lane *spare;     /* of nobody yet */
  pthread_mutex_t lock; /* to add lanes and memory. Taken behind a lane's lock, never before one */
  mlaf_workspace_kept *newest;
} mlaf_workspaces;

void mlaf_workspaces_init(mlaf_workspaces *w);
/* Frees them all; dev NULL: there are none. */
void mlaf_workspaces_clear(mlaf_workspaces *w, mlaf_device *dev);

/* `bytes` or more of the stream's workspace for one call. No other call on the stream launches anything over it until
 * mlaf_workspace_give_back, by the same thread. Nothing is reported. */
typedef struct mlaf_borrowed {
  mlaf_lane *lane;
  void *memory;
  size_t size;
} mlaf_borrowed;
struct mlaf_shared;
mlaf_status mlaf_workspace_borrow(struct mlaf_shared *shared, void *stream, size_t bytes, mlaf_borrowed *out, mlaf_err *err);
void mlaf_workspace_give_back(const mlaf_borrowed *b);
