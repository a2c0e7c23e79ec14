/* placeholder, written next */
#include "cli/cli.h"
int mlaf_cli_embed(cli *c) { return mlaf_cli_usage(c, "not in this build"); }
