/* Numbers in the "C" locale whatever the process has set. */
#include "base/numbers.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static locale_t plain;

static void make_plain(void) { plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* glibc's own object: cannot fail */ }

static locale_t plain_locale(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_plain);
  return plain;
}

mlaf_locale mlaf_locale_enter(void) { return (mlaf_locale){uselocale(plain_locale())}; }
void mlaf_locale_leave(mlaf_locale l) { uselocale((locale_t)l.before); }

double mlaf_strtod(const char *text, char **end) { return strtod_l(text, end, plain_locale()); }

int mlaf_vsnprintf(char *out, size_t size, const char *fmt, va_list ap) {
  const mlaf_locale before = mlaf_locale_enter();
  const int n = vsnprintf(out, size, fmt, ap);
  mlaf_locale_leave(before);
  return n;
}

int mlaf_snprintf(char *out, size_t size, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  const int n = mlaf_vsnprintf(out, size, fmt, ap);
  va_end(ap);
  return n;
}
