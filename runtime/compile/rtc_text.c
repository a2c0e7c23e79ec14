/* Shared by the two run-time compilers: options in, log out. */
#include "compile/rtc_text.h"

size_t mlaf_rtc_first_error(const char *log, const char **line) {
  for (const char *p = log; *p;) {
    size_t n = strcspn(p, "\n");
    if (memmem(p, n, "error:", 6) || memmem(p, n, "Error:", 6)) {
      *line = p;
      return n;
    }
    p += n + (p[n] != 0);
  }
  return 0;
}

/* Errors begin with the fixed names that the two compilers are given for their sources: "kernel.hip:12:3: error:",
 * "kernel.cu(12): error:". */
bool mlaf_rtc_blames_source(const char *log) {
  for (const char *p = log; p && *p;) {
    const size_t n = strcspn(p, "\n");
    const bool named = !strncmp(p, MLAF_RTC_HIP_NAME ":", sizeof MLAF_RTC_HIP_NAME) ||
                       !strncmp(p, MLAF_RTC_CUDA_NAME "(", sizeof MLAF_RTC_CUDA_NAME);
    if (named && memmem(p, n, "error", 5)) return true;
    p += n + (p[n] != 0);
  }
  return false;
}

mlaf_status mlaf_rtc_status(int result) {
  enum { OUT_OF_MEMORY = 1, BUILTIN_OPERATION_FAILURE = 7 /* a library of built-in functions is missing */ };
  return result == OUT_OF_MEMORY ? MLAF_E_NOMEM : result == BUILTIN_OPERATION_FAILURE ? MLAF_E_NO_COMPILER : MLAF_E_COMPILE;
}

char *mlaf_rtc_error_first(char *raw) {
  if (!raw) return mlaf_strdup("");
  const char *line = raw;
  size_t n = mlaf_rtc_first_error(raw, &line);
  if (!n || line == raw) return raw;
  char *out = mlaf_format("%.*s\n%s", (int)n, line, raw);
  if (!out) return raw;
  free(raw);
  return out;
}

const char **mlaf_rtc_options(const char *const *first, int n_first, const char *options, size_t size, int *n) {
  size_t count = (size_t)n_first;
  for (size_t i = 0; i < size; i++) count += options[i] == 0;
  const char **v = calloc(count + 1, sizeof *v);
  if (!v) return NULL;
  int k = 0;
  for (; k < n_first; k++) v[k] = first[k];
  for (size_t i = 0; i < size; i += strlen(options + i) + 1) v[k++] = options + i;
  *n = k;
  return v;
}
