/* The registry of back ends: which are in this build, and how a device string finds one. */
#include "device/device.h"

/* A build may leave rooms out (MLAF_ROOMS); room.cmake says which back ends are there. */
const mlaf_device_ops *const mlaf_backends[] = {
#ifdef MLAF_HAVE_HIP
    &mlaf_hip_ops,
#endif
#ifdef MLAF_HAVE_CUDA
    &mlaf_cuda_ops,
#endif
#ifdef MLAF_HAVE_EMU
    &mlaf_emu_ops, &mlaf_emu_gfx950_ops, &mlaf_emu_gfx90a_ops,
#endif
    NULL,
};

/* "hip" -> 0, "hip:3" -> 3 for the back end `name`; -1 when the string names something else, -2 for a bad ordinal. */
static int match(const char *spec, const char *name) {
  size_t n = strlen(name);
  if (strncmp(spec, name, n)) return -1;
  if (!spec[n]) return 0;
  if (spec[n] != ':') return -1;
  const char *digits = spec + n + 1;
  size_t len = strspn(digits, "0123456789");
  return len && len <= 3 && !digits[len] ? (int)strtol(digits, NULL, 10) : -2;
}

static void list_names(mlaf_text *out) {
  for (const mlaf_device_ops *const *b = mlaf_backends; *b; b++) mlaf_text_fmt(out, ", \"%s\"", (*b)->name);
}

/* A GPU or an error: the emulator always opens, and a server whose driver broke must not serve at a millionth of its speed. */
static mlaf_status open_auto(const mlaf_log *log, mlaf_device **out, mlaf_err *err) {
  mlaf_text reasons = MLAF_TEXT_INIT(MLAF_ERR_MAX);
  const char *emulator = NULL;
  for (const mlaf_device_ops *const *b = mlaf_backends; *b; b++) {
    mlaf_err why = {MLAF_OK, ""};
    if ((*b)->features & MLAF_DEVICE_MODELLED) {
      if (!emulator) emulator = (*b)->name;
      continue;
    }
    mlaf_status st = (*b)->open(0, log, out, &why);
    if (!st) mlaf_log_line(log, MLAF_LOG_INFO, "device auto: using %s", (*b)->name);
    if (!st || st == MLAF_E_NOMEM) {
      mlaf_text_free(&reasons);
      return st ? mlaf_fail(err, st, "%s", why.text) : MLAF_OK;
    }
    mlaf_log_line(log, MLAF_LOG_INFO, "device auto: not %s: %s", (*b)->name, why.text);
    mlaf_text_fmt(&reasons, "; %s: %.1500s", (*b)->name, why.text);
  }
  mlaf_fail(err, MLAF_E_NO_DEVICE, "device auto found no GPU. Mend what stands below%s%s%s. Tried%s",
            emulator ? ", or ask for the emulator by name: \"" : "", emulator ? emulator : "",
            emulator ? "\" runs the kernels on the CPU, slowly" : "",
            reasons.len ? reasons.data + 1 : " nothing: this build has no back end for GPUs");
  mlaf_text_free(&reasons);
  return MLAF_E_NO_DEVICE;
}

const char *mlaf_emulated(const char *id) { return strncmp(id, "emu:", 4) ? NULL : id + 4; }

void mlaf_target_of_device(const char *id, char *out, size_t size) {
  if (mlaf_emulated(id)) id = mlaf_emulated(id);
  else if (!strncmp(id, "arch:", 5)) id += 5;
  const int n = (int)strcspn(id, ":|");
  const bool bare = !strncmp(id, "sm_", 3) && id[n - 1] != 'a' && strtol(id + 3, NULL, 10) >= 90;
  snprintf(out, size, "%.*s%s", n, id, bare ? "a" : "");
}

mlaf_status mlaf_units_of_device(const char *id, int32_t *out, mlaf_err *err) {
  *out = 0;
  for (const char *s = strchr(id, '|'); s; s = strchr(s + 1, '|')) {
    if (strncmp(s + 1, "cu", 2) != 0 && strncmp(s + 1, "sm", 2) != 0) continue;
    const char *digits = s + 3;
    const size_t n = strcspn(digits, "|"), known = strspn(digits, "0123456789");
    const bool good = n && n <= 5 && known == n && digits[0] != '0';
    if (!good)
      return mlaf_fail(err, MLAF_E_ARG, "device '%.100s': '%.*s' are no compute units, must be 1 to 99999, e.g. \"cu304\"", id,
                       n < 20 ? (int)n + 2 : 22, s + 1);
    *out = (int32_t)strtol(digits, NULL, 10);
    return MLAF_OK;
  }
  return MLAF_OK;
}

mlaf_status mlaf_device_open(const char *spec, const mlaf_log *log, mlaf_device **out, mlaf_err *err) {
  if (!out) return mlaf_fail(err, MLAF_E_ARG, "mlaf_device_open: out is NULL");
  if (!spec || !strcmp(spec, "auto")) return open_auto(log, out, err);
  for (const mlaf_device_ops *const *b = mlaf_backends; *b; b++) {
    int ordinal = match(spec, (*b)->name);
    if (ordinal == -2)
      return mlaf_fail(err, MLAF_E_ARG, "device '%.100s': want \"%s\" or \"%s:N\" with N in 0..999", spec, (*b)->name,
                       (*b)->name);
    if (ordinal < 0) continue;
    mlaf_status st = (*b)->open(ordinal, log, out, err);
    if (!st) ((mlaf_device_base *)*out)->info.ordinal = ordinal;
    return st;
  }
  mlaf_text names = MLAF_TEXT_INIT(512);
  list_names(&names);
  mlaf_fail(err, MLAF_E_NO_DEVICE, "unknown device '%.100s': this build has \"auto\"%s", spec,
            names.data ? names.data : "");
  mlaf_text_free(&names);
  return MLAF_E_NO_DEVICE;
}

void mlaf_device_close(mlaf_device *dev) {
  if (dev) mlaf_ops(dev)->close(dev);
}

void mlaf_device_cancel_by(mlaf_device *dev, const atomic_bool *cancel) {
  if (dev) ((mlaf_device_base *)dev)->cancel = cancel;
}
