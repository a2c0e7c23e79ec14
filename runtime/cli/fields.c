/* Options for the fields of a problem, made from the operation's record (op/op.h), and what they say of a problem. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "ops/mla_decode/problem.h"

const mlaf_op *mlaf_cli_op(void) { return &mlaf_op_mla_decode; } /* what a problem is of whose string is not given */

#define GIVEN_FIELDS(i, c) (int i = 0; i < mlaf_cli_op()->n_fields; i++) \
    if ((c)->given[O_FIELD + i])

/* "512", "bf16", "" when it must be given. */
static void print_default(const mlaf_field *f, char *out, size_t size) {
  *out = 0;
  if (f->words) snprintf(out, size, " (%s)", f->words[0]);
  else if (!f->required) snprintf(out, size, " (%d)", f->otherwise);
}

void mlaf_cli_field_text(int i, char *name, size_t name_size, char *help, size_t help_size) {
  const mlaf_field *f = &mlaf_cli_op()->fields[i];
  char otherwise[40];
  snprintf(name, name_size, "%s", f->name);
  for (char *s = name; *s; s++)
    if (*s == '_') *s = '-';
  print_default(f, otherwise, sizeof otherwise);
  if (mlaf_field_is_flag(f)) snprintf(help, help_size, "%s", f->about);
  else snprintf(help, help_size, "%s: %s%s", f->about, f->range, otherwise);
}

/* Index of a field's word. */
static mlaf_status word_of(cli *c, const mlaf_field *f, const char *text, int32_t *out) {
  char accepted[200] = "", name[32], help[200];
  size_t n = 0;
  for (int32_t w = 0; w <= f->max; w++) {
    if (!strcmp(f->words[w], text)) {
      *out = w;
      return MLAF_OK;
    }
    if (n < sizeof accepted)
      n += (size_t)snprintf(accepted + n, sizeof accepted - n, "%s%s", !w ? "" : w == f->max ? " and " : ", ", f->words[w]);
  }
  mlaf_cli_field_text((int)(f - mlaf_cli_op()->fields), name, sizeof name, help, sizeof help);
  return mlaf_fail(&c->err, MLAF_E_PROBLEM, "--%s is '%s'; accepted are %s", name, text, accepted);
}

mlaf_status mlaf_cli_fields(cli *c, mlaf_problem *problem) {
  mlaf_point p;
  mlaf_status st = MLAF_OK;
  mlaf_problem_point(problem, &p);
  for GIVEN_FIELDS(i, c) {
    const mlaf_field *f = &p.op->fields[i];
    if (mlaf_field_is_flag(f)) p.v[i] = 1;
    else if (f->words) st = st ? st : word_of(c, f, c->given[O_FIELD + i], &p.v[i]);
    else p.v[i] = (int32_t)mlaf_cli_int(c, (cli_opt)(O_FIELD + i), p.v[i]);
  }
  mlaf_problem_of_point(&p, problem);
  return st;
}

mlaf_status mlaf_cli_axes(cli *c, cli_axis axes[MLAF_FIELDS_MAX]) {
  mlaf_status st = MLAF_OK;
  for (int i = 0; i < MLAF_FIELDS_MAX; i++) axes[i] = (cli_axis){NULL, 0};
  for GIVEN_FIELDS(i, c) {
    const mlaf_field *f = &mlaf_cli_op()->fields[i];
    char name[32], help[200];
    if (f->words || st) continue;
    mlaf_cli_field_text(i, name, sizeof name, help, sizeof help);
    st = mlaf_cli_axis(name, c->given[O_FIELD + i], 0, INT_MAX, &axes[i], &c->err);
  }
  return st;
}

void mlaf_cli_axes_free(cli_axis axes[MLAF_FIELDS_MAX]) {
  for (int i = 0; i < MLAF_FIELDS_MAX; i++) free(axes[i].values);
}

bool mlaf_cli_required(const cli *c) {
  const mlaf_op *op = mlaf_cli_op();
  for (int i = 0; i < op->n_fields; i++)
    if (op->fields[i].required && !c->given[O_FIELD + i]) return false;
  return true;
}

bool mlaf_cli_names_problem(const cli *c) {
  for GIVEN_FIELDS(i, c)
    if (mlaf_cli_op()->fields[i].required) return true;
  return c->n_arguments || c->given[O_MODEL];
}

const char *mlaf_cli_listed(const cli *c) {
  for GIVEN_FIELDS(i, c)
    if (strpbrk(c->given[O_FIELD + i], ",:")) return c->given[O_FIELD + i];
  return NULL;
}
