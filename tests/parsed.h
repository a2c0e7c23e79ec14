/* Problems of any operation by their text, and arguments that one of them refuses. */
#pragma once

#include "cmocka_all.h"
#include "op/calls.h"

static inline mlaf_point point(const char *text) {
  mlaf_point p;
  char why[200] = "";
  if (mlaf_point_parse(NULL, text, &p, why, sizeof why)) fail_msg("%s", why);
  return p;
}

/* The message has to say `why`. */
static inline void refused(const mlaf_bound *b, const void *args, const char *why) {
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(b->point.op->calls->check_args(b, 1, args, &err), MLAF_E_ARG);
  if (!strstr(err.text, why)) fail_msg("'%s' does not say '%s'", err.text, why);
}
