/* An operation as a record, and a point of it: one set of values of its fields. Print, parse, check, nearest and order are
 * written here once and loop over the fields; a typed struct of a public header is turned into a point at the edge
 * (runtime/ops/<operation>). Operations are found by their folders: nothing lists them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mlaforge/status.h"

enum { MLAF_FIELDS_MAX = 16, MLAF_POINT_TEXT_MAX = 160 }; /* as long as MLAF_PROBLEM_TEXT_MAX */

/* SHAPE: in the kernel, or hard: what was made for another value cannot serve. SIZE: tuned for; distance is in doublings. */
typedef enum mlaf_role { MLAF_SHAPE, MLAF_SIZE } mlaf_role;

/* A field; the build makes the rows of gen/ops/<operation>/fields.lua. */
typedef struct mlaf_field {
  const char *name;         /* "rank": in structs, in Lua and as an option */
  const char *option;       /* the option's name where that is another; NULL: it is not */
  const char *label;        /* "kv_lora_rank": in messages */
  const char *key;          /* "r": letters before the number in the text; NULL: one of `words` */
  const char *const *words; /* max + 1 of them, what stands for 0, 1, ...; "": nothing does (a flag) */
  int32_t otherwise, min, max, multiple;
  bool required; /* else `otherwise` when the text does not say */
  mlaf_role role;
  int32_t steps, first; /* of a SIZE: plans are made for `steps` values to a doubling (a power of two), from `first` on, */
  const int32_t *also;  /* and for these, which end with 0; NULL: no others */
  int moot_by, moot_at;      /* where field moot_by (-1: none) is moot_at this one says nothing: it is 0, and
                                has no key in the text */
  int apart;                 /* no problem has this field other than 0 and that one's value v, but where bit v is set in */
  uint32_t apart_but;        /* this */
  const char *apart_why;     /* the end of the message; NULL: any two values go together */
  bool like;                 /* a choice for 0 serves where there is none for the problem itself */
  int part;                  /* 0: the operation's own; else of the n-th problem that may follow (op/joint.h) */
  const char *range, *about; /* for help texts */
} mlaf_field;

typedef struct mlaf_point mlaf_point;
struct mlaf_calls; /* op/calls.h */
struct mlaf_joint; /* op/joint.h */

typedef struct mlaf_op {
  const char *name, *example; /* "mla_decode", and a whole text */
  const mlaf_field *fields;   /* in the order of the text; those of SIZE stand last */
  int n_fields;
  const char *const *stages;  /* names of a variant's kernels in launch order, ended by NULL; columns of stored choices */
  /* Checks what no single field says, once each is in range: MLAF_E_PROBLEM with the reason in `why`. NULL: nothing. */
  mlaf_status (*check)(const mlaf_point *p, char *why, size_t why_size);
  const struct mlaf_calls *calls; /* what it does */
  const struct mlaf_joint *joint; /* problems that may follow one of it in a launch; NULL: none */
} mlaf_op;

struct mlaf_point {
  const mlaf_op *op;
  int32_t v[MLAF_FIELDS_MAX]; /* of op->fields; the rest is 0 */
};

/* All operations of this build, ended by NULL. */
extern const mlaf_op *const mlaf_ops_all[];

/* The operation that a problem string begins with; NULL: there is no such operation. */
const mlaf_op *mlaf_op_of(const char *text);
/* The same, or a composition of several (op/compositions.c): what a choice may be stored for. A composition has no calls, and is
 * no problem that is planned; its stages name the kernels that a choice of its knob rests on. */
const mlaf_op *mlaf_op_stored(const char *text);
/* Names of that operation's stages; NULL: there is no such operation. */
static inline const char *const *mlaf_stage_names(const char *problem) {
  const mlaf_op *op = mlaf_op_stored(problem);
  return op ? op->stages : NULL;
}

static inline bool mlaf_field_is_flag(const mlaf_field *f) { return f->words && !f->words[0][0]; }
/* A flag of one word: an option without a value. */
static inline bool mlaf_field_is_switch(const mlaf_field *f) { return mlaf_field_is_flag(f) && f->max == 1; }

/* Every field as when nothing is said; a required one has its least value. */
void mlaf_point_init(const mlaf_op *op, mlaf_point *out);
/* Check every field and canonicalise. `why` (may be NULL) names the field, its value and the accepted range. */
mlaf_status mlaf_point_check(mlaf_point *p, char *why, size_t why_size);
/* "mla_decode:h16,r512,...": always a string; E_ARG when it does not fit. Problems that follow stand behind a +, with what the
 * first does not say already: "mla_q_b:l1536,...,t1+mla_append:r512,paged,pairs,norm". */
mlaf_status mlaf_point_print(const mlaf_point *p, char *out, size_t size);
/* The same, for the length of an expression: f(mlaf_point_text(p).s). */
typedef struct mlaf_point_string {
  char s[MLAF_POINT_TEXT_MAX];
} mlaf_point_string;
mlaf_point_string mlaf_point_text(const mlaf_point *p);
/* The same without the fields of SIZE: equal for points whose kernels can execute each other. */
mlaf_status mlaf_point_family(const mlaf_point *p, char *out, size_t size);
/* Inverse of print; fields in any order, and of problems that follow also as words of the first ("append_paged"), as they were
 * before there were lists. `op` NULL: the text says which. `out` is untouched on failure. */
mlaf_status mlaf_point_parse(const mlaf_op *op, const char *text, mlaf_point *out, char *why, size_t why_size);
/* The same of whatever choices are stored for. */
mlaf_status mlaf_point_stored(const char *text, mlaf_point *out, char *why, size_t why_size);
/* "reason", to a caller's buffer that may be NULL or tiny; returns E_PROBLEM. */
mlaf_status mlaf_point_fault(char *why, size_t why_size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The field of that name; `otherwise` where the operation has none. */
int32_t mlaf_point_value(const mlaf_point *p, const char *field, int32_t otherwise);

/* All fields of SHAPE agree: one's kernels can execute the other. */
bool mlaf_point_same_shape(const mlaf_point *p, const mlaf_point *q);
/* < 0, 0, > 0: by operation, then by the fields as they are printed, numbers as numbers. */
int mlaf_point_order(const mlaf_point *p, const mlaf_point *q);
/* The next value of a size that plans are made for. */
int32_t mlaf_field_round(const mlaf_field *f, int32_t x);
/* Distance of two points of one shape as a factor, over all sizes; 1: the same. 4 is as far from 8 as from 2. */
double mlaf_point_times_apart(const mlaf_point *p, const mlaf_point *q);
/* Distance of two points of one shape in doublings, which add up: 0 for equal points. */
double mlaf_point_doublings(const mlaf_point *p, const mlaf_point *q);
/* Every size rounded up to one that plans are made for, within its range. */
void mlaf_point_round(mlaf_point *p);
/* Distance from a choice tuned for q to problem p: 0 if both round to the same point, which one plan serves, else doublings. */
double mlaf_point_distance(const mlaf_point *p, const mlaf_point *q);
/* Orders two points equally far from p: the nearer in the first size (the last follows from the others), then the smaller; < 0
 * where that is a. */
int mlaf_point_first_of_equals(const mlaf_point *p, const mlaf_point *a, const mlaf_point *b);
