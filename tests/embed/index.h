/* Helpers of tests that write an index by hand. */
#ifndef MLAF_TEST_EMBED_INDEX_H
#define MLAF_TEST_EMBED_INDEX_H

#include "mlaf_embed.h"

static const mlaf_embed_index_op decode_op[] = {{"mla_decode", 13}};

/* An index of one target, of mla_decode. */
static inline mlaf_embed_index index_of(const mlaf_embed_target *target) {
  return (mlaf_embed_index){MLAF_EMBED_VERSION, 1, "", target, decode_op, 1};
}

#endif
