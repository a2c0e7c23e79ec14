/* The workspaces a context keeps, by stream (mlaforge/context.h). */
#ifndef MLAF_WORKSPACES_H
#define MLAF_WORKSPACES_H

#include <pthread.h>

#include "device/device.h"

typedef struct mlaf_workspace_kept {
  void *stream; /* MLAF_ANY_STREAM: nobody's yet */
  void *memory;
  size_t size;
  struct mlaf_workspace_kept *older; /* of all there ever were; a stream's newest is its largest */
} mlaf_workspace_kept;

typedef struct mlaf_workspaces {
  pthread_mutex_t lock;
  mlaf_workspace_kept *newest;
} mlaf_workspaces;

void mlaf_workspaces_init(mlaf_workspaces *w);
/* Frees them all; dev NULL: there are none. */
void mlaf_workspaces_clear(mlaf_workspaces *w, mlaf_device *dev);

#endif
