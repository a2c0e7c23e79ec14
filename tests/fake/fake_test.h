/* The test's side of a fake driver (fake/driver.h): which library it is, and what it may be asked. */
#pragma once

#include <dlfcn.h>

#include "cmocka_all.h"
#include "device/device.h"

static const char *fake_variable; /* that names the library */

/* The back end loads build/FILE, whose own variables begin with `prefix`. */
static void fake_use(const char *variable, const char *file, const char *prefix) {
  static const char *const settings[] = {"FAIL", "DEVICES", "SM"};
  char path[512], name[64];
  snprintf(path, sizeof path, "%s/%s", getenv("MLAF_BUILD_DIR"), file);
  if (access(path, R_OK)) fail_msg("%s is not built", path);
  fake_variable = variable;
  setenv(variable, path, 1);
  for (int i = 0; i < 3; i++) {
    snprintf(name, sizeof name, "%s_%s", prefix, settings[i]);
    unsetenv(name);
  }
}

/* A function of the fake that the back end has loaded, copied into *slot. */
static void fake_symbol(const char *name, void *slot) {
  void *handle = dlopen(getenv(fake_variable), RTLD_NOW | RTLD_NOLOAD);
  assert_non_null(handle);
  void *symbol = dlsym(handle, name);
  assert_non_null(symbol);
  memcpy(slot, &symbol, sizeof symbol);
  dlclose(handle);
}
static inline int fake_calls(const char *name) {
  int (*calls)(const char *);
  fake_symbol("fake_calls", &calls);
  return calls(name);
}
static inline void fake_reset(void) {
  void (*reset)(void);
  fake_symbol("fake_reset", &reset);
  reset();
}
static inline int fake_int(const char *name) {
  int (*get)(void);
  fake_symbol(name, &get);
  return get();
}

static inline mlaf_device *open_device(const char *spec) {
  mlaf_device *dev = NULL;
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_device_open(spec, NULL, &dev, &err)) fail_msg("%s: %s", spec, err.text);
  return dev;
}

static inline void expect_no_device(const char *spec, const char *says) {
  mlaf_device *dev = (mlaf_device *)&dev, *untouched = dev;
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_device_open(spec, NULL, &dev, &err), MLAF_E_NO_DEVICE);
  if (!strstr(err.text, says)) fail_msg("'%s' does not say '%s'", err.text, says);
  assert_ptr_equal(dev, untouched);
}
