/* Numbers as text, the same in every locale. A process may run under one whose decimal point is a comma (GUI programs, R,
 * Python after locale.setlocale): strtod, sscanf and the printf family follow it, and what we write is read elsewhere. In this
 * library only what stands here reads and writes floating-point numbers; tools/check-style.sh looks. Thread-safe. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "mlaforge/status.h"

/* strtod, with a point. */
double mlaf_strtod(const char *text, char **end);
/* snprintf and its like, with a point. */
int mlaf_snprintf(char *out, size_t size, const char *fmt, ...) MLAF_PRINTF(3, 4);
int mlaf_vsnprintf(char *out, size_t size, const char *fmt, va_list ap);

/* For code of others that follows the locale (Lua, cJSON, stdio): between these two the calling thread is in the "C" locale. They
 * nest. */
typedef struct mlaf_locale {
  void *before;
} mlaf_locale;
mlaf_locale mlaf_locale_enter(void);
void mlaf_locale_leave(mlaf_locale l);
