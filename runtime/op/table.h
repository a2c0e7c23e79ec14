/* An operation whose arguments are a table (op/args_table.h): its verification cases, its timing data and its comparison come
 * from that, too. An operation's own file says what no table can: the fp64 reference, and inputs that are not plain random
 * numbers. */
#pragma once

#include "op/args_check.h"
#include "op/calls.h"
#include "op/numeric.h"

enum { MLAF_TABLE_OUTPUTS = 6, MLAF_WALK_AXES = 2 };

typedef struct mlaf_table_case {
  const char *name;
  bool gaps;      /* between rows; those of two tensors differ */
  bool in_place;  /* outputs lie where their table says */
  bool spare;     /* the second run does without optional outputs */
  /* Tensors (bits): of any strides whose second axis is the inner one; that are NULL. */
  uint32_t flags, straight, without;
  int64_t count; /* rows of input; fewer where they are more than table->case_rows; 0: by that */
  const int32_t *lengths; /* of timing data: context lengths of n_lengths requests; NULL: it has none */
  int64_t n_lengths;
  const double *scalars; /* in the order of the table */
  const void *options;   /* struct <operation>_options; NULL: none are given */
} mlaf_table_case;

/* A tensor of a launch on the host. */
typedef struct mlaf_host_tensor {
  unsigned char *data;   /* NULL: it has no memory of its own here */
  unsigned char *mine;   /* for each element whether a launch may write it; NULL: none */
  bool absent;           /* the problem has none, or this launch */
  int64_t stride[MLAF_ARG_AXES], count; /* elements */
  bool pooled;           /* of timing data: it lies in the pool, */
  uint8_t *pattern;      /* or is bytes that repeat (op/pattern.h); NULL: it is not */
  int lies_in;           /* the tensor that has its memory, itself or one before it */
  size_t first;          /* its first byte there, or in its set of the pool */
  size_t per_set;        /* bytes from a set's pattern to the next one's; 0: all sets have the same memory */
} mlaf_host_tensor;

/* All tensors and scalars of a launch on the host. */
typedef struct mlaf_host {
  const struct mlaf_table *table;
  mlaf_point point;
  int dtype;
  const void *options;         /* of the case */
  mlaf_whole_args args;        /* the operation's struct, without addresses */
  int64_t n[MLAF_ARG_SIZES];
  mlaf_host_tensor t[MLAF_ARG_TENSORS];
  int n_outputs, outputs[MLAF_TABLE_OUTPUTS]; /* tensors that the launch writes, in order */
  int walk[MLAF_WALK_AXES];     /* sizes: rows of the launch on both axes; 0: there is no such axis */
  int64_t *more;               /* numbers for the operation's own use, as many as the size table->more says */
  const uint16_t *pool;        /* of timing data: what repeats in inputs without memory of their own */
  size_t set_bytes;            /* of timing data: that a set has in the pool */
  const int32_t *lengths;      /* as the case has them */
  int64_t n_lengths;
  const struct mlaf_host *before; /* of a chained launch: the one whose output is its input; NULL: it is in memory */
} mlaf_host;

/* An element, or a row's first one. */
static inline void *mlaf_host_at(const mlaf_host *h, int tensor, int64_t i, int64_t j);

/* Output rows as they must be. */
typedef struct mlaf_want_row {
  double *value, *slack; /* of each column; slack: what arithmetic before the rounding may be off by, 0 to begin with */
  const void *bits;      /* not NULL: exactly these, whatever `value` says */
} mlaf_want_row;

enum { MLAF_NOTE = 80 };

/* One row of a launch, of all its tensors. */
typedef struct mlaf_rows {
  const mlaf_host *h;
  int64_t i, j;                      /* place on the walk's axes */
  const void *row[MLAF_ARG_TENSORS]; /* of inputs that have such rows; else NULL */
  mlaf_want_row want[MLAF_TABLE_OUTPUTS]; /* in the order of the outputs that there are */
  char *note;                        /* MLAF_NOTE bytes for what a message should say of the row; NULL: nobody asks */
  double diff2, ref2; /* sums over rows that the operation measures, where its error is relative */
  int64_t compared;   /* outputs looked at so far whose reference is a number: where it is NaN, NaN is right and says little */
  int nth, nth_before; /* sets of timing data; of the launch before a chained one */
  void *scratch;       /* as hooks->scratch asks for */
  void *memory;
} mlaf_rows;

typedef struct mlaf_table_hooks {
  /* Fills r->want from r->row. */
  void (*reference)(mlaf_rows *r);
  /* Fills the inputs of a case that are not 16-bit numbers, which are normal already, and changes what it wants. Everything else
   * is NaN. NULL: nothing to do. */
  void (*draw)(mlaf_host *h, mlaf_rng *rng);
  /* Breaks a rule: a NaN in one input (MLAF_INJECT_NAN_Q), or what comes nearest to a page that is not there. */
  mlaf_status (*inject)(mlaf_host *h, mlaf_inject inject, mlaf_rng *rng, mlaf_err *err);
  /* Fills inputs of timing data that the pool does not have. NULL: there are none. */
  void (*draw_timing)(mlaf_host *h, mlaf_rng *rng);
  /* A byte of timing data whose elements are of 1 byte; NULL: draw_timing fills those. */
  uint8_t (*code)(const mlaf_host *h, mlaf_rng *rng);
  /* The least work of a launch over requests of h->lengths; NULL: the problem's. */
  mlaf_work (*work)(const mlaf_host *h);

  /* Rows of input of a case; NULL: the table says. */
  int64_t (*count)(const mlaf_point *p, const mlaf_table_case *c);
  /* Changes a launch's arguments for the variant, and adds buffers behind n; their number. NULL: there is nothing to change. */
  int (*suit)(const mlaf_host *h, const mlaf_bound *b, void *args, int n, mlaf_case_buffer *out);

  /* --- of outputs whose rows lie where a tensor on the device says; NULL: rows follow from the axes --- */
  /* Fills arguments that are no scalars of the table's, before sizes are known; changes strides and counts that the table
   * gave. */
  void (*arguments)(mlaf_host *h);
  void (*arrange)(mlaf_host *h);
  /* The element that the row of place (i, j) begins with in an output; -1: no row is written for it. */
  int64_t (*place)(const mlaf_host *h, int tensor, int64_t i, int64_t j);
  /* The place of an output's row in timing data. */
  void (*find)(const mlaf_host *h, int tensor, int64_t row, int64_t *i, int64_t *j);
  /* Bytes that a reference wants at hand in r->scratch. NULL: none. */
  size_t (*scratch)(const mlaf_host *h);
  /* False of rows that a case leaves to others, as its reference would take too long. NULL: all are compared. */
  bool (*compared)(const mlaf_host *h, int64_t i, int64_t j);
  /* The bound of a launch's error, where it is relative; NULL: the problem's. */
  double (*bound)(const mlaf_host *h);
  /* The error of `got`, a row of the k-th output, with its worst column and that one's value; below 0: as other tensors' are.
   * It adds to r->compared, and to the sums of r where the error is relative. */
  double (*off)(mlaf_rows *r, int k, const void *got, int *column, double *is);
} mlaf_table_hooks;

typedef struct mlaf_table {
  const mlaf_args_table *args;
  size_t args_size;             /* of the struct of arguments */
  const mlaf_table_hooks *hooks;
  const mlaf_table_case *cases;
  int dtype_field;              /* of the problem; -1: none */
  int case_rows, case_least;    /* a case's rows on both axes, about, and the least on the first */
  uint8_t walk[MLAF_WALK_AXES];  /* sizes: rows of a launch on both axes; 0: those of the first output */
  uint8_t more;                 /* size */
  double ulps;                  /* bound of 16-bit outputs */
  const mlaf_table_case *timing;
  bool cold;                    /* each launch finds its inputs cold */
  bool lengths;                 /* timing data are requests: the problem's `batch`, of lengths about its `ctx` */
  bool relative;                /* errors of rows are relative: of one at most twice the bound, of all together the bound */
} mlaf_table;

static inline void *mlaf_host_at(const mlaf_host *h, int tensor, int64_t i, int64_t j) {
  const mlaf_host_tensor *t = &h->t[tensor];
  return t->data + (i * t->stride[0] + j * t->stride[1]) * mlaf_element_bytes(&h->table->args->tensors[tensor], h->n);
}

/* --- table_host.c --- */
/* Arguments of the case, and where its tensors lie; no memory yet. */
void mlaf_host_init(mlaf_host *h, const mlaf_point *p, const mlaf_table_case *c, int64_t count);
mlaf_status mlaf_host_alloc(mlaf_host *h, int tensor, int fill, mlaf_err *err);
mlaf_status mlaf_host_alloc_more(mlaf_host *h, mlaf_err *err);
void mlaf_host_free(mlaf_host *h);
/* Fills a table of cosines or sines, which lies as tensor `cos` does, with normal numbers / by: those of no angle show a mistake
 * all the better. */
void mlaf_host_fill_angles(mlaf_host *h, int tensor, int cos, float by, mlaf_rng *rng);
double mlaf_host_angle(const mlaf_host *h, int tensor, int cos, int64_t row, int64_t column);
/* h->more: numbers 0 to n - 1 in random order. */
void mlaf_host_deal(mlaf_host *h, int64_t n, mlaf_rng *rng);
/* Gives each row of int64_t tensor `slots` one of n slots in random order, none twice. h->more: the row of each slot. */
void mlaf_host_deal_slots(mlaf_host *h, int slots, int64_t n, mlaf_rng *rng);
/* A random element of a 16-bit tensor becomes NaN. */
void mlaf_host_break(mlaf_host *h, int tensor, mlaf_rng *rng);
static inline size_t mlaf_host_bytes(const mlaf_host *h, int tensor) {
  return (size_t)(h->t[tensor].count * mlaf_element_bytes(&h->table->args->tensors[tensor], h->n));
}
/* Rows on both axes of a tensor; 1 where it has no such axis. */
static inline int64_t mlaf_host_rows(const mlaf_host *h, int tensor, int axis) {
  const mlaf_arg_tensor *x = &h->table->args->tensors[tensor];
  return axis < x->n_axes ? h->n[x->axes[axis].size] : 1;
}
static inline int64_t mlaf_host_columns(const mlaf_host *h, int tensor) { return h->n[h->table->args->tensors[tensor].columns]; }
static inline int64_t mlaf_host_walk(const mlaf_host *h, int axis) {
  const int64_t n = h->n[h->walk[axis]]; /* n[0] is 1 */
  return axis && n < 1 ? 1 : n;
}
/* The element that a tensor's row of place (i, j) begins with; -1: it has no such rows. */
int64_t mlaf_host_row(const mlaf_host *h, int tensor, int64_t i, int64_t j);
/* The element that an output's row at place (i, j) begins with; -1: that row is not written. */
int64_t mlaf_host_place(const mlaf_host *h, int tensor, int64_t i, int64_t j);

mlaf_status mlaf_rows_open(const mlaf_host *h, mlaf_rows *r, mlaf_err *err);
void mlaf_rows_close(mlaf_rows *r);
/* Copies elements of an input, from its element `at` on. */
void mlaf_rows_read(const mlaf_rows *r, int tensor, int64_t at, int64_t n, void *to);
/* Goes to a row, and asks the reference what it must be. */
void mlaf_rows_seek(mlaf_rows *r, int64_t i, int64_t j);
/* An output's row as it must be; NULL: the launch has no such output. */
static inline mlaf_want_row *mlaf_rows_want(mlaf_rows *r, int tensor) {
  for (int k = 0; k < r->h->n_outputs; k++)
    if (r->h->outputs[k] == tensor) return &r->want[k];
  return NULL;
}
/* The error of `got`, a row of the k-th output, where it is worst, and what it is there: 16-bit numbers in units of the last
 * place, others as a multiple of their slack. */
double mlaf_rows_off(mlaf_rows *r, int k, const void *got, int *column, double *is);
/* The error of all rows together that were measured, where it is relative; else 0. */
static inline double mlaf_rows_whole(const mlaf_rows *r) { return r->ref2 > 0 ? sqrt(r->diff2 / r->ref2) : 0; }
static inline double mlaf_host_bound(const mlaf_host *h) {
  return h->table->hooks->bound ? h->table->hooks->bound(h) : h->point.op->calls->bound(&h->point);
}
/* The bound of a row's error. */
double mlaf_rows_bound(const mlaf_host *h, int tensor);
/* "token 3, head 5": of the k-th output */
void mlaf_rows_name(const mlaf_host *h, int k, int64_t i, int64_t j, char *out, size_t size);
/* "column 3 is 1.5, reference 1.25" */
void mlaf_rows_fault(const mlaf_rows *r, int k, int column, double is, char *out, size_t size);
