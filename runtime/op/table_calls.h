/* The functions of an operation's record (op/calls.h) that follow from its table. */
#pragma once

#include "op/args_launch.h"
#include "op/table.h"

/* --- table_case.c --- */
typedef struct mlaf_made_case {
  mlaf_case head; /* first */
  const mlaf_table_case *spec;
  mlaf_host h;    /* inputs, and what is there before the launch */
  mlaf_rows rows; /* for comparing, one thread at a time: what it takes is allocated with the case */
} mlaf_made_case;

MLAF_CASE_FUNCTIONS(mlaf_table);
double mlaf_table_bound(const mlaf_point *p);
/* Chained case: its input is taken from the previous case's output instead of memory. `before` outlives it. */
mlaf_status mlaf_table_chain_case(mlaf_case *c, const mlaf_case *before, mlaf_err *err);

/* --- table_data.c --- */
MLAF_DATA_FUNCTIONS(mlaf_table);
void mlaf_table_chain_data(mlaf_data *d, const mlaf_data *before); /* sets are counted as those of `before` are */
