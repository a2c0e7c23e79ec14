/* MessagePack tokens by table: first byte -> kind and how many bytes of length or value follow. */
#include "compile/msgpack.h"

/* 0xc0..0xdf; smaller and larger first bytes carry their value inside. `bytes`: width of the big-endian number behind
 * the first byte; `fixed`: payload size of the fixext types. */
static const struct {
  uint8_t kind, bytes, is_signed, fixed, ext;
} forms[32] = {
    [0x00] = {.kind = MLAF_MP_NIL},
    [0x02] = {.kind = MLAF_MP_BOOL},
    [0x03] = {.kind = MLAF_MP_BOOL},
    [0x04] = {MLAF_MP_BYTES, 1, 0, 0, 0},
    [0x05] = {MLAF_MP_BYTES, 2, 0, 0, 0},
    [0x06] = {MLAF_MP_BYTES, 4, 0, 0, 0},
    [0x07] = {MLAF_MP_BYTES, 1, 0, 0, 1},
    [0x08] = {MLAF_MP_BYTES, 2, 0, 0, 1},
    [0x09] = {MLAF_MP_BYTES, 4, 0, 0, 1},
    [0x0a] = {MLAF_MP_FLOAT, 4, 0, 0, 0},
    [0x0b] = {MLAF_MP_FLOAT, 8, 0, 0, 0},
    [0x0c] = {MLAF_MP_INT, 1, 0, 0, 0},
    [0x0d] = {MLAF_MP_INT, 2, 0, 0, 0},
    [0x0e] = {MLAF_MP_INT, 4, 0, 0, 0},
    [0x0f] = {MLAF_MP_INT, 8, 0, 0, 0},
    [0x10] = {MLAF_MP_INT, 1, 1, 0, 0},
    [0x11] = {MLAF_MP_INT, 2, 1, 0, 0},
    [0x12] = {MLAF_MP_INT, 4, 1, 0, 0},
    [0x13] = {MLAF_MP_INT, 8, 1, 0, 0},
    [0x14] = {MLAF_MP_BYTES, 0, 0, 1, 1},
    [0x15] = {MLAF_MP_BYTES, 0, 0, 2, 1},
    [0x16] = {MLAF_MP_BYTES, 0, 0, 4, 1},
    [0x17] = {MLAF_MP_BYTES, 0, 0, 8, 1},
    [0x18] = {MLAF_MP_BYTES, 0, 0, 16, 1},
    [0x19] = {MLAF_MP_TEXT, 1, 0, 0, 0},
    [0x1a] = {MLAF_MP_TEXT, 2, 0, 0, 0},
    [0x1b] = {MLAF_MP_TEXT, 4, 0, 0, 0},
    [0x1c] = {MLAF_MP_ARRAY, 2, 0, 0, 0},
    [0x1d] = {MLAF_MP_ARRAY, 4, 0, 0, 0},
    [0x1e] = {MLAF_MP_MAP, 2, 0, 0, 0},
    [0x1f] = {MLAF_MP_MAP, 4, 0, 0, 0},
};

static const mlaf_mp_item bad = {MLAF_MP_BAD, 0, NULL};

/* Check what the token claims to hold against what is left, and step over a payload. */
static mlaf_mp_item bounded(mlaf_mp *m, mlaf_mp_item item, uint64_t extra) {
  uint64_t left = (uint64_t)(m->end - m->p);
  if (item.kind == MLAF_MP_TEXT || item.kind == MLAF_MP_BYTES) {
    if (extra > left || item.value > left - extra) return bad;
    item.text = (const char *)m->p + extra;
    m->p += extra + item.value;
  }
  /* every entry takes a byte at least, so a count beyond the bytes left is torn: no loop runs on its word */
  if (item.kind == MLAF_MP_ARRAY && item.value > left) return bad;
  if (item.kind == MLAF_MP_MAP && item.value > left / 2) return bad;
  return item;
}

mlaf_mp_item mlaf_mp_next(mlaf_mp *m) {
  if (m->p >= m->end) return bad;
  uint8_t b = *m->p++;
  if (b < 0x80) return (mlaf_mp_item){MLAF_MP_INT, b, NULL};
  if (b < 0x90) return bounded(m, (mlaf_mp_item){MLAF_MP_MAP, b & 15u, NULL}, 0);
  if (b < 0xa0) return bounded(m, (mlaf_mp_item){MLAF_MP_ARRAY, b & 15u, NULL}, 0);
  if (b < 0xc0) return bounded(m, (mlaf_mp_item){MLAF_MP_TEXT, b & 31u, NULL}, 0);
  if (b >= 0xe0) return (mlaf_mp_item){MLAF_MP_INT, (uint64_t)(int64_t)(int8_t)b, NULL};
  uint8_t form = b & 31u, bytes = forms[form].bytes;
  if (!forms[form].kind || (uint64_t)(m->end - m->p) < bytes) return bad;
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++) value = value << 8 | *m->p++;
  if (forms[form].is_signed && bytes < 8 && value >> (8 * bytes - 1)) value |= ~(uint64_t)0 << (8 * bytes);
  if (forms[form].kind == MLAF_MP_BOOL) value = b & 1u;
  if (forms[form].fixed) value = forms[form].fixed;
  return bounded(m, (mlaf_mp_item){(mlaf_mp_kind)forms[form].kind, value, NULL}, forms[form].ext);
}

bool mlaf_mp_skip(mlaf_mp *m) {
  for (uint64_t todo = 1; todo; todo--) { /* a counter, not recursion: depth in a torn file costs no stack */
    mlaf_mp_item item = mlaf_mp_next(m);
    if (item.kind == MLAF_MP_BAD) return false;
    if (item.kind == MLAF_MP_ARRAY) todo += item.value;
    if (item.kind == MLAF_MP_MAP) todo += 2 * item.value;
  }
  return true;
}

bool mlaf_mp_is(const mlaf_mp_item *item, const char *text) {
  return item->kind == MLAF_MP_TEXT && item->value == strlen(text) && memcmp(item->text, text, item->value) == 0;
}
