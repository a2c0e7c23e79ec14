/* Opening libraries by name. */
#include "base/library.h"

#include <dlfcn.h>

/* A name that is not there is nothing to report. */
static bool is_absent(const char *name, const char *why) {
  return !strncmp(why, name, strlen(name)) && strstr(why, "No such file");
}

void *mlaf_library_open(const char *variable, const char *const *candidates, const char *what, const char *fix, char *name,
                        size_t size, mlaf_err *err) {
  char broken[512] = "";
  const char *forced = getenv(variable);
  if (forced && *forced) {
    void *library = dlopen(forced, RTLD_NOW | RTLD_LOCAL);
    if (!library) mlaf_fail(err, MLAF_E_NO_DEVICE, "%s: %s", variable, dlerror());
    snprintf(name, size, "%s", forced);
    return library;
  }
  for (; *candidates; candidates++) {
    void *library = dlopen(*candidates, RTLD_NOW | RTLD_LOCAL);
    if (library) {
      snprintf(name, size, "%s", *candidates);
      return library;
    }
    const char *why = dlerror();
    if (why && !broken[0] && !is_absent(*candidates, why)) snprintf(broken, sizeof broken, " (%s)", why);
  }
  mlaf_fail(err, MLAF_E_NO_DEVICE, "%s not found on the loader's path%s; %s", what, broken, fix);
  return NULL;
}

void *mlaf_library_load(const char *path, mlaf_err *err) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) mlaf_fail(err, MLAF_E_NO_DEVICE, "%s", dlerror());
  return library;
}

bool mlaf_library_find(void *library, const char *symbol, void *slot) {
  void *address = dlsym(library, symbol); /* POSIX: may be copied to a function pointer */
  memcpy(slot, &address, sizeof address);
  return address != NULL;
}
