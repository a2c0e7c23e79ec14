/* Status texts and error details. */
#include "base/base.h"

static const struct {
  const char *name, *text;
} statuses[MLAF_STATUS_COUNT] = {
    [MLAF_OK] = {"MLAF_OK", "ok"},
    [MLAF_E_ARG] = {"MLAF_E_ARG", "invalid argument"},
    [MLAF_E_PROBLEM] = {"MLAF_E_PROBLEM", "malformed or unsupported problem"},
    [MLAF_E_NOMEM] = {"MLAF_E_NOMEM", "out of host memory"},
    [MLAF_E_IO] = {"MLAF_E_IO", "file could not be read or written"},
    [MLAF_E_NO_DEVICE] = {"MLAF_E_NO_DEVICE", "no such device"},
    [MLAF_E_DEVICE] = {"MLAF_E_DEVICE", "device or driver error"},
    [MLAF_E_FAULT] = {"MLAF_E_FAULT", "the emulator refused what the kernel did"},
    [MLAF_E_NO_COMPILER] = {"MLAF_E_NO_COMPILER", "no run-time compiler for this target"},
    [MLAF_E_COMPILE] = {"MLAF_E_COMPILE", "the compiler rejected the source"},
    [MLAF_E_TIMEOUT] = {"MLAF_E_TIMEOUT", "time limit exceeded"},
    [MLAF_E_CRASH] = {"MLAF_E_CRASH", "the compiler worker died"},
    [MLAF_E_KILLED] = {"MLAF_E_KILLED", "the compiler worker was killed or stopped from outside"},
    [MLAF_E_TEMPLATE] = {"MLAF_E_TEMPLATE", "template or generator error"},
    [MLAF_E_DB] = {"MLAF_E_DB", "unusable tuning database"},
    [MLAF_E_NOT_TUNED] = {"MLAF_E_NOT_TUNED", "no tuned choice for this problem"},
    [MLAF_E_NOT_COMPILED] = {"MLAF_E_NOT_COMPILED", "no code object in the cache and compiling is not allowed"},
    [MLAF_E_INCORRECT] = {"MLAF_E_INCORRECT", "output differs from the reference"},
    [MLAF_E_CANCELLED] = {"MLAF_E_CANCELLED", "stopped on request"},
    [MLAF_E_INTERNAL] = {"MLAF_E_INTERNAL", "internal error"},
};

static bool known(mlaf_status status) { return (unsigned)status < MLAF_STATUS_COUNT && statuses[status].name; }

const char *mlaf_status_text(mlaf_status status) { return known(status) ? statuses[status].text : "unknown status"; }
const char *mlaf_status_name(mlaf_status status) { return known(status) ? statuses[status].name : "unknown status"; }

mlaf_status mlaf_fail(mlaf_err *err, mlaf_status status, const char *fmt, ...) {
  if (!err) return status;
  va_list ap;
  va_start(ap, fmt);
  mlaf_vsnprintf(err->text, sizeof err->text, fmt, ap);
  va_end(ap);
  err->status = status;
  return status;
}

mlaf_status mlaf_fail_prefix(mlaf_err *err, mlaf_status status, const char *fmt, ...) {
  if (!err) return status;
  char old[MLAF_ERR_MAX];
  memcpy(old, err->text, sizeof old);
  old[sizeof old - 1] = 0;
  va_list ap;
  va_start(ap, fmt);
  int n = mlaf_vsnprintf(err->text, sizeof err->text, fmt, ap);
  va_end(ap);
  if (n >= 0 && (size_t)n < sizeof err->text) snprintf(err->text + n, sizeof err->text - (size_t)n, ": %s", old);
  err->status = status;
  return status;
}

void mlaf_log_line(const mlaf_log *log, mlaf_log_level level, const char *fmt, ...) {
  if (!log || !log->fn || level > log->level) return;
  char line[MLAF_ERR_MAX];
  va_list ap;
  va_start(ap, fmt);
  mlaf_vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  log->fn(log->user, level, line);
}
