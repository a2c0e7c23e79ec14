/* The problem: field table, check, print, parse. Everything a field is lives in one table row. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "op/nearest.h"
#include "ops/mla_decode/problem.h"
#include "mlaf_limits.h"

#define PREFIX "mla_decode:"
#define EXAMPLE PREFIX "h16,r512,p64,q1,bf16,page64,b64,s4096"

typedef struct field {
  const char *key;  /* letters before the number in the problem string */
  const char *name; /* for people */
  size_t offset;
  int32_t min, max, multiple;
} field;

/* In print order. `causal` and the dtype are words without a number and follow q. */
static const field fields[] = {
#define ROW(key, word, member, least, most, multiple) {key, word, offsetof(mlaf_problem, member), least, most, multiple},
    MLAF_PROBLEM_FIELDS(ROW)
#undef ROW
};
enum { N_FIELDS = sizeof fields / sizeof *fields, FIELD_H = 0, FIELD_Q = 3, BIT_DTYPE = N_FIELDS, BIT_CAUSAL };

static const char *const dtype_names[MLAF_DTYPE_COUNT] = {[MLAF_BF16] = "bf16", [MLAF_F16] = "f16"};

static int32_t *field_at(mlaf_problem *p, const field *f) { return (int32_t *)((char *)p + f->offset); }
static int32_t field_get(const mlaf_problem *p, const field *f) {
  return *(const int32_t *)((const char *)p + f->offset);
}

/* The detail goes to a caller's buffer that may be NULL or tiny. */
static mlaf_status MLAF_PRINTF(3, 4) bad(char *why, size_t size, const char *fmt, ...) {
  if (why && size) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, size, fmt, ap);
    va_end(ap);
  }
  return MLAF_E_PROBLEM;
}

static mlaf_status check_size(const mlaf_problem *p, char *why, size_t why_size) {
  if (p->struct_size < sizeof *p)
    return bad(why, why_size, "struct_size is %u, must be at least %zu: start from MLAF_PROBLEM_INIT", p->struct_size,
               sizeof *p);
  /* A caller built against a newer header may pass a longer struct as long as it asks for nothing we do not know. */
  const unsigned char *tail = (const unsigned char *)p + sizeof *p;
  if (p->struct_size > 4096) return bad(why, why_size, "struct_size is %u: not set?", p->struct_size);
  for (size_t i = 0; i < p->struct_size - sizeof *p; i++)
    if (tail[i])
      return bad(why, why_size, "byte %zu behind the fields this library knows is not 0: it is older than its caller",
                 i);
  return MLAF_OK;
}

/* The fields we know, whatever struct_size says. */
static mlaf_status check_fields(mlaf_problem *p, char *why, size_t why_size) {
  for (const field *f = fields; f < fields + N_FIELDS; f++) {
    int32_t v = field_get(p, f);
    if (v < f->min || v > f->max) return bad(why, why_size, "%s is %d, must be %d..%d", f->name, v, f->min, f->max);
    if (v % f->multiple)
      return bad(why, why_size, "%s is %d, must be a multiple of %d in %d..%d", f->name, v, f->multiple, f->min,
                 f->max);
  }
  if (p->causal != 0 && p->causal != 1) return bad(why, why_size, "causal is %d, must be 0 or 1", p->causal);
  if (p->dtype < 0 || p->dtype >= MLAF_DTYPE_COUNT)
    return bad(why, why_size, "dtype is %d, must be 0 (bf16) or 1 (f16)", p->dtype);
  /* One query token sees everything either way: one name for one computation. */
  if (p->q_len == 1) p->causal = 0;
  return MLAF_OK;
}

mlaf_status mlaf_problem_check(mlaf_problem *p, char *why, size_t why_size) {
  if (!p) return MLAF_E_ARG;
  mlaf_status st = check_size(p, why, why_size);
  return st ? st : check_fields(p, why, why_size);
}

mlaf_status mlaf_problem_take(const mlaf_problem *in, mlaf_problem *out, char *why, size_t why_size) {
  mlaf_status st = check_size(in, why, why_size);
  if (st) return st;
  mlaf_problem p = *in;
  p.struct_size = sizeof p;
  st = check_fields(&p, why, why_size);
  if (!st) *out = p;
  return st;
}

/* A piece of text being built: planning prints problems by the dozen, which snprintf is slow at. What does not fit is counted. */
typedef struct printed {
  char *out;
  size_t size, n;
} printed;

static void put(printed *t, const char *s, size_t n) {
  if (t->n < t->size) memcpy(t->out + t->n, s, n < t->size - t->n ? n : t->size - t->n);
  t->n += n;
}

static void put_number(printed *t, int32_t v) {
  char digits[12], *end = digits + sizeof digits, *s = end;
  uint32_t left = v < 0 ? 0u - (uint32_t)v : (uint32_t)v;
  do *--s = (char)('0' + left % 10);
  while (left /= 10);
  if (v < 0) *--s = '-';
  put(t, s, (size_t)(end - s));
}

/* The first `n` fields. */
static mlaf_status print(const mlaf_problem *p, int n, char *out, size_t out_size) {
  if (!p || !out || !out_size) return MLAF_E_ARG;
  printed t = {out, out_size, 0};
  put(&t, PREFIX, strlen(PREFIX));
  for (const field *f = fields; f < fields + n; f++) {
    put(&t, ",", f != fields);
    put(&t, f->key, strlen(f->key));
    put_number(&t, field_get(p, f));
    if (f - fields != FIELD_Q) continue;
    const char *dtype = (unsigned)p->dtype < MLAF_DTYPE_COUNT ? dtype_names[p->dtype] : "?";
    put(&t, ",causal,", p->causal ? 8 : 1);
    put(&t, dtype, strlen(dtype));
  }
  out[t.n < out_size ? t.n : out_size - 1] = 0;
  return t.n < out_size ? MLAF_OK : MLAF_E_ARG;
}

mlaf_status mlaf_problem_print(const mlaf_problem *p, char *out, size_t out_size) { return print(p, N_FIELDS, out, out_size); }

/* Batch and ctx stand last. */
mlaf_status mlaf_problem_family(const mlaf_problem *p, char *out, size_t out_size) {
  return print(p, N_FIELDS - 2, out, out_size);
}

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

/* What a word of the string sets: a bit per field, so that repeats are seen. -1: unknown or malformed. */
static int parse_word(const char *s, size_t n, mlaf_problem *p) {
  for (int d = 0; d < MLAF_DTYPE_COUNT; d++)
    if (strlen(dtype_names[d]) == n && !memcmp(s, dtype_names[d], n)) {
      p->dtype = d;
      return BIT_DTYPE;
    }
  if (n == 6 && !memcmp(s, "causal", 6)) {
    p->causal = 1;
    return BIT_CAUSAL;
  }
  size_t letters = 0;
  while (letters < n && s[letters] >= 'a' && s[letters] <= 'z') letters++;
  for (int i = 0; i < N_FIELDS; i++)
    if (strlen(fields[i].key) == letters && !memcmp(s, fields[i].key, letters))
      return parse_number(s + letters, n - letters, field_at(p, &fields[i])) ? i : -1;
  return -1;
}

mlaf_status mlaf_problem_parse(const char *text, mlaf_problem *out, char *why, size_t why_size) {
  if (!text || !out) return MLAF_E_ARG;
  if (strncmp(text, PREFIX, strlen(PREFIX)))
    return bad(why, why_size, "'%.80s' does not begin with \"" PREFIX "\", e.g. " EXAMPLE, text);
  mlaf_problem p = MLAF_PROBLEM_INIT;
  unsigned seen = 0;
  const char *s = text + strlen(PREFIX);
  for (;;) {
    size_t n = strcspn(s, ",");
    int what = parse_word(s, n, &p);
    if (what < 0)
      return bad(why, why_size, "unknown or malformed field '%.*s' at character %zu, e.g. " EXAMPLE,
                 (int)(n < 80 ? n : 80), s, (size_t)(s - text) + 1);
    if (seen & 1u << what)
      return bad(why, why_size, "field '%.*s' at character %zu is given twice", (int)(n < 80 ? n : 80), s,
                 (size_t)(s - text) + 1);
    seen |= 1u << what;
    if (!s[n]) break;
    s += n + 1;
  }
  if (!(seen & 1u << FIELD_H)) return bad(why, why_size, "the number of heads is missing (\"h16\"), e.g. " EXAMPLE);
  mlaf_status st = mlaf_problem_check(&p, why, why_size);
  if (st) return st;
  *out = p;
  return MLAF_OK;
}
