/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms.
 * The loader behind mlaf_embed.h. The argument blocks are those of mlaforge's runtime/ops/mla_decode/launch.h. */
#include "mlaf_embed.h"
#include "mlaf_embed_driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct decode_args {
  const void *q, *ckv, *kpe;
  const int32_t *qo_indptr, *kv_indptr, *kv_indices, *kv_last_page_lens;
  void *o;
  float *lse, *part_o, *part_lse;
  int64_t ckv_row_stride, kpe_row_stride, total_q;
  int32_t num_pages, splits;
  float scale_log2e;
  int32_t batch;
} decode_args;
typedef struct combine_args {
  const float *part_o, *part_lse;
  void *o, *lse;
  int64_t rows;
  int32_t splits, reserved;
} combine_args;
enum { BATCH_MAX = 65536 }; /* as the library has it */
typedef struct block { _Alignas(64) decode_args a; unsigned char maps[8][128]; } block; /* a kernel's parameters */
_Static_assert(sizeof(decode_args) == 128 && sizeof(combine_args) == 48, "not the kernels' layout");
enum { FIT_BYTES = 16384, FIT_PARTS = 4095, FIT_THREADS = 1024 }; /* launch.h's MLAF_FIT_... */
typedef struct loaded { void *module, *function; int failed; } loaded;
struct mlaf_embed_plan {
  mlaf_embed *owner;
  mlaf_embed_plan *next;
  const mlaf_embed_row *row;
  int32_t splits;
  const mlaf_embed_kernel *decode, *combine;
  void *decode_fn, *combine_fn;
};
struct mlaf_embed {
  driver d;
  int device, units, overlap; /* multiprocessors; overlap: the device takes programmatic serialization */
  void *context;       /* CUDA's primary one */
  const mlaf_embed_target *target;
  loaded *kernels;
  int32_t tables;      /* the kernel that reads block tables, behind 1; 0: not wanted yet */
  mlaf_embed_plan *plans; /* those handed out */
};

static mlaf_embed_status fail(char *why, size_t size, mlaf_embed_status status, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  if (why && size) vsnprintf(why, size, fmt, ap);
  va_end(ap);
  return status;
}

/* Make our device current on this thread and remember what was; leave() puts it back. */
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

static int load_kernel(mlaf_embed *e, int32_t index, void **function) {
  const mlaf_embed_kernel *k = &e->target->kernels[index];
  loaded *l = &e->kernels[index];
  int previous = e->device, code = l->failed = enter(e, &previous);
  if (code) return code;
  if (!l->module) code = e->d.module_load(&l->module, k->code);
  if (code) l->module = NULL;
  if (!code && !l->function) code = e->d.get_function(&l->function, l->module, k->symbol);
  if (!code && k->shared) code = e->d.set_attribute(l->function, CUDA_MAX_DYNAMIC_SHARED, (int)k->shared);
  if ((l->failed = code)) l->function = NULL;
  leave(e, previous);
  *function = l->function;
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
static int fits(mlaf_embed *e, const char **what) {
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

static mlaf_embed_status open_target(const mlaf_embed_target *t, int device, mlaf_embed **out, char *why, size_t size) {
  mlaf_embed e = {.device = device, .target = t};
  const int cuda = !strncmp(t->name, "sm_", 3);
  const char *what = "its kernels";
  int n = 0, code;
  if (!(cuda ? load_cuda(&e.d) : load_hip(&e.d)))
    return fail(why, size, MLAF_EMBED_NO_DEVICE, "%s: no usable %s here", t->name, cuda ? "libcuda.so.1" : "libamdhip64.so");
  if ((code = e.d.init(0)) || (code = e.d.count(&n)) || device < 0 || device >= n)
    return fail(why, size, MLAF_EMBED_NO_DEVICE, "%s: device %d of %d (driver error %d)", t->name, device, n, code);
  e.kernels = calloc((size_t)t->n_kernels + 1, sizeof *e.kernels);
  mlaf_embed *result = malloc(sizeof *result);
  mlaf_embed_status status = MLAF_EMBED_OK;
  if (!e.kernels || !result) status = fail(why, size, MLAF_EMBED_NOMEM, "out of memory");
  else if (!fits(&e, &what))
    status = fail(why, size, MLAF_EMBED_NO_DEVICE, "%s: device %d does not take %s", t->name, device, what);
  if (status) drop(&e), free(result);
  else *result = e, *out = result;
  return status;
}

mlaf_embed_status mlaf_embed_open(const mlaf_embed_index *index, int device, mlaf_embed **out, char *why, size_t size) {
  char reason[256];
  size_t at = 0;
  if (!index || !out || index->version != MLAF_EMBED_VERSION)
    return fail(why, size, MLAF_EMBED_ARG, "the index was written for another mlaf_embed.c: copy all its files together");
  for (int32_t i = 0; i < index->n_targets; i++) {
    mlaf_embed_status status = open_target(&index->targets[i], device, out, reason, sizeof reason);
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

static double ratio(int32_t a, int32_t b) { return a > b ? (double)a / b : (double)b / a; }
/* <shaped> */
static int shaped(const mlaf_embed_row *r, const mlaf_embed_problem *p) {
  return r->heads == p->heads && r->rank == p->rank && r->rope == p->rope && r->q_len == p->q_len &&
         (p->q_len == 1 || r->causal == p->causal) && r->dtype == p->dtype && r->page_size == p->page_size;
}

/* As good for requests of any lengths. */
static int any_lengths(const mlaf_embed_kernel *k) { return k->fits != 0; }

/* The nearest row whose kernels have not failed (*code: how others did), -1 if none: what was tuned for one request behind others
 * that serve several of any lengths; in doublings of batch and ctx, the choice before the baseline, then the nearer in batch.
 * merges >= 0: of those that have a combine kernel behind this decode kernel. */
static int32_t nearest(const mlaf_embed *e, const mlaf_embed_problem *p, int32_t merges, int *code) {
  double best = 0, best_batch = 0;
  int32_t found = -1, some = 0, best_last = 0;
  const mlaf_embed_target *t = e->target;
  for (int32_t i = 0; i < t->n_rows && !some; i++)
    some = shaped(&t->rows[i], p) && any_lengths(&t->kernels[t->rows[i].kernels[0]]);
  for (int32_t i = 0; i < t->n_rows; i++) {
    const mlaf_embed_row *r = &t->rows[i];
    if (!shaped(r, p) || (merges >= 0 && (r->kernels[0] != merges || r->kernels[1] < 0))) continue;
    const int k = r->kernels[1], merge = k < 0 ? 0 : e->kernels[k].failed, bad = merge ? merge : e->kernels[r->kernels[0]].failed;
    if (bad) *code = bad;
    const double batch = ratio(r->batch, p->batch), far = batch * ratio(r->ctx, p->ctx);
    const int last = some && p->batch > 1 && r->batch == 1 && !any_lengths(&t->kernels[r->kernels[0]]);
    int later = found < 0 ? -1 : far != best ? far > best : r->baseline - t->rows[found].baseline;
    if (found >= 0 && last != best_last) later = last ? 1 : -1;
    if (bad || (found >= 0 && (later > 0 || (!later && far == best && batch >= best_batch)))) continue;
    best = far, best_batch = batch, best_last = last, found = i;
  }
  return found;
}

static int64_t groups(int64_t rows, int64_t each) { return (rows + each - 1) / each; }

/* The splits that suit p: as mlaforge's runtime/ops/mla_decode/nearest.c, which says why. */
static int64_t time_of(int64_t n, int64_t wgs, int64_t slots, int64_t rounds) {
  return groups(wgs * n, slots) * (groups(rounds, n) + 4) + (n > 1 ? 4 : 0);
}
static int32_t fit(const mlaf_embed_problem *p, const mlaf_embed_row *r, const mlaf_embed_kernel *k) {
  if (!k->step || !k->slots || (p->batch == r->batch && p->ctx == r->ctx)) return r->knob;
  const int64_t rounds = groups(p->ctx, k->step), wgs = p->batch * groups((int64_t)p->heads * p->q_len, k->rows_per_wg);
  const int64_t slots = k->slots, had = r->knob < rounds ? r->knob : rounds;
  int64_t best = 1, used = groups(rounds, groups(rounds, had));
  for (int64_t n = 2; n <= 4 * slots / wgs && n <= rounds && n <= 256; n++)
    if (groups(rounds, groups(rounds, n)) == n && time_of(n, wgs, slots, rounds) < time_of(best, wgs, slots, rounds)) best = n;
  return (int32_t)(20 * time_of(best, wgs, slots, rounds) < 19 * time_of(used, wgs, slots, rounds) ? best : used);
}

/* The combine kernel behind n splits, -1: none. `merge` is one there is. Behind one split of a kernel that fits its launch to the
 * batch it stays, unless a row shows that it can do without: as mlaforge's runtime/bundle/find.c. */
static int32_t combine_of(const mlaf_embed *e, const mlaf_embed_row *r, int32_t n, int32_t merge) {
  if (n == r->knob) return r->kernels[1];
  if (n > 1) return merge;
  int alone = !e->target->kernels[r->kernels[0]].fits;
  for (int32_t i = 0; i < e->target->n_rows && !alone; i++) {
    const mlaf_embed_row *x = &e->target->rows[i];
    alone = x->kernels[0] == r->kernels[0] && x->knob == 1 && x->kernels[1] < 0;
  }
  return alone ? -1 : merge;
}

mlaf_embed_status mlaf_embed_plan_get(mlaf_embed *e, const mlaf_embed_problem *p, const mlaf_embed_plan **out, char *why,
                                      size_t size) {
  int i, code, failed = 0;
  if (!e || !p || !out || p->batch < 1 || p->ctx < 1)
    return fail(why, size, MLAF_EMBED_ARG, "a NULL pointer, or batch or ctx below 1");
  while ((i = nearest(e, p, -1, &failed)) >= 0) {
    const mlaf_embed_row *r = &e->target->rows[i];
    const int32_t other = r->kernels[1] < 0 ? nearest(e, p, r->kernels[0], &failed) : i; /* has a combine kernel */
    int32_t merge = other < 0 ? -1 : e->target->rows[other].kernels[1];
    const int32_t n = merge < 0 ? 1 : fit(p, r, &e->target->kernels[r->kernels[0]]); /* nothing merges more than one */
    mlaf_embed_plan x = {e, e->plans, r, n, &e->target->kernels[r->kernels[0]], NULL, NULL, NULL}, *plan = e->plans;
    while (plan && (plan->row != r || plan->splits != x.splits)) plan = plan->next;
    if ((merge = combine_of(e, r, n, merge)) >= 0) x.combine = &e->target->kernels[merge];
    code = plan || !x.combine ? 0 : load_kernel(e, merge, &x.combine_fn);
    if (!plan && !code) code = load_kernel(e, r->kernels[0], &x.decode_fn);
    if (code) continue; /* the next nearest then; in the end a baseline */
    if (!plan && (plan = malloc(sizeof *plan))) *plan = x, e->plans = plan;
    *out = plan;
    return plan ? MLAF_EMBED_OK : fail(why, size, MLAF_EMBED_NOMEM, "out of memory");
  }
  if (failed) return fail(why, size, MLAF_EMBED_DRIVER, "no kernel of it loads on %s: driver error %d", e->target->name, failed);
  return fail(why, size, MLAF_EMBED_NO_KERNEL, "no kernel embedded for h%d,r%d,p%d,q%d%s,%s,page%d on %s: add it to the bundle "
              "and embed again", p->heads, p->rank, p->rope, p->q_len, p->causal && p->q_len > 1 ? ",causal" : "",
              p->dtype == MLAF_EMBED_F16 ? "f16" : "bf16", p->page_size, e->target->name);
}

int32_t mlaf_embed_plan_splits(const mlaf_embed_plan *plan) { return plan->splits; }

/* What follows is as in mlaforge's runtime/ops/mla_decode/prepare.c. Blocks along x: the row groups, in whole clusters. */
static uint32_t blocks_x(const mlaf_embed_plan *x) {
  const int64_t c = x->decode->cluster[0] ? x->decode->cluster[0] : 1;
  return (uint32_t)(groups(groups((int64_t)x->row->q_len * x->row->heads, x->decode->rows_per_wg), c) * c);
}

/* Blocks that the device holds at once; kernels that do not say are one to a compute unit. */
static uint32_t held(const mlaf_embed_plan *x) { return (uint32_t)x->owner->units * (x->decode->fits ? x->decode->fits : 1); }

/* The most parts that a launch cuts its batch into. */
static uint32_t fit_parts(const mlaf_embed_plan *x) {
  const uint32_t parts = held(x) / blocks_x(x);
  return parts < 1 ? 1 : parts > FIT_PARTS ? FIT_PARTS : parts;
}

/* Blocks along z: one a request, or as few as take the requests in no more turns. A launch that may cut its batch has as
 * many as run at once. */
static uint32_t blocks_z(const mlaf_embed_plan *x, uint32_t batch) {
  const mlaf_embed_kernel *k = x->decode;
  const uint32_t team = k->cluster[1] ? k->cluster[1] : 1;
  const uint32_t at_once = held(x) / (blocks_x(x) * (uint32_t)x->splits * team);
  if (k->fits && k->turns) return at_once ? at_once : 1;
  if (!k->turns) return k->fits && team <= 2 && at_once > batch ? at_once : batch;
  return at_once ? (uint32_t)groups(batch, groups(batch, at_once)) : 1;
}

/* A row a team; behind one split, where mostly nothing is left to do, a block a row, but no more than run at once. */
static uint32_t combine_blocks(const mlaf_embed_plan *x, int64_t rows) {
  const uint32_t most = (uint32_t)x->owner->units * FIT_THREADS / x->combine->threads;
  if (!x->decode->fits || x->splits > 1) return (uint32_t)groups(rows, x->combine->rows_per_wg);
  return rows > most && most ? most : (uint32_t)rows;
}

/* The word `splits` of the arguments. */
static int32_t splits_word(const mlaf_embed_plan *x) {
  return x->decode->fits ? (int32_t)((uint32_t)x->splits | (x->combine ? 1u << 15 : 0) | fit_parts(x) << 16) : x->splits;
}

typedef struct workspace { size_t part_o, part_lse, size; } workspace; /* offsets and size in bytes */

static workspace layout(const mlaf_embed_plan *x, int64_t total_q) {
  const uint64_t splits = (uint64_t)x->splits, heads = (uint64_t)x->row->heads, slot = 2 * (uint64_t)x->row->q_len * heads;
  const int fits = x->decode->fits != 0;
  if (total_q <= 0 || (splits <= 1 && !fits)) return (workspace){0, 0, 0};
  if (total_q > (int64_t)BATCH_MAX * x->row->q_len) return (workspace){0, 0, SIZE_MAX};
  uint64_t rows = splits > 1 ? splits * heads * (uint64_t)total_q : 0;
  if (fits && rows < fit_parts(x) * slot) rows = fit_parts(x) * slot;
  workspace w = {fits ? FIT_BYTES : 0, 0, 0};
  w.part_lse = (size_t)((w.part_o + rows * (uint64_t)x->row->rank * 4 + 255) / 256 * 256);
  w.size = w.part_lse + (size_t)rows * 4;
  return w;
}

size_t mlaf_embed_workspace(const mlaf_embed_plan *plan, int64_t total_q) { return layout(plan, total_q).size; }

static int encode_maps(const mlaf_embed_plan *x, block *b) {
  const mlaf_embed_row *r = x->row;
  const uint64_t cached = (uint64_t)b->a.num_pages * (uint64_t)r->page_size, rows = (uint64_t)(b->a.total_q * r->heads);
  const uint64_t rank = (uint64_t)r->rank, rope = (uint64_t)r->rope;
  const struct { const void *data; uint64_t cols, rows, stride; } of[] = {
      {NULL, 0, 0, 0}, {b->a.ckv, rank, cached, (uint64_t)b->a.ckv_row_stride * 2}, {b->a.kpe, rope, cached,
      (uint64_t)b->a.kpe_row_stride * 2}, {b->a.q, rank + rope, rows, (rank + rope) * 2}, {b->a.o, rank, rows, rank * 2}};
  for (uint32_t i = 0; i < x->decode->n_maps; i++) {
    const mlaf_embed_map *m = &x->decode->maps[i];
    const uint64_t dims[] = {of[m->of].cols, of[m->of].rows}, strides[] = {of[m->of].stride};
    const uint32_t box[] = {m->cols, m->rows}, ones[] = {1, 1};
    const int swizzle = m->swizzle == 128 ? 3 : m->swizzle == 64 ? 2 : m->swizzle == 32 ? 1 : 0;
    memset(b->maps[i], 0, sizeof b->maps[i]);
    if (!dims[0] || !dims[1]) continue; /* the kernel does not use it then */
    if (!x->owner->d.encode) return -1;
    void *data = (void *)(uintptr_t)of[m->of].data;
    int code = x->owner->d.encode(b->maps[i], 1, 2, data, dims, strides, box, ones, 0, swizzle, 0, 0);
    if (code) return code;
  }
  return 0;
}

static int launch(const mlaf_embed_plan *x, const mlaf_embed_kernel *k, void *fn, const uint32_t want[3], void *args,
                  size_t size, void *stream) {
  const driver *d = &x->owner->d;
  void *block_of[] = {(void *)1, args, (void *)2, &size, (void *)3}; /* HIP: as a raw block */
  void *one[] = {args}; /* CUDA: as the kernel's one parameter, since the driver knows where an aligned struct begins */
  launch_attribute attributes[2] = {{.id = CUDA_CLUSTER}};
  launch_config c = {.block = {k->threads, 1, 1}, .shared = k->shared, .stream = stream, .list = attributes};
  for (int i = 0; i < 3; i++) {
    const uint32_t cluster = attributes[0].value.cluster[i] = k->cluster[i] ? k->cluster[i] : 1;
    c.grid[i] = i == 1 ? want[i] * cluster : (want[i] + cluster - 1) / cluster * cluster; /* y: splits */
    if (cluster > 1) c.n = 1;
  }
  if (d->cuda && d->launch_ex && k->overlaps && x->owner->overlap)
    attributes[c.n++] = (launch_attribute){.id = CUDA_OVERLAP, .value.overlap = 1};
  if (c.n) return d->launch_ex ? d->launch_ex(&c, fn, one, NULL) : -1;
  return d->launch(fn, c.grid[0], c.grid[1], c.grid[2], k->threads, 1, 1, k->shared, stream, d->cuda ? one : NULL,
                   d->cuda ? NULL : block_of);
}

/* What is wrong with the arguments, NULL if nothing that can be seen from the host. */
static const char *fault(const mlaf_embed_plan *x, const mlaf_embed_args *a, const decode_args *d, size_t needed_space) {
  const int64_t needed = x->row->rank + (a->kpe ? 0 : x->row->rope);
  if (a->batch < 0 || a->batch > BATCH_MAX) return "batch is not in 0..65536";
  if (a->total_q < 0 || a->total_q > (int64_t)a->batch * x->row->q_len) return "total_q is not in 0..batch*q_len";
  if (a->num_pages < 0 || (int64_t)a->num_pages * x->row->page_size >> 32) return "num_pages * page_size is not below 2^32";
  if (!(a->scale - a->scale == 0)) return "scale is not finite";
  if (!a->q || !a->o || !a->qo_indptr || !a->kv_indptr || !a->kv_last_page_lens || (a->num_pages && (!a->ckv || !a->kv_indices)))
    return "a pointer is NULL";
  if (((uintptr_t)a->q | (uintptr_t)a->o | (uintptr_t)a->ckv | (uintptr_t)a->kpe) % 16)
    return "q, ckv, kpe or o is not 16-byte aligned";
  if (((uintptr_t)a->qo_indptr | (uintptr_t)a->kv_indptr | (uintptr_t)a->kv_indices | (uintptr_t)a->kv_last_page_lens |
       (uintptr_t)a->lse) % 4)
    return "a table or lse is not 4-byte aligned";
  if (d->ckv_row_stride < needed || d->kpe_row_stride < x->row->rope || (d->ckv_row_stride | d->kpe_row_stride) % 8 ||
      d->ckv_row_stride > 1 << 27 || d->kpe_row_stride > 1 << 27)
    return "a row stride is too small, above 2^27 or no multiple of 8";
  if (needed_space && (!a->workspace || (uintptr_t)a->workspace % 256 || a->workspace_size < needed_space))
    return "workspace is NULL, not 256-byte aligned or smaller than mlaf_embed_workspace says";
  return NULL;
}

mlaf_embed_status mlaf_embed_execute(const mlaf_embed_plan *x, const mlaf_embed_args *a, void *stream, char *why, size_t size) {
  int previous = 0, code;
  if (!x || !a) return fail(why, size, MLAF_EMBED_ARG, "a NULL pointer");
  const mlaf_embed_row *r = x->row;
  const workspace w = layout(x, a->total_q);
  block b = {.a = {.q = a->q, .ckv = a->ckv, .kpe = a->kpe ? a->kpe : a->ckv ? (const uint16_t *)a->ckv + r->rank : NULL,
                   .qo_indptr = a->qo_indptr, .kv_indptr = a->kv_indptr, .kv_indices = a->kv_indices,
                   .kv_last_page_lens = a->kv_last_page_lens, .o = a->o, .lse = a->lse,
                   .ckv_row_stride = a->ckv_row_stride ? a->ckv_row_stride : r->rank + (a->kpe ? 0 : r->rope),
                   .total_q = a->total_q, .num_pages = a->num_pages, .splits = splits_word(x), .batch = a->batch,
                   .scale_log2e = (float)((double)a->scale * 1.4426950408889634)}};
  b.a.kpe_row_stride = !a->kpe ? b.a.ckv_row_stride : a->kpe_row_stride ? a->kpe_row_stride : r->rope;
  const char *wrong = fault(x, a, &b.a, w.size);
  if (wrong && (a->total_q || a->batch < 0)) return fail(why, size, MLAF_EMBED_ARG, "%s", wrong);
  if (!a->total_q) return MLAF_EMBED_OK;
  if (w.size) {
    b.a.part_o = (float *)((char *)a->workspace + w.part_o);
    b.a.part_lse = (float *)((char *)a->workspace + w.part_lse);
  }
  const int64_t rows = a->total_q * r->heads;
  combine_args c = {b.a.part_o, b.a.part_lse, a->o, a->lse, rows, x->splits, 0};
  if ((code = enter(x->owner, &previous)))
    return fail(why, size, MLAF_EMBED_DRIVER, "the device cannot be made current: driver error %d", code);
  code = encode_maps(x, &b);
  if (!code)
    code = launch(x, x->decode, x->decode_fn,
                  (uint32_t[]){blocks_x(x), (uint32_t)x->splits, blocks_z(x, (uint32_t)a->batch)}, &b,
                  sizeof b.a + x->decode->n_maps * sizeof *b.maps, stream);
  const int whole = x->decode->fits != 0; /* its combine kernel takes the decode kernel's arguments */
  if (!code && x->combine)
    code = launch(x, x->combine, x->combine_fn, (uint32_t[]){combine_blocks(x, rows), 1, 1}, whole ? (void *)&b.a : (void *)&c,
                  whole ? sizeof b.a : sizeof c, stream);
  leave(x->owner, previous);
  return code ? fail(why, size, MLAF_EMBED_DRIVER, "the launch failed: driver error %d", code) : MLAF_EMBED_OK;
}

#include "mlaf_embed_tables.h"
