/* Settings from the environment: what is not understood is an error, not ignored. */
#include <errno.h>

#include "base/env.h"

mlaf_status mlaf_env_number(const char *name, int64_t low, int64_t high, int64_t unset, int64_t *out, mlaf_err *err) {
  const char *text = getenv(name);
  char *end;
  *out = unset;
  if (!text || !*text) return MLAF_OK;
  errno = 0;
  *out = strtoll(text, &end, 10);
  if (*end || errno || *out < low || *out > high)
    return mlaf_fail(err, MLAF_E_ARG, "%s: '%.40s' is no whole number from %lld to %lld", name, text, (long long)low,
                     (long long)high);
  return MLAF_OK;
}

mlaf_status mlaf_env_word(const char *name, const char *words, const char *unset, const char **out, mlaf_err *err) {
  const char *text = getenv(name);
  *out = unset;
  if (!text || !*text) return MLAF_OK;
  const size_t n = strlen(text);
  for (const char *w = words; *w; w += strcspn(w, " "), w += *w != 0)
    if (strcspn(w, " ") == n && memcmp(w, text, n) == 0) {
      *out = text;
      return MLAF_OK;
    }
  return mlaf_fail(err, MLAF_E_ARG, "%s is '%.40s'; known are: %s (or unset it)", name, text, words);
}
