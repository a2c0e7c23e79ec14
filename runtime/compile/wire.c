/* Encoding and bounds-checked decoding of worker messages. */
#include "compile/wire.h"

void mlaf_wire_encode(mlaf_text *out, uint32_t kind, uint32_t status, const mlaf_wire_field *fields, uint32_t n) {
  mlaf_wire_header h = {MLAF_WIRE_MAGIC, kind, status, n, 0};
  for (uint32_t i = 0; i < n; i++) h.size += 8 + fields[i].size;
  if (h.size > MLAF_WIRE_MAX) {
    out->failed = true;
    return;
  }
  mlaf_text_add(out, &h, sizeof h);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t size = fields[i].size;
    mlaf_text_add(out, &size, sizeof size);
    mlaf_text_add(out, fields[i].data, fields[i].size);
  }
}

bool mlaf_wire_header_ok(const mlaf_wire_header *h) {
  return h->magic == MLAF_WIRE_MAGIC && h->fields <= MLAF_WIRE_FIELDS && h->size <= MLAF_WIRE_MAX;
}

bool mlaf_wire_decode(const mlaf_wire_header *h, const void *payload, mlaf_wire_field out[MLAF_WIRE_FIELDS]) {
  const char *p = payload;
  uint64_t left = h->size;
  memset(out, 0, sizeof(mlaf_wire_field) * MLAF_WIRE_FIELDS);
  if (h->fields > MLAF_WIRE_FIELDS) return false;
  for (uint32_t i = 0; i < h->fields; i++) {
    uint64_t size;
    if (left < sizeof size) return false;
    memcpy(&size, p, sizeof size);
    p += sizeof size;
    left -= sizeof size;
    if (size > left) return false;
    out[i] = (mlaf_wire_field){p, (size_t)size};
    p += size;
    left -= size;
  }
  return left == 0;
}
