/* Variants made ahead, of a bundle or of an embedded index: which of them serves a problem best, and with which knob. */
#pragma once

#include "op/calls.h"

typedef struct mlaf_offer {
  const void *of;                       /* the bundle's plan, the index's row */
  mlaf_point problem;                   /* that it was tuned for */
  bool baseline;                        /* the variant that always works, behind the choice */
  uint32_t knob;
  const void *kernels[MLAF_STAGES_MAX]; /* by stage, to tell them apart; NULL: the variant does without */
  mlaf_fit_kernel first;                /* of the first one */
  uint32_t flags;                       /* of its launch */
  /* Filled by mlaf_offers_rank: mlaf_point_distance, mlaf_point_times_apart; whether it stands back behind the others. */
  const mlaf_point *asked;
  double distance, apart;
  bool last;
} mlaf_offer;

/* Sorts offers of p's shape, best first: what was tuned for one request behind others when p has several and a kernel that
 * serves any lengths is there, then the nearest sizes, then the choice before the baseline, then as they were. */
void mlaf_offers_rank(mlaf_offer *list, size_t n, const mlaf_point *p);

/* Fits list[i] to p, with the split count that its first kernel's operation chooses for p. A knob above 1 needs a second kernel:
 * its own, else that of the best offer with the same first kernel; where there is none the knob stays as it was tuned. Behind a
 * knob of 1 there is none, but for kernels that may cut a batch: theirs then stays, unless an offer with a knob of 1 does without
 * it. */
typedef struct mlaf_offer_fitted {
  uint32_t knob;
  const mlaf_offer *second; /* whose second kernel comes behind; NULL: none does */
} mlaf_offer_fitted;
mlaf_offer_fitted mlaf_offer_fit(const mlaf_offer *list, size_t n, size_t i, const mlaf_point *p);
