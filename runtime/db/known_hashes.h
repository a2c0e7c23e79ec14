/* Hashes that templates had in earlier trees and that kernels of the same text have now: a choice made with the old one holds on.
 * The build makes the table of tuning/known-hashes.txt. */
#pragma once

#include <stddef.h>

enum { MLAF_KNOWN_DIGITS = 16 };

typedef struct mlaf_known_hash {
  const char *was; /* its first MLAF_KNOWN_DIGITS digits */
  const char *now;
} mlaf_known_hash;

extern const mlaf_known_hash mlaf_known_hashes[]; /* sorted by `was` */
extern const size_t mlaf_n_known_hashes;
