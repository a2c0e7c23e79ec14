/* One launch of any code object, with arguments that a JSON text describes: docs/emulator.md. */
#pragma once

#include "base/base.h"
#include "device/device.h"

typedef struct code_call {
  mlaf_device *dev;
  struct mlaf_module *module;
  void *buffers[64];
  size_t bytes[64];
  char *save[64];   /* file that a buffer goes to after a run; NULL: none */
  int n_buffers, n_saves;
  uint8_t args[4096];
  mlaf_launch launch; /* args point into this struct: do not copy it */
} code_call;
mlaf_status mlaf_code_call_open(mlaf_device *dev, const char *code_path, const char *args_path, uint64_t seed,
                                code_call *out, mlaf_err *err);
void mlaf_code_call_close(code_call *code);
/* Launch it once, wait, and write the buffers that are to be saved. */
mlaf_status mlaf_code_call_run(code_call *code, mlaf_err *err);
