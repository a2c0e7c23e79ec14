/* An operation that no folder has, with a kernel of its own: y = -x in bf16, the sum of each row of x, and a mark at every even
 * row of a tensor whose odd rows must stay. So that bench, soak and verify are seen to need no operation that they know. */
#pragma once

#include "op/calls.h"
#include "op/numeric.h"

enum { TOY_WIDTH, TOY_ROWS, TOY_THREADS = 64 };
/* Faults of a launch: none, the last row of y is not written, the last element of row 5 has the wrong sign, odd rows
 * are marked. */
typedef enum toy_bug { TOY_RIGHT, TOY_UNWRITTEN, TOY_SIGN, TOY_MARKS } toy_bug;
static toy_bug toy_has;                  /* the bug of ... */
static bool toy_blank;                   /* x of the second case is NaN throughout */
static int64_t toy_launches, toy_wrong;  /* ... launch number toy_wrong of all so far; 0: of every one */

typedef struct toy_args {
  uint32_t struct_size, rows;
  const void *x;
  void *y, *sums, *marks, *workspace;
  size_t workspace_size;
} toy_args;

typedef struct toy_parameters {
  const void *x;
  void *y, *sums, *marks, *scratch;
  uint32_t width, rows, bug, reserved;
} toy_parameters;

static const char toy_source[] =
  "struct parameters { const unsigned short* x; unsigned short* y; float* sums; int* marks; float* scratch;\n"
  "                    unsigned width, rows, bug, reserved; };\n"
  "extern \"C\" __global__ void __launch_bounds__(64) toy(parameters a) {\n"
  "  const unsigned row = blockIdx.x * 64 + threadIdx.x;\n"
  "  if (row >= a.rows) return;\n"
  "  float sum = 0;\n"
  "  for (unsigned c = 0; c < a.width; c++) {\n"
  "    const unsigned v = a.x[row * a.width + c];\n"
  "    sum += __builtin_bit_cast(float, v << 16);\n"
  "    if (a.bug == 1 && row == a.rows - 1) continue;\n"
  "    a.y[row * a.width + c] = (unsigned short)(a.bug == 2 && row == 5 && c == a.width - 1 ? v : v ^ 0x8000u);\n"
  "  }\n"
  "  a.scratch[row] = sum;\n"
  "  a.sums[row] = a.scratch[row];\n"
  "  if (row % 2 == 0 || a.bug == 3) a.marks[row] = (int)row;\n"
  "}\n";

/* --- a launch --- */
static uint32_t toy_width(const mlaf_point *p) { return (uint32_t)p->v[TOY_WIDTH]; }
static uint32_t toy_parameter_bytes(int stage, const mlaf_kernel_launch *launch) { return sizeof(toy_parameters); }
static mlaf_status toy_check_stages(const mlaf_bound *b, mlaf_err *err) { return MLAF_OK; }
static size_t toy_workspace(const mlaf_bound *b, uint32_t knob, int64_t rows) { return (size_t)rows * sizeof(float); }
static mlaf_work toy_work(const mlaf_point *p) { return (mlaf_work){.bytes = 4.0 * p->v[TOY_ROWS] * p->v[TOY_WIDTH]}; }
static double toy_bound(const mlaf_point *p) { return 1e-5; }

static mlaf_status toy_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err) {
  const toy_args *a = args;
  const bool room = a->workspace && a->workspace_size >= a->rows * sizeof(float);
  if (a->struct_size == sizeof *a && a->x && a->y && a->sums && a->marks && room) return MLAF_OK;
  return mlaf_fail(err, MLAF_E_ARG, "an argument is missing");
}

static mlaf_status toy_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err) {
  const toy_args *a = args;
  const bool wrong = ++toy_launches == toy_wrong || !toy_wrong;
  toy_parameters *p = (void *)out->parameters;
  *p = (toy_parameters){a->x, a->y, a->sums, a->marks, a->workspace, toy_width(&b->point), a->rows, wrong ? toy_has : 0, 0};
  out->launches[0] = (mlaf_launch){.fn = b->stage[0].fn, .grid = {(a->rows + TOY_THREADS - 1) / TOY_THREADS, 1, 1},
                                   .block = {TOY_THREADS, 1, 1}, .args = p, .args_size = sizeof *p};
  out->n = 1;
  return MLAF_OK;
}

/* --- one row against fp64: off in y (0: right) and in the sum --- */
static void toy_row(const uint16_t *x, uint32_t width, const uint16_t *y, float sum, double *y_error, double *sum_error) {
  double off = 0, all = 0, want = 0, size = 0;
  for (uint32_t c = 0; c < width; c++) {
    const double v = mlaf_bf16_decode(x[c]), d = (double)mlaf_bf16_decode(y[c]) + v;
    off += d * d;
    all += v * v;
    want += v;
    size += fabs(v);
  }
  *y_error = isnan(off) ? INFINITY : sqrt(off / all);
  *sum_error = fabs((double)sum - want) / size;
}

/* --- verification: rows of x by seed, marks that say -1 before --- */
typedef struct toy_case {
  mlaf_case head; /* first */
  uint32_t width, rows;
  uint16_t *x;
  int32_t *marks;
} toy_case;
enum { TOY_AT_X, TOY_AT_Y, TOY_AT_SUMS, TOY_AT_MARKS, TOY_AT_WORKSPACE, TOY_BUFFERS };

static mlaf_status toy_make_case(const mlaf_point *p, int index, uint64_t seed, mlaf_inject inject, mlaf_case **out,
                                 mlaf_err *err) {
  toy_case *c = calloc(1, sizeof *c);
  mlaf_rng rng = {seed + (uint64_t)index};
  *c = (toy_case){.head = {.name = index ? "many" : "few"}, .width = toy_width(p), .rows = index ? 70 : 7};
  c->x = malloc(c->rows * c->width * sizeof *c->x);
  c->marks = malloc(c->rows * sizeof *c->marks);
  for (uint32_t i = 0; i < c->rows * c->width; i++) c->x[i] = mlaf_bf16_encode(mlaf_rng_normal(&rng));
  if (toy_blank && index) memset(c->x, 0xff, c->rows * c->width * sizeof *c->x);
  memset(c->marks, 0xff, c->rows * sizeof *c->marks);
  *out = &c->head;
  return MLAF_OK;
}

static void toy_free_case(mlaf_case *c) {
  free(((toy_case *)c)->x);
  free(((toy_case *)c)->marks);
  free(c);
}

static int toy_case_buffers(const mlaf_case *head, const mlaf_bound *b, uint32_t knob, void *args,
                            mlaf_case_buffer out[MLAF_CASE_BUFFERS]) {
  const toy_case *c = (const toy_case *)head;
  const size_t numbers = c->rows * sizeof(float);
  *(toy_args *)args = (toy_args){.struct_size = sizeof(toy_args), .rows = c->rows, .workspace_size = numbers};
  const mlaf_case_buffer all[TOY_BUFFERS] = {
      [TOY_AT_X] = {"x", MLAF_USE_INPUT, c->rows * c->width * 2, offsetof(toy_args, x), c->x},
      [TOY_AT_Y] = {"y", MLAF_USE_OUTPUT, c->rows * c->width * 2, offsetof(toy_args, y), NULL},
      [TOY_AT_SUMS] = {"sums", MLAF_USE_OUTPUT, numbers, offsetof(toy_args, sums), NULL},
      [TOY_AT_MARKS] = {"marks", MLAF_USE_INOUT, numbers, offsetof(toy_args, marks), c->marks},
      [TOY_AT_WORKSPACE] = {"workspace", MLAF_USE_WORKSPACE, numbers, offsetof(toy_args, workspace), NULL},
  };
  memcpy(out, all, sizeof all);
  return TOY_BUFFERS;
}

static bool toy_compare(const mlaf_case *head, void *const *outputs, mlaf_verify_result *out) {
  const toy_case *c = (const toy_case *)head;
  out->compared = 0;
  for (uint32_t r = 0; r < c->rows; r++) {
    const uint16_t *y = (const uint16_t *)outputs[TOY_AT_Y] + r * c->width;
    const int32_t mark = ((const int32_t *)outputs[TOY_AT_MARKS])[r];
    double y_error, sum_error;
    toy_row(c->x + r * c->width, c->width, y, ((const float *)outputs[TOY_AT_SUMS])[r], &y_error, &sum_error);
    out->rows++;
    if (isnan(mlaf_bf16_decode(c->x[r * c->width]))) continue; /* of a row of NaN nothing else is wanted here */
    out->compared++;
    if (sum_error > out->error) out->error = sum_error;
    if (y_error != 0 || !(sum_error < 1e-5))
      snprintf(out->detail, sizeof out->detail, "case %s: row %u is wrong", head->name, r);
    else if (mark != (r % 2 ? -1 : (int32_t)r))
      snprintf(out->detail, sizeof out->detail, "case %s: mark %u is %d", head->name, r, mark);
    if (out->detail[0]) return false;
  }
  return true;
}

static bool toy_same(const mlaf_case *head, void *const *a, void *const *b, mlaf_verify_result *out) {
  const toy_case *c = (const toy_case *)head;
  return !memcmp(a[TOY_AT_Y], b[TOY_AT_Y], c->rows * c->width * 2) && !memcmp(a[TOY_AT_SUMS], b[TOY_AT_SUMS], c->rows * 4);
}

/* --- data: x lies in the pool, set by set; marks are no output, for a launch does not write all of them --- */
typedef struct toy_data {
  mlaf_data head; /* first */
  mlaf_device *dev;
  mlaf_pool *pool;
  uint32_t width, rows;
  const char *x;
  void *marks, *y, *sums;
} toy_data;
enum { TOY_Y, TOY_SUMS };

static void toy_data_close(mlaf_data *data) {
  toy_data *d = (void *)data;
  void *const all[] = {d->marks, d->y, d->sums};
  for (int i = 0; i < 3; i++)
    if (all[i]) mlaf_ops(d->dev)->mem_free(d->dev, all[i], NULL);
  free(d);
}

static mlaf_status toy_data_open(mlaf_device *dev, const mlaf_point *p, const mlaf_data_opts *opts, mlaf_pool *pool,
                                 mlaf_data **out, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(dev);
  const size_t rows = (size_t)p->v[TOY_ROWS], bytes = rows * toy_width(p) * 2;
  toy_data *d = calloc(1, sizeof *d);
  *d = (toy_data){.dev = dev, .pool = pool, .width = toy_width(p), .rows = (uint32_t)rows};
  d->head = (mlaf_data){.sets = opts->spread_bytes ? 3 : 1, .rows = (int64_t)rows, .tokens = (int64_t)rows, .work = toy_work(p),
                        .n_outputs = 2, .outputs = {[TOY_Y] = {"y", offsetof(toy_args, y), rows, d->width * 2},
                                                    [TOY_SUMS] = {"sums", offsetof(toy_args, sums), rows, sizeof(float)}}};
  d->head.pool_bytes = d->head.sets * (int64_t)bytes;
  mlaf_status st = mlaf_pool_need(pool, MLAF_BF16, (size_t)d->head.pool_bytes, (void **)&d->x, err);
  if (!st) st = ops->mem_alloc(dev, rows * sizeof(float), &d->marks, err);
  if (!st) st = ops->mem_alloc(dev, bytes, &d->y, err);
  if (!st) st = ops->mem_alloc(dev, rows * sizeof(float), &d->sums, err);
  if (st) toy_data_close(&d->head);
  else *out = &d->head;
  return st;
}

static void toy_data_args(const mlaf_data *data, int set, void *args) {
  const toy_data *d = (const void *)data;
  *(toy_args *)args = (toy_args){.struct_size = sizeof(toy_args), .rows = d->rows, .marks = d->marks, .y = d->y, .sums = d->sums,
                                 .x = d->x + (size_t)set * d->rows * d->width * 2};
}

static void toy_data_row(const mlaf_data *data, int output, size_t row, char *out, size_t size) {
  snprintf(out, size, "row %zu", row);
}

static const uint16_t *toy_x(const toy_data *d, int set, size_t row) { /* sets fit the pool's pattern */
  return mlaf_pool_block(d->pool) + ((size_t)set * d->rows + row) * d->width;
}

static mlaf_status toy_data_check(const mlaf_data *data, int set, void *const outputs[], double most_work, mlaf_data_checked *out,
                                  mlaf_err *err) {
  const toy_data *d = (const void *)data;
  uint16_t y[1024];
  float sum;
  *out = (mlaf_data_checked){.which = "all rows"};
  for (size_t r = 0; r < d->rows; r++) {
    double y_error, sum_error;
    mlaf_status st = mlaf_ops(d->dev)->mem_read(d->dev, y, (char *)outputs[TOY_Y] + r * d->width * 2, d->width * 2, err);
    if (!st) st = mlaf_ops(d->dev)->mem_read(d->dev, &sum, (float *)outputs[TOY_SUMS] + r, sizeof sum, err);
    if (st) return st;
    toy_row(toy_x(d, set, r), d->width, y, sum, &y_error, &sum_error);
    out->rows++;
    out->error = fmax(out->error, fmax(y_error, sum_error));
    if (y_error > 0 || !(sum_error < 1e-5)) return mlaf_fail(err, MLAF_E_INCORRECT, "row %zu is wrong by %g", r, y_error);
  }
  return MLAF_OK;
}

static mlaf_status toy_data_error(const mlaf_data *data, int set, int output, size_t row, const void *got, const void *want,
                                  double *error, mlaf_err *err) {
  const toy_data *d = (const void *)data;
  double y_error, sum_error;
  if (want) { /* as if the other row's negative had been x */
    uint16_t x[1024] = {0};
    for (uint32_t c = 0; output == TOY_Y && c < d->width; c++) x[c] = ((const uint16_t *)want)[c] ^ 0x8000;
    *error = output == TOY_Y ? 0 : fabs((double)*(const float *)got - *(const float *)want);
    if (output == TOY_Y) toy_row(x, d->width, got, 0, error, &sum_error);
  } else {
    const uint16_t *x = toy_x(d, set, row);
    toy_row(x, d->width, output == TOY_Y ? got : x, output == TOY_SUMS ? *(const float *)got : 0, &y_error, &sum_error);
    *error = output == TOY_Y ? y_error : sum_error;
  }
  return MLAF_OK;
}

/* --- the record --- */
static const mlaf_calls toy_calls = {
    .args_name = "toy_args", .args_size = sizeof(toy_args), .workspace_at = offsetof(toy_args, workspace),
    .workspace_size_at = offsetof(toy_args, workspace_size), .parameter_bytes = toy_parameter_bytes,
    .check_stages = toy_check_stages, .check_args = toy_check_args, .workspace = toy_workspace,
    .prepare = toy_prepare, .work = toy_work, .bound = toy_bound, .n_cases = 2, .make_case = toy_make_case,
    .free_case = toy_free_case, .case_buffers = toy_case_buffers, .compare = toy_compare, .same = toy_same,
    .data_open = toy_data_open, .data_close = toy_data_close, .data_args = toy_data_args, .data_check = toy_data_check,
    .data_error = toy_data_error, .data_row = toy_data_row};
static const mlaf_field toy_fields[] = {
    {.name = "width", .label = "row width", .key = "w", .min = 2, .max = 1024, .required = true, .multiple = 2, .moot_by = -1},
    {.name = "rows", .label = "rows", .key = "t", .otherwise = 1, .min = 1, .max = 1024, .multiple = 1, .role = MLAF_SIZE,
     .steps = 2, .first = 64, .moot_by = -1}};
static const char *const toy_stages[] = {"only", NULL};
static const mlaf_op toy_op = {.name = "toy", .example = "toy:w64,t16", .fields = toy_fields, .n_fields = 2, .stages = toy_stages,
                               .calls = &toy_calls};
