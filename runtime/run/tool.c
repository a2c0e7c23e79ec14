/* Loading a tool kernel. */
#include "run/tool.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static mlaf_status compile(const mlaf_tool_env *e, const mlaf_kernel_desc *desc, const char *symbol, mlaf_compile_job *job,
                           char **source, mlaf_err *err) {
  char hash[MLAF_HASH_HEX];
  const char *const *options = NULL;
  mlaf_status st = mlaf_gen_render(e->gen, desc, e->target, source, hash, err);
  if (!st) st = mlaf_gen_options(e->gen, e->target, &options, err);
  *job = (mlaf_compile_job){.source = *source, .options = options, .target = e->target, .name = symbol};
  if (!st) st = mlaf_compile(e->compiler, job, 1, NULL, NULL, err);
  if (!st && job->status) st = mlaf_fail(err, job->status, "%s: %.300s", symbol, job->log ? job->log : "not compiled");
  return st;
}

mlaf_status mlaf_tool_open(const mlaf_tool_env *e, const char *template_name, const char *params, mlaf_tool *out,
                           mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(e->device);
  const mlaf_kernel_desc desc = {.template_name = (char *)(uintptr_t)template_name, .params = (char *)(uintptr_t)params};
  mlaf_compile_job job = {.source = NULL};
  char symbol[80], *source = NULL;
  *out = (mlaf_tool){.device = e->device};
  snprintf(symbol, sizeof symbol, "mlaf_%s", template_name);
  mlaf_status st = compile(e, &desc, symbol, &job, &source, err);
  if (!st) st = ops->module_load(e->device, job.code, job.code_size, &out->module, err);
  if (!st) st = ops->function_get(e->device, out->module, symbol, &out->fn, err);
  mlaf_compile_job_clear(&job);
  free(source);
  return st;
}

void mlaf_tool_close(mlaf_tool *tool) {
  if (tool->module) mlaf_ops(tool->device)->module_unload(tool->device, tool->module);
  *tool = (mlaf_tool){.device = tool->device};
}
