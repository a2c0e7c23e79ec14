/* First launches against fp64, and wrong rows against both. */
#include "check/soak_internal.h"

#define CHECK_WORK 4e9 /* multiplications: a second or two of one core */

mlaf_status soak_check_first(soak *s, const soak_side *side, mlaf_err *err) {
  void *outputs[MLAF_DATA_OUTPUTS];
  mlaf_data_checked c = {.rows = 0};
  mlaf_soak_result *out = s->out;
  mlaf_err why = {MLAF_OK, ""};
  for (int i = 0; i < s->data->n_outputs; i++) outputs[i] = soak_at(s, &side->first, i, 0);
  const mlaf_status st = s->calls->data_check(s->data, 0, outputs, CHECK_WORK, &c, &why);
  if (c.error > out->error) out->error = c.error;
  if (c.row_error > out->row_error) out->row_error = c.row_error;
  if (c.lse_ratio > out->lse_ratio) out->lse_ratio = c.lse_ratio;
  out->checked_rows += c.rows;
  snprintf(out->checked, sizeof out->checked, "%s", c.which);
  if (st != MLAF_E_INCORRECT) return st ? mlaf_fail(err, st, "%s", why.text) : MLAF_OK;
  snprintf(out->detail, sizeof out->detail, "variant %s, first launch: %.700s", mlaf_loaded_name(side->l), why.text);
  return mlaf_fail(err, st, "%s", out->detail);
}

/* The row that the first launch wrote where a record's lies. */
static mlaf_status read_first(soak *s, const uint32_t *record, uint32_t *want, mlaf_err *err) {
  const soak_launch *x = &s->launches[record[0]];
  const size_t bytes = s->data->outputs[record[1]].row_bytes;
  const char *all = soak_at(s, &s->lanes[x->lane].side->first, (int)record[1], (size_t)x->set);
  return mlaf_ops(s->dev)->mem_read(s->dev, want, all + record[2] * bytes, bytes, err);
}

mlaf_status soak_against_first(soak *s, const uint32_t *record, int32_t *words, double *error, mlaf_err *err) {
  const int output = (int)record[1], set = s->launches[record[0]].set;
  const size_t n = s->data->outputs[output].row_bytes / sizeof(uint32_t);
  uint32_t *want = malloc(s->row_bytes);
  if (!want) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a row of %zu bytes", s->row_bytes);
  mlaf_status st = read_first(s, record, want, err);
  *words = 0;
  for (size_t w = 0; !st && w < n; w++) *words += want[w] != record[3 + w];
  if (!st) st = s->calls->data_error(s->data, set, output, record[2], record + 3, want, error, err);
  free(want);
  return st;
}

mlaf_status soak_describe_first(soak *s, const uint32_t *record, int64_t base, mlaf_err *err) {
  const soak_launch *x = &s->launches[record[0]];
  const int output = (int)record[1];
  const mlaf_data_output *o = &s->data->outputs[output];
  mlaf_soak_row *row = &s->out->first;
  *row = (mlaf_soak_row){.launch = base + record[0] + 1, .stream = x->lane, .set = x->set, .output = output, .row = record[2],
                         .of = (int32_t)(o->row_bytes / sizeof(uint32_t))};
  const int n = snprintf(row->where, sizeof row->where, "%s, ", o->name);
  s->calls->data_row(s->data, output, record[2], row->where + n, sizeof row->where - (size_t)n);
  uint32_t *first = malloc(s->row_bytes);
  mlaf_status st = first ? soak_against_first(s, record, &row->words, &row->against_first, err)
                         : mlaf_fail(err, MLAF_E_NOMEM, "no memory for a row of %zu bytes", s->row_bytes);
  if (!st) st = s->calls->data_error(s->data, x->set, output, record[2], record + 3, NULL, &row->error, err);
  if (!st) st = read_first(s, record, first, err);
  if (!st) st = s->calls->data_error(s->data, x->set, output, record[2], first, NULL, &row->first_error, err);
  free(first);
  return st;
}
