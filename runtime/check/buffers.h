/* A set of device buffers for one launch, with or without canaries around each. */
#pragma once

#include "device/device.h"
#include "op/cases.h"

#define MLAF_BUFFERS_MAX MLAF_CASE_BUFFERS

/* The canary is 272 bytes on either side: the data is then 16-byte and nothing better aligned, as the API allows. */
enum { MLAF_CANARY = 272 };

typedef struct mlaf_buffer {
  char *base;  /* what was allocated */
  char *data;  /* what the kernel gets */
  size_t size; /* of data */
  const void *input; /* host contents that must not change; NULL: what a kernel may write to */
  const char *name;
} mlaf_buffer;

typedef struct mlaf_buffers {
  mlaf_device *dev;
  bool canaries;
  int n;
  mlaf_buffer at[MLAF_BUFFERS_MAX];
} mlaf_buffers;

/* Add one: `want->input` is copied to it, or, where that is NULL, it is filled with `poison`. A workspace keeps the allocation's
 * alignment. Canaries are 0xff bytes: NaN to any kernel that reads them, -1 as an index. */
mlaf_status mlaf_buffers_add(mlaf_buffers *set, const mlaf_case_buffer *want, int poison, void **data, mlaf_err *err);
/* E_INCORRECT naming the buffer and the byte when a canary or an input is not what it was. */
mlaf_status mlaf_buffers_check(const mlaf_buffers *set, mlaf_err *err);
void mlaf_buffers_free(mlaf_buffers *set);
