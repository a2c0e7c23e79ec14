/* Remembers what was verified on this device already. The suite's cases depend on a problem's family and the seed, not on batch
 * and ctx, so the problems of a grid share verifications: the same code with the same knob gives the same numbers again. */
#include "op/nearest.h"
#include "tune/tune_internal.h"
#include "op/op.h"

typedef struct verified {
  char key[MLAF_HASH_HEX];
  double error;
} verified;

struct mlaf_verified {
  verified *list;
  size_t n;
};

mlaf_verified *mlaf_verified_new(void) { return calloc(1, sizeof(mlaf_verified)); }

void mlaf_verified_free(mlaf_verified *v) {
  if (!v) return;
  free(v->list);
  free(v);
}

static void make_key(const tuner *t, const tune_candidate *c, char out[MLAF_HASH_HEX]) {
  const mlaf_sample *s = &c->item.sample;
  char family[MLAF_POINT_TEXT_MAX] = "", numbers[64];
  mlaf_point_family(t->problem, family, sizeof family);
  snprintf(numbers, sizeof numbers, "s%u seed%llu", s->knob, (unsigned long long)t->opts.seed);
  const void *parts[3 + MLAF_STAGES_MAX] = {t->info->id, family, numbers};
  size_t lens[3 + MLAF_STAGES_MAX];
  for (int i = 0; i < MLAF_STAGES_MAX; i++) parts[3 + i] = s->kernels[i].code_key;
  for (int i = 0; i < 3 + MLAF_STAGES_MAX; i++) lens[i] = strlen(parts[i]);
  mlaf_sha256_parts(parts, lens, 3 + MLAF_STAGES_MAX, out);
}

bool mlaf_tuner_verified(const tuner *t, const tune_candidate *c, double *error) {
  const mlaf_verified *v = t->env->verified;
  char key[MLAF_HASH_HEX];
  if (!v || !c->item.sample.kernels[0].code_key[0]) return false;
  make_key(t, c, key);
  for (size_t i = 0; i < v->n; i++)
    if (memcmp(v->list[i].key, key, sizeof key) == 0) {
      *error = v->list[i].error;
      return true;
    }
  return false;
}

/* Without memory the next problem verifies again. */
void mlaf_tuner_note_verified(const tuner *t, const tune_candidate *c) {
  mlaf_verified *v = t->env->verified;
  if (!v || !c->item.sample.kernels[0].code_key[0]) return;
  if (!mlaf_room(&v->list, v->n, sizeof *v->list)) return;
  make_key(t, c, v->list[v->n].key);
  v->list[v->n++].error = c->item.sample.error;
}
