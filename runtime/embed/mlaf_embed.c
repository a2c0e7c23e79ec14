/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* The loader behind mlaf_embed.h: devices, kernels, and which row of the index serves a problem. It knows no operation: their
 * fields are data of the index, what else they say is in mlaf_embed_rules. */
#include "mlaf_embed_driver.h"
#include "mlaf_embed_inside.h"

#include <stdarg.h>
#include <stdio.h>

enum { EXTRAS = 8, L1_SHARED_PERCENT = 25 };
typedef struct loaded { void *module, *function; int failed; } loaded;
struct mlaf_embed {
  driver d;
  int device, units, overlap; /* multiprocessors; overlap: the device takes programmatic serialization */
  void *context;       /* CUDA's primary one */
  const mlaf_embed_index *index;
  const mlaf_embed_target *target;
  loaded *kernels;
  int32_t extras[EXTRAS]; /* kernels that are no plan's, counted from 1; 0: no more */
  mlaf_embed_plan *plans; /* those handed out */
};

mlaf_embed_status mlaf_embed_fail(char *why, size_t size, mlaf_embed_status status, const char *fmt, ...) {
  va_list ap;
  if (!why || !size) return status;
  /* Numbers with a point, whatever locale the host has set. "C" is libc's own object: nothing to free, cannot fail. */
  const locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
  va_start(ap, fmt);
  vsnprintf(why, size, fmt, ap);
  va_end(ap);
  uselocale(before);
  return status;
}

int mlaf_embed_enter(const mlaf_embed *e, int *previous) {
  if (e->d.cuda) return e->d.push(e->context);
  int code = e->d.get_device(previous);
  return !code && *previous != e->device ? e->d.set_device(e->device) : code;
}
void mlaf_embed_leave(const mlaf_embed *e, int previous) {
  void *ours;
  if (e->d.cuda) e->d.pop(&ours);
  else if (previous != e->device) e->d.set_device(previous);
}

mlaf_embed_status mlaf_embed_expect(const mlaf_embed_plan *x, const void *args, const mlaf_embed_rules *rules, char *why,
                                    size_t size) {
  if (!x || !args) return mlaf_embed_fail(why, size, MLAF_EMBED_ARG, "a NULL pointer");
  return x->rules == rules ? MLAF_EMBED_OK
                           : mlaf_embed_fail(why, size, MLAF_EMBED_ARG, "a plan of another operation, %s", x->rules->op);
}
mlaf_embed_status mlaf_embed_begin(const mlaf_embed *e, int *previous, char *why, size_t size) {
  const int code = mlaf_embed_enter(e, previous);
  return !code ? MLAF_EMBED_OK
               : mlaf_embed_fail(why, size, MLAF_EMBED_DRIVER, "the device cannot be made current: driver error %d", code);
}
mlaf_embed_status mlaf_embed_end(const mlaf_embed *e, int previous, int code, char *why, size_t size) {
  mlaf_embed_leave(e, previous);
  return !code ? MLAF_EMBED_OK : mlaf_embed_fail(why, size, MLAF_EMBED_DRIVER, "the launch failed: driver error %d", code);
}

/* What a kernel wants said before its first launch, as mlaforge's runtime/cuda/module.c. */
static int prepare(const driver *d, const mlaf_embed_kernel *k, void *function) {
  const uint32_t blocks = (k->cluster[0] ? k->cluster[0] : 1) * (k->cluster[1] ? k->cluster[1] : 1) *
                          (k->cluster[2] ? k->cluster[2] : 1);
  int code = d->cuda && blocks > 8 ? d->set_attribute(function, CUDA_WIDE_CLUSTER, 1) : 0;
  if (!code && d->cuda && k->flags & EMBED_WANTS_L1) code = d->set_attribute(function, CUDA_SHARED_PERCENT, L1_SHARED_PERCENT);
  return !code && k->shared ? d->set_attribute(function, CUDA_MAX_DYNAMIC_SHARED, (int)k->shared) : code;
}

/* Kernels are counted from 1. */
static int load_kernel(mlaf_embed *e, int32_t index, void **function) {
  const mlaf_embed_kernel *k = &e->target->kernels[index - 1];
  loaded *l = &e->kernels[index - 1];
  int previous = e->device, code = l->failed = mlaf_embed_enter(e, &previous);
  if (code) return code;
  if (!l->module) code = e->d.module_load(&l->module, k->code);
  if (code) l->module = NULL;
  if (!code && !l->function) code = e->d.get_function(&l->function, l->module, k->symbol);
  if (!code) code = prepare(&e->d, k, l->function);
  if ((l->failed = code)) l->function = NULL;
  mlaf_embed_leave(e, previous);
  *function = l->function;
  return code;
}

static void drop(mlaf_embed *e) {
  int previous = e->device;
  for (int32_t i = 0; e->kernels && i < e->target->n_kernels; i++)
    if (e->kernels[i].module && !mlaf_embed_enter(e, &previous)) {
      e->d.module_unload(e->kernels[i].module);
      mlaf_embed_leave(e, previous);
    }
  if (e->context) e->d.release(e->device);
  free(e->kernels);
  for (mlaf_embed_plan *next; e->plans; e->plans = next) next = e->plans->next, free(e->plans);
}

/* "sm_90a" runs on compute capability 9.0; whether an AMD device takes a gfx target only its driver can say, so one is tried. */
static int takes(mlaf_embed *e, const char **what) {
  int major = 0, minor = 0, handle;
  void *function;
  if (!e->d.cuda)
    return !e->d.attribute(&e->units, HIP_UNITS, e->device) && load_kernel(e, e->target->rows[0].kernels[0], &function) == 0;
  if (e->d.device_get(&handle, e->device) || e->d.attribute(&major, CUDA_CC_MAJOR, handle) ||
      e->d.attribute(&minor, CUDA_CC_MINOR, handle) || e->d.attribute(&e->units, CUDA_UNITS, handle) ||
      strtol(e->target->name + 3, NULL, 10) != 10 * major + minor)
    return 0;
  *what = "its primary context";
  e->device = handle;
  e->overlap = major >= 9;
  return !e->d.retain(&e->context, handle);
}

static mlaf_embed_status open_target(const mlaf_embed_index *index, const mlaf_embed_target *t, int device, mlaf_embed **out,
                                     char *why, size_t size) {
  mlaf_embed e = {.device = device, .index = index, .target = t};
  const int cuda = !strncmp(t->name, "sm_", 3);
  const char *what = "its kernels";
  int n = 0, code;
  if (!(cuda ? load_cuda(&e.d) : load_hip(&e.d)))
    return mlaf_embed_fail(why, size, MLAF_EMBED_NO_DEVICE, "%s: no usable %s here", t->name,
                           cuda ? "libcuda.so.1" : "libamdhip64.so");
  if ((code = e.d.init(0)) || (code = e.d.count(&n)) || device < 0 || device >= n)
    return mlaf_embed_fail(why, size, MLAF_EMBED_NO_DEVICE, "%s: device %d of %d (driver error %d)", t->name, device, n, code);
  e.kernels = calloc((size_t)t->n_kernels + 1, sizeof *e.kernels);
  mlaf_embed *result = malloc(sizeof *result);
  mlaf_embed_status status = MLAF_EMBED_OK;
  if (!e.kernels || !result) status = mlaf_embed_fail(why, size, MLAF_EMBED_NOMEM, "out of memory");
  else if (!takes(&e, &what))
    status = mlaf_embed_fail(why, size, MLAF_EMBED_NO_DEVICE, "%s: device %d does not take %s", t->name, device, what);
  if (status) drop(&e), free(result);
  else *result = e, *out = result;
  return status;
}

mlaf_embed_status mlaf_embed_open(const mlaf_embed_index *index, int device, mlaf_embed **out, char *why, size_t size) {
  char reason[256];
  size_t at = 0;
  if (!index || !out || index->version != MLAF_EMBED_VERSION)
    return mlaf_embed_fail(why, size, MLAF_EMBED_ARG, "the index was written for another mlaf_embed.c: copy all its files "
                           "together");
  for (int32_t i = 0; i < index->n_targets; i++) {
    mlaf_embed_status status = open_target(index, &index->targets[i], device, out, reason, sizeof reason);
    if (!status) return MLAF_EMBED_OK;
    if (why && at < size) at += (size_t)snprintf(why + at, size - at, "%s%s", i ? "; " : "", reason);
  }
  return MLAF_EMBED_NO_DEVICE;
}

void mlaf_embed_close(mlaf_embed *e) {
  if (e) drop(e);
  free(e);
}

const char *mlaf_embed_target_name(const mlaf_embed *e) { return e->target->name; }
int32_t mlaf_embed_plan_knob(const mlaf_embed_plan *plan) { return plan->knob; }
uint32_t mlaf_embed_units(const mlaf_embed *e) { return (uint32_t)e->units; }
uint32_t mlaf_embed_wave(const mlaf_embed *e) { return e->d.cuda ? 32 : 64; }

/* --- which row: as mlaforge's runtime/bundle/find.c and runtime/op/compare.c --- */

static double ratio(int32_t a, int32_t b) { return a > b ? (double)a / b : (double)b / a; }

/* What is asked for. */
typedef struct question {
  const mlaf_embed *e;
  const mlaf_embed_rules *rules;
  const mlaf_embed_op *op;
  int32_t number; /* of op */
  const int32_t *v;
} question;

static const mlaf_embed_kernel *kernel_of(const mlaf_embed *e, const mlaf_embed_row *r, int stage) {
  return r->kernels[stage] ? &e->target->kernels[r->kernels[stage] - 1] : NULL;
}

static int is_moot(const mlaf_embed_field *f, const int32_t *v) { return f->moot_by >= 0 && v[f->moot_by] == f->moot_at; }

static int shaped(const question *q, const mlaf_embed_row *r) {
  int same = r->op == q->number;
  for (int32_t i = 0; same && i < q->op->n_fields; i++) {
    const mlaf_embed_field *f = &q->op->fields[i];
    same = f->is_size || is_moot(f, q->v) || r->values[i] == q->v[i];
  }
  return same;
}

static int any_lengths(const question *q, const mlaf_embed_row *r) {
  return q->rules->any_lengths && q->rules->any_lengths(kernel_of(q->e, r, 0));
}

/* The driver error with which a kernel of it was refused, 0 if none was. */
static int refused(const mlaf_embed *e, const mlaf_embed_row *r) {
  int code = 0;
  for (int i = 0; i < MLAF_EMBED_STAGES && !code; i++) code = r->kernels[i] ? e->kernels[r->kernels[i] - 1].failed : 0;
  return code;
}

/* The size that plans are made for. */
static int32_t rounded(const mlaf_embed_field *f, int32_t x) {
  int32_t step = 1, up;
  if (!f->steps) return x;
  if (x <= f->first || x >= f->most) return x < f->most ? f->first : f->most;
  while (x > 2 * f->steps * step) step *= 2;
  up = (x + step - 1) / step * step;
  for (const int32_t *also = f->also; also && *also; also++) up = x <= *also && *also < up ? *also : up;
  return up < f->most ? up : f->most;
}

/* The factor by which all sizes together are apart; where one plan serves both, -1 over that. */
static double apart(const question *q, const mlaf_embed_row *r) {
  double times = 1;
  int one = 1;
  for (int32_t i = 0; i < q->op->n_fields; i++) {
    const mlaf_embed_field *f = &q->op->fields[i];
    if (f->is_size) times *= ratio(r->values[i], q->v[i]), one = one && rounded(f, r->values[i]) == rounded(f, q->v[i]);
  }
  return one ? -1 / times : times;
}

/* Of two equally far rows the nearer in the first size (the last follows from the others): < 0 when that is a. */
static int first_of_equals(const question *q, const mlaf_embed_row *a, const mlaf_embed_row *b) {
  int32_t last = q->op->n_fields - 1;
  while (last > 0 && !q->op->fields[last].is_size) last--;
  for (int32_t i = 0; i < last; i++) {
    const double x = ratio(a->values[i], q->v[i]), y = ratio(b->values[i], q->v[i]);
    if (q->op->fields[i].is_size && x != y) return x < y ? -1 : 1;
  }
  return 0;
}

/* The nearest row whose kernels were not refused (*code: how others were), NULL if none: what stands back behind others that
 * serve any lengths; in doublings of the sizes; the choice before the baseline. first: of those with it before a second one. */
static const mlaf_embed_row *nearest(const question *q, int32_t first, int *code) {
  const mlaf_embed_target *t = q->e->target;
  const mlaf_embed_row *found = NULL;
  double best = 0;
  int some = 0, found_back = 0;
  for (int32_t i = 0; i < t->n_rows && !some; i++) some = shaped(q, &t->rows[i]) && any_lengths(q, &t->rows[i]);
  for (int32_t i = 0; i < t->n_rows; i++) {
    const mlaf_embed_row *r = &t->rows[i];
    if (!shaped(q, r) || (first && (r->kernels[0] != first || !r->kernels[1]))) continue;
    const int bad = refused(q->e, r);
    if (bad) *code = bad;
    const double far = apart(q, r);
    const int back = some && q->rules->stands_back && q->rules->stands_back(q->v, r->values) && !any_lengths(q, r);
    int later = !found ? -1 : back != found_back ? (back ? 1 : -1) : far != best ? (far > best ? 1 : -1)
                : r->baseline != found->baseline ? (r->baseline ? 1 : -1) : first_of_equals(q, r, found);
    if (bad || later >= 0) continue; /* of equals in all this the first: rows are sorted */
    best = far, found_back = back, found = r;
  }
  return found;
}

/* The kernel behind r's first one where the knob is n; 0: none. `merge` is one there is. Behind a knob of 1 of a kernel that
 * serves any lengths it stays, unless a row shows that it can do without. */
static int32_t second_of(const question *q, const mlaf_embed_row *r, int32_t n, int32_t merge) {
  if (n == r->knob) return r->kernels[1];
  if (n > 1) return merge;
  int alone = !any_lengths(q, r);
  for (int32_t i = 0; i < q->e->target->n_rows && !alone; i++) {
    const mlaf_embed_row *x = &q->e->target->rows[i];
    alone = x->kernels[0] == r->kernels[0] && x->knob == 1 && !x->kernels[1];
  }
  return alone ? 0 : merge;
}

/* The plan that r gives, its kernels not loaded. */
static mlaf_embed_plan made_of(const question *q, mlaf_embed *e, const mlaf_embed_row *r, int *code) {
  const mlaf_embed_row *other = r->kernels[1] ? r : nearest(q, r->kernels[0], code);
  const int32_t merge = other ? other->kernels[1] : 0;
  mlaf_embed_plan x = {.owner = e, .next = e->plans, .rules = q->rules, .row = r, .knob = r->knob};
  if (apart(q, r) > 0 && q->rules->fit_knob) x.knob = q->rules->fit_knob(q->v, kernel_of(e, r, 0), r->knob);
  if (q->rules->knob_wants_second && x.knob > 1 && !merge) x.knob = r->knob; /* nothing here comes behind more than one */
  for (int i = 0; i < MLAF_EMBED_STAGES; i++) x.kernels[i] = kernel_of(e, r, i);
  const int32_t second = second_of(q, r, x.knob, merge);
  x.kernels[1] = second ? &e->target->kernels[second - 1] : NULL;
  return x;
}

/* Those in use first: a plan whose last kernel fails has loaded its others for nothing, and another may want them. */
static int load_all(mlaf_embed_plan *x) {
  int code = 0;
  for (int i = MLAF_EMBED_STAGES - 1; i >= 0 && !code; i--)
    if (x->kernels[i]) code = load_kernel(x->owner, (int32_t)(x->kernels[i] - x->owner->target->kernels) + 1, &x->functions[i]);
  return code;
}

/* "mla_decode:h16,r512,...": the shape. */
static void print_shape(const question *q, char *out, size_t size) {
  int at = snprintf(out, size, "%s", q->op->name), any = 0;
  for (int32_t i = 0; i < q->op->n_fields && at >= 0 && (size_t)at < size; i++) {
    const mlaf_embed_field *f = &q->op->fields[i];
    const int word = !f->key && q->v[i] >= 0 && q->v[i] < f->n_words;
    if (f->is_size || is_moot(f, q->v) || (word && !f->words[q->v[i]][0])) continue;
    const char *mark = any++ ? "," : ":";
    at += word ? snprintf(out + at, size - (size_t)at, "%s%s", mark, f->words[q->v[i]])
               : snprintf(out + at, size - (size_t)at, "%s%s%d", mark, f->key ? f->key : f->name, q->v[i]);
  }
}

/* The first fault of a question; "" if it can be answered. */
static void fault_of(const question *q, char *out, size_t size) {
  *out = 0;
  for (int32_t i = 0; i < q->op->n_fields; i++)
    if (q->op->fields[i].is_size && q->v[i] < 1) snprintf(out, size, "%s is below 1", q->op->fields[i].name);
}

mlaf_embed_status mlaf_embed_plan_for(mlaf_embed *e, const mlaf_embed_rules *rules, const int32_t *values,
                                      const mlaf_embed_plan **out, char *why, size_t size) {
  char text[160];
  int code, failed = 0;
  if (!e || !values || !out) return mlaf_embed_fail(why, size, MLAF_EMBED_ARG, "a NULL pointer");
  question q = {.e = e, .rules = rules, .v = values};
  while (q.number < e->index->n_ops && strcmp(e->index->ops[q.number].name, rules->op)) q.number++;
  if (q.number == e->index->n_ops)
    return mlaf_embed_fail(why, size, MLAF_EMBED_NO_KERNEL, "no kernel of %s is embedded: add it to the bundle and embed again",
                           rules->op);
  q.op = &e->index->ops[q.number];
  fault_of(&q, text, sizeof text);
  if (*text) return mlaf_embed_fail(why, size, MLAF_EMBED_ARG, "%s", text);
  for (const mlaf_embed_row *r; (r = nearest(&q, 0, &failed));) {
    mlaf_embed_plan x = made_of(&q, e, r, &failed), *plan = e->plans;
    while (plan && (plan->row != r || plan->knob != x.knob)) plan = plan->next;
    if (!plan && (code = load_all(&x))) {
      failed = code;
      continue; /* the next nearest then; in the end a baseline */
    }
    if (!plan && (plan = malloc(sizeof *plan))) *plan = x, e->plans = plan;
    *out = plan;
    return plan ? MLAF_EMBED_OK : mlaf_embed_fail(why, size, MLAF_EMBED_NOMEM, "out of memory");
  }
  if (failed)
    return mlaf_embed_fail(why, size, MLAF_EMBED_DRIVER, "no kernel of it loads on %s: driver error %d", e->target->name, failed);
  print_shape(&q, text, sizeof text);
  return mlaf_embed_fail(why, size, MLAF_EMBED_NO_KERNEL, "no kernel embedded for %s on %s: add it to the bundle and embed again",
                         text, e->target->name);
}

/* --- kernels that are no plan's --- */

mlaf_embed_status mlaf_embed_extra_load(mlaf_embed *e, const char *symbol, const char *what, char *why, size_t size) {
  void *function = NULL;
  int32_t i = 0, at = 0;
  if (!e) return mlaf_embed_fail(why, size, MLAF_EMBED_ARG, "a NULL pointer");
  if (mlaf_embed_extra(e, symbol, &function)) return MLAF_EMBED_OK;
  while (i < e->target->n_kernels && strcmp(e->target->kernels[i].symbol, symbol)) i++;
  while (at < EXTRAS && e->extras[at]) at++;
  if (i == e->target->n_kernels || at == EXTRAS)
    return mlaf_embed_fail(why, size, MLAF_EMBED_NO_KERNEL, "no kernel embedded %s on %s: make the bundle again and embed again",
                           what, e->target->name);
  const int code = load_kernel(e, i + 1, &function);
  if (code) return mlaf_embed_fail(why, size, MLAF_EMBED_DRIVER, "the kernel %s does not load: driver error %d", what, code);
  e->extras[at] = i + 1;
  return MLAF_EMBED_OK;
}

const mlaf_embed_kernel *mlaf_embed_extra(const mlaf_embed *e, const char *symbol, void **function) {
  for (int i = 0; i < EXTRAS && e->extras[i]; i++) {
    const mlaf_embed_kernel *k = &e->target->kernels[e->extras[i] - 1];
    if (strcmp(k->symbol, symbol)) continue;
    *function = e->kernels[e->extras[i] - 1].function;
    return k;
  }
  return NULL;
}

/* --- a launch --- */

int mlaf_embed_encode(const mlaf_embed *e, const mlaf_embed_map *want, const void *data, uint64_t cols, uint64_t rows,
                      uint64_t stride, void *map) {
  const uint64_t dims[] = {cols, rows}, strides[] = {stride};
  const uint32_t box[] = {want->cols, want->rows}, ones[] = {1, 1};
  const int swizzle = want->swizzle == 128 ? 3 : want->swizzle == 64 ? 2 : want->swizzle == 32 ? 1 : 0;
  memset(map, 0, 128);
  if (!cols || !rows) return 0; /* the kernel does not use it then */
  return e->d.encode ? e->d.encode(map, 1, 2, (void *)(uintptr_t)data, dims, strides, box, ones, 0, swizzle, 0, 0) : -1;
}

int mlaf_embed_launch(const mlaf_embed *e, const mlaf_embed_kernel *k, void *fn, const uint32_t grid[3], void *args, size_t size,
                      void *stream) {
  const driver *d = &e->d;
  void *block_of[] = {(void *)1, args, (void *)2, &size, (void *)3}; /* HIP: as a raw block */
  void *one[] = {args}; /* CUDA: as the kernel's one parameter, since the driver knows where an aligned struct begins */
  launch_attribute attributes[2] = {{.id = CUDA_CLUSTER}};
  launch_config c = {.block = {k->threads, 1, 1}, .shared = k->shared, .stream = stream, .list = attributes};
  for (int i = 0; i < 3; i++) {
    const uint32_t cluster = attributes[0].value.cluster[i] = k->cluster[i] ? k->cluster[i] : 1;
    c.grid[i] = i == 1 ? grid[i] * cluster : (grid[i] + cluster - 1) / cluster * cluster;
    if (cluster > 1) c.n = 1;
  }
  if (d->cuda && d->launch_ex && (k->flags & EMBED_OVERLAPS) && e->overlap)
    attributes[c.n++] = (launch_attribute){.id = CUDA_OVERLAP, .value.overlap = 1};
  if (c.n) return d->launch_ex ? d->launch_ex(&c, fn, one, NULL) : -1;
  return d->launch(fn, c.grid[0], c.grid[1], c.grid[2], k->threads, 1, 1, k->shared, stream, d->cuda ? one : NULL,
                   d->cuda ? NULL : block_of);
}
