/* Measurements near a problem that nobody tuned: the choices within reach, and what else was timed for their problems. From it
 * the generator says which variant should serve (gen/nearby.lua). The planner and `db why` ask here, so both say the same. */
#pragma once

#include "db/db.h"
#include "gen/gen.h"

/* The nearest few choices. A kernel counts that is within this many times the choice of one of their problems, but then by its
 * times with its fastest few knobs for all of them, fast or not: were the slow ones left out, it would look good where
 * nobody could know. Of the others it counts that they were slow. */
enum { MLAF_NEARBY_CHOICES = 6, MLAF_NEARBY_EACH = 3 };
#define MLAF_NEARBY_WITHIN 1.3

typedef struct mlaf_nearby_item {
  size_t choice; /* index of the choice for whose problem it was timed */
  char variant[256];
  mlaf_kernel_ref kernel; /* of its first stage */
  double ns, error;
  bool fast; /* for one of the problems; else its kernel's only item */
} mlaf_nearby_item;

typedef struct mlaf_nearby {
  mlaf_choice choices[MLAF_NEARBY_CHOICES]; /* of this device, nearest first */
  size_t n_choices, n;
  mlaf_nearby_item items[]; /* [0]: the nearest choice */
} mlaf_nearby;

/* A problem as the generator is asked for what is best: behind it whether launches read index lists, by the flags of a plan. That
 * decides times, not which variants there are (gen/api.lua). */
mlaf_point_string mlaf_question(const mlaf_point *p, uint32_t flags);
/* far: what is out of reach, too. accept: whether a choice's HARD fields hold. *out is freed with free(). NOT_TUNED when there
 * is nothing. */
mlaf_status mlaf_nearby_gather(mlaf_db *db, const mlaf_device_info *dev, const char *toolchain, const mlaf_point *p,
                               bool far, mlaf_db_accept_fn accept, void *user, mlaf_nearby **out, mlaf_err *err);
/* question: the problem as the generator is asked about it. any: a kernel that none of them has may be taken, too (from < 0). */
mlaf_status mlaf_nearby_choose(const mlaf_nearby *n, mlaf_gen *gen, const char *question, const char *target, bool any,
                               mlaf_gen_nearby *out, mlaf_err *err);
/* Why it was taken, in a sentence for people. */
void mlaf_nearby_reason(const mlaf_nearby *n, const mlaf_gen_nearby *x, char *out, size_t size);
