/* Launches of operations whose arguments are a table (calls->arguments): entries of their table of functions (op/calls.h). */
#pragma once

#include "op/args_check.h"
#include "op/calls.h"

/* The place in the parameters at which a kernel's maps begin, if it has any. */
uint32_t mlaf_arguments_maps_at(const mlaf_args_table *t, const mlaf_kernel_launch *launch);
uint32_t mlaf_arguments_parameter_bytes(const mlaf_args_table *t, const mlaf_kernel_launch *launch);
mlaf_status mlaf_arguments_check_stages(const mlaf_bound *b, mlaf_err *err);
mlaf_status mlaf_arguments_check_launch(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err);
mlaf_status mlaf_arguments_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err);
