/* Every operation whose arguments are a table: what a caller may pass is taken and becomes the kernel's block, each fault is
 * refused by the argument's name, no argument is too wild to be looked at, and verification cases find what is wrong in an
 * output. */
#include "cmocka_all.h"
#include "op/table_calls.h"
#include "random_args.h"

enum { ROUNDS = 4000 };

typedef struct bench {
  const mlaf_op *op;
  const mlaf_args_table *t;
  mlaf_bound b;
  mlaf_whole_args a;
  int64_t n[MLAF_ARG_SIZES];
} bench;

static void put(bench *z, size_t at, const void *value, size_t size) { memcpy(z->a.bytes + at, value, size); }
static void put_64(bench *z, size_t at, int64_t value) { put(z, at, &value, sizeof value); }
static int64_t get_64(const bench *z, size_t at) {
  int64_t value;
  memcpy(&value, z->a.bytes + at, sizeof value);
  return value;
}
static void put_flags(bench *z, uint32_t flags) { put(z, z->t->flags_at, &flags, sizeof flags); }

static void put_scalar(bench *z, const mlaf_arg_scalar *s, double real, int64_t whole) {
  const float f = (float)real;
  const int32_t i = (int32_t)whole;
  if (s->kind == MLAF_NUMBER_F32) put(z, s->at, &f, sizeof f);
  else if (s->kind == MLAF_NUMBER_I32) put(z, s->at, &i, sizeof i);
  else put_64(z, s->at, whole);
}

/* --- good ones --- */

static void draw_shape(bench *z) {
  mlaf_point *p = &z->b.point;
  mlaf_point_init(z->op, p);
  for (int i = 0; i < z->op->n_fields; i++) {
    const mlaf_field *f = &z->op->fields[i];
    const int64_t steps = (f->max - f->min) / f->multiple;
    p->v[i] = f->words ? (int32_t)next((uint64_t)f->max + 1)
                       : f->min + f->multiple * (int32_t)next(1 + (uint64_t)(steps < 40 ? steps : 40));
  }
  z->b.knob = 1;
  z->b.stage[0] = (mlaf_stage){.threads = 64u << next(3), .rows_per_wg = 1 + (uint32_t)next(64)};
}

static int64_t up_to(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/* Strides without overlap, the second axis inside; or none. */
static void draw_strides(bench *z, const mlaf_arg_tensor *y) {
  const bool any = y->layout == MLAF_LAYOUT_ANY, none = next(3) == 0;
  int64_t step = any ? 1 + (int64_t)next(3) : up_to(z->n[y->columns], y->multiple) + y->multiple * (int64_t)next(5);
  for (int k = y->n_axes; k-- > 0;) {
    if (y->axes[k].stride_at) put_64(z, y->axes[k].stride_at, none ? 0 : step);
    step *= z->n[y->axes[k].size];
  }
}

static void draw_good(bench *z) {
  const mlaf_args_table *t = z->t;
  uint32_t flags = (uint32_t)next(1 + (uint64_t)t->flags) & t->flags;
  const bool place = next(3) == 0;
  memset(&z->a, 0, sizeof z->a);
  put_flags(z, t->in_place_flag ? (flags & ~t->in_place_flag) | (place ? t->in_place_flag : 0) : flags);
  put_64(z, t->count_at, 1 + (int64_t)next(5000));
  for (int i = 0; i < t->n_scalars; i++) {
    const mlaf_arg_scalar *s = &t->scalars[i];
    const int64_t whole = s->kind == MLAF_NUMBER_F32 ? 0 : s->least + s->multiple * (int64_t)next(10000);
    const double real = s->within * ((double)next(2001) / 1000 - 1);
    put_scalar(z, s, real < (double)s->least ? (double)s->least : real, whole);
  }
  t->sizes(z->b.point.v, z->a.bytes, z->n);
  for (int i = 0; i < t->n_tensors; i++) {
    const mlaf_arg_tensor *y = &t->tensors[i];
    if ((place && y->in_place >= 0) || (y->optional && next(3) == 0)) continue;
    put_64(z, y->at, (int64_t)(4096 + 65536 * (1 + i) + 16 * (int64_t)next(4096)));
    draw_strides(z, y);
  }
}

static mlaf_status check(const bench *z, mlaf_err *err) {
  *err = (mlaf_err){MLAF_OK, ""};
  return z->op->calls->check_args(&z->b, 1, z->a.bytes, err);
}

/* --- what becomes of them --- */

static bool is_in_place(const bench *z, const mlaf_arg_tensor *y) {
  uint32_t flags;
  memcpy(&flags, z->a.bytes + z->t->flags_at, sizeof flags);
  return y->in_place >= 0 && (z->t->in_place_flag ? flags & z->t->in_place_flag : !get_64(z, y->at));
}

/* A stride as given, of what is not NULL; else the product of what lies inside, written out anew. */
static int64_t stride_of(const bench *z, const mlaf_arg_tensor *y, int axis) {
  int64_t given[MLAF_ARG_AXES] = {0}, dense = y->layout == MLAF_LAYOUT_ANY ? 1 : z->n[y->columns];
  for (int k = 0; k < y->n_axes; k++) given[k] = y->axes[k].stride_at && get_64(z, y->at) ? get_64(z, y->axes[k].stride_at) : 0;
  if (y->layout == MLAF_LAYOUT_ANY ? given[0] || given[1] : given[axis]) return given[axis];
  for (int k = 0; k < y->n_axes; k++)
    if (y->layout == MLAF_LAYOUT_ANY ? k < axis : k > axis) dense *= z->n[y->axes[k].size];
  return dense;
}

static const int64_t *prepared(const bench *z, mlaf_prepared *p) {
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(z->op->calls->prepare(&z->b, 1, z->a.bytes, p, &err), MLAF_OK);
  assert_int_equal(p->n, 1);
  assert_int_equal(p->launches[0].grid[0], (z->n[z->t->rows] + z->b.stage[0].rows_per_wg - 1) / z->b.stage[0].rows_per_wg);
  assert_int_equal(p->launches[0].args_size, z->t->block_bytes);
  return (const void *)p->parameters;
}

/* An address or a stride may be the largest there is: it wraps. */
static int64_t further(int64_t from, int64_t by) { return (int64_t)((uint64_t)from + (uint64_t)by); }

/* Words that differ by so much, once at least; no others differ. */
static void differ(const bench *z, const int64_t *was, const int64_t *is, int64_t by, int64_t or_by, const char *what) {
  int n = 0;
  for (int i = 0; i < z->t->block_bytes / 8; i++) {
    if (is[i] == was[i]) continue;
    if (is[i] != further(was[i], by) && is[i] != further(was[i], or_by)) fail_msg("%s, %s: word %d is off", z->op->name, what, i);
    n++;
  }
  if (!n) fail_msg("%s: the block has no %s", z->op->name, what);
}

/* The block has every address and every stride: it changes as these do, and in nothing else. Strides of 0 are dense ones. */
static void check_block(const bench *z) {
  static mlaf_prepared p, q;
  const int64_t *was = prepared(z, &p);
  bench other = *z;
  for (int i = 0; i < z->t->n_tensors; i++) {
    const mlaf_arg_tensor *y = &z->t->tensors[i];
    const int64_t bytes = mlaf_element_bytes(y, z->n);
    if (!get_64(z, y->at)) continue;
    for (int k = 0; k < y->n_axes; k++)
      if (y->axes[k].stride_at) put_64(&other, y->axes[k].stride_at, stride_of(z, y, k));
    assert_memory_equal(prepared(&other, &q), was, z->t->block_bytes);
    put_64(&other, y->at, further(get_64(z, y->at), 65536));
    differ(z, was, prepared(&other, &q), 65536, 65536, y->name);
    put_64(&other, y->at, get_64(z, y->at));
    for (int k = 0; k < y->n_axes; k++) {
      if (!y->axes[k].stride_at) continue;
      put_64(&other, y->axes[k].stride_at, further(stride_of(z, y, k), y->multiple));
      differ(z, was, prepared(&other, &q), y->multiple, y->multiple * bytes, y->name);
      put_64(&other, y->axes[k].stride_at, stride_of(z, y, k));
    }
  }
}

/* --- faults: each changes a good one, and says what the message must hold; false: the table has nothing to break so --- */

static bool wrong_flags(bench *z, char *says) {
  put_flags(z, z->t->flags + 1);
  snprintf(says, 80, "flags is");
  return true;
}

static bool wrong_count(bench *z, char *says) {
  put_64(z, z->t->count_at, next(2) ? -1 - (int64_t)next(5) : (INT64_C(1) << 31) + (int64_t)next(5));
  snprintf(says, 80, "%s is", z->t->count_name);
  return true;
}

static bool too_many(bench *z, char *says) {
  for (int i = 0; i < z->t->n_tensors; i++)
    for (int k = 0; k < z->t->tensors[i].n_axes; k++)
      if (z->t->tensors[i].axes[k].stride_at) put_64(z, z->t->tensors[i].axes[k].stride_at, 0);
  put_64(z, z->t->count_at, INT32_MAX);
  z->b.stage[0].rows_per_wg = 1;
  snprintf(says, 80, "%s a launch has blocks for", z->t->too_many);
  return true;
}

static bool wrong_scalar(bench *z, char *says) {
  if (!z->t->n_scalars) return false;
  const mlaf_arg_scalar *s = &z->t->scalars[next(z->t->n_scalars)];
  int64_t whole = 0;
  if (s->kind != MLAF_NUMBER_F32) {
    const int64_t all[] = {s->least - 1, s->most == INT64_MAX ? s->least - 1 : s->most + s->multiple,
                           s->multiple > 1 ? s->least + 1 : s->least - 1};
    whole = all[next(3)];
  }
  put_scalar(z, s, next(2) ? 1.01 * s->within : NAN, whole);
  snprintf(says, 80, "%s is", s->name);
  return true;
}

static const mlaf_arg_tensor *some_tensor(const bench *z) { return &z->t->tensors[next(z->t->n_tensors)]; }

static bool wrong_address(bench *z, char *says) {
  const mlaf_arg_tensor *y = some_tensor(z);
  if (!get_64(z, y->at)) return false;
  put_64(z, y->at, y->optional || y->in_place >= 0 || next(2) ? get_64(z, y->at) + 1 + (int64_t)next(y->align - 1u) : 0);
  snprintf(says, 80, "%s is", y->name);
  return y->align > 1;
}

static bool wrong_stride(bench *z, char *says) {
  const mlaf_arg_tensor *y = some_tensor(z);
  const mlaf_arg_axis *a = &y->axes[next(2)];
  if (!get_64(z, y->at) || !y->n_axes || a >= y->axes + y->n_axes || !a->stride_at) return false;
  const int64_t columns = z->n[y->columns], most = INT64_C(1) << 40;
  if (y->layout == MLAF_LAYOUT_ANY) put_64(z, a->stride_at, next(2) ? -1 : most + 1);
  else
    put_64(z, a->stride_at,
           columns > 1 && next(2)        ? columns - 1
           : next(2) || y->multiple == 1 ? most + y->multiple
                                         : up_to(columns, 2) + 1);
  snprintf(says, 80, "%s_%s_stride", y->name, a->name);
  return true;
}

static bool rows_meet(bench *z, char *says) {
  const mlaf_arg_tensor *y = some_tensor(z);
  if (y->n_axes < 2 || z->n[y->axes[0].size] < 2 || z->n[y->axes[1].size] < 2) return false;
  if (y->layout == MLAF_LAYOUT_ANY) {
    if (!get_64(z, y->at)) return false;
    put_64(z, y->axes[0].stride_at, 0), put_64(z, y->axes[1].stride_at, 1);
    snprintf(says, 80, "%s_%s_stride", y->name, y->axes[0].name);
    return true;
  }
  const mlaf_arg_tensor *to = is_in_place(z, y) ? &z->t->tensors[y->in_place] : y;
  const int64_t row = up_to(z->n[y->columns], y->multiple);
  if (!y->rows_apart) return false;
  for (int k = 0; k < 2; k++) put_64(z, to->axes[k].stride_at, row);
  snprintf(says, 80, "%s has rows that overlap", to->name);
  return true;
}

static bool same_memory(bench *z, char *says) {
  const mlaf_arg_tensor *y = some_tensor(z);
  if (y->unlike < 0) return false;
  const mlaf_arg_tensor *own = &z->t->tensors[y->unlike];
  const int64_t i = own->n_axes > y->n_axes ? (int64_t)next((uint32_t)z->n[own->axes[0].size]) : 0;
  put_64(z, y->at, get_64(z, own->at) + i * stride_of(z, own, 0) * mlaf_element_bytes(own, z->n));
  if (own->n_axes > y->n_axes) snprintf(says, 80, "%s is %s %lld of %s", y->name, own->axes[0].name, (long long)i, own->name);
  else snprintf(says, 80, "%s is %s: %s", y->name, own->name, y->not_itself);
  return true;
}

static bool other_strides(bench *z, char *says) {
  const mlaf_arg_tensor *y = some_tensor(z);
  const int k = (int)next(2);
  if (y->over[k] < 0 || is_in_place(z, y) || !get_64(z, y->at)) return false;
  const mlaf_arg_tensor *o = &z->t->tensors[y->over[k]];
  put_64(z, y->at, get_64(z, o->at));
  for (int i = 0; i < y->n_axes; i++) put_64(z, y->axes[i].stride_at, 2 * stride_of(z, o, i));
  snprintf(says, 80, "%s", y->over_text[k]);
  return true;
}

static bool beside_place(bench *z, char *says) {
  const mlaf_arg_tensor *y = some_tensor(z);
  if (!is_in_place(z, y)) return false;
  if (z->t->in_place_flag) put_64(z, y->at, 4096);
  else if (y->n_axes && y->axes[0].stride_at) put_64(z, y->axes[0].stride_at, up_to(z->n[y->columns], y->multiple));
  else return false;
  snprintf(says, 80, "%s", z->t->in_place_flag ? z->t->in_place_fault : "in place");
  return true;
}

static bool (*const faults[])(bench *, char *) = {wrong_flags, wrong_count, too_many, wrong_scalar, wrong_address, wrong_stride,
                                                  rows_meet, same_memory, other_strides, beside_place};
enum { FAULTS = sizeof faults / sizeof *faults };

static void try_one(const mlaf_op *op, int tried[FAULTS]) {
  bench z = {.op = op, .t = op->calls->arguments};
  mlaf_err err;
  char says[80] = "";
  draw_shape(&z);
  draw_good(&z);
  if (check(&z, &err)) fail_msg("%s refuses good arguments: %s", op->name, err.text);
  check_block(&z);
  const int fault = (int)next(FAULTS);
  if (!faults[fault](&z, says)) return;
  tried[fault]++;
  if (check(&z, &err) != MLAF_E_ARG || !strstr(err.text, says))
    fail_msg("%s, fault %d: '%s' where '%s' is wanted", op->name, fault, err.text, says);
}

/* Operations whose table says all: of others the arguments drawn here would have to be related to each other. */
static const mlaf_op *table_op(int *at) {
  while (mlaf_ops_all[*at] && (!mlaf_ops_all[*at]->calls->arguments || mlaf_ops_all[*at]->calls->arguments->related)) ++*at;
  return mlaf_ops_all[*at] ? mlaf_ops_all[(*at)++] : NULL;
}

TEST(good_is_taken_and_faults_are_named) {
  int ops = 0, tried[FAULTS] = {0};
  const mlaf_op *op;
  for (int at = 0; (op = table_op(&at)); ops++)
    for (int i = 0; i < ROUNDS; i++) try_one(op, tried);
  assert_true(ops >= 3);
  for (int i = 0; i < FAULTS; i++)
    if (tried[i] < 20) fail_msg("fault %d was tried %d times", i, tried[i]);
}

/* Builds with -fsanitize=undefined see whether a sum or product overflows before it is refused. */
TEST(wild_numbers_are_survived) {
  const mlaf_op *op;
  int refused = 0;
  for (int at = 0; (op = table_op(&at));)
    for (int i = 0; i < ROUNDS; i++) {
      bench z = {.op = op, .t = op->calls->arguments};
      mlaf_err err;
      draw_shape(&z);
      draw_good(&z);
      for (size_t word = 1 + next(2); word < op->calls->args_size / 8; word += 1 + next(6))
        put_64(&z, 8 * word, or_extreme((int64_t)next(100) ? get_64(&z, 8 * word) : INT64_MAX));
      if (check(&z, &err)) refused++;
      else if (get_64(&z, z.t->count_at)) {
        z.t->sizes(z.b.point.v, z.a.bytes, z.n);
        check_block(&z);
      }
    }
  assert_true(refused > ROUNDS / 50);
}

/* --- cases --- */

/* Outputs as the reference wants them, over what was there before. */
static void answer(const mlaf_made_case *c, void **outputs) {
  const int n = c->h.n_outputs, *list = c->h.outputs;
  mlaf_rows r;
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_rows_open(&c->h, &r, &err), MLAF_OK);
  for (int64_t i = 0; i < mlaf_host_rows(&c->h, list[0], 0); i++)
    for (int64_t j = 0; j < mlaf_host_rows(&c->h, list[0], 1); j++) {
      mlaf_rows_seek(&r, i, j);
      for (int k = 0; k < n; k++) {
        const mlaf_arg_tensor *y = &c->h.table->args->tensors[list[k]];
        const int at = c->spec->in_place && y->in_place >= 0 ? y->in_place : list[k];
        const int64_t row = i * c->h.t[at].stride[0] + j * c->h.t[at].stride[1];
        for (int64_t q = 0; outputs[at] && q < mlaf_host_columns(&c->h, list[k]); q++)
          if (y->element != MLAF_ELEMENT_16) ((float *)outputs[at])[row + q] = (float)r.want[k].value[q];
          else ((uint16_t *)outputs[at])[row + q] = r.want[k].bits ? ((const uint16_t *)r.want[k].bits)[q]
                                                                   : mlaf_encode16(c->h.dtype, (float)r.want[k].value[q]);
      }
    }
  mlaf_rows_close(&r);
}

static bool compared(const mlaf_op *op, const mlaf_case *c, void **outputs, const char *says) {
  mlaf_verify_result v = {.detail = ""};
  const bool good = op->calls->compare(c, outputs, &v);
  if (good ? v.detail[0] : !v.detail[0] || !strstr(v.detail, says)) fail_msg("%s: '%s'", op->name, v.detail);
  return good;
}

/* A byte that a launch may (mine) or may not write. */
static int64_t some_byte(const mlaf_made_case *c, int at, bool mine) {
  const mlaf_host_tensor *t = &c->h.t[at];
  const int64_t first = (int64_t)next((uint64_t)t->count), bytes = mlaf_element_bytes(&c->h.table->args->tensors[at], c->h.n);
  for (int64_t i = 0; i < t->count; i++)
    if (t->mine[(first + i) % t->count] == mine) return (first + i) % t->count * bytes + bytes - 1;
  return -1;
}

static void spoil(const mlaf_op *op, mlaf_case *c, const mlaf_case_buffer *b, void **outputs, int at) {
  mlaf_verify_result v = {.detail = ""};
  void *other[MLAF_CASE_BUFFERS];
  memcpy(other, outputs, sizeof other);
  for (int mine = 0; mine < 2; mine++) {
    const int64_t byte = b->input ? some_byte((mlaf_made_case *)c, at, mine) : -1;
    if (byte < 0) continue;
    memcpy(other[at] = malloc(b->bytes), outputs[at], b->bytes);
    ((unsigned char *)other[at])[byte] ^= 0x41; /* a sign, or a large power of two */
    assert_false(compared(op, c, other, mine ? "column" : "was written"));
    if (mine && (op->calls->same(c, outputs, other, &v) || !strstr(v.detail, "two runs differ")))
      fail_msg("%s: '%s'", op->name, v.detail);
    free(other[at]);
  }
}

/* A case with outputs that nothing wrote yet, all inputs NaN if `blank`. */
typedef struct tried {
  bench z;
  mlaf_case *c;
  int n;
  mlaf_case_buffer buffers[MLAF_CASE_BUFFERS];
  void *outputs[MLAF_CASE_BUFFERS];
} tried;

static tried begin(const mlaf_op *op, const mlaf_point *p, int index, bool blank) {
  mlaf_err err = {MLAF_OK, ""};
  tried t = {.z = {.op = op, .t = op->calls->arguments,
                   .b = {.point = *p, .knob = 1, .stage = {{.threads = 64, .rows_per_wg = 3}}}}};
  assert_int_equal(op->calls->make_case(p, index, 7, MLAF_INJECT_NONE, &t.c, &err), MLAF_OK);
  const mlaf_host *h = &((mlaf_made_case *)t.c)->h;
  for (int i = 0; blank && i < h->table->args->n_tensors; i++)
    if (!h->table->args->tensors[i].out && h->t[i].data) memset(h->t[i].data, 0xff, mlaf_host_bytes(h, i));
  t.n = op->calls->case_buffers(t.c, &t.z.b, 1, t.z.a.bytes, t.buffers);
  for (int i = 0; i < t.n; i++) {
    const mlaf_case_buffer *b = &t.buffers[i];
    if (b->use == MLAF_USE_NONE) continue;
    put_64(&t.z, b->arg, 4096 * (i + 1));
    if (b->use == MLAF_USE_INPUT) continue;
    t.outputs[i] = malloc(b->bytes);
    if (b->input) memcpy(t.outputs[i], b->input, b->bytes);
    else memset(t.outputs[i], 0x5a, b->bytes);
  }
  return t;
}

static void end(tried *t) {
  for (int i = 0; i < t->n; i++) free(t->outputs[i]);
  t->z.op->calls->free_case(t->c);
}

static void try_case(const mlaf_op *op, const mlaf_point *p, int index) {
  mlaf_err err = {MLAF_OK, ""};
  mlaf_verify_result v = {.detail = ""};
  tried t = begin(op, p, index, false);
  if (check(&t.z, &err)) fail_msg("%s, case %d: %s", op->name, index, err.text);
  assert_false(compared(op, t.c, t.outputs, "column")); /* nothing was written */
  answer((mlaf_made_case *)t.c, t.outputs);
  assert_true(compared(op, t.c, t.outputs, "") && op->calls->same(t.c, t.outputs, t.outputs, &v));
  for (int i = 0; i < t.n; i++)
    if (t.outputs[i]) spoil(op, t.c, &t.buffers[i], t.outputs, i);
  end(&t);
}

/* Inputs of NaN alone have answers of NaN alone: they agree, and nothing was compared. */
static int64_t compared_of(const mlaf_op *op, const mlaf_point *p, int index, bool blank) {
  mlaf_verify_result v = {.detail = ""};
  tried t = begin(op, p, index, blank);
  answer((mlaf_made_case *)t.c, t.outputs);
  if (!op->calls->compare(t.c, t.outputs, &v)) fail_msg("%s: %s", op->name, v.detail);
  end(&t);
  return v.compared;
}

TEST(numbers_that_are_compared_are_counted) {
  const mlaf_op *op;
  for (int at = 0; (op = table_op(&at));)
    for (int i = 0; i < op->calls->n_cases; i++) {
      bench z = {.op = op, .t = op->calls->arguments};
      draw_shape(&z);
      if (compared_of(op, &z.b.point, i, false) <= 0) fail_msg("%s, case %d: nothing was compared", op->name, i);
      if (compared_of(op, &z.b.point, i, true)) fail_msg("%s, case %d: NaN was counted", op->name, i);
    }
}

TEST(cases_find_what_is_wrong) {
  const mlaf_op *op;
  for (int at = 0; (op = table_op(&at));)
    for (int i = 0; i < 6 * op->calls->n_cases; i++) {
      bench z = {.op = op, .t = op->calls->arguments};
      draw_shape(&z);
      try_case(op, &z.b.point, i % op->calls->n_cases);
    }
}

TESTS(NULL, NULL)
