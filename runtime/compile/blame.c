/* Blames a failed compile on the kernel or on the machine. */
#include "compile/blame.h"

#include "compile/compile.h"
#include "compile/rtc_text.h"
#include "compile/scratch.h"

const char mlaf_blame_control[] = "extern \"C\" __global__ void mlaf_control() {}\n";

bool mlaf_compile_blames_kernel(mlaf_status status) {
  return status == MLAF_E_COMPILE || status == MLAF_E_CRASH || status == MLAF_E_TIMEOUT;
}

bool mlaf_blame_is_unsure(mlaf_status status, const char *log) {
  return status == MLAF_E_CRASH || (status == MLAF_E_COMPILE && !mlaf_rtc_blames_source(log));
}

mlaf_status mlaf_blame(mlaf_tool tool, mlaf_status status, const char *log, mlaf_err *why) {
  mlaf_err room = {MLAF_OK, ""};
  const bool unsure = mlaf_blame_is_unsure(status, log);
  if (!unsure && status != MLAF_E_NO_COMPILER) return status;
  const mlaf_os_error *named = mlaf_os_error_in(why->text);
  if (!named) named = mlaf_os_error_in(log);
  /* A full disk is not always named, nor does a name say which disk. */
  if (unsure && tool != MLAF_TOOL_NVRTC && (!named || named->status == MLAF_E_IO) && mlaf_scratch_check(&room) != MLAF_OK) {
    *why = room;
    return room.status;
  }
  return named ? mlaf_fail_prefix(why, named->status, "the compiler met '%s' (%s)", named->phrase, named->cure) : status;
}

mlaf_status mlaf_blame_compiler(const char *lib_dir, const char *worker, const char *target, mlaf_err *why) {
  const bool nvrtc = mlaf_tool_of(target, strlen(target)) == MLAF_TOOL_NVRTC;
  return mlaf_fail_prefix(why, MLAF_E_NO_COMPILER, "the compiler in %s, run by %s, fails on an empty kernel for %s, too (run "
                          "tools/setup.sh, or name another with %s)", lib_dir, worker ? worker : "this process", target,
                          nvrtc ? "MLAF_NVRTC" : "MLAF_ROCM");
}
