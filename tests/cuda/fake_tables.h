/* The kernel "mlaf_block_tables" (templates/block_tables) in plain C for the fake driver. */
#pragma once

#include <stdint.h>

enum { FAKE_TABLES_BYTES = 128 }; /* of its arguments */

/* A whole launch; nothing happens when it does not cover the batch. */
void fake_tables(const void *args, const uint32_t grid[3], const uint32_t block[3]);
