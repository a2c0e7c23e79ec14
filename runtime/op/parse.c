/* Any operation's points, read from the text that point.c prints. */
#include "op/cache_format.h"
#include "op/op.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define FIELDS_OF(f, o) (const mlaf_field *f = (o)->fields; f < (o)->fields + (o)->n_fields; f++)

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
