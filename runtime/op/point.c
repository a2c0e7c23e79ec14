/* The one grammar: check, print and parse any operation's points. */
#include "op/cache_format.h"
#include "op/op.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIELDS_OF(f, o) (const mlaf_field *f = (o)->fields; f < (o)->fields + (o)->n_fields; f++)

mlaf_status mlaf_point_fault(char *why, size_t size, const char *fmt, ...) {
  if (why && size) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, size, fmt, ap);
    va_end(ap);
  }
  return MLAF_E_PROBLEM;
}

/* --- check --- */

void mlaf_point_init(const mlaf_op *op, mlaf_point *out) {
  *out = (mlaf_point){.op = op};
  for (int i = 0; i < op->n_fields; i++) out->v[i] = op->fields[i].required ? op->fields[i].min : op->fields[i].otherwise;
}

static mlaf_status bad_word(const mlaf_field *f, int32_t v, char *why, size_t size) {
  char list[200] = "";
  size_t n = 0;
  for (int32_t i = 0; i <= f->max && n < sizeof list; i++) {
    const char *join = !i ? "" : i == f->max ? " or " : ", ";
    n += (size_t)(mlaf_field_is_flag(f) ? snprintf(list + n, sizeof list - n, "%s%d", join, i)
                                        : snprintf(list + n, sizeof list - n, "%s%d (%s)", join, i, f->words[i]));
  }
  return mlaf_point_fault(why, size, "%s is %d, must be %s", f->label, v, list);
}

static mlaf_status check_field(const mlaf_field *f, int32_t v, char *why, size_t size) {
  if (f->words) return v < 0 || v > f->max ? bad_word(f, v, why, size) : MLAF_OK;
  if (v < f->min || v > f->max) return mlaf_point_fault(why, size, "%s is %d, must be %d..%d", f->label, v, f->min, f->max);
  if (v % f->multiple)
    return mlaf_point_fault(why, size, "%s is %d, must be a multiple of %d in %d..%d", f->label, v, f->multiple, f->min, f->max);
  return MLAF_OK;
}

static bool is_moot(const mlaf_point *p, const mlaf_field *f) { return f->moot_by >= 0 && p->v[f->moot_by] == f->moot_at; }

mlaf_status mlaf_point_check(mlaf_point *p, char *why, size_t size) {
  const mlaf_op *o = p->op;
  for (int i = 0; i < o->n_fields; i++) {
    if (is_moot(p, &o->fields[i]) && !p->v[i]) continue;
    const mlaf_status st = check_field(&o->fields[i], p->v[i], why, size);
    if (st) return st;
  }
  for (int i = 0; i < o->n_fields; i++) /* one name for one computation */
    if (is_moot(p, &o->fields[i])) p->v[i] = 0;
  return o->check ? o->check(p, why, size) : MLAF_OK;
}

int32_t mlaf_point_value(const mlaf_point *p, const char *field, int32_t otherwise) {
  for FIELDS_OF(f, p->op)
    if (!strcmp(f->name, field)) return p->v[f - p->op->fields];
  return otherwise;
}

/* --- print --- */

/* A piece of text being built: planning prints problems by the dozen, which snprintf is slow at. What does not fit is counted. */
typedef struct printed {
  char *out;
  size_t size, n;
} printed;

static void put(printed *t, const char *s) {
  const size_t n = strlen(s);
  if (t->n < t->size) memcpy(t->out + t->n, s, n < t->size - t->n ? n : t->size - t->n);
  t->n += n;
}

static void put_number(printed *t, int32_t v) {
  char digits[12], *s = digits + sizeof digits - 1;
  uint32_t left = v < 0 ? 0u - (uint32_t)v : (uint32_t)v;
  *s = 0;
  do *--s = (char)('0' + left % 10);
  while (left /= 10);
  if (v < 0) *--s = '-';
  put(t, s);
}

static mlaf_status print(const mlaf_point *p, bool sizes, char *out, size_t size) {
  if (!p || !out || !size) return MLAF_E_ARG;
  printed t = {out, size, 0};
  const char *join = ":";
  put(&t, p->op->name);
  for FIELDS_OF(f, p->op) {
    const int32_t v = p->v[f - p->op->fields];
    if ((f->role == MLAF_SIZE && !sizes) || (mlaf_field_is_flag(f) && !v) || (f->key && is_moot(p, f))) continue;
    put(&t, join);
    join = ",";
    put(&t, f->key ? f->key : v >= 0 && v <= f->max ? f->words[v] : "?");
    if (f->key) put_number(&t, v);
  }
  out[t.n < size ? t.n : size - 1] = 0;
  return t.n < size ? MLAF_OK : MLAF_E_ARG;
}

mlaf_status mlaf_point_print(const mlaf_point *p, char *out, size_t size) { return print(p, true, out, size); }
mlaf_status mlaf_point_family(const mlaf_point *p, char *out, size_t size) { return print(p, false, out, size); }

mlaf_point_string mlaf_point_text(const mlaf_point *p) {
  mlaf_point_string text;
  print(p, true, text.s, sizeof text.s);
  return text;
}

/* --- parse --- */

static bool is(const char *word, const char *s, size_t n) { return strlen(word) == n && !memcmp(word, s, n); }

/* Decimal digits only, no sign, no leading zero, inside int32. */
static bool parse_number(const char *s, size_t n, int32_t *out) {
  int64_t v = 0;
  if (!n || n > 10 || (n > 1 && s[0] == '0')) return false;
  for (size_t i = 0; i < n; i++) {
    if (!isdigit((unsigned char)s[i])) return false;
    v = v * 10 + (s[i] - '0');
  }
  if (v > INT32_MAX) return false;
  *out = (int32_t)v;
  return true;
}

/* vLLM's words for rope styles are taken for the grammar's, alone or behind a prefix ("rope_neox"); printed are the grammar's. */
static size_t in_grammar_words(const char *s, size_t n, char *out, size_t size) {
  static const struct {
    const char *theirs, *ours;
  } words[] = {{"neox", "halves"}, {"gptj", "pairs"}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const size_t w = strlen(words[i].theirs), front = n - w;
    if (n < w || memcmp(s + front, words[i].theirs, w) || (front && s[front - 1] != '_') || n + 2 >= size) continue;
    return (size_t)snprintf(out, size, "%.*s%s", (int)front, s, words[i].ours);
  }
  return 0;
}

/* Which field an item of the text sets, -1: unknown or malformed. */
static int parse_item(const char *s, size_t n, mlaf_point *p) {
  char ours[40];
  const size_t renamed = in_grammar_words(s, n, ours, sizeof ours);
  if (renamed) s = ours, n = renamed;
  size_t letters = 0;
  while (letters < n && s[letters] >= 'a' && s[letters] <= 'z') letters++;
  for (int i = 0; i < p->op->n_fields; i++) {
    const mlaf_field *f = &p->op->fields[i];
    for (int32_t w = 0; f->words && w <= f->max; w++)
      if (n && is(f->words[w], s, n)) {
        p->v[i] = w;
        return i;
      }
    if (f->key && is(f->key, s, letters) && parse_number(s + letters, n - letters, &p->v[i])) return i;
  }
  return -1;
}

static mlaf_status parse_items(const char *text, mlaf_point *p, char *why, size_t size) {
  const char *s = text + strlen(p->op->name) + 1, *example = p->op->example;
  unsigned seen = 0;
  for (;; s++) {
    const size_t n = strcspn(s, ","), at = (size_t)(s - text) + 1;
    const int shown = (int)(n < 80 ? n : 80), i = parse_item(s, n, p);
    const char *const refused = i < 0 ? mlaf_cache_format_refusal(p->op->name, s, n) : NULL;
    if (refused) return mlaf_point_fault(why, size, "%s", refused);
    if (i < 0)
      return mlaf_point_fault(why, size, "unknown or malformed field '%.*s' at character %zu, e.g. %s", shown, s, at, example);
    if (seen & 1u << i) return mlaf_point_fault(why, size, "field '%.*s' at character %zu is given twice", shown, s, at);
    seen |= 1u << i;
    s += n;
    if (!*s) break;
  }
  for FIELDS_OF(f, p->op)
    if (f->required && !(seen & 1u << (f - p->op->fields)))
      return mlaf_point_fault(why, size, "%s is missing (\"%s\" and a number), e.g. %s", f->label, f->key, example);
  return MLAF_OK;
}

static bool begins(const mlaf_op *op, const char *text) {
  const size_t n = strlen(op->name);
  return !strncmp(text, op->name, n) && text[n] == ':';
}

const mlaf_op *mlaf_op_of(const char *text) {
  for (int i = 0; mlaf_ops_all[i]; i++)
    if (begins(mlaf_ops_all[i], text)) return mlaf_ops_all[i];
  return NULL;
}

static mlaf_status no_operation(const mlaf_op *op, const char *text, char *why, size_t size) {
  char names[400] = "";
  size_t n = 0;
  for (int i = 0; !op && mlaf_ops_all[i] && n < sizeof names; i++)
    n += (size_t)snprintf(names + n, sizeof names - n, "%s\"%s:\"", i ? " or " : "", mlaf_ops_all[i]->name);
  if (op) snprintf(names, sizeof names, "\"%s:\"", op->name);
  return mlaf_point_fault(why, size, "'%.80s' does not begin with %s, e.g. %s", text, names,
                          op ? op->example : mlaf_ops_all[0] ? mlaf_ops_all[0]->example : "");
}

mlaf_status mlaf_point_parse(const mlaf_op *op, const char *text, mlaf_point *out, char *why, size_t size) {
  if (!text || !out) return MLAF_E_ARG;
  const mlaf_op *named = !op ? mlaf_op_of(text) : begins(op, text) ? op : NULL;
  if (!named) return no_operation(op, text, why, size);
  mlaf_point p;
  mlaf_point_init(named, &p);
  mlaf_status st = parse_items(text, &p, why, size);
  if (!st) st = mlaf_point_check(&p, why, size);
  if (!st) *out = p;
  return st;
}
