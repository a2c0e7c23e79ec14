/* Bounded growing text, and the few string helpers everything uses. */
#include <time.h>

#include "base/base.h"

static bool reserve(mlaf_text *t, size_t extra) {
  if (t->failed) return false;
  if (extra >= t->max - t->len) { /* keep one byte for the NUL */
    t->failed = true;
    return false;
  }
  size_t need = t->len + extra + 1;
  if (need <= t->cap) return true;
  size_t cap = t->cap ? t->cap : 256;
  while (cap < need) cap *= 2;
  char *data = realloc(t->data, cap);
  if (!data) {
    t->failed = true;
    return false;
  }
  t->data = data;
  t->cap = cap;
  return true;
}

void mlaf_text_add(mlaf_text *t, const void *bytes, size_t n) {
  if (!reserve(t, n)) return;
  if (n) memcpy(t->data + t->len, bytes, n);
  t->len += n;
  t->data[t->len] = 0;
}

void mlaf_text_str(mlaf_text *t, const char *s) { mlaf_text_add(t, s, strlen(s)); }

void mlaf_text_fmt(mlaf_text *t, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = mlaf_vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  if (n < 0) t->failed = true;
  if (n >= 0 && reserve(t, (size_t)n)) {
    mlaf_vsnprintf(t->data + t->len, (size_t)n + 1, fmt, again);
    t->len += (size_t)n;
  }
  va_end(again);
}

void mlaf_text_free(mlaf_text *t) {
  free(t->data);
  *t = MLAF_TEXT_INIT(t->max);
}

char *mlaf_text_take(mlaf_text *t) {
  if (!t->failed && !t->data) mlaf_text_add(t, "", 0); /* an empty text is a string too */
  char *data = t->failed ? NULL : t->data;
  if (t->failed) free(t->data);
  *t = MLAF_TEXT_INIT(t->max);
  return data;
}

char *mlaf_strdup(const char *s) { return s ? strdup(s) : NULL; }

/* There is room for the next power of two, at least FIRST: what is full is doubled. */
bool mlaf_room(void *list, size_t n, size_t each) {
  enum { FIRST = 16 };
  void *at;
  if (n && (n < FIRST || n & (n - 1))) return true;
  memcpy(&at, list, sizeof at);
  if (!(at = realloc(at, (n ? 2 * n : FIRST) * each))) return false;
  memcpy(list, &at, sizeof at);
  return true;
}

char *mlaf_format(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  char *out = NULL;
  const mlaf_locale before = mlaf_locale_enter();
  int n = vasprintf(&out, fmt, ap);
  mlaf_locale_leave(before);
  va_end(ap);
  return n < 0 ? NULL : out;
}

double mlaf_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Bytes of the character at p, 0 when it is no UTF-8: cut short, longer than needed, a surrogate, beyond the last plane. */
static int utf8_length(const unsigned char *p, uint32_t *out) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const int n = *p < 0x80 ? 1 : *p >> 5 == 6 ? 2 : *p >> 4 == 14 ? 3 : *p >> 3 == 30 ? 4 : 0;
  uint32_t c = n == 1 ? *p : *p & (0x7fu >> n);
  for (int i = 1; i < n; i++) {
    if (p[i] >> 6 != 2) return 0;
    c = c << 6 | (p[i] & 63);
  }
  if (!n || c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
  *out = c;
  return n;
}

const char *mlaf_text_fault(const char *text, bool breaks) {
  uint32_t c = 0;
  for (const unsigned char *p = (const unsigned char *)text; *p;) {
    const int n = utf8_length(p, &c);
    if (!n) return "is not UTF-8";
    const bool broken = breaks && (c == '\t' || c == '\n' || c == '\r');
    if (!broken && (c < 0x20 || (c >= 0x7f && c < 0xa0))) return "has a control character";
    p += n;
  }
  return NULL;
}
