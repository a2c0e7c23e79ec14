/* The one grammar: check and print any operation's points; parse.c reads them. */
#include "op/joint.h"

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

static const char *name_of_word(const mlaf_field *f, int32_t v) { return f->words[v][0] ? f->words[v] : "none"; }

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
  for (int i = 0; i < o->n_fields; i++) {
    const mlaf_field *f = &o->fields[i];
    if (f->apart_why && p->v[i] && !(f->apart_but >> p->v[f->apart] & 1))
      return mlaf_point_fault(why, size, "%s is %s and %s is %s: %s", f->label, f->words[p->v[i]], o->fields[f->apart].label,
                              name_of_word(&o->fields[f->apart], p->v[f->apart]), f->apart_why);
  }
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

/* A field with its value, behind *join. */
static void put_field(printed *t, const char *key, const char *const *words, int32_t most, int32_t v, const char **join) {
  if (words && !words[0][0] && !v) return;
  put(t, *join);
  *join = ",";
  put(t, key ? key : v >= 0 && v <= most ? words[v] : "?");
  if (key) put_number(t, v);
}

/* A problem that follows, with what is not said before it. */
static void put_part(printed *t, const mlaf_point *p, const mlaf_joint_part *part) {
  const char *join = "";
  put(t, "+");
  put(t, part->op);
  for (const mlaf_joint_field *f = part->fields; f->at >= 0; f++)
    if (mlaf_joint_is_own(f))
      put_field(t, f->key, f->words, p->op->fields[f->of].max - f->less, p->v[f->of] - f->less, &join);
}

static mlaf_status print(const mlaf_point *p, bool sizes, char *out, size_t size) {
  if (!p || !out || !size) return MLAF_E_ARG;
  printed t = {out, size, 0};
  const char *join = ":";
  put(&t, p->op->name);
  for FIELDS_OF(f, p->op) {
    if (f->part || (f->role == MLAF_SIZE && !sizes) || (f->key && is_moot(p, f))) continue;
    put_field(&t, f->key, f->words, f->max, p->v[f - p->op->fields], &join);
  }
  for (int i = 0; i < mlaf_joint_parts(p->op); i++)
    if (mlaf_joint_has(p, i)) put_part(&t, p, &p->op->joint->parts[i]);
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
