/* The stages of mla_decode, in launch order. They are columns of stored choices: never renumbered. */
#include <string.h>

#include "op/kernel.h"

const char *const *mlaf_stage_names(const char *problem) {
  static const char *const names[MLAF_STAGES_MAX + 1] = {"decode", "combine"};
  return strncmp(problem, "mla_decode:", 11) == 0 ? names : NULL;
}
