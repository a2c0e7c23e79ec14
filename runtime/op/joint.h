/* Joint kernels: a variant that serves a list of problems at once, its operation's own and others that follow. The operation
 * lists those that may (a table of mlaf_joint_part). All else about such a variant is done here, once, by the records of the
 * operations in the list: its parameter block is theirs, one behind the other; its verification case is their cases, its data
 * their data; its work is the sum of theirs less what stays on chip.
 *
 * A part runs beside the first problem, in blocks of the same launch behind the first's, or is chained to it: the first's output
 * is its input, and never in memory. */
#pragma once

#include "op/calls.h"

enum { MLAF_JOINT_PARTS = 2, MLAF_JOINT_CASES = 4 };

/* A field of a part, at that place of its operation's: the joint's value at `of` less `less`. */
typedef struct mlaf_joint_field {
  int at, of;
  int32_t less;
  const char *key, *const *words; /* of one that no problem before it says: how its operation writes it; else NULL */
} mlaf_joint_field;

/* A problem that may follow the first one. Kernels that serve part i say flag MLAF_KERNEL_SECOND << i. */
typedef struct mlaf_joint_part {
  const char *op, *name;          /* "mla_append:", and what messages call it */
  int present;                    /* the joint's field that is not 0 where the list has this problem */
  const mlaf_joint_field *fields; /* ended by a place of -1 */
  size_t args_at;                 /* its arguments in the joint's struct */
  int buffers;                    /* most buffers of a case */
  int cases[MLAF_JOINT_CASES];    /* its case for each of the first's */
  uint32_t maps;                  /* tensor maps of its block, of as many tensors */
  /* Blocks for it behind `first` ones of the first problem, a number that stands behind its arguments. NULL: it is chained. */
  uint32_t (*blocks)(const mlaf_bound *b, uint32_t first, const void *args);
  mlaf_status (*check)(const mlaf_bound *b, const void *args, mlaf_err *err); /* beyond its operation's checks; NULL: nothing */
} mlaf_joint_part;

typedef struct mlaf_joint {
  const mlaf_calls *first; /* of the operation's problem alone; its arguments begin the joint's struct */
  const void *args_init;   /* that struct as its INIT macro has it */
  int first_buffers;       /* most buffers of the first problem's cases */
  const mlaf_joint_part *parts;
  int n_parts;
  /* Checks what the arguments of the list's problems must be to each other. */
  mlaf_status (*check)(const mlaf_point *p, const void *args, mlaf_err *err);
  /* Chained parts. check_chained: what is never in memory has no arguments; lend: fills these in, in a copy, so that the checks
   * of each operation hold; part: takes them out. */
  mlaf_status (*check_chained)(const void *args, mlaf_err *err);
  void (*lend)(void *args);
  void (*part)(void *args);
  size_t out_at, in_at; /* addresses of that output and that input in the struct */
} mlaf_joint;

static inline int mlaf_joint_parts(const mlaf_op *op) { return op->joint ? op->joint->n_parts : 0; }
static inline bool mlaf_joint_has(const mlaf_point *p, int part) { return p->v[p->op->joint->parts[part].present] != 0; }
static inline bool mlaf_joint_is_own(const mlaf_joint_field *f) { return f->key || f->words; }
/* The problem of a part of p's list; and as a variant of its own operation. */
mlaf_point mlaf_joint_point(const mlaf_point *p, int part);
mlaf_bound mlaf_joint_bound(const mlaf_bound *b, int part);

/* --- joint.c: entries of `calls` --- */
uint32_t mlaf_joint_parameter_bytes(const mlaf_joint *j, int stage, const mlaf_kernel_launch *launch);
mlaf_status mlaf_joint_check_stages(const mlaf_bound *b, mlaf_err *err);
mlaf_status mlaf_joint_check_args(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_err *err);
mlaf_status mlaf_joint_prepare(const mlaf_bound *b, uint32_t knob, const void *args, mlaf_prepared *out, mlaf_err *err);
