/* Index lists and attention sinks: the launches that make of lists what decode kernels read (templates/index_lists), and that
 * apply sinks behind them (templates/attn_sink). What they make lies in the workspace, behind the kernels' own. */
#pragma once

#include "mlaforge/mla_decode.h"
#include "op/calls.h"

extern const mlaf_second_form mlaf_index_lists, mlaf_index_pools;

/* The forms of mla_decode's arguments beside the first: NULL behind the last. */
extern const mlaf_second_form *const mlaf_decode_forms[];
