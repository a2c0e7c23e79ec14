/* mla_prefill inside: what of its record is its own. */
#pragma once

#include "op/calls.h"
#include "ops/mla_prefill/launch.h"

/* Tensors of which kernels may want maps. */
enum { PREFILL_MAP_Q = 1, PREFILL_MAP_K, PREFILL_MAP_K_PE, PREFILL_MAP_V };

/* Its field `inputs`. */
enum { PREFILL_16_BITS, PREFILL_E4M3FN, PREFILL_E4M3FNUZ };

mlaf_status prefill_check_stages(const mlaf_bound *b, mlaf_err *err); /* relations.c */
