/* A kernel as it is stored: what the tuning database, bundles and builds say of one stage of a variant. */
#pragma once

#include "base/base.h"
#include "device/kernel_launch.h"

/* Enough of a kernel to load and launch it with no generator and no compiler. Where there are several they stand in a list of
 * MLAF_STAGES_MAX, each at the place of its stage; a stage that the variant does without has no template_name. */
typedef struct mlaf_kernel_ref {
  char template_name[64]; /* "": no such kernel */
  char params[512];
  char symbol[64];
  char template_hash[MLAF_HASH_HEX], src_hash[MLAF_HASH_HEX];
  char code_key[MLAF_HASH_HEX]; /* code-object cache key */
  uint32_t threads, rows_per_wg;
} mlaf_kernel_ref;

/* Tells by a variant's name whether its first kernel is a vendor library's product (gen/projection/library.lua). */
static inline bool mlaf_is_library(const char *variant) { return !strncmp(variant, "lib:", 4); }

/* Stages up to the last one that has a kernel. */
static inline int mlaf_stages_of(const mlaf_kernel_ref kernels[MLAF_STAGES_MAX]) {
  int n = MLAF_STAGES_MAX;
  while (n > 0 && !kernels[n - 1].template_name[0]) n--;
  return n;
}
