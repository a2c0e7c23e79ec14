/* Files of the source tree that the command writes out again: made by tools/embed-text.lua. */
#pragma once

#include <stddef.h>

/* The files that a project takes in (tools/embed-files.lua), sorted by name, ended by a row of NULL. */
typedef struct mlaf_embedded_file {
  const char *ops; /* operations that want it, with a blank behind each name; "": all */
  const char *name, *text;
} mlaf_embedded_file;
extern const mlaf_embedded_file mlaf_embedded_files[];
extern const char mlaf_embed_license[]; /* LICENSE */
extern const char mlaf_peer_sets[]; /* tuning/peer-sets.tsv */
