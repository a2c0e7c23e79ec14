/* Outputs against the first ones of the same inputs: on the device by a kernel of its own (templates/soak_compare), or on the
 * host. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/numeric.h"
#include "check/soak_internal.h"

enum { THREADS = 256, BLOCKS_PER_CU = 4, LOOKED_AT = 64 /* records of a phase */ };

/* templates/soak_compare declares the same. */
typedef struct compare_args {
  const void *got, *want;
  const void *got_lse, *want_lse;
  uint32_t *tally, *records;
  uint32_t rows, words, launch, capacity, blocks, reserved;
} compare_args;

mlaf_status soak_compare_open(soak *s, const mlaf_tool_env *env, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(s->dev);
  const size_t records = SOAK_RECORDS * soak_stride(s) * sizeof(uint32_t);
  mlaf_status st = MLAF_OK;
  s->records = malloc(records);
  if (!s->records) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for records of %zu bytes", records);
  if (env->gen) {
    st = mlaf_tool_open(env, "soak_compare", "threads=256", &s->compare, err);
    if (!st) st = ops->mem_alloc(s->dev, sizeof s->tally, (void **)&s->tally_dev, err);
    return st ? st : ops->mem_alloc(s->dev, records, (void **)&s->records_dev, err);
  }
  for (int i = 0; !st && i < 2; i++)
    if (!(s->host[i] = malloc(s->o_bytes + s->lse_bytes)))
      st = mlaf_fail(err, MLAF_E_NOMEM, "no memory to compare outputs of %zu bytes", s->o_bytes);
  return st;
}

void soak_compare_close(soak *s) {
  if (s->tally_dev) mlaf_ops(s->dev)->mem_free(s->dev, s->tally_dev, NULL);
  if (s->records_dev) mlaf_ops(s->dev)->mem_free(s->dev, s->records_dev, NULL);
  if (s->compare.module) mlaf_tool_close(&s->compare);
  free(s->records);
  free(s->host[0]);
  free(s->host[1]);
}

mlaf_status soak_compare_reset(soak *s, mlaf_err *err) {
  memset(s->tally, 0, sizeof s->tally);
  return s->tally_dev ? mlaf_ops(s->dev)->mem_fill(s->dev, s->tally_dev, 0, sizeof s->tally, err) : MLAF_OK;
}

/* --- on the host --- */
static mlaf_status read_output(soak *s, char *to, const char *o, const char *lse, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(s->dev);
  mlaf_status st = ops->mem_read(s->dev, to, o, s->o_bytes, err);
  return st ? st : ops->mem_read(s->dev, to + s->o_bytes, lse, s->lse_bytes, err);
}

static void keep_record(soak *s, int i, size_t row) {
  const size_t row_bytes = s->words * sizeof(uint32_t);
  s->tally[1 + i]++;
  if (s->tally[0]++ >= SOAK_RECORDS) return;
  uint32_t *record = s->records + (s->tally[0] - 1) * soak_stride(s);
  record[0] = (uint32_t)i;
  record[1] = (uint32_t)row;
  memcpy(record + 2, s->host[0] + s->o_bytes + 4 * row, 4);
  memcpy(record + 3, s->host[0] + row * row_bytes, row_bytes);
}

static mlaf_status compare_here(soak *s, int i, const char *o, const char *lse, mlaf_err *err) {
  const soak_lane *lane = &s->lanes[s->launches[i].lane];
  const size_t set = (size_t)s->launches[i].set, row_bytes = s->words * sizeof(uint32_t);
  mlaf_status st = mlaf_ops(s->dev)->sync(s->dev, lane->stream, err);
  if (!st) st = read_output(s, s->host[0], o, lse, err);
  if (!st) st = read_output(s, s->host[1], lane->side->o + set * s->o_bytes, lane->side->lse + set * s->lse_bytes, err);
  if (st || memcmp(s->host[0], s->host[1], s->o_bytes + s->lse_bytes) == 0) return st;
  for (size_t row = 0; row < s->rows; row++)
    if (memcmp(s->host[0] + row * row_bytes, s->host[1] + row * row_bytes, row_bytes) ||
        memcmp(s->host[0] + s->o_bytes + 4 * row, s->host[1] + s->o_bytes + 4 * row, 4))
      keep_record(s, i, row);
  return MLAF_OK;
}

mlaf_status soak_compare_one(soak *s, int i, int slot, mlaf_err *err) {
  const soak_lane *lane = &s->lanes[s->launches[i].lane];
  const size_t set = (size_t)s->launches[i].set;
  const char *o = lane->o + (size_t)slot * s->o_bytes, *lse = lane->lse + (size_t)slot * s->lse_bytes;
  if (!s->tally_dev) return compare_here(s, i, o, lse, err);
  const uint32_t waves = THREADS / (uint32_t)mlaf_info(s->dev)->wave_size, need = ((uint32_t)s->rows + waves - 1) / waves,
                 most = BLOCKS_PER_CU * (uint32_t)mlaf_info(s->dev)->compute_units, blocks = need < most ? need : most;
  const compare_args args = {.got = o, .want = lane->side->o + set * s->o_bytes, .got_lse = lse,
                             .want_lse = lane->side->lse + set * s->lse_bytes, .tally = s->tally_dev, .records = s->records_dev,
                             .rows = (uint32_t)s->rows, .words = s->words, .launch = (uint32_t)i, .capacity = SOAK_RECORDS,
                             .blocks = blocks};
  const mlaf_launch launch = {.fn = s->compare.fn, .grid = {blocks, 1, 1}, .block = {THREADS, 1, 1}, .args = &args,
                              .args_size = sizeof args};
  return mlaf_ops(s->dev)->launch(s->dev, lane->stream, &launch, err);
}

/* --- what was found --- */

/* The row of a record beside the first launch's. */
static mlaf_status against_first(soak *s, const uint32_t *record, int32_t *words, double *off, mlaf_err *err) {
  const soak_launch *x = &s->launches[record[0]];
  const int32_t dtype = s->bench->problem.dtype;
  uint32_t want[256], got_lse = record[2], want_lse = 0;
  const size_t row_bytes = s->words * sizeof *want, row = record[1];
  const soak_side *side = s->lanes[x->lane].side;
  const mlaf_device_ops *ops = mlaf_ops(s->dev);
  mlaf_status st = ops->mem_read(s->dev, want, side->o + (size_t)x->set * s->o_bytes + row * row_bytes, row_bytes, err);
  if (!st) st = ops->mem_read(s->dev, &want_lse, side->lse + (size_t)x->set * s->lse_bytes + 4 * row, 4, err);
  double diff = 0, all = 0;
  *words = 0;
  for (uint32_t w = 0; !st && w < s->words; w++) {
    *words += want[w] != record[3 + w];
    for (int half = 0; half < 2; half++) {
      const double a = mlaf_decode16(dtype, (uint16_t)(record[3 + w] >> 16 * half)),
                   b = mlaf_decode16(dtype, (uint16_t)(want[w] >> 16 * half));
      diff += (a - b) * (a - b);
      all += b * b;
    }
  }
  *off = diff == 0 ? 0 : sqrt(diff / all);
  if (isnan(*off) || (got_lse != want_lse && isnan(mlaf_bits_float(got_lse)))) *off = INFINITY;
  return st;
}

/* The first wrong row of all, in full. */
static mlaf_status describe_first(soak *s, const uint32_t *record, int64_t base, mlaf_err *err) {
  const soak_launch *x = &s->launches[record[0]];
  mlaf_soak_row *row = &s->out->first;
  *row = (mlaf_soak_row){.launch = base + record[0] + 1, .stream = x->lane, .set = x->set};
  mlaf_status st = against_first(s, record, &row->words, &row->against_first, err);
  if (st) return st;
  const uint16_t *o = (const uint16_t *)(record + 3);
  return soak_check_row(s, s->lanes[x->lane].side, record[1], o, mlaf_bits_float(record[2]), row, err);
}

/* Earliest launch first, then the lowest row. */
static int by_launch(const void *a, const void *b) {
  const uint32_t *x = a, *y = b;
  const int64_t d = x[0] != y[0] ? (int64_t)x[0] - y[0] : (int64_t)x[1] - y[1];
  return (d > 0) - (d < 0);
}

mlaf_status soak_compare_read(soak *s, int n, int64_t base, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(s->dev);
  const bool any_before = s->out->wrong > 0;
  mlaf_status st = s->tally_dev ? ops->mem_read(s->dev, s->tally, s->tally_dev, sizeof s->tally, err) : MLAF_OK;
  for (int i = 0; !st && i < n; i++) {
    s->out->wrong += s->tally[1 + i] != 0;
    s->out->wrong_rows += s->tally[1 + i];
  }
  if (st || !s->tally[0]) return st;
  const size_t kept = s->tally[0] < SOAK_RECORDS ? s->tally[0] : SOAK_RECORDS, bytes = soak_stride(s) * sizeof *s->records;
  if (s->tally_dev) st = ops->mem_read(s->dev, s->records, s->records_dev, kept * bytes, err);
  if (st) return st;
  qsort(s->records, kept, bytes, by_launch);
  if (!any_before) st = describe_first(s, s->records, base, err);
  for (size_t k = 0; !st && k < kept && k < LOOKED_AT; k++) {
    double off;
    int32_t words;
    st = against_first(s, s->records + k * soak_stride(s), &words, &off, err);
    if (off > s->out->worst) s->out->worst = off;
  }
  return st;
}
