/* Tuning of a layer: which of its stages share a kernel, found by whole layers in turns. */
#pragma once

#include "rig/rig.h"

enum { LAYER_TRIALS = 16 };

/* One choice of a layer. */
typedef struct layer_trial {
  layer_choice choice;
  char name[LAYER_CHOICE_TEXT_MAX];
  mlaf_outcome outcome; /* MLAF_OUT_CONSTRAINT: no kernel of the device does it */
  char why[300];        /* it is not MLAF_OUT_OK */
  double error;
  mlaf_timing timing;   /* of all turns together */
  bool now;             /* what a layer takes that is created before */
  bool usual;           /* what a layer takes where nothing is stored */
} layer_trial;

typedef struct layer_tuned {
  mlaf_point problem;
  layer_trial list[LAYER_TRIALS];
  size_t n;
  bool known; /* all were in the database: nothing was run */
  char stored[LAYER_CHOICE_TEXT_MAX]; /* the problem's choice now; "": there is none */
} layer_tuned;

typedef struct layer_tune_opts {
  bool no_resume; /* time what is in the database, too */
  bool dry;       /* says which choices there are; nothing is run or stored */
  void (*progress)(void *user, const char *what, const char *choice); /* NULL: nobody looks */
  void *user;
} layer_tune_opts;

/* Tries all choices of a layer with one number of tokens: each is checked against the reference, those that pass are timed in
 * turns, and all are stored, the fastest first, once the last turn is over. E_NOT_TUNED where none passes. */
mlaf_status layer_tune(rig_env *env, const layer_setup *s, const layer_tune_opts *opts, layer_tuned *out);
/* The fastest; NULL: none passed. It is the choice unless one of an earlier run stands and is not clearly slower. */
const layer_trial *layer_tuned_best(const layer_tuned *t);
