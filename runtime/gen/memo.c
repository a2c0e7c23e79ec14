/* Keeps the generator's answers in files: its answers are functions of its own files, the target and the question, so a
 * process that asks what was asked before need not open a Lua state (10 ms) or search a space (5 to 30 ms).
 *
 * <cache>/generator/<first 32 digits of the stamp>/<first 32 digits of the question's hash>: one line with the SHA-256 of what
 * follows, then one line an answer. What is damaged or cannot be read is asked again; a disk that refuses costs time only. */
#include <errno.h>

#include "gen/host.h"
#include "gen/memo.h"

enum { FILE_MAX = 256 * 1024, ANSWERS_MAX = 4096, TEXT_MAX = 4096 };
#define NONE "~" /* a string that is not there */

/* --- writing --- */

static void put_text(mlaf_text *t, const char *s) { mlaf_text_fmt(t, "%s\t", s ? s : NONE); }

static void put_kernel(mlaf_text *t, const mlaf_kernel_desc *k) {
  put_text(t, k->template_name);
  put_text(t, k->params);
  put_text(t, k->symbol[0] ? k->symbol : NULL);
  put_text(t, k->template_hash[0] ? k->template_hash : NULL);
  mlaf_text_fmt(t, "%u\t%u\t%u\t%u\t%u\t%u\t", k->threads, k->rows_per_wg, k->lds_bytes, k->vgpr_budget, k->step, k->slots);
}

static void put_variant(mlaf_text *t, const mlaf_variant *v) {
  put_text(t, v->name);
  put_text(t, v->rejected);
  const int n = mlaf_variant_stages(v);
  mlaf_text_fmt(t, "%u\t%u\t%a\t%d\t", v->knob, v->any_lengths, v->model_ns, n);
  for (int i = 0; i < n; i++) put_kernel(t, &v->kernels[i]);
  mlaf_text_fmt(t, "\n");
}

/* --- reading; a cursor that has failed stays failed --- */

typedef struct cursor {
  char *at;
  bool failed;
} cursor;

static char *field(cursor *c) {
  static char nothing[1];
  char *begin = c->at, *end = begin ? strchr(begin, '\t') : NULL;
  if (!end) {
    c->failed = true;
    return nothing;
  }
  *end = 0;
  c->at = end + 1;
  return begin;
}

static char *take_text(cursor *c) {
  const char *s = field(c);
  char *copy = c->failed || !strcmp(s, NONE) ? NULL : mlaf_strdup(s);
  if (!c->failed && strcmp(s, NONE) && !copy) c->failed = true;
  return copy;
}

static void take_into(cursor *c, char *out, size_t size) {
  const char *s = field(c);
  if (strlen(s) >= size) c->failed = true;
  else snprintf(out, size, "%s", strcmp(s, NONE) ? s : "");
}

static uint32_t take_u32(cursor *c) {
  char *end;
  const char *s = field(c);
  errno = 0;
  const unsigned long x = strtoul(s, &end, 10);
  if (end == s || *end || errno || x > UINT32_MAX) c->failed = true;
  return (uint32_t)x;
}

static double take_double(cursor *c) {
  char *end;
  const char *s = field(c);
  const double x = mlaf_strtod(s, &end);
  if (end == s || *end) c->failed = true;
  return x;
}

static void take_kernel(cursor *c, mlaf_kernel_desc *k) {
  k->template_name = take_text(c);
  k->params = take_text(c);
  take_into(c, k->symbol, sizeof k->symbol);
  take_into(c, k->template_hash, sizeof k->template_hash);
  uint32_t *const numbers[] = {&k->threads, &k->rows_per_wg, &k->lds_bytes, &k->vgpr_budget, &k->step, &k->slots};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) *numbers[i] = take_u32(c);
}

static void take_variant(cursor *c, mlaf_variant *v) {
  v->name = take_text(c);
  v->rejected = take_text(c);
  v->knob = take_u32(c);
  v->any_lengths = take_u32(c);
  v->model_ns = take_double(c);
  const uint32_t n = take_u32(c);
  if (n > MLAF_STAGES_MAX) c->failed = true;
  for (uint32_t i = 0; !c->failed && i < n; i++) take_kernel(c, &v->kernels[i]);
  if (c->failed || *c->at++ != '\n') c->failed = true;
}

/* --- files --- */

static char *path_of(const char *dir, const char *question) {
  char hash[MLAF_HASH_HEX];
  mlaf_sha256_hex(question, strlen(question), hash);
  return mlaf_format("%s/%.32s", dir, hash);
}

bool mlaf_memo_get(const char *dir, const char *question, mlaf_memo_answer *out) {
  void *text = NULL;
  size_t size = 0;
  char *path = path_of(dir, question), hash[MLAF_HASH_HEX];
  mlaf_status st = path ? mlaf_file_read(path, FILE_MAX, &text, &size, NULL) : MLAF_E_NOMEM;
  free(path);
  if (st || size < MLAF_HASH_HEX || ((char *)text)[MLAF_HASH_HEX - 1] != '\n') {
    free(text);
    return false;
  }
  cursor c = {.at = (char *)text + MLAF_HASH_HEX};
  mlaf_sha256_hex(c.at, size - MLAF_HASH_HEX, hash);
  *out = (mlaf_memo_answer){.from = -1};
  c.failed = memcmp(hash, text, MLAF_HASH_HEX - 1) || strlen(c.at) != size - MLAF_HASH_HEX;
  const uint32_t n = c.failed ? 0 : take_u32(&c);
  const int from = c.failed ? -1 : (int)take_u32(&c) - 1;
  const double ns = c.failed ? 0 : take_double(&c), nearest_ns = c.failed ? 0 : take_double(&c);
  if (!c.failed && *c.at++ != '\n') c.failed = true;
  if (n > ANSWERS_MAX || (!c.failed && !(out->list = calloc(n ? n : 1, sizeof *out->list)))) c.failed = true;
  for (; !c.failed && out->n < n; out->n++) take_variant(&c, &out->list[out->n]);
  free(text);
  if (c.failed) mlaf_variants_free(out->list, out->n);
  out->from = from;
  out->ns = ns;
  out->nearest_ns = nearest_ns;
  return !c.failed;
}

void mlaf_memo_put(const char *dir, const char *question, const mlaf_memo_answer *a) {
  mlaf_text body = MLAF_TEXT_INIT(FILE_MAX - MLAF_HASH_HEX), file = MLAF_TEXT_INIT(FILE_MAX);
  char hash[MLAF_HASH_HEX], *path = path_of(dir, question);
  mlaf_text_fmt(&body, "%zu\t%u\t%a\t%a\t\n", a->n, (uint32_t)(a->from + 1), a->ns, a->nearest_ns);
  for (size_t i = 0; i < a->n; i++) put_variant(&body, &a->list[i]);
  if (path && !body.failed && body.data && a->n <= ANSWERS_MAX && !mlaf_dir_make(dir, NULL)) {
    mlaf_sha256_hex(body.data, body.len, hash);
    mlaf_text_fmt(&file, "%s\n", hash);
    mlaf_text_add(&file, body.data, body.len);
    if (!file.failed) mlaf_file_publish(path, file.data, file.len, NULL);
  }
  mlaf_text_free(&body);
  mlaf_text_free(&file);
  free(path);
}
