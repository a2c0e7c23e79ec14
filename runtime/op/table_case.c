/* Verification cases of operations whose arguments are a table: what a launch may not read is NaN, what it writes is stale, and
 * afterwards every row is beside the reference, every other byte as it was. */
#include "op/table_calls.h"

enum { POISON = 0xff, STALE = 0x5a };

/* The tensor whose memory an output takes: itself, or in place another one. */
static int memory_of(const mlaf_made_case *c, int tensor) {
  const mlaf_arg_tensor *x = &c->h.table->args->tensors[tensor];
  return c->spec->in_place && x->in_place >= 0 ? x->in_place : tensor;
}

static bool left_out(const mlaf_made_case *c, int tensor) {
  const mlaf_arg_tensor *x = &c->h.table->args->tensors[tensor];
  return c->spec->spare && x->optional && x->out;
}

/* --- making one --- */

static void fill_normal(mlaf_host *h, int tensor, mlaf_rng *rng) {
  const int64_t columns = mlaf_host_columns(h, tensor);
  const int64_t all = mlaf_host_rows(h, tensor, 0), each = mlaf_host_rows(h, tensor, 1), last = mlaf_host_rows(h, tensor, 2);
  for (int64_t i = 0; i < all * each * last; i++) {
    uint16_t *row = mlaf_host_at(h, tensor, i / last / each, i / last % each);
    row += i % last * h->t[tensor].stride[2];
    for (int64_t k = 0; k < columns; k++) row[k] = mlaf_encode16(h->dtype, mlaf_rng_normal(rng));
  }
}

static mlaf_status mark_mine(mlaf_host *h, int tensor, mlaf_err *err) {
  mlaf_host_tensor *t = &h->t[tensor];
  if (!(t->mine = calloc((size_t)t->count, 1)))
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %lld marks", (long long)t->count);
  for (int64_t i = 0; i < mlaf_host_walk(h, 0); i++)
    for (int64_t j = 0; j < mlaf_host_walk(h, 1); j++) {
      const int64_t at = mlaf_host_place(h, tensor, i, j);
      if (at >= 0) memset(t->mine + at, 1, (size_t)mlaf_host_columns(h, tensor));
    }
  return MLAF_OK;
}

static mlaf_status fill(mlaf_made_case *c, mlaf_inject inject, mlaf_rng *rng, mlaf_err *err) {
  mlaf_host *h = &c->h;
  const mlaf_args_table *a = h->table->args;
  mlaf_status st = mlaf_host_alloc_more(h, err);
  for (int i = 0; !st && i < a->n_tensors; i++) {
    const mlaf_arg_tensor *x = &a->tensors[i];
    if (h->t[i].absent) continue;
    if (memory_of(c, i) == i) st = mlaf_host_alloc(h, i, x->out ? STALE : POISON, err);
    if (!st && !x->out && x->element == MLAF_ELEMENT_16) fill_normal(h, i, rng);
  }
  if (!st && h->table->hooks->draw) h->table->hooks->draw(h, rng);
  if (!st && inject) st = h->table->hooks->inject(h, inject, rng, err);
  for (int i = 0; !st && i < a->n_tensors; i++)
    if (a->tensors[i].out && !h->t[i].absent) st = mark_mine(h, memory_of(c, i), err);
  return st;
}

/* The rows of input that the case says, fewer where those are more than case_rows in all; where it says none, as many as give
 * about that, an odd number. */
static int64_t count_of(const mlaf_table *t, const mlaf_point *p, const mlaf_table_case *c) {
  mlaf_host h;
  if (t->hooks->count) return t->hooks->count(p, c);
  mlaf_host_init(&h, p, c, 1);
  const int64_t each = mlaf_host_walk(&h, 1), rows = t->case_rows / each;
  if (c->count && (!t->case_rows || c->count * each <= t->case_rows || c->count < t->case_least)) return c->count;
  return c->count || rows < t->case_least ? t->case_least | 1 : rows | 1;
}

mlaf_status mlaf_table_make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out,
                                 mlaf_err *err) {
  const mlaf_table *t = p->op->calls->table;
  const mlaf_table_case *spec = &t->cases[index];
  mlaf_made_case *c = calloc(1, sizeof *c);
  if (!c) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for case %s", spec->name);
  mlaf_rng rng = {seed + (uint64_t)index};
  c->head = (mlaf_case){.name = spec->name, .spare = spec->spare};
  c->spec = spec;
  mlaf_host_init(&c->h, p, spec, count_of(t, p, spec));
  mlaf_status st = fill(c, inject, &rng, err);
  if (!st) st = mlaf_rows_open(&c->h, &c->rows, err);
  if (st) {
    mlaf_table_free_case(&c->head);
    return mlaf_fail_prefix(err, st, "case %s", spec->name);
  }
  *out = &c->head;
  return MLAF_OK;
}

mlaf_status mlaf_table_chain_case(mlaf_case *head, const mlaf_case *before, mlaf_err *err) {
  mlaf_made_case *c = (mlaf_made_case *)head;
  c->h.before = &((const mlaf_made_case *)before)->h;
  mlaf_rows_close(&c->rows);
  return mlaf_rows_open(&c->h, &c->rows, err);
}

void mlaf_table_free_case(mlaf_case *head) {
  mlaf_made_case *c = (mlaf_made_case *)head;
  if (!c) return;
  mlaf_rows_close(&c->rows);
  mlaf_host_free(&c->h);
  free(c);
}

static mlaf_use use_of(const mlaf_made_case *c, int tensor) {
  const mlaf_arg_tensor *x = &c->h.table->args->tensors[tensor];
  if (c->h.t[tensor].absent || memory_of(c, tensor) != tensor) return MLAF_USE_NONE;
  if (left_out(c, tensor)) return MLAF_USE_OPTIONAL_OUTPUT;
  return c->h.t[tensor].mine || x->out ? MLAF_USE_INOUT : MLAF_USE_INPUT;
}

int mlaf_table_case_buffers(const mlaf_case *head, const mlaf_bound *b, uint32_t knob, void *args,
                            mlaf_case_buffer out[MLAF_CASE_BUFFERS]) {
  const mlaf_made_case *c = (const mlaf_made_case *)head;
  const mlaf_args_table *a = c->h.table->args;
  memcpy(args, c->h.args.bytes, c->h.table->args_size);
  for (int i = 0; i < a->n_tensors; i++) {
    const mlaf_arg_tensor *x = &a->tensors[i];
    memset((char *)args + x->at, 0, sizeof(void *));
    out[i] = (mlaf_case_buffer){x->name, use_of(c, i), mlaf_host_bytes(&c->h, i), x->at, left_out(c, i) ? NULL : c->h.t[i].data};
  }
  return c->h.table->hooks->suit ? c->h.table->hooks->suit(&c->h, b, args, a->n_tensors, out) : a->n_tensors;
}

/* --- what came out --- */

/* The output's row in what a launch left, by the tensor that has its memory. */
static const void *got_row(const mlaf_made_case *c, void *const *outputs, int tensor, int64_t i, int64_t j) {
  const int at = memory_of(c, tensor);
  const int64_t row = mlaf_host_place(&c->h, at, i, j);
  return outputs[at] && row >= 0
             ? (const char *)outputs[at] + row * mlaf_element_bytes(&c->h.table->args->tensors[at], c->h.n)
             : NULL;
}

static void note_error(const mlaf_rows *r, int k, bool log, const void *got, double off, mlaf_verify_result *out) {
  if (!log) {
    out->row_error = fmax(out->row_error, off);
    if (!r->h->table->relative || isinf(off)) out->error = fmax(out->error, off);
    return;
  }
  const double want = r->want[k].value[0];
  out->lse_ratio = fmax(out->lse_ratio, off);
  if (isfinite(want)) out->lse_error = fmax(out->lse_error, fabs((double)*(const float *)got - want));
}

static void describe(const mlaf_made_case *c, mlaf_rows *r, int k, int column, double is, mlaf_verify_result *out) {
  char where[64], what[160], note[MLAF_NOTE] = "";
  r->note = note;
  mlaf_rows_seek(r, r->i, r->j);
  r->note = NULL;
  mlaf_rows_name(&c->h, k, r->i, r->j, where, sizeof where);
  mlaf_rows_fault(r, k, column, is, what, sizeof what);
  snprintf(out->detail, sizeof out->detail, "case %s: %s%s%s%s: %s", c->head.name, where, note[0] ? " (" : "", note,
           note[0] ? ")" : "", what);
}

static bool compare_row(const mlaf_made_case *c, mlaf_rows *r, int64_t i, int64_t j, void *const *outputs,
                        mlaf_verify_result *out) {
  const int n = c->h.n_outputs, *list = c->h.outputs;
  const void *got[MLAF_TABLE_OUTPUTS], *any = NULL;
  bool good = true;
  for (int k = 0; k < n; k++)
    if ((got[k] = got_row(c, outputs, list[k], i, j))) any = got[k];
  if (!any || (c->h.table->hooks->compared && !c->h.table->hooks->compared(&c->h, i, j))) return true;
  out->rows++;
  mlaf_rows_seek(r, i, j);
  for (int k = 0; k < n; k++) {
    if (!got[k]) continue;
    int column = 0; /* which a hook of an output of one column leaves alone */
    double is = 0;
    const double off = mlaf_rows_off(r, k, got[k], &column, &is);
    note_error(r, k, c->h.table->args->tensors[list[k]].element == MLAF_ELEMENT_F32, got[k], off, out);
    if (off <= mlaf_rows_bound(&c->h, list[k])) continue;
    if (!out->detail[0]) describe(c, r, k, column, is, out);
    good = false;
  }
  return good;
}

/* The first element of an output that changed, and is none of its rows'; -1: there is none. */
static int64_t changed(const mlaf_made_case *c, void *const *outputs, int at) {
  const mlaf_host_tensor *t = &c->h.t[at];
  const size_t bytes = (size_t)mlaf_element_bytes(&c->h.table->args->tensors[at], c->h.n);
  const unsigned char *got = outputs[at];
  for (int64_t i = 0; i < t->count; i++)
    if (!t->mine[i] && memcmp(got + (size_t)i * bytes, t->data + (size_t)i * bytes, bytes)) return i;
  return -1;
}

static bool check_unwritten(const mlaf_made_case *c, void *const *outputs, mlaf_verify_result *out) {
  for (int i = 0; i < c->h.table->args->n_tensors; i++) {
    if (!c->h.t[i].mine || !outputs[i] || left_out(c, i)) continue;
    const int64_t at = changed(c, outputs, i);
    if (at < 0) continue;
    snprintf(out->detail, sizeof out->detail, "case %s: element %lld of %s, between rows, was written", c->head.name,
             (long long)at, c->h.table->args->tensors[i].name);
    return false;
  }
  return true;
}

bool mlaf_table_compare(const mlaf_case *head, void *const *outputs, mlaf_verify_result *out) {
  const mlaf_made_case *c = (const mlaf_made_case *)head;
  mlaf_rows r = c->rows;
  bool good = true;
  r.compared = 0;
  for (int64_t i = 0; i < mlaf_host_walk(&c->h, 0); i++)
    for (int64_t j = 0; j < mlaf_host_walk(&c->h, 1); j++) good &= compare_row(c, &r, i, j, outputs, out);
  const double whole = mlaf_rows_whole(&r), bound = mlaf_host_bound(&c->h);
  out->error = fmax(out->error, whole);
  out->compared = r.compared;
  if (good && whole > bound) {
    mlaf_snprintf(out->detail, sizeof out->detail, "case %s: error %.3g, bound %.3g", c->head.name, whole, bound);
    return false;
  }
  return good && check_unwritten(c, outputs, out);
}

bool mlaf_table_same(const mlaf_case *head, void *const *a, void *const *b, mlaf_verify_result *out) {
  const mlaf_made_case *c = (const mlaf_made_case *)head;
  const int n = c->h.n_outputs, *list = c->h.outputs;
  for (int k = 0; k < n; k++) {
    const mlaf_arg_tensor *x = &c->h.table->args->tensors[list[k]];
    const size_t bytes = (size_t)(mlaf_host_columns(&c->h, list[k]) * mlaf_element_bytes(x, c->h.n));
    for (int64_t i = 0; i < mlaf_host_walk(&c->h, 0); i++)
      for (int64_t j = 0; j < mlaf_host_walk(&c->h, 1); j++) {
        const void *one = got_row(c, a, list[k], i, j), *other = got_row(c, b, list[k], i, j);
        char where[64];
        if (!one || !other || !memcmp(one, other, bytes)) continue;
        mlaf_rows_name(&c->h, k, i, j, where, sizeof where);
        snprintf(out->detail, sizeof out->detail, "case %s: two runs differ in %s of %s", head->name, x->name, where);
        return false;
      }
  }
  return true;
}

double mlaf_table_bound(const mlaf_point *p) { return p->op->calls->table->ulps; }
