/* The cases of the founding documents, and how a row of one is run on a device. */
#pragma once

#include "rig/rig.h"

enum { CASE_EMU = 1, CASE_GPU = 2 }; /* where a row is run */
enum { CASE_REQUESTS = 512 };        /* of a row, at most */

typedef struct case_row {
  const char *name;
  int32_t batch, past, fresh;      /* of each request; past excludes the new tokens */
  const layer_request *requests;   /* else these: batch of them */
  int forms, where;                /* bits of mlaf_form; CASE_EMU, CASE_GPU or both */
  int32_t checked;                 /* outputs compared, at most */
  bool prefill;                    /* cc as the layer's prefill, in one call */
  const char *published[MLAF_FORMS]; /* what the document says of it; NULL: nothing */
} case_row;

typedef struct founding_case {
  const char *name, *title, *model;
  int32_t page_size;
  uint32_t flags;
  bool plain, in_order;
  layer_tolerance bound; /* worst 0: mlaf_form_bound */
  const char *tolerance, *left_out; /* for people: where the bound comes from; how this run differs from the document's */
  const case_row *rows;
  size_t n;
} founding_case;

typedef struct case_outcome {
  mlaf_status status;
  char why[300];
  layer_checked checked;
  mlaf_timing timing;
} case_outcome;

typedef struct case_watcher {
  void *user;
  void (*begins)(void *user, const case_row *row, mlaf_form form);
  void (*ended)(void *user, const case_row *row, mlaf_form form, const case_outcome *x);
} case_watcher;

/* NULL: there is none of this name. */
const founding_case *layer_case_find(const char *name);
/* `alike` is the requests' memory. */
layer_setup layer_case_setup(const founding_case *f, const case_row *row, layer_request alike[CASE_REQUESTS],
                             layer_weights *weights);
/* Each form of a row, checked and timed. A form that fails is told to `watch` and does not end the row; E_CANCELLED does. */
mlaf_status layer_case_run(rig_env *env, const founding_case *f, const case_row *row, layer_weights *weights,
                           const case_watcher *watch);
