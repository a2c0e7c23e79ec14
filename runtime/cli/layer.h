/* `mlaforge layer` in parts: what each of its options runs and prints. */
#pragma once

#include "cli/cli.h"
#include "rig/cases.h"

/* --- cmd_layer.c --- */
/* The rig reports to c->err. */
rig_env mlaf_cli_rig_env(cli *c);
/* A line with the problem's string, or with --json an object that has it. */
void mlaf_cli_layer_put_problem(const cli *c, const char *text);
/* Problems of a layer's plans, one a line. */
mlaf_status mlaf_cli_layer_problems(cli *c, const layer_setup *s);

/* --- layer_profile.c, layer_page.c --- */
int mlaf_cli_layer_profile(cli *c, layer_rig *r, const mlaf_ceilings *ceilings);
/* The profile as a page with a picture: --out. */
mlaf_status mlaf_cli_layer_page(const layer_rig *r, const layer_part *parts, size_t n, const mlaf_timing *whole,
                                const char *path);

/* --- layer_crossover.c, layer_forms.c, layer_case.c --- */
int mlaf_cli_layer_crossover(cli *c, const layer_setup *s);
int mlaf_cli_layer_forms(cli *c, layer_rig *r);
int mlaf_cli_layer_case_problems(cli *c, const char *name);
int mlaf_cli_layer_case(cli *c, const char *name);
