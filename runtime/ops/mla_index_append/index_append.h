/* mla_index_append inside. */
#pragma once

#include "op/calls.h"
#include "ops/mla_index_append/launch.h"

enum { INDEX_APPEND_COLUMNS = 128, INDEX_APPEND_ROPE = 64 }; /* of a row; the first ones, which are rotated */
enum { INDEX_APPEND_PAIRS, INDEX_APPEND_HALVES };            /* words of the style, by their numbers */
