/* Which cases a bench runs. */
#include "cli/bench.h"
#include "cli/embedded_text.h"

static mlaf_status add(cli *c, bench_cases *out, const char *set, const mlaf_point *p, const int32_t *tokens) {
  if (!mlaf_room(&out->list, out->n, sizeof *out->list)) return mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory for cases");
  bench_case *x = &out->list[out->n++];
  *x = (bench_case){.problem = *p, .tokens = tokens};
  snprintf(x->set, sizeof x->set, "%s", set);
  return MLAF_OK;
}

/* --- the peers' sets: lines of tuning/peer-sets.tsv --- */

/* Copy the field at *line up to a tab or the line's end; *line goes behind it. */
static bool field(const char **line, char *out, size_t size) {
  const size_t n = strcspn(*line, "\t\n");
  if (n >= size) return false;
  memcpy(out, *line, n);
  out[n] = 0;
  *line += n + ((*line)[n] == '\t');
  return true;
}

static bool has_set(const char *wanted, const char *set) {
  for (size_t n; *wanted; wanted += n + (wanted[n] == ',')) {
    n = strcspn(wanted, ",");
    if (n == strlen(set) && strncmp(wanted, set, n) == 0) return true;
  }
  return false;
}

/* The numbers of "lengths NAME ...", as many as `n`. */
static mlaf_status read_lengths(cli *c, bench_cases *out, const char *name, int n) {
  char key[96];
  snprintf(key, sizeof key, "\nlengths\t%s\t", name);
  const char *at = strstr(mlaf_peer_sets, key);
  free(out->tokens);
  out->tokens = malloc((size_t)n * sizeof *out->tokens);
  if (!out->tokens) return mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory for %d lengths", n);
  at = at ? at + strlen(key) : "";
  for (int i = 0; i < n; i++) {
    char *end;
    out->tokens[i] = (int32_t)strtol(at, &end, 10);
    if (end == at || *end != (i + 1 < n ? ',' : '\n'))
      return mlaf_fail(&c->err, MLAF_E_INTERNAL, "tuning/peer-sets.tsv: lengths '%s' are not %d numbers", name, n);
    at = end + 1;
  }
  return MLAF_OK;
}

/* One list of lengths is enough for all cases that have lengths: the last one asked for is kept. */
static mlaf_status add_line(cli *c, bench_cases *out, const char *line, const char *wanted) {
  char set[16], text[MLAF_POINT_TEXT_MAX], lengths[64], why[256] = "";
  mlaf_point p;
  if (!field(&line, set, sizeof set) || !has_set(wanted, set)) return MLAF_OK;
  if (!field(&line, text, sizeof text) || !field(&line, lengths, sizeof lengths) ||
      mlaf_point_parse(NULL, text, &p, why, sizeof why) != MLAF_OK)
    return mlaf_fail(&c->err, MLAF_E_INTERNAL, "tuning/peer-sets.tsv: a line of set %s: %s", set, why);
  const bool spread = strcmp(lengths, "-") != 0;
  mlaf_status status = spread && !out->tokens ? read_lengths(c, out, lengths, mlaf_point_value(&p, "batch", 1)) : MLAF_OK;
  return status == MLAF_OK ? add(c, out, set, &p, spread ? out->tokens : NULL) : status;
}

static mlaf_status peer_cases(cli *c, const char *wanted, bench_cases *out) {
  mlaf_status status = MLAF_OK;
  for (const char *line = mlaf_peer_sets; status == MLAF_OK && *line; line += strcspn(line, "\n"), line += *line == '\n')
    if (*line != '#' && strncmp(line, "lengths\t", 8) != 0) status = add_line(c, out, line, wanted);
  if (status == MLAF_OK && !out->n)
    status = mlaf_fail(&c->err, MLAF_E_ARG, "--set is '%s': tuning/peer-sets.tsv has A to I, e.g. --set A,B", wanted);
  return status;
}

mlaf_status mlaf_cli_peer_problems(cli *c, cli_problems *out) {
  bench_cases cases = {NULL, 0, NULL};
  mlaf_status status = peer_cases(c, c->given[O_SET], &cases);
  for (size_t i = 0; status == MLAF_OK && i < cases.n; i++) status = mlaf_cli_problems_add(c, out, &cases.list[i].problem);
  mlaf_cli_bench_cases_free(&cases);
  return status;
}

/* --- the grid of the command line --- */
static mlaf_status grid_cases(cli *c, bench_cases *out) {
  cli_problems grid = {NULL, 0};
  mlaf_status status = mlaf_cli_problems(c, &grid);
  for (size_t i = 0; status == MLAF_OK && i < grid.n; i++) status = add(c, out, "", &grid.list[i], NULL);
  mlaf_cli_problems_free(&grid);
  return status;
}

mlaf_status mlaf_cli_bench_cases(cli *c, bench_cases *out) {
  *out = (bench_cases){NULL, 0, NULL};
  return c->given[O_SET] ? peer_cases(c, c->given[O_SET], out) : grid_cases(c, out);
}

void mlaf_cli_bench_cases_free(bench_cases *cases) {
  free(cases->list);
  free(cases->tokens);
}
