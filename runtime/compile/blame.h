/* Blame for a failed compile: it is the kernel's fault, which may be remembered, or that of the machine, which may not. */
#pragma once

#include "compile/nvrtc.h"

/* The kernel seems at fault (E_COMPILE, E_CRASH), and nothing in the log points at its source. */
bool mlaf_blame_is_unsure(mlaf_status status, const char *log);
/* Finds the cause as far as it can be told without compiling. Returns `status` itself when nothing else is found to be at fault;
 * else E_IO or E_NOMEM with cause and cure in *why: a refusal of the system that the log, or *why as the failure left it, names,
 * or a temporary folder that cannot be used. `log` may be NULL. */
mlaf_status mlaf_blame(mlaf_tool tool, mlaf_status status, const char *log, mlaf_err *why);
/* The simplest kernel: what does not compile this does not compile anything. */
extern const char mlaf_blame_control[];
/* E_NO_COMPILER, as the simplest kernel failed with *why. `worker` NULL: in this process. */
mlaf_status mlaf_blame_compiler(const char *lib_dir, const char *worker, const char *target, mlaf_err *why);
