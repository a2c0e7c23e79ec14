#include "cli/layer.h"
int layer_case(cli *c, const char *name) { return mlaf_cli_usage(c, "no case '%s'", name); }
