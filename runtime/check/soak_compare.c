/* Outputs against the first ones of the same inputs: on the device by a kernel of its own (templates/soak_compare), or on the
 * host. */
#include "check/soak_internal.h"

enum { THREADS = 256, SHORT = 16, BLOCKS_PER_CU = 4, LOOKED_AT = 64 /* records of a phase */ };

/* templates/soak_compare declares the same, and SHORT: words of a row below which a thread takes it. */
typedef struct compare_args {
  const void *got, *want;
  uint32_t *tally, *records;
  uint32_t rows, words, stride, launch, output, capacity, blocks, reserved;
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
    if (!(s->host[i] = malloc(s->output_bytes)))
      st = mlaf_fail(err, MLAF_E_NOMEM, "no memory to compare outputs of %zu bytes", s->output_bytes);
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
static void keep_record(soak *s, int i, int output, size_t row, const char *bytes) {
  s->tally[1 + i]++;
  if (s->tally[0]++ >= SOAK_RECORDS) return;
  uint32_t *record = s->records + (s->tally[0] - 1) * soak_stride(s);
  record[0] = (uint32_t)i;
  record[1] = (uint32_t)output;
  record[2] = (uint32_t)row;
  memcpy(record + 3, bytes, s->data->outputs[output].row_bytes);
}

static mlaf_status compare_here(soak *s, int i, int output, const char *got, const char *want, mlaf_err *err) {
  const mlaf_device_ops *ops = mlaf_ops(s->dev);
  const mlaf_data_output *o = &s->data->outputs[output];
  const size_t bytes = o->row_bytes;
  mlaf_status st = ops->sync(s->dev, s->lanes[s->launches[i].lane].stream, err);
  if (!st) st = ops->mem_read(s->dev, s->host[0], got, o->rows * bytes, err);
  if (!st) st = ops->mem_read(s->dev, s->host[1], want, o->rows * bytes, err);
  if (st || memcmp(s->host[0], s->host[1], o->rows * bytes) == 0) return st;
  for (size_t row = 0; row < o->rows; row++) {
    const char *here = s->host[0] + row * bytes;
    if (memcmp(here, s->host[1] + row * bytes, bytes)) keep_record(s, i, output, row, here);
  }
  return MLAF_OK;
}

/* --- on the device --- */
static mlaf_status compare_there(soak *s, int i, int output, const char *got, const char *want, mlaf_err *err) {
  const mlaf_device_info *info = mlaf_info(s->dev);
  const mlaf_data_output *o = &s->data->outputs[output];
  const uint32_t rows = (uint32_t)o->rows, words = (uint32_t)(o->row_bytes / sizeof(uint32_t)),
                 each = words < SHORT ? THREADS : THREADS / (uint32_t)info->wave_size, /* rows that a block takes at once */
                 need = rows / each + (rows % each != 0), most = BLOCKS_PER_CU * (uint32_t)info->compute_units,
                 blocks = need < most ? need : most;
  const compare_args args = {.got = got, .want = want, .tally = s->tally_dev, .records = s->records_dev, .rows = rows,
                             .words = words, .stride = (uint32_t)soak_stride(s), .launch = (uint32_t)i,
                             .output = (uint32_t)output, .capacity = SOAK_RECORDS, .blocks = blocks};
  const mlaf_launch launch = {.fn = s->compare.fn, .grid = {blocks, 1, 1}, .block = {THREADS, 1, 1}, .args = &args,
                              .args_size = sizeof args};
  return mlaf_ops(s->dev)->launch(s->dev, s->lanes[s->launches[i].lane].stream, &launch, err);
}

mlaf_status soak_compare_one(soak *s, int i, int slot, mlaf_err *err) {
  const soak_lane *lane = &s->lanes[s->launches[i].lane];
  mlaf_status st = MLAF_OK;
  for (int k = 0; !st && k < s->data->n_outputs; k++) {
    const char *got = soak_at(s, &lane->out, k, (size_t)slot);
    const char *want = soak_at(s, &lane->side->first, k, (size_t)s->launches[i].set);
    st = s->tally_dev ? compare_there(s, i, k, got, want, err) : compare_here(s, i, k, got, want, err);
  }
  return st;
}

/* --- what was found --- */

/* Earliest launch first, then the first output and the lowest row. */
static int by_launch(const void *a, const void *b) {
  const uint32_t *x = a, *y = b;
  for (int i = 0; i < 3; i++)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
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
  if (!any_before) st = soak_describe_first(s, s->records, base, err);
  for (size_t k = 0; !st && k < kept && k < LOOKED_AT; k++) {
    double off = 0;
    int32_t words;
    st = soak_against_first(s, s->records + k * soak_stride(s), &words, &off, err);
    if (off > s->out->worst) s->out->worst = off;
  }
  return st;
}
