/* Messages between the library and `mlaforge-worker`: a fixed header, then fields of {u64 length, bytes}.
 * Both ends run on one machine, so integers travel as they lie in memory. */
#pragma once

#include "base/base.h"

enum { MLAF_WIRE_MAGIC = 0x31574c4d /* "MLW1" */, MLAF_WIRE_FIELDS = 8 };
#define MLAF_WIRE_MAX ((size_t)256 << 20) /* no source or code object comes near; a torn header must not ask for memory */

enum { MLAF_WORKER_EXIT_UNABLE = 126 }; /* exit status of a worker that cannot begin or go on; stderr has the reason */

typedef enum mlaf_wire_kind {
  MLAF_WIRE_COMPILE = 1, /* target, options (each NUL-terminated), source, limit of CPU time (double) */
  MLAF_WIRE_DISASSEMBLE, /* target, code object, "", limit */
  MLAF_WIRE_ASSEMBLE,    /* target, "", source, limit */
  MLAF_WIRE_IDENTITY,    /* four empty fields */
  MLAF_WIRE_REPLY = 100  /* payload, log, seconds (double); header.status is the outcome */
} mlaf_wire_kind;

typedef struct mlaf_wire_header {
  uint32_t magic, kind, status, fields;
  uint64_t size; /* bytes behind the header */
} mlaf_wire_header;

typedef struct mlaf_wire_field {
  const void *data;
  size_t size;
} mlaf_wire_field;

/* Append a whole message to `out` (out->failed tells of a message that is too large). */
void mlaf_wire_encode(mlaf_text *out, uint32_t kind, uint32_t status, const mlaf_wire_field *fields, uint32_t n);
/* True if the header can be trusted far enough to read `size` more bytes. */
bool mlaf_wire_header_ok(const mlaf_wire_header *h);
/* Split a payload into its fields, which point into it. False if it does not hold exactly h->fields of them. */
bool mlaf_wire_decode(const mlaf_wire_header *h, const void *payload, mlaf_wire_field out[MLAF_WIRE_FIELDS]);
