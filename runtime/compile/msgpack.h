/* A bounds-checked MessagePack reader: just what AMDGPU metadata notes need. */
#pragma once

#include "base/base.h"

typedef struct mlaf_mp {
  const unsigned char *p, *end;
} mlaf_mp;

typedef enum mlaf_mp_kind { MLAF_MP_BAD, MLAF_MP_NIL, MLAF_MP_BOOL, MLAF_MP_INT, MLAF_MP_FLOAT, MLAF_MP_TEXT, MLAF_MP_BYTES,
                            MLAF_MP_ARRAY, MLAF_MP_MAP } mlaf_mp_kind;

typedef struct mlaf_mp_item {
  mlaf_mp_kind kind;
  uint64_t value; /* INT and BOOL: the number (two's complement). TEXT, BYTES: length. ARRAY, MAP: number of entries */
  const char *text;
} mlaf_mp_item;

/* Read one token and step behind it (into an array or map). MLAF_MP_BAD at torn input or its end. */
mlaf_mp_item mlaf_mp_next(mlaf_mp *m);
/* Step over one whole value with everything inside it. */
bool mlaf_mp_skip(mlaf_mp *m);
bool mlaf_mp_is(const mlaf_mp_item *item, const char *text);
