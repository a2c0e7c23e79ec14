/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* The loader behind mlaf_embed.h: devices, kernels, and which row of the index serves a problem. It knows no operation: each has
 * a record, as in the library. */
#include "mlaf_embed_driver.h"
#include "mlaf_embed_inside.h"

enum { L1_SHARED_PERCENT = 25 };
struct mlaf_embed {
  mlaf_embed_device_base base; /* what the library's files see of it; compute units and wave size */
  driver d;
  int device, overlap; /* overlap: it takes programmatic serialization */
  void *context;       /* CUDA's primary one */
  const mlaf_embed_index *index;
  const mlaf_embed_target *target;
  mlaf_embed_function *kernels; /* of the target */
  mlaf_embed_plan *plans; /* those handed out */
};

/* --- reasons --- */

mlaf_embed_status mlaf_embed_fail(mlaf_embed_err *err, mlaf_embed_status status, const char *fmt, ...) {
  va_list ap;
  if (!err) return status;
  /* Numbers with a point, whatever locale the host has set. "C" is libc's own object: nothing to free, cannot fail. */
  const locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
  va_start(ap, fmt);
  vsnprintf(err->text, sizeof err->text, fmt, ap);
  va_end(ap);
  uselocale(before);
  return err->status = status;
}

mlaf_embed_status mlaf_embed_say(const mlaf_embed_err *err, mlaf_embed_status status, char *why, size_t size) {
  if (status && why && size) snprintf(why, size, "%s", err->text);
  return status;
}

mlaf_embed_status mlaf_embed_expect(const mlaf_embed_plan *x, const void *args, const mlaf_embed_op *op, mlaf_embed_err *err) {
  if (!x || !args) return mlaf_embed_fail(err, MLAF_EMBED_ARG, "a NULL pointer");
  if (x->bound.point.op == op) return MLAF_EMBED_OK;
  return mlaf_embed_fail(err, MLAF_EMBED_ARG, "a plan of another operation, %s", x->bound.point.op->name);
}

/* --- devices and kernels --- */

/* Make our device current on this thread and remember what was; leave puts it back. */
static int enter(const mlaf_embed *e, int *previous) {
  if (e->d.cuda) return e->d.push(e->context);
  int code = e->d.get_device(previous);
  return !code && *previous != e->device ? e->d.set_device(e->device) : code;
}
static void leave(const mlaf_embed *e, int previous) {
  void *ours;
  if (e->d.cuda) e->d.pop(&ours);
  else if (previous != e->device) e->d.set_device(previous);
}

/* Sets a kernel's attributes before its first launch, as mlaforge's runtime/cuda/module.c. */
static int set_up(const driver *d, const mlaf_embed_kernel_launch *k, void *function) {
  const uint32_t blocks = (k->cluster[0] ? k->cluster[0] : 1) * (k->cluster[1] ? k->cluster[1] : 1) *
                          (k->cluster[2] ? k->cluster[2] : 1);
  int code = d->cuda && blocks > 8 ? d->set_attribute(function, CUDA_WIDE_CLUSTER, 1) : 0;
  if (!code && d->cuda && k->flags & MLAF_EMBED_KERNEL_WANTS_L1)
    code = d->set_attribute(function, CUDA_SHARED_PERCENT, L1_SHARED_PERCENT);
  return !code && k->dynamic_shared ? d->set_attribute(function, CUDA_MAX_DYNAMIC_SHARED, (int)k->dynamic_shared) : code;
}

/* Load a kernel that is not loaded yet: a driver error. */
static int load(mlaf_embed *e, mlaf_embed_function *f) {
  int previous = e->device, code = f->failed = enter(e, &previous);
  if (code) return code;
  if (!f->module) code = e->d.module_load(&f->module, f->kernel->code);
  if (code) f->module = NULL;
  if (!code && !f->function) code = e->d.get_function(&f->function, f->module, f->kernel->symbol);
  if (!code) code = set_up(&e->d, &f->kernel->launch, f->function);
  if ((f->failed = code)) f->function = NULL;
  leave(e, previous);
  return code;
}

static void drop(mlaf_embed *e) {
  int previous = e->device;
  for (int32_t i = 0; e->kernels && i < e->target->n_kernels; i++)
    if (e->kernels[i].module && !enter(e, &previous)) {
      e->d.module_unload(e->kernels[i].module);
      leave(e, previous);
    }
  if (e->context) e->d.release(e->device);
  free(e->kernels);
  for (mlaf_embed_plan *next; e->plans; e->plans = next) next = e->plans->next, free(e->plans);
}

/* "sm_90a" runs on compute capability 9.0; whether an AMD device takes a gfx target only its driver can say, so one is tried. */
static int takes(mlaf_embed *e, const char **what) {
  int major = 0, minor = 0, units = 0, handle;
  if (!e->d.cuda) {
    const int code = e->d.attribute(&units, HIP_UNITS, e->device) || load(e, &e->kernels[e->target->rows[0].kernels[0] - 1]);
    e->base.info = (mlaf_embed_device_info){units, 64};
    return !code;
  }
  if (e->d.device_get(&handle, e->device) || e->d.attribute(&major, CUDA_CC_MAJOR, handle) ||
      e->d.attribute(&minor, CUDA_CC_MINOR, handle) || e->d.attribute(&units, CUDA_UNITS, handle) ||
      strtol(e->target->name + 3, NULL, 10) != 10 * major + minor)
    return 0;
  *what = "its primary context";
  e->base.info = (mlaf_embed_device_info){units, 32};
  e->device = handle;
  e->overlap = major >= 9;
  return !e->d.retain(&e->context, handle);
}

static const mlaf_embed_device_ops device_ops;

static mlaf_embed_status open_target(const mlaf_embed_index *index, const mlaf_embed_target *t, int device, mlaf_embed **out,
                                     mlaf_embed_err *err) {
  mlaf_embed e = {.base = {.ops = &device_ops}, .device = device, .index = index, .target = t};
  const int cuda = !strncmp(t->name, "sm_", 3);
  const char *what = "its kernels";
  int n = 0, code;
  if (!(cuda ? load_cuda(&e.d) : load_hip(&e.d)))
    return mlaf_embed_fail(err, MLAF_EMBED_NO_DEVICE, "%s: no usable %s here", t->name,
                           cuda ? "libcuda.so.1" : "libamdhip64.so");
  if ((code = e.d.init(0)) || (code = e.d.count(&n)) || device < 0 || device >= n)
    return mlaf_embed_fail(err, MLAF_EMBED_NO_DEVICE, "%s: device %d of %d (driver error %d)", t->name, device, n, code);
  e.kernels = calloc((size_t)t->n_kernels + 1, sizeof *e.kernels);
  mlaf_embed *result = malloc(sizeof *result);
  mlaf_embed_status status = MLAF_EMBED_OK;
  for (int32_t i = 0; e.kernels && i < t->n_kernels; i++) e.kernels[i].kernel = &t->kernels[i];
  if (!e.kernels || !result) status = mlaf_embed_fail(err, MLAF_EMBED_NOMEM, "out of memory");
  else if (!takes(&e, &what))
    status = mlaf_embed_fail(err, MLAF_EMBED_NO_DEVICE, "%s: device %d does not take %s", t->name, device, what);
  if (status) drop(&e), free(result);
  else *result = e, *out = result;
  return status;
}

mlaf_embed_status mlaf_embed_open(const mlaf_embed_index *index, int device, mlaf_embed **out, char *why, size_t size) {
  mlaf_embed_err err = {MLAF_EMBED_NO_DEVICE, ""};
  size_t at = 0;
  if (!index || !out || index->version != MLAF_EMBED_VERSION)
    return mlaf_embed_say(&err, mlaf_embed_fail(&err, MLAF_EMBED_ARG, "the index was written for another mlaf_embed.c: copy all "
                          "its files together"), why, size);
  for (int32_t i = 0; i < index->n_targets; i++) {
    if (!open_target(index, &index->targets[i], device, out, &err)) return MLAF_EMBED_OK;
    if (why && at < size) at += (size_t)snprintf(why + at, size - at, "%s%s", i ? "; " : "", err.text);
  }
  return MLAF_EMBED_NO_DEVICE;
}

void mlaf_embed_close(mlaf_embed *e) {
  if (e) drop(e);
  free(e);
}

const char *mlaf_embed_target_name(const mlaf_embed *e) { return e->target->name; }
int32_t mlaf_embed_plan_knob(const mlaf_embed_plan *plan) { return (int32_t)plan->bound.knob; }

/* --- plans --- */

/* A question: the problem asked for, and the rows of its shape, best first. */
typedef struct question {
  mlaf_embed *e;
  int32_t op; /* of the index */
  mlaf_embed_point point;
  mlaf_embed_offer *offers;
  size_t n;
} question;

static mlaf_embed_function *kernel_of(const mlaf_embed *e, const mlaf_embed_row *r, int stage) {
  return r->kernels[stage] ? &e->kernels[r->kernels[stage] - 1] : NULL;
}

static mlaf_embed_offer offer_of(const question *q, const mlaf_embed_row *r) {
  const mlaf_embed_kernel *k = kernel_of(q->e, r, 0)->kernel;
  mlaf_embed_offer out = {.of = r, .problem = {.op = q->point.op}, .baseline = r->baseline, .knob = (uint32_t)r->knob,
                          .flags = k->launch.flags, .first = {k->rows_per_wg, k->step, k->slots}};
  memcpy(out.problem.v, r->values, sizeof r->values);
  for (int i = 0; i < MLAF_EMBED_STAGES; i++) out.kernels[i] = kernel_of(q->e, r, i);
  return out;
}

/* False where memory is short. */
static bool find_offers(question *q) {
  const mlaf_embed_target *t = q->e->target;
  q->offers = malloc(((size_t)t->n_rows + 1) * sizeof *q->offers);
  for (int32_t i = 0; q->offers && i < t->n_rows; i++) {
    if (t->rows[i].op != q->op) continue;
    q->offers[q->n] = offer_of(q, &t->rows[i]);
    q->n += mlaf_embed_point_same_shape(&q->point, &q->offers[q->n].problem);
  }
  if (q->offers) mlaf_embed_offers_rank(q->offers, q->n, &q->point);
  return q->offers;
}

static void set_stage(mlaf_embed_plan *x, int stage, mlaf_embed_function *f) {
  x->bound.stage[stage] = (mlaf_embed_stage){.fn = f};
  if (!f) return;
  x->bound.stage[stage].threads = f->kernel->threads;
  x->bound.stage[stage].rows_per_wg = f->kernel->rows_per_wg;
  x->bound.stage[stage].launch = f->kernel->launch;
}

/* The plan that offer i gives, its kernels not loaded. */
static mlaf_embed_plan made_of(const question *q, size_t i) {
  const mlaf_embed_row *r = q->offers[i].of;
  const mlaf_embed_offer_fitted f = mlaf_embed_offer_fit(q->offers, q->n, i, &q->point);
  mlaf_embed_plan x = {.owner = q->e, .next = q->e->plans, .row = r, .bound = {.dev = (mlaf_embed_device *)q->e}};
  x.bound.point = q->offers[i].problem;
  x.bound.knob = f.knob;
  for (int stage = 0; stage < MLAF_EMBED_STAGES; stage++) set_stage(&x, stage, kernel_of(q->e, r, stage));
  set_stage(&x, 1, f.second ? kernel_of(q->e, f.second->of, 1) : NULL);
  if (q->point.op->calls->settle) q->point.op->calls->settle(&x.bound);
  return x;
}

/* Those in use first: a plan whose last kernel fails has loaded its others for nothing, and another may want them. One that was
 * refused once is not tried again. */
static int load_all(mlaf_embed_plan *x) {
  int code = 0;
  for (int i = 0; i < MLAF_EMBED_STAGES && !code; i++) code = x->bound.stage[i].fn ? x->bound.stage[i].fn->failed : 0;
  for (int i = MLAF_EMBED_STAGES - 1; i >= 0 && !code; i--)
    if (x->bound.stage[i].fn && !x->bound.stage[i].fn->function) code = load(x->owner, x->bound.stage[i].fn);
  return code;
}

/* The plan of the best offer whose kernels load: one made before is handed out again. */
static mlaf_embed_status find_plan(const question *q, const mlaf_embed_plan **out, mlaf_embed_err *err) {
  mlaf_embed_status status;
  char text[MLAF_EMBED_POINT_TEXT_MAX];
  int code = 0;
  for (size_t i = 0; i < q->n; i++) {
    mlaf_embed_plan x = made_of(q, i), *plan = q->e->plans;
    while (plan && (plan->row != x.row || plan->bound.knob != x.bound.knob)) plan = plan->next;
    if (!plan && (status = q->point.op->calls->check_stages(&x.bound, err))) return status;
    if (!plan && (code = load_all(&x))) continue; /* the next best then; in the end a baseline */
    if (!plan && (plan = malloc(sizeof *plan))) *plan = x, q->e->plans = plan;
    if (plan) *out = plan;
    return plan ? MLAF_EMBED_OK : mlaf_embed_fail(err, MLAF_EMBED_NOMEM, "out of memory");
  }
  if (code)
    return mlaf_embed_fail(err, MLAF_EMBED_DRIVER, "no kernel of it loads on %s: driver error %d", q->e->target->name, code);
  mlaf_embed_point_family(&q->point, text, sizeof text);
  return mlaf_embed_fail(err, MLAF_EMBED_NO_KERNEL, "no kernel embedded for %s on %s: add it to the bundle and embed again",
                         text, q->e->target->name);
}

/* Fields that say nothing are 0, as in rows. */
static mlaf_embed_status check_values(mlaf_embed_point *p, mlaf_embed_err *err) {
  for (int i = 0; i < p->op->n_fields; i++) {
    const mlaf_embed_field *f = &p->op->fields[i];
    if (f->role == MLAF_EMBED_SIZE && p->v[i] < 1) return mlaf_embed_fail(err, MLAF_EMBED_ARG, "%s is below 1", f->name);
    if (f->moot_by >= 0 && p->v[f->moot_by] == f->moot_at) p->v[i] = 0;
  }
  return MLAF_EMBED_OK;
}

mlaf_embed_status mlaf_embed_plan_for(mlaf_embed *e, const mlaf_embed_op *op, const int32_t *values, const mlaf_embed_plan **out,
                                      char *why, size_t size) {
  mlaf_embed_err err = {MLAF_EMBED_OK, ""};
  question q = {.e = e, .point = {.op = op}};
  if (!e || !values || !out) return mlaf_embed_say(&err, mlaf_embed_fail(&err, MLAF_EMBED_ARG, "a NULL pointer"), why, size);
  while (q.op < e->index->n_ops && strcmp(e->index->ops[q.op].name, op->name)) q.op++;
  if (q.op == e->index->n_ops)
    mlaf_embed_fail(&err, MLAF_EMBED_NO_KERNEL, "no kernel of %s is embedded: add it to the bundle and embed again", op->name);
  else if (e->index->ops[q.op].n_fields != op->n_fields)
    mlaf_embed_fail(&err, MLAF_EMBED_ARG, "the index was written for another %s: copy all its files together", op->name);
  if (err.status) return mlaf_embed_say(&err, err.status, why, size);
  memcpy(q.point.v, values, (size_t)op->n_fields * sizeof *values);
  mlaf_embed_status status = check_values(&q.point, &err);
  if (!status && !find_offers(&q)) status = mlaf_embed_fail(&err, MLAF_EMBED_NOMEM, "out of memory");
  if (!status) status = find_plan(&q, out, &err);
  free(q.offers);
  return mlaf_embed_say(&err, status, why, size);
}

/* --- kernels that are no plan's --- */

/* Its place among the target's kernels; their number: it is not there. */
static int32_t place_of(const mlaf_embed *e, const char *symbol) {
  int32_t i = 0;
  while (i < e->target->n_kernels && strcmp(e->target->kernels[i].symbol, symbol)) i++;
  return i;
}

const mlaf_embed_function *const *mlaf_embed_second(const mlaf_embed *e, const mlaf_embed_second_form *second,
                                                    const mlaf_embed_function *fns[MLAF_EMBED_SECOND_KERNELS_EACH]) {
  for (int k = 0; k < second->n_kernels; k++) {
    const int32_t i = place_of(e, second->kernels[k].symbol);
    if (i == e->target->n_kernels || !e->kernels[i].function) return NULL;
    fns[k] = &e->kernels[i];
  }
  return fns;
}

mlaf_embed_status mlaf_embed_second_load(mlaf_embed *e, const mlaf_embed_second_form *second, char *why, size_t size) {
  mlaf_embed_err err = {MLAF_EMBED_OK, ""};
  int code;
  if (!e) return mlaf_embed_say(&err, mlaf_embed_fail(&err, MLAF_EMBED_ARG, "a NULL pointer"), why, size);
  for (int k = 0; !err.status && k < second->n_kernels; k++) {
    const int32_t i = place_of(e, second->kernels[k].symbol);
    if (i == e->target->n_kernels)
      mlaf_embed_fail(&err, MLAF_EMBED_NO_KERNEL, "no kernel embedded: %s, on %s: make the bundle again and embed again",
                      second->what, e->target->name);
    else if (!e->kernels[i].function && (code = load(e, &e->kernels[i])))
      mlaf_embed_fail(&err, MLAF_EMBED_DRIVER, "%s: one does not load: driver error %d", second->what, code);
  }
  return mlaf_embed_say(&err, err.status, why, size);
}

/* --- a launch --- */

static mlaf_embed_status encode(mlaf_embed_device *dev, const mlaf_embed_tensor *t, void *map, mlaf_embed_err *err) {
  const mlaf_embed *e = (const mlaf_embed *)dev;
  const uint64_t dims[] = {t->cols, t->rows, t->slices}, strides[] = {t->row_stride, t->slice_stride};
  const uint32_t box[] = {t->box_cols, t->box_rows, t->box_slices}, ones[] = {1, 1, 1}, rank = t->slices ? 3 : 2;
  const int swizzle = t->swizzle == 128 ? 3 : t->swizzle == 64 ? 2 : t->swizzle == 32 ? 1 : 0;
  memset(map, 0, MLAF_EMBED_MAP_BYTES);
  if (!t->cols || !t->rows) return MLAF_EMBED_OK; /* the kernel does not use it then */
  const int code = e->d.encode ? e->d.encode(map, 1, rank, (void *)(uintptr_t)t->data, dims, strides, box, ones, 0, swizzle, 0, 0)
                               : -1;
  return !code ? MLAF_EMBED_OK : mlaf_embed_fail(err, MLAF_EMBED_DRIVER, "the launch failed: driver error %d", code);
}
static const mlaf_embed_device_ops device_ops = {.tensor_map_encode = encode};

/* Launches with the device current; returns a driver error. */
static int launch(const mlaf_embed *e, const mlaf_embed_launch *l, void *stream) {
  const driver *d = &e->d;
  const mlaf_embed_function *f = l->fn;
  void *args = (void *)(uintptr_t)l->args;
  size_t size = l->args_size;
  void *block_of[] = {(void *)1, args, (void *)2, &size, (void *)3}; /* HIP: as a raw block */
  void *one[] = {args}; /* CUDA: as the kernel's one parameter, since the driver knows where an aligned struct begins */
  launch_attribute attributes[2] = {{.id = CUDA_CLUSTER}};
  launch_config c = {.grid = {l->grid[0], l->grid[1], l->grid[2]}, .block = {l->block[0], l->block[1], l->block[2]},
                     .shared = f->kernel->launch.dynamic_shared, .stream = stream, .list = attributes};
  for (int i = 0; i < 3; i++) {
    attributes[0].value.cluster[i] = l->cluster[i] ? l->cluster[i] : 1;
    if (l->cluster[i] > 1) c.n = 1;
  }
  if (d->cuda && d->launch_ex && (l->flags & MLAF_EMBED_LAUNCH_OVERLAPS) && e->overlap)
    attributes[c.n++] = (launch_attribute){.id = CUDA_OVERLAP, .value.overlap = 1};
  if (c.n) return d->launch_ex ? d->launch_ex(&c, f->function, one, NULL) : -1;
  return d->launch(f->function, c.grid[0], c.grid[1], c.grid[2], c.block[0], c.block[1], c.block[2], c.shared, stream,
                   d->cuda ? one : NULL, d->cuda ? NULL : block_of);
}

static mlaf_embed_status launch_all(const mlaf_embed *e, const mlaf_embed_launch *list, size_t n, void *stream,
                                    mlaf_embed_err *err) {
  int previous = 0, code = enter(e, &previous);
  if (code) return mlaf_embed_fail(err, MLAF_EMBED_DRIVER, "the device cannot be made current: driver error %d", code);
  for (size_t i = 0; !code && i < n; i++) code = launch(e, &list[i], stream);
  leave(e, previous);
  return !code ? MLAF_EMBED_OK : mlaf_embed_fail(err, MLAF_EMBED_DRIVER, "the launch failed: driver error %d", code);
}

mlaf_embed_status mlaf_embed_launch_one(mlaf_embed *e, const mlaf_embed_launch *l, void *stream, mlaf_embed_err *err) {
  return launch_all(e, l, 1, stream, err);
}

/* The first form of arguments that came in another, and what is launched around the kernels. */
typedef struct within {
  mlaf_embed_whole_args first;
  mlaf_embed_second_prepared launches;
} within;

static mlaf_embed_status prepare_within(const mlaf_embed_plan *x, const mlaf_embed_second_form *form, const void *args,
                                        within *w, mlaf_embed_err *err) {
  const mlaf_embed_function *fns[MLAF_EMBED_SECOND_KERNELS_EACH];
  const mlaf_embed_function *const *loaded = mlaf_embed_second(x->owner, form, fns);
  if (!loaded)
    return mlaf_embed_fail(err, MLAF_EMBED_ARG, "%s: load them when you plan, by the function that opens them", form->what);
  return form->prepare(&x->bound, x->bound.knob, loaded, args, &w->first, &w->launches, err);
}

mlaf_embed_status mlaf_embed_run(const mlaf_embed_plan *x, const mlaf_embed_op *op, const void *args, void *stream, char *why,
                                 size_t size) {
  mlaf_embed_prepared prepared = {.n = 0};
  mlaf_embed_launch all[MLAF_EMBED_STAGES_MAX + MLAF_EMBED_SECOND_LAUNCHES];
  within w = {.launches = {.n = 0}};
  size_t n = 0;
  uint32_t some = 1;
  mlaf_embed_err err; /* a text is in it where something fails */
  mlaf_embed_status status = mlaf_embed_expect(x, args, op, &err);
  const mlaf_embed_second_form *form = status ? NULL : mlaf_embed_second_of(op->calls, args);
  if (form && !(status = prepare_within(x, form, args, &w, &err))) memcpy(&some, args = &w.first, sizeof some);
  if (!status && some) status = op->calls->check_args(&x->bound, x->bound.knob, args, &err);
  if (!status && some) status = op->calls->prepare(&x->bound, x->bound.knob, args, &prepared, &err);
  for (size_t i = 0; i < w.launches.ahead; i++) all[n++] = w.launches.launch[i];
  for (size_t i = 0; i < prepared.n; i++) all[n++] = prepared.launches[i];
  for (size_t i = w.launches.ahead; i < w.launches.n; i++) all[n++] = w.launches.launch[i];
  if (!status && prepared.n) status = launch_all(x->owner, all, n, stream, &err);
  return mlaf_embed_say(&err, status, why, size);
}
