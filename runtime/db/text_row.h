/* One row of a tuning text, printed and parsed (text_row.c); what a text of rows is, text.c knows. */
#pragma once

#include "db/db_internal.h"

/* Version 3 has the kernel of each stage in a group of columns of its own. 1 and 2 name two kernels, decode and combine, and call
 * the knob splits; 1 has no lengths. All are read, 3 is written. */
enum { MLAF_TEXT_VERSION = 3 };

/* Line 2 of a version, without its end. In version 3 the columns of the first stage's kernel stand for those of all. */
void mlaf_text_print_names(mlaf_text *t, int version);
/* Prints a row with its end of line. false: a kernel at a stage that the operation does not have. */
bool mlaf_text_print_row(mlaf_text *t, const mlaf_choice_row *row);

typedef struct mlaf_text_row {
  mlaf_choice_row row;
  size_t line;
} mlaf_text_row;

/* Place of a row, for messages, and the version of its text. */
typedef struct mlaf_text_at {
  size_t line;
  int version;
  mlaf_err *err;
} mlaf_text_at;

/* The first `wanted` fields of a row of n bytes; 0: all. E_ARG names line, column and what is wrong. */
mlaf_status mlaf_text_parse_row(const mlaf_text_at *p, const char *line, size_t n, size_t wanted, mlaf_text_row *out);
