/* Kernels that plans of the latest processes ran, loaded as a context is made: a driver takes long over each, longest over the
 * first, and a server that is started again mostly wants what the one before wanted.
 *
 * Two lists: of the latest processes' first plans, and of the plans behind those, however many: a process that made many does not
 * push the first ones out. <cache>/recent/<target>.tsv and <target>-later.tsv: lines "key of the code\tsymbol", the latest first.
 * They are hints: what is damaged, gone from the cache or refused by the driver is passed over, and a plan that wants other
 * kernels loads them as ever. */
#pragma once

#include "base/base.h"

struct mlaf_build;
struct mlaf_ctx;
struct mlaf_device;
struct mlaf_module;

/* Four plans of two kernels, and most of what a server has behind them (27 to 38 kernels, docs/lab/server.md); a kernel takes a
 * context 0.1 to 0.4 ms. */
enum { MLAF_RECENT_FIRST = 8, MLAF_RECENT_LATER = 24 };

typedef struct mlaf_recent_list {
  char *path; /* NULL: no such file is kept here */
  int n, most;
  struct {
    char key[MLAF_HASH_HEX], symbol[64];
    struct mlaf_module *module; /* NULL: another kernel's place was taken by this one, which its plan holds */
  } kernels[MLAF_RECENT_LATER];
} mlaf_recent_list;
typedef struct mlaf_recent {
  mlaf_recent_list first, later;
  bool noted; /* the context's first plan was */
} mlaf_recent;

/* Only on devices with MLAF_DEVICE_SLOW_LOADS, with a cache, and not where MLAF_LOAD_AHEAD is 0. */
void mlaf_recent_load(struct mlaf_ctx *ctx);
/* A plan stands on this build. The context's lock must be held. */
void mlaf_recent_note(struct mlaf_ctx *ctx, const struct mlaf_build *b);
void mlaf_recent_clear(mlaf_recent *r, struct mlaf_device *dev);
