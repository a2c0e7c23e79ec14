/* Loading a tool kernel. */
#include "run/tool.h"

#include "run/build.h"

mlaf_status mlaf_tool_open(const mlaf_tool_env *e, const char *template_name, const char *params, mlaf_tool *out,
                           mlaf_err *err) {
  mlaf_build b = {.n = 1};
  mlaf_kernel_ref *ref = &b.refs[0];
  int compiles = 0;
  *out = (mlaf_tool){.device = e->device};
  snprintf(ref->template_name, sizeof ref->template_name, "%s", template_name);
  snprintf(ref->params, sizeof ref->params, "%s", params);
  snprintf(ref->symbol, sizeof ref->symbol, "mlaf_%.50s", template_name);
  mlaf_status st = mlaf_build_now(&b, e->gen, e->compiler, e->target, true, &compiles, err);
  if (!st) st = mlaf_build_load_one(&b, e->device, &out->module, &out->fn, err);
  mlaf_build_clear(&b);
  return st;
}

void mlaf_tool_close(mlaf_tool *tool) {
  if (tool->module) mlaf_ops(tool->device)->module_unload(tool->device, tool->module);
  *tool = (mlaf_tool){.device = tool->device};
}
