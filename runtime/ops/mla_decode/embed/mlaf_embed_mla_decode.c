/* SPDX-License-Identifier: MIT */
/* Copyright (c) 2026 the mlaforge authors; LICENSE.mlaforge has the terms. */
/* mla_decode over mlaf_embed.c: which splits suit a problem, the workspace, the launches. The argument blocks are those of
 * mlaforge's runtime/ops/mla_decode/launch.h, the launches those of prepare.c there. */
#include "mlaf_embed_mla_decode.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

#include "mlaf_embed_inside.h"

typedef struct decode_args {
  const void *q, *ckv, *kpe;
  const int32_t *qo_indptr, *kv_indptr, *kv_indices, *kv_last_page_lens;
  void *o;
  float *lse, *part_o, *part_lse;
  union {
    struct { int64_t ckv_row_stride, kpe_row_stride, total_q; };
    struct { uint32_t ckv_row_stride, kpe_row_stride; const float *rope_table; int32_t total_q, rope_rows; } rotate;
  };
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
_Static_assert(offsetof(decode_args, rotate.rope_table) == 96 && offsetof(decode_args, rotate.rope_rows) == 108 &&
               offsetof(decode_args, num_pages) == 112, "not the kernels' layout of templates/mla_decode/lib/args_rotate.h");
_Static_assert(sizeof(mlaf_embed_decode_problem) <= MLAF_EMBED_FIELDS * sizeof(int32_t), "more fields than a row has");
enum { FIT_BYTES = 16384, FIT_PARTS = 4095, FIT_THREADS = 1024 }; /* launch.h's MLAF_FIT_... */

/* A row's values are in the order of problem strings; a member that came later stands last in the struct. */
static const size_t members[] = {
#define AT(member) offsetof(mlaf_embed_decode_problem, member)
    AT(heads), AT(rank), AT(rope), AT(q_len), AT(causal), AT(dtype), AT(rotate), AT(page_size), AT(batch), AT(ctx)};
enum { MEMBERS = sizeof members / sizeof *members };
_Static_assert(MEMBERS * sizeof(int32_t) == sizeof(mlaf_embed_decode_problem), "a member is no value");

mlaf_embed_decode_problem mlaf_embed_decode_problem_of(const int32_t *values) {
  mlaf_embed_decode_problem p;
  for (int i = 0; i < MEMBERS; i++) memcpy((char *)&p + members[i], &values[i], sizeof *values);
  return p;
}

/* A plan's shape, and the sizes it was tuned for. */
static mlaf_embed_decode_problem tuned(const mlaf_embed_plan *x) { return mlaf_embed_decode_problem_of(x->row->values); }

static int fits(const mlaf_embed_kernel *k) { return (k->flags & EMBED_FITS) != 0; }

static int64_t groups(int64_t rows, int64_t each) { return (rows + each - 1) / each; }

/* The splits that suit p: as mlaforge's runtime/ops/mla_decode/nearest.c, which says why. */
static int64_t time_of(int64_t n, int64_t wgs, int64_t slots, int64_t rounds) {
  return groups(wgs * n, slots) * (groups(rounds, n) + 4) + (n > 1 ? 4 : 0);
}
static int32_t fit(const int32_t *asked, const mlaf_embed_kernel *k, int32_t knob) {
  const mlaf_embed_decode_problem problem = mlaf_embed_decode_problem_of(asked), *const p = &problem;
  if (!k->step || !k->slots) return knob;
  const int64_t rounds = groups(p->ctx, k->step), wgs = p->batch * groups((int64_t)p->heads * p->q_len, k->rows_per_wg);
  const int64_t slots = k->slots, had = knob < rounds ? knob : rounds;
  int64_t best = 1, used = groups(rounds, groups(rounds, had));
  for (int64_t n = 2; n <= 4 * slots / wgs && n <= rounds && n <= 256; n++)
    if (groups(rounds, groups(rounds, n)) == n && time_of(n, wgs, slots, rounds) < time_of(best, wgs, slots, rounds)) best = n;
  return (int32_t)(20 * time_of(best, wgs, slots, rounds) < 19 * time_of(used, wgs, slots, rounds) ? best : used);
}

/* What was tuned for one request leaves a device empty that several could fill. */
static int stands_back(const int32_t *asked, const int32_t *had) {
  return mlaf_embed_decode_problem_of(asked).batch > 1 && mlaf_embed_decode_problem_of(had).batch == 1;
}

static const mlaf_embed_rules rules = {"mla_decode", fits, stands_back, fit, 1};

mlaf_embed_status mlaf_embed_decode_plan(mlaf_embed *e, const mlaf_embed_decode_problem *p, const mlaf_embed_plan **out,
                                         char *why, size_t size) {
  int32_t values[MEMBERS];
  for (int i = 0; p && i < MEMBERS; i++) memcpy(&values[i], (const char *)p + members[i], sizeof *values);
  return mlaf_embed_plan_for(e, &rules, p ? values : NULL, out, why, size);
}

/* Blocks along x: the row groups, in whole clusters. */
static uint32_t blocks_x(const mlaf_embed_plan *x) {
  const int64_t c = x->kernels[0]->cluster[0] ? x->kernels[0]->cluster[0] : 1;
  return (uint32_t)(groups(groups((int64_t)tuned(x).q_len * tuned(x).heads, x->kernels[0]->rows_per_wg), c) * c);
}

/* Blocks that the device holds at once; kernels that do not say are one to a compute unit. */
static uint32_t held(const mlaf_embed_plan *x) {
  const mlaf_embed_kernel *k = x->kernels[0];
  return mlaf_embed_units(x->owner) * (fits(k) && k->per_cu ? k->per_cu : 1);
}

/* The most parts that a launch cuts its batch into. */
static uint32_t fit_parts(const mlaf_embed_plan *x) {
  const uint32_t parts = held(x) / blocks_x(x);
  return parts < 1 ? 1 : parts > FIT_PARTS ? FIT_PARTS : parts;
}

/* Blocks along z: one a request, or as few as take the requests in no more turns. A launch that may cut its batch has as
 * many as run at once. */
static uint32_t blocks_z(const mlaf_embed_plan *x, uint32_t batch) {
  const mlaf_embed_kernel *k = x->kernels[0];
  const uint32_t team = k->cluster[1] ? k->cluster[1] : 1;
  const uint32_t at_once = held(x) / (blocks_x(x) * (uint32_t)x->knob * team);
  if (fits(k) && (k->flags & EMBED_TURNS)) return at_once ? at_once : 1;
  if (!(k->flags & EMBED_TURNS)) return fits(k) && team <= 2 && at_once > batch ? at_once : batch;
  return at_once ? (uint32_t)groups(batch, groups(batch, at_once)) : 1;
}

/* A row a team; behind one split, where mostly nothing is left to do, a block a row, but no more than run at once; behind several
 * as many if that is more, of blocks that take turns. */
static uint32_t combine_blocks(const mlaf_embed_plan *x, int64_t rows) {
  const mlaf_embed_kernel *k = x->kernels[1];
  const uint32_t most = mlaf_embed_units(x->owner) * FIT_THREADS / k->threads;
  const uint32_t full = rows > most && most ? most : (uint32_t)rows, each = (uint32_t)groups(rows, k->rows_per_wg);
  if (fits(x->kernels[0]) && x->knob == 1) return full;
  return fits(x->kernels[0]) && (k->flags & EMBED_TURNS) && full > each ? full : each;
}

/* The word `splits` of the arguments. */
static int32_t splits_word(const mlaf_embed_plan *x) {
  return fits(x->kernels[0]) ? (int32_t)((uint32_t)x->knob | (x->kernels[1] ? 1u << 15 : 0) | fit_parts(x) << 16) : x->knob;
}

typedef struct workspace { size_t part_o, part_lse, size; } workspace; /* offsets and size in bytes */

static workspace layout(const mlaf_embed_plan *x, int64_t total_q) {
  const uint64_t splits = (uint64_t)x->knob, heads = (uint64_t)tuned(x).heads, slot = 2 * (uint64_t)tuned(x).q_len * heads;
  const int fitted = fits(x->kernels[0]);
  if (total_q <= 0 || (splits <= 1 && !fitted)) return (workspace){0, 0, 0};
  if (total_q > (int64_t)BATCH_MAX * tuned(x).q_len) return (workspace){0, 0, SIZE_MAX};
  uint64_t rows = splits > 1 ? splits * heads * (uint64_t)total_q : 0;
  if (fitted && rows < fit_parts(x) * slot) rows = fit_parts(x) * slot;
  workspace w = {fitted ? FIT_BYTES : 0, 0, 0};
  w.part_lse = (size_t)((w.part_o + rows * (uint64_t)tuned(x).rank * 4 + 255) / 256 * 256);
  w.size = w.part_lse + (size_t)rows * 4;
  return w;
}

size_t mlaf_embed_decode_workspace(const mlaf_embed_plan *plan, int64_t total_q) { return layout(plan, total_q).size; }

static int encode_maps(const mlaf_embed_plan *x, block *b) {
  const mlaf_embed_decode_problem r = tuned(x);
  const uint64_t cached = (uint64_t)b->a.num_pages * (uint64_t)r.page_size, rows = (uint64_t)(b->a.total_q * r.heads);
  const uint64_t rank = (uint64_t)r.rank, rope = (uint64_t)r.rope;
  const struct { const void *data; uint64_t cols, rows, stride; } of[] = {
      {NULL, 0, 0, 0}, {b->a.ckv, rank, cached, (uint64_t)b->a.ckv_row_stride * 2}, {b->a.kpe, rope, cached,
      (uint64_t)b->a.kpe_row_stride * 2}, {b->a.q, rank + rope, rows, (rank + rope) * 2}, {b->a.o, rank, rows, rank * 2}};
  int code = 0;
  for (uint32_t i = 0; i < x->kernels[0]->n_maps && !code; i++) {
    const mlaf_embed_map *m = &x->kernels[0]->maps[i];
    code = mlaf_embed_encode(x->owner, m, of[m->of].data, of[m->of].cols, of[m->of].rows, of[m->of].stride, b->maps[i]);
  }
  return code;
}

/* What is wrong with the arguments, NULL if nothing that can be seen from the host. */
static const char *fault(const mlaf_embed_plan *x, const mlaf_embed_decode_args *a, const decode_args *d, size_t needed_space) {
  const int64_t needed = tuned(x).rank + (a->kpe ? 0 : tuned(x).rope);
  if (a->batch < 0 || a->batch > BATCH_MAX) return "batch is not in 0..65536";
  if (a->total_q < 0 || a->total_q > (int64_t)a->batch * tuned(x).q_len) return "total_q is not in 0..batch*q_len";
  if (a->num_pages < 0 || (int64_t)a->num_pages * tuned(x).page_size >> 32) return "num_pages * page_size is not below 2^32";
  if (!(a->scale - a->scale == 0)) return "scale is not finite";
  if (a->scale != 0 && a->scale > -FLT_MIN && a->scale < FLT_MIN) return "scale is below the normal numbers, and not 0";
  if (!a->q || !a->o || !a->qo_indptr || !a->kv_indptr || !a->kv_last_page_lens || (a->num_pages && (!a->ckv || !a->kv_indices)))
    return "a pointer is NULL";
  if (((uintptr_t)a->q | (uintptr_t)a->o | (uintptr_t)a->ckv | (uintptr_t)a->kpe) % 16)
    return "q, ckv, kpe or o is not 16-byte aligned";
  if (((uintptr_t)a->qo_indptr | (uintptr_t)a->kv_indptr | (uintptr_t)a->kv_indices | (uintptr_t)a->kv_last_page_lens |
       (uintptr_t)a->lse) % 4)
    return "a table or lse is not 4-byte aligned";
  if (d->ckv_row_stride < needed || d->kpe_row_stride < tuned(x).rope || (d->ckv_row_stride | d->kpe_row_stride) % 8 ||
      d->ckv_row_stride > 1 << 27 || d->kpe_row_stride > 1 << 27)
    return "a row stride is too small, above 2^27 or no multiple of 8";
  if (!tuned(x).rotate != !a->rope_table || (a->rope_table && ((uintptr_t)a->rope_table % 16 || a->rope_rows < 1)))
    return "rope_table is not what the problem wants: 16-byte aligned with 1 row or more where it rotates, else NULL";
  if (needed_space && (!a->workspace || (uintptr_t)a->workspace % 256 || a->workspace_size < needed_space))
    return "workspace is NULL, not 256-byte aligned or smaller than mlaf_embed_decode_workspace says";
  return NULL;
}

mlaf_embed_status mlaf_embed_decode_execute(const mlaf_embed_plan *x, const mlaf_embed_decode_args *a, void *stream, char *why,
                                            size_t size) {
  int previous = 0;
  mlaf_embed_status st = mlaf_embed_expect(x, a, &rules, why, size);
  if (st) return st;
  const mlaf_embed_decode_problem r = tuned(x);
  const workspace w = layout(x, a->total_q);
  block b = {.a = {.q = a->q, .ckv = a->ckv, .kpe = a->kpe ? a->kpe : a->ckv ? (const uint16_t *)a->ckv + r.rank : NULL,
                   .qo_indptr = a->qo_indptr, .kv_indptr = a->kv_indptr, .kv_indices = a->kv_indices,
                   .kv_last_page_lens = a->kv_last_page_lens, .o = a->o, .lse = a->lse,
                   .ckv_row_stride = a->ckv_row_stride ? a->ckv_row_stride : r.rank + (a->kpe ? 0 : r.rope),
                   .total_q = a->total_q, .num_pages = a->num_pages, .splits = splits_word(x), .batch = a->batch,
                   .scale_log2e = (float)((double)a->scale * 1.4426950408889634)}};
  b.a.kpe_row_stride = !a->kpe ? b.a.ckv_row_stride : a->kpe_row_stride ? a->kpe_row_stride : r.rope;
  const char *wrong = fault(x, a, &b.a, w.size);
  if (wrong && (a->total_q || a->batch < 0)) return mlaf_embed_fail(why, size, MLAF_EMBED_ARG, "%s", wrong);
  if (!a->total_q) return MLAF_EMBED_OK;
  if (w.size) {
    b.a.part_o = (float *)((char *)a->workspace + w.part_o);
    b.a.part_lse = (float *)((char *)a->workspace + w.part_lse);
  }
  const int64_t rows = a->total_q * r.heads;
  combine_args c = {b.a.part_o, b.a.part_lse, a->o, a->lse, rows, x->knob, 0};
  if ((st = mlaf_embed_begin(x->owner, &previous, why, size))) return st;
  int code = encode_maps(x, &b);
  decode_args plain = b.a; /* what a combine kernel takes */
  if (r.rotate) {
    b.a.rotate.ckv_row_stride = (uint32_t)plain.ckv_row_stride;
    b.a.rotate.kpe_row_stride = (uint32_t)plain.kpe_row_stride;
    b.a.rotate.rope_table = a->rope_table;
    b.a.rotate.total_q = (int32_t)a->total_q;
    b.a.rotate.rope_rows = a->rope_rows;
  }
  if (!code)
    code = mlaf_embed_launch(x->owner, x->kernels[0], x->functions[0],
                  (uint32_t[]){blocks_x(x), (uint32_t)x->knob, blocks_z(x, (uint32_t)a->batch)}, &b,
                  sizeof b.a + x->kernels[0]->n_maps * sizeof *b.maps, stream);
  const int whole = fits(x->kernels[0]); /* its combine kernel takes the decode kernel's arguments */
  if (!code && x->kernels[1])
    code = mlaf_embed_launch(x->owner, x->kernels[1], x->functions[1], (uint32_t[]){combine_blocks(x, rows), 1, 1},
                             whole ? (void *)&plain : (void *)&c,
                             whole ? sizeof plain : sizeof c, stream);
  return mlaf_embed_end(x->owner, previous, code, why, size);
}
