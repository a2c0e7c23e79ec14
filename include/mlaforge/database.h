/* The tuning database from a program: choices as text, in and out. tuning/README.md describes the format. */
#ifndef MLAFORGE_DATABASE_H
#define MLAFORGE_DATABASE_H

#include <stddef.h>

#include "mlaforge/context.h"

/* Exports all choices of the context's device (all_devices 0) or of every device as sorted text, one a line. The caller releases
 * *text with mlaf_tuning_text_free. Thread-safe. Errors: E_DB (no database, or damaged), E_NOMEM. */
MLAF_API mlaf_status mlaf_tuning_export(mlaf_ctx *ctx, int all_devices, char **text);
MLAF_API void mlaf_tuning_text_free(char *text); /* NULL is allowed */

/* Imports a text that mlaf_tuning_export made, all of it or nothing. Thread-safe. Multi-rank programs tune on one rank, export
 * there, and import on the others, so that all ranks plan alike. *n_choices (may be NULL): lines read. Errors: E_ARG with the
 * line number in mlaf_ctx_last_message, E_DB, E_IO. */
MLAF_API mlaf_status mlaf_tuning_import(mlaf_ctx *ctx, const char *text, size_t *n_choices);

#endif
