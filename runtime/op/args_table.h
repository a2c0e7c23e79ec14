/* The arguments of an operation's launch as a table: tensors, scalars, and the kernel's parameter block. The build writes one of
 * each gen/ops/<operation>/args.lua (tools/args.lua), and the walk over it (op/args_check.h) is the same for all. Nothing here
 * needs more than libc, so that a loader in another project can have the same checks. */
#ifndef MLAF_ARGS_TABLE_H
#define MLAF_ARGS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MLAF_ARG_TENSORS = 12, MLAF_ARG_SIZES = 16, MLAF_ARG_AXES = 2 };

typedef enum mlaf_element {
  MLAF_ELEMENT_16, /* the problem's dtype */
  MLAF_ELEMENT_F32, MLAF_ELEMENT_I64, MLAF_ELEMENT_8
} mlaf_element;

static inline int64_t mlaf_element_bytes(mlaf_element e) {
  return e == MLAF_ELEMENT_8 ? 1 : e == MLAF_ELEMENT_16 ? 2 : e == MLAF_ELEMENT_F32 ? 4 : 8;
}

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
  const char *wanted;     /* instead of "x is NULL" and "must be aligned": "64-bit positions are wanted". May be NULL */
  const char *not_itself; /* why it must not be tensor `unlike`: "y is x: in place y is NULL" */
  const char *over_text[2]; /* when it lies over tensor `over` with other strides */
  mlaf_element element;
  mlaf_layout layout;
  uint16_t at;        /* where the struct of arguments has its address */
  uint8_t align, multiple; /* bytes of the address; elements of strides: powers of two */
  uint8_t n_axes;
  mlaf_arg_axis axes[MLAF_ARG_AXES];
  uint8_t columns;    /* size: elements of a row; 0: one */
  bool out, optional; /* optional: NULL when it is not wanted */
  bool rows_apart;    /* rows of one launch must not overlap */
  int8_t unlike;      /* tensor; -1: none */
  int8_t in_place;    /* tensor whose memory it takes when it is NULL, or when the flag says so; -1: it never does */
  int8_t over[2];     /* tensors over which it may lie with the same strides; -1: none */
} mlaf_arg_tensor;

typedef enum mlaf_number { MLAF_NUMBER_F32, MLAF_NUMBER_I32, MLAF_NUMBER_I64 } mlaf_number;

typedef struct mlaf_arg_scalar {
  const char *name, *must; /* "in -1e+06..1e+06" */
  mlaf_number kind;
  uint16_t at;
  int64_t least, most, multiple; /* multiple: a power of two. MLAF_NUMBER_F32 has only the first, and */
  double within; /* the largest absolute value */
} mlaf_arg_scalar;

/* One member of the kernel's parameter block. */
typedef enum mlaf_arg_word_kind {
  MLAF_WORD_POINTER, MLAF_WORD_STRIDE, MLAF_WORD_SIZE, MLAF_WORD_COPY_32, MLAF_WORD_COPY_64
} mlaf_arg_word_kind;
typedef struct mlaf_arg_word {
  uint16_t to;
  uint8_t kind;       /* mlaf_arg_word_kind */
  uint8_t of, axis;   /* tensor and its axis, or size */
  uint8_t bytes;      /* STRIDE: of its unit */
  uint16_t from;      /* COPY: where in the struct of arguments */
} mlaf_arg_word;

typedef struct mlaf_args_table {
  const char *count_name;      /* rows of input: "tokens" */
  uint16_t count_at, flags_at; /* int64_t; uint32_t */
  uint32_t flags;              /* that callers may set */
  const char *flags_must;      /* "0", "MLAF_MERGE_*" */
  uint32_t in_place_flag;      /* 0: an output that is NULL says so */
  const char *in_place_fault;  /* an output's address is given beside the flag */
  const char *too_many;        /* "more rows than": why a launch is too large */
  /* All sizes, from the problem's fields and from arguments that were checked. */
  void (*sizes)(const int32_t *fields, const void *args, int64_t *n);
  uint8_t n_tensors, n_scalars, n_words, n_sizes;
  const mlaf_arg_tensor *tensors;
  const mlaf_arg_scalar *scalars;
  const mlaf_arg_word *words;
  uint8_t rows; /* size: rows that workgroups share out */
  uint16_t block_bytes;
} mlaf_args_table;

#endif
