/* The cases of mla_decode, entries of its table (op/calls.h). Sizes are small enough for an emulator (some hundred tokens) and
 * hit every path: empty and one-token requests, tile and page edges, last pages partly filled, page tables in random order,
 * several tiles per split, splits without work, running maxima that rise late, both cache layouts, lse NULL. */
#pragma once

#include "op/calls.h"

enum { MLAF_DECODE_CASES = 3 };
mlaf_status mlaf_decode_make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out,
                                  mlaf_err *err);
void mlaf_decode_free_case(mlaf_case *c);
int mlaf_decode_case_buffers(const mlaf_case *c, const mlaf_bound *b, uint32_t splits, void *args,
                             mlaf_case_buffer out[MLAF_CASE_BUFFERS]);
bool mlaf_decode_compare_case(const mlaf_case *c, void *const *outputs, mlaf_verify_result *out);
bool mlaf_decode_same_case(const mlaf_case *c, void *const *a, void *const *b, mlaf_verify_result *out);
double mlaf_decode_bound(const mlaf_point *p);
