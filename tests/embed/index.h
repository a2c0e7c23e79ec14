/* The record's fields as NAME.c has them, for tests that write an index by hand. */
#ifndef MLAF_TEST_EMBED_INDEX_H
#define MLAF_TEST_EMBED_INDEX_H

#include "mlaf_embed.h"

static const mlaf_embed_field decode_fields[] = {
    {"heads", "h", NULL, 0, 0, -1, 0, 0, 0, 0, NULL},
    {"rank", "r", NULL, 0, 0, -1, 0, 0, 0, 0, NULL},
    {"rope", "p", NULL, 0, 0, -1, 0, 0, 0, 0, NULL},
    {"q_len", "q", NULL, 0, 0, -1, 0, 0, 0, 0, NULL},
    {"causal", NULL, (const char *const[]){"", "causal"}, 2, 0, 3, 1, 0, 0, 0, NULL},
    {"dtype", NULL, (const char *const[]){"bf16", "f16"}, 2, 0, -1, 0, 0, 0, 0, NULL},
    {"rotate", NULL, (const char *const[]){"", "rope_pairs", "rope_halves"}, 3, 0, 2, 0, 0, 0, 0, NULL},
    {"page_size", "page", NULL, 0, 0, -1, 0, 0, 0, 0, NULL},
    {"batch", "b", NULL, 0, 1, -1, 0, 8, 1, 65536, (const int32_t[]){33, 66, 132, 0}},
    {"ctx", "s", NULL, 0, 1, -1, 0, 4, 64, 16777216, NULL},
};
static const mlaf_embed_op decode_op[] = {{"mla_decode", decode_fields, 10}};

/* An index of one target, of mla_decode. */
static inline mlaf_embed_index index_of(const mlaf_embed_target *target) {
  return (mlaf_embed_index){MLAF_EMBED_VERSION, 1, "", target, decode_op, 1};
}

#endif
