/* Settings from the environment. One that is set and not understood is E_ARG, which names the variable, its value and what is
 * wanted. An empty one counts as not set. */
#pragma once

#include "base/base.h"

/* A whole number within [low, high]; `unset` without one. */
mlaf_status mlaf_env_number(const char *name, int64_t low, int64_t high, int64_t unset, int64_t *out, mlaf_err *err);
/* One of `words`, which stand apart by spaces; `unset` (may be NULL) without one. */
mlaf_status mlaf_env_word(const char *name, const char *words, const char *unset, const char **out, mlaf_err *err);
