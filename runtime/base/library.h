/* Driver libraries found at run time: the first of several names that loads, and functions in it. */
#pragma once

#include "base/base.h"

/* Load the library that environment variable `variable` names (nothing else is tried then), else the first of the
 * NULL-terminated `candidates` that loads; never unloaded. `name` (size bytes) receives which one it was. NULL with
 * MLAF_E_NO_DEVICE: "<what> not found on the loader's path; <fix>"; a candidate that exists and does not load (a missing
 * dependency) is named with the loader's reason. */
void *mlaf_library_open(const char *variable, const char *const *candidates, const char *what, const char *fix, char *name,
                        size_t size, mlaf_err *err);
/* Loads the library of this path, which is never unloaded. NULL: E_NO_DEVICE with the loader's words. */
void *mlaf_library_load(const char *path, mlaf_err *err);
/* Put function `symbol` into the function pointer at `slot`; false (and NULL there) when the library has none. */
bool mlaf_library_find(void *library, const char *symbol, void *slot);
