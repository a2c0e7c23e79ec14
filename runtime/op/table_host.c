/* A launch's tensors on the host, and their rows beside the reference. */
#include "op/pattern.h"
#include "op/table.h"
#include "op/ulp.h"

/* --- where tensors lie --- */

static void put(mlaf_host *h, size_t at, const void *value, size_t bytes) { memcpy(h->args.bytes + at, value, bytes); }

static void put_scalar(mlaf_host *h, const mlaf_arg_scalar *s, double value) {
  const float f = (float)value;
  const int32_t i = (int32_t)value;
  const int64_t l = (int64_t)value;
  if (s->kind == MLAF_NUMBER_F32) put(h, s->at, &f, sizeof f);
  else if (s->kind == MLAF_NUMBER_I32) put(h, s->at, &i, sizeof i);
  else put(h, s->at, &l, sizeof l);
}

/* Strides from the inside out: dense but for `gap` elements behind each step. `straight`: of a tensor of any strides. */
static void lay_out(const mlaf_host *h, const mlaf_arg_tensor *x, mlaf_host_tensor *t, int64_t gap, bool straight) {
  const bool any = x->layout == MLAF_LAYOUT_ANY, last_inside = !any || straight;
  int64_t step = h->n[x->columns];
  for (int k = 0; k < x->n_axes; k++) {
    const int a = last_inside ? x->n_axes - 1 - k : k;
    t->stride[a] = step + (any && k == 0 ? 0 : gap);
    step = t->stride[a] * h->n[x->axes[a].size];
  }
  t->count = step;
}

static void put_strides(mlaf_host *h, const mlaf_arg_tensor *x, const mlaf_host_tensor *t) {
  for (int k = 0; k < x->n_axes; k++)
    if (x->axes[k].stride_at) put(h, x->axes[k].stride_at, &t->stride[k], sizeof t->stride[k]);
}

/* Some address of every tensor that there is, since sizes may depend on that. */
static void put_addresses(mlaf_host *h, const mlaf_table_case *c) {
  for (int i = 0; i < h->table->args->n_tensors; i++) {
    const mlaf_arg_tensor *x = &h->table->args->tensors[i];
    const uintptr_t some = 4096;
    h->t[i].absent = !h->n[x->has] || (c->without >> i & 1);
    if (!h->t[i].absent && !(c->in_place && x->in_place >= 0)) put(h, x->at, &some, sizeof some);
  }
}

static void list_outputs(mlaf_host *h) {
  const mlaf_table *t = h->table;
  for (int i = 0; i < t->args->n_tensors && h->n_outputs < MLAF_TABLE_OUTPUTS; i++)
    if (t->args->tensors[i].out && !h->t[i].absent) h->outputs[h->n_outputs++] = i;
  const mlaf_arg_tensor *y = &t->args->tensors[h->outputs[0]];
  for (int k = 0; k < MLAF_WALK_AXES; k++) h->walk[k] = t->walk[0] ? t->walk[k] : k < y->n_axes ? y->axes[k].size : 0;
}

/* Bytes between rows: no two tensors have the same. */
static int64_t gap_of(const mlaf_host *h, int tensor) {
  const mlaf_arg_tensor *x = &h->table->args->tensors[tensor];
  const int64_t multiple = x->element == MLAF_ELEMENT_SIZED ? 16 / h->n[x->unit] : x->multiple;
  return x->n_axes > 0 && x->axes[0].stride_at ? 3 * multiple * (tensor + 1) : 0;
}

void mlaf_host_init(mlaf_host *h, const mlaf_point *p, const mlaf_table_case *c, int64_t count) {
  const mlaf_table *table = p->op->calls->table;
  const mlaf_args_table *a = table->args;
  const uint32_t size = (uint32_t)table->args_size, flags = c->flags | (c->in_place ? a->in_place_flag : 0);
  *h = (mlaf_host){.table = table, .point = *p, .options = c->options, .lengths = c->lengths, .n_lengths = c->n_lengths};
  for (int i = 0; i < MLAF_ARG_TENSORS; i++) h->t[i].lies_in = i;
  h->dtype = table->dtype_field < 0 ? 0 : p->v[table->dtype_field];
  put(h, 0, &size, sizeof size);
  put(h, a->flags_at, &flags, sizeof flags);
  put(h, a->count_at, &count, sizeof count);
  for (int i = 0; i < a->n_scalars; i++) put_scalar(h, &a->scalars[i], c->scalars ? c->scalars[i] : 0);
  if (table->hooks->arguments) table->hooks->arguments(h);
  a->sizes(p->v, h->args.bytes, h->n);
  put_addresses(h, c);
  a->sizes(p->v, h->args.bytes, h->n);
  list_outputs(h);
  for (int i = 0; i < a->n_tensors; i++)
    if (!h->t[i].absent && !(c->in_place && a->tensors[i].in_place >= 0))
      lay_out(h, &a->tensors[i], &h->t[i], c->gaps ? gap_of(h, i) : 0, c->straight >> i & 1);
  if (table->hooks->arrange) table->hooks->arrange(h);
  for (int i = 0; i < a->n_tensors; i++) put_strides(h, &a->tensors[i], &h->t[i]);
}

mlaf_status mlaf_host_alloc(mlaf_host *h, int tensor, int fill, mlaf_err *err) {
  const size_t bytes = mlaf_host_bytes(h, tensor);
  h->t[tensor].data = malloc(bytes);
  if (!h->t[tensor].data)
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu bytes of %s", bytes, h->table->args->tensors[tensor].name);
  memset(h->t[tensor].data, fill, bytes);
  return MLAF_OK;
}

mlaf_status mlaf_host_alloc_more(mlaf_host *h, mlaf_err *err) {
  const int64_t n = h->table->more ? h->n[h->table->more] : 0;
  if (n && !(h->more = calloc((size_t)n, sizeof *h->more)))
    return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %lld numbers", (long long)n);
  return MLAF_OK;
}

void mlaf_host_free(mlaf_host *h) {
  free(h->more);
  for (int i = 0; i < MLAF_ARG_TENSORS; i++) {
    free(h->t[i].data);
    free(h->t[i].mine);
    if (h->t[i].lies_in == i) free(h->t[i].pattern);
  }
}

static bool is_in_16(const mlaf_host *h, int tensor) {
  return mlaf_element_bytes(&h->table->args->tensors[tensor], h->n) == 2;
}

void mlaf_host_fill_angles(mlaf_host *h, int tensor, int cos, float by, mlaf_rng *rng) {
  const int64_t columns = mlaf_host_columns(h, cos), all = h->t[tensor].absent ? 0 : mlaf_host_rows(h, cos, 0) * columns;
  void *table = h->t[tensor].data;
  for (int64_t i = 0; i < all; i++) {
    const int64_t at = i / columns * h->t[cos].stride[0] + i % columns;
    const float x = mlaf_rng_normal(rng) / by;
    if (is_in_16(h, cos)) ((uint16_t *)table)[at] = mlaf_encode16(h->dtype, x);
    else ((float *)table)[at] = x;
  }
}

double mlaf_host_angle(const mlaf_host *h, int tensor, int cos, int64_t row, int64_t column) {
  const void *table = h->t[tensor].data;
  const int64_t at = row * h->t[cos].stride[0] + column;
  return is_in_16(h, cos) ? (double)mlaf_decode16(h->dtype, ((const uint16_t *)table)[at]) : (double)((const float *)table)[at];
}

void mlaf_host_deal(mlaf_host *h, int64_t n, mlaf_rng *rng) {
  for (int64_t i = 0; i < n; i++) { /* inside-out shuffle */
    const int64_t j = mlaf_rng_below(rng, (uint32_t)i + 1);
    h->more[i] = h->more[j];
    h->more[j] = i;
  }
}

void mlaf_host_deal_slots(mlaf_host *h, int slots, int64_t n, mlaf_rng *rng) {
  int64_t *const out = (void *)h->t[slots].data;
  mlaf_host_deal(h, n, rng);
  memcpy(out, h->more, (size_t)mlaf_host_rows(h, slots, 0) * sizeof *out);
  for (int64_t t = 0; t < mlaf_host_rows(h, slots, 0); t++) h->more[out[t]] = t;
}

void mlaf_host_break(mlaf_host *h, int tensor, mlaf_rng *rng) {
  const int64_t i = mlaf_rng_below(rng, (uint32_t)mlaf_host_rows(h, tensor, 0)),
                j = mlaf_rng_below(rng, (uint32_t)mlaf_host_rows(h, tensor, 1));
  ((uint16_t *)mlaf_host_at(h, tensor, i, j))[mlaf_rng_below(rng, (uint32_t)mlaf_host_columns(h, tensor))] = MLAF_NAN16;
}

/* --- rows --- */

static bool has_axis(const mlaf_host *h, int tensor, int size) {
  const mlaf_arg_tensor *x = &h->table->args->tensors[tensor];
  for (int k = 0; k < x->n_axes; k++)
    if (x->axes[k].size == size) return true;
  return false;
}

int64_t mlaf_host_row(const mlaf_host *h, int tensor, int64_t i, int64_t j) {
  const mlaf_arg_tensor *x = &h->table->args->tensors[tensor];
  int64_t at = 0;
  for (int k = 0; k < x->n_axes; k++) {
    if (x->axes[k].size == h->walk[0]) at += i * h->t[tensor].stride[k];
    else if (x->axes[k].size == h->walk[1]) at += j * h->t[tensor].stride[k];
    else return -1;
  }
  return at;
}

int64_t mlaf_host_place(const mlaf_host *h, int tensor, int64_t i, int64_t j) {
  if (h->table->hooks->place) return h->table->hooks->place(h, tensor, i, j);
  return j && !has_axis(h, tensor, h->walk[1]) ? -1 : mlaf_host_row(h, tensor, i, j);
}

mlaf_status mlaf_rows_open(const mlaf_host *h, mlaf_rows *r, mlaf_err *err) {
  size_t bytes = 0;
  for (int k = 0; k < h->n_outputs; k++) bytes += 2 * sizeof(double) * (size_t)mlaf_host_columns(h, h->outputs[k]);
  const size_t wanted = bytes;
  for (int i = 0; i < h->table->args->n_tensors; i++)
    if (h->t[i].pooled) bytes += 2 * (size_t)mlaf_host_columns(h, i);
  const size_t numbers = (bytes + 15) / 16 * 16, more = h->table->hooks->scratch ? h->table->hooks->scratch(h) : 0;
  *r = (mlaf_rows){.h = h, .memory = malloc(numbers + more)};
  r->scratch = (char *)r->memory + numbers;
  if (!r->memory) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a row of %zu bytes", bytes);
  double *at = r->memory;
  for (int k = 0; k < h->n_outputs; k++) {
    const int64_t columns = mlaf_host_columns(h, h->outputs[k]);
    r->want[k] = (mlaf_want_row){.value = at, .slack = at + columns};
    at += 2 * columns;
  }
  char *gathered = (char *)r->memory + wanted;
  for (int i = 0; i < h->table->args->n_tensors; i++)
    if (h->t[i].pooled) r->row[i] = gathered, gathered += 2 * mlaf_host_columns(h, i);
  return MLAF_OK;
}

void mlaf_rows_close(mlaf_rows *r) { free(r->memory); }

void mlaf_rows_read(const mlaf_rows *r, int tensor, int64_t at, int64_t n, void *out) {
  const size_t bytes = (size_t)mlaf_element_bytes(&r->h->table->args->tensors[tensor], r->h->n),
               block = MLAF_POOL_BLOCK * sizeof(uint16_t);
  const mlaf_host_tensor *t = &r->h->t[tensor];
  const size_t size = bytes * (size_t)n, from = (t->pooled ? r->h->set_bytes : t->per_set) * (size_t)r->nth + t->first
                                                + bytes * (size_t)at;
  if (t->pattern) mlaf_pattern_read((mlaf_pattern){t->pattern, MLAF_PATTERN}, from, size, out);
  else if (!t->pooled) memcpy(out, t->data + bytes * (size_t)at, size);
  for (size_t i = 0, step; t->pooled && i < size; i += step) {
    const size_t here = (from + i) % block;
    step = size - i < block - here ? size - i : block - here;
    memcpy((char *)out + i, (const char *)r->h->pool + here, step);
  }
}

void mlaf_rows_seek(mlaf_rows *r, int64_t i, int64_t j) {
  const mlaf_args_table *a = r->h->table->args;
  r->i = i, r->j = j;
  for (int k = 0; k < a->n_tensors; k++) {
    const int64_t at = mlaf_host_row(r->h, k, i, j);
    if (r->h->t[k].pooled && at >= 0) mlaf_rows_read(r, k, at, mlaf_host_columns(r->h, k), (void *)(uintptr_t)r->row[k]);
    else if (r->h->t[k].pooled) continue;
    else r->row[k] = at < 0 || !r->h->t[k].data ? NULL : r->h->t[k].data + at * mlaf_element_bytes(&a->tensors[k], r->h->n);
  }
  for (int k = 0; k < r->h->n_outputs; k++) {
    r->want[k].bits = NULL;
    memset(r->want[k].slack, 0, (size_t)mlaf_host_columns(r->h, r->h->outputs[k]) * sizeof *r->want[k].slack);
  }
  r->h->table->hooks->reference(r);
}

/* --- beside the reference --- */

/* The error of an fp32 number as a multiple of its slack; above 1 is wrong. */
static double ratio(double got, double want, double slack) {
  if (isnan(want)) return isnan(got) ? 0 : INFINITY;
  if (isinf(want)) return got == want ? 0 : INFINITY;
  const double off = fabs(got - want) / slack;
  return isnan(off) ? INFINITY : off;
}

/* An element of a row; of codes of 8 bits the code. */
static double number_at(const mlaf_host *h, const mlaf_arg_tensor *x, const void *row, int64_t c) {
  if (x->element == MLAF_ELEMENT_16) return (double)mlaf_decode16(h->dtype, ((const uint16_t *)row)[c]);
  if (mlaf_element_bytes(x, h->n) == 1) return (double)((const uint8_t *)row)[c];
  return (double)((const float *)row)[c];
}

/* The error of a column, and its value. */
static double off_at(const mlaf_rows *r, int k, const void *got, int64_t c, double *is) {
  const mlaf_arg_tensor *x = &r->h->table->args->tensors[r->h->outputs[k]];
  const mlaf_want_row *w = &r->want[k];
  const size_t bytes = (size_t)mlaf_element_bytes(x, r->h->n), at = (size_t)c * bytes;
  *is = number_at(r->h, x, got, c);
  if (w->bits) return memcmp((const char *)got + at, (const char *)w->bits + at, bytes) ? INFINITY : 0;
  if (x->element == MLAF_ELEMENT_16) return mlaf_off16(r->h->dtype, ((const uint16_t *)got)[c], w->value[c], w->slack[c]);
  return ratio(*is, w->value[c], w->slack[c]);
}

/* True where the reference has a number, be it to the bit. */
static bool is_number(const mlaf_rows *r, int k, int64_t c) {
  const mlaf_want_row *w = &r->want[k];
  return !isnan(w->bits ? number_at(r->h, &r->h->table->args->tensors[r->h->outputs[k]], w->bits, c) : w->value[c]);
}

double mlaf_rows_off(mlaf_rows *r, int k, const void *got, int *column, double *is) {
  double worst = r->h->table->hooks->off ? r->h->table->hooks->off(r, k, got, column, is) : -1, value;
  if (worst >= 0) return worst;
  for (int64_t c = 0; c < mlaf_host_columns(r->h, r->h->outputs[k]); c++) {
    const double off = off_at(r, k, got, c, &value);
    if (off > worst) worst = off, *column = (int)c, *is = value;
    r->compared += is_number(r, k, c);
  }
  return worst;
}

double mlaf_rows_bound(const mlaf_host *h, int tensor) {
  if (h->table->args->tensors[tensor].element == MLAF_ELEMENT_F32) return 1;
  return mlaf_host_bound(h) * (h->table->relative ? 2 : 1);
}

void mlaf_rows_name(const mlaf_host *h, int k, int64_t i, int64_t j, char *out, size_t size) {
  const mlaf_arg_tensor *y = &h->table->args->tensors[h->outputs[k]];
  if (!has_axis(h, h->outputs[k], h->walk[0])) snprintf(out, size, "token %lld", (long long)i);
  else if (y->n_axes > 1) snprintf(out, size, "%s %lld, %s %lld", y->axes[0].name, (long long)i, y->axes[1].name, (long long)j);
  else snprintf(out, size, "%s %lld", y->axes[0].name, (long long)i);
}

void mlaf_rows_fault(const mlaf_rows *r, int k, int column, double is, char *out, size_t size) {
  const mlaf_arg_tensor *x = &r->h->table->args->tensors[r->h->outputs[k]];
  const mlaf_want_row *w = &r->want[k];
  const double kept = w->bits ? number_at(r->h, x, w->bits, column) : 0;
  mlaf_snprintf(out, size, "%s column %d is %.9g, reference %.9g%s", x->name, column, is, w->bits ? kept : w->value[column],
                w->bits ? ", to the bit" : "");
}
