/* The arguments of an operation's launch as a table: tensors, scalars, and the kernel's parameter block. The build writes one of
 * each gen/ops/<operation>/args.lua (tools/args.lua), and the walk over it (op/args_check.h) is the same for all. */
#pragma once

#include "op/bound.h"

enum { MLAF_ARG_TENSORS = 16, MLAF_ARG_SIZES = 48, MLAF_ARG_AXES = 3 };

typedef enum mlaf_element {
  MLAF_ELEMENT_16, /* the problem's dtype */
  MLAF_ELEMENT_F32, MLAF_ELEMENT_I64, MLAF_ELEMENT_8, MLAF_ELEMENT_I32,
  MLAF_ELEMENT_SIZED /* of as many bytes as a size says, `unit` of the tensor */
} mlaf_element;

/* size / n, rounded up. */
static inline int64_t mlaf_up(int64_t size, int64_t n) { return (size + n - 1) / n; }

/* ROWS: columns are adjacent; a stride is 0 (dense), or at least a row. ANY: strides are all positive, or all 0 (dense). */
typedef enum mlaf_layout { MLAF_LAYOUT_ROWS, MLAF_LAYOUT_ANY } mlaf_layout;

/* An axis other than the columns. */
typedef struct mlaf_arg_axis {
  const char *name;   /* "token" */
  uint8_t size;       /* place in the list of sizes */
  uint8_t dense;      /* the same: the stride where none is given, in elements */
  uint16_t stride_at; /* where the struct of arguments has the stride, an int64_t; 0: it has none */
} mlaf_arg_axis;

typedef struct mlaf_arg_tensor {
  const char *name;       /* as in messages: "prefix.o" */
  const char *stem;       /* the same of its strides */
  const char *wanted;     /* instead of "x is NULL" and "must be aligned": "64-bit positions are wanted". May be NULL */
  const char *not_itself; /* why it must not be tensor `unlike`: "in place y is NULL" */
  const char *over_text[2]; /* when it lies over tensor `over` with other strides */
  mlaf_element element;
  mlaf_layout layout;
  uint16_t at;        /* where the struct of arguments has its address */
  uint8_t align, multiple; /* bytes of the address; elements of strides: powers of two */
  uint8_t unit;            /* size: bytes of an element that is SIZED; strides are then a multiple of 16 bytes */
  uint8_t has, needed;     /* sizes: 0 where the problem has no such tensor; where it may be NULL */
  bool nested;             /* a stride that is not given is that of what lies inside */
  uint8_t n_axes;
  mlaf_arg_axis axes[MLAF_ARG_AXES];
  uint8_t columns;    /* size: elements of a row; 0: one */
  uint8_t least;      /* size: of a stride */
  bool out, optional; /* optional: NULL when it is not wanted */
  bool rows_apart;    /* rows of one launch must not overlap */
  int8_t unlike;      /* tensor; -1: none */
  int8_t in_place;    /* tensor whose memory it takes when it is NULL, or when the flag says so; -1: it never does */
  int8_t over[2];     /* tensors over which it may lie with the same strides; -1: none */
} mlaf_arg_tensor;

typedef enum mlaf_number { MLAF_NUMBER_F32, MLAF_NUMBER_I32, MLAF_NUMBER_I64 } mlaf_number;

typedef struct mlaf_arg_scalar {
  const char *name, *must; /* "in -1e+06..1e+06"; NULL: anything */
  mlaf_number kind;
  uint16_t at;
  int64_t least, most, multiple; /* multiple: a power of two. MLAF_NUMBER_F32 has only the first, and */
  double within, above; /* the largest absolute value; what it must be larger than */
} mlaf_arg_scalar;

/* A tensor as the kernel gets it: its address, with what is in place or dense spelled out. */
typedef struct mlaf_arg_place {
  const void *at;
  int64_t stride[MLAF_ARG_AXES]; /* elements */
} mlaf_arg_place;

/* A step over n rows; where nobody uses it, it may be any number. */
static inline int64_t mlaf_step_over(int64_t n, int64_t stride) { return (int64_t)((uint64_t)n * (uint64_t)stride); }

typedef struct mlaf_args_table {
  const char *count_name;      /* rows of input: "tokens" */
  uint16_t count_at, flags_at; /* int64_t; uint32_t */
  uint16_t also_at;            /* an int32_t of which 0 means that there is nothing to launch, too; 0: there is none */
  int64_t count_most;
  int8_t count_field;          /* of the problem: rows that it is tuned for; -1: none */
  uint32_t flags;              /* that callers may set */
  const char *flags_must;      /* "must be 0", "must be MLAF_MERGE_*" */
  uint32_t in_place_flag;      /* 0: an output that is NULL says so */
  const char *in_place_fault;  /* an output's address is given beside the flag */
  const char *too_many;        /* "more rows than": why a launch is too large */
  /* All sizes, from the problem's fields and from arguments that were checked. */
  void (*sizes)(const int32_t *fields, const void *args, int64_t *n);
  /* All tensors' places; the block from them, but for what complete() fills. Strides of what is NULL say nothing. */
  void (*places)(const void *args, const int64_t *n, mlaf_arg_place *out);
  void (*fill)(const void *args, const int64_t *n, const mlaf_arg_place *places, void *block);
  uint8_t n_tensors, n_scalars;
  const mlaf_arg_tensor *tensors;
  const mlaf_arg_scalar *scalars;
  uint8_t rows; /* size: rows that workgroups share out */
  bool together; /* tensors are compared with each other */
  bool strict;   /* a tensor that the problem has not must be NULL */
  uint16_t block_bytes, short_bytes; /* short: of kernels that do not say MLAF_KERNEL_SCALES */
  /* Functions of the operation's relations.c (tools/args_c.lua says what each does); all NULL: it has none. */
  mlaf_status (*numbers)(const int32_t *fields, const void *args, mlaf_err *err);
  mlaf_status (*related)(const mlaf_bound *b, const void *args, const int64_t *n, mlaf_err *err);
  mlaf_status (*complete)(const mlaf_bound *b, const void *args, const int64_t *n, void *block,
                          mlaf_launch *launch, mlaf_err *err);
} mlaf_args_table;

static inline int64_t mlaf_element_bytes(const mlaf_arg_tensor *x, const int64_t *n) {
  static const uint8_t bytes[] = {[MLAF_ELEMENT_16] = 2, [MLAF_ELEMENT_F32] = 4, [MLAF_ELEMENT_I64] = 8, [MLAF_ELEMENT_8] = 1,
                                  [MLAF_ELEMENT_I32] = 4};
  return x->element == MLAF_ELEMENT_SIZED ? n[x->unit] : bytes[x->element];
}
