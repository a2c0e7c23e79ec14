/* The tuning database from a program: shipping choices as text. The format is described in tuning/README.md. */
#ifndef MLAFORGE_DATABASE_H
#define MLAFORGE_DATABASE_H

#include <stddef.h>

#include "mlaforge/context.h"

/* All choices of the context's device (all_devices 0) or of every device, as sorted text, one a line. *text is released
 * with mlaf_tuning_text_free. Errors: E_DB (no database, or damaged), E_NOMEM. */
MLAF_API mlaf_status mlaf_tuning_export(mlaf_ctx *ctx, int all_devices, char **text);
MLAF_API void mlaf_tuning_text_free(char *text); /* NULL is allowed */

/* Take such a text in, all of it or nothing. Multi-rank programs tune on one rank, export there, and import on the others,
 * so that all ranks plan alike. *n_choices (may be NULL): lines read. Errors: E_ARG with the line number in
 * mlaf_ctx_last_message, E_DB, E_IO. */
MLAF_API mlaf_status mlaf_tuning_import(mlaf_ctx *ctx, const char *text, size_t *n_choices);

#endif
