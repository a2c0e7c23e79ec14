/* Options for the fields of problems, made from the operations' records (op/op.h), and what they say of a problem. */
#include <limits.h>

#include "cli/cli.h"
#include "op/op.h"

#define USUAL "mla_decode" /* what a problem is of whose string is not given, without --op */

/* --- options: every name once, whichever operations have such a field --- */

static struct {
  const mlaf_field *list[CLI_FIELDS_MAX];
  int n;
} all;

static int find_name(const char *name) {
  for (int i = 0; i < all.n; i++)
    if (!strcmp(all.list[i]->name, name)) return i;
  return -1;
}

static void collect(const mlaf_op *op) {
  for (int i = 0; i < op->n_fields && all.n < CLI_FIELDS_MAX; i++)
    if (find_name(op->fields[i].name) < 0) all.list[all.n++] = &op->fields[i];
}

static const mlaf_op *find_op(const char *name) {
  for (int i = 0; mlaf_ops_all[i]; i++)
    if (!strcmp(mlaf_ops_all[i]->name, name)) return mlaf_ops_all[i];
  return NULL;
}

/* The usual operation's names first. */
int mlaf_cli_field_count(void) {
  if (all.n) return all.n;
  collect(find_op(USUAL));
  for (int i = 0; mlaf_ops_all[i]; i++) collect(mlaf_ops_all[i]);
  return all.n;
}

const mlaf_field *mlaf_cli_field(int i) { return i < mlaf_cli_field_count() ? all.list[i] : NULL; }

const mlaf_op *mlaf_cli_op(const cli *c) {
  const char *text = c->n_arguments ? c->arguments[c->n_arguments - 1] : "";
  const mlaf_op *op = mlaf_op_of(text);
  if (!op) op = find_op(c->given[O_OP] ? c->given[O_OP] : USUAL);
  return op ? op : find_op(USUAL);
}

mlaf_status mlaf_cli_check_op(cli *c) {
  char names[400] = "";
  size_t n = 0;
  const mlaf_op *op = mlaf_cli_op(c);
  if (c->given[O_OP] && strcmp(op->name, c->given[O_OP])) {
    for (int i = 0; mlaf_ops_all[i] && n < sizeof names; i++)
      n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", mlaf_ops_all[i]->name);
    return mlaf_fail(&c->err, MLAF_E_PROBLEM, "--op is '%s'; known are %s%s", c->given[O_OP], names,
                     find_op(c->given[O_OP]) ? ", and the problem is one of another" : "");
  }
  for (int i = 0; i < mlaf_cli_field_count(); i++) {
    bool has = false;
    for (int k = 0; k < op->n_fields; k++) has = has || !strcmp(op->fields[k].name, all.list[i]->name);
    if (c->given[O_FIELD + i] && !has)
      return mlaf_fail(&c->err, MLAF_E_PROBLEM, "a problem of %s has no '%s': say with --op which operation is meant", op->name,
                       all.list[i]->name);
  }
  return MLAF_OK;
}

/* Option of the i-th field of the command line's operation. */
static cli_opt option_of(const mlaf_op *op, int i) {
  mlaf_cli_field_count();
  return (cli_opt)(O_FIELD + find_name(op->fields[i].name));
}

#define GIVEN_FIELDS(i, op, c) (int i = 0; i < (op)->n_fields; i++) \
    if ((c)->given[option_of(op, i)])

/* --- what they say --- */

/* "512", "bf16", "" when it must be given. */
static void print_default(const mlaf_field *f, char *out, size_t size) {
  *out = 0;
  if (mlaf_field_is_flag(f)) snprintf(out, size, " (none)");
  else if (f->words) snprintf(out, size, " (%s)", f->words[0]);
  else if (!f->required) snprintf(out, size, " (%d)", f->otherwise);
}

void mlaf_cli_option_of(const mlaf_field *f, char *name, size_t name_size, char *help, size_t help_size) {
  char otherwise[40];
  snprintf(name, name_size, "%s", f->option ? f->option : f->name);
  for (char *s = name; *s; s++)
    if (*s == '_') *s = '-';
  print_default(f, otherwise, sizeof otherwise);
  if (mlaf_field_is_switch(f)) snprintf(help, help_size, "%s", f->about);
  else snprintf(help, help_size, "%s: %s%s", f->about, f->range, otherwise);
}

void mlaf_cli_field_text(int i, char *name, size_t name_size, char *help, size_t help_size) {
  mlaf_cli_option_of(mlaf_cli_field(i), name, name_size, help, help_size);
}

/* Index of a field's word; "none" is the help's for that of a flag which writes nothing. */
static mlaf_status word_of(cli *c, const mlaf_field *f, const char *text, int32_t *out) {
  char accepted[200] = "", name[32], help[200];
  size_t n = 0;
  *out = 0;
  if (mlaf_field_is_flag(f) && !strcmp(text, "none")) return MLAF_OK;
  for (int32_t w = mlaf_field_is_flag(f); w <= f->max; w++) {
    if (!strcmp(f->words[w], text)) {
      *out = w;
      return MLAF_OK;
    }
    if (n < sizeof accepted)
      n += (size_t)snprintf(accepted + n, sizeof accepted - n, "%s%s", !n ? "" : w == f->max ? " and " : ", ", f->words[w]);
  }
  mlaf_cli_field_text(find_name(f->name), name, sizeof name, help, sizeof help);
  return mlaf_fail(&c->err, MLAF_E_PROBLEM, "--%s is '%s'; accepted are %s", name, text, accepted);
}

mlaf_status mlaf_cli_fields(cli *c, mlaf_point *p) {
  mlaf_status st = mlaf_cli_check_op(c);
  for GIVEN_FIELDS(i, p->op, c) {
    const mlaf_field *f = &p->op->fields[i];
    const cli_opt o = option_of(p->op, i);
    if (mlaf_field_is_switch(f)) p->v[i] = 1;
    else if (f->words) st = st ? st : word_of(c, f, c->given[o], &p->v[i]);
    else p->v[i] = (int32_t)mlaf_cli_int(c, o, p->v[i]);
  }
  return st;
}

mlaf_status mlaf_cli_take_word(cli *c, const char *op, const char *field, int32_t *out) {
  const mlaf_op *of = find_op(op);
  mlaf_status st = MLAF_OK;
  *out = 0;
  for GIVEN_FIELDS(i, of, c) {
    if (strcmp(of->fields[i].name, field)) continue;
    const cli_opt o = option_of(of, i);
    st = word_of(c, &of->fields[i], c->given[o], out);
    c->given[o] = NULL;
  }
  return st;
}

mlaf_status mlaf_cli_axes(cli *c, const mlaf_op *op, cli_axis axes[MLAF_FIELDS_MAX]) {
  mlaf_status st = MLAF_OK;
  for (int i = 0; i < MLAF_FIELDS_MAX; i++) axes[i] = (cli_axis){NULL, 0};
  for GIVEN_FIELDS(i, op, c) {
    const mlaf_field *f = &op->fields[i];
    char name[32], help[200];
    if (f->words || st) continue;
    mlaf_cli_field_text(find_name(f->name), name, sizeof name, help, sizeof help);
    st = mlaf_cli_axis(name, c->given[option_of(op, i)], 0, INT_MAX, &axes[i], &c->err);
  }
  return st;
}

void mlaf_cli_axes_free(cli_axis axes[MLAF_FIELDS_MAX]) {
  for (int i = 0; i < MLAF_FIELDS_MAX; i++) free(axes[i].values);
}

void mlaf_cli_set_model(mlaf_point *p, const mlaf_model *m, int tp) {
  const struct {
    const char *name;
    int32_t value;
  } dims[] = {{"heads", m->heads / tp}, {"rank", m->rank}, {"rope", m->rope}, {"nope", m->qk_nope}, {"v_head", m->v_head}};
  for (int i = 0; i < p->op->n_fields; i++)
    for (size_t k = 0; k < sizeof dims / sizeof *dims; k++)
      if (!strcmp(p->op->fields[i].name, dims[k].name)) p->v[i] = dims[k].value;
}

bool mlaf_cli_required(const cli *c) {
  const mlaf_op *op = mlaf_cli_op(c);
  for (int i = 0; i < op->n_fields; i++)
    if (op->fields[i].required && !c->given[option_of(op, i)]) return false;
  return true;
}

bool mlaf_cli_names_problem(const cli *c) {
  const mlaf_op *op = mlaf_cli_op(c);
  for GIVEN_FIELDS(i, op, c)
    if (op->fields[i].required) return true;
  return c->n_arguments || c->given[O_MODEL] || c->given[O_OP];
}

const char *mlaf_cli_listed(const cli *c) {
  for (int i = 0; i < mlaf_cli_field_count(); i++)
    if (c->given[O_FIELD + i] && strpbrk(c->given[O_FIELD + i], ",:")) return c->given[O_FIELD + i];
  return NULL;
}
