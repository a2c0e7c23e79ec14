/* The text of a context's last failure: "" where there was none. */
#pragma once

#include "mlaforge/mlaforge.h"

static inline const char *said(mlaf_ctx *ctx) {
  static char text[4096];
  text[0] = 0;
  mlaf_ctx_last_message(ctx, text, sizeof text);
  return text;
}
