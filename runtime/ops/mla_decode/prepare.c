/* Workspaces, and filling the launches of a variant. */
#include "ops/mla_decode/execute.h"
#include "ops/mla_decode/fields.h"
#include "mlaf_thresholds.h"

static const double LOG2E = 1.4426950408889634;

static const mlaf_stage *decode_of(const mlaf_bound *b) { return &b->stage[MLAF_STAGE_DECODE]; }
static const mlaf_stage *combine_of(const mlaf_bound *b) { return &b->stage[MLAF_STAGE_COMBINE]; }

/* --- workspaces --- */

/* Offsets of the parts of a workspace, and its whole size; all 0 where none is needed. */
typedef struct workspace {
  size_t part_o, part_lse, o, size; /* o: rows that become values */
} workspace;

static bool align_up(size_t *at) {
  if (*at > SIZE_MAX - MLAF_WORKSPACE_ALIGN) return false;
  *at = (*at + MLAF_WORKSPACE_ALIGN - 1) / MLAF_WORKSPACE_ALIGN * MLAF_WORKSPACE_ALIGN;
  return true;
}

/* Partial results of `rows` rows behind `before` bytes: part_o [rows][R] fp32, then part_lse [rows] fp32. */
static bool layout(const mlaf_problem *p, size_t before, uint64_t rows, workspace *out) {
  size_t bytes;
  if (__builtin_mul_overflow(rows, (uint64_t)p->rank * sizeof(float), &bytes) || bytes > SIZE_MAX / 2) return false;
  *out = (workspace){.part_o = before, .part_lse = before + bytes};
  if (!align_up(&out->part_lse)) return false;
  out->size = out->part_lse + rows * sizeof(float); /* rank >= 32 times less than part_o: fits */
  return true;
}

static bool split_rows(const mlaf_problem *p, uint32_t splits, int64_t total_q, uint64_t *rows) {
  return total_q >= 0 && !__builtin_mul_overflow((uint64_t)total_q, (uint64_t)splits, rows) &&
         !__builtin_mul_overflow(*rows, (uint64_t)p->heads, rows);
}

static uint32_t groups(int64_t rows, uint32_t per_group) { return (uint32_t)((rows + per_group - 1) / per_group); }

/* Facts that follow from the kernels, the device and the problem's shape alone. `x` is never 0. */
typedef struct facts {
  uint32_t x;     /* blocks along x: the row groups, in whole clusters */
  uint32_t held;  /* blocks that the device holds at once; kernels that do not say are one to a compute unit */
  uint32_t parts; /* the most that a launch cuts its batch into */
} facts;
enum { FACT_X, FACT_HELD, FACT_PARTS };
_Static_assert((int)FACT_PARTS < (int)MLAF_FACTS, "facts have room");

static facts find_facts(const mlaf_bound *b) {
  const mlaf_problem p = mlaf_decode_problem(b);
  const mlaf_kernel_launch *k = &decode_of(b)->launch;
  const uint32_t c = k->cluster[0] ? k->cluster[0] : 1, each = k->per_cu ? k->per_cu : 1;
  facts f = {.held = (uint32_t)mlaf_info(b->dev)->compute_units * each};
  f.x = groups(groups((int64_t)p.q_len * p.heads, decode_of(b)->rows_per_wg), c) * c;
  f.parts = f.held / f.x;
  if (f.parts < 1) f.parts = 1;
  if (f.parts > MLAF_FIT_PARTS) f.parts = MLAF_FIT_PARTS;
  return f;
}

static facts facts_of(const mlaf_bound *b) {
  if (!b->facts[FACT_X]) return find_facts(b);
  return (facts){b->facts[FACT_X], b->facts[FACT_HELD], b->facts[FACT_PARTS]};
}

void mlaf_decode_settle(mlaf_bound *b) {
  const facts f = find_facts(b);
  b->facts[FACT_X] = f.x;
  b->facts[FACT_HELD] = f.held;
  b->facts[FACT_PARTS] = f.parts;
}

/* Slots of parts: two each, of all rows that a request may have. */
static uint64_t part_rows(const mlaf_problem *p, uint32_t parts) {
  return (uint64_t)parts * 2 * (uint64_t)(p->q_len * p->heads);
}

/* Room for rows that the decode kernel finishes and the combine kernel goes on with. */
static bool add_rows(const mlaf_problem *p, int64_t total_q, workspace *w) {
  size_t bytes;
  if (__builtin_mul_overflow((uint64_t)total_q, (uint64_t)p->heads * (uint64_t)p->rank * 2, &bytes)) return false;
  if (!align_up(&w->size)) return false;
  w->o = w->size;
  return !__builtin_add_overflow(w->size, bytes, &w->size);
}

/* False when it does not fit size_t. */
static bool find_workspace(const mlaf_bound *b, uint32_t splits, int64_t total_q, workspace *out) {
  const mlaf_problem p = mlaf_decode_problem(b);
  uint64_t rows = 0;
  *out = (workspace){0};
  if (total_q <= 0) return true;
  if (mlaf_decode_fits(b)) {
    const uint64_t parts = part_rows(&p, facts_of(b).parts);
    if (splits > 1 && !split_rows(&p, splits, total_q, &rows)) return false;
    return layout(&p, MLAF_FIT_BYTES, rows > parts ? rows : parts, out) &&
           (!mlaf_decode_goes_on(b) || add_rows(&p, total_q, out));
  }
  if (splits > 1 && !(split_rows(&p, splits, total_q, &rows) && layout(&p, 0, rows, out))) return false;
  return !mlaf_decode_goes_on(b) || add_rows(&p, total_q, out);
}

size_t mlaf_decode_workspace(const mlaf_bound *b, uint32_t splits, int64_t total_q) {
  workspace w;
  return find_workspace(b, splits, total_q, &w) ? w.size : SIZE_MAX;
}

/* --- launches --- */

/* An address further on. A pointer that a caller got wrong may lie at the end of the address space: no pointer arithmetic. */
static void *behind(const void *p, size_t bytes) { return (void *)((uintptr_t)p + bytes); }

static void fill_decode(const mlaf_bound *b, uint32_t splits, const mlaf_execute_args *a, mlaf_decode_args *d) {
  const mlaf_problem problem = mlaf_decode_problem(b), *p = &problem;
  workspace w;
  *d = (mlaf_decode_args){
      .q = a->q,
      .ckv = a->ckv,
      .kpe = a->kpe   ? a->kpe
             : a->ckv ? behind(a->ckv, (size_t)mlaf_decode_bytes(p, mlaf_decode_format(p, false)->rope_at))
                      : NULL,
      .qo_indptr = a->qo_indptr,
      .kv_indptr = a->kv_indptr,
      .kv_indices = a->kv_indices,
      .kv_last_page_lens = a->kv_last_page_lens,
      .o = a->o,
      .lse = a->lse,
      .ckv_row_stride = mlaf_ckv_stride(p, a),
      .kpe_row_stride = mlaf_kpe_stride(p, a),
      .total_q = a->total_q,
      .num_pages = a->num_pages,
      .splits = mlaf_decode_fits(b) ? mlaf_fit_word(splits, combine_of(b)->fn != NULL, facts_of(b).parts) : (int32_t)splits,
      .scale_log2e = (float)((double)a->scale * LOG2E),
      .batch = a->batch,
  };
  if (find_workspace(b, splits, a->total_q, &w) && w.size) {
    d->part_o = behind(a->workspace, w.part_o);
    d->part_lse = behind(a->workspace, w.part_lse);
    if (mlaf_decode_goes_on(b)) d->o = behind(a->workspace, w.o);
  }
}

/* Elements are 16-bit, and 8 are what strides count. */
static mlaf_q_words q_words(const mlaf_problem *p, const mlaf_execute_args *a) {
  const mlaf_q_part q = mlaf_q_part_of(p, a, false), pe = mlaf_q_part_of(p, a, true);
  return (mlaf_q_words){MLA_DECODE_Q_POINTERS(a) .q_token = (uint32_t)(q.token / 8), .q_head = (uint32_t)(q.head / 8),
                        .q_pe_token = (uint32_t)(pe.token / 8), .q_pe_head = (uint32_t)(pe.head / 8)};
}

/* Rewrites the arguments in place for kernels whose block has other words (gen/ops/mla_decode/args.lua): checked strides fit 32
 * bits, and so do tokens of a launch and of a pool. */
_Static_assert(2 * MLAF_ROW_STRIDE_MAX <= INT32_MAX && (int64_t)MLA_DECODE_BATCH_MAX * MLA_DECODE_Q_LEN_MAX <= INT32_MAX,
               "numbers of mlaf_rotate_words and mlaf_cache_words");
static void narrow(const mlaf_problem *p, const mlaf_execute_args *a, mlaf_decode_args *d) {
  const uint32_t ckv = (uint32_t)d->ckv_row_stride, kpe = (uint32_t)d->kpe_row_stride;
  const int32_t total_q = (int32_t)d->total_q;
  const mlaf_cache_format *f = mlaf_decode_format(p, false);
  if (f->aside) {
    const int64_t row = mlaf_decode_bytes(p, f->row), tokens = mlaf_page_tokens(p, a);
    const int64_t extra = a->extra_page_tokens ? a->extra_page_tokens : 1;
    d->kpe = a->extra_ckv;
    d->pools = (mlaf_pool_words){(uint32_t)(mlaf_page_stride(p, a->ckv_page_stride, tokens) / row),
                                 (uint32_t)(mlaf_page_stride(p, a->extra_page_stride, extra) / row), (uint32_t)tokens,
                                 (uint32_t)extra, total_q, (int32_t)(a->extra_num_pages * extra)};
    return;
  }
  MLA_DECODE_WORDS_FILL
}

/* Index lists of a second pool, for a kernel that reads them itself. */
static void put_extra_lists(uint32_t splits, const mlaf_execute_args *a, mlaf_decode_args *d) {
  uint32_t word = 0;
  (void)mlaf_extra_word(a->extra_indices ? a->extra_topk : 1, a->extra_indices ? a->extra_indices_stride : 1, &word);
  const void *const lists = a->extra_indices, *const lengths = a->extra_topk_length;
  d->pools.total_q = (int32_t)word;
  if (splits > 1) d->o = (void *)(uintptr_t)lists, d->lse = (float *)(uintptr_t)lengths;
  else
    d->part_o = (float *)(uintptr_t)lists, d->part_lse = (float *)(uintptr_t)lengths;
}

/* Index lists in the place of the tables of requests, for a kernel that reads them itself and applies sinks. */
static void put_lists(uint32_t splits, const mlaf_execute_args *a, mlaf_decode_args *d) {
  uint64_t word = 0;
  (void)mlaf_list_word(a->topk, a->topk_share, a->indices_stride, &word);
  const uintptr_t sinks = splits == 1 ? (uintptr_t)a->attn_sink : 0; /* else the merge kernel applies them */
  d->qo_indptr = (const int32_t *)(const void *)(sinks | MLAF_LIST_MARK);
  d->kv_indptr = a->topk_length;
  d->kv_indices = a->indices;
  d->kv_last_page_lens = (const int32_t *)(uintptr_t)word;
}

/* One of Q's two tensors: a head's rows of all tokens lie a stride apart, a token's rows of all heads another. */
static mlaf_tensor q_part(const mlaf_problem *p, const mlaf_execute_args *a, const mlaf_map_want *want) {
  const mlaf_q_part q = mlaf_q_part_of(p, a, want->of == MLAF_MAP_Q_PE);
  const uint32_t heads = (uint32_t)p->heads, whole = want->rows % heads == 0 ? want->rows / heads : 0;
  return (mlaf_tensor){.data = q.data,
                       .cols = (uint64_t)q.columns,
                       .rows = heads,
                       .row_stride = (uint64_t)q.head * 2,
                       .box_cols = want->cols,
                       .box_rows = whole ? heads : want->rows,
                       .swizzle = want->swizzle,
                       .box_slices = whole ? whole : 1,
                       .slices = (uint64_t)a->total_q,
                       .slice_stride = (uint64_t)q.token * 2};
}

/* The tensor a map wants (which one was checked when the code object was read); no data: there is nothing to copy. */
static mlaf_tensor tensor_of(const mlaf_problem *p, const mlaf_execute_args *a, const mlaf_decode_args *d,
                             const mlaf_map_want *want) {
  const bool cached = want->of == MLAF_MAP_CKV || want->of == MLAF_MAP_KPE;
  const uint64_t rank = (uint64_t)p->rank, rope = (uint64_t)p->rope, unit = (uint64_t)mlaf_decode_format(p, false)->unit;
  mlaf_tensor t = {.box_cols = want->cols, .box_rows = want->rows, .swizzle = want->swizzle};
  t.rows = cached ? (uint64_t)a->num_pages * (uint64_t)p->page_size : (uint64_t)(a->total_q * p->heads);
  switch ((mlaf_map_of)want->of) {
    case MLAF_MAP_CKV:
      t.data = d->ckv, t.cols = p->cache ? (uint64_t)mlaf_decode_row(p, false) / 2 : rank;
      t.row_stride = (uint64_t)d->ckv_row_stride * unit;
      break;
    case MLAF_MAP_KPE: t.data = d->kpe, t.cols = p->cache ? 0 : rope, t.row_stride = (uint64_t)d->kpe_row_stride * 2; break;
    case MLAF_MAP_Q: t.data = d->q, t.cols = rank + rope, t.row_stride = (rank + rope) * 2; break;
    case MLAF_MAP_Q_NOPE:
    case MLAF_MAP_Q_PE: return q_part(p, a, want);
    case MLAF_MAP_O: t.data = d->o, t.cols = rank, t.row_stride = rank * 2; break;
    case MLAF_MAP_W:
      t.data = a->w_v, t.cols = rank, t.row_stride = (uint64_t)a->w_v_row_stride * 2;
      t.rows = (uint64_t)(a->w_v_head_stride / a->w_v_row_stride) * (uint64_t)(p->heads - 1) + want->rows;
      break;
  }
  if (!t.cols || !t.rows) t.data = NULL;
  return t;
}

static mlaf_status fill_maps(const mlaf_bound *b, const mlaf_stage *stage, const mlaf_execute_args *a, const mlaf_decode_args *d,
                             unsigned char (*out)[MLAF_MAP_BYTES], mlaf_err *err) {
  const mlaf_kernel_launch *k = &stage->launch;
  const mlaf_problem p = mlaf_decode_problem(b);
  mlaf_status st = MLAF_OK;
  for (uint32_t i = 0; !st && i < k->n_maps; i++) {
    const mlaf_tensor t = tensor_of(&p, a, d, &k->maps[i]);
    if (!t.data) memset(out[i], 0, sizeof out[i]);
    else
      st = mlaf_ops(b->dev)->tensor_map_encode(b->dev, &t, out[i], err);
  }
  return st;
}

uint32_t mlaf_decode_parameter_bytes(int stage, const mlaf_kernel_launch *launch) {
  return mlaf_launch_block_size(launch, stage == MLAF_STAGE_DECODE ? sizeof(mlaf_decode_args) : sizeof(mlaf_combine_args));
}

static void add_launch(const mlaf_bound *b, int stage, const uint32_t grid[3], const void *args, mlaf_prepared *out) {
  const mlaf_stage *k = &b->stage[stage];
  mlaf_launch *x = &out->launches[out->n++];
  *x = (mlaf_launch){.fn = k->fn,
                     .block = {k->threads, 1, 1},
                     .args = args,
                     .args_size = mlaf_decode_parameter_bytes(stage, &k->launch),
                     .flags = k->launch.flags & MLAF_KERNEL_OVERLAPS ? MLAF_LAUNCH_OVERLAPS : 0};
  for (int i = 0; i < 3; i++) {
    const uint32_t c = x->cluster[i] = k->launch.cluster[i] ? k->launch.cluster[i] : 1;
    x->grid[i] = (grid[i] + c - 1) / c * c;
  }
}

/* Blocks along z, of so many that work on a request: one a request, or as few as take the requests in no more turns. A
 * launch that may cut its batch has as many as run at once; how many clusters of more than two blocks that is only the device
 * knows. */
static uint32_t blocks_z(const mlaf_bound *b, uint32_t blocks_xy, uint32_t batch) {
  const uint32_t at_once = facts_of(b).held / blocks_xy;
  const bool turns = decode_of(b)->launch.flags & MLAF_KERNEL_TURNS, wide = decode_of(b)->launch.cluster[1] > 2;
  if (mlaf_decode_fits(b) && turns) return at_once ? at_once : 1;
  if (!turns) return mlaf_decode_fits(b) && !wide && at_once > batch ? at_once : batch;
  return at_once ? groups(batch, groups(batch, at_once)) : 1;
}

/* The same of index lists, none of which is cut: a block a list, so that who ends early takes another one, or where all may be
 * equally long and a kernel takes lists in turns, as few as need no more of them. */
static uint32_t lists_z(const mlaf_bound *b, uint32_t blocks_xy, const mlaf_execute_args *a) {
  const uint32_t at_once = facts_of(b).held / blocks_xy, batch = (uint32_t)a->batch;
  if (!(decode_of(b)->launch.flags & MLAF_KERNEL_LIST_TURNS) || a->topk_length || !at_once) return batch;
  return groups(batch, groups(batch, at_once));
}

mlaf_whole_requests mlaf_decode_whole(const mlaf_bound *b, uint32_t splits, int64_t batch, int64_t tokens) {
  const mlaf_kernel_launch *k = &decode_of(b)->launch;
  const uint32_t y = splits * (k->cluster[1] ? k->cluster[1] : 1), xy = facts_of(b).x * y;
  const uint64_t at_once = facts_of(b).held / xy ? facts_of(b).held / xy : 1, passes = ((uint64_t)batch + at_once - 1) / at_once;
  const uint64_t blocks = (uint64_t)blocks_z(b, xy, (uint32_t)batch) * y, parts = facts_of(b).parts;
  const uint64_t places = blocks < parts ? blocks : parts, busy = passes ? 100 * (uint64_t)batch * y / (passes * places) : 100;
  if (!mlaf_decode_fits(b) || busy >= 100) return (mlaf_whole_requests){.busy = 100};
  return (mlaf_whole_requests){.busy = (uint32_t)busy, .idle = passes * groups(tokens, y) * (100 - busy) / 100};
}

static void fill_behind(const mlaf_bound *b, const mlaf_execute_args *a, const mlaf_decode_args *decode, mlaf_values_args *out) {
  *out = (mlaf_values_args){.decode = *decode, .values = a->values, .w_v = a->w_v, .w_v_row_stride = a->w_v_row_stride};
  out->decode.kpe = a->attn_sink;
  if (a->indices && combine_of(b)->launch.flags & MLAF_KERNEL_LISTS)
    out->decode.qo_indptr = (const int32_t *)(const void *)(uintptr_t)MLAF_LIST_MARK;
  if (a->values) out->w_head_rows = (int32_t)(a->w_v_head_stride / a->w_v_row_stride);
}

/* Blocks of a combine kernel: a row a team. Where a batch may have been cut rows
 * may be few and long: behind one split, where mostly nothing is left to do, a block a row, but no more than the device holds at
 * once; behind several, of blocks that take turns, as many if that is more. */
static uint32_t combine_blocks(const mlaf_bound *b, uint32_t splits, int64_t rows) {
  const mlaf_stage *k = combine_of(b);
  const uint32_t most = (uint32_t)mlaf_info(b->dev)->compute_units * MLAF_FIT_THREADS / k->threads;
  const uint32_t full = rows > most && most ? most : (uint32_t)rows, each = groups(rows, k->rows_per_wg);
  if (mlaf_decode_fits(b) && splits == 1) return full;
  return mlaf_decode_fits(b) && k->launch.flags & MLAF_KERNEL_TURNS && full > each ? full : each;
}

/* Blocks of one fused with the value projection: a block has all columns of a head's values, or fewer, if there are compute
 * units for more blocks. */
static uint32_t values_blocks(const mlaf_bound *b, int64_t total_q, mlaf_values_args *args) {
  const mlaf_stage *k = combine_of(b);
  const uint32_t least = k->launch.values_each, heads = (uint32_t)mlaf_decode_problem(b).heads;
  const uint32_t passes = least ? groups(total_q, k->rows_per_wg) : 1, units = (uint32_t)mlaf_info(b->dev)->compute_units;
  uint32_t columns = k->launch.values;
  while (least && columns % (2 * least) == 0 && heads * passes * (k->launch.values / columns) * 2 <= units) columns /= 2;
  args->columns = (int32_t)columns;
  return heads * passes * (k->launch.values / columns);
}

mlaf_status mlaf_decode_prepare(const mlaf_bound *b, uint32_t splits, const void *args, mlaf_prepared *out, mlaf_err *err) {
  const mlaf_execute_args *a = args;
  mlaf_decode_parameters *with = mlaf_decode_parameters_of(out);
  out->n = 0;
  if (!a->total_q) return MLAF_OK;
  fill_decode(b, splits, a, &with->decode);
  const bool q_behind = decode_of(b)->launch.flags & MLAF_KERNEL_Q_WORDS;
  mlaf_status st = fill_maps(b, decode_of(b), a, &with->decode, q_behind ? with->maps_behind_q : with->maps, err);
  if (!st && mlaf_decode_goes_on(b)) st = fill_maps(b, combine_of(b), a, &with->decode, with->maps_behind, err);
  if (st) return st;
  fill_behind(b, a, &with->decode, &with->behind);
  const mlaf_problem problem = mlaf_decode_problem(b);
  if (q_behind) with->q = q_words(&problem, a);
  narrow(&problem, a, &with->decode);
  if (a->indices) put_lists(splits, a, &with->decode);
  if (a->indices && mlaf_decode_format(&problem, false)->pools) put_extra_lists(splits, a, &with->decode);
  const uint32_t team = decode_of(b)->launch.cluster[1] ? decode_of(b)->launch.cluster[1] : 1; /* blocks of one split */
  const bool invariant = mlaf_decode_invariant(b);
  const uint32_t x = facts_of(b).x, y = (invariant ? 1 : splits) * team;
  const uint32_t z = a->indices ? lists_z(b, x * y, a) : blocks_z(b, x * y, (uint32_t)a->batch);
  const uint32_t grid[] = {x, y, invariant ? facts_of(b).parts : z};
  add_launch(b, MLAF_STAGE_DECODE, grid, &with->decode, out);
  const bool goes_on = mlaf_decode_goes_on(b), wide = goes_on || mlaf_decode_fits(b);
  const bool merges = splits > 1 || goes_on || (wide && !a->indices); /* lists that the kernel reads itself are not cut */
  if (!combine_of(b)->fn || !merges) return MLAF_OK;
  const int64_t rows = a->total_q * mlaf_decode_problem(b).heads;
  const mlaf_decode_args *d = &with->behind.decode;
  with->combine = (mlaf_combine_args){d->part_o, d->part_lse, a->o, a->lse, rows, (int32_t)splits, 0};
  const uint32_t blocks = goes_on ? values_blocks(b, a->total_q, &with->behind) : combine_blocks(b, splits, rows);
  add_launch(b, MLAF_STAGE_COMBINE, (uint32_t[]){blocks, 1, 1}, wide ? (const void *)&with->behind : &with->combine, out);
  return MLAF_OK;
}
