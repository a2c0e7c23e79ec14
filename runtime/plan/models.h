/* The shipped model table, made at build time from tuning/models.tsv. */
#pragma once

#include "mlaforge/problem.h"

extern const mlaf_model mlaf_models[]; /* ends with a row whose name is NULL */
