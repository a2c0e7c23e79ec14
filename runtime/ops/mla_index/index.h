/* mla_index inside: what of its record is its own. */
#pragma once

#include "op/calls.h"
#include "ops/mla_index/launch.h"

enum { INDEX_COLUMNS = 128, INDEX_TOKEN = INDEX_COLUMNS + 4 }; /* of a key; bytes of a cached token, its scale included */

mlaf_status index_check_stages(const mlaf_bound *b, mlaf_err *err);
mlaf_status index_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err);
