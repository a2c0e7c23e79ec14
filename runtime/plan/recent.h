/* Kernels that the first plans of the latest processes ran, loaded as a context is made: a driver takes long over a process'
 * first loads, and a server that is started again mostly begins with what the one before began with.
 *
 * <cache>/recent/<target>.tsv: lines "key of the code\tsymbol", the latest first. It is a hint: what is damaged, gone from the
 * cache or refused by the driver is passed over, and a plan that wants other kernels loads them as ever. */
#ifndef MLAF_RECENT_H
#define MLAF_RECENT_H

#include <stdbool.h>

#include "base/base.h"

struct mlaf_build;
struct mlaf_ctx;
struct mlaf_device;
struct mlaf_module;

enum { MLAF_RECENT_MAX = 8 }; /* four plans of two kernels; one takes a context 0.1 to 0.4 ms */

typedef struct mlaf_recent {
  char *path; /* NULL: no such file is kept here */
  int n;
  struct {
    char key[MLAF_HASH_HEX], symbol[64];
    struct mlaf_module *module; /* NULL: another kernel's place was taken by this one, which its plan holds */
  } kernels[MLAF_RECENT_MAX];
  bool noted; /* the context's first plan was */
} mlaf_recent;

/* Only on devices with MLAF_DEVICE_SLOW_LOADS, with a cache, and not where MLAF_LOAD_AHEAD is 0. */
void mlaf_recent_load(struct mlaf_ctx *ctx);
/* A plan stands on this build. Only a context's first one counts. The context's lock must be held. */
void mlaf_recent_note(struct mlaf_ctx *ctx, const struct mlaf_build *b);
void mlaf_recent_clear(mlaf_recent *r, struct mlaf_device *dev);

#endif
