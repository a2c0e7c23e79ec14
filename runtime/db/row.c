/* Rows to structs. Every value is checked when it is read: a row no mlaforge would write counts as damage. */
#include "db/db_internal.h"
#include "db/known_hashes.h"
#include "mlaf_limits.h"
#include "op/calls.h"

static const char *const source_names[MLAF_SRC_COUNT] = {"measured", "imported", "default", "modelled"};
static const char *const outcome_names[MLAF_OUT_COUNT] = {"ok",      "constraint", "compile",   "resources", "launch",
                                                          "timeout", "fault",      "incorrect", "noisy"};
static const char *const rung_names[] = {"exact", "nearest", "default", "model", "baseline"};

const char *mlaf_source_name(mlaf_source s) { return (unsigned)s < MLAF_SRC_COUNT ? source_names[s] : "unknown"; }
const char *mlaf_outcome_name(mlaf_outcome o) { return (unsigned)o < MLAF_OUT_COUNT ? outcome_names[o] : "unknown"; }
const char *mlaf_rung_name(mlaf_rung r) { return (unsigned)r <= MLAF_RUNG_BASELINE ? rung_names[r] : "unknown"; }

bool mlaf_choice_wants_workspace(const mlaf_choice *c) {
  const mlaf_calls *calls = c->at.op ? c->at.op->calls : NULL;
  return mlaf_is_library(c->variant) || (calls && calls->libraries && c->kernels[1].template_name[0]);
}

#define BY " (by " /* compiler */

void mlaf_sample_blame_compile(mlaf_sample *s, mlaf_outcome outcome, const char *cause, const char *toolchain) {
  const size_t line = strcspn(cause, "\n"), by = strlen(toolchain) + sizeof BY; /* with the parenthesis */
  const size_t room = by < sizeof s->detail ? sizeof s->detail - 1 - by : 0;
  s->outcome = outcome;
  snprintf(s->detail, sizeof s->detail, "%.*s" BY "%s)", (int)(line < room ? line : room), cause, toolchain);
}

bool mlaf_sample_is_bad(const mlaf_sample *s, const char *toolchain) {
  if (s->outcome == MLAF_OUT_OK || s->outcome == MLAF_OUT_NOISY) return false;
  const bool of_device = s->vgpr && s->source != MLAF_SRC_MODELLED; /* what is not modelled hung */
  if (s->outcome != MLAF_OUT_COMPILE && (s->outcome != MLAF_OUT_TIMEOUT || of_device)) return true;
  char by[sizeof s->detail];
  const int n = toolchain ? snprintf(by, sizeof by, BY "%s)", toolchain) : 0;
  const size_t length = strlen(s->detail);
  return n > 0 && (size_t)n < length && !strcmp(s->detail + length - (size_t)n, by);
}

static int find(const char *const *names, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (name && strcmp(names[i], name) == 0) return i;
  return -1;
}

int mlaf_source_find(const char *name) { return find(source_names, MLAF_SRC_COUNT, name); }

/* NULL (no such kernel) reads as "". */
bool mlaf_db_text(sqlite3_stmt *s, int column, char *out, size_t size) {
  const char *text = (const char *)sqlite3_column_text(s, column);
  int n = snprintf(out, size, "%s", text ? text : "");
  return n >= 0 && (size_t)n < size;
}

/* The characters of the generator's names: "mfma_reg:blocks=1,waves=4/s8,rows=2,team=1", "mla_decode/mfma_reg", "gfx942". */
const char *mlaf_db_word_fault(const char *text) {
  static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:=,/.+-";
  return text[strspn(text, known)] ? "has a character that no such name has (letters, digits and _:=,/.+- are known)" : NULL;
}

/* Range-checked: a flipped bit in the file must not become a launch size. */
static bool number(sqlite3_stmt *s, int column, int64_t low, int64_t high, int64_t *out) {
  *out = sqlite3_column_int64(s, column); /* NULL reads as 0 */
  return *out >= low && *out <= high;
}

static int by_old_hash(const void *key, const void *entry) {
  return strncmp(key, ((const mlaf_known_hash *)entry)->was, MLAF_KNOWN_DIGITS);
}

/* A kernel of an earlier tree whose text is the same now: today's hash of its template. The hash of its source covered comments
 * then and is left out, so that nothing compares it. */
static void take_known_hash(mlaf_kernel_ref *k) {
  const mlaf_known_hash *known =
      bsearch(k->template_hash, mlaf_known_hashes, mlaf_n_known_hashes, sizeof *mlaf_known_hashes, by_old_hash);
  if (!known || !k->template_hash[0]) return;
  snprintf(k->template_hash, sizeof k->template_hash, "%s", known->now);
  k->src_hash[0] = 0;
}

static bool kernel_row(sqlite3_stmt *s, int at, mlaf_kernel_ref *k) {
  int64_t threads, rows;
  bool ok = mlaf_db_text(s, at, k->template_name, sizeof k->template_name);
  ok = ok && mlaf_db_text(s, at + 1, k->params, sizeof k->params);
  ok = ok && mlaf_db_text(s, at + 2, k->symbol, sizeof k->symbol);
  ok = ok && mlaf_db_text(s, at + 3, k->template_hash, sizeof k->template_hash);
  ok = ok && mlaf_db_text(s, at + 4, k->src_hash, sizeof k->src_hash);
  ok = ok && mlaf_db_text(s, at + 5, k->code_key, sizeof k->code_key);
  ok = ok && number(s, at + 6, 0, 1024, &threads) && number(s, at + 7, 0, INT32_MAX, &rows);
  if (!ok) return false;
  k->threads = (uint32_t)threads;
  k->rows_per_wg = (uint32_t)rows;
  take_known_hash(k);
  return true;
}

static bool kernel_rows(sqlite3_stmt *s, int at, mlaf_kernel_ref kernels[MLAF_STAGES_MAX]) {
  enum { COLUMNS = 8 }; /* of a kernel */
  bool ok = true;
  for (int i = 0; i < MLAF_STAGES_MAX; i++) ok = ok && kernel_row(s, at + i * COLUMNS, &kernels[i]);
  return ok;
}

bool mlaf_db_choice_row(sqlite3_stmt *s, mlaf_choice_row *out) {
  *out = (mlaf_choice_row){0};
  mlaf_choice *c = &out->choice;
  int64_t protocol = 0, knob = 0, clock = 0, mem_clock = 0;
  char source[16];
  bool ok = sqlite3_column_int(s, 15) == 1; /* the sums agree */
  ok = ok && mlaf_db_text(s, 14, c->lengths, sizeof c->lengths);
  ok = ok && mlaf_db_text(s, 0, out->device, sizeof out->device) && mlaf_db_text(s, 1, c->problem, sizeof c->problem);
  if (ok && mlaf_point_stored(c->problem, &c->at, NULL, 0) != MLAF_OK) c->at = (mlaf_point){NULL};
  ok = ok && number(s, 2, 0, INT32_MAX, &protocol) && mlaf_db_text(s, 3, c->variant, sizeof c->variant);
  ok = ok && number(s, 4, 1, MLAF_DB_KNOB_MAX, &knob) && mlaf_db_text(s, 5, source, sizeof source);
  ok = ok && mlaf_db_text(s, 10, out->toolchain, sizeof out->toolchain) &&
       mlaf_db_text(s, 11, out->driver, sizeof out->driver);
  ok = ok && number(s, 12, -1, INT32_MAX, &clock) && number(s, 13, -1, INT32_MAX, &mem_clock);
  ok = ok && kernel_rows(s, 16, c->kernels);
  int named = ok ? mlaf_source_find(source) : -1;
  c->ns = sqlite3_column_double(s, 7);
  c->margin = sqlite3_column_double(s, 8);
  c->error = sqlite3_column_double(s, 9);
  if (named < 0 || !(c->ns > 0) || !isfinite(c->ns) || !isfinite(c->margin) || !(c->error >= 0)) return false;
  out->protocol = (int)protocol;
  out->imported = sqlite3_column_int(s, 6) != 0;
  out->clock_mhz = (int32_t)clock;
  out->mem_clock_mhz = (int32_t)mem_clock;
  c->knob = (uint32_t)knob;
  c->source = (mlaf_source)named;
  return true;
}

static void timing_row(sqlite3_stmt *s, mlaf_timing *t) {
  t->ns = sqlite3_column_double(s, 4);
  t->p10_ns = sqlite3_column_double(s, 5);
  t->p90_ns = sqlite3_column_double(s, 6);
  t->mad_ns = sqlite3_column_double(s, 7);
  t->samples = sqlite3_column_int(s, 8);
  t->clock_mhz = sqlite3_column_double(s, 9);
  mlaf_db_parts_parse((const char *)sqlite3_column_text(s, 10), t);
}

bool mlaf_db_sample_row(sqlite3_stmt *s, mlaf_sample *out) {
  *out = (mlaf_sample){0};
  int64_t knob = 0, v[4] = {0};
  bool ok = sqlite3_column_int(s, 20) == 1 && mlaf_db_text(s, 19, out->lengths, sizeof out->lengths);
  ok = ok && mlaf_db_text(s, 0, out->variant, sizeof out->variant) && number(s, 1, 0, MLAF_DB_KNOB_MAX, &knob);
  int outcome = find(outcome_names, MLAF_OUT_COUNT, (const char *)sqlite3_column_text(s, 2));
  int source = mlaf_source_find((const char *)sqlite3_column_text(s, 3));
  timing_row(s, &out->timing);
  ok = ok && mlaf_db_text(s, 11, out->timing.bound, sizeof out->timing.bound);
  ok = ok && mlaf_db_text(s, 12, out->timing.detail, sizeof out->timing.detail);
  out->error = sqlite3_column_double(s, 13);
  for (int i = 0; i < 4; i++) ok = ok && number(s, 14 + i, 0, UINT32_MAX, &v[i]);
  ok = ok && mlaf_db_text(s, 18, out->detail, sizeof out->detail);
  ok = ok && kernel_rows(s, MLAF_DB_SAMPLE_KERNELS, out->kernels);
  if (!ok || outcome < 0 || source < 0) return false;
  out->knob = (uint32_t)knob;
  out->outcome = (mlaf_outcome)outcome;
  out->source = (mlaf_source)source;
  out->timing.source = source == MLAF_SRC_MEASURED ? MLAF_TIME_MEASURED : MLAF_TIME_MODELLED;
  out->vgpr = (uint32_t)v[0];
  out->agpr = (uint32_t)v[1];
  out->lds = (uint32_t)v[2];
  out->scratch = (uint32_t)v[3];
  return true;
}

void mlaf_db_parts_print(const mlaf_timing *t, char *out, size_t size) {
  size_t used = 0;
  out[0] = 0;
  for (int i = 0; i < t->n_parts && i < MLAF_TIME_PARTS; i++) {
    int n = mlaf_snprintf(out + used, size - used, "%s%s=%.6g", used ? ";" : "", t->parts[i].name, t->parts[i].ns);
    if (n < 0 || (size_t)n >= size - used) {
      out[used] = 0; /* whole parts or none */
      return;
    }
    used += (size_t)n;
  }
}

void mlaf_db_parts_parse(const char *text, mlaf_timing *t) {
  t->n_parts = 0;
  while (text && *text && t->n_parts < MLAF_TIME_PARTS) {
    size_t name = strcspn(text, "=;");
    if (text[name] != '=' || name == 0 || name >= sizeof t->parts[0].name) return;
    memcpy(t->parts[t->n_parts].name, text, name);
    t->parts[t->n_parts].name[name] = 0;
    char *end;
    t->parts[t->n_parts].ns = mlaf_strtod(text + name + 1, &end);
    t->n_parts++;
    text = *end == ';' ? end + 1 : NULL;
  }
}
