/* Any operation's points, and lists of them, read from the text that point.c prints. */
#include "op/cache_format.h"
#include "op/joint.h"

#include <ctype.h>

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

/* Index of the field that an item of the text sets, -1: unknown or malformed. */
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

/* Characters up to a comma, the end, or a +. Before a digit a + is a malformed number's. */
static size_t item_length(const char *s) {
  size_t n = strcspn(s, ",+");
  while (s[n] == '+' && isdigit((unsigned char)s[n + 1])) n += 1 + strcspn(s + n + 1, ",+");
  return n;
}

/* Items from *s on to the end or a +, where *s is then; `seen`: the fields that they set. */
static mlaf_status parse_items(const char *text, const char **s, mlaf_point *p, unsigned *seen, char *why, size_t size) {
  for (*seen = 0;; (*s)++) {
    const size_t n = item_length(*s), at = (size_t)(*s - text) + 1;
    const int shown = (int)(n < 80 ? n : 80), i = parse_item(*s, n, p);
    const char *const refused = i < 0 ? mlaf_cache_format_refusal(p->op->name, *s, n) : NULL;
    if (refused) return mlaf_point_fault(why, size, "%s", refused);
    if (i < 0)
      return mlaf_point_fault(why, size, "unknown or malformed field '%.*s' at character %zu, e.g. %s", shown, *s, at,
                              p->op->example);
    if (*seen & 1u << i) return mlaf_point_fault(why, size, "field '%.*s' at character %zu is given twice", shown, *s, at);
    *seen |= 1u << i;
    *s += n;
    if (**s != ',') return MLAF_OK;
  }
}

static mlaf_status parse_first(const char *text, const char **s, mlaf_point *p, char *why, size_t size) {
  unsigned seen;
  *s = text + strlen(p->op->name) + 1;
  mlaf_status st = parse_items(text, s, p, &seen, why, size);
  for FIELDS_OF(f, p->op)
    if (!st && f->required && !(seen & 1u << (f - p->op->fields)))
      st = mlaf_point_fault(why, size, "%s is missing (\"%s\" and a number), e.g. %s", f->label, f->key, p->op->example);
  return st;
}

/* --- problems that follow --- */

static mlaf_status no_part(const mlaf_op *op, const char *text, const char *s, char *why, size_t size) {
  char names[200] = "nothing";
  size_t n = 0;
  for (int i = 0; i < mlaf_joint_parts(op) && n < sizeof names; i++)
    n += (size_t)snprintf(names + n, sizeof names - n, "%s\"%s\"", i ? " or " : "", op->joint->parts[i].op);
  return mlaf_point_fault(why, size, "'+%.80s' at character %zu: %s may follow %s", s, (size_t)(s - text), names, op->name);
}

static const mlaf_joint_field *find(const mlaf_joint_part *part, int at) {
  const mlaf_joint_field *f = part->fields;
  while (f->at >= 0 && f->at != at) f++;
  return f->at >= 0 ? f : NULL;
}

/* Fields of q, a problem that follows: its own go to the list, what it says again (`seen`) must be as before. */
static mlaf_status take_fields(const mlaf_point *q, unsigned seen, int part, mlaf_point *p, char *why, size_t size) {
  mlaf_point usual;
  mlaf_point_init(q->op, &usual);
  for FIELDS_OF(f, q->op) {
    const int i = (int)(f - q->op->fields);
    const mlaf_joint_field *of = find(&p->op->joint->parts[part], i);
    const int32_t same = of ? p->v[of->of] - of->less : usual.v[i];
    if (of && mlaf_joint_is_own(of)) p->v[of->of] = q->v[i] + of->less;
    else if (seen & 1u << i && q->v[i] != same)
      return mlaf_point_fault(why, size, "%s of %s is %d, and behind this %s it must be %d", f->label, q->op->name, q->v[i],
                              p->op->name, same);
  }
  return MLAF_OK;
}

/* The part of a list whose problem begins there; n_parts: none. */
static int part_at(const mlaf_op *op, const char *s) {
  int part = 0;
  while (part < mlaf_joint_parts(op) && strncmp(s, op->joint->parts[part].op, strlen(op->joint->parts[part].op))) part++;
  return part;
}

static mlaf_status parse_part(const char *text, const char **s, mlaf_point *p, char *why, size_t size) {
  const int part = part_at(p->op, *s);
  unsigned seen;
  mlaf_point q;
  if (part == mlaf_joint_parts(p->op)) return no_part(p->op, text, *s, why, size);
  const mlaf_joint_part *of = &p->op->joint->parts[part];
  if (mlaf_joint_has(p, part))
    return mlaf_point_fault(why, size, "'%s' at character %zu is given twice", of->op, (size_t)(*s - text) + 1);
  mlaf_point_init(mlaf_op_of(of->op), &q);
  *s += strlen(of->op);
  const mlaf_status st = parse_items(text, s, &q, &seen, why, size);
  return st ? st : take_fields(&q, seen, part, p, why, size);
}

/* One that follows only where another does. */
static mlaf_status check_parts(const mlaf_point *p, const mlaf_point *given, char *why, size_t size) {
  for (int i = 0; i < mlaf_joint_parts(p->op); i++)
    if (mlaf_joint_has(given, i) && !mlaf_joint_has(p, i))
      return mlaf_point_fault(why, size, "%s may follow %s only behind %s", p->op->joint->parts[i].op, p->op->name,
                              p->op->joint->parts[i - 1].op);
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
  mlaf_point p, given;
  const char *s;
  bool lists = false;
  mlaf_point_init(named, &p);
  mlaf_status st = parse_first(text, &s, &p, why, size);
  for (; !st && *s == '+'; lists = true) {
    s++;
    st = parse_part(text, &s, &p, why, size);
  }
  given = p;
  if (!st) st = mlaf_point_check(&p, why, size);
  if (!st && lists) st = check_parts(&p, &given, why, size);
  if (!st) *out = p;
  return st;
}
