/* Files of the source tree that the command writes out again: made by tools/embed-text.lua. */
#ifndef MLAF_EMBEDDED_TEXT_H
#define MLAF_EMBEDDED_TEXT_H

extern const char mlaf_embed_loader_h[]; /* runtime/embed/mlaf_embed.h */
extern const char mlaf_embed_loader_c[]; /* runtime/embed/mlaf_embed.c */
extern const char mlaf_embed_loader_driver_h[]; /* runtime/embed/mlaf_embed_driver.h */
extern const char mlaf_embed_loader_tables_h[]; /* runtime/embed/mlaf_embed_tables.h */
extern const char mlaf_embed_license[]; /* LICENSE */
extern const char mlaf_peer_sets[]; /* tuning/peer-sets.tsv */

#endif
