/* A worker's own temporary folder. comgr leaves its files behind when it is killed in mid-compile; with a folder of its
 * own for each worker, whoever survives removes them. */
#pragma once

#include "base/base.h"

/* malloc'ed path of a new folder below $TMPDIR (else /tmp). NULL: E_IO, which names TMPDIR, or E_NOMEM. */
char *mlaf_scratch_make(mlaf_err *err);
/* True if such a folder can be made and has room for what a compile writes. */
mlaf_status mlaf_scratch_check(mlaf_err *err);
/* Remove a folder and everything in it; NULL is allowed. */
void mlaf_scratch_remove(const char *path);
