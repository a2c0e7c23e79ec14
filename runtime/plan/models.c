/* Look-ups in the shipped model table. */
#include <string.h>

#include "plan/models.h"

const mlaf_model *mlaf_model_at(size_t i) {
  /* Walk from the start: the end marker is the only thing that knows the length. */
  for (size_t n = 0; mlaf_models[n].name; n++)
    if (n == i) return &mlaf_models[n];
  return NULL;
}

const mlaf_model *mlaf_model_find(const char *name) {
  if (!name) return NULL;
  for (const mlaf_model *m = mlaf_models; m->name; m++)
    if (!strcmp(m->name, name)) return m;
  return NULL;
}
