/* Several operations together, of which a choice may be stored although nothing plans them as one problem. Their fields are
 * those of the operations that they are made of. */
#include <stddef.h>
#include <string.h>

#include "device/kernel_launch.h"
#include "mlaf_formats.h"
#include "op/op.h"

#define NUMBER(name_, label_, key_, least, most, usual, step, range_, about_)                                          \
  {.name = name_, .label = label_, .key = key_, .min = least, .max = most, .otherwise = usual, .multiple = step,      \
   .role = MLAF_SHAPE, .moot_by = -1, .range = range_, .about = about_}
#define WORDS(name_, most, range_, about_, ...)                                                                        \
  {.name = name_, .label = name_, .words = (const char *const[]){__VA_ARGS__}, .max = most, .multiple = 1,            \
   .role = MLAF_SHAPE, .moot_by = -1, .range = range_, .about = about_}

/* A chunked prefill: from how many new tokens on it is faster than the absorbed form is its knob (layer/crossover.c). */
static const mlaf_field prefill_fields[] = {
    {.name = "heads", .label = "heads", .key = "h", .min = 1, .max = 128, .required = true, .multiple = 1, .role = MLAF_SHAPE,
     .moot_by = -1, .range = "1..128", .about = "query heads on this rank"},
    NUMBER("nope", "nope dim", "n", 16, 192, 128, 16, "a multiple of 16 up to 192", "columns of K of each head's own"),
    NUMBER("rope", "rope dim", "p", 0, 64, 64, 16, "a multiple of 16 up to 64", "columns with positions"),
    NUMBER("vdim", "value dim", "v", 16, 256, 128, 16, "a multiple of 16 up to 256", "columns of V"),
    NUMBER("rank", "kv_lora_rank", "r", 32, 512, 512, 32, "a multiple of 32 up to 512", "columns of the latent"),
    WORDS("dtype", 1, "bf16 or f16", "type of Q, K and V", "bf16", "f16"),
    {.name = "ctx", .label = "ctx", .key = "s", .min = 1, .max = 16777216, .otherwise = 1024, .multiple = 1, .role = MLAF_SIZE,
     .moot_by = -1, .steps = 1, .first = 1, .range = "1..16777216", .about = "cached tokens that the new ones attend to"},
};
static const char *const prefill_stages[MLAF_STAGES_MAX + 1] = {"prefill"};
static const mlaf_op chunked_prefill = {.name = "mla_chunked_prefill",
                                        .example = "mla_chunked_prefill:h16,n128,p64,v128,r512,bf16,s8192",
                                        .fields = prefill_fields,
                                        .n_fields = sizeof prefill_fields / sizeof *prefill_fields,
                                        .stages = prefill_stages};

/* A layer: which of its stages share a kernel, for a class of query tokens of a call (layer/choice.h). */
static const mlaf_field layer_fields[] = {
    NUMBER("hidden", "hidden size", "d", 1, 1048576, 7168, 1, "1..1048576", "columns of hidden states"),
    {.name = "heads", .label = "heads", .key = "h", .min = 1, .max = 1048576, .required = true, .multiple = 1, .role = MLAF_SHAPE,
     .moot_by = -1, .range = "1..1048576", .about = "query heads on this rank"},
    NUMBER("q_rank", "q_lora_rank", "l", 0, 1048576, 1536, 1, "0..1048576", "columns of low-rank queries; 0: there are none"),
    NUMBER("rank", "kv_lora_rank", "r", 1, 1048576, 512, 1, "1..1048576", "columns of the latent"),
    NUMBER("rope", "rope dim", "p", 0, 1048576, 64, 1, "0..1048576", "columns with positions"),
    NUMBER("nope", "nope dim", "n", 1, 1048576, 128, 1, "1..1048576", "columns of K of each head's own"),
    NUMBER("vdim", "value dim", "v", 1, 1048576, 128, 1, "1..1048576", "columns of V"),
    WORDS("dtype", 1, "bf16 or f16", "type of all tensors", "bf16", "f16"),
    WORDS("weights", 2, "16 bits, e4m3fn or e4m3fnuz", "encoding of matrices", "", "e4m3fn", "e4m3fnuz"),
    WORDS("kv_b_16", 1, "on or off", "kv_b_proj has 16 bits among matrices of 8", "", "kv_b_16"),
    WORDS("rope_on_read", 1, "on or off", "keys are rotated as they are read", "", "rope_on_read"),
    WORDS("q_scale", 1, "on or off", "queries are scaled by their positions", "", "q_scale"),
    WORDS("cache", MLAF_LAYER_CACHE_LAST, "16 bits, or cache_ and a format of 8", "encoding of the cache", MLAF_LAYER_CACHES),
    WORDS("indexer", 1, "on or off", "tokens attend to rows that an indexer selects", "", "indexer"),
    {.name = "tokens", .label = "tokens", .key = "t", .min = 1, .max = 8388608, .otherwise = 1, .multiple = 1, .role = MLAF_SIZE,
     .moot_by = -1, .steps = 1, .first = 1, .range = "1..8388608", .about = "query tokens of a call, up to a power of two"},
    {.name = "ctx", .label = "ctx", .key = "s", .min = 1, .max = INT32_MAX, .otherwise = 1024, .multiple = 1, .role = MLAF_SIZE,
     .moot_by = -1, .steps = 1, .first = 1, .range = "1..2147483647", .about = "cached tokens of a request"},
};
static const char *const layer_stages[MLAF_STAGES_MAX + 1] = {"decode"};
static const mlaf_op layer = {.name = "mla_layer",
                              .example = "mla_layer:d7168,h16,l1536,r512,p64,n128,v128,bf16,t64,s4096",
                              .fields = layer_fields,
                              .n_fields = sizeof layer_fields / sizeof *layer_fields,
                              .stages = layer_stages};

static const mlaf_op *const compositions[] = {&chunked_prefill, &layer};

const mlaf_op *mlaf_op_stored(const char *text) {
  for (size_t i = 0; i < sizeof compositions / sizeof *compositions; i++) {
    const size_t n = strlen(compositions[i]->name);
    if (!strncmp(text, compositions[i]->name, n) && text[n] == ':') return compositions[i];
  }
  return mlaf_op_of(text);
}

mlaf_status mlaf_point_stored(const char *text, mlaf_point *out, char *why, size_t why_size) {
  return mlaf_point_parse(text ? mlaf_op_stored(text) : NULL, text, out, why, why_size);
}
