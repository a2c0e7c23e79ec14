/* LD_PRELOAD for any program: it runs as if its host had called setlocale with a comma. Dies when that cannot be had, so that
 * a test under it proves what it says. Lua's own interpreter, shells and tools never set a locale for numbers: they stay as
 * they are. */

#include <errno.h>
#include "base/comma.h"

__attribute__((constructor)) static void comma_start(void) {
  static const char *const plain[] = {"lua", "sh", "bash", "dash", "cmake", "ctest", "make", "gcc", "cc1", "git", "awk", "mawk"};
  const char *dir = getenv("MLAF_COMMA_DIR"), *name = program_invocation_short_name;
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
    if (strcmp(name, plain[i]) == 0 || (i == 0 && strncmp(name, "lua", 3) == 0)) return;
  if (dir && comma_write(dir) && comma_set(dir)) return;
  fprintf(stderr, "%s: no locale with a comma in MLAF_COMMA_DIR='%s'\n", name, dir ? dir : "");
  _exit(99);
}
